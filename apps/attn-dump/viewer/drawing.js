// Draws matrices: on canvas, as SVG, as lines between tokens.
const palette = archive.viridis.match(/.{6}/g).map((hex) => [0, 2, 4].map((at) => parseInt(hex.substr(at, 2), 16)));
const hatchPaper = '#f2f2f2', hatchInk = '#a0a0a0';
const font = '"Noto Sans", "Noto Sans CJK SC", "Noto Naskh Arabic", system-ui, sans-serif';
const labelSize = 12, longestLabel = 150, svgNamespace = 'http://www.w3.org/2000/svg';
const lowestLog = 4; // powers of ten below 1

/** A token as it is shown: what would be invisible becomes visible. */
function visible(text) {
  const shown = text
    .replace(/[\u0085\u2028\u2029]/g, '↵')
    .replace(/[\u0000-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\u007f/g, '␡')
    .replace(/^\s|\s$/g, '␣');
  return /^\p{M}/u.test(shown) ? `◌${shown}` : shown;
}

/** The part of the colour range that a value has: 0 to 1. */
function scalePart(scale, value, largestOfRow) {
  if (scale === 'row') return largestOfRow > 0 ? value / largestOfRow : 0;
  if (scale === 'log') return value > 0 ? Math.max(0, 1 + Math.log10(value) / lowestLog) : 0;
  return value;
}

const colourOf = (part) => palette[Math.min(255, Math.max(0, Math.floor(part * 255 + 0.5)))];

/** The parts of all cells, row by row. */
function partsOf(map, scale) {
  const parts = new Float64Array(map.values.length);
  for (let q = 0; q < map.rows; ++q) {
    let largest = 0;
    for (let k = 0; k < map.columns; ++k) largest = Math.max(largest, map.values[q * map.columns + k]);
    for (let k = 0; k < map.columns; ++k) {
      parts[q * map.columns + k] = scalePart(scale, map.values[q * map.columns + k], largest);
    }
  }
  return parts;
}

/** A canvas with one pixel a cell; masked cells are light grey. */
function pixelsOf(map, scale) {
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(map.columns, 1);
  canvas.height = Math.max(map.rows, 1);
  if (map.values.length === 0) return canvas;
  const context = canvas.getContext('2d');
  const image = context.createImageData(map.columns, map.rows);
  partsOf(map, scale).forEach((part, i) => {
    const colour = map.masked[i] ? [0xf2, 0xf2, 0xf2] : colourOf(part);
    image.data.set([...colour, 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

const measuring = document.createElement('canvas').getContext('2d');

function widthOf(text) {
  measuring.font = `${labelSize}px ${font}`;
  return measuring.measureText(text).width;
}

function shortened(text) {
  if (widthOf(text) <= longestLabel) return text;
  const letters = [...text];
  while (letters.length > 1 && widthOf(`${letters.join('')}…`) > longestLabel) letters.pop();
  return `${letters.join('')}…`;
}

/** Where a heat-map's parts are; `zoom` is added to the size of a cell that fits. */
function geometryOf(map, zoom) {
  const fitting = Math.floor(620 / Math.max(map.rows, map.columns, 1));
  const cell = Math.max(2, Math.min(28, Math.max(4, fitting)) + zoom);
  const stride = Math.ceil((labelSize + 2) / cell);
  const rowLabels = map.queries.text.map((text) => shortened(visible(text)));
  const columnLabels = map.keys.text.map((text) => shortened(visible(text)));
  const widest = (labels) => Math.ceil(Math.max(0, ...labels.filter((_, i) => i % stride === 0).map(widthOf)));
  const left = widest(rowLabels) + 30, top = widest(columnLabels) + 30;
  const width = map.columns * cell, height = map.rows * cell;
  const barHeight = Math.max(110, Math.min(height, 300));
  return {
    cell, stride, rowLabels, columnLabels, left, top, width, height,
    barX: left + width + 18, barHeight,
    fullWidth: left + width + 18 + 14 + 62, fullHeight: top + Math.max(height, barHeight + 28) + 10,
  };
}

const barTicks = (scale) => (scale === 'log'
  ? [[1, '1'], [0.75, '0.1'], [0.5, '0.01'], [0.25, '0.001'], [0, '≤ 0.0001']]
  : [1, 0.8, 0.6, 0.4, 0.2, 0].map((part) => [part, scale === 'row' ? `${Math.round(part * 100)} %` : String(part)]));

function hatchPattern(context) {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const ink = tile.getContext('2d');
  ink.fillStyle = hatchPaper;
  ink.fillRect(0, 0, 6, 6);
  ink.strokeStyle = hatchInk;
  ink.beginPath();
  for (const shift of [-6, 0, 6]) {
    ink.moveTo(shift, 6);
    ink.lineTo(shift + 6, 0);
  }
  ink.stroke();
  return context.createPattern(tile, 'repeat');
}

/** Calls back with (row, first, end) for every run of masked cells. */
function maskedRuns(map, use) {
  for (let q = 0; q < map.rows; ++q) {
    for (let k = 0; k < map.columns; ++k) {
      const first = k;
      while (k < map.columns && map.masked[q * map.columns + k]) ++k;
      if (k > first) use(q, first, k);
    }
  }
}

function drawMap(canvas, map, scale, axes, zoom) {
  const g = geometryOf(map, zoom);
  const ratio = Math.min(window.devicePixelRatio || 1, 8000 / Math.max(g.fullWidth, g.fullHeight));
  canvas.width = Math.round(g.fullWidth * ratio);
  canvas.height = Math.round(g.fullHeight * ratio);
  canvas.style.width = `${g.fullWidth}px`;
  canvas.style.height = `${g.fullHeight}px`;
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = '#fff';
  context.fillRect(0, 0, g.fullWidth, g.fullHeight);
  context.imageSmoothingEnabled = false;
  if (map.values.length > 0) context.drawImage(pixelsOf(map, scale), g.left, g.top, g.width, g.height);
  context.fillStyle = hatchPattern(context);
  maskedRuns(map, (row, first, end) => {
    context.fillRect(g.left + first * g.cell, g.top + row * g.cell, (end - first) * g.cell, g.cell);
  });
  context.strokeStyle = '#666';
  context.strokeRect(g.left - 0.5, g.top - 0.5, g.width + 1, g.height + 1);
  drawLabels(context, map, g, axes);
  drawBar(context, g, scale, map.masked.includes(1));
  return g;
}

function drawLabels(context, map, g, axes) {
  context.fillStyle = '#000';
  context.font = `${labelSize}px ${font}`;
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  g.rowLabels.forEach((text, i) => {
    if (i % g.stride === 0) context.fillText(text, g.left - 6, g.top + (i + 0.5) * g.cell);
  });
  const turned = (text, x, y, align) => {
    context.save();
    context.translate(x, y);
    context.rotate(-Math.PI / 2);
    context.textAlign = align;
    context.fillText(text, 0, 0);
    context.restore();
  };
  g.columnLabels.forEach((text, i) => {
    if (i % g.stride === 0) turned(text, g.left + (i + 0.5) * g.cell, g.top - 6, 'left');
  });
  context.fillStyle = '#555';
  turned(axes.query, 9, g.top + g.height / 2, 'center');
  context.textAlign = 'center';
  context.fillText(axes.key, g.left + g.width / 2, 9);
}

function drawBar(context, g, scale, anyMasked) {
  for (let y = 0; y < g.barHeight; ++y) {
    context.fillStyle = `rgb(${colourOf(1 - y / (g.barHeight - 1)).join()})`;
    context.fillRect(g.barX, g.top + y, 14, 1);
  }
  context.strokeStyle = '#666';
  context.strokeRect(g.barX - 0.5, g.top - 0.5, 15, g.barHeight + 1);
  context.fillStyle = '#000';
  context.textAlign = 'left';
  for (const [part, text] of barTicks(scale)) context.fillText(text, g.barX + 19, g.top + (1 - part) * g.barHeight);
  if (!anyMasked) return;
  context.fillStyle = hatchPattern(context);
  context.fillRect(g.barX, g.top + g.barHeight + 14, 14, 14);
  context.fillStyle = '#000';
  context.fillText('masked', g.barX + 19, g.top + g.barHeight + 21);
}

/** The cell (query, key) at a point of the canvas, or null. */
function cellAt(g, map, x, y) {
  const key = Math.floor((x - g.left) / g.cell), query = Math.floor((y - g.top) / g.cell);
  return key >= 0 && query >= 0 && key < map.columns && query < map.rows ? { query, key } : null;
}

/** Frames around the cell under the pointer and the chosen row. */
function drawMarks(canvas, g, map, cell, query) {
  canvas.width = g.fullWidth;
  canvas.height = g.fullHeight;
  const context = canvas.getContext('2d');
  context.lineWidth = 2;
  if (query !== null && query < map.rows) {
    context.strokeStyle = '#0072b2';
    context.strokeRect(g.left - 2, g.top + query * g.cell - 1, g.width + 4, g.cell + 2);
  }
  if (cell) {
    context.strokeStyle = '#d55e00';
    context.strokeRect(g.left + cell.key * g.cell - 1, g.top + cell.query * g.cell - 1, g.cell + 2, g.cell + 2);
    context.fillStyle = '#d55e00';
    context.fillRect(g.left - 4, g.top + cell.query * g.cell, 3, g.cell);
    context.fillRect(g.left + cell.key * g.cell, g.top - 4, g.cell, 3);
  }
}

function svgElement(name, attributes, text) {
  const element = document.createElementNS(svgNamespace, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** XML has no control characters besides tab and line ends; visible() leaves none in labels. */
const serialised = (svg) => `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;

const mostShapes = 40000; // above so many cells the SVG holds an image

/** The heat-map as an SVG document. */
function mapAsSvg(map, scale, axes, zoom, title) {
  const g = geometryOf(map, zoom);
  const svg = svgElement('svg', {
    xmlns: svgNamespace, width: g.fullWidth, height: g.fullHeight, viewBox: `0 0 ${g.fullWidth} ${g.fullHeight}`,
    'font-family': font.replaceAll('"', "'"), 'font-size': labelSize,
  });
  svg.append(svgElement('title', {}, title));
  const pattern = svgElement('pattern', { id: 'masked', width: 6, height: 6, patternUnits: 'userSpaceOnUse' });
  pattern.append(svgElement('rect', { width: 6, height: 6, fill: hatchPaper }),
    svgElement('path', { d: 'M-6 6L0 0M0 6L6 0M6 6L12 0', stroke: hatchInk }));
  const definitions = svgElement('defs', {});
  definitions.append(pattern);
  svg.append(definitions, svgElement('rect', { width: g.fullWidth, height: g.fullHeight, fill: '#fff' }));
  const cells = svgElement('g', { 'shape-rendering': 'crispEdges' });
  if (map.values.length > mostShapes) {
    cells.append(svgElement('image', {
      x: g.left, y: g.top, width: g.width, height: g.height, 'image-rendering': 'pixelated',
      preserveAspectRatio: 'none', href: pixelsOf(map, scale).toDataURL('image/png'),
    }));
  } else {
    partsOf(map, scale).forEach((part, i) => {
      if (map.masked[i]) return;
      cells.append(svgElement('rect', {
        x: g.left + (i % map.columns) * g.cell, y: g.top + Math.floor(i / map.columns) * g.cell,
        width: g.cell, height: g.cell, fill: `rgb(${colourOf(part).join()})`,
      }));
    });
  }
  maskedRuns(map, (row, first, end) => cells.append(svgElement('rect', {
    x: g.left + first * g.cell, y: g.top + row * g.cell, width: (end - first) * g.cell, height: g.cell,
    fill: 'url(#masked)',
  })));
  svg.append(cells);
  appendSvgLabels(svg, map, g, scale, axes);
  return serialised(svg);
}

function appendSvgLabels(svg, map, g, scale, axes) {
  const text = (content, x, y, anchor, turned) => svg.append(svgElement('text', {
    x, y, 'text-anchor': anchor, 'dominant-baseline': 'central', ...(turned ? { transform: `rotate(-90 ${x} ${y})` } : {}),
  }, content));
  svg.append(svgElement('rect', {
    x: g.left - 0.5, y: g.top - 0.5, width: g.width + 1, height: g.height + 1, fill: 'none', stroke: '#666',
  }));
  g.rowLabels.forEach((label, i) => { if (i % g.stride === 0) text(label, g.left - 6, g.top + (i + 0.5) * g.cell, 'end'); });
  g.columnLabels.forEach((label, i) => {
    if (i % g.stride === 0) text(label, g.left + (i + 0.5) * g.cell, g.top - 6, 'start', true);
  });
  text(axes.query, 9, g.top + g.height / 2, 'middle', true);
  text(axes.key, g.left + g.width / 2, 9, 'middle');
  const step = g.barHeight / 64;
  for (let i = 0; i < 64; ++i) {
    svg.append(svgElement('rect', {
      x: g.barX, y: g.top + i * step, width: 14, height: step + (i < 63 ? 0.5 : 0), fill: `rgb(${colourOf(1 - i / 63).join()})`,
    }));
  }
  for (const [part, label] of barTicks(scale)) text(label, g.barX + 19, g.top + (1 - part) * g.barHeight, 'start');
  if (map.masked.includes(1)) {
    svg.append(svgElement('rect', { x: g.barX, y: g.top + g.barHeight + 14, width: 14, height: 14, fill: 'url(#masked)' }));
    text('masked', g.barX + 19, g.top + g.barHeight + 21, 'start');
  }
}

const mostLines = 3000;

/** Query tokens on the left, key tokens on the right, a line a weight; of a chosen row, only its lines. */
function drawLines(map, query, chooseQuery) {
  const step = 20, top = 12;
  const left = Math.ceil(Math.max(20, ...map.queries.text.map((text) => widthOf(shortened(visible(text)))))) + 14;
  const right = left + 260;
  const width = right + Math.ceil(Math.max(20, ...map.keys.text.map((text) => widthOf(shortened(visible(text)))))) + 14;
  const height = Math.max(map.rows, map.columns) * step + top;
  const svg = svgElement('svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'font-family': font, 'font-size': labelSize });
  const lines = [];
  map.values.forEach((weight, i) => {
    const q = Math.floor(i / map.columns);
    if (weight >= 0.01 && (query === null || q === query)) lines.push([weight, q, i % map.columns]);
  });
  lines.sort((a, b) => b[0] - a[0]);
  const drawn = lines.slice(0, mostLines).reverse(); // the heaviest last, so on top
  for (const [weight, q, k] of drawn) {
    svg.append(svgElement('line', {
      x1: left + 4, y1: top + q * step, x2: right - 4, y2: top + k * step, stroke: q === query ? '#d55e00' : '#0072b2',
      'stroke-opacity': Math.min(1, weight).toFixed(3), 'stroke-width': (0.5 + 2.5 * weight).toFixed(2),
    }));
  }
  map.queries.text.forEach((text, q) => {
    const label = svgElement('text', {
      x: left, y: top + q * step, 'text-anchor': 'end', 'dominant-baseline': 'central', fill: q === query ? '#d55e00' : '#000',
    }, shortened(visible(text)));
    label.addEventListener('click', () => chooseQuery(q));
    svg.append(label);
  });
  map.keys.text.forEach((text, k) => {
    svg.append(svgElement('text', { x: right, y: top + k * step, 'dominant-baseline': 'central' }, shortened(visible(text))));
  });
  return { svg, drawn: drawn.length, of: lines.length };
}
