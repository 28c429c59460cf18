/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers for a LaTeX document: their words, and tables of the width of a column. */
#include "experiments/report/page.h"

#include "experiments/pages/latex.h"
#include "experiments/answers/findings.h"

#include <math.h>
#include <string.h>

/* A column of 8.4 cm in points; \footnotesize letters and the room between columns, generously. */
static const double column = 239, letter = 4.4, between = 6;
enum { TEX_COLUMNS = 24 };

/* Where a long name may be broken. */
static void tex_name(FILE *out, const char *text)
{
  for (const char *at = text; *at != '\0';) {
    const size_t n = strcspn(at, ":,=/"), all = n + (at[n] != '\0');
    char part[256];
    snprintf(part, sizeof part, "%.*s", (int)all, at);
    perp_tex(out, "%s", part);
    if (at[n] != '\0') fputs("\\allowbreak{}", out);
    at += all;
  }
}

static void tex_entry(FILE *out, perp_page *page, const perp_answer *answer,
                      const perp_answer_entry *entry)
{
  const bool figure = entry->cell >= 0 && answer->question->kind == PERP_ASK_BEST;
  fputs(entry->best ? "\\perpbest{" : "", out);
  if (figure)
    perp_tex(out, "%m", entry->value);
  else
    perp_tex(out, "%s", perp_answer_entry_text(&page->pool, answer, entry));
  fputs(entry->best ? "}" : "", out);
}

/* Points of an entry: "1.23 x 10^-5" is broader than its letters. */
static double entry_width(perp_page *page, const perp_answer *answer,
                          const perp_answer_entry *entry)
{
  const char *text = perp_answer_entry_text(&page->pool, answer, entry);
  if (strchr(text, 'e') != NULL && entry->cell >= 0)
    return entry->best ? 62 : 50; /* bold is broader */
  return letter * (double)strlen(text);
}

/* The least width of a line as a column: its entries, and the words of its head. */
static double line_width(perp_page *page, const perp_answer *a, const perp_answer_line *line)
{
  double width = letter * (double)(strlen(line->brief) + 1 + strlen(line->limit));
  for (int entry = 0; entry < a->n_who; entry++)
    width = fmax(width, entry_width(page, a, &line->entry[entry]));
  return width + between;
}

/* Room for the names: as much as they take, at most `most`; they are broken beyond. */
static double names_width(const perp_answer *answer, double most)
{
  double width = letter * (double)strlen(answer->by);
  for (int k = 0; k < answer->n_who; k++)
    width = fmax(width, letter * (double)strlen(answer->who[k]));
  return fmin(width, most);
}

/* Lines first ... last - 1 as columns, a row for each competitor. */
static void tex_pivot(FILE *out, perp_page *page, const perp_answer *a, double names, int first,
                      int last)
{
  fprintf(out, "\\begin{tabular}{@{}p{%.0fpt}", names);
  for (int i = first; i < last; i++) fputc('r', out);
  fputs("@{}}\n\\toprule\n", out);
  tex_name(out, a->by);
  for (int line = first; line < last; line++)
    perp_tex(out, " & %s%s%s", a->line[line].brief, a->line[line].limit[0] != '\0' ? " " : "",
             a->line[line].limit);
  fputs(" \\\\\n\\midrule\n", out);
  for (int entry = 0; entry < a->n_who; entry++) {
    fputs("\\raggedright{}", out);
    tex_name(out, a->who[entry]);
    for (int line = first; line < last; line++) {
      fputs(" & ", out);
      tex_entry(out, page, a, &a->line[line].entry[entry]);
    }
    fputs(" \\\\\n", out);
  }
  fputs("\\bottomrule\n\\end{tabular}\n", out);
}

/* A row for each comparison: where, who is best, its figure. */
static void tex_comparisons(FILE *out, const perp_answer *answer)
{
  enum { MOST = 60 };
  fprintf(
      out,
      "\\begin{tabular}{@{}>{\\raggedright}p{%.0fpt}>{\\raggedright}p{%.0fpt}r@{}}\n\\toprule\n",
      0.4 * column, 0.35 * column);
  tex_name(out, answer->apart_by[0] != '\0' ? answer->apart_by : "at");
  fputs(" & best & value \\\\\n\\midrule\n", out);
  for (int i = 0; i < answer->n_lines && i < MOST; i++) {
    const perp_answer_line *line = &answer->line[i];
    tex_name(out, line->brief);
    perp_tex(out, "%s%s & ", line->brief[0] != '\0' && line->limit[0] != '\0' ? ", " : "",
             line->limit);
    tex_name(out, line->who[0] != '\0' ? line->who : "-");
    perp_tex(out, " & %m \\\\\n", line->value);
  }
  fputs("\\bottomrule\n\\end{tabular}\n", out);
  if (answer->n_lines > MOST)
    fprintf(out, "\\par %d more rows are in derived/answers.json.\n", answer->n_lines - MOST);
}

