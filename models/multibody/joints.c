/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints: position error C, Jacobian J and bias Jdot v from the primitives of
 * models/geometry/kinematics.h.
 *
 * A joint between bodies a and b is a list of rows, the same in space and in the plane:
 *
 *   point    C = p_b - p_a          J = (-P_a, P_b), P = (E D)         Jdot v = b_pb - b_pa
 *   dot      C = n_a . n_b          J = (n_b' D_a, n_a' D_b)           + 2 ndot_a . ndot_b
 *   along    C = n_a . d            J = (d' D_n - n' P_a, n' P_b)      + 2 ndot . ddot
 *   along b  C = n_b . d            J = (-n_b' P_a, d' D_n + n_b' P_b)
 *   triple   C = (n_a x n_b) . d    J = ((n_b x d)' D_a - n' P_a, (d x n_a)' D_b + n' P_b), n = n_a
 * x n_b length   C = |d| - length       J = u' (-P_a, P_b), u = d/|d|  + (|ddot|^2 - (u' ddot)^2) /
 * |d|
 *
 * with d = p_b - p_a (Vondrak 2005, eq. 7.3 and 7.4, for the point rows; Cline 2002, section
 * 4.4.1, for the composition of hinge and universal joint from a ball joint and forbidden axes).
 * Here J is the exact derivative of C away from C = 0 too, for all rows: Cline measures the
 * rotational error by angles, for which his J is an approximation.
 *
 * lambda of the point rows is the force on body b, in world axes.
 *
 * C = 0, J v and J a of one joint and its two bodies: Vondrak 2005, eq. 4.1, 6.1, 6.4, 6.7 and
 * 6.30; STAR 2012, eq. 17 and 29; Cline 2002, eq. 2.30, and of the ball joint Cline 2002, eq. 4.1
 * and 4.3 of the hinge Cline 2002, eq. 4.7-4.9. */
#include "models/multibody/chain.h"
#include "models/multibody/model_private.h"

#include <string.h>

static const double at_rest[6] = { 0 }; /* velocity of the world */

/* ---- evaluation ---- */

/* The block of a point in `rows` rows: sign (E D) */
PERP_INLINE void point_block(int d, const double *D, double sign, int ld, double *J)
{
  /* the identity is constant and written by perp_joints_constant */
  for (int k = 0; k < perp_rates(d); k++)
    for (int i = 0; i < d; i++) J[i + (d + k) * ld] = sign * D[i + d * k];
}

PERP_INLINE void point_rows(int d, const perp_joint *joint, const perp_pose *A, const perp_pose *B,
                            int ld, double *Ja, double *Jb, double *C)
{
  double D[9];
  perp_between(d, A, joint->sa, B, joint->sb, C);
  if (Ja != NULL) {
    perp_direction_jacobian(d, A->R, joint->sa, D);
    point_block(d, D, -1, ld, Ja);
  }
  if (Jb != NULL) {
    perp_direction_jacobian(d, B->R, joint->sb, D);
    point_block(d, D, 1, ld, Jb);
  }
}

/* sign n' (E D) for the point s, into one row of J */
static void point_row(int d, const perp_pose *pose, const double *s, double sign, const double *n,
                      int ld, double *J)
{
  double D[9];
  if (J == NULL) return;
  perp_direction_jacobian(d, pose->R, s, D);
  for (int i = 0; i < d; i++) J[i * ld] = sign * n[i];
  for (int k = 0; k < perp_rates(d); k++) J[(d + k) * ld] = sign * perp_dot(d, n, D + d * k);
}

/* J += n' (0 D) for the direction u */
static void direction_row(int d, const perp_pose *pose, const double *u, const double *n, int ld,
                          double *J)
{
  double D[9];
  if (J == NULL) return;
  perp_direction_jacobian(d, pose->R, u, D);
  for (int k = 0; k < perp_rates(d); k++) J[(d + k) * ld] += perp_dot(d, n, D + d * k);
}

static void clear_row(int d, int ld, double *J)
{
  if (J == NULL) return;
  for (int k = 0; k < d + perp_rates(d); k++) J[k * ld] = 0;
}

