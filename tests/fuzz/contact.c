/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random contact scenes: shapes, poses, deep initial penetration, coincident bodies, mass ratios to
 * 1e6, no and huge friction, thin plates, impacts at 100 m/s, joints.  Whatever the solver: no
 * crash, no hang, no NaN; a step or a problem that fails says why.
 *
 *      test_fuzz_contact [SCENES [STEPS [FIRST_SEED [LCP [H [SHOWN]]]]]]
 *
 * LCP: `mixed` = the combinations below; `own` = every registered solver but those of other
 * libraries, with the contact model that goes with it; `peers` = those (slow: each has 0.2 s a
 * problem); `all` = both; or the name of one, bounded as for those, or with its options,
 * `name:option=value`, as it is. SHOWN: scenes that take more seconds of CPU time get a line of
 * their own, as they go; 0: each. */
#include "tests/run_model.h"

#include <sys/resource.h>

static perp_ctx ctx;
static double shown = HUGE_VAL; /* s */

/* CPU time, that of child processes included (peers) */
static double clock_cpu(void)
{
  double t = 0;
  for (int k = 0; k < 2; k++) {
    struct rusage r;
    getrusage(k == 0 ? RUSAGE_SELF : RUSAGE_CHILDREN, &r);
    t += (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec);
    t += 1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
  }
  return t;
}

static double pick(perp_rng *r, const double *x, int n)
{
  return x[perp_rng_int(r, n)];
}

static void add_shape(perp_model *model, perp_rng *r, int dim, int body)
{
  static const double sizes[] = { 0.5, 0.5, 0.3, 1, 1e-3, 5 }, mus[] = { 0.5, 0, 1, 0.3, 100 };
  static const double es[] = { 0, 0, 0.5, 1 };
  double vertices[3 * 9];
  perp_shape_def def = { .body = body, .radius = pick(r, sizes, 4), .length = pick(r, sizes, 4) };
  def.kind = (perp_shape_kind)perp_rng_int(r, body == PERP_WORLD ? 5 : 4);
  for (int i = 0; i < 3; i++) def.half[i] = pick(r, sizes, 5);
  if (perp_rng_int(r, 4) == 0)
    for (int i = 0; i < 3; i++) def.x[i] = perp_rng_uniform(r, -0.3, 0.3);
  for (int i = 0; i < 4; i++) def.quat[i] = i == 0 ? 1 : perp_rng_int(r, 2) * perp_rng_normal(r);
  def.angle = perp_rng_int(r, 2) * perp_rng_normal(r);
  if (def.kind == PERP_SHAPE_PLANE) def.quat[1] = def.quat[2] = def.quat[3] = def.angle = 0;
  for (int i = 0; i < dim * 9; i++) vertices[i] = perp_rng_uniform(r, -0.5, 0.5);
  def.vertices = vertices;
  def.n_vertices = 9;
  def.surface.mu = pick(r, mus, 5);
  def.surface.mu_dynamic = perp_rng_int(r, 2) ? (double)NAN : 0.5 * def.surface.mu;
  def.surface.restitution = pick(r, es, 4);
  run_shape(&ctx, model, def);
}

static perp_model *scene(uint64_t seed)
{
  static const double masses[] = { 1, 1, 10, 1e3, 1e6, 1e-3 };
  perp_rng *r = perp_rng_create(seed);
  int dim = 2 + perp_rng_int(r, 2), n = 1 + perp_rng_int(r, 7);
  perp_model *model = run_model(&ctx, dim);
  add_shape(model, r, dim, PERP_WORLD);
  if (perp_rng_int(r, 2)) { /* a floor */
    perp_shape_def floor = { .kind = PERP_SHAPE_PLANE,
                             .body = PERP_WORLD,
                             .surface = { .mu = 0.6, .mu_dynamic = 0.6 } };
    run_shape(&ctx, model, floor);
  }
  double spread = perp_rng_int(r, 3), speed = perp_rng_int(r, 3) == 0 ? 100 : perp_rng_int(r, 2);
  for (int i = 0; i < n; i++) {
    perp_body_def body = { .mass = perp_mass_box(pick(r, masses, 6), 1, 0.7, 0.4) };
    for (int k = 0; k < 3; k++) {
      body.x[k] = spread * perp_rng_uniform(r, -1, 1); /* spread 0: all in one place */
      body.v[k] = speed * perp_rng_uniform(r, -1, 1);
      body.w[k] = fmin(speed, 10) * perp_rng_uniform(r, -1, 1);
      body.quat[k + 1] = perp_rng_int(r, 2) * perp_rng_normal(r);
    }
    body.quat[0] = 1;
    body.angle = perp_rng_int(r, 2) * perp_rng_normal(r);
    int b = run_body(&ctx, model, body), shapes = 1 + (perp_rng_int(r, 4) == 0);
    for (int k = 0; k < shapes; k++) add_shape(model, r, dim, b);
  }
  if (n > 1 && speed == 0 && perp_rng_int(r, 2)) { /* a rod between two centres that are apart */
    const perp_body_def *a = perp_model_body(model, 0), *b = perp_model_body(model, 1);
    double d = 0;
    for (int k = 0; k < dim; k++) d += pow(a->x[k] - b->x[k], 2);
    if (d > 0.01)
      run_joint(&ctx, model,
                (perp_joint_def){ .kind = PERP_JOINT_DISTANCE, .a = 0, .b = 1, .length = sqrt(d) });
  }
  perp_rng_destroy(r);
  return run_finish(&ctx, model);
}

