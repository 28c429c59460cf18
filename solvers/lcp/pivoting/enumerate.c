/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Enumeration of all index sets: the reference for small problems (the direct method of STAR 4.2).
 *
 * Every row is put at its lower bound, at its upper bound or free; friction rows at -mu lambda_n,
 * free, or at mu lambda_n.  Each of the at most 2^n (pure LCP) or 3^n choices leaves a linear
 * system for the free rows,  A_FF x_F = -c_F, whose solution is kept when the judge accepts it.
 *
 * A solution set is a union of polyhedra; what is found are their vertices.  Where A_FF is singular
 * the vertices have further rows with w_i = 0 (or free variables at 0), as many as the rank falls
 * short; a second pass tries all of them.  All this is rounded: with both passes done and nothing
 * accepted, the problem is searched once more in exact arithmetic (exact_lcp.h), which finds a
 * solution or shows that there is none.
 *
 * Works on the equilibrated problem, judges on the given one.  O(2^n n^3), memory O(n^2); n <= 20
 * and at most 2^22 index sets; no circular cones; normal rows need lo >= 0. */
#include "solvers/lcp/exact_lcp.h"
#include "solvers/lcp/lcp_private.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20, MOST_SETS = 1 << 22, COMBINATIONS = 5 };

/* Pivots below this part of the terms that they are a sum of count as zero. */
static const double singular = 1e-11;

struct options {
  int max_iter;
};

static const perp_opt option_table[] = {
  PERP_INT(struct options, max_iter, MOST_SETS, 1, MOST_SETS,
           "Maximum number of index sets. Singular ones may add up to five times as many linear "
           "systems."),
  PERP_OPTIONS_END
};

struct search {
  struct options opt;
  /* the problem, original and equilibrated */
  const perp_lcp *p;
  perp_lcp q;
  double D[N], A[N * N], b[N], lo[N], hi[N], mu[N], a[N];
  int order[N]; /* normals before their friction rows */
  /* current index set and linear system */
  signed char state[N];
  int F[N], nf;            /* free rows */
  double col[N * N], c[N]; /* effect of each x_F on w, and the constant part */
  double lambda[N], w[N];  /* candidate, original units */
  double best[N], best_rel;
  /* progress */
  perp_ctx *ctx; /* NULL: not traced */
  double accept;
  int pass, sets, combinations;
  double work;
  bool complete, stop, excluded;
  perp_lcp_solution_fn *found;
  void *user;
};

static bool enumerate_is_friction(const perp_lcp *lcp, int i)
{
  return lcp->fric_of != NULL && lcp->fric_of[i] >= 0;
}

/* Where row i, no friction row, is at a bound. */
static double enumerate_bound(const struct search *work, int i)
{
  return work->state[i] == PERP_ROW_LO ? work->q.lo[i] : work->q.hi[i];
}

/* ---- linear systems ---- */

/* Solve the m x k system E (row-major, k unknowns and the right-hand side, ld = N + 1) by
 * elimination with complete pivoting, rows brought to one size first; m >= k.  Returns the rank; x
 * is filled when it is k. */
static int enumerate_eliminate(double E[][N + 1], int m, int k, double *x)
{
  int colperm[N], rank = 0;
  double T[2 * N][N]; /* sums of the absolute values of the terms of E */
  for (int j = 0; j < k; j++) colperm[j] = j;
  for (int i = 0; i < m; i++) {
    double top = 0;
    for (int j = 0; j < k; j++) top = fmax(top, fabs(E[i][j]));
    for (int j = 0; j <= k && top > 0; j++) E[i][j] /= top;
    for (int j = 0; j < k; j++) T[i][j] = fabs(E[i][j]);
  }
  for (; rank < k; rank++) {
    int r = -1, c = rank;
    double most = 0;
    for (int i = rank; i < m; i++)
      for (int j = rank; j < k; j++)
        if (fabs(E[i][j]) > most && fabs(E[i][j]) > singular * T[i][j]) {
          most = fabs(E[i][j]);
          r = i;
          c = j;
        }
    if (r < 0) return rank;
    if (r != rank) {
      cblas_dswap(k + 1, E[rank], 1, E[r], 1);
      cblas_dswap(k, T[rank], 1, T[r], 1);
    }
    if (c != rank) {
      cblas_dswap(m, &E[0][rank], N + 1, &E[0][c], N + 1);
      cblas_dswap(m, &T[0][rank], N, &T[0][c], N);
      const int t = colperm[rank];
      colperm[rank] = colperm[c];
      colperm[c] = t;
    }
    for (int i = rank + 1; i < m; i++) {
      double f = E[i][rank] / E[rank][rank];
      if (f == 0) continue;
      for (int j = rank + 1; j <= k; j++) E[i][j] -= f * E[rank][j];
      for (int j = rank + 1; j < k; j++) T[i][j] += fabs(f) * T[rank][j];
    }
  }
  for (int i = k - 1; i >= 0; i--) {
    double sum = E[i][k];
    for (int j = i + 1; j < k; j++) sum -= E[i][j] * x[colperm[j]];
    x[colperm[i]] = sum / E[i][i];
  }
  return k;
}

