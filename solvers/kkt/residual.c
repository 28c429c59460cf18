/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judge of KKT solutions, and products that all formulations share. */
#include "solvers/kkt/kkt_private.h"

/* y += |G| |x| */
static void abs_gemv(int r, int d, const double *G, const double *x, double *y)
{
  for (int j = 0; j < d; j++)
    for (int i = 0; i < r; i++) y[i] += fabs(G[i + j * r]) * fabs(x[j]);
}

/* y += |G'| |x| */
static void abs_gemvt(int r, int d, const double *G, const double *x, double *y)
{
  for (int j = 0; j < d; j++)
    for (int i = 0; i < r; i++) y[j] += fabs(G[i + j * r]) * fabs(x[i]);
}

/* max |r_i| / scale_i with 0/0 = 0; NaN stays */
static double residual_worst(int n, const double *r, const double *scale, double sofar)
{
  for (int i = 0; i < n; i++) {
    double e = r[i] == 0 ? 0 : fabs(r[i]) / scale[i];
    if (isnan(e)) return e;
    if (e > sofar) sofar = e;
  }
  return sofar;
}

double perp_kkt_violation(const perp_blocks *blocks, const double *c, const double *a,
                          const double *lambda, double *scratch)
{
  double *r = scratch, *scale = scratch + blocks->m;
  for (int i = 0; i < blocks->m; i++) {
    double soft = blocks->s != NULL ? blocks->s[i] * lambda[i] : 0 * lambda[i];
    r[i] = soft - c[i];
    scale[i] = fabs(soft) + fabs(c[i]);
  }
  perp_blocks_J(blocks, 1, a, r);
  for (int g = 0; g < blocks->nc; g++)
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
      int col = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - col;
      abs_gemv(blocks->cptr[g + 1] - blocks->cptr[g], d, blocks->J + blocks->joff[k], a + col,
               scale + blocks->cptr[g]);
    }
  return residual_worst(blocks->m, r, scale, 0);
}

double perp_kkt_residual(const perp_blocks *blocks, const double *f, const double *c,
                         const double *a, const double *lambda, double *scratch)
{
  /* r = M a - f - J' lambda, its size in scale */
  double *r = scratch, *scale = scratch + blocks->nv;
  perp_blocks_M(blocks, a, r);
  perp_blocks_Jt(blocks, -1, lambda, r);
  for (int i = 0; i < blocks->nv; i++) {
    r[i] -= f[i];
    scale[i] = fabs(f[i]);
  }
  for (int b = 0; b < blocks->nb; b++) {
    int col = blocks->bptr[b], d = blocks->bptr[b + 1] - col;
    abs_gemv(d, d, blocks->M + blocks->mptr[b], a + col, scale + col);
  }
  for (int g = 0; g < blocks->nc; g++)
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
      int col = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - col;
      abs_gemvt(blocks->cptr[g + 1] - blocks->cptr[g], d, blocks->J + blocks->joff[k],
                lambda + blocks->cptr[g], scale + col);
    }
  double dynamics = residual_worst(blocks->nv, r, scale, 0);
  double constraints = perp_kkt_violation(blocks, c, a, lambda, scratch);
  return isnan(dynamics) || dynamics > constraints ? dynamics : constraints;
}

perp_reason perp_kkt_why_no_factor(const perp_blocks *blocks)
{
  bool finite = perp_finite(blocks->mptr[blocks->nb], blocks->M) &&
                perp_finite(blocks->mptr[blocks->nb], blocks->Minv) &&
                perp_finite(blocks->joff[blocks->jptr[blocks->nc]], blocks->J) &&
                (blocks->s == NULL || perp_finite(blocks->m, blocks->s));
  return finite ? PERP_SINGULAR : PERP_NOT_FINITE;
}

double perp_kkt_mean_diagonal(const perp_blocks *blocks, double *scratch)
{
  double sum = 0;
  perp_blocks rigid = *blocks;
  rigid.s = NULL; /* a soft row does not blur the others */
  perp_blocks_diagonal(&rigid, scratch);
  for (int i = 0; i < blocks->m; i++) sum += scratch[i];
  return blocks->m > 0 ? sum / blocks->m : 0;
}

int perp_kkt_largest(const perp_blocks *blocks)
{
  int most = 1;
  for (int b = 0; b < blocks->nb; b++) {
    int n = blocks->mptr[b + 1] - blocks->mptr[b];
    if (n > most) most = n;
  }
  for (int c = 0; c < blocks->nc; c++) {
    int r = blocks->cptr[c + 1] - blocks->cptr[c];
    if (r * r > most) most = r * r;
  }
  for (int k = 0; k < blocks->jptr[blocks->nc]; k++) {
    int n = blocks->joff[k + 1] - blocks->joff[k];
    if (n > most) most = n;
  }
  return most;
}

const perp_blocks *perp_kkt_find_diagonal(const perp_blocks *blocks, perp_blocks *copy,
                                          unsigned char *flags)
{
  if (blocks->diag != NULL) return blocks;
  for (int b = 0; b < blocks->nb; b++) {
    int d = blocks->bptr[b + 1] - blocks->bptr[b];
    const double *W = blocks->Minv + blocks->mptr[b];
    bool zero = true; /* of the lower triangle; Minv is symmetric */
    for (int j = 0; zero && j < d; j++)
      for (int i = j + 1; i < d; i++) zero &= W[i + j * d] == 0;
    flags[b] = zero;
  }
  return kkt_use_diagonal(blocks, copy, flags);
}

void perp_kkt_schur_rhs(const perp_blocks *blocks, const double *f, const double *c, double *b,
                        double *scratch)
{
  perp_blocks_Minv(blocks, f, scratch);
  for (int i = 0; i < blocks->m; i++) b[i] = c[i];
  perp_blocks_J(blocks, -1, scratch, b);
}

void perp_kkt_schur_motion(const perp_blocks *blocks, const double *f, const double *lambda,
                           double *a, double *scratch)
{
  for (int i = 0; i < blocks->nv; i++) scratch[i] = f[i];
  perp_blocks_Jt(blocks, 1, lambda, scratch);
  perp_blocks_Minv(blocks, scratch, a);
}

double perp_kkt_cost_schur(const perp_blocks *blocks)
{
  double work = 0;
  for (int k = 0; k < blocks->jptr[blocks->nc]; k++) {
    const int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b];
    const double r = blocks->cptr[blocks->jgrp[k] + 1] - blocks->cptr[blocks->jgrp[k]];
    double rows = r / 2; /* of all groups that meet it in b, in the triangle */
    for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1] && blocks->tsub[t] < k; t++)
      rows += blocks->cptr[blocks->jgrp[blocks->tsub[t]] + 1] -
              blocks->cptr[blocks->jgrp[blocks->tsub[t]]];
    work += r * d * d + r * d * rows;
  }
  return work;
}

double perp_kkt_cost_sides(const perp_blocks *blocks)
{
  return 2.0 * (blocks->joff[blocks->jptr[blocks->nc]] + blocks->mptr[blocks->nb]);
}
