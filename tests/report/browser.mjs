// SPDX-License-Identifier: GPL-3.0-or-later
// Chromium without a window, told what to do through a pipe (Chrome DevTools protocol): what the tests of the pages need,
// with the names that Playwright has for it.  One browser serves a whole test.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });

// In the page: all elements of a selector: CSS, "text=words", "nth=k", one behind the other with " >> ".
const finder = `(selector) => selector.split(' >> ').reduce((list, part) => {
  if (part.startsWith('nth=')) return list.slice(Number(part.slice(4)), Number(part.slice(4)) + 1);
  if (part.startsWith('text=')) {
    const wanted = part.slice(5).toLowerCase(), has = (e) => e.textContent.toLowerCase().includes(wanted);
    return list.flatMap((e) => [...e.querySelectorAll('*')]).filter((e) => !/^(SCRIPT|STYLE)$/.test(e.tagName) && has(e) && ![...e.children].some(has));
  }
  return list.flatMap((e) => [...e.querySelectorAll(part)]);
}, [document])`;

const keys = { ' ': ['Space', 32, ' '], Enter: ['Enter', 13, '\r'], Tab: ['Tab', 9], Escape: ['Escape', 27], ArrowUp: ['ArrowUp', 38], ArrowDown: ['ArrowDown', 40], Home: ['Home', 36], End: ['End', 35], ArrowLeft: ['ArrowLeft', 37], ArrowRight: ['ArrowRight', 39] };

// Call f in the page of a session, on the object of a handle or on nothing.
async function call(page, objectId, f, args, byValue = true) {
  const where = objectId ? { objectId } : { executionContextId: page.context };
  const { result, exceptionDetails } = await page.send('Runtime.callFunctionOn', { functionDeclaration: `${byValue ? 'async ' : ''}function (...a) { const r = ${byValue ? 'await ' : ''}(${f})(${objectId ? 'this, ' : ''}...a); return ${byValue ? 'r?.toJSON || Array.isArray(r) ? JSON.parse(JSON.stringify(r)) : ' : ''}r; }`, arguments: args.map((value) => ({ value })), returnByValue: byValue, awaitPromise: true, ...where });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return byValue ? result.value : result;
}

class Handle {
  constructor(page, id) {
    Object.assign(this, { page, id });
  }
  evaluate(f, ...args) { return call(this.page, this.id, f, args); }
  getAttribute(name) { return this.evaluate((e, n) => e.getAttribute(n), name); }
  textContent() { return this.evaluate((e) => e.textContent); }
  focus() { return this.evaluate((e) => e.focus()); }
  $$eval(selector, f, ...args) { return call(this.page, this.id, `(e, s, ...a) => (${f})([...e.querySelectorAll(s)], ...a)`, [selector, ...args]); }
  isVisible() { return this.evaluate((e) => { const b = e.getBoundingClientRect(); return b.width > 0 && b.height > 0 && getComputedStyle(e).visibility === 'visible'; }); }
  // brought into sight, at once
  box() {
    return this.evaluate((e) => {
      document.documentElement.style.scrollBehavior = 'auto';
      e.scrollIntoViewIfNeeded();
      const { x, y, width, height } = e.getBoundingClientRect();
      return { x, y, width, height };
    });
  }
  // in the middle of what is seen of it, once it stays there and nothing is in front of it
  async click() {
    const place = async () => {
      await this.box();
      return this.evaluate(async (e) => {
        await new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
        const b = e.getBoundingClientRect(), seen = { left: Math.max(b.left, 0), right: Math.min(b.right, innerWidth), top: Math.max(b.top, 0), bottom: Math.min(b.bottom, innerHeight) };
        for (let p = e.parentElement; p; p = p.parentElement) {
          if (getComputedStyle(p).overflowX === 'visible') continue;
          seen.left = Math.max(seen.left, p.getBoundingClientRect().left);
          seen.right = Math.min(seen.right, p.getBoundingClientRect().right);
        }
        const at = [(seen.left + seen.right) / 2, (seen.top + seen.bottom) / 2], hit = document.elementFromPoint(...at);
        return [...at, e === hit || e.contains(hit)];
      });
    };
    let before = [], now = await place();
    for (let tries = 0; tries < 100 && !(now[2] && now[0] === before[0] && now[1] === before[1]); tries++) [before, now] = [now, await place()];
    await this.page.mouse.click(now[0], now[1]);
  }
  async screenshot() { return this.page.screenshot({ clip: await this.box() }); }
  selectOption(v) { return this.evaluate((e, value) => { e.value = value; e.dispatchEvent(new Event('input', { bubbles: true })); e.dispatchEvent(new Event('change', { bubbles: true })); }, v); }
}

