// SPDX-License-Identifier: GPL-3.0-or-later
// The index of a course with what is done, and the links between its lessons.
import { h } from '../dom';
import { inline } from './markdown';
import { progress } from './progress';

const address = (name: string, parts: boolean) => (parts ? `#${name}` : `${name}.html`);

function state(l): [string, string] {
  const { choice, solved } = progress(l.name), n = (solved ?? []).filter(Boolean).length;
  if (n >= l.exercises) return ['done', '\u2713 done'];
  if (n > 0) return ['begun', `${n} of ${l.exercises} exercises`];
  return choice !== undefined ? ['begun', 'begun'] : ['new', ''];
}

export function index(data, parts: boolean, again: () => void) {
  const { course } = data, minutes = course.lessons.reduce((sum, l) => sum + l.minutes, 0);
  const done = course.lessons.filter((l) => state(l)[0] === 'done').length, any = course.lessons.some((l) => state(l)[0] !== 'new');
  return h('main', { class: 'course' }, h('h1', {}, course.title), h('p', {}, inline(course.text)),
    h('p', { class: 'note' }, `${course.lessons.length} lessons, ${minutes} minutes. ${any ? `Done: ${done}.` : 'What you predict and solve is kept by this browser.'}`),
    h('ol', { class: 'lessons' }, ...course.lessons.map((l) => {
      const [kind, text] = state(l);
      return h('li', { class: kind }, h('a', { href: address(l.name, parts) }, l.title), h('span', { class: 'note' }, ` ${l.minutes} minutes`), text ? h('span', { class: 'state' }, text) : null);
    })),
    any ? h('button', { type: 'button', class: 'tool', onclick: again }, 'forget my answers') : null);
}

// The line of links above (at: 'top') and below a lesson of a course.
export function links(data, name: string, parts: boolean, at: string) {
  if (!data.course) return null;
  const list = data.course.lessons, k = list.findIndex((l) => l.name === name), to = (l, text, rel) => (l ? h('a', { href: address(l.name, parts), rel }, text(l)) : null);
  return h('nav', { class: 'course-links', 'aria-label': at === 'top' ? 'course' : 'next lesson' },
    h('a', { href: parts ? '#' : 'index.html' }, data.course.title), at === 'top' ? h('span', {}, `lesson ${k + 1} of ${list.length}`) : null,
    to(list[k - 1], (l) => (at === 'top' ? '\u2190 previous' : `\u2190 ${l.title}`), 'prev'), to(list[k + 1], (l) => (at === 'top' ? 'next \u2192' : `${l.title} \u2192`), 'next'));
}
