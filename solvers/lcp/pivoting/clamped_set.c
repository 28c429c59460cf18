/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clamped set F of dantzig and bpp, and the L D L' of A_FF, by updates or at once; for bpp also
 * the LU of an A_FF that is not symmetric. */
#include "solvers/lcp/pivoting/clamped.h"

#include <float.h>
#include <lapacke.h>
#include <string.h>

/* a row depends on F when s is below DEPEND times its diagonal entry, or below what ROUNDING of A
 * makes of it (some 16 eps); above SURE the second question is not asked */
static const double DEPEND = 1e-12, ROUNDING = 4e-15, SURE = 1e-6;
/* a pivot of an LU below SINGULAR times its row is zero */
static const double SINGULAR = 1e-13;
/* w_F of a basic solution, relative to the multipliers: above NOISE A is not exactly symmetric
 * (files with six digits), and the solution is refined with A itself; what stays above D->foreign
 * is no rounding at all */
static const double NOISE = 1e-10;
/* what is left of w_F when a solution is good; above it one more refinement */
static const double REFINE = 1e-13;

/* updates replace a factorization when the changes are fewer than 1/UPDATE_SHARE of F */
enum { UPDATE_SHARE = 8 };

int perp_clamped_differences(const perp_clamped *D)
{
  int count = 0;
  for (int i = 0; i < D->P.n; i++) count += (D->set[i] == CLAMPED) != (D->pos[i] >= 0);
  return count;
}

void perp_clamped_leave(perp_clamped *D, int i, int to)
{
  int u = D->pos[i], k = D->K.k;
  D->stats->work += (double)(k - u) * (k - u);
  perp_ldl_remove(&D->K, u);
  for (int q = u + 1; q < k; q++) {
    D->rows[q - 1] = D->rows[q];
    D->pos[D->rows[q - 1]] = q - 1;
  }
  D->pos[i] = -1;
  perp_clamped_to_bound(D, i, to);
}

/* s = v'Av for v = (-A_FF^-1 A_Fi, 1), so rounding of A alone moves it by eps sum v_j^2 A_jj: when
 * A_FF is nearly singular itself a row can depend on F although s is far above eps A_ii. */
double perp_clamped_schur(perp_clamped *D, int i)
{
  const double *col = D->P.A + (size_t)i * D->P.lda;
  int k = D->K.k;
  perp_clamped_count(D, 1);
  for (int u = 0; u < k; u++) D->ell[u] = col[D->rows[u]];
  perp_ldl_forward(&D->K, D->ell);
  double sum = 0;
  for (int u = 0; u < k; u++) sum += D->ell[u] * D->ell[u] / D->K.d[u];
  double s = col[i] - sum, mag = fabs(col[i]) + sum;
  if (s > SURE * mag) return s;
  if (fabs(s) <= DEPEND * mag) return 0;
  perp_clamped_count(D, 1);
  for (int u = 0; u < k; u++) D->res[u] = D->ell[u] / D->K.d[u];
  perp_ldl_backward(&D->K, D->res);
  for (int u = 0; u < k; u++)
    mag += D->res[u] * D->res[u] * D->P.A[(size_t)D->rows[u] * (D->P.lda + 1)];
  return fabs(s) <= ROUNDING * mag ? 0 : s;
}

void perp_clamped_join(perp_clamped *D, int i, double s)
{
  perp_ldl_append(&D->K, D->ell, s);
  D->rows[D->K.k - 1] = i;
  D->pos[i] = D->K.k - 1;
  D->set[i] = CLAMPED;
}

void perp_clamped_park(perp_clamped *D, int i)
{
  double x = D->lambda[i], lo = D->P.lo[i], hi = D->P.hi[i];
  D->ignore[i] = 1;
  D->dependent++;
  if (x > lo && x < hi)
    D->set[i] = PARKED;
  else
    perp_clamped_to_bound(D, i, x <= lo ? AT_LO : AT_HI);
}

/* A_FF + shift W = P L U */
static int factor_general(perp_clamped *D, double shift)
{
  int k = 0, ld = (int)D->K.ld;
  for (int i = 0; i < D->P.n; i++) {
    D->pos[i] = -1;
    if (D->set[i] != CLAMPED) continue;
    D->pos[i] = k;
    D->rows[k++] = i;
  }
  D->K.k = k;
  if (k == 0) return 1;
  D->stats->factorizations++;
  perp_clamped_count(D, 2 + 2 * k / 3.0);
  for (int u = 0; u < k; u++) {
    const double *col = D->P.A + (size_t)D->rows[u] * D->P.lda;
    double *out = D->K.L + (size_t)u * D->K.ld;
    for (int v = 0; v < k; v++) out[v] = col[D->rows[v]];
    out[u] += shift * D->P.a[D->rows[u]];
  }
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, k, k, D->K.L, ld, D->K.order) != 0) return 0;
  for (int u = 0; u < k; u++)
    if (!(fabs(D->K.L[u + (size_t)u * D->K.ld]) > SINGULAR * D->P.a[D->rows[u]])) return 0;
  return 1;
}

/* x <- A_FF^-1 x */
static void core_solve(perp_clamped *D, double *x)
{
  perp_clamped_count(D, 2);
  if (!D->general)
    perp_ldl_solve(&D->K, x);
  else if (D->K.k > 0)
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', D->K.k, 1, D->K.L, (int)D->K.ld, D->K.order, x,
                        D->K.k);
}

