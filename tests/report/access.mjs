// SPDX-License-Identifier: GPL-3.0-or-later
// node access.mjs FOLDER PAGE...: pages as people use them who see little, have no pointer, or want them on paper: WCAG 2.1,
// levels A and AA, as far as a program can tell (access_rules.mjs).  Each rule must first find what was planted for it.
import { done, launch, ok } from './browser.mjs';
import { listening, narrow, paper, standing, still } from './access_rules.mjs';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const [out, ...pages] = process.argv.slice(2);
const browser = await launch();
const none = (list, what) => ok(list.length === 0, `${what}${list.length ? `: ${list.length} found: ${list.slice(0, 8).join(' | ')}` : ''}`);

async function open(path, { width = 1200, scheme = 'light', reducedMotion = 'reduce' } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, reducedMotion, offline: true }), page = await context.newPage();
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source: listening });
  const file = path.split('?')[0];
  await page.goto(`file://${resolve(out, path)}`);
  const live = /id="data"|assets\/site\.js/.test(readFileSync(resolve(out, file), 'utf8'));
  await page.waitForSelector(live ? 'html[data-ready]' : path.includes('?q=') ? '#results article' : 'body');
  // a lesson shows the rest after a choice
  if (await page.$('.predict button[type=button]')) {
    await page.$eval('.predict button[type=button]', (e) => e.click());
    await page.waitForSelector('main[data-revealed]');
    // the solver is there, and the sliders know whether they compute
    await page.waitForFunction(() => (!document.querySelector('.play') || document.querySelector('.play canvas, .play .note')) && document.querySelectorAll('.explore:not([data-fine])').length === 0);
    await page.evaluate(() => { // the next Tab begins on top again
      document.body.tabIndex = -1;
      document.body.focus();
      document.body.removeAttribute('tabindex');
    });
  }
  await drawn(page);
  return { page, context };
}

const drawn = (page) => page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(0)))); }));

// Tab from control to control: each is reached once, in the order of the page, and seen to be.
async function walk(page, most = 400) {
  const found = [];
  const wanted = await page.evaluate(() => {
    const e = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')].filter((x) => x.tabIndex >= 0 && !x.disabled && x.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: false }) && !x.closest('[hidden]') && !(x.type === 'radio' && !x.checked));
    e.forEach((x, k) => { x.walked = k; });
    document.activeElement?.blur();
    window.scrollTo(0, 0);
    return e.length;
  });
  let last = -1;
  const seen = new Set();
  for (let n = 0; n < Math.min(most, wanted + 5); n++) {
    await page.press('Tab');
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      if (!e || e === document.body || e === document.documentElement) return null;
      const s = getComputedStyle(e), b = e.getBoundingClientRect();
      const ring = (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1) || s.boxShadow !== 'none';
      return { k: e.walked ?? -1, name: `${e.tagName.toLowerCase()}.${e.getAttribute('class') ?? ''} '${(e.getAttribute('aria-label') ?? e.textContent).trim().slice(0, 24)}'`, ring, inside: b.right > 0 && b.bottom > 0 && b.left < innerWidth && b.top < innerHeight && b.width * b.height > 0 };
    });
    if (!at) break;
    if (at.k >= 0 && seen.has(at.k)) {
      if (seen.size < Math.min(most, wanted)) found.push(`tab: comes back to ${at.name} after ${seen.size} of ${wanted}`);
      break;
    }
    seen.add(at.k);
    if (!at.ring) found.push(`focus: cannot be seen on ${at.name}`);
    if (!at.inside) found.push(`focus: out of sight on ${at.name}`);
    if (at.k >= 0 && at.k < last) found.push(`tab: ${at.name} comes out of order`);
    last = Math.max(last, at.k);
  }
  if (seen.size < Math.min(most, wanted)) found.push(`tab: reaches ${seen.size} of ${wanted} controls`);
  return { found: [...new Set(found)], wanted, seen: seen.size };
}

