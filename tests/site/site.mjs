// SPDX-License-Identifier: GPL-3.0-or-later
// node site.mjs DIR: pages of a site in Chromium, from file:// with the network off: nothing on the console, equations set, no
// page wider than its window, the search finds.
import { done, launch, ok, picture } from '../report/browser.mjs';
import { resolve } from 'node:path';

const [out] = process.argv.slice(2);
const browser = await launch();
async function open(path, { width = 1200, scheme = 'light', wait = 'main' } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, reducedMotion: 'reduce', offline: true });
  const page = await context.newPage(), said = [], asked = [];
  page.on('console', (m) => said.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => said.push(`error: ${e.message}`));
  page.on('request', (r) => /^(file|data|blob):/.test(r.url()) || asked.push(r.url()));
  await page.goto(`file://${resolve(out)}/${path}`);
  await page.waitForSelector(wait, { timeout: 60000 });
  return { page, said, asked, context };
}

// pages of the site, wide, narrow and dark
for (const path of ['index.html', 'findings/index.html', 'findings/chain6-stab/index.html', 'docs/how-to/studies.html', 'docs/explanation/complaints.html', 'methods/index.html', 'methods/lcp/lemke.html', 'scenes/pendulum.html', 'lessons/index.html', 'docs/gallery/README.html', 'api/python.html', 'CHANGELOG.html']) {
  for (const [width, scheme] of [[1200, 'light'], [400, 'dark']]) {
    const { page, said, asked, context } = await open(path, { width, scheme });
    await page.waitForTimeout(100);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    ok(said.length === 0 && asked.length === 0 && wide <= 1, `${path} at ${width} px, ${scheme}${said.length ? `: ${said.join(' | ')}` : ''}${wide > 1 ? `: ${wide} px too wide` : ''}`);
    await picture(page, `${out}/../site-${path.replaceAll('/', '-')}-${width}.png`);
    await context.close();
  }
}

// equations
{
  const { page, context } = await open('methods/lcp/lemke.html', { wait: '.equation .katex' });
  const [set, failed] = await page.evaluate(() => [document.querySelectorAll('.equation .katex').length, document.querySelectorAll('[data-failed]').length]);
  ok(set > 0 && failed === 0, `${set} equation set, ${failed} left as it is written`);
  await context.close();
}

// pages of the program, whose script is shared
for (const path of ['findings/chain6-stab/report.html', 'findings/page-motion/report.html', 'scenes/pendulum.view.html', 'docs/gallery/chain.view.html', 'lessons/drift.html']) {
  const { page, said, asked, context } = await open(path, { wait: 'html[data-ready]' });
  ok((await page.getAttribute('html', 'data-ready')) === 'yes' && said.length === 0 && asked.length === 0, `${path} runs${said.length ? `: ${said.join(' | ')}` : ''}`);
  await context.close();
}

// the search
for (const [words, wanted] of [['Lemke', /^methods\/lcp\/(siconos-)?lemke/], ['reaction force', /joint-forces/], ['drift', /drift|stab/]]) {
  const { page, said, context } = await open(`search.html?q=${encodeURIComponent(words)}`, { wait: '#results article' });
  const found = await page.$$eval('#results article a', (l) => l.map((a) => a.getAttribute('href').replace(/^\.\//, '')));
  ok(said.length === 0 && found.slice(0, 5).some((f) => wanted.test(f)), `search: ${words}: ${found.slice(0, 3).join(', ')}`);
  await context.close();
}
{
  // from a page in a folder, by the field on top
  const { page, context } = await open('methods/lcp/lemke.html');
  ok((await page.getAttribute('header form', 'action')) === '../../search.html', 'each page has the search');
  await context.close();
}
await browser.close();
done();
