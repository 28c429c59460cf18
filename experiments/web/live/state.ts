// SPDX-License-Identifier: GPL-3.0-or-later
// What is chosen and where the bodies are, as the part of the address behind '#'.
export interface Choice {
  scene: string;
  formulation?: string; lcp?: string; stab?: string; contact?: string; ode?: string; kkt?: string;
  against?: string; // a second solver of the contact problem
  h?: number;
  drawn?: string; // the stack of the scene of that name (draw.ts)
}
export interface Start extends Choice {
  t?: number;
  state?: Float64Array; // q, then v
}
export const PARTS = ['formulation', 'lcp', 'stab', 'contact', 'ode', 'kkt'] as const;

const bytesOf = (v: Float64Array) => new Uint8Array(v.buffer, v.byteOffset, v.byteLength);

export function toFragment(c: Choice, t?: number, state?: Float64Array): string {
  const words = new URLSearchParams();
  for (const [k, v] of Object.entries(c)) if (v !== undefined && v !== '' && v !== null && (k !== 'drawn' || c.scene === 'drawn')) words.set(k, String(v));
  if (state) {
    words.set('t', String(t));
    words.set('state', btoa(String.fromCharCode(...bytesOf(state))));
  }
  return `#${words}`;
}

export function fromFragment(text: string): Partial<Start> {
  const words = new URLSearchParams(text.replace(/^#/, '')), out: any = {};
  for (const k of ['scene', 'against', 'drawn', ...PARTS]) if (words.get(k)) out[k] = words.get(k);
  for (const k of ['h', 't']) if (Number(words.get(k)) > 0) out[k] = Number(words.get(k));
  const state = words.get('state');
  if (state) {
    try {
      const bytes = Uint8Array.from(atob(state), (c) => c.charCodeAt(0));
      if (bytes.length % 8 === 0) out.state = new Float64Array(bytes.buffer);
    } catch { /* a link that was cut: the scene begins at its start */ }
  }
  return out;
}
