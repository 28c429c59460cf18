/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drives: limits, motors, servo springs and dry friction on the coordinates that a joint leaves
 * free (Vondrak 2005, section 7.4; Cline 2002, section 4.4.1; STAR 2012, eq. 49).
 *
 *      turning   x = angle from r_a to r_b about n,   xdot = n . (w_b - w_a)
 *
 *                xddot = n . (w_b' - w_a') + ndot . (w_b - w_a)
 *
 *      sliding   x = n . (p_b - p_a)
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
#include "models/multibody/chain.h"
#include "models/multibody/model_private.h"

#include <string.h>

static const double at_rest[6] = { 0 }; /* velocity of the world */

static void drives_normalize(int d, double *u)
{
  const double length = sqrt(perp_dot(d, u, u));
  for (int i = 0; i < d; i++) u[i] /= length;
}

/* two axes at a right angle */
static bool drives_crossed(perp_joint_kind kind)
{
  return kind == PERP_JOINT_UNIVERSAL || kind == PERP_JOINT_WHEEL;
}

int perp_chain_axis_of(perp_drive_axis axis)
{
  static const perp_drive_axis axes[PERP_CHAIN_AXES] = { PERP_DRIVE_A, PERP_DRIVE_B, PERP_DRIVE_C,
                                                         PERP_DRIVE_D, PERP_DRIVE_E };
  for (int i = 0; i < PERP_CHAIN_AXES; i++)
    if (axes[i] == axis) return i;
  return -1;
}

