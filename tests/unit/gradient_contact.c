/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of steps of the velocity level: joints, motors, contacts that slide, stick, strike,
 * and kinks (models/stepping/gradient.h), against Richardson's differences of whole steps. */
#include "tests/gradient_check.h"

enum { COLUMNS = 64 };

static void added(perp_ctx *ctx, perp_status status)
{
  if (status != PERP_OK) bail("%s", ctx->msg);
}

static perp_model *start(perp_ctx *ctx, int dim, const gradient_numbers *n)
{
  perp_model *m;
  added(ctx, perp_model_create(ctx, dim, &m));
  perp_model_gravity(m, n->gravity);
  return m;
}

static void push(perp_ctx *ctx, perp_model *m, const gradient_numbers *n)
{
  const perp_force_def force = { .kind = PERP_FORCE_POINT, .a = 0, .value = { n->force, 0, 0 } };
  added(ctx, perp_model_add_force(ctx, m, &force));
  added(ctx, perp_model_finish(ctx, m));
}

static void plane(perp_ctx *ctx, perp_model *m, double mu)
{
  const perp_shape_def floor = { .kind = PERP_SHAPE_PLANE,
                                 .body = PERP_WORLD,
                                 .surface = { .mu = mu, .mu_dynamic = mu } };
  added(ctx, perp_model_add_shape(ctx, m, &floor, NULL));
}

/* A box and a second one on a hinge, in space, with a spring. */
static perp_model *build_pair(perp_ctx *ctx, const gradient_numbers *n)
{
  perp_model *m = start(ctx, 3, n);
  const perp_body_def a = { .mass = perp_mass_box(n->mass, 0.1, 0.2, 0.6),
                            .x = { 0, 0, -0.3 },
                            .v = { -0.3, 0, 0 },
                            .w = { 0, 1, 0 } },
                      b = { .mass = perp_mass_box(0.7, 0.1, 0.1, 0.4),
                            .x = { 0, 0, -0.8 },
                            .v = { -0.8, 0, 0 },
                            .w = { 0, 1, 0 } };
  const perp_joint_def ball = { .kind = PERP_JOINT_BALL,
                                .a = PERP_WORLD,
                                .b = 0,
                                .anchor_b = { 0, 0, 0.3 } },
                       hinge = { .kind = PERP_JOINT_HINGE,
                                 .a = 0,
                                 .b = 1,
                                 .anchor_a = { 0, 0, -0.3 },
                                 .anchor_b = { 0, 0, 0.2 },
                                 .axis_a = { 0.6, 0.8, 0 },
                                 .axis_b = { 0.6, 0.8, 0 } };
  const perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                                  .a = PERP_WORLD,
                                  .b = 1,
                                  .anchor_a = { 1, 0.3, -0.5 },
                                  .anchor_b = { 0, 0, -0.2 },
                                  .stiffness = 30,
                                  .damping = 0.5,
                                  .length = 0.6 };
  added(ctx, perp_model_add_body(ctx, m, &a, NULL));
  added(ctx, perp_model_add_body(ctx, m, &b, NULL));
  added(ctx, perp_model_add_joint(ctx, m, &ball, NULL));
  added(ctx, perp_model_add_joint(ctx, m, &hinge, NULL));
  added(ctx, perp_model_add_force(ctx, m, &spring));
  push(ctx, m, n);
  return m;
}

