/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables and numbers of a study for a LaTeX document. */
#include "experiments/report/page.h"

#include "experiments/pages/latex.h"
#include "experiments/answers/answers.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

/* name: the macro; head: of the columns, up to the line under it. */
static void tex_begin(FILE *out, const char *name, const char *columns, const char *head)
{
  fprintf(out, "\\newcommand{\\perp%s}{%%\n\\begin{tabular}{%s}\n\\toprule\n%s", name, columns,
          head);
}

static void tex_end(FILE *out)
{
  fputs("\\bottomrule\n\\end{tabular}}\n\n", out);
}

/* The head of a column of numbers, in lines of a few letters. */
static void tex_head(FILE *out, const char *text)
{
  enum { WIDTH = 14 };
  fputs(" & \\shortstack[r]{", out);
  for (size_t in_line = 0; *text != '\0';) {
    size_t n = strcspn(text, " ");
    if (text[0] == '[') n = strlen(text); /* the unit is whole */
    if (in_line > 0 && in_line + 1 + n > WIDTH) {
      fputs(text[0] == '[' ? "\\\\\\relax " : "\\\\", out);
      in_line = 0;
    } else if (in_line > 0) {
      fputc(' ', out);
    }
    char *word = perp_xprintf("%.*s", (int)n, text);
    perp_tex(out, "%s", word);
    free(word);
    in_line += n + 1;
    text += n;
    text += *text == ' ';
  }
  fputc('}', out);
}

static void tex_summary(perp_page *page, FILE *out)
{
  enum { ROWS = 20, COLUMNS = 24, SHOWN = 6 };
  int row[ROWS];
  const char *metric[COLUMNS];
  int n = perp_page_ranked(page, row, ROWS), m = perp_page_shown_metrics(page, metric, COLUMNS);
  if (n == 0) return;
  if (m > SHOWN) m = SHOWN; /* what fits on a page */
  char columns[COLUMNS + 3] = "l";
  memset(columns + 1, 'r', (size_t)m);
  bool marked = false;
  for (int i = 0; i < n; i++) marked = marked || !perp_results_wins(page->results, row[i]);
  if (marked) columns[m + 1] = 'l';
  const char *label[ROWS];
  perp_tex(out, "\\newcommand{\\perpSummaryRows}{%s}\n", perp_page_labels(page, row, n, label));
  tex_begin(out, "Summary", columns, "combination");
  for (int k = 0; k < m; k++) tex_head(out, perp_page_title(page, metric[k]));
  fprintf(out, "%s \\\\\n\\midrule\n", marked ? " & status" : "");
  for (int i = 0; i < n; i++) {
    char buf[32];
    perp_tex(out, "%s", label[i]);
    for (int k = 0; k < m; k++)
      perp_tex(out,
               perp_page_best_of_scene(page, row, n, i, metric[k]) ? " & \\perpbest{%m}" : " & %m",
               perp_page_value(page, row[i], metric[k]));
    if (marked) perp_tex(out, " & %s", perp_record_mark(&page->results->record[row[i]], buf));
    fputs(" \\\\\n", out);
  }
  tex_end(out);
}

static void tex_claims(perp_page *page, FILE *out)
{
  if (page->study->n_claims == 0) return;
  const perp_claim_result *result = perp_results_claims(page->ctx, page->results);
  tex_begin(out, "Claims", "p{0.62\\linewidth}lr", "claim & verdict & measured \\\\\n\\midrule\n");
  for (int claim = 0; claim < page->study->n_claims; claim++)
    perp_tex(out, "%s & %s & %m \\\\\n", result[claim].claim->text,
             perp_verdict_name(result[claim].verdict), result[claim].left);
  tex_end(out);
}

static void tex_published(perp_page *page, FILE *out)
{
  enum { VARIANTS = 12 };
  const perp_study *study = page->study;
  if (study->n_published == 0) return;
  perp_variant *variant;
  int n = perp_results_variants(page->ctx, page->results, &variant);
  char *columns = perp_pool_alloc(&page->pool, (size_t)study->n_published + 2, 1);
  columns[0] = 'l';
  memset(columns + 1, 'r', (size_t)study->n_published);
  tex_begin(out, "Published", columns, "variant");
  for (int published = 0; published < study->n_published; published++)
    perp_tex(out, " & %s", study->published[published].source);
  fputs(" \\\\\n\\midrule\npublished", out);
  for (int published = 0; published < study->n_published; published++)
    perp_tex(out, " & %m", study->published[published].value);
  fputs(" \\\\\n", out);
  for (int v = 0; v < n && v < VARIANTS; v++) {
    perp_tex(out, "%s", variant[v].label);
    for (int published = 0; published < study->n_published; published++) {
      int cell = variant[v].cell[published];
      if (cell >= 0 && !perp_results_wins(page->results, cell))
        fprintf(out, " & %s", perp_cell_status_names[page->results->record[cell].status]);
      else
        perp_tex(out, " & %m",
                 cell < 0 ? (double)NAN
                          : perp_page_value(page, cell, study->published[published].metric));
    }
    fputs(" \\\\\n", out);
  }
  tex_end(out);
}

