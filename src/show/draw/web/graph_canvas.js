// Shows a scene on a canvas, and knows which part of it is to be seen. A few hundred items are painted anew in each frame; more
// are painted once, as tiles, a few milliseconds in each frame, so that frames are short however many items there are.
import {formatCount} from './format.js';
import {kTensorNode} from './graph_data.js';
import {paintScene, partOf, roundRect} from './graph_painter.js';
import {GraphTiles} from './graph_tiles.js';
import {themeColor} from './theme.js';

const kSmallest = 0.01;
const kLargest = 4;
const kReadable = 0.55;      // a page opens no smaller than this
const kBudget = 3;           // milliseconds of a frame for painting
const kMostMarks = 3000;
const kFew = 350;            // items, and twice as many lines, that are painted anew in each frame

export class GraphCanvas {
  /** @param {HTMLCanvasElement} canvas @param {import('./graph_scene.js').GraphScene} scene */
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.scene = scene;
    this.scale = 1;
    this.left = 0;  // of the scene, at the left edge of the canvas
    this.top = 0;
    this.selected = -1;
    /** Pixels at the right over which details lie. */
    this.covered = 0;
    /** Items with hits of a search, and how many. @type {Map<number, number>} */
    this.found = new Map();
    this.searching = false;
    /** The hit that was gone to. */
    this.current = -1;
    this.waiting = false;
    /** @type {GraphTiles|null} */
    this.tiles = null;
    /** Lines of the chosen item. @type {{item: number, version: number, lines: number[]}|null} */
    this.chosen = null;
    /** @type {() => void} */
    this.onDraw = () => {};
    this.readColors();
  }

  readColors() {
    const color = (name) => themeColor(name);
    this.colors = {background: color('background'), panel: color('panel'), text: color('text'), muted: color('muted'),
                   line: color('line'), kinds: [color('tensor'), color('operation'), color('communication')],
                   edge: color('text'), red: color('communication'), highlight: color('highlight'),
                   onKind: color('on-kind'), accent: color('accent')};
    this.repaint();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const {clientWidth, clientHeight} = this.canvas;
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    this.redraw();
  }

  /** The start: the whole where it can be read, else its beginning. */
  fit() {
    const {clientWidth, clientHeight} = this.canvas;
    const across = clientWidth / (this.scene.width + 60);
    const down = clientHeight / (this.scene.height + 60);
    this.scale = Math.min(1, Math.max(Math.min(across, down), kReadable));
    this.left = this.scene.width * this.scale > clientWidth ? this.scene.startX - Math.min(30, clientWidth / 10) / this.scale
        : this.scene.width / 2 - clientWidth / 2 / this.scale;
    this.top = this.scene.height * this.scale > clientHeight ? -30 / this.scale
        : this.scene.height / 2 - clientHeight / 2 / this.scale;
    this.redraw();
  }

  fitAll() {
    const {clientWidth, clientHeight} = this.canvas;
    this.scale = Math.max(kSmallest, Math.min(1, clientWidth / (this.scene.width + 60), clientHeight / (this.scene.height + 60)));
    this.left = this.scene.width / 2 - clientWidth / 2 / this.scale;
    this.top = this.scene.height / 2 - clientHeight / 2 / this.scale;
    this.redraw();
  }

  pan(dx, dy) {
    this.left += dx / this.scale;
    this.top += dy / this.scale;
    this.redraw();
  }

  /** Zooms by a factor and keeps what is at a place of the canvas there. */
  zoom(factor, atX = this.canvas.clientWidth / 2, atY = this.canvas.clientHeight / 2) {
    const scale = Math.min(kLargest, Math.max(kSmallest, this.scale * factor));
    this.left += atX / this.scale - atX / scale;
    this.top += atY / this.scale - atY / scale;
    this.scale = scale;
    this.redraw();
  }

  center(item) {
    const place = this.scene.places.get(item);
    if (!place) return;
    this.scale = Math.max(this.scale, 0.7);
    this.left = place.x + place.width / 2 - (this.canvas.clientWidth - this.covered) / 2 / this.scale;
    this.top = place.y + place.height / 2 - this.canvas.clientHeight / 2 / this.scale;
    this.redraw();
  }

  /** The place of the canvas in the scene. */
  toScene(x, y) {
    return [this.left + x / this.scale, this.top + y / this.scale];
  }

  /** The middle of an item on the canvas, or null. */
  onCanvas(item) {
    const place = this.scene.places.get(item);
    if (!place) return null;
    return {x: (place.x + place.width / 2 - this.left) * this.scale, y: (place.y + Math.min(place.height / 2, 12) - this.top) * this.scale};
  }

  /** Marks what a search found: items and how many hits each has or holds; null: nothing is searched. @param {Map<number, number>|null} found */
  mark(found) {
    this.searching = found !== null;
    this.found = found ?? new Map();
    this.repaint();
    this.redraw();
  }

  /** What is on tiles is no longer so. */
  repaint() {
    this.tiles = null;
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (!this.step(kBudget)) this.redraw();
      this.onDraw();
    });
  }

  /** Draws all that is to be seen, however long it takes. */
  draw() {
    while (!this.step(Infinity));
  }

  /** The part of the scene that is to be seen. */
  get view() {
    const {left, top, scale} = this;
    return {left, top, scale, width: this.canvas.clientWidth, height: this.canvas.clientHeight};
  }

  /** Draws a frame within about so many milliseconds; whether nothing is left to paint. @param {number} budget */
  step(budget) {
    const end = performance.now() + budget;
    const {view, scene, context, colors} = this;
    const ratio = this.canvas.width / Math.max(1, this.canvas.clientWidth);
    const found = this.searching ? this.found : null;
    const look = {left: view.left, top: view.top, right: view.left + view.width / view.scale, bottom: view.top + view.height / view.scale,
                  scale: view.scale, colors, found};
    const turn = () => context.setTransform(view.scale * ratio, 0, 0, view.scale * ratio, -view.left * view.scale * ratio, -view.top * view.scale * ratio);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = colors.background;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    let done = true;
    const part = scene.grid.isCrowded(look, 10 * kFew) ? null : partOf(scene, look);
    if (part !== null && part.items.length <= kFew && part.lines.length <= 2 * kFew) {
      turn();
      paintScene(context, scene, look, part);
    } else {
      if (!this.tiles?.isOf(scene, ratio)) this.tiles = new GraphTiles(scene, ratio);
      done = this.tiles.lay(context, view, colors, found, end);
      turn();
    }
    this.markLines();
    this.markItems();
    this.canvas.dataset.drawn = String(done);
    return done;
  }

  /** Lines of the chosen item. */
  markLines() {
    const {context, scene, colors, selected} = this;
    if (selected < 0) return;
    const {lines} = scene;
    if (this.chosen?.item !== selected || this.chosen.version !== scene.version)
      this.chosen = {item: selected, version: scene.version, lines: scene.linesOf(selected).slice(0, kMostMarks)};
    const chosen = this.chosen.lines;
    if (chosen.length === 0) return;
    context.strokeStyle = context.fillStyle = colors.accent;
    context.globalAlpha = 0.7;
    context.lineWidth = 3 / Math.max(this.scale, 0.25);
    context.beginPath();
    for (const at of chosen) lines.trace(context, at, false);
    context.stroke();
    context.beginPath();
    for (const at of chosen) lines.head(context, at);
    context.fill();
    context.globalAlpha = 1;
  }

  /** Outlines of what was found and of the chosen item; closed boxes say how many hits they hold. */
  markItems() {
    const {context, scene, colors} = this;
    const {clientWidth, clientHeight} = this.canvas;
    const [right, bottom] = this.toScene(clientWidth, clientHeight);
    let marks = 0;
    const outline = (item, color, width) => {
      const place = scene.places.get(item);
      if (!place || place.x > right || place.x + place.width < this.left || place.y > bottom || place.y + place.height < this.top) return null;
      context.strokeStyle = color;
      context.lineWidth = width / Math.max(this.scale, 0.02);
      const gap = width / 2 / Math.max(this.scale, 0.02);
      const around = {x: place.x - gap, y: place.y - gap, width: place.width + 2 * gap, height: place.height + 2 * gap};
      const isTensor = !scene.isBox(item) && scene.data.kind[item - scene.data.boxCount] === kTensorNode;
      roundRect(context, around, this.scale < 0.2 ? 0 : isTensor ? around.height / 2 : 8);
      context.stroke();
      return around;
    };
    for (const [item, hits] of this.found) {
      if (marks >= kMostMarks) break;
      const around = outline(item, colors.highlight, 3);
      if (around === null) continue;
      ++marks;
      if (scene.isBox(item) && !scene.open[item] && this.scale >= 0.3) this.badge(around, `${formatCount(hits)} found`);
    }
    if (this.current >= 0 && this.found.has(this.current)) outline(this.current, colors.text, 5);
    if (this.selected >= 0) outline(this.selected, colors.accent, 4);
  }

  badge(around, text) {
    const {context, colors} = this;
    context.font = '600 11px system-ui, sans-serif';
    const width = context.measureText(text).width + 12;
    context.fillStyle = colors.highlight;
    roundRect(context, {x: around.x + around.width - width + 6, y: around.y - 10, width, height: 18}, 9);
    context.fill();
    context.fillStyle = '#14181d';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillText(text, around.x + around.width - width / 2 + 6, around.y - 0.5);
  }
}
