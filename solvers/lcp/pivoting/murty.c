/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Murty's least-index principal pivoting, and Bard's worst-first variant, boxed (Murty, Linear
 * Complementarity, Linear and Nonlinear Programming; Judice and Pires for the boxes).
 *
 *      w = A lambda + b,    lo <= lambda <= hi,  w complementary
 *
 * Every index set S has one basic point: lambda_S from w_S = 0, the other lambda at a bound.  As
 * long as a row is out of order (lambda_i outside of its bounds for i in S, w_i of the wrong sign
 * otherwise), the least of these rows alone changes over: in with the diagonal pivot, out to the
 * bound that it broke.  There is no ratio test and the point is never feasible before the last one.
 *
 * With the least index the sets never repeat when A is a P-matrix, so the method ends; it takes 2^n
 * - 1 pivots on Murty's first family and stops at the limit there.  With rule = worst it takes the
 * most violated row instead: fewer pivots as a rule, but the sets can repeat, which is noticed
 * (PERP_CYCLED).
 *
 * Cost O(|S|^2 + n |S|) per pivot (one update of A_SS^-1), memory 1.2 n^2 numbers.  A_SS singular
 * (semidefinite A, zero diagonals): PERP_SINGULAR; infeasible problems are not recognized. */
#include "solvers/lcp/pivoting/path.h"

#include <stdlib.h>
#include <string.h>

enum { RULE_LEAST, RULE_WORST };
static const char *const rule_names[] = { "least", "worst", NULL };

struct murty_opts {
  int max_iter, rule;
};
static const perp_opt murty_options[] = {
  PERP_INT(struct murty_opts, max_iter, 0, 0, 1e9, "Maximum number of pivots. 0: 100 n + 1000."),
  PERP_ENUM(struct murty_opts, rule, RULE_LEAST, rule_names,
            "Violated row that is exchanged next: least (lowest index, Murty) or worst (largest "
            "violation, Bard)."),
  PERP_OPTIONS_END
};

/* a pivot below DEPEND times the terms that cancel in it is zero */
static const double DEPEND = 1e-12;
enum { REFRESH = 50 }; /* pivots between two computations of lambda and w from A and b */

struct murty {
  struct murty_opts o;
  perp_path path;
  signed char *seen; /* [n] an earlier index set, replaced after 1, 2, 4, ... pivots */
};

static void murty_layout(void *ws, perp_arena *arena)
{
  struct murty *murty = ws;
  perp_path_layout(&murty->path, arena);
  murty->seen = PERP_CARVE(arena, signed char, murty->path.P.max_n);
}

static perp_status murty_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct murty murty = { .o = *(const struct murty_opts *)opts, .path.P.max_n = max_n };
  return perp_workspace_create(ctx, "murty", &murty, sizeof murty, murty_layout, ws);
}

/* the row that changes over, -1 when all are in order */
static int murty_choose(const perp_path *path, int rule)
{
  int worst = -1;
  double most = 0, zs = path->P.bscale;
  for (int u = 0; u < path->K.m; u++) zs = perp_larger(zs, fabs(path->lambda[path->uvar[u]]));
  for (int i = 0; i < path->P.n; i++) {
    double bad, x = path->lambda[i];
    if (path->kind[i] != PERP_PATH_NORMAL) continue;
    if (path->st[i] == PERP_ROW_FREE)
      bad = perp_larger(path->P.lo[i] - x, x - path->P.hi[i]);
    else
      bad = (path->st[i] == PERP_ROW_LO ? -path->w[i] : path->w[i]) / path->P.a[i];
    if (!(bad > PERP_PIVOT_ZERO * zs)) continue;
    if (rule == RULE_LEAST) return i;
    if (bad > most) {
      most = bad;
      worst = i;
    }
  }
  return worst;
}

/* Row i joins S; false when its pivot vanishes. */
static bool murty_join(perp_path *path, int i)
{
  const int m = path->K.m;
  double terms;
  const double s = perp_path_pivot(path, i, &terms);
  path->stats->work += perp_pivot_cost(&path->P, m + 1);
  if (!(fabs(s) > DEPEND * terms)) return false;
  const double step = -path->w[i] / s;
  for (int u = 0; u < m; u++) path->dir[u] = -step * path->f[u];
  perp_pivot_columns(&path->P, m, path->uvar, path->dir, path->w);
  perp_pivot_columns(&path->P, 1, &i, &step, path->w);
  for (int u = 0; u < m; u++) path->lambda[path->uvar[u]] += path->dir[u];
  path->lambda[i] += step;
  perp_path_append(path, i, i, s);
  path->st[i] = PERP_ROW_FREE;
  return true;
}

