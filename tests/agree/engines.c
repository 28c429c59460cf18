/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adapters of engines, each whose library is here, on motions that are known: what they build is
 * the world that they were given, with the signs right, and what they hand back are its states. How
 * good the engines are is not asked here. */
#include "models/collision/pairs.h"
#include "models/models.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;

/* What an engine promises, and how far its arithmetic goes. */
static const struct subject {
  const char *engine, *name; /* with options */
  double order;              /* of a pendulum; 0: its steps are its own */
  double digits;             /* relative error of its numbers */
  double motor;    /* relative error of a motor's speed; NAN: it has none, infinite: of any force */
  double friction; /* relative error of a braking force; 0: 1e-2 */
} subjects[] = {
  { "ode", "ode", 1, 1e-12, 1e-6, 0 },
  { "ode", "ode:solver=step", 1, 1e-12, 1e-6, 0 },
  { "mujoco", "mujoco", 1, 1e-12, NAN, 0.05 },
  { "mujoco", "mujoco:integrator=rk4", 4, 1e-12, NAN, 0.05 },
  { "box2d", "box2d", 1, 1e-5, 1e-4, 0 },
  { "chipmunk", "chipmunk", 1, 1e-12, 1e-6, 0 },
  { "bullet", "bullet", 1, 1e-12, 1e-6, 0.05 },
  { "bullet", "bullet:solver=nncg", 1, 1e-12, 1e-6, 0.2 },
  { "bullet", "bullet:solver=dantzig", 1, 1e-12, 1e-6, 0.05 },
  { "bullet", "bullet:bodies=featherstone,directions=1", 1, 1e-12, 1e-6, 0.05 },
  { "dart", "dart:detector=dart", 1, 1e-12, 1e-6, 0 },
  { "dart", "dart:solver=pgs,detector=primitive", 1, 1e-12, 1e-6, 0 },
  { "simbody", "simbody", 0, 1e-12, INFINITY, 0.02 },
  { "simbody", "simbody:boxes=mesh,resolution=1,stiffness=1e6,thickness=0.01", 0, 1e-12, INFINITY,
    0.02 },
  { "simbody", "simbody:accuracy=0,stiffness=1e5,stop_stiffness=1000", 4, 1e-12, INFINITY, 0.02 },
  { "simbody", "simbody:integrator=verlet,accuracy=0,stiffness=1e5,stop_stiffness=1000", 2, 1e-12,
    INFINITY, 0.02 },
  { "simbody",
    "simbody:integrator=semi-explicit-euler,accuracy=0,stiffness=1e5,stop_stiffness=1000", 1, 1e-12,
    INFINITY, 0.02 },
};

static perp_sim *simulation(const struct subject *s, perp_model *model, double h)
{
  perp_parts parts = { 0 };
  perp_sim *sim;
  if (perp_spec_parse(&ctx, PERP_KIND_engine, s->name, &parts.engine) != PERP_OK)
    bail("%s: %s", s->name, ctx.msg);
  if (perp_sim_create(&ctx, model, &parts, h, &sim) != PERP_OK) bail("%s: %s", s->name, ctx.msg);
  perp_parts_free(&parts);
  return sim;
}

/* At t_end; steps of h. */
static void march(const struct subject *s, perp_model *model, double h, double t_end, double *q,
                  double *v, double *energy_apart)
{
  perp_sim *sim = simulation(s, model, h);
  const double *at, *rate;
  double t = 0, apart = 0, kinetic, potential;
  while (t < t_end - 1e-9) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK || info.reason < 0)
      bail("%s: %s", s->name, info.cause != NULL ? info.cause : ctx.msg);
    perp_sim_state(sim, &t, &at, &rate);
    perp_model_energy(model, t, at, rate, &kinetic, &potential);
    const double told = perp_sim_engine_energy(sim);
    if (!isnan(told)) apart = fmax(apart, fabs(told - kinetic - potential));
  }
  memcpy(q, at, (size_t)perp_model_nq(model) * sizeof *q);
  memcpy(v, rate, (size_t)perp_model_nv(model) * sizeof *v);
  if (energy_apart != NULL) *energy_apart = apart;
  perp_sim_destroy(sim);
}

