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
  double *scratch;     /* [PERP_LCP_SCRATCH] */
  double *certificate; /* [max_n] */
  double *w;           /* [max_n] */
  double *a;           /* [max_n] row scales of a dense problem */
  double asymmetry;    /* of a dense problem */
  double *A;           /* [max_n max_n] of factored problems, for methods that need it */
  double *spread;      /* [spread_n spread_n] of sparse problems, for methods that need a dense A */
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

static void solve_layout(void *solver, perp_arena *a)
{
  struct perp_lcp_solver *s = solver;
  size_t n = (size_t)s->max_n;
  bool form = s->max_nv > 0 && !(s->d->d.caps & PERP_LCP_FACTORED);
  s->scratch = PERP_CARVE(a, double, PERP_LCP_SCRATCH(n, s->max_nv));
  PERP_DOUBLES(a, n, &s->certificate, &s->w, &s->a);
  s->A = form ? PERP_CARVE(a, double, n *n) : NULL;
}

static void layout_scaled(void *solver, perp_arena *a)
{
  struct perp_lcp_solver *s = solver;
  size_t n = (size_t)s->max_n;
  s->D = PERP_CARVE(a, double, n);
  s->SA = PERP_CARVE(a, double, n *n);
  PERP_DOUBLES(a, n, &s->Sb, &s->Slo, &s->Shi, &s->Smu, &s->Sunit);
  s->formed = s->max_nv > 0 && s->A == NULL ? PERP_CARVE(a, double, n *n) : NULL;
}

perp_status perp_lcp_create(perp_ctx *ctx, const perp_spec *method, int max_n, int max_nv,
                            perp_lcp_solver **out)
{
  *out = NULL;
  if (max_n < 0 || max_nv < 0)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "lcp: max_n and max_nv must not be negative: got %d and %d",
                     max_n, max_nv);
  const perp_lcp_desc *d = (const perp_lcp_desc *)(const void *)method->d;
  perp_lcp_solver *s = calloc(1, sizeof *s);
  if (s == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "lcp: no memory for a solver");
  s->d = d;
  s->max_n = max_n;
  s->max_nv = max_nv;
  s->outside = !perp_is_own(ctx, &d->d);
  perp_status status = perp_arena_layout(ctx, &s->arena, solve_layout, s);
  if (status == PERP_OK) status = d->create(ctx, max_n, method->opts, &s->ws);
  if (status != PERP_OK) {
    perp_lcp_destroy(s);
    return status;
  }
  *out = s;
  return PERP_OK;
}

void perp_lcp_destroy(perp_lcp_solver *s)
{
  if (s == NULL) return;
  if (s->ws != NULL) s->d->destroy(s->ws);
  perp_arena_free(&s->arena);
  perp_arena_free(&s->scaled);
  perp_arena_free(&s->copies);
  free(s->product);
  free(s->spread);
  free(s);
}

perp_status perp_lcp_equilibrate(perp_ctx *ctx, perp_lcp_solver *s, bool on)
{
  if (on == (s->D != NULL)) return PERP_OK;
  if (on) return perp_arena_layout(ctx, &s->scaled, layout_scaled, s);
  perp_arena_free(&s->scaled);
  s->D = NULL;
  return PERP_OK;
}

/* A of a factored problem, column-major n x n */
static perp_status solve_form(perp_ctx *ctx, perp_lcp_solver *s, const perp_blocks *F, double *A)
{
  const size_t most = perp_lcp_largest_block(F);
  if (most > s->product_size) { /* only where the pattern brings a larger sub-matrix than before */
    double *bigger = realloc(s->product, most * sizeof *bigger);
    if (bigger == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "lcp: no memory for %zu numbers", most);
    s->product = bigger;
    s->product_size = most;
  }
  perp_blocks_delassus(F, A, F->m, s->product);
  return PERP_OK;
}

