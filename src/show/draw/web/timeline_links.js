// Which event follows from which: dependencies, launches, messages, collectives, predictions, the critical path.
import {VarintReader, hasBlock, readBlock} from './page_data.js';

/** @typedef {import('./timeline_data.js').TimelineData} TimelineData */

export class TimelineLinks {
  /** @param {number} count */
  constructor(count) {
    this.from = new Uint32Array(count);
    this.to = new Uint32Array(count);
    this.kind = new Uint8Array(count);
    /** Links by where they come from, once somebody asks. @type {Uint32Array|null} */
    this.byFrom = null;
  }

  get size() {
    return this.from.length;
  }

  /** Links into an event: they are sorted by it. @param {number} event @returns {number[]} */
  into(event) {
    const links = [];
    for (let link = firstAtLeast(this.to, null, event); link < this.size && this.to[link] === event; ++link) links.push(link);
    return links;
  }

  /** Links out of an event. @param {number} event @returns {number[]} */
  outOf(event) {
    this.byFrom ??= orderBy(this.from);
    const links = [];
    for (let at = firstAtLeast(this.from, this.byFrom, event);
         at < this.size && this.from[this.byFrom[at]] === event; ++at) links.push(this.byFrom[at]);
    return links;
  }

  /** All links of some kinds. @param {number[]} kinds @returns {Uint32Array} */
  ofKinds(kinds) {
    const links = [];
    for (let link = 0; link < this.size; ++link) if (kinds.includes(this.kind[link])) links.push(link);
    return Uint32Array.from(links);
  }
}

/** @param {Uint32Array} values @param {Uint32Array|null} order @param {number} wanted */
function firstAtLeast(values, order, wanted) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[order ? order[middle] : middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Places of values in rising order: two passes of 16 bits. @param {Uint32Array} values */
function orderBy(values) {
  let order = Uint32Array.from(values, (_, i) => i);
  for (const shift of [0, 16]) {
    const next = new Uint32Array(65537);
    for (const value of values) ++next[(value >>> shift & 65535) + 1];
    for (let i = 0; i < 65536; ++i) next[i + 1] += next[i];
    const sorted = new Uint32Array(order.length);
    for (const at of order) sorted[next[values[at] >>> shift & 65535]++] = at;
    order = sorted;
  }
  return order;
}

/**
 * The links of a page; read once, when they are first needed.
 * @param {TimelineData} data
 * @returns {Promise<TimelineLinks>}
 */
export function linksOf(data) {
  data.links ??= (async () => {
    const links = new TimelineLinks(data.head.links);
    if (!hasBlock('links')) return links;
    const reader = new VarintReader(await readBlock('links'));
    let to = 0;
    for (let i = 0; i < links.size; ++i) {
      to += reader.unsigned();
      links.to[i] = to;
      links.from[i] = to - reader.signed();
      links.kind[i] = reader.unsigned();
    }
    return links;
  })();
  return data.links;
}
