// The page of `nadi job report`: what a job was asked to do, what it did, how fast, and what went wrong.
import {element, oneLine} from './dom.js';
import {formatBytes, formatCount, formatShare, formatSpeed, formatTime} from './format.js';
import {DeviceMap} from './job_devices.js';
import {asNumber, counted, dateText, comparedText, jobCard, jobTable, nameList, shortNumber, timeOrDash} from './job_figures.js';
import {JobPlot} from './job_plot.js';
import {pageHead, readBlock} from './page_data.js';
import {copyLinkButton, showLinkedPart} from './page_link.js';
import {offerSaves} from './page_saves.js';
import {helpDialog, isTyping, openShell, showFailure} from './shell.js';
import {toggleTheme} from './theme.js';
import {TimelineData} from './timeline_data.js';
import {TimelineFrame} from './timeline_frame.js';

const kJobKeys = [['J', 'next section'], ['K', 'section before'], ['\u2190 \u2192', 'in a plot or a map: from point to point'], ['\u2191 \u2193', 'in the map of devices: from device to device'],
  ['T', 'light or dark'], ['?', 'this list']];

/** @param {any} report */
function headlineCards(report) {
  const {steady, split} = report;
  const cards = [];
  if (steady.lines > 0) {
    const spread = steady.lines > 1 ? ` \u00b1\u202f${formatTime(steady.deviation_ns)}` : '';
    cards.push(jobCard('Steady iteration', formatTime(steady.mean_ns) + spread,
        `${counted(steady.lines, 'line')} of the log, iterations ${formatCount(steady.first_iteration)} to ${formatCount(steady.last_iteration)}; ${formatTime(steady.least_ns)} to ${formatTime(steady.most_ns)}` +
        (steady.unsure ? '; one line alone: it may be warm-up' : '')));
  } else {
    cards.push(jobCard('Steady iteration', '\u2013', 'no line of the log has a time'));
  }
  cards.push(steady.warm_up_lines > 0 ?
      jobCard('Warm-up', formatTime(steady.warm_up_mean_ns), `mean of ${counted(steady.warm_up_lines, 'line')}, left out of the steady time`) :
      jobCard('Warm-up', 'none', 'no line at a start is slower than the rest'));
  const done = report.all_iterations > 0 ? `${formatCount(report.iterations)} of ${formatCount(report.all_iterations)}` : formatCount(report.iterations);
  cards.push(jobCard('Iterations', done, report.all_iterations > 0 ? formatShare(report.iterations / report.all_iterations) + ' of the run' : ''));
  const speed = [];
  if (report.samples_per_second !== null) speed.push(formatSpeed(report.samples_per_second, 'samples/s'));
  if (report.tflops_per_rank !== null) speed.push(formatSpeed(report.tflops_per_rank, 'TFLOP/s per GPU'));
  if (report.tokens_per_second !== null) cards.push(jobCard('Throughput', formatSpeed(report.tokens_per_second, 'tokens/s'), speed.join(', ')));
  else if (speed.length > 0) cards.push(jobCard('Throughput', speed[0], speed.slice(1).join(', ')));
  if (report.last_loss !== null) {
    const bad = typeof report.last_loss === 'string';
    cards.push(jobCard('Loss', bad ? report.last_loss : String(Number(report.last_loss.toPrecision(5))), bad ? 'not a number' : `at iteration ${formatCount(report.iterations)}`, bad ? 'bad' : ''));
  }
  const factors = [['tensor', split.tensor], ['context', split.context], ['data', split.data], ['pipeline', split.pipeline]].filter(([, size]) => size !== null);
  if (split.world_size !== null)
    cards.push(jobCard('Ranks', formatCount(split.world_size), factors.map(([name, size]) => `${name} ${size}`).join(' \u00d7 ') +
        (split.micro_batches !== null ? `; ${counted(split.micro_batches, 'micro-batch', 'micro-batches')} of ${split.micro_batch}` : '')));
  const missing = report.missing_node_ranks.length;
  cards.push(jobCard('Nodes', formatCount(report.nodes.length) + (split.nodes !== null && split.nodes !== report.nodes.length ? ` of ${formatCount(split.nodes)}` : ''),
      missing > 0 ? `no files of node${missing === 1 ? '' : 's'} ${nameList(report.missing_node_ranks.map(String), 8)}` : report.nodes[0]?.devices ?? '', missing > 0 ? 'bad' : ''));
  const errors = report.errors.reduce((sum, group) => sum + group.count, 0);
  cards.push(jobCard('Errors', formatCount(errors), errors > 0 ? `in ${counted(report.errors.length, 'group')}; ${counted(report.warnings, 'warning')} besides` : counted(report.warnings, 'warning'), errors > 0 ? 'bad' : ''));
  return element('div', {class: 'cards'}, ...cards);
}

