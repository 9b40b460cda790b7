// Where a timeline has predictions: each op's predicted time against its measured one, and lanes coloured by how far they are
// apart.
import {element, oneLine} from './dom.js';
import {formatCount, formatShare, formatTime} from './format.js';
import {axisTicks} from './svg.js';
import {themeColor} from './theme.js';
import {kLinkKinds} from './timeline_data.js';
import {linksOf} from './timeline_links.js';
import {mixColors, pixelColor} from './timeline_palette.js';

/** @typedef {import('./timeline_data.js').TimelineData} TimelineData */

const kBands = [0.1, 0.25];
const kFarthest = 0.5;  // an error from which on the colour is full
const kErrorLeft = 66, kErrorRight = 12, kErrorTop = 8, kErrorBottom = 40, kErrorHeight = 330;
const kCaught = 12;  // pixels around the pointer

/**
 * Pairs of events, measured and predicted, of which both take time.
 * @param {TimelineData} data
 * @returns {Promise<{measured: Uint32Array, predicted: Uint32Array}>}
 */
export async function predictedPairs(data) {
  const links = await linksOf(data);
  const found = links.ofKinds([kLinkKinds.indexOf('prediction')]).filter((link) => data.durations[links.from[link]] > 0 && data.durations[links.to[link]] > 0);
  return {measured: Uint32Array.from(found, (link) => links.to[link]), predicted: Uint32Array.from(found, (link) => links.from[link])};
}

/** Predicted over measured, less 1. @param {TimelineData} data @param {number} measured @param {number} predicted */
function errorOf(data, measured, predicted) {
  return data.durations[predicted] / data.durations[measured] - 1;
}

/**
 * A colour for each event of a pair, -1 for the others: grey where the prediction is right, blue where it is too short, red where
 * it is too long.
 * @param {TimelineData} data @param {{measured: Uint32Array, predicted: Uint32Array}} pairs
 */
export function errorColors(data, pairs) {
  const colors = new Int32Array(data.count).fill(-1);
  const [right, short, long] = ['idle', 'compute', 'communication'].map((name) => pixelColor(themeColor(name)));
  pairs.measured.forEach((measured, i) => {
    const predicted = pairs.predicted[i];
    const error = errorOf(data, measured, predicted);
    // Half and twice as long are equally far.
    const away = error < 0 ? 1 / (1 + error) - 1 : error;
    colors[measured] = colors[predicted] = mixColors(right, error < 0 ? short : long, Math.min(away / kFarthest, 1));
  });
  return colors;
}

