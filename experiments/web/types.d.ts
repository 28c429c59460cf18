// SPDX-License-Identifier: GPL-3.0-or-later
// What is bundled that is no TypeScript: Debian's three.js, style sheets.
declare module 'three.module.js';
declare module 'jsm/*';
declare module '*.css' {
  const text: string;
  export default text;
}
