// SPDX-License-Identifier: GPL-3.0-or-later
// Equations of descriptors, written in ASCII ("M v+ = M v + h f + J' lambda"), set by Debian's KaTeX, with MathML for screen
// readers.  The script carries the fonts of the letters that occur; what KaTeX refuses stays as it is written.
import katex from 'katex/katex.mjs';
import sheetText from 'katex/katex.min.css';
import ams from 'katex/fonts/KaTeX_AMS-Regular.woff2';
import main from 'katex/fonts/KaTeX_Main-Regular.woff2';
import letters from 'katex/fonts/KaTeX_Math-Italic.woff2';
import transposed from 'katex/fonts/KaTeX_SansSerif-Regular.woff2';
import sums from 'katex/fonts/KaTeX_Size1-Regular.woff2';

const GREEK = new Set('alpha beta gamma delta eps eta theta kappa lambda mu nu xi rho sigma tau phi psi omega zeta chi Gamma Delta Theta Lambda Sigma Phi Psi Omega'.split(' '));
const TEX = { eps: 'varepsilon', phi: 'varphi' };
const FUNCTIONS = new Set(['sin', 'cos', 'tan', 'exp', 'log', 'min', 'max', 'det', 'ln']);
const OPERATORS = new Set(['clamp', 'diag', 'sign', 'argmin', 'sweep', 'atan', 'sgn', 'mid', 'proj', 'sqrt']);
const SYMBOLS = {
  '<=': '\\le ', '>=': '\\ge ', '<-': '\\leftarrow ', '->': '\\to ', '_|_': '\\perp ', '[+]': '\\boxplus ', '[-]': '\\boxminus ', '+=': '\\mathrel{+}= ', '-=': '\\mathrel{-}= ', '!=': '\\ne ',
  '+-': '\\pm ', '%': '\\%', '#': '\\#', '&': '\\&', '~': '\\sim ', '{': '\\{', '}': '\\}', '^': '\\hat{\\ }', _: '\\_', $: '\\$', '\\': '\\backslash ', '...': '\\dots ', ';': ';\\quad ', '*': '\\,',
};
const TOKEN = /\s+|_\|_|\[[+-]\]|<=|>=|<-|->|\+=|-=|!=|\.\.\.|[A-Z][a-z]{2,}(?:-[A-Z][a-z]{2,})+|[A-Za-z]+(?:-[a-z]{3,})*|\d+(?:\.\d+)?(?:e[+-]?\d+)?|./suy;

// A word as a symbol, or null where it is a word of a sentence.
function symbolOf(word) {
  if (GREEK.has(word)) return `\\${TEX[word] ?? word}`;
  if (word.length === 1) return word;
  if (FUNCTIONS.has(word) || word === 'sum') return `\\${word}`;
  if (OPERATORS.has(word)) return `\\operatorname{${word}}`;
  if (word === 'lo' || word === 'hi') return `\\mathrm{${word}}`;
  if (['Jdot', 'udot', 'qdot', 'vdot'].includes(word)) return `\\dot{${word[0]}}`;
  if (word[0] === 'd' && (word.length === 2 || GREEK.has(word.slice(1)))) return `\\mathrm{d}${symbolOf(word.slice(1)) ?? ''}`;
  return null;
}

// The text in the parentheses that begin at `at`, and where they end; null where they do not.
function group(text, at) {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    depth += Number(text[i] === '(') - Number(text[i] === ')');
    if (depth === 0) return [text.slice(at + 1, i), i + 1];
  }
  return null;
}

type Reading = { transposes?: boolean; crosses?: boolean };

// What hangs on a symbol (indices, powers, primes, dots): [TeX of both, where it ends].
function hanging(text, at, token, symbol, how: Reading) {
  for (let i = at; ;) {
    const rest = text.slice(i);
    let m;
    if (rest.startsWith('_(') || rest.startsWith('^(')) {
      const inner = group(text, i + 1);
      if (!inner) return [symbol, i];
      symbol += `${rest[0]}{${tex(inner[0], how)}}`;
      i = inner[1] as number;
      continue;
    }
    if ((m = /^([_^])(-?\d+|[A-Za-z]+|\+)/.exec(rest))) symbol += `${m[1]}{${/^[A-Za-z]/.test(m[2]) ? symbolOf(m[2]) ?? (m[2].length > 2 ? `\\mathrm{${m[2]}}` : m[2]) : m[2]}}`;
    else if ((m = /^'+/.exec(rest))) symbol += how.transposes !== false && /^[A-Z]/.test(token) && m[0] === "'" && !rest.startsWith("'(") ? '^{\\mathsf T}' : m[0];
    else if ((m = /^~/.exec(rest))) symbol = `\\tilde{${symbol}}`;
    else if ((m = /^\.\.(?!\.)/.exec(rest))) symbol = `\\ddot{${symbol}}`;
    else if (token.length === 1 && (m = /^\.(?=\s|$|;)/.exec(rest))) symbol = `\\dot{${symbol}}`;
    else if ((m = /^\+(?=[\s,;:.)\]|]|$)/.exec(rest))) symbol += '^{+}';
    else return [symbol, i];
    i += m[0].length;
  }
}

