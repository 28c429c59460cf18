/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts with friction that have several solutions: which of them is the step's, whatever the
 * solver is.
 *
 * Rows that depend on each other leave the impulses open.  While all contacts stick, the velocities
 * are the same for all impulses.  A contact that slides has a friction bounded by its own normal
 * impulse: other normal impulses are then another motion, and a pivoting method, whose answers have
 * as few impulses as possible, lets a box swing about two corners that a gripper holds at eight. So
 * where something slides a second solution is looked for:
 *
 *   1. impulses within the cones of friction that stop everything that touches (perp_unique_stick),
 * of least norm;
 *   2. where there are none, those of contacts that are a little and equally compliant,
 *
 *           w = A lambda + b + s (lambda - lambda_0),   s = 1e-2, 1e-4, 1e-6, 1e-9
 *
 *      of the mean of A_ii, on contacts,
 *
 *      by the same law and solver, from no impulses.  Without friction they tend to the solution
 * nearest to lambda_0 as s goes to 0 (Tikhonov: Facchinei and Pang 2003, theorem 12.2.3; Cottle,
 * Pang and Stone 1992, theorem 5.6.2); the last s is so small that they pass as a solution.
 *
 * The law judges them as it judges a guess (perp_contact_island.reuse); where they are none of its
 * solutions, the solver is started from them.  Two answers to a tolerance may differ by that
 * tolerance times the condition of A.  So both are brought to rounding, each with its own contacts
 * that stick, slide and are open (perp_unique_polish), and the law judges them again, to CERTIFIED
 * of the tolerance.  If both pass, and their velocities differ by more than the errors of both, the
 * motion depends on the choice.  Then, and where the second one alone passes, the step takes
 *
 *      least-norm: the second solution, with lambda_0 = 0 (default);
 *      previous:   the same with lambda_0 from the step before;
 *      solver:     the answer of the solver; others are only counted;
 *      none:       nothing is examined.
 *
 * An answer that sticks everywhere is not examined further: it is one that the rule allows.  Up to
 * PERP_UNIQUE_ROWS rows.  The rank is decided when contacts begin or end to stick, slide or touch.
 * A second solution is looked for then, and where the problem was solved anew.  After VAIN
 * examinations of an island that has had none yet, they may take SHARE of the work of its solver.
 */
#include "models/contact/step/islands_problem.h"

#include <stdlib.h>
#include <string.h>

enum { VAIN = 4 };
static const double SHARE = 0.2;
/* of the tolerance: what certified solutions may leave */
static const double CERTIFIED = 1e-2;
/* of the errors of both: velocities that differ more are different */
static const double APART = 10;

/* Of the mean of A_ii, one after the other, each from the impulses of the one before: the first
 * makes the impulses of all solvers those of the same unique solution, the last leaves a tenth of
 * what a solution may leave. */
enum { SOFTER = 4 };
static const double SOFT[SOFTER] = { 1e-2, 1e-4, 1e-6, 1e-9 };

struct islands_choice {
  int rule; /* PERP_CHOICE_* */
  perp_unique *unique;
  double spent; /* in this examination, multiplications: none of the solver's own work */
  double A[PERP_UNIQUE_ROWS * PERP_UNIQUE_ROWS];
  double guess[PERP_UNIQUE_ROWS], x[PERP_UNIQUE_ROWS], w[PERP_UNIQUE_ROWS], lo[PERP_UNIQUE_ROWS],
      hi[PERP_UNIQUE_ROWS], slip[PERP_UNIQUE_ROWS], b[PERP_UNIQUE_ROWS], diag[PERP_UNIQUE_ROWS],
      s[PERP_UNIQUE_ROWS], polished[PERP_UNIQUE_ROWS], w_second[PERP_UNIQUE_ROWS],
      judged[PERP_UNIQUE_ROWS], scratch[36];
};

struct islands_choice *perp_islands_choice_create(perp_ctx *ctx, int rule)
{
  struct islands_choice *choice = calloc(1, sizeof *choice);
  if (choice != NULL) choice->rule = rule;
  if (choice != NULL && perp_unique_create(ctx, &choice->unique) == PERP_OK) return choice;
  free(choice);
  (void)PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the choice of impulses");
  return NULL;
}

