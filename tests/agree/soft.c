/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Soft rows and implicit springs: joints with stiffness and damping, and the formulation
 * velocity-implicit, against the closed forms of the discrete and of the continuous damped
 * oscillator, the linearly implicit Euler method with numerical gradients, and each other. */
#include "models/scenes/scene.h"
#include "tests/run_model.h"

static perp_ctx ctx;
static const double mass = 2, stiffness = 80, damping = 3, start = 0.1;

/* ---- the oscillator m x'' = -k x - d x' from x = start at rest ---- */

/* backward Euler, n steps */
static void discrete(double k, double d, double h, int n, double *x, double *v)
{
  *x = start, *v = 0;
  for (int i = 0; i < n; i++) {
    *v = (mass * *v - h * k * *x) / (mass + h * d + h * h * k);
    *x += h * *v;
  }
}

static double continuous(double t)
{
  const double a = damping / (2 * mass), w = sqrt(stiffness / mass - a * a);
  return start * exp(-a * t) * (cos(w * t) + a / w * sin(w * t));
}

/* a body whose row along x is soft and the other rows are rigid */
static perp_model *soft_body(int dim, perp_row_soft row, bool ground)
{
  perp_model *model = run_model(&ctx, dim);
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_sphere(mass, 0.5), .x = { start, 0, 0.5 } });
  perp_joint_def joint = { .kind = PERP_JOINT_FIXED, .a = PERP_WORLD, .b = 0, .collide = true };
  joint.anchor_a[2] = dim == 3 ? 0.5 : 0;
  joint.row[0] = row;
  if (ground) {
    /* held against turning and across x by the line, carried by the ground */
    joint = (perp_joint_def){ .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0, .collide = true };
    joint.anchor_a[2] = 0.5;
    joint.row[0] = row;
    joint.row[2].damping = 1e-9; /* the ground carries the body, not the joint */
    const perp_shape_def plane = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD };
    const perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .body = 0, .radius = 0.5 };
    run_shape(&ctx, model, plane);
    run_shape(&ctx, model, ball);
  }
  run_joint(&ctx, model, joint);
  return run_finish(&ctx, model);
}

static const char *const kkts[] = { "schur-dense", "kkt-dense",  "schur-sparse",
                                    "kkt-sparse",  "tree",       "schur-svd",
                                    "schur-cg",    "null-space", "udwadia-kalaba" };
enum { KKTS = sizeof kkts / sizeof kkts[0] };

/* the spring of a row is the discrete oscillator, on both levels, with every KKT solver */
static void levels(void)
{
  const double h = 1e-2;
  double x, v, q[7], u[6];
  discrete(stiffness, damping, h, 100, &x, &v);
  for (int dim = 2; dim <= 3; dim++)
    for (int i = 0; i < KKTS; i++)
      for (int level = 0; level < 2; level++) {
        perp_model *model = soft_body(dim, (perp_row_soft){ 0, stiffness, damping }, false);
        const char *form = level == 0 ? "velocity" : "acceleration";
        perp_reason reason = run_fresh(
            &ctx, model, (run_parts){ form, "symplectic-euler", kkts[i] }, h, 1, q, u);
        ok(reason >= 0, "%s, %s, %d-D: a soft row", form, kkts[i], dim);
        near(q[0], x, 1e-10, 0, "%s, %s: the discrete oscillator", form, kkts[i]);
        near(u[0], v, 1e-9, 0, "%s, %s: and its speed", form, kkts[i]);
        below(fabs(q[1]), 1e-9, "%s, %s: the rigid rows hold", form, kkts[i]);
        perp_model_destroy(model);
      }
}

