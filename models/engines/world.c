/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model as a world for the adapters of engines: frames, axes and limits as they are at the start.
 */
#include "models/engines/engine.h"

#include "models/collision/collision.h"
#include "models/geometry/kinematics.h"

#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

typedef struct world {
  perp_engine_world w; /* first */
  const perp_model *model;
  perp_collision *collision; /* for its question who may touch whom */
  perp_engine_body *body;
  perp_engine_joint *joint;
  perp_engine_shape *shape;
  perp_engine_drive *drive;
} world;

/* ---- what an adapter asks ---- */

static bool world_touches(const perp_engine_world *engine_world, int a, int b)
{
  return perp_collision_may_touch(((const world *)(const void *)engine_world)->collision, a, b);
}

static perp_surface world_pair(const perp_engine_world *engine_world, int a, int b)
{
  const perp_model *model = ((const world *)(const void *)engine_world)->model;
  perp_surface surface = perp_model_surface_pair(model, a, b);
  if (isnan(surface.mu_dynamic)) surface.mu_dynamic = surface.mu;
  return surface;
}

static perp_status world_fail(perp_ctx *ctx, perp_status status, const char *what)
{
  return PERP_FAIL(ctx, status, "%s", what);
}

/* ---- states ---- */

void perp_engine_state_of(const perp_model *model, const double *q, const double *v,
                          perp_engine_state *state)
{
  const int dim = perp_model_dim(model), nq = dim == 3 ? 7 : 3, nv = dim == 3 ? 6 : 3;
  for (int body = 0; body < perp_model_bodies(model); body++, q += nq, v += nv) {
    perp_engine_state *engine_state = &state[body];
    *engine_state = (perp_engine_state){ .quat = { 1 } };
    memcpy(engine_state->x, q, (size_t)dim * sizeof *q);
    memcpy(engine_state->v, v, (size_t)dim * sizeof *v);
    if (dim == 2) {
      engine_state->angle = q[2];
      engine_state->w[2] = v[2];
      continue;
    }
    double R[9];
    memcpy(engine_state->quat, q + 3, sizeof engine_state->quat);
    perp_quat_matrix(engine_state->quat, R);
    perp_turn(3, R, v + 3, engine_state->w);
  }
}

void perp_engine_state_to(const perp_model *model, const perp_engine_state *state, double *q,
                          double *v)
{
  const int dim = perp_model_dim(model), nq = dim == 3 ? 7 : 3, nv = dim == 3 ? 6 : 3;
  for (int body = 0; body < perp_model_bodies(model); body++, q += nq, v += nv) {
    const perp_engine_state *engine_state = &state[body];
    memcpy(q, engine_state->x, (size_t)dim * sizeof *q);
    memcpy(v, engine_state->v, (size_t)dim * sizeof *v);
    if (dim == 2) {
      q[2] += remainder(engine_state->angle - q[2], 2 * M_PI);
      v[2] = engine_state->w[2];
      continue;
    }
    double R[9];
    /* q and -q are one orientation: that which goes on */
    const double same = q[3] * engine_state->quat[0] + q[4] * engine_state->quat[1] +
                        q[5] * engine_state->quat[2] + q[6] * engine_state->quat[3];
    for (int k = 0; k < 4; k++)
      q[3 + k] = same < 0 ? -engine_state->quat[k] : engine_state->quat[k];
    perp_quat_unit(q + 3);
    perp_quat_matrix(q + 3, R);
    perp_turn_back(3, R, engine_state->w, v + 3);
  }
}

/* ---- building ---- */