/** Figures of an iteration for the cursor. @param {any} points @param {number} iteration @param {string} name */
function pointTexts(points, iteration, name) {
  const at = points.last.indexOf(iteration);
  if (at < 0) return [];
  const lines = [];
  if (points.mean_ns[at] !== null) lines.push(`${name}${formatTime(points.mean_ns[at])}` + (points.warm_up[at] ? ', warm-up' : '') + (points.lines[at] > 1 ? `, mean of ${points.lines[at]} lines (${formatTime(points.least_ns[at])} to ${formatTime(points.most_ns[at])})` : ''));
  if (points.loss[at] !== null) lines.push(`${name}loss ${points.loss[at]}`);
  if (points.tflops_per_rank[at] !== null) lines.push(name + formatSpeed(points.tflops_per_rank[at], 'TFLOP/s per GPU'));
  if (points.tokens_per_second[at] !== null) lines.push(name + formatSpeed(points.tokens_per_second[at], 'tokens/s'));
  if (points.grad_norm[at] !== null) lines.push(`${name}gradient norm ${points.grad_norm[at]}`);
  if (points.date[at] !== null) lines.push(dateText(points.date[at]));
  if (points.start[at] > 0) lines.push(`${name}start ${points.start[at] + 1} of the job`);
  return lines;
}

/** @param {any} points @param {string} name @param {string} fill @param {boolean} dashed */
function timeSeries(points, name, fill, dashed) {
  const merged = points.lines.some((lines) => lines > 1);
  return {name, fill, dashed, x: points.last, y: points.mean_ns.map(asNumber), marked: points.warm_up,
    least: merged ? points.least_ns.map(asNumber) : undefined, most: merged ? points.most_ns.map(asNumber) : undefined};
}

/** @param {Array<[string, string, boolean]>} entries name, colour, dashed */
function plotLegend(entries) {
  return element('div', {class: 'plot-legend'}, ...entries.map(([name, fill, dashed]) => element('span', null, element('i', {class: `line-swatch stroke-${fill}${dashed ? ' dashed' : ''}`}), name)));
}