export class ErrorScatter {
  /**
   * @param {TimelineData} data @param {{measured: Uint32Array, predicted: Uint32Array}} pairs
   * @param {(event: number) => void} goTo
   */
  constructor(data, pairs, goTo) {
    this.data = data;
    this.pairs = pairs;
    this.canvas = /** @type {HTMLCanvasElement} */ (element('canvas', {class: 'error-scatter', role: 'img', 'aria-label': this.summary()}));
    this.said = element('p', {class: 'muted', 'aria-live': 'polite'}, 'Each dot is an op. A click goes to it.');
    this.root = element('div', {class: 'columns'}, element('div', {class: 'error-plot'}, this.canvas, this.said), this.table());
    this.canvas.addEventListener('pointermove', (event) => this.tell(this.nearest(event.offsetX, event.offsetY)));
    this.canvas.addEventListener('click', (event) => {
      const pair = this.nearest(event.offsetX, event.offsetY);
      if (pair !== null) goTo(this.pairs.measured[pair]);
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** How many are within a band. @param {number} band */
  within(band) {
    const {data, pairs} = this;
    let count = 0;
    pairs.measured.forEach((measured, i) => {
      if (Math.abs(errorOf(data, measured, pairs.predicted[i])) <= band) ++count;
    });
    return count;
  }

  summary() {
    const all = this.pairs.measured.length;
    return `Predicted against measured time of ${formatCount(all)} ops; ` +
        kBands.map((band) => `${formatShare(this.within(band) / Math.max(all, 1))} within ${100 * band} %`).join(', ');
  }

  /** By name of the op: how many, and how far off in the middle. */
  table() {
    const {data, pairs} = this;
    /** @type {Map<string, {errors: number[], measured: number, predicted: number}>} */
    const names = new Map();
    pairs.measured.forEach((measured, i) => {
      const name = data.name(measured);
      if (!names.has(name)) names.set(name, {errors: [], measured: 0, predicted: 0});
      const one = names.get(name);
      one.errors.push(errorOf(data, measured, pairs.predicted[i]));
      one.measured += data.durations[measured];
      one.predicted += data.durations[pairs.predicted[i]];
    });
    const rows = [...names].sort((a, b) => b[1].measured - a[1].measured).slice(0, 40).map(([name, one]) => {
      const change = one.predicted / one.measured - 1;
      return element('tr', null, element('td', {class: 'name'}, oneLine(name, 80)), element('td', {class: 'figure'}, formatCount(one.errors.length)),
          element('td', {class: 'figure'}, formatTime(one.measured)), element('td', {class: 'figure'}, formatTime(one.predicted)),
          element('td', {class: 'figure'}, `${change < 0 ? '\u2212' : '+'}${formatShare(Math.abs(change))}`));
    });
    return element('div', null, element('p', null, element('strong', null, oneLine(data.head.subtitle, 200))), element('p', null, this.summary() + '.'),
        element('table', {id: 'error-table', 'aria-label': 'Errors by op'},
            element('thead', null, element('tr', null, ...['op', 'times', 'measured', 'predicted', 'error'].map((title, at) =>
              element('th', {scope: 'col', class: at > 0 ? 'figure' : null}, title)))), element('tbody', null, ...rows)));
  }

  draw() {
    const {data, pairs, canvas} = this;
    const width = canvas.clientWidth;
    if (width === 0) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    canvas.width = width * ratio;
    canvas.height = kErrorHeight * ratio;
    const context = canvas.getContext('2d');
    context.scale(ratio, ratio);
    let least = Infinity, most = 1;
    for (const event of [...pairs.measured, ...pairs.predicted]) {
      least = Math.min(least, data.durations[event]);
      most = Math.max(most, data.durations[event]);
    }
    least = Math.min(least, most / 10) / 1.3;
    most *= 1.3;
    const share = (time) => Math.log(time / least) / Math.log(most / least);
    const right = width - kErrorRight, bottom = kErrorHeight - kErrorBottom;
    this.x = (time) => kErrorLeft + (right - kErrorLeft) * share(time);
    this.y = (time) => bottom - (bottom - kErrorTop) * share(time);
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const time of axisTicks(least, most, true)) {
      context.fillStyle = themeColor('line');
      context.fillRect(this.x(time), kErrorTop, 1, bottom - kErrorTop);
      context.fillRect(kErrorLeft, this.y(time), right - kErrorLeft, 1);
      context.fillStyle = themeColor('muted');
      context.textAlign = 'right';
      context.fillText(formatTime(time), kErrorLeft - 6, this.y(time));
      context.textAlign = 'center';
      context.fillText(formatTime(time), this.x(time), bottom + 11);
    }
    context.fillText('measured', (kErrorLeft + right) / 2, kErrorHeight - 9);
    context.save();
    context.beginPath();
    context.rect(kErrorLeft, kErrorTop, right - kErrorLeft, bottom - kErrorTop);
    context.clip();
    for (const band of [...kBands].reverse()) {
      context.fillStyle = themeColor('selection');
      context.beginPath();
      context.moveTo(this.x(least), this.y(least * (1 + band)));
      context.lineTo(this.x(most), this.y(most * (1 + band)));
      context.lineTo(this.x(most), this.y(most * (1 - band)));
      context.lineTo(this.x(least), this.y(least * (1 - band)));
      context.fill();
    }
    context.strokeStyle = themeColor('text');
    context.beginPath();
    context.moveTo(this.x(least), this.y(least));
    context.lineTo(this.x(most), this.y(most));
    context.stroke();
    context.globalAlpha = pairs.measured.length > 2000 ? 0.35 : 0.75;
    pairs.measured.forEach((measured, i) => {
      context.fillStyle = themeColorOnce(data.head.kinds[data.kind(measured)]);
      context.beginPath();
      context.arc(this.x(data.durations[measured]), this.y(data.durations[pairs.predicted[i]]), 2.6, 0, 7);
      context.fill();
    });
    context.restore();
    kColorsOnce.clear();
  }

  /** @param {number} x @param {number} y */
  nearest(x, y) {
    const {data, pairs} = this;
    if (!this.x) return null;
    let best = null, distance = kCaught;
    pairs.measured.forEach((measured, i) => {
      const away = Math.hypot(this.x(data.durations[measured]) - x, this.y(data.durations[pairs.predicted[i]]) - y);
      if (away >= distance) return;
      best = i;
      distance = away;
    });
    return best;
  }

  /** @param {number|null} pair */
  tell(pair) {
    if (pair === null) return;
    const {data, pairs} = this;
    const error = errorOf(data, pairs.measured[pair], pairs.predicted[pair]);
    this.said.textContent = `${oneLine(data.name(pairs.measured[pair]), 80)}: measured ${formatTime(data.durations[pairs.measured[pair]])}, ` +
        `predicted ${formatTime(data.durations[pairs.predicted[pair]])}, ${error < 0 ? '\u2212' : '+'}${formatShare(Math.abs(error))}`;
  }
}

/** Colours are asked of the style sheet once for a drawing. @type {Map<string, string>} */
const kColorsOnce = new Map();

/** @param {string} name */
function themeColorOnce(name) {
  if (!kColorsOnce.has(name)) kColorsOnce.set(name, themeColor(name));
  return kColorsOnce.get(name);
}
