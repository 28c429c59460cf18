/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fixed point of convex problems for Coulomb's law, with an interior point method inside.
 *
 * Acary, Cadoux, Lemarechal and Malick 2011: with s = mu |w_T| frozen on the normal rows Coulomb's
 * law is the optimality condition of a convex quadratic programme over circular cones, lambda(s) =
 * argmin 1/2 lambda'A lambda + (b + s)'lambda   over K, and a solution is a fixed point of s -> mu
 * |w_T(lambda(s))|.  De Saxce's correction (desaxce.h) is that s; the programme is solved by the
 * interior point method of conic.h, to a tolerance that follows the residual, from where it ended
 * for the s before.
 *
 * Without friction one programme is the answer.  The programme always has a solution where one can
 * stay at rest (their criterion of existence), the fixed point is a theorem of Brouwer's then; that
 * iterating s finds it is none, and seen to be linear.  A that is not symmetric is refused, but for
 * the digits of files.  An inner step: a Cholesky factorization, n^3 / 6, or a sparse LU, which
 * allocates; memory n^2, or sparse. */
#include "solvers/lcp/newton/conic.h"

#include <math.h>
#include <string.h>

/* programmes without half of the residual */
enum { PATIENCE = 60 };
/* interior point steps of one, at most, and its tolerance over the residual */
enum { INNER = 60 };
static const double RATIO = 0.1;

struct opts {
  int max_iter;
  double tol, extrapolate;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 500, 1, 1e9, "Maximum number of convex programmes."),
  PERP_ROWS_TOL(struct opts),
  PERP_REAL(struct opts, extrapolate, 1000, 0, HUGE_VAL, PERP_OPEN_MAX, "",
            "Largest extrapolation factor of the fixed-point variable s. 0: plain fixed-point "
            "iteration."),
  PERP_OPTIONS_END
};

struct ws {
  perp_rows R; /* first */
  perp_desaxce K;
  perp_conic C;
  struct opts o;
  double *x, *w, *s, *c, *y; /* [max_n] */
  double *f, *g;             /* [max_n] Gamma(w) - s and Gamma(w) of the programme before */
};

static void aclm_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  work->C.max_n = work->R.max_n;
  perp_desaxce_layout(&work->K, work->R.max_n, arena);
  perp_conic_layout(&work->C, arena);
  PERP_DOUBLES(arena, work->R.max_n, &work->x, &work->w, &work->s, &work->c, &work->y, &work->f,
               &work->g);
}

static perp_status aclm_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .R.max_n = max_n, .o = *(const struct opts *)opts };
  return perp_rows_create(ctx, "aclm", &like, sizeof like, aclm_layout, ws);
}

static void aclm_destroy(void *ws)
{
  struct ws *work = ws;
  if (work != NULL) perp_conic_close(&work->C);
  perp_rows_destroy(work);
}

/* The programme of s to the tolerance tol. */
static void aclm_programme(struct ws *work, double tol, bool fresh, perp_stats *stats)
{
  double least = HUGE_VAL, length;
  for (int i = 0; i < work->R.n; i++) work->c[i] = work->R.p->b[i] + work->s[i];
  if (fresh)
    perp_conic_begin(&work->C, work->x, work->c);
  else
    perp_conic_again(&work->C, work->c, perp_conic_apart(&work->C, work->c));
  memcpy(work->c, work->x, (size_t)work->R.n * sizeof *work->c); /* the best x */
  for (int k = 0; k < INNER && least > tol && !perp_rows_spent(&work->R); k++) {
    perp_conic_step(&work->C, &length, stats);
    if (length == 0) break;
    /* x = P_K of the point of the programme; how far it is from the nearest point after a gradient
     * step, relative to x and b: the natural map of the programme. */
    const perp_rows *rows = &work->R;
    double worst = 0, size = rows->bnorm;
    perp_conic_point(&work->C, work->y);
    perp_desaxce_project(&work->K, work->y, work->x);
    perp_rows_w(&work->R, work->x, work->w);
    stats->matvecs++;
    for (int i = 0; i < rows->n; i++)
      work->y[i] = work->x[i] - (work->w[i] + work->s[i]) / work->K.d[i];
    perp_desaxce_project(&work->K, work->y, work->y);
    for (int i = 0; i < rows->n; i++) {
      worst = fmax(worst, fabs(work->x[i] - work->y[i]));
      size = fmax(size, fabs(work->x[i]));
    }
    const double rate = worst / fmax(size, 1e-300);
    if (!(rate < least)) continue;
    least = rate;
    memcpy(work->c, work->x, (size_t)work->R.n * sizeof *work->c);
  }
  memcpy(work->x, work->c, (size_t)work->R.n * sizeof *work->c);
}