static void tex_status(perp_page *page, FILE *out)
{
  tex_begin(out, "Status", "lr", "status & runs \\\\\n\\midrule\n");
  for (int s = 0; s < PERP_CELL_STATUSES; s++)
    if (page->results->count[s] > 0)
      fprintf(out, "%s & %d \\\\\n", perp_cell_status_names[s], page->results->count[s]);
  fprintf(out, "\\midrule\nall & %d \\\\\n", page->results->plan.n);
  tex_end(out);
}

static bool has_solvers(const perp_page *page)
{
  return perp_page_has_problems(page) && perp_kind_param(page->study->kind, "lcp") >= 0;
}

/* Of each value of the parameter `lcp`, in the order of the study: solved, or proved to have no
 * solution; of those that suit it. */
static void tex_solvers(perp_page *page, FILE *out)
{
  int lcp = perp_kind_param(page->study->kind, "lcp"), n = page->results->plan.n;
  if (!has_solvers(page)) return;
  int *solved = perp_pool_alloc(&page->pool, (size_t)n, sizeof *solved);
  int *suited = perp_pool_alloc(&page->pool, (size_t)n, sizeof *suited);
  int *unsuited = perp_pool_alloc(&page->pool, (size_t)n, sizeof *unsuited);
  perp_names solver = { 0 };
  for (int cell = 0; cell < n; cell++) {
    int s = perp_names_index(&page->pool, &solver, perp_view_text(&page->view, cell, lcp), -1);
    const bool suits = page->results->record[cell].status != PERP_CELL_UNSUITED;
    suited[s] += suits;
    unsuited[s] += !suits;
    solved[s] += perp_results_wins(page->results, cell);
  }
  tex_begin(out, "Solvers", "lrrr", "solver & solved & of & unsuited \\\\\n\\midrule\n");
  for (int s = 0; s < solver.n; s++)
    perp_tex(out, "%s & %d & %d & %d \\\\\n", solver.text[s], solved[s], suited[s], unsuited[s]);
  tex_end(out);
}

static void tex_tables(perp_page *page, FILE *out)
{
  fprintf(
      out,
      "%% Tables of the study %s: \\usepackage{array,booktabs}, then \\input this file and use the "
      "macros.\n\n",
      page->study->name);
  perp_page_tex_answers(page, out);
  tex_summary(page, out);
  tex_published(page, out);
  tex_claims(page, out);
  tex_solvers(page, out);
  tex_status(page, out);
}

/* ---- numbers ---- */

static void tex_numbers(perp_page *page, FILE *out)
{
  const perp_results *results = page->results;
  fprintf(
      out,
      "%% Numbers of the study %s: \\input this file, then use \\perpvalue{cells.ok} etc.; all "
      "names are below.\n\\providecommand{\\perpdefine}[2]{\\expandafter\\def\\csname "
      "perp@#1\\endcsname{#2}}\n\\newcommand{\\perpvalue}[1]{\\ifcsname perp@#1\\endcsname\\csname "
      "perp@#1\\endcsname\\else\\errmessage{no number '#1' in numbers.tex}\\fi}\n",
      page->study->name);
  perp_tex(out, "\\perpdefine{study}{%s}\n\\perpdefine{cells}{%m}\n", page->study->name,
           (double)results->plan.n);
  for (int s = 0; s < PERP_CELL_STATUSES; s++)
    if (results->count[s] > 0)
      perp_tex(out, "\\perpdefine{cells.%n}{%m}\n", perp_cell_status_names[s],
               (double)results->count[s]);
  /* of every metric the best value and who has it */
  for (int m = 0; m < page->study->n_metrics; m++) {
    const perp_metric *metric = &page->study->metric[m];
    int best = -1;
    for (int cell = 0; cell < results->plan.n && metric->better != 0; cell++) {
      double v = perp_results_value(results, cell, m);
      if (perp_results_wins(page->results, cell) && !isnan(v) &&
          (best < 0 || metric->better * (v - perp_results_value(results, best, m)) > 0))
        best = cell;
    }
    if (best < 0) continue;
    perp_tex(out, "\\perpdefine{best.%n}{%m}\n\\perpdefine{best.%n.by}{%s}\n", metric->name,
             perp_results_value(results, best, m), metric->name, perp_page_row_label(page, best));
  }
  const perp_answer *answer;
  const int n_answers = perp_results_answers(page->ctx, page->results, &answer);
  for (int i = 0; i < n_answers; i++)
    perp_tex(out, "\\perpdefine{answer.%d}{%s%s%s}\n", i + 1, answer[i].text,
             answer[i].basis[0] != '\0' ? " " : "", answer[i].basis);
  const perp_claim_result *result = perp_results_claims(page->ctx, page->results);
  for (int claim = 0; claim < page->study->n_claims; claim++)
    perp_tex(out, "\\perpdefine{claim.%d}{%s}\n\\perpdefine{claim.%d.measured}{%m}\n", claim + 1,
             perp_verdict_name(result[claim].verdict), claim + 1, result[claim].left);
}

/* ---- figures ---- */

