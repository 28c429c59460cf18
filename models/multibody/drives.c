/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drives: limits, motors, servo springs and dry friction on the coordinates that a joint leaves
 * free (Vondrak 2005, section 7.4; Cline 2002, section 4.4.1; STAR 2012, eq. 49).
 *
 *      turning   x = angle from r_a to r_b about n,   xdot = n . (w_b - w_a)
 *                                                     xddot = n . (w_b' - w_a') + ndot . (w_b - w_a)
 *      sliding   x = n . (p_b - p_a)
 *
 * n is fixed in a (axis_a) or in b (axis_b); r_a and r_b are directions fixed in a and b, across n,
 * that coincide at the start: with two axes, n_a and n_b, each is the reference of the other one.
 * xdot is exact where the joint holds. x is counted from its initial value, which is `zero`.
 *
 * Rows: Vondrak 2005, eq. 7.5 and 7.6 (turning, sliding). Dry friction is a motor of velocity 0 and
 * bounded force: STAR 2012, eq. 26. */
#include "models/multibody/model_private.h"

#include <string.h>

static const double at_rest[6] = { 0 }; /* velocity of the world */

/* two axes at a right angle */
static bool drives_crossed(perp_joint_kind kind)
{
  return kind == PERP_JOINT_UNIVERSAL || kind == PERP_JOINT_WHEEL;
}

bool perp_drive_serves(perp_joint_kind kind, int dim, perp_drive_axis axis)
{
  const bool slides = kind == PERP_JOINT_SLIDER || kind == PERP_JOINT_LINE;
  const bool turns = kind == PERP_JOINT_HINGE || (kind == PERP_JOINT_BALL && dim == 2);
  switch (axis) {
  case PERP_DRIVE_A:
    return slides || turns || drives_crossed(kind);
  case PERP_DRIVE_B:
    return drives_crossed(kind);
  case PERP_DRIVE_ALONG:
    return slides || kind == PERP_JOINT_WHEEL;
  }
  return false;
}

/* n in the world */
static void drives_direction(int d, const perp_eval *e, const perp_drive *k, double n[3])
{
  perp_turn(d, e->pose[k->in_b ? k->b : k->a].R, k->axis, n);
}

/* value that is not yet counted from `zero` */
static double drives_raw(const perp_model *m, const perp_eval *e, const perp_drive *k)
{
  const perp_pose *A = &e->pose[k->a], *B = &e->pose[k->b];
  const int d = m->dim;
  double ra[3], rb[3], n[3] = { 0 }, c[3] = { 0 };
  if (k->slides) return perp_joint_along(d, A, B, k->sa, k->sb, k->axis, 1, NULL, NULL);
  perp_turn(d, A->R, k->ref_a, ra);
  perp_turn(d, B->R, k->ref_b, rb);
  if (d == 2) return atan2(ra[0] * rb[1] - ra[1] * rb[0], perp_dot(2, ra, rb));
  drives_direction(d, e, k, n);
  perp_cross(ra, rb, c);
  return atan2(perp_dot(3, n, c), perp_dot(3, ra, rb));
}

static void drives_normalize(int d, double *u)
{
  const double length = sqrt(perp_dot(d, u, u));
  for (int i = 0; i < d; i++) u[i] /= length;
}

/* r_a and r_b: the other axis, or the direction across the axis that is closest to a coordinate
 * axis of a */
static void drives_refer(const perp_model *m, const perp_eval *e, const perp_joint_def *j,
                         perp_drive *k)
{
  const int d = m->dim;
  const double *Ra = e->pose[k->a].R, *Rb = e->pose[k->b].R;
  double r[3] = { 0 }, world[3];
  int least = 0;
  for (int i = 1; i < d; i++)
    if (fabs(k->axis[i]) < fabs(k->axis[least])) least = i;
  for (int i = 0; i < d; i++) r[i] = (i == least) - k->axis[i] * k->axis[least];
  perp_turn(d, Ra, r, world);
  if (drives_crossed(j->kind))
    perp_turn(d, k->in_b ? Ra : Rb, k->in_b ? j->axis_a : j->axis_b, world);
  drives_normalize(d, world);
  perp_turn_back(d, Ra, world, k->ref_a);
  perp_turn_back(d, Rb, world, k->ref_b);
}

