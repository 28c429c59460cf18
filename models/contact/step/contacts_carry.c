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
static bool contacts_carry_side(const perp_shape_def *shape, const perp_pose *pose,
                                const double n[3])
{
  static const double FLAT = 0.03; /* rad: normals of a flat end, as in collision/solids.c */
  double R[9], axis[3], cross[3];
  perp_quat_matrix(shape->quat, R);
  perp_turn(3, pose->R, R, axis);
  perp_cross(n, axis, cross);
  const double along = perp_dot(3, n, axis), across = sqrt(perp_dot(3, cross, cross));
  if (shape->kind == PERP_SHAPE_CONE &&
      shape->length * along > shape->radius * across + FLAT * shape->length)
    return false; /* the apex */
  return across > FLAT || (shape->kind == PERP_SHAPE_CONE && along > 0);
}

static bool contacts_carry_round(const perp_contacts *contacts, const perp_contact *contact,
                                 int side, const perp_pose *pose)
{
  const perp_shape_def *shape = &contacts->model->shape_def[contact->shape[side]];
  const double sign = side == 0 ? 1 : -1,
               n[3] = { sign * contact->n[0], sign * contact->n[1], sign * contact->n[2] };
  switch (shape->kind) {
  case PERP_SHAPE_SPHERE:
  case PERP_SHAPE_CAPSULE:
  case PERP_SHAPE_ELLIPSOID:
    return true;
  case PERP_SHAPE_CYLINDER:
  case PERP_SHAPE_CONE:
    return contacts_carry_side(shape, &pose[contact->body[side]], n);
  case PERP_SHAPE_BOX:
  case PERP_SHAPE_POLYTOPE:
  case PERP_SHAPE_MESH:
  case PERP_SHAPE_HEIGHT_FIELD:
  case PERP_SHAPE_PLANE:
    break;
  }
  return false;
}

static int contacts_carry_turns(const perp_contacts *contacts, const perp_contact *contact,
                                const bool round[2])
{
  int best = -1, rank = 0;
  for (int side = 0; side < 2; side++) {
    if (round[side]) continue;
    const bool plane = contacts->model->shape_def[contact->shape[side]].kind == PERP_SHAPE_PLANE;
    const int mine = plane ? 3 : contact->body[side] < 0 ? 2 : 1;
    if (mine > rank) best = side;
    rank = mine > rank ? mine : rank;
  }
  return best;
}

/* does the vector of this side take part in the turning of its body? */
static bool contacts_carry_follows(const perp_contact *contact, const perp_contact_carry *carry,
                                   int side)
{
  return contact->body[side] >= 0 && !carry->round[side];
}

PERP_INLINE void carry_start(perp_contacts *contacts, const perp_eval *eval, const int dim)
{
  for (int i = 0; i < contacts->task.n; i++) {
    const perp_contact *contact = &contacts->task.contact[i];
    perp_contact_carry *carry = &contacts->parts.carry[i];
    *carry = (perp_contact_carry){ .round = {
                                       contacts_carry_round(contacts, contact, 0, eval->pose),
                                       contacts_carry_round(contacts, contact, 1, eval->pose) } };
    carry->turns = (signed char)contacts_carry_turns(contacts, contact, carry->round);
    for (int side = 0; side < 2; side++) {
      const perp_pose *pose = &eval->pose[contact->body[side]];
      double r[3] = { contact->p[side][0], contact->p[side][1], contact->p[side][2] };
      for (int k = 0; k < dim && contact->body[side] >= 0; k++) r[k] -= pose->x[k];
      memcpy(carry->arm[side], r, sizeof r);
      if (contacts_carry_follows(contact, carry, side))
        perp_turn_back(dim, pose->R, r, carry->arm[side]);
    }
    memcpy(carry->n, contact->n, sizeof carry->n);
    if (carry->turns >= 0 && contact->body[carry->turns] >= 0)
      perp_turn_back(dim, eval->pose[contact->body[carry->turns]].R, contact->n, carry->n);
  }
}

void perp_contacts_carry_start(perp_contacts *contacts, const perp_eval *eval)
{
  if (contacts->model->dim == 3)
    carry_start(contacts, eval, 3);
  else
    carry_start(contacts, eval, 2);
  if (contacts->task.n > 0)
    memcpy(contacts->parts.carried, contacts->task.contact,
           (size_t)contacts->task.n * sizeof *contacts->parts.carried);
  contacts->task.contact = contacts->parts.carried;
  if (contacts->task.n > 0)
    memset(contacts->parts.total, 0, 3 * (size_t)contacts->task.n * sizeof *contacts->parts.total);
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

void perp_contacts_carry_to(perp_contacts *contacts, const perp_eval *eval)
{
  if (contacts->model->dim == 3)
    carry_to(contacts, eval, 3);
  else
    carry_to(contacts, eval, 2);
}
