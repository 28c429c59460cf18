// SPDX-License-Identifier: GPL-3.0-or-later
// Problems x solvers: ECDF by budget, performance and data profile.  All are
// computed here from the cells, so that they follow the choice of solvers.
import { brief } from './data';
import { checkbox, frame, h, select } from './dom';
import { chart } from './plot';
import { specRows } from './save';
import { chips, hiddenBy, usualOf } from './selection';
import { random } from './stats';

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

// The same data with the family of a problem as one more part that varies.
export function withFamilies(data) {
  const b = box(data);
  if (!b || b.families.length < 2) return data;
  const of = data.axis.problem.of.map((k) => (k < 0 ? -1 : b.families.indexOf(b.family(data.axis.problem.values[k]))));
  const family = { key: 'family', values: b.families, names: b.families, of };
  const axis = { ...data.axis, family };
  return { ...data, axis, view: { ...data.view, axes: ['family', ...data.view.axes] }, text: (c, k) => (k === 'family' ? b.families[of[c]] ?? '' : data.text(c, k)), name: (c, k) => (k === 'family' ? b.families[of[c]] ?? '' : data.name(c, k)) };
}

// Cost of a solved cell, infinite when it was not solved.  What is counted is at least 1.
function cost(data, c, metric) {
  if (c < 0 || !data.ok(c)) return Infinity;
  const v = data.value(c, metric);
  return v >= 0 && !data.metric[metric].timing ? Math.max(v, 1) : v > 0 ? v : Infinity;
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

function distributionSpec(list, index, { x, y, total, best, alt }) {
  const MARKS = 5; // a few on each step line
  const curves = list.map((d, k) => {
    const lo = d.steps[0].x, hi = d.steps[d.steps.length - 1].x;
    const spots = d.plain ? [] : Array.from({ length: MARKS }, (_, m) => {
      const at = lo * (hi / lo) ** ((m + (k + 0.5) / list.length) / MARKS);
      return { x: at, y: d.steps.filter((s) => s.x <= at).pop().y };
    });
    const points = d.steps.map((s) => ({ ...s, tip: `${d.name}\n${d.plain ? '' : `solves ${d.solved} of ${total}\n`}within ${brief(s.x)}: ${brief(100 * s.y)} %` }));
    return { name: d.name, index: index(d.name), points, spots, step: true, plain: d.plain, band: d.band, end: d.end };
  });
  return { height: 330, alt, x: { title: x, log: true, domain: best.domain }, y: { title: y, domain: [0, 1], format: (v) => `${Math.round(100 * v)} %` }, curves };
}

// the titles and captions are those of the pictures (profiles.c)
const kinds = {
  performance: (metric, data) => `${data.words(metric)}, as a multiple of the best solver shown`,
  data: () => 'work [products with A, the cost of a sweep]',
  ecdf: (metric, data) => `budget: ${data.title(metric)}`,
};

// Budgets that can be told of every solved cell; work first, which is the same on every machine.
function budgets(data, first) {
  const list = [first, 'work.counted', 'time.cpu', 'work.products', 'iterations', 'matvecs'].filter((m, k, l) => data.metric[m] && l.indexOf(m) === k);
  const solved = Array.from({ length: data.n }, (_, c) => c).filter((c) => data.ok(c));
  return list.filter((m) => m === 'time.cpu' || solved.every((c) => data.value(c, m) >= 0));
}

function profileFigure(data, b, kind, shared) {
  const what = data.profiles[kind], id = kind === 'ecdf' ? kind : `${kind}-profile`;
  let drawing;
  const f = frame(id, what.title, `${what.caption} Bands: 90 % bootstrap over the problems.`, { svg: () => drawing.svg, rows: () => (drawing.spec ? specRows(drawing.spec) : []) });
  drawing = chart(f.plot);
  const metrics = kind === 'data' ? ['work.products'] : budgets(data, kind === 'performance' ? 'time.cpu' : 'work.counted'), usual = metrics[0];
  const targetSelect = select('rel ≤', [...(kind === 'ecdf' ? [['*', 'all targets']] : []), ...b.targets], kind === 'ecdf' ? '*' : b.targets[b.targets.length - 1], (v) => { target = v; redraw(); }, `${id}.target`);
  const familySelect = select('family', [['*', 'all problems'], ...b.families], '*', (v) => { family = v; redraw(); }, `${id}.family`);
  const metricSelect = select('budget', metrics.map((m) => [m, data.words(m)]), usual, (v) => { metric = v; redraw(); }, `${id}.budget`);
  const bandBox = checkbox('bands', true, (v) => { bands = v; redraw(); }, `${id}.bands`);
  let metric = metricSelect.value, target = targetSelect.value, family = familySelect.value, bands = bandBox.value;
  f.controls.append(targetSelect, familySelect, metricSelect, bandBox);
  function redraw() {
    const solvers = b.solvers.filter((s) => !shared.hidden.has(s));
    const targets = target === '*' ? b.targets : [target];
    const items = [], spent = solvers.map(() => 0);
    let unknown = 0;
    for (const p of b.problems) {
      if (family !== '*' && b.family(p) !== family) continue;
      for (const t of targets) {
        const cells = solvers.map((s) => b.cell(p, t, s)), costs = cells.map((c) => cost(data, c, metric));
        const best = Math.min(...costs);
        // solved, and nobody has this figure: it is not measured of such problems
        const all = b.solvers.map((s) => b.cell(p, t, s)).filter((c) => c >= 0 && data.ok(c));
        if (all.length && !all.some((c) => Number.isFinite(cost(data, c, metric)))) {
          unknown++;
          continue;
        }
        cells.forEach((c, k) => { const v = c < 0 ? NaN : data.value(c, metric); if (v > spent[k]) spent[k] = v; });
        items.push({ problem: p, best, costs: kind === 'performance' ? costs.map((c) => (Number.isFinite(c) ? c / best : c)) : costs });
      }
    }
    const shown = bands && solvers.length <= BANDS;
    const list = distributions(items, solvers, shown)?.filter((d) => d.steps.length);
    if (!list || list.length === 0) drawing.clear('Nothing to draw: no problem of this choice was solved.');
    else {
      const finite = list.flatMap((d) => d.steps.map((s) => s.x));
      let domain = [Math.min(...finite), Math.max(...finite)];
      if (kind === 'ecdf') {
        domain[1] = 1.1 * Math.max(...items.flatMap((i) => i.costs.filter(Number.isFinite)), ...spent.filter((_, k) => list.some((d) => d.name === solvers[k])));
        for (const d of list) {
          const x = spent[solvers.indexOf(d.name)], last = d.steps[d.steps.length - 1];
          last.x = domain[1];
          if (x > 0) d.end = { x, y: d.steps.filter((s) => s.x <= x).pop()?.y ?? 0, tip: `${d.name}\nlargest budget spent: ${brief(x)}` };
        }
        const sorted = items.map((i) => i.best).filter(Number.isFinite).sort((p, q) => p - q);
        if (list.length > 1) {
          const steps = sorted.map((x, k) => ({ x, y: (k + 1) / items.length }));
          list.push({ name: 'virtual best', plain: true, steps: [{ x: sorted[0], y: 0 }, ...steps, { x: domain[1], y: steps[steps.length - 1].y }], band: [], solved: sorted.length });
        }
      }
      if (domain[0] === domain[1]) domain = [domain[0] / 2, domain[1] * 2];
      drawing.draw(distributionSpec(list, (n) => b.solvers.indexOf(n), { x: kinds[kind](metric, data), y: kind === 'ecdf' ? 'share of pairs solved' : 'share of problems solved', total: items.length, best: { domain }, alt: `${what.title}: share of ${items.length} items solved against ${data.words(metric)}, ${list.length} curves` }));
    }
    const none = solvers.filter((s) => !list?.some((d) => d.name === s));
    f.note.textContent = [
      unknown ? `${unknown} pairs without such a value are left out.` : '',
      none.length ? `Solvers that solve none of these: ${none.join(', ')}.` : '',
      bands && !shown ? `Bands are drawn for up to ${BANDS} solvers: hide some of them.` : '',
    ].join(' ');
    f.state('drawn');
  }
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
  usualOf('solvers.hide', shared.hidden);
  const given = hiddenBy('solvers.hide');
  if (given) shared.hidden = new Set(given.filter((s) => b.solvers.includes(s)));
  const list = [
    profileFigure(data, b, 'ecdf', shared),
    profileFigure(data, b, 'performance', shared),
    ...(data.metric['work.products'] ? [profileFigure(data, b, 'data', shared)] : []),
  ];
  const bar = h('div', { class: 'sticky' }, h('p', { class: 'note' }, shared.hidden.size ? `Solvers shown in the figures below (initially the ${FIRST} that solve most):` : 'Solvers shown in the figures below:',
    b.missing > 0 ? ` (${b.missing} combinations were not run; they count as not solved)` : ''));
  const fill = () => bar.replaceChildren(bar.firstChild, chips(b.solvers, shared.hidden, () => shared.figures.forEach((f) => f()), 'solvers.hide'));
  fill();
  // the choice stays in sight as far as it reaches
  const element = h('div', { class: 'shared' }, bar, ...list.map((f) => f.element));
  return [{ element, redraw: () => shared.figures.forEach((f) => f()) }];
}
