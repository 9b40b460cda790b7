// The page of an analysis: what `nadi analyze` prints, with pictures, and with the definition of each figure.
import {element, oneLine} from './dom.js';
import {pageHead, readBlock} from './page_data.js';
import {listBars, partBars} from './report_bars.js';
import {comparisonSection} from './report_compare.js';
import {FigurePanel} from './report_explain.js';
import {valuesOf} from './report_figures.js';
import {headlineCards, verdictBox} from './report_headline.js';
import {durationHistogram, stepPlot} from './report_plots.js';
import {roofline} from './report_roofline.js';
import {StripView} from './report_strip.js';
import {TableView} from './report_table.js';
import {copyLinkButton, link, linkedNumber, linkedState, showLinkedPart} from './page_link.js';
import {offerSaves} from './page_saves.js';
import {helpDialog, isTyping, openShell, showFailure} from './shell.js';
import {toggleTheme} from './theme.js';

const kBreakdownParts = [
  {key: 'compute_ns', name: 'compute', fill: 'fill-compute'},
  {key: 'transfer_ns', name: 'communication', fill: 'fill-communication'},
  {key: 'late_rank_ns', name: 'waiting for a late rank', fill: 'fill-late-rank'},
  {key: 'late_message_ns', name: 'waiting for messages', fill: 'fill-late-message'},
  {key: 'exposed_memory_ns', name: 'copies', fill: 'fill-memory'},
  {key: 'idle_ns', name: 'idle', fill: 'fill-idle'},
];
const kIdleParts = [
  {key: 'host_ns', name: 'late launch', fill: 'fill-host'},
  {key: 'synchronisation_ns', name: 'synchronisation', fill: 'fill-optimizer'},
  {key: 'kernel_ns', name: 'gap between kernels', fill: 'fill-compute'},
  {key: 'dependency_ns', name: 'another lane', fill: 'fill-late-rank'},
  {key: 'other_ns', name: 'unknown', fill: 'fill-idle'},
];
const kPathParts = [
  {key: 'host_ns', name: 'host', fill: 'fill-host'},
  {key: 'compute_ns', name: 'compute', fill: 'fill-compute'},
  {key: 'communication_ns', name: 'communication', fill: 'fill-communication'},
  {key: 'memory_ns', name: 'memory', fill: 'fill-memory'},
  {key: 'waiting_ns', name: 'waiting', fill: 'fill-bubble'},
];
const kOverlapParts = [
  {key: 'hidden_ns', name: 'hidden behind computation', fill: 'fill-hidden'},
  {key: 'exposed_communication_ns', name: 'exposed', fill: 'fill-communication'},
];

// Sections in their order, with the tables of each. A test holds that every table of a report is in one.
const kSections = [
  {id: 'breakdown', title: 'Where the time of the device went', tables: ['breakdown', 'losses', 'lanes', 'work'], chart: breakdownChart},
  {id: 'path', title: 'Critical path', tables: ['critical-path', 'critical-ops', 'critical-phases'], chart: pathChart},
  {id: 'overlap', title: 'Communication and overlap', tables: ['communication'], chart: overlapChart},
  {id: 'stragglers', title: 'Stragglers', tables: ['stragglers', 'collectives'], chart: stragglerChart},
  {id: 'idle', title: 'Idle time and launches', tables: ['idle', 'launches', 'queues'], chart: idleChart},
  {id: 'ops', title: 'Ops', tables: ['kinds', 'ops', 'durations', 'host-ops'], chart: kindChart},
  {id: 'model', title: 'Layers, phases and steps', tables: ['layers', 'phases', 'steps'], chart: stepChart},
];

/** @param {import('./report_figures.js').Table|undefined} table */
function rowCount(table) {
  return table === undefined ? 0 : table.values[0]?.length ?? 0;
}

/** A label for each row of a table by rank. @param {import('./report_figures.js').Table} table */
function rankRows(table) {
  return valuesOf(table, 'rank').map((rank, row) => ({label: rank === null ? 'all ranks' : `rank ${rank}`, row}));
}

/** @param {any} context */
function breakdownChart(context) {
  const table = context.source.tables.get('breakdown');
  return [partBars({table, whole: 'span_ns', parts: kBreakdownParts, rows: rankRows(table), context})];
}

/** @param {any} context @param {any} run */
function pathChart(context, run) {
  const table = context.source.tables.get('critical-path');
  const {strips} = run;
  const parts = [partBars({table, whole: 'length_ns', parts: kPathParts, rows: rankRows(table), context})];
  if (strips.ranks.length > 0) {
    const notes = ['Boxes closer together than a pixel are drawn as one; those that were busy for a part of their time only are paler.'];
    if (!strips.related) notes.push('The clocks of the ranks cannot be related: each rank begins at 0.');
    if (strips.left_out > 0) notes.push(`${strips.left_out} ranks that the critical path touches least are left out.`);
    parts.push(element('h3', null, 'Timeline'), new StripView(strips).root, element('p', {class: 'note'}, notes.join(' ')));
  }
  return parts;
}

