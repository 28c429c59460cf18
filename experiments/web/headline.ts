// SPDX-License-Identifier: GPL-3.0-or-later
// The figure on top of a report: what the study asks for (report.figure), else the factor that matters most in colour, small
// multiples of another one, and the slice of the others in which the difference is largest.
import { brief } from './data';
import { curvesOf, floorOf, notesOf, positive } from './curves';
import { frame, h, select } from './dom';
import { chart, svg } from './plot';
import { specRows } from './save';
import { marker } from './theme';

const PANELS_MOST = 6, CURVES_MOST = 9, AT_CURVES = 5; // more names than that stand above the panels
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// Factors of the study by what they explain of a metric, the largest first; without that knowledge as the view has them.
export function rankedFactors(data, metric) {
  const axes = data.view.axes.filter((k) => data.axis[k]);
  const terms = (data.shares ?? []).find((s) => s.metric === metric)?.terms ?? [];
  const known = terms.filter((t) => t.keys.length === 1 && axes.includes(t.keys[0])).map((t) => t.keys[0]);
  const others = axes.filter((k) => !known.includes(k));
  if (others.includes(data.view.subject)) others.unshift(...others.splice(others.indexOf(data.view.subject), 1));
  return [...known, ...others];
}

// Colour and panels: errors of different scenes do not compare, so that scenes come in panels.
export function chooseFactors(data, metric, wanted) {
  const ranked = rankedFactors(data, metric), count = (k) => new Set(data.axis[k].names).size;
  const colour = wanted.colour ?? ranked.find((k) => k !== 'scene' && k !== wanted.panels) ?? ranked[0] ?? null;
  const rest = ranked.filter((k) => k !== colour), few = (k) => count(k) > 1 && count(k) <= PANELS_MOST;
  const panels = wanted.panels ?? (rest.includes('scene') && few('scene') ? 'scene' : rest.find(few)) ?? null;
  return { colour, panels, rest: rest.filter((k) => k !== panels) };
}

// Below it all values are the same: the floor of the study, or the uncertainty of the reference.
const lowest = (data, y) => Math.max(floorOf(data, y), (data.shares ?? []).find((s) => s.metric === y)?.floor || 0);

// Mean range of log10 y among the colours, at the same abscissa and in the same panel: what there is to see.
function effect(data, cells, { colour, panels, y }) {
  const floor = lowest(data, y);
  const at = new Map();
  for (const c of cells) {
    const v = data.value(c, y);
    if (!positive(v) || !data.stands(c)) continue;
    const key = `${panels ? data.name(c, panels) : ''}\n${data.x(c)}`;
    if (!at.has(key)) at.set(key, new Map());
    const of = at.get(key), name = colour ? data.name(c, colour) : '';
    of.set(name, Math.min(of.get(name) ?? Infinity, Math.log10(Math.max(v, floor))));
  }
  const ranges = [...at.values()].filter((m) => m.size > 1).map((m) => Math.max(...m.values()) - Math.min(...m.values()));
  return ranges.length ? ranges.reduce((s, r) => s + r, 0) / ranges.length : 0;
}

// The slices of the other factors, the most telling first: of those with nearly all curves the one with the largest effect.
export function slices(data, cells, chosen) {
  const all = new Map();
  for (const c of cells) {
    const text = chosen.rest.map((k) => data.name(c, k)).join('\n');
    if (!all.has(text)) all.set(text, []);
    all.get(text).push(c);
  }
  const list = [...all.values()].map((of) => ({
    cells: of, words: chosen.rest.map((k) => data.choice(of[0], k)).filter((t) => t).join('; '),
    curves: new Set(of.filter((c) => data.stands(c) && positive(data.value(c, chosen.y))).map((c) => `${chosen.colour ? data.name(c, chosen.colour) : ''}\n${chosen.panels ? data.name(c, chosen.panels) : ''}`)).size,
    effect: effect(data, of, chosen),
  })).filter((s) => s.curves > 0);
  const most = Math.max(0, ...list.map((s) => s.curves)), largest = Math.max(0, ...list.map((s) => s.effect));
  const good = (s) => Number(s.curves >= 0.8 * most && s.effect >= 0.1 * largest);
  return list.sort((a, b) => good(b) - good(a) || b.effect - a.effect || b.curves - a.curves);
}

