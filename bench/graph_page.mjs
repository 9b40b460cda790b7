// How a page of a graph opens and moves in Chromium:
//
//   node bench/graph_page.mjs NODES OUTPUT.html [times]      writes a graph of so many nodes as a page, and measures it
//
// prints, as JSON per opening: milliseconds until the page is drawn, nodes and items to be seen, and the time that script takes
// per frame (frame_script.mjs) while the graph is dragged and zoomed: as it opens, and with every box open at three zooms.
// Fails where script takes more than 8 ms in more than one frame of twenty. The program is NADI, or that of build/release.
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {drag, measureFrames, openPage} from './frame_script.mjs';

const kMostMilliseconds = 8;
const [nodes, file, times = '1'] = process.argv.slice(2);
if (!file) {
  console.error('usage: node bench/graph_page.mjs NODES OUTPUT.html [times]');
  process.exit(2);
}

/**
 * Layers one behind the other, each of blocks of parallel branches that meet again: operations, tensors between them, one
 * collective at the end of a layer, as node-link JSON.
 */
function layeredGraph(count) {
  const branches = 8;
  const perLayer = 1000;
  const graph = {directed: true, multigraph: true, graph: {model: 'layers'}, nodes: [], edges: []};
  let next = 0;
  const add = (node, ...from) => {
    graph.nodes.push({id: next, ...node});
    for (const source of from) if (source !== null) graph.edges.push({source, target: next, key: 'data'});
    return next++;
  };
  let last = null;
  for (let layer = 0; next < count; ++layer) {
    const name = `model.layers.${layer}`;
    const end = Math.min(count, next + perLayer);
    while (next + 2 * branches + 2 <= end) {
      const meet = [];
      for (let branch = 0; branch < branches; ++branch) {
        const op = add({name: `${name}.op${next}`, type: 'COMP', op: 'matmul', layer: `${name}.part`, num_ops: 1e6 + next, tensor_size: 4096}, last);
        meet.push(add({name: `${name}.out${next}`, type: 'TENSOR', shape: [2, 512], dtype: 'f32', bytes: 4096, layer: `${name}.part`}, op));
      }
      last = add({name: `${name}.sum${next}`, type: 'COMP', op: 'add', layer: `${name}.part`, num_ops: 1024}, ...meet);
      last = add({name: `${name}.sum_out${next}`, type: 'TENSOR', shape: [2, 512], dtype: 'f32', bytes: 4096, layer: `${name}.part`}, last);
    }
    while (next < end) last = add({name: `${name}.all_reduce${next}`, type: 'COMM_COLL', op: 'all_reduce', layer: `${name}.part`, comm_size: 4096}, last);
  }
  return graph;
}

async function measure() {
  const before = performance.now();
  const {browser, page} = await openPage(file);
  const opened = performance.now() - before;
  const script = [];
  const state = () => page.evaluate(() => ({items: globalThis.nadiGraph.scene.items.length, edges: globalThis.nadiGraph.scene.edges.length}));
  const measureAt = async (what) => {
    await page.waitForTimeout(500);
    script.push({what, ...await state(), ...await measureFrames(browser, page, async () => {
      await drag(page, 400, 250);
      for (let i = 0; i < 20; ++i) {
        await page.mouse.wheel(0, i < 10 ? -60 : 60);
        await page.waitForTimeout(16);
      }
    })});
  };
  await measureAt('as it opens');
  await page.evaluate(() => {
    const {scene, data, view} = globalThis.nadiGraph;
    scene.openOnly(Array.from({length: data.boxCount}, (_, box) => box));
    view.fitAll();
  });
  await measureAt('all boxes open, all of it');
  for (const scale of [0.1, 0.5]) {
    await page.evaluate((wanted) => {
      const {scene, view} = globalThis.nadiGraph;
      view.scale = wanted;
      view.left = scene.width / 2 - 800 / wanted;
      view.top = scene.height / 2 - 450 / wanted;
      view.redraw();
    }, scale);
    await measureAt(`all boxes open, scale ${scale}`);
  }
  const count = await page.evaluate(() => globalThis.nadiGraph.data.nodeCount);
  await browser.close();
  return {opens_ms: Math.round(opened), nodes: count, page_bytes: fs.statSync(file).size, script_ms_per_frame: script};
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nadi-graph-'));
const source = path.join(folder, 'graph.json');
fs.writeFileSync(source, JSON.stringify(layeredGraph(Number(nodes))));
const nadi = process.env.NADI ?? path.join(path.dirname(new URL(import.meta.url).pathname), '../build/release/src/cli/nadi');
const drawn = spawnSync(nadi, ['draw', source, '-o', file, '--force'], {encoding: 'utf8'});
fs.rmSync(folder, {recursive: true});
if (drawn.status !== 0) {
  console.error(drawn.stderr);
  process.exit(1);
}
for (let i = 0; i < Number(times); ++i) {
  const measured = await measure();
  console.log(JSON.stringify(measured));
  if (measured.script_ms_per_frame.some((one) => one.p95 > kMostMilliseconds)) process.exitCode = 1;
}
