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
                                     perp_contact_solver *solver)
{
  *solver = (perp_contact_solver){ .setup = *setup };
  PERP_TRY(perp_spec_copy(ctx, setup->lcp, &solver->lcp));
  solver->setup.lcp = &solver->lcp;
  if (!(setup->part > 0)) solver->setup.part = PART;
  return PERP_OK;
}

void perp_contact_solver_close(perp_contact_solver *solver)
{
  perp_lcp_destroy(solver->solver);
  perp_spec_free(&solver->lcp);
  perp_arena_free(&solver->arena);
}

perp_status perp_contact_solver_new(perp_ctx *ctx, const perp_contact_setup *setup,
                                    const char *name, size_t size, void **ws)
{
  *ws = NULL;
  perp_contact_solver *solver = calloc(1, size);
  if (solver == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory", name);
  perp_status status = perp_contact_solver_open(ctx, setup, solver);
  if (status != PERP_OK) {
    perp_contact_solver_free(solver);
    return status;
  }
  *ws = solver;
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
  perp_contact_solver *solver = ws;
  solver->observer = observer;
  solver->user = user;
}

static void contact_solver_layout(void *ws, perp_arena *arena)
{
  perp_contact_solver *solver = ws;
  size_t n = (size_t)solver->cap_n;
  PERP_DOUBLES(arena, n, &solver->best, &solver->first, &solver->w, &solver->w0, &solver->none,
               &solver->a, &solver->unit, &solver->lo, &solver->hi, &solver->mu, &solver->lambda);
  PERP_INTS(arena, n, &solver->fric_of, &solver->contact_of);
  solver->cone = PERP_CARVE(arena, signed char, n);
  solver->scratch = PERP_CARVE(arena, double, PERP_LCP_SCRATCH(n, solver->cap_nv));
}

static int contact_solver_grown(int have, int need)
{
  return need <= have ? have : need + need / 4;
}

perp_status perp_contact_solver_reserve(perp_ctx *ctx, perp_contact_solver *solver, int n, int nv)
{
  if (n <= solver->cap_n && nv <= solver->cap_nv) return PERP_OK;
  int cap_n = contact_solver_grown(solver->cap_n, n),
      cap_nv = contact_solver_grown(solver->cap_nv, nv);
  solver->cap_n = cap_n;
  solver->cap_nv = cap_nv;
  perp_status status = perp_arena_layout(ctx, &solver->arena, contact_solver_layout, solver);
  if (status != PERP_OK) {
    solver->cap_n = solver->cap_nv = 0;
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
  const perp_contact_solver *solver = job->j;
  const perp_contact_island *island = job->island;
  const int r = job->r, end = perp_share(island->nc, member + 1, members);
  for (int c = perp_share(island->nc, member, members); c < end; c++)
    for (int k = 0; k < r; k++) {
      int i = r * c + k;
      solver->lo[i] = k == 0 && island->lo != NULL ? island->lo[c] : 0;
      solver->hi[i] = k == 0 ? HUGE_VAL : 0;
      solver->fric_of[i] = k == 0 ? -1 : r * c;
      solver->mu[i] = k == 0 ? 0 : island->mu[c];
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
static perp_status solver_for(perp_ctx *ctx, perp_contact_solver *solver, int n, int nv)
{
  if (solver->solver != NULL && n <= solver->max_n && nv <= solver->max_nv) return PERP_OK;
  int max_n = contact_solver_grown(solver->max_n, n),
      max_nv = contact_solver_grown(solver->max_nv, nv);
  perp_lcp_destroy(solver->solver);
  solver->solver = NULL;
  solver->max_n = solver->max_nv = 0;
  PERP_TRY(perp_lcp_create(ctx, &solver->lcp, max_n, max_nv, &solver->solver));
  solver->max_n = max_n;
  solver->max_nv = max_nv;
  return PERP_OK;
}

bool perp_contact_solver_reuse(perp_contact_solver *solver, const perp_lcp *lcp, double accept,
                               const double *a, const double *lambda, const double *w, double *rel,
                               perp_contact_count *count)
{
  double data;
  perp_lcp_rate(lcp, a, lambda, w, rel, &data);
  if (lcp->n > count->rows) count->rows = lcp->n;
  if (!(accept > 0) || !(*rel <= accept) || !(data <= 10 * accept) ||
      (solver->setup.tol_data > 0 && !(data <= solver->setup.tol_data)))
    return false;
  count->reused++;
  count->residual = fmax(count->residual, *rel);
  count->data = fmax(count->data, data);
  return true;
}

bool perp_contact_solver_good(perp_contact_solver *solver, const perp_lcp *lcp,
                              const perp_contact_island *island, const double *lambda, double *rel,
                              perp_contact_count *count)
{
  double largest = 0;
  perp_lcp_product(lcp, lambda, solver->w, solver->scratch);
  solver->mass = island->mass;
  for (int i = 0; i < lcp->n; i++) largest = fmax(largest, island->diag[i]);
  for (int i = 0; i < lcp->n; i++)
    solver->a[i] = island->diag[i] > 0 ? island->diag[i] : largest > 0 ? largest : 1;
  return perp_contact_solver_reuse(solver, lcp, island->reuse, solver->a, lambda, solver->w, rel,
                                   count);
}

static double gain_of(perp_contact_solver *solver, const perp_lcp *lcp, const double *lambda)
{
  if (solver->gain != NULL) return solver->gain(solver, lcp, lambda);
  perp_lcp_product(lcp, lambda, solver->w, solver->scratch);
  return perp_lcp_gain(lcp, solver->a, solver->mass, lambda, solver->w, solver->none, solver->w0,
                       solver->scratch);
}

/* lambda becomes the better one of lambda and what was best before; does the gain decide? */
static bool keep_best(perp_contact_solver *solver, const perp_lcp *lcp, double rel,
                      perp_lcp_candidate *best, double *lambda)
{
  const size_t size = (size_t)lcp->n * sizeof *lambda;
  const perp_lcp_candidate now = { rel, gain_of(solver, lcp, lambda) };
  if (best->gain < 0) best->gain = gain_of(solver, lcp, solver->best);
  const bool closer = now.rating < best->rating, better = perp_lcp_better(now, *best);
  if (better) {
    *best = now;
    memcpy(solver->best, lambda, size);
  } else {
    memcpy(lambda, solver->best, size);
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
 * and a stack of 50 stands, whose guess is no worse for a contact that has opened.  solver->w in
 * and out: w of lambda.  Does lambda become shorter?  Its rating is then another one. */
static bool contact_solver_shorten(perp_contact_solver *solver, const perp_lcp *lcp, double *lambda)
{
  double gives = 0, takes = 0;
  for (int i = 0; i < lcp->n; i++) {
    gives -= lambda[i] * lcp->b[i];
    takes += lambda[i] * (solver->w[i] - lcp->b[i]);
  }
  if (!(takes > gives)) return false;
  const double t = fmax(0, gives / takes);
  for (int i = 0; i < lcp->n; i++) {
    lambda[i] *= t;
    solver->w[i] = lcp->b[i] + t * (solver->w[i] - lcp->b[i]);
  }
  return true;
}

/* Impulses of an impact tell nothing about the step after it, and may be larger than its data by
 * all digits: a guess further from the answer than no impulses at all becomes those.  Returns the
 * rating of the guess, NaN: that is for perp_lcp_rel to say, only a failure asks for it. */
static double drop_bad_guess(perp_contact_solver *solver, const perp_lcp *lcp, double rel,
                             double *lambda)
{
  for (int i = 0; i < lcp->n; i++)
    if ((lcp->lo != NULL && lcp->lo[i] > 0) || (lcp->hi != NULL && lcp->hi[i] < 0)) return rel;
  if (solver->lcp.d->caps & (PERP_LCP_BY_ROWS | PERP_LCP_CONE_BLOCKS))
    return contact_solver_shorten(solver, lcp, lambda) ? (double)NAN : rel;
  memset(solver->w, 0, (size_t)lcp->n * sizeof *solver->w);
  double zero = perp_lcp_rel(lcp, solver->a, solver->w, lcp->b);
  if (!(rel > 2 * zero)) return rel;
  memset(lambda, 0, (size_t)lcp->n * sizeof *lambda);
  return zero;
}

static bool contact_solver_within(const perp_contact_solver *solver, const perp_stats *stats,
                                  double part)
{
  return stats->residual <= part * solver->setup.tol &&
         (!(solver->setup.tol_data > 0) || stats->data <= part * solver->setup.tol_data);
}

/* The one place where a problem is asked again, and counted so: never after a failure, which is
 * one.  What chooses has an answer to both tolerances; with as much work again a closer one, or the
 * same. */
static perp_status contact_solver_again(perp_ctx *ctx, perp_contact_solver *solver,
                                        const perp_lcp *problem, double *lambda, perp_stats *stats,
                                        perp_contact_count *count)
{
  const size_t size = (size_t)problem->n * sizeof *lambda;
  perp_stats more;
  perp_lcp lcp = *problem;
  lcp.tol_data = solver->setup.part * solver->setup.tol_data;
  lcp.work = lcp.work > 0 ? fmin(stats->work, lcp.work - stats->work) : stats->work;
  if (!(lcp.work > 0)) return PERP_OK;
  count->again++;
  memcpy(solver->first, lambda, size);
  PERP_TRY(perp_lcp_solve(ctx, solver->solver, &lcp, solver->setup.part * solver->setup.tol, lambda,
                          solver->w, NULL, &more));
  more.work += stats->work;
  more.iterations += stats->iterations;
  if (more.reason > 0) {
    *stats = more;
  } else {
    memcpy(lambda, solver->first, size);
    stats->work = more.work;
    stats->iterations = more.iterations;
  }
  return PERP_OK;
}

/* Is it a solver that goes from method to method (auto)? */
static bool contact_solver_chooses(const perp_contact_solver *solver)
{
  const unsigned caps = solver->lcp.d->caps;
  return caps & PERP_LCP_EXHAUSTIVE && caps & PERP_LCP_WARM;
}

/* problem->work: what it may cost. */
static perp_status contact_solver_solve_once(perp_ctx *ctx, perp_contact_solver *solver,
                                             const perp_lcp *problem, double *lambda,
                                             perp_stats *stats, perp_contact_count *count)
{
  const unsigned caps = solver->lcp.d->caps;
  const bool iterates = caps & PERP_LCP_ITERATIVE && caps & PERP_LCP_WARM;
  const double tol = solver->setup.tol,
               part = iterates || solver->setup.part < PART ? solver->setup.part : 1;
  perp_lcp lcp = *problem;
  lcp.tol_data = part * solver->setup.tol_data;
  lcp.brief = true;
  PERP_TRY(perp_lcp_solve(ctx, solver->solver, &lcp, part * tol, lambda, solver->w, NULL, stats));
  if (contact_solver_chooses(solver) && stats->reason > 0 &&
      !contact_solver_within(solver, stats, solver->setup.part))
    PERP_TRY(contact_solver_again(ctx, solver, &lcp, lambda, stats, count));
  if (solver->settle != NULL)
    solver->settle(solver, problem, lambda);
  else if (stats->reason > 0 || part == 1 || !contact_solver_within(solver, stats, 1))
    return PERP_OK;
  perp_lcp_judgement judgement;
  perp_lcp_judge(&lcp, lambda, solver->w, solver->scratch, &judgement);
  stats->residual = judgement.rel;
  stats->data = judgement.data;
  lcp.tol_data = problem->tol_data;
  const perp_reason verdict = perp_lcp_verdict(&lcp, tol, &judgement);
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

static double contact_solver_budget(const perp_contact_solver *solver, const perp_lcp *lcp)
{
  const double products = STEP_PRODUCTS + STEP_PRODUCTS_A_ROW * lcp->n,
               budget = solver->setup.budget;
  const double whole = perp_lcp_afford(lcp, budget);
  return contact_solver_chooses(solver)
             ? fmin(whole, budget * products * perp_lcp_product_work(lcp))
             : whole;
}

static perp_status contact_solver_attempt(perp_ctx *ctx, perp_contact_solver *solver,
                                          const perp_lcp *lcp, double rel, double spare,
                                          double *lambda, perp_stats *stats,
                                          perp_contact_count *count)
{
  const int n = lcp->n, nv = lcp->F != NULL ? lcp->F->nv : 0;
  const size_t size = (size_t)n * sizeof *lambda;
  const unsigned caps = solver->lcp.d->caps;
  const bool dense = lcp->F == NULL || !(caps & PERP_LCP_FACTORED);
  perp_lcp problem = *lcp;
  problem.work = (1 - spare) * contact_solver_budget(solver, lcp);
  problem.brief = problem.brief ||
                  spare > 0; /* what is claimed of the same contacts has been looked into */
  bool thrown = false;
  rel = drop_bad_guess(solver, lcp, rel, lambda);
  const bool unrated = isnan(rel);
  if (unrated) memcpy(solver->first, solver->w, size);
  *stats = (perp_stats){ .reason = PERP_UNSUITED };
  memcpy(solver->best, lambda, size);
  if (!dense || n <= PERP_DENSE_ROWS) {
    PERP_TRY(solver_for(ctx, solver, n, nv));
    PERP_TRY(contact_solver_solve_once(ctx, solver, &problem, lambda, stats, count));
  }
  if (stats->reason > 0 || stats->reason == PERP_SWEEPS_DONE) return PERP_OK;
  if (unrated) rel = perp_lcp_rel(lcp, solver->a, solver->best, solver->first);
  perp_lcp_candidate best = { isfinite(rel) ? rel : HUGE_VAL, -1 };
  if (caps & PERP_LCP_CHOOSES)
    best.gain = gain_of(solver, lcp, lambda);
  else
    thrown = keep_best(solver, lcp, stats->residual, &best, lambda);
  perp_lcp_product(lcp, lambda, solver->w, solver->scratch);
  perp_lcp_rate(lcp, solver->a, lambda, solver->w, &stats->residual, &stats->data);
  count->thrown += thrown || best.gain > PERP_THROWN;
  return PERP_OK;
}

perp_status perp_contact_solver_solve(perp_ctx *ctx, perp_contact_solver *solver,
                                      const perp_lcp *lcp, const perp_contact_island *island,
                                      double rel, double *lambda, perp_contact_count *count)
{
  perp_stats stats;
  if (count->unsuited[0] == '\0') ctx->msg[0] = '\0';
  PERP_TRY(contact_solver_attempt(ctx, solver, lcp, rel, island->spare, lambda, &stats, count));
  perp_contact_count_solve(count, solver->lcp.d->name, &stats);
  if (stats.reason == PERP_UNSUITED && count->unsuited[0] == '\0')
    snprintf(count->unsuited, sizeof count->unsuited, "%.*s", (int)sizeof count->unsuited - 1,
             ctx->msg);
  if (solver->observer != NULL) solver->observer(solver->user, island->place, lcp, lambda, &stats);
  return PERP_OK;
}

perp_status perp_contact_solver_answer(perp_ctx *ctx, perp_contact_solver *solver,
                                       const perp_lcp *lcp, const perp_contact_island *island,
                                       double *lambda, perp_contact_count *count)
{
  if (!perp_contact_solver_good(solver, lcp, island, lambda, &solver->rel, count))
    return perp_contact_solver_solve(ctx, solver, lcp, island, solver->rel, lambda, count);
  if (solver->observer != NULL) solver->observer(solver->user, island->place, lcp, lambda, NULL);
  return PERP_OK;
}
