// SPDX-License-Identifier: GPL-3.0-or-later
// The choices of the reader, kept in the address: #?work-precision.y=err.q.max&cells.filter=h<=1ms.  Whoever opens that address
// sees the same.
const read = () => new URLSearchParams(location.hash.startsWith('#?') ? location.hash.slice(2) : '');
const chosen = read();
let written = location.hash, waits = false;

function write() {
  waits = false;
  const text = chosen.toString();
  // an anchor of the page stays while there is nothing to add
  if (text === '' && !location.hash.startsWith('#?')) return;
  written = text === '' ? '#' : `#?${text}`;
  history.replaceState(null, '', written);
}

export const link = {
  get: (key) => chosen.get(key),
  // usual: the value that need not be told
  set(key, value, usual) {
    if (value === usual) chosen.delete(key);
    else chosen.set(key, value);
    if (!waits) {
      waits = true;
      queueMicrotask(write);
    }
  },
  // the address of this view at a figure
  of(id) {
    const params = new URLSearchParams(chosen);
    params.set('at', id);
    return `${location.href.replace(/#.*$/, '')}#?${params}`;
  },
};

window.addEventListener('hashchange', () => {
  if (location.hash !== written && location.hash.startsWith('#?')) location.reload();
});
