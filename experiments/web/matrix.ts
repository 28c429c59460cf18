// SPDX-License-Identifier: GPL-3.0-or-later
// Who fails where, and why: a table that is also a map.  And the stability map over two numbers.
import { brief } from './data';
import { frame, h, scroll, select, th } from './dom';
import { chart } from './plot';
import { box } from './profiles';
import { specRows, tableRows } from './save';
import { Selection } from './selection';

// Blue is good, orange is bad, pale in between; the number is in the field as well.
function shade(s) {
  const t = Math.min(1, Math.max(0, s)), strength = Math.round(34 * Math.abs(2 * t - 1));
  return `background:color-mix(in srgb, var(${t < 0.5 ? '--accent' : '--warm'}) ${strength}%, var(--page))`;
}

// What is in a field that leads to its runs.
const pressed = (act, ...content) => h('button', { type: 'button', onclick: act }, ...content);

const reasons = (data, cells) => {
  const count = new Map();
  for (const c of cells) {
    if (data.ok(c)) continue;
    const why = data.cells.reason[c] || data.cells.status[c];
    count.set(why, (count.get(why) ?? 0) + 1);
  }
  return [...count].sort((a, b) => b[1] - a[1]);
};

// What does not suit a solver was not asked of it, and is no failure.
function entry(data, all, label, find) {
  const cells = all.filter((c) => !data.unsuited(c)), unsuited = all.length - cells.length;
  if (cells.length === 0) return h('td', { class: 'unsuited', title: unsuited ? `${label}\n${unsuited} unsuited` : null }, unsuited ? 'unsuited' : '');
  const solved = cells.filter((c) => data.ok(c)).length, proved = cells.filter((c) => data.ok(c) && data.cells.reason[c] === 'infeasible').length;
  const why = reasons(data, cells);
  const shown = [`${solved}/${cells.length}`, proved > 0 && h('small', {}, `${proved} proved unsolvable`), unsuited > 0 && h('small', { class: 'unsuited' }, `${unsuited} unsuited`),
    why.slice(0, 2).map(([w, k]) => h('small', {}, `${k} ${w}`)), why.length > 2 && h('small', {}, '…')];
  return h('td', {
    style: shade(1 - solved / cells.length), title: `${label}\n${solved} of ${cells.length} solved${why.map(([w, k]) => `\n${k} ${w}`).join('')}${unsuited ? `\n${unsuited} unsuited` : ''}`,
  }, solved < cells.length ? pressed(find, ...shown) : shown);
}

// in the filter of the cells
const FAILED = 'status not in (ok, unsuited)';

// Studies of problems: solver x family.
export function failureMatrix(data, browser) {
  const b = box(data);
  if (!b) return [];
  const f = frame('failure-matrix', 'Problems solved by each solver, and causes of failure',
    'Number of (problem, target) pairs solved, or proved to have no solution, of those inside the domain of the solver. Below it: causes of failures, as reported by the solver or by the check of its result. Grey: outside the domain of the solver (unsuited). Click on a field to list its failed runs.',
    { rows: () => tableRows(f.plot.querySelector('table')) });
  const targetSelect = select('rel ≤', [['*', 'all targets'], ...b.targets], '*', (v) => { target = v; redraw(); }, 'failure-matrix.target');
  let target = targetSelect.value;
  f.controls.append(targetSelect);
  function redraw() {
    const cellsOf = (s, fam) => b.problems.filter((p) => b.family(p) === fam)
      .flatMap((p) => (target === '*' ? b.targets : [target]).map((t) => b.cell(p, t, s))).filter((c) => c >= 0);
    f.plot.replaceChildren(scroll('Problems solved', h('table', { class: 'matrix', 'aria-label': 'Problems solved' },
      h('tr', {}, th('solver', 'r'), b.families.map((fam) => th(fam)), th('all')),
      b.solvers.map((s) => h('tr', {}, h('th', { class: 'r', scope: 'row' }, h('code', {}, s)),
        b.families.map((fam) => entry(data, cellsOf(s, fam), `${s}, ${fam}`, () => browser.find(`lcp == "${s}" and "${fam === 'file' ? 'file:' : fam}" and ${FAILED}`))),
        entry(data, b.families.flatMap((fam) => cellsOf(s, fam)), s, () => browser.find(`lcp == "${s}" and ${FAILED}`)))))));
    f.state('drawn');
  }
  f.redraw = redraw;
  return [f];
}

