/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Proximal alternating direction method of multipliers, for contacts with Coulomb's circular cone.
 *
 * Carpentier, Le Lidec and Montaut 2024 (arXiv 2405.17020).  With De Saxce's correction Gamma(z) =
 * (mu |z_T|, 0, 0) the law of a contact is lambda in K, z in K*, z'lambda = 0, z = A lambda + b +
 * Gamma(z), and an iteration s = Gamma(z), (A + (rho + eta) D) lambda+ = -(b + s) + eta D lambda +
 * rho D y + z, y+ = P_K(lambda+ - (rho D)^-1 z), z+ = z - rho D (lambda+ - y+). One factorization
 * serves all iterations with the same rho.  That begins at the spectral rule rho = sqrt(L m) (L /
 * m)^POWER,     L, m the extreme eigenvalues of D^-1/2 A D^-1/2 + eta, L by power iteration and m =
 * eta, as redundant contacts make A singular.  Where the primal residual |lambda - y| is larger
 * than RATIO times the dual one rho |y+ - y| rho grows by (L / m)^FACTOR, in the other case it
 * falls.
 *
 * What Kamino adds to it (Tsounis, Grandia and Baecher 2025, arXiv 2504.19771; its solver in Newton
 * Physics), each as an option: over-relaxation, relax x + (1 - relax) y in place of x in the
 * updates of y and z; residual balancing with a fixed factor `growth` in place of the spectral one
 * (He, Yang and Wang 2000); and acceleration (Goldstein et al. 2014, algorithm 8).  With c = |z+ -
 * z^|^2 / rho + rho |y+ - y^|^2 that falls by 0.1 % at least the next iteration begins at
 *
 *      y^ = y + (a - 1) / a+ (y - y-),      z^ = z + (a - 1) / a+ (z - z-),
 *      a+ = (1 + sqrt(1 + 4 a^2)) / 2,
 *
 * otherwise at y- and z- with a = 1, and so it does where rho changes.
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
#include "solvers/linalg/sparse_lu.h"
#include "solvers/lcp/newton/system.h"
#include "solvers/lcp/splitting/desaxce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Exponents of the condition number in the first rho and in its changes, and how far apart the
 * residuals are then. */
static const double POWER = 0.2, FACTOR = 0.05, RATIO = 5;
/* Iterations between two looks at rho, products for the largest eigenvalue. */
enum { EVERY = 40, POWERS = 20 };

struct opts {
  int max_iter, refactor;
  double tol, rho, eta, growth, relax;
  bool accelerate;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 20000, 1, 1e9, "Maximum number of iterations."),
  PERP_ROWS_TOL(struct opts),
  PERP_REAL(struct opts, rho, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "",
            "Initial penalty, relative to the diagonal of A. 0: chosen by the spectral rule."),
  PERP_REAL(struct opts, eta, 1e-6, 0, 1, PERP_OPEN_MIN, "",
            "Proximal term, relative to the diagonal of A."),
  PERP_REAL(struct opts, growth, 1, 1, HUGE_VAL, PERP_OPEN_MAX, "",
            "Factor of each penalty change (residual balancing). 1: by the condition number "
            "(spectral)."),
  PERP_REAL(struct opts, relax, 1, 0, 2, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Over-relaxation: weight of the new iterate in the projection; 1 is none."),
  PERP_BOOL(struct opts, accelerate, false,
            "Nesterov's acceleration with restarts (Goldstein et al. 2014)."),
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
      *before;             /* [max_n] w: A x + b; before: y at the start of the iteration */
  double *y_last, *z_last; /* [max_n] of the last iteration, for acceleration */
  double pace, merit;      /* a and c of it */
};

static void admm_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  const int n = work->R.max_n;
  perp_desaxce_layout(&work->K, n, arena);
  PERP_DOUBLES(arena, n, &work->shift, &work->x, &work->y, &work->z, &work->s, &work->w, &work->rhs,
               &work->before);
  const int last = work->o.accelerate ? n : 0;
  PERP_DOUBLES(arena, last, &work->y_last, &work->z_last);
}

static void admm_destroy(void *ws)
{
  struct ws *work = ws;
  if (work == NULL) return;
  perp_system_close(&work->S);
  perp_sparse_lu_close(&work->L);
  perp_rows_destroy(work);
}

static perp_status admm_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .R.max_n = max_n, .o = *(const struct opts *)opts };
  PERP_TRY(perp_rows_create(ctx, "admm", &like, sizeof like, admm_layout, ws));
  struct ws *work = *ws;
  const perp_status status = perp_system_open(ctx, &work->S, max_n);
  if (status == PERP_OK) return PERP_OK;
  admm_destroy(work);
  *ws = NULL;
  return status;
}

