/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops in joint coordinates.  A spanning tree of the joints carries the coordinates; each other
 * joint cuts a loop and remains a constraint C(q) = 0 with J of the maximal coordinates,
 *
 *      H udot + c = tau + S' J' lambda,      J a(udot) + Jdot v = 0,
 *
 * where S takes joint rates to the velocities of the bodies.  H^-1 S' J' is the answer of the
 * articulated-body algorithm to each row as a force on the bodies, and J of the accelerations of
 * that answer is the matrix
 *
 *      A = J S H^-1 S' J',   A lambda = -(J a0 + Jdot v),   a0: accelerations without the loops
 *
 * A is positive semidefinite.  Rows that depend on others wherever the loops are closed (a
 * mechanism in a plane has three for each loop, Bricard's one) are left out: off the loops, as
 * stages of an integrator are, they contradict the others.  How many there are says Cholesky with
 * pivots (LAPACK dpstrf) at the start, and which, after each step.  A singular position is served
 * by
 *
 *      lambda+ = lambda + (A + delta I)^-1 (c - A lambda)      from 0:
 *
 * a force that would need a pivot below delta fades out with it instead of going from all to
 * nothing, and a step is not refused for a jump of the accelerations. R. Featherstone, Rigid Body
 * Dynamics Algorithms, 2008, sections 8.1-8.5. */
#include "models/multibody/reduced_loops.h"
#include "models/multibody/reduced_private.h"

#include <cblas.h>
#include <lapacke.h>

/* delta, of the largest row.  Rows contradict each other above this part of their terms: of a pivot
 * delta, which is the square of a distance from the singular position, the square root. */
static const double DEPENDENT = 1e-11; /* a pivot, of the largest */
static const double SHIFT = 1e-8, CONTRADICTS = 1e-3;
enum { PASSES = 4 };

void perp_reduced_loops_layout(perp_reduced_loops *loops, perp_arena *arena)
{
  const perp_model *model = loops->tree->model;
  const size_t m = (size_t)loops->all, nu = (size_t)loops->tree->nu;
  PERP_INTS(arena, m, &loops->row, &loops->pivot, &loops->order);
  loops->work = PERP_CARVE(arena, double, 2 * m);
  loops->W = PERP_CARVE(arena, double, m *nu);
  PERP_DOUBLES(arena, m * m, &loops->A, &loops->L);
  PERP_DOUBLES(arena, m, &loops->r, &loops->c, &loops->lambda);
  PERP_DOUBLES(arena, model->nv, &loops->a, &loops->f);
  loops->rows = PERP_CARVE(arena, double, model->m);
}

void perp_reduced_loops_start(perp_reduced_loops *loops)
{
  const perp_model *model = loops->tree->model;
  int i = 0;
  for (int joint = 0; joint < model->n_joints; joint++)
    for (int r = model->pattern.cptr[joint];
         loops->tree->cut[joint] && r < model->pattern.cptr[joint + 1]; r++)
      loops->row[i++] = r;
}

/* x = the rows of the loops of all rows */
static void reduced_loops_pick(const perp_reduced_loops *loops, const double *rows, double *x)
{
  for (int i = 0; i < loops->m; i++) x[i] = rows[loops->row[i]];
}

void perp_reduced_loops_rate(perp_reduced_loops *loops, const double *vm, double *x)
{
  memset(loops->rows, 0, (size_t)loops->tree->model->m * sizeof *loops->rows);
  perp_blocks_J(&loops->e->blocks, 1, vm, loops->rows);
  reduced_loops_pick(loops, loops->rows, x);
}

void perp_reduced_loops_error(const perp_reduced_loops *loops, double *x)
{
  reduced_loops_pick(loops, loops->e->C, x);
}

void perp_reduced_loops_factor(perp_reduced_loops *loops)
{
  const perp_model *model = loops->tree->model;
  const int lda = loops->m;
  double most = 0;
  for (int i = 0; i < lda; i++) {
    memset(loops->rows, 0, (size_t)model->m * sizeof *loops->rows);
    memset(loops->f, 0, (size_t)model->nv * sizeof *loops->f);
    loops->rows[loops->row[i]] = 1;
    perp_blocks_Jt(&loops->e->blocks, 1, loops->rows, loops->f);
    perp_reduced_respond(loops->tree, loops->f, loops->W + (size_t)i * (size_t)loops->tree->nu);
    perp_reduced_accelerations(loops->tree, loops->a);
    perp_reduced_loops_rate(loops, loops->a, loops->A + (size_t)i * (size_t)lda);
    most = fmax(most, loops->A[(size_t)i * (size_t)(lda + 1)]);
  }
  memcpy(loops->L, loops->A, (size_t)lda * (size_t)lda * sizeof *loops->L);
  for (int i = 0; i < lda; i++) loops->L[(size_t)i * (size_t)(lda + 1)] += SHIFT * most;
  loops->factored = lda > 0 && most > 0 &&
                    LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', lda, loops->L, lda) == 0;
}

void perp_reduced_loops_choose(perp_reduced_loops *loops)
{
  const int lda = loops->all, before = loops->m;
  loops->m = lda;
  perp_reduced_loops_factor(loops);
  double most = 0;
  for (int i = 0; i < lda; i++) {
    most = fmax(most, loops->A[(size_t)i * (size_t)(lda + 1)]);
    loops->order[i] = loops->row[i];
    loops->pivot[i] = i + 1;
  }
  memcpy(loops->L, loops->A, (size_t)lda * (size_t)lda * sizeof *loops->L);
  int rank = 0;
  if (most > 0)
    LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'L', lda, loops->L, lda, loops->pivot, &rank,
                        DEPENDENT * most, loops->work);
  for (int i = 0; i < lda; i++) loops->row[i] = loops->order[loops->pivot[i] - 1];
  loops->m = loops->chosen ? before : rank;
  loops->chosen = true;
}

