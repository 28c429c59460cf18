// SPDX-License-Identifier: GPL-3.0-or-later
// The figure on top of a report, as report.json says (experiments/answers/headline.h has the choice): a factor in colour,
// small multiples of another one, slices of the others.
import { brief } from './data';
import { curvesOf, floorOf, notesOf, positive } from './curves';
import { frame, h, select } from './dom';
import { chart, svg } from './plot';
import { specRows } from './save';
import { marker } from './theme';

const AT_CURVES = 5; // more names than that stand above the panels
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

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
  return { ...made, x: { title: data.title(x), log: true }, y: { title: data.title(y), log: true }, floor: data.top.floor };
}

// Without an abscissa: a row for each choice, a mark for each run.
function rowPanel(data, cells, { colour, y, order, floor }) {
  const curves = new Map(), names = order.filter((n) => cells.some((c) => (colour ? data.name(c, colour) : '') === n)), count = { failed: 0, unplaced: 0, beyond: 0, zeros: 0, rings: new Set() };
  for (const c of cells) {
    const name = colour ? data.name(c, colour) : '', row = names.indexOf(name), v = data.value(c, y);
    if (row < 0 || data.unsuited(c)) continue;
    if (!data.stands(c)) { count.failed++; count.unplaced++; continue; }
    const at = floor > 0 && v >= 0 ? Math.max(v, 0.5 * floor) : v; // below the floor all are equal
    if (!positive(at)) { count.zeros += Number(v === 0); continue; }
    if (!curves.has(name)) curves.set(name, { name: '', index: order.indexOf(name), points: [], loose: true });
    if (data.mark(c)) count.rings.add(data.cells.status[c]);
    curves.get(name).points.push({ x: at, y: names.length - 1 - row, cell: c, ring: data.mark(c) ? data.cells.status[c] : '', tip: `${data.label(c)}\n${data.words(y)} = ${brief(v)}` });
  }
  return {
    curves: [...curves.values()], rail: [], count, floorAcross: floor, x: { title: data.title(y), log: true, own: false },
    y: { title: colour ? capital(data.words(colour)) : '', log: false, own: true, domain: [-0.6, names.length - 0.4], ticks: names.map((_, k) => k), format: (k) => (colour ? data.wordsOf(colour, names[names.length - 1 - Math.round(k)] ?? '') : '') }, height: 40 + 26 * names.length,
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

// What is chosen (report.json, member top), with what draws it.
function plan(data) {
  const top = data.top;
  if (top.kind === 'none') return null;
  const slices = top.slices.map((s) => ({ ...s, order: s.shown.map((k) => top.names[k]), cells: [] }));
  top.slice.forEach((k, c) => slices[k]?.cells.push(c));
  const x = top.x === null || data.metric[top.x] || data.quantity[top.x] ? top.x : data.xKey, y = top.kind === 'solved' ? 'solved' : top.y;
  const title = { curves: () => `${capital(data.words(y))} against ${data.words(x)}`, rows: () => `${capital(data.words(y))} by ${data.words(top.colour)}`, solved: () => 'Share of the problems solved within a time' }[top.kind]();
  return { ...top, x, y, slices, title, make: { curves: curvePanel, rows: rowPanel, solved: solvedPanel }[top.kind] };
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
  const choices = p.slices;
  let drawings = [], at = 0;
  const f = frame('headline', p.title, '', { svg: () => (drawings.length === 1 ? drawings[0].svg : together(drawings.map((d) => d.svg))), rows: () => drawings.flatMap((d, k) => (d.spec ? specRows(d.spec).slice(k === 0 ? 0 : 1) : [])) });
  const legend = h('div', { class: 'legend' }), grid = h('div', { class: 'panels' });
  const slice = select('with', choices.map((s, k) => [k, s.words || 'all runs']), 0, (v) => { at = Number(v); redraw(); }, 'headline.at');
  at = Number(slice.value);
  f.controls.append(slice);
  f.plot.append(legend, grid);

  function redraw() {
    const { cells, order, left } = choices[at];
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
    const several = made.length > 1, floor = p.floor;
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
        curves: m.curves.length === 1 && m.curves[0].name === 'all' ? [{ ...m.curves[0], name: '' }] : m.curves, rail: m.rail, floor: m.floor, floorAcross: m.floorAcross, height: m.height ?? (several ? 230 : 320), roomy: !several || order.length <= AT_CURVES, quiet: several, railed: made.some((o) => o.rail.length > 0),
      });
    });
    // names stand at the curves where they have room, else once above the panels
    const away = several && p.make !== rowPanel && drawings.some((d) => !d.beside);
    legend.replaceChildren(...(away ? order.map((n, k) => h('span', {}, marker(k), data.wordsOf(p.colour, n))) : []));
    const count = made.reduce((s, m) => ({ failed: s.failed + m.count.failed, unplaced: s.unplaced + m.count.unplaced, beyond: s.beyond + m.count.beyond, zeros: s.zeros + m.count.zeros, rings: new Set([...s.rings, ...m.count.rings]) }), { failed: 0, unplaced: 0, beyond: 0, zeros: 0, rings: new Set() });
    const constant = (data.constant ?? []).filter((c) => !['seed', 't_end', 'sample', p.x].includes(c.key)).map((c) => (/^[-+.\d]/.test(c.value) ? `${c.words} = ${c.value}` : c.value)).join('; ');
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
