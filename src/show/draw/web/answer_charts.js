// Charts of an answer: parts of a whole, areas by cost, predicted against measured, what goes through links. Each is SVG, so
// that it can be saved and printed, and each piece of it says its figure to who points at it or walks to it with the keyboard.
import {element, oneLine} from './dom.js';
import {formatShare} from './format.js';
import {axisTicks, byteUnit, svgElement} from './svg.js';

const kLeastOfLegend = 0.0005;  // a smaller share of every bar cannot be seen
const kBarHeight = 26, kBarGap = 12;
const kBarLeft = 190, kBarRight = 96;

/** As wide as there is room for, so that texts keep their size. */
const chartWidth = () => Math.min(Math.max(document.documentElement.clientWidth - 60, 600), 1284);

/** Text over a colour has to be light or dark. */
const kLightFills = ['host', 'optimizer', 'other', 'forward'];
const onFill = (fill) => `on-fill${kLightFills.includes(fill) ? ' light' : fill === 'idle' || fill === 'bubble' ? ' idle' : fill === 'backward' ? ' deep' : ''}`;

/** A piece that says what it is. */
function piece(tag, attributes, text) {
  return svgElement(tag, {...attributes, tabindex: '0', role: 'img', 'aria-label': text}, svgElement('title', {}, text));
}

/** @param {Array<{name: string, fill: string}>} parts */
export function partsLegend(parts) {
  return element('div', {class: 'plot-legend'}, ...parts.map(({name, fill}) =>
    element('span', null, element('span', {class: `swatch fill-${fill}`}), name)));
}

/**
 * A bar for each row, of parts one behind the other; with a capacity, a mark where it ends.
 * @param {{label: string, parts: Array<{name: string, fill: string}>, text: (value: number) => string, bytes?: boolean,
 *          rows: Array<{label: string, values: number[], capacity?: number|null, whole?: number}>}} chart values by part; `whole`:
 *     what stands behind the bar, the sum unless said
 */
export function partsChart(chart) {
  const {rows, parts, text} = chart;
  const sums = rows.map((row) => row.values.reduce((sum, value) => sum + value, 0));
  const width = chartWidth();
  const most = Math.max(...sums, ...rows.map((row) => row.capacity ?? 0), 1e-300);
  const height = rows.length * (kBarHeight + kBarGap) + 24;
  const x = (value) => kBarLeft + (width - kBarLeft - kBarRight) * value / most;
  const svg = svgElement('svg', {viewBox: `0 0 ${width} ${height}`, class: 'parts-chart', role: 'group', 'aria-label': chart.label});
  const bottom = rows.length * (kBarHeight + kBarGap);
  const unit = chart.bytes ? byteUnit(most) : 1;
  for (const tick of axisTicks(0, most / unit, false).map((each) => each * unit))
    svg.append(svgElement('line', {x1: x(tick), x2: x(tick), y1: 0, y2: bottom, class: 'grid'}),
        svgElement('text', {x: x(tick), y: bottom + 16, class: 'tick middle'}, tick === 0 ? '0' : text(tick)));
  rows.forEach((row, at) => {
    const y = at * (kBarHeight + kBarGap) + 4;
    svg.append(svgElement('text', {x: kBarLeft - 10, y: y + 17, class: 'label end'}, oneLine(row.label, 26)));
    let before = 0;
    parts.forEach((part, i) => {
      const value = row.values[i];
      if (!(value > 0)) return;
      const share = value / sums[at];
      svg.append(piece('rect', {x: x(before), y, width: Math.max(x(before + value) - x(before), 0.5), height: kBarHeight, class: `fill-${part.fill}`},
          `${row.label}, ${part.name}: ${text(value)}, ${formatShare(share)}`));
      if (x(before + value) - x(before) > 62)
        svg.append(svgElement('text', {x: x(before + value / 2), y: y + 17, class: `${onFill(part.fill)} middle`}, text(value)));
      before += value;
    });
    if (row.capacity) {
      svg.append(svgElement('line', {x1: x(row.capacity), x2: x(row.capacity), y1: y - 3, y2: y + kBarHeight + 3, class: 'capacity'}, svgElement('title', {}, `capacity ${text(row.capacity)}`)));
    }
    const end = Math.max(x(sums[at]), row.capacity ? x(row.capacity) : 0);
    svg.append(svgElement('text', {x: end + 6, y: y + 17, class: 'tick'}, text(row.whole ?? sums[at])));
  });
  return element('div', {class: 'chart-place'}, partsLegend(parts.filter((_, i) => rows.some((row, at) => row.values[i] > kLeastOfLegend * sums[at]))), svg);
}

