// SPDX-License-Identifier: GPL-3.0-or-later
// Runs that the page computes itself, measured by the module as the program measures them.
import type { Module } from '../live/module';

const PARTS = ['formulation', 'ode', 'kkt', 'lcp', 'stab', 'contact'];
const KNOWN = [...PARTS, 'scene', 'h', 't_end', 'seed', 'sample'];

export interface Computed {
  failed: string; // why it ended early; '': it did not
  rows: Record<string, number>[]; // the fields at the samples: t, q0, ..., energy, drift.pos, ...
  metrics: number[]; // of those asked for; NaN: there is none of this name
}

// "4 ms" in seconds.
export function seconds(text: string) {
  const m = /^\s*([\d.eE+-]+)\s*(s|ms|us)?\s*$/.exec(text);
  return m ? Number(m[1]) * { s: 1, ms: 1e-3, us: 1e-6 }[m[2] ?? 's']! : NaN;
}

// "stack:boxes=5,gap=0" with another value of an option.
export function withOption(spec: string, option: string, value: string) {
  const at = spec.search(/:[\w.]+=/), name = at < 0 ? spec : spec.slice(0, at), own = at < 0 ? [] : spec.slice(at + 1).split(/,(?=[\w.]+=)/);
  return `${name}:${[...own.filter((o) => !o.startsWith(`${option}=`)), `${option}=${value}`].join(',')}`;
}

// A cell with another value of "h", "scene.theta", ...
export function withValue(cell: any, of: string, value: string) {
  const dot = of.indexOf('.'), part = dot < 0 ? of : of.slice(0, dot);
  return { ...cell, [part]: part === 'h' ? seconds(value) : dot < 0 ? value : withOption(String(cell[part] ?? ''), of.slice(dot + 1), value.replace(/\s/g, '')) };
}

// The value of an option of a part of a cell, in SI units; NaN: it has no such number.
export function optionOf(module: Module, cell: any, of: string): number {
  const dot = of.indexOf('.'), part = of.slice(0, dot);
  if (dot < 0 || !cell[part]) return NaN;
  const o = module.spec(part, String(cell[part])).options.find((x) => x.key === of.slice(dot + 1)), m = /^([\d.eE+-]+)\s*(\w*)$/.exec(o?.value ?? '');
  return m ? Number(m[1]) * (m[2] === 'deg' ? Math.PI / 180 : 1) : NaN;
}

// One run of the study and its metrics; rows: with the fields at its samples. null: the module measures no such run.
export async function compute(module: Module, cell: any, metrics: string[], rows = false, goOn = () => true): Promise<Computed | null> {
  if (Object.keys(cell).some((k) => !KNOWN.includes(k)) || !(Number(cell.t_end) > 0) || !(Number(cell.h) > 0)) return null;
  const run = module.open(String(cell.scene), Object.fromEntries(PARTS.filter((k) => cell[k]).map((k) => [k, String(cell[k])])), Number(cell.h), false);
  const t_end = Number(cell.t_end), sample = Number(cell.sample) || 0, stride = Math.max(1, Math.ceil(((sample || t_end / 200) / run.model.h) * (1 - 1e-9)));
  const out: Computed = { failed: '', rows: [], metrics: [] };
  try {
    if (!run.measured(t_end, sample)) return null;
    const note = () => out.rows.push({ ...run.now, ...Object.fromEntries([...run.q].map((v, i) => [`q${i}`, v])), ...Object.fromEntries([...run.v].map((v, i) => [`v${i}`, v])) });
    if (rows) note();
    const bound = 1e8 * Math.max(1, ...[...run.q, ...run.v].map(Math.abs)); // as perp run has it
    let until = performance.now() + 30, t = 0;
    for (let k = 1; t < t_end * (1 - 1e-12); k++) {
      if (run.step() < 0) {
        out.failed = run.message;
        break;
      }
      t = run.figures.t;
      if ([...run.q, ...run.v].some((x) => !(Math.abs(x) <= bound))) {
        out.failed = 'diverged';
        break;
      }
      if (rows && (k % stride === 0 || !(t < t_end * (1 - 1e-12)))) note();
      if (performance.now() > until) { // the page stays alive
        await new Promise((next) => setTimeout(next, 0));
        if (!goOn()) return null;
        until = performance.now() + 30;
      }
    }
    out.metrics = metrics.map((name) => run.metric(name));
    return out;
  } finally {
    run.close();
  }
}