function pads(values, log) {
  const v = values.filter((x) => Number.isFinite(x) && (!log || x > 0));
  if (v.length === 0) return null;
  let lo = Math.min(...v), hi = Math.max(...v);
  if (!log) return [lo, hi];
  const pad = Math.max(0.04 * Math.log10(hi / lo), hi === lo ? 0.3 : 0.03);
  lo /= 10 ** pad;
  hi *= 10 ** pad;
  return [lo, hi];
}

// ---- one panel -----------------------------------------------------------------------------------------------------

// Curves against work, a step or a size.
function curvePanel(data, cells, { colour, y, x, order }) {
  const metric = data.metric[x] ? x : undefined, value = metric ? (c) => data.value(c, x) : data.quantity[x]?.value ?? data.x;
  const groups = new Map();
  for (const c of cells) {
    const name = colour ? data.name(c, colour) : '';
    if (order.indexOf(name) < 0) continue;
    if (!groups.has(name)) groups.set(name, { name, index: order.indexOf(name), combo: '', cells: [] });
    groups.get(name).cells.push(c);
  }
  const list = [...groups.values()].sort((a, b) => a.index - b.index);
  for (const g of list) g.cells.sort((a, b) => data.order(a) - data.order(b));
  const made = curvesOf(data, list, { abscissa: value, xMetric: metric, y, skip: metric ? undefined : data.adaptive });
  for (const c of made.curves) if (colour) c.name = data.wordsOf(colour, c.name);
  return { ...made, x: { title: data.title(x), log: true }, y: { title: data.title(y), log: true }, floor: lowest(data, y) };
}

// Without an abscissa: a row for each choice, a mark for each run.
function rowPanel(data, cells, { colour, y, order }) {
  const curves = new Map(), names = order.filter((n) => cells.some((c) => (colour ? data.name(c, colour) : '') === n)), count = { failed: 0, unplaced: 0, beyond: 0, zeros: 0, rings: new Set() };
  for (const c of cells) {
    const name = colour ? data.name(c, colour) : '', row = names.indexOf(name), v = data.value(c, y);
    if (row < 0 || data.unsuited(c)) continue;
    if (!data.stands(c)) { count.failed++; count.unplaced++; continue; }
    if (!positive(v)) { count.zeros += Number(v === 0); continue; }
    if (!curves.has(name)) curves.set(name, { name: '', index: order.indexOf(name), points: [], loose: true });
    if (data.mark(c)) count.rings.add(data.cells.status[c]);
    curves.get(name).points.push({ x: v, y: names.length - 1 - row, cell: c, ring: data.mark(c) ? data.cells.status[c] : '', tip: `${data.label(c)}\n${data.words(y)} = ${brief(v)}` });
  }
  const short = (t) => (t.length > 34 ? `${t.slice(0, 16)}…${t.slice(-16)}` : t);
  return {
    curves: [...curves.values()], rail: [], count, x: { title: data.title(y), log: true, own: false },
    y: { title: colour ? capital(data.words(colour)) : '', log: false, own: true, domain: [-0.6, names.length - 0.4], ticks: names.map((_, k) => k), format: (k) => (colour ? short(data.wordsOf(colour, names[names.length - 1 - Math.round(k)] ?? '')) : '') }, height: 40 + 26 * names.length,
  };
}

// Problems and solvers: the share that is solved within a time.
function solvedPanel(data, cells, { order }) {
  const pairs = new Set(cells.map((c) => `${data.text(c, 'problem')}\n${data.text(c, 'tol')}`)).size;
  const curves = order.map((name, index) => {
    const times = cells.filter((c) => data.name(c, 'lcp') === name && data.ok(c)).map((c) => data.value(c, 'time.cpu')).filter(positive).sort((a, b) => a - b);
    return { name: data.wordsOf('lcp', name), index, step: true, points: times.map((t, k) => ({ x: t, y: (100 * (k + 1)) / pairs, tip: `${data.wordsOf('lcp', name)}: ${k + 1} of ${pairs} within ${brief(t)} s` })) };
  }).filter((c) => c.points.length);
  const end = Math.max(...curves.flatMap((c) => c.points.map((p) => p.x)));
  for (const c of curves) {
    const last = c.points[c.points.length - 1];
    (c as any).spots = [last];
    c.points.push({ ...last, x: end });
  }
  return { curves, rail: [], count: { failed: 0, unplaced: 0, beyond: 0, zeros: 0, rings: new Set() }, x: { title: data.title('time.cpu'), log: true }, y: { title: 'Solved problems [%]', log: false, domain: [0, 102] } };
}

// ---- the figure ----------------------------------------------------------------------------------------------------

