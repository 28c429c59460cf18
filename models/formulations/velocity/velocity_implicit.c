/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linearly implicit time stepping for stiff forces (Anitescu and Potra; Cline 2002, section 2.7.4,
 * eq. 2.50-2.55): one Newton step for the forces at the end of the step,
 *
 *      (M - h^2 df/dq - h df/dv) v+ = M v + h f - h df/dv v + J' lambda + J_c' lambda_c,
 *
 * with the joints, drives, contacts and friction of the formulation velocity on v+.  Stable
 * whatever the stiffness; first order; agrees with `velocity` as h -> 0.
 *
 * The gradient is that of springs and dampers between points, of the linear drag of a body and of
 * forces of plug-ins, of which force_gradient.h says how.  That of springs is not formed: -df/dq of
 * one under tension T with the direction n and the distance d of its ends is
 *
 *      K = g E + (k - g) n n',    g = T / d,    k the stiffness,
 *
 * a sum of semidefinite terms of which each is a soft row between the two bodies (perp_row_soft in
 * model.h): by the Woodbury identity the KKT system of bodies, joints and these rows is the one
 * above.  So all KKT solvers, sparse ones at O(bodies + springs), islands and LCP solvers serve it
 * as they serve joints, and M stays what it is.
 *
 *      full       The equation as it stands, backward Euler in every direction: what turns is
 * damped, a spring that swings at the rate w loses the part (h w)^2 of its energy in a step.
 *      turning    Along n as it stands, and the tension is that of the length at the end of the
 * step to second order, d + h n u + h^2/2 (Jdot v), u the relative velocity of the ends.  Across n
 * the force of the start is kept and -h^2/2 g (u+ - u) added, which is as stable (Newmark's beta =
 * 1/2) and takes no energy. axial      The same with nothing across: one row a spring instead of
 * four, for springs whose tension makes no stiffness across them that the step would have to fear.
 *
 *      numeric    The equation as it stands, with df/dq and df/dv by central differences of each
 * force but those of pairs: what Cline's system does.  In it are the levers of given forces as
 * bodies turn, how the line of a damper turns, and angular and quadratic drag, which the others
 * take at the start.  Symmetric parts and directions of positive stiffness alone, as of plug-ins
 * (force_gradient.h).  Without damping and with ends at centres of mass it is `full` but for the
 * error of differences.  12 rows for a spring between two bodies in space.
 *
 * Taken explicitly, at the start of the step: g below 0 (springs under pressure; K would not be
 * definite), how turning bodies move the lever of a given force, constant forces, angular drag, and
 * what is no spring.  The gyroscopic torque is that of `velocity`.  Quadratic drag is linear drag
 * with the coefficient at the start of the step, where the body has linear drag too.
 *
 * Cost per step: as velocity on a model with that many more joints. */
#include "models/stepping/force_gradient.h"
#include "models/contact/step/stepping.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { GRADIENT_TURNING, GRADIENT_FULL, GRADIENT_AXIAL, GRADIENT_NUMERIC };
static const char *const gradients[] = { "turning", "full", "axial", "numeric", NULL };

typedef struct opts {
  perp_contact_opts contact; /* first */
  int gradient;
} opts;
static const perp_opt options[] = {
  PERP_CONTACT_OPTIONS,
  PERP_ENUM(
      opts, gradient, GRADIENT_TURNING, gradients,
      "Implicit directions of springs. turning: along, and across without energy loss. full: all; "
      "damps rotation. axial: along only. numeric: all forces but pairs, by differences (Cline "
      "2002, section 2.7.4)."),
  PERP_OPTIONS_END
};

/* Parts of the stiffness that the terms keep, so that the softness of no row goes to infinity:
 * across a spring under pressure, along one without length.  The pull is what it should be; the
 * gradient is off by as much. */
static const double LEAST_ACROSS = 1e-8, LEAST_ALONG = 1e-8;

/* a force element that became joints of the lifted model */
typedef struct lifted {
  const perp_force_def *force;
  int across, along; /* joints, -1: none */
} lifted;

