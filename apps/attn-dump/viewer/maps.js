// Reads the data of the page and computes every matrix that is shown.
const archive = JSON.parse(document.getElementById('archive').textContent);
const kindNamed = (name) => archive.kinds.find((kind) => kind.name === name);

const decodedBlocks = new Map();

/** The weights of a sentence and kind: a Float32Array [layers, heads, queries, keys], bit for bit as stored. */
function block(sentence, kind) {
  const id = `weights-${sentence.index}-${kind.name}`;
  if (!decodedBlocks.has(id)) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    const weights = new Float32Array(bytes.length / 4);
    for (let i = 0; i < weights.length; ++i) weights[i] = view.getFloat32(4 * i, true);
    if (decodedBlocks.size > 8) decodedBlocks.delete(decodedBlocks.keys().next().value);
    decodedBlocks.set(id, weights);
  }
  return decodedBlocks.get(id);
}

/** One map as stored. `layer` and `head` are places in kind.layers and kind.heads. */
function storedMap(sentence, kind, layer, head) {
  const queries = sentence.tokens[sentence.maps[kind.name].queries];
  const keys = sentence.tokens[sentence.maps[kind.name].keys];
  const size = queries.text.length * keys.text.length;
  const begin = (layer * kind.heads.length + head) * size;
  return makeMap(queries, keys, block(sentence, kind).subarray(begin, begin + size), kind.causal);
}

function makeMap(queries, keys, values, causal) {
  const rows = queries.text.length, columns = keys.text.length;
  const masked = new Uint8Array(rows * columns);
  if (causal) {
    for (let q = 0; q < rows; ++q) masked.fill(1, q * columns + Math.min(q + 1, columns), (q + 1) * columns);
  }
  return { rows, columns, values, masked, queries, keys, exact: true, notes: [] };
}

function combineHeads(sentence, kind, layer, combine) {
  const result = storedMap(sentence, kind, layer, 0);
  const sum = Float64Array.from(result.values);
  for (let head = 1; head < kind.heads.length; ++head) {
    storedMap(sentence, kind, layer, head).values.forEach((value, i) => { sum[i] = combine(sum[i], value); });
  }
  return { ...result, values: sum, exact: false };
}

function meanMap(sentence, kind, layer) {
  const map = combineHeads(sentence, kind, layer, (a, b) => a + b);
  map.values = map.values.map((value) => value / kind.heads.length);
  return map;
}

const maximumMap = (sentence, kind, layer) => combineHeads(sentence, kind, layer, Math.max);

/** Attention rollout (Abnar and Zuidema 2020): half of each layer's mean map, half identity, multiplied up. */
function rolloutMap(sentence, kind, layer) {
  let product = null, map = null;
  for (let l = 0; l <= layer; ++l) {
    map = meanMap(sentence, kind, l);
    const n = map.rows, step = new Float64Array(n * n);
    for (let q = 0; q < n; ++q) {
      let sum = 0;
      for (let k = 0; k < n; ++k) {
        step[q * n + k] = 0.5 * map.values[q * n + k] + (q === k ? 0.5 : 0);
        sum += step[q * n + k];
      }
      for (let k = 0; k < n; ++k) step[q * n + k] /= sum;
    }
    product = product === null ? step : multiply(step, product, n);
  }
  return { ...map, values: product };
}

function multiply(a, b, n) {
  const product = new Float64Array(n * n);
  for (let i = 0; i < n; ++i) {
    for (let j = 0; j < n; ++j) {
      const factor = a[i * n + j];
      if (factor === 0) continue;
      for (let k = 0; k < n; ++k) product[i * n + k] += factor * b[j * n + k];
    }
  }
  return product;
}

function chosenTokens(tokens, places) {
  return {
    text: places.map((i) => tokens.text[i]),
    word: places.map((i) => tokens.word[i]),
    special: places.map((i) => tokens.special[i]),
  };
}

/** Without the rows and columns of special tokens; each row sums to 1 again over the keys that are left. */
function withoutSpecial(map) {
  const queries = [...Array(map.rows).keys()].filter((q) => !map.queries.special[q]);
  const keys = [...Array(map.columns).keys()].filter((k) => !map.keys.special[k]);
  if (queries.length === map.rows && keys.length === map.columns) return map;
  const values = new Float64Array(queries.length * keys.length), masked = new Uint8Array(values.length);
  queries.forEach((q, row) => {
    let sum = 0;
    for (const k of keys) sum += map.values[q * map.columns + k];
    keys.forEach((k, column) => {
      const value = map.values[q * map.columns + k];
      values[row * keys.length + column] = sum > 0 ? value / sum : value;
      masked[row * keys.length + column] = map.masked[q * map.columns + k];
    });
  });
  return {
    ...map, rows: queries.length, columns: keys.length, values, masked, exact: false,
    queries: chosenTokens(map.queries, queries), keys: chosenTokens(map.keys, keys),
    notes: [...map.notes, 'special tokens hidden: rows renormalised over the keys that are shown'],
  };
}