static perp_model *new_model(int dim, double gravity)
{
  perp_model *m;
  if (perp_model_create(&ctx, dim, &m) != PERP_OK) bail("%s", ctx.msg);
  perp_model_gravity(m, gravity);
  return m;
}

static void add_body(perp_model *m, const perp_body_def *b)
{
  if (perp_model_add_body(&ctx, m, b, NULL) != PERP_OK) bail("%s", ctx.msg);
}

static void finish(perp_model *m)
{
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
}

/* A body of unlike moments, turned, its axes not principal. */
static perp_body_def brick(int dim)
{
  perp_body_def b = { .mass = perp_mass_box(2, 0.3, 0.4, 0.6),
                      .x = { 1, 2, 3 },
                      .v = { 0.5, 0.2, 0.1 } };
  if (dim == 2) {
    b.angle = 0.4;
    b.w[2] = 1.5;
  } else {
    const double q[4] = { 0.8, 0.2, -0.4, 0.4 };
    memcpy(b.quat, q, sizeof q);
    b.mass.inertia[1] = b.mass.inertia[3] = 0.01;
    b.w[0] = 0.3, b.w[1] = 2, b.w[2] = -0.5;
  }
  return b;
}

/* ---- free motion ---- */

static void falls(const struct subject *s, int dim)
{
  const perp_body_def b = brick(dim);
  double error[2], q[7], v[6];
  for (int k = 0; k < 2; k++) {
    perp_model *m = new_model(dim, 9.81);
    const double h = k == 0 ? 0.01 : 0.005, t = 1.0025; /* the last step is shorter */
    add_body(m, &b);
    finish(m);
    march(s, m, h, t, q, v, NULL);
    error[k] = 0;
    for (int i = 0; i < dim; i++) {
      const double exact = b.x[i] + b.v[i] * t - (i == dim - 1 ? 0.5 * 9.81 * t * t : 0);
      error[k] = fmax(error[k], fabs(q[i] - exact));
    }
    near(v[dim - 1], b.v[dim - 1] - 9.81 * t, 0, 20 * s->digits * 10, "%s: speed of free fall",
         s->name);
    perp_model_destroy(m);
  }
  const double least = 100 * s->digits;
  ok(error[0] <= 0.5 * 9.81 * 0.01 * 1.003 + least && error[1] <= 0.5 * error[0] * 1.003 + least,
     "%s: free fall, off by %.2g m in steps of 10 ms, %.2g m in half", s->name, error[0], error[1]);
}

/* Without forces: momentum stays, about the centre too; twice the same. */
static void tumbles(const struct subject *s, int dim)
{
  const perp_body_def b = brick(dim);
  perp_model *m = new_model(dim, 0);
  double P[2][3], L[2][3], q[2][7], v[2][6], apart;
  add_body(m, &b);
  finish(m);
  perp_model_momentum(m, perp_model_q0(m), perp_model_v0(m), P[0], L[0]);
  march(s, m, 1e-4, 0.5, q[0], v[0], &apart);
  march(s, m, 1e-4, 0.5, q[1], v[1], NULL);
  perp_model_momentum(m, q[0], v[0], P[1], L[1]);
  double dP = 0, dL = 0;
  for (int k = 0; k < 3; k++) {
    dP = fmax(dP, fabs(P[1][k] - P[0][k]));
    dL = fmax(dL, fabs(L[1][k] - L[0][k]));
  }
  const size_t nq = (size_t)perp_model_nq(m), nv = (size_t)perp_model_nv(m);
  below(dP, 1e3 * s->digits, "%s: linear momentum of a free body", s->name);
  below(dL, 1e3 * s->digits + (dim == 3 ? 2e-3 : 0), "%s: angular momentum about the origin",
        s->name);
  ok(memcmp(q[0], q[1], nq * sizeof **q) == 0 && memcmp(v[0], v[1], nv * sizeof **v) == 0,
     "%s: the same twice", s->name);
  below(apart, 1e-9, "%s: its energy is perp's", s->name);
  perp_model_destroy(m);
}

