/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts between detections: points and normals go with their bodies,
 *
 *      p_s = x_s + R_s a_s,   n = R_s n_s,   gap = n . (p_1 - p_0)
 *
 * with a_s and n_s as they were found.  A normal turns with a plane, else with the world, else with
 * the first body that has faces.  A round shape rolls: its point keeps its place below the centre,
 * a_s is in the axes of the world, and so is the normal of two of them.  Along the surface the
 * contact goes with the round one, or with the one that moves where the other is the world, else
 * halfway.  Exact for faces, vertices and spheres that slide, turn and roll on the world; of first
 * order in the length of the step for others, as a contact that is linearized for the whole step.
 */
#include "models/contact/step/step_contacts.h"

#include <string.h>

/* A cylinder or a cone at pose: does it touch with its side or its rim, and not with a flat end or
 * its apex? */
static bool contacts_carry_side(const perp_shape_def *s, const perp_pose *pose, const double n[3])
{
  static const double FLAT = 0.03; /* rad: normals of a flat end, as in collision/solids.c */
  double R[9], axis[3], cross[3];
  perp_quat_matrix(s->quat, R);
  perp_turn(3, pose->R, R, axis);
  perp_cross(n, axis, cross);
  const double along = perp_dot(3, n, axis), across = sqrt(perp_dot(3, cross, cross));
  if (s->kind == PERP_SHAPE_CONE && s->length * along > s->radius * across + FLAT * s->length)
    return false; /* the apex */
  return across > FLAT || (s->kind == PERP_SHAPE_CONE && along > 0);
}

static bool contacts_carry_round(const perp_contacts *c, const perp_contact *x, int side,
                                 const perp_pose *pose)
{
  const perp_shape_def *s = &c->model->shape_def[x->shape[side]];
  const double sign = side == 0 ? 1 : -1, n[3] = { sign * x->n[0], sign * x->n[1], sign * x->n[2] };
  switch (s->kind) {
  case PERP_SHAPE_SPHERE:
  case PERP_SHAPE_CAPSULE:
  case PERP_SHAPE_ELLIPSOID:
    return true;
  case PERP_SHAPE_CYLINDER:
  case PERP_SHAPE_CONE:
    return contacts_carry_side(s, &pose[x->body[side]], n);
  case PERP_SHAPE_BOX:
  case PERP_SHAPE_POLYTOPE:
  case PERP_SHAPE_MESH:
  case PERP_SHAPE_HEIGHT_FIELD:
  case PERP_SHAPE_PLANE:
    break;
  }
  return false;
}

static int contacts_carry_turns(const perp_contacts *c, const perp_contact *x, const bool round[2])
{
  int best = -1, rank = 0;
  for (int side = 0; side < 2; side++) {
    if (round[side]) continue;
    const bool plane = c->model->shape_def[x->shape[side]].kind == PERP_SHAPE_PLANE;
    const int mine = plane ? 3 : x->body[side] < 0 ? 2 : 1;
    if (mine > rank) best = side;
    rank = mine > rank ? mine : rank;
  }
  return best;
}

/* does the vector of this side take part in the turning of its body? */
static bool contacts_carry_follows(const perp_contact *x, const perp_contact_carry *y, int side)
{
  return x->body[side] >= 0 && !y->round[side];
}

PERP_INLINE void carry_start(perp_contacts *c, const perp_eval *e, const int dim)
{
  for (int i = 0; i < c->task.n; i++) {
    const perp_contact *x = &c->task.contact[i];
    perp_contact_carry *y = &c->parts.carry[i];
    *y = (perp_contact_carry){ .round = { contacts_carry_round(c, x, 0, e->pose),
                                          contacts_carry_round(c, x, 1, e->pose) } };
    y->turns = (signed char)contacts_carry_turns(c, x, y->round);
    for (int side = 0; side < 2; side++) {
      const perp_pose *pose = &e->pose[x->body[side]];
      double r[3] = { x->p[side][0], x->p[side][1], x->p[side][2] };
      for (int k = 0; k < dim && x->body[side] >= 0; k++) r[k] -= pose->x[k];
      memcpy(y->arm[side], r, sizeof r);
      if (contacts_carry_follows(x, y, side)) perp_turn_back(dim, pose->R, r, y->arm[side]);
    }
    memcpy(y->n, x->n, sizeof y->n);
    if (y->turns >= 0 && x->body[y->turns] >= 0)
      perp_turn_back(dim, e->pose[x->body[y->turns]].R, x->n, y->n);
  }
}

void perp_contacts_carry_start(perp_contacts *c, const perp_eval *e)
{
  if (c->model->dim == 3)
    carry_start(c, e, 3);
  else
    carry_start(c, e, 2);
  if (c->task.n > 0)
    memcpy(c->parts.carried, c->task.contact, (size_t)c->task.n * sizeof *c->parts.carried);
  c->task.contact = c->parts.carried;
  if (c->task.n > 0) memset(c->parts.total, 0, 3 * (size_t)c->task.n * sizeof *c->parts.total);
}

PERP_INLINE void carry_to(perp_contacts *c, const perp_eval *e, const int dim)
{
  for (int i = 0; i < c->task.n; i++) {
    perp_contact *x = &c->parts.carried[i];
    const perp_contact_carry *y = &c->parts.carry[i];
    /* the side that the place along the surface goes with, -1: both */
    const int place = x->body[0] < 0               ? 1
                      : x->body[1] < 0             ? 0
                      : y->round[0] == y->round[1] ? -1
                                                   : y->round[1];
    if (y->turns >= 0 && x->body[y->turns] >= 0)
      perp_turn(dim, e->pose[x->body[y->turns]].R, y->n, x->n);
    for (int side = 0; side < 2; side++) {
      const perp_pose *pose = &e->pose[x->body[side]];
      double r[3] = { y->arm[side][0], y->arm[side][1], y->arm[side][2] };
      if (x->body[side] < 0) continue;
      if (contacts_carry_follows(x, y, side)) perp_turn(dim, pose->R, y->arm[side], r);
      for (int k = 0; k < dim; k++) x->p[side][k] = pose->x[k] + r[k];
    }
    x->gap = 0;
    for (int k = 0; k < dim; k++) x->gap += x->n[k] * (x->p[1][k] - x->p[0][k]);
    for (int k = 0; k < dim && place == 1; k++) x->p[0][k] = x->p[1][k] - x->gap * x->n[k];
    for (int k = 0; k < dim && place == 0; k++) x->p[1][k] = x->p[0][k] + x->gap * x->n[k];
  }
}

void perp_contacts_carry_to(perp_contacts *c, const perp_eval *e)
{
  if (c->model->dim == 3)
    carry_to(c, e, 3);
  else
    carry_to(c, e, 2);
}
