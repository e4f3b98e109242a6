// The state, the controls, and what they change.
const $ = (id) => document.getElementById(id);
const derivedHeads = { mean: 'mean of heads (derived)', max: 'maximum of heads (derived)', rollout: 'rollout (derived)' };
const scales = ['fixed', 'row', 'log'];
const state = {
  sentence: null, kind: null, layer: 0, head: 0, scale: 'fixed', hide: false, merge: false, query: null, zoom: 0,
  sort: '', descending: false,
};
let shown = null, geometry = null, cursor = null;

const kindsOf = (sentence) => archive.kinds.filter((kind) => kind.name in sentence.maps);
const isSquare = (kind) => kind.axes.query === kind.axes.key;
const headsOf = (kind) => [...kind.heads, ...Object.keys(derivedHeads).filter((name) => name !== 'rollout' || isSquare(kind))];

/** Makes the state one that exists: what it asks for, as far as it is here. */
function settle() {
  state.sentence ??= archive.sentences.find((sentence) => kindsOf(sentence).length > 0) ?? archive.sentences[0];
  if (!state.kind || !archive.kinds.includes(state.kind)) state.kind = kindNamed('cross') ?? archive.kinds[0];
  if (!state.kind.layers.includes(state.layer)) state.layer = state.kind.layers[0];
  if (!headsOf(state.kind).includes(state.head)) state.head = state.kind.heads[0];
  if (!scales.includes(state.scale)) state.scale = 'fixed';
}

function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (/^-?\d+$/.test(given.get(name) ?? '') ? Number(given.get(name)) : null);
  state.sentence = archive.sentences.find((sentence) => sentence.index === number('sentence')) ?? null;
  state.kind = kindNamed(given.get('kind')) ?? null;
  state.layer = number('layer') ?? -1;
  state.head = given.get('head') in derivedHeads ? given.get('head') : number('head') ?? -1;
  state.scale = given.get('scale') ?? 'fixed';
  state.hide = given.get('hide') === '1';
  state.merge = given.get('merge') === '1';
  state.query = number('query');
  state.zoom = Math.max(-20, Math.min(40, number('zoom') ?? 0));
  state.sort = measures.some(({ name }) => name === given.get('sort')) ? given.get('sort') : '';
  state.descending = given.get('order') === 'down';
  settle();
}

function writeHash() {
  const parts = { sentence: state.sentence.index, kind: state.kind.name, layer: state.layer, head: state.head };
  if (state.scale !== 'fixed') parts.scale = state.scale;
  if (state.hide) parts.hide = 1;
  if (state.merge) parts.merge = 1;
  if (state.query !== null) parts.query = state.query;
  if (state.zoom) parts.zoom = state.zoom;
  if (state.sort) Object.assign(parts, { sort: state.sort, order: state.descending ? 'down' : 'up' });
  history.replaceState(null, '', `#${new URLSearchParams(parts)}`);
}

/** Changes the state and shows it. Another matrix has other rows, so the chosen one is given up with it. */
function change(parts) {
  const rowsMove = ['sentence', 'kind', 'hide', 'merge'].some((name) => name in parts && parts[name] !== state[name]);
  if (rowsMove && !('query' in parts)) state.query = null;
  if (rowsMove) cursor = null;
  Object.assign(state, parts);
  settle();
  writeHash();
  show();
}

function fillSelect(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, text]) => new Option(text, value, false, String(value) === String(chosen))));
}

function sentenceLabel(sentence) {
  const text = sentence.source || '(empty line)';
  const letters = [...text];
  return `${sentence.index}: ${letters.length > 60 ? `${letters.slice(0, 60).join('')}…` : text}`;
}

function fillSentences() {
  const wanted = $('find').value.toLowerCase();
  const found = archive.sentences.filter((sentence) => sentence === state.sentence || wanted === '' ||
    sentence.source.toLowerCase().includes(wanted) || sentence.target.toLowerCase().includes(wanted));
  fillSelect($('sentence'), found.map((sentence) => [sentence.index, sentenceLabel(sentence)]), state.sentence.index);
}

function showControls() {
  $('sentence').value = String(state.sentence.index);
  if ($('sentence').value !== String(state.sentence.index)) fillSentences();
  fillSelect($('kind'), archive.kinds.map((kind) => [kind.name, kind.title]), state.kind.name);
  fillSelect($('layer'), state.kind.layers.map((layer) => [layer, layer]), state.layer);
  fillSelect($('head'), headsOf(state.kind).map((head) => [head, derivedHeads[head] ?? head]), state.head);
  $('scale').value = state.scale;
  $('hide').checked = state.hide;
  $('merge').checked = state.merge;
}

