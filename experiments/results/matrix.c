/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Studies of problems at the end of a run: who answers which family, and why not, in 80 columns. */
#include "experiments/results/results.h"
#include "experiments/results/tally.h"
#include "experiments/base/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In one word why there is no answer. */
static const char *matrix_failure(const perp_record *record)
{
  bool ran = record->status == PERP_CELL_DIVERGED || record->status == PERP_CELL_MAXITER ||
             record->status == PERP_CELL_UNSOLVED;
  return ran && record->reason[0] != '\0' ? record->reason : perp_cell_status_names[record->status];
}

enum { ALL = 10 }; /* width of the column of totals */

struct matrix {
  perp_names solvers, families, causes;
  int *right, *total, *unsuited; /* [solvers * families] */
  perp_tally *missed;            /* [solvers] causes, numbered in the order in which they came */
};

/* Columns from .. to - 1 of the families; the whole of each solver before them. */
static void print_block(const struct matrix *m, int from, int to, int width, int name, FILE *out)
{
  fprintf(out, "  %-*s%*s", name, "", ALL, "all");
  for (int f = from; f < to; f++) fprintf(out, "%*c", width, perp_names_letter(f));
  fprintf(out, "\n  %-*s%*s", name, "of", ALL, "");
  for (int f = from; f < to; f++) {
    int most = 0;
    for (int s = 0; s < m->solvers.n; s++)
      if (m->total[s * m->families.n + f] > most) most = m->total[s * m->families.n + f];
    fprintf(out, "%*d", width, most);
  }
  putc('\n', out);
  for (int s = 0; s < m->solvers.n; s++) {
    int right = 0, total = 0;
    for (int f = 0; f < m->families.n; f++) {
      right += m->right[s * m->families.n + f];
      total += m->total[s * m->families.n + f] - m->unsuited[s * m->families.n + f];
    }
    char all[32];
    snprintf(all, sizeof all, "%d/%d", right, total);
    fprintf(out, "  %-*.*s%*s", name, name, m->solvers.text[s], ALL, all);
    for (int f = from; f < to; f++) {
      int k = s * m->families.n + f;
      if (m->right[k] > 0)
        fprintf(out, "%*d", width, m->right[k]);
      else
        fprintf(out, "%*s", width,
                m->total[k] == 0                ? ""
                : m->unsuited[k] == m->total[k] ? "-"
                                                : ".");
    }
    putc('\n', out);
  }
}

static void print_causes(const struct matrix *m, int name, FILE *out)
{
  enum { WIDTH = PERP_TABLE_WIDTH };
  if (m->causes.n == 0) return;
  fprintf(out, "\nCauses of failures, with the number of runs\n");
  for (int s = 0; s < m->solvers.n; s++) {
    perp_text line = { 0 };
    perp_tally_sort(&m->missed[s]);
    for (int c = 0; c < m->missed[s].n; c++)
      perp_text_add(&line, "%s%d %s", c > 0 ? ", " : "", m->missed[s].count[c].n,
                    m->missed[s].count[c].name);
    if (line.n > 0)
      fprintf(out, "  %-*.*s  %.*s\n", name, name, m->solvers.text[s], WIDTH - name - 4, line.s);
    perp_text_free(&line);
    free(m->missed[s].count);
  }
}

static void print_matrix(const struct matrix *m, const char *head, FILE *out)
{
  int name = 8, width = 2;
  for (int s = 0; s < m->solvers.n; s++) name = (int)fmax(name, (double)strlen(m->solvers.text[s]));
  if (name > 28) name = 28;
  for (int k = 0; k < m->solvers.n * m->families.n; k++)
    while (m->total[k] >= (width > 3 ? 1000 : width > 2 ? 100 : 10) && width < 5) width++;
  fprintf(out,
          "\nProblems solved, or proved to have no solution, by each %s\n(. none; - outside the "
          "domain of the solver; all: of those inside its domain)\n",
          head);
  int most = (PERP_TABLE_WIDTH - 2 - name - ALL) / width;
  for (int from = 0; from < m->families.n; from += most) {
    int to = from + most < m->families.n ? from + most : m->families.n;
    if (from > 0) putc('\n', out);
    print_block(m, from, to, width, name, out);
    perp_names_legend(out, &m->families, from, to);
  }
  print_causes(m, name, out);
}

bool perp_results_matrix(perp_results *results, FILE *out)
{
  const perp_study *study = results->study;
  int problem = perp_kind_param(study->kind, "problem"), solver = -1;
  for (int a = 0; a < study->n_axes; a++)
    if (study->kind->params[study->axes[a].param].type == PERP_PARAM_PLUGIN)
      solver = study->axes[a].param;
  if (problem < 0 || solver < 0) return false;
  struct matrix m = { 0 };
  int n = results->plan.n, *row = perp_pool_alloc(&results->pool, (size_t)n, sizeof *row);
  int *column = perp_pool_alloc(&results->pool, (size_t)n, sizeof *column);
  int *cause = perp_pool_alloc(&results->pool, (size_t)n, sizeof *cause);
  for (int i = 0; i < n; i++) {
    const perp_record *a = &results->record[i];
    const char *text = results->plan.cells[i].value[problem].text;
    row[i] = cause[i] = -1;
    if (a->status == PERP_CELL_PLANNED || a->status == PERP_CELL_SKIPPED) continue;
    row[i] = perp_names_index(&results->pool, &m.solvers, results->plan.cells[i].value[solver].text,
                              -1);
    text = perp_pool_strndup(&results->pool, text, strcspn(text, ":"));
    column[i] = perp_names_index(&results->pool, &m.families, text, -1);
    /* a proof that there is no solution is an answer, too */
    if (a->status != PERP_CELL_OK && strcmp(a->reason, "infeasible") != 0)
      cause[i] = perp_names_index(&results->pool, &m.causes, matrix_failure(a), -1);
  }
  size_t cells = (size_t)m.solvers.n * (size_t)m.families.n;
  m.right = perp_pool_alloc(&results->pool, cells, sizeof *m.right);
  m.total = perp_pool_alloc(&results->pool, cells, sizeof *m.total);
  m.unsuited = perp_pool_alloc(&results->pool, cells, sizeof *m.unsuited);
  m.missed = perp_pool_alloc(&results->pool, (size_t)m.solvers.n, sizeof *m.missed);
  for (int i = 0; i < n; i++) {
    if (row[i] < 0) continue;
    int k = row[i] * m.families.n + column[i];
    m.total[k]++;
    m.right[k] += cause[i] < 0;
    m.unsuited[k] += strcmp(results->record[i].reason, "unsuited") == 0;
    if (cause[i] >= 0) perp_tally_add(&m.missed[row[i]], m.causes.text[cause[i]], cause[i]);
  }
  bool some = m.solvers.n > 0 && m.families.n <= 52;
  if (some) print_matrix(&m, study->kind->params[solver].key, out);
  return some;
}
