// SPDX-License-Identifier: GPL-3.0-or-later
// Pages of lessons and courses: everything is made here of the JSON of the page (experiments/lessons/course_pages.c). A page has
// one lesson, or all of a course (its parts are at '#name'), or is the index of a folder of pages.
import bold from 'katex/fonts/KaTeX_Main-Bold.woff2';
import calligraphic from 'katex/fonts/KaTeX_Caligraphic-Regular.woff2';
import large from 'katex/fonts/KaTeX_Size2-Regular.woff2';
import larger from 'katex/fonts/KaTeX_Size3-Regular.woff2';
import largest from 'katex/fonts/KaTeX_Size4-Regular.woff2';
import { printsOpen } from '../access';
import { addFonts } from '../equations';
import liveBarStyle from '../live.css';
import { Module, unpack } from '../live/module';
import liveStyle from '../live/live.css';
import pageStyle from '../page.css';
import { dress } from '../theme';
import { index, links } from './course';
import { lesson } from './lesson';
import lessonStyle from './lesson.css';
import { forget } from './progress';
import { slides } from './slides';

function module(data): () => Promise<Module | null> {
  const text = data.module ?? (globalThis as any).perpModule;
  let started: Promise<Module> | null = null;
  return async () => {
    if (!text || typeof WebAssembly === 'undefined') return null;
    started ??= unpack(text).then((bytes) => Module.start(bytes));
    return started;
  };
}

function start() {
  const data = JSON.parse(document.getElementById('data')!.textContent!);
  if (data.schema !== 'perp-lesson-page/2') throw new Error(`data of another version: ${data.schema}`);
  dress(pageStyle, liveBarStyle, lessonStyle, liveStyle);
  addFonts([['Main', bold, 'normal', 'bold'], ['Caligraphic', calligraphic], ['Size2', large], ['Size3', larger], ['Size4', largest]]);
  const solver = module(data), parts = data.course !== undefined && data.lessons.length > 1;
  let shown: ReturnType<typeof lesson> | null = null;

  // The lesson whose name the address has, the only one, or the index.
  function show() {
    const name = decodeURIComponent(location.hash.slice(1)), one = data.lessons.find((l) => l.name === name) ?? (parts || data.lessons.length === 0 ? null : data.lessons[0]);
    shown?.close();
    document.querySelector('main')?.remove();
    shown = null;
    if (one) {
      shown = lesson(one, solver, data, (at) => links(data, one.name, parts, at));
      document.body.append(shown.element);
      document.title = one.title;
      shown.begin();
    } else {
      document.body.append(index(data, parts, () => {
        forget();
        show();
      }));
      document.title = data.course.title;
    }
    window.scrollTo(0, 0);
  }
  show();
  if (parts) window.addEventListener('hashchange', show);
  slides(() => shown);
  printsOpen();
  document.documentElement.setAttribute('data-ready', 'yes');
}

try {
  start();
} catch (e) {
  console.error(e);
  document.documentElement.setAttribute('data-ready', 'failed');
}
