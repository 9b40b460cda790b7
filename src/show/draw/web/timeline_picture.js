// A picture of what a timeline shows: legend, ruler, lanes and their names in one SVG, for paper and for files. Names stand
// beside their lanes at any size, since all of it is scaled as one.
import {oneLine} from './dom.js';
import {kRulerHeight} from './timeline_chart.js';
import {cssColor} from './timeline_palette.js';
import {svgElement} from './svg.js';

const kLegendLine = 18;
const kTitleLine = 26;
const kFonts = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

/** Draws finer than the screen, within what a canvas may have. @param {import('./timeline_chart.js').TimelineChart} chart */
function sharpness(chart) {
  const kMostPixels = 24e6;
  return Math.max(1, Math.min(3, Math.sqrt(kMostPixels / (chart.width * chart.height))));
}

/**
 * The names of the lanes in sight, as texts that are cut where the column ends.
 * @param {import('./timeline_chart.js').TimelineChart} chart @param {number} column width @param {number} lowest
 */
function labelTexts(chart, column, lowest) {
  const {layout, palette} = chart;
  const measure = /** @type {CanvasRenderingContext2D} */ (new OffscreenCanvas(1, 1).getContext('2d'));
  const made = [];
  for (const label of layout.labels) {
    const top = label.y - chart.scroll;
    if (top + label.height <= 0 || top + 12 > lowest) continue;
    const group = label.kind === 'group';
    if (group) made.push(svgElement('rect', {x: 0, y: Math.max(top, 0), width: column, height: label.height, fill: cssColor(palette.panel)}));
    const x = group ? 8 : 24;
    measure.font = `${group ? 650 : 400} 12px ${kFonts}`;
    let text = oneLine(label.note && group ? `${label.name}  ${label.note}` : label.name, 120);
    const room = column - x - 6;
    if (measure.measureText(text).width > room) {
      while (text.length > 1 && measure.measureText(text + '\u2026').width > room) text = text.slice(0, -1);
      text += '\u2026';
    }
    made.push(svgElement('text', {'x': x, 'y': Math.max(top, 0) + Math.min(label.height, 24) / 2 + 4, 'font-size': 12,
      'font-weight': group ? 650 : 400, 'fill': palette.text, 'data-label': label.lane ?? `group-${label.group}`}, text));
  }
  return made;
}

/**
 * @param {import('./timeline_frame.js').TimelineFrame} frame
 * @param {string} title above it; '' for none
 * @returns {SVGElement} with its width and height in CSS pixels
 */
export function timelinePicture(frame, title) {
  const {chart, palette, data} = frame;
  const column = frame.labelWidth;
  const width = column + chart.width;
  const used = new Set(data.labelKind);
  const kinds = data.head.kinds.flatMap((kind, number) => used.has(number) ? [{kind, number}] : []);
  const legend = [];
  let x = 0;
  let y = title === '' ? 0 : kTitleLine;
  for (const {kind, number} of kinds) {
    const room = 24 + kind.length * 7;
    if (x > 0 && x + room > width) {
      x = 0;
      y += kLegendLine;
    }
    legend.push(svgElement('rect', {x, y: y + 3, width: 10, height: 10, fill: cssColor(palette.kinds[number])}),
        svgElement('text', {'x': x + 15, 'y': y + 12, 'font-size': 11, 'fill': palette.muted}, kind));
    x += room;
  }
  const top = y + (kinds.length > 0 ? kLegendLine + 4 : 0);
  // Below the last lane there is nothing to print.
  const lanes = Math.min(chart.height - kRulerHeight, Math.max(chart.layout.height - chart.scroll, 1));
  const height = top + kRulerHeight + lanes;
  const image = chart.picture(sharpness(chart), kRulerHeight + lanes);
  return svgElement('svg', {'xmlns': 'http://www.w3.org/2000/svg', 'class': 'timeline-picture', 'viewBox': `0 0 ${width} ${height}`,
    'width': width, 'height': height, 'font-family': kFonts, 'role': 'img', 'aria-label': title === '' ? 'The timeline' : title},
  svgElement('rect', {width, height, fill: cssColor(palette.background)}),
  ...title === '' ? [] : [svgElement('text', {'x': 0, 'y': 15, 'font-size': 14, 'font-weight': 650, 'fill': palette.text}, oneLine(title, 120))],
  ...legend,
  svgElement('image', {x: column, y: top, width: chart.width, height: kRulerHeight + lanes, href: image, preserveAspectRatio: 'none'}),
  svgElement('g', {transform: `translate(0 ${top + kRulerHeight})`}, ...labelTexts(chart, column, lanes)),
  svgElement('line', {x1: column, y1: top, x2: column, y2: height, stroke: palette.line}));
}