// Studies of motion: what is compared x abscissa, with the value of a metric or the cause.
export function stepMap(data, browser) {
  if (!data.view.x_name || !data.view.subject) return [];
  const metrics = [data.study.primary, ...data.study.record].filter((m, i, l) => m && data.metric[m] && data.metric[m].better < 0 && l.indexOf(m) === i);
  if (metrics.length === 0) return [];
  const f = frame('map', 'Where it works', `Each field is one run: its value, or the cause of a missing value. Shade: logarithm of the value, from the best to the worst of the table. Click on a field to see the run.`,
    { rows: () => tableRows(f.plot.querySelector('table')) });
  const metricSelect = select('value', metrics.map((m) => [m, data.words(m)]), metrics[0], (v) => { metric = v; redraw(); }, 'map.value');
  let metric = metricSelect.value;
  const selection = new Selection(data, () => metric, () => redraw(), 'map');
  f.controls.append(...selection.controls, metricSelect);
  function redraw() {
    const groups = selection.groups().filter((g) => g.cells.some((c) => !data.adaptive(c)));
    const xs = [...new Set(groups.flatMap((g) => g.cells.map((c) => data.x(c))))].sort((a, b) => a - b);
    const values = groups.flatMap((g) => g.cells.filter((c) => data.ok(c)).map((c) => data.value(c, metric))).filter((v) => v > 0);
    const lo = Math.log(values.reduce((a, v) => Math.min(a, v), Infinity)), hi = Math.log(values.reduce((a, v) => Math.max(a, v), 0));
    const field = (c, g) => {
      if (c === undefined) return h('td', {});
      const open = () => browser.find(`cell == "${data.cells.id[c]}"`);
      if (data.unsuited(c)) return h('td', { class: 'unsuited', title: `${data.label(c)}\n${data.why(c)}` }, pressed(open, h('small', {}, data.cells.reason[c] || 'unsuited')));
      if (!data.stands(c)) return h('td', { class: 'bad', title: `${data.label(c)}\n${data.why(c)}` }, pressed(open, '× ', h('small', {}, data.cells.reason[c] || data.cells.status[c])));
      const v = data.value(c, metric);
      return h('td', { style: v > 0 && hi > lo ? shade((Math.log(v) - lo) / (hi - lo)) : '', title: data.label(c) }, pressed(open, brief(v), data.mark(c) ? h('small', { class: 'mark' }, data.mark(c)) : ''));
    };
    const several = selection.at.startsWith('*');
    f.plot.replaceChildren(scroll('Where it works', h('table', { class: 'matrix', 'aria-label': 'Where it works' },
      h('tr', {}, th(`${selection.by ?? ''} \\ ${data.xTitle}`, 'r'), xs.map((x) => th(brief(x)))),
      groups.map((g) => h('tr', {}, h('th', { class: 'r', scope: 'row' }, h('code', {}, several && g.combo ? `${g.name}, ${g.combo}` : g.name)),
        xs.map((x) => field(g.cells.find((c) => data.x(c) === x && !data.adaptive(c)), g)))))));
    f.state('drawn');
  }
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

// "alpha*h" as a title
const productTitle = (data, text) => text.split('*').map((t) => t.trim()).map((name) => (name === data.xKey ? data.title(name) : name)).join(' · ');

export function stabilityMap(data) {
  const wanted = data.study.plots.map((p) => /^stability-map\(([^,]+),([^)]+)\)/.exec(p)).find((m) => m);
  if (!wanted) return [];
  const fx = product(data, wanted[1]), fy = product(data, wanted[2]);
  if (!fx || !fy) return [];
  const metrics = [data.study.primary, ...data.study.record].filter((m, i, l) => m && data.metric[m]?.better < 0 && l.indexOf(m) === i);
  if (metrics.length === 0) return [];
  let drawing;
  const f = frame('stability-map', 'Stability map',
    'Each field is one run of a method with this option. Shade: logarithm of the value; blue is better. Cross: the run failed; point at it to see the cause. The value 0 (automatic) of an option cannot be shown on a logarithmic axis.',
    { svg: () => drawing.svg, rows: () => (drawing.spec ? specRows(drawing.spec) : []) });
  drawing = chart(f.plot);
  const rest = data.view.axes.filter((k) => k !== data.view.subject);
  const combo = (c) => rest.map((k) => data.text(c, k)).filter((t) => t).join(', ');
  const usable = Array.from({ length: data.n }, (_, c) => c).filter((c) => fx(c) > 0 && fy(c) > 0);
  const combos = [...new Set(usable.map(combo))];
  if (combos.length === 0) return [];
  const atSelect = select('with', combos, combos[0], (v) => { at = v; redraw(); }, 'stability-map.at');
  const metricSelect = select('value', metrics.map((m) => [m, data.words(m)]), metrics[0], (v) => { metric = v; redraw(); }, 'stability-map.value');
  let at = atSelect.value, metric = metricSelect.value;
  f.controls.append(atSelect, metricSelect);
  function redraw() {
    const cells = usable.filter((c) => combo(c) === at);
    const values = cells.filter((c) => data.stands(c)).map((c) => data.value(c, metric)).filter((v) => v > 0);
    const lo = Math.log(values.reduce((a, v) => Math.min(a, v), Infinity)), hi = Math.log(values.reduce((a, v) => Math.max(a, v), 0));
    let failed = 0, rings = 0, unsuited = 0;
    const fields = cells.map((c) => {
      const v = data.stands(c) && data.value(c, metric) > 0 ? data.value(c, metric) : null, cross = !data.stands(c) && !data.unsuited(c), ring = data.stands(c) && !!data.mark(c);
      if (cross) failed++;
      if (ring) rings++;
      unsuited += data.unsuited(c);
      const t = v !== null && hi > lo ? (Math.log(v) - lo) / (hi - lo) : 0;
      return {
        x: fx(c), y: fy(c), name: data.label(c), v: v ?? data.cells.status[c], cross, ring,
        fill: v === null ? 'var(--panel)' : `color-mix(in srgb, var(--accent) ${Math.round(100 * (1 - t))}%, var(--warm))`,
        tip: `${data.label(c)}${data.stands(c) ? `\n${data.words(metric)} = ${brief(data.value(c, metric))}` : ''}${data.mark(c) ? `\n${data.cells.status[c]}: ${data.why(c)}` : ''}`,
      };
    });
    drawing.draw({
      height: 300, alt: `stability map: ${fields.length - failed - unsuited} runs that ended and ${failed} that failed over ${wanted[1]} and ${wanted[2]}`,
      x: { title: productTitle(data, wanted[1]), log: true }, y: { title: productTitle(data, wanted[2]), log: true, own: true }, curves: [], fields,
    });
    f.note.textContent = `From ${brief(Math.exp(lo))} (blue) to ${brief(Math.exp(hi))} (orange)${data.metric[metric].unit ? ` ${data.metric[metric].unit}` : ''}. ` + (rings ? `${rings} with a frame: not all problems were solved, or fixed work. ` : '') + (unsuited ? `${unsuited} without a cross: outside the domain of the method (unsuited). ` : '') + (failed ? `${failed} of ${fields.length} runs failed.` : 'No run failed.');
    f.state('drawn');
  }
  f.redraw = redraw;
  return [f];
}
