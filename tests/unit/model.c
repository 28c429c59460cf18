/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building (every refusal names its culprit), the manifold, energy and momentum. */
#include "models/multibody/model_private.h"
#include "tests/run_model.h"

#include <string.h>

static perp_ctx ctx;
static perp_rng *rng;

static void refused(perp_status got, perp_status want, const char *part)
{
  ok(got == want && strstr(ctx.msg, part) != NULL && strchr(ctx.msg, '\n') == NULL &&
         strlen(ctx.msg) < 160,
     "refused in one short line: %s", part);
  if (got != want || strstr(ctx.msg, part) == NULL)
    printf("# %s: %s\n", perp_status_name(got), ctx.msg);
}

static perp_model *model_of(int dim)
{
  perp_model *model;
  if (perp_model_create(&ctx, dim, &model) != PERP_OK) bail("%s", ctx.msg);
  return model;
}

static perp_body_def body_def(void)
{
  return (perp_body_def){ .name = "arm", .mass = perp_mass_box(2, 1, 0.2, 0.3) };
}

static void bodies(void)
{
  perp_model *m = model_of(3), *plane = model_of(2);
  perp_body_def def = body_def(), bad;
  int index = -1;
  ok(perp_model_create(&ctx, 4, &(perp_model *){ 0 }) == PERP_ERR_DIM, "no fourth dimension");
  ok(perp_model_add_body(&ctx, m, &def, &index) == PERP_OK && index == 0, "a body is added");
#define REFUSED(change, part)                                                                      \
  bad = def;                                                                                       \
  change;                                                                                          \
  refused(perp_model_add_body(&ctx, m, &bad, NULL), PERP_ERR_ARG, part)
  REFUSED(bad.mass.mass = 0, "body 1 'arm': mass must be positive: got 0 kg");
  REFUSED(bad.mass.mass = -1, "mass must be positive: got -1 kg");
  REFUSED(bad.mass.mass = (double)NAN, "mass must be positive");
  REFUSED(bad.name = NULL; bad.mass.mass = HUGE_VAL, "body 1: mass");
  REFUSED(bad.mass.inertia[0] = (double)NAN, "inertia is not finite");
  REFUSED(bad.mass.inertia[4] = -1, "inertia is not positive definite");
  REFUSED(bad.mass.inertia[4] = 0, "inertia is not positive definite");
  /* the first and the last leading minor are positive, the second is not */
  REFUSED(bad.mass.inertia[0] = bad.mass.inertia[4] = 1;
          bad.mass.inertia[1] = bad.mass.inertia[3] = 2;
          bad.mass.inertia[8] = -0.5, "inertia is not positive definite");
  REFUSED(bad.mass.inertia[1] = 0.001, "inertia is not symmetric");
  REFUSED(bad.mass.inertia[8] *= 2, "triangle inequality");
  REFUSED(bad.x[1] = (double)NAN, "initial position is not finite");
  REFUSED(bad.quat[2] = HUGE_VAL, "initial position is not finite");
  REFUSED(bad.v[1] = (double)NAN, "initial velocity is not finite");
  REFUSED(bad.w[1] = -HUGE_VAL, "initial velocity is not finite");
  bad = def;
  bad.mass.inertia[8] = 0;
  refused(perp_model_add_body(&ctx, plane, &bad, NULL), PERP_ERR_ARG, "inertia about z");
  /* a flat plate has I_x + I_y = I_z exactly, here turned so that rounding decides */
  bad = def;
  double s = sqrt(0.5), I[3] = { 1, 2, 3 }, R[9] = { s, s, 0, -s * s, s * s, s, s * s, -s * s, s };
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      bad.mass.inertia[i + 3 * j] = 0;
      for (int k = 0; k < 3; k++) bad.mass.inertia[i + 3 * j] += R[i + 3 * k] * I[k] * R[j + 3 * k];
    }
  ok(perp_model_add_body(&ctx, m, &bad, NULL) == PERP_OK,
     "a flat body in any direction is accepted");
  bad = def;
  bad.quat[0] = bad.quat[3] = 1e-200;
  ok(perp_model_add_body(&ctx, m, &bad, &index) == PERP_OK,
     "a quaternion of any length is accepted");
  near(perp_model_body(m, index)->quat[3], s, 1e-15, 0, "... and normalized");
  perp_model_destroy(m);
  perp_model_destroy(plane);
}