/* The same with a motor on the hinge: servo 1, velocity 2. */
static perp_model *build_driven(perp_ctx *ctx, const gradient_numbers *n, bool servo)
{
  perp_model *m = start(ctx, 2, n);
  const perp_body_def a = { .mass = { n->mass, { [8] = 0.1 * n->mass } }, .x = { 0, -0.3 } },
                      b = { .mass = { 0.7, { [8] = 0.02 } }, .x = { 0, -0.8 } };
  const perp_joint_def first = { .kind = PERP_JOINT_HINGE,
                                 .a = PERP_WORLD,
                                 .b = 0,
                                 .anchor_b = { 0, 0.3 } },
                       second = { .kind = PERP_JOINT_HINGE,
                                  .a = 0,
                                  .b = 1,
                                  .anchor_a = { 0, -0.3 },
                                  .anchor_b = { 0, 0.2 } };
  perp_drive_def drive = {
    .joint = 1, .axis = PERP_DRIVE_A, .lower = -HUGE_VAL, .upper = HUGE_VAL, .max_force = 50
  };
  if (servo)
    drive.target = n->target, drive.stiffness = 40, drive.damping = 0.6;
  else
    drive.velocity = n->target;
  added(ctx, perp_model_add_body(ctx, m, &a, NULL));
  added(ctx, perp_model_add_body(ctx, m, &b, NULL));
  added(ctx, perp_model_add_joint(ctx, m, &first, NULL));
  added(ctx, perp_model_add_joint(ctx, m, &second, NULL));
  added(ctx, perp_model_add_drive(ctx, m, &drive, NULL));
  push(ctx, m, n);
  return m;
}
static perp_model *build_servo(perp_ctx *ctx, const gradient_numbers *n)
{
  return build_driven(ctx, n, true);
}
static perp_model *build_motor(perp_ctx *ctx, const gradient_numbers *n)
{
  return build_driven(ctx, n, false);
}

/* A sphere on or above a plane. */
static perp_model *build_sphere(perp_ctx *ctx, const gradient_numbers *n, double z,
                                const double v[3], const double w[3], double e)
{
  perp_model *m = start(ctx, 3, n);
  perp_body_def body = { .mass = perp_mass_sphere(n->mass, 0.2), .x = { 0, 0, z } };
  memcpy(body.v, v, 3 * sizeof *v);
  memcpy(body.w, w, 3 * sizeof *w);
  const perp_surface surface = { .mu = n->mu, .mu_dynamic = n->mu, .restitution = e };
  const perp_shape_def ball = {
    .kind = PERP_SHAPE_SPHERE, .body = 0, .radius = 0.2, .surface = surface
  };
  added(ctx, perp_model_add_body(ctx, m, &body, NULL));
  added(ctx, perp_model_add_shape(ctx, m, &ball, NULL));
  plane(ctx, m, n->mu);
  push(ctx, m, n);
  return m;
}
static perp_model *build_slide(perp_ctx *ctx, const gradient_numbers *n)
{
  return build_sphere(ctx, n, 0.2005, (double[]){ 2, 1, -0.2 }, (double[]){ 0.3, -0.4, 2 }, 0);
}
static perp_model *build_roll(perp_ctx *ctx, const gradient_numbers *n)
{
  return build_sphere(ctx, n, 0.2005, (double[]){ 0.2, 0.1, -0.2 }, (double[]){ -0.5, 1, 0.2 }, 0);
}
static perp_model *build_bounce(perp_ctx *ctx, const gradient_numbers *n)
{
  return build_sphere(ctx, n, 0.205, (double[]){ 1, 0.5, -2 }, (double[]){ 0.3, -0.4, 2 }, 0.6);
}
static perp_model *build_rest(perp_ctx *ctx, const gradient_numbers *n)
{
  return build_sphere(ctx, n, 0.2, (double[]){ 0, 0, 0 }, (double[]){ 0, 0, 0 }, 0);
}

/* A box: flat on the plane, or on one edge or corner. */
static perp_model *build_box(perp_ctx *ctx, const gradient_numbers *n, double z,
                             const double quat[4], const double v[3], const double w[3])
{
  perp_model *m = start(ctx, 3, n);
  perp_body_def body = { .mass = perp_mass_box(n->mass, 0.4, 0.3, 0.2), .x = { 0, 0, z } };
  memcpy(body.quat, quat, 4 * sizeof *quat);
  memcpy(body.v, v, 3 * sizeof *v);
  memcpy(body.w, w, 3 * sizeof *w);
  const perp_shape_def box = { .kind = PERP_SHAPE_BOX,
                               .body = 0,
                               .half = { 0.2, 0.15, 0.1 },
                               .surface = { .mu = n->mu, .mu_dynamic = n->mu } };
  added(ctx, perp_model_add_body(ctx, m, &body, NULL));
  added(ctx, perp_model_add_shape(ctx, m, &box, NULL));
  plane(ctx, m, n->mu);
  push(ctx, m, n);
  return m;
}
static perp_model *build_pushed(perp_ctx *ctx, const gradient_numbers *n)
{
  return build_box(ctx, n, 0.1, (double[]){ 1, 0, 0, 0 }, (double[]){ 1, 0.4, 0 },
                   (double[]){ 0, 0, 0.5 });
}
static perp_model *build_stuck(perp_ctx *ctx, const gradient_numbers *n)
{
  return build_box(ctx, n, 0.1, (double[]){ 1, 0, 0, 0 }, (double[3]){ 0 }, (double[3]){ 0 });
}
static perp_model *build_corner(perp_ctx *ctx, const gradient_numbers *n)
{
  const double q[4] = { 0.9, 0.3, 0.25, 0.1 };
  return build_box(ctx, n, 0.246, q, (double[]){ 0.3, 0.4, -0.5 }, (double[]){ 1, 2, 0.5 });
}

