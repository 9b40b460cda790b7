// Colours of a timeline as numbers 0xBBGGRR, which is how a canvas keeps pixels.
import {themeColor} from './theme.js';

/** @typedef {import('./timeline_data.js').TimelineData} TimelineData */

/** "#rrggbb" as 0xBBGGRR. @param {string} hex */
export function pixelColor(hex) {
  const value = parseInt(hex.slice(1, 7), 16);
  return (value & 255) << 16 | (value & 0xff00) | value >> 16;
}

/** @param {number} color 0xBBGGRR */
export function cssColor(color) {
  return `rgb(${color & 255}, ${color >> 8 & 255}, ${color >> 16 & 255})`;
}

/** A color between two: `share` of the second. @param {number} one @param {number} other @param {number} share */
export function mixColors(one, other, share) {
  let mixed = 0;
  for (const shift of [0, 8, 16]) {
    const a = one >> shift & 255;
    const b = other >> shift & 255;
    mixed |= Math.round(a + (b - a) * share) << shift;
  }
  return mixed;
}

/** Whether text on the colour should be dark: white would have a contrast below 3.5. @param {number} color */
export function isLight(color) {
  const linear = (shift) => ((color >> shift & 255) / 255) ** 2.2;
  return 0.2126 * linear(0) + 0.7152 * linear(8) + 0.0722 * linear(16) > 0.25;
}

/** A number from a text, the same everywhere. @param {string} text */
function hashOf(text) {
  let hash = 2166136261;
  for (let i = 0; i < text.length && i < 200; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash >>> 0;
}

const kShadesOfBatches = 4;
const kMostShadedLabels = 100000;

export class TimelinePalette {
  /** @param {TimelineData} data */
  constructor(data) {
    this.data = data;
    /** @type {Int32Array|null} */
    this.painted = null;
    this.update();
  }

  /** Takes the colours of the theme. */
  update() {
    const {data} = this;
    this.background = pixelColor(themeColor('background'));
    this.panel = pixelColor(themeColor('panel'));
    this.stripe = pixelColor(themeColor('stripe'));
    this.text = themeColor('text');
    this.muted = themeColor('muted');
    this.line = themeColor('line');
    this.accent = themeColor('accent');
    this.selection = themeColor('selection');
    this.highlight = themeColor('highlight');
    this.critical = themeColor('communication');
    this.kinds = Int32Array.from(data.head.kinds, (kind) => pixelColor(themeColor(kind)));
    this.hatched = data.head.kinds.map((kind) => kind === 'idle' || kind === 'bubble');
    // Within a kind, names differ a little in lightness, so that neighbours can be told apart.
    this.labels = Int32Array.from(data.labelKind, (kind, label) => {
      if (this.hatched[kind]) return mixColors(this.kinds[kind], this.background, 0.55);
      if (data.labelKind.length > kMostShadedLabels) return this.kinds[kind];
      const shade = hashOf(data.texts.text(data.labelName[label])) % 5;
      return shade < 3 ? mixColors(this.kinds[kind], 0xffffff, shade * 0.1) : mixColors(this.kinds[kind], 0, (shade - 2) * 0.06);
    });
    this.levelKinds = Int32Array.from(this.kinds, (color, kind) => this.hatched[kind] ? mixColors(color, this.background, 0.55) : color);
    this.dimmed = null;
  }

  /** Gives events colours of their own, 0xBBGGRR or -1 for none; null ends it. @param {Int32Array|null} colors */
  paint(colors) {
    this.painted = colors;
  }

  /** Fades everything but the labels that match; null ends it. @param {Uint8Array|null} matches */
  dim(matches) {
    this.dimmed = matches === null ? null : {
      labels: Int32Array.from(this.labels, (color, label) => matches[label] ? color : mixColors(color, this.background, 0.8)),
      kinds: Int32Array.from(this.levelKinds, (color) => mixColors(color, this.background, 0.8)),
      matches,
    };
  }

  get levelColors() {
    return this.dimmed ? this.dimmed.kinds : this.levelKinds;
  }

  /** How an event is coloured now. @returns {(event: number) => number} */
  colorOf() {
    const {painted} = this;
    if (painted) {
      const others = this.kindColorOf();
      return (event) => painted[event] < 0 ? others(event) : painted[event];
    }
    return this.kindColorOf();
  }

  /** By kind, name and micro-batch. @returns {(event: number) => number} */
  kindColorOf() {
    const {labels, batches, chunks, labelKind, pipeline} = this.data;
    const palette = this.dimmed ? this.dimmed.labels : this.labels;
    if (!batches || !pipeline) return (event) => palette[labels[event]];
    // Boxes of a pipeline: shades by micro-batch; chunks after the first are lighter.
    const base = this.dimmed ? this.dimmed.kinds : this.kinds;
    const background = this.background;
    return (event) => {
      const batch = batches[event];
      if (batch === 0) return palette[labels[event]];
      const kind = base[labelKind[labels[event]]];
      const shaded = mixColors(kind, 0, 0.09 * ((batch - 1) % kShadesOfBatches));
      return chunks && chunks[event] > 0 ? mixColors(shaded, background, Math.min(0.25 + 0.2 * chunks[event], 0.7)) : shaded;
    };
  }
}
