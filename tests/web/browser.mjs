// A browser for tests of pages: one per test file, without a network.
//
//   const browser = await startBrowser();
//   const page = await browser.open(file);          // waits until the page is drawn
//   ...
//   await browser.stop();                            // fails if any page asked for something, or had an error
//
// Every page is watched: a request to anything but the file itself, an error in a script, a message on the console that
// is an error, or a refusal by the page's policy makes stop() fail.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {chromium} from 'playwright-core';

export async function startBrowser(options = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--font-render-hinting=none', ...(options.args ?? [])],
  });
  const faults = [];
  return {
    faults,

    /** Opens a file in a context of its own, and waits until the page says that it is drawn. */
    async open(file, {width = 1200, height = 700, dark = false, touch = false, ready = true, fragment = ''} = {}) {
      const context = await browser.newContext({viewport: {width, height}, colorScheme: dark ? 'dark' : 'light', hasTouch: touch, offline: true});
      const page = await context.newPage();
      const url = pathToFileURL(file).href;
      page.on('request', (request) => {
        // What the page made itself may be saved.
        if (request.url() !== url + fragment && request.url() !== url && !/^(data|blob):/.test(request.url())) faults.push(`${file} asked for ${request.url()}`);
      });
      page.on('pageerror', (error) => faults.push(`${file}: ${error.stack}`));
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(`${file}: ${message.text()}`);
      });
      await page.goto(url + fragment);
      if (ready) await page.waitForSelector('html[data-ready="true"]', {timeout: 60000});
      return page;
    },

    async stop() {
      await browser.close();
      assert.deepEqual(faults, []);
    },
  };
}

/** Runs a program and fails with its output when it fails. */
export function run(program, ...words) {
  const result = spawnSync(program, words, {encoding: 'utf8'});
  assert.equal(result.status, 0, `${program} ${words.join(' ')}\n${result.stdout}${result.stderr}${result.error ?? ''}`);
  return result.stdout;
}

/** Whether a program is there. @param {string} name */
export function hasProgram(name) {
  return spawnSync(name, ['-v'], {encoding: 'utf8'}).error === undefined;
}

/** The folder for what a test writes: that of CMake, or one of its own. */
export function testFolder(name) {
  const folder = process.env.NADI_TEST_FOLDER ?? path.join(process.env.TMPDIR ?? '/tmp', `nadi-web-${name}`);
  fs.mkdirSync(folder, {recursive: true});
  return folder;
}

/** The program that a test was given: as NADI_<NAME>, or in the build folder of this source. */
export function program(name, place) {
  const given = process.env[name.startsWith('nadi') ? name.toUpperCase() : 'NADI_' + name.toUpperCase()];
  return given ?? path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '../../build/release', place, name);
}

/**
 * The mean colour of an element's picture in squares of a grid, as [r, g, b] each: pictures are compared by these, so that
 * fonts do not matter. Decoded by the browser itself.
 */
export async function colorsOf(page, selector, columns, rows) {
  const png = (await page.locator(selector).screenshot()).toString('base64');
  const helper = await page.context().newPage();
  const colors = await helper.evaluate(async ({png: text, columns: c, rows: r}) => {
    const image = new Image();
    image.src = 'data:image/png;base64,' + text;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const {data, width, height} = context.getImageData(0, 0, image.width, image.height);
    const sums = Array.from({length: c * r}, () => [0, 0, 0, 0]);
    for (let y = 0; y < height; ++y) {
      for (let x = 0; x < width; ++x) {
        const sum = sums[Math.floor(y * r / height) * c + Math.floor(x * c / width)];
        for (let i = 0; i < 3; ++i) sum[i] += data[4 * (y * width + x) + i];
        ++sum[3];
      }
    }
    return sums.map((sum) => sum.slice(0, 3).map((value) => Math.round(value / sum[3])));
  }, {png, columns, rows});
  await helper.close();
  return colors;
}

const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds against its rules for people who read with the keyboard, a screen reader or little contrast. */
export async function accessFaults(page) {
  await page.evaluate(axe);
  const faults = await page.evaluate(async () => (await globalThis.axe.run(document, {resultTypes: ['violations']})).violations.map(
      ({id, help, nodes}) => `${id} (${help}): ${nodes.slice(0, 4).map((node) => `${node.target.join(' ')}: ${node.failureSummary.replace(/\s+/g, ' ')}`).join(' | ')}`));
  return faults;
}

/** Opens a file light and dark, narrow and wide, and fails where axe-core finds something. */
export async function expectAccess(browser, file, act = async () => {}) {
  const found = [];
  for (const dark of [false, true]) {
    for (const width of [900, 1600]) {
      const page = await browser.open(file, {width, height: 900, dark});
      await act(page);
      for (const fault of await accessFaults(page)) found.push(`${dark ? 'dark' : 'light'}, ${width} px: ${fault}`);
      await page.close();
    }
  }
  assert.deepEqual(found, []);
}

/** The words of a page on paper, with their places: [{text, x, y}] by sheet, in points from its top left. Needs pdftotext. */
export async function printedWords(page, options = {}) {
  const file = path.join(fs.mkdtempSync(path.join(process.env.TMPDIR ?? '/tmp', 'nadi-print-')), 'page.pdf');
  fs.writeFileSync(file, await page.pdf({preferCSSPageSize: true, printBackground: true, ...options}));
  const text = run('pdftotext', '-bbox', file, '-');
  fs.rmSync(path.dirname(file), {recursive: true});
  return text.split('<page ').slice(1).map((sheet) => [...sheet.matchAll(/<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">([^<]*)</g)].map(
      ([, x0, y0, x1, y1, word]) => ({text: word, x: (Number(x0) + Number(x1)) / 2, y: (Number(y0) + Number(y1)) / 2})));
}
