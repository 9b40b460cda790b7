// The whole timeline in a strip, with the part in sight marked. A click or a drag moves there.
import {PixelLine} from './timeline_levels.js';

/** @typedef {import('./timeline_chart.js').TimelineChart} TimelineChart */

const kMostLines = 20;

export class TimelineMinimap {
  /** @param {HTMLCanvasElement} canvas @param {TimelineChart} chart */
  constructor(canvas, chart) {
    this.canvas = canvas;
    this.chart = chart;
    this.context = canvas.getContext('2d', {alpha: false, willReadFrequently: true});
    chart.listeners.push(() => this.redraw());
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.moveTo(event.offsetX);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (event.buttons & 1) this.moveTo(event.offsetX);
    });
  }

  /** @param {number} x */
  moveTo(x) {
    const time = x / this.canvas.clientWidth * this.chart.data.span;
    const half = (this.chart.end - this.chart.begin) / 2;
    this.chart.show(time - half, time + half);
  }

  /** Paints the lanes; a few hundred of them are represented by some. */
  resize() {
    const {canvas, chart} = this;
    const {data, palette} = chart;
    const ratio = chart.ratio;
    canvas.width = Math.max(Math.round(canvas.clientWidth * ratio), 1);
    canvas.height = Math.max(Math.round(canvas.clientHeight * ratio), 1);
    this.image = new ImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(this.image.data.buffer).fill(0xff000000 | palette.panel);
    const lanes = data.lanes.filter((lane) => lane.predictedOf === null && lane.tracks.length > 0);
    const step = Math.max(1, lanes.length / kMostLines);
    const shown = [];
    for (let i = 0; i < lanes.length; i += step) shown.push(lanes[Math.floor(i)]);
    const height = canvas.height / Math.max(shown.length, 1);
    const line = new PixelLine(canvas.width);
    const colorOf = palette.colorOf();
    shown.forEach((lane, i) => {
      const top = Math.floor(i * height);
      const bottom = Math.max(Math.floor((i + 1) * height) - (height > 3 ? 1 : 0), top + 1);
      line.clear();
      line.add(data, data.tracks[lane.tracks[0]], chart.levels[lane.tracks[0]], colorOf, palette.levelColors, 0, data.span, null, 0);
      if (chart.search) chart.search.addMatches(line, lane.tracks, 0, data.span);
      line.paint(pixels, top * canvas.width, palette.panel, 1);
      for (let y = top + 1; y < bottom && y < canvas.height; ++y)
        pixels.copyWithin(y * canvas.width, top * canvas.width, (top + 1) * canvas.width);
    });
    this.redraw();
  }

  redraw() {
    if (!this.image || this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      const {context, canvas, chart} = this;
      context.putImageData(this.image, 0, 0);
      const x0 = chart.begin / chart.data.span * canvas.width;
      const x1 = Math.max(chart.end / chart.data.span * canvas.width, x0 + 2);
      context.fillStyle = chart.palette.line;
      context.globalAlpha = 0.65;
      context.fillRect(0, 0, x0, canvas.height);
      context.fillRect(x1, 0, canvas.width - x1, canvas.height);
      context.globalAlpha = 1;
      context.strokeStyle = chart.palette.accent;
      context.lineWidth = 2 * chart.ratio;
      context.strokeRect(x0, 1, x1 - x0, canvas.height - 2);
    });
  }
}
