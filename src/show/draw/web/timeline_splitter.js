// The edge between the column of names and the lanes, which the reader moves. At first the column is as wide as its names need,
// within a third of the window.
import {element, oneLine} from './dom.js';

const kLeast = 90;
const kUsual = 220;
const kStep = 24;

export class TimelineSplitter {
  /** @param {HTMLElement} main @param {import('./timeline_data.js').TimelineData} data */
  constructor(main, data) {
    this.main = main;
    this.root = element('div', {'class': 'splitter', 'role': 'separator', 'tabindex': 0, 'aria-orientation': 'vertical',
      'aria-label': 'Width of the column of names', 'aria-valuemin': kLeast, 'title': 'Drag, or arrow keys: width of the names'});
    this.set(Math.min(Math.max(this.widest(data), kUsual), Math.max(innerWidth / 3, kLeast)));
    this.root.addEventListener('pointerdown', (event) => {
      this.root.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    this.root.addEventListener('pointermove', (event) => {
      if (event.buttons & 1) this.set(event.clientX - this.main.getBoundingClientRect().left);
    });
    this.root.addEventListener('keydown', (event) => {
      const way = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
      if (way === 0) return;
      event.preventDefault();
      event.stopPropagation();
      this.set(this.width + way * kStep);
    });
  }

  /** @param {import('./timeline_data.js').TimelineData} data */
  widest(data) {
    const context = /** @type {CanvasRenderingContext2D} */ (new OffscreenCanvas(1, 1).getContext('2d'));
    const width = (text) => context.measureText(oneLine(text, 80)).width;
    context.font = '650 12px system-ui, sans-serif';
    let most = 0;
    for (const group of data.groups.slice(0, 500)) most = Math.max(most, 44 + width(group.note ? `${group.name}  ${group.note}` : group.name));
    context.font = '12px system-ui, sans-serif';
    for (const lane of data.lanes.slice(0, 500)) most = Math.max(most, 44 + width(lane.note ? `${lane.name}  ${lane.note}` : lane.name));
    return Math.ceil(most);
  }

  /** @param {number} width */
  set(width) {
    const most = Math.max(this.main.clientWidth || innerWidth, 2 * kLeast) - kLeast;
    this.width = Math.round(Math.min(Math.max(width, kLeast), most));
    this.root.setAttribute('aria-valuenow', String(this.width));
    this.root.setAttribute('aria-valuemax', String(most));
    this.main.style.setProperty('--label-width', `${this.width}px`);
  }
}
