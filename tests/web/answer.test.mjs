// Pages of answers in a real browser: pictures of what show, simulate, plan and calibrate say.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {expectAccess, hasProgram, printedWords, program, run, startBrowser, testFolder} from './browser.mjs';

const folder = testFolder('answer');
const file = (name) => path.join(folder, name);
const nadi = program('nadi', 'src/cli');
const pages = ['step.html', 'simulation.html', 'plan.html', 'calibration.html'];
let browser;

before(async () => {
  fs.writeFileSync(file('model.json'), JSON.stringify({model_type: 'gpt2', n_layer: 6, n_embd: 256, n_head: 4, n_positions: 128, vocab_size: 1024}));
  const split = ['--tp', '2', '--pp', '2', '--dp', '2', '--batch-size', '4'];
  run(nadi, 'show', file('model.json'), ...split, '--html', file('step.html'), '--force');
  run(nadi, 'simulate', 'gpt2-large', '--cluster', 'aws-p4dx2', '--tp', '2', '--pp', '2', '--dp', '4', '--batch-size', '4', '--html', file('simulation.html'), '--force');
  run(nadi, 'plan', file('model.json'), '--cluster', 'a10-8x4', '--global-batch-size', '32', '--pp', '2', '--explain', '1', '--html', file('plan.html'), '--force');
  run(nadi, 'calibrate', '-o', file('machine.json'), '--model', file('model.json'), '--ranks', '1', '--sizes', '1x32,1x64', '--repeat', '1', '--patience', '0',
      '--html', file('calibration.html'), '--force');
  browser = await startBrowser();
});
after(() => browser.stop());

/** What the pieces of a chart say of themselves. */
const saysOf = (page, id, shape = 'rect') => page.locator(`#${id} svg ${shape}[aria-label]`).evaluateAll((pieces) => pieces.map((piece) => piece.getAttribute('aria-label')));

test('a step: memory of each stage by part and over the step, and each layer by its cost', async () => {
  const page = await browser.open(file('step.html'));
  const parts = await saysOf(page, 'memory');
  for (const stage of ['stage 0, rank 0', 'stage 1, rank 4'])
    for (const what of ['parameters', 'gradients', 'optimizer state', 'activations']) assert.ok(parts.some((text) => text.startsWith(`${stage}, ${what}: `)), `${stage} ${what} in ${parts}`);
  assert.equal(await page.locator('#over-step .curve').count(), 2);
  const layers = await saysOf(page, 'layers');
  assert.equal(layers.filter((text) => /^transformer\.h\.0, (forward|backward|optimizer): /.test(text)).length, 3);
  // Areas are costs: of two pieces, the one with twice the work is twice as large.
  const areas = await page.locator('#layers svg rect').evaluateAll((pieces) => pieces.map((piece) => ({text: piece.getAttribute('aria-label'),
    area: Number(piece.getAttribute('width')) * Number(piece.getAttribute('height'))})));
  const area = (start) => areas.find((each) => each.text.startsWith(start)).area;
  const answer = JSON.parse(run(nadi, 'show', file('model.json'), '--tp', '2', '--pp', '2', '--dp', '2', '--batch-size', '4', '--json'));
  const [forward, backward] = answer.layers.find((layer) => layer.name === 'transformer.h.0').phases.map((phase) => phase.flops);
  assert.ok(Math.abs(area('transformer.h.0, backward') / area('transformer.h.0, forward') - backward / forward) < 0.01);
  await page.getByRole('button', {name: 'bytes moved'}).click();
  assert.match((await saysOf(page, 'layers'))[0], /: [\d.]+\u202f[KMG]iB, /);
  await page.close();
});

test('a simulation: parts of the time, memory against capacity, and what goes through each link', async () => {
  const page = await browser.open(file('simulation.html'));
  assert.ok((await saysOf(page, 'time')).some((text) => /backward: /.test(text)));
  assert.ok(await page.locator('#memory .capacity').count() >= 2);
  assert.match(await page.locator('#over-step .level-name').textContent(), /^capacity 40\.0/);
  const links = await saysOf(page, 'cluster', 'path');
  assert.ok(links.length >= 16, `${links.length} links`);
  assert.ok(links.every((text) => /^\S+: .* a step, at its full rate .* of the time$/.test(text)), links[0]);
  // Links of a node that carry something are thicker than those that carry nothing.
  const wires = await page.locator('#cluster svg .wire').evaluateAll((lines) => lines.map((line) => [line.classList.contains('idle'), Number(line.getAttribute('stroke-width'))]));
  assert.ok(wires.some(([idle]) => !idle));
  for (const [idle, width] of wires) assert.equal(idle, width === 1);
  await page.close();
});

test('a plan: the balance of its stages, and what else could be chosen', async () => {
  const page = await browser.open(file('plan.html'));
  assert.equal(await page.locator('#stage-table tbody tr').count(), 2);
  assert.ok((await saysOf(page, 'balance')).some((text) => text.startsWith('stage 1,') && text.includes('computation')));
  assert.ok(await page.locator('#memory .capacity').count() === 2);
  assert.ok(await page.locator('#alternative-table tbody tr').count() > 0);
  await page.close();
});

test('a calibration: each op beside what the others say of it', async () => {
  const page = await browser.open(file('calibration.html'));
  assert.ok(await page.locator('#ops-1 circle.dot').count() > 10);
  assert.match(await page.locator('#ops-1 circle.dot title').first().textContent(), /: measured .*, predicted .*, [+\u2212]/);
  assert.match(await page.locator('#ops-1').innerText(), /Median error .* within 10 %, .* within 25 %/);
  assert.equal(await page.locator('#ops-1 .band').count(), 2);
  await page.close();
});

test('pages print what they show', {skip: !hasProgram('pdftotext')}, async () => {
  const page = await browser.open(file('simulation.html'));
  const words = (await printedWords(page)).flat();
  // The name of a row of bars stands beside the bar's total.
  const label = words.find(({text}) => text === '0-1' || text.startsWith('0-'));
  assert.ok(label, words.slice(0, 60).map(({text}) => text).join(' '));
  assert.ok(words.some(({text, x, y}) => text === 'ms' || text === '\u00b5s' || /[µm]s$/.test(text) ? Math.abs(y - label.y) < 6 && x > label.x : false));
  await page.close();
});

test('no page breaks without a script fault, at any width', async () => {
  for (const name of pages)
    for (const width of [900, 1600]) {
      const page = await browser.open(file(name), {width, height: 900, dark: width === 900});
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${name} is wider than ${width}`);
      await page.close();
    }
});

test('axe-core finds nothing', async () => {
  for (const name of pages) await expectAccess(browser, file(name));
});
