// SPDX-License-Identifier: GPL-3.0-or-later
// Sixteen styles of curves, a colour and a marker each: those of the static figures (experiments/pages/styles.c), which the
// data of the page carry.  Colours are variables of a sheet.
let styles = [];

const media = window.matchMedia('(prefers-color-scheme: dark)');
export const onTheme = (f) => media.addEventListener('change', f);

// A <style> that is added is against the policy of the pages, a sheet is not.
export function dress(...texts: string[]) {
  document.adoptedStyleSheets = texts.map((text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    return sheet;
  });
}

// The sheet that goes with the styles.
export function styleSheet(list) {
  styles = list;
  const set = (scheme) => list.map((s, i) => `--c${i}:${s[scheme]}`).join(';');
  return `:root{${set('light')}}@media screen and (prefers-color-scheme:dark){:root{${set('dark')}}}`;
}

const style = (i) => styles[((i % styles.length) + styles.length) % styles.length];
export const colour = (i) => `var(--c${i % styles.length})`;
export const dash = (i) => (style(i).dashed ? [6, 3] : []);
export const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
// for a canvas, which knows no variables
export const paint = (i) => ink(`c${i % styles.length}`);
export const variables = () => ['page', 'ink', 'soft', 'line', 'panel', 'accent', 'bad', 'mark', 'good'];
// the colours of a picture that leaves the page: those of paper
export const paper = (name) => (/^c\d+$/.test(name) ? styles[Number(name.slice(1))].light : { page: '#ffffff', ink: '#1b1f24', soft: '#59636e', line: '#d8dee4', accent: '#0072b2', bad: '#b3261e' }[name] ?? '#000000');

// The markers in a field of 16 x 16 around (8, 8).
const paths = {
  circle: 'M12 8a4 4 0 1 0-8 0a4 4 0 1 0 8 0z',
  square: 'M4.5 4.5h7v7h-7z',
  up: 'M8 3.2l4.6 8.2h-9.2z',
  diamond: 'M8 2.8l4.2 5.2l-4.2 5.2l-4.2-5.2z',
  down: 'M8 12.8l4.6-8.2h-9.2z',
  pentagon: 'M8 3.4l4.6 3.3l-1.8 5.4h-5.6l-1.8-5.4z',
  plus: 'M8 3.5v9M3.5 8h9',
  cross: 'M4.5 4.5l7 7M11.5 4.5l-7 7',
  star: 'M8 3.5v9M3.5 8h9M4.8 4.8l6.4 6.4M11.2 4.8l-6.4 6.4',
};
export function markerShape(i) {
  const s = style(i);
  return { path: paths[s.marker], open: s.open, stroked: ['plus', 'cross', 'star'].includes(s.marker) };
}

// The marker of a curve as a small picture.
export function marker(i) {
  const ns = 'http://www.w3.org/2000/svg', m = markerShape(i);
  const picture = document.createElementNS(ns, 'svg');
  picture.setAttribute('viewBox', '-5 0 26 16');
  picture.setAttribute('class', 'marker');
  picture.setAttribute('aria-hidden', 'true');
  const part = (attributes) => {
    const e = document.createElementNS(ns, 'path');
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, String(v));
    picture.append(e);
  };
  part({ d: 'M-5 8h26', stroke: colour(i), 'stroke-width': 1.6, 'stroke-dasharray': dash(i).join(' ') });
  part({ d: m.path, fill: m.stroked ? 'none' : m.open ? 'var(--page)' : colour(i), stroke: colour(i), 'stroke-width': m.stroked ? 2 : 1.5 });
  return picture;
}