void perp_islands_choice_destroy(struct islands_choice *choice)
{
  if (choice == NULL) return;
  perp_unique_destroy(choice->unique);
  free(choice);
}

static int islands_choice_rows(const perp_contact_island *problem, int r)
{
  return r * problem->nc + problem->joints;
}

void perp_islands_choice_guess(const lane *own, const perp_contact_island *problem, int r,
                               const double *x)
{
  const int n = islands_choice_rows(problem, r);
  if (own->choice == NULL || own->choice->rule != PERP_CHOICE_PREVIOUS || n > PERP_UNIQUE_ROWS)
    return;
  memcpy(own->choice->guess, x, (size_t)n * sizeof *x);
}

/* More directions in which the impulses of loaded contacts may change both ways than their bodies
 * have velocities. */
static bool islands_choice_crowded(const perp_contact_island *problem, const double *x, int r,
                                   int velocities)
{
  int ways = 0;
  for (int c = 0; c < problem->nc; c++) {
    const double *at = x + (size_t)r * (size_t)c, limit = problem->mu[c] * at[0];
    const double t = r > 2 ? hypot(at[1], at[2]) : fabs(at[1]);
    if (at[0] > 0) ways += t < (1 - 1e-6) * limit ? r : 1;
  }
  return ways > velocities;
}

static uint64_t islands_choice_mix(uint64_t key, uint64_t x)
{
  key = (key ^ x) * UINT64_C(0x9e3779b97f4a7c15);
  return key ^ (key >> 29);
}

/* The contacts. */
static uint64_t islands_choice_ids(const perp_contact_island *problem)
{
  const perp_contact_place *place = problem->place;
  uint64_t key = (uint64_t)problem->joints;
  for (int c = 0; c < problem->nc; c++)
    key = islands_choice_mix(key, place->contact[place->order[c]].id);
  return key;
}

/* The contacts, and what each of them and each further row does; does one slide? */
static uint64_t islands_choice_key(const perp_contact_island *problem,
                                   const perp_unique_problem *unique_problem, const double *x,
                                   const double *w, bool *slides)
{
  const perp_contact_place *place = problem->place;
  uint64_t key = (uint64_t)unique_problem->n;
  double largest = 0;
  *slides = false;
  for (int c = 0; c < unique_problem->nc; c++) largest = fmax(largest, x[unique_problem->r * c]);
  for (int c = 0; c < unique_problem->nc; c++) {
    const double *at = x + unique_problem->r * c, *v = w + unique_problem->r * c;
    const double t = unique_problem->r > 2 ? hypot(at[1], at[2]) : fabs(at[1]),
                 slip = unique_problem->r > 2 ? hypot(v[1], v[2]) : fabs(v[1]);
    const bool loaded = at[0] > 1e-9 * largest, slips = slip > unique_problem->tol;
    const unsigned presses = slips                                            ? 1
                             : t < (1 - 1e-9) * unique_problem->mu[c] * at[0] ? 2
                                                                              : 3,
                   leaves = v[0] > unique_problem->tol ? 4
                            : slips                    ? 5
                                                       : 6,
                   does = loaded ? presses : leaves;
    key = islands_choice_mix(key, place->contact[place->order[c]].id * 8 + does);
    *slides |= slips && (loaded || v[0] <= unique_problem->tol) && unique_problem->mu[c] > 0;
  }
  for (int i = 0; i < problem->joints; i++) {
    const double at = x[unique_problem->r * unique_problem->nc + i];
    key = islands_choice_mix(key, at <= unique_problem->lo[i]   ? 1
                                  : at >= unique_problem->hi[i] ? 2
                                                                : 3);
  }
  return key;
}

