// Draws a scene on a canvas, and knows which part of it is to be seen.
import {kCommunicationEdge, kCommunicationNode, kTensorNode} from './graph_data.js';
import {oneLine} from './dom.js';
import {formatAmount, formatBytes, formatTime} from './format.js';
import {themeColor} from './theme.js';

const kReadableText = 0.42;  // scale below which texts are left out
const kLongEdge = 700;
const kSmallest = 0.01;
const kLargest = 4;

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
    /** @type {Set<number>} */
    this.found = new Set();
    this.waiting = false;
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
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const {clientWidth, clientHeight} = this.canvas;
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    this.redraw();
  }

  fit() {
    const {clientWidth, clientHeight} = this.canvas;
    const across = clientWidth / (this.scene.width + 60);
    const down = clientHeight / (this.scene.height + 60);
    // A long graph is shown from its top, as wide as it can still be read.
    this.scale = Math.min(1, Math.max(Math.min(across, down), Math.min(across, 0.55)));
    this.left = this.scene.width / 2 - clientWidth / 2 / this.scale;
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
    this.left = place.x + place.width / 2 - this.canvas.clientWidth / 2 / this.scale;
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

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
      this.onDraw();
    });
  }

  draw() {
    const {context, scene, colors} = this;
    const ratio = this.canvas.width / Math.max(1, this.canvas.clientWidth);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = colors.background;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const scale = this.scale * ratio;
    context.setTransform(scale, 0, 0, scale, -this.left * scale, -this.top * scale);
    const view = {left: this.left, top: this.top, right: this.left + this.canvas.clientWidth / this.scale,
                  bottom: this.top + this.canvas.clientHeight / this.scale};
    const seen = (place) => place.x <= view.right && place.x + place.width >= view.left && place.y <= view.bottom &&
        place.y + place.height >= view.top;
    for (const frame of scene.frames) if (seen(frame)) this.drawFrame(frame);
    this.drawEdges(view);
    for (const place of scene.items) if (seen(place)) this.drawItem(place);
  }

  drawFrame(place) {
    const {context, colors} = this;
    context.fillStyle = colors.panel;
    context.strokeStyle = place.item === this.selected ? colors.highlight : colors.line;
    context.lineWidth = place.item === this.selected ? 4 : 1.5;
    context.globalAlpha = 0.55;
    this.roundRect(place, 10);
    context.fill();
    context.globalAlpha = 1;
    context.stroke();
    if (this.scale < kReadableText / 2) return;
    context.fillStyle = colors.muted;
    context.font = '600 14px system-ui, sans-serif';
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    const title = this.scene.data.texts.text(this.scene.data.boxTitle[place.item]);
    context.fillText('\u25be ' + this.clipped(title, place.width - 30, 60), place.x + 10, place.y + 15);
  }

  roundRect(place, radius) {
    const {context} = this;
    context.beginPath();
    context.roundRect(place.x, place.y, place.width, place.height, radius);
  }

  /** A text of at most so many characters that is narrower than `width`. */
  clipped(text, width, most) {
    let line = oneLine(text, most);
    for (let length = most; this.context.measureText(line).width > width && length > 4; length = Math.floor(length * 0.8))
      line = oneLine(text, length);
    return line;
  }

  drawEdges(view) {
    const {context, scene, colors} = this;
    const kinds = this.edgeStyles();
    const chosen = [];
    for (const [style, edges] of kinds) {
      context.strokeStyle = style.color;
      context.fillStyle = style.color;
      context.globalAlpha = style.alpha;
      context.setLineDash(style.dash);
      context.lineWidth = style.width / Math.max(this.scale, 0.25);
      context.beginPath();
      const heads = [];
      for (const edge of edges) {
        const from = scene.places.get(edge.from);
        const to = scene.places.get(edge.to);
        if (!from || !to) continue;
        const line = this.edgeLine(from, to);
        if (Math.min(line.y1, line.y2) - 60 > view.bottom || Math.max(line.y1, line.y2) + 60 < view.top ||
            Math.min(line.x1, line.x2) - 60 > view.right || Math.max(line.x1, line.x2) + 60 < view.left) continue;
        if (edge.from === this.selected || edge.to === this.selected) chosen.push(line);
        this.addEdge(line);
        heads.push(line);
      }
      context.stroke();
      context.setLineDash([]);
      if (this.scale > 0.2) for (const line of heads) this.drawHead(line);
    }
    context.globalAlpha = 1;
    if (chosen.length === 0) return;
    context.strokeStyle = context.fillStyle = colors.accent;
    context.lineWidth = 3 / Math.max(this.scale, 0.25);
    context.beginPath();
    for (const line of chosen) this.addEdge(line);
    context.stroke();
    for (const line of chosen) this.drawHead(line);
  }

  /** Edges by how they look: all of a kind are one path. */
  edgeStyles() {
    const {scene, colors} = this;
    const communicates = (item) => !scene.isBox(item) && scene.data.kind[item - scene.data.boxCount] === kCommunicationNode;
    const styles = [[{color: colors.edge, alpha: 0.55, dash: [], width: 1.1}, []],
                    [{color: colors.edge, alpha: 0.35, dash: [4, 4], width: 0.9}, []],
                    [{color: colors.red, alpha: 0.9, dash: [], width: 1.6}, []],
                    [{color: colors.edge, alpha: 0.16, dash: [], width: 1}, []]];
    for (const edge of scene.edges) {
      const red = edge.kind === kCommunicationEdge || communicates(edge.from) || communicates(edge.to);
      // Long lines across others stay in the background.
      const [from, to] = [scene.places.get(edge.from), scene.places.get(edge.to)];
      const long = from && to && Math.abs(from.y - to.y) > kLongEdge;
      styles[red && edge.kind !== 1 ? 2 : edge.kind === 1 ? 1 : long ? 3 : 0][1].push(edge);
    }
    return styles;
  }

  edgeLine(from, to) {
    const down = from.y + from.height <= to.y;
    const x1 = from.x + from.width / 2;
    const x2 = to.x + to.width / 2;
    if (down) return {x1, y1: from.y + from.height, x2, y2: to.y, bend: 1};
    if (to.y + to.height <= from.y) return {x1, y1: from.y, x2, y2: to.y + to.height, bend: -1};
    return from.x < to.x ? {x1: from.x + from.width, y1: from.y + from.height / 2, x2: to.x, y2: to.y + to.height / 2, bend: 0}
        : {x1: from.x, y1: from.y + from.height / 2, x2: to.x + to.width, y2: to.y + to.height / 2, bend: 0};
  }

  addEdge(line) {
    const {context} = this;
    context.moveTo(line.x1, line.y1);
    if (line.bend === 0) {
      context.lineTo(line.x2, line.y2);
      return;
    }
    const reach = line.bend * Math.min(80, Math.abs(line.y2 - line.y1) / 2);
    context.bezierCurveTo(line.x1, line.y1 + reach, line.x2, line.y2 - reach, line.x2, line.y2);
  }

  drawHead(line) {
    const {context} = this;
    const size = 6;
    const angle = line.bend === 0 ? Math.atan2(line.y2 - line.y1, line.x2 - line.x1) : line.bend * Math.PI / 2;
    context.beginPath();
    context.moveTo(line.x2, line.y2);
    context.lineTo(line.x2 - size * Math.cos(angle - 0.4), line.y2 - size * Math.sin(angle - 0.4));
    context.lineTo(line.x2 - size * Math.cos(angle + 0.4), line.y2 - size * Math.sin(angle + 0.4));
    context.fill();
  }

  drawItem(place) {
    const {context, colors, scene} = this;
    const {item} = place;
    const box = scene.isBox(item);
    const kind = box ? 1 : scene.data.kind[item - scene.data.boxCount];
    context.fillStyle = colors.kinds[kind];
    if (box) {
      // A second sheet behind it: there is more inside.
      this.roundRect({x: place.x + 4, y: place.y + 4, width: place.width, height: place.height}, 8);
      context.globalAlpha = 0.35;
      context.fill();
      context.globalAlpha = 1;
    }
    this.roundRect(place, kind === kTensorNode ? place.height / 2 : box ? 8 : 4);
    context.fill();
    if (box && scene.boxCommunications[item] > 0) {
      context.fillStyle = colors.red;
      context.fillRect(place.x, place.y + place.height - 8, place.width, 6);
    }
    if (this.found.has(item) || item === this.selected) {
      context.strokeStyle = colors.highlight;
      context.lineWidth = 4 / Math.max(this.scale, 0.3);
      this.roundRect(place, kind === kTensorNode ? place.height / 2 : 8);
      context.stroke();
    }
    if (this.scale < kReadableText) return;
    const lines = box ? this.boxLines(item) : this.nodeLines(item - scene.data.boxCount);
    context.fillStyle = colors.onKind;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const middle = place.x + place.width / 2;
    const height = box ? 17 : 15;
    let y = place.y + place.height / 2 - (lines.length - 1) * height / 2;
    lines.forEach((line, i) => {
      context.font = i === 0 ? '600 13px system-ui, sans-serif' : '11px system-ui, sans-serif';
      context.fillText(this.clipped(line, place.width - (kind === kTensorNode ? 24 : 12), box ? 40 : 28), middle, y);
      y += height;
    });
  }

  nodeLines(node) {
    const {data} = this.scene;
    const what = data.texts.text(data.what[node]);
    const name = data.nameOf(node);
    const figures = [];
    if (data.flops[node] > 1) figures.push(formatAmount(data.flops[node], 'FLOP'));
    else if (data.bytes[node] >= 0) figures.push(formatBytes(data.bytes[node]));
    if (data.time[node] > 0) figures.push(formatTime(data.time[node]));
    if (data.kind[node] === kTensorNode)
      return [shortName(name), [data.texts.text(data.shape[node]), what].filter(Boolean).join(' ')].filter(Boolean);
    return [what || shortName(name), figures.join(', ')].filter(Boolean);
  }

  boxLines(box) {
    const {scene} = this;
    const counts = [];
    if (scene.boxOps[box]) counts.push(scene.boxOps[box] + (scene.boxOps[box] === 1 ? ' operation' : ' operations'));
    if (scene.boxCommunications[box]) counts.push(scene.boxCommunications[box] + ' comm.');
    const figures = [];
    if (scene.boxFlops[box] > 1) figures.push(formatAmount(scene.boxFlops[box], 'FLOP'));
    if (scene.boxSent[box] > 0) figures.push(formatBytes(scene.boxSent[box]) + ' sent');
    if (scene.boxTime[box] > 0) figures.push(formatTime(scene.boxTime[box]));
    return ['\u25b8 ' + scene.data.texts.text(scene.data.boxTitle[box]), counts.join(', '), figures.join(', ')].filter(Boolean);
  }
}

/** The end of a long name: what differs between neighbours. @param {string} name */
function shortName(name) {
  const parts = name.slice(-200).split('.');
  return parts.length > 2 ? parts.slice(-2).join('.') : name;
}
