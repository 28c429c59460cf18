/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Semismooth Newton method for contacts with Coulomb's circular cone.
 *
 * Natural map, w = A lambda + b, scales a > 0, contact with multipliers (n, T), limit r = mu max(n, 0):
 *      H_n = n - max(n - w_n / a_n, 0),        H_T = T - P(T - w_T / a, r),   P onto the disc of radius r,
 * one of the formulations of Alart and Curnier (1991); bounded rows and friction boxes as in minmap-newton.
 * With y = T - w_T / a the contact is open (n - w_n / a_n < 0), sticks (|y| <= r) or slides.  In the
 * directions e = y / |y| and e' orthogonal to it a generalized derivative of the sliding equations is
 *      T_e+ = mu n+,      w_e'+ + d T_e'+ = 0,      d = a (1 - k) / k,  k = r / |y| < 1,
 * with + for the values after the step.  In tangential axes turned to e and e' they are therefore the rows
 * of a friction box, one at its limit and one free with d on the diagonal: A is turned (a copy; J when
 * factored), and the systems of system.h serve cones as they serve boxes, dense or sparse.
 *
 * Backtracking on sum a |H|^2 / 2, non-monotone, a shortened step projected on the limits (which halves the
 * number of steps on sliding stacks); where the direction fails a proximal term rho diag(A) grows, and
 * where that fails Gauss-Seidel sweeps go on instead.  The first approximation comes from sweeps, too.
 *
 * No convergence theorem: Coulomb's law is not monotone, and a solution need not exist.  Quadratic near
 * regular solutions; several solutions, redundant contacts and sticking at the limit make it slow or stop it
 * (PERP_STALLED: no half of the residual in PATIENCE steps).  A step: an LU of the free rows (dense) or of the sparse matrix in the space of
 * velocities.  Memory: n^2 for the turned A (dense).  Allocates when a problem is larger or has another
 * pattern than those before. */
#include "solvers/lcp/newton/newton.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* shorter steps are not worth their system; first proximal weight, relative to the diagonal */
static const double SHORTEST = 0.01, PROXIMAL = 1e-3;

/* steps without half of the residual */
enum { PATIENCE = 60 };

struct opts {
  int max_iter, warm, window;
  double tol;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 300, 1, 1e9, "Newton steps before giving up"),
  PERP_ROWS_TOL(struct opts),
  PERP_INT(struct opts, warm, 50, 0, 1e6, "Gauss-Seidel sweeps to begin with"),
  PERP_INT(struct opts, window, 8, 1, 16,
           "non-monotone line search: values to fall below; 1: monotone"),
  PERP_OPTIONS_END
};

struct ws {
  perp_newton N; /* first; of the turned problem */
  struct opts o;
  perp_rows R;                              /* of the problem itself */
  double *x, *w, *scale, *e, *b, *s, *best; /* [max_n]; e: the direction of a pair */
  perp_lcp turned;
  perp_blocks F;
  double *matrix; /* turned A or J */
  size_t capacity;
  double tol;
  int matvecs;
};

static void cone_newton_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  perp_newton_layout(ws, a);
  PERP_DOUBLES(a, w->N.max_n, &w->x, &w->w, &w->scale, &w->e, &w->b, &w->s, &w->best);
}

static void cone_newton_destroy(void *ws)
{
  struct ws *w = ws;
  if (w == NULL) return;
  perp_rows_close(&w->R);
  free(w->matrix);
  perp_newton_destroy(w);
}

static perp_status cone_newton_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .o = *(const struct opts *)opts };
  PERP_TRY(
      perp_newton_create(ctx, "cone-newton", max_n, &like.N, sizeof like, cone_newton_layout, ws));
  struct ws *w = *ws;
  perp_status status = perp_rows_open(ctx, &w->R, max_n);
  if (status == PERP_OK && max_n <= PERP_SYSTEM_EAGER)
    status = perp_system_grow(ctx, &w->matrix, &w->capacity, (size_t)max_n * (size_t)max_n);
  if (status != PERP_OK) {
    cone_newton_destroy(w);
    *ws = NULL;
  }
  return status;
}

