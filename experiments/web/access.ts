// SPDX-License-Identifier: GPL-3.0-or-later
// What pages owe to people without a pointer, and to paper.

// A box that is wider or higher inside than outside can be reached and moved by keys; one that is not is no stop of Tab.
export function scrolls(box: HTMLElement, name: string) {
  const look = () => {
    const need = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    if (need === (box.tabIndex === 0)) return;
    if (need) {
      box.tabIndex = 0;
      box.setAttribute('role', 'group');
      box.setAttribute('aria-label', name);
    } else for (const attribute of ['tabindex', 'role', 'aria-label']) box.removeAttribute(attribute);
  };
  const observer = new ResizeObserver(look), all = () => { for (const e of [box, ...box.children]) observer.observe(e); };
  all();
  if (box.isConnected) look(); // at once: observers wait for a frame
  new MutationObserver(all).observe(box, { childList: true });
  return box;
}

// On paper all folds are open; afterwards they are as they were.  (Sheets do it too, where ::details-content is known.)
export function printsOpen() {
  let opened: HTMLDetailsElement[] = [];
  window.addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>('details:not([open])')];
    for (const e of opened) e.open = true;
  });
  window.addEventListener('afterprint', () => {
    for (const e of opened) e.open = false;
    opened = [];
  });
}
