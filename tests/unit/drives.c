/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The coordinates of drives: x, J and Jdot v of every joint and axis along a motion that is put
 * together from known x(t), on moving bodies and on the world. */
#include "models/contact/step/drives.h"
#include "models/multibody/model_private.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

/* The coordinates of a joint over time: turned about axis_a, about axis_b, moved along axis_a; and
 * derivatives. */
enum { TURN_A, TURN_B, MOVE, COORDINATES };
static double coordinate(int which, double t, int derivative)
{
  static const double rate[] = { 1.3, -2.1, 0.9 }, size[] = { 0.8, 0.7, 0.4 };
  const double w = rate[which], s = size[which];
  return derivative == 0   ? s * sin(w * t)
         : derivative == 1 ? s * w * cos(w * t)
                           : -s * w * w * sin(w * t);
}

static void multiply(const double A[9], const double B[9], double AB[9])
{
  double out[9];
  for (int j = 0; j < 3; j++) perp_turn(3, A, B + 3 * j, out + 3 * j);
  memcpy(AB, out, sizeof out);
}

static void rotation(const double axis[3], double angle, double R[9])
{
  const double half = 0.5 * angle, length = sqrt(perp_dot(3, axis, axis));
  const double q[4] = { cos(half), sin(half) * axis[0] / length, sin(half) * axis[1] / length,
                        sin(half) * axis[2] / length };
  perp_quat_matrix(q, R);
}

/* from a matrix of an angle below pi */
static void quaternion(const double R[9], double q[4])
{
  q[0] = 0.5 * sqrt(1 + R[0] + R[4] + R[8]);
  q[1] = (R[5] - R[7]) / (4 * q[0]);
  q[2] = (R[6] - R[2]) / (4 * q[0]);
  q[3] = (R[1] - R[3]) / (4 * q[0]);
}

typedef struct motion {
  perp_joint_def def;
  bool turns[2], moves, nods; /* nods: MOVE is a turn about axis_a x axis_b, between the others */
  bool on_world;
  double rel[9]; /* axes of b in a at the start */
} motion;

