#!/bin/sh
# Builds dist/report.js, the script of the interactive figures: npm with the lock file beside this one, then
# esbuild.  A network is needed once, for node_modules/.
set -eu
cd "$(dirname "$0")"
command -v npm >/dev/null 2>&1 || { echo 'perp: the interactive figures need npm: ./perp setup web' >&2; exit 1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo 'perp: fetching the libraries of the interactive figures (package-lock.json)' >&2
  # no script of a package is run; every archive is checked against its hash in the lock file
  npm ci --ignore-scripts --no-audit --no-fund >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    exit 1
  }
fi
mkdir -p dist
rm -f dist/failed
npm run --silent build >"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