static void tex_one(FILE *out, perp_page *page, const perp_answer *answer)
{
  const double names = names_width(answer, 0.45 * column);
  int shown = answer->n_lines;
  fputs("\\footnotesize\\setlength{\\tabcolsep}{3pt}%\n", out);
  double widest = 0;
  for (int line = 0; line < shown; line++)
    widest = fmax(widest, line_width(page, answer, &answer->line[line]));
  if (shown > TEX_COLUMNS || answer->n_who > 40 || widest > 0.4 * column) {
    tex_comparisons(out, answer);
    return;
  }
  for (int first = 0; first < shown;) {
    double width = names;
    int last = first;
    while (last < shown &&
           (last == first || width + line_width(page, answer, &answer->line[last]) <= column))
      width += line_width(page, answer, &answer->line[last++]);
    if (first > 0) fputs("\\par\\smallskip\n", out);
    tex_pivot(out, page, answer, names, first, last);
    first = last;
  }
}

static void tex_findings(FILE *out, const char *macro, const perp_finding *list, int n, bool lead)
{
  int said = 0;
  fprintf(out, "\\newcommand{\\%s}{%%\n", macro);
  for (int i = 0; i < n; i++) {
    if (list[i].lead != lead) continue;
    if (said++ == 0) fputs("\\begin{itemize}\\sloppy\n", out);
    perp_tex(out, "\\item %s\n", list[i].text);
  }
  fputs(said > 0 ? "\\end{itemize}}\n" : "}\n", out);
}

int perp_page_tex_answers(perp_page *page, FILE *out)
{
  const perp_answer *answer;
  const perp_finding *finding;
  const int n = perp_results_answers(page->ctx, page->results, &answer),
            n_findings = perp_results_findings(page->ctx, page->results, &finding);
  fputs("% What was found, the most telling first: \\perpFindings has the first sentences, "
        "\\perpMoreFindings the others.\n",
        out);
  tex_findings(out, "perpFindings", finding, n_findings, true);
  tex_findings(out, "perpMoreFindings", finding, n_findings, false);
  fputs("% Answers: \\perpAnswers has all in words, \\perpAnswerTable{1} the comparisons of the "
        "first as a table that\n% fits a column of 8.4 cm; \\usepackage{array}.\n"
        "\\providecommand{\\perpbest}[1]{{\\boldmath\\textbf{#1}}}\n"
        "\\newcommand{\\perpAnswerTable}[1]{\\ifcsname perp@answers@#1\\endcsname\\csname "
        "perp@answers@#1\\endcsname\\else\\errmessage{no table of answer #1}\\fi}\n"
        "\\newcommand{\\perpAnswers}{%\n\\begin{itemize}\\sloppy\n",
        out);
  for (int i = 0; i < n; i++) {
    fputs("\\item ", out);
    if (answer[i].question->ask[0] != '\0') perp_tex(out, "\\emph{%s} ", answer[i].question->ask);
    perp_tex(out, "%s", answer[i].text);
    if (answer[i].basis[0] != '\0') perp_tex(out, " %s", answer[i].basis);
    if (answer[i].note[0] != '\0') perp_tex(out, " %s", answer[i].note);
    fputc('\n', out);
  }
  const char *left_out = perp_results_left_out(page->results);
  if (left_out[0] != '\0') perp_tex(out, "\\item %s\n", left_out);
  if (n == 0 && left_out[0] == '\0') fputs("\\item none\n", out);
  fputs("\\end{itemize}}\n", out);
  for (int i = 0; i < n; i++) {
    if (answer[i].n_lines == 0 || answer[i].n_who < 2) continue;
    fprintf(out, "\\expandafter\\def\\csname perp@answers@%d\\endcsname{{%%\n", i + 1);
    tex_one(out, page, &answer[i]);
    fputs("}}\n", out);
  }
  fputc('\n', out);
  return n;
}
