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

int perp_clamped_differences(const perp_clamped *clamped)
{
  int count = 0;
  for (int i = 0; i < clamped->P.n; i++)
    count += (clamped->set[i] == CLAMPED) != (clamped->pos[i] >= 0);
  return count;
}

void perp_clamped_leave(perp_clamped *clamped, int i, int to)
{
  int u = clamped->pos[i], k = clamped->K.k;
  clamped->stats->work += (double)(k - u) * (k - u);
  perp_ldl_remove(&clamped->K, u);
  for (int q = u + 1; q < k; q++) {
    clamped->rows[q - 1] = clamped->rows[q];
    clamped->pos[clamped->rows[q - 1]] = q - 1;
  }
  clamped->pos[i] = -1;
  perp_clamped_to_bound(clamped, i, to);
}

/* s = v'Av for v = (-A_FF^-1 A_Fi, 1), so rounding of A alone moves it by eps sum v_j^2 A_jj: when
 * A_FF is nearly singular itself a row can depend on F although s is far above eps A_ii. */
double perp_clamped_schur(perp_clamped *clamped, int i)
{
  const double *col = clamped->P.A + (size_t)i * clamped->P.lda;
  int k = clamped->K.k;
  perp_clamped_count(clamped, 1);
  for (int u = 0; u < k; u++) clamped->ell[u] = col[clamped->rows[u]];
  perp_ldl_forward(&clamped->K, clamped->ell);
  double sum = 0;
  for (int u = 0; u < k; u++) sum += clamped->ell[u] * clamped->ell[u] / clamped->K.d[u];
  double s = col[i] - sum, mag = fabs(col[i]) + sum;
  if (s > SURE * mag) return s;
  if (fabs(s) <= DEPEND * mag) return 0;
  perp_clamped_count(clamped, 1);
  for (int u = 0; u < k; u++) clamped->res[u] = clamped->ell[u] / clamped->K.d[u];
  perp_ldl_backward(&clamped->K, clamped->res);
  for (int u = 0; u < k; u++)
    mag += clamped->res[u] * clamped->res[u] *
           clamped->P.A[(size_t)clamped->rows[u] * (clamped->P.lda + 1)];
  return fabs(s) <= ROUNDING * mag ? 0 : s;
}

void perp_clamped_join(perp_clamped *clamped, int i, double s)
{
  perp_ldl_append(&clamped->K, clamped->ell, s);
  clamped->rows[clamped->K.k - 1] = i;
  clamped->pos[i] = clamped->K.k - 1;
  clamped->set[i] = CLAMPED;
}

void perp_clamped_park(perp_clamped *clamped, int i)
{
  double x = clamped->lambda[i], lo = clamped->P.lo[i], hi = clamped->P.hi[i];
  clamped->ignore[i] = 1;
  clamped->dependent++;
  if (x > lo && x < hi)
    clamped->set[i] = PARKED;
  else
    perp_clamped_to_bound(clamped, i, x <= lo ? AT_LO : AT_HI);
}

/* A_FF + shift W = P L U */
static int factor_general(perp_clamped *clamped, double shift)
{
  int k = 0, ld = (int)clamped->K.ld;
  for (int i = 0; i < clamped->P.n; i++) {
    clamped->pos[i] = -1;
    if (clamped->set[i] != CLAMPED) continue;
    clamped->pos[i] = k;
    clamped->rows[k++] = i;
  }
  clamped->K.k = k;
  if (k == 0) return 1;
  clamped->stats->factorizations++;
  perp_clamped_count(clamped, 2 + 2 * k / 3.0);
  for (int u = 0; u < k; u++) {
    const double *col = clamped->P.A + (size_t)clamped->rows[u] * clamped->P.lda;
    double *out = clamped->K.L + (size_t)u * clamped->K.ld;
    for (int v = 0; v < k; v++) out[v] = col[clamped->rows[v]];
    out[u] += shift * clamped->P.a[clamped->rows[u]];
  }
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, k, k, clamped->K.L, ld, clamped->K.order) != 0)
    return 0;
  for (int u = 0; u < k; u++)
    if (!(fabs(clamped->K.L[u + (size_t)u * clamped->K.ld]) >
          SINGULAR * clamped->P.a[clamped->rows[u]]))
      return 0;
  return 1;
}

/* x <- A_FF^-1 x */
static void core_solve(perp_clamped *clamped, double *x)
{
  perp_clamped_count(clamped, 2);
  if (!clamped->general)
    perp_ldl_solve(&clamped->K, x);
  else if (clamped->K.k > 0)
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', clamped->K.k, 1, clamped->K.L, (int)clamped->K.ld,
                        clamped->K.order, x, clamped->K.k);
}

int perp_clamped_factor(perp_clamped *clamped, int changes, double shift)
{
  int n = clamped->P.n;
  clamped->dependent = 0;
  clamped->shifted = shift > 0;
  memset(clamped->ignore, 0, (size_t)n);
  if (clamped->general) return factor_general(clamped, shift);
  if (changes * UPDATE_SHARE < clamped->K.k) {
    for (int i = 0; i < n; i++)
      if (clamped->pos[i] >= 0 && clamped->set[i] != CLAMPED)
        perp_clamped_leave(clamped, i, clamped->set[i]);
    for (int i = 0; i < n; i++)
      if (clamped->pos[i] < 0 && clamped->set[i] == CLAMPED) {
        double s = perp_clamped_schur(clamped, i) +
                   shift * clamped->P.A[(size_t)i * (clamped->P.lda + 1)];
        if (s < 0) return 0;
        if (s > 0)
          perp_clamped_join(clamped, i, s);
        else
          perp_clamped_park(clamped, i);
      }
    return 1;
  }
  int k = 0;
  for (int i = 0; i < n; i++) {
    clamped->pos[i] = -1;
    if (clamped->set[i] == CLAMPED) clamped->rows[k++] = i;
  }
  clamped->stats->factorizations += k > 0;
  clamped->stats->work += (double)k * k * (1 + k / 6.0);
  int rank = perp_ldl_factor(&clamped->K, clamped->P.A, clamped->P.lda, clamped->rows, k, DEPEND,
                             shift);
  if (rank < 0) return 0;
  for (int u = 0; u < rank; u++) clamped->pos[clamped->rows[u]] = u;
  for (int u = rank; u < k; u++) perp_clamped_park(clamped, clamped->rows[u]);
  return 1;
}

