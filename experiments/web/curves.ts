// SPDX-License-Identifier: GPL-3.0-or-later
// Curves over what the study varies: work and precision, convergence, and any figure against any number (scaling).
import { brief, varied } from './data';
import { frame, h, scroll, select, th } from './dom';
import { chart } from './plot';
import { specRows } from './save';
import { Selection } from './selection';
import { observedOrder, powerLaw } from './stats';

export const positive = (v) => v > 0 && Number.isFinite(v);

// What a pointer is told about a cell.
function tipOf(data, c, lines) {
  const list = [data.label(c), ...lines];
  if (data.mark(c)) list.push(`${data.cells.status[c]}: ${data.why(c)}`);
  return list.filter((l) => l).join('\n');
}

const valueLine = (data, c, m) => `${data.words(m)} = ${brief(data.value(c, m))}${data.metric[m]?.unit ? ` ${data.metric[m].unit}` : ''}${data.low(c, m) < data.high(c, m) ? ` (quartiles ${brief(data.low(c, m))} … ${brief(data.high(c, m))})` : ''}`;

// Published figures beside the curves that they stand for, at the abscissa of their cells.
function publishedPoints(data, groups, y) {
  const points = [];
  for (const p of data.published.filter((q) => q.metric === y && positive(q.value))) {
    const seen = new Set(), cells = new Set(p.cells);
    for (const g of groups)
      for (const c of g.cells) {
        const key = `${g.name} ${data.x(c)}`;
        if (!cells.has(c) || seen.has(key) || !positive(data.x(c))) continue;
        seen.add(key);
        points.push({ x: data.x(c), y: p.value, index: g.index, name: g.name, source: p.source, tip: `${p.source}\n${data.words(y)} = ${brief(p.value)}, published` });
      }
  }
  return points;
}

function metricsThat(data, test) {
  return data.metrics.filter((m) => test(m) && m.values.some((v, c) => positive(v) && data.stands(c))).map((m) => m.name);
}

const rank = (list, name) => (list.indexOf(name) + 1 || 99);

// What a run is judged by: the primary metric first, then as the study records them, then the others.
export function judged(data) {
  const wanted = [data.study.primary, ...data.study.record];
  return metricsThat(data, (m) => wanted.includes(m.name) || (m.better < 0 && !m.timing && !isWork(m.name)))
    .sort((a, b) => rank(wanted, a) - rank(wanted, b));
}

const isWork = (name) => /^(rhs|steps|kkt\.|lcp\.(iters|solves|work)|iterations|factorizations|matvecs|work)/.test(name);

export function works(data, first) {
  const order = [first, 'time.cpu', 'time.step_us', 'rhs.calls', 'steps'];
  return metricsThat(data, (m) => m.timing || isWork(m.name)).sort((a, b) => rank(order, a) - rank(order, b));
}

// The curves of the chosen groups.  abscissa(c), and of a metric on x its name.
export function curvesOf(data, groups, { abscissa, xMetric, y, skip }) {
  const curves = [], rail = [], count = { failed: 0, unplaced: 0, beyond: 0, zeros: 0, rings: new Set() };
  for (const g of groups) {
    const several = groups.some((o) => o !== g && o.name === g.name);
    const name = several && g.combo ? `${g.name}, ${g.combo}` : g.name || 'all';
    const points = [];
    for (const c of g.cells) {
      if (skip?.(c) || data.unsuited(c)) continue;
      const x = abscissa(c), v = data.value(c, y), bad = !data.stands(c);
      const tip = tipOf(data, c, bad ? [] : [xMetric ? valueLine(data, c, xMetric) : '', valueLine(data, c, y)]);
      if (bad) {
        count.failed++;
        if (positive(x)) rail.push({ x, index: g.index, tip });
        else count.unplaced++;
        continue;
      }
      if (!positive(x)) continue;
      if (!positive(v)) {
        if (v === 0) count.zeros++;
        continue;
      }
      if (data.mark(c)) count.rings.add(data.cells.status[c]);
      points.push({ x, y: v, cell: c, lo: data.low(c, y), hi: data.high(c, y), xlo: xMetric && data.low(c, xMetric), xhi: xMetric && data.high(c, xMetric), ring: data.mark(c) ? data.cells.status[c] : '', tip });
    }
    if (points.length) curves.push({ name, index: g.index, points });
  }
  return { curves, rail, count };
}

