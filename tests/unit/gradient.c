/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of steps without contacts (models/stepping/gradient.h) against Richardson's differences
 * of whole steps. */
#include "tests/gradient_check.h"

enum { COLUMNS = 64 };

static void added(perp_ctx *ctx, perp_status status)
{
  if (status != PERP_OK) bail("%s", ctx->msg);
}

/* Two boxes on a ball joint and a hinge, a spring with a damper to the world, drag, a push. */
static perp_model *build_arm(perp_ctx *ctx, const gradient_numbers *n)
{
  perp_model *m;
  added(ctx, perp_model_create(ctx, 3, &m));
  perp_model_gravity(m, n->gravity);
  perp_body_def a = { .mass = perp_mass_box(n->mass, 0.1, 0.2, 0.6), .x = { 0, 0, -0.3 },
                      .v = { -0.3, 0, 0 }, .w = { 0, 1, 0 } };
  perp_body_def b = { .mass = perp_mass_box(0.7, 0.1, 0.1, 0.4), .x = { 0, 0, -0.8 },
                      .v = { -0.8, 0, 0 }, .w = { 0, 1, 0 } };
  added(ctx, perp_model_add_body(ctx, m, &a, NULL));
  added(ctx, perp_model_add_body(ctx, m, &b, NULL));
  perp_joint_def ball = { .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0,
                          .anchor_b = { 0, 0, 0.3 } };
  perp_joint_def hinge = { .kind = PERP_JOINT_HINGE, .a = 0, .b = 1, .anchor_a = { 0, 0, -0.3 },
                           .anchor_b = { 0, 0, 0.2 }, .axis_a = { 0.6, 0.8, 0 },
                           .axis_b = { 0.6, 0.8, 0 } };
  added(ctx, perp_model_add_joint(ctx, m, &ball, NULL));
  added(ctx, perp_model_add_joint(ctx, m, &hinge, NULL));
  perp_force_def spring = { .kind = PERP_FORCE_SPRING, .a = PERP_WORLD, .b = 1,
                            .anchor_a = { 1, 0.3, -0.5 }, .anchor_b = { 0, 0, -0.2 },
                            .stiffness = 30, .damping = 0.5, .length = 0.6 };
  perp_force_def drag = { .kind = PERP_FORCE_DRAG, .a = 1, .quadratic = 0.4, .linear = 0.1 };
  perp_force_def push = { .kind = PERP_FORCE_POINT, .a = 0, .value = { n->force, 0, 0 } };
  added(ctx, perp_model_add_force(ctx, m, &spring));
  added(ctx, perp_model_add_force(ctx, m, &drag));
  added(ctx, perp_model_add_force(ctx, m, &push));
  added(ctx, perp_model_finish(ctx, m));
  return m;
}

/* All coordinates, and the parameters. */
static int columns(const perp_model *m, bool target, perp_gradient_wrt *w)
{
  int n = 0;
  for (int i = 0; i < perp_model_nv(m); i++) {
    w[n++] = (perp_gradient_wrt){ PERP_GRADIENT_Q, i };
    w[n++] = (perp_gradient_wrt){ PERP_GRADIENT_V, i };
  }
  w[n++] = (perp_gradient_wrt){ PERP_GRADIENT_MASS, 0 };
  w[n++] = (perp_gradient_wrt){ PERP_GRADIENT_GRAVITY, 0 };
  w[n++] = (perp_gradient_wrt){ PERP_GRADIENT_FORCE, 0 };
  if (target) w[n++] = (perp_gradient_wrt){ PERP_GRADIENT_TARGET, 0 };
  return n;
}

static void check(perp_ctx *ctx, const gradient_case *c, bool target, double eps, double bound)
{
  perp_gradient_wrt w[COLUMNS];
  static double D[128 * COLUMNS];
  double q0[64], v0[64], want[128], worst = 0;
  perp_gradient_report report;
  perp_gradient_side sides[COLUMNS];
  perp_model *probe = c->build(ctx, &c->numbers);
  const int n = columns(probe, target, w), nv = perp_model_nv(probe);
  perp_model_destroy(probe);
  const perp_model *m = gradient_analytic(ctx, c, w, n, q0, v0, D, &report, sides);
  int at = 0;
  for (int j = 0; j < n; j++) {
    gradient_richardson(ctx, c, m, &w[j], eps, 0, q0, v0, want);
    const double off = gradient_off(2 * nv, D + 2 * nv * j, want);
    if (off > worst) worst = off, at = j;
  }
  printf("# %s: %g at column %d (kind %d, index %d)\n", c->name, worst, at, (int)w[at].kind,
         w[at].index);
  below(worst, bound, "%s: %d columns agree with differences, %s", c->name, n,
        perp_gradient_verdict_name(report.worst));
  ok(report.worst == PERP_GRADIENT_SMOOTH, "%s: smooth", c->name);
}

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const gradient_numbers numbers = { .mass = 1.3, .gravity = 9.81, .force = 0.7 };
  const gradient_case cases[] = {
    { "rk4, no stabilization", build_arm, numbers, { "acceleration", "rk4", "tree", "none" }, 1e-2, 20, 1 },
    { "rk4, feedback, 20 steps", build_arm, numbers, { "acceleration", "rk4", "tree", "baumgarte" }, 1e-2, 20, 20 },
    { "rk4, projections", build_arm, numbers, { "acceleration", "rk4", "schur-dense", "post:velocity=true" }, 1e-2, 20, 1 },
    { "rk4, projections, 20 steps", build_arm, numbers, { "acceleration", "rk4", "tree", "post:velocity=true" }, 1e-2, 20, 20 },
    { "rk8pd, velocity projection", build_arm, numbers, { "acceleration", "gsl:rk8pd", "tree", "velocity-projection" }, 2e-2, 10, 5 },
    { "dopri5, two passes", build_arm, numbers, { "acceleration", "dopri5", "tree", "post:passes=2" }, 2e-2, 10, 5 },
    { "reduced, rk4", build_arm, numbers, { "reduced", "rk4" }, 1e-2, 20, 1 },
    { "reduced, rk8pd", build_arm, numbers, { "reduced", "gsl:rk8pd" }, 2e-2, 10, 10 },
    { "symplectic Euler on accelerations", build_arm, numbers, { "acceleration", "symplectic-euler", "tree", "none" }, 1e-2, 10, 5 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&ctx, &cases[i], false, 1e-3, 1e-8);
  return tap_done();
}
