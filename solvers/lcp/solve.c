/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One solve: check, refuse what the method does not serve, solve, judge, verify the certificate.
 * Whatever a method claims, PERP_CONVERGED is given here and by the judge alone. */
#include "solvers/lcp/exact_lcp.h"
#include "solvers/lcp/lcp_private.h"
#include "solvers/lcp/problem.h"
#include "solvers/lcp/stewart.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct perp_lcp_solver {
  const perp_lcp_desc *d;
  void *ws;
  int max_n, max_nv;
  perp_arena arena, scaled;
  double *scratch;      /* [PERP_LCP_SCRATCH] */
  double *certificate;  /* [max_n] */
  double *w;            /* [max_n] */
  double *a;            /* [max_n] row scales of a dense problem */
  double asymmetry;     /* of a dense problem */
  perp_lcp_known known; /* of the problem that is being solved */
  double *A;            /* [max_n max_n] of factored problems, for methods that need it */
  double *spread; /* [spread_n spread_n] of sparse problems, for methods that need a dense A */
  int spread_n;
  double *product; /* sub-matrix product while forming A */
  size_t product_size;
  double *D, *SA, *Sb, *Slo, *Shi, *Smu, *Sunit,
      *formed;       /* equilibrated problem; D is NULL when off */
  bool outside;      /* the method does not come with perp: it gets copies of all data */
  perp_arena copies; /* of them */
  size_t copies_size;
  perp_lcp_proof proof;
};

static void solve_layout(void *solver, perp_arena *arena)
{
  struct perp_lcp_solver *lcp_solver = solver;
  size_t n = (size_t)lcp_solver->max_n;
  bool form = lcp_solver->max_nv > 0 && !(lcp_solver->d->d.caps & PERP_LCP_FACTORED);
  lcp_solver->scratch = PERP_CARVE(arena, double, PERP_LCP_SCRATCH(n, lcp_solver->max_nv));
  PERP_DOUBLES(arena, n, &lcp_solver->certificate, &lcp_solver->w, &lcp_solver->a,
               &lcp_solver->known.x, &lcp_solver->known.w);
  lcp_solver->A = form ? PERP_CARVE(arena, double, n *n) : NULL;
}

static void layout_scaled(void *solver, perp_arena *arena)
{
  struct perp_lcp_solver *lcp_solver = solver;
  size_t n = (size_t)lcp_solver->max_n;
  lcp_solver->D = PERP_CARVE(arena, double, n);
  lcp_solver->SA = PERP_CARVE(arena, double, n *n);
  PERP_DOUBLES(arena, n, &lcp_solver->Sb, &lcp_solver->Slo, &lcp_solver->Shi, &lcp_solver->Smu,
               &lcp_solver->Sunit);
  lcp_solver->formed = lcp_solver->max_nv > 0 && lcp_solver->A == NULL
                           ? PERP_CARVE(arena, double, n *n)
                           : NULL;
}

perp_status perp_lcp_create(perp_ctx *ctx, const perp_spec *method, int max_n, int max_nv,
                            perp_lcp_solver **out)
{
  *out = NULL;
  if (max_n < 0 || max_nv < 0)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "lcp: max_n and max_nv must not be negative: got %d and %d",
                     max_n, max_nv);
  const perp_lcp_desc *desc = (const perp_lcp_desc *)(const void *)method->d;
  perp_lcp_solver *solver = calloc(1, sizeof *solver);
  if (solver == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "lcp: no memory for a solver");
  solver->d = desc;
  solver->max_n = max_n;
  solver->max_nv = max_nv;
  solver->outside = !perp_is_own(ctx, &desc->d);
  perp_status status = perp_arena_layout(ctx, &solver->arena, solve_layout, solver);
  if (status == PERP_OK) status = desc->create(ctx, max_n, method->opts, &solver->ws);
  if (status != PERP_OK) {
    perp_lcp_destroy(solver);
    return status;
  }
  *out = solver;
  return PERP_OK;
}

