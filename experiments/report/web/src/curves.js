// SPDX-License-Identifier: GPL-3.0-or-later
// Work-precision, convergence and time against size: curves over the abscissa of the study.
import { brief } from './data.js';
import { chart, logAxis, logDomain } from './chart.js';
import { frame, h, select } from './dom.js';
import { Selection } from './selection.js';
import { logSlope, observedOrder } from './stats.js';
import { colour, dash, ink, onTheme, shape } from './theme.js';

const positive = (v) => v > 0 && Number.isFinite(v);

// A star, for figures that somebody has published.
const star = 'M0,-1L.22,-.31L.95,-.31L.36,.12L.59,.81L0,.38L-.59,.81L-.36,.12L-.95,-.31L-.22,-.31Z';

// Marks of all curve figures.  points: { x, y, name, group, order, tip, failed, weak }; published: { x, y, name, tip }
export function curveSpec(points, groups, { x, y, height = 340, floor = 0, published = [] }) {
  const names = [...new Set(groups.map((g) => g.name))];
  const index = (n) => groups.find((g) => g.name === n).index;
  const drawn = points.filter((p) => !p.failed);
  const failed = points.filter((p) => p.failed);
  const xs = [...points, ...published].map((p) => p.x), ys = [...drawn, ...published].map((p) => p.y);
  const scale = (f) => ({ domain: names, range: names.map((n) => f(index(n))) });
  const xEncoding = { field: 'x', type: 'quantitative', scale: { type: 'log', domain: logDomain(xs), nice: false }, axis: logAxis(xs, x) };
  const yEncoding = { field: 'y', type: 'quantitative', scale: { type: 'log', domain: logDomain(ys, 1.6, failed.length ? 12 : 1.6), nice: false }, axis: logAxis(ys, y) };
  const color = { field: 'name', type: 'nominal', scale: scale(colour), legend: null };
  const shapes = { field: 'name', type: 'nominal', scale: scale(shape), legend: null };
  const layer = [
    ...(floor > yEncoding.scale.domain[0]
      ? [{
        data: { values: [{ x: xEncoding.scale.domain[0], x2: xEncoding.scale.domain[1], y: yEncoding.scale.domain[0], y2: Math.min(floor, yEncoding.scale.domain[1]), tip: `under ten times the uncertainty of the reference, ${brief(floor / 10)}` }] },
        mark: { type: 'rect', color: ink('soft'), opacity: 0.18 },
        encoding: { x: xEncoding, x2: { field: 'x2' }, y: yEncoding, y2: { field: 'y2' }, tooltip: { field: 'tip' } },
      }]
      : []),
    {
      data: { values: drawn },
      mark: { type: 'line', strokeWidth: 1.6, opacity: 0.85 },
      encoding: {
        x: xEncoding, y: yEncoding, color, detail: { field: 'group' }, order: { field: 'order', type: 'quantitative' },
        strokeDash: { field: 'name', type: 'nominal', scale: { domain: names, range: names.map((n) => { const d = dash(index(n)); return d.length ? d : [1, 0]; }) }, legend: null },
      },
    },
    {
      data: { values: drawn },
      mark: { type: 'point', filled: true, size: 46, opacity: 1 },
      encoding: { x: xEncoding, y: yEncoding, color, shape: shapes, tooltip: { field: 'tip' } },
    },
  ];
  const marked = drawn.filter((p) => p.mark);
  if (marked.length)
    layer.push({
      data: { values: marked },
      mark: { type: 'point', filled: false, size: 170, strokeWidth: 1.4, opacity: 1, color: ink('ink') },
      encoding: { x: xEncoding, y: yEncoding, tooltip: { field: 'tip' } },
    });
  if (failed.length)
    layer.push({
      data: { values: failed },
      mark: { type: 'point', shape: 'M-.5,-.5L.5,.5M-.5,.5L.5,-.5', size: 90, strokeWidth: 2.2, opacity: 1 },
      encoding: { x: xEncoding, y: { value: 9 }, color, tooltip: { field: 'tip' } },
    });
  if (published.length)
    layer.push({
      data: { values: published },
      mark: { type: 'point', shape: star, size: 130, filled: true, stroke: ink('ink'), strokeWidth: 0.9, opacity: 1 },
      encoding: { x: xEncoding, y: yEncoding, color, tooltip: { field: 'tip' } },
    });
  return { height, layer };
}