function showSentence() {
  const { sentence } = state;
  const line = (name, text) => {
    const span = document.createElement('span'), label = document.createElement('b'), content = document.createElement('bdi');
    label.textContent = `${name}: `;
    content.textContent = text;
    span.append(label, content);
    return span;
  };
  const lines = [line('source', sentence.source), line('target', sentence.target)];
  if (sentence.reference !== undefined) lines.push(line('reference', sentence.reference));
  if (sentence.status !== 'ok') lines.push(line('status', sentence.status));
  if (sentence.score !== null) lines.push(line('score', String(sentence.score)));
  $('sentence-text').replaceChildren(...lines);
}

function show() {
  showControls();
  showSentence();
  const there = state.kind.name in state.sentence.maps;
  $('views').hidden = !there;
  $('message').textContent = there ? '' : `Line ${state.sentence.line} has no tokens, so it has no maps.`;
  if (!there) return;
  shown = shownMap(state);
  if (state.query !== null && (state.query < 0 || state.query >= shown.rows)) state.query = null;
  showMap();
  showText();
  showLines();
  showOverview();
  showStatistics();
}

function description() {
  return `${state.kind.title}, layer ${state.layer}, ` +
    (shown.derived ? `derived: ${shown.derived}` : `head ${state.head}`) + `, sentence ${state.sentence.index}`;
}

function showMap() {
  geometry = drawMap($('map'), shown, state.scale, state.kind.axes, state.zoom);
  $('map').closest('section').classList.toggle('wide', geometry.fullWidth > $('views').clientWidth / 2 - 13);
  $('map').setAttribute('aria-label', `heat-map of ${description()}: ${shown.rows} rows, ${shown.columns} columns`);
  Object.assign($('map').dataset, {
    left: geometry.left, top: geometry.top, cell: geometry.cell, rows: shown.rows, columns: shown.columns,
  });
  const notes = [...shown.notes];
  if (state.scale === 'row') notes.push('colours relative to each row\'s largest weight');
  if (geometry.stride > 1) notes.push(`one token in ${geometry.stride} is labelled; the pointer names all`);
  $('notes').replaceChildren();
  if (shown.derived) {
    const badge = document.createElement('span');
    badge.className = 'badge';
    badge.textContent = `derived: ${shown.derived}`;
    $('notes').append(badge);
  }
  $('notes').append(notes.join('; '));
  point(cursor, null);
}

/** Says and marks which cell is under the pointer or the cursor. */
function point(cell, place) {
  cursor = cell && cell.query < shown.rows && cell.key < shown.columns ? cell : null;
  drawMarks($('marks'), geometry, shown, cursor, state.query);
  $('tip').hidden = !(cursor && place);
  const readout = $('readout');
  if (!cursor) {
    readout.textContent = '';
    for (const name of Object.keys(readout.dataset)) delete readout.dataset[name];
    return;
  }
  const i = cursor.query * shown.columns + cursor.key;
  const value = shown.masked[i] ? 'masked' : valueText(shown, shown.values[i]);
  const query = visible(shown.queries.text[cursor.query]), key = visible(shown.keys.text[cursor.key]);
  Object.assign(readout.dataset, { query: cursor.query, key: cursor.key, value });
  readout.textContent = `${state.kind.axes.query} ${cursor.query} “\u2068${query}\u2069” → ` +
    `${state.kind.axes.key} ${cursor.key} “\u2068${key}\u2069”: ${value}`;
  if (place) {
    $('tip').textContent = `\u2068${query}\u2069 → \u2068${key}\u2069  ${value}`;
    $('tip').style.left = `${Math.min(place.x + 14, window.innerWidth - 220)}px`;
    $('tip').style.top = `${place.y + 16}px`;
  }
}

function tokenElement(name, text, special) {
  const element = document.createElement(name);
  element.className = special ? 'token special' : 'token';
  element.textContent = visible(text);
  return element;
}

function showText() {
  const { query } = state;
  $('query-title').textContent = `${state.kind.axes.query}: choose a token`;
  $('query-text').replaceChildren(...shown.queries.text.map((text, q) => {
    const button = tokenElement('button', text, shown.queries.special[q]);
    button.type = 'button';
    button.setAttribute('aria-pressed', String(q === query));
    button.addEventListener('click', () => chooseQuery(q));
    return button;
  }));
  $('key-title').textContent = query === null ? `${state.kind.axes.key}: tinted once a token is chosen`
    : `${state.kind.axes.key}: what “\u2068${visible(shown.queries.text[query])}\u2069” attends to`;
  const parts = query === null ? null : partsOf(shown, state.scale);
  $('key-text').replaceChildren(...shown.keys.text.map((text, k) => {
    const element = tokenElement('span', text, shown.keys.special[k]);
    if (query !== null) {
      const i = query * shown.columns + k;
      const part = shown.masked[i] ? 0 : parts[i];
      element.style.backgroundColor = `rgba(230, 159, 0, ${part.toFixed(3)})`;
      element.title = shown.masked[i] ? 'masked' : valueText(shown, shown.values[i]);
    }
    return element;
  }));
}

