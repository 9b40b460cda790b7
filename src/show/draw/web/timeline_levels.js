// Levels of detail: what a track looks like from afar, so that a frame costs as much as it has pixels, not as there
// are events. At each level a block stands for 8 of the level below; it knows where it starts and ends, how much of its time is
// busy and the kind that takes most of it. Starts and ends are those of its first and last event, kept beside each other: what
// is far apart in memory would cost more than all else of a frame.

/** @typedef {import('./timeline_data.js').TimelineData} TimelineData */
/** @typedef {import('./timeline_data.js').Track} Track */

const kFanOut = 8;
const kFanOutBits = 3;

/**
 * @typedef {{begin: Float64Array, end: Float64Array, busy: Float32Array, kind: Uint8Array}} Level
 */

/**
 * The levels of a track, from blocks of 8 events up to the one that has few blocks.
 * @param {TimelineData} data
 * @param {Track} track
 * @returns {Level[]}
 */
export function buildLevels(data, track) {
  const {starts, durations, labels, labelKind} = data;
  const levels = [];
  const sums = new Float64Array(data.head.kinds.length);
  let count = track.end - track.begin;
  while (count > kFanOut) {
    const below = levels[levels.length - 1];
    const blocks = Math.ceil(count / kFanOut);
    const level = {begin: new Float64Array(blocks), end: new Float64Array(blocks), busy: new Float32Array(blocks), kind: new Uint8Array(blocks)};
    for (let block = 0; block < blocks; ++block) {
      const begin = block * kFanOut;
      const end = Math.min(begin + kFanOut, count);
      sums.fill(0);
      let busy = 0;
      let largest = below ? below.kind[begin] : labelKind[labels[track.begin + begin]];
      for (let i = begin; i < end; ++i) {
        const time = below ? below.busy[i] : durations[track.begin + i];
        const kind = below ? below.kind[i] : labelKind[labels[track.begin + i]];
        busy += time;
        if ((sums[kind] += time) > sums[largest]) largest = kind;
      }
      level.begin[block] = below ? below.begin[begin] : starts[track.begin + begin];
      level.end[block] = below ? below.end[end - 1] : starts[track.begin + end - 1] + durations[track.begin + end - 1];
      level.busy[block] = busy;
      level.kind[block] = largest;
    }
    levels.push(level);
    count = blocks;
  }
  return levels;
}

/**
 * One line of pixels of a track: how much of each pixel is covered, and by which colours.
 *
 *   const line = new PixelLine(width);
 *   line.clear();
 *   line.add(data, track, levels, palette, kindPalette, begin, end);      // several tracks may share a line
 *   line.paint(pixels, at, background, 1);
 *
 * Palettes hold colours as 0xBBGGRR numbers, by label and by kind.
 */
export class PixelLine {
  /** @param {number} width */
  constructor(width) {
    this.width = width;
    this.cover = new Float32Array(width);
    this.red = new Float32Array(width);
    this.green = new Float32Array(width);
    this.blue = new Float32Array(width);
  }

  clear() {
    this.cover.fill(0);
    this.red.fill(0);
    this.green.fill(0);
    this.blue.fill(0);
  }

  /** @param {number} pixel @param {number} share of the pixel @param {number} color */
  cover1(pixel, share, color) {
    this.cover[pixel] += share;
    this.red[pixel] += share * (color & 255);
    this.green[pixel] += share * (color >> 8 & 255);
    this.blue[pixel] += share * (color >> 16 & 255);
  }

  /**
   * Covers [left, right) in pixels, of which there may be any part to both sides of the line.
   * @param {number} left @param {number} right @param {number} color
   */
  coverSpan(left, right, color) {
    if (left < 0) left = 0;
    if (right > this.width) right = this.width;
    const first = Math.floor(left);
    const last = Math.ceil(right) - 1;
    if (last < first) return;
    if (last === first) {
      this.cover1(first, right - left, color);
      return;
    }
    this.cover1(first, first + 1 - left, color);
    const red = color & 255;
    const green = color >> 8 & 255;
    const blue = color >> 16 & 255;
    for (let pixel = first + 1; pixel < last; ++pixel) {
      this.cover[pixel] += 1;
      this.red[pixel] += red;
      this.green[pixel] += green;
      this.blue[pixel] += blue;
    }
    this.cover1(last, right - last, color);
  }

