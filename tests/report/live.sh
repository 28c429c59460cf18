#!/bin/sh
# live.sh PERP SOURCE OUT NATIVE: the page of perp live is made, and live.mjs uses it; NATIVE has the functions of its module.
perp=$1 source=$2 out=$3/live native=$4
rm -rf "$out"
. "$source/browser.sh"
"$perp" live -o "$out/live.html" >"$out/log" 2>&1 || { [ $? = 5 ] && skip "perp was built without its WebAssembly module"; tail -n 20 "$out/log" >&2; bail 'perp live'; }
make "$perp" live stack:boxes=10 --lcp dantzig --against pgs --h 10ms -o "$out/two.html"
exec node "$source/live.mjs" "$out" "$native" "$perp"
