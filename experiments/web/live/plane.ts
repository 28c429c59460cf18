// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures of problems with two rows: complementary cones, iterates between the lines w = 0, level sets of the merit function.
import { h } from '../dom';
import { svg } from '../lesson/words';
import { bounds, hasFriction, type Problem } from './problem';

export const SIZE = 300, EDGE = 22;

function axes(lo: [number, number], hi: [number, number]) {
  const X = (v: number) => EDGE + ((v - lo[0]) / (hi[0] - lo[0])) * (SIZE - 2 * EDGE), Y = (v: number) => SIZE - EDGE - ((v - lo[1]) / (hi[1] - lo[1])) * (SIZE - 2 * EDGE);
  return { X, Y };
}
export const number = (v: number) => String(Number(v.toPrecision(3)));

export function frame(title: string, words: string, name: string, ...children: any[]) {
  return h('figure', { class: 'live-plane' }, h('h3', {}, title), svg('svg', { viewBox: `0 0 ${SIZE} ${SIZE}`, role: 'img', 'aria-label': name }, ...children), h('figcaption', {}, words));
}

// b as a point, and the four cones that -b may lie in: -b = I(w) - A(lambda) with one of each pair zero.
function cones(p: Problem) {
  const e = [[1, 0], [0, 1]], a = [[-p.A[0], -p.A[1]], [-p.A[2], -p.A[3]]], unit = (v: number[]) => v.map((x) => x / (Math.hypot(...v) || 1));
  const { X, Y } = axes([-1.25, -1.25], [1.25, 1.25]), q = unit(p.b), parts: any[] = [], inside: string[] = [];
  for (let k = 0; k < 4; k++) {
    const u = unit(k & 1 ? a[0] : e[0]), v = unit(k & 2 ? a[1] : e[1]), det = u[0] * v[1] - u[1] * v[0];
    parts.push(svg('path', { class: `live-cone cone-${k}`, d: `M${X(0)} ${Y(0)}L${X(1.2 * u[0])} ${Y(1.2 * u[1])}L${X(1.2 * v[0])} ${Y(1.2 * v[1])}Z` }));
    if (Math.abs(det) > 1e-12) {
      const s = (q[0] * v[1] - q[1] * v[0]) / det, t = (u[0] * q[1] - u[1] * q[0]) / det;
      if (s >= -1e-9 && t >= -1e-9) inside.push(`(${k & 1 ? '\u03bb\u2081' : 'w\u2081'}, ${k & 2 ? '\u03bb\u2082' : 'w\u2082'})`);
    }
  }
  for (const [v, text] of [[e[0], 'e\u2081'], [e[1], 'e\u2082'], [unit(a[0]), '\u2212a\u2081'], [unit(a[1]), '\u2212a\u2082']] as any)
    parts.push(svg('path', { class: 'live-ray', d: `M${X(0)} ${Y(0)}L${X(v[0])} ${Y(v[1])}` }), svg('text', { x: X(1.1 * v[0]) - 6, y: Y(1.1 * v[1]) + 4 }, text));
  parts.push(svg('circle', { class: 'live-point', cx: X(q[0]), cy: Y(q[1]), r: 5 }), svg('text', { x: X(q[0]) + 8, y: Y(q[1]) - 6 }, 'b'));
  const words = inside.length === 0 ? 'The direction of b lies in none of the four cones: there is no solution.' : `The direction of b lies in ${inside.length === 1 ? 'one cone' : `${inside.length} cones`}, ${inside.join(', ')}: ${inside.length === 1 ? 'these two may be positive, and the solution is unique' : 'as many index sets have a solution'}.`;
  return frame('Complementary cones', words, `complementary cones: ${words}`, ...parts);
}

// (lambda1, lambda2) with the lines w = 0 and the iterates of a method.
function view(p: Problem, runs: any[]) {
  const points = runs.flatMap((r) => r.runs[0].frames.map((f: any) => f.lambda)).concat(runs.map((r) => r.lambda), [[0, 0]]).filter((v) => v.every(Number.isFinite));
  const lo = [0, 1].map((i) => Math.min(...points.map((v) => v[i]))), hi = [0, 1].map((i) => Math.max(...points.map((v) => v[i])));
  const room = 0.25 * Math.max(hi[0] - lo[0], hi[1] - lo[1], 1e-6), at = axes([lo[0] - room, lo[1] - room], [hi[0] + room, hi[1] + room]);
  return { ...at, lo: lo.map((v) => v - room), hi: hi.map((v) => v + room) };
}
function zeros(p: Problem, v: any) {
  return [0, 1].map((i) => {
    const a = p.A[i], c = p.A[i + 2], b = p.b[i];
    const ends = Math.abs(c) >= Math.abs(a) ? [v.lo[0], v.hi[0]].map((x) => [x, -(b + a * x) / c]) : [v.lo[1], v.hi[1]].map((y) => [-(b + c * y) / a, y]);
    if (!ends.flat().every(Number.isFinite)) return null;
    return svg('path', { class: `live-zero zero-${i}`, 'clip-path': `url(#live-clip-${clips})`, d: `M${v.X(ends[0][0])} ${v.Y(ends[0][1])}L${v.X(ends[1][0])} ${v.Y(ends[1][1])}` });
  }).filter(Boolean);
}
// of a contact in the plane, a normal row and a friction row: |friction| = mu normal
function cone(p: Problem, v: any) {
  const t = p.friction_of.findIndex((j) => j >= 0), n = p.friction_of[t];
  if (t < 0) return null;
  const far = v.hi[n], at = (sign: number) => (n === 0 ? `${v.X(far)} ${v.Y(sign * p.mu[t] * far)}` : `${v.X(sign * p.mu[t] * far)} ${v.Y(far)}`);
  return svg('path', { class: 'live-limit', 'clip-path': `url(#live-clip-${clips})`, d: `M${at(-1)}L${v.X(0)} ${v.Y(0)}L${at(1)}` });
}
let clips = 0; // each picture has one of its own
const clip = () => svg('defs', {}, svg('clipPath', { id: `live-clip-${++clips}` }, svg('rect', { x: EDGE, y: EDGE, width: SIZE - 2 * EDGE, height: SIZE - 2 * EDGE })));
const cross = (v: any) => svg('path', { class: 'live-axes', d: `M${EDGE} ${v.Y(0)}H${SIZE - EDGE}M${v.X(0)} ${EDGE}V${SIZE - EDGE}` });
const labels = (v: any) => [svg('text', { x: SIZE - EDGE - 4, y: v.Y(0) - 5, 'text-anchor': 'end' }, '\u03bb\u2081'), svg('text', { x: v.X(0) + 5, y: EDGE + 4 }, '\u03bb\u2082')];
function trail(v: any, run: any) {
  const at = run.runs[0].frames.map((f: any) => [v.X(f.lambda[0]), v.Y(f.lambda[1])]).concat([[v.X(run.lambda[0]), v.Y(run.lambda[1])]]).filter((q: number[]) => q.every(Number.isFinite));
  return [svg('path', { class: 'live-trail', d: at.map((q: number[], k: number) => `${k ? 'L' : 'M'}${q[0].toFixed(1)} ${q[1].toFixed(1)}`).join('') }), ...at.map((q: number[], k: number) => svg('circle', { class: k === at.length - 1 ? 'live-point' : 'live-dot', cx: q[0], cy: q[1], r: k === at.length - 1 ? 5 : 2.5 }))];
}

