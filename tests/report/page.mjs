// SPDX-License-Identifier: GPL-3.0-or-later
// node page.mjs OUT STUDY...: opens OUT/STUDY/report.html as a reader would, and keeps OUT/STUDY*.png.
import { done, launch, ok, picture } from './browser.mjs';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [out, ...studies] = process.argv.slice(2);


// A body without a shape is no larger than what it hides.
{
  const { modest } = await import(pathToFileURL(resolve(out, 'extent.mjs')));
  const box = { kind: 'box', body: 0, x: [0, 0, 0], half: [0.3, 0.02, 0.02] }, joint = { a: 0, b: 1, at_a: [0.3, 0, 0], at_b: [0, 0, 0] };
  const bodies = [{ half: [0.3, 0.02, 0.02] }, { half: [5, 5, 4] }, { half: [0.1, 0.1, 0.1] }];
  const seen = modest({ dim: 3, shapes: [box], joints: [joint], bodies }).map((b) => Math.max(...b.half));
  ok(seen[0] === 0.3 && seen[1] > 0.05 && seen[1] < 0.3 && seen[2] === 0.1, `bodies without shapes are drawn up to ${seen[1].toFixed(2)} m where others reach 0.3 m`);
  ok(modest({ dim: 3, shapes: [], joints: [], bodies })[1].half[0] === 5, 'alone they are drawn as they are');
}

// The statistics of the figures, as in the tests of the static report.
const { logSlope, median, observedOrder, powerLaw, random } = await import(pathToFileURL(resolve(out, 'stats.mjs')));
const ladder = Array.from({ length: 10 }, (_, i) => ({ x: 1e-4 * 2 ** i, y: 3 * (1e-4 * 2 ** i) ** 4 }));
ok(Math.abs(observedOrder(ladder).slope - 4) < 1e-12 && observedOrder(ladder).window.length === 10, 'err = 3 h^4 has order 4 on the whole range');
for (const i of [0, 1, 2]) ladder[i].y = 1e-15;
ladder[9].y = 1e3;
ok(Math.abs(observedOrder(ladder).slope - 4) < 1e-12 && observedOrder(ladder).window.length === 6, 'a floor of rounding and a divergence are left out');
ok(observedOrder(ladder.slice(4, 6)) === null, 'two points have no order');
ok(observedOrder([1, 100, 1, 100].map((y, i) => ({ x: 1 + i, y }))) === null, 'a jagged curve has no order');
ok(observedOrder(Array.from({ length: 8 }, (_, i) => ({ x: 2 ** i, y: 3e-15 * (1 + 0.05 * (i % 3)) }))) === null, 'a noise floor has no order');
ok(observedOrder(Array.from({ length: 8 }, (_, i) => ({ x: 2 ** i, y: 1e-12 * 2 ** i })), 2e-11).window.length === 3, 'under the uncertainty of the truth nothing is fitted');
{
  const e = powerLaw([2, 4, 8, 16].map((x) => ({ x, y: 7 * x ** 1.5 })));
  ok(Math.abs(e.slope - 1.5) < 1e-12 && e.hi - e.lo < 1e-12 && e.from === 2 && e.to === 16, 'y = 7 x^1.5 grows with the power 1.5');
  ok(powerLaw([2, 4].map((x) => ({ x, y: x }))) === null && powerLaw([[1, 1], [2, 1e4], [4, 1e-3], [8, 1e6]].map(([x, y]) => ({ x, y }))) === null, 'two sizes or scattered points have no power');
}
ok(Math.abs(logSlope([[1, 5], [2, 10], [4, 20], [8, 4000]].map(([x, y]) => ({ x, y }))) - 1) > 0.2 && Math.abs(logSlope([[1, 5], [2, 10], [4, 20], [8, 40], [16, 8000]].map(([x, y]) => ({ x, y }))) - 1) < 1e-12,
  'one outlier of five does not turn a Theil-Sen slope, one of four may');
