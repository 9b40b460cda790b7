// Two runs side by side, and what changed from one to the other.
import {element, oneLine} from './dom.js';
import {barLegend} from './report_bars.js';
import {cellText, shareText, timeText, valuesOf} from './report_figures.js';
import {TableView} from './report_table.js';

const kTotalParts = [
  {name: 'compute', fill: 'fill-compute'},
  {name: 'communication, exposed', fill: 'fill-communication'},
  {name: 'memory, exposed', fill: 'fill-memory'},
  {name: 'idle', fill: 'fill-idle'},
];

/**
 * @param {{tables: import('./report_figures.js').Table[], runs: any[], context: any}} about the later run is the first
 */
export function comparisonSection({tables, runs, context}) {
  const [after, before] = runs;
  const totals = tables.find((table) => table.name === 'totals');
  const source = {tables: new Map(tables.map((table) => [table.name, table])), headline: {}};
  const own = {...context, source};
  return element('section', {class: 'part', id: 'comparison'},
      element('h2', null, 'What changed'),
      element('div', {class: 'side-by-side'}, runSide('Before', before), runSide('After', after)),
      headlineChange(before, after),
      totalBars(totals),
      ...tables.map((table) => new TableView(table, own).root));
}

/** @param {string} title @param {any} run */
function runSide(title, run) {
  return element('div', {class: 'card'}, element('h3', null, title), element('p', {class: 'name muted'}, oneLine(run.heading.title, 200)),
      element('p', {class: 'side-limit'}, run.verdict[0]), ...run.headline_lines.map((line) => element('p', null, line)));
}

/** Figures that both runs have. @param {any} before @param {any} after */
function headlineChange(before, after) {
  const keys = ['step_ns', 'steps_per_second', 'samples_per_second', 'tokens_per_second', 'flops_per_second'];
  const rows = keys.flatMap((key) => {
    const [was, is] = [before.facts.headline[key], after.facts.headline[key]];
    if (was === null || is === null || was === 0) return [];
    const column = after.headline.find((each) => each.key === key);
    const better = key === 'step_ns' ? is < was : is > was;
    return [element('tr', null, element('th', {scope: 'row'}, key === 'flops_per_second' ? 'work per rank' : column.title), element('td', {class: 'figure'}, cellText(was, column)),
        element('td', {class: 'figure'}, cellText(is, column)),
        element('td', {class: `figure ${is === was ? '' : better ? 'faster' : 'slower'}`}, cellText(is / was - 1, {kind: 'change', absent: '-'})))];
  });
  if (rows.length === 0) return null;
  return element('div', {class: 'scroller plain'}, element('table', {class: 'report compact'}, element('thead', null, element('tr', null, element('th', {scope: 'col'}, element('span', {class: 'visually-hidden'}, 'figure')),
      element('th', {scope: 'col', class: 'figure'}, 'before'), element('th', {scope: 'col', class: 'figure'}, 'after'), element('th', {scope: 'col', class: 'figure'}, 'change'))),
  element('tbody', null, ...rows)));
}

/** The span of a step of both runs on one scale. @param {import('./report_figures.js').Table} totals */
function totalBars(totals) {
  const names = valuesOf(totals, 'name');
  const span = names.indexOf('span');
  if (span < 0) return null;
  const most = Math.max(valuesOf(totals, 'before_ns')[span], valuesOf(totals, 'after_ns')[span], 1);
  const used = kTotalParts.filter((part) => names.includes(part.name));
  const bar = (label, key) => {
    const values = valuesOf(totals, key);
    const track = element('div', {class: 'bar-track'});
    for (const part of used) {
      const value = values[names.indexOf(part.name)];
      if (value <= 0) continue;
      const text = `${part.name}: ${timeText(value)}, ${shareText(value / values[span])}`;
      const piece = element('span', {class: `bar-part ${part.fill}`, title: text, role: 'img', 'aria-label': `${label}, ${text}`},
          value / most > 0.09 ? element('span', null, timeText(value)) : null);
      piece.style.width = `${(100 * value / most).toFixed(3)}%`;
      track.append(piece);
    }
    return element('div', {class: 'bar-row'}, element('span', {class: 'bar-label'}, label), track, element('span', {class: 'bar-total figure'}, timeText(values[span])));
  };
  return element('div', {class: 'bar-chart'}, element('p', {class: 'note'}, 'time of a step of a rank'), barLegend(used),
      element('div', {class: 'bars'}, bar('before', 'before_ns'), bar('after', 'after_ns')));
}