  /**
   * Adds the events of a track between two times.
   * @param {TimelineData} data
   * @param {Track} track
   * @param {Level[]} levels
   * @param {(event: number) => number} colorOf
   * @param {Int32Array} kindPalette
   * @param {number} begin
   * @param {number} end
   * @param {((event: number, left: number, right: number) => void)|null} onWide called for events of at least `wide` pixels
   * @param {number} wide
   */
  add(data, track, levels, colorOf, kindPalette, begin, end, onWide, wide) {
    const first = data.firstEndingAfter(track, begin);
    const last = data.firstStartingAt(track, end);
    if (first >= last) return;
    const {starts, durations} = data;
    const scale = this.width / (end - begin);
    const low = first - track.begin;
    const high = last - track.begin;
    const base = track.begin;
    const line = this;

    /** @param {number} level 0: events @param {number} from @param {number} to blocks of that level */
    function visit(level, from, to) {
      if (level === 0) {
        for (let one = base + from; one < base + to; ++one) {
          const left = (starts[one] - begin) * scale;
          const right = left + durations[one] * scale;
          if (right - left < 1) {
            line.dot((left + right) / 2, right - left, colorOf(one));
          } else {
            // A gap of a pixel behind a box tells it from the next.
            line.coverSpan(left, right - left >= 3 ? right - 1 : right, colorOf(one));
            if (onWide !== null && right - left >= wide) onWide(one, left, right);
          }
        }
        return;
      }
      const {begin: begins, end: ends, busy, kind} = levels[level - 1];
      const bits = kFanOutBits * (level - 1);
      const lowest = low >> bits;
      const highest = (high - 1 >> bits) + 1;
      for (let block = from; block < to; ++block) {
        const left = (begins[block] - begin) * scale;
        const right = (ends[block] - begin) * scale;
        if (right - left < 1) line.dot((left + right) / 2, busy[block] * scale, kindPalette[kind[block]]);
        else visit(level - 1, Math.max(block << kFanOutBits, lowest), Math.min((block + 1) << kFanOutBits, highest));
      }
    }
    const top = levels.length;
    visit(top, low >> (kFanOutBits * top), (high - 1 >> (kFanOutBits * top)) + 1);
  }

  /** Something smaller than a pixel. @param {number} center @param {number} share @param {number} color */
  dot(center, share, color) {
    const pixel = Math.floor(center);
    // What is there is seen, however short: a moment counts as a twentieth of a pixel.
    if (pixel >= 0 && pixel < this.width) this.cover1(pixel, Math.max(share, 0.05), color);
  }

  /** Gives a pixel a colour, whatever else is there. @param {number} pixel @param {number} color */
  mark(pixel, color) {
    this.cover[pixel] = 1;
    this.red[pixel] = color & 255;
    this.green[pixel] = color >> 8 & 255;
    this.blue[pixel] = color >> 16 & 255;
  }

  /**
   * Writes the line over a background: colours mixed by how much they cover, never fainter than a quarter.
   * @param {Uint32Array} pixels @param {number} at @param {number} background as 0xBBGGRR
   * @param {number} strength below 1: everything fainter
   */
  paint(pixels, at, background, strength) {
    const {cover, red, green, blue, width} = this;
    const r0 = background & 255;
    const g0 = background >> 8 & 255;
    const b0 = background >> 16 & 255;
    for (let pixel = 0; pixel < width; ++pixel) {
      const sum = cover[pixel];
      if (sum === 0) continue;
      const alpha = strength * (sum >= 1 ? 1 : 0.25 + 0.75 * sum);
      const mix = alpha / sum;
      const rest = 1 - alpha;
      const r = red[pixel] * mix + r0 * rest;
      const g = green[pixel] * mix + g0 * rest;
      const b = blue[pixel] * mix + b0 * rest;
      pixels[at + pixel] = 0xff000000 | (b << 16) | (g << 8) | r;
    }
  }
}
