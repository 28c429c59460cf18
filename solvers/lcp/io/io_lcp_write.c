/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text format of io_lcp.c, written. */
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/io/io_scan.h"

#include <limits.h>
#include <math.h>
#include <string.h>

const perp_lcp_class_name perp_lcp_class_names[] = { { "symmetric", PERP_CLASS_SYMMETRIC },
                                                     { "psd", PERP_CLASS_PSD },
                                                     { "pd", PERP_CLASS_PD },
                                                     { "p", PERP_CLASS_P },
                                                     { "copositive", PERP_CLASS_COPOSITIVE },
                                                     { "z", PERP_CLASS_Z },
                                                     { "bimatrix", PERP_CLASS_BIMATRIX },
                                                     { "solvable", PERP_CLASS_SOLVABLE },
                                                     { "unsolvable", PERP_CLASS_UNSOLVABLE },
                                                     { "degenerate", PERP_CLASS_DEGENERATE },
                                                     { 0 } };

static void write_number(FILE *file, double v)
{
  char text[40];
  perp_format_real(v, text, sizeof text);
  fputs(text, file);
}

static void write_vector(FILE *file, const char *name, const double *x, int n)
{
  fprintf(file, "%s\n", name);
  for (int i = 0; i < n; i++) {
    write_number(file, x[i]);
    fputc('\n', file);
  }
}

/* By rows, of a matrix that is kept by columns. */
static void write_matrix(FILE *file, int rows, int columns, const double *a, size_t ld)
{
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      write_number(file, a[(size_t)i + (size_t)j * ld]);
      fputc(j + 1 < columns ? ' ' : '\n', file);
    }
}

static int write_count(int n, const int *index)
{
  int count = 0;
  for (int i = 0; i < n; i++) count += index[i] >= 0;
  return count;
}

/* Dense when more than a third of the entries are not zero. */
static void write_A(FILE *file, const perp_lcp *lcp)
{
  int n = lcp->n;
  size_t ld = (size_t)lcp->lda;
  long long entries = 0, lower = 0;
  bool symmetric = perp_lcp_asymmetry(lcp) == 0;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      bool some = lcp->A[(size_t)i + (size_t)j * ld] != 0;
      entries += some;
      lower += some && i >= j;
    }
  if (symmetric) entries = lower;
  if (3 * entries > (long long)n * n || entries > INT_MAX) {
    fprintf(file, "A dense\n");
    write_matrix(file, n, n, lcp->A, ld);
    return;
  }
  fprintf(file, "A %s %lld\n", symmetric ? "symmetric" : "coordinate", entries);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < (symmetric ? i + 1 : n); j++) {
      double v = lcp->A[(size_t)i + (size_t)j * ld];
      if (v == 0) continue;
      fprintf(file, "%d %d ", i, j);
      write_number(file, v);
      fputc('\n', file);
    }
}

/* The same numbers that write_A would write, of a sparse A. */
static void write_sparse(FILE *file, const perp_columns *columns)
{
  const bool symmetric = perp_columns_skew(columns) == 0;
  int entries = 0;
  for (int i = 0; i < columns->n; i++)
    for (int k = columns->rstart[i]; k < columns->rstart[i + 1]; k++)
      entries += !symmetric || columns->col[k] <= i;
  fprintf(file, "A %s %d\n", symmetric ? "symmetric" : "coordinate", entries);
  for (int i = 0; i < columns->n; i++)
    for (int k = columns->rstart[i]; k < columns->rstart[i + 1]; k++) {
      if (symmetric && columns->col[k] > i) continue;
      fprintf(file, "%d %d ", i, columns->col[k]);
      write_number(file, columns->rvalue[k]);
      fputc('\n', file);
    }
}