static bool all_finite(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

static const run_parts mixed[] = {
  { .lcp = "dantzig", .contact = "box" },
  { .lcp = "dantzig", .contact = "box:limits=fixed", .stab = "post" },
  { .lcp = "lemke",
    .contact = "polyhedral:directions=4",
    .formulation = "velocity:impact=poisson" },
  { .lcp = "pgs:max_iter=200", .contact = "box" },
  { .lcp = "block-gs:max_iter=200", .contact = "cone" },
  { .lcp = "cone-newton:max_iter=50", .contact = "cone" },
  { .lcp = "fischer-newton:max_iter=50", .contact = "box" },
  { .lcp = "minmap-newton:max_iter=50", .contact = "box", .formulation = "velocity:gap=false" },
  { .lcp = "dantzig", .contact = "box", .formulation = "velocity:impact=stronge" },
  { .lcp = "auto",
    .contact = "cone",
    .formulation = "velocity:impact=chatterjee-ruina,tangential=1" },
  { .lcp = "interior-point", .contact = "frictionless" },
  { .lcp = "apgd:max_iter=200", .contact = "box", .formulation = "velocity:joints=rows" },
  { .lcp = "staggered:max_iter=50", .contact = "cone" },
  { .lcp = "auto:chain=(keller;pgs:max_iter=100),attempts=2",
    .contact = "polyhedral:directions=4" },
  { .lcp = "rescue:of=(murty:max_iter=100)", .contact = "frictionless" },
};

/* m/s or rad/s; nothing begins with more than 100 */
static const double THROWN = 1e4;

/* what one combination went through */
struct tally {
  int failed_steps, bad, slowest_seed, fastest_seed, thrown;
  int64_t problems, failures, failed[PERP_REASONS];
  double slowest, spent, fastest;
};

/* NULL when all is well, else what is wrong */
static const char *survives(perp_model *model, const run_parts *parts, int steps, double h,
                            struct tally *tally)
{
  static char why[600];
  perp_parts p;
  perp_sim *sim = NULL;
  double t;
  const double *q, *v;
  perp_step_info info;
  const char *wrong = NULL;
  if (run_parse(&ctx, parts, &p) != PERP_OK) bail("%s", ctx.msg);
  perp_status status = perp_sim_create(&ctx, model, &p, h, &sim);
  run_free(&p);
  if (status != PERP_OK) bail("%s", ctx.msg);
  for (int k = 0; k < steps && wrong == NULL; k++) {
    status = perp_sim_step(&ctx, sim, HUGE_VAL, &info);
    perp_sim_state(sim, &t, &q, &v);
    if (status != PERP_OK) {
      snprintf(why, sizeof why, "step %d: %s", k, ctx.msg);
      wrong = why;
    } else if (!all_finite(perp_model_nq(model), q) || !all_finite(perp_model_nv(model), v)) {
      wrong = "the state is not finite";
    } else if (info.impulse != NULL && !all_finite(3 * info.n_contacts, info.impulse)) {
      wrong = "an impulse is not finite";
    } else if (info.reason == PERP_RUNNING) {
      wrong = "no reason";
    } else if (info.reason < 0) {
      tally->failed_steps++;
      break;
    }
  }
  double fastest = 0;
  for (int i = 0; i < perp_model_nv(model); i++) fastest = fmax(fastest, fabs(v[i]));
  tally->fastest = fmax(tally->fastest, fastest);
  tally->thrown += fastest > THROWN;
  const perp_contact_count *count = perp_sim_contacts(sim);
  int64_t causes = 0;
  tally->problems += count->problems;
  tally->failures += count->failures;
  for (int i = 0; i < PERP_REASONS; i++) {
    tally->failed[i] += count->failed[i];
    causes += count->failed[i];
  }
  if (wrong == NULL && (causes != count->failures || count->failed[0] != 0))
    wrong = "a problem failed without a cause";
  perp_sim_destroy(sim);
  return wrong;
}

static void check(const run_parts *parts, int scenes, int first, int steps, double h)
{
  struct tally tally = { 0 };
  const char *contact = parts->contact != NULL ? parts->contact : "default contact";
  for (int seed = first; seed < first + scenes; seed++) {
    perp_model *model = scene((uint64_t)seed);
    double start = clock_cpu(), fastest = tally.fastest;
    int64_t problems = tally.problems, failures = tally.failures;
    int thrown = tally.thrown;
    const char *wrong = survives(model, parts, steps, h, &tally);
    double spent = clock_cpu() - start;
    if (spent >= shown) {
      printf("# seed %d: %.2f s, %lld of %lld problems not solved, %s\n", seed, spent,
             (long long)(tally.failures - failures), (long long)(tally.problems - problems),
             parts->lcp);
      fflush(stdout);
    }
    if (tally.fastest > fastest) tally.fastest_seed = seed;
    if (tally.thrown > thrown)
      printf("# seed %d ends with more than %g m/s or rad/s\n", seed, THROWN);
    tally.spent += spent;
    if (spent > tally.slowest) {
      tally.slowest = spent;
      tally.slowest_seed = seed;
    }
    if (wrong != NULL) {
      tally.bad++;
      printf("# seed %d, %s, %s: %s\n", seed, parts->lcp, contact, wrong);
    }
    perp_model_destroy(model);
  }
  printf("# %d steps failed with a cause, %lld of %lld problems not solved:", tally.failed_steps,
         (long long)tally.failures, (long long)tally.problems);
  for (int i = 1; i < PERP_REASONS; i++)
    if (tally.failed[i] > 0)
      printf(" %lld %s", (long long)tally.failed[i], perp_reason_name((perp_reason)-i));
  printf("\n# %d of %d scenes end with more than %g m/s or rad/s", tally.thrown, scenes, THROWN);
  printf("\n# %.1f s, slowest %.2f s (seed %d); fastest body at the end %.3g m/s (seed %d)\n",
         tally.spent, tally.slowest, tally.slowest_seed, tally.fastest, tally.fastest_seed);
  ok(tally.bad == 0, "%s, %s: %d scenes survive", parts->lcp, contact, scenes);
  fflush(stdout);
}

/* Scenes whose problems, many without a solution, made these solvers throw bodies with 1e5 to 1e8
 * m/s: what the best iterate of a failed solve does to the bodies counts, and the residual of a
 * solved one as a velocity. */
static void check_thrown(void)
{
  static const struct {
    int seed;
    run_parts parts;
  } cases[] = {
    { 783, { .lcp = "dantzig" } },        { 350, { .lcp = "cone-newton" } },
    { 420, { .lcp = "cone-newton" } },    { 946, { .lcp = "cone-newton" } },
    { 286, { .lcp = "minmap-newton" } },  { 946, { .lcp = "minmap-newton" } },
    { 444, { .lcp = "interior-point" } }, { 504, { .lcp = "interior-point" } },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tally tally = { 0 };
    perp_model *model = scene((uint64_t)cases[i].seed);
    const char *wrong = survives(model, &cases[i].parts, 60, 1.0 / 60, &tally);
    perp_model_destroy(model);
    ok(wrong == NULL, "%s, seed %d survives", cases[i].parts.lcp, cases[i].seed);
    below(tally.fastest, 1e3, "... and nothing is thrown");
  }
}

/* A registered solver, bounded: what does not converge in a few hundred iterations will not here,
 * and nobody waits for those that try everything. */
static void check_registered(const perp_desc *d, int scenes, int first, int steps, double h)
{
  static const struct {
    const char *name, *bound;
  } bounds[] = { { "staggered", "max_iter=20" }, /* its iterations are solves */
                 { "auto", "budget=20000" },
                 { "enumerate", "max_iter=20000" } };
  const char *bound = d->caps & PERP_LCP_PEER        ? "timeout=0.2"
                      : d->caps & PERP_LCP_ITERATIVE ? "max_iter=300"
                                                     : "";
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
    if (strcmp(d->name, bounds[i].name) == 0) bound = bounds[i].bound;
  char text[PERP_TEXT_MAX];
  snprintf(text, sizeof text, "%s%s%s", d->name, bound[0] ? ":" : "", bound);
  check(&(run_parts){ .lcp = text }, scenes, first, steps, h);
}

int main(int argc, char **argv)
{
  int scenes = argc > 1 ? atoi(argv[1]) : 25, steps = argc > 2 ? atoi(argv[2]) : 20;
  int first = argc > 3 ? atoi(argv[3]) : 1;
  const char *which = argc > 4 ? argv[4] : "mixed";
  double h = argc > 5 ? atof(argv[5]) : 1.0 / 240;
  if (argc > 6) shown = atof(argv[6]);
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (strcmp(which, "mixed") == 0) {
    for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++)
      check(&mixed[i], scenes, first, steps, h);
    check_thrown();
    return tap_done();
  }
  const perp_desc *d;
  bool registered = false;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL; i++)
    if (strcmp(which, d->name) == 0 ||
        (!(d->caps & PERP_LCP_STRUCTURED) &&
         (strcmp(which, "all") == 0 ||
          strcmp(which, d->caps & PERP_LCP_PEER ? "peers" : "own") == 0))) {
      check_registered(d, scenes, first, steps, h);
      registered = true;
    }
  if (!registered) check(&(run_parts){ .lcp = which }, scenes, first, steps, h);
  return tap_done();
}
