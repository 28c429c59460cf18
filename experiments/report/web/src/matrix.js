// SPDX-License-Identifier: GPL-3.0-or-later
// Who fails where, and why: a table that is also a map.  And the stability map over two numbers.
import { brief } from './data.js';
import { chart, logAxis, logDomain } from './chart.js';
import { frame, h, select } from './dom.js';
import { box } from './profiles.js';
import { Selection } from './selection.js';
import { isDark, onTheme } from './theme.js';

// Blue is good, orange is bad, pale in between; the number is in the field as well.
function shade(s) {
  const t = Math.min(1, Math.max(0, s));
  const hue = t < 0.5 ? 205 : 22, strength = Math.abs(2 * t - 1);
  return isDark() ? `hsl(${hue} ${10 + 40 * strength}% ${18 + 10 * strength}%)` : `hsl(${hue} ${10 + 75 * strength}% ${97 - 13 * strength}%)`;
}

const reasons = (data, cells) => {
  const count = new Map();
  for (const c of cells) {
    if (data.ok(c)) continue;
    const why = data.cells.reason[c] || data.cells.status[c];
    count.set(why, (count.get(why) ?? 0) + 1);
  }
  return [...count].sort((a, b) => b[1] - a[1]);
};

function entry(data, cells, label, find) {
  if (cells.length === 0) return h('td', {});
  const solved = cells.filter((c) => data.ok(c)).length;
  const why = reasons(data, cells);
  return h('td', {
    style: `background:${shade(1 - solved / cells.length)}`, title: `${label}\n${solved} of ${cells.length} solved${why.map(([w, k]) => `\n${k} ${w}`).join('')}`,
    onclick: solved < cells.length ? () => find() : null,
  }, `${solved}/${cells.length}`, why.slice(0, 2).map(([w, k]) => h('small', {}, `${k} ${w}`)), why.length > 2 && h('small', {}, '…'));
}

// Studies of problems: solver x family.
export function failureMatrix(data, browser) {
  const b = box(data);
  if (!b) return [];
  const f = frame('failure-matrix', 'Who solves what, and why not',
    'Solved / all (problem, target) pairs of the family; below, the reasons as the solver or the judge gave them. An unsolvable problem is answered best by “infeasible”. Click on a field for its failed cells.');
  let target = '*';
  f.controls.append(select('rel ≤', [['*', 'all targets'], ...b.targets], target, (v) => { target = v; redraw(); }));
  function redraw() {
    const cellsOf = (s, fam) => b.problems.filter((p) => b.family(p) === fam)
      .flatMap((p) => (target === '*' ? b.targets : [target]).map((t) => b.cell(p, t, s))).filter((c) => c >= 0);
    f.plot.replaceChildren(h('div', { class: 'scroll' }, h('table', { class: 'matrix' },
      h('tr', {}, h('th', { class: 'r' }, 'solver'), b.families.map((fam) => h('th', {}, fam)), h('th', {}, 'all')),
      b.solvers.map((s) => h('tr', {}, h('th', { class: 'r', scope: 'row' }, h('code', {}, s)),
        b.families.map((fam) => entry(data, cellsOf(s, fam), `${s}, ${fam}`, () => browser.find(`lcp==${s} ${fam} status!=ok`))),
        entry(data, b.families.flatMap((fam) => cellsOf(s, fam)), s, () => browser.find(`lcp==${s} status!=ok`)))))));
    f.state('drawn');
  }
  onTheme(redraw);
  f.redraw = redraw;
  return [f];
}

// Studies of motion: what is compared x abscissa, with the value of a metric or the cause.
export function stepMap(data, browser) {
  if (!data.view.x_name || !data.view.subject) return [];
  const metrics = [data.study.primary, ...data.study.record].filter((m, i, l) => m && data.metric[m] && data.metric[m].better < 0 && l.indexOf(m) === i);
  if (metrics.length === 0) return [];
  const f = frame('map', 'Where it works', `One field a cell: the value, or why there is none. Shade: logarithm of the value, from the best to the worst of the table. Click on a field for the cell.`);
  let metric = metrics[0];
  const selection = new Selection(data, () => metric, () => redraw());
  f.controls.append(...selection.controls, select('value', metrics, metric, (v) => { metric = v; redraw(); }));
  function redraw() {
    const groups = selection.groups().filter((g) => g.cells.some((c) => !data.adaptive(c)));
    const xs = [...new Set(groups.flatMap((g) => g.cells.map((c) => data.x(c))))].sort((a, b) => a - b);
    const values = groups.flatMap((g) => g.cells.filter((c) => data.ok(c)).map((c) => data.value(c, metric))).filter((v) => v > 0);
    const lo = Math.log(Math.min(...values)), hi = Math.log(Math.max(...values));
    const field = (c, g) => {
      if (c === undefined) return h('td', {});
      const open = () => browser.find(data.cells.id[c]);
      if (!data.stands(c)) return h('td', { class: 'bad', title: `${data.label(c)}\n${data.why(c)}`, onclick: open }, '× ', h('small', {}, data.cells.reason[c] || data.cells.status[c]));
      const v = data.value(c, metric);
      return h('td', { style: v > 0 && hi > lo ? `background:${shade((Math.log(v) - lo) / (hi - lo))}` : '', title: data.label(c), onclick: open }, brief(v), data.mark(c) ? h('small', { class: 'mark' }, data.mark(c)) : '');
    };
    const several = selection.at.startsWith('*');
    f.plot.replaceChildren(h('div', { class: 'scroll' }, h('table', { class: 'matrix' },
      h('tr', {}, h('th', { class: 'r' }, `${selection.by} \\ ${data.view.x_name}`), xs.map((x) => h('th', {}, brief(x)))),
      groups.map((g) => h('tr', {}, h('th', { class: 'r', scope: 'row' }, h('code', {}, several && g.combo ? `${g.name}, ${g.combo}` : g.name)),
        xs.map((x) => field(g.cells.find((c) => data.x(c) === x && !data.adaptive(c)), g)))))));
    f.state('drawn');
  }
  onTheme(redraw);
  f.redraw = redraw;
  return [f];
}

