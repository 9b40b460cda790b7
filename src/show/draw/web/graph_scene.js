// What is to be seen of a graph: boxes that are closed, and the inside of those that are open, with their places.
// Items are boxes (numbers below boxCount) and nodes (boxCount + node).
import {kCommunicationEdge, kCommunicationNode, kTensorNode} from './graph_data.js';
import {foldRepeats} from './graph_folds.js';
import {GraphGrid} from './graph_grid.js';
import {layoutGraph, sideBySide} from './graph_layout.js';
import {GraphLines} from './graph_lines.js';

const kNodeHeight = 40;
const kBoxHeight = 58;
const kNodeWidth = 150;
const kBoxWidth = 230;
const kPadding = 14;
const kTitleHeight = 26;
// So many items are open at the start.
const kOpenAtStart = 300;

/**
 * Nodes so that edges go forward, as far as there are no cycles; those in cycles come last. Of what may come next, that comes
 * which the trace has first: a receive of the backward pass waits for nothing, and yet comes behind the forward pass.
 */
function forwardOrder(data) {
  const {nodeCount} = data;
  const waits = new Int32Array(nodeCount);
  for (let edge = 0; edge < data.edgeCount; ++edge) if (data.edgeKind[edge] !== kCommunicationEdge) ++waits[data.to[edge]];
  // A tensor stands right behind who writes it, or right before its first reader.
  const turn = Float64Array.from({length: nodeCount}, (_, node) => 3 * node + 1);
  for (let node = 0; node < nodeCount; ++node) {
    if (data.kind[node] !== kTensorNode) continue;
    const [written, read] = [data.incoming.of(node), data.outgoing.of(node)];
    if (written.length > 0) turn[node] = 3 * data.from[written[0]] + 2;
    else if (read.length > 0) turn[node] = 3 * read.reduce((least, edge) => Math.min(least, data.to[edge]), Infinity);
  }
  const order = [];
  const done = new Uint8Array(nodeCount);
  const ready = new TurnHeap(turn);
  for (let node = 0; node < nodeCount; ++node) if (waits[node] === 0) ready.push(node);
  while (ready.size > 0) {
    const node = ready.pop();
    done[node] = 1;
    order.push(node);
    for (const edge of data.outgoing.of(node)) if (data.edgeKind[edge] !== kCommunicationEdge && --waits[data.to[edge]] === 0) ready.push(data.to[edge]);
  }
  for (let node = 0; node < nodeCount; ++node) if (!done[node]) order.push(node);
  return order;
}

/** Nodes of which the one whose turn is first comes out first. */
class TurnHeap {
  /** @param {Float64Array} turn by node */
  constructor(turn) {
    this.turn = turn;
    this.nodes = new Uint32Array(turn.length);
    this.size = 0;
  }

  /** @param {number} node */
  push(node) {
    const {nodes, turn} = this;
    let at = this.size++;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (turn[nodes[above]] <= turn[node]) break;
      nodes[at] = nodes[above];
      at = above;
    }
    nodes[at] = node;
  }

  pop() {
    const {nodes, turn} = this;
    const first = nodes[0];
    const last = nodes[--this.size];
    let at = 0;
    for (let below = 1; below < this.size; below = 2 * at + 1) {
      if (below + 1 < this.size && turn[nodes[below + 1]] < turn[nodes[below]]) ++below;
      if (turn[last] <= turn[nodes[below]]) break;
      nodes[at] = nodes[below];
      at = below;
    }
    nodes[at] = last;
    return first;
  }
}

export class GraphScene {
  /** @param {import('./graph_data.js').GraphData} data @param {number} ranks */
  constructor(data, ranks) {
    this.data = data;
    this.ranks = ranks;
    this.version = 0;
    /** @type {Map<number, string[]>} */
    this.texts = new Map();
    /** Tensors that nobody writes: inputs and parameters. */
    this.isOutside = new Uint8Array(data.nodeCount);
    for (let node = 0; node < data.nodeCount; ++node)
      if (data.kind[node] === kTensorNode && data.incoming.of(node).length === 0) this.isOutside[node] = 1;
    this.buildTree();
    this.open = new Uint8Array(data.boxCount);
    this.sumBoxes();
    this.openFirst();
    this.update();
  }