/* The problem with a matrix. */
static perp_unique_problem islands_choice_problem(const perp_islands *islands,
                                                  struct islands_choice *choice,
                                                  const perp_contact_island *problem, int n,
                                                  const double *x)
{
  double largest = 0;
  for (int i = 0; i < islands->r * problem->nc; i++) largest = fmax(largest, fabs(problem->b[i]));
  for (int i = 0; i < problem->joints; i++) {
    const int of = problem->row_of != NULL ? problem->row_of[i] : -1;
    perp_contact_row_bounds(problem, i, &choice->lo[i], &choice->hi[i]);
    if (of < 0) continue;
    choice->hi[i] = problem->row_mu[i] * x[islands->r * of];
    choice->lo[i] = -choice->hi[i];
  }
  /* ten times of what a solution may leave */
  return (perp_unique_problem){
    .nc = problem->nc,
    .r = islands->r,
    .n = n,
    .A = problem->A,
    .lda = problem->lda,
    .b = problem->b,
    .mu = problem->mu,
    .lo = choice->lo,
    .hi = choice->hi,
    .tol = 10 * (islands->tol_data > 0 ? islands->tol_data : islands->tol) * largest
  };
}

static void islands_choice_matrix(struct islands_choice *choice, const perp_contact_island *problem,
                                  perp_unique_problem *unique_problem)
{
  if (unique_problem->A != NULL) return;
  perp_blocks_delassus(problem->F, choice->A, unique_problem->n, choice->scratch);
  unique_problem->A = choice->A;
  unique_problem->lda = unique_problem->n;
}

/* The problem with s = part of `mean` more softness on the rows of contacts, in *soft and *F. */
static void islands_choice_soft(struct islands_choice *choice, const perp_contact_island *problem,
                                const perp_unique_problem *unique_problem, double more,
                                bool previous, perp_contact_island *soft, perp_blocks *F)
{
  *soft = *problem;
  for (int i = 0; i < unique_problem->n; i++) {
    const double s = i < unique_problem->r * unique_problem->nc ? more : 0;
    choice->s[i] = s + (problem->F != NULL && problem->F->s != NULL ? problem->F->s[i] : 0);
    choice->diag[i] = problem->diag[i] + s;
    choice->b[i] = problem->b[i] - (previous ? s * choice->guess[i] : 0);
  }
  soft->b = choice->b;
  soft->diag = choice->diag;
  soft->reuse = 0;
  if (problem->F != NULL) {
    *F = *problem->F;
    F->s = choice->s;
    soft->F = F;
    return;
  }
  for (int j = 0; j < unique_problem->n; j++) {
    memcpy(choice->A + (size_t)j * (size_t)unique_problem->n,
           problem->A + (size_t)j * (size_t)problem->lda,
           (size_t)unique_problem->n * sizeof *choice->A);
    choice->A[(size_t)j * (size_t)(unique_problem->n + 1)] += choice->s[j];
  }
  soft->A = choice->A;
  soft->lda = unique_problem->n;
}

/* choice->x: the impulses of equally compliant contacts; *found: they are. */
static perp_status islands_choice_soften(perp_islands *islands, lane *own,
                                         const perp_contact_island *problem,
                                         const perp_unique_problem *unique_problem, bool previous,
                                         bool *found)
{
  struct islands_choice *choice = own->choice;
  perp_contact_count count = { 0 };
  perp_contact_island soft;
  perp_blocks blocks;
  perp_status status = PERP_OK;
  double mean = 0;
  for (int i = 0; i < unique_problem->r * unique_problem->nc; i++)
    mean += problem->diag[i] / (unique_problem->r * unique_problem->nc);
  memset(choice->x, 0, (size_t)unique_problem->n * sizeof *choice->x);
  memset(choice->slip, 0, (size_t)unique_problem->nc * sizeof *choice->slip);
  if (islands->observer != NULL)
    islands->kind->observe(own->ws, NULL, NULL); /* no problems of the step */
  for (int i = 0; i < SOFTER && status == PERP_OK && count.failures + count.swept == 0; i++) {
    islands_choice_soft(choice, problem, unique_problem, SOFT[i] * mean, previous, &soft, &blocks);
    status = islands->kind->solve(&own->ctx, own->ws, &soft, choice->x, choice->slip, &count);
  }
  if (islands->observer != NULL) islands->kind->observe(own->ws, islands->observer, islands->user);
  choice->spent += count.work;
  *found = count.failures + count.swept == 0;
  own->count.undecided += !*found;
  return status;
}

