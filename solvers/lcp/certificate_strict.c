/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Farkas vectors with room to spare: what rounding cannot spoil needs no elimination in integers.
 *
 * A vector z that a method hands over is a vertex: u = A'z (definitions in lcp.h) is 0, up to
 * rounding, in as many columns as z has rows, less one.  Let v_j be u_j, with mu |u_t| of friction
 * added; then dz with  dv_j = -c_j  in those columns, c = |A'||z|, the least that does, makes z + e
 * dz a vector with v < 0 everywhere for small e > 0. */
#include "solvers/lcp/exact_lcp.h"
#include "solvers/lcp/lcp_private.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRICT_ZERO  1e-6  /* of c: what counts as zero */
#define STRICT_SMALL 1e-10 /* of the largest: rows of z that are left out */
#define STRICT_EXACT 1e-4  /* of the right side */

typedef struct strict {
  const perp_lcp *p;
  double *u, *c; /* [n] A'z, |A'||z| */
  double *v,
      *size; /* [n] of columns without a bound on one side: what must be negative, and its terms */
  double *weight;        /* [n] of friction rows: dv_n = du_n + sum weight du_t */
  int *equation, *still; /* [n] of v_j, and of u_t = 0; -1: none */
  double *a, *rest;
  int rows, equations;
} strict;

/* u, c, v and size of z; false where a column must be 0 exactly and is not made of zeros. */
static bool strict_measure(strict *s, const double *z)
{
  const perp_lcp *lcp = s->p;
  int n = lcp->n;
  perp_lcp_transposed(lcp, z, s->u, s->rest);
  perp_lcp_absolute(lcp, z, true, s->a, s->c, s->rest, s->rest + n);
  for (int j = 0; j < n; j++) {
    const perp_exact_sides side = perp_exact_sides_of(lcp, j);
    if (side.down && side.up && s->c[j] > 0) return false;
    s->v[j] = side.up ? s->u[j] : side.down ? -s->u[j] : -1;
    s->size[j] = s->c[j];
  }
  for (int t = 0; t < n; t++) {
    if (!perp_exact_is_friction(lcp, t)) continue;
    int normal = lcp->fric_of[t], cone = lcp->cone != NULL && lcp->cone[t];
    double lo, hi, u = cone ? hypot(s->u[t], s->u[t + 1]) : fabs(s->u[t]);
    double c = cone ? s->c[t] + s->c[t + 1] : s->c[t];
    perp_lcp_bounds(lcp, NULL, normal, &lo, &hi);
    if (hi == HUGE_VAL && lcp->mu[t] > 0) {
      if (lo < 0 && c > 0) return false; /* its limits are left out of the proofs */
      s->v[normal] += lcp->mu[t] * u;
      s->size[normal] += lcp->mu[t] * c;
    }
    bool zero = u <= STRICT_ZERO * c;
    for (int k = t; k <= t + cone; k++) s->weight[k] = zero ? 0 : lcp->mu[t] * s->u[k] / u;
    t += cone;
  }
  return true;
}

/* Number the conditions that are met as equations; false where one is broken. */
static bool strict_number(strict *s)
{
  const perp_lcp *lcp = s->p;
  s->equations = 0;
  for (int j = 0; j < lcp->n; j++) {
    const perp_exact_sides side = perp_exact_sides_of(lcp, j);
    s->equation[j] = s->still[j] = -1;
    if (side.down == side.up || !(s->size[j] > 0)) continue;
    if (!(s->v[j] <= STRICT_ZERO * s->size[j])) return false;
    if (s->v[j] >= -STRICT_ZERO * s->size[j]) s->equation[j] = s->equations++;
  }
  for (int t = 0; t < lcp->n; t++)
    if (perp_exact_is_friction(lcp, t) && s->equation[lcp->fric_of[t]] >= 0 && s->weight[t] == 0 &&
        s->c[t] > 0)
      s->still[t] = s->equations++;
  return true;
}

