/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/exact_lcp.h"
#include "solvers/lcp/lcp_private.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Zeros, to be given to lcp_numbers_free. */
static mpq_t *lcp_numbers(int count)
{
  mpq_t *q = perp_exact_alloc(count, sizeof *q);
  for (int i = 0; i < count; i++) mpq_init(q[i]);
  return q;
}

static void lcp_numbers_free(mpq_t *q, int count)
{
  for (int i = 0; i < count; i++) mpq_clear(q[i]);
  free(q);
}

/* out += x y */
static void lcp_add(mpq_t out, mpq_srcptr x, double y, mpq_t scratch)
{
  if (y == 0 || mpq_sgn(x) == 0) return;
  mpq_set_d(scratch, y);
  mpq_mul(scratch, scratch, x);
  mpq_add(out, out, scratch);
}

/* out [n] = row i of J M^-1 J' + S */
static void lcp_factored_row(const perp_blocks *blocks, int i, mpq_t *out)
{
  mpq_t v, s;
  mpq_inits(v, s, NULL);
  int g = 0;
  while (blocks->cptr[g + 1] <= i) g++;
  int rows = blocks->cptr[g + 1] - blocks->cptr[g];
  for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
    int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b], step;
    const double *J = blocks->J + blocks->joff[k] + (i - blocks->cptr[g]);
    const double *inverse = perp_lcp_inverse(blocks, b, &step);
    for (int c = 0; c < d; c++) {
      mpq_set_ui(v, 0, 1);
      mpq_t x;
      mpq_init(x);
      for (int a = 0; a < d; a++) {
        double m = step == 0 ? inverse[a + c * d] : a == c ? inverse[step * c] : 0;
        if (m == 0 || J[a * rows] == 0) continue;
        mpq_set_d(x, J[a * rows]);
        lcp_add(v, x, m, s);
      }
      mpq_clear(x);
      if (mpq_sgn(v) == 0) continue;
      for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++) {
        int other = blocks->tsub[t], h = blocks->jgrp[other], first = blocks->cptr[h];
        int many = blocks->cptr[h + 1] - first;
        for (int r = 0; r < many; r++)
          lcp_add(out[first + r], v, blocks->J[blocks->joff[other] + r + c * many], s);
      }
    }
  }
  if (blocks->s != NULL) {
    mpq_set_d(s, blocks->s[i]);
    mpq_add(out[i], out[i], s);
  }
  mpq_clears(v, s, NULL);
}

static void lcp_square(mpq_t out, double x)
{
  mpq_set_d(out, x);
  mpq_mul(out, out, out);
}

/* Least m, nearly, with  m |(x, y)| >= mu. */
static double lcp_outer(double mu, double x, double y)
{
  double m = mu / hypot(x, y);
  mpq_t a, b, c;
  mpq_inits(a, b, c, NULL);
  lcp_square(c, x);
  lcp_square(b, y);
  mpq_add(c, c, b); /* |(x, y)|^2 */
  lcp_square(b, mu);
  for (;; m = nextafter(m, HUGE_VAL)) {
    lcp_square(a, m);
    mpq_mul(a, a, c);
    if (mpq_cmp(a, b) >= 0) break;
  }
  mpq_clears(a, b, c, NULL);
  return m;
}

/* One row of coefficients of (1, lambda) -> (1, x): R [n + 1], a [n + 1] with the constant first.
 */