/* Row i of S goes to the bound that it broke; false when the pivot vanishes. */
static bool murty_leave(perp_path *path, int i)
{
  const int m = path->K.m, u = path->upos[i], c = path->cpos[i];
  const bool up = path->lambda[i] > path->P.hi[i];
  const double *col = path->K.R + (size_t)c * path->K.ld,
               bound = up ? path->P.hi[i] : path->P.lo[i];
  double most = 0;
  for (int v = 0; v < m; v++) most = perp_larger(most, fabs(col[v]));
  if (!(fabs(col[u]) > DEPEND * most)) return false;
  const double step = (bound - path->lambda[i]) / col[u];
  path->stats->work += perp_pivot_cost(&path->P, m);
  for (int v = 0; v < m; v++) path->dir[v] = step * col[v];
  perp_pivot_columns(&path->P, m, path->uvar, path->dir, path->w);
  for (int v = 0; v < m; v++) path->lambda[path->uvar[v]] += path->dir[v];
  perp_path_remove(path, u, c);
  perp_path_rest(path, i, !up);
  return true;
}

static perp_reason murty_run(struct murty *murty)
{
  perp_path *path = &murty->path;
  int n = path->P.n, steps = 0, window = 1;
  bool checked = false;
  perp_path_sets(path, path->warm);
  perp_path_core(path);
  perp_path_recompute(path, path->K.m > 0 ? 3 : 1);
  memcpy(murty->seen, path->st, (size_t)n);
  for (;;) {
    const int i = murty_choose(path, murty->o.rule);
    if (i < 0) {
      if (checked) break;
      perp_path_recompute(path, 3); /* once more with fresh numbers */
      checked = true;
      continue;
    }
    checked = false;
    if (path->stats->iterations >= path->limit || perp_pivot_spent(&path->P, path->stats))
      return PERP_MAX_ITER;
    const bool was = path->st[i] == PERP_ROW_FREE;
    const double before = path->lambda[i];
    if (!(was ? murty_leave(path, i) : murty_join(path, i))) return PERP_SINGULAR;
    if (!isfinite(path->lambda[i]) || !isfinite(path->w[i])) return PERP_NOT_FINITE;
    path->stats->iterations++;
    path->stats->matvecs++;
    PERP_TRACE(path->ctx, .method = path->name, .what = "pivot",
               .iteration = path->stats->iterations, .entering = was ? -1 : i,
               .leaving = was ? i : -1, .step = path->lambda[i] - before, .residual = (double)NAN,
               .n = n, .x = path->lambda, .w = path->w, .state = path->st);
    if (path->stats->iterations % REFRESH == 0) perp_path_recompute(path, 2);
    if (memcmp(murty->seen, path->st, (size_t)n) == 0) return PERP_CYCLED;
    if (++steps == window) {
      memcpy(murty->seen, path->st, (size_t)n);
      window *= 2;
      steps = 0;
    }
  }
  return perp_pivot_settle(&path->P, path->lambda, path->w) <= PERP_PIVOT_DONE ? PERP_EXACT
                                                                               : PERP_INACCURATE;
}

static perp_status murty_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                               double *certificate, perp_stats *stats)
{
  struct murty *murty = ws;
  /* never claims infeasibility: no certificate */
  PERP_TRY(perp_path_take(ctx, &murty->path, lcp, "murty", lambda, certificate, stats));
  murty->path.limit = murty->o.max_iter > 0 ? murty->o.max_iter : 100 * lcp->n + 1000;
  stats->reason = murty_run(murty);
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_murty = {
  .d = { "murty",
         "Murty's least-index principal pivoting without ratio test for P-matrices, with bounds",
         "Murty, Linear Complementarity, Linear and Nonlinear Programming; Bard's variant: "
         "rule=worst",
         "w = A lambda + b, lo <= lambda <= hi complementary, A a P-matrix", murty_options,
         sizeof(struct murty_opts),
         PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_NONSYMMETRIC | PERP_LCP_PIVOTING | PERP_LCP_WARM },
  .create = murty_create,
  .solve = murty_solve,
  .destroy = free,
  .serves = "P-matrices of any symmetry, bounds of any kind. rule=least ends after at most 2^n "
            "pivots. rule=worst can cycle, which is detected.",
  .ties =
      "None with rule=least: there is no ratio test. rule=worst: the lowest index of equal rows.",
  .cost = "O(|S|^2 + n |S|) per pivot for |S| basic lambda. Memory: 1.2 n^2 numbers.",
  .counts = "Pivots: exchanges of one row.",
};
