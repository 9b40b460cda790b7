// The page of a graph: boxes that open and close, pan, zoom, search, details.
import {element} from './dom.js';
import {formatCount} from './format.js';
import {GraphCanvas} from './graph_canvas.js';
import {readGraphData} from './graph_data.js';
import {foundList, graphDetails, searchGraph} from './graph_details.js';
import {GraphScene} from './graph_scene.js';
import {pageHead} from './page_data.js';
import {copyLinkButton, link, linkedNumber, linkedState} from './page_link.js';
import {fileName, pngOf, saveFile, svgText} from './save_file.js';
import {helpDialog, isTyping, openShell, showFailure} from './shell.js';
import {svgElement} from './svg.js';
import {onThemeChange, toggleTheme} from './theme.js';

const kGraphKeys = [['W A S D', 'move; the arrow keys do, too'], ['+ -', 'zoom in and out; so do the wheel and two fingers'],
                    ['F', 'everything in the window'], ['E', 'open or close the selected box; a double click does, too'],
                    ['C', 'close all boxes'], ['/', 'search; Enter goes to the next'], ['N', 'next that was found'],
                    ['T', 'light or dark'], ['Esc', 'select nothing'], ['?', 'this help']];

class GraphPage {
  /** @param {any} head @param {import('./graph_data.js').GraphData} data */
  constructor(head, data) {
    this.data = data;
    this.scene = new GraphScene(data, head.ranks);
    const {tools, main} = openShell(head);
    this.search = /** @type {HTMLInputElement} */ (element('input', {type: 'search', id: 'search', placeholder: 'Search (/)',
        'aria-label': 'Search for names', oninput: () => this.find(), onkeydown: (event) => this.searchKey(event)}));
    this.help = helpDialog(kGraphKeys);
    const button = (id, text, title, act) => element('button', {class: 'tool', type: 'button', id, title, onclick: act}, text);
    tools.append(legend(), this.search, button('fit', 'Fit', 'Everything in the window (F)', () => this.view.fitAll()),
        button('close', 'Close boxes', 'Close all boxes (C)', () => this.closeAll()),
        copyLinkButton(),
        button('save-png', 'PNG', 'Save what is shown as a picture (PNG)', async () => saveFile(fileName(document.title, 'png'), await pngOf(this.picture(), 'white'))),
        button('save-svg', 'SVG', 'Save what is shown as a picture (SVG)',
            () => saveFile(fileName(document.title, 'svg'), new Blob([svgText(this.picture())], {type: 'image/svg+xml'}))),
        button('keys', 'Keys', 'Keys (?)', () => this.help.showModal()));
    const canvas = /** @type {HTMLCanvasElement} */ (element('canvas', {id: 'graph', tabindex: '0', role: 'img',
        'aria-label': 'The graph; keys are listed with ?'}));
    this.panel = element('aside', {id: 'details', 'aria-live': 'polite', hidden: true});
    main.classList.add('graph-main');
    main.append(canvas, this.panel);
    this.view = new GraphCanvas(canvas, this.scene);
    this.found = [];
    this.foundAt = -1;
    this.listen(canvas);
    new ResizeObserver(() => this.view.resize()).observe(canvas);
    onThemeChange(() => {
      this.view.readColors();
      this.view.redraw();
    });
    addEventListener('beforeprint', () => {
      this.printed = this.picture();
      this.printed.classList.add('graph-picture');
      canvas.after(this.printed);
    });
    addEventListener('afterprint', () => this.printed?.remove());
    this.view.resize();
    this.view.fit();
    this.tell();
    this.followLink();
  }

