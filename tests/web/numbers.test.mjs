// Figures that pages show are those that the commands print as JSON, to the digits that are shown.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {program, run, startBrowser, testFolder} from './browser.mjs';

const folder = testFolder('numbers');
const file = (name) => path.join(folder, name);
const nadi = program('nadi', 'src/cli');
const units = {'': 1, '%': 0.01, 'ns': 1, 'µs': 1e3, 'us': 1e3, 'ms': 1e6, 's': 1e9, 'B': 1, 'KiB': 1024, 'MiB': 1024 ** 2, 'GiB': 1024 ** 3, 'TiB': 1024 ** 4,
  '$': 1, '°C': 1, 'GFLOP/s': 1e9, 'TFLOP/s': 1e12, 'GB/s': 1e9, 'MB/s': 1e6, 'FLOP': 1, 'kFLOP': 1e3, 'MFLOP': 1e6, 'GFLOP': 1e9, 'TFLOP': 1e12};
let browser;
let compared = 0;

/** The number in a text such as "1,234", "1.40 s" or "73.3 %", and half of its last digit. */
function shown(text) {
  const match = /^([+\-−]?)([\d,]*\.?\d+)(?:e([+-]?\d+))?\s*(\S*)$/.exec(text.replace(/[\u202f\u00a0]/g, ' ').trim());
  assert.ok(match, `'${text}' is no figure`);
  const [, sign, digits, power, unit] = match;
  assert.ok(unit in units, `'${text}' has an unknown unit`);
  const plain = digits.replaceAll(',', '');
  const decimals = plain.includes('.') ? plain.split('.')[1].length : 0;
  const scale = units[unit] * 10 ** Number(power ?? 0);
  return {value: (sign === '-' || sign === '−' ? -1 : 1) * Number(plain) * scale, slack: 0.5000001 * 10 ** -decimals * scale};
}

/** A figure of a page beside that of the JSON. What is rounded to three figures may lose those of a large number. */
function compare(text, value, what) {
  if (value === null) {
    assert.match(text.trim(), /^[–—-]?$/, what);
    return;
  }
  const {value: seen, slack} = shown(text);
  assert.ok(Math.abs(seen - value) <= Math.max(slack, 0.005 * Math.abs(value) * (Math.abs(seen) >= 1000 && slack >= 0.5 ? 0.2 : 0)),
      `${what}: the page says ${text}, JSON ${value}`);
  ++compared;
}

/** The texts of the cells of a table, by row. */
const cellsOf = (page, selector) => page.locator(`${selector} tbody tr`).evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText)));

before(async () => {
  browser = await startBrowser();
});
after(() => browser.stop());

