// The keyboard: moving, searching, walking from event to event.
import {isTyping} from './shell.js';

/** @typedef {import('./timeline_chart.js').TimelineChart} TimelineChart */

/** For the help, in the order in which it is read. @type {Array<[string, string]>} */
export const kTimelineKeys = [
  ['W S', 'closer, farther (also Ctrl and the wheel, or two fingers)'],
  ['A D', 'to the left, to the right (also a drag, or Shift and the wheel)'],
  ['F', 'fit: the selected event, then the whole timeline'],
  ['/', 'search in names'],
  ['n N', 'next match, match before'],
  ['\u2190 \u2192 \u2191 \u2193', 'walk from event to event'],
  ['Enter', 'go close to the selected event (also a double click)'],
  ['Shift+drag', 'mark a range: sums by kind and by name (also a drag in the ruler)'],
  ['M', 'mark the span of the selected event, or what is in sight'],
  ['C', 'collapse or open all groups'],
  ['L', 'lines of messages and collectives'],
  ['P', 'critical path, where it is known'],
  ['E', 'predicted against measured, where there are predictions'],
  ['T', 'light or dark'],
  ['Esc', 'close what is open'],
  ['?', 'this help'],
];

/** Steps of keys that are held down: zoom factor, pan in shares of the width. */
const kHeldKeys = {w: [0.8, 0], s: [1.25, 0], a: [1, -0.1], d: [1, 0.1]};

/**
 * @param {TimelineChart} chart
 * @param {Object<string, (event: KeyboardEvent) => void>} actions by key
 * @param {() => number} pointerX where zooming keeps its place
 * @param {HTMLElement|null} [within] keys count only while the focus is in this element; null: always
 */
export function listenToKeys(chart, actions, pointerX, within = null) {
  /** @type {Map<string, number>} */
  const held = new Map();
  let last = 0;

  const step = (key, share) => {
    const [zoom, pan] = kHeldKeys[key];
    if (zoom !== 1) chart.zoom(zoom ** share, pointerX());
    if (pan !== 0) chart.pan(pan * share * chart.width);
  };
  const advance = (now) => {
    for (const [key, since] of held) if (now - since > 150) step(key, Math.min(now - last, 100) / 90);
    last = now;
    if (held.size > 0) requestAnimationFrame(advance);
  };

  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (within !== null && !within.contains(/** @type {Node} */ (event.target))) return;
    if (isTyping(event) && event.key !== 'Escape') return;
    if (document.querySelector('dialog[open]')) return;
    const key = event.key.length === 1 && event.key !== 'N' ? event.key.toLowerCase() : event.key;
    if (key in kHeldKeys) {
      event.preventDefault();
      if (held.has(key)) return;
      step(key, 1);
      held.set(key, performance.now());
      if (held.size === 1) {
        last = performance.now();
        requestAnimationFrame(advance);
      }
    } else if (actions[key]) {
      // A focused button keeps its own keys.
      if (key === 'Enter' && event.target instanceof HTMLButtonElement) return;
      event.preventDefault();
      actions[key](event);
    }
  });
  addEventListener('keyup', (event) => held.delete(event.key.toLowerCase()));
  addEventListener('blur', () => held.clear());
}
