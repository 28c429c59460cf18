// SPDX-License-Identifier: GPL-3.0-or-later
// What was predicted and solved, kept by the browser; where it keeps nothing (some do not for files), the page forgets.
const KEY = 'perp-lessons';
let known: Record<string, { choice?: number; solved?: boolean[] }> | null = null;

function all() {
  if (known) return known;
  try {
    known = JSON.parse(localStorage.getItem(KEY) ?? '{}');
  } catch { /* no storage */ }
  known ??= {};
  return known;
}

export const progress = (name: string) => all()[name] ?? {};

export function note(name: string, change: { choice?: number; solved?: number }) {
  const p = (all()[name] ??= {});
  if (change.choice !== undefined) p.choice = change.choice;
  if (change.solved !== undefined) (p.solved ??= [])[change.solved] = true;
  try {
    localStorage.setItem(KEY, JSON.stringify(known));
  } catch { /* no storage */ }
}

export function forget() {
  known = {};
  try {
    localStorage.removeItem(KEY);
  } catch { /* no storage */ }
}
