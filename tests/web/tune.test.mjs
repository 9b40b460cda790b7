// The page of a study in a real browser: `nadi tune report`.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {expectAccess, program, run, startBrowser, testFolder} from './browser.mjs';

const folder = testFolder('tune');
const file = (name) => path.join(folder, name);
const nadi = program('nadi', 'src/cli');
let browser;
let study;

before(async () => {
  for (const name of ['s.db', 'two.db']) for (const ending of ['', '-wal', '-shm', '-journal']) fs.rmSync(file(name + ending), {force: true});
  // Trials with n above 8 fail; the cost has its least value at n = 3 with "fast".
  run(nadi, 'tune', '--param', 'n=1..9', '--param', 'mode=slow<b>,fast', '--param', 'rate=1e-4..1e-1:log', '--default', 'n=8', '--sampler', 'random',
      '--metric', 'cost=pattern:cost ([0-9.]+)', '--minimize', 'cost', '--trials', '24', '--study', file('s.db'), '--no-logs', '--',
      'sh', '-c', '[ $1 -lt 9 ] || exit 3; [ $2 = fast ] && p=0 || p=20; echo cost 100; echo cost $(( ($1 - 3) * ($1 - 3) + p + 1 ))', 'sh', '{{n}}', '{{mode}}', '{{rate}}');
  run(nadi, 'tune', '--param', 'n=1..9', '--sampler', 'random', '--metric', 'a=pattern:a ([0-9]+)', '--metric', 'b=pattern:b ([0-9]+)', '--minimize', 'a', '--maximize', 'b',
      '--trials', '8', '--study', file('two.db'), '--no-logs', '--', 'sh', '-c', 'echo a $1 b $1', 'sh', '{{n}}');
  run(nadi, 'tune', 'report', file('s.db'), '-o', file('s.html'), '--force');
  run(nadi, 'tune', 'report', file('two.db'), '-o', file('two.html'), '--force');
  study = JSON.parse(run(nadi, 'tune', 'show', file('s.db'), '--json'));
  browser = await startBrowser();
});

after(() => browser.stop());

test('shows every trial, the best and the command', async () => {
  const page = await browser.open(file('s.html'));
  const complete = study.trials.filter((trial) => trial.state === 'complete').length;
  assert.equal(await page.locator('#history .dot').count(), complete);
  assert.equal(await page.locator('#history .lost').count(), study.trials.length - complete);
  assert.equal(await page.locator('#trials tbody tr').count(), study.trials.length);
  const best = study.trials[study.best[0]];
  assert.ok((await page.locator('#best').innerText()).includes(`trial ${best.number}`));
  assert.equal(await page.locator('#trials tbody tr').first().getAttribute('data-trial'), String(best.number));
  assert.equal(await page.locator('#command').innerText(), study.command);
  assert.ok((await page.locator('#gain').innerText()).includes((-100 * study.improvement).toFixed(1)));
  assert.ok(!(await page.locator('main').innerText()).includes('null'));
  // Texts are texts, whatever they hold.
  assert.equal(await page.locator('b').count(), 0);
  assert.ok((await page.locator('#slices').innerText()).includes('slow<b>'));
  await page.close();
});

test('figures have four digits, and the best of equal trials comes first', async () => {
  for (const ending of ['', '-wal', '-shm', '-journal']) fs.rmSync(file('equal.db' + ending), {force: true});
  run(nadi, 'tune', '--param', 'n=1..9', '--sampler', 'random', '--metric', 'v ([0-9.]+)', '--maximize', '--trials', '5', '--study', file('equal.db'), '--no-logs', '--', 'echo', 'v', '0.0038343', '{{n}}');
  run(nadi, 'tune', 'report', file('equal.db'), '-o', file('equal.html'), '--force');
  const page = await browser.open(file('equal.html'));
  assert.ok((await page.locator('#best').innerText()).includes('0.003834'));
  const order = await page.locator('#trials tbody tr').evaluateAll((rows) => rows.map((row) => Number(row.getAttribute('data-trial'))));
  assert.deepEqual(order, [0, 1, 2, 3, 4]);
  assert.ok((await page.locator('#slices .dot').last().getAttribute('class')).includes('best'));
  await page.close();
});

