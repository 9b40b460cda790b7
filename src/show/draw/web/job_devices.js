// GPUs over time: a map with a row for each device and a column for each moment, and the curve of the row that is
// chosen.
import {element, oneLine} from './dom.js';
import {formatBytes, formatCount} from './format.js';
import {dateText, shortNumber} from './job_figures.js';
import {JobPlot} from './job_plot.js';
import {isDark, onThemeChange} from './theme.js';

const kMapNames = 132;
const kMostMapHeight = 620;

/** What can be looked at: key of the data, name, unit, range of the colours. */
const kDeviceFigures = [
  {key: 'utilisation', name: 'Use', unit: '%', range: () => [0, 100]},
  {key: 'temperature', name: 'Temperature', unit: '\u00b0C', range: (values) => [Math.min(30, values[0]), Math.max(90, values[1])]},
  {key: 'memory_mib', name: 'Memory', unit: 'MiB', range: (values, most) => [0, most || values[1]]},
  {key: 'power_watts', name: 'Power', unit: 'W', range: (values) => [0, values[1]]},
];

// Dark blue over green to yellow: even in lightness, and told apart by people who see few colours.
const kMapColors = [[62, 31, 89], [58, 82, 139], [33, 127, 141], [39, 173, 128], [139, 207, 73], [244, 225, 55]];

/** @param {number} share 0 to 1 @returns {number[]} */
function mapColor(share) {
  const at = Math.max(0, Math.min(0.99999, share)) * (kMapColors.length - 1);
  const low = Math.floor(at), part = at - low;
  return kMapColors[low].map((value, place) => Math.round(value + (kMapColors[low + 1][place] - value) * part));
}

export class DeviceMap {
  /** @param {any} grid */
  constructor(grid) {
    this.grid = grid;
    this.devices = grid.devices;
    this.figures = kDeviceFigures.filter((figure) => this.devices.some((device) => device[figure.key]?.some((value) => value !== null)));
    this.figure = this.figures[0] ?? kDeviceFigures[0];
    this.row = 0;
    this.column = 0;
    this.canvas = /** @type {HTMLCanvasElement} */ (element('canvas', {class: 'device-map', tabindex: '0', role: 'img',
      'aria-label': `Devices over time, ${formatCount(this.devices.length)} rows. Arrow keys go from device to device and from moment to moment.`,
      onmousemove: (event) => this.point(event), onclick: (event) => this.choose(event), onkeydown: (event) => this.onKey(event)}));
    this.status = element('p', {class: 'map-status', 'aria-live': 'polite'});
    this.scale = element('div', {class: 'map-scale'});
    this.curve = element('div', {class: 'map-curve'});
    this.buttons = this.figures.map((figure) => element('button', {class: 'tool', type: 'button', 'data-figure': figure.key, onclick: () => this.setFigure(figure)}, figure.name));
    this.root = element('div', {class: 'device-view'}, element('div', {class: 'plot-bar'}, ...this.buttons, this.scale),
        element('div', {class: 'map-place'}, this.canvas), this.status, this.curve);
    new ResizeObserver(() => this.draw()).observe(this.root);
    onThemeChange(() => this.draw());
    this.setFigure(this.figure);
  }

  /** @param {any} figure */
  setFigure(figure) {
    this.figure = figure;
    for (const button of this.buttons) button.setAttribute('aria-pressed', String(button.dataset.figure === figure.key));
    let least = Infinity, most = -Infinity, total = 0;
    for (const device of this.devices) {
      for (const value of device[figure.key] ?? []) {
        if (value === null) continue;
        least = Math.min(least, value);
        most = Math.max(most, value);
      }
      total = Math.max(total, (device.memory_bytes ?? 0) / 1048576);
    }
    [this.least, this.most] = figure.range([least, most], total);
    const steps = Array.from({length: 12}, (_, place) => {
      const swatch = element('span');
      swatch.style.background = `rgb(${mapColor(place / 11).join()})`;
      return swatch;
    });
    this.scale.replaceChildren(`${shortNumber(this.least)}`, element('span', {class: 'map-steps', 'aria-hidden': 'true'}, ...steps),
        `${shortNumber(this.most)}\u202f${figure.unit}`);
    this.draw();
    this.drawCurve();
    this.tell();
  }

  get rowHeight() {
    return Math.max(2, Math.min(22, Math.floor(kMostMapHeight / Math.max(1, this.devices.length))));
  }

