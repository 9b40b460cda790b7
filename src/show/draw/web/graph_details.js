// What is said about the item that was clicked: what goes in and out, with shapes, and what it costs; and the list of what a
// search found.
import {element, oneLine} from './dom.js';
import {formatAmount, formatBytes, formatCount, formatRate, formatShare, formatTime} from './format.js';
import {kCommunicationEdge, kControlEdge, kGraphKinds, kTensorNode} from './graph_data.js';

const kMostNeighbours = 40;
const kMostFound = 200;
const kMostCostly = 5;

function figureRow(title, text) {
  return element('tr', null, element('th', {scope: 'row'}, title), element('td', {class: 'name'}, text));
}

function factTable(rows) {
  return element('table', {class: 'facts'}, element('tbody', null, ...rows));
}

/**
 * @param {import('./graph_scene.js').GraphScene} scene
 * @param {number} item
 * @param {(node: number) => void} goTo
 */
export function graphDetails(scene, item, goTo) {
  return scene.isBox(item) ? boxDetails(scene, item, goTo) : nodeDetails(scene, item - scene.data.boxCount, goTo);
}

/** Rows of a cost: work, bytes, time, each with its share of the whole graph. */
function costRows(scene, {flops, bytes, sent, time}) {
  const {whole} = scene;
  const rows = [];
  const share = (value, all) => all > 0 && value < all ? `, ${formatShare(value / all)} of all` : '';
  if (flops > 1) rows.push(figureRow('work', `${formatAmount(flops, 'FLOP')}${share(flops, whole.flops)}`));
  if (bytes > 0) rows.push(figureRow('reads and writes', formatBytes(bytes)));
  if (flops > 1 && bytes > 0) rows.push(figureRow('intensity', formatRate(flops / bytes, 'FLOP/B')));
  if (sent > 0) rows.push(figureRow('sends', `${formatBytes(sent)}${share(sent, whole.sent)}`));
  if (time > 0) rows.push(figureRow('time', `${formatTime(time)}${share(time, whole.time)}`));
  return rows;
}

function boxDetails(scene, box, goTo) {
  const {data} = scene;
  const rows = [figureRow('operations', formatCount(scene.boxOps[box]))];
  if (scene.boxCommunications[box] > 0) rows.push(figureRow('communications', formatCount(scene.boxCommunications[box])));
  rows.push(figureRow('tensors', formatCount(scene.boxTensors[box])));
  const cost = {flops: scene.boxFlops[box], bytes: scene.boxBytes[box], sent: scene.boxSent[box], time: scene.boxTime[box]};
  rows.push(...costRows(scene, cost));
  const times = scene.isFold(box) ? scene.children[box].length : 0;
  const remarks = times > 0 ? `${formatCount(times)} boxes that hold the same; figures are those of all together. ` : '';
  const {nodes, into, outOf} = scene.insideAndAround(box);
  const by = cost.time > 0 ? data.time : data.flops;
  const costly = nodes.filter((node) => by[node] > 0 && data.kind[node] !== kTensorNode).sort((a, b) => by[b] - by[a]).slice(0, kMostCostly);
  return [element('h2', {class: 'name'}, oneLine(data.titleOf(box))),
          element('p', {class: 'muted'}, remarks + (scene.open[box] ? 'Open box.' : 'Closed box: a double click or E opens it.')),
          factTable(rows),
          ...nodeList(data, 'inputs', into, goTo),
          ...nodeList(data, 'outputs', outOf, goTo),
          ...nodeList(data, cost.time > 0 ? 'longest' : 'most work', costly, goTo, (node) => cost.time > 0 ? formatTime(by[node]) : formatAmount(by[node], 'FLOP'), false)];
}

