// SPDX-License-Identifier: GPL-3.0-or-later
// What a solver did in one step, drawn on canvases: the residual over its iterations, and where each row of its problems ended.
import { brief } from '../data';
import { h } from '../dom';
import { ink, onTheme } from '../theme';
import { EVENT, ROW } from './module';

const LOW = -16, HIGH = 2; // decades of the residual

export class Chart {
  canvas: HTMLCanvasElement;
  private again: (() => void) | null = null;
  constructor(className: string, private name: string) {
    this.canvas = h('canvas', { class: className, role: 'img', 'aria-label': name });
    onTheme(() => this.again?.());
  }
  // pen in CSS pixels
  protected begin(): { c: CanvasRenderingContext2D; w: number; high: number } | null {
    const { canvas } = this, w = canvas.clientWidth, high = canvas.clientHeight, ratio = Math.min(2, devicePixelRatio);
    if (w === 0) return null;
    if (canvas.width !== Math.round(w * ratio)) canvas.width = Math.round(w * ratio);
    if (canvas.height !== Math.round(high * ratio)) canvas.height = Math.round(high * ratio);
    const c = canvas.getContext('2d')!;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, w, high);
    c.font = '11px system-ui, sans-serif';
    return { c, w, high };
  }
  protected tell(words: string) {
    this.canvas.setAttribute('aria-label', `${this.name}: ${words}`);
  }
  protected keep(f: () => void) {
    this.again = f;
  }
}

// Residuals of the problems of a step, each a line over its iterations. Methods that compute none in between (pivoting) have
// their iterations as marks on the lower edge.
export class Residuals extends Chart {
  constructor() {
    super('live-residuals', 'residual over iterations of this step');
  }
  draw(events: Float64Array, n: number, seen: number, last: number) {
    const copy = events.slice(0, n * EVENT);
    this.keep(() => this.paint(copy, n, seen, last));
    this.paint(copy, n, seen, last);
  }
  private paint(e: Float64Array, n: number, seen: number, last: number) {
    const at = this.begin();
    if (!at) return;
    const { c, w, high } = at, left = 34, bottom = high - 16, y = (v: number) => 6 + ((HIGH - Math.max(LOW, Math.min(HIGH, Math.log10(v)))) / (HIGH - LOW)) * (bottom - 6);
    let most = 1, known = 0;
    const lines = new Map<number, [number, number][]>(), bare: number[] = [];
    for (let i = 0; i < n; i++) {
      const [problem, , residual] = e.subarray(i * EVENT, i * EVENT + 3), line = lines.get(problem) ?? [];
      lines.set(problem, line);
      const k = line.length + 1;
      line.push([k, residual]);
      most = Math.max(most, k);
      if (residual > 0) known++;
      else bare.push(k);
    }
    const x = (k: number) => left + (k / Math.max(most, 4)) * (w - left - 8);
    c.strokeStyle = ink('line');
    c.fillStyle = ink('soft');
    c.lineWidth = 1;
    for (let d = LOW; d <= 0; d += 4) {
      c.beginPath();
      c.moveTo(left, y(10 ** d));
      c.lineTo(w - 8, y(10 ** d));
      c.stroke();
      c.fillText(d === 0 ? '1' : `1e${d}`, 2, y(10 ** d) + 4);
    }
    c.textAlign = 'right';
    c.fillText(n === 0 ? 'no iterations' : seen > n ? `the first ${n} of ${seen} iterations` : lines.size === 1 ? `${most} ${most === 1 ? 'iteration' : 'iterations'}` : `${n} iterations of ${lines.size} problems`, w - 8, high - 3);
    c.textAlign = 'left';
    c.strokeStyle = c.fillStyle = ink('accent');
    c.lineWidth = 1.6;
    for (const line of lines.values()) {
      c.beginPath();
      let first = true;
      for (const [k, r] of line) {
        if (!(r > 0)) continue;
        if (first) c.moveTo(x(k), y(r));
        else c.lineTo(x(k), y(r));
        first = false;
      }
      c.stroke();
    }
    for (const k of bare) c.fillRect(x(k) - 1, bottom - 5, 2, 5);
    this.tell(n === 0 ? 'none' : `${seen} iterations in ${lines.size} problems${known > 0 && Number.isFinite(last) ? `, the last residual is ${last.toPrecision(2)}` : ''}`);
  }
}

