/* SPDX-License-Identifier: GPL-3.0-or-later */
/* jacobi, pgs, psor and the prepared rows that they stand on. */
#include "solvers/lcp/rows/rows.h"
#include "tests/lcp_random.h"
#include "tests/tap.h"

static double clamp(double x, double lo, double hi)
{
  return fmin(fmax(x, lo), hi);
}

/* relative difference of two vectors */
static double differ(int n, const double *x, const double *y)
{
  double top = 0, d = 0;
  for (int i = 0; i < n; i++) {
    top = fmax(top, fabs(y[i]));
    d = fmax(d, fabs(x[i] - y[i]));
    if (isnan(x[i])) return HUGE_VAL;
  }
  return d / fmax(top, 1e-300);
}

/* one Gauss-Seidel sweep as the textbook has it; w from scratch for every row */
static void textbook_sweep(const perp_lcp *p, const double *A, double omega, bool back, double *x)
{
  int n = p->n;
  for (int step = 0; step < n; step++) {
    int i = back ? n - 1 - step : step, pair = 1;
    if (p->cone != NULL && p->fric_of[i] >= 0) {
      if (back) i--;
      pair = 2;
      step++;
    }
    double w[2] = { 0, 0 };
    for (int k = 0; k < pair; k++) {
      w[k] = p->b[i + k];
      for (int j = 0; j < n; j++) w[k] += A[i + k + j * n] * x[j];
    }
    double lo = p->lo[i], hi = p->hi[i], a = A[i + i * n];
    if (p->fric_of != NULL && p->fric_of[i] >= 0) {
      hi = p->mu[i] * fmax(x[p->fric_of[i]], 0);
      lo = -hi;
    }
    if (pair == 2) {
      double c = A[i + 1 + (i + 1) * n], b = A[i + 1 + i * n];
      a = (a + c + sqrt((a - c) * (a - c) + 4 * b * b)) / 2;
      double y = x[i] - omega * w[0] / a, z = x[i + 1] - omega * w[1] / a, s = hypot(y, z);
      x[i] = s > hi ? y * hi / s : y;
      x[i + 1] = s > hi ? z * hi / s : z;
    } else
      x[i] = clamp(x[i] - omega * w[0] / a, lo, hi);
  }
}

/* factored, dense and textbook sweeps agree to rounding, forward and back, on every shape */
static void check_sweeps(perp_rng *g)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  double worst[3] = { 0, 0, 0 }, product = 0, major = HUGE_VAL, told = 0;
  for (int trial = 0; trial < 60; trial++) {
    int friction = trial % 3, shape = trial / 3 % 3;
    random_lcp r = random_factored(g, 1 + trial % 5, 1 + trial % 11, shape, friction,
                                   trial % 2 ? 0.3 : 0);
    int n = r.p.n;
    double x[3][80], y[80], z[80], d[80], omega = 1 + 0.05 * (trial % 10);
    perp_rows R[2];
    for (int k = 0; k < 2; k++) {
      perp_rows_open(&ctx, &R[k], n);
      const perp_lcp p = k ? *random_as_factored(&r) : *random_as_dense(&r);
      r.p = p;
    }
    perp_lcp factored = *random_as_factored(&r), dense = *random_as_dense(&r);
    if (perp_rows_prepare(&ctx, &R[0], &dense, omega) != PERP_OK) bail("prepare: %s", ctx.msg);
    if (perp_rows_prepare(&ctx, &R[1], &factored, omega) != PERP_OK) bail("prepare: %s", ctx.msg);
    for (int i = 0; i < n; i++) x[0][i] = x[1][i] = x[2][i] = perp_rng_uniform(g, 0, 1);
    /* products */
    perp_rows_A(&R[1], x[0], y);
    for (int i = 0; i < n; i++) {
      z[i] = 0;
      for (int j = 0; j < n; j++) z[i] += r.A[i + j * n] * x[0][j];
    }
    product = fmax(product, differ(n, y, z));
    /* x' (D - A) x >= 0 */
    for (int k = 0; k < 2; k++) {
      perp_rows_majorant(&R[k], d);
      double q = 0;
      for (int i = 0; i < n; i++) q += x[0][i] * (d[i] * x[0][i] - z[i]);
      major = fmin(major, q);
    }
    for (int k = 0; k < 2; k++) perp_rows_reset(&R[k], x[k]);
    for (int sweep = 0; sweep < 4; sweep++) {
      bool back = sweep & 1;
      textbook_sweep(&dense, r.A, omega, back, x[2]);
      for (int k = 0; k < 2; k++) {
        double before[80];
        memcpy(before, x[k], sizeof before);
        double said = perp_rows_sweep(&R[k], x[k], NULL, back);
        worst[k] = fmax(worst[k], differ(n, x[k], x[2]));
        double most = 0;
        for (int i = 0; i < n; i++) most = fmax(most, fabs(x[k][i] - before[i]));
        told = fmax(told, fabs(said - most));
      }
    }
    for (int k = 0; k < 2; k++) perp_rows_close(&R[k]);
    random_free(&r);
  }
  /* four sweeps of rounding on numbers of order one; omega up to 1.45 amplifies a little */
  below(worst[0], 1e-12, "dense sweeps are the textbook's");
  below(worst[1], 1e-12, "factored sweeps are the textbook's");
  below(told, 1e-14, "a sweep returns its largest change");
  below(product, 1e-14, "factored product is the dense one");
  ok(major > 0, "the majorant minus A is positive on random vectors");
}

