// SPDX-License-Identifier: GPL-3.0-or-later
// What is seen of a recorded run (experiments/simulate/replay.h): bodies, ground, cloth, ropes, springs, contacts;
// forces of drives are in loads.js.
// Reports and `perp view` share it.
import { modest, reach } from './extent';
import {
  Box3, BoxGeometry, BufferAttribute, BufferGeometry, CanvasTexture, CapsuleGeometry, CircleGeometry, Color, ConeGeometry, ConvexGeometry, Curve, CylinderGeometry,
  DirectionalLight, DoubleSide, EdgesGeometry, GridHelper, Group, HemisphereLight, InstancedMesh, Line, LineBasicMaterial,
  LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshStandardMaterial, OrbitControls, PCFShadowMap, PerspectiveCamera, PlaneGeometry, Quaternion,
  Scene, screenColours, ShadowMaterial, SphereGeometry, TubeGeometry, Vector3, WebGLRenderer, WireframeGeometry,
} from './three';
import { floats } from './data';
import { decodeLoads } from './loads';

const axisX = new Vector3(1, 0, 0), axisY = new Vector3(0, 1, 0), axisZ = new Vector3(0, 0, 1), one = new Vector3(1, 1, 1);
// told apart with any kind of colour vision (P. Tol, "light"), neighbours far from each other
const palette = ['#77aadd', '#ee8866', '#eedd88', '#44bb99', '#ffaabb', '#bbcc33', '#99ddff', '#aaaa00'];
export const bodyColour = (i) => palette[i % palette.length];
const MANY = 300; // bodies: from here on shapes are instances, without lines of their own
const PATHS = 4; // bodies whose paths are drawn
const WIRES = 20000; // triangles of a surface: with more of them they are not drawn one by one
// joints with a place in the world, where they stay or along which they slide; rows of velocities and plug-ins have none
const pinned = new Set(['ball', 'hinge', 'universal', 'fixed', 'distance', 'wheel', 'planar', 'cylindrical']), sliding = new Set(['slider', 'line', 'curve']);
export const norm3 = (v, at) => Math.hypot(v[at], v[at + 1], v[at + 2]);

export function decode(r) {
  const d = { ...r, bodies: modest(r) };
  for (const key of ['t', 'energy', 'drift', 'depth', 'pose', 'error', 'contacts', 'contact', 'known', 'reference']) d[key] = floats(r[key]);
  d.per = d.dim === 3 ? 7 : 3;
  d.first = []; // of the contacts of a frame
  let at = 0;
  for (let i = 0; i < d.frames; i++) {
    d.first.push(at);
    at += d.contacts[i];
  }
  d.worst = Float64Array.from({ length: d.frames }, (_, i) => {
    let w = 0;
    for (let k = 0; k < d.joints.length; k++) w = Math.max(w, norm3(d.error, 3 * (i * d.joints.length + k)));
    return w;
  });
  d.push = Float64Array.from({ length: d.frames }, (_, i) => {
    let sum = 0;
    for (let k = 0; k < d.contacts[i]; k++) sum += norm3(d.contact, 6 * (d.first[i] + k) + 3);
    return sum;
  });
  decodeLoads(d, r);
  // reaction forces of joints, drawn as contacts are: a place and an arrow each
  const n = d.joints.length;
  d.reaction = !r.reaction ? null : { ...d, contacts: new Array(d.frames).fill(n), first: Array.from({ length: d.frames }, (_, i) => i * n), contact: floats(r.reaction) };
  // frames with a reference, and how far the bodies are from it
  d.refs = [];
  for (let i = 0; i < d.frames; i++) if (d.known[i] > 0) d.refs.push(i);
  d.away = new Float64Array(d.frames).fill(NaN);
  d.refs.forEach((i, k) => {
    let most = 0;
    for (let b = 0; b < d.bodies.length; b++) {
      const p = d.per * (i * d.bodies.length + b), q = d.per * (k * d.bodies.length + b);
      let s = 0;
      for (let c = 0; c < d.dim; c++) s += (d.pose[p + c] - d.reference[q + c]) ** 2;
      most = Math.max(most, Math.sqrt(s));
    }
    d.away[i] = most;
  });
  return d;
}

// Frame at or before t, and how far on to the next.
export function place(d, t) {
  let lo = 0, hi = d.frames - 1;
  if (t >= d.t[hi]) return [hi, 0];
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1;
    d.t[mid] <= t ? (lo = mid) : (hi = mid);
  }
  return [lo, Math.min(1, Math.max(0, (t - d.t[lo]) / (d.t[hi] - d.t[lo] || 1)))];
}

// Between the poses at a and b of an array.
function mixPose(p, a, b, s, dim, position, turn) {
  const mix = (k) => p[a + k] + s * (p[b + k] - p[a + k]);
  if (dim === 2) {
    position.set(mix(0), mix(1), 0);
    turn.setFromAxisAngle(axisZ, mix(2));
  } else {
    position.set(mix(0), mix(1), mix(2));
    const sign = p[a + 3] * p[b + 3] + p[a + 4] * p[b + 4] + p[a + 5] * p[b + 5] + p[a + 6] * p[b + 6] < 0 ? -1 : 1;
    const q = (k) => p[a + k] * (1 - s) + sign * p[b + k] * s;
    turn.set(q(4), q(5), q(6), q(3)).normalize();
  }
}

const where = (d, i, b, out = new Vector3()) => {
  const k = d.per * (i * d.bodies.length + b);
  return out.set(d.pose[k], d.pose[k + 1], d.dim === 2 ? 0 : d.pose[k + 2]);
};
const anchorOf = (d, at) => new Vector3(at[0], at[1], d.dim === 2 ? 0 : at[2]);

// ---- what a scene is made of --------------------------------------------------------------------------------

// The box of a shape that stands in the world; planes have none.
function extent(s, d) {
  const box = new Box3(), p = new Vector3(), flat = d.dim === 2, corners = (x, y, z) => {
    for (let k = 0; k < 8; k++) box.expandByPoint(p.set(k & 1 ? x : -x, k & 2 ? y : -y, flat ? 0 : k & 4 ? z : -z).applyMatrix4(m));
  };
  const m = shapeMatrix(s, d.dim), r = s.radius[0], half = s.half, long = s.length[0] / 2;
  if (s.heights) {
    const nx = s.grid[0];
    s.heights.forEach((h, k) => box.expandByPoint(p.set((k % nx) * s.spacing[0], Math.floor(k / nx) * s.spacing[1], h).applyMatrix4(m)));
  } else if (s.vertices) for (let k = 0; k < s.vertices.length; k += d.dim) box.expandByPoint(p.set(s.vertices[k], s.vertices[k + 1], flat ? 0 : s.vertices[k + 2]).applyMatrix4(m));
  else if (s.kind === 'box' || s.kind === 'ellipsoid') corners(half[0], half[1], half[2]);
  else if (s.kind === 'sphere') corners(r, r, r);
  else if (s.kind === 'cylinder') corners(long, r, r);
  else if (s.kind === 'cone') corners(1.5 * long, r, r);
  else if (s.kind === 'capsule') corners(long + r, r, r);
  return box;
}

