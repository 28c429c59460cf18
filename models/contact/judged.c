/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/judged.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp_contact_count_add(perp_contact_count *into, const perp_contact_count *one)
{
  into->problems += one->problems;
  into->reused += one->reused;
  into->iterations += one->iterations;
  into->retries += one->retries;
  into->failures += one->failures;
  for (int i = 0; i < PERP_REASONS; i++) into->failed[i] += one->failed[i];
  into->lost += one->lost;
  into->swept += one->swept;
  into->fallbacks += one->fallbacks;
  into->rescued += one->rescued;
  into->thrown += one->thrown;
  into->residual = fmax(into->residual, one->residual);
  if (one->rows > into->rows) into->rows = one->rows;
  if (one->contacts > into->contacts) into->contacts = one->contacts;
  if (one->islands > into->islands) into->islands = one->islands;
  into->events |= one->events;
  into->impacts += one->impacts;
  into->plastic += one->plastic;
  into->switches += one->switches;
}

perp_status perp_judged_open(perp_ctx *ctx, const perp_contact_setup *setup, perp_judged *j)
{
  *j = (perp_judged){ .setup = *setup };
  PERP_TRY(perp_spec_copy(ctx, setup->lcp, &j->lcp));
  j->setup.lcp = &j->lcp;
  if (setup->fallback != NULL) {
    PERP_TRY(perp_spec_copy(ctx, setup->fallback, &j->fallback));
    j->setup.fallback = &j->fallback;
  }
  return PERP_OK;
}

void perp_judged_close(perp_judged *j)
{
  for (int i = 0; i < 2; i++) perp_lcp_destroy(j->solver[i]);
  perp_rescue_close(&j->rescue);
  perp_spec_free(&j->lcp);
  perp_spec_free(&j->fallback);
  perp_arena_free(&j->arena);
}