/* Contacts on blocks some of which are diagonal, as kernels of their own serve them. */
static void check_diagonal(perp_rng *g)
{
  enum { BLOCKS = 6, GROUPS = 25, ROWS = 3 * GROUPS, TRIALS = 24 };
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  double worst = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    random_lcp r = random_factored(g, BLOCKS, GROUPS, SHAPE_CONTACTS, trial % 3,
                                   trial % 2 ? 0.3 : 0);
    const perp_lcp p = *random_as_factored(&r);
    perp_blocks *F = &r.F;
    unsigned char diag[BLOCKS];
    double flat[6 * BLOCKS], inner[64], x[2][ROWS];
    for (int b = 0; b < BLOCKS; b++) {
      diag[b] = (unsigned char)(b % 4 > 0);
      double *W = (double *)(uintptr_t)F->Minv + F->mptr[b]; /* belongs to r */
      for (int i = 0; i < 36 && diag[b]; i++)
        if (i % 7 != 0) W[i] = 0;
      for (int i = 0; i < 6; i++) flat[6 * b + i] = W[7 * i];
    }
    F->diag = diag;
    if (trial % 4 > 1) F->flat = flat;
    perp_blocks_delassus(F, r.A, p.n, inner);
    perp_rows R;
    perp_rows_open(&ctx, &R, p.n);
    if (perp_rows_prepare(&ctx, &R, &p, 1.2) != PERP_OK) bail("prepare: %s", ctx.msg);
    for (int i = 0; i < p.n; i++) x[0][i] = x[1][i] = perp_rng_uniform(g, 0, 1);
    perp_rows_reset(&R, x[0]);
    for (int sweep = 0; sweep < 4; sweep++) {
      perp_rows_sweep(&R, x[0], NULL, false);
      textbook_sweep(&p, r.A, 1.2, false, x[1]);
      worst = fmax(worst, differ(p.n, x[0], x[1]));
    }
    perp_rows_close(&R);
    random_free(&r);
  }
  below(worst, 1e-12, "sweeps over diagonal blocks are the textbook's");
}

static perp_reason run(perp_ctx *ctx, const char *spec, const perp_lcp *p, double *x,
                       perp_stats *stats)
{
  perp_spec s;
  void *ws;
  if (perp_spec_parse(ctx, PERP_KIND_lcp, spec, &s) != PERP_OK) bail("%s", ctx->msg);
  const perp_lcp_desc *d = (const perp_lcp_desc *)s.d;
  if (d->create(ctx, p->n, s.opts, &ws) != PERP_OK) bail("%s", ctx->msg);
  *stats = (perp_stats){ 0 };
  if (d->solve(ctx, ws, p, x, NULL, stats) != PERP_OK) bail("%s", ctx->msg);
  d->destroy(ws);
  perp_spec_free(&s);
  return stats->reason;
}

/* the residual, independent of the library: written out from its definition */
static double residual(const perp_lcp *p, const double *A, const double *x)
{
  double worst = 0, size = 0;
  int n = p->n;
  for (int i = 0; i < n; i++) {
    double w = p->b[i], a = 0;
    for (int j = 0; j < n; j++) {
      w += A[i + j * n] * x[j];
      a = fmax(a, fabs(A[i + j * n]));
    }
    if (a == 0) a = 1;
    double lo = p->lo ? p->lo[i] : 0, hi = p->hi ? p->hi[i] : HUGE_VAL;
    if (p->fric_of != NULL && p->fric_of[i] >= 0) {
      hi = p->mu[i] * fmax(x[p->fric_of[i]], 0);
      lo = -hi;
    }
    double r = fabs(x[i] - clamp(x[i] - w / a, lo, hi));
    if (!(r <= worst)) worst = r;
    size = fmax(size, fmax(fabs(x[i]), fabs(p->b[i]) / a));
  }
  return worst / fmax(size, 1e-300);
}

