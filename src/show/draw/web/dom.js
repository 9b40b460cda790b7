// Elements of a page. Texts become text nodes, never HTML: names in traces are whatever someone wrote.

/**
 * A new element: element('button', {class: 'tool', onclick: run}, 'Run').
 * Attributes that start with "on" are listeners; null, undefined and false leave one out.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string|number|null)} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) {
    if (child !== null && child !== undefined) made.append(typeof child === 'object' ? child : String(child));
  }
  return made;
}

/**
 * A text of a trace, fit to be shown on one line: control characters and those that turn the direction of what
 * follows become visible, and of more than `most` characters the middle gives way to an ellipsis.
 * @param {string} text
 * @param {number} [most]
 */
export function oneLine(text, most = 300) {
  let line = text.length > 4 * most ? text.slice(0, 2 * most) + text.slice(-2 * most) : text;
  line = line.replace(/[\u0000-\u001f\u007f-\u009f]/g, '\u2423').replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\u25e6');
  const characters = Array.from(line);
  if (characters.length <= most) return line;
  const head = Math.ceil((most - 1) / 2);
  return characters.slice(0, head).join('') + '\u2026' + characters.slice(characters.length - (most - 1 - head)).join('');
}