static void joints_and_forces(void)
{
  perp_model *m = model_of(3), *plane = model_of(2);
  perp_body_def body = body_def();
  for (int i = 0; i < 2; i++) {
    perp_model_add_body(&ctx, m, &body, NULL);
    perp_model_add_body(&ctx, plane, &body, NULL);
  }
  perp_joint_def def = { .name = "elbow",
                         .kind = PERP_JOINT_HINGE,
                         .a = 0,
                         .b = 1,
                         .axis_a[2] = 1,
                         .axis_b[2] = 1 },
                 bad;
#undef REFUSED
#define REFUSED(change, part)                                                                      \
  bad = def;                                                                                       \
  change;                                                                                          \
  refused(perp_model_add_joint(&ctx, m, &bad, NULL), PERP_ERR_ARG, part)
  REFUSED(bad.b = 2, "joint 0 'elbow': body 2 does not exist (there are 2)");
  REFUSED(bad.a = -2, "body -2 does not exist");
  REFUSED(bad.b = 0, "connects a body with itself");
  REFUSED(bad.a = bad.b = PERP_WORLD, "connects the world with itself");
  REFUSED(bad.kind = (perp_joint_kind)99, "unknown kind of joint: 99");
  REFUSED(bad.anchor_a[0] = (double)NAN, "an anchor is not finite");
  REFUSED(bad.axis_a[2] = 0, "axis_a is zero");
  REFUSED(bad.axis_b[2] = 0, "axis_b is zero");
  REFUSED(bad.axis_b[1] = HUGE_VAL, "axis_b is zero or not finite");
  REFUSED(bad.kind = PERP_JOINT_DISTANCE, "length must be positive: got 0 m");
  REFUSED(bad.softness = -1, "softness must be in [0, inf): got -1");
  bad = def;
  bad.kind = PERP_JOINT_UNIVERSAL;
  refused(perp_model_add_joint(&ctx, plane, &bad, NULL), PERP_ERR_UNSUPPORTED,
          "a universal joint does not exist in the plane");
  bad.kind = PERP_JOINT_SLIDER; /* an axis out of the plane is none */
  refused(perp_model_add_joint(&ctx, plane, &bad, NULL), PERP_ERR_ARG, "axis_a is zero");

  perp_force_def force = { .kind = PERP_FORCE_SPRING, .a = 0, .b = 1, .stiffness = 1 }, wrong;
#undef REFUSED
#define REFUSED(change, part)                                                                      \
  wrong = force;                                                                                   \
  change;                                                                                          \
  refused(perp_model_add_force(&ctx, m, &wrong), PERP_ERR_ARG, part)
  REFUSED(wrong.b = 5, "force 0 'spring': body 5 does not exist");
  REFUSED(wrong.b = 0, "connects a body with itself");
  REFUSED(wrong.kind = PERP_FORCE_DRAG; wrong.a = PERP_WORLD, "'drag': body -1 does not exist");
  REFUSED(wrong.stiffness = (double)NAN, "a value is not finite");
  REFUSED(wrong.damping = -1, "damping must not be negative: got -1");
  REFUSED(wrong.kind = (perp_force_kind)7, "unknown kind of force: 7");
  perp_model_destroy(m);
  perp_model_destroy(plane);
}