static void check_solutions(perp_ctx *ctx, perp_rng *g)
{
  static const char *const specs[] = { "jacobi:max_iter=200000",
                                       "pgs",
                                       "psor",
                                       "pgs:order=symmetric",
                                       "pgs:order=random,seed=7",
                                       "pgs:order=coloured",
                                       "psor:omega=1.7",
                                       "psor:omega=0.5,order=symmetric",
                                       "nncg",
                                       "apgd:max_iter=100000" };
  for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
    double worst = 0, soft = 0;
    int unsolved = 0, lies = 0, solved = 0;
    perp_stats stats;
    for (int trial = 0; trial < 20; trial++) {
      random_lcp r = random_dense(g, 1 + trial, 1 + trial, 0.1, 0, trial % 2);
      double x[80] = { 0 };
      unsolved += run(ctx, specs[k], &r.p, x, &stats) != PERP_CONVERGED;
      worst = fmax(worst, residual(&r.p, r.A, x));
      random_free(&r);
      r = random_factored(g, 3, 1 + trial / 2, trial % 3, 0, 0.2);
      memset(x, 0, sizeof x);
      unsolved += run(ctx, specs[k], random_as_factored(&r), x, &stats) != PERP_CONVERGED;
      soft = fmax(soft, residual(&r.p, r.A, x));
      random_free(&r);
      /* with friction no theorem promises convergence, but the answer must be true */
      r = random_factored(g, 3, 1 + trial / 2, trial % 3, 1, 0.2);
      memset(x, 0, sizeof x);
      bool claimed = run(ctx, specs[k], random_as_factored(&r), x, &stats) == PERP_CONVERGED;
      lies += claimed != (residual(&r.p, r.A, x) <= 1e-8);
      solved += claimed;
      random_free(&r);
    }
    ok(unsolved == 0, "%s: 40 definite problems, dense and factored (%d unsolved)", specs[k],
       unsolved);
    below(worst, 1e-8, "%s: residual at its tolerance, dense", specs[k]);
    below(soft, 1e-8, "%s: residual at its tolerance, factored", specs[k]);
    ok(lies == 0, "%s: friction: claims and residuals agree", specs[k]);
    ok(solved >= 5, "%s: friction: %d of 20 problems solved", specs[k], solved);
  }
}

static void check_small(perp_ctx *ctx)
{
  double x[2] = { 0, 0 }, one[1] = { 4 }, b1[1] = { -2 };
  perp_stats stats;
  perp_lcp p = { .n = 1, .A = one, .lda = 1, .b = b1 };
  run(ctx, "psor:omega=0.5,sweeps=1", &p, x, &stats);
  near(x[0], 0.25, 0, 1e-16, "psor: omega scales the step: 0.5 * 2 / 4");
  ok(stats.iterations == 1 && stats.reason == PERP_SWEEPS_DONE,
     "sweeps=1 makes one sweep, as it was asked");
  x[0] = 0.5;
  run(ctx, "pgs", &p, x, &stats);
  ok(stats.reason == PERP_CONVERGED && stats.iterations == 0, "a right guess needs no sweep");
  double negative[1] = { -1 };
  p.A = negative;
  x[0] = 0;
  ok(run(ctx, "pgs:max_iter=100", &p, x, &stats) < 0,
     "1x1 with A < 0, b < 0 is not reported solved");
  ok(isfinite(x[0]), "... and lambda stays finite");
  double zero[4] = { 0, 1, -1, 0 }, b2[2] = { 1, -1 };
  p = (perp_lcp){ .n = 2, .A = zero, .lda = 2, .b = b2 };
  x[0] = x[1] = 0;
  ok(run(ctx, "pgs:max_iter=50", &p, x, &stats) <= 0 || residual(&p, zero, x) <= 1e-8,
     "zero diagonal: solved or not, but never a lie");
  double null[1] = { 0 }, hi[1] = { 3 };
  p = (perp_lcp){ .n = 1, .A = null, .lda = 1, .b = b1, .hi = hi };
  x[0] = 0;
  ok(run(ctx, "pgs", &p, x, &stats) == PERP_CONVERGED && x[0] == 3, "a zero row goes to its bound");
  p.hi = NULL;
  x[0] = 0;
  ok(run(ctx, "pgs:max_iter=50", &p, x, &stats) < 0 && isfinite(x[0]),
     "a zero row without that bound is unsolvable");
  /* skew: plain Gauss-Seidel with steps 1 / |a_ij| diverges; finite output all the same */
  double skew[4] = { 0, 100, -100, 0 };
  double lo[2] = { -HUGE_VAL, -HUGE_VAL };
  p = (perp_lcp){ .n = 2, .A = skew, .lda = 2, .b = b2, .lo = lo };
  x[0] = 1, x[1] = -1;
  run(ctx, "jacobi:omega=1.99,max_iter=5000", &p, x, &stats);
  ok(isfinite(x[0]) && isfinite(x[1]), "divergence leaves a finite iterate (%s)",
     perp_reason_name(stats.reason));
}