/** @param {any} report */
function iterationSection(report) {
  const {points, comparison, steady} = report;
  if (points.last.length === 0) return null;
  const tell = (iteration) => [`iteration ${formatCount(iteration)}`, ...pointTexts(points, iteration, comparison ? 'this job: ' : ''),
    ...(comparison ? pointTexts(comparison.points, iteration, 'other: ') : [])];
  const parts = [];
  const hasTimes = points.mean_ns.some((value) => value !== null);
  if (hasTimes) {
    const lines = steady.lines > 0 ? [{y: steady.mean_ns, name: `steady ${formatTime(steady.mean_ns)}`, fill: 'memory'}] : [];
    const predicted = report.prediction?.simulated_ns ?? report.prediction?.planned_ns ?? null;
    if (predicted !== null) lines.push({y: predicted, name: `predicted ${formatTime(predicted)}`, fill: 'communication'});
    const plot = new JobPlot({label: 'Time of an iteration', xName: 'iteration', zero: true, text: (value) => value === 0 ? '0' : formatTime(value), tell, lines,
      series: [timeSeries(points, 'this job', 'compute', false), ...(comparison ? [timeSeries(comparison.points, 'other', 'optimizer', true)] : [])]});
    const button = element('button', {class: 'tool', type: 'button', id: 'log-times', 'aria-pressed': 'false', onclick: () => {
      plot.setLogarithmic(!plot.logarithmic);
      button.setAttribute('aria-pressed', String(plot.logarithmic));
    }}, 'Log scale');
    parts.push(element('div', {class: 'plot-bar'}, element('h3', null, 'Time of an iteration'), plotLegend([['this job', 'compute', false], ...(comparison ? [[comparison.job, 'optimizer', true]] : [])]),
        element('span', {class: 'muted'}, 'large dots: warm-up'), button), plot.root);
  }
  const rows = points.last.map((last, at) => ({mark: points.warm_up[at] ? 'warm-up' : null, cells: [
    points.first[at] === last ? formatCount(last) : `${formatCount(points.first[at])} \u2026 ${formatCount(last)}`, timeOrDash(points.mean_ns[at]), points.warm_up[at] ? 'warm-up' : '',
    points.loss[at] ?? '\u2013', points.grad_norm[at] ?? '\u2013', points.tflops_per_rank[at] ?? '\u2013', points.learning_rate[at] ?? '\u2013', points.date[at] === null ? '\u2013' : dateText(points.date[at])]}));
  const columns = [{title: 'iteration', figure: true}, {title: 'time', figure: true}, {title: ''}, {title: 'loss', figure: true}, {title: 'gradient norm', figure: true},
    {title: 'TFLOP/s per GPU', figure: true}, {title: 'learning rate', figure: true}, {title: 'date'}];
  parts.push(jobTable(...withoutEmptyColumns(columns, rows), {most: 8, id: 'iterations-table', label: 'Lines of iterations'}));
  return section('iterations', 'Iterations', ...parts);
}

/**
 * Columns in which no row has anything, but for the first two, are left out.
 * @param {any[]} columns @param {any[]} rows @returns {[any[], any[]]}
 */
function withoutEmptyColumns(columns, rows) {
  const kept = columns.map((_, place) => place).filter((place) => place <= 1 || rows.some((row) => row.cells[place] !== '\u2013' && row.cells[place] !== ''));
  return [kept.map((place) => columns[place]), rows.map((row) => ({...row, cells: kept.map((place) => row.cells[place])}))];
}

/** @param {any} report */
function lossSection(report) {
  const {points, comparison, validations} = report;
  if (!points.loss.some((value) => value !== null)) return null;
  const series = [{name: 'loss', fill: 'compute', x: points.last, y: points.loss.map(asNumber)}];
  const legend = [[comparison ? 'this job' : 'loss', 'compute', false]];
  if (validations.length > 0) {
    series.push({name: 'validation', fill: 'memory', x: validations.map((point) => point.iteration), y: validations.map((point) => asNumber(point.loss)), dots: true});
    legend.push(['validation loss', 'memory', false]);
  }
  if (comparison) {
    series.push({name: 'other', fill: 'optimizer', dashed: true, x: comparison.points.last, y: comparison.points.loss.map(asNumber)});
    legend.push([comparison.job, 'optimizer', true]);
  }
  const tell = (iteration) => {
    const at = points.last.indexOf(iteration);
    const other = comparison ? comparison.points.last.indexOf(iteration) : -1;
    const validation = validations.find((point) => point.iteration === iteration);
    return [`iteration ${formatCount(iteration)}`, ...(at >= 0 && points.loss[at] !== null ? [`loss ${points.loss[at]}`] : []),
      ...(validation ? [`validation loss ${validation.loss}`] : []), ...(other >= 0 && comparison.points.loss[other] !== null ? [`other: loss ${comparison.points.loss[other]}`] : [])];
  };
  const plot = new JobPlot({label: 'Loss', xName: 'iteration', text: (value) => String(Number(value.toPrecision(4))), tell, series});
  const bad = points.loss.filter((value) => typeof value === 'string').length;
  return section('loss', 'Loss', element('div', {class: 'plot-bar'}, plotLegend(legend)), plot.root,
      bad > 0 ? element('p', {class: 'bad-note'}, `${counted(bad, 'point')} of the curve ${bad === 1 ? 'is' : 'are'} not a number, first at iteration ${formatCount(points.last[points.loss.findIndex((value) => typeof value === 'string')])}: the curve has a gap there.`) : null);
}

