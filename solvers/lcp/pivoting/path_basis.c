/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The basis of almost complementary paths: K^-1 and its changes, the first index sets, basic
 * solutions. */
#include "solvers/lcp/pivoting/path.h"

#include <string.h>

/* a row depends on the others when its pivot is below DEPEND times the terms that cancel in it */
static const double DEPEND = 1e-10;
/* ... or when all of these terms are themselves what rounding has left of zeros: one multiplier
 * more than there are rows for it */
static const double NOTHING = 1e-13;
/* below this reciprocal condition dependent rows are looked for: of free rows, which have to be in,
 * and of a guess */
static const double DOUBT = 1e-13, DOUBT_GUESS = 1e-10;
/* a row leaves the inverse by an update where its pivot is more than this part of its row and
 * column */
static const double LEAVES = 1e-8;
/* pivots of a pair of rows, relative to the scale of the row */
static const double PAIR = 1e-9;

void perp_path_layout(void *ws, perp_arena *a)
{
  perp_path *L = ws;
  const int n = L->P.max_n, cap = n + 2;
  perp_pivot_layout(&L->P, a);
  L->K.cap = cap;
  L->K.ld = (size_t)cap + (cap % 64 == 0 ? 8 : 0); /* no power-of-two stride */
  L->lwork = cap * 32;
  PERP_DOUBLES(a, L->K.ld * (size_t)cap, &L->K.R);
  PERP_DOUBLES(a, 2 * cap, &L->K.x);
  PERP_DOUBLES(a, L->lwork, &L->work);
  PERP_DOUBLES(a, cap, &L->dir, &L->f, &L->g);
  PERP_DOUBLES(a, n, &L->w, &L->wp, &L->lp, &L->c, &L->dw, &L->dp, &L->tilt);
  PERP_INTS(a, cap, &L->uvar, &L->crow, &L->ipiv);
  PERP_INTS(a, n, &L->upos, &L->cpos);
  L->st = PERP_CARVE(a, signed char, n);
  L->mark = PERP_CARVE(a, signed char, n);
  L->kind = PERP_CARVE(a, unsigned char, n);
  L->stop = PERP_CARVE(a, perp_stop, 2 * n + 3);
}

perp_status perp_path_take(perp_ctx *ctx, perp_path *L, const perp_lcp *p, const char *name,
                           double *lambda, double *certificate, perp_stats *stats)
{
  perp_no_certificate(p, certificate);
  PERP_TRY(perp_pivot_take(ctx, &L->P, p));
  stats->work = L->P.product;
  L->ctx = ctx;
  L->stats = stats;
  L->lambda = lambda;
  L->name = name;
  L->target = -1;
  L->sharp = 1;
  L->lexico = false;
  L->warm = false;
  for (int i = 0; i < p->n; i++) L->warm = L->warm || lambda[i] != 0;
  return PERP_OK;
}

static double path_basis_entry(const perp_path *L, int i, int j)
{
  return L->P.A[(size_t)i + (size_t)j * L->P.lda];
}

void perp_path_row(const perp_path *L, int i, double *out)
{
  if (L->with_t) out[0] = L->c[i];
  for (int u = L->with_t; u < L->K.m; u++) out[u] = path_basis_entry(L, i, L->uvar[u]);
}

void perp_path_column(const perp_path *L, int j, double *out)
{
  const double *col = j < 0 ? L->c : L->P.A + (size_t)j * L->P.lda;
  for (int c = 0; c < L->K.m; c++) out[c] = col[L->crow[c]];
}

void perp_path_product(const perp_path *L, const double *x, double *y)
{
  const int first = L->with_t;
  if (first && x[0] != 0)
    for (int i = 0; i < L->P.n; i++) y[i] += x[0] * L->c[i];
  perp_pivot_columns(&L->P, L->K.m - first, L->uvar + first, x + first, y);
}

/* ---- changes of the basis ---- */

