// Plans by time and money as SVG: points, and the front as a line of steps. The nearest point to the mouse is marked.
import {element} from './dom.js';
import {formatTime} from './format.js';
import {axisTicks, svgElement} from './svg.js';

const kParetoLeft = 78;
const kParetoRight = 18;
const kParetoTop = 14;
const kParetoBottom = 46;
const kCatchRadius = 28;

/** Simulated where the plan was simulated. @param {any} plan @returns {number} nanoseconds */
export function timeOfPlan(plan) {
  return plan.simulated_ns ?? plan.estimated_ns;
}

/** Three figures: "0.0189 $", "1,204 $". @param {number} amount */
export function dollarText(amount) {
  return (amount >= 1000 ? Math.round(amount).toLocaleString('en-US') : String(Number(amount.toPrecision(3)))) + '\u202f$';
}

/** One axis: a value as a place between two pixels. */
class ParetoScale {
  /** @param {number[]} values @param {number} from @param {number} to @param {boolean} logarithmic */
  constructor(values, from, to, logarithmic) {
    let least = Infinity, most = -Infinity;
    for (const value of values) {
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    this.logarithmic = logarithmic && least > 0;
    const room = this.logarithmic ? Math.max(1.02, (most / least) ** 0.05) : Math.max(most - least, most * 0.02) * 0.06;
    this.least = this.logarithmic ? least / room : Math.max(0, least - room);
    this.most = this.logarithmic ? most * room : most + room;
    this.from = from;
    this.to = to;
  }

  /** @param {number} value */
  place(value) {
    const share = this.logarithmic ? Math.log(value / this.least) / Math.log(this.most / this.least) : (value - this.least) / (this.most - this.least);
    return this.from + (this.to - this.from) * share;
  }

  ticks() {
    return axisTicks(this.least, this.most, this.logarithmic);
  }
}

export class ParetoPlot {
  /**
   * @param {{plans: any[], front: any[], show: (plan: any | null, x: number, y: number) => void, copy: (plan: any) => void}} options
   */
  constructor(options) {
    this.plans = options.plans;
    this.front = options.front;
    this.show = options.show;
    this.copy = options.copy;
    this.money = '';
    this.moneyName = '';
    this.behind = true;
    const times = this.plans.map(timeOfPlan);
    const costs = this.plans.map((plan) => plan.dollars_per_million_tokens);
    this.logarithmic = Math.max(...times) / Math.min(...times) > 4 || Math.max(...costs) / Math.min(...costs) > 4;
    /** @type {any | null} */
    this.marked = null;
    /** @type {(plan: any | null) => void} */
    this.onMark = () => {};
    this.holder = element('div', {class: 'pareto', id: 'pareto'});
    this.holder.addEventListener('mousemove', (event) => this.hover(event));
    this.holder.addEventListener('mouseleave', () => this.mark(null));
    this.holder.addEventListener('click', (event) => {
      this.hover(event);
      if (this.marked !== null) this.copy(this.marked);
    });
  }

  /** @param {string} key @param {string} name */
  setMoney(key, name) {
    this.money = key;
    this.moneyName = name;
    this.draw();
  }

  /** @param {boolean} on */
  setLogarithmic(on) {
    this.logarithmic = on;
    this.draw();
  }

  /** @param {boolean} on */
  setBehind(on) {
    this.behind = on;
    this.draw();
  }

  shown() {
    return this.behind ? this.plans : this.front;
  }

