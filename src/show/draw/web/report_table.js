// A table that can be sorted and filtered. It shows its first rows; opened, it scrolls through all of them, of
// which only those in sight are in the page, so that 100,000 rows are no burden.
import {element, oneLine} from './dom.js';
import {cellText, countText, isTextColumn, timeText, valuesOf} from './report_figures.js';
import {columnName, tableDisclosure} from './report_explain.js';
import {copyText, csvText, doneButton} from './save_file.js';

const kFirstRows = 10;
const kRowHeight = 25;
const kMostHeight = 560;
const kSampledRows = 3000;

/** @typedef {import('./report_figures.js').Table} ReportTable */

/** Whether people see a column, as the program decides. @param {ReportTable} table @param {number} place */
export function isShownColumn(table, place) {
  const {shown} = table.columns[place];
  if (shown === 'to-programs') return false;
  return table.values[place].some((value) => value !== null && (shown === 'always' || value !== 0));
}

export class TableView {
  /**
   * @param {ReportTable} table
   * @param {{definitions: any, source: import('./report_figures.js').FigureSource, panel: import('./report_explain.js').FigurePanel}} context
   */
  constructor(table, context) {
    this.table = table;
    this.context = context;
    this.count = table.values.length === 0 ? 0 : table.values[0].length;
    this.opened = false;
    this.allColumns = false;
    this.sorted = null;  // {place, down}
    this.words = [];
    this.order = Array.from({length: this.count}, (_, row) => row);
    this.texts = null;  // of each row in lower case, for the filter
    this.root = element('section', {class: 'table-view', id: `table-${table.name}`, 'aria-label': table.title});
    this.build();
  }

  build() {
    const {table} = this;
    this.filter = /** @type {HTMLInputElement} */ (element('input', {type: 'search', placeholder: 'Filter', 'aria-label': `Filter ${table.title}`,
      oninput: () => this.setFilter(this.filter.value)}));
    this.columnsButton = element('button', {class: 'tool', type: 'button', 'aria-pressed': 'false', onclick: () => this.toggleColumns()}, 'All columns');
    this.status = element('span', {class: 'muted', role: 'status'});
    this.more = element('button', {class: 'tool more', type: 'button', onclick: () => this.toggleOpened()});
    this.head = element('thead');
    this.body = element('tbody', {onclick: (event) => this.explainCell(event.target), onkeydown: (event) => this.onKey(event)});
    this.group = element('colgroup');
    this.element = element('table', {class: 'report'}, this.group, this.head, this.body);
    this.scroller = element('div', {class: 'scroller', tabindex: '-1', onscroll: () => this.fillRows()}, this.element);
    this.root.append(
        element('div', {class: 'table-bar'}, element('h3', null, table.title),
            this.count > kFirstRows ? this.filter : null, this.status,
            table.columns.some((_, place) => !isShownColumn(table, place)) ? this.columnsButton : null,
            doneButton('CSV', `Copy ${table.title} as CSV: all columns, the rows that the filter leaves, times in nanoseconds`, () => copyText(this.csv()))),
        table.note ? element('p', {class: 'note'}, table.note) : element('span'),
        this.scroller, this.more, tableDisclosure(this.context.definitions, table));
    addEventListener('beforeprint', () => this.forPrint());
    this.layOut();
  }

  /** All columns of the rows that the filter leaves, as the program's --csv has them. */
  csv() {
    const {columns, values} = this.table;
    return csvText([columns.map((column) => column.key), ...this.order.map((row) => values.map((column) => column[row]))]);
  }

  // Columns in sight, their widths and titles.
  layOut() {
    const {table} = this;
    this.places = [];
    for (let place = 0; place < table.columns.length; ++place)
      if (this.allColumns || isShownColumn(table, place)) this.places.push(place);
    const step = Math.max(1, Math.ceil(this.count / kSampledRows));
    let least = 0;
    this.group.replaceChildren(...this.places.map((place) => {
      const column = table.columns[place];
      let width = this.titleOf(column).length + 2;
      for (let row = 0; row < this.count; row += step) width = Math.max(width, this.shortText(place, row).length);
      width = isTextColumn(column) ? Math.max(8, Math.min(width, 56)) : width;
      least += width + 2.5;
      const made = element('col');
      made.style.width = `${(width + 2.5).toFixed(1)}ch`;
      return made;
    }));
    this.element.style.width = `${least.toFixed(1)}ch`;
    this.head.replaceChildren(element('tr', null, ...this.places.map((place) => this.titleCell(place))));
    this.fillRows();
  }

