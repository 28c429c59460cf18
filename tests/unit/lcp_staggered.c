/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The staggered method: two problems in turn on Stewart-Trinkle rows, with the velocities of
 * Lemke's method; both parts are used; what has no fixed point in reach is not solved; the
 * acceleration pays, and costs little where it does not. */
#include "solvers/lcp/io/convert.h"
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/stewart.h"
#include "tests/lcp_random.h"
#include "tests/tap.h"

enum { MOST = 400 };

static perp_ctx ctx;

struct run {
  perp_stats stats;
  double x[MOST], w[MOST];
  int rounds;    /* that were traced */
  uint64_t hash; /* of all that was traced, inner solvers included */
};

static void watch(void *user, const perp_trace_event *e)
{
  struct run *r = user;
  r->rounds += strcmp(e->method, "staggered") == 0;
  for (const char *c = e->method; *c != '\0'; c++)
    r->hash = (r->hash ^ (uint64_t)*c) * 1099511628211u;
  for (int i = 0; e->x != NULL && i < e->n; i++) {
    uint64_t bits;
    memcpy(&bits, &e->x[i], sizeof bits);
    r->hash = (r->hash ^ bits) * 1099511628211u;
  }
}

static struct run run(const char *text, const perp_lcp *p, double tol)
{
  struct run r = { .hash = 1469598103934665603u };
  perp_spec spec;
  perp_lcp_solver *s;
  if (p->n > MOST) bail("%d rows", p->n);
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_create(&ctx, &spec, p->n, p->F != NULL ? p->F->nv : 0, &s) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
  ctx.trace = watch;
  ctx.trace_user = &r;
  ctx.msg[0] = '\0';
  if (perp_lcp_solve(&ctx, s, p, tol, r.x, r.w, NULL, &r.stats) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
  ctx.trace = NULL;
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
  return r;
}

static perp_lcp_problem make(const char *family, int boxes, bool permute)
{
  perp_lcp_problem q;
  const perp_lcp_recipe recipe = {
    .family = family, .boxes = boxes, .seed = 3, .permute = permute
  };
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s: %s", family, ctx.msg);
  return q;
}

/* Velocities of the contact points, which are unique: w without the slacks, which are not where
 * there is no force. */
static void velocities(const perp_lcp *p, const struct run *r, double *u)
{
  static int ptr[MOST + 1], rows[MOST], home[MOST];
  perp_stewart s = { .ptr = ptr, .rows = rows, .home = home };
  if (perp_stewart_find(&ctx, p, &s) != PERP_OK || s.contacts == 0) bail("no contacts");
  memcpy(u, r->w, (size_t)p->n * sizeof *u);
  for (int c = 0; c < s.contacts; c++) {
    const int slack = rows[ptr[c + 1] - 1];
    for (int k = ptr[c] + 1; k < ptr[c + 1]; k++)
      u[rows[k]] -= p->A[rows[k] + slack * p->lda] * r->x[slack];
    u[slack] = 0;
  }
}

static double apart(const perp_lcp *p, const struct run *a, const struct run *b)
{
  double u[MOST], v[MOST], worst = 0;
  velocities(p, a, u);
  velocities(p, b, v);
  for (int i = 0; i < p->n; i++) worst = fmax(worst, fabs(u[i] - v[i]));
  return worst;
}

/* ---- Stewart-Trinkle rows ---- */

static void check_in_turn(void)
{
  static const char *const families[] = { "incline-slide", "incline-edge", "incline-stick" };
  bool turns = true, solved = true;
  double worst = 0;
  for (int f = 0; f < 3; f++)
    for (int boxes = 1; boxes <= 8; boxes++) {
      perp_lcp_problem q = make(families[f], boxes, boxes % 2);
      const struct run s = run("staggered", &q.p, 1e-10), l = run("lemke", &q.p, 1e-10);
      turns = turns && s.stats.iterations > 1 && s.rounds == s.stats.iterations;
      const struct run g = run("staggered:friction=block-gs", &q.p, 1e-10);
      solved = solved && s.stats.reason == PERP_CONVERGED && l.stats.reason == PERP_CONVERGED &&
               g.stats.reason == PERP_CONVERGED;
      worst = fmax(worst, fmax(apart(&q.p, &s, &l), apart(&q.p, &g, &l)));
      perp_lcp_problem_free(&q);
    }
  ok(turns, "inclines of Stewart-Trinkle rows take more than one round");
  ok(solved, "... and are solved, 24 of 24");
  below(worst, 1e-8, "... with the velocities of Lemke's method");
}

/* Contacts said or found, rows in any order: the same problem. */
static void check_order(void)
{
  perp_lcp_problem a = make("incline-slide", 4, false), b = make("incline-slide", 4, true);
  perp_lcp found = b.p;
  found.contact_of = NULL;
  const struct run said = run("staggered", &a.p, 1e-10), other = run("staggered", &b.p, 1e-10),
                   seen = run("staggered", &found, 1e-10), l = run("lemke", &b.p, 1e-10);
  ok(said.stats.iterations == other.stats.iterations && apart(&b.p, &other, &l) < 1e-8,
     "rows in another order: %d rounds and %d", said.stats.iterations, other.stats.iterations);
  ok(seen.hash == other.hash, "contacts that are found are those that are said: the same iterates");
  perp_lcp_problem_free(&a);
  perp_lcp_problem_free(&b);
}

static void check_parts(void)
{
  static const char *const parts[] = { "staggered",
                                       "staggered:friction=lemke",
                                       "staggered:friction=murty",
                                       "staggered:friction=fischer-newton",
                                       "staggered:friction=block-gs",
                                       "staggered:friction=minmap-newton",
                                       "staggered:normal=dantzig",
                                       "staggered:normal=interior-point",
                                       "staggered:normal=(pgs:max_iter=100000)" };
  enum { PARTS = sizeof parts / sizeof *parts };
  perp_lcp_problem q = make("incline-slide", 4, false);
  struct run r[PARTS];
  bool solved = true, differ = true;
  for (int k = 0; k < PARTS; k++) {
    r[k] = run(parts[k], &q.p, 1e-8);
    solved = solved && r[k].stats.reason == PERP_CONVERGED && apart(&q.p, &r[k], &r[0]) < 1e-6;
    for (int i = 1; i < k; i++) differ = differ && r[k].hash != r[i].hash;
  }
  ok(solved, "any solver of the parts comes to the same velocities");
  ok(r[0].hash == r[1].hash, "the default for friction is lemke, as the help says");
  ok(differ, "normal= and friction= each change the trace");
  static const char *const not [] = { "dantzig", "apgd" };
  for (int k = 0; k < 2; k++) {
    char text[64];
    snprintf(text, sizeof text, "staggered:friction=%s", not [k]);
    const struct run none = run(text, &q.p, 1e-8);
    ok(none.stats.reason == PERP_UNSUITED && none.stats.iterations == 0 &&
           strstr(ctx.msg, not [k]) != NULL && strstr(ctx.msg, "friction") != NULL,
       "friction=%s cannot serve them, and that is said", not [k]);
  }
  perp_lcp_problem_free(&q);
  perp_lcp_recipe recipe = { .family = "bimatrix", .n = 12 };
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s", ctx.msg);
  const struct run unclear = run("staggered", &q.p, 1e-8);
  ok(unclear.stats.reason == PERP_UNSUITED && ctx.msg[0] != '\0',
     "zeros on the diagonal that are no slacks: unsuited");
  perp_lcp_problem_free(&q);
}

/* Random contacts, mu = 0.1 ... 1 times `factor`. */
static perp_lcp_problem pyramid(perp_rng *g, int contacts, double factor, double softness)
{
  random_lcp r = random_factored(g, 1 + contacts / 2, contacts, SHAPE_CONTACTS, 2, softness);
  perp_lcp_problem cones, out;
  if (perp_lcp_copy(&ctx, random_as_dense(&r), &cones) != PERP_OK) bail("%s", ctx.msg);
  const perp_lcp_arrays x = perp_lcp_edit(&cones);
  for (int i = 0; i < cones.p.n; i++)
    if (x.fric_of[i] >= 0) x.mu[i] *= factor;
  if (perp_lcp_pyramid(&ctx, &cones, 4, &out) != PERP_OK) bail("%s", ctx.msg);
  perp_lcp_problem_free(&cones);
  random_free(&r);
  return out;
}

/* Up to mu = 0.3 rounds lead to a solution; up to mu = 1 they do but for one or two, which the
 * rounding of a processor chooses; with mu up to 50 the map need not contract, and what is not
 * solved is called so although there is a solution. */
static void check_random(void)
{
  static const double factors[] = { 0.3, 1, 50 };
  for (int k = 0; k < 3; k++) {
    perp_rng *g = perp_rng_create(5);
    int solved = 0, by_blocks = 0, given_up = 0, lemke = 0, total = k < 2 ? 60 : 20;
    for (int trial = 0; trial < total; trial++) {
      perp_lcp_problem q = pyramid(g, 1 + trial % 6, factors[k], trial % 2 ? 1e-3 : 0);
      const struct run s = run("staggered", &q.p, 1e-8), l = run("lemke", &q.p, 1e-8);
      const struct run b = run("staggered:friction=block-gs", &q.p, 1e-8);
      by_blocks += b.stats.reason == PERP_CONVERGED && b.stats.residual <= 1e-8;
      solved += s.stats.reason == PERP_CONVERGED && s.stats.residual <= 1e-8;
      given_up += (s.stats.reason == PERP_MAX_ITER || s.stats.reason == PERP_CYCLED) &&
                  s.stats.residual > 1e-8;
      lemke += l.stats.reason == PERP_CONVERGED;
      perp_lcp_problem_free(&q);
    }
    static const int least[] = { 0, 0, 1 }, most[] = { 0, 2, 20 };
    ok(lemke == total && solved + given_up == total && given_up >= least[k] && given_up <= most[k],
       "random contacts, mu up to %g: %d solved, %d given up as such", factors[k], solved,
       given_up);
    ok(abs(by_blocks - solved) <= 3, "... friction by blocked Gauss-Seidel: %d solved", by_blocks);
    perp_rng_destroy(g);
  }
}

/* ---- the quadratic program of friction ---- */

/* 1/2 x'A x + b'x over the rows of directions, x else as it is (STAR 2012, eq. 83) */
static double energy(const perp_lcp *p, const double *x, const unsigned char *direction)
{
  double sum = 0;
  for (int i = 0; i < p->n; i++) {
    if (!direction[i]) continue;
    double w = p->b[i];
    for (int j = 0; j < p->n; j++)
      if (direction[j])
        w += 0.5 * p->A[i + j * p->lda] * x[j];
      else if (p->A[j + j * p->lda] > 0) /* a normal row, no slack */
        w += p->A[i + j * p->lda] * x[j];
    sum += x[i] * w;
  }
  return sum;
}

/* With the normal impulses of the solution no feasible friction (84) has less energy: points
 * between it and random ones. */
static void check_program(void)
{
  static int ptr[MOST + 1], rows[MOST], home[MOST];
  static const char *const families[] = { "incline-slide", "incline-edge", "incline-stick" };
  perp_rng *g = perp_rng_create(83);
  double worst = 0, least = HUGE_VAL;
  int solved = 0, by_lemke = 0, total = 0;
  for (int trial = 0; trial < 84; trial++) {
    perp_lcp_problem q = trial < 24 ? make(families[trial % 3], 1 + trial / 3, trial % 2)
                                    : pyramid(g, 1 + trial % 6, 0.3, trial % 2 ? 1e-3 : 0);
    const struct run s = run("staggered:qp=true", &q.p, 1e-8), l = run("staggered", &q.p, 1e-8);
    total++;
    solved += s.stats.reason == PERP_CONVERGED && s.stats.residual <= 1e-8;
    by_lemke += l.stats.reason == PERP_CONVERGED;
    if (trial < 24) worst = fmax(worst, apart(&q.p, &s, &l));
    perp_stewart c = { .ptr = ptr, .rows = rows, .home = home };
    if (perp_stewart_find(&ctx, &q.p, &c) != PERP_OK) bail("%s", ctx.msg);
    unsigned char direction[MOST] = { 0 };
    for (int k = 0; k < c.contacts; k++)
      for (int i = ptr[k] + 1; i < ptr[k + 1] - 1; i++) direction[rows[i]] = 1;
    const double found = energy(&q.p, s.x, direction);
    for (int point = 0; point < 50; point++) {
      double x[MOST];
      memcpy(x, s.x, (size_t)q.p.n * sizeof *x);
      const double way = pow(10, perp_rng_uniform(g, -6, 0));
      for (int k = 0; k < c.contacts; k++) {
        const int slack = rows[ptr[k + 1] - 1], n = ptr[k + 1] - ptr[k] - 2;
        const double limit = q.p.A[slack + rows[ptr[k]] * q.p.lda] * s.x[rows[ptr[k]]];
        for (int i = ptr[k] + 1; i < ptr[k + 1] - 1; i++) {
          const double f = -q.p.A[slack + rows[i] * q.p.lda];
          x[rows[i]] += way * (perp_rng_uniform(g, 0, 1) * limit / (n * f) - x[rows[i]]);
        }
      }
      least = fmin(least, (energy(&q.p, x, direction) - found) / (fabs(found) + 1e-6));
    }
    perp_lcp_problem_free(&q);
  }
  ok(solved >= by_lemke - 1 && solved >= 82,
     "friction as a quadratic program: %d of %d, as an LCP %d", solved, total, by_lemke);
  below(worst, 1e-6, "... inclines with the same velocities");
  ok(least > -1e-7, "... no other friction within its limits has less energy (%.2g)", least);
  perp_rng_destroy(g);

  perp_spec spec;
  perp_lcp_solver *none;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "staggered:qp=true,friction=lemke", &spec) != PERP_OK)
    bail("%s", ctx.msg);
  ok(perp_lcp_create(&ctx, &spec, 10, 0, &none) == PERP_ERR_OPTION, "refused: %s", ctx.msg);
  perp_spec_free(&spec);
  perp_lcp_problem q = make("incline-slide", 1, false);
  perp_stewart c = { .ptr = ptr, .rows = rows, .home = home };
  if (perp_stewart_find(&ctx, &q.p, &c) != PERP_OK) bail("%s", ctx.msg);
  double *A = (double *)(uintptr_t)q.p.A;
  A[rows[ptr[0] + 1] + rows[ptr[1] - 1] * q.p.lda] *= 2; /* e of one direction */
  const struct run uneven = run("staggered:qp=true", &q.p, 1e-8);
  ok(uneven.stats.reason == PERP_UNSUITED && strstr(ctx.msg, "qp") != NULL, "unsuited: %s",
     ctx.msg);
  perp_lcp_problem_free(&q);
}