// The values of the colour factor that are drawn: all where they are few, else the best ones of the slice.
function shownOf(data, cells, { colour, y }) {
  const names = [...new Set<string>(colour ? data.axis[colour].names : [''])], best = new Map(names.map((n) => [n, Infinity]));
  for (const c of cells) {
    const name = colour ? data.name(c, colour) : '', v = data.value(c, y);
    if (best.has(name) && data.stands(c) && positive(v)) best.set(name, Math.min(best.get(name), v));
  }
  const present = names.filter((n) => best.get(n) < Infinity || cells.some((c) => (colour ? data.name(c, colour) : '') === n));
  const kept = new Set([...present].sort((a, b) => best.get(a) - best.get(b)).slice(0, CURVES_MOST));
  return { order: present.filter((n) => kept.has(n)), left: present.length - Math.min(present.length, CURVES_MOST) };
}

function plan(data) {
  const wanted = data.study.figure ?? {}, has = (m) => data.metric[m] && data.metric[m].values.some((v, c) => positive(v) && data.stands(c));
  const runs = wanted.runs ? new Set(wanted.runs) : null, cells = Array.from({ length: data.n }, (_, c) => c).filter((c) => !runs || runs.has(c));
  if (data.study.kind === 'lcp') {
    if (!data.axis.lcp || !has('time.cpu')) return null;
    const solved = (n) => cells.filter((c) => data.name(c, 'lcp') === n && data.ok(c)).length;
    const names = [...new Set<string>(data.axis.lcp.names)].filter((n) => n && solved(n) > 0);
    const order = [...names].sort((a, b) => solved(b) - solved(a)).slice(0, CURVES_MOST - 1);
    return order.length ? { cells, colour: 'lcp', panels: null, rest: [], y: 'solved', x: 'time.cpu', order, left: names.length - order.length, make: solvedPanel, title: 'Share of the problems solved within a time' } : null;
  }
  const y = [wanted.y, data.shares?.[0]?.metric, data.study.primary].find(has);
  if (!y) return null;
  const x = wanted.x ?? (!data.xKey ? null : (data.xKey === 'h' || data.xKey === 'tol') && has('time.cpu') && y !== 'time.cpu' ? 'time.cpu' : data.xKey);
  // the first factor that makes a difference somewhere: what matters most among the runs that are ranked may be nothing to see
  const ways = (wanted.colour ? [wanted.colour] : [chooseFactors(data, y, wanted).colour, ...rankedFactors(data, y)])
    .map((colour) => chooseFactors(data, y, { ...wanted, colour }));
  const chosen = ways.find((w) => (slices(data, cells, { ...w, y })[0]?.effect ?? 0) > 0) ?? ways[0];
  if (!x && (!chosen.colour || new Set(data.axis[chosen.colour].names).size < 2)) return null;
  if (cells.every((c) => !positive(data.value(c, y)) || !data.stands(c) || data.value(c, y) <= lowest(data, y))) return null; // nothing to see
  return { cells, ...chosen, y, x, make: x ? curvePanel : rowPanel, title: x ? `${capital(data.words(y))} against ${data.words(x)}` : `${capital(data.words(y))} by ${data.words(chosen.colour)}` };
}

// The panels as one drawing, for a file.
function together(drawings) {
  const drawn = drawings.filter((d) => d), width = Math.max(...drawn.map((d) => d.width.baseVal.value));
  let top = 0;
  const parts = drawn.map((d) => {
    const copy = d.cloneNode(true);
    copy.setAttribute('y', top);
    top += d.height.baseVal.value + 12;
    return copy;
  });
  return svg('svg', { xmlns: 'http://www.w3.org/2000/svg', width, height: top, viewBox: `0 0 ${width} ${top}` }, ...parts);
}

