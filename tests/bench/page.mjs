// SPDX-License-Identifier: GPL-3.0-or-later
// page.mjs REPORT: how long a page takes in Chromium until it is ready, and until the cells of a filter are shown: the
// longest of several filters, each asked for the first time.  Prints JSON, in milliseconds.
import { resolve } from 'node:path';
import { launch } from '../report/browser.mjs';

const [report] = process.argv.slice(2);
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
const start = Date.now();
await page.goto(`file://${resolve(report)}`);
await page.waitForFunction(() => document.documentElement.hasAttribute('data-ready'), null, { timeout: 300000 });
const ready = Date.now() - start;
const filters = ['stab == none and h <= 1 ms', 'rk4', 'err.q.max < 1e-6', 'status == ok and ode == euler', ''];
const times = [];
for (const text of filters)
  times.push(await page.evaluate(async (wanted) => {
    const field = document.querySelector('.cells-filter'), from = performance.now();
    field.value = wanted;
    field.dispatchEvent(new Event('input'));
    document.body.getBoundingClientRect(); // laid out
    await new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); }); // and drawn
    return performance.now() - from;
  }, text));
await browser.close();
console.log(JSON.stringify({ ready, filter: Math.max(...times) }));
