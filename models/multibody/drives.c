/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drives: limits, motors, servo springs and dry friction on the coordinates that a joint leaves
 * free (Vondrak 2005, section 7.4; Cline 2002, section 4.4.1; STAR 2012, eq. 49).
 *
 *      turning   x = angle from r_a to r_b about n,   xdot = n . (w_b - w_a)
 *                                                     xddot = n . (w_b' - w_a') + ndot . (w_b -
 * w_a) sliding   x = n . (p_b - p_a)
 *
 * n is fixed in a (axis_a) or in b (axis_b); r_a and r_b are directions fixed in a and b, across n,
 * that coincide at the start: with two axes, n_a and n_b, each is the reference of the other one.
 * xdot is exact where the joint holds. x is counted from its initial value, which is `zero`.
 *
 * Angles of a ball joint, with the axes a of a and b of b, c = a . b and the node n = a x b / |a x
 * b|:
 *
 *      xdot = g . (w_b - w_a),   g = (a - c b) / (1 - c^2),   n,   (b - c a) / (1 - c^2)
 *
 * for the turns about a, n and b: of w_b - w_a = xdot_1 a + xdot_2 n + xdot_3 b, each g takes its
 * part.
 *
 * Turning to an orientation R(t) of b against a: with E = R_ab' R, x = along . log(R_ab), x -
 * target = -along . log(E), the row is along . (w_b - w_a) in the frame of b, and the velocity it
 * aims at along . E w, w that of R in its own frame.
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
  const bool euler = kind == PERP_JOINT_BALL && dim == 3;
  const bool turns = kind == PERP_JOINT_HINGE || kind == PERP_JOINT_BALL ||
                     kind == PERP_JOINT_PLANAR || kind == PERP_JOINT_CYLINDRICAL;
  switch (axis) {
  case PERP_DRIVE_A:
    return slides || turns || drives_crossed(kind);
  case PERP_DRIVE_B:
    return drives_crossed(kind) || euler;
  case PERP_DRIVE_NODE:
    return euler;
  case PERP_DRIVE_TURN:
    return kind == PERP_JOINT_HINGE || kind == PERP_JOINT_BALL;
  case PERP_DRIVE_ALONG:
    return slides || kind == PERP_JOINT_WHEEL || kind == PERP_JOINT_CYLINDRICAL;
  }
  return false;
}

/* n in the world */
static void drives_direction(int d, const perp_eval *e, const perp_drive *k, double n[3])
{
  if (k->turning != NULL && d == 2) return; /* the plane has none */
  perp_turn(d, e->pose[k->in_b ? k->b : k->a].R, k->axis, n);
}

/* The axes a and b of a ball joint in the world and u = a x b; |u|^2, away from 0 where it
 * vanishes. */
static double drives_ends(const perp_eval *e, const perp_drive *k, double a[3], double b[3],
                          double u[3])
{
  perp_turn(3, e->pose[k->a].R, k->end_a, a);
  perp_turn(3, e->pose[k->b].R, k->end_b, b);
  perp_cross(a, b, u);
  return fmax(perp_dot(3, u, u), 1e-24);
}

/* The angle of a ball joint, not yet counted from `zero`. */
static double drives_euler(const perp_eval *e, const perp_drive *k)
{
  double a[3], b[3], u[3], r[3], c[3];
  const double size = sqrt(drives_ends(e, k, a, b, u));
  switch (k->axis_of) {
  case PERP_DRIVE_A: /* from r_a to the node */
    perp_turn(3, e->pose[k->a].R, k->ref_a, r);
    perp_cross(r, u, c);
    return atan2(perp_dot(3, a, c), perp_dot(3, r, u));
  case PERP_DRIVE_B: /* from the node to r_b */
    perp_turn(3, e->pose[k->b].R, k->ref_b, r);
    perp_cross(u, r, c);
    return atan2(perp_dot(3, b, c), perp_dot(3, u, r));
  default:
    return atan2(size, perp_dot(3, a, b));
  }
}