  draw() {
    const width = Math.max(320, this.holder.clientWidth);
    const height = Math.max(280, Math.min(620, innerHeight * 0.6));
    const shown = this.shown();
    this.x = new ParetoScale(shown.map(timeOfPlan), kParetoLeft, width - kParetoRight, this.logarithmic);
    this.y = new ParetoScale(shown.map((plan) => plan[this.money]), height - kParetoBottom, kParetoTop, this.logarithmic);
    const {x, y} = this;
    const svg = svgElement('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `Time of a step against ${this.moneyName}`});
    let last = -Infinity;
    for (const tick of x.ticks()) {
      const place = x.place(tick);
      svg.append(svgElement('line', {x1: place, x2: place, y1: kParetoTop, y2: height - kParetoBottom, class: 'grid'}));
      if (place - last < 64) continue;
      last = place;
      svg.append(svgElement('text', {x: place, y: height - kParetoBottom + 18, class: 'tick middle'}, formatTime(tick)));
    }
    for (const tick of y.ticks())
      svg.append(svgElement('line', {x1: kParetoLeft, x2: width - kParetoRight, y1: y.place(tick), y2: y.place(tick), class: 'grid'}),
          svgElement('text', {x: kParetoLeft - 8, y: y.place(tick) + 4, class: 'tick end'}, dollarText(tick)));
    svg.append(svgElement('text', {x: (kParetoLeft + width) / 2, y: height - 8, class: 'axis middle'}, 'time of a step'),
        svgElement('text', {x: 14, y: (height - kParetoBottom) / 2, class: 'axis middle', transform: `rotate(-90 14 ${(height - kParetoBottom) / 2})`}, this.moneyName));
    const cloud = svgElement('g', {class: 'cloud'});
    for (const plan of shown) if (!plan.front) cloud.append(svgElement('circle', {cx: x.place(timeOfPlan(plan)), cy: y.place(plan[this.money]), r: 3}));
    svg.append(cloud);
    this.drawFront(svg);
    this.ring = svgElement('circle', {r: 9, class: 'ring', cx: -100, cy: -100});
    svg.append(this.ring);
    this.holder.replaceChildren(svg);
    if (this.marked !== null) this.mark(this.marked);
  }

  /** Steps: what can be had for less money than the next point takes as long as this one. @param {Node} svg */
  drawFront(svg) {
    const points = this.front.map((plan) => [this.x.place(timeOfPlan(plan)), this.y.place(plan[this.money])]);
    let path = '';
    points.forEach(([x, y], place) => {
      path += place === 0 ? `M${x} ${y}` : `H${x}V${y}`;
    });
    svg.appendChild(svgElement('path', {d: path, class: 'front-line'}));
    points.forEach(([x, y], place) => {
      const dot = svgElement('circle', {cx: x, cy: y, r: 5.5, class: 'front-dot', tabindex: 0, role: 'button',
        'aria-label': `${formatTime(timeOfPlan(this.front[place]))}, ${dollarText(this.front[place][this.money])}: ${this.front[place].summary}`});
      dot.addEventListener('focus', () => this.mark(this.front[place]));
      dot.addEventListener('keydown', (event) => {
        if (/** @type {KeyboardEvent} */ (event).key === 'Enter') this.copy(this.front[place]);
      });
      svg.appendChild(dot);
    });
  }

  /** @param {MouseEvent} event */
  hover(event) {
    const {left, top} = this.holder.getBoundingClientRect();
    let best = null, distance = kCatchRadius ** 2;
    for (const plan of this.shown()) {
      const dx = this.x.place(timeOfPlan(plan)) - (event.clientX - left), dy = this.y.place(plan[this.money]) - (event.clientY - top);
      // Of two that are about as near, the one on the front.
      const square = (dx * dx + dy * dy) * (plan.front ? 0.5 : 1);
      if (square < distance) {
        distance = square;
        best = plan;
      }
    }
    this.mark(best);
  }

  /** @param {any | null} plan */
  mark(plan) {
    this.marked = plan;
    this.onMark(plan);
    const x = plan === null ? -100 : this.x.place(timeOfPlan(plan)), y = plan === null ? -100 : this.y.place(plan[this.money]);
    this.ring.setAttribute('cx', String(x));
    this.ring.setAttribute('cy', String(y));
    this.show(plan, x, y);
  }

  /** Along the front. @param {number} by */
  step(by) {
    const at = this.front.indexOf(this.marked);
    this.mark(this.front[Math.max(0, Math.min(this.front.length - 1, at < 0 ? (by > 0 ? 0 : this.front.length - 1) : at + by))]);
  }
}