// What keys do with controls, one of each kind; after it the focus is where it was.
async function keys(page) {
  const found = [];
  const lost = async (what) => { if (await page.evaluate(() => document.activeElement === document.body || !document.activeElement)) found.push(`keys: ${what} loses the focus`); };
  const each = async (selector, state, presses, what) => {
    const e = await page.$(selector);
    if (!e || !(await e.isVisible())) return;
    await e.focus();
    for (const key of presses) {
      const before = await page.evaluate(state);
      await page.press(key);
      let after = before;
      for (const end = Date.now() + 500; after === before && Date.now() < end;) after = await page.evaluate(state);
      if (after === before) found.push(`keys: ${key === ' ' ? 'Space' : key} does nothing on ${what}`);
      await lost(what);
    }
  };
  await each('main summary', () => String([...document.querySelectorAll('main details')].map((d) => d.open)), ['Enter', ' '], 'a fold');
  await each('.chips .chip', () => String([...document.querySelectorAll('.chips .chip')].map((c) => c.ariaPressed)), ['Enter', ' '], 'a curve');
  await each('.tabs [aria-pressed=false]', () => document.querySelector('.tabs [aria-pressed=true]').textContent, ['Enter'], 'a tab');
  await each('.cells th button', () => document.querySelector('.cells thead').textContent + document.querySelector('.cells tbody tr').textContent, ['Enter', ' '], 'the head of a table');
  await each('.cells tbody button', () => String(document.querySelectorAll('.cells .detail').length), ['Enter', ' '], 'a run');
  await each('.matrix td button', () => document.querySelector('.cells-filter')?.value ?? '', ['Enter'], 'a field of a map');
  const select = await page.evaluate(() => { const s = [...document.querySelectorAll('figure select')].findIndex((e) => e.checkVisibility() && e.options.length > 1 && e.selectedIndex < e.options.length - 1); return s; });
  if (select >= 0) await each(`figure select >> nth=${select}`, () => String([...document.querySelectorAll('figure select')].map((s) => s.value)), ['ArrowDown'], 'a choice');
  // the values of a figure, and out of them again
  const figure = await page.$('[role=application]');
  if (figure) {
    await figure.focus();
    const tip = () => { const t = document.querySelector('.tip'); return t && !t.hidden ? t.textContent : ''; };
    await page.press('ArrowRight');
    const first = await page.evaluate(tip);
    await page.press('ArrowRight');
    const second = await page.evaluate(tip);
    if (!first || !second || first === second) found.push(`keys: arrows do not tell the values of a figure: '${first}', '${second}'`);
    if (!(await page.evaluate(() => document.querySelector('.tip')?.getAttribute('role') === 'status'))) found.push('keys: the values of a figure are not told');
    await page.press('Escape');
    if (await page.evaluate(tip)) found.push('keys: Escape does not close the values of a figure');
  } else if (await page.$('svg.figure')) found.push('keys: no figure has keys');
  return found;
}

async function print(path) {
  const { page, context } = await open(path, { width: 760, scheme: 'dark' });
  await page.emulateMedia({ media: 'print' });
  await drawn(page);
  const list = await page.evaluate(paper);
  await context.close();
  return list;
}
const once = async (path, f, options) => {
  const { page, context } = await open(path, options), list = await f(page);
  await context.close();
  return list;
};

// ---- each rule finds what breaks it ----------------------------------------------------------------------------------
const broken = [
  ['lang', (t) => t.replace(' lang="en"', '')],
  ['title', (t) => t.replace(/<title>[^<]*/, '<title>')],
  ['zoom', (t) => t.replace('initial-scale=1', 'initial-scale=1, user-scalable=no')],
  ...Object.entries({
    'duplicate id': '<p id="twice">a</p><p id="twice">b</p>', reference: '<p aria-describedby="nowhere">a</p>', main: '<main>second</main>', nav: '<nav><a href="#a">a</a></nav>', landmark: ['body', '<p>outside</p>'],
    headings: '<h5>deep</h5>', name: '<button type="button"></button>', label: '<input type="text" placeholder="name">', nested: '<a href="#"><button>a</button></a>', role: '<div tabindex="0">what am I</div>', tabindex: '<button tabindex="3">first</button>',
    'hidden control': '<div aria-hidden="true"><button>a</button></div>', list: '<ul><p>a</p></ul>', picture: '<canvas width="40" height="40"></canvas>', table: '<table aria-label="t"><tr><th>head</th></tr></table>',
    keys: '<div id="click">press me</div>', scroll: '<div style="overflow:auto;width:5rem"><p style="width:60rem">long</p></div>', contrast: '<p style="color:#999;background:#fff">pale</p>', link: '<p style="color:#222">some words and <a href="#" style="text-decoration:none;color:#333">a link</a></p>',
  }).map(([rule, put]) => [rule, put]),
];
const also = [['picture', '<img src="data:,">'], ['picture', '<svg width="20" height="20"><path d="M0 0h9"/></svg>'], ['table', '<table><tr><th scope="col">head</th></tr></table>'], ['table', '<table aria-label="t"><tr><td>1</td></tr></table>'], ['headings', '<h1>second</h1>'], ['name', '<a href="#"><img alt="" src="data:,"></a>'],
  ['contrast', '<input type="text" aria-label="a" style="border:1px solid #eee;background:#fff">'], ['contrast', '<svg role="img" aria-label="s" width="90" height="20"><text y="12" style="fill:#aaa">label</text></svg>'], ['contrast', '<p style="opacity:.4">faint</p>'], ['name', '<button aria-label="other">words</button>'], ['role', '<p aria-expanded="true">a</p>']];

