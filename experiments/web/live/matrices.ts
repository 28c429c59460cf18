// SPDX-License-Identifier: GPL-3.0-or-later
// Problems of the reader's own: w = A lambda + b with bounds, typed or pasted, solved by several methods step by step.
import { h, scroll, th } from '../dom';
import { film } from '../lesson/pivots';
import { brief } from '../lesson/words';
import type { Module } from './module';
import { pictures } from './plane';

export const MOST = 8;
const SOLVERS = ['lemke', 'dantzig', 'keller', 'pgs', 'fischer-newton', 'interior-point'];
const EXAMPLES: [string, string][] = [
  ['two contacts', '2 1  -5\n1 2  -6'],
  ['redundant: two supports of one body', '1 1  -1\n1 1  -1'],
  ['no solution', '1 -1  -1\n-1 1  -1'],
  ['three solutions', '1 2  -1\n2 1  -1'],
  ['mass ratio 1000 (Gauss-Seidel is slow)', '1 -0.999  -1\n-0.999 1  0.5'],
  ['friction of fixed limits', '2 0.5 0  -3  0 inf\n0.5 1 0.2  0.4  -0.5 0.5\n0 0.2 1  -0.1  -0.5 0.5'],
  ['Murty: many pivots (n = 4)', '1 2 2 2  -1\n0 1 2 2  -1\n0 0 1 2  -1\n0 0 0 1  -1'],
];

export interface Problem {
  n: number;
  A: number[]; // by columns
  b: number[];
  lo: number[];
  hi: number[];
}

// A row of the problem is a line: n numbers of A, b and, if wanted, lo and hi; what separates them does not matter.
export function parse(text: string): Problem {
  const lines = text.split(/\r?\n|;/).map((l) => l.replace(/[[\](){}|,]/g, ' ').trim()).filter((l) => l !== ''), n = lines.length;
  if (n === 0) throw new Error('Type a row of A and b in each line, as 2 1 -5.');
  if (n > MOST) throw new Error(`${n} rows: at most ${MOST} are solved here; perp lcp solve takes larger problems.`);
  const p: Problem = { n, A: new Array(n * n), b: [], lo: [], hi: [] };
  lines.forEach((line, i) => {
    const words = line.split(/\s+/), numbers = words.map((w) => (/^[+]?inf(inity)?$/i.test(w) ? Infinity : /^-inf(inity)?$/i.test(w) ? -Infinity : Number(w)));
    const wrong = words.findIndex((_, k) => Number.isNaN(numbers[k]));
    if (wrong >= 0) throw new Error(`Row ${i + 1}: '${words[wrong]}' is not a number.`);
    if (numbers.length !== n + 1 && numbers.length !== n + 3) throw new Error(`Row ${i + 1} has ${numbers.length} numbers: with ${n} rows it needs ${n + 1} (A, b) or ${n + 3} (A, b, lo, hi).`);
    for (let j = 0; j <= n; j++) if (!Number.isFinite(numbers[j])) throw new Error(`Row ${i + 1}: numbers of A and b must be finite.`);
    for (let j = 0; j < n; j++) p.A[i + j * n] = numbers[j];
    p.b.push(numbers[n]);
    p.lo.push(numbers.length > n + 1 ? numbers[n + 1] : 0);
    p.hi.push(numbers.length > n + 1 ? numbers[n + 2] : Infinity);
    if (!(p.lo[i] <= p.hi[i])) throw new Error(`Row ${i + 1}: lo = ${p.lo[i]} is above hi = ${p.hi[i]}.`);
  });
  return p;
}

export function write(p: Problem): string {
  const plain = p.lo.every((v) => v === 0) && p.hi.every((v) => v === Infinity), word = (v: any) => (v === 'inf' ? 'inf' : v === '-inf' ? '-inf' : v === Infinity ? 'inf' : v === -Infinity ? '-inf' : String(Number(Number(v).toPrecision(12))));
  return p.b.map((b, i) => [...Array.from({ length: p.n }, (_, j) => word(p.A[i + j * p.n])), '', word(b), ...(plain ? [] : ['', word(p.lo[i]), word(p.hi[i])])].join(' ')).join('\n');
}