static void lcp_substitute(const perp_exact_lcp *X, mpq_t *a, mpq_t *R, mpq_t *upper)
{
  const perp_lcp *lcp = X->p;
  mpq_t s, x, y;
  mpq_inits(s, x, y, NULL);
  mpq_set(R[0], a[0]);
  for (int j = 0; j < lcp->n; j++) mpq_set_ui(R[1 + j], 0, 1);
  for (int j = 0; j < lcp->n; j++) {
    double lo, hi;
    if (!perp_exact_is_friction(lcp, j)) {
      perp_lcp_bounds(lcp, NULL, j, &lo, &hi);
      bool down = lo == -HUGE_VAL && hi < HUGE_VAL;
      if (down)
        mpq_sub(R[1 + j], R[1 + j], a[1 + j]);
      else
        mpq_add(R[1 + j], R[1 + j], a[1 + j]);
      lcp_add(R[0], a[1 + j], down ? hi : lo > -HUGE_VAL ? lo : 0, s);
      continue;
    }
    int normal = lcp->fric_of[j], rows = lcp->cone != NULL && lcp->cone[j] ? 2 : 1;
    perp_lcp_bounds(lcp, NULL, normal, &lo, &hi);
    mpq_t *t[2] = { &a[1 + j], &a[1 + j] };
    if (rows == 2) {
      /* lambda_T = alpha (p0, p1) + beta (-p1, p0) */
      lcp_add(x, a[1 + j], X->p0[j], s);
      lcp_add(x, a[2 + j], X->p1[j], s);
      lcp_add(y, a[1 + j], -X->p1[j], s);
      lcp_add(y, a[2 + j], X->p0[j], s);
      t[0] = &x;
      t[1] = &y;
    }
    for (int k = 0; k < rows; k++) {
      mpq_set(R[1 + j + k], *t[k]);
      if (X->limit[j + k] >= 0) {
        lcp_add(R[1 + normal], *t[k], -X->mu[j], s);
        mpq_set_d(s, X->mu[j]);
        mpq_mul(s, s, *t[k]);
        mpq_neg(s, s);
        lcp_add(R[0], s, lo, a[0]); /* a[0] has been read */
      } else if (mpq_sgn(upper[j + k]) > 0) {
        mpq_mul(s, *t[k], upper[j + k]);
        mpq_div_2exp(s, s, 1);
        mpq_sub(R[0], R[0], s);
      }
    }
    mpq_set_ui(x, 0, 1);
    mpq_set_ui(y, 0, 1);
    j += rows - 1;
  }
  mpq_clears(s, x, y, NULL);
}

/* What kind of variable lambda_j is, and its upper end. */
static void lcp_columns(perp_exact_lcp *X, const double *u, unsigned char *kind, mpq_t *upper)
{
  const perp_lcp *lcp = X->p;
  mpq_t s;
  mpq_init(s);
  for (int j = 0; j < lcp->n; j++) {
    double lo, hi;
    kind[j] = PERP_EXACT_UP;
    if (!perp_exact_is_friction(lcp, j)) {
      perp_lcp_bounds(lcp, NULL, j, &lo, &hi);
      if (lo == -HUGE_VAL && hi == HUGE_VAL) kind[j] = PERP_EXACT_FREE;
      if (lo == hi) kind[j] = PERP_EXACT_FIXED;
      if (lo > -HUGE_VAL && hi < HUGE_VAL && lo < hi) {
        kind[j] = PERP_EXACT_BOX;
        mpq_set_d(upper[j], hi);
        mpq_set_d(s, lo);
        mpq_sub(upper[j], upper[j], s);
      }
      continue;
    }
    bool cone = lcp->cone != NULL && lcp->cone[j];
    X->mu[j] = lcp->mu[j];
    X->p0[j] = 1;
    if (cone && u != NULL && isfinite(u[j]) && isfinite(u[j + 1]) && (u[j] != 0 || u[j + 1] != 0)) {
      double size = fmax(fabs(u[j]), fabs(u[j + 1]));
      X->p0[j] = u[j] / size;
      X->p1[j] = u[j + 1] / size;
      X->mu[j] = lcp_outer(lcp->mu[j], X->p0[j], X->p1[j]);
    }
    perp_lcp_bounds(lcp, NULL, lcp->fric_of[j], &lo, &hi);
    for (int k = 0; k <= cone; k++) {
      kind[j + k] = PERP_EXACT_UP;
      X->mu[j + k] = X->mu[j];
      if (X->mu[j] == 0)
        kind[j + k] = PERP_EXACT_FIXED;
      else if (lo >= 0)
        X->limit[j + k] = 0;
      else if (hi < HUGE_VAL) {
        kind[j + k] = hi > 0 ? PERP_EXACT_BOX : PERP_EXACT_FIXED;
        mpq_set_d(upper[j + k], X->mu[j]);
        mpq_set_d(s, 2 * fmax(hi, 0));
        mpq_mul(upper[j + k], upper[j + k], s);
      } else
        kind[j + k] = PERP_EXACT_FREE;
    }
    j += cone;
  }
  mpq_clear(s);
}

