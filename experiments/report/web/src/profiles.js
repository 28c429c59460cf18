// SPDX-License-Identifier: GPL-3.0-or-later
// Problems x solvers: performance profile, data profile, ECDF, time against size, residual histories.  All are
// computed here from the cells, so that they follow the choice of solvers.
import { brief } from './data.js';
import { chart, logDomain, plain } from './chart.js';
import { checkbox, frame, h, select } from './dom.js';
import { chips } from './selection.js';
import { curveSpec } from './curves.js';
import { logSlope, random } from './stats.js';
import { colour, dash, onTheme, shape } from './theme.js';

const RESAMPLES = 300, GRID = 80, LEVEL = 0.9;
const BANDS = 8; // more of them hide each other
const FIRST = 10; // solvers shown at the start when there are many more

// The cells as solver x problem x target; null for studies of another kind.
export function box(data) {
  if (data.study.kind !== 'lcp' || !data.axis.lcp || !data.axis.problem) return null;
  const solvers = data.axis.lcp.values, problems = data.axis.problem.values;
  const targets = data.axis.tol ? [...data.axis.tol.values].sort((a, b) => b - a) : ['the only target'];
  const at = new Map();
  const key = (p, t, s) => `${p}\n${t}\n${s}`;
  for (let c = 0; c < data.n; c++)
    at.set(key(data.text(c, 'problem'), data.axis.tol ? data.text(c, 'tol') : targets[0], data.text(c, 'lcp')), c);
  const cell = (p, t, s) => at.get(key(p, t, s)) ?? -1;
  const family = (p) => (p.startsWith('file:') ? 'file' : p.split(':')[0]);
  const missing = problems.length * targets.length * solvers.length - data.n;
  return { solvers, problems, targets, cell, family, families: [...new Set(problems.map(family))], missing };
}

// Cost of a solved cell, infinite when it was not solved.
function cost(data, c, metric) {
  if (c < 0 || !data.ok(c)) return Infinity;
  const v = data.value(c, metric);
  return v > 0 ? v : Infinity;
}

// One distribution a solver.  items: [{ problem, costs: [per solver] }].  Bands: percentile bootstrap over
// problems, with all their targets.
function distributions(items, solvers, withBands) {
  const finite = items.flatMap((i) => i.costs.filter(Number.isFinite));
  if (finite.length === 0) return null;
  const lo = Math.min(...finite), hi = Math.max(...finite) * 1.15;
  const problems = [...new Set(items.map((i) => i.problem))];
  const number = new Map(problems.map((p, k) => [p, k]));
  const grid = Array.from({ length: GRID }, (_, k) => lo * (hi / lo) ** (k / (GRID - 1)));
  const weights = [];
  if (withBands) {
    const next = random(20020110);
    for (let b = 0; b < RESAMPLES; b++) {
      const w = new Float64Array(problems.length);
      for (let k = 0; k < problems.length; k++) w[Math.floor(next() * problems.length)]++;
      weights.push(w);
    }
  }
  return solvers.map((name, s) => {
    const sorted = items.map((i) => ({ cost: i.costs[s], problem: number.get(i.problem) })).filter((i) => Number.isFinite(i.cost)).sort((a, b) => a.cost - b.cost);
    const steps = [];
    sorted.forEach((i, k) => {
      if (k + 1 === sorted.length || sorted[k + 1].cost > i.cost) steps.push({ x: i.cost, y: (k + 1) / items.length });
    });
    if (steps.length && steps[0].x > lo) steps.unshift({ x: lo, y: 0 });
    if (steps.length) steps.push({ x: hi, y: steps[steps.length - 1].y });
    const band = [];
    if (withBands && steps.length) {
      const perProblem = items.length / problems.length;
      const share = weights.map((w) => {
        const row = new Float64Array(GRID);
        let k = 0, sum = 0;
        for (let g = 0; g < GRID; g++) {
          while (k < sorted.length && sorted[k].cost <= grid[g]) sum += w[sorted[k++].problem];
          row[g] = sum / (perProblem * problems.length);
        }
        return row;
      });
      for (let g = 0; g < GRID; g++) {
        const v = Float64Array.from(share, (row) => row[g]).sort();
        const at = (q) => v[Math.min(v.length - 1, Math.floor(q * v.length))];
        band.push({ x: grid[g], lo: at((1 - LEVEL) / 2), hi: at((1 + LEVEL) / 2) });
      }
    }
    return { name, steps, band, solved: sorted.length };
  });
}