// Distance joints and springs between bodies without shapes: a rope or a cloth, where they are many.
function weave(d) {
  const bare = d.bodies.map(() => true);
  for (const s of d.shapes) if (s.body >= 0) bare[s.body] = false;
  const links = [];
  for (const j of [...d.joints.filter((k) => k.kind === 'distance'), ...d.springs])
    if ((j.a < 0 || bare[j.a]) && (j.b < 0 || bare[j.b]) && (j.a < 0 || norm3(j.at_a, 0) === 0) && (j.b < 0 || norm3(j.at_b, 0) === 0)) links.push(j);
  const between = links.filter((j) => j.a >= 0 && j.b >= 0);
  if (between.length < 5) return null;
  const p = new Vector3(), q = new Vector3();
  const long = between.map((j) => where(d, 0, j.a, p).distanceTo(where(d, 0, j.b, q)));
  const least = Math.min(...long.filter((l) => l > 0));
  const near = between.filter((_, k) => long[k] < 1.25 * least), next = new Map();
  for (const j of near) for (const [a, b] of [[j.a, j.b], [j.b, j.a]]) next.set(a, (next.get(a) ?? new Set()).add(b));
  // the meshes of a net: cycles of four
  const quads = [];
  for (const [a, others] of next)
    for (const b of others)
      for (const c of others) {
        if (b >= c || a > b || a > c) continue;
        for (const e of next.get(b)) if (e > a && next.get(c).has(e)) quads.push([a, b, e, c]);
      }
  return { links, near, quads, least };
}

const cubeTurns = (geometry) => {
  // a ball with eight fields, so that it is seen how it turns
  const g = geometry.index ? geometry.toNonIndexed() : geometry, p = g.attributes.position, colours = new Float32Array(3 * p.count);
  for (let i = 0; i < p.count; i += 3) {
    const sum = [0, 1, 2].map((c) => p.array[3 * i + c] + p.array[3 * i + 3 + c] + p.array[3 * i + 6 + c]);
    const dark = (sum[0] > 0) !== (sum[1] > 0) !== (sum[2] > 0);
    colours.fill(dark ? 0.5 : 1, 3 * i, 3 * i + 9);
  }
  g.setAttribute('color', new BufferAttribute(colours, 3));
  return g;
};

// Four fields around the axis x.
const turnFields = (geometry) => {
  const g = geometry.toNonIndexed(), p = g.attributes.position, colours = new Float32Array(3 * p.count);
  for (let i = 0; i < p.count; i += 3) {
    const sum = [1, 2].map((c) => p.array[3 * i + c] + p.array[3 * i + 3 + c] + p.array[3 * i + 6 + c]);
    colours.fill((sum[0] > 0) !== (sum[1] > 0) ? 0.5 : 1, 3 * i, 3 * i + 9);
  }
  g.setAttribute('color', new BufferAttribute(colours, 3));
  return g;
};

// Triangles of a mesh, or of the cells of a height field, and their lines where they are not too many.
function surfaceGeometry(s) {
  let points = s.vertices, triangles = s.triangles;
  if (s.heights) {
    const [nx, ny] = s.grid;
    points = s.heights.flatMap((h, k) => [(k % nx) * s.spacing[0], Math.floor(k / nx) * s.spacing[1], h]);
    triangles = [];
    for (let j = 0; j + 1 < ny; j++)
      for (let i = 0; i + 1 < nx; i++) {
        const o = i + nx * j;
        triangles.push(o, o + 1, o + nx + 1, o, o + nx + 1, o + nx);
      }
  }
  const g = new BufferGeometry();
  g.setAttribute('position', new BufferAttribute(new Float32Array(points), 3));
  g.setIndex(triangles);
  const geometry = g.toNonIndexed(); // faces, not a smooth surface
  geometry.computeVertexNormals();
  return { geometry, lines: true, wires: triangles.length <= 3 * WIRES ? new WireframeGeometry(g) : null, surface: true };
}

// Geometry of a shape; it is at the pose of the shape in its body.
function shapeGeometry(s, d, deep): any {
  const flat = d.dim === 2, r = s.radius[0], half = s.half;
  if (s.kind === 'sphere') return flat ? { geometry: new CylinderGeometry(r, r, deep, 40).rotateX(Math.PI / 2), lines: true, spoke: r } : { geometry: cubeTurns(new SphereGeometry(r, 48, 24)), fields: true };
  if (s.kind === 'ellipsoid') return { geometry: cubeTurns(new SphereGeometry(1, 48, 24)).scale(half[0], half[1], half[2]), fields: true };
  if (s.kind === 'capsule') {
    const geometry = new CapsuleGeometry(r, s.length[0], 8, 24).rotateZ(-Math.PI / 2);
    return { geometry: flat ? geometry.scale(1, 1, deep / (2 * r)) : geometry };
  }
  // their axis is y there, x here; the origin of a cone is its centre of mass
  if (s.kind === 'cylinder') return { geometry: turnFields(new CylinderGeometry(r, r, s.length[0], 48).rotateZ(-Math.PI / 2)), fields: true, lines: true };
  if (s.kind === 'cone') return { geometry: turnFields(new CylinderGeometry(0, r, s.length[0], 48).translate(0, s.length[0] / 4, 0).rotateZ(-Math.PI / 2)), fields: true, lines: true };
  if (s.kind === 'box') return { geometry: new BoxGeometry(2 * half[0], 2 * half[1], flat ? deep : 2 * half[2]), lines: true };
  if ((s.kind === 'mesh' || s.kind === 'field') && (s.triangles || s.heights)) return surfaceGeometry(s);
  if (s.kind === 'polytope' && s.vertices) {
    const points = [];
    for (let k = 0; k < s.vertices.length; k += d.dim)
      if (!flat) points.push(new Vector3(s.vertices[k], s.vertices[k + 1], s.vertices[k + 2]));
      else points.push(new Vector3(s.vertices[k], s.vertices[k + 1], deep / 2), new Vector3(s.vertices[k], s.vertices[k + 1], -deep / 2));
    return { geometry: new ConvexGeometry(points), lines: true };
  }
  return null;
}

function shapeMatrix(s, dim) {
  const q = new Quaternion();
  if (dim === 2) q.setFromAxisAngle(axisZ, s.turn[0]);
  else if (s.turn.some((v) => v !== 0)) q.set(s.turn[1], s.turn[2], s.turn[3], s.turn[0]).normalize();
  return new Matrix4().compose(new Vector3(s.x[0], s.x[1], dim === 2 ? 0 : s.x[2]), q, one);
}

