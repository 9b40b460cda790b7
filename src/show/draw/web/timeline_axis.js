// The axis of time: round steps, and what stands beside them.
import {oneLine} from './dom.js';
import {formatTime} from './format.js';
import {cssColor} from './timeline_palette.js';

/** A round step (1, 2 or 5 times a power of ten) of which there are at most `most` in a span. @param {number} span @param {number} most */
export function roundStep(span, most) {
  const least = span / most;
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) if (factor * power >= least) return Math.max(factor * power, 1);
  return Math.max(10 * power, 1);
}

/** A time with as many digits as a step needs: "12.34 ms". @param {number} time @param {number} step */
export function axisText(time, step) {
  if (time === 0) return '0';
  for (const [unit, size] of /** @type {Array<[string, number]>} */ ([['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]])) {
    if (Math.abs(time) >= size || unit === 'ns') {
      const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
      return digits > 9 ? formatTime(time) : `${(time / size).toFixed(digits)}\u202f${unit}`;
    }
  }
  return '';
}

/** Times at which lines and texts stand. @param {number} begin @param {number} end @param {number} width in CSS pixels */
export function axisTimes(begin, end, width) {
  const step = roundStep(end - begin, Math.max(2, width / 110));
  const times = [];
  for (let time = Math.ceil(begin / step) * step; time < end; time += step) times.push(time);
  return {step, times};
}

/** @param {CanvasRenderingContext2D} context @param {{begin: number, end: number, width: number, height: number, ruler: number}} place
 *  @param {import('./timeline_palette.js').TimelinePalette} palette @param {Array<{time: number, name: string}>} marks */
export function drawRuler(context, place, palette, marks) {
  const {step, times} = axisTimes(place.begin, place.end, place.width);
  const scale = place.width / (place.end - place.begin);
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  context.fillStyle = palette.muted;
  for (const time of times) {
    const x = Math.round((time - place.begin) * scale);
    context.fillRect(x, 3, 1, 12);
    context.fillText(axisText(time, step), x + 4, 9);
  }
  context.fillStyle = palette.line;
  context.fillRect(0, place.ruler - 1, place.width, 1);
  let free = -Infinity;
  for (const mark of marks) {
    const x = Math.round((mark.time - place.begin) * scale);
    if (x < -200 || x > place.width) continue;
    context.fillStyle = palette.accent;
    context.globalAlpha = 0.55;
    context.fillRect(x, place.ruler - 14, 1, place.height);
    context.globalAlpha = 1;
    if (x < free) continue;
    const text = oneLine(mark.name, 30);
    const width = context.measureText(text).width;
    context.fillRect(x, place.ruler - 14, width + 8, 13);
    context.fillStyle = cssColor(palette.background);
    context.fillText(text, x + 4, place.ruler - 7);
    free = x + width + 12;
  }
}
