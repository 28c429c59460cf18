// SPDX-License-Identifier: GPL-3.0-or-later
// A Vega-Lite specification drawn into an element, in the colours of the page.
import { compile } from 'vega-lite';
import { parse, View, Error as ERROR } from 'vega';
import { expressionInterpreter } from 'vega-interpreter';
import { h } from './dom.js';
import { ink } from './theme.js';

const tip = h('div', { class: 'tip', hidden: true });

// Each mark carries its text in the field `tip`.
function tooltip(_handler, event, item, value) {
  if (value === null || value === undefined || value === '') {
    tip.hidden = true;
    return;
  }
  if (!tip.isConnected) document.body.append(tip);
  tip.textContent = String(value);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const x = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
  const y = event.clientY + 14 + box.height > window.innerHeight ? event.clientY - box.height - 10 : event.clientY + 14;
  tip.style.left = `${Math.max(4, x)}px`;
  tip.style.top = `${Math.max(4, y)}px`;
}

function config() {
  const soft = ink('soft');
  return {
    background: null,
    font: getComputedStyle(document.body).fontFamily,
    view: { stroke: null },
    axis: {
      labelColor: soft, titleColor: ink('ink'), domainColor: soft, tickColor: soft, gridColor: ink('line'),
      gridOpacity: 0.7, labelFontSize: 11, titleFontSize: 12, titleFontWeight: 'normal', labelFlush: true,
    },
    legend: { labelColor: soft, titleColor: ink('ink'), titleFontWeight: 'normal' },
    title: { color: ink('ink'), anchor: 'start', fontWeight: 'normal', fontSize: 13 },
  };
}

// One chart in one element, redrawn as often as wanted; the last call wins.
export function chart(element) {
  let view = null, turn = 0;
  return async function draw(spec, alt) {
    const mine = ++turn;
    const width = Math.max(280, Math.min(element.clientWidth || 700, 1000));
    const full = { $schema: 'https://vega.github.io/schema/vega-lite/v6.json', width, autosize: { type: 'fit', contains: 'padding' }, ...spec };
    const { spec: vega } = compile(full, { config: config(), logger: quiet });
    // expressions are walked, not compiled: the policy of the page knows no eval
    const next = new View(parse(vega, null, { ast: true }), { expr: expressionInterpreter, renderer: 'svg', logLevel: ERROR }).tooltip(tooltip);
    const holder = h('div', { role: 'img', 'aria-label': alt });
    await next.initialize(holder).runAsync();
    if (mine !== turn) {
      next.finalize();
      return;
    }
    if (view) view.finalize();
    view = next;
    element.replaceChildren(holder);
  };
}

// Vega-Lite tells on the console what it drops; what it drops here is known.
const quiet = { level: () => quiet, error: (...a) => (console.error(...a), quiet), warn: () => quiet, info: () => quiet, debug: () => quiet };

// A logarithmic axis with labels that people write: 0.01, 100, 1e-8.
export function logAxis(values, title) {
  const v = values.filter((x) => x > 0 && Number.isFinite(x));
  const decades = Math.log10(Math.max(...v) / Math.min(...v));
  return { title, tickCount: decades > 6 ? 8 : 6, labelOverlap: true, labelExpr: plain };
}
export const plain = "datum.value >= 1e-4 && datum.value < 1e5 ? format(datum.value, '~r') : replace(format(datum.value, '~e'), 'e+', 'e')";

// Room around the data of a logarithmic axis; factors.
export function logDomain(values, below = 1.25, above = 1.25) {
  const v = values.filter((x) => x > 0 && Number.isFinite(x));
  if (v.length === 0) return [0.1, 1];
  return [Math.min(...v) / below, Math.max(...v) * above];
}