function distributionSpec(list, index, { x, total }) {
  const names = list.map((d) => d.name);
  const color = { field: 'name', type: 'nominal', legend: null, scale: { domain: names, range: names.map((n) => colour(index(n))) } };
  const line = list.flatMap((d) => d.steps.map((s) => ({ ...s, name: d.name, tip: `${d.name}\nsolves ${d.solved} of ${total}\nwithin ${brief(s.x)}: ${brief(100 * s.y)} %` })));
  const band = list.flatMap((d) => d.band.map((b) => ({ ...b, name: d.name })));
  // a few markers on each step line
  const MARKS = 6;
  const marks = list.flatMap((d, k) => {
    const lo = d.steps[0].x, hi = d.steps[d.steps.length - 1].x;
    return Array.from({ length: MARKS }, (_, m) => {
      const x = lo * (hi / lo) ** ((m + (k + 0.5) / list.length) / MARKS);
      return { x, y: d.steps.filter((s) => s.x <= x).pop().y, name: d.name };
    });
  });
  const xs = line.map((p) => p.x);
  const xEncoding = { field: 'x', type: 'quantitative', scale: { type: 'log', domain: logDomain(xs, 1, 1), nice: false }, axis: { title: x, labelExpr: plain, labelOverlap: true, tickCount: 6 } };
  const yAxis = { title: 'share solved', format: '%' };
  return {
    height: 330,
    layer: [
      { data: { values: band }, mark: { type: 'area', opacity: 0.13, interpolate: 'step-after' }, encoding: { x: xEncoding, y: { field: 'lo', type: 'quantitative', scale: { domain: [0, 1] }, axis: yAxis }, y2: { field: 'hi' }, color } },
      {
        data: { values: line },
        mark: { type: 'line', interpolate: 'step-after', strokeWidth: 1.7 },
        encoding: { x: xEncoding, y: { field: 'y', type: 'quantitative', scale: { domain: [0, 1] }, axis: yAxis }, color, strokeDash: { field: 'name', type: 'nominal', legend: null, scale: { domain: names, range: names.map((n) => { const d = dash(index(n)); return d.length ? d : [1, 0]; }) } } },
      },
      { data: { values: marks }, mark: { type: 'point', filled: true, size: 42, opacity: 1 }, encoding: { x: xEncoding, y: { field: 'y', type: 'quantitative' }, color, shape: { field: 'name', type: 'nominal', legend: null, scale: { domain: names, range: names.map((n) => shape(index(n))) } } } },
      { data: { values: line.filter((_, k) => k % 3 === 0) }, mark: { type: 'point', opacity: 0, size: 120 }, encoding: { x: xEncoding, y: { field: 'y', type: 'quantitative' }, tooltip: { field: 'tip' } } },
    ],
  };
}

const kinds = {
  performance: {
    title: 'Performance profile',
    axis: (metric) => `${metric} / that of the best solver shown`,
    caption: 'Dolan and Moré: share of problems solved within a factor τ of the best solver shown. A failure never counts as solved, and a problem that all fail stays in the denominator. The curves move when a solver is switched off.',
  },
  data: {
    title: 'Data profile',
    axis: () => 'work, in products with A (the cost of a sweep)',
    caption: 'Moré and Wild: share of problems solved within a budget of work; the unit is the time of one product Aλ of the same problem.',
  },
  ecdf: {
    title: 'ECDF',
    axis: (metric, data) => data.title(metric),
    caption: 'Share of (problem, target) pairs solved within a cost. It does not depend on which other solvers are shown.',
  },
};

function profileFigure(data, b, kind, shared) {
  const what = kinds[kind];
  const f = frame(kind === 'ecdf' ? kind : `${kind}-profile`, what.title, `${what.caption} Bands: 90 % bootstrap over the problems.`);
  const draw = chart(f.plot);
  const metrics = kind === 'data' ? ['work.products'] : ['time.cpu', 'work.products', 'iterations'].filter((m) => data.metric[m]);
  let metric = metrics[0], target = kind === 'ecdf' ? '*' : b.targets[b.targets.length - 1], family = '*', bands = true;
  f.controls.append(
    ...(kind === 'ecdf' ? [] : [select('rel ≤', b.targets, target, (v) => { target = v; redraw(); })]),
    select('family', [['*', 'all problems'], ...b.families], family, (v) => { family = v; redraw(); }),
    select('cost', metrics, metric, (v) => { metric = v; redraw(); }),
    checkbox('bands', bands, (v) => { bands = v; redraw(); }),
  );
  async function redraw() {
    const solvers = b.solvers.filter((s) => !shared.hidden.has(s));
    const targets = target === '*' ? b.targets : [target];
    const items = [];
    for (const p of b.problems) {
      if (family !== '*' && b.family(p) !== family) continue;
      for (const t of targets) {
        const costs = solvers.map((s) => cost(data, b.cell(p, t, s), metric));
        const best = Math.min(...costs);
        items.push({ problem: p, costs: kind === 'performance' ? costs.map((c) => (Number.isFinite(c) ? c / best : c)) : costs });
      }
    }
    const shown = bands && solvers.length <= BANDS;
    const list = distributions(items, solvers, shown)?.filter((d) => d.steps.length);
    if (!list || list.length === 0) f.plot.replaceChildren(h('p', { class: 'note' }, 'Nothing to draw: nothing of this choice was solved.'));
    else
      await draw(distributionSpec(list, (n) => b.solvers.indexOf(n), { x: what.axis(metric, data), total: items.length }),
        `${what.title}: share of ${items.length} items solved against ${metric}, ${list.length} solvers`);
    const none = solvers.filter((s) => !list?.some((d) => d.name === s));
    f.note.textContent = [
      none.length ? `Solve none of these: ${none.join(', ')}.` : '',
      bands && !shown ? `Bands are drawn for up to ${BANDS} solvers: switch some off.` : '',
    ].join(' ');
    f.state('drawn');
  }
  onTheme(redraw);
  f.redraw = redraw;
  shared.figures.push(redraw);
  return f;
}