void perp_drive_compile(const perp_model *m, const perp_eval *e, int index, perp_drive *k)
{
  const perp_drive_def *def = &m->drive_def[index];
  const perp_joint_def *j = &m->joint_def[def->joint];
  const int d = m->dim;
  *k = (perp_drive){ .a = j->a, .b = j->b, .in_b = def->axis == PERP_DRIVE_B };
  k->slides = def->axis == PERP_DRIVE_ALONG ||
              (def->axis == PERP_DRIVE_A && perp_drive_serves(j->kind, d, PERP_DRIVE_ALONG) &&
               !drives_crossed(j->kind));
  memcpy(k->sa, j->anchor_a, sizeof k->sa);
  memcpy(k->sb, j->anchor_b, sizeof k->sb);
  if (d == 3 || k->slides) {
    memcpy(k->axis, k->in_b ? j->axis_b : j->axis_a, (size_t)d * sizeof *k->axis);
    drives_normalize(d, k->axis);
  }
  if (!k->slides) drives_refer(m, e, j, k);
  k->offset = def->zero - drives_raw(m, e, k);
}

double perp_drive_row(const perp_model *m, const perp_eval *e, int index, double *Ja, double *Jb)
{
  const perp_drive *k = &m->drive[index];
  const perp_pose *A = &e->pose[k->a], *B = &e->pose[k->b];
  const int d = m->dim;
  double n[3];
  memset(Ja, 0, (size_t)m->nvb * sizeof *Ja);
  memset(Jb, 0, (size_t)m->nvb * sizeof *Jb);
  if (k->slides) return perp_joint_along(d, A, B, k->sa, k->sb, k->axis, 1, Ja, Jb) + k->offset;
  if (d == 2) {
    Ja[2] = -1;
    Jb[2] = 1;
  } else {
    drives_direction(d, e, k, n);
    perp_turn_back(3, A->R, n, Ja + 3);
    perp_turn_back(3, B->R, n, Jb + 3);
    for (int i = 3; i < 6; i++) Ja[i] = -Ja[i];
  }
  return drives_raw(m, e, k) + k->offset;
}

double perp_drive_bias(const perp_model *m, const perp_eval *e, int index, const double *v)
{
  const perp_drive *k = &m->drive[index];
  const perp_pose *A = &e->pose[k->a], *B = &e->pose[k->b];
  const int d = m->dim;
  const double *va = k->a < 0 ? at_rest : v + k->a * m->nvb;
  const double *vb = k->b < 0 ? at_rest : v + k->b * m->nvb;
  double n[3], ndot[3], wa[3], wb[3];
  if (k->slides) return perp_joint_along_bias(d, A, B, k->sa, k->sb, k->axis, va, vb);
  if (d == 2) return 0;
  drives_direction(d, e, k, n);
  perp_turn(3, A->R, va + 3, wa);
  perp_turn(3, B->R, vb + 3, wb);
  perp_cross(k->in_b ? wb : wa, n, ndot);
  return perp_dot(3, ndot, wb) - perp_dot(3, ndot, wa);
}

double perp_model_drive_coordinate(const perp_model *model, const double *q, int i)
{
  perp_eval e = model->eval;
  perp_eval_poses(&e, model, 0, q); /* no drive is at a motion */
  return drives_raw(model, &e, &model->drive[i]) + model->drive[i].offset;
}

int perp_model_drives(const perp_model *model)
{
  return model->n_drives;
}

const perp_drive_def *perp_model_drive(const perp_model *model, int i)
{
  return i >= 0 && i < model->n_drives ? &model->drive_def[i] : NULL;
}