perp_status perp_judged_new(perp_ctx *ctx, const perp_contact_setup *setup, const char *name,
                            void **ws)
{
  *ws = NULL;
  perp_judged *j = calloc(1, sizeof *j);
  if (j == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory", name);
  perp_status status = perp_judged_open(ctx, setup, j);
  if (status != PERP_OK) {
    perp_judged_free(j);
    return status;
  }
  *ws = j;
  return PERP_OK;
}

void perp_judged_free(void *ws)
{
  if (ws == NULL) return;
  perp_judged_close(ws);
  free(ws);
}

void perp_judged_observe(void *ws, perp_contact_observer *observer, void *user)
{
  perp_judged *j = ws;
  j->observer = observer;
  j->user = user;
}

static void layout(perp_judged *j, perp_arena *a)
{
  size_t n = (size_t)j->cap_n;
  j->guess = PERP_CARVE(a, double, n);
  j->best = PERP_CARVE(a, double, n);
  j->w = PERP_CARVE(a, double, n);
  j->w0 = PERP_CARVE(a, double, n);
  j->none = PERP_CARVE(a, double, n);
  j->a = PERP_CARVE(a, double, n);
  j->lo = PERP_CARVE(a, double, n);
  j->hi = PERP_CARVE(a, double, n);
  j->mu = PERP_CARVE(a, double, n);
  j->lambda = PERP_CARVE(a, double, n);
  j->fric_of = PERP_CARVE(a, int, n);
  j->cone = PERP_CARVE(a, signed char, n);
  j->scratch = PERP_CARVE(a, double, 2 * (size_t)j->cap_nv);
}

static int grown(int have, int need)
{
  return need <= have ? have : need + need / 4;
}

perp_status perp_judged_reserve(perp_ctx *ctx, perp_judged *j, int n, int nv)
{
  if (n <= j->cap_n && nv <= j->cap_nv) return PERP_OK;
  int cap_n = grown(j->cap_n, n), cap_nv = grown(j->cap_nv, nv);
  perp_arena_free(&j->arena);
  j->arena = (perp_arena){ 0 };
  j->cap_n = cap_n;
  j->cap_nv = cap_nv;
  layout(j, &j->arena);
  perp_status status = perp_arena_reserve(ctx, &j->arena);
  if (status != PERP_OK) {
    j->cap_n = j->cap_nv = 0;
    return status;
  }
  layout(j, &j->arena);
  return PERP_OK;
}

/* the k-th solver, for n rows and nv columns */
static perp_status solver_for(perp_ctx *ctx, perp_judged *j, int k, int n, int nv)
{
  if (j->solver[k] != NULL && n <= j->max_n[k] && nv <= j->max_nv[k]) return PERP_OK;
  int max_n = grown(j->max_n[k], n), max_nv = grown(j->max_nv[k], nv);
  perp_lcp_destroy(j->solver[k]);
  j->solver[k] = NULL;
  j->max_n[k] = j->max_nv[k] = 0;
  PERP_TRY(perp_lcp_create(ctx, k == 0 ? &j->lcp : &j->fallback, max_n, max_nv, &j->solver[k]));
  j->max_n[k] = max_n;
  j->max_nv[k] = max_nv;
  return PERP_OK;
}

/* max_i a_i |natural map|_i, m/s; *energy: sum_i a_i |natural map|_i^2 / 2, J, what it would take to mend each row
 * if there were no others */
static double in_velocities(const perp_lcp *p, const double *a, const double *lambda,
                            const double *w, double *energy)
{
  double most = 0, sum = 0;
  for (int i = 0; i < p->n; i++) {
    double lo, hi, s = a[i], r;
    perp_lcp_bounds(p, lambda, i, &lo, &hi);
    if (p->cone != NULL && p->cone[i]) {
      s = fmax(s, a[i + 1]);
      double x = lambda[i] - w[i] / s, y = lambda[i + 1] - w[i + 1] / s;
      double length = hypot(x, y), scale = length > hi ? hi / length : 1;
      r = hypot(lambda[i] - scale * x, lambda[i + 1] - scale * y);
      i++;
    } else {
      double x = lambda[i] - w[i] / s;
      r = fabs(lambda[i] - fmin(fmax(x, lo), hi));
    }
    most = fmax(most, s * r);
    sum += 0.5 * s * r * r;
  }
  *energy = sum;
  return most;
}

static double largest_of(int n, const double *x)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* max_i a_i |natural map|_i over the largest |b_i| */
static double relative_velocity(const perp_lcp *p, const double *a, const double *lambda,
                                const double *w)
{
  double energy, most = in_velocities(p, a, lambda, w, &energy);
  return most > 0 ? most / fmax(largest_of(p->n, p->b), DBL_MIN) : most;
}

double perp_judged_rating(const perp_lcp *p, const double *a, const double *lambda, const double *w)
{
  return fmax(perp_lcp_rel(p, a, lambda, w), PERP_USABLE * relative_velocity(p, a, lambda, w));
}

double perp_judged_gain(const perp_lcp *p, const double *a, double mass, const double *lambda,
                        const double *w, double *none, double *w0, double *scratch)
{
  bool any = false;
  double alone, together, change = 0, work = 0, excess = 0;
  for (int i = 0; i < p->n; i++) {
    bool friction = p->fric_of != NULL && p->fric_of[i] >= 0 && !p->frozen;
    double lo = p->lo != NULL ? p->lo[i] : 0, hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
    none[i] = friction ? 0 : fmin(fmax(0, lo), hi);
    any |= none[i] != 0;
  }
  if (any)
    perp_lcp_product(p, none, w0, scratch);
  else
    memcpy(w0, p->b, (size_t)p->n * sizeof *w0);
  in_velocities(p, a, none, w0, &alone);
  for (int i = 0; i < p->n; i++) {
    change = fmax(change, fabs(w[i] - w0[i]));
    work += 0.5 * (lambda[i] - none[i]) * (w[i] - w0[i]);
    excess += fmax((lambda[i] - none[i]) * w[i], 0);
  }
  if (change == 0) return 0;
  if (!isfinite(work)) return HUGE_VAL;
  const double speed = fmax(largest_of(p->n, w0), DBL_MIN);
  together = 0.5 * mass * speed * speed;
  return fmax(change / speed,
              sqrt(fmax(fabs(work), excess) / fmax(fmax(alone, together), DBL_MIN)));
}

bool perp_judged_reuse(const perp_lcp *p, double accept, const double *a, const double *lambda,
                       const double *w, double *rel, perp_contact_count *count)
{
  *rel = perp_lcp_rel(p, a, lambda, w);
  if (p->n > count->rows) count->rows = p->n;
  if (!(accept > 0) || !(*rel <= accept) || !(relative_velocity(p, a, lambda, w) <= 10 * accept))
    return false;
  count->reused++;
  count->residual = fmax(count->residual, *rel);
  return true;
}

bool perp_judged_good(perp_judged *j, const perp_lcp *p, const perp_contact_island *island,
                      const double *lambda, double *rel, perp_contact_count *count)
{
  double largest = 0;
  perp_lcp_product(p, lambda, j->w, j->scratch);
  j->mass = island->mass;
  for (int i = 0; i < p->n; i++) largest = fmax(largest, island->diag[i]);
  for (int i = 0; i < p->n; i++)
    j->a[i] = island->diag[i] > 0 ? island->diag[i] : largest > 0 ? largest : 1;
  return perp_judged_reuse(p, island->reuse, j->a, lambda, j->w, rel, count);
}

static double gain_of(perp_judged *j, const perp_lcp *p, const double *lambda)
{
  if (j->gain != NULL) return j->gain(j, p, lambda);
  perp_lcp_product(p, lambda, j->w, j->scratch);
  return perp_judged_gain(p, j->a, j->mass, lambda, j->w, j->none, j->w0, j->scratch);
}

bool perp_judged_better(perp_candidate now, perp_candidate best)
{
  const double a = now.gain > PERP_THROWN ? now.gain : PERP_THROWN;
  const double b = best.gain > PERP_THROWN ? best.gain : PERP_THROWN;
  return a != b ? a < b : now.rating < best.rating;
}

/* lambda becomes the better one of lambda and what was best before; does the gain decide? */
static bool keep_best(perp_judged *j, const perp_lcp *p, double rel, perp_candidate *best,
                      double *lambda)
{
  const size_t size = (size_t)p->n * sizeof *lambda;
  const perp_candidate now = { rel, gain_of(j, p, lambda) };
  if (best->gain < 0) best->gain = gain_of(j, p, j->best);
  const bool closer = now.rating < best->rating, better = perp_judged_better(now, *best);
  if (better) {
    *best = now;
    memcpy(j->best, lambda, size);
  } else {
    memcpy(lambda, j->best, size);
  }
  return better != closer;
}

bool perp_judged_useful(perp_candidate x, double enough)
{
  return x.rating <= enough && x.gain <= PERP_THROWN;
}

static bool all_zero(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (x[i] != 0) return false;
  return true;
}

/* Impulses of an impact tell nothing about the step after it, and may be larger than its data by all digits: a
 * guess further from the answer than no impulses at all becomes those. */
static double drop_bad_guess(perp_judged *j, const perp_lcp *p, double rel, double *lambda)
{
  for (int i = 0; i < p->n; i++)
    if ((p->lo != NULL && p->lo[i] > 0) || (p->hi != NULL && p->hi[i] < 0))
      return rel; /* zero is outside the bounds */
  memset(j->w, 0, (size_t)p->n * sizeof *j->w);
  double zero = perp_lcp_rel(p, j->a, j->w, p->b);
  if (!(rel > 2 * zero)) return rel;
  memset(lambda, 0, (size_t)p->n * sizeof *lambda);
  return zero;
}

/* Iterative methods are asked for a tenth of the tolerance.  What leaves exactly the tolerance behind is no guess to be
 * used again (islands.h), and the next step solves the same problem once more, from one side always: a stack of 20
 * boxes creeps ten times as far and takes more sweeps.  What ends between the two is a solution nevertheless.
 *
 * The residual is measured against the largest impulse.  Where contacts that almost contradict each other make that
 * one huge, velocities are its rounding: what leaves a row further from its condition than the largest |b|, with
 * which the problem began, is no solution for the bodies. */
static perp_status solve_once(perp_ctx *ctx, perp_judged *j, int k, const perp_lcp *p,
                              double *lambda, perp_stats *stats)
{
  const unsigned improves = PERP_LCP_ITERATIVE | PERP_LCP_WARM;
  const perp_desc *d = k == 0 ? j->lcp.d : j->fallback.d;
  const double tol = j->setup.tol;
  bool further = (d->caps & improves) == improves;
  PERP_TRY(
      perp_lcp_solve(ctx, j->solver[k], p, further ? 0.1 * tol : tol, lambda, j->w, NULL, stats));
  if (j->settle != NULL) {
    stats->residual = j->settle(j, p, lambda);
    if (stats->reason > 0 && !(stats->residual <= tol)) stats->reason = PERP_INACCURATE;
  }
  if (stats->residual <= tol) stats->reason = PERP_CONVERGED;
  if (stats->reason > 0 && !(relative_velocity(p, j->a, lambda, j->w) <= 1))
    stats->reason = PERP_INACCURATE;
  return PERP_OK;
}

perp_status perp_judged_attempt(perp_ctx *ctx, perp_judged *j, const perp_lcp *p, double rel,
                                double *lambda, perp_stats *stats, perp_contact_count *count)
{
  const int n = p->n, nv = p->F != NULL ? p->F->nv : 0;
  size_t size = (size_t)n * sizeof *lambda;
  rel = drop_bad_guess(j, p, rel, lambda);
  perp_candidate best = { isfinite(rel) ? rel : HUGE_VAL, -1 };
  bool thrown = false;
  *stats = (perp_stats){ .reason = PERP_UNSUITED, .residual = rel };
  memcpy(j->guess, lambda, size);
  memcpy(j->best, lambda, size);
  count->problems++;
  for (int k = 0; k < 2; k++) {
    if (k == 1 && j->setup.fallback == NULL) break;
    const perp_desc *d = k == 0 ? j->lcp.d : j->fallback.d;
    bool dense = p->F == NULL || !(d->caps & PERP_LCP_FACTORED);
    if (k == 1) {
      count->fallbacks++;
      memcpy(lambda, j->guess, size);
    }
    if (!dense || n <= PERP_DENSE_ROWS) {
      PERP_TRY(solver_for(ctx, j, k, n, nv));
      PERP_TRY(solve_once(ctx, j, k, p, lambda, stats));
    }
    count->iterations += stats->iterations;
    /* a basis taken from the guess may lead a pivoting method astray */
    const unsigned guided = PERP_LCP_PIVOTING | PERP_LCP_WARM;
    if (stats->reason < 0 && stats->reason != PERP_UNSUITED && (d->caps & guided) == guided &&
        !all_zero(n, j->guess)) {
      thrown |= keep_best(j, p, stats->residual, &best, lambda);
      memset(lambda, 0, size);
      count->retries++;
      PERP_TRY(solve_once(ctx, j, k, p, lambda, stats));
      count->iterations += stats->iterations;
    }
    if (stats->reason == PERP_SWEEPS_DONE) count->swept++;
    if (stats->reason > 0 || stats->reason == PERP_SWEEPS_DONE) return PERP_OK;
    if (k == 0) {
      count->failures++;
      int reason = -(int)stats->reason;
      count->failed[reason >= 0 && reason < PERP_REASONS ? reason : 0]++;
    }
    thrown |= keep_best(j, p, stats->residual, &best, lambda);
  }
  stats->residual = best.rating;
  perp_lcp_product(p, lambda, j->w, j->scratch);
  best.rating = perp_judged_rating(p, j->a, lambda, j->w);
  j->left = best;
  count->thrown += thrown || best.gain > PERP_THROWN;
  count->lost += stats->reason == PERP_UNSUITED || !perp_judged_useful(best, PERP_USABLE);
  return PERP_OK;
}

void perp_judged_used(perp_judged *j, const perp_lcp *p, const double *lambda,
                      const perp_stats *stats, perp_contact_count *count)
{
  if (stats->residual < HUGE_VAL) count->residual = fmax(count->residual, stats->residual);
  if (j->observer != NULL) j->observer(j->user, p, lambda, stats);
}

bool perp_judged_unusable(const perp_judged *j, const perp_stats *stats)
{
  /* a solver that refused the problem leaves the guess */
  double enough = stats->reason == PERP_UNSUITED ? j->setup.tol : PERP_USABLE;
  return j->setup.rescue && stats->reason < 0 && stats->reason != PERP_SWEEPS_DONE &&
         (!perp_judged_useful(j->left, enough) || !(stats->residual <= enough));
}

perp_status perp_judged_solve(perp_ctx *ctx, perp_judged *j, const perp_lcp *p, double rel,
                              double *lambda, perp_contact_count *count)
{
  perp_stats stats;
  PERP_TRY(perp_judged_attempt(ctx, j, p, rel, lambda, &stats, count));
  if (perp_judged_unusable(j, &stats))
    PERP_TRY(perp_judged_rescue(ctx, j, p, j->a, lambda, &stats.residual, count));
  perp_judged_used(j, p, lambda, &stats, count);
  return PERP_OK;
}