/* ---- the natural map ------------------------------------------------------------------------------------------- */

/* sum of scale |H|^2 / 2 */
static double cone_newton_merit(const struct ws *w, const double *x, const double *slack)
{
  const perp_rows *R = &w->R;
  double sum = 0;
  for (int i = 0; i < R->n; i++) {
    double lo, hi, a = w->scale[i], y = x[i] - slack[i] / a;
    perp_rows_bounds(R, x, i, &lo, &hi);
    if (R->type[i] == PERP_ROW_CONE) {
      double z = x[i + 1] - slack[i + 1] / a;
      perp_disc(hi, &y, &z);
      sum += a * ((x[i] - y) * (x[i] - y) + (x[i + 1] - z) * (x[i + 1] - z));
      i++;
    } else {
      double h = x[i] - (y < lo ? lo : y > hi ? hi : y);
      sum += a * h * h;
    }
  }
  return 0.5 * sum;
}

static double cone_newton_residual(struct ws *w, const double *x, double *slack)
{
  perp_rows_w(&w->R, x, slack);
  w->matvecs++;
  return perp_rows_residual(&w->R, x, slack);
}

/* v <- the components of every pair along e and e', or back */
static void cone_newton_turn(const struct ws *w, bool back, double *v)
{
  const perp_rows *R = &w->R;
  for (int i = 0; i < R->n; i++)
    if (R->type[i] == PERP_ROW_CONE) {
      double c = w->e[i], s = back ? -w->e[i + 1] : w->e[i + 1], t = v[i];
      v[i] = c * t + s * v[i + 1];
      v[i + 1] = c * v[i + 1] - s * t;
    }
}

/* the pairs of rows i, i + 1 of a column-major matrix with `rows` rows: turned */
static void turn_rows(double c, double s, double *a, int ld, int columns)
{
  for (int j = 0; j < columns; j++, a += ld) {
    double t = a[0];
    a[0] = c * t + s * a[1];
    a[1] = c * a[1] - s * t;
  }
}

/* The problem in the axes e, e': friction boxes instead of cones. */
static perp_status turn_problem(perp_ctx *ctx, struct ws *w)
{
  const perp_rows *R = &w->R;
  const perp_lcp *p = R->p;
  int n = p->n;
  w->turned = *p;
  w->turned.cone = NULL;
  w->turned.b = w->b;
  memcpy(w->b, p->b, (size_t)n * sizeof *w->b);
  cone_newton_turn(w, false, w->b);
  if (p->F != NULL) {
    const perp_blocks *F = p->F;
    size_t size = (size_t)F->joff[F->jptr[F->nc]];
    PERP_TRY(perp_system_grow(ctx, &w->matrix, &w->capacity, size));
    memcpy(w->matrix, F->J, size * sizeof *w->matrix);
    for (int c = 0; c < F->nc; c++)
      for (int i = F->cptr[c], r = F->cptr[c + 1] - i, l = 0; l < r; l++)
        if (R->type[i + l] == PERP_ROW_CONE && w->e[i + l + 1] != 0)
          for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
            turn_rows(w->e[i + l], w->e[i + l + 1], w->matrix + F->joff[k] + l, r,
                      F->bptr[F->jblk[k] + 1] - F->bptr[F->jblk[k]]);
    w->F = *F;
    w->F.J = w->matrix;
    if (F->s != NULL) {
      /* two unlike softnesses have an off-diagonal part in other axes, see direction */
      for (int i = 0; i < n; i++) w->s[i] = F->s[i];
      for (int i = 0; i < n; i++) {
        if (R->type[i] != PERP_ROW_CONE) continue;
        double c = w->e[i] * w->e[i], t = w->e[i + 1] * w->e[i + 1];
        w->s[i] = c * F->s[i] + t * F->s[i + 1];
        w->s[i + 1] = t * F->s[i] + c * F->s[i + 1];
      }
      w->F.s = w->s;
    }
    w->turned.F = &w->F;
  } else {
    size_t ld = (size_t)n;
    PERP_TRY(perp_system_grow(ctx, &w->matrix, &w->capacity, ld * ld));
    for (size_t j = 0; j < ld; j++)
      memcpy(w->matrix + j * ld, p->A + j * (size_t)p->lda, ld * sizeof *w->matrix);
    for (int i = 0; i < n; i++) {
      if (R->type[i] != PERP_ROW_CONE || w->e[i + 1] == 0) continue;
      double c = w->e[i], s = w->e[i + 1], *x = w->matrix + (size_t)i * ld, *y = x + ld;
      for (int k = 0; k < n; k++) { /* columns i, i + 1 */
        double t = x[k];
        x[k] = c * t + s * y[k];
        y[k] = c * y[k] - s * t;
      }
      turn_rows(c, s, w->matrix + i, n, n);
    }
    w->turned.A = w->matrix;
    w->turned.lda = n;
  }
  return perp_newton_prepare(ctx, &w->N, &w->turned, w->tol);
}