/* It turns fast on an edge, which sinks in within the step and is moved out. */
static perp_model *build_tumble(perp_ctx *ctx, const gradient_numbers *n)
{
  const double q[4] = { cos(0.25), 0, sin(0.25), 0 };
  return build_box(ctx, n, 0.2 * sin(0.5) + 0.1 * cos(0.5) + 1e-4, q, (double[]){ 0.3, 0.1, -0.2 },
                   (double[]){ 0.1, 9, 0.2 });
}
/* Two spheres, one on the other, of different friction. */
static perp_model *build_spheres(perp_ctx *ctx, const gradient_numbers *n)
{
  perp_model *m = start(ctx, 3, n);
  const perp_body_def a = { .mass = perp_mass_sphere(n->mass, 0.2),
                            .x = { 0, 0, 0.2003 },
                            .v = { 1, 0, -0.1 } },
                      b = { .mass = perp_mass_sphere(0.5, 0.1),
                            .x = { 0.05, 0.02, 0.4968 },
                            .v = { 0.2, 0.5, -0.3 },
                            .w = { 1, 0, 1 } };
  added(ctx, perp_model_add_body(ctx, m, &a, NULL));
  added(ctx, perp_model_add_body(ctx, m, &b, NULL));
  for (int i = 0; i < 2; i++) {
    const double mu = i == 0 ? n->mu : 0.2;
    const perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE,
                                  .body = i,
                                  .radius = i == 0 ? 0.2 : 0.1,
                                  .surface = { .mu = mu, .mu_dynamic = mu } };
    added(ctx, perp_model_add_shape(ctx, m, &ball, NULL));
  }
  plane(ctx, m, 0.3);
  push(ctx, m, n);
  return m;
}
/* A disc in the plane on a hinged bar that has a limit. */
static perp_model *build_plane(perp_ctx *ctx, const gradient_numbers *n)
{
  perp_model *m = start(ctx, 2, n);
  const perp_body_def a = { .mass = { n->mass, { [8] = 0.1 * n->mass } },
                            .x = { 0.5, 0 },
                            .v = { 0, -0.5 },
                            .w = { 0, 0, -1 } },
                      b = { .mass = { 0.4, { [8] = 0.002 } },
                            .x = { 0.7, 0.2501 },
                            .v = { 0.4, -1.5 } };
  const perp_joint_def hinge = {
    .kind = PERP_JOINT_HINGE, .a = PERP_WORLD, .b = 0, .anchor_b = { -0.5, 0 }
  };
  const perp_drive_def limit = {
    .joint = 0, .axis = PERP_DRIVE_A, .lower = -0.002, .upper = 1, .restitution = 0.3
  };
  const perp_surface surface = { .mu = n->mu, .mu_dynamic = n->mu };
  const perp_shape_def
      bar = { .kind = PERP_SHAPE_BOX, .body = 0, .half = { 0.5, 0.05 }, .surface = surface },
      disc = { .kind = PERP_SHAPE_SPHERE, .body = 1, .radius = 0.2, .surface = surface };
  added(ctx, perp_model_add_body(ctx, m, &a, NULL));
  added(ctx, perp_model_add_body(ctx, m, &b, NULL));
  added(ctx, perp_model_add_joint(ctx, m, &hinge, NULL));
  added(ctx, perp_model_add_drive(ctx, m, &limit, NULL));
  added(ctx, perp_model_add_shape(ctx, m, &bar, NULL));
  added(ctx, perp_model_add_shape(ctx, m, &disc, NULL));
  push(ctx, m, n);
  return m;
}

