// SPDX-License-Identifier: GPL-3.0-or-later
// The WebAssembly module (experiments/live/module/live.h) as functions of TypeScript. It asks its host for nothing but the time:
// it has no files, no arguments and no environment, and what it prints goes to the console.

const BADF = 8, NOSYS = 52;
const PARTS = ['formulation', 'ode', 'kkt', 'lcp', 'stab', 'contact'] as const;
export type Parts = Partial<Record<(typeof PARTS)[number], string>>;

// numbers of each in the arrays of live.h
export const EVENT = 6, CONTACT = 8, ROW = 6;

export interface Figures {
  t: number; reason: number; energy: number; energy0: number; drift: number; depth: number; contacts: number; problems: number;
  iterations: number; work: number; seconds: number; events: number; seen: number; rows: number; failures: number; residual: number; small: number; asleep: number; error: number;
}
const FIGURES = ['t', 'reason', 'energy', 'energy0', 'drift', 'depth', 'contacts', 'problems', 'iterations', 'work', 'seconds', 'events', 'seen', 'rows',
  'failures', 'residual', 'small', 'asleep', 'error'];
const NOW = ['t', 'drift.pos', 'drift.pos.pre', 'drift.pos.mean', 'energy', 'err.q', 'err.v', 'err.tip']; // of live_now

// A gzip file in base64, as a page carries the module.
export async function unpack(text: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}

export class Module {
  private e: any;
  private decoder = new TextDecoder();
  private encoder = new TextEncoder();

  static async start(bytes: BufferSource): Promise<Module> {
    const m = new Module(), view = () => new DataView(m.e.memory.buffer);
    const zero = (...places: number[]) => {
      for (const at of places) view().setUint32(at, 0, true);
      return 0;
    };
    const refuse = () => BADF, absent = () => NOSYS;
    const wasi = {
      environ_get: () => 0, environ_sizes_get: zero, args_get: () => 0, args_sizes_get: zero,
      clock_time_get: (_id: number, _precision: bigint, at: number) => {
        view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
      },
      fd_write: (fd: number, list: number, n: number, written: number) => {
        let text = '', size = 0;
        for (let i = 0; i < n; i++) {
          const at = view().getUint32(list + 8 * i, true), length = view().getUint32(list + 8 * i + 4, true);
          text += m.decoder.decode(new Uint8Array(m.e.memory.buffer, at, length));
          size += length;
        }
        console.warn(text);
        view().setUint32(written, size, true);
        return 0;
      },
      proc_exit: (code: number) => {
        throw new Error(`the module ended with ${code}`);
      },
    };
    const host = new Proxy(wasi, { get: (known, name) => known[name as string] ?? (String(name).startsWith('fd_') ? refuse : absent) });
    const compiled = await WebAssembly.compile(bytes), needs = Object.fromEntries(WebAssembly.Module.imports(compiled).map((i) => [i.name, host[i.name]]));
    m.e = (await WebAssembly.instantiate(compiled, { wasi_snapshot_preview1: needs })).exports;
    m.e._initialize();
    return m;
  }

  // Calls with texts in places of their own, which are given back.
  private call(name: string, ...values: (string | number)[]): number {
    const rooms: number[] = [], given = values.map((v) => {
      if (typeof v === 'number') return v;
      const bytes = this.encoder.encode(v), at = this.e.live_room(bytes.length);
      rooms.push(at);
      const to = new Uint8Array(this.e.memory.buffer, at, bytes.length + 1);
      to.set(bytes);
      to[bytes.length] = 0;
      return at;
    });
    const result = this.e[name](...given);
    for (const at of rooms) this.e.live_free(at);
    return result;
  }
  private text(at: number): string | null {
    if (at === 0) return null;
    const bytes = new Uint8Array(this.e.memory.buffer);
    let end = at;
    while (bytes[end] !== 0) end++;
    return this.decoder.decode(bytes.subarray(at, end));
  }
  reals(at: number, n: number) {
    return new Float64Array(this.e.memory.buffer, at, n);
  }
  private keep(v: ArrayLike<number>): number {
    const at = this.e.live_room(8 * v.length);
    this.reals(at, v.length).set(v);
    return at;
  }
  get message(): string {
    return this.text(this.e.live_message()) ?? '';
  }

