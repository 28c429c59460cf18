// SPDX-License-Identifier: GPL-3.0-or-later
// node live.mjs OUT NATIVE PERP: the pages of perp live in OUT: the module computes what NATIVE, the same functions compiled
// for this machine, computes; bodies are dragged, pushed and shot at; methods are chosen; a matrix is typed.
import { done, launch, ok, picture } from './browser.mjs';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

const [out, nativePath, perp] = process.argv.slice(2), begun = Date.now();
const part = (name) => console.log(`# ${((Date.now() - begun) / 1000).toFixed(0)} s: ${name}`);
const browser = await launch();
async function open(name, { width = 1300, scheme = 'light', fragment = '' } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, reducedMotion: 'reduce', offline: true });
  const page = await context.newPage(), said = [], asked = [];
  page.on('console', (m) => said.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => said.push(`error: ${e.message}`));
  page.on('request', (r) => /^(file|data|blob):/.test(r.url()) || asked.push(r.url()));
  await page.goto(`file://${resolve(out, `${name}.html`)}${fragment}`);
  await page.waitForSelector('html[data-ready]', { timeout: 120000 });
  return { page, said, asked, context };
}

// ---- the native twin --------------------------------------------------------------------------------------------
const native = spawn(nativePath, { stdio: ['pipe', 'pipe', 'inherit'] }), waiting = [];
createInterface({ input: native.stdout }).on('line', (line) => line && waiting.shift()(JSON.parse(line)));
const ask = (...words) => new Promise((answer) => {
  waiting.push(answer);
  native.stdin.write(`${words.join('\t')}\n`);
});
const real = (v) => (v === 'inf' ? Infinity : v === '-inf' ? -Infinity : v === null ? NaN : v);

const data = JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(readFileSync(resolve(out, 'live.html'), 'utf8'))[1]);
for (const s of data.scenes) await ask('scene', s.name, JSON.stringify(s.tree));

const bytes = readFileSync(resolve(out, 'live.html')).length;
ok(bytes < 6e6, `the page has ${(bytes / 1e6).toFixed(2)} MB, its module ${(data.module.length / 1e6).toFixed(2)} MB of text`);

const { page, said, asked } = await open('live');
ok((await page.getAttribute('html', 'data-ready')) === 'yes', 'the page opens from file:// with the network off');
ok((await page.evaluate(() => perp.refused)).length === 0, 'the module reads every scene file of the page');

// ---- 1. problems: the same pivots, the same answers --------------------------------------------------------------
part('1. problems');
const PIVOTING = ['dantzig', 'lemke', 'keller', 'bpp', 'murty'], OTHERS = ['pgs', 'psor', 'fischer-newton', 'interior-point', 'nncg'];
const FAMILIES = [['spd', 4], ['spd', 12], ['spd', 24], ['psd', 8], ['p-matrix', 8], ['copositive', 8], ['boxed', 12], ['infeasible', 6], ['tridiag', 16], ['stack', 0]];
let problems = 0, solves = 0, worst = 0, worstOf = '', pivots = 0, pivotsDiffer = [], reasonsDiffer = [], sweepsDiffer = 0, sweeping = 0, failed = [];
for (const [family, n] of FAMILIES)
  for (let seed = 1; seed <= 20; seed++) {
    const solvers = [...PIVOTING, ...OTHERS], p = await ask('problem', family, String(n || 8 * (1 + (seed % 3))), String(seed), ...solvers);
    if (p.error) {
      failed.push(`${family}: ${p.error}`);
      continue;
    }
    problems++;
    const mine = await page.evaluate((q) => {
      const number = (v) => (v === 'inf' ? Infinity : v === '-inf' ? -Infinity : v);
      return q.solvers.map((s) => {
        try {
          return perp.module.answer(s, q.n, q.A, q.b, q.lo.map(number), q.hi.map(number));
        } catch (e) {
          return { error: e.message };
        }
      });
    }, { ...p, solvers, answers: undefined });
    solvers.forEach((solver, k) => {
      const theirs = p.answers[solver], ours = mine[k], name = `${family} ${p.n} seed ${seed} ${solver}`;
      if (theirs.error || ours.error) {
        if (!theirs.error !== !ours.error) failed.push(`${name}: ${theirs.error ?? ''} / ${ours.error ?? ''}`);
        return;
      }
      solves++;
      const [reason, iterations, , , hash] = theirs.figures.map(real);
      if (reason !== ours.reason) reasonsDiffer.push(`${name} ${reason} ${ours.reason}`);
      if (PIVOTING.includes(solver)) {
        pivots += iterations;
        if (iterations !== ours.iterations || hash !== ours.pivots) pivotsDiffer.push(name);
      } else {
        sweeping++;
        sweepsDiffer += iterations !== ours.iterations;
      }
      if (reason < 0 || ours.reason < 0) return;
      const size = Math.max(...theirs.lambda.map(Math.abs), 1e-300), away = Math.max(...theirs.lambda.map((v, i) => Math.abs(v - ours.lambda[i]))) / size;
      // several solutions, or an iteration that stops one earlier: the judge says that both are solutions
      if (PIVOTING.includes(solver) && away > worst) [worst, worstOf] = [away, name];
    });
  }