/* A of a sparse problem; allocates where a problem is larger than all before. */
static perp_status solve_spread(perp_ctx *ctx, perp_lcp_solver *s, const perp_columns *C)
{
  char what[80];
  if (C->n > s->spread_n) {
    const double numbers = (double)C->n * C->n;
    snprintf(what, sizeof what, "%s needs a dense A: with %d rows it", s->d->d.name, C->n);
    PERP_TRY(perp_lcp_affords(ctx, numbers * sizeof *s->spread, what));
    free(s->spread);
    s->spread_n = 0;
    s->spread = perp_lcp_zeroed(numbers, sizeof *s->spread);
    if (s->spread == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "lcp: no memory for %d rows", C->n);
    s->spread_n = C->n;
  }
  perp_columns_form(C, s->spread, C->n);
  return PERP_OK;
}

/* What of p the method cannot serve; NULL when nothing. */
static const char *solve_unsuited(const perp_lcp_desc *d, const perp_lcp *p, double asymmetry)
{
  unsigned lacks = perp_lcp_needs(p) & ~d->d.caps;
  if (lacks & PERP_LCP_CONE) return "circular cones";
  if (lacks & PERP_LCP_FRICTION) return "friction rows";
  if (lacks & PERP_LCP_FREE) return "free rows";
  if (lacks & PERP_LCP_BOX) return "finite bounds";
  /* files with six digits are symmetric to that accuracy only */
  if (!(d->d.caps & PERP_LCP_NONSYMMETRIC) && asymmetry > 1e-3) return "a nonsymmetric A";
  if ((d->d.caps & PERP_LCP_BY_ROWS) && perp_stewart_slack(p))
    return "Stewart-Trinkle rows (their slacks have A_ii = 0); use block-gs or lemke";
  return NULL;
}

/* "; auto, lemke serve it": registered methods for p, auto before all others, as many as have room;
 * "" where there is none. */
static void solve_serving(const perp_ctx *ctx, const perp_lcp *p, double asymmetry, char *text,
                          size_t room)
{
  size_t at = 0;
  text[0] = '\0';
  for (int pass = 0; pass < 2; pass++) {
    const perp_desc *d;
    for (int i = 0; (d = perp_plugin_at(ctx, PERP_KIND_lcp, i)) != NULL; i++) {
      const perp_lcp_desc *m = (const perp_lcp_desc *)(const void *)d;
      if ((strcmp(d->name, "auto") == 0) != (pass == 0)) continue;
      if (d->caps & (PERP_LCP_PEER | PERP_LCP_STRUCTURED)) continue;
      if (solve_unsuited(m, p, asymmetry) != NULL) continue;
      if (at + strlen(d->name) + sizeof "; , serve it" > room) continue;
      at += (size_t)snprintf(text + at, room - at, "%s%s", at == 0 ? "; " : ", ", d->name);
    }
  }
  if (at > 0) snprintf(text + at, room - at, " serve it");
}

const char *perp_lcp_unsuited(const perp_desc *method, const perp_lcp *p)
{
  const perp_lcp_desc *d = (const perp_lcp_desc *)(const void *)method;
  return solve_unsuited(d, p, d->d.caps & PERP_LCP_NONSYMMETRIC ? 0 : perp_lcp_asymmetry(p));
}

perp_status perp_lcp_unstructured(perp_ctx *ctx, const perp_desc *method, const char *what)
{
  if (!(method->caps & PERP_LCP_STRUCTURED)) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                   "'%s' does not serve problems of %s (%s); use --lcp dantzig or --lcp lemke",
                   method->name, what, method->summary);
}

static void start_at_zero(const perp_lcp *p, double *lambda)
{
  for (int i = 0; i < p->n; i++) {
    double lo, hi;
    lambda[i] = 0;
    if (p->fric_of != NULL && p->fric_of[i] >= 0 && !p->frozen) continue;
    perp_lcp_bounds(p, lambda, i, &lo, &hi);
    lambda[i] = lo > 0 ? lo : hi < 0 ? hi : 0;
  }
}

