// SPDX-License-Identifier: GPL-3.0-or-later
// Which curves a figure shows: one part is compared (colour), the others are held.
import { h, select } from './dom';
import { link } from './link';
import { marker } from './theme';

// A row of toggles, one a name, that is also the legend; the name number i has the style i.  key: where the address keeps what
// is hidden.
export function chips(names, hidden, onchange, key) {
  const row = h('div', { class: 'chips', role: 'group', 'aria-label': 'curves shown' });
  const buttons = names.map((name, i) => {
    const b = h(
      'button',
      {
        class: 'chip', type: 'button', 'aria-pressed': String(!hidden.has(name)),
        title: 'click: show or hide; double click: show only this one',
        onclick: () => {
          hidden.has(name) ? hidden.delete(name) : hidden.add(name);
          update();
        },
        ondblclick: () => {
          hidden.clear();
          names.forEach((n) => n !== name && hidden.add(n));
          update();
        },
      },
      marker(i),
      h('code', {}, name || 'all'),
    );
    return b;
  });
  const all = h('button', { class: 'tool', type: 'button', onclick: () => { hidden.clear(); update(); } }, 'all');
  const none = h('button', { class: 'tool', type: 'button', onclick: () => { names.forEach((n) => hidden.add(n)); update(); } }, 'none');
  const usual = key ? usualOf(key, hidden) : '';
  function update() {
    if (key) link.set(key, JSON.stringify([...hidden].sort()), usual);
    buttons.forEach((b, i) => b.setAttribute('aria-pressed', String(!hidden.has(names[i]))));
    onchange();
  }
  if (names.length > 1) row.append(...buttons, ...(names.length > 3 ? [all, none] : []));
  return row;
}

// What is hidden when nobody has chosen; remembered, as the row is made anew.
const usuals = new Map();
export function usualOf(key, hidden) {
  if (!usuals.has(key)) usuals.set(key, JSON.stringify([...hidden].sort()));
  return usuals.get(key);
}

// The names that the address hides; null: it does not say.
export function hiddenBy(key) {
  try {
    const list = JSON.parse(link.get(key) ?? 'null');
    return Array.isArray(list) ? list : null;
  } catch {
    return null;
  }
}

const joined = (data, cell, keys) => keys.map((k) => data.name(cell, k)).filter((t) => t).join(', ');

// The state of one figure.  metric(): what "best" means, less is better.
export class Selection {
  [name: string]: any;

  // abscissa(c): of what a figure is drawn against, where it may be the same for all cells of a choice.
  constructor(data, metric, onchange, id, abscissa = null) {
    this.id = id;
    this.abscissa = abscissa;
    this.data = data;
    this.metric = metric;
    this.onchange = onchange;
    this.hidden = new Set();
    usuals.set(`${id}.hide`, '[]');
    for (const name of hiddenBy(`${id}.hide`) ?? []) this.hidden.add(name);
    this.bySelect = select('compare', data.view.axes.map((k) => [k, k]), data.view.subject, (v) => {
      this.by = v;
      this.hidden.clear();
      link.set(`${id}.hide`, '[]', '[]');
      this.refresh();
    }, `${id}.by`);
    this.by = this.bySelect.value;
    this.atSelect = select('with', [], null, (v) => {
      this.at = v;
      this.redraw();
    }, `${id}.at`);
    this.chipBox = h('div', {});
    this.refresh(true);
  }

  refresh(first = false) {
    const { data } = this;
    const rest = data.view.axes.filter((k) => k !== this.by);
    const combos = new Map();
    for (let c = 0; c < data.n; c++) {
      if (data.include && !data.include(c)) continue;
      const text = joined(data, c, rest);
      if (!combos.has(text)) combos.set(text, []);
      combos.get(text).push(c);
    }
    this.combos = combos;
    const list = [...combos.keys()];
    // where the best cell by the primary metric is: the most telling place to start, whatever the figure shows
    let best = -1;
    // errors of different scenes do not compare: the first scene then
    const scene = rest.includes('scene') ? data.name(0, 'scene') : null;
    for (let c = 0; c < data.n; c++)
      if (data.ok(c) && (scene === null || data.name(c, 'scene') === scene) && (best < 0 || data.value(c, data.study.primary) < data.value(best, data.study.primary))) best = c;
    let telling = best >= 0 && !data.include ? joined(data, best, rest) : list[0];
    // and of sizes there must be several, where there are
    const sizes = (t) => new Set(combos.get(t)?.map((c) => this.abscissa(c)).filter((x) => x > 0)).size;
    if (this.abscissa && sizes(telling) < 2) telling = list.reduce((l, t) => (sizes(t) > sizes(l) ? t : l), telling);
    const options = list.map((t) => [t, t || '(nothing else varies)']);
    if (list.length > 1) options.unshift(['*best', 'the best of each'], ['*all', 'everything']);
    this.at = this.atSelect.setOptions(options, telling);
    this.redraw(first);
  }

  redraw(first = false) {
    this.chipBox.replaceChildren(chips(this.names(), this.hidden, () => this.onchange(), `${this.id}.hide`));
    if (!first) this.onchange();
  }

  names() {
    if (!this.by) return [''];
    const cells = new Set(this.at.startsWith('*') ? [...this.combos.values()].flat() : this.combos.get(this.at) ?? []);
    const found = new Set([...cells].map((c) => this.data.name(c, this.by)));
    return [...new Set(this.data.axis[this.by].names)].filter((n) => found.has(n));
  }

  // [{ name, index, combo, cells }]: the curves to draw, cells by ascending abscissa
  groups() {
    const { data } = this;
    const names = this.names();
    const groups = new Map();
    for (const [combo, cells] of this.combos) {
      if (!this.at.startsWith('*') && combo !== this.at) continue;
      for (const c of cells) {
        const name = this.by ? data.name(c, this.by) : '';
        const index = names.indexOf(name);
        if (index < 0 || this.hidden.has(name)) continue;
        const key = `${name}\n${combo}`;
        if (!groups.has(key)) groups.set(key, { name, index, combo, cells: [] });
        groups.get(key).cells.push(c);
      }
    }
    let list = [...groups.values()];
    for (const g of list) g.cells.sort((a, b) => data.order(a) - data.order(b));
    if (this.at === '*best') {
      const least = (g) => g.cells.reduce((l, c) => { const v = data.ok(c) ? data.value(c, this.metric()) : NaN; return v >= 0 && v < l ? v : l; }, Infinity);
      const chosen = new Map();
      for (const g of list) {
        const before = chosen.get(g.name);
        if (!before || least(g) < least(before)) chosen.set(g.name, g);
      }
      list = [...chosen.values()];
    }
    return list;
  }

  get controls() {
    return [this.bySelect, this.atSelect];
  }
}
