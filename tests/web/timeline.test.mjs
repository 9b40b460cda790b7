// The page of a timeline in a real browser.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {colorsOf, expectAccess, hasProgram, printedWords, program, run, startBrowser, testFolder} from './browser.mjs';

const folder = testFolder('timeline');
const sample = (name) => path.join(folder, name + '.html');
let browser;

before(async () => {
  run(program('sample_timelines', 'tests/web'), folder);
  browser = await startBrowser();
});
after(() => browser.stop());

/** What is in sight and marked, as numbers. */
const stateOf = (page) => page.evaluate(() => {
  const {chart} = globalThis.nadiTimeline;
  return {begin: chart.begin, end: chart.end, selected: chart.selected, range: chart.range, scroll: chart.scroll, arrows: chart.arrows.length};
});

/** The middle of the n-th event of a name, in the page's pixels. */
const placeOf = (page, name, n = 0) => page.evaluate(([wanted, nth]) => {
  const {chart, data, canvas} = globalThis.nadiTimeline;
  let seen = 0;
  for (let event = 0; event < data.count; ++event) {
    if (data.name(event) !== wanted || seen++ !== nth) continue;
    const box = chart.boxOf(event);
    const place = canvas.getBoundingClientRect();
    return {x: place.left + (box.x0 + box.x1) / 2, y: place.top + (box.y0 + box.y1) / 2, event};
  }
  throw new Error(`no event ${nth} of the name ${wanted}`);
}, [name, n]);

const frame = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const lengthOf = (state) => state.end - state.begin;

test('opens with every event and exact times', async () => {
  const page = await browser.open(sample('two_ranks'));
  const events = await page.evaluate(() => {
    const {data} = globalThis.nadiTimeline;
    return Array.from({length: data.count}, (_, i) => [data.lanes[data.tracks[data.trackOf(i)].lane].name, data.name(i), data.head.kinds[data.kind(i)],
      data.starts[i], data.durations[i]]).sort((a, b) => a[3] - b[3] || b[4] - a[4] || (a[1] < b[1] ? -1 : 1));
  });
  assert.equal(events.length, 2 * 2 * (1 + 4 + 4 + 1 + 1));
  assert.deepEqual(events[0], ['thread 1', 'forward', 'host', 0, 800000]);
  assert.deepEqual(events[1], ['thread 1', 'aten::mm', 'host', 0, 100000]);
  assert.deepEqual(events.at(-1), ['stream 7', 'Memcpy DtoH', 'memory', 1860000, 40000]);
  assert.equal(await page.title(), 'two ranks');
  assert.equal(await page.evaluate(() => globalThis.nadiTimeline.data.head.origin), '1700000000000000000');
  await page.close();
});

test('calls are in rows below their callers, and lanes and groups collapse', async () => {
  const page = await browser.open(sample('two_ranks'));
  const lanes = () => page.evaluate(() => globalThis.nadiTimeline.layout.lines.length);
  assert.equal(await lanes(), 8);
  await page.getByRole('button', {name: 'thread 1'}).first().click();
  assert.equal(await lanes(), 7);
  await page.getByRole('button', {name: 'rank 1'}).click();
  assert.equal(await page.getByRole('button', {name: 'rank 1'}).getAttribute('aria-expanded'), 'false');
  assert.equal(await lanes(), 4);
  await page.keyboard.press('c');
  assert.equal(await lanes(), 2);
  await page.keyboard.press('c');
  assert.equal(await lanes(), 7);
  await page.close();
});