const kRateCurves = [{key: 'learning_rate', title: 'Learning rate', fill: 'optimizer'}, {key: 'grad_norm', title: 'Gradient norm', fill: 'memory'},
  {key: 'tflops_per_rank', title: 'TFLOP/s per GPU', fill: 'compute'}];

/** 0.000015 as "1.5e-5". @param {number} value */
function curveText(value) {
  const short = Number(value.toPrecision(3));
  return short !== 0 && Math.abs(short) < 1e-3 ? short.toExponential() : String(short);
}

/** Other figures of the log over the iterations, where it has them. @param {any} report */
function rateSection(report) {
  const {points} = report;
  const curves = kRateCurves.filter(({key}) => points[key].filter((value) => typeof value === 'number').length > 1);
  if (curves.length === 0) return null;
  return section('rates', 'Rates', ...curves.flatMap(({key, title, fill}) => [element('h3', null, title), new JobPlot({label: title, xName: 'iteration', height: 180,
    text: curveText, series: [{name: title, fill, x: points.last, y: points[key].map(asNumber)}],
    tell: (iteration) => [`iteration ${formatCount(iteration)}`, `${title.toLowerCase()} ${points[key][points.last.indexOf(iteration)] ?? '\u2013'}`]}).root]));
}

/** @param {any} report */
function findingsSection(report) {
  if (report.findings === null) return null;
  return section('health', 'Health', report.findings.length === 0 ? element('p', {class: 'good-note'}, 'No rule found anything.') : findingList(report.findings));
}

/** @param {any[]} findings */
function findingList(findings) {
  return element('ul', {class: 'findings'}, ...findings.map((finding) => element('li', {class: `finding ${finding.severity}`},
      element('span', {class: 'badge'}, finding.severity), element('strong', null, oneLine(finding.rule, 80)), element('p', {class: 'name'}, oneLine(finding.text, 1000)),
      finding.evidence.length > 0 ? element('pre', {class: 'evidence', tabindex: '0'}, finding.evidence.map((line) => oneLine(line, 400)).join('\n')) : null)));
}

/** @param {any} report */
function predictionSection(report) {
  const {prediction} = report;
  if (prediction === null) return null;
  const predicted = prediction.simulated_ns ?? prediction.planned_ns;
  const ratio = prediction.measured_over_predicted;
  const cards = [jobCard('Predicted step', timeOrDash(predicted), prediction.simulated_ns !== null ? `simulated on ${prediction.cluster}` : 'as the plan file says'),
    jobCard('Measured step', timeOrDash(prediction.measured_ns), 'steady iterations'),
    jobCard('Measured / predicted', ratio === null ? '\u2013' : ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(3), ratio === null ? '' : ratio >= 2 ? `${ratio.toFixed(1)} times as long as predicted` : ratio >= 1 ? `${formatShare(ratio - 1)} slower than predicted` : `${formatShare(1 - ratio)} faster than predicted`)];
  const rows = prediction.stages.map((stage) => ({cells: [stage.stage, timeOrDash(stage.forward_ns), timeOrDash(stage.measured_forward_ns), timeOrDash(stage.backward_ns), timeOrDash(stage.measured_backward_ns), timeOrDash(stage.bubble_ns), formatBytes(stage.memory_bytes)]}));
  return section('prediction', 'Prediction', element('p', {class: 'muted'}, `Plan ${oneLine(prediction.plan, 300)}, model ${oneLine(prediction.model, 100)}.`), element('div', {class: 'cards'}, ...cards),
      prediction.other_settings.length > 0 ? element('p', {class: 'bad-note'}, `The job does not follow the plan: ${prediction.other_settings.join('; ')}. The prediction is for other settings.`) : null,
      prediction.problem ? element('p', {class: 'bad-note'}, `The plan was not simulated: ${oneLine(prediction.problem, 600)}`) : null,
      rows.length > 0 ? jobTable([{title: 'stage', figure: true}, {title: 'forward, predicted', figure: true}, {title: 'measured', figure: true}, {title: 'backward, predicted', figure: true}, {title: 'measured', figure: true}, {title: 'bubble, predicted', figure: true}, {title: 'memory, predicted', figure: true}],
          rows, {id: 'prediction-stages', label: 'Predicted and measured stages'}) : null,
      rows.length > 0 ? element('p', {class: 'muted'}, 'Predicted: computation of all micro-batches of a step, of the slowest rank of the stage. Measured: the timers forward-compute and backward-compute, mean over the ranks of the stage.') : null);
}

