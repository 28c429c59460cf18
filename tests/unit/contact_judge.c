/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What contact models accept from a solver.  The sliding speed s of a contact without force may be
 * of any size: an answer must not be good because s is huge. */
#include "tests/run_model.h"

static perp_ctx ctx;

static double answer[16]; /* of the solver below, whatever it is asked */

static perp_status make(perp_ctx *c, int max_n, const void *opts, void **ws)
{
  (void)c, (void)max_n, (void)opts;
  *ws = NULL;
  return PERP_OK;
}
static perp_status say(perp_ctx *c, void *ws, const perp_lcp *p, double *lambda,
                       double *certificate, perp_stats *stats)
{
  (void)c, (void)ws, (void)certificate;
  for (int i = 0; i < p->n; i++) lambda[i] = answer[i];
  stats->reason = PERP_EXACT;
  return PERP_OK;
}
static void no_more(void *ws)
{
  (void)ws;
}
static const perp_lcp_desc oracle = {
  .d = { .name = "oracle", .caps = PERP_LCP_NONSYMMETRIC | PERP_LCP_BOX | PERP_LCP_FREE },
  .create = make,
  .solve = say,
  .destroy = no_more,
};
static const perp_plugin with_oracle[] = { { PERP_KIND_lcp, &oracle.d }, { PERP_KIND_NONE, NULL } };

/* A body of 1 kg over the ground: normal impulse, friction along t1 and its sliding speed, as the
 * model is told. It comes down with `down` and slides along t1 with `along`. */
static perp_contact_count one_contact(double down, double along, const double lambda[6],
                                      double impulse[3], double *slip)
{
  static const double A[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, diag[3] = { 1, 1, 1 }, mu[1] = { 0.5 };
  const double b[3] = { -down, along, 0 };
  const perp_contact_island island = {
    .nc = 1, .mu = mu, .A = A, .lda = 3, .diag = diag, .b = b, .reuse = 1e-8
  };
  const perp_spec lcp = { .d = &oracle.d };
  const perp_contact_setup setup = { .dim = 3, .lcp = &lcp, .tol = 1e-8 };
  perp_spec model;
  perp_contact_count count = { 0 };
  void *ws;
  if (perp_spec_parse(&ctx, PERP_KIND_contact, "polyhedral:directions=4", &model) != PERP_OK)
    bail("%s", ctx.msg);
  const perp_contact_desc *d = (const perp_contact_desc *)model.d;
  memcpy(answer, lambda, 6 * sizeof *lambda);
  if (d->create(&ctx, &setup, model.opts, &ws) != PERP_OK ||
      d->solve(&ctx, ws, &island, impulse, slip, &count) != PERP_OK)
    bail("%s", ctx.msg);
  d->destroy(ws);
  perp_spec_free(&model);
  return count;
}

/* What is made of the answer `said` of the oracle, asked by the solver `by`, without friction, at n
 * contacts of bodies of `mass` kg in all; impulse [n] out. */
static perp_contact_count contacts_of(const char *by, int n, const double *A, const double *b,
                                      double mass, const double *said, double *impulse)
{
  static const double mu[3] = { 0 };
  double diag[3], slip[3];
  for (int i = 0; i < n; i++) {
    diag[i] = A[i * (n + 1)];
    impulse[i] = 0;
  }
  const perp_contact_island island = {
    .nc = n, .mu = mu, .A = A, .lda = n, .diag = diag, .b = b, .reuse = 1e-8, .mass = mass
  };
  perp_spec model, lcp;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, by, &lcp) != PERP_OK) bail("%s", ctx.msg);
  const perp_contact_setup setup = { .dim = 3, .lcp = &lcp, .tol = 1e-8, .tol_data = 1e-6 };
  perp_contact_count count = { 0 };
  void *ws;
  if (perp_spec_parse(&ctx, PERP_KIND_contact, "frictionless", &model) != PERP_OK)
    bail("%s", ctx.msg);
  const perp_contact_desc *d = (const perp_contact_desc *)model.d;
  memcpy(answer, said, (size_t)n * sizeof *said);
  if (d->create(&ctx, &setup, model.opts, &ws) != PERP_OK ||
      d->solve(&ctx, ws, &island, impulse, slip, &count) != PERP_OK)
    bail("%s", ctx.msg);
  d->destroy(ws);
  perp_spec_free(&lcp);
  perp_spec_free(&model);
  return count;
}

