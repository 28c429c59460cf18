/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts with a tolerance, and steps that are halved when they end in penetration (Cline 2002,
 * section 4.1 and eq. 4.11): against a second implementation of one ball, the bound on contact
 * errors, and all KKT formulations alike. */
#include "tests/run_model.h"

#include <stdlib.h>

static perp_ctx ctx;
static const double g = 9.81;

static void add_shape(perp_model *model, perp_shape_def def)
{
  run_shape(&ctx, model, def);
}

/* A ball of 0.1 m, `height` above the ground and falling with `speed`. */
static const double radius = 0.1;
static perp_model *ball(double height, double speed, double e)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, g);
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_sphere(1, radius),
                            .x = { 0, 0, height + radius },
                            .v = { 0, 0, -speed } });
  add_shape(model, (perp_shape_def){ .body = PERP_WORLD, .kind = PERP_SHAPE_PLANE });
  add_shape(model, (perp_shape_def){ .body = 0,
                                     .kind = PERP_SHAPE_SPHERE,
                                     .radius = radius,
                                     .surface = { .restitution = e } });
  return run_finish(&ctx, model);
}

/* ---- the ball once more, as his loop says it ---- */

/* Fixed grid of h; a step from separation d with velocity v has v+ = v - g dt, or in contact (d <
 * eps) what Newton's law asks at least, and d+ = d + dt v+.  dt is halved until d+ is no
 * penetration. */
struct plain {
  double t, d, v;
  int steps, refused;
};
static void plain_run(struct plain *s, double h, double eps, double e, double t_end)
{
  const double slop = 1e-8 * radius;
  for (int k = 1; s->t < t_end - 1e-9; s->steps++) {
    while (k * h <= s->t + 1e-9 * h) k++;
    double dt = k * h - s->t, d, v;
    for (;; dt /= 2, s->refused++) {
      v = s->v - g * dt;
      if (s->d - eps <= 1e-6 * 2 * radius) /* what counts as closed without gaps, see below */
        v = fmax(v, s->v < -0.01 ? -e * s->v : 0);
      d = s->d + dt * v;
      if (d >= -slop) break;
    }
    s->t += dt;
    s->d = d;
    s->v = v;
  }
}

