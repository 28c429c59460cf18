// SPDX-License-Identifier: GPL-3.0-or-later
// The few statistics of the figures.  Definitions as in the static report (order.c, expr.c).

export function median(v) {
  if (v.length === 0) return NaN;
  const s = Float64Array.from(v).sort();
  const m = s.length >> 1;
  return s.length % 2 ? s[m] : 0.5 * (s[m - 1] + s[m]);
}

// Slopes between all pairs of points, in logarithms, ascending.
function slopes(points) {
  const p = points.filter(({ x, y }) => x > 0 && y > 0 && Number.isFinite(x) && Number.isFinite(y));
  const list = [];
  for (let i = 0; i < p.length; i++)
    for (let k = i + 1; k < p.length; k++)
      if (p[i].x !== p[k].x) list.push(Math.log(p[k].y / p[i].y) / Math.log(p[k].x / p[i].x));
  return list.sort((a, b) => a - b);
}

// Theil-Sen slope of log y against log x.
export const logSlope = (points) => median(slopes(points));

// A fitted exponent y ~ x^slope with the quartiles of the slopes between pairs of points; null with fewer than three different
// x, or where these quartiles are more than 1 apart: such points follow no power.
export function powerLaw(points) {
  const used = points.filter(({ x, y }) => x > 0 && y > 0 && Number.isFinite(x) && Number.isFinite(y));
  const xs = [...new Set<number>(used.map((p) => p.x))].sort((a, b) => a - b), list = slopes(used);
  if (xs.length < 3) return null;
  const at = (q) => {
    const k = q * (list.length - 1), i = Math.floor(k);
    return list[i] + (k - i) * ((list[i + 1] ?? list[i]) - list[i]);
  };
  const [lo, hi] = [at(0.25), at(0.75)];
  return hi - lo > 1 ? null : { slope: median(list), lo, hi, from: xs[0], to: xs[xs.length - 1] };
}

const LEAST_ORDER = 0.25; // flatter than this is no order: the floor of rounding, of the reference, or an error of another part

// Observed order: Theil-Sen slope on the longest window of at least three points in which neighbouring slopes differ by less
// than 0.2, and which is not flat.  points ascend in x; those at or under `floor` (the uncertainty of the truth) are left out.
export function observedOrder(points, floor = 0) {
  const slope = (i) => {
    const a = points[i], b = points[i + 1];
    if (!(a.y > floor) || !(b.y > floor) || !(b.x > a.x) || !Number.isFinite(a.y) || !Number.isFinite(b.y)) return NaN;
    return Math.log(b.y / a.y) / Math.log(b.x / a.x);
  };
  let best = null;
  for (let first = 0; first + 1 < points.length; first++) {
    let before = slope(first);
    if (Number.isNaN(before)) continue;
    let last = first + 1;
    while (last + 1 < points.length) {
      const next = slope(last);
      if (Number.isNaN(next) || Math.abs(next - before) >= 0.2) break;
      before = next;
      last++;
    }
    if (last - first + 1 < 3 || (best && last - first <= best.last - best.first)) continue;
    if (!(logSlope(points.slice(first, last + 1)) >= LEAST_ORDER)) continue;
    best = { first, last };
  }
  if (!best) return null;
  const window = points.slice(best.first, best.last + 1);
  return { slope: logSlope(window), from: window[0].x, to: window[window.length - 1].x, window };
}

// Deterministic random numbers (mulberry32): the same page shows the same bands.
export function random(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
