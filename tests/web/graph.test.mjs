// The page of a graph in a real browser.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {colorsOf, expectAccess, program, run, startBrowser, testFolder} from './browser.mjs';

const folder = testFolder('graph');
const file = (name) => path.join(folder, name);
const nadi = program('nadi', 'src/cli');
let browser;

/** A graph of layers in a row, as node-link JSON: `ops` operations in each, a tensor behind each. */
function chain(layers, ops) {
  const nodes = [];
  const edges = [];
  let last = null;
  for (let layer = 0; layer < layers; ++layer) {
    for (let op = 0; op < ops; ++op) {
      const id = layer * ops + op;
      const type = op === ops - 1 ? 'COMM_COLL' : 'COMP';
      nodes.push({id, name: `model.layers.${layer}.op${op}`, type, op: op === ops - 1 ? 'all_reduce' : 'matmul', layer: `model.layers.${layer}.part`,
                  num_ops: 1000 + id, tensor_size: 64});
      nodes.push({id: `t${id}`, name: `model.layers.${layer}.out${op}`, type: 'TENSOR', shape: [2, op + 1], dtype: 'f32', bytes: 8 * (op + 1)});
      if (last !== null) edges.push({source: last, target: id, key: 'data'});
      edges.push({source: id, target: `t${id}`, key: 'data'});
      last = `t${id}`;
    }
  }
  return {directed: true, multigraph: true, graph: {model: 'chain'}, nodes, edges};
}

function draw(name, graph) {
  fs.writeFileSync(file(name + '.json'), JSON.stringify(graph));
  run(nadi, 'draw', file(name + '.json'), '-o', file(name + '.html'), '--force');
  return file(name + '.html');
}

before(async () => {
  draw('small', chain(4, 5));
  browser = await startBrowser();
});
after(() => browser.stop());

const frame = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const stateOf = (page) => page.evaluate(() => {
  const {view, scene, found} = globalThis.nadiGraph;
  return {scale: view.scale, left: view.left, top: view.top, items: scene.items.length, frames: scene.frames.length, selected: view.selected,
          found: found.length};
});
/** The middle of a box with this title, or of a node with this name, in the page's pixels. */
const placeOf = (page, name) => page.evaluate((wanted) => {
  const {view, scene, data} = globalThis.nadiGraph;
  const edge = view.canvas.getBoundingClientRect();
  for (const item of scene.places.keys()) {
    const title = scene.isBox(item) ? data.texts.text(data.boxTitle[item]) : data.nameOf(item - data.boxCount);
    if (title !== wanted) continue;
    const place = view.onCanvas(item);
    return {x: edge.left + place.x, y: edge.top + place.y};
  }
  throw new Error(`${wanted} is not to be seen`);
}, name);

test('opens with a box for each layer, and boxes open and close', async () => {
  const page = await browser.open(file('small.html'));
  assert.equal((await stateOf(page)).items, 4);
  assert.equal(await page.locator('h1').textContent(), 'chain, rank 0');
  let place = await placeOf(page, 'model.layers.1');
  await page.mouse.dblclick(place.x, place.y);
  assert.deepEqual([(await stateOf(page)).items, (await stateOf(page)).frames], [3 + 10, 1]);
  place = await placeOf(page, 'model.layers.1');
  await page.mouse.click(place.x, place.y);
  await page.keyboard.press('e');
  assert.equal((await stateOf(page)).items, 4);
  await page.keyboard.press('e');
  assert.equal((await stateOf(page)).items, 13);
  await page.keyboard.press('c');
  assert.equal((await stateOf(page)).items, 4);
  await page.close();
});

test('a click shows shapes, bytes and FLOPs', async () => {
  const page = await browser.open(file('small.html'));
  await page.evaluate(() => globalThis.nadiGraph.toggle(0));
  await page.keyboard.press('f');
  await frame(page);
  let place = await placeOf(page, 'model.layers.0.out2');
  await page.mouse.click(place.x, place.y);
  const details = page.locator('#details');
  assert.match(await details.textContent(), /model\.layers\.0\.out2.*tensor.*2×3.*24.*B/s);
  place = await placeOf(page, 'model.layers.0.op1');
  await page.mouse.click(place.x, place.y);
  assert.match(await details.textContent(), /operation.*matmul.*1,001/s);
  // Neighbours lead on.
  await details.getByRole('button', {name: 'model.layers.0.out1'}).click();
  assert.match(await details.textContent(), /2×2/);
  await page.keyboard.press('Escape');
  assert.equal(await details.isHidden(), true);
  await page.close();
});

