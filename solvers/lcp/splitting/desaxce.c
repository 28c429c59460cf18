/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/splitting/desaxce.h"

#include <math.h>

void perp_desaxce_layout(perp_desaxce *s, int max_n, perp_arena *a)
{
  PERP_DOUBLES(a, max_n, &s->d);
  PERP_INTS(a, max_n, &s->first, &s->other);
}

void perp_desaxce_open(perp_desaxce *s, const perp_rows *R)
{
  s->R = R;
  for (int i = 0; i < R->n; i++) {
    s->d[i] = R->diag[i] > 0 ? R->diag[i] : R->big[i];
    s->first[i] = -1;
  }
  for (int i = R->n - 1; i >= 0; i--) {
    if (R->type[i] == PERP_ROW_BOUNDED) continue;
    const int j = R->p->fric_of[i];
    s->d[j] = fmax(s->d[j], s->d[i]);
    if (R->type[i] == PERP_ROW_CONE_TAIL) continue;
    s->other[i] = s->first[j];
    s->first[j] = i;
  }
  for (int i = 0; i < R->n; i++)
    if (R->type[i] != PERP_ROW_BOUNDED) s->d[i] = s->d[R->p->fric_of[i]];
}

/* size of friction row i, or of the pair that begins there */
static inline double desaxce_length(const perp_desaxce *s, const double *v, int i)
{
  return s->R->type[i] == PERP_ROW_CONE ? hypot(v[i], v[i + 1]) : fabs(v[i]);
}

/* The normal multiplier of the point nearest to v: the root of the increasing, concave
 * n - v_n - sum mu_k max(|v_k| - mu_k n, 0), Newton's method from the left, which ends. */
static double desaxce_normal(const perp_desaxce *s, const double *v, int j)
{
  const perp_rows *R = s->R;
  double n = R->lo[j];
  for (int k = 0; k <= R->n; k++) {
    double g = n - v[j], slope = 1;
    for (int i = s->first[j]; i >= 0; i = s->other[i]) {
      const double mu = R->p->mu[i], beyond = desaxce_length(s, v, i) - mu * n;
      if (beyond <= 0) continue;
      g -= mu * beyond;
      slope += mu * mu;
    }
    const double next = n - g / slope;
    if (!(next > n * (1 + 1e-15))) break;
    n = next;
  }
  return fmin(n, R->hi[j]);
}

void perp_desaxce_project(const perp_desaxce *s, const double *v, double *y)
{
  const perp_rows *R = s->R;
  for (int j = 0; j < R->n; j++) {
    if (R->type[j] != PERP_ROW_BOUNDED) continue;
    const bool cone = perp_desaxce_cone(s, j);
    y[j] = cone ? desaxce_normal(s, v, j) : fmin(fmax(v[j], R->lo[j]), R->hi[j]);
    for (int i = s->first[j]; i >= 0; i = s->other[i]) {
      const double r = R->p->mu[i] * fmax(y[j], 0);
      y[i] = v[i];
      if (R->type[i] == PERP_ROW_CONE) {
        y[i + 1] = v[i + 1];
        perp_disc(r, &y[i], &y[i + 1]);
      } else
        y[i] = fmin(fmax(y[i], -r), r);
    }
  }
}

void perp_desaxce_correct(const perp_desaxce *s, const double *w, double *gamma)
{
  const perp_rows *R = s->R;
  for (int j = 0; j < R->n; j++) {
    gamma[j] = 0;
    if (!perp_desaxce_cone(s, j)) continue;
    for (int i = s->first[j]; i >= 0; i = s->other[i])
      gamma[j] += R->p->mu[i] * desaxce_length(s, w, i);
  }
}
