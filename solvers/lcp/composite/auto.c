/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The solver that chooses: other solvers by the structure of the problem, in stages of limited
 * work, each answer judged.
 *
 * Work is counted (stats->work, lcp.h), no clock is read: the same problem ends the same
 * everywhere.  Looked at: size, dense or factored, friction, cones, symmetry, the diagonal.  That
 * chooses a list of stages, each a solver and what it may spend: first what is certain or cheap,
 * within a few products with A; then the solver that is best as a rule; then the others, each with
 * as much as the ones before have had.  Where nothing of the list has solved the problem, it is
 * gone through again and again with GROWTH times the limits: a solver that ends by itself is out,
 * one that the limit stopped goes on from where it was (iterative ones) or begins again.  So the
 * work is a few times that of the best of the list, whichever that is, and little more than that of
 * the first where the first will do.
 *
 * Where a guess was given and its first round solves nothing, the list begins anew from zero. After
 * the list every other registered solver that serves the problem, in rounds likewise, and the list
 * on the equilibrated problem.  All of it ends when the budget is spent (PERP_MAX_ITER, with the
 * best iterate), or with a verified proof that there is no solution; of claims only the first few
 * are looked into.  The best iterate is that by the worse one of both rules where both are asked,
 * and the last certificate goes with it.
 *
 * Nothing is claimed here: each attempt goes through perp_lcp_solve, with the tolerance of the
 * caller. stats.fallbacks counts the attempts that were refused; the trace names each attempt (what
 * = "try"), with its residual afterwards ("refused", "accepted").  Solvers are created when a
 * problem first needs them, for its size, and kept: a second solve of the same kind allocates
 * nothing. */
#include "solvers/lcp/composite/auto_lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, DENSE_LIMIT = 4000, CLAIMS = 3, ROUNDS = 40, MORE = 2 };

/* limits of a round over those of the one before */
static const double GROWTH = 4;

struct opts {
  double tol, budget;
  int attempts;
  char chain[PERP_TEXT_MAX];
};

static const perp_opt options[] = {
  PERP_TEXT(struct opts, chain, "",
            "Solvers to try, separated by ';' (in parentheses). Empty: chosen by the structure of "
            "the problem."),
  PERP_INT(struct opts, attempts, 0, 0, 1000, "Maximum number of attempts. 0: no limit."),
  PERP_REAL(struct opts, budget, 4, 0, 1e9, 0, "",
            "Maximum work of all attempts in 1e9 multiply-adds (about a second), after which the "
            "best iterate is returned. Above 800 rows, or 5e4 numbers in J, it grows in proportion "
            "to n^3 or J. 0: no limit."),
  PERP_REAL(struct opts, tol, 0, 0, 1, 0, "",
            "Scaled residual of an accepted solution. 0: the tolerance of the caller."),
  PERP_OPTIONS_END
};

/* one solver of the table, made when needed */
struct slot {
  char text[PERP_TEXT_MAX];
  perp_spec spec;
  perp_lcp_solver *s;
  int max_n, max_nv;
  bool scaled; /* on the equilibrated problem */
  bool done;   /* ended by itself: asking again with more work is no use */
  double had;  /* the largest limit so far, 0: not asked */
  double *x;   /* [max_n] where a limit stopped an iterative one, NULL: never */
};

struct ws {
  struct opts o;
  int max_n, n_slots, n_chain;
  struct slot slots[2 * MOST]; /* the second half: equilibrated */
  int chain[MOST];             /* of the option */
  double *guess, *x, *best;    /* [max_n] */
};

static void auto_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  PERP_DOUBLES(arena, work->max_n, &work->guess, &work->x, &work->best);
}

static void auto_destroy(void *ws)
{
  struct ws *work = ws;
  if (work == NULL) return;
  for (int k = 0; k < 2 * MOST; k++) {
    perp_lcp_destroy(work->slots[k].s);
    perp_spec_free(&work->slots[k].spec);
    free(work->slots[k].x);
  }
  free(work);
}

