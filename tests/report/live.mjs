// SPDX-License-Identifier: GPL-3.0-or-later
// node live.mjs OUT NATIVE PERP: the pages of perp live in OUT: the module computes what NATIVE, the same functions compiled
// for this machine, computes; bodies are dragged, pushed and shot at; methods are chosen; a matrix is typed.
import { done, launch, ok, picture } from './browser.mjs';
import { execFileSync, spawn } from 'node:child_process';
import { gunzipSync } from 'node:zlib';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

// all: the 200 problems and nothing else; otherwise 50 of them
const [out, nativePath, perp, all] = process.argv.slice(2), SEEDS = all ? 20 : 5, begun = Date.now();
const browser = await launch();
const part = (name) => console.log(`# ${((Date.now() - begun) / 1000).toFixed(0)} s, ${browser.cpu().toFixed(0)} s of the processor: ${name}`);
async function open(name, { width = 900, scheme = 'light', fragment = '' } = {}) {
  const context = await browser.newContext({ viewport: { width, height: width === 900 ? 640 : 900 }, colorScheme: scheme, reducedMotion: 'reduce', offline: true });
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
const size = gunzipSync(Buffer.from(data.module, 'base64')).length;
ok(size < 3e6, `the module has ${(size / 1e6).toFixed(2)} MB`);
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
  for (let seed = 1; seed <= SEEDS; seed++) {
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
ok(problems >= 10 * SEEDS && failed.length === 0, `${problems} problems were solved by both`);
ok(pivotsDiffer.length === 0, `the same pivots, ${pivots} of them`);
ok(reasonsDiffer.length === 0, 'every solve ends for the same reason');
ok(worst < 1e-12, `figures of pivoting methods agree within ${worst.toExponential(2)} of the largest`);
ok(sweepsDiffer <= 0.02 * sweeping, `iterations of ${sweeping} iterative solves are the same but for ${sweepsDiffer}`);

if (all) {
  native.stdin.end();
  await browser.close();
  done();
  process.exit();
}

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

// ---- 3. under the mouse ------------------------------------------------------------------------------------------
part('3. under');
// pixels are computed by the processor here: shadows are most of them
const dull = (p) => p.evaluate(() => { for (const s of perp.live.sides) s.stage.stage.sun.castShadow = false; });
await dull(page);
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
// a restart normalizes quaternions, which may round them once more
ok(there.every((v, i) => (i % 7 < 3 ? v === state.q[i] : Math.abs(v - state.q[i]) <= 4e-16)) && (await again.page.evaluate(() => perp.live.sides[0].lcp)) === 'dantzig', 'the link opens the same state with the same methods: positions to the last bit, quaternions to rounding');
await again.context.close?.();
const checked = JSON.parse(execFileSync(perp, ['simulate', resolve(out, 'state.yaml'), '--h', '1ms', '--t-end', '1ms', '--json'], { encoding: 'utf8' }));
// what lies still may have several solutions, as the program says
ok(['ok', 'several solutions'].includes(checked.status), `the scene file of a state runs in the program (${checked.status})`);
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
part('every scene');
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

// friction: the disc against the program
{
  const names = ['# disc: normal', '# disc: friction 1', '# disc: friction 2'], A = [[2, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 1]], b = [-3, 2, -0.5];
  const file = (kind) => JSON.stringify({ n: 3, A, b, friction_of: [-1, 0, 0], mu: [0, 0.5, 0.5], cone: kind === 'cone' ? [0, 1, 0] : [0, 0, 0] });
  const solved = (kind, solver, ...more) => {
    writeFileSync(resolve(out, 'friction.json'), file(kind));
    return JSON.parse(execFileSync(perp, ['lcp', 'solve', resolve(out, 'friction.json'), '--lcp', solver, '--json', ...more], { encoding: 'utf8' }));
  };
  const discs = () => page.$$eval('.live-plane[data-shape]', (l) => l.map((e) => ({ ...e.dataset })));
  const limits = (v) => page.$eval('#live-limits', (e, to) => { e.value = to; e.dispatchEvent(new Event('change', { bubbles: true })); }, v);
  for (const [kind, shape, solvers] of [['cone', 'disc', ['pgs', 'block-gs']], ['box', 'box', ['dantzig', 'pgs', 'block-gs', 'fischer-newton']]]) {
    await type(A.map((row, i) => `${row.join(' ')}  ${b[i]}${i > 0 ? `  ${kind} 1 0.5` : ''}  ${names[i]}`).join('\n'));
    const shown = await discs();
    ok(solvers.every((s) => shown.some((d) => d.solver === s && d.shape === shape)) && shown.length === solvers.length, `${kind}: a friction ${shape} of each method that serves it (${shown.map((d) => d.solver).join(', ')})`);
    let away = 0, outside = 0;
    for (const d of shown) {
      const { lambda } = solved(kind, d.solver), [x, y] = d.impulse.split(' ').map(Number), [u, v] = d.slip.split(' ').map(Number), limit = Number(d.limit);
      away = Math.max(away, Math.abs(lambda[1] - x), Math.abs(lambda[2] - y), Math.abs(0.5 * lambda[0] - limit));
      // Coulomb's law of the disc: on the circle, against the slip; of the box: each row for itself
      outside = Math.max(outside, kind === 'cone' ? Math.max(Math.abs(Math.hypot(x, y) - limit), Math.abs(x * v - y * u), x * u + y * v) : Math.max(Math.abs(x) - limit, Math.abs(y) - limit, x * u));
    }
    ok(away < 1e-9, `${kind}: impulses and limits are those of perp lcp solve within ${away.toExponential(1)}`);
    ok(outside < 1e-8, `${kind}: the impulse is at its limit against the slip within ${outside.toExponential(1)}`);
    ok((await page.textContent('.live-film')).includes('disc: friction 1'), `${kind}: rows have their names in the film`);
  }
  ok(/lemke does not serve friction rows/.test(await page.textContent('.live-matrices .live-message')), 'a method that does not serve friction says so');
  await limits('fixed');
  ok((await page.textContent('.live-matrices table')).includes('lemke') && (await discs()).every((d) => Math.abs(Number(d.limit) - 6 / 7) < 1e-9), 'fixed limits: lemke solves the problem with the limits of the answer');
  await type(file('cone'));
  await limits('pyramid');
  const pyramid = (await discs()).find((d) => d.solver === 'lemke'), z = execFileSync(perp, ['lcp', 'convert', resolve(out, 'friction.json'), '--pyramid', '4', '--json'], { encoding: 'utf8' });
  writeFileSync(resolve(out, 'pyramid.json'), z);
  const { lambda: beta } = JSON.parse(execFileSync(perp, ['lcp', 'solve', resolve(out, 'pyramid.json'), '--lcp', 'lemke', '--json'], { encoding: 'utf8' })), [px, py] = pyramid.impulse.split(' ').map(Number);
  ok(pyramid.shape === 'pyramid' && Math.abs(beta[1] - beta[3] - px) < 1e-9 && Math.abs(beta[2] - beta[4] - py) < 1e-9, `pyramid: lemke's friction is that of perp lcp convert --pyramid 4 (${px.toPrecision(4)}, ${py.toPrecision(2)})`);
  await limits('follow');
  await type('perp-lcp 1\nn 2\nA dense\n2 1 1 2\nb\n-5 -6\nend\n');
  ok((await page.textContent('.live-matrices table')).includes('1.333'), 'a text in the format .lcp is solved');
  await type('2 1 -5\n1 2 -6 cone 1 0.5');
  ok(/Row 2: a cone has two rows/.test(await page.textContent('.live-matrices .live-message')), 'half a cone is refused');
}

// ---- 5. a stack that is drawn ------------------------------------------------------------------------------------
part('5. draw');
{
  const press = (words) => page.$$eval('.live-drawing button', (l, t) => l.find((e) => e.textContent === t).click(), words);
  await page.click('button[aria-label="remove body 2"]');
  await page.$eval('.live-draw', (e) => e.scrollIntoView({ block: 'center' }));
  const box = await page.$eval('.live-draw', (e) => { const r = e.getBoundingClientRect(); return { x: r.x, y: r.y, w: r.width, h: r.height }; });
  const at = (x, y) => [box.x + ((x + 4) / 8) * box.w, box.y + ((4.6 - y) / 5) * box.h];
  const draw = async (...way) => {
    await page.mouse.move(...at(...way[0]));
    await page.mouse.down();
    for (const p of way.slice(1)) await page.mouse.move(...at(...p));
    await page.mouse.up();
  };
  await draw([-1.5, 0], [-1, 0.4], [-0.5, 0.6]);
  await page.click('button[aria-label="remove body 1"]'); // the last one of those before
  await draw([-1.4, 1], [-1, 0.8], [-0.6, 0.61]);
  const numbers = await page.$$eval('.live-drawing tbody tr', (l) => l.map((r) => [...r.querySelectorAll('input')].map((i) => Number(i.value))));
  ok(numbers.length === 2 && numbers[0].slice(0, 4).every((v, i) => Math.abs(v - [-1, 0.3, 1, 0.6][i]) < 1e-9) && numbers[1].slice(0, 4).every((v, i) => Math.abs(v - [-1, 0.8, 0.8, 0.4][i]) < 1e-9), `two boxes are drawn: ${numbers.map((n) => n.join(' ')).join(', ')}`);
  await page.evaluate(() => perp.live.choose({ lcp: undefined, contact: undefined, formulation: undefined }));
  await press('its contact problem');
  const rows = await page.$eval('#live-matrix', (e) => e.value.split('\n')), names = rows.map((r) => r.replace(/.*# /, ''));
  ok(rows.length === 8 && names[0] === 'box 1 on world at (-1.5, 0): normal' && names.filter((n) => /^box 2 on box 1 at \(.*, 0.6\): normal$/.test(n)).length === 2 && names.filter((n) => /friction$/.test(n)).length === 4, `its contact problem opens with names: ${names[0]}; ${names[7]}`);
  const carried = await page.$$eval('.live-matrices tbody tr', (l) => l.filter((r) => /converged/.test(r.textContent)).map((r) => [...r.cells].slice(4).map((c) => Number(c.textContent.replace('\u2212', '-')))));
  const weight = (100 * 0.6 + 100 * 0.32) * 9.81 * 0.01;
  ok(carried.length >= 3 && carried.every((l) => Math.abs(l[0] + l[2] - weight) < 2e-3), `the floor carries both boxes: ${carried.map((l) => (l[0] + l[2]).toFixed(3)).join(', ')} N s of ${weight.toFixed(3)}`);
  await press('simulate');
  await page.evaluate(() => { perp.live.step(50); });
  const rest = await page.evaluate(() => [...perp.live.sides[0].run.q]);
  ok(Math.abs(rest[1] - 0.3) < 1e-3 && Math.abs(rest[4] - 0.8) < 2e-3, `the playground simulates it: it rests (${rest[1].toFixed(4)}, ${rest[4].toFixed(4)} m)`);
  const link = await page.evaluate(() => ({ fragment: perp.live.state().fragment, file: perp.live.sides[0].run.file('stack') })), there = await open('live', { fragment: link.fragment });
  ok((await there.page.evaluate(() => [...perp.live.sides[0].run.q])).every((v, i) => v === rest[i]) && (await there.page.$$eval('.live-drawing tbody tr', (l) => l.length)) === 2, 'a link opens the stack in its state');
  await there.context.close?.();
  writeFileSync(resolve(out, 'stack.yaml'), link.file);
  const ran = JSON.parse(execFileSync(perp, ['simulate', resolve(out, 'stack.yaml'), '--t-end', '20ms', '--json'], { encoding: 'utf8' }));
  ok(ran.status === 'ok' || ran.cells?.[0]?.status === 'ok', 'its scene file runs in the program');
  await page.click('button[title="a ball on top"]');
  await press('its contact problem');
  ok(/has 10 rows: at most 8/.test(await page.textContent('.live-drawing .live-message')), `a problem that is too large says so: ${await page.textContent('.live-drawing .live-message')}`);
  await page.$eval('#live-draw-mu', (e) => { e.value = '-1'; e.dispatchEvent(new Event('change')); });
  ok(/outside 0 to 10/.test(await page.textContent('.live-drawing .live-message')) && (await page.$eval('#live-draw-mu', (e) => e.value)) === '0.5', 'a wrong number is refused');
}

// ---- 6. options of methods ---------------------------------------------------------------------------------------
part('6. options');
{
  await page.evaluate(() => perp.live.choose({ scene: 'stack:boxes=4', lcp: 'pgs', h: undefined }));
  const set = (id, value) => page.$eval(`#live-option-${id}`, (e, v) => { e.value = v; e.dispatchEvent(new Event('change')); }, value);
  await set('lcp-sweeps', '3');
  await set('formulation-warm', 'false');
  const used = await live(() => perp.live.sides[0].run.model.parts);
  ok(used.lcp === 'pgs:sweeps=3' && used.formulation === 'velocity:warm=false', `options are set: ${used.formulation}, ${used.lcp}`);
  await page.evaluate(() => { perp.live.step(40); });
  const ours = await live(() => [...perp.live.sides[0].run.q]), theirs = await ask('run', 'stack:boxes=4', 'velocity:warm=false', '', '', 'pgs:sweeps=3', '', '', '0', '40'), plain = await ask('run', 'stack:boxes=4', 'velocity', '', '', 'pgs', '', '', '0', '40');
  const apart = (a, c) => Math.max(...a.map((v, i) => Math.abs(v - c[i])));
  ok(apart(ours, theirs.q) < 1e-12 && apart(ours, plain.q) > 1e-6, `the result is that of the program with these options (${apart(ours, theirs.q).toExponential(1)}; with the defaults ${apart(ours, plain.q).toExponential(1)})`);
  const fragment = await live(() => perp.live.state().fragment), again = await open('live', { fragment });
  ok((await again.page.evaluate(() => perp.live.sides[0].run.model.parts.lcp)) === 'pgs:sweeps=3', 'a link carries them');
  await again.context.close?.();
  await set('lcp-sweeps', 'many');
  ok(/pgs\.sweeps: 'many' is not a number/.test(await page.textContent('#live-option-lcp-sweeps-said')) && (await live(() => perp.live.sides[0].run.model.parts.lcp)) === 'pgs:sweeps=3', `a wrong value is refused: ${await page.textContent('#live-option-lcp-sweeps-said')}`);
}
part('demonstrations');
// demonstrations: each can be dragged
for (const [i, name] of (await page.$$eval('.live-controls optgroup option', (l) => l.map((e) => e.textContent))).entries()) {
  await page.$eval('.live-controls select', (e, k) => { e.value = `demo ${k}`; e.dispatchEvent(new Event('change')); }, String(i));
  const moved = await page.evaluate(() => {
    const { run } = perp.live.sides[0], body = run.model.own - 1, x = [...run.q.subarray(7 * body, 7 * body + 3)];
    run.grab(body, [0, 0, 0], [x[0] + 0.3, x[1], x[2] + 0.2], 2.2, 0.7); // the spring of the page
    perp.live.step(40);
    const held = [...run.q.subarray(7 * body, 7 * body + 3)], drift = perp.live.sides[0].now.drift;
    run.release();
    perp.live.reset();
    perp.live.step(40);
    const free = [...perp.live.sides[0].run.q.subarray(7 * body, 7 * body + 3)];
    return { apart: Math.hypot(...held.map((v, k) => v - free[k])), drift, stopped: perp.live.sides[0].stopped };
  });
  ok(moved.apart > 1e-4 && moved.drift < 1e-3 && moved.stopped === '', `${name}: the mouse spring moves it (${moved.apart.toPrecision(2)} m in 40 steps, drift ${moved.drift.toExponential(1)} m)`);
}
native.stdin.end();

// ---- 7. two solvers, one mouse; the time of a frame ---------------------------------------------------------------
part('7. two');
{
  const { page: two, said: words, asked: nets, context } = await open('two');
  await dull(two);
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
  await two.evaluate(() => perp.live.play(false));
  ok(words.filter((w) => /error/.test(w)).length === 0 && nets.length === 0, 'two: no error, no request');
  await picture(two, resolve(out, 'two.png'));
  await context.close();
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

part('8. widths');
{
  const { page: p, context } = await open('live', { width: 1300 });
  await dull(p);
  for (const [name, width, colorScheme] of [['wide', 1300, 'light'], ['dark', 1300, 'dark'], ['narrow', 400, 'light']]) {
    await p.setViewportSize({ width, height: 900 });
    await p.emulateMedia({ colorScheme });
    await p.evaluate(() => { perp.live.step(30); });
    ok((await p.evaluate(() => document.documentElement.scrollWidth)) <= width, `${name}: nothing is wider than ${width} pixels`);
    await picture(p, resolve(out, `${name}.png`));
  }
  await context.close();
}
ok(said.filter((w) => /error/.test(w)).length === 0, `no error is printed${said.length ? `: ${said[0]}` : ''}`);
ok(asked.length === 0, 'nothing is asked of a network');
part('end');
await browser.close();
done();