void perp_lcp_destroy(perp_lcp_solver *solver)
{
  if (solver == NULL) return;
  if (solver->ws != NULL) solver->d->destroy(solver->ws);
  perp_arena_free(&solver->arena);
  perp_arena_free(&solver->scaled);
  perp_arena_free(&solver->copies);
  free(solver->product);
  free(solver->spread);
  free(solver);
}

perp_status perp_lcp_equilibrate(perp_ctx *ctx, perp_lcp_solver *solver, bool on)
{
  if (on == (solver->D != NULL)) return PERP_OK;
  if (on) return perp_arena_layout(ctx, &solver->scaled, layout_scaled, solver);
  perp_arena_free(&solver->scaled);
  solver->D = NULL;
  return PERP_OK;
}

/* A of a factored problem, column-major n x n */
static perp_status solve_form(perp_ctx *ctx, perp_lcp_solver *solver, const perp_blocks *blocks,
                              double *A)
{
  const size_t most = perp_lcp_largest_block(blocks);
  if (most >
      solver->product_size) { /* only where the pattern brings a larger sub-matrix than before */
    double *bigger = realloc(solver->product, most * sizeof *bigger);
    if (bigger == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "lcp: no memory for %zu numbers", most);
    solver->product = bigger;
    solver->product_size = most;
  }
  perp_blocks_delassus(blocks, A, blocks->m, solver->product);
  return PERP_OK;
}

/* A of a sparse problem; allocates where a problem is larger than all before. */
static perp_status solve_spread(perp_ctx *ctx, perp_lcp_solver *solver, const perp_columns *columns)
{
  char what[80];
  if (columns->n > solver->spread_n) {
    const double numbers = (double)columns->n * columns->n;
    snprintf(what, sizeof what, "%s needs a dense A: with %d rows it", solver->d->d.name,
             columns->n);
    PERP_TRY(perp_lcp_affords(ctx, numbers * sizeof *solver->spread, what));
    free(solver->spread);
    solver->spread_n = 0;
    solver->spread = perp_lcp_zeroed(numbers, sizeof *solver->spread);
    if (solver->spread == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "lcp: no memory for %d rows", columns->n);
    solver->spread_n = columns->n;
  }
  perp_columns_form(columns, solver->spread, columns->n);
  return PERP_OK;
}

/* What of p the method cannot serve; NULL when nothing. */
static const char *solve_unsuited(const perp_lcp_desc *desc, const perp_lcp *lcp, double asymmetry)
{
  unsigned lacks = perp_lcp_needs(lcp) & ~desc->d.caps;
  if (lacks & PERP_LCP_CONE) return "circular cones";
  if (lacks & PERP_LCP_FRICTION) return "friction rows";
  if (lacks & PERP_LCP_FREE) return "free rows";
  if (lacks & PERP_LCP_BOX) return "finite bounds";
  /* files with six digits are symmetric to that accuracy only */
  if (!(desc->d.caps & PERP_LCP_NONSYMMETRIC) && asymmetry > 1e-3) return "a nonsymmetric A";
  if ((desc->d.caps & PERP_LCP_BY_ROWS) && perp_stewart_slack(lcp))
    return "Stewart-Trinkle rows (their slacks have A_ii = 0); use block-gs or lemke";
  return NULL;
}

/* "; auto, lemke serve it": registered methods for lcp, auto before all others, as many as have
 * room;
 * "" where there is none. */
