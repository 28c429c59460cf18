// SPDX-License-Identifier: GPL-3.0-or-later
// Long series (uPlot): drift, energy and errors over time; residuals per iteration.
import uPlot from 'uplot';
import { brief, floats } from './data.js';
import { checkbox, frame, h, select } from './dom.js';
import { chips, Selection } from './selection.js';
import { box } from './profiles.js';
import { colour, dash, ink, markerPath, onTheme } from './theme.js';

// Series of all cells that have one, decoded when asked for.
export function seriesOf(data) {
  const byCell = new Map(data.series.map((s) => [s.cell, s]));
  const cache = new Map();
  return {
    has: (c) => byCell.has(c),
    fields: [...new Set(data.series.flatMap((s) => Object.keys(s.fields)))],
    get(c, field) {
      const key = `${c} ${field}`;
      if (!cache.has(key)) {
        const text = byCell.get(c)?.fields[field];
        cache.set(key, text ? floats(text) : null);
      }
      return cache.get(key);
    },
  };
}

const plainName = (field) => field.replace(/\[.*$/, '');

// Powers of ten, at most about eight of them; 1, 2, 5 over less than two decades.
function decades(lo, hi) {
  const from = Math.ceil(Math.log10(lo) - 1e-9), to = Math.floor(Math.log10(hi) + 1e-9);
  const list = [];
  if (to - from < 2) {
    for (let e = from - 1; e <= to; e++) for (const d of [1, 2, 5]) if (d * 10 ** e >= lo && d * 10 ** e <= hi) list.push(d * 10 ** e);
    return list;
  }
  const step = Math.ceil((to - from + 1) / 8);
  for (let e = Math.ceil(from / step) * step; e <= to; e += step) list.push(10 ** e);
  return list;
}

function pretty(v) {
  return v >= 1e-3 && v < 1e5 ? String(Number(v.toPrecision(3))) : v.toExponential(0).replace('e+', 'e');
}

// One plot of several curves: list [{ label, index, x, y }].  hooks.cursor(t) follows the pointer.
export function linePlot(place, list, { xTitle, yTitle, logX, logY, alt, cursor, height = 300, legend = false }) {
  const tables = list.map((c) => {
    const keep = [];
    for (let i = 0; i < c.x.length; i++)
      if (Number.isFinite(c.y[i]) && (!logY || c.y[i] > 0) && (!logX || c.x[i] > 0)) keep.push(i);
    const y = keep.map((i) => c.y[i]);
    // the rounding of a start that is exact would take more of the height than all that follows
    if (logY && y.length > 2 && y[0] < 1e-3 * y.slice(1).reduce((least, v) => Math.min(least, v), Infinity)) y[0] = null;
    return [keep.map((i) => c.x[i]), y];
  });
  if (tables.length === 0 || tables.every((t) => t[0].length === 0)) {
    place.replaceChildren(h('p', { class: 'note' }, 'Nothing to draw.'));
    return null;
  }
  const joined = tables.length === 1 ? tables[0] : uPlot.join(tables, tables.map((t) => t.slice(1).map(() => 2)));
  const axis = (title, log) => ({
    label: title, stroke: ink('soft'), grid: { stroke: ink('line'), width: 1 }, ticks: { stroke: ink('line'), width: 1 }, labelSize: 22, labelFont: '12px system-ui, sans-serif', font: '11px system-ui, sans-serif',
    ...(log ? { splits: (_u, _i, lo, hi) => decades(lo, hi), filter: (_u, splits) => splits, values: (_u, splits) => splits.map((v) => (v === null ? '' : pretty(v))), size: 56 } : { size: 56 }),
  });
  const holder = h('div', { role: 'img', 'aria-label': alt });
  place.replaceChildren(holder);
  const u = new uPlot(
    {
      width: Math.max(280, place.clientWidth), height,
      scales: { x: { time: false, distr: logX ? 3 : 1 }, y: { distr: logY ? 3 : 1 } },
      axes: [{ ...axis(xTitle, logX), size: 34 }, axis(yTitle, logY)],
      legend: { show: legend, live: true },
      cursor: { drag: { x: true, y: false }, points: { size: 6 } },
      series: [
        { label: xTitle, value: (_u, v) => brief(v) },
        ...list.map((c) => ({ label: c.label, stroke: colour(c.index), dash: dash(c.index), width: 1.5, spanGaps: true, points: { show: false }, value: (_u, v) => brief(v) })),
      ],
      hooks: {
        drawSeries: [(plot, k) => k > 0 && someMarkers(plot, k, list[k - 1].index, list.length)],
        ...(cursor ? { setCursor: [(plot) => { const i = plot.cursor.idx; if (i !== null && i !== undefined && plot.cursor.event) cursor(plot.data[0][i]); }] } : {}),
      },
    },
    joined, holder);
  return u;
}

// A few markers on a long line, so that colour is not all that tells it from the others.
function someMarkers(plot, k, index, curves) {
  const { left, width } = plot.bbox;
  const glyph = new Path2D(markerPath(index));
  const ctx = plot.ctx, size = devicePixelRatio, MARKS = 7;
  ctx.save();
  ctx.fillStyle = colour(index);
  let next = left + (width / MARKS) * ((k - 0.5) / curves);
  for (let i = 0; i < plot.data[0].length; i++) {
    const v = plot.data[k][i];
    if (v === null || v === undefined) continue;
    const x = plot.valToPos(plot.data[0][i], 'x', true);
    if (x < next || x > left + width) continue;
    const y = plot.valToPos(v, 'y', true);
    if (y >= plot.bbox.top && y <= plot.bbox.top + plot.bbox.height) {
      ctx.save();
      ctx.translate(x - 8 * size, y - 8 * size);
      ctx.scale(size, size);
      ctx.fill(glyph);
      ctx.restore();
    }
    while (next <= x) next += width / MARKS;
  }
  ctx.restore();
}

function fitTo(place, get) {
  new ResizeObserver(() => {
    const u = get();
    const w = Math.max(280, place.clientWidth);
    if (u && Math.abs(u.width - w) > 2) u.setSize({ width: w, height: u.height });
  }).observe(place);
}

// Drift, energy, errors over time.
export function timeSeries(data, series) {
  const time = series.fields.find((f) => plainName(f) === 't');
  if (!time) return [];
  const fields = series.fields.filter((f) => f !== time);
  if (fields.length === 0) return [];
  const f = frame('over-time', 'Drift, errors and energy over time',
    'Values at accepted states, after stabilization; drag to zoom, double click to come back. A run that diverged ends where it was stopped. Exact zeros are not drawn on a logarithmic axis.');
  let field = fields[0], plot = null, log = true;
  const xs = data.view.x_name ? [...new Set(Array.from({ length: data.n }, (_, c) => c).filter((c) => series.has(c)).map((c) => data.x(c)))].sort((a, b) => a - b) : [];
  const preferred = data.series.length ? data.x(data.series[0].cell) : NaN;
  let x = Number.isNaN(preferred) ? xs[0] : preferred;
  const selection = new Selection(data, () => data.study.primary, () => redraw());
  f.plot.before(selection.chipBox);
  f.controls.append(
    ...selection.controls,
    ...(data.view.x_name ? [select(data.xKey, xs.map((v) => [String(v), brief(v)]), String(x), (v) => { x = Number(v); redraw(); })] : []),
    select('show', fields.map((n) => [n, n]), field, (v) => { field = v; redraw(); }),
    checkbox('logarithmic', log, (v) => { log = v; redraw(); }),
  );
  function redraw() {
    const list = [];
    let without = 0;
    for (const g of selection.groups())
      for (const c of g.cells) {
        if (data.view.x_name && data.x(c) !== x) continue;
        const t = series.get(c, time), y = series.get(c, field);
        if (!t || !y) { without++; continue; }
        list.push({ label: selection.at.startsWith('*') && g.combo ? `${g.name}, ${g.combo}` : g.name || 'the only cell', index: g.index, x: t, y });
      }
    const positive = list.every((c) => c.y.every((v) => !(v < 0)));
    plot?.destroy();
    plot = linePlot(f.plot, list, { xTitle: time, yTitle: field, logY: log && positive, alt: `${field} over time, ${list.length} curves`, legend: list.length <= 12 });
    f.note.textContent = [
      without ? `${without} ${without === 1 ? 'cell has' : 'cells have'} no series on this page${data.series_left_out ? ' (the longest lists stay in the folder series/)' : ''}.` : '',
      log && !positive ? 'Some values are negative: a linear axis.' : '',
    ].join(' ');
    f.state('drawn');
  }
  fitTo(f.plot, () => plot);
  onTheme(() => { selection.redraw(true); redraw(); });
  f.redraw = redraw;
  return [f];
}

// Residual per iteration: all solvers on one problem.
export function residuals(data, series) {
  const b = box(data);
  if (!b || !series.fields.includes('iteration')) return [];
  const t = b.targets[b.targets.length - 1];
  const told = (p) => b.solvers.filter((s) => series.has(b.cell(p, t, s))).length;
  const problems = b.problems.filter((p) => told(p) > 0);
  if (problems.length === 0) return [];
  let problem = problems.reduce((best, p) => (told(p) > told(best) ? p : best)), plot = null;
  const hidden = new Set();
  const f = frame('residual-history', 'Residual per iteration', 'As the methods tell it. Pivots, sweeps and Newton steps are not equally dear: compare shapes, not lengths.');
  const box_ = h('div', {});
  f.plot.before(box_);
  f.controls.append(select('problem', problems.map((p) => [p, p]), problem, (v) => { problem = v; redraw(); }));
  function redraw() {
    box_.replaceChildren(chips(telling().map(({ s }) => s), hidden, draw));
    draw();
  }
  const telling = () => b.solvers.map((s) => ({ s, c: b.cell(problem, t, s) })).filter(({ c }) => c >= 0 && series.get(c, 'rel')).map((e, index) => ({ ...e, index }));
  function draw() {
    const list = telling().filter(({ s }) => !hidden.has(s))
      .map(({ s, index, c }) => ({ label: s, index, x: series.get(c, 'iteration').map((v) => v + 1), y: series.get(c, 'rel') }));
    plot?.destroy();
    plot = linePlot(f.plot, list, { xTitle: 'iteration + 1', yTitle: 'rel', logX: true, logY: true, alt: `residuals of ${list.length} solvers on ${problem}` });
    f.state('drawn');
  }
  fitTo(f.plot, () => plot);
  onTheme(redraw);
  f.redraw = redraw;
  return [f];
}
