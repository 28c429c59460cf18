#!/bin/sh
# access.sh PERP SOURCE OUT: a short profile of chain6-stab, problems, a run and a lesson are made into pages, and access.mjs
# looks whether everybody can use them.
perp=$1 source=$2 out=$3/access
rm -rf "$out"
. "$source/browser.sh"
make "$perp" run chain6-stab --set profile=short --set measure.repeats=1 --set t_end=0.2s --only 'ode == rk4 or ode == euler' -o "$out/chain6"
make "$perp" run "$source/lcp.yaml" -o "$out/lcp"
make "$perp" view stack:boxes=3 --t-end 0.2s -o "$out/stack.html"
live= # where the module is built
"$perp" live stack:boxes=3 -o "$out/live.html" >>"$out/log" 2>&1 && live=live.html
make "$perp" lesson lcp --html "$out/lesson.html" -o "$out/run" --answer 1
exec node "$source/access.mjs" "$out" chain6/report.html lcp/report.html stack.html lesson.html $live