typedef struct workspace {
  perp_stepping s;       /* first */
  const perp_model *own; /* the model without them, whose rows come first */
  perp_model *model;     /* springs are soft joints */
  lifted *element;       /* [n] */
  int n;
  perp_force_gradient *plugin; /* [n_plugins] plug-ins, or with differences all forces but pairs */
  int n_plugins, largest;
  perp_force_gradient_room room;
  int gradient;
  double *rate, *bias; /* [m] J v and Jdot v */
} workspace;

/* J v+ + S lambda + r = 0 in this step, S = 1 / (h b). */
static void velocity_implicit_row(perp_stepping *stepping, int row, double h, double b, double r)
{
  perp_model *model = ((workspace *)stepping)->model;
  model->soft.stiffness[row] = b / h;
  model->soft.damping[row] = 0;
  stepping->k.e->C[row] = h * r;
}

/* A spring at the end of the step as Cline 2002, eq. 2.52 has it; both terms together pull with T,
 * whatever their parts are. */
static void velocity_implicit_full(perp_stepping *stepping, const lifted *l, double h)
{
  const perp_model *model = ((workspace *)stepping)->model;
  const int across = model->joint[l->across].row, along = model->joint[l->along].row;
  const double *C = stepping->k.e->C + across; /* p_b - p_a */
  const double k = l->force->stiffness, c = l->force->damping,
               length = sqrt(perp_dot(model->dim, C, C)), T = k * (length - l->force->length);
  const double g = fmin(fmax(length > 0 ? T / length : 0, LEAST_ACROSS * k), (1 - LEAST_ALONG) * k);
  for (int j = 0; j < model->dim; j++)
    velocity_implicit_row(stepping, across + j, h, h * g, C[j] / h);
  const double b = h * (k - g) + c;
  velocity_implicit_row(stepping, along, h, b, (T - g * length) / b);
}

static void velocity_implicit_turning(perp_stepping *stepping, const lifted *l, double h)
{
  const workspace *work = (workspace *)stepping;
  const perp_model *model = work->model;
  const int along = model->joint[l->along].row;
  const double k = l->force->stiffness, c = l->force->damping, b = h * k + c;
  const double stretch = stepping->k.e->C[along]; /* d - length */
  if (l->across >= 0) {
    const int across = model->joint[l->across].row;
    const double length = stretch + model->joint[l->along].length;
    const double g = k * fmax(length > 0 ? stretch / length : 0, LEAST_ACROSS);
    for (int j = 0; j < model->dim; j++)
      velocity_implicit_row(stepping, across + j, h, 0.5 * h * g, -work->rate[across + j]);
  }
  velocity_implicit_row(stepping, along, h, b, k * stretch / b + 0.5 * h * work->bias[along]);
}

/* Rows of the joints that stand for forces: what they are in this step. */
static void velocity_implicit_prepare(perp_stepping *stepping, double h, const double *v)
{
  workspace *work = (workspace *)stepping;
  perp_model *model = work->model;
  if (model->sim.dropped != NULL) /* rows that are left out have S > 0 */
    memcpy(model->soft.softness, work->own->soft.softness,
           (size_t)work->own->m * sizeof *model->soft.softness);
  for (int plugin = 0; plugin < work->n_plugins; plugin++)
    perp_force_gradient_rows(&work->plugin[plugin], &work->room, model, &stepping->k, h, v);
  if (work->n_plugins > 0) stepping->k.S_h = 0;
  if (work->n == 0) return;
  perp_constrained_rate(&stepping->k, v, work->rate);
  perp_joints_bias(model, stepping->k.e, v, work->bias);
  for (int element = 0; element < work->n; element++) {
    const lifted *l = &work->element[element];
    if (l->force->kind == PERP_FORCE_DRAG) {
      const double *va = v + model->nvb * l->force->a, speed = sqrt(perp_dot(model->dim, va, va));
      const int row = model->joint[l->across].row;
      for (int k = 0; k < model->dim; k++)
        model->soft.damping[row + k] = l->force->linear + l->force->quadratic * speed;
    } else if (work->gradient != GRADIENT_FULL) {
      velocity_implicit_turning(stepping, l, h);
    } else if (l->across >= 0) {
      velocity_implicit_full(stepping, l, h);
    }
  }
  stepping->k.S_h = 0; /* the softness is another one */
}

