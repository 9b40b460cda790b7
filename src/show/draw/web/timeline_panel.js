// The panel below the lanes: what an event is, or the sums over a range.
import {element, oneLine} from './dom.js';
import {formatAmount, formatBytes, formatCount, formatRate, formatShare, formatTime} from './format.js';
import {kLinkKinds} from './timeline_data.js';
import {linksOf} from './timeline_links.js';
import {sumRange} from './timeline_sums.js';

/** @typedef {import('./timeline_data.js').TimelineData} TimelineData */

const kMostNames = 60;
const kMostLinks = 12;
const kLinkTitles = {
  into: ['waits for', 'launched by', 'receives from', 'same collective', 'predicted by', 'critical path from'],
  out: ['lets start', 'launches', 'sends to', 'same collective', 'predicts', 'critical path to'],
};

/** A colour for a kind, beside its name. @param {string} kind */
export function kindSwatch(kind) {
  const hatched = kind === 'idle' || kind === 'bubble';
  const swatch = element('span', {class: hatched ? 'swatch hatched' : 'swatch', 'aria-hidden': 'true'});
  if (!hatched) swatch.style.background = `var(--${kind})`;
  return swatch;
}

/** @param {{unit: string, value: bigint}} figure */
function figureText(figure) {
  const value = Number(figure.value);
  const exact = figure.value.toLocaleString('en-US');
  if (figure.unit === 'B') return `${formatBytes(value)} (${exact} B)`;
  if (figure.unit === 'ns') return `${formatTime(value)} (${exact} ns)`;
  if (figure.unit !== '') return Math.abs(value) < 1000 ? `${exact} ${figure.unit}` : `${formatAmount(value, figure.unit)} (${exact})`;
  return String(figure.value);
}

export class TimelinePanel {
  /**
   * @param {TimelineData} data
   * @param {(event: number) => void} goTo
   * @param {() => void} onClose
   */
  constructor(data, goTo, onClose) {
    this.data = data;
    this.goTo = goTo;
    this.body = element('div', {class: 'panel-body', tabindex: 0});
    this.title = element('h2', {class: 'name', id: 'panel-title'});
    this.root = element('section', {class: 'panel', id: 'panel', hidden: true, 'aria-labelledby': 'panel-title'},
        element('div', {class: 'panel-head'}, this.title,
            element('button', {class: 'tool', type: 'button', id: 'close-panel', title: 'Close (Esc)', onclick: onClose}, 'Close')),
        this.body);
    this.request = 0;
  }

  hide() {
    ++this.request;
    this.root.hidden = true;
  }

  /** @param {string} title @param {...Node} content */
  fill(title, ...content) {
    this.title.textContent = oneLine(title, 400);
    this.body.replaceChildren(...content);
    this.root.hidden = false;
    this.body.scrollTop = 0;
  }

  /** @param {Array<[string, any]>} rows */
  table(rows) {
    return element('table', {class: 'facts'}, element('tbody', null,
        ...rows.map(([key, value]) => element('tr', null, element('th', {scope: 'row'}, oneLine(key, 60)), element('td', {class: 'name'}, value)))));
  }

  /** @param {number} event */
  async showEvent(event) {
    const request = ++this.request;
    const {data} = this;
    const track = data.tracks[data.trackOf(event)];
    const lane = data.lanes[track.lane];
    const kind = data.head.kinds[data.kind(event)];
    /** @type {Array<[string, any]>} */
    const rows = [
      ['kind', element('span', null, kindSwatch(kind), kind)],
      ['lane', `${oneLine(data.groups[lane.group].name, 80)} \u203a ${oneLine(lane.name, 80)}${lane.predictedOf !== null ? ' (predicted)' : ''}`],
      ['start', `${formatTime(data.starts[event])} (${formatCount(data.starts[event])} ns)`],
      ['duration', `${formatTime(data.durations[event])} (${formatCount(data.durations[event])} ns)`],
    ];
    if (data.batch(event) !== null) rows.push(['micro-batch', String(data.batch(event))]);
    if (data.chunks && data.chunks[event] > 0) rows.push(['chunk', String(data.chunks[event])]);
    const [details, numbers, links] = await Promise.all([data.detailsOf(event), data.numbersOf(event), linksOf(data)]);
    if (request !== this.request) return;
    for (const figure of numbers) {
      rows.push([figure.name, figureText(figure)]);
      const seconds = data.durations[event] / 1e9;
      if (seconds > 0 && figure.unit === 'FLOP') rows.push(['rate', formatRate(Number(figure.value) / seconds, 'FLOP/s')]);
      if (seconds > 0 && figure.unit === 'B') rows.push([figure.name + ' per second', formatRate(Number(figure.value) / seconds, 'B/s')]);
    }
    for (const [key, value] of details) rows.push([key, oneLine(value, 2000)]);
    const into = links.into(event);
    const out = links.outOf(event);
    this.fill(data.name(event), element('div', {class: 'columns'},
        this.table(rows), this.linkList(event, links, into, 'into'), this.linkList(event, links, out, 'out')));
  }