function timeFigure(data, b, shared) {
  const f = frame('time-vs-n', 'Time against size', 'Solved problems only. Exponent: Theil–Sen slope of log time over log n.');
  const draw = chart(f.plot);
  const several = b.families.filter((fam) => new Set(b.problems.filter((p) => b.family(p) === fam).map((p) => b.solvers.map((s) => data.value(b.cell(p, b.targets[b.targets.length - 1], s), 'rows')).find((v) => v > 0))).size > 1);
  if (several.length === 0) return null;
  let family = several[0], metric = 'time.cpu';
  f.controls.append(select('family', several, family, (v) => { family = v; redraw(); }),
    select('y', ['time.cpu', 'work.products', 'iterations'].filter((m) => data.metric[m]), metric, (v) => { metric = v; redraw(); }));
  async function redraw() {
    const t = b.targets[b.targets.length - 1];
    const points = [], groups = [], slopes = [];
    b.solvers.forEach((s, index) => {
      if (shared.hidden.has(s)) return;
      const own = b.problems.filter((p) => b.family(p) === family).map((p) => b.cell(p, t, s)).filter((c) => c >= 0 && Number.isFinite(cost(data, c, metric)))
        .map((c) => ({ x: data.value(c, 'rows'), y: cost(data, c, metric), name: s, group: s, failed: false, tip: `${s}\n${data.text(c, 'problem')}\nn = ${data.value(c, 'rows')}\n${metric} = ${brief(data.value(c, metric))}` }))
        .sort((p, q) => p.x - q.x);
      // one line through the medians of each size
      if (own.length === 0) return;
      own.forEach((p) => { p.order = p.x; });
      groups.push({ name: s, index });
      points.push(...own);
      const e = logSlope(own);
      if (!Number.isNaN(e)) slopes.push(`${s} n^${e.toFixed(2)}`);
    });
    if (points.length) await draw(curveSpec(points, groups, { x: 'rows n', y: data.title(metric) }), `${family}: ${metric} against n, ${groups.length} solvers`);
    else f.plot.replaceChildren(h('p', { class: 'note' }, 'Nothing of this family was solved.'));
    f.note.textContent = slopes.length ? `Fitted exponents: ${slopes.join(', ')}.` : '';
    f.state('drawn');
  }
  onTheme(redraw);
  f.redraw = redraw;
  shared.figures.push(redraw);
  return f;
}

// All figures of a study of problems; shared.hidden are the solvers that are switched off everywhere.
export function profiles(data) {
  const b = box(data);
  if (!b) return [];
  const shared = { hidden: new Set(), figures: [] };
  if (b.solvers.length > FIRST + 2) {
    // start with those that solve most, the faster of two equals
    const score = b.solvers.map((s) => {
      const costs = b.problems.flatMap((p) => b.targets.map((t) => cost(data, b.cell(p, t, s), 'time.cpu'))).filter(Number.isFinite);
      return { s, n: costs.length, time: costs.reduce((sum, v) => sum + Math.log(v), 0) / Math.max(1, costs.length) };
    });
    score.sort((p, q) => q.n - p.n || p.time - q.time);
    for (const { s } of score.slice(FIRST)) shared.hidden.add(s);
  }
  const list = [
    profileFigure(data, b, 'ecdf', shared),
    profileFigure(data, b, 'performance', shared),
    ...(data.metric['work.products'] ? [profileFigure(data, b, 'data', shared)] : []),
    timeFigure(data, b, shared),
  ].filter((f) => f);
  const bar = h('div', { class: 'sticky' }, h('p', { class: 'note' }, shared.hidden.size ? `Solvers shown in the figures below (at the start the ${FIRST} that solve most):` : 'Solvers shown in the figures below:',
    b.missing > 0 ? ` (${b.missing} combinations were not run; they count as not solved)` : ''));
  const fill = () => bar.replaceChildren(bar.firstChild, chips(b.solvers, shared.hidden, () => shared.figures.forEach((f) => f())));
  fill();
  onTheme(fill);
  return [{ element: bar }, ...list];
}
