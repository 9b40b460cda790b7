// What the page carries: its head, which is JSON, and blocks of bytes (html_page.h writes both).

/** The head of the page. @returns {any} */
export function pageHead() {
  return JSON.parse(document.getElementById('head').textContent);
}

const kDigits = new Uint8Array(128);
for (let i = 0; i < 64; ++i) kDigits['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.charCodeAt(i)] = i;

/** @param {string} text @returns {Uint8Array<ArrayBuffer>} */
export function decodeBase64(text) {
  const native = /** @type {any} */ (Uint8Array).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const bytes = new Uint8Array(text.length / 4 * 3 - padding);
  for (let i = 0, at = 0; i < text.length; i += 4) {
    const group = kDigits[text.charCodeAt(i)] << 18 | kDigits[text.charCodeAt(i + 1)] << 12 |
        kDigits[text.charCodeAt(i + 2)] << 6 | kDigits[text.charCodeAt(i + 3)];
    bytes[at++] = group >> 16;
    bytes[at++] = group >> 8;
    bytes[at++] = group;
  }
  return bytes;
}

/**
 * The elements of a block, taken out of the page so that their text does not stay in memory.
 * @param {string} name
 */
function takeBlock(name) {
  const elements = /** @type {HTMLElement[]} */ (Array.from(document.querySelectorAll(`script[data-block="${name}"]`)));
  if (elements.length === 0) throw new Error(`this page has no block ${name}: was it cut short?`);
  const last = elements[elements.length - 1].dataset;
  if (last.bytes === undefined) throw new Error(`block ${name} of this page has no end: was the page cut short?`);
  for (const each of elements) each.remove();
  return {elements, coding: last.coding, size: Number(last.bytes)};
}

/** @param {{elements: HTMLElement[], coding: string, size: number}} block */
async function unpack(block) {
  const bytes = new Uint8Array(block.size);
  let at = 0;
  if (block.coding === 'stored') {
    for (const each of block.elements) {
      const part = decodeBase64(each.textContent);
      bytes.set(part, at);
      at += part.length;
    }
  } else {
    const stream = new DecompressionStream(/** @type {CompressionFormat} */ (block.coding));
    const writer = stream.writable.getWriter();
    const written = (async () => {
      for (const each of block.elements) {
        await writer.write(decodeBase64(each.textContent));
        each.textContent = '';
      }
      await writer.close();
    })();
    const reader = stream.readable.getReader();
    for (;;) {
      const {value, done} = await reader.read();
      if (done) break;
      bytes.set(value, at);
      at += value.length;
    }
    await written;
  }
  if (at !== block.size) throw new Error(`a block of this page has ${at} bytes in place of ${block.size}`);
  return bytes;
}

/**
 * The bytes of a block. It can be read once; its text leaves the page.
 * @param {string} name
 * @returns {Promise<Uint8Array>}
 */
export function readBlock(name) {
  return unpack(takeBlock(name));
}

/** Whether the page has such a block. @param {string} name */
export function hasBlock(name) {
  return document.querySelector(`script[data-block="${name}"]`) !== null;
}

/** Reads numbers of 7 bits a byte, lowest first, from a block: unsigned, or signed with the sign lowest. */
export class VarintReader {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  atEnd() {
    return this.at >= this.bytes.length;
  }

  /** @returns {number} exact up to 2^53 */
  unsigned() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    byte = bytes[this.at++];
    value |= (byte & 127) << 7;
    if (byte < 128) return value;
    byte = bytes[this.at++];
    value |= (byte & 127) << 14;
    if (byte < 128) return value;
    let factor = 2097152;
    do {
      byte = bytes[this.at++];
      if (byte === undefined) throw new Error('a number of this page is cut short');
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte >= 128);
    return value;
  }

  /** @returns {number} */
  signed() {
    const value = this.unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** How many bytes the next number has. */
  bytesOfNext() {
    let bytes = 1;
    while (this.bytes[this.at + bytes - 1] >= 128) ++bytes;
    return bytes;
  }

  /** Any number of 64 bits. @returns {bigint} */
  signedBig() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error('a number of this page is cut short');
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    return BigInt.asIntN(64, value & 1n ? -(value >> 1n) - 1n : value >> 1n);
  }
}

/**
 * Texts of a block: their number, then length and bytes of each. A text is decoded when it is first asked for.
 */
export class TextTable {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    const reader = new VarintReader(bytes);
    const count = reader.unsigned();
    this.bytes = bytes;
    this.begins = new Uint32Array(count);
    this.ends = new Uint32Array(count);
    for (let i = 0; i < count; ++i) {
      const length = reader.unsigned();
      this.begins[i] = reader.at;
      reader.at += length;
      this.ends[i] = reader.at;
    }
    if (reader.at > bytes.length) throw new Error('a text of this page is cut short');
    this.decoder = new TextDecoder();
    /** @type {string[]} */
    this.texts = new Array(count);
  }

  /** @param {number} number @returns {string} */
  text(number) {
    return this.texts[number] ??= this.decoder.decode(this.bytes.subarray(this.begins[number], this.ends[number]));
  }

  /** A text more: its number. @param {string} text */
  add(text) {
    return this.texts.push(text) - 1;
  }

  get size() {
    return this.texts.length;
  }
}