/* unit vector along d and |d|; a vanishing d has no direction and gives 0 */
static double unit_or_zero(int d, const double *delta, double *n)
{
  double length = sqrt(perp_dot(d, delta, delta));
  for (int i = 0; i < d; i++) n[i] = length > 0 ? delta[i] / length : 0;
  return length;
}

double perp_joint_along(int d, const perp_pose *A, const perp_pose *B, const double *sa,
                        const double *sb, const double *u, int ld, double *Ja, double *Jb)
{
  double n[3] = { 0 }, delta[3] = { 0 };
  perp_between(d, A, sa, B, sb, delta);
  perp_turn(d, A->R, u, n);
  point_row(d, A, sa, -1, n, ld, Ja);
  direction_row(d, A, u, delta, ld, Ja);
  point_row(d, B, sb, 1, n, ld, Jb);
  return perp_dot(d, n, delta);
}

double perp_joint_along_b(int d, const perp_pose *A, const perp_pose *B, const double *sa,
                          const double *sb, const double *u, int ld, double *Ja, double *Jb)
{
  const double value = perp_joint_along(d, B, A, sb, sa, u, ld, Jb, Ja);
  for (int k = 0; k < d + perp_rates(d); k++) {
    if (Ja != NULL) Ja[k * ld] = -Ja[k * ld];
    if (Jb != NULL) Jb[k * ld] = -Jb[k * ld];
  }
  return -value;
}

/* (n_a x n_b) . delta */
static double joints_triple(int d, const perp_joint *joint, const perp_row *row, const perp_pose *A,
                            const perp_pose *B, int ld, double *Ja, double *Jb)
{
  double na[3], nb[3], delta[3], n[3], across_a[3], across_b[3];
  perp_between(d, A, joint->sa, B, joint->sb, delta);
  perp_turn(d, A->R, row->ua, na);
  perp_turn(d, B->R, row->ub, nb);
  perp_cross(na, nb, n);
  perp_cross(nb, delta, across_a);
  perp_cross(delta, na, across_b);
  point_row(d, A, joint->sa, -1, n, ld, Ja);
  direction_row(d, A, row->ua, across_a, ld, Ja);
  point_row(d, B, joint->sb, 1, n, ld, Jb);
  direction_row(d, B, row->ub, across_b, ld, Jb);
  return perp_dot(d, n, delta);
}

static void scalar_row(int d, const perp_joint *joint, const perp_row *row, const perp_pose *A,
                       const perp_pose *B, int ld, double *Ja, double *Jb, double *C)
{
  double na[3], nb[3], delta[3];
  clear_row(d, ld, Ja);
  clear_row(d, ld, Jb);
  switch (row->kind) {
  case PERP_ROW_DOT:
    perp_turn(d, A->R, row->ua, na);
    perp_turn(d, B->R, row->ub, nb);
    *C = perp_dot(d, na, nb) - row->offset;
    direction_row(d, A, row->ua, nb, ld, Ja);
    direction_row(d, B, row->ub, na, ld, Jb);
    break;
  case PERP_ROW_ALONG:
    *C = perp_joint_along(d, A, B, joint->sa, joint->sb, row->ua, ld, Ja, Jb) - row->offset;
    break;
  case PERP_ROW_ALONG_B:
    *C = perp_joint_along_b(d, A, B, joint->sa, joint->sb, row->ub, ld, Ja, Jb) - row->offset;
    break;
  case PERP_ROW_TRIPLE:
    if (d == 3) *C = joints_triple(d, joint, row, A, B, ld, Ja, Jb) - row->offset;
    break;
  case PERP_ROW_LENGTH:
    perp_between(d, A, joint->sa, B, joint->sb, delta);
    *C = unit_or_zero(d, delta, na) - joint->length;
    point_row(d, A, joint->sa, -1, na, ld, Ja);
    point_row(d, B, joint->sb, 1, na, ld, Jb);
    break;
  case PERP_ROW_CURVE: /* all rows together */
  case PERP_ROW_CHAIN:
    break;
  }
}

