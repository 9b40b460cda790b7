// The page of `nadi plan --pareto`: plans by time and money, the front among them, and its table.
import {element, oneLine} from './dom.js';
import {formatBytes, formatCount, formatSpeed, formatTime} from './format.js';
import {pageHead, readBlock} from './page_data.js';
import {ParetoPlot, dollarText, timeOfPlan} from './pareto_plot.js';
import {copyLinkButton, link, linkedState} from './page_link.js';
import {offerSaves} from './page_saves.js';
import {copyText} from './save_file.js';
import {helpDialog, isTyping, openShell, showFailure} from './shell.js';
import {toggleTheme} from './theme.js';

const kMoneyAxes = [
  {key: 'dollars_per_million_tokens', name: '$ per million tokens'},
  {key: 'dollars_per_step', name: '$ per step'},
  {key: 'dollars_per_hour', name: '$ per hour'},
];

/** Copies a text, and says so for a moment. @param {string} text @param {HTMLElement} place */
async function copyAndTell(text, place) {
  await copyText(text);
  place.textContent = 'Copied: ' + oneLine(text, 160);
  place.classList.add('shown');
  clearTimeout(Number(place.dataset.timer));
  place.dataset.timer = String(setTimeout(() => place.classList.remove('shown'), 2500));
}

/** Rows of what is known of a plan. @param {any} plan @returns {Array<[string, string]>} */
function planFacts(plan) {
  const facts = [
    ['step', formatTime(timeOfPlan(plan)) + (plan.simulated_ns === null ? ' by estimate' : ' simulated')],
    ['estimate', formatTime(plan.estimated_ns)],
    ['cost', `${dollarText(plan.dollars_per_step)} per step, ${dollarText(plan.dollars_per_million_tokens)} per million tokens`],
    ['rent', `${dollarText(plan.dollars_per_hour)} per hour`],
    ['devices', `${formatCount(plan.devices)}: ${plan.nodes}`],
    ['speed', formatSpeed(plan.samples_per_second, 'samples/s')],
    ['memory', plan.capacity_bytes > 0 ? `${formatBytes(plan.memory_bytes)} of ${formatBytes(plan.capacity_bytes)}` : formatBytes(plan.memory_bytes)],
    ['plan', plan.summary],
  ];
  return plan.simulated_ns === null ? facts.filter(([name]) => name !== 'estimate') : facts;
}

/** @param {any[]} front @param {(plan: any) => void} copy @param {(plan: any | null) => void} point */
function frontTable(front, copy, point) {
  const hidden = (text) => element('span', {class: 'visually-hidden'}, text);
  const head = [hidden('place'), 'step', '$/1M tokens', '$/step', '$/h', 'devices', 'nodes', 'plan', hidden('flags')];
  const figures = new Set([0, 1, 2, 3, 4, 5]);
  const rows = front.map((plan, place) => {
    const cells = [place + 1, formatTime(timeOfPlan(plan)), dollarText(plan.dollars_per_million_tokens), dollarText(plan.dollars_per_step),
      dollarText(plan.dollars_per_hour), formatCount(plan.devices), oneLine(plan.nodes, 80), oneLine(plan.summary, 200)];
    const row = element('tr', {'data-place': place, onmouseenter: () => point(plan), onmouseleave: () => point(null)},
        ...cells.map((cell, column) => element('td', {class: figures.has(column) ? 'figure' : 'name'}, cell)),
        element('td', null, element('button', {class: 'tool', type: 'button', onclick: () => copy(plan), title: plan.flags}, 'Copy flags')));
    return row;
  });
  return element('table', {class: 'front-table', id: 'front'},
      element('thead', null, element('tr', null, ...head.map((title, column) => element('th', {scope: 'col', class: figures.has(column) ? 'figure' : null}, title)))),
      element('tbody', null, ...rows));
}

