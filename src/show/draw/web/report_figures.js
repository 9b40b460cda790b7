// Figures of an analysis as texts, the same as the program prints, and how they were computed.

/**
 * @typedef {{key: string, title: string, kind: string, shown: string, absent: string, short?: (string|null)[]}} Column
 * @typedef {{name: string, title: string, note: string, columns: Column[], values: any[][]}} Table
 * @typedef {{tables: Map<string, Table>, headline: Object<string, number|null>}} FigureSource
 */

/**
 * Decimals as the program prints them: of two numbers that are equally near, the even one. Such a value is a
 * multiple of 2^-(decimals + 1), which is told without rounding.
 * @param {number} value @param {number} decimals
 */
export function fixedDecimals(value, decimals) {
  const text = value.toFixed(decimals);
  if (!Number.isInteger(value * 2 ** (decimals + 1))) return text;
  const scaled = Math.abs(value) * 10 ** decimals;
  if (scaled - Math.floor(scaled) !== 0.5) return text;
  const even = 2 * Math.round(scaled / 2);
  return (value < 0 ? '-' : '') + (even / 10 ** decimals).toFixed(decimals);
}

/** @param {number} value @param {number} base @param {string[]} units */
function scaledText(value, base, units) {
  if (Math.abs(value) < base) return `${value} ${units[0]}`;
  let unit = 0;
  while (Math.abs(value) >= base * 0.9995 && unit + 1 < units.length) {
    value /= base;
    ++unit;
  }
  const size = Math.abs(value);
  return `${fixedDecimals(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2)} ${units[unit]}`;
}

/** Halves away from zero. @param {number} value */
function roundedFigure(value) {
  if (Number.isInteger(value)) return value;
  const rounded = Math.sign(value) * Math.floor(Math.abs(value) + 0.5);
  // 0.49999999999999994 + 0.5 is 1.
  return Math.abs(Math.abs(rounded) - Math.abs(value)) > 0.5 ? rounded - Math.sign(value) : rounded + 0;
}

/** @param {number} nanoseconds */
export function timeText(nanoseconds) {
  return scaledText(roundedFigure(nanoseconds), 1000, ['ns', 'us', 'ms', 's']);
}

/** @param {number} perSecond */
function byteRateText(perSecond) {
  const prefixes = ['', 'k', 'M', 'G'];
  let prefix = 0;
  for (; prefix + 1 < prefixes.length && perSecond >= 999.5; ++prefix) perSecond /= 1000;
  const decimals = perSecond < 9.995 ? 2 : perSecond < 99.95 ? 1 : 0;
  return `${fixedDecimals(perSecond, decimals)} ${prefixes[prefix]}B/s`;
}

