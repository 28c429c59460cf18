// SPDX-License-Identifier: GPL-3.0-or-later
// Curves on linear or logarithmic axes, drawn as SVG in the width that there is.
import { floats } from '../data';
import { h } from '../dom';
import { brief, raised, svg } from './words';

const shapes = [
  'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0', 'M-4-4h8v8h-8z', 'M0-5L4.6 3.6H-4.6z', 'M0-5.2L5.2 0L0 5.2L-5.2 0z',
  'M-4.6-3.6H4.6L0 5z', 'M-4-4L4 4M-4 4L4-4', 'M0-5V5M-5 0H5', 'M-5-2.5h10v5h-10z',
];
const dashes = ['', '7 4', '2 4', '9 3 2 3', '5 2', '12 4', '1 3', '6 2 2 2'];

export const decode = (figure) => ({ ...figure, curves: figure.curves.map((c) => ({ label: c.label, x: Array.from(floats(c.x)), y: Array.from(floats(c.y)) })) });

// A scale from data to [0, 1] with its ticks.
function scale(values, logarithmic) {
  const good = values.filter((v) => Number.isFinite(v) && (!logarithmic || v > 0));
  let lo = Math.min(...good), hi = Math.max(...good);
  if (!good.length) [lo, hi] = logarithmic ? [1, 10] : [0, 1];
  if (logarithmic) {
    lo = Math.log10(Math.max(lo, hi * 1e-17));
    hi = Math.max(Math.log10(hi), lo + 0.3);
    const pad = 0.03 * (hi - lo), each = Math.ceil((hi - lo) / 8), ticks = [];
    // decades, and between them 2 and 5 where there are few
    for (let k = Math.floor(lo); k <= Math.ceil(hi); k += each)
      for (const m of hi - lo < 2.5 ? [1, 2, 5] : [1]) ticks.push({ v: m * 10 ** k, text: Math.abs(k) <= 3 ? brief(m * 10 ** k) : m > 1 ? `${m}\u00b710${raised(k)}` : `10${raised(k)}` });
    return { ticks, at: (v) => (Math.log10(v) - lo + pad) / (hi - lo + 2 * pad) };
  }
  if (hi - lo < 1e-9 * Math.max(Math.abs(hi), 1e-300)) [lo, hi] = [lo - (Math.abs(lo) || 1) * 0.1, hi + (Math.abs(hi) || 1) * 0.1];
  const raw = (hi - lo) / 5, ten = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((k) => k * ten >= raw * 0.999) * ten, ticks = [];
  const pad = 0.03 * (hi - lo);
  for (let k = Math.ceil((lo - pad) / step); k * step <= hi + pad; k++) ticks.push({ v: k * step, text: brief(k * step) });
  return { ticks, at: (v) => (v - lo + pad) / (hi - lo + 2 * pad) };
}

export const axes = (figures) => {
  const log = figures[0].log ?? '', all = (key) => figures.flatMap((f) => f.curves.flatMap((c) => c[key]));
  return { x: scale(all('x'), log.includes('x')), y: scale(all('y'), log.includes('y')) };
};

function swatch(k, lines) {
  return svg('svg', { class: `swatch c${k % 8}`, viewBox: '0 0 28 14', 'aria-hidden': 'true' },
    svg('path', { class: 'line', d: 'M1 7H27', 'stroke-dasharray': lines ? dashes[k % 8] : '' }),
    lines ? null : svg('path', { class: 'dot', d: shapes[k % 8], transform: 'translate(14 7)' }));
}

// One picture.  names: labels of all curves that ever come, so that each keeps its colour; mark: an x to point at.
export function draw(host, figure, { ax = axes([figure]), names = figure.curves.map((c) => c.label), mark }: any = {}) {
  const width = Math.max(260, host.clientWidth || 640), height = Math.round(Math.min(362, Math.max(192, width * 0.53)));
  const left = 62, right = 12, top = 10, bottom = 24, w = width - left - right, tall = height - top - bottom;
  const px = (v) => left + ax.x.at(v) * w, py = (v) => top + (1 - Math.min(1.02, Math.max(-0.02, ax.y.at(v)))) * tall;
  const grid = svg('g', { class: 'grid' });
  let last = -Infinity;
  for (const t of ax.x.ticks) {
    const x = px(t.v);
    if (x < left - 1 || x > left + w + 1) continue;
    grid.append(svg('path', { d: `M${x} ${top}V${top + tall}` }));
    if (x - last < 8 * t.text.length + 6) continue;
    last = x;
    grid.append(svg('text', { x, y: top + tall + 16, 'text-anchor': 'middle' }, t.text));
  }
  for (const t of ax.y.ticks) {
    const y = py(t.v);
    if (y < top - 1 || y > top + tall + 1) continue;
    grid.append(svg('path', { d: `M${left} ${y}H${left + w}` }), svg('text', { x: left - 7, y: y + 4, 'text-anchor': 'end' }, t.text));
  }
  const curves = figure.curves.map((c) => {
    const k = Math.max(0, names.indexOf(c.label)), points = c.x.map((v, i) => [px(v), py(c.y[i])]).filter((q) => q.every(Number.isFinite));
    return svg('g', { class: `curve c${k % 8}` },
      svg('path', { class: 'line', d: points.map((q, i) => `${i ? 'L' : 'M'}${q[0].toFixed(1)} ${q[1].toFixed(1)}`).join(''), 'stroke-dasharray': figure.lines ? dashes[k % 8] : '' }),
      ...(figure.lines && points.length > 1 ? [] : points.map((q, i) => svg('path', { class: 'dot', d: shapes[k % 8], transform: `translate(${q[0].toFixed(1)} ${q[1].toFixed(1)})` },
        svg('title', {}, `${c.label}: ${brief(c.x[i])}, ${brief(c.y[i])}`)))));
  });
  const marker = mark == null || !Number.isFinite(px(mark)) ? null : svg('path', { class: 'mark', d: `M${px(mark)} ${top}V${top + tall}` });
  const empty = curves.length ? null : svg('text', { class: 'empty', x: left + w / 2, y: top + tall / 2, 'text-anchor': 'middle' }, 'nothing to draw here: no run came that far');
  const what = `${figure.title}${figure.y ? ` (${figure.y})` : ''}, against ${figure.x}; ${figure.curves.map((c) => c.label).join(', ')}`;
  host.replaceChildren(
    h('h3', {}, figure.title),
    ...(figure.y && !figure.title.startsWith(figure.y) ? [h('div', { class: 'yaxis' }, figure.y)] : []), // no word twice
    svg('svg', { class: 'chart', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': what }, grid, marker, ...curves, empty),
    h('div', { class: 'xaxis' }, figure.x),
    h('div', { class: 'legend' }, ...(names.length === 1 ? [] : names).map((name, k) => h('span', { class: figure.curves.some((c) => c.label === name) ? null : 'off' }, swatch(k, figure.lines), name))));
}

// Drawn again when the width changes.
export function live(host, paint) {
  let width = -1;
  const again = () => {
    if (host.clientWidth === width) return;
    width = host.clientWidth;
    paint();
  };
  new ResizeObserver(again).observe(host);
  again();
}
