// What a report begins with: the verdict, the step time, the throughput and the largest losses.
import {element} from './dom.js';
import {cellText, shareText, timeText, valuesOf} from './report_figures.js';
import {explanationOf} from './report_explain.js';


const kLossFills = {
  'communication': 'fill-communication',
  'transfer': 'fill-communication',
  'waiting for a late rank': 'fill-late-rank',
  'waiting for messages': 'fill-late-message',
  'copies': 'fill-memory',
};

/** The class of a cause of lost time. @param {string} cause */
export function lossFill(cause) {
  return kLossFills[cause] ?? 'fill-bubble';
}

/** The first sentence of a verdict: what limits the step, and the rest. @param {string} sentence */
function limitSentence(sentence) {
  const colon = sentence.indexOf(': ');
  if (colon < 0) return [sentence];
  return [element('strong', {class: 'limit'}, sentence.slice(0, colon)), element('span', null, sentence.slice(colon + 2))];
}

/** @param {any} run @param {any} context */
export function verdictBox(run, context) {
  const [limit, ...rest] = run.verdict;
  return element('div', {class: 'verdict'},
      element('p', {class: 'verdict-limit'}, ...limitSentence(limit)),
      ...rest.map((line) => element('p', null, line)),
      element('details', {class: 'how'}, element('summary', null, 'How was this computed?'),
          element('div', {class: 'how-body'}, element('p', null, context.definitions.verdict.text))));
}

/** @param {any} run @param {any} context @param {string} key */
function factOf(run, context, key) {
  const value = run.facts.headline[key];
  const column = run.headline.find((each) => each.key === key);
  return {value, column, text: value === null ? '' : cellText(value, column),
    explanation: () => explanationOf(context.definitions, {table: 'headline', column, value, row: 0, label: '', source: context.source})};
}

/** @param {string} title @param {Node[]} content @param {() => Node[]} how */
function headlineCard(title, content, how) {
  const details = element('details', {class: 'how'}, element('summary', null, 'How was this computed?'));
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) details.append(element('div', {class: 'how-body'}, ...how()));
  });
  return element('section', {class: 'card'}, element('h3', null, title), ...content, details);
}

/** Cards for what is known; none for what is not. @param {any} run @param {any} context */
export function headlineCards(run, context) {
  const cards = [];
  const step = factOf(run, context, 'step_ns');
  const steps = run.facts.headline.steps;
  if (step.value !== null) {
    const range = steps > 1 ? `median of ${steps} steps, ${factOf(run, context, 'shortest_step_ns').text} to ${factOf(run, context, 'longest_step_ns').text}` :
        steps === 1 ? 'one step' : 'the whole trace: its nodes name no step';
    cards.push(headlineCard(steps > 0 ? 'Step time' : 'Time of the trace', [element('p', {class: 'big'}, step.text), element('p', {class: 'muted'}, range)],
        () => [element('p', null, context.definitions.headline.text), step.explanation()]));
  }
  const rates = ['tokens_per_second', 'samples_per_second', 'steps_per_second', 'flops_per_second'].map((key) => factOf(run, context, key))
      .filter((fact) => fact.value !== null);
  if (rates.length > 0)
    cards.push(headlineCard('Throughput', rates.map((fact, place) => element('p', {class: place === 0 ? 'big' : 'rate'},
        fact.text, ' ', element('span', {class: 'unit'}, fact.column.title))),
    () => rates.flatMap((fact) => [element('h4', null, `${fact.text} ${fact.column.title}`), fact.explanation()])));
  const losses = lossCard(run, context);
  if (losses) cards.push(losses);
  return element('div', {class: 'cards'}, ...cards);
}

const kShownLosses = 3;

/** @param {any} run @param {any} context */
function lossCard(run, context) {
  const table = context.source.tables.get('losses');
  const shares = valuesOf(table, 'time_share');
  if (shares.length === 0) return null;
  const causes = valuesOf(table, 'cause');
  const times = valuesOf(table, 'time_ns');
  const rows = shares.slice(0, kShownLosses).map((share, row) => {
    const bar = element('span', {class: `loss-bar ${lossFill(causes[row])}`});
    bar.style.width = `${(100 * share).toFixed(2)}%`;
    return element('div', {class: 'loss'}, element('span', {class: 'loss-name'}, causes[row]), element('span', {class: 'figure'}, shareText(share)),
        element('span', {class: 'loss-track'}, bar));
  });
  const column = table.columns.find((each) => each.key === 'time_share');
  return headlineCard(shares.length < kShownLosses ? 'Losses' : 'Largest losses', rows, () => [
    element('p', null, context.definitions.losses.text),
    ...rows.flatMap((_, row) => [element('h4', null, `${causes[row]}: ${timeText(times[row])}`),
      explanationOf(context.definitions, {table: 'losses', column, value: shares[row], row, label: '', source: context.source})])]);
}
