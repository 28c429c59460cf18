// SPDX-License-Identifier: GPL-3.0-or-later
// The interactive figures of a report, and the page of `perp view`.  A report is whole without them: each replaces the
// pictures of its section once it has been drawn.
import { cellBrowser } from './cells.js';
import { curves } from './curves.js';
import { readData } from './data.js';
import { h } from './dom.js';
import { failureMatrix, stabilityMap, stepMap } from './matrix.js';
import { profiles, withFamilies } from './profiles.js';
import { replay } from './replay.js';
import { residuals, seriesOf, timeSeries } from './series.js';
import { link } from './link.js';
import style from './style.css';
import { styleSheet } from './theme.js';
import { view } from './view.js';

const section = (name) => document.getElementById(`s-${name}`);

// Put live figures in the place of the pictures of a section.
async function replace(name, figures, { keep = '' } = {}) {
  const place = section(name);
  if (!place || figures.length === 0) return;
  const pictures = [...place.children].filter((e) => e.tagName !== 'H2' && !(keep && e.matches(keep)));
  // what the pictures were drawn from stays at hand
  const files = [...new Map(pictures.flatMap((e) => [...e.querySelectorAll('figcaption a')]).map((a) => [a.getAttribute('href'), a])).values()];
  place.append(...figures.map((f) => f.element));
  if (files.length)
    place.append(h('details', { class: 'note files' }, h('summary', {}, 'the same as gnuplot draws it, for a document'),
      h('p', {}, files.flatMap((a, k) => [k ? ' ' : '', h('a', { href: a.getAttribute('href') }, a.getAttribute('href').replace(/^.*\//, ''))]), '. perp report DIR --figs pdf --width column draws them as PDF, 8.4 cm wide.')));
  for (const f of figures) if (f.redraw) await f.redraw();
  for (const e of pictures) e.remove();
}

// A <style> that is added is against the policy of the page, a sheet is not.
function dress(styles) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`${styleSheet(styles)}\n${style}`);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

async function start() {
  const motion = document.getElementById('perp-view');
  if (motion) {
    dress([]);
    view(JSON.parse(motion.textContent), document.getElementById('view'));
    document.documentElement.setAttribute('data-ready', 'yes');
    return;
  }
  const data = readData(document);
  if (!data || data.n === 0) return;
  dress(data.styles);
  document.documentElement.classList.add('live');
  const browser = cellBrowser(data);
  await replace('cells', [browser]);
  const series = seriesOf(data);
  await replace('problems', [...failureMatrix(data, browser), ...profiles(data), ...(data.study.kind === 'lcp' ? curves(Object.assign(data, { families: withFamilies(data) })) : []), ...residuals(data, series)]);
  await replace('curves', [...(data.study.kind === 'lcp' ? [] : curves(data)), ...stepMap(data, browser), ...stabilityMap(data)]);
  await replace('series', timeSeries(data, series));
  await replace('replay', replay(data));
  const at = link.get('at');
  if (at) document.getElementById(`live-${at}`)?.scrollIntoView();
  document.documentElement.setAttribute('data-ready', 'yes');
}

start().catch((e) => {
  console.error(e);
  document.documentElement.setAttribute('data-ready', 'failed');
});
