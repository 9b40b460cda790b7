// What each rank did when, on a canvas: a lane for the host, computation, communication and memory, and one for the
// critical path. Drag to zoom in, double-click to see all again.
import {element, oneLine} from './dom.js';
import {countText, timeText} from './report_figures.js';
import {onThemeChange, themeColor} from './theme.js';

const kStripLanes = ['path', 'host', 'compute', 'communication', 'memory'];
const kLaneNames = {host: 'host', compute: 'compute', communication: 'communication', memory: 'memory', path: 'critical path'};
const kActivityNames = ['waiting', 'host', 'compute', 'communication', 'memory'];
const kActivityColors = ['bubble', 'host', 'compute', 'communication', 'memory'];
const kLaneHeight = 13;
const kRankGap = 9;
const kStripLeft = 118;
const kAxisHeight = 24;
const kBoxNumbers = 6;

/** @typedef {{rank: number, names: string[], lanes: Object<string, number[]>}} StripRank */

/**
 * The ranks as they are shown: that on which the critical path runs longest first, and one for all that do the same at the same
 * times, none of which is on the path.
 * @param {StripRank[]} ranks
 * @returns {Array<StripRank & {like: number}>} `like`: how many more it stands for
 */
export function arrangedRanks(ranks) {
  const onPath = (rank) => rank.lanes.path.reduce((sum, value, at) => at % kBoxNumbers === 1 ? sum + value : sum, 0);
  /** @type {Map<string, StripRank & {like: number}>} */
  const known = new Map();
  const shown = [];
  for (const rank of ranks) {
    const text = rank.lanes.path.length > 0 ? null : JSON.stringify([rank.names, rank.lanes]);
    if (text !== null && known.has(text)) {
      ++known.get(text).like;
      continue;
    }
    const entry = {...rank, like: 0};
    shown.push(entry);
    if (text !== null) known.set(text, entry);
  }
  const times = new Map(shown.map((rank) => [rank, onPath(rank)]));
  return shown.sort((a, b) => times.get(b) - times.get(a) || a.rank - b.rank);
}

