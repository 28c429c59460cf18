// SPDX-License-Identifier: GPL-3.0-or-later
// Rules of WCAG 2.1, A and AA, that a page can break: what is found is a list of "rule: where".  Debian has no axe-core.

// Before the page runs: which elements listen to a pointer, and which to keys.
export const listening = `(() => {
  const add = EventTarget.prototype.addEventListener;
  window.heard = new Map();
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    if (this instanceof Element) window.heard.set(this, (window.heard.get(this) ?? new Set()).add(type));
    return add.call(this, type, ...rest);
  };
})()`;

// In the page: what can be seen of its elements at one time.
export function standing() {
  const found = new Set(), all = (s) => [...document.querySelectorAll(s)];
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: false }) && !e.closest('[hidden]');
  const where = (e) => `${e.tagName.toLowerCase()}${e.id ? `#${e.id}` : e.getAttribute('class') ? `.${e.getAttribute('class').split(' ')[0]}` : ''} '${(e.getAttribute('aria-label') ?? e.textContent ?? '').trim().replace(/\s+/g, ' ').slice(0, 24)}' in ${e.parentElement?.closest('[id]')?.id ?? 'body'}`;
  const wrong = (rule, e, more = '') => found.add(`${rule}: ${e instanceof Element ? where(e) : e}${more}`);
  const hidden = (e) => e.closest('[aria-hidden=true]') !== null;

  // what assistive technology calls an element
  const words = (e) => {
    const ids = e.getAttribute('aria-labelledby');
    if (ids) return ids.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? '').join(' ').trim();
    if (e.getAttribute('aria-label')?.trim()) return e.getAttribute('aria-label').trim();
    if (e.labels?.length) return [...e.labels].map((l) => l.textContent).join(' ').trim();
    if (e.tagName === 'IMG') return (e.getAttribute('alt') ?? '').trim();
    const inner = [...e.childNodes].map((c) => (c.nodeType === 3 ? c.data : c.nodeType === 1 && c.getAttribute('aria-hidden') !== 'true' ? words(c) : '')).join('').trim();
    return inner && !/^(INPUT|SELECT|TEXTAREA)$/.test(e.tagName) ? inner : '';
  };
  const native = 'a[href], button, input:not([type=hidden]), select, textarea, summary', operable = `${native}, [tabindex]:not([tabindex^="-"])`;

  // the document
  if (!/^[a-z]{2}/.test(document.documentElement.lang)) wrong('lang', document.documentElement);
  if (document.title.trim().length < 2) wrong('title', 'head');
  if (/user-scalable\s*=\s*no|maximum-scale\s*=\s*1\b/.test(document.querySelector('meta[name=viewport]')?.content ?? '')) wrong('zoom', 'meta viewport');
  const ids = new Set();
  for (const e of all('[id]')) {
    if (ids.has(e.id)) wrong('duplicate id', e);
    ids.add(e.id);
  }
  for (const e of all('[aria-labelledby], [aria-describedby], [aria-controls]'))
    for (const name of ['aria-labelledby', 'aria-describedby', 'aria-controls'])
      for (const id of (e.getAttribute(name) ?? '').split(/\s+/)) if (id && !ids.has(id)) wrong('reference', e, ` ${name} ${id}`);

  // landmarks
  const mains = all('main, [role=main]').filter(shown);
  if (mains.length !== 1) wrong('main', `${mains.length} of them`);
  const navs = all('nav').filter(shown);
  for (const e of navs) if (!words({ getAttribute: (n) => e.getAttribute(n), childNodes: [], tagName: '' })) wrong('nav', e, ' has no name');
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), texts = [];
  for (let t = walker.nextNode(); t; t = walker.nextNode()) {
    const e = t.parentElement;
    if (!t.data.trim() || /^(SCRIPT|STYLE|NOSCRIPT|OPTION|TITLE|DESC)$/i.test(e.tagName) || !shown(e)) continue;
    texts.push([t, e]);
    if (!e.closest('main, [role=main], nav, header, footer, aside, [role=search], [role=status], [role=tooltip], .skip')) wrong('landmark', e);
  }

  // headings
  const heads = all('h1, h2, h3, h4, h5, h6').filter((e) => shown(e) && !hidden(e));
  if (heads.filter((e) => e.tagName === 'H1').length !== 1) wrong('headings', `${heads.filter((e) => e.tagName === 'H1').length} of the first level`);
  let level = 0;
  for (const e of heads) {
    const n = Number(e.tagName[1]);
    if (n > level + 1) wrong('headings', e, ` of level ${n} after level ${level}`);
    if (!words(e)) wrong('headings', e, ' is empty');
    level = n;
  }

  // names
  for (const e of all(operable)) {
    if (!shown(e) || hidden(e)) continue;
    const name = words(e);
    if (!name && /^(INPUT|SELECT|TEXTAREA)$/.test(e.tagName)) wrong('label', e);
    else if (!name) wrong('name', e);
    const seen = (e.innerText ?? '').toLowerCase().replace(/[^\p{L}\p{N} ]/gu, '').trim();
    if (/^(BUTTON|A|SUMMARY)$/.test(e.tagName) && e.getAttribute('aria-label') && seen && !seen.split(/\s+/).every((w) => name.toLowerCase().includes(w))) wrong('name', e, ` does not say what is seen: ${seen}`);
    if (e.matches(native) && e.parentElement.closest('a[href], button, summary') && !e.matches('summary')) wrong('nested', e);
    if (!e.matches(native) && !e.getAttribute('role')) wrong('role', e);
  }
  for (const e of all('[tabindex]')) if (e.tabIndex > 0) wrong('tabindex', e);
  for (const e of all('[aria-hidden=true]')) if (e.querySelector(operable) || e.matches(operable)) wrong('hidden control', e);
  for (const e of all('[aria-expanded], [aria-pressed]')) if (!e.matches('button, summary, a[href], input, [role=button], [role=tab], [role=combobox]')) wrong('role', e, ' has a state that its kind has not');
  for (const e of all('ul > *, ol > *')) if (!/^(LI|SCRIPT|TEMPLATE)$/.test(e.tagName)) wrong('list', e);
  for (const e of all('dl > *')) if (!/^(DT|DD|DIV|SCRIPT)$/.test(e.tagName)) wrong('list', e);

  // pictures
  for (const e of all('img')) if (!hidden(e) && e.getAttribute('alt') === null) wrong('picture', e);
  for (const e of all('svg, canvas'))
    if (shown(e) && !hidden(e) && !e.parentElement.closest('svg') && !(e.getAttribute('role') === 'img' && (words(e) && (e.getAttribute('aria-label') || e.querySelector(':scope > title'))))) wrong('picture', e);

  // tables
  for (const e of all('table')) {
    if (!shown(e) || e.getAttribute('role') === 'presentation' || e.closest('.katex, [aria-hidden=true]')) continue;
    const th = [...e.querySelectorAll('th')];
    if (th.length === 0) wrong('table', e, ' has no heads');
    for (const t of th) {
      if (!/^(col|row|colgroup|rowgroup)$/.test(t.getAttribute('scope') ?? '')) wrong('table', t, ' has no scope');
      if (!words(t)) wrong('table', t, ' is empty');
    }
    if (!e.caption?.textContent.trim() && !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby')) wrong('table', e, ' has no caption');
  }

  // what a pointer does, keys do
  for (const [e, types] of window.heard ?? []) {
    if (!e.isConnected || !shown(e) || !['click', 'dblclick', 'pointerdown', 'mousedown'].some((t) => types.has(t))) continue;
    const keyed = (x) => x.matches(native) || (x.tabIndex >= 0 && [...(window.heard.get(x) ?? [])].some((t) => t.startsWith('key')));
    let p = e;
    while (p && p !== document.body && !keyed(p)) p = p.parentElement;
    const equal = e.dataset.keys && document.querySelector(e.dataset.keys); // the control that does the same
    if ((!p || p === document.body) && !e.querySelector('button, a[href]') && !(equal?.matches(native) && shown(equal))) wrong('keys', e);
  }

  // what scrolls can be scrolled by keys
  for (const e of all('body *')) {
    if (e instanceof SVGElement || !shown(e)) continue;
    const s = getComputedStyle(e);
    if (!/auto|scroll/.test(s.overflowX + s.overflowY) || (e.scrollWidth <= e.clientWidth + 1 && e.scrollHeight <= e.clientHeight + 1) || s.display === 'inline' || e.matches('textarea, input, select')) continue;
    const both = e.scrollHeight > e.clientHeight + 1 && /auto|scroll/.test(s.overflowY) || e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(s.overflowX);
    if (both && e.tabIndex < 0 && !e.querySelector(operable)) wrong('scroll', e);
  }

  // contrast
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true }), known = new Map();
  const rgba = (c) => {
    if (!known.has(c)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = '#000';
      canvas.fillStyle = c;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(c, [r, g, b, a / 255]);
    }
    return known.get(c);
  };
  const over = (top, below, a = top[3]) => [0, 1, 2].map((k) => top[k] * a + below[k] * (1 - a)).concat(1);
  const paper = rgba(getComputedStyle(document.documentElement).backgroundColor)[3] ? rgba(getComputedStyle(document.documentElement).backgroundColor) : matchMedia('(prefers-color-scheme: dark)').matches && /dark/.test(getComputedStyle(document.documentElement).colorScheme) ? [18, 18, 18, 1] : [255, 255, 255, 1];
  const behind = (e) => {
    const layers = [];
    for (let p = e; p; p = p.parentElement) {
      const c = p instanceof SVGElement ? [0, 0, 0, 0] : rgba(getComputedStyle(p).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] > 0.99) break;
    }
    return layers.reverse().reduce((below, c) => over(c, below), paper);
  };
  const seeThrough = (e) => { let a = 1; for (let p = e; p; p = p.parentElement) a *= Number(getComputedStyle(p).opacity); return a; };
  const lum = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  for (const [, e] of texts) {
    if (hidden(e) && !(e instanceof SVGElement) && !e.closest('.katex')) continue;
    const s = getComputedStyle(e), below = behind(e), ink = rgba(e instanceof SVGElement ? s.fill : s.color), c = contrast(over(ink, below, ink[3] * seeThrough(e)), below);
    const size = parseFloat(s.fontSize), large = size >= 24 || (size >= 18.66 && Number(s.fontWeight) >= 700);
    if (e.matches('button:disabled, button:disabled *')) continue;
    if (c < (large ? 3 : 4.5) - 0.005) wrong('contrast', e, ` has ${c.toFixed(2)}`);
    if (e.tagName === 'A' && s.textDecorationLine === 'none' && [...e.parentElement.childNodes].some((n) => n.nodeType === 3 && /[\p{L}]{2}/u.test(n.data)) && contrast(ink, rgba(getComputedStyle(e.parentElement).color)) < 3) wrong('link', e);
  }
  for (const e of all('input, select, textarea')) {
    if (!shown(e) || !/^(text|search|number|select-one|textarea|url|email)$/.test(e.type)) continue;
    const around = behind(e.parentElement), edge = rgba(getComputedStyle(e).borderTopColor), fill = behind(e);
    if (Math.max(parseFloat(getComputedStyle(e).borderTopWidth) > 0 ? contrast(over(edge, around), around) : 0, contrast(fill, around)) < 3) wrong('contrast', e, ' has an edge below 3');
    const hint = getComputedStyle(e, '::placeholder');
    if (e.placeholder && contrast(over(rgba(hint.color), fill, rgba(hint.color)[3] * Number(hint.opacity)), fill) < 4.495) wrong('contrast', e, ' has a pale hint');
  }
  for (const e of all('.mark-line path:not(.whisker), .mark-point path, .mark-outside path')) {
    const below = behind(e), stroke = getComputedStyle(e).stroke;
    if (shown(e) && stroke !== 'none' && contrast(rgba(stroke), below) < 3) wrong('contrast', e, ' is a pale curve');
  }
  return [...found];
}

