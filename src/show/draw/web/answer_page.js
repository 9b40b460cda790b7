// The page of an answer: pictures of the JSON that a command printed, by kind of question.
import {costMap, errorChart, linkMap, partsChart, signedShare} from './answer_charts.js';
import {element, oneLine} from './dom.js';
import {formatAmount, formatBytes, formatCount, formatRate, formatShare, formatSpeed, formatTime} from './format.js';
import {counted, jobCard, jobTable} from './job_figures.js';
import {JobPlot} from './job_plot.js';
import {pageHead, readBlock} from './page_data.js';
import {copyLinkButton, showLinkedPart} from './page_link.js';
import {offerSaves} from './page_saves.js';
import {helpDialog, isTyping, openShell, showFailure} from './shell.js';
import {toggleTheme} from './theme.js';

const kMemoryParts = [['parameters', 'parameters_bytes', 'compute'], ['gradients', 'gradients_bytes', 'forward'], ['optimizer state', 'optimizer_state_bytes', 'optimizer'],
  ['activations', 'activations_bytes', 'memory'], ['caches', 'caches_bytes', 'backward'], ['inputs', 'inputs_bytes', 'host'],
  ['constants', 'constants_bytes', 'other'], ['metrics', 'metrics_bytes', 'idle']];
/** Parts of memory at its peak, by the words of the simulation. */
const kPeakFills = {'parameters': 'compute', 'gradients': 'forward', 'optimizer state': 'optimizer', 'activations kept for the backward pass': 'memory',
  'values of the ops that run': 'host'};
const kTimeParts = [['forward', 'forward_ns', 'forward'], ['recomputation', 'recompute_ns', 'other'], ['backward', 'backward_ns', 'backward'],
  ['optimizer', 'optimizer_ns', 'optimizer'], ['host', 'host_ns', 'host'], ['exposed communication', 'exposed_communication_ns', 'communication'],
  ['waiting for other ranks', 'bubble_ns', 'bubble']];
const kPhaseFills = {forward: 'forward', recompute: 'other', backward: 'backward', optimizer: 'optimizer'};
const kCurveFills = ['compute', 'optimizer', 'memory', 'communication', 'forward', 'host', 'backward', 'other'];
const kMostRows = 24;
const kFewOfCapacity = 0.04;  // below this, what is used could not be seen beside the capacity

function part(id, title, ...children) {
  return element('section', {class: 'part', id, 'aria-label': title}, element('h2', null, title), ...children);
}

const note = (text) => element('p', {class: 'muted'}, text);
const orDash = (value, text) => value === null || value === undefined ? '\u2013' : text(value);
const dollars = (value) => `$${value >= 100 ? formatCount(Math.round(value)) : value.toPrecision(3)}`;