test('the report of a job', async () => {
  run(program('job_logs_of_tests', 'tests/web'), file('log2'));
  const job = file('log2/10932251');
  const report = JSON.parse(run(nadi, 'job', 'report', job, '--json'));
  run(nadi, 'job', 'report', job, '-o', file('job.html'), '--force');
  const page = await browser.open(file('job.html'));
  const [steady, spread] = (await page.locator('.card', {hasText: 'Steady iteration'}).locator('.big').innerText()).split('±');
  compare(steady, report.steady.mean_ns, 'steady');
  compare(spread, report.steady.deviation_ns, 'its spread');
  compare((await page.locator('.card', {hasText: 'Throughput'}).locator('.big').innerText()).replace('tokens/s', ''), report.tokens_per_second, 'tokens per second');
  compare(await page.locator('.card', {has: page.locator('h3', {hasText: /^Warm-up$/})}).locator('.big').innerText(), report.steady.warm_up_mean_ns, 'warm-up');
  const timers = await cellsOf(page, '#timers-table');
  report.timers.timers.forEach((timer, row) => {
    compare(timers[row][2], timer.least_ns, `${timer.timer}, least`);
    compare(timers[row][3], timer.mean_ns, `${timer.timer}, mean`);
    compare(timers[row][4], timer.most_ns, `${timer.timer}, most`);
  });
  const memory = await cellsOf(page, '#memory-table');
  report.memory.forEach((each, row) => {
    compare(memory[row][3], each.most_allocated_bytes, `allocated by rank ${each.rank}`);
    compare(memory[row][4], each.most_reserved_bytes, `reserved by rank ${each.rank}`);
    compare(memory[row][6], each.most_reserved_bytes / each.capacity_bytes, `share of rank ${each.rank}`);
  });
  const nodes = await page.locator('#nodes-table').evaluate((table) => {
    const titles = [...table.tHead.rows[0].cells].map((cell) => cell.innerText);
    return [...table.tBodies[0].rows].map((row) => Object.fromEntries([...row.cells].map((cell, at) => [titles[at], cell.innerText])));
  });
  report.nodes.forEach((node, row) => {
    compare(nodes[row]['mean use'], node.mean_utilisation / 100, `use of ${node.node}`);
    compare(nodes[row]['most memory'], node.most_memory_bytes, `memory of ${node.node}`);
    compare(nodes[row]['hottest'], node.most_temperature, `heat of ${node.node}`);
  });
  // What watches the job says the same time of an iteration.
  const watched = JSON.parse(spawnSync(nadi, ['job', 'watch', job, '--once', '--json'], {encoding: 'utf8'}).stdout);  // its errors make it exit with 1
  assert.equal(watched.iteration_ns, report.steady.mean_ns);
  ++compared;
  await page.close();
});

test('the front of plans', async () => {
  fs.writeFileSync(file('model.json'), JSON.stringify({model_type: 'gpt2', n_layer: 4, n_embd: 256, n_head: 4, n_positions: 128, vocab_size: 1024}));
  const node = (name, device, price) => ({name, count: 2, device, devices: 2, price, inside: {kind: 'pcie', bandwidth: '16 GB/s', latency: '5 us'}});
  fs.writeFileSync(file('cluster.json'), JSON.stringify({name: 'mixed', nodes: [node('fast', 'a100-40gb', '8 $/h'), node('slow', 'a10', '2 $/h')],
    levels: [{name: 'nodes', fabric: {kind: 'ethernet', bandwidth: '40 Gbit/s', latency: '20 us'}}]}));
  const answer = JSON.parse(run(nadi, 'plan', file('model.json'), '--cluster', file('cluster.json'), '--global-batch-size', '16', '--tp', '1', '--recompute', 'none',
      '--pareto', file('pareto.html'), '--force', '--json'));
  const page = await browser.open(file('pareto.html'));
  const rows = await cellsOf(page, '#front');
  const front = [...answer.front].sort((a, b) => (a.simulated_s ?? a.estimated_s) - (b.simulated_s ?? b.estimated_s));
  assert.equal(rows.length, front.length);
  assert.match(await page.locator('.note').first().innerText(), new RegExp(`^${front.length} plans? `));
  front.forEach((plan, row) => {
    compare(rows[row][1], 1e9 * (plan.simulated_s ?? plan.estimated_s), `step of plan ${row}`);
    compare(rows[row][2], plan.dollars_per_million_tokens, `price of tokens of plan ${row}`);
    compare(rows[row][3], plan.dollars_per_step, `price of a step of plan ${row}`);
  });
  await page.close();
});

