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

static void murty_layout(void *ws, perp_arena *a)
{
  struct murty *k = ws;
  perp_path_layout(&k->path, a);
  k->seen = PERP_CARVE(a, signed char, k->path.P.max_n);
}

static perp_status murty_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct murty k = { .o = *(const struct murty_opts *)opts, .path.P.max_n = max_n };
  return perp_workspace_create(ctx, "murty", &k, sizeof k, murty_layout, ws);
}

/* the row that changes over, -1 when all are in order */
static int murty_choose(const perp_path *L, int rule)
{
  int worst = -1;
  double most = 0, zs = L->P.bscale;
  for (int u = 0; u < L->K.m; u++) zs = perp_larger(zs, fabs(L->lambda[L->uvar[u]]));
  for (int i = 0; i < L->P.n; i++) {
    double bad, x = L->lambda[i];
    if (L->kind[i] != PERP_PATH_NORMAL) continue;
    if (L->st[i] == PERP_ROW_FREE)
      bad = perp_larger(L->P.lo[i] - x, x - L->P.hi[i]);
    else
      bad = (L->st[i] == PERP_ROW_LO ? -L->w[i] : L->w[i]) / L->P.a[i];
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
static bool murty_join(perp_path *L, int i)
{
  const int m = L->K.m;
  double terms;
  const double s = perp_path_pivot(L, i, &terms);
  L->stats->work += perp_pivot_cost(&L->P, m + 1);
  if (!(fabs(s) > DEPEND * terms)) return false;
  const double step = -L->w[i] / s;
  for (int u = 0; u < m; u++) L->dir[u] = -step * L->f[u];
  perp_pivot_columns(&L->P, m, L->uvar, L->dir, L->w);
  perp_pivot_columns(&L->P, 1, &i, &step, L->w);
  for (int u = 0; u < m; u++) L->lambda[L->uvar[u]] += L->dir[u];
  L->lambda[i] += step;
  perp_path_append(L, i, i, s);
  L->st[i] = PERP_ROW_FREE;
  return true;
}

/* Row i of S goes to the bound that it broke; false when the pivot vanishes. */
static bool murty_leave(perp_path *L, int i)
{
  const int m = L->K.m, u = L->upos[i], c = L->cpos[i];
  const bool up = L->lambda[i] > L->P.hi[i];
  const double *col = L->K.R + (size_t)c * L->K.ld, bound = up ? L->P.hi[i] : L->P.lo[i];
  double most = 0;
  for (int v = 0; v < m; v++) most = perp_larger(most, fabs(col[v]));
  if (!(fabs(col[u]) > DEPEND * most)) return false;
  const double step = (bound - L->lambda[i]) / col[u];
  L->stats->work += perp_pivot_cost(&L->P, m);
  for (int v = 0; v < m; v++) L->dir[v] = step * col[v];
  perp_pivot_columns(&L->P, m, L->uvar, L->dir, L->w);
  for (int v = 0; v < m; v++) L->lambda[L->uvar[v]] += L->dir[v];
  perp_path_remove(L, u, c);
  perp_path_rest(L, i, !up);
  return true;
}

static perp_reason murty_run(struct murty *k)
{
  perp_path *L = &k->path;
  int n = L->P.n, steps = 0, window = 1;
  bool checked = false;
  perp_path_sets(L, L->warm);
  perp_path_core(L);
  perp_path_recompute(L, L->K.m > 0 ? 3 : 1);
  memcpy(k->seen, L->st, (size_t)n);
  for (;;) {
    const int i = murty_choose(L, k->o.rule);
    if (i < 0) {
      if (checked) break;
      perp_path_recompute(L, 3); /* once more with fresh numbers */
      checked = true;
      continue;
    }
    checked = false;
    if (L->stats->iterations >= L->limit || perp_pivot_spent(&L->P, L->stats)) return PERP_MAX_ITER;
    const bool was = L->st[i] == PERP_ROW_FREE;
    const double before = L->lambda[i];
    if (!(was ? murty_leave(L, i) : murty_join(L, i))) return PERP_SINGULAR;
    if (!isfinite(L->lambda[i]) || !isfinite(L->w[i])) return PERP_NOT_FINITE;
    L->stats->iterations++;
    L->stats->matvecs++;
    PERP_TRACE(L->ctx, .method = L->name, .what = "pivot", .iteration = L->stats->iterations,
               .entering = was ? -1 : i, .leaving = was ? i : -1, .step = L->lambda[i] - before,
               .residual = (double)NAN, .n = n, .x = L->lambda, .w = L->w, .state = L->st);
    if (L->stats->iterations % REFRESH == 0) perp_path_recompute(L, 2);
    if (memcmp(k->seen, L->st, (size_t)n) == 0) return PERP_CYCLED;
    if (++steps == window) {
      memcpy(k->seen, L->st, (size_t)n);
      window *= 2;
      steps = 0;
    }
  }
  return perp_pivot_settle(&L->P, L->lambda, L->w) <= PERP_PIVOT_DONE ? PERP_EXACT
                                                                      : PERP_INACCURATE;
}

static perp_status murty_solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                               double *certificate, perp_stats *stats)
{
  struct murty *k = ws;
  /* never claims infeasibility: no certificate */
  PERP_TRY(perp_path_take(ctx, &k->path, p, "murty", lambda, certificate, stats));
  k->path.limit = k->o.max_iter > 0 ? k->o.max_iter : 100 * p->n + 1000;
  stats->reason = murty_run(k);
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
