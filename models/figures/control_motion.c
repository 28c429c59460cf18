/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Controllers as forces, drives and joints of a model. */
#include "models/figures/control_private.h"

#include "models/figures/inverse.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of `soft`: its damper in inertias of the joint times its rate.  What is left of the softness
 * moves the joint by a part 1e-6 of what it would move in the time of the rate without the drive.
 */
static const double CONTROL_HARD = 1e6;

static const double CONTROL_TURN = 2 * 3.14159265358979323846;

typedef struct control_work {
  perp_ctx *ctx;
  perp_model *model;
  const perp_goal *goal;
  const perp_control_def *def;
  perp_controller_opts opts;
  perp_reduced_tree *tree;
  double *inertia; /* [nu] M_ii at the start */
} control_work;

/* ---- what there is to follow ---- */

static bool control_root(perp_reduced_kind kind)
{
  return kind == PERP_REDUCED_FREE || kind == PERP_REDUCED_PLANAR;
}

static bool control_serves(perp_reduced_kind kind)
{
  return control_root(kind) || kind == PERP_REDUCED_BALL || kind == PERP_REDUCED_HINGE ||
         kind == PERP_REDUCED_SLIDER || kind == PERP_REDUCED_FIXED;
}

static perp_follow control_follow(const control_work *work, const perp_reduced_node *node)
{
  perp_follow follow = { .goal = work->goal,
                         .kind = node->kind,
                         .iq = node->iq,
                         .nq = node->nq,
                         .iu = node->iu,
                         .nu = node->nu,
                         .rel = { 1, 0, 0, 0, 1, 0, 0, 0, 1 },
                         .axis_p = { 0, 0, 1 },
                         .axis_c = { 0, 0, 1 },
                         .max_force = HUGE_VAL };
  memcpy(follow.anchor_p, node->anchor_p, sizeof follow.anchor_p);
  memcpy(follow.anchor_c, node->anchor_c, sizeof follow.anchor_c);
  if (work->tree->dim == 3 || node->kind == PERP_REDUCED_SLIDER)
    memcpy(follow.axis_p, node->axis_p, sizeof follow.axis_p);
  if (work->tree->dim == 3) {
    memcpy(follow.axis_c, node->axis_c, sizeof follow.axis_c);
    memcpy(follow.rel, node->rel, sizeof follow.rel);
  } else if (node->kind != PERP_REDUCED_PLANAR) {
    follow.rel[0] = follow.rel[4] = cos(node->rel_angle);
    follow.rel[1] = sin(node->rel_angle), follow.rel[3] = -follow.rel[1];
  }
  return follow;
}

/* The joint of the model between a node and its parent; -1: a root. */
static int control_joint(const control_work *work, int node)
{
  const perp_reduced_node *reduced_node = &work->tree->node[node];
  const int parent = reduced_node->parent < 0 ? PERP_WORLD
                                              : work->tree->node[reduced_node->parent].body;
  const perp_model *model = perp_goal_model(work->goal);
  for (int j = 0; j < perp_model_joints(model) && !control_root(reduced_node->kind); j++) {
    const perp_joint_def *def = perp_model_joint(model, j);
    if ((def->a == parent && def->b == reduced_node->body) ||
        (def->b == parent && def->a == reduced_node->body))
      return j;
  }
  return -1;
}

