// SPDX-License-Identifier: GPL-3.0-or-later
// The expression language of the program (experiments/base/expr.h) over the cells of a page: or, and, not, comparisons,
// in (...), arithmetic, units, options of parts.  Beside it, for whoever only looks for something: a word that is compared with
// nothing is looked for in the texts of the cell.

// How many of each unit make the SI unit of its dimension.
const units = (() => {
  const u = {};
  const add = (dimension, list) => { for (const [name, factor] of Object.entries(list)) u[name] = { dimension, factor }; };
  add('s', { s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9, min: 60, h: 3600 });
  add('m', { m: 1, mm: 1e-3, cm: 1e-2, km: 1e3 });
  add('kg', { kg: 1, g: 1e-3, t: 1e3 });
  add('rad', { rad: 1, deg: Math.PI / 180 });
  for (const plain of ['rad/s', 'm/s', 'm/s^2', '1/s', 'N', 'Nm', 'N/m', 'Ns/m', 'kg/m^3', 'J']) add(plain, { [plain]: 1 });
  add('rad/s', { 'deg/s': Math.PI / 180, rpm: Math.PI / 30 });
  add('m/s', { 'km/h': 1 / 3.6 });
  add('1/s', { Hz: 1 });
  add('N', { kN: 1e3 });
  return u;
})();

class Wrong extends Error {
  [name: string]: any;

  constructor(at, message) {
    super(message);
    this.at = at;
  }
}

const keywords = ['and', 'or', 'not', 'in'];

function* tokens(text) {
  const space = /\s*/y, rules: [string, RegExp][] = [
    ['number', /(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/y], ['text', /"([^"]*)"|'([^']*)'/y],
    ['word', /[\p{L}_](?:[\p{L}\d_.:]|-(?=\p{L})(?<=[\p{L}\d]-))*/uy], ['sign', /<=|>=|==|!=|[()<>=,+\-*/^]/y],
  ];
  let at = 0;
  for (;;) {
    space.lastIndex = at;
    at += space.exec(text)[0].length;
    if (at >= text.length) break;
    let found = null;
    for (const [kind, rule] of rules) {
      rule.lastIndex = at;
      const m = rule.exec(text);
      if (!m) continue;
      found = { kind, at, end: at + m[0].length, text: kind === 'text' ? m[1] ?? m[2] : m[0] };
      break;
    }
    if (!found) throw new Wrong(at, /["']/.test(text[at]) ? 'a quote is not closed' : `unexpected character '${text[at]}'`);
    yield found;
    at = found.end;
  }
  yield { kind: 'end', at: text.length, end: text.length, text: '' };
}

function closest(word, names) {
  const distance = (a, b) => {
    let row = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      row = next;
    }
    return row[b.length];
  };
  let best = null, least = Math.max(1, Math.floor(word.length / 3)) + 0.5;
  for (const n of names) {
    const d = distance(word, n);
    if (d < least) {
      least = d;
      best = n;
    }
  }
  return best;
}

const same = (a, b) => a === b || Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));

// "gsl:rk8pd:tol=1e-8" is the part "gsl:rk8pd" with one option.
function part(text) {
  const at = /:[\w.]+=/.exec(text)?.index ?? text.length;
  return { name: text.slice(0, at), options: text.slice(at + 1).split(/,(?=[\w.]+=)/).filter((o) => o) };
}

// "post:velocity=true" is what "post" asks for; a text with options asks for these.  usual(key): the value of an option that
// the text of the cell does not name.
function pluginMatches(have, want, usual) {
  const a = part(have), b = part(want);
  return a.name === b.name && b.options.every((o) => {
    const [key, value] = o.split('=');
    const own = a.options.find((x) => x.startsWith(`${key}=`))?.slice(key.length + 1) ?? usual(key);
    return own !== undefined && (String(own) === value || (value !== '' && same(Number(own), Number(value))));
  });
}

