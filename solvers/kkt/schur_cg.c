/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preconditioned conjugate gradients on the Schur complement, A never formed:
 *
 *      A lambda = b,   A x = J (M^-1 (J' x)) + S x,   b = c - J M^-1 f,   a = M^-1 (f + J' lambda)
 *
 * (Vondrak 2005, eq. 6.8; the method of Hestenes and Stiefel).  Preconditioner: the inverses of the
 * diagonal blocks of A, one a group.  The first guess is the lambda that comes in, so that slowly
 * changing systems need few steps.
 *
 * Stops when the preconditioned residual |r|_P = sqrt(r' P r) is below tol times that of b, as
 * recomputed from lambda and not only by the recurrence; the iteration starts afresh from there
 * when they differ.
 *
 * Dependent rows: A is singular and CG never leaves lambda_0 + range(P A): from zero it finds the
 * multiplier of least norm in the metric of P^-1 (copies of a joint share the force equally), from
 * another guess the part of it in the null space stays.  A direction p with p' A p = 0 and p' r > 0
 * proves the rows contradictory; CG has no limit then, and conjugate residuals find the
 * least-squares answer (stats->fallbacks).
 *
 * Cost: O(nonzeros of J and M) a step, about sqrt(condition of P A) steps: for a chain of N bodies
 * about N, hence O(N^2) in all.  Memory O(nv + m). */
#include "solvers/kkt/kkt_private.h"
#include "solvers/kkt/kernels.h"

struct opts {
  double tol, infeasible_tol;
  int max_iter;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, tol, 1e-13, 0, 1, PERP_OPEN_MIN, "",
            "Stopping tolerance: residual relative to the right-hand side."),
  PERP_INT(struct opts, max_iter, 0, 0, 1e9,
           "Maximum number of iterations. 0: 10 m + 100 for m constraint rows."),
  KKT_INFEASIBLE_OPTION(struct opts), PERP_OPTIONS_END
};

/* p' A p / p' P^-1 p below this is round-off of a zero */
#define NULL_DIRECTION 1e-13
/* residual relative to the right-hand side, and violation of the constraints relative to their
 * terms, that a badly conditioned A leaves */
#define AT_ROUND_OFF 1e-10

struct ws {
  struct opts opt;
  int nv, m, nb, nc, size_D, large;
  int *at;                    /* [nc] block of a group in D */
  double *D;                  /* [size_D] L Delta L' of the diagonal blocks */
  double *b, *r, *z, *p, *Ap; /* [m] */
  double *first, *Az, *PAp;   /* [m] */
  double *v;                  /* [2 nv] */
  double *scratch;            /* [2 largest block] and [2 m] of the judge */
  unsigned char *diag;        /* [nb] */
};

static void schur_cg_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  w->at = PERP_CARVE(a, int, w->nc);
  w->diag = PERP_CARVE(a, unsigned char, w->nb);
  w->D = PERP_CARVE(a, double, w->size_D);
  PERP_DOUBLES(a, w->m, &w->b, &w->r, &w->z, &w->p, &w->Ap, &w->first, &w->Az, &w->PAp);
  w->v = PERP_CARVE(a, double, 2 * (size_t)w->nv);
  w->scratch = PERP_CARVE(a, double, 2 * (size_t)w->large + 2 * (size_t)w->m);
}

static perp_status schur_cg_create(perp_ctx *ctx, const perp_blocks *B, const void *opts, void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, B));
  struct ws like = { .opt = *(const struct opts *)opts,
                     .nv = B->nv,
                     .m = B->m,
                     .nb = B->nb,
                     .nc = B->nc,
                     .large = perp_kkt_largest(B) };
  if (like.opt.max_iter == 0) like.opt.max_iter = B->m < 100000000 ? 10 * B->m + 100 : 1000000000;
  for (int g = 0; g < B->nc; g++)
    like.size_D += (B->cptr[g + 1] - B->cptr[g]) * (B->cptr[g + 1] - B->cptr[g]);
  PERP_TRY(perp_workspace_create(ctx, "schur-cg", &like, sizeof like, schur_cg_layout, ws));
  const struct ws *w = *ws;
  for (int g = 0, at = 0; g < B->nc; g++) {
    w->at[g] = at;
    at += (B->cptr[g + 1] - B->cptr[g]) * (B->cptr[g + 1] - B->cptr[g]);
  }
  return PERP_OK;
}

/* The diagonal block of group g as L Delta L'; a vanishing pivot is replaced by the diagonal entry,
 * which leaves P positive definite.  False when the block is not that of a mass matrix, or not
 * finite. */