ok(Number.isNaN(median([])) && median([3, 1, 2]) === 2 && median([4, 1, 2, 3]) === 2.5, 'medians');
{
  const a = random(7), b = random(7), v = Array.from({ length: 20000 }, () => a());
  const mean = v.reduce((s, x) => s + x, 0) / v.length;
  // standard error of the mean of 20000 uniform numbers: 0.002
  ok(v.slice(0, 50).every((x) => x === b()) && v.every((x) => x >= 0 && x < 1) && Math.abs(mean - 0.5) < 0.01, 'random numbers repeat and are uniform');
}

{
  // two solvers with different defaults, one of which the study varies: an axis of the one alone
  const { varied } = await import(pathToFileURL(resolve(out, 'data.mjs')));
  const lcp = ['dantzig', 'dantzig', 'pgs', 'pgs:max_iter=20'], limit = [2000, 2000, 10000, 20];
  const study = (text, value) => ({ n: text.length, text: (c) => text[c], options: { 'lcp.max_iter': value }, axis: { lcp: {} }, quantity: { 'lcp.max_iter': { value: (c) => value[c] } } });
  const q = varied(study(lcp, limit), 'lcp.max_iter'), none = varied(study(lcp.slice(0, 3), limit), 'lcp.max_iter');
  ok(q.values === 2 && Number.isNaN(q.value(0)) && q.value(2) === 10000 && q.value(3) === 20, 'an option is an axis for the plug-ins whose runs differ in it');
  ok(none.values === 0, 'different defaults of two plug-ins are no axis');
}

const browser = await launch();

async function open(study, { width = 1100, scheme = 'light', script = true } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, offline: true, javaScriptEnabled: script });
  const page = await context.newPage();
  const said = [], asked = [];
  page.on('console', (m) => said.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => said.push(`error: ${e.message}`));
  page.on('request', (r) => /^(file|data|blob):/.test(r.url()) || asked.push(r.url()));
  await page.goto(`file://${resolve(out, study, 'report.html')}`);
  if (script) await page.waitForSelector('html[data-ready]');
  return { page, said, asked, context };
}

// Figures that say they are drawn, and how much of them there is to see.
const figures = (page) => page.$$eval('[data-state]', (list) => list.map((e) => ({
  id: e.id,
  state: e.dataset.state,
  marks: e.querySelectorAll('svg path, svg text, canvas, td').length,
  area: e.getBoundingClientRect().width * e.getBoundingClientRect().height,
})));

const wanted = {
  motion: ['live-headline', 'live-work-precision', 'live-convergence', 'live-map', 'live-stability-map', 'live-over-time', 'live-replay-figure', 'live-cells'],
  contact: ['live-replay-figure', 'live-cells'],
  lcp: ['live-headline', 'live-failure-matrix', 'live-ecdf', 'live-performance-profile', 'live-data-profile', 'live-scaling', 'live-residual-history', 'live-cells'],
};

for (const study of studies.filter((s) => !wanted[s] && s !== 'findings')) {
  // a damaged folder: whatever is left is shown, and nothing is said on the console
  const { page, said, asked, context } = await open(study);
  const cells = await page.$$eval('.cells tbody tr', (l) => l.length);
  ok((await page.getAttribute('html', 'data-ready')) === 'yes' && cells > 10, `${study}: a page with its ${cells} cells`);
  ok((await figures(page)).every((f) => f.state === 'drawn'), `${study}: no figure is left empty`);
  ok(said.length === 0 && asked.length === 0, `${study}: nothing on the console, nothing asked of a network${said.length ? `: ${said.join(' | ')}` : ''}`);
  await context.close();
}

