// Sums over a span of time: how long each kind and each name took, on all lanes.

/** @typedef {import('./timeline_data.js').TimelineData} TimelineData */

/**
 * @typedef {{label: number, count: number, total: number, self: number}} NameSum
 *   total: with what lies within; self: without
 * @typedef {{kinds: Array<{kind: number, count: number, time: number}>, names: NameSum[], events: number, lanes: number}} RangeSums
 */

/**
 * What of each event lies between two times counts. Where events lie within others, as calls do, the time of the inner
 * ones is not counted again for the outer ones' kind: sums over kinds are self times. Predicted lanes do not count.
 * @param {TimelineData} data
 * @param {number} begin
 * @param {number} end
 * @returns {RangeSums}
 */
export function sumRange(data, begin, end) {
  const {starts, durations, labels} = data;
  const count = new Uint32Array(data.labelName.length);
  const total = new Float64Array(data.labelName.length);
  const self = new Float64Array(data.labelName.length);
  let events = 0;
  let lanes = 0;
  for (const lane of data.lanes) {
    if (lane.predictedOf !== null) continue;
    let seen = false;
    // Events of the row above, which may hold those of this one.
    let outer = 0;
    let outerEnd = 0;
    for (const number of lane.tracks) {
      const track = data.tracks[number];
      const first = data.firstEndingAfter(track, begin);
      let event = first;
      for (; event < track.end && starts[event] < end; ++event) {
        const from = Math.max(starts[event], begin);
        const to = Math.min(starts[event] + durations[event], end);
        const time = to - from;
        const label = labels[event];
        ++count[label];
        total[label] += time;
        self[label] += time;
        while (outer < outerEnd && starts[outer] + durations[outer] <= from) ++outer;
        if (outer < outerEnd && starts[outer] <= from) {
          const within = Math.min(to, starts[outer] + durations[outer]) - from;
          self[labels[outer]] -= within;
        }
      }
      events += event - first;
      seen ||= event > first;
      outer = first;
      outerEnd = event;
    }
    if (seen) ++lanes;
  }
  const kinds = data.head.kinds.map((_, kind) => ({kind, count: 0, time: 0}));
  const names = [];
  for (let label = 0; label < count.length; ++label) {
    if (count[label] === 0) continue;
    kinds[data.labelKind[label]].count += count[label];
    kinds[data.labelKind[label]].time += self[label];
    names.push({label, count: count[label], total: total[label], self: self[label]});
  }
  names.sort((a, b) => b.total - a.total || a.label - b.label);
  return {kinds: kinds.filter((one) => one.count > 0), names, events, lanes};
}