static bool schur_cg_factor_block(struct ws *w, const perp_blocks *B, int g)
{
  int row = B->cptr[g], r = B->cptr[g + 1] - row;
  double *D = w->D + w->at[g], *W = w->scratch, *ref = W + w->large;
  for (int i = 0; i < r * r; i++) D[i] = 0;
  for (int i = 0; i < r; i++) D[i + i * r] = B->s != NULL ? B->s[row + i] : 0;
  for (int k = B->jptr[g]; k < B->jptr[g + 1]; k++) {
    int b = B->jblk[k], d = B->bptr[b + 1] - B->bptr[b];
    times_minv(r, d, is_diagonal(B, b), B->J + B->joff[k], B->Minv + B->mptr[b], W);
    add_symmetric(r, d, W, B->J + B->joff[k], D);
  }
  for (int i = 0; i < r; i++) ref[i] = D[i + i * r];
  for (int j = 0; j < r; j++) {
    double p = D[j + j * r];
    if (!(ref[j] >= 0 && ref[j] <= DBL_MAX) || !(p >= -1e-6 * ref[j])) return false;
    bool vanishes = p <= 1e-12 * ref[j];
    if (vanishes) p = ref[j] > 0 ? ref[j] : 1;
    for (int k = j + 1; k < r; k++)
      for (int i = k; i < r; i++)
        if (!vanishes) D[i + k * r] -= D[i + j * r] / p * D[k + j * r];
    for (int i = j + 1; i < r; i++) D[i + j * r] = vanishes ? 0 : D[i + j * r] / p;
    D[j + j * r] = 1 / p;
  }
  return true;
}

static perp_status schur_cg_factor(perp_ctx *ctx, void *ws, const perp_blocks *B, perp_stats *stats)
{
  struct ws *w = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-cg", B, w->nv, w->m));
  stats->factorizations++;
  stats->reason = PERP_EXACT;
  perp_blocks known;
  B = perp_kkt_find_diagonal(B, &known, w->diag);
  for (int g = 0; g < B->nc; g++)
    if (!schur_cg_factor_block(w, B, g)) {
      stats->reason = perp_kkt_why_no_factor(B);
      return PERP_OK;
    }
  return PERP_OK;
}

static void schur_cg_precondition(const struct ws *w, const perp_blocks *B, const double *r,
                                  double *z)
{
  for (int g = 0; g < B->nc; g++) {
    int row = B->cptr[g], n = B->cptr[g + 1] - row;
    const double *D = w->D + w->at[g];
    for (int i = 0; i < n; i++) z[row + i] = r[row + i];
    ldl_solve(n, D, z + row);
  }
}