/* a row with next to no stiffness, S = 1e12, does not blur the rigid ones, which carry the body */
static void slack(void)
{
  for (int i = 0; i < KKTS; i++) {
    double q[7];
    perp_model *model = soft_body(3, (perp_row_soft){ 0, 1e-6, 0 }, false);
    perp_reason reason = run_fresh(&ctx, model, (run_parts){ "velocity", .kkt = kkts[i] }, 1e-3,
                                   0.1, q, NULL);
    if (strcmp(kkts[i], "schur-svd") == 0) { /* its cut is relative to the largest, here S */
      ok(reason < 0, "schur-svd: refused: %s", perp_reason_name(reason));
    } else {
      ok(reason >= 0, "%s: a row with next to no stiffness", kkts[i]);
      near(q[2], 0.5, 1e-10, 0, "%s: the rigid rows carry the body", kkts[i]);
      near(q[0], start, 1e-8, 0, "%s: and the soft one leaves it where it is", kkts[i]);
    }
    perp_model_destroy(model);
  }
}

/* softness S and feedback alpha are the stiffness alpha / (h S) and the damping (1 - h alpha) / (h
 * S) */
static void correspondence(void)
{
  const double h = 1e-2, S = 1 / (h * (h * stiffness + damping));
  const double alpha = stiffness / (h * stiffness + damping);
  char stab[64];
  snprintf(stab, sizeof stab, "baumgarte:alpha=%.17g", alpha);
  double q[2][7], v[2][6];
  for (int i = 0; i < 2; i++) {
    const perp_row_soft row = i == 0 ? (perp_row_soft){ 0, stiffness, damping }
                                     : (perp_row_soft){ S, 0, 0 };
    perp_model *model = run_model(&ctx, 3);
    run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(mass, 0.5) });
    run_joint(&ctx, model,
              (perp_joint_def){
                  .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0, .row = { row, { 0 }, { 0 } } });
    run_finish(&ctx, model);
    perp_sim *sim = run_start(&ctx, model,
                              (run_parts){ "velocity", .kkt = "schur-dense", .stab = stab }, h);
    const double q0[7] = { start, 0, 0, 1 }, v0[6] = { 0 };
    if (perp_sim_restart(&ctx, sim, 0, q0, v0) != PERP_OK) bail("%s", ctx.msg);
    ok(run_to(&ctx, sim, 1) >= 0, "soft row by %s", i == 0 ? "spring and damper" : "S and alpha");
    double t;
    const double *qt, *vt;
    perp_sim_state(sim, &t, &qt, &vt);
    memcpy(q[i], qt, sizeof q[i]);
    memcpy(v[i], vt, sizeof v[i]);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
  near(q[0][0], q[1][0], 1e-13, 0, "softness and alpha are stiffness and damping: position");
  near(v[0][0], v[1][0], 1e-12, 0, "and speed");
}

static void first_order(void)
{
  double error[3], q[7];
  for (int i = 0; i < 3; i++) {
    perp_model *model = soft_body(3, (perp_row_soft){ 0, stiffness, damping }, false);
    run_fresh(&ctx, model, (run_parts){ "velocity" }, 1e-3 / (1 << i), 0.5, q, NULL);
    error[i] = q[0] - continuous(0.5);
    perp_model_destroy(model);
  }
  near(error[0] / error[1], 2, 0.03, 0, "soft row: first order, 1 ms to 0.5 ms");
  near(error[1] / error[2], 2, 0.015, 0, "soft row: first order, 0.5 ms to 0.25 ms");
  below(fabs(error[2]), 2e-4, "soft row: towards the continuous oscillator");
}

/* as rows of the contact problem: each LCP solver */
static void in_problems(void)
{
  static const char *const solvers[] = { "dantzig", "lemke", "pgs:tol=1e-12,max_iter=100000",
                                         "fischer-newton", "block-gs:tol=1e-12,max_iter=100000" };
  const double h = 1e-2;
  double x, v;
  discrete(stiffness, damping, h, 100, &x, &v);
  for (int i = 0; i < 5; i++)
    for (int rows = 0; rows < 2; rows++) {
      perp_model *model = soft_body(3, (perp_row_soft){ 0, stiffness, damping }, true);
      const char *form = rows ? "velocity:joints=rows,residual=1e-10" : "velocity:residual=1e-10";
      double q[7], u[6];
      perp_reason reason = run_fresh(
          &ctx, model,
          (run_parts){ form, .kkt = "schur-dense", .lcp = solvers[i], .contact = "frictionless" },
          h, 1, q, u);
      ok(reason >= 0, "%s, %s: a soft row and a contact", solvers[i], form);
      near(q[0], x, 1e-8, 0, "%s, %s: the discrete oscillator", solvers[i], form);
      near(q[2], 0.5, 1e-8, 0, "%s, %s: on the ground", solvers[i], form);
      perp_model_destroy(model);
    }
}

