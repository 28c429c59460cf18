/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Semismooth Newton method on the Fischer-Burmeister function, with Armijo line search.
 *
 * With phi(a, b) = sqrt(a^2 + b^2) - (a + b), STAR 2012, eq. 85 (all eq. numbers of STAR 2012),
 * zero exactly for 0 <= a _|_ b >= 0, a row with bounds becomes one equation, psi_i = phi(lambda_i
 * - lo_i, phi(hi_i - lambda_i, -w_i)),    w = A lambda + b, with the limits  phi(lambda - lo, w)
 * for hi = inf,  -phi(hi - lambda, -w)  for lo = -inf  and  -w  for a free row.  Newton, eq. 88-89:
 * (D_a + D_b A + D_c N) dx = -psi with  D_a, D_b <= 0  from eq. 96-97 and the chain rule; N picks
 * the normal row of a friction row, whose bounds -mu lambda_n, mu lambda_n move with it.  Divided
 * by b_i it reads  (A + diag(a/b)) dx = -psi/b,  symmetric when A is and there is no friction. Rows
 * with |b_i| < 1e-10 |a_i| (b_i = 0 on every inactive row) are eliminated before: dx_i = -psi_i /
 * a_i.  The rest is Cholesky, LU, or the sparse matrix in the space of velocities (see system.h).
 * At the kink lambda = lo, w = 0, eq. 98, the option `kink` chooses the element of the generalized
 * Jacobian.
 *
 * Rows are scaled by sqrt(A_ii): phi(s (lambda - lo), w / s), which keeps the symmetry and makes
 * the method invariant under units.  Line search on Psi = |psi|^2 / 2: Psi(x + t dx) <= Psi_ref + c
 * t grad'dx, i.e. eq. 102 with its step length, t = 1, beta, beta^2, ...; Psi_ref is the largest of
 * the last `window` values.  Where the direction is no good (singular systems, kinks) a proximal
 * term rho diag(A) is added to the system, growing until the search succeeds.  Every eighth step is
 * followed by Gauss-Seidel sweeps, kept where they help: on long chains of changes (Murty I) Newton
 * steps set one row right at a time.  With friction a search that is stuck begins once more from
 * Gauss-Seidel sweeps.  An approximate answer is polished by active-set steps.
 *
 * Converges for P0 problems with bounded level sets, fast (superlinearly) to regular solutions; it
 * may stop in a minimum of Psi that is no solution otherwise (PERP_STALLED), e.g. on bimatrix
 * games.  Boxes of friction: no theorem, works in practice.  One factorization per step: n^3/3 (n^3
 * 2/3 with friction or nonsymmetric), or that of the sparse matrix.  Allocates when the sparsity
 * pattern changes.
 *
 * Also: the problem eq. 86 and its equation eq. 87; the generalized Jacobian of
 * phi eq. 94 and, by the chain rule, eq. 99, 101. */
#include "solvers/lcp/newton/newton.h"

#include "solvers/lcp/splitting/splitting.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Of the line search, the usual values (Nocedal and Wright 2006, section 3.1): the decrease that is
 * asked for, and the factor of the step. */
static const double ARMIJO = 1e-4, BETA = 0.5;
/* Active-set steps at the end, at most. */
enum { POLISH = 5 };
/* Newton steps between two attempts with sweeps, and their number */
enum { EVERY = 8, SWEEPS = 10 };
enum { KINK_PERTURB, KINK_BOUND, KINK_MIDDLE, KINK_RANDOM };
static const char *const kinks[] = { "perturb", "bound", "middle", "random", NULL };

struct opts {
  int max_iter, warm, window, kink;
  double tol;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 200, 1, 1e9, "Maximum number of Newton steps."),
  PERP_ROWS_TOL(struct opts),
  PERP_INT(struct opts, warm, 0, 0, 1e6, "Number of initial Gauss-Seidel sweeps."),
  PERP_ENUM(struct opts, kink, KINK_PERTURB, kinks,
            "Element of the generalized Jacobian where both arguments vanish: perturb (of a "
            "slightly larger lambda), bound (dx = 0), middle, or random."),
  PERP_INT(
      struct opts, window, 4, 1, 16,
      "Number of previous values that the non-monotone line search compares with. 1: monotone."),
  PERP_OPTIONS_END
};

struct ws {
  perp_newton N; /* first */
  struct opts o;
  double *psi, *a, *b, *c, *s; /* [max_n] */
  uint64_t random;
  double small; /* size below which an argument counts as zero */
};