static const double closing[3] = { -1, -1, -1 };
static const char *const alone = "oracle", *const rescued = "rescue:of=oracle";

/* Contacts that stick, whose friction points anywhere: the ellipsoid of the answer takes it as it
 * is when it is the guess. */
static void test_own_answer(void)
{
  static const double diag[3] = { 1, 1, 1 }, mu[1] = { 0.5 }, b[3] = { -1, 0.05, 0 };
  perp_spec lcp, model;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "lemke", &lcp) != PERP_OK ||
      perp_spec_parse(&ctx, PERP_KIND_contact, "elliptic", &model) != PERP_OK)
    bail("%s", ctx.msg);
  const perp_contact_setup setup = { .dim = 3, .lcp = &lcp, .tol = 1e-8 };
  const perp_contact_desc *d = (const perp_contact_desc *)model.d;
  double off = 0;
  int reused = 0;
  enum { WAYS = 12 };
  for (int k = 0; k < WAYS; k++) {
    const double x = 0.3 * cos(0.1 + 2 * M_PI * k / WAYS), y = 0.3 * sin(0.1 + 2 * M_PI * k / WAYS);
    const double A[9] = { 1, x, y, x, 1, 0, y, 0, 1 };
    const perp_contact_island island = {
      .nc = 1, .mu = mu, .A = A, .lda = 3, .diag = diag, .b = b, .reuse = 1e-8
    };
    double impulse[3] = { 0 }, slip = 0;
    perp_contact_count first = { 0 }, second = { 0 };
    void *ws;
    if (d->create(&ctx, &setup, model.opts, &ws) != PERP_OK ||
        d->solve(&ctx, ws, &island, impulse, &slip, &first) != PERP_OK ||
        d->solve(&ctx, ws, &island, impulse, &slip, &second) != PERP_OK)
      bail("%s", ctx.msg);
    for (int i = 0; i < 3; i++)
      off = fmax(off,
                 fabs(b[i] + A[i] * impulse[0] + A[3 + i] * impulse[1] + A[6 + i] * impulse[2]));
    reused += second.reused == 1;
    d->destroy(ws);
  }
  below(off, 1e-8, "elliptic: contacts stick");
  ok(reused == WAYS, "... and their answers are answers, as guesses: %d of %d", reused, WAYS);
  perp_spec_free(&lcp);
  perp_spec_free(&model);
}

/* A body of 1 kg comes down with 1 m/s and carries one of 1000 kg: impulses that are not quite
 * right are large beside what the light one asks for, and must not be taken for such that throw. */
static void test_heavy_on_light(void)
{
  static const double A[4] = { 1, -1, -1, 1 + 1e-3 }, b[2] = { -1, 0 };
  const double almost = 1 - 1e-3, said[2] = { almost * 1001, almost * 1000 };
  double impulse[2];
  const perp_contact_count count = contacts_of(alone, 2, A, b, 1001, said, impulse);
  ok(count.failures == 1 && count.thrown == 0,
     "impulses that carry a heavy body on a light one throw nothing");
  ok(impulse[0] == said[0] && impulse[1] == said[1], "... and are kept: %g and %g N s", impulse[0],
     impulse[1]);
}

