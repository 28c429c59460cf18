/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of block-gs that are contacts of Stewart and Trinkle: one alone against enumeration of all
 * bases, many against Lemke's method, one sweep against the textbook; and what is answered where
 * there are no such blocks. */
#include "solvers/lcp/splitting/block_contact.h"
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <string.h>

enum { MOST = 400 };

static perp_ctx ctx;

/* ---- one block ---- */

enum { DEFINITE, PLANAR, NONSYMMETRIC, KINDS };
static const char *const kind_names[KINDS] = { "positive definite",
                                               "rank three, exactly opposite directions",
                                               "positive definite, nonsymmetric" };

/* Rows of k directions round the normal in a space of three velocities; opposite ones are exactly
 * so. */
static void planar(perp_rng *g, int k, perp_block_contact *b)
{
  double M[9], Z[3 * (PERP_BLOCK_DIRECTIONS + 1)], v[3];
  const int r = k + 2, plain = perp_rng_int(g, 3) == 0;
  for (int i = 0; i < 9; i++) M[i] = plain ? i % 4 == 0 : perp_rng_uniform(g, -1, 1);
  for (int l = 0; l < 3; l++) v[l] = perp_rng_int(g, 3) == 0 ? 0 : perp_rng_uniform(g, -1, 1);
  for (int i = 0; i <= k; i++) {
    const double angle = 2 * M_PI * ((i - 1) % (k / 2)) / k, sign = i - 1 >= k / 2 ? -1 : 1;
    const double d[3] = { i == 0, i > 0 ? sign * cos(angle) : 0, i > 0 ? sign * sin(angle) : 0 };
    b->q[i] = 0;
    for (int l = 0; l < 3; l++) {
      Z[3 * i + l] = d[0] * M[l] + d[1] * M[3 + l] + d[2] * M[6 + l];
      b->q[i] += Z[3 * i + l] * v[l];
    }
  }
  for (int i = 0; i <= k; i++)
    for (int j = 0; j <= k; j++)
      for (int l = 0; l < 3; l++) b->K[i + j * r] += Z[3 * i + l] * Z[3 * j + l];
}

static void definite(perp_rng *g, int k, double skew, perp_block_contact *b)
{
  double B[17 * 17];
  const int r = k + 2, m = k + 1;
  for (int i = 0; i < m * m; i++) B[i] = perp_rng_uniform(g, -1, 1);
  for (int i = 0; i < m; i++) {
    b->q[i] = perp_rng_uniform(g, -1, 1);
    for (int j = 0; j < m; j++)
      for (int l = 0; l < m; l++) b->K[i + j * r] += B[i + m * l] * B[j + m * l];
  }
  for (int i = 0; i < m; i++)
    for (int j = 0; j < i; j++) {
      const double x = skew * perp_rng_uniform(g, -1, 1);
      b->K[i + j * r] += x;
      b->K[j + i * r] -= x;
    }
}

static void random_block(perp_rng *g, int kind, int k, perp_block_contact *b)
{
  const int r = k + 2, s = r - 1;
  memset(b->K, 0, sizeof b->K);
  b->r = r;
  b->lo = perp_rng_int(g, 6) == 0 ? perp_rng_uniform(g, 0, 1) : 0;
  b->hi = perp_rng_int(g, 6) == 0 ? b->lo + perp_rng_uniform(g, 0, 1) : HUGE_VAL;
  if (kind == PLANAR)
    planar(g, k, b);
  else
    definite(g, k, kind == NONSYMMETRIC, b);
  const double units = perp_rng_int(g, 2) ? 1 : perp_rng_uniform(g, 0.01, 10);
  b->K[s] = perp_rng_int(g, 8) == 0 ? 0 : units * perp_rng_uniform(g, 0, 1.5);
  for (int t = 1; t < s; t++) b->K[t + s * r] = units, b->K[s + t * r] = -units;
  b->q[s] = 0;
  /* any basis may be tried first */
  for (int i = 0; i < r; i++) b->state[i] = perp_rng_int(g, 2) ? PERP_ROW_FREE : PERP_ROW_LO;
}

static perp_lcp problem_of(const perp_block_contact *b, double *lo, double *hi)
{
  for (int i = 0; i < b->r; i++) lo[i] = i == 0 ? b->lo : 0, hi[i] = i == 0 ? b->hi : HUGE_VAL;
  return (perp_lcp){ .n = b->r, .A = b->K, .lda = b->r, .b = b->q, .lo = lo, .hi = hi };
}

