// The events of a timeline as columns, as timeline_page.h wrote them: lane by lane, in a lane row by row, in a row
// by start. An event is known by its place in this order. A track is a row of a lane: a range of events in which
// none overlaps another.
import {TextTable, VarintReader, hasBlock, readBlock} from './page_data.js';

/**
 * @typedef {{begin: number, end: number, lane: number, row: number}} Track
 * @typedef {{number: number, name: string, note: string, group: number, tracks: number[], predictedOf: number|null,
 *            prediction: number[]}} Lane
 * @typedef {{number: number, name: string, note: string, collapsed: boolean, lanes: number[]}} Group
 */

export const kLinkKinds = ['dependency', 'launch', 'message', 'collective', 'prediction', 'critical path'];

/** @param {Uint8Array} bytes @param {number} count @param {number} most the largest value that may be */
function decodeColumn(bytes, count, most) {
  const column = most < 256 ? new Uint8Array(count) : most < 65536 ? new Uint16Array(count) : new Uint32Array(count);
  const reader = new VarintReader(bytes);
  for (let i = 0; i < count; ++i) column[i] = reader.unsigned();
  return column;
}

/** @param {Uint8Array} bytes @param {Uint8Array} durations @param {Track[]} tracks @param {number} count */
function decodeTimes(bytes, durations, tracks, count) {
  const starts = new Float64Array(count);
  const lengths = new Float64Array(count);
  const reader = new VarintReader(bytes);
  const lengthReader = new VarintReader(durations);
  for (const track of tracks) {
    let end = 0;
    for (let i = track.begin; i < track.end; ++i) {
      const start = end + reader.signed();
      const length = lengthReader.unsigned();
      starts[i] = start;
      lengths[i] = length;
      end = start + length;
    }
  }
  return {starts, lengths};
}

export class TimelineData {
  /** @param {any} head */
  constructor(head) {
    this.head = head;
    this.count = head.events;
    this.span = Math.max(head.span, 1);
    this.pipeline = Boolean(head.pipeline);
    /** @type {Track[]} */
    this.tracks = [];
    /** @type {Lane[]} */
    this.lanes = [];
    /** @type {Group[]} */
    this.groups = head.groups.map((group, number) => ({...group, number, lanes: []}));
    let at = 0;
    head.lanes.forEach((lane, number) => {
      const tracks = lane.rows.map((rows, row) => {
        this.tracks.push({begin: at, end: at += rows, lane: number, row});
        return this.tracks.length - 1;
      });
      const predictedOf = lane.predicted_of ?? null;
      this.lanes.push({number, name: lane.name, note: lane.note, group: lane.group, tracks, predictedOf, prediction: []});
      if (predictedOf !== null) this.lanes[predictedOf].prediction.push(number);
      else this.groups[lane.group].lanes.push(number);
    });
    if (at !== this.count) throw new Error(`lanes of this page have ${at} events in place of ${this.count}`);
    /** Figures by column; those that a double does not hold stand in a map by their place. @type {Float64Array[]} */
    this.numberValues = [];
    /** @type {Array<Map<number, bigint>>} */
    this.largeNumbers = [];
    /** @type {Uint32Array[]} */
    this.numberEvents = [];
    /** @type {Promise<void>[]} */
    this.numbersLoaded = [];
    /** @type {Promise<void>|null} */
    this.detailsLoaded = null;
    /** @type {Promise<import('./timeline_links.js').TimelineLinks>|null} */
    this.links = null;
  }

  /** Reads what is needed to draw; the rest is read when it is first asked for. */
  async load() {
    this.texts = new TextTable(await readBlock('texts'));
    const labels = new VarintReader(await readBlock('labels'));
    this.labelName = [];
    this.labelKind = [];
    while (!labels.atEnd()) {
      this.labelName.push(labels.unsigned());
      this.labelKind.push(labels.unsigned());
    }
    const {starts, lengths} = decodeTimes(await readBlock('starts'), await readBlock('durations'), this.tracks, this.count);
    this.starts = starts;
    this.durations = lengths;
    this.labels = decodeColumn(await readBlock('label'), this.count, this.labelName.length);
    if (hasBlock('batch')) this.batches = decodeColumn(await readBlock('batch'), this.count, 2 ** 31);
    if (hasBlock('chunk')) this.chunks = decodeColumn(await readBlock('chunk'), this.count, 65535);
  }

