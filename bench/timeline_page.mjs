// How a page of a timeline opens and moves in Chromium:
//
//   node bench/timeline_page.mjs PAGE.html [times]
//
// prints, as JSON per opening: milliseconds from navigation to the first complete picture, the peak of the renderer's memory,
// and the time that script takes per frame while the timeline is dragged to and fro at three zooms, from Chromium's
// performance trace (everything that the main thread runs as script in a frame: handlers of events and of animation frames).
// Needs what tests/web needs: node, chromium, `npm ci` in tests/web.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const here = path.dirname(new URL(import.meta.url).pathname);
const {chromium} = createRequire(path.join(here, '../tests/web/package.json'))('playwright-core');

const [file, times = '1'] = process.argv.slice(2);
if (!file) {
  console.error('usage: node bench/timeline_page.mjs PAGE.html [times]');
  process.exit(2);
}

/** The value below which a share of all values lies. */
function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

/**
 * Script per frame, from the events of a trace: milliseconds by the clock, and those that the thread ran, which are fewer
 * where the machine has other work.
 */
function scriptPerFrame(events) {
  const main = events.find((event) => event.name === 'FireAnimationFrame')?.tid;
  const names = ['FireAnimationFrame', 'EventDispatch', 'FunctionCall', 'TimerFire', 'RunMicrotasks', 'MinorGC', 'MajorGC'];
  const script = events.filter((event) => event.tid === main && event.ph === 'X' && names.includes(event.name)).sort((a, b) => a.ts - b.ts || b.dur - a.dur);
  // Outermost ones only: the calls of a handler lie within it.
  const outer = [];
  for (const event of script) if (outer.length === 0 || event.ts >= outer.at(-1).ts + outer.at(-1).dur) outer.push(event);
  const begins = events.filter((event) => event.name === 'AnimationFrame' && event.ph === 'b').map((event) => event.ts).sort((a, b) => a - b);
  const sums = begins.map(() => ({clock: 0, thread: 0}));
  let frame = 0;
  for (const event of outer) {
    while (frame + 1 < begins.length && begins[frame + 1] <= event.ts) ++frame;
    sums[frame].clock += event.dur / 1000;
    sums[frame].thread += (event.tdur ?? event.dur) / 1000;
  }
  return sums.filter((sum) => sum.clock > 0);
}

async function measure() {
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu']});
  const page = await (await browser.newContext({viewport: {width: 1600, height: 900}, offline: true})).newPage();
  await page.goto(pathToFileURL(path.resolve(file)).href, {timeout: 120000});
  await page.waitForSelector('html[data-ready]', {timeout: 120000, state: 'attached'});
  const opened = await page.evaluate(() => performance.getEntriesByName('nadi-painted')[0].startTime);
  await page.waitForTimeout(1500);
  const {processInfo} = await (await browser.newBrowserCDPSession()).send('SystemInfo.getProcessInfo');
  let peak = 0;
  for (const {id, type} of processInfo) {
    if (type !== 'renderer') continue;
    const found = /VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${id}/status`, 'utf8'));
    peak = Math.max(peak, Number(found[1]) / 1024);
  }
  const script = [];
  for (const zoom of [1, 20, 1000]) {
    await page.evaluate((factor) => {
      const {chart, data} = globalThis.nadiTimeline;
      const length = data.span / factor;
      chart.show(data.span / 2 - length / 2, data.span / 2 + length / 2);
    }, zoom);
    await page.waitForTimeout(200);
    await browser.startTracing(page, {categories: ['devtools.timeline', 'v8', 'disabled-by-default-v8.gc']});
    await page.mouse.move(900, 500);
    await page.mouse.down();
    for (let i = 0; i <= 90; ++i) {
      await page.mouse.move(900 + 400 * Math.sin(i / 9), 500 + 60 * Math.sin(i / 20));
      await page.waitForTimeout(12);
    }
    await page.mouse.up();
    const trace = JSON.parse((await browser.stopTracing()).toString());
    script.push({zoom, frames: scriptPerFrame(trace.traceEvents)});
  }
  await browser.close();
  return {
    opens_ms: Math.round(opened), peak_MiB: Math.round(peak), page_bytes: fs.statSync(file).size,
    script_ms_per_frame: script.map(({zoom, frames}) => {
      const figure = (which, share) => Number(percentile(frames.map((one) => one[which]), share).toFixed(2));
      return {zoom, frames: frames.length, median: figure('clock', 0.5), p95: figure('clock', 0.95), thread_p95: figure('thread', 0.95)};
    }),
  };
}

for (let i = 0; i < Number(times); ++i) console.log(JSON.stringify(await measure()));
