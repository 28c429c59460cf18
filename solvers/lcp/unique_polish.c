/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A solution to rounding: Newton's method on the equations of what each contact does.
 *
 * With what sticks, slides and is open given, as an approximate solution has it, a contact problem
 * is a set of equations:
 *
 *      open:    lambda = 0
 *      sticks:  w = 0                                     unknowns lambda_n, lambda_t
 *      slides:  w_n = 0, lambda_t = -mu lambda_n t        unknown lambda_n, with a fixed t, or
 *               w_n = 0, t' . w_t = 0                     unknowns lambda_n, t (a circle; t'
 * perpendicular to t)
 *
 * in unknowns y, lambda = lambda + D y.  On a circle lambda_t changes by s = -mu lambda_n dtheta
 * along t', and t' . w_t by |w_t| s / (mu lambda_n) beside the change of w_t itself.  Rows that
 * depend on each other make the matrix singular: complete pivoting leaves out the rounding (Golub
 * and Van Loan 2013, section 3.4.8). */
#include "solvers/lcp/unique_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = PERP_UNIQUE_ROWS, ITERATIONS = 12 };
/* of the largest pivot: rounding */
static const double RANK = 1e-11;
/* of the terms of w: what the equations of a solution leave */
static const double LEFT = 1e-12;

/* What a contact does: bit k - 1, its tangent k slides with the friction u->z lambda_n; all of them
 * on a circle; nothing. */
enum { POLISH_ALL = 3, POLISH_CIRCLE = 4, POLISH_OPEN = 8 };

static int polish_does(const perp_unique_problem *problem, int law, double mu, double least,
                       const double *x, const double *w)
{
  double slip = 0, t = 0;
  int does = 0;
  if (!(x[0] > least)) return POLISH_OPEN;
  for (int k = 1; k < problem->r; k++) {
    slip = hypot(slip, w[k]);
    t = hypot(t, x[k]);
  }
  if (!(mu > 0)) return POLISH_ALL;
  if (!(slip > problem->tol)) return 0;
  if (law == PERP_UNIQUE_OTHER) return POLISH_ALL;
  if (law == PERP_UNIQUE_CIRCLE && problem->r > 2) return t > 0 ? POLISH_CIRCLE : 0;
  for (int k = 1; k < problem->r; k++)
    if (fabs(w[k]) > problem->tol && fabs(x[k]) >= 0.999 * mu * x[0]) does |= 1 << (k - 1);
  return does;
}

/* lambda += D y of n unknowns, and friction that follows its normal. */
static void polish_move(const perp_unique *unique, const perp_unique_problem *problem, int n,
                        const double *y, double *lambda)
{
  for (int i = 0; i < n; i++)
    for (int k = 0; k < unique->column[i].rows; k++)
      lambda[unique->column[i].row + k] += y[i] * unique->column[i].d[k];
  for (int c = 0; c < problem->nc; c++) {
    double *x = lambda + problem->r * c;
    if (unique->order[c] == POLISH_CIRCLE) { /* onto it again */
      const double f = problem->mu[c] * x[0] / hypot(x[1], x[2]);
      x[1] *= f;
      x[2] *= f;
      continue;
    }
    for (int k = 1; k < problem->r; k++)
      if (unique->order[c] < POLISH_OPEN && unique->order[c] & 1 << (k - 1))
        x[k] = unique->z[problem->r * c + k] * x[0];
  }
}

/* unique->order [nc]: what contacts do; unique->z [n]: their ratios lambda_t / lambda_n; impulses
 * of open ones become 0. */
static void polish_begin(perp_unique *unique, const perp_unique_problem *problem, int law,
                         double *lambda, const double *w)
{
  double largest = 0;
  for (int c = 0; c < problem->nc; c++) largest = fmax(largest, lambda[problem->r * c]);
  for (int c = 0; c < problem->nc; c++) {
    double *x = lambda + problem->r * c, *ratio = unique->z + problem->r * c;
    const double mu = problem->r > 1 ? problem->mu[c] : 0;
    const int does = polish_does(problem, law, mu, PERP_UNIQUE_NONE * largest, x,
                                 w + problem->r * c);
    unique->order[c] = does;
    for (int k = 1; k < problem->r; k++) {
      if (does == POLISH_OPEN || !(mu > 0))
        x[k] = ratio[k] = 0;
      else if (law == PERP_UNIQUE_OTHER)
        ratio[k] = x[k] / x[0];
      else
        ratio[k] = w[problem->r * c + k] > 0 ? -mu : mu;
    }
    if (does == POLISH_OPEN) x[0] = 0;
  }
  polish_move(unique, problem, 0, NULL, lambda);
}

/* An unknown, lambda += y d, and the equation that belongs to it, e . w = 0. */
static int polish_pair(perp_unique *unique, int n, column d, column e, double more)
{
  unique->column[n] = d;
  unique->column[ROWS + n] = e;
  unique->c[n] = more;
  return n + 1;
}