static void tex_figures(perp_page *page, FILE *out)
{
  const bool tikz = strstr(page->formats, "tikz") != NULL;
  fprintf(out,
          "%% Figures of the study %s: \\usepackage{graphicx}%s, \\input this file, then\n"
          "%% \\begin{figure}\\perpFigure{NAME}\\end{figure}; \\newcommand{\\perpfigs}{.../figs/}, "
          "before, says where they are.\n"
          "%s\\providecommand{\\perpfigs}{}\n"
          "\\providecommand{\\perpfit}[1]{\\resizebox{\\ifdim\\width>"
          "\\linewidth\\linewidth\\else\\width\\fi}{!}{#1}}\n"
          "\\providecommand{\\perpFigure}[1]{\\ifcsname perp@fig@#1\\endcsname\\csname "
          "perp@fig@#1\\endcsname\\else"
          "\\errmessage{no figure '#1' in figures.tex}\\fi}\n",
          page->study->name, tikz ? " and {gnuplot-lua-tikz}" : "",
          tikz ? "% (gnuplot -e 'set terminal tikz createstyle' writes gnuplot-lua-tikz.sty where "
                 "it is missing)\n"
               : "");
  if (page->drawn.n > 0) fputs(page->drawn.s, out);
}

/* A document with all of it, to look at and to copy from. */
static void tex_example(perp_page *page, FILE *out)
{
  int row;
  char *figs = perp_real_path(page->figs);
  const struct {
    const char *name;
    bool there;
  } macros[] = { { "Summary", perp_page_ranked(page, &row, 1) > 0 },
                 { "Published", page->study->n_published > 0 },
                 { "Claims", page->study->n_claims > 0 },
                 { "Solvers", has_solvers(page) },
                 { "Status", true } };
  fprintf(
      out,
      "%% pdflatex example.tex: every table and figure of the study %s\n"
      "\\documentclass{article}\n"
      "\\usepackage[T1]{fontenc}\n\\usepackage{textcomp,array,booktabs,graphicx}\n%s\\usepackage["
      "margin=2.5cm]{geometry}\n"
      "\\newcommand{\\perpfigs}{%s/}\n"
      "\\input{numbers}\n\\input{tables}\n\\input{figures}\n\\begin{document}\n"
      "\\section*{",
      page->study->name,
      strstr(page->formats, "tikz") != NULL ? "\\usepackage{gnuplot-lua-tikz}\n" : "",
      figs != NULL ? figs : page->figs);
  free(figs);
  perp_tex(
      out,
      "%s}\nOf the \\perpvalue{%s} runs of \\texttt{\\perpvalue{study}}, \\ifcsname "
      "perp@cells.ok\\endcsname \\perpvalue{cells.ok}\\else none\\fi{} ended with the status ok.\n",
      page->study->title, "cells");
  fputs("\\perpFindings\n\\perpMoreFindings\n\\paragraph{How we know}\\perpAnswers\n", out);
  const perp_answer *answer;
  const int n = perp_results_answers(page->ctx, page->results, &answer);
  for (int i = 0; i < n; i++)
    if (answer[i].n_lines > 0 && answer[i].n_who > 1)
      fprintf(out,
              "\\begin{table}[htbp]\\centering\\begin{minipage}{8.4cm}\\perpAnswerTable{%d}"
              "\\end{minipage}\\caption{\\texttt{\\string\\perpAnswerTable\\{%d\\}}}"
              "\\end{table}\n",
              i + 1, i + 1);
  for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
    if (macros[i].there)
      fprintf(out,
              "\\begin{table}[htbp]\\centering\\perpfit{\\perp%s}\\caption{\\texttt{\\string\\perp%"
              "s}%s}\\end{table}\n",
              macros[i].name, macros[i].name, i == 0 ? " All rows: \\perpSummaryRows" : "");
  fputs("\\clearpage\n", out);
  /* the lesser ones, one for each choice of the other parts, have their macros in figures.tex */
  int figures = 0;
  for (const char *at = page->chief.n > 0 ? page->chief.s : ""; *at != '\0';
       at += strcspn(at, "\n") + 1)
    fprintf(out, "\\begin{figure}[htbp]\\perpFigure{%.*s}\\end{figure}%s\n", (int)strcspn(at, "\n"),
            at, ++figures % 2 == 0 ? "\\clearpage" : "");
  fputs("\\end{document}\n", out);
}

/* ---- the files ---- */

static perp_status write_tex(perp_page *page, const char *dir, const char *file,
                             void (*write)(perp_page *, FILE *))
{
  perp_out out;
  PERP_TRY(perp_out_open(page->ctx, perp_pool_printf(&page->pool, "%s/%s", dir, file), &out));
  write(page, out.f);
  return perp_out_close(page->ctx, &out, true);
}

perp_status perp_page_tex(perp_page *page, const char *dir)
{
  PERP_TRY(perp_make_dirs(page->ctx, dir));
  PERP_TRY(write_tex(page, dir, "tables.tex", tex_tables));
  PERP_TRY(write_tex(page, dir, "numbers.tex", tex_numbers));
  PERP_TRY(write_tex(page, dir, "figures.tex", tex_figures));
  return write_tex(page, dir, "example.tex", tex_example);
}