class Page {
  constructor(browser, session, downloads) {
    Object.assign(this, { browser, session, downloads, listeners: {}, scale: 1 });
    this.keyboard = { press: (key) => this.press(key) };
    const at = (type, x, y, more) => this.send('Input.dispatchMouseEvent', { type, x, y, ...more });
    let place = [0, 0];
    const left = { button: 'left', clickCount: 1 };
    this.mouse = {
      move: async (x, y, { steps = 1 } = {}) => {
        const [x0, y0] = place;
        for (let k = 1; k <= steps; k++) await at('mouseMoved', x0 + ((x - x0) * k) / steps, y0 + ((y - y0) * k) / steps, this.pressed ? { buttons: 1, button: 'left' } : {});
        place = [x, y];
      },
      down: () => { this.pressed = true; return at('mousePressed', ...place, { ...left, buttons: 1 }); },
      up: () => { this.pressed = false; return at('mouseReleased', ...place, left); },
      click: async (x, y) => { await this.mouse.move(x, y); await this.mouse.down(); await this.mouse.up(); },
    };
  }
  send(method, params) { return this.browser.send(method, params, this.session); }
  on(what, f) { (this.listeners[what] ??= []).push(f); }
  tell(what, value) { for (const f of this.listeners[what] ?? []) f(value); }
  heard(method, p) {
    if (method === 'Runtime.executionContextCreated' && p.context.auxData?.isDefault && p.context.auxData.frameId === this.frame) this.context = p.context.id;
    if (method === 'Runtime.consoleAPICalled') this.tell('console', { type: () => p.type, text: () => p.args.map((a) => a.value ?? a.description ?? '').join(' ') });
    // a picture of WebGL is read back for that: the driver, not the page, says that it takes long
    if (method === 'Log.entryAdded' && !/^\[\.WebGL-\w+\]GL Driver Message \(OpenGL, Performance, /.test(p.entry.text)) this.tell('console', { type: () => p.entry.level, text: () => p.entry.text });
    if (method === 'Runtime.exceptionThrown') this.tell('pageerror', new Error(p.exceptionDetails.exception?.description ?? p.exceptionDetails.text));
    if (method === 'Network.requestWillBeSent') this.tell('request', { url: () => p.request.url });
    if (method === 'Page.loadEventFired') this.loaded?.();
  }
  async goto(url) {
    const done = new Promise((f) => { this.loaded = f; });
    await this.send('Page.navigate', { url });
    await done;
  }
  evaluate(f, ...args) { return call(this, null, f, args); }
  $$eval(selector, f, ...args) { return call(this, null, `(s, ...a) => (${f})((${finder})(s), ...a)`, [selector, ...args]); }
  $eval(selector, f, ...args) { return call(this, null, `(s, ...a) => { const e = (${finder})(s)[0]; if (!e) throw new Error('there is no ' + s); return (${f})(e, ...a); }`, [selector, ...args]); }
  async $(selector) {
    const r = await call(this, null, `(s) => (${finder})(s)[0] ?? null`, [selector], false);
    return r.objectId ? new Handle(this, r.objectId) : null;
  }
  async $$(selector) {
    const n = await this.$$eval(selector, (l) => l.length), list = [];
    for (let k = 0; k < n; k++) list.push(await this.$(`${selector} >> nth=${k}`));
    return list;
  }
  async one(selector) { return (await this.$(selector)) ?? Promise.reject(new Error(`there is no ${selector}`)); }
  async click(selector) { await (await this.one(selector)).click(); }
  async isVisible(selector) { return (await (await this.$(selector))?.isVisible()) ?? false; }
  async selectOption(selector, v) { await (await this.one(selector)).selectOption(v); }
  textContent(selector) { return this.$eval(selector, (e) => e.textContent); }
  inputValue(selector) { return this.$eval(selector, (e) => e.value); }
  getAttribute(selector, name) { return this.$eval(selector, (e, n) => e.getAttribute(n), name); }
  fill(selector, text) { return this.$eval(selector, (e, value) => { e.focus(); e.value = value; e.dispatchEvent(new Event('input', { bubbles: true })); }, text); }
  waitForTimeout(ms) { return sleep(ms); }
  async waitForFunction(f, arg, { timeout = 60000 } = {}) {
    for (const end = Date.now() + timeout; !(await this.evaluate(f, arg)); await sleep(20)) if (Date.now() > end) throw new Error(`timeout: ${f}`);
  }
  waitForSelector(selector, options) { return this.waitForFunction((s) => document.querySelector(s) !== null, selector, options); }
  async press(key) {
    const [code, number, text] = keys[key] ?? [`Key${key.toUpperCase()}`, key.toUpperCase().charCodeAt(0), key], event = { key, code, windowsVirtualKeyCode: number };
    await this.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', text, ...event });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }
  setViewportSize({ width, height }) { return this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false }); }
  emulateMedia({ media = '', colorScheme, reducedMotion } = {}) {
    Object.assign((this.features ??= {}), colorScheme && { 'prefers-color-scheme': colorScheme }, reducedMotion && { 'prefers-reduced-motion': reducedMotion });
    return this.send('Emulation.setEmulatedMedia', { media, features: Object.entries(this.features).map(([name, value]) => ({ name, value })) });
  }
  async screenshot({ path, clip, fullPage } = {}) {
    await this.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(() => done(0))); })); // what was asked for is drawn
    if (fullPage) {
      const { cssContentSize: s } = await this.send('Page.getLayoutMetrics');
      clip = { x: 0, y: 0, width: s.width, height: s.height };
    } else if (clip) {
      const [x, y] = await this.evaluate(() => [scrollX, scrollY]);
      clip = { ...clip, x: clip.x + x, y: clip.y + y };
    }
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: !!fullPage, ...(clip && { clip: { ...clip, scale: 1 } }) }), picture = Buffer.from(data, 'base64');
    if (path) writeFileSync(path, picture);
    return picture;
  }
  async pdf({ path }) {
    const { data } = await this.send('Page.printToPDF', { printBackground: true, paperWidth: 8.27, paperHeight: 11.69, marginTop: 0.47, marginBottom: 0.47, marginLeft: 0.47, marginRight: 0.47 });
    writeFileSync(path, Buffer.from(data, 'base64'));
  }
  // the next file that the page saves
  waitForEvent(what, { timeout = 60000 } = {}) {
    return new Promise((done, fail) => {
      const late = setTimeout(() => fail(new Error(`no ${what}`)), timeout);
      this.browser.saved = (guid, name) => {
        clearTimeout(late);
        done({ suggestedFilename: () => name, path: async () => join(this.downloads, guid) });
      };
    });
  }
}

