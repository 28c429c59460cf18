// SPDX-License-Identifier: GPL-3.0-or-later
// Exercises that judge the answer in the page: a number against that of the run, a setting by a simulation of the module, or by
// what was stored when the page was made. What the page cannot judge, the shell can.
import { h } from '../dom';
import type { Module } from '../live/module';
import { compute, optionOf, seconds } from './compute';
import { inline } from './markdown';
import { note, progress } from './progress';
import { brief } from './words';

interface Verdict { right: boolean; why: string }

// "max(drift.pos.max) < 1e-4 and ...": a metric of the runs or an option of their parts; null: another expression.
function conditions(check: string) {
  const list = check.split(/\s+and\s+/).map((c) => /^\s*(max|min)\(([\w.]+)\)\s*(<=|>=|<|>)\s*([\d.eE+-]+)\s*$/.exec(c));
  return list.every((m) => m && Number.isFinite(Number(m[4]))) ? list.map((m) => ({ of: m![1], metric: m![2], sign: m![3], limit: Number(m![4]) })) : null;
}

async function live(module: Module, e: any, answer: string): Promise<Verdict | null> {
  const wanted = conditions(e.check), values: number[][] = [];
  if (!wanted || !e.cells) return null;
  for (const cell of e.cells) {
    const mine = { ...cell, [e.try]: e.try === 'h' ? seconds(answer) : answer }, run = await compute(module, mine, wanted.map((c) => c.metric));
    if (!run) return null;
    if (run.failed) return { right: false, why: `the simulation stopped: ${run.failed}` };
    const found = wanted.map((c, i) => (Number.isNaN(run.metrics[i]) ? optionOf(module, mine, c.metric) : run.metrics[i]));
    if (found.some(Number.isNaN)) return null;
    values.push(found);
  }
  const found = wanted.map((c, i) => Math[c.of as 'max'](...values.map((v) => v[i])));
  const holds = wanted.map((c, i) => ({ '<': found[i] < c.limit, '<=': found[i] <= c.limit, '>': found[i] > c.limit, '>=': found[i] >= c.limit })[c.sign]);
  return { right: holds.every(Boolean), why: `${e.check}; computed here: ${found.map((v) => brief(v, 3, 0)).join(', ')}` };
}

const plain = (text: string) => text.trim().replace(/\s+/g, '');

async function judge(e: any, answer: string, solver: () => Promise<Module | null>): Promise<Verdict | string> {
  if (e.want !== undefined) {
    const given = Number(answer.replace(',', '.').replace('\u2212', '-'));
    if (!answer.trim() || Number.isNaN(given)) return 'A number is required here.';
    const right = Math.abs(given - e.want) <= e.within * Math.abs(e.want) + 1e-12;
    return { right, why: right ? `the value is ${brief(e.want)}` : given < e.want ? 'too small' : 'too large' };
  }
  if (!answer.trim()) return `A setting of ${e.try} is required here.`;
  const module = await solver(), stored = e.stored.find((s) => plain(s.answer) === plain(answer));
  let refused = '';
  if (module) {
    try {
      const computed = await live(module, e, answer.trim());
      if (computed) return computed;
    } catch (problem) { // a mistake of the answer, or a method that the module does not have
      refused = (problem as Error).message;
    }
  }
  return stored ? { right: stored.right, why: stored.why } : refused;
}

export function exercise(e: any, k: number, of: number, lesson: any, solver: () => Promise<Module | null>) {
  const id = `exercise-${lesson.name}-${k}`, said = h('p', { class: 'verdict', role: 'status' }), more = h('div');
  const box = h('input', { id, type: 'text', autocomplete: 'off', spellcheck: false, inputmode: e.want !== undefined ? 'decimal' : null, placeholder: e.want !== undefined ? 'a number' : `${e.try}=` });
  const hint = h('details', { class: 'hint' }, h('summary', {}, 'Hint'), h('p', {}, inline(e.hint))), command = (answer: string) => `perp lesson ${lesson.call}${k > 0 ? ` --exercise ${k + 1}` : ''} --check '${answer.replace(/'/g, "'\\''")}'`;
  const solved = () => {
    section.dataset.state = 'right';
    more.replaceChildren(...(e.because ? [h('p', {}, inline(e.because))] : []));
  };
  async function check() {
    const given = box.value.trim().replace(e.try ? new RegExp(`^${e.try}\\s*=\\s*`) : /^$/, '');
    said.className = 'verdict';
    said.textContent = 'computing \u2026';
    const v = await judge(e, given, solver);
    if (typeof v === 'string') {
      section.dataset.state = 'open';
      said.replaceChildren(...(v ? [v] : ['This page cannot compute this answer; the program can: ', h('code', {}, command(given))]));
      return;
    }
    said.className = `verdict ${v.right ? 'good' : 'bad'}`;
    said.textContent = v.right ? `Right: ${v.why}` : `Not yet: ${v.why}`;
    section.dataset.state = v.right ? 'right' : 'wrong';
    if (v.right) {
      note(lesson.name, { solved: k });
      solved();
    } else hint.hidden = false;
  }
  const section = h('form', { class: 'exercise', onsubmit: (event) => {
    event.preventDefault();
    void check();
  } }, of > 1 ? h('h3', {}, `Exercise ${k + 1}`) : null, h('label', { for: id }, inline(e.ask)), h('div', { class: 'answer-bar' }, box, h('button', { type: 'submit', class: 'tool' }, 'Check')), said, more, hint);
  section.dataset.state = 'open';
  if (progress(lesson.name).solved?.[k]) {
    said.textContent = 'Solved before.';
    said.className = 'verdict good';
    solved();
  }
  return section;
}
