// SPDX-License-Identifier: GPL-3.0-or-later
// node figures.mjs OUT STUDY...: what holds for every figure of OUT/STUDY/report.html, whatever it shows: no labels that
// overlap or run out, contrast, no horizontal scroll at 400 pixels, controls that do what they say, files that are what they
// are called, addresses that show the same again, paper without cut tables.  And of the pictures of gnuplot in OUT/STUDY/figs.
import { done, launch, ok, picture } from './browser.mjs';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const [out, ...studies] = process.argv.slice(2);
const { readData } = await import(resolve(out, 'data.mjs'));

const none = (list, what) => ok(list.length === 0, `${what}${list.length ? `: ${list.slice(0, 4).join(' | ')}${list.length > 4 ? ` and ${list.length - 4} more` : ''}` : ''}`);

const browser = await launch();

async function open(study, { width = 1300, scheme = 'light', hash = '' } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, offline: true, acceptDownloads: true });
  const page = await context.newPage();
  const said = [];
  page.on('console', (m) => said.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => said.push(`error: ${e.message}`));
  await page.goto(`file://${resolve(out, study, 'report.html')}${hash}`);
  await page.waitForSelector('html[data-ready=yes]');
  return { page, said, context };
}

// Texts of a drawing that lie over each other, or outside of it.
const collisions = (page, selector) => page.$$eval(selector, (list) => list.flatMap((svg) => {
  const id = svg.closest('[id]')?.id ?? 'picture', frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].filter((t) => t.textContent.trim()).map((t) => ({ text: t.textContent, box: t.getBoundingClientRect() }));
  const wrong = [];
  texts.forEach((a, i) => {
    if (a.box.left < frame.left - 1.5 || a.box.right > frame.right + 1.5 || a.box.top < frame.top - 1.5 || a.box.bottom > frame.bottom + 1.5) wrong.push(`${id}: '${a.text}' runs out of the picture`);
    for (const b of texts.slice(i + 1)) {
      const w = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left), h = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      // boxes of letters have room above and below
      if (w > 1 && h > 0.3 * Math.min(a.box.height, b.box.height)) wrong.push(`${id}: '${a.text}' over '${b.text}'`);
    }
  });
  return wrong;
}));

// Nothing of a drawing but names may lie in the strip of its axes' labels: no curve outside of its field.
const bare = (page) => page.$$eval('svg.figure', (list) => list.flatMap((svg) => {
  const count = (a) => svg.querySelectorAll(a).length, id = svg.closest('figure').id;
  const ticks = count('.axes text[text-anchor=middle]') + 0, y = count('.axes text[text-anchor=end]');
  return ticks >= 2 && y >= 2 ? [] : [`${id}: ${ticks} and ${y} labels on its axes`];
}));

// WCAG 2.1: contrast of each text with what is behind it; of lines and marks of curves with the page.
const pale = (page) => page.evaluate(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (c) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = '#000';
    canvas.fillStyle = c;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const lum = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = (e) => {
    let p = e;
    for (; p; p = p.parentElement) {
      const c = rgba(getComputedStyle(p).backgroundColor);
      if (c[3] > 250) return c;
    }
    return [255, 255, 255, 255];
  };
  const wrong = new Set();
  for (const e of document.querySelectorAll('.figure text, .live h3, .live label, .live td, .live th, .live button, .live p, .live figcaption, .live small, .live select, .cells td, .cells th button, .cells-filter, nav a, h1, h2, p, td, th, summary, code')) {
    if (e.offsetParent === null && !(e instanceof SVGElement)) continue;
    if (!e.textContent.trim() || e.closest('[hidden]')) continue;
    const style = getComputedStyle(e), ink = rgba(e instanceof SVGElement ? style.fill : style.color);
    const c = contrast(ink, behind(e));
    if (c < 4.5) wrong.add(`${e.closest('[id]')?.id}: ${e.tagName} '${e.textContent.trim().slice(0, 20)}' has ${c.toFixed(2)}`);
  }
  for (const e of document.querySelectorAll('.mark-line path:not(.whisker), .mark-point path, .mark-outside path')) {
    const c = contrast(rgba(getComputedStyle(e).stroke), behind(e));
    if (c < 3) wrong.add(`${e.closest('figure')?.id}: a curve has ${c.toFixed(2)}`);
  }
  return [...wrong];
});