  // A column without a title belongs to the figure before it: its unit says enough.
  titleOf(column) {
    if (column.title) return column.title;
    return this.allColumns && column.shown === 'to-programs' ? columnName(column) : {share: '%', time: 'time', change: '%'}[column.kind] ?? '';
  }

  /** @param {number} place */
  titleCell(place) {
    const column = this.table.columns[place];
    const down = this.sorted?.place === place ? this.sorted.down : null;
    return element('th', {scope: 'col', class: isTextColumn(column) ? null : 'figure', 'aria-sort': down === null ? 'none' : down ? 'descending' : 'ascending'},
        element('button', {type: 'button', class: 'sort', title: `${columnName(column)} (${column.key}): sort`, onclick: () => this.sortBy(place)},
            this.titleOf(column), element('span', {class: 'arrow', 'aria-hidden': 'true'}, down === null ? '' : down ? '\u25be' : '\u25b4')));
  }

  /** @param {number} place @param {number} row */
  shortText(place, row) {
    const column = this.table.columns[place];
    const value = this.table.values[place][row];
    return column.short?.[row] ?? cellText(value, column);
  }

  /** @param {number} place */
  sortBy(place) {
    const first = !isTextColumn(this.table.columns[place]);
    if (this.sorted?.place !== place) this.sorted = {place, down: first};
    else if (this.sorted.down === first) this.sorted = {place, down: !first};
    else this.sorted = null;
    this.arrange();
    this.head.replaceChildren(element('tr', null, ...this.places.map((each) => this.titleCell(each))));
    /** @type {HTMLElement} */ (this.head.querySelectorAll('button')[this.places.indexOf(place)])?.focus();
  }

  /** Keeps the rows in which each word stands. @param {string} text */
  setFilter(text) {
    this.words = text.toLowerCase().split(/\s+/).filter((word) => word !== '');
    this.filter.value = text;
    this.arrange();
  }

  arrange() {
    const {table} = this;
    if (this.words.length > 0 && this.texts === null) {
      const places = table.columns.flatMap((column, place) => isTextColumn(column) || column.key === 'rank' ? [place] : []);
      this.texts = Array.from({length: this.count}, (_, row) => places.map((place) => table.values[place][row] ?? '').join(' ').toLowerCase());
    }
    this.order = [];
    for (let row = 0; row < this.count; ++row)
      if (this.words.every((word) => this.texts[row].includes(word))) this.order.push(row);
    if (this.sorted !== null) {
      const values = table.values[this.sorted.place];
      const sign = this.sorted.down ? -1 : 1;
      const compare = isTextColumn(table.columns[this.sorted.place]) ? (a, b) => a < b ? -1 : a > b ? 1 : 0 : (a, b) => a - b;
      this.order.sort((a, b) => values[a] === null || values[b] === null ?
          Number(values[a] === null) - Number(values[b] === null) || a - b : sign * compare(values[a], values[b]) || a - b);
    }
    this.scroller.scrollTop = 0;
    this.fillRows();
  }

  toggleColumns() {
    this.allColumns = !this.allColumns;
    this.columnsButton.setAttribute('aria-pressed', String(this.allColumns));
    this.layOut();
  }

  toggleOpened() {
    this.opened = !this.opened;
    this.scroller.scrollTop = 0;
    this.fillRows();
  }

  forPrint() {
    if (this.opened) this.toggleOpened();
  }

  // Rows in sight, with room for those above and below.
  fillRows() {
    const total = this.order.length;
    const many = this.opened && total * kRowHeight > kMostHeight;
    this.scroller.classList.toggle('opened', many);
    const first = many ? Math.max(0, Math.floor(this.scroller.scrollTop / kRowHeight) - 10) : 0;
    const last = many ? Math.min(total, first + Math.ceil(kMostHeight / kRowHeight) + 20) : this.opened ? total : Math.min(total, kFirstRows);
    const shown = `${first} ${last} ${this.places.join()} ${this.order === this.filled ? '' : 'new'}`;
    if (shown === this.shown) return;
    this.shown = shown.replace('new', '');
    this.filled = this.order;
    const rows = [];
    if (first > 0) rows.push(this.room(first));
    for (let at = first; at < last; ++at) rows.push(this.rowElement(this.order[at], at));
    if (many && last < total) rows.push(this.room(total - last));
    if (total === 0) rows.push(element('tr', null, element('td', {colspan: this.places.length, class: 'muted'}, 'No row matches.')));
    this.body.replaceChildren(...rows);
    this.element.setAttribute('aria-rowcount', String(total + 1));
    this.more.hidden = !this.opened && total <= kFirstRows || this.opened && total <= kFirstRows;
    this.more.textContent = this.opened ? 'Show fewer rows' : `Show all ${countText(total)} rows`;
    this.tellStatus(total);
  }

