/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Projected Gauss-Seidel with subspace minimization: sweeps guess which rows are at their bounds,
 * the others are then solved together.
 *
 * Silcowitz, Niebe and Erleben 2010 (STAR 2012, section 4.3.1, cites it).  An iteration is `sweeps`
 * sweeps and up to `steps` steps in the subspace that they leave: L = { lambda = lo, w >= 0 },  U =
 * { lambda = hi, w <= 0 },  free rows A = all others, A_AA lambda_A = -(b_A + A_AL lambda_L + A_AU
 * lambda_U), bounds of friction rows as the normal multipliers of the sweeps make them; both rows
 * of a cone are held where the pair slides.  The system is solved by conjugate gradients with the
 * diagonal as preconditioner, from the point of the sweeps, products with A only; then everything
 * is projected, and a step that leaves a larger residual is halved towards where it began, up to
 * BACK times, and else taken back.  Steps go on while they help and the sets change.
 *
 * Where sets are right one step is the answer, up to the conjugate gradients; redundant contacts
 * leave the system singular but consistent.  Ours: the line search back (the paper keeps the last
 * point), and that the residual is that of the judge.  No theorem.  No allocation beyond pgs. */
#include "solvers/lcp/rows/rows.h"

#include <math.h>
#include <string.h>

/* Halvings of a step; conjugate gradients of one, and the part of its residual at which they stop:
 * enough to solve the subspace, which the paper leaves to any solver. */
enum { BACK = 6, GRADIENTS = 200 };
static const double REDUCED = 1e-8;

struct opts {
  int max_iter, sweeps, steps;
  double tol;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 2000, 1, 1e9, "Maximum number of iterations."),
  PERP_ROWS_TOL(struct opts),
  PERP_INT(struct opts, sweeps, 10, 1, 1e9, "Number of Gauss-Seidel sweeps per iteration."),
  PERP_INT(struct opts, steps, 5, 0, 1e9,
           "Maximum number of subspace steps after the sweeps of an iteration."),
  PERP_OPTIONS_END
};

struct ws {
  perp_rows R; /* first */
  struct opts o;
  double *x, *w, *r, *z, *d, *Ad, *from; /* [max_n] from: where a step begins */
  signed char *set, *before;             /* [max_n] PERP_ROW_LO, FREE, HI; of the step before */
};

static void pgs_subspace_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  const int n = work->R.max_n;
  PERP_DOUBLES(arena, n, &work->x, &work->w, &work->r, &work->z, &work->d, &work->Ad, &work->from);
  work->set = PERP_CARVE(arena, signed char, n);
  work->before = PERP_CARVE(arena, signed char, n);
}

static perp_status pgs_subspace_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .R.max_n = max_n, .o = *(const struct opts *)opts };
  return perp_rows_create(ctx, "pgs-subspace", &like, sizeof like, pgs_subspace_layout, ws);
}

/* The index sets at lambda with slack w; the number of free rows. */
static int pgs_subspace_sets(struct ws *work, const double *lambda)
{
  const perp_rows *rows = &work->R;
  int count = 0;
  for (int i = 0; i < rows->n; i++) {
    double lo, hi;
    perp_rows_bounds(rows, lambda, i, &lo, &hi);
    work->set[i] = PERP_ROW_FREE;
    if (rows->type[i] == PERP_ROW_CONE) {
      const double size = hypot(lambda[i], lambda[i + 1]);
      /* on the limit, and friction opposes the motion */
      const bool slides = size >= hi * (1 - 1e-12) &&
                          (hi == 0 || lambda[i] * work->w[i] + lambda[i + 1] * work->w[i + 1] <= 0);
      work->set[i] = work->set[i + 1] = slides ? PERP_ROW_HI : PERP_ROW_FREE;
      count += slides ? 0 : 2;
      i++;
      continue;
    }
    if (lambda[i] <= lo && (work->w[i] >= 0 || lo == hi))
      work->set[i] = PERP_ROW_LO;
    else if (lambda[i] >= hi && work->w[i] <= 0)
      work->set[i] = PERP_ROW_HI;
    count += work->set[i] == PERP_ROW_FREE;
  }
  return count;
}

static double pgs_subspace_dot(const struct ws *work, const double *x, const double *y)
{
  double sum = 0;
  for (int i = 0; i < work->R.n; i++)
    if (work->set[i] == PERP_ROW_FREE) sum += x[i] * y[i];
  return sum;
}

static double pgs_subspace_scale(const struct ws *work, int i)
{
  return work->R.diag[i] > 0 ? work->R.diag[i] : work->R.big[i];
}

