// SPDX-License-Identifier: GPL-3.0-or-later
// Equations on pages of the site (perp site); the other pages do without KaTeX.
import { scrolls } from './access';
import { setEquation } from './equations';

document.addEventListener('DOMContentLoaded', () => {
  for (const e of document.querySelectorAll<HTMLElement>('.equation[data-kind]')) scrolls(setEquation(e, e.textContent, e.dataset.kind), 'equation, scrolls');
});