test('wheel, drag, keys and the strip zoom and move', async () => {
  const page = await browser.open(sample('two_ranks'));
  const whole = await stateOf(page);
  await page.mouse.move(700, 300);
  const time = await page.evaluate(() => globalThis.nadiTimeline.chart.timeAt(700 - globalThis.nadiTimeline.canvas.getBoundingClientRect().left));
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -200);
  await page.keyboard.up('Control');
  await frame(page);
  const closer = await stateOf(page);
  assert.ok(lengthOf(closer) < 0.7 * lengthOf(whole), JSON.stringify(closer));
  const after1 = await page.evaluate(() => globalThis.nadiTimeline.chart.timeAt(700 - globalThis.nadiTimeline.canvas.getBoundingClientRect().left));
  assert.ok(Math.abs(after1 - time) < 1, 'the time below the pointer stays');

  await page.mouse.down();
  await page.mouse.move(600, 300, {steps: 4});
  await page.mouse.up();
  const dragged = await stateOf(page);
  assert.ok(Math.abs(dragged.begin - closer.begin - 100 / 980 * lengthOf(closer)) < 0.01 * lengthOf(closer));
  assert.equal(dragged.selected, null, 'a drag is no click');

  await page.keyboard.press('w');
  assert.ok(lengthOf(await stateOf(page)) < 0.9 * lengthOf(dragged));
  await page.keyboard.press('s');
  assert.ok(Math.abs(lengthOf(await stateOf(page)) / lengthOf(dragged) - 1) < 0.01);
  await page.keyboard.press('d');
  assert.ok((await stateOf(page)).begin > dragged.begin);
  await page.keyboard.press('a');
  await page.keyboard.press('a');
  assert.ok((await stateOf(page)).begin < dragged.begin);
  await page.keyboard.press('f');
  assert.deepEqual([(await stateOf(page)).begin, (await stateOf(page)).end], [whole.begin, whole.end]);

  for (let i = 0; i < 6; ++i) await page.keyboard.press('w');
  const map = await page.locator('#minimap').boundingBox();
  await page.mouse.click(map.x + map.width * 0.75, map.y + 20);
  const moved = await stateOf(page);
  assert.ok(Math.abs((moved.begin + moved.end) / 2 - 0.75 * 1950000) < 5000, JSON.stringify(moved));
  await page.close();
});

test('two fingers zoom', async () => {
  const page = await browser.open(sample('two_ranks'), {touch: true});
  const whole = await stateOf(page);
  const session = await page.context().newCDPSession(page);
  const touch = (type, ...points) => session.send('Input.dispatchTouchEvent', {type, touchPoints: points.map(([x, y], id) => ({x, y, id}))});
  await touch('touchStart', [500, 300]);
  await touch('touchStart', [500, 300], [700, 300]);
  for (let i = 1; i <= 8; ++i) await touch('touchMove', [500 - 10 * i, 300], [700 + 10 * i, 300]);
  await touch('touchEnd');
  const pinched = await stateOf(page);
  assert.ok(lengthOf(pinched) < 0.75 * lengthOf(whole), JSON.stringify(pinched));
  await page.close();
});

test('a click shows what an event is, with figures, links and arrows', async () => {
  const page = await browser.open(sample('two_ranks'));
  const kernel = await placeOf(page, 'gemm_bf16_128x128', 1);
  await page.mouse.click(kernel.x, kernel.y);
  await page.waitForSelector('#panel:not([hidden])');
  const text = (await page.locator('#panel').innerText()).replace(/[\u202f\u00a0]/g, ' ');
  for (const part of ['gemm_bf16_128x128', 'compute', 'rank 0 › stream 7', '250 µs (250,000 ns)', '150 µs (150,000 ns)',
    '3.00 MiB (3,145,728 B)', '8.00 GFLOP', '53.3 TFLOP/s', '[512, 768] x [768, 3072]', 'h.0.mlp', 'launched by aten::mm',
    'waits for gemm_bf16_128x128', 'lets start gemm_bf16_128x128']) {
    assert.ok(text.includes(part), `${part} in ${text}`);
  }
  await page.waitForFunction(() => globalThis.nadiTimeline.chart.arrows.length === 3);
  assert.match(await page.locator('#spoken').innerText(), /gemm_bf16_128x128, compute, on stream 7/);

  // Along a link, and with the arrow keys.
  await page.getByRole('button', {name: 'aten::mm'}).click();
  assert.match(await page.locator('#panel-title').innerText(), /aten::mm/);
  await page.locator('#chart').focus();
  const before1 = (await stateOf(page)).selected;
  await page.keyboard.press('ArrowRight');
  assert.equal((await stateOf(page)).selected, before1 + 1);
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction(() => document.getElementById('panel-title').textContent === 'gemm_bf16_128x128');
  await page.keyboard.press('Escape');
  assert.ok(await page.locator('#panel').isHidden());
  assert.equal((await stateOf(page)).selected, null);
  await page.close();
});