// ---- how large it is ----------------------------------------------------------------------------------------

// How far each body comes.
function travels(d) {
  const step = Math.max(1, Math.floor(d.frames / 60)), p = new Vector3();
  return d.bodies.map((_, b) => {
    const lo = new Vector3(Infinity, Infinity, Infinity), hi = lo.clone().negate();
    for (let i = 0; i < d.frames; i += step) {
      lo.min(where(d, i, b, p));
      hi.max(p);
    }
    return lo.distanceTo(hi);
  });
}

// Spheres around the bodies where they come, of runs that did not diverge if there are any; size: of all of it; own: of the
// largest body; alone: of the bodies at a time.
export function surroundings(list, sound = list) {
  const d = list[0], radius = d.bodies.map(() => 0);
  for (const s of d.shapes) if (s.body >= 0) radius[s.body] = Math.max(radius[s.body], reach(s, d.dim));
  for (let b = 0; b < radius.length; b++) if (radius[b] === 0 && !d.bodies[b].particle) radius[b] = Math.hypot(...d.bodies[b].half.slice(0, d.dim));
  for (const j of d.joints)
    for (const [b, at] of [[j.a, j.at_a], [j.b, j.at_b]]) if (b >= 0 && !d.shapes.some((s) => s.body === b)) radius[b] = Math.max(radius[b], anchorOf(d, at).length());
  const own = Math.max(0, ...radius), spheres = [], lo = new Vector3(), hi = new Vector3(), p = new Vector3();
  const box = (r, i) => {
    lo.setScalar(Infinity);
    hi.setScalar(-Infinity);
    for (let b = 0; b < r.bodies.length; b++) {
      where(r, i, b, p);
      if (!Number.isFinite(p.x + p.y + p.z)) continue;
      lo.min(p);
      hi.max(p);
    }
    return lo.distanceTo(hi);
  };
  const start = box(d, 0) + 2 * own, centre = lo.clone().add(hi).multiplyScalar(0.5), runs = sound.length ? sound : list;
  let alone = 0;
  for (const r of runs) {
    const step = Math.max(1, Math.floor(r.frames / 60)), bodies = Math.max(1, Math.floor(r.bodies.length / 400));
    for (let i = 0; i < r.frames; i += step) {
      alone = Math.max(alone, Math.min(box(r, i) + 2 * own, sound.length ? Infinity : 3 * start));
      for (let b = 0; b < r.bodies.length; b += bodies) {
        where(r, i, b, p);
        if (Number.isFinite(p.x + p.y + p.z) && (sound.length || p.distanceTo(centre) < 1.5 * start)) spheres.push({ p: p.clone(), r: radius[b] });
      }
    }
  }
  // a body that comes from far to others that rest is not waited for
  const rest = travels(runs[0]).map((v) => v < 3 * own), resting = rest.filter((v) => v).length;
  if (d.shapes.some((s) => s.body < 0) && resting >= 0.5 * rest.length && resting < rest.length) {
    lo.setScalar(Infinity);
    hi.setScalar(-Infinity);
    rest.forEach((yes, b) => yes && lo.min(where(d, 0, b, p)) && hi.max(p));
    const middle = lo.clone().add(hi).multiplyScalar(0.5), limit = 1.1 * (lo.distanceTo(hi) + 2 * own);
    const near = spheres.filter((s) => s.p.distanceTo(middle) < limit);
    spheres.splice(0, spheres.length, ...near);
  }
  const reachNow = spheres.reduce((m, s) => Math.max(m, s.p.distanceTo(spheres[0].p)), own);
  const fixed = (at) => spheres.push({ p: anchorOf(d, at), r: 0 });
  for (const j of d.joints) {
    if (j.a < 0 && pinned.has(j.kind)) fixed(j.at_a);
    if (j.b < 0 && (pinned.has(j.kind) || sliding.has(j.kind))) fixed(j.at_b);
    for (let k = 0; j.a < 0 && j.curve && k < j.curve.length; k += 12)
      if (anchorOf(d, j.curve.slice(k, k + 3)).distanceTo(spheres[0].p) < 1.5 * reachNow + 2 * own) fixed(j.curve.slice(k, k + 3));
  }
  // a spring that pulls from far away goes out of the picture
  for (const j of d.springs)
    for (const [b, at] of [[j.a, j.at_a], [j.b, j.at_b]]) if (b < 0 && anchorOf(d, at).distanceTo(spheres[0].p) < 20 * reachNow) fixed(at);
  // what stands in the world is in the picture, but a ground that goes on far beyond the bodies is none of a size
  lo.setScalar(Infinity);
  hi.setScalar(-Infinity);
  for (const s of spheres) {
    lo.min(p.copy(s.p).subScalar(s.r));
    hi.max(p.copy(s.p).addScalar(s.r));
  }
  const all = lo.distanceTo(hi);
  let carried = false;
  for (const s of d.shapes) {
    if (s.body >= 0 || s.kind === 'plane') continue;
    const e = extent(s, d), long = e.min.distanceTo(e.max);
    if (e.isEmpty()) continue;
    if (d.dim === 3 && long > 3 * all && e.min.x < lo.x && e.min.y < lo.y && e.max.x > hi.x && e.max.y > hi.y) carried = true;
    else spheres.push({ p: long > 3 * all ? e.clampPoint(lo.clone().add(hi).multiplyScalar(0.5), new Vector3()) : e.getCenter(new Vector3()), r: Math.min(long / 2, long > 3 * all ? own : 4 * own), half: e.getSize(new Vector3()).multiplyScalar(0.5).min(new Vector3().setScalar(4 * own)) });
  }
  // a few that fly away do not make all the others small
  const mid = spheres.map((s) => s.p.clone()).reduce((a, b) => a.add(b), new Vector3()).multiplyScalar(1 / spheres.length);
  const far = spheres.map((s) => s.p.distanceTo(mid) + s.r).sort((a, b) => a - b), usual = far[Math.floor(0.97 * (far.length - 1))];
  const kept = d.bodies.length > 8 ? spheres.filter((s) => s.p.distanceTo(mid) + s.r <= 2 * usual) : spheres;
  const low = new Vector3(Infinity, Infinity, Infinity), high = low.clone().negate();
  for (const s of kept) {
    const half = s.half ?? new Vector3().setScalar(s.r);
    low.min(p.copy(s.p).sub(half));
    high.max(p.copy(s.p).add(half));
  }
  const size = Math.max(low.distanceTo(high), 1e-9);
  return { spheres: kept, low, high, centre: low.clone().add(high).multiplyScalar(0.5), size, own: own || size / 20, radius, carried, alone: Math.max(alone, 2 * own, 1e-9) };
}

// ---- one run --------------------------------------------------------------------------------------------------