static double schur_cg_dot(int n, const double *x, const double *y)
{
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* r = b - A lambda, z = P r; returns r' z */
static double schur_cg_start(const struct ws *w, const perp_blocks *B, const double *lambda,
                             perp_stats *stats)
{
  perp_blocks_A(B, lambda, w->Ap, w->v);
  stats->matvecs++;
  for (int i = 0; i < w->m; i++) w->r[i] = w->b[i] - w->Ap[i];
  schur_cg_precondition(w, B, w->r, w->z);
  return schur_cg_dot(w->m, w->r, w->z);
}

/* From lambda; returns why it stopped. */
static perp_reason schur_cg_iterate(struct ws *w, perp_ctx *ctx, const perp_blocks *B,
                                    double *lambda, perp_stats *stats)
{
  int m = w->m, steps = 0;
  schur_cg_precondition(w, B, w->b, w->z);
  double size = schur_cg_dot(m, w->b, w->z), rz = schur_cg_start(w, B, lambda, stats);
  if (rz > size) size = rz;
  double target = w->opt.tol * w->opt.tol * size, fresh = HUGE_VAL;
  for (;;) {
    if (!(rz <= DBL_MAX)) return PERP_NOT_FINITE;
    if (rz <= target) return PERP_CONVERGED;
    /* A fresh start that is no better than the last one is at round-off.  Rows whose own terms are
     * rounding, as those across a plane motion, have no relative violation that says so: the size
     * of all rows does. */
    if (rz > fresh / 4)
      return rz <= AT_ROUND_OFF * AT_ROUND_OFF * size ? PERP_CONVERGED : PERP_STALLED;
    fresh = rz;
    double pp = rz;
    for (int i = 0; i < m; i++) w->p[i] = w->z[i];
    while (rz > target) {
      if (steps == w->opt.max_iter) return PERP_MAX_ITER;
      perp_blocks_A(B, w->p, w->Ap, w->v);
      stats->matvecs++;
      double pAp = schur_cg_dot(m, w->p, w->Ap);
      if (pAp < -NULL_DIRECTION * pp) return PERP_SINGULAR; /* A is not positive semidefinite */
      if (!(pAp > NULL_DIRECTION * pp)) return isnan(pAp) ? PERP_NOT_FINITE : PERP_INFEASIBLE;
      double alpha = rz / pAp;
      for (int i = 0; i < m; i++) {
        lambda[i] += alpha * w->p[i];
        w->r[i] -= alpha * w->Ap[i];
      }
      schur_cg_precondition(w, B, w->r, w->z);
      double next = schur_cg_dot(m, w->r, w->z), beta = next / rz;
      rz = next;
      pp = rz + beta * beta * pp;
      for (int i = 0; i < m; i++) w->p[i] = w->z[i] + beta * w->p[i];
      steps++;
      stats->iterations++;
      PERP_TRACE(ctx, .method = "schur-cg", .what = "step", .iteration = stats->iterations,
                 .entering = -1, .leaving = -1, .step = alpha,
                 .residual = size > 0 ? sqrt(rz / size) : 0, .n = m, .x = lambda, .w = w->r);
    }
    rz = schur_cg_start(w, B, lambda, stats);
  }
}

/* Preconditioned conjugate residuals from lambda: least |b - A lambda|_P, which stays well defined
 * where the rows contradict each other.  Ends when r' P A P r vanishes against that of b. */
static void schur_cg_least_squares(struct ws *w, const perp_blocks *B, double *lambda,
                                   perp_stats *stats)
{
  int m = w->m;
  schur_cg_precondition(w, B, w->b, w->p);
  perp_blocks_A(B, w->p, w->Ap, w->v);
  double size = schur_cg_dot(m, w->p, w->Ap);
  schur_cg_start(w, B, lambda, stats);
  perp_blocks_A(B, w->z, w->Az, w->v);
  stats->matvecs += 2;
  double rho = schur_cg_dot(m, w->z, w->Az);
  for (int i = 0; i < m; i++) {
    w->p[i] = w->z[i];
    w->Ap[i] = w->Az[i];
  }
  for (int step = 0; step < w->opt.max_iter && rho > w->opt.tol * w->opt.tol * size; step++) {
    schur_cg_precondition(w, B, w->Ap, w->PAp);
    double curvature = schur_cg_dot(m, w->Ap, w->PAp);
    if (!(curvature > 0)) return;
    double alpha = rho / curvature;
    for (int i = 0; i < m; i++) {
      lambda[i] += alpha * w->p[i];
      w->z[i] -= alpha * w->PAp[i];
    }
    perp_blocks_A(B, w->z, w->Az, w->v);
    stats->matvecs++;
    stats->iterations++;
    double next = schur_cg_dot(m, w->z, w->Az), beta = next / rho;
    rho = next;
    for (int i = 0; i < m; i++) {
      w->p[i] = w->z[i] + beta * w->p[i];
      w->Ap[i] = w->Az[i] + beta * w->Ap[i];
    }
  }
}

static perp_status schur_cg_solve(perp_ctx *ctx, void *ws, const perp_blocks *B, const double *f,
                                  const double *c, double *a, double *lambda, perp_stats *stats)
{
  struct ws *w = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-cg", B, w->nv, w->m));
  perp_blocks known;
  B = kkt_use_diagonal(B, &known, w->diag);
  perp_kkt_schur_rhs(B, f, c, w->b, w->v);
  if (!perp_finite(w->nv, f) || !perp_finite(w->m, w->b) || !perp_finite(w->m, lambda))
    return kkt_give_up(B, a, lambda, stats, PERP_NOT_FINITE);
  memcpy(w->first, lambda, sizeof *lambda * (size_t)w->m);
  const int64_t products = stats->matvecs;
  stats->reason = schur_cg_iterate(w, ctx, B, lambda, stats);
  if (stats->reason == PERP_INFEASIBLE) { /* steps along a null direction have no limit */
    memcpy(lambda, w->first, sizeof *lambda * (size_t)w->m);
    schur_cg_least_squares(w, B, lambda, stats);
    stats->fallbacks++;
  }
  if (stats->reason == PERP_NOT_FINITE || !perp_finite(w->m, lambda))
    return kkt_give_up(B, a, lambda, stats, PERP_NOT_FINITE);
  /* a step: a product with A and one with the preconditioner */
  stats->work += perp_kkt_cost_sides(B) +
                 (double)(stats->matvecs - products) *
                     (2.0 * B->joff[B->jptr[B->nc]] + B->mptr[B->nb] + w->size_D);
  perp_kkt_schur_motion(B, f, lambda, a, w->v);
  if (!perp_finite(w->nv, a)) return kkt_give_up(B, a, lambda, stats, PERP_NOT_FINITE);
  /* a null direction met at round-off level says that rows are dependent, not that they contradict
   */
  if (stats->reason == PERP_INFEASIBLE || stats->reason == PERP_STALLED) {
    double violation = perp_kkt_violation(B, c, a, lambda, w->scratch);
    if (violation <= AT_ROUND_OFF)
      stats->reason = stats->reason == PERP_STALLED ? PERP_CONVERGED : PERP_REGULARIZED;
    else if (stats->reason == PERP_INFEASIBLE && violation <= w->opt.infeasible_tol)
      stats->reason = PERP_REGULARIZED;
  }
  return PERP_OK;
}

const perp_kkt_desc perp_kkt_schur_cg = {
  .d = { .name = "schur-cg",
         .summary =
             "Matrix-free conjugate gradients on the Schur complement, block-Jacobi preconditioner",
         .reference = "Vondrak 2005, eq. 6.8 (system); Hestenes and Stiefel (method)",
         .equation = "P A lambda = P (c - J M^-1 f),  A x = J M^-1 J' x + S x",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_KKT_SPARSE | PERP_KKT_REDUNDANT | PERP_KKT_ITERATIVE | PERP_KKT_LOOPS },
  .create = schur_cg_create,
  .factor = schur_cg_factor,
  .solve = schur_cg_solve,
  .destroy = free,
};