test('a double click and Enter go close to an event', async () => {
  const page = await browser.open(sample('two_ranks'));
  const copy = await placeOf(page, 'Memcpy DtoH');
  await page.mouse.dblclick(copy.x, copy.y);
  const {begin, end} = await stateOf(page);
  assert.ok(begin < 850000 && begin > 700000 && end > 890000 && end < 1000000, `${begin} ${end}`);
  await page.close();
});

test('search finds, highlights and walks around', async () => {
  const page = await browser.open(sample('two_ranks'));
  await page.keyboard.press('/');
  await page.keyboard.type('REDUCE');
  assert.equal(await page.locator('#search-result').innerText(), '4 found');
  await frame(page);
  // Everything else is faint: a box that does not match is close to the background.
  const color = await page.evaluate(() => {
    const {chart, data} = globalThis.nadiTimeline;
    const rgb = (event) => {
      const box = chart.boxOf(event);
      return Array.from(chart.context.getImageData(Math.round((box.x0 + box.x1) / 2), Math.round(box.y1 - 2), 1, 1).data);
    };
    const find = (name) => Array.from({length: data.count}, (_, i) => i).find((i) => data.name(i) === name);
    return {found: rgb(find('all_reduce')), other: rgb(find('gemm_bf16_128x128'))};
  });
  assert.ok(color.found[0] > 190 && color.found[2] < 60, JSON.stringify(color));
  assert.ok(Math.min(...color.other) > 180, JSON.stringify(color));
  await page.keyboard.press('Enter');
  const starts = [];
  for (let i = 0; i < 5; ++i) {
    starts.push(await page.evaluate(() => globalThis.nadiTimeline.data.starts[globalThis.nadiTimeline.chart.selected]));
    await page.keyboard.press('n');
  }
  assert.deepEqual(starts, [800000, 810000, 1800000, 1810000, 800000]);
  await page.keyboard.press('Shift+N');
  await page.keyboard.press('Shift+N');
  assert.equal(await page.evaluate(() => globalThis.nadiTimeline.data.starts[globalThis.nadiTimeline.chart.selected]), 1810000);
  await page.locator('#search').fill('no such name');
  assert.equal(await page.locator('#search-result').innerText(), 'no match');
  await page.close();
});

test('a range has the sums of what lies in it', async () => {
  const page = await browser.open(sample('two_ranks'));
  const {x, y} = await page.locator('#chart').boundingBox();
  // From the middle of the first kernel of rank 0 on to 450 us, by pixels.
  const at = (time) => page.evaluate((t) => globalThis.nadiTimeline.chart.xOf(t), time);
  await page.keyboard.down('Shift');
  await page.mouse.move(x + await at(100000), y + 300);
  await page.mouse.down();
  await page.mouse.move(x + await at(450000), y + 320, {steps: 5});
  await page.mouse.up();
  await page.keyboard.up('Shift');
  const {range} = await stateOf(page);
  assert.ok(Math.abs(range.begin - 100000) < 3000 && Math.abs(range.end - 450000) < 3000, JSON.stringify(range));
  // The same sums, from the definition.
  const shown = await page.evaluate(() => Array.from(document.querySelectorAll('#sums-kinds tbody tr'), (row) => [row.dataset.kind, Number(row.dataset.ns)]));
  const overlap = (start, duration) => Math.max(0, Math.min(start + duration, range.end) - Math.max(start, range.begin));
  let compute = 0;
  let host = 0;
  for (const rank of [0, 10000]) {
    for (const layer of [0, 1, 2, 3]) compute += overlap(rank + layer * 200000 + 50000, 150000);
    host += overlap(rank, 800000);
  }
  assert.deepEqual(shown.map(([kind]) => kind), ['compute', 'host']);
  assert.ok(Math.abs(shown[0][1] - compute) < 2 && Math.abs(shown[1][1] - host) < 2, JSON.stringify({shown, compute, host}));
  const names = await page.evaluate(() => Array.from(document.querySelectorAll('#sums-names tbody tr'), (row) => [row.cells[0].innerText, row.cells[3].innerText]));
  assert.deepEqual(names.map(([name]) => name).sort(), ['aten::mm', 'forward', 'gemm_bf16_128x128']);
  await page.keyboard.press('Escape');
  assert.equal((await stateOf(page)).range, null);
  await page.close();
});

