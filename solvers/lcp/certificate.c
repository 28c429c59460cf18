/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Independent verification of certificates: Farkas vectors and Lemke rays (definitions in lcp.h).
 *
 * Farkas, for any A: let z'w >= 0 hold for every solution because of the signs of z.  With u = A'z,
 *      0 <= z'w = u'lambda + b'z  for every lambda within its bounds,
 * so sup u'lambda + b'z < 0 leaves no solution.  All quantities are computed with a bound on their
 * rounding, n eps |A'||z|, which is added to the unfavourable side.  O(n^2) dense. */
#include "solvers/lcp/internal.h"

#include <float.h>
#include <math.h>

static bool is_friction(const perp_lcp *p, int i)
{
  return p->fric_of != NULL && p->fric_of[i] >= 0 && !p->frozen;
}

/* u = A'z */
static void transposed_product(const perp_lcp *p, const double *z, double *u, double *scratch)
{
  if (p->F != NULL) {
    perp_blocks_A(p->F, z, u, scratch);
    return;
  }
  for (int j = 0; j < p->n; j++) {
    const double *col = p->A + (size_t)j * (size_t)p->lda;
    double sum = 0;
    for (int i = 0; i < p->n; i++) sum += col[i] * z[i];
    u[j] = sum;
  }
}

/* Entries whose sign says nothing about w are dropped. */
static void admissible(const perp_lcp *p, const double *z, double *out)
{
  for (int i = 0; i < p->n; i++) {
    out[i] = 0;
    if (is_friction(p, i) || !isfinite(z[i])) continue;
    double lo, hi;
    perp_lcp_bounds(p, z, i, &lo, &hi);
    bool down = lo == -HUGE_VAL, up = hi == HUGE_VAL;
    if (up && (down || z[i] > 0)) out[i] = z[i];
    if (down && !up && z[i] < 0) out[i] = z[i];
  }
}

/* gap / e of the Farkas argument; 0 when z proves nothing.  u is overwritten. */
static double farkas_radius(const perp_lcp *p, const double *z, double *u, const double *c)
{
  int n = p->n;
  double eps = n * DBL_EPSILON, sup = 0, e = DBL_MIN;
  /* a friction row contributes at most mu |u_t| lambda_n */
  for (int i = 0; i < n; i++) {
    if (!is_friction(p, i)) continue;
    double t = fabs(u[i]) + eps * c[i];
    if (p->cone != NULL && p->cone[i]) {
      t = hypot(t, fabs(u[i + 1]) + eps * c[i + 1]);
      u[p->fric_of[i]] += p->mu[i] * t;
      i++;
    } else
      u[p->fric_of[i]] += p->mu[i] * t;
  }
  for (int i = 0; i < n; i++) {
    double b = p->b[i] * z[i];
    sup += b + eps * fabs(b);
    if (is_friction(p, i)) continue;
    double lo, hi, d = eps * c[i];
    perp_lcp_bounds(p, z, i, &lo, &hi);
    bool down = lo == -HUGE_VAL, up = hi == HUGE_VAL;
    double plus = fmax(u[i] + d, 0), minus = fmax(d - u[i], 0);
    if (up) e = fmax(e, plus);
    if (down) e = fmax(e, minus);
    if (up && !down)
      sup += u[i] * lo + (d + plus) * fabs(lo);
    else if (down && !up)
      sup += u[i] * hi + (d + minus) * fabs(hi);
    else if (!up && !down)
      sup += fmax(u[i] * lo + d * fabs(lo), u[i] * hi + d * fabs(hi));
  }
  return sup < 0 ? -sup / e : 0;
}

/* z >= 0, A z + theta e >= 0, z_i (A z + theta e)_i = 0 */
static bool is_ray(const perp_lcp *p, const double *z, double *y, double *c, double *a,
                   double *scratch)
{
  int n = p->n;
  double largest = 0, theta = 0;
  if (perp_lcp_needs(p) != 0) return false;
  if (p->F != NULL)
    perp_blocks_A(p->F, z, y, scratch + n);
  else {
    for (int i = 0; i < n; i++) y[i] = 0;
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) y[i] += p->A[(size_t)i + (size_t)j * (size_t)p->lda] * z[j];
  }
  perp_lcp_absolute(p, z, false, a, c, scratch, scratch + n);
  for (int i = 0; i < n; i++) {
    largest = fmax(largest, z[i]);
    theta = fmax(theta, -y[i]);
  }
  for (int i = 0; i < n; i++)
    if (z[i] > 1e-9 * largest && y[i] + theta > 1e-9 * c[i]) return false;
  return largest > 0;
}

perp_lcp_proof perp_lcp_prove(const perp_lcp *p, const double *z, double *radius, double *scratch)
{
  int n = p->n;
  double *x = scratch, *u = x + n, *c = u + n, *a = c + n, *rest = a + n, data = DBL_MIN;
  if (radius != NULL) *radius = 0;
  admissible(p, z, x);
  transposed_product(p, x, u, rest + n);
  perp_lcp_absolute(p, x, true, a, c, rest, rest + n);
  for (int i = 0; i < n; i++) {
    data = fmax(data, fabs(p->b[i]) / a[i]);
    if (is_friction(p, i)) continue;
    double lo, hi;
    perp_lcp_bounds(p, x, i, &lo, &hi);
    data = fmax(data, fmax(lo, -hi));
  }
  double r = farkas_radius(p, x, u, c);
  if (r > 1e8 * data) {
    if (radius != NULL) *radius = r;
    return PERP_PROOF_INFEASIBLE;
  }
  return is_ray(p, x, u, c, a, rest) ? PERP_PROOF_RAY : PERP_PROOF_NONE;
}
