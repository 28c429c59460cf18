/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dependent rows of formulations that cannot drop a row: a shifted factor and refinement
 * (kkt_private.h). */
#include "solvers/kkt/kkt_private.h"

#define AT_ROUND_OFF  (4 * DBL_EPSILON)
#define CONTRADICTION 1e-12 /* violation left by refinement that is no round-off */
enum { MAX_REFINE = 20, MAX_DEFLATE = 4, MAX_SHIFTS = 3 };

const perp_opt perp_kkt_direct_options[] = {
  KKT_RANK_OPTIONS(struct kkt_direct_opts),
  PERP_REAL(struct kkt_direct_opts, delta, 1e-10, 0, 1e-2, PERP_OPEN_MIN, "",
            "Regularization if rows are dependent, in units of trace(J M^-1 J') / m."),
  PERP_OPTIONS_END
};

kkt_direct perp_kkt_direct_of(const char *name, const perp_blocks *B, const void *opts,
                              kkt_factor_shifted *factor, kkt_apply *apply)
{
  return (kkt_direct){ .name = name,
                       .factor = factor,
                       .apply = apply,
                       .opt = *(const struct kkt_direct_opts *)opts,
                       .nv = B->nv,
                       .m = B->m,
                       .nb = B->nb };
}

void perp_kkt_direct_layout(kkt_direct *w, perp_arena *a)
{
  w->diag = PERP_CARVE(a, unsigned char, w->nb);
  w->refine = PERP_CARVE(a, double, KKT_REFINE_SCRATCH(w->nv, w->m));
}

/* rc = c - J a - S lambda */
static void direct_residual(const perp_blocks *B, const double *c, const double *a,
                            const double *lambda, double *rc)
{
  for (int i = 0; i < B->m; i++) rc[i] = B->s != NULL ? c[i] - B->s[i] * lambda[i] : c[i];
  perp_blocks_J(B, -1, a, rc);
}

/* Refinement from zero until round-off or stall; the better of the last two iterates is kept. */
static void direct_refine(void *ws, kkt_apply *apply, const perp_blocks *B, const double *f,
                          const double *c, double *a, double *lambda, perp_stats *stats,
                          double *scratch)
{
  int nv = B->nv, m = B->m;
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
    apply(ws, B, rf, rc, da, dl);
    for (int i = 0; i < nv; i++) a[i] += da[i];
    for (int i = 0; i < m; i++) lambda[i] += dl[i];
    stats->iterations++;
    double now = perp_kkt_residual(B, f, c, a, lambda, tmp);
    if (!(now <= last) && pass > 0) { /* worse, or not a number: step back */
      for (int i = 0; i < nv; i++) a[i] -= da[i];
      for (int i = 0; i < m; i++) lambda[i] -= dl[i];
      return;
    }
    if (!(now > AT_ROUND_OFF) || now > last / 2) return;
    last = now;
    perp_blocks_M(B, a, tmp); /* rf = f + J' lambda - M a */
    for (int i = 0; i < nv; i++) rf[i] = f[i] - tmp[i];
    perp_blocks_Jt(B, 1, lambda, rf);
    direct_residual(B, c, a, lambda, rc);
  }
}

double perp_kkt_refine(void *ws, kkt_apply *apply, const perp_blocks *B, const double *f,
                       const double *c, double *a, double *lambda, perp_stats *stats,
                       double *scratch)
{
  double *possible = scratch + 4 * ((size_t)B->nv + (size_t)B->m); /* c without its contradiction */
  direct_refine(ws, apply, B, f, c, a, lambda, stats, scratch);
  for (int attempt = 0; attempt < MAX_DEFLATE; attempt++) {
    const double *side = attempt == 0 ? c : possible;
    if (!(perp_kkt_violation(B, side, a, lambda, scratch) > CONTRADICTION)) break;
    direct_residual(B, side, a, lambda, scratch);
    for (int i = 0; i < B->m; i++) possible[i] = side[i] - scratch[i];
    direct_refine(ws, apply, B, f, possible, a, lambda, stats, scratch);
  }
  return perp_kkt_residual(B, f, c, a, lambda, scratch);
}

perp_status perp_kkt_judge_dependent(const perp_blocks *B, const double *c, double *a,
                                     double *lambda, double infeasible_tol, perp_stats *stats,
                                     double *scratch)
{
  if (!perp_finite(B->nv, a) || !perp_finite(B->m, lambda))
    return kkt_give_up(B, a, lambda, stats, PERP_NOT_FINITE);
  double violation = perp_kkt_violation(B, c, a, lambda, scratch);
  stats->reason = violation <= infeasible_tol ? PERP_REGULARIZED : PERP_INFEASIBLE;
  return PERP_OK;
}

perp_status perp_kkt_direct_factor(perp_ctx *ctx, void *ws, const perp_blocks *B, perp_stats *stats)
{
  kkt_direct *w = ws;
  PERP_TRY(kkt_same_size(ctx, w->name, B, w->nv, w->m));
  perp_blocks known;
  B = perp_kkt_find_diagonal(B, &known, w->diag);
  stats->factorizations++;
  stats->work += w->cost_factor;
  stats->reason = PERP_EXACT;
  w->dependent = false;
  if (w->factor(w, B, w->opt.rank_tol, 0)) return PERP_OK;

  stats->reason = perp_kkt_why_no_factor(B);
  if (stats->reason == PERP_NOT_FINITE) return PERP_OK;
  const double mean = perp_kkt_mean_diagonal(B, w->refine);
  double shift = w->opt.delta * (mean > 0 ? mean : 1);
  for (int attempt = 0; attempt < MAX_SHIFTS && !w->dependent; attempt++, shift *= 1e3) {
    stats->factorizations++;
    stats->work += w->cost_factor;
    w->dependent = w->factor(w, B, 0, shift);
  }
  if (w->dependent) stats->reason = PERP_REGULARIZED;
  return PERP_OK;
}

perp_status perp_kkt_direct_solve(perp_ctx *ctx, void *ws, const perp_blocks *B, const double *f,
                                  const double *c, double *a, double *lambda, perp_stats *stats)
{
  kkt_direct *w = ws;
  PERP_TRY(kkt_same_size(ctx, w->name, B, w->nv, w->m));
  perp_blocks known;
  B = kkt_use_diagonal(B, &known, w->diag);
  if (!w->dependent) {
    stats->work += w->cost_solve;
    w->apply(w, B, f, c, a, lambda);
    return kkt_take(B, a, lambda, stats);
  }
  if (!perp_finite(B->nv, f) || !perp_finite(B->m, c))
    return kkt_give_up(B, a, lambda, stats, PERP_NOT_FINITE);
  const int passes = stats->iterations;
  perp_kkt_refine(w, w->apply, B, f, c, a, lambda, stats, w->refine);
  stats->work += (stats->iterations - passes) * w->cost_solve;
  return perp_kkt_judge_dependent(B, c, a, lambda, w->opt.infeasible_tol, stats, w->refine);
}

void perp_kkt_direct_cost(const void *ws, double *factor, double *solve)
{
  *factor = ((const kkt_direct *)ws)->cost_factor;
  *solve = ((const kkt_direct *)ws)->cost_solve;
}