// "alpha*h": a product of the abscissa and numeric options of the parts.
function product(data, text) {
  const factors = text.split('*').map((t) => t.trim()).map((name) => {
    if (name === data.xKey) return (c) => data.x(c);
    const option = Object.keys(data.options).find((k) => k === name || k.endsWith(`.${name}`));
    return option ? (c) => data.options[option][c] ?? NaN : null;
  });
  return factors.includes(null) ? null : (c) => factors.reduce((v, fn) => v * fn(c), 1);
}

export function stabilityMap(data) {
  const wanted = data.study.plots.map((p) => /^stability-map\(([^,]+),([^)]+)\)/.exec(p)).find((m) => m);
  if (!wanted) return [];
  const fx = product(data, wanted[1]), fy = product(data, wanted[2]);
  if (!fx || !fy) return [];
  const metrics = [data.study.primary, ...data.study.record].filter((m, i, l) => m && data.metric[m]?.better < 0 && l.indexOf(m) === i);
  if (metrics.length === 0) return [];
  const f = frame('stability-map', 'Stability map',
    'One mark a cell of the parts that have this option; colour: the value, smaller is darker; a cross: the run failed, the cause when you point at it. An option of 0 (automatic) has no place on a logarithmic axis.');
  const draw = chart(f.plot);
  let metric = metrics[0];
  const rest = data.view.axes.filter((k) => k !== data.view.subject);
  const combo = (c) => rest.map((k) => data.text(c, k)).filter((t) => t).join(', ');
  const usable = Array.from({ length: data.n }, (_, c) => c).filter((c) => fx(c) > 0 && fy(c) > 0);
  const combos = [...new Set(usable.map(combo))];
  if (combos.length === 0) return [];
  let at = combos[0];
  f.controls.append(select('with', combos, at, (v) => { at = v; redraw(); }), select('value', metrics, metric, (v) => { metric = v; redraw(); }));
  async function redraw() {
    const cells = usable.filter((c) => combo(c) === at);
    const points = cells.map((c) => ({ x: fx(c), y: fy(c), v: data.stands(c) && data.value(c, metric) > 0 ? data.value(c, metric) : null, ok: data.stands(c), mark: data.stands(c) && !!data.mark(c), tip: `${data.label(c)}${data.stands(c) ? `\n${metric} = ${brief(data.value(c, metric))}` : ''}${data.mark(c) ? `\n${data.cells.status[c]}: ${data.why(c)}` : ''}` }));
    const xs = points.map((p) => p.x), ys = points.map((p) => p.y);
    const x = { field: 'x', type: 'quantitative', scale: { type: 'log', domain: logDomain(xs, 1.6, 1.6), nice: false }, axis: logAxis(xs, wanted[1]) };
    const y = { field: 'y', type: 'quantitative', scale: { type: 'log', domain: logDomain(ys, 1.5, 1.5), nice: false }, axis: logAxis(ys, wanted[2]) };
    const good = points.filter((p) => p.v !== null), bad = points.filter((p) => !p.ok);
    await draw({
      height: 300,
      layer: [
        { data: { values: good }, mark: { type: 'square', size: 420, opacity: 1 }, encoding: { x, y, tooltip: { field: 'tip' }, color: { field: 'v', type: 'quantitative', scale: { type: 'log', scheme: 'viridis' }, legend: { title: data.title(metric), labelExpr: "format(datum.value, '~e')", tickCount: 4 } } } },
        { data: { values: good.filter((p) => p.mark) }, mark: { type: 'point', filled: false, size: 200, strokeWidth: 2, opacity: 1 }, encoding: { x, y, tooltip: { field: 'tip' }, color: { value: isDark() ? '#ffffff' : '#000000' } } },
        { data: { values: bad }, mark: { type: 'point', shape: 'M-.5,-.5L.5,.5M-.5,.5L.5,-.5', size: 260, strokeWidth: 2.5, opacity: 1 }, encoding: { x, y, tooltip: { field: 'tip' }, color: { value: isDark() ? '#ff8a80' : '#b3261e' } } },
      ],
    }, `stability map: ${good.length} runs that ended and ${bad.length} that failed over ${wanted[1]} and ${wanted[2]}`);
    const rings = good.filter((p) => p.mark).length;
    f.note.textContent = (rings ? `${rings} with a ring: not all problems were solved, or fixed work. ` : '') + (bad.length ? `${bad.length} of ${points.length} runs failed.` : 'No run failed.');
    f.state('drawn');
  }
  onTheme(redraw);
  f.redraw = redraw;
  return [f];
}