/** A line for each row of memory, over what the step does; of many rows those with most. */
function memoryCurves(rows, options) {
  const shown = rows.map((row, at) => ({...row, at})).sort((a, b) => b.most - a.most).slice(0, kCurveFills.length).sort((a, b) => a.at - b.at);
  const series = shown.map((row, i) => ({name: row.label, fill: kCurveFills[i], x: row.curve.at, y: row.curve.used_bytes, dots: false}));
  const text = (value) => value === 0 ? '0' : formatBytes(value);
  const capacity = Math.min(...shown.map((row) => row.capacity ?? Infinity));
  const at = (row, x) => {
    let low = 0, high = row.curve.at.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row.curve.at[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return row.curve.used_bytes[Math.max(low - 1, 0)];
  };
  const plot = new JobPlot({label: options.label, xName: options.xName, zero: true, bytes: true, text, xText: options.xText, height: 300,
    lines: Number.isFinite(capacity) ? [{y: capacity, name: `capacity ${formatBytes(capacity)}`, fill: 'communication'}] : [], series,
    tell: (x) => [options.at(x), ...shown.map((row) => `${row.label}: ${formatBytes(at(row, x))}`)]});
  const legend = element('div', {class: 'plot-legend'}, ...shown.map((row, i) =>
    element('span', null, element('span', {class: `line-swatch stroke-${kCurveFills[i]}`}), row.label)));
  return [legend, plot.root, rows.length > shown.length ? note(`The ${shown.length} of ${formatCount(rows.length)} with most are drawn.`) : null];
}

// What a step costs: nadi show.

function stepParts(answer, more) {
  const {memory, total} = answer;
  const cards = element('div', {class: 'cards'},
      jobCard('Parameters', formatCount(answer.parameters), `on rank ${answer.rank.rank} of ${formatCount(answer.plan.world_size)}`),
      jobCard('Work of a step', formatAmount(total.flops, 'FLOP'), `${counted(total.ops, 'op')}`),
      jobCard('Moved', formatBytes(total.read_bytes + total.written_bytes), `${formatRate(total.flops / Math.max(total.read_bytes + total.written_bytes, 1), 'FLOP/B')}`),
      jobCard('Memory', formatBytes(memory.total_bytes), `at most ${formatBytes(memory.peak_live_bytes)} of values alive at once`));
  const stageName = (stage, at) => more.stages.length === 1 ? `rank ${stage.rank}` : `stage ${at}, rank ${stage.rank}`;
  const parts = kMemoryParts.map(([name, , fill]) => ({name, fill}));
  const bars = partsChart({label: 'Memory by part', parts, bytes: true, text: formatBytes, rows: more.stages.map((stage, at) => ({label: stageName(stage, at),
    values: kMemoryParts.map(([, key]) => stage.memory[key]), whole: stage.memory.total_bytes}))});
  const phases = more.stages[0].over_step.phases;
  const phaseAt = (x) => phases.filter((phase) => phase.at <= x).at(-1)?.name ?? '';
  const curves = memoryCurves(more.stages.map((stage, at) => ({label: stageName(stage, at), curve: stage.over_step, most: Math.max(...stage.over_step.used_bytes, 0)})),
      {label: 'Memory over the step', xName: 'op of the step, in order', xText: (x) => formatCount(x), at: (x) => `op ${formatCount(x)}, ${phaseAt(x)}`});
  return [part('summary', 'Summary', cards),
          part('memory', 'Memory by part', note('Variables stay for the whole step; activations are what values take at most, gaps of their arena included.'), bars),
          part('over-step', 'Memory over the step', note('Variables and the values that are alive while each op runs.'), ...curves.filter(Boolean)),
          part('layers', 'Cost by layer', ...layerMap(answer))];
}

const kCostChoices = [['flops', 'work', (value) => formatAmount(value, 'FLOP'), (cost) => cost.flops], ['moved', 'bytes moved', formatBytes, (cost) => cost.read_bytes + cost.written_bytes]];

function layerMap(answer) {
  const place = element('div');
  const show = ([key, name, text, of]) => {
    place.replaceChildren(costMap({label: `${name} by layer`, text, entries: answer.layers.map((layer) => ({name: layer.name,
      parts: layer.phases.map((phase) => ({name: phase.phase, fill: kPhaseFills[phase.phase] ?? 'other', value: of(phase)}))}))}));
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.key === key));
    offerSaves(place);
  };
  const buttons = kCostChoices.map((choice) => element('button', {class: 'tool', type: 'button', 'data-key': choice[0], onclick: () => show(choice)}, choice[1]));
  const columns = [{title: 'layer', name: true}, {title: 'parameters', figure: true}, {title: 'work', figure: true}, {title: 'share', figure: true},
                   {title: 'moved', figure: true}, {title: 'intensity', figure: true}];
  const rows = answer.layers.map((layer) => {
    const moved = layer.read_bytes + layer.written_bytes;
    return {cells: [oneLine(layer.name, 80), formatCount(layer.parameters), formatAmount(layer.flops, 'FLOP'), formatShare(layer.flops / Math.max(answer.total.flops, 1)),
      formatBytes(moved), formatRate(layer.flops / Math.max(moved, 1), 'FLOP/B')]};
  });
  // Drawn once it is part of the page: what is too small to be saved is told by its size there.
  queueMicrotask(() => show(kCostChoices[0]));
  const used = new Set(answer.layers.flatMap((layer) => layer.phases.filter((phase) => phase.flops > 0).map((phase) => phase.phase)));
  const legend = element('div', {class: 'plot-legend'}, ...[...used].map((phase) => element('span', null, element('span', {class: `swatch fill-${kPhaseFills[phase] ?? 'other'}`}), phase)));
  return [element('div', {class: 'plot-bar'}, note('An area for each layer and phase, as large as its'), ...buttons, legend), place, jobTable(columns, rows, {id: 'layer-table', label: 'layers', most: kMostRows})];
}

// How long it takes: nadi simulate.