/* ---- systems ---- */

/* The largest eigenvalue of D^-1/2 A D^-1/2, not too small; rhs and before are scratch. */
static double admm_largest(struct ws *work, perp_stats *stats)
{
  const int n = work->R.n;
  double *v = work->rhs, *u = work->before, top = 0;
  for (int i = 0; i < n; i++) v[i] = 1 + 0.5 * fmod(0.6180339887498949 * (i + 1), 1);
  for (int k = 0; k < POWERS; k++) {
    double size = 0, dot = 0;
    for (int i = 0; i < n; i++) size += v[i] * v[i];
    size = sqrt(size);
    for (int i = 0; i < n; i++) u[i] = v[i] / (size * sqrt(work->K.d[i]));
    perp_rows_A(&work->R, u, work->s);
    stats->matvecs++;
    for (int i = 0; i < n; i++) {
      const double next = work->s[i] / sqrt(work->K.d[i]);
      dot += next * v[i] / size;
      v[i] = next;
    }
    if (!(dot > 0)) break;
    const double before = top;
    top = dot;
    if (fabs(top - before) <= 0.01 * top) break;
  }
  return fmax(top, work->o.eta);
}

static bool admm_factor(struct ws *work, double rho, perp_stats *stats)
{
  perp_rows *rows = &work->R;
  const int n = rows->n;
  for (int i = 0; i < n; i++) work->shift[i] = (rho + work->o.eta) * work->K.d[i];
  stats->factorizations++;
  if (!rows->sparse) return perp_system_factor(&work->S, work->shift, NULL);
  perp_sparse_lu_begin(&work->L, n);
  for (int j = 0; j < n; j++) {
    for (int k = rows->start[j]; k < rows->start[j + 1]; k++)
      perp_sparse_lu_add(&work->L, rows->row[k], rows->value[k]);
    perp_sparse_lu_add(&work->L, j, work->shift[j]);
    perp_sparse_lu_column(&work->L);
  }
  if (!perp_sparse_lu_factor(&work->L)) return false;
  rows->work += perp_sparse_lu_work(&work->L);
  return true;
}

