// A plot of figures over iterations: lines with bands from the least to the greatest, points that stand out, a cursor
// that follows mouse and arrow keys and says what stands there.
import {element} from './dom.js';
import {onThemeChange} from './theme.js';
import {axisTicks, byteUnit, svgElement} from './svg.js';

const kJobPlotLeft = 74;
const kJobPlotRight = 16;
const kJobPlotTop = 12;
const kJobPlotBottom = 40;

/**
 * @typedef {{name: string, x: number[], y: number[], least?: number[], most?: number[], fill: string, marked?: boolean[],
 *            dashed?: boolean, dots?: boolean}} PlotSeries
 * `y` may hold NaN where there is no figure: the line breaks there. `fill` is the name of a colour of the theme.
 */

export class JobPlot {
  /**
   * @param {{label: string, series: PlotSeries[], xName: string, text: (value: number) => string, height?: number,
   *          lines?: Array<{y: number, name: string, fill: string}>, zero?: boolean, bytes?: boolean, xText?: (x: number) => string,
   *          tell: (x: number) => Array<string>}} options `tell`: what stands at an iteration, a line each
   */
  constructor(options) {
    this.options = options;
    this.logarithmic = false;
    /** @type {number|null} */
    this.cursor = null;
    this.xs = [...new Set(options.series.flatMap((series) => series.x))].sort((a, b) => a - b);
    this.tip = element('div', {class: 'plot-tip', hidden: true});
    this.spoken = element('span', {class: 'visually-hidden', 'aria-live': 'polite'});
    this.holder = element('div', {class: 'job-plot', tabindex: '0', role: 'group', 'aria-label': `${options.label}. Arrow keys move from point to point.`,
      onmousemove: (event) => this.point(event), onmouseleave: () => this.setCursor(null), onblur: () => this.setCursor(null),
      onkeydown: (event) => this.onKey(event)});
    this.root = element('div', {class: 'plot-box', 'data-picture': options.label}, this.holder, this.tip, this.spoken);
    new ResizeObserver(() => this.draw()).observe(this.holder);
    onThemeChange(() => this.draw());
  }

  /** @param {boolean} on */
  setLogarithmic(on) {
    this.logarithmic = on;
    this.draw();
  }

  range() {
    let least = Infinity, most = -Infinity;
    const include = (value) => {
      if (!Number.isFinite(value) || this.logarithmic && value <= 0) return;
      least = Math.min(least, value);
      most = Math.max(most, value);
    };
    for (const series of this.options.series) {
      series.y.forEach(include);
      series.least?.forEach(include);
      series.most?.forEach(include);
    }
    for (const line of this.options.lines ?? []) include(line.y);
    if (!Number.isFinite(least)) return [0, 1];
    if (this.logarithmic) return [least / 1.05, most * 1.05];
    if (this.options.zero) least = Math.min(least, 0);
    const room = (most - least || Math.abs(most) || 1) * 0.06;
    return [this.options.zero && least === 0 ? 0 : least - room, most + room];
  }