static void fischer_newton_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  perp_newton_layout(ws, arena);
  PERP_DOUBLES(arena, work->N.max_n, &work->psi, &work->a, &work->b, &work->c, &work->s);
}

static perp_status fischer_newton_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .o = *(const struct opts *)opts };
  return perp_newton_create(ctx, "fischer-newton", max_n, &like.N, sizeof like,
                            fischer_newton_layout, ws);
}

/* phi without cancellation where both arguments are positive */
static inline double fischer_newton_phi(double a, double b)
{
  double s = sqrt(a * a + b * b), sum = a + b;
  return sum > 0 ? -2 * a * b / (s + sum) : s - sum;
}

/* partial derivatives at (a, b) */
static inline void fischer_newton_dphi(struct ws *work, double a, double b, double *da, double *db)
{
  double s = sqrt(a * a + b * b);
  if (s > work->small) {
    *da = a > 0 ? -b * b / (s * (s + a)) : a / s - 1;
    *db = b > 0 ? -a * a / (s * (s + b)) : b / s - 1;
    return;
  }
  double angle;
  switch (work->o.kink) {
  case KINK_PERTURB: /* phi(a + eps, b) */
    *da = 0;
    *db = -1;
    break;
  case KINK_BOUND:
    *da = -1;
    *db = 0;
    break;
  case KINK_MIDDLE:
    *da = *db = M_SQRT1_2 - 1;
    break;
  default:
    angle = (double)(perp_splitmix(&work->random) >> 11) * 0x1p-53 * M_PI_2;
    *da = cos(angle) - 1;
    *db = sin(angle) - 1;
  }
}

/* y = phi(s (hi - lambda), -w / s), or its limit w / s for hi = inf */
static inline double fischer_newton_inner(double s, double hi, double lambda, double w)
{
  return hi < HUGE_VAL ? fischer_newton_phi(s * (hi - lambda), -w / s) : w / s;
}

static inline bool fischer_newton_fixed(const perp_newton *newton, int i)
{
  return newton->R.type[i] == PERP_ROW_BOUNDED && !(newton->R.lo[i] < newton->R.hi[i]);
}

/* psi and Psi = |psi|^2 / 2 */
static double fischer_newton_merit(const struct ws *work, const double *lambda, const double *slack,
                                   double *psi)
{
  const perp_newton *newton = &work->N;
  double sum = 0;
  for (int i = 0; i < newton->n; i++) {
    double s = work->s[i], lo, hi;
    perp_rows_bounds(&newton->R, lambda, i, &lo, &hi);
    if (fischer_newton_fixed(newton, i))
      psi[i] = -s * (lambda[i] - lo);
    else {
      double y = fischer_newton_inner(s, hi, lambda[i], slack[i]);
      psi[i] = lo > -HUGE_VAL ? fischer_newton_phi(s * (lambda[i] - lo), y) : -y;
    }
    sum += psi[i] * psi[i];
  }
  return 0.5 * sum;
}

/* d psi_i = a_i dlambda_i + b_i dw_i + c_i dlambda_n(i) */
static void fischer_newton_jacobian(struct ws *work, const double *lambda, const double *slack)
{
  const perp_newton *newton = &work->N;
  for (int i = 0; i < newton->n; i++) {
    double s = work->s[i], lo, hi;
    double yu = 0, yw = 1 / s; /* y by u = s (hi - lambda) and by w */
    double px = 0, py = -1;    /* psi by x = s (lambda - lo) and by y */
    perp_rows_bounds(&newton->R, lambda, i, &lo, &hi);
    work->c[i] = 0;
    if (fischer_newton_fixed(newton, i)) {
      work->a[i] = -s;
      work->b[i] = 0;
      continue;
    }
    if (hi < HUGE_VAL) {
      double yv;
      fischer_newton_dphi(work, s * (hi - lambda[i]), -slack[i] / s, &yu, &yv);
      yw = -yv / s;
    }
    if (lo > -HUGE_VAL)
      fischer_newton_dphi(work, s * (lambda[i] - lo),
                          fischer_newton_inner(s, hi, lambda[i], slack[i]), &px, &py);
    work->a[i] = s * (px - py * yu);
    work->b[i] = py * yw;
    if (newton->R.type[i] != PERP_ROW_BOUNDED && lambda[newton->R.p->fric_of[i]] > 0)
      work->c[i] = s * newton->R.p->mu[i] * (px + py * yu);
  }
}