void perp_exact_lcp_new(perp_exact_lcp *X, const perp_lcp *lcp, const bool *keep, const double *u,
                        int64_t budget)
{
  int n = lcp->n, m = 0, width = n + 1;
  *X = (perp_exact_lcp){ .p = lcp,
                         .w = perp_exact_alloc(n, sizeof(int)),
                         .limit = perp_exact_alloc(n, sizeof(int)),
                         .mu = perp_exact_alloc(n, sizeof(double)),
                         .p0 = perp_exact_alloc(n, sizeof(double)),
                         .p1 = perp_exact_alloc(n, sizeof(double)) };
  unsigned char *kind = perp_exact_alloc(n, 1);
  mpq_t *upper = lcp_numbers(n);
  for (int i = 0; i < n; i++) X->w[i] = X->limit[i] = -1;
  lcp_columns(X, u, kind, upper);
  for (int i = 0; i < n; i++)
    if (keep[i]) X->w[i] = n + m++;
  for (int i = 0; i < n; i++)
    if (X->limit[i] >= 0) X->limit[i] = n + m++;
  mpq_t *R = lcp_numbers(m * width), *a = lcp_numbers(width);
  for (int i = 0; i < n; i++) {
    if (X->w[i] < 0) continue;
    for (int j = 0; j < n; j++)
      if (lcp->F != NULL)
        mpq_set_ui(a[1 + j], 0, 1);
      else
        mpq_set_d(a[1 + j], perp_lcp_entry(lcp, i, j));
    if (lcp->F != NULL) lcp_factored_row(lcp->F, i, a + 1);
    mpq_set_d(a[0], lcp->b[i]);
    mpq_t *row = R + (size_t)(X->w[i] - n) * width;
    lcp_substitute(X, a, row, upper);
    const perp_exact_sides side = perp_exact_sides_of(lcp, i);
    if (side.down && !side.up)
      for (int j = 0; j < width; j++) mpq_neg(row[j], row[j]);
  }
  for (int t = 0; t < n; t++) {
    if (X->limit[t] < 0) continue;
    double lo, hi;
    int normal = lcp->fric_of[lcp->cone != NULL && t > 0 && lcp->cone[t - 1] ? t - 1 : t];
    perp_lcp_bounds(lcp, NULL, normal, &lo, &hi);
    mpq_t *row = R + (size_t)(X->limit[t] - n) * width;
    mpq_set_d(row[1 + normal], 2 * X->mu[t]);
    lcp_add(row[0], row[1 + normal], lo, a[0]);
    mpq_set_si(row[1 + t], -1, 1);
  }
  perp_exact_new(&X->E, m, n, R, upper, budget);
  X->E.work += 20 * (int64_t)m * width;
  for (int j = 0; j < n; j++) perp_exact_restrict(&X->E, j, kind[j]);
  for (int i = 0; i < n; i++) {
    const perp_exact_sides side = perp_exact_sides_of(lcp, i);
    if (X->limit[i] >= 0) perp_exact_restrict(&X->E, X->limit[i], PERP_EXACT_UP);
    if (X->w[i] < 0 || !(side.down || side.up)) continue;
    perp_exact_restrict(&X->E, X->w[i], side.down && side.up ? PERP_EXACT_FIXED : PERP_EXACT_UP);
  }
  lcp_numbers_free(R, m * width);
  lcp_numbers_free(a, width);
  lcp_numbers_free(upper, n);
  free(kind);
}