class Coil extends Curve {
  getPoint(u, out = new Vector3()) {
    const w = Math.min(1, Math.max(0, (u - 0.08) / 0.84)), a = 2 * Math.PI * 9 * w, r = u < 0.08 || u > 0.92 ? 0 : 1;
    return out.set(r * Math.cos(a), 24 * (u - 0.5), r * Math.sin(a));
  }
}

// Two equal moments of inertia, and another one about z.
const spins = (body) => {
  const [a, b, c] = body.half;
  return Math.abs(a - b) < 1e-6 * (a + b) && Math.abs(a - c) > 1e-3 * (a + c);
};

const rodMatrix = (p, q, radius, out, turn = new Quaternion()) => {
  const along = q.clone().sub(p), length = along.length();
  turn.setFromUnitVectors(axisY, length > 0 ? along.multiplyScalar(1 / length) : axisY);
  return out.compose(p.clone().add(q).multiplyScalar(0.5), turn, new Vector3(radius, Math.max(length, 1e-12), radius));
};

// colour: of body b; ghost: translucent, at the poses of the reference
export class Actor {
  [name: string]: any;

  constructor(parent, d, env, { colour = bodyColour, opacity = 1, ghost = false, shadows = true, offset = 0 } = {}) {
    Object.assign(this, { d, env, ghost, many: d.bodies.length > MANY });
    this.group = new Group();
    this.lines = new Group();
    this.group.add(this.lines);
    this.opacity = ghost ? 0.3 : opacity;
    this.shadows = shadows && !ghost;
    this.offset = offset; // of several at one place each is in front of the one before, a ghost is behind
    this.paint = ghost ? () => '#8a93a0' : colour;
    this.materials = new Map();
    this.lineMaterial = new LineBasicMaterial({ color: ghost ? 0x59636e : 0x1b1f24, transparent: true, opacity: ghost ? 0.5 : 0.75 });
    this.position = d.bodies.map(() => new Vector3());
    this.turn = d.bodies.map(() => new Quaternion());
    this.holder = d.bodies.map(() => null);
    this.instances = [];
    this.moving = []; // what follows bodies: (this) => ...
    this.woven = weave(d);
    const shapes = d.bodies.map(() => []);
    for (const s of d.shapes) if (s.body >= 0) shapes[s.body].push(s);
    if (this.many) this.instanced(d);
    d.bodies.forEach((_, b) => {
      if (this.many && shapes[b].length) return;
      const g = new Group();
      if (shapes[b].length) for (const s of shapes[b]) this.shape(g, s, b);
      else if (!this.woven) this.skeleton(g, b);
      this.holder[b] = g;
      this.group.add(g);
    });
    if (this.woven) this.cloth(this.woven);
    else this.rods();
    this.coils();
    this.curves();
    parent.add(this.group);
  }

  material(b, extra = {}) {
    const colour = this.paint(b), key = colour + JSON.stringify(extra);
    if (!this.materials.has(key)) {
      const clear = this.opacity < 1;
      this.materials.set(key, new MeshStandardMaterial({ color: new Color(colour), roughness: 0.62, metalness: 0.05, transparent: clear, opacity: this.opacity, depthWrite: !this.ghost, polygonOffset: this.ghost || this.offset > 0, polygonOffsetFactor: this.ghost ? 2 : -this.offset, polygonOffsetUnits: this.ghost ? 8 : -4 * this.offset, ...extra }));
    }
    return this.materials.get(key);
  }

  mesh(geometry, material) {
    const m = new Mesh(geometry, material);
    m.castShadow = m.receiveShadow = this.shadows;
    return m;
  }

  shape(group, s, b) {
    const { d, env } = this;
    if (s.kind === 'plane') { // of a body: a piece of it
      const wide = 0.9 * env.size, m = this.mesh(new PlaneGeometry(wide, wide), this.material(b, { side: DoubleSide })), grid = new GridHelper(wide, 12, 0x59636e, 0x8a93a0);
      grid.rotateX(Math.PI / 2);
      grid.position.z = 1e-3 * env.size;
      m.add(grid);
      m.applyMatrix4(shapeMatrix(s, d.dim));
      group.add(m);
      return;
    }
    const made = shapeGeometry(s, d, env.deep);
    if (!made) return;
    const m = this.mesh(made.geometry, this.material(b, made.fields ? { vertexColors: true } : made.lines && d.dim === 3 ? { flatShading: true } : {}));
    m.applyMatrix4(shapeMatrix(s, d.dim));
    group.add(m);
    if (made.lines) {
      const edges = new LineSegments(new EdgesGeometry(made.geometry, 25), this.lineMaterial);
      m.add(edges);
      (this.edges ??= []).push(edges);
    }
    if (s.kind === 'sphere' && d.dim === 3 && spins(d.bodies[b])) {
      // the axis of symmetry, so that it is seen where it points
      const r = s.radius[0], up = s.x[2] < 0 ? -1 : 1, peg = this.mesh(new CylinderGeometry(0.16 * r, 0.16 * r, 0.6 * r, 20).rotateX(Math.PI / 2), this.material(b, { roughness: 0.4 }));
      const cap = new Mesh(new SphereGeometry(1.01 * r, 24, 6, 0, 2 * Math.PI, 0, 0.45).rotateX(-up * Math.PI / 2), new MeshStandardMaterial({ color: 0xffffff, roughness: 0.5, transparent: this.opacity < 1, opacity: this.opacity }));
      peg.position.z = up * 1.2 * r;
      m.add(peg, cap);
    }
    if (made.spoke) {
      const z = 0.51 * env.deep, spoke = new LineSegments(new BufferGeometry().setFromPoints([new Vector3(0, 0, z), new Vector3(made.spoke, 0, z)]), this.lineMaterial);
      m.add(spoke);
    }
  }

  // Many bodies: one draw call for each kind of shape.
  instanced(d) {
    const kinds = new Map();
    for (const s of d.shapes) {
      if (s.body < 0 || s.kind === 'plane') continue;
      const key = JSON.stringify([s.kind, s.radius, s.length, s.half, s.vertices]);
      kinds.set(key, [...(kinds.get(key) ?? []), s]);
    }
    for (const list of kinds.values()) {
      const made = shapeGeometry(list[0], d, this.env.deep);
      if (!made) continue;
      const extra = made.fields ? { vertexColors: true } : list[0].kind === 'box' ? { map: frameTexture() } : { flatShading: !!made.lines };
      const material = new MeshStandardMaterial({ roughness: 0.62, transparent: this.opacity < 1, opacity: this.opacity, depthWrite: !this.ghost, ...extra });
      const mesh = new InstancedMesh(made.geometry, material, list.length);
      mesh.castShadow = mesh.receiveShadow = this.shadows;
      mesh.frustumCulled = false;
      list.forEach((s, k) => mesh.setColorAt(k, new Color(this.paint(s.body))));
      this.instances.push({ mesh, list, at: list.map((s) => shapeMatrix(s, d.dim)) });
      this.group.add(mesh);
    }
  }