PERP_INLINE double *joints_row(double *J, int row)
{
  return J == NULL ? NULL : J + row;
}

/* All rows of a chain, which exists in space. */
static void chain_rows(const perp_model *model, const perp_joint *joint, const perp_eval *eval,
                       double *Ja, double *Jb, double *C)
{
  perp_chain_at own;
  const perp_chain_at *at = perp_chain_found(model, joint, eval, &own);
  double y[6];
  for (int scalar = 0; scalar < joint->n_scalars; scalar++) {
    C[scalar] = perp_chain_covector(joint->chain, at, joint->chain->n + scalar, y);
    perp_chain_jacobian(joint->chain, at, &eval->pose[joint->a], y, joint->n_scalars,
                        joints_row(Ja, scalar), joints_row(Jb, scalar));
  }
}

PERP_INLINE void evaluate_all(int d, const perp_model *model, perp_eval *eval)
{
  double *J = eval->J;
  for (int i = 0; i < model->n_joints; i++) {
    const perp_joint *joint = &model->joint[i];
    const perp_pose *A = &eval->pose[joint->a], *B = &eval->pose[joint->b];
    double *Ja = J == NULL || joint->ja < 0 ? NULL : J + joint->ja;
    double *Jb = J == NULL || joint->jb < 0 ? NULL : J + joint->jb;
    double *C = eval->C + joint->row;
    if (joint->n_scalars == 0) {
      point_rows(d, joint, A, B, d, Ja, Jb, C); /* the ball joint, leading dimension known */
      continue;
    }
    if (joint->curve != NULL) {
      {
        /* both rows: C depends on r = R_a' (p_b - p_a) only, with the gradient g each is a row
         * along R_a
         * g */
        const int ld = d - 1;
        double delta[3] = { 0 }, r[3] = { 0 }, g[2][3] = { { 0 } }, value[2] = { 0 }, n[3];
        perp_between(d, A, joint->sa, B, joint->sb, delta);
        perp_turn_back(d, A->R, delta, r);
        perp_curve_rows(joint->curve, r, NULL, value, g, NULL);
        for (int k = 0; k < ld; k++) {
          double *row_a = joints_row(Ja, k), *row_b = joints_row(Jb, k);
          C[k] = value[k];
          clear_row(d, ld, row_a);
          clear_row(d, ld, row_b);
          perp_turn(d, A->R, g[k], n);
          point_row(d, A, joint->sa, -1, n, ld, row_a);
          direction_row(d, A, g[k], delta, ld, row_a);
          point_row(d, B, joint->sb, 1, n, ld, row_b);
        }
      }
      continue;
    }
    if (joint->plugin != NULL) {
      perp_joint_plugin_evaluate(model, joint, eval);
      continue;
    }
    if (joint->across) {
      chain_rows(model, joint, eval, Ja, Jb, C);
      continue;
    }
    int ld = joint->points + joint->n_scalars;
    if (joint->points > 0) point_rows(d, joint, A, B, ld, Ja, Jb, C);
    for (int scalar = 0; scalar < joint->n_scalars; scalar++) {
      int row = joint->points + scalar;
      scalar_row(d, joint, &joint->scalars[scalar], A, B, ld, joints_row(Ja, row),
                 joints_row(Jb, row), C + row);
    }
  }
}

void perp_joints_evaluate(const perp_model *model, perp_eval *eval)
{
  if (model->dim == 3)
    evaluate_all(3, model, eval);
  else
    evaluate_all(2, model, eval);
}

void perp_joints_constant(const perp_model *model, double *J)
{
  int d = model->dim;
  memset(J, 0, (size_t)model->pattern.nnz_J * sizeof *J);
  for (int i = 0; i < model->n_joints; i++) {
    const perp_joint *joint = &model->joint[i];
    int ld = joint->points + joint->n_scalars;
    for (int k = 0; k < joint->points && k < d; k++) {
      if (joint->ja >= 0) J[joint->ja + k + k * ld] = -1;
      if (joint->jb >= 0) J[joint->jb + k + k * ld] = 1;
    }
  }
}