  draw() {
    const width = this.root.clientWidth;
    if (width === 0) return;
    const {canvas, devices, grid} = this;
    const row = this.rowHeight;
    const height = devices.length * row;
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    context.scale(ratio, ratio);
    context.clearRect(0, 0, width, height);
    this.left = Math.min(kMapNames, width / 3);
    this.cell = (width - this.left) / Math.max(1, grid.columns);
    const gap = row > 6 ? 1 : 0;
    const style = getComputedStyle(canvas);
    for (let place = 0; place < devices.length; ++place) {
      const values = devices[place][this.figure.key] ?? [];
      for (let column = 0; column < grid.columns; ++column) {
        const value = values[column];
        if (value === null || value === undefined) continue;
        context.fillStyle = `rgb(${mapColor((value - this.least) / (this.most - this.least || 1)).join()})`;
        context.fillRect(this.left + column * this.cell, place * row, Math.ceil(this.cell * ratio) / ratio, row - gap);
      }
    }
    // Names of nodes, where they have room; a rule between nodes.
    context.fillStyle = style.color;
    context.font = `11px ${style.fontFamily}`;
    context.textBaseline = 'top';
    let free = 0;
    for (let place = 0; place < devices.length; ++place) {
      const device = devices[place];
      const starts = place === 0 || devices[place - 1].node !== device.node;
      const y = place * row;
      if (row >= 11) {
        context.fillText(oneLine(`${starts ? device.node : ''}`, 12), 0, y + (row - 11) / 2);
        const name = device.kind === 'gpu' ? `GPU ${device.index}` : 'CPUs';
        context.fillText(name, this.left - context.measureText(name).width - 8, y + (row - 11) / 2);
      } else if (starts && y >= free) {
        context.fillText(oneLine(device.node, 18), 0, y);
        free = y + 12;
      }
      if (starts && place > 0 && row >= 4) {
        context.fillStyle = isDark() ? 'rgba(255,255,255,0.35)' : 'rgba(0,0,0,0.35)';
        context.fillRect(0, y - 1, width, 1);
        context.fillStyle = style.color;
      }
    }
    context.strokeStyle = isDark() ? '#fff' : '#000';
    context.lineWidth = 1.5;
    context.strokeRect(this.left + 0.5, this.row * row + 0.5, width - this.left - 1, Math.max(2, row - 1));
  }

  /** @param {MouseEvent} event */
  placeOf(event) {
    const row = Math.floor(event.offsetY / this.rowHeight);
    const column = Math.floor((event.offsetX - this.left) / this.cell);
    if (row < 0 || row >= this.devices.length) return null;
    return {row, column: Math.max(0, Math.min(this.grid.columns - 1, column))};
  }

  /** @param {MouseEvent} event */
  point(event) {
    const place = this.placeOf(event);
    if (place !== null) this.tell(place.row, place.column);
  }

  /** @param {MouseEvent} event */
  choose(event) {
    const place = this.placeOf(event);
    if (place !== null) this.select(place.row, place.column);
  }

  /** @param {number} row @param {number} column */
  select(row, column) {
    const other = row !== this.row;
    this.row = row;
    this.column = column;
    if (other) {
      this.draw();
      this.drawCurve();
    }
    this.tell();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const move = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-8, 0], PageDown: [8, 0]}[event.key];
    if (move === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.select(Math.max(0, Math.min(this.devices.length - 1, this.row + move[0])), Math.max(0, Math.min(this.grid.columns - 1, this.column + move[1])));
  }

  /** @param {number} column */
  moment(column) {
    const at = this.grid.begin + column * this.grid.step;
    return this.grid.by === 'time' ? dateText(at) : `sample ${formatCount(Math.round(at))}`;
  }

  /** @param {number} [row] @param {number} [column] */
  tell(row = this.row, column = this.column) {
    const device = this.devices[row];
    if (device === undefined) return;
    const parts = this.figures.flatMap((figure) => {
      const value = device[figure.key]?.[column];
      if (value === null || value === undefined) return [`${figure.name.toLowerCase()} unknown`];
      return [`${figure.name.toLowerCase()} ${figure.key === 'memory_mib' ? formatBytes(value * 1048576) : `${shortNumber(value)}\u202f${figure.unit}`}`];
    });
    this.status.textContent = `${oneLine(device.node, 60)} ${device.kind === 'gpu' ? `GPU ${device.index}` : 'CPUs'}, ${oneLine(device.name, 60)}, ${this.moment(column)}: ${parts.join(', ')}`;
  }

  drawCurve() {
    const device = this.devices[this.row];
    if (device === undefined) return;
    const values = (device[this.figure.key] ?? []).map((value) => value ?? NaN);
    const columns = values.map((_, place) => place);
    const plot = new JobPlot({label: `${this.figure.name} of ${device.node} ${device.kind} ${device.index}`, height: 170, xName: `${oneLine(device.node, 60)} ${device.kind === 'gpu' ? `GPU ${device.index}` : 'CPUs'}: ${this.figure.name.toLowerCase()} by ${this.grid.by === 'time' ? 'time' : 'sample'}`,
      series: [{name: this.figure.name, x: columns, y: values, fill: 'compute', dots: values.length <= 80}], zero: this.figure.key !== 'temperature',
      text: (value) => this.figure.key === 'memory_mib' ? formatBytes(value * 1048576) : `${shortNumber(value)}\u202f${this.figure.unit}`,
      xText: (column) => this.grid.by === 'time' ? dateText(this.grid.begin + column * this.grid.step).slice(11) : formatCount(Math.round(this.grid.begin + column * this.grid.step)),
      tell: (column) => [this.moment(column), Number.isFinite(values[column]) ? `${shortNumber(values[column])}\u202f${this.figure.unit}` : 'unknown']});
    this.curve.replaceChildren(plot.root);
  }
}