function simulationParts(answer, more) {
  const {fullest_memory: fullest, cost} = answer;
  const cards = element('div', {class: 'cards'},
      jobCard('Iteration', formatTime(1e9 * answer.iteration_time_s), answer.measured ? `${signedShare(answer.measured.error)} against ${formatTime(1e9 * answer.measured.iteration_time_s)} measured` : 'predicted'),
      answer.tokens_per_s === null ? null : jobCard('Throughput', formatSpeed(answer.tokens_per_s, 'tokens/s'), orDash(answer.model_flops_utilization, (value) => `MFU ${formatShare(value)}`)),
      fullest === null ? null : jobCard('Fullest device', formatBytes(fullest.peak_bytes), `of ${formatBytes(fullest.capacity_bytes)} on rank ${fullest.rank}${fullest.fits ? '' : ': does not fit'}`, fullest.fits ? '' : 'bad'),
      cost.dollars_per_step === null ? null : jobCard('Cost', dollars(cost.dollars_per_step), `a step; ${orDash(cost.dollars_per_million_tokens, dollars)} a million tokens`));
  const rankName = (row) => /[-,]/.test(row.ranks) ? `ranks ${row.ranks}` : `rank ${row.ranks}`;
  const parts = [part('summary', 'Summary', cards)];
  const times = answer.ranks.slice(0, kMostRows);
  parts.push(part('time', 'Where the time goes', partsChart({label: 'Time of each rank', parts: kTimeParts.map(([name, , fill]) => ({name, fill})), text: formatTime,
    rows: times.map((row) => ({label: rankName(row), values: kTimeParts.map(([, key]) => row[key])}))}), restNote(answer.ranks.length)));
  const used = answer.memory.map((row, at) => ({...row, at})).filter((row) => row.peak_bytes > 0);
  const isFew = used.every((row) => !row.capacity_bytes || row.peak_bytes < kFewOfCapacity * row.capacity_bytes);
  const memory = used.map((row) => isFew ? {...row, capacity_bytes: null} : row);
  const capacityNote = !isFew ? 'The mark is the capacity of the device.' :
      fullest?.capacity_bytes ? `At most ${formatShare(fullest.peak_bytes / fullest.capacity_bytes)} of the capacity, ${formatBytes(fullest.capacity_bytes)}, which is not drawn.` : 'The capacity of the device is not known.';
  if (memory.length > 0) {
    const names = [...new Set(memory.flatMap((row) => row.at_peak.map((each) => each.what)))];
    const fills = names.map((name) => ({name, fill: kPeakFills[name] ?? 'other'}));
    parts.push(part('memory', 'Memory at its peak, by part', note(capacityNote), partsChart({label: 'Memory at its peak', parts: fills, bytes: true, text: formatBytes,
      rows: memory.slice(0, kMostRows).map((row) => ({label: rankName(row), capacity: row.capacity_bytes, whole: row.peak_bytes,
        values: names.map((name) => row.at_peak.find((each) => each.what === name)?.bytes ?? 0)}))}), restNote(memory.length)));
    const curves = memoryCurves(memory.map((row) => ({label: rankName(row), curve: more.memory_over_step[row.at], capacity: row.capacity_bytes, most: row.peak_bytes})),
        {label: 'Memory over the step', xName: 'time', xText: (x) => x === 0 ? '0' : formatTime(x), at: (x) => formatTime(x)});
    parts.push(part('over-step', 'Memory over the step', ...curves.filter(Boolean)));
  }
  parts.push(part('cluster', 'Cluster and traffic', ...trafficParts(answer, more)));
  if (answer.what_if.length > 0)
    parts.push(part('what-if', 'What if', jobTable([{title: 'change', name: true}, {title: 'iteration', figure: true}, {title: 'change of time', figure: true}],
        answer.what_if.map((row) => ({cells: [row.change, formatTime(row.iteration_time_ns), orDash(row.change_of_time, signedShare)]})), {id: 'what-if-table', label: 'what if'})));
  return parts;
}

function restNote(rows) {
  return rows > kMostRows ? note(`The first ${kMostRows} of ${formatCount(rows)} kinds of ranks are drawn.`) : null;
}

function trafficParts(answer, more) {
  const seconds = answer.iteration_time_s;
  const busy = (link) => link.bytes_per_second > 0 ? link.bytes / link.bytes_per_second / seconds : 0;
  const levels = jobTable([{title: 'level', name: true}, {title: 'fabric'}, {title: 'all its links', figure: true}],
      answer.traffic.map((row) => ({cells: [row.level, row.fabric, formatBytes(row.total_bytes)]})), {id: 'traffic-table', label: 'traffic by level'});
  if (answer.links.length === 0) return [note('The cluster has too many links for a picture of each.'), levels];
  const text = (link) => `${link.name}: ${formatBytes(link.bytes)} a step, at its full rate ${formatShare(busy(link))} of the time`;
  const loaded = [...answer.links].filter((link) => link.bytes > 0).sort((a, b) => busy(b) - busy(a) || b.bytes - a.bytes);
  return [note('Lines are as thick as what goes through a link in a step; each says its figure.'),
          linkMap({label: 'Cluster', nodes: more.nodes, links: answer.links, text}), levels,
          jobTable([{title: 'link', name: true}, {title: 'level'}, {title: 'a step', figure: true}, {title: 'rate', figure: true}, {title: 'of the time', figure: true}],
              loaded.map((link) => ({cells: [link.name, link.level, formatBytes(link.bytes), formatRate(link.bytes_per_second, 'B/s'), formatShare(busy(link))]})),
              {id: 'link-table', label: 'links', most: 12})];
}

