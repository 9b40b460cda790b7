// Plots of a study: axes over numbers, logarithms and choices, and the drawings on them. All are SVG.
import {element} from './dom.js';
import {formatCount} from './format.js';

const kTuneLeft = 64;
const kMostLabel = 14;
const kTuneRight = 14;
const kTuneTop = 12;
const kTuneBottom = 40;

/** @param {string} tag @param {Object<string, any>} attributes @param {...(Node|string)} children */
export function tuneShape(tag, attributes, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** Four significant figures, without zeros at the end. @param {number} value */
export function figureText(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(2).replace(/\.?0+e/, 'e').replace('e+', 'e');
  const rounded = Number(value.toPrecision(4));
  return size < 1000 ? String(rounded) : formatCount(rounded);  // formatCount() has three decimals at most
}

/** Round numbers within a range. @param {number} least @param {number} most */
function roundTicks(least, most) {
  const raw = (most - least) / 5 || Math.abs(most) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) ?? 10);
  const ticks = [];
  for (let at = Math.ceil(least / step - 1e-9); at * step <= most + step * 1e-9; ++at) ticks.push(at * step);
  return ticks;
}

/** An axis from numbers to pixels. */
export class TuneAxis {
  /**
   * @param {{from: number, to: number, least?: number, most?: number, log?: boolean, choices?: string[]}} options
   */
  constructor(options) {
    this.from = options.from;
    this.to = options.to;
    this.choices = options.choices ?? [];
    this.log = Boolean(options.log) && (options.least ?? 0) > 0;
    let least = this.choices.length > 0 ? -0.5 : options.least ?? 0, most = this.choices.length > 0 ? this.choices.length - 0.5 : options.most ?? 1;
    if (!(most > least)) {
      const room = Math.abs(least) * 0.05 || 0.5;
      least -= this.log ? least * 0.05 : room;
      most += room;
    }
    this.least = least;
    this.most = most;
  }

  /** @param {number} value */
  place(value) {
    const share = this.log ? Math.log(value / this.least) / Math.log(this.most / this.least) : (value - this.least) / (this.most - this.least);
    return this.from + (this.to - this.from) * share;
  }

  /** @param {number} place */
  value(place) {
    const share = (place - this.from) / (this.to - this.from);
    return this.log ? this.least * (this.most / this.least) ** share : this.least + (this.most - this.least) * share;
  }

  /** @returns {Array<[number, string]>} */
  ticks() {
    if (this.choices.length > 0) return this.choices.map((name, at) => [at, name]);
    if (!this.log) return roundTicks(this.least, this.most).map((at) => [at, figureText(at)]);
    const ticks = [];
    for (let power = 10 ** Math.floor(Math.log10(this.least)); power <= this.most; power *= 10)
      for (const factor of this.most / this.least > 200 ? [1] : [1, 2, 5]) if (factor * power >= this.least * 0.999 && factor * power <= this.most * 1.001) ticks.push(factor * power);
    return ticks.map((at) => [at, figureText(at)]);
  }
}

/** Least and greatest of what is finite, with some room. @param {number[]} values */
export function rangeOf(values) {
  let least = Infinity, most = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  if (least > most) return {least: 0, most: 1};
  const room = (most - least) * 0.06;
  return {least: least - room, most: most + room};
}

/** The axis of a parameter. @param {any} parameter @param {number} from @param {number} to */
export function parameterAxis(parameter, from, to) {
  if (parameter.choices.length > 0) return new TuneAxis({from, to, choices: parameter.choices});
  const room = parameter.log ? 0 : (parameter.high - parameter.low) * 0.03;
  return new TuneAxis({from, to, least: parameter.low - room, most: parameter.high + room, log: parameter.log});
}

/**
 * A frame with two axes.
 * @param {{width: number, height: number, label: string, x: (from: number, to: number) => TuneAxis, y: (from: number, to: number) => TuneAxis, xName: string, yName: string}} options
 */
export function tuneFrame(options) {
  const {width, height} = options;
  const y = options.y(height - kTuneBottom, kTuneTop);
  const labels = y.ticks().map(([at, text]) => ({at, text: text.length > kMostLabel ? text.slice(0, kMostLabel - 1) + '…' : text}));
  // Room for the longest label beside the name of the axis.
  const left = Math.max(kTuneLeft, 28 + 6.5 * Math.max(0, ...labels.map(({text}) => text.length)));
  const x = options.x(left, width - kTuneRight);
  const svg = tuneShape('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': options.label});
  let last = -Infinity;
  for (const [at, text] of x.ticks()) {
    const place = x.place(at);
    svg.append(tuneShape('line', {x1: place, x2: place, y1: kTuneTop, y2: height - kTuneBottom, class: 'grid'}));
    const room = 7 * Math.min(text.length, 12) + 8;
    if (place - last < room) continue;
    last = place;
    svg.append(tuneShape('text', {x: place, y: height - kTuneBottom + 15, class: 'tick middle'}, text.length > 14 ? text.slice(0, 13) + '…' : text));
  }
  for (const {at, text} of labels)
    svg.append(tuneShape('line', {x1: left, x2: width - kTuneRight, y1: y.place(at), y2: y.place(at), class: 'grid'}),
        tuneShape('text', {x: left - 6, y: y.place(at) + 4, class: 'tick end'}, text));
  svg.append(tuneShape('text', {x: (left + width) / 2, y: height - 6, class: 'axis middle'}, options.xName),
      tuneShape('text', {x: 12, y: (height - kTuneBottom) / 2, class: 'axis middle', transform: `rotate(-90 12 ${(height - kTuneBottom) / 2})`}, options.yName));
  return {svg, x, y};
}

/**
 * Dots of trials that can be pointed at.
 * @param {SVGElement} svg @param {Array<{trial: any, x: number, y: number, class: string}>} dots @param {(trial: any | null, event: MouseEvent | null) => void} show
 */
export function tuneDots(svg, dots, show) {
  // The best last: no other dot covers it.
  for (const dot of [...dots].sort((a, b) => Number(a.trial.best) - Number(b.trial.best))) {
    const shape = tuneShape('circle', {cx: dot.x, cy: dot.y, r: dot.trial.best ? 5.5 : 3.5, class: 'dot ' + dot.class + (dot.trial.best ? ' best' : ''), 'data-trial': dot.trial.number});
    shape.addEventListener('mouseenter', (event) => show(dot.trial, /** @type {MouseEvent} */ (event)));
    shape.addEventListener('mouseleave', () => show(null, null));
    svg.append(shape);
  }
}

/** From near the background for the worst to the full colour for the best, in light and dark. @param {number} share 0 is the worst */
export function shadeOf(share) {
  const clamped = Math.max(0, Math.min(1, share));
  return `color-mix(in oklab, var(--compute) ${(15 + 85 * clamped).toFixed(1)}%, var(--stripe))`;
}

/** Bars of shares. @param {Array<{name: string, share: number}>} rows */
export function shareBars(rows) {
  return element('div', {class: 'bars'}, ...rows.map((row) => element('div', {class: 'bar-line'},
      element('span', {class: 'bar-name name'}, row.name),
      element('span', {class: 'bar-room'}, barOf(row.share)),
      element('span', {class: 'bar-share'}, (100 * row.share).toFixed(1) + '\u202f%'))));
}

/** @param {number} share */
function barOf(share) {
  const bar = element('span', {class: 'bar-fill'});
  bar.style.width = (100 * share).toFixed(2) + '%';
  return bar;
}