static int polish_contact(perp_unique *unique, const perp_unique_problem *problem, int c,
                          const double *lambda, const double *w, int n)
{
  const int at = problem->r * c, does = unique->order[c];
  const double *x = lambda + at, *ratio = unique->z + at;
  if (does == POLISH_OPEN) return n;
  if (does == POLISH_CIRCLE) {
    const double f = hypot(x[1], x[2]), t1 = -x[1] / f, t2 = -x[2] / f,
                 slip = t1 * w[at + 1] + t2 * w[at + 2];
    const column across = { at, 3, { 0, -t2, t1 } };
    n = polish_pair(unique, n, (column){ at, 3, { 1, -problem->mu[c] * t1, -problem->mu[c] * t2 } },
                    (column){ at, 1, { 1 } }, 0);
    return polish_pair(unique, n, across, across, slip / f);
  }
  column normal = { at, problem->r, { 1 } };
  for (int k = 1; k < problem->r; k++)
    if (does & 1 << (k - 1)) normal.d[k] = ratio[k];
  n = polish_pair(unique, n, normal, (column){ at, 1, { 1 } }, 0);
  for (int k = 1; k < problem->r; k++) {
    const column side = { at + k, 1, { 1 } };
    if (!(does & 1 << (k - 1))) n = polish_pair(unique, n, side, side, 0);
  }
  return n;
}

static int polish_pairs(perp_unique *unique, const perp_unique_problem *problem,
                        const double *lambda, const double *w)
{
  int n = 0;
  for (int c = 0; c < problem->nc; c++) n = polish_contact(unique, problem, c, lambda, w, n);
  for (int i = 0, at = problem->r * problem->nc; at < problem->n; i++, at++) {
    const column row = { at, 1, { 1 } };
    if (lambda[at] > problem->lo[i] && lambda[at] < problem->hi[i])
      n = polish_pair(unique, n, row, row, 0);
  }
  return n;
}

/* w = A lambda + b; returns the largest sum of the absolute values of a row. */
static double polish_product(const perp_unique_problem *problem, const double *lambda, double *w)
{
  double largest = 0;
  for (int i = 0; i < problem->n; i++) {
    const double *a = problem->A + (size_t)i * (size_t)problem->lda;
    double sum = problem->b[i], size = fabs(problem->b[i]);
    for (int j = 0; j < problem->n; j++) {
      sum += a[j] * lambda[j];
      size += fabs(a[j] * lambda[j]);
    }
    w[i] = sum;
    largest = fmax(largest, size);
  }
  return largest;
}

/* unique->square = E' A D + more, column-major */
static void polish_matrix(perp_unique *unique, const perp_unique_problem *problem, int n)
{
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      const column *d = &unique->column[j], *e = &unique->column[ROWS + i];
      double sum = i == j ? unique->c[i] : 0;
      for (int k = 0; k < d->rows; k++)
        for (int l = 0; l < e->rows; l++)
          sum += e->d[l] * d->d[k] *
                 problem->A[e->row + l + (size_t)(d->row + k) * (size_t)problem->lda];
      unique->square[i + j * n] = sum;
    }
}

/* y [n]: a solution of unique->square y = r, without the part that is rounding; overwrites r. */
static void polish_solve(perp_unique *unique, int n, double *r, double *y)
{
  double *K = unique->square, largest = 0;
  int *row = unique->row, *col = unique->order + ROWS, rank = 0;
  for (int i = 0; i < n; i++) {
    row[i] = col[i] = i;
    y[i] = 0;
  }
  for (; rank < n; rank++) {
    int pi = rank, pj = rank;
    double best = 0;
    for (int j = rank; j < n; j++)
      for (int i = rank; i < n; i++) {
        const double a = fabs(K[row[i] + col[j] * n]);
        if (a > best) best = a, pi = i, pj = j;
      }
    if (rank == 0) largest = best;
    if (!(best > RANK * largest)) break;
    const int ri = row[pi], cj = col[pj];
    row[pi] = row[rank], row[rank] = ri;
    col[pj] = col[rank], col[rank] = cj;
    for (int i = rank + 1; i < n; i++) {
      const double f = K[row[i] + cj * n] / K[ri + cj * n];
      if (f == 0) continue;
      for (int j = rank + 1; j < n; j++) K[row[i] + col[j] * n] -= f * K[ri + col[j] * n];
      r[row[i]] -= f * r[ri];
    }
  }
  for (int i = rank; i-- > 0;) {
    double sum = r[row[i]];
    for (int j = i + 1; j < rank; j++) sum -= K[row[i] + col[j] * n] * y[col[j]];
    y[col[i]] = sum / K[row[i] + col[i] * n];
  }
}

bool perp_unique_polish(perp_unique *unique, const perp_unique_problem *problem, int law,
                        double *lambda, double *w, double *error)
{
  double left = HUGE_VAL, size = 0;
  if (problem->n > ROWS) return false;
  *error = HUGE_VAL;
  polish_begin(unique, problem, law, lambda, w);
  for (int i = 0; i < ITERATIONS; i++) {
    size = polish_product(problem, lambda, w);
    const int n = polish_pairs(unique, problem, lambda, w);
    left = 0;
    for (int j = 0; j < n; j++) {
      const column *e = &unique->column[ROWS + j];
      double sum = 0;
      for (int k = 0; k < e->rows; k++) sum += e->d[k] * w[e->row + k];
      unique->b[j] = -sum;
      left = fmax(left, fabs(sum));
    }
    if (left <= LEFT * size && *error <= LEFT * size) break; /* and the last step was none */
    polish_matrix(unique, problem, n);
    polish_solve(unique, n, unique->b, unique->y);
    memcpy(unique->q, w, (size_t)problem->n * sizeof *w);
    polish_move(unique, problem, n, unique->y, lambda);
    polish_product(problem, lambda, w);
    *error = 0;
    for (int j = 0; j < problem->n; j++) *error = fmax(*error, fabs(w[j] - unique->q[j]));
  }
  *error = fmax(*error, LEFT * size);
  return left <= LEFT * size && isfinite(*error);
}
