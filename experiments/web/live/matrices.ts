// SPDX-License-Identifier: GPL-3.0-or-later
// Problems of the reader's own: w = A lambda + b with bounds and friction, typed or pasted, solved by several methods step by step.
import { h, scroll, th } from '../dom';
import { film } from '../lesson/pivots';
import { brief } from '../lesson/words';
import { saveAs } from '../save';
import { disc } from './disc';
import type { Module } from './module';
import { pictures } from './plane';
import { contacts, fixed, hasFriction, type Problem, pyramid, toJson, understand, write } from './problem';

const SOLVERS = ['lemke', 'dantzig', 'keller', 'pgs', 'block-gs', 'nncg', 'apgd', 'fischer-newton', 'interior-point'];
const EXAMPLES: [string, string][] = [
  ['two contacts', '2 1  -5\n1 2  -6'],
  ['redundant: two supports of one body', '1 1  -1\n1 1  -1'],
  ['no solution', '1 -1  -1\n-1 1  -1'],
  ['three solutions', '1 2  -1\n2 1  -1'],
  ['mass ratio 1000 (Gauss-Seidel is slow)', '1 -0.999  -1\n-0.999 1  0.5'],
  ['friction of fixed limits', '2 0.5 0  -3  0 inf\n0.5 1 0.2  0.4  -0.5 0.5\n0 0.2 1  -0.1  -0.5 0.5'],
  ['one contact that slides: friction disc', '2 0.5 0  -3  # contact: normal\n0.5 1 0.2  2  cone 1 0.5  # contact: friction 1\n0 0.2 1  -0.5  cone 1 0.5  # contact: friction 2'],
  ['the same contact with a friction box', '2 0.5 0  -3  # contact: normal\n0.5 1 0.2  2  box 1 0.5  # contact: friction 1\n0 0.2 1  -0.5  box 1 0.5  # contact: friction 2'],
  ['Murty: many pivots (n = 4)', '1 2 2 2  -1\n0 1 2 2  -1\n0 0 1 2  -1\n0 0 0 1  -1'],
];
const FORMS: [string, string][] = [['follow', 'follow the normal impulse'], ['fixed', 'are those of the answer (plain bounds)'], ['pyramid', 'are a pyramid of four directions (pure LCP)']];