void perp_path_append(perp_path *L, int row, int col, double s)
{
  const int m = L->K.m;
  perp_path_count(L, 2);
  perp_path_row(L, row, L->dp);
  perp_inverse_apply_t(&L->K, L->dp, L->g);
  perp_inverse_append(&L->K, L->f, L->g, s);
  L->crow[m] = row;
  L->cpos[row] = m;
  L->uvar[m] = col;
  if (col >= 0) L->upos[col] = m;
}

void perp_path_replace_column(perp_path *L, int u, int col)
{
  perp_path_count(L, 1);
  perp_inverse_replace_column(&L->K, u, L->f);
  if (L->uvar[u] >= 0) L->upos[L->uvar[u]] = -1;
  L->uvar[u] = col;
  if (col >= 0) L->upos[col] = u;
}

void perp_path_replace_row(perp_path *L, int c, int row)
{
  perp_path_count(L, 2);
  perp_path_row(L, row, L->dp);
  perp_inverse_apply_t(&L->K, L->dp, L->g);
  perp_inverse_replace_row(&L->K, c, L->g);
  L->cpos[L->crow[c]] = -1;
  L->crow[c] = row;
  L->cpos[row] = c;
}

void perp_path_remove(perp_path *L, int u, int c)
{
  const int last = L->K.m - 1;
  perp_path_count(L, 1);
  perp_inverse_remove(&L->K, u, c);
  if (L->uvar[u] >= 0) L->upos[L->uvar[u]] = -1;
  L->cpos[L->crow[c]] = -1;
  if (u != last) {
    L->uvar[u] = L->uvar[last];
    if (L->uvar[u] >= 0) L->upos[L->uvar[u]] = u;
  }
  if (c != last) {
    L->crow[c] = L->crow[last];
    L->cpos[L->crow[c]] = c;
  }
}

void perp_path_t_first(perp_path *L, int u)
{
  if (u != 0) {
    for (int c = 0; c < L->K.m; c++) {
      double *col = L->K.R + (size_t)c * L->K.ld, x = col[0];
      col[0] = col[u];
      col[u] = x;
    }
    L->uvar[u] = L->uvar[0];
    L->upos[L->uvar[u]] = u;
    L->uvar[0] = -1;
  }
  L->with_t = 1;
}

double perp_path_invert(perp_path *L)
{
  for (int u = 0; u < L->K.m; u++) perp_path_column(L, L->uvar[u], L->K.R + (size_t)u * L->K.ld);
  L->stats->factorizations++;
  perp_path_count(L, L->K.m);
  return perp_inverse_factor(&L->K, L->ipiv, L->work, L->lwork);
}

void perp_path_recompute(perp_path *L, int passes)
{
  const int first = L->with_t, n = L->P.n;
  if (passes > 1) { /* from scratch: what is zero becomes exactly zero */
    if (first) L->t = 0;
    for (int u = first; u < L->K.m; u++) L->lambda[L->uvar[u]] = 0;
  }
  for (int pass = 0; pass < passes; pass++) {
    perp_pivot_slack(&L->P, L->lambda, L->w);
    for (int i = 0; first && i < n; i++) L->w[i] += L->t * L->c[i];
    L->stats->matvecs++;
    L->stats->work += perp_pivot_cost(&L->P, L->K.m);
    if (pass == passes - 1) break;
    perp_path_count(L, 1);
    for (int c = 0; c < L->K.m; c++) L->g[c] = L->w[L->crow[c]];
    perp_inverse_apply(&L->K, L->g, L->f);
    if (first) L->t -= L->f[0];
    for (int u = first; u < L->K.m; u++) L->lambda[L->uvar[u]] -= L->f[u];
  }
}

/* ---- the start ---- */