static void test_plain(void)
{
  static const struct {
    double height, speed, e, eps, h;
  } cases[] = { { 0.3, 0, 0, 2e-4, 5e-3 },
                { 0.3, 0, 0.5, 1e-4, 2e-3 },
                { 0.05, 7, 0.7, 2e-4, 5e-3 },
                { 0.2, 1, 0.5, 5e-5, 1e-3 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[128];
    snprintf(text, sizeof text, "velocity:gap=false,halvings=30,tolerance=%g", cases[i].eps);
    perp_model *model = ball(cases[i].height, cases[i].speed, cases[i].e);
    perp_sim *sim = run_start(&ctx, model,
                              (run_parts){ .formulation = text, .stab = "none", .lcp = "dantzig" },
                              cases[i].h);
    const double t_end = 0.5;
    struct plain s = { .d = cases[i].height, .v = -cases[i].speed };
    const perp_reason reason = run_to(&ctx, sim, t_end);
    plain_run(&s, cases[i].h, cases[i].eps, cases[i].e, t_end);
    double t;
    const double *q, *v;
    perp_ode_counters count;
    perp_sim_state(sim, &t, &q, &v);
    perp_sim_counters(sim, &count, NULL);
    ok(reason > 0, "ball %zu: %s", i, perp_reason_name(reason));
    below(fabs(q[2] - radius - s.d), 1e-12, "ball %zu: separation at the end, %g m", i, s.d);
    below(fabs(v[2] - s.v), 1e-11, "ball %zu: velocity at the end, %g m/s", i, s.v);
    ok(count.rejected == s.refused && s.refused > 0, "ball %zu: %lld refused steps, %d", i,
       (long long)count.rejected, s.refused);
    ok(count.steps == s.steps, "ball %zu: %lld steps, %d", i, (long long)count.steps, s.steps);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* ---- tolerance ---- */

/* A box at rest keeps the tolerance as its separation, by post-stabilization or with gaps, and
 * shapes that start nearer are moved there. */
static void test_tolerance(void)
{
  static const struct {
    const char *formulation, *stab;
    double start, want;
  } cases[] = { { "velocity:tolerance=1e-3", "none", 2e-3, 1e-3 },
                { "velocity:tolerance=1e-3", "post", 2e-4, 1e-3 },
                { "velocity:tolerance=1e-3,gap=false", "post", 2e-4, 1e-3 },
                { "velocity:tolerance=1e-3,gap=false", "none", 2e-4, 2e-4 },
                { "velocity-implicit:tolerance=1e-3", "split", 2e-4, 1e-3 },
                { "reduced:tolerance=1e-3", "post", 2e-4, 1e-3 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_model *model = run_model(&ctx, 3);
    perp_model_gravity(model, g);
    run_body(
        &ctx, model,
        (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1), .x = { 0, 0, 0.5 + cases[i].start } });
    add_shape(model, (perp_shape_def){ .body = PERP_WORLD, .kind = PERP_SHAPE_PLANE });
    add_shape(model, (perp_shape_def){ .body = 0,
                                       .kind = PERP_SHAPE_BOX,
                                       .half = { 0.5, 0.5, 0.5 },
                                       .surface = { .mu = 0.5, .mu_dynamic = 0.5 } });
    run_finish(&ctx, model);
    double q[7], v[6];
    run_fresh(&ctx, model,
              (run_parts){ .formulation = cases[i].formulation,
                           .stab = cases[i].stab,
                           .lcp = "dantzig",
                           .contact = "box" },
              1e-3, 0.2, q, v);
    below(fabs(q[2] - 0.5 - cases[i].want), 2e-8, "%s, %s: a box from %g m rests at %g m",
          cases[i].formulation, cases[i].stab, cases[i].start, cases[i].want);
    perp_model_destroy(model);
  }
}

/* ---- no penetration ---- */

/* Two jointed boxes thrown into a corner of the ground and a wall. */
static perp_model *thrown(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, g);
  for (int i = 0; i < 2; i++)
    run_body(&ctx, model,
             (perp_body_def){ .mass = perp_mass_box(1 + i, 0.4, 0.2, 0.2),
                              .x = { 0.5 * i, 0, 0.6 },
                              .v = { 4, 0, -3 - 1.5 * i },
                              .w = { 0, 3, 0 } });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_BALL,
                              .a = 0,
                              .b = 1,
                              .anchor_a = { 0.25, 0, 0 },
                              .anchor_b = { -0.25, 0, 0 } });
  const perp_surface rough = { .mu = 0.3, .mu_dynamic = 0.3, .restitution = 0.3 };
  add_shape(model,
            (perp_shape_def){ .body = PERP_WORLD, .kind = PERP_SHAPE_PLANE, .surface = rough });
  add_shape(model, (perp_shape_def){ .body = PERP_WORLD,
                                     .kind = PERP_SHAPE_PLANE,
                                     .x = { 1.5, 0, 0 },
                                     .quat = { M_SQRT1_2, 0, -M_SQRT1_2, 0 },
                                     .surface = rough });
  for (int i = 0; i < 2; i++)
    add_shape(model,
              (perp_shape_def){
                  .body = i, .kind = PERP_SHAPE_BOX, .half = { 0.2, 0.1, 0.1 }, .surface = rough });
  return run_finish(&ctx, model);
}

/* The least distance of two shapes over a run of 1 s, and its end q; the number of refused steps.
 */
static double thrown_run(run_parts parts, double *q_end, int *refused)
{
  perp_model *model = thrown();
  perp_sim *sim = run_start(&ctx, model, parts, 1e-3);
  double least = HUGE_VAL, t = 0;
  const double *q, *v;
  while (t < 1 - 1e-9) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK || info.reason < 0)
      bail("%s: %s %s", parts.kkt, perp_reason_name(info.reason), ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    perp_pose pose[3];
    memset(pose, 0, sizeof pose);
    for (int k = 0; k < 3; k++) pose[0].R[4 * k] = 1;
    for (int b = 0; b < 2; b++) perp_pose_of(3, q + 7 * b, &pose[b + 1]);
    for (int b = 0; b < 2; b++)
      for (int plane = 0; plane < 2; plane++)
        least = fmin(least, perp_shape_distance(model, plane, &pose[0], 2 + b, &pose[b + 1], NULL,
                                                NULL, NULL));
  }
  perp_ode_counters count;
  perp_sim_counters(sim, &count, NULL);
  *refused = (int)count.rejected;
  memcpy(q_end, q, 14 * sizeof *q);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  return least;
}