/**
 * Rectangles whose areas are values, as near to squares as they get (after Bruls, Huizing and van Wijk).
 * @param {number[]} values the largest first @param {{x: number, y: number, width: number, height: number}} room
 */
export function squarified(values, room) {
  const places = [];
  let {x, y, width, height} = room;
  let rest = values.reduce((sum, value) => sum + value, 0);
  for (let at = 0; at < values.length && rest > 0;) {
    const side = Math.min(width, height);
    const area = width * height / rest;
    const worst = (sum, least, most) => Math.max(side * side * most * area / (sum * area) ** 2, (sum * area) ** 2 / (side * side * least * area));
    let end = at + 1;
    let sum = values[at];
    while (end < values.length && values[end] > 0 && worst(sum + values[end], values[end], values[at]) <= worst(sum, values[end - 1], values[at])) sum += values[end++];
    const thick = sum * area / side;
    let along = 0;
    for (; at < end; ++at) {
      const long = side * values[at] / sum;
      places.push(width >= height ? {x, y: y + along, width: thick, height: long} : {x: x + along, y, width: long, height: thick});
      along += long;
    }
    if (width >= height) {
      x += thick;
      width -= thick;
    } else {
      y += thick;
      height -= thick;
    }
    rest -= sum;
  }
  return places;
}

/**
 * Areas by cost: a block for each entry, cut into its parts.
 * @param {{label: string, entries: Array<{name: string, parts: Array<{name: string, fill: string, value: number}>}>, text: (value: number) => string}} chart
 */
export function costMap(chart) {
  const width = chartWidth(), height = 420;
  const svg = svgElement('svg', {viewBox: `0 0 ${width} ${height}`, class: 'cost-map', role: 'group', 'aria-label': chart.label});
  const entries = chart.entries.map((entry) => ({...entry, sum: entry.parts.reduce((sum, part) => sum + part.value, 0)})).filter((entry) => entry.sum > 0)
      .sort((a, b) => b.sum - a.sum);
  const all = entries.reduce((sum, entry) => sum + entry.sum, 0);
  squarified(entries.map((entry) => entry.sum), {x: 0, y: 0, width, height}).forEach((place, i) => {
    const entry = entries[i];
    const parts = entry.parts.filter((part) => part.value > 0).sort((a, b) => b.value - a.value);
    squarified(parts.map((part) => part.value), place).forEach((inner, k) => svg.append(piece('rect', {...inner, class: `fill-${parts[k].fill}`},
        `${entry.name}, ${parts[k].name}: ${chart.text(parts[k].value)}, ${formatShare(parts[k].value / all)} of all`)));
    if (place.width > 70 && place.height > 34) {
      const name = oneLine(entry.name, Math.floor(place.width / 7.2));
      svg.append(svgElement('text', {x: place.x + 6, y: place.y + 16, class: onFill(parts[0].fill)}, name),
          svgElement('text', {x: place.x + 6, y: place.y + 31, class: onFill(parts[0].fill)}, chart.text(entry.sum)));
    }
  });
  return element('div', {class: 'chart-place'}, svg);
}