/** @param {any} report */
function timersSection(report) {
  const {timers} = report;
  if (timers === null) return null;
  const most = Math.max(...timers.timers.map((timer) => timer.most_ns), 1);
  // As long as the slowest rank; light behind the fastest.
  const bar = (timer) => {
    const track = element('div', {class: 'range-track', 'aria-hidden': 'true'});
    for (const [value, kind] of [[timer.most_ns, 'most'], [timer.least_ns ?? timer.most_ns, 'least']]) {
      const piece = element('span', {class: kind});
      piece.style.width = `${Math.max(0.4, 100 * value / most).toFixed(2)}%`;
      track.append(piece);
    }
    return track;
  };
  const rows = timers.timers.map((timer) => ({cells: [timer.timer, bar(timer), timeOrDash(timer.least_ns), timeOrDash(timer.mean_ns), formatTime(timer.most_ns), timer.slowest_rank ?? '\u2013', timer.fastest_rank ?? '\u2013']}));
  const stages = timers.stages.map((stage) => ({cells: [stage.stage, stage.ranks, timeOrDash(stage.forward_ns), timeOrDash(stage.backward_ns), timeOrDash(stage.forward_backward_ns), stage.waiting_share === null ? '\u2013' : formatShare(stage.waiting_share)]}));
  return section('timers', 'Timers', element('p', {class: 'muted'}, `Of one iteration, as printed at iteration ${formatCount(timers.iteration)}: solid up to the fastest rank, light up to the slowest.`),
      jobTable([{title: 'timer', name: true}, {title: ''}, {title: 'least', figure: true}, {title: 'mean', figure: true}, {title: 'most', figure: true}, {title: 'slowest rank', figure: true}, {title: 'fastest rank', figure: true}], rows, {most: 24, id: 'timers-table', label: 'Timers'}),
      stages.length > 1 ? element('h3', null, 'Pipeline stages') : null,
      stages.length > 1 ? jobTable([{title: 'stage', figure: true}, {title: 'ranks', figure: true}, {title: 'forward', figure: true}, {title: 'backward', figure: true}, {title: 'forward-backward', figure: true}, {title: 'waiting', figure: true}], stages, {id: 'stages-table', label: 'Pipeline stages'}) : null);
}

/** @param {any} report */
function devicesSection(report) {
  const parts = [];
  if (report.devices.devices.length > 0) {
    const map = new DeviceMap(report.devices);
    globalThis.nadiDeviceMap = map;  // for tests and the console
    parts.push(map.root);
    if (report.devices.merged) parts.push(element('p', {class: 'muted'}, 'One column stands for several samples: use and power are means over them, temperature and memory the greatest values.'));
  } else {
    parts.push(element('p', {class: 'muted'}, 'No samples of devices were found.'));
  }
  const rows = report.nodes.map((node) => ({mark: node.errors > 0 ? 'bad' : null, cells: [node.node, node.node_rank ?? '\u2013', oneLine(node.devices || '\u2013', 60),
    node.mean_utilisation === null ? '\u2013' : shortNumber(node.mean_utilisation) + '\u202f%', node.most_temperature === null ? '\u2013' : shortNumber(node.most_temperature) + '\u202f\u00b0C',
    node.most_memory_bytes === null ? '\u2013' : formatBytes(node.most_memory_bytes), node.starts, node.errors, node.warnings, node.damaged_lines, formatBytes(node.log_bytes),
    [...node.missing_files.map((ending) => `no ${ending}`), ...node.problems].join('; ')]}));
  parts.push(element('h3', null, 'Nodes'), jobTable(...withoutEmptyColumns([{title: 'node', name: true}, {title: 'rank of node', figure: true}, {title: 'devices', name: true}, {title: 'mean use', figure: true}, {title: 'hottest', figure: true}, {title: 'most memory', figure: true},
    {title: 'starts', figure: true}, {title: 'errors', figure: true}, {title: 'warnings', figure: true}, {title: 'cut lines', figure: true}, {title: 'logs', figure: true}, {title: '', name: true}], rows), {id: 'nodes-table', label: 'Nodes'}));
  return section('devices', 'Nodes and GPUs', ...parts);
}