  scene(name: string, json: string): void {
    if (this.call('live_scene', name, json) === 0) throw new Error(this.message);
  }
  methods() {
    return JSON.parse(this.text(this.e.live_methods())!);
  }
  open(scene: string, parts: Parts = {}, h = 0, playable = true): Run {
    const run = this.call('live_open', scene, ...PARTS.map((k) => parts[k] ?? ''), h, playable ? 1 : 0);
    if (run === 0) throw new Error(this.message);
    return new Run(this, this.e, run);
  }
  private told(at: number) {
    if (at === 0) throw new Error(this.message);
    return JSON.parse(this.text(at)!);
  }
  // A method with options, as pgs:max_iter=20; throws what the registry says of a wrong one.
  spec(kind: string, text: string): { name: string; text: string; options: { key: string; unit: string; help: string; range: string; value: string }[] } {
    return this.told(this.call('live_spec', kind, text));
  }
  // A problem that perp lcp reads, as numbers (live_matrix); directions > 0: its friction as a pyramid.
  matrix(text: string, directions: number) {
    return this.told(this.call('live_matrix', text, directions));
  }
  // A method on a problem that perp lcp reads.
  solve(solver: string, problem: string) {
    return this.told(this.call('live_solve', solver, problem));
  }
  // A by columns.
  answer(solver: string, n: number, A: ArrayLike<number>, b: ArrayLike<number>, lo: ArrayLike<number>, hi: ArrayLike<number>) {
    const rooms = [A, b, lo, hi, new Float64Array(n), new Float64Array(5)].map((v) => this.keep(v)), good = this.call('live_answer', solver, n, ...rooms);
    const lambda = [...this.reals(rooms[4], n)], [reason, iterations, factorizations, residual, pivots] = this.reals(rooms[5], 5);
    for (const room of rooms) this.e.live_free(room);
    if (!good) throw new Error(this.message);
    return { lambda, reason, iterations, factorizations, residual, pivots };
  }
  // of Run
  string(at: number) {
    return this.text(at);
  }
  number(name: string, run: number, value: string): number {
    return this.call(name, run, value);
  }
  withText(name: string, run: number, value: string) {
    return this.text(this.call(name, run, value));
  }
  set(run: number, t: number, q: ArrayLike<number>, v: ArrayLike<number>) {
    const a = this.keep(q), b = this.keep(v), good = this.e.live_set(run, t, a, b);
    this.e.live_free(a);
    this.e.live_free(b);
    return good !== 0;
  }
}

// A simulation. Its arrays are views of the memory of the module: they live until the next step.
export class Run {
  model: any;
  constructor(private m: Module, private e: any, private at: number) {
    this.describe();
  }
  private describe() {
    this.model = JSON.parse(this.m.string(this.e.live_describe(this.at))!);
  }
  step(): number {
    return this.e.live_step(this.at);
  }
  get figures(): Figures {
    const v = this.m.reals(this.e.live_figures(this.at), FIGURES.length);
    return Object.fromEntries(FIGURES.map((k, i) => [k, v[i]])) as any;
  }
  get q() {
    return this.m.reals(this.e.live_q(this.at), this.model.nq);
  }
  get v() {
    return this.m.reals(this.e.live_v(this.at), this.model.nv);
  }
  events(n: number) {
    return this.m.reals(this.e.live_events(this.at), n * EVENT);
  }
  contacts(n: number) {
    return n > 0 ? this.m.reals(this.e.live_contacts(this.at), n * CONTACT) : new Float64Array(0);
  }
  rows(n: number) {
    return this.m.reals(this.e.live_rows(this.at), n * ROW);
  }
  set(t: number, q: ArrayLike<number>, v: ArrayLike<number>) {
    return this.m.set(this.at, t, q, v);
  }
  // A spring from the point s of a body, in its frame, to the point x of the world.
  grab(body: number, s: number[], x: number[], frequency: number, ratio: number) {
    this.e.live_grab(this.at, body, ...s, ...x, frequency, ratio);
  }
  release() {
    this.e.live_grab(this.at, -1, 0, 0, 0, 0, 0, 0, 0, 0);
  }
  push(body: number, dv: number[]) {
    return this.e.live_push(this.at, body, ...dv) !== 0;
  }
  shoot(x: number[], v: number[], radius: number, mass: number) {
    if (this.e.live_shoot(this.at, ...x, ...v, radius, mass) === 0) throw new Error(this.m.message);
    this.describe();
  }
  problem() {
    return JSON.parse(this.m.string(this.e.live_problem_of(this.at))!);
  }
  file(name: string): string {
    const text = this.m.withText('live_export', this.at, name);
    if (text === null) throw new Error(this.m.message);
    return text;
  }
  // From its start on measured as perp run measures; false: this run cannot be.
  measured(t_end: number, sample: number) {
    return this.e.live_measured(this.at, t_end, sample) !== 0;
  }
  metric(name: string): number {
    return this.m.number('live_metric', this.at, name);
  }
  get now(): Record<string, number> {
    const v = this.m.reals(this.e.live_now(this.at), NOW.length);
    return Object.fromEntries(NOW.map((k, i) => [k, v[i]]));
  }
  get message() {
    return this.m.message;
  }
  close() {
    this.e.live_close(this.at);
  }
}