struct history {
  int events;
  double last;
  bool monotone;
};

static void record(void *user, const perp_trace_event *e)
{
  struct history *h = user;
  h->events++;
  h->monotone = h->monotone && e->residual <= 2 * h->last;
  h->last = e->residual;
}

static void check_trace(perp_ctx *ctx, perp_rng *g)
{
  random_lcp r = random_dense(g, 12, 12, 0.5, 0, BOUNDS_CONTACT);
  double x[12] = { 0 };
  perp_stats stats;
  struct history h = { 0, HUGE_VAL, true };
  ctx->trace = record;
  ctx->trace_user = &h;
  run(ctx, "pgs:tol=1e-12", &r.p, x, &stats);
  ctx->trace = NULL;
  ok(h.events == stats.iterations && h.events > 1, "one trace event per sweep");
  ok(h.last <= 1e-12 && h.monotone, "the trace shows the residual falling to the tolerance");
  random_free(&r);
}

static perp_stats given_sweeps(perp_ctx *ctx, const char *text, const perp_lcp *p, double *x)
{
  perp_spec spec;
  perp_lcp_solver *solver;
  perp_stats stats;
  memset(x, 0, (size_t)p->n * sizeof *x);
  if (perp_spec_parse(ctx, PERP_KIND_lcp, text, &spec) != PERP_OK ||
      perp_lcp_create(ctx, &spec, p->n, p->F != NULL ? p->F->nv : 0, &solver) != PERP_OK ||
      perp_lcp_solve(ctx, solver, p, 1e-300, x, NULL, NULL, &stats) != PERP_OK)
    bail("%s: %s", text, ctx->msg);
  perp_lcp_destroy(solver);
  perp_spec_free(&spec);
  return stats;
}

/* Methods around sweeps are the sweeps where nothing else is asked for: no steps in a subspace, no
 * layers of bodies. */
static void check_around(perp_ctx *ctx, perp_rng *g)
{
  double worst = 0;
  int done = 0, others = 0;
  for (int trial = 0; trial < 30; trial++) {
    random_lcp r = random_factored(g, 1 + trial % 5, 1 + trial % 11, trial / 3 % 3, trial % 3, 0.3);
    double x[80], y[80], z[80];
    const perp_lcp factored = *random_as_factored(&r), dense = *random_as_dense(&r);
    const int n = dense.n;
    given_sweeps(ctx, "pgs:sweeps=12", &dense, x);
    given_sweeps(ctx, "pgs-subspace:sweeps=3,steps=0,max_iter=4", &dense, y);
    given_sweeps(ctx, "shock:sweeps=12", &dense, z);
    worst = fmax(worst, fmax(differ(n, y, x), differ(n, z, x)));
    const perp_stats pass = given_sweeps(ctx, "shock:sweeps=12", &factored, z);
    done += pass.reason == PERP_SWEEPS_DONE && pass.iterations == 12;
    others += pass.iterations > 12 || (pass.iterations < 12 && pass.reason == PERP_SWEEPS_DONE);
    random_free(&r);
  }
  below(worst, 1e-12, "pgs-subspace:steps=0 and shock without layers are pgs");
  ok(done > 20 && others == 0, "shock: the 12 sweeps that were asked for, %d times", done);
}

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  perp_register_solvers(&ctx);
  perp_rng *g = perp_rng_create(20);
  check_sweeps(g);
  check_diagonal(g);
  check_solutions(&ctx, g);
  check_small(&ctx);
  check_trace(&ctx, g);
  check_around(&ctx, g);
  perp_rng_destroy(g);
  return tap_done();
}