/* The nearest of all solutions, by normal and directions or their effect; the least slack that goes
 * with one. */
struct nearest {
  const perp_block_contact *b;
  double distance, slack;
};

static bool compare(void *user, const double *x, const double *w, const signed char *state)
{
  struct nearest *near_ = user;
  const perp_block_contact *b = near_->b;
  const int r = b->r, s = r - 1;
  double distance = 0, size = 1;
  (void)w;
  (void)state;
  for (int i = 0; i < s; i++) { /* where directions depend on each other only K x is known */
    double y = 0;
    for (int j = 0; j < s; j++) y += b->K[i + j * r] * (b->x[j] - x[j]);
    distance = fmax(distance, fabs(y));
    size = fmax(size, fabs(x[i]));
  }
  if (distance / size < near_->distance) near_->distance = distance / size;
  near_->slack = fmin(near_->slack, x[s]);
  return true;
}

static void alone(void)
{
  static perp_block_contact b;
  static const int directions[] = { 1, 2, 3, 4, 6, 8 };
  for (int kind = 0; kind < KINDS; kind++) {
    perp_rng *g = perp_rng_create(7 + (uint64_t)kind);
    int failed = 0, unsolved = 0, far = 0, more = 0, pivoted = 0, total = 0, others = 0,
        enumerated = 0;
    for (int n = 0; n < 1200; n++) {
      const int k = directions[n % 6];
      if (kind == PLANAR && k % 2 != 0) continue;
      double lo[PERP_BLOCK_ROWS], hi[PERP_BLOCK_ROWS], scratch[PERP_LCP_SCRATCH(12, 0)];
      random_block(g, kind, k, &b);
      total++;
      if (!perp_block_contact_solve(&b)) {
        failed++;
        continue;
      }
      pivoted += b.tried > 1;
      const perp_lcp p = problem_of(&b, lo, hi);
      perp_lcp_judgement j;
      perp_lcp_judge(&p, b.x, NULL, scratch, &j);
      unsolved += !(j.rel <= 1e-10);
      if (k > 4) continue;
      const double slack = b.x[b.r - 1];
      b.enumerate = true;
      memset(b.state, PERP_ROW_LO, sizeof b.state);
      const bool found = perp_block_contact_solve(&b);
      enumerated += b.tried > 1;
      perp_lcp_judge(&p, b.x, NULL, scratch, &j);
      others += !found || !(j.rel <= 1e-10) || !(fabs(slack - b.x[b.r - 1]) <= 1e-7 * (1 + slack));
      b.enumerate = false;
      struct nearest nearest = { &b, HUGE_VAL, HUGE_VAL };
      int count;
      if (perp_lcp_all_solutions(&ctx, &p, 1e-9, compare, &nearest, &count, NULL) != PERP_OK)
        bail("%s", ctx.msg);
      far += !(nearest.distance <= 1e-7);
      more += count == 1 && b.x[b.r - 1] > nearest.slack + 1e-7 * (1 + nearest.slack);
    }
    ok(failed == 0 && total >= 800, "%s: %d of %d blocks fail", kind_names[kind], failed, total);
    ok(unsolved == 0 && far == 0 && more == 0,
       "the judge accepts them (%d not), enumeration has them (%d not)", unsolved, far);
    ok(others == 0 && enumerated > 0, "all index sets in turn: %d others or none", others);
    ok(pivoted > total / 4 && pivoted < total, "%d after pivots, the others without", pivoted);
    perp_rng_destroy(g);
  }
}