/* A heavy and a light body come down with 1 m/s, each on a contact of its own. */
static void test_light_body(void)
{
  static const double A[4] = { 1e-6, 0, 0, 1e3 };
  double impulse[2];
  /* off by 1e-4 of the largest impulse, by 1e5 m/s for the light one */
  static const double said[2] = { 1e6, 100 };
  perp_contact_count count = contacts_of(alone, 2, A, closing, 0, said, impulse);
  ok(count.failures == 1 && count.solved == 0 && count.thrown == 1,
     "an impulse that throws a light body is of no use, however small beside others");
  ok(impulse[0] == 0 && impulse[1] == 0, "... and nothing stands in for it: %g and %g N s",
     impulse[0], impulse[1]);
  count = contacts_of(rescued, 2, A, closing, 0, said, impulse);
  ok(count.failures == 0 && count.solved == 1 && count.by[0].n == 1 &&
         strcmp(count.by[0].name, "sweeps") == 0,
     "... sweeps that are asked for solve it: %s", count.by[0].name);
  near(impulse[1], 1e-3, 1e-6, 0, "... and mend it");
  near(impulse[0], 1e6, 1, 0, "... and leave the heavy one");
  /* off by 5e-9 of the largest impulse, by 5000 m/s for the light one */
  static const double heavier[4] = { 1e-9, 0, 0, 1e3 }, fast[2] = { 1e9, 5 };
  count = contacts_of(alone, 2, heavier, closing, 0, fast, impulse);
  ok(count.failures == 1 && count.failed[-PERP_INACCURATE] == 1,
     "a residual below the tolerance is no solution for a body that it throws");
  /* off by 1e-14 of the largest impulse, by 1e-2 m/s for the light one */
  static const double slow[2] = { 1e9, 1e-3 + 1e-5 };
  count = contacts_of(alone, 2, heavier, closing, 0, slow, impulse);
  ok(count.failures == 1 && count.residual <= 1e-8 && count.data > 1e-6,
     "nor for one that it moves by a hundredth: residual %.2g, in units of the data %.2g",
     count.residual, count.data);
  static const double still[2] = { 1e9, 1e-3 + 1e-10 };
  count = contacts_of(alone, 2, heavier, closing, 0, still, impulse);
  ok(count.failures == 0 && count.solved == 1 && strcmp(count.by[0].name, "oracle") == 0,
     "but for one that it moves by 1e-7 it is: %.2g", count.data);
}

/* A body of 1 kg between two plates that come together with 1 m/s each, and a heavy one on its own
 * contact.  No impulses separate the first from both plates, and equal ones may be of any size:
 * those that differ throw it, and their residual is small beside the impulse of the heavy one. */
static void test_contradiction(void)
{
  static const double A[9] = { 1, -1, 0, -1, 1, 0, 0, 0, 1e-9 };
  static const double said[][3] = { { 1e16, 1e16 + 1e8, 1e9 },
                                    { 1e9, 1e9 + 1e3, 1e9 },
                                    { 0, 1e4, 1e9 } };
  for (int i = 0; i < 3; i++) {
    double impulse[3];
    perp_contact_count count = contacts_of(alone, 3, A, closing, 0, said[i], impulse);
    ok(count.failures == 1 && count.thrown == 1,
       "contacts that contradict each other, %g and %g N s: refused, and counted", said[i][0],
       said[i][1]);
    below(fabs(impulse[0] - impulse[1]), 1 + 1e-9, "... the body is not thrown");
    count = contacts_of(rescued, 3, A, closing, 0, said[i], impulse);
    ok(count.failures == 1 && count.solved == 0, "... softened impulses are no solution either");
    below(fabs(impulse[0] - impulse[1]), 1 + 1e-9, "... the body moves with no more than a plate");
    ok(impulse[0] >= 1 && impulse[0] < 1e3 && impulse[1] >= 1 && impulse[1] < 1e3,
       "... but are used: it is held from both sides: %g and %g N s", impulse[0], impulse[1]);
    near(impulse[2], 1e9, 0.1e9, 0, "... and the heavy one stops");
  }
}