/* M_ii: tau_i that udot_i = 1 takes beyond that of rest. */
static perp_status control_inertias(control_work *work)
{
  perp_inverse *inverse;
  const int nq = work->tree->nq, nu = work->tree->nu;
  PERP_TRY(perp_inverse_create(work->ctx, perp_goal_model(work->goal), &inverse));
  double *x = calloc((size_t)(nq + 4 * nu + 1), sizeof *x), *u = x + nq, *udot = u + nu,
         *rest = udot + nu, *tau = rest + nu;
  if (x == NULL) {
    perp_inverse_destroy(inverse);
    return PERP_FAIL(work->ctx, PERP_ERR_NOMEM, "no memory for a controller");
  }
  const perp_model *model = perp_goal_model(work->goal);
  perp_inverse_joints(inverse, perp_model_q0(model), perp_model_v0(model), x, u);
  memset(u, 0, (size_t)nu * sizeof *u);
  perp_inverse_recursive(inverse, 0, x, u, udot, NULL, rest);
  for (int i = 0; i < nu; i++) {
    udot[i] = 1;
    perp_inverse_recursive(inverse, 0, x, u, udot, NULL, tau);
    udot[i] = 0;
    work->inertia[i] = tau[i] - rest[i];
  }
  free(x);
  perp_inverse_destroy(inverse);
  return PERP_OK;
}

/* The spring and damper of a frequency on an inertia. */
static void control_spring(const control_work *work, double inertia, double *k, double *c)
{
  const double omega = CONTROL_TURN * work->opts.frequency;
  *k = inertia * omega * omega;
  *c = 2 * work->opts.ratio * inertia * omega;
}

/* ---- as forces and joints ---- */

static int control_bodies(const control_work *work, const perp_reduced_node *node, int body[2])
{
  const int n = control_root(node->kind) ? 1 : 2;
  body[0] = node->parent < 0 ? PERP_WORLD : work->tree->node[node->parent].body;
  body[n - 1] = node->body;
  return n;
}

static perp_status control_add_force(control_work *work, const perp_reduced_node *node,
                                     bool feedback)
{
  perp_follow follow = control_follow(work, node);
  int body[2];
  perp_force_def force;
  follow.feeds = work->def->controller->feeds;
  follow.muscle = feedback && work->def->controller->feedback == PERP_FEEDBACK_MUSCLE;
  follow.max_force = control_root(node->kind) ? HUGE_VAL : work->opts.max_force;
  for (int i = 0; i < node->nu && feedback; i++) {
    follow.k[i] = work->opts.stiffness, follow.c[i] = work->opts.damping;
    if (!follow.muscle)
      control_spring(work, work->inertia[node->iu + i], &follow.k[i], &follow.c[i]);
  }
  PERP_TRY(perp_force_define(work->ctx, &perp_follow_force, &follow,
                             control_bodies(work, node, body), body, &force));
  return perp_model_add_force(work->ctx, work->model, &force);
}

static perp_status control_add_rows(control_work *work, const perp_reduced_node *node)
{
  perp_follow follow = control_follow(work, node);
  int body[2];
  char name[128];
  perp_joint_def joint;
  const char *is = perp_model_body(perp_goal_model(work->goal), node->body)->name;
  PERP_TRY(perp_joint_define(work->ctx, &perp_follow_joint, &follow,
                             control_bodies(work, node, body), body, &joint));
  snprintf(name, sizeof name, "follow %.100s", is != NULL ? is : "");
  joint.name = name;
  joint.collide = true; /* whether its bodies touch is a matter of the joint that it follows */
  return perp_model_add_joint(work->ctx, work->model, &joint, NULL);
}

/* How far away from the centre of mass the joint of a segment is, of a root the farthest one. */
static double control_arm(const control_work *work, int node)
{
  const perp_reduced_node *reduced_node = &work->tree->node[node];
  double arm = control_root(reduced_node->kind)
                   ? 0
                   : perp_dot(3, reduced_node->anchor_c, reduced_node->anchor_c);
  for (int i = 0; i < work->tree->n && control_root(reduced_node->kind); i++)
    if (work->tree->node[i].parent == node)
      arm = fmax(arm, perp_dot(3, work->tree->node[i].anchor_p, work->tree->node[i].anchor_p));
  return sqrt(arm);
}

/* Three points of a segment (two in the plane) on the axes of its body, as far away as its joint.
 */