test('wheel, drag and keys move and zoom', async () => {
  const page = await browser.open(file('small.html'));
  const first = await stateOf(page);
  await page.mouse.move(500, 400);
  await page.mouse.wheel(0, -300);
  await frame(page);
  const closer = await stateOf(page);
  assert.ok(closer.scale > first.scale);
  await page.mouse.down();
  await page.mouse.move(560, 440, {steps: 3});
  await page.mouse.up();
  const moved = await stateOf(page);
  assert.ok(Math.abs(moved.left - (closer.left - 60 / closer.scale)) < 1e-6);
  assert.ok(Math.abs(moved.top - (closer.top - 40 / closer.scale)) < 1e-6);
  for (const [key, what] of [['d', (a, b) => b.left > a.left], ['ArrowLeft', (a, b) => b.left < a.left], ['s', (a, b) => b.top > a.top],
                             ['w', (a, b) => b.top < a.top], ['-', (a, b) => b.scale < a.scale], ['+', (a, b) => b.scale > a.scale]]) {
    const before = await stateOf(page);
    await page.keyboard.press(key);
    assert.ok(what(before, await stateOf(page)), key);
  }
  await page.keyboard.press('?');
  assert.equal(await page.locator('#help').isVisible(), true);
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#help').isVisible(), false);
  await page.close();
});

test('search finds what is inside closed boxes', async () => {
  const page = await browser.open(file('small.html'));
  await page.keyboard.press('/');
  await page.keyboard.type('LAYERS.2.OP3');
  assert.equal((await stateOf(page)).found, 1);
  await page.keyboard.press('Enter');
  const state = await stateOf(page);
  assert.equal(state.frames, 1);
  assert.match(await page.locator('#details').textContent(), /model\.layers\.2\.op3/);
  const place = await placeOf(page, 'model.layers.2.op3');
  assert.ok(place.x > 0 && place.x < 1200 && place.y > 0 && place.y < 700);
  await page.close();
});

test('tensors are green, operations blue, communication red, in both themes', async () => {
  for (const dark of [false, true]) {
    const page = await browser.open(file('small.html'), {dark});
    await page.evaluate(() => globalThis.nadiGraph.toggle(0));
    const near = await page.evaluate(() => {
      const {view, scene, data} = globalThis.nadiGraph;
      view.fitAll();
      view.draw();
      const ratio = view.canvas.width / view.canvas.clientWidth;
      return [0, 1, 2].map((kind) => {
        const {x, y, width, height} = scene.items.map((item) => item).find((each) => !scene.isBox(each.item) && data.kind[each.item - data.boxCount] === kind);
        const at = [(x + width / 2 - view.left) * view.scale * ratio, (y + height - 3 - view.top) * view.scale * ratio];
        return [...view.context.getImageData(Math.round(at[0]), Math.round(at[1]), 1, 1).data].slice(0, 3);
      });
    });
    const [green, blue, red] = near;
    assert.ok(green[1] > green[0] && green[1] > green[2], `green ${green}`);
    assert.ok(blue[2] > blue[0], `blue ${blue}`);
    assert.ok(red[0] > red[1] && red[0] > red[2], `red ${red}`);
    const corner = (await colorsOf(page, '#graph', 20, 20))[19];
    assert.equal(corner[0] > 128, !dark);
    await page.keyboard.press('t');
    await frame(page);
    assert.equal((await colorsOf(page, '#graph', 20, 20))[19][0] > 128, dark);
    await page.close();
  }
});

test('touch moves and zooms', async () => {
  const page = await browser.open(file('small.html'), {touch: true});
  const before = await stateOf(page);
  await page.evaluate(() => {
    const {canvas} = globalThis.nadiGraph.view;
    const send = (type, id, x, y) => canvas.dispatchEvent(new PointerEvent(type, {pointerId: id, clientX: x, clientY: y, pointerType: 'touch', bubbles: true}));
    canvas.setPointerCapture = () => {};
    send('pointerdown', 11, 300, 300);
    send('pointerdown', 12, 400, 300);
    send('pointermove', 12, 500, 300);
    send('pointerup', 11, 300, 300);
    send('pointerup', 12, 500, 300);
  });
  assert.ok((await stateOf(page)).scale > 1.5 * before.scale);
  await page.close();
});