static void solve_serving(const perp_ctx *ctx, const perp_lcp *lcp, double asymmetry, char *text,
                          size_t room)
{
  size_t at = 0;
  text[0] = '\0';
  for (int pass = 0; pass < 2; pass++) {
    const perp_desc *desc;
    for (int i = 0; (desc = perp_plugin_at(ctx, PERP_KIND_lcp, i)) != NULL; i++) {
      const perp_lcp_desc *m = (const perp_lcp_desc *)(const void *)desc;
      if ((strcmp(desc->name, "auto") == 0) != (pass == 0)) continue;
      if (desc->caps & (PERP_LCP_PEER | PERP_LCP_STRUCTURED)) continue;
      if (solve_unsuited(m, lcp, asymmetry) != NULL) continue;
      if (at + strlen(desc->name) + sizeof "; , serve it" > room) continue;
      at += (size_t)snprintf(text + at, room - at, "%s%s", at == 0 ? "; " : ", ", desc->name);
    }
  }
  if (at > 0) snprintf(text + at, room - at, " serve it");
}

const char *perp_lcp_unsuited(const perp_desc *method, const perp_lcp *lcp)
{
  const perp_lcp_desc *desc = (const perp_lcp_desc *)(const void *)method;
  return solve_unsuited(desc, lcp,
                        desc->d.caps & PERP_LCP_NONSYMMETRIC ? 0 : perp_lcp_asymmetry(lcp));
}

perp_status perp_lcp_unstructured(perp_ctx *ctx, const perp_desc *method, const char *what)
{
  if (!(method->caps & PERP_LCP_STRUCTURED)) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                   "'%s' does not serve problems of %s (%s); use --lcp dantzig or --lcp lemke",
                   method->name, what, method->summary);
}

static void start_at_zero(const perp_lcp *lcp, double *lambda)
{
  for (int i = 0; i < lcp->n; i++) {
    double lo, hi;
    lambda[i] = 0;
    if (lcp->fric_of != NULL && lcp->fric_of[i] >= 0 && !lcp->frozen) continue;
    perp_lcp_bounds(lcp, lambda, i, &lo, &hi);
    lambda[i] = lo > 0 ? lo : hi < 0 ? hi : 0;
  }
}

static bool finite_vector(const double *x, int n)
{
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= DBL_MAX)) return false;
  return true;
}

static void *solve_copied(perp_arena *arena, const void *from, size_t count, size_t size)
{
  void *to = from != NULL ? perp_arena_carve(arena, count, size) : NULL;
  if (to != NULL && count > 0) memcpy(to, from, count * size);
  return to;
}

/* p with copies of all its data in a, which has room for them or none at all and then counts. */
static perp_lcp copy_problem(const perp_lcp *p, perp_arena *arena)
{
  perp_lcp q = *p;
  const size_t n = (size_t)p->n;
  q.known = NULL;
  if (p->A != NULL && n > 0) {
    const size_t ld = (size_t)p->lda;
    q.A = solve_copied(arena, p->A, ld * (n - 1) + n, sizeof *p->A);
  }
  if (p->F != NULL) q.F = perp_blocks_copy(p->F, arena);
  if (p->C != NULL) q.C = perp_columns_copy(p->C, arena);
  q.b = solve_copied(arena, p->b, n, sizeof *p->b);
  q.lo = solve_copied(arena, p->lo, n, sizeof *p->lo);
  q.hi = solve_copied(arena, p->hi, n, sizeof *p->hi);
  q.fric_of = solve_copied(arena, p->fric_of, n, sizeof *p->fric_of);
  q.mu = solve_copied(arena, p->mu, n, sizeof *p->mu);
  q.cone = solve_copied(arena, p->cone, n, sizeof *p->cone);
  q.unit = solve_copied(arena, p->unit, n, sizeof *p->unit);
  q.contact_of = solve_copied(arena, p->contact_of, n, sizeof *p->contact_of);
  return q;
}

/* The method on p.  One from outside cannot change what is judged afterwards, whatever it casts
 * away. */
