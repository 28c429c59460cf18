// SPDX-License-Identifier: GPL-3.0-or-later
// Figures as files: the drawing as SVG in the colours of paper, its numbers as CSV.
import { h } from './dom';
import { paper } from './theme';

export function saveAs(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = h('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const field = (v) => {
  const text = v === null || v === undefined || Number.isNaN(v) ? '' : String(v);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
export const csvText = (rows) => rows.map((r) => r.map(field).join(',')).join('\n') + '\n';

export function svgText(root) {
  const copy = root.cloneNode(true);
  const box = root.viewBox.baseVal;
  const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  for (const [k, v] of Object.entries({ width: box.width, height: box.height, fill: '#ffffff' })) ground.setAttribute(k, v);
  copy.prepend(ground);
  const text = new XMLSerializer().serializeToString(copy);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text.replace(/var\(--(\w+)\)/g, (_, name) => paper(name))}\n`;
}

// The numbers of a drawing.
export function specRows(spec) {
  const bands = spec.curves.some((c) => c.points.some((p) => p.lo !== undefined));
  const rows = [['curve', spec.x.title, spec.y.title, ...(bands ? ['lower quartile', 'upper quartile'] : []), 'status']];
  for (const c of spec.curves)
    for (const p of c.points) rows.push([c.name, p.x, p.y, ...(bands ? [p.lo, p.hi] : []), p.ring || '']);
  for (const p of spec.stars ?? []) rows.push([p.name ?? '', p.x, p.y, ...(bands ? ['', ''] : []), 'published']);
  for (const p of spec.fields ?? []) rows.push([p.name ?? '', p.x, p.y, ...(bands ? ['', ''] : []), p.v ?? '']);
  return rows;
}

export const tableRows = (table) => [...table.rows].map((r) => [...r.cells].map((c) => c.innerText.replace(/\s+/g, ' ').trim()));
