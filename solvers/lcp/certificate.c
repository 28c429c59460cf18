/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Independent verification of certificates: Farkas vectors and Lemke rays (definitions in lcp.h).
 *
 * Farkas, for any A: let z'w >= 0 hold for every solution because of the signs of z.  With u = A'z,
 *
 *      0 <= z'w = u'lambda + b'z  for every lambda within its bounds
 *
 * so sup u'lambda + b'z < 0 leaves no solution.  The vectors that methods hand over are rounded: u
 * has small parts on sides without a bound, and the supremum is infinite.  So, in turn (exact.h):
 *   1. a vector near z that does not mind rounding, where there is one (certificate_strict.c); z as
 * it is, without rounding: a proof, or the radius within which it is one;
 *   2. its rows alone: the vertex of the exact conditions that z points to, and from there to the
 * end;
 *   3. for small problems all rows. */
#include "solvers/lcp/exact_lcp.h"
#include "solvers/lcp/lcp_private.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 400000, ALL_ROWS = 24, SEARCH_ROWS = 600 };

/* Entries whose sign says nothing about w are dropped; false when nothing is left. */
static bool certificate_admissible(const perp_lcp *lcp, const double *z, double *out)
{
  bool any = false;
  for (int i = 0; i < lcp->n; i++) {
    out[i] = 0;
    if (!isfinite(z[i])) continue;
    const perp_exact_sides side = perp_exact_sides_of(lcp, i);
    if ((side.up && (side.down || z[i] > 0)) || (side.down && z[i] < 0)) out[i] = z[i];
    any = any || out[i] != 0;
  }
  return any;
}

/* z >= 0, A z + theta e >= 0, z_i (A z + theta e)_i = 0 */
static bool is_ray(const perp_lcp *lcp, const double *z, double *y, double *c, double *a,
                   double *scratch)
{
  int n = lcp->n;
  double largest = 0, theta = 0;
  if (perp_lcp_needs(lcp) != 0) return false;
  if (lcp->F != NULL)
    perp_blocks_A(lcp->F, z, y, scratch + n);
  else {
    for (int i = 0; i < n; i++) y[i] = 0;
    if (lcp->C != NULL) perp_columns_times(lcp->C, z, y);
    for (int j = 0; lcp->A != NULL && j < n; j++)
      for (int i = 0; i < n; i++) y[i] += lcp->A[(size_t)i + (size_t)j * (size_t)lcp->lda] * z[j];
  }
  perp_lcp_absolute(lcp, z, false, a, c, scratch, scratch + n);
  for (int i = 0; i < n; i++) {
    largest = fmax(largest, z[i]);
    theta = fmax(theta, -y[i]);
  }
  for (int i = 0; i < n; i++)
    if (z[i] > 1e-9 * largest && y[i] + theta > 1e-9 * c[i]) return false;
  return largest > 0;
}

/* ---- z as it is ---- */

/* Weights of the basic rows, integers times a common power of two: z in the units of the
 * dictionary, and what the limits of friction rows need to make their columns <= 0.  y [m] */