void perp_path_sets(perp_path *L, bool guess)
{
  const double *lo = L->P.lo, *hi = L->P.hi;
  for (int i = 0; i < L->P.n; i++) {
    const bool has_lo = lo[i] > -HUGE_VAL, has_hi = hi[i] < HUGE_VAL;
    const double x = guess ? L->lambda[i] : 0;
    L->kind[i] = !has_lo && !has_hi ? PERP_PATH_FREE
                 : lo[i] == hi[i]   ? PERP_PATH_FIXED
                                    : PERP_PATH_NORMAL;
    L->lambda[i] = x;
    if (L->kind[i] == PERP_PATH_FREE ||
        (guess && L->kind[i] == PERP_PATH_NORMAL && x > lo[i] && x < hi[i]))
      L->st[i] = PERP_ROW_FREE;
    else /* cold: the lower bound if there is one */
      perp_path_rest(L, i, has_lo && (!has_hi || !guess || x <= lo[i]));
  }
}

double perp_path_pivot(perp_path *L, int i, double *terms)
{
  perp_path_column(L, i, L->g);
  perp_path_count(L, 1);
  perp_inverse_apply(&L->K, L->g, L->f);
  perp_path_row(L, i, L->dp);
  double s = path_basis_entry(L, i, i);
  *terms = fabs(s);
  for (int u = 0; u < L->K.m; u++) {
    s -= L->dp[u] * L->f[u];
    *terms += fabs(L->dp[u] * L->f[u]);
  }
  return s;
}

/* append row and column i to K when that keeps it regular */
static bool path_basis_try(perp_path *L, int i)
{
  double terms;
  const double s = perp_path_pivot(L, i, &terms);
  if (!(fabs(s) > DEPEND * terms) || !(fabs(s) > NOTHING * L->P.a[i])) return false;
  perp_path_append(L, i, i, s);
  return true;
}

/* free row i has no pivot of its own: join it with a row j such that the 2 x 2 pivot is regular */
static bool path_basis_try_pair(perp_path *L, int i)
{
  /* The row with which the pair of row i has the largest pivots, L->f = K^-1 column i and L->dw
   * column i of the pivotal transform; -1 when there is none. */
  const int n = L->P.n;
  int partner = -1;
  double most = PAIR;
  L->stats->work += 2.0 * n * L->K.m;
  perp_path_column(L, i, L->g);
  perp_inverse_apply(&L->K, L->g, L->f);
  for (int u = 0; u < L->K.m; u++) L->f[u] = -L->f[u];
  memcpy(L->dw, L->P.A + (size_t)i * L->P.lda, (size_t)n * sizeof *L->dw);
  perp_path_product(L, L->f, L->dw);
  for (int u = 0; u < L->K.m; u++) L->f[u] = -L->f[u];
  perp_path_row(L, i, L->dp);
  perp_inverse_apply_t(&L->K, L->dp, L->g);
  for (int q = 0; q < n; q++) {
    if (L->upos[q] >= 0 || q == i || L->kind[q] == PERP_PATH_FIXED) continue;
    double row = path_basis_entry(L, i, q);
    const double *col = L->P.A + (size_t)q * L->P.lda;
    for (int c = 0; c < L->K.m; c++) row -= L->g[c] * col[L->crow[c]];
    const double size = perp_smaller(fabs(L->dw[q]) / L->P.a[q], fabs(row) / L->P.a[i]);
    if (size > most) {
      most = size;
      partner = q;
    }
  }
  const int j = partner;
  if (j < 0) return false;
  /* equation j with unknown i, then equation i with unknown j */
  perp_path_append(L, j, i, L->dw[j]);
  perp_path_column(L, j, L->g);
  perp_inverse_apply(&L->K, L->g, L->f);
  perp_path_row(L, i, L->dp);
  double s = path_basis_entry(L, i, j);
  for (int u = 0; u < L->K.m; u++) s -= L->dp[u] * L->f[u];
  if (!(fabs(s) > PAIR * L->P.a[i])) { /* take the half step back */
    perp_path_remove(L, L->upos[i], L->cpos[j]);
    return false;
  }
  perp_path_append(L, i, j, s);
  L->st[j] = PERP_ROW_FREE;
  return true;
}

