/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Post-stabilization with and without masses (Cline 2002, eq. 3.4 and 3.6): where two bodies of 1
 * and 100 kg are moved by one pass, against the pseudo-inverse by hand, with all KKT methods. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double light = 1, heavy = 100;
static const double arm[2][2] = { { 0.3, 0.1 }, { -0.4, 0.2 } }; /* of the ball joint */

/* In the plane, at rest without gravity.  rod: a distance joint of 1 m between the centres of mass,
 * which are 1.3 m apart; else a ball joint whose anchors are off by (0.05, -0.02) m. */
static perp_model *torn(bool rod)
{
  perp_model *model = run_model(&ctx, 2);
  perp_model_gravity(model, 0);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_box(light, 0.6, 0.2, 0.2) });
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_box(heavy, 0.8, 0.4, 0.4),
                            .x = { rod ? 1.3 : 0.7 + 0.05, rod ? 0 : -0.1 - 0.02 } });
  if (rod)
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_DISTANCE,
                                .a = 0,
                                .b = 1,
                                .length = 1,
                                .start = PERP_START_VIOLATES });
  else
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_BALL,
                                .a = 0,
                                .b = 1,
                                .anchor_a = { arm[0][0], arm[0][1] },
                                .anchor_b = { arm[1][0], arm[1][1] },
                                .start = PERP_START_VIOLATES });
  return run_finish(&ctx, model);
}

/* dq = -W J' (J W J')^-1 C of the ball joint, C = p_b - p_a; w: 1/m and 1/I of both bodies */
static void pseudo_inverse(const double w[2][2], double dq[6])
{
  const double C[2] = { 0.05, -0.02 };
  double J[2][6], A[2][2] = { { 0 } };
  for (int i = 0; i < 2; i++)
    for (int b = 0; b < 2; b++) {
      const double sign = b == 0 ? -1 : 1;
      for (int k = 0; k < 2; k++) J[i][3 * b + k] = i == k ? sign : 0;
      J[i][3 * b + 2] = sign * (i == 0 ? -arm[b][1] : arm[b][0]);
    }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < 6; k++) A[i][j] += J[i][k] * w[k / 3][k % 3 == 2] * J[j][k];
  const double det = A[0][0] * A[1][1] - A[0][1] * A[1][0];
  const double mu[2] = { -(A[1][1] * C[0] - A[0][1] * C[1]) / det,
                         -(A[0][0] * C[1] - A[1][0] * C[0]) / det };
  for (int k = 0; k < 6; k++) dq[k] = w[k / 3][k % 3 == 2] * (J[0][k] * mu[0] + J[1][k] * mu[1]);
}

