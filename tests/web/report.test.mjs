// The page of an analysis in a real browser: `nadi analyze --html`.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {arrangedRanks} from '../../src/show/draw/web/report_strip.js';
import {colorsOf, expectAccess, program, run, startBrowser, testFolder} from './browser.mjs';

const folder = testFolder('report');
const file = (name) => path.join(folder, name);
const nadi = program('nadi', 'src/cli');
const traces = fileURLToPath(new URL('../../examples/traces', import.meta.url));
const kHostile = ['</script><script>globalThis.broken = 1</script>', '"><img src=x onerror="globalThis.broken = 1">', "'; globalThis.broken = 1; '",
  '\u202egnp.exe', 'a\u0000b\u0007c\u001b[31m', 'x'.repeat(10000), '{{constructor}}', '__proto__', '\u{1f4a9}\ud800'];
let browser;

/** A profile with one kernel of each name, 1 us after the other. */
function writeProfile(name, names, duration = (place) => 5 + place % 7) {
  let at = 100;
  const events = names.map((each, place) => {
    const event = {ph: 'X', cat: 'kernel', name: each, pid: 0, tid: 7, ts: at, dur: duration(place), args: {stream: 7, device: 0, correlation: place + 1}};
    at += duration(place) + 1;
    return event;
  });
  fs.writeFileSync(file(name), JSON.stringify({schemaVersion: 1, traceEvents: events}));
}