/* What a settled contact, one without force and one of many directions get. */
static void single_cases(void)
{
  static perp_block_contact b;
  perp_rng *g = perp_rng_create(3);
  bool all = true;
  for (int n = 0; n < 200; n++) {
    random_block(g, PLANAR, 4 + 4 * (n % 4), &b);
    double x[PERP_BLOCK_ROWS];
    if (!perp_block_contact_solve(&b)) bail("a block fails");
    memcpy(x, b.x, sizeof x);
    if (!perp_block_contact_solve(&b)) bail("a block fails the second time");
    all = all && b.tried == 1 && memcmp(x, b.x, (size_t)b.r * sizeof *x) == 0;
  }
  ok(all, "from its own basis a block needs no pivot, and gives the same digits");

  random_block(g, PLANAR, 4, &b);
  b.lo = 0, b.hi = HUGE_VAL;
  b.q[0] = 1, b.q[1] = -3, b.q[2] = 2, b.q[3] = 3, b.q[4] = -2;
  for (int t = 1; t < 5; t++) b.K[t + 5 * 6] = 2, b.K[5 + 6 * t] = -2;
  ok(perp_block_contact_solve(&b) && b.x[0] == 0 && b.x[1] == 0 && b.x[5] == 1.5,
     "an open contact has no friction and the least slack");
  b.q[0] = -1;
  b.K[5] = 0;
  for (int t = 1; t < 5; t++) b.K[6 * t] = b.K[t] = 0;
  ok(perp_block_contact_solve(&b) && b.x[0] > 0 && b.x[1] == 0 && b.x[5] == 1.5,
     "so has a contact without friction");

  int failed = 0;
  double worst = 0;
  for (int n = 0; n < 100; n++) {
    double lo[PERP_BLOCK_ROWS], hi[PERP_BLOCK_ROWS], scratch[PERP_LCP_SCRATCH(66, 0)];
    random_block(g, PLANAR, 64, &b);
    if (!perp_block_contact_solve(&b)) {
      failed++;
      continue;
    }
    const perp_lcp p = problem_of(&b, lo, hi);
    perp_lcp_judgement j;
    perp_lcp_judge(&p, b.x, NULL, scratch, &j);
    worst = fmax(worst, j.rel);
  }
  ok(failed == 0, "of 64 directions: %d of 100 blocks fail", failed);
  below(worst, 1e-10, "and the judge accepts them");
  perp_rng_destroy(g);
}

/* ---- the method ---- */

/* w out [MOST], lambda in and out. */
static perp_stats solve(const char *method, const perp_lcp *p, double tol, double *lambda,
                        double *w)
{
  perp_spec spec;
  perp_lcp_solver *s;
  perp_stats stats;
  if (p->n > MOST) bail("%d rows", p->n);
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK ||
      perp_lcp_create(&ctx, &spec, p->n, 0, &s) != PERP_OK ||
      perp_lcp_solve(&ctx, s, p, tol, lambda, w, NULL, &stats) != PERP_OK)
    bail("%s: %s", method, ctx.msg);
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
  return stats;
}

static perp_lcp_problem make(perp_lcp_recipe recipe)
{
  perp_lcp_problem q;
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s: %s", recipe.family, ctx.msg);
  return q;
}

/* Velocities of normals, all rows without a slack's A_ii = 0 and directions, differ by at most
 * this. */
static double differ(const perp_lcp *p, const double *w, const double *v)
{
  double top = 0;
  for (int i = 0; i < p->n; i++)
    if (p->A[(size_t)i * ((size_t)p->lda + 1)] > 0 && p->b[i] != 0)
      top = fmax(top, fabs(w[i] - v[i]));
  return top;
}

static void against_lemke(void)
{
  static const char *const families[] = { "incline-slide", "incline-stick", "incline-edge",
                                          "stack-friction", "wall-friction" };
  static double x[MOST], w[MOST], y[MOST], v[MOST];
  for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
    int solved = 0, total = 0;
    double worst = 0;
    for (int k = 0; k < 12; k++) {
      perp_lcp_problem q = make((perp_lcp_recipe){
          .family = families[f], .boxes = 1 << k % 3, .permute = k >= 6, .seed = 5 + (uint64_t)k });
      if (k / 3 % 2 != 0) q.p.contact_of = NULL;
      memset(x, 0, sizeof x);
      memset(y, 0, sizeof y);
      const perp_stats stats = solve("block-gs", &q.p, 1e-10, x, w);
      const perp_stats exact = solve("lemke", &q.p, 1e-10, y, v);
      if (exact.reason != PERP_CONVERGED) bail("lemke does not solve %s", families[f]);
      total++;
      solved += stats.reason == PERP_CONVERGED;
      worst = fmax(worst, differ(&q.p, w, v));
      perp_lcp_problem_free(&q);
    }
    ok(solved == total, "%s: %d of %d solved, permuted or not, contacts said or not", families[f],
       solved, total);
    below(worst, 1e-8, "%s: velocities of the floor contacts as by lemke", families[f]);
  }
}

