// SPDX-License-Identifier: GPL-3.0-or-later
// The solvers in a lesson: the scene that it names, with sliders that compute.
import { h } from '../dom';
import type { Module } from '../live/module';
import { type Live, mount } from '../live/mount';
import { PARTS } from '../live/state';
import { seconds, withValue } from './compute';
import { slider } from './explore';

export function playground(host: HTMLElement, l: any, module: Module): Live {
  const choice: any = { scene: l.scene };
  for (const k of [...PARTS, 'against']) if (l[k]) choice[k] = l[k];
  if (l.h) choice.h = seconds(l.h);
  const set = (of: string, value: string) => {
    const part = of.split('.')[0];
    return { [part]: withValue(choice, of, value)[part] };
  };
  const sliders = (l.slide ?? []).map((s: any) => {
    const now = dotted(s.of, choice), start = Math.max(0, s.values.findIndex((v: string) => (s.of === 'h' ? seconds(v) === choice.h : v === now)));
    Object.assign(choice, set(s.of, s.values[start]));
    return slider(s.text, s.values.map((v: string) => v.replace(/(\d)(deg|ms|s)$/, '$1 $2')), start, (k: number) => {
      const change = set(s.of, s.values[k]);
      Object.assign(choice, change);
      live.choose(change);
    });
  });
  if (sliders.length > 0) host.append(h('div', { class: 'controls live-slide' }, ...sliders));
  const live = mount(host, module, { ...choice, fixed: l.fixed === 'yes' });
  return live;
}

// The value that an option has in the text of its part.
function dotted(of: string, choice: any): string {
  const dot = of.indexOf('.');
  if (dot < 0) return choice[of] ?? '';
  return new RegExp(`[:,]${of.slice(dot + 1).replace('.', '\\.')}=([^,]*)`).exec(choice[of.slice(0, dot)] ?? '')?.[1] ?? '';
}
