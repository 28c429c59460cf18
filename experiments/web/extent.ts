// SPDX-License-Identifier: GPL-3.0-or-later
// How far bodies and shapes reach.

// How far a shape reaches from the origin of its body.
export function reach(s, dim) {
  if (s.kind === 'plane' || s.kind === 'mesh' || s.kind === 'field') return 0;
  const off = Math.hypot(s.x[0], s.x[1], dim === 3 ? s.x[2] : 0);
  if (s.kind === 'sphere') return off + s.radius[0];
  if (s.kind === 'capsule') return off + s.radius[0] + s.length[0] / 2;
  if (s.kind === 'cylinder') return off + Math.hypot(s.radius[0], s.length[0] / 2);
  if (s.kind === 'cone') return off + Math.max(0.75 * s.length[0], Math.hypot(s.radius[0], s.length[0] / 4));
  if (s.kind === 'polytope') {
    let most = 0;
    for (let k = 0; s.vertices && k < s.vertices.length; k += dim) most = Math.max(most, Math.hypot(...s.vertices.slice(k, k + dim)));
    return off + most;
  }
  if (s.kind === 'ellipsoid') return off + Math.max(...s.half);
  return off + Math.hypot(s.half[0], s.half[1], dim === 3 ? s.half[2] : 0);
}

// Bodies without a shape are drawn by their inertia; a large one would hide all that has a shape or a joint.
export function modest(r) {
  const shaped = new Set(r.shapes.map((s) => s.body));
  let seen = Math.max(0, ...r.shapes.filter((s) => s.body >= 0).map((s) => reach(s, r.dim)));
  for (const j of r.joints) for (const [b, at] of [[j.a, j.at_a], [j.b, j.at_b]]) if (b >= 0) seen = Math.max(seen, Math.hypot(...at.slice(0, r.dim)));
  return r.bodies.map((body, b) => {
    const most = Math.max(...body.half);
    return shaped.has(b) || seen === 0 || most <= 2 * seen ? body : { ...body, half: body.half.map((v) => (v * seen) / (3 * most)) };
  });
}