export function notesOf(data, { count, floor, stars, curves, what }) {
  const notes = [];
  if (floor > 0) notes.push(`Grey: below ten times the uncertainty of the reference (${brief(floor / 10)}).`);
  if (curves.some((c) => c.points.some((p) => p.hi > p.lo))) notes.push(curves.some((c) => c.spots) ? 'Lines: medians of the runs at one size. Bands: their quartiles.' : 'Bands: quartiles over the timing rounds.');
  if (curves.some((c) => c.points.some((p) => p.xhi > p.xlo))) notes.push('Thin lines: quartiles over the timing rounds.');
  if (count.rings.size) notes.push(`Ringed: ${[...count.rings].join(', ')}; such a run cannot win.`);
  if (count.failed) notes.push(`× above the plot: ${count.failed} failed ${count.failed === 1 ? 'run' : 'runs'}; point at a cross to see the cause${count.unplaced ? `; ${count.unplaced} of them have no ${what} and are not drawn` : ''}${count.beyond ? `; ${count.beyond} at an edge belong beyond it` : ''}.`);
  if (count.zeros) notes.push(`${count.zeros} exact ${count.zeros === 1 ? 'zero' : 'zeros'} cannot be drawn on a logarithmic axis.`);
  if (stars.length) notes.push(`★ published: ${[...new Set(stars.map((p) => p.source))].join('; ')}; in the colour of the curve to compare with.`);
  return notes.join(' ');
}

// What an error cannot be told from: the rounding of a figure without a unit, ten times the uncertainty of the reference.
const noise = (data, y) => Math.max(floorOf(data, y), data.metric[y]?.unit === '' && !data.metric[y].timing && !isWork(y) ? 1e-13 : 0);

// errors of coordinates are compared with a reference that is uncertain itself
export const floorOf = (data, y) => (/^err\.q/.test(y) ? 10 * data.reference : 0);

// Where several cells stand at one abscissa, the line goes through their medians, with their quartiles as a band.
function gathered(curve) {
  const at = new Map();
  for (const p of curve.points) {
    if (!at.has(p.x)) at.set(p.x, []);
    at.get(p.x).push(p);
  }
  curve.cells = curve.points;
  curve.points.sort((p, q) => p.x - q.x);
  if (at.size === curve.points.length) return;
  curve.spots = curve.points;
  const quantile = (list, q) => {
    const k = q * (list.length - 1), i = Math.floor(k);
    return list[i] + (k - i) * ((list[i + 1] ?? list[i]) - list[i]);
  };
  curve.points = [...at].map(([x, list]) => {
    const v = list.map((p) => p.y).sort((p, q) => p - q);
    return { x, y: quantile(v, 0.5), lo: quantile(v, 0.25), hi: quantile(v, 0.75), several: list.length };
  }).sort((p, q) => p.x - q.x);
}