static perp_status control_add_marks(control_work *work, int node)
{
  const perp_reduced_node *reduced_node = &work->tree->node[node];
  const perp_model *model = perp_goal_model(work->goal);
  const double share = perp_model_body(model, reduced_node->body)->mass.mass / work->tree->dim;
  const double arm = control_arm(work, node);
  for (int i = 0; i < work->tree->dim; i++) {
    perp_follow_mark mark = { .goal = work->goal, .body = reduced_node->body };
    perp_joint_def joint;
    char name[128];
    const char *is = perp_model_body(model, reduced_node->body)->name;
    mark.point[i] = arm;
    PERP_TRY(
        perp_joint_define(work->ctx, &perp_follow_point, &mark, 1, &reduced_node->body, &joint));
    snprintf(name, sizeof name, "marker %d of %.100s", i + 1, is != NULL ? is : "");
    joint.name = name;
    control_spring(work, share, &joint.stiffness, &joint.damping);
    PERP_TRY(perp_model_add_joint(work->ctx, work->model, &joint, NULL));
  }
  return PERP_OK;
}

/* ---- as servos ---- */

/* What drives and signals point to: kept by the model. */
typedef struct control_turn {
  perp_turning turning; /* of drives */
  perp_follow f;
  bool reversed; /* the outer body is a of the joint */
} control_turn;

static void control_turning(const void *user, double t, double q[4], double w[3])
{
  const control_turn *turn = user;
  perp_follow_turning(&turn->f, t, turn->reversed, q, w);
}

/* displacement of a slider and its rates, as signals of the drive see them */
static void control_slides(const void *user, double t, double y[3])
{
  const control_turn *turn = user;
  const double sign = turn->reversed ? -1 : 1;
  perp_goal_at at;
  perp_goal_of(turn->f.goal, t, turn->f.iq, turn->f.nq, turn->f.iu, turn->f.nu, false, &at);
  y[0] = sign * at.q[0], y[1] = sign * at.u[0], y[2] = sign * at.udot[0];
}

static void control_slide_rate(const void *user, double t, double y[3])
{
  control_slides(user, t, y);
  y[0] = y[1], y[1] = y[2], y[2] = 0; /* nobody asks for it */
}

/* Nothing but the weight, where the controller itself is a force. */
static void control_gains(const control_work *work, double inertia, perp_drive_def *drive)
{
  drive->gravity_compensation = work->opts.gravity_compensation;
  if (work->def->controller->feedback == PERP_FEEDBACK_FORCE) {
    drive->max_force = 0;
    return;
  }
  if (work->def->controller->feedback == PERP_FEEDBACK_SOFT) {
    const double alpha = CONTROL_TURN * work->opts.rate;
    drive->damping = CONTROL_HARD * inertia * alpha;
    drive->stiffness = alpha * drive->damping;
    return;
  }
  control_spring(work, inertia, &drive->stiffness, &drive->damping);
}