// Why this plan: nadi plan --explain.

const kStageParts = [['computation', 'compute_ns', 'compute'], ['optimizer', 'optimizer_ns', 'optimizer'], ['exposed communication', 'exposed_ns', 'communication'],
  ['waiting for other stages', 'bubble_ns', 'bubble']];

function planParts(answer) {
  const [why] = answer.explanations;
  const plan = answer.plans[why.place - 1];
  const step = why.simulated_s ?? plan.simulated_s;
  const cards = element('div', {class: 'cards'}, jobCard('Step', formatTime(1e9 * step), `limited by ${why.limit}`),
      jobCard('Throughput', formatSpeed(plan.tokens_per_second, 'tokens/s'), `MFU ${formatShare(plan.model_flops_utilization)}`),
      jobCard('Fullest device', formatBytes(plan.memory_bytes), `of ${formatBytes(plan.capacity_bytes)}, stage ${why.fullest_stage}`),
      jobCard('Split', `tp ${plan.tp}, dp ${plan.dp}, pp ${plan.pp}`, `layers ${plan.partition.join('-')}`));
  const label = (stage, at) => `stage ${at}, ${counted(stage.layers, 'layer')}`;
  const stages = [part('summary', 'Summary', cards),
    part('balance', 'Balance of the stages', note(`Stage ${why.slowest_stage} computes longest.`),
        partsChart({label: 'Time of each stage', parts: kStageParts.map(([name, , fill]) => ({name, fill})), text: formatTime,
          rows: why.stages.map((stage, at) => ({label: label(stage, at), values: kStageParts.map(([, key]) => stage[key])}))}),
        jobTable([{title: 'stage', figure: true}, {title: 'ranks'}, {title: 'device'}, {title: 'layers', figure: true}, {title: 'computation', figure: true}, {title: 'optimizer', figure: true},
          {title: 'exposed', figure: true}, {title: 'waiting', figure: true}, {title: 'memory', figure: true}, {title: 'of', figure: true}],
        why.stages.map((stage, at) => ({cells: [at, stage.first_rank === stage.last_rank ? stage.first_rank : `${stage.first_rank}\u2013${stage.last_rank}`, stage.device, stage.layers, formatTime(stage.compute_ns),
          formatTime(stage.optimizer_ns), formatTime(stage.exposed_ns), formatTime(stage.bubble_ns), formatBytes(stage.memory_bytes), formatBytes(stage.capacity_bytes)]})), {id: 'stage-table', label: 'stages', most: kMostRows})),
    part('memory', 'Memory of the stages', note('The mark is the capacity of the device.'),
        partsChart({label: 'Memory of each stage', parts: [{name: 'memory', fill: 'memory'}], bytes: true, text: formatBytes,
          rows: why.stages.map((stage, at) => ({label: label(stage, at), values: [stage.memory_bytes], capacity: stage.capacity_bytes}))}))];
  if (why.alternatives.length > 0)
    stages.push(part('alternatives', 'What else could be chosen',
        partsChart({label: 'Step of each alternative', parts: [{name: 'step', fill: 'compute'}], text: formatTime,
          rows: [{label: 'this plan', values: [1e9 * step]}, ...why.alternatives.filter((other) => other.step_s !== null).map((other) => ({label: `${other.knob}: ${other.choice}`, values: [1e9 * other.step_s]}))]}),
        jobTable([{title: 'choice', name: true}, {title: 'step', figure: true}, {title: 'against this plan', figure: true}, {title: 'memory', figure: true}, {title: 'remark'}],
            why.alternatives.map((other) => ({cells: [`${other.knob}: ${other.choice}`, orDash(other.step_s, (value) => formatTime(1e9 * value)),
              orDash(other.step_s, (value) => signedShare(value / step - 1)), orDash(other.memory_bytes, formatBytes),
              other.fits ? '' : `does not fit: ${orDash(other.missing_bytes, formatBytes)} missing`]})), {id: 'alternative-table', label: 'alternatives'})));
  return stages;
}