bool perp_drive_serves(perp_joint_kind kind, int dim, perp_drive_axis axis)
{
  if (kind == PERP_JOINT_CHAIN) return dim == 3 && perp_chain_axis_of(axis) >= 0;
  const bool slides = kind == PERP_JOINT_SLIDER || kind == PERP_JOINT_LINE;
  const bool euler = kind == PERP_JOINT_BALL && dim == 3;
  const bool turns = kind == PERP_JOINT_HINGE || kind == PERP_JOINT_BALL ||
                     kind == PERP_JOINT_PLANAR || kind == PERP_JOINT_CYLINDRICAL;
  const bool chain = kind == PERP_JOINT_RECTANGULAR || kind == PERP_JOINT_CARTESIAN ||
                     kind == PERP_JOINT_SKEW_HINGES || kind == PERP_JOINT_PIN_SLOT;
  switch (axis) {
  case PERP_DRIVE_A:
    return slides || turns || chain || drives_crossed(kind);
  case PERP_DRIVE_B:
    return drives_crossed(kind) || euler || chain;
  case PERP_DRIVE_NODE:
    return euler;
  case PERP_DRIVE_TURN:
    return kind == PERP_JOINT_HINGE || kind == PERP_JOINT_BALL;
  case PERP_DRIVE_ALONG:
    return slides || kind == PERP_JOINT_WHEEL || kind == PERP_JOINT_CYLINDRICAL ||
           kind == PERP_JOINT_PLANAR;
  case PERP_DRIVE_C:
    return kind == PERP_JOINT_CARTESIAN;
  case PERP_DRIVE_D:
  case PERP_DRIVE_E:
    return false;
  case PERP_DRIVE_ACROSS:
    return kind == PERP_JOINT_PLANAR;
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

/* ---- two parallel hinges: of the first x is the turn of d = p_b - p_a about the axis in a, of the
 * second less that in b.
 *
 *      xdot = t . (ddot - w x d),   t = n x d / |d|^2 (d across n),   w of the body of the axis
 *
 * ---- */

/* n, what of d is across it, and t; returns |d|^2 */
static double drives_arm(const perp_eval *eval, const perp_drive *drive, double n[3], double d[3],
                         double across[3], double t[3])
{
  perp_turn(3, eval->pose[drive->in_b ? drive->b : drive->a].R, drive->axis, n);
  perp_between(3, &eval->pose[drive->a], drive->sa, &eval->pose[drive->b], drive->sb, d);
  const double along = perp_dot(3, n, d);
  for (int i = 0; i < 3; i++) across[i] = d[i] - along * n[i];
  const double size = fmax(perp_dot(3, across, across), 1e-300);
  perp_cross(n, across, t);
  for (int i = 0; i < 3; i++) t[i] /= size;
  return size;
}

static double drives_orbit(const perp_eval *eval, const perp_drive *drive)
{
  double n[3], d[3], across[3], t[3], r[3], c[3];
  drives_arm(eval, drive, n, d, across, t);
  perp_turn(3, eval->pose[drive->in_b ? drive->b : drive->a].R,
            drive->in_b ? drive->ref_b : drive->ref_a, r);
  perp_cross(r, across, c);
  const double x = atan2(perp_dot(3, n, c), perp_dot(3, r, across));
  return drive->in_b ? -x : x;
}

/* J += t . pdot of the point s, with the sign */
static void drives_orbit_point(const perp_pose *pose, const double *s, const double *t, double sign,
                               double *J)
{
  double D[9];
  perp_direction_jacobian(3, pose->R, s, D);
  for (int i = 0; i < 3; i++) J[i] += sign * t[i];
  for (int k = 0; k < 3; k++) J[3 + k] += sign * perp_dot(3, t, D + 3 * k);
}

static void drives_orbit_row(const perp_eval *eval, const perp_drive *drive, double *Ja, double *Jb)
{
  const perp_pose *A = &eval->pose[drive->a], *B = &eval->pose[drive->b];
  const double sign = drive->in_b ? -1 : 1;
  double n[3], d[3], across[3], t[3], arm[3], own[3];
  drives_arm(eval, drive, n, d, across, t);
  drives_orbit_point(A, drive->sa, t, -sign, Ja);
  drives_orbit_point(B, drive->sb, t, sign, Jb);
  perp_cross(d, t, arm); /* t . (w x d) = w . (d x t) */
  perp_turn_back(3, drive->in_b ? B->R : A->R, arm, own);
  for (int k = 0; k < 3; k++) (drive->in_b ? Jb : Ja)[3 + k] -= sign * own[k];
}

/* t . (ddot.. - 2 w x r - w x (w x d)) - 2 (|d|. / |d|) xdot,   r = ddot - w x d */
static double drives_orbit_bias(const perp_eval *eval, const perp_drive *drive, const double *va,
                                const double *vb)
{
  const perp_pose *A = &eval->pose[drive->a], *B = &eval->pose[drive->b];
  double n[3], d[3], across[3], t[3], w[3], spin[3], inner[3], r[3], twice[3], p[3], q[3], acc[3];
  const double size = drives_arm(eval, drive, n, d, across, t);
  perp_turn(3, drive->in_b ? B->R : A->R, (drive->in_b ? vb : va) + 3, w);
  perp_cross(w, d, spin);
  perp_cross(w, spin, inner);
  perp_direction_rate(3, A->R, drive->sa, va + 3, p);
  perp_direction_rate(3, B->R, drive->sb, vb + 3, q);
  for (int i = 0; i < 3; i++) r[i] = (vb[i] + q[i]) - (va[i] + p[i]) - spin[i];
  perp_cross(w, r, twice);
  perp_direction_bias(3, A->R, drive->sa, va + 3, p);
  perp_direction_bias(3, B->R, drive->sb, vb + 3, q);
  for (int i = 0; i < 3; i++) acc[i] = q[i] - p[i] - 2 * twice[i] - inner[i];
  const double x = perp_dot(3, t, acc) - 2 * perp_dot(3, across, r) / size * perp_dot(3, t, r);
  return drive->in_b ? -x : x;
}

/* The chain of the axis at the poses of eval, which *at is of. */
static const perp_chain *drives_chain(const perp_model *model, const perp_eval *eval,
                                      const perp_drive *drive, perp_chain_at *own,
                                      const perp_chain_at **at)
{
  const perp_joint *joint = &model->joint[drive->chain - 1];
  *at = perp_chain_found(model, joint, eval, own);
  return joint->chain;
}

/* value that is not yet counted from `zero` */
static double drives_raw(const perp_model *model, const perp_eval *eval, const perp_drive *drive)
{
  const perp_pose *A = &eval->pose[drive->a], *B = &eval->pose[drive->b];
  const int d = model->dim;
  double ra[3], rb[3], n[3] = { 0 }, c[3] = { 0 };
  if (drive->chain > 0) {
    perp_chain_at own;
    const perp_chain_at *at;
    drives_chain(model, eval, drive, &own, &at);
    return at->q[perp_chain_axis_of(drive->axis_of)];
  }
  if (drive->slides)
    return (drive->in_b ? perp_joint_along_b : perp_joint_along)(d, A, B, drive->sa, drive->sb,
                                                                 drive->axis, 1, NULL, NULL);
  if (drive->orbits) return drives_orbit(eval, drive);
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

/* r_a and r_b: the other axis, or the direction across the axis that is closest to a coordinate
 * axis of a */
static void drives_refer(const perp_model *model, const perp_eval *eval, const perp_joint_def *def,
                         perp_drive *drive)
{
  const int d = model->dim;
  const double *Ra = eval->pose[drive->a].R, *Rb = eval->pose[drive->b].R;
  double r[3] = { 0 }, world[3] = { 0 };
  int least = 0;
  for (int i = 1; i < d; i++)
    if (fabs(drive->axis[i]) < fabs(drive->axis[least])) least = i;
  for (int i = 0; i < d; i++) r[i] = (i == least) - drive->axis[i] * drive->axis[least];
  perp_turn(d, drive->in_b ? Rb : Ra, r, world);
  if (drives_crossed(def->kind))
    perp_turn(d, drive->in_b ? Ra : Rb, drive->in_b ? def->axis_a : def->axis_b, world);
  drives_normalize(d, world);
  perp_turn_back(d, Ra, world, drive->ref_a);
  perp_turn_back(d, Rb, world, drive->ref_b);
}

/* Slides that are not alone: the vector of a whose product with p_b - p_a is the coordinate, so
 * that p_b - p_a is the sum of the coordinates times their directions. */
static void drives_dual(const perp_model *model, const perp_eval *eval, const perp_joint_def *joint,
                        perp_drive *drive)
{
  const double *Ra = eval->pose[joint->a].R, *Rb = eval->pose[joint->b].R;
  const int d = model->dim;
  double u[3][3] = { { 0 } }, world[3] = { 0 }, n[3];
  memcpy(u[0], joint->axis_a, (size_t)d * sizeof *world);
  perp_turn(d, Rb, joint->axis_b, world);
  perp_turn_back(d, Ra, world, u[1]);
  if (joint->kind == PERP_JOINT_CARTESIAN) {
    perp_turn(3, Rb, joint->axis_c, world);
    perp_turn_back(3, Ra, world, u[2]);
  } else
    perp_cross(u[0], u[1], u[2]);
  for (int i = 0; i < 3; i++) {
    const double length = sqrt(perp_dot(3, u[i], u[i]));
    for (int k = 0; k < 3; k++) u[i][k] /= length;
  }
  const int i = drive->axis_of == PERP_DRIVE_A ? 0 : drive->axis_of == PERP_DRIVE_B ? 1 : 2;
  perp_cross(u[(i + 1) % 3], u[(i + 2) % 3], n);
  const double size = perp_dot(3, n, u[i]);
  for (int k = 0; k < 3; k++) drive->axis[k] = n[k] / size;
  drive->in_b = false;
}

/* The slides of a planar joint: axis_c of a in the plane, or any direction there; across. */
static void drives_in_plane(const perp_joint_def *joint, perp_drive *drive)
{
  double n[3], e[3];
  memcpy(n, joint->axis_a, sizeof n);
  drives_normalize(3, n);
  memcpy(e, joint->axis_c, sizeof e);
  if (perp_all_zero(3, e)) {
    int least = 0;
    for (int i = 1; i < 3; i++)
      if (fabs(n[i]) < fabs(n[least])) least = i;
    e[least] = 1;
  }
  const double along = perp_dot(3, n, e);
  for (int i = 0; i < 3; i++) e[i] -= along * n[i];
  drives_normalize(3, e);
  if (drive->axis_of == PERP_DRIVE_ACROSS)
    perp_cross(n, e, drive->axis);
  else
    memcpy(drive->axis, e, sizeof e);
}

bool perp_drive_slides(const perp_joint_def *joint, int dim, perp_drive_axis axis)
{
  (void)dim;
  if (joint->kind == PERP_JOINT_CHAIN) {
    const int i = perp_chain_axis_of(axis);
    return i >= 0 && i < joint->n_axes && joint->axes[i].slides != 0;
  }
  if (joint->kind == PERP_JOINT_RECTANGULAR || joint->kind == PERP_JOINT_CARTESIAN) return true;
  if (joint->kind == PERP_JOINT_PIN_SLOT)
    return (axis == PERP_DRIVE_B) == (joint->hinge_first != 0);
  return axis == PERP_DRIVE_ALONG || axis == PERP_DRIVE_ACROSS ||
         (axis == PERP_DRIVE_A &&
          (joint->kind == PERP_JOINT_SLIDER || joint->kind == PERP_JOINT_LINE));
}

void perp_drive_compile(const perp_model *model, const perp_eval *eval, const perp_drive_def *def,
                        perp_drive *drive)
{
  const perp_joint_def *joint = &model->joint_def[def->joint];
  const int d = model->dim;
  *drive = (perp_drive){ .a = joint->a,
                         .b = joint->b,
                         .in_b = def->axis == PERP_DRIVE_B,
                         .axis_of = def->axis,
                         .zero = def->zero };
  if (def->axis == PERP_DRIVE_TURN) {
    drive->in_b = true;
    drive->turning = def->turning;
    memcpy(drive->axis, def->along, sizeof drive->axis);
    drive->offset = def->zero - drives_raw(model, eval, drive);
    return;
  }
  drive->euler = joint->kind == PERP_JOINT_BALL && d == 3;
  drive->slides = perp_drive_slides(joint, d, def->axis);
  if (joint->kind == PERP_JOINT_CHAIN) {
    drive->chain = 1 + def->joint;
    drive->offset = def->zero; /* that of the chain is 0 */
    return;
  }
  memcpy(drive->sa, joint->anchor_a, sizeof drive->sa);
  memcpy(drive->sb, joint->anchor_b, sizeof drive->sb);
  if (d == 3 || drive->slides) {
    memcpy(drive->axis, drive->in_b ? joint->axis_b : joint->axis_a,
           (size_t)d * sizeof *drive->axis);
    drives_normalize(d, drive->axis);
  }
  if (joint->kind == PERP_JOINT_RECTANGULAR || joint->kind == PERP_JOINT_CARTESIAN)
    drives_dual(model, eval, joint, drive);
  if (joint->kind == PERP_JOINT_PLANAR && drive->slides) drives_in_plane(joint, drive);
  if (joint->kind == PERP_JOINT_SKEW_HINGES) {
    double a[3], b[3], n[3], delta[3], across[3], t[3];
    perp_turn(3, eval->pose[joint->a].R, joint->axis_a, a);
    perp_turn(3, eval->pose[joint->b].R, joint->axis_b, b);
    drive->orbits = perp_joint_hinges_parallel(a, b);
    drive->euler = !drive->orbits;
    if (drive->orbits) {
      drives_arm(eval, drive, n, delta, across, t);
      drives_normalize(3, across);
      perp_turn_back(3, eval->pose[drive->a].R, across, drive->ref_a);
      perp_turn_back(3, eval->pose[drive->b].R, across, drive->ref_b);
      drive->offset = def->zero - drives_raw(model, eval, drive);
      return;
    }
  }
  if (drive->euler) {
    /* Of an angle of a ball joint: r_a and r_b along the node at the start. */
    double a[3], b[3], u[3];
    memcpy(drive->end_a, joint->axis_a, sizeof drive->end_a);
    memcpy(drive->end_b, joint->axis_b, sizeof drive->end_b);
    drives_normalize(3, drive->end_a);
    drives_normalize(3, drive->end_b);
    drives_ends(eval, drive, a, b, u);
    perp_turn_back(3, eval->pose[drive->a].R, u, drive->ref_a);
    perp_turn_back(3, eval->pose[drive->b].R, u, drive->ref_b);
  } else if (!drive->slides)
    drives_refer(model, eval, joint, drive);
  drive->offset = def->zero - drives_raw(model, eval, drive);
}

bool perp_drive_turns(const perp_model *model, int index)
{
  const perp_drive *drive = &model->drive[index];
  if (drive->chain > 0) return false; /* the chain follows its own */
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
  if (drive->chain > 0) {
    perp_chain_at own;
    const perp_chain_at *at;
    double y[6];
    const perp_chain *chain = drives_chain(model, eval, drive, &own, &at);
    const double x = perp_chain_covector(chain, at, perp_chain_axis_of(drive->axis_of), y);
    perp_chain_jacobian(chain, at, A, y, 1, Ja, Jb);
    return x + drive->offset;
  }
  if (drive->slides)
    return (drive->in_b ? perp_joint_along_b : perp_joint_along)(d, A, B, drive->sa, drive->sb,
                                                                 drive->axis, 1, Ja, Jb) +
           drive->offset;
  if (drive->orbits) {
    drives_orbit_row(eval, drive, Ja, Jb);
    return perp_drive_coordinate(model, eval, index);
  }
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

double perp_drive_product(const perp_model *model, int i, const double *Ja, const double *Jb,
                          const double *v)
{
  const perp_drive *drive = &model->drive[i];
  double sum = 0;
  for (int k = 0; k < model->nvb; k++) {
    if (drive->a >= 0) sum += Ja[k] * v[drive->a * model->nvb + k];
    if (drive->b >= 0) sum += Jb[k] * v[drive->b * model->nvb + k];
  }
  return sum;
}

void perp_drive_push(const perp_model *model, int i, const double *Ja, const double *Jb,
                     double force, double *f)
{
  const perp_drive *drive = &model->drive[i];
  for (int k = 0; k < model->nvb; k++) {
    if (drive->a >= 0) f[drive->a * model->nvb + k] += force * Ja[k];
    if (drive->b >= 0) f[drive->b * model->nvb + k] += force * Jb[k];
  }
}

double perp_drive_bias(const perp_model *model, const perp_eval *eval, int index, const double *v)
{
  const perp_drive *drive = &model->drive[index];
  const perp_pose *A = &eval->pose[drive->a], *B = &eval->pose[drive->b];
  const int d = model->dim;
  const double *va = drive->a < 0 ? at_rest : v + drive->a * model->nvb;
  const double *vb = drive->b < 0 ? at_rest : v + drive->b * model->nvb;
  double n[3], ndot[3], wa[3], wb[3];
  if (drive->chain > 0) {
    perp_chain_at own;
    const perp_chain_at *at;
    double u[PERP_CHAIN_AXES], g[6], y[6], sum = 0;
    const perp_chain *chain = drives_chain(model, eval, drive, &own, &at);
    perp_chain_bias(chain, at, A, va, vb, u, g);
    perp_chain_covector(chain, at, perp_chain_axis_of(drive->axis_of), y);
    for (int i = 0; i < 6; i++) sum += y[i] * g[i];
    return sum;
  }
  if (drive->slides)
    return drive->in_b ? -perp_joint_along_bias(d, B, A, drive->sb, drive->sa, drive->axis, vb, va)
                       : perp_joint_along_bias(d, A, B, drive->sa, drive->sb, drive->axis, va, vb);
  if (drive->orbits) return drives_orbit_bias(eval, drive, va, vb);
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

double perp_model_drive_coordinate(const perp_model *model, const double *q, int i)
{
  perp_eval eval = model->eval;
  perp_eval_poses(&eval, model, 0, q); /* no drive is at a motion */
  return perp_drive_coordinate(model, &eval, i);
}

bool perp_model_drive_slides(const perp_model *model, int i)
{
  const perp_drive_def *def = &model->drive_def[i];
  return perp_drive_slides(&model->joint_def[def->joint], model->dim, def->axis);
}

void perp_model_follow(perp_model *model, const double *q)
{
  perp_eval eval = model->eval;
  if (q == NULL)
    for (int axis = 0; axis < model->n_drives + model->n_axes; axis++)
      model->sim.angle[axis] = model->drive[axis].zero;
  for (int chain = 0; q == NULL && chain < model->chains.n; chain++)
    perp_chain_start(&model->chains.chain[chain], NULL, &model->sim.chain[chain]);
  if (q == NULL || model->n_drives + model->n_axes + model->chains.n == 0) return;
  perp_eval_poses(&eval, model, 0, q);
  perp_chains_follow(model, &eval);
  for (int axis = 0; axis < model->n_drives + model->n_axes; axis++)
    if (perp_drive_turns(model, axis))
      model->sim.angle[axis] = perp_drive_coordinate(model, &eval, axis);
}

int perp_model_drives(const perp_model *model)
{
  return model->n_drives;
}

const perp_drive_def *perp_model_drive(const perp_model *model, int i)
{
  return i >= 0 && i < model->n_drives ? &model->drive_def[i] : NULL;
}