export function matrices(host: HTMLElement, module: Module) {
  const text = h('textarea', { id: 'live-matrix', rows: 5, spellcheck: false, class: 'live-matrix', 'aria-describedby': 'live-matrix-help' });
  const said = h('p', { class: 'live-message', role: 'status' }), out = h('div', { class: 'live-film lesson' }), answers = scroll('Answers of the methods'), plane = h('div', { class: 'live-planes' });
  const printed = h('pre', { class: 'live-print' }); // paper has no controls
  const chosen = new Set(['lemke', 'dantzig', 'keller', 'pgs', 'fischer-newton']);
  const example = h('select', { id: 'live-example', onchange: () => {
    text.value = EXAMPLES[Number(example.value)][1];
    solve();
  } }, ...EXAMPLES.map(([name], i) => h('option', { value: i }, name)));
  const ticks = h('fieldset', { class: 'live-solvers' }, h('legend', {}, 'methods'), ...SOLVERS.map((s) => h('label', {}, h('input', { type: 'checkbox', checked: chosen.has(s), onchange: (e) => {
    if (e.currentTarget.checked) chosen.add(s);
    else chosen.delete(s);
    solve();
  } }), ` ${s}`)));

  function solve() {
    said.textContent = '';
    let p: Problem;
    try {
      p = parse(text.value);
    } catch (e) {
      said.textContent = (e as Error).message;
      text.setAttribute('aria-invalid', 'true');
      return;
    }
    text.removeAttribute('aria-invalid');
    printed.textContent = text.value;
    const results: any[] = [], failed: string[] = [];
    for (const solver of SOLVERS.filter((s) => chosen.has(s))) {
      try {
        const r = module.solve(solver, p.n, p.A, p.b, p.lo, p.hi);
        results.push({ solver, ...r });
      } catch (e) {
        failed.push(`${solver}: ${(e as Error).message}`);
      }
    }
    said.textContent = failed.join(' ');
    answers.replaceChildren(h('table', { 'aria-label': 'Answers of the methods' }, h('thead', {}, h('tr', {}, th('method'), th('ended'), th('iterations', 'n'), th('residual', 'n'), ...p.b.map((_, i) => th(`\u03bb${i + 1}`, 'n')))),
      h('tbody', {}, ...results.map((r) => h('tr', {}, h('th', { scope: 'row' }, r.solver), h('td', {}, r.runs[0].reason + (r.runs[0].proved ? ', proved' : '')), h('td', { class: 'n' }, String(r.runs[0].iterations)),
        h('td', { class: 'n' }, brief(r.residual)), ...r.lambda.map((v: number) => h('td', { class: 'n' }, brief(v))))))));
    out.replaceChildren();
    const shown = results.filter((r) => r.runs[0].frames.length > 0);
    if (shown.length > 0) film(out, { n: p.n, lo: p.lo, hi: p.hi, runs: shown.map((r) => r.runs[0]) });
    else out.append(h('p', { class: 'note' }, 'No method with steps to show is chosen.'));
    plane.replaceChildren(...(p.n === 2 ? pictures(p, results) : [h('p', { class: 'note' }, 'Problems of two rows have pictures in the plane.')]));
    host.dataset.solved = String(results.length);
  }

  host.append(
    h('h2', { id: 'matrices' }, 'Matrices of your own'),
    h('p', { id: 'live-matrix-help' }, 'w = A \u03bb + b. Each line is a row: the numbers of A, then b; then, if the bounds are not 0 and inf, lo and hi. At most 8 rows.'),
    h('div', { class: 'controls' }, h('span', { class: 'control' }, h('label', { for: 'live-example' }, 'example'), example)),
    h('label', { for: 'live-matrix' }, 'problem'), text, printed, ticks,
    h('div', { class: 'live-bar' }, h('button', { type: 'button', class: 'tool', onclick: solve }, 'solve')), said, answers, out, plane);
  text.value = EXAMPLES[0][1];
  text.addEventListener('change', solve);
  solve();
  return {
    open(p: Problem) {
      text.value = write(p);
      solve();
      host.querySelector('h2')!.scrollIntoView();
      text.focus();
    },
  };
}
