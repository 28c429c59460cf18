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
static void drives_direction(int d, const perp_eval *eval, const perp_drive *drive, double n[3])
{
  if (drive->turning != NULL && d == 2) return; /* the plane has none */
  perp_turn(d, eval->pose[drive->in_b ? drive->b : drive->a].R, drive->axis, n);
}

/* The axes a and b of a ball joint in the world and u = a x b; |u|^2, away from 0 where it
 * vanishes. */
static double drives_ends(const perp_eval *eval, const perp_drive *drive, double a[3], double b[3],
                          double u[3])
{
  perp_turn(3, eval->pose[drive->a].R, drive->end_a, a);
  perp_turn(3, eval->pose[drive->b].R, drive->end_b, b);
  perp_cross(a, b, u);
  return fmax(perp_dot(3, u, u), 1e-24);
}

/* The angle of a ball joint, not yet counted from `zero`. */
static double drives_euler(const perp_eval *eval, const perp_drive *drive)
{
  double a[3], b[3], u[3], r[3], c[3];
  const double size = sqrt(drives_ends(eval, drive, a, b, u));
  switch (drive->axis_of) {
  case PERP_DRIVE_A: /* from r_a to the node */
    perp_turn(3, eval->pose[drive->a].R, drive->ref_a, r);
    perp_cross(r, u, c);
    return atan2(perp_dot(3, a, c), perp_dot(3, r, u));
  case PERP_DRIVE_B: /* from the node to r_b */
    perp_turn(3, eval->pose[drive->b].R, drive->ref_b, r);
    perp_cross(u, r, c);
    return atan2(perp_dot(3, b, c), perp_dot(3, u, r));
  default:
    return atan2(size, perp_dot(3, a, b));
  }
}

/* Its direction g, and with angular velocities gdot. */
static void drives_euler_direction(const perp_eval *eval, const perp_drive *drive, const double *wa,
                                   const double *wb, double g[3], double gdot[3])
{
  double a[3], b[3], u[3], adot[3] = { 0 }, bdot[3] = { 0 };
  const double u2 = drives_ends(eval, drive, a, b, u), c = perp_dot(3, a, b);
  if (wa != NULL) {
    perp_cross(wa, a, adot);
    perp_cross(wb, b, bdot);
  }
  if (drive->axis_of == PERP_DRIVE_NODE) {
    double p[3], q[3];
    for (int i = 0; i < 3; i++) g[i] = u[i] / sqrt(u2);
    perp_cross(adot, b, p);
    perp_cross(a, bdot, q);
    for (int i = 0; i < 3; i++) p[i] += q[i];
    for (int i = 0; i < 3; i++) gdot[i] = (p[i] - g[i] * perp_dot(3, g, p)) / sqrt(u2);
    return;
  }
  const bool first = drive->axis_of == PERP_DRIVE_A;
  const double *s = first ? a : b, *t = first ? b : a, *sdot = first ? adot : bdot,
               *tdot = first ? bdot : adot, cdot = perp_dot(3, adot, b) + perp_dot(3, a, bdot);
  for (int i = 0; i < 3; i++) {
    g[i] = (s[i] - c * t[i]) / u2;
    gdot[i] = (sdot[i] - cdot * t[i] - c * tdot[i] + 2 * c * cdot * g[i]) / u2;
  }
}

/* R_ab, 3 x 3 */
static void drives_relative(int d, const perp_eval *eval, const perp_drive *drive, double R[9])
{
  const double *A = eval->pose[drive->a].R, *B = eval->pose[drive->b].R;
  memset(R, 0, 9 * sizeof *R);
  R[8] = 1;
  for (int i = 0; i < d; i++) perp_turn_back(d, A, B + d * i, R + 3 * i);
}

