/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/splitting/desaxce.h"

#include <math.h>

void perp_desaxce_layout(perp_desaxce *desaxce, int max_n, perp_arena *arena)
{
  PERP_DOUBLES(arena, max_n, &desaxce->d);
  PERP_INTS(arena, max_n, &desaxce->first, &desaxce->other);
}

void perp_desaxce_open(perp_desaxce *desaxce, const perp_rows *rows)
{
  desaxce->R = rows;
  for (int i = 0; i < rows->n; i++) {
    desaxce->d[i] = rows->diag[i] > 0 ? rows->diag[i] : rows->big[i];
    desaxce->first[i] = -1;
  }
  for (int i = rows->n - 1; i >= 0; i--) {
    if (rows->type[i] == PERP_ROW_BOUNDED) continue;
    const int j = rows->p->fric_of[i];
    desaxce->d[j] = fmax(desaxce->d[j], desaxce->d[i]);
    if (rows->type[i] == PERP_ROW_CONE_TAIL) continue;
    desaxce->other[i] = desaxce->first[j];
    desaxce->first[j] = i;
  }
  for (int i = 0; i < rows->n; i++)
    if (rows->type[i] != PERP_ROW_BOUNDED) desaxce->d[i] = desaxce->d[rows->p->fric_of[i]];
}

/* size of friction row i, or of the pair that begins there */
static inline double desaxce_length(const perp_desaxce *desaxce, const double *v, int i)
{
  return desaxce->R->type[i] == PERP_ROW_CONE ? hypot(v[i], v[i + 1]) : fabs(v[i]);
}

/* The normal multiplier of the point nearest to v: the root of the increasing, concave
 * n - v_n - sum mu_k max(|v_k| - mu_k n, 0), Newton's method from the left, which ends. */
static double desaxce_normal(const perp_desaxce *desaxce, const double *v, int j)
{
  const perp_rows *rows = desaxce->R;
  double n = rows->lo[j];
  for (int k = 0; k <= rows->n; k++) {
    double g = n - v[j], slope = 1;
    for (int i = desaxce->first[j]; i >= 0; i = desaxce->other[i]) {
      const double mu = rows->p->mu[i], beyond = desaxce_length(desaxce, v, i) - mu * n;
      if (beyond <= 0) continue;
      g -= mu * beyond;
      slope += mu * mu;
    }
    const double next = n - g / slope;
    if (!(next > n * (1 + 1e-15))) break;
    n = next;
  }
  return fmin(n, rows->hi[j]);
}

void perp_desaxce_project(const perp_desaxce *desaxce, const double *v, double *y)
{
  const perp_rows *rows = desaxce->R;
  for (int j = 0; j < rows->n; j++) {
    if (rows->type[j] != PERP_ROW_BOUNDED) continue;
    const bool cone = perp_desaxce_cone(desaxce, j);
    y[j] = cone ? desaxce_normal(desaxce, v, j) : fmin(fmax(v[j], rows->lo[j]), rows->hi[j]);
    for (int i = desaxce->first[j]; i >= 0; i = desaxce->other[i]) {
      const double r = rows->p->mu[i] * fmax(y[j], 0);
      y[i] = v[i];
      if (rows->type[i] == PERP_ROW_CONE) {
        y[i + 1] = v[i + 1];
        perp_disc(r, &y[i], &y[i + 1]);
      } else
        y[i] = fmin(fmax(y[i], -r), r);
    }
  }
}

void perp_desaxce_correct(const perp_desaxce *desaxce, const double *w, double *gamma)
{
  const perp_rows *rows = desaxce->R;
  for (int j = 0; j < rows->n; j++) {
    gamma[j] = 0;
    if (!perp_desaxce_cone(desaxce, j)) continue;
    for (int i = desaxce->first[j]; i >= 0; i = desaxce->other[i])
      gamma[j] += rows->p->mu[i] * desaxce_length(desaxce, w, i);
  }
}