function nodeDetails(scene, node, goTo) {
  const {data} = scene;
  const text = (column) => oneLine(data.texts.text(column[node]), 300);
  const isTensor = data.kind[node] === kTensorNode;
  const rows = [figureRow('kind', kGraphKinds[data.kind[node]])];
  const add = (title, value) => {
    if (value) rows.push(figureRow(title, value));
  };
  add(isTensor ? 'type' : 'operation', text(data.what));
  add('shape', text(data.shape));
  add('layer', text(data.layer));
  add('part of the step', text(data.part));
  if (data.pass[node] > 0) add('pass', String(data.pass[node]));
  rows.push(figureRow('rank', String(data.rank[node])));
  const exact = (figure, value) => value >= 1000 ? `${figure} (${formatCount(value)})` : figure;
  if (isTensor) {
    if (data.bytes[node] >= 0) add('bytes', exact(formatBytes(data.bytes[node]), data.bytes[node]));
  } else {
    const communicates = kGraphKinds[data.kind[node]] === 'communication';
    rows.push(...costRows(scene, {flops: data.flops[node], bytes: communicates ? 0 : data.bytes[node], sent: communicates ? data.bytes[node] : 0, time: data.time[node]}));
    if (data.flops[node] >= 1000) add('operations counted', `${formatCount(data.flops[node])} FLOP`);
  }
  const ends = (edges, column, kinds) => Array.from(edges).filter((edge) => kinds.includes(data.edgeKind[edge])).map((edge) => column[edge]);
  const [into, outOf] = [data.incoming.of(node), data.outgoing.of(node)];
  return [element('h2', {class: 'name'}, oneLine(data.nameOf(node))), factTable(rows),
          ...nodeList(data, isTensor ? 'written by' : 'inputs', ends(into, data.from, [0]), goTo),
          ...nodeList(data, isTensor ? 'read by' : 'outputs', ends(outOf, data.to, [0]), goTo),
          ...nodeList(data, 'waits for', ends(into, data.from, [kControlEdge]), goTo),
          ...nodeList(data, 'waited for by', ends(outOf, data.to, [kControlEdge]), goTo),
          ...nodeList(data, 'messages from', ends(into, data.from, [kCommunicationEdge]), goTo, (other) => `rank ${data.rank[other]}`),
          ...nodeList(data, 'messages to', ends(outOf, data.to, [kCommunicationEdge]), goTo, (other) => `rank ${data.rank[other]}`)];
}

/** What is said of a node in a list: the shape and size of a tensor, else its operation. */
function nodeRemark(data, node) {
  if (data.kind[node] !== kTensorNode) return data.texts.text(data.what[node]);
  return [data.texts.text(data.shape[node]), data.texts.text(data.what[node]), data.bytes[node] >= 0 ? formatBytes(data.bytes[node]) : ''].filter(Boolean).join(' ');
}

function nodeList(data, title, nodes, goTo, remark = (node) => nodeRemark(data, node), counted = true) {
  if (nodes.length === 0) return [];
  const list = element('ul', {class: 'neighbours'});
  for (const node of nodes.slice(0, kMostNeighbours)) list.append(element('li', null, nodeLink(data, node, goTo, remark(node))));
  if (nodes.length > kMostNeighbours) list.append(element('li', {class: 'muted'}, `and ${formatCount(nodes.length - kMostNeighbours)} more`));
  const bytes = nodes.reduce((sum, node) => data.kind[node] === kTensorNode && data.bytes[node] > 0 ? sum + data.bytes[node] : sum, 0);
  return [element('h3', null, counted ? `${title} (${formatCount(nodes.length)}${bytes > 0 ? `, ${formatBytes(bytes)}` : ''})` : title), list];
}

function nodeLink(data, node, goTo, remark) {
  return element('button', {class: 'link', type: 'button', onclick: () => goTo(node)},
      element('span', {class: 'swatch kind-' + kGraphKinds[data.kind[node]]}),
      element('span', {class: 'name'}, oneLine(data.nameOf(node), 80)),
      element('span', {class: 'muted'}, remark === '' ? '' : ' ' + oneLine(remark, 80)));
}

/**
 * Nodes whose names or operations hold a text, in upper or lower case.
 * @param {import('./graph_data.js').GraphData} data
 * @param {string} wanted
 */
export function searchGraph(data, wanted) {
  const low = wanted.toLowerCase();
  // Texts are few: each is looked at once.
  const fits = new Uint8Array(data.texts.size);
  for (let i = 0; i < data.texts.size; ++i) if (data.texts.text(i).toLowerCase().includes(low)) fits[i] = 1;
  const found = [];
  for (let node = 0; node < data.nodeCount; ++node) if (fits[data.name[node]] || fits[data.what[node]]) found.push(node);
  return found;
}

export function foundList(data, found, goTo) {
  const list = element('ul', {class: 'neighbours'});
  for (const node of found.slice(0, kMostFound)) list.append(element('li', null, nodeLink(data, node, goTo, nodeRemark(data, node))));
  if (found.length > kMostFound) list.append(element('li', {class: 'muted'}, `and ${formatCount(found.length - kMostFound)} more`));
  return [element('h2', null, `${formatCount(found.length)} found`), list];
}