/* Rows F of the system in x_F, for the current index set. */
static void enumerate_assemble(struct search *work)
{
  const perp_lcp *lcp = &work->q;
  int n = lcp->n, position[N];
  work->nf = 0;
  for (int i = 0; i < n; i++) {
    work->c[i] = lcp->b[i];
    position[i] = -1;
    if (work->state[i] == PERP_ROW_FREE) {
      position[i] = work->nf;
      work->F[work->nf++] = i;
    }
  }
  for (int k = 0; k < work->nf; k++)
    memcpy(work->col + k * n, lcp->A + work->F[k] * n, (size_t)n * sizeof *work->col);
  for (int i = 0; i < n; i++) {
    if (work->state[i] == PERP_ROW_FREE) continue;
    const double *column = lcp->A + i * n;
    double fixed = 0;
    if (enumerate_is_friction(lcp, i)) {
      int j = lcp->fric_of[i];
      double f = work->state[i] * lcp->mu[i];
      if (work->state[j] == PERP_ROW_FREE) {
        for (int r = 0; r < n; r++) work->col[r + position[j] * n] += f * column[r];
        continue;
      }
      fixed = f * enumerate_bound(work, j);
    } else
      fixed = enumerate_bound(work, i);
    if (fixed != 0)
      for (int r = 0; r < n; r++) work->c[r] += fixed * column[r];
  }
}

/* ---- one candidate ---- */

/* work->lambda, judged */
static void enumerate_judge(struct search *work)
{
  int n = work->p->n;
  work->work += n * n;
  perp_lcp_product(work->p, work->lambda, work->w, NULL);
  double rel = perp_lcp_rel(work->p, work->a, work->lambda, work->w);
  if (rel < work->best_rel) {
    work->best_rel = rel;
    memcpy(work->best, work->lambda, (size_t)n * sizeof *work->best);
  }
  if (rel <= work->accept && !work->found(work->user, work->lambda, work->w, work->state))
    work->stop = true;
}

/* x_F -> lambda in original units, judged. */
static void enumerate_weigh(struct search *work, const double *x)
{
  const perp_lcp *lcp = &work->q;
  int n = lcp->n;
  double size = 0;
  for (int k = 0; k < work->nf; k++) size = fmax(size, fabs(x[k]));
  if (!(size <= DBL_MAX)) return;
  for (int k = 0; k < work->nf; k++) { /* clearly outside: not worth a product */
    int i = work->F[k];
    if (enumerate_is_friction(lcp, i)) continue;
    double room = 1e-6 * (size + DBL_MIN);
    if (x[k] < lcp->lo[i] - room || x[k] > lcp->hi[i] + room) return;
  }
  double y[N];
  for (int k = 0; k < work->nf; k++) y[work->F[k]] = x[k];
  for (int k = 0; k < n; k++) { /* the limits of friction rows come after their normals */
    const int i = work->order[k];
    if (work->state[i] == PERP_ROW_FREE) continue;
    y[i] = enumerate_is_friction(lcp, i) ? work->state[i] * lcp->mu[i] * fmax(y[lcp->fric_of[i]], 0)
                                         : enumerate_bound(work, i);
  }
  for (int i = 0; i < n; i++) work->lambda[i] = y[i] * work->D[i];
  enumerate_judge(work);
}

/* w_row = 0 in x_F */
static void enumerate_equation(const struct search *work, int row, double *E)
{
  for (int j = 0; j < work->nf; j++) E[j] = work->col[row + j * work->q.n];
  E[work->nf] = -work->c[row];
}