static int columns(const perp_model *m, bool target, bool friction, int shape, perp_gradient_wrt *w)
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
  if (friction) w[n++] = (perp_gradient_wrt){ PERP_GRADIENT_FRICTION, shape };
  return n;
}

static double size_of(int n, const double *x)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

static void check(perp_ctx *ctx, const gradient_case *c, double eps, double bound,
                  perp_gradient_verdict verdict)
{
  perp_gradient_wrt w[COLUMNS];
  static double D[128 * COLUMNS];
  double q0[64], v0[64], want[128], worst = 0;
  perp_gradient_report report;
  perp_gradient_side sides[COLUMNS];
  perp_model *probe = c->build(ctx, &c->numbers);
  const int n = columns(probe,
                        perp_model_drives(probe) > 0 && perp_model_drive(probe, 0)->max_force > 0,
                        perp_model_shapes(probe) > 0, c->shape, w),
            nv = perp_model_nv(probe);
  perp_model_destroy(probe);
  const perp_model *m = gradient_analytic(ctx, c, w, n, q0, v0, D, &report, sides);
  int at = 0, both = 0, one = 0;
  for (int j = 0; j < n; j++) {
    both += sides[j] == PERP_GRADIENT_BOTH;
    if (sides[j] == PERP_GRADIENT_NEITHER && getenv("GRADIENT_SHOW"))
      printf("#   kind %d index %d neither\n", (int)w[j].kind, w[j].index);
    if (sides[j] == PERP_GRADIENT_NEITHER) continue;
    one += sides[j] != PERP_GRADIENT_BOTH;
    const double by = w[j].kind == PERP_GRADIENT_Q || w[j].kind == PERP_GRADIENT_V ? eps : 20 * eps;
    gradient_richardson(ctx, c, m, &w[j], by, sides[j] == PERP_GRADIENT_BOTH ? 0 : (int)sides[j],
                        q0, v0, want);
    const double off = gradient_off(2 * nv, D + 2 * nv * j, want);
    if (getenv("GRADIENT_SHOW"))
      printf("#   kind %d index %d side %d off %g of %g\n", (int)w[j].kind, w[j].index,
             (int)sides[j], off, size_of(2 * nv, want));
    if (off > worst) worst = off, at = j;
  }
  printf("# %s: %g at column %d (kind %d, index %d, side %d), %s; %d both, %d one-sided of %d\n",
         c->name, worst, at, (int)w[at].kind, w[at].index, (int)sides[at],
         perp_gradient_verdict_name(report.worst), both, one, n);
  below(worst, bound, "%s: columns agree with differences", c->name);
  ok(report.worst == verdict, "%s: %s, wanted %s", c->name,
     perp_gradient_verdict_name(report.worst), perp_gradient_verdict_name(verdict));
}

/* A sphere above the plane that just reaches it at the end of the step, or does not. */
static perp_model *build_reach(perp_ctx *ctx, const gradient_numbers *n)
{
  return build_sphere(ctx, n, 0.205, (double[]){ 0, 0, 0.0981 - 0.5 }, (double[3]){ 0 }, 0);
}
static perp_model *build_strike(perp_ctx *ctx, const gradient_numbers *n)
{
  return build_sphere(ctx, n, 0.205, (double[]){ 0, 0, 0.0981 - 0.5 }, (double[3]){ 0 }, 0.6);
}
/* One that just reaches a ceiling, and falls; another one that just reaches the plane one step
 * later: more gravity takes the first contact away, and less the second. */