test('hostile names are texts', async () => {
  const names = ['</script><script>globalThis.ran = 1</script>', '"\'`<img src=x onerror="globalThis.ran = 1">', 'x'.repeat(10000), '\u202eright to left \u05d0\u05d1',
                 'null \u0000 bell \u0007 escape \u001b[31m', '${globalThis.ran = 1}', ''];
  const nodes = names.map((name, i) => ({id: i, name, type: 'COMP', op: name, layer: name ? `${name}.${i}` : ''}));
  const page = await browser.open(draw('hostile', {directed: true, multigraph: false, graph: {model: names[0]}, nodes,
                                                   edges: nodes.slice(1).map((node) => ({source: 0, target: node.id}))}));
  assert.equal(await page.evaluate(() => globalThis.ran), undefined);
  await page.evaluate(() => {
    const {data} = globalThis.nadiGraph;
    for (let box = 0; box < data.boxCount; ++box) globalThis.nadiGraph.toggle(box);
    for (let node = 0; node < data.nodeCount; ++node) globalThis.nadiGraph.goTo(node);
  });
  await page.locator('#search').fill('</script>');
  assert.equal((await stateOf(page)).found, 1);
  assert.equal(await page.evaluate(() => globalThis.ran), undefined);
  assert.match(await page.locator('h1').textContent(), /<\/script>/);
  await page.close();
});

/** Layers that are the same, on each of some ranks; the last operation of a rank sends to the next. */
function ranksOfLayers(ranks, layers) {
  const nodes = [];
  const edges = [];
  for (let rank = 0; rank < ranks; ++rank) {
    let last = null;
    for (let layer = 0; layer < layers; ++layer) {
      for (const op of ['norm', 'matmul']) {
        const id = `${rank}:${layer}.${op}`;
        nodes.push({id, name: `model.layers.${layer}.${op}`, type: 'COMP', op, layer: `model.layers.${layer}`, num_ops: 5000, tensor_size: 200, rank, node_id: nodes.length});
        nodes.push({id: `${id}.out`, name: `model.layers.${layer}.${op}.out`, type: 'TENSOR', shape: [2, 8], dtype: 'f32', bytes: 64, rank});
        if (last !== null) edges.push({source: last, target: id, key: 'data'});
        edges.push({source: id, target: `${id}.out`, key: 'data'});
        last = `${id}.out`;
      }
    }
    nodes.push({id: `${rank}:end`, name: 'end', type: rank === 0 ? 'COMM_SEND_NODE' : 'COMM_RECV_NODE', op: rank === 0 ? 'send' : 'receive', rank, node_id: nodes.length});
    edges.push({source: last, target: `${rank}:end`, key: 'data'});
  }
  for (let rank = 1; rank < ranks; ++rank) edges.push({source: `${rank - 1}:end`, target: `${rank}:end`, key: 'communication'});
  return {directed: true, multigraph: true, graph: {}, nodes, edges};
}

test('ranks stand side by side with their messages, and layers that repeat are one box', async () => {
  const page = await browser.open(draw('ranks', ranksOfLayers(3, 80)));
  const seen = await page.evaluate(() => {
    const {scene} = globalThis.nadiGraph;
    return {frames: scene.frames.map((place) => ({title: scene.titleOf(place.item), ...place})),
            boxes: scene.items.filter(({item}) => scene.isBox(item)).map(({item}) => scene.titleOf(item)),
            messages: scene.edges.filter((edge) => edge.kind === 2).length, lines: scene.lines.count};
  });
  assert.deepEqual(seen.frames.map((each) => each.title), ['rank 0', 'rank 1', 'rank 2']);
  for (const [left, right] of [[0, 1], [1, 2]]) {
    assert.ok(seen.frames[left].x + seen.frames[left].width < seen.frames[right].x);
    assert.equal(seen.frames[left].y, seen.frames[right].y);
  }
  assert.deepEqual(seen.boxes, Array(3).fill(['model.layers.0', 'model.layers.1\u201379 \u00d7 79']).flat());
  assert.equal(seen.messages, 2);
  // The fold has the sums of what is in it, and opens to the layers themselves.
  const place = await placeOf(page, 'model.layers.1\u201379 \u00d7 79');
  await page.mouse.click(place.x, place.y);
  assert.match(await page.locator('#details').textContent(), /79 boxes that hold the same.*operations158.*work790.kFLOP, 32\.9.% of all.*intensity25\.0.FLOP\/B.*inputs \(1, 64.B\)/s);
  await page.keyboard.press('e');
  assert.ok((await page.evaluate(() => globalThis.nadiGraph.scene.items.length)) >= 79);
  await page.close();
});