static perp_status control_add_servo(control_work *work, const perp_reduced_node *node, int joint)
{
  static const char *const parts[] = { "rx", "ry", "rz" };
  const perp_model *model = perp_goal_model(work->goal);
  const perp_joint_def *def = perp_model_joint(model, joint);
  const char *is = perp_model_body(model, node->body)->name;
  control_turn *turn = calloc(1, sizeof *turn);
  if (turn == NULL) return PERP_FAIL(work->ctx, PERP_ERR_NOMEM, "no memory for a controller");
  turn->f = control_follow(work, node);
  turn->reversed = def->a == node->body;
  turn->turning = (perp_turning){ control_turning, turn };
  const perp_status status = perp_model_keep(work->ctx, work->model, turn, free);
  if (status != PERP_OK) {
    free(turn);
    return status;
  }
  double most = 0;
  for (int i = 0; i < node->nu; i++) most = fmax(most, work->inertia[node->iu + i]);
  for (int i = 0; i < node->nu; i++) {
    char name[128];
    perp_drive_def drive = {
      .joint = joint, .lower = -HUGE_VAL, .upper = HUGE_VAL, .max_force = work->opts.max_force
    };
    /* axes of a ball joint are those of b, of which the inner body does not know the inertia */
    control_gains(work, turn->reversed ? most : work->inertia[node->iu + i], &drive);
    snprintf(name, sizeof name, "%.100s.%s", is != NULL ? is : "",
             node->kind == PERP_REDUCED_BALL    ? parts[i]
             : node->kind == PERP_REDUCED_HINGE ? "angle"
                                                : "x");
    drive.name = name;
    if (node->kind == PERP_REDUCED_SLIDER) {
      double y[3];
      const perp_signal_def target = { .kind = PERP_SIGNAL_FUNCTION,
                                       .of = control_slides,
                                       .user = turn },
                            rate = { .kind = PERP_SIGNAL_FUNCTION,
                                     .of = control_slide_rate,
                                     .user = turn };
      control_slides(turn, 0, y);
      drive.zero = y[0];
      PERP_TRY(perp_model_add_signal(work->ctx, work->model, &target, &drive.target_signal));
      PERP_TRY(perp_model_add_signal(work->ctx, work->model, &rate, &drive.velocity_signal));
    } else {
      drive.axis = PERP_DRIVE_TURN;
      drive.turning = &turn->turning;
      drive.along[node->kind == PERP_REDUCED_BALL ? i : 2] = 1;
      if (node->kind == PERP_REDUCED_HINGE && work->tree->dim == 3)
        memcpy(drive.along, turn->reversed ? node->axis_p : node->axis_c, sizeof drive.along);
    }
    PERP_TRY(perp_model_add_drive(work->ctx, work->model, &drive, NULL));
  }
  return PERP_OK;
}

/* ---- all joints ---- */

static perp_status control_add_root(control_work *work, int node)
{
  const perp_reduced_node *reduced_node = &work->tree->node[node];
  const perp_feedback how = work->def->controller->feedback;
  switch (work->def->root) {
  case PERP_ROOT_FREE:
    return PERP_OK;
  case PERP_ROOT_PRESCRIBED:
    return control_add_rows(work, reduced_node);
  case PERP_ROOT_CONTROLLED:
    break;
  }
  if (how == PERP_FEEDBACK_ROWS) return control_add_rows(work, reduced_node);
  if (how == PERP_FEEDBACK_POINTS) return control_add_marks(work, node);
  if (how == PERP_FEEDBACK_SERVO || how == PERP_FEEDBACK_SOFT)
    return PERP_FAIL(work->ctx, PERP_ERR_UNSUPPORTED,
                     "controller %s acts on joints, and a floating root has none: make the root "
                     "free or prescribed",
                     work->def->controller->d.name);
  return control_add_force(work, reduced_node, how != PERP_FEEDBACK_NONE);
}

/* Does anything hang on a root?  A body without joints is none. */
static bool control_bears(const control_work *work, int node)
{
  for (int i = node + 1; i < work->tree->n; i++)
    if (work->tree->node[i].parent == node) return true;
  return false;
}