  // A body without shapes: rods between its joints, or a box of its inertia.
  skeleton(group, b) {
    const { d, env } = this, size = env.size, body = d.bodies[b], material = this.material(b), r = size * 0.011;
    const anchors = d.joints.filter((j) => j.kind !== 'curve').flatMap((j) => [...(j.a === b ? [j.at_a] : []), ...(j.b === b ? [j.at_b] : [])]).map((p) => anchorOf(d, p));
    const ball = (p, radius, what = material) => {
      const m = this.mesh(new SphereGeometry(radius, 20, 14), what);
      m.position.copy(p);
      group.add(m);
    };
    const rod = (p, q) => {
      if (p.distanceTo(q) < 1e-9 * size) return;
      const m = this.mesh(new CylinderGeometry(1, 1, 1, 14), material);
      m.applyMatrix4(rodMatrix(p, q, r, new Matrix4()));
      group.add(m);
    };
    const far = anchors.filter((p) => p.length() > 1e-6 * size);
    if (body.particle || Math.max(...body.half) < 1e-9 * size) return ball(new Vector3(), size * 0.022);
    const half = body.half.map((v) => Math.max(v, size * 0.006)), sorted = [...half].sort((p, q) => p - q);
    const long = sorted[2] > 4 * sorted[1];
    const solid = (far.length === 0 && !d.joints.some((j) => j.kind === 'distance')) || (d.dim === 3 && far.length === 1 && !long && d.joints.length < 2);
    if (solid) {
      // the cylinder of the same inertia, where there is one, else the box
      const round = d.dim === 3 && spins(body), geometry = round ? new CylinderGeometry(half[0] * 1.1547, half[0] * 1.1547, 2 * half[2], 6 * 8).rotateX(Math.PI / 2) : new BoxGeometry(2 * half[0], 2 * half[1], d.dim === 2 ? env.deep : 2 * half[2]);
      const m = this.mesh(geometry, this.material(b, { flatShading: true }));
      const edges = new LineSegments(new EdgesGeometry(geometry, 25), this.lineMaterial);
      m.add(edges);
      (this.edges ??= []).push(edges);
      if (round) for (const z of [1.01, -1.01]) m.add(new LineSegments(new BufferGeometry().setFromPoints([new Vector3(0, 0, z * half[2]), new Vector3(half[0] * 1.15, 0, z * half[2])]), this.lineMaterial));
      group.add(m);
    }
    // held at one place: a rod that goes on behind its centre, or has its mass there
    const bob = far.length === 1 && !solid && d.dim === 2 && half[0] < 0.3 * far[0].length();
    if (bob) ball(new Vector3(), size * 0.03);
    for (const p of far) rod(p, far.length === 1 && !solid && !bob ? p.clone().negate() : new Vector3());
    if (far.length === 0 && d.joints.some((j) => j.kind === 'distance')) ball(new Vector3(), size * 0.03);
    // one ball for a joint: that of its first body
    for (const j of d.joints) if (j.a === b && j.kind !== 'curve') ball(anchorOf(d, j.at_a), 1.6 * r);
  }

  // Distance joints that are not woven.
  rods() {
    const { d, env } = this, list = d.joints.filter((j) => j.kind === 'distance');
    if (list.length === 0) return;
    const mesh = new InstancedMesh(new CylinderGeometry(1, 1, 1, 10), this.material(0), list.length), m = new Matrix4();
    mesh.frustumCulled = false;
    mesh.castShadow = this.shadows;
    this.group.add(mesh);
    this.moving.push(() => {
      list.forEach((j, k) => mesh.setMatrixAt(k, rodMatrix(this.anchor(j.a, j.at_a), this.anchor(j.b, j.at_b), env.size * 0.006, m)));
      mesh.instanceMatrix.needsUpdate = true;
    });
  }

  // Springs, as coils.
  coils() {
    const { d, env } = this;
    if (this.woven || d.springs.length === 0 || d.springs.length > 60) return;
    const material = new MeshStandardMaterial({ color: new Color(this.ghost ? '#8a93a0' : '#9aa4af'), roughness: 0.4, metalness: 0.3, transparent: this.opacity < 1, opacity: this.opacity });
    const mesh = new InstancedMesh(new TubeGeometry(new Coil(), 260, 0.2, 6).scale(1, 1 / 24, 1), material, d.springs.length), m = new Matrix4();
    mesh.frustumCulled = false;
    this.group.add(mesh);
    this.moving.push(() => {
      d.springs.forEach((j, k) => mesh.setMatrixAt(k, rodMatrix(this.anchor(j.a, j.at_a), this.anchor(j.b, j.at_b), env.size * 0.026, m)));
      mesh.instanceMatrix.needsUpdate = true;
    });
  }

  // Wires and rails.
  curves() {
    const { d, env } = this, grey = new MeshStandardMaterial({ color: 0x9aa4af, roughness: 0.5, transparent: this.opacity < 1, opacity: this.opacity });
    for (const j of d.joints) {
      let points = null;
      if (j.curve) for (points = []; 3 * points.length < j.curve.length;) points.push(new Vector3(...j.curve.slice(3 * points.length, 3 * points.length + 3)));
      else if (['slider', 'line'].includes(j.kind) && j.a < 0) {
        const axis = anchorOf(d, j.axis).normalize(), at = anchorOf(d, j.at_a), along = env.spheres.map((s) => s.p.clone().sub(at).dot(axis));
        const [lo, hi] = [Math.min(...along) - env.own, Math.max(...along) + env.own];
        points = [at.clone().addScaledVector(axis, lo), at.clone().addScaledVector(axis, hi)];
      }
      if (!points) continue;
      const inside = points.filter((p) => p.distanceTo(env.centre) < 3 * env.size);
      if (inside.length < 2) continue;
      const r = env.size * (j.curve ? 0.005 : 0.0025), piece = new Group();
      const rods = new InstancedMesh(new CylinderGeometry(1, 1, 1, 8), grey, inside.length - 1), m = new Matrix4();
      for (let k = 0; k + 1 < inside.length; k++) rods.setMatrixAt(k, rodMatrix(inside[k], inside[k + 1], r, m));
      rods.castShadow = this.shadows;
      piece.add(rods);
      if (j.a >= 0) this.moving.push(() => { piece.position.copy(this.position[j.a]); piece.quaternion.copy(this.turn[j.a]); });
      this.group.add(piece);
    }
  }