/* Its direction g, and with angular velocities gdot. */
static void drives_euler_direction(const perp_eval *e, const perp_drive *k, const double *wa,
                                   const double *wb, double g[3], double gdot[3])
{
  double a[3], b[3], u[3], adot[3] = { 0 }, bdot[3] = { 0 };
  const double u2 = drives_ends(e, k, a, b, u), c = perp_dot(3, a, b);
  if (wa != NULL) {
    perp_cross(wa, a, adot);
    perp_cross(wb, b, bdot);
  }
  if (k->axis_of == PERP_DRIVE_NODE) {
    double p[3], q[3];
    for (int i = 0; i < 3; i++) g[i] = u[i] / sqrt(u2);
    perp_cross(adot, b, p);
    perp_cross(a, bdot, q);
    for (int i = 0; i < 3; i++) p[i] += q[i];
    for (int i = 0; i < 3; i++) gdot[i] = (p[i] - g[i] * perp_dot(3, g, p)) / sqrt(u2);
    return;
  }
  const bool first = k->axis_of == PERP_DRIVE_A;
  const double *s = first ? a : b, *t = first ? b : a, *sdot = first ? adot : bdot,
               *tdot = first ? bdot : adot, cdot = perp_dot(3, adot, b) + perp_dot(3, a, bdot);
  for (int i = 0; i < 3; i++) {
    g[i] = (s[i] - c * t[i]) / u2;
    gdot[i] = (sdot[i] - cdot * t[i] - c * tdot[i] + 2 * c * cdot * g[i]) / u2;
  }
}

/* R_ab, 3 x 3 */
static void drives_relative(int d, const perp_eval *e, const perp_drive *k, double R[9])
{
  const double *A = e->pose[k->a].R, *B = e->pose[k->b].R;
  memset(R, 0, 9 * sizeof *R);
  R[8] = 1;
  for (int i = 0; i < d; i++) perp_turn_back(d, A, B + d * i, R + 3 * i);
}

/* value that is not yet counted from `zero` */
static double drives_raw(const perp_model *m, const perp_eval *e, const perp_drive *k)
{
  const perp_pose *A = &e->pose[k->a], *B = &e->pose[k->b];
  const int d = m->dim;
  double ra[3], rb[3], n[3] = { 0 }, c[3] = { 0 };
  if (k->slides) return perp_joint_along(d, A, B, k->sa, k->sb, k->axis, 1, NULL, NULL);
  if (k->turning != NULL) {
    double R[9];
    drives_relative(d, e, k, R);
    perp_matrix_log(R, c);
    return perp_dot(3, k->axis, c);
  }
  if (k->euler) return drives_euler(e, k);
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

/* Of an angle of a ball joint: r_a and r_b along the node at the start. */
static void drives_refer_euler(const perp_eval *e, const perp_joint_def *j, perp_drive *k)
{
  double a[3], b[3], u[3];
  memcpy(k->end_a, j->axis_a, sizeof k->end_a);
  memcpy(k->end_b, j->axis_b, sizeof k->end_b);
  drives_normalize(3, k->end_a);
  drives_normalize(3, k->end_b);
  drives_ends(e, k, a, b, u);
  perp_turn_back(3, e->pose[k->a].R, u, k->ref_a);
  perp_turn_back(3, e->pose[k->b].R, u, k->ref_b);
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
  *k = (perp_drive){
    .a = j->a, .b = j->b, .in_b = def->axis == PERP_DRIVE_B, .axis_of = def->axis
  };
  if (def->axis == PERP_DRIVE_TURN) {
    k->in_b = true;
    k->turning = def->turning;
    memcpy(k->axis, def->along, sizeof k->axis);
    k->offset = def->zero - drives_raw(m, e, k);
    return;
  }
  k->euler = j->kind == PERP_JOINT_BALL && d == 3;
  k->slides = def->axis == PERP_DRIVE_ALONG ||
              (def->axis == PERP_DRIVE_A &&
               (j->kind == PERP_JOINT_SLIDER || j->kind == PERP_JOINT_LINE));
  memcpy(k->sa, j->anchor_a, sizeof k->sa);
  memcpy(k->sb, j->anchor_b, sizeof k->sb);
  if (d == 3 || k->slides) {
    memcpy(k->axis, k->in_b ? j->axis_b : j->axis_a, (size_t)d * sizeof *k->axis);
    drives_normalize(d, k->axis);
  }
  if (k->euler)
    drives_refer_euler(e, j, k);
  else if (!k->slides)
    drives_refer(m, e, j, k);
  k->offset = def->zero - drives_raw(m, e, k);
}

bool perp_drive_turns(const perp_model *m, int index)
{
  const perp_drive *k = &m->drive[index];
  return !k->slides && k->turning == NULL && k->axis_of != PERP_DRIVE_NODE;
}

double perp_drive_coordinate(const perp_model *m, const perp_eval *e, int index)
{
  const perp_drive *k = &m->drive[index];
  const double x = drives_raw(m, e, k) + k->offset;
  return perp_drive_turns(m, index) ? x + 2 * M_PI * round((m->sim.angle[index] - x) / (2 * M_PI))
                                    : x;
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
    double still[3];
    if (k->euler)
      drives_euler_direction(e, k, NULL, NULL, n, still);
    else
      drives_direction(d, e, k, n);
    perp_turn_back(3, A->R, n, Ja + 3);
    perp_turn_back(3, B->R, n, Jb + 3);
    for (int i = 3; i < 6; i++) Ja[i] = -Ja[i];
  }
  return perp_drive_coordinate(m, e, index);
}

