// The page of `nadi tune report`: history, importance, slices, contour, parallel coordinates, timeline and the trials.
import {element, oneLine} from './dom.js';
import {formatCount, formatTime} from './format.js';
import {pageHead, readBlock} from './page_data.js';
import {copyLinkButton, link, linkedNumber} from './page_link.js';
import {offerSaves} from './page_saves.js';
import {helpDialog, isTyping, openShell, showFailure} from './shell.js';
import {toggleTheme} from './theme.js';
import {figureText, parameterAxis, rangeOf, shadeOf, shareBars, TuneAxis, tuneDots, tuneFrame, tuneShape} from './tune_plots.js';

const kMostRows = 500;

/** What the page knows of the study. */
class StudyView {
  /** @param {any} data */
  constructor(data) {
    this.data = data;
    this.objective = 0;
    for (const trial of data.trials) {
      trial.values = trial.values.map(figureOf);
      trial.intermediate = trial.intermediate.map(([step, value]) => [step, figureOf(value)]);
    }
    this.complete = data.trials.filter((trial) => trial.state === 'complete' && trial.values.length === data.objectives.length);
  }

  get maximize() {
    return this.data.objectives[this.objective].maximize;
  }

  get name() {
    return this.data.objectives[this.objective].name;
  }

  /** @param {any} trial */
  value(trial) {
    return trial.values[this.objective];
  }

  /** @param {number} a @param {number} b */
  better(a, b) {
    return this.maximize ? a > b : a < b;
  }

  best() {
    let best = null;
    for (const trial of this.complete) if (best === null || this.better(this.value(trial), this.value(best))) best = trial;
    return best;
  }

  /** 1 for the best, 0 for the worst, by rank: one bad trial does not make all others equal. Of equal ones the first is better. */
  shares() {
    const sign = this.maximize ? 1 : -1;
    const sorted = [...this.complete].sort((a, b) => sign * (this.value(a) - this.value(b)) || b.number - a.number);
    const shares = new Map();
    sorted.forEach((trial, place) => shares.set(trial.number, sorted.length < 2 ? 1 : place / (sorted.length - 1)));
    return shares;
  }

  valueRange() {
    return rangeOf(this.complete.map((trial) => this.value(trial)));
  }
}

/** @param {number | string | null} value */
function figureOf(value) {
  return value === 'inf' ? Infinity : value === '-inf' ? -Infinity : value === null ? NaN : Number(value);
}

/** @param {number | null} seconds */
function secondsText(seconds) {
  return seconds === null ? '' : formatTime(seconds * 1e9);
}

/** @param {string} id @param {string} title @param {string} note @param {...(Node|null)} children */
function part(id, title, note, ...children) {
  return element('section', {class: 'part', id}, element('h2', null, title), note === '' ? null : element('p', {class: 'note'}, note), ...children);
}

class TunePage {
  /** @param {any} data @param {HTMLElement} main */
  constructor(data, main) {
    this.study = new StudyView(data);
    this.data = data;
    this.main = main;
    this.card = element('div', {class: 'trial-card', hidden: true, role: 'tooltip'});
    this.pair = [0, Math.min(1, data.parameters.length - 1)];
    const order = data.parameters.map((_, at) => at).sort((a, b) => (data.parameters[b].importance[0] ?? 0) - (data.parameters[a].importance[0] ?? 0));
    if (order.length > 1) this.pair = [order[0], order[1]];
    ['x', 'y'].forEach((name, place) => {
      const given = linkedNumber(name);
      if (given !== null && Number.isInteger(given) && given >= 0 && given < data.parameters.length) this.pair[place] = given;
    });
  }

  draw() {
    const width = Math.max(320, Math.min(1240, this.main.clientWidth - 36));
    const parts = [this.headline(), this.history(width), this.front(width), this.importance(), this.slices(width), this.contour(width),
      this.parallel(width), this.intermediate(width), this.timeline(width), this.table(), this.card];
    this.main.replaceChildren(...parts.filter((each) => each !== null));
    offerSaves(this.main);
  }