/* value that is not yet counted from `zero` */
static double drives_raw(const perp_model *model, const perp_eval *eval, const perp_drive *drive)
{
  const perp_pose *A = &eval->pose[drive->a], *B = &eval->pose[drive->b];
  const int d = model->dim;
  double ra[3], rb[3], n[3] = { 0 }, c[3] = { 0 };
  if (drive->slides)
    return perp_joint_along(d, A, B, drive->sa, drive->sb, drive->axis, 1, NULL, NULL);
  if (drive->turning != NULL) {
    double R[9];
    drives_relative(d, eval, drive, R);
    perp_matrix_log(R, c);
    return perp_dot(3, drive->axis, c);
  }
  if (drive->euler) return drives_euler(eval, drive);
  perp_turn(d, A->R, drive->ref_a, ra);
  perp_turn(d, B->R, drive->ref_b, rb);
  if (d == 2) return atan2(ra[0] * rb[1] - ra[1] * rb[0], perp_dot(2, ra, rb));
  drives_direction(d, eval, drive, n);
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
static void drives_refer(const perp_model *model, const perp_eval *eval, const perp_joint_def *def,
                         perp_drive *drive)
{
  const int d = model->dim;
  const double *Ra = eval->pose[drive->a].R, *Rb = eval->pose[drive->b].R;
  double r[3] = { 0 }, world[3];
  int least = 0;
  for (int i = 1; i < d; i++)
    if (fabs(drive->axis[i]) < fabs(drive->axis[least])) least = i;
  for (int i = 0; i < d; i++) r[i] = (i == least) - drive->axis[i] * drive->axis[least];
  perp_turn(d, Ra, r, world);
  if (drives_crossed(def->kind))
    perp_turn(d, drive->in_b ? Ra : Rb, drive->in_b ? def->axis_a : def->axis_b, world);
  drives_normalize(d, world);
  perp_turn_back(d, Ra, world, drive->ref_a);
  perp_turn_back(d, Rb, world, drive->ref_b);
}

bool perp_drive_slides(const perp_joint_def *joint, int dim, perp_drive_axis axis)
{
  (void)dim;
  return axis == PERP_DRIVE_ALONG || (axis == PERP_DRIVE_A && (joint->kind == PERP_JOINT_SLIDER ||
                                                               joint->kind == PERP_JOINT_LINE));
}

void perp_drive_compile(const perp_model *model, const perp_eval *eval, const perp_drive_def *def,
                        perp_drive *drive)
{
  const perp_joint_def *j = &model->joint_def[def->joint];
  const int d = model->dim;
  *drive = (perp_drive){
    .a = j->a, .b = j->b, .in_b = def->axis == PERP_DRIVE_B, .axis_of = def->axis, .zero = def->zero
  };
  if (def->axis == PERP_DRIVE_TURN) {
    drive->in_b = true;
    drive->turning = def->turning;
    memcpy(drive->axis, def->along, sizeof drive->axis);
    drive->offset = def->zero - drives_raw(model, eval, drive);
    return;
  }
  drive->euler = j->kind == PERP_JOINT_BALL && d == 3;
  drive->slides = perp_drive_slides(j, d, def->axis);
  memcpy(drive->sa, j->anchor_a, sizeof drive->sa);
  memcpy(drive->sb, j->anchor_b, sizeof drive->sb);
  if (d == 3 || drive->slides) {
    memcpy(drive->axis, drive->in_b ? j->axis_b : j->axis_a, (size_t)d * sizeof *drive->axis);
    drives_normalize(d, drive->axis);
  }
  if (drive->euler) {
    /* Of an angle of a ball joint: r_a and r_b along the node at the start. */
    double a[3], b[3], u[3];
    memcpy(drive->end_a, j->axis_a, sizeof drive->end_a);
    memcpy(drive->end_b, j->axis_b, sizeof drive->end_b);
    drives_normalize(3, drive->end_a);
    drives_normalize(3, drive->end_b);
    drives_ends(eval, drive, a, b, u);
    perp_turn_back(3, eval->pose[drive->a].R, u, drive->ref_a);
    perp_turn_back(3, eval->pose[drive->b].R, u, drive->ref_b);
  } else if (!drive->slides)
    drives_refer(model, eval, j, drive);
  drive->offset = def->zero - drives_raw(model, eval, drive);
}

bool perp_drive_turns(const perp_model *model, int index)
{
  const perp_drive *drive = &model->drive[index];
  return !drive->slides && drive->turning == NULL && drive->axis_of != PERP_DRIVE_NODE;
}

double perp_drive_coordinate(const perp_model *model, const perp_eval *eval, int index)
{
  const perp_drive *drive = &model->drive[index];
  const double x = drives_raw(model, eval, drive) + drive->offset;
  return perp_drive_turns(model, index)
             ? x + 2 * M_PI * round((model->sim.angle[index] - x) / (2 * M_PI))
             : x;
}

double perp_drive_row(const perp_model *model, const perp_eval *eval, int index, double *Ja,
                      double *Jb)
{
  const perp_drive *drive = &model->drive[index];
  const perp_pose *A = &eval->pose[drive->a], *B = &eval->pose[drive->b];
  const int d = model->dim;
  double n[3];
  memset(Ja, 0, (size_t)model->nvb * sizeof *Ja);
  memset(Jb, 0, (size_t)model->nvb * sizeof *Jb);
  if (drive->slides)
    return perp_joint_along(d, A, B, drive->sa, drive->sb, drive->axis, 1, Ja, Jb) + drive->offset;
  if (d == 2) {
    Ja[2] = -1;
    Jb[2] = 1;
  } else {
    double still[3];
    if (drive->euler)
      drives_euler_direction(eval, drive, NULL, NULL, n, still);
    else
      drives_direction(d, eval, drive, n);
    perp_turn_back(3, A->R, n, Ja + 3);
    perp_turn_back(3, B->R, n, Jb + 3);
    for (int i = 3; i < 6; i++) Ja[i] = -Ja[i];
  }
  return perp_drive_coordinate(model, eval, index);
}

double perp_drive_error(const perp_model *model, const perp_eval *eval, int index, double x,
                        double t, double *velocity)
{
  const perp_drive *drive = &model->drive[index];
  double R[9], q[4], T[9], E[9], w[3], aim[3], left[3];
  if (drive->turning == NULL) {
    *velocity = perp_drive_velocity(model, index, t, NULL);
    return x - perp_drive_target(model, index, t);
  }
  drive->turning->at(drive->turning->user, t, q, w);
  perp_quat_matrix(q, T);
  drives_relative(model->dim, eval, drive, R);
  for (int i = 0; i < 3; i++) perp_turn_back(3, R, T + 3 * i, E + 3 * i);
  perp_turn(3, E, w, aim);
  perp_matrix_log(E, left);
  *velocity = perp_dot(3, drive->axis, aim);
  return -perp_dot(3, drive->axis, left);
}

double perp_drive_bias(const perp_model *model, const perp_eval *eval, int index, const double *v)
{
  const perp_drive *drive = &model->drive[index];
  const perp_pose *A = &eval->pose[drive->a], *B = &eval->pose[drive->b];
  const int d = model->dim;
  const double *va = drive->a < 0 ? at_rest : v + drive->a * model->nvb;
  const double *vb = drive->b < 0 ? at_rest : v + drive->b * model->nvb;
  double n[3], ndot[3], wa[3], wb[3];
  if (drive->slides)
    return perp_joint_along_bias(d, A, B, drive->sa, drive->sb, drive->axis, va, vb);
  if (d == 2) return 0;
  perp_turn(3, A->R, va + 3, wa);
  perp_turn(3, B->R, vb + 3, wb);
  if (drive->euler)
    drives_euler_direction(eval, drive, wa, wb, n, ndot);
  else {
    drives_direction(d, eval, drive, n);
    perp_cross(drive->in_b ? wb : wa, n, ndot);
  }
  return perp_dot(3, ndot, wb) - perp_dot(3, ndot, wa);
}

double perp_drives_potential(const perp_model *model, const perp_eval *eval, double t)
{
  double sum = 0;
  for (int i = 0; i < model->n_drives; i++) {
    const perp_drive_def *def = &model->drive_def[i];
    if (!(def->stiffness > 0) || !(def->max_force > 0)) continue;
    double velocity;
    const double x = model->drive[i].turning != NULL ? 0 : perp_drive_coordinate(model, eval, i),
                 off = fabs(perp_drive_error(model, eval, i, x, t, &velocity)),
                 most = fmin(off, def->max_force / def->stiffness);
    sum += def->stiffness * most * (off - 0.5 * most);
  }
  return sum;
}

double perp_model_drive_coordinate(const perp_model *model, const double *q, int i)
{
  perp_eval eval = model->eval;
  perp_eval_poses(&eval, model, 0, q); /* no drive is at a motion */
  return perp_drive_coordinate(model, &eval, i);
}

void perp_model_follow(perp_model *model, const double *q)
{
  perp_eval eval = model->eval;
  if (q == NULL)
    for (int i = 0; i < model->n_drives + model->n_axes; i++)
      model->sim.angle[i] = model->drive[i].zero;
  if (q == NULL || model->n_drives + model->n_axes == 0) return;
  perp_eval_poses(&eval, model, 0, q);
  for (int i = 0; i < model->n_drives + model->n_axes; i++)
    if (perp_drive_turns(model, i)) model->sim.angle[i] = perp_drive_coordinate(model, &eval, i);
}

int perp_model_drives(const perp_model *model)
{
  return model->n_drives;
}

const perp_drive_def *perp_model_drive(const perp_model *model, int i)
{
  return i >= 0 && i < model->n_drives ? &model->drive_def[i] : NULL;
}
