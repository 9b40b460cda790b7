// A timeline with its tools, lanes, strip of the whole and panel, in whatever page: puts the parts together.
import {element, oneLine} from './dom.js';
import {formatCount, formatTime} from './format.js';
import {copyLinkButton, link, linkedNumber, linkedState} from './page_link.js';
import {fileName, pngOf, saveFile, svgText} from './save_file.js';
import {helpDialog} from './shell.js';
import {onThemeChange, toggleTheme} from './theme.js';
import {TimelineChart} from './timeline_chart.js';
import {ErrorScatter, errorColors, predictedPairs} from './timeline_errors.js';
import {loadFlows} from './timeline_flows.js';
import {listenToGestures} from './timeline_gestures.js';
import {kTimelineKeys, listenToKeys} from './timeline_keys.js';
import {TimelineLabels} from './timeline_labels.js';
import {TimelineLayout} from './timeline_layout.js';
import {TimelineMinimap} from './timeline_minimap.js';
import {TimelinePalette, pixelColor} from './timeline_palette.js';
import {TimelinePanel, kindSwatch} from './timeline_panel.js';
import {timelinePicture} from './timeline_picture.js';
import {TimelineSearch} from './timeline_search.js';
import {TimelineSplitter} from './timeline_splitter.js';
import {listenToWalking} from './timeline_walk.js';

/** @typedef {import('./timeline_data.js').TimelineData} TimelineData */

export class TimelineFrame {
  /**
   * @param {TimelineData} data
   * @param {{tools: HTMLElement, main: HTMLElement, keysWithin?: HTMLElement}} places where buttons and lanes go; with
   *     `keysWithin`, keys are the timeline's only while the focus is within that element
   */
  constructor(data, places) {
    this.data = data;
    this.keysWithin = places.keysWithin ?? null;
    this.buildTools(places.tools);
    this.buildMain(places.main);
    this.palette = new TimelinePalette(data);
    this.layout = new TimelineLayout(data);
    this.chart = new TimelineChart(this.canvas, data, this.layout, this.palette);
    this.chart.sharesWheel = this.keysWithin !== null;
    this.labels = new TimelineLabels(this.labelRoot, this.chart);
    this.minimap = new TimelineMinimap(this.mapCanvas, this.chart);
    this.minimap.resize();
    this.labels.update();
    this.pointerX = null;
    this.listen();
    this.followLink();
  }

  /** The width of the column of names. */
  get labelWidth() {
    return this.labelColumn.offsetWidth;
  }

  /** @param {HTMLElement} tools */
  buildTools(tools) {
    const {data} = this;
    this.searchField = /** @type {HTMLInputElement} */ (element('input', {type: 'search', id: 'search', placeholder: 'Search names ( / )',
      'aria-label': 'Search in names of events', autocomplete: 'off', spellcheck: 'false'}));
    this.searchResult = element('output', {id: 'search-result', 'aria-live': 'polite'});
    const tool = (id, text, title, action) => element('button', {class: 'tool', type: 'button', id, title, onclick: action}, text);
    this.flowButton = data.head.links > 0 ? tool('flows', 'Flows', 'Lines of messages and collectives (L)', () => this.toggleFlows()) : null;
    this.criticalButton = tool('critical', 'Critical path', 'Critical path (P)', () => this.toggleCritical());
    this.criticalButton.hidden = true;
    this.errorButton = data.lanes.some((lane) => lane.predictedOf !== null) ?
        tool('errors', 'Errors', 'Predicted against measured, and lanes coloured by it (E)', () => this.toggleErrors()) : null;
    tools.append(element('div', {class: 'timeline-search', role: 'search'}, this.searchField, this.searchResult),
        tool('fit', 'Fit', 'Show all of it (F)', () => this.chart.fit()));
    if (this.flowButton) tools.append(this.flowButton);
    if (this.errorButton) tools.append(this.errorButton);
    const save = (id, text, title, make) => tool(id, text, title, async () => saveFile(...await make()));
    tools.append(this.criticalButton, copyLinkButton(),
        save('save-png', 'PNG', 'Save what is shown as a picture (PNG)', async () => [fileName(this.title, 'png'), await pngOf(this.picture(), 'white')]),
        save('save-svg', 'SVG', 'Save what is shown as a picture (SVG)', () => [fileName(this.title, 'svg'),
          new Blob([svgText(this.picture())], {type: 'image/svg+xml'})]),
        tool('help-button', 'Keys', 'What the keys do (?)', () => this.help.showModal()));
    this.help = helpDialog(kTimelineKeys, this.keysWithin === null ? 'help' : 'help-timeline');
  }