static void certificate_weights(perp_exact_lcp *lcp, const double *z, mpz_t *y)
{
  perp_exact *exact = &lcp->E;
  int n = lcp->p->n, width = exact->k + 1;
  mpq_t q;
  mpz_t s;
  mpq_init(q);
  mpz_init(s);
  long low = LONG_MAX, room = 0;
  for (int t = 0; t < n; t++)
    if (lcp->limit[t] >= 0) {
      int r = lcp->limit[t] - exact->k;
      long e = (long)mpz_scan1(exact->D[(size_t)r * width + 1 + t], 0);
      if (e > room) room = e;
    }
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1) low -= room; /* so that the limits can be met without rounding */
    for (int i = 0; i < n; i++) {
      if (lcp->w[i] < 0 || z[i] == 0) continue;
      int r = lcp->w[i] - exact->k;
      mpq_set_d(q, fabs(z[i]));
      long bit = (long)mpz_scan1(mpq_numref(q), 0) - (long)mpz_scan1(mpq_denref(q), 0);
      if (pass == 0) {
        if (bit - exact->row[r] < low) low = bit - exact->row[r];
        continue;
      }
      /* |z| 2^(-row - low): the odd part times a power of two that is not negative */
      mpz_tdiv_q_2exp(y[r], mpq_numref(q), mpz_scan1(mpq_numref(q), 0));
      mpz_mul_2exp(y[r], y[r], (mp_bitcnt_t)(bit - exact->row[r] - low));
      /* -w where only the upper bound is finite: its weight is -z > 0 */
      if (z[i] < 0 && exact->v[lcp->w[i]].kind == PERP_EXACT_FIXED) mpz_neg(y[r], y[r]);
    }
  }
  for (int t = 0; t < n; t++) {
    if (lcp->limit[t] < 0) continue;
    mpz_set_ui(s, 0);
    for (int i = 0; i < n; i++)
      if (lcp->w[i] >= 0) {
        int r = lcp->w[i] - exact->k;
        mpz_addmul(s, y[r], exact->D[(size_t)r * width + 1 + t]);
      }
    /* row of the limit: -2^e in the column of t; y 2^e >= s */
    if (mpz_sgn(s) > 0) {
      int r = lcp->limit[t] - exact->k;
      mpz_neg(exact->t, exact->D[(size_t)r * width + 1 + t]);
      mpz_divexact(y[r], s, exact->t);
    }
  }
  mpq_clear(q);
  mpz_clear(s);
}

/* The radius within which z excludes solutions: HUGE_VAL everywhere, 0 nowhere. */
static double exact_radius(perp_exact_lcp *X, const double *z)
{
  perp_exact *exact = &X->E;
  const perp_lcp *lcp = X->p;
  int width = exact->k + 1;
  mpz_t *y = perp_exact_alloc(exact->m, sizeof *y), u, sup;
  for (int i = 0; i < exact->m; i++) mpz_init(y[i]);
  mpz_inits(u, sup, NULL);
  certificate_weights(X, z, y);
  mpq_t most, q;
  mpq_inits(most, q, NULL);
  double shift = 0;
  for (int j = 0; j <= exact->k; j++) {
    mpz_set_ui(u, 0);
    for (int i = 0; i < exact->m; i++)
      if (mpz_sgn(y[i]) != 0) mpz_addmul(u, y[i], exact->D[(size_t)i * width + j]);
    if (j == 0) {
      mpz_set(sup, u);
      continue;
    }
    const perp_exact_var *var = &exact->v[j - 1];
    int sign = mpz_sgn(u);
    if (sign == 0 || var->kind == PERP_EXACT_FIXED) continue;
    if (var->kind == PERP_EXACT_BOX) {
      if (sign > 0) mpz_addmul(sup, u, var->U);
    } else if (sign > 0 || var->kind == PERP_EXACT_FREE) {
      /* u y <= |u| 2^(column_0 - column_j) |x| */
      mpq_set_z(q, u);
      mpq_abs(q, q);
      long by = exact->column[0] - exact->column[j];
      if (by >= 0)
        mpq_mul_2exp(q, q, (mp_bitcnt_t)by);
      else
        mpq_div_2exp(q, q, (mp_bitcnt_t)-by);
      if (perp_exact_is_friction(lcp, j - 1)) mpq_mul_2exp(q, q, 1); /* turned axes of a cone */
      if (mpq_cmp(q, most) > 0) mpq_set(most, q);
      const perp_exact_sides side = perp_exact_sides_of(lcp, j - 1);
      if (!side.down || !side.up) shift += fabs(!side.down ? side.lo : side.hi);
    }
  }
  exact->work += (int64_t)exact->m * width * 4;
  double radius = 0;
  if (mpz_sgn(sup) < 0) {
    radius = HUGE_VAL;
    if (mpq_sgn(most) > 0) {
      mpq_set_z(q, sup);
      mpq_neg(q, q);
      mpq_div(q, q, most);
      /* truncated; |x|_1 < radius follows from |lambda|_1 < radius - shift */
      radius = fmax(mpq_get_d(q) - shift * (1 + exact->k * DBL_EPSILON), 0) * (1 - 2 * DBL_EPSILON);
      if (!(radius <= DBL_MAX)) radius = DBL_MAX;
    }
  }
  for (int i = 0; i < exact->m; i++) mpz_clear(y[i]);
  mpz_clears(u, sup, NULL);
  mpq_clears(most, q, NULL);
  free(y);
  return radius;
}

