/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dependent rows of formulations that cannot drop a row: a shifted factor and refinement
 * (kkt_private.h). */
#include "solvers/kkt/kkt_private.h"

#define AT_ROUND_OFF  (4 * DBL_EPSILON)
#define CONTRADICTION 1e-12 /* violation left by refinement that is no round-off */
enum { MAX_REFINE = 20, MAX_DEFLATE = 4, MAX_SHIFTS = 3 };

const perp_opt perp_kkt_direct_options[] = { KKT_RANK_OPTIONS(struct kkt_direct_opts),
                                             PERP_OPTIONS_END };

kkt_direct perp_kkt_direct_of(const char *name, const perp_blocks *blocks, const void *opts,
                              kkt_factor_shifted *factor, kkt_apply *apply)
{
  return (kkt_direct){ .name = name,
                       .factor = factor,
                       .apply = apply,
                       .opt = *(const struct kkt_direct_opts *)opts,
                       .nv = blocks->nv,
                       .m = blocks->m,
                       .nb = blocks->nb };
}

void perp_kkt_direct_layout(kkt_direct *direct, perp_arena *arena)
{
  direct->diag = PERP_CARVE(arena, unsigned char, direct->nb);
  direct->refine = PERP_CARVE(arena, double, KKT_REFINE_SCRATCH(direct->nv, direct->m));
}

/* rc = c - J a - S lambda */
static void direct_residual(const perp_blocks *blocks, const double *c, const double *a,
                            const double *lambda, double *rc)
{
  for (int i = 0; i < blocks->m; i++)
    rc[i] = blocks->s != NULL ? c[i] - blocks->s[i] * lambda[i] : c[i];
  perp_blocks_J(blocks, -1, a, rc);
}

/* Refinement from zero until round-off or stall; the better of the last two iterates is kept. */
static void direct_refine(void *ws, kkt_apply *apply, const perp_blocks *blocks, const double *f,
                          const double *c, double *a, double *lambda, perp_stats *stats,
                          double *scratch)
{
  int nv = blocks->nv, m = blocks->m;
  double *rf = scratch, *rc = rf + nv, *da = rc + m, *dl = da + nv, *tmp = dl + m;
  double last = HUGE_VAL;
  for (int i = 0; i < nv; i++) {
    a[i] = 0;
    rf[i] = f[i];
  }
  for (int i = 0; i < m; i++) {
    lambda[i] = 0;
    rc[i] = c[i];
  }
  for (int pass = 0; pass < MAX_REFINE; pass++) {
    apply(ws, blocks, rf, rc, da, dl);
    for (int i = 0; i < nv; i++) a[i] += da[i];
    for (int i = 0; i < m; i++) lambda[i] += dl[i];
    stats->iterations++;
    double now = perp_kkt_residual(blocks, f, c, a, lambda, tmp);
    if (!(now <= last) && pass > 0) { /* worse, or not a number: step back */
      for (int i = 0; i < nv; i++) a[i] -= da[i];
      for (int i = 0; i < m; i++) lambda[i] -= dl[i];
      return;
    }
    if (!(now > AT_ROUND_OFF) || now > last / 2) return;
    last = now;
    perp_blocks_M(blocks, a, tmp); /* rf = f + J' lambda - M a */
    for (int i = 0; i < nv; i++) rf[i] = f[i] - tmp[i];
    perp_blocks_Jt(blocks, 1, lambda, rf);
    direct_residual(blocks, c, a, lambda, rc);
  }
}

double perp_kkt_refine(void *ws, kkt_apply *apply, const perp_blocks *blocks, const double *f,
                       const double *c, double *a, double *lambda, perp_stats *stats,
                       double *scratch)
{
  double *possible = scratch +
                     4 * ((size_t)blocks->nv + (size_t)blocks->m); /* c without its contradiction */
  direct_refine(ws, apply, blocks, f, c, a, lambda, stats, scratch);
  for (int attempt = 0; attempt < MAX_DEFLATE; attempt++) {
    const double *side = attempt == 0 ? c : possible;
    if (!(perp_kkt_violation(blocks, side, a, lambda, scratch) > CONTRADICTION)) break;
    direct_residual(blocks, side, a, lambda, scratch);
    for (int i = 0; i < blocks->m; i++) possible[i] = side[i] - scratch[i];
    direct_refine(ws, apply, blocks, f, possible, a, lambda, stats, scratch);
  }
  return perp_kkt_residual(blocks, f, c, a, lambda, scratch);
}

perp_status perp_kkt_judge_dependent(const perp_blocks *blocks, const double *c, double *a,
                                     double *lambda, perp_stats *stats, double *scratch)
{
  if (!perp_finite(blocks->nv, a) || !perp_finite(blocks->m, lambda))
    return kkt_give_up(blocks, a, lambda, stats, PERP_NOT_FINITE);
  double violation = perp_kkt_violation(blocks, c, a, lambda, scratch);
  stats->reason = violation <= KKT_INFEASIBLE ? PERP_REGULARIZED : PERP_INFEASIBLE;
  return PERP_OK;
}

perp_status perp_kkt_direct_factor(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                   perp_stats *stats)
{
  kkt_direct *direct = ws;
  PERP_TRY(kkt_same_size(ctx, direct->name, blocks, direct->nv, direct->m));
  perp_blocks known;
  blocks = perp_kkt_find_diagonal(blocks, &known, direct->diag);
  stats->factorizations++;
  stats->work += direct->cost_factor;
  stats->reason = PERP_EXACT;
  direct->dependent = false;
  if (direct->factor(direct, blocks, direct->opt.rank_tol, 0)) return PERP_OK;

  stats->reason = perp_kkt_why_no_factor(blocks);
  if (stats->reason == PERP_NOT_FINITE) return PERP_OK;
  const double mean = perp_kkt_mean_diagonal(blocks, direct->refine);
  double shift = KKT_DELTA * (mean > 0 ? mean : 1);
  for (int attempt = 0; attempt < MAX_SHIFTS && !direct->dependent; attempt++, shift *= 1e3) {
    stats->factorizations++;
    stats->work += direct->cost_factor;
    direct->dependent = direct->factor(direct, blocks, 0, shift);
  }
  if (direct->dependent) stats->reason = PERP_REGULARIZED;
  return PERP_OK;
}

perp_status perp_kkt_direct_solve(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                  const double *f, const double *c, double *a, double *lambda,
                                  perp_stats *stats)
{
  kkt_direct *direct = ws;
  PERP_TRY(kkt_same_size(ctx, direct->name, blocks, direct->nv, direct->m));
  perp_blocks known;
  blocks = kkt_use_diagonal(blocks, &known, direct->diag);
  if (!direct->dependent) {
    stats->work += direct->cost_solve;
    direct->apply(direct, blocks, f, c, a, lambda);
    return kkt_take(blocks, a, lambda, stats);
  }
  if (!perp_finite(blocks->nv, f) || !perp_finite(blocks->m, c))
    return kkt_give_up(blocks, a, lambda, stats, PERP_NOT_FINITE);
  const int passes = stats->iterations;
  perp_kkt_refine(direct, direct->apply, blocks, f, c, a, lambda, stats, direct->refine);
  stats->work += (stats->iterations - passes) * direct->cost_solve;
  return perp_kkt_judge_dependent(blocks, c, a, lambda, stats, direct->refine);
}

void perp_kkt_direct_cost(const void *ws, double *factor, double *solve)
{
  *factor = ((const kkt_direct *)ws)->cost_factor;
  *solve = ((const kkt_direct *)ws)->cost_solve;
}