/** Neighbouring tokens of one word, as [first, end) ranges. */
function wordRanges(tokens) {
  const ranges = [];
  tokens.word.forEach((word, i) => {
    if (i > 0 && word === tokens.word[i - 1]) ranges[ranges.length - 1][1] = i + 1;
    else ranges.push([i, i + 1]);
  });
  return ranges;
}

function mergedTokens(tokens, ranges) {
  return {
    text: ranges.map(([begin, end]) => tokens.text.slice(begin, end).join('')),
    word: ranges.map(([begin]) => tokens.word[begin]),
    special: ranges.map(([begin]) => tokens.special[begin]),
  };
}

/** Subwords as words: what goes to the parts of a key is added up, the parts of a query are averaged. */
function withWords(map) {
  const queries = wordRanges(map.queries), keys = wordRanges(map.keys);
  const note = 'subwords merged into words: sum over keys, mean over queries';
  if (queries.length === map.rows && keys.length === map.columns) return { ...map, notes: [...map.notes, note] };
  const values = new Float64Array(queries.length * keys.length), masked = new Uint8Array(values.length);
  queries.forEach(([firstQuery, endQuery], row) => keys.forEach(([firstKey, endKey], column) => {
    let sum = 0, hidden = true;
    for (let q = firstQuery; q < endQuery; ++q) {
      for (let k = firstKey; k < endKey; ++k) {
        sum += map.values[q * map.columns + k];
        hidden = hidden && map.masked[q * map.columns + k] === 1;
      }
    }
    values[row * keys.length + column] = sum / (endQuery - firstQuery);
    masked[row * keys.length + column] = hidden ? 1 : 0;
  }));
  return {
    ...map, rows: queries.length, columns: keys.length, values, masked, exact: false,
    queries: mergedTokens(map.queries, queries), keys: mergedTokens(map.keys, keys), notes: [...map.notes, note],
  };
}

const derivations = {
  mean: { make: meanMap, label: (kind, layer) => `mean over ${kind.heads.length} heads of layer ${kind.layers[layer]}` },
  max: { make: maximumMap, label: (kind, layer) => `largest of ${kind.heads.length} heads of layer ${kind.layers[layer]}` },
  rollout: {
    make: rolloutMap,
    label: (kind, layer) => `rollout through layers ${kind.layers.slice(0, layer + 1).join(', ')}`,
  },
};

/** The map that a state asks for. */
function shownMap(state) {
  const layer = state.kind.layers.indexOf(state.layer);
  const derivation = derivations[state.head];
  let map = derivation
    ? derivation.make(state.sentence, state.kind, layer)
    : storedMap(state.sentence, state.kind, layer, state.kind.heads.indexOf(state.head));
  map.derived = derivation ? derivation.label(state.kind, layer) : '';
  if (state.hide) map = withoutSpecial(map);
  if (state.merge) map = withWords(map);
  return map;
}

const measures = [
  { name: 'entropy', title: 'entropy', meaning: 'of a row, in nats: 0 where one key has everything' },
  { name: 'distance', title: 'distance', meaning: 'between a row\'s place and its keys\' places, in tokens, weighted' },
  { name: 'diagonality', title: 'diagonality',
    meaning: 'share of the weight within one token of the line from the first pair to the last' },
  { name: 'special', title: 'on special', meaning: 'share of the weight on special tokens such as <eos>' },
  { name: 'largest', title: 'largest', meaning: 'the largest weight of a row' },
];

/** The measures of one stored map; rows whose keys are all masked do not count. */
function statisticsOf(map) {
  const total = { entropy: 0, distance: 0, diagonality: 0, special: 0, largest: 0 };
  let counted = 0;
  const slope = map.rows > 1 ? (map.columns - 1) / (map.rows - 1) : 0;
  for (let q = 0; q < map.rows; ++q) {
    let sum = 0, largest = 0;
    for (let k = 0; k < map.columns; ++k) {
      const weight = map.values[q * map.columns + k];
      if (weight === 0) continue;
      sum += weight;
      largest = Math.max(largest, weight);
      total.entropy -= weight * Math.log(weight);
      total.distance += weight * Math.abs(k - q);
      if (Math.abs(k - q * slope) <= 1) total.diagonality += weight;
      if (map.keys.special[k]) total.special += weight;
    }
    total.largest += largest;
    if (sum > 0) ++counted;
  }
  for (const name of Object.keys(total)) total[name] /= Math.max(counted, 1);
  return total;
}

/** The shortest decimal number that only this float32 is nearest to. */
function exactText(value) {
  for (let digits = 1; digits < 9; ++digits) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}

const valueText = (map, value) => (map.exact ? exactText(value) : String(Number(value.toPrecision(6))));
