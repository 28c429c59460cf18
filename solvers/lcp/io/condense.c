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
static bool condense_parts(const condense_job *job, condense_bodies *bodies, int *parent,
                           int *number)
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
  bodies->nb = 0;
  for (int i = 0; i < dof; i++)
    if (number[i] == 0) number[i] = bodies->nb++;
  for (int b = 0; b <= bodies->nb; b++) bodies->bptr[b] = bodies->mptr[b] = 0;
  for (int i = 0; i < dof; i++) {
    const int b = bodies->body[i] = number[condense_root(parent, i)];
    if (b < 0) continue;
    bodies->place[i] = bodies->bptr[b + 1]++;
    if (bodies->place[i] >= MOST_BODY) return false;
  }
  for (int b = 0; b < bodies->nb; b++) {
    const int d = bodies->bptr[b + 1];
    bodies->mptr[b + 1] = bodies->mptr[b] + d * d;
    bodies->bptr[b + 1] = bodies->bptr[b] + d;
  }
  bodies->squares = (size_t)bodies->mptr[bodies->nb];
  return true;
}

/* M and its inverse by blocks.  False: a block that is not symmetric positive definite. */
static bool condense_masses(const condense_job *job, condense_bodies *bodies)
{
  const perp_io_matrix *matrix = job->M;
  memset(bodies->M, 0, bodies->squares * sizeof *bodies->M);
  for (int j = 0; j < job->dof; j++) {
    const int b = bodies->body[j];
    if (b < 0) continue;
    const int d = bodies->bptr[b + 1] - bodies->bptr[b];
    for (int k = matrix->start[j]; k < matrix->start[j + 1]; k++)
      bodies->M[bodies->mptr[b] + bodies->place[matrix->row[k]] + bodies->place[j] * d] =
          matrix->value[k];
  }
  memcpy(bodies->Minv, bodies->M, bodies->squares * sizeof *bodies->M);
  for (int b = 0; b < bodies->nb; b++) {
    const int d = bodies->bptr[b + 1] - bodies->bptr[b];
    const double *M_b = bodies->M + bodies->mptr[b];
    double *W = bodies->Minv + bodies->mptr[b];
    for (int j = 0; j < d; j++)
      for (int i = 0; i < j; i++)
        if (M_b[i + j * d] != M_b[j + i * d]) return false;
    bool diagonal = true;
    for (int k = 0; k < d * d; k++) diagonal = diagonal && (k % (d + 1) == 0 || M_b[k] == 0);
    bodies->diag[b] = diagonal;
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
static void condense_touch(const condense_job *job, condense_bodies *bodies)
{
  const perp_io_matrix *matrix = job->H;
  for (int b = 0; b < bodies->nb; b++) bodies->seen[b] = -1;
  bodies->subs = bodies->numbers = 0;
  for (int c = 0; c < job->nc; c++) {
    bodies->jptr[c] = bodies->subs;
    for (int j = job->dim * c; j < job->dim * (c + 1); j++)
      for (int k = matrix->start[j]; k < matrix->start[j + 1]; k++) {
        const int b = bodies->body[matrix->row[k]];
        if (bodies->seen[b] == c) continue;
        bodies->seen[b] = c;
        if (bodies->jblk != NULL) {
          bodies->jblk[bodies->subs] = b;
          bodies->joff[bodies->subs] = bodies->numbers;
        }
        bodies->subs++;
        bodies->numbers += job->dim * (bodies->bptr[b + 1] - bodies->bptr[b]);
      }
  }
  bodies->jptr[job->nc] = bodies->subs;
  if (bodies->joff != NULL) bodies->joff[bodies->subs] = bodies->numbers;
}

/* J = H' by sub-matrices, and q = b + J M^-1 f. */
static void condense_rows(const condense_job *job, condense_bodies *bodies, double *v, double *q)
{
  const perp_io_matrix *matrix = job->H;
  memset(bodies->J, 0, (size_t)bodies->numbers * sizeof *bodies->J);
  for (int c = 0; c < job->nc; c++)
    for (int j = job->dim * c; j < job->dim * (c + 1); j++)
      for (int k = matrix->start[j]; k < matrix->start[j + 1]; k++) {
        const int i = matrix->row[k];
        int s = bodies->jptr[c];
        while (bodies->jblk[s] != bodies->body[i]) s++;
        bodies->J[bodies->joff[s] + (j - job->dim * c) + bodies->place[i] * job->dim] =
            matrix->value[k];
      }
  double *g = v + job->dof; /* f by blocks */
  for (int i = 0; i < job->dof; i++)
    if (bodies->body[i] >= 0) g[bodies->bptr[bodies->body[i]] + bodies->place[i]] = job->f[i];
  for (int i = 0; i < job->dof; i++) {
    const int b = bodies->body[i];
    if (b < 0) continue;
    const int d = bodies->bptr[b + 1] - bodies->bptr[b];
    const double *W = bodies->Minv + bodies->mptr[b] + (size_t)bodies->place[i] * (size_t)d;
    double sum = 0;
    for (int k = 0; k < d; k++) sum += W[k] * g[bodies->bptr[b] + k];
    v[i] = sum;
  }
  for (int j = 0; j < job->m; j++) {
    q[j] = job->b[j];
    for (int k = matrix->start[j]; k < matrix->start[j + 1]; k++)
      q[j] += matrix->value[k] * v[matrix->row[k]];
  }
}

/* The factored problem of bodies, or its dense form where that is less work. */
static perp_status condense_finish(const condense_job *job, condense_bodies *bodies,
                                   const double *q)
{
  perp_ctx *ctx = job->ctx;
  for (int c = 0; c <= job->nc; c++) bodies->cptr[c] = job->dim * c;
  perp_blocks_transpose(bodies->nb, job->nc, bodies->jptr, bodies->jblk, bodies->jgrp, bodies->tptr,
                        bodies->tsub);
  const perp_blocks blocks = { .nv = bodies->bptr[bodies->nb],
                               .m = job->m,
                               .nb = bodies->nb,
                               .nc = job->nc,
                               .bptr = bodies->bptr,
                               .mptr = bodies->mptr,
                               .cptr = bodies->cptr,
                               .jptr = bodies->jptr,
                               .jblk = bodies->jblk,
                               .joff = bodies->joff,
                               .jgrp = bodies->jgrp,
                               .tptr = bodies->tptr,
                               .tsub = bodies->tsub,
                               .M = bodies->M,
                               .Minv = bodies->Minv,
                               .J = bodies->J,
                               .diag = bodies->diag };
  PERP_TRY(perp_lcp_friction_problem(ctx, job->dim, job->nc, NULL, q, job->mu, job->out));
  PERP_TRY(perp_lcp_problem_set_blocks(ctx, job->out, &blocks));
  if (2.0 * bodies->numbers < (double)job->m * job->m) return PERP_OK;
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
  condense_bodies bodies = { 0 };
  perp_status status = PERP_OK;
  int *index = malloc((7 * dof + 2 * nc + 8) * sizeof *index), *more = NULL;
  double *numbers = NULL;
  *fits = false;
  if (index == NULL) return PERP_FAIL(job->ctx, PERP_ERR_NOMEM, "no memory for %zu unknowns", dof);
  bodies.body = index;
  bodies.place = bodies.body + dof;
  bodies.bptr = bodies.place + dof;
  bodies.mptr = bodies.bptr + dof + 1;
  bodies.tptr = bodies.mptr + dof + 1;
  bodies.seen = bodies.tptr + dof + 1;
  bodies.cptr = bodies.seen + dof;
  bodies.jptr = bodies.cptr + nc + 1;
  if (condense_parts(job, &bodies, bodies.tptr, bodies.seen)) {
    condense_touch(job, &bodies);
    const size_t subs = (size_t)bodies.subs + 1;
    more = malloc(4 * subs * sizeof *more + (size_t)bodies.nb + 1);
    numbers = malloc((2 * bodies.squares + (size_t)bodies.numbers + 2 * dof + (size_t)job->m + 1) *
                     sizeof *numbers);
    if (more == NULL || numbers == NULL)
      status = PERP_FAIL(job->ctx, PERP_ERR_NOMEM, "no memory for %d bodies", bodies.nb);
    else {
      bodies.jblk = more;
      bodies.joff = bodies.jblk + subs;
      bodies.jgrp = bodies.joff + subs;
      bodies.tsub = bodies.jgrp + subs;
      bodies.diag = (unsigned char *)(bodies.tsub + subs);
      bodies.M = numbers;
      bodies.Minv = bodies.M + bodies.squares;
      bodies.J = bodies.Minv + bodies.squares;
      double *v = bodies.J + bodies.numbers, *q = v + 2 * dof;
      *fits = condense_masses(job, &bodies);
      if (*fits) {
        condense_touch(job, &bodies);
        condense_rows(job, &bodies, v, q);
        status = condense_finish(job, &bodies, q);
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

static bool condense_symmetric(const perp_io_matrix *matrix)
{
  const int n = matrix->columns;
  int *index = malloc(((size_t)n + 1 + (size_t)matrix->start[n]) * sizeof *index);
  double *turned = malloc((size_t)matrix->start[n] * sizeof *turned + 1);
  bool symmetric = false;
  if (index != NULL && turned != NULL) {
    perp_columns_turn(n, matrix->start, matrix->row, matrix->value, index, index + n + 1, turned);
    symmetric = perp_columns_skew(&(perp_columns){ n, matrix->start, matrix->row, matrix->value,
                                                   index, index + n + 1, turned }) == 0;
  }
  free(index);
  free(turned);
  return symmetric;
}

static bool condense_cholesky(const perp_io_matrix *matrix, condense_factor *factor)
{
  cholmod_sparse sparse = { .nrow = (size_t)matrix->rows,
                            .ncol = (size_t)matrix->columns,
                            .nzmax = (size_t)matrix->start[matrix->columns],
                            .p = matrix->start,
                            .i = matrix->row,
                            .x = matrix->value,
                            .stype = -1,
                            .itype = CHOLMOD_INT,
                            .xtype = CHOLMOD_REAL,
                            .dtype = CHOLMOD_DOUBLE,
                            .sorted = 1,
                            .packed = 1 };
  factor->cm.print = 0;
  factor->cm.try_catch = 1;
  factor->L = cholmod_analyze(&sparse, &factor->cm);
  return factor->L != NULL && cholmod_factorize(&sparse, factor->L, &factor->cm) &&
         factor->cm.status == CHOLMOD_OK && factor->L->minor == factor->L->n;
}

static bool condense_lu(const perp_io_matrix *matrix, condense_factor *factor)
{
  klu_defaults(&factor->kc);
  factor->symbolic = klu_analyze(matrix->columns, matrix->start, matrix->row, &factor->kc);
  if (factor->symbolic == NULL) return false;
  factor->numeric = klu_factor(matrix->start, matrix->row, matrix->value, factor->symbolic,
                               &factor->kc);
  return factor->numeric != NULL;
}

/* x [dof] = M^-1 x. */
static bool condense_solve(condense_factor *factor, int dof, double *x)
{
  if (factor->L == NULL)
    return klu_solve(factor->symbolic, factor->numeric, dof, 1, x, &factor->kc) != 0;
  cholmod_dense B = { .nrow = (size_t)dof,
                      .ncol = 1,
                      .nzmax = (size_t)dof,
                      .d = (size_t)dof,
                      .x = x,
                      .xtype = CHOLMOD_REAL,
                      .dtype = CHOLMOD_DOUBLE };
  cholmod_dense *dense = cholmod_solve(CHOLMOD_A, factor->L, &B, &factor->cm);
  if (dense == NULL) return false;
  memcpy(x, dense->x, (size_t)dof * sizeof *x);
  cholmod_free_dense(&dense, &factor->cm);
  return true;
}

static double condense_dot(const perp_io_matrix *matrix, int j, const double *x)
{
  double sum = 0;
  for (int k = matrix->start[j]; k < matrix->start[j + 1]; k++)
    sum += matrix->value[k] * x[matrix->row[k]];
  return sum;
}

/* W and q column by column; x [dof], q [m]. */
static perp_status condense_columns(const condense_job *job, condense_factor *factor,
                                    perp_io_matrix *W, double *x, double *q)
{
  const perp_io_matrix *H = job->H;
  bool good = true;
  memcpy(x, job->f, (size_t)job->dof * sizeof *x);
  good = condense_solve(factor, job->dof, x);
  for (int i = 0; i < job->m; i++) q[i] = job->b[i] + condense_dot(H, i, x);
  for (int j = 0; j < job->m && good; j++) {
    memset(x, 0, (size_t)job->dof * sizeof *x);
    for (int k = H->start[j]; k < H->start[j + 1]; k++) x[H->row[k]] = H->value[k];
    good = condense_solve(factor, job->dof, x);
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
  condense_factor factor = { 0 };
  perp_io_matrix matrix;
  perp_io_matrix_open(job->m, job->m, &matrix);
  double *x = calloc((size_t)job->dof + (size_t)job->m + 1, sizeof *x), *q = x + job->dof;
  perp_status status = PERP_OK;
  cholmod_start(&factor.cm);
  if (x == NULL) status = PERP_FAIL(job->ctx, PERP_ERR_NOMEM, "no memory for %d rows", job->m);
  if (status == PERP_OK && job->dof > 0 &&
      !(condense_symmetric(job->M) && condense_cholesky(job->M, &factor))) {
    cholmod_free_factor(&factor.L, &factor.cm);
    if (!condense_lu(job->M, &factor))
      status = PERP_FAIL(job->ctx, PERP_ERR_FORMAT, "M is singular");
  }
  if (status == PERP_OK) status = condense_columns(job, &factor, &matrix, x, q);
  if (status == PERP_OK)
    status = perp_lcp_friction_problem(job->ctx, job->dim, job->nc, &matrix, q, job->mu, job->out);
  cholmod_free_factor(&factor.L, &factor.cm);
  cholmod_finish(&factor.cm);
  klu_free_numeric(&factor.numeric, &factor.kc);
  klu_free_symbolic(&factor.symbolic, &factor.kc);
  perp_io_matrix_free(&matrix);
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
