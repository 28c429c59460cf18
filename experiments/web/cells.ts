// SPDX-License-Identifier: GPL-3.0-or-later
// Every cell: filter, sort, and the command line that repeats it alone.
import { brief } from './data';
import { copyText, h, scroll } from './dom';
import { compile } from './expr';
import { link } from './link';
import { csvText, saveAs } from './save';

const PAGE = 50;

// The cells as the expression language sees them.
function scopeOf(data) {
  const columns = new Map();
  const plain = { status: data.cells.status, reason: data.cells.reason, cell: data.cells.id };
  for (const [name, list] of Object.entries(plain)) columns.set(name, { type: 'text', value: (c) => list[c] });
  for (const a of data.axes) {
    const option = (key, c) => data.options[`${a.key}.${key}`]?.[c] ?? undefined;
    columns.set(a.key, data.quantity[a.key] ? { type: 'number', unit: a.unit ?? '', value: data.quantity[a.key].value } : { type: a.plugin ? 'plugin' : 'text', value: (c) => data.text(c, a.key), option });
  }
  for (const [name, q] of Object.entries<any>(data.quantity)) if (!columns.has(name)) columns.set(name, { type: 'number', unit: q.unit, value: q.value });
  for (const m of data.metrics) columns.set(m.name, { type: 'number', unit: m.unit, value: (c) => data.value(c, m.name) });
  return {
    column: (name) => columns.get(name) ?? null,
    names: [...columns.keys()],
    // which cells have a word in one of their texts: each text is looked at once, however many cells have it
    having(word) {
      const axes = data.axes.map((a) => ({ of: a.of, has: a.values.map((v) => v.toLowerCase().includes(word)) }));
      const seen = new Map();
      const has = (text) => {
        if (!seen.has(text)) seen.set(text, (text ?? '').toLowerCase().includes(word));
        return seen.get(text);
      };
      const { id, status, reason, cause } = data.cells;
      return (c) => axes.some((a) => a.has[a.of[c]]) || has(status[c]) || has(reason[c]) || has(cause[c]) || id[c].includes(word);
    },
  };
}

