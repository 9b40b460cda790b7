// How a page of a timeline opens and moves in Chromium:
//
//   node bench/timeline_page.mjs PAGE.html [times]
//
// prints, as JSON per opening: milliseconds from navigation to the first complete picture, the peak of the renderer's memory,
// and the time that script takes per frame while the timeline is dragged to and fro at three zooms (frame_script.mjs).
// Fails where script takes more than 8 ms in more than one frame of twenty. Needs what tests/web needs: node, chromium,
// `npm ci` in tests/web.
import fs from 'node:fs';
import {drag, measureFrames, openPage} from './frame_script.mjs';

const kMostMilliseconds = 8;
const [file, times = '1'] = process.argv.slice(2);
if (!file) {
  console.error('usage: node bench/timeline_page.mjs PAGE.html [times]');
  process.exit(2);
}

async function measure() {
  const {browser, page} = await openPage(file);
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
    script.push({zoom, ...await measureFrames(browser, page, () => drag(page))});
  }
  await browser.close();
  return {opens_ms: Math.round(opened), peak_MiB: Math.round(peak), page_bytes: fs.statSync(file).size, script_ms_per_frame: script};
}

for (let i = 0; i < Number(times); ++i) {
  const measured = await measure();
  console.log(JSON.stringify(measured));
  if (measured.script_ms_per_frame.some((one) => one.p95 > kMostMilliseconds)) process.exitCode = 1;
}
