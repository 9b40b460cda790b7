// A scene as tiles, painted once and moved about from then on: how graphs of a hundred thousand items are dragged. A frame
// paints as many as it has time for; where one is missing, those of the last scale stand in, larger or smaller.
import {paintScene, partOf} from './graph_painter.js';

const kTile = 256;  // pixels of the page
const kMostTiles = 160;

class TileSet {
  /** @param {number} scale */
  constructor(scale) {
    this.scale = scale;
    /** By place, the one that was used last at the end. @type {Map<string, {column: number, row: number, canvas: OffscreenCanvas}>} */
    this.tiles = new Map();
  }
}

export class GraphTiles {
  /** @param {import('./graph_scene.js').GraphScene} scene @param {number} ratio pixels of the screen for one of the page */
  constructor(scene, ratio) {
    this.scene = scene;
    this.version = scene.version;
    this.ratio = ratio;
    this.now = new TileSet(0);
    this.before = new TileSet(0);
  }

  /** Whether the tiles are those of the scene as it is. */
  isOf(scene, ratio) {
    return this.scene === scene && this.version === scene.version && this.ratio === ratio;
  }

  /**
   * Lays down the tiles of a view, and paints those that are missing until `end`; at least one.
   * @param {CanvasRenderingContext2D} context
   * @param {{left: number, top: number, scale: number, width: number, height: number}} view
   * @param {any} colors @param {Map<number, number>|null} found
   * @param {number} end as of performance.now()
   * @returns {boolean} whether none is missing
   */
  lay(context, view, colors, found, end) {
    const {ratio} = this;
    if (this.now.scale !== view.scale) {
      // What stands in has to fill the window: tiles of a scale that was shown for a moment do not.
      if (this.now.tiles.size * kTile * kTile >= view.width * view.height || this.before.tiles.size === 0) this.before = this.now;
      this.now = new TileSet(view.scale);
    }
    const [x, y] = [view.left * view.scale, view.top * view.scale];
    const wanted = [];
    for (let row = Math.floor(y / kTile); row * kTile < y + view.height; ++row)
      for (let column = Math.floor(x / kTile); column * kTile < x + view.width; ++column) wanted.push({column, row, key: `${column}.${row}`});
    const put = (column, row) => [Math.round((column * kTile - x) * ratio), Math.round((row * kTile - y) * ratio)];
    const missing = wanted.filter(({key}) => !this.now.tiles.has(key));
    if (missing.length > 0) this.standIn(context, view);
    for (const {column, row, key} of wanted) {
      const tile = this.now.tiles.get(key);
      if (!tile) continue;
      this.now.tiles.delete(key);
      this.now.tiles.set(key, tile);
      context.drawImage(tile.canvas, ...put(column, row));
    }
    // From the middle, where one looks.
    const away = ({column, row}) => Math.hypot((column + 0.5) * kTile - x - view.width / 2, (row + 0.5) * kTile - y - view.height / 2);
    missing.sort((a, b) => away(a) - away(b));
    let painted = 0;
    for (const {column, row, key} of missing) {
      const canvas = this.paint(column, row, colors, found);
      this.now.tiles.set(key, {column, row, canvas});
      context.drawImage(canvas, ...put(column, row));
      ++painted;
      if (performance.now() > end) break;
    }
    for (const key of this.now.tiles.keys()) {
      if (this.now.tiles.size <= Math.max(kMostTiles, 2 * wanted.length)) break;
      this.now.tiles.delete(key);
    }
    return painted === missing.length;
  }

  standIn(context, view) {
    const {ratio, before} = this;
    const factor = view.scale / before.scale;
    for (const {column, row, canvas} of before.tiles.values()) {
      const left = (column * kTile * factor - view.left * view.scale) * ratio;
      const top = (row * kTile * factor - view.top * view.scale) * ratio;
      const size = kTile * factor * ratio;
      if (left + size < 0 || top + size < 0 || left > view.width * ratio || top > view.height * ratio) continue;
      context.drawImage(canvas, left, top, size, size);
    }
  }

  paint(column, row, colors, found) {
    const {scene, ratio} = this;
    const {scale} = this.now;
    const size = Math.ceil(kTile * ratio);
    const canvas = new OffscreenCanvas(size, size);
    const context = /** @type {any} */ (canvas.getContext('2d', {alpha: false, willReadFrequently: true}));
    context.fillStyle = colors.background;
    context.fillRect(0, 0, size, size);
    context.setTransform(scale * ratio, 0, 0, scale * ratio, -column * kTile * ratio, -row * kTile * ratio);
    const look = {left: column * kTile / scale, top: row * kTile / scale, right: (column + 1) * kTile / scale, bottom: (row + 1) * kTile / scale,
                  scale, colors, found};
    paintScene(context, scene, look, partOf(scene, look));
    return canvas;
  }
}
