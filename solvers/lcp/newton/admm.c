/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Proximal alternating direction method of multipliers, for contacts with Coulomb's circular cone.
 *
 * Carpentier, Le Lidec and Montaut 2024 (arXiv 2405.17020).  With De Saxce's correction Gamma(z) =
 * (mu |z_T|, 0, 0) the law of a contact is lambda in K, z in K*, z'lambda = 0, z = A lambda + b +
 * Gamma(z), and an iteration s = Gamma(z), (A + (rho + eta) D) lambda+ = -(b + s) + eta D lambda +
 * rho D y + z, y+ = P_K(lambda+ - (rho D)^-1 z), z+ = z - rho D (lambda+ - y+). One factorization
 * serves all iterations with the same rho.  That begins at the spectral rule rho = sqrt(L m) (L /
 * m)^power,     L, m the extreme eigenvalues of D^-1/2 A D^-1/2 + eta, L by power iteration and m =
 * eta, as redundant contacts make A singular.  Where the primal residual |lambda - y| is larger
 * than `ratio` times the dual one rho |y+ - y| rho grows by (L / m)^factor, in the other case it
 * falls.
 *
 * Here D is that of desaxce.h, which has the projections and what boxes and bilateral rows are; the
 * paper has the identity.  Residuals are measured in the norm of D.  rho is looked at every EVERY
 * iterations and changes at most `refactor` times, after which the method has the theory of a
 * constant rho.
 *
 * Convex problems (semidefinite A, no friction): converges from every start (Boyd et al. 2011),
 * linearly where strict complementarity holds.  Coulomb's law: s follows the iterate, no theorem.
 * An iteration: the two triangular solves, and what is O(n).  Memory: the factor.  Allocates when a
 * problem is larger or has another pattern than those before; the sparse LU, with every rho. */
#include "solvers/lcp/newton/sparse_lu.h"
#include "solvers/lcp/newton/system.h"
#include "solvers/lcp/splitting/desaxce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Iterations between two looks at rho, products for the largest eigenvalue. */
enum { EVERY = 40, POWERS = 20 };

struct opts {
  int max_iter, refactor;
  double tol, rho, eta, power, factor, ratio;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 20000, 1, 1e9, "Maximum number of iterations."),
  PERP_ROWS_TOL(struct opts),
  PERP_REAL(struct opts, rho, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "",
            "Initial penalty, relative to the diagonal of A. 0: chosen by the spectral rule."),
  PERP_REAL(struct opts, eta, 1e-6, 0, 1, PERP_OPEN_MIN, "",
            "Proximal term, relative to the diagonal of A."),
  PERP_REAL(struct opts, power, 0.2, -0.5, 0.5, 0, "",
            "Exponent of the condition number in the spectral rule for the penalty."),
  PERP_REAL(struct opts, factor, 0.05, 0, 0.5, PERP_OPEN_MIN, "",
            "Exponent of the condition number: this power is the factor of each penalty change."),
  PERP_REAL(
      struct opts, ratio, 5, 1, HUGE_VAL, PERP_OPEN_MAX, "",
      "Ratio of the primal to the dual residual, or its inverse, above which the penalty changes."),
  PERP_INT(struct opts, refactor, 50, 0, 1e9, "Maximum number of penalty changes."),
  PERP_OPTIONS_END
};

struct ws {
  perp_rows R; /* first */
  perp_system S;
  perp_sparse_lu L;
  struct opts o;
  perp_desaxce K;
  double *shift; /* [max_n] (rho + eta) D */
  double *x, *y, *z, *s, *w, *rhs,
      *before; /* [max_n] w: A x + b; before: y of the last iteration */
};

static void admm_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  const int n = w->R.max_n;
  perp_desaxce_layout(&w->K, n, a);
  PERP_DOUBLES(a, n, &w->shift, &w->x, &w->y, &w->z, &w->s, &w->w, &w->rhs, &w->before);
}

static void admm_destroy(void *ws)
{
  struct ws *w = ws;
  if (w == NULL) return;
  perp_system_close(&w->S);
  perp_sparse_lu_close(&w->L);
  perp_rows_destroy(w);
}