  /** @param {HTMLElement} main */
  buildMain(main) {
    const {data} = this;
    const used = new Set(data.labelKind);
    const legend = element('div', {class: 'legend', 'aria-label': 'Colours'}, ...data.head.kinds.flatMap((kind, number) =>
      used.has(number) ? [element('span', null, kindSwatch(kind), kind)] : []));
    this.mapCanvas = /** @type {HTMLCanvasElement} */ (element('canvas', {id: 'minimap', role: 'img', 'aria-label': 'The whole timeline'}));
    const summary = `Timeline of ${formatCount(data.count)} events on ${formatCount(data.lanes.length)} lanes over ${formatTime(data.head.span)}. ` +
        'Arrow keys walk from event to event, ? lists all keys.';
    this.canvas = /** @type {HTMLCanvasElement} */ (element('canvas', {id: 'chart', tabindex: 0, role: 'img', 'aria-label': summary}));
    this.labelRoot = element('div', {class: 'lane-labels-inner'});
    this.tip = element('div', {class: 'tip', hidden: true, role: 'tooltip'});
    this.status = element('div', {class: 'status', id: 'status'});
    this.spoken = element('div', {class: 'visually-hidden', id: 'spoken', 'aria-live': 'polite'});
    this.canvasBox = element('div', {class: 'canvas-box'}, this.canvas);
    this.labelColumn = element('nav', {class: 'lane-labels', 'aria-label': 'Lanes'}, element('div', {class: 'lane-labels-clip'}, this.labelRoot));
    this.splitter = new TimelineSplitter(main, data);
    this.panel = new TimelinePanel(data, (event) => {
      this.select(event);
      this.chart.goTo(event, false);
    }, () => this.clear());
    main.append(element('div', {class: 'strip'}, legend, this.mapCanvas),
        element('div', {class: 'lanes'},
            this.labelColumn, this.splitter.root, this.canvasBox, this.tip, this.status),
        this.panel.root, this.spoken);
    if (data.head.notes.length > 0) {
      main.append(element('details', {class: 'notes'}, element('summary', null, `Notes (${data.head.notes.length})`),
          element('ul', null, ...data.head.notes.map((note) => element('li', null, oneLine(note, 1000))))));
    }
  }

