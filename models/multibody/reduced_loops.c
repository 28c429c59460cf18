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
 *      A = J S H^-1 S' J',      A lambda = -(J a0 + Jdot v),      a0: accelerations without the
 * loops.
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

void perp_reduced_loops_layout(perp_reduced_loops *l, perp_arena *a)
{
  const perp_model *model = l->tree->model;
  const size_t m = (size_t)l->all, nu = (size_t)l->tree->nu;
  PERP_INTS(a, m, &l->row, &l->pivot, &l->order);
  l->work = PERP_CARVE(a, double, 2 * m);
  l->W = PERP_CARVE(a, double, m *nu);
  PERP_DOUBLES(a, m * m, &l->A, &l->L);
  PERP_DOUBLES(a, m, &l->r, &l->c, &l->lambda);
  PERP_DOUBLES(a, model->nv, &l->a, &l->f);
  l->rows = PERP_CARVE(a, double, model->m);
}

void perp_reduced_loops_start(perp_reduced_loops *l)
{
  const perp_model *model = l->tree->model;
  int i = 0;
  for (int j = 0; j < model->n_joints; j++)
    for (int r = model->pattern.cptr[j]; l->tree->cut[j] && r < model->pattern.cptr[j + 1]; r++)
      l->row[i++] = r;
}

/* x = the rows of the loops of all rows */
static void reduced_loops_pick(const perp_reduced_loops *l, const double *rows, double *x)
{
  for (int i = 0; i < l->m; i++) x[i] = rows[l->row[i]];
}

void perp_reduced_loops_rate(perp_reduced_loops *l, const double *vm, double *x)
{
  memset(l->rows, 0, (size_t)l->tree->model->m * sizeof *l->rows);
  perp_blocks_J(&l->e->blocks, 1, vm, l->rows);
  reduced_loops_pick(l, l->rows, x);
}

void perp_reduced_loops_error(const perp_reduced_loops *l, double *x)
{
  reduced_loops_pick(l, l->e->C, x);
}

void perp_reduced_loops_factor(perp_reduced_loops *l)
{
  const perp_model *model = l->tree->model;
  const int m = l->m;
  double most = 0;
  for (int i = 0; i < m; i++) {
    memset(l->rows, 0, (size_t)model->m * sizeof *l->rows);
    memset(l->f, 0, (size_t)model->nv * sizeof *l->f);
    l->rows[l->row[i]] = 1;
    perp_blocks_Jt(&l->e->blocks, 1, l->rows, l->f);
    perp_reduced_respond(l->tree, l->f, l->W + (size_t)i * (size_t)l->tree->nu);
    perp_reduced_accelerations(l->tree, l->a);
    perp_reduced_loops_rate(l, l->a, l->A + (size_t)i * (size_t)m);
    most = fmax(most, l->A[(size_t)i * (size_t)(m + 1)]);
  }
  memcpy(l->L, l->A, (size_t)m * (size_t)m * sizeof *l->L);
  for (int i = 0; i < m; i++) l->L[(size_t)i * (size_t)(m + 1)] += SHIFT * most;
  l->factored = m > 0 && most > 0 && LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', m, l->L, m) == 0;
}

void perp_reduced_loops_choose(perp_reduced_loops *l)
{
  const int m = l->all, before = l->m;
  l->m = m;
  perp_reduced_loops_factor(l);
  double most = 0;
  for (int i = 0; i < m; i++) {
    most = fmax(most, l->A[(size_t)i * (size_t)(m + 1)]);
    l->order[i] = l->row[i];
    l->pivot[i] = i + 1;
  }
  memcpy(l->L, l->A, (size_t)m * (size_t)m * sizeof *l->L);
  int rank = 0;
  if (most > 0)
    LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'L', m, l->L, m, l->pivot, &rank, DEPENDENT * most,
                        l->work);
  for (int i = 0; i < m; i++) l->row[i] = l->order[l->pivot[i] - 1];
  l->m = l->chosen ? before : rank;
  l->chosen = true;
}

double perp_reduced_loops_left(const perp_reduced_loops *l)
{
  double worst = 0;
  for (int i = l->m; i < l->all; i++) worst = fmax(worst, fabs(l->e->C[l->row[i]]));
  return worst;
}

/* lambda of A lambda = c; returns the largest of |c - A lambda|, which is not small where rows
 * contradict each other */
static double reduced_loops_solve(perp_reduced_loops *l)
{
  const int m = l->m;
  double left = 0;
  memset(l->lambda, 0, (size_t)m * sizeof *l->lambda);
  for (int pass = 0;; pass++) {
    memcpy(l->r, l->c, (size_t)m * sizeof *l->r);
    cblas_dsymv(CblasColMajor, CblasLower, m, -1, l->A, m, l->lambda, 1, 1, l->r, 1);
    const double before = left;
    left = m > 0 ? fabs(l->r[cblas_idamax(m, l->r, 1)]) : 0;
    if (!l->factored || left == 0 || pass == PASSES || (pass > 1 && left > 0.5 * before))
      return left;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, m, l->L, m, l->r, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, l->L, m, l->r, 1);
    cblas_daxpy(m, 1, l->r, 1, l->lambda, 1);
  }
}

/* u += W lambda */
static void reduced_loops_add(const perp_reduced_loops *l, double *u)
{
  cblas_dgemv(CblasColMajor, CblasNoTrans, l->tree->nu, l->m, 1, l->W, l->tree->nu, l->lambda, 1, 1,
              u, 1);
}

bool perp_reduced_loops_accelerate(perp_reduced_loops *l, const double *vm, double *udot)
{
  perp_reduced_accelerations(l->tree, l->a);
  perp_reduced_loops_rate(l, l->a, l->c);
  perp_joints_bias(l->tree->model, l->e, vm, l->rows);
  double terms = 0;
  for (int i = 0; i < l->m; i++) {
    const double bias = l->rows[l->row[i]];
    terms = fmax(terms, fmax(fabs(l->c[i]), fabs(bias)));
    l->c[i] = -l->c[i] - bias;
  }
  perp_reduced_loops_factor(l);
  const double left = reduced_loops_solve(l);
  reduced_loops_add(l, udot);
  return left <= CONTRADICTS * terms;
}

void perp_reduced_loops_correct(perp_reduced_loops *l, const double *x, double *du)
{
  for (int i = 0; i < l->m; i++) l->c[i] = -x[i];
  reduced_loops_solve(l);
  memset(du, 0, (size_t)l->tree->nu * sizeof *du);
  reduced_loops_add(l, du);
}
