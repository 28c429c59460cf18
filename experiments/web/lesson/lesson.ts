// SPDX-License-Identifier: GPL-3.0-or-later
// The page of a lesson: the story, a prediction that is judged, what the run shows, sliders, a film of pivots, an exercise.
import { h } from '../dom';
import { decode, draw, live } from './chart';
import { explore } from './explore';
import { film } from './pivots';
import { prose } from './words';

const paragraph = (text) => h('p', {}, prose(text));

// A choice says whether it is right, and opens the answer.
function predict({ ask, choices, answer, because }) {
  const told = h('details', { class: 'answer-of' }, h('summary', {}, 'The answer'), h('p', {}, h('b', {}, prose(choices[answer - 1]))), paragraph(because));
  const verdicts = choices.map(() => h('span', { class: 'verdict', 'aria-live': 'polite' }));
  const list = h('ol', { class: 'choices', 'data-answer': answer }, choices.map((text, i) => h('li', {}, h('button', { type: 'button', class: 'choice', onclick: () => {
    const right = i + 1 === answer;
    for (const v of verdicts) v.replaceChildren();
    verdicts[i].textContent = right ? ' right' : ' no: see what the run says';
    verdicts[i].className = `verdict ${right ? 'good' : 'bad'}`;
    if (right) told.open = true;
  } }, prose(text)), verdicts[i])));
  return [h('h2', {}, 'Predict'), paragraph(ask), list, told];
}

export function lesson(data) {
  const figures = (data.plots ?? []).map(() => h('figure', { class: 'live' })), stage = h('div', { class: 'pivots' });
  const sliders = data.explore && h('section', { class: 'explore', hidden: true }, h('h2', {}, data.explore.title), paragraph(data.explore.text),
    h('p', { class: 'note' }, `This page contains ${data.explore.runs} runs; the sliders select among them.`));
  document.body.append(h('main', {},
    h('h1', {}, data.title), ...data.story.map(paragraph), ...predict(data.predict),
    ...(data.plots ? [h('h2', {}, 'Results of the run'), ...figures, h('ul', {}, data.show.map((text) => h('li', {}, text)))] : []),
    ...(sliders ? [sliders] : []),
    ...(data.pivots ? [h('h2', {}, 'Pivot by pivot'), h('pre', {}, data.pivots.problem), ...(data.pivots.told ? [paragraph(data.pivots.told)] : []), stage,
      h('details', {}, h('summary', {}, 'All pivots as text'), h('pre', {}, data.pivots.text))] : []),
    h('h2', {}, 'Conclusion'), ...data.end.map(paragraph),
    h('h2', {}, 'Exercise'), paragraph(data.exercise.ask), h('pre', {}, `perp lesson ${data.name} --check '${data.exercise.check}'`),
    h('details', {}, h('summary', {}, 'Hint'), paragraph(data.exercise.hint))));
  figures.forEach((host, i) => {
    const figure = decode(data.plots[i]);
    live(host, () => draw(host, figure));
  });
  if (sliders) explore(sliders, data.explore);
  if (data.pivots) film(stage, data.pivots);
}
