// SPDX-License-Identifier: GPL-3.0-or-later
// Cells replayed side by side: bodies where they were, constraint errors enlarged, contact impulses as arrows,
// a scrubber tied to the plot of the error.
import {
  AmbientLight, ArrowHelper, BoxGeometry, BufferGeometry, CanvasTexture, CapsuleGeometry, Color, CylinderGeometry, DirectionalLight, DoubleSide,
  Float32BufferAttribute, GridHelper, Group, LineBasicMaterial, LineSegments, Mesh, MeshLambertMaterial, PerspectiveCamera, PlaneGeometry, Quaternion,
  Scene, SphereGeometry, SRGBColorSpace, Sprite, SpriteMaterial, Vector3, WebGLRenderer,
} from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { ConvexGeometry } from 'three/addons/geometries/ConvexGeometry.js';
import { brief, floats } from './data.js';
import { frame, h, select } from './dom.js';
import { Selection } from './selection.js';
import { chart } from './plot.js';
import { lineSpec } from './series.js';
import { ink, markerShape, onTheme, paint } from './theme.js';

const SHOWN = 3; // cells at the start
const axisX = new Vector3(1, 0, 0), axisY = new Vector3(0, 1, 0), axisZ = new Vector3(0, 0, 1);

function decode(r) {
  const d = { ...r, t: floats(r.t), pose: floats(r.pose), error: floats(r.error), contacts: floats(r.contacts), contact: floats(r.contact) };
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
  return d;
}

const norm3 = (v, at) => Math.hypot(v[at], v[at + 1], v[at + 2]);

// Frame at or before t, and how far on to the next.
function place(d, t) {
  let lo = 0, hi = d.frames - 1;
  if (t >= d.t[hi]) return [hi, 0];
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1;
    d.t[mid] <= t ? (lo = mid) : (hi = mid);
  }
  return [lo, Math.min(1, Math.max(0, (t - d.t[lo]) / (d.t[hi] - d.t[lo] || 1)))];
}

function poseAt(d, i, s, body, position, turn) {
  const n = d.bodies.length, a = d.per * (i * n + body), b = d.per * (Math.min(i + 1, d.frames - 1) * n + body), p = d.pose;
  const mix = (k) => p[a + k] + s * (p[b + k] - p[a + k]);
  if (d.dim === 2) {
    position.set(mix(0), mix(1), 0);
    turn.setFromAxisAngle(axisZ, mix(2));
  } else {
    position.set(mix(0), mix(1), mix(2));
    const sign = p[a + 3] * p[b + 3] + p[a + 4] * p[b + 4] + p[a + 5] * p[b + 5] + p[a + 6] * p[b + 6] < 0 ? -1 : 1;
    const q = (k) => p[a + k] * (1 - s) + sign * p[b + k] * s;
    turn.set(q(4), q(5), q(6), q(3)).normalize();
  }
}

