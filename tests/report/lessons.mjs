// SPDX-License-Identifier: GPL-3.0-or-later
// node lessons.mjs OUT NAME...: opens OUT/course/NAME.html and OUT/two.html as a student would, and keeps OUT/NAME*.png.
import { done, launch, ok, picture } from './browser.mjs';
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';

const [out, ...names] = process.argv.slice(2);
const course = readdirSync(resolve(out, 'course')).filter((f) => /\.html$/.test(f) && f !== 'index.html'), all = names.length === course.length;

const browser = await launch();

async function open(name, { script = true, at = '' } = {}) {
  const context = await browser.newContext({ viewport: { width: 1000, height: 900 }, offline: true, javaScriptEnabled: script });
  const page = await context.newPage();
  const said = [], asked = [];
  page.on('console', (m) => said.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => said.push(`error: ${e.message}`));
  page.on('request', (r) => /^(file|data|blob):/.test(r.url()) || asked.push(r.url()));
  await page.goto(`file://${resolve(out, `${name}.html`)}${at}`);
  if (script) await page.waitForSelector('html[data-ready]');
  return { page, said, asked, context };
}

// What a slider should change: everything below it that is drawn, and the numbers.
const seen = (page, selector) => page.$eval(selector, (e) => [...e.querySelectorAll('.curve path, .mark, .point, .trail')].map((p) => p.getAttribute('d') ?? `${p.getAttribute('cx')} ${p.getAttribute('cy')}`).join('|') + e.querySelector('.numbers, table')?.textContent);
const slide = (input, v) => input.evaluate((e, value) => {
  e.value = value;
  e.dispatchEvent(new Event('input'));
}, String(v));

async function sliders(page, name, selector) {
  const explore = selector === '.explore';
  if (explore) await page.waitForSelector('.explore[data-fine]');
  const list = await page.$$(`${selector} .slider input`);
  for (const [k, input] of list.entries()) {
    const places = ((await input.evaluate((e) => e.parentElement.dataset.stored)) ?? Array.from({ length: Number(await input.getAttribute('max')) + 1 }, (_, v) => v).join(' ')).split(' ').map(Number), max = places.length - 1, pictures = new Set();
    let told = '';
    for (const v of places) {
      await slide(input, v);
      pictures.add(await seen(page, selector));
      told += await page.$eval(`${selector} .slider:nth-of-type(${k + 1}) output`, (e) => e.textContent);
    }
    await slide(input, places[Math.floor(max / 2)]);
    // positions where nothing differs are possible (all boxes stick), but most must show something new
    ok(max >= 2 && pictures.size > (max + 1) / 2 && told.length > max, `${name}: slider ${k + 1} has ${max + 1} positions, ${pictures.size} different pictures`);
  }
  if (explore && (await page.getAttribute('.explore', 'data-fine')) === 'yes') await between(page, name, list[0]);
  return list.length;
}

// A position between stored runs is computed; at that of a stored one, the page computes what the program did.
async function between(page, name, input) {
  const places = (await input.evaluate((e) => e.parentElement.dataset.stored)).split(' ').map(Number), gap = places.findIndex((p, i) => places[i + 1] > p + 1), before = await seen(page, '.explore');
  await slide(input, places[gap] + 1);
  await page.waitForSelector('.explore[data-from=computed]');
  ok((await seen(page, '.explore')) !== before, `${name}: a position between stored runs is computed`);
  const off = await page.evaluate(async () => {
    const section = document.querySelector('.explore'), e = JSON.parse(document.getElementById('data').textContent).lessons[0].explore, fine = await section.fine();
    const place = e.sliders.map((s) => Math.floor(s.values.length / 2)), stored = fine.stored(place), mine = await fine.at(place);
    return Math.max(...stored.curves.map((c, i) => {
      const most = Math.max(...c.y.map(Math.abs)), y = mine.curves[i].y;
      return y.length !== c.y.length ? Infinity : Math.max(...c.y.map((v, k) => Math.abs(v - y[k]) / most));
    }));
  });
  ok(off < 1e-4, `${name}: computed at a stored position, the curves differ by ${off.toExponential(1)} of their largest value`); // stored as float
  computed.push(name);
}
const computed = [];

