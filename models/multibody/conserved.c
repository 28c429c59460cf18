/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/multibody/conserved.h"

#include "models/multibody/model_private.h"

#include <string.h>

static void conserved_nothing(perp_conserved *conserved)
{
  memset(conserved->P, 0, sizeof conserved->P);
  memset(conserved->L, 0, sizeof conserved->L);
}

/* Component k of the angular momentum is left about the axis k through the point alone. */
static void conserved_about(perp_conserved *conserved, double size, int k, const double point[3])
{
  if (!conserved->fixed[k]) {
    conserved->fixed[k] = true;
    memcpy(conserved->center[k], point, sizeof conserved->center[k]);
    return;
  }
  for (int i = 0; i < 3; i++)
    if (i != k && fabs(conserved->center[k][i] - point[i]) > 1e-12 * size) conserved->L[k] = false;
}

/* Something in the world that leaves momentum along the axis (line), angular momentum about it
 * (turn) or about every axis (all), through the point; NULL: through any. */
static void conserved_axis(perp_conserved *conserved, double size, const double axis[3], bool line,
                           bool turn, bool all, const double *point)
{
  const double length = axis != NULL ? sqrt(perp_dot(3, axis, axis)) : 0;
  for (int k = 0; k < 3; k++) {
    const bool along = length > 0 && fabs(axis[k]) >= (1 - 1e-14) * length;
    conserved->P[k] = conserved->P[k] && line && along;
    conserved->L[k] = conserved->L[k] && (all || (turn && along));
    if (conserved->L[k] && point != NULL) conserved_about(conserved, size, k, point);
  }
}

/* A joint of model.h between a body and the world. */
static void conserved_joint(perp_conserved *conserved, const perp_model *model,
                            const perp_joint_def *def)
{
  static const double plane[3] = { 0, 0, 1 };
  const bool first = def->a == PERP_WORLD, space = model->dim == 3;
  const double *point = first ? def->anchor_a : def->anchor_b,
               *axis = first ? def->axis_a : def->axis_b;
  switch (def->kind) {
  case PERP_JOINT_BALL:
  case PERP_JOINT_DISTANCE:
    conserved_axis(conserved, model->size, NULL, false, false, true, point);
    break;
  case PERP_JOINT_HINGE:
  case PERP_JOINT_UNIVERSAL:
    conserved_axis(conserved, model->size, space ? axis : plane, false, true, false, point);
    break;
  case PERP_JOINT_LINE:
    if (first)
      conserved_axis(conserved, model->size, axis, true, space, false, point);
    else
      conserved_axis(conserved, model->size, NULL, false, false, true, point);
    break;
  case PERP_JOINT_CYLINDRICAL:
    if (first)
      conserved_axis(conserved, model->size, axis, true, true, false, point);
    else
      conserved_nothing(conserved);
    break;
  case PERP_JOINT_SLIDER:
    if (first)
      conserved_axis(conserved, model->size, axis, true, false, false, NULL);
    else
      conserved_nothing(conserved);
    break;
  case PERP_JOINT_PLANAR:
    if (first) {
      const double length = sqrt(perp_dot(3, axis, axis));
      for (int k = 0; k < 3; k++) {
        conserved->P[k] = conserved->P[k] && fabs(axis[k]) <= 1e-14 * length;
        conserved->L[k] = conserved->L[k] && fabs(axis[k]) >= (1 - 1e-14) * length;
      }
    } else
      conserved_nothing(conserved);
    break;
  default:
    conserved_nothing(conserved);
  }
}

static void conserved_forces(perp_conserved *conserved, const perp_model *model)
{
  for (int i = 0; i < model->n_forces; i++) {
    const perp_force_def *def = &model->force_def[i];
    const unsigned caps = perp_force_promises(def);
    bool world = def->a == PERP_WORLD || def->b == PERP_WORLD, still = true;
    if (def->kind == PERP_FORCE_PLUGIN) {
      world = false;
      for (int body = 0; body < def->n_bodies; body++)
        world = world || def->body[body] == PERP_WORLD;
    }
    switch (def->kind) {
    case PERP_FORCE_POINT:
    case PERP_FORCE_TORQUE:
      for (int k = 0; k < 3; k++) {
        const bool zero = def->value[k] == 0 && def->value_signal[k] == 0,
                   force = def->kind == PERP_FORCE_POINT;
        still = still && zero;
        conserved->P[k] = conserved->P[k] && (zero || !force);
        conserved->L[k] = conserved->L[k] && zero && !force;
      }
      conserved->energy = conserved->energy && still;
      continue;
    case PERP_FORCE_SPRING:
      if (world)
        conserved_axis(conserved, model->size, NULL, false, false, true,
                       def->a == PERP_WORLD ? def->anchor_a : def->anchor_b);
      break;
    case PERP_FORCE_PAIRS:
      break;
    default:
      if (world || (caps & PERP_FORCE_INTERNAL) == 0) conserved_nothing(conserved);
    }
    if ((caps & PERP_FORCE_CONSERVATIVE) == 0 || (caps & PERP_FORCE_NEEDS_TIME) != 0)
      conserved->energy = false;
  }
}