/* ---- the lifted model ---- */

static perp_status lift_spring(perp_ctx *ctx, workspace *work, const perp_force_def *el,
                               int gradient)
{
  lifted *l = &work->element[work->n++];
  *l = (lifted){ .force = el, .across = -1, .along = -1 };
  perp_joint_def joint = { .kind = PERP_JOINT_DISTANCE,
                           .a = el->a,
                           .b = el->b,
                           .length = fmax(el->length, DBL_MIN),
                           .stiffness = el->stiffness,
                           .damping = el->damping,
                           .collide = true };
  for (int i = 0; i < 3; i++) {
    joint.anchor_a[i] = el->anchor_a[i];
    joint.anchor_b[i] = el->anchor_b[i];
  }
  PERP_TRY(perp_model_add_joint(ctx, work->model, &joint, &l->along));
  if (gradient == GRADIENT_AXIAL || el->stiffness == 0) return PERP_OK;
  joint.kind = PERP_JOINT_BALL;
  joint.damping = 0;
  return perp_model_add_joint(ctx, work->model, &joint, &l->across);
}

/* the part of the drag that grows with the angular velocity stays a force */
static perp_status lift_drag(perp_ctx *ctx, workspace *work, const perp_model *model,
                             const perp_force_def *el)
{
  lifted *l = &work->element[work->n++];
  *l = (lifted){ .force = el, .across = -1, .along = -1 };
  perp_joint_def joint = {
    .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = el->a, .damping = el->linear, .collide = true
  };
  for (int i = 0; i < model->dim; i++) joint.anchor_a[i] = model->body_def[el->a].x[i];
  PERP_TRY(perp_model_add_joint(ctx, work->model, &joint, &l->across));
  perp_force_def rest = *el;
  rest.linear = rest.quadratic = 0;
  return rest.angular > 0 ? perp_model_add_force(ctx, work->model, &rest) : PERP_OK;
}

static perp_status lift_gradient(perp_ctx *ctx, workspace *work, const perp_force_def *el,
                                 bool differences)
{
  perp_force_gradient *gradient = &work->plugin[work->n_plugins++];
  PERP_TRY(perp_force_gradient_add(ctx, work->model, el, differences, gradient));
  if (gradient->size > work->largest) work->largest = gradient->size;
  return PERP_OK;
}

/* The model with springs and dampers as soft joints, behind its own, so that rows keep their
 * numbers. */
static perp_status velocity_implicit_lift(perp_ctx *ctx, workspace *work, const perp_model *model,
                                          int gradient)
{
  work->gradient = gradient;
  work->element = calloc((size_t)model->n_forces + 1, sizeof *work->element);
  work->plugin = calloc((size_t)model->n_forces + 1, sizeof *work->plugin);
  if (work->element == NULL || work->plugin == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "velocity-implicit: no memory");
  PERP_TRY(perp_model_create(ctx, model->dim, &work->model));
  perp_model_gravity(work->model, model->gravity);
  for (int body = 0; body < model->n_bodies; body++)
    PERP_TRY(perp_model_add_body(ctx, work->model, &model->body_def[body], NULL));
  for (int joint = 0; joint < model->n_joints; joint++)
    PERP_TRY(perp_model_add_joint(ctx, work->model, &model->joint_def[joint], NULL));
  for (int force = 0; force < model->n_forces; force++) {
    const perp_force_def *el = &model->force_def[force];
    if (gradient == GRADIENT_NUMERIC && el->kind != PERP_FORCE_PAIRS)
      PERP_TRY(lift_gradient(ctx, work, el, true));
    else if (el->kind == PERP_FORCE_SPRING && (el->stiffness > 0 || el->damping > 0))
      PERP_TRY(lift_spring(ctx, work, el, gradient));
    else if (el->kind == PERP_FORCE_DRAG && el->linear > 0)
      PERP_TRY(lift_drag(ctx, work, model, el));
    else if (el->kind == PERP_FORCE_PLUGIN)
      PERP_TRY(lift_gradient(ctx, work, el, false));
    else
      PERP_TRY(perp_model_add_force(ctx, work->model, el));
  }
  for (int drive = 0; drive < model->n_drives; drive++)
    PERP_TRY(perp_model_add_drive(ctx, work->model, &model->drive_def[drive], NULL));
  for (int shape = 0; shape < model->n_shapes; shape++)
    PERP_TRY(perp_model_add_shape(ctx, work->model, &model->shape_def[shape], NULL));
  return perp_model_finish(ctx, work->model);
}

