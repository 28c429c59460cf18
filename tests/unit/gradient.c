/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of steps without contacts (models/stepping/gradient.h) against Richardson's
 * differences of whole steps. */
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
  perp_body_def a = { .mass = perp_mass_box(n->mass, 0.1, 0.2, 0.6),
                      .x = { 0, 0, -0.3 },
                      .v = { -0.3, 0, 0 },
                      .w = { 0, 1, 0 } };
  perp_body_def b = { .mass = perp_mass_box(0.7, 0.1, 0.1, 0.4),
                      .x = { 0, 0, -0.8 },
                      .v = { -0.8, 0, 0 },
                      .w = { 0, 1, 0 } };
  added(ctx, perp_model_add_body(ctx, m, &a, NULL));
  added(ctx, perp_model_add_body(ctx, m, &b, NULL));
  perp_joint_def ball = {
    .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0, .anchor_b = { 0, 0, 0.3 }
  };
  perp_joint_def hinge = { .kind = PERP_JOINT_HINGE,
                           .a = 0,
                           .b = 1,
                           .anchor_a = { 0, 0, -0.3 },
                           .anchor_b = { 0, 0, 0.2 },
                           .axis_a = { 0.6, 0.8, 0 },
                           .axis_b = { 0.6, 0.8, 0 } };
  added(ctx, perp_model_add_joint(ctx, m, &ball, NULL));
  added(ctx, perp_model_add_joint(ctx, m, &hinge, NULL));
  perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                            .a = PERP_WORLD,
                            .b = 1,
                            .anchor_a = { 1, 0.3, -0.5 },
                            .anchor_b = { 0, 0, -0.2 },
                            .stiffness = 30,
                            .damping = 0.5,
                            .length = 0.6 };
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

/* The steps of a simulation are those without derivatives, to the last bit. */
static void check_steps(perp_ctx *ctx, const gradient_case *c)
{
  const perp_gradient_wrt w[2] = { { PERP_GRADIENT_Q, 1 }, { PERP_GRADIENT_MASS, 0 } };
  perp_model *m = c->build(ctx, &c->numbers);
  perp_sim *plain = run_start(ctx, m, c->parts, c->h), *with = run_start(ctx, m, c->parts, c->h);
  perp_gradient *g = NULL;
  bool same = true;
  added(ctx, perp_gradient_create(ctx, with, w, 2, &g));
  for (int i = 0; i < 50; i++) {
    const double *q[2], *v[2];
    double t[2];
    perp_step_info info;
    added(ctx, perp_sim_step(ctx, plain, 1, &info));
    added(ctx, perp_gradient_step(ctx, g, 1, &info));
    perp_sim_state(plain, &t[0], &q[0], &v[0]);
    perp_sim_state(with, &t[1], &q[1], &v[1]);
    same &= t[0] == t[1] && memcmp(q[0], q[1], (size_t)perp_model_nq(m) * sizeof **q) == 0 &&
            memcmp(v[0], v[1], (size_t)perp_model_nv(m) * sizeof **v) == 0;
  }
  ok(same, "%s: the same steps as without derivatives", c->name);
  perp_gradient_destroy(g);
  perp_sim_destroy(plain);
  perp_sim_destroy(with);
  perp_model_destroy(m);
}

/* Columns do not depend on their order. */
static void check_order(perp_ctx *ctx, const gradient_case *c)
{
  enum { N = 4 };
  const perp_gradient_wrt w[N] = { { PERP_GRADIENT_FORCE, 0 },
                                   { PERP_GRADIENT_FORCE, 1 },
                                   { PERP_GRADIENT_Q, 0 },
                                   { PERP_GRADIENT_MASS, 0 } };
  perp_gradient_wrt back[N];
  static double D[2][128 * N];
  double q0[64], v0[64], off = 0;
  perp_gradient_report report;
  perp_gradient_side sides[N];
  for (int j = 0; j < N; j++) back[j] = w[N - 1 - j];
  const perp_model *m = gradient_analytic(ctx, c, w, N, q0, v0, D[0], &report, sides);
  const int n = 2 * perp_model_nv(m);
  gradient_analytic(ctx, c, back, N, q0, v0, D[1], &report, sides);
  for (int j = 0; j < N; j++)
    off = fmax(off, gradient_off(n, D[0] + n * j, D[1] + n * (N - 1 - j)));
  below(off, 1e-9, "%s: columns in another order are the same", c->name);
}

