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
static double path_size(const perp_path *path, double entering)
{
  double size = entering;
  for (int u = 1; u < path->K.m; u++) size = perp_larger(size, fabs(path->dir[u]));
  return perp_larger(size, fabs(path->dir[0]) * path->ct);
}

/* dir, dw for lambda_e (or w_e) moving by sign; false when K is singular */
static bool path_direction(perp_path *path, int e, bool is_lambda, double sign)
{
  const int m = path->K.m, n = path->P.n;
  const double *col = is_lambda ? path->P.A + (size_t)e * path->P.lda
                                : path->K.R + (size_t)path->cpos[e] * path->K.ld;
  if (is_lambda) {
    perp_path_count(path, 1);
    perp_path_column(path, e, path->g);
    perp_inverse_apply(&path->K, path->g, path->dir);
  }
  for (int u = 0; u < m; u++) path->dir[u] = is_lambda ? path->dir[u] * -sign : sign * col[u];
  for (int round = 0;; round++) {
    for (int i = 0; i < n; i++) path->dw[i] = is_lambda ? sign * col[i] : 0;
    perp_path_product(path, path->dir, path->dw);
    path->stats->matvecs++;
    path->stats->work += perp_pivot_cost(&path->P, m);
    const double size = path_size(path, is_lambda ? 1 : 1 / path->P.a[e]);
    double worst = 0;
    for (int c = 0; c < m; c++) {
      const int i = path->crow[c];
      path->g[c] = path->dw[i] - (is_lambda || i != e ? 0 : sign);
      worst = perp_larger(worst, fabs(path->g[c]) / path->P.a[i]);
    }
    if (worst <= REFINE * size || round == 3) break;
    if (worst > REBUILD * size && round == 1) {
      if (perp_path_invert(path) <= SINGULAR) return false;
      perp_path_recompute(path, 3);
      for (int c = 0; c < m; c++) path->w[path->crow[c]] = 0;
    }
    perp_path_count(path, 1);
    perp_inverse_apply(&path->K, path->g, path->f);
    for (int u = 0; u < m; u++) path->dir[u] -= path->f[u];
  }
  for (int c = 0; c < m; c++) path->dw[path->crow[c]] = 0;
  if (!is_lambda) path->dw[e] = sign;
  return true;
}

/* All that moves towards a bound: t, basic lambda, w of rows at a bound, the one that enters. */
static void path_stops(perp_path *path, int e, bool is_lambda, perp_stops *stops)
{
  const double *lo = path->P.lo, *hi = path->P.hi, *lambda = path->lambda;
  double most = perp_larger(path->P.bscale, path->t * path->ct);
  for (int u = 1; u < path->K.m; u++) most = perp_larger(most, fabs(lambda[path->uvar[u]]));
  const double zero = path->sharp * PERP_PIVOT_ZERO * most;
  const double tiny = path->sharp * TINY * path_size(path, is_lambda ? 1 : 1 / path->P.a[e]);
  if (path->dir[0] * path->ct < -tiny)
    perp_stops_add(stops, path->t, path->t + zero / path->ct,
                   (perp_stop){ .what = PERP_PATH_IS_T,
                                .row = -1,
                                .ends = true,
                                .rate = -path->dir[0],
                                .theta_p = path->tp });
  for (int u = 1; u < path->K.m; u++) {
    const int i = path->uvar[u];
    const bool up = path->dir[u] > 0;
    const double distance = up ? hi[i] - lambda[i] : lambda[i] - lo[i];
    if (path->kind[i] == PERP_PATH_FREE || !(fabs(path->dir[u]) > tiny)) continue;
    perp_stops_add(stops, distance, distance + zero,
                   (perp_stop){ .what = PERP_PATH_IS_LAMBDA,
                                .row = i,
                                .to = up ? PERP_ROW_HI : PERP_ROW_LO,
                                .rate = fabs(path->dir[u]),
                                .theta_p = up ? -path->lp[i] : path->lp[i] });
  }
  for (int i = 0; i < path->P.n; i++) {
    const double a = path->P.a[i], side = path->st[i] == PERP_ROW_LO ? 1 : -1;
    if (!(side * -path->dw[i] > tiny * a) || path->st[i] == PERP_ROW_FREE ||
        path->kind[i] != PERP_PATH_NORMAL)
      continue;
    perp_stops_add(stops, side * path->w[i], fabs(path->w[i]) + zero * a,
                   (perp_stop){ .what = PERP_PATH_IS_W,
                                .row = i,
                                .to = path->st[i],
                                .rate = side * -path->dw[i],
                                .theta_p = side * path->wp[i] });
  }
  if (is_lambda)
    perp_stops_add(
        stops, hi[e] - lo[e], hi[e] - lo[e],
        (perp_stop){ .what = PERP_PATH_IS_FLIP, .row = e, .to = -path->st[e], .rate = 1 });
}