// Published figures beside the curves that they stand for, at the abscissa of their cells.
function publishedPoints(data, groups, y) {
  const points = [];
  for (const p of data.published.filter((q) => q.metric === y && positive(q.value))) {
    const seen = new Set();
    for (const g of groups)
      for (const c of g.cells) {
        const key = `${g.name} ${data.x(c)}`;
        if (!p.cells.includes(c) || seen.has(key) || !positive(data.x(c))) continue;
        seen.add(key);
        points.push({ x: data.x(c), y: p.value, name: g.name, tip: `${p.source}\n${y} = ${brief(p.value)}, published` });
      }
  }
  return points;
}

// y in [0, 1]; x positive
function tipOf(data, c, x, y) {
  const lines = [data.label(c), `${x} = ${brief(data.value(c, x))}`, `${y} = ${brief(data.value(c, y))}`];
  if (data.mark(c)) lines.push(`${data.cells.status[c]}: ${data.why(c)}`);
  return lines.filter((l) => !l.startsWith('null')).join('\n');
}

function metricsThat(data, test) {
  return data.metrics.filter((m) => test(m) && m.values.some((v, c) => positive(v) && data.stands(c))).map((m) => m.name);
}

// Errors first by the primary metric, then as the study records them.
function precisionMetrics(data) {
  const wanted = [data.study.primary, ...data.study.record];
  return metricsThat(data, (m) => m.better < 0 && !m.timing && /^(err|drift|energy|momentum|lambda|rel|gap|contact|pen)/.test(m.name))
    .sort((a, b) => (wanted.indexOf(a) + 1 || 99) - (wanted.indexOf(b) + 1 || 99));
}

function workMetrics(data, first) {
  const order = [first, 'time.cpu', 'time.step_us', 'rhs.calls', 'steps'];
  return metricsThat(data, (m) => m.timing || /^(rhs|steps|kkt|lcp|iterations|factorizations|work)/.test(m.name))
    .sort((a, b) => (order.indexOf(a) + 1 || 99) - (order.indexOf(b) + 1 || 99));
}

// Common part: controls, drawing, a note about what cannot be drawn.
function figure(data, { id, title, caption, xs, ys, after }) {
  const f = frame(id, title, caption);
  const draw = chart(f.plot);
  let x = xs ? xs[0] : null, y = ys[0];
  const selection = new Selection(data, () => y, () => redraw());
  const extra = h('div', {});
  f.plot.before(selection.chipBox);
  f.note.before(extra);
  f.controls.append(
    ...selection.controls,
    select('y', ys.map((m) => [m, m]), y, (v) => { y = v; redraw(); }),
    ...(xs ? [select('x', xs.map((m) => [m, m]), x, (v) => { x = v; redraw(); })] : []),
  );

  async function redraw() {
    const groups = selection.groups();
    const points = [];
    let failed = 0, unplaced = 0, zeros = 0;
    for (const g of groups)
      for (const c of g.cells) {
        if (!xs && data.adaptive(c)) continue; // its step is not what is varied
        const px = xs ? data.value(c, x) : data.x(c), py = data.value(c, y);
        const bad = !data.stands(c);
        if (bad) failed++;
        if (!positive(px)) { if (bad) unplaced++; continue; }
        if (!bad && !positive(py)) { if (py === 0) zeros++; continue; }
        points.push({ x: px, y: bad ? null : py, name: g.name, group: `${g.name} ${g.combo}`, order: data.order(c), failed: bad, mark: !bad && data.mark(c) ? data.cells.status[c] : '', tip: tipOf(data, c, x, y) });
      }
    const notes = [];
    // errors are compared with a reference that is uncertain itself (relative, of the coordinates)
    const floor = /^err\.q/.test(y) ? 10 * Math.max(0, ...data.references.map((r) => r.worst).filter((v) => v > 0)) : 0;
    if (floor > 0) notes.push(`Grey: under ten times the uncertainty of the reference (${brief(floor / 10)}).`);
    const marks = [...new Set(points.map((p) => p.mark).filter((m) => m))];
    if (marks.length) notes.push(`Ringed: ${marks.join(', ')}; such a point wins nothing.`);
    if (failed) notes.push(`× on the rail at the top: ${failed} failed ${failed === 1 ? 'cell' : 'cells'}, the cause when you point at it${unplaced ? `; ${unplaced} of them have no ${x} and are not drawn` : ''}.`);
    if (zeros) notes.push(`${zeros} exact zeros cannot be drawn on a logarithmic axis.`);
    const published = xs ? [] : publishedPoints(data, groups, y);
    if (published.length) notes.push(`★ published: ${[...new Set(published.map((p) => p.tip.split('\n')[0]))].join('; ')}; in the colour of the curve to compare with.`);
    if (points.some((p) => !p.failed)) {
      await draw(curveSpec(points, groups, { x: xs ? data.title(x) : data.view.x_name, y: data.title(y), floor, published }),
        `${title}: ${y} against ${x ?? data.view.x_name}, ${groups.length} curves`);
      f.state('drawn');
    } else {
      f.plot.replaceChildren(h('p', { class: 'note' }, 'Nothing to draw: no cell of this choice has both values.'));
      f.state('drawn');
    }
    f.note.textContent = notes.join(' ');
    extra.replaceChildren(...(after ? [after(data, groups, y, selection.at)] : []));
  }
  onTheme(() => { selection.redraw(true); redraw(); });
  f.redraw = redraw;
  return f;
}

