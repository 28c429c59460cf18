// SPDX-License-Identifier: GPL-3.0-or-later
// Long series: drift, energy and errors over time; residuals per iteration.
import { brief, floats } from './data';
import { checkbox, frame, h, select } from './dom';
import { chart } from './plot';
import { box } from './profiles';
import { specRows } from './save';
import { chips, hiddenBy, Selection, usualOf } from './selection';

// Series of all cells that have one, decoded when asked for.
export function seriesOf(data) {
  const byCell = new Map<number, any>(data.series.map((s) => [s.cell, s]));
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

// A long line in `most` points: of each stretch the lowest and the highest.
function thinned(points, most = 400) {
  if (points.length <= most) return points;
  const list = [], width = points.length / (most / 2);
  for (let k = 0; k < most / 2; k++) {
    const part = points.slice(Math.floor(k * width), Math.max(Math.floor(k * width) + 1, Math.floor((k + 1) * width)));
    const lo = part.reduce((a, b) => (b.y < a.y ? b : a)), hi = part.reduce((a, b) => (b.y > a.y ? b : a));
    list.push(...(lo === hi ? [lo] : lo.x < hi.x ? [lo, hi] : [hi, lo]));
  }
  return list;
}

// Several curves over time: list [{ label, index, x, y }].
export function lineSpec(list, { xTitle, yTitle, logX, logY, alt, range, height = 300, zoom }: any) {
  const MARKS = 6;
  const curves = list.map((c, number) => {
    let points = [];
    for (let i = 0; i < c.x.length; i++)
      if (Number.isFinite(c.y[i]) && (!logY || c.y[i] > 0) && (!logX || c.x[i] > 0) && (!range || (c.x[i] >= range[0] && c.x[i] <= range[1]))) points.push({ x: c.x[i], y: c.y[i] });
    // the rounding of a start that is exact would take more of the height than all that follows
    if (logY && points.length > 2 && points[0].y < 1e-3 * points.slice(1).reduce((least, p) => Math.min(least, p.y), Infinity)) points.shift();
    points = thinned(points).map((p) => ({ ...p, tip: `${c.label}\n${xTitle}: ${brief(p.x)}\n${yTitle}: ${brief(p.y)}` }));
    // a few markers, so that colour is not all that tells a line from the others
    const step = points.length / MARKS, spots = points.length <= 12 ? points : Array.from({ length: MARKS }, (_, k) => points[Math.min(points.length - 1, Math.floor((k + (number + 0.5) / list.length) * step))]);
    return { name: c.label, index: c.index, points, spots };
  }).filter((c) => c.points.length);
  return curves.length ? { height, alt, zoom, x: { title: xTitle, log: logX }, y: { title: yTitle, log: logY }, curves } : null;
}

const fieldWords = { t: 'time t', 'drift.pos': 'constraint error of the joints', 'drift.pos.pre': 'constraint error before stabilization', 'drift.vel': 'velocity error of the joints', 'err.tip': 'error of the tip', 'err.q': 'error of the coordinates', energy: 'energy' };
// "drift.pos[m or rad]" in words, with the unit
export function fieldTitle(field) {
  const name = plainName(field), unit = /\[(.*)\]/.exec(field)?.[1];
  return unit ? `${fieldWords[name] ?? name} [${unit}]` : fieldWords[name] ?? name;
}

const ROUNDING = 1e-14, VISIBLE = 1e-12;
// Drift, energy, errors over time.
export function timeSeries(data, series) {
  const time = series.fields.find((f) => plainName(f) === 't');
  if (!time) return [];
  const fields = series.fields.filter((f) => f !== time);
  if (fields.length === 0) return [];
  // of an energy what matters is how it changes; its absolute value hides that
  const shown = fields.flatMap((n) => (plainName(n) === 'energy' ? [[`change of ${n}`, `change of the ${fieldTitle(n)}`], [n, fieldTitle(n)]] : [[n, fieldTitle(n)]]));
  let drawing, range = null;
  const f = frame('over-time', 'Drift, errors and energy over time',
    'Values at accepted states, after stabilization. Drag to zoom, double click to reset. The curve of a diverged run ends at that time. The change of the energy is |E − initial E|. Exact zeros are not drawn on a logarithmic axis.',
    { svg: () => drawing.svg, rows: () => (drawing.spec ? specRows(drawing.spec) : []) });
  drawing = chart(f.plot);
  const xs = data.view.x_name ? [...new Set(Array.from({ length: data.n }, (_, c) => c).filter((c) => series.has(c)).map((c) => data.x(c)))].sort((a, b) => a - b) : [];
  const preferred = data.series.length ? data.x(data.series[0].cell) : NaN;
  const xSelect = select(data.xKey ? data.words(data.xKey) : '', xs.map((v) => [String(v), brief(v)]), String(Number.isNaN(preferred) ? xs[0] : preferred), (v) => { x = Number(v); redraw(); }, 'over-time.x');
  const ySelect = select('show', shown, shown[0][0], (v) => { field = v; range = null; redraw(); }, 'over-time.y');
  const logBox = checkbox('logarithmic', true, (v) => { log = v; redraw(); }, 'over-time.log');
  let x = Number(xSelect.value), field = ySelect.value, log = logBox.value;
  const selection = new Selection(data, () => data.study.primary, () => redraw(), 'over-time');
  f.plot.before(selection.chipBox);
  f.controls.append(...selection.controls, ...(data.view.x_name ? [xSelect] : []), ySelect, logBox);
  function redraw() {
    const list = [], change = field.startsWith('change of '), own = change ? field.slice('change of '.length) : field;
    let without = 0;
    for (const g of selection.groups())
      for (const c of g.cells) {
        if (data.view.x_name && data.x(c) !== x) continue;
        const t = series.get(c, time);
        let y = series.get(c, own);
        if (!t || !y) { without++; continue; }
        if (change) y = y.map((v) => Math.abs(v - y[0]));
        list.push({ label: selection.at.startsWith('*') && g.combo ? `${g.name}, ${g.combo}` : g.name || 'the only run', index: g.index, x: t, y });
      }
    const signed = list.some((c) => c.y.some((v) => v < 0));
    const yTitle = shown.find((o) => o[0] === field)[1];
    const spec = lineSpec(list, { xTitle: fieldTitle(time), yTitle, logY: log && !signed, alt: `${yTitle} over time, ${list.length} curves`, range, zoom: (r) => { range = r; redraw(); } });
    // rounding errors do not fill a chart: they keep their distance from what could be seen
    const most = Math.max(0, ...list.flatMap((c) => c.y.filter((v) => Number.isFinite(v)))), quiet = spec && log && !signed && most > 0 && most < VISIBLE;
    if (quiet) Object.assign(spec, { floor: ROUNDING, y: { ...spec.y, domain: [Math.min(ROUNDING / 10, ...list.flatMap((c) => c.y.filter((v) => v > 0))), VISIBLE] } });
    if (spec) drawing.draw(spec);
    else drawing.clear('Nothing to draw: no run of this choice has such a series.');
    f.note.textContent = [
      without ? `${without} ${without === 1 ? 'run has' : 'runs have'} no series on this page${data.series_left_out ? ' (the longest series are only in the folder series/)' : ''}.` : '',
      quiet ? `Grey: below ${brief(ROUNDING)}, rounding errors.` : '',
      log && signed ? 'Some values are negative: the axis is linear.' : '',
    ].join(' ');
    f.state('drawn');
  }
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
  const usual = problems.reduce((best, p) => (told(p) > told(best) ? p : best)), hidden = new Set(hiddenBy('residual-history.hide') ?? []);
  usualOf('residual-history.hide', new Set());
  let drawing;
  const f = frame('residual-history', 'Residual per iteration', 'As reported by the methods. Pivots, sweeps and Newton steps have different costs: compare the shapes of the curves, not their lengths.',
    { svg: () => drawing.svg, rows: () => (drawing.spec ? specRows(drawing.spec) : []) });
  drawing = chart(f.plot);
  const row = h('div', {});
  f.plot.before(row);
  const problemSelect = select('problem', problems, usual, (v) => { problem = v; redraw(); }, 'residual-history.problem');
  let problem = problemSelect.value;
  f.controls.append(problemSelect);
  function redraw() {
    row.replaceChildren(chips(telling().map(({ s }) => s), hidden, draw, 'residual-history.hide'));
    draw();
  }
  const telling = () => b.solvers.map((s) => ({ s, c: b.cell(problem, t, s) })).filter(({ c }) => c >= 0 && series.get(c, 'rel')).map((e, index) => ({ ...e, index }));
  function draw() {
    const list = telling().filter(({ s }) => !hidden.has(s))
      .map(({ s, index, c }) => ({ label: s, index, x: series.get(c, 'iteration').map((v) => v + 1), y: series.get(c, 'rel') }));
    const spec = lineSpec(list, { xTitle: 'iteration + 1', yTitle: 'relative residual reported by the method', logX: true, logY: true, alt: `residuals of ${list.length} solvers on ${problem}` });
    if (spec) drawing.draw(spec);
    else drawing.clear('Nothing to draw.');
    f.state('drawn');
  }
  f.redraw = redraw;
  return [f];
}
