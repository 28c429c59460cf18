#!/bin/sh
# figures.sh PERP SOURCE OUT [chain]: studies are run, and figures.mjs looks at every figure of their reports; PERP_PICTURES=yes
# keeps pictures in OUT.  With chain: the short profile of chain6-stab.
perp=$1 source=$2 out=$3/figures
. "$source/browser.sh"
run() { # run NAME ARGUMENTS...
  name=$1
  shift
  rm -rf "${out:?}/$name"
  make "$perp" run "$@" --no-report -o "$out/$name"
  make "$perp" report "$out/$name" --figs svg
}
if [ "$4" = chain ]; then
  run chain6 chain6-stab --set profile=short --set measure.repeats=2
  exec node "$source/figures.mjs" "$out" chain6
fi
for study in scaling lcp motion; do run "$study" "$source/$study.yaml"; done
exec node "$source/figures.mjs" "$out" scaling lcp motion
