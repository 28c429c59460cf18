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

double perp_kkt_violation(const perp_blocks *B, const double *c, const double *a,
                          const double *lambda, double *scratch)
{
  double *r = scratch, *scale = scratch + B->m;
  for (int i = 0; i < B->m; i++) {
    double soft = B->s != NULL ? B->s[i] * lambda[i] : 0 * lambda[i];
    r[i] = soft - c[i];
    scale[i] = fabs(soft) + fabs(c[i]);
  }
  perp_blocks_J(B, 1, a, r);
  for (int g = 0; g < B->nc; g++)
    for (int k = B->jptr[g]; k < B->jptr[g + 1]; k++) {
      int col = B->bptr[B->jblk[k]], d = B->bptr[B->jblk[k] + 1] - col;
      abs_gemv(B->cptr[g + 1] - B->cptr[g], d, B->J + B->joff[k], a + col, scale + B->cptr[g]);
    }
  return residual_worst(B->m, r, scale, 0);
}

double perp_kkt_residual(const perp_blocks *B, const double *f, const double *c, const double *a,
                         const double *lambda, double *scratch)
{
  /* r = M a - f - J' lambda, its size in scale */
  double *r = scratch, *scale = scratch + B->nv;
  perp_blocks_M(B, a, r);
  perp_blocks_Jt(B, -1, lambda, r);
  for (int i = 0; i < B->nv; i++) {
    r[i] -= f[i];
    scale[i] = fabs(f[i]);
  }
  for (int b = 0; b < B->nb; b++) {
    int col = B->bptr[b], d = B->bptr[b + 1] - col;
    abs_gemv(d, d, B->M + B->mptr[b], a + col, scale + col);
  }
  for (int g = 0; g < B->nc; g++)
    for (int k = B->jptr[g]; k < B->jptr[g + 1]; k++) {
      int col = B->bptr[B->jblk[k]], d = B->bptr[B->jblk[k] + 1] - col;
      abs_gemvt(B->cptr[g + 1] - B->cptr[g], d, B->J + B->joff[k], lambda + B->cptr[g],
                scale + col);
    }
  double dynamics = residual_worst(B->nv, r, scale, 0);
  double constraints = perp_kkt_violation(B, c, a, lambda, scratch);
  return isnan(dynamics) || dynamics > constraints ? dynamics : constraints;
}

perp_reason perp_kkt_why_no_factor(const perp_blocks *B)
{
  bool finite = perp_finite(B->mptr[B->nb], B->M) && perp_finite(B->mptr[B->nb], B->Minv) &&
                perp_finite(B->joff[B->jptr[B->nc]], B->J) &&
                (B->s == NULL || perp_finite(B->m, B->s));
  return finite ? PERP_SINGULAR : PERP_NOT_FINITE;
}

double perp_kkt_mean_diagonal(const perp_blocks *B, double *scratch)
{
  double sum = 0;
  perp_blocks rigid = *B;
  rigid.s = NULL; /* a soft row does not blur the others */
  perp_blocks_diagonal(&rigid, scratch);
  for (int i = 0; i < B->m; i++) sum += scratch[i];
  return B->m > 0 ? sum / B->m : 0;
}

int perp_kkt_largest(const perp_blocks *B)
{
  int most = 1;
  for (int b = 0; b < B->nb; b++) {
    int n = B->mptr[b + 1] - B->mptr[b];
    if (n > most) most = n;
  }
  for (int c = 0; c < B->nc; c++) {
    int r = B->cptr[c + 1] - B->cptr[c];
    if (r * r > most) most = r * r;
  }
  for (int k = 0; k < B->jptr[B->nc]; k++) {
    int n = B->joff[k + 1] - B->joff[k];
    if (n > most) most = n;
  }
  return most;
}

const perp_blocks *perp_kkt_find_diagonal(const perp_blocks *B, perp_blocks *copy,
                                          unsigned char *flags)
{
  if (B->diag != NULL) return B;
  for (int b = 0; b < B->nb; b++) {
    int d = B->bptr[b + 1] - B->bptr[b];
    const double *W = B->Minv + B->mptr[b];
    bool zero = true; /* of the lower triangle; Minv is symmetric */
    for (int j = 0; zero && j < d; j++)
      for (int i = j + 1; i < d; i++) zero &= W[i + j * d] == 0;
    flags[b] = zero;
  }
  return kkt_use_diagonal(B, copy, flags);
}

void perp_kkt_schur_rhs(const perp_blocks *B, const double *f, const double *c, double *b,
                        double *scratch)
{
  perp_blocks_Minv(B, f, scratch);
  for (int i = 0; i < B->m; i++) b[i] = c[i];
  perp_blocks_J(B, -1, scratch, b);
}

void perp_kkt_schur_motion(const perp_blocks *B, const double *f, const double *lambda, double *a,
                           double *scratch)
{
  for (int i = 0; i < B->nv; i++) scratch[i] = f[i];
  perp_blocks_Jt(B, 1, lambda, scratch);
  perp_blocks_Minv(B, scratch, a);
}

double perp_kkt_cost_schur(const perp_blocks *B)
{
  double work = 0;
  for (int k = 0; k < B->jptr[B->nc]; k++) {
    const int b = B->jblk[k], d = B->bptr[b + 1] - B->bptr[b];
    const double r = B->cptr[B->jgrp[k] + 1] - B->cptr[B->jgrp[k]];
    double rows = r / 2; /* of all groups that meet it in b, in the triangle */
    for (int t = B->tptr[b]; t < B->tptr[b + 1] && B->tsub[t] < k; t++)
      rows += B->cptr[B->jgrp[B->tsub[t]] + 1] - B->cptr[B->jgrp[B->tsub[t]]];
    work += r * d * d + r * d * rows;
  }
  return work;
}

double perp_kkt_cost_sides(const perp_blocks *B)
{
  return 2.0 * (B->joff[B->jptr[B->nc]] + B->mptr[B->nb]);
}
