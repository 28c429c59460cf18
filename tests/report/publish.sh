#!/bin/sh
# publish.sh PERP SOURCE OUT: what `perp report` writes for a document, and the page without scripts.
perp=$1 source=$2 out=$3/publish
n=0
check() { # check WHAT COMMAND...
  what=$1
  shift
  n=$((n + 1))
  if "$@" >"$out.log" 2>&1; then echo "ok $n - $what"; else echo "not ok $n - $what"; sed 's/^/# /' "$out.log"; fi
}
rm -rf "$out"
export PERP_REPORT_JS= # a page of pictures, whatever has been built
for study in motion lcp; do
  "$perp" run "$source/$study.yaml" -o "$out/$study" --no-report >"$out.log" 2>&1 || { cat "$out.log" >&2; echo 'Bail out! a study did not run'; exit 1; }
  dir=$out/$study
  check "$study: report" "$perp" report "$dir" --figs pdf,png,tikz --tex "$dir/tex"
  check "$study: the page has no script" sh -c "! grep -q '<script' '$dir/report.html'"
  check "$study: and says what would add the interactive figures" grep -q -- '--interactive' "$dir/report.html"
  check "$study: each figure in each format, with its script and data" sh -c "
    cd '$dir/figs' && ls *.gp >/dev/null && for f in *.gp; do
      for s in csv svg pdf png tex; do [ -s \"\${f%.gp}.\$s\" ] || { echo \"\${f%.gp}.\$s\"; exit 1; }; done
    done"
  for f in tables numbers figures; do
    check "$study: braces of $f.tex are balanced" awk '
      { gsub(/\\[{}]/, ""); for (i = 1; i <= length($0); i++) { c = substr($0, i, 1); d += (c == "{") - (c == "}"); if (d < 0) bad = 1 } }
      END { exit bad || d != 0 }' "$dir/tex/$f.tex"
  done
  check "$study: rows of a table have the same number of columns" awk '
    /begin\{tabular\}/ { n = 0 }
    /\\\\$/ { gsub(/\\&/, ""); k = gsub(/&/, "&"); if (n && k + 1 != n) { print; bad = 1 } n = k + 1 }
    END { exit bad }' "$dir/tex/tables.tex"
  check "$study: no special character is left bare" sh -c "! sed 's/perpdefine{[^}]*}//; s/\\\\[%#_&\$]//g' '$dir/tex/numbers.tex' | grep -v '^%' | grep -v 'providecommand\|newcommand' | grep '[%#_&]'"
  # a LaTeX with pgf draws the figures too: every table, number and figure in one document
  if command -v pdflatex >/dev/null 2>&1 && kpsewhich booktabs.sty >/dev/null && kpsewhich gnuplot-lua-tikz.sty >/dev/null && kpsewhich pgf.sty >/dev/null; then
    check "$study: LaTeX makes a document of it" sh -c "cd '$dir/tex' && pdflatex -interaction=nonstopmode -halt-on-error example.tex && [ -s example.pdf ]"
    check "$study: with a page for each figure" sh -c "
      pages=\$(sed -n 's/.*Output written on example.pdf (\([0-9]*\) page.*/\1/p' '$dir/tex/example.log')
      figures=\$(grep -c 'perpFigure{' '$dir/tex/example.tex'); echo \$pages pages, \$figures figures
      [ \$figures -gt 0 ] && [ \$pages -gt \$figures ]"
    check "$study: the numbers stand in it" sh -c "! grep -q 'no number\|no figure\|Undefined' '$dir/tex/example.log'"
  else
    n=$((n + 1)); echo "ok $n - $study: LaTeX makes a document of it # SKIP no pdflatex with booktabs, pgf and gnuplot-lua-tikz"
  fi
  check "$study: the numbers count the cells" grep -q "perpdefine{cells}{\\\$$(($(wc -l <"$dir/derived/cells.csv") - 1))\\\$}" "$dir/tex/numbers.tex"
done
check 'lcp: solvers are counted' grep -q '^dantzig & [0-9]* & 18 ' "$out/lcp/tex/tables.tex"
check 'motion: a caption for each figure' grep -q 'perp@fig@work-precision' "$out/motion/tex/figures.tex"
echo "1..$n"