static bool finite_vector(const double *x, int n)
{
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= DBL_MAX)) return false;
  return true;
}

static void *solve_copied(perp_arena *a, const void *from, size_t count, size_t size)
{
  void *to = from != NULL ? perp_arena_carve(a, count, size) : NULL;
  if (to != NULL && count > 0) memcpy(to, from, count * size);
  return to;
}

/* p with copies of all its data in a, which has room for them or none at all and then counts. */
static perp_lcp copy_problem(const perp_lcp *p, perp_arena *a)
{
  perp_lcp q = *p;
  const size_t n = (size_t)p->n;
  if (p->A != NULL && n > 0) {
    const size_t ld = (size_t)p->lda;
    q.A = solve_copied(a, p->A, ld * (n - 1) + n, sizeof *p->A);
  }
  if (p->F != NULL) q.F = perp_blocks_copy(p->F, a);
  if (p->C != NULL) q.C = perp_columns_copy(p->C, a);
  q.b = solve_copied(a, p->b, n, sizeof *p->b);
  q.lo = solve_copied(a, p->lo, n, sizeof *p->lo);
  q.hi = solve_copied(a, p->hi, n, sizeof *p->hi);
  q.fric_of = solve_copied(a, p->fric_of, n, sizeof *p->fric_of);
  q.mu = solve_copied(a, p->mu, n, sizeof *p->mu);
  q.cone = solve_copied(a, p->cone, n, sizeof *p->cone);
  q.unit = solve_copied(a, p->unit, n, sizeof *p->unit);
  q.contact_of = solve_copied(a, p->contact_of, n, sizeof *p->contact_of);
  return q;
}

/* The method on p.  One from outside cannot change what is judged afterwards, whatever it casts
 * away. */
static perp_status solve_call(perp_ctx *ctx, perp_lcp_solver *s, const perp_lcp *p, double *lambda,
                              perp_stats *stats)
{
  if (!s->outside) return s->d->solve(ctx, s->ws, p, lambda, s->certificate, stats);
  perp_arena count = { 0 };
  copy_problem(p, &count);
  if (count.used > s->copies_size) { /* only where a problem is larger than all before */
    perp_arena_free(&s->copies);
    s->copies_size = 0;
    s->copies.used = count.used;
    PERP_TRY(perp_arena_reserve(ctx, &s->copies));
    s->copies_size = count.used;
  }
  s->copies.used = 0;
  const perp_lcp q = copy_problem(p, &s->copies);
  return s->d->solve(ctx, s->ws, &q, lambda, s->certificate, stats);
}

/* What a budget is for: up to so many dense rows, or numbers of J or of a sparse A. */
static const double BUDGET_ROWS = 800, BUDGET_NUMBERS = 5e4;

double perp_lcp_afford(const perp_lcp *p, double budget)
{
  const double larger = p->F != NULL   ? p->F->joff[p->F->jptr[p->F->nc]] / BUDGET_NUMBERS
                        : p->C != NULL ? p->C->start[p->n] / BUDGET_NUMBERS
                                       : pow(p->n / BUDGET_ROWS, 3);
  return 1e9 * budget * fmax(1, larger);
}

/* Run the method on what it understands of p: plain boxes for frozen friction, dense A,
 * equilibrated. */
