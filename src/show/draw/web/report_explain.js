// "How was this computed": the definition of a figure, and the numbers that it came from.
import {element, oneLine} from './dom.js';
import {cellText, evaluateFormula, formulaText} from './report_figures.js';

/**
 * @typedef {Object<string, {text: string, figures: Object<string, {text: string, formula: string}>}>} Definitions
 * @typedef {{table: string, column: import('./report_figures.js').Column, value: any, row: number, label: string,
 *            source: import('./report_figures.js').FigureSource}} Figure
 */

/** The name of a column for people: its title, or what its key says. @param {{title: string, key: string}} column */
export function columnName(column) {
  return column.title || column.key.replace(/_ns$/, '').replaceAll('_', ' ');
}

/**
 * Definition and numbers of one figure.
 * @param {Definitions} definitions @param {Figure} figure
 */
export function explanationOf(definitions, figure) {
  const {table, column, value, row, source} = figure;
  const definition = definitions[table]?.figures[column.key];
  const parts = [element('p', null, definition?.text ?? 'As the trace has it.')];
  if (definition?.formula) {
    const result = evaluateFormula(definition.formula, {source, table, row});
    parts.push(element('p', {class: 'formula'}, formulaText(definition.formula)));
    if (value !== null && result.value !== null)
      parts.push(element('p', {class: 'formula'}, `= ${result.words} = `, element('strong', null, cellText(value, column))),
          element('p', {class: 'formula muted'}, `= ${result.exact} = ${value}`));
    parts.push(element('ul', {class: 'operands'}, ...result.names.map((name) => element('li', null,
        element('span', {class: 'formula'}, `${formulaText(name.call ? `${name.call}(${name.key})` : name.key)} = ${name.text}: `),
        definitions[name.table]?.figures[name.key]?.text ?? ''))));
  } else if (typeof value === 'number') {
    parts.push(element('p', {class: 'formula muted'},
        `${cellText(value, column)}: ${value.toLocaleString('en-US', {maximumFractionDigits: 6})}${column.kind === 'time' ? ' ns' : ''}`));
  }
  return element('div', {class: 'explanation'}, ...parts);
}

/**
 * A disclosure with how a table is made and what its columns mean.
 * @param {Definitions} definitions @param {import('./report_figures.js').Table} table
 */
export function tableDisclosure(definitions, table) {
  const definition = definitions[table.name];
  const details = element('details', {class: 'how'}, element('summary', null, 'How was this computed?'));
  details.addEventListener('toggle', () => {
    if (!details.open || details.childElementCount > 1) return;
    const columns = table.columns.filter((column) => definition?.figures[column.key]);
    details.append(element('div', {class: 'how-body'},
        element('p', null, definition?.text ?? ''),
        element('dl', null, ...columns.flatMap((column) => {
          const {text, formula} = definition.figures[column.key];
          return [element('dt', null, columnName(column), element('code', null, column.key)),
            element('dd', null, text, formula ? element('span', {class: 'formula'}, ' = ' + formulaText(formula)) : null)];
        })),
        element('p', {class: 'muted'}, 'Click a figure, or press Enter on it, for the numbers that it came from.')));
  });
  return details;
}

/** A small window at the figure that was asked about. There is one on a page. */
export class FigurePanel {
  /** @param {Definitions} definitions */
  constructor(definitions) {
    this.definitions = definitions;
    this.back = null;
    this.panel = element('aside', {class: 'figure-panel', role: 'dialog', 'aria-label': 'How was this computed?', tabindex: '-1', hidden: true});
    document.body.append(this.panel);
    this.panel.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.close();
    });
    addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.close();
    });
  }

  /** @param {Figure} figure @param {HTMLElement} at */
  open(figure, at) {
    this.back = at;
    this.panel.replaceChildren(
        element('div', {class: 'panel-bar'},
            element('h3', null, columnName(figure.column), figure.label ? element('span', {class: 'muted name'}, oneLine(figure.label, 80)) : null),
            element('button', {class: 'tool', type: 'button', 'aria-label': 'Close', onclick: () => this.close()}, '\u00d7')),
        explanationOf(this.definitions, figure));
    this.panel.hidden = false;
    const box = at.getBoundingClientRect();
    const width = this.panel.offsetWidth;
    const height = this.panel.offsetHeight;
    const below = box.bottom + 8 + height < innerHeight || box.top < height + 8;
    this.panel.style.left = `${scrollX + Math.max(8, Math.min(box.left, document.documentElement.clientWidth - width - 8))}px`;
    this.panel.style.top = `${scrollY + (below ? box.bottom + 6 : box.top - height - 6)}px`;
    this.panel.focus({preventScroll: true});
  }

  close() {
    if (this.panel.hidden) return;
    this.panel.hidden = true;
    this.back?.focus?.({preventScroll: true});
  }
}
