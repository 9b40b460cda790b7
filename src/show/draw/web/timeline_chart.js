// Draws a timeline on a canvas. The lanes are painted as pixels, a line of them per row, which costs as much as there
// are pixels; names, hatching, arrows and the ruler come on top.
import {oneLine} from './dom.js';
import {axisTimes, drawRuler} from './timeline_axis.js';
import {drawFlows} from './timeline_flows.js';
import {PixelLine, buildLevels} from './timeline_levels.js';
import {cssColor, isLight, mixColors, pixelColor} from './timeline_palette.js';

/** @typedef {import('./timeline_data.js').TimelineData} TimelineData */
/** @typedef {import('./timeline_layout.js').TimelineLayout} TimelineLayout */
/** @typedef {import('./timeline_palette.js').TimelinePalette} TimelinePalette */

export const kRulerHeight = 30;
const kFont = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const kLeastTextWidth = 26;
const kMostTexts = 900;

export class TimelineChart {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {TimelineData} data
   * @param {TimelineLayout} layout
   * @param {TimelinePalette} palette
   */
  constructor(canvas, data, layout, palette) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', {alpha: false, willReadFrequently: true}));
    this.data = data;
    this.layout = layout;
    this.palette = palette;
    this.begin = 0;
    this.end = data.span;
    this.scroll = 0;
    /** @type {number|null} */
    this.selected = null;
    /** @type {number|null} */
    this.hovered = null;
    /** @type {{begin: number, end: number}|null} */
    this.range = null;
    /** @type {import('./timeline_search.js').TimelineSearch|null} */
    this.search = null;
    /** @type {import('./timeline_flows.js').TimelineFlows|null} */
    this.flows = null;
    /** @type {Array<{from: number, to: number, kind: number}>} */
    this.arrows = [];
    this.levels = data.tracks.map((track) => buildLevels(data, track));
    /** @type {string[]} */
    this.shortNames = [];
    /** @type {number[]} */
    this.nameWidths = [];
    this.drawing = false;
    this.sharesWheel = false;
    /** @type {Array<() => void>} */
    this.listeners = [];
    this.fit();
    this.resize();
  }

  /** Takes the size that the canvas has on the page. */
  resize() {
    this.width = Math.max(this.canvas.clientWidth, 50);
    this.height = Math.max(this.canvas.clientHeight, 50);
    this.sharpen(Math.min(globalThis.devicePixelRatio || 1, 2));
    this.setScroll(this.scroll);
    this.redraw();
  }

  /** Draws so many pixels for each of CSS from now on. @param {number} ratio */
  sharpen(ratio) {
    this.ratio = ratio;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.image = new ImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.line = new PixelLine(this.canvas.width);
  }

  /** What is in sight as a PNG, down to `height`, without what the pointer is on. @param {number} ratio @param {number} height
   *  @returns {string} a data: address */
  picture(ratio, height) {
    const before = {ratio: this.ratio, hovered: this.hovered};
    this.hovered = null;
    this.sharpen(ratio);
    this.draw();
    const cut = document.createElement('canvas');
    cut.width = this.canvas.width;
    cut.height = Math.max(Math.round(height * ratio), 1);
    cut.getContext('2d').drawImage(this.canvas, 0, 0);
    this.hovered = before.hovered;
    this.sharpen(before.ratio);
    this.draw();
    return cut.toDataURL('image/png');
  }

  /** Draws with the next frame. */
  redraw() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      this.draw();
    });
  }

  // Times and places.

  /** @param {number} time */
  xOf(time) {
    return (time - this.begin) / (this.end - this.begin) * this.width;
  }

  /** @param {number} x */
  timeAt(x) {
    return this.begin + x / this.width * (this.end - this.begin);
  }

  /** Shows a span of time; at least 20 ns, and never nothing but what lies outside of the timeline.
   *  @param {number} begin @param {number} end */
  show(begin, end) {
    const total = this.data.span;
    const length = Math.min(Math.max(end - begin, 20), total * 1.2 + 20);
    const middle = (begin + end) / 2;
    const least = -0.5 * length;
    const most = total + 0.5 * length;
    this.begin = Math.min(Math.max(middle - length / 2, least), most - length);
    this.end = this.begin + length;
    this.changed();
  }

  fit() {
    const margin = this.data.span * 0.01;
    this.begin = -margin;
    this.end = this.data.span + margin;
    if (this.width) this.changed();
  }

  /** @param {number} factor below 1: closer @param {number} x stays where it is */
  zoom(factor, x) {
    const time = this.timeAt(x);
    const length = Math.min(Math.max((this.end - this.begin) * factor, 20), this.data.span * 1.2 + 20);
    const begin = time - x / this.width * length;
    this.show(begin, begin + length);
  }

  /** @param {number} pixels */
  pan(pixels) {
    const time = pixels / this.width * (this.end - this.begin);
    this.show(this.begin + time, this.end + time);
  }

  /** @param {number} scroll */
  setScroll(scroll) {
    const most = Math.max(0, this.layout.height - (this.height - kRulerHeight));
    this.scroll = Math.min(Math.max(scroll, 0), most);
    this.changed();
  }

  get scrolls() {
    return this.layout.height > this.height - kRulerHeight;
  }

  changed() {
    this.redraw();
    for (const listener of this.listeners) listener();
  }

  /** The event at a point, or null. @param {number} x @param {number} y */
  eventAt(x, y) {
    if (y < kRulerHeight) return null;
    const line = this.layout.lineAt(y - kRulerHeight + this.scroll);
    if (!line) return null;
    const time = this.timeAt(x);
    const slack = 3 / this.width * (this.end - this.begin);
    let best = null;
    let distance = slack;
    for (const number of line.tracks) {
      const track = this.data.tracks[number];
      const first = this.data.firstEndingAfter(track, time - slack);
      for (let event = first; event < Math.min(first + 50, track.end); ++event) {
        const start = this.data.starts[event];
        if (start > time + slack) break;
        const away = Math.max(start - time, time - this.data.end(event), 0);
        if (away < distance || away === 0) {
          best = event;
          distance = away;
          if (away === 0) break;
        }
      }
    }
    return best;
  }

  /** Where an event is drawn: {x0, x1, y0, y1}, or null where its lane is not laid out. @param {number} event */
  boxOf(event) {
    const line = this.layout.lines[this.layout.lineOfTrack[this.data.trackOf(event)]];
    if (!line) return null;
    const y0 = line.y + kRulerHeight - this.scroll;
    return {x0: this.xOf(this.data.starts[event]), x1: this.xOf(this.data.end(event)), y0, y1: y0 + line.height};
  }

  /** Scrolls and moves so that an event can be seen. @param {number} event @param {boolean} closer also zoom to it */
  goTo(event, closer) {
    const track = this.data.trackOf(event);
    if (this.layout.reveal(track)) for (const listener of this.listeners) listener();
    const line = this.layout.lines[this.layout.lineOfTrack[track]];
    const room = this.height - kRulerHeight;
    if (line.y < this.scroll || line.y + line.height > this.scroll + room)
      this.setScroll(line.y - room / 2);
    const start = this.data.starts[event];
    const length = this.data.durations[event];
    if (closer) {
      const around = Math.max(length * 1.5, 50);
      this.show(start - around, start + length + around);
    } else if (start + length < this.begin || start > this.end || length * this.width / (this.end - this.begin) < 2) {
      let span = this.end - this.begin;
      if (length * this.width / span < 2) span = Math.max(length * 100, 200);
      this.show(start + length / 2 - span / 2, start + length / 2 + span / 2);
    } else {
      this.changed();
    }
  }

  // Drawing.

  draw() {
    const {context, canvas, pixels, palette, layout, data, ratio} = this;
    const width = canvas.width;
    pixels.fill(0xff000000 | palette.background);
    const top = Math.round(kRulerHeight * ratio);
    for (const label of layout.labels) {
      if (label.kind !== 'group') continue;
      this.fillRows(Math.round((label.y + kRulerHeight - this.scroll) * ratio),
          Math.round((label.y + label.height + kRulerHeight - this.scroll) * ratio), top, palette.panel);
    }
    // Lines of the axis lie behind the boxes.
    const grid = pixelColor(palette.line);
    for (const time of axisTimes(this.begin, this.end, this.width).times) {
      const x = Math.round(this.xOf(time) * ratio);
      if (x < width) for (let at = top * width + x; at < pixels.length; at += width) pixels[at] = 0xff000000 | grid;
    }
    const colorOf = palette.colorOf();
    /** @type {Array<{event: number, left: number, right: number, line: import('./timeline_layout.js').Line}>} */
    const wide = [];
    let current = layout.lines[0];
    const remember = (event, left, right) => wide.push({event, left, right, line: current});
    for (const line of layout.lines) {
      const y0 = Math.round((line.y + kRulerHeight - this.scroll) * ratio);
      const y1 = Math.round((line.y + line.height + kRulerHeight - this.scroll) * ratio);
      if (y1 <= top) continue;
      if (y0 >= canvas.height) break;
      current = line;
      this.line.clear();
      for (const number of line.tracks) {
        this.line.add(data, data.tracks[number], this.levels[number], colorOf, palette.levelColors, this.begin, this.end,
            line.lane !== null ? remember : null, 8 * ratio);
      }
      if (this.search) this.search.addMatches(this.line, line.tracks, this.begin, this.end);
      const first = Math.max(y0, top);
      const background = line.lane === null ? palette.panel : palette.background;
      this.line.paint(pixels, first * width, background, line.predicted ? 0.6 : 1);
      const last = Math.min(y1, canvas.height);
      for (let y = first + 1; y < last; ++y) pixels.copyWithin(y * width, first * width, (first + 1) * width);
    }
    context.putImageData(this.image, 0, 0);
    context.save();
    context.scale(ratio, ratio);
    const place = {begin: this.begin, end: this.end, width: this.width, height: this.height, ruler: kRulerHeight};
    context.font = kFont;
    this.drawBoxes(wide);
    this.drawOver(place);
    context.restore();
    this.frames = (this.frames ?? 0) + 1;
  }

  /** @param {number} from @param {number} to rows of pixels @param {number} top @param {number} color */
  fillRows(from, to, top, color) {
    const {canvas, pixels} = this;
    const first = Math.max(from, top);
    const last = Math.min(to, canvas.height);
    if (last > first) pixels.fill(0xff000000 | color, first * canvas.width, last * canvas.width);
  }

  /** Names and hatching of boxes that are wide enough. @param {Array<any>} wide */
  drawBoxes(wide) {
    const {context, data, palette, ratio} = this;
    const colorOf = palette.colorOf();
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.direction = 'ltr';
    let texts = 0;
    const dark = 'rgba(10, 14, 18, 0.92)';
    const light = 'rgba(255, 255, 255, 0.96)';
    for (const {event, left, right, line} of wide) {
      const x0 = Math.max(left / ratio, 0);
      const x1 = Math.min(right / ratio, this.width);
      const y0 = line.y + kRulerHeight - this.scroll;
      if (y0 < kRulerHeight - line.height) continue;
      const label = data.labels[event];
      if (palette.hatched[data.labelKind[label]]) {
        this.hatch(x0, y0, x1 - x0, line.height);
        continue;
      }
      const batch = data.batch(event);
      if (x1 - x0 < (batch !== null ? 9 : kLeastTextWidth) || line.height < 10 || texts >= kMostTexts) continue;
      ++texts;
      const text = batch !== null && data.pipeline ? String(batch) : this.shortName(label);
      // One colour of text for all shades of a pipeline's boxes.
      let color = batch !== null ? palette.kinds[data.labelKind[label]] : colorOf(event);
      if (line.predicted) color = mixColors(color, palette.background, 0.4);
      context.fillStyle = isLight(color) ? dark : light;
      const y = y0 + line.height / 2 + 0.5;
      if (batch !== null && data.pipeline) {
        const size = context.measureText(text).width;
        if (size + 2 <= x1 - x0) context.fillText(text, (x0 + x1 - size) / 2, y);
      } else {
        this.fillName(text, label, x0 + 3, x1 - x0 - 5, y);
      }
    }
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  hatch(x, y, width, height) {
    const {context, palette} = this;
    if (this.hatchOf !== palette.kinds[8]) {
      this.hatchOf = palette.kinds[8];
      const tile = new OffscreenCanvas(8, 8);
      const inner = tile.getContext('2d');
      inner.strokeStyle = palette.muted;
      inner.globalAlpha = 0.55;
      inner.lineWidth = 1;
      inner.beginPath();
      for (const offset of [-8, 0, 8]) {
        inner.moveTo(offset - 1, 9);
        inner.lineTo(offset + 9, -1);
      }
      inner.stroke();
      this.hatching = context.createPattern(tile, 'repeat');
    }
    context.save();
    context.translate(x, y);
    context.fillStyle = this.hatching;
    context.fillRect(0, 0, width - 1, height);
    context.restore();
  }

  /** @param {number} label */
  shortName(label) {
    return this.shortNames[label] ??= oneLine(this.data.texts.text(this.data.labelName[label]), 160);
  }

  /** A name, cut where it does not fit. @param {string} text @param {number} label @param {number} x @param {number} room @param {number} y */
  fillName(text, label, x, room, y) {
    const width = this.nameWidths[label] ??= this.context.measureText(text).width;
    if (width <= room) {
      this.context.fillText(text, x, y);
      return;
    }
    const fitting = Math.floor(text.length * room / width) - 1;
    if (fitting >= 2) this.context.fillText(text.slice(0, fitting) + '\u2026', x, y, room);
  }

  /** What lies over the lanes. @param {any} place */
  drawOver(place) {
    const {context, palette, data} = this;
    context.save();
    context.beginPath();
    context.rect(0, kRulerHeight, this.width, this.height);
    context.clip();
    if (this.range) {
      const x0 = this.xOf(this.range.begin);
      const x1 = this.xOf(this.range.end);
      context.fillStyle = palette.selection;
      context.fillRect(x0, kRulerHeight, x1 - x0, this.height);
      context.fillStyle = palette.accent;
      context.fillRect(x0, kRulerHeight, 1, this.height);
      context.fillRect(x1 - 1, kRulerHeight, 1, this.height);
    }
    drawFlows(this);
    for (const [event, color] of /** @type {Array<[number|null, string]>} */ ([
      [this.hovered, palette.text], [this.selected, palette.highlight]])) {
      const box = event === null ? null : this.boxOf(event);
      if (!box) continue;
      context.lineWidth = event === this.selected ? 2.5 : 1;
      context.strokeStyle = color;
      const x0 = Math.max(box.x0, -5);
      const x1 = Math.min(Math.max(box.x1, box.x0 + 3), this.width + 5);
      context.strokeRect(x0, box.y0 + 0.5, x1 - x0, box.y1 - box.y0 - 0.5);
      if (event === this.selected) {
        context.lineWidth = 1;
        context.strokeStyle = palette.text;
        context.strokeRect(x0 - 1.5, box.y0 - 1, x1 - x0 + 3, box.y1 - box.y0 + 2.5);
      }
    }
    context.restore();
    context.fillStyle = cssColor(palette.background);
    context.fillRect(0, 0, this.width, kRulerHeight);
    drawRuler(context, place, palette, data.head.marks);
  }
}