test('hits are told apart from what was not found, and closed boxes say how many they hold', async () => {
  const page = await browser.open(file('ranks.html'));
  await page.locator('#search').fill('layers.7.norm');
  const marks = await page.evaluate(() => {
    const {view, scene, data} = globalThis.nadiGraph;
    view.draw();
    const ratio = view.canvas.width / view.canvas.clientWidth;
    const colorAt = (item) => {
      const {x, y, width, height} = scene.places.get(item);
      const at = [(x + width / 2 - view.left) * view.scale * ratio, (y + height - 4 - view.top) * view.scale * ratio];
      return [...view.context.getImageData(Math.round(at[0]), Math.round(at[1]), 1, 1).data].slice(0, 3);
    };
    const boxes = scene.items.filter(({item}) => scene.isBox(item)).map(({item}) => item);
    return {found: [...view.found].map(([item, hits]) => [data.titleOf(item), hits]), plain: colorAt(boxes[0]), hit: colorAt(boxes[1])};
  });
  assert.deepEqual(marks.found, Array(3).fill(['model.layers.1\u201379 \u00d7 79', 2]));
  const brightness = (color) => color[0] + color[1] + color[2];
  assert.ok(brightness(marks.plain) > brightness(marks.hit) + 100, JSON.stringify(marks));
  await page.close();
});

test('an empty graph opens', async () => {
  const page = await browser.open(draw('empty', {directed: true, multigraph: true, graph: {}, nodes: [], edges: []}));
  assert.equal((await stateOf(page)).items, 0);
  await page.keyboard.press('f');
  await page.close();
});

test('a hundred thousand open nodes are painted little by little, and moved', async () => {
  const page = await browser.open(draw('wide', chain(100, 500)));
  const painted = await page.evaluate(async () => {
    const {scene, data, view} = globalThis.nadiGraph;
    scene.openOnly(Array.from({length: data.boxCount}, (_, box) => box));
    const count = scene.items.length;
    view.fitAll();
    view.zoom(2);
    let frames = 0;
    do {
      await new Promise(requestAnimationFrame);
      ++frames;
    } while (view.canvas.dataset.drawn !== 'true' && frames < 1000);
    const pixels = view.context.getImageData(0, 0, view.canvas.width, view.canvas.height).data;
    const colors = new Set();
    for (let i = 0; i < pixels.length; i += 4) colors.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
    return {count, frames, colors: colors.size, kinds: view.colors.kinds.map((color) => colors.has(parseInt(color.slice(1), 16)))};
  });
  assert.equal(painted.count, 100000);
  assert.ok(painted.frames > 1 && painted.frames < 1000, `${painted.frames} frames`);
  assert.deepEqual(painted.kinds, [true, true, true]);
  await page.close();
});

test('100,000 nodes open by layer', async () => {
  const html = draw('large', chain(100, 500));
  const begin = performance.now();
  const page = await browser.open(html);
  const took = performance.now() - begin;
  assert.equal(await page.evaluate(() => globalThis.nadiGraph.data.nodeCount), 100000);
  assert.equal((await stateOf(page)).items, 100);
  console.log(`100,000 nodes: ${(fs.statSync(html).size / 1e6).toFixed(2)} MB, open and drawn in ${took.toFixed(0)} ms`);
  await page.evaluate(() => globalThis.nadiGraph.toggle(50));
  assert.ok((await stateOf(page)).items > 100);
  await page.close();
});

test('the address leads back to what was looked at', async () => {
  const page = await browser.open(file('small.html'));
  await page.locator('#search').fill('layers.2');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash.includes('search=') && location.hash.includes('item='));
  const state = (each) => each.evaluate(() => ({...document.getElementById('graph').dataset, open: globalThis.nadiGraph.scene.openBoxes()}));
  const before = await state(page);
  const fragment = await page.evaluate(() => location.hash);
  await page.close();
  const again = await browser.open(file('small.html'), {fragment});
  const after = await state(again);
  assert.deepEqual([after.selected, after.found, after.items, after.open], [before.selected, before.found, before.items, before.open]);
  await again.close();
  const odd = await browser.open(file('small.html'), {fragment: '#open=5.99999.x&item=-7&scale=0&left=1&top=1'});
  assert.equal((await state(odd)).selected, '');
  await odd.close();
});

test('axe-core finds nothing', async () => {
  await expectAccess(browser, file('small.html'));
  await expectAccess(browser, file('small.html'), async (page) => {
    await page.locator('#search').fill('op1');
    await page.keyboard.press('Enter');
  });
});