test('the line of the best never rises', async () => {
  const page = await browser.open(file('s.html'));
  const path = await page.locator('#history .best-line').getAttribute('d');
  const heights = [Number(path.match(/^M[\d.]+ ([\d.]+)/)[1]), ...[...path.matchAll(/V([\d.]+)/g)].map((match) => Number(match[1]))];
  for (let i = 1; i < heights.length; ++i) assert.ok(heights[i] > heights[i - 1], path);
  const dots = await page.locator('#history .dot').evaluateAll((all) => all.map((dot) => Number(dot.getAttribute('cy'))));
  assert.ok(Math.abs(Math.max(...dots) - heights[heights.length - 1]) < 0.01);
  await page.close();
});

test('slices, contour, parallel coordinates and timeline have all complete trials', async () => {
  const page = await browser.open(file('s.html'));
  const complete = study.trials.filter((trial) => trial.state === 'complete').length;
  for (const name of ['n', 'mode', 'rate']) assert.equal(await page.locator(`.slice[data-parameter="${name}"] .dot`).count(), complete);
  assert.equal(await page.locator('#contour .dot').count(), complete);
  assert.equal(await page.locator('#parallel .strand').count(), complete);
  assert.equal(await page.locator('#timeline .run').count(), study.trials.length);
  assert.ok(await page.locator('#importance .bar-line').count() > 0 || (await page.locator('#importance').innerText()).includes('Too few'));
  // Places follow values: of two trials the one with the greater n stands further right.
  const places = await page.locator('.slice[data-parameter="n"] .dot').evaluateAll((all) => all.map((dot) => [Number(dot.getAttribute('data-trial')), Number(dot.getAttribute('cx'))]));
  const byNumber = new Map(study.trials.map((trial) => [trial.number, trial.parameters.n]));
  for (const [a, x] of places) for (const [b, y] of places) if (byNumber.get(a) < byNumber.get(b)) assert.ok(x < y);
  await page.selectOption('#contour-0', '2');
  assert.ok((await page.locator('#contour svg').getAttribute('aria-label')).includes('rate'));
  await page.close();
});

test('pointing shows a trial', async () => {
  const page = await browser.open(file('s.html'));
  await page.locator('#history .dot.best').hover();
  const card = page.locator('.trial-card');
  await card.waitFor({state: 'visible'});
  assert.match(await card.innerText(), /Trial \d+, the best[\s\S]*setting[\s\S]*n=/);
  const inside = await page.evaluate(() => document.querySelector('.trial-card').getBoundingClientRect().right <= innerWidth);
  assert.ok(inside);
  await page.keyboard.press('?');
  assert.ok(await page.locator('#help').isVisible());
  await page.close();
});

test('two objectives have a front', async () => {
  const page = await browser.open(file('two.html'));
  const all = await page.locator('#front .dot').count();
  // a and b are the same number, one to be small and one large: no trial beats another.
  assert.equal(await page.locator('#front .dot.best').count(), all);
  await page.selectOption('#objective', '1');
  assert.ok((await page.locator('#history svg').getAttribute('aria-label')).startsWith('b '));
  await page.close();
});

test('fits small windows', async () => {
  const page = await browser.open(file('s.html'));
  await page.setViewportSize({width: 500, height: 700});
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
  assert.ok(!wide);
  await page.close();
});

test('the address leads back to what was looked at', async () => {
  const page = await browser.open(file('two.html'), {fragment: '#objective=1'});
  assert.equal(await page.locator('#objective').inputValue(), '1');
  await page.close();
});

test('axe-core finds nothing', async () => {
  for (const name of ['s.html', 'two.html']) await expectAccess(browser, file(name));
});