/* From the impulses x, not observed; *reused: they passed.  A failure leaves the examination
 * undecided. */
static perp_status islands_choice_judge(perp_islands *islands, lane *own,
                                        const perp_contact_island *problem, double reuse, double *x,
                                        bool *reused, bool *solved)
{
  struct islands_choice *choice = own->choice;
  perp_contact_count count = { 0 };
  perp_contact_island second = *problem;
  second.reuse = reuse;
  if (islands->observer != NULL) islands->kind->observe(own->ws, NULL, NULL);
  const perp_status status = islands->kind->solve(&own->ctx, own->ws, &second, x, choice->slip,
                                                  &count);
  if (islands->observer != NULL) islands->kind->observe(own->ws, islands->observer, islands->user);
  choice->spent += count.work;
  *reused = count.problems == 0;
  *solved = count.failures + count.swept == 0;
  own->count.undecided += !*solved;
  return status;
}

/* x and w = A x + b become a solution to rounding; *error: of w; false: it was not certified. */
static perp_status islands_choice_certify(perp_islands *islands, lane *own,
                                          const perp_contact_island *problem,
                                          const perp_unique_problem *unique_problem, double *x,
                                          double *w, double *error, bool *good)
{
  struct islands_choice *choice = own->choice;
  const unsigned caps = islands->kind->d.caps;
  const int law = caps & PERP_CONTACT_BOX    ? PERP_UNIQUE_BOX
                  : caps & PERP_CONTACT_CONE ? PERP_UNIQUE_CIRCLE
                                             : PERP_UNIQUE_OTHER;
  bool solved;
  choice->spent += (double)unique_problem->n * unique_problem->n * unique_problem->n;
  *good = perp_unique_polish(choice->unique, unique_problem, law, x, w, error);
  if (!*good) return PERP_OK;
  memcpy(choice->judged, x, (size_t)unique_problem->n * sizeof *x);
  return islands_choice_judge(islands, own, problem, CERTIFIED * islands->tol, choice->judged, good,
                              &solved);
}

/* The velocities of contacts differ by more than this. */
static bool islands_choice_differ(const perp_unique_problem *problem, const double *w,
                                  const double *v, double most)
{
  double differs = 0;
  for (int i = 0; i < problem->r * problem->nc; i++) differs = fmax(differs, fabs(w[i] - v[i]));
  return differs > most;
}

/* Another solution from the impulses choice->x: counted if both are certified, and taken where it
 * is one, or the only one that is certified. */
static perp_status islands_choice_take(perp_islands *islands, lane *own,
                                       const perp_contact_island *problem,
                                       const perp_unique_problem *unique_problem,
                                       const perp_lcp *base, double *x, double *slip,
                                       double *product)
{
  struct islands_choice *choice = own->choice;
  const size_t size = (size_t)unique_problem->n * sizeof *x;
  double error[2];
  bool reused, good;
  memcpy(choice->slip, slip, (size_t)unique_problem->nc * sizeof *slip);
  PERP_TRY(islands_choice_judge(islands, own, problem, islands->tol, choice->x, &reused, &good));
  if (!good) return PERP_OK;
  perp_lcp_product(base, choice->x, choice->w_second, product);
  if (!islands_choice_differ(unique_problem, choice->w_second, choice->w, unique_problem->tol))
    return PERP_OK;
  memcpy(choice->polished, choice->x, size);
  PERP_TRY(islands_choice_certify(islands, own, problem, unique_problem, choice->polished,
                                  choice->w_second, &error[1], &good));
  if (!good) return PERP_OK;
  memcpy(choice->polished, x, size);
  PERP_TRY(islands_choice_certify(islands, own, problem, unique_problem, choice->polished,
                                  choice->w, &error[0], &good));
  const bool several = good && islands_choice_differ(
                                   unique_problem, choice->w_second, choice->w,
                                   fmax(unique_problem->tol, APART * (error[0] + error[1])));
  own->count.several += several;
  if (choice->rule == PERP_CHOICE_SOLVER || (good && !several)) return PERP_OK;
  perp_contact_count count = { 0 };
  perp_contact_island second = *problem;
  perp_contact_place place = *problem->place;
  second.reuse = islands->tol;
  if (islands->observer != NULL) place.call = ++islands->calls; /* one thread then */
  second.place = &place;
  PERP_TRY(islands->kind->solve(&own->ctx, own->ws, &second, choice->x, slip, &count));
  own->count.chosen++;
  own->count.residual = fmax(own->count.residual, count.residual);
  own->count.data = fmax(own->count.data, count.data);
  memcpy(x, choice->x, size);
  return PERP_OK;
}

