// SPDX-License-Identifier: GPL-3.0-or-later
// Bundles src/main.js with everything that it imports into dist/report.js.
import { build } from 'esbuild';
import { renameSync } from 'node:fs';

await build({
  entryPoints: ['src/main.js'],
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2020',
  charset: 'ascii', // the page may be read as anything
  legalComments: 'eof', // the licences of what is bundled travel along
  loader: { '.css': 'text' },
  outfile: 'dist/report.js.part',
  logLevel: 'warning',
});
renameSync('dist/report.js.part', 'dist/report.js'); // readers see the old or the new one
