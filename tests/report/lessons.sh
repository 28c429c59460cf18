#!/bin/sh
# lessons.sh PERP SOURCE OUT: the page of every lesson is written, and lessons.mjs opens it; PERP_PICTURES=yes keeps pictures.
perp=$1 source=$2 out=$3/lessons
rm -rf "$out"
. "$source/browser.sh"
PERP_HOME=$source/../..
export PERP_HOME
names=$("$perp" lesson list | cut -d' ' -f1)
for name in $names; do make "$perp" lesson "$name" --html "$out/$name.html"; done
exec node "$source/lessons.mjs" "$out" $names
