// Lines between events: messages and collectives, the critical path, and the arrows of the event that was clicked.
import {linksOf} from './timeline_links.js';

/** @typedef {import('./timeline_chart.js').TimelineChart} TimelineChart */
/** @typedef {import('./timeline_data.js').TimelineData} TimelineData */

const kMessage = 2;
const kCollective = 3;
const kPrediction = 4;
const kCriticalPath = 5;
const kMostFlows = 600;
const kMostArrows = 300;

export class TimelineFlows {
  /**
   * @param {TimelineData} data
   * @param {import('./timeline_links.js').TimelineLinks} links
   */
  constructor(data, links) {
    this.data = data;
    this.links = links;
    this.showFlows = true;
    this.showCritical = false;
    this.critical = links.ofKinds([kCriticalPath]);
    const begin = (link) => Math.min(data.starts[links.from[link]], data.starts[links.to[link]]);
    // By the earlier start: those in sight are then next to each other, given the longest.
    this.flows = links.ofKinds([kMessage, kCollective]);
    this.begins = Float64Array.from(this.flows, begin);
    const order = Uint32Array.from(this.flows, (_, i) => i).sort((a, b) => this.begins[a] - this.begins[b]);
    this.flows = order.map((at) => this.flows[at]);
    this.begins = Float64Array.from(this.flows, begin);
    this.longest = 0;
    this.flows.forEach((link, i) => {
      this.longest = Math.max(this.longest, data.end(links.to[link]) - this.begins[i], data.end(links.from[link]) - this.begins[i]);
    });
    this.tooMany = false;
  }

  /** Flows that may be seen between two times. @param {number} begin @param {number} end */
  between(begin, end) {
    const first = lowerBound(this.begins, begin - this.longest);
    const last = lowerBound(this.begins, end);
    return this.flows.subarray(first, last);
  }

  /** What belongs to an event: {from, to, kind}. @param {number} event */
  arrowsOf(event) {
    const {links} = this;
    const found = [...links.into(event), ...links.outOf(event)].filter((link) => links.kind[link] !== kPrediction);
    return found.slice(0, kMostArrows).map((link) => ({from: links.from[link], to: links.to[link], kind: links.kind[link]}));
  }
}

/** @param {Float64Array} values @param {number} wanted */
function lowerBound(values, wanted) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @param {TimelineData} data */
export async function loadFlows(data) {
  return new TimelineFlows(data, await linksOf(data));
}

/**
 * Ends of a link on the canvas: a collective joins starts, everything else goes from an end to a start; or, where the two are
 * under way at the same time, as a receive that waits for its send is, from a start to an end.
 * @param {TimelineChart} chart @param {number} from @param {number} to @param {number} kind
 */
function endsOf(chart, from, to, kind) {
  const one = chart.boxOf(from);
  const other = chart.boxOf(to);
  if (!one || !other) return null;
  const together = chart.data.starts[to] < chart.data.end(from);
  const x0 = kind === kCollective || together ? one.x0 : one.x1;
  const x1 = kind !== kCollective && together ? other.x1 : other.x0;
  const y0 = (one.y0 + one.y1) / 2;
  const y1 = (other.y0 + other.y1) / 2;
  if (Math.max(x0, x1) < -50 || Math.min(x0, x1) > chart.width + 50 || Math.max(y0, y1) < 0 || Math.min(y0, y1) > chart.height) return null;
  return {x0, y0, x1, y1};
}

/** @param {CanvasRenderingContext2D} context @param {{x0: number, y0: number, x1: number, y1: number}} ends */
function curve(context, ends) {
  const bend = Math.min(Math.max(Math.abs(ends.x1 - ends.x0) / 2, 8), 60);
  context.moveTo(ends.x0, ends.y0);
  context.bezierCurveTo(ends.x0 + bend, ends.y0, ends.x1 - bend, ends.y1, ends.x1, ends.y1);
}

/** @param {CanvasRenderingContext2D} context @param {{x1: number, y1: number}} ends */
function arrowHead(context, ends) {
  context.moveTo(ends.x1, ends.y1);
  context.lineTo(ends.x1 - 7, ends.y1 - 3.5);
  context.lineTo(ends.x1 - 7, ends.y1 + 3.5);
  context.closePath();
}

/** @param {TimelineChart} chart */
export function drawFlows(chart) {
  const {context, flows, palette, data} = chart;
  if (flows?.showFlows) {
    const inSight = flows.between(chart.begin, chart.end);
    flows.tooMany = inSight.length > 20 * kMostFlows;
    const ends = [];
    if (!flows.tooMany) {
      for (const link of inSight) {
        const found = endsOf(chart, flows.links.from[link], flows.links.to[link], flows.links.kind[link]);
        if (found && ends.push(found) > kMostFlows) break;
      }
    }
    flows.tooMany ||= ends.length > kMostFlows;
    if (flows.tooMany) {
      context.fillStyle = palette.muted;
      context.textAlign = 'right';
      context.textBaseline = 'alphabetic';
      context.fillText('lines of messages and collectives: zoom in', chart.width - 10, chart.height - 8);
    } else {
      context.strokeStyle = palette.critical;
      context.globalAlpha = ends.length > 150 ? 0.3 : 0.55;
      context.lineWidth = 1;
      context.beginPath();
      for (const one of ends) curve(context, one);
      context.stroke();
      context.globalAlpha = 1;
    }
  }
  if (flows?.showCritical) {
    context.strokeStyle = palette.highlight;
    context.lineWidth = 2.5;
    context.beginPath();
    for (const link of flows.critical) {
      const from = flows.links.from[link];
      const to = flows.links.to[link];
      if (data.end(from) < chart.begin && data.end(to) < chart.begin) continue;
      if (data.starts[from] > chart.end && data.starts[to] > chart.end) continue;
      const ends = endsOf(chart, from, to, kCriticalPath);
      if (ends) curve(context, ends);
      const box = chart.boxOf(to);
      if (box) context.rect(box.x0, box.y0, Math.max(box.x1 - box.x0, 1), box.y1 - box.y0);
    }
    context.stroke();
  }
  if (chart.arrows.length > 0) {
    context.strokeStyle = palette.text;
    context.fillStyle = palette.text;
    context.lineWidth = 1.4;
    const ends = chart.arrows.map((arrow) => endsOf(chart, arrow.from, arrow.to, arrow.kind)).filter((one) => one !== null);
    context.beginPath();
    for (const one of ends) curve(context, one);
    context.stroke();
    context.beginPath();
    for (const one of ends) arrowHead(context, one);
    context.fill();
  }
}