static perp_status solve_run(perp_ctx *ctx, perp_lcp_solver *s, const perp_lcp *p, double *lambda,
                             perp_stats *stats)
{
  perp_lcp q = *p, scaled;
  double formed = 0; /* the work of that */
  if (q.frozen) {
    q.fric_of = NULL;
    q.cone = NULL;
    q.mu = NULL;
    q.frozen = false;
  }
  if (q.F != NULL && (s->D != NULL || !(s->d->d.caps & PERP_LCP_FACTORED))) {
    double *A = s->A != NULL ? s->A : s->formed;
    PERP_TRY(solve_form(ctx, s, q.F, A));
    formed = (double)q.n * q.n;
    q.A = A;
    q.lda = q.n;
    q.F = NULL;
  }
  if (q.C != NULL && (s->D != NULL || !(s->d->d.caps & PERP_LCP_SPARSE))) {
    PERP_TRY(solve_spread(ctx, s, q.C));
    formed = (double)q.n * q.n;
    q.A = s->spread;
    q.lda = q.n;
    q.C = NULL;
  }
  const char *what = solve_unsuited(s->d, &q, s->asymmetry);
  if (what != NULL) {
    stats->reason = PERP_UNSUITED;
    char who[160];
    solve_serving(ctx, &q, s->asymmetry, who, sizeof who);
    PERP_FAIL(ctx, PERP_OK, "%s does not serve %s%s", s->d->d.name, what, who);
    return PERP_OK;
  }
  if (s->D == NULL) {
    perp_status done = solve_call(ctx, s, &q, lambda, stats);
    stats->work += formed;
    return done;
  }

  perp_lcp_equilibration(&q, s->D, s->scratch);
  perp_lcp_rescale(&q, s->D, s->SA, s->Sb, s->Slo, s->Shi, s->Smu, &scaled);
  for (int i = 0; i < q.n; i++) s->Sunit[i] = (q.unit != NULL ? q.unit[i] : 1) / s->D[i];
  scaled.unit = s->Sunit;
  for (int i = 0; i < q.n; i++) lambda[i] /= s->D[i];
  perp_status status = solve_call(ctx, s, &scaled, lambda, stats);
  stats->work += formed;
  for (int i = 0; i < q.n; i++) {
    lambda[i] *= s->D[i];
    s->certificate[i] *= s->D[i];
  }
  return status;
}

/* Only what can be verified is passed on.  An exhaustive method need not have a vector; of those of
 * perp the exact search is a part: what they leave unsolved may have no solution, whether they say
 * so or not. */
static perp_reason solve_weigh(perp_lcp_solver *s, const perp_lcp *p, perp_reason reason)
{
  bool claims = reason == PERP_RAY || reason == PERP_INFEASIBLE || reason == PERP_NONE_WITHIN;
  bool exhaustive = (s->d->d.caps & PERP_LCP_EXHAUSTIVE) != 0;
  const bool brief = p->brief && p->n > PERP_LCP_BRIEF;
  if (!claims && (!exhaustive || s->outside || brief || reason == PERP_UNSUITED)) return reason;
  if (finite_vector(s->certificate, p->n))
    s->proof = brief ? perp_lcp_glance(p, s->certificate, s->scratch)
                     : perp_lcp_sharpen(p, s->certificate, s->certificate, s->scratch);
  if (s->proof == PERP_PROOF_INFEASIBLE) return PERP_INFEASIBLE;
  if (reason == PERP_INFEASIBLE && exhaustive && !brief &&
      perp_exact_exclude(p, PERP_EXCLUDE_WORK, NULL, s->scratch) == PERP_EXACT_IMPOSSIBLE) {
    s->proof = PERP_PROOF_EXCLUDED;
    return PERP_INFEASIBLE;
  }
  if (!claims) return reason;
  if (s->proof == PERP_PROOF_WITHIN) return PERP_NONE_WITHIN;
  return s->proof == PERP_PROOF_RAY || reason == PERP_RAY ? PERP_RAY : PERP_INACCURATE;
}