/* One sweep by the textbook: block by block  b' = b + sign sum A_ij x_j, each block by enumeration.
 */
struct first {
  double x[6];
  bool seen;
};

static bool keep_first(void *user, const double *x, const double *w, const signed char *state)
{
  struct first *first = user;
  (void)w;
  (void)state;
  for (int i = 0; i < 6; i++) first->x[i] = x[i];
  first->seen = true;
  return false;
}

static double textbook(const perp_lcp *p, const int *rows, double sign, double *x)
{
  double worst = 0;
  for (int c = 0; c < 2; c++) {
    double K[36], b[6];
    const int *row = rows + 6 * c;
    for (int i = 0; i < 6; i++) {
      double sum = 0;
      for (int j = 0; j < 12; j++)
        if (j / 6 != c) sum += p->A[row[i] + rows[j] * p->lda] * x[rows[j]];
      for (int j = 0; j < 6; j++) K[i + 6 * j] = p->A[row[i] + row[j] * p->lda];
      b[i] = p->b[row[i]] + sign * sum;
    }
    const perp_lcp q = { .n = 6, .A = K, .lda = 6, .b = b };
    struct first first = { .seen = false };
    int count;
    if (perp_lcp_all_solutions(&ctx, &q, 1e-10, keep_first, &first, &count, NULL) != PERP_OK ||
        !first.seen)
      bail("a block of the textbook has no solution: %s", ctx.msg);
    for (int i = 0; i < 6; i++) {
      worst = fmax(worst, fabs(first.x[i] - x[row[i]]));
      x[row[i]] = first.x[i];
    }
  }
  return worst;
}

static void sweep(void)
{
  /* two points under one mass of 1 kg that also turns, 4 directions each; definite by a softness of
   * 0.3 */
  perp_rng *g = perp_rng_create(11);
  double A[144] = { 0 }, b[12] = { 0 }, B[10 * 6], v[6];
  int contact_of[12], plus = 0, minus = 0, total = 0;
  for (int n = 0; n < 40; n++) {
    for (int i = 0; i < 60; i++) B[i] = perp_rng_uniform(g, -1, 1);
    for (int l = 0; l < 6; l++) v[l] = perp_rng_uniform(g, -1, 1);
    memset(A, 0, sizeof A);
    for (int i = 0; i < 10; i++) {
      const int I = i / 5 * 6 + i % 5;
      b[I] = -(i % 5 == 0);
      for (int l = 0; l < 6; l++) b[I] += B[6 * i + l] * v[l];
      for (int j = 0; j < 10; j++) {
        const int J = j / 5 * 6 + j % 5;
        A[I + 12 * J] = 0.3 * (i == j);
        for (int l = 0; l < 6; l++) A[I + 12 * J] += B[6 * i + l] * B[6 * j + l];
      }
    }
    for (int c = 0; c < 2; c++) {
      A[6 * c + 5 + 12 * 6 * c] = 0.4;
      for (int t = 1; t < 5; t++) {
        A[6 * c + 5 + 12 * (6 * c + t)] = -1;
        A[6 * c + t + 12 * (6 * c + 5)] = 1;
      }
    }
    int rows[12];
    for (int i = 0; i < 12; i++) rows[i] = i, contact_of[i] = i / 6;
    const perp_lcp p = { .n = 12, .A = A, .lda = 12, .b = b, .contact_of = contact_of };
    double x[12] = { 0 }, y[12] = { 0 }, z[12] = { 0 }, w[12], right = 0, wrong = 0;
    solve("block-gs:sweeps=1", &p, 1e-10, x, w);
    textbook(&p, rows, 1, y);
    textbook(&p, rows, -1, z);
    if (x[0] == 0 || y[6] == 0) continue; /* nothing passes from one to the other */
    for (int i = 0; i < 12; i++) {
      right = fmax(right, fabs(x[i] - y[i]));
      wrong = fmax(wrong, fabs(x[i] - z[i]));
    }
    total++;
    plus += right < 1e-9;
    minus += wrong < 1e-9;
  }
  ok(total >= 8 && plus == total, "one sweep is that of the textbook with b + sum (%d of %d)", plus,
     total);
  ok(minus == 0, "and never that with b - sum (%d)", minus);
  perp_rng_destroy(g);
}

/* ---- other answers ---- */