  // A net of particles is a surface with its threads, a line of them a rope.
  cloth({ links, near, quads }) {
    const { d, env } = this, n = d.bodies.length, size = env.size;
    if (quads.length > 0) {
      const positions = new Float32Array(3 * n), g = new BufferGeometry();
      g.setAttribute('position', new BufferAttribute(positions, 3));
      g.setIndex(quads.flatMap(([a, b, e, c]) => [a, b, e, a, e, c]));
      const sheet = this.mesh(g, this.material(0, { side: DoubleSide, roughness: 0.85 }));
      sheet.frustumCulled = false;
      const threads = new BufferGeometry();
      threads.setAttribute('position', g.attributes.position);
      threads.setIndex(near.flatMap((j) => [j.a, j.b]));
      const lines = new LineSegments(threads, this.lineMaterial);
      lines.frustumCulled = false;
      (this.edges ??= []).push(lines);
      this.group.add(sheet, lines);
      this.moving.push(() => {
        this.position.forEach((p, b) => p.toArray(positions, 3 * b));
        g.attributes.position.needsUpdate = true;
        g.computeVertexNormals();
      });
      return;
    }
    const r = size * 0.011, m = new Matrix4(), rods = new InstancedMesh(new CylinderGeometry(1, 1, 1, 12), this.material(0), links.length);
    const knots = new InstancedMesh(new SphereGeometry(1, 16, 12), this.material(0), n);
    for (const mesh of [rods, knots]) {
      mesh.frustumCulled = false;
      mesh.castShadow = this.shadows;
      this.group.add(mesh);
    }
    this.moving.push(() => {
      links.forEach((j, k) => rods.setMatrixAt(k, rodMatrix(this.anchor(j.a, j.at_a), this.anchor(j.b, j.at_b), r, m)));
      this.position.forEach((p, b) => knots.setMatrixAt(b, m.makeScale(1.25 * r, 1.25 * r, 1.25 * r).setPosition(p)));
      rods.instanceMatrix.needsUpdate = knots.instanceMatrix.needsUpdate = true;
    });
  }

  // where an anchor is in the world
  anchor(body, at, p = new Vector3()) {
    p.set(at[0], at[1], this.d.dim === 2 ? 0 : at[2]);
    return body >= 0 ? p.applyQuaternion(this.turn[body]).add(this.position[body]) : p;
  }

  // The frames around t of what is shown: the run, or its reference where that is known closely enough; null: it is not.
  around(t) {
    const { d } = this, n = d.per * d.bodies.length;
    if (!this.ghost) {
      const [i, s] = place(d, t), k = Math.min(i + 1, d.frames - 1);
      return [d.pose, i * n, k * n, s];
    }
    let k = 0;
    while (k + 1 < d.refs.length && d.t[d.refs[k + 1]] <= t) k++;
    const next = Math.min(k + 1, d.refs.length - 1), a = d.t[d.refs[k]], b = d.t[d.refs[next]], end = d.t[d.frames - 1];
    if (d.refs.length === 0 || b - a > 0.05 * end || t > b + 0.01 * end) return null;
    return [d.reference, k * n, next * n, b > a ? Math.min(1, Math.max(0, (t - a) / (b - a))) : 0];
  }

  set(t) {
    const { d } = this, at = this.around(t), m = new Matrix4();
    this.group.visible = at !== null;
    if (at === null) return false;
    for (let b = 0; b < d.bodies.length; b++) {
      mixPose(at[0], at[1] + d.per * b, at[2] + d.per * b, at[3], d.dim, this.position[b], this.turn[b]);
      if (!this.holder[b]) continue;
      this.holder[b].position.copy(this.position[b]);
      this.holder[b].quaternion.copy(this.turn[b]);
    }
    for (const { mesh, list, at: own } of this.instances) {
      list.forEach((s, k) => mesh.setMatrixAt(k, m.compose(this.position[s.body], this.turn[s.body], one).multiply(own[k])));
      mesh.instanceMatrix.needsUpdate = true;
    }
    for (const f of this.moving) f();
    return true;
  }

  showEdges(yes) {
    for (const e of this.edges ?? []) e.visible = yes;
  }

  dispose() {
    dispose(this.group);
  }
}

// A face with a dark frame, for boxes of which there are many.
let framed = null;
function frameTexture() {
  if (framed) return framed;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 64;
  const c = canvas.getContext('2d');
  c.fillStyle = '#fff';
  c.fillRect(0, 0, 64, 64);
  c.strokeStyle = '#333';
  c.lineWidth = 5;
  c.strokeRect(0, 0, 64, 64);
  framed = screenColours(new CanvasTexture(canvas));
  return framed;
}

// Full in the middle, nothing at the edge: a ground without a horizon.
function fading() {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 256;
  const c = canvas.getContext('2d'), g = c.createRadialGradient(128, 128, 40, 128, 128, 127);
  g.addColorStop(0, '#fff');
  g.addColorStop(1, '#000');
  c.fillStyle = g;
  c.fillRect(0, 0, 256, 256);
  return new CanvasTexture(canvas);
}

// Impulses of contacts on body b, as arrows that shine through: perNs metres for each N s.
export class Contacts {
  [name: string]: any;

  constructor(parent, d, env, colour = '#d55e00') {
    Object.assign(this, { d, env });
    this.group = new Group();
    const most = Math.max(1, ...d.contacts), material = new MeshBasicMaterial({ color: new Color(colour), depthTest: false, transparent: true });
    this.shafts = new InstancedMesh(new CylinderGeometry(1, 1, 1, 8), material, most);
    this.heads = new InstancedMesh(new ConeGeometry(1, 1, 12), material, most);
    this.dots = new InstancedMesh(new SphereGeometry(1, 10, 8), material, most);
    for (const mesh of [this.shafts, this.heads, this.dots]) {
      mesh.frustumCulled = false;
      mesh.renderOrder = 3;
      this.group.add(mesh);
    }
    parent.add(this.group);
    this.shown = 0;
  }

  set(t, perNs, longest = Infinity) {
    const { d, env } = this, [i] = place(d, t), thick = Math.min(0.005 * env.size, 0.028 * env.own), p = new Vector3(), f = new Vector3(), q = new Vector3(), m = new Matrix4(), turn = new Quaternion();
    const count = d.contacts[i];
    let arrows = 0;
    for (let k = 0; k < count; k++) {
      const at = 6 * (d.first[i] + k);
      p.set(d.contact[at], d.contact[at + 1], d.contact[at + 2]);
      f.set(d.contact[at + 3], d.contact[at + 4], d.contact[at + 5]);
      const length = Math.min(longest, f.length() * perNs);
      this.dots.setMatrixAt(k, m.makeScale(1.3 * thick, 1.3 * thick, 1.3 * thick).setPosition(p));
      if (!(length > 1e-3 * env.size)) continue;
      f.normalize();
      const head = Math.min(0.4 * length, 5 * thick);
      q.copy(p).addScaledVector(f, length - head);
      this.shafts.setMatrixAt(arrows, rodMatrix(p, q, thick * 0.7, m, turn));
      this.heads.setMatrixAt(arrows++, m.compose(q.addScaledVector(f, head / 2), turn, new Vector3(0.4 * head, head, 0.4 * head)));
    }
    this.dots.count = count;
    this.shafts.count = this.heads.count = arrows;
    for (const mesh of [this.shafts, this.heads, this.dots]) mesh.instanceMatrix.needsUpdate = true;
    this.shown = arrows;
  }
}