/* ---- acceleration ---- */

struct tally {
  int total, plain, worse, unsolved;
};

static void compare(const perp_lcp *p, struct tally *t)
{
  const struct run s = run("staggered", p, 1e-8), plain = run("staggered:depth=0", p, 1e-8);
  t->total += s.stats.iterations;
  t->plain += plain.stats.iterations;
  t->worse += s.stats.iterations > 1.5 * plain.stats.iterations;
  t->unsolved += s.stats.reason != PERP_CONVERGED && plain.stats.reason == PERP_CONVERGED;
}

static void check_acceleration(void)
{
  static const char *const families[] = { "incline-box",   "incline-cone", "incline-slide",
                                          "incline-stick", "wall-box",     "wall-cone" };
  for (int f = 0; f < 6; f++) {
    struct tally t = { 0 };
    for (int boxes = 1; boxes <= 8; boxes++) {
      perp_lcp_problem q = make(families[f], boxes, false);
      compare(&q.p, &t);
      perp_lcp_problem_free(&q);
    }
    ok(t.worse == 0 && t.unsolved == 0 && (f < 4 ? 4 * t.total < t.plain : t.total == t.plain),
       "%s: %d rounds, %d without acceleration, %d problems with more than 1.5 times as many",
       families[f], t.total, t.plain, t.worse);
  }
  for (int friction = 1; friction <= 2; friction++) {
    struct tally t = { 0 };
    perp_rng *g = perp_rng_create(8);
    for (int trial = 0; trial < 60; trial++) {
      random_lcp r = random_factored(g, 1 + trial % 4, 1 + trial % 8, SHAPE_CONTACTS, friction,
                                     trial % 2 ? 1e-3 : 0);
      compare(trial % 3 ? random_as_factored(&r) : random_as_dense(&r), &t);
      random_free(&r);
    }
    ok(t.worse == 0 && t.unsolved == 0 && 2 * t.total < t.plain,
       "random %s: %d rounds, %d without acceleration, %d problems with more than 1.5 times as "
       "many",
       friction == 1 ? "boxes" : "cones", t.total, t.plain, t.worse);
    perp_rng_destroy(g);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  check_in_turn();
  check_order();
  check_parts();
  check_random();
  check_program();
  check_acceleration();
  return tap_done();
}