/* ---- the vertex that z points to ---- */

/* The dictionary in doubles, its rows over their largest numbers top [m], 1 of a row of zeros;
 * false when it does not fit. */
static bool in_doubles(const perp_exact *exact, double *G, double *top)
{
  int width = exact->k + 1;
  for (int i = 0; i < exact->m; i++) {
    top[i] = 0;
    for (int j = 0; j < exact->k; j++) {
      double *g = &G[(size_t)i * exact->k + j];
      *g = mpz_get_d(exact->D[(size_t)i * width + 1 + j]);
      if (!isfinite(*g)) return false;
      top[i] = fmax(top[i], fabs(*g));
    }
    if (top[i] == 0) top[i] = 1;
    for (int j = 0; j < exact->k; j++) G[(size_t)i * exact->k + j] /= top[i];
  }
  return true;
}

static void certificate_swap(int *a, int *b)
{
  const int kept = *a;
  *a = *b;
  *b = kept;
}

/* Bring to the dictionary where the rows of z, but one, are nonbasic, and columns with u = 0 basic.
 */
static void certificate_approach(perp_exact_lcp *lcp, const double *z)
{
  perp_exact *exact = &lcp->E;
  int m = exact->m, k = exact->k, n = lcp->p->n, rows = 0, cols = 0;
  double *G = perp_exact_alloc(m * k, sizeof *G), *u = perp_exact_alloc(k, sizeof *u);
  double *size = perp_exact_alloc(m, sizeof *size);
  int *row = perp_exact_alloc(m, sizeof *row), *col = perp_exact_alloc(k, sizeof *col);
  if (in_doubles(exact, G, size)) {
    double top = 0, *y = perp_exact_alloc(m, sizeof *y), *c = perp_exact_alloc(k, sizeof *c);
    for (int i = 0; i < n; i++) {
      if (lcp->w[i] < 0 || z[i] == 0) continue;
      int r = lcp->w[i] - k;
      bool turned = z[i] < 0 && exact->v[lcp->w[i]].kind == PERP_EXACT_UP;
      y[r] = ldexp(turned ? -z[i] : z[i], (int)-exact->row[r]) * size[r];
      if (isfinite(y[r])) top = fmax(top, fabs(y[r]));
    }
    for (int t = 0; t < n; t++) { /* limits of friction rows, as in weights() */
      if (lcp->limit[t] < 0) continue;
      int r = lcp->limit[t] - k;
      double s = 0;
      for (int i = 0; i < m; i++) s += y[i] * G[(size_t)i * k + t];
      if (s > 0) y[r] = s / -G[(size_t)r * k + t];
    }
    for (int i = 0; i < m; i++)
      if (fabs(y[i]) > 1e-9 * top) row[rows++] = i;
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < k; j++) {
        u[j] += y[row[i]] * G[(size_t)row[i] * k + j];
        c[j] += fabs(y[row[i]] * G[(size_t)row[i] * k + j]);
      }
    for (int j = 0; j < k; j++) {
      unsigned char kind = exact->v[j].kind;
      bool zero = fabs(u[j]) <= 1e-7 * c[j];
      if (kind == PERP_EXACT_BOX && u[j] > 0 && !zero) perp_exact_reflect(exact, j);
      if (kind != PERP_EXACT_FIXED && c[j] > 0 && (zero || kind == PERP_EXACT_FREE))
        col[cols++] = j;
    }
    free(y);
    free(c);
  }
  /* elimination with complete pivoting, free columns first */
  for (int step = 0; step < rows - 1 && step < cols && exact->work <= exact->budget; step++) {
    double most = 0;
    int r = -1, c = -1;
    bool free_one = false;
    for (int i = step; i < rows; i++)
      for (int j = step; j < cols; j++) {
        double g = fabs(G[(size_t)row[i] * k + col[j]]);
        bool f = exact->v[col[j]].kind == PERP_EXACT_FREE && g > 1e-9;
        if (f < free_one || (f == free_one && g <= most)) continue;
        most = g;
        free_one = f;
        r = i;
        c = j;
      }
    if (!(most > 1e-9)) break;
    certificate_swap(&row[r], &row[step]);
    certificate_swap(&col[c], &col[step]);
    const double *P = G + (size_t)row[step] * k;
    for (int i = step + 1; i < rows; i++) {
      double *Q = G + (size_t)row[i] * k, f = Q[col[step]] / P[col[step]];
      for (int j = step; j < cols && f != 0; j++) Q[col[j]] -= f * P[col[j]];
    }
    if (mpz_sgn(exact->D[(size_t)row[step] * (k + 1) + 1 + col[step]]) != 0)
      perp_exact_pivot(exact, row[step], 1 + col[step]);
  }
  free(G);
  free(u);
  free(size);
  free(row);
  free(col);
}

