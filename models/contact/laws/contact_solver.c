/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/laws/contact_solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void solved_by(perp_contact_count *count, const char *name, int64_t n)
{
  int i = 0;
  while (i < PERP_SOLVED_BY - 1 && count->by[i].name[0] != '\0' &&
         strncmp(count->by[i].name, name, PERP_SOLVED_BY_NAME - 1) != 0)
    i++;
  if (i == PERP_SOLVED_BY - 1) name = "others";
  if (count->by[i].name[0] == '\0') { /* in every step anew: no snprintf here */
    const size_t length = strnlen(name, PERP_SOLVED_BY_NAME - 1);
    memcpy(count->by[i].name, name, length);
    count->by[i].name[length] = '\0';
  }
  count->by[i].n += n;
}

void perp_contact_count_solve(perp_contact_count *count, const char *named, const perp_stats *stats)
{
  const int reason = -(int)stats->reason;
  count->problems++;
  count->iterations += stats->iterations;
  count->work += stats->work;
  if (stats->residual < HUGE_VAL) count->residual = fmax(count->residual, stats->residual);
  if (stats->data < HUGE_VAL) count->data = fmax(count->data, stats->data);
  if (stats->reason > 0) {
    count->solved++;
    solved_by(count, stats->by != NULL ? stats->by : named, 1);
  } else if (stats->reason == PERP_SWEEPS_DONE) {
    count->swept++;
  } else {
    count->failures++;
    count->failed[reason >= 0 && reason < PERP_REASONS ? reason : 0]++;
  }
}

void perp_contact_count_add(perp_contact_count *into, const perp_contact_count *one)
{
  into->problems += one->problems;
  into->reused += one->reused;
  into->solved += one->solved;
  for (int i = 0; i < PERP_SOLVED_BY && one->by[i].name[0] != '\0'; i++)
    solved_by(into, one->by[i].name, one->by[i].n);
  into->iterations += one->iterations;
  into->work += one->work;
  into->again += one->again;
  into->failures += one->failures;
  for (int i = 0; i < PERP_REASONS; i++) into->failed[i] += one->failed[i];
  if (into->unsuited[0] == '\0') memcpy(into->unsuited, one->unsuited, sizeof into->unsuited);
  into->swept += one->swept;
  into->thrown += one->thrown;
  into->residual = fmax(into->residual, one->residual);
  into->data = fmax(into->data, one->data);
  into->coulomb.measured |= one->coulomb.measured;
  into->coulomb.violation = fmax(into->coulomb.violation, one->coulomb.violation);
  into->coulomb.beyond = fmax(into->coulomb.beyond, one->coulomb.beyond);
  into->coulomb.missing = fmax(into->coulomb.missing, one->coulomb.missing);
  into->coulomb.angle = fmax(into->coulomb.angle, one->coulomb.angle);
  if (one->rows > into->rows) into->rows = one->rows;
  if (one->contacts > into->contacts) into->contacts = one->contacts;
  if (one->islands > into->islands) into->islands = one->islands;
  into->events |= one->events;
  into->impacts += one->impacts;
  into->plastic += one->plastic;
  into->switches += one->switches;
  into->piled += one->piled;
  into->critical += one->critical;
  into->stopped += one->stopped;
  into->refuted += one->refuted;
  into->examined += one->examined;
  into->open += one->open;
  into->several += one->several;
  into->chosen += one->chosen;
  into->unexamined += one->unexamined;
  into->undecided += one->undecided;
}

void perp_contact_count_refute(perp_contact_count *count, const perp_contact_count *before)
{
  const perp_contact_count after = *count;
  *count = *before;
  count->problems = after.problems;
  count->refuted += after.problems - before->problems;
  count->iterations = after.iterations;
  count->work = after.work;
  count->rows = after.rows;
  count->contacts = after.contacts;
  count->islands = after.islands;
}

int64_t perp_contact_count_none(const perp_contact_count *count)
{
  return count->failed[-PERP_INFEASIBLE] + count->failed[-PERP_NONE_WITHIN];
}

/* What leaves exactly the tolerance behind is no guess to be used again (islands.h), and the next
 * step solves the same problem once more, from one side always: a stack of 20 boxes drifts ten
 * times as far and takes more sweeps.  So methods that come to a solution little by little are
 * asked for this part of both tolerances. */
static const double PART = 0.1;

perp_status perp_contact_solver_open(perp_ctx *ctx, const perp_contact_setup *setup,
                                     perp_contact_solver *j)
{
  *j = (perp_contact_solver){ .setup = *setup };
  PERP_TRY(perp_spec_copy(ctx, setup->lcp, &j->lcp));
  j->setup.lcp = &j->lcp;
  if (!(setup->part > 0)) j->setup.part = PART;
  return PERP_OK;
}

