// Makes the pictures of pages in docs/images/ again, from a run of this machine:
//
//   node tests/web/screenshots.mjs [--nadi build/release/src/cli/nadi] [--folder docs/images] [name...]
//
// A small GPT-2 is trained for three steps on four ranks, as a pipeline; its trace is drawn in every way that there is. With
// names, only these pictures are made. Needs what the tests of pages need.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {program, run, startBrowser} from './browser.mjs';

const source = path.join(path.dirname(new URL(import.meta.url).pathname), '../..');
const words = process.argv.slice(2);
const option = (name, usual) => {
  const at = words.indexOf(name);
  return at < 0 ? usual : words.splice(at, 2)[1];
};
const nadi = path.resolve(option('--nadi', program('nadi', 'src/cli')));
const target = path.resolve(option('--folder', path.join(source, 'docs/images')));

/** Shows the event of a name that lasts longest, and clicks it. */
async function clickLongest(page, name) {
  const place = await page.evaluate((wanted) => {
    const {chart, data, canvas} = globalThis.nadiTimeline;
    let best = null;
    for (let event = 0; event < data.count; ++event) {
      if (data.name(event).includes(wanted) && (best === null || data.durations[event] > data.durations[best])) best = event;
    }
    const length = data.span / 5;
    const middle = data.starts[best] + data.durations[best] / 2;
    chart.show(middle - length / 2, middle + length / 2);
    const box = chart.boxOf(best);
    const {left, top} = canvas.getBoundingClientRect();
    return {x: left + (box.x0 + box.x1) / 2, y: top + (box.y0 + box.y1) / 2};
  }, name);
  await page.mouse.click(place.x, place.y);
  await page.waitForSelector('#panel:not([hidden])');
  await page.mouse.move(5, 5);
}

/** What is drawn: the command that writes the page, its size, and what is done before the picture is taken. */
const pictures = {
  timeline: {command: ['timeline', 'out/run_trace', '-o', 'timeline.html'], width: 1200, height: 660},
  timeline_details: {command: ['timeline', 'out/run_trace', '-o', 'details.html'], width: 1200, height: 760, dark: true,
    act: (page) => clickLongest(page, 'pipeline.send')},
  pipeline: {command: ['timeline', '--pipeline', 'out/run_trace', '-o', 'pipeline.html'], width: 1200, height: 560},
  report: {command: ['analyze', 'out/run_trace', '--html', 'report.html'], width: 1200, height: 900},
  graph_page: {command: ['draw', 'out/run_trace.3.et', '-o', 'graph.html'], width: 1200, height: 760},
};

const wanted = words.length > 0 ? words : Object.keys(pictures);
for (const name of wanted) if (!pictures[name]) throw new Error(`no picture ${name}: there are ${Object.keys(pictures).join(', ')}`);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nadi-pictures-'));
process.chdir(folder);
// Twelve small layers, split so that the last stage, which has the vocabulary as well, takes about as long as the others.
fs.writeFileSync('config.json', JSON.stringify({model_type: 'gpt2', n_layer: 12, n_embd: 128, n_head: 4, n_positions: 256, vocab_size: 4096}));
run(nadi, 'launch', '-n', '4', 'train', 'config.json', '--pp', '4', '--partition', '4-4-3-1', '--batch-size', '2', '--gradient-accumulation-steps', '8',
    '--max-seq-length', '128', '--max-steps', '3', '--skip-eval', '--enable-tracing', '--trace-output-dir', 'out', '--trace-name', 'run');
const browser = await startBrowser();
for (const name of wanted) {
  const {command, width, height, dark, act} = pictures[name];
  run(nadi, ...command);
  const page = await browser.open(path.resolve(command.at(-1)), {width, height, dark});
  // Lines between events come after the first picture.
  await page.waitForTimeout(500);
  if (act) await act(page);
  await page.waitForTimeout(500);
  await page.screenshot({path: path.join(target, name + '.png')});
  await page.close();
  console.log(`${path.join(target, name + '.png')}: ${fs.statSync(path.join(target, name + '.png')).size} bytes`);
}
await browser.stop();
fs.rmSync(folder, {recursive: true});
