// SPDX-License-Identifier: GPL-3.0-or-later
// The film of a pivoting method: each frame is an event of the solver's trace.  Within a pivot lambda and w move on
// straight lines, so what is drawn between two frames is where they are, not an effect.  p: n, lo, hi, runs and, optional, names
// of the rows, and friction_of, mu, cone of friction rows, whose limits follow a normal row.
import { real } from '../data';
import { h, scroll, th } from '../dom';
import { slider } from './explore';
import { markdown } from './markdown';
import { brief, lowered, pretty, svg } from './words';

// The problem that all methods of the film solve.
export function problem(p) {
  const cells = (list) => list.map((v) => h('td', { class: 'n' }, brief(real(v))));
  return [...markdown('$$w = A\\lambda + b$$\n\n$w_i \\ge 0$ at $\\lambda_i = l_i$, $\\;w_i = 0$ between, $\\;w_i \\le 0$ at $\\lambda_i = u_i$'),
    scroll('Problem', h('table', { class: 'tableau', 'aria-label': 'Problem' }, h('tr', {}, th('row'), ...p.b.map((_, j) => th(`A${lowered(String(j + 1))}`, 'n')), ...['b', 'l', 'u'].map((t) => th(t, 'n'))),
      ...p.A.map((row, i) => h('tr', {}, h('th', { class: 'row', scope: 'row' }, `${i + 1}`), ...cells([...row, p.b[i], p.lo[i], p.hi[i]])))))];
}