console.log(`# ${problems} problems, ${solves} solves; ${pivots} pivots, other pivots in ${pivotsDiffer.length}; largest relative difference of a pivoting method ${worst.toExponential(2)} (${worstOf}); other numbers of iterations in ${sweepsDiffer} of ${sweeping}`);
for (const line of [...pivotsDiffer, ...reasonsDiffer, ...failed].slice(0, 20)) console.log(`# ${line}`);
ok(problems >= 200 && failed.length === 0, `${problems} problems were solved by both`);
ok(pivotsDiffer.length === 0, `the same pivots, ${pivots} of them`);
ok(reasonsDiffer.length === 0, 'every solve ends for the same reason');
ok(worst < 1e-12, `figures of pivoting methods agree within ${worst.toExponential(2)} of the largest`);
ok(sweepsDiffer <= 0.02 * sweeping, `iterations of ${sweeping} iterative solves are the same but for ${sweepsDiffer}`);

// ---- 2. scenes: the same states ----------------------------------------------------------------------------------
part('2. scenes');
const SCENES = [['pendulum', 'acceleration', 'rk4'], ['pendulum'], ['double-pendulum', 'reduced', 'rk4'], ['chain:links=6', 'acceleration', 'rk4', 'tree'], ['chain:links=6', 'velocity'], ['free-body', 'acceleration', 'dopri5'],
  ['four-bar', 'acceleration', 'rk4', 'kkt-dense'], ['bricard', 'velocity'], ['rolling-sphere', 'velocity'], ['bouncing-ball', 'velocity'], ['stack:boxes=5', 'velocity', '', '', 'dantzig'], ['stack:boxes=5', 'velocity', '', '', 'lemke'],
  ['stack:boxes=10', 'velocity', '', '', 'pgs'], ['wedge'], ['dominoes'], ['cradle'], ['rope', 'velocity'], ['heavy-top', 'acceleration', 'rk4'], ['incline'], ['carousel', 'velocity'], ['motor', 'velocity'], ['pyramid', 'velocity', '', '', 'fischer-newton']];