  /** Shows what the address says, and keeps it up to date from then on. */
  followLink() {
    const given = linkedState();
    const boxes = (given.get('open') ?? '').split('.').filter((each) => each !== '').map(Number);
    if (boxes.length > 0 && boxes.every((box) => Number.isInteger(box) && box >= 0 && box < this.data.boxCount)) this.scene.openOnly(boxes);
    const search = given.get('search');
    if (search) {
      this.search.value = search;
      this.find();
    }
    const item = linkedNumber('item');
    if (item !== null && this.scene.places.has(item)) this.select(item);
    const [left, top, scale] = ['left', 'top', 'scale'].map(linkedNumber);
    if (left !== null && top !== null && scale !== null && scale > 0) Object.assign(this.view, {left, top, scale});
    this.view.redraw();
    this.tell();
    this.view.onDraw = () => {
      clearTimeout(this.linking);
      this.linking = setTimeout(() => this.keepLink(), 200);
    };
  }

  keepLink() {
    const {view, scene} = this;
    const open = scene.openBoxes();
    link({left: Math.round(view.left), top: Math.round(view.top), scale: Number(view.scale.toPrecision(3)),
      item: view.selected < 0 ? null : view.selected, search: this.search.value.trim() || null, open: open.length > 400 ? null : open.join('.')});
  }