function chooseQuery(query) {
  change({ query: query === state.query ? null : query });
}

function showLines() {
  const { svg, drawn, of } = drawLines(shown, state.query, chooseQuery);
  $('lines').replaceChildren(svg);
  const few = drawn < of ? `the ${drawn} heaviest of ${of} weights of at least 0.01` : 'weights of at least 0.01';
  $('lines-note').textContent = `${few}${state.query === null ? '; click a token on the left for its lines alone' : ''}`;
}

const overviewPixels = 56;
let overviewKey = '';

function showOverview() {
  const { sentence, kind } = state;
  const key = `${sentence.index} ${kind.name} ${state.scale}`;
  if (key !== overviewKey) {
    overviewKey = key;
    buildOverview(sentence, kind);
  }
  for (const button of $('overview').querySelectorAll('button')) {
    button.setAttribute('aria-pressed',
      String(Number(button.dataset.layer) === state.layer && button.dataset.head === String(state.head)));
  }
}

function buildOverview(sentence, kind) {
  const grid = $('overview');
  grid.style.gridTemplateColumns = `max-content repeat(${kind.heads.length}, max-content)`;
  const heading = (text) => {
    const element = document.createElement('span');
    element.textContent = text;
    return element;
  };
  grid.replaceChildren(heading(''), ...kind.heads.map((head) => heading(`head ${head}`)));
  kind.layers.forEach((layer, l) => {
    grid.append(heading(`layer ${layer}`));
    kind.heads.forEach((head, h) => {
      const map = storedMap(sentence, kind, l, h);
      const canvas = pixelsOf(map, state.scale);
      const largest = Math.max(map.rows, map.columns);
      if (largest <= overviewPixels) canvas.className = 'few'; // more are averaged by the browser
      canvas.style.width = `${Math.max(8, overviewPixels * map.columns / largest)}px`;
      canvas.style.height = `${Math.max(8, overviewPixels * map.rows / largest)}px`;
      const button = document.createElement('button');
      button.type = 'button';
      button.setAttribute('aria-label', `layer ${layer}, head ${head}`);
      Object.assign(button.dataset, { layer, head });
      button.append(canvas);
      button.addEventListener('click', () => change({ layer, head }));
      grid.append(button);
    });
  });
}

let statisticsKey = '', statisticsRows = [];

function showStatistics() {
  const { sentence, kind } = state;
  const key = `${sentence.index} ${kind.name}`;
  if (key !== statisticsKey) {
    statisticsKey = key;
    statisticsRows = kind.layers.flatMap((layer, l) => kind.heads.map((head, h) => (
      { layer, head, ...statisticsOf(storedMap(sentence, kind, l, h)) })));
  }
  const rows = [...statisticsRows];
  if (state.sort) rows.sort((a, b) => (state.descending ? b[state.sort] - a[state.sort] : a[state.sort] - b[state.sort]));
  $('statistics').tBodies[0].replaceChildren(...rows.map((row) => {
    const element = document.createElement('tr');
    element.setAttribute('aria-selected', String(row.layer === state.layer && row.head === state.head));
    const cells = [row.layer, row.head, ...measures.map(({ name }) => row[name].toFixed(4))];
    cells.forEach((text) => { element.insertCell().textContent = text; });
    element.addEventListener('click', () => change({ layer: row.layer, head: row.head }));
    return element;
  }));
  for (const heading of $('statistics').tHead.rows[0].cells) {
    if (heading.dataset.measure === undefined) continue;
    const sorted = heading.dataset.measure === state.sort;
    heading.setAttribute('aria-sort', sorted ? (state.descending ? 'descending' : 'ascending') : 'none');
  }
}

function buildStatisticsHead() {
  const row = $('statistics').tHead.rows[0];
  for (const title of ['layer', 'head']) {
    const heading = document.createElement('th');
    heading.textContent = title;
    row.append(heading);
  }
  for (const { name, title, meaning } of measures) {
    const heading = document.createElement('th'), button = document.createElement('button');
    button.type = 'button';
    button.textContent = title;
    button.title = meaning;
    heading.dataset.measure = name;
    heading.append(button);
    // Largest first, then smallest first, then by layer and head again.
    button.addEventListener('click', () => change(state.sort !== name ? { sort: name, descending: true }
      : state.descending ? { descending: false } : { sort: '' }));
    row.append(heading);
    const term = document.createElement('dt'), explanation = document.createElement('dd');
    term.textContent = title;
    explanation.textContent = meaning;
    $('meanings').append(term, explanation);
  }
}

