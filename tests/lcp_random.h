/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random boxed LCPs for tests: dense with a chosen spectrum, and factored with blocks and groups of
 * every shape, softness, friction rows and cones.  Seeded. */
#ifndef TESTS_LCP_RANDOM_H
#define TESTS_LCP_RANDOM_H

#include "solvers/solvers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct random_lcp {
  perp_lcp p;
  perp_blocks F;
  double *A; /* [n * n] dense A of either kind */
  void *owned[48];
  int n_owned;
} random_lcp;

__attribute__((unused)) static void *random_own(random_lcp *r, size_t count, size_t size)
{
  void *x = calloc(count + 1, size);
  if (x == NULL || r->n_owned == sizeof r->owned / sizeof *r->owned) abort();
  r->owned[r->n_owned++] = x;
  return x;
}

__attribute__((unused)) static void random_free(random_lcp *r)
{
  for (int i = 0; i < r->n_owned; i++) free(r->owned[i]);
  *r = (random_lcp){ 0 };
}

/* kinds of bounds */
enum { BOUNDS_CONTACT, BOUNDS_MIXED };

__attribute__((unused)) static void random_bounds(random_lcp *r, perp_rng *g, int kind)
{
  int n = r->p.n;
  double *lo = random_own(r, n, sizeof *lo), *hi = random_own(r, n, sizeof *hi);
  for (int i = 0; i < n; i++) {
    hi[i] = HUGE_VAL;
    if (kind == BOUNDS_CONTACT) continue;
    switch (perp_rng_int(g, 5)) {
    case 0: /* free */
      lo[i] = -HUGE_VAL;
      break;
    case 1: /* fixed */
      lo[i] = hi[i] = perp_rng_uniform(g, -1, 1);
      break;
    case 2: /* box, zero not always inside */
      lo[i] = perp_rng_uniform(g, -1, 1);
      hi[i] = lo[i] + perp_rng_uniform(g, 0, 1);
      break;
    case 3:
      lo[i] = -HUGE_VAL;
      hi[i] = perp_rng_uniform(g, -1, 1);
      break;
    default:
      break;
    }
  }
  r->p.lo = lo;
  r->p.hi = hi;
}

/* A = B B' / n + shift I + skew (K - K'), B n x rank; b uniform */
__attribute__((unused)) static random_lcp random_dense(perp_rng *g, int n, int rank, double shift,
                                                       double skew, int bounds)
{
  random_lcp r = { 0 };
  r.A = random_own(&r, (size_t)n * (size_t)n, sizeof *r.A);
  double *B = random_own(&r, (size_t)n * (size_t)rank, sizeof *B);
  double *b = random_own(&r, n, sizeof *b), *x = random_own(&r, n, sizeof *x);
  for (int i = 0; i < n * rank; i++) B[i] = perp_rng_uniform(g, -1, 1);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double sum = i == j ? shift : 0;
      for (int k = 0; k < rank; k++) sum += B[i + k * n] * B[j + k * n] / n;
      r.A[i + j * n] += sum;
      if (j < i) {
        double s = skew * perp_rng_uniform(g, -1, 1);
        r.A[i + j * n] += s;
        r.A[j + i * n] -= s;
      }
    }
  r.p = (perp_lcp){ .n = n, .A = r.A, .lda = n, .b = b };
  random_bounds(&r, g, bounds);
  /* a planted solution, so that semidefinite problems are solvable too */
  for (int i = 0; i < n; i++) {
    double lo = r.p.lo[i], hi = r.p.hi[i], u = perp_rng_uniform(g, 0, 1);
    x[i] = lo > -HUGE_VAL && hi < HUGE_VAL ? lo + u * (hi - lo)
           : lo > -HUGE_VAL                ? lo + u
           : hi < HUGE_VAL                 ? hi - u
                                           : u - 0.5;
    double w = 0;
    int side = perp_rng_int(g, 3);
    if (side == 0 && lo > -HUGE_VAL) x[i] = lo, w = perp_rng_uniform(g, 0, 1);
    if (side == 1 && hi < HUGE_VAL) x[i] = hi, w = -perp_rng_uniform(g, 0, 1);
    b[i] = w;
  }
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) b[i] -= r.A[i + j * n] * x[j];
  return r;
}

/* shapes of a factored problem */
enum { SHAPE_CONTACTS, SHAPE_PLANAR, SHAPE_ANY };

