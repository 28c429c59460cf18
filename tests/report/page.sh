#!/bin/sh
# page.sh PERP SOURCE OUT: small studies are run, and page.mjs looks at their reports; PERP_PICTURES=yes keeps pictures in OUT.
perp=$1 source=$2 out=$3/page
rm -rf "$out"
. "$source/browser.sh"
for study in motion contact lcp findings; do make "$perp" run "$source/$study.yaml" -o "$out/$study"; done
for study in motion lcp findings; do "$perp" answer "$out/$study" --plot >"$out/$study.txt"; done
# damaged folders: nothing has run; the runner was killed in the middle of a line; files torn; every cell failed
for damaged in empty torn failed; do cp -r "$out/motion" "$out/$damaged"; done
rm -rf "$out/empty/journal" "$out/empty/series" "$out/empty/replay"
for f in "$out"/torn/journal/*.jsonl; do
  size=$(wc -c <"$f")
  head -c $((size * 2 / 5)) "$f" >"$out/part" && mv "$out/part" "$f"
done
for f in "$out"/torn/series/*.csv "$out"/torn/replay/*.json; do
  head -c 700 "$f" >"$out/part" && mv "$out/part" "$f"
done
sed -i 's/"status": "ok"/"status": "diverged"/' "$out"/failed/journal/*.jsonl
for damaged in empty torn failed; do make "$perp" report "$out/$damaged"; done
exec node "$source/page.mjs" "$out" motion contact lcp findings empty torn failed
