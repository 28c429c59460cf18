/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The path itself: direction, the variable that stops the move, the move, the exchange.
 * path_basis.c has the basis. */
#include "solvers/lcp/pivoting/path.h"

#include <string.h>

/* a direction entry below TINY times the largest is taken for zero, about 1e4 roundings */
static const double TINY = 1e-12;
/* residual of a direction on the core rows: refine above, invert afresh above */
static const double REFINE = 1e-13, REBUILD = 1e-9;
/* below this reciprocal condition K is singular */
static const double SINGULAR = 1e-16;
/* below WANDER of b, t is at the level of the errors of the vertices: a path that no longer falls
 * there follows rounding, not the problem */
static const double WANDER = 1e-7;
/* pivots before a path is watched for cycles: a power of two */
enum { FIRST_MARK = 16 };

/* The largest component of the direction: size of lambda and of t; `entering`: that of the one that
 * enters. */
static double path_size(const perp_path *L, double entering)
{
  double size = entering;
  for (int u = 1; u < L->K.m; u++) size = perp_larger(size, fabs(L->dir[u]));
  return perp_larger(size, fabs(L->dir[0]) * L->ct);
}

/* dir, dw for lambda_e (or w_e) moving by sign; false when K is singular */
static bool path_direction(perp_path *L, int e, bool is_lambda, double sign)
{
  const int m = L->K.m, n = L->P.n;
  const double *col = is_lambda ? L->P.A + (size_t)e * L->P.lda
                                : L->K.R + (size_t)L->cpos[e] * L->K.ld;
  if (is_lambda) {
    perp_path_count(L, 1);
    perp_path_column(L, e, L->g);
    perp_inverse_apply(&L->K, L->g, L->dir);
  }
  for (int u = 0; u < m; u++) L->dir[u] = is_lambda ? L->dir[u] * -sign : sign * col[u];
  for (int round = 0;; round++) {
    for (int i = 0; i < n; i++) L->dw[i] = is_lambda ? sign * col[i] : 0;
    perp_path_product(L, L->dir, L->dw);
    L->stats->matvecs++;
    L->stats->work += perp_pivot_cost(&L->P, m);
    const double size = path_size(L, is_lambda ? 1 : 1 / L->P.a[e]);
    double worst = 0;
    for (int c = 0; c < m; c++) {
      const int i = L->crow[c];
      L->g[c] = L->dw[i] - (is_lambda || i != e ? 0 : sign);
      worst = perp_larger(worst, fabs(L->g[c]) / L->P.a[i]);
    }
    if (worst <= REFINE * size || round == 3) break;
    if (worst > REBUILD * size && round == 1) {
      if (perp_path_invert(L) <= SINGULAR) return false;
      perp_path_recompute(L, 3);
      for (int c = 0; c < m; c++) L->w[L->crow[c]] = 0;
    }
    perp_path_count(L, 1);
    perp_inverse_apply(&L->K, L->g, L->f);
    for (int u = 0; u < m; u++) L->dir[u] -= L->f[u];
  }
  for (int c = 0; c < m; c++) L->dw[L->crow[c]] = 0;
  if (!is_lambda) L->dw[e] = sign;
  return true;
}

/* All that moves towards a bound: t, basic lambda, w of rows at a bound, the one that enters. */
static void path_stops(perp_path *L, int e, bool is_lambda, perp_stops *S)
{
  const double *lo = L->P.lo, *hi = L->P.hi, *lambda = L->lambda;
  double most = perp_larger(L->P.bscale, L->t * L->ct);
  for (int u = 1; u < L->K.m; u++) most = perp_larger(most, fabs(lambda[L->uvar[u]]));
  const double zero = L->sharp * PERP_PIVOT_ZERO * most;
  const double tiny = L->sharp * TINY * path_size(L, is_lambda ? 1 : 1 / L->P.a[e]);
  if (L->dir[0] * L->ct < -tiny)
    perp_stops_add(S, L->t, L->t + zero / L->ct,
                   (perp_stop){ .what = PERP_PATH_IS_T,
                                .row = -1,
                                .ends = true,
                                .rate = -L->dir[0],
                                .theta_p = L->tp });
  for (int u = 1; u < L->K.m; u++) {
    const int i = L->uvar[u];
    const bool up = L->dir[u] > 0;
    const double distance = up ? hi[i] - lambda[i] : lambda[i] - lo[i];
    if (L->kind[i] == PERP_PATH_FREE || !(fabs(L->dir[u]) > tiny)) continue;
    perp_stops_add(S, distance, distance + zero,
                   (perp_stop){ .what = PERP_PATH_IS_LAMBDA,
                                .row = i,
                                .to = up ? PERP_ROW_HI : PERP_ROW_LO,
                                .rate = fabs(L->dir[u]),
                                .theta_p = up ? -L->lp[i] : L->lp[i] });
  }
  for (int i = 0; i < L->P.n; i++) {
    const double a = L->P.a[i], side = L->st[i] == PERP_ROW_LO ? 1 : -1;
    if (!(side * -L->dw[i] > tiny * a) || L->st[i] == PERP_ROW_FREE ||
        L->kind[i] != PERP_PATH_NORMAL)
      continue;
    perp_stops_add(S, side * L->w[i], fabs(L->w[i]) + zero * a,
                   (perp_stop){ .what = PERP_PATH_IS_W,
                                .row = i,
                                .to = L->st[i],
                                .rate = side * -L->dw[i],
                                .theta_p = side * L->wp[i] });
  }
  if (is_lambda)
    perp_stops_add(S, hi[e] - lo[e], hi[e] - lo[e],
                   (perp_stop){ .what = PERP_PATH_IS_FLIP, .row = e, .to = -L->st[e], .rate = 1 });
}

