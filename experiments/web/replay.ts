// SPDX-License-Identifier: GPL-3.0-or-later
// Cells of a report replayed over each other: bodies where they were, constraint errors enlarged, contact impulses as arrows,
// a scrubber tied to the plot of the error.
import { BufferGeometry, CanvasTexture, Color, Float32BufferAttribute, Group, LineBasicMaterial, LineSegments, Sprite, screenColours, SpriteMaterial, Vector3 } from './three';
import { brief } from './data';
import { checkbox, frame, h, select } from './dom';
import { legend, Loads, loadScale } from './loads';
import { Actor, arrowScale, bodyColour, Contacts, decode, dispose, place, Stage, stageSize } from './motion';
import { Selection } from './selection';
import { chart } from './plot';
import { lineSpec } from './series';
import { ink, markerShape, onTheme, paint } from './theme';

const SHOWN = 3; // cells at the start
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
  const texture = screenColours(new CanvasTexture(canvas));
  const sprite = new Sprite(new SpriteMaterial({ map: texture, depthTest: false }));
  sprite.scale.setScalar(size * 0.055);
  return sprite;
}

// What is seen of one cell: its run, in the colour of the cell where others are beside it, its marker and its errors.
class Seen {
  [name: string]: any;

  constructor(parent, d, env, index, alone, loads) {
    Object.assign(this, { d, env });
    this.group = new Group();
    parent.add(this.group);
    this.actor = new Actor(this.group, d, env, alone ? { colour: bodyColour } : { colour: () => paint(index), opacity: 0.75, offset: index });
    this.ghost = alone && d.refs.length > 0 ? new Actor(this.group, d, env, { ghost: true }) : null;
    this.contacts = d.contact.length > 0 ? new Contacts(this.group, d, env) : null;
    this.loads = d.loads.length > 0 ? new Loads(this.group, d, env, this.actor, loads) : null;
    this.marker = markerSprite(index, env.size);
    this.marker.visible = !alone;
    if (d.bodies.length) this.group.add(this.marker);
    const lines = new BufferGeometry();
    lines.setAttribute('position', new Float32BufferAttribute(new Float32Array(6 * d.joints.length), 3));
    this.errors = new LineSegments(lines, new LineBasicMaterial({ color: new Color(ink('bad')), depthTest: false, transparent: true }));
    this.errors.frustumCulled = false;
    this.errors.renderOrder = 4;
    this.group.add(this.errors);
  }

  set(t, enlarge, scale, drives) {
    const { d, actor } = this, [i, s] = place(d, t), p = new Vector3();
    actor.set(t);
    this.ghost?.set(t);
    this.contacts?.set(t, scale.perNs, scale.longest);
    if (this.loads) {
      this.loads.group.visible = drives;
      this.loads.set(i);
    }
    if (d.bodies.length) this.marker.position.copy(actor.position[d.bodies.length - 1]);
    const n = d.joints.length, attribute = this.errors.geometry.attributes.position, next = Math.min(i + 1, d.frames - 1);
    d.joints.forEach((j, k) => {
      actor.anchor(j.a, j.at_a, p);
      const e = [0, 1, 2].map((c) => d.error[3 * (i * n + k) + c] * (1 - s) + d.error[3 * (next * n + k) + c] * s);
      attribute.setXYZ(2 * k, p.x, p.y, p.z);
      attribute.setXYZ(2 * k + 1, p.x + enlarge * e[0], p.y + enlarge * e[1], p.z + enlarge * e[2]);
    });
    attribute.needsUpdate = true;
  }

  dispose() {
    dispose(this.group);
  }
}