// Metres for each N s, so that usual impulses are a part of the size; impacts are cut by `longest`.
export function arrowScale(list, env) {
  const most = [];
  for (const d of list)
    for (let i = 0; i < d.frames; i++) {
      let m = 0;
      for (let k = 0; k < d.contacts[i]; k++) m = Math.max(m, norm3(d.contact, 6 * (d.first[i] + k) + 3));
      if (m > 0) most.push(m);
    }
  most.sort((a, b) => a - b);
  const length = Math.min(0.16 * env.size, 1.3 * env.own);
  return most.length ? { perNs: length / most[Math.floor(0.75 * (most.length - 1))], longest: 1.6 * length } : { perNs: 0, longest: 0 };
}

// The path of each of a few bodies.
export function paths(parent, d, colour = bodyColour) {
  const group = new Group();
  for (let b = 0; b < d.bodies.length; b++) {
    const points = Array.from({ length: d.frames }, (_, i) => where(d, i, b));
    group.add(new Line(new BufferGeometry().setFromPoints(points), new LineBasicMaterial({ color: new Color(colour(b)), transparent: true, opacity: 0.8 })));
  }
  parent.add(group);
  return group;
}

export function dispose(object) {
  object.parent?.remove(object);
  object.traverse((o) => {
    o.geometry?.dispose?.();
    for (const m of [o.material].flat()) {
      if (m?.map && m.map !== framed) m.map.dispose();
      m?.dispose?.();
    }
  });
}

// ---- the stage --------------------------------------------------------------------------------------------------

// A canvas with light, ground and a camera; throws where there is no WebGL.
export class Stage {
  [name: string]: any;

