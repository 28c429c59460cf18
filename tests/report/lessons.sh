#!/bin/sh
# lessons.sh PERP SOURCE OUT: the page of every lesson is written, and lessons.mjs opens it; OUT keeps the pictures.
perp=$1 source=$2 out=$3/lessons
web=$source/../../experiments/report/web
skip() { echo "1..0 # SKIP $*"; exit 0; }
command -v node >/dev/null 2>&1 || skip 'node is not installed'
[ -d "$web/node_modules/playwright-core" ] || skip 'playwright-core is not installed (npm ci in experiments/report/web)'
command -v chromium >/dev/null 2>&1 || skip 'chromium is not installed'
node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' || skip 'playwright-core needs node 18'
PERP_HOME=$source/../..
export PERP_HOME
rm -rf "$out"
mkdir -p "$out"
names=$("$perp" lesson list | cut -d' ' -f1)
for name in $names; do
  "$perp" lesson "$name" --html "$out/$name.html" >"$out/$name.log" 2>&1 </dev/null || { tail -n 20 "$out/$name.log" >&2; echo "Bail out! lesson $name"; exit 1; }
done
exec node "$source/lessons.mjs" "$web" "$out" $names