  /** @param {number} event */
  end(event) {
    return this.starts[event] + this.durations[event];
  }

  /** @param {number} event */
  name(event) {
    return this.texts.text(this.labelName[this.labels[event]]);
  }

  /** @param {number} event */
  kind(event) {
    return this.labelKind[this.labels[event]];
  }

  /** The micro-batch of an event, or null. @param {number} event */
  batch(event) {
    return this.batches && this.batches[event] > 0 ? this.batches[event] - 1 : null;
  }

  /** The number of the track that an event is in. @param {number} event */
  trackOf(event) {
    let low = 0;
    let high = this.tracks.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tracks[middle].end <= event) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first event of a track that ends after `time`; the track's end where there is none. @param {Track} track @param {number} time */
  firstEndingAfter(track, time) {
    let low = track.begin;
    let high = track.end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.starts[middle] + this.durations[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The first event of a track that starts at `time` or later. @param {Track} track @param {number} time */
  firstStartingAt(track, time) {
    let low = track.begin;
    let high = track.end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.starts[middle] >= time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Pairs of texts that belong to an event. @param {number} event @returns {Promise<Array<[string, string]>>} */
  async detailsOf(event) {
    this.detailsLoaded ??= this.loadDetails();
    await this.detailsLoaded;
    if (!this.details) return [];
    const words = this.detailTexts[this.details[event]];
    /** @type {Array<[string, string]>} */
    const pairs = [];
    for (let i = 0; i < words.length; i += 2) pairs.push([this.texts.text(words[i]), this.texts.text(words[i + 1])]);
    return pairs;
  }

  /** Figures of an event: name of the column, unit, value. @param {number} event @returns {Promise<Array<{name: string, unit: string, value: bigint}>>} */
  async numbersOf(event) {
    const found = [];
    for (let column = 0; column < this.head.columns.length; ++column) {
      this.numbersLoaded[column] ??= this.loadNumbers(column);
      await this.numbersLoaded[column];
      const events = this.numberEvents[column];
      let low = 0;
      let high = events.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (events[middle] < event) low = middle + 1;
        else high = middle;
      }
      if (events[low] !== event) continue;
      const {name, unit} = this.head.columns[column];
      found.push({name, unit, value: this.largeNumbers[column].get(low) ?? BigInt(this.numberValues[column][low])});
    }
    return found;
  }

  async loadDetails() {
    if (!hasBlock('detail')) return;
    const reader = new VarintReader(await readBlock('details'));
    /** Keys and values in turn, as texts. @type {number[][]} */
    this.detailTexts = [];
    while (!reader.atEnd()) {
      const words = new Array(2 * reader.unsigned());
      for (let i = 0; i < words.length; ++i) words[i] = reader.unsigned();
      this.detailTexts.push(words);
    }
    this.details = decodeColumn(await readBlock('detail'), this.count, this.detailTexts.length);
  }

  /** @param {number} column */
  async loadNumbers(column) {
    const {count} = this.head.columns[column];
    const reader = new VarintReader(await readBlock('number.' + column));
    const events = new Uint32Array(count);
    const values = new Float64Array(count);
    const large = new Map();
    let at = -1;
    let last = 0;
    /** The last figure where a double does not hold it. @type {bigint|null} */
    let lastLarge = null;
    for (let i = 0; i < count; ++i) {
      events[i] = at += reader.unsigned();
      if (lastLarge === null && reader.bytesOfNext() <= 7) {
        const value = last + reader.signed();
        if (Number.isSafeInteger(value)) {
          values[i] = last = value;
          continue;
        }
        lastLarge = BigInt(value);
      } else {
        lastLarge = BigInt.asIntN(64, (lastLarge ?? BigInt(last)) + reader.signedBig());
      }
      const value = Number(lastLarge);
      if (Number.isSafeInteger(value)) {
        values[i] = last = value;
        lastLarge = null;
      } else {
        large.set(i, lastLarge);
      }
    }
    this.numberEvents[column] = events;
    this.numberValues[column] = values;
    this.largeNumbers[column] = large;
  }
}
