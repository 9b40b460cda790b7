// The graph that the page carries: nodes and edges as columns, and the tree of boxes (graph_page.cpp writes them).
import {TextTable, VarintReader, readBlock} from './page_data.js';

export const kGraphKinds = ['tensor', 'operation', 'communication'];
export const kGraphEdgeKinds = ['data', 'control', 'communication'];
export const kTensorNode = 0;
export const kCommunicationNode = 2;
export const kControlEdge = 1;
export const kCommunicationEdge = 2;

/** Edges by node: those of node i are at begins[i] to begins[i + 1]. */
class GraphAdjacency {
  /** @param {number} nodes @param {Uint32Array} ends which end of each edge is asked for */
  constructor(nodes, ends) {
    this.begins = new Uint32Array(nodes + 1);
    for (const node of ends) ++this.begins[node + 1];
    for (let i = 0; i < nodes; ++i) this.begins[i + 1] += this.begins[i];
    this.edges = new Uint32Array(ends.length);
    const next = this.begins.slice();
    for (let edge = 0; edge < ends.length; ++edge) this.edges[next[ends[edge]]++] = edge;
  }

  /** @param {number} node */
  of(node) {
    return this.edges.subarray(this.begins[node], this.begins[node + 1]);
  }
}

export class GraphData {
  /** @param {{texts: Uint8Array, nodes: Uint8Array, edges: Uint8Array, boxes: Uint8Array}} blocks */
  constructor(blocks) {
    this.texts = new TextTable(blocks.texts);
    this.readBoxes(new VarintReader(blocks.boxes));
    this.readNodes(new VarintReader(blocks.nodes));
    this.readEdges(new VarintReader(blocks.edges));
    this.outgoing = new GraphAdjacency(this.nodeCount, this.from);
    this.incoming = new GraphAdjacency(this.nodeCount, this.to);
  }

  /** @param {VarintReader} reader */
  readBoxes(reader) {
    this.boxCount = reader.unsigned();
    this.boxTitle = new Uint32Array(this.boxCount);
    this.boxParent = new Int32Array(this.boxCount);
    this.boxIsLayer = new Uint8Array(this.boxCount);
    for (let i = 0; i < this.boxCount; ++i) {
      this.boxTitle[i] = reader.unsigned();
      this.boxParent[i] = reader.unsigned() - 1;
      this.boxIsLayer[i] = reader.unsigned();
    }
  }

  /** @param {VarintReader} reader */
  readNodes(reader) {
    const count = this.nodeCount = reader.unsigned();
    this.kind = new Uint8Array(count);
    this.box = new Int32Array(count);
    this.name = new Uint32Array(count);
    this.what = new Uint32Array(count);
    this.layer = new Uint32Array(count);
    this.part = new Uint32Array(count);
    this.shape = new Uint32Array(count);
    this.rank = new Int32Array(count);
    this.pass = new Int32Array(count);
    this.bytes = new Float64Array(count);
    this.flops = new Float64Array(count);
    this.time = new Float64Array(count);
    for (let i = 0; i < count; ++i) {
      this.kind[i] = reader.unsigned();
      this.box[i] = reader.unsigned() - 1;
      this.name[i] = reader.unsigned();
      this.what[i] = reader.unsigned();
      this.layer[i] = reader.unsigned();
      this.part[i] = reader.unsigned();
      this.shape[i] = reader.unsigned();
      this.rank[i] = reader.signed();
      this.pass[i] = reader.signed();
      this.bytes[i] = reader.unsigned() - 1;  // -1: not known
      this.flops[i] = reader.unsigned() - 1;
      this.time[i] = reader.unsigned() - 1;
    }
  }

  /** @param {VarintReader} reader */
  readEdges(reader) {
    const count = this.edgeCount = reader.unsigned();
    this.from = new Uint32Array(count);
    this.to = new Uint32Array(count);
    this.edgeKind = new Uint8Array(count);
    let before = 0;
    for (let i = 0; i < count; ++i) {
      before += reader.signed();
      this.from[i] = before;
      this.to[i] = before + reader.signed();
      this.edgeKind[i] = reader.unsigned();
    }
  }

  /**
   * Adds boxes around others.
   * @param {Array<{parent: number, members: number[], title: string}>} folds
   * @returns {Set<number>} their numbers
   */
  addFolds(folds) {
    const first = this.boxCount;
    const longer = (column, values) => {
      const all = new column.constructor(first + values.length);
      all.set(column);
      all.set(values, first);
      return all;
    };
    this.boxTitle = longer(this.boxTitle, folds.map(({title}) => this.texts.add(title)));
    this.boxParent = longer(this.boxParent, folds.map(({parent}) => parent));
    this.boxIsLayer = longer(this.boxIsLayer, folds.map(() => 0));
    folds.forEach(({members}, i) => members.forEach((box) => this.boxParent[box] = first + i));
    this.boxCount += folds.length;
    return new Set(folds.map((_, i) => first + i));
  }

  /** @param {number} box */
  titleOf(box) {
    return this.texts.text(this.boxTitle[box]);
  }

  /** @param {number} node */
  nameOf(node) {
    return this.texts.text(this.name[node]);
  }
}

export async function readGraphData() {
  const [texts, nodes, edges, boxes] =
      await Promise.all([readBlock('texts'), readBlock('nodes'), readBlock('edges'), readBlock('boxes')]);
  return new GraphData({texts, nodes, edges, boxes});
}
