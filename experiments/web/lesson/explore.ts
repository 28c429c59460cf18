// SPDX-License-Identifier: GPL-3.0-or-later
// Sliders over runs: those that the page contains, and between them runs that it computes.
import { floats, real } from '../data';
import { h, scroll, th } from '../dom';
import type { Module } from '../live/module';
import { axes, decode, draw, live } from './chart';
import { compute, withValue } from './compute';
import { brief, powers } from './words';

let counted = 0;

export function slider(name, values, start, changed) {
  const id = `slide-${++counted}`, out = h('output', { for: id }, values[start]);
  const input = h('input', { id, type: 'range', min: 0, max: values.length - 1, step: 1, value: start, 'aria-valuetext': values[start], oninput: () => {
    out.textContent = values[input.value];
    input.setAttribute('aria-valuetext', values[input.value]);
    changed(Number(input.value));
  } });
  return h('div', { class: 'slider' }, h('label', { for: id }, name), out, input);
}

function metrics(heads, numbers) {
  const labels = [...new Set(numbers.flatMap((column) => column.map((c) => c.label)))];
  const value = (column, label) => brief(real(column.find((c) => c.label === label)?.value), 3, 0);
  return scroll('Results of the run', h('table', { 'aria-label': 'Results of the run' },
    h('tr', {}, th(''), ...heads.map((t) => th(t, 'n'))),
    ...labels.map((label) => h('tr', {}, h('th', { class: 'row', scope: 'row' }, label), ...numbers.map((column) => h('td', { class: 'n' }, value(column, label)))))));
}

const BETWEEN = 4; // positions of a computed slider to one of the next stored run

// The positions of a slider: those of the stored runs, and with `fine` some between them.
function positions(s, fine: boolean) {
  const x: number[] = [...floats(s.x)], list: { text: string; value: number; stored: number }[] = [], whole = x.every(Number.isInteger) && !s.unit;
  x.forEach((v, i) => {
    list.push({ text: powers(s.values[i]), value: v, stored: i });
    if (!fine || i === x.length - 1) return;
    const next = x[i + 1], by = v > 0 && next / v > 1.4;
    for (let k = 1; k < BETWEEN; k++) {
      const f = k / BETWEEN, between = Number((by ? v * (next / v) ** f : v + (next - v) * f).toPrecision(3)), value = whole ? Math.round(between) : between;
      if (value > list[list.length - 1].value && value < next) list.push({ text: s.unit === 's' && value < 0.1 ? `${brief(1000 * value)} ms` : `${brief(value)}${s.unit && s.unit !== '-' ? ` ${s.unit}` : ''}`, value, stored: -1 });
    }
  });
  return list;
}