// WebGL by SwiftShader; what a page has beside it is drawn without, which takes half of the time.
export async function launch(args = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-gpu-compositing']) {
  const home = mkdtempSync(join(tmpdir(), 'perp-browser-'));
  const child = spawn('chromium', ['--headless', '--no-sandbox', '--remote-debugging-pipe', `--user-data-dir=${home}`, '--hide-scrollbars', '--mute-audio', '--force-color-profile=srgb', '--font-render-hinting=none',
    '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions', '--disable-dev-shm-usage', ...args],
  { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const waiting = new Map(), pages = new Map(), names = new Map();
  let number = 0, rest = '';
  const browser = {
    send(method, params = {}, sessionId = undefined) {
      const id = ++number;
      child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
      return new Promise((done, fail) => { waiting.set(id, { done, fail: (e) => fail(new Error(`${method}: ${e.message}`)) }); });
    },
    async newContext({ viewport = { width: 1280, height: 720 }, colorScheme = 'light', reducedMotion, offline = false, javaScriptEnabled = true } = {}) {
      const { browserContextId } = await browser.send('Target.createBrowserContext');
      await browser.send('Browser.setDownloadBehavior', { behavior: 'allowAndName', browserContextId, downloadPath: home, eventsEnabled: true });
      return {
        close: () => browser.send('Target.disposeBrowserContext', { browserContextId }),
        async newPage() {
          const { targetId } = await browser.send('Target.createTarget', { url: 'about:blank', browserContextId });
          const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: true }), page = new Page(browser, sessionId, home);
          pages.set(sessionId, page);
          page.frame = (await page.send('Page.getFrameTree')).frameTree.frame.id;
          for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.send(`${domain}.enable`);
          await page.setViewportSize(viewport);
          await page.emulateMedia({ colorScheme, reducedMotion });
          if (offline) await page.send('Network.emulateNetworkConditions', { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
          if (!javaScriptEnabled) await page.send('Emulation.setScriptExecutionDisabled', { value: true });
          await page.send('Emulation.setFocusEmulationEnabled', { enabled: true });
          return page;
        },
      };
    },
    async newPage(options) { return (await browser.newContext(options)).newPage(); },
    // CPU seconds of all processes of the browser so far (Linux)
    cpu() {
      const all = readdirSync('/proc').filter((p) => /^\d+$/.test(p)).flatMap((p) => {
        try {
          const f = readFileSync(`/proc/${p}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
          return [{ pid: Number(p), parent: Number(f[1]), time: (Number(f[11]) + Number(f[12])) / 100 }];
        } catch {
          return [];
        }
      });
      const ours = new Set([child.pid]);
      for (let n = 0; n !== ours.size;) {
        n = ours.size;
        for (const p of all) if (ours.has(p.parent)) ours.add(p.pid);
      }
      return all.filter((p) => ours.has(p.pid)).reduce((sum, p) => sum + p.time, 0);
    },
    async close() {
      const ended = new Promise((done) => { child.on('exit', done); });
      browser.send('Browser.close').catch(() => {});
      await ended;
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  child.stdio[4].setEncoding('utf8');
  child.stdio[4].on('data', (text) => {
    const parts = (rest + text).split('\0');
    rest = parts.pop();
    for (const m of parts.map((p) => JSON.parse(p))) {
      if (m.id) {
        const { done, fail } = waiting.get(m.id);
        waiting.delete(m.id);
        if (m.error) fail(m.error);
        else done(m.result);
      } else if (m.method === 'Browser.downloadWillBegin') names.set(m.params.guid, m.params.suggestedFilename);
      else if (m.method === 'Browser.downloadProgress' && m.params.state === 'completed') browser.saved?.(m.params.guid, names.get(m.params.guid));
      else pages.get(m.sessionId)?.heard(m.method, m.params);
    }
  });
  child.on('error', (e) => { console.log(`Bail out! chromium: ${e.message}`); process.exit(1); });
  return browser;
}

// Numbered lines of TAP.
let n = 0, failed = 0;
export function ok(good, what) {
  n++;
  if (!good) failed++;
  console.log(`${good ? 'ok' : 'not ok'} ${n} - ${what}`);
}
export function done() {
  console.log(`1..${n}`);
  process.exit(failed ? 1 : 0);
}
// Pictures of whole pages for people, who ask for them: PERP_PICTURES=yes.
export const picture = (page, path) => process.env.PERP_PICTURES && page.screenshot({ path, fullPage: true });