/* ---- the step -------------------------------------------------------------------------------------------------- */

/* Index sets and directions e at (x, w).  d: the diagonal of the sliding rows e', 0 elsewhere.  A pair that
 * slides has state HI in its first row. */
static void cone_newton_classify(struct ws *w, double *d)
{
  const perp_rows *R = &w->R;
  signed char *state = w->N.state;
  for (int i = 0; i < R->n; i++) {
    double lo, hi, a = w->scale[i], y = w->x[i] - w->w[i] / a;
    d[i] = 0;
    perp_rows_bounds(R, w->x, i, &lo, &hi);
    if (R->type[i] != PERP_ROW_CONE) {
      state[i] = y < lo ? PERP_ROW_LO : y > hi ? PERP_ROW_HI : PERP_ROW_FREE;
      continue;
    }
    double z = w->x[i + 1] - w->w[i + 1] / a, length = hypot(y, z);
    bool slides = length > hi;
    state[i] = slides ? PERP_ROW_HI : PERP_ROW_FREE;
    state[i + 1] = PERP_ROW_FREE;
    w->e[i] = slides ? y / length : 1;
    w->e[i + 1] = slides ? z / length : 0;
    d[i + 1] = 0;
    if (slides) d[i + 1] = hi > 1e-14 * length ? a * (length - hi) / hi : HUGE_VAL;
    i++;
  }
}