  buildTree() {
    const {data} = this;
    // A box stands where its first node does, and nodes in an order in which edges go forward, as the layout wants.
    const order = forwardOrder(data);
    const inside = new Map([[-1, []]]);
    const repeats = new Set();
    for (const [node, boxes] of this.arrivals(order)) {
      for (const box of boxes) {
        if (data.pass[node] > 0) repeats.add(box);
        inside.set(box, []);
        inside.get(data.boxParent[box]).push(box);
      }
    }
    this.folds = foldRepeats(data, inside, this.ranks > 1);
    this.isRepeat = Uint8Array.from({length: data.boxCount}, (_, box) => repeats.has(box) ? 1 : 0);
    /** @type {number[][]} */
    this.children = Array.from({length: data.boxCount}, () => []);
    /** @type {number[]} */
    this.roots = [];
    const put = (parent, item) => (parent < 0 ? this.roots : this.children[parent]).push(item);
    for (const [node, boxes] of this.arrivals(order)) {
      for (const box of boxes) put(data.boxParent[box], box);
      put(data.box[node], data.boxCount + node);
    }
  }

  /** Nodes in an order, each with the boxes that it is the first in, from the outside. @param {number[]} order */
  * arrivals(order) {
    const {data} = this;
    const seen = new Uint8Array(data.boxCount);
    for (const node of order) {
      const boxes = [];
      for (let box = data.box[node]; box >= 0 && !seen[box]; box = data.boxParent[box]) {
        boxes.unshift(box);
        seen[box] = 1;
      }
      yield [node, boxes];
    }
  }

  sumBoxes() {
    const {data} = this;
    const sums = () => new Float64Array(data.boxCount);
    this.boxOps = sums();
    this.boxCommunications = sums();
    this.boxTensors = sums();
    this.boxFlops = sums();
    this.boxBytes = sums();
    this.boxSent = sums();
    this.boxTime = sums();
    this.whole = {flops: 0, sent: 0, time: 0};
    for (let node = 0; node < data.nodeCount; ++node) {
      if (data.kind[node] !== kTensorNode) {
        this.whole.flops += Math.max(0, data.flops[node]);
        this.whole.time += Math.max(0, data.time[node]);
        if (data.kind[node] === kCommunicationNode) this.whole.sent += Math.max(0, data.bytes[node]);
      }
      for (let box = data.box[node]; box >= 0; box = data.boxParent[box]) {
        if (data.kind[node] === kTensorNode) {
          ++this.boxTensors[box];
          continue;
        }
        if (data.kind[node] !== kCommunicationNode) {
          ++this.boxOps[box];
          this.boxBytes[box] += Math.max(0, data.bytes[node]);
        } else {
          ++this.boxCommunications[box];
          this.boxSent[box] += Math.max(0, data.bytes[node]);
        }
        this.boxFlops[box] += Math.max(0, data.flops[node]);
        this.boxTime[box] += Math.max(0, data.time[node]);
      }
    }
  }

  /** Nodes in a box, tensors from elsewhere that they read, and tensors of theirs that others read: the largest first. @param {number} box */
  insideAndAround(box) {
    const {data} = this;
    const boxes = new Uint8Array(data.boxCount);
    for (let each = 0; each < data.boxCount; ++each) for (let at = each; at >= 0; at = data.boxParent[at]) if (at === box) boxes[each] = 1;
    const isIn = (node) => data.box[node] >= 0 && boxes[data.box[node]] === 1;
    const [nodes, into, outOf] = [[], new Set(), new Set()];
    for (let node = 0; node < data.nodeCount; ++node) {
      if (!isIn(node)) continue;
      nodes.push(node);
      // Parameters are where their first reader is, and go in all the same.
      if (this.isOutside[node]) into.add(node);
    }
    for (let edge = 0; edge < data.edgeCount; ++edge) {
      if (data.edgeKind[edge] !== 0) continue;
      const [from, to] = [data.from[edge], data.to[edge]];
      if (isIn(from) === isIn(to)) continue;
      if (isIn(to)) into.add(from);
      else if (!this.isOutside[from]) outOf.add(from);
    }
    const largest = (set) => [...set].sort((a, b) => data.bytes[b] - data.bytes[a]);
    return {nodes, into: largest(into), outOf: largest(outOf)};
  }

