#!/bin/sh
# publish.sh PERP SOURCE OUT [LATEX]: what `perp report` writes for a document.
perp=$1 source=$2 out=$3/publish latex=$4
n=0
check() { # check WHAT COMMAND...
  what=$1
  shift
  n=$((n + 1))
  if "$@" >"$out.log" 2>&1; then echo "ok $n - $what"; else echo "not ok $n - $what"; sed 's/^/# /' "$out.log"; fi
}
# compile FILE.tex, in its folder: FILE.pdf and FILE.log
compile() {
  case $latex in
    *tectonic) "$latex" --keep-logs "$1" ;;
    *) "$latex" -interaction=nonstopmode -halt-on-error "$1" ;;
  esac
}
# does it find what the documents use?
latex_has() {
  case $latex in
    '') return 1 ;;
    *tectonic) return 0 ;;
    *) for f in "$@"; do kpsewhich "$f" >/dev/null || return 1; done ;;
  esac
}
# fits DIR: each table of answers in a column of 8.4 cm, with no box wider than that
fits() (
  cd "$1" || exit 1
  answers=$(sed -n 's/.*csname perp@answers@\([0-9]*\)\\endcsname{{.*/\1/p' tables.tex)
  [ -n "$answers" ] || { echo 'no table of answers'; exit 1; }
  {
    printf '%s\n' '\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,array,amsmath}' '\input{tables}' '\begin{document}'
    for a in $answers; do printf '\\noindent\\parbox{8.4cm}{\\noindent\\perpAnswerTable{%s}}\\par\n' "$a"; done
    printf '%s\n' '\end{document}'
  } >column.tex
  compile column.tex || exit 1
  ! grep -A3 'Overfull \\hbox' column.log
)
rm -rf "$out"
unset PERP_REPORT_JS
for study in motion lcp; do
  "$perp" run "$source/$study.yaml" -o "$out/$study" --no-report >"$out.log" 2>&1 || { cat "$out.log" >&2; echo 'Bail out! a study did not run'; exit 1; }
  dir=$out/$study
  check "$study: report" "$perp" report "$dir" --figs pdf,png,tikz --tex "$dir/tex"
  check "$study: the page has one script, and names the files of the figures" sh -c "[ \$(grep -o '<script>' '$dir/report.html' | wc -l) = 1 ] && grep -q '\"formats\": \[\"pdf\", \"png\", \"tex\", \"gp\", \"csv\"\]' '$dir/report.json'"
  check "$study: each figure in each format, with its script and data" sh -c "
    cd '$dir/figs' && ls *.gp >/dev/null && for f in *.gp; do
      for s in csv pdf png tex; do [ -s \"\${f%.gp}.\$s\" ] || { echo \"\${f%.gp}.\$s\"; exit 1; }; done
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
  if latex_has booktabs.sty gnuplot-lua-tikz.sty pgf.sty; then
    example() ( cd "$dir/tex" && compile example.tex && [ -s example.pdf ] )
    check "$study: LaTeX makes a document of it" example
    check "$study: with a page for two figures" sh -c "
      pages=\$(sed -n 's/.*Output written on example.pdf (\([0-9]*\) page.*/\1/p' '$dir/tex/example.log')
      figures=\$(grep -c 'perpFigure{' '$dir/tex/example.tex'); echo \$pages pages, \$figures figures
      [ \$figures -gt 0 ] && [ \$((2 * \$pages)) -gt \$figures ] && [ \$pages -le \$((\$figures / 2 + 4)) ]"
    check "$study: the numbers stand in it" sh -c "! grep -q 'no number\|no figure\|Undefined' '$dir/tex/example.log'"
  else
    n=$((n + 1)); echo "ok $n - $study: LaTeX makes a document of it # SKIP no LaTeX with booktabs, pgf and gnuplot-lua-tikz"
  fi
  check "$study: the numbers count the cells" grep -q "perpdefine{cells}{\\\$$(($(wc -l <"$dir/derived/cells.csv") - 1))\\\$}" "$dir/tex/numbers.tex"
done
# three solvers over heights of a stack: the table of the answer fits a column, as those of the others do
"$perp" run "$source/scaling.yaml" -o "$out/scaling" --no-report >"$out.log" 2>&1 || { cat "$out.log" >&2; echo 'Bail out! a study did not run'; exit 1; }
check 'scaling: report' "$perp" report "$out/scaling" --tex "$out/scaling/tex"
check 'scaling: a row for each solver' awk '/perp@answers@1/ { on = 1 } on && /^\\raggedright/ { n++ } /^}}/ { on = 0 } END { exit n < 3 }' "$out/scaling/tex/tables.tex"
if latex_has booktabs.sty array.sty; then
  for study in scaling lcp motion; do check "$study: tables of answers fit a column of 8.4 cm" fits "$out/$study/tex"; done
  # ... and what is too wide is seen
  cp -r "$out/scaling/tex" "$out/wide"
  sed -i 's/\\begin{tabular}{@{}p{[0-9]*pt}/\\begin{tabular}{@{}p{300pt}/' "$out/wide/tables.tex"
  wide() { ! fits "$out/wide"; }
  check 'a table that is too wide would be seen' wide
else
  n=$((n + 1)); echo "ok $n - tables of answers fit a column # SKIP no LaTeX with booktabs and array"
fi
check 'lcp: solvers are counted' grep -q 'dantzig & 14/14 ' "$out/lcp/tex/tables.tex"
check 'motion: the figure on top, a file for each panel, its curves in words' sh -c "ls '$out/motion/figs/top-1.pdf' '$out/motion/figs/top-2.pdf' && grep -q 'Baumgarte, α = 50 1/s' '$out/motion/figs/top-1.csv'"
check 'motion: figures in the width of a column' "$perp" report "$out/motion" --figs pdf --width column
check 'motion: each of them' sh -c "cd '$out/motion/figs' && ! grep -L 'pdfcairo size 8.4cm' *.gp | grep ."
check 'motion: another width is refused' sh -c "'$perp' report '$out/motion' --width 12 2>&1 | grep -q 'column (8.4 cm) or page'"
check 'motion: a caption for each figure' grep -q 'perp@fig@work-precision' "$out/motion/tex/figures.tex"
echo "1..$n"