/** @param {any} context */
function overlapChart(context) {
  const breakdown = context.source.tables.get('breakdown');
  const communication = valuesOf(breakdown, 'communication_ns');
  if (!communication.some((value) => value > 0)) return [];
  const exposed = valuesOf(breakdown, 'exposed_communication_ns');
  // A column of the difference, so that the bars add up.
  const table = {...breakdown, columns: [...breakdown.columns, {key: 'hidden_ns', title: 'hidden', kind: 'time', shown: 'always', absent: '-'}],
    values: [...breakdown.values, communication.map((value, row) => value - exposed[row])]};
  return [partBars({table, whole: 'communication_ns', parts: kOverlapParts, rows: rankRows(table).filter(({row}) => communication[row] > 0), context})];
}

/** @param {any} context */
function stragglerChart(context) {
  const table = context.source.tables.get('stragglers');
  const most = Math.max(...valuesOf(table, 'caused_ns'), ...valuesOf(table, 'suffered_ns'), 1);
  const bars = valuesOf(table, 'rank').map((rank, row) => {
    const pieces = ['caused_ns', 'suffered_ns'].map((key) => {
      const column = table.columns.find((each) => each.key === key);
      const value = valuesOf(table, key)[row];
      const piece = element('button', {type: 'button', class: `bar-part ${key === 'caused_ns' ? 'fill-late-rank' : 'fill-bubble'}`,
        'aria-label': `rank ${rank}, ${column.title}`, onclick: () => context.panel.open({table: 'stragglers', column, value, row, label: `rank ${rank}`, source: context.source}, piece)});
      piece.style.width = `${(50 * value / most).toFixed(3)}%`;
      return piece;
    });
    return element('div', {class: 'bar-row'}, element('span', {class: 'bar-label'}, `rank ${rank}`), element('div', {class: 'bar-track'}, ...pieces), element('span', {class: 'bar-total'}));
  });
  if (bars.length > 64) return [];
  return [element('ul', {class: 'legend'}, element('li', null, element('span', {class: 'swatch fill-late-rank'}), 'others waited for it'),
      element('li', null, element('span', {class: 'swatch fill-bubble'}), 'it waited for others')), element('div', {class: 'bars'}, ...bars)];
}

/** @param {any} context */
function idleChart(context) {
  const table = context.source.tables.get('idle');
  const lanes = valuesOf(table, 'lane');
  const rows = rankRows(table).filter(({row}) => lanes[row] === 'device');
  return rows.length === 0 ? [] : [partBars({table, whole: 'idle_ns', parts: kIdleParts, rows, context})];
}

/** @param {any} context */
function kindChart(context) {
  const table = context.source.tables.get('kinds');
  const kinds = valuesOf(table, 'kind');
  const fill = (row) => kinds[row] === 'communication' ? 'fill-communication' : kinds[row] === 'copy and fill' ? 'fill-memory' : 'fill-compute';
  const charts = [];
  if (valuesOf(table, 'time_ns').some((value) => value > 0))
    charts.push(listBars({table, name: 'kind', key: 'time_ns', share: 'time_share', fill, context}));
  const ops = context.source.tables.get('ops');
  const roof = ops ? roofline(ops) : null;
  if (roof) charts.push(roof);
  return charts;
}

/** @param {any} context */
function stepChart(context) {
  const table = context.source.tables.get('steps');
  const plot = table ? stepPlot(table) : null;
  return plot ? [element('h3', null, 'Time of each step'), plot] : [];
}

/** @param {any} run @param {any} context */
function runSections(run, context) {
  const made = [];
  for (const section of kSections) {
    const tables = section.tables.map((name) => context.source.tables.get(name)).filter((table) => rowCount(table) > 0);
    if (tables.length === 0) continue;
    const body = [];
    if (rowCount(context.source.tables.get(section.tables[0])) > 0 || section.id === 'model') body.push(...section.chart(context, run));
    for (const table of tables) {
      if (table.name === 'durations') body.push(element('h3', null, 'How long nodes last'), durationHistogram(table));
      body.push(new TableView(table, context).root);
    }
    made.push(element('section', {class: 'part', id: section.id}, element('h2', null, tables[0].name === 'work' ? 'What is to be done' : section.title), ...body));
  }
  return made;
}

