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

static void write_number(FILE *f, double v)
{
  char text[40];
  perp_format_real(v, text, sizeof text);
  fputs(text, f);
}

static void write_vector(FILE *f, const char *name, const double *x, int n)
{
  fprintf(f, "%s\n", name);
  for (int i = 0; i < n; i++) {
    write_number(f, x[i]);
    fputc('\n', f);
  }
}

/* By rows, of a matrix that is kept by columns. */
static void write_matrix(FILE *f, int rows, int columns, const double *a, size_t ld)
{
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      write_number(f, a[(size_t)i + (size_t)j * ld]);
      fputc(j + 1 < columns ? ' ' : '\n', f);
    }
}

static int write_count(int n, const int *index)
{
  int count = 0;
  for (int i = 0; i < n; i++) count += index[i] >= 0;
  return count;
}

/* Dense when more than a third of the entries are not zero. */
static void write_A(FILE *f, const perp_lcp *p)
{
  int n = p->n;
  size_t ld = (size_t)p->lda;
  long long entries = 0, lower = 0;
  bool symmetric = perp_lcp_asymmetry(p) == 0;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      bool some = p->A[(size_t)i + (size_t)j * ld] != 0;
      entries += some;
      lower += some && i >= j;
    }
  if (symmetric) entries = lower;
  if (3 * entries > (long long)n * n || entries > INT_MAX) {
    fprintf(f, "A dense\n");
    write_matrix(f, n, n, p->A, ld);
    return;
  }
  fprintf(f, "A %s %lld\n", symmetric ? "symmetric" : "coordinate", entries);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < (symmetric ? i + 1 : n); j++) {
      double v = p->A[(size_t)i + (size_t)j * ld];
      if (v == 0) continue;
      fprintf(f, "%d %d ", i, j);
      write_number(f, v);
      fputc('\n', f);
    }
}

/* The same numbers that write_A would write, of a sparse A. */
static void write_sparse(FILE *f, const perp_columns *C)
{
  const bool symmetric = perp_columns_skew(C) == 0;
  int entries = 0;
  for (int i = 0; i < C->n; i++)
    for (int k = C->rstart[i]; k < C->rstart[i + 1]; k++) entries += !symmetric || C->col[k] <= i;
  fprintf(f, "A %s %d\n", symmetric ? "symmetric" : "coordinate", entries);
  for (int i = 0; i < C->n; i++)
    for (int k = C->rstart[i]; k < C->rstart[i + 1]; k++) {
      if (symmetric && C->col[k] > i) continue;
      fprintf(f, "%d %d ", i, C->col[k]);
      write_number(f, C->rvalue[k]);
      fputc('\n', f);
    }
}

static void write_factored(FILE *f, const perp_blocks *F)
{
  if (F->s != NULL) write_vector(f, "softness", F->s, F->m);
  fprintf(f, "factored %d %d\n", F->nb, F->nc);
  for (int b = 0; b < F->nb; b++) {
    int d = F->bptr[b + 1] - F->bptr[b];
    fprintf(f, "%d\n", d);
    write_matrix(f, d, d, F->Minv + F->mptr[b], (size_t)d);
  }
  for (int c = 0; c < F->nc; c++) {
    int r = F->cptr[c + 1] - F->cptr[c];
    fprintf(f, "%d %d\n", r, F->jptr[c + 1] - F->jptr[c]);
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++) {
      int d = F->bptr[F->jblk[k] + 1] - F->bptr[F->jblk[k]];
      fprintf(f, "%d\n", F->jblk[k]);
      write_matrix(f, r, d, F->J + F->joff[k], (size_t)r);
    }
  }
}

perp_status perp_lcp_write(perp_ctx *ctx, const perp_lcp_problem *q, FILE *f)
{
  const perp_lcp *p = &q->p;
  int n = p->n, count = 0;
  fprintf(f, "perp-lcp 1\n");
  if (q->family[0]) fprintf(f, "family %s\n", q->family);
  if (q->provenance != NULL) fprintf(f, "provenance %s\n", q->provenance);
  if (q->classes != 0) {
    fprintf(f, "classes");
    for (int k = 0; perp_lcp_class_names[k].name != NULL; k++)
      if (q->classes & perp_lcp_class_names[k].bit) fprintf(f, " %s", perp_lcp_class_names[k].name);
    fputc('\n', f);
  }
  const perp_lcp_sequence *s = &q->sequence;
  if (s->name[0]) fprintf(f, "sequence %d %d %s\n", s->number, s->of, s->name);
  fprintf(f, "n %d\n", n);
  if (p->A != NULL) write_A(f, p);
  if (p->C != NULL) write_sparse(f, p->C);
  if (p->F != NULL) write_factored(f, p->F);
  write_vector(f, "b", p->b, n);
  if (p->lo != NULL) write_vector(f, "lo", p->lo, n);
  if (p->hi != NULL) write_vector(f, "hi", p->hi, n);
  if (p->fric_of != NULL) {
    fprintf(f, "friction %d\n", write_count(n, p->fric_of));
    for (int i = 0; i < n; i++)
      if (p->fric_of[i] >= 0) {
        fprintf(f, "%d %d ", i, p->fric_of[i]);
        write_number(f, p->mu[i]);
        fputc('\n', f);
      }
  }
  if (p->cone != NULL) {
    for (int i = 0; i < n; i++) count += p->cone[i] != 0;
    fprintf(f, "cone %d\n", count);
    for (int i = 0; i < n; i++)
      if (p->cone[i]) fprintf(f, "%d\n", i);
  }
  if (p->unit != NULL) write_vector(f, "unit", p->unit, n);
  if (p->contact_of != NULL) {
    fprintf(f, "contact %d\n", write_count(n, p->contact_of));
    for (int i = 0; i < n; i++)
      if (p->contact_of[i] >= 0) fprintf(f, "%d %d\n", i, p->contact_of[i]);
  }
  if (p->frozen) fprintf(f, "frozen\n");
  if (q->solution != NULL) write_vector(f, "solution", q->solution, n);
  if (s->number > 0) {
    fprintf(f, "before %d %d\n", s->rows, s->n);
    for (int k = 0; k < s->n; k++) {
      fprintf(f, "%d %d ", s->carry[k].to, s->carry[k].from);
      write_number(f, s->carry[k].c);
      fputc('\n', f);
    }
  }
  fprintf(f, "end\n");
  if (ferror(f)) return PERP_FAIL(ctx, PERP_ERR_IO, "writing failed");
  return PERP_OK;
}
