/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How contact models ask a solver and what they make of its answers, with one that says what it is
 * told: which guess it gets, at which tolerances, that it is asked once, whether guess or answer is
 * kept, and what is counted. */
#include "models/contact/laws/contact_solver.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <string.h>

enum { N = 3, CALLS = 4 };

static perp_ctx ctx;

/* what the solver will say, and what it was asked */
static struct {
  double answer[CALLS][N], guess[CALLS][N], tol[CALLS], tol_data[CALLS];
  perp_reason reason[CALLS];
  bool brief;
  int calls;
} script;

static perp_status make(perp_ctx *c, int max_n, const void *opts, void **ws)
{
  (void)c, (void)max_n, (void)opts;
  *ws = NULL;
  return PERP_OK;
}
static perp_status say(perp_ctx *c, void *ws, const perp_lcp *p, double *lambda,
                       double *certificate, perp_stats *stats)
{
  (void)c, (void)ws;
  const int k = script.calls++;
  perp_no_certificate(p, certificate);
  if (k >= CALLS) bail("asked too often");
  for (int i = 0; i < p->n; i++) {
    script.guess[k][i] = lambda[i];
    lambda[i] = script.answer[k][i];
  }
  script.tol[k] = p->tol;
  script.tol_data[k] = p->tol_data;
  script.brief = p->brief;
  stats->iterations = 10 + k;
  stats->reason = script.reason[k];
  return PERP_OK;
}
static void no_more(void *ws)
{
  (void)ws;
}

#define SERVES (PERP_LCP_NONSYMMETRIC | PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_SEMIDEFINITE)
static perp_lcp_desc oracle = {
  .d = { .name = "oracle" }, .create = make, .solve = say, .destroy = no_more
};

/* Rows of their own with A_ii = 2 and the solution 1, or what b and the bounds make of it. */
static double A[N * N], b[N], lo[N], hi[N], diag[N];
static perp_lcp p;
static perp_contact_solver j;
static perp_contact_count count;
static int observed, settled;
static perp_stats seen;

static void watch(void *user, const perp_contact_place *place, const perp_lcp *q,
                  const double *lambda, const perp_stats *stats)
{
  (void)user, (void)place, (void)q, (void)lambda;
  observed++;
  seen = *stats;
}

static void begin(unsigned caps, double tol, double tol_data)
{
  oracle.d.caps = SERVES | caps;
  const perp_spec lcp = { .d = &oracle.d };
  const perp_contact_setup setup = { .dim = 3, .lcp = &lcp, .tol = tol, .tol_data = tol_data };
  memset(&script, 0, sizeof script);
  memset(&count, 0, sizeof count);
  memset(A, 0, sizeof A);
  for (int i = 0; i < N; i++) {
    A[i * (N + 1)] = diag[i] = 2;
    b[i] = -2;
    lo[i] = 0;
    hi[i] = HUGE_VAL;
    for (int k = 0; k < CALLS; k++) script.answer[k][i] = 1;
  }
  for (int k = 0; k < CALLS; k++) script.reason[k] = PERP_EXACT;
  p = (perp_lcp){ .n = N, .A = A, .lda = N, .b = b, .lo = lo, .hi = hi };
  if (perp_contact_solver_open(&ctx, &setup, &j) != PERP_OK ||
      perp_contact_solver_reserve(&ctx, &j, N, 0) != PERP_OK)
    bail("%s", ctx.msg);
  observed = settled = 0;
  perp_contact_solver_observe(&j, watch, NULL);
}

/* lambda = what all rows begin with */
static void solve(double *lambda, double guess)
{
  const perp_contact_island island = { .nc = N, .diag = diag, .reuse = 1e-9, .mass = 3 };
  double rel;
  perp_contact_count ignored = { 0 };
  for (int i = 0; i < N; i++) lambda[i] = guess;
  perp_contact_solver_good(&j, &p, &island, lambda, &rel, &ignored);
  if (perp_contact_solver_solve(&ctx, &j, &p, &island, rel, lambda, &count) != PERP_OK)
    bail("%s", ctx.msg);
  perp_contact_solver_close(&j);
}

static void all(int call, double x)
{
  for (int i = 0; i < N; i++) script.answer[call][i] = x;
}