// Every frame of every solver, forward by the keyboard: the data of the page are the trace, the page shows them.
async function film(page, name) {
  const data = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).lessons[0].pivots);
  const middle = Math.floor(((data.values?.length ?? 1) - 1) / 2);
  const box = await page.$('.pivots');
  await page.emulateMedia({ reducedMotion: 'reduce' }); // each frame at once
  for (const run of data.runs.filter((r) => r.variant === middle)) {
    await page.click(`.tabs button[data-solver="${run.solver}"]`);
    await box.focus();
    const said = [], sets = [], dots = [], marked = [];
    for (let k = 0; k < run.frames.length; k++) {
      said.push(await page.textContent('.caption'));
      sets.push(await page.$$eval('.diagram .set', (l) => l.map((e) => e.textContent)));
      dots.push(await page.$$eval('.diagram .point', (l) => l.map((e) => `${e.getAttribute('cx')} ${e.getAttribute('cy')}`).join()));
      marked.push([await page.$$eval('th.enters', (l) => l.length), await page.$$eval('tr.leaves', (l) => l.length), await page.$$eval('.tableau tbody tr', (l) => l.length)]);
      await page.keyboard.press('ArrowRight');
    }
    ok(run.frames.length > 0 && (await page.getAttribute('.pivots', 'data-frame')) === String(run.frames.length - 1), `${name}: ${run.solver}: the arrows step through ${run.frames.length} frames`);
    ok(new Set(said).size === run.frames.length || run.frames.length === 1, `${name}: ${run.solver}: each frame says what happens`);
    ok(sets.every((s, k) => s.every((t, i) => t === run.frames[k].set[i] || (t === 'driven' && run.frames[k].set[i] === 'open'))), `${name}: ${run.solver}: the index sets are those of the trace`);
    // a pivot of length zero moves nothing
    const still = run.frames.filter((f, k) => k > 0 && JSON.stringify([f.lambda, f.w]) === JSON.stringify([run.frames[k - 1].lambda, run.frames[k - 1].w])).length;
    ok(new Set(dots).size >= run.frames.length - still, `${name}: ${run.solver}: the points move`);
    ok(run.frames.every((f, k) => !f.tableau || (marked[k][2] === data.n && marked[k][0] === (f.tableau.enters < 0 ? 0 : 1) && marked[k][1] === (f.tableau.leaves < 0 ? 0 : 1))), `${name}: ${run.solver}: the tableau marks what enters and what leaves`);
    if (['dantzig', 'lemke'].includes(run.method)) {
      ok(run.frames[0].tableau !== undefined, `${name}: ${run.solver}: there is a tableau`);
      // the smallest ratio of the tableau is the step that the solver made
      const wrong = run.frames.filter((f, k) => {
        const t = f.tableau, next = run.frames[k + 1];
        if (!t || t.leaves < 0 || t.nonbasic[t.enters] === 't' || !next) return false;
        const least = Math.min(...t.ratio.map((r) => (typeof r === 'string' ? Infinity : r)));
        const value = (g, v) => (v === 't' ? g.t : g[v[0] === 'w' ? 'w' : 'lambda'][v.replace(/\D/g, '') - 1]);
        const moved = Math.abs(value(next, t.nonbasic[t.enters]) - value(f, t.nonbasic[t.enters]));
        return Math.abs(t.ratio[t.leaves] - least) > 1e-12 || Math.abs(moved - least) > 1e-9 * (1 + least);
      });
      ok(wrong.length === 0, `${name}: ${run.solver}: the least ratio of each tableau is the step of the solver`);
    }
  }
  // play moves in between, and pauses; the slider goes anywhere
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await page.keyboard.press('Home');
  ok((await page.getAttribute('.pivots', 'data-frame')) === '0', `${name}: Home`);
  const frames = Number(await page.getAttribute('.pivots', 'data-frames'));
  if (frames > 2) {
    const before = await page.$$eval('.diagram .point', (l) => l.map((e) => `${e.getAttribute('cx')} ${e.getAttribute('cy')}`).join());
    await page.keyboard.press(' ');
    await page.waitForFunction((at) => [...document.querySelectorAll('.diagram .point')].map((e) => `${e.getAttribute('cx')} ${e.getAttribute('cy')}`).join() !== at, before);
    await page.waitForFunction(() => Number(document.querySelector('.pivots').dataset.frame) >= 2);
    await page.keyboard.press(' ');
    const at = await page.getAttribute('.pivots', 'data-frame');
    await page.waitForTimeout(1900);
    ok(at === (await page.getAttribute('.pivots', 'data-frame')), `${name}: space plays and pauses`);
  }
  await slide(await page.$('.bar input'), frames - 1);
  ok((await page.getAttribute('.pivots', 'data-frame')) === String(frames - 1), `${name}: the slider of the film goes to the end`);
}

