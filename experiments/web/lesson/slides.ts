// SPDX-License-Identifier: GPL-3.0-or-later
// Slides: one part of the lesson at a time, in large letters. S or ?slides turns them on, the arrows turn the page, Escape leaves.
import { h } from '../dom';

export function slides(current: () => { element: HTMLElement; reveal(): void } | null) {
  let at = 0, on = false;
  const counter = h('div', { class: 'slide-counter', role: 'status' });

  const list = () => [...(current()?.element.querySelectorAll<HTMLElement>('.slide') ?? [])].filter((e) => !(e.classList.contains('story') && document.querySelector('.brief')) && !(e.classList.contains('conclusion') && document.querySelector('.after .brief')));
  function show(k: number) {
    const all = list();
    at = Math.max(0, Math.min(k, all.length - 1));
    for (const [i, e] of all.entries()) e.classList.toggle('shown', i === at);
    counter.textContent = `${at + 1} / ${all.length}${all[at]?.classList.contains('predict') ? ' \u2013 the next slide shows the results' : ''}`;
    window.scrollTo(0, 0);
    document.body.dataset.slide = String(at);
  }
  function turn(wanted: boolean) {
    on = wanted && current() !== null;
    document.body.classList.toggle('slides', on);
    if (on) {
      document.body.append(counter);
      show(0);
    } else {
      counter.remove();
      delete document.body.dataset.slide;
    }
  }
  function go(step: number) {
    const all = list();
    if (step > 0 && all[at]?.classList.contains('predict')) current()!.reveal();
    show(at + step);
  }
  document.addEventListener('keydown', (e) => {
    const to = e.target as HTMLElement;
    if (e.ctrlKey || e.altKey || e.metaKey || to.closest?.('input,select,textarea,canvas,.pivots')) return;
    if (e.key === 's' || e.key === 'S') turn(!on);
    else if (!on) return;
    else if (e.key === 'Escape') turn(false);
    else if (e.key === 'ArrowRight' || e.key === 'PageDown') go(1);
    else if (e.key === 'ArrowLeft' || e.key === 'PageUp') go(-1);
    else if (e.key === 'Home') show(0);
    else if (e.key === 'End') show(Infinity);
    else return;
    e.preventDefault();
  });
  document.addEventListener('slides', () => turn(!on));
  // before paper: all that a lecturer shows
  window.addEventListener('beforeprint', () => {
    if (on) current()!.reveal();
  });
  if (new URLSearchParams(location.search).has('slides')) turn(true);
}
