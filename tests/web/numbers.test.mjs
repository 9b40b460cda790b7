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
  '$': 1, '°C': 1, 'GFLOP/s': 1e9, 'TFLOP/s': 1e12, 'GB/s': 1e9, 'MB/s': 1e6};
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

test('enough was compared', () => {
  assert.ok(compared >= 60, `${compared} figures`);
});
