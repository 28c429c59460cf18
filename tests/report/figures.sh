#!/bin/sh
# figures.sh PERP SOURCE OUT [chain]: studies are run, and figures.mjs looks at every figure of their reports; OUT keeps the
# pictures.  With chain: the short profile of chain6-stab.
perp=$1 source=$2 out=$3/figures
web=$source/../../experiments/report/web
skip() { echo "1..0 # SKIP $*"; exit 0; }
command -v node >/dev/null 2>&1 || skip 'node is not installed'
[ -f "$web/dist/report.js" ] || skip 'experiments/report/web/build.sh has not been run'
[ -d "$web/node_modules/playwright-core" ] || skip 'playwright-core is not installed (npm ci in experiments/report/web)'
command -v chromium >/dev/null 2>&1 || skip 'chromium is not installed'
node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' || skip 'playwright-core needs node 18'
unset PERP_HOME
export PERP_REPORT_JS="$web/dist/report.js"
mkdir -p "$out"
run() { # run NAME ARGUMENTS...
  name=$1
  shift
  rm -rf "${out:?}/$name"
  "$perp" run "$@" -o "$out/$name" >"$out/$name.log" 2>&1 || { tail -n 20 "$out/$name.log" >&2; echo 'Bail out! a study did not run'; exit 1; }
}
if [ "$4" = chain ]; then
  run chain6 chain6-stab --set profile=short --set measure.repeats=2
  exec node "$source/figures.mjs" "$web" "$out" chain6
fi
for study in scaling lcp motion; do run "$study" "$source/$study.yaml"; done
exec node "$source/figures.mjs" "$web" "$out" scaling lcp motion
