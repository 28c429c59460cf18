// SPDX-License-Identifier: GPL-3.0-or-later
// node view.mjs OUT: opens the pages of perp view in OUT and uses what can be pressed.
import { done, launch, ok, picture } from './browser.mjs';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { inflateSync } from 'node:zlib';

const [out] = process.argv.slice(2);

const flags = ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'];
const browser = await launch();
async function open(name, { width = 1000, scheme = 'light', of = browser } = {}) {
  const context = await of.newContext({ viewport: { width, height: 800 }, colorScheme: scheme, reducedMotion: 'reduce', offline: true });
  const page = await context.newPage(), said = [], asked = [];
  page.on('console', (m) => said.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => said.push(`error: ${e.message}`));
  page.on('request', (r) => /^(file|data|blob):/.test(r.url()) || asked.push(r.url()));
  await page.goto(`file://${resolve(out, `${name}.html`)}`);
  await page.waitForSelector('html[data-ready]');
  return { page, said, asked, context };
}
const state = (page) => page.$eval('#view', (e) => ({ ...e.dataset }));
const time = async (page) => Number((await state(page)).time);
const see = (page, k = 0) => page.$$eval('.view-canvas', (l) => l.map((c) => c.getBoundingClientRect())).then((boxes) => page.screenshot({ clip: { x: boxes[k].x, y: boxes[k].y, width: boxes[k].width, height: boxes[k].height } }));

// The colours of a PNG of 8 bits without interlace: [width, height, bytes a pixel, lines].
function png(file) {
  const chunks = [];
  for (let at = 8; at < file.length;) {
    const size = file.readUInt32BE(at), type = file.toString('latin1', at + 4, at + 8);
    if (type === 'IDAT') chunks.push(file.subarray(at + 8, at + 8 + size));
    at += 12 + size;
  }
  const width = file.readUInt32BE(16), height = file.readUInt32BE(20), per = { 2: 3, 6: 4 }[file[25]], raw = inflateSync(Buffer.concat(chunks)), line = width * per, pixels = Buffer.alloc(line * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < line; x++) {
      const filter = raw[y * (line + 1)], v = raw[y * (line + 1) + 1 + x], a = x >= per ? pixels[y * line + x - per] : 0, b = y ? pixels[(y - 1) * line + x] : 0, c = x >= per && y ? pixels[(y - 1) * line + x - per] : 0;
      const p = a + b - c, near = Math.abs(p - a) <= Math.abs(p - b) && Math.abs(p - a) <= Math.abs(p - c) ? a : Math.abs(p - b) <= Math.abs(p - c) ? b : c;
      pixels[y * line + x] = (v + [0, a, b, (a + b) >> 1, near][filter]) & 255;
    }
  return { width, height, at: (x, y) => [...pixels.subarray(y * line + x * per, y * line + x * per + 3)] };
}
const saturated = (picture, hue) => {
  let count = 0;
  for (let y = 0; y < picture.height; y++) for (let x = 0; x < picture.width; x++) count += hue(...picture.at(x, y)) ? 1 : 0;
  return count;
};