  draw() {
    const width = this.holder.clientWidth;
    if (width === 0) return;
    const height = this.options.height ?? 260;
    const [least, most] = this.range();
    const log = this.logarithmic;
    const first = this.xs[0] ?? 0, last = this.xs[this.xs.length - 1] ?? 1;
    const left = kJobPlotLeft, right = width - kJobPlotRight, bottom = height - kJobPlotBottom;
    this.x = (value) => first === last ? (left + right) / 2 : left + (right - left) * (value - first) / (last - first);
    this.y = (value) => bottom - (bottom - kJobPlotTop) * (log ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least));
    const svg = svgElement('svg', {width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true'});
    const unit = this.options.bytes ? byteUnit(most) : 1;
    for (const tick of axisTicks(least / unit, most / unit, log).map((each) => each * unit))
      svg.append(svgElement('line', {x1: left, x2: right, y1: this.y(tick), y2: this.y(tick), class: 'grid'}),
          svgElement('text', {x: left - 8, y: this.y(tick) + 4, class: 'tick end'}, this.options.text(tick)));
    let free = -Infinity;
    for (const tick of axisTicks(first, last, false)) {
      if (!Number.isInteger(tick) || this.x(tick) < free) continue;
      free = this.x(tick) + 56;
      const text = this.options.xText?.(tick) ?? tick.toLocaleString('en-US');
      // A digit has some 7 pixels; what would not fit in the middle of its tick ends at the right edge.
      const fits = this.x(tick) + text.length * 3.5 < width;
      svg.append(svgElement('text', {x: fits ? this.x(tick) : width - 2, y: bottom + 17, class: fits ? 'tick middle' : 'tick end'}, text));
    }
    svg.append(svgElement('text', {x: (left + right) / 2, y: height - 5, class: 'axis middle'}, this.options.xName));
    for (const line of this.options.lines ?? []) {
      if (!Number.isFinite(line.y)) continue;
      svg.append(svgElement('line', {x1: left, x2: right, y1: this.y(line.y), y2: this.y(line.y), class: `level stroke-${line.fill}`}),
          svgElement('text', {x: right, y: this.y(line.y) - 5, class: 'level-name end'}, line.name));
    }
    for (const series of this.options.series) this.drawSeries(svg, series);
    this.mark = svgElement('line', {x1: -9, x2: -9, y1: kJobPlotTop, y2: bottom, class: 'cursor'});
    svg.append(this.mark);
    this.holder.replaceChildren(svg);
    this.setCursor(this.cursor);
  }

  /** @param {SVGElement} svg @param {PlotSeries} series */
  drawSeries(svg, series) {
    const shown = (value) => Number.isFinite(value) && (!this.logarithmic || value > 0);
    if (series.least && series.most) {
      const upper = [], lower = [];
      series.x.forEach((x, place) => {
        if (!shown(series.least[place]) || !shown(series.most[place])) return;
        upper.push(`${this.x(x).toFixed(1)},${this.y(series.most[place]).toFixed(1)}`);
        lower.unshift(`${this.x(x).toFixed(1)},${this.y(series.least[place]).toFixed(1)}`);
      });
      if (upper.length > 0) svg.append(svgElement('polygon', {points: [...upper, ...lower].join(' '), class: `band fill-${series.fill}`}));
    }
    let path = '', drawing = false;
    series.x.forEach((x, place) => {
      if (!shown(series.y[place])) {
        drawing = false;
        return;
      }
      path += `${drawing ? 'L' : 'M'}${this.x(x).toFixed(1)} ${this.y(series.y[place]).toFixed(1)}`;
      drawing = true;
    });
    svg.append(svgElement('path', {d: path, class: `curve stroke-${series.fill}${series.dashed ? ' dashed' : ''}`}));
    const dots = svgElement('g', {class: `dots fill-${series.fill}`});
    series.x.forEach((x, place) => {
      if (!shown(series.y[place])) return;
      const marked = series.marked?.[place] ?? false;
      if (!marked && !(series.dots ?? series.x.length <= 120)) return;
      dots.append(svgElement('circle', {cx: this.x(x).toFixed(1), cy: this.y(series.y[place]).toFixed(1), r: marked ? 5 : 2.6, class: marked ? 'marked' : null}));
    });
    svg.append(dots);
  }

  /** @param {MouseEvent} event */
  point(event) {
    if (!this.x || this.xs.length === 0) return;
    const at = event.clientX - this.holder.getBoundingClientRect().left;
    let best = this.xs[0];
    for (const x of this.xs) if (Math.abs(this.x(x) - at) < Math.abs(this.x(best) - at)) best = x;
    this.setCursor(best);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10}[event.key];
    const at = this.cursor === null ? -1 : this.xs.indexOf(this.cursor);
    if (by !== undefined) this.setCursor(this.xs[Math.max(0, Math.min(this.xs.length - 1, at + by))] ?? null, true);
    else if (event.key === 'Home') this.setCursor(this.xs[0] ?? null, true);
    else if (event.key === 'End') this.setCursor(this.xs[this.xs.length - 1] ?? null, true);
    else if (event.key === 'Escape' && this.cursor !== null) this.setCursor(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number|null} x @param {boolean} [speak] */
  setCursor(x, speak = false) {
    this.cursor = x;
    this.tip.hidden = x === null;
    if (!this.mark) return;
    const place = x === null ? -9 : this.x(x);
    this.mark.setAttribute('x1', String(place));
    this.mark.setAttribute('x2', String(place));
    if (x === null) return;
    const lines = this.options.tell(x);
    this.tip.replaceChildren(...lines.map((line, row) => element('div', {class: row === 0 ? 'plot-tip-head' : null}, line)));
    const width = this.tip.offsetWidth;
    this.tip.style.left = `${place + 14 + width > this.holder.clientWidth ? Math.max(0, place - 14 - width) : place + 14}px`;
    if (speak) this.spoken.textContent = lines.join(', ');
  }
}
