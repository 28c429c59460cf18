// SPDX-License-Identifier: GPL-3.0-or-later
// The few statistics of the figures.  Definitions as in the static report (order.c, expr.c).

export function median(v) {
  if (v.length === 0) return NaN;
  const s = Float64Array.from(v).sort();
  const m = s.length >> 1;
  return s.length % 2 ? s[m] : 0.5 * (s[m - 1] + s[m]);
}

// Theil-Sen slope of log y against log x.
export function logSlope(points) {
  const p = points.filter(({ x, y }) => x > 0 && y > 0 && Number.isFinite(x) && Number.isFinite(y));
  const slopes = [];
  for (let i = 0; i < p.length; i++)
    for (let k = i + 1; k < p.length; k++)
      if (p[i].x !== p[k].x) slopes.push(Math.log(p[k].y / p[i].y) / Math.log(p[k].x / p[i].x));
  return median(slopes);
}

// Observed order: Theil-Sen slope on the longest window of at least three points in which neighbouring
// slopes differ by less than 0.2.  points ascend in x.
export function observedOrder(points) {
  const slope = (i) => {
    const a = points[i], b = points[i + 1];
    if (!(a.y > 0) || !(b.y > 0) || !(b.x > a.x) || !Number.isFinite(a.y) || !Number.isFinite(b.y)) return NaN;
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
    if (last - first + 1 >= 3 && (!best || last - first > best.last - best.first)) best = { first, last };
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