test('sums of random events are those of the definition, and levels of detail lose nothing', async () => {
  const page = await browser.open(sample('random'));
  const result = await page.evaluate(() => {
    const {data, chart, panel} = globalThis.nadiTimeline;
    const [begin, end] = [1234567, 4567890];
    panel.showRange(begin, end);
    const shown = Array.from(document.querySelectorAll('#sums-names tbody tr'), (row) => [row.cells[0].innerText, Number(row.dataset.ns)]);
    const sums = new Map();
    for (let event = 0; event < data.count; ++event) {
      const time = Math.min(data.end(event), end) - Math.max(data.starts[event], begin);
      if (data.end(event) > begin && data.starts[event] < end) {
        const key = data.name(event) + ' ' + data.kind(event);
        sums.set(key, (sums.get(key) ?? 0) + time);
      }
    }
    // Busy time by levels, at each level, against that by events.
    const errors = [];
    data.tracks.forEach((track, number) => {
      let busy = 0;
      for (let event = track.begin; event < track.end; ++event) busy += data.durations[event];
      for (const level of chart.levels[number]) {
        const sum = level.busy.reduce((a, b) => a + b, 0);
        if (Math.abs(sum - busy) > 1e-4 * busy) errors.push([number, sum, busy]);
      }
    });
    return {shown, sums: Array.from(sums), errors};
  });
  assert.deepEqual(result.errors, []);
  assert.equal(result.sums.length, 120);
  assert.equal(result.shown.length, 60);
  const expected = result.sums.map(([, time]) => time).sort((a, b) => b - a).slice(0, 60);
  assert.deepEqual(result.shown.map(([, time]) => time), expected);
  await page.close();
});

test('light, dark and paper', async () => {
  const light = await browser.open(sample('two_ranks'));
  const background = (page) => page.evaluate(() => {
    const {chart} = globalThis.nadiTimeline;
    return Array.from(chart.context.getImageData(3, chart.canvas.height - 3, 1, 1).data.slice(0, 3));
  });
  assert.deepEqual(await background(light), [255, 255, 255]);
  await light.keyboard.press('t');
  await frame(light);
  assert.ok(Math.max(...await background(light)) < 60);
  await light.locator('#theme').click();
  await frame(light);
  assert.deepEqual(await background(light), [255, 255, 255]);
  await light.close();
  const dark = await browser.open(sample('two_ranks'), {dark: true});
  assert.ok(Math.max(...await background(dark)) < 60);
  await dark.emulateMedia({media: 'print'});
  await dark.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await frame(dark);
  assert.deepEqual(await background(dark), [255, 255, 255]);
  assert.ok(await dark.locator('#search').isHidden());
  await dark.close();
});

