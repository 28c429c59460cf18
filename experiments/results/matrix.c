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
static void print_block(const struct matrix *matrix, int from, int to, int width, int name,
                        FILE *out)
{
  fprintf(out, "  %-*s%*s", name, "", ALL, "all");
  for (int f = from; f < to; f++) fprintf(out, "%*c", width, perp_names_letter(f));
  fprintf(out, "\n  %-*s%*s", name, "of", ALL, "");
  for (int f = from; f < to; f++) {
    int most = 0;
    for (int s = 0; s < matrix->solvers.n; s++)
      if (matrix->total[s * matrix->families.n + f] > most)
        most = matrix->total[s * matrix->families.n + f];
    fprintf(out, "%*d", width, most);
  }
  putc('\n', out);
  for (int s = 0; s < matrix->solvers.n; s++) {
    int right = 0, total = 0;
    for (int f = 0; f < matrix->families.n; f++) {
      right += matrix->right[s * matrix->families.n + f];
      total += matrix->total[s * matrix->families.n + f] -
               matrix->unsuited[s * matrix->families.n + f];
    }
    char all[32];
    snprintf(all, sizeof all, "%d/%d", right, total);
    fprintf(out, "  %-*.*s%*s", name, name, matrix->solvers.text[s], ALL, all);
    for (int f = from; f < to; f++) {
      int k = s * matrix->families.n + f;
      if (matrix->right[k] > 0)
        fprintf(out, "%*d", width, matrix->right[k]);
      else
        fprintf(out, "%*s", width,
                matrix->total[k] == 0                     ? ""
                : matrix->unsuited[k] == matrix->total[k] ? "-"
                                                          : ".");
    }
    putc('\n', out);
  }
}

static void print_causes(const struct matrix *matrix, int name, FILE *out)
{
  enum { WIDTH = PERP_TABLE_WIDTH };
  if (matrix->causes.n == 0) return;
  fprintf(out, "\nCauses of failures, with the number of runs\n");
  for (int missed = 0; missed < matrix->solvers.n; missed++) {
    perp_text line = { 0 };
    perp_tally_sort(&matrix->missed[missed]);
    for (int c = 0; c < matrix->missed[missed].n; c++)
      perp_text_add(&line, "%s%d %s", c > 0 ? ", " : "", matrix->missed[missed].count[c].n,
                    matrix->missed[missed].count[c].name);
    if (line.n > 0)
      fprintf(out, "  %-*.*s  %.*s\n", name, name, matrix->solvers.text[missed], WIDTH - name - 4,
              line.s);
    perp_text_free(&line);
    free(matrix->missed[missed].count);
  }
}

static void print_matrix(const struct matrix *matrix, const char *head, FILE *out)
{
  int name = 8, width = 2;
  for (int s = 0; s < matrix->solvers.n; s++)
    name = (int)fmax(name, (double)strlen(matrix->solvers.text[s]));
  if (name > 28) name = 28;
  for (int k = 0; k < matrix->solvers.n * matrix->families.n; k++)
    while (matrix->total[k] >= (width > 3 ? 1000 : width > 2 ? 100 : 10) && width < 5) width++;
  fprintf(out,
          "\nProblems solved, or proved to have no solution, by each %s\n(. none; - outside the "
          "domain of the solver; all: of those inside its domain)\n",
          head);
  int most = (PERP_TABLE_WIDTH - 2 - name - ALL) / width;
  for (int from = 0; from < matrix->families.n; from += most) {
    int to = from + most < matrix->families.n ? from + most : matrix->families.n;
    if (from > 0) putc('\n', out);
    print_block(matrix, from, to, width, name, out);
    perp_names_legend(out, &matrix->families, from, to);
  }
  print_causes(matrix, name, out);
}

bool perp_results_matrix(perp_results *results, FILE *out)
{
  const perp_study *study = results->study;
  int problem = perp_kind_param(study->kind, "problem"), solver = -1;
  for (int a = 0; a < study->n_axes; a++)
    if (study->kind->params[study->axes[a].param].type == PERP_PARAM_PLUGIN)
      solver = study->axes[a].param;
  if (problem < 0 || solver < 0) return false;
  struct matrix matrix = { 0 };
  int n = results->plan.n, *row = perp_pool_alloc(&results->pool, (size_t)n, sizeof *row);
  int *column = perp_pool_alloc(&results->pool, (size_t)n, sizeof *column);
  int *cause = perp_pool_alloc(&results->pool, (size_t)n, sizeof *cause);
  for (int cell = 0; cell < n; cell++) {
    const perp_record *a = &results->record[cell];
    const char *text = results->plan.cells[cell].value[problem].text;
    row[cell] = cause[cell] = -1;
    if (a->status == PERP_CELL_PLANNED || a->status == PERP_CELL_SKIPPED) continue;
    row[cell] = perp_names_index(&results->pool, &matrix.solvers,
                                 results->plan.cells[cell].value[solver].text, -1);
    text = perp_pool_strndup(&results->pool, text, strcspn(text, ":"));
    column[cell] = perp_names_index(&results->pool, &matrix.families, text, -1);
    /* a proof that there is no solution is an answer, too */
    if (a->status != PERP_CELL_OK && strcmp(a->reason, "infeasible") != 0)
      cause[cell] = perp_names_index(&results->pool, &matrix.causes, matrix_failure(a), -1);
  }
  size_t cells = (size_t)matrix.solvers.n * (size_t)matrix.families.n;
  matrix.right = perp_pool_alloc(&results->pool, cells, sizeof *matrix.right);
  matrix.total = perp_pool_alloc(&results->pool, cells, sizeof *matrix.total);
  matrix.unsuited = perp_pool_alloc(&results->pool, cells, sizeof *matrix.unsuited);
  matrix.missed = perp_pool_alloc(&results->pool, (size_t)matrix.solvers.n, sizeof *matrix.missed);
  for (int record = 0; record < n; record++) {
    if (row[record] < 0) continue;
    int k = row[record] * matrix.families.n + column[record];
    matrix.total[k]++;
    matrix.right[k] += cause[record] < 0;
    matrix.unsuited[k] += strcmp(results->record[record].reason, "unsuited") == 0;
    if (cause[record] >= 0)
      perp_tally_add(&matrix.missed[row[record]], matrix.causes.text[cause[record]], cause[record]);
  }
  bool some = matrix.solvers.n > 0 && matrix.families.n <= 52;
  if (some) print_matrix(&matrix, study->kind->params[solver].key, out);
  return some;
}
