// Figures of a job's report as texts, and small parts that its sections are made of.
import {element, oneLine} from './dom.js';
import {formatBytes, formatCount, formatTime} from './format.js';

/** A number that may be missing, or be no number ("nan", "inf"). @param {number|string|null|undefined} value */
export function asNumber(value) {
  return typeof value === 'number' ? value : NaN;
}

/** @param {number|null|undefined} nanoseconds */
export function timeOrDash(nanoseconds) {
  return nanoseconds === null || nanoseconds === undefined ? '\u2013' : formatTime(nanoseconds);
}

/** Three significant figures with separators: 1,234 or 1.23. @param {number} value */
export function shortNumber(value) {
  if (!Number.isFinite(value)) return String(value);
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
}

/** A figure with the unit of a comparison. @param {number|null} value @param {string} unit */
export function comparedText(value, unit) {
  if (value === null || value === undefined) return '\u2013';
  if (unit === 'ns') return formatTime(value);
  if (unit === 'bytes') return formatBytes(value);
  if (unit === 'percent') return shortNumber(value) + '\u202f%';
  if (unit === 'celsius') return shortNumber(value) + '\u202f\u00b0C';
  return Math.abs(value) < 1000 ? String(Number(value.toPrecision(5))) : shortNumber(value);
}

/** "1 node", "2 nodes". @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many) {
  return `${formatCount(count)} ${count === 1 ? one : many ?? one + 's'}`;
}

/** Names of nodes, the first ones: "n060, n061 and 14 more". @param {string[]} names @param {number} [most] */
export function nameList(names, most = 6) {
  if (names.length <= most) return names.join(', ');
  return `${names.slice(0, most).join(', ')} and ${names.length - most} more`;
}

/**
 * A table. Cells are texts or elements; the first row of `columns` names them.
 * @param {Array<{title: string, figure?: boolean, name?: boolean}>} columns
 * @param {Array<{cells: Array<Node|string|number|null>, mark?: string}>} rows
 * @param {{most?: number, id?: string, label?: string}} [options] rows beyond `most` are behind a button
 */
export function jobTable(columns, rows, options = {}) {
  const most = options.most ?? 16;
  const kindOf = (column) => column.figure ? 'figure' : column.name ? 'name' : null;
  const makeRow = (row) => element('tr', {class: row.mark ?? null},
      ...row.cells.map((cell, place) => element('td', {class: kindOf(columns[place])}, cell ?? '\u2013')));
  const body = element('tbody', null, ...rows.slice(0, most).map(makeRow));
  const table = element('table', {class: 'job-table', 'aria-label': options.label ?? null, id: options.id ?? null},
      element('thead', null, element('tr', null, ...columns.map((column) => element('th', {scope: 'col', class: column.figure ? 'figure' : null},
          column.title !== '' ? column.title : element('span', {class: 'visually-hidden'}, column.about ?? 'remark'))))), body);
  const place = element('div', {class: 'table-place', tabindex: '0', role: 'region', 'aria-label': `Table: ${options.label ?? 'figures'}`}, table);
  if (rows.length <= most) return place;
  const more = element('button', {class: 'tool more', type: 'button', 'aria-expanded': 'false', onclick: () => {
    const all = more.getAttribute('aria-expanded') !== 'true';
    more.setAttribute('aria-expanded', String(all));
    more.textContent = all ? 'Show fewer rows' : `Show all ${formatCount(rows.length)} rows`;
    body.replaceChildren(...(all ? rows : rows.slice(0, most)).map(makeRow));
  }}, `Show all ${formatCount(rows.length)} rows`);
  return element('div', null, place, more);
}

/**
 * A figure with its name and what it rests on.
 * @param {string} name @param {string} value @param {string|null} [below] @param {string} [mark] class: "bad", "good"
 */
export function jobCard(name, value, below = null, mark = '') {
  return element('div', {class: `card ${mark}`.trim()}, element('h3', null, name), element('p', {class: 'big'}, oneLine(value, 80)),
      below === null || below === '' ? null : element('p', {class: 'muted'}, oneLine(below, 300)));
}

/** Seconds since 1970 as the log's own clock says them; no zone is known. @param {number} seconds */
export function dateText(seconds) {
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
}