let compared = 0, largest = 0, largestOf = '', counts = [], wrong = [];
for (const [scene, formulation = '', ode = '', kkt = '', lcp = ''] of SCENES) {
  const steps = 100, theirs = await ask('run', scene, formulation, ode, kkt, lcp, '', '', '0', String(steps)), name = [scene, formulation, ode, kkt, lcp].filter(Boolean).join(' ');
  const ours = await page.evaluate((q) => {
    try {
      const run = perp.module.open(q.scene, { formulation: q.formulation, ode: q.ode, kkt: q.kkt, lcp: q.lcp }, 0, false);
      let iterations = 0, number = 0, reason = 0;
      for (let i = 0; i < q.steps && reason >= 0; i++) {
        reason = run.step();
        iterations += run.figures.iterations;
        number += run.figures.problems;
      }
      const answer = { reason, iterations, problems: number, t: run.figures.t, q: [...run.q], v: [...run.v] };
      run.close();
      return answer;
    } catch (e) {
      return { error: e.message };
    }
  }, { scene, formulation, ode, kkt, lcp, steps });
  if (theirs.error || ours.error) {
    wrong.push(`${name}: ${theirs.error ?? ''} / ${ours.error ?? ''}`);
    continue;
  }
  compared++;
  if (theirs.reason !== ours.reason) wrong.push(`${name}: ends with ${theirs.reason} / ${ours.reason}`);
  if (theirs.iterations !== ours.iterations || theirs.problems !== ours.problems) counts.push(`${name}: ${theirs.iterations} / ${ours.iterations} iterations, ${theirs.problems} / ${ours.problems} problems`);
  let away = 0;
  for (const key of ['q', 'v']) {
    const size = Math.max(1, ...theirs[key].map(Math.abs));
    theirs[key].forEach((v, i) => { away = Math.max(away, Math.abs(v - ours[key][i]) / size); });
  }
  console.log(`# ${name}: ${away.toExponential(2)} after ${steps} steps`);
  if (away > largest) [largest, largestOf] = [away, name];
}
console.log(`# ${compared} scenes, 100 steps each: largest difference of q and v ${largest.toExponential(2)} (${largestOf})`);
for (const line of [...wrong, ...counts]) console.log(`# ${line}`);
ok(compared >= 20 && wrong.length === 0, `${compared} scenes run in both`);
ok(largest < 1e-9, `their states agree within ${largest.toExponential(2)} after 100 steps`);
native.stdin.end();

