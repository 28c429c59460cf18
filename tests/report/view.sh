#!/bin/sh
# view.sh PERP SOURCE OUT: pages of perp view and perp simulate --view are made, and view.mjs opens them; OUT keeps the pictures.
perp=$1 source=$2 out=$3/view
rm -rf "$out"
. "$source/browser.sh"
# t_end: a fifth of a second in 48 steps
make "$perp" view stack:boxes=3 --t-end 0.2s -o "$out/stack.html" --png "$out/stack.png" --at 0.1 --size 320x200
make "$perp" view pendulum --h 10ms --t-end 2s --stab none --against 'stab=post h=5ms' -o "$out/two.html"
make "$perp" view cloth --t-end 0.1s -o "$out/cloth.html"
make "$perp" view motor -o "$out/motor.html" --png "$out/motor.png" --at 0.3s --size 400x300
make "$perp" view stop -o "$out/stop.html"
for ground in mesh field; do make "$perp" view "$source/shapes.yaml:ground=$ground" -o "$out/$ground.html"; done
make "$perp" simulate tippe-top --t-end 0.3s --rounds 0 --view -o "$out/top.html" --png "$out/top.png" --size 300x300
exec node "$source/view.mjs" "$out"
