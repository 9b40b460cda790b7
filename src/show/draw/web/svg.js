// Elements of drawings, and round numbers for their axes.

/**
 * A new element of SVG; attributes that are null are left out.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string)} children
 */
export function svgElement(tag, attributes, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes ?? {})) if (value !== null) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** What round numbers of bytes are multiples of: 1 GiB where most are some GiB. @param {number} most */
export function byteUnit(most) {
  return 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(most, 1)) / 10));
}

/**
 * Round numbers within a range: 1, 2 and 5 times powers of ten on a logarithmic axis (or 1 to 9, where that is few).
 * @param {number} least @param {number} most @param {boolean} logarithmic
 */
export function axisTicks(least, most, logarithmic) {
  const ticks = [];
  if (logarithmic && most / least >= 4) {
    for (let power = 10 ** Math.floor(Math.log10(least)); power <= most; power *= 10)
      for (const factor of most / least > 2000 ? [1] : [1, 2, 5]) if (factor * power >= least && factor * power <= most) ticks.push(factor * power);
    return ticks;
  }
  const raw = (most - least) / 6 || most / 6 || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) ?? 10);
  for (let at = Math.ceil(least / step); at * step <= most * 1.0000001; ++at) ticks.push(at * step);
  return ticks;
}