PERP_INLINE void joints_rows_a(int d, const perp_joint *joint, const perp_eval *eval, double *Ja)
{
  const perp_pose *A = &eval->pose[joint->a], *B = &eval->pose[joint->b];
  const int ld = joint->points + joint->n_scalars;
  double C[PERP_JOINT_ROWS];
  memset(Ja, 0, (size_t)(ld * (d + perp_rates(d))) * sizeof *Ja);
  for (int point = 0; point < joint->points; point++) Ja[point + point * ld] = -1;
  if (joint->points > 0) point_rows(d, joint, A, B, ld, Ja, NULL, C);
  for (int scalar = 0; scalar < joint->n_scalars; scalar++)
    scalar_row(d, joint, &joint->scalars[scalar], A, B, ld, Ja + joint->points + scalar, NULL, C);
}

/* rate and bias (the part without accelerations) of the second derivative of p_b - p_a */
PERP_INLINE void between_rate(int d, const perp_pose *A, const double *sa, const perp_pose *B,
                              const double *sb, const double *va, const double *vb, double *rate)
{
  double a[3], b[3];
  perp_direction_rate(d, A->R, sa, va + d, a);
  perp_direction_rate(d, B->R, sb, vb + d, b);
  for (int i = 0; i < d; i++) rate[i] = (vb[i] + b[i]) - (va[i] + a[i]);
}

PERP_INLINE void between_bias(int d, const perp_pose *A, const double *sa, const perp_pose *B,
                              const double *sb, const double *va, const double *vb, double *bias)
{
  double a[3], b[3];
  perp_direction_bias(d, A->R, sa, va + d, a);
  perp_direction_bias(d, B->R, sb, vb + d, b);
  for (int i = 0; i < d; i++) bias[i] = b[i] - a[i];
}

double perp_joint_along_bias(int d, const perp_pose *A, const perp_pose *B, const double *sa,
                             const double *sb, const double *u, const double *va, const double *vb)
{
  double n[3] = { 0 }, ndot[3] = { 0 }, nbias[3] = { 0 };
  double delta[3] = { 0 }, rate[3] = { 0 }, bias[3] = { 0 };
  perp_between(d, A, sa, B, sb, delta);
  between_rate(d, A, sa, B, sb, va, vb, rate);
  between_bias(d, A, sa, B, sb, va, vb, bias);
  perp_turn(d, A->R, u, n);
  perp_direction_rate(d, A->R, u, va + d, ndot);
  perp_direction_bias(d, A->R, u, va + d, nbias);
  return perp_dot(d, n, bias) + perp_dot(d, delta, nbias) + 2 * perp_dot(d, ndot, rate);
}

/* a . (b x c) */
static double joints_det(const double *a, const double *b, const double *c)
{
  double n[3];
  perp_cross(b, c, n);
  return perp_dot(3, a, n);
}

static double joints_triple_bias(const perp_joint *joint, const perp_row *row, const perp_pose *A,
                                 const perp_pose *B, const double *va, const double *vb)
{
  double na[3], nb[3], ra[3], rb[3], ba[3], bb[3], delta[3], rate[3], bias[3];
  perp_turn(3, A->R, row->ua, na);
  perp_turn(3, B->R, row->ub, nb);
  perp_direction_rate(3, A->R, row->ua, va + 3, ra);
  perp_direction_rate(3, B->R, row->ub, vb + 3, rb);
  perp_direction_bias(3, A->R, row->ua, va + 3, ba);
  perp_direction_bias(3, B->R, row->ub, vb + 3, bb);
  perp_between(3, A, joint->sa, B, joint->sb, delta);
  between_rate(3, A, joint->sa, B, joint->sb, va, vb, rate);
  between_bias(3, A, joint->sa, B, joint->sb, va, vb, bias);
  return joints_det(ba, nb, delta) + joints_det(na, bb, delta) + joints_det(na, nb, bias) +
         2 * (joints_det(ra, rb, delta) + joints_det(ra, nb, rate) + joints_det(na, rb, rate));
}