/* x of the system for work->rhs */
static bool admm_solve_system(struct ws *work, double *x)
{
  if (!work->R.sparse) return perp_system_solve(&work->S, work->rhs, x, 0);
  memcpy(x, work->rhs, (size_t)work->R.n * sizeof *x);
  perp_sparse_lu_solve(&work->L, x);
  work->R.work += perp_sparse_lu_nnz(&work->L);
  for (int i = 0; i < work->R.n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* ---- the method ---- */

/* One iteration; w is A x + b by the system solved.  *primal, *dual: the residuals.  False: not
 * finite. */
static bool admm_iterate(struct ws *work, double rho, double *primal, double *dual)
{
  const int n = work->R.n;
  const double *b = work->R.p->b, eta = work->o.eta, relax = work->o.relax;
  perp_desaxce_correct(&work->K, work->z, work->s);
  for (int i = 0; i < n; i++) {
    work->w[i] = work->K.d[i] * (eta * work->x[i] + rho * work->y[i]) + work->z[i] - work->s[i];
    work->rhs[i] = work->w[i] - b[i];
  }
  if (!admm_solve_system(work, work->x)) return false;
  for (int i = 0; i < n; i++) {
    work->w[i] -= work->shift[i] * work->x[i];
    const double x = relax == 1 ? work->x[i] : relax * work->x[i] + (1 - relax) * work->y[i];
    work->rhs[i] = x - work->z[i] / (rho * work->K.d[i]);
    work->before[i] = work->y[i];
  }
  perp_desaxce_project(&work->K, work->rhs, work->y);
  *primal = *dual = 0;
  for (int i = 0; i < n; i++) {
    const double x = relax == 1 ? work->x[i] : relax * work->x[i] + (1 - relax) * work->before[i];
    const double gap = work->x[i] - work->y[i], change = rho * (work->y[i] - work->before[i]);
    work->z[i] -= rho * work->K.d[i] * (x - work->y[i]);
    *primal += work->K.d[i] * gap * gap;
    *dual += work->K.d[i] * change * change;
  }
  *primal = sqrt(*primal);
  *dual = sqrt(*dual);
  return true;
}

/* Acceleration begins anew at y and z. */
static void admm_rest(struct ws *work)
{
  if (!work->o.accelerate) return;
  memcpy(work->y_last, work->y, (size_t)work->R.n * sizeof *work->y);
  memcpy(work->z_last, work->z, (size_t)work->R.n * sizeof *work->z);
  work->pace = 1;
  work->merit = HUGE_VAL;
}

/* y and z of an iteration with these residuals to those where the next one begins. */
static void admm_accelerate(struct ws *work, double rho, double primal, double dual)
{
  static const double FALLS = 0.999;
  const double merit = rho * primal * primal + dual * dual / rho;
  if (!(merit < FALLS * work->merit)) { /* back to where it fell */
    const double before = work->merit / FALLS;
    memcpy(work->y, work->y_last, (size_t)work->R.n * sizeof *work->y);
    memcpy(work->z, work->z_last, (size_t)work->R.n * sizeof *work->z);
    admm_rest(work);
    work->merit = before;
    return;
  }
  const double pace = (1 + sqrt(1 + 4 * work->pace * work->pace)) / 2;
  const double part = (work->pace - 1) / pace;
  for (int i = 0; i < work->R.n; i++) {
    const double y = work->y[i], z = work->z[i];
    work->y[i] += part * (y - work->y_last[i]);
    work->z[i] += part * (z - work->z_last[i]);
    work->y_last[i] = y;
    work->z_last[i] = z;
  }
  work->pace = pace;
  work->merit = merit;
}

static perp_status admm_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                              double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_rows *rows = &work->R;
  const int n = lcp->n;
  const size_t bytes = (size_t)n * sizeof *lambda;
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_rows_prepare(ctx, rows, lcp, 1));
  if (rows->sparse)
    PERP_TRY(perp_sparse_lu_reserve(ctx, &work->L, n, (size_t)rows->start[n] + (size_t)n));
  else
    PERP_TRY(perp_system_prepare(ctx, &work->S, rows, false));
  const double tol = perp_rows_target(work->o.tol, lcp);
  perp_desaxce_open(&work->K, rows);
  perp_desaxce_project(&work->K, lambda, work->y);
  perp_rows_w(rows, work->y, work->w);
  stats->matvecs++;
  memcpy(lambda, work->y, bytes);
  if (perp_rows_residual(rows, lambda, work->w) <= tol) {
    stats->reason = PERP_CONVERGED;
    stats->work = rows->work;
    return PERP_OK;
  }
  const double largest = admm_largest(work, stats), condition = largest / work->o.eta;
  const double growth = work->o.growth > 1 ? work->o.growth : fmax(pow(condition, FACTOR), 1.01);
  double rho = work->o.rho > 0 ? work->o.rho : sqrt(largest * work->o.eta) * pow(condition, POWER);
  memcpy(work->x, work->y, bytes);
  perp_desaxce_correct(&work->K, work->w, work->s);
  for (int i = 0; i < n; i++) work->z[i] = work->w[i] + work->s[i];
  admm_rest(work);
  double least = HUGE_VAL;
  if (!admm_factor(work, rho, stats)) stats->reason = PERP_SINGULAR;
  while (stats->reason == PERP_RUNNING) {
    double primal, dual;
    if (stats->iterations == work->o.max_iter || perp_rows_spent(rows)) {
      stats->reason = PERP_MAX_ITER;
      break;
    }
    stats->iterations++;
    if (!admm_iterate(work, rho, &primal, &dual)) {
      stats->reason = PERP_NOT_FINITE;
      break;
    }
    double rel = perp_rows_residual(rows, work->x, work->w);
    PERP_TRACE(ctx, .method = "admm", .what = "iteration", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .step = rho, .residual = rel, .n = n, .x = work->x,
               .w = work->w);
    if (rel <= tol) { /* by the system; now by the problem */
      rel = perp_rows_rate(rows, work->x, work->w, stats);
      if (rel <= tol) stats->reason = PERP_CONVERGED;
    }
    if (rel < least) {
      least = rel;
      memcpy(lambda, work->x, bytes);
    }
    if (stats->reason != PERP_RUNNING) break;
    if (work->o.accelerate) admm_accelerate(work, rho, primal, dual);
    if (stats->iterations % EVERY != 0 || stats->factorizations > work->o.refactor) continue;
    const double to = primal > RATIO * dual   ? rho * growth
                      : dual > RATIO * primal ? rho / growth
                                              : rho;
    if (to == rho) continue;
    rho = to;
    admm_rest(work);
    if (!admm_factor(work, rho, stats)) stats->reason = PERP_SINGULAR;
  }
  stats->work = rows->work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_admm = {
  .d = { .name = "admm",
         .summary = "Proximal ADMM on circular cones, boxes and bounds, one factorization for many "
                    "iterations, dense or sparse",
         .reference = "Carpentier, Le Lidec & Montaut 2024 (arXiv 2405.17020); options of Kamino: "
                      "Tsounis, Grandia & Baecher 2025 (arXiv 2504.19771)",
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