function shapeMesh(s, dim, size, material) {
  const thin = size * 0.02, r = s.radius[0], half = s.half;
  let mesh;
  if (s.kind === 'sphere') {
    mesh = new Mesh(dim === 2 ? new CylinderGeometry(r, r, thin, 40) : new SphereGeometry(r, 28, 18), material);
    if (dim === 2) mesh.rotateX(Math.PI / 2);
  } else if (s.kind === 'capsule') {
    mesh = new Mesh(new CapsuleGeometry(r, s.length[0], 6, 18), material);
    mesh.quaternion.setFromUnitVectors(axisY, axisX);
    if (dim === 2) mesh.scale.z = 0.2;
  } else if (s.kind === 'box') mesh = new Mesh(new BoxGeometry(2 * half[0], 2 * half[1], dim === 2 ? thin : 2 * half[2]), material);
  else if (s.kind === 'ellipsoid') {
    mesh = new Mesh(new SphereGeometry(1, 28, 18), material);
    mesh.scale.set(half[0], half[1], half[2]);
  } else if (s.kind === 'polytope' && s.vertices) {
    const points = [];
    for (let k = 0; k < s.vertices.length; k += dim)
      if (dim === 3) points.push(new Vector3(s.vertices[k], s.vertices[k + 1], s.vertices[k + 2]));
      else points.push(new Vector3(s.vertices[k], s.vertices[k + 1], thin / 2), new Vector3(s.vertices[k], s.vertices[k + 1], -thin / 2));
    mesh = new Mesh(new ConvexGeometry(points), material);
  } else if (s.kind === 'plane') {
    if (dim === 2) {
      mesh = new Mesh(new BoxGeometry(8 * size, thin / 2, thin), material);
      mesh.position.y = -thin / 4;
    } else mesh = new Mesh(new PlaneGeometry(s.body < 0 ? 8 * size : 1.2 * size, s.body < 0 ? 8 * size : 1.2 * size), s.body < 0 ? material : new MeshLambertMaterial({ color: material.color, side: DoubleSide, transparent: true, opacity: 0.25 }));
  } else return null;
  const holder = new Group();
  holder.add(mesh);
  holder.position.set(s.x[0], s.x[1], dim === 2 ? 0 : s.x[2]);
  if (s.turn.length === 4) {
    if (s.turn.some((v) => v !== 0)) holder.quaternion.set(s.turn[1], s.turn[2], s.turn[3], s.turn[0]).normalize();
  } else holder.quaternion.setFromAxisAngle(axisZ, s.turn[0]);
  return holder;
}

// A body without shapes: rods between its joints, or a box of its inertia.
function skeleton(d, body, size, material) {
  const anchors = d.joints.flatMap((j) => [...(j.a === body ? [j.at_a] : []), ...(j.b === body ? [j.at_b] : [])]).map((p) => new Vector3(p[0], p[1], d.dim === 2 ? 0 : p[2]));
  const group = new Group(), r = size * 0.008;
  const rod = (p, q) => {
    const length = p.distanceTo(q);
    if (length < 1e-9 * size) return;
    const m = new Mesh(new CylinderGeometry(r, r, length, 10), material);
    m.position.copy(p).add(q).multiplyScalar(0.5);
    m.quaternion.setFromUnitVectors(axisY, q.clone().sub(p).normalize());
    group.add(m);
  };
  const far = anchors.filter((p) => p.length() > 1e-6 * size);
  const half = d.bodies[body].half.map((v) => Math.max(v, size * 0.004));
  const long = Math.max(...half) > 4 * [...half].sort((a, b) => a - b)[1];
  if ((far.length === 0 && !d.joints.some((j) => j.kind === 'distance')) || (far.length === 1 && !long && d.joints.length < 2))
    group.add(new Mesh(new BoxGeometry(2 * half[0], 2 * half[1], d.dim === 2 ? size * 0.02 : 2 * half[2]), material));
  for (const p of far) rod(p, far.length === 1 ? p.clone().negate() : new Vector3());
  for (const p of anchors) {
    const ball = new Mesh(new SphereGeometry(1.5 * r, 12, 8), material);
    ball.position.copy(p);
    group.add(ball);
  }
  return group;
}

function markerSprite(index, size) {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 64;
  const ctx = canvas.getContext('2d');
  ctx.scale(4, 4);
  ctx.fillStyle = paint(index);
  ctx.strokeStyle = ink('page');
  const shape = markerShape(index), glyph = new Path2D(shape.path);
  if (!shape.stroked) ctx.fill(glyph);
  else ctx.strokeStyle = paint(index);
  ctx.lineWidth = shape.stroked ? 2.5 : 0.8;
  ctx.stroke(glyph);
  const texture = new CanvasTexture(canvas);
  texture.colorSpace = SRGBColorSpace;
  const sprite = new Sprite(new SpriteMaterial({ map: texture, depthTest: false }));
  sprite.scale.setScalar(size * 0.055);
  return sprite;
}