export function film(host, p) {
  const lo = p.lo.map(real), hi = p.hi.map(real), calm = matchMedia('(prefers-reduced-motion: reduce)');
  const methods = [...new Set(p.runs.map((r) => r.solver))], friction = (i) => p.friction_of?.[i] >= 0, normal = (i) => p.friction_of[i];
  const named = (i) => (p.names?.[i] ? `: ${p.names[i]}` : '');
  let solver = methods[0], variant = Math.floor(((p.values?.length ?? 1) - 1) / 2), run, at = 0, shown = 0, timer = 0, playing = false;

  /* ---- diagrams: lambda to the right, w upwards (Vondrak 2005, figure 6.1) ---- */
  const W = 230, H = 190, M = 26;
  const spans = Array.from({ length: p.n }, (_, i) => {
    const frames = p.runs.flatMap((r) => r.frames), far = (key) => frames.map((f) => f[key][i]);
    const most = friction(i) ? p.mu[i] * Math.max(0, ...frames.map((f) => f.lambda[normal(i)])) : 0;
    const right = Math.max(...far('lambda'), most, !friction(i) && Number.isFinite(hi[i]) ? hi[i] : 0), left = Math.min(...far('lambda'), -most, !friction(i) && Number.isFinite(lo[i]) ? lo[i] : 0);
    const up = Math.max(...far('w').map(Math.abs), 1e-9), room = 0.14 * (right - left || 1);
    return { left: left - room, right: right + room, up: 1.12 * up };
  });
  const X = (i, v) => M + ((v - spans[i].left) / (spans[i].right - spans[i].left)) * (W - 2 * M), Y = (i, v) => H / 2 - (v / spans[i].up) * (H / 2 - 14);

  function diagram(i) {
    const zero = Y(i, 0), cone = p.cone?.[i] || p.cone?.[i - 1];
    const lines = ['at-lo', 'clamped', 'at-hi'].map((set) => svg('path', { class: `allowed ${set}` })), corners = [0, 1].map(() => svg('circle', { class: 'corner', cy: zero, r: 4 }));
    // what is allowed between these bounds; on a circle w is opposed to the impulse of both rows, which no row shows alone
    const allow = (low, high) => {
      const ends = [low, high].map(Number.isFinite), from = ends[0] ? X(i, low) : M - 14, to = ends[1] ? X(i, high) : W - M + 14;
      [ends[0] && !cone ? `M${from} ${zero}V8` : '', `M${from} ${zero}H${to}`, ends[1] && !cone ? `M${to} ${zero}V${H - 8}` : ''].forEach((d, k) => lines[k].setAttribute('d', d));
      corners.forEach((c, k) => {
        c.setAttribute('cx', k ? to : from);
        c.style.display = ends[k] ? '' : 'none';
      });
    };
    const picture = svg('svg', { viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': `row ${i + 1}${named(i)}: where (lambda, w) is and may be` },
      svg('path', { class: 'axes', d: `M${M - 14} ${zero}H${W - M + 14}M${X(i, 0)} 8V${H - 8}` }),
      svg('text', { x: W - 6, y: zero - 7, 'text-anchor': 'end' }, '\u03bb' + lowered(String(i + 1))), svg('text', { x: X(i, 0) + 6, y: 14 }, 'w' + lowered(String(i + 1))),
      ...lines, ...corners);
    if (!friction(i)) allow(lo[i], hi[i]);
    const trail = svg('path', { class: 'trail' }), dot = svg('circle', { class: 'point', r: 6.5 }), set = h('span', { class: 'set' });
    picture.append(trail, dot);
    return { trail, dot, set, allow, box: h('div', { class: 'diagram' }, h('div', {}, `row ${i + 1}${named(i)} `, set), picture) };
  }
  const diagrams = Array.from({ length: p.n }, (_, i) => diagram(i));

  /* ---- parts of the page ---- */
  const caption = h('p', { class: 'caption', 'aria-live': 'polite' }), tableau = scroll('Tableau'), rows = scroll('Rows'), result = h('p', { class: 'note' });
  const position = h('input', { type: 'range', min: 0, step: 1, 'aria-label': 'pivot', oninput: () => go(Number(position.value)) });
  const button = (text, label, action) => h('button', { type: 'button', class: 'tool', 'aria-label': label, title: label, onclick: action }, text);
  const play = button('\u25b6', 'play', () => (playing ? pause() : start()));
  const bar = h('div', { class: 'bar' }, button('|\u25c0', 'first', () => go(0)), button('\u25c0', 'back', () => go(at - 1)), play, button('\u25b6|', 'forward', () => go(at + 1)),
    button('\u25b6\u25b6|', 'last', () => go(run.frames.length - 1)), position);
  const tabs = h('div', { class: 'tabs', role: 'group', 'aria-label': 'solver' }, ...methods.map((m) => h('button', { type: 'button', class: 'chip', 'data-solver': m, onclick: () => {
    solver = m;
    load();
  } }, p.runs.find((r) => r.solver === m).method)));

  function set(i, frame) {
    const f = run.frames[frame], next = run.frames[frame + 1];
    return f.set[i] === 'open' && next?.row === i && run.method === 'dantzig' ? 'driven' : f.set[i];
  }

  function mix(key, i, position) {
    const a = Math.floor(position), b = Math.min(a + 1, run.frames.length - 1), f = position - a;
    return real(run.frames[a][key][i]) * (1 - f) + real(run.frames[b][key][i]) * f;
  }

  function move(position) {
    shown = position;
    diagrams.forEach((d, i) => {
      const points = run.frames.slice(0, Math.floor(position) + 1).map((f) => [real(f.lambda[i]), real(f.w[i])]).concat([[mix('lambda', i, position), mix('w', i, position)]]);
      const [lambda, w] = points[points.length - 1];
      if (friction(i)) {
        const limit = p.mu[i] * Math.max(0, mix('lambda', normal(i), position));
        d.allow(-limit, limit);
      }
      d.dot.setAttribute('cx', X(i, lambda));
      d.dot.setAttribute('cy', Y(i, w));
      d.trail.setAttribute('d', points.map((q, k) => `${k ? 'L' : 'M'}${X(i, q[0]).toFixed(1)} ${Y(i, q[1]).toFixed(1)}`).join(''));
    });
  }

  function showTableau(f) {
    const t = f.tableau;
    if (!t) {
      tableau.replaceChildren();
      return;
    }
    const value = (name) => (name === 't' ? f.t : f[name.startsWith('w') ? 'w' : 'lambda'][name.replace(/\D/g, '') - 1]);
    const ratio = (i) => (t.enters < 0 ? '' : t.leaves < 0 && !t.ratio.some((r) => Number.isFinite(real(r))) ? '\u221e' : brief(real(t.ratio[i])));
    const covers = t.nonbasic[t.enters] === 't';
    tableau.replaceChildren(h('table', { class: 'tableau', 'aria-label': 'Tableau' },
      h('caption', {}, t.enters < 0 ? 'The tableau of the last basis: with the sets right, the column const is the solution.'
        : covers ? 'Tableau: t enters, and grows until the last negative w is zero.'
          : `Tableau: ${pretty(t.nonbasic[t.enters])} ${t.sign > 0 ? 'grows' : 'falls'} next; the smallest ratio of distance and rate stops it${t.leaves < 0 ? ', or its own bound, or nothing' : ''}.`),
      h('thead', {}, h('tr', {}, th('basic'), th('now', 'n'), th('= const', 'n'), ...t.nonbasic.map((v, j) => th(pretty(v), `n${j === t.enters ? ' enters' : ''}`)),
        t.enters < 0 || covers ? null : th('ratio', 'n'))),
      h('tbody', {}, ...t.basic.map((v, i) => h('tr', { class: i === t.leaves ? 'leaves' : null }, h('th', { class: 'row', scope: 'row' }, pretty(v)), h('td', { class: 'n' }, brief(value(v))), h('td', { class: 'n' }, brief(t.constant[i])),
        ...t.T[i].map((a, j) => h('td', { class: `n${j === t.enters ? ' enters' : ''}` }, brief(a))), t.enters < 0 || covers ? null : h('td', { class: 'n' }, ratio(i)))))));
  }

  function show() {
    const f = run.frames[at];
    const told = [...new Set([...f.text.matchAll(/\b(?:lambda|w|row )(\d)\b/g)].map((m) => m[1] - 1))].filter((i: number) => p.names?.[i]);
    caption.textContent = pretty(f.text) + (told.length > 0 ? ` (${told.map((i: number) => `row ${i + 1} is ${p.names[i]}`).join('; ')})` : '');
    diagrams.forEach((d, i) => {
      const name = set(i, at);
      d.set.textContent = name;
      d.set.className = `set ${name.replace(' ', '-')}`;
      d.dot.setAttribute('class', `point ${name.replace(' ', '-')}`);
    });
    rows.replaceChildren(h('table', { 'aria-label': 'Rows' }, h('tr', {}, th('row'), th('set'), th('\u03bb', 'n'), th('w', 'n')),
      ...f.set.map((_, i) => h('tr', { class: f.row === i ? 'moved' : null }, h('td', {}, `${i + 1}${named(i)}`), h('td', {}, set(i, at)), h('td', { class: 'n' }, brief(f.lambda[i])), h('td', { class: 'n' }, brief(f.w[i])))),
      f.t == null ? null : h('tr', {}, h('td', {}, 't'), h('td', {}), h('td', { class: 'n' }, brief(f.t)), h('td', {}))));
    showTableau(f);
    position.value = at;
    position.setAttribute('aria-valuetext', f.text);
    host.dataset.frame = at;
  }

  /* ---- time ---- */
  function go(k: number, then?: () => void) {
    const to = Math.max(0, Math.min(run.frames.length - 1, k)), from = shown, begun = performance.now();
    if (!then) pause();
    cancelAnimationFrame(timer);
    at = to;
    show();
    if (calm.matches || Math.abs(to - from) > 1 || to === from) {
      move(to);
      if (then) timer = setTimeout(then, 900);
      return;
    }
    const step = (now) => {
      const f = Math.min(1, (now - begun) / 700);
      move(from + (to - from) * f * f * (3 - 2 * f));
      if (f < 1) timer = requestAnimationFrame(step);
      else if (then) timer = setTimeout(then, 900);
    };
    timer = requestAnimationFrame(step);
  }
  function pause() {
    playing = false;
    clearTimeout(timer);
    cancelAnimationFrame(timer);
    play.textContent = '\u25b6';
    play.setAttribute('aria-label', 'play');
  }
  function start() {
    playing = true;
    play.textContent = '\u23f8';
    play.setAttribute('aria-label', 'pause');
    const next = () => {
      if (!playing) return;
      if (at >= run.frames.length - 1) pause();
      else go(at + 1, next);
    };
    if (at >= run.frames.length - 1) go(0, next);
    else next();
  }

  function load() {
    pause();
    run = p.runs.find((r) => r.solver === solver && r.variant === variant);
    tabs.querySelectorAll('button').forEach((b) => b.setAttribute('aria-pressed', b.dataset.solver === solver));
    const kept = run.frames.length < run.events ? `, the first ${run.frames.length} are shown` : '';
    result.textContent = `${run.solver}: ${run.reason} after ${run.iterations} ${run.iterations === 1 ? 'iteration' : 'iterations'}${kept}${run.proved ? '; it proves that no \u03bb satisfies the linear conditions' : ''}. Keys: space plays, arrows step, Home and End.`;
    position.max = run.frames.length - 1;
    host.dataset.frames = run.frames.length;
    host.dataset.solver = solver;
    at = shown = 0;
    show();
    move(0);
  }

  for (const [k, v] of [['tabindex', '0'], ['role', 'group'], ['aria-label', 'pivots; arrow keys lead from one to the next']]) host.setAttribute(k, v);
  host.addEventListener('keydown', (e) => {
    const keys = { ArrowRight: () => go(at + 1), ArrowLeft: () => go(at - 1), Home: () => go(0), End: () => go(run.frames.length - 1), ' ': () => (playing ? pause() : start()) };
    if (!keys[e.key] || e.altKey || e.ctrlKey || e.metaKey || (e.key === ' ' && e.target.tagName === 'BUTTON') || (e.target.type === 'range' && e.key !== ' ')) return;
    e.preventDefault();
    keys[e.key]();
  });
  host.append(...(p.values ? [slider(`b${lowered(String(p.varied + 1))}`, p.values.map((v) => brief(v)), variant, (k) => {
    variant = k;
    const from = at;
    load();
    go(from);
  })] : []), tabs, bar, caption, h('div', { class: 'diagrams' }, ...diagrams.map((d) => d.box)), h('div', { class: 'state' }, rows, tableau), result);
  load();
}