/** Things per second. @param {number} value */
function speedText(value) {
  if (value >= 999.5) return countText(value);
  return fixedDecimals(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

const kFlopUnits = ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP', 'EFLOP'];

/** @param {number} value */
export function countText(value) {
  return String(roundedFigure(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** @param {number} share */
export function shareText(share) {
  return fixedDecimals(100 * share, 1) + '%';
}

/**
 * One cell for people.
 * @param {any} value @param {{kind: string, absent: string}} column
 * @returns {string}
 */
export function cellText(value, column) {
  if (value === null) return column.absent;
  switch (column.kind) {
    case 'yes-no': return value ? 'yes' : 'no';
    case 'count': return countText(value);
    case 'number': return fixedDecimals(value, 2);
    case 'speed': return speedText(value);
    case 'time': return timeText(value);
    case 'bytes': return scaledText(roundedFigure(value), 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
    case 'flops': return scaledText(roundedFigure(value), 1000, kFlopUnits);
    case 'byte-rate': return byteRateText(value);
    case 'flop-rate': return scaledText(roundedFigure(value), 1000, kFlopUnits) + '/s';
    case 'share': return shareText(value);
    case 'change': return (value < 0 ? '' : '+') + shareText(value);
    case 'time-change': return (value < 0 ? '-' : '+') + timeText(Math.abs(value));
    default: return String(value);
  }
}

/** Whether a column holds texts. @param {{kind: string}} column */
export function isTextColumn(column) {
  return column.kind === 'text' || column.kind === 'kernel';
}

/** @param {Table} table @param {string} key @returns {any[]} */
export function valuesOf(table, key) {
  const place = table.columns.findIndex((column) => column.key === key);
  return place < 0 ? [] : table.values[place];
}

/** @param {any[]} list */
function sumOf(list) {
  let sum = 0;
  for (const value of list) sum += value ?? 0;
  return sum;
}

/** Of an even number the lower one in the middle. @param {any[]} list */
function medianOf(list) {
  const sorted = list.filter((value) => value !== null).sort((a, b) => a - b);
  return sorted.length === 0 ? null : sorted[(sorted.length - 1) >> 1];
}

/**
 * The figure that a name of a formula stands for (analysis_definitions.h), with its column.
 * @param {string} name @param {string} call '', 'sum', 'rank_sum' or 'median'
 * @param {{source: FigureSource, table: string, row: number}} at
 */
function figureNamed(name, call, at) {
  const dot = name.indexOf('.');
  const tableName = dot < 0 ? at.table : name.slice(0, dot);
  const key = dot < 0 ? name : name.slice(dot + 1);
  if (tableName === 'headline') return {value: at.source.headline[key] ?? null, column: headlineColumn(key)};
  const table = at.source.tables.get(tableName);
  const column = table?.columns.find((each) => each.key === key);
  if (!table || !column) return {value: null, column: null};
  const values = valuesOf(table, key);
  if (call === 'sum') return {value: sumOf(values), column};
  if (call === 'median') return {value: medianOf(values), column};
  const own = at.source.tables.get(at.table);
  const rank = own ? valuesOf(own, 'rank')[at.row] : undefined;
  const ranks = valuesOf(table, 'rank');
  if (call === 'rank_sum') return {value: sumOf(values.filter((_, row) => ranks[row] === rank)), column};
  const row = tableName === at.table ? at.row : ranks.findIndex((each) => each === rank);
  return {value: row < 0 ? null : values[row] ?? null, column};
}

/** Single figures have their unit in the key. @param {string} key */
function headlineColumn(key) {
  return {key, title: key, kind: key.endsWith('_ns') ? 'time' : 'count', shown: 'always', absent: '-'};
}

/**
 * Computes a formula of analysis_definitions.h at a row.
 * @param {string} formula
 * @param {{source: FigureSource, table: string, row: number}} at
 * @returns {{value: number|null, words: string, exact: string, names: {table: string, key: string, call: string, text: string}[]}}
 *     words: with figures for people; exact: with all digits; names: each figure that the formula names
 */
export function evaluateFormula(formula, at) {
  const tokens = formula.match(/[a-z_-]*[a-z_]\([a-z_.-]+\)|[a-z][a-z_.-]*[a-z]|\d+|[-+*/()]/g) ?? [];
  let next = 0;
  const names = [];
  const join = (operator, a, b) => {
    const values = a.value === null || b.value === null ? null :
        operator === '+' ? a.value + b.value : operator === '-' ? a.value - b.value :
        operator === '*' ? a.value * b.value : b.value === 0 ? null : a.value / b.value;
    const sign = {'+': '+', '-': '\u2212', '*': '\u00d7', '/': '/'}[operator];
    return {value: values, words: `${a.words} ${sign} ${b.words}`, exact: `${a.exact} ${sign} ${b.exact}`};
  };
  const factor = () => {
    const token = tokens[next++];
    if (token === undefined) throw new Error(`the formula ${formula} is cut short`);
    if (token === '(') {
      const inner = sum();
      ++next;
      return {value: inner.value, words: `(${inner.words})`, exact: `(${inner.exact})`};
    }
    if (/^\d/.test(token)) return {value: Number(token), words: countText(Number(token)), exact: countText(Number(token))};
    const call = /^([a-z_]+)\((.*)\)$/.exec(token);
    const name = call ? call[2] : token;
    const {value, column} = figureNamed(name, call ? call[1] : '', at);
    const [table, key] = name.includes('.') ? name.split('.') : [at.table, name];
    names.push({table, key, call: call ? call[1] : '', text: column ? cellText(value, column) : '-'});
    return {value, words: column ? cellText(value, column) : '-',
      exact: value === null ? '-' : value.toLocaleString('en-US', {maximumFractionDigits: 3})};
  };
  const product = () => {
    let left = factor();
    while (tokens[next] === '*' || tokens[next] === '/') left = join(tokens[next++], left, factor());
    return left;
  };
  const sum = () => {
    let left = product();
    while (tokens[next] === '+' || tokens[next] === '-') left = join(tokens[next++], left, product());
    return left;
  };
  return {...sum(), names};
}

/** A formula as people read it: "compute / span". @param {string} formula */
export function formulaText(formula) {
  return formula.replace(/1000000000/g, '1 s').replace(/_ns\b/g, '').replace(/rank_sum\(/g, 'sum over the rank(')
      .replace(/_/g, ' ').replace(/\*/g, '\u00d7').replace(/ - /g, ' \u2212 ');
}