/* E y = e with dz_i = |z_i| y_i, the least y; false: no such y.  row [n] scratch */
static bool strict_direction(const strict *s, const double *z, double *dz, double *row)
{
  const perp_lcp *lcp = s->p;
  int n = lcp->n, m = s->equations, k = 0;
  size_t ld = (size_t)m;
  const int entries = m * s->rows, lwork = 64 * (m + s->rows);
  double *E = perp_exact_alloc(2 * entries + s->rows + lwork, sizeof *E);
  double *copy = E + entries, *y = copy + entries, *work = y + s->rows;
  for (int i = 0; i < n; i++) {
    if (z[i] == 0) continue;
    double *e = E + (size_t)k++ * ld;
    if (lcp->F != NULL) {
      for (int j = 0; j < n; j++) dz[j] = j == i;
      perp_blocks_A(lcp->F, dz, row, s->rest);
    } else
      perp_lcp_row(lcp, i, row);
    for (int j = 0; j < n; j++) {
      double x = row[j] * fabs(z[i]);
      if (perp_exact_is_friction(lcp, j)) {
        int normal = lcp->fric_of[j], q = s->equation[normal];
        if (q >= 0) e[q] += s->weight[j] * x / s->size[normal];
        if (s->still[j] >= 0) e[s->still[j]] += x / s->c[j];
      } else if (s->equation[j] >= 0) {
        e[s->equation[j]] += (perp_exact_sides_of(lcp, j).up ? x : -x) / s->size[j];
      }
    }
  }
  memcpy(copy, E, ld * (size_t)s->rows * sizeof *E);
  for (int j = 0; j < n; j++)
    if (s->equation[j] >= 0) y[s->equation[j]] = -1;
  bool good = LAPACKE_dgels_work(LAPACK_COL_MAJOR, 'N', m, s->rows, 1, copy, m, y, s->rows, work,
                                 lwork) == 0;
  /* dependent conditions: does y do what it should? */
  for (int j = 0; j < m; j++) work[j] = 0;
  for (int i = 0; i < s->rows; i++)
    for (int j = 0; j < m; j++) work[j] += E[(size_t)i * ld + (size_t)j] * y[i];
  for (int j = 0; j < n; j++) {
    if (s->equation[j] >= 0) good = good && fabs(work[s->equation[j]] + 1) <= STRICT_EXACT;
    if (s->still[j] >= 0) good = good && fabs(work[s->still[j]]) <= STRICT_EXACT;
  }
  k = 0;
  for (int i = 0; i < n; i++) dz[i] = z[i] == 0 ? 0 : fabs(z[i]) * y[k++];
  free(E);
  return good;
}

/* What z proves beyond nothing, in doubles: -b'z - sup u'lambda over finite bounds. */
static double strict_gap(const strict *s, const double *z)
{
  const perp_lcp *lcp = s->p;
  double gap = 0;
  for (int i = 0; i < lcp->n; i++) {
    gap -= lcp->b[i] * z[i];
    if (perp_exact_is_friction(lcp, i)) continue;
    const perp_exact_sides side = perp_exact_sides_of(lcp, i);
    double low = side.down ? -HUGE_VAL : s->u[i] * side.lo;
    double high = side.up ? -HUGE_VAL : s->u[i] * side.hi;
    if (fmax(low, high) > -HUGE_VAL) gap -= fmax(low, high);
  }
  for (int t = 0; t < lcp->n; t++) { /* friction of a normal with an upper bound: at most there */
    if (!perp_exact_is_friction(lcp, t)) continue;
    const perp_exact_sides side = perp_exact_sides_of(lcp, lcp->fric_of[t]);
    if (!side.up) gap -= lcp->mu[t] * fabs(s->u[t]) * fmax(side.hi, 0);
  }
  return gap;
}

static bool strict_is(const strict *s)
{
  for (int j = 0; j < s->p->n; j++) {
    const perp_exact_sides side = perp_exact_sides_of(s->p, j);
    if (side.down != side.up && s->size[j] > 0 &&
        !(s->v[j] <= -4 * (s->p->n + 4) * DBL_EPSILON * s->size[j]))
      return false;
  }
  return true;
}

bool perp_lcp_strict(const perp_lcp *lcp, const double *z, double *out)
{
  int n = lcp->n, nv = lcp->F != NULL ? lcp->F->nv : 0;
  strict s = { .p = lcp };
  double *block = perp_exact_alloc(10 * n + 2 * n + 4 * nv, sizeof *block);
  int *index = perp_exact_alloc(2 * n, sizeof *index);
  double **part[] = { &s.u, &s.c, &s.v, &s.size, &s.weight, &s.a };
  double *take = block, top = 0;
  for (size_t k = 0; k < sizeof part / sizeof *part; k++, take += n) *part[k] = take;
  double *kept = take, *dz = kept + n, *row = dz + n;
  s.rest = row + n;
  s.equation = index;
  s.still = index + n;
  perp_lcp_absolute(lcp, z, true, s.a, s.c, s.rest, s.rest + n);
  for (int i = 0; i < n; i++) top = fmax(top, fabs(z[i]) * s.a[i]);
  for (int i = 0; i < n; i++) {
    kept[i] = fabs(z[i]) * s.a[i] > STRICT_SMALL * top ? z[i] : 0;
    s.rows += kept[i] != 0;
  }
  bool found = false;
  if (strict_measure(&s, kept) && strict_number(&s) && s.equations <= s.rows) {
    double gap = strict_gap(&s, kept), most = 0;
    memcpy(out, kept, (size_t)n * sizeof *out);
    found = gap > 0 && strict_is(&s);
    if (!found && gap > 0 && s.equations > 0 && strict_direction(&s, kept, dz, row)) {
      for (int i = 0; i < n; i++)
        if (kept[i] != 0) most = fmax(most, fabs(dz[i] / kept[i]));
      double e = 0.5 / fmax(most, 0.5);
      for (int step = 0; step < 24 && !found; step++, e /= 4) {
        for (int i = 0; i < n; i++) out[i] = kept[i] + e * dz[i];
        found = strict_measure(&s, out) && strict_is(&s) && strict_gap(&s, out) > gap / 2;
      }
    }
  }
  free(block);
  free(index);
  return found;
}
