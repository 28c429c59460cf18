/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/pivoting/path.h"

#include <math.h>
#include <string.h>

/* a direction entry below TINY times the largest is taken for zero, about 1e4 roundings */
static const double TINY = 1e-12;
/* residual of a direction on the core rows: refine above, invert afresh above */
static const double REFINE = 1e-13, REBUILD = 1e-9;
/* a row depends on the others when its pivot is below DEPEND times the terms that cancel in it */
static const double DEPEND = 1e-10;
/* ... or when all of these terms are themselves what rounding has left of zeros: one multiplier more than there are
 * rows for it */
static const double NOTHING = 1e-13;
/* below WANDER of b, t is at the level of the errors of the vertices: a path that no longer falls there
 * follows rounding, not the problem */
static const double WANDER = 1e-7;
/* pivots before a path is watched for cycles: a power of two */
enum { FIRST_MARK = 16 };

void perp_path_layout(perp_path *L, perp_arena *a, int max_n)
{
  int n = max_n, cap = max_n + 2;
  perp_pivot_layout(&L->P, a, n);
  L->K.cap = cap;
  L->K.ld = (size_t)cap + (cap % 64 == 0 ? 8 : 0); /* no power-of-two stride */
  L->K.R = PERP_CARVE(a, double, L->K.ld *(size_t)cap);
  L->K.x = PERP_CARVE(a, double, 2 * cap);
  L->uvar = PERP_CARVE(a, int, cap);
  L->crow = PERP_CARVE(a, int, cap);
  L->ipiv = PERP_CARVE(a, int, cap);
  L->upos = PERP_CARVE(a, int, n);
  L->cpos = PERP_CARVE(a, int, n);
  L->dir = PERP_CARVE(a, double, cap);
  L->f = PERP_CARVE(a, double, cap);
  L->g = PERP_CARVE(a, double, cap);
  L->w = PERP_CARVE(a, double, n);
  L->wp = PERP_CARVE(a, double, n);
  L->lp = PERP_CARVE(a, double, n);
  L->c = PERP_CARVE(a, double, n);
  L->dw = PERP_CARVE(a, double, n);
  L->dp = PERP_CARVE(a, double, n);
  L->st = PERP_CARVE(a, signed char, n);
  L->kind = PERP_CARVE(a, unsigned char, n);
  L->mark = PERP_CARVE(a, signed char, n);
  L->tilt = PERP_CARVE(a, double, n);
  L->cand = PERP_CARVE(a, perp_path_ratio, 2 * n + 3);
  L->lwork = cap * 32;
  L->work = PERP_CARVE(a, double, L->lwork);
}

static double path_entry(const perp_path *L, int i, int j)
{
  return L->P.A[(size_t)i + (size_t)j * L->P.lda];
}

/* row i of [c A] at the unknowns */
void perp_path_row(const perp_path *L, int i, double *out)
{
  int first = L->with_t;
  if (first) out[0] = L->c[i];
  for (int u = first; u < L->K.m; u++) out[u] = path_entry(L, i, L->uvar[u]);
}

/* column j of A (j = -1: c) at the equations */
static void gather_column(const perp_path *L, int j, double *out)
{
  const double *col = j < 0 ? L->c : L->P.A + (size_t)j * L->P.lda;
  for (int c = 0; c < L->K.m; c++) out[c] = col[L->crow[c]];
}

/* y += [c A_S] x over the unknowns */
static void path_columns(const perp_path *L, const double *x, double *y)
{
  int first = L->with_t;
  if (first && x[0] != 0)
    for (int i = 0; i < L->P.n; i++) y[i] += x[0] * L->c[i];
  perp_pivot_columns(&L->P, L->K.m - first, L->uvar + first, x + first, y);
}

/* ---- changes of the basis -------------------------------------------------------------------- */