/** The tables of the page's own data as `--json` has them. */
const dataOf = (page) => page.evaluate(async () => {
  const {coding} = [...document.querySelectorAll('script[data-block="report"]')].at(-1).dataset;
  const texts = [...document.querySelectorAll('script[data-block="report"]')].map((each) => each.textContent);
  const bytes = texts.map((text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
  let stream = new Blob(bytes).stream();
  if (coding !== 'stored') stream = stream.pipeThrough(new DecompressionStream(coding));
  return JSON.parse(await new Response(stream).text());
});

/** The same without the script that takes the data out of the page. */
async function pageData(name) {
  const text = fs.readFileSync(file(name), 'utf8');
  const still = file(`still.${name}`);
  const script = text.lastIndexOf('<script>');
  fs.writeFileSync(still, text.slice(0, script));
  const page = await browser.open(still, {ready: false});
  const data = await dataOf(page);
  await page.close();
  return data;
}

function tablesByKey(tables) {
  const all = {};
  for (const table of tables)
    all[table.name.replaceAll('-', '_')] = (table.values[0] ?? []).map((_, row) =>
      Object.fromEntries(table.columns.map((column, place) => [column.key, table.values[place][row]])));
  return all;
}

before(async () => {
  for (const rank of [0, 1])
    run(nadi, 'convert', path.join(traces, `run_rank${rank}_host.json`), '--device', path.join(traces, `run_rank${rank}_device.json`), '-o', file(`run.${rank}.et`), '--force');
  const ranks = [file('run.0.et'), file('run.1.et')];
  run(nadi, 'analyze', ...ranks, '--html', file('run.html'), '--force');
  fs.writeFileSync(file('run.json'), run(nadi, 'analyze', ...ranks, '--json'));
  run(nadi, 'analyze', ranks[1], '--against', ranks[0], '--html', file('two.html'), '--force');
  fs.writeFileSync(file('two.json'), run(nadi, 'analyze', ranks[1], '--against', ranks[0], '--json'));
  writeProfile('hostile_profile.json', kHostile);
  run(nadi, 'analyze', file('hostile_profile.json'), '--html', file('hostile.html'), '--force');
  writeProfile('large_profile.json', Array.from({length: 100000}, (_, place) => `kernel_${(place * 7919) % 100000}`));
  run(nadi, 'analyze', file('large_profile.json'), '--html', file('large.html'), '--force');
  browser = await startBrowser();
});
after(() => browser.stop());

test('has what --json has, to the last digit', async () => {
  const report = JSON.parse(fs.readFileSync(file('run.json'), 'utf8'));
  const data = await pageData('run.html');
  assert.deepEqual(tablesByKey(data.runs[0].tables), report.tables);
  const {tables, ...facts} = report;
  assert.deepEqual(data.runs[0].facts, facts);
  const two = await pageData('two.html');
  assert.deepEqual(tablesByKey(two.comparison), JSON.parse(fs.readFileSync(file('two.json'), 'utf8')).tables);
});

test('shows every table that has rows, and figures as the program prints them', async () => {
  const page = await browser.open(file('run.html'));
  const report = JSON.parse(fs.readFileSync(file('run.json'), 'utf8'));
  const names = Object.keys(report.tables).filter((name) => report.tables[name].length > 0).map((name) => name.replaceAll('_', '-'));
  const shown = await page.locator('.table-view').evaluateAll((views) => views.map((view) => view.id.replace('table-', '')));
  assert.deepEqual(shown.sort(), names.sort());
  const words = (text) => text.split(/\s{2,}/).map((word) => word.trim()).filter((word) => word !== '');
  const text = run(nadi, 'analyze', file('run.0.et'), file('run.1.et'), '--all');
  const printed = new Set(words(text.replaceAll('\n', '  ')));
  for (const name of names) {
    const rows = await page.locator(`#table-${name} tbody tr`).evaluateAll((lines) => lines.map((line) => [...line.cells].map((cell) => cell.textContent)));
    // The program leaves out columns where there is no room: what both show is the same.
    const figures = rows[0].filter((cell) => /^[\d,.]+( |%|$)/.test(cell));
    const found = figures.filter((cell) => printed.has(cell));
    assert.ok(found.length >= Math.min(2, figures.length), `${name}: ${JSON.stringify(rows[0])} is not in what the program prints`);
  }
  assert.match(await page.locator('.verdict-limit').textContent(), new RegExp('^' + report.verdict.limit));
  for (const line of report.verdict.lines.slice(1)) assert.ok((await page.locator('.verdict').textContent()).includes(line), line);
  await page.close();
});

test('every formula gives the figure that it explains', async () => {
  // The bundle is a function of its own; the modules are real modules, too.
  const figures = await import('../../src/show/draw/web/report_figures.js');
  let checked = 0;
  for (const name of ['run.html', 'two.html']) {
    const data = await pageData(name);
    const runs = data.runs.map((each) => ({tables: each.tables, headline: each.facts.headline}));
    if (data.comparison) runs.push({tables: data.comparison, headline: {}});
    for (const each of runs) {
      const source = {tables: new Map(each.tables.map((table) => [table.name, table])), headline: each.headline};
      const expect = (table, key, row, value) => {
        const formula = data.definitions[table]?.figures[key]?.formula;
        if (!formula || value === null) return;
        const result = figures.evaluateFormula(formula, {source, table, row}).value;
        assert.ok(Math.abs(result - value) <= 1e-9 * Math.max(Math.abs(value), 1e-3), `${name} ${table}.${key} row ${row}: ${formula} is ${result}, not ${value}`);
        ++checked;
      };
      for (const table of each.tables)
        table.columns.forEach((column, place) => table.values[place].slice(0, 40).forEach((value, row) => expect(table.name, column.key, row, value)));
      for (const [key, value] of Object.entries(each.headline)) expect('headline', key, 0, value);
    }
  }
  assert.ok(checked > 300, `${checked} figures`);
});

test('figures are rounded as the program rounds them', async () => {
  const {cellText} = await import('../../src/show/draw/web/report_figures.js');
  const text = (kind, value) => cellText(value, {kind, absent: '-'});
  assert.deepEqual([0, 999, 1000, 1234, 99949, 99950, 999499, 999500, 1.5e9, 12345678901].map((value) => text('time', value)),
      ['0 ns', '999 ns', '1.00 us', '1.23 us', '99.9 us', '100 us', '999 us', '1.00 ms', '1.50 s', '12.3 s']);
  assert.equal(text('number', 1.125), '1.12');
  assert.equal(text('number', 1.135), '1.14');  // which is a little more than it says
  assert.equal(text('share', 0.00125), '0.1%');
  assert.equal(text('count', 1234567), '1,234,567');
  assert.equal(text('bytes', 1536), '1.50 KiB');
  assert.equal(text('flop-rate', 2.5e12), '2.50 TFLOP/s');
  assert.equal(text('byte-rate', 3334e9), '3334 GB/s');
  assert.equal(text('time-change', -1500), '-1.50 us');
  assert.equal(text('change', 0.5), '+50.0%');
  assert.equal(text('time', null), '-');
});

test('tables are sorted by any column', async () => {
  const page = await browser.open(file('large.html'));
  const view = page.locator('#table-ops');
  const first = () => view.locator('tbody tr').first().locator('td').first().textContent();
  await view.getByRole('button', {name: 'op', exact: true}).click();
  assert.equal(await first(), 'kernel_0');
  assert.equal(await view.locator('th').first().getAttribute('aria-sort'), 'ascending');
  await view.getByRole('button', {name: /^op/}).click();
  assert.equal(await first(), 'kernel_99999');
  await view.getByRole('button', {name: /^time/}).first().click();
  const times = await view.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.cells[3].textContent));
  assert.ok(times.every((time) => time === '11.0 us'), times.join());
  await page.close();
});

