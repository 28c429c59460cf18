// SPDX-License-Identifier: GPL-3.0-or-later
// The script of the site (perp site): the search, and what scrolls.  Its index is a script, as file:// fetches nothing.

import { printsOpen, scrolls } from './access';

interface Index {
  sections: [string, string, string, string][]; // page#anchor, title, heading, beginning of the text
  words: Record<string, number[]>; // differences of sections and counts, one after the other
}
export interface Hit { score: number; page: string; title: string; heading: string; text: string }

const plain = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
export const terms = (query: string) => [...new Set((plain(query).match(/[\p{L}\p{N}_][\p{L}\p{N}_.:-]*/gu) ?? []).map((t) => t.replace(/[.:_-]+$/, '')).filter((t) => t.length > 1))];

// Words that begin with a term, less for longer ones: "drift" finds "drifts".  "forces" finds "force" too.
function matches(index: Index, keys: string[], term: string) {
  const found = new Map<number, number>();
  const add = (word: string, weight: number) => {
    const list = index.words[word];
    for (let k = 0, at = 0; k < list.length; k += 2) {
      at += list[k];
      found.set(at, (found.get(at) ?? 0) + weight * (list[k + 1] / (list[k + 1] + 2)) * (list[k + 1] > 7 ? 3 : 1));
    }
  };
  let low = 0, high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keys[middle] < term) low = middle + 1;
    else high = middle;
  }
  const list: [string, number][] = [];
  for (let k = low; k < keys.length && keys[k].startsWith(term); k++) list.push([keys[k], term.length / keys[k].length]);
  const stem = term.replace(/s$/, '');
  if (stem !== term && stem in index.words) list.push([stem, 0.9]);
  for (const [word, near] of list) {
    const rare = Math.log(1 + index.sections.length / (index.words[word].length / 2));
    add(word, near * near * rare);
  }
  return found;
}

// Sections with all words of the query, the best first.
export function find(index: Index, query: string, most = 40): Hit[] {
  const keys = Object.keys(index.words), wanted = terms(query).map((t) => matches(index, keys, t));
  if (wanted.length === 0) return [];
  const phrase = plain(query).trim(), hits: Hit[] = [];
  for (const [n, first] of wanted[0]) {
    let score = first;
    for (const other of wanted.slice(1)) score = other.has(n) ? score + other.get(n) : -Infinity;
    if (score === -Infinity) continue;
    const [page, title, heading, text] = index.sections[n];
    const head = plain(heading);
    if (head === phrase || head.startsWith(`${phrase} (`)) score *= 4; // the page of that name
    else if (head.includes(phrase)) score *= 2;
    hits.push({ score, page, title, heading, text });
  }
  // a page once or twice, not with all of its sections
  const shown = new Map<string, number>();
  return hits.sort((a, b) => b.score - a.score).filter((h) => {
    const page = h.page.split('#')[0], n = (shown.get(page) ?? 0) + 1;
    shown.set(page, n);
    return n <= 2;
  }).slice(0, most);
}

function element(tag: string, text = '', attributes: Record<string, string> = {}) {
  const e = document.createElement(tag);
  e.textContent = text;
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
}

function load(path: string) {
  return new Promise<Index>((done, failed) => {
    const have = (window as any).perpIndex;
    if (have) return done(have);
    const script = element('script', '', { src: path }) as HTMLScriptElement;
    script.onload = () => done((window as any).perpIndex);
    script.onerror = failed;
    document.head.append(script);
  });
}

async function searching() {
  const place = document.getElementById('results'), top = document.body.dataset.top ?? '.';
  const box = document.querySelector<HTMLInputElement>('header input[type=search]');
  if (!place || !box) return;
  const query = new URLSearchParams(location.search).get('q') ?? '';
  box.value = query;
  const index = await load(`${top}/assets/index.js`);
  const show = () => {
    const hits = find(index, box.value);
    place.replaceChildren(element('p', terms(box.value).length === 0 ? 'Type a word of two letters or more.' : `${hits.length === 40 ? 'The best 40' : hits.length} ${hits.length === 1 ? 'section' : 'sections'} for “${box.value}”.`, { class: 'note', role: 'status' }),
      ...hits.map((h) => {
        const item = element('article'), head = element('h2');
        head.append(element('a', h.heading, { href: `${top}/${h.page}` }));
        item.append(head);
        if (h.title !== h.heading) item.append(element('p', h.title, { class: 'note' }));
        item.append(element('p', h.text));
        return item;
      }));
    document.documentElement.dataset.hits = String(hits.length);
  };
  box.addEventListener('input', show);
  show();
}

if (typeof document !== 'undefined')
  document.addEventListener('DOMContentLoaded', () => {
    searching();
    printsOpen();
    for (const [selector, name] of [['.scroll', 'table'], ['pre', 'text']])
      for (const e of document.querySelectorAll<HTMLElement>(selector)) scrolls(e, `${e.querySelector('table')?.getAttribute('aria-label') ?? name}, scrolls`);
    document.documentElement.dataset.ready = 'yes';
  });
