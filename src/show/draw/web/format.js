// Figures for people.

const kPrefixes = ['', 'k', 'M', 'G', 'T', 'P', 'E'];

/** Three significant figures: 1.23, 12.3, 123, 1230. @param {number} value */
function threeFigures(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

/** @param {number} value @param {number} base @param {string[]} units */
function withPrefix(value, base, units) {
  let unit = 0;
  while (unit + 1 < units.length && Math.abs(value) >= base * 0.9995) {
    value /= base;
    ++unit;
  }
  return (unit === 0 && Number.isInteger(value) ? String(value) : threeFigures(value)) + '\u202f' + units[unit];
}

/** "1.23 ms" of nanoseconds. @param {number} nanoseconds */
export function formatTime(nanoseconds) {
  if (Math.abs(nanoseconds) >= 999.5e9 * 0.9995) {
    const sign = nanoseconds < 0 ? '-' : '';
    const seconds = Math.round(Math.abs(nanoseconds) / 1e9);
    const hours = Math.floor(seconds / 3600);
    const rest = `${String(Math.floor(seconds / 60) % 60).padStart(hours ? 2 : 1, '0')}:${String(seconds % 60).padStart(2, '0')}`;
    return sign + (hours ? `${hours}:${rest}\u202fh` : `${rest}\u202fmin`);
  }
  return withPrefix(nanoseconds, 1000, ['ns', 'µs', 'ms', 's']);
}

/** A rate or a ratio, which is never a count: "25.0 FLOP/B", "1.23 k/s". @param {number} value @param {string} unit */
export function formatRate(value, unit) {
  let power = 0;
  while (power + 1 < kPrefixes.length && Math.abs(value) >= 999.5) {
    value /= 1000;
    ++power;
  }
  return `${threeFigures(value)}\u202f${kPrefixes[power]}${unit}`;
}

/** How many of something a second: "33,702 tokens/s", "1.20 samples/s". @param {number} value @param {string} unit */
export function formatSpeed(value, unit) {
  return `${Math.abs(value) >= 999.5 ? Math.round(value).toLocaleString('en-US') : threeFigures(value)}\u202f${unit}`;
}

/** "1.50 MiB". @param {number} bytes */
export function formatBytes(bytes) {
  return withPrefix(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
}

/** "12.3 GFLOP" with a unit, "12.3 G" without. @param {number} value @param {string} [unit] */
export function formatAmount(value, unit = '') {
  return withPrefix(value, 1000, kPrefixes.map((prefix) => prefix + unit)).trim();
}

/** 1234567 as "1,234,567". @param {number} value */
export function formatCount(value) {
  return value.toLocaleString('en-US', {maximumFractionDigits: 3});
}

/** 0.1234 as "12.3 %". @param {number} share */
export function formatShare(share) {
  return (100 * share).toFixed(Math.abs(share) < 0.0995 ? 2 : 1) + '\u202f%';
}