for (const study of studies.filter((s) => wanted[s])) {
  const { page, said, asked, context } = await open(study);
  ok((await page.getAttribute('html', 'data-ready')) === 'yes', `${study}: the script ran to its end`);
  const list = await figures(page);
  for (const id of wanted[study]) {
    const f = list.find((x) => x.id === id);
    ok(f && f.state === 'drawn' && f.marks > 0 && f.area > 1e4, `${study}: ${id} is drawn${f ? ` (${f.marks} marks)` : ''}`);
  }
  ok(list.every((f) => f.state === 'drawn'), `${study}: no figure is left empty: ${list.map((f) => f.id).join(' ')}`);
  const alts = await page.$$eval('[data-state] [role=img], [data-state] canvas, img', (l) => l.map((e) => e.closest('[aria-label]')?.getAttribute('aria-label') ?? e.getAttribute('alt')));
  ok(alts.every((t) => t && t.length > 8), `${study}: every picture says what it shows`);
  await picture(page, `${out}/${study}.png`);

  // the cell browser filters and names the command
  await page.fill('.cells-filter', 'status!=ok');
  const bad = await page.$$eval('.cells tbody tr', (l) => l.length);
  const all = await page.evaluate(() => {
    const { same, n, values, of } = JSON.parse(document.getElementById('data').textContent).cells.status;
    return values ? [...atob(of)].map((c) => values[c.charCodeAt(0)]) : new Array(n).fill(same);
  });
  ok(bad === Math.min(50, all.filter((s) => s !== 'ok').length), `${study}: the filter leaves the ${bad} cells that failed`);
  await page.fill('.cells-filter', '');
  await page.click('.cells tbody tr');
  ok(/^perp /.test(await page.textContent('.cells .detail-box div:nth-child(2) code')), `${study}: a cell tells the command that repeats it`);

  if (study !== 'contact') {
    // the figure on top follows the answers; what it shows is named in words
    const { after, names, panels } = await page.evaluate(() => {
      const f = document.querySelector('#live-headline');
      return { after: f.previousElementSibling.className, names: [...f.querySelectorAll('.names text, .legend span, h4')].map((e) => e.textContent), panels: f.querySelectorAll('svg.figure').length };
    });
    ok(after === 'answer' && names.length > 1 && names.every((t) => !/[=:]\S|-e|^[a-z]+\d$/.test(t)), `${study}: the figure on top, in words: ${[...new Set(names)].join('; ')}`);
    // page and terminal draw the choice of report.json
    const { top, axes, first } = await page.evaluate(() => {
      const { top, axes } = JSON.parse(document.getElementById('data').textContent);
      return { top, axes, first: document.querySelector('#live-headline select')?.selectedOptions[0].textContent };
    });
    const colour = axes.find((a) => a.key === top.colour), chosen = top.slices[0], flat = (t) => t.replace(/\s+/g, ' ');
    const shown = chosen.shown.map((k) => colour.words[colour.names.indexOf(top.names[k])]), text = readFileSync(resolve(out, `${study}.txt`), 'utf8');
    // "  b  Baumgarte, α = 50 1/s" beside the plot, perhaps wrapped or shortened, never marks of the plot itself ("  a  c···b");
    // of the panel that the terminal has
    const legend = [...text.matchAll(/ {2}[a-i] {2}((?=.*[^a-i*\s])[^·\s]+(?: [^·\s]+)*)$/gm)].map((m) => shown.find((n) => n.startsWith(m[1].split('…')[0])));
    ok(legend.length > 1 && legend.every((n) => names.includes(n)) && (first ?? 'all runs') === (chosen.words || 'all runs') && flat(text).includes(chosen.words), `${study}: page and terminal draw the curves of report.json: ${legend.join('; ')}`);
    ok(text.split('\n').every((l) => [...l].length <= 80), `${study}: the terminal has them within 80 columns`);
    if (study === 'motion') ok(panels === 2 && names.includes('velocity level') && names.includes('Baumgarte, α = 50 1/s'), 'motion: it is the one that the study asks for');
  }

  if (study === 'motion') {
    // hiding a curve draws one line less, and brings its marks back
    const lines = () => page.$$eval('#live-work-precision .mark-line path:not(.whisker)', (l) => l.length);
    const before = await lines();
    await page.click('#live-work-precision .chip');
    await page.waitForFunction((k) => document.querySelectorAll('#live-work-precision .mark-line path:not(.whisker)').length < k, before);
    ok((await lines()) === before - 1, 'motion: a curve that is switched off is gone');

    // rk4 has order 4: what the page computes from its cells
    const orders = await page.$$eval('#live-convergence table tr', (l) => l.map((r) => [...r.children].map((c) => c.textContent)));
    const none = orders.find((r) => r[0] === 'none');
    ok((await page.$eval('#live-convergence select >> nth=1', (e) => e.value)) === 'acceleration, rk4' && Math.abs(Number(none?.[1]) - 4) < 0.3, `motion: observed order ${none?.[1]} of rk4`);

    // the scrubber moves the bodies and the line in the plot of the error
    const canvas = await page.$('.replay-canvas');
    const first = await canvas.screenshot();
    await page.$eval('.replay-bar input', (e) => { e.value = '800'; e.dispatchEvent(new Event('input')); });
    await page.waitForTimeout(200);
    ok(!first.equals(await canvas.screenshot()), 'motion: the scrubber moves what is seen');
    ok((await page.textContent('.replay-time')) === 't = 0.160 s', 'motion: and tells the time');
    const [line, plot, width] = await page.evaluate(() => {
      const figure = document.querySelector('#live-replay-figure svg.figure'), field = figure.querySelector('clipPath rect');
      return [Number(/^M([\d.]+)/.exec(figure.querySelector('.replay-line').getAttribute('d'))[1]), Number(field.getAttribute('x')), Number(field.getAttribute('width'))];
    });
    ok(Math.abs((line - plot) / width - 0.8) < 0.02, 'motion: the line in the plot of the error stands at that time');
  }
  if (study === 'contact') {
    const data = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).replays.map((r) => r.replay.contact.length));
    ok(data.length > 0 && data.every((l) => l > 100), 'contact: replays carry impulses');
    ok(!(await page.isVisible('.replay-loads')) && !(await page.isVisible('text=drives')), 'contact: of scenes without drives none is shown');
    await page.selectOption('#live-replay-figure select >> nth=0', 'pusher');
    await page.$eval('.replay-bar input', (e) => { e.value = '500'; e.dispatchEvent(new Event('input')); });
    await page.waitForTimeout(200);
    const driven = await (await page.$('.replay-canvas')).screenshot();
    ok(/force at the joints: 0\s+20 N; now 20 N/.test(await page.textContent('.loads')), `contact: a motor of 20 N: ${await page.textContent('.loads')}`);
    await page.click('#live-replay-figure >> text=drives');
    await page.waitForTimeout(200);
    ok(!(await page.isVisible('.replay-loads')) && !driven.equals(await (await page.$('.replay-canvas')).screenshot()), 'contact: which can be taken away');
    const left = await page.$$eval('small.mark', (l) => l.map((e) => e.textContent));
    ok(left.length > 0 && left.every((t) => /^unsolved [0-9.]+ %$/.test(t)), `contact: problems that were not solved are counted (${left.join(', ')})`);
  }
  if (study === 'lcp') {
    // the performance profile is relative to the solvers shown: without the fastest, the others move up
    const profile = () => page.$$eval('#live-performance-profile .mark-line path', (l) => l.map((e) => e.getAttribute('d')));
    const before = await profile();
    await page.click('#s-problems .sticky .chip >> nth=0');
    await page.waitForFunction((k) => document.querySelectorAll('#live-performance-profile .mark-line path').length === k, before.length - 1);
    const after = await profile();
    ok(after.every((d) => !before.includes(d)), 'lcp: profiles are computed anew without a solver');
    ok((await page.$$eval('#live-performance-profile .mark-area path', (l) => l.length)) > 0, 'lcp: bootstrap bands are drawn');
  }
  ok(said.length === 0, `${study}: nothing on the console${said.length ? `: ${said.join(' | ')}` : ''}`);
  ok(asked.length === 0, `${study}: nothing is asked of a network${asked.length ? `: ${asked.join(' ')}` : ''}`);
  await context.close();

  const phone = await open(study, { width: 390, scheme: 'dark' });
  const wide = await phone.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  ok(wide <= 0 && phone.said.length === 0, `${study}: fits a phone, in the dark (${wide} px too wide)`);
  await picture(phone.page, `${out}/${study}-phone.png`);
  await phone.context.close();

  const plain = await open(study, { script: false });
  ok(/needs JavaScript/.test(await plain.page.$eval('body', (e) => e.innerText)), `${study}: without scripts the page says what it needs`);
  await plain.context.close();
}
// The tables that only some studies have, of real data; and what is said of results that are old, unlike or could not be drawn.
{
  const file = resolve(out, 'findings', 'report.html'), text = readFileSync(file, 'utf8'), block = /(<script type="application\/json" id="data">)(.*?)(<\/script>)/s;
  const data = JSON.parse(block.exec(text)[2]);
  Object.assign(data, { schema_1: 2, unlike: 'other <compiler>', undrawn: 'ecdf: gnuplot failed', proved: 1, accept_unsolved: 0.125 });
  data.cells.reason = { values: ['', 'ran away'], of: Buffer.from(Array.from({ length: data.cells.id.length / 16 }, (_, c) => (c === 0 ? 1 : 0))).toString('base64'), bytes: 1 };
  const count = data.cells.id.length / 16;
  data.cells.status = { values: ['ok', 'diverged', 'fixed-work', 'unsuited'], of: Buffer.from(Array.from({ length: count }, (_, c) => (c < 4 ? [1, 2, 3, 0][c] : 0))).toString('base64'), bytes: 1 };
  Object.assign(data.symptoms.rows[0].entries[1], { depends: true, class: 'mark', least: 1e-16, runs: 3, showing: 1, unsolved: true });
  Object.assign(data.replicate[0].rows[0], { confirmed: false, verdict: 'refuted', class: 'bad', why: 'the <twin> passes too' });
  Object.assign(data.endings.fields[0], { status: 'diverged', n: 1, failed: true });
  writeFileSync(file, text.replace(block, (_, a, b, c) => a + JSON.stringify(data).replaceAll('<', '\\u003c') + c));
  const { page, said, context } = await open('findings');
  const words = async (id) => (await page.$eval(`#${id}`, (e) => e.textContent)).replace(/\s+/g, ' ');
  const has = async (id, ...parts) => {
    const seen = await words(id), lost = parts.filter((p) => !seen.includes(p));
    ok(lost.length === 0, `findings: ${id} says ${parts.length} things${lost.length ? `, but not ${lost.join(' | ')}` : ''}`);
  };
  await has('s-header', 'All tables', 'Which table is <missing>?', 'Summary', 'Scenes', 'Outcomes', 'Failures');
  await has('s-unlike', 'computed under different conditions', 'other <compiler>');
  await has('s-answers', `${count} runs: `, '(1 of these proved that no solution exists)', 'up to 12.5 % of unsolved', '2 runs have results of schema 1', 'Closest to the published values: schur-dense', 'differs by a factor of 30.3',
    'Reported problems and where they occur', 'some engine, dartsim/dart#1', 'drift.pos.max > 1e-09 m', '3.3e-5shows it', 'from 1e-16; shown in 1 of 3 runs', 'unsolved', 'with projection',
    'Statements of the documents', '1 reproduced, 0 contradicted', '< 1.00e-09 m', 'declared reproduced, but the <twin> passes too', 'Printed: a picture', 'Missing: gears', 'Test: max(drift.pos.max', 'Wrong condition, which must fail: max(',
    'Claims', 'the joints hold', 'proved', 'refuted', '2.05e-4');
  await has('s-answers', ...data.findings.map((f) => f.text), ...data.findings.map((f) => f.basis), 'How we know');
  const lead = await page.$$eval('#s-answers .answer > ul > li', (all) => all.map((e) => e.textContent));
  ok(lead.length >= 1 && lead.length <= 3 && lead.every((t, k) => t === data.findings[k].text), 'findings: the first three stand on top, unfolded');
  await has('s-summary', 'sorted by the largest constraint error', 'Green: the best of the scene', 'chain:links=2, tree, post:velocity=true');
  await has('s-published', 'Nobody 1999', 'stab == none and scene == pendulum', '× 30.3', '0.001');
  await has('s-scenes', 'stack:boxes=2', 'Value of the largest constraint error');
  await has('s-endings', 'worst outcome of the runs of one kkt on one scene', 'diverged', '1 of 2', '1 cause', 'schur-dense on chain:links=2');
  await has('s-warned', 'conserved quantities change');
  await has('s-failures', '1 runs used a fixed number of sweeps', '1 runs are unsuited', 'ran away', 'diverged');
  await has('s-methods', 'kkt schur-dense', 'stab post', 'Source: ', 'range');
  {
    const [set, spoken, failed] = await page.evaluate(() => ['.equation .katex-html', '.equation math', '.equation[data-failed]'].map((s) => document.querySelectorAll(s).length));
    const fonts = await page.evaluate(async () => { await document.fonts.ready; return [...document.fonts].filter((f) => f.status === 'error').length; });
    ok(set > 0 && spoken === set && failed === 0 && fonts === 0, `findings: ${set} clauses of equations are set, in MathML too`);
  }
  await has('s-definitions', 'drift.pos.max', 'time.step_us');
  await has('s-environment', 'compiler', 'The study as it was run', 'schema: perp-study/1');
  await has('s-warnings', 'Figures that were not drawn', 'ecdf: gnuplot failed');
  const links = await page.$$eval('nav a', (l) => l.map((a) => [a.getAttribute('href'), document.querySelector(a.getAttribute('href'))?.tagName]));
  ok(links.length >= 9 && links.every(([, tag]) => tag === 'H2'), `findings: ${links.length} links lead to headings`);
  ok(said.length === 0 && (await page.$$('twin, compiler, missing')).length === 0, `findings: texts are texts ${said.join(' | ')}`);
  await context.close();
}
// The policy: what somebody puts into a page does not run, neither what it asks to run from a text; without the policy it
// all would (else this shows nothing), and the page itself needs none of it.
for (const policy of [true, false]) {
  const attack = `<script>window.ran = ['script'];</script>
<img src="x" onerror="(window.ran ??= []).push('handler')">
<style>body { outline: 7px solid red }</style>
<script src="data:text/javascript,(window.ran ??= []).push('data')"></script>
<iframe srcdoc="<script>parent.ran = ['frame']</script>"></iframe>
<form id="evil" action="https://example.org/"><input name="a"></form>`;
  let text = readFileSync(resolve(out, 'motion', 'report.html'), 'utf8');
  const meta = /<meta http-equiv="Content-Security-Policy"[^>]*>/;
  ok(!policy || meta.test(text), 'there is a policy');
  if (!policy) text = text.replace(meta, '');
  text = text.replace('<body>', `<body>${attack}`);
  mkdirSync(resolve(out, 'attacked'), { recursive: true });
  writeFileSync(resolve(out, 'attacked', 'report.html'), text);
  const { page, asked, context } = await open('attacked');
  const found = await page.evaluate(async () => {
    const tried = (f) => {
      try {
        return f();
      } catch {
        return false;
      }
    };
    const bar = document.createElement('script');
    bar.textContent = "(window.ran ??= []).push('added')";
    document.body.append(bar);
    const fetched = await fetch('data:text/plain,x').then(() => true, () => false);
    // later, as the policy is not asked while the test's own text is read
    const evals = await new Promise((done) => setTimeout(() => done(tried(() => new Function('return true')()))));
    return {
      ready: document.documentElement.dataset.ready, ran: window.ran ?? [], outline: getComputedStyle(document.body).outlineWidth,
      evals, fetched,
    };
  });
  if (policy) {
    ok(found.ready === 'yes', 'policy: the page is drawn as ever');
    ok(found.ran.length === 0, `policy: nothing that was put in runs: ${found.ran.join(' ')}`);
    ok(found.outline !== '7px', 'policy: no style, either');
    ok(!found.evals, 'policy: no text becomes a program');
    ok(!found.fetched && asked.length === 0, `policy: nothing is fetched ${asked.join(' ')}`);
  } else
    ok(found.ran.length > 0 && found.outline === '7px' && found.evals && found.fetched, `without the policy all of that happens: ${found.ran.join(' ')}`);
  await context.close();
}
await browser.close();
done();
