// SPDX-License-Identifier: GPL-3.0-or-later
// Forces of drives and controllers: a ball at the joint where they act, in a colour of one scale that the legend shows.
import { Color, Group, InstancedMesh, Matrix4, MeshBasicMaterial, SphereGeometry, Vector3 } from './three';
import { brief, floats } from './data';
import { h } from './dom';

// from light to dark, in a hue that neither bodies nor arrows have
const stops = ['#fff7f3', '#fa9fb5', '#dd3497', '#8e0179', '#49006a'];
const words = { Nm: 'torque', N: 'force' };
const rank = 0.95; // of all joints and frames: what is rarer, as the blow on a stop, does not make all the rest pale
const RARE = 3;

// Of a decoded replay `d` of the file `r`: loads, one for each joint and unit, and most[unit], the largest of each frame.
export function decodeLoads(d, r) {
  d.drives = r.drives ?? []; // recordings of old have none
  d.drive = d.drives.length ? floats(r.drive) : new Float32Array(0);
  d.loads = [];
  d.drives.forEach((v, k) => {
    const name = d.bodies[d.joints[v.joint].b]?.name ?? d.bodies[d.joints[v.joint].a]?.name;
    let load = d.loads.find((l) => l.joint === v.joint && l.unit === v.unit);
    if (!load) d.loads.push((load = { joint: v.joint, unit: v.unit, of: [], name }));
    load.of.push(k);
  });
  d.most = {};
  for (const unit of Object.keys(words)) {
    const own = d.loads.filter((l) => l.unit === unit);
    if (own.length) d.most[unit] = Float64Array.from({ length: d.frames }, (_, i) => own.reduce((m, l) => Math.max(m, loadAt(d, l, i)), 0));
  }
}

// The largest of the drives of a joint, in the step that led to frame i; at the start, which no step led to, that of the first.
function loadAt(d, load, i) {
  let most = 0, parts = 0;
  for (const k of load.of) {
    const own = d.drive[i * d.drives.length + k], v = i === 0 && Number.isNaN(own) && d.frames > 1 ? d.drive[d.drives.length + k] : own;
    if (d.drives[k].part) parts += Number.isNaN(v) ? 0 : v * v;
    else if (Math.abs(v) > most) most = Math.abs(v);
  }
  return Math.max(most, Math.sqrt(parts));
}

// For each unit of the runs `list`: top, the number with the darkest colour; most, the largest of all.
export function loadScale(list) {
  const scale = {};
  for (const unit of Object.keys(words)) {
    const all = [];
    for (const d of list) for (const l of d.loads) for (let i = 0; l.unit === unit && i < d.frames; i++) all.push(loadAt(d, l, i));
    const known = all.filter((v) => v > 0 && Number.isFinite(v)).sort((a, b) => a - b);
    if (known.length === 0) continue;
    const most = known[known.length - 1], usual = known[Math.floor(rank * (known.length - 1))];
    scale[unit] = { most, top: most > RARE * usual ? usual : most };
  }
  return scale;
}

function colourOf(ratio, out = new Color()) {
  const x = Math.min(1, Math.max(0, ratio)) * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(x));
  return out.set(stops[k]).lerp(new Color(stops[k + 1]), x - k);
}

// What the colours mean, and what the largest is now; a scale without anything gives null.
export function legend(scale) {
  const now = {};
  const parts = Object.entries<any>(scale).map(([unit, { top, most }]) => h('span', { class: 'loads-scale' }, `${words[unit]} at the joints: 0 `, h('i', { class: 'loads-bar', style: `background:linear-gradient(90deg,${stops.join(',')})` }),
    ` ${brief(top)} ${unit}${most > top ? ` and more, up to ${brief(most)} ${unit}` : ''}`, (now[unit] = h('span', { class: 'loads-now' }))));
  if (parts.length === 0) return null;
  return {
    element: h('p', { class: 'loads' }, parts),
    // d: the run whose largest is named
    show(d, i) {
      for (const unit of Object.keys(now)) {
        const own = d.loads.filter((l) => l.unit === unit), v = own.map((l) => loadAt(d, l, i)), most = Math.max(0, ...v);
        now[unit].textContent = most > 0 ? `; now ${brief(most)} ${unit}${own.length > 1 ? `, ${own[v.indexOf(most)].name}` : ''}` : '; now 0';
      }
    },
  };
}

// The balls; actor: whose joints they are at.
export class Loads {
  [name: string]: any;

  constructor(parent, d, env, actor, scale) {
    Object.assign(this, { d, actor, scale });
    this.radius = Math.min(0.024 * env.size, 0.14 * env.own);
    this.group = new Group();
    const ball = new SphereGeometry(1, 20, 14), n = Math.max(1, d.loads.length);
    // seen through bodies; the rim tells it from what is behind it
    const plain = { depthTest: false, transparent: true };
    this.rims = new InstancedMesh(ball, new MeshBasicMaterial({ color: 0x1b1f24, ...plain }), n);
    this.balls = new InstancedMesh(ball, new MeshBasicMaterial({ ...plain }), n);
    [this.rims, this.balls].forEach((mesh, k) => {
      mesh.frustumCulled = false;
      mesh.renderOrder = 5 + k;
      mesh.count = d.loads.length;
      this.group.add(mesh);
    });
    parent.add(this.group);
    this.shown = [];
  }

  // i: the frame
  set(i) {
    const { d, actor, scale } = this, p = new Vector3(), m = new Matrix4(), colour = new Color();
    this.shown = d.loads.map((l, k) => {
      const j = d.joints[l.joint], ratio = scale[l.unit] ? loadAt(d, l, i) / scale[l.unit].top : 0, r = this.radius * (0.45 + 0.55 * Math.min(1, ratio));
      // of what slides: where the second body is
      if (j.b >= 0) actor.anchor(j.b, j.at_b, p);
      else actor.anchor(j.a, j.at_a, p);
      this.balls.setMatrixAt(k, m.makeScale(r, r, r).setPosition(p));
      this.rims.setMatrixAt(k, m.makeScale(1.14 * r, 1.14 * r, 1.14 * r).setPosition(p));
      this.balls.setColorAt(k, colourOf(ratio, colour));
      return ratio;
    });
    this.balls.instanceMatrix.needsUpdate = this.rims.instanceMatrix.needsUpdate = true;
    if (this.balls.instanceColor) this.balls.instanceColor.needsUpdate = true;
  }
}
