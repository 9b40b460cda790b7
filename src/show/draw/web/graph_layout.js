// Lays out a graph in rows, top to bottom, after Sugiyama: rows by longest path, the order within a row by the mean
// place of neighbours, then places. Work is bounded: a fixed number of sweeps over nodes and edges.
//
//   const layout = layoutGraph(sizes, edges);      // sizes: [{width, height}], edges: [[from, to]]
//   layout.x[i], layout.y[i]                       // the middle of node i; layout.width, layout.height
//
// Nodes come in the order of the trace: an edge against that order closes a cycle and does not count for rows.

const kGapAcross = 18;
const kGapDown = 34;
const kGapOfColumns = 90;
const kSweeps = 6;
const kMostOfARow = 2600;  // width behind which a row is broken

/** @param {number} count @param {Array<[number, number]>} edges */
function rowsByLongestPath(count, edges) {
  const rows = new Int32Array(count);
  const outgoing = Array.from({length: count}, () => []);
  const sources = new Uint8Array(count).fill(1);
  for (const [from, to] of edges) {
    if (from >= to) continue;
    outgoing[from].push(to);
    sources[to] = 0;
  }
  for (let i = 0; i < count; ++i) {
    for (const to of outgoing[i]) rows[to] = Math.max(rows[to], rows[i] + 1);
  }
  // What nothing leads to, a parameter for instance, stands right above its first reader.
  for (let i = 0; i < count; ++i) {
    if (!sources[i] || outgoing[i].length === 0) continue;
    let first = Infinity;
    for (const to of outgoing[i]) first = Math.min(first, rows[to]);
    rows[i] = Math.max(0, first - 1);
  }
  return rows;
}

/**
 * @param {Array<{width: number, height: number}>} sizes
 * @param {Array<[number, number]>} edges
 */
export function layoutGraph(sizes, edges) {
  const count = sizes.length;
  const rowOf = rowsByLongestPath(count, edges);
  const rows = [];
  for (let i = 0; i < count; ++i) (rows[rowOf[i]] ??= []).push(i);
  for (let r = 0; r < rows.length; ++r) rows[r] ??= [];
  const neighbours = Array.from({length: count}, () => []);
  for (const [from, to] of edges) {
    if (from === to) continue;
    neighbours[from].push(to);
    neighbours[to].push(from);
  }
  const x = new Float64Array(count);
  const spread = (row) => {
    let at = 0;
    for (const i of row) {
      x[i] = at + sizes[i].width / 2;
      at += sizes[i].width + kGapAcross;
    }
    const middle = (at - kGapAcross) / 2;
    for (const i of row) x[i] -= middle;
  };
  for (const row of rows) spread(row);
  const wish = new Float64Array(count);
  for (let sweep = 0; sweep < kSweeps; ++sweep) {
    const down = sweep % 2 === 0;
    for (let k = 0; k < rows.length; ++k) {
      const row = rows[down ? k : rows.length - 1 - k];
      for (const i of row) {
        let sum = 0;
        let of = 0;
        for (const other of neighbours[i]) {
          if (down ? rowOf[other] >= rowOf[i] : rowOf[other] <= rowOf[i]) continue;
          sum += x[other];
          ++of;
        }
        wish[i] = of > 0 ? sum / of : x[i];
      }
      row.sort((a, b) => wish[a] - wish[b] || a - b);
      settleRow(row, sizes, wish, x);
    }
  }
  return placeRows(rows, sizes, x);
}

/**
 * Columns from left to right, each from the top: the ranks of a run, with room for messages between them.
 * @param {Array<{width: number, height: number}>} sizes
 */
export function sideBySide(sizes) {
  const x = new Float64Array(sizes.length);
  const y = new Float64Array(sizes.length);
  let at = 0;
  let height = 0;
  sizes.forEach((size, i) => {
    x[i] = at + size.width / 2;
    y[i] = size.height / 2;
    at += size.width + kGapOfColumns;
    height = Math.max(height, size.height);
  });
  return {x, y, width: Math.max(0, at - kGapOfColumns), height};
}

/** Places a row as near to its wishes as its order and widths allow. */
function settleRow(row, sizes, wish, x) {
  // Runs that touch move as one, to the mean of what their members want.
  const runs = [];
  for (const i of row) {
    let run = {members: [i], sum: wish[i], width: sizes[i].width};
    while (runs.length > 0) {
      const left = runs[runs.length - 1];
      const leftEnd = left.sum / left.members.length + left.width / 2;
      const start = run.sum / run.members.length - run.width / 2;
      if (leftEnd + kGapAcross <= start) break;
      runs.pop();
      run = {members: left.members.concat(run.members), sum: left.sum + run.sum, width: left.width + kGapAcross + run.width};
    }
    runs.push(run);
  }
  for (const run of runs) {
    let at = run.sum / run.members.length - run.width / 2;
    for (const i of run.members) {
      x[i] = at + sizes[i].width / 2;
      at += sizes[i].width + kGapAcross;
    }
  }
}

function placeRows(rows, sizes, x) {
  const y = new Float64Array(x.length);
  let top = 0;
  for (const row of rows) {
    for (const line of brokenRow(row, sizes, x)) {
      let height = 0;
      for (const i of line) height = Math.max(height, sizes[i].height);
      for (const i of line) y[i] = top + height / 2;
      if (line.length > 0) top += height + kGapDown;
    }
  }
  let left = Infinity;
  let right = -Infinity;
  for (let i = 0; i < x.length; ++i) {
    left = Math.min(left, x[i] - sizes[i].width / 2);
    right = Math.max(right, x[i] + sizes[i].width / 2);
  }
  if (x.length === 0) left = right = 0;
  for (let i = 0; i < x.length; ++i) x[i] -= left;
  return {x, y, width: right - left, height: Math.max(0, top - kGapDown)};
}

/** A row that is too wide becomes several lines. */
function brokenRow(row, sizes, x) {
  let whole = 0;
  for (const i of row) whole += sizes[i].width + kGapAcross;
  if (whole <= kMostOfARow || row.length < 2) return [row];
  const lines = [[]];
  let width = 0;
  for (const i of row) {
    if (width > 0 && width + sizes[i].width > kMostOfARow) {
      lines.push([]);
      width = 0;
    }
    lines[lines.length - 1].push(i);
    width += sizes[i].width + kGapAcross;
  }
  for (const line of lines) {
    let at = 0;
    for (const i of line) {
      x[i] = at + sizes[i].width / 2;
      at += sizes[i].width + kGapAcross;
    }
    for (const i of line) x[i] -= (at - kGapAcross) / 2;
  }
  return lines;
}
