# Sourced by the tests of the pages, with SOURCE and OUT set: skips them where a program is missing, and bundles what they
# import from the pages.
skip() { echo "1..0 # SKIP $*"; exit 0; }
for program in node chromium esbuild; do command -v "$program" >/dev/null 2>&1 || skip "$program is not installed"; done
unset PERP_HOME PERP_REPORT_JS DISPLAY WAYLAND_DISPLAY PERP_CHROMIUM
mkdir -p "$out"
for part in stats data extent; do
  esbuild "$source/../../experiments/web/$part.ts" --bundle --format=esm --log-level=warning --outfile="$out/$part.mjs" || { echo "Bail out! $part.ts"; exit 1; }
done
bail() { echo "Bail out! $*"; exit 1; }
make() { "$@" >>"$out/log" 2>&1 </dev/null || { tail -n 20 "$out/log" >&2; bail "$*"; }; }
