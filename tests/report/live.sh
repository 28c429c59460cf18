#!/bin/sh
# live.sh PERP SOURCE OUT NATIVE [all]: the page of perp live is made, and live.mjs uses it; NATIVE has the functions of its module.
# all: nothing but 200 problems; else 50, and all the page does.
perp=$1 source=$2 out=$3/live$5 native=$4
rm -rf "$out"
. "$source/browser.sh"
"$perp" live -o "$out/live.html" >"$out/log" 2>&1 || { [ $? = 5 ] && skip "perp was built without its WebAssembly module"; tail -n 20 "$out/log" >&2; bail 'perp live'; }
[ "$5" ] || make "$perp" live stack:boxes=10 --lcp dantzig --against pgs --h 10ms -o "$out/two.html"
exec node "$source/live.mjs" "$out" "$native" "$perp" $5
