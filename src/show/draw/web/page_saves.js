// Buttons by which readers take with them what a page shows: tables as CSV, pictures as PNG or SVG.
import {element} from './dom.js';
import {copyText, csvText, doneButton, fileName, pngOf, saveFile, svgText} from './save_file.js';
import {themeColor} from './theme.js';

const kLeastWidth = 240, kLeastHeight = 90;

/** @param {HTMLTableElement} table */
function tableTools(table) {
  const cells = (row) => Array.from(row.cells, (cell) => cell.textContent.trim());
  const name = table.getAttribute('aria-label') ?? '';
  return element('div', {class: 'table-tools'},
      doneButton('CSV', `Copy ${name === '' ? 'this table' : name} as CSV`, () => copyText(csvText(Array.from(table.rows, cells)))));
}

/** @param {() => SVGElement} picture as it is when it is saved @param {string} name */
function pictureTools(picture, name) {
  const title = name === '' ? document.title : `${document.title} ${name}`;
  return element('div', {class: 'table-tools'},
      doneButton('PNG', `Save this picture${name === '' ? '' : ` (${name})`} as PNG`,
          async () => saveFile(fileName(title, 'png'), await pngOf(picture(), themeColor('background')))),
      doneButton('SVG', `Save this picture${name === '' ? '' : ` (${name})`} as SVG`,
          () => saveFile(fileName(title, 'svg'), new Blob([svgText(picture())], {type: 'image/svg+xml'}))));
}

/**
 * Puts such buttons over each table that has a head and each larger picture within an element; what has some keeps them.
 * @param {HTMLElement} root
 */
export function offerSaves(root) {
  for (const table of root.querySelectorAll('table')) {
    if (!table.tHead || table.dataset.offered || table.closest('.table-view, dialog')) continue;
    table.dataset.offered = 'true';
    table.before(tableTools(table));
  }
  // What draws itself anew when its room changes.
  for (const holder of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('[data-picture]'))) {
    if (holder.dataset.offered) continue;
    holder.dataset.offered = 'true';
    holder.prepend(pictureTools(() => holder.querySelector('svg'), holder.dataset.picture));
  }
  for (const picture of root.querySelectorAll('svg')) {
    if (picture.closest('[data-picture]') || picture.dataset.offered || picture.closest('button, dialog, .timeline-picture')) continue;
    const {width, height} = picture.getBoundingClientRect();
    if (width < kLeastWidth || height < kLeastHeight) continue;
    picture.dataset.offered = 'true';
    picture.before(pictureTools(() => /** @type {SVGElement} */ (picture), picture.getAttribute('aria-label') ?? ''));
  }
}