/* A second solution, looked for from 0 or the guess. */
static perp_status islands_choice_second(perp_islands *islands, lane *own,
                                         const perp_contact_island *problem,
                                         perp_unique_problem *unique_problem, bool previous,
                                         const double *x, bool *found)
{
  struct islands_choice *choice = own->choice;
  const size_t size = (size_t)unique_problem->n * sizeof *x;
  islands_choice_matrix(choice, problem, unique_problem);
  if (previous)
    memcpy(choice->x, choice->guess, size);
  else
    memset(choice->x, 0, size);
  choice->spent += (double)unique_problem->n * unique_problem->n * unique_problem->n;
  *found = perp_unique_stick(choice->unique, unique_problem, x, choice->w, choice->x);
  /* the rows of a law with PERP_CONTACT_SPIN follow the motion of the guess */
  if (*found || (islands->kind->d.caps & PERP_CONTACT_SPIN)) return PERP_OK;
  return islands_choice_soften(islands, own, problem, unique_problem, previous, found);
}

perp_status perp_islands_choose(perp_islands *islands, lane *own,
                                const perp_contact_island *problem, const perp_island_task *task,
                                island_known *is, double work, double *x, double *slip,
                                double *product)
{
  struct islands_choice *choice = own->choice;
  const int n = islands_choice_rows(problem, islands->r);
  const int velocities = problem->F != NULL ? problem->F->nv : n;
  if (problem->nc == 0 || task->soft) return PERP_OK;
  own->count.examined++;
  if (n > PERP_UNIQUE_ROWS) {
    const bool open = islands_choice_crowded(problem, x, islands->r, velocities);
    own->count.open += open;
    own->count.unexamined += open;
    return PERP_OK;
  }
  const uint64_t ids = islands_choice_ids(problem);
  if (work == 0 && is->ids == ids && (is->alone || !is->slides)) {
    own->count.open += is->open;
    return PERP_OK; /* the same impulses on the same contacts */
  }
  const perp_lcp base = {
    .n = n, .A = problem->A, .lda = problem->lda, .F = problem->F, .b = problem->b
  };
  perp_lcp_product(&base, x, choice->w, product);
  perp_unique_problem unique_problem = islands_choice_problem(islands, choice, problem, n, x);
  bool found;
  const uint64_t key = islands_choice_key(problem, &unique_problem, x, choice->w, &is->slides);
  is->work += work + (double)n * n;
  is->ids = ids;
  if (is->key != key) {
    islands_choice_matrix(choice, problem, &unique_problem);
    is->key = key;
    is->open = !perp_unique_impulses(choice->unique, &unique_problem, x, choice->w);
    is->alone = false;
  }
  own->count.open += is->open;
  /* convex: its velocities are unique (Anitescu 2006) */
  const bool again = is->alone && work == 0, /* the problem of the step before */
      due = is->several || is->vain < VAIN || is->spent <= SHARE * is->work;
  if (!is->slides || (islands->kind->d.caps & PERP_CONTACT_RELAXED) || again || !due)
    return PERP_OK;
  const int64_t several = own->count.several;
  choice->spent = 0;
  PERP_TRY(islands_choice_second(islands, own, problem, &unique_problem,
                                 choice->rule == PERP_CHOICE_PREVIOUS, x, &found));
  if (found)
    PERP_TRY(islands_choice_take(islands, own, problem, &unique_problem, &base, x, slip, product));
  is->spent += choice->spent;
  is->alone = own->count.several == several;
  is->vain += is->alone;
  is->several |= !is->alone;
  own->count.open += !is->alone && !is->open;
  return PERP_OK;
}
