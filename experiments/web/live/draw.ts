// SPDX-License-Identifier: GPL-3.0-or-later
// A stack that is drawn: boxes and balls in the plane on a floor, by mouse, keys or numbers. It becomes a scene file of perp,
// which the playground simulates and whose contact problem opens in the matrices.
import { h, scroll, th } from '../dom';
import { svg } from '../lesson/words';
import { saveAs } from '../save';
import type { Module } from './module';

const MOST = 12, GRID = 0.05, WIDE = 8, HIGH = 5; // bodies; m
export const DRAWN = 'drawn'; // the name of its scene

interface Drawn { kind: 'box' | 'ball'; x: number; y: number; w: number; h: number; angle: number; density: number } // m, degrees, kg/m^2; ball: w is its diameter
interface Stack { gravity: number; mu: number; slope: number; bodies: Drawn[] }
const START: Stack = { gravity: 9.81, mu: 0.5, slope: 0, bodies: [{ kind: 'box', x: 0, y: 0.5, w: 1, h: 1, angle: 0, density: 100 }, { kind: 'box', x: 0.2, y: 1.25, w: 1, h: 0.5, angle: 0, density: 100 }] };
const NUMBERS: [keyof Drawn, string, number, number][] = [['x', 'x [m]', -100, 100], ['y', 'y [m]', -100, 100], ['w', 'width [m]', 0.02, 20], ['h', 'height [m]', 0.02, 20], ['angle', 'angle [\u00b0]', -360, 360], ['density', 'density [kg/m\u00b2]', 0.01, 1e6]];

export const toText = (s: Stack) => JSON.stringify([s.gravity, s.mu, s.slope, ...s.bodies.map((b) => [b.kind, b.x, b.y, b.w, b.h, b.angle, b.density])]);
// What a link says; null: it was cut.
export function fromText(text: string): Stack | null {
  try {
    const [gravity, mu, slope, ...bodies] = JSON.parse(text), stack = { gravity, mu, slope, bodies: bodies.slice(0, MOST).map(([kind, x, y, w, high, angle, density]: any) => ({ kind, x, y, w, h: high, angle, density })) };
    const good = [gravity, mu, slope, ...stack.bodies.flatMap((b: Drawn) => NUMBERS.map(([k]) => b[k]))].every(Number.isFinite) && stack.bodies.every((b: Drawn) => b.kind === 'box' || b.kind === 'ball');
    return good && stack.bodies.length > 0 ? stack : null;
  } catch {
    return null;
  }
}

// The scene file, as JSON, which is YAML.
function scene(s: Stack): string {
  const names = { box: 0, ball: 0 }, size = s.bodies.reduce((sum, b) => sum + Math.min(b.w, b.kind === 'box' ? b.h : b.w), 0) / Math.max(1, s.bodies.length);
  return JSON.stringify({ schema: 'perp-scene/1', scene: { summary: 'Stack drawn in the playground.', dim: 2, gravity: s.gravity, t_end: 5, h: 0.01, size },
    shapes: [{ body: 'world', kind: 'plane', angle: `${s.slope} deg`, mu: s.mu }],
    bodies: s.bodies.map((b) => ({ name: `${b.kind} ${++names[b.kind]}`, density: b.density, x: [b.x, b.y], angle: `${b.angle} deg`, shape: b.kind === 'box' ? { kind: 'box', size: [b.w, b.h], mu: s.mu } : { kind: 'sphere', radius: b.w / 2, mu: s.mu } })) }, null, 1);
}

export interface Hooks {
  simulate(text: string): void; // the scene DRAWN is new; text: as a link carries it
  problem(text: string): string; // the contact problem of its first step; what there is to say
}