/** @param {any} report */
function memorySection(report) {
  const {memory} = report;
  if (memory.length === 0) return null;
  const most = Math.max(...memory.map((each) => Math.max(each.capacity_bytes ?? 0, each.most_reserved_bytes)), 1);
  const bar = (each) => {
    const track = element('div', {class: 'memory-track', 'aria-hidden': 'true'});
    for (const [key, kind] of [['most_reserved_bytes', 'reserved'], ['most_allocated_bytes', 'allocated']]) {
      const piece = element('span', {class: kind});
      piece.style.width = `${(100 * each[key] / most).toFixed(2)}%`;
      track.append(piece);
    }
    if (each.capacity_bytes !== null) {
      const limit = element('span', {class: 'capacity'});
      limit.style.left = `${(100 * each.capacity_bytes / most).toFixed(2)}%`;
      track.append(limit);
    }
    return track;
  };
  const rows = memory.map((each) => ({mark: each.capacity_bytes !== null && each.most_reserved_bytes > 0.97 * each.capacity_bytes ? 'bad' : null, cells: [each.rank, each.node, bar(each), formatBytes(each.most_allocated_bytes), formatBytes(each.most_reserved_bytes),
    each.capacity_bytes === null ? '\u2013' : formatBytes(each.capacity_bytes), each.capacity_bytes === null ? '\u2013' : formatShare(each.most_reserved_bytes / each.capacity_bytes)]}));
  return section('memory', 'Memory of ranks', element('p', {class: 'muted'}, 'As PyTorch\u2019s allocator counts it, printed once by the first data-parallel rank of each model part. Solid: most allocated; light: most reserved; the rule: the device\u2019s memory.'),
      jobTable([{title: 'rank', figure: true}, {title: 'node', name: true}, {title: ''}, {title: 'most allocated', figure: true}, {title: 'most reserved', figure: true}, {title: 'device', figure: true}, {title: 'reserved of it', figure: true}], rows, {id: 'memory-table', label: 'Memory of ranks'}));
}

/** @param {any} report */
function settingsSection(report) {
  const {settings} = report;
  if (settings.length === 0) return null;
  const asked = settings.some((setting) => setting.asked !== null);
  const differing = settings.filter((setting) => setting.differs).length;
  // Values of scripts, or of the program; with their nodes where they are several.
  const valueText = (setting, by) => {
    if (setting.own_to_node) return by === 'script' ? 'each node has its own' : '\u2013';
    const values = setting.in_effect.filter((value) => value.by === by);
    if (values.length === 0) return '\u2013';
    return values.length === 1 ? values[0].value : values.map((value) => `${value.value} (${nameList(value.nodes, 3)})`).join('; ');
  };
  const holder = element('div');
  const filter = /** @type {HTMLInputElement} */ (element('input', {type: 'search', placeholder: 'Filter settings', 'aria-label': 'Filter settings', oninput: () => fill()}));
  const only = element('button', {class: 'tool', type: 'button', id: 'only-differences', 'aria-pressed': 'false', onclick: () => {
    only.setAttribute('aria-pressed', String(only.getAttribute('aria-pressed') !== 'true'));
    fill();
  }}, 'Only differences');
  const fill = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
    const shown = settings.filter((setting) => (only.getAttribute('aria-pressed') !== 'true' || setting.differs) && words.every((word) => setting.name.toLowerCase().includes(word)));
    const rows = shown.map((setting) => ({mark: setting.differs ? 'bad' : null, cells: [oneLine(setting.name, 120), ...(asked ? [oneLine(setting.asked ?? '\u2013', 300)] : []),
      oneLine(valueText(setting, 'script'), 300), oneLine(valueText(setting, 'program'), 300), setting.differs ? 'differs' : '']}));
    holder.replaceChildren(rows.length === 0 ? element('p', {class: 'muted'}, 'No setting matches.') :
        jobTable([{title: 'setting', name: true}, ...(asked ? [{title: 'asked for', name: true}] : []), {title: 'printed by the scripts', name: true}, {title: 'by the program', name: true}, {title: ''}], rows, {most: 30, id: 'settings-table', label: 'Settings'}));
  };
  fill();
  return section('settings', 'Settings', element('p', {class: differing > 0 ? 'bad-note' : 'good-note'}, differing > 0 ? `${counted(differing, 'setting')} ${differing === 1 ? 'contradicts itself' : 'contradict themselves'}: asked for, printed by the scripts and in effect are not the same.` : 'What was asked for, what the scripts printed and what is in effect agree.'),
      element('div', {class: 'plot-bar'}, filter, differing > 0 ? only : null), holder,
      element('p', {class: 'muted'}, 'By the program: the list of arguments that Megatron-LM itself prints.'));
}