static perp_status solve_call(perp_ctx *ctx, perp_lcp_solver *solver, const perp_lcp *p,
                              double *lambda, perp_stats *stats)
{
  if (!solver->outside)
    return solver->d->solve(ctx, solver->ws, p, lambda, solver->certificate, stats);
  perp_arena count = { 0 };
  copy_problem(p, &count);
  if (count.used > solver->copies_size) { /* only where a problem is larger than all before */
    perp_arena_free(&solver->copies);
    solver->copies_size = 0;
    solver->copies.used = count.used;
    PERP_TRY(perp_arena_reserve(ctx, &solver->copies));
    solver->copies_size = count.used;
  }
  solver->copies.used = 0;
  const perp_lcp q = copy_problem(p, &solver->copies);
  return solver->d->solve(ctx, solver->ws, &q, lambda, solver->certificate, stats);
}

double perp_lcp_product_work(const perp_lcp *lcp)
{
  return lcp->F != NULL   ? 2.0 * lcp->F->joff[lcp->F->jptr[lcp->F->nc]]
         : lcp->C != NULL ? lcp->C->start[lcp->n]
                          : (double)lcp->n * lcp->n;
}

/* What a budget is for: up to so many dense rows, or numbers of J or of a sparse A. */
static const double BUDGET_ROWS = 800, BUDGET_NUMBERS = 5e4;

double perp_lcp_afford(const perp_lcp *lcp, double budget)
{
  const double larger = lcp->F != NULL   ? lcp->F->joff[lcp->F->jptr[lcp->F->nc]] / BUDGET_NUMBERS
                        : lcp->C != NULL ? lcp->C->start[lcp->n] / BUDGET_NUMBERS
                                         : pow(lcp->n / BUDGET_ROWS, 3);
  return 1e9 * budget * fmax(1, larger);
}

/* Run the method on what it understands of p: plain boxes for frozen friction, dense A,
 * equilibrated. */
static perp_status solve_run(perp_ctx *ctx, perp_lcp_solver *solver, const perp_lcp *p,
                             double *lambda, perp_stats *stats)
{
  perp_lcp lcp = *p, scaled;
  double formed = 0; /* the work of that */
  if (lcp.frozen) {
    lcp.fric_of = NULL;
    lcp.cone = NULL;
    lcp.mu = NULL;
    lcp.frozen = false;
  }
  if (lcp.F != NULL && (solver->D != NULL || !(solver->d->d.caps & PERP_LCP_FACTORED))) {
    double *A = solver->A != NULL ? solver->A : solver->formed;
    PERP_TRY(solve_form(ctx, solver, lcp.F, A));
    formed = (double)lcp.n * lcp.n;
    lcp.A = A;
    lcp.lda = lcp.n;
    lcp.F = NULL;
  }
  if (lcp.C != NULL && (solver->D != NULL || !(solver->d->d.caps & PERP_LCP_SPARSE))) {
    PERP_TRY(solve_spread(ctx, solver, lcp.C));
    formed = (double)lcp.n * lcp.n;
    lcp.A = solver->spread;
    lcp.lda = lcp.n;
    lcp.C = NULL;
  }
  const char *what = solve_unsuited(solver->d, &lcp, solver->asymmetry);
  if (what != NULL) {
    stats->reason = PERP_UNSUITED;
    char who[160];
    solve_serving(ctx, &lcp, solver->asymmetry, who, sizeof who);
    PERP_FAIL(ctx, PERP_OK, "%s does not serve %s%s", solver->d->d.name, what, who);
    return PERP_OK;
  }
  if (solver->D == NULL) {
    perp_status done = solve_call(ctx, solver, &lcp, lambda, stats);
    stats->work += formed;
    return done;
  }

  perp_lcp_equilibration(&lcp, solver->D, solver->scratch);
  perp_lcp_rescale(&lcp, solver->D, solver->SA, solver->Sb, solver->Slo, solver->Shi, solver->Smu,
                   &scaled);
  for (int i = 0; i < lcp.n; i++)
    solver->Sunit[i] = (lcp.unit != NULL ? lcp.unit[i] : 1) / solver->D[i];
  scaled.unit = solver->Sunit;
  for (int i = 0; i < lcp.n; i++) lambda[i] /= solver->D[i];
  perp_status status = solve_call(ctx, solver, &scaled, lambda, stats);
  stats->work += formed;
  for (int i = 0; i < lcp.n; i++) {
    lambda[i] *= solver->D[i];
    solver->certificate[i] *= solver->D[i];
  }
  return status;
}