  /** @param {any | null} trial @param {MouseEvent | null} event */
  show(trial, event) {
    this.card.hidden = trial === null;
    if (trial === null || event === null) return;
    const facts = [['setting', trial.setting], ...trial.values.map((value, at) => [this.data.objectives[at].name, figureText(value)]),
      ['state', trial.outcome === '' ? trial.state : trial.outcome], ['reason', trial.reason], ['role', trial.role],
      ['took', secondsText(trial.seconds)]].filter(([, text]) => text !== '');
    this.card.replaceChildren(element('p', {class: 'card-head'}, `Trial ${trial.number}` + (!trial.best ? '' : this.data.objectives.length > 1 ? ', on the front' : ', the best')),
        element('table', null, element('tbody', null, ...facts.map(([name, text]) => element('tr', null, element('th', {scope: 'row'}, name), element('td', {class: 'name'}, oneLine(text, 240)))))));
    const {offsetWidth: width} = this.card;
    const x = event.pageX + 16 + width > document.documentElement.clientWidth ? event.pageX - 16 - width : event.pageX + 16;
    this.card.style.left = Math.max(4, x) + 'px';
    this.card.style.top = event.pageY + 12 + 'px';
  }

  headline() {
    const {study, data} = this;
    const best = study.best();
    const baseline = data.trials.find((trial) => trial.number === data.baseline && trial.state === 'complete');
    const count = (state) => data.trials.filter((trial) => trial.state === state).length;
    const cards = [];
    const cardOf = (id, title, big, ...lines) => cards.push(element('div', {class: 'card', id}, element('h3', null, title), element('p', {class: 'big'}, big), ...lines.map((line) => element('p', null, line))));
    if (best !== null) cardOf('best', `best ${study.name}`, figureText(study.value(best)), `trial ${best.number}`, oneLine(best.setting, 300));
    if (best !== null && baseline !== undefined) {
      const change = (study.value(best) - study.value(baseline)) / Math.abs(study.value(baseline));
      if (Number.isFinite(change)) cardOf('gain', 'against the baseline', (change > 0 ? '+' : '') + (100 * change).toFixed(1) + '\u202f%', `baseline ${figureText(study.value(baseline))}, trial ${baseline.number}`);
    }
    const ends = data.trials.filter((trial) => trial.end !== null).map((trial) => trial.end);
    cardOf('counts', 'trials', formatCount(data.trials.length), `${count('complete')} complete, ${count('pruned')} pruned, ${count('fail')} failed`,
        ends.length > 0 ? `in ${secondsText(Math.max(...ends))}` : '');
    return element('section', {class: 'part', id: 'headline'}, element('h2', {class: 'visually-hidden'}, 'Summary'), element('div', {class: 'cards'}, ...cards),
        data.command === '' ? null : element('div', {class: 'command'}, element('h3', null, 'The best command'), element('pre', {id: 'command'}, data.command)),
        ...data.notes.map((note) => element('p', {class: 'note'}, note)));
  }

  /** @param {number} width */
  history(width) {
    const {study, data} = this;
    const shown = study.complete.filter((trial) => Number.isFinite(study.value(trial)));
    const {svg, x, y} = tuneFrame({width, height: 320, label: `${study.name} of each trial`, xName: 'trial', yName: study.name,
      x: (from, to) => new TuneAxis({from, to, least: -0.5, most: Math.max(1, data.trials.length - 0.5)}),
      y: (from, to) => new TuneAxis({from, to, ...study.valueRange()})});
    let path = '', best = null;
    for (const trial of [...shown].sort((a, b) => a.number - b.number)) {
      if (best !== null && !study.better(study.value(trial), best)) continue;
      best = study.value(trial);
      path += path === '' ? `M${x.place(trial.number)} ${y.place(best)}` : `H${x.place(trial.number)}V${y.place(best)}`;
    }
    if (path !== '') svg.append(tuneShape('path', {d: path + `H${x.place(data.trials.length - 1)}`, class: 'best-line'}));
    for (const trial of data.trials) {
      if (trial.state !== 'pruned' && trial.state !== 'fail') continue;
      const mark = tuneShape('path', {d: `M${x.place(trial.number) - 3} ${309 - 35}l6 6m0 -6l-6 6`, class: 'lost ' + trial.state, 'data-trial': trial.number});
      mark.addEventListener('mouseenter', (event) => this.show(trial, /** @type {MouseEvent} */ (event)));
      mark.addEventListener('mouseleave', () => this.show(null, null));
      svg.append(mark);
    }
    tuneDots(svg, shown.map((trial) => ({trial, x: x.place(trial.number), y: y.place(study.value(trial)), class: 'plain'})), (trial, event) => this.show(trial, event));
    return part('history', 'History', 'Each trial, and the best so far. Crosses at the bottom: pruned and failed ones.', element('div', {class: 'plot'}, svg));
  }