static void write_factored(FILE *file, const perp_blocks *blocks)
{
  if (blocks->s != NULL) write_vector(file, "softness", blocks->s, blocks->m);
  fprintf(file, "factored %d %d\n", blocks->nb, blocks->nc);
  for (int b = 0; b < blocks->nb; b++) {
    int d = blocks->bptr[b + 1] - blocks->bptr[b];
    fprintf(file, "%d\n", d);
    write_matrix(file, d, d, blocks->Minv + blocks->mptr[b], (size_t)d);
  }
  for (int c = 0; c < blocks->nc; c++) {
    int r = blocks->cptr[c + 1] - blocks->cptr[c];
    fprintf(file, "%d %d\n", r, blocks->jptr[c + 1] - blocks->jptr[c]);
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      int d = blocks->bptr[blocks->jblk[k] + 1] - blocks->bptr[blocks->jblk[k]];
      fprintf(file, "%d\n", blocks->jblk[k]);
      write_matrix(file, r, d, blocks->J + blocks->joff[k], (size_t)r);
    }
  }
}

perp_status perp_lcp_write(perp_ctx *ctx, const perp_lcp_problem *problem, FILE *file)
{
  const perp_lcp *lcp = &problem->p;
  int n = lcp->n, count = 0;
  fprintf(file, "perp-lcp 1\n");
  if (problem->family[0]) fprintf(file, "family %s\n", problem->family);
  if (problem->provenance != NULL) fprintf(file, "provenance %s\n", problem->provenance);
  if (problem->classes != 0) {
    fprintf(file, "classes");
    for (int k = 0; perp_lcp_class_names[k].name != NULL; k++)
      if (problem->classes & perp_lcp_class_names[k].bit)
        fprintf(file, " %s", perp_lcp_class_names[k].name);
    fputc('\n', file);
  }
  const perp_lcp_sequence *sequence = &problem->sequence;
  if (sequence->name[0])
    fprintf(file, "sequence %d %d %s\n", sequence->number, sequence->of, sequence->name);
  fprintf(file, "n %d\n", n);
  if (lcp->A != NULL) write_A(file, lcp);
  if (lcp->C != NULL) write_sparse(file, lcp->C);
  if (lcp->F != NULL) write_factored(file, lcp->F);
  write_vector(file, "b", lcp->b, n);
  if (lcp->lo != NULL) write_vector(file, "lo", lcp->lo, n);
  if (lcp->hi != NULL) write_vector(file, "hi", lcp->hi, n);
  if (lcp->fric_of != NULL) {
    fprintf(file, "friction %d\n", write_count(n, lcp->fric_of));
    for (int i = 0; i < n; i++)
      if (lcp->fric_of[i] >= 0) {
        fprintf(file, "%d %d ", i, lcp->fric_of[i]);
        write_number(file, lcp->mu[i]);
        fputc('\n', file);
      }
  }
  if (lcp->cone != NULL) {
    for (int i = 0; i < n; i++) count += lcp->cone[i] != 0;
    fprintf(file, "cone %d\n", count);
    for (int i = 0; i < n; i++)
      if (lcp->cone[i]) fprintf(file, "%d\n", i);
  }
  if (lcp->unit != NULL) write_vector(file, "unit", lcp->unit, n);
  if (lcp->contact_of != NULL) {
    fprintf(file, "contact %d\n", write_count(n, lcp->contact_of));
    for (int i = 0; i < n; i++)
      if (lcp->contact_of[i] >= 0) fprintf(file, "%d %d\n", i, lcp->contact_of[i]);
  }
  if (lcp->frozen) fprintf(file, "frozen\n");
  if (problem->solution != NULL) write_vector(file, "solution", problem->solution, n);
  if (sequence->number > 0) {
    fprintf(file, "before %d %d\n", sequence->rows, sequence->n);
    for (int k = 0; k < sequence->n; k++) {
      fprintf(file, "%d %d ", sequence->carry[k].to, sequence->carry[k].from);
      write_number(file, sequence->carry[k].c);
      fputc('\n', file);
    }
  }
  fprintf(file, "end\n");
  if (ferror(file)) return PERP_FAIL(ctx, PERP_ERR_IO, "writing failed");
  return PERP_OK;
}