const wide = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
// what a figure shows: its drawing, its table, its notes
const shows = (page, id) => page.$eval(id, (f) => `${f.querySelector('.plot').innerHTML}${[...f.querySelectorAll('table, .note')].map((e) => e.textContent)}`.replace(/clip-\w+/g, ''));
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30))));

async function controls(page, study) {
  const ids = await page.$$eval('figure.live', (l) => l.map((f) => `#${f.id}`));
  const idle = [], lost = [];
  let tried = 0;
  for (const id of ids) {
    if (id === '#live-replay-figure') continue; // a film of its own: page.mjs
    for (const select of await page.$$(`${id} .controls select`)) {
      if (!(await select.isVisible())) continue;
      const list = await select.$$eval('option', (l) => l.map((o) => o.value)), key = await select.getAttribute('data-key'), first = await select.evaluate((e) => e.value);
      const pictures = new Set([await shows(page, id)]);
      for (const v of list.slice(0, 12)) {
        await select.selectOption(v);
        await settled(page);
        pictures.add(await shows(page, id));
        tried++;
      }
      const chosen = new URLSearchParams((await page.evaluate(() => location.hash)).slice(2)).get(key);
      const value = await select.evaluate((e) => e.value);
      if (list.length > 1 && pictures.size < 2) idle.push(`${id} ${key}`);
      if (value !== first && chosen !== value) lost.push(`${id} ${key} is not in the address`);
      await select.selectOption(first);
      await settled(page);
    }
    for (const box of await page.$$(`${id} .controls input[type=checkbox]`)) {
      const before = await shows(page, id);
      await box.click();
      await settled(page);
      tried++;
      const signed = /negative/.test(await page.textContent(`${id} > .note`));
      // too many curves for bands, signed values for a logarithm: that is said
      if (before === (await shows(page, id)) && !signed && !/Bands are drawn/.test(await page.textContent(`${id} > .note`))) idle.push(`${id} ${await box.getAttribute('data-key')}`);
      await box.click();
      await settled(page);
    }
    const chips = await page.$$(`${id} .chip`);
    if (chips.length > 1) {
      const before = await shows(page, id), lines = () => page.$$eval(`${id} .names text`, (l) => l.map((t) => t.textContent));
      const names = await lines(), name = (await chips[0].textContent()).trim();
      await (await page.$(`${id} .chip`)).click();
      await settled(page);
      tried++;
      if (names.some((t) => t === name || t.startsWith(`${name}:`)) && (await lines()).some((t) => t === name)) idle.push(`${id} chip ${name}`);
      await (await page.$(`${id} .chip`)).click();
      await settled(page);
      if (before !== (await shows(page, id))) lost.push(`${id}: a chip pressed twice changes something`);
      const tools = await page.$$(`${id} .chips .tool`);
      if (tools.length === 2) {
        await tools[1].click();
        await settled(page);
        if ((await page.$$(`${id} .mark-line path`)).length) idle.push(`${id} none`);
        await (await page.$$(`${id} .chips .tool`))[0].click();
        await settled(page);
        if (before !== (await shows(page, id))) lost.push(`${id}: all does not bring all back`);
      }
    }
  }
  none(idle, `${study}: each of ${tried} choices changes its figure`);
  none(lost, `${study}: choices are kept in the address, and taken back`);
}

async function files(study) {
  const wrong = [], buttons = 'figure.live [data-tool=svg], figure.live [data-tool=csv]';
  let count = 0, page, context, list;
  for (let i = 0; !list || i < list.length; i++) {
    if (i % 8 === 0) { // a page may save ten files, then the browser asks
      await context?.close();
      ({ page, context } = await open(study));
      list = await page.$$(buttons);
    }
    const button = list[i];
    const kind = await button.getAttribute('data-tool'), id = await button.evaluate((b) => b.closest('figure').id);
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()]).catch((e) => [null, wrong.push(`${id} ${kind}: ${e.message.split('\n')[0]}`)]);
    if (!download) continue;
    count++;
    const text = readFileSync(await download.path(), 'utf8');
    if (download.suggestedFilename() !== `${id.replace('live-', '')}.${kind}`) wrong.push(`${id}: called ${download.suggestedFilename()}`);
    if (kind === 'svg') {
      const good = await page.evaluate((t) => {
        const doc = new DOMParser().parseFromString(t, 'image/svg+xml');
        return !doc.querySelector('parsererror') && doc.documentElement.tagName === 'svg' && doc.querySelectorAll('text').length > 3 && !t.includes('var(');
      }, text);
      if (!good) wrong.push(`${id}: no picture that stands alone`);
    } else {
      const rows = text.trim().split('\n'), fields = (r) => (r.match(/("([^"]|"")*"|[^,]*)(,|$)/g) ?? []).length - (/,$/.test(r) ? 0 : 1);
      if (rows.length < 2 || rows.some((r) => Math.abs(fields(r) - fields(rows[0])) > 0)) wrong.push(`${id}: no table`);
    }
  }
  await context.close();
  none(wrong, `${study}: ${count} files are saved, each a picture or a table`);
}

