/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/multibody/conserved.h"

#include "models/multibody/model_private.h"

#include <string.h>

static void conserved_nothing(perp_conserved *c)
{
  memset(c->P, 0, sizeof c->P);
  memset(c->L, 0, sizeof c->L);
}

/* Component k of the angular momentum is left about the axis k through the point alone. */
static void conserved_about(perp_conserved *c, double size, int k, const double point[3])
{
  if (!c->fixed[k]) {
    c->fixed[k] = true;
    memcpy(c->center[k], point, sizeof c->center[k]);
    return;
  }
  for (int i = 0; i < 3; i++)
    if (i != k && fabs(c->center[k][i] - point[i]) > 1e-12 * size) c->L[k] = false;
}

/* Something in the world that leaves momentum along the axis (line), angular momentum about it
 * (turn) or about every axis (all), through the point; NULL: through any. */
static void conserved_axis(perp_conserved *c, double size, const double axis[3], bool line,
                           bool turn, bool all, const double *point)
{
  const double length = axis != NULL ? sqrt(perp_dot(3, axis, axis)) : 0;
  for (int k = 0; k < 3; k++) {
    const bool along = length > 0 && fabs(axis[k]) >= (1 - 1e-14) * length;
    c->P[k] = c->P[k] && line && along;
    c->L[k] = c->L[k] && (all || (turn && along));
    if (c->L[k] && point != NULL) conserved_about(c, size, k, point);
  }
}

static void conserved_planar(perp_conserved *c, const double axis[3])
{
  const double length = sqrt(perp_dot(3, axis, axis));
  for (int k = 0; k < 3; k++) {
    c->P[k] = c->P[k] && fabs(axis[k]) <= 1e-14 * length;
    c->L[k] = c->L[k] && fabs(axis[k]) >= (1 - 1e-14) * length;
  }
}

/* A joint of model.h between a body and the world. */
static void conserved_joint(perp_conserved *c, const perp_model *m, const perp_joint_def *j)
{
  static const double plane[3] = { 0, 0, 1 };
  const bool first = j->a == PERP_WORLD, space = m->dim == 3;
  const double *point = first ? j->anchor_a : j->anchor_b, *axis = first ? j->axis_a : j->axis_b;
  switch (j->kind) {
  case PERP_JOINT_BALL:
  case PERP_JOINT_DISTANCE:
    conserved_axis(c, m->size, NULL, false, false, true, point);
    break;
  case PERP_JOINT_HINGE:
  case PERP_JOINT_UNIVERSAL:
    conserved_axis(c, m->size, space ? axis : plane, false, true, false, point);
    break;
  case PERP_JOINT_LINE:
    if (first)
      conserved_axis(c, m->size, axis, true, space, false, point);
    else
      conserved_axis(c, m->size, NULL, false, false, true, point);
    break;
  case PERP_JOINT_CYLINDRICAL:
    if (first)
      conserved_axis(c, m->size, axis, true, true, false, point);
    else
      conserved_nothing(c);
    break;
  case PERP_JOINT_SLIDER:
    if (first)
      conserved_axis(c, m->size, axis, true, false, false, NULL);
    else
      conserved_nothing(c);
    break;
  case PERP_JOINT_PLANAR:
    if (first)
      conserved_planar(c, axis);
    else
      conserved_nothing(c);
    break;
  default:
    conserved_nothing(c);
  }
}

static void conserved_joints(perp_conserved *c, const perp_model *m)
{
  for (int i = 0; i < m->n_joints; i++) {
    const perp_joint_def *j = &m->joint_def[i];
    int pair[2], n;
    const int *body = perp_joint_bodies(j, pair, &n);
    bool world = false, motion = false;
    for (int k = 0; k < n; k++) {
      world = world || body[k] == PERP_WORLD;
      motion = motion || body[k] < PERP_WORLD;
    }
    if (motion || (j->kind == PERP_JOINT_PLUGIN &&
                   (world || (j->plugin->d.caps & PERP_JOINT_INVARIANT) == 0)))
      conserved_nothing(c);
    else if (world)
      conserved_joint(c, m, j);
    if (perp_joint_plugin_moves(j)) c->energy = false;
  }
  for (int i = 0; i < m->m; i++)
    if (m->soft.damping[i] > 0 || (m->soft.softness[i] > 0 && !(m->soft.stiffness[i] > 0)))
      c->energy = false;
  if (m->driven) c->energy = false;
}

