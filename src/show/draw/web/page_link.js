// What a reader looks at, in the fragment of the page's address: a link leads back to it.
//
//   #begin=1200&end=5600&search=matmul
import {copyText, doneButton} from './save_file.js';

/** The state in the address. A fragment that is a name alone is the part of the page with that id. @returns {URLSearchParams} */
export function linkedState() {
  const fragment = location.hash.slice(1);
  return fragment === '' || fragment.includes('=') ? new URLSearchParams(fragment) : new URLSearchParams({part: decodeURIComponent(fragment)});
}

/** @param {string} name @returns {number|null} nothing where it is no number */
export function linkedNumber(name) {
  const text = linkedState().get(name);
  const value = text === null || text.trim() === '' ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

/** @type {ReturnType<typeof setTimeout>|undefined} */
let waiting;
/** @type {Map<string, string>} */
const kept = new Map();

/**
 * Sets values in the address; null takes one out. Written a moment later, since views change with every frame.
 * @param {Object<string, string|number|null>} values
 */
export function link(values) {
  for (const [name, value] of Object.entries(values)) kept.set(name, value === null ? '' : String(value));
  clearTimeout(waiting);
  waiting = setTimeout(writeLink, 200);
}

function writeLink() {
  clearTimeout(waiting);
  const state = linkedState();
  for (const [name, value] of kept) {
    if (value === '') state.delete(name);
    else state.set(name, value);
  }
  kept.clear();
  const names = [...state.keys()];
  const fragment = names.length === 1 && names[0] === 'part' ? state.get('part') : state.toString();
  if (fragment === location.hash.slice(1)) return;
  history.replaceState(null, '', fragment === '' ? location.pathname + location.search : '#' + fragment);
}

export function copyLinkButton() {
  return doneButton('Copy link', 'Copy the address of this view', () => {
    writeLink();
    return copyText(location.href);
  }, 'copy-link');
}

/** Scrolls to the part that the address names together with other things; the browser finds one that stands alone. */
export function showLinkedPart() {
  const part = linkedState().get('part');
  if (part !== null) document.getElementById(part)?.scrollIntoView({block: 'start'});
}