// What a machine was measured to do: nadi calibrate.

const kOpFills = ['compute', 'memory', 'optimizer', 'communication', 'host', 'forward', 'backward', 'other'];

function calibrationParts(answer, more) {
  const parts = [part('summary', 'Measured', jobTable([{title: 'ranks', figure: true}, {title: 'device', name: true}, {title: 'products', figure: true}, {title: 'memory', figure: true},
    {title: 'between kernels', figure: true}, {title: 'ops', figure: true}],
  answer.ranks.map((row) => ({cells: [row.ranks, row.product, formatRate(row.matrix_flops_per_second, 'FLOP/s'), formatRate(row.memory_bytes_per_second, 'B/s'),
    formatTime(row.between_kernels_ns), formatCount(row.ops)]})), {id: 'machine-table', label: 'machine'}))];
  for (const {ranks, rows} of more.ops) {
    if (rows.length === 0) continue;
    const errors = rows.map((row) => Math.abs(row.predicted_ns / row.measured_ns - 1)).sort((a, b) => a - b);
    const within = (band) => formatShare(errors.filter((error) => error <= band).length / errors.length);
    const kinds = [...new Set(rows.map((row) => row.kind))];
    const fill = (kind) => kOpFills[Math.min(kinds.indexOf(kind), kOpFills.length - 1)];
    const worst = [...rows].sort((a, b) => Math.abs(Math.log(b.predicted_ns / b.measured_ns)) - Math.abs(Math.log(a.predicted_ns / a.measured_ns))).slice(0, 40);
    parts.push(part(`ops-${ranks}`, `Ops with ${counted(ranks, 'rank')}: measured, and what the others say`,
        note(`Each op is left out of the table and predicted from the rest of it: what a simulation does with an op that was not measured. ` +
            `Median error ${formatShare(errors[errors.length >> 1])}; ${within(0.1)} within 10 %, ${within(0.25)} within 25 %, of ${counted(rows.length, 'op')}.`),
        element('div', {class: 'plot-legend'}, ...kinds.slice(0, kOpFills.length).map((kind, i) => element('span', null, element('span', {class: `swatch fill-${kOpFills[i]}`}),
            i === kOpFills.length - 1 && kinds.length > kOpFills.length ? 'others' : kind))),
        errorChart({label: `Predicted against measured, ${counted(ranks, 'rank')}`, names: ['measured', 'predicted'], text: formatTime,
          rows: rows.map((row) => ({name: `${row.kind} ${row.work}`, measured: row.measured_ns, predicted: row.predicted_ns, fill: fill(row.kind)}))}),
        jobTable([{title: 'op', name: true}, {title: 'work'}, {title: 'measured', figure: true}, {title: 'predicted', figure: true}, {title: 'error', figure: true}],
            worst.map((row) => ({cells: [row.kind, row.work, formatTime(row.measured_ns), formatTime(row.predicted_ns), signedShare(row.predicted_ns / row.measured_ns - 1)]})),
            {id: `op-table-${ranks}`, label: `largest errors, ${counted(ranks, 'rank')}`, most: 12})));
  }
  return parts;
}

const kAnswerParts = {step: stepParts, simulation: simulationParts, plan: planParts, calibration: calibrationParts};

async function openAnswer() {
  const head = pageHead();
  const decoder = new TextDecoder();
  const [answer, more] = (await Promise.all([readBlock('answer'), readBlock('more')])).map((bytes) => JSON.parse(decoder.decode(bytes)));
  document.body.classList.add('job-page');
  const {tools, main} = openShell(head);
  const help = helpDialog([['T', 'light or dark'], ['?', 'this help']]);
  tools.append(copyLinkButton(), element('button', {class: 'tool', type: 'button', onclick: () => help.showModal()}, 'Keys'));
  const parts = kAnswerParts[head.kind](answer, more);
  main.append(...parts);
  main.before(element('nav', {class: 'sections', 'aria-label': 'Sections'}, ...parts.map((each) => element('a', {href: '#' + each.id}, each.getAttribute('aria-label')))));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  offerSaves(main);
  showLinkedPart();
  document.addEventListener('keydown', (event) => {
    if (isTyping(event) || help.open || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 't') toggleTheme();
    if (event.key === '?') help.showModal();
  });
  document.documentElement.dataset.ready = 'true';
}

openAnswer().catch(showFailure);