int perp_clamped_factor(perp_clamped *D, int changes, double shift)
{
  int n = D->P.n;
  D->dependent = 0;
  D->shifted = shift > 0;
  memset(D->ignore, 0, (size_t)n);
  if (D->general) return factor_general(D, shift);
  if (changes * UPDATE_SHARE < D->K.k) {
    for (int i = 0; i < n; i++)
      if (D->pos[i] >= 0 && D->set[i] != CLAMPED) perp_clamped_leave(D, i, D->set[i]);
    for (int i = 0; i < n; i++)
      if (D->pos[i] < 0 && D->set[i] == CLAMPED) {
        double s = perp_clamped_schur(D, i) + shift * D->P.A[(size_t)i * (D->P.lda + 1)];
        if (s < 0) return 0;
        if (s > 0)
          perp_clamped_join(D, i, s);
        else
          perp_clamped_park(D, i);
      }
    return 1;
  }
  int k = 0;
  for (int i = 0; i < n; i++) {
    D->pos[i] = -1;
    if (D->set[i] == CLAMPED) D->rows[k++] = i;
  }
  D->stats->factorizations += k > 0;
  D->stats->work += (double)k * k * (1 + k / 6.0);
  int rank = perp_ldl_factor(&D->K, D->P.A, D->P.lda, D->rows, k, DEPEND, shift);
  if (rank < 0) return 0;
  for (int u = 0; u < rank; u++) D->pos[D->rows[u]] = u;
  for (int u = rank; u < k; u++) perp_clamped_park(D, D->rows[u]);
  return 1;
}

void perp_clamped_refine(perp_clamped *D)
{
  int k = D->K.k;
  perp_pivot_slack(&D->P, D->lambda, D->w);
  for (int u = 0; u < k; u++) D->res[u] = -D->w[D->rows[u]];
  core_solve(D, D->res);
  for (int u = 0; u < k; u++) D->lambda[D->rows[u]] += D->res[u];
  perp_pivot_slack(&D->P, D->lambda, D->w);
  D->stats->matvecs += 2;
  D->stats->work += perp_pivot_cost(&D->P, 2 * k);
}

/* max |w_F| / a over max |lambda| */
static double core_residual(const perp_clamped *D)
{
  double worst = 0;
  for (int u = 0; u < D->K.k; u++) {
    int i = D->rows[u];
    worst = perp_larger(worst, fabs(D->w[i]) / D->P.a[i]);
  }
  return worst / perp_larger(perp_clamped_scale_of(D), DBL_MIN);
}

int perp_clamped_basic_solution(perp_clamped *D, double shift)
{
  int k = D->K.k;
  for (int u = 0; u < k; u++) D->lambda[D->rows[u]] = 0;
  perp_pivot_slack(&D->P, D->lambda, D->w);
  for (int u = 0; u < k; u++) D->res[u] = -D->w[D->rows[u]];
  for (int u = 0; shift > 0 && u < k; u++)
    D->res[u] += shift * perp_clamped_weight(D, D->rows[u]) * D->center[D->rows[u]];
  core_solve(D, D->res);
  for (int u = 0; u < k; u++) D->lambda[D->rows[u]] = D->res[u];
  perp_pivot_columns(&D->P, k, D->rows, D->res, D->w);
  D->stats->matvecs++;
  D->stats->work += perp_pivot_cost(&D->P, k);
  for (int i = 0; shift > 0 && i < D->P.n; i++)
    D->w[i] += shift * perp_clamped_weight(D, i) * (D->lambda[i] - D->center[i]);
  if (shift > 0) return 1; /* A itself will be asked at the end */
  double left = core_residual(D);
  for (int pass = 0; pass < 3 && left > NOISE; pass++) {
    perp_clamped_refine(D);
    left = core_residual(D);
  }
  return left <= D->foreign;
}

void perp_clamped_first_sets(perp_clamped *D, int warm)
{
  for (int i = 0; i < D->P.n; i++) {
    double lo = D->P.lo[i], hi = D->P.hi[i], x = warm ? D->lambda[i] : 0;
    if (!D->kept) D->pos[i] = -1;
    D->lambda[i] = x <= lo ? lo : x >= hi ? hi : x;
    D->set[i] = x <= lo ? AT_LO : x >= hi ? AT_HI : CLAMPED;
    D->center[i] = 0;
  }
  if (!D->kept) D->K.k = 0;
}

double perp_clamped_clamp(perp_clamped *D)
{
  double change = 0;
  for (int i = 0; i < D->P.n; i++) {
    double x = perp_smaller(perp_larger(D->lambda[i], D->P.lo[i]), D->P.hi[i]);
    change = perp_larger(change, fabs(x - D->lambda[i]));
    D->lambda[i] = x;
  }
  return change;
}

int perp_clamped_done(perp_clamped *D, int refine)
{
  if (refine || perp_pivot_residual(&D->P, D->lambda, D->w) > REFINE) perp_clamped_refine(D);
  if (perp_clamped_clamp(D) > 0) perp_pivot_slack(&D->P, D->lambda, D->w);
  return perp_pivot_residual(&D->P, D->lambda, D->w) <= PERP_PIVOT_DONE;
}

void perp_clamped_trace(perp_clamped *D, const char *what, int entering, int leaving, double step)
{
  if (D->ctx == NULL || D->ctx->trace == NULL) return;
  for (int i = 0; i < D->P.n; i++)
    D->state[i] = D->set[i] == AT_LO || D->set[i] == AT_HI ? D->set[i] : PERP_ROW_FREE;
  PERP_TRACE(D->ctx, .method = D->name, .what = what, .iteration = D->stats->iterations,
             .entering = entering, .leaving = leaving, .step = step, .residual = (double)NAN,
             .n = D->P.n, .x = D->lambda, .w = D->w, .state = D->state);
}