// What is asked, and what the page says to it.
async function answer(page, k, text) {
  await page.evaluate(([i, t]) => {
    const form = document.querySelectorAll('form.exercise')[i];
    form.querySelector('input').value = t;
    form.querySelector('.verdict').textContent = '';
    form.requestSubmit();
  }, [k, text]);
  await page.waitForFunction((i) => !/^(computing.*)?$/.test(document.querySelectorAll('form.exercise .verdict')[i].textContent), k);
  return page.evaluate((i) => { const form = document.querySelectorAll('form.exercise')[i]; return { state: form.dataset.state, said: form.querySelector('.verdict').textContent }; }, k);
}

// Every exercise of the page: what the program found right and wrong when the page was made is so here.
async function exercises(page, name, l) {
  for (const [k, e] of l.exercises.entries()) {
    const pairs = e.want !== undefined ? [[String(e.want), 'right'], [String(e.want + 3 * (e.within * Math.abs(e.want) + 1e-9)), 'wrong']] : e.stored.map((s) => [s.answer, s.right ? 'right' : 'wrong']);
    ok(!(await page.$eval('main', (m) => m.innerText)).includes(e.because ?? '\0'), `${name}: exercise ${k + 1}: its explanation waits`);
    for (const [text, state] of [...pairs].reverse()) {
      const v = await answer(page, k, text);
      ok(v.state === state, `${name}: exercise ${k + 1}: ${text} is ${state} (${v.said})`);
    }
  }
}

// Slides: one part at a time, from the title to the end.
async function slides(page, name) {
  const shown = () => page.$$eval('.slide', (l) => l.filter((e) => e.getBoundingClientRect().height > 0).length);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('s');
  const counts = [await shown()], seen = new Set();
  for (let i = 0; i < 40 && !seen.has(await page.getAttribute('body', 'data-slide')); i++) {
    seen.add(await page.getAttribute('body', 'data-slide'));
    await page.keyboard.press('ArrowRight');
    counts.push(await shown());
  }
  ok(seen.size > 4 && counts.every((n) => n === 1), `${name}: ${seen.size} slides, one at a time`);
  await page.keyboard.press('ArrowLeft');
  ok(Number(await page.getAttribute('body', 'data-slide')) === seen.size - 2, `${name}: the left arrow goes back`);
  await page.keyboard.press('Escape');
  ok((await shown()) > 4, `${name}: Escape ends the slides`);
}

let films = 0, slid = [], moved = 0;
for (const name of names) {
  const { page, said, asked, context } = await open(`course/${name}`);
  const l = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).lessons[0]);
  const before = await page.$eval('main', (m) => m.innerText);
  ok((await page.$$('figure, .pivots, form.exercise, canvas')).length === 0 && !before.includes('Conclusion') && !before.includes('The answer'), `${name}: nothing of the results is in the page before a choice`);
  // by keys alone: to the choices, down to the wrong one, Enter
  const wrong = l.predict.answer === 1 ? 2 : 1;
  await page.evaluate(() => document.querySelector('.choices input').focus());
  await page.keyboard.press(' ');
  if (wrong === 2) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForSelector('main[data-revealed]');
  ok(/not right/.test(await page.textContent('.answer-of .verdict')) && (await page.$eval(`.choices label:nth-of-type(${wrong}) input`, (e) => e.checked)), `${name}: the prediction is judged`);
  await page.waitForTimeout(100);
  const figures = await page.$$eval('figure.live', (list) => list.map((e) => ({ curves: e.querySelectorAll('.curve .line').length, area: e.getBoundingClientRect().width * e.getBoundingClientRect().height, alt: e.querySelector('[role=img]')?.getAttribute('aria-label') ?? '' })));
  ok(figures.length === (l.plots?.length ?? 0) + (l.explore ? (l.explore.over ? 2 : 1) : 0) && figures.every((f) => f.curves > 0 && f.area > 2e4 && f.alt.length > 10), `${name}: ${figures.length} figures are drawn`);
  ok((await page.$$('[data-failed]')).length === 0, `${name}: all mathematics is set`);
  await exercises(page, name, l);
  if (l.pivots) {
    ok((await page.$$eval('details pre', (list) => list.map((e) => e.textContent))).some((t) => t.includes('    tableau ')), `${name}: all pivots in words`);
    films++;
    await film(page, name);
  }
  if (l.explore || l.pivots) if (await sliders(page, name, l.explore ? '.explore' : '.pivots')) slid.push(name);
  // bodies: the module steps, or a recording plays
  const still = await page.$('.play canvas');
  if (still && l.live && (await page.$('.play .live'))) {
    await page.evaluate(() => document.querySelector('main').live.step(20));
    ok(Number(await page.getAttribute('.play section.live', 'data-t')) > 0, `${name}: the solver steps in the page`);
    moved++;
  } else if (still) {
    await page.$eval('.play .live-bar button', (e) => e.click());
    await page.waitForFunction(() => Number(document.querySelector('.play input[type=range]').value) > 0);
    ok(true, `${name}: a recording plays`);
    moved++;
  }
  await picture(page, `${out}/${name}.png`);
  if (name === names[0]) await slides(page, name);
  ok(said.length === 0, `${name}: nothing on the console${said.length ? `: ${said.join(' | ')}` : ''}`);
  ok(asked.length === 0, `${name}: nothing is asked of a network${asked.length ? `: ${asked.join(' ')}` : ''}`);

  // the same page on a phone, in the dark, by someone who wants no motion
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: 360, height: 800 });
  await page.waitForFunction(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth, null, { timeout: 5000 }).catch(() => {});
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  ok(wide <= 0 && said.length === 0, `${name}: fits a phone, in the dark (${wide} px too wide)`);
  if (l.pivots) {
    await page.click('.bar button[aria-label=first]');
    await page.click('.bar button[aria-label=forward]');
    ok((await page.getAttribute('.pivots', 'data-frame')) === String(Math.min(1, (await page.getAttribute('.pivots', 'data-frames')) - 1)), `${name}: steps without motion where none is wanted`);
  }
  await picture(page, `${out}/${name}-phone.png`);
  await context.close();
}
ok(films >= 2 && slid.length >= (all ? 8 : 4), `${slid.length} lessons have sliders: ${slid.join(' ')}`);
ok(computed.length >= (all ? 10 : 2), `sliders compute in ${computed.length} lessons: ${computed.join(' ')}`);
ok(moved >= (all ? 5 : 2), `bodies move in ${moved} lessons`);