static void finishing(void)
{
  perp_model *m = model_of(3);
  refused(perp_model_finish(&ctx, m), PERP_ERR_ARG, "the model has no body");
  perp_body_def body = body_def();
  body.x[0] = 0.5;
  perp_model_add_body(&ctx, m, &body, NULL);
  body.x[0] = 1.5;
  perp_model_add_body(&ctx, m, &body, NULL);
  perp_joint_def root = { .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0, .anchor_b[0] = -0.5 };
  perp_joint_def elbow = { .name = "elbow",
                           .kind = PERP_JOINT_HINGE,
                           .a = 0,
                           .b = 1,
                           .anchor_a[0] = 0.5,
                           .anchor_b[0] = -0.5,
                           .axis_a[2] = 1,
                           .axis_b[2] = 1 };
  perp_model_add_joint(&ctx, m, &root, NULL);
  perp_joint_def apart = elbow;
  apart.anchor_b[0] = -0.4;
  perp_model_add_joint(&ctx, m, &apart, NULL);
  refused(perp_model_finish(&ctx, m), PERP_ERR_ARG,
          "joint 1 'elbow': the initial position contradicts it: |C| = 0.1");
  ok(perp_model_q0(m) == NULL, "a refused model has no initial state");
  perp_model_destroy(m);

  for (int bad = 0; bad < 4; bad++) {
    m = model_of(3);
    body.x[0] = 0.5;
    body.w[1] = 2;
    body.v[2] = -1; /* w x r = (0, 2, 0) x (0.5, 0, 0) = (0, 0, -1): turns about the origin */
    perp_model_add_body(&ctx, m, &body, NULL);
    body.x[0] = 1.5;
    body.v[2] = bad == 2 ? -3.01 : -3;
    perp_model_add_body(&ctx, m, &body, NULL);
    apart = elbow;
    if (bad == 1) apart.axis_b[0] = 0.1;
    if (bad != 1) apart.axis_a[1] = apart.axis_b[1] = 1; /* about y and z: any, both turn alike */
    perp_model_add_joint(&ctx, m, &root, NULL);
    perp_model_add_joint(&ctx, m, &apart, NULL);
    if (bad == 3) perp_model_gravity(m, (double)NAN);
    perp_status st = perp_model_finish(&ctx, m);
    if (bad == 0) ok(st == PERP_OK, "consistent bodies in motion are accepted");
    if (bad == 1) refused(st, PERP_ERR_ARG, "joint 1 'elbow': the initial position contradicts it");
    if (bad == 2) refused(st, PERP_ERR_ARG, "joint 1 'elbow': the initial velocity contradicts it");
    if (bad == 3) refused(st, PERP_ERR_ARG, "gravity is not finite");
    if (bad == 0) {
      refused(perp_model_finish(&ctx, m), PERP_ERR_ARG, "the model is finished");
      refused(perp_model_add_body(&ctx, m, &body, NULL), PERP_ERR_ARG, "the model is finished");
      int rows;
      ok(perp_model_nq(m) == 14 && perp_model_nv(m) == 12 && perp_model_m(m) == 8 &&
             perp_model_bodies(m) == 2 && perp_model_joints(m) == 2 && perp_model_dim(m) == 3,
         "sizes: nq, nv, m");
      ok(perp_model_joint_row(m, 1, &rows) == 3 && rows == 5, "rows of the hinge");
      ok(strcmp(perp_model_joint(m, 1)->name, "elbow") == 0 && perp_model_joint(m, 2) == NULL,
         "definitions are kept");
    }
    perp_model_destroy(m);
  }
}