static void refused(void)
{
  static double x[MOST], w[MOST];
  perp_lcp_problem q = make((perp_lcp_recipe){ .family = "bimatrix", .n = 12 });
  memset(x, 0, sizeof x);
  ok(solve("block-gs", &q.p, 1e-10, x, w).reason == PERP_UNSUITED &&
         strstr(ctx.msg, "assigned to a Stewart-Trinkle contact") != NULL,
     "rows like slacks in no contact: unsuited (%s)", ctx.msg);
  perp_lcp_problem_free(&q);

  q = make((perp_lcp_recipe){ .family = "incline-slide", .boxes = 4 });
  static const char *const by_rows[] = { "jacobi", "pgs", "psor" };
  bool all = true;
  for (int told = 0; told < 2; told++) {
    if (told) q.p.contact_of = NULL;
    for (int k = 0; k < 3; k++) {
      memset(x, 0, sizeof x);
      ctx.msg[0] = '\0';
      all = all && solve(by_rows[k], &q.p, 1e-10, x, w).reason == PERP_UNSUITED &&
            strstr(ctx.msg, "Stewart-Trinkle rows") != NULL;
    }
  }
  ok(all, "sweeps over single rows say that they do not take such rows");
  perp_lcp_problem_free(&q);

  q = make((perp_lcp_recipe){ .family = "spd", .n = 6 });
  memset(x, 0, sizeof x);
  ctx.msg[0] = '\0';
  ok(solve("block-gs:by=group", &q.p, 1e-10, x, w).reason == PERP_UNSUITED &&
         strstr(ctx.msg, "by=contact") != NULL,
     "dense A has no groups: unsuited (%s)", ctx.msg);
  perp_lcp_problem_free(&q);

  /* a contact whose mobility has no range for its load: the block has no solution, and nothing is
   * made up */
  double A[16] = { 0, 0, 0, 0.5, 0, 1, -1, -1, 0, -1, 1, -1, 0, 1, 1, 0 }, b[4] = { -1, 1, -1, 0 };
  int contact_of[4] = { 0, 0, 0, 0 };
  const perp_lcp p = { .n = 4, .A = A, .lda = 4, .b = b, .contact_of = contact_of };
  memset(x, 0, sizeof x);
  ctx.msg[0] = '\0';
  ok(solve("block-gs", &p, 1e-10, x, w).reason == PERP_STALLED && x[0] == 0 &&
         strstr(ctx.msg, "no solution") != NULL,
     "a block without a solution: %s", ctx.msg);
}

/* Relaxed and accelerated iterates stay within the friction limits. */
static void feasible(void)
{
  static double x[MOST], w[MOST];
  static const char *const methods[] = { "block-gs:omega=1.4,sweeps=%d",
                                         "block-gs:omega=0.6,sweeps=%d" };
  perp_lcp_problem q = make((perp_lcp_recipe){ .family = "incline-slide", .boxes = 3 });
  const int n = q.p.n;
  double worst = 0;
  for (int m = 0; m < 2; m++)
    for (int sweeps = 1; sweeps < 30; sweeps++) {
      char text[80];
      const char *colon = strchr(methods[m], '%');
      snprintf(text, sizeof text, "%.*s%d", (int)(colon - methods[m]), methods[m], sweeps);
      memset(x, 0, sizeof x);
      solve(text, &q.p, 1e-10, x, w);
      for (int i = 0; i < n; i++) {
        const bool slack = q.p.A[(size_t)i * ((size_t)q.p.lda + 1)] == 0;
        worst = fmax(worst, fmax(-x[i], slack ? -w[i] : 0));
      }
    }
  below(worst, 1e-16, "relaxed sweeps stay within sum x_t <= mu x_n");
  memset(x, 0, sizeof x);
  const perp_stats fast = solve("block-gs:accelerate=10", &q.p, 1e-8, x, w);
  memset(x, 0, sizeof x);
  const perp_stats plain = solve("block-gs:accelerate=0", &q.p, 1e-8, x, w);
  ok(fast.reason == PERP_CONVERGED && plain.reason == PERP_CONVERGED &&
         fast.iterations < plain.iterations,
     "acceleration: %lld sweeps in place of %lld", (long long)fast.iterations,
     (long long)plain.iterations);
  perp_lcp_problem_free(&q);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  alone();
  single_cases();
  against_lemke();
  sweep();
  refused();
  feasible();
  return tap_done();
}
