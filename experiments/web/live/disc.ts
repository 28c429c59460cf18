// SPDX-License-Identifier: GPL-3.0-or-later
// The tangential impulse of a contact in its plane: the limit of friction (a disc, a box or a pyramid), which follows the normal
// impulse, the iterates of a method, its answer, and the direction of sliding.
import { svg } from '../lesson/words';
import { EDGE, frame, number, SIZE } from './plane';
import { type Contact, type Problem } from './problem';

// limits: of friction rows where they follow nothing; null: mu lambda_n, of a pyramid with so many directions where directions > 0.
export function disc(p: Problem, c: Contact, run: any, back: (z: number[]) => number[], directions: number, limits: number[] | null) {
  const { first, normal } = c, round = c.disc && !limits, frames: number[][] = run.runs[0].frames.map((f: any) => back(f.lambda)).filter((v: number[]) => v.every(Number.isFinite)), lambda = back(run.lambda);
  const limit = (v: number[], k: number) => (limits ? limits[first + k] : p.mu[first + k] * Math.max(0, v[normal]));
  const w = p.b.map((b, i) => b + lambda.reduce((s, v, j) => s + p.A[i + j * p.n] * v, 0)), slip = [w[first], w[first + 1]], speed = Math.hypot(...slip);
  // as far as the last limit and the iterates go, but iterates far outside are cut
  const last = Math.max(limit(lambda, 0), limit(lambda, 1)), far = Math.max(...frames.concat([lambda]).map((v) => Math.max(Math.abs(v[first]), Math.abs(v[first + 1]))));
  const reach = 1.3 * Math.max(Math.min(far, 3 * last || far), last, 1e-9), scale = (SIZE / 2 - EDGE) / reach, X = (v: number) => SIZE / 2 + scale * v, Y = (v: number) => SIZE / 2 - scale * v;
  const area = (v: number[], kind: string) => {
    const a = limit(v, 0), b = limit(v, 1);
    if (directions > 0) return svg('path', { class: kind, d: Array.from({ length: directions }, (_, k) => `${k ? 'L' : 'M'}${X(a * Math.cos((2 * Math.PI * k) / directions)).toFixed(1)} ${Y(a * Math.sin((2 * Math.PI * k) / directions)).toFixed(1)}`).join('') + 'Z' });
    return round ? svg('circle', { class: kind, cx: X(0), cy: Y(0), r: scale * a }) : svg('rect', { class: kind, x: X(-a), y: Y(b), width: 2 * scale * a, height: 2 * scale * b });
  };
  const points = frames.concat([lambda]).map((v) => [X(v[first]), Y(v[first + 1])].map((x) => Math.max(-SIZE, Math.min(2 * SIZE, x)))), end = points[points.length - 1];
  const slides = speed > 1e-9 * Math.max(1, ...p.b.map(Math.abs)), away = slides ? slip.map((v) => (0.3 * (SIZE / 2 - EDGE) * v) / speed) : [0, 0], tip = [end[0] + away[0], end[1] - away[1]];
  const across = slides ? [-away[1], -away[0]].map((v) => 0.2 * v) : [0, 0], foot = [end[0] + 0.72 * away[0], end[1] - 0.72 * away[1]];
  const size = Math.hypot(lambda[first], lambda[first + 1]), small = (v: number, of: number) => number(Math.abs(v) < 1e-9 * of ? 0 : v), shape = directions > 0 ? 'pyramid' : round ? 'disc' : 'box', most = directions > 0 || round || p.mu[first] === p.mu[first + 1] ? number(limit(lambda, 0)) : `${number(limit(lambda, 0))} and ${number(limit(lambda, 1))}`;
  const words = `${limits ? 'Fixed limits' : '\u03bc\u03bb\u2099'} = ${most}, impulse (${small(lambda[first], size)}, ${small(lambda[first + 1], size)}) of size ${number(size)}: ${lambda[normal] > 0 ? (slides ? `the contact slides with ${number(speed)} in the direction (${slip.map((v) => small(v / speed, 1)).join(', ')}), the red arrow.` : 'the contact sticks.') : 'the contact is open.'}`;
  const label = (x: number, y: number, i: number) => svg('text', { x, y }, '\u03bb' + '\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088'[i + 1]);
  const picture = frame(`Friction ${shape}: ${run.solver}`, `${c.name[0].toUpperCase()}${c.name.slice(1)}. ${words}`, `friction ${shape} and iterates of ${run.solver}: ${words}`,
    svg('path', { class: 'live-axes', d: `M${EDGE} ${Y(0)}H${SIZE - EDGE}M${X(0)} ${EDGE}V${SIZE - EDGE}` }),
    ...frames.slice(0, -1).map((v) => area(v, 'live-limit-before')), area(lambda, 'live-limit'), label(SIZE - EDGE - 12, Y(0) - 6, first), label(X(0) + 6, EDGE + 6, first + 1),
    svg('path', { class: 'live-trail', d: points.map((q, k) => `${k ? 'L' : 'M'}${q[0].toFixed(1)} ${q[1].toFixed(1)}`).join('') }),
    ...points.slice(0, -1).map((q) => svg('circle', { class: 'live-dot', cx: q[0], cy: q[1], r: 2.5 })), svg('circle', { class: 'live-point', cx: end[0], cy: end[1], r: 5 }),
    slides ? svg('path', { class: 'live-slip', d: `M${end[0]} ${end[1]}L${tip[0]} ${tip[1]}M${foot[0] + across[0]} ${foot[1] + across[1]}L${tip[0]} ${tip[1]}L${foot[0] - across[0]} ${foot[1] - across[1]}` }) : null);
  Object.assign(picture.dataset, { contact: String(normal), solver: run.solver, shape, limit: String(limit(lambda, 0)), impulse: [lambda[first], lambda[first + 1]].join(' '), slip: slip.join(' ') });
  return picture;
}