// The data of the page, decoded as the page does.
async function dataOf(page) {
  return readData(await page.$eval('#data', (e) => e.textContent));
}

async function filter(page, study) {
  const d = await dataOf(page), total = d.n;
  const ask = async (text) => {
    await page.fill('.cells-filter', text);
    return { fault: (await page.isVisible('.cells-fault')) ? await page.textContent('.cells-fault') : '', count: await page.textContent('.cells-count') };
  };
  const counted = (r) => Number(r.count.split(' ')[0]);
  // the same by hand, over the data of the page
  const column = (key) => (d.axis[key] ? Array.from({ length: total }, (_, c) => d.text(c, key)) : null);
  const cells = { status: d.cells.status, stab: column('stab'), h: column('h'), lcp: column('lcp'), problem: column('problem') };
  const good = [['status == ok', (c) => cells.status[c] === 'ok'], ['status != ok', (c) => cells.status[c] !== 'ok'], ['status in (ok, unsolved)', (c) => ['ok', 'unsolved'].includes(cells.status[c])], ['not status in (ok, unsolved)', (c) => !['ok', 'unsolved'].includes(cells.status[c])]];
  if (cells.stab && cells.h) {
    const h = (c) => Number(cells.h[c]), post = (c) => /^post(:|$)/.test(cells.stab[c]);
    good.push(['h<=1ms', (c) => h(c) <= 1e-3], ['h <= 1 ms', (c) => h(c) <= 1e-3], ['stab == "post" and h <= 2^-8', (c) => post(c) && h(c) <= 2 ** -8], ['stab == post or h > 2000 us', (c) => post(c) || h(c) > 2e-3], ['stab in (post, none) and h * 2 <= 2 ms', (c) => (post(c) || cells.stab[c] === 'none') && h(c) <= 1e-3], ['post h<=1e-3', null], ['baumgarte', (c) => /baumgarte/.test(cells.stab[c])]);
  }
  if (cells.lcp) good.push(['lcp == dantzig', (c) => /^dantzig(:|$)/.test(cells.lcp[c])]);
  const wrong = [];
  for (const [text, test] of good) {
    const r = await ask(text);
    const want = test ? cells.status.filter((_, c) => test(c)).length : null;
    if (r.fault || (want !== null && counted(r) !== want)) wrong.push(`${text}: ${r.fault || `${r.count}, not ${want}`}`);
  }
  none(wrong, `${study}: ${good.length} expressions choose the cells that they say`);
  const silent = [];
  const bad = [['statsu == ok', /unknown column 'statsu'.*status/], ['status = ok', /did you mean '=='/], ['status ==', /ends too early/], ['(status == ok', /expected '\)'/], ['status == "ok', /quote/], ['status < 3', /text/], ['status == ok and and', /not allowed here/], ['max(status) > 1', /claims/], ['status == ok ;', /unexpected character/], ['steps < 1 parsec', /unknown unit|unknown column/]];
  if (cells.h) bad.push(['h <= 1 kg', /wrong unit/], ['h<=1mss', /unknown unit 'mss'/], ['h == "post"', /number/]);
  await ask('');
  for (const [text, says] of bad) {
    const r = await ask(text);
    if (!says.test(r.fault)) silent.push(`${text}: says '${r.fault}'`);
  }
  none(silent, `${study}: ${bad.length} mistakes are said under the field`);
  const back = await ask('');
  ok(!back.fault && counted(back) === total, `${study}: without a filter all ${total} cells`);
  if (cells.problem) {
    const texts = await page.$$eval('.cells thead th', (l) => l.map((e) => e.textContent.replace(/ [▲▼]/, ''))), k = texts.indexOf('problem');
    const column = await page.$$eval('.cells tbody tr.row', (l, at) => l.map((r) => r.cells[at].textContent), k);
    ok(k >= 0 && column.every((t) => t.length > 2), `${study}: the column of problems names them`);
  }
  // details stay in sight, and sorting sorts
  await page.click('.cells tbody tr.row');
  const box = await page.$eval('.detail-box', (e) => { const b = e.getBoundingClientRect(); return [b.left, b.right, document.documentElement.clientWidth, e.scrollWidth - e.clientWidth]; });
  ok(box[0] >= 0 && box[1] <= box[2] && box[3] <= 1, `${study}: the details of a cell end at ${box[1].toFixed(0)} of ${box[2]} pixels`);
  await page.click('.cells tbody tr.row');
  const head = '.cells thead th.n button';
  await page.click(head);
  const order = async () => page.$$eval('.cells tbody tr.row', (l) => l.map((r) => r.textContent).join('\n'));
  const up = await order();
  await page.click(head);
  ok(up !== (await order()), `${study}: a head of the table sorts the other way`);
}