/* energy: the spring of a row stores what the spring of a force stores */
static void energy(void)
{
  perp_model *model = soft_body(3, (perp_row_soft){ 0, stiffness, damping }, false);
  double T, V;
  perp_model_energy(model, 0, perp_model_q0(model), perp_model_v0(model), &T, &V);
  near(V, 0.5 * stiffness * start * start + mass * 9.81 * 0.5, 1e-12, 0,
       "soft row: potential energy");
  double C[6];
  perp_model_error(model, 0, perp_model_q0(model), C);
  ok(C[0] == 0, "soft row: what it gives way is no error");
  perp_model_destroy(model);
}

/* ---- velocity-implicit ---- */

/* a ball on frictionless ground between two posts, held by a stiff damped spring along x */
static perp_model *stiff(double k, double d)
{
  perp_model *model = run_model(&ctx, 3);
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_sphere(mass, 0.5), .x = { start, 0, 0.5 } });
  const perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                                  .a = PERP_WORLD,
                                  .b = 0,
                                  .anchor_a = { -10, 0, 0.5 },
                                  .stiffness = k,
                                  .damping = d,
                                  .length = 10 };
  const perp_shape_def plane = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD };
  const perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .body = 0, .radius = 0.5 };
  run_force(&ctx, model, spring);
  run_shape(&ctx, model, plane);
  run_shape(&ctx, model, ball);
  return run_finish(&ctx, model);
}