static perp_status admm_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .R.max_n = max_n, .o = *(const struct opts *)opts };
  PERP_TRY(perp_rows_create(ctx, "admm", &like, sizeof like, admm_layout, ws));
  struct ws *w = *ws;
  const perp_status status = perp_system_open(ctx, &w->S, max_n);
  if (status == PERP_OK) return PERP_OK;
  admm_destroy(w);
  *ws = NULL;
  return status;
}

/* ---- systems ---- */

/* The largest eigenvalue of D^-1/2 A D^-1/2, not too small; rhs and before are scratch. */
static double admm_largest(struct ws *w, perp_stats *stats)
{
  const int n = w->R.n;
  double *v = w->rhs, *u = w->before, top = 0;
  for (int i = 0; i < n; i++) v[i] = 1 + 0.5 * fmod(0.6180339887498949 * (i + 1), 1);
  for (int k = 0; k < POWERS; k++) {
    double size = 0, dot = 0;
    for (int i = 0; i < n; i++) size += v[i] * v[i];
    size = sqrt(size);
    for (int i = 0; i < n; i++) u[i] = v[i] / (size * sqrt(w->K.d[i]));
    perp_rows_A(&w->R, u, w->s);
    stats->matvecs++;
    for (int i = 0; i < n; i++) {
      const double next = w->s[i] / sqrt(w->K.d[i]);
      dot += next * v[i] / size;
      v[i] = next;
    }
    if (!(dot > 0)) break;
    const double before = top;
    top = dot;
    if (fabs(top - before) <= 0.01 * top) break;
  }
  return fmax(top, w->o.eta);
}

static bool admm_factor(struct ws *w, double rho, perp_stats *stats)
{
  perp_rows *R = &w->R;
  const int n = R->n;
  for (int i = 0; i < n; i++) w->shift[i] = (rho + w->o.eta) * w->K.d[i];
  stats->factorizations++;
  if (!R->sparse) return perp_system_factor(&w->S, w->shift, NULL);
  perp_sparse_lu_begin(&w->L, n);
  for (int j = 0; j < n; j++) {
    for (int k = R->start[j]; k < R->start[j + 1]; k++)
      perp_sparse_lu_add(&w->L, R->row[k], R->value[k]);
    perp_sparse_lu_add(&w->L, j, w->shift[j]);
    perp_sparse_lu_column(&w->L);
  }
  if (!perp_sparse_lu_factor(&w->L)) return false;
  R->work += perp_sparse_lu_work(&w->L);
  return true;
}