  listen() {
    const {chart} = this;
    listenToGestures(chart, {
      onSelect: (event) => this.select(event),
      onHover: (event, x, y) => this.hover(event, x, y),
      onRange: (range, done) => this.mark(range, done),
    });
    this.canvas.addEventListener('pointermove', (event) => this.pointerX = event.offsetX);
    this.canvas.addEventListener('pointerleave', () => this.pointerX = null);
    listenToKeys(chart, {
      'f': () => this.fit(),
      '/': () => {
        this.searchField.focus();
        this.searchField.select();
      },
      'n': () => this.goToMatch(true),
      'N': () => this.goToMatch(false),
      'l': () => this.toggleFlows(),
      'p': () => this.toggleCritical(),
      'e': () => this.toggleErrors(),
      't': toggleTheme,
      'm': () => this.markSelected(),
      'c': () => {
        this.layout.toggleAll();
        chart.setScroll(chart.scroll);
      },
      '?': () => this.help.showModal(),
      'Enter': () => {
        if (chart.selected !== null) chart.goTo(chart.selected, true);
      },
      'Escape': () => this.clear(),
      ...listenToWalking(chart, (event) => {
        this.select(event);
        chart.goTo(event, false);
      }),
    }, () => this.pointerX ?? chart.width / 2, this.keysWithin);
    this.searchField.addEventListener('input', () => this.find(this.searchField.value));
    this.searchField.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') {
        this.goToMatch(!event.shiftKey);
        this.canvas.focus();
      }
    });
    onThemeChange(() => this.recolor());
    new ResizeObserver(() => {
      if (this.printed || this.canvas.clientWidth === 0) return;  // on paper
      chart.resize();
      this.minimap.resize();
    }).observe(this.canvasBox);
    // Paper gets the picture of what the screen shows: a canvas has another size there than what is drawn on it.
    addEventListener('beforeprint', () => {
      this.printed = timelinePicture(this, '');  // the page's own title stands above
      this.canvasBox.closest('.lanes').after(this.printed);
    });
    addEventListener('afterprint', () => {
      this.printed?.remove();
      this.printed = null;
    });
  }

  get title() {
    return document.title;
  }

  picture() {
    return timelinePicture(this, this.title);
  }

  /** Shows what the address says, and keeps it up to date from then on. */
  followLink() {
    const {chart, data} = this;
    const [begin, end, scroll, event] = ['begin', 'end', 'scroll', 'event'].map(linkedNumber);
    const search = linkedState().get('search');
    if (search) {
      this.searchField.value = search;
      this.find(search);
    }
    if (begin !== null && end !== null && end > begin) chart.show(begin, end);
    if (scroll !== null) chart.setScroll(scroll);
    if (linkedNumber('errors') === 1) this.toggleErrors();
    if (event !== null && Number.isInteger(event) && event >= 0 && event < data.count) this.select(event);
    chart.listeners.push(() => link({begin: Math.round(chart.begin), end: Math.round(chart.end), scroll: Math.round(chart.scroll) || null}));
  }

  recolor() {
    this.palette.update();
    if (this.pairs && this.palette.painted) this.palette.paint(errorColors(this.data, this.pairs));
    if (this.chart.search) this.applySearch(this.chart.search);
    this.minimap.resize();
    this.chart.redraw();
  }

  fit() {
    if (this.chart.selected !== null && !this.fitted) {
      this.chart.goTo(this.chart.selected, true);
      this.fitted = true;
    } else {
      this.chart.fit();
      this.fitted = false;
    }
  }

  // Selection.

  /** @param {number|null} event */
  async select(event) {
    const {chart, data} = this;
    chart.selected = event;
    link({event});
    chart.arrows = [];
    chart.range = null;
    this.fitted = false;
    chart.redraw();
    if (event === null) {
      this.panel.hide();
      return;
    }
    const track = data.tracks[data.trackOf(event)];
    this.spoken.textContent = `${oneLine(data.name(event), 200)}, ${data.head.kinds[data.kind(event)]}, on ${oneLine(data.lanes[track.lane].name, 80)}, ` +
        `starts at ${formatTime(data.starts[event])}, takes ${formatTime(data.durations[event])}`;
    await this.panel.showEvent(event);
    if (data.head.links === 0) return;
    await this.loadFlows();
    if (chart.selected === event) {
      chart.arrows = chart.flows.arrowsOf(event);
      chart.redraw();
    }
  }

  /** @param {number|null} event @param {number} x @param {number} y */
  hover(event, x, y) {
    const {chart, data, tip} = this;
    if (event !== chart.hovered) {
      chart.hovered = event;
      chart.redraw();
      if (event !== null) {
        tip.replaceChildren(element('div', {class: 'name'}, oneLine(data.name(event), 240)),
            element('div', {class: 'muted'}, `${formatTime(data.durations[event])}${data.batch(event) !== null ? `, micro-batch ${data.batch(event)}` : ''}`));
      }
    }
    tip.hidden = event === null;
    if (event === null) return;
    const left = this.canvasBox.offsetLeft + x + 14;
    tip.style.left = `${Math.min(left, this.canvasBox.offsetLeft + chart.width - Math.min(tip.offsetWidth, 460) - 4)}px`;
    tip.style.top = `${y + 16 + tip.offsetHeight > chart.height ? y - tip.offsetHeight - 8 : y + 16}px`;
  }

  /** @param {{begin: number, end: number}|null} range @param {boolean} done */
  mark(range, done) {
    const {chart} = this;
    chart.range = range;
    if (range) {
      chart.selected = null;
      chart.arrows = [];
    }
    chart.redraw();
    if (!done) {
      this.status.textContent = formatTime(range.end - range.begin);
      return;
    }
    this.status.textContent = '';
    if (range) this.panel.showRange(range.begin, range.end);
    else this.panel.hide();
  }

  markSelected() {
    const {chart, data} = this;
    if (chart.selected !== null) this.mark({begin: data.starts[chart.selected], end: data.end(chart.selected)}, true);
    else this.mark({begin: Math.max(chart.begin, 0), end: Math.min(chart.end, data.span)}, true);
  }

  /** Closes what is open, one thing at a time. */
  clear() {
    if (document.activeElement === this.searchField) this.searchField.blur();
    if (this.chart.range || this.chart.selected !== null || !this.panel.root.hidden) {
      this.mark(null, true);
      this.select(null);
    } else if (this.chart.search) {
      this.searchField.value = '';
      this.find('');
    }
  }

  // Search.

  /** @param {string} text */
  find(text) {
    const wanted = text.trim();
    link({search: wanted === '' ? null : wanted});
    if (wanted === '') {
      this.chart.search = null;
      this.palette.dim(null);
      this.searchResult.textContent = '';
    } else {
      this.applySearch(new TimelineSearch(this.data, wanted));
      this.searchResult.textContent = this.chart.search.count === 0 ? 'no match' : `${formatCount(this.chart.search.count)} found`;
    }
    this.minimap.resize();
    this.chart.redraw();
  }

  /** @param {TimelineSearch} search */
  applySearch(search) {
    this.chart.search = search;
    this.palette.dim(search.labels);
    search.paintWith(pixelColor(this.palette.highlight));
  }

  /** @param {boolean} forward */
  goToMatch(forward) {
    const {chart} = this;
    if (!chart.search) return;
    const match = chart.search.next(chart.selected, forward ? chart.begin : chart.end, forward);
    if (match === null) return;
    this.select(match);
    chart.goTo(match, false);
  }

  // Lines.

  async loadFlows() {
    if (!this.chart.flows) {
      this.chart.flows = await loadFlows(this.data);
      const {flows} = this.chart;
      this.flowButton.setAttribute('aria-pressed', String(flows.showFlows));
      this.flowButton.hidden = flows.flows.length === 0;
      this.criticalButton.hidden = flows.critical.length === 0;
      this.chart.redraw();
    }
    return this.chart.flows;
  }

  async toggleFlows() {
    if (this.data.head.links === 0) return;
    const flows = await this.loadFlows();
    flows.showFlows = !flows.showFlows;
    this.flowButton.setAttribute('aria-pressed', String(flows.showFlows));
    this.chart.redraw();
  }

  /** Colours lanes by the errors of their predictions, and shows these as a picture. */
  async toggleErrors() {
    if (this.errorButton === null) return;
    const {palette, chart, data} = this;
    const on = palette.painted === null;
    this.errorButton.setAttribute('aria-pressed', String(on));
    if (on) {
      this.pairs ??= await predictedPairs(data);
      palette.paint(errorColors(data, this.pairs));
      chart.selected = null;
      this.panel.fill('Predicted against measured', new ErrorScatter(data, this.pairs, (event) => {
        chart.selected = event;
        chart.goTo(event, true);
      }).root);
    } else {
      palette.paint(null);
      this.panel.hide();
    }
    link({errors: on ? 1 : null});
    this.minimap.resize();
    chart.redraw();
  }

  async toggleCritical() {
    if (this.data.head.links === 0) return;
    const flows = await this.loadFlows();
    flows.showCritical = !flows.showCritical;
    this.criticalButton.setAttribute('aria-pressed', String(flows.showCritical));
    this.chart.redraw();
  }
}