// transposes: M' is a transpose, not a derivative; crosses: " x " is the product of two vectors.
export function tex(text, how: Reading = {}) {
  const out = [], words = [];
  let first = 0, last = 0; // where the words begin and end: they keep the spaces around them
  const flush = () => {
    if (words.length) out.push(`\\text{${/\s/.test(text[first - 1]) ? ' ' : ''}${words.splice(0).join(' ').replace(/[_&%#]/g, '\\$&')}${/\s/.test(text[last]) ? ' ' : ''}}`);
  };
  text = text.trim();
  for (let i = 0; i < text.length;) {
    TOKEN.lastIndex = i;
    const token = TOKEN.exec(text)[0], at = i;
    i += token.length;
    const next = text[i] ?? '', spaced = at > 0 && text[at - 1] === ' ' && next === ' ';
    if (/^\s/.test(token)) {
      if (token.length > 1 && !words.length) out.push('\\quad ');
    } else if (/^[A-Za-z]/.test(token)) {
      let symbol = token === 'perp' ? '\\perp ' : how.crosses && token === 'x' && spaced ? '\\times ' : symbolOf(token);
      // an article between words
      if ((token === 'a' && words.length && next === ' ') || token === 'next' || token === 'of') symbol = null;
      if (symbol === null && (/^_[\p{L}\p{N}(]/u.test(text.slice(i)) || ["'", '^', '+'].includes(next))) symbol = `\\mathrm{${token}}`;
      if (symbol === null) {
        if (!words.length) first = at;
        words.push(token);
        last = i;
        continue;
      }
      flush();
      const [whole, end] = hanging(text, i, token, symbol, how);
      out.push(`${whole} `);
      i = end;
    } else if (words.length && ',;:.'.includes(token) && i < text.length) {
      words[words.length - 1] += token;
      last = i;
    } else {
      flush();
      const power = /^(\d.*)e(.*)$/.exec(token);
      out.push(SYMBOLS[token] ?? (token === '.' && (spaced || /[A-Za-z]/.test(next)) ? '\\cdot ' : power ? `${power[1] === '1' ? '' : `${power[1]}\\cdot `}10^{${Number(power[2])}}` : token));
    }
  }
  flush();
  return out.join('').replace(/ +/g, ' ').trim();
}

// The descriptors that write products of vectors as " x ", and those in which a prime is a derivative.
export const reading = (kind): Reading => ({ transposes: kind !== 'scenes', crosses: kind === 'joints' || kind === 'forces' });

// "a = b;  c = d" as its clauses, which a narrow page puts below each other.
export function clauses(text) {
  const list = [''];
  let depth = 0;
  for (const part of text.split(/(?<=[;,])\s{2,}|(?<=;)\s+/)) {
    list[list.length - 1] += part;
    depth += part.split(/[([]/).length - part.split(/[)\]]/).length;
    if (depth <= 0) list.push('');
    else list[list.length - 1] += ' ';
  }
  return list.filter((t) => t);
}

let dressed = false;

function dress() {
  if (dressed) return;
  dressed = true;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(sheetText.replace(/@font-face\s*\{[^}]*\}/g, ''));
  document.adoptedStyleSheets.push(sheet);
  addFonts([['AMS', ams], ['Main', main], ['Math', letters, 'italic'], ['SansSerif', transposed], ['Size1', sums]]);
}

// [family, data, style, weight]
export function addFonts(list: string[][]) {
  for (const [family, data, style = 'normal', weight = 'normal'] of list) document.fonts.add(new FontFace(`KaTeX_${family}`, `url(${data})`, { style, weight }));
}

// Sets TeX into e; what KaTeX refuses stays as it is written.
export function setTex(e, text, display = false) {
  dress();
  try {
    katex.render(text, e, { throwOnError: true, strict: 'ignore', displayMode: display });
    e.title = text;
  } catch {
    e.textContent = text;
    e.dataset.failed = 'yes';
  }
  return e;
}

// Sets an equation into e, which is left alone where KaTeX does not understand it.
export function setEquation(e, text, kind) {
  dress();
  try {
    const set = clauses(text).map((clause) => {
      const span = document.createElement('span');
      katex.render(tex(clause, reading(kind)), span, { throwOnError: true, strict: 'ignore' });
      return span;
    });
    e.replaceChildren(...set);
    e.title = text;
  } catch {
    e.textContent = text;
    e.dataset.failed = 'yes';
  }
  return e;
}

export function equation(text, kind) {
  const e = document.createElement('p');
  e.className = 'equation';
  return setEquation(e, text, kind);
}