static void test_apart(void)
{
  static const char *const kkts[] = { "tree", "schur-dense", "kkt-dense", "schur-sparse",
                                      "kkt-sparse" };
  const char *halving = "velocity:gap=false,halvings=30,tolerance=1e-3";
  double q[14], other[14];
  int refused;
  run_parts parts = { .formulation = "velocity:gap=false,tolerance=1e-3",
                      .kkt = "tree",
                      .stab = "post",
                      .lcp = "dantzig",
                      .contact = "box" };
  /* the corrected ends of steps are without penetration, the steps are not */
  parts.stab = "baumgarte";
  const double without = thrown_run(parts, q, &refused);
  ok(without < -1e-4, "without halvings two shapes overlap by %.2g m", -without);
  for (size_t i = 0; i < sizeof kkts / sizeof *kkts; i++) {
    parts.formulation = halving;
    parts.kkt = kkts[i];
    parts.stab = "post:velocity=true";
    const double least = thrown_run(parts, i == 0 ? q : other, &refused);
    ok(least > -1e-8 && refused > 0, "%s: least separation %.3g m, %d steps halved", kkts[i], least,
       refused);
    double off = 0;
    for (int k = 0; k < 14 && i > 0; k++) off = fmax(off, fabs(other[k] - q[k]));
    below(off, 1e-7, "%s: the end is that of %s", kkts[i], kkts[0]);
  }
  parts.kkt = NULL;
  parts.formulation = "reduced:gap=false,halvings=30,tolerance=1e-3";
  parts.stab = "post";
  const double least = thrown_run(parts, other, &refused);
  ok(least > -1e-8 && refused > 0, "reduced: least separation %.3g m, %d steps halved", least,
     refused);
}

/* ---- what cannot be ---- */

/* A ball at 7 m/s is 0.1 mm above the ground, which it reaches in 14 us: 5 ms halved nine times. */
static void test_bound(void)
{
  perp_model *model = ball(1e-4, 7, 0);
  perp_sim *sim = run_start(
      &ctx, model,
      (run_parts){ .formulation = "velocity:gap=false,halvings=8,tolerance=5e-5",
                   .stab = "none",
                   .lcp = "dantzig" },
      5e-3);
  perp_step_info info;
  double t;
  const double *q, *v;
  const perp_status status = perp_sim_step(&ctx, sim, 1, &info);
  ok(status == PERP_OK && info.reason == PERP_INVALID_STATE, "8 halvings of 5 ms at 7 m/s: %s",
     perp_reason_name(info.reason));
  ok(info.cause != NULL && strstr(info.cause, "penetration") != NULL, "%s",
     info.cause != NULL ? info.cause : "no cause");
  perp_sim_state(sim, &t, &q, &v);
  ok(t == 0 && q[2] == radius + 1e-4 && v[2] == -7, "the state is that before the step");
  perp_sim_destroy(sim);
  ok(run_fresh(&ctx, model,
               (run_parts){ .formulation = "velocity:gap=false,halvings=9,tolerance=5e-5",
                            .stab = "none",
                            .lcp = "dantzig" },
               5e-3, 0.1, NULL, NULL) > 0,
     "9 are enough, and the ball lies");
  perp_model_destroy(model);
}

static void test_refused(void)
{
  static const struct {
    const char *formulation, *ode, *word;
  } cases[] = { { "velocity:halvings=5,sleep=true", "", "sleep" },
                { "velocity:halvings=5,substeps=2", "", "substeps" },
                { "velocity:halvings=5,stiffness=1e5", "", "rigid" },
                { "velocity:halvings=5,frequency=30", "", "rigid" },
                { "velocity-implicit:halvings=5,softness=1e-3", "", "rigid" },
                { "velocity:halvings=5,tol=1e-4", "", "tol" },
                { "velocity:halvings=5", "symplectic-euler:tol=1e-4", "tol" } };
  perp_model *model = ball(0.1, 0, 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    run_refused(&ctx, model,
                (run_parts){ .formulation = cases[i].formulation, .ode = cases[i].ode },
                cases[i].word);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_plain();
  test_tolerance();
  test_apart();
  test_bound();
  test_refused();
  return tap_done();
}