export class StripView {
  /** @param {{related: boolean, ranks: StripRank[], crossings: number[][], left_out: number}} strips */
  constructor(strips) {
    this.strips = {...strips, ranks: arrangedRanks(strips.ranks)};
    this.lanes = kStripLanes.filter((lane) => this.strips.ranks.some((rank) => rank.lanes[lane].length > 0));
    this.whole = this.wholeTime();
    this.from = 0;
    this.to = this.whole;
    this.onlyPath = false;
    this.drag = null;
    this.canvas = /** @type {HTMLCanvasElement} */ (element('canvas', {class: 'strip', tabindex: '0', role: 'img',
      'aria-label': `Timeline of ${strips.ranks.length} ranks with the critical path. Arrow keys move, + and - zoom, 0 shows all.`}));
    this.tip = element('div', {class: 'strip-tip', hidden: true, role: 'status'});
    const button = (text, title, run) => element('button', {class: 'tool', type: 'button', title, onclick: run}, text);
    this.pathButton = button('Critical path only', 'Dim what is not on the critical path', () => {
      this.onlyPath = !this.onlyPath;
      this.pathButton.setAttribute('aria-pressed', String(this.onlyPath));
      this.draw();
    });
    this.pathButton.setAttribute('aria-pressed', 'false');
    this.root = element('div', {class: 'strip-view'},
        element('div', {class: 'plot-bar'},
            element('ul', {class: 'legend'}, ...kActivityNames.map((name, activity) =>
              element('li', null, element('span', {class: `swatch fill-${kActivityColors[activity]}`}), name === 'waiting' ? 'waiting (critical path)' : name)),
            element('li', null, element('span', {class: 'swatch critical'}), 'on the critical path')),
            button('+', 'Zoom in', () => this.zoom(0.5)), button('\u2212', 'Zoom out', () => this.zoom(2)),
            button('All', 'Show all', () => this.show(0, this.whole)), this.pathButton),
        element('div', {class: 'strip-holder'}, this.canvas, this.tip));
    this.listen();
    onThemeChange(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
  }

  wholeTime() {
    let end = 1;
    for (const rank of this.strips.ranks)
      for (const lane of this.lanes) {
        const boxes = rank.lanes[lane];
        if (boxes.length > 0) end = Math.max(end, boxes[boxes.length - kBoxNumbers] + boxes[boxes.length - kBoxNumbers + 1]);
      }
    return end;
  }

  height() {
    return kAxisHeight + this.strips.ranks.length * (this.lanes.length * kLaneHeight + kRankGap);
  }

  /** @param {number} time */
  xOf(time) {
    return kStripLeft + (time - this.from) / (this.to - this.from) * (this.width - kStripLeft - 1);
  }

  /** @param {number} x */
  timeAt(x) {
    return this.from + (x - kStripLeft) / (this.width - kStripLeft - 1) * (this.to - this.from);
  }

  /** @param {number} rank @param {number} lane */
  yOf(rank, lane) {
    return kAxisHeight + rank * (this.lanes.length * kLaneHeight + kRankGap) + lane * kLaneHeight;
  }

  draw() {
    const width = this.canvas.parentElement.clientWidth;
    if (width === 0) return;
    const height = this.height();
    const ratio = devicePixelRatio || 1;
    this.width = width;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext('2d');
    context.scale(ratio, ratio);
    context.fillStyle = themeColor('background');
    context.fillRect(0, 0, width, height);
    this.colors = kActivityColors.map(themeColor);
    this.critical = themeColor('critical');
    this.drawAxis(context, height);
    this.strips.ranks.forEach((rank, place) => this.drawRank(context, rank, place));
    this.drawCrossings(context);
    if (this.drag !== null) {
      context.fillStyle = themeColor('selection');
      context.fillRect(Math.min(this.drag.x, this.drag.at), kAxisHeight, Math.abs(this.drag.at - this.drag.x), height - kAxisHeight);
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {number} height */
  drawAxis(context, height) {
    const raw = (this.to - this.from) / Math.max(2, (this.width - kStripLeft) / 110);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'alphabetic';
    for (let tick = Math.ceil(this.from / step) * step; tick <= this.to; tick += step) {
      const x = Math.round(this.xOf(tick)) + 0.5;
      context.fillStyle = themeColor('line');
      context.fillRect(x, 16, 1, height);
      context.fillStyle = themeColor('muted');
      if (x > kStripLeft + 16 && x < this.width - 20) context.fillText(timeText(tick), x, 12);
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {StripRank} rank @param {number} place */
  drawRank(context, rank, place) {
    context.textAlign = 'left';
    this.lanes.forEach((lane, number) => {
      const y = this.yOf(place, number);
      context.fillStyle = themeColor('stripe');
      context.fillRect(kStripLeft, y, this.width - kStripLeft, kLaneHeight - 1);
      this.drawBoxes(context, rank.lanes[lane], y, lane === 'path' ? 1 : this.onlyPath ? 0.22 : 1);
    });
    this.markCritical(context, rank, place);
    context.fillStyle = themeColor('background');
    context.fillRect(0, this.yOf(place, 0), kStripLeft - 2, this.lanes.length * kLaneHeight + 2);
    context.font = '600 12px system-ui, sans-serif';
    context.fillStyle = themeColor('text');
    context.fillText(`rank ${rank.rank}`, 0, this.yOf(place, 0) + 10);
    context.font = '10px system-ui, sans-serif';
    if (rank.like > 0) context.fillText(`+ ${rank.like} like it`, 0, this.yOf(place, 0) + 22);
    context.textAlign = 'right';
    context.fillStyle = themeColor('muted');
    this.lanes.forEach((lane, number) => context.fillText(lane === 'communication' ? 'comm.' : lane === 'path' ? 'critical' : kLaneNames[lane], kStripLeft - 6, this.yOf(place, number) + 10));
  }

  /** @param {CanvasRenderingContext2D} context @param {number[]} boxes @param {number} y @param {number} strength */
  drawBoxes(context, boxes, y, strength) {
    for (let at = 0; at < boxes.length; at += kBoxNumbers) {
      const start = boxes[at];
      const end = start + boxes[at + 1];
      if (end < this.from || start > this.to) continue;
      const x = Math.max(kStripLeft, this.xOf(start));
      const width = Math.max(0.7, Math.min(this.width, this.xOf(end)) - x);
      // A box that was busy for a part of its time only is paler.
      context.globalAlpha = strength * (boxes[at + 1] > 0 ? 0.3 + 0.7 * boxes[at + 2] / boxes[at + 1] : 1);
      context.fillStyle = this.colors[boxes[at + 5]];
      context.fillRect(x, y + 1, width, kLaneHeight - 3);
    }
    context.globalAlpha = 1;
  }

  // A line below what is on the critical path, in the lane of what it did.
  markCritical(context, rank, place) {
    const boxes = rank.lanes.path;
    for (let at = 0; at < boxes.length; at += kBoxNumbers) {
      const start = boxes[at];
      const end = start + boxes[at + 1];
      const lane = this.lanes.indexOf(['path', 'host', 'compute', 'communication', 'memory'][boxes[at + 5]]);
      if (end < this.from || start > this.to || lane < 0) continue;
      const x = Math.max(kStripLeft, this.xOf(start));
      const width = Math.max(1, Math.min(this.width, this.xOf(end)) - x);
      const y = this.yOf(place, lane);
      if (boxes[at + 5] !== 0 && this.onlyPath) {
        context.fillStyle = this.colors[boxes[at + 5]];
        context.fillRect(x, y + 1, width, kLaneHeight - 3);
      }
      context.fillStyle = this.critical;
      context.fillRect(x, y + kLaneHeight - 4, width, 3);
    }
  }

  /** @param {CanvasRenderingContext2D} context */
  drawCrossings(context) {
    const places = new Map(this.strips.ranks.map((rank, place) => [rank.rank, place]));
    const path = Math.max(0, this.lanes.indexOf('path'));
    context.strokeStyle = this.critical;
    context.lineWidth = 1;
    context.beginPath();
    for (const [from, to, at] of this.strips.crossings) {
      if (at < this.from || at > this.to || !places.has(from) || !places.has(to)) continue;
      const x = this.xOf(at);
      context.moveTo(x, this.yOf(places.get(from), path) + kLaneHeight / 2);
      context.lineTo(x, this.yOf(places.get(to), path) + kLaneHeight / 2);
    }
    context.stroke();
  }

  /** @param {number} from @param {number} to */
  show(from, to) {
    const length = Math.max(Math.min(to - from, this.whole), Math.min(1000, this.whole));
    this.from = Math.max(0, Math.min(from, this.whole - length));
    this.to = this.from + length;
    this.tip.hidden = true;
    this.draw();
  }

  /** @param {number} factor @param {number} [center] */
  zoom(factor, center = (this.from + this.to) / 2) {
    this.show(center - (center - this.from) * factor, center + (this.to - center) * factor);
  }

  /** The box at a place. @param {number} x @param {number} y */
  boxAt(x, y) {
    const height = this.lanes.length * kLaneHeight + kRankGap;
    const place = Math.floor((y - kAxisHeight) / height);
    const lane = this.lanes[Math.floor((y - kAxisHeight - place * height) / kLaneHeight)];
    const rank = this.strips.ranks[place];
    if (rank === undefined || lane === undefined || x < kStripLeft) return null;
    const boxes = rank.lanes[lane];
    const slack = 2 * (this.to - this.from) / this.width;
    const time = this.timeAt(x);
    let best = null;
    for (let at = 0; at < boxes.length; at += kBoxNumbers) {
      if (boxes[at] - slack > time) break;
      if (boxes[at] + boxes[at + 1] + slack >= time) best = at;
    }
    return best === null ? null : {rank, lane, boxes: boxes.slice(best, best + kBoxNumbers)};
  }

  listen() {
    const {canvas} = this;
    const placeOf = (event) => {
      const box = canvas.getBoundingClientRect();
      return {x: event.clientX - box.left, y: event.clientY - box.top};
    };
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || event.pointerType === 'touch') return;
      const {x} = placeOf(event);
      this.drag = {x: Math.max(x, kStripLeft), at: Math.max(x, kStripLeft)};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      const {x, y} = placeOf(event);
      if (this.drag !== null) {
        this.drag.at = Math.max(kStripLeft, Math.min(x, this.width));
        this.draw();
        return;
      }
      this.showTip(this.boxAt(x, y), x, y);
    });
    canvas.addEventListener('pointerup', (event) => {
      const drag = this.drag;
      this.drag = null;
      if (drag === null) return;
      if (Math.abs(drag.at - drag.x) > 5) this.show(this.timeAt(Math.min(drag.x, drag.at)), this.timeAt(Math.max(drag.x, drag.at)));
      else {
        const {x, y} = placeOf(event);
        this.showTip(this.boxAt(x, y), x, y);
        this.draw();
      }
    });
    canvas.addEventListener('pointerleave', () => {
      this.tip.hidden = true;
    });
    canvas.addEventListener('dblclick', () => this.show(0, this.whole));
    canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(placeOf(event).x));
    }, {passive: false});
    canvas.addEventListener('keydown', (event) => {
      const step = (this.to - this.from) / 8;
      if (event.key === 'ArrowLeft') this.show(this.from - step, this.to - step);
      else if (event.key === 'ArrowRight') this.show(this.from + step, this.to + step);
      else if (event.key === '+' || event.key === '=' || event.key === 'w') this.zoom(0.5);
      else if (event.key === '-' || event.key === 's') this.zoom(2);
      else if (event.key === '0' || event.key === 'f') this.show(0, this.whole);
      else return;
      event.preventDefault();
    });
  }

  /** @param {{rank: StripRank, lane: string, boxes: number[]}|null} found @param {number} x @param {number} y */
  showTip(found, x, y) {
    this.tip.hidden = found === null;
    if (found === null) return;
    const [start, length, busy, nodes, name, activity] = found.boxes;
    this.tip.replaceChildren(
        element('strong', {class: 'name'}, oneLine(found.rank.names[name] ?? '', 120)),
        element('div', null, `rank ${found.rank.rank}, ${found.lane === 'path' ? `critical path (${kActivityNames[activity]})` : kLaneNames[found.lane]}`),
        element('div', null, `${timeText(length)} from ${timeText(start)}`),
        nodes > 1 ? element('div', {class: 'muted'}, `${countText(nodes)} nodes, busy ${timeText(busy)}; the longest gives the name`) : null);
    this.tip.style.left = `${Math.max(0, Math.min(x + 12, this.width - 300))}px`;
    this.tip.style.top = `${y + 16}px`;
  }
}
