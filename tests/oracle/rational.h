/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rel and data of lcp.h in rational arithmetic, from their definition: projections as they are
 * written there, and no line of the library.  Square roots, of discs alone, in 6000 bits. */
#ifndef TESTS_RATIONAL_H
#define TESTS_RATIONAL_H

#include "solvers/lcp/lcp.h"

#include <float.h>
#include <gmp.h>
#include <math.h>

enum { RATIONAL_ROWS = 8, RATIONAL_BITS = 6000 };

/* x = exactly s */
static void rational_of(mpq_t x, double s)
{
  mpq_set_d(x, s); /* any finite double, denormals too */
}

static void rational_max(mpq_t x, const mpq_t y)
{
  if (mpq_cmp(y, x) > 0) mpq_set(x, y);
}

/* the root of x^2 + y^2, to RATIONAL_BITS */
static void rational_length(mpq_t out, const mpq_t x, const mpq_t y)
{
  mpf_t f;
  mpq_t s, t;
  mpq_inits(s, t, NULL);
  mpq_mul(s, x, x);
  mpq_mul(t, y, y);
  mpq_add(s, s, t);
  mpf_init2(f, RATIONAL_BITS);
  mpf_set_q(f, s);
  mpf_sqrt(f, f);
  mpq_set_f(out, f);
  mpf_clear(f);
  mpq_clears(s, t, NULL);
}

/* as a double; what is too small or too large for one becomes 0 or inf */
static double rational_double(const mpq_t x)
{
  mpf_t f;
  long exponent;
  mpf_init2(f, 128);
  mpf_set_q(f, x);
  double m = mpf_get_d_2exp(&exponent, f);
  mpf_clear(f);
  return m == 0 ? 0 : exponent > 1025 ? HUGE_VAL : exponent < -1080 ? 0 : ldexp(m, (int)exponent);
}

/* A [n n] = J M^-1 J' + S, column by column */
static void rational_matrix(const perp_lcp *p, mpq_t A[RATIONAL_ROWS][RATIONAL_ROWS])
{
  const perp_blocks *F = p->F;
  mpq_t t, u;
  mpq_inits(t, u, NULL);
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < p->n; j++)
      if (F == NULL)
        rational_of(A[i][j], p->A[i + j * p->lda]);
      else
        mpq_set_ui(A[i][j], 0, 1);
  for (int g = 0; F != NULL && g < F->nc; g++)
    for (int h = 0; h < F->nc; h++)
      for (int k = F->jptr[g]; k < F->jptr[g + 1]; k++)
        for (int l = F->jptr[h]; l < F->jptr[h + 1]; l++) {
          if (F->jblk[k] != F->jblk[l]) continue;
          const int b = F->jblk[k], d = F->bptr[b + 1] - F->bptr[b];
          const int r = F->cptr[g + 1] - F->cptr[g], c = F->cptr[h + 1] - F->cptr[h];
          for (int i = 0; i < r; i++)
            for (int j = 0; j < c; j++)
              for (int q = 0; q < d; q++)
                for (int s = 0; s < d; s++) {
                  rational_of(t, F->J[F->joff[k] + i + q * r]);
                  rational_of(u, F->Minv[F->mptr[b] + q + s * d]);
                  mpq_mul(t, t, u);
                  rational_of(u, F->J[F->joff[l] + j + s * c]);
                  mpq_mul(t, t, u);
                  mpq_add(A[F->cptr[g] + i][F->cptr[h] + j], A[F->cptr[g] + i][F->cptr[h] + j], t);
                }
        }
  for (int i = 0; F != NULL && F->s != NULL && i < p->n; i++) {
    rational_of(t, F->s[i]);
    mpq_add(A[i][i], A[i][i], t);
  }
  mpq_clears(t, u, NULL);
}

/* x less the projection of x - y on [lo, hi]; slack: what the projection moves x - y by */
static void rational_clamp(mpq_t r, const mpq_t x, const mpq_t y, double lo, double hi, mpq_t slack)
{
  mpq_t z, bound;
  mpq_inits(z, bound, NULL);
  mpq_sub(z, x, y);
  mpq_set(slack, z);
  if (lo > -HUGE_VAL) {
    rational_of(bound, lo);
    if (mpq_cmp(z, bound) < 0) mpq_set(z, bound);
  }
  if (hi < HUGE_VAL) {
    rational_of(bound, hi);
    if (mpq_cmp(z, bound) > 0) mpq_set(z, bound);
  }
  mpq_sub(slack, slack, z);
  mpq_abs(slack, slack);
  mpq_sub(r, x, z);
  mpq_abs(r, r);
  mpq_clears(z, bound, NULL);
}

