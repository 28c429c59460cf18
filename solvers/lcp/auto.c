/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The solver that chooses: a chain of other solvers by the structure of the problem, each answer judged,
 * the next one tried when the judge refuses.
 *
 * Looked at: size, dense or factored, friction, cones, symmetry, signs of the diagonal, and, when the first
 * solver has failed, whether the symmetric part is positive semidefinite (Cholesky).  The chain, in words:
 *   bimatrix shape (zero diagonal blocks)   lemke-howson first
 *   no friction, symmetric, diagonal >= 0   small, or dense up to 1000 rows: bpp; else minmap-newton,
 *                                           interior-point, fischer-newton, then the pivoting methods
 *   no friction, otherwise                  small, or zeros on the diagonal (Stewart-Trinkle): lemke;
 *                                           else Newton methods and interior-point; then all pivoting
 *                                           methods, last those that run through many bases
 *   friction boxes                          small: bpp, dantzig; Newton methods, interior-point, sweeps, staggered
 *   cones                                   cone-newton, staggered, sweeps
 * and after the chain every registered solver that serves the problem and was not asked yet, the chain again
 * from zero where a guess was given, and again on the equilibrated problem.  A verified proof that there is
 * no solution ends the search; otherwise the best iterate, by the worse one of both rules where both are asked, and
 * the last certificate are returned.
 *
 * Nothing is claimed here: each attempt goes through perp_lcp_solve, with the tolerance of the caller.
 * stats.fallbacks counts the attempts that were refused; the trace names each attempt (what = "try"), with
 * its residual afterwards ("refused", "accepted").  Solvers are created when a problem first needs them, for
 * its size, and kept: a second solve of the same kind allocates nothing. */
#include "solvers/lcp/rows.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, SMALL = 48, MEDIUM = 1000, DENSE_LIMIT = 4000 };

struct opts {
  double tol;
  int attempts, budget;
  bool peers;
  char chain[PERP_TEXT_MAX];
};

static const perp_opt options[] = {
  PERP_TEXT(struct opts, chain, "",
            "solvers to try, separated by ';' (in parentheses); empty: chosen by structure"),
  PERP_INT(struct opts, attempts, 0, 0, 1000, "most attempts; 0: everything that applies"),
  PERP_INT(struct opts, budget, 0, 0, 1e9,
           "products with A and factorizations of all attempts together, after which no further "
           "solver is asked; 0: no "
           "limit"),
  PERP_BOOL(struct opts, peers, 1, "ask solvers of other libraries too, last"),
  PERP_REAL(struct opts, tol, 0, 0, 1, 0, "",
            "scaled residual of a solution; 0: what the caller accepts"),
  PERP_OPTIONS_END
};

/* one solver of the table, made when needed */
struct slot {
  perp_spec spec;
  perp_lcp_solver *s;
  int max_n, max_nv;
  bool scaled; /* on the equilibrated problem */
};

struct ws {
  struct opts o;
  int max_n, n_slots, n_chain;
  struct slot slots[2 * MOST]; /* the second half: equilibrated */
  bool asked[2 * MOST];
  int chain[MOST]; /* of the option */
  perp_arena arena;
  double *guess, *x, *best; /* [max_n] */
  double *K;                /* [capacity] for the test of definiteness */
  size_t capacity;
};

static void layout(struct ws *w, perp_arena *a)
{
  w->guess = PERP_CARVE(a, double, w->max_n);
  w->x = PERP_CARVE(a, double, w->max_n);
  w->best = PERP_CARVE(a, double, w->max_n);
}

static void destroy(void *ws)
{
  struct ws *w = ws;
  if (w == NULL) return;
  for (int k = 0; k < 2 * MOST; k++) {
    perp_lcp_destroy(w->slots[k].s);
    perp_spec_free(&w->slots[k].spec);
  }
  perp_arena_free(&w->arena);
  free(w->K);
  free(w);
}