void perp_clamped_refine(perp_clamped *clamped)
{
  int k = clamped->K.k;
  perp_pivot_slack(&clamped->P, clamped->lambda, clamped->w);
  for (int u = 0; u < k; u++) clamped->res[u] = -clamped->w[clamped->rows[u]];
  core_solve(clamped, clamped->res);
  for (int u = 0; u < k; u++) clamped->lambda[clamped->rows[u]] += clamped->res[u];
  perp_pivot_slack(&clamped->P, clamped->lambda, clamped->w);
  clamped->stats->matvecs += 2;
  clamped->stats->work += perp_pivot_cost(&clamped->P, 2 * k);
}

/* max |w_F| / a over max |lambda| */
static double core_residual(const perp_clamped *clamped)
{
  double worst = 0;
  for (int u = 0; u < clamped->K.k; u++) {
    int i = clamped->rows[u];
    worst = perp_larger(worst, fabs(clamped->w[i]) / clamped->P.a[i]);
  }
  return worst / perp_larger(perp_clamped_scale_of(clamped), DBL_MIN);
}

int perp_clamped_basic_solution(perp_clamped *clamped, double shift)
{
  int k = clamped->K.k;
  for (int u = 0; u < k; u++) clamped->lambda[clamped->rows[u]] = 0;
  perp_pivot_slack(&clamped->P, clamped->lambda, clamped->w);
  for (int u = 0; u < k; u++) clamped->res[u] = -clamped->w[clamped->rows[u]];
  for (int u = 0; shift > 0 && u < k; u++)
    clamped->res[u] += shift * perp_clamped_weight(clamped, clamped->rows[u]) *
                       clamped->center[clamped->rows[u]];
  core_solve(clamped, clamped->res);
  for (int u = 0; u < k; u++) clamped->lambda[clamped->rows[u]] = clamped->res[u];
  perp_pivot_columns(&clamped->P, k, clamped->rows, clamped->res, clamped->w);
  clamped->stats->matvecs++;
  clamped->stats->work += perp_pivot_cost(&clamped->P, k);
  for (int i = 0; shift > 0 && i < clamped->P.n; i++)
    clamped->w[i] += shift * perp_clamped_weight(clamped, i) *
                     (clamped->lambda[i] - clamped->center[i]);
  if (shift > 0) return 1; /* A itself will be asked at the end */
  double left = core_residual(clamped);
  for (int pass = 0; pass < 3 && left > NOISE; pass++) {
    perp_clamped_refine(clamped);
    left = core_residual(clamped);
  }
  return left <= clamped->foreign;
}

void perp_clamped_first_sets(perp_clamped *clamped, int warm)
{
  for (int i = 0; i < clamped->P.n; i++) {
    double lo = clamped->P.lo[i], hi = clamped->P.hi[i], x = warm ? clamped->lambda[i] : 0;
    if (!clamped->kept) clamped->pos[i] = -1;
    clamped->lambda[i] = x <= lo ? lo : x >= hi ? hi : x;
    clamped->set[i] = x <= lo ? AT_LO : x >= hi ? AT_HI : CLAMPED;
    clamped->center[i] = 0;
  }
  if (!clamped->kept) clamped->K.k = 0;
}

double perp_clamped_clamp(perp_clamped *clamped)
{
  double change = 0;
  for (int i = 0; i < clamped->P.n; i++) {
    double x = perp_smaller(perp_larger(clamped->lambda[i], clamped->P.lo[i]), clamped->P.hi[i]);
    change = perp_larger(change, fabs(x - clamped->lambda[i]));
    clamped->lambda[i] = x;
  }
  return change;
}

int perp_clamped_done(perp_clamped *clamped, int refine)
{
  if (refine || perp_pivot_residual(&clamped->P, clamped->lambda, clamped->w) > REFINE)
    perp_clamped_refine(clamped);
  if (perp_clamped_clamp(clamped) > 0) perp_pivot_slack(&clamped->P, clamped->lambda, clamped->w);
  return perp_pivot_residual(&clamped->P, clamped->lambda, clamped->w) <= PERP_PIVOT_DONE;
}

void perp_clamped_trace(perp_clamped *clamped, const char *what, int entering, int leaving,
                        double step)
{
  if (clamped->ctx == NULL || clamped->ctx->trace == NULL) return;
  for (int i = 0; i < clamped->P.n; i++)
    clamped->state[i] = clamped->set[i] == AT_LO || clamped->set[i] == AT_HI ? clamped->set[i]
                                                                             : PERP_ROW_FREE;
  PERP_TRACE(clamped->ctx, .method = clamped->name, .what = what,
             .iteration = clamped->stats->iterations, .entering = entering, .leaving = leaving,
             .step = step, .residual = (double)NAN, .n = clamped->P.n, .x = clamped->lambda,
             .w = clamped->w, .state = clamped->state);
}