export function replay(data) {
  if (!data.replays || data.replays.length === 0) return [];
  const f = frame('replay-figure', 'Replay', 'Red: the error of each joint, enlarged by the factor next to the slider. Arrows: contact impulses of the step. Balls: the largest force of motors, limits and controllers of a joint. Each of several runs has its own colour and a marker on its last body. A single run shows each body in its own colour, and the reference in grey if it was compared with one. Drag to rotate; use the wheel or two fingers to zoom; click into the plot to go to a time.');
  const scenes = [...new Set(data.replays.map((r) => r.scene))];
  const decoded = new Map();
  const of = (c) => {
    if (!decoded.has(c)) decoded.set(c, decode(data.replays.find((r) => r.cell === c).replay));
    return decoded.get(c);
  };
  let t = 0, playing = false, ghosts = [], list = [], enlarge = 1, scale = { perNs: 0, longest: 0 }, key = null, drives = true, speed = 1, end = 1, loop = true;

  const sceneSelect = select('scene', scenes, scenes[0], (v) => { scene3 = v; selection.refresh(true); rebuild(true); }, 'replay.scene');
  let scene3 = sceneSelect.value;
  // only cells that can be replayed take part
  const cellScene = new Map(data.replays.map((r) => [r.cell, r.scene]));
  const view = { ...data, include: (c) => cellScene.get(c) === scene3 };
  const selection = new Selection(view, () => data.study.primary, () => rebuild(), 'replay');

  let stage;
  try {
    stage = new Stage('replay-canvas');
  } catch {
    f.plot.append(h('p', { class: 'note' }, 'The replay requires WebGL, which this browser does not support.'));
    f.state('drawn');
    return [f];
  }
  const { canvas } = stage;

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
  const drivesBox = checkbox('drives', true, (v) => { drives = v; show(t); }), keyBox = h('div', { class: 'replay-loads' });
  f.plot.before(selection.chipBox);
  f.controls.append(
    sceneSelect,
    ...selection.controls,
    select('speed', [['0.05', '1/20'], ['0.2', '1/5'], ['1', 'real time'], ['5', '5 x']], '1', (v) => { speed = Number(v); }),
    checkbox('loop', true, (v) => { loop = v; }),
    drivesBox,
  );
  const errorBar = h('div', { class: 'replay-bar' }, h('span', { class: 'note' }, 'constraint error'), enlargeRange, enlargeLabel);
  f.plot.append(canvas, keyBox, h('div', { class: 'replay-bar' }, play, scrub, clock), errorBar, drift);

  let last = 0;
  function step(now = performance.now()) {
    play.textContent = playing ? '❚❚ pause' : '▶ play';
    if (!playing) return;
    const dt = Math.min(0.1, (now - last) / 1000);
    last = now;
    t += dt * speed;
    if (t >= end) {
      t = loop ? 0 : end;
      playing = loop;
    }
    show(t);
    requestAnimationFrame(step);
  }

  function show(time) {
    t = Math.min(end, Math.max(0, time));
    for (const g of ghosts) g.set(t, enlarge, scale, drives);
    if (key && list.length) key.show(list[0].d, place(list[0].d, t)[0]);
    keyBox.hidden = !key || !drives;
    scrub.value = String(Math.round((1000 * t) / (end || 1)));
    clock.textContent = `t = ${t.toFixed(3)} s`;
    enlargeLabel.textContent = `× ${brief(enlarge)}`;
    cursorLine();
    stage.render();
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
      // bodies with shapes hide each other: one cell, whose bodies are told apart
      const solid = of(data.replays.find((r) => r.scene === scene3).cell).shapes.some((e) => e.body >= 0);
      names.slice(solid ? 1 : SHOWN).forEach((n) => selection.hidden.add(n));
      selection.chipBox.replaceChildren();
      selection.redraw(true);
    }
    const groups = selection.groups();
    list = [];
    for (const g of groups) {
      const c = g.cells[0];
      if (c !== undefined) list.push({ c, index: g.index, label: selection.at.startsWith('*') && g.combo ? `${g.name}, ${g.combo}` : g.name || 'the only run', d: of(c) });
    }
    const x0 = data.xKey ? data.x(data.replays[0].cell) : 0, alike = data.xKey && data.replays.every((r) => data.x(r.cell) === x0);
    f.note.textContent = `${data.replays.length} runs${alike ? ` at ${data.xKey} = ${brief(x0)}` : ''} are on this page${data.replays_left_out ? `; ${data.replays_left_out} more did not fit; all are in the folder replay/` : ''}. perp view shows any of them larger, next to another one.`;
    const nothing = list.length === 0;
    canvas.hidden = nothing;
    if (nothing) {
      ghosts = [];
      keyBox.hidden = true;
      plot.clear('None of the selected runs has a replay.');
      f.state('drawn');
      return;
    }
    const env = stageSize(list.map((e) => e.d), list.filter((e) => data.stands(e.c)).map((e) => e.d)), { size } = env, d0 = list[0].d;
    stage.furnish(d0, env);
    const stand = list.filter((e) => data.stands(e.c)), loads = loadScale((stand.length ? stand : list).map((e) => e.d));
    key = legend(loads);
    keyBox.replaceChildren(...(key ? [key.element] : []));
    drivesBox.hidden = !key;
    ghosts = list.map((e) => new Seen(stage.root, e.d, env, e.index, list.length === 1, loads));
    end = Math.max(...list.map((e) => e.d.t[e.d.frames - 1]));
    scale = arrowScale(list.map((e) => e.d), env);
    const touching = list.some((e) => e.d.push.some((v) => v > 0));
    // errors of rounding say nothing where there are impulses to show
    const jointed = d0.joints.length > 0 && (!touching || list.some((e) => e.d.worst.some((v) => v > 1e-12 * size)));
    errorBar.hidden = !jointed;
    if (first) {
      stage.fit({ d: d0, env });
      // the worst that is shown takes a twentieth of the picture
      const errors = list.filter((e) => data.stands(e.c)).map((e) => Math.max(...e.d.worst)).filter((v) => v > 1e-13 * size && v < size);
      enlargeRange.value = String(errors.length === 0 ? 0 : Math.max(0, Math.min(12, Math.floor(2 * Math.log10((0.1 * size) / Math.max(...errors))) / 2)));
      enlarge = 10 ** enlargeRange.value;
      t = 0;
    }
    canvas.setAttribute('aria-label', `replay of ${list.length} ${list.length === 1 ? 'run' : 'runs'} of ${scene3}: ${list.map((e) => e.label).join('; ')}`);
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