static perp_status add(perp_ctx *ctx, struct ws *w, const char *text)
{
  if (w->n_slots == MOST) return PERP_OK;
  for (int half = 0; half < 2; half++) {
    struct slot *s = &w->slots[w->n_slots + half * MOST];
    PERP_TRY(perp_spec_parse(ctx, PERP_KIND_lcp, text, &s->spec));
    s->scaled = half == 1;
  }
  if (strcmp(w->slots[w->n_slots].spec.d->name, "auto") == 0)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "auto: cannot be a part of itself");
  w->n_slots++;
  return PERP_OK;
}

static perp_status open_slots(perp_ctx *ctx, struct ws *w)
{
  char text[PERP_TEXT_MAX];
  for (const char *at = w->o.chain; *at != '\0';) {
    size_t length = strcspn(at, ";");
    memcpy(text, at, length);
    text[length] = '\0';
    if (length > 0) {
      PERP_TRY(add(ctx, w, text));
      w->chain[w->n_chain++] = w->n_slots - 1;
    }
    at += length + (at[length] == ';');
  }
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(ctx, PERP_KIND_lcp, i)) != NULL; i++) {
    /* what goes on where nothing solves the problem is no further solver */
    if (strcmp(d->name, "auto") == 0 || (d->caps & PERP_LCP_CHOOSES) ||
        ((d->caps & PERP_LCP_PEER) && !w->o.peers))
      continue;
    PERP_TRY(add(ctx, w, d->name));
  }
  return PERP_OK;
}

static perp_status create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  *ws = NULL;
  if (max_n < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "auto: max_n = %d", max_n);
  struct ws *w = calloc(1, sizeof *w);
  if (w == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a workspace");
  w->o = *(const struct opts *)opts;
  w->max_n = max_n;
  perp_status status = open_slots(ctx, w);
  if (status == PERP_OK) {
    layout(w, &w->arena);
    status = perp_arena_reserve(ctx, &w->arena);
  }
  if (status != PERP_OK) {
    destroy(w);
    return status;
  }
  layout(w, &w->arena);
  *ws = w;
  return PERP_OK;
}

/* ---- structure ----------------------------------------------------------------------------------------------- */

struct structure {
  unsigned needs;
  bool factored, symmetric, bimatrix;
  bool nonnegative, zero; /* the diagonal: no entry < 0, some = 0 */
};

static struct structure look(const perp_lcp *p)
{
  struct structure s = { .needs = perp_lcp_needs(p), .factored = p->F != NULL };
  s.symmetric = s.nonnegative = true;
  if (s.factored) return s;
  s.symmetric = perp_lcp_asymmetry(p) <= 1e-12;
  bool all_zero = p->n > 1, negative = true;
  for (int i = 0; i < p->n; i++) {
    double a = p->A[(size_t)i * (size_t)(p->lda + 1)];
    if (a < 0) s.nonnegative = false;
    if (a == 0) s.zero = true;
    if (a != 0) all_zero = false;
    negative = negative && p->b[i] < 0;
  }
  s.bimatrix = all_zero && negative && s.needs == 0;
  return s;
}

/* Is (A + A')/2 positive semidefinite up to 1e-10 of its diagonal? */
static bool semidefinite(perp_ctx *ctx, struct ws *w, const perp_lcp *p)
{
  int n = p->n;
  size_t N = (size_t)n, lda = (size_t)p->lda;
  if (p->F != NULL) return true;
  if (n > DENSE_LIMIT) return false;
  if (N * N > w->capacity) {
    free(w->K);
    w->K = malloc(N * N * sizeof *w->K);
    w->capacity = w->K != NULL ? N * N : 0;
    if (w->K == NULL) {
      PERP_FAIL(ctx, PERP_OK, "auto: no memory to test for definiteness");
      return false;
    }
  }
  for (size_t j = 0; j < N; j++) {
    for (size_t i = j; i < N; i++) w->K[i + j * N] = 0.5 * (p->A[i + j * lda] + p->A[j + i * lda]);
    if (!(w->K[j + j * N] >= 0)) return false;
  }
  double top = 0;
  for (size_t j = 0; j < N; j++) top = fmax(top, w->K[j + j * N]);
  for (size_t j = 0; j < N; j++) w->K[j + j * N] += 1e-10 * top;
  return top > 0 && LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, w->K, n) == 0;
}