/* ---- joints ---- */

static double pendulum(const struct subject *s, int dim, double h, double *energy)
{
  perp_spec spec;
  perp_scene scene;
  if (perp_spec_parse(&ctx, PERP_KIND_scene,
                      dim == 2 ? "pendulum:body=rod" : "pendulum:body=rod,dim=3",
                      &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  double q[7], v[6], exact[7], rate[6], most = 0;
  march(s, scene.model, h, 1, q, v, energy);
  if (scene.truth[0].state(scene.truth[0].user, &ctx, 1, exact, rate) != PERP_OK)
    bail("%s", ctx.msg);
  for (int i = 0; i < dim; i++) most = fmax(most, fabs(q[i] - exact[i]));
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  return most;
}

static void swings(const struct subject *s, int dim)
{
  double energy;
  const double h = s->order > 2 ? 0.02 : 0.004;
  const double coarse = pendulum(s, dim, h, &energy), fine = pendulum(s, dim, h / 2, NULL);
  const double order = log2(coarse / fine);
  ok(order > s->order - 0.35 && order < s->order + 0.6,
     "%s: a pendulum converges with order %.2f (%g), %.2g m at %g ms", s->name, order, s->order,
     fine, 500 * h);
  below(energy, 1e-9, "%s: energy of a pendulum as perp has it", s->name);
}

/* A motor on a hinge to the world, axis as given, which turns body b, or whose body is the first
 * one of the joint. */
static void motor(const struct subject *s, int dim, bool first, bool slides)
{
  perp_model *m = new_model(dim, 0);
  perp_body_def b = { .mass = perp_mass_box(1, 0.2, 0.2, 0.2) };
  const double axis[3] = { dim == 2 ? 0.6 : 0, 0.8, dim == 2 ? 0 : 0.6 };
  perp_joint_def joint = { .kind = slides ? PERP_JOINT_SLIDER : PERP_JOINT_HINGE,
                           .a = first ? 0 : PERP_WORLD,
                           .b = first ? PERP_WORLD : 0 };
  memcpy(joint.axis_a, axis, sizeof axis);
  memcpy(joint.axis_b, axis, sizeof axis);
  add_body(m, &b);
  const bool bounded = !isinf(s->motor);
  perp_drive_def drive = { .lower = bounded ? -0.5 : (double)-INFINITY,
                           .upper = bounded ? 0.25 : (double)INFINITY,
                           .velocity = 0.5,
                           .max_force = bounded ? 100 : (double)INFINITY };
  if (perp_model_add_joint(&ctx, m, &joint, NULL) != PERP_OK ||
      perp_model_add_drive(&ctx, m, &drive, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  finish(m);
  double q[7], v[6];
  march(s, m, 1e-3, 0.3, q, v, NULL);
  const double going = perp_model_drive_coordinate(m, q, 0);
  near(going, 0.15, 2e-3, 0, "%s: a %s with the %s body goes where its motor drives it", s->name,
       slides ? "slider" : "hinge", first ? "first" : "second");
  if (bounded) {
    march(s, m, 1e-3, 1.5, q, v, NULL);
    near(perp_model_drive_coordinate(m, q, 0), 0.25, 0.02, 0, "%s: and stops at its limit",
         s->name);
  }
  perp_model_destroy(m);
}

/* Thrown against its lower limit, without a motor. */
static void limit(const struct subject *s, int dim, bool slides)
{
  perp_model *m = new_model(dim, 0);
  perp_body_def b = { .mass = perp_mass_box(1, 0.2, 0.2, 0.2) };
  if (slides)
    b.v[0] = -1;
  else
    b.w[2] = -1;
  perp_joint_def joint = { .kind = slides ? PERP_JOINT_SLIDER : PERP_JOINT_HINGE,
                           .a = PERP_WORLD,
                           .b = 0 };
  joint.axis_a[slides ? 0 : 2] = joint.axis_b[slides ? 0 : 2] = 1;
  add_body(m, &b);
  perp_drive_def drive = { .zero = 0.1, .lower = -0.15, .upper = INFINITY };
  if (dim == 2 && !slides) joint.axis_a[0] = joint.axis_b[0] = 1;
  if (perp_model_add_joint(&ctx, m, &joint, NULL) != PERP_OK ||
      perp_model_add_drive(&ctx, m, &drive, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  finish(m);
  double q[7], v[6];
  march(s, m, 1e-3, 0.2, q, v, NULL);
  near(perp_model_drive_coordinate(m, q, 0), -0.1, 2e-3, 0, "%s: a %s goes on its way", s->name,
       slides ? "slider" : "hinge");
  march(s, m, 1e-3, 1.5, q, v, NULL);
  const double at = perp_model_drive_coordinate(m, q, 0);
  ok(at > -0.17 && at < 1.6, "%s: and its lower limit holds it, or throws it back: %.3g", s->name,
     at);
  perp_model_destroy(m);
}

/* A body with another one on a joint, both in motion: their momenta stay, and a simulation that
 * starts again in the middle ends where one does that goes on. */
static void carries(const struct subject *s, int dim, perp_joint_kind kind)
{
  static const char *const names[] = {
    [PERP_JOINT_BALL] = "ball", [PERP_JOINT_HINGE] = "hinge", [PERP_JOINT_SLIDER] = "slider"
  };
  const double x[3] = { 0.5 }, axis[3] = { 0.6, dim == 2 ? 0.8 : 0, dim == 2 ? 0 : 0.8 }, rate = 2;
  perp_model *m = new_model(dim, 0);
  perp_body_def root = { .mass = perp_mass_box(2, 0.3, 0.4, 0.6), .v = { 0.1, 0.2 }, .w[2] = 1 },
                child = { .mass = perp_mass_box(3, 0.3, 0.4, 0.6), .x = { 0.5 } };
  perp_joint_def joint = { .kind = kind, .a = 0, .b = 1, .anchor_a = { 0.5 } };
  if (dim == 3) {
    root.w[0] = 0.5, root.w[1] = -0.3;
    child.mass.inertia[1] = child.mass.inertia[3] = 0.01;
    child.mass.inertia[2] = child.mass.inertia[6] = -0.02;
    child.mass.inertia[5] = child.mass.inertia[7] = 0.03;
  }
  perp_cross(root.w, x, child.v);
  for (int k = 0; k < 3; k++) {
    joint.axis_a[k] = joint.axis_b[k] = axis[k];
    child.v[k] += root.v[k] + (kind == PERP_JOINT_SLIDER ? rate * axis[k] : 0);
    child.w[k] = root.w[k] + (kind == PERP_JOINT_SLIDER || dim == 2 ? 0 : rate * axis[k]);
  }
  if (dim == 2 && kind != PERP_JOINT_SLIDER) child.w[2] += rate;
  add_body(m, &root);
  add_body(m, &child);
  if (perp_model_add_joint(&ctx, m, &joint, NULL) != PERP_OK) bail("%s", ctx.msg);
  finish(m);
  double P[2][3], L[2][3], q[2][14], v[2][12], apart = 0, changed = 0, energy;
  march(s, m, 5e-4, 0.2, q[0], v[0], &energy);
  perp_model_momentum(m, perp_model_q0(m), perp_model_v0(m), P[0], L[0]);
  perp_model_momentum(m, q[0], v[0], P[1], L[1]);
  for (int k = 0; k < 3; k++)
    changed = fmax(changed, fmax(fabs(P[1][k] - P[0][k]), fabs(L[1][k] - L[0][k])));
  below(changed, 0.002, "%s: momenta of two bodies on a %s", s->name, names[kind]);
  /* MuJoCo finds principal axes of its own, which are that good */
  below(energy, 1e-7, "%s: their energy is perp's", s->name);
  march(s, m, 5e-4, 0.1, q[1], v[1], NULL);
  perp_sim *sim = simulation(s, m, 5e-4);
  const double *at, *speed;
  double t = 0.1;
  if (perp_sim_restart(&ctx, sim, t, q[1], v[1]) != PERP_OK) bail("%s", ctx.msg);
  while (t < 0.2 - 1e-9) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, 0.2, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &at, &speed);
  }
  for (int i = 0; i < perp_model_nq(m); i++) apart = fmax(apart, fabs(at[i] - q[0][i]));
  below(apart, 1e-3, "%s: the same from the middle", s->name);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* A constant force at the centre of a body that is free, or that a slider holds. */
static void pushed(const struct subject *s, int dim, bool slides)
{
  perp_model *m = new_model(dim, 0);
  perp_body_def b = { .mass = perp_mass_box(2, 0.2, 0.2, 0.2) };
  perp_joint_def joint = { .kind = PERP_JOINT_SLIDER, .a = PERP_WORLD, .b = 0, .axis_a = { 1 } };
  perp_force_def force = { .kind = PERP_FORCE_POINT, .a = 0, .b = PERP_WORLD, .value = { 2 } },
                 other = { .kind = PERP_FORCE_POINT, .a = 0, .b = PERP_WORLD, .value = { 1 } };
  joint.axis_b[0] = 1;
  add_body(m, &b);
  if (perp_model_add_force(&ctx, m, &force) != PERP_OK ||
      perp_model_add_force(&ctx, m, &other) != PERP_OK ||
      (slides && perp_model_add_joint(&ctx, m, &joint, NULL) != PERP_OK))
    bail("%s", ctx.msg);
  finish(m);
  double q[7], v[6];
  march(s, m, 1e-3, 1, q, v, NULL);
  near(v[0], 1.5, 0, 1e4 * s->digits, "%s: two constant forces on a body%s", s->name,
       slides ? " of a slider" : "");
  perp_model_destroy(m);
}

/* ---- contact ---- */

static void add_shape(perp_model *m, perp_shape_def shape, double mu, double e)
{
  shape.surface = (perp_surface){ .mu = mu, .mu_dynamic = NAN, .restitution = e };
  if (perp_model_add_shape(&ctx, m, &shape, NULL) != PERP_OK) bail("%s", ctx.msg);
}

/* Two spheres of unlike masses meet head on, with e = 0.5 where the engine has restitution. */
static void collide(const struct subject *s, int dim, bool rebounds)
{
  perp_model *m = new_model(dim, 0);
  const double mass[2] = { 1, 2.5 }, speed[2] = { 3, -1 }, e = rebounds ? 0.5 : 0;
  for (int k = 0; k < 2; k++) {
    perp_body_def b = { .mass = perp_mass_sphere(mass[k], 0.1),
                        .x = { k == 0 ? -0.3 : 0.3 },
                        .v = { speed[k] } };
    add_body(m, &b);
    add_shape(m, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = k, .radius = 0.1 }, 0.5, e);
  }
  finish(m);
  double q[14], v[12];
  march(s, m, 1e-3, 0.5, q, v, NULL);
  const int nv = dim == 3 ? 6 : 3;
  near(mass[0] * v[0] + mass[1] * v[nv], 0.5, 1e3 * s->digits, 0, "%s: momentum of a collision",
       s->name);
  if (rebounds) near(v[nv] - v[0], 2, 0, 0.02, "%s: e = 0.5", s->name);
  perp_model_destroy(m);
}

/* A shape whose frame is turned in its body falls: it meets the floor when its lowest point does,
 * after 0.1 s. */
static void lands(const struct subject *s, int dim, perp_shape_kind kind)
{
  static const double corners[4][3] = { { 0.4 }, { 0, 0.3 }, { -0.2, -0.2, -0.1 }, { 0, 0, 0.3 } };
  perp_model *m = new_model(dim, 0);
  perp_body_def b = { .mass = perp_mass_box(1, 0.4, 0.4, 0.4), .x = { 0.1, 1, 1 }, .angle = 0.3 };
  perp_shape_def shape = { .kind = kind,
                           .radius = 0.1,
                           .length = 0.8,
                           .half = { 0.3, 0.2, 0.1 },
                           .x = { 0.05, -0.02 },
                           .quat = { 0.8, 0.2, -0.4, 0.4 },
                           .angle = 0.4 };
  double q[7], v[6], flat[8], *to = flat;
  for (int i = 0; i < 4 && dim == 2; i++) *to++ = corners[i][0], *to++ = corners[i][1];
  shape.vertices = dim == 2 ? flat : corners[0];
  shape.n_vertices = dim == 2 ? 3 : 4;
  for (int fast = 0; fast < 2; fast++) { /* first to see how high it is */
    add_body(m, &b);
    add_shape(m, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD }, 0, 0);
    add_shape(m, shape, 0, 0);
    finish(m);
    if (fast) break;
    perp_pose pose, world = { .R = { 1, 0, 0, 1 } };
    if (dim == 3) world.R[3] = 0, world.R[4] = world.R[8] = 1;
    perp_pose_of(dim, perp_model_q0(m), &pose);
    b.v[dim - 1] = -perp_shape_distance(m, 0, &world, 1, &pose, NULL, NULL, NULL) / 0.1;
    perp_model_destroy(m);
    m = new_model(dim, 0);
  }
  march(s, m, 1e-3, 0.097, q, v, NULL);
  near(v[dim - 1], b.v[dim - 1], 0, 1e-6, "%s: a shape of kind %d falls", s->name, (int)kind);
  march(s, m, 1e-3, 0.107, q, v, NULL);
  ok(v[dim - 1] > 0.99 * b.v[dim - 1], "%s: and lands when its lowest point does (%g, %g)", s->name,
     v[dim - 1], b.v[dim - 1]);
  perp_model_destroy(m);
}

/* A ball or cube strikes one of the world, in the first step: its contact impulses are what its
 * momentum changes by, whichever shape is the first. */
static void strikes(const struct subject *s, int dim, bool ball, bool world_ball, bool world_first)
{
  perp_model *m = new_model(dim, 0);
  const perp_body_def b = { .mass = perp_mass_box(2, 0.4, 0.4, 0.4), .x = { 0.3999 }, .v = { -2 } };
  const double half[3] = { 0.2, 0.2, 0.2 };
  add_body(m, &b);
  for (int k = 0; k < 2; k++) {
    const bool world = (k == 0) == world_first;
    perp_shape_def shape = { .kind = (world ? world_ball : ball) ? PERP_SHAPE_SPHERE
                                                                 : PERP_SHAPE_BOX,
                             .body = world ? PERP_WORLD : 0,
                             .radius = 0.2 };
    memcpy(shape.half, half, sizeof half);
    add_shape(m, shape, 0, 0);
  }
  finish(m);
  perp_sim *sim = simulation(s, m, 1e-3);
  const double *q, *v;
  double t = 0, sum = 0;
  while (t < 0.2) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, 0.3, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
    for (int c = 0; c < info.n_contacts; c++)
      sum += (info.contacts[c].body[0] == PERP_WORLD ? 1 : -1) * info.impulse[3 * c];
    perp_sim_state(sim, &t, &q, &v);
  }
  near(sum, 2 * (v[0] + 2), 0, 0.05, "%s: impulses of an impact (%d, %d, %d)", s->name, ball,
       world_ball, world_first);
  ok(v[0] > -0.1 && perp_sim_contacts(sim)->contacts > 0, "%s: which stops it", s->name);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* A cube that slides on a floor, then rests: way of friction, and the weight as the sum of contact
 * impulses. */
static void slides(const struct subject *s, int dim)
{
  perp_model *m = new_model(dim, 10);
  perp_body_def b = { .mass = perp_mass_box(2, 0.4, 0.4, 0.4), .v = { 2 } };
  b.x[dim - 1] = 0.2;
  add_body(m, &b);
  add_shape(m, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD }, 0.2, 0);
  add_shape(m, (perp_shape_def){ .kind = PERP_SHAPE_BOX, .body = 0, .half = { 0.2, 0.2, 0.2 } },
            0.8, 0);
  finish(m);
  double q[7], v[6], t, sum = 0, along = 0;
  const double part = s->friction > 0 ? s->friction : 0.01;
  march(s, m, 1e-3, 0.25, q, v, NULL); /* mu = sqrt(0.2 0.8) = 0.4 */
  near(v[0], 1, 0, part, "%s: friction of the geometric mean", s->name);
  perp_sim *sim = simulation(s, m, 1e-3);
  const double *at, *rate;
  for (int k = 0; k < 1000; k++) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, 10, &info) != PERP_OK || info.reason < 0)
      bail("%s: %s", s->name, ctx.msg);
    perp_sim_state(sim, &t, &at, &rate);
    for (int c = 0; k >= 900 && c < info.n_contacts && info.impulse != NULL; c++)
      sum += (info.contacts[c].body[0] == PERP_WORLD ? 1 : -1) * info.impulse[3 * c + dim - 1];
    for (int c = 0; k < 200 && c < info.n_contacts && info.impulse != NULL; c++)
      along += (info.contacts[c].body[0] == PERP_WORLD ? 1 : -1) * info.impulse[3 * c];
  }
  near(sum / 0.1, 20, 0, 0.02, "%s: contact impulses carry the weight", s->name);
  near(along / 0.2, -8, 0, 2 * part, "%s: and brake", s->name);
  below(fabs(rate[0]), 0.01, "%s: it rests", s->name);
  near(at[0], 0.5, fmax(0.02, part / 2), 0, "%s: where it should", s->name);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* A cube slides on a floor whose pair of materials has a friction of its own, unlike sqrt(0.2 0.8),
 * and restitution e. */