// Common part.  xs: what may stand on x, [{ key, words }]; at(key): { value(c), title, metric?, skip? }.
function figure(data, { id, title, caption, xs, at, ys, y0 = ys[0], x0 = xs[0]?.key, after }: any) {
  let drawing;
  const f = frame(id, title, caption, { svg: () => drawing.svg, rows: () => (drawing.spec ? specRows(drawing.spec) : []) });
  drawing = chart(f.plot);
  const ySelect = select('y', ys.map((m) => [m, data.words(m)]), y0, (v) => { y = v; redraw(); }, `${id}.y`);
  const xSelect = select('x', xs.map((o) => [o.key, o.words]), x0, (v) => { x = v; redraw(); }, `${id}.x`);
  let y = ySelect.value, x = xSelect.value;
  const selection = new Selection(data.families ?? data, () => y, () => redraw(), id, (c) => at(x).value(c));
  const extra = h('div', {});
  f.plot.before(selection.chipBox);
  f.note.before(extra);
  f.controls.append(...selection.controls, ySelect, xSelect);

  function redraw() {
    const abscissa = at(x), groups = selection.groups();
    const { curves, rail, count } = curvesOf(data, groups, { abscissa: abscissa.value, xMetric: abscissa.metric, y, skip: abscissa.skip });
    if (!abscissa.metric) curves.forEach(gathered);
    // a figure of a run that was cut short must not stretch the axis
    const shown = curves.flatMap((c) => c.points.map((p) => p.x)), [left, right] = [Math.min(...shown), Math.max(...shown)];
    if (abscissa.metric && curves.length) for (const p of rail) {
      if (p.x < left || p.x > right) count.beyond++;
      p.x = Math.min(Math.max(p.x, left), right);
    }
    const floor = floorOf(data, y), stars = x === data.xKey ? publishedPoints(data, groups, y) : [];
    const table = after ? after(data, curves, { title: abscissa.title, floor: noise(data, y) }) : null;
    if (curves.length)
      drawing.draw({ alt: `${title}: ${data.words(y)} against ${abscissa.title}, ${curves.length} ${curves.length === 1 ? 'curve' : 'curves'}`, x: { title: abscissa.title, log: true }, y: { title: data.title(y), log: true }, curves: curves.length === 1 && curves[0].name === 'all' ? [{ ...curves[0], name: '' }] : curves, rail, stars, floor });
    else drawing.clear('Nothing to draw: no run of this choice has both values.');
    f.note.textContent = notesOf(data, { count, floor, stars, curves, what: abscissa.title });
    extra.replaceChildren(...(table ? [table] : []));
    f.state('drawn');
  }
  f.redraw = redraw;
  return f;
}

function fitTable(summary, head, rows) {
  if (rows.length === 0) return null;
  return h('details', { open: rows.length <= 16 }, h('summary', {}, summary),
    scroll(summary, h('table', { class: 'fits', 'aria-label': summary }, h('tr', {}, head.map((t, k) => th(t, k === 1 ? 'n' : null))),
      rows.map((r) => h('tr', {}, h('td', {}, h('code', {}, r[0])), h('td', { class: 'n' }, r[1]), ...r.slice(2).map((t) => h('td', {}, t)))))));
}

// Observed orders of the curves shown, with the steps that they are taken from; the names of the curves get them.
function orders(data, curves, { floor, title }) {
  const rows = [];
  for (const c of curves) {
    const o = observedOrder(c.cells.filter((p) => data.ok(p.cell)), floor);
    rows.push([c.name, o ? o.slope.toFixed(2) : 'none', o ? `${brief(o.from)} … ${brief(o.to)}` : 'no straight part that falls']);
    if (o) c.label = `${c.name}: order ${o.slope.toFixed(2)}`;
  }
  return fitTable('Observed orders', ['curve', 'order', title], rows);
}

function exponents(data, curves, { title, floor }) {
  const rows = [];
  for (const c of curves) {
    const e = powerLaw(c.cells.filter((p) => data.ok(p.cell) && p.y > floor));
    rows.push([c.name, e ? e.slope.toFixed(2) : 'none', e ? `${e.lo.toFixed(2)} … ${e.hi.toFixed(2)}` : '', e ? `${brief(e.from)} … ${brief(e.to)}` : 'fewer than three sizes, or no power']);
    if (e) c.label = `${c.name}: exponent ${e.slope.toFixed(2)}`;
  }
  return fitTable('Fitted exponents', ['curve', 'exponent', 'quartiles', title], rows);
}