export type Sets = { open: number; active: number; limit: number };

// Where each row ended: at a bound without a force, between its bounds, or at a limit with a force (friction that slides).
export class Rows extends Chart {
  constructor() {
    super('live-rows', 'rows of the contact problems');
  }
  draw(rows: Float64Array, n: number): Sets {
    const states = new Uint8Array(n), sets: Sets = { open: 0, active: 0, limit: 0 };
    for (let i = 0; i < n; i++) {
      const lambda = rows[i * ROW + 1], lo = rows[i * ROW + 3], hi = rows[i * ROW + 4], size = 1e-12 * (1 + Math.abs(lambda));
      const bound = lambda <= lo + size || lambda >= hi - size;
      states[i] = !bound ? 1 : Math.abs(lambda) <= size ? 0 : 2;
      if (states[i] === 0) sets.open++;
      else if (states[i] === 1) sets.active++;
      else sets.limit++;
    }
    this.keep(() => this.paint(states));
    this.paint(states);
    this.tell(`${sets.active} between their bounds, ${sets.limit} at a limit, ${sets.open} at zero`);
    return sets;
  }
  private paint(states: Uint8Array) {
    const at = this.begin();
    if (!at) return;
    const { c, w, high } = at, n = states.length;
    let side = 14;
    while (side > 3 && Math.ceil(n / Math.max(1, Math.floor(w / side))) * side > high) side--;
    const across = Math.max(1, Math.floor(w / side)), colours = [ink('line'), ink('accent'), ink('mark')];
    for (let i = 0; i < n; i++) {
      const x = (i % across) * side, y = Math.floor(i / across) * side;
      c.fillStyle = colours[states[i]];
      if (states[i] === 0) {
        c.strokeStyle = ink('edge') || ink('soft');
        c.strokeRect(x + 1.5, y + 1.5, side - 4, side - 4);
      } else if (states[i] === 2) {
        c.beginPath();
        c.moveTo(x + 1, y + side - 2);
        c.lineTo(x + side / 2 - 0.5, y + 1);
        c.lineTo(x + side - 2, y + side - 2);
        c.fill();
      } else c.fillRect(x + 1, y + 1, side - 3, side - 3);
    }
  }
}

// A figure over the last seconds.
export class History extends Chart {
  private t: number[] = [];
  private v: number[] = [];
  constructor(name: string, private unit: string) {
    super('live-history', name);
  }
  clear() {
    this.t = [];
    this.v = [];
  }
  add(t: number, v: number) {
    if (this.t.length > 0 && t <= this.t[this.t.length - 1]) return;
    this.t.push(t);
    this.v.push(v);
    if (this.t.length > 600) {
      this.t.shift();
      this.v.shift();
    }
  }
  draw() {
    const at = this.begin(), { t, v } = this;
    if (!at || t.length < 2) return;
    this.keep(() => this.draw());
    const { c, w, high } = at, finite = v.filter(Number.isFinite), lo = Math.min(...finite), hi = Math.max(...finite), span = Math.max(hi - lo, 1e-9 * Math.max(Math.abs(lo), Math.abs(hi))) || 1; // less than that is rounding
    c.strokeStyle = ink('accent');
    c.lineWidth = 1.5;
    c.beginPath();
    t.forEach((time, i) => {
      const x = ((time - t[0]) / (t[t.length - 1] - t[0])) * (w - 4) + 2, y = high - 3 - ((v[i] - lo) / span) * (high - 6);
      if (i === 0) c.moveTo(x, y);
      else c.lineTo(x, y);
    });
    c.stroke();
    c.fillStyle = ink('soft');
    c.fillText(brief(hi), 4, 12);
    if (brief(lo) !== brief(hi)) c.fillText(brief(lo), 4, high - 5);
    c.textAlign = 'right';
    c.fillText(`${brief(t[t.length - 1] - t[0])} s`, w - 4, high - 5);
    c.textAlign = 'left';
    this.tell(`now ${v[v.length - 1].toPrecision(3)} ${this.unit}, between ${lo.toPrecision(3)} and ${hi.toPrecision(3)} over the last ${(t[t.length - 1] - t[0]).toPrecision(2)} s`);
  }
}
