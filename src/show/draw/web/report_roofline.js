// The roofline of an analysis: how fast each op computes against its FLOP for each byte, below the roofs that the ops of the run
// reach themselves: the highest rate of bytes, and the highest of FLOP.
import {element, oneLine} from './dom.js';
import {formatRate, formatTime} from './format.js';
import {valuesOf} from './report_figures.js';
import {axisTicks, svgElement} from './svg.js';

const kRoofWidth = 760, kRoofHeight = 380;
const kRoofLeft = 92, kRoofRight = 14, kRoofTop = 12, kRoofBottom = 46;

/** Ops of which work, bytes and time are known. @param {import('./report_figures.js').Table} table that is called "ops" */
export function rooflineOps(table) {
  const [names, flops, bytes, times, activities] = ['name', 'flops', 'bytes', 'time_ns', 'activity'].map((key) => valuesOf(table, key));
  return names.map((name, row) => ({name, row, flops: flops[row], bytes: bytes[row], time: times[row], activity: activities[row]}))
      .filter((op) => op.flops > 0 && op.bytes > 0 && op.time > 0)
      .map((op) => ({...op, intensity: op.flops / op.bytes, rate: 1e9 * op.flops / op.time, byteRate: 1e9 * op.bytes / op.time}));
}

/** @param {import('./report_figures.js').Table} table that is called "ops" */
export function roofline(table) {
  const ops = rooflineOps(table);
  if (ops.length < 2) return null;
  const topRate = Math.max(...ops.map((op) => op.rate));
  const topBytes = Math.max(...ops.map((op) => op.byteRate));
  const ridge = topRate / topBytes;
  const [leastX, mostX] = [Math.min(ridge, ...ops.map((op) => op.intensity)) / 2, Math.max(ridge, ...ops.map((op) => op.intensity)) * 2];
  const [leastY, mostY] = [Math.min(...ops.map((op) => op.rate)) / 2, topRate * 2];
  const right = kRoofWidth - kRoofRight, bottom = kRoofHeight - kRoofBottom;
  const x = (value) => kRoofLeft + (right - kRoofLeft) * Math.log(value / leastX) / Math.log(mostX / leastX);
  const y = (value) => bottom - (bottom - kRoofTop) * Math.log(value / leastY) / Math.log(mostY / leastY);
  const svg = svgElement('svg', {viewBox: `0 0 ${kRoofWidth} ${kRoofHeight}`, class: 'plot roofline', role: 'group', 'aria-label': 'Roofline'});
  for (const tick of axisTicks(leastX, mostX, true))
    svg.append(svgElement('line', {x1: x(tick), x2: x(tick), y1: kRoofTop, y2: bottom, class: 'grid'}),
        svgElement('text', {x: x(tick), y: bottom + 16, class: 'tick middle'}, tick >= 1 ? String(tick) : String(Number(tick.toPrecision(1)))));
  for (const tick of axisTicks(leastY, mostY, true))
    svg.append(svgElement('line', {x1: kRoofLeft, x2: right, y1: y(tick), y2: y(tick), class: 'grid'}),
        svgElement('text', {x: kRoofLeft - 6, y: y(tick) + 4, class: 'tick end'}, formatRate(tick, 'FLOP/s')));
  // Bytes bound what lies left of the ridge; the roof begins where it enters the picture.
  const start = Math.max(leastX, leastY / topBytes);
  svg.append(svgElement('polyline', {points: [[start, start * topBytes], [ridge, topRate], [mostX, topRate]].map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(' '), class: 'roof'}),
      svgElement('text', {x: right, y: y(topRate) - 6, class: 'tick end'}, `${formatRate(topRate, 'FLOP/s')}, ${formatRate(topBytes, 'B/s')}: the most that an op reaches`),
      svgElement('text', {x: (kRoofLeft + right) / 2, y: kRoofHeight - 6, class: 'tick middle'}, 'FLOP for each byte'));
  const longest = Math.max(...ops.map((op) => op.time));
  for (const op of [...ops].sort((a, b) => b.time - a.time)) {
    const text = `${oneLine(op.name, 120)}: ${formatRate(op.rate, 'FLOP/s')}, ${formatRate(op.byteRate, 'B/s')}, ${formatRate(op.intensity, 'FLOP/B')}, ${formatTime(op.time)} in all`;
    svg.append(svgElement('circle', {cx: x(op.intensity).toFixed(1), cy: y(op.rate).toFixed(1), r: (3 + 15 * Math.sqrt(op.time / longest)).toFixed(1),
      class: `roof-dot fill-${op.activity === 'communication' ? 'communication' : op.activity === 'memory' ? 'memory' : 'compute'}`, tabindex: '0', role: 'img', 'aria-label': text}, svgElement('title', {}, text)));
  }
  return element('div', {class: 'plot-holder'}, element('h3', null, 'Roofline'),
      element('p', {class: 'note'}, 'A circle for each op, as large as its time. On the slope it is bound by memory, below the level by arithmetic; far below both it is bound by neither.'), svg);
}