static perp_model *build_between(perp_ctx *ctx, const gradient_numbers *n)
{
  perp_model *m = start(ctx, 3, n);
  const double v[2] = { 0.05 + 0.0981, 2 * 0.0981 - 0.5 }, /* 0.05 after a step, -0.5 after two */
      z[2] = { 2 - 0.2 - 1e-2 * 0.05, 0.2 + 1e-2 * (0.5 + 0.5 - 0.0981) };
  const perp_shape_def ceiling = {
    .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .x = { 0, 0, 2 }, .quat = { 0, 1, 0, 0 }
  };
  for (int i = 0; i < 2; i++) {
    const perp_body_def body = { .mass = perp_mass_sphere(n->mass, 0.2),
                                 .x = { 3 * i, 0, z[i] },
                                 .v = { 0, 0, v[i] } };
    const perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE,
                                  .body = i,
                                  .radius = 0.2,
                                  .surface = { .mu = n->mu, .mu_dynamic = n->mu } };
    added(ctx, perp_model_add_body(ctx, m, &body, NULL));
    added(ctx, perp_model_add_shape(ctx, m, &ball, NULL));
  }
  plane(ctx, m, n->mu);
  added(ctx, perp_model_add_shape(ctx, m, &ceiling, NULL));
  push(ctx, m, n);
  return m;
}
/* A pendulum that its motor holds with all its torque. */
static perp_model *build_held(perp_ctx *ctx, const gradient_numbers *n)
{
  perp_model *m = start(ctx, 2, n);
  const perp_body_def a = { .mass = { n->mass, { [8] = 0.1 * n->mass } }, .x = { 0.3, 0 } };
  const perp_joint_def hinge = {
    .kind = PERP_JOINT_HINGE, .a = PERP_WORLD, .b = 0, .anchor_b = { -0.3, 0 }
  };
  const perp_drive_def drive = { .joint = 0,
                                 .axis = PERP_DRIVE_A,
                                 .lower = -HUGE_VAL,
                                 .upper = HUGE_VAL,
                                 .max_force = 1.3 * 9.81 * 0.3 };
  added(ctx, perp_model_add_body(ctx, m, &a, NULL));
  added(ctx, perp_model_add_joint(ctx, m, &hinge, NULL));
  added(ctx, perp_model_add_drive(ctx, m, &drive, NULL));
  push(ctx, m, n);
  return m;
}

/* At a kink along one column: the derivative is that of the side that is named, and the other one
 * has another. */
static void kink(perp_ctx *ctx, const gradient_case *c, perp_gradient_wrt w,
                 perp_gradient_verdict verdict, perp_gradient_side side, perp_gradient_cause cause)
{
  double D[128], q0[64], v0[64], of[2][128];
  perp_gradient_report report;
  perp_gradient_row row = { .drive = -1 };
  perp_gradient_side named;
  const perp_model *m = gradient_analytic_row(ctx, c, &w, 1, q0, v0, D, &report, &named, &row);
  const int n = 2 * perp_model_nv(m);
  ok(report.verdict == verdict, "%s: %s, wanted %s", c->name,
     perp_gradient_verdict_name(report.verdict), perp_gradient_verdict_name(verdict));
  ok(named == side, "%s: the derivative is that of side %d, wanted %d", c->name, (int)named,
     (int)side);
  ok(report.n_rows > 0 && row.cause == cause && row.acts, "%s: %s", c->name,
     perp_gradient_cause_name(row.cause));
  gradient_richardson(ctx, c, m, &w, 1e-4, 1, q0, v0, of[0]);
  gradient_richardson(ctx, c, m, &w, 1e-4, -1, q0, v0, of[1]);
  ok(gradient_off(n, of[0], of[1]) > 0.1, "%s: both sides differ by %g", c->name,
     gradient_off(n, of[0], of[1]));
  if (side == PERP_GRADIENT_NEITHER) return;
  below(gradient_off(n, D, of[side == PERP_GRADIENT_LEFT]), 1e-7, "%s: that of its side", c->name);
}