// a course in one file: index, lessons behind '#', progress, slides by the address, a lesson of one's own
{
  const { page, said, context } = await open('two', { at: '?slides' });
  ok((await page.$$('.lessons a')).length === 2 && (await page.$$('.lessons .state')).length === 0, 'two: the index');
  await page.evaluate(() => { location.hash = '#mine'; });
  await page.waitForSelector('main.lesson');
  ok((await page.$$('.after figure')).length === 0, 'two: a lesson of the course, before the choice');
  await page.$eval('.predict button[type=button]', (e) => e.click());
  await page.waitForSelector('main[data-revealed]');
  ok((await page.$$('.answer-of .verdict')).length === 0, 'two: shown without a choice, nothing is judged');
  ok((await answer(page, 0, 'nothing')).said === 'A number is required here.', 'two: no number');
  ok((await answer(page, 0, '0.5')).state === 'wrong' && (await answer(page, 0, '0.25')).state === 'right', 'two: a number is judged');
  const other = await answer(page, 1, 'split');
  ok(other.state !== 'open' || /perp lesson .*mine --exercise 2 --check 'split'/.test(other.said), `two: a setting that is not stored is computed, or the command is told (${other.said})`);
  ok((await answer(page, 1, 'stab=post:passes=2')).state === 'right', 'two: a setting is judged');
  await page.evaluate(() => { location.hash = '#'; });
  await page.waitForSelector('main.course');
  ok(/done/.test(await page.textContent('.lessons li:nth-child(2) .state')), 'two: the index knows what is done');
  await page.evaluate(() => { location.hash = '#mine'; });
  await page.waitForSelector('main[data-revealed]');
  ok(/Solved before/.test(await page.textContent('form.exercise .verdict')), 'two: so does the lesson');
  ok(said.length === 0, `two: nothing on the console${said.length ? `: ${said.join(' | ')}` : ''}`);
  await context.close();
}
{
  const { page, context } = await open('course/drift', { at: '?slides' });
  ok((await page.getAttribute('body', 'data-slide')) === '0', 'drift: ?slides begins with the title');
  await context.close();
}
{
  const { page, said, context } = await open('course/index');
  ok((await page.$$('.lessons a')).length === course.length && course.length > 20 && said.length === 0, `index: ${course.length} lessons`);
  await context.close();
}
{
  const { page, context } = await open('course/drift', { script: false });
  ok(/needs JavaScript/.test(await page.$eval('body', (e) => e.innerText)), 'drift: without scripts the page says what it needs');
  await context.close();
}
await browser.close();
done();