void perp_exact_lcp_free(perp_exact_lcp *lcp)
{
  perp_exact_free(&lcp->E);
  free(lcp->w);
  free(lcp->limit);
  free(lcp->mu);
  free(lcp->p0);
  free(lcp->p1);
}

/* ---- no solution at all ---- */

static void lcp_number(const perp_exact *exact, int v, mpq_t out)
{
  perp_exact_value(exact, v, out);
  if (v >= exact->k) return;
  long by = exact->column[1 + v] - exact->column[0];
  if (by >= 0)
    mpq_mul_2exp(out, out, (mp_bitcnt_t)by);
  else
    mpq_div_2exp(out, out, (mp_bitcnt_t)-by);
}

/* lambda [n], rounded, from values of the dictionary E of X. */
static void lcp_lambda(const perp_exact_lcp *X, const perp_exact *exact, double *lambda)
{
  const perp_lcp *lcp = X->p;
  mpq_t x, s;
  mpq_inits(x, s, NULL);
  for (int friction = 0; friction < 2; friction++)
    for (int i = 0; i < lcp->n; i++) {
      double lo, hi;
      if (perp_exact_is_friction(lcp, i) != (friction == 1)) continue;
      lcp_number(exact, i, x);
      if (friction) { /* exactly between its limits, and at them where it is */
        double limit = fmin(lcp->mu[i] * fmax(lambda[lcp->fric_of[i]], 0), DBL_MAX);
        mpq_set_d(s, limit);
        mpq_sub(x, x, s);
        lambda[i] = fmin(fmax(mpq_get_d(x), -limit), limit);
        continue;
      }
      perp_lcp_bounds(lcp, NULL, i, &lo, &hi);
      bool down = lo == -HUGE_VAL && hi < HUGE_VAL;
      mpq_set_d(s, down ? hi : lo > -HUGE_VAL ? lo : 0);
      if (down) mpq_neg(x, x);
      mpq_add(x, x, s);
      lambda[i] = fmin(fmax(mpq_get_d(x), lo), hi);
    }
  mpq_clears(x, s, NULL);
}

enum lcp_end { LCP_LOWER, LCP_INSIDE, LCP_UPPER };

/* Row i in its parts: at the lower end with w >= 0, between with w = 0, at the upper end with w <=
 * 0. */
static void lcp_take(const perp_exact_lcp *lcp, perp_exact *exact, int i, enum lcp_end end)
{
  int x = i, w = lcp->w[i];
  if (end == LCP_INSIDE) {
    perp_exact_restrict(exact, w, PERP_EXACT_FIXED);
    return;
  }
  if (lcp->limit[i] >= 0 && end == LCP_UPPER)
    perp_exact_restrict(exact, lcp->limit[i], PERP_EXACT_FIXED);
  else {
    if ((exact->v[x].sign < 0) != (end == LCP_UPPER)) perp_exact_reflect(exact, x);
    perp_exact_restrict(exact, x, PERP_EXACT_FIXED);
  }
  if (exact->v[w].kind != PERP_EXACT_FREE) return; /* its sign is asked for already */
  if (end == LCP_UPPER) perp_exact_reflect(exact, w);
  perp_exact_restrict(exact, w, PERP_EXACT_UP);
}

/* Is row i complementary at this vertex?  Else its ends. */
static bool lcp_complementary(const perp_exact_lcp *lcp, const perp_exact *exact, int i, int *ends)
{
  mpq_t x, w, top;
  mpq_inits(x, w, top, NULL);
  perp_exact_value(exact, i, x);
  perp_exact_value(exact, lcp->w[i], w);
  int sign = mpq_sgn(w);
  bool lower = mpq_sgn(x) == 0, upper = false;
  bool two = lcp->limit[i] >= 0 || mpz_sgn(exact->v[i].U) > 0;
  if (lcp->limit[i] >= 0) {
    perp_exact_value(exact, lcp->limit[i], top);
    upper = mpq_sgn(top) == 0;
  } else if (two) {
    mpq_set_z(top, exact->v[i].U);
    upper = mpq_equal(x, top);
  }
  mpq_clears(x, w, top, NULL);
  *ends = two ? 3 : 2;
  return sign == 0 || (lower && sign > 0) || (upper && sign < 0);
}