{
  const { page, said, asked, context } = await open('stack');
  ok((await page.getAttribute('html', 'data-ready')) === 'yes', 'stack: the script ran to its end');
  let s = await state(page);
  ok(s.playing === 'false' && s.time === '0' && s.showloop === 'true', 'who does not like motion gets none until play is pressed');
  ok(/stack:boxes=3/.test(await page.textContent('h1')) && /lcp/.test(await page.textContent('.view-one figcaption')), 'the page says what runs');
  await page.selectOption('.view-controls select', '0.1');
  await page.click('.view-play');
  await page.waitForFunction(() => Number(document.getElementById('view').dataset.time) > 0);
  ok((await state(page)).playing === 'true' && /pause/.test(await page.textContent('.view-play')), 'play plays');
  await page.click('.view-play');
  const stopped = await time(page);
  await page.waitForTimeout(300);
  ok((await time(page)) === stopped && stopped > 0, `and pauses, at t = ${stopped.toFixed(4)} s`);
  await page.$eval('.view-scrub', (e) => { e.value = '500'; e.dispatchEvent(new Event('input')); });
  s = await state(page);
  ok(Math.abs(Number(s.time) - 0.1) < 1e-6 && (await page.textContent('.view-time')) === 't = 0.100 s', 'the slider goes to a time');
  // two opposite corners carry a box as well as four
  ok(s.touching === '12' && Number(s.arrows) >= 6 && Number(s.arrows) <= 12, `three boxes on 4 contacts each, ${s.arrows} with an impulse`);
  const arrows = await see(page);
  await page.click('[data-show=contacts]');
  ok((await state(page)).arrows === '0' && !arrows.equals(await see(page)), 'contacts are switched off, and gone');
  const edges = await see(page);
  await page.click('[data-show=edges]');
  ok((await state(page)).showedges === 'false' && !edges.equals(await see(page)), 'so are edges');
  // keys
  await page.$eval('.view-scrub', (e) => e.blur());
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('Home');
  ok((await time(page)) === 0, 'Home is the start');
  await page.keyboard.press('ArrowRight');
  ok(Math.abs((await time(page)) - 1 / 240) < 1e-6, 'an arrow key goes on by a step');
  await page.keyboard.press('ArrowLeft');
  ok((await time(page)) === 0, 'and back');
  await page.keyboard.press('End');
  ok(Math.abs((await time(page)) - 0.2) < 1e-6, 'End is the end');
  await page.keyboard.press('c');
  ok(Number((await state(page)).arrows) >= 6, 'C brings the contacts back');
  await page.keyboard.press('l');
  await page.selectOption('.view-controls select', '100');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('Home');
  await page.keyboard.press(' ');
  await page.waitForFunction(() => document.getElementById('view').dataset.playing === 'false');
  s = await state(page);
  ok(Math.abs(Number(s.time) - 0.2) < 1e-6 && s.showloop === 'false', 'without loop it stops at the end');
  await page.keyboard.press('l');
  await page.selectOption('.view-controls select', '0.1');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press(' ');
  await page.waitForFunction(() => Number(document.getElementById('view').dataset.time) > 0.001);
  ok((await state(page)).playing === 'true' && (await time(page)) < 0.2, 'with loop it begins again');
  await page.keyboard.press(' ');
  // the camera: turned by a drag, put back by fit
  await page.keyboard.press('End');
  await page.click('.view-fit');
  const fitted = await see(page), box = await page.$eval('.view-canvas', (c) => { const r = c.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; });
  await page.mouse.move(...box);
  await page.mouse.down();
  await page.mouse.move(box[0] + 150, box[1] + 40, { steps: 4 });
  await page.mouse.up();
  await page.mouse.move(5, 5);
  await page.waitForTimeout(100);
  ok(!fitted.equals(await see(page)), 'a drag turns it');
  await page.keyboard.press('f');
  await page.evaluate(() => document.activeElement.blur());
  await page.waitForTimeout(100);
  ok(fitted.equals(await see(page)), 'F fits it again');
  // a click into a figure goes to its time
  const chart = await page.$eval('.view-figure', (c) => { const r = c.getBoundingClientRect(); return [r.x + r.width / 4, r.y + 10]; });
  await page.mouse.click(...chart);
  ok(Math.abs((await time(page)) - 0.05) < 1e-3, 'a click into a figure goes to that time');
  ok(said.length === 0 && asked.length === 0, `nothing on the console, nothing asked of a network${[...said, ...asked].join(' | ')}`);
  const labelled = await page.$$eval('canvas, svg[role=img], input, select', (l) => l.filter((e) => !(e.getAttribute('aria-label') || document.querySelector(`label[for="${e.id}"]`))).length);
  ok(labelled === 0, 'everything has a name for those who do not see it');
  await context.close();
}
{
  const { page, said, context } = await open('two');
  const words = await page.$$eval('.view-one figcaption', (l) => l.map((e) => e.textContent));
  ok(words.length === 2 && words[0] === 'stab none, h = 0.01 s' && words[1] === 'stab post, h = 0.005 s', `two runs: ${words.join(' | ')}`);
  await page.keyboard.press('End');
  const with_ = await see(page);
  ok((await state(page)).ghost === 'true', 'the reference is there as a ghost');
  await page.keyboard.press('r');
  ok((await state(page)).ghost === 'false' && !with_.equals(await see(page)), 'and goes with R');
  ok(!(await see(page, 0)).equals(await see(page, 1)), 'they differ');
  const curves = await page.$$eval('.view-chart', (l) => l.map((e) => [e.querySelector('b').textContent, e.querySelectorAll('.view-curve').length]));
  ok(curves.every(([, k]) => k === 2) && curves.some(([t]) => /reference/.test(t)) && curves.some(([t]) => /joints/.test(t)), `figures of both: ${curves.map(([t]) => t).join(', ')}`);
  ok(said.length === 0, `two: nothing on the console ${said.join(' | ')}`);
  await context.close();
}
{
  // a motor of 3 N against a friction of 2 N, which it holds from 0.6 s on with 2 N
  const { page, said, context } = await open('motor');
  const at = async (t) => {
    await page.$eval('.view-scrub', (e, v) => { e.value = String(1000 * v); e.dispatchEvent(new Event('input')); }, t);
    return (await state(page)).loads;
  };
  ok((await at(0)) === '1.0000' && (await at(0.3)) === '1.0000' && /force at the joints: 0\s+3 N; now 3 N/.test(await page.textContent('.loads')), `drives: ${await page.textContent('.loads')}`);
  const dark = await see(page);
  ok(Math.abs(Number(await at(0.9)) - 2 / 3) < 1e-4 && /now 2 N/.test(await page.textContent('.loads')), 'and later 2 N, two thirds of the scale');
  const lit = await see(page);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('d');
  const s = await state(page);
  ok(s.showdrives === 'false' && s.loads === '' && !(await page.isVisible('.loads')) && !lit.equals(await see(page)), 'D takes them away, and what they mean');
  await page.click('[data-show=drives]');
  ok((await state(page)).showdrives === 'true' && lit.equals(await see(page)) && !dark.equals(lit), 'and they come back');
  const curves = await page.$$eval('.view-chart', (l) => l.map((e) => e.querySelector('b').textContent));
  ok(curves.includes('largest force at a joint') && !curves.some((t) => /torque/.test(t)), `its force over time: ${curves.join(', ')}`);
  ok(said.length === 0, `motor: nothing on the console ${said.join(' | ')}`);
  await context.close();
}
{
  // a rod falls onto a stop of its hinge: the blow of one step does not make the load that stays pale
  const { page, said, context } = await open('stop');
  await page.keyboard.press('End');
  const text = await page.textContent('.loads'), [, top, most] = /torque at the joints: 0\s+([\d.]+) Nm and more, up to ([\d.e]+) Nm/.exec(text) ?? [];
  ok(Math.abs(Number(top) - 2 * 9.81 * 0.5 * Math.cos(0.7)) < 0.01 && Number(most) > 10 * Number(top), `a stop carries m g L / 2 cos(angle): ${text}`);
  ok(Number((await state(page)).loads) > 0.99 && said.length === 0, 'in the darkest colour');
  await context.close();
}
{
  const { page, context } = await open('stack');
  ok((await page.$('.loads')) === null && (await page.$('[data-show=drives]')) === null, 'without drives nothing is said of them');
  await context.close();
}
// round solids over a surface of triangles: each is where it should be and lies as it should
for (const ground of ['mesh', 'field']) {
  const { page, said, context } = await open(ground);
  const picture = png(await see(page)), { width, height } = picture;
  // of a colour: how many pixels, the middle across, how wide and high, how many in its left half
  const blob = (hue) => {
    const xs = [], ys = [];
    for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) if (hue(...picture.at(x, y))) xs.push(x), ys.push(y);
    const [lo, hi] = xs.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]), [top, low] = ys.reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, -Infinity]);
    return { count: xs.length, middle: (lo + hi) / 2 / width, wide: hi - lo, high: low - top, left: xs.filter((x) => x < (lo + hi) / 2).length / xs.length };
  };
  const cylinder = blob((r, g, b) => b > r + 40), cone = blob((r, g, b) => r > g + 50 && r > b + 50 && b > 0.7 * g), ellipsoid = blob((r, g, b) => g > b + 40 && r > b + 40 && r < g + 40);
  const text = (s) => `${s.count} pixels, ${s.wide} x ${s.high}, at ${s.middle.toFixed(2)}, ${(100 * s.left).toFixed(0)} % on the left`;
  ok(cylinder.count > 1000 && cylinder.wide > 2.2 * cylinder.high && cylinder.middle < 0.3, `${ground}: a cylinder lies along x: ${text(cylinder)}`);
  ok(cone.count > 3000 && cone.left > 0.65 && cone.middle > 0.35 && cone.middle < 0.6, `${ground}: a cone, whose apex is on the right: ${text(cone)}`);
  ok(ellipsoid.count > 1000 && ellipsoid.high > 2 * ellipsoid.wide && ellipsoid.middle > 0.7, `${ground}: an ellipsoid stands: ${text(ellipsoid)}`);
  // the surface, which is one colour but for shadows and the lines of its triangles
  const grey = (x, y) => { const [r, g, b] = picture.at(x, y); return b >= r && b < r + 20 ? r : -1; };
  const darker = (x, y, than) => than - grey(x, y) > 8 && than - grey(x, y) < 60;
  let lines = 0, face = 0;
  for (let y = 2; y + 2 < height; y++)
    for (let x = 0; x < width; x++) {
      lines += grey(x, y) >= 0 && darker(x, y, grey(x, y - 2)) && darker(x, y, grey(x, y + 2)) ? 1 : 0;
      face += grey(x, y) > 190 && grey(x, y) < 240 ? 1 : 0;
    }
  ok(face > 0.3 * width * height && lines > 3000, `${ground}: a surface of ${face} of ${width * height} pixels with lines of triangles of ${lines}`);
  ok(said.length === 0, `${ground}: nothing on the console ${said.join(' | ')}`);
  await context.close();
}
for (const [name, width, scheme] of [['stack', 400, 'dark'], ['two', 400, 'light'], ['cloth', 1000, 'dark'], ['top', 400, 'dark'], ['motor', 400, 'dark']]) {
  const { page, said, context } = await open(name, { width, scheme });
  ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${name}, ${width} pixels: no horizontal scroll`);
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor), first = await see(page);
  await page.keyboard.press('End');
  ok((ground === 'rgb(20, 23, 27)') === (scheme === 'dark') && said.length === 0 && (name === 'stack' || !first.equals(await see(page))), `${name}, ${scheme}: it moves`);
  await picture(page, `${out}/${name}-${width}-${scheme}.png`);
  await context.close();
}
await browser.close();
{
  const blind = await launch(['--disable-3d-apis', '--disable-gpu']);
  const { page, context } = await open('stack', { of: blind });
  ok(/requires WebGL/.test(await page.textContent('.view-none')) && (await page.$$('.view-figure')).length > 0, 'without WebGL the page says so, and has its figures');
  await page.keyboard.press('End');
  ok(Math.abs((await time(page)) - 0.2) < 1e-6, 'which have a time');
  await context.close();
  await blind.close();
}
{
  const p = png(readFileSync(`${out}/stack.png`)), blue = saturated(p, (r, g, b) => b > r + 30 && b > g + 10), orange = saturated(p, (r, g, b) => r > b + 50), corner = p.at(2, 2);
  ok(p.width === 320 && p.height === 200 && corner.every((v) => v > 240), `--png: ${p.width} x ${p.height} pixels on white`);
  ok(blue > 300 && orange > 300, `and boxes in it: ${blue} blue pixels, ${orange} orange ones`);
  const motor = png(readFileSync(`${out}/motor.png`)), purple = saturated(motor, (r, g, b) => r > 40 && r < 110 && g < 25 && b > 70 && b < 140), wide = saturated(motor, (r, g, b) => r > 220 && g < 140 && g > 60 && b > 130 && b < 190);
  ok(purple > 60 && wide > 5, `and the force of a motor in its colour (${purple} pixels), with the scale (${wide})`);
  const top = png(readFileSync(`${out}/top.png`));
  ok(top.width === 300 && saturated(top, (r, g, b) => b > r + 30) > 100, 'perp simulate --view --png, too');
}
done();
