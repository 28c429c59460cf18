// SPDX-License-Identifier: GPL-3.0-or-later
// Every cell: filter, sort, and the command line that repeats it alone.
import { brief } from './data.js';
import { h } from './dom.js';

const PAGE = 50;

// "post h<=1e-3 status==ok": words are looked for in the texts, comparisons in the numbers.
function parse(text) {
  return text.trim().split(/\s+/).filter((t) => t).map((token) => {
    const m = /^([\w.]+)(<=|>=|==|!=|<|>|=)(.+)$/.exec(token);
    return m ? { column: m[1], op: m[2] === '=' ? '==' : m[2], value: m[3] } : { word: token.toLowerCase() };
  });
}

const compare = { '<': (a, b) => a < b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b, '==': (a, b) => a === b, '!=': (a, b) => a !== b };

export function cellBrowser(data) {
  const axes = data.axes.map((a) => a.key).filter((k) => k !== data.xKey);
  const metrics = [...new Set([data.study.primary, ...data.study.record, 'time.step_us', 'time.cpu'])].filter((m) => m && data.metric[m]).slice(0, 8);
  const columns = [
    { key: 'status', text: (c) => data.cells.status[c] },
    ...axes.map((k) => ({ key: k, text: (c) => data.text(c, k), number: data.axis[k].plugin ? null : (c) => Number.parseFloat(data.text(c, k)) })),
    ...(data.xKey ? [{ key: data.xKey, title: data.view.x_name, number: (c) => data.x(c) }] : []),
    ...metrics.map((m) => ({ key: m, title: data.title(m), number: (c) => data.value(c, m) })),
  ];
  const byKey = Object.fromEntries(columns.map((c) => [c.key, c]));
  const haystack = Array.from({ length: data.n }, (_, c) =>
    [data.cells.id[c], data.cells.status[c], data.cells.reason[c], data.cells.cause[c], ...axes.map((k) => data.text(c, k))].join(' ').toLowerCase());

  let sort = data.study.primary && byKey[data.study.primary] ? { key: data.study.primary, down: false } : { key: 'status', down: false };
  let limit = PAGE, query = [], opened = new Set();

  function matches(c) {
    return query.every((t) => {
      if (t.word !== undefined) return haystack[c].includes(t.word);
      const column = byKey[t.column];
      const v = Number(t.value);
      const metric = data.metric[t.column];
      if (column?.number || metric) {
        const x = column?.number ? column.number(c) : data.value(c, t.column);
        return !Number.isNaN(v) && !Number.isNaN(x) && compare[t.op](x, v);
      }
      const text = column ? column.text(c) : t.column === 'reason' ? data.cells.reason[c] : null;
      return text !== null && compare[t.op](text === t.value || text.startsWith(`${t.value}:`), true);
    });
  }

  function order(a, b) {
    const column = byKey[sort.key];
    let d;
    if (column.number) {
      const x = column.number(a), y = column.number(b);
      // what has no number comes last, whichever way
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a - b;
      d = x - y;
    } else d = column.text(a).localeCompare(column.text(b));
    return (sort.down ? -d : d) || a - b;
  }

  const head = h('thead', {}), bodyElement = h('tbody', {}), count = h('p', { class: 'note', 'aria-live': 'polite' });
  const more = h('button', { class: 'tool', type: 'button', onclick: () => { limit *= 4; show(); } });
  const filter = h('input', {
    class: 'cells-filter', type: 'search', 'aria-label': 'filter the cells',
    placeholder: `filter: words, or comparisons such as ${data.xKey ? `${data.xKey}<=${brief(data.x(0))}` : 'status==ok'}`,
    oninput: () => { query = parse(filter.value); limit = PAGE; show(); },
  });

  function detail(c) {
    const command = data.cells.command[c];
    const copy = h('button', {
      class: 'tool copy', type: 'button',
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(command);
          copy.textContent = 'copied';
        } catch {
          const range = document.createRange();
          range.selectNodeContents(code);
          getSelection().removeAllRanges();
          getSelection().addRange(range);
          copy.textContent = 'selected';
        }
      },
    }, 'copy');
    const code = h('code', {}, command);
    const values = data.metrics.filter((m) => !Number.isNaN(data.value(c, m.name)))
      .map((m) => `${m.name} = ${brief(data.value(c, m.name))}${m.unit ? ` ${m.unit}` : ''}`);
    return h('td', { class: 'detail', colspan: columns.length },
      h('div', {}, h('strong', {}, 'cell '), h('code', {}, data.cells.id[c]), data.mark(c) ? ` – ${data.cells.status[c]}: ${data.why(c)}` : '', data.cells.partial[c] === null ? '' : ` (figures up to t = ${brief(data.cells.partial[c])} s)`),
      h('div', {}, h('strong', {}, 'rerun '), code, copy),
      h('div', {}, h('strong', {}, 'all about it '), h('code', {}, `perp show ${data.cells.dir[c]} ${data.cells.id[c].slice(0, 8)}`)),
      h('div', { class: 'note' }, values.join(' · ')));
  }

  function show() {
    const rows = [];
    for (let c = 0; c < data.n; c++) if (matches(c)) rows.push(c);
    rows.sort(order);
    head.replaceChildren(h('tr', {}, columns.map((k) => h('th', { class: k.number ? 'n' : '', 'aria-sort': sort.key === k.key ? (sort.down ? 'descending' : 'ascending') : null },
      h('button', { type: 'button', onclick: () => { sort = { key: k.key, down: sort.key === k.key && !sort.down }; show(); } },
        `${k.title ?? k.key}${sort.key === k.key ? (sort.down ? ' ▼' : ' ▲') : ''}`)))));
    bodyElement.replaceChildren(...rows.slice(0, limit).flatMap((c) => {
      const toggle = () => { opened.has(c) ? opened.delete(c) : opened.add(c); show(); };
      const row = h('tr', { class: 'row', tabindex: 0, onclick: toggle, onkeydown: (e) => e.key === 'Enter' && toggle() },
        columns.map((k) => k.number
          ? h('td', { class: 'n' }, brief(k.number(c)))
          : h('td', { class: k.key !== 'status' || !data.mark(c) ? '' : data.stands(c) ? 'mark' : 'bad' }, k.text(c))));
      return opened.has(c) ? [row, h('tr', {}, detail(c))] : [row];
    }));
    count.textContent = rows.length === data.n ? `${data.n} cells` : `${rows.length} of ${data.n} cells`;
    more.hidden = rows.length <= limit;
    more.textContent = `show more (${Math.max(0, rows.length - limit)} left)`;
  }
  show();
  const element = h('div', { class: 'cells', id: 'live-cells', 'data-state': 'drawn' }, filter, count,
    h('div', { class: 'scroll' }, h('table', {}, head, bodyElement)), more);
  return {
    element,
    // from other figures: show these cells
    find(text) {
      filter.value = text;
      query = parse(text);
      limit = PAGE;
      show();
      element.scrollIntoView({ behavior: 'smooth' });
    },
  };
}