export function explore(section, e, solver: () => Promise<Module | null>) {
  const figures = e.at.map((p) => decode({ ...e.plot, ...p })), over = (e.over ?? []).map(decode), first = e.sliders[0];
  const names = [...new Set(figures.flatMap((f) => f.curves.map((c) => c.label)))];
  const ax = axes(figures), overAx = over.length ? axes(over) : null, log = e.plot.log ?? '';
  const left = h('figure', { class: 'live' }), right = h('figure', { class: 'live' }), table = h('div', { class: 'numbers', 'aria-live': 'polite' }), said = h('p', { class: 'note' }), controls = h('div', { class: 'controls' });
  let module: Module | null = null, list = e.sliders.map((s) => positions(s, false)), at = e.sliders.map((s) => Math.floor((s.values.length - 1) / 2)), turn = 0, shown = figures[0];

  // The figure and the numbers of a position by the module; null: it cannot, or another position is wanted by now.
  async function computed(here: { value: number }[]): Promise<any> {
    const mine = ++turn, runs = new Map<string, any>(), curves: any[] = [], numbers = e.metrics.map(() => [] as any[]);
    for (const c of e.curves) {
      const cell = e.sliders.reduce((now, s, k) => withValue(now, s.of, s.of === 'h' ? String(here[k].value) : `${here[k].value}${s.unit === 'deg' ? 'deg' : ''}`), c.run), key = JSON.stringify(cell);
      if (!runs.has(key)) {
        const run = await compute(module!, cell, e.metrics, true, () => mine === turn);
        if (!run) return null;
        runs.set(key, run);
        run.metrics.forEach((value, k) => numbers[k].push({ label: e.heads.length && names.length > 1 ? c.label : '', value }));
      }
      const rows = runs.get(key).rows, x = rows.map((r) => r[e.path ?? 't']), y = rows.map((r) => r[c.field]), good = rows.map((_, i) => [x[i], y[i]]).filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b) && !(log.includes('x') && a <= 0) && !(log.includes('y') && b <= 0));
      curves.push({ label: c.label, x: good.map((p) => p[0]), y: good.map((p) => p[1]) });
    }
    return { ...e.plot, curves, numbers };
  }

  function show(figure) {
    shown = figure;
    draw(left, figure, { ax, names });
    if (e.heads.length && figure.numbers) table.replaceChildren(metrics(e.heads, figure.numbers));
  }
  async function paint() {
    const here = list.map((l, k) => l[at[k]]), stored = here.every((p) => p.stored >= 0), width = first.values.length;
    // the picture over the first slider is that of the nearest stored position of the second one
    const near = (k) => list[k].reduce((best, p) => (p.stored >= 0 && Math.abs(p.value - here[k].value) < Math.abs(list[k].find((q) => q.stored === best)!.value - here[k].value) ? p.stored : best), 0), second = here.length > 1 ? near(1) : 0;
    if (over.length) draw(right, over[second], { ax: overAx, mark: here[0].value });
    section.dataset.at = at.join(' ');
    section.dataset.from = stored ? 'stored' : 'computing';
    if (stored) {
      turn++;
      show(figures[second * width + here[0].stored]);
      return;
    }
    const figure = await computed(here).catch((problem) => {
      said.textContent = `This position cannot be computed: ${problem.message}`;
      return null;
    });
    if (!figure) return;
    section.dataset.from = 'computed';
    show(figure);
  }
  function sliders() {
    controls.replaceChildren(...e.sliders.map((s, k) => {
      const one = slider(s.name, list[k].map((p) => p.text), at[k], (v) => {
        at[k] = v;
        void paint();
      });
      one.dataset.stored = list[k].flatMap((p, i) => (p.stored >= 0 ? [i] : [])).join(' '); // positions of stored runs
      return one;
    }));
  }
  const runs = `This page contains ${e.runs} runs`;
  said.textContent = `${runs}; the sliders select among them.`;
  section.append(said, controls, h('div', { class: over.length ? 'pair' : 'single' }, left, over.length ? right : null), table);
  section.hidden = false;
  sliders();
  live(left, () => {
    if (section.dataset.from === 'computed') draw(left, shown, { ax, names });
    else void paint();
  });

  // Where the module measures such runs, the sliders have positions between the stored ones.
  section.fine = async () => {
    module = e.curves?.length ? await solver().catch(() => null) : null;
    const fine = e.sliders.map((s) => positions(s, true)), end = figures[figures.length - 1]; // where steps are longest
    const probe = module ? await computed(fine.map((l) => l[l.length - 1])).catch(() => null) : null;
    const all = probe && end.curves.every((c, i) => probe.curves[i]?.x.length > 1 || c.x.length <= 1) && (end.numbers ?? []).every((column, k) => column.every((n, i) => real(n.value) === null || Number.isNaN(real(n.value)) || Number.isFinite(probe.numbers[k][i]?.value)));
    if (!all) {
      module = null;
      return null;
    }
    const kept = list.map((l, k) => l[at[k]].stored);
    list = fine;
    at = list.map((l, k) => l.findIndex((p) => p.stored === kept[k]));
    said.textContent = `${runs}. Between their positions, the page computes.`;
    sliders();
    return { stored: (place: number[]) => figures[(place[1] ?? 0) * first.values.length + place[0]], at: (place: number[]) => computed(place.map((i, k) => list[k].find((p) => p.stored === i)!)) };
  };
  void section.fine().then((made) => { section.dataset.fine = made ? 'yes' : 'no'; });
}
