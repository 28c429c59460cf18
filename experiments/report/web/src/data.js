// SPDX-License-Identifier: GPL-3.0-or-later
// The data block of the page (experiments/report/data.c), decoded.

const little = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

export function floats(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  if (little) return new Float32Array(bytes.buffer);
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

export function readData(document) {
  const element = document.getElementById('perp-data');
  if (!element) return null;
  const d = JSON.parse(element.textContent);
  if (d.schema !== 'perp-report/1') throw new Error(`data of another version: ${d.schema}`);
  d.n = d.cells.id.length;
  d.axis = Object.fromEntries(d.axes.map((a) => [a.key, a]));
  d.metric = Object.fromEntries(d.metrics.map((m) => [m.name, m]));
  d.ok = (cell) => d.cells.wins[cell] === 1; // may be the best
  d.stands = (cell) => d.cells.wins[cell] > 0; // has the figures of a whole run
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
  d.value = (cell, name) => {
    const m = d.metric[name];
    return m && m.values[cell] !== null ? m.values[cell] : NaN;
  };
  d.x = (cell) => (d.view.x ? (d.view.x[cell] ?? NaN) : NaN);
  d.order = (cell) => (d.view.order ? (d.view.order[cell] ?? NaN) : NaN);
  d.adaptive = (cell) => d.view.order && d.view.order[cell] !== d.view.x[cell];
  d.xKey = d.view.x_name ? d.view.x_name.split(' ')[0] : null; // "h" of "h [s]"
  d.title = (name) => {
    const m = d.metric[name];
    return m && m.unit ? `${name} [${m.unit}]` : name;
  };
  // what tells a cell from the others
  d.label = (cell, without = []) => {
    const parts = d.view.axes
      .filter((k) => !without.includes(k))
      .map((k) => d.text(cell, k))
      .filter((t) => t);
    if (d.xKey && !without.includes(d.xKey)) parts.push(`${d.xKey} = ${brief(d.x(cell))}`);
    return parts.join(', ');
  };
  d.why = (cell) => d.cells.cause[cell] || d.cells.reason[cell] || d.cells.status[cell];
  return d;
}

// Number for people: three digits.
export function brief(v) {
  if (v === null || v === undefined || Number.isNaN(v)) return '–';
  if (!Number.isFinite(v)) return v > 0 ? '∞' : '−∞';
  const a = Math.abs(v);
  if (Number.isInteger(v) && a < 1e6) return String(v);
  const short = Number(v.toPrecision(3));
  return v !== 0 && (a < 1e-3 || a >= 1e5) ? short.toExponential().replace('e+', 'e') : String(short);
}
