// What lies where in a scene, so that a part of it is found without a look at everything: squares, each with the items and
// lines whose middles lie in it. Lines that are longer than a square lie in a list of their own.
import {kLineStyles} from './graph_lines.js';

const kSquare = 1600;

/** Numbers by square: those of square i are at begins[i] to begins[i + 1]. */
class GridSquares {
  /** @param {Int32Array} squareOf by number: its square, or -1 @param {number} squares */
  constructor(squareOf, squares) {
    this.begins = new Uint32Array(squares + 1);
    for (const square of squareOf) if (square >= 0) ++this.begins[square + 1];
    for (let i = 0; i < squares; ++i) this.begins[i + 1] += this.begins[i];
    this.numbers = new Uint32Array(this.begins[squares]);
    const next = this.begins.slice();
    squareOf.forEach((square, number) => {
      if (square >= 0) this.numbers[next[square]++] = number;
    });
  }
}

export class GraphGrid {
  /** @param {import('./graph_scene.js').GraphScene} scene with its places and lines */
  constructor(scene) {
    const {items, lines} = scene;
    this.items = items;
    this.lines = lines;
    this.across = Math.max(1, Math.ceil(scene.width / kSquare));
    this.down = Math.max(1, Math.ceil(scene.height / kSquare));
    const square = (x, y) => Math.min(this.down - 1, Math.max(0, Math.floor(y / kSquare))) * this.across +
        Math.min(this.across - 1, Math.max(0, Math.floor(x / kSquare)));
    this.itemSquares = new GridSquares(Int32Array.from(items, (place) => square(place.x + place.width / 2, place.y + place.height / 2)), this.across * this.down);
    this.long = [];
    const {x1, y1, x2, y2} = lines;
    this.lineSquares = new GridSquares(Int32Array.from({length: lines.count}, (_, at) => {
      if (Math.abs(x1[at] - x2[at]) > kSquare || Math.abs(y1[at] - y2[at]) > kSquare) {
        this.long.push(at);
        return -1;
      }
      return square((x1[at] + x2[at]) / 2, (y1[at] + y2[at]) / 2);
    }), this.across * this.down);
  }

  /** Calls `visit` with each run of numbers in squares that a part of the scene touches, `margin` around it included. */
  visitSquares(squares, look, margin, visit) {
    const first = (at, count) => Math.min(count - 1, Math.max(0, Math.floor((at - margin) / kSquare)));
    const last = (at, count) => Math.min(count - 1, Math.max(0, Math.floor((at + margin) / kSquare)));
    const right = last(look.right, this.across);
    for (let row = first(look.top, this.down); row <= last(look.bottom, this.down); ++row) {
      const begin = row * this.across + first(look.left, this.across);
      visit(squares.begins[begin], squares.begins[row * this.across + right + 1]);
    }
  }

  /** Whether more items than so many may be near: known without a look at each. @param {any} look @param {number} most */
  isCrowded(look, most) {
    let count = 0;
    this.visitSquares(this.itemSquares, look, 120, (begin, end) => count += end - begin);
    return count > most;
  }

  /** The items to be seen: their places. @param {{left: number, top: number, right: number, bottom: number}} look */
  itemsIn(look) {
    const found = [];
    const {numbers} = this.itemSquares;
    this.visitSquares(this.itemSquares, look, 120, (begin, end) => {
      for (let i = begin; i < end; ++i) {
        const place = this.items[numbers[i]];
        if (place.x <= look.right && place.x + place.width >= look.left && place.y <= look.bottom && place.y + place.height >= look.top) found.push(place);
      }
    });
    return found;
  }

  /** The lines that may be seen, without those that are shorter than `least`, and one of `share` of what is no message: their numbers.
   *  @param {{left: number, top: number, right: number, bottom: number}} look @param {number} least @param {number} share */
  linesIn(look, least, share) {
    const found = [];
    const {x1, y1, x2, y2, style} = this.lines;
    const bow = 60;  // curves reach farther than their ends
    const add = (at) => {
      if (share > 1 && at % share !== 0 && kLineStyles[style[at]] !== 'red') return;
      const low = y1[at] < y2[at] ? y1[at] : y2[at];
      const high = y1[at] < y2[at] ? y2[at] : y1[at];
      const left = x1[at] < x2[at] ? x1[at] : x2[at];
      const right = x1[at] < x2[at] ? x2[at] : x1[at];
      if (low - bow <= look.bottom && high + bow >= look.top && left - bow <= look.right && right + bow >= look.left && high - low + right - left >= least)
        found.push(at);
    };
    const {numbers} = this.lineSquares;
    this.visitSquares(this.lineSquares, look, kSquare / 2 + bow, (begin, end) => {
      for (let i = begin; i < end; ++i) add(numbers[i]);
    });
    for (const at of this.long) add(at);
    return found;
  }
}