static double scalar_bias(int d, const perp_joint *joint, const perp_row *row, const perp_pose *A,
                          const perp_pose *B, const double *va, const double *vb)
{
  double na[3], nb[3], ra[3], rb[3], ba[3], bb[3], delta[3], rate[3], bias[3];
  if (row->kind == PERP_ROW_DOT) {
    perp_turn(d, A->R, row->ua, na);
    perp_turn(d, B->R, row->ub, nb);
    perp_direction_rate(d, A->R, row->ua, va + d, ra);
    perp_direction_rate(d, B->R, row->ub, vb + d, rb);
    perp_direction_bias(d, A->R, row->ua, va + d, ba);
    perp_direction_bias(d, B->R, row->ub, vb + d, bb);
    return perp_dot(d, nb, ba) + perp_dot(d, na, bb) + 2 * perp_dot(d, ra, rb);
  }
  if (row->kind == PERP_ROW_ALONG)
    return perp_joint_along_bias(d, A, B, joint->sa, joint->sb, row->ua, va, vb);
  if (row->kind == PERP_ROW_ALONG_B)
    return -perp_joint_along_bias(d, B, A, joint->sb, joint->sa, row->ub, vb, va);
  if (row->kind == PERP_ROW_TRIPLE && d == 3) return joints_triple_bias(joint, row, A, B, va, vb);
  perp_between(d, A, joint->sa, B, joint->sb, delta);
  between_rate(d, A, joint->sa, B, joint->sb, va, vb, rate);
  between_bias(d, A, joint->sa, B, joint->sb, va, vb, bias);
  double length = unit_or_zero(d, delta, na), along = perp_dot(d, na, rate);
  double turning = length > 0 ? (perp_dot(d, rate, rate) - along * along) / length : 0;
  return perp_dot(d, na, bias) + turning;
}

static void curve_bias(int d, const perp_joint *joint, const perp_pose *A, const perp_pose *B,
                       const double *va, const double *vb, double *gamma)
{
  double delta[3] = { 0 }, r[3] = { 0 }, rate[3] = { 0 }, local[3] = { 0 }, bias[3] = { 0 };
  double C[2], g[2][3], curved[2], n[3], spin[3], turn[3];
  perp_between(d, A, joint->sa, B, joint->sb, delta);
  between_rate(d, A, joint->sa, B, joint->sb, va, vb, rate);
  between_bias(d, A, joint->sa, B, joint->sb, va, vb, bias);
  perp_turn_back(d, A->R, delta, r);
  perp_direction_rate(d, A->R, r, va + d, spin);
  for (int i = 0; i < d; i++) spin[i] = rate[i] - spin[i]; /* as seen from a */
  perp_turn_back(d, A->R, spin, local);
  perp_curve_rows(joint->curve, r, local, C, g, curved);
  for (int k = 0; k < d - 1; k++) {
    perp_turn(d, A->R, g[k], n);
    perp_direction_rate(d, A->R, g[k], va + d, spin);
    perp_direction_bias(d, A->R, g[k], va + d, turn);
    gamma[k] = perp_dot(d, n, bias) + perp_dot(d, delta, turn) + 2 * perp_dot(d, spin, rate) +
               curved[k];
  }
}

static void chain_bias(const perp_model *model, const perp_joint *joint, const perp_eval *eval,
                       const double *va, const double *vb, double *gamma)
{
  perp_chain_at own;
  const perp_chain_at *at = perp_chain_found(model, joint, eval, &own);
  double u[PERP_CHAIN_AXES], g[6], y[6];
  perp_chain_bias(joint->chain, at, &eval->pose[joint->a], va, vb, u, g);
  for (int scalar = 0; scalar < joint->n_scalars; scalar++) {
    perp_chain_covector(joint->chain, at, joint->chain->n + scalar, y);
    gamma[scalar] = 0;
    for (int i = 0; i < 6; i++) gamma[scalar] += y[i] * g[i];
  }
}