/* names in the order of trying; every registered solver follows anyway.  Where the Newton methods fail, staggered
 * with one of them in it fails as a rule, too, after more work than all the others */
static const char *const small_symmetric[] = {
  "bpp", "dantzig", "minmap-newton", "fischer-newton", "interior-point", "lemke", NULL
};
/* interior-point second: it also proves where there is nothing to find */
static const char *const symmetric[] = {
  "minmap-newton", "interior-point", "fischer-newton", "bpp", "dantzig", "lemke", NULL
};
static const char *const small_general[] = { "lemke", "minmap-newton", "fischer-newton",
                                             "interior-point", NULL };
static const char *const general[] = { "minmap-newton", "lemke", "interior-point", "fischer-newton",
                                       NULL };
static const char *const games[] = { "lemke-howson", "lemke", "interior-point", NULL };
static const char *const small_boxes[] = {
  "bpp",       "dantzig", "minmap-newton", "interior-point", "fischer-newton", "block-gs", "pgs",
  "staggered", NULL
};
static const char *const boxes[] = { "minmap-newton",
                                     "interior-point",
                                     "fischer-newton",
                                     "block-gs",
                                     "pgs",
                                     "staggered",
                                     "bpp",
                                     "dantzig",
                                     NULL };
static const char *const cones[] = { "cone-newton", "staggered", "block-gs", "pgs", NULL };

static const char *const *choose(const perp_lcp *p, const struct structure *s)
{
  bool small = p->n <= SMALL;
  if (s->needs & PERP_LCP_CONE) return cones;
  if (s->needs & PERP_LCP_FRICTION) return small && !s->factored ? small_boxes : boxes;
  if (s->bimatrix) return games;
  if (s->symmetric && s->nonnegative)
    return small || (!s->factored && p->n <= MEDIUM) ? small_symmetric : symmetric;
  return small || s->zero ? small_general : general;
}

static int slot_of(const struct ws *w, const char *name)
{
  for (int k = w->n_chain; k < w->n_slots; k++)
    if (strcmp(w->slots[k].spec.d->name, name) == 0) return k;
  return -1;
}

/* ---- attempts -------------------------------------------------------------------------------------------------- */

struct search {
  perp_ctx *ctx;
  struct ws *w;
  const perp_lcp *p;
  double *lambda, *certificate, tol;
  double rel, least; /* of the best attempt: rel, and what it is the best by */
  perp_stats *stats;
  int attempts;
  int64_t work; /* products and factorizations: no clock, so that the same problem ends the same */
  bool spent;
  perp_reason ray;
};

/* can the solver of slot k be asked at all */
static bool applies(const struct search *f, int k)
{
  const struct slot *s = &f->w->slots[k];
  unsigned caps = s->spec.d->caps;
  bool forms = s->scaled || !(caps & PERP_LCP_FACTORED);
  if (perp_lcp_needs(f->p) & ~caps) return false;
  return !(forms && f->p->n > DENSE_LIMIT);
}

/* Of a judged answer, as perp_lcp_merit: at most the tolerance when both rules hold. */
static double auto_merit(const struct search *f, const perp_stats *inner)
{
  const double tol_data = f->p->tol_data, data = inner->data * (f->tol / tol_data);
  return tol_data > 0 && !(data <= inner->residual) ? data : inner->residual;
}