static void conserved_forces(perp_conserved *c, const perp_model *m)
{
  for (int i = 0; i < m->n_forces; i++) {
    const perp_force_def *f = &m->force_def[i];
    const unsigned caps = perp_force_promises(f);
    bool world = f->a == PERP_WORLD || f->b == PERP_WORLD, still = true;
    if (f->kind == PERP_FORCE_PLUGIN) {
      world = false;
      for (int k = 0; k < f->n_bodies; k++) world = world || f->body[k] == PERP_WORLD;
    }
    switch (f->kind) {
    case PERP_FORCE_POINT:
    case PERP_FORCE_TORQUE:
      for (int k = 0; k < 3; k++) {
        const bool zero = f->value[k] == 0 && f->value_signal[k] == 0,
                   force = f->kind == PERP_FORCE_POINT;
        still = still && zero;
        c->P[k] = c->P[k] && (zero || !force);
        c->L[k] = c->L[k] && zero && !force;
      }
      c->energy = c->energy && still;
      continue;
    case PERP_FORCE_SPRING:
      if (world)
        conserved_axis(c, m->size, NULL, false, false, true,
                       f->a == PERP_WORLD ? f->anchor_a : f->anchor_b);
      break;
    case PERP_FORCE_PAIRS:
      break;
    default:
      if (world || (caps & PERP_FORCE_INTERNAL) == 0) conserved_nothing(c);
    }
    if ((caps & PERP_FORCE_CONSERVATIVE) == 0 || (caps & PERP_FORCE_NEEDS_TIME) != 0)
      c->energy = false;
  }
}

static void conserved_drives(perp_conserved *c, const perp_model *m)
{
  for (int i = 0; i < m->n_drives; i++) {
    const perp_drive_def *d = &m->drive_def[i];
    const perp_joint_def *j = &m->joint_def[d->joint];
    const bool limits = d->lower > -HUGE_VAL || d->upper<HUGE_VAL, motor = d->max_force> 0;
    if (!limits && !motor) continue;
    if (j->a < 0 || j->b < 0) conserved_nothing(c);
    if (limits && d->lower < d->upper && d->restitution < 1) c->elastic = false;
    /* a spring alone is elastic; a motor, a damper, a target that moves do work */
    if (motor &&
        (!(d->stiffness > 0) || d->damping > 0 || d->turning != NULL || d->target_signal != 0))
      c->energy = false;
  }
}

static bool conserved_apart(const perp_shape_def *a, const perp_shape_def *b)
{
  return a->body == b->body || (a->group != 0 && a->group == b->group);
}

static void conserved_contacts(perp_conserved *c, const perp_model *m)
{
  enum { DIFFERENT = 16 };
  int kind[DIFFERENT], n = 0;
  for (int i = 0; i < m->n_shapes; i++) {
    const perp_shape_def *a = &m->shape_def[i];
    for (int k = 0; a->body < 0 && k < m->n_shapes; k++)
      if (m->shape_def[k].body >= 0 && !conserved_apart(a, &m->shape_def[k])) {
        conserved_nothing(c);
        break;
      }
  }
  if (!perp_model_collides(m)) return;
  c->elastic = c->elastic && !m->surfaces.belts;
  /* shapes with the same surface are one */
  for (int i = 0; i < m->n_shapes && c->elastic; i++) {
    const perp_surface *s = &m->shape_def[i].surface;
    int k = 0;
    while (k < n && (s->mu != m->shape_def[kind[k]].surface.mu ||
                     s->restitution != m->shape_def[kind[k]].surface.restitution ||
                     s->material != m->shape_def[kind[k]].surface.material ||
                     s->torsion != m->shape_def[kind[k]].surface.torsion ||
                     s->rolling != m->shape_def[kind[k]].surface.rolling))
      k++;
    if (k < n) continue;
    if (n == DIFFERENT)
      c->elastic = false;
    else
      kind[n++] = i;
  }
  for (int i = 0; i < n; i++)
    for (int k = 0; k <= i; k++) {
      const perp_surface s = perp_surface_pair(m, &m->shape_def[kind[i]].surface,
                                               &m->shape_def[kind[k]].surface);
      if (s.mu > 0 || s.restitution < 1 || s.torsion > 0 || s.rolling > 0) c->elastic = false;
    }
}

/* The world holds them, and takes their energy where they stop. */
static void conserved_disabled(perp_conserved *c, const perp_model *m)
{
  if (m->stops.n > 0) c->energy = false; /* that of springs goes with them */
  if (m->disabled.n > 0) conserved_nothing(c);
  for (int i = 0; i < m->disabled.n; i++)
    if (m->disabled.def[i].from.kind != PERP_CUE_TIME || m->disabled.def[i].from.time > 0)
      c->energy = false;
}

void perp_model_conserved(const perp_model *m, perp_conserved *c)
{
  const int up = m->dim - 1;
  *c = (perp_conserved){ .energy = true,
                         .elastic = true,
                         .P = { true, true, m->dim == 3 },
                         .L = { m->dim == 3, m->dim == 3, true } };
  conserved_joints(c, m);
  conserved_forces(c, m);
  conserved_drives(c, m);
  conserved_contacts(c, m);
  conserved_disabled(c, m);
  if (m->signals.gravity != 0) c->energy = c->P[up] = false;
  if (m->gravity == 0 && m->signals.gravity == 0) return;
  /* weight acts at the centre of mass: it has a torque about any other axis that is not vertical */
  for (int k = 0; k < 3; k++)
    if (c->fixed[k] && (m->dim == 2 || k != up)) c->L[k] = false;
}