static bool conserved_apart(const perp_shape_def *a, const perp_shape_def *b)
{
  return a->body == b->body || (a->group != 0 && a->group == b->group);
}

static void conserved_contacts(perp_conserved *conserved, const perp_model *model)
{
  enum { DIFFERENT = 16 };
  int kind[DIFFERENT], n = 0;
  for (int shape = 0; shape < model->n_shapes; shape++) {
    const perp_shape_def *def = &model->shape_def[shape];
    for (int k = 0; def->body < 0 && k < model->n_shapes; k++)
      if (model->shape_def[k].body >= 0 && !conserved_apart(def, &model->shape_def[k])) {
        conserved_nothing(conserved);
        break;
      }
  }
  if (!perp_model_collides(model)) return;
  conserved->elastic = conserved->elastic && !model->surfaces.belts;
  /* shapes with the same surface are one */
  for (int i = 0; i < model->n_shapes && conserved->elastic; i++) {
    const perp_surface *surface = &model->shape_def[i].surface;
    int k = 0;
    while (k < n && (surface->mu != model->shape_def[kind[k]].surface.mu ||
                     surface->restitution != model->shape_def[kind[k]].surface.restitution ||
                     surface->material != model->shape_def[kind[k]].surface.material ||
                     surface->torsion != model->shape_def[kind[k]].surface.torsion ||
                     surface->rolling != model->shape_def[kind[k]].surface.rolling))
      k++;
    if (k < n) continue;
    if (n == DIFFERENT)
      conserved->elastic = false;
    else
      kind[n++] = i;
  }
  for (int i = 0; i < n; i++)
    for (int k = 0; k <= i; k++) {
      const perp_surface surface = perp_surface_pair(model, &model->shape_def[kind[i]].surface,
                                                     &model->shape_def[kind[k]].surface);
      if (surface.mu > 0 || surface.restitution < 1 || surface.torsion > 0 || surface.rolling > 0)
        conserved->elastic = false;
    }
}

/* The world holds them, and takes their energy where they stop. */
static void conserved_disabled(perp_conserved *conserved, const perp_model *model)
{
  if (model->stops.n > 0) conserved->energy = false; /* that of springs goes with them */
  if (model->disabled.n > 0) conserved_nothing(conserved);
  for (int i = 0; i < model->disabled.n; i++)
    if (model->disabled.def[i].from.kind != PERP_CUE_TIME || model->disabled.def[i].from.time > 0)
      conserved->energy = false;
}

void perp_model_conserved(const perp_model *model, perp_conserved *conserved)
{
  const int up = model->dim - 1;
  *conserved = (perp_conserved){ .energy = true,
                                 .elastic = true,
                                 .P = { true, true, model->dim == 3 },
                                 .L = { model->dim == 3, model->dim == 3, true } };
  for (int i = 0; i < model->n_joints; i++) {
    const perp_joint_def *j = &model->joint_def[i];
    int pair[2], n;
    const int *body = perp_joint_bodies(j, pair, &n);
    bool world = false, motion = false;
    for (int k = 0; k < n; k++) {
      world = world || body[k] == PERP_WORLD;
      motion = motion || body[k] < PERP_WORLD;
    }
    if (motion || (j->kind == PERP_JOINT_PLUGIN &&
                   (world || (j->plugin->d.caps & PERP_JOINT_INVARIANT) == 0)))
      conserved_nothing(conserved);
    else if (world)
      conserved_joint(conserved, model, j);
    if (perp_joint_plugin_moves(j)) conserved->energy = false;
  }
  for (int i = 0; i < model->m; i++)
    if (model->soft.damping[i] > 0 ||
        (model->soft.softness[i] > 0 && !(model->soft.stiffness[i] > 0)))
      conserved->energy = false;
  if (model->driven) conserved->energy = false;
  conserved_forces(conserved, model);
  for (int i = 0; i < model->n_drives; i++) {
    const perp_drive_def *d = &model->drive_def[i];
    const perp_joint_def *j = &model->joint_def[d->joint];
    const bool limits = d->lower > -HUGE_VAL || d->upper<HUGE_VAL, motor = d->max_force> 0;
    if (d->gravity_compensation) conserved->energy = false;
    if (!limits && !motor && !d->gravity_compensation) continue;
    if (j->a < 0 || j->b < 0) conserved_nothing(conserved);
    if (limits && d->lower < d->upper && d->restitution < 1) conserved->elastic = false;
    /* a spring alone is elastic; a motor, a damper, a target that moves do work */
    if (motor &&
        (!(d->stiffness > 0) || d->damping > 0 || d->turning != NULL || d->target_signal != 0))
      conserved->energy = false;
  }
  conserved_contacts(conserved, model);
  conserved_disabled(conserved, model);
  if (model->signals.gravity != 0) conserved->energy = conserved->P[up] = false;
  if (model->gravity == 0 && model->signals.gravity == 0) return;
  /* weight acts at the centre of mass: it has a torque about any other axis that is not vertical */
  for (int k = 0; k < 3; k++)
    if (conserved->fixed[k] && (model->dim == 2 || k != up)) conserved->L[k] = false;
}