export function curves(data) {
  const wanted = (name) => data.study.plots.length === 0 || data.study.plots.some((p) => p.startsWith(name));
  const problems = data.study.kind === 'lcp';
  const errors = judged(data), work = works(data, 'time.cpu'), list = [];
  const overMetric = (m) => ({ value: (c) => data.value(c, m), title: data.title(m), metric: m });
  if (!problems && data.view.x_name && wanted('work-precision') && errors.length && work.length)
    list.push(figure(data, {
      id: 'work-precision', title: 'Work and precision', xs: work.map((m) => ({ key: m, words: data.words(m) })), at: overMetric, ys: errors,
      caption: `Points are joined in the order of ${data.words(data.xKey)} or, under error control, of tolerance. Lower left is better.`,
    }));
  if (!problems && data.view.x_name && wanted('convergence') && data.xKey === 'h' && errors.length)
    list.push(figure(data, {
      id: 'convergence', title: 'Convergence', xs: [{ key: 'h', words: data.words('h') }], at: () => ({ value: data.x, title: data.xTitle, skip: data.adaptive }), ys: errors, after: orders,
      caption: 'Observed order: Theil–Sen slope of log error over log h, on the longest window in which neighbouring slopes differ by less than 0.2. Slopes below 0.25 are not shown: such errors come from rounding or from the reference. Errors below ten times the uncertainty of the reference are not fitted.',
    }));
  // only what the study varies stands on an axis; problems have their sizes too
  const numbers = Object.keys(data.quantity).map((key) => varied(data, key)).filter((q) => q.values > 1);
  const sizes = problems ? metricsThat(data, (m) => m.better === 0 && !m.timing) : [];
  const all = [...new Set([...errors, ...work, ...metricsThat(data, () => true)])];
  const over = (k) => (data.quantity[k] ? { value: numbers.find((q) => q.key === k).value, title: data.title(k) } : { value: (c) => data.value(c, k), title: data.title(k), sort: true });
  const xs = [...numbers.map((q) => q.key), ...sizes].map((k) => ({ key: k, words: data.words(k) }));
  // sizes of the problem before options of a method
  const scales = numbers.filter((q) => q.key !== 'h' && q.key !== 'tol' && (q.key === data.xKey || q.values > 2)).map((q) => q.key);
  const first = scales.find((k) => /^scene\./.test(k)) ?? (sizes.includes('rows') ? 'rows' : scales[0] ?? sizes[0]);
  if (xs.length && all.length && (data.xKey !== 'h' || wanted('time-vs-n') || wanted('scaling')) && first) {
    const shown = problems ? 'time.cpu' : data.study.primary;
    const y0 = all.includes(shown) ? shown : all[0];
    list.push(figure(data, {
      id: 'scaling', title: 'Scaling', xs, x0: data.xKey && data.xKey !== 'tol' && xs.some((o) => o.key === data.xKey) ? data.xKey : first, at: over, ys: all, y0, after: exponents,
      caption: 'Any measured quantity against any number that the study varies. Exponent: Theil–Sen slope of log y over log x over all sizes, with the quartiles of the slopes between pairs. No exponent is shown if the quartiles differ by more than 1, or for fewer than three sizes. Relative errors below 1e-13 (rounding) and ringed points are not fitted.',
    }));
    if (!problems && data.xKey !== 'h' && work.length && errors.length && !all[0].startsWith('time')) {
      const t = works(data, 'time.step_us');
      list.push(figure(data, { id: 'time', title: 'CPU time against size', xs, x0: data.xKey && xs.some((o) => o.key === data.xKey) ? data.xKey : first, at: over, ys: t, after: exponents, caption: 'Thread CPU time; the bands show the quartiles of the timing rounds. Exponents as above.' }));
    }
  }
  return list;
}