// ---- 3. under the mouse ------------------------------------------------------------------------------------------
part('3. under');
const live = (f) => page.evaluate(f);
await page.evaluate(() => perp.live.choose({ scene: 'stack:boxes=3', lcp: 'dantzig', h: 0.01 }));
const boxOf = (k = 0) => page.$$eval('.live-canvas', (l) => l.map((c) => { const { x, y, width, height } = c.getBoundingClientRect(); return { x, y, width, height }; })).then((l) => l[k]);
// the middle of a body on the screen
const place = (side, body) => page.evaluate(({ side, body }) => {
  const s = perp.live.sides[side].stage, p = s.actor.position[body].clone().project(s.stage.camera), b = s.canvas.getBoundingClientRect();
  return [b.left + ((p.x + 1) / 2) * b.width, b.top + ((1 - p.y) / 2) * b.height];
}, { side, body });
await page.$eval('.live-canvas', (e) => e.scrollIntoView({ block: 'center' }));
const from = await place(0, 2), start = await live(() => [...perp.live.sides[0].run.q]);
await page.mouse.move(...from);
await page.mouse.down();
ok((await page.getAttribute('.live', 'data-held')) === '2', 'a press on a body holds it');
await page.mouse.move(from[0] + 60, from[1] - 50);
await page.mouse.move(from[0] + 120, from[1] - 90);
await page.evaluate(() => { // the frames of a busy machine are slow: 60 steps by hand
  perp.live.step(60);
});
const dragged = await live(() => [...perp.live.sides[0].run.q]);
ok(Math.hypot(dragged[14] - start[14], dragged[15] - start[15], dragged[16] - start[16]) > 0.3, `the spring pulls the body after the mouse (${Math.hypot(dragged[14] - start[14], dragged[15] - start[15], dragged[16] - start[16]).toFixed(2)} m)`);
await page.mouse.up();
ok((await page.getAttribute('.live', 'data-held')) === '', 'and lets it go');
await page.evaluate(() => { perp.live.step(150); });
ok((await live(() => perp.live.sides[0].run.q[16])) < dragged[16], 'it falls');
// a state as a link and as a scene file
const state = await live(() => ({ fragment: perp.live.state().fragment, q: [...perp.live.sides[0].run.q], file: perp.live.sides[0].run.file('state') }));
writeFileSync(resolve(out, 'state.yaml'), state.file);
const again = await open('live', { fragment: state.fragment }), there = await again.page.evaluate(() => [...perp.live.sides[0].run.q]);
ok(there.every((v, i) => v === state.q[i]) && (await again.page.evaluate(() => perp.live.sides[0].lcp)) === 'dantzig', 'the link opens the same state with the same methods, to the last bit');
await again.context.close?.();
const checked = JSON.parse(execFileSync(perp, ['simulate', resolve(out, 'state.yaml'), '--h', '1ms', '--t-end', '1ms', '--json'], { encoding: 'utf8' }));
ok(checked.status === 'ok' || checked.cells?.[0]?.status === 'ok', 'the scene file of a state runs in the program');
// push, cannon
await page.evaluate(() => perp.live.reset());
await page.click('button[aria-label="push the chosen body to the right"]');
await page.evaluate(() => { perp.live.step(); });
ok((await live(() => perp.live.sides[0].run.v[0])) > 0.1, 'a push gives the chosen body a velocity');
await page.click('button[aria-label^="shoot"]');
await page.evaluate(() => { perp.live.step(120); });
ok((await page.getAttribute('.live', 'data-bodies')) === '4', 'the cannon shoots a ball');
// choices
for (const lcp of ['pgs', 'lemke', 'fischer-newton']) {
  await page.evaluate((l) => perp.live.choose({ lcp: l }), lcp);
  await page.evaluate(() => { perp.live.step(20); });
  ok((await page.textContent('.live-side figcaption')).includes(lcp) && (await live(() => perp.live.sides[0].now.t)) > 0.19, `chosen: ${lcp}`);
}
await page.evaluate(() => perp.live.choose({ scene: 'chain:links=4', lcp: undefined, formulation: 'acceleration', h: undefined }));
await page.evaluate(() => { perp.live.step(20); });
ok(/acceleration/.test(await page.textContent('.live-side figcaption')), 'chosen: a chain at the acceleration level');
// every scene of the list opens
const scenes = await live(() => perp.module.methods().scene.map((s) => s.name)), bad = [];
for (const scene of scenes) {
  const why = await page.evaluate((name) => {
    try {
      const run = perp.module.open(name, {}, 0, true), reason = run.step();
      const told = reason < 0 ? run.message : '';
      run.close();
      return told;
    } catch (e) {
      return e.message;
    }
  }, scene);
  if (why && !/equation without bodies/.test(why)) bad.push(`${scene}: ${why}`);
}
for (const line of bad) console.log(`# ${line}`);
ok(bad.length === 0, `all ${scenes.length} scenes open and make a step`);

// ---- 4. matrices -------------------------------------------------------------------------------------------------
part('4. matrices');
const type = (text) => page.$eval('#live-matrix', (e, t) => { e.value = t; e.dispatchEvent(new Event('change', { bubbles: true })); }, text);
await type('2 1 0  -3\n1 2 1  1\n0 1 2  -4');
ok((await page.textContent('.live-matrices table')).includes('lemke') && /converged/.test(await page.textContent('.live-matrices table')), 'a typed problem is solved by the chosen methods');
await page.click('.live-film button[aria-label="forward"]');
ok(/cover|pivot/.test(await page.textContent('.live-film .caption')) && (await page.$$eval('.tableau', (l) => l.length)) > 0, 'its pivots are told with their tableau');
await type('1 -1 -1\n-1 1 -1');
ok(/infeasible, proved/.test(await page.textContent('.live-matrices table')), 'a problem without a solution is proved to be one');
ok((await page.$$eval('.live-plane', (l) => l.length)) >= 3, 'two rows have pictures in the plane');
await type('1 x\n1');
ok(/Row 1: 'x' is not a number/.test(await page.textContent('.live-matrices .live-message')), 'a wrong word is named');
await page.evaluate(() => perp.live.choose({ scene: 'stack:boxes=1', formulation: undefined, contact: 'frictionless', lcp: 'dantzig' }));
await page.evaluate(() => { perp.live.step(3); });
await page.click('button[aria-label^="problem as a matrix"]');
ok((await page.$eval('#live-matrix', (e) => e.value.split('\n').length)) === 4, 'the contact problem of a step opens as a matrix');