static bool is(const double *lambda, double x)
{
  for (int i = 0; i < N; i++)
    if (lambda[i] != x) return false;
  return true;
}

static void test_tolerances(void)
{
  double x[N];
  begin(PERP_LCP_PIVOTING, 1e-6, 1e-4);
  solve(x, 0);
  ok(script.calls == 1 && script.brief && script.tol[0] == 1e-6 && script.tol_data[0] == 1e-4,
     "a pivoting method is asked for the tolerances, in brief");
  ok(count.problems == 1 && count.solved == 1 && count.iterations == 10 && count.again == 0 &&
         strcmp(count.by[0].name, "oracle") == 0 && is(x, 1),
     "its answer is used and counted");
  ok(observed == 1 && seen.reason == PERP_CONVERGED && seen.iterations == 10, "... and observed");
  begin(PERP_LCP_ITERATIVE | PERP_LCP_WARM, 1e-6, 1e-4);
  solve(x, 0);
  near(script.tol[0], 1e-7, 0, 1e-12, "an iterative method that is warm: a tenth");
  near(script.tol_data[0], 1e-5, 0, 1e-12, "... of both");
  begin(PERP_LCP_ITERATIVE, 1e-6, 1e-4);
  solve(x, 0);
  ok(script.tol[0] == 1e-6 && script.tol_data[0] == 1e-4, "one that takes no guess: the whole");
  begin(PERP_LCP_WARM, 1e-6, 1e-4);
  solve(x, 0);
  ok(script.tol[0] == 1e-6 && script.tol_data[0] == 1e-4, "one that is not iterative, too");
  /* left behind: rel and data of 1 + d are d, nearly */
  static const struct {
    double d, tol_data;
    unsigned caps;
    bool solved;
  } left[] = { { 5e-8, 1e-4, PERP_LCP_ITERATIVE | PERP_LCP_WARM, true },
               { 5e-7, 1e-4, PERP_LCP_ITERATIVE | PERP_LCP_WARM, true },
               { 2e-6, 1e-4, PERP_LCP_ITERATIVE | PERP_LCP_WARM, false },
               { 5e-7, 1e-7, PERP_LCP_ITERATIVE | PERP_LCP_WARM, false },
               { 5e-7, 0, PERP_LCP_ITERATIVE | PERP_LCP_WARM, true },
               { 5e-7, 1e-4, PERP_LCP_ITERATIVE, true },
               { 2e-6, 1e-4, PERP_LCP_ITERATIVE, false },
               { 5e-7, 1e-7, 0, false } };
  for (size_t k = 0; k < sizeof left / sizeof *left; k++) {
    begin(left[k].caps, 1e-6, left[k].tol_data);
    all(0, 1 + left[k].d);
    solve(x, 0);
    ok(count.solved == left[k].solved && count.failures == !left[k].solved,
       "1 + %g at tolerances of 1e-6 and %g: %s", left[k].d, left[k].tol_data,
       left[k].solved ? "solved" : "not solved");
    near(seen.residual, left[k].d, 1e-12, 1e-5, "... rel");
    near(seen.data, left[k].d, 1e-12, 1e-5, "... data");
    near(count.residual, left[k].d, 1e-12, 1e-5, "... as counted");
  }
}

static void test_guess(void)
{
  static const struct {
    double guess, told, lo, hi;
    const char *what;
  } guesses[] = { { 1.5, 1.5, 0, HUGE_VAL, "a guess near the answer is handed over" },
                  { 2.9, 2.9, 0, HUGE_VAL, "... and one that is no worse than none" },
                  { 50, 0, 0, HUGE_VAL, "one that is worse than none is dropped" },
                  { 50, 50, 0.5, HUGE_VAL, "but not where zero is below the bounds" },
                  { 50, 0, -HUGE_VAL, HUGE_VAL, "it is within those of a free row," },
                  { -50, -50, -HUGE_VAL, -0.5, "and above those of a row below zero" } };
  for (size_t k = 0; k < sizeof guesses / sizeof *guesses; k++) {
    double x[N];
    begin(PERP_LCP_PIVOTING, 1e-6, 0);
    for (int i = 0; i < N; i++) {
      lo[i] = guesses[k].lo;
      hi[i] = guesses[k].hi;
      if (fabs(guesses[k].guess) == 50) b[i] = -0.002; /* the data are small beside such a guess */
    }
    solve(x, guesses[k].guess);
    ok(is(script.guess[0], guesses[k].told), "%s: %g", guesses[k].what, script.guess[0][0]);
  }
}

