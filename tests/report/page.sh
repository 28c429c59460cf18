#!/bin/sh
# page.sh PERP SOURCE OUT: small studies are run, and page.mjs looks at their reports; OUT keeps the pictures.
perp=$1 source=$2 out=$3
web=$source/../../experiments/report/web
skip() { echo "1..0 # SKIP $*"; exit 0; }
command -v node >/dev/null 2>&1 || skip 'node is not installed'
[ -f "$web/dist/report.js" ] || skip 'experiments/report/web/build.sh has not been run'
[ -d "$web/node_modules/playwright-core" ] || skip 'playwright-core is not installed (npm ci in experiments/report/web)'
command -v chromium >/dev/null 2>&1 || skip 'chromium is not installed'
node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' || skip 'playwright-core needs node 18'
unset PERP_HOME
export PERP_REPORT_JS="$web/dist/report.js"
for study in motion contact lcp; do
  rm -rf "$out/$study"
  "$perp" run "$source/$study.yaml" -o "$out/$study" >"$out/$study.log" 2>&1 || { tail -n 20 "$out/$study.log" >&2; echo 'Bail out! a study did not run'; exit 1; }
done
# damaged folders: nothing has run; the runner was killed in the middle of a line; files torn; every cell failed
for damaged in empty torn failed; do
  rm -rf "$out/$damaged"
  cp -r "$out/motion" "$out/$damaged"
done
rm -rf "$out/empty/journal" "$out/empty/series" "$out/empty/replay"
for f in "$out"/torn/journal/*.jsonl; do
  size=$(wc -c <"$f")
  head -c $((size * 2 / 5)) "$f" >"$out/part" && mv "$out/part" "$f"
done
for f in "$out"/torn/series/*.csv "$out"/torn/replay/*.json; do
  head -c 700 "$f" >"$out/part" && mv "$out/part" "$f"
done
sed -i 's/"status": "ok"/"status": "diverged"/' "$out"/failed/journal/*.jsonl
for damaged in empty torn failed; do
  "$perp" report "$out/$damaged" >"$out/$damaged.log" 2>&1 || { tail -n 20 "$out/$damaged.log" >&2; echo "Bail out! no report of $damaged"; exit 1; }
done
exec node "$source/page.mjs" "$web" "$out" motion contact lcp empty torn failed