// Table of the observed orders (over h) or exponents (over a size) of the curves shown.
function slopes(data, groups, y, at) {
  const overStep = data.xKey === 'h';
  const rows = [];
  for (const g of groups) {
    const points = g.cells.filter((c) => data.ok(c) && !data.adaptive(c)).map((c) => ({ x: data.x(c), y: data.value(c, y) }));
    if (points.length === 0) continue;
    const label = at.startsWith('*') && g.combo ? `${g.name}, ${g.combo}` : g.name || 'all';
    if (overStep) {
      const o = observedOrder(points);
      rows.push([label, o ? o.slope.toFixed(2) : '–', o ? `${brief(o.from)} … ${brief(o.to)}` : 'no straight window']);
    } else {
      const s = logSlope(points);
      rows.push([label, Number.isNaN(s) ? '–' : s.toFixed(2), points.length ? `${brief(points[0].x)} … ${brief(points[points.length - 1].x)}` : '']);
    }
  }
  if (rows.length === 0) return h('p', {});
  return h('details', { open: rows.length <= 8 },
    h('summary', {}, overStep ? 'Observed orders' : 'Fitted exponents'),
    h('div', { class: 'scroll' }, h('table', {},
      h('tr', {}, h('th', {}, 'curve'), h('th', { class: 'n' }, overStep ? 'order' : 'exponent'), h('th', {}, data.view.x_name)),
      rows.map((r) => h('tr', {}, h('td', {}, h('code', {}, r[0])), h('td', { class: 'n' }, r[1]), h('td', {}, r[2]))))));
}

export function curves(data) {
  if (!data.view.x_name) return [];
  const wanted = (name) => data.study.plots.length === 0 || data.study.plots.some((p) => p.startsWith(name));
  const errors = precisionMetrics(data), work = workMetrics(data, 'time.cpu');
  const list = [];
  if (wanted('work-precision') && errors.length && work.length)
    list.push(figure(data, {
      id: 'work-precision', title: 'Work and precision', xs: work, ys: errors,
      caption: `Points are joined in the order of ${data.view.x_name}, under error control of the tolerance; left and below is better.`,
    }));
  if (wanted('convergence') && data.xKey === 'h' && errors.length)
    list.push(figure(data, {
      id: 'convergence', title: 'Convergence', ys: errors, after: slopes,
      caption: 'Observed order: Theil–Sen slope of log error over log h on the longest window in which neighbouring slopes differ by less than 0.2; none where there is no such window of three points.',
    }));
  if (wanted('time-vs-n') && data.xKey !== 'h' && work.length)
    list.push(figure(data, {
      id: 'time', title: 'Time against size', ys: workMetrics(data, data.study.primary), after: slopes,
      caption: 'Thread-CPU time of one step: the median of the rounds. Exponent: Theil–Sen slope of log time over log size.',
    }));
  return list;
}