test('help, and keys that are typed into the search do nothing else', async () => {
  const page = await browser.open(sample('two_ranks'));
  await page.keyboard.press('?');
  assert.ok(await page.locator('#help').isVisible());
  await page.keyboard.press('Escape');
  assert.ok(await page.locator('#help').isHidden());
  const whole = await stateOf(page);
  await page.keyboard.press('/');
  await page.keyboard.type('wasd');
  assert.deepEqual(await stateOf(page), whole);
  assert.ok(await page.locator('#chart').getAttribute('aria-label').then((text) => text.includes('44 events on 6 lanes')));
  await page.close();
});

test('measured beside predicted', async () => {
  const page = await browser.open(sample('predicted'));
  const lines = await page.evaluate(() => globalThis.nadiTimeline.layout.lines.map((line) => [line.predicted, line.height]));
  assert.deepEqual(lines.map(([predicted]) => predicted), [false, true]);
  const gemm = await placeOf(page, 'gemm', 0);
  await page.mouse.click(gemm.x, gemm.y);
  await page.waitForSelector('#panel:not([hidden])');
  assert.match((await page.locator('#panel').innerText()).replace(/\u202f/g, ' '), /predicted by gemm 60 ns, −25.0 % of measured/);
  await page.close();
});

test('a pipeline shows micro-batches, bubbles and their share', async () => {
  const page = await browser.open(sample('pipeline'));
  assert.equal(await page.getByText('bubble 27.3 %').count(), 4);
  const forward = await page.evaluate(() => {
    const {data} = globalThis.nadiTimeline;
    return Array.from({length: data.count}, (_, i) => i).filter((i) => data.lanes[data.tracks[data.trackOf(i)].lane].name === 'stage 3' && data.batch(i) !== null)
        .map((i) => data.name(i)[0] + data.batch(i)).join(' ');
  });
  assert.equal(forward, 'f0 b0 f1 b1 f2 b2 f3 b3 f4 b4 f5 b5 f6 b6 f7 b7');
  await page.close();
});

test('pictures look as they should', async () => {
  // Mean colours of squares: a box of the right colour where it belongs. Tolerant, so that fonts do not matter.
  const close = (color, expected, what) => {
    for (let i = 0; i < 3; ++i) assert.ok(Math.abs(color[i] - expected[i]) < 40, `${what}: ${color} is not near ${expected}`);
  };
  const page = await browser.open(sample('pipeline'));
  const {height} = await page.locator('#chart').boundingBox();
  const columns = 70;
  const rows = Math.round(height / 8);
  const colors = await colorsOf(page, '#chart', columns, rows);
  // The middle of stage 0: 30 px of ruler, 26 of the group, 14 to the middle of the lane.
  const row = Math.floor((30 + 26 + 14) / height * rows);
  const at = async (time) => colors[row * columns + Math.floor(await page.evaluate((t) => {
    const {chart} = globalThis.nadiTimeline;
    return chart.xOf(t) / chart.width;
  }, time) * columns)];
  close(await at(50e3), [122, 187, 238], 'the first forward is blue');
  close(await at(1100e3), [31, 128, 87], 'the first backward is green');
  // In grey, every shade of forward is lighter than every one of backward.
  const greys = await page.evaluate(() => {
    const {data, palette} = globalThis.nadiTimeline;
    const colorOf = palette.colorOf();
    const sorts = {forward: [], backward: []};
    for (let event = 0; event < data.count; ++event) {
      const color = colorOf(event);
      sorts[data.head.kinds[data.kind(event)]]?.push(0.299 * (color & 255) + 0.587 * (color >> 8 & 255) + 0.114 * (color >> 16 & 255));
    }
    return {darkestForward: Math.min(...sorts.forward), lightestBackward: Math.max(...sorts.backward)};
  });
  assert.ok(greys.darkestForward > greys.lightestBackward + 20, JSON.stringify(greys));
  close(await at(700e3), [215, 218, 224], 'a bubble is grey');
  close(colors[colors.length - columns], [255, 255, 255], 'nothing below the lanes');
  await page.close();
});

