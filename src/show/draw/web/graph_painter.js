// Paints a part of a scene:
//
//   paintScene(context, scene, look, partOf(scene, look));
//
// The context is already turned to the scene's coordinates. What is small on the screen is painted plainly: blocks without
// names, lines without heads.
import {oneLine} from './dom.js';
import {formatAmount, formatBytes, formatCount, formatTime} from './format.js';
import {kTensorNode} from './graph_data.js';
import {kLineStyles} from './graph_lines.js';
import {mixColors, pixelColor} from './timeline_palette.js';

/**
 * @typedef {{left: number, top: number, right: number, bottom: number, scale: number, colors: any,
 *            found: Map<number, number>|null}} GraphLook what is to be seen, in the scene's coordinates; with `found`, items
 *            without hits are faint
 */

const kReadableText = 0.42;  // scale below which items have no texts
const kPlain = 0.2;          // scale below which they are blocks
const kSpecks = 0.07;        // scale below which they are specks, put down pixel by pixel
const kInAPath = 400;
const kMostLinesOnAScreen = 6000;
const kFaint = 0.38;
const kLeastTitle = 11;      // pixels of the screen: titles of frames are never smaller

/** Of how many lines one is drawn, where so many lie over each other that they are a grey anyway; the same all over the scene. */
function thinning(scene, scale) {
  const screens = Math.max(1, scene.width * scene.height * scale * scale / (1600 * 900));
  return Math.max(1, Math.round(scene.lines.count / screens / kMostLinesOnAScreen));
}

/** Items and lines of a part of the scene. @param {import('./graph_scene.js').GraphScene} scene @param {GraphLook} look */
export function partOf(scene, look) {
  const {grid} = scene;
  // Below these lengths of the screen, lines only grey what lies between two blocks.
  const least = (look.scale < kSpecks ? 8 : look.scale < kPlain ? 2.5 : 0) / look.scale;
  return {items: grid.itemsIn(look), lines: grid.linesIn(look, least, look.scale < kPlain ? thinning(scene, look.scale) : 1)};
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import('./graph_scene.js').GraphScene} scene
 * @param {GraphLook} look
 * @param {{items: any[], lines: number[]}} part
 */
export function paintScene(context, scene, look, part) {
  for (const frame of scene.frames) if (isSeen(frame, look)) paintFrame(context, frame, look);
  if (look.scale < kSpecks) paintSpecks(context, scene, look, part.items);
  paintLines(context, scene.lines, look, part.lines);
  if (look.scale >= kPlain) for (const place of part.items) paintItem(context, scene, place, look);
  else if (look.scale >= kSpecks) paintBlocks(context, scene, look, part.items);
  paintTitles(context, scene, look);
}

function isSeen(place, look) {
  return place.x <= look.right && place.x + place.width >= look.left && place.y <= look.bottom && place.y + place.height >= look.top;
}

function paintFrame(context, place, {colors}) {
  context.fillStyle = colors.panel;
  context.strokeStyle = colors.line;
  context.lineWidth = 1.5;
  context.globalAlpha = 0.55;
  roundRect(context, place, 10);
  context.fill();
  context.globalAlpha = 1;
  context.stroke();
}

/** Titles of open boxes, as large as can be read wherever there is room for them. */
function paintTitles(context, scene, look) {
  const {colors, scale} = look;
  for (const place of scene.frames) {
    const size = Math.max(14, kLeastTitle / scale);
    // Below its usual size a title would lie on what is inside: only where that is a mere speck.
    if (place.width * scale < 70 || place.height * scale < 24 || size > 26 && place.height * scale < 40 || !isSeen(place, look)) continue;
    context.font = `600 ${size}px system-ui, sans-serif`;
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    const title = clipped(context, '\u25be ' + scene.titleOf(place.item), place.width - 1.5 * size, 60);
    if (size > 16) {
      context.fillStyle = colors.panel;
      context.globalAlpha = 0.85;
      context.fillRect(place.x + 4 / scale, place.y + 3 / scale, context.measureText(title).width + 0.8 * size, 1.3 * size);
      context.globalAlpha = 1;
    }
    context.fillStyle = size > 16 ? colors.text : colors.muted;
    context.fillText(title, place.x + Math.min(10, 8 / scale), place.y + Math.max(15, 3 / scale + 0.7 * size));
  }
}

