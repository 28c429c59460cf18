// SPDX-License-Identifier: GPL-3.0-or-later
// Sliders that choose among runs in the page.
import { floats, real } from '../data';
import { h, scroll, th } from '../dom';
import { axes, decode, draw, live } from './chart';
import { brief } from './words';

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

export function explore(section, e) {
  const at = e.sliders.map((s) => Math.floor((s.values.length - 1) / 2));
  const figures = e.at.map((p) => decode({ ...e.plot, ...p })), over = (e.over ?? []).map(decode), first = floats(e.sliders[0].x);
  const names = [...new Set(figures.flatMap((f) => f.curves.map((c) => c.label)))];
  const ax = axes(figures), overAx = over.length ? axes(over) : null;
  const left = h('figure', { class: 'live' }), right = h('figure', { class: 'live' }), table = h('div', { class: 'numbers', 'aria-live': 'polite' });
  function paint() {
    const second = at[1] ?? 0, k = second * e.sliders[0].values.length + at[0];
    draw(left, figures[k], { ax, names });
    if (over.length) draw(right, over[second], { ax: overAx, mark: first[at[0]] });
    if (e.heads.length) table.replaceChildren(metrics(e.heads, figures[k].numbers));
    section.dataset.at = at.join(' ');
  }
  section.append(
    h('div', { class: 'controls' }, ...e.sliders.map((s, k) => slider(s.name, s.values, at[k], (v) => {
      at[k] = v;
      paint();
    }))),
    h('div', { class: over.length ? 'pair' : 'single' }, left, over.length ? right : null), table);
  section.hidden = false;
  live(left, paint);
}