  /**
   * Opens boxes that hold boxes, from the outside, while few items are to be seen; layers stay closed, and so do passes
   * that do what one before them did.
   */
  openFirst() {
    let shown = this.roots.length;
    let level = this.roots.filter((item) => this.isBox(item));
    while (level.length > 0) {
      const next = [];
      for (const box of level) {
        const inner = this.children[box];
        if (!inner.some((item) => this.isBox(item)) || this.data.boxIsLayer[box] || this.isRepeat[box] || this.folds.has(box) || shown + inner.length > kOpenAtStart) continue;
        this.open[box] = 1;
        shown += inner.length;
        for (const item of inner) if (this.isBox(item)) next.push(item);
      }
      level = next;
    }
  }

  /** @param {number} item */
  isBox(item) {
    return item < this.data.boxCount;
  }

  /** Whether an item stands for several boxes that hold the same. @param {number} item */
  isFold(item) {
    return this.folds.has(item);
  }

  /** @param {number} box */
  titleOf(box) {
    return this.data.titleOf(box);
  }

  /** The texts of an item as they fit into it: made once. @param {number} item @param {() => string[]} make */
  textsOf(item, make) {
    let texts = this.texts.get(item);
    if (texts === undefined) this.texts.set(item, texts = make());
    return texts;
  }

  /** The lines that begin or end at an item. @param {number} item */
  linesOf(item) {
    const {lines} = this;
    const found = [];
    for (let at = 0; at < lines.count; ++at) if (lines.from[at] === item || lines.to[at] === item) found.push(at);
    return found;
  }

  /** The item that is to be seen in place of a node: the node, or the outermost closed box around it. */
  shownFor(node) {
    let shown = this.data.boxCount + node;
    for (let box = this.data.box[node]; box >= 0; box = this.data.boxParent[box]) if (!this.open[box]) shown = box;
    return shown;
  }

  parentOf(item) {
    return this.isBox(item) ? this.data.boxParent[item] : this.data.box[item - this.data.boxCount];
  }

  openBoxes() {
    return Array.from(this.open.keys()).filter((box) => this.open[box]);
  }

  /** @param {number[]} boxes */
  openOnly(boxes) {
    this.open.fill(0);
    for (const box of boxes) this.open[box] = 1;
    this.update();
  }

  toggle(box) {
    this.open[box] = this.open[box] ? 0 : 1;
    this.update();
  }

  /** Closes everything that was not open at the start. */
  closeAll() {
    this.open.fill(0);
    this.openFirst();
    this.update();
  }

  /** Opens what is around a node, so that it is to be seen. */
  reveal(node) {
    let changed = false;
    for (let box = this.data.box[node]; box >= 0; box = this.data.boxParent[box]) {
      if (!this.open[box]) changed = true;
      this.open[box] = 1;
    }
    if (changed) this.update();
  }

  /** Lays out what is to be seen, from the inside out, and lists it: frames of open boxes, items, edges. */
  update() {
    const {data} = this;
    const shown = new Int32Array(data.nodeCount);
    for (let node = 0; node < data.nodeCount; ++node) shown[node] = this.shownFor(node);
    this.listEdges(shown);
    // Edges by the box in which both ends have a place.
    /** @type {Map<number, Array<[number, number]>>} */
    const within = new Map();
    for (const edge of this.edges) {
      const [box, from, to] = this.siblings(edge.from, edge.to);
      if (from === to) continue;
      if (!within.has(box)) within.set(box, []);
      within.get(box).push([from, to]);
    }
    /** @type {Array<{item: number, x: number, y: number, width: number, height: number}>} */
    this.items = [];
    this.frames = [];
    this.places = new Map();
    const whole = this.layoutInside(-1, within);
    this.place(whole, 0, 0);
    this.width = whole.width;
    this.height = whole.height;
    const first = whole.inner.length > 0 ? this.places.get(whole.inner[0]) : null;
    /** Where what comes first begins. */
    this.startX = this.ranks > 1 || !first ? 0 : Math.max(0, first.x - kBoxWidth);
    this.lines = new GraphLines(this);
    this.grid = new GraphGrid(this);
    ++this.version;
  }

