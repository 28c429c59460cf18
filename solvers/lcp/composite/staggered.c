/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Staggered solution of contact problems with friction: normal and friction problems in turn.
 *
 * With T the rows of friction and N all others,
 *      A_NN lambda_N + (b_N + A_NT lambda_T)  for lambda_N with its bounds, lambda_T as it is,
 *      A_TT lambda_T + (b_T + A_TN lambda_N)  with limits mu lambda_N, lambda_N as it is,
 * until a fixed point, STAR 2012, section 4.3.4.  Serves Stewart-Trinkle rows, whose friction
 * problem is the LCP of (x_t, beta), and boxes and circular cones in the place of that pyramid; see
 * staggered_parts.h.  Both problems are convex for A symmetric positive semidefinite, and any
 * registered solver that serves them may be taken for each (options `normal` and `friction`; `qp`:
 * staggered_parts.c).  Both start from the last answer.
 *
 * A round is a map of lambda_T, of which the next one sees u = A_NT lambda_T only (velocities,
 * unique where multipliers are not).  It need not contract (large mu, strong coupling), nor have a
 * fixed point.  Anderson acceleration over the last `depth` rounds extrapolates lambda_T by the
 * least change of u, in units of sqrt(A_ii) (Walker and Ni 2011). Safeguards: where the round from
 * an extrapolated point changes u by more than ASTRAY times the least change since the last plain
 * round, the method goes back, makes 1, 2, 4, 8, 16, 16, ... plain rounds first, and extrapolates
 * by a tenth of the length at most, doubled with every success.  An iterate that comes back after 2
 * to 6 plain rounds is a cycle, answered by halving the relaxation, and reported as PERP_CYCLED
 * when that does not help either.  Cost: two solves a round. */
#include "solvers/lcp/composite/staggered_parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 8, MEMORY = 6 };
enum { ASTRAY = 4, MOST_WAIT = 16 }; /* of the acceleration, by figures */

struct opts {
  int max_iter, depth;
  double tol, relax;
  bool qp;
  char normal[PERP_TEXT_MAX], friction[PERP_TEXT_MAX];
};

static const perp_opt options[] = {
  PERP_TEXT(struct opts, normal, "minmap-newton", "Solver of the normal problem, with options."),
  PERP_TEXT(struct opts, friction, "",
            "Solver of the friction problem, with options. Empty: minmap-newton for boxes, "
            "cone-newton for cones, lemke for Stewart-Trinkle rows. block-gs serves all three."),
  PERP_BOOL(struct opts, qp, false,
            "Solve the friction of Stewart-Trinkle rows as a quadratic program, by accelerated "
            "projected gradients. friction must be empty."),
  PERP_INT(struct opts, max_iter, 500, 1, 1e9, "Maximum number of rounds."),
  PERP_ROWS_TOL(struct opts),
  PERP_REAL(struct opts, relax, 1, 0, 1, PERP_OPEN_MIN, "",
            "Relaxation factor of the friction multipliers."),
  PERP_INT(struct opts, depth, 8, 0, MOST_DEPTH,
           "Number of earlier rounds used by the Anderson acceleration. 0: no acceleration."),
  PERP_OPTIONS_END
};

struct ws {
  struct opts o;
  int max_n;
  perp_stagger parts;
  double *w, *x, *g, *f, *last_g, *last_f, *keep, *masked, *plain_x;
  double *dg, *df, *Q; /* [MOST_DEPTH max_n] differences of the last rounds; for least squares */
  double *past;        /* [MEMORY max_n] */
  /* the acceleration: rounds in dg, df; rounds to wait, now and after the next failure; the least
   * change since a plain round; the length of the last extrapolation and the longest allowed */
  int columns, slot, wait, penalty, plain;
  bool last, extrapolated;
  double least, length, radius;
};