/* One attempt; true when the search is over. */
static perp_status attempt(struct search *f, int k, bool *over)
{
  struct ws *w = f->w;
  struct slot *s = &w->slots[k];
  const perp_lcp *p = f->p;
  int n = p->n, nv = p->F != NULL ? p->F->nv : 0;
  *over = false;
  if (!applies(f, k) || w->asked[k]) return PERP_OK;
  if (w->o.attempts > 0 && f->attempts == w->o.attempts) {
    *over = true;
    return PERP_OK;
  }
  if (w->o.budget > 0 && f->work >= w->o.budget) {
    *over = f->spent = true;
    return PERP_OK;
  }
  w->asked[k] = true;
  if (s->s == NULL || s->max_n < n || s->max_nv < nv) {
    perp_lcp_destroy(s->s);
    s->s = NULL;
    /* room to grow: the next problem of a simulation is a little larger */
    int room = n < w->max_n / 2 ? 2 * n : w->max_n;
    s->max_n = n <= 64 && room > n ? room : n;
    s->max_nv = nv;
    PERP_TRY(perp_lcp_create(f->ctx, &s->spec, s->max_n, s->max_nv, &s->s));
    if (s->scaled) PERP_TRY(perp_lcp_equilibrate(f->ctx, s->s, true));
  }
  const char *name = s->spec.d->name;
  perp_stats inner;
  memcpy(w->x, w->guess, (size_t)n * sizeof *w->x);
  PERP_TRACE(f->ctx, .method = name, .what = s->scaled ? "try equilibrated" : "try",
             .iteration = f->attempts, .entering = -1, .leaving = -1, .residual = f->rel, .n = n);
  perp_status status = perp_lcp_solve(f->ctx, s->s, p, f->tol, w->x, NULL, NULL, &inner);
  if (status == PERP_ERR_NOMEM || status == PERP_ERR_INTERNAL) return status;
  if (status != PERP_OK)
    return PERP_OK; /* a solver that refuses the problem is no failure of ours */
  f->attempts++;
  f->work += inner.matvecs + inner.factorizations;
  f->stats->matvecs += inner.matvecs;
  f->stats->factorizations += inner.factorizations;
  bool solved = inner.reason == PERP_CONVERGED;
  PERP_TRACE(f->ctx, .method = name, .what = solved ? "accepted" : "refused",
             .iteration = f->attempts, .entering = -1, .leaving = -1, .residual = inner.residual,
             .n = n, .x = w->x);
  if (!solved && inner.reason != PERP_UNSUITED) f->stats->fallbacks++;
  const double merit = auto_merit(f, &inner);
  if (merit < f->least || solved) {
    f->least = merit;
    f->rel = inner.residual;
    f->stats->iterations = inner.iterations;
    f->stats->by = inner.by != NULL ? inner.by : name;
    memcpy(w->best, w->x, (size_t)n * sizeof *w->x);
    if (!solved && inner.reason < 0) f->stats->reason = inner.reason;
  }
  const double *proof = perp_lcp_certificate(s->s);
  bool infeasible = inner.reason == PERP_INFEASIBLE;
  bool ray = inner.reason == PERP_RAY, within = inner.reason == PERP_NONE_WITHIN;
  if (proof != NULL && (infeasible || f->ray == PERP_RUNNING || (within && f->ray == PERP_RAY))) {
    if (f->certificate != NULL) memcpy(f->certificate, proof, (size_t)n * sizeof *proof);
    if (ray || within) f->ray = inner.reason;
  }
  if (infeasible) f->ray = PERP_INFEASIBLE;
  if (solved) f->stats->reason = PERP_CONVERGED;
  *over = solved || infeasible;
  return PERP_OK;
}

/* the chain of the structure, then everything else; offset MOST: on equilibrated problems */
static perp_status pass(struct search *f, const char *const *names, int offset, bool *over)
{
  struct ws *w = f->w;
  for (int k = 0; k < w->n_chain && !*over; k++) PERP_TRY(attempt(f, w->chain[k] + offset, over));
  if (w->n_chain > 0) return PERP_OK;
  for (int k = 0; names[k] != NULL && !*over; k++) {
    int slot = slot_of(w, names[k]);
    if (slot >= 0) PERP_TRY(attempt(f, slot + offset, over));
    if (k == 0 && !*over && offset == 0 && (names == general || names == small_general) &&
        semidefinite(f->ctx, w, f->p)) { /* monotone: interior-point has a theorem */
      slot = slot_of(w, "interior-point");
      if (slot >= 0) PERP_TRY(attempt(f, slot, over));
    }
  }
  return PERP_OK;
}