test('an empty timeline opens, and one that was cut short says so', async () => {
  const page = await browser.open(sample('empty'));
  assert.match(await page.locator('#chart').getAttribute('aria-label'), /0 events/);
  await page.keyboard.press('f');
  await page.keyboard.press('m');
  await page.keyboard.press('ArrowRight');
  await page.close();
  const whole = fs.readFileSync(sample('two_ranks'), 'utf8');
  // Without the block of starts, but with the script.
  fs.writeFileSync(path.join(folder, 'cut.html'), whole.replace(/<script type="application\/octet-stream" data-block="starts".*?<\/script>/s, ''));
  const cut = await browser.open(path.join(folder, 'cut.html'), {ready: false});
  await cut.waitForSelector('[role=alert]');
  assert.match(await cut.locator('[role=alert]').innerText(), /no block starts/);
  // That it is told on the console, too, is no fault here.
  browser.faults.splice(0, browser.faults.length, ...browser.faults.filter((fault) => !fault.includes('cut.html')));
  await cut.close();
});

test('hostile names neither run nor break the page', async () => {
  const page = await browser.open(sample('hostile'));
  assert.equal(await page.evaluate(() => globalThis.nadiTimeline.data.count), 10);
  const names = await page.evaluate(() => Array.from({length: 10}, (_, i) => globalThis.nadiTimeline.data.name(i)));
  assert.equal(names[0], '</script><script>globalThis.broken = 1</script>');
  assert.equal(names[3].length, 10003);
  assert.equal(names[5], 'control \u0001\u0002\u001b[31m\r\n\t and a zero: \u0000 after it');
  await page.keyboard.press('ArrowRight');
  for (let i = 0; i < 10; ++i) {
    await frame(page);
    const panel = await page.locator('#panel').boundingBox();
    assert.ok(panel.height < 0.45 * 700 && panel.width <= 1200, 'the panel stays in its place');
    // Figures are shown to the last digit, however large.
    await page.waitForFunction((n) => globalThis.nadiTimeline.chart.selected === n &&
        document.getElementById('panel').textContent.replaceAll(',', '').includes('-9223372036854775808'), i);
    await page.keyboard.press('ArrowDown');
  }
  await page.keyboard.press('m');
  await page.keyboard.press('/');
  await page.keyboard.type('</script>');
  assert.equal(await page.locator('#search-result').innerText(), '1 found');
  assert.equal(await page.evaluate(() => globalThis.broken), undefined);
  assert.equal(await page.evaluate(() => document.querySelectorAll('img').length), 0);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing widens the page');
  await page.close();
});

test('replicas that do the same are one row, which opens', async () => {
  const page = await browser.open(sample('replicas'));
  const names = () => page.evaluate(() => globalThis.nadiTimeline.layout.labels.map((label) => label.name));
  assert.deepEqual((await names()).filter((name) => name.startsWith('rank') || name.startsWith('and')),
      ['rank 0, stage 0, tensor-parallel rank 0 of 1', 'and 14 like it', 'rank 3, stage 0, tensor-parallel rank 0 of 1']);
  await page.getByRole('button', {name: 'and 14 like it'}).click();
  assert.equal((await names()).filter((name) => name.startsWith('rank')).length, 16);
  await page.getByRole('button', {name: 'and 14 like it'}).click();
  // An event of a rank that is not shown opens what it is in.
  await page.evaluate(() => {
    const {chart, data} = globalThis.nadiTimeline;
    const event = Array.from({length: data.count}, (_, i) => i).find((i) => data.groups[data.lanes[data.tracks[data.trackOf(i)].lane].group].number === 7);
    chart.goTo(event, false);
  });
  assert.equal((await names()).filter((name) => name.startsWith('rank')).length, 16);
  await page.close();
});

