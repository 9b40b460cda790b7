// Events whose names hold a text: which ones, where the next is, and how they are shown.

/** @typedef {import('./timeline_data.js').TimelineData} TimelineData */

export class TimelineSearch {
  /**
   * @param {TimelineData} data
   * @param {string} text
   */
  constructor(data, text) {
    this.data = data;
    const wanted = text.toLowerCase();
    this.labels = Uint8Array.from(data.labelName, (name) => data.texts.text(name).toLowerCase().includes(wanted) ? 1 : 0);
    const {labels} = data;
    this.count = 0;
    /** Matching events by track. @type {Uint32Array[]} */
    this.byTrack = data.tracks.map((track) => {
      let matches = 0;
      for (let event = track.begin; event < track.end; ++event) matches += this.labels[labels[event]];
      const found = new Uint32Array(matches);
      let at = 0;
      for (let event = track.begin; at < matches; ++event) if (this.labels[labels[event]]) found[at++] = event;
      this.count += matches;
      return found;
    });
  }

  /**
   * The match after (or before) an event in order of start, from the other end past the last one; null without any.
   * @param {number|null} event
   * @param {number} time where to start without an event
   * @param {boolean} forward
   */
  next(event, time, forward) {
    const {data} = this;
    const key = (one) => [data.starts[one], one];
    const current = event !== null ? key(event) : [time, forward ? -1 : Infinity];
    const less = (a, b) => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
    let best = null;
    let wrapped = null;
    for (const found of this.byTrack) {
      if (found.length === 0) continue;
      let low = 0;
      let high = found.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (less(current, key(found[middle]))) high = middle;
        else low = middle + 1;
      }
      // found[low] is the first behind the current one.
      let before = low - 1;
      if (before >= 0 && found[before] === event) --before;
      const candidate = forward ? found[low] : found[before];
      const end = forward ? found[0] : found[found.length - 1];
      const closer = (a, b) => b === null || (forward ? less(key(a), key(b)) : less(key(b), key(a)));
      if (candidate !== undefined && closer(candidate, best)) best = candidate;
      if (closer(end, wrapped)) wrapped = end;
    }
    return best ?? wrapped;
  }

  /**
   * Covers pixels in which there are matches that are too short to be seen otherwise.
   * @param {import('./timeline_levels.js').PixelLine} line
   * @param {number[]} tracks
   * @param {number} begin
   * @param {number} end
   */
  addMatches(line, tracks, begin, end) {
    const {starts, durations} = this.data;
    const scale = line.width / (end - begin);
    for (const track of tracks) {
      const found = this.byTrack[track];
      let at = 0;
      let high = found.length;
      while (at < high) {
        const middle = (at + high) >> 1;
        if (starts[found[middle]] + durations[found[middle]] > begin) high = middle;
        else at = middle + 1;
      }
      while (at < found.length && starts[found[at]] < end) {
        const pixel = Math.floor((starts[found[at]] - begin) * scale);
        if (pixel >= 0 && durations[found[at]] * scale < 2) line.mark(pixel, this.color);
        // The first match that starts in a later pixel.
        const next = begin + (pixel + 1) / scale;
        let step = 1;
        let low = at + 1;
        while (low + step < found.length && starts[found[low + step]] < next) {
          low += step;
          step *= 2;
        }
        let top = Math.min(low + step, found.length);
        while (low < top) {
          const middle = (low + top) >> 1;
          if (starts[found[middle]] < next) low = middle + 1;
          else top = middle;
        }
        at = low;
      }
    }
  }

  /** The colour of the marks, 0xBBGGRR. @param {number} color */
  paintWith(color) {
    this.color = color;
  }
}
