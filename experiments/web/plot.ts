// SPDX-License-Identifier: GPL-3.0-or-later
// One figure as an SVG drawing: two axes, curves, marks, bands and a legend outside of the field.  All colours are variables
// of the page, so that a drawing follows the scheme of the screen and the paper without being made anew.
import { h } from './dom';
import { colour, dash, markerShape } from './theme';

const NS = 'http://www.w3.org/2000/svg';
const FONT = 12, ROW = 17, FAMILY = "system-ui, -apple-system, 'Segoe UI', sans-serif";

export function svg(tag, attributes = {}, ...children) {
  const e = document.createElementNS(NS, tag);
  for (const [k, v] of Object.entries(attributes)) if (v !== null && v !== undefined) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

const ruler = document.createElement('canvas').getContext('2d');
function measure(text) {
  ruler.font = `${FONT}px ${FAMILY}`;
  return ruler.measureText(text).width;
}

function shorten(text, width) {
  if (measure(text) <= width) return text;
  let n = text.length;
  while (n > 4 && measure(`${text.slice(0, n)}…`) > width) n--;
  return `${text.slice(0, n)}…`;
}

// Lines of at most this width; words that are longer are cut.
function wrap(text, width) {
  const lines = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line ? `${line} ${word}` : word;
    if (line && measure(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  lines.push(line);
  return lines.map((l) => shorten(l, width));
}

// ---- numbers on axes

const raised = (n) => String(n).replace(/./g, (c) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[c] ?? '⁻');

// 0.01, 200, 10⁻⁸, 2·10⁶
export function axisNumber(v) {
  const a = Math.abs(v);
  if (v === 0 || (a > 0.99e-4 && a < 1e5)) return String(Number(v.toPrecision(6))).replace('-', '−');
  const [mantissa, exponent] = v.toExponential(5).split('e');
  const m = Number(mantissa);
  return (m === 1 ? '' : `${String(m).replace('-', '−')}·`) + `10${raised(Number(exponent))}`;
}

// Of several: all as powers of ten where one must be, but for those around 1.
function axisNumbers(list) {
  const texts = list.map(axisNumber);
  const power = (v) => Math.abs(Math.log10(Math.abs(v)) - Math.round(Math.log10(Math.abs(v)))) < 1e-9;
  if (!texts.some((t) => t.startsWith('10')  && t.length > 2 && !/^\d+$/.test(t)) || !list.every((v) => v > 0 && power(v))) return texts;
  return list.map((v, k) => (v > 0.05 && v < 20 ? texts[k] : `10${raised(Math.round(Math.log10(v)))}`));
}

export function linearTicks(lo, hi, most) {
  const raw = (hi - lo) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const list = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + 1e-9 * step; k++) list.push(Number((k * step).toPrecision(12)));
  return list;
}

// The densest of: 1, 2, 5 in each decade, each decade, every second one, ... whose labels have room.
export function logTicks(lo, hi, fits) {
  const from = Math.floor(Math.log10(lo) + 1e-9), to = Math.ceil(Math.log10(hi) - 1e-9);
  const within = (list) => list.filter((v) => v >= lo * (1 - 1e-9) && v <= hi * (1 + 1e-9));
  const every = (step, digits) => {
    const list = [];
    for (let e = from; e <= to; e++) if (((e % step) + step) % step === 0) for (const d of digits) list.push(Number(`${d}e${e}`));
    return within(list);
  };
  if (every(1, [1, 2, 5]).length < 3) {
    for (let most = 6; most >= 2; most--) {
      const list = linearTicks(lo, hi, most).filter((v) => v > 0);
      if (list.length >= 2 && fits(list)) return list;
    }
    return [lo, hi];
  }
  for (const [step, digits] of [[1, [1, 2, 5]], [1, [1]], ...[2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100].map((s) => [s, [1]])]) {
    const list = every(step, digits);
    if (list.length >= 2 && list.length <= 12 && fits(list)) return list;
  }
  const ends = every(1, [1, 2, 5]);
  return [ends[0], ends[ends.length - 1]];
}

function axis(a, values, length, along) {
  let v = values.filter((x) => Number.isFinite(x) && (!a.log || x > 0));
  if (v.length === 0) v = a.log ? [0.1, 1] : [0, 1];
  let lo = Infinity, hi = -Infinity;
  for (const x of v) {
    if (x < lo) lo = x;
    if (x > hi) hi = x;
  }
  if (a.domain) [lo, hi] = a.domain;
  else if (a.log) {
    const pad = Math.max(0.05 * Math.log10(hi / lo), hi === lo ? 0.3 : 0.02);
    lo /= 10 ** pad;
    hi *= 10 ** pad;
  } else {
    const pad = hi === lo ? Math.abs(lo) / 10 || 1 : along === 'x' ? 0 : 0.05 * (hi - lo);
    lo -= pad;
    hi += pad;
  }
  const f = a.log ? Math.log10 : (x) => x, span = f(hi) - f(lo) || 1;
  const place = (x) => (length * (f(x) - f(lo))) / span, back = (p) => (a.log ? 10 ** (f(lo) + (p / length) * span) : lo + (p / length) * span);
  const textsOf = (list) => (a.format ? list.map(a.format) : axisNumbers(list));
  const fits = (list) => {
    let end = -Infinity;
    const texts = textsOf(list);
    for (const [k, t] of list.entries()) {
      const half = along === 'x' ? measure(texts[k]) / 2 + 6 : 10;
      if (place(t) - half < end) return false;
      end = place(t) + half;
    }
    return true;
  };
  let ticks = [];
  // few different values: these, where they have room
  const own = (along === 'x' || a.own) && a.own !== false && !a.domain ? [...new Set<number>(v)].sort((p, q) => p - q) : [];
  if (a.ticks) ticks = a.ticks;
  else if (own.length > 1 && own.length <= 10 && fits(own)) ticks = own;
  else if (a.log) ticks = logTicks(lo, hi, fits);
  else for (let most = along === 'x' ? 9 : 7; most >= 1; most--) {
    ticks = linearTicks(lo, hi, most);
    if (fits(ticks)) break;
  }
  const texts = textsOf(ticks);
  return { lo, hi, place, back, ticks: ticks.map((t, k) => ({ at: place(t), text: texts[k] })) };
}

// ---- the drawing

// The marker of a style around (x, y).
function glyph(index, x, y, scale = 1, extra = {}) {
  const m = markerShape(index);
  return svg('path', {
    d: m.path, transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${scale}) translate(-8 -8)`,
    fill: m.stroked ? 'none' : m.open ? 'var(--page)' : colour(index), stroke: colour(index), 'stroke-width': m.stroked ? 2 : 1.5, ...extra,
  });
}

const star = 'M0 -6L1.3 -1.9L5.7 -1.9L2.2 .7L3.5 4.9L0 2.3L-3.5 4.9L-2.2 .7L-5.7 -1.9L-1.3 -1.9Z';
const number = (v) => v.toFixed(2);

function pathOf(points, X, Y, step?) {
  let d = '', last = null;
  for (const p of points) {
    const x = X(p.x), y = Y(p.y);
    if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
    d += last === null ? `M${number(x)} ${number(y)}` : step ? `H${number(x)}V${number(y)}` : `L${number(x)} ${number(y)}`;
    last = p;
  }
  return d;
}

// Where the labels beside the field go: in the order of their curves, at least a row apart.
function spread(list, height) {
  list.sort((a, b) => a.want - b.want);
  list.forEach((l, k) => { l.y = Math.max(l.want, k === 0 ? 6 : list[k - 1].y + ROW - 2); });
  let limit = height - 2;
  for (let k = list.length - 1; k >= 0; k--) {
    list[k].y = Math.min(list[k].y, limit);
    limit = list[k].y - (ROW - 2);
  }
}

// spec: { height, alt, x, y: { title, log, domain, format, ticks }, curves: [{ name, index, label, points: [{ x, y, lo, hi, xlo, xhi, tip,
// ring }], band: [{ x, lo, hi }], step, plain, spots, end }], rail: [{ x, index, tip }], stars: [{ x, y, index, tip }], floor, fields: [{ x, y, fill, tip }], zoom,
// roomy: names go beside the curves in narrow drawings too; quiet: no legend below; railed: room for a rail }
function build(spec, width) {
  const all = spec.curves.flatMap((c) => [...c.points, ...(c.spots ?? [])]), extra = [...(spec.stars ?? []), ...(spec.fields ?? [])];
  const rail = spec.rail ?? [];
  const ys = [...all.flatMap((p) => [p.y, p.lo, p.hi]), ...extra.map((p) => p.y)].filter((v) => v !== undefined && v !== null);
  const xs = [...all.flatMap((p) => [p.x, p.xlo, p.xhi]), ...extra.map((p) => p.x), ...rail.map((p) => p.x)].filter((v) => v !== undefined && v !== null);
  const height = spec.height ?? 330;
  const named = spec.curves.filter((c) => c.label ?? c.name);
  const longest = Math.max(0, ...named.map((c) => measure(c.label ?? c.name)));
  const beside = named.length > 0 && width >= (spec.roomy ? 360 : 600) && longest <= (spec.roomy ? 0.42 : 0.34) * width && named.length * (ROW - 2) <= height;
  const right = beside ? longest + 44 : 14;
  const Y = axis(spec.y, ys, height, 'y');
  // names of rows are whole, in two lines where they are long
  const tickLines = (t) => (spec.y.own ? wrap(t.text, Math.min(0.45 * width, 200)) : [t.text]);
  const left = Math.ceil(Math.max(24, ...Y.ticks.flatMap((t) => tickLines(t).map(measure)), rail.length || spec.railed ? measure('failed') : 0) + 9);
  const inner = Math.max(120, width - left - right);
  const X = axis(spec.x, xs, inner, 'x');
  const yTitle = wrap(spec.y.title, width - 4), xTitle = wrap(spec.x.title, Math.min(width - 8, inner + right - 8));
  const top = 15 * yTitle.length + 8 + (rail.length || spec.railed ? 20 : 0);
  // the legend below, in rows
  const legend = [];
  if (!beside && !spec.quiet && named.length > 0) {
    let x = 0, y = 0;
    for (const c of named) {
      const text = shorten(c.label ?? c.name, width - 36), w = measure(text) + 44;
      if (x > 0 && x + w > width) {
        x = 0;
        y += ROW;
      }
      legend.push({ c, x, y, text });
      x += w;
    }
  }
  const below = 22 + 15 * xTitle.length;
  const total = top + height + below + (legend.length ? legend[legend.length - 1].y + ROW + 6 : 4);
  const root = svg('svg', { xmlns: NS, width, height: total, viewBox: `0 0 ${width} ${total}`, role: 'img', 'aria-label': spec.alt, 'font-family': FAMILY, 'font-size': FONT, class: 'figure' });
  const label = (x, y, text, attributes = {}) => svg('text', { x: number(x), y: number(y), fill: 'var(--soft)', ...attributes }, text);
  const px = (v) => left + X.place(v), py = (v) => top + height - Y.place(v);

  // axes
  const grid = svg('g', { class: 'axes' });
  for (const t of X.ticks) {
    grid.append(svg('path', { d: `M${number(left + t.at)} ${top}v${height}`, stroke: 'var(--line)' }));
    const half = measure(t.text) / 2, x = Math.min(Math.max(left + t.at, half + 1), width - half - 1);
    grid.append(label(x, top + height + 16, t.text, { 'text-anchor': 'middle' }));
  }
  for (const t of Y.ticks) {
    grid.append(svg('path', { d: `M${left} ${number(top + height - t.at)}h${number(inner)}`, stroke: 'var(--line)' }));
    const lines = tickLines(t);
    lines.forEach((line, k) => grid.append(label(left - 6, top + height - t.at + 4 + 12 * (k - (lines.length - 1) / 2), line, { 'text-anchor': 'end' })));
  }
  grid.append(svg('path', { d: `M${left} ${top}v${height}h${number(inner)}`, fill: 'none', stroke: 'var(--soft)' }));
  yTitle.forEach((line, k) => grid.append(label(0, 12 + 15 * k, line, { fill: 'var(--ink)' })));
  xTitle.forEach((line, k) => grid.append(label(left + inner / 2, top + height + 32 + 15 * k, line, { 'text-anchor': measure(line) > inner ? 'end' : 'middle', ...(measure(line) > inner ? { x: number(Math.min(width - 2, left + inner + right - 6)) } : {}), fill: 'var(--ink)' })));
  if (rail.length) grid.append(label(left - 6, top - 8, 'failed', { 'text-anchor': 'end' }), svg('path', { d: `M${left} ${top - 12}h${number(inner)}`, stroke: 'var(--line)' }));
  root.append(grid);

  const clip = `clip-${Math.random().toString(36).slice(2)}`;
  root.append(svg('defs', {}, svg('clipPath', { id: clip }, svg('rect', { x: left, y: top - 1, width: number(inner + 1), height: height + 2 }))));
  const clipped = { 'clip-path': `url(#${clip})` };
  const areas = svg('g', { class: 'mark-area', ...clipped }), lines = svg('g', { class: 'mark-line', fill: 'none', ...clipped }), points = svg('g', { class: 'mark-point', ...clipped });
  const seen = []; // what a pointer may ask about
  if (spec.floorAcross > X.lo) areas.append(svg('rect', { class: 'floor', x: left, y: top, width: number(px(Math.min(spec.floorAcross, X.hi)) - left), height: number(height), fill: 'var(--soft)', opacity: 0.2 }));
  if (spec.floor > Y.lo) {
    const y = py(Math.min(spec.floor, Y.hi));
    areas.append(svg('rect', { class: 'floor', x: left, y: number(y), width: number(inner), height: number(top + height - y), fill: 'var(--soft)', opacity: 0.2 }));
  }
  for (const c of spec.curves) {
    const usable = c.points.filter((p) => Number.isFinite(p.x) && Number.isFinite(p.y) && (!spec.x.log || p.x > 0) && (!spec.y.log || p.y > 0));
    const banded = c.band ?? usable.filter((p) => p.lo !== undefined && p.hi !== undefined && (!spec.y.log || p.lo > 0));
    if (banded.length > 1 && banded.some((p) => p.hi > p.lo))
      areas.append(svg('path', {
        d: `${pathOf(banded.map((p) => ({ x: p.x, y: p.hi })), px, py, c.step)}${pathOf(banded.map((p) => ({ x: p.x, y: p.lo })).reverse(), px, py).replace('M', 'L')}Z`,
        fill: colour(c.index), opacity: 0.16,
      }));
    if (usable.length > 1 && !c.loose)
      lines.append(svg('path', { d: pathOf(usable, px, py, c.step), stroke: c.plain ? 'var(--ink)' : colour(c.index), 'stroke-width': c.plain ? 2.6 : 1.7, 'stroke-dasharray': c.plain ? null : dash(c.index).join(' ') || null, opacity: c.plain ? 0.45 : null }));
    const spots = c.spots ?? usable;
    for (const p of usable) {
      if (p.xlo > 0 && p.xhi > p.xlo) lines.append(svg('path', { class: 'whisker', d: `M${number(px(p.xlo))} ${number(py(p.y))}H${number(px(p.xhi))}`, stroke: colour(c.index) }));
      if (p.tip) seen.push({ x: px(p.x), y: py(p.y), tip: p.tip, of: c });
      if (p.ring) points.append(svg('circle', { cx: number(px(p.x)), cy: number(py(p.y)), r: 7.5, fill: 'none', stroke: 'var(--ink)', 'stroke-width': 1.3 }));
    }
    for (const p of spots) points.append(glyph(c.index, px(p.x), py(p.y)));
    if (c.end && usable.length) { // where the data of a curve end
      const x = px(c.end.x), y = py(c.end.y);
      points.append(svg('path', { d: `M${number(x - 5)} ${number(y - 5)}l10 10m0 -10l-10 10`, stroke: colour(c.index), 'stroke-width': 2.2 }));
      seen.push({ x, y, tip: c.end.tip });
    }
  }
  for (const p of spec.fields ?? []) {
    points.append(svg('rect', { x: number(px(p.x) - 9), y: number(py(p.y) - 9), width: 18, height: 18, fill: p.fill, stroke: p.ring ? 'var(--ink)' : 'none', 'stroke-width': 2 }));
    if (p.cross) points.append(svg('path', { d: `M${number(px(p.x) - 6)} ${number(py(p.y) - 6)}l12 12m0 -12l-12 12`, stroke: 'var(--bad)', 'stroke-width': 2.5 }));
    seen.push({ x: px(p.x), y: py(p.y), tip: p.tip });
  }
  const outside = svg('g', { class: 'mark-outside' });
  for (const p of rail) {
    const x = px(p.x), y = top - 12;
    outside.append(svg('path', { class: 'failed', d: `M${number(x - 4)} ${y - 4}l8 8m0 -8l-8 8`, stroke: colour(p.index), 'stroke-width': 2.2 }));
    seen.push({ x, y, tip: p.tip });
  }
  for (const p of spec.stars ?? []) {
    outside.append(svg('path', { class: 'published', d: star, transform: `translate(${number(px(p.x))} ${number(py(p.y))})`, fill: colour(p.index), stroke: 'var(--ink)', 'stroke-width': 0.9 }));
    seen.push({ x: px(p.x), y: py(p.y), tip: p.tip });
  }
  root.append(areas, lines, points, outside);

  // names: beside the ends of the curves, or below
  const names = svg('g', { class: 'names' });
  if (beside) {
    const ends = named.map((c) => {
      const usable = c.points.filter((p) => Number.isFinite(px(p.x)) && Number.isFinite(py(p.y)) && px(p.x) <= left + inner + 1);
      let end = null;
      for (const p of usable) if (end === null || p.x >= end.x) end = p;
      const clampY = (y) => Math.min(height, Math.max(0, y));
      return { c, end, want: end ? clampY(py(end.y) - top) : height };
    }).filter((e) => e.end);
    spread(ends, height);
    for (const { c, end, y } of ends) {
      const x = left + inner + 10;
      names.append(
        svg('path', { d: `M${number(Math.max(px(end.x) + 6, left + inner - 2))} ${number(Math.min(top + height, Math.max(top, py(end.y))))}L${number(x + 2)} ${number(top + y)}`, stroke: c.plain ? 'var(--ink)' : colour(c.index), 'stroke-width': 0.8, fill: 'none' }),
        ...(c.plain ? [] : [glyph(c.index, x + 10, top + y)]), label(x + 20, top + y + 4, c.label ?? c.name, { fill: 'var(--ink)' }));
    }
  } else
    for (const { c, x, y, text } of legend) {
      const at = top + height + below + y + 10;
      names.append(svg('path', { d: `M${x} ${at - 4}h24`, stroke: c.plain ? 'var(--ink)' : colour(c.index), 'stroke-width': c.plain ? 2.6 : 1.7, 'stroke-dasharray': c.plain ? null : dash(c.index).join(' ') || null }),
        ...(c.plain ? [] : [glyph(c.index, x + 12, at - 4)]), label(x + 29, at, text, { fill: 'var(--ink)' }));
    }
  root.append(names);
  return { root, seen, beside, field: { left, top, width: inner, height, x: (v) => px(v), back: (p) => X.back(p - left) } };
}

const bubble = h('div', { class: 'tip', role: 'status', hidden: true });
document.addEventListener('keydown', (e) => { if (e.key === 'Escape') hide(); });
function hide() {
  pointed = null;
  bubble.hidden = true;
}

// at(): where of the window it points; it follows a point that keys have led to, and leaves with the pointer.
let pointed = null;
function settle() {
  const at = pointed();
  bubble.hidden = at.clientY < 0 || at.clientY > window.innerHeight;
  const box = bubble.getBoundingClientRect();
  bubble.style.left = `${Math.max(4, Math.min(at.clientX + 14, document.documentElement.clientWidth - box.width - 8))}px`;
  bubble.style.top = `${Math.max(4, at.clientY + 14 + box.height > window.innerHeight ? at.clientY - box.height - 10 : at.clientY + 14)}px`;
}
document.addEventListener('scroll', () => { if (pointed) settle(); else bubble.hidden = true; }, { capture: true, passive: true });

function show(at, text, follows = false) {
  if (!bubble.isConnected) document.body.append(bubble);
  bubble.textContent = text;
  pointed = at;
  settle();
  if (!follows) pointed = null;
}

// The point that a key leads to from the one number k: along its curve, to the nearest of another curve, to the ends.
function led(seen, k, key) {
  const last = seen.length - 1;
  if (key === 'Home' || k < 0) return 0;
  if (key === 'End') return last;
  if (key === 'ArrowRight') return Math.min(last, k + 1);
  if (key === 'ArrowLeft') return Math.max(0, k - 1);
  const kinds = [...new Set(seen.map((p) => p.of))], next = kinds[kinds.indexOf(seen[k].of) + (key === 'ArrowDown' ? 1 : -1)];
  if (!next && !kinds.includes(undefined)) return k;
  return seen.reduce((best, p, n) => (p.of === next && (best < 0 || Math.abs(p.x - seen[k].x) < Math.abs(seen[best].x - seen[k].x)) ? n : best), -1);
}

// A place for one figure, drawn as often as wanted; it follows the width of the place.  What a pointer learns of it, keys tell
// too: arrows lead from point to point, + and - enlarge around one and show all, Escape ends it.
export function chart(place) {
  let spec = null, drawn = null, width = 0, asked = -1;
  const forget = () => {
    asked = -1;
    hide();
    drawn?.root.querySelector('.asked')?.remove();
  };
  place.addEventListener('blur', forget);
  place.addEventListener('keydown', (e) => {
    if (!drawn || e.target !== place || e.ctrlKey || e.altKey || e.metaKey) return;
    const { seen, root, field } = drawn;
    if (e.key === 'Escape') {
      forget();
      return;
    }
    if (spec.zoom && (e.key === '-' || (e.key === '+' && seen.length))) {
      const x = seen[Math.max(0, asked)]?.x ?? 0;
      spec.zoom(e.key === '-' ? null : [field.back(Math.max(field.left, x - field.width / 4)), field.back(Math.min(field.left + field.width, x + field.width / 4))]);
    } else if (seen.length && /^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(e.key)) {
      const k = led(seen, asked, e.key);
      forget();
      asked = k < 0 ? 0 : k;
      const p = seen[asked];
      root.append(svg('circle', { class: 'asked', cx: number(p.x), cy: number(p.y), r: 9 }));
      show(() => {
        const box = root.getBoundingClientRect(), scale = box.width / width;
        return { clientX: box.left + p.x * scale, clientY: box.top + p.y * scale };
      }, p.tip, true);
    } else return;
    e.preventDefault();
    e.stopPropagation();
  });
  function render() {
    width = Math.max(240, Math.floor(place.clientWidth || 700));
    drawn = build(spec, width);
    asked = -1;
    for (const [k, v] of [['tabindex', 0], ['role', 'application'], ['aria-roledescription', 'figure'], ['aria-label', `${spec.alt}. Arrow keys: its values${spec.zoom ? '; plus and minus: enlarge' : ''}; Escape: end`]]) place.setAttribute(k, v);
    const { root, seen, field } = drawn;
    const find = (e) => {
      const box = root.getBoundingClientRect(), scale = width / box.width, x = (e.clientX - box.left) * scale, y = (e.clientY - box.top) * scale;
      let best = null, least = 18;
      for (const p of seen) {
        const d = Math.hypot(p.x - x, p.y - y);
        if (d < least) {
          least = d;
          best = p;
        }
      }
      return { best, x };
    };
    let from = null;
    const over = svg('rect', { x: 0, y: field.top, width: 0, height: field.height, fill: 'var(--accent)', opacity: 0.15 });
    root.append(over);
    root.addEventListener('pointermove', (e) => {
      const { best, x } = find(e);
      if (best) show(() => e, best.tip);
      else hide();
      if (from !== null) {
        over.setAttribute('x', Math.min(from, x));
        over.setAttribute('width', Math.abs(x - from));
      }
    });
    root.addEventListener('pointerleave', hide);
    if (spec.zoom) {
      root.addEventListener('pointerdown', (e) => { from = find(e).x; });
      root.addEventListener('pointerup', (e) => {
        const to = find(e).x;
        if (from !== null && Math.abs(to - from) > 12) spec.zoom([field.back(Math.min(from, to)), field.back(Math.max(from, to))]);
        from = null;
        over.setAttribute('width', 0);
      });
      root.addEventListener('dblclick', () => spec.zoom(null));
    }
    place.replaceChildren(root);
  }
  new ResizeObserver(() => { if (spec && place.clientWidth > 0 && Math.abs(place.clientWidth - width) > 1) render(); }).observe(place);
  return {
    draw(next) {
      spec = next;
      render();
    },
    clear(text) {
      spec = drawn = null;
      for (const k of ['tabindex', 'role', 'aria-roledescription', 'aria-label']) place.removeAttribute(k);
      place.replaceChildren(h('p', { class: 'note' }, text));
    },
    get svg() { return drawn?.root ?? null; },
    get spec() { return spec; },
    get beside() { return drawn?.beside ?? false; },
    get field() { return drawn?.field ?? null; },
  };
}