// What is seen of one cell.
class Ghost {
  constructor(scene, d, index, size, opacity) {
    Object.assign(this, { d, size });
    this.group = new Group();
    const material = new MeshLambertMaterial({ color: new Color(paint(index)), transparent: opacity < 1, opacity });
    this.bodies = d.bodies.map((_, b) => {
      const g = new Group(), own = d.shapes.filter((s) => s.body === b).map((s) => shapeMesh(s, d.dim, size, material)).filter((m) => m);
      g.add(...(own.length ? own : [skeleton(d, b, size, material)]));
      this.group.add(g);
      return g;
    });
    this.marker = markerSprite(index, size);
    if (this.bodies.length) this.group.add(this.marker);
    this.rods = d.joints.map((j) => {
      if (j.kind !== 'distance') return null;
      const rod = new Mesh(new CylinderGeometry(size * 0.005, size * 0.005, 1, 10), material);
      this.group.add(rod);
      return rod;
    });
    const lines = new BufferGeometry();
    lines.setAttribute('position', new Float32BufferAttribute(new Float32Array(6 * d.joints.length), 3));
    this.errors = new LineSegments(lines, new LineBasicMaterial({ color: new Color(ink('bad')), depthTest: false }));
    this.errors.frustumCulled = false;
    this.errors.renderOrder = 2;
    this.arrows = [];
    this.group.add(this.errors);
    scene.add(this.group);
  }

  set(t, enlarge, perNs) {
    const { d } = this, [i, s] = place(d, t), p = new Vector3(), q = new Quaternion();
    this.bodies.forEach((g, b) => {
      poseAt(d, i, s, b, p, q);
      g.position.copy(p);
      g.quaternion.copy(q);
    });
    if (this.bodies.length) this.marker.position.copy(this.bodies[this.bodies.length - 1].position);
    const n = d.joints.length, attribute = this.errors.geometry.attributes.position, next = Math.min(i + 1, d.frames - 1);
    d.joints.forEach((j, k) => {
      this.anchor(j.a, j.at_a, p);
      if (this.rods[k]) {
        const other = this.anchor(j.b, j.at_b, new Vector3()), rod = this.rods[k];
        rod.position.copy(p).add(other).multiplyScalar(0.5);
        rod.scale.y = Math.max(1e-9, p.distanceTo(other));
        rod.quaternion.setFromUnitVectors(axisY, other.sub(p).normalize());
      }
      const e = [0, 1, 2].map((c) => d.error[3 * (i * n + k) + c] * (1 - s) + d.error[3 * (next * n + k) + c] * s);
      attribute.setXYZ(2 * k, p.x, p.y, p.z);
      attribute.setXYZ(2 * k + 1, p.x + enlarge * e[0], p.y + enlarge * e[1], p.z + enlarge * e[2]);
    });
    attribute.needsUpdate = true;
    const count = d.contacts[i];
    while (this.arrows.length < count) {
      const a = new ArrowHelper(axisX, p, 1, ink('accent'));
      this.arrows.push(a);
      this.group.add(a);
    }
    this.arrows.forEach((a, k) => {
      const at = 6 * (d.first[i] + k), length = k < count ? norm3(d.contact, at + 3) * perNs : 0;
      a.visible = length > this.size * 1e-3;
      if (!a.visible) return;
      a.position.set(d.contact[at], d.contact[at + 1], d.contact[at + 2]);
      a.setDirection(p.set(d.contact[at + 3], d.contact[at + 4], d.contact[at + 5]).normalize());
      a.setLength(length, Math.min(0.3 * length, 0.05 * this.size), Math.min(0.15 * length, 0.03 * this.size));
    });
  }

  // where an anchor is in the world
  anchor(body, at, p) {
    p.set(at[0], at[1], this.d.dim === 2 ? 0 : at[2]);
    return body >= 0 ? p.applyQuaternion(this.bodies[body].quaternion).add(this.bodies[body].position) : p;
  }

  dispose() {
    this.group.removeFromParent();
    this.group.traverse((o) => {
      o.geometry?.dispose?.();
      o.material?.map?.dispose?.();
      o.material?.dispose?.();
    });
  }
}

