#!/bin/sh
# lessons.sh PERP SOURCE OUT [all]: the course of all lessons is written, a lesson as one file, a course as one file, and lessons.mjs
# opens all of them or, to be fast, lessons that have every kind of part between them; PERP_PICTURES=yes keeps pictures.
perp=$1 source=$2 out=$3/lessons${4:+_$4}
rm -rf "$out"
. "$source/browser.sh"
PERP_HOME=$source/../..
export PERP_HOME
names='pictures drift kkt impact lcp judge'
[ -z "$4" ] || names=$("$perp" lesson list | cut -d' ' -f1)
make "$perp" lesson all -o "$out/course"
# a lesson of one's own beside one of perp, in one file
(cd "$out" && "$perp" new lesson mine > /dev/null 2>&1)
printf 'schema: perp-course/1\ntitle: Two lessons\ntext: One file with $x^2$.\nlessons: [lcp, ./mine]\n' > "$out/two.yaml"
make "$perp" lesson "$out/two.yaml" --html "$out/two.html"
exec node "$source/lessons.mjs" "$out" $names