static void test_failed(void)
{
  double x[N];
  const unsigned guided = PERP_LCP_PIVOTING | PERP_LCP_WARM;
  static const unsigned caps[] = { 0, guided, guided | PERP_LCP_EXHAUSTIVE,
                                   PERP_LCP_ITERATIVE | PERP_LCP_WARM };
  for (int k = 0; k < 4; k++) {
    begin(caps[k], 1e-6, 0);
    all(0, 1.2);
    solve(x, 1.5);
    ok(script.calls == 1 && count.failures == 1 && count.solved == 0 && count.again == 0 &&
           is(x, 1.2),
       "a problem that was not solved is not asked again, whatever the method is: %d", k);
  }
  begin(guided, 1e-6, 0);
  solve(x, 1.5);
  ok(script.calls == 1 && count.solved == 1, "nor one that was");
  begin(guided, 1e-6, 0);
  script.reason[0] = PERP_UNSUITED;
  all(0, 1.2);
  solve(x, 1.5);
  ok(script.calls == 1 && count.failures == 1 && count.failed[-PERP_UNSUITED] == 1,
     "nor one that the method is not suited for");
  /* guess and answer: the better one is kept */
  static const double two[2][2] = { { 1.1, 1.2 }, { 1.2, 1.1 } };
  for (int k = 0; k < 2; k++) {
    begin(guided, 1e-6, 0);
    all(0, two[k][1]);
    solve(x, two[k][0]);
    ok(script.calls == 1 && is(x, 1.1) && count.thrown == 0,
       "of a guess %g and an answer %g the better one is kept: %g", two[k][0], two[k][1], x[0]);
    near(seen.residual, 0.1 / 1.1, 0, 1e-12, "... rel is its own");
    near(seen.data, 0.1, 0, 1e-12, "... and so is data");
  }
  begin(guided | PERP_LCP_CHOOSES, 1e-6, 0);
  all(0, 1.3);
  solve(x, 1.1);
  ok(is(x, 1.3), "a solver that chooses has the last word: %g", x[0]);
  begin(PERP_LCP_CHOOSES, 1e-6, 0);
  all(0, 100);
  solve(x, 0);
  ok(is(x, 100) && count.thrown == 1, "... but is seen to throw");
  begin(0, 1e-6, 0);
  all(0, 100);
  solve(x, 0);
  ok(is(x, 0) && count.thrown == 0, "others are not allowed to throw: %g", x[0]);
  begin(0, 1e-6, 0);
  script.reason[0] = PERP_SWEEPS_DONE;
  all(0, 1.3);
  solve(x, 1.1);
  ok(is(x, 1.3) && count.swept == 1 && count.failures == 0, "sweeps that were asked for are kept");
}

static void settle(perp_contact_solver *q, const perp_lcp *r, double *lambda)
{
  (void)q;
  settled++;
  for (int i = 0; i < r->n; i++) lambda[i] = fmin(lambda[i], 1);
}

static void test_settle(void)
{
  double x[N];
  begin(PERP_LCP_PIVOTING, 1e-6, 1e-6);
  j.settle = settle;
  all(0, 1 + 1e-9);
  solve(x, 0);
  ok(settled == 1 && is(x, 1) && count.solved == 1 && seen.residual == 0 && seen.data == 0,
     "an answer is judged as it is used");
}

