// SPDX-License-Identifier: GPL-3.0-or-later
// Elements, and the few controls that the figures share.

export function h(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props ?? {})) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (k === 'class') e.className = v;
    else if (k === 'style') e.style.cssText = v;
    else e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

let count = 0;

// A labelled <select>; options are texts or [value, text].
export function select(label, options, value, onchange) {
  const id = `perp-control-${++count}`;
  const box = h(
    'select',
    { id, onchange: () => onchange(box.value) },
    options.map((o) => {
      const [v, text] = Array.isArray(o) ? o : [o, o];
      return h('option', { value: v, selected: v === value }, text);
    }),
  );
  const field = h('span', { class: 'control' }, h('label', { for: id }, label), box);
  field.setOptions = (list, chosen) => {
    box.replaceChildren(
      ...list.map((o) => {
        const [v, text] = Array.isArray(o) ? o : [o, o];
        return h('option', { value: v, selected: v === chosen }, text);
      }),
    );
    field.hidden = list.length < 2;
  };
  field.hidden = options.length < 2;
  return field;
}

export function checkbox(label, value, onchange) {
  const id = `perp-control-${++count}`;
  const box = h('input', { type: 'checkbox', id, checked: value, onchange: () => onchange(box.checked) });
  return h('span', { class: 'control' }, box, h('label', { for: id }, label));
}

// A frame for one figure: controls, the drawing, a caption.
export function frame(id, title, caption) {
  const controls = h('div', { class: 'controls' });
  const plot = h('div', { class: 'plot' });
  const note = h('p', { class: 'note' });
  const element = h(
    'figure',
    { class: 'live', id: `live-${id}`, 'data-state': 'empty' },
    title && h('h3', { id }, title),
    controls,
    plot,
    note,
    caption && h('figcaption', {}, caption),
  );
  return {
    element,
    controls,
    plot,
    note,
    // what the page's test asks: is there something to see?
    state: (s) => element.setAttribute('data-state', s),
  };
}