test('names have the room that they need, and the reader moves the edge', async () => {
  const page = await browser.open(sample('replicas'));
  const cut = () => page.evaluate(() => [...document.querySelectorAll('.label-name')].filter((each) => each.scrollWidth > each.clientWidth + 1).length);
  assert.equal(await cut(), 0);
  const width = () => page.locator('.lane-labels').evaluate((each) => each.clientWidth);
  const before = await width();
  await page.locator('.splitter').focus();
  await page.keyboard.press('ArrowLeft');
  assert.equal(await width(), before - 24);
  const place = await page.locator('.splitter').boundingBox();
  await page.mouse.move(place.x + 3, place.y + 50);
  await page.mouse.down();
  await page.mouse.move(place.x - 97, place.y + 50);
  await page.mouse.up();
  assert.ok(Math.abs(await width() - (before - 124)) <= 4);
  await page.close();
});

test('the address leads back to what was looked at', async () => {
  const page = await browser.open(sample('two_ranks'));
  await page.evaluate(() => globalThis.nadiTimeline.chart.show(200e3, 500e3));
  const place = await placeOf(page, 'gemm_bf16_128x128', 1);
  await page.mouse.click(place.x, place.y);
  await page.locator('#search').fill('gemm');
  await page.waitForFunction(() => location.hash.includes('search=gemm') && location.hash.includes('event='));
  const before = await stateOf(page);
  const fragment = await page.evaluate(() => location.hash);
  await page.close();
  const again = await browser.open(sample('two_ranks'), {fragment});
  const after = await stateOf(again);
  assert.ok(Math.abs(after.begin - before.begin) < 2 && Math.abs(after.end - before.end) < 2);
  assert.equal(after.selected, before.selected);
  assert.equal(await again.locator('#search').inputValue(), 'gemm');
  assert.match(await again.locator('#search-result').innerText(), /^16 found$/);
  await again.close();
  // An address that somebody has changed shows what it can.
  const odd = await browser.open(sample('two_ranks'), {fragment: '#begin=x&end=-5&event=99999999&scroll=1e99&search=%00'});
  assert.equal((await stateOf(odd)).selected, null);
  await odd.close();
});

test('what is shown is saved as PNG and SVG', async () => {
  const page = await browser.open(sample('replicas'));
  const saved = async (button) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator(button).click()]);
    return {name: download.suggestedFilename(), bytes: fs.readFileSync(await download.path())};
  };
  const svg = await saved('#save-svg');
  assert.equal(svg.name, 'sixteen-replicas.svg');
  assert.match(svg.bytes.toString(), /^<svg[^]*sixteen replicas[^]*computation of the stage[^]*<\/svg>$/);
  const png = await saved('#save-png');
  assert.equal(png.name, 'sixteen-replicas.png');
  assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
  assert.ok(png.bytes.readUInt32BE(16) > 2000 && png.bytes.length > 20000);
  await page.close();
});

test('paper shows what the screen shows, names beside their rows', {skip: !hasProgram('pdftotext') && 'pdftotext is not there'}, async () => {
  for (const dark of [false, true]) {
    const page = await browser.open(sample('replicas'), {dark});
    const boxes = await page.evaluate(() => {
      const {layout} = globalThis.nadiTimeline;
      return layout.labels.filter((label) => label.kind === 'group').map((label) => [label.name.split(',')[0].split(' ')[1], label.y + label.height / 2]);
    });
    const sheets = await printedWords(page);
    const words = sheets.flat();
    const ranks = boxes.map(([number]) => {
      const at = words.findIndex((word, i) => word.text === 'rank' && words[i + 1]?.text === `${number},`);
      assert.ok(at >= 0, `rank ${number} is not on the paper: ${words.map((word) => word.text).join(' ')}`);
      return words[at];
    });
    // Places on paper are those of the screen times one factor, which the width of the picture gives.
    const scale = (ranks[1].y - ranks[0].y) / (boxes[1][1] - boxes[0][1]);
    assert.ok(scale > 0.4 && scale < 1.5, `scale ${scale}`);
    for (const name of ['computation', 'communication', 'and']) assert.ok(words.some((word) => word.text === name), name);
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    const rows = await page.evaluate(async () => {
      const picture = document.querySelector('.timeline-picture');
      const image = picture.querySelector('image');
      const shown = new Image();
      shown.src = image.getAttribute('href');
      await shown.decode();
      const canvas = new OffscreenCanvas(shown.width, shown.height);
      const context = canvas.getContext('2d');
      context.drawImage(shown, 0, 0);
      const sharp = shown.height / Number(image.getAttribute('height'));
      const top = Number(image.getAttribute('y'));
      const group = Number(/translate\(0 ([\d.]+)\)/.exec(picture.querySelector('g').getAttribute('transform'))[1]);
      // The pixels in the middle of the lane that stands beside each name of a lane.
      return [...picture.querySelectorAll('g text')].filter((text) => /^(computation|communication)/.test(text.textContent)).map((text) => {
        const y = group + Number(text.getAttribute('y')) - 4 - top;
        const {data, width} = context.getImageData(0, Math.round(y * sharp), shown.width, 1);
        let red = 0, blue = 0;
        for (let x = 0; x < width; ++x) {
          if (data[4 * x] > data[4 * x + 2] + 40) ++red;
          if (data[4 * x + 2] > data[4 * x] + 40) ++blue;
        }
        return [text.textContent.split(' ')[0], red > 20, blue > 20];
      });
    });
    assert.deepEqual(rows, [['computation', false, true], ['communication', true, false], ['computation', false, true], ['communication', true, false]]);
    await page.close();
  }
});

