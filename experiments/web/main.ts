// SPDX-License-Identifier: GPL-3.0-or-later
// Everything of a page is made here of the JSON that it carries: a report or the page of `perp view`.
import { printsOpen, scrolls } from './access';
import { cellBrowser } from './cells';
import { curves } from './curves';
import { readData } from './data';
import { h } from './dom';
import { headline } from './headline';
import { link } from './link';
import liveStyle from './live.css';
import { failureMatrix, stabilityMap, stepMap } from './matrix';
import pageStyle from './page.css';
import { profiles, withFamilies } from './profiles';
import { replay } from './replay';
import { report } from './report';
import { residuals, seriesOf, timeSeries } from './series';
import { dress, styleSheet } from './theme';
import { view } from './view';

async function reportPage(text) {
  const data = readData(text);
  dress(pageStyle, styleSheet(data.styles), liveStyle);
  document.documentElement.classList.add('live');
  const problems = data.study.kind === 'lcp', browser = cellBrowser(data), series = seriesOf(data), problemCount = data.axis.problem?.values.length ?? 1;
  const live = data.n === 0 ? { headline: ['', []], problems: ['', []], curves: ['', []], series: ['', []], replay: ['', []], cells: ['', []] } : {
    headline: ['', headline(data)],
    problems: [`Solvers on ${problemCount} problem${problemCount === 1 ? '' : 's'}`, problems ? [...failureMatrix(data, browser), ...profiles(data), ...curves(Object.assign(data, { families: withFamilies(data) })), ...residuals(data, series)] : []],
    curves: ['Figures', problems ? [] : [...curves(data), ...stepMap(data, browser), ...stabilityMap(data)]],
    series: ['Drift and energy over time', timeSeries(data, series)],
    replay: ['Replay', replay(data)],
    cells: ['All runs', [browser], h('p', { class: 'note' }, h('code', {}, `perp show ${data.dir} RUN`), ' prints everything about one run. The command in its details repeats it.')],
  };
  report(data, live);
  for (const [, figures] of Object.values(live)) for (const f of figures) if (f.redraw) await f.redraw();
  const at = link.get('at');
  if (at) document.getElementById(`live-${at}`)?.scrollIntoView();
}

const pages = {
  'perp-report/3': reportPage,
  'perp-view/1': (text) => {
    const main = h('main', { id: 'view' }), data = JSON.parse(text);
    dress(pageStyle, liveStyle);
    main.append(h('h1', {}, document.title));
    document.body.append(main);
    view(data, main);
  },
};

async function start() {
  const text = document.getElementById('data').textContent, schema = /^\s*\{\s*"schema"\s*:\s*"([^"]*)"/.exec(text)?.[1];
  if (!pages[schema]) throw new Error(`data of another version: ${schema}`);
  await pages[schema](text);
  printsOpen();
  for (const [selector, name] of [['pre', 'text'], ['.equation', 'equation']]) for (const e of document.querySelectorAll<HTMLElement>(selector)) scrolls(e, `${name}, scrolls`);
  document.documentElement.setAttribute('data-ready', 'yes');
}

start().catch((e) => {
  console.error(e);
  document.documentElement.setAttribute('data-ready', 'failed');
});