// No page is wider than its window; what is wider scrolls in its own box.
export function narrow() {
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  return wide > 1 ? [`narrow: the page is ${wide} px too wide`] : [];
}

// On paper: folds are open, controls are gone.
export function paper() {
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true, opacityProperty: true }) && e.getClientRects().length > 0, found = [];
  for (const e of document.querySelectorAll('details')) {
    if (e.parentElement.closest('details') || !shown(e)) continue; // a fold in a fold is seen once its own is
    for (const c of [e, ...e.querySelectorAll('details')]) {
      if (!c.querySelector('summary') || !shown(c.querySelector('summary'))) continue;
      const body = [...c.childNodes].filter((n) => n.nodeName !== 'SUMMARY' && n.textContent.trim());
      if (body.length && !body.some((n) => (n.nodeType === 1 ? shown(n) || n.querySelector('svg, canvas') : c.getBoundingClientRect().height > c.querySelector('summary').getBoundingClientRect().height + 4))) found.push(`print: a fold is closed: ${c.querySelector('summary').textContent.slice(0, 40)}`);
    }
  }
  for (const e of document.querySelectorAll('button, select, input, textarea, .skip, nav'))
    if (shown(e) && !(e.tagName === 'BUTTON' && getComputedStyle(e).borderTopWidth === '0px' && /, 0\)|transparent/.test(getComputedStyle(e).backgroundColor))) // text otherwise
      found.push(`print: a control: ${e.tagName.toLowerCase()}.${e.className} '${(e.getAttribute('aria-label') ?? e.textContent).trim().slice(0, 20)}'`);
  return [...new Set(found)];
}

// With less motion asked for, nothing moves by itself.
export async function still() {
  const found = [], film = () => [...document.querySelectorAll('[data-time], input[type=range]')].map((e) => e.dataset.time ?? e.value).join(' ');
  const before = film();
  await new Promise((done) => { setTimeout(done, 350); });
  if (film() !== before) found.push('motion: a film runs');
  for (const a of document.getAnimations()) if (a.playState === 'running') found.push(`motion: ${a.animationName ?? a.transitionProperty ?? 'an animation'} of ${a.effect.target.tagName}`);
  for (const e of document.querySelectorAll('html, body, main, .scroll')) if (getComputedStyle(e).scrollBehavior === 'smooth') found.push(`motion: ${e.tagName.toLowerCase()} scrolls smoothly`);
  for (const v of document.querySelectorAll('video')) if (!v.paused) found.push('motion: a video runs');
  return found;
}