static perp_status auto_add(perp_ctx *ctx, struct ws *work, const char *text)
{
  if (work->n_slots == MOST) return PERP_OK;
  for (int half = 0; half < 2; half++) {
    struct slot *slot = &work->slots[work->n_slots + half * MOST];
    PERP_TRY(perp_spec_parse(ctx, PERP_KIND_lcp, text, &slot->spec));
    snprintf(slot->text, sizeof slot->text, "%s", text);
    slot->scaled = half == 1;
  }
  if (strcmp(work->slots[work->n_slots].spec.d->name, "auto") == 0)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "auto.chain must not contain auto: remove it from the list");
  work->n_slots++;
  return PERP_OK;
}

static perp_status open_slots(perp_ctx *ctx, struct ws *work)
{
  char text[PERP_TEXT_MAX];
  for (const char *at = work->o.chain; *at != '\0';) {
    size_t length = strcspn(at, ";");
    memcpy(text, at, length);
    text[length] = '\0';
    if (length > 0) {
      PERP_TRY(auto_add(ctx, work, text));
      work->chain[work->n_chain++] = work->n_slots - 1;
    }
    at += length + (at[length] == ';');
  }
  const perp_desc *desc;
  for (int i = 0; (desc = perp_plugin_at(ctx, PERP_KIND_lcp, i)) != NULL; i++) {
    /* what goes on where nothing solves the problem is no further solver */
    if (strcmp(desc->name, "auto") == 0 || (desc->caps & PERP_LCP_CHOOSES) ||
        (desc->caps & PERP_LCP_PEER))
      continue;
    PERP_TRY(auto_add(ctx, work, desc->name));
  }
  /* settings that only the lists ask for */
  static const char *const settings[] = { "cone-newton:warm=0",   "cone-newton:warm=0,min_iter=1",
                                          "cone-newton:warm=10",  "cone-newton:warm=20",
                                          "cone-newton:warm=200", "dantzig:start=bpp" };
  for (size_t i = 0; i < sizeof settings / sizeof *settings && work->n_chain == 0; i++)
    PERP_TRY(auto_add(ctx, work, settings[i]));
  return PERP_OK;
}

static perp_status auto_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  *ws = NULL;
  if (max_n < 0)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "auto: max_n must not be negative: got %d", max_n);
  struct ws like = { .o = *(const struct opts *)opts, .max_n = max_n };
  PERP_TRY(perp_workspace_create(ctx, "auto", &like, sizeof like, auto_layout, ws));
  const perp_status status = open_slots(ctx, *ws);
  if (status == PERP_OK) return PERP_OK;
  auto_destroy(*ws);
  *ws = NULL;
  return status;
}

static int auto_slot_of(const struct ws *work, const char *text)
{
  for (int k = work->n_chain; k < work->n_slots; k++)
    if (strcmp(work->slots[k].text, text) == 0) return k;
  return -1;
}

/* ---- attempts ---- */

struct search {
  perp_ctx *ctx;
  struct ws *w;
  const perp_lcp *p;
  double *certificate, tol;
  double rel, least; /* of the best attempt: rel, and what it is the best by */
  perp_stats *stats;
  int attempts, claims;
  double product; /* work of a product with A */
  double budget;  /* HUGE_VAL: none */
  bool spent, over;
  perp_reason ray;
};

/* can the solver of slot k be asked at all */
static bool auto_applies(const struct search *work, int k)
{
  const struct slot *slot = &work->w->slots[k];
  unsigned caps = slot->spec.d->caps;
  bool forms = slot->scaled || !(caps & (work->p->C != NULL ? PERP_LCP_SPARSE : PERP_LCP_FACTORED));
  if (perp_lcp_needs(work->p) & ~caps) return false;
  return !(forms && work->p->n > DENSE_LIMIT);
}

/* Of a judged answer, as perp_lcp_merit: at most the tolerance when both rules hold. */
static double auto_merit(const struct search *work, const perp_stats *inner)
{
  const double tol_data = work->p->tol_data, data = inner->data * (work->tol / tol_data);
  return tol_data > 0 && !(data <= inner->residual) ? data : inner->residual;
}