/* The next s: Gamma(w) for the first two programmes, then extrapolated along the last change of f =
 * Gamma(w) - s (Anderson 1965, depth 1), as iterating alone follows its slowest mode; never below
 * 0. */
static void aclm_correct(struct ws *work, int programmes)
{
  const int n = work->R.n;
  double turn = 0, along = 0;
  perp_desaxce_correct(&work->K, work->w, work->y);
  for (int i = 0; i < n; i++) {
    const double f = programmes > 0 ? work->y[i] - work->s[i] : 0, change = f - work->f[i];
    turn += change * change / work->K.d[i];
    along += f * change / work->K.d[i];
  }
  double theta = programmes > 1 && turn > 0 ? along / turn : 0;
  theta = fmin(fmax(theta, -work->o.extrapolate), work->o.extrapolate);
  for (int i = 0; i < n; i++) {
    const double f = programmes > 0 ? work->y[i] - work->s[i] : 0;
    /* before the second programme g is that of another problem, or nothing */
    work->s[i] = fmax(theta != 0 ? work->y[i] - theta * (work->y[i] - work->g[i]) : work->y[i], 0);
    work->f[i] = f;
    work->g[i] = work->y[i];
  }
}

static perp_status aclm_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                              double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_rows *rows = &work->R;
  const size_t bytes = (size_t)lcp->n * sizeof *lambda;
  perp_status status;
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_rows_prepare(ctx, rows, lcp, 1));
  perp_desaxce_open(&work->K, rows);
  const char *what = perp_conic_open(ctx, &work->C, rows, &work->K, &status);
  if (status != PERP_OK) return status;
  if (what != NULL) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK, "aclm does not serve %s", what);
    return PERP_OK;
  }
  const double tol = perp_rows_target(work->o.tol, lcp);
  perp_desaxce_project(&work->K, lambda, work->x);
  double rel = perp_rows_rate(rows, work->x, work->w, stats), least = HUGE_VAL, half = HUGE_VAL;
  int since = 0;
  for (;;) {
    PERP_TRACE(ctx, .method = "aclm", .what = "programme", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .residual = rel, .n = lcp->n, .x = work->x,
               .w = work->w);
    if (rel < least) {
      least = rel;
      memcpy(lambda, work->x, bytes);
    }
    if (least <= 0.5 * half) {
      half = least;
      since = 0;
    }
    stats->reason = least <= tol     ? PERP_CONVERGED
                    : !isfinite(rel) ? PERP_NOT_FINITE
                    : stats->iterations == work->o.max_iter || perp_rows_spent(rows) ? PERP_MAX_ITER
                    : since++ == PATIENCE                                            ? PERP_STALLED
                                                                                     : PERP_RUNNING;
    if (stats->reason != PERP_RUNNING) break;
    aclm_correct(work, stats->iterations);
    aclm_programme(work, fmax(0.1 * tol, RATIO * fmin(rel, 1)), stats->iterations == 0, stats);
    stats->iterations++;
    rel = perp_rows_rate(rows, work->x, work->w, stats);
  }
  stats->work = rows->work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_aclm = {
  .d = { .name = "aclm",
         .summary = "Fixed point of convex cone programmes with mu |w_T| frozen, by an interior "
                    "point method with Nesterov-Todd scaling, dense or sparse",
         .reference = "Acary, Cadoux, Lemarechal & Malick 2011; Vandenberghe 2010",
         .equation = "lambda(s) = argmin 1/2 lambda'A lambda + (b + s)'lambda over K,  "
                     "s = mu |w_T(lambda(s))|",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_CONE |
                 PERP_LCP_SEMIDEFINITE | PERP_LCP_SPARSE | PERP_LCP_ITERATIVE |
                 PERP_CAP_ALLOCATES },
  .create = aclm_create,
  .solve = aclm_solve,
  .destroy = aclm_destroy,
  .serves = "Symmetric semidefinite A with a solution. Without friction one convex programme is "
            "solved. With friction the method iterates a fixed point of convex programmes; no "
            "theorem guarantees convergence.",
  .ties = "None: no pivots, all iterates are interior points.",
  .cost = "Per programme 10 to 20 Cholesky factorizations, n^3 / 6 each, or sparse LU. Memory: n^2 "
          "numbers beyond A, or a sparse factor.",
  .counts = "Convex programmes. Interior point steps count as factorizations.",
};
