// Layers that repeat, and ranks that do the same, as one box: "model.layers.1–79 × 79". The first of them stays beside it, to
// show what all of them hold.

const kLeastLayers = 4;  // as many alike, one behind the other
const kLeastRanks = 9;

/** @param {string} title what is before its last number, the number, and what is behind it */
function numberedTitle(title) {
  const match = /^(.*?)(\d+)(\D*)$/.exec(title);
  return match ? {before: match[1], number: Number(match[2]), behind: match[3]} : null;
}

/** A number made of four, as if by chance. */
function mixed(seed, ...values) {
  let hash = seed;
  for (const value of values) {
    hash = Math.imul(hash ^ value | 0, 0x85ebca6b);
    hash ^= hash >>> 13;
    hash = Math.imul(hash ^ Math.floor(value / 4294967296), 0xc2b2ae35);
    hash ^= hash >>> 16;
  }
  return hash >>> 0;
}

/**
 * What boxes hold, as a text each that is the same for those that hold the same: kinds, operations, shapes, bytes and work of
 * all that is in them, in whatever order; names and measured times do not count.
 * @param {import('./graph_data.js').GraphData} data
 */
function contentsOf(data) {
  const sums = [new Float64Array(data.boxCount), new Float64Array(data.boxCount)];
  const counts = new Uint32Array(data.boxCount);
  for (let node = 0; node < data.nodeCount; ++node) {
    if (data.box[node] < 0) continue;
    const seeds = [0x9e3779b9, 0x7f4a7c15].map((seed) => mixed(seed, data.kind[node], data.what[node], data.shape[node], data.bytes[node], data.flops[node]));
    for (let box = data.box[node]; box >= 0; box = data.boxParent[box]) {
      ++counts[box];
      for (const [i, seed] of seeds.entries()) sums[i][box] = (sums[i][box] + seed) % 4294967296;
    }
  }
  return (box) => `${counts[box]}.${sums[0][box]}.${sums[1][box]}`;
}

/**
 * Puts boxes that repeat into a box of their own, which `data` then has beside its others.
 * @param {import('./graph_data.js').GraphData} data
 * @param {Map<number, number[]>} inside by box, or -1: the boxes in it, in order
 * @param {boolean} ranks whether the outermost boxes are ranks
 * @returns {Set<number>} the boxes that were made
 */
export function foldRepeats(data, inside, ranks) {
  const contents = contentsOf(data);
  /** @type {Array<{parent: number, members: number[], title: string}>} */
  const folds = [];
  for (const [parent, boxes] of inside) {
    const titles = boxes.map((box) => numberedTitle(data.texts.text(data.boxTitle[box])));
    const alike = (a, b) => titles[a] !== null && titles[b] !== null && titles[a].before === titles[b].before && titles[a].behind === titles[b].behind &&
        Math.abs(titles[a].number - titles[b].number) === 1 && contents(boxes[a]) === contents(boxes[b]);
    const least = parent < 0 && ranks ? kLeastRanks : kLeastLayers;
    for (let first = 0; first < boxes.length;) {
      let end = first + 1;
      while (end < boxes.length && alike(end - 1, end)) ++end;
      if (end - first >= least) {
        const [one, other] = [titles[first + 1].number, titles[end - 1].number];
        const {before, behind} = titles[first];
        folds.push({parent, members: boxes.slice(first + 1, end), title: `${before}${one}\u2013${other}${behind} \u00d7 ${end - first - 1}`});
      }
      first = end;
    }
  }
  return data.addFolds(folds);
}
