/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops in joint coordinates.  A spanning tree of the joints carries the coordinates; each other joint cuts a loop and
 * remains a constraint C(q) = 0 with J of the maximal coordinates,
 *
 *      H udot + c = tau + S' J' lambda,      J a(udot) + Jdot v = 0,
 *
 * where S takes joint rates to the velocities of the bodies.  H^-1 S' J' is the answer of the articulated-body algorithm to
 * each row as a force on the bodies, and J of the accelerations of that answer is the matrix
 *
 *      A = J S H^-1 S' J',      A lambda = -(J a0 + Jdot v),      a0: accelerations without the loops.
 *
 * A is positive semidefinite: Cholesky with pivots (LAPACK dpstrf), and rows that depend on others (a mechanism in a
 * plane has three for each loop, Bricard's one) get no force.
 * R. Featherstone, Rigid Body Dynamics Algorithms, 2008, sections 8.1-8.5. */
#include "models/reduced/reduced_loops.h"
#include "models/reduced/reduced_private.h"

#include <cblas.h>
#include <lapacke.h>

/* A row counts as dependent below this part of the largest one, and as contradictory above this part of its terms. */
static const double DEPENDENT = 1e-11, CONTRADICTS = 1e-6;

void perp_reduced_loops_layout(perp_reduced_loops *l, perp_arena *a)
{
  const perp_model *model = l->tree->model;
  const size_t m = (size_t)l->m, nu = (size_t)l->tree->nu;
  PERP_INTS(a, m, &l->row, &l->pivot);
  l->W = PERP_CARVE(a, double, m *nu);
  l->A = PERP_CARVE(a, double, m *m);
  l->work = PERP_CARVE(a, double, 2 * m);
  PERP_DOUBLES(a, m, &l->full, &l->c, &l->lambda);
  PERP_DOUBLES(a, model->nv, &l->a, &l->f);
  l->rows = PERP_CARVE(a, double, model->m);
}

void perp_reduced_loops_start(perp_reduced_loops *l)
{
  const perp_model *model = l->tree->model;
  int i = 0;
  for (int j = 0; j < model->n_joints; j++)
    for (int r = model->cptr[j]; l->tree->cut[j] && r < model->cptr[j + 1]; r++) l->row[i++] = r;
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
  for (int i = 0; i < m; i++) l->pivot[i] = i + 1;
  l->rank = 0;
  if (m > 0 && most > 0)
    LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'L', m, l->A, m, l->pivot, &l->rank, DEPENDENT * most,
                        l->work);
}

/* lambda = A^+ c: rows beyond the rank get none; returns how far these are from holding all the same */
static double reduced_loops_solve(perp_reduced_loops *l)
{
  const int m = l->m, rank = l->rank;
  double worst = 0;
  for (int i = 0; i < m; i++) l->full[i] = l->c[l->pivot[i] - 1];
  if (rank > 0) {
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, rank, l->A, m, l->full, 1);
    if (rank < m)
      cblas_dgemv(CblasColMajor, CblasNoTrans, m - rank, rank, -1, l->A + rank, m, l->full, 1, 1,
                  l->full + rank, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, rank, l->A, m, l->full, 1);
  }
  for (int i = 0; i < m; i++) {
    l->lambda[l->pivot[i] - 1] = i < rank ? l->full[i] : 0;
    if (i >= rank) worst = fmax(worst, fabs(l->full[i]));
  }
  return worst;
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
