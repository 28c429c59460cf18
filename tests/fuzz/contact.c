/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random contact scenes: shapes, poses, deep initial penetration, coincident bodies, mass ratios to 1e6,
 * no and huge friction, thin plates, impacts at 100 m/s, joints.  Whatever the solver: no crash, no hang,
 * no NaN; a step that fails says why.
 *
 *      fuzz_contact [SCENES [STEPS [FIRST_SEED [LCP]]]] */
#include "tests/run_model.h"

static perp_ctx ctx;

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
  if (perp_model_add_shape(&ctx, model, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
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
    if (perp_model_add_shape(&ctx, model, &floor, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  double spread = perp_rng_int(r, 3), speed = perp_rng_int(r, 3) == 0 ? 100 : perp_rng_int(r, 2);
  for (int i = 0; i < n; i++) {
    perp_body_def body = { .mass = perp_mass_box(pick(r, masses, 6), 1, 0.7, 0.4) };
    for (int k = 0; k < 3; k++) {
      body.x[k] = spread * perp_rng_uniform(r, -1, 1); /* spread 0: all in one place */
      body.v[k] = speed * perp_rng_uniform(r, -1, 1);
      body.w[k] = speed * perp_rng_uniform(r, -1, 1);
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

static int failed_steps, failed_problems;

/* NULL when all is well, else what is wrong */
static const char *survives(perp_model *model, run_parts parts, int steps)
{
  static char why[600];
  perp_parts p;
  perp_sim *sim = NULL;
  double t;
  const double *q, *v;
  perp_step_info info;
  const char *wrong = NULL;
  if (run_parse(&ctx, &parts, &p) != PERP_OK) bail("%s", ctx.msg);
  perp_status status = perp_sim_create(&ctx, model, &p, 1.0 / 240, &sim);
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
      failed_steps++;
      break;
    }
  }
  failed_problems += (int)perp_sim_contacts(sim)->failures;
  perp_sim_destroy(sim);
  return wrong;
}

int main(int argc, char **argv)
{
  static const run_parts parts[] = {
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
    { .lcp = "interior-point", .contact = "frictionless" },
    { .lcp = "apgd:max_iter=200", .contact = "box", .formulation = "velocity:joints=rows" },
    { .lcp = "staggered:max_iter=50", .contact = "cone" },
    { .lcp = "keller",
      .contact = "polyhedral:directions=4",
      .formulation = "velocity:fallback=(pgs:max_iter=100)" },
  };
  int scenes = argc > 1 ? atoi(argv[1]) : 25, steps = argc > 2 ? atoi(argv[2]) : 20;
  int first = argc > 3 ? atoi(argv[3]) : 1;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    int bad = 0;
    double slowest = 0;
    int slowest_seed = 0;
    if (argc > 4 && strncmp(parts[i].lcp, argv[4], strlen(argv[4])) != 0) continue;
    failed_steps = failed_problems = 0;
    for (int seed = first; seed < first + scenes; seed++) {
      perp_model *model = scene((uint64_t)seed);
      double start = perp_clock_thread();
      const char *wrong = survives(model, parts[i], steps);
      double spent = perp_clock_thread() - start;
      if (spent > slowest) {
        slowest = spent;
        slowest_seed = seed;
      }
      if (wrong != NULL) {
        bad++;
        printf("# seed %d, %s, %s: %s\n", seed, parts[i].lcp, parts[i].contact, wrong);
      }
      perp_model_destroy(model);
    }
    printf("# %d steps failed with a cause, %d problems not solved; slowest %.2f s, seed %d\n",
           failed_steps, failed_problems, slowest, slowest_seed);
    ok(bad == 0, "%s, %s: %d scenes survive", parts[i].lcp, parts[i].contact, scenes);
  }
  return tap_done();
}
