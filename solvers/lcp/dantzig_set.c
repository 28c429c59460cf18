/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dantzig: the clamped set F and the L D L' of A_FF, by updates or at once. */
#include "solvers/lcp/dantzig_impl.h"

#include <float.h>
#include <string.h>

/* a row depends on F when s is below DEPEND times its diagonal entry, or below what ROUNDING of A makes of
 * it (some 16 eps); above SURE the second question is not asked */
static const double DEPEND = 1e-12, ROUNDING = 4e-15, SURE = 1e-6;
/* w_F of a basic solution, relative to the multipliers: above NOISE A is not exactly symmetric (files with six
 * digits), and the solution is refined with A itself; what stays above FOREIGN is no rounding at all */
static const double NOISE = 1e-10, FOREIGN = 1e-4;

/* updates replace a factorization when the changes are fewer than 1/UPDATE_SHARE of F */
enum { UPDATE_SHARE = 8 };

int perp_dantzig_differences(const struct dantzig *D)
{
  int count = 0;
  for (int i = 0; i < D->P.n; i++) count += (D->set[i] == CLAMPED) != (D->pos[i] >= 0);
  return count;
}

void perp_dantzig_leave(struct dantzig *D, int i, int to)
{
  int u = D->pos[i], k = D->K.k;
  perp_ldl_remove(&D->K, u);
  for (int q = u + 1; q < k; q++) {
    D->rows[q - 1] = D->rows[q];
    D->pos[D->rows[q - 1]] = q - 1;
  }
  D->pos[i] = -1;
  D->set[i] = (signed char)to;
  D->lambda[i] = to == AT_LO ? D->P.lo[i] : D->P.hi[i];
}

/* s = v'Av for v = (-A_FF^-1 A_Fi, 1), so rounding of A alone moves it by eps sum v_j^2 A_jj: when A_FF is
 * nearly singular itself a row can depend on F although s is far above eps A_ii. */
double perp_dantzig_schur(struct dantzig *D, int i)
{
  const double *col = D->P.A + (size_t)i * D->P.lda;
  int k = D->K.k;
  for (int u = 0; u < k; u++) D->ell[u] = col[D->rows[u]];
  perp_ldl_forward(&D->K, D->ell);
  double sum = 0;
  for (int u = 0; u < k; u++) sum += D->ell[u] * D->ell[u] / D->K.d[u];
  double s = col[i] - sum, mag = fabs(col[i]) + sum;
  if (s > SURE * mag) return s;
  if (fabs(s) <= DEPEND * mag) return 0;
  for (int u = 0; u < k; u++) D->res[u] = D->ell[u] / D->K.d[u];
  perp_ldl_backward(&D->K, D->res);
  for (int u = 0; u < k; u++)
    mag += D->res[u] * D->res[u] * D->P.A[(size_t)D->rows[u] * (D->P.lda + 1)];
  return fabs(s) <= ROUNDING * mag ? 0 : s;
}

void perp_dantzig_join(struct dantzig *D, int i, double s)
{
  perp_ldl_append(&D->K, D->ell, s);
  D->rows[D->K.k - 1] = i;
  D->pos[i] = D->K.k - 1;
  D->set[i] = CLAMPED;
}

void perp_dantzig_park(struct dantzig *D, int i)
{
  double x = D->lambda[i], lo = D->P.lo[i], hi = D->P.hi[i];
  D->ignore[i] = 1;
  D->dependent++;
  D->set[i] = x > lo && x < hi ? PARKED : x <= lo ? AT_LO : AT_HI;
  if (D->set[i] != PARKED) D->lambda[i] = x <= lo ? lo : hi;
}

int perp_dantzig_factor(struct dantzig *D, int changes, double shift)
{
  int n = D->P.n;
  D->dependent = 0;
  memset(D->ignore, 0, (size_t)n);
  if (changes * UPDATE_SHARE < D->K.k) {
    for (int i = 0; i < n; i++)
      if (D->pos[i] >= 0 && D->set[i] != CLAMPED) perp_dantzig_leave(D, i, D->set[i]);
    for (int i = 0; i < n; i++)
      if (D->pos[i] < 0 && D->set[i] == CLAMPED) {
        double s = perp_dantzig_schur(D, i) + shift * D->P.A[(size_t)i * (D->P.lda + 1)];
        if (s < 0) return 0;
        if (s > 0)
          perp_dantzig_join(D, i, s);
        else
          perp_dantzig_park(D, i);
      }
    return 1;
  }
  int k = 0;
  for (int i = 0; i < n; i++) {
    D->pos[i] = -1;
    if (D->set[i] == CLAMPED) D->rows[k++] = i;
  }
  D->stats->factorizations += k > 0;
  int rank = perp_ldl_factor(&D->K, D->P.A, D->P.lda, D->rows, k, DEPEND, shift);
  if (rank < 0) return 0;
  for (int u = 0; u < rank; u++) D->pos[D->rows[u]] = u;
  for (int u = rank; u < k; u++) perp_dantzig_park(D, D->rows[u]);
  return 1;
}

void perp_dantzig_refine(struct dantzig *D)
{
  int k = D->K.k;
  perp_pivot_slack(&D->P, D->lambda, D->w);
  for (int u = 0; u < k; u++) D->res[u] = -D->w[D->rows[u]];
  perp_ldl_solve(&D->K, D->res);
  for (int u = 0; u < k; u++) D->lambda[D->rows[u]] += D->res[u];
  perp_pivot_slack(&D->P, D->lambda, D->w);
  D->stats->matvecs += 2;
}

/* max |w_F| / a over max |lambda| */
static double core_residual(const struct dantzig *D)
{
  double worst = 0;
  for (int u = 0; u < D->K.k; u++) {
    int i = D->rows[u];
    worst = perp_larger(worst, fabs(D->w[i]) / D->P.a[i]);
  }
  return worst / perp_larger(perp_dantzig_scale_of(D), DBL_MIN);
}

int perp_dantzig_basic_solution(struct dantzig *D, double shift)
{
  int k = D->K.k;
  for (int u = 0; u < k; u++) D->lambda[D->rows[u]] = 0;
  perp_pivot_slack(&D->P, D->lambda, D->w);
  for (int u = 0; u < k; u++) D->res[u] = -D->w[D->rows[u]];
  perp_ldl_solve(&D->K, D->res);
  for (int u = 0; u < k; u++) D->lambda[D->rows[u]] = D->res[u];
  perp_pivot_columns(&D->P, k, D->rows, D->res, D->w);
  D->stats->matvecs++;
  if (shift > 0) return 1;
  double left = core_residual(D);
  for (int pass = 0; pass < 3 && left > NOISE; pass++) {
    perp_dantzig_refine(D);
    left = core_residual(D);
  }
  return left <= FOREIGN;
}