  /** The ancestors of two items that stand side by side, and the box around them. */
  siblings(a, b) {
    const path = (item) => {
      const way = [item];
      for (let box = this.parentOf(item); box >= 0; box = this.data.boxParent[box]) way.push(box);
      return way.reverse();
    };
    const [left, right] = [path(a), path(b)];
    let depth = 0;
    while (depth + 1 < left.length && depth + 1 < right.length && left[depth] === right[depth]) ++depth;
    return [depth === 0 ? -1 : left[depth - 1], left[depth], right[depth]];
  }

  /** @param {Int32Array} shown by node: the item in its place */
  listEdges(shown) {
    const {data} = this;
    const known = new Map();
    const items = data.boxCount + data.nodeCount;
    this.edges = [];
    for (let edge = 0; edge < data.edgeCount; ++edge) {
      const from = shown[data.from[edge]];
      const to = shown[data.to[edge]];
      if (from === to) continue;
      // A parameter is drawn for its readers in the same box: lines to all others would hide everything else.
      if (this.isOutside[data.from[edge]] && data.box[data.from[edge]] !== data.box[data.to[edge]]) continue;
      const kind = data.edgeKind[edge];
      if (kind === 1 && (this.isBox(from) || this.isBox(to))) continue;
      const key = (from * items + to) * 3 + kind;
      const before = known.get(key);
      if (before === undefined) {
        known.set(key, this.edges.length);
        this.edges.push({from, to, kind, count: 1});
      } else {
        ++this.edges[before].count;
      }
    }
  }

  layoutInside(box, within) {
    const inner = box < 0 ? this.roots : this.children[box];
    const index = new Map();
    inner.forEach((item, i) => index.set(item, i));
    const parts = inner.map((item) => this.isBox(item) && this.open[item] ? this.layoutInside(item, within) : null);
    const sizes = inner.map((item, i) => parts[i] ? {width: parts[i].width, height: parts[i].height}
        : this.isBox(item) ? {width: kBoxWidth, height: kBoxHeight} : {width: kNodeWidth, height: kNodeHeight});
    const edges = (within.get(box) ?? []).map(([from, to]) => /** @type {[number, number]} */ ([index.get(from), index.get(to)]));
    const layout = box < 0 && this.ranks > 1 ? sideBySide(sizes) : layoutGraph(sizes, edges);
    const frame = box < 0 ? {left: 0, top: 0} : {left: kPadding, top: kTitleHeight + kPadding / 2};
    return {box, inner, parts, sizes, layout, frame,
            width: Math.max(layout.width + 2 * frame.left, box < 0 ? 0 : kBoxWidth),
            height: layout.height + frame.top + frame.left};
  }

  place(part, left, top) {
    if (part.box >= 0) {
      this.frames.push({item: part.box, x: left, y: top, width: part.width, height: part.height});
      this.places.set(part.box, this.frames[this.frames.length - 1]);
    }
    part.inner.forEach((item, i) => {
      const {width, height} = part.sizes[i];
      const x = left + part.frame.left + part.layout.x[i] - width / 2;
      const y = top + part.frame.top + part.layout.y[i] - height / 2;
      if (part.parts[i]) {
        this.place(part.parts[i], x, y);
      } else {
        this.items.push({item, x, y, width, height});
        this.places.set(item, this.items[this.items.length - 1]);
      }
    });
  }

  /** The item at a place, the innermost one; -1 without. */
  itemAt(x, y) {
    const inside = (place) => x >= place.x && x <= place.x + place.width && y >= place.y && y <= place.y + place.height;
    for (const place of this.items) if (inside(place)) return place.item;
    for (let i = this.frames.length - 1; i >= 0; --i) if (inside(this.frames[i])) return this.frames[i].item;
    return -1;
  }
}
