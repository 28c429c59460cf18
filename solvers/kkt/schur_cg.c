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
  double tol;
  int max_iter;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, tol, 1e-13, 0, 1, PERP_OPEN_MIN, "",
            "Stopping tolerance: residual relative to the right-hand side."),
  PERP_INT(struct opts, max_iter, 0, 0, 1e9,
           "Maximum number of iterations. 0: 10 m + 100 for m constraint rows."),
  PERP_OPTIONS_END
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

static void schur_cg_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  work->at = PERP_CARVE(arena, int, work->nc);
  work->diag = PERP_CARVE(arena, unsigned char, work->nb);
  work->D = PERP_CARVE(arena, double, work->size_D);
  PERP_DOUBLES(arena, work->m, &work->b, &work->r, &work->z, &work->p, &work->Ap, &work->first,
               &work->Az, &work->PAp);
  work->v = PERP_CARVE(arena, double, 2 * (size_t)work->nv);
  work->scratch = PERP_CARVE(arena, double, 2 * (size_t)work->large + 2 * (size_t)work->m);
}

static perp_status schur_cg_create(perp_ctx *ctx, const perp_blocks *blocks, const void *opts,
                                   void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, blocks));
  struct ws like = { .opt = *(const struct opts *)opts,
                     .nv = blocks->nv,
                     .m = blocks->m,
                     .nb = blocks->nb,
                     .nc = blocks->nc,
                     .large = perp_kkt_largest(blocks) };
  if (like.opt.max_iter == 0)
    like.opt.max_iter = blocks->m < 100000000 ? 10 * blocks->m + 100 : 1000000000;
  for (int g = 0; g < blocks->nc; g++)
    like.size_D += (blocks->cptr[g + 1] - blocks->cptr[g]) *
                   (blocks->cptr[g + 1] - blocks->cptr[g]);
  PERP_TRY(perp_workspace_create(ctx, "schur-cg", &like, sizeof like, schur_cg_layout, ws));
  const struct ws *work = *ws;
  for (int g = 0, at = 0; g < blocks->nc; g++) {
    work->at[g] = at;
    at += (blocks->cptr[g + 1] - blocks->cptr[g]) * (blocks->cptr[g + 1] - blocks->cptr[g]);
  }
  return PERP_OK;
}

/* The diagonal block of group g as L Delta L'; a vanishing pivot is replaced by the diagonal entry,
 * which leaves P positive definite.  False when the block is not that of a mass matrix, or not
 * finite. */
static bool schur_cg_factor_block(struct ws *work, const perp_blocks *blocks, int g)
{
  int row = blocks->cptr[g], r = blocks->cptr[g + 1] - row;
  double *D = work->D + work->at[g], *W = work->scratch, *ref = W + work->large;
  for (int i = 0; i < r * r; i++) D[i] = 0;
  for (int i = 0; i < r; i++) D[i + i * r] = blocks->s != NULL ? blocks->s[row + i] : 0;
  for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
    int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b];
    times_minv(r, d, is_diagonal(blocks, b), blocks->J + blocks->joff[k],
               blocks->Minv + blocks->mptr[b], W);
    add_symmetric(r, d, W, blocks->J + blocks->joff[k], D);
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

static perp_status schur_cg_factor(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                   perp_stats *stats)
{
  struct ws *work = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-cg", blocks, work->nv, work->m));
  stats->factorizations++;
  stats->reason = PERP_EXACT;
  perp_blocks known;
  blocks = perp_kkt_find_diagonal(blocks, &known, work->diag);
  for (int g = 0; g < blocks->nc; g++)
    if (!schur_cg_factor_block(work, blocks, g)) {
      stats->reason = perp_kkt_why_no_factor(blocks);
      return PERP_OK;
    }
  return PERP_OK;
}

