// SPDX-License-Identifier: GPL-3.0-or-later
// The page of `perp view`: one run or two, with one clock.
import { brief } from './data';
import { checkbox, h, select } from './dom';
import { legend, Loads, loadScale } from './loads';
import { Actor, arrowScale, Contacts, decode, hasPaths, paths, place, Stage, stageSize } from './motion';
import { onTheme } from './theme';

const speeds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
const tints = ['#0072b2', '#d55e00']; // of two runs
const NS = 'http://www.w3.org/2000/svg';

const svg = (tag, attributes, ...children) => {
  const e = document.createElementNS(NS, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
};

// ---- words ------------------------------------------------------------------------------------------------------

const partsOf = (run) => ({ scene: run.scene, ...run.parts, h: `${brief(run.h)} s` });
function label(runs, i) {
  const all = runs.map(partsOf), keys = [...new Set<string>(all.flatMap((p) => Object.keys(p)))];
  const telling = keys.filter((k) => runs.length === 1 ? k !== 'scene' : all.some((p) => p[k] !== all[0][k]));
  return telling.map((k) => `${k === 'h' ? 'h =' : k} ${all[i][k] ?? 'none'}`).join(', ') || 'the same';
}
function ending(run) {
  if (run.status === 'ok' || run.status === 'fixed-work') return '';
  return `${run.status} at t = ${brief(run.reached)} s${run.cause ? `: ${run.cause}` : ''}`;
}

const ROUNDING = 1e-13, REFERENCE = 'distance from the reference', SINGLE = 2.5e6; // of positions in single precision

// ---- figures over time ----------------------------------------------------------------------------------------------

// One small figure; curves: [{ y, t, tint }]; noise: smaller differences are rounding errors and do not fill it; click(t)
function figure(title, unit, curves, end, click, noise) {
  const W = 300, H = 84, top = 8, bottom = H - 6;
  const finite = curves.flatMap((c) => Array.from(c.y).filter(Number.isFinite));
  const lo = Math.min(0, ...finite.slice(0, 1), finite.reduce((a, b) => Math.min(a, b), Infinity)), most = Math.max(finite.reduce((a, b) => Math.max(a, b), -Infinity), lo), quiet = most - lo < noise, hi = quiet ? lo + noise : most;
  const x = (t) => (W * t) / (end || 1), y = (v) => bottom - ((v - lo) / (hi - lo || 1)) * (bottom - top);
  const cursor = svg('path', { class: 'view-cursor', d: '' }), now = h('span', { class: 'view-now' });
  const drawing = svg('svg', { viewBox: `0 0 ${W} ${H}`, class: 'view-figure', role: 'img', 'data-keys': '.view-scrub', preserveAspectRatio: 'none', 'aria-label': `${title} over time, from ${brief(lo)} to ${brief(most)}${unit ? ` ${unit}` : ''}` });
  drawing.append(svg('path', { class: 'view-base', d: `M0 ${y(Math.max(lo, Math.min(0, hi))).toFixed(1)}h${W}` }));
  curves.forEach((c, k) => {
    let d = '', pen = 'M';
    for (let i = 0; i < c.t.length; i++) {
      if (!Number.isFinite(c.y[i])) {
        pen = 'M';
        continue;
      }
      d += `${pen}${x(c.t[i]).toFixed(1)} ${y(c.y[i]).toFixed(1)}`;
      pen = 'L';
    }
    drawing.append(svg('path', { class: 'view-curve', d, stroke: c.tint, 'stroke-dasharray': k ? '5 3' : 'none' }));
  });
  drawing.append(cursor);
  drawing.addEventListener('click', (e) => {
    const box = drawing.getBoundingClientRect();
    click(((e.clientX - box.left) / box.width) * end);
  });
  return {
    element: h('figure', { class: 'view-chart' }, h('figcaption', {}, h('b', {}, title), ` `, now), drawing, h('div', { class: 'view-range' }, h('span', {}, brief(lo)), h('span', {}, `to ${brief(most)}${unit ? ` ${unit}` : ''}${quiet && most > lo ? ', rounding errors' : ''}`))),
    show(t) {
      cursor.setAttribute('d', `M${x(t).toFixed(1)} 0v${H}`);
      now.textContent = curves.map((c) => brief(c.y[place(c.d, t)[0]])).join(' | ') + (unit ? ` ${unit}` : '');
    },
  };
}

function figures(list, end, click) {
  const some = (f) => list.some((d) => Array.from(f(d)).some((v) => Number.isFinite(v) && v !== 0));
  const tint = (k) => (list.length > 1 ? tints[k] : tints[0]);
  // what rounding makes of energies, and of lengths of bodies
  const rounding = (unit) => ROUNDING * (unit === 'J' ? Math.max(...list.flatMap((d) => Array.from<number>(d.energy).filter(Number.isFinite).map(Math.abs)), 0)
    : unit === 'm' || unit === '' ? Math.max(...list.flatMap((d) => d.bodies.flatMap((b) => b.half)), 0) || 1 : 0);
  const make = (title, unit, f) => figure(title, unit, list.map((d, k) => ({ d, t: d.t, y: f(d), tint: tint(k) })), end, click, rounding(unit) * (title === REFERENCE ? SINGLE : 1));
  const wanted: [string, string, (d: any) => any][] = [
    ['energy, change', 'J', (d) => d.energy.map((v) => v - d.energy[0])],
    ['error of the joints', '', (d) => (d.joints.length ? d.drift : [])],
    ['contact impulses, sum', 'N s', (d) => d.push],
    ['deepest penetration', 'm', (d) => d.depth],
    ['largest torque at a joint', 'Nm', (d) => d.most.Nm ?? []],
    ['largest force at a joint', 'N', (d) => d.most.N ?? []],
    [REFERENCE, 'm', (d) => d.away],
  ];
  return wanted.filter(([title, , f]) => some(f) || (title.startsWith('energy') && list.some((d) => Number.isFinite(d.energy[0])))).map((w) => make(...w));
}

// ---- one run on its canvas ----------------------------------------------------------------------------------------------

class Show {
  [name: string]: any;

  constructor(run, d, env, scale, loads, still) {
    Object.assign(this, { run, d, env, scale, loadScale: loads });
    this.stage = new Stage('view-canvas', { still });
    this.build();
  }

  build() {
    const { stage, d, env } = this;
    stage.clear();
    stage.furnish(d, env);
    this.actor = new Actor(stage.root, d, env);
    this.ghost = d.refs.length > 0 ? new Actor(stage.root, d, env, { ghost: true }) : null;
    this.contacts = d.contact.length > 0 ? new Contacts(stage.root, d, env) : null;
    this.reactions = d.reaction ? new Contacts(stage.root, d.reaction, env, '#0072b2') : null;
    this.reactionScale = d.reaction ? arrowScale([d.reaction], env) : null;
    this.loads = d.loads.length > 0 ? new Loads(stage.root, d, env, this.actor, this.loadScale) : null;
    this.paths = hasPaths(d) ? paths(stage.root, d) : null;
  }

  set(t, o) {
    const { d, env, stage } = this;
    this.actor.set(t);
    this.actor.showEdges(o.edges);
    const ghosted = this.ghost && this.ghost.set(t);
    if (this.ghost) {
      this.ghost.group.visible = ghosted && o.ghost;
      this.ghost.showEdges(o.edges);
    }
    if (this.contacts) {
      this.contacts.group.visible = o.contacts;
      this.contacts.set(t, this.scale.perNs, this.scale.longest);
    }
    if (this.reactions) {
      this.reactions.group.visible = o.reactions;
      this.reactions.set(t, this.reactionScale.perNs, this.reactionScale.longest);
    }
    if (this.loads) {
      this.loads.group.visible = o.drives;
      this.loads.set(place(d, t)[0]);
    }
    if (this.paths) this.paths.visible = o.paths;
    if (o.follow) {
      // what moves stays in the middle
      const c = this.middle(), moved = c.clone().sub(this.followed ?? c);
      stage.controls.target.add(moved);
      stage.camera.position.add(moved);
      stage.look(c, env);
      this.followed = c;
    } else this.followed = null;
    stage.render();
  }

  middle() {
    const c = this.env.centre.clone().set(0, 0, 0);
    for (const p of this.actor.position) c.add(p);
    return c.multiplyScalar(1 / Math.max(1, this.actor.position.length));
  }
}

// Bodies that stay together while they go far.
const wanders = (env) => env.size > 2.4 * env.alone;

export function view(data, root) {
  const hash = new URLSearchParams(location.hash.slice(1)), still = hash.has('still');
  const runs = data.runs, list = runs.map((r) => decode(r.replay)), end = Math.max(...list.map((d) => d.t[d.frames - 1]));
  const sound = list.filter((_, k) => runs[k].status !== 'diverged'), env = stageSize(list, sound), scale = arrowScale(list, env), loads = loadScale(sound.length ? sound : list), driven = Object.keys(loads).length > 0;
  document.body.classList.add('viewing');
  document.body.classList.toggle('still', still);
  const o = { contacts: true, reactions: true, drives: true, ghost: true, edges: true, paths: list.some(hasPaths), follow: wanders(env) && !list.some(hasPaths), loop: true };
  let t = 0, playing = false, speed = 1, shows = [], last = 0;

  const box = h('div', { class: 'view-stages' });
  const charts = figures(list, end, (at) => { pause(); show(at); });
  const key = legend(loads);
  const table = h('div', { class: 'view-charts' }, charts.map((c) => c.element));
  let reason = '';
  try {
    shows = runs.map((run, k) => new Show(run, list[k], env, scale, loads, still));
  } catch (e) {
    reason = String(e.message ?? e);
  }
  shows.forEach((s, k) => {
    s.stage.canvas.tabIndex = 0;
    s.stage.canvas.setAttribute('aria-label', `${runs[k].scene}, ${label(runs, k)}: ${list[k].bodies.length} ${list[k].bodies.length === 1 ? 'body' : 'bodies'} moving for ${brief(end)} s`);
    box.append(h('figure', { class: 'view-one' }, s.stage.canvas,
      h('figcaption', {}, runs.length > 1 && h('i', { class: `view-key view-key-${k}` }), label(runs, k), ending(runs[k]) && h('span', { class: 'bad' }, ` - ${ending(runs[k])}`))));
  });
  if (shows.length === 0) box.append(h('p', { class: 'note view-none' }, `The motion requires WebGL, which is not available in this browser (${reason}). Figures over time are below.`));

  // two cameras are one
  shows.forEach((s, k) => s.stage.controls.addEventListener('change', () => {
    shows.forEach((other, m) => {
      if (m === k || other.stage.camera.position.equals(s.stage.camera.position)) return;
      other.stage.camera.position.copy(s.stage.camera.position);
      other.stage.controls.target.copy(s.stage.controls.target);
      other.stage.camera.lookAt(s.stage.controls.target);
      other.stage.render();
    });
  }));

  function fit() {
    for (const s of shows) {
      s.followed = null;
      if (o.follow) {
        // what is seen at one time, around where it is now
        const c = s.middle(), r = 0.6 * env.alone;
        s.stage.fit({ d: s.d, env, spheres: [{ p: c, r }] });
        s.followed = c;
      } else s.stage.fit({ d: s.d, env });
    }
    show(t);
  }

  const play = h('button', { class: 'tool view-play', type: 'button', title: 'space', onclick: () => (playing ? pause() : start()) }, '▶ play');
  const scrub = h('input', { type: 'range', min: 0, max: 1000, step: 1, value: 0, class: 'view-scrub', 'aria-label': 'time', oninput: () => { pause(); show((scrub.value / 1000) * end); } });
  const clock = h('span', { class: 'replay-time view-time' });
  const wanted = speeds.find((v) => end / v <= 12) ?? speeds[speeds.length - 1], usual = end >= 2 && end <= 30 ? 1 : Math.min(wanted, end < 2 ? 1 : wanted);
  const word = (v) => (v === 1 ? 'real time' : v < 1 ? `1/${Math.round(1 / v)}` : `${v} x`);
  speed = usual;
  const box_ = (key, text, when) => when && checkbox(text, o[key], (v) => { o[key] = v; if (key === 'follow') fit(); else show(t); });
  const boxes = {
    loop: box_('loop', 'loop', true), contacts: box_('contacts', 'contacts', list.some((d) => d.contact.length > 0)),
    drives: box_('drives', 'joint forces', driven), reactions: box_('reactions', 'reaction forces', list.some((d) => d.reaction)),
    ghost: box_('ghost', 'reference', list.some((d) => d.refs.length > 0)), edges: box_('edges', 'edges', true),
    paths: box_('paths', 'paths', list.some(hasPaths)), follow: box_('follow', 'follow', true),
  };
  for (const [key, e] of Object.entries(boxes)) if (e) e.querySelector('input').dataset.show = key;
  const bar = h('div', { class: 'replay-bar view-bar' }, play, scrub, clock);
  const controls = h('div', { class: 'controls view-controls' }, select('speed', speeds.map((v) => [String(v), word(v)]), String(usual), (v) => { speed = Number(v); state(); }),
    ...Object.values(boxes), h('button', { class: 'tool view-fit', type: 'button', title: 'f', onclick: () => fit() }, 'fit'));
  const left = list.reduce((s, d) => s + d.contacts_left_out, 0), truths = [...new Set(runs.filter((_, k) => list[k].refs.length > 0).map((r) => r.truth))];
  root.append(box, ...(key ? [key.element] : []), bar, controls, table, h('p', { class: 'note' },
    [shows.length && list.some((d) => d.contact.length > 0) ? 'Arrows: contact impulses of the step on the second body; long arrows are shortened.' : '', list.some((d) => d.reaction) ? 'Blue arrows: reaction forces of joints on their second body.' : '', key ? 'Balls: the largest force of motors, limits and controllers of a joint, coloured as above.' : '', truths.length ? `Grey: the reference (${truths.join('; ')}).` : '',
      left > 0 ? `${left} contacts are left out because the page would be too large.` : '', 'Keys: space, arrows, Home, End; on a picture Shift and arrows turn, + and - come near and go away; F fits; L loop, C contacts, D joint forces, J reaction forces, R reference, E edges, P paths.'].filter((s) => s).join(' ')));

  function state() {
    Object.assign(root.dataset, { time: String(t), playing: String(playing), speed: String(speed), frame: String(place(list[0], t)[0]), arrows: String(shows[0]?.contacts && o.contacts ? shows[0].contacts.shown : 0),
      touching: String(list[0].contacts[place(list[0], t)[0]]), ghost: String(!!shows[0]?.ghost?.group.visible), loads: (o.drives && shows[0]?.loads ? shows[0].loads.shown : []).map((v) => v.toFixed(4)).join(' '), ...Object.fromEntries(['loop', 'drives', 'edges', 'follow', 'paths', 'contacts'].map((k) => [`show${k}`, String(o[k])])) });
  }
  function show(time) {
    t = Math.min(end, Math.max(0, time));
    for (const s of shows) s.set(t, o);
    for (const c of charts) c.show(t);
    key?.show(list[0], place(list[0], t)[0]);
    if (key) key.element.hidden = !o.drives;
    scrub.value = String(Math.round((1000 * t) / (end || 1)));
    clock.textContent = `t = ${t.toFixed(end < 0.1 ? 5 : 3)} s`;
    state();
  }
  function pause() {
    playing = false;
    play.textContent = '▶ play';
    state();
  }
  function start() {
    if (playing) return;
    playing = true;
    play.textContent = '❚❚ pause';
    if (t >= end) t = 0;
    last = performance.now();
    requestAnimationFrame(step);
    state();
  }
  function step(now) {
    if (!playing) return;
    const next = t + Math.min(0.1, Math.max(0, now - last) / 1000) * speed;
    last = now;
    if (next < end) show(next);
    else if (o.loop) show(0);
    else {
      show(end);
      pause();
      return;
    }
    requestAnimationFrame(step);
  }

  const toggle = (key) => boxes[key] && boxes[key].querySelector('input').click();
  document.addEventListener('keydown', (e) => {
    const on = e.target as HTMLInputElement;
    if (e.ctrlKey || e.altKey || e.metaKey || ['INPUT', 'SELECT', 'TEXTAREA'].includes(on.tagName) && !(on.type === 'checkbox' && e.key !== ' ')) return;
    if (e.key === ' ' && on.tagName === 'BUTTON') return;
    const to = (i) => { pause(); show(list[0].t[Math.min(list[0].frames - 1, Math.max(0, i))]); }, frame = place(list[0], t + 1e-12)[0];
    const keys = { ' ': () => (playing ? pause() : start()), ArrowRight: () => to(frame + 1), ArrowLeft: () => to(frame - (list[0].t[frame] < t ? 0 : 1)), Home: () => to(0), End: () => { pause(); show(end); },
      f: fit, l: () => toggle('loop'), c: () => toggle('contacts'), d: () => toggle('drives'), j: () => toggle('reactions'), r: () => toggle('ghost'), e: () => toggle('edges'), p: () => toggle('paths') };
    const act = keys[e.key] ?? keys[e.key.toLowerCase()];
    if (!act) return;
    e.preventDefault();
    act();
  });
  onTheme(() => {
    for (const s of shows) s.build();
    show(t);
  });

  for (const s of shows) s.actor.set(0);
  fit();
  if (still) {
    show(hash.has('t') ? Number(hash.get('t')) : end);
    fit();
  } else if (!matchMedia('(prefers-reduced-motion: reduce)').matches && shows.length) start();
}