/* bodies in random motion, no joints */
static perp_model *swarm(int dim, int n)
{
  perp_model *m = model_of(dim);
  for (int b = 0; b < n; b++) {
    perp_body_def def = { .mass = perp_mass_box(1 + b, 1, 2 + b, 0.5) };
    def.angle = perp_rng_normal(rng);
    for (int i = 0; i < 4; i++) def.quat[i] = perp_rng_normal(rng);
    for (int i = 0; i < 3; i++) {
      def.x[i] = perp_rng_normal(rng);
      def.v[i] = perp_rng_normal(rng);
      def.w[i] = 3 * perp_rng_normal(rng);
    }
    if (perp_model_add_body(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

static double distance(int n, const double *x, const double *y)
{
  double worst = 0;
  for (int i = 0; i < n; i++) worst = fmax(worst, fabs(x[i] - y[i]));
  return worst;
}

static void manifold(int dim)
{
  enum { N = 3 };
  perp_model *m = swarm(dim, N);
  int nq = perp_model_nq(m), nv = perp_model_nv(m);
  const double *q = perp_model_q0(m), *v = perp_model_v0(m);
  double dq[6 * N], back[6 * N], q1[7 * N], q2[7 * N], qdot[7 * N], worst = 0, length = 0;
  /* from far below the threshold of the series to beyond half a turn */
  for (int trial = 0; trial < 200; trial++) {
    double scale = pow(10, perp_rng_uniform(rng, -9, 0)), angle = 0;
    for (int i = 0; i < nv; i++) dq[i] = scale * perp_rng_normal(rng);
    for (int b = 0; b < N && dim == 3; b++)
      angle = fmax(angle, sqrt(perp_dot(3, dq + 6 * b + 3, dq + 6 * b + 3)));
    if (angle > 3) continue;
    perp_model_retract(m, q, dq, q1);
    perp_model_difference(m, q, q1, back);
    worst = fmax(worst, distance(nv, dq, back));
    for (int b = 0; b < N && dim == 3; b++) {
      const double *s = q1 + 7 * b + 3;
      length = fmax(length, fabs(s[0] * s[0] + s[1] * s[1] + s[2] * s[2] + s[3] * s[3] - 1));
    }
  }
  below(worst, 2e-15 * 4, "dim %d: difference undoes retract (a few roundings of O(1))", dim);
  below(length, 1e-15, "dim %d: retract gives unit quaternions", dim);

  /* the same rotation in one and in 1000 steps: exp(w)^1000; no drift of the length */
  memcpy(q2, q, (size_t)nq * sizeof *q);
  for (int i = 0; i < nv; i++) dq[i] = v[i] / 1000;
  for (int k = 0; k < 1000; k++) perp_model_retract(m, q2, dq, q2);
  perp_model_retract(m, q, v, q1);
  perp_model_difference(m, q1, q2, back);
  for (int i = 0; i < nv; i++) dq[i] = 0;
  below(distance(nv, back, dq), 1e-12, "dim %d: 1000 thousandths of a rotation make one", dim);

  /* q and -q are one rotation */
  if (dim == 3) {
    memcpy(q2, q1, sizeof q1);
    for (int b = 0; b < N; b++)
      for (int i = 3; i < 7; i++) q2[7 * b + i] = -q2[7 * b + i];
    perp_model_difference(m, q1, q2, back);
    below(distance(nv, back, dq), 1e-15, "difference of q and -q is zero");
  }

  /* qdot is the derivative of retract: central difference, step^2 and rounding / step */
  perp_model_qdot(m, q, v, qdot);
  double eps = 1e-5;
  for (int i = 0; i < nv; i++) dq[i] = eps * v[i];
  perp_model_retract(m, q, dq, q1);
  for (int i = 0; i < nv; i++) dq[i] = -eps * v[i];
  perp_model_retract(m, q, dq, q2);
  for (int i = 0; i < nq; i++) q1[i] = (q1[i] - q2[i]) / (2 * eps);
  below(distance(nq, q1, qdot), 1e-8, "dim %d: qdot = d/dt retract(q, t v)", dim);

  /* project: quaternions of any length come back to length one, direction kept */
  memcpy(q1, q, (size_t)nq * sizeof *q);
  for (int b = 0; b < N && dim == 3; b++)
    for (int i = 3; i < 7; i++) q1[7 * b + i] *= b == 0 ? 1 + 1e-9 : b == 1 ? 1.3 : 1e-3;
  perp_model_project(m, q1);
  below(distance(nq, q1, q), 1e-15, "dim %d: project keeps direction and sets length", dim);
  perp_model_destroy(m);
}

/* A body as eight particles: a box of edges 2a with an eighth of the mass in each corner of the
 * box with edges 2a/sqrt(3) has the inertia m/12 ((2b)^2 + (2c)^2) = m/3 (b^2 + c^2) of the
 * solid box. */
static void energy_and_momentum(int dim)
{
  enum { N = 3 };
  perp_model *m = swarm(dim, N);
  const double *q = perp_model_q0(m), *v = perp_model_v0(m);
  double T, V, P[3], L[3], kinetic = 0, potential = 0, p[3] = { 0 }, l[3] = { 0 };
  for (int b = 0; b < N; b++) {
    double mass = (1 + b) / 8.0, edge[3] = { 1, 2 + b, dim == 3 ? 0.5 : 0 };
    for (int k = 0; k < 8; k++) {
      double s[3], x[3], xdot[3], momentum[3], moment[3];
      for (int i = 0; i < 3; i++) s[i] = (k >> i & 1 ? 0.5 : -0.5) * edge[i] / sqrt(3);
      perp_model_point(m, q, b, s, x);
      perp_model_point_velocity(m, q, v, b, s, xdot);
      for (int i = 0; i < 3; i++) momentum[i] = mass * xdot[i];
      kinetic += 0.5 * perp_dot(3, momentum, xdot);
      potential += mass * 9.81 * x[dim - 1];
      perp_cross(x, momentum, moment);
      for (int i = 0; i < 3; i++) p[i] += momentum[i], l[i] += moment[i];
    }
  }
  perp_model_energy(m, 0, q, v, &T, &V);
  perp_model_momentum(m, q, v, P, L);
  near(T, kinetic, 0, 1e-14, "dim %d: kinetic energy of particles", dim);
  near(V, potential, 1e-14, 1e-14, "dim %d: potential energy of particles", dim);
  below(distance(3, P, p), 1e-13, "dim %d: momentum of particles", dim);
  below(distance(3, L, l), 1e-12, "dim %d: angular momentum of particles", dim);
  double R[9], x[3];
  perp_model_rotation(m, q, PERP_WORLD, R);
  perp_model_point(m, q, PERP_WORLD, (double[]){ 1, 2, 3 }, x);
  ok(R[0] == 1 && R[4] == 1 && R[8] == 1 && R[1] == 0 && x[0] == 1 && x[1] == 2, "the world");
  perp_model_destroy(m);
}

/* Points and directions of the world, what is out of range, and which models have forces of
 * velocity. */
static void questions(void)
{
  for (int dim = 2; dim <= 3; dim++) {
    const double s[3] = { 1.5, -2.5, dim == 3 ? 3.5 : 0 };
    double p[3] = { 7, 7, 7 }, rate[3] = { 7, 7, 7 };
    perp_model *m = run_model(&ctx, dim);
    for (int b = 0; b < 2; b++)
      run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x[0] = b });
    run_joint(&ctx, m,
              (perp_joint_def){ .kind = PERP_JOINT_BALL, .a = 0, .b = 1, .anchor_a[0] = 1 });
    run_finish(&ctx, m);
    perp_model_point(m, perp_model_q0(m), PERP_WORLD, s, p);
    perp_model_point_velocity(m, perp_model_q0(m), perp_model_v0(m), PERP_WORLD, s, rate);
    ok(memcmp(p, s, sizeof p) == 0 && rate[0] == 0 && rate[1] == 0 && rate[2] == 0,
       "dim %d: points of the world stay", dim);
    ok(perp_model_body(m, -1) == NULL && perp_model_body(m, 0) != NULL &&
           perp_model_body(m, 1) != NULL && perp_model_body(m, 2) == NULL,
       "dim %d: two bodies", dim);
    ok(perp_model_joint(m, -1) == NULL && perp_model_joint(m, 0) != NULL &&
           perp_model_joint(m, 1) == NULL,
       "dim %d: one joint", dim);
    perp_model_destroy(m);
  }
  /* gyroscopic torque of all but spheres in space; drag and dampers */
  static const double off[6][9] = {
    { 1, 0, 0, 0, 1, 0, 0, 0, 1 },     { 2, 0, 0, 0, 1, 0, 0, 0, 1 },
    { 1, 0, 0, 0, 1, 0, 0, 0, 1.5 },   { 1, 0.1, 0, 0.1, 1, 0, 0, 0, 1 },
    { 1, 0, 0.1, 0, 1, 0, 0.1, 0, 1 }, { 1, 0, 0, 0, 1, 0.1, 0, 0.1, 1 }
  };
  for (int i = 0; i < 6; i++) {
    perp_body_def def = { .mass = { .mass = 1 } };
    memcpy(def.mass.inertia, off[i], sizeof off[i]);
    perp_model *m = run_model(&ctx, 3);
    run_body(&ctx, m, def);
    run_finish(&ctx, m);
    ok(perp_model_forces_need_velocity(m) == (i > 0), "inertia %d: gyroscopic torque", i);
    perp_model_destroy(m);
  }
  for (int i = 0; i < 3; i++) {
    perp_model *m = run_model(&ctx, 3);
    run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x[0] = 1 });
    perp_force_def f = { .kind = i == 2 ? PERP_FORCE_DRAG : PERP_FORCE_SPRING,
                         .a = PERP_WORLD,
                         .b = i == 2 ? PERP_WORLD : 0,
                         .stiffness = 1,
                         .damping = i == 1 ? 0.5 : 0,
                         .length = 1 };
    if (i == 2) f = (perp_force_def){ .kind = PERP_FORCE_DRAG, .linear = 1 };
    run_force(&ctx, m, f);
    run_finish(&ctx, m);
    ok(perp_model_forces_need_velocity(m) == (i > 0), "force %d: of velocity", i);
    perp_model_destroy(m);
  }
}