/* x of the system for w->rhs */
static bool admm_solve_system(struct ws *w, double *x)
{
  if (!w->R.sparse) return perp_system_solve(&w->S, w->rhs, x, 0);
  memcpy(x, w->rhs, (size_t)w->R.n * sizeof *x);
  perp_sparse_lu_solve(&w->L, x);
  w->R.work += perp_sparse_lu_nnz(&w->L);
  for (int i = 0; i < w->R.n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* ---- the method ---- */

/* One iteration; w is A x + b by the system solved.  *primal, *dual: the residuals.  False: not
 * finite. */
static bool admm_iterate(struct ws *w, double rho, double *primal, double *dual)
{
  const int n = w->R.n;
  const double *b = w->R.p->b, eta = w->o.eta;
  perp_desaxce_correct(&w->K, w->z, w->s);
  for (int i = 0; i < n; i++) {
    w->w[i] = w->K.d[i] * (eta * w->x[i] + rho * w->y[i]) + w->z[i] - w->s[i];
    w->rhs[i] = w->w[i] - b[i];
    w->before[i] = w->y[i];
  }
  if (!admm_solve_system(w, w->x)) return false;
  for (int i = 0; i < n; i++) {
    w->w[i] -= w->shift[i] * w->x[i];
    w->rhs[i] = w->x[i] - w->z[i] / (rho * w->K.d[i]);
  }
  perp_desaxce_project(&w->K, w->rhs, w->y);
  *primal = *dual = 0;
  for (int i = 0; i < n; i++) {
    const double gap = w->x[i] - w->y[i], change = rho * (w->y[i] - w->before[i]);
    w->z[i] -= rho * w->K.d[i] * gap;
    *primal += w->K.d[i] * gap * gap;
    *dual += w->K.d[i] * change * change;
  }
  *primal = sqrt(*primal);
  *dual = sqrt(*dual);
  return true;
}

static perp_status admm_solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                              double *certificate, perp_stats *stats)
{
  struct ws *w = ws;
  perp_rows *R = &w->R;
  const int n = p->n;
  const size_t bytes = (size_t)n * sizeof *lambda;
  perp_no_certificate(p, certificate);
  PERP_TRY(perp_rows_prepare(ctx, R, p, 1));
  if (R->sparse)
    PERP_TRY(perp_sparse_lu_reserve(ctx, &w->L, n, (size_t)R->start[n] + (size_t)n));
  else
    PERP_TRY(perp_system_prepare(ctx, &w->S, R, false));
  const double tol = perp_rows_target(w->o.tol, p);
  perp_desaxce_open(&w->K, R);
  perp_desaxce_project(&w->K, lambda, w->y);
  perp_rows_w(R, w->y, w->w);
  stats->matvecs++;
  memcpy(lambda, w->y, bytes);
  if (perp_rows_residual(R, lambda, w->w) <= tol) {
    stats->reason = PERP_CONVERGED;
    stats->work = R->work;
    return PERP_OK;
  }
  const double largest = admm_largest(w, stats), condition = largest / w->o.eta;
  const double growth = fmax(pow(condition, w->o.factor), 1.01);
  double rho = w->o.rho > 0 ? w->o.rho : sqrt(largest * w->o.eta) * pow(condition, w->o.power);
  memcpy(w->x, w->y, bytes);
  perp_desaxce_correct(&w->K, w->w, w->s);
  for (int i = 0; i < n; i++) w->z[i] = w->w[i] + w->s[i];
  double least = HUGE_VAL;
  if (!admm_factor(w, rho, stats)) stats->reason = PERP_SINGULAR;
  while (stats->reason == PERP_RUNNING) {
    double primal, dual;
    if (stats->iterations == w->o.max_iter || perp_rows_spent(R)) {
      stats->reason = PERP_MAX_ITER;
      break;
    }
    stats->iterations++;
    if (!admm_iterate(w, rho, &primal, &dual)) {
      stats->reason = PERP_NOT_FINITE;
      break;
    }
    double rel = perp_rows_residual(R, w->x, w->w);
    PERP_TRACE(ctx, .method = "admm", .what = "iteration", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .step = rho, .residual = rel, .n = n, .x = w->x,
               .w = w->w);
    if (rel <= tol) { /* by the system; now by the problem */
      rel = perp_rows_rate(R, w->x, w->w, stats);
      if (rel <= tol) stats->reason = PERP_CONVERGED;
    }
    if (rel < least) {
      least = rel;
      memcpy(lambda, w->x, bytes);
    }
    if (stats->reason != PERP_RUNNING || stats->iterations % EVERY != 0 ||
        stats->factorizations > w->o.refactor)
      continue;
    const double to = primal > w->o.ratio * dual   ? rho * growth
                      : dual > w->o.ratio * primal ? rho / growth
                                                   : rho;
    if (to == rho) continue;
    rho = to;
    if (!admm_factor(w, rho, stats)) stats->reason = PERP_SINGULAR;
  }
  stats->work = R->work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_admm = {
  .d = { .name = "admm",
         .summary = "Proximal ADMM on circular cones, boxes and bounds, one factorization for many "
                    "iterations, dense or sparse",
         .reference = "Carpentier, Le Lidec & Montaut 2024 (arXiv 2405.17020)",
         .equation = "(A + (rho + eta) D) lambda = -(b + Gamma(z)) + eta D lambda + rho D y + z,  "
                     "y = P(lambda - z / (rho D)),  z -= rho D (lambda - y)",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_ROWS_CAPS | PERP_CAP_ALLOCATES },
  .create = admm_create,
  .solve = admm_solve,
  .destroy = admm_destroy,
  .serves = "Semidefinite A with a solution. Convex problems converge from every start, by the "
            "theorem of ADMM with constant penalty. Friction and cones: no theorem.",
  .ties = "None: all rows move at once, without pivots.",
  .cost = "One factorization per penalty: n^3 / 6, or sparse. Two triangular solves per iteration: "
          "n^2, or the nonzeros of a sparse factor. Memory: n^2 numbers, or a sparse factor.",
  .counts = "Iterations. Changes of the penalty count as factorizations.",
};
