/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linearly implicit time stepping for stiff forces (Anitescu and Potra; Cline 2002, section 2.7.4, eq.
 * 2.50-2.55): backward Euler with one Newton step,
 *
 *      (M - h^2 df/dq - h df/dv) v+ = M v + h f - h df/dv v + J' lambda + J_c' lambda_c,
 *
 * with the joints, drives, contacts and friction of the formulation velocity on v+.  Stable whatever the
 * stiffness; first order; agrees with `velocity` as h -> 0.
 *
 * The gradient is exact for springs and dampers between points and for the linear drag of a body.  It is not
 * formed: -df/dq of a spring under tension T with the direction n and the distance d of its ends is
 *
 *      K = g E + (k - g) n n',    g = T / d,    k the stiffness,
 *
 * a sum of semidefinite terms of which each is a soft row between the two bodies (perp_row_soft in model.h),
 * with S = 1 / (h^2 stiffness): by the Woodbury identity the KKT system of bodies, joints and these rows is
 * the one above.  So all KKT solvers, sparse ones at O(bodies + springs), islands and LCP solvers serve it as
 * they serve joints, and M stays what it is.  gradient = axial leaves out the turning of n (g = 0): one
 * row a spring instead of four, explicit across it, for springs near their rest length.
 *
 * Taken explicitly, at the start of the step: how the turning of a damper turns its force, g below 0 (springs under pressure; K would not be definite), how
 * turning bodies move the lever of a given force, constant forces, angular drag, and
 * what is no spring.  The gyroscopic torque is that of `velocity`.  Quadratic drag is linear drag with the coefficient at the start of the step, where the
 * body has linear drag too.
 *
 * Cost per step: as velocity on a model with that many more joints. */
#include "models/formulations/stepping.h"

#include <float.h>
#include <stdlib.h>

enum { GRADIENT_FULL, GRADIENT_AXIAL };
static const char *const gradients[] = { "full", "axial", NULL };

typedef struct opts {
  perp_contact_opts contact; /* first */
  int gradient;
} opts;
static const perp_opt options[] = { PERP_CONTACT_OPTIONS,
                                    PERP_ENUM(
                                        opts, gradient, GRADIENT_FULL, gradients,
                                        "of springs: full, or along them only, which is cheaper"),
                                    PERP_OPTIONS_END };

/* Parts of the stiffness that the terms keep, so that the softness of no row goes to infinity: across a spring
 * under pressure, along one without length.  The pull is what it should be; the gradient is off by as much. */
static const double LEAST_ACROSS = 1e-3, LEAST_ALONG = 1e-8;

/* a force element that became joints of the lifted model */
typedef struct lifted {
  const perp_force_def *force;
  int across, along; /* joints, -1: none */
} lifted;

typedef struct workspace {
  perp_stepping s;   /* first */
  perp_model *model; /* springs are soft joints */
  lifted *element;   /* [n] */
  int n;
} workspace;

static bool is_spring(const perp_force_def *el)
{
  return el->kind == PERP_FORCE_SPRING && (el->stiffness > 0 || el->damping > 0);
}

static bool is_drag(const perp_force_def *el)
{
  return el->kind == PERP_FORCE_DRAG && el->linear > 0;
}

/* Rows of the joints: the softness of this step. */
static void velocity_implicit_prepare(perp_stepping *s, double h, const double *v)
{
  workspace *w = (workspace *)s;
  perp_model *m = w->model;
  const int d = m->dim;
  (void)h;
  for (int i = 0; i < w->n; i++) {
    const lifted *l = &w->element[i];
    const perp_force_def *el = l->force;
    if (el->kind == PERP_FORCE_DRAG) {
      const double *va = v + m->nvb * el->a, speed = sqrt(perp_dot(d, va, va));
      const int row = m->joint[l->across].row;
      for (int k = 0; k < d; k++) m->damping[row + k] = el->linear + el->quadratic * speed;
      continue;
    }
    if (l->across < 0) continue;
    /* both terms together pull with T, whatever their parts are */
    const double *C = s->k.e->C + m->joint[l->across].row; /* p_b - p_a */
    const double k = el->stiffness, length = sqrt(perp_dot(d, C, C)), T = k * (length - el->length);
    double g = length > 0 ? T / length : 0;
    g = fmin(fmax(g, LEAST_ACROSS * k), (1 - LEAST_ALONG) * k);
    const int across = m->joint[l->across].row, along = m->joint[l->along].row;
    for (int j = 0; j < d; j++) m->stiffness[across + j] = g;
    m->stiffness[along] = k - g;
    s->k.e->C[along] = (T - g * length) / (k - g);
  }
  if (w->n > 0) s->k.S_h = 0;
}

/* ---- the lifted model ------------------------------------------------------------------------ */