function paintLines(context, lines, look, numbers) {
  const {colors, scale} = look;
  const looks = {data: {color: colors.edge, alpha: 0.55, dash: [], width: 1.1}, control: {color: colors.edge, alpha: 0.35, dash: [4, 4], width: 0.9},
                 red: {color: colors.red, alpha: 0.9, dash: [], width: 1.6}, long: {color: colors.edge, alpha: 0.16, dash: [], width: 1}};
  const plain = scale < kPlain;
  const byStyle = kLineStyles.map(() => []);
  for (const at of numbers) byStyle[lines.style[at]].push(at);
  for (const [number, chosen] of byStyle.entries()) {
    if (chosen.length === 0) continue;
    const {color, alpha, dash, width} = looks[kLineStyles[number]];
    context.strokeStyle = context.fillStyle = color;
    context.lineWidth = width / Math.max(scale, 0.25);
    context.globalAlpha = alpha;
    context.setLineDash(plain ? [] : dash);
    // One path for all would take longer than its lines: each is set against each.
    for (let begin = 0; begin < chosen.length; begin += kInAPath) {
      context.beginPath();
      for (let i = begin; i < Math.min(begin + kInAPath, chosen.length); ++i) lines.trace(context, chosen[i], plain);
      context.stroke();
    }
    context.setLineDash([]);
    if (!plain) {
      context.beginPath();
      for (const at of chosen) lines.head(context, at);
      context.fill();
    }
    context.globalAlpha = 1;
  }
}

function kindOf(scene, item) {
  return scene.isBox(item) ? 1 : scene.data.kind[item - scene.data.boxCount];
}

/** Items as blocks, a kind at a time. */
function paintBlocks(context, scene, {colors, found}, items) {
  for (let kind = 0; kind < colors.kinds.length; ++kind) {
    context.fillStyle = colors.kinds[kind];
    for (const place of items) {
      if (kindOf(scene, place.item) !== kind) continue;
      if (found !== null) context.globalAlpha = found.has(place.item) ? 1 : kFaint;
      context.fillRect(place.x, place.y, place.width, place.height);
    }
  }
  context.globalAlpha = 1;
}

