// SPDX-License-Identifier: GPL-3.0-or-later
// The playground as a component: mount(host, module, start) puts it into an element of any page that has the module; the page of
// `perp live` and a page of a lesson are such.
import { scrolls } from '../access';
import { copyText, h } from '../dom';
import { saveAs } from '../save';
import { brief } from '../data';
import { History, Residuals, Rows } from './charts';
import { type Figures, type Module, ROW, type Run } from './module';
import { optionsForm } from './options';
import { LiveStage, type Hit } from './stage';
import { type Choice, PARTS, type Start, toFragment } from './state';

const FRAME = 12; // ms of steps in a frame of the screen, at most: what takes longer runs slower than time
const SLOW = 20; // ms of drawing
const SPRING = 2.2; // 1/s, frequency of the spring at the mouse
const PUSH = 1.5; // m/s for a body of the size 1 m, by the root of its size

export interface Options extends Start {
  scenes?: { name: string; summary: string }[]; // to choose from; none: the scene stays
  demos?: { name: string; choice: Choice }[]; // before them
  fixed?: boolean; // no controls of methods
  link?: boolean; // false: no link to the state
  onproblem?(problem: any): void; // "open in the matrices"
  onchange?(fragment: string): void;
}

interface Side {
  run: Run | null;
  lcp: string;
  stage: LiveStage;
  figure: HTMLElement;
  caption: HTMLElement;
  table: HTMLElement;
  residuals: Residuals;
  rows: Rows;
  energy: History;
  drift: History;
  seconds: number; // of a step, mean of the last ones
  stopped: string;
  now: Figures | null;
  sets: any;
}

export interface Live {
  element: HTMLElement;
  sides: Side[];
  play(on?: boolean): void;
  step(n?: number): void; // n steps, drawn once
  reset(): void;
  choose(choice: Partial<Choice>): void;
  problem(): { problem: any; words: string }; // of the last step, of at most 8 rows
  state(): { playing: boolean; t: number; steps: number; fragment: string };
  frames: { step: number[]; draw: number[] }; // ms of the last frames
  destroy(): void;
}

// places of the choice that name methods: label, kind
const KINDS: [string, string, string][] = [['formulation', 'formulation', 'formulation'], ['lcp', 'solver', 'lcp'], ['against', 'beside it', 'lcp'], ['stab', 'stabilization', 'stab'], ['contact', 'friction', 'contact'], ['ode', 'integrator', 'ode'], ['kkt', 'equality solver', 'kkt']];

let counted = 0;

function field(label: string, control: HTMLElement) {
  const id = `live-field-${++counted}`;
  control.id = id;
  return h('span', { class: 'control' }, h('label', { for: id }, label), control);
}

function list(values: [string, string][], chosen: string, change: (v: string) => void) {
  const box = h('select', { onchange: () => change(box.value) }, ...values.map(([v, text]) => h('option', { value: v, selected: v === chosen }, text)));
  if (!values.some(([v]) => v === chosen)) box.prepend(h('option', { value: chosen, selected: true }, chosen));
  return box;
}