static void schur_cg_precondition(const struct ws *work, const perp_blocks *blocks, const double *r,
                                  double *z)
{
  for (int g = 0; g < blocks->nc; g++) {
    int row = blocks->cptr[g], n = blocks->cptr[g + 1] - row;
    const double *D = work->D + work->at[g];
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
static double schur_cg_start(const struct ws *work, const perp_blocks *blocks, const double *lambda,
                             perp_stats *stats)
{
  perp_blocks_A(blocks, lambda, work->Ap, work->v);
  stats->matvecs++;
  for (int i = 0; i < work->m; i++) work->r[i] = work->b[i] - work->Ap[i];
  schur_cg_precondition(work, blocks, work->r, work->z);
  return schur_cg_dot(work->m, work->r, work->z);
}

/* From lambda; returns why it stopped. */
static perp_reason schur_cg_iterate(struct ws *work, perp_ctx *ctx, const perp_blocks *blocks,
                                    double *lambda, perp_stats *stats)
{
  int m = work->m, steps = 0;
  schur_cg_precondition(work, blocks, work->b, work->z);
  double size = schur_cg_dot(m, work->b, work->z), rz = schur_cg_start(work, blocks, lambda, stats);
  if (rz > size) size = rz;
  double target = work->opt.tol * work->opt.tol * size, fresh = HUGE_VAL;
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
    for (int i = 0; i < m; i++) work->p[i] = work->z[i];
    while (rz > target) {
      if (steps == work->opt.max_iter) return PERP_MAX_ITER;
      perp_blocks_A(blocks, work->p, work->Ap, work->v);
      stats->matvecs++;
      double pAp = schur_cg_dot(m, work->p, work->Ap);
      if (pAp < -NULL_DIRECTION * pp) return PERP_SINGULAR; /* A is not positive semidefinite */
      if (!(pAp > NULL_DIRECTION * pp)) return isnan(pAp) ? PERP_NOT_FINITE : PERP_INFEASIBLE;
      double alpha = rz / pAp;
      for (int i = 0; i < m; i++) {
        lambda[i] += alpha * work->p[i];
        work->r[i] -= alpha * work->Ap[i];
      }
      schur_cg_precondition(work, blocks, work->r, work->z);
      double next = schur_cg_dot(m, work->r, work->z), beta = next / rz;
      rz = next;
      pp = rz + beta * beta * pp;
      for (int i = 0; i < m; i++) work->p[i] = work->z[i] + beta * work->p[i];
      steps++;
      stats->iterations++;
      PERP_TRACE(ctx, .method = "schur-cg", .what = "step", .iteration = stats->iterations,
                 .entering = -1, .leaving = -1, .step = alpha,
                 .residual = size > 0 ? sqrt(rz / size) : 0, .n = m, .x = lambda, .w = work->r);
    }
    rz = schur_cg_start(work, blocks, lambda, stats);
  }
}

/* Preconditioned conjugate residuals from lambda: least |b - A lambda|_P, which stays well defined
 * where the rows contradict each other.  Ends when r' P A P r vanishes against that of b. */
static void schur_cg_least_squares(struct ws *work, const perp_blocks *blocks, double *lambda,
                                   perp_stats *stats)
{
  int m = work->m;
  schur_cg_precondition(work, blocks, work->b, work->p);
  perp_blocks_A(blocks, work->p, work->Ap, work->v);
  double size = schur_cg_dot(m, work->p, work->Ap);
  schur_cg_start(work, blocks, lambda, stats);
  perp_blocks_A(blocks, work->z, work->Az, work->v);
  stats->matvecs += 2;
  double rho = schur_cg_dot(m, work->z, work->Az);
  for (int i = 0; i < m; i++) {
    work->p[i] = work->z[i];
    work->Ap[i] = work->Az[i];
  }
  for (int step = 0; step < work->opt.max_iter && rho > work->opt.tol * work->opt.tol * size;
       step++) {
    schur_cg_precondition(work, blocks, work->Ap, work->PAp);
    double curvature = schur_cg_dot(m, work->Ap, work->PAp);
    if (!(curvature > 0)) return;
    double alpha = rho / curvature;
    for (int i = 0; i < m; i++) {
      lambda[i] += alpha * work->p[i];
      work->z[i] -= alpha * work->PAp[i];
    }
    perp_blocks_A(blocks, work->z, work->Az, work->v);
    stats->matvecs++;
    stats->iterations++;
    double next = schur_cg_dot(m, work->z, work->Az), beta = next / rho;
    rho = next;
    for (int i = 0; i < m; i++) {
      work->p[i] = work->z[i] + beta * work->p[i];
      work->Ap[i] = work->Az[i] + beta * work->Ap[i];
    }
  }
}

static perp_status schur_cg_solve(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                  const double *f, const double *c, double *a, double *lambda,
                                  perp_stats *stats)
{
  struct ws *work = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-cg", blocks, work->nv, work->m));
  perp_blocks known;
  blocks = kkt_use_diagonal(blocks, &known, work->diag);
  perp_kkt_schur_rhs(blocks, f, c, work->b, work->v);
  if (!perp_finite(work->nv, f) || !perp_finite(work->m, work->b) || !perp_finite(work->m, lambda))
    return kkt_give_up(blocks, a, lambda, stats, PERP_NOT_FINITE);
  memcpy(work->first, lambda, sizeof *lambda * (size_t)work->m);
  const int64_t products = stats->matvecs;
  stats->reason = schur_cg_iterate(work, ctx, blocks, lambda, stats);
  if (stats->reason == PERP_INFEASIBLE) { /* steps along a null direction have no limit */
    memcpy(lambda, work->first, sizeof *lambda * (size_t)work->m);
    schur_cg_least_squares(work, blocks, lambda, stats);
    stats->fallbacks++;
  }
  if (stats->reason == PERP_NOT_FINITE || !perp_finite(work->m, lambda))
    return kkt_give_up(blocks, a, lambda, stats, PERP_NOT_FINITE);
  /* a step: a product with A and one with the preconditioner */
  stats->work += perp_kkt_cost_sides(blocks) + (double)(stats->matvecs - products) *
                                                   (2.0 * blocks->joff[blocks->jptr[blocks->nc]] +
                                                    blocks->mptr[blocks->nb] + work->size_D);
  perp_kkt_schur_motion(blocks, f, lambda, a, work->v);
  if (!perp_finite(work->nv, a)) return kkt_give_up(blocks, a, lambda, stats, PERP_NOT_FINITE);
  /* a null direction met at round-off level says that rows are dependent, not that they contradict
   */
  if (stats->reason == PERP_INFEASIBLE || stats->reason == PERP_STALLED) {
    double violation = perp_kkt_violation(blocks, c, a, lambda, work->scratch);
    if (violation <= AT_ROUND_OFF)
      stats->reason = stats->reason == PERP_STALLED ? PERP_CONVERGED : PERP_REGULARIZED;
    else if (stats->reason == PERP_INFEASIBLE && violation <= KKT_INFEASIBLE)
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