/* The solver of a slot, for problems of this size. */
static perp_status open_solver(struct search *seek, struct slot *slot)
{
  struct ws *work = seek->w;
  int n = seek->p->n, nv = seek->p->F != NULL ? seek->p->F->nv : 0;
  if (slot->s != NULL && slot->max_n >= n && slot->max_nv >= nv) return PERP_OK;
  perp_lcp_destroy(slot->s);
  free(slot->x);
  slot->s = NULL;
  slot->x = NULL;
  /* room to grow: the next problem of a simulation is a little larger */
  int room = n < work->max_n / 2 ? 2 * n : work->max_n;
  slot->max_n = n <= 64 && room > n ? room : n;
  slot->max_nv = nv;
  slot->x = malloc(((size_t)slot->max_n + 1) * sizeof *slot->x);
  if (slot->x == NULL)
    return PERP_FAIL(seek->ctx, PERP_ERR_NOMEM, "auto: no memory for %d rows", slot->max_n);
  PERP_TRY(perp_lcp_create(seek->ctx, &slot->spec, slot->max_n, slot->max_nv, &slot->s));
  return slot->scaled ? perp_lcp_equilibrate(seek->ctx, slot->s, true) : PERP_OK;
}

/* The certificate that the solver of s left is kept where it says more than the one before. */
static void keep_claim(struct search *work, const struct slot *s, perp_reason reason)
{
  const double *proof = perp_lcp_certificate(s->s);
  bool infeasible = reason == PERP_INFEASIBLE;
  bool ray = reason == PERP_RAY, within = reason == PERP_NONE_WITHIN;
  if (proof != NULL &&
      (infeasible || work->ray == PERP_RUNNING || (within && work->ray == PERP_RAY))) {
    if (work->certificate != NULL)
      memcpy(work->certificate, proof, (size_t)work->p->n * sizeof *proof);
    if (ray || within) work->ray = reason;
  }
  if (infeasible) work->ray = PERP_INFEASIBLE;
  if (ray || within) work->claims++;
  work->over = work->over || infeasible;
}

/* One attempt with the work `limit` (HUGE_VAL: what is left of the budget); *inner: what came of
 * it. */
static perp_status auto_attempt(struct search *seek, int k, double limit, double part,
                                perp_stats *inner)
{
  struct ws *work = seek->w;
  struct slot *slot = &work->slots[k];
  perp_lcp lcp = *seek->p;
  size_t bytes = (size_t)lcp.n * sizeof *work->x;
  const char *name = slot->spec.d->name;
  if (work->o.attempts > 0 && seek->attempts == work->o.attempts) seek->over = true;
  if (seek->stats->work >= seek->budget) seek->over = seek->spent = true;
  if (seek->over) return PERP_OK;
  PERP_TRY(open_solver(seek, slot));
  bool goes_on = slot->had > 0 && slot->spec.d->caps & PERP_LCP_ITERATIVE;
  memcpy(work->x, goes_on ? slot->x : work->guess, bytes);
  lcp.work = fmin(limit, seek->budget - seek->stats->work);
  if (lcp.work == HUGE_VAL) lcp.work = 0;
  lcp.part = part;
  lcp.brief = lcp.brief || (seek->claims >= CLAIMS && limit < HUGE_VAL);
  PERP_TRACE(seek->ctx, .method = name, .what = slot->scaled ? "try equilibrated" : "try",
             .iteration = seek->attempts, .entering = -1, .leaving = -1, .residual = seek->rel,
             .n = lcp.n);
  const perp_status status = perp_lcp_solve(seek->ctx, slot->s, &lcp, seek->tol, work->x, NULL,
                                            NULL, inner);
  if (status == PERP_ERR_NOMEM || status == PERP_ERR_INTERNAL) return status;
  slot->had = limit;
  slot->done = true;
  if (status != PERP_OK)
    return PERP_OK; /* a solver that refuses the problem is no failure of ours */
  seek->attempts++;
  seek->stats->work += inner->work;
  seek->stats->matvecs += inner->matvecs;
  seek->stats->factorizations += inner->factorizations;
  bool solved = inner->reason == PERP_CONVERGED;
  slot->done = !perp_lcp_spent(&lcp, inner->work);
  if (!slot->done) memcpy(slot->x, work->x, bytes);
  PERP_TRACE(seek->ctx, .method = name, .what = solved ? "accepted" : "refused",
             .iteration = seek->attempts, .entering = -1, .leaving = -1,
             .residual = inner->residual, .n = lcp.n, .x = work->x);
  if (!solved && inner->reason != PERP_UNSUITED) seek->stats->fallbacks++;
  const double merit = auto_merit(seek, inner);
  if (merit < seek->least || solved) {
    seek->least = merit;
    seek->rel = inner->residual;
    seek->stats->iterations = inner->iterations;
    seek->stats->by = inner->by != NULL ? inner->by : name;
    memcpy(work->best, work->x, bytes);
    if (!solved && inner->reason < 0 && inner->reason != PERP_UNSUITED)
      seek->stats->reason = inner->reason;
  }
  keep_claim(seek, slot, inner->reason);
  if (solved) seek->stats->reason = PERP_CONVERGED;
  seek->over = seek->over || solved;
  return PERP_OK;
}