/* The direction for proximal weight rho; also slope = grad Psi' dx.  False: no finite direction. */
static bool fischer_newton_direction(struct ws *work, double rho, double *slope)
{
  perp_newton *newton = &work->N;
  const perp_lcp *lcp = newton->R.p;
  int n = newton->n;
  bool eliminated = false;
  for (int i = 0; i < n; i++) { /* normal rows before the friction rows that follow them */
    newton->gamma[i] = newton->known[i] = 0;
    if (fabs(work->b[i]) * newton->scale[i] < 1e-10 * fabs(work->a[i])) {
      newton->d[i] = HUGE_VAL;
      newton->known[i] = -work->psi[i] / work->a[i];
      if (newton->known[i] != 0) eliminated = true;
    } else {
      newton->d[i] = work->a[i] / work->b[i] + rho * newton->scale[i];
      newton->rhs[i] = -work->psi[i] / work->b[i];
    }
  }
  for (int i = 0; newton->coupled && i < n; i++)
    if (work->c[i] != 0 && work->a[i] != 0) {
      int j = lcp->fric_of[i];
      double g = -work->c[i] / work->a[i];
      if (newton->d[i] < HUGE_VAL) {
        g *= (work->a[i] / work->b[i]) / newton->d[i]; /* d holds the proximal term too */
        newton->rhs[i] += newton->d[i] * g * newton->known[j];
      } else
        newton->known[i] += g * newton->known[j];
      newton->gamma[i] = g;
    }
  if (eliminated) {
    perp_rows_A(&newton->R, newton->known, newton->Adx);
    newton->matvecs++;
  }
  for (int i = 0; i < n; i++)
    newton->rhs[i] = newton->d[i] < HUGE_VAL ? newton->rhs[i] - (eliminated ? newton->Adx[i] : 0)
                                             : 0;
  if (!perp_system_factor(&newton->S, newton->d, newton->coupled ? newton->gamma : NULL))
    return false;
  if (!perp_system_solve(&newton->S, newton->rhs, newton->dx, 1)) return false;
  *slope = 0;
  for (int i = 0; i < n; i++) newton->dx[i] += newton->known[i];
  perp_rows_A(&newton->R, newton->dx, newton->Adx);
  newton->matvecs++;
  for (int i = 0; i < n; i++) {
    double change = work->a[i] * newton->dx[i] + work->b[i] * newton->Adx[i];
    if (work->c[i] != 0) change += work->c[i] * newton->dx[lcp->fric_of[i]];
    *slope += work->psi[i] * change;
  }
  return isfinite(*slope);
}

/* t with Psi(lambda + t dx) <= reference + c t slope, or 0; trial and tw hold the point */
static double fischer_newton_search(struct ws *work, const double *lambda, double reference,
                                    double slope)
{
  perp_newton *newton = &work->N;
  for (double t = 1; t > 1e-8; t *= BETA) {
    for (int i = 0; i < newton->n; i++) {
      newton->trial[i] = lambda[i] + t * newton->dx[i];
      newton->tw[i] = newton->w[i] + t * newton->Adx[i];
    }
    if (fischer_newton_merit(work, newton->trial, newton->tw, work->psi) <=
        reference + ARMIJO * t * slope)
      return t;
  }
  return 0;
}

