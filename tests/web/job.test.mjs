// The page of a job in a real browser: `nadi job report`.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {expectAccess, program, run, startBrowser, testFolder} from './browser.mjs';

const folder = testFolder('job');
const file = (name) => path.join(folder, name);
const nadi = program('nadi', 'src/cli');
const generator = program('job_logs_of_tests', 'tests/web');
let browser;
let report;

before(async () => {
  run(generator, file('log2'));
  report = JSON.parse(run(nadi, 'job', 'report', file('log2/10932251'), '--json'));
  run(nadi, 'job', 'report', file('log2/10932251'), '-o', file('job.html'), '--force');
  run(nadi, 'job', 'report', file('log2/10932251'), '--compare', file('log2/555'), '-o', file('two.html'), '--force');
  // One node without anything that is of use.
  fs.mkdirSync(file('empty/1'), {recursive: true});
  fs.writeFileSync(file('empty/1/<b>n1.out'), 'MODEL: <script>alert(1)</script>\n');
  run(nadi, 'job', 'report', file('empty/1'), '-o', file('empty.html'), '--force');
  browser = await startBrowser();
});

after(() => browser.stop());

test('shows what the command prints as JSON', async () => {
  const page = await browser.open(file('job.html'));
  const cards = await page.locator('#summary').innerText();
  assert.match(cards, /1\.40\s*s/);
  assert.match(cards, /4\.54\s*s/);
  assert.equal(await page.locator('#nodes-table tbody tr').count(), report.nodes.length);
  assert.equal(await page.locator('#memory-table tbody tr').count(), report.memory.length);
  assert.equal(await page.locator('#errors-table tbody tr').count(), report.errors.length);
  assert.equal(await page.locator('#timers-table tbody tr').count(), report.timers.timers.length);
  assert.deepEqual(await page.evaluate(() => globalThis.nadiJob.points), report.points);
  // The settings that contradict each other are marked, and can be shown alone.
  const differing = report.settings.filter((setting) => setting.differs).length;
  assert.ok(differing > 0);
  assert.equal(await page.locator('#settings-table tr.bad').count(), differing);
  await page.locator('#only-differences').click();
  assert.equal(await page.locator('#settings-table tbody tr').count(), differing);
  await page.close();
});

test('rates of the log are curves', async () => {
  const page = await browser.open(file('job.html'));
  const known = ['learning_rate', 'grad_norm', 'tflops_per_rank'].filter((key) => report.points[key].filter((value) => typeof value === 'number').length > 1);
  assert.ok(known.length > 0);
  assert.equal(await page.locator('#rates .job-plot .curve').count(), known.length);
  await page.close();
});

test('the timeline has all ranks', async () => {
  const page = await browser.open(file('job.html'));
  // One lane for each rank; that of rank 0 is called by its stage alone.
  const names = await page.evaluate(() => globalThis.nadiTimeline.data.lanes.map((lane) => lane.name));
  assert.equal(names.filter((name) => name.startsWith('stage')).length, report.split.world_size, names.join());
  for (let rank = 1; rank < report.split.world_size; ++rank) assert.ok(names.some((name) => name.endsWith(`rank ${rank}`)), names.join());
  await page.close();
});

test('keys: plots, map, sections, theme, help', async () => {
  const page = await browser.open(file('job.html'));
  await page.locator('#iterations .job-plot').focus();
  await page.keyboard.press('Home');
  assert.match(await page.locator('#iterations .plot-tip').innerText(), /iteration 10\s*4\.54\s*s, warm-up/);
  await page.keyboard.press('ArrowRight');
  assert.match(await page.locator('#iterations .plot-tip').innerText(), /iteration 20/);
  await page.locator('.device-map').focus();
  await page.keyboard.press('ArrowDown');
  assert.match(await page.locator('.map-status').innerText(), /GPU 1/);
  await page.locator('#title-summary').focus();
  await page.keyboard.press('j');
  assert.notEqual(await page.evaluate(() => document.activeElement.id), 'title-summary');
  await page.keyboard.press('t');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.keyboard.press('?');
  assert.ok(await page.locator('#help').isVisible());
  await page.close();
});

test('two jobs beside each other', async () => {
  const page = await browser.open(file('two.html'), {dark: true});
  assert.match(await page.locator('#comparison').innerText(), /steady iteration[\s\S]*NNODES/);
  assert.ok(await page.locator('#loss .curve').count() >= 2);
  await page.close();
});

test('a narrow window needs no scrolling sideways', async () => {
  const page = await browser.open(file('job.html'), {width: 390, height: 800});
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.close();
});

test('a folder with next to nothing, and names that are HTML', async () => {
  const page = await browser.open(file('empty.html'));
  assert.equal(await page.locator('b').count(), 0);
  assert.match(await page.locator('#notes').innerText(), /no node printed an iteration/);
  await page.close();
});

test('axe-core finds nothing', async () => {
  for (const name of ['job.html', 'two.html', 'empty.html']) await expectAccess(browser, file(name));
});

test('a plot is saved as it is drawn now', async () => {
  const page = await browser.open(file('job.html'));
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('[data-picture="Time of an iteration"] button', {hasText: 'SVG'}).first().click()]);
  assert.match(fs.readFileSync(await download.path(), 'utf8'), /^<svg[^]*<(path|polyline|circle)[^]*<\/svg>$/);
  await page.close();
});