/* One island after the other into the counts; more names than there are places. */
static void test_counts(void)
{
  perp_contact_count one = { 0 }, sum = { 0 };
  perp_stats stats = { .reason = PERP_CONVERGED, .residual = 1e-9, .data = 1e-7, .iterations = 2 };
  static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" };
  for (int i = 0; i < 10; i++) {
    stats.by = names[i];
    perp_contact_count_solve(&one, "named", &stats);
  }
  stats.by = NULL;
  stats.reason = PERP_SWEEPS_DONE;
  stats.data = 0.5;
  perp_contact_count_solve(&one, "named", &stats);
  stats.reason = PERP_MAX_ITER;
  perp_contact_count_solve(&one, "named", &stats);
  for (int i = 0; i < 2; i++) perp_contact_count_add(&sum, &one);
  ok(sum.problems == 24 && sum.solved == 20 && sum.swept == 2 && sum.failures == 2 &&
         sum.failed[-PERP_MAX_ITER] == 2 && sum.iterations == 48,
     "every problem is solved, swept or failed");
  perp_contact_count two = { .coulomb = { true, 0.1, 0.4, 0.2, 0.3 }, .rows = 2, .contacts = 5 },
                     here = { .coulomb = { true, 0.2, 0.3, 0.1, 0.2 }, .rows = 3, .contacts = 4 },
                     there;
  two.residual = here.data = 1, two.islands = 7, here.islands = 6;
  there = here;
  perp_contact_count_add(&here, &two);
  perp_contact_count_add(&two, &there);
  ok(memcmp(&here.coulomb.violation, &two.coulomb.violation, 4 * sizeof(double)) == 0 &&
         here.rows == two.rows && here.contacts == two.contacts && here.islands == two.islands &&
         here.residual == two.residual && here.data == two.data && here.coulomb.angle > 0,
     "a sum in either order");
  near(sum.data, 0.5, 0, 0, "the largest figure of all that was used");
  int64_t all = 0;
  for (int i = 0; i < PERP_SOLVED_BY; i++) all += sum.by[i].n;
  ok(all == sum.solved && sum.by[0].n == 2 && strcmp(sum.by[6].name, "g") == 0 &&
         strcmp(sum.by[PERP_SOLVED_BY - 1].name, "others") == 0 &&
         sum.by[PERP_SOLVED_BY - 1].n == 6,
     "... and by whom, those without a place together");
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register(&ctx, with_oracle) != PERP_OK)
    bail("%s", ctx.msg);
  double impulse[3] = { 0 }, slip = 0;
  /* rows n, four directions, s */
  const double right[6] = { 0.05, 0, 0, 0.025, 0, 99.975 };
  perp_contact_count count = one_contact(0.05, 100, right, impulse, &slip);
  ok(count.problems == 1 && count.failures == 0, "the solution of a sliding contact is accepted");
  near(impulse[1], -0.025, 1e-15, 0, "... friction mu lambda_n against the sliding");
  near(slip, 99.975, 1e-12, 0, "... and its speed");

  impulse[0] = impulse[1] = slip = 0;
  const double nothing[6] = { 0, 0, 0, 0, 0, 1e12 };
  count = one_contact(0.05, 100, nothing, impulse, &slip);
  ok(count.failures == 1 && count.residual > 1e-4,
     "no force at all with s = 1e12 m/s is no solution: residual %.2g", count.residual);
  near(slip, 100, 1e-9, 0, "... and the speed that is handed on is that of the contact");

  memset(impulse, 0, sizeof impulse);
  slip = 1e12;
  count = one_contact(0.05, 100, right, impulse, &slip);
  ok(count.reused == 0 && count.problems == 1, "a guess with such a speed is none");

  /* a contact that opens has a sliding speed of any size */
  impulse[0] = impulse[1] = slip = 0;
  const double open[6] = { 0, 0, 0, 0, 0, 1e6 };
  count = one_contact(-0.05, 100, open, impulse, &slip);
  ok(count.failures == 0 && count.residual < 1e-12, "a contact that opens may have any: solved");
  near(slip, 100, 1e-9, 0, "... and its own is handed on");
  test_own_answer();
  test_heavy_on_light();
  test_light_body();
  test_contradiction();
  test_counts();
  return tap_done();
}