/**
 * Predicted against measured, both logarithmic, with bands of 10 and 25 %.
 * @param {{label: string, rows: Array<{name: string, measured: number, predicted: number, fill: string}>, text: (value: number) => string,
 *          names: [string, string]}} chart names of both axes
 */
export function errorChart(chart) {
  const size = 520, left = 84, bottom = 48, top = 8, right = 12;
  const values = chart.rows.flatMap((row) => [row.measured, row.predicted]);
  const least = Math.min(...values) / 1.4, most = Math.max(...values) * 1.4;
  const share = (value) => Math.log(value / least) / Math.log(most / least);
  const x = (value) => left + (size - left - right) * share(value);
  const y = (value) => size - bottom - (size - bottom - top) * share(value);
  const svg = svgElement('svg', {viewBox: `0 0 ${size} ${size}`, class: 'scatter-chart', role: 'group', 'aria-label': chart.label});
  for (const tick of axisTicks(least, most, true))
    svg.append(svgElement('line', {x1: x(tick), x2: x(tick), y1: top, y2: size - bottom, class: 'grid'}),
        svgElement('line', {x1: left, x2: size - right, y1: y(tick), y2: y(tick), class: 'grid'}),
        svgElement('text', {x: left - 7, y: y(tick) + 4, class: 'tick end'}, chart.text(tick)),
        svgElement('text', {x: x(tick), y: size - bottom + 16, class: 'tick middle'}, chart.text(tick)));
  const within = (value) => Math.min(Math.max(value, least), most);
  for (const band of [0.25, 0.1]) {
    const corner = (time, factor) => `${x(within(time)).toFixed(1)},${y(within(time * factor)).toFixed(1)}`;
    const edge = (factor) => Array.from({length: 41}, (_, i) => corner(least * (most / least) ** (i / 40), factor));
    svg.append(svgElement('polygon', {points: [...edge(1 + band), ...edge(1 - band).reverse()].join(' '), class: 'band'}));
  }
  svg.append(svgElement('line', {x1: x(least), y1: y(least), x2: x(most), y2: y(most), class: 'exact'}),
      svgElement('text', {x: (left + size - right) / 2, y: size - 8, class: 'axis middle'}, chart.names[0]),
      svgElement('text', {x: 14, y: (top + size - bottom) / 2, class: 'axis middle', transform: `rotate(-90 14 ${(top + size - bottom) / 2})`}, chart.names[1]));
  for (const row of chart.rows) {
    const text = `${row.name}: ${chart.names[0]} ${chart.text(row.measured)}, ${chart.names[1]} ${chart.text(row.predicted)}, ${signedShare(row.predicted / row.measured - 1)}`;
    svg.append(svgElement('circle', {cx: x(row.measured).toFixed(1), cy: y(row.predicted).toFixed(1), r: 3.2, class: `dot fill-${row.fill}`}, svgElement('title', {}, text)));
  }
  const place = element('div', {class: 'chart-place'}, svg);
  place.style.maxWidth = '620px';
  return place;
}

/** "+12.3 %", with a true minus. @param {number} share */
export function signedShare(share) {
  return `${share < 0 ? '\u2212' : '+'}${formatShare(Math.abs(share))}`;
}

const kNodeHeight = 138, kNodeGap = 20, kSpineRoom = 46;

/**
 * The cluster: nodes with their devices, and lines as thick as what goes through each link.
 * @param {{label: string, nodes: Array<{kind: string, devices: number, device: string}>, text: (link: any) => string,
 *          links: Array<{name: string, level: string, bytes: number, bytes_per_second: number}>}} chart
 */