/* M M^-1 = 1 for a body whose axes are none of symmetry */
static void inertia(void)
{
  static const double I[9] = { 5, 1, -0.5, 1, 4, 0.75, -0.5, 0.75, 3 };
  perp_model *m = model_of(3);
  perp_body_def def = body_def();
  memcpy(def.mass.inertia, I, sizeof I);
  if (perp_model_add_body(&ctx, m, &def, NULL) != PERP_OK || perp_model_finish(&ctx, m) != PERP_OK)
    bail("%s", ctx.msg);
  double worst = 0;
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      double sum = i == j ? -1 : 0;
      for (int k = 0; k < 6; k++) sum += m->masses.M[i + 6 * k] * m->masses.Minv[k + 6 * j];
      worst = fmax(worst, fabs(sum));
    }
  below(worst, 1e-15, "the inverse of a full inertia matrix");
  perp_model_destroy(m);
}

/* ---- what is kept ---- */

static int gone[4], n_gone;

static void kept_forget(void *what)
{
  if (n_gone < 4) gone[n_gone++] = *(int *)what;
}

static void kept_signal(void *user)
{
  (void)user;
  if (n_gone < 4) gone[n_gone++] = 9;
}

static void kept_value(const void *user, double t, double y[3])
{
  (void)user, (void)t;
  y[0] = y[1] = y[2] = 0;
}