export function headline(data) {
  if (data.n === 0) return [];
  const p: any = plan(data);
  if (!p) return [];
  const choices = p.rest.length ? slices(data, p.cells, p) : [{ cells: p.cells, words: '', curves: 1, effect: 0 }];
  if (choices.length === 0) return [];
  let drawings = [], at = 0;
  const f = frame('headline', p.title, '', { svg: () => (drawings.length === 1 ? drawings[0].svg : together(drawings.map((d) => d.svg))), rows: () => drawings.flatMap((d, k) => (d.spec ? specRows(d.spec).slice(k === 0 ? 0 : 1) : [])) });
  const legend = h('div', { class: 'legend' }), grid = h('div', { class: 'panels' });
  const slice = select('with', choices.map((s, k) => [k, s.words || 'all runs']), 0, (v) => { at = Number(v); redraw(); }, 'headline.at');
  at = Number(slice.value);
  f.controls.append(slice);
  f.plot.append(legend, grid);

  function redraw() {
    const { cells } = choices[at], { order, left } = p.order ? p : shownOf(data, cells, p);
    const names = p.panels ? [...new Set<string>(data.axis[p.panels].names)].filter((n) => cells.some((c) => data.name(c, p.panels) === n)) : [''];
    const made = names.map((n) => ({ name: n, ...p.make(data, cells.filter((c) => !p.panels || data.name(c, p.panels) === n), { ...p, order }) })).filter((m) => m.curves.length);
    if (made.length === 0) {
      grid.replaceChildren(h('p', { class: 'note' }, 'Nothing to draw: no run of this choice has a value.'));
      f.state('drawn');
      return;
    }
    // panels compare: they share their axes
    const points = made.flatMap((m) => m.curves.flatMap((c) => [...c.points, ...(c.spots ?? [])]));
    const domains = { x: pads(points.map((q) => q.x), true), y: made[0].y.log ? pads(points.map((q) => q.y), true) : null };
    const several = made.length > 1, floor = p.y === 'solved' ? 0 : lowest(data, p.y);
    // what lies below the floor has no height of its own
    if (floor > 0 && domains.y) {
      for (const q of points) q.y = Math.max(q.y, 0.5 * floor);
      domains.y = pads([...points.map((q) => q.y), 2 * floor], true);
    }
    grid.classList.toggle('several', several);
    grid.classList.toggle('dense', several && order.length > AT_CURVES);
    grid.replaceChildren(...made.map((m) => h('div', { class: 'panel' }, several && h('h4', {}, data.wordsOf(p.panels, m.name)), h('div', { class: 'panel-plot' }))));
    drawings = [...grid.querySelectorAll('.panel-plot')].map((place) => chart(place));
    made.forEach((m, k) => {
      for (const r of m.rail) if (domains.x) r.x = Math.min(Math.max(r.x, domains.x[0]), domains.x[1]);
      drawings[k].draw({
        alt: `${p.title}${several ? `, ${data.wordsOf(p.panels, m.name)}` : ''}: ${m.curves.length} ${m.curves.length === 1 ? 'curve' : 'curves'}`,
        x: { ...m.x, ...(several ? { domain: domains.x } : {}) }, y: { ...m.y, ...((several || floor > 0) && domains.y ? { domain: domains.y } : {}) },
        curves: m.curves.length === 1 && m.curves[0].name === 'all' ? [{ ...m.curves[0], name: '' }] : m.curves, rail: m.rail, floor: m.floor, height: m.height ?? (several ? 230 : 320), roomy: !several || order.length <= AT_CURVES, quiet: several, railed: made.some((o) => o.rail.length > 0),
      });
    });
    // names stand at the curves where they have room, else once above the panels
    const away = several && p.make !== rowPanel && drawings.some((d) => !d.beside);
    legend.replaceChildren(...(away ? order.map((n, k) => h('span', {}, marker(k), data.wordsOf(p.colour, n))) : []));
    const count = made.reduce((s, m) => ({ failed: s.failed + m.count.failed, unplaced: s.unplaced + m.count.unplaced, beyond: s.beyond + m.count.beyond, zeros: s.zeros + m.count.zeros, rings: new Set([...s.rings, ...m.count.rings]) }), { failed: 0, unplaced: 0, beyond: 0, zeros: 0, rings: new Set() });
    const constant = (data.constant ?? []).filter((c) => !['seed', 't_end', 'sample', p.x].includes(c.key)).map((c) => `${c.words} ${c.value}`).join('; ');
    f.note.textContent = [
      choices.length === 1 && choices[at].words && `With ${choices[at].words}.`, constant && `The same in all runs: ${constant}.`,
      left > 0 && `The best ${order.length} of ${order.length + left} are shown.`,
      p.make === curvePanel && p.x === 'time.cpu' && 'Lower left is better.',
      floor > floorOf(data, p.y) && `Grey: below ${brief(floor)}${data.metric[p.y]?.unit ? ` ${data.metric[p.y].unit}` : ''} all values count as equal.`,
      p.y !== 'solved' && notesOf(data, { count, floor: floor > floorOf(data, p.y) ? 0 : floor, stars: [], curves: made.flatMap((m) => m.curves), what: p.x ? data.words(p.x) : 'value' }),
    ].filter((t) => t).join(' ');
    f.state('drawn');
  }
  f.redraw = redraw;
  return [f];
}