/* Singular system: add further rows (w_i = 0 of rows at a bound, x_i = 0 of free variables). */
static void enumerate_vertices(struct search *work, int rank)
{
  const perp_lcp *lcp = &work->q;
  int n = lcp->n, missing = work->nf - rank, extra[2 * N], extras = 0, pick[N];
  for (int i = 0; i < n; i++)
    if (work->state[i] != PERP_ROW_FREE) extra[extras++] = i;
  for (int k = 0; k < work->nf; k++)
    if (!enumerate_is_friction(lcp, work->F[k]) && lcp->lo[work->F[k]] == -HUGE_VAL &&
        lcp->hi[work->F[k]] == HUGE_VAL)
      extra[extras++] = n + k;
  if (missing > extras) return;
  for (int k = 0; k < missing; k++) pick[k] = k;
  for (;;) {
    if (++work->combinations > COMBINATIONS * work->opt.max_iter) {
      work->complete = false;
      work->stop = true;
      return;
    }
    double E[2 * N][N + 1], x[N];
    const int m = work->nf + missing;
    work->work += m * work->nf * (double)work->nf;
    for (int k = 0; k < m; k++) {
      const int row = k < work->nf ? work->F[k] : extra[pick[k - work->nf]];
      if (row < n)
        enumerate_equation(work, row, E[k]);
      else
        for (int j = 0; j <= work->nf; j++) E[k][j] = row - n == j;
    }
    if (enumerate_eliminate(E, m, work->nf, x) == work->nf) enumerate_weigh(work, x);
    if (work->stop) return;
    int k = missing - 1; /* next combination */
    while (k >= 0 && pick[k] == extras - missing + k) k--;
    if (k < 0) return;
    for (pick[k]++; k + 1 < missing; k++) pick[k + 1] = pick[k] + 1;
  }
}

static void enumerate_leaf(struct search *work)
{
  double E[N][N + 1], x[N];
  int n = work->q.n;
  if (++work->sets > work->opt.max_iter || perp_lcp_spent(work->p, work->work)) {
    work->complete = false;
    work->stop = true;
    return;
  }
  enumerate_assemble(work);
  work->work += n * work->nf + work->nf * work->nf * (2 * work->nf / 3.0);
  PERP_TRACE(work->ctx, .method = "enumerate", .what = "set", .iteration = work->sets,
             .entering = -1, .leaving = -1, .residual = work->best_rel, .n = n,
             .state = work->state);
  for (int k = 0; k < work->nf; k++) enumerate_equation(work, work->F[k], E[k]);
  int rank = enumerate_eliminate(E, work->nf, work->nf, x);
  if (work->pass == 0 && rank == work->nf) enumerate_weigh(work, x);
  if (work->pass == 1 && rank < work->nf) enumerate_vertices(work, rank);
}

/* Choices of row i, given those of its normal row. */
static int enumerate_choices(const struct search *work, int i, signed char *out)
{
  const perp_lcp *lcp = &work->q;
  int count = 0;
  if (enumerate_is_friction(lcp, i)) {
    int j = lcp->fric_of[i];
    bool closed = work->state[j] == PERP_ROW_LO && lcp->lo[j] == 0; /* no normal, no friction */
    out[count++] = PERP_ROW_LO;
    if (closed || lcp->mu[i] == 0) return count;
    out[count++] = PERP_ROW_FREE;
    out[count++] = PERP_ROW_HI;
    return count;
  }
  if (lcp->lo[i] > -HUGE_VAL) out[count++] = PERP_ROW_LO;
  if (lcp->lo[i] < lcp->hi[i]) out[count++] = PERP_ROW_FREE;
  if (lcp->hi[i] < HUGE_VAL && lcp->lo[i] < lcp->hi[i]) out[count++] = PERP_ROW_HI;
  return count;
}

static void enumerate_descend(struct search *work, int depth)
{
  if (depth == work->q.n) {
    enumerate_leaf(work);
    return;
  }
  signed char options[3];
  int i = work->order[depth], count = enumerate_choices(work, i, options);
  for (int k = 0; k < count && !work->stop; k++) {
    work->state[i] = options[k];
    enumerate_descend(work, depth + 1);
  }
}

/* ---- the whole search ---- */

/* Index sets of a problem that can be enumerated: known before the search starts; HUGE_VAL when it
 * cannot be. */