  /** What is in sight as a picture: its pixels, since a graph may have a hundred thousand items. */
  picture() {
    const {canvas} = this.view;
    this.view.draw();
    const {clientWidth: width, clientHeight: height} = canvas;
    return svgElement('svg', {xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${width} ${height}`},
        svgElement('image', {width, height, href: canvas.toDataURL('image/png')}));
  }

  /** State for those who look from outside: tests. */
  tell() {
    const {dataset} = this.view.canvas;
    dataset.items = String(this.scene.items.length);
    dataset.edges = String(this.scene.edges.length);
    dataset.selected = this.view.selected < 0 ? '' : String(this.view.selected);
    dataset.found = String(this.found.length);
  }

  /** @param {HTMLCanvasElement} canvas */
  listen(canvas) {
    /** @type {Map<number, {x: number, y: number}>} */
    const down = new Map();
    let moved = 0;
    const place = (event) => {
      const edge = canvas.getBoundingClientRect();
      return {x: event.clientX - edge.left, y: event.clientY - edge.top};
    };
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      down.set(event.pointerId, place(event));
      moved = 0;
    });
    canvas.addEventListener('pointermove', (event) => {
      const before = down.get(event.pointerId);
      if (!before) return;
      const now = place(event);
      moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      if (down.size === 1) {
        this.view.pan(before.x - now.x, before.y - now.y);
      } else {
        const other = [...down].find(([id]) => id !== event.pointerId)[1];
        const length = (a) => Math.hypot(a.x - other.x, a.y - other.y);
        this.view.zoom(length(now) / Math.max(1, length(before)), (now.x + other.x) / 2, (now.y + other.y) / 2);
      }
      down.set(event.pointerId, now);
    });
    const up = (event) => {
      const one = down.size === 1;
      down.delete(event.pointerId);
      if (event.type === 'pointerup' && one && moved < 5) this.click(place(event));
    };
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
    canvas.addEventListener('dblclick', (event) => {
      const {x, y} = place(event);
      const item = this.scene.itemAt(...this.view.toScene(x, y));
      if (item >= 0 && this.scene.isBox(item)) this.toggle(item);
    });
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      const {x, y} = place(event);
      this.view.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0018)), x, y);
    }, {passive: false});
    document.addEventListener('keydown', (event) => this.key(event));
  }

  click({x, y}) {
    this.select(this.scene.itemAt(...this.view.toScene(x, y)));
  }

  select(item) {
    this.view.selected = item;
    this.panel.hidden = item < 0;
    if (item >= 0) this.panel.replaceChildren(...graphDetails(this.scene, item, (node) => this.goTo(node)));
    this.view.redraw();
    this.tell();
  }

  /** Opens or closes a box, which stays where it is in the window. */
  toggle(box) {
    const before = this.view.onCanvas(box);
    this.scene.toggle(box);
    this.markFound();
    const after = this.view.onCanvas(box);
    if (before && after) this.view.pan(after.x - before.x, after.y - before.y);
    this.select(box);
  }

  closeAll() {
    this.scene.closeAll();
    this.markFound();
    this.view.selected = -1;
    this.view.fit();
    this.select(-1);
  }

  goTo(node) {
    this.scene.reveal(node);
    this.markFound();
    this.select(this.data.boxCount + node);
    this.view.covered = this.panel.offsetWidth < this.view.canvas.clientWidth / 2 ? this.panel.offsetWidth : 0;
    this.view.center(this.data.boxCount + node);
  }

  markFound() {
    if (this.search.value.trim() === '') {
      this.view.mark(null);
      return;
    }
    /** @type {Map<number, number>} */
    const marks = new Map();
    for (const node of this.found) {
      const item = this.scene.shownFor(node);
      marks.set(item, (marks.get(item) ?? 0) + 1);
    }
    this.view.mark(marks);
  }

  find() {
    const wanted = this.search.value.trim();
    this.found = wanted === '' ? [] : searchGraph(this.data, wanted);
    this.foundAt = -1;
    this.view.current = -1;
    this.markFound();
    this.panel.hidden = wanted === '';
    if (wanted !== '') this.panel.replaceChildren(...foundList(this.data, this.found, (node) => this.goTo(node)));
    this.view.redraw();
    this.tell();
  }

  nextFound() {
    if (this.found.length === 0) return;
    this.foundAt = (this.foundAt + 1) % this.found.length;
    this.goTo(this.found[this.foundAt]);
    this.panel.prepend(element('p', {class: 'muted'}, `${formatCount(this.foundAt + 1)} of ${formatCount(this.found.length)} found`));
    this.view.current = this.scene.shownFor(this.found[this.foundAt]);
  }

  /** @param {KeyboardEvent} event */
  searchKey(event) {
    if (event.key === 'Enter') this.nextFound();
    if (event.key === 'Escape') {
      this.search.value = '';
      this.find();
      this.view.canvas.focus();
    }
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (isTyping(event) || this.help.open || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = 80;
    const acts = {
      'w': () => this.view.pan(0, -step), 'ArrowUp': () => this.view.pan(0, -step),
      's': () => this.view.pan(0, step), 'ArrowDown': () => this.view.pan(0, step),
      'a': () => this.view.pan(-step, 0), 'ArrowLeft': () => this.view.pan(-step, 0),
      'd': () => this.view.pan(step, 0), 'ArrowRight': () => this.view.pan(step, 0),
      '+': () => this.view.zoom(1.25), '=': () => this.view.zoom(1.25), '-': () => this.view.zoom(0.8),
      'f': () => this.view.fitAll(), 'c': () => this.closeAll(), 'n': () => this.nextFound(), 't': toggleTheme,
      'e': () => this.toggleSelected(), 'Enter': () => this.toggleSelected(), 'Escape': () => this.select(-1),
      '/': () => this.search.focus(), '?': () => this.help.showModal(),
    };
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act || (event.key === 'Enter' && document.activeElement !== this.view.canvas)) return;
    event.preventDefault();
    act();
  }

  toggleSelected() {
    const item = this.view.selected;
    if (item < 0) return;
    const box = this.scene.isBox(item) ? item : this.scene.parentOf(item);
    if (box >= 0) this.toggle(box);
  }
}

function legend() {
  const entry = (kind) => element('span', null, element('span', {class: 'swatch kind-' + kind}), kind + ' ');
  return element('span', {class: 'legend'}, entry('tensor'), entry('operation'), entry('communication'));
}

async function openGraph() {
  const head = pageHead();
  const page = new GraphPage(head, await readGraphData());
  // Tests ask where things are.
  Object.assign(globalThis, {nadiGraph: page});
  requestAnimationFrame(() => requestAnimationFrame(() => {
    document.documentElement.dataset.ready = 'true';
  }));
}

openGraph().catch(showFailure);
