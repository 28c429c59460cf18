// SPDX-License-Identifier: GPL-3.0-or-later
// A contact problem as a text of rows, as numbers, and as the JSON that perp reads (docs/reference/lcp-format.md).
import type { Module } from './module';

export const MOST = 8;

export interface Problem {
  n: number;
  A: number[]; // by columns
  b: number[];
  lo: number[];
  hi: number[];
  friction_of: number[]; // -1: no friction row
  mu: number[];
  cone: number[]; // 1: first of the two rows of a circular cone
  names: string[]; // what the rows are; '': not said
}

// One contact with friction in space: its normal row and its two friction rows, a disc (cone) or a box.
export interface Contact { normal: number; first: number; disc: boolean; name: string }

const endless = (w: string) => (/^[+]?inf(inity)?$/i.test(w) ? Infinity : /^-inf(inity)?$/i.test(w) ? -Infinity : Number(w));

// A row of the problem is a line: n numbers of A, b and, if wanted, lo and hi, or "box ROW MU" or "cone ROW MU" of a friction
// row; then, behind #, what it is. What separates the words does not matter.
export function parse(text: string): Problem {
  const lines = text.split(/\r?\n|;/).map((l) => ({ words: l.replace(/#.*/, '').replace(/[[\](){}|,]/g, ' ').trim(), name: (/#(.*)/.exec(l)?.[1] ?? '').trim() })).filter((l) => l.words !== ''), n = lines.length;
  if (n === 0) throw new Error('Type a row of A and b in each line, as 2 1 -5.');
  if (n > MOST) throw new Error(`${n} rows: at most ${MOST} are solved here; perp lcp solve takes larger problems.`);
  const p: Problem = { n, A: new Array(n * n), b: [], lo: [], hi: [], friction_of: [], mu: [], cone: [], names: [] };
  let second = -1; // the row that a cone has begun before
  lines.forEach(({ words: line, name }, i) => {
    const words = line.split(/\s+/), at = words.findIndex((w) => /^(box|cone)$/i.test(w)), kind = at >= 0 ? words[at].toLowerCase() : '', law = at >= 0 ? words.splice(at) : [];
    const numbers = words.map(endless), wrong = words.findIndex((_, k) => Number.isNaN(numbers[k]));
    if (wrong >= 0) throw new Error(`Row ${i + 1}: '${words[wrong]}' is not a number.`);
    if (kind ? numbers.length !== n + 1 : numbers.length !== n + 1 && numbers.length !== n + 3)
      throw new Error(`Row ${i + 1} has ${numbers.length} numbers: with ${n} rows it needs ${n + 1} (A, b)${kind ? ` before '${kind}'` : `, ${n + 3} (A, b, lo, hi), or ${n + 1} and box ROW MU or cone ROW MU`}.`);
    for (let j = 0; j <= n; j++) if (!Number.isFinite(numbers[j])) throw new Error(`Row ${i + 1}: numbers of A and b must be finite.`);
    for (let j = 0; j < n; j++) p.A[i + j * n] = numbers[j];
    const of = kind ? Number(law[1]) : 0, mu = kind ? Number(law[2]) : 0;
    if (kind && (law.length !== 3 || !Number.isInteger(of) || of < 1 || of > n || of === i + 1 || !(mu >= 0 && mu < Infinity)))
      throw new Error(`Row ${i + 1}: '${law.join(' ')}' should be '${kind} ROW MU': the number of the normal row (1 to ${n}) and the coefficient of friction, as ${kind} 1 0.5.`);
    p.b.push(numbers[n]);
    p.lo.push(numbers.length > n + 1 ? numbers[n + 1] : 0);
    p.hi.push(numbers.length > n + 1 ? numbers[n + 2] : Infinity);
    p.friction_of.push(of - 1);
    p.mu.push(mu);
    p.names.push(name);
    p.cone.push(kind === 'cone' && second !== i ? 1 : 0);
    if (p.cone[i]) second = i + 1;
    else if (second === i && kind !== 'cone') throw new Error(`Row ${i}: a cone has two rows, one after the other.`);
    if (!(p.lo[i] <= p.hi[i])) throw new Error(`Row ${i + 1}: lo = ${p.lo[i]} is above hi = ${p.hi[i]}.`);
  });
  if (second === n) throw new Error(`Row ${n}: a cone has two rows, one after the other.`);
  return p;
}

const finite = (v: any) => (v === 'inf' || v === Infinity ? Infinity : v === '-inf' || v === -Infinity ? -Infinity : Number(v));
// what the module says of a problem
const heard = (q: any): Problem => ({ ...q, lo: q.lo.map(finite), hi: q.hi.map(finite) });

// Typed rows, or the text of a file that perp reads.
export function understand(module: Module, text: string): Problem {
  if (!/^\s*(perp-lcp|\{|%%MatrixMarket)/.test(text)) return parse(text);
  return heard(module.matrix(text, 0));
}

export function write(q: any): string {
  const p = heard(q), word = (v: number) => (Number.isFinite(v) ? String(Number(v.toPrecision(12))) : v > 0 ? 'inf' : '-inf');
  const plain = p.b.every((_, i) => p.friction_of[i] >= 0 || (p.lo[i] === 0 && p.hi[i] === Infinity));
  return p.b.map((b, i) => {
    const law = p.friction_of[i] >= 0 ? `  ${p.cone[i] || p.cone[i - 1] ? 'cone' : 'box'} ${p.friction_of[i] + 1} ${word(p.mu[i])}` : plain ? '' : `  ${word(p.lo[i])} ${word(p.hi[i])}`;
    return `${Array.from({ length: p.n }, (_, j) => word(p.A[i + j * p.n])).join(' ')}  ${word(b)}${law}${p.names[i] ? `  # ${p.names[i]}` : ''}`;
  }).join('\n');
}

export function toJson(p: Problem): string {
  const bound = (v: number) => (Number.isFinite(v) ? v : v > 0 ? 'inf' : '-inf');
  return JSON.stringify({ n: p.n, A: p.b.map((_, i) => p.b.map((__, j) => p.A[i + j * p.n])), b: p.b, lo: p.lo.map(bound), hi: p.hi.map(bound), friction_of: p.friction_of, mu: p.mu, cone: p.cone });
}

export const hasFriction = (p: Problem) => p.friction_of.some((j) => j >= 0);
export const contactName = (p: Problem, normal: number) => p.names[normal].replace(/: normal$/, '') || `contact of row ${normal + 1}`;

export function contacts(p: Problem): Contact[] {
  const found: Contact[] = [];
  for (let i = 0; i + 1 < p.n; i++) {
    if (p.friction_of[i] < 0 || p.friction_of[i + 1] !== p.friction_of[i]) continue;
    found.push({ normal: p.friction_of[i], first: i, disc: p.cone[i] === 1, name: contactName(p, p.friction_of[i]) });
    i++;
  }
  return found;
}

// Limits of friction where row i follows row friction_of[i]; else its bounds.
export function bounds(p: Problem, i: number, lambda: number[]): [number, number] {
  if (p.friction_of[i] < 0) return [p.lo[i], p.hi[i]];
  const limit = p.mu[i] * Math.max(0, lambda[p.friction_of[i]]);
  return [-limit, limit];
}

// The problem with the limits that an answer has, which follow nothing: of a disc the square around it.
export function fixed(p: Problem, lambda: number[]): Problem {
  const limits = p.b.map((_, i) => bounds(p, i, lambda));
  return { ...p, lo: limits.map((l) => l[0]), hi: limits.map((l) => l[1]), friction_of: p.friction_of.map(() => -1), mu: p.mu.map(() => 0), cone: p.cone.map(() => 0) };
}

// Friction as a pyramid (Stewart and Trinkle): a pure problem. back: multipliers of the rows before it.
export function pyramid(module: Module, p: Problem, directions: number): { problem: Problem; back(z: number[]): number[] } {
  const problem = heard(module.matrix(toJson(p), directions)), kept = p.b.map((_, i) => i).filter((i) => p.friction_of[i] < 0), names = kept.map((i) => p.names[i] || `normal of row ${i + 1}`), ends: string[] = [];
  const parts: { row: number; to: number; x: number }[] = kept.map((i, k) => ({ row: k, to: i, x: 1 }));
  for (let i = 0; i < p.n; i++) {
    if (p.friction_of[i] < 0) continue;
    const two = p.friction_of[i + 1] === p.friction_of[i] && (p.cone[i] === 1 || p.mu[i + 1] === p.mu[i]), count = two ? directions : 2, name = contactName(p, p.friction_of[i]);
    for (let k = 0; k < count; k++) {
      parts.push({ row: names.length, to: i, x: Math.cos((2 * Math.PI * k) / count) });
      if (two) parts.push({ row: names.length, to: i + 1, x: Math.sin((2 * Math.PI * k) / count) });
      names.push(`${name}: direction ${k + 1}`);
    }
    ends.push(`${name}: sliding speed`);
    if (two) i++;
  }
  problem.names = [...names, ...ends];
  return { problem, back: (z) => {
    const lambda = p.b.map(() => 0);
    for (const { row, to, x } of parts) lambda[to] += x * z[row];
    return lambda;
  } };
}