/* Only what can be verified is passed on.  An exhaustive method need not have a vector; of those of
 * perp the exact search is a part: what they leave unsolved may have no solution, whether they say
 * so or not. */
static perp_reason solve_weigh(perp_lcp_solver *solver, const perp_lcp *lcp, perp_reason reason)
{
  bool claims = reason == PERP_RAY || reason == PERP_INFEASIBLE || reason == PERP_NONE_WITHIN;
  bool exhaustive = (solver->d->d.caps & PERP_LCP_EXHAUSTIVE) != 0;
  const bool brief = lcp->brief && lcp->n > PERP_LCP_BRIEF;
  if (!claims && (!exhaustive || solver->outside || brief || reason == PERP_UNSUITED))
    return reason;
  if (finite_vector(solver->certificate, lcp->n))
    solver->proof = brief ? perp_lcp_glance(lcp, solver->certificate, solver->scratch)
                          : perp_lcp_sharpen(lcp, solver->certificate, solver->certificate,
                                             solver->scratch);
  if (solver->proof == PERP_PROOF_INFEASIBLE) return PERP_INFEASIBLE;
  if (reason == PERP_INFEASIBLE && exhaustive && !brief &&
      perp_exact_exclude(lcp, PERP_EXCLUDE_WORK, NULL, solver->scratch) == PERP_EXACT_IMPOSSIBLE) {
    solver->proof = PERP_PROOF_EXCLUDED;
    return PERP_INFEASIBLE;
  }
  if (!claims) return reason;
  if (solver->proof == PERP_PROOF_WITHIN) return PERP_NONE_WITHIN;
  return solver->proof == PERP_PROOF_RAY || reason == PERP_RAY ? PERP_RAY : PERP_INACCURATE;
}

/* Rate lambda; w [n] out. */
static perp_reason solve_judge(perp_lcp_solver *solver, const perp_lcp *lcp, double tol,
                               const double *lambda, double *w, perp_lcp_judgement *judgement,
                               perp_stats *stats)
{
  perp_lcp_known *known = lcp->known;
  const size_t bytes = (size_t)lcp->n * sizeof *lambda;
  if (judgement != NULL) {
    perp_lcp_judge(lcp, lambda, w, solver->scratch, judgement);
    stats->residual = perp_lcp_residual(lcp, judgement);
    stats->data = judgement->data;
    return perp_lcp_verdict(lcp, tol, judgement);
  }
  double *rest = solver->scratch + lcp->n;
  const double *a = known->a;
  const bool swept = lcp->brief && stats->reason == PERP_SWEEPS_DONE;
  const bool shared = !swept && tol == known->tol && lcp->brief == known->of->brief &&
                      lcp->tol_data == known->of->tol_data;
  if (shared && known->judged && memcmp(known->x, lambda, bytes) == 0) {
    memcpy(w, known->w, bytes);
    stats->residual = known->residual;
    stats->data = known->data;
    return known->verdict;
  }
  perp_lcp_product(lcp, lambda, w, rest);
  /* so much work and no test: nothing to decide, but for luck */
  if (swept && lcp->A == NULL &&
      perp_lcp_rate_factored(lcp, lambda, w, solver->scratch, rest, &stats->residual,
                             &stats->data) &&
      !(stats->residual <= tol))
    return PERP_INACCURATE;
  if (lcp->A == NULL) {
    perp_lcp_scales(lcp, solver->scratch, rest);
    a = solver->scratch;
  }
  if (swept) {
    perp_lcp_rate(lcp, a, lambda, w, &stats->residual, &stats->data);
    if (!(stats->residual <= tol)) return PERP_INACCURATE;
  }
  const perp_reason verdict = perp_lcp_decide(lcp, tol, a, lambda, w, solver->scratch,
                                              &stats->residual, &stats->data);
  if (shared && known != &solver->known) {
    memcpy(known->x, lambda, bytes);
    memcpy(known->w, w, bytes);
    known->judged = true;
    known->verdict = verdict;
    known->residual = stats->residual;
    known->data = stats->data;
  }
  return verdict;
}

