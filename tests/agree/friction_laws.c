/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The default law of friction is Coulomb's where the solver serves it, and coulomb.violation tells
 * which law is: against quadratures and closed forms of bodies whose feet slip in different
 * directions, and at every step size. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/run_model.h"

static perp_ctx ctx;

typedef struct outcome {
  double speed; /* largest error of the speed at the end, m/s */
  perp_contact_coulomb coulomb;
} outcome;

static outcome march(const char *scene, run_parts parts, double h, double t_end,
                     const double want[6])
{
  perp_spec spec;
  perp_scene s;
  outcome o = { 0 };
  double t;
  const double *q, *v;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, scene, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &s) != PERP_OK)
    bail("%s", ctx.msg);
  perp_sim *sim = run_start(&ctx, s.model, parts, h);
  run_to(&ctx, sim, t_end);
  perp_sim_state(sim, &t, &q, &v);
  for (int i = 0; i < 6; i++) o.speed = fmax(o.speed, fabs(v[i] - want[i]));
  o.coulomb = perp_sim_contacts(sim)->coulomb;
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
  perp_spec_free(&spec);
  return o;
}

static const double belts[6] = { 0.8616656849 },
                    sled[6] = { 0.53946934052, 0.292431391931, 0, 0, 0, 5.59735399579 };

/* By default, in each formulation of impulses: first order to the quadrature, nothing left of the
 * law. */
static void test_default(void)
{
  static const char *const formulations[] = { "velocity", "velocity-midpoint", "reduced", "impulse",
                                              "regularized" };
  for (size_t i = 0; i < sizeof formulations / sizeof *formulations; i++) {
    const run_parts parts = { formulations[i] };
    const outcome coarse = march("two-belts", parts, 2e-3, 0.6, belts),
                  fine = march("two-belts", parts, 1e-3, 0.6, belts);
    ok(fine.speed < 1.1e-4 && fine.speed < 0.6 * coarse.speed,
       "%s: two belts, off by %.2g and %.2g m/s", formulations[i], coarse.speed, fine.speed);
    ok(fine.coulomb.measured && fine.coulomb.violation < 1e-6 && fine.coulomb.beyond < 1e-6 &&
           fine.coulomb.angle < 1e-6,
       "%s: friction is Coulomb's to %.2g mu N", formulations[i], fine.coulomb.violation);
  }
  const run_parts parts = { "velocity" };
  const outcome coarse = march("spinning-sled", parts, 2e-3, 0.3, sled),
                fine = march("spinning-sled", parts, 1e-3, 0.3, sled);
  ok(fine.speed < 1.1e-3 && fine.speed < 0.6 * coarse.speed && fine.coulomb.violation < 1e-6,
     "velocity: a sled that spins, off by %.2g and %.2g m/s", coarse.speed, fine.speed);
}

