// Mouse, wheel and touch on the lanes.
import {kRulerHeight} from './timeline_chart.js';

/** @typedef {import('./timeline_chart.js').TimelineChart} TimelineChart */

const kClickSlack = 4;

/**
 * @typedef {{onSelect: (event: number|null) => void, onHover: (event: number|null, x: number, y: number) => void,
 *            onRange: (range: {begin: number, end: number}|null, done: boolean) => void}} GestureActions
 */

/**
 * @param {TimelineChart} chart
 * @param {GestureActions} actions
 */
export function listenToGestures(chart, actions) {
  const {canvas} = chart;
  /** Fingers and buttons that are down. @type {Map<number, {x: number, y: number}>} */
  const down = new Map();
  let moved = false;
  /** @type {number|null} */
  let rangeStart = null;
  let start = {x: 0, y: 0};

  canvas.addEventListener('wheel', (event) => {
    // Within a longer page the wheel scrolls that page until the timeline has been clicked.
    if (chart.sharesWheel && !event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 300 : 1;
    const dx = event.deltaX * pixels;
    const dy = event.deltaY * pixels;
    if (event.ctrlKey || event.metaKey || (!event.shiftKey && dx === 0 && !chart.scrolls)) {
      chart.zoom(Math.exp(Math.max(-300, Math.min(dy, 300)) * 0.0025), event.offsetX);
    } else if (event.shiftKey) {
      chart.pan(dx + dy);
    } else {
      if (dx !== 0) chart.pan(dx);
      if (dy !== 0) chart.setScroll(chart.scroll + dy);
    }
  }, {passive: false});

  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, {x: event.offsetX, y: event.offsetY});
    moved = false;
    start = {x: event.offsetX, y: event.offsetY};
    rangeStart = down.size === 1 && (event.shiftKey || event.offsetY < kRulerHeight) ? chart.timeAt(event.offsetX) : null;
  });

  canvas.addEventListener('pointermove', (event) => {
    const before = down.get(event.pointerId);
    if (!before) {
      const found = chart.eventAt(event.offsetX, event.offsetY);
      actions.onHover(found, event.offsetX, event.offsetY);
      return;
    }
    const now = {x: event.offsetX, y: event.offsetY};
    if (Math.abs(now.x - start.x) > kClickSlack || Math.abs(now.y - start.y) > kClickSlack) {
      if (!moved) actions.onHover(null, 0, 0);
      moved = true;
    }
    if (!moved) return;
    if (rangeStart !== null) {
      const time = chart.timeAt(now.x);
      actions.onRange({begin: Math.min(rangeStart, time), end: Math.max(rangeStart, time)}, false);
    } else if (down.size === 1) {
      chart.pan(before.x - now.x);
      if (chart.scrolls) chart.setScroll(chart.scroll + before.y - now.y);
    } else if (down.size === 2) {
      const other = [...down].find(([id]) => id !== event.pointerId)[1];
      const apart = Math.max(Math.abs(before.x - other.x), 10);
      const apartNow = Math.max(Math.abs(now.x - other.x), 10);
      chart.zoom(apart / apartNow, (now.x + other.x) / 2);
      chart.pan((before.x - now.x) / 2);
    }
    down.set(event.pointerId, now);
  });

  const release = (event) => {
    if (!down.delete(event.pointerId)) return;
    if (rangeStart !== null) {
      const time = chart.timeAt(event.offsetX);
      const range = {begin: Math.min(rangeStart, time), end: Math.max(rangeStart, time)};
      actions.onRange(moved ? range : null, true);
      rangeStart = null;
    } else if (!moved && event.type === 'pointerup') {
      actions.onSelect(chart.eventAt(event.offsetX, event.offsetY));
    }
    if (down.size > 0) moved = true;
  };
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', release);
  canvas.addEventListener('pointerleave', () => actions.onHover(null, 0, 0));
  canvas.addEventListener('dblclick', (event) => {
    const found = chart.eventAt(event.offsetX, event.offsetY);
    if (found !== null) chart.goTo(found, true);
    else chart.zoom(0.5, event.offsetX);
  });
}
