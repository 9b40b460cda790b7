// What a page's script takes per frame while it is dragged, from Chromium's performance trace: what both measurements of
// pages share (timeline_page.mjs, graph_page.mjs).
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const here = path.dirname(new URL(import.meta.url).pathname);
const {chromium} = createRequire(path.join(here, '../tests/web/package.json'))('playwright-core');

/** A page that is drawn, at 1600 x 900 without a GPU, and its browser. @param {string} file */
export async function openPage(file) {
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu']});
  const page = await (await browser.newContext({viewport: {width: 1600, height: 900}, offline: true})).newPage();
  await page.goto(pathToFileURL(path.resolve(file)).href, {timeout: 120000});
  await page.waitForSelector('html[data-ready]', {timeout: 120000, state: 'attached'});
  return {browser, page};
}

/** The value below which a share of all values lies. */
function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

/**
 * Script per frame that drew, from the events of a trace: everything that the main thread runs as script, handlers of events and
 * of animation frames, in milliseconds by the clock and in those that the thread ran, which are fewer where the machine has
 * other work. Frames in which only a timer ran are no frames: they would halve every share.
 */
function scriptPerFrame(events) {
  const main = events.find((event) => event.name === 'FireAnimationFrame')?.tid;
  const names = ['FireAnimationFrame', 'EventDispatch', 'FunctionCall', 'TimerFire', 'RunMicrotasks', 'MinorGC', 'MajorGC'];
  const script = events.filter((event) => event.tid === main && event.ph === 'X' && names.includes(event.name)).sort((a, b) => a.ts - b.ts || b.dur - a.dur);
  // Outermost ones only: the calls of a handler lie within it.
  const outer = [];
  for (const event of script) if (outer.length === 0 || event.ts >= outer.at(-1).ts + outer.at(-1).dur) outer.push(event);
  const begins = events.filter((event) => event.name === 'AnimationFrame' && event.ph === 'b').map((event) => event.ts).sort((a, b) => a - b);
  const sums = begins.map(() => ({clock: 0, thread: 0, drew: false}));
  let frame = 0;
  for (const event of outer) {
    while (frame + 1 < begins.length && begins[frame + 1] <= event.ts) ++frame;
    sums[frame].clock += event.dur / 1000;
    sums[frame].thread += (event.tdur ?? event.dur) / 1000;
    sums[frame].drew ||= event.name === 'FireAnimationFrame';
  }
  return sums.filter((sum) => sum.drew);
}

/** Script per frame while something is done: {frames, median, p95, longest, thread_p95} in milliseconds. */
export async function measureFrames(browser, page, act) {
  await browser.startTracing(page, {categories: ['devtools.timeline', 'v8', 'disabled-by-default-v8.gc']});
  await act();
  const frames = scriptPerFrame(JSON.parse((await browser.stopTracing()).toString()).traceEvents);
  const figure = (which, share) => Number(percentile(frames.map((one) => one[which]), share).toFixed(2));
  return {frames: frames.length, median: figure('clock', 0.5), p95: figure('clock', 0.95), longest: figure('clock', 1), thread_p95: figure('thread', 0.95)};
}

/** Drags to and fro, as far as `reach` pixels, for about a hundred frames. */
export async function drag(page, reachX = 400, reachY = 60) {
  await page.mouse.move(900, 500);
  await page.mouse.down();
  for (let i = 0; i <= 90; ++i) {
    await page.mouse.move(900 + reachX * Math.sin(i / 9), 500 + reachY * Math.sin(i / 20));
    await page.waitForTimeout(12);
  }
  await page.mouse.up();
}
