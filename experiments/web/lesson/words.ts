// SPDX-License-Identifier: GPL-3.0-or-later
// Words and numbers of a lesson.
import { scrolls } from '../access';
import { h } from '../dom';

export function svg(tag, attributes, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes ?? {})) if (value != null) e.setAttribute(key, String(value));
  e.append(...children.filter((c) => c != null));
  return e;
}

export const raised = (text) => [...String(text)].map((c) => ({ '-': '\u207b', '+': '' })[c] ?? '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079'[c] ?? c).join('');
export const lowered = (text) => [...text].map((c) => '\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089'[c] ?? c).join('');

// four digits, as the terminal shows them; what is below `zero` is rounding
export function brief(v, digits = 4, zero = 1e-12) {
  if (v == null || Number.isNaN(v)) return '\u2013';
  if (!Number.isFinite(v)) return v > 0 ? '\u221e' : '\u2212\u221e';
  if (Math.abs(v) <= zero) return '0';
  const [mantissa, power] = v.toExponential(digits - 1).split('e').map(Number);
  const text = power < -3 || power > 5 ? `${mantissa}\u00b710${raised(power)}` : String(Number(v.toPrecision(digits)));
  return text.replace('-', '\u2212');
}

// 6.65e-08 in a sentence -> 6.65\u00b710 with its power raised
export const powers = (text) => text.replace(/(?<![\d.])(\d[\d.]*)e([+-]\d+)\b/g, (_, digits, power) => `${digits === '1' ? '' : `${digits}\u00b7`}10${raised(Number(power))}`);

// lambda1 -> a Greek letter with its index
export const pretty = (text) => text.replace(/\b(lambda|w)(\d+)\b/g, (_, name, i) => (name === 'w' ? 'w' : '\u03bb') + lowered(i));

// Text whose columns are aligned: it scrolls in its box where it is wider than the page.
export const block = (text) => scrolls(h('pre', {}, text), 'text, scrolls');