/* The other laws leave the same of it at every step size. */
static void test_violation(void)
{
  static const struct {
    const char *scene, *formulation, *contact;
    double t_end, least, angle;
    const double *want;
  } wrong[] = {
    { "two-belts", "velocity", "box", 0.6, 0.99, 0.78, belts },
    { "spinning-sled", "velocity", "box", 0.3, 0.99, 0.7, sled },
    { "spinning-sled", "velocity:align=none", "polyhedral:directions=8", 0.3, 0.38, 0.38, sled },
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    for (int k = 0; k < 3; k++) {
      const double h = 2e-3 / (1 << k);
      const run_parts parts = { wrong[i].formulation, .contact = wrong[i].contact };
      const outcome o = march(wrong[i].scene, parts, h, wrong[i].t_end, wrong[i].want);
      ok(o.coulomb.violation > wrong[i].least && o.coulomb.angle > wrong[i].angle && o.speed > 0.3,
         "%s, %s, h = %g s: violation %.3g, angle %.3g rad, off by %.3g", wrong[i].scene,
         wrong[i].contact, h, o.coulomb.violation, o.coulomb.angle, o.speed);
    }
}

/* Which law a solver gets where none is named: of what it serves. */
static void test_choice(void)
{
  static const struct {
    const char *scene, *lcp, *law;
  } choice[] = {
    { "two-belts", "auto", "cone" },        { "two-belts", "pgs", "cone" },
    { "two-belts", "prox", "cone" },        { "two-belts", "dantzig", "box" },
    { "two-belts", "lemke", "polyhedral" }, { "incline:dim=2", "auto", "cone" },
    { "incline:dim=2", "dantzig", "cone" },
  };
  for (size_t i = 0; i < sizeof choice / sizeof *choice; i++) {
    perp_spec spec;
    perp_scene s;
    perp_parts parts = { 0 };
    if (perp_spec_parse(&ctx, PERP_KIND_scene, choice[i].scene, &spec) != PERP_OK ||
        perp_scene_create(&ctx, &spec, &s) != PERP_OK ||
        perp_spec_parse(&ctx, PERP_KIND_lcp, choice[i].lcp, &parts.lcp) != PERP_OK ||
        perp_parts_complete(&ctx, s.model, &parts) != PERP_OK)
      bail("%s", ctx.msg);
    ok(strcmp(parts.contact.d->name, choice[i].law) == 0, "%s with lcp %s: contact %s",
       choice[i].scene, choice[i].lcp, parts.contact.d->name);
    perp_parts_free(&parts);
    perp_scene_destroy(&s);
    perp_spec_free(&spec);
  }
}

/* Answers of an ill-conditioned problem to the tolerance are no forces: a standing figure's,
 * against statics. */
static void test_standing(void)
{
  static const char *const lcps[] = { NULL, "auto:tol=1e-12", "cone-newton:tol=1e-13" };
  const char *source = getenv("PERP_SOURCE");
  char scene[1200];
  snprintf(scene, sizeof scene,
           "%s/experiments/scenes/examples/stance.yaml:height=1.2,mass=30,lean=-0.05,bag=0.1",
           source != NULL ? source : ".");
  for (size_t i = 0; i < sizeof lcps / sizeof *lcps; i++) {
    const perp_request request = {
      .scene = scene, .formulation = "velocity", .lcp = lcps[i], .t_end = 0.3
    };
    perp_result r;
    if (perp_simulate(&ctx, &request, &r) != PERP_OK) bail("%s", ctx.msg);
    const double force = perp_result_metric(&r, "force.rel.err");
    ok(perp_result_status(&r) == PERP_CELL_OK && force < 1e-4,
       "a standing figure with %s: %s, forces of the feet off by %.2g of its weight",
       lcps[i] != NULL ? lcps[i] : "the default", perp_result_status_name(&r), force);
    perp_result_free(&r);
  }
}

typedef struct push {
  double before, after, from; /* forces, and when the second begins */
} push;

static void push_of(const void *user, double t, double y[3])
{
  const push *p = user;
  y[0] = t < p->from ? p->before : p->after;
  y[1] = y[2] = 0;
}

/* A box at rest, alone or held against a force, that is pushed from the end of a step on by more
 * than holds it: it slides from there under its dynamic friction, v = (F / m - mu_dynamic g) t. */
static void test_push(int dim, double before, int steps)
{
  const double h = 0.01, mu = 0.5, mu_dynamic = 0.2;
  push p = { before, 0.8 * 9.81, (steps - 1e-3) * h };
  perp_model *m = run_model(&ctx, dim);
  double v[6];
  perp_body_def box = { .mass = perp_mass_box(1, 0.4, 0.2, 0.2) };
  box.x[dim - 1] = 0.1;
  perp_force_def force = { .kind = PERP_FORCE_POINT, .a = run_body(&ctx, m, box) };
  const perp_signal_def on = { .kind = PERP_SIGNAL_FUNCTION, .of = push_of, .user = &p };
  const perp_surface surface = { mu, mu_dynamic, 0 };
  perp_shape_def plane = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = surface },
                 cube = {
                   .kind = PERP_SHAPE_BOX, .body = 0, .half = { 0.2, 0.1, 0.1 }, .surface = surface
                 };
  if (perp_model_add_signal(&ctx, m, &on, &force.value_signal[0]) != PERP_OK ||
      perp_model_add_force(&ctx, m, &force) != PERP_OK ||
      perp_model_add_shape(&ctx, m, &plane, NULL) != PERP_OK ||
      perp_model_add_shape(&ctx, m, &cube, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  run_finish(&ctx, m);
  run_fresh(&ctx, m, (run_parts){ "velocity-midpoint" }, h, (steps + 3) * h, NULL, v);
  near(v[0], (p.after - mu_dynamic * 9.81) * 3 * h, 1e-6, 0,
       "velocity-midpoint, dim %d: a sudden push after %d steps under %.2g N", dim, steps, before);
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK ||
      perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  test_default();
  test_violation();
  test_choice();
  test_standing();
  for (int dim = 2; dim <= 3; dim++) {
    test_push(dim, 0, 1);
    test_push(dim, 0.3 * 9.81, 4);
  }
  return tap_done();
}