export function matrices(host: HTMLElement, module: Module) {
  const text = h('textarea', { id: 'live-matrix', rows: 5, wrap: 'off', spellcheck: false, class: 'live-matrix', 'aria-describedby': 'live-matrix-help' });
  const said = h('p', { class: 'live-message', role: 'status' }), out = h('div', { class: 'live-film lesson' }), answers = scroll('Answers of the methods'), plane = h('div', { class: 'live-planes' });
  const shown = h('p', { class: 'note' }), printed = h('pre', { class: 'live-print' }); // paper has no controls
  const chosen = new Set(['lemke', 'dantzig', 'keller', 'pgs', 'block-gs', 'fischer-newton']);
  let form = 'follow', now: Problem | null = null;
  const example = h('select', { id: 'live-example', onchange: () => {
    text.value = EXAMPLES[Number(example.value)][1];
    solve();
  } }, ...EXAMPLES.map(([name], i) => h('option', { value: i }, name)));
  const limits = h('select', { id: 'live-limits', onchange: () => {
    form = limits.value;
    solve();
  } }, ...FORMS.map(([v, words]) => h('option', { value: v }, words)));
  const limitsOf = h('span', { class: 'control', hidden: true }, h('label', { for: 'live-limits' }, 'limits of friction'), limits);
  const ticks = h('fieldset', { class: 'live-solvers' }, h('legend', {}, 'methods'), ...SOLVERS.map((s) => h('label', {}, h('input', { type: 'checkbox', checked: chosen.has(s), onchange: (e) => {
    if (e.currentTarget.checked) chosen.add(s);
    else chosen.delete(s);
    solve();
  } }), ` ${s}`)));

  // Answers of the methods that are chosen; what a method does not serve is told.
  function run(p: Problem, failed: string[]) {
    const problem = toJson(p), results: any[] = [];
    for (const solver of SOLVERS.filter((s) => chosen.has(s))) {
      try {
        const r = module.solve(solver, problem);
        if (r.unsuited) failed.push(`${solver} does not serve ${r.unsuited}.`);
        else results.push({ solver, ...r });
      } catch (e) {
        failed.push(`${solver}: ${(e as Error).message}`);
      }
    }
    return results;
  }

  // The problem that is solved: as typed, or in another form of its friction.
  function formed(typed: Problem): { p: Problem; back(z: number[]): number[]; words: string } {
    const same = { p: typed, back: (z: number[]) => z, words: '' };
    if (!hasFriction(typed) || form === 'follow') return same;
    if (form === 'pyramid') {
      const { problem, back } = pyramid(module, typed, 4);
      return { p: problem, back, words: `The problem of Stewart and Trinkle with ${problem.n} rows; friction is within the pyramid inside the cone.` };
    }
    const answer = run(typed, []).find((r) => r.runs[0].reason === 'converged');
    if (!answer) throw new Error('No chosen method solves this problem with limits that follow the normal impulse: choose pgs, block-gs or dantzig as well.');
    return { p: fixed(typed, answer.lambda), back: same.back, words: `Limits are those of the answer of ${answer.solver}. ${typed.cone.includes(1) ? 'Of a disc they are the square around it, which is another problem.' : ''}` };
  }

  function solve() {
    said.textContent = shown.textContent = '';
    const failed: string[] = [];
    let typed: Problem, made: { p: Problem; back(z: number[]): number[]; words: string };
    try {
      typed = understand(module, text.value);
      limitsOf.hidden = !hasFriction(typed);
      made = formed(typed);
      module.matrix(toJson(made.p), 0); // perp's own reader has the last word
    } catch (e) {
      said.textContent = (e as Error).message;
      text.setAttribute('aria-invalid', 'true');
      return;
    }
    text.removeAttribute('aria-invalid');
    now = typed;
    printed.textContent = text.value;
    shown.textContent = made.words;
    const { p } = made, results = run(p, failed), rows = p.b.map((_, i) => `\u03bb${i + 1}`);
    said.textContent = failed.join(' ') + (failed.length > 0 && hasFriction(p) ? ' Other limits of friction make a problem that they serve.' : '');
    answers.replaceChildren(h('table', { 'aria-label': 'Answers of the methods' }, h('thead', {}, h('tr', {}, th('method'), th('ended'), th('iterations', 'n'), th('residual', 'n'), ...rows.map((r, i) => th(r, 'n', p.names[i] || null)))),
      h('tbody', {}, ...results.map((r) => h('tr', {}, h('th', { scope: 'row' }, r.solver), h('td', {}, r.runs[0].reason + (r.runs[0].proved ? ', proved' : '')), h('td', { class: 'n' }, String(r.runs[0].iterations)),
        h('td', { class: 'n' }, brief(r.residual)), ...r.lambda.map((v: number) => h('td', { class: 'n' }, brief(v))))))));
    out.replaceChildren();
    const told = results.filter((r) => r.runs[0].frames.length > 0);
    if (told.length > 0) film(out, { ...p, runs: told.map((r) => r.runs[0]) });
    else out.append(h('p', { class: 'note' }, 'No method with steps to show is chosen.'));
    const discs = contacts(typed).flatMap((c) => told.map((r) => disc(typed, c, r, made.back, form === 'pyramid' ? 4 : 0, form === 'fixed' ? made.p.hi : null)));
    plane.replaceChildren(...(p.n === 2 ? pictures(p, results) : []), ...discs);
    if (plane.childElementCount === 0) plane.append(h('p', { class: 'note' }, 'Problems of two rows, and contacts with two friction rows, have pictures in the plane.'));
    host.dataset.solved = String(results.length);
  }

  host.append(
    h('h2', { id: 'matrices' }, 'Matrices of your own'),
    h('p', { id: 'live-matrix-help' }, 'w = A \u03bb + b. Each line is a row: the numbers of A, then b; then, if the bounds are not 0 and inf, lo and hi. A friction row has \u201ccone 1 0.5\u201d or \u201cbox 1 0.5\u201d in their place: the normal row and \u03bc; a cone has two rows. Behind # stands what the row is. Texts in the formats of perp (.lcp, JSON) are read as well. At most 8 rows.'),
    h('div', { class: 'controls' }, h('span', { class: 'control' }, h('label', { for: 'live-example' }, 'example'), example), limitsOf),
    h('label', { for: 'live-matrix' }, 'problem'), text, printed, ticks,
    h('div', { class: 'live-bar' }, h('button', { type: 'button', class: 'tool', onclick: solve }, 'solve'),
      h('button', { type: 'button', class: 'tool', title: 'a file for perp lcp solve', onclick: () => now && saveAs('problem.json', 'application/json', toJson(now)) }, 'save the problem')), said, shown, answers, out, plane);
  text.value = EXAMPLES[0][1];
  text.addEventListener('change', solve);
  solve();
  return {
    open(p: any) {
      text.value = write(p);
      text.rows = Math.max(5, p.n);
      solve();
      host.querySelector('h2')!.scrollIntoView();
      text.focus();
      text.setSelectionRange(0, 0);
    },
  };
}
