// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings of runs of the lesson, played: what moves on a page that has no solver.
import { h, select } from '../dom';
import { Actor, arrowScale, bodyColour, Contacts, decode, Stage, stageSize } from '../motion';
import { onTheme } from '../theme';

export function recorded(list: { label: string; replay: any }[]) {
  // words that all labels have tell nothing
  const words = list.map((r) => r.label.split(/(?<=[\s,:])/)), common = words[0].filter((w) => words.every((l) => l.includes(w)));
  const runs = list.map((r, i) => ({ label: (words[i].length === 1 || list.length === 1 ? r.label : words[i].filter((w) => !common.includes(w)).join('').trim().replace(/[,:]$/, '')) || r.label || 'the run', d: decode(r.replay) })), host = h('div', { class: 'recorded' });
  let stage, t = 0, end = 1, playing = false, last = 0, rate = 1, run = runs[0], actor, contacts, scale;
  try {
    stage = new Stage('live-canvas');
  } catch {
    host.append(h('p', { class: 'note' }, 'Motion requires WebGL, which this browser does not have.'));
    return { element: host, close() {} };
  }
  const play = h('button', { class: 'tool', type: 'button', onclick: () => turn(!playing) }, '\u25b6 play');
  const time = h('input', { type: 'range', min: 0, max: 1000, value: 0, 'aria-label': 'time', oninput: () => {
    turn(false);
    show((Number(time.value) / 1000) * end);
  } }), clock = h('span', { class: 'live-clock' });
  const speed = select('speed', [['0.1', '1/10'], ['0.3', '1/3'], ['1', 'real time']], '1', (v) => { rate = Number(v); });
  const box = runs.length > 1 ? select('run', runs.map((r, i) => [String(i), r.label]), '0', (v) => open(Number(v))) : null;
  host.append(h('div', { class: 'controls live-controls' }, box, speed), stage.canvas, h('div', { class: 'live-bar' }, play, time, clock));

  function show(at: number) {
    t = at;
    actor.set(t);
    contacts?.set(t, scale.perNs, scale.longest);
    time.value = String(Math.round((1000 * t) / (end || 1)));
    clock.textContent = `t = ${t.toFixed(3)} s`;
    stage.render();
  }
  function frame(now: number) {
    if (!playing || !host.isConnected) return;
    t += Math.min(0.1, (now - last) / 1000) * rate;
    last = now;
    show(t >= end ? 0 : t);
    requestAnimationFrame(frame);
  }
  function turn(on: boolean) {
    playing = on;
    play.textContent = on ? '\u275a\u275a pause' : '\u25b6 play';
    last = performance.now();
    if (on) requestAnimationFrame(frame);
  }
  function open(k: number) {
    run = runs[k];
    const { d } = run, env = stageSize([d]);
    stage.clear();
    stage.furnish(d, env);
    actor = new Actor(stage.root, d, env, { colour: bodyColour });
    contacts = d.contact.length > 0 ? new Contacts(stage.root, d, env) : null;
    scale = arrowScale([d], env);
    end = d.t[d.frames - 1];
    stage.fit({ d, env });
    stage.canvas.setAttribute('aria-label', `recorded motion: ${run.label}`);
    show(0);
  }
  open(0);
  onTheme(() => host.isConnected && open(runs.indexOf(run)));
  return { element: host, close: () => {
    turn(false);
    stage.renderer.dispose();
  } };
}