const clean = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>A page</title></head><body style="background:#fff;color:#111"><header><nav aria-label="site"><a href="#m">a</a></nav></header><main id="m"><h1>A page</h1><p>Words.</p>
<details><summary>fold</summary><p>inside</p></details></main></body></html>`;
const planted = resolve(out, 'access-planted.html'), name = 'access-planted.html';
const put = (text) => writeFileSync(planted, text);
put(clean);
const { page: one, context: theirs } = await open(name); // serves all that is planted
const look = async () => {
  await one.goto(`file://${planted}`);
  await drawn(one);
  return one.evaluate(standing);
};
none(await look(), 'a clean page breaks no rule');
for (const [rule, how] of [...broken, ...also]) {
  put(typeof how === 'function' ? how(clean) : Array.isArray(how) ? clean.replace('</body>', `${how[1]}</body>`) : clean.replace('</main>', `${how}<script>document.getElementById('click')?.addEventListener('click', () => {});</script></main>`));
  const list = await look();
  ok(list.some((t) => t.startsWith(`${rule}:`)), `planted: ${rule}: ${list.slice(0, 2).join(' | ') || 'not found'}`);
}
await theirs.close();
const plant = async (rule, text, f, options) => {
  put(clean.replace('</main>', `${text}</main>`));
  const list = await once(name, async (p) => { const r = await f(p); return r.found ?? r; }, options);
  ok(list.some((t) => t.startsWith(`${rule}:`)), `planted: ${rule}: ${list[0] ?? 'not found'}`);
};
await plant('narrow', '<div style="width:60rem">wide</div>', (p) => p.evaluate(narrow), { width: 400 });
await plant('motion', '<style>@keyframes turn{to{transform:rotate(1turn)}} b{display:inline-block;animation:turn 1s infinite}</style><b>o</b>', (p) => p.evaluate(still));
await plant('motion', '<style>html{scroll-behavior:smooth}</style>', (p) => p.evaluate(still));
await plant('motion', '<div data-time="0" id="film"></div><script>setInterval(() => { document.getElementById("film").dataset.time++; }, 20)</script>', (p) => p.evaluate(still));
await plant('focus', '<style>:focus{outline:none}</style>', walk);
await plant('tab', '<button>a</button><button onfocus="this.blur();document.querySelector(\'a\').focus()">trap</button><button>c</button>', walk);
await plant('tab', '<div style="display:flex;flex-direction:row"><button>a</button><button id="late">b</button></div><script>document.getElementById("late").tabIndex = 1</script>', walk);
await plant('keys', '<script>document.querySelector("summary").addEventListener("keydown", (e) => e.preventDefault()); document.querySelector("summary").addEventListener("keyup", (e) => e.preventDefault());</script>', keys);
await plant('keys', '<figure><svg class="figure" role="img" aria-label="f"></svg></figure>', keys);
const onPaper = async (p) => { await p.emulateMedia({ media: 'print' }); return p.evaluate(paper); };
await plant('print', '<p>a</p>', onPaper); // its fold and its nav stay
await plant('print', '<style>@media print{nav{display:none}details::details-content{content-visibility:visible;display:block}}</style><button>press</button>', onPaper);
put(clean.replace('</main>', '<style>@media print{nav{display:none}details::details-content{content-visibility:visible;display:block}}</style></main>'));
none(await once(name, onPaper), 'open folds and no controls are right on paper');
rmSync(planted);

// ---- the pages -------------------------------------------------------------------------------------------------------
for (const path of pages) {
  // each page is opened four times: in the dark, on a narrow window, for keys, for paper
  {
    const { page, context } = await open(path, { scheme: 'dark' });
    none(await page.evaluate(standing), `${path}, dark: rules`);
    await page.emulateMedia({ colorScheme: 'light' });
    await drawn(page);
    none(await page.evaluate(standing), `${path}, light: rules`);
    await page.evaluate(() => { for (const d of document.querySelectorAll('details')) d.open = true; });
    await drawn(page);
    none(await page.evaluate(standing), `${path}: rules, with all folds open`);
    await context.close();
  }
  none(await once(path, async (p) => [...(await p.evaluate(narrow)), ...(await p.evaluate(standing))], { width: 400 }), `${path}: at 400 pixels`);
  const { page, context } = await open(path);
  none(await page.evaluate(still), `${path}: nothing moves by itself`);
  const tour = await walk(page);
  none(tour.found, `${path}: Tab reaches ${tour.seen} of ${tour.wanted} controls in order, each seen`);
  await page.evaluate(() => { document.activeElement?.blur(); window.scrollTo(0, 0); });
  none(await keys(page), `${path}: keys`);
  await context.close();
  none(await print(path), `${path}: on paper`);
}
console.log(`# ${browser.cpu().toFixed(0)} s of the processor`);
await browser.close();
done();