  /**
   * @param {number} event
   * @param {import('./timeline_links.js').TimelineLinks} links
   * @param {number[]} found
   * @param {'into'|'out'} direction
   */
  linkList(event, links, found, direction) {
    const {data} = this;
    const items = found.slice(0, kMostLinks).map((link) => {
      const other = direction === 'into' ? links.from[link] : links.to[link];
      const kind = links.kind[link];
      let note = formatTime(data.durations[other]);
      if (kLinkKinds[kind] === 'prediction') {
        const [measured, predicted] = direction === 'into' ? [event, other] : [other, event];
        if (data.durations[measured] > 0) {
          const error = data.durations[predicted] / data.durations[measured] - 1;
          note += `, ${error >= 0 ? '+' : '\u2212'}${formatShare(Math.abs(error))} of measured`;
        }
      }
      return element('li', null, element('span', {class: 'muted'}, kLinkTitles[direction][kind] + ' '),
          element('button', {class: 'link name', type: 'button', onclick: () => this.goTo(other)}, oneLine(data.name(other), 90)),
          element('span', {class: 'muted'}, ' ' + note));
    });
    if (found.length > kMostLinks) items.push(element('li', {class: 'muted'}, `and ${formatCount(found.length - kMostLinks)} more`));
    return element('ul', {class: 'links'}, ...items);
  }

  /** @param {number} begin @param {number} end */
  showRange(begin, end) {
    ++this.request;
    const {data} = this;
    const sums = sumRange(data, begin, end);
    const length = Math.max(end - begin, 1);
    const share = (time) => formatShare(time / length);
    const kinds = element('table', {id: 'sums-kinds'},
        element('thead', null, element('tr', null, element('th', null, 'kind'), element('th', {class: 'figure'}, 'time'),
            element('th', {class: 'figure'}, 'of range'), element('th', {class: 'figure'}, 'events'))),
        element('tbody', null, ...sums.kinds.map((one) => element('tr', {'data-kind': data.head.kinds[one.kind], 'data-ns': one.time},
            element('td', null, kindSwatch(data.head.kinds[one.kind]), data.head.kinds[one.kind]),
            element('td', {class: 'figure'}, formatTime(one.time)), element('td', {class: 'figure'}, share(one.time)),
            element('td', {class: 'figure'}, formatCount(one.count))))));
    const names = element('table', {id: 'sums-names'},
        element('thead', null, element('tr', null, element('th', null, 'name'), element('th', {class: 'figure'}, 'total'),
            element('th', {class: 'figure'}, 'self'), element('th', {class: 'figure'}, 'events'), element('th', {class: 'figure'}, 'mean'))),
        element('tbody', null, ...sums.names.slice(0, kMostNames).map((one) => element('tr', {'data-ns': one.total},
            element('td', {class: 'name'}, kindSwatch(data.head.kinds[data.labelKind[one.label]]),
                oneLine(data.texts.text(data.labelName[one.label]), 110)),
            element('td', {class: 'figure'}, formatTime(one.total)), element('td', {class: 'figure'}, formatTime(one.self)),
            element('td', {class: 'figure'}, formatCount(one.count)),
            element('td', {class: 'figure'}, formatTime(one.total / one.count))))));
    const more = sums.names.length > kMostNames ? element('p', {class: 'muted'}, `and ${formatCount(sums.names.length - kMostNames)} more names`) : null;
    this.fill(`${formatTime(end - begin)} from ${formatTime(begin)}`,
        element('p', {class: 'muted'}, `${formatCount(sums.events)} events on ${formatCount(sums.lanes)} lanes. Times are summed over lanes; ` +
            'those of kinds leave out what lies within other events.'),
        element('div', {class: 'columns'}, kinds, element('div', null, names, more)));
  }
}