/* Rate lambda; w [n] out. */
static perp_reason solve_judge(perp_lcp_solver *s, const perp_lcp *p, double tol,
                               const double *lambda, double *w, perp_lcp_judgement *judgement,
                               perp_stats *stats)
{
  if (judgement != NULL) {
    perp_lcp_judge(p, lambda, w, s->scratch, judgement);
    stats->residual = perp_lcp_residual(p, judgement);
    stats->data = judgement->data;
    return perp_lcp_verdict(p, tol, judgement);
  }
  double *a = p->A != NULL ? s->a : s->scratch, *rest = s->scratch + p->n;
  const bool swept = p->brief && stats->reason == PERP_SWEEPS_DONE;
  perp_lcp_product(p, lambda, w, rest);
  /* so much work and no test: nothing to decide, but for luck */
  if (swept && p->A == NULL &&
      perp_lcp_rate_factored(p, lambda, w, a, rest, &stats->residual, &stats->data) &&
      !(stats->residual <= tol))
    return PERP_INACCURATE;
  if (p->A == NULL) perp_lcp_scales(p, a, rest);
  if (swept) {
    perp_lcp_rate(p, a, lambda, w, &stats->residual, &stats->data);
    if (!(stats->residual <= tol)) return PERP_INACCURATE;
  }
  return perp_lcp_decide(p, tol, a, lambda, w, s->scratch, &stats->residual, &stats->data);
}

perp_status perp_lcp_solve(perp_ctx *ctx, perp_lcp_solver *s, const perp_lcp *p, double tol,
                           double *lambda, double *w, perp_lcp_judgement *judgement,
                           perp_stats *stats)
{
  bool finite;
  int n = p->n;
  *stats = (perp_stats){ .residual = (double)NAN };
  s->proof = PERP_PROOF_NONE;
  if (!(tol > 0)) return PERP_FAIL(ctx, PERP_ERR_ARG, "tol = %g must be > 0", tol);
  if (n > s->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "n = %d, but %s was created for at most %d rows", n,
                     s->d->d.name, s->max_n);
  if (p->F != NULL && p->F->nv > s->max_nv)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "J has %d columns, but %s was created for at most %d",
                     p->F->nv, s->d->d.name, s->max_nv);
  PERP_TRY(perp_lcp_check(ctx, p, p->A == NULL ? &finite : NULL));
  s->asymmetry = 0; /* of J M^-1 J' + S, formed or not */
  if (p->A != NULL) perp_lcp_survey(p, s->a, &s->asymmetry, &finite);
  if (p->C != NULL) s->asymmetry = perp_lcp_asymmetry(p);

  double *x = w != NULL ? w : s->w;
  if (!finite) {
    for (int i = 0; i < n; i++) lambda[i] = x[i] = 0;
    start_at_zero(p, lambda);
    stats->reason = PERP_NOT_FINITE;
    if (judgement != NULL) *judgement = perp_lcp_no_judgement();
    return PERP_OK;
  }
  if (!finite_vector(lambda, n)) start_at_zero(p, lambda);
  for (int i = 0; i < n; i++) s->certificate[i] = 0;

  perp_lcp q = *p;
  q.tol = tol;
  perp_status status = solve_run(ctx, s, &q, lambda, stats);
  if (status != PERP_OK) return status;
  if (!finite_vector(lambda, n)) {
    start_at_zero(p, lambda);
    stats->reason = PERP_NOT_FINITE;
  }
  /* methods that do not count: a step is worth a product, or the factorization that it says */
  if (!(stats->work > 0) && stats->reason != PERP_UNSUITED)
    stats->work = (double)n * n *
                  (fmax((double)stats->matvecs, stats->iterations) + 1 +
                   stats->factorizations * (n / 3.0));

  perp_reason verdict = solve_judge(s, &q, tol, lambda, x, judgement, stats);
  if (verdict == PERP_CONVERGED)
    stats->reason = PERP_CONVERGED;
  else if (verdict == PERP_UNDECIDED)
    stats->reason = PERP_UNDECIDED;
  else if (stats->reason >= 0)
    stats->reason = PERP_INACCURATE;
  else
    stats->reason = solve_weigh(s, p, stats->reason);
  return PERP_OK;
}

perp_lcp_proof perp_lcp_proved(const perp_lcp_solver *s)
{
  return s->proof;
}

const double *perp_lcp_certificate(const perp_lcp_solver *s)
{
  return s->proof != PERP_PROOF_NONE && s->proof != PERP_PROOF_EXCLUDED ? s->certificate : NULL;
}