static perp_model *paired(double e)
{
  perp_model *m = new_model(3, 10);
  const perp_body_def b = { .mass = perp_mass_box(2, 0.4, 0.4, 0.4),
                            .x = { 0, 0, 0.2 },
                            .v = { 2 } };
  const perp_surface pair = {
    .mu = 0.3, .mu_dynamic = NAN, .restitution = e, .torsion = NAN, .rolling = NAN
  };
  add_body(m, &b);
  perp_shape_def floor = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD };
  perp_shape_def box = { .kind = PERP_SHAPE_BOX, .body = 0, .half = { 0.2, 0.2, 0.2 } };
  floor.surface = (perp_surface){ .mu = 0.2, .mu_dynamic = NAN, .material = 1 };
  box.surface = (perp_surface){ .mu = 0.8, .mu_dynamic = NAN, .material = 2 };
  if (perp_model_add_shape(&ctx, m, &floor, NULL) != PERP_OK ||
      perp_model_add_shape(&ctx, m, &box, NULL) != PERP_OK ||
      perp_model_add_pair(&ctx, m, 1, 2, &pair) != PERP_OK)
    bail("%s", ctx.msg);
  finish(m);
  return m;
}

/* Pairs of materials are refused for restitution where they have one, and nowhere else. */
static void pairs(void)
{
  static const char *const names[] = { "mujoco", "simbody" };
  static const double es[] = { NAN, 0, 0.5 };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (size_t k = 0; k < sizeof es / sizeof *es; k++) {
      const perp_engine_desc *d = (const perp_engine_desc *)perp_find(&ctx, PERP_KIND_engine,
                                                                      names[i]);
      perp_model *m = paired(es[k]);
      const perp_status status = perp_engine_serves(&ctx, d, m);
      if (es[k] > 0)
        ok(status == PERP_ERR_UNSUPPORTED && strstr(ctx.msg, "restitution") != NULL,
           "%s: a pair with restitution is refused as such", names[i]);
      else if (d->features & PERP_ENGINE_PAIRS)
        ok(status == PERP_OK, "%s: a pair with restitution %g is served", names[i], es[k]);
      else
        ok(status == PERP_ERR_UNSUPPORTED && strstr(ctx.msg, "friction of pairs") != NULL,
           "%s: a pair with restitution %g is refused for its friction", names[i], es[k]);
      perp_model_destroy(m);
    }
}