// ---- 5. two solvers, one mouse; the time of a frame ---------------------------------------------------------------
part('5. two');
{
  const { page: two, said: words, asked: nets } = await open('two');
  ok((await two.$$eval('.live-side', (l) => l.filter((e) => !e.hidden).length)) === 2, 'two solvers stand beside each other');
  await two.$eval('.live-canvas', (e) => e.scrollIntoView({ block: 'center' }));
  const at = await two.evaluate(() => {
    const s = perp.live.sides[1].stage, p = s.actor.position[9].clone().project(s.stage.camera), b = s.canvas.getBoundingClientRect();
    return [b.left + ((p.x + 1) / 2) * b.width, b.top + ((1 - p.y) / 2) * b.height];
  });
  await two.mouse.move(...at);
  await two.mouse.down();
  await two.mouse.move(at[0] + 40, at[1]);
  await two.evaluate(() => { perp.live.step(20); });
  const moved = await two.evaluate(() => perp.live.sides.map((s) => s.run.q[63]));
  ok(moved.every((x) => Math.abs(x) > 0.01), `one mouse pulls both (${moved.map((x) => x.toFixed(3)).join(', ')} m)`);
  await two.mouse.up();
  ok(words.filter((w) => /error/.test(w)).length === 0 && nets.length === 0, 'two: no error, no request');
  await picture(two, resolve(out, 'two.png'));
}
{
  await page.evaluate(() => perp.live.choose({ scene: 'stack:boxes=10', lcp: 'dantzig', contact: undefined, h: 0.01 }));
  // seconds of the processor in the thread of the page, whatever else the machine does
  await page.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async () => (await page.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value;
  const shake = (from, to) => page.evaluate(([a, b]) => {
    const { run } = perp.live.sides[0];
    for (let i = a; i < b; i++) {
      run.grab(4, [0, 0, 0], [0.2 * Math.sin(0.1 * i), 0, 4.6], 2, 0.7);
      run.step();
    }
  }, [from, to]);
  await shake(0, 100); // the code is compiled by now
  let before = await spent();
  await shake(100, 300);
  const step = (1000 * ((await spent()) - before)) / 200;
  const frame = () => page.evaluate(() => {
    perp.live.step(1);
  });
  for (let i = 0; i < 5; i++) await frame();
  before = await spent();
  for (let i = 0; i < 20; i++) await frame();
  const whole = (1000 * ((await spent()) - before)) / 20;
  console.log(`# stack of ten, dantzig, h = 10 ms, shaken: a step takes ${step.toFixed(2)} ms of the processor in the mean; a step with all drawing ${whole.toFixed(2)} ms`);
  ok(step < 16, `a step of a stack of ten with dantzig that is shaken takes ${step.toFixed(2)} ms in the mean`);
  ok(whole < 16, `a frame, a step with its picture and its panel, takes ${whole.toFixed(2)} ms`);
}

for (const [name, width, scheme] of [['wide', 1300, 'light'], ['narrow', 400, 'light'], ['dark', 1300, 'dark']]) {
  const { page: p, context } = await open('live', { width, scheme });
  await p.evaluate(() => { perp.live.step(30); });
  ok((await p.evaluate(() => document.documentElement.scrollWidth)) <= width, `${name}: nothing is wider than ${width} pixels`);
  await picture(p, resolve(out, `${name}.png`));
  await context.close?.();
}
ok(said.filter((w) => /error/.test(w)).length === 0, `no error is printed${said.length ? `: ${said[0]}` : ''}`);
ok(asked.length === 0, 'nothing is asked of a network');
await browser.close();
done();
