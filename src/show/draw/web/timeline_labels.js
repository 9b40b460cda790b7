// The column of names to the left of the lanes: as many elements as can be seen.
import {element, oneLine} from './dom.js';
import {kRulerHeight} from './timeline_chart.js';

/** @typedef {import('./timeline_chart.js').TimelineChart} TimelineChart */

export class TimelineLabels {
  /** @param {HTMLElement} root @param {TimelineChart} chart */
  constructor(root, chart) {
    this.root = root;
    this.chart = chart;
    this.shown = '';
    chart.listeners.push(() => this.update());
    root.addEventListener('wheel', (event) => {
      event.preventDefault();
      chart.setScroll(chart.scroll + event.deltaY);
    }, {passive: false});
  }

  /** Shows what is in sight; nothing is done when that has not changed. */
  update() {
    const {chart, root} = this;
    const {layout} = chart;
    const room = chart.height - kRulerHeight;
    const visible = layout.labels.filter((label) => label.y + label.height > chart.scroll && label.y < chart.scroll + room);
    const shown = `${chart.scroll} ${room} ${visible.map((label) => `${label.kind}.${label.lane}.${label.group}.${label.y}.${label.height}.${label.open}`).join()}`;
    if (shown === this.shown) return;
    this.shown = shown;
    const focused = document.activeElement?.closest?.('.lane-label')?.getAttribute('data-key');
    root.replaceChildren(...visible.map((label) => this.make(label)));
    if (focused) /** @type {HTMLElement|null} */ (root.querySelector(`[data-key="${focused}"]`))?.focus();
  }

  /** @param {import('./timeline_layout.js').Label} label */
  make(label) {
    const {chart} = this;
    const name = oneLine(label.name, 80);
    const note = label.note && label.kind !== 'alike' ? element('span', {class: 'note'}, oneLine(label.note, 60)) : null;
    const both = label.predicted ? element('span', {class: 'note'}, 'measured / predicted') : null;
    const texts = [element('span', {class: 'label-name'}, name), note, both];
    const key = label.kind === 'lane' ? `lane-${label.lane}` : `${label.kind}-${label.group}`;
    const about = {class: `lane-label ${label.kind}`, 'data-key': key, title: label.note ? `${name}: ${label.note}` : name};
    let made;
    if (label.open === null) {
      made = element('div', about, ...texts);
    } else {
      made = element('button', {...about, type: 'button', 'aria-expanded': String(label.open), onclick: () => {
        if (label.kind === 'alike') chart.layout.toggleAlike(label.group);
        else if (label.kind === 'group') chart.layout.toggleGroup(label.group);
        else chart.layout.toggleLane(label.lane);
        chart.setScroll(chart.scroll);
      }}, element('span', {class: 'twist', 'aria-hidden': 'true'}, label.open ? '\u25be' : '\u25b8'), ...texts);
    }
    made.style.top = `${label.y + kRulerHeight - chart.scroll}px`;
    made.style.height = `${label.height}px`;
    if (label.kind === 'lane' && label.height < 36) made.style.lineHeight = `${label.height - 2}px`;
    return made;
  }
}