test('a study', async () => {
  for (const ending of ['', '-wal', '-shm', '-journal']) fs.rmSync(file('s.db' + ending), {force: true});
  run(nadi, 'tune', '--param', 'n=1..9', '--param', 'rate=1e-4..1e-1:log', '--default', 'n=8', '--sampler', 'random', '--metric', 'cost=pattern:cost ([0-9.]+)',
      '--minimize', 'cost', '--trials', '12', '--study', file('s.db'), '--no-logs', '--', 'sh', '-c', 'echo cost $(( ($1 - 3) * ($1 - 3) + 1 ))', 'sh', '{{n}}', '{{rate}}');
  run(nadi, 'tune', 'report', file('s.db'), '-o', file('s.html'), '--force');
  const study = JSON.parse(run(nadi, 'tune', 'show', file('s.db'), '--json'));
  const page = await browser.open(file('s.html'));
  const rows = await cellsOf(page, 'table.trials');
  assert.equal(rows.length, study.trials.length);
  for (const row of rows) {
    const trial = study.trials.find((each) => each.number === Number(row[0]));
    compare(row[1], trial.values.cost, `cost of trial ${row[0]}`);
    compare(row[2], trial.parameters.n, `n of trial ${row[0]}`);
    if (trial.seconds !== null) compare(row[4], trial.seconds * 1e9, `time of trial ${row[0]}`);
  }
  compare(await page.locator('#best .big').innerText(), study.trials.find((each) => each.number === study.best[0]).values.cost, 'the best');
  await page.close();
});

/** "name: figure, share" of the pieces of a chart. */
const piecesOf = (page, id, shape = 'rect') => page.locator(`#${id} svg ${shape}[aria-label]`).evaluateAll((pieces) => pieces.map((piece) => piece.getAttribute('aria-label')));
const pieceFigure = (texts, start) => {
  const found = texts.find((text) => text.startsWith(start + ': '));
  assert.ok(found, `${start} in ${texts}`);
  return found.slice(start.length + 2).split(', ')[0].replace(' a step', '');
};

test('what a step costs', async () => {
  const words = [file('model.json'), '--tp', '2', '--pp', '2', '--batch-size', '4'];
  run(nadi, 'show', ...words, '--html', file('step.html'), '--force');
  const page = await browser.open(file('step.html'));
  const texts = await piecesOf(page, 'memory');
  for (const [stage, rank] of [[0, 0], [1, 2]]) {
    const {memory} = JSON.parse(run(nadi, 'show', ...words, '--rank', String(rank), '--json'));
    for (const [name, key] of [['parameters', 'parameters_bytes'], ['gradients', 'gradients_bytes'], ['optimizer state', 'optimizer_state_bytes'], ['activations', 'activations_bytes']])
      compare(pieceFigure(texts, `stage ${stage}, rank ${rank}, ${name}`), memory[key], `${name} of stage ${stage}`);
  }
  const answer = JSON.parse(run(nadi, 'show', ...words, '--json'));
  const layers = await piecesOf(page, 'layers');
  for (const layer of answer.layers)
    for (const phase of layer.phases) if (phase.flops > 0) compare(pieceFigure(layers, `${layer.name}, ${phase.phase}`), phase.flops, `${layer.name}, ${phase.phase}`);
  // The curve's highest point is what is resident and the most that is alive.
  const most = await page.evaluate(async () => Math.max(...[...document.querySelectorAll('#over-step .curve')].map((curve) => curve.getTotalLength())));
  assert.ok(most > 0);
  await page.close();
});