void perp_contact_solver_close(perp_contact_solver *j)
{
  perp_lcp_destroy(j->solver);
  perp_spec_free(&j->lcp);
  perp_arena_free(&j->arena);
}

perp_status perp_contact_solver_new(perp_ctx *ctx, const perp_contact_setup *setup,
                                    const char *name, size_t size, void **ws)
{
  *ws = NULL;
  perp_contact_solver *j = calloc(1, size);
  if (j == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory", name);
  perp_status status = perp_contact_solver_open(ctx, setup, j);
  if (status != PERP_OK) {
    perp_contact_solver_free(j);
    return status;
  }
  *ws = j;
  return PERP_OK;
}

void perp_contact_solver_free(void *ws)
{
  if (ws == NULL) return;
  perp_contact_solver_close(ws);
  free(ws);
}

void perp_contact_solver_observe(void *ws, perp_contact_observer *observer, void *user)
{
  perp_contact_solver *j = ws;
  j->observer = observer;
  j->user = user;
}

static void contact_solver_layout(void *ws, perp_arena *a)
{
  perp_contact_solver *j = ws;
  size_t n = (size_t)j->cap_n;
  PERP_DOUBLES(a, n, &j->best, &j->first, &j->w, &j->w0, &j->none, &j->a, &j->unit, &j->lo, &j->hi,
               &j->mu, &j->lambda);
  PERP_INTS(a, n, &j->fric_of, &j->contact_of);
  j->cone = PERP_CARVE(a, signed char, n);
  j->scratch = PERP_CARVE(a, double, PERP_LCP_SCRATCH(n, j->cap_nv));
}

static int contact_solver_grown(int have, int need)
{
  return need <= have ? have : need + need / 4;
}

perp_status perp_contact_solver_reserve(perp_ctx *ctx, perp_contact_solver *j, int n, int nv)
{
  if (n <= j->cap_n && nv <= j->cap_nv) return PERP_OK;
  int cap_n = contact_solver_grown(j->cap_n, n), cap_nv = contact_solver_grown(j->cap_nv, nv);
  j->cap_n = cap_n;
  j->cap_nv = cap_nv;
  perp_status status = perp_arena_layout(ctx, &j->arena, contact_solver_layout, j);
  if (status != PERP_OK) {
    j->cap_n = j->cap_nv = 0;
    return status;
  }
  return PERP_OK;
}

perp_status perp_contact_solver_square(perp_ctx *ctx, double **A, size_t *cap, int n)
{
  const size_t need = (size_t)n * (size_t)n;
  if (need <= *cap) return PERP_OK;
  free(*A);
  *cap = 0;
  *A = malloc((need + need / 4) * sizeof **A);
  if (*A == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contact rows", n);
  *cap = need + need / 4;
  return PERP_OK;
}

typedef struct rows_job {
  perp_contact_solver *j;
  const perp_contact_island *island;
  int r;
} rows_job;

/* The rows of a share of the contacts. */
static void contact_solver_share(void *user, int member, int members)
{
  const rows_job *job = user;
  const perp_contact_solver *j = job->j;
  const perp_contact_island *island = job->island;
  const int r = job->r, end = perp_share(island->nc, member + 1, members);
  for (int c = perp_share(island->nc, member, members); c < end; c++)
    for (int k = 0; k < r; k++) {
      int i = r * c + k;
      j->lo[i] = k == 0 && island->lo != NULL ? island->lo[c] : 0;
      j->hi[i] = k == 0 ? HUGE_VAL : 0;
      j->fric_of[i] = k == 0 ? -1 : r * c;
      j->mu[i] = k == 0 ? 0 : island->mu[c];
    }
}

perp_status perp_contact_solver_rows(perp_ctx *ctx, perp_contact_solver *j,
                                     const perp_contact_island *island, int r, perp_lcp *p)
{
  const int contacts = r * island->nc, n = contacts + island->joints;
  const bool pure = r == 1 && island->joints == 0 && island->lo == NULL;
  PERP_TRY(perp_contact_solver_reserve(ctx, j, n, island->F != NULL ? island->F->nv : 0));
  *p = (perp_lcp){ .n = n,
                   .A = island->A,
                   .lda = island->lda,
                   .F = island->F,
                   .b = island->b,
                   .lo = pure ? NULL : j->lo,
                   .hi = pure ? NULL : j->hi,
                   .fric_of = r > 1 ? j->fric_of : NULL,
                   .mu = r > 1 ? j->mu : NULL,
                   .tol_data = j->setup.tol_data };
  if (pure) return PERP_OK;
  rows_job job = { j, island, r };
  perp_team(island->F != NULL ? island->F->threads : 1, contact_solver_share, &job);
  for (int i = contacts; i < n; i++) {
    const int row = i - contacts, of = island->row_of != NULL ? island->row_of[row] : -1;
    perp_contact_row_bounds(island, row, &j->lo[i], &j->hi[i]);
    j->fric_of[i] = of >= 0 ? r * of : -1;
    j->mu[i] = of >= 0 ? island->row_mu[row] : 0;
  }
  return PERP_OK;
}

/* for n rows and nv columns */
static perp_status solver_for(perp_ctx *ctx, perp_contact_solver *j, int n, int nv)
{
  if (j->solver != NULL && n <= j->max_n && nv <= j->max_nv) return PERP_OK;
  int max_n = contact_solver_grown(j->max_n, n), max_nv = contact_solver_grown(j->max_nv, nv);
  perp_lcp_destroy(j->solver);
  j->solver = NULL;
  j->max_n = j->max_nv = 0;
  PERP_TRY(perp_lcp_create(ctx, &j->lcp, max_n, max_nv, &j->solver));
  j->max_n = max_n;
  j->max_nv = max_nv;
  return PERP_OK;
}

bool perp_contact_solver_reuse(perp_contact_solver *j, const perp_lcp *p, double accept,
                               const double *a, const double *lambda, const double *w, double *rel,
                               perp_contact_count *count)
{
  double data;
  perp_lcp_rate(p, a, lambda, w, rel, &data);
  if (p->n > count->rows) count->rows = p->n;
  if (!(accept > 0) || !(*rel <= accept) || !(data <= 10 * accept) ||
      (j->setup.tol_data > 0 && !(data <= j->setup.tol_data)))
    return false;
  count->reused++;
  count->residual = fmax(count->residual, *rel);
  count->data = fmax(count->data, data);
  return true;
}

bool perp_contact_solver_good(perp_contact_solver *j, const perp_lcp *p,
                              const perp_contact_island *island, const double *lambda, double *rel,
                              perp_contact_count *count)
{
  double largest = 0;
  perp_lcp_product(p, lambda, j->w, j->scratch);
  j->mass = island->mass;
  for (int i = 0; i < p->n; i++) largest = fmax(largest, island->diag[i]);
  for (int i = 0; i < p->n; i++)
    j->a[i] = island->diag[i] > 0 ? island->diag[i] : largest > 0 ? largest : 1;
  return perp_contact_solver_reuse(j, p, island->reuse, j->a, lambda, j->w, rel, count);
}

static double gain_of(perp_contact_solver *j, const perp_lcp *p, const double *lambda)
{
  if (j->gain != NULL) return j->gain(j, p, lambda);
  perp_lcp_product(p, lambda, j->w, j->scratch);
  return perp_lcp_gain(p, j->a, j->mass, lambda, j->w, j->none, j->w0, j->scratch);
}

/* lambda becomes the better one of lambda and what was best before; does the gain decide? */
static bool keep_best(perp_contact_solver *j, const perp_lcp *p, double rel,
                      perp_lcp_candidate *best, double *lambda)
{
  const size_t size = (size_t)p->n * sizeof *lambda;
  const perp_lcp_candidate now = { rel, gain_of(j, p, lambda) };
  if (best->gain < 0) best->gain = gain_of(j, p, j->best);
  const bool closer = now.rating < best->rating, better = perp_lcp_better(now, *best, PERP_THROWN);
  if (better) {
    *best = now;
    memcpy(j->best, lambda, size);
  } else {
    memcpy(lambda, j->best, size);
  }
  return better != closer;
}

/* Sweeps lower q = 1/2 lambda' A lambda + b' lambda, which without gaps and feedback is the kinetic
 * energy that impulses give: from a guess with q > 0 they leave motion that nothing has made.  So
 * they start from its least q on the way from none,
 *
 *      t lambda,   t = -b' lambda / lambda' A lambda, within [0, 1]
 *
 * which of a solution is t = 1.  Few sweeps need it: a pyramid of 210 boxes drifts a third as far,
 * and a stack of 50 stands, whose guess is no worse for a contact that has opened.  j->w in and
 * out: w of lambda.  Does lambda become shorter?  Its rating is then another one. */
static bool contact_solver_shorten(perp_contact_solver *j, const perp_lcp *p, double *lambda)
{
  double gives = 0, takes = 0;
  for (int i = 0; i < p->n; i++) {
    gives -= lambda[i] * p->b[i];
    takes += lambda[i] * (j->w[i] - p->b[i]);
  }
  if (!(takes > gives)) return false;
  const double t = fmax(0, gives / takes);
  for (int i = 0; i < p->n; i++) {
    lambda[i] *= t;
    j->w[i] = p->b[i] + t * (j->w[i] - p->b[i]);
  }
  return true;
}

/* Impulses of an impact tell nothing about the step after it, and may be larger than its data by
 * all digits: a guess further from the answer than no impulses at all becomes those.  Returns the
 * rating of the guess, NaN: that is for perp_lcp_rel to say, only a failure asks for it. */
static double drop_bad_guess(perp_contact_solver *j, const perp_lcp *p, double rel, double *lambda)
{
  for (int i = 0; i < p->n; i++)
    if ((p->lo != NULL && p->lo[i] > 0) || (p->hi != NULL && p->hi[i] < 0)) return rel;
  if (j->lcp.d->caps & (PERP_LCP_BY_ROWS | PERP_LCP_CONE_BLOCKS))
    return contact_solver_shorten(j, p, lambda) ? (double)NAN : rel;
  memset(j->w, 0, (size_t)p->n * sizeof *j->w);
  double zero = perp_lcp_rel(p, j->a, j->w, p->b);
  if (!(rel > 2 * zero)) return rel;
  memset(lambda, 0, (size_t)p->n * sizeof *lambda);
  return zero;
}

static bool contact_solver_within(const perp_contact_solver *j, const perp_stats *stats,
                                  double part)
{
  return stats->residual <= part * j->setup.tol &&
         (!(j->setup.tol_data > 0) || stats->data <= part * j->setup.tol_data);
}

/* The one place where a problem is asked again, and counted so: never after a failure, which is
 * one.  What chooses has an answer to both tolerances; with as much work again a closer one, or the
 * same. */
static perp_status contact_solver_again(perp_ctx *ctx, perp_contact_solver *j, const perp_lcp *p,
                                        double *lambda, perp_stats *stats,
                                        perp_contact_count *count)
{
  const size_t size = (size_t)p->n * sizeof *lambda;
  perp_stats more;
  perp_lcp q = *p;
  q.tol_data = j->setup.part * j->setup.tol_data;
  q.work = q.work > 0 ? fmin(stats->work, q.work - stats->work) : stats->work;
  if (!(q.work > 0)) return PERP_OK;
  count->again++;
  memcpy(j->first, lambda, size);
  PERP_TRY(
      perp_lcp_solve(ctx, j->solver, &q, j->setup.part * j->setup.tol, lambda, j->w, NULL, &more));
  more.work += stats->work;
  more.iterations += stats->iterations;
  if (more.reason > 0) {
    *stats = more;
  } else {
    memcpy(lambda, j->first, size);
    stats->work = more.work;
    stats->iterations = more.iterations;
  }
  return PERP_OK;
}

/* Is it a solver that goes from method to method (auto)? */
static bool contact_solver_chooses(const perp_contact_solver *j)
{
  const unsigned caps = j->lcp.d->caps;
  return caps & PERP_LCP_EXHAUSTIVE && caps & PERP_LCP_WARM;
}

/* p->work: what it may cost. */
static perp_status contact_solver_solve_once(perp_ctx *ctx, perp_contact_solver *j,
                                             const perp_lcp *p, double *lambda, perp_stats *stats,
                                             perp_contact_count *count)
{
  const unsigned caps = j->lcp.d->caps;
  const bool iterates = caps & PERP_LCP_ITERATIVE && caps & PERP_LCP_WARM;
  const double tol = j->setup.tol, part = iterates || j->setup.part < PART ? j->setup.part : 1;
  perp_lcp q = *p;
  q.tol_data = part * j->setup.tol_data;
  q.brief = true;
  PERP_TRY(perp_lcp_solve(ctx, j->solver, &q, part * tol, lambda, j->w, NULL, stats));
  if (contact_solver_chooses(j) && stats->reason > 0 &&
      !contact_solver_within(j, stats, j->setup.part))
    PERP_TRY(contact_solver_again(ctx, j, &q, lambda, stats, count));
  if (j->settle != NULL)
    j->settle(j, p, lambda);
  else if (stats->reason > 0 || part == 1 || !contact_solver_within(j, stats, 1))
    return PERP_OK;
  perp_lcp_judgement judgement;
  perp_lcp_judge(&q, lambda, j->w, j->scratch, &judgement);
  stats->residual = judgement.rel;
  stats->data = judgement.data;
  q.tol_data = p->tol_data;
  const perp_reason verdict = perp_lcp_verdict(&q, tol, &judgement);
  if (stats->reason > 0 || verdict == PERP_CONVERGED) stats->reason = verdict;
  return PERP_OK;
}

void perp_contact_solver_refused(const perp_stats *stats, perp_contact_count *count)
{
  perp_stats refused = *stats;
  refused.reason = PERP_UNSUITED;
  perp_contact_count_solve(count, "", &refused);
}

/* What a problem of a step may cost.  A solver that goes from method to method as long as it may
 * gets so many products with A, and more of them where A has more rows, as a factorization is worth
 * n / 6.  In the scenes of perp what is solved takes an eighth of that at most; what has no
 * solution takes all.  Others end by their own rules. */
static const double STEP_PRODUCTS = 5000, STEP_PRODUCTS_A_ROW = 120;

static double contact_solver_budget(const perp_contact_solver *j, const perp_lcp *p)
{
  const double products = STEP_PRODUCTS + STEP_PRODUCTS_A_ROW * p->n, budget = j->setup.budget;
  const double whole = perp_lcp_afford(p, budget);
  return contact_solver_chooses(j) ? fmin(whole, budget * products * perp_lcp_product_work(p))
                                   : whole;
}

static perp_status contact_solver_attempt(perp_ctx *ctx, perp_contact_solver *j, const perp_lcp *p,
                                          double rel, double spare, double *lambda,
                                          perp_stats *stats, perp_contact_count *count)
{
  const int n = p->n, nv = p->F != NULL ? p->F->nv : 0;
  const size_t size = (size_t)n * sizeof *lambda;
  const unsigned caps = j->lcp.d->caps;
  const bool dense = p->F == NULL || !(caps & PERP_LCP_FACTORED);
  perp_lcp q = *p;
  q.work = (1 - spare) * contact_solver_budget(j, p);
  q.brief = q.brief || spare > 0; /* what is claimed of the same contacts has been looked into */
  bool thrown = false;
  rel = drop_bad_guess(j, p, rel, lambda);
  const bool unrated = isnan(rel);
  if (unrated) memcpy(j->first, j->w, size);
  *stats = (perp_stats){ .reason = PERP_UNSUITED };
  memcpy(j->best, lambda, size);
  if (!dense || n <= PERP_DENSE_ROWS) {
    PERP_TRY(solver_for(ctx, j, n, nv));
    PERP_TRY(contact_solver_solve_once(ctx, j, &q, lambda, stats, count));
  }
  if (stats->reason > 0 || stats->reason == PERP_SWEEPS_DONE) return PERP_OK;
  if (unrated) rel = perp_lcp_rel(p, j->a, j->best, j->first);
  perp_lcp_candidate best = { isfinite(rel) ? rel : HUGE_VAL, -1 };
  if (caps & PERP_LCP_CHOOSES)
    best.gain = gain_of(j, p, lambda);
  else
    thrown = keep_best(j, p, stats->residual, &best, lambda);
  perp_lcp_product(p, lambda, j->w, j->scratch);
  perp_lcp_rate(p, j->a, lambda, j->w, &stats->residual, &stats->data);
  count->thrown += thrown || best.gain > PERP_THROWN;
  return PERP_OK;
}

perp_status perp_contact_solver_solve(perp_ctx *ctx, perp_contact_solver *j, const perp_lcp *p,
                                      const perp_contact_island *island, double rel, double *lambda,
                                      perp_contact_count *count)
{
  perp_stats stats;
  if (count->unsuited[0] == '\0') ctx->msg[0] = '\0';
  PERP_TRY(contact_solver_attempt(ctx, j, p, rel, island->spare, lambda, &stats, count));
  perp_contact_count_solve(count, j->lcp.d->name, &stats);
  if (stats.reason == PERP_UNSUITED && count->unsuited[0] == '\0')
    snprintf(count->unsuited, sizeof count->unsuited, "%.*s", (int)sizeof count->unsuited - 1,
             ctx->msg);
  if (j->observer != NULL) j->observer(j->user, island->place, p, lambda, &stats);
  return PERP_OK;
}

perp_status perp_contact_solver_answer(perp_ctx *ctx, perp_contact_solver *j, const perp_lcp *p,
                                       const perp_contact_island *island, double *lambda,
                                       perp_contact_count *count)
{
  if (!perp_contact_solver_good(j, p, island, lambda, &j->rel, count))
    return perp_contact_solver_solve(ctx, j, p, island, j->rel, lambda, count);
  if (j->observer != NULL) j->observer(j->user, island->place, p, lambda, NULL);
  return PERP_OK;
}