static void staggered_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  size_t n = (size_t)work->max_n;
  PERP_DOUBLES(arena, n, &work->w, &work->x, &work->g, &work->f, &work->keep, &work->last_g,
               &work->last_f, &work->masked, &work->plain_x);
  PERP_DOUBLES(arena, MOST_DEPTH * n, &work->dg, &work->df, &work->Q);
  work->past = PERP_CARVE(arena, double, MEMORY *n);
}

static void staggered_destroy(void *ws)
{
  struct ws *work = ws;
  if (work == NULL) return;
  perp_stagger_close(&work->parts);
  free(work);
}

static perp_status staggered_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  *ws = NULL;
  if (max_n < 0)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "staggered: max_n must not be negative: got %d", max_n);
  struct ws like = { .o = *(const struct opts *)opts, .max_n = max_n };
  PERP_TRY(perp_workspace_create(ctx, "staggered", &like, sizeof like, staggered_layout, ws));
  struct ws *work = *ws;
  const perp_status status = perp_stagger_open(ctx, &work->parts, max_n, work->o.normal,
                                               work->o.friction, work->o.qp);
  if (status == PERP_OK) return PERP_OK;
  staggered_destroy(work);
  *ws = NULL;
  return status;
}

/* ---- acceleration ---- */

static double staggered_dot(const double *a, const double *b, int n)
{
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* theta [columns] = argmin |f - sum theta_k df_k|, by Gram and Schmidt from the newest column;
 * those that depend on newer ones are left out. */
static void staggered_least_squares(struct ws *work, int n, double *theta)
{
  double R[MOST_DEPTH][MOST_DEPTH], y[MOST_DEPTH];
  int from[MOST_DEPTH], rank = 0;
  const int depth = work->o.depth;
  for (int k = 0; k < depth; k++) theta[k] = 0;
  for (int k = 0; k < work->columns; k++) {
    const int c = (work->slot - 1 - k + 2 * depth) % depth;
    const double *column = work->df + (size_t)c * (size_t)n;
    double *q = work->Q + (size_t)rank * (size_t)n;
    memcpy(q, column, (size_t)n * sizeof *q);
    for (int a = 0; a < rank; a++) R[a][rank] = 0;
    for (int twice = 0; twice < 2; twice++)
      for (int a = 0; a < rank; a++) {
        const double *p = work->Q + (size_t)a * (size_t)n, h = staggered_dot(p, q, n);
        for (int i = 0; i < n; i++) q[i] -= h * p[i];
        R[a][rank] += h;
      }
    const double left = sqrt(staggered_dot(q, q, n));
    if (!(left > 1e-6 * sqrt(staggered_dot(column, column, n)))) continue;
    for (int i = 0; i < n; i++) q[i] /= left;
    R[rank][rank] = left;
    y[rank] = staggered_dot(q, work->f, n);
    from[rank++] = c;
  }
  for (int a = rank - 1; a >= 0; a--) {
    for (int b = a + 1; b < rank; b++) y[a] -= R[a][b] * theta[from[b]];
    theta[from[a]] = y[a] / R[a][a];
  }
}

/* The point x of the next round, from x, its image g, and f, the change of u = A_NT lambda_T; the
 * image of the round before where extrapolation led astray. */
static void next_point(struct ws *work, int n, double relax)
{
  const signed char *second = work->parts.second;
  const size_t bytes = (size_t)n * sizeof *work->x;
  const int depth = work->o.depth;
  const double size = depth > 0 ? sqrt(staggered_dot(work->f, work->f, n)) : 0;
  if (work->extrapolated && !(size <= ASTRAY * work->least)) { /* back, and slowly from there */
    memcpy(work->x, work->plain_x, bytes);
    work->radius = 0.1 * work->length;
    work->wait = work->penalty;
    if (work->penalty < MOST_WAIT) work->penalty *= 2;
    work->columns = 0;
    work->last = work->extrapolated = false;
    return;
  }
  if (work->last && depth > 0) {
    double *dg = work->dg + (size_t)work->slot * (size_t)n,
           *df = work->df + (size_t)work->slot * (size_t)n;
    for (int i = 0; i < n; i++) {
      dg[i] = work->g[i] - work->last_g[i];
      df[i] = work->f[i] - work->last_f[i];
    }
    work->slot = (work->slot + 1) % depth;
    if (work->columns < depth) work->columns++;
  }
  memcpy(work->last_g, work->g, bytes);
  memcpy(work->last_f, work->f, bytes);
  work->last = true;
  work->least = work->extrapolated ? fmin(work->least, size) : size;
  work->extrapolated = work->columns > 0 && work->wait == 0;
  if (work->wait > 0) work->wait--;
  double theta[MOST_DEPTH];
  if (work->extrapolated) staggered_least_squares(work, n, theta);
  for (int i = 0; i < n; i++) /* rows of N: where the normal problem starts */
    work->x[i] = second[i] ? work->x[i] + relax * (work->g[i] - work->x[i]) : work->g[i];
  if (!work->extrapolated) return;
  memcpy(work->plain_x, work->x, bytes);
  double length = 0;
  for (int i = 0; i < n; i++) {
    work->masked[i] = 0;
    for (int k = 0; second[i] && k < depth; k++)
      if (theta[k] != 0) work->masked[i] -= theta[k] * work->dg[(size_t)k * (size_t)n + (size_t)i];
    length += work->masked[i] * work->masked[i];
  }
  length = sqrt(length);
  const double part = length > work->radius ? work->radius / length : 1;
  work->length = part * length;
  work->radius *= 2; /* should this one be no failure */
  for (int i = 0; i < n; i++)
    if (second[i]) work->x[i] = work->g[i] + part * work->masked[i];
}

static void staggered_forget(struct ws *work)
{
  work->columns = work->slot = work->wait = work->plain = 0;
  work->last = work->extrapolated = false;
}

/* f = change of A_NT lambda_T by the round from x to g, in units of sqrt(A_ii); 0 on T */
static void staggered_change(struct ws *work, int n)
{
  perp_rows *rows = &work->parts.rows;
  for (int i = 0; i < n; i++) work->masked[i] = work->parts.second[i] ? work->g[i] - work->x[i] : 0;
  perp_rows_A(rows, work->masked, work->f);
  for (int i = 0; i < n; i++) {
    const double scale = rows->diag[i] > 0 ? rows->diag[i] : rows->big[i];
    work->f[i] = work->parts.second[i] ? 0 : work->f[i] / sqrt(scale);
  }
}

/* ---- the method ---- */

/* largest |x - y| over the rows of N, relative to the largest |y| */
static double staggered_distance(const struct ws *work, int n, const double *x, const double *y)
{
  double d = 0, size = DBL_MIN;
  for (int i = 0; i < n; i++) {
    if (work->parts.second[i]) continue;
    d = fmax(d, fabs(x[i] - y[i]));
    size = fmax(size, fabs(y[i]));
  }
  return d / size;
}

/* Back at the answer of 2 to MEMORY plain rounds ago while the last step was not small? */
static bool staggered_comes_back(struct ws *work, int n)
{
  const size_t size = (size_t)n;
  const int k = work->plain++; /* plain rounds without a break, before this one */
  bool back = false;
  if (k > 0) {
    const double step = staggered_distance(work, n, work->g,
                                           work->past + (size_t)((k + MEMORY - 1) % MEMORY) * size);
    for (int b = 2; b <= MEMORY && b <= k; b++)
      back = back || staggered_distance(work, n, work->g,
                                        work->past + (size_t)((k + MEMORY - b) % MEMORY) * size) <
                         1e-3 * step;
  }
  memcpy(work->past + (size_t)(k % MEMORY) * size, work->g, size * sizeof *work->g);
  return back;
}

static perp_status staggered_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                   double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_rows *rows = &work->parts.rows;
  int n = lcp->n, failures = 0, cycles = 0;
  size_t bytes = (size_t)n * sizeof *lambda;
  double tol = perp_rows_target(work->o.tol, lcp), relax = work->o.relax;
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_stagger_prepare(ctx, &work->parts, lcp, stats));
  if (stats->reason != PERP_RUNNING) return PERP_OK;
  perp_rows_w(rows, lambda, work->w);
  double best = perp_rows_residual(rows, lambda, work->w);
  memcpy(work->keep, lambda, bytes);
  memcpy(work->x, lambda, bytes);
  staggered_forget(work);
  work->penalty = 1;
  work->radius = HUGE_VAL;
  if (best <= tol) stats->reason = PERP_CONVERGED;

  while (stats->reason == PERP_RUNNING) {
    if (stats->iterations == work->o.max_iter || perp_lcp_spent(lcp, stats->work + rows->work)) {
      stats->reason = PERP_MAX_ITER;
      break;
    }
    stats->iterations++;
    bool good;
    memcpy(work->g, work->x, bytes);
    /* the parts are solved somewhat better than the whole, by both rules */
    PERP_TRY(perp_stagger_round(ctx, &work->parts, lcp, 0.1 * tol, work->g, stats, &good));
    if (stats->reason != PERP_RUNNING) break; /* a part cannot serve its problem */
    perp_rows_w(rows, work->g, work->w);
    double rel = perp_rows_residual(rows, work->g, work->w);
    bool better = rel < best;
    if (better) {
      best = rel;
      memcpy(work->keep, work->g, bytes);
    }
    PERP_TRACE(ctx, .method = "staggered", .what = "round", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .step = relax, .residual = rel, .n = n, .x = work->g,
               .w = work->w);
    if (best <= tol) {
      stats->reason = PERP_CONVERGED;
      break;
    }
    /* parts that fail again and again, now and then one good round between, will not carry the
     * whole */
    failures = better ? 0 : failures + !good;
    if (failures == 20) {
      stats->reason = PERP_INACCURATE;
      break;
    }
    if (!perp_stagger_coupled(
            &work->parts)) { /* one problem only, and its solver did what it could */
      stats->reason = PERP_STALLED;
      break;
    }
    if (work->extrapolated) work->plain = 0;
    if (staggered_comes_back(work, n)) {
      relax *= 0.5;
      staggered_forget(work);
      if (++cycles > 10) {
        stats->reason = PERP_CYCLED;
        break;
      }
    }
    if (work->o.depth > 0) {
      staggered_change(work, n);
      stats->matvecs++;
    }
    next_point(work, n, relax);
  }
  memcpy(lambda, work->keep, bytes);
  stats->work += rows->work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_staggered = {
  .d = { .name = "staggered",
         .summary = "Alternating normal and friction problems, each with its own solver, with "
                    "Anderson acceleration",
         .reference = "STAR 2012, section 4.3.4, eq. 83-84",
         .equation =
             "lambda_N for given lambda_T, lambda_T for given lambda_N, until both are stationary",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_CONE |
                 PERP_LCP_SEMIDEFINITE | PERP_LCP_NONSYMMETRIC | PERP_LCP_FACTORED |
                 PERP_LCP_ITERATIVE | PERP_LCP_WARM },
  .create = staggered_create,
  .solve = staggered_solve,
  .destroy = staggered_destroy,
  .serves = "Friction as boxes, cones or Stewart-Trinkle rows that its two solvers serve, if the "
            "limits become stationary. No theorem: a fixed point may not exist or may not be "
            "found. Without friction only the normal problem is solved.",
  .ties = "Those of its two solvers. The normal problem is solved first.",
  .cost = "One normal and one friction problem per round, warm-started. Memory: O(n depth) numbers "
          "beyond the two solvers.",
  .counts = "Rounds: solves of the normal problem.",
};