static enum perp_exact_answer lcp_branch(const perp_exact_lcp *lcp, perp_exact *exact,
                                         double *lambda)
{
  enum perp_exact_answer answer = perp_exact_decide(exact, NULL);
  if (answer != PERP_EXACT_POSSIBLE) return answer;
  int row = -1, ends = 0;
  for (int i = 0; i < lcp->p->n && row < 0; i++)
    if (lcp->w[i] >= 0 && !lcp_complementary(lcp, exact, i, &ends)) row = i;
  if (row < 0) {
    lcp_lambda(lcp, exact, lambda);
    return PERP_EXACT_POSSIBLE;
  }
  for (int end = 0; end < ends; end++) {
    perp_exact part;
    perp_exact_copy(exact, &part);
    part.work += (int64_t)exact->m * (exact->k + 1);
    lcp_take(lcp, &part, row, (enum lcp_end)end);
    answer = lcp_branch(lcp, &part, lambda);
    exact->work = part.work;
    perp_exact_free(&part);
    if (answer != PERP_EXACT_IMPOSSIBLE) return answer;
  }
  return PERP_EXACT_IMPOSSIBLE;
}

/* The part where each row is at the end that first [n] tells. */
static enum perp_exact_answer lcp_part(const perp_exact_lcp *lcp, const signed char *first,
                                       perp_exact *exact, double *lambda)
{
  perp_exact part;
  perp_exact_copy(exact, &part);
  for (int i = 0; i < lcp->p->n; i++) {
    if (lcp->w[i] < 0) continue;
    const perp_exact_sides side = perp_exact_sides_of(lcp->p, i);
    const bool friction = perp_exact_is_friction(lcp->p, i);
    if (!friction && side.down && side.up) continue;
    enum lcp_end end = first[i] == PERP_ROW_FREE ? LCP_INSIDE
                       : first[i] == PERP_ROW_LO ? LCP_LOWER
                                                 : LCP_UPPER;
    if (!friction && side.down && end != LCP_INSIDE) end = LCP_LOWER; /* counted from above */
    lcp_take(lcp, &part, i, end);
  }
  const enum perp_exact_answer answer = perp_exact_decide(&part, NULL);
  if (answer == PERP_EXACT_POSSIBLE) lcp_lambda(lcp, &part, lambda);
  exact->work = part.work;
  perp_exact_free(&part);
  return answer;
}

enum perp_exact_answer perp_exact_exclude(const perp_lcp *lcp, int64_t budget,
                                          const signed char *first, double *lambda)
{
  enum { MOST = 20 };
  bool keep[MOST];
  if (lcp->n > MOST) return PERP_EXACT_SPENT;
  for (int i = 0; i < lcp->n; i++) {
    double lo, hi;
    bool friction = perp_exact_is_friction(lcp, i);
    if (friction && lcp->cone != NULL && lcp->cone[i]) return PERP_EXACT_SPENT;
    perp_lcp_bounds(lcp, NULL, friction ? lcp->fric_of[i] : i, &lo, &hi);
    if (friction && lo < 0) return PERP_EXACT_SPENT;
    keep[i] = friction ? lcp->mu[i] > 0 : lo < hi;
  }
  perp_exact_lcp X;
  perp_exact_lcp_new(&X, lcp, keep, NULL, budget);
  enum perp_exact_answer answer = PERP_EXACT_IMPOSSIBLE;
  if (first != NULL) answer = lcp_part(&X, first, &X.E, lambda);
  if (answer == PERP_EXACT_IMPOSSIBLE) answer = lcp_branch(&X, &X.E, lambda);
  perp_exact_lcp_free(&X);
  return answer;
}
