// SPDX-License-Identifier: GPL-3.0-or-later
// One lesson: the story, a prediction, and what comes after it: results, the answer, the solver, sliders, a film of pivots, the
// conclusion, exercises. Nothing of that is in the page before a choice is made.
import { h } from '../dom';
import type { Module } from '../live/module';
import { decode, draw, live } from './chart';
import { exercise } from './exercise';
import { explore } from './explore';
import { inline, markdown } from './markdown';
import { film, problem } from './pivots';
import { playground } from './playground';
import { note, progress } from './progress';
import { recorded } from './recorded';
import { block, powers } from './words';

const part = (kind: string, title: string | null, ...children: any[]) => h('section', { class: `slide ${kind}` }, title ? h('h2', { tabindex: -1 }, title) : null, ...children);

// The slides of a text: the parts between lines of dashes.
const cut = (text: string) => text.split(/^---+\s*$/m).filter((t) => t.trim());

// Those of `# Slides`: the ones behind the slide "Predict" are shown with the results.
function brief(text: string | null, later: boolean) {
  const all = cut(text ?? ''), at = all.findIndex((t) => /^\s*#+ Predict\s*$/m.test(t)), end = at < 0 ? all.length : at + 1;
  return (later ? all.slice(end) : all.slice(0, end)).map((t) => part('brief', null, markdown(t, 1)));
}

function predict({ ask, choices }, name: string, chosen: (k: number) => void) {
  const go = h('button', { type: 'submit', class: 'tool primary', disabled: true }, 'Show what happens');
  const list = choices.map((text, i) => h('label', { class: 'choice' }, h('input', { type: 'radio', name: `predict-${name}`, value: i + 1, onchange: () => { go.disabled = false; } }), h('span', {}, inline(text))));
  const form = h('form', { onsubmit: (e) => {
    e.preventDefault();
    chosen(Number(form.querySelector('input:checked')?.value ?? 0));
  } }, h('fieldset', { class: 'choices' }, h('legend', {}, inline(ask)), ...list), h('p', { class: 'bar' }, go,
    h('button', { type: 'button', class: 'tool', onclick: () => chosen(0) }, 'show without a choice')));
  return { form, mark(k: number) {
    for (const input of form.querySelectorAll('input')) {
      input.checked = Number(input.value) === k;
      input.disabled = true;
    }
    form.querySelector('.bar')?.remove();
  } };
}

function claims(list) {
  return list.length > 0 ? h('details', { class: 'claims' }, h('summary', {}, `What the run shows: ${list.filter((c) => c.verdict === 'proved').length} of ${list.length} statements hold`),
    h('ul', {}, ...list.map((c) => h('li', { class: c.verdict }, h('b', {}, c.verdict), `: ${c.text}${powers(c.sides)}`)))) : null;
}

function size(data) {
  const module = data.module?.length ?? (globalThis as any).perpModule?.length ?? 0, page = document.getElementById('data')!.textContent!.length - (data.module?.length ?? 0), mega = (n: number) => `${(n / 1e6).toFixed(n < 1e6 ? 2 : 1)} MB`;
  return h('p', { class: 'note' }, `perp ${data.version}. Size: data ${mega(page)}, program ${mega(data.script)}${module ? `, solvers ${mega(module)}` : ''}${data.module === undefined && data.course && module ? ' (program and solvers once for all pages)' : ''}.${module ? '' : ' This page was made without the solvers: recorded runs are shown in their place.'}`);
}

export function lesson(l, start: () => Promise<Module | null>, data, links: (at: string) => any) {
  // the solvers, with the scenes of this lesson
  let ready: Promise<Module | null> | null = null;
  const solver = () => (ready ??= start().then((module) => {
    for (const s of l.scenes ?? []) module?.scene(s.name, JSON.stringify(s.tree));
    return module;
  }));
  const closing: (() => void)[] = [], after = h('div', { class: 'after' });
  let open = false;
  const asked = predict(l.predict, l.name, (k) => {
    note(l.name, { choice: k });
    reveal(k, true);
  });

  async function movement(host) {
    const module = l.live ? await solver().catch((e) => console.error(e)) : null;
    if (module) {
      try {
        const run = playground(host, l.live, module);
        closing.push(() => run.destroy());
        (element as any).live = run;
        return;
      } catch (e) {
        host.replaceChildren(h('p', { class: 'note' }, `The solvers do not run here: ${(e as Error).message}`));
      }
    }
    if (l.recordings) {
      const player = recorded(l.recordings);
      closing.push(player.close);
      host.append(player.element);
    }
  }

  function results() {
    if (!l.plots) return [];
    const figures = l.plots.map((p) => {
      const host = h('figure', { class: 'live' }), figure = decode(p);
      queueMicrotask(() => live(host, () => draw(host, figure)));
      return host;
    });
    return [part('results', 'Results of the run', h('p', { class: 'note' }, `${l.runs} simulations or solves of perp.`), ...figures, h('ul', { class: 'show' }, ...l.show.map((t) => h('li', {}, inline(powers(t))))), claims(l.claims))];
  }

  function pivots() {
    if (!l.pivots) return [];
    const stage = h('div', { class: 'pivots' });
    queueMicrotask(() => film(stage, l.pivots));
    return [part('film', 'Pivot by pivot', problem(l.pivots), ...(l.pivots.solutions ? [h('p', {}, 'All index sets, tried one after the other:'), block(l.pivots.solutions.replace(/^.*----.*\n/m, '').replace(/^ +/gm, '').replace(/ {2,}/g, ' ').trim())] : []), l.pivots.told ? h('p', {}, inline(l.pivots.told)) : null, stage,
      h('details', {}, h('summary', {}, 'All pivots as text'), block(l.pivots.text)))];
  }

  function sliders() {
    if (!l.explore) return [];
    const section = part('explore', l.explore.title, h('p', {}, inline(l.explore.text)));
    queueMicrotask(() => explore(section, l.explore, solver));
    return [section];
  }

  // k: the choice, 0 for none; moved: by the reader, who is taken there.
  function reveal(k = progress(l.name).choice ?? 0, moved = false) {
    if (open) return;
    open = true;
    asked.mark(k);
    const { answer, because, choices } = l.predict, right = k === answer, host = h('div');
    after.append(...results(), ...pivots(),
      part('answer-of', 'The answer', k > 0 ? h('p', { class: `verdict ${right ? 'good' : 'bad'}` }, right ? 'Your prediction was right.' : 'Your prediction was not right.') : null,
        h('p', {}, h('b', {}, inline(choices[answer - 1]))), h('p', {}, inline(because))), ...brief(l.slides, true),
      ...(l.live || l.recordings ? [part('play', l.live ? 'Try it' : 'The motion', l.live?.text ? h('p', {}, inline(l.live.text)) : null, host)] : []),
      ...sliders(),
      ...cut(l.conclusion).map((text, i) => part('conclusion', i === 0 ? 'Conclusion' : null, markdown(text, 3))),
      ...l.exercises.map((e, i) => part('task', i === 0 ? (l.exercises.length > 1 ? 'Exercises' : 'Exercise') : null, exercise(e, i, l.exercises.length, l, solver))),
      ...[links('bottom')].filter(Boolean), size(data));
    element.dataset.revealed = 'yes';
    document.dispatchEvent(new Event('revealed'));
    if (l.live || l.recordings) void movement(host);
    if (moved && !document.body.classList.contains('slides')) after.querySelector('h2')?.focus();
  }

  const element = h('main', { class: 'lesson' }, links('top'),
    part('head', null, h('h1', {}, l.title), h('p', { class: 'note' }, `${l.minutes} minutes. `, h('button', { type: 'button', class: 'plain', title: 'S turns the slides on and off, the arrows turn the page', onclick: () => document.dispatchEvent(new Event('slides')) }, 'slides'))),
    l.notes ? h('details', { class: 'notes' }, h('summary', {}, 'Notes for the teacher'), markdown(l.notes, 2)) : null,
    ...brief(l.slides, false),
    ...cut(l.story).map((text) => part('story', null, markdown(text, 3))),
    part('predict', 'Predict', asked.form, h('p', { class: 'note hidden-note' }, 'Results, answer and conclusion appear when you have chosen.')), after);
  return {
    element, reveal: () => reveal(),
    begin() {
      if (progress(l.name).choice !== undefined) reveal();
    },
    close() {
      for (const f of closing) f();
    },
  };
}