/** @param {any} report */
function errorsSection(report) {
  if (report.errors.length === 0) return section('errors', 'Errors', element('p', {class: 'good-note'}, `No errors; ${counted(report.warnings, 'warning')} on standard error.`));
  const rows = report.errors.map((group) => ({mark: group.sort === 'ended' ? null : 'bad', cells: [formatCount(group.count), group.sort, element('code', {class: 'error-text'}, oneLine(group.text, 500)), nameList(group.nodes, 4), `${group.file}:${group.line}`]}));
  return section('errors', 'Errors', element('p', {class: 'muted'}, 'Equal texts are one group; numbers, addresses and ranks in them do not count. The place is that of the first.'),
      jobTable([{title: 'times', figure: true}, {title: 'sort'}, {title: 'text', name: true}, {title: 'nodes', name: true}, {title: 'first at', name: true}], rows, {id: 'errors-table', label: 'Errors'}));
}

/** @param {any} report */
function schedulerSection(report) {
  const {scheduler} = report;
  if (scheduler === null) return null;
  return section('scheduler', scheduler.scheduler === 'slurm' ? 'What Slurm said' : 'What the scheduler said',
      element('table', {class: 'facts'}, element('tbody', null, ...Object.entries(scheduler.facts).map(([name, value]) => element('tr', null, element('th', {scope: 'row'}, oneLine(name, 60)), element('td', {class: 'name'}, oneLine(String(value), 400)))))),
      scheduler.tail.length > 0 ? element('pre', {class: 'evidence', tabindex: '0', 'aria-label': 'Last lines of slurm.txt'}, scheduler.tail.map((line) => oneLine(line, 400)).join('\n')) : null);
}

/** @param {any} report */
function comparisonSection(report) {
  const {comparison} = report;
  if (comparison === null) return null;
  const figures = comparison.figures.map((figure) => {
    const change = figure.change;
    const better = change === null || Math.abs(change) < 0.005 ? '' : (change < 0) === figure.less_is_better ? 'faster' : 'slower';
    return {cells: [figure.name, comparedText(figure.here, figure.unit), comparedText(figure.other, figure.unit), element('span', {class: better}, change === null ? '\u2013' : `${change > 0 ? '+' : change < 0 ? '\u2212' : ''}${formatShare(Math.abs(change))}`)]};
  });
  const settings = comparison.settings.map((setting) => ({cells: [setting.name, setting.here ?? 'not said', setting.other ?? 'not said']}));
  return section('comparison', `Compared with ${comparison.job}`, element('p', {class: 'muted'}, oneLine(comparison.title, 200)),
      jobTable([{title: 'figure', name: true}, {title: 'this job', figure: true}, {title: 'other', figure: true}, {title: 'change', figure: true}], figures, {id: 'comparison-figures', label: 'Figures of both jobs'}),
      comparison.findings.length > 0 ? element('h3', null, 'What ails the other') : null, comparison.findings.length > 0 ? findingList(comparison.findings) : null,
      element('h3', null, 'Settings that differ'), settings.length === 0 ? element('p', {class: 'muted'}, 'None that the logs show.') :
          jobTable([{title: 'setting', name: true}, {title: 'this job', name: true}, {title: 'other', name: true}], settings, {id: 'comparison-settings', label: 'Settings that differ'}));
}