  /** @param {number} width */
  front(width) {
    const {study, data} = this;
    if (data.objectives.length < 2) return null;
    const [first, second] = data.objectives;
    const {svg, x, y} = tuneFrame({width, height: 340, label: `${first.name} against ${second.name}`, xName: first.name, yName: second.name,
      x: (from, to) => new TuneAxis({from, to, ...rangeOf(study.complete.map((trial) => trial.values[0]))}),
      y: (from, to) => new TuneAxis({from, to, ...rangeOf(study.complete.map((trial) => trial.values[1]))})});
    tuneDots(svg, study.complete.map((trial) => ({trial, x: x.place(trial.values[0]), y: y.place(trial.values[1]), class: trial.best ? 'on-front' : 'plain'})), (trial, event) => this.show(trial, event));
    return part('front', 'Front', 'Large dots: no other trial is better in both.', element('div', {class: 'plot'}, svg));
  }

  importance() {
    const rows = this.data.parameters.filter((parameter) => parameter.importance[this.study.objective] !== null && parameter.importance[this.study.objective] !== undefined)
        .map((parameter) => ({name: parameter.name, share: parameter.importance[this.study.objective]})).sort((a, b) => b.share - a.share);
    if (rows.length === 0) return part('importance', 'Importance', 'Too few complete trials to tell.');
    return part('importance', 'Importance', `How much of the differences in ${this.study.name} each parameter explains.`, shareBars(rows));
  }

  /** @param {number} width */
  slices(width) {
    const {study} = this;
    const columns = Math.max(1, Math.min(this.data.parameters.length, Math.floor(width / 300)));
    const room = Math.floor(width / columns) - 10;
    const most = Math.max(1, this.data.trials.length - 1);
    const plots = this.data.parameters.map((parameter, at) => {
      const {svg, x, y} = tuneFrame({width: room, height: 230, label: `${study.name} by ${parameter.name}`, xName: parameter.name, yName: study.name,
        x: (from, to) => parameterAxis(parameter, from, to), y: (from, to) => new TuneAxis({from, to, ...study.valueRange()})});
      const dots = study.complete.filter((trial) => trial.point[at] !== null && Number.isFinite(study.value(trial))).map((trial) => ({trial, x: x.place(trial.point[at]), y: y.place(study.value(trial)), class: 'sliced'}));
      tuneDots(svg, dots, (trial, event) => this.show(trial, event));
      for (const dot of svg.querySelectorAll('.sliced:not(.best)')) /** @type {SVGElement} */ (dot).style.fillOpacity = String(0.35 + 0.65 * Number(dot.getAttribute('data-trial')) / most);
      return element('div', {class: 'plot slice', 'data-parameter': parameter.name}, svg);
    });
    return part('slices', 'Slices', 'Each parameter against the value; the later a trial, the stronger its colour.', element('div', {class: 'slices'}, ...plots));
  }

  /** @param {number} width */
  contour(width) {
    const {study, data} = this;
    if (data.parameters.length < 2) return null;
    const [a, b] = this.pair;
    const choose = (place) => {
      const select = /** @type {HTMLSelectElement} */ (element('select', {id: `contour-${place}`, 'aria-label': place === 0 ? 'Across' : 'Upwards', onchange: () => {
        this.pair[place] = Number(select.value);
        link({[place === 0 ? 'x' : 'y']: select.value});
        this.draw();
        document.getElementById(`contour-${place}`)?.focus();
      }}, ...data.parameters.map((parameter, at) => element('option', {value: at, selected: at === this.pair[place]}, parameter.name))));
      return select;
    };
    const {svg, x, y} = tuneFrame({width: Math.min(width, 820), height: 420, label: `${study.name} over ${data.parameters[a].name} and ${data.parameters[b].name}`,
      xName: data.parameters[a].name, yName: data.parameters[b].name,
      x: (from, to) => parameterAxis(data.parameters[a], from, to), y: (from, to) => parameterAxis(data.parameters[b], from, to)});
    const shares = study.shares();
    const dots = study.complete.filter((trial) => trial.point[a] !== null && trial.point[b] !== null)
        .map((trial) => ({trial, x: x.place(trial.point[a]), y: y.place(trial.point[b]), share: shares.get(trial.number), class: 'over'}));
    this.shadeContour(svg, x, y, dots);
    tuneDots(svg, dots, (trial, event) => this.show(trial, event));
    return part('contour', 'Contour', 'The stronger the colour, the better, by rank; between trials the shade is a mean of those near by, weighted by distance.',
        element('p', {class: 'choices'}, 'across ', choose(0), ' upwards ', choose(1)), element('div', {class: 'plot'}, svg));
  }