// scope: { column(name): { type: 'number' | 'text' | 'plugin', unit, value(cell), distinct? } | null, names, having(word)(cell) }.
// Returns a function of a cell that says whether it is wanted; throws Wrong with the place in the text.
export function compile(text, scope) {
  const list = [...tokens(text)];
  let i = 0;
  const peek = () => list[i];
  const is = (t) => peek().text === t && (peek().kind === 'sign' || peek().kind === 'word');
  const accept = (t) => is(t) && ++i > 0;
  const wrong = (at, message) => { throw new Wrong(at, message); };
  const need = (type, e) => (e.type === type ? e : wrong(e.at, type === 'number' ? 'a number is required here' : 'a condition is required here, such as h <= 1 ms'));

  function number() {
    const t = list[i++], e: any = { type: 'number', at: t.at, fn: () => v };
    let v = Number(t.text);
    const rest = text.slice(t.end), m = /^\s*([A-Za-zµ]+(?:[/^]\w+)*)/.exec(rest) ?? (/^\s*(1\/s)/.exec(rest));
    // behind a blank a condition of its own may follow
    const apart = m && /^\s/.test(m[0]) && scope.column(m[1]) && (!units[m[1]] || /^\s*([<>=!]|(not\s+)?in\b)/.test(rest.slice(m[0].length)));
    if (m && !keywords.includes(m[1]) && !apart) {
      const unit = units[m[1].replace('µ', 'u')];
      if (!unit) wrong(t.end + m[0].length - m[1].length, `unknown unit '${m[1]}'${/^\s/.test(m[0]) ? ' (conditions are joined by and)' : ''}`);
      v *= unit.factor;
      e.unit = unit.dimension;
      const end = t.end + m[0].length;
      while (list[i].kind !== 'end' && list[i].at < end) i++;
    }
    return e;
  }

  // left: what a bare text would be compared with
  function word(left) {
    const t = list[i++];
    if (keywords.includes(t.text)) wrong(t.at, `'${t.text}' is not allowed here`);
    if (is('(')) wrong(t.at, `${t.text}(...) works only in claims: here each run is tested separately`);
    const c = scope.column(t.text);
    if (c) return { type: c.type, at: t.at, unit: c.unit, fn: c.value, column: c, name: t.text };
    if (t.text === 'inf') return { type: 'number', at: t.at, fn: () => Infinity };
    if (left && left.type !== 'number') return { type: 'text', at: t.at, fn: () => t.text, constant: t.text };
    return { type: 'search', at: t.at, name: t.text };
  }

  function atom(left) {
    const t = peek();
    if (t.kind === 'number') return number();
    if (t.kind === 'text') {
      i++;
      return left ? { type: 'text', at: t.at, fn: () => t.text, constant: t.text } : { type: 'search', at: t.at, name: t.text, quoted: true };
    }
    if (t.kind === 'word') return word(left);
    if (accept('(')) {
      const e = or();
      if (!accept(')')) wrong(peek().at, "expected ')'");
      return e;
    }
    return wrong(t.at, t.kind === 'end' ? 'the expression ends too early' : `'${t.text}' is not allowed here`);
  }

  function power(left) {
    if (is('-')) {
      const at = list[i++].at, a = need('number', power(null));
      return { type: 'number', at, unit: a.unit, fn: (c) => -a.fn(c) };
    }
    const a = atom(left);
    if (!accept('^')) return a;
    const x = need('number', a), y = need('number', power(null));
    return { type: 'number', at: x.at, fn: (c) => x.fn(c) ** y.fn(c) };
  }

  const level = (next, table) => (left) => {
    let a = next(left);
    for (let op; (op = Object.keys(table).find((k) => is(k)));) {
      i++;
      const x = need('number', resolved(a)), y = need('number', resolved(next(null))), f = table[op];
      a = { type: 'number', at: x.at, unit: undefined, fn: (c) => f(x.fn(c), y.fn(c)) };
    }
    return a;
  };
  const term = level(power, { '*': (x, y) => x * y, '/': (x, y) => x / y });
  const sum = level(term, { '+': (x, y) => x + y, '-': (x, y) => x - y });

  // a word that takes part in a comparison must be a column
  function resolved(e) {
    if (e.type !== 'search') return e;
    if (e.quoted) return { type: 'text', at: e.at, fn: () => e.name, constant: e.name };
    const hint = closest(e.name, scope.names);
    return wrong(e.at, `unknown column '${e.name}'${hint ? `, did you mean '${hint}'?` : `; known: ${scope.names.slice(0, 12).join(', ')}${scope.names.length > 12 ? ', ...' : ''}`}`);
  }

  function check(a, b, order) {
    if (a.type === 'bool' || b.type === 'bool') wrong(b.at, 'a condition cannot be compared');
    if ((a.type === 'number') !== (b.type === 'number')) wrong(b.at, a.type === 'number' ? `'${a.name ?? 'this'}' is a number: it cannot be compared with a text` : `'${a.name ?? 'this'}' is a text: it cannot be compared with a number`);
    if (a.type === 'number' && a.unit && b.unit !== undefined && b.unit !== '' && a.unit !== b.unit && !a.unit.split(' or ').includes(b.unit))
      if (!(units[a.unit] && units[a.unit].dimension === b.unit)) wrong(b.at, `wrong unit: ${a.unit} cannot be compared with ${b.unit}`);
    // a unit of its own (microseconds): the number is brought to it
    if (a.type !== 'number' && order) wrong(b.at, 'texts have no order: use == or !=');
    return b;
  }

  function equal(a, b) {
    if (a.type === 'number') {
      const scale = unitScale(a, b);
      return (c) => same(a.fn(c), b.fn(c) * scale);
    }
    const test = a.type === 'plugin' ? (x, y, c) => pluginMatches(x, y, (key) => a.column?.option(key, c)) : (x, y) => x === y;
    if (b.constant !== undefined && a.column) {
      const known = new Map(); // a column has few texts and many cells
      return (c) => {
        const v = a.fn(c);
        let r = known.get(v);
        if (r === undefined) known.set(v, (r = v !== '' && test(v, b.constant, c)));
        return r;
      };
    }
    return (c) => a.fn(c) !== '' && test(a.fn(c), b.fn(c), c);
  }

  // columns are in their own units (us), numbers with a unit in SI
  const unitScale = (a, b) => (a.unit && b.unit && units[a.unit] ? 1 / units[a.unit].factor : 1);

  function within(a, at) {
    if (!accept('(')) wrong(peek().at, "expected '(' after in");
    const tests = [];
    do {
      const b = resolvedRight(sum(a));
      check(a, b, false);
      tests.push(equal(a, b));
    } while (accept(','));
    if (!accept(')')) wrong(peek().at, "expected ',' or ')'");
    return { type: 'bool', at, fn: (c) => tests.some((t) => t(c)) };
  }

  const resolvedRight = (b) => (b.type === 'search' ? resolved(b) : b);
  const orders = { '<': (x, y) => x < y, '<=': (x, y) => x <= y, '>': (x, y) => x > y, '>=': (x, y) => x >= y };

  function comparison() {
    const a = sum(null), at = peek().at;
    if (is('not') && list[i + 1].text === 'in') {
      i += 2;
      const t = within(resolved(a), at);
      return { type: 'bool', at, fn: (c) => !t.fn(c) };
    }
    if (accept('in')) return within(resolved(a), at);
    if (is('=')) wrong(at, "'=' is not a comparison, did you mean '=='?");
    const op = ['==', '!=', '<=', '>=', '<', '>'].find((o) => is(o));
    if (!op) {
      if (a.type !== 'search') return a;
      return { type: 'bool', at: a.at, fn: scope.having(a.name.toLowerCase()) };
    }
    i++;
    const x = resolved(a), y = resolvedRight(sum(x));
    check(x, y, !['==', '!='].includes(op));
    if (op === '==' || op === '!=') {
      const t = equal(x, y);
      return { type: 'bool', at: x.at, fn: op === '==' ? t : (c) => !t(c) };
    }
    const f = orders[op], scale = unitScale(x, y);
    return { type: 'bool', at: x.at, fn: (c) => f(x.fn(c), y.fn(c) * scale) };
  }

  function not() {
    const at = peek().at;
    if (!accept('not')) return comparison();
    const a = need('bool', not());
    return { type: 'bool', at, fn: (c) => !a.fn(c) };
  }

  // words one after the other are all looked for
  function and() {
    let a = not();
    for (;;) {
      const goesOn = accept('and') || (a.type === 'bool' && ['word', 'text'].includes(peek().kind) && !is('or') && !is('in'));
      if (!goesOn) return a;
      const x = need('bool', a), y = need('bool', not());
      a = { type: 'bool', at: x.at, fn: (c) => x.fn(c) && y.fn(c) };
    }
  }

  function or() {
    let a = and();
    while (accept('or')) {
      const x = need('bool', a), y = need('bool', and());
      a = { type: 'bool', at: x.at, fn: (c) => x.fn(c) || y.fn(c) };
    }
    return a;
  }

  if (peek().kind === 'end') return () => true;
  const e = need('bool', or());
  if (peek().kind !== 'end') wrong(peek().at, `'${peek().text}' is not allowed here`);
  return e.fn;
}