/* I = R diag(moment) R' with the quaternion of R */
static void world_principal(const double inertia[9], double moment[3], double quat[4])
{
  double A[9], work[32];
  bool diagonal = true;
  memcpy(A, inertia, sizeof A);
  for (int i = 0; i < 9; i++) diagonal &= i % 4 == 0 || A[i] == 0;
  quat[0] = 1, quat[1] = quat[2] = quat[3] = 0;
  for (int k = 0; k < 3; k++) moment[k] = A[4 * k];
  if (diagonal || LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', 3, A, 3, moment, work, 32) != 0)
    return;
  double third[3];
  perp_cross(A, A + 3, third);
  if (perp_dot(3, third, A + 6) < 0)
    for (int k = 0; k < 3; k++) A[6 + k] = -A[6 + k];
  /* the largest of the four squares first, so that nothing cancels (Shepperd 1978) */
  const double trace = A[0] + A[4] + A[8], square[4] = { trace, A[0], A[4], A[8] };
  int at = 0;
  for (int k = 1; k < 4; k++)
    if (square[k] > square[at]) at = k;
  if (at == 0) {
    quat[0] = 1 + trace;
    quat[1] = A[5] - A[7], quat[2] = A[6] - A[2], quat[3] = A[1] - A[3];
  } else {
    const int i = at - 1, j = (i + 1) % 3, k = (i + 2) % 3;
    quat[0] = A[3 * j + k] - A[3 * k + j];
    quat[1 + i] = 1 + A[4 * i] - A[4 * j] - A[4 * k];
    quat[1 + j] = A[3 * i + j] + A[3 * j + i];
    quat[1 + k] = A[3 * i + k] + A[3 * k + i];
  }
  perp_quat_unit(quat);
}

static void world_unit(const double from[3], double to[3])
{
  const double n = sqrt(perp_dot(3, from, from));
  for (int k = 0; k < 3; k++) to[k] = n > 0 ? from[k] / n : 0;
}

static void world_direction(const perp_model *model, int body, const double local[3], double out[3])
{
  double R[9];
  memcpy(out, local, 3 * sizeof *out);
  if (body < 0) return;
  perp_model_rotation(model, perp_model_q0(model), body, R); /* 3 x 3 in the plane, too */
  perp_turn(3, R, local, out);
}

static void world_joint(const perp_model *model, int i, perp_engine_joint *joint)
{
  const perp_joint_def *def = perp_model_joint(model, i);
  *joint = (perp_engine_joint){
    .kind = def->kind, .a = def->a, .b = def->b, .length = def->length
  };
  memcpy(joint->anchor_a, def->anchor_a, sizeof joint->anchor_a);
  memcpy(joint->anchor_b, def->anchor_b, sizeof joint->anchor_b);
  world_unit(def->axis_a, joint->axis_a);
  world_unit(def->axis_b, joint->axis_b);
  perp_model_point(model, perp_model_q0(model), def->b, def->anchor_b, joint->at);
  world_direction(model, def->a, joint->axis_a, joint->along);
  world_direction(model, def->b, joint->axis_b, joint->across);
}

static void world_fill(world *w)
{
  const perp_model *model = w->model;
  for (int b = 0; b < perp_model_bodies(model); b++) {
    const perp_body_def *d = perp_model_body(model, b);
    w->body[b] = (perp_engine_body){ .name = d->name, .mass = d->mass.mass };
    memcpy(w->body[b].inertia, d->mass.inertia, sizeof d->mass.inertia);
    if (perp_model_dim(model) == 3)
      world_principal(d->mass.inertia, w->body[b].moment, w->body[b].principal);
  }
  for (int i = 0; i < perp_model_force_elements(model);
       i++) /* others have been refused (serves.c) */
    for (int k = 0; k < 3; k++) {
      const perp_force_def *def = perp_model_force_element(model, i);
      w->body[def->a].force[k] += def->value[k];
    }
  for (int i = 0; i < perp_model_shapes(model); i++) {
    const perp_shape_def *d = perp_model_shape(model, i);
    perp_engine_shape *shape = &w->shape[i];
    *shape = (perp_engine_shape){ .def = d, .quat = { 1 }, .angle = d->angle };
    memcpy(shape->x, d->x, sizeof shape->x);
    if (perp_dot(3, d->quat + 1, d->quat + 1) > 0 || d->quat[0] != 0)
      memcpy(shape->quat, d->quat, sizeof shape->quat);
  }
  int n = 0;
  for (int i = 0; i < perp_model_joints(model); i++) {
    perp_engine_joint *joint = &w->joint[i];
    world_joint(model, i, joint);
    joint->first_drive = n;
    for (int k = 0; k < perp_model_drives(model); k++)
      if (perp_model_drive(model, k)->joint == i) {
        const perp_drive_def *d = perp_model_drive(model, k);
        perp_engine_drive *to = &w->drive[n++];
        *to = (perp_engine_drive){ .joint = d->joint,
                                   .axis = d->axis,
                                   .lower = d->lower - d->zero,
                                   .upper = d->upper - d->zero,
                                   .restitution = d->restitution,
                                   .velocity = d->velocity,
                                   .max_force = d->max_force,
                                   .target = d->target - d->zero,
                                   .stiffness = d->stiffness,
                                   .damping = d->damping };
      }
    joint->n_drives = n - joint->first_drive;
  }
}

perp_status perp_engine_world_create(perp_ctx *ctx, const perp_model *model, double h,
                                     perp_engine_world **out)
{
  *out = NULL;
  world *work = calloc(1, sizeof *work);
  if (work != NULL) {
    work->model = model;
    work->body = calloc((size_t)perp_model_bodies(model) + 1, sizeof *work->body);
    work->joint = calloc((size_t)perp_model_joints(model) + 1, sizeof *work->joint);
    work->shape = calloc((size_t)perp_model_shapes(model) + 1, sizeof *work->shape);
    work->drive = calloc((size_t)perp_model_drives(model) + 1, sizeof *work->drive);
  }
  perp_engine_state *start = calloc((size_t)perp_model_bodies(model) + 1, sizeof *start);
  perp_status status = PERP_OK;
  if (work == NULL || work->body == NULL || work->joint == NULL || work->shape == NULL ||
      work->drive == NULL || start == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the world of an engine");
  if (status == PERP_OK) status = perp_collision_create(ctx, model, 0, &work->collision);
  if (status == PERP_OK) {
    world_fill(work);
    perp_engine_state_of(model, perp_model_q0(model), perp_model_v0(model), start);
    for (int body = 0; body < perp_model_bodies(model); body++)
      work->body[body].start = start[body];
    work->w = (perp_engine_world){ .dim = perp_model_dim(model),
                                   .n_bodies = perp_model_bodies(model),
                                   .n_joints = perp_model_joints(model),
                                   .n_shapes = perp_model_shapes(model),
                                   .n_drives = perp_model_drives(model),
                                   .body = work->body,
                                   .joint = work->joint,
                                   .shape = work->shape,
                                   .drive = work->drive,
                                   .gravity = perp_model_gravity_of(model),
                                   .size = perp_model_size(model),
                                   .h = h,
                                   .touches = world_touches,
                                   .pair = world_pair,
                                   .fail = world_fail };
    *out = &work->w;
  } else if (work != NULL) {
    perp_engine_world_destroy(&work->w);
  }
  free(start);
  return status;
}

void perp_engine_world_destroy(perp_engine_world *out)
{
  world *work = (world *)(void *)out;
  if (work == NULL) return;
  perp_collision_destroy(work->collision);
  free(work->body);
  free(work->joint);
  free(work->shape);
  free(work->drive);
  free(work);
}