/* ---- all ---- */

static void run(const struct subject *s)
{
  const perp_engine_desc *d = (const perp_engine_desc *)perp_find(&ctx, PERP_KIND_engine,
                                                                  s->engine);
  const perp_engine_calls *calls;
  if (d == NULL) bail("no engine %s", s->engine);
  const perp_status status = perp_engine_load(&ctx, d, &calls);
  if (status != PERP_OK) {
    ok(status == PERP_ERR_EXTERNAL && strstr(ctx.msg, d->package) != NULL,
       "%s: its package is named", s->name);
    skip("not here", "%s", s->name);
    return;
  }
  const int dim = d->dims & 1u << 3 ? 3 : 2;
  falls(s, dim);
  tumbles(s, dim);
  if (s->order > 0) swings(s, dim);
  if (d->joints & 1u << PERP_JOINT_SLIDER && d->features & PERP_ENGINE_LIMITS) limit(s, dim, true);
  if (d->features & PERP_ENGINE_LIMITS) limit(s, dim, false);
  carries(s, dim, PERP_JOINT_BALL);
  carries(s, dim, PERP_JOINT_HINGE);
  if (d->joints & 1u << PERP_JOINT_SLIDER) carries(s, dim, PERP_JOINT_SLIDER);
  for (int first = 0; first < 2 && !isnan(s->motor); first++) {
    motor(s, dim, first, false);
    if (d->joints & 1u << PERP_JOINT_SLIDER) motor(s, dim, first, true);
  }
  if (d->features & PERP_ENGINE_FORCES) pushed(s, dim, false);
  if (d->features & PERP_ENGINE_FORCES && d->joints & 1u << PERP_JOINT_SLIDER) pushed(s, dim, true);
  collide(s, dim, d->features & PERP_ENGINE_RESTITUTION);
  slides(s, dim);
  for (int way = 0; way < 8 && !isinf(s->motor); way++) strikes(s, dim, way & 1, way & 2, way & 4);
  for (perp_shape_kind kind = 0; d->features & PERP_ENGINE_COMPOUNDS && kind < 32; kind++)
    if (d->shapes & 1u << kind && kind != PERP_SHAPE_SPHERE && kind != PERP_SHAPE_PLANE &&
        (kind == PERP_SHAPE_BOX || strstr(s->name, "detector=dart") == NULL))
      lands(s, dim, kind);
  if (dim == 3 && d->features & PERP_ENGINE_PAIRS) {
    perp_model *m = paired(NAN);
    double q[7], v[6];
    march(s, m, 1e-3, 0.25, q, v, NULL);
    near(v[0], 2 - 0.3 * 10 * 0.25, 0, s->friction > 0 ? s->friction : 0.01,
         "%s: friction of a pair of materials", s->name);
    perp_model_destroy(m);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) run(&subjects[i]);
  pairs();
  return tap_done();
}