test('axe-core finds nothing', async () => {
  for (const name of ['two_ranks', 'pipeline', 'replicas', 'predicted']) await expectAccess(browser, sample(name));
  await expectAccess(browser, sample('two_ranks'), async (page) => {
    const place = await placeOf(page, 'gemm_bf16_128x128', 1);
    await page.mouse.click(place.x, place.y);
    await page.waitForSelector('#panel:not([hidden])');
  });
});

test('predicted against measured: a dot for each op, lanes by their errors', async () => {
  const page = await browser.open(sample('predicted'));
  assert.ok(await page.locator('#errors').isVisible());
  await page.keyboard.press('e');
  await page.waitForSelector('#error-table');
  const {rows, errors} = await page.evaluate(async () => {
    const {data, pairs} = globalThis.nadiTimeline;
    const by = new Map();
    pairs.measured.forEach((event, i) => {
      const one = by.get(data.name(event)) ?? [0, 0, 0];
      by.set(data.name(event), [one[0] + 1, one[1] + data.durations[event], one[2] + data.durations[pairs.predicted[i]]]);
    });
    return {rows: [...document.querySelectorAll('#error-table tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent)), errors: [...by]};
  });
  assert.equal(rows.length, errors.length);
  for (const [name, [count, measured, predicted]] of errors) {
    const row = rows.find((each) => each[0] === name);
    assert.equal(row[1], String(count));
    const change = predicted / measured - 1;
    assert.equal(row[4].replace('\u2212', '-').replace(/[\u202f%+ ]/g, ''), (100 * change).toFixed(Math.abs(change) < 0.0995 ? 2 : 1));
  }
  // A prediction that is too short is blue, and a click on its dot goes to the op.
  const painted = await page.evaluate(() => {
    const {data, pairs, palette} = globalThis.nadiTimeline;
    const colorOf = palette.colorOf();
    return [...pairs.measured].map((event, i) => [data.durations[pairs.predicted[i]] / data.durations[event] - 1, colorOf(event) & 255, colorOf(event) >> 16 & 255]);
  });
  for (const [error, red, blue] of painted) {
    if (error < -0.1) assert.ok(blue > red, `${error}: ${red} ${blue}`);
    if (error > 0.1) assert.ok(red > blue, `${error}: ${red} ${blue}`);
  }
  await page.waitForFunction(() => location.hash.includes('errors=1'));
  await page.keyboard.press('e');
  assert.ok(await page.locator('#panel').isHidden());
  await page.close();
  await expectAccess(browser, sample('predicted'), (each) => each.locator('#errors').click());
});
