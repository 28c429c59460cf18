// SPDX-License-Identifier: GPL-3.0-or-later
// The options of the methods that are chosen, as the registry has them: one field each. A value that it refuses is told with
// its own message and changes nothing.
import { h } from '../dom';
import type { Module } from './module';

export interface Chosen { part: string; kind: string; label: string; text: string } // a place of the choice, a method with options

export function optionsForm(module: Module, chosen: () => Chosen[], change: (part: string, text: string) => void) {
  const box = h('div', { class: 'live-options' }), element = h('details', { class: 'live-option-box' }, h('summary', {}, 'Options of the methods'), box), open = new Set<string>();

  function one({ part, kind, label, text }: Chosen) {
    const spec = module.spec(kind, text), usual = new Map(module.spec(kind, spec.name).options.map((o) => [o.key, o.value]));
    if (spec.options.length === 0) return null;
    const changed = spec.options.filter((o) => o.value !== usual.get(o.key));
    const rows = spec.options.map((o) => {
      const id = `live-option-${part}-${o.key}`, said = h('span', { class: 'live-refused', id: `${id}-said`, role: 'status' }), words = o.range.split(' | ');
      const set = (value: string) => {
        const given = spec.options.map((p) => [p.key, p.key === o.key ? value : p.value]).filter(([key, v]) => v !== '' && v !== usual.get(key));
        try {
          const good = module.spec(kind, spec.name + (given.length > 0 ? `:${given.map(([key, v]) => `${key}=${v}`).join(',')}` : '')).text;
          said.textContent = '';
          field.removeAttribute('aria-invalid');
          change(part, good);
        } catch (e) {
          said.textContent = (e as Error).message;
          field.setAttribute('aria-invalid', 'true');
        }
      };
      const field = words.length > 1 ? h('select', { id, 'aria-describedby': `${id}-help ${id}-said`, onchange: () => set(field.value) }, ...words.map((w) => h('option', { value: w, selected: w === o.value }, w)))
        : h('input', { type: 'text', id, class: 'live-text', value: o.value, spellcheck: false, 'aria-describedby': `${id}-help ${id}-said`, onchange: () => set(field.value.trim()) });
      return h('div', { class: 'live-option' }, h('label', { for: id, class: o.value !== usual.get(o.key) ? 'changed' : null }, o.key), h('span', {}, field, o.unit && o.unit !== '-' ? ` ${o.unit}` : ''),
        h('span', { class: 'note', id: `${id}-help` }, `${o.help} ${words.length > 1 ? '' : `${o.range}. `}Default ${usual.get(o.key) || 'empty'}.`), said);
    });
    const fold = h('details', { open: open.has(part), ontoggle: () => (fold.open ? open.add(part) : open.delete(part)) }, h('summary', {}, `${label}: ${spec.name}`, changed.length > 0 ? `, ${changed.map((o) => `${o.key} = ${o.value}`).join(', ')}` : ''), ...rows);
    return fold;
  }

  return { element, refresh() {
    const focused = box.contains(document.activeElement) ? document.activeElement!.id : '';
    box.replaceChildren(...chosen().map((c) => one(c)).filter(Boolean) as any);
    if (focused) document.getElementById(focused)?.focus();
  } };
}
