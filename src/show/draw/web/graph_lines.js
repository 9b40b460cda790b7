// Where lines between items of a scene run and how they look: worked out once for all frames.
import {kCommunicationEdge, kCommunicationNode, kControlEdge} from './graph_data.js';

const kLongLine = 700;

/** Ways in which lines are drawn, by number. */
export const kLineStyles = ['data', 'control', 'red', 'long'];

export class GraphLines {
  /** @param {import('./graph_scene.js').GraphScene} scene */
  constructor(scene) {
    const {edges, places, data} = scene;
    const count = edges.length;
    [this.x1, this.y1, this.x2, this.y2] = Array.from({length: 4}, () => new Float32Array(count));
    /** 1: downward, -1: upward, 0: sideways. */
    this.bend = new Int8Array(count);
    this.style = new Uint8Array(count);
    this.from = new Int32Array(count);
    this.to = new Int32Array(count);
    this.count = 0;
    const communicates = (item) => !scene.isBox(item) && data.kind[item - data.boxCount] === kCommunicationNode;
    for (const {from, to, kind} of edges) {
      const one = places.get(from);
      const other = places.get(to);
      if (!one || !other) continue;
      const at = this.count++;
      this.from[at] = from;
      this.to[at] = to;
      // Long lines across others stay in the background; messages do not.
      const style = kind === kControlEdge ? 'control' : kind === kCommunicationEdge ? 'red' : Math.abs(one.y - other.y) > kLongLine ? 'long' :
          communicates(from) || communicates(to) ? 'red' : 'data';
      this.style[at] = kLineStyles.indexOf(style);
      this.run(at, one, other, kind === kCommunicationEdge);
    }
  }

  run(at, one, other, sideways) {
    const put = (x1, y1, x2, y2, bend) => {
      this.x1[at] = x1;
      this.y1[at] = y1;
      this.x2[at] = x2;
      this.y2[at] = y2;
      this.bend[at] = bend;
    };
    const x1 = one.x + one.width / 2;
    const x2 = other.x + other.width / 2;
    const beside = one.x + one.width < other.x || other.x + other.width < one.x;
    if ((sideways && beside) || (one.y + one.height > other.y && other.y + other.height > one.y)) {
      const right = one.x < other.x;
      put(right ? one.x + one.width : one.x, one.y + one.height / 2, right ? other.x : other.x + other.width, other.y + other.height / 2, 0);
    } else if (one.y + one.height <= other.y) {
      put(x1, one.y + one.height, x2, other.y, 1);
    } else {
      put(x1, one.y, x2, other.y + other.height, -1);
    }
  }

  /** Adds a line to the path; a plain one is straight. @param {CanvasRenderingContext2D} context @param {number} at @param {boolean} plain */
  trace(context, at, plain) {
    const {x1, y1, x2, y2, bend} = this;
    context.moveTo(x1[at], y1[at]);
    if (plain || (bend[at] !== 0 && x1[at] === x2[at])) {
      context.lineTo(x2[at], y2[at]);
    } else if (bend[at] === 0) {
      const reach = Math.sign(x2[at] - x1[at]) * Math.min(90, Math.abs(x2[at] - x1[at]) / 2);
      context.bezierCurveTo(x1[at] + reach, y1[at], x2[at] - reach, y2[at], x2[at], y2[at]);
    } else {
      const reach = bend[at] * Math.min(80, Math.abs(y2[at] - y1[at]) / 2);
      context.bezierCurveTo(x1[at], y1[at] + reach, x2[at], y2[at] - reach, x2[at], y2[at]);
    }
  }

  /** Adds the head of a line to the path. @param {CanvasRenderingContext2D} context @param {number} at */
  head(context, at) {
    const {x1, x2, y2, bend} = this;
    const size = 6;
    const angle = bend[at] === 0 ? (x2[at] > x1[at] ? 0 : Math.PI) : bend[at] * Math.PI / 2;
    context.moveTo(x2[at], y2[at]);
    context.lineTo(x2[at] - size * Math.cos(angle - 0.4), y2[at] - size * Math.sin(angle - 0.4));
    context.lineTo(x2[at] - size * Math.cos(angle + 0.4), y2[at] - size * Math.sin(angle + 0.4));
    context.closePath();
  }
}