/* The variable that stops the move: t first, else by the rule for ties. */
static perp_stop path_first(perp_path *path, int e, bool is_lambda)
{
  perp_stops stops = { .at = path->stop, .limit = HUGE_VAL };
  path_stops(path, e, is_lambda, &stops);
  if (perp_stops_end(&stops) == 0) return (perp_stop){ .what = PERP_PATH_IS_NONE };
  perp_stop first = *perp_stops_least(&stops);
  if (path->lexico && !first.ends && stops.count > 1) {
    perp_path_lexico(path, path->stop, stops.count);
    first = path->stop[0];
    first.theta_p = 0;
  }
  if (first.theta < 0) first.theta = 0;
  return first;
}

/* all basic variables, and lambda_e, move along the direction */
static void path_move(perp_path *path, int e, bool is_lambda, double sign, const perp_stop *stop)
{
  path->t += stop->theta * path->dir[0];
  path->tp += stop->theta_p * path->dir[0];
  for (int u = 1; u < path->K.m; u++) {
    const int i = path->uvar[u];
    path->lambda[i] = perp_smaller(
        perp_larger(path->lambda[i] + stop->theta * path->dir[u], path->P.lo[i]), path->P.hi[i]);
    path->lp[i] += stop->theta_p * path->dir[u];
  }
  for (int i = 0; i < path->P.n; i++) {
    path->w[i] += stop->theta * path->dw[i];
    path->wp[i] += stop->theta_p * path->dw[i];
  }
  if (!is_lambda) return;
  path->lambda[e] = (sign > 0 ? path->P.lo[e] : path->P.hi[e]) + sign * stop->theta;
  path->lp[e] = sign * stop->theta_p;
}

/* What stopped the move leaves the basis, lambda_e or w_e takes its place; a flip changes the bound
 * of row e only. */
static void path_exchange(perp_path *path, int e, bool is_lambda, double sign,
                          const perp_stop *stop)
{
  const int u = stop->what == PERP_PATH_IS_LAMBDA ? path->upos[stop->row] : 0;
  for (int k = 0; is_lambda && k < path->K.m; k++) path->f[k] = -sign * path->dir[k];
  if (stop->what == PERP_PATH_IS_W)
    path->w[stop->row] = path->wp[stop->row] = 0;
  else if (stop->what == PERP_PATH_IS_T)
    path->t = path->with_t = 0;
  else {
    perp_path_rest(path, stop->row, stop->to == PERP_ROW_LO);
    path->lp[stop->row] = 0;
  }
  if (stop->what == PERP_PATH_IS_FLIP) return;
  if (stop->what == PERP_PATH_IS_W && is_lambda)
    perp_path_append(path, stop->row, e, sign * path->dw[stop->row]);
  else if (stop->what == PERP_PATH_IS_W)
    perp_path_replace_row(path, path->cpos[e], stop->row);
  else if (is_lambda)
    perp_path_replace_column(path, u, e);
  else
    perp_path_remove(path, u, path->cpos[e]);
  if (is_lambda) path->st[e] = PERP_ROW_FREE;
}

/* t and the equation of row r leave the basis although t > 0: w_r takes over */
static void drop_t(perp_path *path, int r)
{
  perp_path_remove(path, 0, path->cpos[r]);
  path->w[r] = -path->t * path->c[r];
  path->with_t = 0;
}

/* Is this vertex, from which lambda_e or w_e is to enter, the marked one for the second time? */
static bool path_cycles(perp_path *path, int step, int e, bool is_lambda)
{
  const size_t n = (size_t)path->P.n;
  if (step < FIRST_MARK) return false;
  if ((step & (step - 1)) == 0) {
    memcpy(path->mark, path->st, n);
    path->mark_e = e;
    path->mark_is_lambda = is_lambda;
    path->returns = 0;
    return false;
  }
  return e == path->mark_e && is_lambda == path->mark_is_lambda &&
         memcmp(path->st, path->mark, n) == 0 && ++path->returns == 2;
}