/* |x - y projected on the disc| */
static void rational_disc(mpq_t r, mpq_t x[2], mpq_t y[2], double radius, mpq_t slack)
{
  mpq_t R, l, z[2];
  mpq_inits(R, l, z[0], z[1], NULL);
  rational_of(R, radius);
  for (int k = 0; k < 2; k++) mpq_sub(z[k], x[k], y[k]);
  rational_length(l, z[0], z[1]);
  mpq_sub(slack, l, R);
  if (mpq_sgn(slack) < 0) mpq_set_ui(slack, 0, 1);
  if (mpq_cmp(l, R) > 0)
    for (int k = 0; k < 2; k++) {
      mpq_mul(z[k], z[k], R);
      mpq_div(z[k], z[k], l);
    }
  for (int k = 0; k < 2; k++) mpq_sub(z[k], x[k], z[k]);
  rational_length(r, z[0], z[1]);
  mpq_clears(R, l, z[0], z[1], NULL);
}

/* 0 where it is at most 2^-40 |y| */
static void rational_cut(mpq_t slack, const mpq_t y)
{
  mpq_t t;
  mpq_init(t);
  mpq_abs(t, y);
  mpq_div_2exp(t, t, 40);
  if (mpq_cmp(slack, t) <= 0) mpq_set_ui(slack, 0, 1);
  mpq_clear(t);
}

typedef struct rational_figures {
  mpq_t rel, data;
  bool endless; /* data is infinite */
} rational_figures;