PERP_INLINE void bias_all(int d, const perp_model *model, const perp_eval *eval, const double *v,
                          double *gamma)
{
  for (int i = 0; i < model->n_joints; i++) {
    const perp_joint *joint = &model->joint[i];
    const perp_pose *A = &eval->pose[joint->a], *B = &eval->pose[joint->b];
    const double *va = joint->a >= 0           ? v + joint->a * model->nvb
                       : joint->a < PERP_WORLD ? eval->frame[PERP_FRAME_OF(joint->a)].v
                                               : at_rest;
    const double *vb = joint->b < 0 ? at_rest : v + joint->b * model->nvb;
    if (joint->curve != NULL) {
      curve_bias(d, joint, A, B, va, vb, gamma + joint->row);
      continue;
    }
    if (joint->across) {
      chain_bias(model, joint, eval, va, vb, gamma + joint->row);
      continue;
    }
    if (joint->plugin != NULL) {
      perp_joint_plugin_bias(model, joint, eval, v, gamma + joint->row);
      continue;
    }
    if (joint->points > 0) between_bias(d, A, joint->sa, B, joint->sb, va, vb, gamma + joint->row);
    for (int scalar = 0; scalar < joint->n_scalars; scalar++)
      gamma[joint->row + joint->points + scalar] = scalar_bias(d, joint, &joint->scalars[scalar], A,
                                                               B, va, vb);
  }
}

/* y [rows of motion i] += J_a z */
static void joints_driven(const perp_model *model, const perp_eval *eval, int i, const double *z,
                          double *y)
{
  const int joint = model->n_joints - model->motions.n + i,
            rows = model->pattern.cptr[joint + 1] - model->pattern.cptr[joint];
  double Ja[PERP_JOINT_ROWS * 6];
  /* Ja of joint i, rows x nvb with leading dimension rows, which has no place in J */
  if (model->dim == 3)
    joints_rows_a(3, &model->joint[joint], eval, Ja);
  else
    joints_rows_a(2, &model->joint[joint], eval, Ja);
  y += model->pattern.cptr[joint];
  for (int k = 0; k < model->nvb; k++)
    for (int row = 0; row < rows; row++) y[row] += Ja[row + k * rows] * z[k];
}

/* x [m] = 0 in rows that are left out */
static void joints_drop(const perp_model *model, double *x)
{
  for (int i = 0; model->sim.dropped != NULL && i < model->sim.dropped->n; i++)
    x[model->sim.dropped->row[i]] = 0;
}

void perp_joints_driven(const perp_model *model, const perp_eval *eval, double t, double *Ct)
{
  memset(Ct, 0, (size_t)model->m * sizeof *Ct);
  for (int i = 0; i < model->motions.n; i++) {
    perp_frame frame = eval->frame[i];
    double x[3], angle;
    if (t != eval->t) perp_frame_at(model, i, t, x, &angle, &frame);
    joints_driven(model, eval, i, frame.v, Ct);
  }
  perp_joint_plugin_driven(model, eval, t, Ct, NULL);
  joints_drop(model, Ct);
}

static void joints_bias(const perp_model *model, const perp_eval *eval, const double *v,
                        double *gamma)
{
  if (model->dim == 3)
    bias_all(3, model, eval, v, gamma);
  else
    bias_all(2, model, eval, v, gamma);
}

void perp_joints_bias(const perp_model *model, const perp_eval *eval, const double *v,
                      double *gamma)
{
  joints_bias(model, eval, v, gamma);
  if (model->driven) {
    for (int frame = 0; frame < model->motions.n; frame++)
      joints_driven(model, eval, frame, eval->frame[frame].a, gamma);
    perp_joint_plugin_driven(model, eval, eval->t, NULL, gamma);
  }
  joints_drop(model, gamma);
}

void perp_joints_curvature(const perp_model *model, const perp_eval *eval, const double *v,
                           double *gamma)
{
  joints_bias(model, eval, v, gamma);
  if (model->driven) perp_joint_plugin_still(model, eval, gamma);
  joints_drop(model, gamma);
}