/* Conjugate gradients on the free rows of x, whose slack is work->w. */
static void pgs_subspace_minimize(struct ws *work, double *x, perp_stats *stats)
{
  const int n = work->R.n;
  for (int i = 0; i < n; i++) {
    const bool free_row = work->set[i] == PERP_ROW_FREE;
    work->r[i] = free_row ? -work->w[i] : 0;
    work->d[i] = work->z[i] = free_row ? work->r[i] / pgs_subspace_scale(work, i) : 0;
  }
  double rz = pgs_subspace_dot(work, work->r, work->z);
  const double target = REDUCED * REDUCED * rz;
  for (int k = 0; k < GRADIENTS && rz > target && !perp_rows_spent(&work->R); k++) {
    perp_rows_A(&work->R, work->d, work->Ad);
    stats->matvecs++;
    const double curvature = pgs_subspace_dot(work, work->d, work->Ad);
    if (!(curvature > 0)) break; /* a direction without resistance */
    const double step = rz / curvature, before = rz;
    for (int i = 0; i < n; i++) {
      if (work->set[i] != PERP_ROW_FREE) continue;
      x[i] += step * work->d[i];
      work->r[i] -= step * work->Ad[i];
      work->z[i] = work->r[i] / pgs_subspace_scale(work, i);
    }
    rz = pgs_subspace_dot(work, work->r, work->z);
    for (int i = 0; i < n; i++)
      if (work->set[i] == PERP_ROW_FREE) work->d[i] = work->z[i] + rz / before * work->d[i];
  }
}

/* A step from lambda, of residual *rel; false: none that helps, lambda stays. */
static bool pgs_subspace_step(struct ws *work, double *lambda, double *rel, perp_stats *stats)
{
  const size_t bytes = (size_t)work->R.n * sizeof *lambda;
  memcpy(work->from, lambda, bytes);
  memcpy(work->x, lambda, bytes);
  pgs_subspace_minimize(work, work->x, stats);
  double t = 1;
  for (int back = 0; back <= BACK; back++, t *= 0.5) {
    for (int i = 0; i < work->R.n; i++)
      lambda[i] = work->from[i] + t * (work->x[i] - work->from[i]);
    perp_rows_project(&work->R, lambda, lambda);
    const double now = perp_rows_rate(&work->R, lambda, work->w, stats);
    if (now < *rel) {
      *rel = now;
      return true;
    }
  }
  memcpy(lambda, work->from, bytes);
  return false;
}

static perp_status pgs_subspace_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                      double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_rows *rows = &work->R;
  const size_t n = (size_t)lcp->n;
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_rows_prepare(ctx, rows, lcp, 1));
  const double tol = perp_rows_target(work->o.tol, lcp);
  perp_rows_project(rows, lambda, lambda);
  double rel = perp_rows_rate(&work->R, lambda, work->w, stats);
  bool moves = true;
  for (;;) {
    PERP_TRACE(ctx, .method = "pgs-subspace", .what = "step", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .residual = rel, .n = lcp->n, .x = lambda,
               .w = work->w, .state = work->set);
    stats->reason = rel <= tol       ? PERP_CONVERGED
                    : !isfinite(rel) ? PERP_NOT_FINITE
                    : stats->iterations >= work->o.max_iter || perp_rows_spent(rows) ? PERP_MAX_ITER
                    : !moves                                                         ? PERP_STALLED
                                                                                     : PERP_RUNNING;
    if (stats->reason != PERP_RUNNING) break;
    stats->iterations++;
    memcpy(work->from, lambda, n * sizeof *lambda); /* the last finite one */
    perp_rows_reset(rows, lambda);
    moves = false;
    for (int k = 0; k < work->o.sweeps && !perp_rows_spent(rows); k++) {
      moves = perp_rows_sweep(rows, lambda, NULL, false) != 0 || moves;
      stats->matvecs++;
    }
    rel = perp_rows_rate(&work->R, lambda, work->w, stats);
    if (!isfinite(rel)) {
      memcpy(lambda, work->from, n * sizeof *lambda);
      continue;
    }
    memset(work->before, PERP_ROW_HI + 1, n);
    for (int k = 0; k < work->o.steps && rel > tol && !perp_rows_spent(rows); k++) {
      if (pgs_subspace_sets(work, lambda) == 0 || memcmp(work->set, work->before, n) == 0) break;
      memcpy(work->before, work->set, n);
      if (!pgs_subspace_step(work, lambda, &rel, stats)) break;
    }
  }
  stats->work = rows->work;
  if (stats->reason == PERP_STALLED && rows->zero_diagonal) stats->reason = PERP_UNSUITED;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_pgs_subspace = {
  .d = { .name = "pgs-subspace",
         .summary = "Gauss-Seidel sweeps, then conjugate gradients on the free rows with line "
                    "search, dense, sparse or matrix-free",
         .reference = "Silcowitz, Niebe & Erleben 2010 (STAR 2012, section 4.3.1)",
         .equation = "A_AA lambda_A = -(b_A + A_AL lambda_L + A_AU lambda_U),  sets by sweeps",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_ROWS_CAPS | PERP_LCP_BY_ROWS },
  .create = pgs_subspace_create,
  .solve = pgs_subspace_solve,
  .destroy = perp_rows_destroy,
  .serves =
      "Symmetric semidefinite A with positive diagonal, if the sweeps find the active sets. No "
      "theorem. Friction as boxes and cones; sliding cones converge at the rate of the sweeps.",
  .ties = "None: sweeps in the order of the rows, without pivots.",
  .cost = "The sweeps of pgs, and one product with A per conjugate gradient iteration. Memory: "
          "O(n) numbers beyond A.",
  .counts = "Iterations. Their sweeps and steps count as products.",
};