export function drawing(host: HTMLElement, module: Module, hooks: Hooks, begin: string | undefined) {
  let stack: Stack = (begin && fromText(begin)) || structuredClone(START), tool = 'box', chosen = 0, drag: { from: number[]; body: number; off: number[]; fresh: boolean } | null = null;
  const said = h('p', { class: 'live-message', role: 'status' }), list = scroll('bodies of the stack');
  const picture: any = svg('svg', { class: 'live-draw', viewBox: `${-WIDE / 2} ${-HIGH + 0.4} ${WIDE} ${HIGH}`, role: 'img', 'aria-label': 'the stack' });
  const desk = h('div', { class: 'live-desk', tabindex: 0, role: 'group', 'aria-label': 'stack: press and draw a box or a ball, drag bodies; arrows move the chosen body, Enter chooses the next, Delete removes it' }, picture);
  const snap = (v: number) => Math.round(v / GRID) * GRID, tidy = (v: number) => Number(v.toFixed(6));
  const at = (e: PointerEvent) => {
    const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(picture.getScreenCTM().inverse());
    return [p.x, -p.y];
  };
  const numbered = (label: string, key: 'gravity' | 'mu' | 'slope', low: number, high: number) => {
    const id = `live-draw-${key}`, field = h('input', { id, type: 'number', step: 'any', min: low, max: high, value: stack[key], class: 'live-number', onchange: () => {
      if (accept(field, label, low, high)) stack[key] = Number(field.value);
      field.value = String(stack[key]);
      show();
    } });
    return h('span', { class: 'control' }, h('label', { for: id }, label), field);
  };
  // Is it a number within its limits? Else it is told and put back.
  function accept(field: any, label: string, low: number, high: number) {
    const v = Number(field.value), good = field.value !== '' && Number.isFinite(v) && v >= low && v <= high;
    said.textContent = good ? '' : `${label}: '${field.value}' is outside ${low} to ${high}.`;
    return good;
  }

  function register() {
    module.scene(DRAWN, scene(stack));
    return toText(stack);
  }
  function show() {
    const body = (b: Drawn, k: number) => {
      const common = { class: `live-drawn ${k === chosen ? 'chosen' : ''}`, 'data-body': k, transform: `translate(${b.x} ${-b.y}) rotate(${-b.angle})` };
      return b.kind === 'box' ? svg('rect', { ...common, x: -b.w / 2, y: -b.h / 2, width: b.w, height: b.h }) : svg('circle', { ...common, r: b.w / 2 });
    };
    const rise = (WIDE / 2) * Math.tan((stack.slope * Math.PI) / 180);
    picture.setAttribute('aria-label', `the stack: ${stack.bodies.map((b, k) => `${k + 1} ${b.kind} at ${b.x}, ${b.y} m`).join('; ')}`);
    picture.replaceChildren(svg('path', { class: 'live-floor', d: `M${-WIDE / 2} ${rise}L${WIDE / 2} ${-rise}V4H${-WIDE / 2}Z` }), ...stack.bodies.map(body));
    list.replaceChildren(h('table', { 'aria-label': 'bodies of the stack' }, h('thead', {}, h('tr', {}, th('body'), ...NUMBERS.map(([, label]) => th(label)), th(''))),
      h('tbody', {}, ...stack.bodies.map((b, k) => h('tr', { class: k === chosen ? 'moved' : null }, h('th', { scope: 'row' }, `${k + 1}: ${b.kind}`), ...NUMBERS.map(([key, label, low, high]) => {
        if (b.kind === 'ball' && key === 'h') return h('td', {}, '\u2013');
        const field = h('input', { type: 'number', step: 'any', min: low, max: high, class: 'live-number', 'aria-label': `body ${k + 1}: ${b.kind === 'ball' && key === 'w' ? 'diameter [m]' : label}`, value: b[key], onfocus: () => { chosen = k; }, onchange: () => {
          if (accept(field, label, low, high)) (b as any)[key] = Number(field.value);
          const n = [...list.querySelectorAll('input')].indexOf(field);
          show();
          list.querySelectorAll('input')[n]?.focus();
        } });
        return h('td', {}, field);
      }), h('td', {}, h('button', { type: 'button', class: 'tool', 'aria-label': `remove body ${k + 1}`, onclick: () => remove(k) }, '\u00d7')))))));
    host.dataset.bodies = String(stack.bodies.length);
  }
  function remove(k: number) {
    if (stack.bodies.length > 1) stack.bodies.splice(k, 1);
    else said.textContent = 'A stack has one body at least.';
    chosen = Math.min(chosen, stack.bodies.length - 1);
    show();
  }
  function add(b: Drawn) {
    if (stack.bodies.length >= MOST) {
      said.textContent = `${MOST} bodies are the most that can be drawn.`;
      return false;
    }
    stack.bodies.push(b);
    chosen = stack.bodies.length - 1;
    return true;
  }
  // on top of what is there
  function addAbove(kind: 'box' | 'ball') {
    const topOf = (b: Drawn) => b.y + (b.kind === 'ball' ? b.w : b.angle === 0 ? b.h : Math.hypot(b.w, b.h)) / 2, highest = stack.bodies.reduce((a, b) => (topOf(b) > topOf(a) ? b : a));
    add({ kind, x: highest.x, y: tidy(topOf(highest) + 0.25), w: kind === 'box' ? 1 : 0.5, h: 0.5, angle: 0, density: 100 });
    show();
  }
  const act = (what: () => void) => {
    said.textContent = '';
    try {
      what();
    } catch (e) {
      said.textContent = (e as Error).message;
    }
  };

  picture.addEventListener('pointerdown', (e: PointerEvent) => {
    const k = (e.target as Element).getAttribute('data-body'), [x, y] = at(e);
    if (e.button !== 0) return;
    picture.setPointerCapture(e.pointerId);
    if (k !== null) {
      chosen = Number(k);
      drag = { from: [x, y], body: chosen, off: [stack.bodies[chosen].x - x, stack.bodies[chosen].y - y], fresh: false };
    } else drag = { from: [snap(x), snap(y)], body: -1, off: [0, 0], fresh: true };
    show();
  });
  picture.addEventListener('pointermove', (e: PointerEvent) => {
    if (!drag) return;
    const [x, y] = at(e);
    if (!drag.fresh) Object.assign(stack.bodies[drag.body], { x: tidy(snap(x + drag.off[0])), y: tidy(snap(y + drag.off[1])) });
    else {
      const [a, b] = drag.from, w = Math.abs(snap(x) - a), high = Math.abs(snap(y) - b), r = snap(Math.hypot(x - a, y - b));
      if (tool === 'box' ? w < GRID || high < GRID : r < GRID) return;
      const now: Drawn = tool === 'box' ? { kind: 'box', x: tidy((a + snap(x)) / 2), y: tidy((b + snap(y)) / 2), w: tidy(w), h: tidy(high), angle: 0, density: 100 } : { kind: 'ball', x: tidy(a), y: tidy(b), w: tidy(2 * r), h: 0.5, angle: 0, density: 100 };
      if (drag.body < 0) {
        if (!add(now)) {
          drag = null;
          return;
        }
        drag.body = chosen;
      } else stack.bodies[drag.body] = now;
    }
    show();
  });
  for (const end of ['pointerup', 'pointercancel']) picture.addEventListener(end, () => { drag = null; });
  desk.addEventListener('keydown', (e: KeyboardEvent) => {
    const b = stack.bodies[chosen], moves: Record<string, [number, number]> = { ArrowLeft: [-GRID, 0], ArrowRight: [GRID, 0], ArrowUp: [0, GRID], ArrowDown: [0, -GRID] };
    if (moves[e.key]) Object.assign(b, { x: tidy(b.x + moves[e.key][0]), y: tidy(b.y + moves[e.key][1]) });
    else if (e.key === 'Delete') remove(chosen);
    else if (e.key === 'Enter') chosen = (chosen + 1) % stack.bodies.length;
    else return;
    e.preventDefault();
    show();
  });

  const button = (text: string, title: string, action: () => void) => h('button', { type: 'button', class: 'tool', title, onclick: action }, text);
  host.append(
    h('h2', { id: 'draw' }, 'Draw a stack'),
    h('p', { class: 'note' }, 'Press and draw a box (from corner to corner) or a ball (from its centre). Drag moves bodies. Keys on the picture: arrows move the chosen body, Enter chooses the next one, Delete removes it. The table has all numbers.'),
    h('div', { class: 'live-bar', role: 'group', 'aria-label': 'stack' },
      h('span', { class: 'control' }, h('label', { for: 'live-draw-tool' }, 'the mouse draws'), h('select', { id: 'live-draw-tool', onchange: (e) => { tool = e.currentTarget.value; } }, h('option', { value: 'box' }, 'boxes'), h('option', { value: 'ball' }, 'balls'))),
      button('add a box', 'a box on top', () => act(() => addAbove('box'))), button('add a ball', 'a ball on top', () => act(() => addAbove('ball'))),
      numbered('gravity [m/s\u00b2]', 'gravity', 0, 100), numbered('friction \u03bc', 'mu', 0, 10), numbered('slope of the floor [\u00b0]', 'slope', -60, 60)),
    desk, list,
    h('div', { class: 'live-bar' }, button('simulate', 'in the playground above', () => act(() => hooks.simulate(register()))),
      button('its contact problem', 'of the first step, in the matrices below', () => act(() => { said.textContent = hooks.problem(register()); })),
      button('scene file of the stack', 'a scene file for perp simulate', () => act(() => {
        register();
        const run = module.open(DRAWN);
        try {
          saveAs('stack.yaml', 'text/yaml', run.file('stack'));
        } finally {
          run.close();
        }
      }))), said);
  if (begin) act(register);
  show();
}
