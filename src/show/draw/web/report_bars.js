// Bars of parts: how a time splits. Each part is a button that tells how it was computed.
import {element, oneLine} from './dom.js';
import {cellText, shareText, timeText, valuesOf} from './report_figures.js';

const kFirstBars = 16;

/**
 * @typedef {{key: string, name: string, fill: string}} Part  key: a column with nanoseconds; fill: a class of report.css
 * @typedef {{label: string, row: number, scale?: number}} BarRow  scale: of the full width, 1 unless said
 */

/** @param {Part[]} parts */
export function barLegend(parts) {
  return element('ul', {class: 'legend'}, ...parts.map((part) =>
    element('li', null, element('span', {class: `swatch ${part.fill}`}), part.name)));
}

/**
 * A bar of each row of a table.
 * @param {{table: import('./report_figures.js').Table, whole: string, parts: Part[], rows: BarRow[], context: any}} chart
 */
export function partBars(chart) {
  const {table, whole, parts, rows, context} = chart;
  const used = parts.filter((part) => valuesOf(table, part.key).some((value) => value > 0));
  const list = element('div', {class: 'bars'});
  const add = (from, to) => list.append(...rows.slice(from, to).map((row) => barRow(table, whole, used, row, context)));
  add(0, kFirstBars);
  const box = element('div', {class: 'bar-chart'}, barLegend(used), list);
  if (rows.length > kFirstBars) {
    const more = element('button', {class: 'tool more', type: 'button', onclick: () => {
      add(kFirstBars, rows.length);
      more.remove();
    }}, `Show all ${rows.length} bars`);
    box.append(more);
  }
  return box;
}

/**
 * @param {import('./report_figures.js').Table} table @param {string} whole @param {Part[]} parts @param {BarRow} row
 * @param {any} context
 */
function barRow(table, whole, parts, row, context) {
  const total = valuesOf(table, whole)[row.row];
  const bar = element('div', {class: 'bar-track'});
  const scale = row.scale ?? 1;
  for (const part of parts) {
    const value = valuesOf(table, part.key)[row.row] ?? 0;
    if (value <= 0 || total <= 0) continue;
    const share = value / total;
    const column = table.columns.find((each) => each.key === part.key);
    const text = `${part.name}: ${cellText(value, column)}, ${shareText(share)}`;
    const piece = element('button', {class: `bar-part ${part.fill}`, type: 'button', title: text, 'aria-label': `${row.label}, ${text}`,
      onclick: () => context.panel.open({table: table.name, column, value, row: row.row, label: `${row.label}, ${part.name}`, source: context.source}, piece)},
    share * scale > 0.07 ? element('span', null, shareText(share)) : null);
    piece.style.width = `${(100 * share * scale).toFixed(3)}%`;
    bar.append(piece);
  }
  return element('div', {class: 'bar-row'},
      element('span', {class: 'bar-label name', title: oneLine(row.label, 300)}, oneLine(row.label, 60)), bar,
      element('span', {class: 'bar-total figure'}, timeText(total)));
}

/**
 * Bars of one figure each, the longest as long as the room: name, bar, figure.
 * @param {{table: import('./report_figures.js').Table, name: string, key: string, share: string, fill: (row: number) => string, most?: number, context: any}} chart
 */
export function listBars(chart) {
  const {table, context} = chart;
  const values = valuesOf(table, chart.key);
  const names = valuesOf(table, chart.name);
  const shares = valuesOf(table, chart.share);
  const nameColumn = table.columns.find((each) => each.key === chart.name);
  const column = table.columns.find((each) => each.key === chart.share);
  const rows = values.map((_, row) => row).slice(0, chart.most ?? kFirstBars);
  const longest = Math.max(...rows.map((row) => values[row] ?? 0), 1);
  return element('div', {class: 'bars list-bars'}, ...rows.map((row) => {
    const label = nameColumn.short?.[row] ?? String(names[row] ?? nameColumn.absent);
    const piece = element('button', {class: `bar-part ${chart.fill(row)}`, type: 'button',
      'aria-label': `${oneLine(label, 80)}: ${timeText(values[row] ?? 0)}, ${shareText(shares[row] ?? 0)}`,
      onclick: () => context.panel.open({table: table.name, column, value: shares[row], row, label, source: context.source}, piece)});
    piece.style.width = `${(100 * (values[row] ?? 0) / longest).toFixed(3)}%`;
    return element('div', {class: 'bar-row'}, element('span', {class: 'bar-label name', title: oneLine(String(names[row] ?? ''), 300)}, oneLine(label, 60)),
        element('div', {class: 'bar-track'}, piece),
        element('span', {class: 'bar-total figure'}, `${shareText(shares[row] ?? 0)} \u00b7 ${timeText(values[row] ?? 0)}`));
  }));
}