/* z of the basic row r that shows that it is impossible, rounded where doubles cannot hold it. */
static void certificate_extract(const perp_exact_lcp *lcp, int r, double *z)
{
  const perp_exact *exact = &lcp->E;
  const mpz_t *D = (const mpz_t *)exact->D + (size_t)r * (size_t)(exact->k + 1);
  mpz_t g, y;
  mpz_inits(g, y, NULL);
  mpz_set(g, exact->d);
  for (int c = 1; c <= exact->k; c++) mpz_gcd(g, g, D[c]);
  long base = LONG_MIN;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < lcp->p->n; i++) {
      int v = lcp->w[i];
      if (pass == 0) z[i] = 0;
      if (v < 0) continue;
      mpz_set_ui(y, 0);
      if (exact->basic[r] == v) mpz_set(y, exact->d);
      for (int c = 1; c <= exact->k; c++)
        if (exact->non[c - 1] == v) mpz_neg(y, D[c]);
      if (mpz_sgn(y) == 0) continue;
      if (exact->v[v].sign < 0) mpz_neg(y, y);
      const perp_exact_sides side = perp_exact_sides_of(lcp->p, i);
      if (side.down && !side.up) mpz_neg(y, y);
      mpz_divexact(y, y, g);
      long e;
      double f = mpz_get_d_2exp(&e, y);
      e += exact->row[v - exact->k];
      if (pass == 0) {
        if (e > base) base = e;
      } else
        z[i] = e - base < -2000 ? 0 : ldexp(f, (int)(e - base));
    }
  mpz_clears(g, y, NULL);
}

static bool certificate_search(const perp_lcp *lcp, const double *z, const bool *keep,
                               const double *u, int64_t *budget, bool hopeful, double *radius,
                               double *exact)
{
  perp_exact_lcp X;
  int row;
  perp_exact_lcp_new(&X, lcp, keep, u, *budget);
  *radius = exact_radius(&X, z);
  bool proved = *radius == HUGE_VAL;
  if (proved)
    memcpy(exact, z, (size_t)lcp->n * sizeof *z);
  else if (hopeful && X.E.work < X.E.budget) {
    certificate_approach(&X, z);
    proved = perp_exact_decide(&X.E, &row) == PERP_EXACT_IMPOSSIBLE;
    if (proved) certificate_extract(&X, row, exact);
  }
  *budget -= X.E.work;
  perp_exact_lcp_free(&X);
  return proved;
}

/* |u_t| of friction row i, of a cone all of it at its first row */
static double certificate_tangential(const perp_lcp *lcp, const double *u, int i)
{
  if (lcp->cone != NULL && lcp->cone[i]) return hypot(u[i], u[i + 1]);
  return lcp->cone != NULL && i > 0 && lcp->cone[i - 1] ? 0 : fabs(u[i]);
}

/* Is the gap of a proof z more than what rounding of b (and bounds) may have made?  Data that agree
 * up to rounding, as redundant contacts do, seldom agree exactly. */
