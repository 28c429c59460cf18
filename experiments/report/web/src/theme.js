// SPDX-License-Identifier: GPL-3.0-or-later
// Colours and markers.  Okabe & Ito's palette: distinguishable with all common forms of colour blindness;
// a marker tells what a colour tells.

const light = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#000000', '#8C6D1F'];
const dark = ['#56B4E9', '#E8743B', '#2FBF95', '#CC79A7', '#E69F00', '#8FA9FF', '#E6E6E6', '#C2A04A'];
const shapes = ['circle', 'square', 'triangle-up', 'diamond', 'triangle-down', 'cross', 'triangle-right', 'triangle-left'];
const dashes = [[], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3]];

const media = window.matchMedia('(prefers-color-scheme: dark)');
export const isDark = () => media.matches;
export const onTheme = (f) => media.addEventListener('change', f);

export const colour = (i) => (isDark() ? dark : light)[i % light.length];
export const shape = (i) => shapes[(i + Math.floor(i / light.length)) % shapes.length];
export const dash = (i) => dashes[Math.floor(i / light.length) % dashes.length];
export const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// The markers in a field of 16 x 16 around (8, 8).
const paths = {
  circle: 'M12 8a4 4 0 1 0-8 0a4 4 0 1 0 8 0',
  square: 'M4.5 4.5h7v7h-7z',
  'triangle-up': 'M8 3.5l4.5 8h-9z',
  diamond: 'M8 3l4 5l-4 5l-4-5z',
  'triangle-down': 'M8 12.5l4.5-8h-9z',
  cross: 'M6.5 3.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z',
  'triangle-right': 'M12.5 8l-8 4.5v-9z',
  'triangle-left': 'M3.5 8l8 4.5v-9z',
};
export const markerPath = (i) => paths[shape(i)];

// The marker of a curve as a small picture.
export function marker(i) {
  const ns = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(ns, 'svg');
  svg.setAttribute('viewBox', '-5 0 26 16');
  svg.setAttribute('class', 'marker');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS(ns, 'path');
  line.setAttribute('d', 'M-5 8h26');
  line.setAttribute('stroke', colour(i));
  line.setAttribute('stroke-width', '1.6');
  line.setAttribute('stroke-dasharray', dash(i).join(' '));
  const glyph = document.createElementNS(ns, 'path');
  glyph.setAttribute('d', markerPath(i));
  glyph.setAttribute('fill', colour(i));
  svg.append(line, glyph);
  return svg;
}