/* What passes as an answer from before. */
static void test_reuse(void)
{
  static const struct {
    double d, accept, tol_data;
    bool good;
  } cases[] = { { 1e-7, 1e-6, 0, true },   { 2e-6, 1e-6, 0, false },    { 1e-7, 0, 0, false },
                { 0, 0, 0, false },        { 1e-7, 1e-6, 1e-8, false }, { 1e-7, 1e-6, 1e-4, true },
                { 1e-7, 1e-6, 2e-7, true } };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    double x[N], rel = 0;
    begin(0, 1e-6, cases[k].tol_data);
    const perp_contact_island island = { .nc = N, .diag = diag, .reuse = cases[k].accept };
    for (int i = 0; i < N; i++) x[i] = 1;
    x[1] += cases[k].d;
    const bool good = perp_contact_solver_good(&j, &p, &island, x, &rel, &count);
    ok(good == cases[k].good && count.reused == cases[k].good && count.rows == N,
       "1 + %g at %g and %g: %s", cases[k].d, cases[k].accept, cases[k].tol_data,
       cases[k].good ? "good" : "not good");
    near(rel, cases[k].d, 1e-14, 1e-5, "... rel");
    near(count.residual, cases[k].good ? cases[k].d : 0, 1e-14, 1e-5, "... counted if it is used");
    near(count.data, cases[k].good ? cases[k].d : 0, 1e-14, 1e-5, "... and data");
    perp_contact_solver_close(&j);
  }
  /* small data beside a large lambda: rel is 1e-8, data 1e-3 */
  for (int k = 0; k < 2; k++) {
    double x[N] = { 1e5, 1, 1 }, rel;
    begin(0, 1e-6, 0);
    A[0] = diag[0] = 2e-5;
    x[1] += k == 0 ? 1e-3 : 1e-6;
    const perp_contact_island island = { .nc = N, .diag = diag, .reuse = 1e-6 };
    ok(perp_contact_solver_good(&j, &p, &island, x, &rel, &count) == (k == 1),
       "ten times `accept` in units of the data, and not more");
    perp_contact_solver_close(&j);
  }
  /* scales of rows with A_ii = 0 */
  for (int k = 0; k < 2; k++) {
    double x[N] = { 0, 0, 0 }, rel;
    begin(0, 1e-6, 0);
    const perp_contact_island island = { .nc = N, .diag = diag, .reuse = 1e-6 };
    diag[1] = 0;
    diag[0] = 8;
    for (int i = 0; i < N && k == 1; i++) diag[i] = 0;
    perp_contact_solver_good(&j, &p, &island, x, &rel, &count);
    ok(j.a[1] == (k == 0 ? 8 : 1) && j.a[0] == (k == 0 ? 8 : 1) && j.a[2] == (k == 0 ? 2 : 1),
       "a row without A_ii takes the largest, and 1 where there is none");
    perp_contact_solver_close(&j);
  }
}

static void test_room(void)
{
  begin(0, 1e-6, 0);
  double *before = j.w;
  ok(j.cap_n >= N && perp_contact_solver_reserve(&ctx, &j, 2, 0) == PERP_OK && j.w == before,
     "less room than there is: nothing is moved");
  ok(perp_contact_solver_reserve(&ctx, &j, 40, 12) == PERP_OK && j.cap_n >= 40 && j.cap_nv >= 12,
     "more: it grows");
  const int rows = j.cap_n, columns = j.cap_nv;
  before = j.w;
  ok(perp_contact_solver_reserve(&ctx, &j, rows, columns) == PERP_OK && j.w == before &&
         j.cap_n == rows,
     "what is just full is enough");
  ok(perp_contact_solver_reserve(&ctx, &j, 1, columns + 1) == PERP_OK && j.cap_n == rows &&
         j.cap_nv > columns,
     "one way only");
  double *const parts[] = { j.first, j.best, j.w,  j.w0, j.none,  j.a,
                            j.unit,  j.lo,   j.hi, j.mu, j.lambda };
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
    for (int i = 0; i < rows; i++) parts[k][i] = (double)k;
  for (size_t k = 0; k < PERP_LCP_SCRATCH(rows, j.cap_nv); k++) j.scratch[k] = -1;
  int overlaps = 0;
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
    for (int i = 0; i < rows; i++) overlaps += parts[k][i] != (double)k;
  ok(overlaps == 0, "no array lies on another one");
  perp_contact_solver_close(&j);
  perp_contact_solver_free(NULL);
  perp_contact_count refused = { 0 };
  const perp_stats stats = { .iterations = 3, .reason = PERP_CONVERGED };
  perp_contact_solver_refused(&stats, &refused);
  ok(refused.failures == 1 && refused.failed[-PERP_UNSUITED] == 1 && refused.solved == 0 &&
         refused.iterations == 3,
     "a matrix that is too large is a failure");
}

int main(void)
{
  perp_ctx_init(&ctx);
  test_tolerances();
  test_guess();
  test_failed();
  test_settle();
  test_reuse();
  test_room();
  return tap_done();
}