static bool stands_out(const perp_lcp *lcp, const double *z, double *u, double *c, double *a,
                       double *rest)
{
  double gap = 0, size = 0;
  perp_lcp_transposed(lcp, z, u, rest + lcp->n);
  perp_lcp_absolute(lcp, z, true, a, c, rest, rest + lcp->n);
  for (int i = 0; i < lcp->n; i++)
    if (perp_exact_is_friction(lcp, i)) {
      u[lcp->fric_of[i]] += lcp->mu[i] * certificate_tangential(lcp, u, i);
      c[lcp->fric_of[i]] += lcp->mu[i] * c[i];
    }
  for (int i = 0; i < lcp->n; i++) {
    gap -= lcp->b[i] * z[i];
    size += fabs(lcp->b[i] * z[i]);
    if (perp_exact_is_friction(lcp, i)) continue;
    const perp_exact_sides side = perp_exact_sides_of(lcp, i);
    double top = -HUGE_VAL;
    if (!side.down) top = fmax(top, u[i] * side.lo);
    if (!side.up) top = fmax(top, u[i] * side.hi);
    if (!(top > -HUGE_VAL)) continue;
    gap -= top;
    size += c[i] * fmax(!side.down ? fabs(side.lo) : 0, !side.up ? fabs(side.hi) : 0);
  }
  return gap > 64 * lcp->n * DBL_EPSILON * size;
}

/* A vector near z with room to spare, verified. */
static bool certificate_strictly(const perp_lcp *lcp, const double *z, int64_t *budget,
                                 double *exact, double *scratch)
{
  int n = lcp->n;
  double *near = perp_exact_alloc(2 * n, sizeof *near), *u = near + n, radius;
  bool *keep = perp_exact_alloc(n, sizeof *keep), proved = false;
  if (perp_lcp_strict(lcp, z, near)) {
    for (int i = 0; i < n; i++) keep[i] = near[i] != 0;
    perp_lcp_transposed(lcp, near, u, scratch + n);
    proved = certificate_search(lcp, near, keep, u, budget, false, &radius, exact);
  }
  free(near);
  free(keep);
  return proved;
}

/* GMP ends the process where there is no memory: better no proof.  What the numbers of rows and
 * limits take, nearly. */
static bool certificate_affordable(const perp_lcp *lcp, int rows)
{
  enum { BYTES = 160 };
  void *probe = malloc((size_t)rows * (size_t)(lcp->n + 1) * BYTES + 1);
  free(probe);
  return probe != NULL;
}

/* all: every row of a small problem, whatever z is */
static perp_lcp_proof certificate_weigh(const perp_lcp *lcp, const double *z, int64_t budget,
                                        bool all, double *exact, double *radius, double *scratch)
{
  int n = lcp->n;
  double *x = scratch, *u = x + n, *c = u + n, *a = c + n, *rest = a + n, data = DBL_MIN, gap = 0;
  double r = 0, noise = 0;
  bool any = certificate_admissible(lcp, z, x), *keep = perp_exact_alloc(n, sizeof *keep);
  double *push = perp_exact_alloc(n, sizeof *push);
  perp_lcp_transposed(lcp, x, u, rest + n);
  perp_lcp_absolute(lcp, x, true, a, c, rest, rest + n);
  int rows = 0, limits = 0, askable = 0;
  for (int i = 0; i < n; i++) {
    data = fmax(data, fabs(lcp->b[i]) / a[i]);
    gap -= lcp->b[i] * x[i];
    rows += keep[i] = x[i] != 0;
    if (perp_exact_is_friction(lcp, i)) {
      limits++;
      push[lcp->fric_of[i]] += lcp->mu[i] * certificate_tangential(lcp, u, i);
    }
  }
  for (int i = 0; i < n; i++) {
    if (perp_exact_is_friction(lcp, i)) continue;
    const perp_exact_sides side = perp_exact_sides_of(lcp, i);
    const double up = u[i] + push[i];
    askable += side.down || side.up;
    data = fmax(data, fmax(side.down ? 0 : side.lo, side.up ? 0 : -side.hi));
    noise = fmax(noise, fmax(side.down ? -u[i] : 0, side.up ? up : 0));
    const double most = fmax(side.down ? -HUGE_VAL : u[i] * side.lo,
                             side.up ? -HUGE_VAL : up * side.hi);
    if (most > -HUGE_VAL) gap -= most;
  }
  bool proved = false;
  bool anywhere = all && n <= SEARCH_ROWS;
  all = all && n <= ALL_ROWS;
  if (any && (int64_t)(rows + limits) * (n + 1) <= MOST_NUMBERS &&
      certificate_affordable(lcp, rows + limits)) {
    bool near = gap > 0 && noise <= 1e-3 * gap / data; /* else a search is hardly worth it */
    proved = near && certificate_strictly(lcp, x, &budget, exact, rest);
    if (!proved) proved = certificate_search(lcp, x, keep, u, &budget, near || all, &r, exact);
  }
  if (!proved && anywhere && certificate_affordable(lcp, n) && perp_lcp_search(lcp, exact))
    proved = certificate_strictly(lcp, exact, &budget, exact, rest);
  if (!proved && all && rows < askable && budget > 0) {
    double ignored;
    for (int i = 0; i < n; i++) {
      const perp_exact_sides side = perp_exact_sides_of(lcp, i);
      keep[i] = side.down || side.up;
    }
    proved = certificate_search(lcp, x, keep, u, &budget, true, &ignored, exact);
  }
  free(keep);
  free(push);
  if (radius != NULL) *radius = proved ? HUGE_VAL : r;
  if (proved && stands_out(lcp, exact, u, c, a, rest)) return PERP_PROOF_INFEASIBLE;
  if (!proved && r > 1e8 * data) return PERP_PROOF_WITHIN;
  if (radius != NULL) *radius = 0;
  return is_ray(lcp, x, u, c, a, rest) ? PERP_PROOF_RAY : PERP_PROOF_NONE;
}