/** Everything about one run. @param {any} run @param {any} definitions @param {FigurePanel} panel */
function runView(run, definitions, panel) {
  const source = {tables: new Map(run.tables.map((table) => [table.name, table])), headline: run.facts.headline};
  const context = {definitions, panel, source};
  const facts = run.facts;
  const counts = [['matched_collectives', 'collectives matched'], ['unmatched_collectives', 'not matched'], ['matched_messages', 'messages matched'],
    ['unmatched_messages', 'not matched']].filter(([key]) => facts[key] > 0).map(([key, name]) => `${facts[key].toLocaleString('en-US')} ${name}`);
  return element('div', {class: 'run'},
      element('section', {class: 'part', id: 'verdict'}, element('h2', {class: 'visually-hidden'}, 'Verdict'), verdictBox(run, context), headlineCards(run, context),
          element('p', {class: 'muted name'}, [run.heading.title, ...run.heading.lines, ...counts].map((line) => oneLine(line, 300)).join(' \u00b7 '))),
      ...runSections(run, context));
}

/** @param {HTMLElement} main */
function navigation(main) {
  const links = Array.from(main.querySelectorAll('section.part')).map((part) => {
    return element('a', {href: `#${part.id}`}, part.querySelector('h2').textContent);
  });
  return element('nav', {class: 'sections', 'aria-label': 'Sections'}, ...links);
}

/** The two runs of a comparison behind two tabs. @param {any[]} runs @param {(run: any) => HTMLElement} view */
function runTabs(runs, view) {
  const holder = element('div', {class: 'run-holder'});
  const views = new Map();
  const tabs = runs.map((run, place) => element('button', {class: 'tool', type: 'button', role: 'tab', onclick: () => show(place)},
      place === 0 ? 'After' : 'Before', element('span', {class: 'muted name'}, ' ' + oneLine(run.heading.title, 60))));
  const show = (place) => {
    if (!views.has(place)) views.set(place, view(runs[place]));
    holder.replaceChildren(views.get(place));
    tabs.forEach((tab, each) => tab.setAttribute('aria-selected', String(each === place)));
    link({run: place === 0 ? null : place});
    offerSaves(holder);
  };
  show(linkedNumber('run') === 1 ? 1 : 0);
  return [element('div', {class: 'tabs', role: 'tablist', 'aria-label': 'Run'}, ...tabs), holder];
}

async function openReport() {
  const head = pageHead();
  const {main, tools, footer} = openShell(head);
  document.body.classList.add('report-page');
  const data = JSON.parse(new TextDecoder().decode(await readBlock('report')));
  const panel = new FigurePanel(data.definitions);
  const view = (run) => runView(run, data.definitions, panel);
  if (data.comparison === null) main.append(view(data.runs[0]));
  else main.append(comparisonSection({tables: data.comparison, runs: data.runs, context: {definitions: data.definitions, panel}}), ...runTabs(data.runs, view));
  main.before(navigation(main));
  footer.append(`nadi ${data.nadi_version}: nadi analyze`);
  const help = helpDialog([['/', 'filter ops'], ['T', 'light or dark'], ['Tab', 'from one control to the next'],
    ['\u2190 \u2191 \u2192 \u2193', 'from cell to cell of a table; along the timeline'], ['Enter', 'how a figure was computed'], ['+ - 0', 'zoom the timeline in and out; show all of it'],
    ['Esc', 'close a window'], ['?', 'this list']]);
  tools.append(copyLinkButton(), element('button', {class: 'tool', type: 'button', onclick: () => print()}, 'Print'),
      element('button', {class: 'tool', type: 'button', onclick: () => help.showModal()}, 'Keys (?)'));
  addEventListener('keydown', (event) => {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '?') help.showModal();
    else if (event.key === 't' || event.key === 'T') toggleTheme();
    else if (event.key === '/') {
      const filter = /** @type {HTMLElement} */ (document.querySelector('#table-ops input[type=search]') ?? document.querySelector('input[type=search]'));
      filter?.focus();
      filter?.scrollIntoView({block: 'center'});
      event.preventDefault();
    }
  });
  offerSaves(main);
  keepFilter(main);
  showLinkedPart();
  document.documentElement.dataset.ready = 'true';
}

/** The words that the tables are filtered by stand in the address, by table. @param {HTMLElement} main */
function keepFilter(main) {
  const given = linkedState();
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (main.querySelectorAll('.table-view input[type=search]'))) {
    const name = field.closest('.table-view').id.replace('table-', 'filter-');
    const words = given.get(name);
    if (words) {
      field.value = words;
      field.dispatchEvent(new Event('input'));
    }
    field.addEventListener('input', () => link({[name]: field.value.trim() || null}));
  }
}

openReport().catch(showFailure);