static double index_sets(const perp_lcp *lcp)
{
  double sets = 1;
  if (lcp->n > N) return HUGE_VAL;
  for (int i = 0; i < lcp->n; i++) {
    double lo, hi, zero[N] = { 0 };
    if (lcp->cone != NULL && lcp->cone[i]) return HUGE_VAL;
    if (enumerate_is_friction(lcp, i)) {
      sets *= 3;
      double floor = lcp->lo != NULL ? lcp->lo[lcp->fric_of[i]] : 0;
      if (floor < 0) return HUGE_VAL;
      continue;
    }
    perp_lcp_bounds(lcp, zero, i, &lo, &hi);
    sets *= (lo > -HUGE_VAL) + (lo < hi) + (hi < HUGE_VAL && lo < hi);
  }
  return sets;
}

/* Both passes, the second only when the first found nothing or `all` is asked; the exact search
 * where both find nothing. */
static void enumerate_run(struct search *work, const perp_lcp *lcp, bool all)
{
  int n = lcp->n, k = 0;
  double scratch[N];
  work->p = lcp;
  work->best_rel = HUGE_VAL;
  work->complete = true;
  work->stop = false;
  work->sets = work->combinations = 0;
  work->work = (double)n * n;
  perp_lcp_equilibration(lcp, work->D, scratch);
  perp_lcp_rescale(lcp, work->D, work->A, work->b, work->lo, work->hi, work->mu, &work->q);
  work->q.lo = work->lo;
  work->q.hi = work->hi;
  perp_lcp_scales(lcp, work->a, NULL);
  for (int friction = 0; friction < 2; friction++)
    for (int i = 0; i < n; i++)
      if (enumerate_is_friction(lcp, i) == (friction == 1)) work->order[k++] = i;
  int limit = work->opt.max_iter;
  for (work->pass = 0; work->pass < 2 && !work->stop; work->pass++) {
    work->sets = 0;
    if (work->pass == 1 && !all && work->best_rel <= work->accept) break;
    enumerate_descend(work, 0);
  }
  if (limit < work->sets) work->sets = limit;
  work->excluded = false;
  if (work->best_rel <= work->accept || !work->complete) return;
  enum perp_exact_answer exact = perp_exact_exclude(lcp, PERP_EXCLUDE_WORK, NULL, work->lambda);
  work->excluded = exact == PERP_EXACT_IMPOSSIBLE;
  if (exact != PERP_EXACT_POSSIBLE) return;
  /* Index set of work->lambda: for those who are told of the solution. */
  for (int i = 0; i < work->p->n; i++) {
    double lo, hi, x = work->lambda[i];
    perp_lcp_bounds(work->p, work->lambda, i, &lo, &hi);
    work->state[i] = (signed char)(x <= lo ? PERP_ROW_LO : x >= hi ? PERP_ROW_HI : PERP_ROW_FREE);
  }
  enumerate_judge(work);
}

/* ---- all solutions ---- */

struct collector {
  int n, count, room;
  double *seen; /* [count n] */
  bool failed;
  perp_lcp_solution_fn *found;
  void *user;
};

static bool enumerate_collect(void *user, const double *lambda, const double *w,
                              const signed char *state)
{
  struct collector *collector = user;
  size_t n = (size_t)collector->n;
  for (int k = 0; k < collector->count; k++) {
    const double *other = collector->seen + (size_t)k * n;
    double apart = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
      apart = fmax(apart, fabs(other[i] - lambda[i]));
      size = fmax(size, fmax(fabs(other[i]), fabs(lambda[i])));
    }
    if (apart <= 1e-9 * size) return true;
  }
  if (collector->count == collector->room) {
    int room = collector->room > 0 ? 2 * collector->room : 16;
    double *more = realloc(collector->seen, (size_t)room * (n > 0 ? n : 1) * sizeof *more);
    if (more == NULL) {
      collector->failed = true;
      return false;
    }
    collector->seen = more;
    collector->room = room;
  }
  memcpy(collector->seen + (size_t)collector->count * n, lambda, n * sizeof *collector->seen);
  collector->count++;
  return collector->found == NULL || collector->found(collector->user, lambda, w, state);
}