static perp_status everything(struct search *f, bool *over)
{
  struct ws *w = f->w;
  const perp_lcp *p = f->p;
  for (int group = 0; group < 3 && w->n_chain == 0; group++)
    for (int k = 0; k < w->n_slots && !*over; k++) {
      const perp_desc *d = w->slots[k].spec.d;
      bool exhaustive = d->caps & PERP_LCP_EXHAUSTIVE, peer = d->caps & PERP_LCP_PEER;
      if ((peer ? 1 : exhaustive ? 2 : 0) == group) PERP_TRY(attempt(f, k, over));
    }
  (void)p;
  return PERP_OK;
}

static perp_status solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                         double *certificate, perp_stats *stats)
{
  struct ws *w = ws;
  int n = p->n;
  size_t bytes = (size_t)n * sizeof *lambda;
  if (n > w->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "auto: n = %d but the workspace holds %d", n, w->max_n);
  struct search f = { .ctx = ctx,
                      .w = w,
                      .p = p,
                      .lambda = lambda,
                      .certificate = certificate,
                      .stats = stats,
                      .rel = HUGE_VAL,
                      .least = HUGE_VAL };
  f.tol = w->o.tol > 0 ? w->o.tol : p->tol > 0 ? p->tol : 1e-8;
  perp_no_certificate(p, certificate);
  memcpy(w->guess, lambda, bytes);
  memcpy(w->best, lambda, bytes);
  memset(w->asked, 0, sizeof w->asked);
  stats->reason = PERP_STALLED;

  struct structure s = look(p);
  const char *const *names = choose(p, &s);
  bool over = n == 0, guess = false;
  if (n == 0) stats->reason = PERP_CONVERGED;
  for (int i = 0; i < n; i++) guess = guess || lambda[i] != 0;
  perp_status status = PERP_OK;
  if (!over) status = pass(&f, names, 0, &over);
  if (status == PERP_OK && !over) status = everything(&f, &over);
  if (status == PERP_OK && !over && guess) {
    memset(w->asked, 0, sizeof w->asked);
    memset(w->guess, 0, bytes);
    status = pass(&f, names, 0, &over);
  }
  if (status == PERP_OK && !over && !s.factored) status = pass(&f, names, MOST, &over);
  memcpy(lambda, w->best, bytes);
  if (status != PERP_OK) return status;
  if (f.spent) {
    stats->reason = PERP_MAX_ITER;
    PERP_FAIL(ctx, PERP_OK,
              "auto: %lld products and factorizations in %d attempts, of a budget of %d",
              (long long)f.work, f.attempts, w->o.budget);
  }
  if (stats->reason != PERP_CONVERGED && f.ray != PERP_RUNNING) stats->reason = f.ray;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_auto = {
  .d = { .name = "auto",
         .summary =
             "chooses by structure, certifies, falls back until something solves the problem",
         .reference = "none; every part has its own",
         .equation = "solver after solver until both rules hold",
         .opts = options,
         .opts_size = sizeof(struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_CONE |
                 PERP_LCP_NONSYMMETRIC | PERP_LCP_SEMIDEFINITE | PERP_LCP_FACTORED | PERP_LCP_WARM |
                 PERP_LCP_EXHAUSTIVE },
  .create = create,
  .solve = solve,
  .destroy = destroy,
  .serves =
      "whatever one of the registered solvers solves; every answer is judged before it is taken",
  .ties = "those of the solver that answers (stats name it)",
  .cost =
      "that of every solver it asks, together; n^2 numbers and the workspaces of the solvers asked",
  .counts = "what the solver that answers counts",
  .same = "*", /* whatever it chooses */
};