static void stiff_contact(void)
{
  static const char *const forms[] = { "velocity-implicit", "velocity-implicit:gradient=full",
                                       "velocity-implicit:gradient=axial",
                                       "velocity-implicit:gradient=numeric" };
  double q[7], v[6], x, u;
  const double k = 1e6, d = 200, h = 1e-2; /* omega h = 7 */
  for (int i = 0; i < 4; i++) {
    perp_model *model = stiff(k, d);
    perp_sim *sim = run_start(&ctx, model, (run_parts){ forms[i], .contact = "frictionless" }, h);
    perp_step_info info = { 0 };
    for (int s = 0; s < 20; s++)
      if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
        bail("%s %s", perp_reason_name(info.reason), ctx.msg);
    double t, force = 0;
    const double *qt, *vt;
    perp_sim_state(sim, &t, &qt, &vt);
    discrete(k, d, h, 20, &x, &u);
    near(qt[0], x, 1e-10, 0, "%s: stiff spring, the discrete oscillator", forms[i]);
    near(vt[0], u, 1e-8, 0, "%s: and its speed", forms[i]);
    for (int c = 0; c < info.n_contacts; c++) force += fabs(info.impulse[3 * c + 2]) / h;
    near(force, mass * 9.81, 0, 1e-8, "%s: the ground carries the ball", forms[i]);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
  perp_model *model = stiff(k, d);
  perp_reason reason = run_fresh(&ctx, model, (run_parts){ "velocity", .contact = "frictionless" },
                                 h, 1, q, v);
  ok(reason < 0 || !(fabs(q[0]) < 1e3), "velocity: the same spring explodes: x = %g m (%s)", q[0],
     perp_reason_name(reason));
  perp_model_destroy(model);

  double error[3], gap[3], qe[7];
  for (int i = 0; i < 3; i++) {
    const double step = 1e-3 / (1 << i);
    model = stiff(stiffness, damping);
    run_fresh(&ctx, model, (run_parts){ "velocity-implicit", .contact = "frictionless" }, step, 0.5,
              q, v);
    run_fresh(&ctx, model, (run_parts){ "velocity", .contact = "frictionless" }, step, 0.5, qe, v);
    error[i] = q[0] - continuous(0.5);
    gap[i] = q[0] - qe[0];
    perp_model_destroy(model);
  }
  near(error[1] / error[2], 2, 0.015, 0, "velocity-implicit: first order to the exact motion");
  near(gap[1] / gap[2], 2, 0.03, 0, "velocity-implicit and velocity meet as h -> 0");
}

static double total_energy(const perp_model *model, const double *q, const double *v)
{
  double kinetic, potential;
  perp_model_energy(model, 0, q, v, &kinetic, &potential);
  return kinetic + potential;
}

/* The flyball governor at 10 ms, whose motion keeps its energy to 1e-5: what turns is not damped.
 */
static void turning(void)
{
  perp_spec spec;
  perp_scene scene;
  perp_step_info info = { 0 };
  double t = 0, most = 0;
  const double *q, *v;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, "flyball", &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  perp_sim *sim = run_start(&ctx, scene.model, (run_parts){ "velocity-implicit" }, 1e-2);
  perp_sim_state(sim, &t, &q, &v);
  const double first = total_energy(scene.model, q, v);
  while (t < 0.5) {
    if (perp_sim_step(&ctx, sim, 0.5, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    most = fmax(most, fabs(total_energy(scene.model, q, v) - first));
  }
  below(most, 0.05 * first, "flyball, velocity-implicit at 10 ms: %.2g of the energy",
        most / first);
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
}

/* A ball between two springs under tension, across which it swings with h omega = 14. */
static void taut(void)
{
  const double h = 1e-2, k = 1e6, swing = 1e-3;
  perp_model *model = run_model(&ctx, 3);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x = { 0, swing, 0 } });
  perp_model_gravity(model, 0);
  for (int i = 0; i < 2; i++) {
    const perp_force_def spring = {
      .kind = PERP_FORCE_SPRING, .a = PERP_WORLD, .b = 0, .anchor_a = { 2 * i - 1 }, .stiffness = k
    };
    run_force(&ctx, model, spring);
  }
  run_finish(&ctx, model);
  double q[7], v[6];
  perp_reason reason = run_fresh(&ctx, model, (run_parts){ "velocity-implicit" }, h, 100, q, v);
  ok(reason >= 0, "a taut string: runs (%s)", perp_reason_name(reason));
  below(hypot(q[1], v[1] / sqrt(2 * k)), 3 * swing, "a taut string swings and does not grow");
  perp_model_destroy(model);
}

/* v+ = (M - h^2 K - h D)^-1 (M v + h f - h D v) with gradients by differences, for a net of balls
 */
enum { BALLS = 4, NV = 6 * BALLS };

static void solve_dense(int n, double *A, double *b)
{
  for (int c = 0; c < n; c++) {
    int p = c;
    for (int r = c + 1; r < n; r++)
      if (fabs(A[r + n * c]) > fabs(A[p + n * c])) p = r;
    for (int j = 0; j < n; j++) {
      double swap = A[c + n * j];
      A[c + n * j] = A[p + n * j];
      A[p + n * j] = swap;
    }
    double swap = b[c];
    b[c] = b[p];
    b[p] = swap;
    for (int r = c + 1; r < n; r++) {
      const double f = A[r + n * c] / A[c + n * c];
      for (int j = c; j < n; j++) A[r + n * j] -= f * A[c + n * j];
      b[r] -= f * b[c];
    }
  }
  for (int c = n - 1; c >= 0; c--) {
    for (int j = c + 1; j < n; j++) b[c] -= A[c + n * j] * b[j];
    b[c] /= A[c + n * c];
  }
}

static void gradients(void)
{
  static const double at[BALLS][3] = {
    { 0, 0, 0 }, { 1, 0.2, 0.1 }, { 0.3, 1.1, -0.2 }, { 0.4, 0.3, 0.9 }
  };
  const double h = 1e-2, m = 0.7, drag = 5;
  perp_model *model = run_model(&ctx, 3);
  for (int i = 0; i < BALLS; i++)
    run_body(
        &ctx, model,
        (perp_body_def){ .mass = perp_mass_sphere(m, 0.1), .x = { at[i][0], at[i][1], at[i][2] } });
  for (int i = -1; i < BALLS; i++)
    for (int j = i + 1; j < BALLS; j++) {
      /* all under tension */
      perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                                .a = i,
                                .b = j,
                                .stiffness = 900 + 100 * i + 40 * j,
                                .damping = i + j,
                                .length = i == 0 ? 0 : 0.4 };
      if (i < 0) spring.anchor_a[0] = spring.anchor_a[2] = -1;
      if (spring.damping < 0) spring.damping = 0;
      run_force(&ctx, model, spring);
    }
  perp_force_def air = { .kind = PERP_FORCE_DRAG, .a = 2, .linear = drag };
  run_force(&ctx, model, air);
  run_finish(&ctx, model);

  const double *q = perp_model_q0(model), *v = perp_model_v0(model), e = 1e-5;
  double f[NV], fp[NV], fm[NV], x[NV], qx[7 * BALLS];
  double *A = calloc((size_t)NV * NV, sizeof *A);
  perp_model_forces(model, 0, q, v, f);
  for (int c = 0; c < NV; c++) {
    memset(x, 0, sizeof x);
    x[c] = e;
    perp_model_retract(model, q, x, qx);
    perp_model_forces(model, 0, qx, v, fp);
    x[c] = -e;
    perp_model_retract(model, q, x, qx);
    perp_model_forces(model, 0, qx, v, fm);
    for (int r = 0; r < NV; r++) A[r + NV * c] -= h * h * (fp[r] - fm[r]) / (2 * e);
    memset(x, 0, sizeof x);
    x[c] = e;
    perp_model_forces(model, 0, q, x, fp);
    x[c] = -e;
    perp_model_forces(model, 0, q, x, fm);
    for (int r = 0; r < NV; r++) A[r + NV * c] -= h * (fp[r] - fm[r]) / (2 * e);
    A[c + NV * c] += c % 6 < 3 ? m : 0.4 * m * 0.01;
  }
  for (int r = 0; r < NV; r++) x[r] = h * f[r];
  solve_dense(NV, A, x);

  for (int i = 0; i < 2 * KKTS; i++) {
    double got[NV], worst = 0, largest = 0;
    const char *form = i < KKTS ? "velocity-implicit:gradient=full"
                                : "velocity-implicit:gradient=numeric";
    perp_reason reason = run_fresh(&ctx, model, (run_parts){ form, .kkt = kkts[i % KKTS] }, h, h,
                                   NULL, got);
    for (int r = 0; r < NV; r++) {
      worst = fmax(worst, fabs(got[r] - x[r]));
      largest = fmax(largest, fabs(x[r]));
    }
    ok(reason >= 0, "%s, %s: a net", form, kkts[i % KKTS]);
    /* 1e-7: the least stiffness that terms keep, and the differences */
    below(worst, 1e-7 * largest, "%s, %s: eq. 2.52 with numerical gradients", form, kkts[i % KKTS]);
  }
  free(A);
  perp_model_destroy(model);
}