/* The steps of a simulation are those without derivatives, to the last bit: a box that tumbles. */
static void check_steps(perp_ctx *ctx, const run_parts *parts)
{
  const gradient_numbers numbers = { .mass = 1.3, .gravity = 9.81, .mu = 0.4 };
  const perp_gradient_wrt w[2] = { { PERP_GRADIENT_V, 0 }, { PERP_GRADIENT_MASS, 0 } };
  perp_model *m = build_tumble(ctx, &numbers);
  perp_sim *plain = run_start(ctx, m, *parts, 1e-2), *with = run_start(ctx, m, *parts, 1e-2);
  perp_gradient *g = NULL;
  bool same = true;
  added(ctx, perp_gradient_create(ctx, with, w, 2, &g));
  for (int i = 0; i < 100; i++) {
    const double *q[2], *v[2];
    double t[2];
    perp_step_info info;
    added(ctx, perp_sim_step(ctx, plain, 2, &info));
    added(ctx, perp_gradient_step(ctx, g, 2, &info));
    perp_sim_state(plain, &t[0], &q[0], &v[0]);
    perp_sim_state(with, &t[1], &q[1], &v[1]);
    same &= t[0] == t[1] && memcmp(q[0], q[1], 7 * sizeof **q) == 0 &&
            memcmp(v[0], v[1], 6 * sizeof **v) == 0;
  }
  const perp_gradient_report *r = perp_gradient_report_of(g);
  ok(same, "a box that tumbles: the same steps as without derivatives");
  ok(r->steps == 100 && r->counts[PERP_GRADIENT_SMOOTH] > 0 && r->counts[PERP_GRADIENT_NONE] == 0,
     "and their verdicts: %d smooth, %d singular, %d kinks, %d ambiguous, %d jumps",
     (int)r->counts[0], (int)r->counts[1], (int)r->counts[2], (int)r->counts[3], (int)r->counts[4]);
  perp_gradient_destroy(g);
  perp_sim_destroy(plain);
  perp_sim_destroy(with);
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const gradient_numbers numbers = {
    .mass = 1.3, .gravity = 9.81, .force = 0.7, .mu = 0.4, .target = 0.5
  };
  const run_parts joints = { "velocity", "symplectic-euler", "tree", "baumgarte", "dantzig" },
                  euler = { "velocity", "euler", "tree", "none", "dantzig" },
                  cone = {
                    "velocity:residual=1e-13", "symplectic-euler", NULL, "split", "prox", "cone"
                  };
  const gradient_case smooth[] = {
    { "arm", build_pair, numbers, joints, 1e-2, 20, 1 },
    { "arm, 20 steps", build_pair, numbers, joints, 1e-2, 20, 20 },
    { "arm, Euler", build_pair, numbers, euler, 1e-2, 5, 5, -1 },
    { "servo", build_servo, numbers, joints, 1e-2, 5, 10 },
    { "motor", build_motor, numbers, joints, 1e-2, 5, 10 },
  };
  for (size_t i = 0; i < sizeof smooth / sizeof *smooth; i++)
    check(&ctx, &smooth[i], 1e-3, 1e-8, PERP_GRADIENT_SMOOTH);
  const gradient_case contact[] = {
    { "sphere slides", build_slide, numbers, cone, 1e-2, 0, 1, -1 },
    { "sphere rolls", build_roll, numbers, cone, 1e-2, 0, 1, -1 },
    { "sphere bounces", build_bounce, numbers, cone, 1e-2, 0, 1, -1 },
    { "edge of a box, moved out", build_tumble, numbers, cone, 1e-2, 0, 1, -1 },
    { "edge of a box, Baumgarte",
      build_tumble,
      numbers,
      { "velocity:residual=1e-13", "symplectic-euler", NULL, "baumgarte", "prox", "cone" },
      1e-2,
      1,
      2,
      -1 },
    { "edge of a box, springs",
      build_tumble,
      numbers,
      { "velocity:residual=1e-13,stiffness=1e4,damping=10", "symplectic-euler", NULL, "split",
        "prox", "cone" },
      1e-2,
      0,
      2,
      -1 },
    { "two spheres", build_spheres, numbers, cone, 5e-3, 0, 1, 0 },
    { "limit, bar and disc",
      build_plane,
      numbers,
      { "velocity:residual=1e-13", "symplectic-euler", "tree", "split", "dantzig", "box" },
      1e-2,
      0,
      1,
      -1 },
    { "limit, bar and disc, Euler",
      build_plane,
      numbers,
      { "velocity:residual=1e-13", "euler", "tree", "none", "dantzig", "box" },
      1e-2,
      0,
      1,
      -1 },
    { "corner of a box", build_corner, numbers, cone, 1e-2, 0, 1, -1 },
  };
  for (size_t i = 0; i < sizeof contact / sizeof *contact; i++)
    check(&ctx, &contact[i], 1e-5, 1e-7, PERP_GRADIENT_SMOOTH);
  const gradient_case rest[] = {
    { "sphere at rest", build_rest, numbers, cone, 1e-2, 0, 1, -1 },
    { "sphere rolls on", build_roll, numbers, cone, 1e-2, 5, 5, -1 },
    { "sphere slides on", build_slide, numbers, cone, 1e-2, 5, 5, -1 },
  };
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
    check(&ctx, &rest[i], 1e-5, 1e-6, PERP_GRADIENT_KINK);
  const gradient_case flat[] = {
    { "box sticks", build_stuck, numbers, cone, 1e-2, 0, 1, -1 },
    { "box sticks on", build_stuck, numbers, cone, 1e-2, 3, 3, -1 },
    { "box slides", build_pushed, numbers, cone, 1e-2, 0, 1, -1 },
    { "box slides on", build_pushed, numbers, cone, 1e-2, 3, 3, -1 },
  };
  check(&ctx, &flat[0], 1e-5, 1e-7, PERP_GRADIENT_KINK);
  check(&ctx, &flat[1], 1e-5, 1e-7, PERP_GRADIENT_KINK);
  check(&ctx, &flat[2], 1e-5, 1e-4, PERP_GRADIENT_AMBIGUOUS);
  check(&ctx, &flat[3], 1e-5, 1e-4, PERP_GRADIENT_AMBIGUOUS);
  check_steps(&ctx, &cone);
  gradient_numbers limit = numbers;
  limit.force = 0.4 * 1.3 * 9.81;
  const gradient_case at[] = {
    { "pushed at the limit of friction", build_stuck, limit, cone, 1e-2, 0, 1, -1 },
    { "the surface is just reached", build_reach, numbers, cone, 1e-2, 0, 1, -1 },
    { "an impact is just reached", build_strike, numbers, cone, 1e-2, 0, 1, -1 },
    { "a motor at its bound",
      build_held,
      { .mass = 1.3, .gravity = 9.81 },
      joints,
      1e-2,
      0,
      1,
      -1 },
  };
  kink(&ctx, &at[0], (perp_gradient_wrt){ PERP_GRADIENT_FORCE, 0 }, PERP_GRADIENT_KINK,
       PERP_GRADIENT_LEFT, PERP_GRADIENT_STICKS);
  kink(&ctx, &at[1], (perp_gradient_wrt){ PERP_GRADIENT_V, 2 }, PERP_GRADIENT_KINK,
       PERP_GRADIENT_RIGHT, PERP_GRADIENT_TOUCHES);
  kink(&ctx, &at[2], (perp_gradient_wrt){ PERP_GRADIENT_V, 2 }, PERP_GRADIENT_JUMP,
       PERP_GRADIENT_NEITHER, PERP_GRADIENT_STRIKES);
  const perp_gradient_wrt weight = { PERP_GRADIENT_GRAVITY, 0 };
  for (int steps = 1; steps <= 2; steps++) {
    const gradient_case both = {
      "ceiling, then plane", build_between, numbers, cone, 1e-2, 0, steps, -1
    };
    double D[24], q0[14], v0[12];
    perp_gradient_report report;
    perp_gradient_side side;
    gradient_analytic(&ctx, &both, &weight, 1, q0, v0, D, &report, &side);
    ok(side == (steps == 1 ? PERP_GRADIENT_RIGHT : PERP_GRADIENT_NEITHER),
       "%s: after step %d side %d", both.name, steps, (int)side);
  }
  kink(&ctx, &at[3], (perp_gradient_wrt){ PERP_GRADIENT_GRAVITY, 0 }, PERP_GRADIENT_KINK,
       PERP_GRADIENT_LEFT, PERP_GRADIENT_BOUND);
  return tap_done();
}
