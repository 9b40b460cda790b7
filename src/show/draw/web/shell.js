// The frame of every page: a bar with title and tools, and the page itself below.
import {element, oneLine} from './dom.js';
import {startTheme, themeButton} from './theme.js';

/**
 * Builds the frame in place of "Opening…".
 * @param {{title: string, subtitle?: string}} about
 * @returns {{tools: HTMLElement, main: HTMLElement, footer: HTMLElement}} tools: where buttons go, before the switch of the theme
 */
export function openShell(about) {
  startTheme();
  const tools = element('div', {class: 'tools', role: 'toolbar', 'aria-label': 'Tools'});
  const main = element('main', {id: 'main'});
  const footer = element('footer');
  document.getElementById('page').replaceChildren(
      element('header', {class: 'bar'},
          element('h1', null, oneLine(about.title, 120)),
          element('p', {class: 'subtitle', title: about.subtitle ?? null}, oneLine(about.subtitle ?? '', 300)),
          element('div', {class: 'tools'}, tools, themeButton())),
      main, footer);
  return {tools, main, footer};
}

/**
 * Shows an error in place of the page.
 * @param {unknown} error
 */
export function showFailure(error) {
  const text = error instanceof Error ? error.message : String(error);
  document.getElementById('page').replaceChildren(
      element('p', {class: 'failure', role: 'alert'}, 'This page cannot be shown: ' + text));
  console.error(error);
}

/**
 * A window over the page with keys and what they do; Esc or a click outside closes it.
 * @param {Array<[string, string]>} rows keys, meaning
 * @param {string} [id] where a page has several
 */
export function helpDialog(rows, id = 'help') {
  const table = element('table', {class: 'keys'}, element('tbody', null,
      ...rows.map(([keys, meaning]) => element('tr', null,
          element('th', {scope: 'row'}, ...keys.split(' ').map((key) => element('kbd', null, key))),
          element('td', null, meaning)))));
  const dialog = /** @type {HTMLDialogElement} */ (element('dialog', {id, 'aria-label': 'Keys'},
      element('h2', null, 'Keys'), table,
      element('form', {method: 'dialog'}, element('button', {class: 'tool', autofocus: true}, 'Close'))));
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  // A policy without form-action: closing is done here, nothing is sent.
  dialog.querySelector('form').addEventListener('submit', (event) => {
    event.preventDefault();
    dialog.close();
  });
  document.body.append(dialog);
  return dialog;
}

/** Whether a key belongs to the field that is being typed in. @param {KeyboardEvent} event */
export function isTyping(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  return target.closest?.('input, textarea, select, [contenteditable]') !== null;
}