/* The step for the sets of classify: N.dx in the axes of the problem.  own [n]: as classify left it. */
static bool cone_newton_direction(struct ws *w, const double *own, double rho)
{
  perp_newton *N = &w->N;
  const perp_rows *R = &w->R;
  const perp_lcp *p = R->p;
  int n = R->n;
  double *to = N->trial, *x = N->keep;
  memcpy(x, w->x, (size_t)n * sizeof *x);
  cone_newton_turn(w, false, x);
  for (int i = 0; i < n; i++) { /* bounded rows first: friction rows look at them */
    signed char state = N->state[i];
    N->gamma[i] = 0;
    N->d[i] = state == PERP_ROW_FREE ? own[i] + rho * N->scale[i] : HUGE_VAL;
    to[i] = x[i];
    if (R->type[i] == PERP_ROW_BOUNDED && state != PERP_ROW_FREE)
      to[i] = state == PERP_ROW_LO ? R->lo[i] : R->hi[i];
  }
  for (int i = 0; i < n; i++) {
    if (R->type[i] == PERP_ROW_BOUNDED) continue;
    int j = p->fric_of[i];
    if (R->type[i] != PERP_ROW_FRICTION && N->state[j] == PERP_ROW_LO && R->lo[j] == 0) {
      to[i] = 0; /* open: both tangential rows vanish */
      N->d[i] = HUGE_VAL;
      continue;
    }
    if (N->d[i] == HUGE_VAL && N->state[i] == PERP_ROW_FREE) to[i] = 0;
    if (N->state[i] == PERP_ROW_FREE) {
      if (R->type[i] != PERP_ROW_CONE_TAIL || p->F == NULL || p->F->s == NULL) continue;
      /* the off-diagonal part of S times dT_e = mu dn, as a term of dn */
      double o = w->e[i - 1] * w->e[i] * (p->F->s[i] - p->F->s[i - 1]);
      if (o != 0 && N->state[j] == PERP_ROW_FREE && N->d[i] < HUGE_VAL &&
          N->d[i] > 1e-8 * N->scale[i])
        N->gamma[i] = -o * p->mu[i] / N->d[i];
      continue;
    }
    double mu = N->state[i] == PERP_ROW_LO ? -p->mu[i] : p->mu[i];
    to[i] = mu * fmax(to[j], 0);
    if (N->state[j] == PERP_ROW_FREE) N->gamma[i] = mu;
  }
  perp_rows_w(&N->R, to, N->rhs);
  w->matvecs++;
  for (int i = 0; i < n; i++) N->rhs[i] = -N->rhs[i] - (own[i] < HUGE_VAL ? own[i] * to[i] : 0);
  if (!perp_system_factor(&N->S, N->d, N->gamma)) return false;
  if (!perp_system_solve(&N->S, N->rhs, N->dx, 3)) return false;
  for (int i = 0; i < n; i++) N->dx[i] += to[i] - x[i];
  cone_newton_turn(w, true, N->dx);
  perp_rows_A(&w->R, N->dx, N->Adx);
  w->matvecs++;
  return true;
}

/* the length of the step that is good enough, 0 when none; trial and tw hold the point */
static double cone_newton_search(struct ws *w, double reference, double theta)
{
  perp_newton *N = &w->N;
  for (double t = 1; t > SHORTEST; t *= 0.5) {
    for (int i = 0; i < N->n; i++) {
      N->trial[i] = w->x[i] + t * N->dx[i];
      N->tw[i] = w->w[i] + t * N->Adx[i];
    }
    double now = cone_newton_merit(w, N->trial, N->tw);
    if (now <= reference - 1e-4 * t * theta && isfinite(now)) return t;
  }
  return 0;
}

static void cone_newton_sweeps(struct ws *w, int count)
{
  perp_rows_project(&w->R, w->x, w->x);
  perp_rows_reset(&w->R, w->x);
  for (int k = 0; k < count && !perp_rows_spent(&w->R); k++)
    perp_rows_sweep(&w->R, w->x, NULL, false);
  w->matvecs += count;
}