static perp_status control_add_node(control_work *work, int node)
{
  const perp_reduced_node *reduced_node = &work->tree->node[node];
  const perp_controller_desc *desc = work->def->controller;
  const char *name = perp_model_body(perp_goal_model(work->goal), reduced_node->body)->name;
  if (work->def->loose != NULL && work->def->loose[reduced_node->body]) return PERP_OK;
  if (desc->feedback == PERP_FEEDBACK_POINTS && !control_root(reduced_node->kind))
    return control_add_marks(work, node);
  if (!control_serves(reduced_node->kind))
    return PERP_FAIL(work->ctx, PERP_ERR_UNSUPPORTED,
                     "controllers support ball joints, hinges and sliders: the joint of body %d "
                     "'%s' is of another kind; declare it loose",
                     reduced_node->body, name != NULL ? name : "");
  if (control_root(reduced_node->kind))
    return control_bears(work, node) ? control_add_root(work, node) : PERP_OK;
  if (reduced_node->nu == 0) return PERP_OK;
  const bool force = desc->feedback == PERP_FEEDBACK_FORCE ||
                     desc->feedback == PERP_FEEDBACK_MUSCLE;
  if (desc->feeds || force) PERP_TRY(control_add_force(work, reduced_node, force));
  if (desc->feedback == PERP_FEEDBACK_ROWS) return control_add_rows(work, reduced_node);
  if (desc->feedback == PERP_FEEDBACK_SERVO || desc->feedback == PERP_FEEDBACK_SOFT ||
      work->opts.gravity_compensation)
    return control_add_servo(work, reduced_node, control_joint(work, node));
  return PERP_OK;
}

/* ---- letting go ---- */

typedef struct control_watched {
  int parent, body;
  bool slides;
} control_watched;
/* What the condition of perp_stop_def looks at: kept by the model. */
typedef struct control_watch {
  const perp_goal *goal;
  int dim;
  double limit;
  int n;
  control_watched joint[]; /* [n] */
} control_watch;

/* Of two bodies, as they are at q or (q NULL) as the motion has them: orientation R of the outer
 * one in the inner one, and its centre there. */
static void control_between(const control_watch *watch, const control_watched *watched, double t,
                            const double *q, double R[9], double x[3])
{
  const int body[2] = { watched->parent, watched->body };
  double turn[2][9], at[2][3] = { { 0 } }, d[3];
  for (int k = 0; k < 2; k++) {
    double quat[4] = { 1 };
    perp_goal_body goal;
    if (body[k] >= 0 && q == NULL) {
      perp_goal_body_of(watch->goal, t, body[k], &goal);
      memcpy(at[k], goal.x, sizeof at[k]);
      memcpy(quat, goal.quat, sizeof quat);
    } else if (body[k] >= 0) {
      const double *of = q + (watch->dim == 3 ? 7 : 3) * (ptrdiff_t)body[k];
      memcpy(at[k], of, (size_t)watch->dim * sizeof *of);
      if (watch->dim == 3)
        memcpy(quat, of + 3, sizeof quat);
      else
        quat[0] = cos(of[2] / 2), quat[3] = sin(of[2] / 2);
    }
    perp_quat_matrix(quat, turn[k]);
  }
  for (int i = 0; i < 3; i++) d[i] = at[1][i] - at[0][i];
  perp_turn_back(3, turn[0], d, x);
  for (int c = 0; c < 3; c++) perp_turn_back(3, turn[0], turn[1] + 3 * c, R + 3 * c);
}

static double control_beyond(const void *user, double t, const double *q)
{
  const control_watch *watch = user;
  double most = 0;
  for (int joint = 0; joint < watch->n; joint++) {
    double R[9], R_ref[9], x[3], x_ref[3], e[3], trace = 0, off = 0;
    control_between(watch, &watch->joint[joint], t, q, R, x);
    control_between(watch, &watch->joint[joint], t, NULL, R_ref, x_ref);
    for (int c = 0; c < 3; c++) {
      const int a = (c + 1) % 3, b = (c + 2) % 3;
      off += (x[c] - x_ref[c]) * (x[c] - x_ref[c]);
      trace += perp_dot(3, R + 3 * c, R_ref + 3 * c);
      e[c] = (perp_dot(3, R + 3 * b, R_ref + 3 * a) - perp_dot(3, R + 3 * a, R_ref + 3 * b)) / 2;
    }
    most = fmax(most, watch->joint[joint].slides ? sqrt(off)
                                                 : atan2(sqrt(perp_dot(3, e, e)), (trace - 1) / 2));
  }
  return most - watch->limit;
}