double perp_drive_error(const perp_model *m, const perp_eval *e, int index, double x, double t,
                        double *velocity)
{
  const perp_drive *k = &m->drive[index];
  double R[9], q[4], T[9], E[9], w[3], aim[3], left[3];
  if (k->turning == NULL) {
    *velocity = perp_drive_velocity(m, index, t, NULL);
    return x - perp_drive_target(m, index, t);
  }
  k->turning->at(k->turning->user, t, q, w);
  perp_quat_matrix(q, T);
  drives_relative(m->dim, e, k, R);
  for (int i = 0; i < 3; i++) perp_turn_back(3, R, T + 3 * i, E + 3 * i);
  perp_turn(3, E, w, aim);
  perp_matrix_log(E, left);
  *velocity = perp_dot(3, k->axis, aim);
  return -perp_dot(3, k->axis, left);
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
  perp_turn(3, A->R, va + 3, wa);
  perp_turn(3, B->R, vb + 3, wb);
  if (k->euler)
    drives_euler_direction(e, k, wa, wb, n, ndot);
  else {
    drives_direction(d, e, k, n);
    perp_cross(k->in_b ? wb : wa, n, ndot);
  }
  return perp_dot(3, ndot, wb) - perp_dot(3, ndot, wa);
}

double perp_drives_potential(const perp_model *m, const perp_eval *e, double t)
{
  double sum = 0;
  for (int i = 0; i < m->n_drives; i++) {
    const perp_drive_def *def = &m->drive_def[i];
    if (!(def->stiffness > 0) || !(def->max_force > 0)) continue;
    double velocity;
    const double x = m->drive[i].turning != NULL ? 0 : perp_drive_coordinate(m, e, i),
                 off = fabs(perp_drive_error(m, e, i, x, t, &velocity)),
                 most = fmin(off, def->max_force / def->stiffness);
    sum += def->stiffness * most * (off - 0.5 * most);
  }
  return sum;
}

double perp_model_drive_coordinate(const perp_model *model, const double *q, int i)
{
  perp_eval e = model->eval;
  perp_eval_poses(&e, model, 0, q); /* no drive is at a motion */
  return perp_drive_coordinate(model, &e, i);
}

void perp_model_follow(perp_model *model, const double *q)
{
  perp_eval e = model->eval;
  if (q == NULL)
    for (int i = 0; i < model->n_drives; i++) model->sim.angle[i] = model->drive_def[i].zero;
  if (q == NULL || model->n_drives == 0) return;
  perp_eval_poses(&e, model, 0, q);
  for (int i = 0; i < model->n_drives; i++)
    if (perp_drive_turns(model, i)) model->sim.angle[i] = perp_drive_coordinate(model, &e, i);
}

int perp_model_drives(const perp_model *model)
{
  return model->n_drives;
}

const perp_drive_def *perp_model_drive(const perp_model *model, int i)
{
  return i >= 0 && i < model->n_drives ? &model->drive_def[i] : NULL;
}