static void drag(void)
{
  const double h = 0.1, c = 500;
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(mass, 0.5), .v = { 3, 0, 1 } });
  const perp_force_def air = { .kind = PERP_FORCE_DRAG, .a = 0, .linear = c };
  run_force(&ctx, model, air);
  run_finish(&ctx, model);
  double v[6];
  run_fresh(&ctx, model, (run_parts){ "velocity-implicit" }, h, 3 * h, NULL, v);
  near(v[0], 3 / pow(1 + h * c / mass, 3), 0, 1e-10, "velocity-implicit: stiff drag");
  perp_model_destroy(model);
}

/* Gradients by differences of the forces of model.h against closed forms. */
static void closed_gradients(void)
{
  const double k = 300, length = 0.4, c1 = 2, c2 = 0.7, ca = 0.3;
  perp_model *model = run_model(&ctx, 3);
  run_body(
      &ctx, model,
      (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .v = { 1, -2, 0.5 }, .w = { 3, 1, 2 } });
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_sphere(2, 0.1), .x = { 0.6, 0.3, 0.2 } });
  const perp_force_def force[] = {
    { .kind = PERP_FORCE_SPRING, .a = 0, .b = 1, .stiffness = k, .length = length },
    { .kind = PERP_FORCE_DRAG,
      .a = 0,
      .b = PERP_WORLD,
      .linear = c1,
      .quadratic = c2,
      .angular = ca },
    { .kind = PERP_FORCE_POINT,
      .a = 1,
      .b = PERP_WORLD,
      .anchor_a = { 0.2, -0.1, 0.3 },
      .value = { 5, 7, -4 } }
  };
  for (int i = 0; i < 3; i++)
    if (perp_model_add_force(&ctx, model, &force[i]) != PERP_OK) bail("%s", ctx.msg);
  run_finish(&ctx, model);
  const double *q = perp_model_q0(model), *v = perp_model_v0(model);
  double dq[144], dv[144], off = 0;
  int body[PERP_ELEMENT_BODIES];

  /* -K = -(g E + (k - g) n n') on itself, K on the other one */
  const double u[3] = { 0.6, 0.3, 0.2 }, d = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]),
               g = k * (d - length) / d;
  int n = perp_model_force_gradient(model, 0, 0, q, v, body, dq, dv);
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 12; j++) {
      const double sign = i / 6 == j / 6 ? -1 : 1;
      const bool linear = i % 6 < 3 && j % 6 < 3;
      const double K = linear ? g * (i % 6 == j % 6) + (k - g) * u[i % 6] * u[j % 6] / (d * d) : 0;
      off = fmax(off, fmax(fabs(dq[i + 12 * j] - sign * K), fabs(dv[i + 12 * j])));
    }
  ok(n == 2 && body[0] == 0 && body[1] == 1, "a spring moves both bodies");
  below(off, 1e-8 * k, "its gradient");

  /* -(c1 + c2 |v|) E - c2 v v' / |v|, and -ca E */
  const double speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  n = perp_model_force_gradient(model, 1, 0, q, v, body, dq, dv);
  off = 0;
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      double D = i == j ? -ca : 0;
      if (i < 3 && j < 3) D = -(c1 + c2 * speed) * (i == j) - c2 * v[i] * v[j] / speed;
      if ((i < 3) != (j < 3)) D = 0;
      off = fmax(off, fmax(fabs(dv[i + 6 * j] - D), fabs(dq[i + 6 * j])));
    }
  ok(n == 1 && body[0] == 0, "drag acts on one body");
  below(off, 1e-8, "the gradient of drag, linear, quadratic and angular");

  /* torque s x (R' F) in the frame of the body, R' F -> R' F - w x (R' F) */
  const double *s = force[2].anchor_a, *F = force[2].value;
  n = perp_model_force_gradient(model, 2, 0, q, v, body, dq, dv);
  off = 0;
  for (int j = 0; j < 3; j++) {
    const double w[3] = { j == 0, j == 1, j == 2 };
    const double f[3] = { F[1] * w[2] - F[2] * w[1], F[2] * w[0] - F[0] * w[2],
                          F[0] * w[1] - F[1] * w[0] }; /* F x w */
    const double T[3] = { s[1] * f[2] - s[2] * f[1], s[2] * f[0] - s[0] * f[2],
                          s[0] * f[1] - s[1] * f[0] };
    for (int i = 0; i < 3; i++)
      off = fmax(off, fmax(fabs(dq[3 + i + 6 * (3 + j)] - T[i]), fabs(dq[i + 6 * (3 + j)])));
  }
  below(off, 1e-8, "the gradient of the lever of a given force");
  perp_model_destroy(model);
}