perp_reason perp_path_follow(perp_path *path, int e, bool is_lambda)
{
  double least = path->t;
  const int patience = 100 + path->P.n / 4;
  int fallen = path->stats->iterations;
  for (int step = 0;; step++) {
    if (path->stats->iterations >= path->limit || perp_pivot_spent(&path->P, path->stats))
      return PERP_MAX_ITER;
    if (path_cycles(path, step, e, is_lambda)) return PERP_CYCLED;
    if (path->t <= 0.5 * least) {
      least = path->t;
      fallen = path->stats->iterations;
    }
    if (path->target < 0 && path->t * path->ct <= WANDER * path->P.bscale &&
        path->stats->iterations - fallen > patience)
      return PERP_INACCURATE;

    const double sign = path->st[e] == PERP_ROW_LO ? 1 : -1;
    if (!path_direction(path, e, is_lambda, sign)) return PERP_SINGULAR;
    const perp_stop stop = path_first(path, e, is_lambda);
    if (stop.what == PERP_PATH_IS_NONE) {
      /* the ray, for the certificate: components of lambda */
      for (int i = 0; i < path->P.n; i++) path->dp[i] = 0;
      for (int u = 1; u < path->K.m; u++) path->dp[path->uvar[u]] = path->dir[u];
      if (is_lambda) path->dp[e] = sign;
      return PERP_RAY;
    }
    if (!isfinite(stop.theta)) return PERP_NOT_FINITE;
    path_move(path, e, is_lambda, sign, &stop);
    path->stats->iterations++;
    PERP_TRACE(path->ctx, .method = path->name, .what = "pivot",
               .iteration = path->stats->iterations, .entering = e, .leaving = stop.row,
               .step = stop.theta, .residual = path->t, .n = path->P.n, .x = path->lambda,
               .w = path->w, .state = path->st);
    path_exchange(path, e, is_lambda, sign, &stop);
    if (stop.what == PERP_PATH_IS_T) return PERP_RUNNING;
    if (stop.what != PERP_PATH_IS_W && stop.row == path->target &&
        path->st[stop.row] == path->target_bound) {
      drop_t(path, stop.row);
      return PERP_RUNNING;
    }
    /* the complement of what left; after a flip w_e leaves 0 to the other side */
    e = stop.row;
    is_lambda = stop.what == PERP_PATH_IS_W;
  }
}

/* The lexico-minimum ratio test of almost complementary paths.
 *
 * With b_j + s_j eps^(j+1) in the place of b_j the distance of a basic variable from its bound is a
 * polynomial in eps, whose coefficients are its row of the inverse of the n x n basis (Cline
 * 2002, 2.7.1: [B^-1 q, B^-1]; Cottle, Pang and Stone, 4.9).  Of basic variables whose ratios are
 * equal that one leaves whose coefficients over its rate are least in the lexicographic order; the
 * rows of a regular matrix differ, so there is exactly one.
 *
 * K^-1 holds all of that basis that is not a unit vector: for x = (t, lambda_S)
 *
 *      d x / d b_j = -K^-1 e_c   where row j is row c of the core, else 0
 *
 *      d w_i / d b_j = delta_ij + [c_i A_iS] d x / d b_j
 *
 * Coefficients are formed one at a time and only for the variables still tied: O(1) for a lambda,
 * O(|S|) for a w. */

/* coefficients that differ by less, relative to the terms that they are made of, are equal */
static const double TIE = 1e-9;

/* coefficient j of the distance that candidate r has, *size: of the terms in it; column: max |K^-1
 * e_c| without t */
static double lexico_coefficient(const perp_path *path, const perp_stop *stop, int j, double column,
                                 double *size)
{
  int c = path->cpos[j], i = stop->row;
  const double *inv = c >= 0 ? path->K.R + (size_t)c * path->K.ld : NULL;
  double x = 0, sign = stop->to == PERP_ROW_HI ? -path->tilt[j] : path->tilt[j];
  *size = 0;
  if (stop->what == PERP_PATH_IS_LAMBDA) {
    if (inv == NULL) return 0;
    *size = column;
    x = -inv[path->upos[i]];
  } else if (stop->what == PERP_PATH_IS_W) {
    if (i == j) x = *size = 1;
    if (inv != NULL) {
      path->stats->work += path->K.m;
      for (int u = 0; u < path->K.m; u++) {
        double a = path->uvar[u] < 0 ? path->c[i]
                                     : path->P.A[(size_t)i + (size_t)path->uvar[u] * path->P.lda];
        x -= a * inv[u];
        *size += fabs(a * inv[u]);
      }
    }
  } /* a bound of the entering variable itself does not move */
  return sign * x;
}

void perp_path_lexico(const perp_path *path, perp_stop *stop, int count)
{
  for (int j = 0; j < path->P.n && count > 1; j++) {
    double least = HUGE_VAL, slack = 0, column = 0;
    int c = path->cpos[j], kept = 0;
    for (int u = 0; c >= 0 && u < path->K.m; u++)
      if (path->uvar[u] >= 0)
        column = perp_larger(column, fabs(path->K.R[u + (size_t)c * path->K.ld]));
    for (int k = 0; k < count; k++) {
      double size, x = lexico_coefficient(path, stop + k, j, column, &size) / stop[k].rate;
      stop[k].theta_p = x;
      stop[k].noise = TIE * size / stop[k].rate;
      if (x < least) {
        least = x;
        slack = stop[k].noise;
      }
    }
    for (int k = 0; k < count; k++)
      if (stop[k].theta_p <= least + perp_larger(slack, stop[k].noise)) stop[kept++] = stop[k];
    count = kept;
  }
}
