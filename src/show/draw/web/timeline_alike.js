// Groups of lanes in which the same happens at the same times: replicas of a simulated step. One of them stands for all.

/** @typedef {import('./timeline_data.js').TimelineData} TimelineData */
/** @typedef {import('./timeline_data.js').Group} Group */

/** The tracks of a group, in order. @param {TimelineData} data @param {Group} group */
function tracksOf(data, group) {
  return group.lanes.flatMap((lane) => data.lanes[lane].tracks).map((track) => data.tracks[track]);
}

/** Equal for groups that are alike; others rarely have the same. @param {TimelineData} data @param {Group} group */
function summaryOf(data, group) {
  const words = [];
  for (const track of tracksOf(data, group)) {
    let hash = 2166136261;
    for (let event = track.begin; event < track.end; ++event) {
      hash = Math.imul(hash ^ data.starts[event], 16777619);
      hash = Math.imul(hash ^ data.durations[event], 16777619);
      hash = Math.imul(hash ^ data.labels[event], 16777619);
    }
    words.push(`${track.row}:${track.end - track.begin}:${hash}`);
  }
  return words.join();
}

/** @param {TimelineData} data @param {Group} one @param {Group} other */
function alike(data, one, other) {
  const tracks = tracksOf(data, one);
  const others = tracksOf(data, other);
  if (tracks.length !== others.length) return false;
  return tracks.every((track, i) => {
    const shift = others[i].begin - track.begin;
    if (track.row !== others[i].row || track.end + shift !== others[i].end) return false;
    for (let event = track.begin; event < track.end; ++event) {
      if (data.starts[event] !== data.starts[event + shift] || data.durations[event] !== data.durations[event + shift] ||
          data.labels[event] !== data.labels[event + shift] || data.batch(event) !== data.batch(event + shift)) return false;
    }
    return true;
  });
}

/**
 * For each group the first one that it is like: itself where it is the first.
 * @param {TimelineData} data
 * @returns {number[]}
 */
export function likeGroups(data) {
  /** @type {Map<string, number[]>} */
  const firsts = new Map();
  return data.groups.map((group) => {
    if (tracksOf(data, group).every((track) => track.begin === track.end)) return group.number;
    const summary = summaryOf(data, group);
    const candidates = firsts.get(summary) ?? [];
    for (const first of candidates) if (alike(data, data.groups[first], group)) return first;
    candidates.push(group.number);
    firsts.set(summary, candidates);
    return group.number;
  });
}
