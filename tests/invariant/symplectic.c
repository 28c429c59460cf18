/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is called symplectic keeps the energy of a conservative model near its value for all times:
 * it has no trend.  A method that is not one (velocity form of Verlet in joint coordinates,
 * explicit gyroscopic torque) has. */
#include "experiments/scenes/scene_file.h"
#include "tests/run_model.h"

static perp_ctx ctx;

enum { STEPS = 30000, WINDOW = STEPS / 5 };

typedef struct energies {
  double first, last; /* mean of E - E0 in the first and in the last window */
  double most;        /* |E - E0| anywhere */
} energies;

static energies energy_history(const char *scene_text, run_parts parts, double h)
{
  perp_spec spec;
  perp_scene scene;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, scene_text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  perp_sim *sim = run_start(&ctx, scene.model, parts, h);
  energies e = { 0 };
  double t, kinetic, potential, E0 = 0;
  const double *q, *v;
  for (int k = 0; k <= STEPS; k++) {
    perp_step_info info;
    perp_sim_state(sim, &t, &q, &v);
    perp_model_energy(scene.model, t, q, v, &kinetic, &potential);
    if (k == 0) E0 = kinetic + potential;
    const double off = kinetic + potential - E0;
    e.most = fmax(e.most, fabs(off));
    if (k < WINDOW) e.first += off / WINDOW;
    if (k >= STEPS - WINDOW) e.last += off / WINDOW;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s: %s at %g s: %s", scene_text, parts.formulation, t, ctx.msg);
  }
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  return e;
}

int main(void)
{
  static const struct {
    const char *scene;
    double h;
  } scenes[] = { { "double-pendulum", 5e-3 },           { "chain:links=3", 1e-3 },
                 { "chain:links=3,joint=mixed", 1e-3 }, { "free-body", 0.05 },
                 { "spherical-pendulum", 0.01 },        { "heavy-top", 5e-4 } };
  static const run_parts parts[] = {
    { .formulation = "reduced", .ode = "symplectic-euler" },
    { .formulation = "reduced", .ode = "verlet" },
    { .formulation = "impulse" },
  };
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    for (size_t j = 0; j < sizeof parts / sizeof *parts; j++) {
      const energies e = energy_history(scenes[i].scene, parts[j], scenes[i].h);
      ok(fabs(e.last - e.first) <= 0.02 * e.most + 1e-11,
         "%s, %s %s: no trend of the energy: off by %.2g on average, later by %.2g (at most %.2g)",
         scenes[i].scene, parts[j].formulation, parts[j].ode != NULL ? parts[j].ode : "", e.first,
         e.last, e.most);
    }
  for (size_t i = 4; i < 6; i++) { /* of higher order, in four times the step */
    const run_parts variational = { .formulation = "variational" };
    const energies e = energy_history(scenes[i].scene, variational, 4 * scenes[i].h);
    ok(fabs(e.last - e.first) <= 0.02 * e.most + 1e-11 && e.most > 1e-10,
       "%s, variational: no trend of the energy: off by %.2g on average, later by %.2g (at most "
       "%.2g)",
       scenes[i].scene, e.first, e.last, e.most);
  }
  /* the test can fail */
  const energies e = energy_history("double-pendulum",
                                    (run_parts){ .formulation = "reduced", .ode = "heun" }, 5e-3);
  ok(fabs(e.last - e.first) > 0.02 * e.most, "heun has a trend: %.2g, later %.2g (at most %.2g)",
     e.first, e.last, e.most);
  return tap_done();
}