__attribute__((unused)) static void rational_judge(const perp_lcp *p, const double *lambda,
                                                   rational_figures *out)
{
  static mpq_t A[RATIONAL_ROWS][RATIONAL_ROWS], x[RATIONAL_ROWS], w[RATIONAL_ROWS],
      a[RATIONAL_ROWS], c[RATIONAL_ROWS], b[RATIONAL_ROWS], y[RATIONAL_ROWS];
  static mpq_t largest, worst, size, data, start, left, beyond, force, moved, rest, calm, slack, r,
      t, u, one;
  static bool ready;
  const int n = p->n;
  if (!ready) {
    for (int i = 0; i < RATIONAL_ROWS; i++) {
      mpq_inits(x[i], w[i], a[i], c[i], b[i], y[i], NULL);
      for (int j = 0; j < RATIONAL_ROWS; j++) mpq_init(A[i][j]);
    }
    mpq_inits(largest, worst, size, data, start, left, beyond, force, moved, rest, calm, slack, r,
              t, u, one, NULL);
    ready = true;
  }
  mpq_t *const all[] = { &largest, &worst, &size, &data, &start, &left, &beyond, &force, &moved };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) mpq_set_ui(*all[k], 0, 1);
  mpq_set_ui(one, 1, 1);
  rational_matrix(p, A);
  for (int i = 0; i < n; i++) {
    rational_of(x[i], lambda[i]);
    rational_of(b[i], p->b[i]);
  }
  for (int i = 0; i < n; i++) {
    mpq_set(w[i], b[i]);
    mpq_set_ui(a[i], 0, 1);
    mpq_set_ui(c[i], 0, 1);
    for (int j = 0; j < n; j++) {
      mpq_mul(t, A[i][j], x[j]);
      mpq_add(w[i], w[i], t);
      mpq_abs(t, t);
      mpq_add(c[i], c[i], t);
      mpq_abs(t, A[i][j]);
      rational_max(a[i], t);
    }
    rational_max(largest, a[i]);
  }
  if (mpq_sgn(largest) == 0) mpq_set(largest, one);
  for (int i = 0; i < n; i++) {
    if (mpq_sgn(a[i]) == 0) mpq_set(a[i], largest);
    mpq_abs(t, x[i]);
    rational_max(size, t);
    rational_of(u, p->unit != NULL ? p->unit[i] : 1);
    mpq_mul(t, c[i], u);
    rational_max(moved, t);
  }
  bool resting = false; /* has any row a slack that counts? */
  for (int i = 0; i < n; i++) {
    const bool cone = p->cone != NULL && p->cone[i];
    double lo = p->lo != NULL ? p->lo[i] : 0, hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
    double unit = p->unit != NULL ? p->unit[i] : 1;
    if (cone && p->unit != NULL) unit = fmax(unit, p->unit[i + 1]);
    if (p->fric_of != NULL && p->fric_of[i] >= 0) {
      const double normal = lambda[p->fric_of[i]];
      hi = normal > 0 ? p->mu[i] * normal : 0;
      lo = -hi;
    }
    mpq_t s, rounding, beta, pull;
    mpq_inits(s, rounding, beta, pull, NULL);
    mpq_set(s, a[i]);
    mpq_abs(beta, b[i]);
    if (cone) {
      rational_max(s, a[i + 1]);
      for (int k = 0; k < 2; k++) mpq_div(y[k], w[i + k], s);
      rational_disc(r, x + i, y, hi, slack);
      rational_length(t, y[0], y[1]);
      rational_cut(slack, t);
      mpq_mul(pull, t, s);
      if (p->brief) mpq_set_ui(slack, 0, 1);
      rational_length(beta, b[i], b[i + 1]);
      for (int k = 0; k < 2; k++) {
        mpq_abs(y[k], b[i + k]);
        mpq_add(y[k], y[k], c[i + k]);
      }
      rational_length(rounding, y[0], y[1]);
      i++;
    } else {
      mpq_div(y[0], w[i], s);
      rational_clamp(r, x[i], y[0], lo, hi, slack);
      rational_cut(slack, y[0]);
      mpq_mul(pull, y[0], s);
      mpq_abs(pull, pull);
      if (p->brief) mpq_set_ui(slack, 0, 1);
      mpq_abs(rounding, b[i]);
      mpq_add(rounding, rounding, c[i]);
      if (p->fric_of == NULL || p->fric_of[i] < 0) {
        mpq_set_ui(t, 0, 1);
        mpq_set_ui(u, 0, 1);
        rational_clamp(t, u, u, lo, hi, one);
        rational_max(start, t);
        if (lo < hi && !p->brief) {
          rational_of(u, unit);
          mpq_mul(t, slack, s);
          mpq_mul(t, t, u);
          if (!resting || mpq_cmp(slack, rest) < 0) mpq_set(rest, slack);
          if (!resting || mpq_cmp(t, calm) < 0) mpq_set(calm, t);
          resting = true;
        }
      }
    }
    /* beta = |b| - a slack, where that is more than 2^-40 |b| */
    mpq_mul(t, slack, s);
    mpq_set(u, beta);
    if (mpq_sgn(slack) > 0) mpq_add(u, u, pull);
    mpq_div_2exp(u, u, 40);
    mpq_sub(beta, beta, t);
    if (mpq_cmp(beta, u) > 0) {
      mpq_div(t, beta, s);
      rational_max(data, t);
      rational_of(u, unit);
      mpq_mul(t, beta, u);
      rational_max(force, t);
    }
    rational_max(worst, r);
    mpq_mul(t, r, s);
    rational_of(u, 8 * DBL_EPSILON);
    mpq_mul(rounding, rounding, u);
    if (mpq_cmp(t, rounding) > 0) {
      rational_of(u, unit);
      mpq_mul(t, t, u);
      rational_max(left, t);
      rational_max(beyond, r);
    }
    mpq_clears(s, rounding, beta, pull, NULL);
  }
  if (resting) {
    rational_max(data, rest);
    rational_max(force, calm);
  }
  mpq_set_ui(one, 1, 1);
  rational_of(t, DBL_MIN);
  rational_max(t, size);
  rational_max(t, data);
  mpq_div(out->rel, worst, t);
  rational_max(start, data); /* now D */
  if (mpq_sgn(start) > 0) {
    mpq_div(t, worst, start);
    rational_of(u, 1e-4);
    if (mpq_cmp(t, u) > 0) {
      if (mpq_cmp(t, one) < 0) {
        mpq_mul(t, t, t);
        mpq_mul(t, t, t);
      }
      rational_max(out->rel, t);
    }
    mpq_div(t, beyond, start);
    if (mpq_cmp(t, one) < 0) mpq_mul(t, t, t);
    rational_max(out->rel, t);
  }
  if (mpq_sgn(force) == 0) mpq_set(force, moved);
  out->endless = mpq_sgn(left) > 0 && mpq_sgn(force) == 0;
  mpq_set_ui(out->data, 0, 1);
  if (mpq_sgn(left) > 0 && !out->endless) mpq_div(out->data, left, force);
}

#endif