static perp_status cone_newton_solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                                     double *certificate, perp_stats *stats)
{
  struct ws *w = ws;
  perp_newton *N = &w->N;
  int n = p->n, more = 20, since = 0; /* steps since the residual was halved */
  size_t bytes = (size_t)n * sizeof *lambda;
  double past[16], rho = 0, *own = N->known;
  if (n > N->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "cone-newton: n = %d but the workspace holds %d", n,
                     N->max_n);
  perp_no_certificate(p, certificate);
  PERP_TRY(perp_rows_prepare(ctx, &w->R, p, 1));
  w->tol = w->o.tol;
  w->matvecs = 0;
  double tol = perp_rows_target(w->o.tol, p);
  for (int i = 0; i < n; i++) {
    w->scale[i] = w->R.diag[i] > 0 ? w->R.diag[i] : w->R.big[i];
    w->e[i] = 0;
    if (w->R.type[i] == PERP_ROW_CONE_TAIL)
      w->scale[i - 1] = w->scale[i] = fmax(w->scale[i - 1], w->scale[i]);
  }
  memcpy(w->x, lambda, bytes);
  memcpy(w->best, lambda, bytes);
  double rel = cone_newton_residual(w, w->x, w->w), least = rel, half = rel;
  if (rel > tol && w->o.warm > 0) {
    cone_newton_sweeps(w, w->o.warm);
    rel = cone_newton_residual(w, w->x, w->w);
  }
  double theta = cone_newton_merit(w, w->x, w->w);
  for (int k = 0; k < w->o.window; k++) past[k] = theta;
  for (;;) {
    if (rel < least || !isfinite(least)) {
      least = rel;
      memcpy(w->best, w->x, bytes);
    }
    if (least <= 0.5 * half || !isfinite(half)) {
      half = least;
      since = 0;
    }
    stats->reason = least <= tol                         ? PERP_CONVERGED
                    : stats->iterations == w->o.max_iter ? PERP_MAX_ITER
                    : perp_rows_spent(&w->R)             ? PERP_MAX_ITER
                    : !isfinite(rel)                     ? PERP_NOT_FINITE
                    : since++ == PATIENCE                ? PERP_STALLED
                                                         : PERP_RUNNING;
    if (stats->reason != PERP_RUNNING) break;
    stats->iterations++;
    double reference = past[0], t = 0;
    for (int k = 1; k < w->o.window; k++) reference = fmax(reference, past[k]);
    cone_newton_classify(w, own);
    PERP_TRY(turn_problem(ctx, w));
    for (int attempt = 0; attempt < 4 && t == 0; attempt++) {
      if (attempt > 0) rho = rho > 0 ? 100 * rho : PROXIMAL;
      if (cone_newton_direction(w, own, rho)) t = cone_newton_search(w, reference, theta);
      stats->factorizations++;
    }
    w->R.work += N->R.work; /* that of the turned problem of this step */
    if (t > 0) {
      memcpy(w->x, N->trial, bytes);
      if (t < 1)
        perp_rows_project(&w->R, w->x, w->x); /* a part of the way to the limits is not on them */
      rho = rho > 1e-8 ? 0.01 * rho : 0;
    } else {
      cone_newton_sweeps(w, more);
      rho = 0;
      more = more < 1000 ? 2 * more : more;
    }
    rel = cone_newton_residual(w, w->x, w->w);
    theta = cone_newton_merit(w, w->x, w->w);
    if (t > 0)
      past[stats->iterations % w->o.window] = theta;
    else
      for (int k = 0; k < w->o.window; k++) past[k] = theta;
    PERP_TRACE(ctx, .method = "cone-newton", .what = t > 0 ? "newton" : "sweep",
               .iteration = stats->iterations, .entering = -1, .leaving = -1, .step = t,
               .residual = rel, .n = n, .x = w->x, .w = w->w, .state = N->state);
  }
  memcpy(lambda, w->best, bytes);
  stats->matvecs = w->matvecs;
  stats->work = w->R.work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_cone_newton = {
  .d = { .name = "cone-newton",
         .summary =
             "semismooth Newton on the natural map of circular cones and boxes, dense or sparse",
         .reference = "Alart & Curnier 1991; STAR 2012, section 4.4",
         .equation = "n - max(n - w_n / a, 0) = 0,  T - P(T - w_T / a, mu n) = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_CONE |
                 PERP_LCP_NONSYMMETRIC | PERP_LCP_SEMIDEFINITE | PERP_LCP_FACTORED |
                 PERP_LCP_ITERATIVE | PERP_LCP_WARM },
  .create = cone_newton_create,
  .solve = cone_newton_solve,
  .destroy = cone_newton_destroy,
  .serves = "circular cones, boxes and bounds of any kind over semidefinite A: no theorem, as "
            "Coulomb's law is not monotone; quadratic near regular solutions, slow or stalled at "
            "redundant contacts and at sticking on the limit",
  .ties = "none to break: no pivots; on the limit a contact counts as sticking",
  .cost = "an LU of the k free rows or more a step, 2 k^3 / 3, or sparse in the velocities; 50 "
          "sweeps at the start; 2 n^2 numbers beside A",
  .counts = "Newton steps, and rounds of sweeps where no step helped",
};
