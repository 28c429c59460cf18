// SPDX-License-Identifier: GPL-3.0-or-later
// report.json (docs/reference/report.md; experiments/report/data.c), decoded.

const little = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

export function floats(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  if (little) return new Float32Array(bytes.buffer);
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

// Whole numbers of 1, 2 or 4 bytes, little endian.
function indices({ of, bytes }: { of: string; bytes: number }) {
  const text = atob(of);
  const list = new Int32Array(text.length / bytes);
  for (let i = 0; i < list.length; i++)
    for (let b = 0; b < bytes; b++) list[i] |= text.charCodeAt(bytes * i + b) << (8 * b);
  return list;
}

// A column in one of the forms that data.c writes: an array with an entry a cell.
function column(c) {
  if (c.float !== undefined) return floats(c.float);
  if (c.values === undefined) return new Array(c.n).fill(c.same);
  return Array.from(indices(c), (i) => c.values[i]);
}

// The words of each command; joined when a cell is asked for.
function commands({ words, count, ...all }: any) {
  let list = null, ends = null;
  return (cell) => {
    if (!list) {
      let at = 0;
      list = indices(all);
      ends = indices(count).map((n) => (at += n));
    }
    return Array.from(list.subarray(cell ? ends[cell - 1] : 0, ends[cell]), (i: number) => words[i]).join(' ');
  };
}

// A column is decoded when somebody asks for it first.
function lazily(object, key, make) {
  Object.defineProperty(object, key, {
    configurable: true, enumerable: true,
    get() {
      const value = make();
      Object.defineProperty(object, key, { value, writable: true, configurable: true, enumerable: true });
      return value;
    },
  });
}
const later = (object, key) => {
  const coded = object[key];
  lazily(object, key, () => column(coded));
};

export function readData(text) {
  const d = JSON.parse(text);
  const cells = d.cells;
  d.n = cells.id.length / 16;
  cells.id = Array.from({ length: d.n }, (_, i) => cells.id.substr(16 * i, 16));
  for (const key of ['status', 'mark', 'dir', 'reason', 'cause']) later(cells, key);
  const partial = cells.partial;
  lazily(cells, 'partial', () => Array.from(column(partial), (t) => (Number.isNaN(t) ? null : t)));
  cells.wins = indices(cells.wins);
  d.top.slice = indices(d.top.slice);
  cells.command = commands(cells.command);
  for (const a of d.axes) a.of = indices(a).map((i) => (a.values[i] === '' ? -1 : i));
  for (const key of Object.keys(d.options)) later(d.options, key);
  for (const m of d.metrics)
    for (const key of ['values', 'q1', 'q3']) if (m[key]) later(m, key);
  if (d.view.x) d.view.x = column(d.view.x);
  if (d.view.order) d.view.order = column(d.view.order);
  d.axis = Object.fromEntries(d.axes.map((a) => [a.key, a]));
  d.metric = Object.fromEntries(d.metrics.map((m) => [m.name, m]));
  d.ok = (cell) => d.cells.wins[cell] === 1; // may be the best
  d.stands = (cell) => d.cells.wins[cell] > 0; // has the figures of a whole run
  d.unsuited = (cell) => d.cells.status[cell] === 'unsuited'; // was not asked: no failure
  d.mark = (cell) => d.cells.mark[cell]; // what is to be known of a cell that is not ok
  d.text = (cell, key) => {
    const a = d.axis[key];
    return a && a.of[cell] >= 0 ? a.values[a.of[cell]] : '';
  };
  // the same without the tolerance: cells of one curve have the same
  d.name = (cell, key) => {
    const a = d.axis[key];
    return a && a.of[cell] >= 0 ? a.names[a.of[cell]] : '';
  };
  // a choice in words, by its name and of a cell
  d.wordsOf = (key, name) => {
    const a = d.axis[key], k = a ? a.names.indexOf(name) : -1;
    return k >= 0 ? a.words[k] : name;
  };
  d.choice = (cell, key) => {
    const a = d.axis[key];
    return a && a.of[cell] >= 0 ? a.words[a.of[cell]] : '';
  };
  d.value = (cell, name) => {
    const m = d.metric[name];
    return m && m.values[cell] !== null ? m.values[cell] : NaN;
  };
  d.x = (cell) => (d.view.x ? (d.view.x[cell] ?? NaN) : NaN);
  d.order = (cell) => (d.view.order ? (d.view.order[cell] ?? NaN) : NaN);
  d.adaptive = (cell) => d.view.order && d.view.order[cell] !== d.view.x[cell];
  d.xKey = d.view.x_name ? d.view.x_name.split(' ')[0] : null; // "h" of "h [s]", "scene.links" of "links"
  if (`scene.${d.xKey}` in d.options) d.xKey = `scene.${d.xKey}`;
  d.reference = Math.max(0, ...d.references.map((r) => r.worst).filter((v) => v > 0)); // relative, of the coordinates
  // in words, with the unit: of a metric, of what is varied, of an option
  d.words = (name) => d.metric[name]?.words ?? d.quantity[name]?.words ?? d.labels?.[name] ?? name;
  d.title = (name) => {
    const unit = d.metric[name]?.unit ?? d.quantity[name]?.unit;
    return unit ? `${d.words(name)} [${unit}]` : d.words(name);
  };
  // quartiles over the timing rounds, undefined without
  d.low = (cell, name) => d.metric[name]?.q1?.[cell] ?? undefined;
  d.high = (cell, name) => d.metric[name]?.q3?.[cell] ?? undefined;
  // numbers that were given to the cells: { words, unit, value(cell) }
  d.quantity = {};
  for (const name of Object.keys(d.options)) d.quantity[name] = { words: `${name.slice(name.indexOf('.') + 1)} (${name.slice(0, name.indexOf('.'))})`, unit: d.units?.[name] ?? '', value: (c) => d.options[name][c] ?? NaN };
  for (const a of d.axes)
    if (!a.plugin && a.key !== 'problem' && a.values.every((v) => v === '' || !Number.isNaN(Number(v))))
      d.quantity[a.key] = { words: d.labels?.[a.key] ?? a.key, unit: a.unit ?? '', value: (c) => (a.of[c] >= 0 ? Number(a.values[a.of[c]]) : NaN) };
  if (d.xKey && !d.quantity[d.xKey]) d.quantity[d.xKey] = { words: d.labels?.[d.xKey] ?? d.xKey, unit: /\[(.*)\]/.exec(d.view.x_name)?.[1] ?? '', value: d.x };
  // what a problem says of itself: stack:n=16,seed=3
  if (d.axis.problem) {
    const a = d.axis.problem, keys = new Map();
    a.values.forEach((text, k) => {
      for (const [, key, value] of text.matchAll(/[:,](\w+)=([-+.\deE]+)(?=,|$)/g)) {
        if (!keys.has(key)) keys.set(key, []);
        keys.get(key)[k] = Number(value);
      }
    });
    for (const [key, list] of keys)
      if (new Set(list.filter((v) => v !== undefined)).size > 1) d.quantity[`problem.${key}`] = { words: `${key} (problem)`, unit: '', value: (c) => (a.of[c] >= 0 ? list[a.of[c]] ?? NaN : NaN) };
  }
  d.xTitle = d.xKey ? d.title(d.xKey) : '';
  // what tells a cell from the others
  d.label = (cell, without = []) => {
    const parts = d.view.axes
      .filter((k) => !without.includes(k))
      .map((k) => d.text(cell, k))
      .filter((t) => t);
    if (d.xKey && !without.includes(d.xKey)) parts.push(`${d.xKey.replace('scene.', '')} = ${brief(d.x(cell))}`);
    return parts.join(', ');
  };
  d.why = (cell) => d.cells.cause[cell] || d.cells.reason[cell] || d.cells.status[cell];
  return d;
}

// A number that the study gives to its runs, where it varies: an option counts for the plug-ins whose runs differ in it, as
// two plug-ins with different defaults make no axis.
export function varied(data, key) {
  const all = data.quantity[key].value, kind = key in data.options && data.axis[key.split('.')[0]] ? key.split('.')[0] : null;
  const of = new Map();
  for (let c = 0; c < data.n; c++) {
    const plugin = kind ? data.text(c, kind).split(':')[0] : '';
    if (!of.has(plugin)) of.set(plugin, new Set());
    if (all(c) > 0 && Number.isFinite(all(c))) of.get(plugin).add(all(c)); // the axis is logarithmic
  }
  const differs = (c) => of.get(kind ? data.text(c, kind).split(':')[0] : '').size > 1;
  return { key, value: (c) => (differs(c) ? all(c) : NaN), values: new Set([...of.values()].filter((s) => s.size > 1).flatMap((s) => [...s])).size };
}

// JSON has no infinity: it comes as a text; what is no number does not come.
export const real = (v) => (typeof v === 'number' ? v : { inf: Infinity, '-inf': -Infinity }[v] ?? NaN);

// Number for people: three digits.
export function brief(v) {
  if (v === null || v === undefined || Number.isNaN(v)) return '–';
  if (!Number.isFinite(v)) return v > 0 ? '∞' : '−∞';
  const a = Math.abs(v);
  if (Number.isInteger(v) && a < 1e6) return String(v);
  const short = Number(v.toPrecision(3));
  return v !== 0 && (a < 1e-3 || a >= 1e5) ? short.toExponential().replace('e+', 'e') : String(short);
}