test('a filter keeps rows and tells their sum; 100,000 rows scroll', async () => {
  const page = await browser.open(file('large.html'));
  const view = page.locator('#table-ops');
  await page.keyboard.press('/');
  await page.keyboard.type('KERNEL_9999');
  assert.match(await view.getByRole('status').textContent(), /^11 of 100,000 rows, [\d.]+ us$/);
  await view.locator('input').fill('no such kernel');
  assert.equal(await view.locator('tbody').textContent(), 'No row matches.');
  await view.locator('input').fill('');
  await view.getByRole('button', {name: 'Show all 100,000 rows'}).click();
  const scroller = view.locator('.scroller');
  const started = Date.now();
  await scroller.evaluate((each) => {
    each.scrollTop = each.scrollHeight;
  });
  await page.waitForFunction(() => document.querySelector('#table-ops tbody tr:last-child')?.getAttribute('aria-rowindex') === '100001');
  assert.ok(Date.now() - started < 2000);
  assert.ok(await view.locator('tbody tr').count() < 100);
  await page.close();
});

test('a figure tells how it was computed, with mouse and keyboard', async () => {
  const page = await browser.open(file('run.html'));
  const cell = page.locator('#table-breakdown tbody tr').first().locator('td.share').first();
  await cell.click();
  const panel = page.locator('.figure-panel');
  assert.match(await panel.textContent(), /compute \/ span= [\d.]+ us \/ [\d.]+ ms = [\d.]+%/);
  await page.keyboard.press('Escape');
  assert.ok(await panel.isHidden());
  const active = () => page.evaluate(() => document.activeElement.dataset.place);
  const place = await active();
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await active(), place);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.ok(await panel.isVisible());
  await page.keyboard.press('Escape');
  await page.locator('#breakdown .bar-part').first().click();
  assert.match(await panel.textContent(), /While at least one node computed/);
  const disclosures = page.locator('details.how');
  for (const each of await disclosures.all()) await each.locator('summary').click();
  // They are filled when they have opened.
  await page.waitForFunction(() => [...document.querySelectorAll('details.how')].every((each) => each.textContent.length >= 60), null, {timeout: 10000});
  await page.close();
});

test('dark mode follows the system and the switch', async () => {
  const light = await browser.open(file('run.html'));
  const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await background(light), 'rgb(255, 255, 255)');
  const [before] = await colorsOf(light, 'canvas.strip', 1, 1);
  await light.keyboard.press('t');
  assert.notEqual(await background(light), 'rgb(255, 255, 255)');
  const [later] = await colorsOf(light, 'canvas.strip', 1, 1);
  assert.ok(later[0] < before[0] - 60, `${later} against ${before}`);
  const dark = await browser.open(file('run.html'), {dark: true});
  assert.equal(await background(dark), await background(light));
  await light.close();
  await dark.close();
});

test('the timeline zooms by drag, buttons and keys, and tells what is below the pointer', async () => {
  const page = await browser.open(file('run.html'), {height: 900});
  const strip = page.locator('canvas.strip');
  await strip.scrollIntoViewIfNeeded();
  const picture = () => colorsOf(page, 'canvas.strip', 16, 4);
  const whole = await picture();
  const box = await strip.boundingBox();
  await page.mouse.move(box.x + 300, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 60);
  await page.mouse.up();
  assert.notDeepEqual(await picture(), whole);
  await strip.dblclick();
  assert.deepEqual(await picture(), whole);
  await strip.press('+');
  const closer = await picture();
  assert.notDeepEqual(closer, whole);
  await strip.press('ArrowRight');
  assert.notDeepEqual(await picture(), closer);
  await strip.press('0');
  assert.deepEqual(await picture(), whole);
  let told = '';
  const now = await strip.boundingBox();
  for (let x = 125; x < now.width - 10 && told === ''; x += 9) {
    // The first lane of the first row: the path is on rank 1 here, which therefore stands above rank 0.
    await page.mouse.move(now.x + x, now.y + 24 + 6);
    if (await page.locator('.strip-tip').isVisible()) told = await page.locator('.strip-tip').textContent();
  }
  assert.match(told, /rank 1, critical path/);
  await page.getByRole('button', {name: 'Critical path only'}).click();
  assert.notDeepEqual(await picture(), whole);
  await page.close();
});

test('two runs stand side by side', async () => {
  const page = await browser.open(file('two.html'));
  assert.deepEqual(await page.locator('.side-by-side h3').allTextContents(), ['Before', 'After']);
  assert.equal(await page.locator('#comparison .bar-row').count(), 2);
  for (const name of ['totals', 'changes', 'occurrences']) assert.equal(await page.locator(`#table-${name}`).count(), 1);
  const title = () => page.locator('.run #verdict > .name').textContent();
  assert.match(await title(), /run\.1\.et/);
  await page.getByRole('tab', {name: /Before/}).click();
  assert.match(await title(), /run\.0\.et/);
  await page.close();
});