export function mount(host: HTMLElement, module: Module, options: Options): Live {
  const methods = module.methods(), choice: Choice = { scene: options.scene };
  for (const k of [...PARTS, 'against', 'h', 'drawn'] as const) if (options[k] !== undefined) (choice as any)[k] = options[k];
  const sides: Side[] = [], frames = { step: [] as number[], draw: [] as number[] };
  let playing = false, speed = 1, tool = 'drag', arrows = true, steps = 0, ahead = 0, last = 0, request = 0, body = 0, alive = true, told = 0, slow = 0, shadows = true;
  let held: { hit: Hit; at: any; from: Side; moved: { t: number; x: number[] }[] } | null = null;

  /* ---- parts of the page ---- */
  const message = h('p', { class: 'live-message', role: 'status' });
  const stages = h('div', { class: 'live-stages' });
  const controls = h('div', { class: 'controls live-controls' });
  const button = (text: string, action: () => void, label?: string) => h('button', { type: 'button', class: 'tool', 'aria-label': label, title: label, onclick: action }, text);
  const playButton = button('\u25b6 play', () => play());
  const clock = h('span', { class: 'live-clock' }, 't = 0 s');
  const bodies = list([['0', 'body 1']], '0', (v) => { body = Number(v); });
  const bar = h('div', { class: 'live-bar', role: 'group', 'aria-label': 'time' },
    playButton, button('step', () => step(), 'one step'), button('reset', () => reset(), 'reset: start again'),
    field('speed', list([['1', 'real time'], ['0.25', '1/4'], ['0.05', '1/20'], ['0.01', '1/100']], '1', (v) => { speed = Number(v); })), clock);
  const hands = h('div', { class: 'live-bar', role: 'group', 'aria-label': 'what the mouse does' },
    field('mouse', list([['drag', 'drags bodies (a spring)'], ['push', 'pushes bodies'], ['cannon', 'shoots balls'], ['turn', 'turns the picture']], 'drag', (v) => { tool = v; })),
    field('push', bodies), ...[['\u2190', -1, 0, 'to the left'], ['\u2192', 1, 0, 'to the right'], ['\u2191', 0, 1, 'up'], ['\u2193', 0, -1, 'down']].map(([sign, x, y, label]: any) =>
      button(sign, () => pushTowards(x, y), `push the chosen body ${label}`)),
    button('shoot', () => shootAt(null), 'shoot a ball at the middle of the picture'),
    h('label', { class: 'live-check' }, h('input', { type: 'checkbox', checked: true, onchange: (e) => {
      arrows = e.currentTarget.checked;
      draw();
    } }), 'impulses'));
  const tools = h('div', { class: 'live-bar', role: 'group', 'aria-label': 'this state' },
    options.link === false ? null : button('link to this state', (() => copyState()) as any), button('scene file', () => saveScene(), 'save this state as a scene file of perp'),
    options.onproblem ? button('problem as a matrix', () => openProblem(), 'problem as a matrix: opens a contact problem of this step below') : null);
  const form = optionsForm(module, () => ([['scene', 'scene', 'scene'], ...KINDS] as [string, string, string][]).map(([part, label, kind]) =>
    ({ part, kind, label, text: (choice as any)[part] || (part === 'against' ? '' : sides[0]?.run?.model.parts[part]) || '' })).filter((c) => c.text), (part, text) => choose({ [part]: text }));
  const element = h('section', { class: 'live', 'aria-label': 'playground' }, controls, options.fixed ? null : form.element, stages, bar, hands, tools, message);
  host.append(element);

  /* ---- choices ---- */
  const names = (kind: string): [string, string][] => [['', 'default'], ...methods[kind].map((d: any) => [d.name, d.name])] as any;
  const boxes: Record<string, any> = {};
  // the name of a method without its options
  function plain(kind: string, text: string | undefined) {
    try {
      return text ? module.spec(kind, text).name : '';
    } catch {
      return text!;
    }
  }
  function putControls() {
    const known = (options.scenes ?? []).map((s) => [s.name, s.name] as [string, string]);
    controls.replaceChildren(...[
      known.length > 0 ? field('scene', boxes.scene = sceneList(known)) : null,
      ...(options.fixed ? [] : KINDS.map(([k, label, kind]) => field(label, boxes[k] = list(k === 'against' ? [['', 'nothing'], ...names(kind).slice(1)] as any : names(kind), plain(kind, (choice as any)[k]), (v) => choose({ [k]: v || undefined }))))),
      options.fixed ? null : field('step', boxes.h = list([['', 'default'], ...[...new Set([0.5, 1, 2, 5, 10, 16, 20, ...(choice.h ? [Number((1000 * choice.h).toPrecision(12))] : [])])].sort((a, b) => a - b).map((v) => [String(v / 1000), `${v} ms`])] as any, choice.h ? String(Number((1000 * choice.h).toPrecision(12)) / 1000) : '', (v) => choose({ h: v ? Number(v) : undefined }))),
      options.fixed ? null : field('options', boxes.text = h('input', { type: 'text', class: 'live-text', spellcheck: false, value: choice.scene, onchange: () => choose({ scene: boxes.text.value.trim() }) })),
    ].filter(Boolean) as any);
    if (boxes.text) {
      boxes.text.setAttribute('title', 'the scene with its parameters, as stack:boxes=10');
      controls.lastElementChild!.querySelector('label')!.textContent = 'scene with parameters';
    }
  }

  function sceneList(known: [string, string][]) {
    const demos = options.demos ?? [], box = list(known, plain('scene', choice.scene), (v) => {
      const demo = demos[Number(v.replace('demo ', ''))];
      choose(v.startsWith('demo ') ? { ...Object.fromEntries([...PARTS, 'against', 'h'].map((k) => [k, undefined])), ...demo.choice } : { scene: v, h: undefined });
    });
    if (demos.length > 0) box.prepend(h('optgroup', { label: 'demonstrations' }, ...demos.map((d, i) => h('option', { value: `demo ${i}` }, d.name))));
    return box;
  }

  function makeSide(): Side {
    const stage = new LiveStage('live-canvas'), caption = h('figcaption', {}), table = h('table', { 'aria-label': 'figures of the step' });
    const residuals = new Residuals(), rows = new Rows(), energy = new History('energy', 'J'), drift = new History('drift of the joints, or penetration', 'm');
    const named = (text: string, chart: any) => h('div', { class: 'live-chart' }, h('span', { class: 'live-name' }, text), chart.canvas);
    const figure = h('figure', { class: 'live-side' }, caption, stage.canvas,
      h('div', { class: 'live-panel' }, named('residual over iterations', residuals), named('rows: \u25a0 between bounds, \u25b2 at a limit, \u25a1 no force', rows), named('energy [J]', energy), named('drift, penetration [m]', drift)),
      scrolls(h('div', { class: 'scroll live-figures' }, table), 'figures, scrolls'));
    const side: Side = { run: null, lcp: '', stage, figure, caption, table, residuals, rows, energy, drift, seconds: 0, stopped: '', now: null, sets: null };
    hand(side);
    stage.stage.controls.addEventListener('change', () => {
      for (const other of sides) {
        if (other === side || other.stage.stage.camera.position.equals(stage.stage.camera.position)) continue;
        other.stage.stage.camera.position.copy(stage.stage.camera.position);
        other.stage.stage.controls.target.copy(stage.stage.controls.target);
        other.stage.stage.camera.lookAt(stage.stage.controls.target);
        other.stage.stage.render();
      }
    });
    return side;
  }

  // Runs of what is chosen now, in the state of `start` if there is one.
  function open(start?: Start) {
    const wanted = choice.against ? [choice.lcp ?? '', choice.against] : [choice.lcp ?? ''];
    held = null;
    while (sides.length > wanted.length) {
      const gone = sides.pop()!;
      gone.run?.close();
      gone.figure.remove();
      gone.stage.stage.renderer.dispose();
    }
    message.textContent = '';
    wanted.forEach((lcp, k) => {
      const side = sides[k] ?? (sides[k] = makeSide());
      if (!side.figure.isConnected) stages.append(side.figure);
      side.run?.close();
      side.run = null;
      side.lcp = lcp;
      side.stopped = '';
      side.seconds = 0;
      side.now = null;
      side.energy.clear();
      side.drift.clear();
      // the second solver has the friction law of the first one, unless it does not serve that
      const law = choice.contact ?? (k > 0 ? sides[0].run?.model.parts.contact : undefined), begin = (contact?: string) =>
        module.open(choice.scene, { formulation: choice.formulation, ode: choice.ode, kkt: choice.kkt, lcp, stab: choice.stab, contact }, choice.h ?? 0);
      try {
        try {
          side.run = begin(law);
        } catch (e) {
          if (law === choice.contact) throw e;
          side.run = begin();
          message.textContent = `${lcp} does not serve the friction law ${law} of the first solver: it has its own, ${side.run.model.parts.contact}.`;
        }
      } catch (e) {
        message.textContent = (e as Error).message;
        side.figure.hidden = true;
        return;
      }
      side.figure.hidden = false;
      // no joints that can drift, no contact problems: no empty charts
      const { parts, joints } = side.run.model;
      for (const chart of [side.residuals, side.rows]) chart.canvas.parentElement!.hidden = !parts.lcp;
      side.drift.canvas.parentElement!.hidden = !parts.lcp && joints.length === 0;
      side.drift.canvas.previousElementSibling!.textContent = !parts.lcp ? 'drift of the joints [m, rad]' : joints.length > 0 ? 'drift, penetration [m]' : 'penetration [m]';
      const { nq, nv } = side.run.model;
      if (start?.state && start.state.length === nq + nv) side.run.set(start.t ?? 0, start.state.subarray(0, nq), start.state.subarray(nq));
      side.stage.show(side.run, false, preview(() => begin(law)));
      caption(side);
      if (!side.run.model.playable) message.textContent = 'This scene has parts that the spring at the mouse cannot be added to: it can be pushed and watched, not dragged.';
    });
    steps = 0;
    ahead = 0;
    const first = sides[0]?.run;
    if (first) {
      const shown = first.model.bodies.slice(0, first.model.own);
      bodies.replaceChildren(...shown.map((b: any, i: number) => h('option', { value: i }, b.name ?? `body ${i + 1}`)));
      body = Math.min(body, shown.length - 1);
      bodies.value = String(body);
    }
    element.dataset.bodies = String(first?.model.bodies.length ?? 0);
    if (!options.fixed && first) form.refresh();
    refresh();
    draw();
    options.onchange?.(toFragment(choice));
  }

  // Where the bodies go in the next moments, for the picture to have room for it.
  function preview(begin: () => Run): Float64Array[] {
    const poses: Float64Array[] = [], until = performance.now() + 60;
    try {
      const run = begin(), each = Math.max(1, Math.round(0.05 / run.model.h));
      for (let i = 0; i * run.model.h < 1.5 && performance.now() < until && run.step() >= 0; i++) if (i % each === 0) poses.push(Float64Array.from(run.q));
      run.close();
    } catch { /* what does not run is said elsewhere */ }
    return poses;
  }

  function caption(side: Side) {
    const { parts, bodies: all } = side.run!.model;
    const used = ['formulation', 'lcp', 'stab', 'contact', 'ode', 'kkt'].filter((k) => parts[k]).map((k) => parts[k]);
    side.caption.textContent = `${choice.scene}: ${used.join(', ')}, step ${brief(1000 * side.run!.model.h)} ms`;
    side.stage.canvas.setAttribute('aria-label', `${choice.scene}: ${all.length} ${all.length === 1 ? 'body' : 'bodies'}. Drag a body with the mouse; the controls below push bodies without one.`);
  }

  function choose(change: Partial<Choice>) {
    Object.assign(choice, change);
    const was = playing;
    play(false);
    putControls();
    open();
    if (was && sides[0]?.run) play(true);
  }

  /* ---- time ---- */
  function play(on = !playing) {
    playing = on && sides.some((s) => s.run);
    playButton.textContent = playing ? '\u23f8 pause' : '\u25b6 play';
    element.dataset.playing = String(playing);
    last = 0;
    if (playing && request === 0) request = requestAnimationFrame(frame);
  }

  function once(side: Side) {
    const { run } = side;
    if (!run || side.stopped) return;
    const reason = run.step(), f = run.figures;
    side.now = f;
    side.seconds = side.seconds > 0 ? 0.9 * side.seconds + 0.1 * f.seconds : f.seconds;
    if (reason < 0) side.stopped = run.message;
    side.energy.add(f.t, f.energy);
    side.drift.add(f.t, Math.max(f.depth, f.error));
  }
  function both() {
    follow();
    for (const side of sides) once(side);
    steps++;
  }
  function step(n = 1) {
    play(false);
    for (let i = 0; i < n; i++) both();
    refresh();
    draw();
  }

  function frame(now: number) {
    request = 0;
    if (!alive || !playing) return;
    const h0 = sides[0]?.run?.model.h ?? 0.01, begun = performance.now();
    if (last > 0) ahead = Math.min(ahead + (Math.min(now - last, 100) / 1000) * speed, 0.1);
    last = now;
    while (ahead >= h0 && performance.now() - begun < FRAME) {
      ahead -= h0;
      both();
    }
    if (ahead >= h0) ahead = 0; // slower than time: nothing is made up for
    const between = performance.now();
    draw();
    if (now - told > 120) {
      told = now;
      refresh();
    }
    frames.step.push(between - begun);
    frames.draw.push(performance.now() - between);
    slow = slow * 0.9 + (frames.draw[frames.draw.length - 1] > SLOW ? 0.1 : 0);
    if (slow > 0.7 && shadows) { // a computer without a graphics processor: shadows are half of the work
      shadows = false;
      for (const side of sides) side.stage.stage.sun.castShadow = false;
    }
    if (frames.step.length > 300) {
      frames.step.shift();
      frames.draw.shift();
    }
    if (sides.every((s) => !s.run || s.stopped)) play(false);
    else request = requestAnimationFrame(frame);
  }

  function reset() {
    play(false);
    open();
  }

  /* ---- what is shown ---- */
  function draw() {
    for (const side of sides) {
      if (!side.run || side.figure.hidden) continue;
      if (held) side.stage.pull(held.hit, held.at);
      side.stage.draw(side.run, arrows, side.now?.contacts ?? 0);
    }
  }

  function refresh() {
    for (const side of sides) {
      const f = side.now;
      if (!side.run || side.figure.hidden) continue;
      side.residuals.draw(f ? side.run.events(f.events) : new Float64Array(0), f?.events ?? 0, f?.seen ?? 0, f?.residual ?? NaN);
      side.sets = side.rows.draw(f ? side.run.rows(f.rows) : new Float64Array(0), f?.rows ?? 0);
      side.energy.draw();
      side.drift.draw();
      const row = (name: string, value: string) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'n' }, value));
      side.table.replaceChildren(h('tbody', {}, ...(f ? [
        ...(side.run.model.parts.lcp ? [row('contacts', String(f.contacts)), row('problems of this step', String(f.problems)), row('iterations', String(f.iterations)),
          row('multiplications', brief(f.work)), row('rows between bounds', String(side.sets.active)), row('rows at a limit', String(side.sets.limit)),
          row('largest residual so far', brief(f.residual)), row('unsolved problems so far', String(f.failures))] : []),
        row('energy [J]', brief(f.energy)), row('change of energy [J]', brief(f.energy - f.energy0)),
        ...(side.run.model.joints.length > 0 ? [row('drift of the joints [m, rad]', brief(f.error))] : []), ...(side.run.model.parts.lcp ? [row('penetration [m]', brief(f.depth))] : []),
        row('time of a step [ms]', (1000 * side.seconds).toFixed(3)),
      ] : [row('time', 'no step yet')])));
      if (side.stopped) message.textContent = `${side.lcp || 'the solver'}: ${side.stopped}. Reset starts again.`;
    }
    const t = sides[0]?.now?.t ?? 0;
    clock.textContent = `t = ${t.toFixed(3)} s`;
    Object.assign(element.dataset, { t: String(t), steps: String(steps) });
  }

  /* ---- hands ---- */
  function follow() {
    if (!held) return;
    for (const side of sides)
      if (side.run && held.hit.body < side.run.model.bodies.length) side.run.grab(held.hit.body, held.hit.local, [held.at.x, held.at.y, held.at.z], SPRING, 0.7);
  }
  function letGo() {
    if (!held) return;
    held = null;
    element.dataset.held = '';
    for (const side of sides) {
      side.run?.release();
      side.stage.pull(null, null);
      side.stage.stage.controls.enabled = true;
    }
    draw();
  }
  function push(target: number, direction: number[]) {
    const size = Math.max(1e-3, sides[0]?.stage.env?.own ?? 1), v = PUSH * Math.sqrt(size), l = Math.hypot(...direction) || 1;
    for (const side of sides) if (side.run && target < side.run.model.bodies.length) side.run.push(target, direction.map((x) => (v * x) / l));
    if (!playing) draw();
  }
  function pushTowards(x: number, y: number) {
    const d3 = sides[0]?.run?.model.dim === 3;
    push(body, d3 ? [x, 0, y] : [x, y, 0]);
    if (!playing) play(true);
  }
  function shootAt(e: { clientX: number; clientY: number } | null) {
    const from = sides[0];
    if (!from?.run) return;
    const b = from.stage.canvas.getBoundingClientRect(), { x, direction } = from.stage.shot(e ?? { clientX: b.left + b.width / 2, clientY: b.top + b.height / 2 });
    const size = from.stage.env.own, masses = from.run.model.bodies.map((q: any) => q.mass).sort((p: number, q: number) => p - q), speedOf = 12 * Math.sqrt(size);
    for (const side of sides) {
      if (!side.run || side.stopped) continue;
      try {
        side.run.shoot(x, direction.map((v: number) => speedOf * v), 0.3 * size, masses[Math.floor(masses.length / 2)]);
        side.stage.show(side.run, true);
      } catch (problem) {
        message.textContent = (problem as Error).message;
      }
    }
    element.dataset.bodies = String(from.run.model.bodies.length);
    if (!playing) play(true);
  }

  function hand(side: Side) {
    const { canvas } = side.stage, orbit = side.stage.stage.controls;
    canvas.addEventListener('pointerdown', (e: PointerEvent) => {
      if (!side.run || e.button !== 0 || tool === 'turn' || (tool === 'drag' && !side.run.model.playable)) return;
      if (tool === 'cannon') {
        shootAt(e);
        orbit.enabled = false;
        return;
      }
      const hit = side.stage.pick(e);
      if (!hit) return;
      orbit.enabled = false;
      if (tool === 'push') {
        const away = hit.at.clone().sub(side.stage.stage.camera.position);
        push(hit.body, side.run.model.dim === 2 ? [Math.sign(side.stage.actor.position[hit.body].x - hit.at.x) || 1, 0.3, 0] : [away.x, away.y, 0.15 * away.length()]);
        if (!playing) play(true);
        return;
      }
      canvas.setPointerCapture(e.pointerId);
      held = { hit, at: hit.at.clone(), from: side, moved: [] };
      element.dataset.held = String(hit.body);
      if (!playing) play(true);
    }, { capture: true });
    canvas.addEventListener('pointermove', (e: PointerEvent) => {
      if (held?.from === side) held.at = side.stage.place(e, held.hit.at);
    });
    for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, () => {
      letGo();
      orbit.enabled = true;
    });
  }

  /* ---- this state elsewhere ---- */
  function fragment() {
    const run = sides[0]?.run;
    if (!run) return toFragment(choice);
    // balls that were shot are no part of the scene
    const { own, bodies: all, nq, nv } = run.model, q = run.q.subarray(0, (nq / all.length) * own), v = run.v.subarray(0, (nv / all.length) * own), state = new Float64Array(q.length + v.length);
    state.set(q);
    state.set(v, q.length);
    return toFragment({ ...choice, h: run.model.h }, sides[0].now?.t ?? 0, state);
  }
  function copyState() {
    const text = fragment(), address = location.href.replace(/#.*/, '') + text;
    history.replaceState(null, '', text);
    copyText(address, tools.querySelector('button'));
  }
  function saveScene() {
    try {
      saveAs('state.yaml', 'text/yaml', sides[0]!.run!.file('state'));
    } catch (e) {
      message.textContent = (e as Error).message;
    }
  }
  function openProblem() {
    const { problem, words } = problemNow();
    message.textContent = words;
    if (problem) options.onproblem!(problem);
  }
  // The contact problem of the step, or why there is none that can be opened.
  function problemNow(): { problem: any; words: string } {
    const { run, now } = sides[0] ?? {}, problem = run && now ? run.problem() : null, rows = problem ? Math.max(0, ...byProblem(run!.rows(now!.rows))) : 0;
    if (problem?.n > 0) return { problem, words: '' };
    return { problem: null, words: !now ? 'No step was made yet.' : rows > 0 ? `The contact problem of this step has ${rows} rows: at most 8 can be opened. Fewer bodies, or the friction law frictionless, make it smaller.` : 'This step has no contact problem: nothing touches, or the formulation solves none.' };
  }
  function byProblem(rows: Float64Array) {
    const count: number[] = [];
    for (let i = 0; i < rows.length; i += ROW) count[rows[i]] = (count[rows[i]] ?? 0) + 1;
    return count.filter((n) => n > 0);
  }

  element.addEventListener('keydown', (e: KeyboardEvent) => {
    const on = e.target as HTMLElement;
    if (on.tagName !== 'CANVAS' || e.ctrlKey || e.altKey || e.metaKey || e.shiftKey) return;
    const does: Record<string, () => void> = { ' ': () => play(), '.': () => step(), r: () => reset(), ArrowLeft: () => pushTowards(-1, 0), ArrowRight: () => pushTowards(1, 0), ArrowUp: () => pushTowards(0, 1), ArrowDown: () => pushTowards(0, -1) };
    if (!does[e.key]) return;
    e.preventDefault();
    does[e.key]();
  });

  putControls();
  open(options);
  return {
    element, sides, play, step, reset, choose, frames, problem: problemNow,
    state: () => ({ playing, t: sides[0]?.now?.t ?? 0, steps, fragment: fragment() }),
    destroy() {
      alive = false;
      cancelAnimationFrame(request);
      for (const side of sides) {
        side.run?.close();
        side.stage.stage.renderer.dispose();
      }
      element.remove();
    },
  };
}
