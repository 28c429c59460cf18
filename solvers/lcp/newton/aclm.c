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

struct opts {
  int max_iter, inner;
  double tol, ratio, extrapolate;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 500, 1, 1e9, "Maximum number of convex programmes."),
  PERP_ROWS_TOL(struct opts),
  PERP_INT(struct opts, inner, 60, 1, 1e9,
           "Maximum number of interior point steps per convex programme."),
  PERP_REAL(struct opts, ratio, 0.1, 0, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Tolerance of a convex programme, as a fraction of the residual."),
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

static void aclm_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  w->C.max_n = w->R.max_n;
  perp_desaxce_layout(&w->K, w->R.max_n, a);
  perp_conic_layout(&w->C, a);
  PERP_DOUBLES(a, w->R.max_n, &w->x, &w->w, &w->s, &w->c, &w->y, &w->f, &w->g);
}

static perp_status aclm_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .R.max_n = max_n, .o = *(const struct opts *)opts };
  return perp_rows_create(ctx, "aclm", &like, sizeof like, aclm_layout, ws);
}

static void aclm_destroy(void *ws)
{
  struct ws *w = ws;
  if (w != NULL) perp_conic_close(&w->C);
  perp_rows_destroy(w);
}

/* The programme of s to the tolerance tol. */
static void aclm_programme(struct ws *w, double tol, bool fresh, perp_stats *stats)
{
  double least = HUGE_VAL, length;
  for (int i = 0; i < w->R.n; i++) w->c[i] = w->R.p->b[i] + w->s[i];
  if (fresh)
    perp_conic_begin(&w->C, w->x, w->c);
  else
    perp_conic_again(&w->C, w->c, perp_conic_apart(&w->C, w->c));
  memcpy(w->c, w->x, (size_t)w->R.n * sizeof *w->c); /* the best x */
  for (int k = 0; k < w->o.inner && least > tol && !perp_rows_spent(&w->R); k++) {
    perp_conic_step(&w->C, &length, stats);
    if (length == 0) break;
    /* x = P_K of the point of the programme; how far it is from the nearest point after a gradient
     * step, relative to x and b: the natural map of the programme. */
    const perp_rows *R = &w->R;
    double worst = 0, size = R->bnorm;
    perp_conic_point(&w->C, w->y);
    perp_desaxce_project(&w->K, w->y, w->x);
    perp_rows_w(&w->R, w->x, w->w);
    stats->matvecs++;
    for (int i = 0; i < R->n; i++) w->y[i] = w->x[i] - (w->w[i] + w->s[i]) / w->K.d[i];
    perp_desaxce_project(&w->K, w->y, w->y);
    for (int i = 0; i < R->n; i++) {
      worst = fmax(worst, fabs(w->x[i] - w->y[i]));
      size = fmax(size, fabs(w->x[i]));
    }
    const double rate = worst / fmax(size, 1e-300);
    if (!(rate < least)) continue;
    least = rate;
    memcpy(w->c, w->x, (size_t)w->R.n * sizeof *w->c);
  }
  memcpy(w->x, w->c, (size_t)w->R.n * sizeof *w->c);
}

/* The next s: Gamma(w) for the first two programmes, then extrapolated along the last change of f =
 * Gamma(w) - s (Anderson 1965, depth 1), as iterating alone follows its slowest mode; never below
 * 0. */
static void aclm_correct(struct ws *w, int programmes)
{
  const int n = w->R.n;
  double turn = 0, along = 0;
  perp_desaxce_correct(&w->K, w->w, w->y);
  for (int i = 0; i < n; i++) {
    const double f = programmes > 0 ? w->y[i] - w->s[i] : 0, change = f - w->f[i];
    turn += change * change / w->K.d[i];
    along += f * change / w->K.d[i];
  }
  double theta = programmes > 1 && turn > 0 ? along / turn : 0;
  theta = fmin(fmax(theta, -w->o.extrapolate), w->o.extrapolate);
  for (int i = 0; i < n; i++) {
    const double f = programmes > 0 ? w->y[i] - w->s[i] : 0;
    /* before the second programme g is that of another problem, or nothing */
    w->s[i] = fmax(theta != 0 ? w->y[i] - theta * (w->y[i] - w->g[i]) : w->y[i], 0);
    w->f[i] = f;
    w->g[i] = w->y[i];
  }
}

static perp_status aclm_solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                              double *certificate, perp_stats *stats)
{
  struct ws *w = ws;
  perp_rows *R = &w->R;
  const size_t bytes = (size_t)p->n * sizeof *lambda;
  perp_status status;
  perp_no_certificate(p, certificate);
  PERP_TRY(perp_rows_prepare(ctx, R, p, 1));
  perp_desaxce_open(&w->K, R);
  const char *what = perp_conic_open(ctx, &w->C, R, &w->K, &status);
  if (status != PERP_OK) return status;
  if (what != NULL) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK, "aclm does not serve %s", what);
    return PERP_OK;
  }
  const double tol = perp_rows_target(w->o.tol, p);
  perp_desaxce_project(&w->K, lambda, w->x);
  double rel = perp_rows_rate(R, w->x, w->w, stats), least = HUGE_VAL, half = HUGE_VAL;
  int since = 0;
  for (;;) {
    PERP_TRACE(ctx, .method = "aclm", .what = "programme", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .residual = rel, .n = p->n, .x = w->x, .w = w->w);
    if (rel < least) {
      least = rel;
      memcpy(lambda, w->x, bytes);
    }
    if (least <= 0.5 * half) {
      half = least;
      since = 0;
    }
    stats->reason = least <= tol                                               ? PERP_CONVERGED
                    : !isfinite(rel)                                           ? PERP_NOT_FINITE
                    : stats->iterations == w->o.max_iter || perp_rows_spent(R) ? PERP_MAX_ITER
                    : since++ == PATIENCE                                      ? PERP_STALLED
                                                                               : PERP_RUNNING;
    if (stats->reason != PERP_RUNNING) break;
    aclm_correct(w, stats->iterations);
    aclm_programme(w, fmax(0.1 * tol, w->o.ratio * fmin(rel, 1)), stats->iterations == 0, stats);
    stats->iterations++;
    rel = perp_rows_rate(R, w->x, w->w, stats);
  }
  stats->work = R->work;
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