// A ball around where the bodies are; sound: runs that did not diverge.
function surroundings(list, sound) {
  const start = new Vector3(), points = [];
  const d = list[0];
  const at = (r, i, b) => { const k = r.per * (i * r.bodies.length + b); return new Vector3(r.pose[k], r.pose[k + 1], r.dim === 2 ? 0 : r.pose[k + 2]); };
  let own = 0;
  for (let b = 0; b < d.bodies.length; b++) {
    start.add(at(d, 0, b));
    const half = Math.max(...d.bodies[b].half);
    const shapes = d.shapes.filter((s) => s.body === b).map((s) => Math.max(s.radius[0] + s.length[0] / 2, ...s.half, ...(s.vertices ?? [0]).map(Math.abs)));
    own = Math.max(own, half, ...shapes);
  }
  start.multiplyScalar(1 / Math.max(1, d.bodies.length));
  let extent = own;
  for (let b = 0; b < d.bodies.length; b++) extent = Math.max(extent, at(d, 0, b).distanceTo(start) + own);
  for (const j of d.joints) if (j.a < 0) extent = Math.max(extent, new Vector3(...j.at_a).distanceTo(start));
  for (const r of sound.length ? sound : list)
    for (let i = 0; i < r.frames; i += Math.max(1, Math.floor(r.frames / 40)))
      for (let b = 0; b < r.bodies.length; b++) points.push(at(r, i, b));
  const kept = points.filter((p) => sound.length || p.distanceTo(start) < 1.5 * extent);
  for (const j of d.joints) if (j.a < 0) kept.push(new Vector3(...j.at_a));
  const lo = start.clone().subScalar(own), hi = start.clone().addScalar(own);
  for (const p of kept) {
    lo.min(p.clone().subScalar(own / 2));
    hi.max(p.clone().addScalar(own / 2));
  }
  return { centre: lo.clone().add(hi).multiplyScalar(0.5), size: Math.max(lo.distanceTo(hi), 1e-6) };
}