test('hostile names neither run nor break the page', async () => {
  const page = await browser.open(file('hostile.html'));
  assert.equal(await page.evaluate(() => globalThis.broken), undefined);
  assert.equal(await page.locator('#table-ops tbody tr').count(), kHostile.length);
  assert.equal(await page.locator('#table-ops tbody img, #table-ops tbody script').count(), 0);
  await page.locator('#table-ops tbody td.figure').first().click();
  assert.ok(await page.locator('.figure-panel').isVisible());
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.close();
});

test('fits a narrow screen, and prints as a short report', async () => {
  const page = await browser.open(file('run.html'), {width: 390, height: 800});
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  const pdf = (await page.pdf({preferCSSPageSize: true})).toString('latin1');
  const pages = pdf.match(/\/Type\s*\/Page\b/g).length;
  assert.ok(pages >= 1 && pages <= 5, `${pages} pages`);
  await page.close();
});

test('a table is copied as CSV, with all columns', async () => {
  const page = await browser.open(file('run.html'));
  const csv = await page.evaluate(async () => {
    let copied = '';
    Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { copied = text; }}});
    document.querySelector('#table-ops button[title^="Copy"]').click();
    await new Promise((done) => setTimeout(done, 50));
    return copied;
  });
  const {tables} = (await pageData('run.html')).runs[0];
  const ops = tables.find((table) => table.name === 'ops');
  const lines = csv.trimEnd().split('\r\n');
  assert.equal(lines[0], ops.columns.map((column) => column.key).join(','));
  assert.equal(lines.length, ops.values[0].length + 1);
  await page.close();
});

test('the address leads back to the run, the rows and the part that were looked at', async () => {
  const page = await browser.open(file('two.html'));
  await page.getByRole('tab').nth(1).click();
  await page.waitForFunction(() => location.hash.includes('run=1'));
  const fragment = await page.evaluate(() => location.hash);
  await page.close();
  const again = await browser.open(file('two.html'), {fragment: fragment + '&part=ops'});
  assert.equal(await again.getByRole('tab').nth(1).getAttribute('aria-selected'), 'true');
  assert.ok(await again.evaluate(() => scrollY) > 0);
  await again.close();
});

test('the roofline has a circle for each op of known work, below the roofs that ops reach', async () => {
  run(nadi, 'simulate', 'gpt2-tiny', '--cluster', 'h100', '--et-out', file('roof'), '--force');
  run(nadi, 'analyze', file('roof.0.et'), '--html', file('roof.html'), '--force');
  const {ops} = JSON.parse(run(nadi, 'analyze', file('roof.0.et'), '--json')).tables;
  const known = ops.filter((op) => op.flops > 0 && op.bytes > 0 && op.time_ns > 0);
  assert.ok(known.length > 3);
  const page = await browser.open(file('roof.html'));
  const circles = await page.locator('.roofline circle').evaluateAll((all) => all.map((circle) => ({text: circle.getAttribute('aria-label'), y: Number(circle.getAttribute('cy'))})));
  assert.equal(circles.length, known.length);
  // The fastest is on the level roof, and no other is above it.
  const fastest = known.reduce((best, op) => op.flops / op.time_ns > best.flops / best.time_ns ? op : best);
  const top = Math.min(...circles.map((circle) => circle.y));
  assert.ok(circles.find((circle) => circle.y === top).text.startsWith(fastest.name.slice(0, 20)));
  const roof = (await page.locator('.roofline .roof').getAttribute('points')).split(' ').map((point) => Number(point.split(',')[1]));
  assert.ok(Math.abs(Math.min(...roof) - top) < 0.2);
  await page.close();
});

test('ranks that do the same are one row of the strip, the critical one first', () => {
  const rank = (number, path, compute) => ({rank: number, names: ['k'], lanes: {path, host: [], compute, communication: [], memory: []}});
  const box = (start, length) => [start, length, length, 1, 0, 2];
  const shown = arrangedRanks([rank(0, [], box(0, 5)), rank(1, box(0, 2), box(0, 9)), rank(2, [], box(0, 5)), rank(3, [...box(2, 3), ...box(5, 4)], box(0, 9)), rank(4, [], box(1, 5))]);
  assert.deepEqual(shown.map((each) => [each.rank, each.like]), [[3, 0], [1, 0], [0, 1], [4, 0]]);
});

test('axe-core finds nothing', async () => {
  for (const name of ['run.html', 'two.html']) await expectAccess(browser, file(name));
});