function sweeps(p: Problem, run: any, title: string, words: string) {
  const v = view(p, [run]);
  return frame(title, `${words} ${run.runs[0].iterations} iterations end at (${run.lambda.map(number).join(', ')}).`, `${title}: iterates of ${run.solver}`, clip(), cone(p, v), cross(v), ...labels(v), ...zeros(p, v), ...trail(v, run));
}

// |(phi_1, phi_2)|^2 / 2 with phi(lambda - lo, phi(hi - lambda, -w)) (Fischer and Burmeister; boxed as in the solver).
function merit(p: Problem, x: number, y: number) {
  const phi = (a: number, b: number) => Math.hypot(a, b) - (a + b), lambda = [x, y];
  let sum = 0;
  for (let i = 0; i < 2; i++) {
    const w = p.A[i] * x + p.A[i + 2] * y + p.b[i], [lo, hi] = bounds(p, i, lambda), upper = Number.isFinite(hi) ? -phi(hi - lambda[i], -w) : w;
    sum += 0.5 * (Number.isFinite(lo) ? phi(lambda[i] - lo, upper) : upper) ** 2;
  }
  return sum;
}
function levels(p: Problem, run: any) {
  const v = view(p, [run]), cells = 36, parts: any[] = [], values: number[][] = [];
  let least = Infinity, most = 0;
  for (let i = 0; i < cells; i++) {
    values.push([]);
    for (let j = 0; j < cells; j++) {
      const m = merit(p, v.lo[0] + ((i + 0.5) / cells) * (v.hi[0] - v.lo[0]), v.lo[1] + ((j + 0.5) / cells) * (v.hi[1] - v.lo[1]));
      values[i].push(m);
      least = Math.min(least, m);
      most = Math.max(most, m);
    }
  }
  const side = (SIZE - 2 * EDGE) / cells, bands = 9, low = Math.log(least + 1e-6 * most), span = Math.log(most) - low || 1;
  for (let i = 0; i < cells; i++) for (let j = 0; j < cells; j++) {
    const band = Math.floor(bands * Math.min(0.999, Math.max(0, (Math.log(values[i][j] + 1e-12 * most) - low) / span)));
    parts.push(svg('rect', { class: 'live-level', 'fill-opacity': (0.07 * (bands - band)).toFixed(2), x: (EDGE + i * side).toFixed(1), y: (SIZE - EDGE - (j + 1) * side).toFixed(1), width: (side + 0.3).toFixed(1), height: (side + 0.3).toFixed(1) }));
  }
  return frame('Level sets of the merit function', `Newton's method on the equations of Fischer and Burmeister goes downhill: darker is smaller. ${run.runs[0].iterations} iterations.`, 'level sets of the merit function and the iterates of fischer-newton', clip(), ...parts, cone(p, v), cross(v), ...labels(v), ...trail(v, run));
}

export function pictures(p: Problem, results: any[]) {
  const of = (name: string) => results.find((r) => r.solver === name && r.runs[0].frames.length > 0), out: any[] = [], plain = !hasFriction(p) && p.lo.every((v) => v === 0) && p.hi.every((v) => v === Infinity);
  if (plain) out.push(cones(p));
  if (of('pgs')) out.push(sweeps(p, of('pgs'), hasFriction(p) ? 'Friction cone and iterates of PGS' : 'Iterates of PGS', `Each sweep goes along one axis after the other to the line w = 0, or to the bound${hasFriction(p) ? ': friction stays within \u03bc\u03bb\u2099' : ''}.`));
  if (of('fischer-newton')) out.push(levels(p, of('fischer-newton')));
  if (of('interior-point')) out.push(sweeps(p, of('interior-point'), 'Central path', 'The interior-point method stays away from the bounds until the end.'));
  return out;
}