/* q [14] of both bodies at t (of b alone where a is the world) */
static void place(const motion *m, double t, double q[14])
{
  double Ra[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, xa[3] = { 0 }, A[9], B[9], R[9];
  const double axis[3] = { 0.3, -0.5, 0.8 };
  if (!m->on_world) {
    rotation(axis, 0.4 + 0.9 * t + 0.3 * t * t, Ra);
    xa[0] = 0.3 * t, xa[1] = 1 - t * t, xa[2] = sin(t);
  }
  rotation(m->def.axis_a, m->turns[0] ? coordinate(TURN_A, t, 0) : 0, A);
  rotation(m->def.axis_b, m->turns[1] ? coordinate(TURN_B, t, 0) : 0, B);
  multiply(Ra, A, R);
  if (m->nods) {
    double b[3], node[3], N[9];
    perp_turn(3, m->rel, m->def.axis_b, b);
    perp_cross(m->def.axis_a, b, node);
    rotation(node, coordinate(MOVE, t, 0), N);
    multiply(R, N, R);
  }
  multiply(R, m->rel, R);
  multiply(R, B, R);
  double pa[3], pb[3], n[3], *qb = m->on_world ? q : q + 7;
  const double length = sqrt(perp_dot(3, m->def.axis_a, m->def.axis_a));
  perp_turn(3, Ra, m->def.anchor_a, pa);
  perp_turn(3, R, m->def.anchor_b, pb);
  perp_turn(3, Ra, m->def.axis_a, n);
  const double s = m->moves ? coordinate(MOVE, t, 0) : 0;
  for (int i = 0; i < 3; i++) qb[i] = xa[i] + pa[i] + s * n[i] / length - pb[i];
  quaternion(R, qb + 3);
  if (m->on_world) return;
  memcpy(q, xa, sizeof xa);
  quaternion(Ra, q + 3);
}

/* v or, of those, a: central differences of order 4 */
static void velocity(const perp_model *model, const motion *m, double t, double v[12])
{
  const double d = 1e-3;
  double q[4][14], near_[12], far_[12];
  for (int i = 0; i < 4; i++) place(m, t + d * (double[]){ -2, -1, 1, 2 }[i], q[i]);
  perp_model_difference(model, q[1], q[2], near_);
  perp_model_difference(model, q[0], q[3], far_);
  for (int i = 0; i < model->nv; i++) v[i] = (8 * near_[i] - far_[i]) / (12 * d);
}

static void acceleration(const perp_model *model, const motion *m, double t, double a[12])
{
  const double d = 1e-2;
  double v[4][12];
  for (int i = 0; i < 4; i++) velocity(model, m, t + d * (double[]){ -2, -1, 1, 2 }[i], v[i]);
  for (int i = 0; i < model->nv; i++)
    a[i] = (v[0][i] - 8 * v[1][i] + 8 * v[2][i] - v[3][i]) / (12 * d);
}

static double product(const perp_model *model, const perp_drive *k, const double Ja[6],
                      const double Jb[6], const double *v)
{
  double sum = 0;
  for (int i = 0; i < 6 && k->a >= 0; i++) sum += Ja[i] * v[6 * k->a + i];
  for (int i = 0; i < 6 && k->b >= 0; i++) sum += Jb[i] * v[6 * k->b + i];
  (void)model;
  return sum;
}

static void check(motion *m, perp_drive_axis axis, int which, const char *name)
{
  perp_model *model;
  const double t0 = 0.2;
  double q[14], v[12], a[12];
  if (perp_model_create(&ctx, 3, &model) != PERP_OK) bail("%s", ctx.msg);
  m->def.a = m->on_world ? PERP_WORLD : 0;
  m->def.b = m->on_world ? 0 : 1;
  place(m, t0, q);
  for (int b = 0; b <= m->def.b; b++) {
    perp_body_def body = { .mass = perp_mass_box(1, 0.2, 0.3, 0.5) };
    memcpy(body.x, q + 7 * b, sizeof body.x);
    memcpy(body.quat, q + 7 * b + 3, sizeof body.quat);
    if (perp_model_add_body(&ctx, model, &body, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  perp_drive_def drive = { .axis = axis, .lower = -HUGE_VAL, .upper = HUGE_VAL };
  drive.zero = coordinate(which, t0, 0);
  if (perp_model_add_joint(&ctx, model, &m->def, NULL) != PERP_OK ||
      perp_model_add_drive(&ctx, model, &drive, NULL) != PERP_OK ||
      perp_model_finish(&ctx, model) != PERP_OK)
    bail("%s", ctx.msg);
  double worst[3] = { 0 };
  for (int i = 0; i < 8; i++) {
    const double t = t0 + 0.3 * i;
    double Ja[6], Jb[6];
    perp_eval e = model->eval;
    place(m, t, q);
    velocity(model, m, t, v);
    acceleration(model, m, t, a);
    perp_eval_poses(&e, model, 0, q);
    const double x = perp_drive_row(model, &e, 0, Ja, Jb);
    const perp_drive *k = &model->drive[0];
    worst[0] = fmax(worst[0], fabs(x - coordinate(which, t, 0)));
    worst[1] = fmax(worst[1], fabs(product(model, k, Ja, Jb, v) - coordinate(which, t, 1)));
    worst[2] = fmax(worst[2], fabs(product(model, k, Ja, Jb, a) + perp_drive_bias(model, &e, 0, v) -
                                   coordinate(which, t, 2)));
  }
  const char *where = m->on_world ? "on the world" : "between two bodies";
  below(worst[0], 1e-12, "%s %s: x", name, where);
  below(worst[1], 1e-9, "%s %s: J v = xdot", name, where);
  below(worst[2], 1e-6, "%s %s: J a + Jdot v = xddot", name, where);
  perp_model_destroy(model);
}

/* ---- anywhere, not only where the joint holds ---- */

static double row_times(const perp_model *model, const double *q, const double *v, double *x)
{
  double Ja[6], Jb[6], sum = 0;
  perp_eval e = model->eval;
  perp_eval_poses(&e, model, 0, q);
  *x = perp_drive_row(model, &e, 0, Ja, Jb);
  const perp_drive *k = &model->drive[0];
  for (int i = 0; i < model->nvb; i++) {
    if (k->a >= 0) sum += Ja[i] * v[model->nvb * k->a + i];
    if (k->b >= 0) sum += Jb[i] * v[model->nvb * k->b + i];
  }
  return sum;
}

/* x by hand where it is a length: along the axis of a between the anchors, from the value at the
 * start */
static double length_along(const perp_model *model, const double *q, const perp_joint_def *j)
{
  double pa[3], pb[3], tip[3], base[3], sum = 0, l = 0;
  perp_model_point(model, q, j->a, j->anchor_a, pa);
  perp_model_point(model, q, j->b, j->anchor_b, pb);
  perp_model_point(model, q, j->a, j->axis_a, tip);
  perp_model_point(model, q, j->a, (const double[3]){ 0 }, base);
  for (int i = 0; i < model->dim; i++) {
    sum += (tip[i] - base[i]) * (pb[i] - pa[i]);
    l += j->axis_a[i] * j->axis_a[i];
  }
  return sum / sqrt(l);
}

/* A state far from the joint, moved by v: a length, and each angle of the plane, has its exact
 * rates there too.  In space rates of an angle are those of the joint that holds, and are checked
 * above. */
static void off_joint(int d, perp_joint_kind kind, perp_drive_axis axis, int a, int b, bool slides,
                      perp_rng *rng)
{
  double worst[4] = { 0 };
  const double h = 1e-3;
  for (int trial = 0; trial < 4; trial++) {
    perp_model *model;
    if (perp_model_create(&ctx, d, &model) != PERP_OK) bail("%s", ctx.msg);
    for (int i = 0; i < 2; i++) {
      perp_body_def body = { .mass = perp_mass_box(1, 0.2, 0.3, 0.5) };
      for (int k = 0; k < d; k++) body.x[k] = perp_rng_normal(rng);
      for (int k = 0; k < 4; k++) body.quat[k] = perp_rng_normal(rng);
      body.angle = perp_rng_normal(rng);
      if (perp_model_add_body(&ctx, model, &body, NULL) != PERP_OK) bail("%s", ctx.msg);
    }
    perp_joint_def j = { .kind = kind, .a = a, .b = b, .start = PERP_START_VIOLATES };
    for (int k = 0; k < d; k++) {
      j.anchor_a[k] = perp_rng_normal(rng), j.anchor_b[k] = perp_rng_normal(rng);
      j.axis_a[k] = perp_rng_normal(rng), j.axis_b[k] = perp_rng_normal(rng);
    }
    perp_drive_def drive = { .axis = axis, .lower = -HUGE_VAL, .upper = HUGE_VAL, .zero = 0.3 };
    if (perp_model_add_joint(&ctx, model, &j, NULL) != PERP_OK ||
        perp_model_add_drive(&ctx, model, &drive, NULL) != PERP_OK ||
        perp_model_finish(&ctx, model) != PERP_OK)
      bail("%s", ctx.msg);
    double dq[12], v[12], q[14], near_[14], x, xs[4], rates[4], step[12];
    for (int i = 0; i < model->nv; i++)
      dq[i] = 0.4 * perp_rng_normal(rng), v[i] = perp_rng_normal(rng);
    perp_model_retract(model, model->q0, dq, q);
    const double rate = row_times(model, q, v, &x);
    perp_eval e = model->eval;
    perp_eval_poses(&e, model, 0, q);
    const double bias = perp_drive_bias(model, &e, 0, v);
    for (int k = 0; k < 4; k++) {
      const double s = h * (double[]){ -2, -1, 1, 2 }[k];
      for (int i = 0; i < model->nv; i++) step[i] = s * v[i];
      perp_model_retract(model, q, step, near_);
      rates[k] = row_times(model, near_, v, &xs[k]);
      /* an angle may go on at the other end of its circle */
      if (!slides) xs[k] = x + remainder(xs[k] - x, 2 * M_PI);
    }
    worst[0] = fmax(worst[0], fabs(x - perp_model_drive_coordinate(model, q, 0)));
    worst[1] = fmax(worst[1], fabs((xs[0] - 8 * xs[1] + 8 * xs[2] - xs[3]) / (12 * h) - rate));
    worst[2] = fmax(worst[2],
                    fabs((rates[0] - 8 * rates[1] + 8 * rates[2] - rates[3]) / (12 * h) - bias));
    const double by_hand = slides ? length_along(model, q, &j) - length_along(model, model->q0, &j)
                                  : (b < 0 ? 0 : dq[3 * b + 2]) - (a < 0 ? 0 : dq[3 * a + 2]);
    const double off = x - 0.3 - by_hand;
    worst[3] = fmax(worst[3], fabs(slides ? off : remainder(off, 2 * M_PI)));
    perp_model_destroy(model);
  }
  const char *name = perp_joint_kind_name(kind);
  below(worst[0], 1e-14, "dim %d, %s of %d and %d off the joint: the coordinate", d, name, a, b);
  below(worst[3], 1e-13, "  by hand");
  below(worst[1], 1e-8, "  its rate");
  below(worst[2], 1e-8, "  Jdot v");
}

static void anywhere(void)
{
  static const struct {
    perp_joint_kind kind;
    perp_drive_axis axis;
    bool slides, plane, space;
  } kinds[] = { { PERP_JOINT_SLIDER, PERP_DRIVE_A, true, true, true },
                { PERP_JOINT_SLIDER, PERP_DRIVE_ALONG, true, true, true },
                { PERP_JOINT_LINE, PERP_DRIVE_A, true, true, true },
                { PERP_JOINT_LINE, PERP_DRIVE_ALONG, true, true, true },
                { PERP_JOINT_WHEEL, PERP_DRIVE_ALONG, true, false, true },
                { PERP_JOINT_HINGE, PERP_DRIVE_A, false, true, false },
                { PERP_JOINT_BALL, PERP_DRIVE_A, false, true, false } };
  static const int ends[][2] = { { 0, 1 }, { 1, 0 }, { PERP_WORLD, 1 }, { 0, PERP_WORLD } };
  perp_rng *rng = perp_rng_create(8);
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (int d = 2; d <= 3; d++)
      for (int e = 0; e < 4 && (d == 2 ? kinds[k].plane : kinds[k].space); e++)
        off_joint(d, kinds[k].kind, kinds[k].axis, ends[e][0], ends[e][1], kinds[k].slides, rng);
  perp_rng_destroy(rng);
}

/* What a motor asks of the solver: bounds, free rows, or nothing where it is a force. */
static void needs(void)
{
  static const struct {
    double stiffness, damping, max_force;
    unsigned velocity, acceleration;
    const char *what;
  } known[] = { { 0, 0, 5, PERP_LCP_BOX, PERP_LCP_BOX, "a motor of finite strength" },
                { 0, 0, HUGE_VAL, PERP_LCP_FREE, PERP_LCP_FREE, "a motor of any strength" },
                { 3, 0, 5, PERP_LCP_BOX, 0, "a spring" },
                { 0, 3, 5, PERP_LCP_BOX, 0, "a damper" },
                { 3, 3, HUGE_VAL, PERP_LCP_FREE, 0, "both" },
                { 0, 0, 0, 0, 0, "limits only" } };
  static const unsigned caps[] = { 0, PERP_LCP_BOX, PERP_LCP_FREE, PERP_LCP_BOX | PERP_LCP_FREE };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    perp_drive_def def = { .stiffness = known[k].stiffness,
                           .damping = known[k].damping,
                           .max_force = known[k].max_force,
                           .lower = -1,
                           .upper = 1 };
    const perp_model model = { .n_drives = 1, .drive_def = &def };
    int wrong = 0;
    for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
      const perp_desc lcp = { .name = "some", .caps = caps[c] };
      wrong += (perp_drives_check(&ctx, &model, PERP_LEVEL_VELOCITY, &lcp) == PERP_OK) !=
               ((known[k].velocity & ~caps[c]) == 0);
      wrong += (perp_drives_check(&ctx, &model, PERP_LEVEL_ACCELERATION, &lcp) == PERP_OK) !=
               ((known[k].acceleration & ~caps[c]) == 0);
    }
    ok(wrong == 0, "%s: what the solver must serve", known[k].what);
  }
}

/* ---- turning to an orientation ---- */

/* R(t): a turn by t about z and then by 0.5 sin t about the new x, in vectors of a */
static void turning_at(const void *user, double t, double q[4], double w[3])
{
  const double a = t / 2, b = 0.25 * sin(t);
  (void)user;
  q[0] = cos(a) * cos(b), q[1] = cos(a) * sin(b), q[2] = sin(a) * sin(b), q[3] = sin(a) * cos(b);
  /* z of a as b sees it, and x of b at its own rate */
  w[0] = 0.5 * cos(t), w[1] = sin(2 * b), w[2] = cos(2 * b);
}

static perp_model *turning_model(int dim, perp_joint_kind kind, perp_drive_def *drive,
                                 perp_status *status)
{
  perp_model *m;
  if (perp_model_create(&ctx, dim, &m) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < 2; i++) {
    const perp_body_def body = { .mass = perp_mass_box(1, 0.2, 0.3, 0.5),
                                 .x = { 0.1 * i },
                                 .angle = 0.7 * i,
                                 .quat = { 1, 0.3 * i, -0.2 * i, 0.4 } };
    if (perp_model_add_body(&ctx, m, &body, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  const perp_joint_def j = {
    .kind = kind, .b = 1, .axis_a = { 0, 0, 1 }, .axis_b = { 0, 0, 1 }, .start = PERP_START_VIOLATES
  };
  if (perp_model_add_joint(&ctx, m, &j, NULL) != PERP_OK) bail("%s", ctx.msg);
  *status = perp_model_add_drive(&ctx, m, drive, NULL);
  if (*status == PERP_OK) *status = perp_model_finish(&ctx, m);
  return m;
}

static void turning_refused(void)
{
  static const perp_turning turning = { turning_at, NULL }, empty = { NULL, NULL };
  static const perp_drive_def good = { .axis = PERP_DRIVE_TURN,
                                       .lower = -HUGE_VAL,
                                       .upper = HUGE_VAL,
                                       .max_force = 5,
                                       .stiffness = 1,
                                       .turning = &turning,
                                       .along = { 0, 0.6, 0.8 } };
  enum { NOTHING, NO_TURNING, EMPTY, LONG, NAN_ALONG, WEAK, NO_SERVO, LOWER, UPPER, CASES };
  static const char *const says[CASES] = { "",
                                           "needs a target orientation",
                                           "needs a target orientation",
                                           "along is not a unit vector: |along| = 1.2",
                                           "along is not a unit vector",
                                           "needs max_force, and stiffness or damping",
                                           "needs max_force, and stiffness or damping",
                                           "has no limits: put limits on the axes of the joint",
                                           "has no limits: put limits on the axes of the joint" };
  for (int i = 0; i < CASES; i++) {
    perp_drive_def def = good;
    perp_status status;
    if (i == NO_TURNING) def.turning = NULL;
    if (i == EMPTY) def.turning = &empty;
    if (i == LONG) def.along[1] = 0, def.along[2] = 1.2;
    if (i == NAN_ALONG) def.along[0] = nan("");
    if (i == WEAK) def.max_force = 0;
    if (i == NO_SERVO) def.stiffness = 0;
    if (i == LOWER) def.lower = -1;
    if (i == UPPER) def.upper = 1;
    perp_model_destroy(turning_model(3, PERP_JOINT_BALL, &def, &status));
    ok(i == NOTHING ? status == PERP_OK
                    : status == PERP_ERR_ARG && strstr(ctx.msg, says[i]) != NULL,
       "turning to an orientation: %s", i == NOTHING ? "whole it is taken" : says[i]);
  }
  for (int kind = 0; kind <= PERP_JOINT_CYLINDRICAL; kind++)
    for (int dim = 2; dim <= 3; dim++)
      ok(perp_drive_serves((perp_joint_kind)kind, dim, PERP_DRIVE_TURN) ==
             (kind == PERP_JOINT_BALL || kind == PERP_JOINT_HINGE),
         "%s, dim %d: turns to an orientation or not", perp_joint_kind_name((perp_joint_kind)kind),
         dim);
  perp_status status;
  perp_drive_def def = good;
  perp_model_destroy(turning_model(3, PERP_JOINT_SLIDER, &def, &status));
  ok(status == PERP_ERR_UNSUPPORTED && strstr(ctx.msg, "does not leave a coordinate") != NULL,
     "not a slider");
}

/* rotation vector of the turn from orientation p to q, in the frame of p, by the logarithm of
 * quaternions */
static void turn_from(const double p[4], const double q[4], double u[3])
{
  const double w = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
  double v[3], c[3];
  perp_cross(q + 1, p + 1, c);
  for (int i = 0; i < 3; i++) v[i] = p[0] * q[1 + i] - q[0] * p[1 + i] + c[i];
  const double s = sqrt(perp_dot(3, v, v)), angle = 2 * atan2(w < 0 ? -s : s, fabs(w));
  for (int i = 0; i < 3; i++) u[i] = s > 0 ? angle * v[i] / s : 0;
}

/* Row, bias and error of a ball joint that turns anyhow: xdot = along . (w_b - w_a), its rate along
 * a motion, and what is left to turn with its rate. */
static void turning_rows(void)
{
  static const perp_turning turning = { turning_at, NULL };
  double worst[4] = { 0 };
  perp_rng *rng = perp_rng_create(77);
  for (int trial = 0; trial < 8; trial++) {
    perp_drive_def def = { .axis = PERP_DRIVE_TURN,
                           .lower = -HUGE_VAL,
                           .upper = HUGE_VAL,
                           .max_force = 5,
                           .stiffness = 1,
                           .turning = &turning,
                           .along = { 2.0 / 3, -1.0 / 3, 2.0 / 3 } };
    perp_status status;
    perp_model *m = turning_model(3, PERP_JOINT_BALL, &def, &status);
    if (status != PERP_OK) bail("%s", ctx.msg);
    const double t = 0.4 * trial, h = 1e-3;
    double dq[12], v[12], q[14], q1[14], step[12], x, rates[4], left[3], velocity;
    for (int i = 0; i < 12; i++) dq[i] = 0.3 * perp_rng_normal(rng), v[i] = perp_rng_normal(rng);
    perp_model_retract(m, perp_model_q0(m), dq, q);
    perp_eval e = m->eval;
    const double rate = row_times(m, q, v, &x);
    double R[2][9], w[3], seen[3], sum = 0;
    for (int b = 0; b < 2; b++) perp_model_rotation(m, q, b, R[b]);
    perp_turn(3, R[0], v + 3, w); /* w_a in the world, then in b */
    perp_turn_back(3, R[1], w, seen);
    for (int i = 0; i < 3; i++) sum += def.along[i] * (v[9 + i] - seen[i]);
    worst[0] = fmax(worst[0], fabs(rate - sum));
    for (int k = 0; k < 4; k++) {
      for (int i = 0; i < 12; i++) step[i] = h * (double[]){ -2, -1, 1, 2 }[k] * v[i];
      perp_model_retract(m, q, step, q1);
      rates[k] = row_times(m, q1, v, &x);
    }
    perp_eval_poses(&e, m, 0, q);
    worst[1] = fmax(worst[1], fabs((rates[0] - 8 * rates[1] + 8 * rates[2] - rates[3]) / (12 * h) -
                                   perp_drive_bias(m, &e, 0, v)));
    /* R_a R(t) is where b should be: what is left, and the rate at which that goes on */
    double p[4], aim[4], is[4], unused[3], minus[4] = { q[3], -q[4], -q[5], -q[6] }, c[3];
    perp_cross(minus + 1, q + 11, c);
    is[0] = minus[0] * q[10] - perp_dot(3, minus + 1, q + 11);
    for (int i = 0; i < 3; i++) is[1 + i] = minus[0] * q[11 + i] + q[10] * minus[1 + i] + c[i];
    turning_at(NULL, t, p, unused);
    turn_from(is, p, left);
    const double error = perp_drive_error(m, &e, 0, 0, t, &velocity);
    worst[2] = fmax(worst[2], fabs(error + perp_dot(3, def.along, left)));
    /* is R(t + s) = what turns on: its rate by differences, seen from b as it is */
    double turn[4][3], rate_of[3];
    for (int k = 0; k < 4; k++) {
      turning_at(NULL, t + h * (double[]){ -2, -1, 1, 2 }[k], aim, unused);
      turn_from(p, aim, turn[k]);
    }
    double T[9], N[9], world[3];
    for (int i = 0; i < 3; i++)
      rate_of[i] = (turn[0][i] - 8 * turn[1][i] + 8 * turn[2][i] - turn[3][i]) / (12 * h);
    perp_quat_matrix(p, T);
    perp_quat_matrix(is, N);
    perp_turn(3, T, rate_of, world);
    perp_turn_back(3, N, world, seen);
    worst[3] = fmax(worst[3], fabs(velocity - perp_dot(3, def.along, seen)));
    perp_model_destroy(m);
  }
  perp_rng_destroy(rng);
  below(worst[0], 1e-14, "turning to an orientation: J v = along . (w_b - w_a)");
  below(worst[1], 1e-8, "  Jdot v");
  below(worst[2], 1e-13, "  what is left to turn");
  below(worst[3], 1e-9, "  and the rate of what it turns to");
}

/* Energy of a servo of 10 N/m that gives at most 5 N: the work against it, over the way. */
static void servo_energy(void)
{
  perp_model *m;
  const perp_body_def body = { .mass = perp_mass_sphere(1, 0.1) };
  const perp_joint_def slider = {
    .kind = PERP_JOINT_SLIDER, .a = PERP_WORLD, .b = 0, .axis_a = { 1 }
  };
  const perp_drive_def servo = {
    .lower = -HUGE_VAL, .upper = HUGE_VAL, .max_force = 5, .stiffness = 10
  };
  if (perp_model_create(&ctx, 2, &m) != PERP_OK ||
      perp_model_add_body(&ctx, m, &body, NULL) != PERP_OK ||
      perp_model_add_joint(&ctx, m, &slider, NULL) != PERP_OK ||
      perp_model_add_drive(&ctx, m, &servo, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  perp_model_gravity(m, 0);
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  double work = 0, worst = 0, T, V;
  for (int i = 0; i <= 200; i++) {
    const double q[3] = { 0.01 * i }, v[3] = { 0 };
    perp_model_energy(m, 0, q, v, &T, &V);
    worst = fmax(worst, fabs(V - work));
    work += 0.01 * fmin(10 * (q[0] + 0.005), 5); /* the force is linear up to 0.5 m */
  }
  below(worst, 1e-13, "energy of a servo of bounded force");
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  servo_energy();
  needs();
  anywhere();
  turning_refused();
  turning_rows();
  const perp_joint_def base = { .anchor_a = { 0.2, -0.1, 0.4 },
                                .anchor_b = { -0.3, 0.5, 0.1 },
                                .axis_a = { 1, 2, -0.5 } };
  static const struct {
    perp_joint_kind kind;
    perp_drive_axis axis;
    int which;
    bool turn_a, turn_b, moves;
  } cases[] = {
    { PERP_JOINT_HINGE, PERP_DRIVE_A, TURN_A, true, false, false },
    { PERP_JOINT_SLIDER, PERP_DRIVE_A, MOVE, false, false, true },
    { PERP_JOINT_SLIDER, PERP_DRIVE_ALONG, MOVE, false, false, true },
    { PERP_JOINT_UNIVERSAL, PERP_DRIVE_A, TURN_A, true, true, false },
    { PERP_JOINT_UNIVERSAL, PERP_DRIVE_B, TURN_B, true, true, false },
    { PERP_JOINT_WHEEL, PERP_DRIVE_A, TURN_A, true, true, true },
    { PERP_JOINT_WHEEL, PERP_DRIVE_B, TURN_B, true, true, true },
    { PERP_JOINT_WHEEL, PERP_DRIVE_ALONG, MOVE, true, true, true },
    { PERP_JOINT_LINE, PERP_DRIVE_ALONG, MOVE, true, true, true },
    { PERP_JOINT_PLANAR, PERP_DRIVE_A, TURN_A, true, false, false },
    { PERP_JOINT_CYLINDRICAL, PERP_DRIVE_A, TURN_A, true, false, true },
    { PERP_JOINT_CYLINDRICAL, PERP_DRIVE_ALONG, MOVE, true, false, true },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int on_world = 0; on_world < 2; on_world++) {
      motion m = { .def = base, .on_world = on_world != 0 };
      char name[64];
      m.def.kind = cases[i].kind;
      m.turns[0] = cases[i].turn_a, m.turns[1] = cases[i].turn_b, m.moves = cases[i].moves;
      /* body b is turned about axis_a at the start; axis_b is axis_a, or across it, as seen from b
       */
      const double start[3] = { 1, 2, -0.5 }, across[3] = { 2, -1, 0 };
      rotation(start, 0.6, m.rel);
      if (cases[i].kind == PERP_JOINT_HINGE || cases[i].kind == PERP_JOINT_SLIDER ||
          cases[i].kind == PERP_JOINT_PLANAR || cases[i].kind == PERP_JOINT_CYLINDRICAL)
        memcpy(m.def.axis_b, start, sizeof start);
      else
        memcpy(m.def.axis_b, across, sizeof across);
      snprintf(name, sizeof name, "%s, axis %d", perp_joint_kind_name(m.def.kind), cases[i].axis);
      check(&m, cases[i].axis, cases[i].which, name);
    }
  /* three angles of a ball joint */
  for (int on_world = 0; on_world < 2; on_world++)
    for (int i = 0; i < 3; i++) {
      static const perp_drive_axis axes[] = { PERP_DRIVE_A, PERP_DRIVE_B, PERP_DRIVE_NODE };
      static const int which[] = { TURN_A, TURN_B, MOVE };
      const double start[3] = { 1, 2, -0.5 };
      motion m = { .def = { .kind = PERP_JOINT_BALL,
                            .anchor_a = { 0.1, 0.2, -0.1 },
                            .anchor_b = { -0.3, 0.1, 0.2 },
                            .axis_a = { 1, 0.5, 2 },
                            .axis_b = { 2, -1, 0 } },
                   .turns = { true, true },
                   .nods = true,
                   .on_world = on_world == 1 };
      char name[40];
      rotation(start, 0.6, m.rel);
      snprintf(name, sizeof name, "ball, axis %d", axes[i]);
      check(&m, axes[i], which[i], name);
    }
  /* what a joint does not leave free */
  static const struct {
    perp_joint_kind kind;
    perp_drive_axis axis;
  } none[] = {
    { PERP_JOINT_BALL, PERP_DRIVE_ALONG },     { PERP_JOINT_FIXED, PERP_DRIVE_A },
    { PERP_JOINT_HINGE, PERP_DRIVE_B },        { PERP_JOINT_HINGE, PERP_DRIVE_ALONG },
    { PERP_JOINT_SLIDER, PERP_DRIVE_B },       { PERP_JOINT_UNIVERSAL, PERP_DRIVE_ALONG },
    { PERP_JOINT_UNIVERSAL, PERP_DRIVE_NODE }, { PERP_JOINT_HINGE, PERP_DRIVE_NODE },
    { PERP_JOINT_DISTANCE, PERP_DRIVE_A },     { PERP_JOINT_CURVE, PERP_DRIVE_ALONG }
  };
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    ok(!perp_drive_serves(none[i].kind, 3, none[i].axis), "%s: no axis %d",
       perp_joint_kind_name(none[i].kind), none[i].axis);
  return tap_done();
}