/** @param {string} id @param {string} title @param {...(Node|null)} children */
function section(id, title, ...children) {
  return element('section', {class: 'part', id, 'aria-labelledby': `title-${id}`}, element('h2', {id: `title-${id}`, tabindex: '-1'}, title), ...children);
}

/** @param {any} head */
async function timelineSection(head) {
  if (!head.timeline) return null;
  const data = new TimelineData(head.timeline);
  await data.load();
  const tools = element('div', {class: 'tools', role: 'toolbar', 'aria-label': 'Tools of the timeline'});
  const place = element('div', {class: 'timeline-place'});
  const holder = element('div', {class: 'timeline-holder'}, tools, place);
  const made = section('timeline', 'Timeline of the ranks', element('p', {class: 'muted'}, oneLine(head.timeline.subtitle, 400)), holder,
      element('p', {class: 'muted'}, 'Drag to move, Ctrl and the wheel to zoom; click it first to use the wheel alone and the keys.'));
  return {made, open: () => {
    globalThis.nadiTimeline = new TimelineFrame(data, {tools, main: place, keysWithin: holder});
  }};
}

/** Keys of the page as a whole. @param {HTMLElement[]} parts @param {HTMLDialogElement} help */
function listenToJobKeys(parts, help) {
  const go = (by) => {
    const above = parts.filter((part) => part.getBoundingClientRect().top < 100).length - 1;
    const next = parts[Math.max(0, Math.min(parts.length - 1, above + by))];
    next.scrollIntoView({block: 'start'});
    /** @type {HTMLElement} */ (next.querySelector('h2')).focus({preventScroll: true});
  };
  addEventListener('keydown', (event) => {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    if (/** @type {HTMLElement} */ (event.target).closest?.('.timeline-holder')) return;
    if (event.key === 'j' || event.key === 'J') go(1);
    else if (event.key === 'k' || event.key === 'K') go(-1);
    else if (event.key === 't' || event.key === 'T') toggleTheme();
    else if (event.key === '?') help.showModal();
    else return;
    event.preventDefault();
  });
}

async function openJob() {
  const head = pageHead();
  document.documentElement.classList.add('job-page');
  const {tools, main, footer} = openShell(head);
  const report = JSON.parse(new TextDecoder().decode(await readBlock('job')));
  globalThis.nadiJob = report;  // for tests and the console
  const timeline = await timelineSection(head);
  const parts = /** @type {HTMLElement[]} */ ([
    section('summary', 'Summary', headlineCards(report)), findingsSection(report), comparisonSection(report), iterationSection(report), lossSection(report), rateSection(report), predictionSection(report),
    timeline?.made ?? null, timersSection(report), devicesSection(report), memorySection(report), settingsSection(report), errorsSection(report), schedulerSection(report),
    report.notes.length > 0 ? section('notes', 'Notes', element('ul', null, ...report.notes.map((note) => element('li', null, oneLine(note, 1000))))) : null,
  ].filter((part) => part !== null));
  const help = helpDialog(kJobKeys);
  tools.append(...(timeline ? [] : [copyLinkButton()]), element('button', {class: 'tool', type: 'button', onclick: () => help.showModal()}, 'Keys'));
  const nav = element('nav', {class: 'sections', 'aria-label': 'Sections'}, ...parts.map((part) => element('a', {href: `#${part.id}`}, part.querySelector('h2').textContent)));
  main.before(nav);
  main.append(...parts);
  footer.append(`Nadi ${report.nadi_version}. Folders: ${report.folders.map((folder) => oneLine(folder, 200)).join(', ')}`);
  timeline?.open();
  listenToJobKeys(parts, help);
  offerSaves(main);
  showLinkedPart();
  document.documentElement.dataset.ready = 'true';
}

openJob().catch((error) => {
  showFailure(error);
  document.documentElement.dataset.ready = 'failed';
});