void perp_path_core(perp_path *L)
{
  const int n = L->P.n;
  bool guess = false;
  L->with_t = 0;
  L->K.m = 0;
  for (int i = 0; i < n; i++) {
    L->upos[i] = L->cpos[i] = -1;
    if (L->st[i] != PERP_ROW_FREE) continue;
    guess = guess || L->kind[i] != PERP_PATH_FREE;
    L->upos[i] = L->cpos[i] = L->K.m;
    L->uvar[L->K.m] = L->crow[L->K.m] = i;
    L->K.m++;
  }
  if (L->K.m == 0 || perp_path_invert(L) > (guess ? DOUBT_GUESS : DOUBT)) return;
  /* one by one: first free rows, then bounded ones, then pairs for the free rows that remain */
  L->K.m = 0;
  for (int i = 0; i < n; i++) L->upos[i] = L->cpos[i] = -1;
  for (int i = 0; i < n; i++)
    if (L->kind[i] == PERP_PATH_FREE) path_basis_try(L, i);
  for (int i = 0; i < n; i++)
    if (L->st[i] == PERP_ROW_FREE && L->kind[i] != PERP_PATH_FREE && !path_basis_try(L, i))
      perp_path_rest(L, i, L->lambda[i] - L->P.lo[i] <= L->P.hi[i] - L->lambda[i]);
  for (int i = 0; i < n; i++)
    if (L->kind[i] == PERP_PATH_FREE && L->upos[i] < 0 && !path_basis_try(L, i) &&
        !path_basis_try_pair(L, i)) {
      L->kind[i] = PERP_PATH_PARKED;
      L->lambda[i] = 0;
    }
}

/* Row i of slot u leaves the basis.  What is left may be singular, and then loses other rows, too.
 */
static void path_basis_leave(perp_path *L, int u, int i, bool low, bool *singular)
{
  const int m = L->K.m, c = L->cpos[i];
  double most = 0;
  for (int k = 0; k < m; k++) {
    most = perp_larger(most, fabs(L->K.R[(size_t)k + (size_t)c * L->K.ld]));
    most = perp_larger(most, fabs(L->K.R[(size_t)u + (size_t)k * L->K.ld]));
  }
  *singular = *singular || !(fabs(L->K.R[(size_t)u + (size_t)c * L->K.ld]) > LEAVES * most);
  if (!*singular) perp_path_remove(L, u, c);
  perp_path_rest(L, i, low);
}

bool perp_path_clean(perp_path *L)
{
  for (int round = 0; round < 30; round++) {
    perp_path_recompute(L, 3);
    bool moved = false, singular = false;
    double zero = L->P.bscale;
    for (int i = 0; i < L->P.n; i++) zero = perp_larger(zero, fabs(L->lambda[i]));
    zero *= PERP_PIVOT_ZERO;
    for (int u = L->K.m - 1; u >= 0; u--) {
      const int i = L->uvar[u];
      if (L->kind[i] == PERP_PATH_FREE) continue;
      const bool low = L->lambda[i] < L->P.lo[i] - zero;
      if (!low && !(L->lambda[i] > L->P.hi[i] + zero)) continue;
      path_basis_leave(L, u, i, low, &singular);
      moved = true;
    }
    if (singular) perp_path_core(L);
    if (!moved) return true;
  }
  return false;
}

bool perp_path_parked_proof(perp_path *L)
{
  for (int i = 0; i < L->P.n; i++) {
    if (L->kind[i] != PERP_PATH_PARKED || fabs(L->w[i]) <= 1e-10 * L->P.a[i] * L->P.bscale)
      continue;
    perp_path_row(L, i, L->f);
    L->stats->work += (double)L->P.n * L->P.n;
    perp_inverse_apply_t(&L->K, L->f, L->g);
    for (int q = 0; q < L->P.n; q++) L->dp[q] = 0;
    const double sign = L->w[i] > 0 ? -1 : 1;
    L->dp[i] = sign;
    for (int c = 0; c < L->K.m; c++) L->dp[L->crow[c]] = -sign * L->g[c];
    if (perp_pivot_proves_infeasible(&L->P, L->dp)) return true;
  }
  return false;
}