/* An attempt with more work than any before.  Where the digits gained so far promise an end within
 * `longer` times the work of the last part it goes on at once, as long as it gains some. */
static perp_status auto_ask(struct search *seek, int k, double limit, double longer, double part)
{
  struct slot *slot = &seek->w->slots[k];
  if (seek->over || !auto_applies(seek, k) || slot->done || limit <= slot->had) return PERP_OK;
  /* too little to form A and read it */
  if (seek->p->F != NULL && (slot->scaled || !(slot->spec.d->caps & PERP_LCP_FACTORED)) &&
      limit < 2.0 * seek->p->n * seek->p->n)
    return PERP_OK;
  perp_stats inner = { .reason = PERP_RUNNING };
  PERP_TRY(auto_attempt(seek, k, limit, part, &inner));
  double before = 0, work = 0;
  for (int more = 0; more < MORE && !seek->over && !slot->done; more++) {
    const double way = log(auto_merit(seek, &inner)) / log(seek->tol);
    work += inner.work;
    if (!(way > before && way * longer > 1 && way < 1)) return PERP_OK;
    before = way;
    PERP_TRY(auto_attempt(seek, k, 1.5 * work * (1 / way - 1), part, &inner));
  }
  return PERP_OK;
}

static double auto_limit_of(const struct search *work, const perp_auto_stage *stage)
{
  return work->product * (stage->products + stage->per_row * work->p->n);
}

/* One round over the list; *left: some solver was stopped by its limit. */
static perp_status list_round(struct search *work, const perp_auto_stage *list, int offset,
                              double times, bool *left)
{
  *left = false;
  for (int i = 0; list[i].name != NULL && !work->over; i++) {
    int k = auto_slot_of(work->w, list[i].name);
    if (k < 0) continue;
    PERP_TRY(auto_ask(work, k + offset, times * auto_limit_of(work, &list[i]), list[i].longer,
                      list[i].part));
    *left = *left || (auto_applies(work, k + offset) && !work->w->slots[k + offset].done);
  }
  return PERP_OK;
}

/* Every registered solver once, those that run through all bases last. */
static perp_status all_round(struct search *seek, double limit, bool late, bool *left)
{
  struct ws *work = seek->w;
  *left = false;
  for (int group = 0; group < 2; group++)
    for (int k = 0; k < work->n_slots && !seek->over; k++) {
      const perp_desc *desc = work->slots[k].spec.d;
      bool exhaustive = strcmp(desc->name, "enumerate") == 0;
      if (exhaustive != (group == 1)) continue;
      /* all bases are run through once and to the end, which shows where there is no solution */
      PERP_TRY(auto_ask(seek, k, exhaustive && late ? HUGE_VAL : limit, 0, 0));
      *left = *left || (auto_applies(seek, k) && !work->slots[k].done);
    }
  return PERP_OK;
}

static void auto_forget(struct ws *work)
{
  for (int k = 0; k < 2 * MOST; k++) {
    work->slots[k].done = false;
    work->slots[k].had = 0;
  }
}

