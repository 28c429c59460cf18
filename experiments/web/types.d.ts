// SPDX-License-Identifier: GPL-3.0-or-later
// What is bundled that is no TypeScript: Debian's three.js and KaTeX, style sheets.
declare module 'three.module.js';
declare module 'jsm/*';
declare module 'katex/katex.mjs';
declare module '*.woff2' {
  const data: string;
  export default data;
}
declare module '*.css' {
  const text: string;
  export default text;
}
declare class DecompressionStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(format: string);
}
