// SPDX-License-Identifier: GPL-3.0-or-later
// The page of `perp live`: the playground and the matrices, around one module.
import { scrolls } from '../access';
import { h } from '../dom';
import lessonStyle from '../lesson/lesson.css';
import liveStyle from '../live.css';
import pageStyle from '../page.css';
import { dress } from '../theme';
import ownStyle from './live.css';
import { matrices } from './matrices';
import { Module, unpack } from './module';
import { mount } from './mount';
import { fromFragment } from './state';

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
  const live = mount(main, module, { ...data.start, ...fromFragment(location.hash), scenes: bodied, onproblem: (p) => own2.open(p) });
  main.append(
    h('p', { class: 'note' }, 'Drag a body: a spring pulls it to the mouse. Keys on the picture: space plays and pauses, . makes one step, R resets, arrows push the chosen body, Shift and arrows turn the picture.'),
    own, missing(data.program, methods));
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