static perp_status velocity_implicit_model(perp_ctx *ctx, const perp_model *model,
                                           const void *formulation_opts, perp_model **out)
{
  const opts *chosen = formulation_opts;
  workspace work = { 0 };
  *out = NULL;
  const perp_status status = velocity_implicit_lift(ctx, &work, model, chosen->gradient);
  free(work.element);
  free(work.plugin);
  if (status == PERP_OK)
    *out = work.model;
  else
    perp_model_destroy(work.model);
  return status;
}

static void velocity_implicit_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  perp_stepping_layout(ws, arena);
  PERP_DOUBLES(arena, work->model->m, &work->rate, &work->bias);
  perp_force_gradient_layout(&work->room, work->largest, arena);
}

static void velocity_implicit_destroy(void *ws)
{
  if (ws == NULL) return;
  workspace work = *(workspace *)ws;
  perp_stepping_destroy(ws);
  perp_model_destroy(work.model);
  free(work.element);
  free(work.plugin);
}

static perp_status velocity_implicit_create(perp_ctx *ctx, perp_model *model,
                                            const perp_parts *parts, double h, void **ws)
{
  const opts *chosen = parts->formulation.opts;
  workspace like = { .s.prepare = velocity_implicit_prepare, .own = model };
  *ws = NULL;
  perp_status status = velocity_implicit_lift(ctx, &like, model, chosen->gradient);
  if (status == PERP_OK) {
    like.model->sim.dropped = model->sim.dropped;
    like.model->sim.angle = model->sim.angle; /* the same drives, which the simulation follows */
    like.model->sim.chain = model->sim.chain;
    like.model->sim.chain_set = model->sim.chain_set;
    status = perp_stepping_create(ctx, like.model, parts, &chosen->contact, h, &like.s, sizeof like,
                                  velocity_implicit_layout, ws);
  }
  if (status == PERP_OK) return PERP_OK;
  perp_model_destroy(like.model);
  free(like.element);
  free(like.plugin);
  return status;
}

const perp_formulation_desc perp_formulation_velocity_implicit = {
  .d = { .name = "velocity-implicit",
         .summary = "Time stepping; springs, dampers and drag evaluated at the end of the step",
         .reference = "Cline 2002, section 2.7.4, eq. 2.50-2.55",
         .equation = "(M - h^2 df/dq - h df/dv) v+ = M v + h f - h df/dv v + J' lambda",
         PERP_OPTIONS(options, opts),
         .caps = PERP_FORM_BREAKS | PERP_FORM_USES_ODE | PERP_FORM_USES_KKT | PERP_FORM_USES_STAB |
                 PERP_FORM_USES_LCP | PERP_FORM_CONTACTS | PERP_FORM_DRIVES | PERP_FORM_SPRINGS |
                 PERP_FORM_FEEDBACK | PERP_FORM_COUPLES | PERP_FORM_ANISOTROPIC },
  .create = velocity_implicit_create,
  .restart = perp_stepping_restart,
  .step = perp_stepping_step,
  .state = perp_stepping_state,
  .counters = perp_stepping_counters,
  .timing = perp_stepping_timing,
  .destroy = velocity_implicit_destroy,
  .contacts = perp_stepping_contacts,
  .observe = perp_stepping_observe,
  .lift = velocity_implicit_model,
};