static perp_status search_all(struct search *seek, const perp_auto_structure *structure)
{
  struct ws *work = seek->w;
  bool guess = false;
  for (int i = 0; i < seek->p->n && !guess; i++) guess = work->guess[i] != 0;
  const perp_auto_stage *first, *list = perp_auto_choose(structure, guess, &first);
  bool left = true;
  double limit = 0, times = 1;
  if (work->n_chain > 0) {
    perp_stats inner;
    for (int k = 0; k < work->n_chain && !seek->over; k++)
      if (auto_applies(seek, work->chain[k]))
        PERP_TRY(auto_attempt(seek, work->chain[k], HUGE_VAL, 0, &inner));
    return PERP_OK;
  }
  for (int i = 0; list[i].name != NULL; i++) limit = fmax(limit, auto_limit_of(seek, &list[i]));
  if (first != NULL) PERP_TRY(list_round(seek, first, 0, 1, &left));
  PERP_TRY(list_round(seek, list, 0, 1, &left));
  if (guess && !seek->over) { /* which may lead astray */
    auto_forget(work);
    memset(work->guess, 0, (size_t)seek->p->n * sizeof *work->guess);
    PERP_TRY(list_round(seek, list, 0, 1, &left));
  }
  /* the others get what those of the list have had: something of a kind that the list does not know
   * may be easy */
  for (int round = 0; round < ROUNDS && left && !seek->over; round++, times *= GROWTH) {
    bool others, scaled;
    PERP_TRY(all_round(seek, times * limit, round >= 2, &others));
    PERP_TRY(list_round(seek, list, 0, GROWTH * times, &left));
    if (round == 0) PERP_TRY(list_round(seek, list, MOST, 1, &scaled));
    left = left || others;
  }
  return seek->over ? PERP_OK : list_round(seek, list, MOST, times, &left);
}

static perp_status auto_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                              double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  int n = lcp->n;
  size_t bytes = (size_t)n * sizeof *lambda;
  if (n > work->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM,
                     "auto: n = %d, but the solver was created for at most %d rows", n,
                     work->max_n);
  struct search seek = { .ctx = ctx,
                         .w = work,
                         .p = lcp,
                         .certificate = certificate,
                         .stats = stats,
                         .rel = HUGE_VAL,
                         .least = HUGE_VAL,
                         .budget = HUGE_VAL };
  if (work->o.budget > 0) seek.budget = perp_lcp_afford(lcp, work->o.budget);
  if (lcp->work > 0) seek.budget = fmin(seek.budget, lcp->work);
  seek.tol = work->o.tol > 0 ? work->o.tol : lcp->tol > 0 ? lcp->tol : 1e-8;
  perp_no_certificate(lcp, certificate);
  memcpy(work->guess, lambda, bytes);
  memcpy(work->best, lambda, bytes);
  auto_forget(work);
  stats->reason = n == 0 ? PERP_CONVERGED : PERP_STALLED;
  if (n == 0) return PERP_OK;

  perp_auto_structure structure = perp_auto_look(lcp);
  stats->work = seek.product = structure.numbers;
  perp_status status = search_all(&seek, &structure);
  memcpy(lambda, work->best, bytes);
  if (status != PERP_OK) return status;
  if (seek.spent) {
    stats->reason = PERP_MAX_ITER;
    PERP_FAIL(ctx, PERP_OK,
              "auto: no solution after %.3g multiplications in %d attempts, budget %.3g: raise the "
              "option budget",
              stats->work, seek.attempts, seek.budget);
  }
  if (stats->reason != PERP_CONVERGED && seek.ray != PERP_RUNNING) stats->reason = seek.ray;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_auto = {
  .d = { .name = "auto",
         .summary =
             "Automatic choice by structure: tries solvers in turn until one result is certified",
         .reference = "None; see the references of the solvers that it tries",
         .equation = "Solver after solver, until a result satisfies the residual tolerances",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_CONE |
                 PERP_LCP_NONSYMMETRIC | PERP_LCP_SEMIDEFINITE | PERP_LCP_FACTORED |
                 PERP_LCP_SPARSE | PERP_LCP_WARM | PERP_LCP_EXHAUSTIVE },
  .create = auto_create,
  .solve = auto_solve,
  .destroy = auto_destroy,
  .serves = "Every problem that one of the registered solvers solves. Each result is checked "
            "before it is accepted.",
  .ties = "Those of the solver whose result is used. The statistics name it.",
  .cost = "The sum over all solvers that are tried. Memory: n^2 numbers and the workspaces of "
          "these solvers.",
  .counts = "Iterations of the solver whose result is used.",
  .same = "*", /* whatever it chooses */
};