export function linkMap(chart) {
  const {nodes, links} = chart;
  const most = Math.max(...links.map((link) => link.bytes), 1);
  const byName = new Map(links.map((link) => [link.name, link]));
  const widest = Math.max(...nodes.map((node) => node.devices));
  const nodeWidth = Math.max(150, widest * 46 + 20);
  const perRow = Math.max(1, Math.min(nodes.length, Math.floor(chartWidth() / (nodeWidth + kNodeGap))));
  const rows = Math.ceil(nodes.length / perRow);
  const width = perRow * (nodeWidth + kNodeGap);
  const svg = svgElement('svg', {viewBox: `0 0 ${width} ${rows * (kNodeHeight + kSpineRoom) + 12}`, class: 'link-map', role: 'group', 'aria-label': chart.label});
  svg.style.maxWidth = `${width}px`;
  const drawn = new Set();
  /** A line for a link, where the cluster has it. */
  const wire = (name, path) => {
    const link = byName.get(name);
    if (!link || drawn.has(name)) return;
    drawn.add(name);
    svg.append(piece('path', {d: path, 'stroke-width': (link.bytes > 0 ? 1.5 + 5 * link.bytes / most : 1).toFixed(2), class: link.bytes > 0 ? 'wire' : 'wire idle'}, chart.text(link)));
  };
  const pair = (name, x, y1, y2) => {
    wire(`${name}.up`, `M${x - 5} ${y1}V${y2}`);
    wire(`${name}.down`, `M${x + 5} ${y1}V${y2}`);
  };
  /** Links of a mesh or a ring: bows below what they join, the farther apart the deeper. */
  const bows = (places, name, deepest) => {
    for (const [a, xa, y] of places)
      for (const [b, xb] of places)
        if (a !== b) wire(`${name}${a}>${name}${b}`, `M${xa} ${y}Q${(xa + xb) / 2} ${y + 14 + deepest * Math.abs(a - b) / places.length} ${xb} ${y}`);
  };
  const nodePlaces = [];
  let device = 0;
  nodes.forEach((node, at) => {
    const left = (at % perRow) * (nodeWidth + kNodeGap) + kNodeGap / 2;
    const top = Math.floor(at / perRow) * (kNodeHeight + kSpineRoom) + 8;
    const bus = top + kNodeHeight - 26;
    const spine = top + kNodeHeight + 26;
    svg.append(svgElement('rect', {x: left, y: top, width: nodeWidth, height: kNodeHeight, rx: 8, class: 'box'}),
        svgElement('text', {x: left + 8, y: top + kNodeHeight - 8, class: 'tick'}, oneLine(`node ${at}: ${node.kind}`, Math.floor((nodeWidth - 40) / 6.5))));
    const places = [];
    for (let i = 0; i < node.devices; ++i, ++device) {
      const x = Math.round(left + nodeWidth * (i + 0.5) / node.devices);
      places.push([device, x, top + 48]);
      pair(`device${device}`, x, top + 48, bus);
      pair(`device${device}.card`, x, top + 22, top + 2);
      svg.append(svgElement('rect', {x: x - 17, y: top + 22, width: 34, height: 26, rx: 4, class: 'fill-compute'}),
          svgElement('text', {x, y: top + 39, class: 'on-fill middle'}, String(device)));
    }
    bows(places, 'device', 80);
    if (byName.has(`device${device - 1}.up`)) svg.append(svgElement('path', {d: `M${left + 12} ${bus}H${left + nodeWidth - 12}`, class: 'rail'}));
    wire(`node${at}.bus`, `M${left + 12} ${bus}H${left + nodeWidth - 12}`);
    pair(`node${at}`, left + nodeWidth - 26, bus, spine);
    nodePlaces.push([at, left + nodeWidth / 2, top + kNodeHeight]);
    if (nodes.length > 1 && byName.has(`node${at}.up`) && at % perRow === 0)
      svg.append(svgElement('path', {d: `M${kNodeGap} ${spine}H${width - kNodeGap}`, class: 'rail'}));
  });
  bows(nodePlaces.slice(0, perRow), 'node', 20);
  const others = links.filter((link) => !drawn.has(link.name) && link.bytes > 0).length;
  return element('div', {class: 'chart-place'}, svg, others > 0 ? element('p', {class: 'muted'}, `${others} more links carry something: the table has them.`) : null);
}