double perp_reduced_loops_left(const perp_reduced_loops *loops)
{
  double worst = 0;
  for (int i = loops->m; i < loops->all; i++) worst = fmax(worst, fabs(loops->e->C[loops->row[i]]));
  return worst;
}

/* lambda of A lambda = c; returns the largest of |c - A lambda|, which is not small where rows
 * contradict each other */
static double reduced_loops_solve(perp_reduced_loops *loops)
{
  const int lda = loops->m;
  double left = 0;
  memset(loops->lambda, 0, (size_t)lda * sizeof *loops->lambda);
  for (int pass = 0;; pass++) {
    memcpy(loops->r, loops->c, (size_t)lda * sizeof *loops->r);
    cblas_dsymv(CblasColMajor, CblasLower, lda, -1, loops->A, lda, loops->lambda, 1, 1, loops->r,
                1);
    const double before = left;
    left = lda > 0 ? fabs(loops->r[cblas_idamax(lda, loops->r, 1)]) : 0;
    if (!loops->factored || left == 0 || pass == PASSES || (pass > 1 && left > 0.5 * before))
      return left;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, lda, loops->L, lda, loops->r,
                1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, lda, loops->L, lda, loops->r,
                1);
    cblas_daxpy(lda, 1, loops->r, 1, loops->lambda, 1);
  }
}

/* u += W lambda */
static void reduced_loops_add(const perp_reduced_loops *loops, double *u)
{
  cblas_dgemv(CblasColMajor, CblasNoTrans, loops->tree->nu, loops->m, 1, loops->W, loops->tree->nu,
              loops->lambda, 1, 1, u, 1);
}

bool perp_reduced_loops_accelerate(perp_reduced_loops *loops, const double *vm, double *udot)
{
  perp_reduced_accelerations(loops->tree, loops->a);
  perp_reduced_loops_rate(loops, loops->a, loops->c);
  perp_joints_bias(loops->tree->model, loops->e, vm, loops->rows);
  double terms = 0;
  for (int i = 0; i < loops->m; i++) {
    const double bias = loops->rows[loops->row[i]];
    terms = fmax(terms, fmax(fabs(loops->c[i]), fabs(bias)));
    loops->c[i] = -loops->c[i] - bias;
  }
  perp_reduced_loops_factor(loops);
  const double left = reduced_loops_solve(loops);
  reduced_loops_add(loops, udot);
  return left <= CONTRADICTS * terms;
}

void perp_reduced_loops_correct(perp_reduced_loops *loops, const double *x, double *du)
{
  for (int i = 0; i < loops->m; i++) loops->c[i] = -x[i];
  reduced_loops_solve(loops);
  memset(du, 0, (size_t)loops->tree->nu * sizeof *du);
  reduced_loops_add(loops, du);
}
