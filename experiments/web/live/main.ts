// SPDX-License-Identifier: GPL-3.0-or-later
// The page of `perp live`: the playground and the matrices, around one module.
import { scrolls } from '../access';
import { h } from '../dom';
import lessonStyle from '../lesson/lesson.css';
import liveStyle from '../live.css';
import pageStyle from '../page.css';
import { dress } from '../theme';
import ownStyle from './live.css';
import { DRAWN, drawing } from './draw';
import { matrices } from './matrices';
import { Module, unpack } from './module';
import { mount } from './mount';
import { fromFragment } from './state';

// Vondrak's and Baraff's demonstrations: articulated structures under a spring at the mouse, forces of joints in linear time.
const DEMOS = [
  { name: 'drag a chain (Vondr\u00e1k 2005, 9.1.3)', choice: { scene: 'chain:links=16,joint=ball', formulation: 'acceleration', kkt: 'tree', stab: 'baumgarte' } },
  { name: 'drag a tree of 127 links (Vondr\u00e1k 2005, 9.1.3)', choice: { scene: 'tree', formulation: 'acceleration', kkt: 'tree', stab: 'baumgarte' } },
  { name: 'figure that hangs by its hands, on the mouse spring (Baraff 1996)', choice: { scene: 'hanging.yaml' } },
  { name: 'rag doll (Vondr\u00e1k 2005, 9.2.7)', choice: { scene: 'rag-doll.yaml' } },
  { name: 'carousel with four chains (Vondr\u00e1k 2005, 9.1.4)', choice: { scene: 'carousel', formulation: 'acceleration', kkt: 'tree', stab: 'baumgarte' } },
];

// What the program has and the module has not, in words.
function missing(program: Record<string, string[]>, methods: any) {
  const lines = Object.entries(program).map(([kind, names]) => [kind, names.filter((n) => !methods[kind].some((d: any) => d.name === n))] as const).filter(([, names]) => names.length > 0);
  return h('details', { class: 'live-missing' }, h('summary', {}, 'What this page leaves out'),
    h('p', {}, 'These need libraries that have no WebAssembly, or files. The program has them: perp simulate, perp lcp solve.'),
    h('ul', {}, ...lines.map(([kind, names]) => h('li', {}, `${kind}: ${names.join(', ')}`))));
}

async function start() {
  const data = JSON.parse(document.getElementById('data')!.textContent!);
  if (data.schema !== 'perp-live/1') throw new Error(`data of another version: ${data.schema}`);
  dress(pageStyle, liveStyle, lessonStyle, ownStyle);
  const main = h('main', { id: 'live' }, h('h1', {}, 'The solvers of perp, live'));
  document.body.append(main);
  document.body.classList.add('live-page');
  const module = await Module.start(await unpack(data.module)), refused: string[] = [];
  delete data.module;
  for (const s of data.scenes) {
    try {
      module.scene(s.name, JSON.stringify(s.tree));
    } catch (e) {
      refused.push(`${s.name}: ${(e as Error).message}`);
    }
  }
  const methods = module.methods(), own = h('section', { class: 'live-matrices' }), own2 = matrices(own, module);
  const bodied = methods.scene.filter((s: any) => !['oscillator', 'circle', 'projectile', 'pendulum-dae', 'particles'].includes(s.name));
  const begin: any = { ...data.start, ...fromFragment(location.hash) }, drawn = h('section', { class: 'live-drawing' }), known = new Set(methods.scene.map((s: any) => s.name));
  drawing(drawn, module, { // a stack of the link is a scene before the playground begins
    simulate: (text) => {
      live.choose({ scene: DRAWN, drawn: text, h: undefined });
      live.element.scrollIntoView();
      live.play(true);
    },
    problem: (text) => {
      live.choose({ scene: DRAWN, drawn: text, h: undefined });
      live.step();
      const { problem, words } = live.problem();
      if (problem) own2.open(problem);
      return words;
    },
  }, begin.scene === DRAWN ? begin.drawn : undefined);
  if (begin.scene === DRAWN && !begin.drawn) begin.scene = data.start.scene;
  const live = mount(main, module, { ...begin, scenes: bodied, demos: DEMOS.filter((d) => known.has(d.choice.scene.split(':')[0])), onproblem: (p) => own2.open(p) });
  main.append(
    h('p', { class: 'note' }, 'Drag a body: a spring pulls it to the mouse. Keys on the picture: space plays and pauses, . makes one step, R resets, arrows push the chosen body, Shift and arrows turn the picture.'),
    drawn, own, missing(data.program, methods));
  window.addEventListener('hashchange', () => location.reload());
  Object.assign(globalThis, { perp: { module, live, refused, version: data.version } }); // for the console, and for tests
  for (const e of document.querySelectorAll('pre')) scrolls(e, 'text, scrolls');
  document.documentElement.setAttribute('data-ready', 'yes');
}

start().catch((e) => {
  console.error(e);
  document.body.append(h('p', { role: 'alert' }, `This page does not run here: ${e.message}`));
  document.documentElement.setAttribute('data-ready', 'failed');
});
