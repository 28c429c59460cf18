/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Global friction problems, M v = H r + f, u = H'v + b, as u = W r + q with W = H'M^-1 H: factored
 * where M is made of bodies, else formed by a sparse factorization of M. */
#include "solvers/lcp/io/io_matrix.h"
#include "solvers/lcp/lcp_private.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/cholmod.h>
#include <suitesparse/klu.h>

/* Unknowns of a body at most: a larger block is no body, and a sparse factorization pays. */
enum { MOST_BODY = 64 };

typedef struct condense_job {
  perp_ctx *ctx;
  int dim, nc, dof, m;
  const perp_io_matrix *M, *H;
  const double *f, *b, *mu;
  perp_lcp_problem *out;
} condense_job;

/* ---- bodies ---- */

typedef struct condense_bodies {
  int *body, *place; /* [dof] block of an unknown, -1 none; its place there */
  int nb, subs, numbers;
  size_t squares; /* numbers of all blocks of M */
  int *bptr, *mptr, *cptr, *jptr, *jblk, *joff, *jgrp, *tptr, *tsub;
  int *seen; /* [nb] last contact that touches a block */
  double *M, *Minv, *J;
  unsigned char *diag;
} condense_bodies;

static int condense_root(int *parent, int i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* Connected parts of M that H touches become blocks.  parent, number [dof]: scratch.  False: one is
 * too large. */
static bool condense_parts(const condense_job *job, condense_bodies *B, int *parent, int *number)
{
  const perp_io_matrix *M = job->M, *H = job->H;
  const int dof = job->dof;
  for (int i = 0; i < dof; i++) {
    parent[i] = i;
    number[i] = -1;
  }
  for (int j = 0; j < dof; j++)
    for (int k = M->start[j]; k < M->start[j + 1]; k++)
      parent[condense_root(parent, M->row[k])] = condense_root(parent, j);
  for (int k = 0; k < H->start[job->m]; k++) number[condense_root(parent, H->row[k])] = 0;
  B->nb = 0;
  for (int i = 0; i < dof; i++)
    if (number[i] == 0) number[i] = B->nb++;
  for (int b = 0; b <= B->nb; b++) B->bptr[b] = B->mptr[b] = 0;
  for (int i = 0; i < dof; i++) {
    const int b = B->body[i] = number[condense_root(parent, i)];
    if (b < 0) continue;
    B->place[i] = B->bptr[b + 1]++;
    if (B->place[i] >= MOST_BODY) return false;
  }
  for (int b = 0; b < B->nb; b++) {
    const int d = B->bptr[b + 1];
    B->mptr[b + 1] = B->mptr[b] + d * d;
    B->bptr[b + 1] = B->bptr[b] + d;
  }
  B->squares = (size_t)B->mptr[B->nb];
  return true;
}

/* M and its inverse by blocks.  False: a block that is not symmetric positive definite. */
static bool condense_masses(const condense_job *job, condense_bodies *B)
{
  const perp_io_matrix *M = job->M;
  memset(B->M, 0, B->squares * sizeof *B->M);
  for (int j = 0; j < job->dof; j++) {
    const int b = B->body[j];
    if (b < 0) continue;
    const int d = B->bptr[b + 1] - B->bptr[b];
    for (int k = M->start[j]; k < M->start[j + 1]; k++)
      B->M[B->mptr[b] + B->place[M->row[k]] + B->place[j] * d] = M->value[k];
  }
  memcpy(B->Minv, B->M, B->squares * sizeof *B->M);
  for (int b = 0; b < B->nb; b++) {
    const int d = B->bptr[b + 1] - B->bptr[b];
    const double *M_b = B->M + B->mptr[b];
    double *W = B->Minv + B->mptr[b];
    for (int j = 0; j < d; j++)
      for (int i = 0; i < j; i++)
        if (M_b[i + j * d] != M_b[j + i * d]) return false;
    bool diagonal = true;
    for (int k = 0; k < d * d; k++) diagonal = diagonal && (k % (d + 1) == 0 || M_b[k] == 0);
    B->diag[b] = diagonal;
    for (int k = 0; diagonal && k < d; k++) W[k * (d + 1)] = 1 / M_b[k * (d + 1)];
    for (int k = 0; diagonal && k < d; k++)
      if (!(M_b[k * (d + 1)] > 0 && isfinite(W[k * (d + 1)]))) return false;
    if (diagonal) continue;
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', d, W, d) != 0 ||
        LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', d, W, d) != 0)
      return false;
    for (int j = 0; j < d; j++)
      for (int i = 0; i < j; i++) W[i + j * d] = W[j + i * d];
    for (int k = 0; k < d * d; k++)
      if (!isfinite(W[k])) return false;
  }
  return true;
}

/* Which blocks each contact touches: jptr, and, where they are there, jblk and joff. */
static void condense_touch(const condense_job *job, condense_bodies *B)
{
  const perp_io_matrix *H = job->H;
  for (int b = 0; b < B->nb; b++) B->seen[b] = -1;
  B->subs = B->numbers = 0;
  for (int c = 0; c < job->nc; c++) {
    B->jptr[c] = B->subs;
    for (int j = job->dim * c; j < job->dim * (c + 1); j++)
      for (int k = H->start[j]; k < H->start[j + 1]; k++) {
        const int b = B->body[H->row[k]];
        if (B->seen[b] == c) continue;
        B->seen[b] = c;
        if (B->jblk != NULL) {
          B->jblk[B->subs] = b;
          B->joff[B->subs] = B->numbers;
        }
        B->subs++;
        B->numbers += job->dim * (B->bptr[b + 1] - B->bptr[b]);
      }
  }
  B->jptr[job->nc] = B->subs;
  if (B->joff != NULL) B->joff[B->subs] = B->numbers;
}

/* J = H' by sub-matrices, and q = b + J M^-1 f. */
static void condense_rows(const condense_job *job, condense_bodies *B, double *v, double *q)
{
  const perp_io_matrix *H = job->H;
  memset(B->J, 0, (size_t)B->numbers * sizeof *B->J);
  for (int c = 0; c < job->nc; c++)
    for (int j = job->dim * c; j < job->dim * (c + 1); j++)
      for (int k = H->start[j]; k < H->start[j + 1]; k++) {
        const int i = H->row[k];
        int s = B->jptr[c];
        while (B->jblk[s] != B->body[i]) s++;
        B->J[B->joff[s] + (j - job->dim * c) + B->place[i] * job->dim] = H->value[k];
      }
  double *g = v + job->dof; /* f by blocks */
  for (int i = 0; i < job->dof; i++)
    if (B->body[i] >= 0) g[B->bptr[B->body[i]] + B->place[i]] = job->f[i];
  for (int i = 0; i < job->dof; i++) {
    const int b = B->body[i];
    if (b < 0) continue;
    const int d = B->bptr[b + 1] - B->bptr[b];
    const double *W = B->Minv + B->mptr[b] + (size_t)B->place[i] * (size_t)d;
    double sum = 0;
    for (int k = 0; k < d; k++) sum += W[k] * g[B->bptr[b] + k];
    v[i] = sum;
  }
  for (int j = 0; j < job->m; j++) {
    q[j] = job->b[j];
    for (int k = H->start[j]; k < H->start[j + 1]; k++) q[j] += H->value[k] * v[H->row[k]];
  }
}

/* The factored problem of B, or its dense form where that is less work. */
static perp_status condense_finish(const condense_job *job, condense_bodies *B, const double *q)
{
  perp_ctx *ctx = job->ctx;
  for (int c = 0; c <= job->nc; c++) B->cptr[c] = job->dim * c;
  perp_blocks_transpose(B->nb, job->nc, B->jptr, B->jblk, B->jgrp, B->tptr, B->tsub);
  const perp_blocks F = { .nv = B->bptr[B->nb],
                          .m = job->m,
                          .nb = B->nb,
                          .nc = job->nc,
                          .bptr = B->bptr,
                          .mptr = B->mptr,
                          .cptr = B->cptr,
                          .jptr = B->jptr,
                          .jblk = B->jblk,
                          .joff = B->joff,
                          .jgrp = B->jgrp,
                          .tptr = B->tptr,
                          .tsub = B->tsub,
                          .M = B->M,
                          .Minv = B->Minv,
                          .J = B->J,
                          .diag = B->diag };
  PERP_TRY(perp_lcp_friction_problem(ctx, job->dim, job->nc, NULL, q, job->mu, job->out));
  PERP_TRY(perp_lcp_problem_set_blocks(ctx, job->out, &F));
  if (2.0 * B->numbers < (double)job->m * job->m) return PERP_OK;
  perp_lcp_problem dense;
  PERP_TRY(perp_lcp_problem_form(ctx, job->out, &dense));
  perp_lcp_problem_free(job->out);
  *job->out = dense;
  return PERP_OK;
}

/* *fits: M is made of bodies. */
static perp_status condense_by_bodies(const condense_job *job, bool *fits)
{
  const size_t dof = (size_t)job->dof, nc = (size_t)job->nc;
  condense_bodies B = { 0 };
  perp_status status = PERP_OK;
  int *index = malloc((7 * dof + 2 * nc + 8) * sizeof *index), *more = NULL;
  double *numbers = NULL;
  *fits = false;
  if (index == NULL) return PERP_FAIL(job->ctx, PERP_ERR_NOMEM, "no memory for %zu unknowns", dof);
  B.body = index;
  B.place = B.body + dof;
  B.bptr = B.place + dof;
  B.mptr = B.bptr + dof + 1;
  B.tptr = B.mptr + dof + 1;
  B.seen = B.tptr + dof + 1;
  B.cptr = B.seen + dof;
  B.jptr = B.cptr + nc + 1;
  if (condense_parts(job, &B, B.tptr, B.seen)) {
    condense_touch(job, &B);
    const size_t subs = (size_t)B.subs + 1;
    more = malloc(4 * subs * sizeof *more + (size_t)B.nb + 1);
    numbers = malloc((2 * B.squares + (size_t)B.numbers + 2 * dof + (size_t)job->m + 1) *
                     sizeof *numbers);
    if (more == NULL || numbers == NULL)
      status = PERP_FAIL(job->ctx, PERP_ERR_NOMEM, "no memory for %d bodies", B.nb);
    else {
      B.jblk = more;
      B.joff = B.jblk + subs;
      B.jgrp = B.joff + subs;
      B.tsub = B.jgrp + subs;
      B.diag = (unsigned char *)(B.tsub + subs);
      B.M = numbers;
      B.Minv = B.M + B.squares;
      B.J = B.Minv + B.squares;
      double *v = B.J + B.numbers, *q = v + 2 * dof;
      *fits = condense_masses(job, &B);
      if (*fits) {
        condense_touch(job, &B);
        condense_rows(job, &B, v, q);
        status = condense_finish(job, &B, q);
      }
    }
  }
  free(index);
  free(more);
  free(numbers);
  return status;
}

/* ---- anything else ---- */

/* Solves with M: a Cholesky factor, or LU. */
typedef struct condense_factor {
  cholmod_common cm;
  cholmod_factor *L;
  klu_common kc;
  klu_symbolic *symbolic;
  klu_numeric *numeric;
} condense_factor;

static bool condense_symmetric(const perp_io_matrix *M)
{
  const int n = M->columns;
  int *index = malloc(((size_t)n + 1 + (size_t)M->start[n]) * sizeof *index);
  double *turned = malloc((size_t)M->start[n] * sizeof *turned + 1);
  bool symmetric = false;
  if (index != NULL && turned != NULL) {
    perp_columns_turn(n, M->start, M->row, M->value, index, index + n + 1, turned);
    symmetric = perp_columns_skew(&(perp_columns){ n, M->start, M->row, M->value, index,
                                                   index + n + 1, turned }) == 0;
  }
  free(index);
  free(turned);
  return symmetric;
}

static bool condense_cholesky(const perp_io_matrix *M, condense_factor *f)
{
  cholmod_sparse A = { .nrow = (size_t)M->rows,
                       .ncol = (size_t)M->columns,
                       .nzmax = (size_t)M->start[M->columns],
                       .p = M->start,
                       .i = M->row,
                       .x = M->value,
                       .stype = -1,
                       .itype = CHOLMOD_INT,
                       .xtype = CHOLMOD_REAL,
                       .dtype = CHOLMOD_DOUBLE,
                       .sorted = 1,
                       .packed = 1 };
  f->cm.print = 0;
  f->cm.try_catch = 1;
  f->L = cholmod_analyze(&A, &f->cm);
  return f->L != NULL && cholmod_factorize(&A, f->L, &f->cm) && f->cm.status == CHOLMOD_OK &&
         f->L->minor == f->L->n;
}

static bool condense_lu(const perp_io_matrix *M, condense_factor *f)
{
  klu_defaults(&f->kc);
  f->symbolic = klu_analyze(M->columns, M->start, M->row, &f->kc);
  if (f->symbolic == NULL) return false;
  f->numeric = klu_factor(M->start, M->row, M->value, f->symbolic, &f->kc);
  return f->numeric != NULL;
}

/* x [dof] = M^-1 x. */
static bool condense_solve(condense_factor *f, int dof, double *x)
{
  if (f->L == NULL) return klu_solve(f->symbolic, f->numeric, dof, 1, x, &f->kc) != 0;
  cholmod_dense B = { .nrow = (size_t)dof,
                      .ncol = 1,
                      .nzmax = (size_t)dof,
                      .d = (size_t)dof,
                      .x = x,
                      .xtype = CHOLMOD_REAL,
                      .dtype = CHOLMOD_DOUBLE };
  cholmod_dense *y = cholmod_solve(CHOLMOD_A, f->L, &B, &f->cm);
  if (y == NULL) return false;
  memcpy(x, y->x, (size_t)dof * sizeof *x);
  cholmod_free_dense(&y, &f->cm);
  return true;
}

static double condense_dot(const perp_io_matrix *H, int j, const double *x)
{
  double sum = 0;
  for (int k = H->start[j]; k < H->start[j + 1]; k++) sum += H->value[k] * x[H->row[k]];
  return sum;
}

/* W and q column by column; x [dof], q [m]. */
static perp_status condense_columns(const condense_job *job, condense_factor *f, perp_io_matrix *W,
                                    double *x, double *q)
{
  const perp_io_matrix *H = job->H;
  bool good = true;
  memcpy(x, job->f, (size_t)job->dof * sizeof *x);
  good = condense_solve(f, job->dof, x);
  for (int i = 0; i < job->m; i++) q[i] = job->b[i] + condense_dot(H, i, x);
  for (int j = 0; j < job->m && good; j++) {
    memset(x, 0, (size_t)job->dof * sizeof *x);
    for (int k = H->start[j]; k < H->start[j + 1]; k++) x[H->row[k]] = H->value[k];
    good = condense_solve(f, job->dof, x);
    for (int i = 0; i < job->m && good; i++) {
      const double w = condense_dot(H, i, x);
      if (w != 0) PERP_TRY(perp_io_matrix_add(job->ctx, W, i, j, w, 0));
      good = isfinite(w);
    }
  }
  for (int i = 0; i < job->m; i++) good = good && isfinite(q[i]);
  if (!good) return PERP_FAIL(job->ctx, PERP_ERR_FORMAT, "M is singular");
  return perp_io_matrix_close(job->ctx, W, PERP_TWICE_ADDS, NULL);
}

static perp_status condense_by_factor(const condense_job *job)
{
  condense_factor f = { 0 };
  perp_io_matrix W;
  perp_io_matrix_open(job->m, job->m, &W);
  double *x = calloc((size_t)job->dof + (size_t)job->m + 1, sizeof *x), *q = x + job->dof;
  perp_status status = PERP_OK;
  cholmod_start(&f.cm);
  if (x == NULL) status = PERP_FAIL(job->ctx, PERP_ERR_NOMEM, "no memory for %d rows", job->m);
  if (status == PERP_OK && job->dof > 0 &&
      !(condense_symmetric(job->M) && condense_cholesky(job->M, &f))) {
    cholmod_free_factor(&f.L, &f.cm);
    if (!condense_lu(job->M, &f)) status = PERP_FAIL(job->ctx, PERP_ERR_FORMAT, "M is singular");
  }
  if (status == PERP_OK) status = condense_columns(job, &f, &W, x, q);
  if (status == PERP_OK)
    status = perp_lcp_friction_problem(job->ctx, job->dim, job->nc, &W, q, job->mu, job->out);
  cholmod_free_factor(&f.L, &f.cm);
  cholmod_finish(&f.cm);
  klu_free_numeric(&f.numeric, &f.kc);
  klu_free_symbolic(&f.symbolic, &f.kc);
  perp_io_matrix_free(&W);
  free(x);
  return status;
}

perp_status perp_lcp_condense(perp_ctx *ctx, int dim, int nc, const perp_io_matrix *M,
                              const perp_io_matrix *H, const double *f, const double *b,
                              const double *mu, perp_lcp_problem *out)
{
  const condense_job job = { ctx, dim, nc, M->rows, dim * nc, M, H, f, b, mu, out };
  bool fits;
  PERP_TRY(condense_by_bodies(&job, &fits));
  return fits ? PERP_OK : condense_by_factor(&job);
}