static perp_status fischer_newton_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp,
                                        double *lambda, double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_newton *newton = &work->N;
  double past[16], rho = 0;
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_newton_prepare(ctx, newton, lcp, work->o.tol));
  size_t bytes = (size_t)lcp->n * sizeof *lambda;
  work->random = 1;
  work->small = 0;
  for (int i = 0; i < lcp->n; i++) {
    work->s[i] = sqrt(newton->scale[i]);
    work->small = fmax(work->small, fabs(lcp->b[i]) / work->s[i]);
  }
  double rel = perp_newton_rel(newton, lambda, newton->w);
  rel = perp_newton_sweeps(newton, lambda, work->o.warm, rel);
  for (int i = 0; i < lcp->n; i++) work->small = fmax(work->small, fabs(lambda[i]) * work->s[i]);
  work->small *= 4 * DBL_EPSILON;

  double best = rel, goal = 0.9 * rel,
         Psi = fischer_newton_merit(work, lambda, newton->w, work->psi);
  int progress = 0; /* when rel last fell below the goal */
  bool again = newton->coupled;
  memcpy(newton->keep, lambda, bytes);
  for (int k = 0; k < work->o.window; k++) past[k] = Psi;
  while (stats->reason == PERP_RUNNING) {
    if (rel <= newton->tol) {
      stats->reason = PERP_CONVERGED;
      break;
    }
    if (stats->iterations == work->o.max_iter || perp_rows_spent(&newton->R)) {
      stats->reason = PERP_MAX_ITER;
      break;
    }
    stats->iterations++;
    fischer_newton_jacobian(work, lambda, newton->w);
    double reference = past[0], slope = 0, t = 0;
    for (int k = 1; k < work->o.window; k++) reference = fmax(reference, past[k]);
    for (int attempt = 0; attempt < 12 && t == 0; attempt++) {
      if (attempt > 0) rho = rho > 0 ? 10 * rho : 1e-8;
      if (fischer_newton_direction(work, rho, &slope) && slope < 0)
        t = fischer_newton_search(work, lambda, reference, slope);
      if (t == 0)
        fischer_newton_merit(work, lambda, newton->w,
                             work->psi); /* the search left psi of its last point */
    }
    bool stuck = t == 0 || stats->iterations - progress > PERP_NEWTON_PATIENCE;
    bool restart = stuck && again;
    if (restart) {
      again = false;
      rel = perp_newton_restart(newton, lambda);
      goal = rel;
      progress = stats->iterations;
      rho = 0;
    } else if (t == 0) {
      stats->reason = PERP_STALLED;
      break;
    } else {
      rho = rho > 1e-8 ? 0.1 * rho : 0;
      memcpy(lambda, newton->trial, bytes);
      rel = perp_newton_rel(newton, lambda, newton->w);
    }
    if (rel < goal) {
      goal = 0.9 * rel;
      progress = stats->iterations;
    }
    /* slow: sweeps may lead out of it (they are kept where rel falls) */
    if (stats->iterations % EVERY == 0 && !newton->coupled && !newton->R.zero_diagonal)
      rel = perp_newton_sweeps(newton, lambda, SWEEPS, rel);
    Psi = fischer_newton_merit(work, lambda, newton->w, work->psi);
    past[stats->iterations % work->o.window] = Psi;
    for (int k = 0; restart && k < work->o.window; k++) past[k] = Psi;
    PERP_TRACE(ctx, .method = "fischer-newton", .what = "newton", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .step = t, .residual = rel, .n = lcp->n, .x = lambda,
               .w = newton->w);
    if (!isfinite(rel) || !isfinite(Psi)) {
      stats->reason = PERP_NOT_FINITE;
      break;
    }
    if (rel < best) {
      best = rel;
      memcpy(newton->keep, lambda, bytes);
    }
  }
  if (stats->reason != PERP_CONVERGED) {
    memcpy(lambda, newton->keep, bytes);
    rel = perp_newton_rel(newton, lambda, newton->w);
    if (perp_newton_polish(newton, lambda, POLISH, rel) <= newton->tol)
      stats->reason = PERP_CONVERGED;
  }
  stats->factorizations = newton->S.factorizations;
  stats->matvecs = newton->matvecs;
  stats->work = newton->R.work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_fischer_newton = {
  .d = { .name = "fischer-newton",
         .summary = "Semismooth Newton method on the Fischer-Burmeister function for P0-matrices, "
                    "dense or sparse",
         .reference = "STAR 2012, section 4.4, eq. 85-89, 94-99, 101, 102",
         .equation = "phi(lambda - lo, phi(hi - lambda, -w)) = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_NONSYMMETRIC |
                 PERP_LCP_SEMIDEFINITE | PERP_LCP_FACTORED | PERP_LCP_SPARSE | PERP_LCP_ITERATIVE |
                 PERP_LCP_WARM | PERP_CAP_ALLOCATES },
  .create = fischer_newton_create,
  .solve = fischer_newton_solve,
  .destroy = perp_newton_destroy,
  .serves = "P0-matrices of any symmetry, including semidefinite ones, bounds of any kind. Every "
            "stationary point of its merit function is a solution; convergence to regular ones is "
            "superlinear. For other matrices it may end in a minimum that is no solution. "
            "Friction: no theorem.",
  .ties = "None: no pivots. At the kink (0, 0) the option kink selects the derivative.",
  .cost = "One or more factorizations per step. Each costs n^3 / 3 if symmetric, 2 n^3 / 3 with "
          "friction or nonsymmetric A, or less if sparse, in A or in the velocities. Memory: "
          "n^2 numbers beyond A, or those of a sparse LU.",
  .counts = "Newton steps.",
};
