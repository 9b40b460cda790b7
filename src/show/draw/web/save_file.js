// Files that a page hands to its reader: pictures and tables of what is shown.
import {element} from './dom.js';

/** The name of a file from a title: letters, digits and dashes. @param {string} title @param {string} ending "png" */
export function fileName(title, ending) {
  const name = title.normalize('NFKD').replace(/[^A-Za-z0-9.]+/g, '-').replace(/^[-.]+|[-.]+$/g, '').slice(0, 80);
  return `${name || 'nadi'}.${ending}`;
}

/** @param {string} name @param {Blob} blob */
export function saveFile(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = element('a', {href: address, download: name, hidden: true});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/** A picture as a file of its own: colours and fonts of the page's style sheets stand in its elements. @param {SVGElement} picture */
export function svgText(picture) {
  const copy = /** @type {SVGElement} */ (picture.cloneNode(true));
  const drawn = [picture, ...picture.querySelectorAll('*')];
  const kept = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'font-size', 'font-weight', 'font-family', 'text-anchor',
    'dominant-baseline', 'display', 'visibility'];
  if (picture.isConnected) [copy, ...copy.querySelectorAll('*')].forEach((each, i) => {
    const style = getComputedStyle(drawn[i]);
    for (const name of kept) if (!each.hasAttribute(name) && style.getPropertyValue(name) !== '') each.setAttribute(name, style.getPropertyValue(name));
    each.removeAttribute('style');
  });
  const {width, height} = picture.getBoundingClientRect();
  if (!copy.hasAttribute('width')) copy.setAttribute('width', String(Math.round(width)));
  if (!copy.hasAttribute('height')) copy.setAttribute('height', String(Math.round(height)));
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return new XMLSerializer().serializeToString(copy);
}

/**
 * The pixels of a picture, two for each of CSS.
 * @param {SVGElement} picture with width and height
 * @param {string} background of what it does not cover
 * @returns {Promise<Blob>}
 */
export async function pngOf(picture, background) {
  const image = new Image();
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(svgText(picture));
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(image.width * 2);
  canvas.height = Math.round(image.height * 2);
  const context = canvas.getContext('2d');
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) => canvas.toBlob((blob) => blob ? done(blob) : failed(new Error('the picture is too large for this browser')), 'image/png'));
}

/** Rows as CSV (RFC 4180): texts with commas, quotes or line ends in quotes. @param {Array<Array<string|number|null>>} rows */
export function csvText(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(',') + '\r\n').join('');
}

/** Puts a text where Paste finds it, also where a page from a disk may not use the clipboard. @param {string} text */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = /** @type {HTMLTextAreaElement} */ (element('textarea', {class: 'visually-hidden', 'aria-hidden': 'true'}));
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
  }
}

/**
 * A button that does something and says for a moment that it is done.
 * @param {string} text @param {string} title @param {() => (void|Promise<void>)} action @param {string} [id]
 */
export function doneButton(text, title, action, id) {
  const button = element('button', {class: 'tool', type: 'button', title, id, onclick: async () => {
    await action();
    button.textContent = 'Done';
    setTimeout(() => button.textContent = text, 1200);
  }}, text);
  return button;
}