static perp_status lift_spring(perp_ctx *ctx, workspace *w, const perp_force_def *el, int gradient)
{
  lifted *l = &w->element[w->n++];
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
  PERP_TRY(perp_model_add_joint(ctx, w->model, &joint, &l->along));
  if (gradient == GRADIENT_AXIAL || el->stiffness == 0) return PERP_OK;
  joint.kind = PERP_JOINT_BALL;
  joint.damping = 0;
  return perp_model_add_joint(ctx, w->model, &joint, &l->across);
}

/* the part of the drag that grows with the angular velocity stays a force */
static perp_status lift_drag(perp_ctx *ctx, workspace *w, const perp_model *model,
                             const perp_force_def *el)
{
  lifted *l = &w->element[w->n++];
  *l = (lifted){ .force = el, .across = -1, .along = -1 };
  perp_joint_def joint = {
    .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = el->a, .damping = el->linear, .collide = true
  };
  for (int i = 0; i < model->dim; i++) joint.anchor_a[i] = model->body_def[el->a].x[i];
  PERP_TRY(perp_model_add_joint(ctx, w->model, &joint, &l->across));
  perp_force_def rest = *el;
  rest.linear = rest.quadratic = 0;
  return rest.angular > 0 ? perp_model_add_force(ctx, w->model, &rest) : PERP_OK;
}

/* The model with springs and dampers as soft joints, behind its own, so that rows keep their numbers. */
static perp_status velocity_implicit_lift(perp_ctx *ctx, workspace *w, const perp_model *model,
                                          int gradient)
{
  PERP_TRY(perp_model_create(ctx, model->dim, &w->model));
  perp_model_gravity(w->model, model->gravity);
  for (int i = 0; i < model->n_bodies; i++)
    PERP_TRY(perp_model_add_body(ctx, w->model, &model->body_def[i], NULL));
  for (int i = 0; i < model->n_joints; i++)
    PERP_TRY(perp_model_add_joint(ctx, w->model, &model->joint_def[i], NULL));
  for (int i = 0; i < model->n_forces; i++) {
    const perp_force_def *el = &model->force_def[i];
    if (is_spring(el))
      PERP_TRY(lift_spring(ctx, w, el, gradient));
    else if (is_drag(el))
      PERP_TRY(lift_drag(ctx, w, model, el));
    else
      PERP_TRY(perp_model_add_force(ctx, w->model, el));
  }
  for (int i = 0; i < model->n_drives; i++)
    PERP_TRY(perp_model_add_drive(ctx, w->model, &model->drive_def[i], NULL));
  for (int i = 0; i < model->n_shapes; i++)
    PERP_TRY(perp_model_add_shape(ctx, w->model, &model->shape_def[i], NULL));
  return perp_model_finish(ctx, w->model);
}

static perp_status velocity_implicit_model(perp_ctx *ctx, const perp_model *model,
                                           const void *formulation_opts, perp_model **out)
{
  const opts *o = formulation_opts;
  workspace w = { .element = calloc((size_t)model->n_forces + 1, sizeof *w.element) };
  *out = NULL;
  if (w.element == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "velocity-implicit: no memory");
  const perp_status status = velocity_implicit_lift(ctx, &w, model, o->gradient);
  free(w.element);
  if (status == PERP_OK)
    *out = w.model;
  else
    perp_model_destroy(w.model);
  return status;
}

static void velocity_implicit_destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  perp_stepping_close(&w->s);
  perp_model_destroy(w->model);
  free(w->element);
  free(w);
}

static perp_status velocity_implicit_create(perp_ctx *ctx, perp_model *model,
                                            const perp_parts *parts, double h, void **ws)
{
  *ws = NULL;
  const opts *o = parts->formulation.opts;
  workspace *w = calloc(1, sizeof *w);
  if (w == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "velocity-implicit: no memory");
  w->element = calloc((size_t)model->n_forces + 1, sizeof *w->element);
  w->s.prepare = velocity_implicit_prepare;
  perp_status status = w->element == NULL
                           ? PERP_FAIL(ctx, PERP_ERR_NOMEM, "velocity-implicit: no memory")
                           : velocity_implicit_lift(ctx, w, model, o->gradient);
  if (status == PERP_OK) status = perp_stepping_open(ctx, &w->s, w->model, parts, &o->contact, h);
  if (status != PERP_OK) {
    velocity_implicit_destroy(w);
    return status;
  }
  *ws = w;
  return PERP_OK;
}

const perp_formulation_desc perp_formulation_velocity_implicit = {
  .d = { .name = "velocity-implicit",
         .summary = "time stepping with springs, dampers and drag taken at the end of the step",
         .reference = "Cline 2002, section 2.7.4, eq. 2.50-2.55",
         .equation = "(M - h^2 df/dq - h df/dv) v+ = M v + h f - h df/dv v + J' lambda",
         .opts = options,
         .opts_size = sizeof(opts),
         .caps = PERP_FORM_USES_ODE | PERP_FORM_USES_KKT | PERP_FORM_USES_STAB |
                 PERP_FORM_USES_LCP | PERP_FORM_CONTACTS | PERP_FORM_DRIVES | PERP_FORM_SPRINGS |
                 PERP_FORM_FEEDBACK },
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
