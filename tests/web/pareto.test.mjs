// The page of time against money in a real browser: `nadi plan --pareto`.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {expectAccess, program, run, startBrowser, testFolder} from './browser.mjs';

const folder = testFolder('pareto');
const file = (name) => path.join(folder, name);
const nadi = program('nadi', 'src/cli');
let browser;
let answer;

before(async () => {
  fs.writeFileSync(file('model.json'), JSON.stringify({model_type: 'gpt2', n_layer: 4, n_embd: 256, n_head: 4, n_positions: 128, vocab_size: 1024}));
  const node = (name, device, price) => ({name, count: 3, device, devices: 2, price, inside: {kind: 'pcie', bandwidth: '16 GB/s', latency: '5 us'}});
  fs.writeFileSync(file('cluster.json'), JSON.stringify({name: '<b>mixed</b>', nodes: [node('fast<script>', 'a100-40gb', '8 $/h'), node('slow', 'a10', '2 $/h')],
    levels: [{name: 'nodes', fabric: {kind: 'ethernet', bandwidth: '40 Gbit/s', latency: '20 us'}}]}));
  answer = JSON.parse(run(nadi, 'plan', file('model.json'), '--cluster', file('cluster.json'), '--global-batch-size', '16', '--tp', '1', '--recompute', 'none',
      '--pareto', file('pareto.html'), '--force', '--json'));
  browser = await startBrowser();
});

after(() => browser.stop());

test('shows the front that the command prints', async () => {
  const page = await browser.open(file('pareto.html'));
  assert.equal(await page.locator('.front-dot').count(), answer.front.length);
  assert.equal(await page.locator('#front tbody tr').count(), answer.front.length);
  const text = await page.locator('#front').innerText();
  for (const plan of answer.front) assert.ok(text.includes(`tp ${plan.tp}, dp ${plan.dp}, pp ${plan.pp}`), text);
  // Names are texts, whatever they hold.
  assert.equal(await page.locator('b').count(), 0);
  assert.ok((await page.locator('h1').innerText()).includes('<b>mixed</b>'));
  await page.close();
});

test('the front descends to the right', async () => {
  const page = await browser.open(file('pareto.html'));
  const dots = await page.locator('.front-dot').evaluateAll((all) => all.map((dot) => [Number(dot.getAttribute('cx')), Number(dot.getAttribute('cy'))]));
  for (let i = 1; i < dots.length; ++i) {
    assert.ok(dots[i][0] > dots[i - 1][0] && dots[i][1] > dots[i - 1][1], JSON.stringify(dots));
  }
  await page.close();
});

test('pointing shows a plan, a click copies its flags', async () => {
  const page = await browser.open(file('pareto.html'));
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.locator('.front-dot').first().hover();
  const card = page.locator('.plan-card');
  await card.waitFor({state: 'visible'});
  assert.match(await card.innerText(), /On the front[\s\S]*step[\s\S]*simulated/);
  const inside = await page.evaluate(() => {
    const box = document.querySelector('.plan-card').getBoundingClientRect();
    return box.left >= 0 && box.right <= innerWidth;
  });
  assert.ok(inside);
  assert.equal(await page.locator('#front tr.marked').count(), 1);
  await page.locator('.front-dot').first().click();
  await page.locator('.toast.shown').waitFor();
  assert.ok((await page.locator('.toast').innerText()).includes(answer.front[0].flags.slice(0, 60)));
  await page.close();
});

test('keys, axes and plans behind the front', async () => {
  const page = await browser.open(file('pareto.html'));
  const behind = await page.locator('.cloud circle').count();
  assert.ok(behind > 0);
  await page.keyboard.press('b');
  assert.equal(await page.locator('.cloud circle').count(), 0);
  await page.keyboard.press('b');
  const before = await page.locator('#log').getAttribute('aria-pressed');
  await page.keyboard.press('l');
  assert.notEqual(await page.locator('#log').getAttribute('aria-pressed'), before);
  await page.selectOption('#money', 'dollars_per_hour');
  assert.ok((await page.locator('.pareto').innerText()).includes('$ per hour'));
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.locator('#front tr.marked').count(), 1);
  await page.keyboard.press('?');
  assert.ok(await page.locator('#help').isVisible());
  await page.close();
});

test('fits a telephone and darkness', async () => {
  const page = await browser.open(file('pareto.html'), {width: 390, height: 800, dark: true});
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(20, 23, 28)');
  await page.screenshot({path: file('pareto_narrow.png')});
  await page.close();
});

test('the address leads back to what was looked at', async () => {
  const page = await browser.open(file('pareto.html'));
  await page.locator('#money').selectOption({index: 1});
  await page.locator('#behind').click();
  await page.waitForFunction(() => location.hash.includes('money=') && location.hash.includes('behind=0'));
  const [money, fragment] = [await page.locator('#money').inputValue(), await page.evaluate(() => location.hash)];
  await page.close();
  const again = await browser.open(file('pareto.html'), {fragment});
  assert.equal(await again.locator('#money').inputValue(), money);
  assert.equal(await again.locator('#behind').getAttribute('aria-pressed'), 'false');
  await again.close();
});

test('axe-core finds nothing', async () => {
  await expectAccess(browser, file('pareto.html'));
});