  /** Cells shaded by the trials near them. @param {SVGElement} svg @param {TuneAxis} x @param {TuneAxis} y @param {any[]} dots */
  shadeContour(svg, x, y, dots) {
    if (dots.length === 0) return;
    const cells = tuneShape('g', {class: 'cells'});
    const across = x.choices.length > 0 ? x.choices.length : 36, upwards = y.choices.length > 0 ? y.choices.length : 24;
    const w = (x.to - x.from) / across, h = (y.from - y.to) / upwards;
    for (let i = 0; i < across; ++i)
      for (let j = 0; j < upwards; ++j) {
        const cx = x.from + (i + 0.5) * w, cy = y.to + (j + 0.5) * h;
        let sum = 0, weights = 0;
        for (const dot of dots) {
          const weight = 1 / (((dot.x - cx) / (x.to - x.from)) ** 2 + ((dot.y - cy) / (y.from - y.to)) ** 2 + 1e-4) ** 1.5;
          sum += weight * dot.share;
          weights += weight;
        }
        cells.append(tuneShape('rect', {x: x.from + i * w, y: y.to + j * h, width: w + 0.5, height: h + 0.5, fill: shadeOf(sum / weights)}));
      }
    svg.prepend(cells);
  }

  /** @param {number} width */
  parallel(width) {
    const {study, data} = this;
    const height = 340, top = 34, bottom = height - 16;
    const axes = data.parameters.map((parameter) => ({name: parameter.name, axis: parameterAxis(parameter, bottom, top)}));
    const value = {name: study.name, axis: new TuneAxis({from: bottom, to: top, ...study.valueRange()})};
    const all = [...axes, value];
    const svg = tuneShape('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Parameters of all trials in parallel'});
    const left = 30, right = width - 60;
    const place = (at) => all.length < 2 ? left : left + (right - left) * at / (all.length - 1);
    const shares = study.shares();
    for (const trial of [...study.complete].sort((p, q) => shares.get(p.number) - shares.get(q.number))) {
      if (!Number.isFinite(study.value(trial))) continue;
      let path = '', gap = true;
      all.forEach(({axis}, at) => {
        const own = at < axes.length ? trial.point[at] : study.value(trial);
        if (own === null) {
          gap = true;
          return;
        }
        path += `${gap ? 'M' : 'L'}${place(at)} ${axis.place(own)}`;
        gap = false;
      });
      const line = tuneShape('path', {d: path, class: 'strand' + (trial.best ? ' best' : ''), stroke: shadeOf(shares.get(trial.number)), 'data-trial': trial.number});
      line.addEventListener('mouseenter', (event) => this.show(trial, /** @type {MouseEvent} */ (event)));
      line.addEventListener('mouseleave', () => this.show(null, null));
      svg.append(line);
    }
    all.forEach(({name, axis}, at) => {
      svg.append(tuneShape('line', {x1: place(at), x2: place(at), y1: top, y2: bottom, class: 'parallel-axis'}),
          tuneShape('text', {x: place(at), y: at % 2 === 0 ? 12 : 26, class: 'axis middle'}, oneLine(name, 22)));
      for (const [tick, text] of axis.ticks()) svg.append(tuneShape('text', {x: place(at) + 5, y: axis.place(tick) + 4, class: 'tick'}, oneLine(text, 12)));
    });
    return part('parallel', 'Parallel coordinates', 'A line for each complete trial; the stronger its colour, the better.', element('div', {class: 'plot'}, svg));
  }

  /** @param {number} width */
  intermediate(width) {
    const {study, data} = this;
    const lines = data.trials.filter((trial) => trial.intermediate.length > 1);
    if (lines.length === 0) return null;
    const steps = lines.flatMap((trial) => trial.intermediate.map(([step]) => step));
    const {svg, x, y} = tuneFrame({width, height: 280, label: `${study.data.objectives[0].name} while trials ran`, xName: 'step', yName: data.objectives[0].name,
      x: (from, to) => new TuneAxis({from, to, ...rangeOf(steps)}),
      y: (from, to) => new TuneAxis({from, to, ...rangeOf(lines.flatMap((trial) => trial.intermediate.map(([, value]) => value)))})});
    for (const trial of lines) {
      const known = trial.intermediate.filter(([, value]) => Number.isFinite(value));
      const line = tuneShape('path', {d: known.map(([step, value], at) => `${at === 0 ? 'M' : 'L'}${x.place(step)} ${y.place(value)}`).join(''), class: 'course ' + trial.state + (trial.best ? ' best' : ''), 'data-trial': trial.number});
      line.addEventListener('mouseenter', (event) => this.show(trial, /** @type {MouseEvent} */ (event)));
      line.addEventListener('mouseleave', () => this.show(null, null));
      svg.append(line);
    }
    return part('courses', 'Intermediate values', 'What trials reported while they ran; dashed ones were pruned.', element('div', {class: 'plot'}, svg));
  }

  /** @param {number} width */
  timeline(width) {
    const {data} = this;
    const runs = data.trials.filter((trial) => trial.begin !== null && trial.end !== null).sort((a, b) => a.begin - b.begin);
    if (runs.length === 0) return null;
    // Trials that overlap stand in rows of their own: as many rows as workers were busy at once.
    const ends = [];
    const rows = runs.map((trial) => {
      let row = ends.findIndex((end) => end <= trial.begin + 1e-6);
      if (row < 0) row = ends.push(0) - 1;
      ends[row] = trial.end;
      return row;
    });
    const height = 52 + 20 * ends.length;
    const {svg, x} = tuneFrame({width, height, label: 'When trials ran', xName: 'seconds since the first trial', yName: '',
      x: (from, to) => new TuneAxis({from, to, least: 0, most: Math.max(...ends)}), y: (from, to) => new TuneAxis({from, to, choices: ends.map((_, at) => String(ends.length - at))})});
    runs.forEach((trial, at) => {
      const bar = tuneShape('rect', {x: x.place(trial.begin), y: 14 + 20 * rows[at], width: Math.max(1, x.place(trial.end) - x.place(trial.begin) - 0.5), height: 15, class: 'run ' + trial.state + (trial.best ? ' best' : ''), 'data-trial': trial.number});
      bar.addEventListener('mouseenter', (event) => this.show(trial, /** @type {MouseEvent} */ (event)));
      bar.addEventListener('mouseleave', () => this.show(null, null));
      svg.append(bar);
    });
    return part('timeline', 'Timeline', '', element('div', {class: 'plot'}, svg));
  }

  table() {
    const {study, data} = this;
    const shares = study.shares();
    const order = [...data.trials].sort((a, b) => (shares.get(b.number) ?? -1) - (shares.get(a.number) ?? -1) || a.number - b.number);
    const head = ['trial', ...data.objectives.map((objective) => objective.name), ...data.parameters.map((parameter) => parameter.name), 'took', 'state', 'reason'];
    const rows = order.slice(0, kMostRows).map((trial) => element('tr', {'data-trial': trial.number, class: trial.best ? 'best' : null},
        element('td', {class: 'figure'}, trial.number),
        ...data.objectives.map((_, at) => element('td', {class: 'figure'}, trial.values.length > at ? figureText(trial.values[at]) : '')),
        ...data.parameters.map((parameter, at) => element('td', {class: 'figure'}, trial.point[at] === null ? '' : parameter.choices.length > 0 ? oneLine(parameter.choices[trial.point[at]], 40) : figureText(trial.point[at]))),
        element('td', {class: 'figure'}, secondsText(trial.seconds)),
        element('td', null, trial.outcome === '' ? trial.state : trial.outcome), element('td', {class: 'name'}, oneLine(trial.reason, 160))));
    return part('trials', 'Trials', order.length > kMostRows ? `The best ${kMostRows} of ${formatCount(order.length)}.` : 'Best first.',
        element('div', {class: 'table-place'}, element('table', {class: 'trials'},
            element('thead', null, element('tr', null, ...head.map((title, at) => element('th', {scope: 'col', class: at < head.length - 2 ? 'figure' : null}, title)))), element('tbody', null, ...rows))));
  }
}