  /** @param {number} total */
  tellStatus(total) {
    const times = valuesOf(this.table, 'time_ns');
    let sum = 0;
    if (this.words.length > 0) for (const row of this.order) sum += times[row] ?? 0;
    this.status.textContent = this.words.length === 0 ? (this.count > kFirstRows ? `${countText(this.count)} rows` : '') :
        `${countText(total)} of ${countText(this.count)} rows` + (times.length > 0 ? `, ${timeText(sum)}` : '');
  }

  /** @param {number} rows */
  room(rows) {
    const cell = element('td', {colspan: this.places.length});
    cell.style.height = `${rows * kRowHeight}px`;
    return element('tr', {class: 'room', 'aria-hidden': 'true'}, cell);
  }

  /** @param {number} row @param {number} at */
  rowElement(row, at) {
    const made = element('tr', {'data-row': row, 'aria-rowindex': at + 2});
    for (const place of this.places) {
      const column = this.table.columns[place];
      const value = this.table.values[place][row];
      const text = oneLine(this.shortText(place, row), 240);
      if (isTextColumn(column)) {
        made.append(element('td', {class: 'name', 'data-place': place, tabindex: '-1', title: value === null ? null : oneLine(String(value), 1000)}, text));
        continue;
      }
      const cell = element('td', {class: 'figure', 'data-place': place, tabindex: '-1'}, text);
      if (column.kind === 'share' && value !== null) {
        cell.classList.add('share');
        cell.style.setProperty('--part', `${(100 * Math.max(0, Math.min(1, value))).toFixed(2)}%`);
      }
      if (column.kind === 'time-change' && value !== 0) cell.classList.add(value > 0 ? 'slower' : 'faster');
      made.append(cell);
    }
    if (at === 0) made.querySelector('td')?.setAttribute('tabindex', '0');
    return made;
  }

  /** @param {EventTarget} target */
  explainCell(target) {
    const cell = /** @type {HTMLElement} */ (/** @type {HTMLElement} */ (target).closest('td[data-place]'));
    if (cell === null || getSelection()?.toString()) return;
    const place = Number(cell.dataset.place);
    const row = Number(cell.parentElement.dataset.row);
    const texts = this.places.filter((each) => isTextColumn(this.table.columns[each]) || this.table.columns[each].key === 'rank');
    const label = texts.filter((each) => each !== place).map((each) => (this.table.columns[each].key === 'rank' ? 'rank ' : '') + this.shortText(each, row)).join(', ');
    this.context.panel.open({table: this.table.name, column: this.table.columns[place], value: this.table.values[place][row],
      row, label, source: this.context.source}, cell);
  }

  /** Arrows go from cell to cell. @param {KeyboardEvent} event */
  onKey(event) {
    const cell = /** @type {HTMLElement} */ (/** @type {HTMLElement} */ (event.target).closest('td'));
    if (cell === null) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.explainCell(cell);
      return;
    }
    const row = /** @type {HTMLTableRowElement} */ (cell.parentElement);
    const index = Array.from(row.cells).indexOf(/** @type {HTMLTableCellElement} */ (cell));
    const to = event.key === 'ArrowRight' ? row.cells[index + 1] : event.key === 'ArrowLeft' ? row.cells[index - 1] :
        event.key === 'ArrowDown' ? /** @type {HTMLTableRowElement} */ (row.nextElementSibling)?.cells[index] :
        event.key === 'ArrowUp' ? /** @type {HTMLTableRowElement} */ (row.previousElementSibling)?.cells[index] : null;
    if (!to?.dataset.place) return;
    event.preventDefault();
    to.focus();
  }
}
