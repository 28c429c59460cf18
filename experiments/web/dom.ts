// SPDX-License-Identifier: GPL-3.0-or-later
// Elements, and the few controls that the figures share.
import { scrolls } from './access';
import { link } from './link';
import { csvText, saveAs, svgText } from './save';

export function h(tag: string, props = {}, ...children: any[]): any {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries<any>(props ?? {})) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (k === 'class') e.className = v;
    else if (k === 'style') e.style.cssText = v;
    else e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

// A box that a wide table scrolls in; the head of a column, an empty one is none.
export const scroll = (name: string, ...children: any[]) => scrolls(h('div', { class: 'scroll' }, ...children), `${name}, scrolls`);
export const th = (text, kind = null, title = null) => (text === '' ? h('td', { class: kind }) : h('th', { class: kind, scope: 'col', title }, text));

let count = 0;

// A labelled <select>; options are texts or [value, text].  Kept in the address under its key: what is chosen there is told
// at once by `field.value`.
export function select(label, options, value, onchange, key?) {
  const id = `perp-control-${++count}`;
  let usual = value;
  const given = key ? link.get(key) : null;
  const valueOf = (o) => String(Array.isArray(o) ? o[0] : o);
  const start = given !== null && options.some((o) => valueOf(o) === given) ? given : value;
  const box = h('select', { id, 'data-key': key, onchange: () => {
    if (key) link.set(key, box.value, String(usual));
    onchange(box.value);
  } });
  const fill = (list, chosen) => box.replaceChildren(
    ...list.map((o) => h('option', { value: valueOf(o), selected: valueOf(o) === String(chosen) }, Array.isArray(o) ? o[1] : o)));
  const field = h('span', { class: 'control' }, h('label', { for: id }, label), box);
  fill(options, start);
  field.value = start;
  field.setOptions = (list, chosen) => {
    usual = chosen;
    const kept = key ? link.get(key) : null;
    const now = kept !== null && list.some((o) => valueOf(o) === kept) ? kept : chosen;
    fill(list, now);
    field.hidden = list.length < 2;
    field.value = now;
    return now;
  };
  field.hidden = options.length < 2;
  return field;
}

export function checkbox(label, value, onchange, key?) {
  const id = `perp-control-${++count}`;
  const given = key ? link.get(key) : null, start = given === null ? value : given === 'yes';
  const box = h('input', { type: 'checkbox', id, 'data-key': key, checked: start, onchange: () => {
    if (key) link.set(key, box.checked ? 'yes' : 'no', value ? 'yes' : 'no');
    onchange(box.checked);
  } });
  const field = h('span', { class: 'control' }, box, h('label', { for: id }, label));
  field.value = start;
  return field;
}

// Copy a text, or at least select it.
export async function copyText(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'copied';
  } catch {
    button.textContent = 'in the address bar';
  }
  setTimeout(() => { button.textContent = before; }, 2500);
}

// A frame for one figure: controls, the drawing, a caption.  files: { svg: () => element, rows: () => table of numbers }
// redraw: set by who draws it, called once the figure has a width.
export interface Figure {
  element: HTMLElement;
  controls: HTMLElement;
  plot: HTMLElement;
  note: HTMLElement;
  files: Files;
  state(s: string): void;
  redraw?(): void;
}
interface Files {
  svg?(): SVGSVGElement;
  rows?(): unknown[][];
}

export function frame(id: string, title: string, caption: string, files: Files = {}): Figure {
  const controls = h('div', { class: 'controls' });
  const plot = h('div', { class: 'plot' });
  const note = h('p', { class: 'note' });
  const tools = h('div', { class: 'tools' },
    files.svg && h('button', { class: 'tool', type: 'button', 'data-tool': 'svg', onclick: () => files.svg() && saveAs(`${id}.svg`, 'image/svg+xml', svgText(files.svg())) }, 'SVG'),
    files.rows && h('button', { class: 'tool', type: 'button', 'data-tool': 'csv', onclick: () => saveAs(`${id}.csv`, 'text/csv', csvText(files.rows())) }, 'CSV'),
    h('button', { class: 'tool', type: 'button', 'data-tool': 'link', title: 'the address of this view', onclick: (e) => {
      history.replaceState(null, '', link.of(id));
      copyText(link.of(id), e.currentTarget);
    } }, 'link'));
  const element = h(
    'figure',
    { class: 'live', id: `live-${id}`, 'data-state': 'empty' },
    title && h('h3', { id }, title),
    controls,
    plot,
    note,
    caption && h('figcaption', {}, caption),
    tools,
  );
  return {
    element,
    controls,
    plot,
    note,
    files,
    // what the page's test asks: is there something to see?
    state: (s) => element.setAttribute('data-state', s),
  };
}