export function cellBrowser(data) {
  const axes = data.axes.map((a) => a.key).filter((k) => k !== data.xKey);
  const metrics = [...new Set([data.study.primary, ...data.study.record, 'time.step_us', 'time.cpu'])].filter((m) => m && data.metric[m]).slice(0, 8);
  const columns = [
    { key: 'status', text: (c) => data.cells.status[c] },
    ...axes.map((k) => (data.quantity[k] ? { key: k, title: data.axis[k].unit ? `${k} [${data.axis[k].unit}]` : k, number: data.quantity[k].value } : { key: k, text: (c) => data.text(c, k) })),
    ...(data.xKey ? [{ key: data.xKey, title: data.view.x_name, number: (c) => data.x(c) }] : []),
    ...metrics.map((m) => ({ key: m, title: data.metric[m].unit ? `${m} [${data.metric[m].unit}]` : m, number: (c) => data.value(c, m) })),
  ];
  const byKey = Object.fromEntries(columns.map((c) => [c.key, c]));
  const scope = scopeOf(data);

  const usual = `${data.study.primary && byKey[data.study.primary] ? data.study.primary : 'status'} up`;
  const [key0, way] = (link.get('cells.sort') ?? usual).split(' ');
  let sort = { key: byKey[key0] ? key0 : usual.split(' ')[0], down: way === 'down' };
  let limit = PAGE, wanted: (c: number) => boolean = () => true, rows = [];
  const opened = new Set();

  function order(a, b) {
    const column = byKey[sort.key];
    let d;
    if (column.number) {
      const x = column.number(a), y = column.number(b);
      // what has no number comes last, whichever way
      if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a - b;
      d = x - y;
    } else {
      const x = column.text(a), y = column.text(b);
      d = x < y ? -1 : x > y ? 1 : 0;
    }
    return (sort.down ? -d : d) || a - b;
  }

  const head = h('thead', {}), body = h('tbody', {}), count = h('p', { class: 'note cells-count', 'aria-live': 'polite' });
  const fault = h('p', { class: 'cells-fault bad', id: 'cells-fault', role: 'alert', hidden: true });
  const more = h('button', { class: 'tool', type: 'button', onclick: () => { limit *= 4; show(); } });
  const filter = h('input', {
    class: 'cells-filter', type: 'search', 'aria-label': 'filter the runs', 'aria-describedby': 'cells-fault', spellcheck: 'false', autocomplete: 'off',
    placeholder: `a word, or ${example(data)}`, oninput: () => apply(filter.value),
  });

  // An expression that cannot be read is said, and the cells stay as they were.
  function apply(text) {
    link.set('cells.filter', text.trim(), '');
    try {
      wanted = compile(text, scope);
      fault.hidden = true;
    } catch (e) {
      if (e.at === undefined) throw e;
      fault.replaceChildren(h('code', {}, text.slice(0, e.at), h('mark', {}, text.slice(e.at, e.at + 12) || ' ')), ` ${e.message}`);
      fault.hidden = false;
      filter.setAttribute('aria-invalid', 'true');
      return;
    }
    filter.removeAttribute('aria-invalid');
    limit = PAGE;
    select();
  }

  function detail(c) {
    const command = data.cells.command(c);
    const copy = h('button', { class: 'tool copy', type: 'button', onclick: () => copyText(command, copy) }, 'copy');
    const values = data.metrics.filter((m) => !Number.isNaN(data.value(c, m.name)))
      .map((m) => `${m.name} = ${brief(data.value(c, m.name))}${m.unit ? ` ${m.unit}` : ''}`);
    return h('td', { class: 'detail', colspan: columns.length }, h('div', { class: 'detail-box' },
      h('div', {}, h('strong', {}, 'run '), h('code', {}, data.cells.id[c]), data.mark(c) ? ` – ${data.cells.status[c]}: ${data.why(c)}` : '', data.cells.partial[c] === null ? '' : ` (values up to t = ${brief(data.cells.partial[c])} s)`),
      h('div', {}, h('strong', {}, 'rerun '), h('code', {}, command), copy),
      h('div', {}, h('strong', {}, 'details '), h('code', {}, `perp show ${data.cells.dir[c]} ${data.cells.id[c].slice(0, 8)}`)),
      h('div', { class: 'note' }, values.join(' · '))));
  }

  function select() {
    rows = [];
    for (let c = 0; c < data.n; c++) if (wanted(c)) rows.push(c);
    rows.sort(order);
    show();
  }

  // what is made anew keeps the focus
  const again = (where, selector) => where.querySelector(selector)?.focus({ preventScroll: true });

  function show() {
    head.replaceChildren(h('tr', {}, columns.map((k) => h('th', { class: k.number ? 'n' : '', scope: 'col', 'aria-sort': sort.key === k.key ? (sort.down ? 'descending' : 'ascending') : null },
      h('button', { type: 'button', onclick: () => {
        sort = { key: k.key, down: sort.key === k.key && !sort.down };
        link.set('cells.sort', `${sort.key} ${sort.down ? 'down' : 'up'}`, usual);
        select();
        again(head, `button[data-key="${k.key}"]`);
      }, 'data-key': k.key }, `${k.title ?? k.key}${sort.key === k.key ? (sort.down ? ' ▼' : ' ▲') : ''}`)))));
    body.replaceChildren(...rows.slice(0, limit).flatMap((c) => {
      // the row for a pointer, a button for keys
      const toggle = () => { opened.has(c) ? opened.delete(c) : opened.add(c); show(); again(body, `button[data-run="${c}"]`); };
      const open = (text) => h('button', { class: 'open', type: 'button', 'data-run': c, 'aria-expanded': String(opened.has(c)) }, text);
      const row = h('tr', { class: 'row', onclick: toggle },
        columns.map((k) => k.number
          ? h('td', { class: 'n' }, brief(k.number(c)))
          : h('td', { class: k.key !== 'status' || !data.mark(c) ? '' : data.unsuited(c) ? 'unsuited' : data.stands(c) ? 'mark' : 'bad' }, k.key === 'status' ? open(k.text(c)) : k.text(c))));
      return opened.has(c) ? [row, h('tr', {}, detail(c))] : [row];
    }));
    count.textContent = rows.length === data.n ? `${data.n} runs` : `${rows.length} of ${data.n} runs`;
    more.hidden = rows.length <= limit;
    more.textContent = `show more (${Math.max(0, rows.length - limit)} left)`;
  }
  const save = h('button', { class: 'tool', type: 'button', 'data-tool': 'csv', title: 'all values of the filtered runs', onclick: () => {
    const texts = data.axes.map((a) => a.key), options = Object.keys(data.options);
    saveAs('cells.csv', 'text/csv', csvText([
      ['cell', 'status', 'reason', ...texts, ...options, ...data.metrics.map((m) => m.name)],
      ...rows.map((c) => [data.cells.id[c], data.cells.status[c], data.cells.reason[c], ...texts.map((k) => data.text(c, k)), ...options.map((k) => data.options[k][c]), ...data.metrics.map((m) => m.values[c])]),
    ]));
  } }, 'CSV');
  const help = h('details', { class: 'note' }, h('summary', {}, 'filter syntax'),
    h('p', {}, 'The language of ', h('code', {}, '--only'), ' and of claims: ', h('code', {}, 'and or not'), ', ', h('code', {}, '== != < <= > >='), ', ', h('code', {}, 'in (...)'), ', arithmetic, powers and units (', h('code', {}, '2^-8'), ', ', h('code', {}, '1 ms'),
      '). The name of a method matches it with any options. A single word is searched in all texts of a run. Columns: ', ...scope.names.flatMap((n, k) => [k ? ' ' : '', h('code', {}, n)])));
  filter.value = link.get('cells.filter') ?? '';
  select();
  if (filter.value) apply(filter.value);
  const element = h('div', { class: 'cells', id: 'live-cells', 'data-state': 'drawn' }, filter, fault, help, count,
    scroll('All runs', h('table', { 'aria-label': 'All runs' }, head, body)), h('div', { class: 'tools' }, more, save));
  return {
    element,
    // from other figures: show these cells
    find(text) {
      filter.value = text;
      apply(text);
      element.scrollIntoView();
      filter.focus({ preventScroll: true });
    },
  };
}

function example(data) {
  const part = data.axes.find((a) => a.plugin);
  const first = part ? `${part.key} == "${part.values.find((v) => v)}"` : 'status == ok';
  return data.xKey === 'h' ? `${first} and h <= 1 ms` : `${first} and status != ok`;
}