/* What the correction at the start of a run has moved. */
static void moved(bool rod, run_parts parts, double dq[6])
{
  perp_model *model = torn(rod);
  perp_sim *sim = run_start(&ctx, model, parts, 1e-3);
  const double before[6] = { 0, 0, 0, rod ? 1.3 : 0.75, rod ? 0 : -0.12, 0 };
  double t;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  for (int i = 0; i < 6; i++) dq[i] = q[i] - before[i];
  ok(perp_model_nv(model) == 6 && v[0] == 0 && v[3] == 0, "%s, %s: positions alone", parts.stab,
     parts.kkt);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

static void test_closed_form(void)
{
  static const char *const kkts[] = { "tree",      "schur-dense", "kkt-dense",  "schur-sparse",
                                      "schur-svd", "kkt-sparse",  "schur-band", "schur-cg" };
  static const struct {
    const char *formulation, *ode;
  } levels[] = { { "velocity", "symplectic-euler" }, { "acceleration", "rk4" } };
  const double light_I = perp_mass_box(light, 0.6, 0.2, 0.2).inertia[8],
               heavy_I = perp_mass_box(heavy, 0.8, 0.4, 0.4).inertia[8];
  const double w[2][2][2] = { { { 1, 1 }, { 1, 1 } },
                              { { 1 / light, 1 / light_I }, { 1 / heavy, 1 / heavy_I } } };
  static const char *const stabs[] = { "post:weight=none", "post" };
  for (size_t i = 0; i < sizeof kkts / sizeof *kkts; i++)
    for (int weight = 0; weight < 2; weight++) {
      const int level = (int)i % 2;
      const run_parts parts = { .formulation = levels[level].formulation,
                                .ode = levels[level].ode,
                                .kkt = kkts[i],
                                .stab = stabs[weight] };
      double dq[6], want[6], off = 0;
      moved(true, parts, dq);
      const double sum = w[weight][0][0] + w[weight][1][0];
      near(dq[0], 0.3 * w[weight][0][0] / sum, 0, 1e-9, "%s, %s: the light body on a rod moves",
           stabs[weight], kkts[i]);
      near(dq[3], -0.3 * w[weight][1][0] / sum, 0, 1e-9, "%s, %s: the heavy one", stabs[weight],
           kkts[i]);
      moved(false, parts, dq);
      pseudo_inverse(w[weight], want);
      for (int k = 0; k < 6; k++) off = fmax(off, fabs(dq[k] - want[k]));
      below(off, 1e-9, "%s, %s: a ball joint off by 54 mm", stabs[weight], kkts[i]);
    }
}

/* A run goes on with the masses of the bodies: the drift is that of post, and a step is the same.
 */
static void test_run(void)
{
  static const char *const kkts[] = { "tree", "schur-dense", "kkt-sparse" };
  double q[18], v[18], first[18];
  perp_model *model = run_chain(&ctx, 2, 6, PERP_JOINT_BALL, false);
  perp_model_gravity(model, 9.81);
  for (int i = 0; i < 3; i++) {
    const perp_reason reason = run_fresh(&ctx, model,
                                         (run_parts){ .formulation = "velocity",
                                                      .kkt = kkts[i],
                                                      .stab = "post:weight=none,passes=3" },
                                         1e-3, 0.5, i == 0 ? first : q, v);
    double C[12], off = 0, worst = 0;
    perp_model_error(model, 0.5, i == 0 ? first : q, C);
    for (int k = 0; k < perp_model_m(model); k++) worst = fmax(worst, fabs(C[k]));
    for (int k = 0; k < 18 && i > 0; k++) off = fmax(off, fabs(q[k] - first[k]));
    ok(reason > 0, "a chain of six links, %s", kkts[i]);
    below(worst, 1e-12, "%s: joints are closed", kkts[i]);
    below(off, 1e-8, "%s: as with %s", kkts[i], kkts[0]);
  }
  perp_model_destroy(model);
}

static void test_refused(void)
{
  perp_model *model = torn(false);
  perp_parts parts;
  perp_sim *sim = NULL;
  const run_parts both = { .formulation = "velocity", .stab = "post:weight=none,velocity=true" };
  if (run_parse(&ctx, &both, &parts) != PERP_OK) bail("%s", ctx.msg);
  ok(perp_sim_create(&ctx, model, &parts, 1e-3, &sim) == PERP_ERR_OPTION &&
         strstr(ctx.msg, "weight=mass") != NULL,
     "refused: %s", ctx.msg);
  run_free(&parts);
  perp_model_destroy(model);

  model = run_model(&ctx, 2);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x = { 0, 0.05 } });
  perp_shape_def ground = { .body = PERP_WORLD, .kind = PERP_SHAPE_PLANE };
  perp_shape_def ball = { .body = 0, .kind = PERP_SHAPE_SPHERE, .radius = 0.1 };
  run_shape(&ctx, model, ground);
  run_shape(&ctx, model, ball);
  run_finish(&ctx, model);
  run_refused(&ctx, model, (run_parts){ .formulation = "velocity", .stab = "post:weight=none" },
              "contact_passes=0");
  sim = run_start(
      &ctx, model,
      (run_parts){ .formulation = "velocity", .stab = "post:weight=none,contact_passes=0" }, 1e-3);
  ok(sim != NULL, "contacts that are not corrected need no masses");
  perp_sim_destroy(sim);
  perp_model_destroy(model);

  model = run_model(&ctx, 2);
  for (int i = 0; i < 2; i++)
    run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x = { i } });
  run_joint(&ctx, model,
            (perp_joint_def){
                .kind = PERP_JOINT_DISTANCE, .a = 0, .b = 1, .length = 1, .stiffness = 100 });
  run_finish(&ctx, model);
  run_refused(&ctx, model, (run_parts){ .formulation = "velocity", .stab = "post:weight=none" },
              "soft joints");
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_closed_form();
  test_run();
  test_refused();
  return tap_done();
}
