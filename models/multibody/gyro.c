/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gyroscopic torque of time stepping.  In the frame of a body a free turn is I w' = (I w) x w.
 * Explicitly, I w+ = I w + h (I w) x w, it makes energy: (I w) x w is at right angles to w and to I
 * w, so that each step makes both longer, and a thin body that turns fast has infinite energy after
 * a few steps.  The implicit midpoint rule
 *
 *      I (w+ - w) = h (I m) x m,    m = (w + w+) / 2
 *
 * keeps both: multiplied by m it says w+'I w+ = w'I w, by I m  |I w+| = |I w|.  (Energy momentum
 * methods: Simo and Wong 1991; implicit gyroscopic torques in games, by backward Euler, which
 * damps: Catto 2015.) */
#include "models/geometry/kinematics.h"
#include "models/multibody/model_private.h"

#include <float.h>

enum { ITERATIONS = 12, SUBSTEPS = 64 };
static const double SAME = 1e-12; /* relative; what is left is its square */

static double gyro_largest(const double x[3])
{
  return fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(x[2])));
}

/* A x = b by Cramer's rule, A [9] column-major; false: singular */
static bool gyro_solve3(const double A[9], const double b[3], double x[3])
{
  double c[3];
  perp_cross(A + 3, A + 6, c);
  const double det = perp_dot(3, A, c);
  x[0] = perp_dot(3, b, c) / det;
  perp_cross(A + 6, A, c);
  x[1] = perp_dot(3, b, c) / det;
  perp_cross(A, A + 3, c);
  x[2] = perp_dot(3, b, c) / det;
  return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
}

/* One step by Newton's method; false: it does not converge, x is then anything. */
static bool gyro_midpoint(const double I[9], double h, const double w[3], double x[3])
{
  for (int i = 0; i < 3; i++) x[i] = w[i];
  for (int k = 0; k < ITERATIONS; k++) {
    double m[3], L[3], g[3], F[3], J[9], d[3], change[3];
    for (int i = 0; i < 3; i++) {
      m[i] = 0.5 * (w[i] + x[i]);
      d[i] = x[i] - w[i];
    }
    perp_sym_mul(I, m, L);
    perp_sym_mul(I, d, F);
    perp_cross(L, m, g);
    for (int i = 0; i < 3; i++) F[i] = h * g[i] - F[i];
    for (int j = 0; j < 3; j++) { /* d g / d m = (I e_j) x m + (I m) x e_j */
      const double e[3] = { j == 0, j == 1, j == 2 };
      double a[3], b[3];
      perp_cross(I + 3 * j, m, a);
      perp_cross(L, e, b);
      for (int i = 0; i < 3; i++) J[3 * j + i] = I[3 * j + i] - 0.5 * h * (a[i] + b[i]);
    }
    if (!gyro_solve3(J, F, change)) return false;
    for (int i = 0; i < 3; i++) x[i] += change[i];
    if (gyro_largest(change) <= SAME * gyro_largest(x)) return true;
  }
  return false;
}

void perp_gyro_turn(const double I[9], double h, const double w[3], double x[3])
{
  const double turn = h * gyro_largest(w);
  int n = 1;
  while (n < SUBSTEPS && turn > n) n *= 2;
  for (; n <= SUBSTEPS; n *= 2) {
    double from[3] = { w[0], w[1], w[2] };
    int done = 0;
    for (; done < n && gyro_midpoint(I, h / n, from, x); done++)
      for (int i = 0; i < 3; i++) from[i] = x[i];
    if (done == n) return;
  }
  for (int i = 0; i < 3; i++) x[i] = w[i];
}

void perp_gyro_implicit(const perp_model *model, double h, const double *v, double *rhs)
{
  if (model->dim != 3) return;
  for (int body = 0; body < model->n_bodies; body++) {
    const double *I = model->inertia[body].I, *w = v + 6 * body + 3;
    double L[3], g[3], x[3], after[3];
    perp_sym_mul(I, w, L);
    perp_cross(L, w, g);
    if (!(h * gyro_largest(g) > 4 * DBL_EPSILON * gyro_largest(L))) continue; /* a principal axis */
    perp_gyro_turn(I, h, w, x);
    perp_sym_mul(I, x, after);
    for (int i = 0; i < 3; i++) rhs[6 * body + 3 + i] += after[i] - L[i] - h * g[i];
  }
}

void perp_gyro_none(const perp_model *model, double h, const double *v, double *rhs)
{
  for (int inertia = 0; inertia < model->n_bodies && model->dim == 3; inertia++) {
    const double *w = v + 6 * inertia + 3;
    double L[3], g[3];
    perp_sym_mul(model->inertia[inertia].I, w, L);
    perp_cross(L, w, g);
    for (int i = 0; i < 3; i++) rhs[6 * inertia + 3 + i] -= h * g[i];
  }
}
