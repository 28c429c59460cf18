// SPDX-License-Identifier: GPL-3.0-or-later
// The prediction: a choice says whether it is right, and opens the answer.
const choices = document.querySelector('.choices'), answer = document.querySelector('.answer-of');
choices.querySelectorAll('li').forEach((li, i) => {
  const words = [...li.childNodes], verdict = h('span', { class: 'verdict', 'aria-live': 'polite' });
  li.replaceChildren(h('button', { type: 'button', class: 'choice', onclick: () => {
    const right = i + 1 === Number(choices.dataset.answer);
    choices.querySelectorAll('.verdict').forEach((v) => v.replaceChildren());
    verdict.textContent = right ? ' right' : ' no: see what the run says';
    verdict.className = `verdict ${right ? 'good' : 'bad'}`;
    if (right) answer.open = true;
  } }, ...words), verdict);
});

document.querySelectorAll('figure[data-plot]').forEach((host) => {
  const figure = decode(data.plots[host.dataset.plot]);
  live(host, () => draw(host, figure));
});
if (data.explore) explore(document.querySelector('.explore'), data.explore);
if (data.pivots) film(document.querySelector('.pivots'), data.pivots);
document.documentElement.dataset.ready = 'yes';