static void kept(void)
{
  static int what[] = { 1, 2, 3 };
  perp_model *m = model_of(3);
  const perp_signal_def of = {
    .kind = PERP_SIGNAL_FUNCTION, .of = kept_value, .user = what, .destroy = kept_signal
  };
  perp_signal_ref signal;
  for (int i = 0; i < 2; i++)
    if (perp_model_keep(&ctx, m, &what[i], kept_forget) != PERP_OK) bail("%s", ctx.msg);
  if (perp_model_add_signal(&ctx, m, &of, &signal) != PERP_OK ||
      perp_model_keep(&ctx, m, &what[2], kept_forget) != PERP_OK)
    bail("%s", ctx.msg);
  const perp_body_def def = body_def();
  if (perp_model_add_body(&ctx, m, &def, NULL) != PERP_OK || perp_model_finish(&ctx, m) != PERP_OK)
    bail("%s", ctx.msg);
  ok(n_gone == 0, "what a model keeps lives as long as it does");
  perp_model_destroy(m);
  ok(n_gone == 4 && gone[0] == 9 && gone[1] == 3 && gone[2] == 2 && gone[3] == 1,
     "signals go first, then what is kept, the last one first: %d %d %d %d", gone[0], gone[1],
     gone[2], gone[3]);
}

/* ---- what can touch, what is prescribed ---- */