async function openPareto() {
  const head = pageHead();
  const {tools, main} = openShell(head);
  const data = JSON.parse(new TextDecoder().decode(await readBlock('plans')));
  const front = data.points.filter((plan) => plan.front).sort((a, b) => timeOfPlan(a) - timeOfPlan(b));
  const toast = element('p', {class: 'toast', role: 'status', 'aria-live': 'polite'});
  const card = element('div', {class: 'plan-card', hidden: true, role: 'tooltip'});
  const copy = (plan) => copyAndTell(plan.flags, toast);
  const showCard = (plan, x, y) => {
    card.hidden = plan === null;
    if (plan === null) return;
    card.replaceChildren(
        element('p', {class: 'plan-head'}, plan.front ? 'On the front' : 'Behind the front'),
        element('table', null, element('tbody', null, ...planFacts(plan).map(([name, text]) =>
          element('tr', null, element('th', {scope: 'row'}, name), element('td', {class: 'name'}, oneLine(text, 240)))))),
        element('p', {class: 'muted'}, 'Click to copy the flags'));
    const {offsetWidth: width, offsetHeight: height} = card;
    const room = /** @type {HTMLElement} */ (card.parentElement).clientWidth;
    card.style.left = Math.max(0, x + 18 + width > room ? x - 18 - width : x + 18) + 'px';
    card.style.top = Math.max(0, y - height / 2) + 'px';
  };
  const plot = new ParetoPlot({plans: data.points, front, show: showCard, copy});
  const table = frontTable(front, copy, (plan) => plot.mark(plan));
  plot.onMark = (plan) => {
    for (const row of table.querySelectorAll('tbody tr'))
      row.classList.toggle('marked', plan !== null && front[Number(/** @type {HTMLElement} */ (row).dataset.place)] === plan);
  };
  const given = linkedState();
  const setMoney = (key) => {
    plot.setMoney(key, kMoneyAxes.find((axis) => axis.key === key).name);
    link({money: key === kMoneyAxes[0].key ? null : key});
    offerSaves(main);
  };
  const money = /** @type {HTMLSelectElement} */ (element('select', {id: 'money', 'aria-label': 'What money is counted by', onchange: () => setMoney(money.value)},
      ...kMoneyAxes.map((axis) => element('option', {value: axis.key}, axis.name))));
  const press = (name, id, title, pressed, change) => {
    const button = element('button', {class: 'tool', type: 'button', id, title, 'aria-pressed': String(pressed), onclick: () => {
      const on = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(on));
      change(on);
    }}, name);
    return button;
  };
  const logarithmic = press('Log scale', 'log', 'Logarithmic axes (L)', plot.logarithmic, (on) => {
    plot.setLogarithmic(on);
    link({log: on ? 1 : 0});
    offerSaves(main);
  });
  const behind = press('Plans behind', 'behind', 'Show plans behind the front (B)', true, (on) => {
    plot.setBehind(on);
    link({behind: on ? null : 0});
    offerSaves(main);
  });
  const help = helpDialog([['L', 'logarithmic or linear axes'], ['B', 'show or hide plans behind the front'], ['← →', 'step along the front'],
    ['Enter', 'copy the flags of the plan'], ['T', 'light or dark'], ['?', 'this list']]);
  tools.append(money, logarithmic, behind, copyLinkButton(), element('button', {class: 'tool', type: 'button', onclick: () => help.showModal()}, 'Keys'));
  main.append(
      element('p', {class: 'note'}, `${formatCount(front.length)} plan${front.length === 1 ? ' is' : 's are'} on the front: no other is both faster and cheaper. `, oneLine(data.note, 300)),
      element('div', {class: 'plot-place'}, plot.holder, card),
      element('h2', null, 'The front'), element('div', {class: 'table-place'}, table), toast);
  money.value = kMoneyAxes.some((axis) => axis.key === given.get('money')) ? given.get('money') : kMoneyAxes[0].key;
  setMoney(money.value);
  if (given.has('log') && (given.get('log') === '1') !== plot.logarithmic) logarithmic.click();
  if (given.get('behind') === '0') behind.click();
  addEventListener('resize', () => {
    plot.draw();
    offerSaves(main);
  });
  addEventListener('keydown', (event) => {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.key === 'l' || event.key === 'L') logarithmic.click();
    else if (event.key === 'b' || event.key === 'B') behind.click();
    else if (event.key === 't' || event.key === 'T') toggleTheme();
    else if (event.key === '?') help.showModal();
    else if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') plot.step(event.key === 'ArrowRight' ? 1 : -1);
    else if (event.key === 'Enter' && plot.marked !== null && event.target === document.body) copy(plot.marked);
    else return;
    event.preventDefault();
  });
  document.documentElement.dataset.ready = 'true';
}

openPareto().catch(showFailure);