/* What the closed forms leave at the start of the step: angular drag, w+ = w / (1 + h c / I), and
 * the order of all. */
static void numeric(void)
{
  const double h = 0.1, c = 50, I = 0.4 * mass * 0.25;
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(mass, 0.5), .w = { 0, 0, 3 } });
  const perp_force_def air = { .kind = PERP_FORCE_DRAG, .a = 0, .angular = c };
  run_force(&ctx, model, air);
  run_finish(&ctx, model);
  double v[6];
  run_fresh(&ctx, model, (run_parts){ "velocity-implicit:gradient=numeric" }, h, 3 * h, NULL, v);
  near(v[5], 3 / pow(1 + h * c / I, 3), 0, 1e-8, "numeric: stiff angular drag, h c / I = %g",
       h * c / I);
  run_fresh(&ctx, model, (run_parts){ "velocity-implicit:gradient=full" }, h, 3 * h, NULL, v);
  ok(fabs(v[5]) > 3, "full: that drag is taken at the start, and grows to %g rad/s", v[5]);
  perp_model_destroy(model);

  /* two boxes on springs with dampers at their corners, and drag: first order to rk4 in steps of
   * 0.1 ms */
  for (int dim = 2; dim <= 3; dim++) {
    double exact[14], q[14], error[2];
    model = run_model(&ctx, dim);
    for (int i = 0; i < 2; i++)
      run_body(&ctx, model,
               (perp_body_def){ .mass = perp_mass_box(1 + i, 0.4, 0.3, 0.2),
                                .x = { 0.8 * i, -0.1 * i, 0 },
                                .w = { 1, 2 * i, dim == 3 ? 1 : 0 } });
    for (int i = 0; i < 2; i++) {
      const perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                                      .a = i - 1,
                                      .b = i,
                                      .anchor_a = { 0.2, 0.15, 0 },
                                      .anchor_b = { -0.2, 0.1, 0 },
                                      .stiffness = 80,
                                      .damping = 1.5,
                                      .length = 0.1 };
      const perp_force_def drag = {
        .kind = PERP_FORCE_DRAG, .a = i, .linear = 0.2, .quadratic = 0.3, .angular = 0.02
      };
      run_force(&ctx, model, spring);
      run_force(&ctx, model, drag);
    }
    run_finish(&ctx, model);
    const int nq = perp_model_nq(model);
    run_fresh(&ctx, model, (run_parts){ "acceleration", .ode = "rk4" }, 1e-4, 0.5, exact, NULL);
    for (int i = 0; i < 2; i++) {
      error[i] = 0;
      run_fresh(&ctx, model, (run_parts){ "velocity-implicit:gradient=numeric" }, 1e-3 / (1 << i),
                0.5, q, NULL);
      for (int j = 0; j < nq; j++) error[i] = fmax(error[i], fabs(q[j] - exact[j]));
    }
    near(error[0] / error[1], 2, 0.1, 0, "numeric, %dD: first order, error %.2g", dim, error[0]);
    perp_model_destroy(model);
  }
}

static void refusals(void)
{
  perp_model *model = run_model(&ctx, 3);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(mass, 0.5) });
  perp_joint_def joint = { .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0, .stiffness = -1 };
  ok(perp_model_add_joint(&ctx, model, &joint, NULL) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  joint.stiffness = 0;
  joint.row[4].damping = 1;
  ok(perp_model_add_joint(&ctx, model, &joint, NULL) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  joint.row[4].damping = 0;
  joint.row[1].stiffness = 1;
  run_joint(&ctx, model, joint);
  run_finish(&ctx, model);
  static const char *const others[] = { "reduced", "penalty",    "regularized",       "impulse",
                                        "ggl",     "point-mass", "generalized-alpha", "radau5" };
  for (int i = 0; i < 8; i++)
    run_refused(&ctx, model, (run_parts){ others[i] }, "stiffness or damping");
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  levels();
  slack();
  correspondence();
  first_order();
  in_problems();
  energy();
  stiff_contact();
  turning();
  taut();
  gradients();
  drag();
  closed_gradients();
  numeric();
  refusals();
  return tap_done();
}