perp_lcp_proof perp_lcp_glance(const perp_lcp *lcp, const double *z, double *scratch)
{
  const int n = lcp->n;
  const double eps = (n + 4) * DBL_EPSILON;
  double *x = scratch, *u = x + n, *c = u + n, *a = c + n, *rest = a + n;
  double gap = 0, noise = DBL_MIN, data = DBL_MIN, shift = 0;
  if (!certificate_admissible(lcp, z, x)) return PERP_PROOF_NONE;
  perp_lcp_transposed(lcp, x, u, rest + n);
  perp_lcp_absolute(lcp, x, true, a, c, rest, rest + n);
  for (int i = 0; i < n; i++) {
    data = fmax(data, fabs(lcp->b[i]) / a[i]);
    gap -= lcp->b[i] * x[i] + eps * fabs(lcp->b[i] * x[i]);
    if (!perp_exact_is_friction(lcp, i)) continue;
    u[lcp->fric_of[i]] += lcp->mu[i] * certificate_tangential(lcp, u, i);
    c[lcp->fric_of[i]] += lcp->mu[i] * (2 * c[i]);
  }
  for (int i = 0; i < n; i++) {
    if (perp_exact_is_friction(lcp, i)) continue;
    const perp_exact_sides side = perp_exact_sides_of(lcp, i);
    const double off = eps * c[i];
    const double low = side.down ? -HUGE_VAL : u[i] * side.lo + off * fabs(side.lo);
    const double high = side.up ? -HUGE_VAL : u[i] * side.hi + off * fabs(side.hi);
    data = fmax(data, fmax(side.down ? 0 : side.lo, side.up ? 0 : -side.hi));
    noise = fmax(noise, fmax(side.down ? off - u[i] : 0, side.up ? off + u[i] : 0));
    if (fmax(low, high) > -HUGE_VAL) gap -= fmax(low, high);
    if (side.down != side.up) shift += side.down ? fabs(side.hi) : fabs(side.lo);
  }
  /* |lambda|_1 >= gap / noise - shift for every solution: rows with one bound are counted from it
   */
  if (gap > (1e8 * data + shift) * noise) return PERP_PROOF_WITHIN;
  return is_ray(lcp, x, u, c, a, rest) ? PERP_PROOF_RAY : PERP_PROOF_NONE;
}

perp_lcp_proof perp_lcp_sharpen(const perp_lcp *lcp, const double *z, double *exact,
                                double *scratch)
{
  double *found = perp_exact_alloc(lcp->n, sizeof *found);
  perp_lcp_proof proof = certificate_weigh(lcp, z, PERP_PROOF_WORK, true, found, NULL, scratch);
  if (proof == PERP_PROOF_INFEASIBLE) memcpy(exact, found, (size_t)lcp->n * sizeof *found);
  free(found);
  return proof;
}

perp_lcp_proof perp_lcp_prove(const perp_lcp *lcp, const double *z, double *radius, double *scratch)
{
  double *found = perp_exact_alloc(lcp->n, sizeof *found);
  perp_lcp_proof proof = certificate_weigh(lcp, z, PERP_PROOF_WORK, false, found, radius, scratch);
  free(found);
  return proof;
}
