// SPDX-License-Identifier: GPL-3.0-or-later
// Exercises that judge the answer in the page: a number against that of the run, a setting by a simulation of the module, or by
// what was stored when the page was made. What the page cannot judge, the shell can.
import { h } from '../dom';
import type { Module } from '../live/module';
import { inline } from './markdown';
import { note, progress } from './progress';
import { brief } from './words';

interface Verdict { right: boolean; why: string }

// "max(drift.pos.max) < 1e-4 and ...": what the module measures, or null.
function conditions(check: string) {
  const list = check.split(/\s+and\s+/).map((c) => /^\s*(max|min)\(([\w.]+)\)\s*(<=|>=|<|>)\s*([\d.eE+-]+)\s*$/.exec(c));
  return list.every((m) => m && ['drift.pos.max'].includes(m[2]) && Number.isFinite(Number(m[4]))) ? list.map((m) => ({ of: m![1], metric: m![2], sign: m![3], limit: Number(m![4]) })) : null;
}

const PARTS = ['formulation', 'ode', 'kkt', 'lcp', 'stab', 'contact'];

// The largest error of the joints in one simulation.
async function simulate(module: Module, cell: any) {
  if (Object.keys(cell).some((k) => ![...PARTS, 'scene', 'h', 't_end', 'seed', 'sample', 'perturb', 'equivalent'].includes(k))) return null;
  const parts = Object.fromEntries(PARTS.filter((k) => cell[k]).map((k) => [k, String(cell[k])]));
  const run = module.open(String(cell.scene), parts, Number(cell.h) || 0, false), most = { 'drift.pos.max': 0 };
  try {
    const steps = Math.round(Number(cell.t_end) / run.model.h);
    if (Math.abs(steps * run.model.h - Number(cell.t_end)) > 1e-9 * Number(cell.t_end)) return null; // the last step of the program is shorter
    let until = performance.now() + 40;
    for (let i = 0; i < steps; i++) {
      if (run.step() < 0) return { failed: run.message, ...most };
      const { error } = run.figures;
      most['drift.pos.max'] = Math.max(most['drift.pos.max'], Number.isNaN(error) ? Infinity : error);
      if (performance.now() > until) { // the page stays alive
        await new Promise((next) => setTimeout(next, 0));
        until = performance.now() + 40;
      }
    }
    return most;
  } finally {
    run.close();
  }
}

async function live(module: Module, e: any, answer: string): Promise<Verdict | null> {
  const wanted = conditions(e.check);
  if (!wanted || !e.cells || !Number.isFinite(Number(e.cells[0].t_end))) return null;
  const values: any[] = [];
  for (const cell of e.cells) {
    const v = await simulate(module, { ...cell, [e.try]: e.try === 'h' ? seconds(answer) : answer });
    if (!v) return null;
    if ((v as any).failed) return { right: false, why: `the simulation stopped: ${(v as any).failed}` };
    values.push(v);
  }
  const found = wanted.map((c) => Math[c.of as 'max'](...values.map((v) => v[c.metric])));
  const holds = wanted.map((c, i) => ({ '<': found[i] < c.limit, '<=': found[i] <= c.limit, '>': found[i] > c.limit, '>=': found[i] >= c.limit })[c.sign]);
  return { right: holds.every(Boolean), why: `${e.check}; computed here: ${found.map((v) => brief(v, 3, 0)).join(', ')}` };
}

// "4 ms" in seconds.
export function seconds(text: string) {
  const m = /^\s*([\d.eE+-]+)\s*(s|ms|us)?\s*$/.exec(text);
  return m ? Number(m[1]) * { s: 1, ms: 1e-3, us: 1e-6 }[m[2] ?? 's']! : NaN;
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
  const module = await solver();
  if (module) {
    try {
      const computed = await live(module, e, answer.trim());
      if (computed) return computed;
    } catch (problem) {
      return (problem as Error).message;
    }
  }
  const stored = e.stored.find((s) => plain(s.answer) === plain(answer));
  return stored ? { right: stored.right, why: stored.why } : '';
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