/** Items as pixels of their colours, at least one each: tens of thousands in a moment. */
function paintSpecks(context, scene, {colors, found}, items) {
  const {width, height} = context.canvas;
  const {a: scale, e: left, f: top} = context.getTransform();
  const image = context.getImageData(0, 0, width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const [kinds, faint] = [1, kFaint].map((share) => colors.kinds.map((color) => 0xff000000 | mixColors(pixelColor(colors.background), pixelColor(color), share)));
  for (const place of items) {
    const x0 = Math.max(0, Math.round(place.x * scale + left));
    const x1 = Math.min(width, Math.max(Math.round((place.x + place.width) * scale + left), x0 + 1));
    const y0 = Math.max(0, Math.round(place.y * scale + top));
    const y1 = Math.min(height, Math.max(Math.round((place.y + place.height) * scale + top), y0 + 1));
    const color = (found !== null && !found.has(place.item) ? faint : kinds)[kindOf(scene, place.item)];
    for (let y = y0; y < y1; ++y) for (let x = y * width + x0; x < y * width + x1; ++x) pixels[x] = color;
  }
  context.putImageData(image, 0, 0);
}

function paintItem(context, scene, place, {colors, scale, found}) {
  const {item} = place;
  const box = scene.isBox(item);
  const kind = kindOf(scene, item);
  const strength = found !== null && !found.has(item) ? kFaint : 1;
  context.fillStyle = colors.kinds[kind];
  if (box) {
    // More sheets behind it: there is more inside, several times the same in a fold.
    for (const shift of scene.isFold(item) ? [9, 6, 3] : [4]) {
      roundRect(context, {x: place.x + shift, y: place.y + shift, width: place.width, height: place.height}, 8);
      context.globalAlpha = (scene.isFold(item) ? 0.25 : 0.35) * strength;
      context.fill();
    }
  }
  context.globalAlpha = strength;
  roundRect(context, place, kind === kTensorNode ? place.height / 2 : box ? 8 : 4);
  context.fill();
  if (box && scene.boxCommunications[item] > 0) {
    context.fillStyle = colors.red;
    context.fillRect(place.x, place.y + place.height - 8, place.width, 6);
  }
  if (scale >= kReadableText) paintTexts(context, scene, place, colors.onKind, box, kind);
  context.globalAlpha = 1;
}

function paintTexts(context, scene, place, color, box, kind) {
  const lines = scene.textsOf(place.item, () => {
    const texts = box ? boxLines(scene, place.item) : nodeLines(scene.data, place.item - scene.data.boxCount);
    return texts.map((line, i) => {
      context.font = fontOf(i);
      return clipped(context, line, place.width - (kind === kTensorNode ? 24 : 12), box ? 44 : 28);
    });
  });
  context.fillStyle = color;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  const height = box ? 17 : 15;
  let y = place.y + place.height / 2 - (lines.length - 1) * height / 2;
  for (let i = 0; i < lines.length; ++i) {
    context.font = fontOf(i);
    context.fillText(lines[i], place.x + place.width / 2, y);
    y += height;
  }
}

function fontOf(line) {
  return line === 0 ? '600 13px system-ui, sans-serif' : '11px system-ui, sans-serif';
}

export function roundRect(context, place, radius) {
  context.beginPath();
  context.roundRect(place.x, place.y, place.width, place.height, radius);
}

/** A text of at most so many characters that is narrower than `width`. */
function clipped(context, text, width, most) {
  let line = oneLine(text, most);
  for (let length = most; context.measureText(line).width > width && length > 4; length = Math.floor(length * 0.8)) line = oneLine(text, length);
  return line;
}

function nodeLines(data, node) {
  const what = data.texts.text(data.what[node]);
  const name = data.nameOf(node);
  const figures = [];
  if (data.flops[node] > 1) figures.push(formatAmount(data.flops[node], 'FLOP'));
  else if (data.bytes[node] >= 0) figures.push(formatBytes(data.bytes[node]));
  if (data.time[node] > 0) figures.push(formatTime(data.time[node]));
  if (data.kind[node] === kTensorNode)
    return [shortName(name), [data.texts.text(data.shape[node]), what].filter(Boolean).join(' ')].filter(Boolean);
  return [what || shortName(name), figures.join(', ')].filter(Boolean);
}

function boxLines(scene, box) {
  const counts = [];
  if (scene.boxOps[box]) counts.push(formatCount(scene.boxOps[box]) + (scene.boxOps[box] === 1 ? ' operation' : ' operations'));
  if (scene.boxCommunications[box]) counts.push(formatCount(scene.boxCommunications[box]) + ' comm.');
  const figures = [];
  if (scene.boxFlops[box] > 1) figures.push(formatAmount(scene.boxFlops[box], 'FLOP'));
  if (scene.boxSent[box] > 0) figures.push(formatBytes(scene.boxSent[box]) + ' sent');
  if (scene.boxTime[box] > 0) figures.push(formatTime(scene.boxTime[box]));
  return ['\u25b8 ' + scene.titleOf(box), counts.join(', '), figures.join(', ')].filter(Boolean);
}

/** The end of a long name: what differs between neighbours. @param {string} name */
function shortName(name) {
  const parts = name.slice(-200).split('.');
  return parts.length > 2 ? parts.slice(-2).join('.') : name;
}