async function permalink(page, study) {
  await page.fill('.cells-filter', 'status == ok');
  const picked = [];
  for (const key of ['scaling.y', 'convergence.y', 'work-precision.x', 'over-time.y', 'ecdf.budget']) {
    const select = await page.$(`select[data-key="${key}"]`);
    if (!select || !(await select.isVisible())) continue;
    const list = await select.$$eval('option', (l) => l.map((o) => o.value));
    await select.selectOption(list[list.length - 1]);
    picked.push(key);
  }
  const chip = await page.$('figure .chip');
  if (chip) await chip.click();
  await settled(page);
  const ids = await page.$$eval('figure.live', (l) => l.map((f) => f.id).filter((id) => id !== 'live-replay-figure'));
  const before = [];
  for (const id of ids) before.push(await shows(page, `#${id}`));
  const hash = await page.evaluate(() => location.hash);
  const again = await open(study, { hash });
  const differ = [];
  for (const [k, id] of ids.entries()) if (before[k] !== (await shows(again.page, `#${id}`))) differ.push(id);
  ok(picked.length > 0 && (await again.page.inputValue('.cells-filter')) === 'status == ok', `${study}: an address carries ${picked.join(', ')} and the filter`);
  none(differ, `${study}: and shows the same figures`);
  const label = (await again.page.textContent('.cells-count'));
  ok(label === (await page.textContent('.cells-count')), `${study}: and the same cells: ${label}`);
  await again.context.close();
}