/* equation `row` and unknown lambda_col (col = -1: t) join; f = K^-1 column, pivot s */
void perp_path_append(perp_path *L, int row, int col, double s)
{
  int m = L->K.m;
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

static void replace_row(perp_path *L, int c, int row)
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
  int last = L->K.m - 1;
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

/* t moves from slot u to slot 0, where the rest of the code expects it */
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

/* K from A and c, inverted; the basic variables from K.  0 when K is singular. */
static int path_rebuild(perp_path *L)
{
  int m = L->K.m;
  for (int u = 0; u < m; u++) gather_column(L, L->uvar[u], L->K.R + (size_t)u * L->K.ld);
  L->stats->factorizations++;
  perp_path_count(L, L->K.m);
  if (perp_inverse_factor(&L->K, L->ipiv, L->work, L->lwork) <= 1e-16) return 0;
  return 1;
}

/* unknowns <- solution of the core equations, w of all rows */
void perp_path_recompute(perp_path *L, int passes)
{
  int first = L->with_t, n = L->P.n;
  if (passes > 1) { /* from scratch: what is zero becomes exactly zero */
    if (first) L->t = 0;
    for (int u = first; u < L->K.m; u++) L->lambda[L->uvar[u]] = 0;
  }
  for (int pass = 0; pass < passes; pass++) {
    perp_pivot_slack(&L->P, L->lambda, L->w);
    if (first)
      for (int i = 0; i < n; i++) L->w[i] += L->t * L->c[i];
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

/* ---- the start -------------------------------------------------------------------------------- */

/* append row and column i to K when that keeps it regular */
static int try_append(perp_path *L, int i)
{
  gather_column(L, i, L->g);
  perp_path_count(L, 1);
  perp_inverse_apply(&L->K, L->g, L->f);
  perp_path_row(L, i, L->dp);
  double s = path_entry(L, i, i), mag = fabs(s);
  for (int u = 0; u < L->K.m; u++) {
    s -= L->dp[u] * L->f[u];
    mag += fabs(L->dp[u] * L->f[u]);
  }
  if (!(fabs(s) > DEPEND * mag) || !(fabs(s) > NOTHING * L->P.a[i])) return 0;
  perp_path_append(L, i, i, s);
  return 1;
}

/* free row i has no pivot of its own: join it with a row j such that the 2 x 2 pivot is regular */
static int try_append_pair(perp_path *L, int i)
{
  int n = L->P.n, j = -1;
  double most = 0;
  L->stats->work += 2.0 * n * L->K.m;
  /* column i and row i of the pivotal transform */
  gather_column(L, i, L->g);
  perp_inverse_apply(&L->K, L->g, L->f);
  for (int u = 0; u < L->K.m; u++) L->f[u] = -L->f[u];
  memcpy(L->dw, L->P.A + (size_t)i * L->P.lda, (size_t)n * sizeof *L->dw);
  path_columns(L, L->f, L->dw);
  perp_path_row(L, i, L->dp);
  perp_inverse_apply_t(&L->K, L->dp, L->g);
  for (int q = 0; q < n; q++) {
    if (L->upos[q] >= 0 || q == i || L->kind[q] == PERP_PATH_FIXED) continue;
    double row = path_entry(L, i, q);
    const double *col = L->P.A + (size_t)q * L->P.lda;
    for (int c = 0; c < L->K.m; c++) row -= L->g[c] * col[L->crow[c]];
    double size = perp_smaller(fabs(L->dw[q]) / L->P.a[q], fabs(row) / L->P.a[i]);
    if (size > most) {
      most = size;
      j = q;
    }
  }
  if (!(most > 1e-9)) return 0;
  /* equation j with unknown i, then equation i with unknown j */
  for (int u = 0; u < L->K.m; u++) L->f[u] = -L->f[u];
  perp_path_append(L, j, i, L->dw[j]);
  gather_column(L, j, L->g);
  perp_inverse_apply(&L->K, L->g, L->f);
  perp_path_row(L, i, L->dp);
  double s = path_entry(L, i, j);
  for (int u = 0; u < L->K.m; u++) s -= L->dp[u] * L->f[u];
  if (!(fabs(s) > 1e-9 * L->P.a[i])) { /* take the half step back */
    perp_path_remove(L, L->upos[i], L->cpos[j]);
    return 0;
  }
  perp_path_append(L, i, j, s);
  L->st[j] = PERP_ROW_FREE;
  return 1;
}

/* K = A_SS for the rows with st = FREE; dependent rows are left out (bounded) or parked (free) */
void perp_path_core(perp_path *L)
{
  int n = L->P.n;
  L->with_t = L->broken = 0;
  L->K.m = 0;
  for (int i = 0; i < n; i++) L->upos[i] = L->cpos[i] = -1;
  int k = 0;
  for (int i = 0; i < n; i++)
    if (L->st[i] == PERP_ROW_FREE) {
      L->uvar[k] = L->crow[k] = i;
      L->upos[i] = L->cpos[i] = k++;
    }
  if (k == 0) return;
  L->K.m = k;
  L->stats->factorizations++;
  perp_path_count(L, L->K.m);
  for (int u = 0; u < k; u++) gather_column(L, L->uvar[u], L->K.R + (size_t)u * L->K.ld);
  if (perp_inverse_factor(&L->K, L->ipiv, L->work, L->lwork) > 1e-13) return;
  /* one by one: first free rows, then bounded ones, then pairs for the free rows that remain */
  L->K.m = 0;
  for (int i = 0; i < n; i++) L->upos[i] = L->cpos[i] = -1;
  for (int i = 0; i < n; i++)
    if (L->kind[i] == PERP_PATH_FREE) try_append(L, i);
  for (int i = 0; i < n; i++) {
    if (L->st[i] != PERP_ROW_FREE || L->kind[i] == PERP_PATH_FREE || try_append(L, i)) continue;
    int low = L->lambda[i] - L->P.lo[i] <= L->P.hi[i] - L->lambda[i];
    L->st[i] = low ? PERP_ROW_LO : PERP_ROW_HI;
    L->lambda[i] = low ? L->P.lo[i] : L->P.hi[i];
  }
  for (int i = 0; i < n; i++)
    if (L->kind[i] == PERP_PATH_FREE && L->upos[i] < 0 && !try_append(L, i) &&
        !try_append_pair(L, i)) {
      L->kind[i] = PERP_PATH_PARKED;
      L->lambda[i] = 0;
    }
}

/* index sets: free rows basic, the others at a bound or, with a guess, between */
void perp_path_sets(perp_path *L, int guess)
{
  const double *lo = L->P.lo, *hi = L->P.hi;
  for (int i = 0; i < L->P.n; i++) {
    int has_lo = lo[i] > -HUGE_VAL, has_hi = hi[i] < HUGE_VAL;
    double x = guess ? L->lambda[i] : 0;
    L->kind[i] = !has_lo && !has_hi ? PERP_PATH_FREE
                 : lo[i] == hi[i]   ? PERP_PATH_FIXED
                                    : PERP_PATH_NORMAL;
    if (L->kind[i] == PERP_PATH_FREE ||
        (guess && L->kind[i] == PERP_PATH_NORMAL && x > lo[i] && x < hi[i])) {
      L->st[i] = PERP_ROW_FREE;
    } else {
      /* cold: the lower bound if there is one */
      L->st[i] = has_lo && (!has_hi || !guess || x <= lo[i]) ? PERP_ROW_LO : PERP_ROW_HI;
      x = L->st[i] == PERP_ROW_LO ? lo[i] : hi[i];
    }
    L->lambda[i] = x;
  }
}

/* basic lambda of a guess must lie within their bounds: put those outside on the bound, until none is */
int perp_path_clean(perp_path *L)
{
  for (int round = 0; round < 30; round++) {
    perp_path_recompute(L, 3);
    int moved = 0;
    double zero = L->P.bscale;
    for (int i = 0; i < L->P.n; i++) zero = perp_larger(zero, fabs(L->lambda[i]));
    zero *= PERP_PIVOT_ZERO;
    for (int u = L->K.m - 1; u >= 0; u--) {
      int i = L->uvar[u];
      if (L->kind[i] == PERP_PATH_FREE) continue;
      int low = L->lambda[i]<L->P.lo[i] - zero, high = L->lambda[i]> L->P.hi[i] + zero;
      if (!low && !high) continue;
      if (!(fabs(L->K.R[u + (size_t)L->cpos[i] * L->K.ld]) > 0)) return 0;
      perp_path_remove(L, u, L->cpos[i]);
      L->st[i] = low ? PERP_ROW_LO : PERP_ROW_HI;
      L->lambda[i] = low ? L->P.lo[i] : L->P.hi[i];
      moved++;
    }
    if (!moved) return 1;
  }
  return 0;
}

int perp_path_parked_proof(perp_path *L)
{
  for (int i = 0; i < L->P.n; i++) {
    if (L->kind[i] != PERP_PATH_PARKED || fabs(L->w[i]) <= 1e-10 * L->P.a[i] * L->P.bscale)
      continue;
    perp_path_row(L, i, L->f);
    L->stats->work += (double)L->P.n * L->P.n;
    perp_inverse_apply_t(&L->K, L->f, L->g);
    for (int q = 0; q < L->P.n; q++) L->dp[q] = 0;
    double sign = L->w[i] > 0 ? -1 : 1;
    L->dp[i] = sign;
    for (int c = 0; c < L->K.m; c++) L->dp[L->crow[c]] = -sign * L->g[c];
    if (perp_pivot_proves_infeasible(&L->P, L->dp)) return 1;
  }
  return 0;
}

/* ---- the path ------------------------------------------------------------------------------------ */

/* dir, dw for lambda_e (or w_e) moving by sign */
static void path_direction(perp_path *L, int e, int is_lambda, double sign)
{
  int m = L->K.m, n = L->P.n;
  if (is_lambda) {
    perp_path_count(L, 1);
    gather_column(L, e, L->g);
    perp_inverse_apply(&L->K, L->g, L->dir);
    for (int u = 0; u < m; u++) L->dir[u] *= -sign;
  } else {
    const double *col = L->K.R + (size_t)L->cpos[e] * L->K.ld;
    for (int u = 0; u < m; u++) L->dir[u] = sign * col[u];
  }
  for (int round = 0;; round++) {
    if (is_lambda) {
      const double *col = L->P.A + (size_t)e * L->P.lda;
      for (int i = 0; i < n; i++) L->dw[i] = sign * col[i];
    } else {
      for (int i = 0; i < n; i++) L->dw[i] = 0;
    }
    path_columns(L, L->dir, L->dw);
    L->stats->matvecs++;
    L->stats->work += perp_pivot_cost(&L->P, m);
    double size = is_lambda ? 1 : 1 / L->P.a[e], worst = 0;
    for (int u = 1; u < m; u++) size = perp_larger(size, fabs(L->dir[u]));
    size = perp_larger(size, fabs(L->dir[0]) * L->ct);
    for (int c = 0; c < m; c++) {
      int i = L->crow[c];
      L->g[c] = L->dw[i] - (is_lambda || i != e ? 0 : sign);
      worst = perp_larger(worst, fabs(L->g[c]) / L->P.a[i]);
    }
    if (worst <= REFINE * size || round == 3) break;
    if (worst > REBUILD * size && round == 1) {
      L->broken = !path_rebuild(L);
      if (L->broken) break;
      perp_path_recompute(L, 3);
      for (int c = 0; c < L->K.m; c++) L->w[L->crow[c]] = 0;
    }
    perp_path_count(L, 1);
    perp_inverse_apply(&L->K, L->g, L->f);
    for (int u = 0; u < m; u++) L->dir[u] -= L->f[u];
  }
  for (int c = 0; c < m; c++) L->dw[L->crow[c]] = 0;
  if (!is_lambda) L->dw[e] = sign;
}

static void path_consider(perp_path *L, perp_path_ratio *best, double limit, int what, int row,
                          double dist, double dist_p, double rate, int up)
{
  double theta = dist / rate, theta_p = dist_p / rate;
  if (theta > limit) return;
  const perp_path_ratio r = { what, row, theta, theta_p, rate, up, 0 };
  int take = best->what == PERP_PATH_IS_NONE;
  if (L->lexico && what != PERP_PATH_IS_T)
    L->cand[L->n_cand++] = r;
  else if (!take && best->what != PERP_PATH_IS_T)
    take = what == PERP_PATH_IS_T || theta_p < best->theta_p;
  if (take) *best = r;
}

/* the basic variable that stops the move */
static perp_path_ratio path_ratio_test(perp_path *L, int e, int is_lambda)
{
  int n = L->P.n, m = L->K.m;
  const double *lo = L->P.lo, *hi = L->P.hi, *lambda = L->lambda;
  double size = is_lambda ? 1 : 1 / L->P.a[e], zs = perp_larger(L->P.bscale, L->t * L->ct);
  for (int u = 1; u < m; u++) {
    size = perp_larger(size, fabs(L->dir[u]));
    zs = perp_larger(zs, fabs(lambda[L->uvar[u]]));
  }
  size = perp_larger(size, fabs(L->dir[0]) * L->ct);
  double zero = L->sharp * PERP_PIVOT_ZERO * zs, tiny = L->sharp * TINY * size;
  /* first pass: the longest step that violates nothing by more than `zero` */
  double limit = HUGE_VAL;
  if (L->dir[0] * L->ct < -tiny) limit = perp_smaller(limit, (L->t + zero / L->ct) / -L->dir[0]);
  for (int u = 1; u < m; u++) {
    int i = L->uvar[u];
    double r = L->dir[u];
    if (r < -tiny && L->kind[i] != PERP_PATH_FREE)
      limit = perp_smaller(limit, (lambda[i] - lo[i] + zero) / -r);
    if (r > tiny && L->kind[i] != PERP_PATH_FREE)
      limit = perp_smaller(limit, (hi[i] - lambda[i] + zero) / r);
  }
  for (int i = 0; i < n; i++) {
    double r = L->st[i] == PERP_ROW_LO ? -L->dw[i] : L->dw[i], a = L->P.a[i];
    if (r > tiny * a && L->st[i] != PERP_ROW_FREE && L->kind[i] == PERP_PATH_NORMAL)
      limit = perp_smaller(limit, (fabs(L->w[i]) + zero * a) / r);
  }
  if (is_lambda) limit = perp_smaller(limit, hi[e] - lo[e]);
  /* second pass: among those, t first, else the least ratio of the perturbed problem */
  perp_path_ratio best = { .what = PERP_PATH_IS_NONE, .theta = HUGE_VAL };
  L->n_cand = 0;
  if (limit == HUGE_VAL) return best;
  if (L->dir[0] * L->ct < -tiny)
    path_consider(L, &best, limit, PERP_PATH_IS_T, -1, L->t, L->tp, -L->dir[0], 0);
  for (int u = 1; u < m; u++) {
    int i = L->uvar[u];
    double r = L->dir[u];
    if (L->kind[i] == PERP_PATH_FREE) continue;
    if (r < -tiny)
      path_consider(L, &best, limit, PERP_PATH_IS_LAMBDA, i, lambda[i] - lo[i], L->lp[i], -r, 0);
    if (r > tiny)
      path_consider(L, &best, limit, PERP_PATH_IS_LAMBDA, i, hi[i] - lambda[i], -L->lp[i], r, 1);
  }
  for (int i = 0; i < n; i++) {
    int low = L->st[i] == PERP_ROW_LO;
    double r = low ? -L->dw[i] : L->dw[i];
    if (r > tiny * L->P.a[i] && L->st[i] != PERP_ROW_FREE && L->kind[i] == PERP_PATH_NORMAL)
      path_consider(L, &best, limit, PERP_PATH_IS_W, i, low ? L->w[i] : -L->w[i],
                    low ? L->wp[i] : -L->wp[i], r, !low);
  }
  if (is_lambda && hi[e] - lo[e] <= limit)
    path_consider(L, &best, limit, PERP_PATH_IS_FLIP, e, hi[e] - lo[e], 0, 1, 0);
  if (L->n_cand > 1 && best.what != PERP_PATH_IS_T) {
    perp_path_lexico(L, L->cand, L->n_cand);
    best = L->cand[0];
    best.theta_p = 0;
  }
  if (best.theta < 0) best.theta = 0;
  return best;
}

/* all basic variables move along the direction */
static void path_move(perp_path *L, const perp_path_ratio *r)
{
  int n = L->P.n, m = L->K.m;
  L->t += r->theta * L->dir[0];
  L->tp += r->theta_p * L->dir[0];
  for (int u = 1; u < m; u++) {
    int i = L->uvar[u];
    L->lambda[i] = perp_smaller(perp_larger(L->lambda[i] + r->theta * L->dir[u], L->P.lo[i]),
                                L->P.hi[i]);
    L->lp[i] += r->theta_p * L->dir[u];
  }
  for (int i = 0; i < n; i++) {
    L->w[i] += r->theta * L->dw[i];
    L->wp[i] += r->theta_p * L->dw[i];
  }
}

/* t and the equation of row r leave the basis although t > 0: w_r takes over */
static void drop_t(perp_path *L, int r)
{
  perp_path_remove(L, 0, L->cpos[r]);
  L->w[r] = -L->t * L->c[r];
  L->with_t = 0;
}

/* Is this vertex, from which lambda_e or w_e is to enter, the marked one for the second time? */
static int path_cycles(perp_path *L, int step, int e, int is_lambda)
{
  size_t n = (size_t)L->P.n;
  if (step >= FIRST_MARK && (step & (step - 1)) == 0) {
    memcpy(L->mark, L->st, n);
    L->mark_e = e;
    L->mark_is_lambda = is_lambda;
    L->returns = 0;
    return 0;
  }
  if (step < FIRST_MARK || e != L->mark_e || is_lambda != L->mark_is_lambda ||
      memcmp(L->st, L->mark, n) != 0)
    return 0;
  return ++L->returns == 2;
}

perp_reason perp_path_follow(perp_path *L, int e, int is_lambda)
{
  double least = L->t;
  int patience = 100 + L->P.n / 4, fallen = L->stats->iterations;
  for (int step = 0;; step++) {
    if (L->stats->iterations >= L->limit || perp_pivot_spent(&L->P, L->stats)) return PERP_MAX_ITER;
    if (path_cycles(L, step, e, is_lambda)) return PERP_CYCLED;
    if (L->t <= 0.5 * least) {
      least = L->t;
      fallen = L->stats->iterations;
    }
    if (L->target < 0 && L->t * L->ct <= WANDER * L->P.bscale &&
        L->stats->iterations - fallen > patience)
      return PERP_INACCURATE;
    double sign = L->st[e] == PERP_ROW_LO ? 1 : -1;
    path_direction(L, e, is_lambda, sign);
    if (L->broken) return PERP_SINGULAR;
    perp_path_ratio r = path_ratio_test(L, e, is_lambda);
    if (r.what == PERP_PATH_IS_NONE) {
      /* the ray, for the certificate: components of lambda */
      for (int i = 0; i < L->P.n; i++) L->dp[i] = 0;
      for (int u = 1; u < L->K.m; u++) L->dp[L->uvar[u]] = L->dir[u];
      if (is_lambda) L->dp[e] = sign;
      return PERP_RAY;
    }
    if (!isfinite(r.theta)) return PERP_NOT_FINITE;
    path_move(L, &r);
    L->stats->iterations++;
    if (is_lambda) {
      L->lambda[e] = (sign > 0 ? L->P.lo[e] : L->P.hi[e]) + sign * r.theta;
      L->lp[e] = sign * r.theta_p;
      for (int u = 0; u < L->K.m; u++) L->f[u] = -sign * L->dir[u];
    }
    PERP_TRACE(L->ctx, .method = L->name, .what = "pivot", .iteration = L->stats->iterations,
               .entering = e, .leaving = r.row, .step = r.theta, .residual = L->t, .n = L->P.n,
               .x = L->lambda, .w = L->w, .state = L->st);
    switch (r.what) {
    case PERP_PATH_IS_T:
      L->t = 0;
      if (is_lambda) {
        perp_path_replace_column(L, 0, e);
        L->st[e] = PERP_ROW_FREE;
      } else {
        perp_path_remove(L, 0, L->cpos[e]);
      }
      L->with_t = 0;
      return PERP_RUNNING;
    case PERP_PATH_IS_FLIP: /* from one bound to the other: now w_e leaves 0 to the other side */
      L->st[e] = (signed char)-L->st[e];
      L->lambda[e] = L->st[e] == PERP_ROW_LO ? L->P.lo[e] : L->P.hi[e];
      L->lp[e] = 0;
      if (e == L->target && L->st[e] == L->target_bound) {
        drop_t(L, e);
        return PERP_RUNNING;
      }
      is_lambda = 0;
      continue;
    case PERP_PATH_IS_LAMBDA: {
      int l = r.row, u = L->upos[l];
      L->lambda[l] = r.up ? L->P.hi[l] : L->P.lo[l];
      L->lp[l] = 0;
      L->st[l] = r.up ? PERP_ROW_HI : PERP_ROW_LO;
      if (is_lambda) {
        perp_path_replace_column(L, u, e);
        L->st[e] = PERP_ROW_FREE;
      } else {
        perp_path_remove(L, u, L->cpos[e]);
      }
      if (l == L->target && L->st[l] == L->target_bound) {
        drop_t(L, l);
        return PERP_RUNNING;
      }
      e = l;
      is_lambda = 0;
      break;
    }
    default: { /* w_l */
      int l = r.row;
      double s = L->dw[l];
      L->w[l] = L->wp[l] = 0;
      if (is_lambda) {
        perp_path_append(L, l, e, sign * s);
        L->st[e] = PERP_ROW_FREE;
      } else {
        replace_row(L, L->cpos[e], l);
      }
      e = l;
      is_lambda = 1;
    }
    }
  }
}