function save(blob, extension) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = `${archive.file.replace(/\.[^.]*$/, '')}-${state.sentence.index}-${state.kind.name}-` +
    `layer${state.layer}-${shown.derived ? state.head : `head${state.head}`}.${extension}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function nextOf(list, current, step) {
  return list[(list.indexOf(current) + step + list.length) % list.length];
}

const shortcuts = {
  ArrowLeft: () => change({ head: nextOf(headsOf(state.kind), state.head, -1) }),
  ArrowRight: () => change({ head: nextOf(headsOf(state.kind), state.head, 1) }),
  ArrowUp: () => change({ layer: nextOf(state.kind.layers, state.layer, -1) }),
  ArrowDown: () => change({ layer: nextOf(state.kind.layers, state.layer, 1) }),
  '[': () => change({ sentence: nextOf(archive.sentences, state.sentence, -1) }),
  ']': () => change({ sentence: nextOf(archive.sentences, state.sentence, 1) }),
  k: () => change({ kind: nextOf(archive.kinds, state.kind, 1) }),
  c: () => change({ scale: nextOf(scales, state.scale, 1) }),
  s: () => change({ hide: !state.hide }),
  w: () => change({ merge: !state.merge }),
  '+': () => change({ zoom: Math.min(40, state.zoom + 2) }),
  '-': () => change({ zoom: Math.max(-20, state.zoom - 2) }),
  Escape: () => change({ query: null }),
};

const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Keys while the heat-map has the focus; true when the key had a meaning there. */
function mapKey(key) {
  if (key === 'Enter' && cursor) chooseQuery(cursor.query);
  else if (key in steps) {
    const from = cursor ?? { query: 0, key: -1 };
    const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
    point({ query: clamp(from.query + steps[key][0], shown.rows), key: clamp(from.key + steps[key][1], shown.columns) }, null);
  } else return false;
  return true;
}

function listen() {
  $('controls').addEventListener('submit', (event) => event.preventDefault());
  $('find').addEventListener('input', fillSentences);
  $('sentence').addEventListener('change', (event) => change({
    sentence: archive.sentences.find((sentence) => String(sentence.index) === event.target.value),
  }));
  $('kind').addEventListener('change', (event) => change({ kind: kindNamed(event.target.value) }));
  $('layer').addEventListener('change', (event) => change({ layer: Number(event.target.value) }));
  $('head').addEventListener('change', (event) => change({
    head: event.target.value in derivedHeads ? event.target.value : Number(event.target.value),
  }));
  $('scale').addEventListener('change', (event) => change({ scale: event.target.value }));
  $('hide').addEventListener('change', (event) => change({ hide: event.target.checked }));
  $('merge').addEventListener('change', (event) => change({ merge: event.target.checked }));
  $('smaller').addEventListener('click', shortcuts['-']);
  $('larger').addEventListener('click', shortcuts['+']);
  $('save-svg').addEventListener('click', () => save(new Blob(
    [mapAsSvg(shown, state.scale, state.kind.axes, state.zoom, description())], { type: 'image/svg+xml' }), 'svg'));
  $('save-png').addEventListener('click', () => $('map').toBlob((blob) => save(blob, 'png'), 'image/png'));
  $('map').addEventListener('pointermove', (event) => point(
    cellAt(geometry, shown, event.offsetX, event.offsetY), { x: event.clientX, y: event.clientY }));
  $('map').addEventListener('pointerleave', () => point(null, null));
  $('map').addEventListener('click', (event) => {
    const cell = cellAt(geometry, shown, event.offsetX, event.offsetY);
    if (cell) chooseQuery(cell.query);
  });
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
    const used = event.target === $('map') && shown && mapKey(event.key);
    if (!used && !(event.key in shortcuts)) return;
    event.preventDefault();
    if (!used) shortcuts[event.key]();
  });
  window.addEventListener('hashchange', () => { readHash(); fillSentences(); show(); });
}

/** Fonts for Chinese differ from those for Japanese: the language says which. */
function setLanguage() {
  const texts = archive.sentences.map((sentence) => sentence.source + sentence.target).join('');
  if (/\p{Script=Han}/u.test(texts) && !/[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(texts)) {
    $('views').lang = $('sentence-text').lang = 'zh';
  }
}

document.title = `${archive.file}: attention`;
$('file-name').textContent = archive.file;
$('origin').textContent = archive.origin;
setLanguage();
buildStatisticsHead();
readHash();
fillSentences();
listen();
show();
