/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Energy of random heaps with friction does not grow.  With e = 0 and no stabilization a step of
 * velocity stepping obeys
 *
 *      E+ - E  <=  -|v+ - v|_M^2 / 2  <=  0,       E kinetic and potential energy,
 *
 * as v+ = v^ + M^-1 J' lambda with v^ = v + h g (turning bodies keep their energy), lambda' J v+ <=
 * -lambda' bias and bias = gap / h >= 0 where contacts are open, 0 else: penetration is not given
 * back, so that no term of it is left. What remains is the error of the solution, tol of the
 * largest impulse.  (Newton's restitution with friction has no such bound: Kane and Levinson 1985.)
 */
#include "tests/run_model.h"

static perp_ctx ctx;

static void shape(perp_model *model, perp_rng *r, int body, perp_shape_kind kind, double mu)
{
  perp_shape_def def = { .kind = kind, .body = body, .radius = perp_rng_uniform(r, 0.1, 0.3) };
  for (int i = 0; i < 3; i++) def.half[i] = perp_rng_uniform(r, 0.1, 0.3);
  def.quat[0] = 1;
  def.surface.mu = def.surface.mu_dynamic = mu;
  run_shape(&ctx, model, def);
}

/* boxes and spheres, thrown into a heap on the ground; none overlaps at the start */
static perp_model *heap(uint64_t seed)
{
  perp_rng *r = perp_rng_create(seed);
  const int dim = 2 + (int)(seed % 2), n = 3 + perp_rng_int(r, 6);
  const double mu = perp_rng_uniform(r, 0.1, 1);
  perp_model *model = run_model(&ctx, dim);
  shape(model, r, PERP_WORLD, PERP_SHAPE_PLANE, mu);
  for (int i = 0; i < n; i++) {
    const double up = 0.6 + 1.1 * i;
    perp_body_def body = { .mass = perp_mass_box(perp_rng_uniform(r, 0.5, 5), 0.4, 0.4, 0.4) };
    for (int k = 0; k < 3; k++) {
      body.x[k] = perp_rng_uniform(r, -0.2, 0.2);
      body.v[k] = perp_rng_uniform(r, -2, 2);
      body.w[k] = perp_rng_uniform(r, -5, 5);
      body.quat[k + 1] = perp_rng_normal(r);
    }
    body.quat[0] = 1;
    body.angle = perp_rng_normal(r);
    body.x[dim - 1] = up;
    body.v[dim - 1] = perp_rng_uniform(r, -5, 0);
    run_body(&ctx, model, body);
    shape(model, r, i, perp_rng_int(r, 2) ? PERP_SHAPE_BOX : PERP_SHAPE_SPHERE, mu);
  }
  perp_rng_destroy(r);
  return run_finish(&ctx, model);
}

/* largest growth of the energy in a step, of what there is at the start */
static double growth(uint64_t seed, run_parts parts, int64_t *failures, int *contacts)
{
  perp_model *model = heap(seed);
  perp_sim *sim = run_start(&ctx, model, parts, 1.0 / 240);
  double t, kinetic, potential, worst = 0, before = 0, start = 0;
  const double *q, *v;
  perp_step_info info;
  for (int k = 0; k < 480; k++) {
    perp_sim_state(sim, &t, &q, &v);
    perp_model_energy(model, t, q, v, &kinetic, &potential);
    if (k == 0) start = fabs(kinetic) + fabs(potential);
    if (k > 0) worst = fmax(worst, kinetic + potential - before);
    before = kinetic + potential;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s, seed %d: %s", parts.lcp, (int)seed, ctx.msg);
  }
  *failures += perp_sim_contacts(sim)->failures;
  *contacts += perp_sim_contacts(sim)->contacts;
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  return worst / start;
}

int main(void)
{
  static const run_parts parts[] = {
    { .lcp = "dantzig", .contact = "box", .stab = "none" },
    { .lcp = "pgs", .contact = "box", .stab = "none" },
    { .lcp = "block-gs", .contact = "cone", .stab = "none" },
  };
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    double worst = 0;
    int64_t failures = 0;
    int at = 0, contacts = 0;
    for (int seed = 1; seed <= 20; seed++) {
      const double grown = growth((uint64_t)seed, parts[i], &failures, &contacts);
      if (grown > worst) at = seed;
      worst = fmax(worst, grown);
    }
    printf("# %s: %lld problems not solved, seed %d grows most\n", parts[i].lcp,
           (long long)failures, at);
    below(worst, 1e-8, "%s: energy does not grow in 20 heaps with friction", parts[i].lcp);
    ok(contacts > 100, "... of %d contacts", contacts);
  }
  return tap_done();
}