perp_status perp_lcp_solve(perp_ctx *ctx, perp_lcp_solver *solver, const perp_lcp *lcp, double tol,
                           double *lambda, double *w, perp_lcp_judgement *judgement,
                           perp_stats *stats)
{
  bool finite;
  int n = lcp->n;
  *stats = (perp_stats){ .residual = (double)NAN };
  solver->proof = PERP_PROOF_NONE;
  if (!(tol > 0)) return PERP_FAIL(ctx, PERP_ERR_ARG, "tol = %g must be > 0", tol);
  if (n > solver->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "n = %d, but %s was created for at most %d rows", n,
                     solver->d->d.name, solver->max_n);
  if (lcp->F != NULL && lcp->F->nv > solver->max_nv)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "J has %d columns, but %s was created for at most %d",
                     lcp->F->nv, solver->d->d.name, solver->max_nv);
  perp_lcp q = *lcp;
  q.tol = tol;
  if (perp_lcp_knows(lcp)) {
    finite = true;
    solver->asymmetry = lcp->known->asymmetry;
  } else {
    PERP_TRY(perp_lcp_check(ctx, lcp, lcp->A == NULL ? &finite : NULL));
    solver->asymmetry = 0; /* of J M^-1 J' + S, formed or not */
    if (lcp->A != NULL) perp_lcp_survey(lcp, solver->a, &solver->asymmetry, &finite);
    if (lcp->C != NULL) solver->asymmetry = perp_lcp_asymmetry(lcp);
    solver->known.of = lcp;
    solver->known.tol = tol;
    solver->known.asymmetry = solver->asymmetry;
    solver->known.a = solver->a;
    solver->known.judged = false;
    q.known = &solver->known;
  }

  double *x = w != NULL ? w : solver->w;
  if (!finite) {
    for (int i = 0; i < n; i++) lambda[i] = x[i] = 0;
    start_at_zero(lcp, lambda);
    stats->reason = PERP_NOT_FINITE;
    if (judgement != NULL) *judgement = perp_lcp_no_judgement();
    return PERP_OK;
  }
  if (!finite_vector(lambda, n)) start_at_zero(lcp, lambda);
  for (int i = 0; i < n; i++) solver->certificate[i] = 0;

  perp_status status = solve_run(ctx, solver, &q, lambda, stats);
  if (status != PERP_OK) return status;
  if (!finite_vector(lambda, n)) {
    start_at_zero(lcp, lambda);
    stats->reason = PERP_NOT_FINITE;
  }
  /* methods that do not count: a step is worth a product, or the factorization that it says */
  if (!(stats->work > 0) && stats->reason != PERP_UNSUITED)
    stats->work = (double)n * n *
                  (fmax((double)stats->matvecs, stats->iterations) + 1 +
                   stats->factorizations * (n / 3.0));

  perp_reason verdict = solve_judge(solver, &q, tol, lambda, x, judgement, stats);
  if (verdict == PERP_CONVERGED)
    stats->reason = PERP_CONVERGED;
  else if (verdict == PERP_UNDECIDED)
    stats->reason = PERP_UNDECIDED;
  else if (stats->reason >= 0)
    stats->reason = PERP_INACCURATE;
  else
    stats->reason = solve_weigh(solver, lcp, stats->reason);
  return PERP_OK;
}

perp_lcp_proof perp_lcp_proved(const perp_lcp_solver *solver)
{
  return solver->proof;
}

const double *perp_lcp_certificate(const perp_lcp_solver *solver)
{
  return solver->proof != PERP_PROOF_NONE && solver->proof != PERP_PROOF_EXCLUDED
             ? solver->certificate
             : NULL;
}