static void collides(void)
{
  enum { W = PERP_WORLD };
  static const struct {
    int n, body[3], group[3];
    bool want;
    const char *what;
  } all[] = { { 0, { 0 }, { 0 }, false, "nothing touches where there are no shapes" },
              { 1, { 0 }, { 0 }, false, "one shape" },
              { 2, { 0, 1 }, { 0, 0 }, true, "two bodies without groups" },
              { 2, { 0, 0 }, { 0, 0 }, false, "one body" },
              { 2, { W, W }, { 0, 0 }, false, "the world alone" },
              { 2, { 0, 1 }, { 2, 2 }, false, "two bodies of one group" },
              { 2, { 0, 1 }, { 1, 2 }, true, "two groups" },
              { 2, { 0, 1 }, { 2, 0 }, true, "a group and none" },
              { 2, { W, 1 }, { 0, 2 }, true, "the world and a group" },
              { 3, { 0, 1, 0 }, { 2, 2, 0 }, true, "a third shape" },
              { 3, { 0, 1, 1 }, { 2, 2, 2 }, false, "three of one group" } };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    perp_model *m = model_of(3);
    const perp_body_def def = body_def();
    for (int b = 0; b < 2; b++)
      if (perp_model_add_body(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
    for (int k = 0; k < all[i].n; k++) {
      const perp_shape_def shape = {
        .kind = PERP_SHAPE_SPHERE, .body = all[i].body[k], .radius = 1, .group = all[i].group[k]
      };
      run_shape(&ctx, m, shape);
    }
    ok(perp_model_collides(m) == all[i].want, "%s: %s", all[i].what,
       all[i].want ? "can touch" : "cannot");
    perp_model_destroy(m);
  }
}

static int row_one(const void *opts, int dim, int n, unsigned *angles)
{
  (void)opts, (void)dim, (void)n;
  *angles = 0;
  return 1;
}

static void row_still(const void *opts, int dim, int n, const perp_body_state *body, double *C,
                      double *J)
{
  (void)opts, (void)dim, (void)n;
  C[0] = body[0].x[0];
  if (J != NULL) J[0] = 1;
}

static void row_moves(const void *opts, int dim, int n, const perp_body_state *body, double t,
                      double *C, double *J, double *Ct, double *gamma)
{
  row_still(opts, dim, n, body, C, J);
  C[0] -= t * t;
  if (Ct != NULL) Ct[0] = -2 * t;
  if (gamma != NULL) gamma[0] = -2;
}

static void prescribes(void)
{
  static const perp_desc head = { .name = "row",
                                  .summary = "x",
                                  .reference = "tests",
                                  .caps = PERP_JOINT_IN_SPACE | PERP_JOINT_AT_CENTRES };
  const perp_joint_desc still = { .d = head,
                                  .bodies_min = 1,
                                  .bodies_max = 1,
                                  .rows = row_one,
                                  .evaluate = row_still },
                        moves = { .d = head,
                                  .bodies_min = 1,
                                  .bodies_max = 1,
                                  .rows = row_one,
                                  .at_time = row_moves };
  static const char *const what[] = { "nothing", "a row at rest", "a row that depends on time",
                                      "a motion" };
  for (int i = 0; i < 4; i++) {
    perp_model *m = model_of(3);
    const perp_body_def def = body_def();
    const perp_motion_def motion = { .body = 0 };
    perp_joint_def joint;
    perp_status status = perp_model_add_body(&ctx, m, &def, NULL);
    if (status == PERP_OK && (i == 1 || i == 2)) {
      status = perp_joint_define(&ctx, i == 1 ? &still : &moves, NULL, 1, (const int[]){ 0 },
                                 &joint);
      if (status == PERP_OK) status = perp_model_add_joint(&ctx, m, &joint, NULL);
    }
    if (status == PERP_OK && i == 3) status = perp_model_add_motion(&ctx, m, &motion, NULL);
    if (status != PERP_OK || perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
    ok(perp_model_prescribes(m) == (i >= 2), "%s: %s is prescribed", what[i],
       i >= 2 ? "a place" : "nothing");
    if (i == 2) {
      double C, Cdot, gamma, q[7], v[6] = { 0.5 };
      memcpy(q, perp_model_q0(m), sizeof q);
      q[0] = 1;
      perp_model_error(m, 3, q, &C);
      perp_model_rate(m, 3, q, v, &Cdot);
      perp_model_jdotv(m, 3, q, v, &gamma);
      ok(C == 1 - 9 && Cdot == 0.5 - 6 && gamma == -2, "C, Cdot and gamma at t = 3 s: %g, %g, %g",
         C, Cdot, gamma);
    }
    perp_model_destroy(m);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  rng = perp_rng_create(11);
  bodies();
  inertia();
  joints_and_forces();
  finishing();
  for (int dim = 2; dim <= 3; dim++) {
    manifold(dim);
    energy_and_momentum(dim);
  }
  perp_rng_destroy(rng);
  questions();
  kept();
  collides();
  prescribes();
  return tap_done();
}