/* The variable that stops the move: t first, else by the rule for ties. */
static perp_stop path_first(perp_path *L, int e, bool is_lambda)
{
  perp_stops S = { .at = L->stop, .limit = HUGE_VAL };
  path_stops(L, e, is_lambda, &S);
  if (perp_stops_end(&S) == 0) return (perp_stop){ .what = PERP_PATH_IS_NONE };
  perp_stop first = *perp_stops_least(&S);
  if (L->lexico && !first.ends && S.count > 1) {
    perp_path_lexico(L, L->stop, S.count);
    first = L->stop[0];
    first.theta_p = 0;
  }
  if (first.theta < 0) first.theta = 0;
  return first;
}

/* all basic variables, and lambda_e, move along the direction */
static void path_move(perp_path *L, int e, bool is_lambda, double sign, const perp_stop *r)
{
  L->t += r->theta * L->dir[0];
  L->tp += r->theta_p * L->dir[0];
  for (int u = 1; u < L->K.m; u++) {
    const int i = L->uvar[u];
    L->lambda[i] = perp_smaller(perp_larger(L->lambda[i] + r->theta * L->dir[u], L->P.lo[i]),
                                L->P.hi[i]);
    L->lp[i] += r->theta_p * L->dir[u];
  }
  for (int i = 0; i < L->P.n; i++) {
    L->w[i] += r->theta * L->dw[i];
    L->wp[i] += r->theta_p * L->dw[i];
  }
  if (!is_lambda) return;
  L->lambda[e] = (sign > 0 ? L->P.lo[e] : L->P.hi[e]) + sign * r->theta;
  L->lp[e] = sign * r->theta_p;
}

/* What stopped the move leaves the basis, lambda_e or w_e takes its place; a flip changes the bound
 * of row e only. */
static void path_exchange(perp_path *L, int e, bool is_lambda, double sign, const perp_stop *r)
{
  const int u = r->what == PERP_PATH_IS_LAMBDA ? L->upos[r->row] : 0;
  for (int k = 0; is_lambda && k < L->K.m; k++) L->f[k] = -sign * L->dir[k];
  if (r->what == PERP_PATH_IS_W)
    L->w[r->row] = L->wp[r->row] = 0;
  else if (r->what == PERP_PATH_IS_T)
    L->t = L->with_t = 0;
  else {
    perp_path_rest(L, r->row, r->to == PERP_ROW_LO);
    L->lp[r->row] = 0;
  }
  if (r->what == PERP_PATH_IS_FLIP) return;
  if (r->what == PERP_PATH_IS_W && is_lambda)
    perp_path_append(L, r->row, e, sign * L->dw[r->row]);
  else if (r->what == PERP_PATH_IS_W)
    perp_path_replace_row(L, L->cpos[e], r->row);
  else if (is_lambda)
    perp_path_replace_column(L, u, e);
  else
    perp_path_remove(L, u, L->cpos[e]);
  if (is_lambda) L->st[e] = PERP_ROW_FREE;
}

/* t and the equation of row r leave the basis although t > 0: w_r takes over */
static void drop_t(perp_path *L, int r)
{
  perp_path_remove(L, 0, L->cpos[r]);
  L->w[r] = -L->t * L->c[r];
  L->with_t = 0;
}

/* Is this vertex, from which lambda_e or w_e is to enter, the marked one for the second time? */
static bool path_cycles(perp_path *L, int step, int e, bool is_lambda)
{
  const size_t n = (size_t)L->P.n;
  if (step < FIRST_MARK) return false;
  if ((step & (step - 1)) == 0) {
    memcpy(L->mark, L->st, n);
    L->mark_e = e;
    L->mark_is_lambda = is_lambda;
    L->returns = 0;
    return false;
  }
  return e == L->mark_e && is_lambda == L->mark_is_lambda && memcmp(L->st, L->mark, n) == 0 &&
         ++L->returns == 2;
}

perp_reason perp_path_follow(perp_path *L, int e, bool is_lambda)
{
  double least = L->t;
  const int patience = 100 + L->P.n / 4;
  int fallen = L->stats->iterations;
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

    const double sign = L->st[e] == PERP_ROW_LO ? 1 : -1;
    if (!path_direction(L, e, is_lambda, sign)) return PERP_SINGULAR;
    const perp_stop r = path_first(L, e, is_lambda);
    if (r.what == PERP_PATH_IS_NONE) {
      /* the ray, for the certificate: components of lambda */
      for (int i = 0; i < L->P.n; i++) L->dp[i] = 0;
      for (int u = 1; u < L->K.m; u++) L->dp[L->uvar[u]] = L->dir[u];
      if (is_lambda) L->dp[e] = sign;
      return PERP_RAY;
    }
    if (!isfinite(r.theta)) return PERP_NOT_FINITE;
    path_move(L, e, is_lambda, sign, &r);
    L->stats->iterations++;
    PERP_TRACE(L->ctx, .method = L->name, .what = "pivot", .iteration = L->stats->iterations,
               .entering = e, .leaving = r.row, .step = r.theta, .residual = L->t, .n = L->P.n,
               .x = L->lambda, .w = L->w, .state = L->st);
    path_exchange(L, e, is_lambda, sign, &r);
    if (r.what == PERP_PATH_IS_T) return PERP_RUNNING;
    if (r.what != PERP_PATH_IS_W && r.row == L->target && L->st[r.row] == L->target_bound) {
      drop_t(L, r.row);
      return PERP_RUNNING;
    }
    /* the complement of what left; after a flip w_e leaves 0 to the other side */
    e = r.row;
    is_lambda = r.what == PERP_PATH_IS_W;
  }
}
