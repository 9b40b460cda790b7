// What is said about the item that was clicked, and the list of what a search found.
import {element, oneLine} from './dom.js';
import {formatAmount, formatBytes, formatCount, formatTime} from './format.js';
import {kGraphEdgeKinds, kGraphKinds, kTensorNode} from './graph_data.js';

const kMostNeighbours = 40;
const kMostFound = 200;

function figureRow(title, text) {
  return element('tr', null, element('th', {scope: 'row'}, title), element('td', {class: 'name'}, text));
}

/**
 * @param {import('./graph_scene.js').GraphScene} scene
 * @param {number} item
 * @param {(node: number) => void} goTo
 */
export function graphDetails(scene, item, goTo) {
  return scene.isBox(item) ? boxDetails(scene, item) : nodeDetails(scene, item - scene.data.boxCount, goTo);
}

function boxDetails(scene, box) {
  const rows = [figureRow('operations', formatCount(scene.boxOps[box])),
                figureRow('communications', formatCount(scene.boxCommunications[box])),
                figureRow('tensors', formatCount(scene.boxTensors[box]))];
  if (scene.boxFlops[box] > 0) rows.push(figureRow('work', formatAmount(scene.boxFlops[box], 'FLOP')));
  if (scene.boxSent[box] > 0) rows.push(figureRow('communicated', formatBytes(scene.boxSent[box])));
  if (scene.boxTime[box] > 0) rows.push(figureRow('time, added up', formatTime(scene.boxTime[box])));
  return [element('h2', {class: 'name'}, oneLine(scene.titleOf(box))),
          element('p', {class: 'muted'}, scene.open[box] ? 'open box' : 'closed box: double-click or press E to open'),
          element('table', null, element('tbody', null, ...rows))];
}

function nodeDetails(scene, node, goTo) {
  const {data} = scene;
  const text = (column) => oneLine(data.texts.text(column[node]), 300);
  const rows = [figureRow('kind', kGraphKinds[data.kind[node]])];
  const add = (title, value) => {
    if (value) rows.push(figureRow(title, value));
  };
  add(data.kind[node] === kTensorNode ? 'type' : 'operation', text(data.what));
  add('shape', text(data.shape));
  add('layer', text(data.layer));
  add('part of the step', text(data.part));
  if (data.pass[node] > 0) add('pass', String(data.pass[node]));
  rows.push(figureRow('rank', String(data.rank[node])));
  if (data.bytes[node] >= 0) add('bytes', `${formatBytes(data.bytes[node])} (${formatCount(data.bytes[node])})`);
  if (data.flops[node] >= 0) add('work', `${formatAmount(data.flops[node], 'FLOP')} (${formatCount(data.flops[node])})`);
  if (data.time[node] >= 0) add('time', formatTime(data.time[node]));
  return [element('h2', {class: 'name'}, oneLine(data.nameOf(node))),
          element('table', null, element('tbody', null, ...rows)),
          ...neighbours(data, 'from', data.incoming.of(node), data.from, goTo),
          ...neighbours(data, 'to', data.outgoing.of(node), data.to, goTo)];
}

function neighbours(data, title, edges, ends, goTo) {
  if (edges.length === 0) return [];
  const list = element('ul', {class: 'neighbours'});
  for (const edge of edges.subarray(0, kMostNeighbours)) list.append(element('li', null, nodeLink(data, ends[edge], goTo,
      kGraphEdgeKinds[data.edgeKind[edge]])));
  if (edges.length > kMostNeighbours)
    list.append(element('li', {class: 'muted'}, `and ${formatCount(edges.length - kMostNeighbours)} more`));
  return [element('h3', null, `${title} (${formatCount(edges.length)})`), list];
}

function nodeLink(data, node, goTo, remark) {
  const shape = data.texts.text(data.shape[node]);
  return element('button', {class: 'link', type: 'button', onclick: () => goTo(node)},
      element('span', {class: 'swatch kind-' + kGraphKinds[data.kind[node]]}),
      element('span', {class: 'name'}, oneLine(data.nameOf(node), 80)),
      element('span', {class: 'muted'}, [shape, remark === 'data' ? '' : remark].filter(Boolean).map((text) => ' ' + text).join('')));
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
  for (const node of found.slice(0, kMostFound)) list.append(element('li', null, nodeLink(data, node, goTo, '')));
  if (found.length > kMostFound)
    list.append(element('li', {class: 'muted'}, `and ${formatCount(found.length - kMostFound)} more`));
  return [element('h2', null, `${formatCount(found.length)} found`), list];
}
