/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drives: limits, motors, servo springs and dry friction on the coordinate that a hinge or slider leaves free
 * (Vondrak 2005, section 7.4; Cline 2002, section 4.4.1; STAR 2012, eq. 49).
 *
 *      hinge    x = angle from r_a to r_b about the axis,   xdot = n . (w_b - w_a)
 *      slider   x = n . (p_b - p_a)
 *
 * n = axis_a, r_a and r_b directions fixed in a and b that coincide at the start; x is counted from its
 * initial value, which is `zero`. */
#include "models/model_private.h"

#include <string.h>

bool perp_drive_serves(perp_joint_kind kind, int dim)
{
  return kind == PERP_JOINT_SLIDER || kind == PERP_JOINT_HINGE ||
         (kind == PERP_JOINT_BALL && dim == 2);
}

/* value that is not yet counted from `zero` */
static double raw(const perp_model *m, const perp_eval *e, const perp_drive *k)
{
  const perp_pose *A = &e->pose[k->a], *B = &e->pose[k->b];
  const int d = m->dim;
  double ra[3], rb[3], n[3] = { 0 }, c[3] = { 0 };
  if (k->slides) {
    perp_turn(d, A->R, k->sa, ra);
    perp_turn(d, B->R, k->sb, rb);
    for (int i = 0; i < d; i++) c[i] = (B->x[i] + rb[i]) - (A->x[i] + ra[i]);
    perp_turn(d, A->R, k->axis, n);
    return perp_dot(d, n, c);
  }
  perp_turn(d, A->R, k->ref_a, ra);
  perp_turn(d, B->R, k->ref_b, rb);
  if (d == 2) return atan2(ra[0] * rb[1] - ra[1] * rb[0], perp_dot(2, ra, rb));
  perp_turn(3, A->R, k->axis, n);
  perp_cross(ra, rb, c);
  return atan2(perp_dot(3, n, c), perp_dot(3, ra, rb));
}

void perp_drive_compile(const perp_model *m, const perp_eval *e, int index, perp_drive *k)
{
  const perp_drive_def *def = &m->drive_def[index];
  const perp_joint_def *j = &m->joint_def[def->joint];
  const int d = m->dim;
  *k = (perp_drive){ .a = j->a, .b = j->b, .slides = j->kind == PERP_JOINT_SLIDER };
  memcpy(k->sa, j->anchor_a, sizeof k->sa);
  memcpy(k->sb, j->anchor_b, sizeof k->sb);
  if (d == 3 || k->slides) {
    const double length = sqrt(perp_dot(d, j->axis_a, j->axis_a));
    for (int i = 0; i < d; i++) k->axis[i] = j->axis_a[i] / length;
  }
  if (!k->slides) {
    /* the unit vector across the axis that is closest to a coordinate axis of a */
    int least = 0;
    for (int i = 1; i < d; i++)
      if (fabs(k->axis[i]) < fabs(k->axis[least])) least = i;
    double r[3] = { 0 }, world[3];
    for (int i = 0; i < d; i++) r[i] = (i == least) - k->axis[i] * k->axis[least];
    const double length = sqrt(perp_dot(d, r, r));
    for (int i = 0; i < d; i++) k->ref_a[i] = r[i] / length;
    perp_turn(d, e->pose[k->a].R, k->ref_a, world);
    perp_turn_back(d, e->pose[k->b].R, world, k->ref_b);
  }
  k->offset = def->zero - raw(m, e, k);
}

double perp_drive_row(const perp_model *m, const perp_eval *e, int index, double *Ja, double *Jb)
{
  const perp_drive *k = &m->drive[index];
  const perp_pose *A = &e->pose[k->a], *B = &e->pose[k->b];
  const int d = m->dim;
  double n[3] = { 0 }, local[3], x = raw(m, e, k) + k->offset;
  memset(Ja, 0, (size_t)m->nvb * sizeof *Ja);
  memset(Jb, 0, (size_t)m->nvb * sizeof *Jb);
  if (!k->slides) {
    if (d == 2) {
      Ja[2] = -1;
      Jb[2] = 1;
    } else {
      for (int i = 0; i < 3; i++) Ja[3 + i] = -k->axis[i];
      perp_turn(3, A->R, k->axis, n);
      perp_turn_back(3, B->R, n, local);
      for (int i = 0; i < 3; i++) Jb[3 + i] = local[i];
    }
    return x;
  }
  /* d(n . (p_b - p_a)): as the `along` row of joints.c */
  double ra[3], rb[3], delta[3] = { 0 }, D[9];
  perp_turn(d, A->R, k->axis, n);
  perp_turn(d, A->R, k->sa, ra);
  perp_turn(d, B->R, k->sb, rb);
  for (int i = 0; i < d; i++) delta[i] = (B->x[i] + rb[i]) - (A->x[i] + ra[i]);
  perp_direction_jacobian(d, A->R, k->sa, D);
  for (int i = 0; i < d; i++) Ja[i] = -n[i];
  for (int i = 0; i < perp_rates(d); i++) Ja[d + i] = -perp_dot(d, n, D + d * i);
  perp_direction_jacobian(d, A->R, k->axis, D);
  for (int i = 0; i < perp_rates(d); i++) Ja[d + i] += perp_dot(d, delta, D + d * i);
  perp_direction_jacobian(d, B->R, k->sb, D);
  for (int i = 0; i < d; i++) Jb[i] = n[i];
  for (int i = 0; i < perp_rates(d); i++) Jb[d + i] = perp_dot(d, n, D + d * i);
  return x;
}

double perp_model_drive_coordinate(const perp_model *model, const double *q, int i)
{
  perp_eval e = model->eval;
  perp_eval_poses(&e, model, q);
  return raw(model, &e, &model->drive[i]) + model->drive[i].offset;
}

int perp_model_drives(const perp_model *model)
{
  return model->n_drives;
}

const perp_drive_def *perp_model_drive(const perp_model *model, int i)
{
  return i >= 0 && i < model->n_drives ? &model->drive_def[i] : NULL;
}