test('a simulated step', async () => {
  const words = [file('model.json'), '--cluster', 'dgx-a100x2', '--tp', '2', '--pp', '2', '--dp', '4', '--batch-size', '4'];
  const answer = JSON.parse(run(nadi, 'simulate', ...words, '--json', '--html', file('simulation.html'), '--force'));
  const page = await browser.open(file('simulation.html'));
  const named = (row) => (/[-,]/.test(row.ranks) ? `ranks ${row.ranks}` : `rank ${row.ranks}`).slice(0, 30);
  const times = await piecesOf(page, 'time');
  for (const row of answer.ranks)
    for (const [name, key] of [['forward', 'forward_ns'], ['backward', 'backward_ns'], ['optimizer', 'optimizer_ns'], ['exposed communication', 'exposed_communication_ns'], ['waiting for other ranks', 'bubble_ns']])
      if (row[key] > 0) compare(pieceFigure(times, `${named(row)}, ${name}`), row[key], `${name} of ${row.ranks}`);
  const memory = await piecesOf(page, 'memory');
  for (const row of answer.memory)
    for (const part of row.at_peak) compare(pieceFigure(memory, `${named(row)}, ${part.what}`), part.bytes, `${part.what} of ${row.ranks}`);
  // Parts add up to the peak, and links to the traffic of their level.
  for (const row of answer.memory) assert.equal(row.at_peak.reduce((sum, part) => sum + part.bytes, 0), row.peak_bytes);
  for (const level of answer.traffic) {
    const sum = answer.links.filter((link) => link.level === level.level).reduce((bytes, link) => bytes + link.bytes, 0);
    assert.ok(Math.abs(sum - level.total_bytes) <= answer.links.length, `${level.level}: ${sum} of ${level.total_bytes}`);
  }
  const links = await piecesOf(page, 'cluster', 'path');
  for (const link of answer.links.filter((each) => each.bytes > 0).slice(0, 40)) compare(pieceFigure(links, link.name), link.bytes, link.name);
  await page.close();
});

test('the graph of a step', async () => {
  run(nadi, 'trace', file('model.json'), '--batch-size', '4', '-o', file('step'), '--force');
  run(nadi, 'draw', file('step.0.et'), '-o', file('graph.html'), '--force');
  const answer = JSON.parse(run(nadi, 'show', file('model.json'), '--batch-size', '4', '--json'));
  const page = await browser.open(file('graph.html'));
  const work = () => page.locator('#details tr', {hasText: /^work/}).locator('td').innerText();
  const select = (title, parent) => page.evaluate(([wanted, within]) => {
    const {data, select: choose} = globalThis.nadiGraph;
    const box = Array.from({length: data.boxCount}, (_, i) => i).find((i) => {
      const around = [];
      for (let at = data.boxParent[i]; at >= 0; at = data.boxParent[at]) around.push(data.titleOf(at));
      return data.titleOf(i) === wanted && (within === null || around.includes(within));
    });
    choose.call(globalThis.nadiGraph, box);
  }, [title, parent]);
  for (const phase of answer.phases) {
    await select(phase.phase, null);
    compare((await work()).split(', ')[0], phase.flops, `work of ${phase.phase}`);
  }
  const layer = answer.layers.find((each) => each.name.endsWith('.0'));
  for (const phase of layer.phases.filter((each) => each.phase !== 'optimizer')) {
    await select(layer.name, phase.phase);
    compare((await work()).split(', ')[0], phase.flops, `${phase.phase} of ${layer.name}`);
  }
  await page.close();
});

test('an explained plan', async () => {
  const answer = JSON.parse(run(nadi, 'plan', file('model.json'), '--cluster', file('cluster.json'), '--global-batch-size', '16', '--pp', '2', '--tp', '1', '--recompute', 'none', '--explain', '1',
      '--html', file('plan.html'), '--force', '--json'));
  const page = await browser.open(file('plan.html'));
  const rows = await cellsOf(page, '#stage-table');
  answer.explanations[0].stages.forEach((stage, at) => {
    compare(rows[at][4], stage.compute_ns, `computation of stage ${at}`);
    compare(rows[at][6], stage.exposed_ns, `exposed of stage ${at}`);
    compare(rows[at][7], stage.bubble_ns, `waiting of stage ${at}`);
    compare(rows[at][8], stage.memory_bytes, `memory of stage ${at}`);
  });
  const others = await cellsOf(page, '#alternative-table');
  answer.explanations[0].alternatives.forEach((other, at) => compare(others[at][1], other.step_s === null ? null : 1e9 * other.step_s, `${other.knob} ${other.choice}`));
  await page.close();
});

test('enough was compared', () => {
  assert.ok(compared >= 150, `${compared} figures`);
});
