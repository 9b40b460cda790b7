// Small plots as SVG: a histogram of durations, and times over steps.
import {element} from './dom.js';
import {cellText, countText, shareText, timeText, valuesOf} from './report_figures.js';
import {svgElement} from './svg.js';

const kPlotWidth = 760;
const kPlotHeight = 210;
const kPlotLeft = 66;
const kPlotBottom = 30;
const kPlotTop = 10;

/** 0 and round numbers up to at least `most`. @param {number} most */
function roundTicks(most) {
  const raw = most / 4;
  const power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) ?? 10);
  const ticks = [0];
  while (ticks[ticks.length - 1] < most) ticks.push(ticks.length * step);
  return ticks;
}

/**
 * @param {{label: string, ticks: number[], text: (value: number) => string}} axis
 */
function plotFrame(axis) {
  const most = axis.ticks[axis.ticks.length - 1] || 1;
  const y = (value) => kPlotHeight - kPlotBottom - (kPlotHeight - kPlotBottom - kPlotTop) * value / most;
  const frame = svgElement('svg', {viewBox: `0 0 ${kPlotWidth} ${kPlotHeight}`, class: 'plot', role: 'img', 'aria-label': axis.label});
  for (const tick of axis.ticks)
    frame.append(svgElement('line', {x1: kPlotLeft, x2: kPlotWidth, y1: y(tick), y2: y(tick), class: 'grid'}),
        svgElement('text', {x: kPlotLeft - 6, y: y(tick) + 4, class: 'tick end'}, axis.text(tick)));
  return {frame, y};
}

const kHistogramFills = {compute: 'fill-compute', communication: 'fill-communication', memory: 'fill-memory'};

/**
 * Nodes, or their time, by duration; activities stand on one another.
 * @param {import('./report_figures.js').Table} table that is called "durations"
 */
export function durationHistogram(table) {
  const holder = element('div', {class: 'plot-holder'});
  const activities = valuesOf(table, 'activity');
  const from = valuesOf(table, 'from_ns');
  const below = valuesOf(table, 'below_ns');
  const edges = [];
  const first = Math.min(...from);
  const last = Math.max(...from);
  for (const begin of binBegins()) if (begin >= first && begin <= last) edges.push(begin);
  const draw = (key) => {
    const values = valuesOf(table, key);
    const total = values.reduce((sum, value) => sum + value, 0);
    const heights = new Map();
    for (let row = 0; row < from.length; ++row) heights.set(from[row], (heights.get(from[row]) ?? 0) + values[row]);
    const text = key === 'nodes' ? countText : timeText;
    const {frame, y} = plotFrame({label: `Durations of the device's nodes by ${key === 'nodes' ? 'number' : 'time'}`,
      ticks: roundTicks(Math.max(...heights.values(), 1)), text});
    const width = (kPlotWidth - kPlotLeft) / edges.length;
    edges.forEach((begin, place) => {
      const x = kPlotLeft + place * width;
      let base = 0;
      for (let row = 0; row < from.length; ++row) {
        if (from[row] !== begin || values[row] === 0) continue;
        const tip = `${activities[row]}, ${timeText(begin)} to ${timeText(below[row])}: ${text(values[row])} (${shareText(values[row] / total)})`;
        frame.append(svgElement('rect', {x: x + 1, width: Math.max(1, width - 2), y: y(base + values[row]), height: Math.max(0.5, y(base) - y(base + values[row])),
          class: kHistogramFills[activities[row]] ?? 'fill-other', tabindex: '0', role: 'img', 'aria-label': tip}, svgElement('title', {}, tip)));
        base += values[row];
      }
      if (edges.length <= 14 || place % 3 === (edges.length <= 24 ? 0 : edges.indexOf(edges.find((each) => /^10*$/.test(String(each)))) % 3))
        frame.append(svgElement('text', {x, y: kPlotHeight - 12, class: 'tick'}, timeText(begin)));
    });
    return frame;
  };
  const buttons = [['time_ns', 'Time'], ['nodes', 'Nodes']].map(([key, name]) => element('button', {class: 'tool', type: 'button', onclick: () => show(key), 'data-key': key}, name));
  const place = element('div');
  const show = (key) => {
    place.replaceChildren(draw(key));
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.key === key));
  };
  holder.append(element('div', {class: 'plot-bar'}, element('span', {class: 'muted'}, 'by duration, added:'), ...buttons), place);
  show('time_ns');
  return holder;
}

/** 0, 1, 2, 5, 10, ... nanoseconds. */
function* binBegins() {
  yield 0;
  for (let power = 1; power < 1e19; power *= 10) for (const factor of [1, 2, 5]) yield power * factor;
}

/**
 * The time of each step: the slowest rank as a line, and all ranks as a band.
 * @param {import('./report_figures.js').Table} table that is called "steps"
 */
export function stepPlot(table) {
  const steps = valuesOf(table, 'step');
  const spans = valuesOf(table, 'span_ns');
  /** @type {Map<number, {least: number, most: number}>} */
  const byStep = new Map();
  for (let row = 0; row < steps.length; ++row) {
    if (steps[row] === null || spans[row] === null) continue;
    const entry = byStep.get(steps[row]) ?? {least: Infinity, most: 0};
    byStep.set(steps[row], {least: Math.min(entry.least, spans[row]), most: Math.max(entry.most, spans[row])});
  }
  const list = [...byStep.entries()].sort((a, b) => a[0] - b[0]);
  if (list.length < 2) return null;
  const {frame, y} = plotFrame({label: 'Time of each step', ticks: roundTicks(Math.max(...list.map(([, entry]) => entry.most))), text: timeText});
  const x = (place) => kPlotLeft + 14 + (kPlotWidth - kPlotLeft - 28) * place / (list.length - 1);
  const upper = list.map(([, entry], place) => `${x(place)},${y(entry.most)}`);
  const lower = list.map(([, entry], place) => `${x(place)},${y(entry.least)}`).reverse();
  frame.append(svgElement('polygon', {points: [...upper, ...lower].join(' '), class: 'band'}),
      svgElement('polyline', {points: upper.join(' '), class: 'curve'}));
  const every = Math.ceil(list.length / 12);
  list.forEach(([step, entry], place) => {
    const tip = `step ${step}: ${cellText(entry.most, {kind: 'time', absent: '-'})}` + (entry.least < entry.most ? `, fastest rank ${timeText(entry.least)}` : '');
    if (list.length <= 400)
      frame.append(svgElement('circle', {cx: x(place), cy: y(entry.most), r: list.length > 60 ? 2 : 4, class: 'dot', tabindex: list.length > 60 ? null : '0', role: 'img', 'aria-label': tip}, svgElement('title', {}, tip)));
    if (place % every === 0) frame.append(svgElement('text', {x: x(place), y: kPlotHeight - 10, class: 'tick middle'}, `step ${step}`));
  });
  return element('div', {class: 'plot-holder'}, frame);
}
