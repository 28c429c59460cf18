// SPDX-License-Identifier: GPL-3.0-or-later
// Markdown of lessons: paragraphs, lists, headings, fences, tables, quotes, **, *, `code`, links, $mathematics$. The terminal shows
// the same source as plain text (experiments/lessons/lesson_text.c).
import { scrolls } from '../access';
import { h } from '../dom';
import { setTex } from '../equations';
import { block } from './words';

function maths(text, display) {
  const e = h('span', { class: display ? 'display' : 'formula' });
  setTex(e, text.trim(), display);
  return e;
}

// The inline part: a list of nodes and texts.
export function inline(text): any[] {
  const parts = [], mark = /\\([!-/:-@[-`{-~])|\$\$([^]+?)\$\$|\$((?:\\.|[^$\\])+)\$|`([^`]+)`|\*\*(.+?)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*|\[([^\]]+)\]\((https?:[^)\s]+|#[^)\s]*)\)/g;
  let at = 0;
  for (const m of text.matchAll(mark)) {
    parts.push(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[1]) parts.push(m[1]);
    else if (m[2]) parts.push(maths(m[2], true));
    else if (m[3]) parts.push(maths(m[3], false));
    else if (m[4]) parts.push(h('code', {}, m[4]));
    else if (m[5]) parts.push(h('b', {}, inline(m[5])));
    else if (m[6]) parts.push(h('em', {}, inline(m[6])));
    else parts.push(h('a', { href: m[8] }, inline(m[7])));
  }
  return [...parts, text.slice(at)].filter((p) => p !== '');
}

const item = /^(?:- |\d{1,3}\. )/;
const starts = (line) => /^(#{1,4} |```|\||>|\$\$|---)/.test(line) || item.test(line);

// level: of the headings that '#' becomes.
export function markdown(text, level = 2): any[] {
  const out = [], lines = text.split('\n');
  let i = 0;
  const take = (wanted) => {
    const from = i;
    while (i < lines.length && wanted(lines[i], i === from)) i++;
    return lines.slice(from, i);
  };
  while (i < lines.length) {
    const line = lines[i], heading = /^(#{1,4}) (.*)/.exec(line);
    if (!line.trim() || /^---/.test(line)) i++;
    else if (heading) {
      i++;
      out.push(h(`h${Math.min(6, level + heading[1].length - 1)}`, {}, inline(heading[2])));
    } else if (line.startsWith('```')) {
      i++;
      out.push(block(take((l) => !l.startsWith('```')).join('\n')));
      i++;
    } else if (line.startsWith('|')) {
      const rows = take((l) => l.startsWith('|')).map((l) => l.replace(/^\||\|\s*$/g, '').split(/(?<!\\)\|/).map((c) => c.trim())), head = rows.length > 1 && rows[1].every((c) => /^:?-+:?$/.test(c));
      out.push(scrolls(h('div', { class: 'scroll' }, h('table', { 'aria-label': `table: ${rows[0].filter((c) => c).join(', ')}` }, ...rows.filter((_, k) => !(head && k === 1)).map((cells, k) => h('tr', {}, ...cells.map((c) => h(head && k === 0 && c ? 'th' : 'td', { class: 'wrap', scope: head && k === 0 && c ? 'col' : null }, inline(c))))))), 'table, scrolls'));
    } else if (line.startsWith('$$')) {
      let block = '';
      do block += `${lines[i++]}\n`; while (i < lines.length && !/\$\$\s*$/.test(block.trim().slice(2)) && lines[i].trim());
      out.push(scrolls(h('p', { class: 'equation' }, maths(block.trim().replace(/^\$\$|\$\$$/g, ''), true)), 'equation, scrolls'));
    } else if (line.startsWith('>')) out.push(h('blockquote', {}, markdown(take((l) => l.startsWith('>')).map((l) => l.replace(/^> ?/, '')).join('\n'), level)));
    else if (item.test(line)) {
      const ordered = /^\d/.test(line), items = [];
      while (i < lines.length && item.test(lines[i])) items.push(take((l, first) => (first ? item.test(l) : l.trim() && !starts(l))).join(' ').replace(item, ''));
      out.push(h(ordered ? 'ol' : 'ul', {}, ...items.map((t) => h('li', {}, inline(t)))));
    } else out.push(h('p', {}, inline(take((l, first) => first || (l.trim() && !starts(l))).join(' '))));
  }
  return out;
}
