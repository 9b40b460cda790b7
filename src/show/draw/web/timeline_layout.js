// Where groups, lanes and rows stand, from top to bottom. Lines are what can be seen by itself: the head of a group
// (with all of its lanes drawn into it when it is collapsed) or one row of a lane.
import {likeGroups} from './timeline_alike.js';

/** @typedef {import('./timeline_data.js').TimelineData} TimelineData */

/**
 * @typedef {{y: number, height: number, tracks: number[], predicted: boolean, group: number, lane: number|null}} Line
 * @typedef {{y: number, height: number, kind: 'group'|'lane'|'alike', group: number, lane: number|null, name: string,
 *            note: string, open: boolean|null, predicted: boolean}} Label
 */

const kGroupHeight = 24;
const kRowHeight = 20;
const kStackRowHeight = 15;
const kLaneGap = 4;
const kAlikeHeight = 18;

export class TimelineLayout {
  /** @param {TimelineData} data */
  constructor(data) {
    this.data = data;
    this.collapsedGroups = new Set(data.groups.filter((group) => group.collapsed).map((group) => group.number));
    this.collapsedLanes = new Set();
    const first = likeGroups(data);
    /** @type {Map<number, number[]>} */
    this.alike = new Map();  // by the first of them, the others that are like it
    this.firstAlike = first;
    first.forEach((one, group) => {
      if (one !== group) this.alike.set(one, [...this.alike.get(one) ?? [], group]);
    });
    this.shownAlike = new Set();  // by the first of them
    this.update();
  }

  update() {
    const {data} = this;
    /** @type {Line[]} */
    this.lines = [];
    /** @type {Label[]} */
    this.labels = [];
    this.lineOfTrack = new Int32Array(data.tracks.length).fill(-1);
    let y = 0;
    for (const group of this.groupsInOrder()) {
      const open = !this.collapsedGroups.has(group.number);
      this.labels.push({y, height: kGroupHeight, kind: 'group', group: group.number, lane: null, name: group.name,
        note: group.note, open, predicted: false});
      if (!open) {
        const tracks = group.lanes.flatMap((lane) => data.lanes[lane].tracks.slice(0, 1));
        const line = this.lines.push({y: y + 3, height: kGroupHeight - 6, tracks, predicted: false, group: group.number, lane: null}) - 1;
        for (const lane of group.lanes) for (const track of data.lanes[lane].tracks) this.lineOfTrack[track] = line;
      }
      y += kGroupHeight + (open ? 2 : 0);
      if (open) for (const lane of group.lanes) y = this.addLane(data.lanes[lane], y);
      const others = this.alike.get(group.number);
      if (others) {
        this.labels.push({y, height: kAlikeHeight, kind: 'alike', group: group.number, lane: null, name: `and ${others.length} like it`,
          note: others.slice(0, 40).map((other) => data.groups[other].name).join(', ') + (others.length > 40 ? ', \u2026' : ''),
          open: this.shownAlike.has(group.number), predicted: false});
        y += kAlikeHeight + 2;
      }
    }
    this.height = y + 8;
  }

  /** Those that are shown: of groups that are alike the first, and the others behind it when they are wanted. */
  groupsInOrder() {
    const {data} = this;
    return data.groups.flatMap((group) => this.firstAlike[group.number] !== group.number ? [] :
        [group, ...this.shownAlike.has(group.number) ? this.alike.get(group.number).map((other) => data.groups[other]) : []]);
  }

  /** Shows the groups that are like this one, or it alone. @param {number} group */
  toggleAlike(group) {
    if (!this.shownAlike.delete(group)) this.shownAlike.add(group);
    this.update();
  }

  /** @param {import('./timeline_data.js').Lane} lane @param {number} y */
  addLane(lane, y) {
    const {data} = this;
    const collapsed = this.collapsedLanes.has(lane.number);
    const paired = lane.prediction.length > 0;
    const top = y;
    const full = data.pipeline ? kRowHeight + 8 : lane.tracks.length > 2 ? kStackRowHeight : kRowHeight;
    const height = paired ? Math.max(11, full * 0.6) : full;
    for (const one of [lane, ...lane.prediction.map((number) => data.lanes[number])]) {
      for (const [row, track] of one.tracks.entries()) {
        if (collapsed && row > 0) {
          this.lineOfTrack[track] = this.lines.length - 1;
          continue;
        }
        this.lineOfTrack[track] = this.lines.push({y, height: height - 1, tracks: [track], predicted: one.predictedOf !== null,
          group: lane.group, lane: one.number}) - 1;
        y += height;
      }
      if (one.tracks.length === 0) y += height;
    }
    this.labels.push({y: top, height: y - top, kind: 'lane', group: lane.group, lane: lane.number, name: lane.name,
      note: lane.note, open: lane.tracks.length > 1 ? !collapsed : null, predicted: paired});
    return y + kLaneGap;
  }

  /** @param {number} group */
  toggleGroup(group) {
    if (!this.collapsedGroups.delete(group)) this.collapsedGroups.add(group);
    this.update();
  }

  /** @param {number} lane */
  toggleLane(lane) {
    if (!this.collapsedLanes.delete(lane)) this.collapsedLanes.add(lane);
    this.update();
  }

  /** Collapses all groups, or opens them when all are. */
  toggleAll() {
    const all = this.collapsedGroups.size === this.data.groups.length;
    this.collapsedGroups = all ? new Set() : new Set(this.data.groups.map((group) => group.number));
    this.update();
  }

  /** Makes the line of an event visible by opening its group and lane. @param {number} track */
  reveal(track) {
    const {lane, row} = this.data.tracks[track];
    const owner = this.data.lanes[lane].predictedOf ?? lane;
    const {group} = this.data.lanes[owner];
    let changed = this.collapsedGroups.delete(group);
    const first = this.firstAlike[group];
    if (first !== group && !this.shownAlike.has(first)) {
      this.shownAlike.add(first);
      changed = true;
    }
    if (row > 0) changed = this.collapsedLanes.delete(owner) || changed;
    if (changed) this.update();
    return changed;
  }

  /** The line at a height, or null. @param {number} y */
  lineAt(y) {
    let low = 0;
    let high = this.lines.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.lines[middle].y + this.lines[middle].height < y) low = middle + 1;
      else high = middle;
    }
    const line = this.lines[low];
    return line && line.y <= y ? line : null;
  }
}