/* All that the controller has added to the model stops together. */
static perp_status control_add_release(control_work *work, const int before[3])
{
  const perp_model *model = work->model;
  control_watch *watch = calloc(1, sizeof *watch + (size_t)work->tree->n * sizeof *watch->joint);
  if (watch == NULL) return PERP_FAIL(work->ctx, PERP_ERR_NOMEM, "no memory for a controller");
  watch->goal = work->goal;
  watch->dim = work->tree->dim;
  watch->limit = work->def->release;
  for (int i = 0; i < work->tree->n; i++) {
    const perp_reduced_node *node = &work->tree->node[i];
    if (control_root(node->kind) || node->nu == 0 ||
        (work->def->loose != NULL && work->def->loose[node->body]))
      continue;
    watch->joint[watch->n++] = (control_watched){ node->parent < 0
                                                      ? PERP_WORLD
                                                      : work->tree->node[node->parent].body,
                                                  node->body, node->kind == PERP_REDUCED_SLIDER };
  }
  const perp_status status = perp_model_keep(work->ctx, work->model, watch, free);
  if (status != PERP_OK) {
    free(watch);
    return status;
  }
  const perp_stop_def stop = {
    .beyond = control_beyond,
    .user = watch,
    .forces = { before[0], perp_model_force_elements(model) - before[0] },
    .drives = { before[1], perp_model_drives(model) - before[1] },
    .joints = { before[2], perp_model_joints(model) - before[2] },
  };
  return perp_model_add_stop(work->ctx, work->model, &stop);
}

static perp_status control_fits(control_work *work)
{
  const perp_model *model = perp_goal_model(work->goal);
  const int bodies = perp_model_bodies(model);
  if (perp_model_bodies(work->model) == bodies &&
      perp_model_dim(work->model) == perp_model_dim(model) &&
      perp_model_joints(work->model) >= perp_model_joints(model))
    return PERP_OK;
  return PERP_FAIL(
      work->ctx, PERP_ERR_ARG,
      "the controller follows a motion of %d bodies and %d joints, but this model has others",
      bodies, perp_model_joints(model));
}

perp_status perp_control_add(perp_ctx *ctx, perp_model *model, const perp_goal *goal,
                             const perp_control_def *def)
{
  control_work work = { .ctx = ctx, .model = model, .goal = goal, .def = def };
  const int before[3] = { perp_model_force_elements(model), perp_model_drives(model),
                          perp_model_joints(model) };
  work.opts.max_force = HUGE_VAL;
  if (def->opts != NULL)
    memcpy(&work.opts, def->opts, sizeof work.opts);
  else
    perp_opts_default(&def->controller->d, &work.opts);
  PERP_TRY(control_fits(&work));
  PERP_TRY(perp_reduced_create(ctx, perp_goal_model(goal), &work.tree));
  work.inertia = calloc((size_t)work.tree->nu + 1, sizeof *work.inertia);
  perp_status status = work.inertia != NULL
                           ? control_inertias(&work)
                           : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a controller");
  for (int node = 0; node < work.tree->n && status == PERP_OK; node++)
    status = control_add_node(&work, node);
  if (status == PERP_OK && def->release > 0) status = control_add_release(&work, before);
  free(work.inertia);
  free(work.tree);
  return status;
}

bool perp_model_controlled(const perp_model *model)
{
  for (int element = 0; element < perp_model_force_elements(model); element++)
    if (perp_model_force_element(model, element)->plugin == &perp_follow_force) return true;
  for (int joint = 0; joint < perp_model_joints(model); joint++)
    if (perp_model_joint(model, joint)->plugin == &perp_follow_joint ||
        perp_model_joint(model, joint)->plugin == &perp_follow_point)
      return true;
  for (int drive = 0; drive < perp_model_drives(model); drive++)
    if (perp_model_drive(model, drive)->axis == PERP_DRIVE_TURN) return true;
  return false;
}