// On paper: nothing wider than the sheet, nothing of controls, colours of paper whatever the screen has.
async function paper(study) {
  const { page, context } = await open(study, { width: 700, scheme: 'dark' });
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await settled(page);
  await page.waitForTimeout(150);
  const cut = await page.evaluate(() => [...document.querySelectorAll('.scroll, table, figure, pre, .plot')].filter((e) => e.offsetParent !== null && (e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 || e.scrollWidth > e.clientWidth + 1)).map((e) => `${e.tagName} in ${e.closest('section')?.id}: ${e.scrollWidth} in ${e.clientWidth}`));
  none(cut, `${study}: on paper nothing is cut`);
  const seen = await page.$$eval('.controls, .tools, .cells-filter', (l) => l.filter((e) => e.offsetParent !== null).length);
  const ground = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--page').trim());
  ok(seen === 0 && /^#fff(fff)?$/.test(ground), `${study}: on paper there are no controls, and it is white`);
  none(await collisions(page, 'svg.figure'), `${study}: on paper no labels overlap`);
  await page.pdf({ path: `${out}/${study}.pdf`, format: 'A4', margin: { top: '12mm', bottom: '12mm', left: '12mm', right: '12mm' }, printBackground: true });
  await context.close();
}

for (const study of studies) {
  for (const [width, scheme] of [[1300, 'light'], [1300, 'dark'], [400, 'light'], [400, 'dark']]) {
    const { page, said, context } = await open(study, { width, scheme });
    const count = (await page.$$('svg.figure')).length, name = `${study}, ${width} pixels, ${scheme}`;
    none(await collisions(page, 'svg.figure'), `${name}: no labels overlap in ${count} figures`);
    none(await bare(page), `${name}: axes have labels`);
    none(await pale(page), `${name}: contrast`);
    ok((await wide(page)) <= 0, `${name}: no horizontal scroll`);
    await picture(page, `${out}/${study}-${width}-${scheme}.png`);
    if (width === 1300 && scheme === 'light') {
      const raw = await page.$$eval('.figure .axes text[fill="var(--ink)"], .live select[data-key$=".y"] option', (l) => l.map((t) => t.textContent).filter((t) => /^[a-z]+(\.[a-z_]+)+( \[|$)/.test(t)));
      none([...new Set(raw)], `${name}: names are words`);
      const anchors = await page.$$eval('nav a', (l) => l.map((a) => a.getAttribute('href')).filter((id) => !document.querySelector(id)));
      const linked = await page.$$eval('nav a', (l) => l.map((a) => a.getAttribute('href')));
      const headed = await page.$$eval('section h2[id]', (l) => l.map((h) => `#${h.id}`).filter((id) => id !== '#claims'));
      none([...anchors, ...headed.filter((id) => !linked.includes(id))], `${study}: every section is linked, every link leads somewhere`);
      await controls(page, study);
      await files(study);
      await filter(page, study);
      await permalink(page, study);
    }
    none(said, `${name}: nothing on the console`);
    await context.close();
  }
  await paper(study);
}

// What the scaling study was made for: error and time against height, with exponents.
if (studies.includes('scaling')) {
  const { page, context } = await open('scaling');
  const seen = async (id) => ({
    y: await page.$eval(`#live-${id} select[data-key="${id}.y"]`, (e) => e.value), x: await page.$eval(`#live-${id} select[data-key="${id}.x"]`, (e) => e.value),
    rows: await page.$$eval(`#live-${id} .fits tr`, (l) => l.slice(1).map((r) => [...r.cells].map((c) => c.textContent))), curves: await page.$$eval(`#live-${id} .mark-line path:not(.whisker)`, (l) => l.length),
  });
  const e = await seen('scaling'), t = await seen('time');
  ok(e.y === 'force.rel.err' && e.x === 'scene.boxes' && e.curves === 3, `scaling: error against height: ${e.y} over ${e.x}, ${e.curves} curves`);
  ok(t.y === 'time.step_us' && t.x === 'scene.boxes' && t.curves === 3, `scaling: time against height: ${t.y} over ${t.x}`);
  const d = await dataOf(page), m = (k) => d.metric[k].values;
  const data = { lcp: Array.from({ length: d.n }, (_, c) => d.text(c, 'lcp')), ok: d.cells.wins, n: d.options['scene.boxes'], force: m('force.rel.err'), time: m('time.step_us') };
  const slope = (name, v, floor) => {
    const p = data.n.map((x, c) => [x, v[c]]).filter((_, c) => data.lcp[c] === name && data.ok[c] === 1 && v[c] > floor), s = [];
    p.forEach((a, i) => p.slice(i + 1).forEach((b) => s.push(Math.log(b[1] / a[1]) / Math.log(b[0] / a[0]))));
    s.sort((x, y) => x - y);
    return s.length % 2 ? s[(s.length - 1) / 2] : (s[s.length / 2 - 1] + s[s.length / 2]) / 2;
  };
  const row = (list, name) => list.find((r) => r[0] === name);
  ok(row(e.rows, 'dantzig')?.[1] === 'none', `scaling: rounding has no exponent (dantzig: ${row(e.rows, 'dantzig')?.[1]})`);
  for (const [what, list, v, floor] of [['force.rel.err', e.rows, data.force, 1e-13], ['time.step_us', t.rows, data.time, 0]])
    for (const r of list.filter((x) => x[1] !== 'none')) ok(Math.abs(Number(r[1]) - slope(r[0], v, floor)) < 0.006 && /…/.test(r[2]) && /…/.test(r[3]), `scaling: ${what} of ${r[0]} grows with the power ${r[1]} (${r[2]}) over ${r[3]}`);
  const bands = await page.$$eval('#live-time .mark-area path', (l) => l.length);
  ok(bands > 0, `scaling: ${bands} bands of quartiles`);
  await context.close();
}
// COCO: the virtual best is nowhere under a solver; every solver has its cross
if (studies.includes('lcp')) {
  const { page, context } = await open('lcp');
  const spent = await page.$$eval('#live-ecdf .mark-point path', (l) => l.filter((e) => /l10 10/.test(e.getAttribute('d'))).length);
  const names = await page.$$eval('#live-ecdf .names text', (l) => l.map((t) => t.textContent));
  ok(names.includes('virtual best') && spent === names.length - 1, `lcp: ECDF of ${names.join(', ')} with ${spent} crosses`);
  // the picture of gnuplot shows the same: budgets, shares and crosses, and its caption says the same
  const rows = readFileSync(resolve(out, 'lcp/figs/ecdf.csv'), 'utf8').split('\n').slice(1).filter((l) => l).map((l) => /^"(.*)",([^,]*),([^,]*)$/.exec(l)).map((m) => ({ name: m[1], x: Number(m[2]), y: Number(m[3]) }));
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#live-ecdf [data-tool="csv"]')]);
  const saved = readFileSync(await download.path(), 'utf8').split('\n').slice(1).filter((l) => l).map((l) => l.split(',')).map(([name, x, y]) => ({ name, x: Number(x), y: Number(y) }));
  const curve = (list, name) => list.filter((r) => r.name === name), at = (c, x) => c.filter((p) => p.x <= x * (1 + 1e-6)).pop()?.y ?? 0;
  const unlike = [];
  for (const name of names) {
    const a = curve(rows, name), b = curve(saved, name);
    if (a.length < 2 || b.length < 2) unlike.push(`${name}: ${a.length} and ${b.length} points`);
    for (const { x } of [...a, ...b]) if (Math.abs(at(a, x) - at(b, x)) > 1e-9) unlike.push(`${name} at ${x}: ${at(a, x)} and ${at(b, x)}`);
    if (name !== 'virtual best' && curve(rows, `${name}: largest budget`).length !== 1) unlike.push(`${name}: no cross`);
  }
  none(unlike, `lcp: gnuplot's ECDF is that of the page, ${rows.length} points`);
  const d = await dataOf(page), pairs = new Set(Array.from({ length: d.n }, (_, c) => `${d.text(c, 'problem')} ${d.text(c, 'tol')}`)).size;
  const shares = names.filter((name) => name !== 'virtual best').map((name) => [name, curve(rows, name).pop().y, Array.from({ length: d.n }, (_, c) => c).filter((c) => d.text(c, 'lcp') === name && d.ok(c)).length / pairs]);
  ok(shares.every(([, seen, is]) => Math.abs(seen - is) < 1e-9) && shares.some(([, seen]) => seen < 1), `lcp: each ends at what it solves of ${pairs} pairs: ${shares.map(([name, seen]) => `${name} ${seen.toFixed(3)}`).join(', ')}`);
  const title = await page.$eval('#live-ecdf .axes', (g) => [...g.querySelectorAll('text')].map((t) => t.textContent).join(' ')), script = readFileSync(resolve(out, 'lcp/figs/ecdf.gp'), 'utf8');
  ok(title.includes('budget: work') && /Budget: work/.test(script) && script.includes('set yrange [0:1'), 'lcp: over the same budget');
  // what was not asked of a solver is neither good nor bad
  const quiet = await page.$$eval('#live-failure-matrix td', (l) => l.filter((td) => td.textContent === 'unsuited').map((td) => [td.className, td.getAttribute('style') ?? '', td.textContent]));
  ok(quiet.length > 0 && quiet.every(([c, s]) => c === 'unsuited' && s === ''), `lcp: ${quiet.length} fields of the matrix that nobody asked for have no colour`);
  await page.fill('.cells-filter', 'status == unsuited');
  const colours = await page.$$eval('.cells tbody tr.row', (l) => l.map((r) => r.cells[0].className + ' ' + getComputedStyle(r.cells[0]).color));
  const soft = await page.evaluate(() => { const e = document.createElement('i'); e.style.color = 'var(--soft)'; document.body.append(e); return getComputedStyle(e).color; });
  ok(colours.length > 0 && colours.every((c) => c === `unsuited ${soft}`), `lcp: ${colours.length} unsuited cells are grey in the table: ${colours[0]}`);
  await context.close();
}

// The pictures of gnuplot.
for (const study of studies) {
  const page = await (await browser.newContext({ viewport: { width: 1300, height: 900 }, offline: true })).newPage();
  const list = readdirSync(resolve(out, study, 'figs')).filter((f) => f.endsWith('.svg')), wrong = [];
  for (const f of list) {
    await page.goto(`file://${resolve(out, study, 'figs', f)}`);
    wrong.push(...(await collisions(page, 'svg')).map((t) => `${f} ${t}`));
  }
  none(wrong, `${study}: no labels overlap in ${list.length} pictures of gnuplot`);
}
await browser.close();
done();