async function openTune() {
  const {tools, main, footer} = openShell(pageHead());
  const data = JSON.parse(new TextDecoder().decode(await readBlock('study')));
  const page = new TunePage(data, main);
  if (data.objectives.length > 1) {
    const select = /** @type {HTMLSelectElement} */ (element('select', {id: 'objective', 'aria-label': 'Objective', onchange: () => {
      page.study.objective = Number(select.value);
      link({objective: select.value === '0' ? null : select.value});
      page.draw();
    }}, ...data.objectives.map((objective, at) => element('option', {value: at}, objective.name))));
    const given = linkedNumber('objective');
    if (given !== null && Number.isInteger(given) && given > 0 && given < data.objectives.length) {
      select.value = String(given);
      page.study.objective = given;
    }
    tools.append(select);
  }
  const help = helpDialog([['T', 'light or dark'], ['?', 'this list']]);
  tools.append(copyLinkButton(), element('button', {class: 'tool', type: 'button', onclick: () => help.showModal()}, 'Keys'));
  footer.textContent = `Nadi ${data.nadi_version}`;
  page.draw();
  addEventListener('resize', () => page.draw());
  addEventListener('keydown', (event) => {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.key === 't' || event.key === 'T') toggleTheme();
    else if (event.key === '?') help.showModal();
    else return;
    event.preventDefault();
  });
  document.documentElement.dataset.ready = 'true';
}

openTune().catch(showFailure);