  constructor(className, { still = false } = {}) {
    this.still = still;
    this.renderer = new WebGLRenderer({ antialias: true, alpha: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.canvas = this.renderer.domElement;
    this.canvas.className = className;
    this.canvas.setAttribute('role', 'img');
    this.canvas.style.touchAction = 'none';
    this.world = new Scene();
    this.camera = new PerspectiveCamera(30, 16 / 9, 0.01, 1000);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.enableKeys = false; // the pages have keys of their own
    this.canvas.tabIndex = 0;
    this.canvas.addEventListener('keydown', (e) => this.turn(e));
    this.sun = new DirectionalLight(0xffffff, 2.7);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sky = new HemisphereLight(0xffffff, 0xc9c6c0, 2.3);
    this.root = new Group(); // what is shown
    this.world.add(this.sky, this.sun, this.sun.target, this.root);
    this.controls.addEventListener('change', () => this.render());
    new ResizeObserver(() => this.render()).observe(this.canvas);
  }

  render() {
    const { canvas, renderer, camera } = this, w = canvas.clientWidth, h = canvas.clientHeight, ratio = Math.min(2, devicePixelRatio);
    if (w === 0 || h === 0) return;
    if (canvas.width !== Math.floor(w * ratio) || canvas.height !== Math.floor(h * ratio)) {
      renderer.setPixelRatio(ratio);
      renderer.setSize(w, h, false);
      camera.aspect = w / h;
      camera.updateProjectionMatrix();
      if (this.fitted) this.fit(this.fitted);
    }
    renderer.render(this.world, camera);
  }

  // Keys of the camera: Shift and arrows turn it around its target, + and - come near and go away.
  turn(e) {
    const arrow = e.shiftKey && { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key], near = { '+': 0.9, '-': 1 / 0.9 }[e.key];
    if (e.ctrlKey || e.altKey || e.metaKey || (!arrow && !near)) return;
    const { camera, controls } = this, { target } = controls, away = camera.position.clone().sub(target);
    if (near) away.multiplyScalar(near);
    else {
      const up = camera.up.clone().normalize(), height = Math.acos(Math.max(-1, Math.min(1, away.dot(up) / away.length())));
      const side = up.clone().cross(away).normalize(), lift = Math.min(Math.PI - 0.05, Math.max(0.05, height + 0.12 * arrow[1])) - height;
      away.applyAxisAngle(side, lift).applyAxisAngle(up, 0.12 * arrow[0]);
    }
    camera.position.copy(target).add(away);
    controls.update();
    this.render();
    e.preventDefault();
    e.stopPropagation();
  }

  clear() {
    for (const child of [...this.root.children]) dispose(child);
  }

  // Ground and other things of the world; d: one of the runs.
  furnish(d, env) {
    const dark = !this.still && matchMedia('(prefers-color-scheme: dark)').matches, set = new Group(), flat = d.dim === 2;
    const grey = new Color(dark ? '#59626d' : '#c3c9d0'), floor = new Color(dark ? '#2a3038' : '#eef0f2'), line = new Color(dark ? '#414a55' : '#cfd5db');
    const up = flat ? axisY : axisZ, solid = new MeshStandardMaterial({ color: grey, roughness: 0.9 });
    const surface = new MeshStandardMaterial({ color: grey, roughness: 0.9, side: DoubleSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 });
    const reachOf = 1.6 * env.size;
    const edgeLines = new LineBasicMaterial({ color: dark ? 0x98a2ae : 0x59636e }), wireLines = new LineBasicMaterial({ color: edgeLines.color, transparent: true, opacity: 0.3 });
    let ground = false;
    for (const s of d.shapes.filter((k) => k.body < 0)) {
      const m = shapeMatrix(s, d.dim);
      if (s.kind !== 'plane') {
        const made = shapeGeometry(s, d, env.deep);
        if (!made) continue;
        const mesh = new Mesh(made.geometry, made.fields ? new MeshStandardMaterial({ color: grey, roughness: 0.9, vertexColors: true }) : made.surface ? surface : solid);
        mesh.applyMatrix4(m);
        mesh.receiveShadow = mesh.castShadow = true;
        if (made.lines) mesh.add(new LineSegments(new EdgesGeometry(made.geometry, 25), edgeLines));
        if (made.wires) mesh.add(new LineSegments(made.wires, wireLines));
        set.add(mesh);
        continue;
      }
      const normal = (flat ? axisY : axisZ).clone().transformDirection(m), at = new Vector3().setFromMatrixPosition(m);
      // the point of the plane below the middle of the scene
      const foot = env.centre.clone().addScaledVector(normal, -env.centre.clone().sub(at).dot(normal));
      const piece = new Group();
      piece.position.copy(foot);
      piece.quaternion.setFromRotationMatrix(m);
      const lying = normal.dot(up) > 0.5;
      if (flat) {
        const thick = 0.35 * Math.min(env.own, 0.1 * env.size), long = lying ? 3 * reachOf : 1.4 * env.size;
        const slab = new Mesh(new BoxGeometry(long, thick, 2.2 * env.deep), solid);
        slab.position.y = -thick / 2;
        slab.receiveShadow = true;
        piece.add(slab);
      } else if (lying && normal.z < 0.9999) {
        // an incline: a piece of it, above a floor
        const wide = Math.min(0.7 * env.size, 5 * env.own), slab = new BoxGeometry(1.5 * env.size, wide, 0.02 * env.size);
        const down = new Vector3(normal.x, normal.y, 0).normalize(), along = down.clone().addScaledVector(normal, -down.dot(normal)).normalize();
        const mesh = new Mesh(slab, new MeshStandardMaterial({ color: floor, roughness: 1 }));
        mesh.receiveShadow = mesh.castShadow = true;
        mesh.position.z = -0.0101 * env.size;
        mesh.add(new LineSegments(new EdgesGeometry(slab), edgeLines));
        piece.add(mesh);
        piece.quaternion.setFromRotationMatrix(new Matrix4().makeBasis(along, normal.clone().cross(along), normal));
        env.low.z = Math.min(env.low.z, foot.z - 0.75 * env.size * Math.abs(along.z));
      } else if (lying) {
        const disc = new Mesh(new CircleGeometry(1.9 * reachOf, 64), new MeshStandardMaterial({ color: floor, roughness: 1, alphaMap: fading(), transparent: true }));
        disc.receiveShadow = true;
        disc.renderOrder = -2;
        const grid = new GridHelper(2 * reachOf, 24, line, line);
        grid.renderOrder = -1;
        grid.rotateX(Math.PI / 2);
        grid.position.z = 1e-4 * env.size;
        piece.add(disc, grid);
        ground = true;
      } else {
        // a wall: seen through
        const wide = 0.9 * env.size, wall = new PlaneGeometry(wide, wide);
        piece.add(new Mesh(wall, new MeshStandardMaterial({ color: grey, transparent: true, opacity: 0.12, side: DoubleSide, depthWrite: false })), new LineSegments(new EdgesGeometry(wall), edgeLines));
      }
      set.add(piece);
    }
    if (!ground && !flat && !env.carried) {
      const grid = new GridHelper(2.4 * env.size, 24, line, line), shade = new Mesh(new PlaneGeometry(4 * env.size, 4 * env.size), new ShadowMaterial({ opacity: 0.18 }));
      grid.rotateX(Math.PI / 2);
      shade.receiveShadow = true;
      for (const e of [grid, shade]) e.position.set(env.centre.x, env.centre.y, env.low.z - 0.06 * env.size);
      // things of the world that carry others, as inclines, stand on nothing else
      set.add(grid, shade);
    }
    for (const j of d.joints)
      if ((j.a < 0 || j.b < 0) && pinned.has(j.kind)) {
        const pin = new Mesh(new SphereGeometry(Math.min(env.size * 0.018, 0.35 * env.own), 20, 14), solid);
        pin.position.copy(anchorOf(d, j.a < 0 ? j.at_a : j.at_b));
        set.add(pin);
      }
    this.root.add(set);
    const { sun } = this, e = 0.75 * Math.max(env.size, 1e-9);
    this.light = flat ? new Vector3(-0.5, 1.1, 1.6) : new Vector3(-0.55, -0.75, 1.5);
    Object.assign(sun.shadow.camera, { left: -e, right: e, top: e, bottom: -e, near: 0.05 * env.size, far: 5 * env.size });
    sun.shadow.bias = -2e-4;
    sun.shadow.normalBias = 2e-3 * env.size;
    sun.shadow.camera.updateProjectionMatrix();
    this.look(env.centre, env);
  }

  look(centre, env) {
    this.sun.position.copy(centre).addScaledVector(this.light, 1.2 * env.size);
    this.sun.target.position.copy(centre);
  }

  // All spheres of env in the picture, seen from where most is to be seen.
  fit({ d, env, spheres = env.spheres, direction = null }) {
    const { camera, controls } = this, flat = d.dim === 2;
    this.fitted = { d, env, spheres, direction };
    camera.up.copy(flat ? axisY : axisZ);
    const far = env.high.clone().sub(env.low), most = Math.max(far.x, far.y, far.z);
    const dir = direction?.clone() ?? (flat ? new Vector3(0.16, 0.14, 1) : far.y < 0.3 * most && far.x > 0.3 * most ? new Vector3(0.28, -1, 0.22) : far.x < 0.3 * most && far.y > 0.3 * most ? new Vector3(1, -0.28, 0.22)
      : far.z < 0.3 * most ? new Vector3(0.35, -0.9, 0.75) : new Vector3(0.55, -1, 0.42));
    dir.normalize();
    const right = camera.up.clone().cross(dir).normalize(), over = dir.clone().cross(right);
    const tanV = Math.tan((camera.fov * Math.PI) / 360), tanH = tanV * camera.aspect, target = env.centre.clone(), rel = new Vector3();
    let distance = 0;
    for (let round = 0; round < 4; round++) {
      // the distance from which all is seen, and the middle of what is then seen
      distance = 1e-9;
      for (const s of spheres) {
        rel.copy(s.p).sub(target);
        const z = rel.dot(dir), r = s.r * 1.05;
        distance = Math.max(distance, z + (Math.abs(rel.dot(right)) + r) / tanH, z + (Math.abs(rel.dot(over)) + r) / tanV);
      }
      let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
      for (const s of spheres) {
        rel.copy(s.p).sub(target);
        const depth = Math.max(distance - rel.dot(dir), 1e-9), x = rel.dot(right) / depth, y = rel.dot(over) / depth, r = s.r / depth;
        x0 = Math.min(x0, x - r);
        x1 = Math.max(x1, x + r);
        y0 = Math.min(y0, y - r);
        y1 = Math.max(y1, y + r);
      }
      if (Number.isFinite(x0 + x1 + y0 + y1)) target.addScaledVector(right, ((x0 + x1) / 2) * distance).addScaledVector(over, ((y0 + y1) / 2) * distance);
    }
    distance *= 1.08;
    camera.near = distance / 200;
    camera.far = distance * 60 + 20 * env.size;
    camera.position.copy(target).addScaledVector(dir, distance);
    controls.target.copy(target);
    camera.updateProjectionMatrix();
    controls.update();
  }
}

// Where bodies are in a layer of the plane, how thick they are drawn there.
export function stageSize(list, sound = list) {
  const env: any = surroundings(list, sound);
  env.deep = Math.min(0.9 * env.own, 0.1 * env.size);
  return env;
}
export const hasPaths = (d) => d.bodies.length <= PATHS;