/* nb blocks, nc groups; friction: 0 none, 1 boxes, 2 cones (groups of three rows then) */
__attribute__((unused)) static random_lcp random_factored(perp_rng *g, int nb, int nc, int shape,
                                                          int friction, double softness)
{
  random_lcp r = { 0 };
  int *bptr = random_own(&r, nb + 1, sizeof(int)), *mptr = random_own(&r, nb + 1, sizeof(int));
  int *cptr = random_own(&r, nc + 1, sizeof(int)), *jptr = random_own(&r, nc + 1, sizeof(int));
  int *jblk = random_own(&r, 3 * nc, sizeof(int)), *joff = random_own(&r, 3 * nc + 1, sizeof(int));
  int *jgrp = random_own(&r, 3 * nc, sizeof(int)), *tptr = random_own(&r, nb + 1, sizeof(int));
  int *tsub = random_own(&r, 3 * nc, sizeof(int));
  for (int b = 0; b < nb; b++) {
    int d = shape == SHAPE_CONTACTS ? 6 : shape == SHAPE_PLANAR ? 3 : 1 + perp_rng_int(g, 7);
    bptr[b + 1] = bptr[b] + d;
    mptr[b + 1] = mptr[b] + d * d;
  }
  int pair[2] = { 0, 0 }, subs = 1;
  for (int c = 0; c < nc; c++) {
    int rows = friction ? 3 : shape == SHAPE_ANY ? 1 + perp_rng_int(g, 6) : 1 + perp_rng_int(g, 2);
    cptr[c + 1] = cptr[c] + rows;
    if (c == 0 || perp_rng_int(g, 3) == 0) { /* several groups in a row on the same blocks */
      subs = 1 + perp_rng_int(g, nb > 1 ? 2 : 1);
      pair[0] = perp_rng_int(g, nb);
      pair[1] = nb > 1 ? (pair[0] + 1 + perp_rng_int(g, nb - 1)) % nb : 0;
    }
    int k = jptr[c], count = subs;
    for (int s = 0; s < subs; s++) jblk[k + s] = pair[s];
    if (shape == SHAPE_ANY && subs == 2 && nb > 2 && perp_rng_int(g, 3) == 0) {
      int third = 0;
      while (third == pair[0] || third == pair[1]) third++;
      jblk[k + count++] = third;
    }
    jptr[c + 1] = k + count;
    for (int s = 0; s < count; s++, k++)
      joff[k + 1] = joff[k] + rows * (bptr[jblk[k] + 1] - bptr[jblk[k]]);
  }
  int m = cptr[nc], nv = bptr[nb];
  double *M = random_own(&r, mptr[nb], sizeof *M), *W = random_own(&r, mptr[nb], sizeof *W);
  double *J = random_own(&r, joff[jptr[nc]], sizeof *J), *b = random_own(&r, m, sizeof *b);
  double *s = random_own(&r, m, sizeof *s), *v = random_own(&r, nv, sizeof *v);
  for (int k = 0; k < joff[jptr[nc]]; k++) J[k] = perp_rng_uniform(g, -1, 1);
  for (int k = 0; k < m; k++) s[k] = softness * perp_rng_uniform(g, 0, 1);
  for (int k = 0; k < nb; k++) {
    /* M^-1 = diag + u u' with a known inverse (Sherman-Morrison) */
    int d = bptr[k + 1] - bptr[k];
    double u[8], dinv[8], sum = 1;
    for (int i = 0; i < d; i++) {
      dinv[i] = perp_rng_uniform(g, 0.5, 2);
      u[i] = perp_rng_uniform(g, -1, 1);
      sum += u[i] * u[i] / dinv[i];
    }
    for (int i = 0; i < d; i++)
      for (int j = 0; j < d; j++) {
        W[mptr[k] + i + j * d] = (i == j ? dinv[i] : 0) + u[i] * u[j];
        M[mptr[k] + i + j * d] = (i == j ? 1 / dinv[i] : 0) - u[i] * u[j] / dinv[i] / dinv[j] / sum;
      }
  }
  r.F = (perp_blocks){ .nv = nv,
                       .m = m,
                       .nb = nb,
                       .nc = nc,
                       .bptr = bptr,
                       .mptr = mptr,
                       .cptr = cptr,
                       .jptr = jptr,
                       .jblk = jblk,
                       .joff = joff,
                       .jgrp = jgrp,
                       .tptr = tptr,
                       .tsub = tsub,
                       .M = M,
                       .Minv = W,
                       .J = J,
                       .s = softness > 0 ? s : NULL };
  perp_blocks_transpose(nb, nc, jptr, jblk, jgrp, tptr, tsub);
  /* b in the range of J: solvable for contacts as J v + b = w has v = -v0, lambda = 0 side slack */
  for (int k = 0; k < nv; k++) v[k] = perp_rng_uniform(g, -1, 1);
  perp_blocks_J(&r.F, 1, v, b);
  r.p = (perp_lcp){ .n = m, .b = b };
  random_bounds(&r, g, BOUNDS_CONTACT);
  if (friction) {
    int *of = random_own(&r, m, sizeof *of);
    double *mu = random_own(&r, m, sizeof *mu);
    signed char *cone = random_own(&r, m, sizeof *cone);
    for (int i = 0; i < m; i++) {
      of[i] = i % 3 == 0 ? -1 : i - i % 3;
      mu[i] = perp_rng_uniform(g, 0.1, 1);
      cone[i] = i % 3 == 1;
    }
    for (int i = 2; i < m; i += 3) mu[i] = mu[i - 1];
    r.p.fric_of = of;
    r.p.mu = mu;
    if (friction == 2) r.p.cone = cone;
  }
  r.A = random_own(&r, (size_t)m * (size_t)m, sizeof *r.A);
  double scratch[64];
  perp_blocks_delassus(&r.F, r.A, m, scratch);
  return r;
}

/* r.p.F points into r itself: set it when the copy has its final place */
__attribute__((unused)) static const perp_lcp *random_as_factored(random_lcp *r)
{
  r->p.A = NULL;
  r->p.F = &r->F;
  return &r->p;
}
__attribute__((unused)) static const perp_lcp *random_as_dense(random_lcp *r)
{
  r->p.F = NULL;
  r->p.A = r->A;
  r->p.lda = r->p.n;
  return &r->p;
}

#endif