/* Columns that are given, held and pulled. */
static void check_columns(perp_ctx *ctx, const gradient_case *c)
{
  enum { NV = 12 };
  perp_gradient_wrt w[NV + 1] = { { PERP_GRADIENT_FORCE, 0 } };
  for (int i = 0; i < NV; i++) w[1 + i] = (perp_gradient_wrt){ PERP_GRADIENT_Q, i };
  perp_model *m = c->build(ctx, &c->numbers);
  perp_sim *sim = run_start(ctx, m, c->parts, c->h);
  perp_gradient *g = NULL;
  perp_step_info info;
  double first[2 * NV], seed[2][NV * (NV + 1)] = { { 0 } }, wq[NV], wv[NV], pulled[NV + 1], sum = 0;
  added(ctx, perp_gradient_create(ctx, sim, w, 1, &g));
  added(ctx, perp_gradient_step(ctx, g, 1, &info));
  memcpy(first, perp_gradient_dq(g), NV * sizeof *first);
  memcpy(first + NV, perp_gradient_dv(g), NV * sizeof *first);
  perp_gradient_hold(g, 0, true);
  added(ctx, perp_gradient_step(ctx, g, 1, &info));
  double held[2 * NV];
  memcpy(held, perp_gradient_dq(g), NV * sizeof *held);
  memcpy(held + NV, perp_gradient_dv(g), NV * sizeof *held);
  perp_gradient_destroy(g);
  /* a control of one step, held in the next, goes through the Jacobian of that step */
  added(ctx, perp_sim_restart(ctx, sim, 0, perp_model_q0(m), perp_model_v0(m)));
  added(ctx, perp_sim_step(ctx, sim, 1, &info));
  added(ctx, perp_gradient_create(ctx, sim, w + 1, NV, &g));
  memcpy(seed[0], first, NV * sizeof *first);
  memcpy(seed[1], first + NV, NV * sizeof *first);
  added(ctx, perp_gradient_seed(ctx, g, seed[0], seed[1]));
  added(ctx, perp_gradient_step(ctx, g, 1, &info));
  below(gradient_off(NV, perp_gradient_dq(g), held) +
            gradient_off(NV, perp_gradient_dv(g), held + NV),
        1e-10, "%s: a control that is held is a product of the Jacobian", c->name);
  for (int i = 0; i < NV; i++) wq[i] = sin(i + 1.), wv[i] = cos(i + 1.);
  perp_gradient_pull(g, wq, wv, pulled);
  for (int i = 0; i < NV; i++)
    sum += wq[i] * perp_gradient_dq(g)[i] + wv[i] * perp_gradient_dv(g)[i];
  near(pulled[0], sum, 1e-14, 1e-14, "%s: vector times Jacobian", c->name);
  perp_gradient_destroy(g);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

static void refused(perp_ctx *ctx, const char *what, run_parts parts, perp_gradient_wrt w,
                    const char *word)
{
  const gradient_numbers numbers = { .mass = 1.3, .gravity = 9.81 };
  perp_model *m = build_arm(ctx, &numbers);
  perp_sim *sim = run_start(ctx, m, parts, 1e-2);
  perp_gradient *g = NULL;
  const perp_status status = perp_gradient_create(ctx, sim, &w, 1, &g);
  ok((status == PERP_ERR_UNSUPPORTED || status == PERP_ERR_ARG) && g == NULL &&
         strstr(ctx->msg, word) != NULL,
     "%s: %s", what, ctx->msg);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const gradient_numbers numbers = { .mass = 1.3, .gravity = 9.81, .force = 0.7 };
  const gradient_case cases[] = {
    { "rk4, no stabilization",
      build_arm,
      numbers,
      { "acceleration", "rk4", "tree", "none" },
      1e-2,
      20,
      1 },
    { "rk4, feedback, 20 steps",
      build_arm,
      numbers,
      { "acceleration", "rk4", "tree", "baumgarte" },
      1e-2,
      20,
      20 },
    { "rk4, projections",
      build_arm,
      numbers,
      { "acceleration", "rk4", "schur-dense", "post:velocity=true" },
      1e-2,
      20,
      1 },
    { "rk4, projections, 20 steps",
      build_arm,
      numbers,
      { "acceleration", "rk4", "tree", "post:velocity=true" },
      1e-2,
      20,
      20 },
    { "rk8pd, velocity projection",
      build_arm,
      numbers,
      { "acceleration", "gsl:rk8pd", "tree", "velocity-projection" },
      2e-2,
      10,
      5 },
    { "dopri5, two passes",
      build_arm,
      numbers,
      { "acceleration", "dopri5", "tree", "post:passes=2" },
      2e-2,
      10,
      5 },
    { "reduced, rk4", build_arm, numbers, { "reduced", "rk4" }, 1e-2, 20, 1 },
    { "reduced, rk8pd", build_arm, numbers, { "reduced", "gsl:rk8pd" }, 2e-2, 10, 10 },
    { "symplectic Euler on accelerations",
      build_arm,
      numbers,
      { "acceleration", "symplectic-euler", "tree", "none" },
      1e-2,
      10,
      5 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check(&ctx, &cases[i], false, 1e-3, 1e-8);
  check_steps(&ctx, &cases[3]);
  check_columns(&ctx, &cases[0]);
  for (int i = 6; i < 8; i++) check_order(&ctx, &cases[i]);
  const perp_gradient_wrt q = { PERP_GRADIENT_Q, 0 };
  refused(&ctx, "another formulation", (run_parts){ "ggl" }, q, "acceleration");
  refused(&ctx, "an implicit method", (run_parts){ "acceleration", "implicit-midpoint" }, q,
          "explicit");
  refused(&ctx, "a tolerance", (run_parts){ "acceleration", "dopri5:tol=1e-6" }, q, "fixed steps");
  refused(&ctx, "momenta", (run_parts){ "acceleration:state=momentum", "rk4" }, q,
          "state=momentum");
  refused(&ctx, "corrections without masses",
          (run_parts){ "acceleration", "rk4", "schur-dense", "post:weight=none" }, q, "masses");
  refused(&ctx, "projections of the velocity level",
          (run_parts){ "velocity", "symplectic-euler", "tree", "post" }, q, "baumgarte");
  refused(&ctx, "steps that follow their error", (run_parts){ "velocity:tol=1e-4" }, q, "tol");
  refused(&ctx, "no such body", (run_parts){ "velocity" },
          (perp_gradient_wrt){ PERP_GRADIENT_MASS, 2 }, "has 2");
  refused(&ctx, "no such shape", (run_parts){ "velocity" },
          (perp_gradient_wrt){ PERP_GRADIENT_FRICTION, 0 }, "shape");
  refused(&ctx, "no such drive", (run_parts){ "velocity" },
          (perp_gradient_wrt){ PERP_GRADIENT_TARGET, 0 }, "drive");
  return tap_done();
}