export function replay(data) {
  if (!data.replays || data.replays.length === 0) return [];
  const f = frame('replay-figure', 'Replay', 'Red: the error of each joint, from where it should be closed, enlarged by the factor beside the slider. Arrows: contact impulses of the step. The marker of a cell sits on its last body. Drag to turn, wheel or two fingers to come closer; click into the plot to go to a time.');
  const scenes = [...new Set(data.replays.map((r) => r.scene))];
  const decoded = new Map();
  const of = (c) => {
    if (!decoded.has(c)) decoded.set(c, decode(data.replays.find((r) => r.cell === c).replay));
    return decoded.get(c);
  };
  let t = 0, playing = false, ghosts = [], list = [], enlarge = 1, perNs = 0, speed = 1, end = 1;

  const sceneSelect = select('scene', scenes, scenes[0], (v) => { scene3 = v; selection.refresh(true); rebuild(true); }, 'replay.scene');
  let scene3 = sceneSelect.value;
  // only cells that can be replayed take part
  const cellScene = new Map(data.replays.map((r) => [r.cell, r.scene]));
  const view = { ...data, include: (c) => cellScene.get(c) === scene3 };
  const selection = new Selection(view, () => data.study.primary, () => rebuild(), 'replay');

  let renderer;
  try {
    renderer = new WebGLRenderer({ antialias: true, alpha: true });
  } catch {
    f.plot.append(h('p', { class: 'note' }, 'This browser has no WebGL: no replay.'));
    f.state('drawn');
    return [f];
  }
  const canvas = renderer.domElement;
  canvas.className = 'replay-canvas';
  canvas.setAttribute('role', 'img');
  const world = new Scene(), camera = new PerspectiveCamera(35, 16 / 9, 0.01, 1000), controls = new OrbitControls(camera, canvas);
  const sun = new DirectionalLight(0xffffff, 2.2);
  world.add(new AmbientLight(0xffffff, 1.6), sun, sun.target);
  const stage = new Group();
  world.add(stage);
  const render = () => {
    const w = canvas.clientWidth, hgt = canvas.clientHeight, ratio = Math.min(2, devicePixelRatio);
    if (w > 0 && (canvas.width !== Math.floor(w * ratio) || canvas.height !== Math.floor(hgt * ratio))) {
      renderer.setPixelRatio(ratio);
      renderer.setSize(w, hgt, false);
      camera.aspect = w / hgt;
      camera.updateProjectionMatrix();
    }
    renderer.render(world, camera);
  };
  controls.addEventListener('change', render);
  new ResizeObserver(render).observe(canvas);

  const play = h('button', { class: 'tool', type: 'button', 'aria-label': 'play or pause', onclick: () => { playing = !playing; if (playing && t >= end) t = 0; step(); } }, '▶ play');
  const scrub = h('input', { type: 'range', min: 0, max: 1000, value: 0, 'aria-label': 'time', oninput: () => { playing = false; show((scrub.value / 1000) * end); } });
  const clock = h('span', { class: 'replay-time' });
  const enlargeLabel = h('span', { class: 'replay-time' });
  const enlargeRange = h('input', { type: 'range', min: 0, max: 12, step: 0.5, value: 0, 'aria-label': 'factor of the constraint error', oninput: () => { enlarge = 10 ** enlargeRange.value; show(t); } });
  const drift = h('div', { class: 'plot' }), plot = chart(drift);
  drift.addEventListener('click', (e) => {
    const svg = plot.svg, box = svg?.getBoundingClientRect();
    if (svg) show(plot.field.back(((e.clientX - box.left) * svg.viewBox.baseVal.width) / box.width));
  });
  f.plot.before(selection.chipBox);
  f.controls.append(
    sceneSelect,
    ...selection.controls,
    select('speed', [['0.05', '1/20'], ['0.2', '1/5'], ['1', 'as it was'], ['5', '5 x']], '1', (v) => { speed = Number(v); }),
  );
  const errorBar = h('div', { class: 'replay-bar' }, h('span', { class: 'note' }, 'constraint error'), enlargeRange, enlargeLabel);
  f.plot.append(canvas, h('div', { class: 'replay-bar' }, play, scrub, clock), errorBar, drift);

  let last = 0;
  function step(now = performance.now()) {
    play.textContent = playing ? '❚❚ pause' : '▶ play';
    if (!playing) return;
    const dt = Math.min(0.1, (now - last) / 1000);
    last = now;
    t += dt * speed;
    if (t >= end) {
      t = end;
      playing = false;
    }
    show(t);
    requestAnimationFrame(step);
  }

  function show(time) {
    t = Math.min(end, Math.max(0, time));
    for (const g of ghosts) g.set(t, enlarge, perNs);
    scrub.value = String(Math.round((1000 * t) / (end || 1)));
    clock.textContent = `t = ${t.toFixed(3)} s`;
    enlargeLabel.textContent = `× ${brief(enlarge)}`;
    cursorLine();
    render();
  }

  // the time that is shown, in the plot of the error
  function cursorLine() {
    const { field, svg } = plot;
    if (!field || !svg) return;
    let line = svg.querySelector('.replay-line');
    if (!line) {
      line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      line.setAttribute('class', 'replay-line');
      line.setAttribute('stroke', 'var(--ink)');
      line.setAttribute('stroke-width', '1.5');
      svg.append(line);
    }
    line.setAttribute('d', `M${field.x(t).toFixed(1)} ${field.top}v${field.height}`);
  }

  function rebuild(first = false) {
    playing = false;
    for (const g of ghosts) g.dispose();
    stage.clear();
    if (first) {
      // the first few are enough to begin with
      selection.hidden.clear();
      const names = [...new Set(selection.groups().filter((g) => g.cells.some((c) => cellScene.get(c) === scene3)).map((g) => g.name))];
      names.slice(SHOWN).forEach((n) => selection.hidden.add(n));
      selection.chipBox.replaceChildren();
      selection.redraw(true);
    }
    const groups = selection.groups();
    list = [];
    for (const g of groups) {
      const c = g.cells[0];
      if (c !== undefined) list.push({ c, index: g.index, label: selection.at.startsWith('*') && g.combo ? `${g.name}, ${g.combo}` : g.name || 'the only cell', d: of(c) });
    }
    f.note.textContent = `${data.replays.length} cells${data.xKey ? ` at ${data.xKey} = ${brief(data.x(data.replays[0].cell))}` : ''} are on this page${data.replays_left_out ? `; ${data.replays_left_out} more had no room, all are in the folder replay/` : ''}.`;
    const nothing = list.length === 0;
    canvas.hidden = nothing;
    if (nothing) {
      ghosts = [];
      plot.clear('None of the chosen cells has a replay.');
      f.state('drawn');
      return;
    }
    const { centre, size } = surroundings(list.map((e) => e.d), list.filter((e) => data.stands(e.c)).map((e) => e.d));
    const d0 = list[0].d, gray = new MeshLambertMaterial({ color: new Color(ink('soft')), side: DoubleSide, transparent: true, opacity: 0.35 });
    for (const s of d0.shapes.filter((k) => k.body < 0)) {
      const m = shapeMesh(s, d0.dim, size, gray);
      if (m) stage.add(m);
    }
    if (!d0.shapes.some((s) => s.body < 0) && d0.dim === 3) {
      const grid = new GridHelper(1.2 * size, 12, ink('line'), ink('line'));
      grid.rotateX(Math.PI / 2);
      grid.position.set(centre.x, centre.y, centre.z - size / 2);
      stage.add(grid);
    }
    for (const j of d0.joints)
      if (j.a < 0) {
        const pin = new Mesh(new SphereGeometry(size * 0.014, 14, 10), gray);
        pin.position.set(j.at_a[0], j.at_a[1], d0.dim === 2 ? 0 : j.at_a[2]);
        stage.add(pin);
      }
    ghosts = list.map((e) => new Ghost(stage, e.d, e.index, size, list.length > 1 ? 0.75 : 1));
    end = Math.max(...list.map((e) => e.d.t[e.d.frames - 1]));
    let most = 0;
    for (const { d } of list) for (let k = 3; k < d.contact.length; k += 6) most = Math.max(most, norm3(d.contact, k));
    perNs = most > 0 ? (0.25 * size) / most : 0;
    const touching = list.some((e) => e.d.push.some((v) => v > 0));
    // errors of rounding say nothing where there are impulses to show
    const jointed = d0.joints.length > 0 && (!touching || list.some((e) => e.d.worst.some((v) => v > 1e-12 * size)));
    errorBar.hidden = !jointed;
    if (first) {
      camera.up.copy(d0.dim === 2 ? axisY : axisZ);
      camera.near = size / 100;
      camera.far = size * 50;
      camera.position.copy(centre).add(d0.dim === 2 ? new Vector3(0, 0, 1.55 * size) : new Vector3(0.3, -1.3, 0.35).multiplyScalar(size));
      controls.target.copy(centre);
      sun.position.copy(centre).add(new Vector3(-0.5, -1, 1.5).multiplyScalar(size));
      sun.target.position.copy(centre);
      camera.updateProjectionMatrix();
      controls.update();
      // the worst that is shown takes a twentieth of the picture
      const errors = list.filter((e) => data.stands(e.c)).map((e) => Math.max(...e.d.worst)).filter((v) => v > 1e-13 * size && v < size);
      enlargeRange.value = String(errors.length === 0 ? 0 : Math.max(0, Math.min(12, Math.floor(2 * Math.log10((0.1 * size) / Math.max(...errors))) / 2)));
      enlarge = 10 ** enlargeRange.value;
      t = 0;
    }
    canvas.setAttribute('aria-label', `replay of ${list.length} ${list.length === 1 ? 'cell' : 'cells'} of ${scene3}: ${list.map((e) => e.label).join('; ')}`);
    const spec = (jointed || touching) && lineSpec(list.map((e) => ({ label: e.label, index: e.index, x: e.d.t, y: jointed ? e.d.worst : e.d.push })), {
      xTitle: 'time t [s]', yTitle: jointed ? 'largest error of a joint [m]' : 'sum of the contact impulses of a step [N s]', logY: jointed, alt: jointed ? 'largest joint error over time' : 'sum of the contact impulses of a step over time', height: 170,
    });
    if (spec) plot.draw(spec);
    else plot.clear('');
    show(Math.min(t, end));
    f.state('drawn');
  }
  onTheme(() => rebuild());
  f.redraw = () => rebuild(true);
  return [f];
}