perp_status perp_lcp_all_solutions(perp_ctx *ctx, const perp_lcp *lcp, double accept,
                                   perp_lcp_solution_fn *found, void *user, int *count,
                                   bool *complete)
{
  bool finite;
  perp_lcp plain = *lcp;
  *count = 0;
  PERP_TRY(perp_lcp_check(ctx, lcp, &finite));
  if (plain.frozen) {
    plain.fric_of = NULL;
    plain.cone = NULL;
    plain.frozen = false;
  }
  if (!finite)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "enumerate: the problem contains NaN or infinity");
  if (lcp->n > 0 && lcp->A == NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "enumerate needs a dense A");
  if (!(index_sets(&plain) <= MOST_SETS))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "enumerate serves only n <= %d, at most %d index sets, no cones, and normal "
                     "rows with lo >= 0",
                     N, MOST_SETS);
  struct collector collector = { .n = lcp->n, .found = found, .user = user };
  struct search *work = calloc(1, sizeof *work);
  if (work == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "enumerate: no memory for a workspace");
  work->opt.max_iter = MOST_SETS;
  work->accept = accept;
  work->found = enumerate_collect;
  work->user = &collector;
  enumerate_run(work, &plain, true);
  *count = collector.count;
  if (complete != NULL)
    *complete = work->complete && !work->stop && (collector.count > 0 || work->excluded);
  free(collector.seen);
  free(work);
  if (collector.failed)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "enumerate: no memory for %d solutions", collector.count);
  return PERP_OK;
}

/* ---- the plug-in ---- */

static perp_status enumerate_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  (void)max_n; /* small by nature */
  struct search *work = calloc(1, sizeof *work);
  if (work == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "enumerate: no memory for a workspace");
  work->opt = *(const struct options *)opts;
  *ws = work;
  return PERP_OK;
}

/* A candidate well inside the tolerance ends the search; a borderline one waits for a better one.
 */
static bool good_enough(void *user, const double *lambda, const double *w, const signed char *state)
{
  const struct search *work = user;
  (void)lambda, (void)w, (void)state;
  return !(work->best_rel <= 1e-2 * work->accept);
}

static perp_status enumerate_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                   double *certificate, perp_stats *stats)
{
  struct search *work = ws;
  double sets = index_sets(lcp);
  perp_no_certificate(lcp, certificate);
  if (!(sets <= MOST_SETS)) {
    stats->reason = PERP_UNSUITED;
    if (sets < HUGE_VAL)
      PERP_FAIL(ctx, PERP_OK, "enumerate: %d rows have %.3g index sets, more than the limit of %d",
                lcp->n, sets, MOST_SETS);
    else
      PERP_FAIL(ctx, PERP_OK,
                "enumerate serves only n <= %d (got %d), no cones, and normal rows with lo >= 0", N,
                lcp->n);
    return PERP_OK;
  }
  work->accept = lcp->tol > 0 ? lcp->tol : 1e-10;
  work->found = good_enough;
  work->user = work;
  work->ctx = ctx;
  enumerate_run(work, lcp, false);
  stats->iterations = work->sets;
  stats->factorizations = work->sets;
  stats->work = work->work;
  if (work->best_rel < HUGE_VAL) memcpy(lambda, work->best, (size_t)lcp->n * sizeof *lambda);
  stats->reason = work->best_rel <= work->accept ? PERP_EXACT
                  : !work->complete              ? PERP_MAX_ITER
                  : work->excluded               ? PERP_INFEASIBLE
                                                 : PERP_STALLED;
  PERP_TRACE(ctx, .method = "enumerate", .what = "done", .iteration = work->sets, .entering = -1,
             .leaving = -1, .residual = work->best_rel, .n = lcp->n, .x = lambda);
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_enumerate = {
  .d = { .name = "enumerate",
         .summary =
             "Enumeration of all index sets, any A with n <= 20: the reference for small problems",
         .reference = "STAR 4.2 (direct enumeration)",
         .equation = "A_FF x_F = -c_F for every choice of the free rows F",
         PERP_OPTIONS(option_table, struct options),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_NONSYMMETRIC |
                 PERP_LCP_SEMIDEFINITE | PERP_LCP_PIVOTING | PERP_LCP_EXHAUSTIVE },
  .create = enumerate_create,
  .solve = enumerate_solve,
  .destroy = free,
  .serves = "Any A of up to 20 rows and 2^22 index sets. Boxed friction needs normal rows with lo "
            ">= 0; cones are not served. A solution is found if one exists. If none is found, "
            "exact arithmetic repeats the search before infeasibility is reported.",
  .ties = "None: the first solution well within the tolerance, else the best one.",
  .cost = "O(n^3) for each of up to 2^n index sets, 3^n with boxes. Memory: O(n^2) numbers.",
  .counts = "Index sets examined.",
};
