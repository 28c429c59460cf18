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
#include "models/multibody/model_private.h"

#include <string.h>

static const double at_rest[6] = { 0 }; /* velocity of the world */

/* ---- from definitions to rows ---- */

typedef struct joint_type {
  const char *name;
  bool plane;       /* exists in the plane */
  bool point;       /* p_b - p_a */
  bool orientation; /* keeps the initial relative orientation */
  int scalars[2];   /* further scalar rows in the plane, in space */
} joint_type;

static const joint_type types[] = {
  [PERP_JOINT_BALL] = { "ball", true, true, false, { 0, 0 } },
  [PERP_JOINT_HINGE] = { "hinge", true, true, false, { 0, 2 } },
  [PERP_JOINT_UNIVERSAL] = { "universal", false, true, false, { 0, 1 } },
  [PERP_JOINT_SLIDER] = { "slider", true, false, true, { 1, 2 } },
  [PERP_JOINT_FIXED] = { "fixed", true, true, true, { 0, 0 } },
  [PERP_JOINT_DISTANCE] = { "distance", true, false, false, { 1, 1 } },
  [PERP_JOINT_LINE] = { "line", true, false, false, { 1, 2 } },
  [PERP_JOINT_WHEEL] = { "wheel", false, false, false, { 0, 3 } },
  [PERP_JOINT_CURVE] = { "curve", true, false, false, { 1, 2 } },
  [PERP_JOINT_PLANAR] = { "planar", false, false, false, { 0, 3 } },
  [PERP_JOINT_CYLINDRICAL] = { "cylindrical", false, false, false, { 0, 4 } },
  [PERP_JOINT_RECTANGULAR] = { "rectangular", true, false, true, { 0, 1 } },
  [PERP_JOINT_CARTESIAN] = { "cartesian", false, false, true, { 0, 0 } },
  [PERP_JOINT_SKEW_HINGES] = { "skew-hinges", false, false, false, { 0, 4 } },
  [PERP_JOINT_PIN_SLOT] = { "pin-slot", false, false, false, { 0, 4 } },
  [PERP_JOINT_PLUGIN] = { "plug-in", true, false, false, { 0, 0 } }, /* it says itself */
};

static const joint_type *type_of(perp_joint_kind kind)
{
  return (unsigned)kind < sizeof types / sizeof *types ? &types[kind] : NULL;
}

const char *perp_joint_kind_name(perp_joint_kind kind)
{
  const joint_type *type = type_of(kind);
  return type == NULL ? NULL : type->name;
}

int perp_joint_kind_rows(perp_joint_kind kind, int dim)
{
  const joint_type *type = type_of(kind);
  if (type == NULL || (dim == 2 && !type->plane)) return 0;
  return (type->point ? dim : 0) + (type->orientation ? perp_rates(dim) : 0) +
         type->scalars[dim - 2];
}

static void joints_normalized(int d, const double *u, double *n)
{
  double scale = 0; /* components first: |u|^2 may overflow */
  for (int i = 0; i < d; i++) scale = fmax(scale, fabs(u[i]));
  for (int i = 0; i < d; i++) n[i] = u[i] / scale;
  double length = sqrt(perp_dot(d, n, n));
  for (int i = 0; i < d; i++) n[i] /= length;
}

/* d - 1 unit vectors perpendicular to the unit vector u and to each other */
static void joints_perpendicular(int d, const double *u, double *n1, double *n2)
{
  if (d == 2) {
    n1[0] = -u[1], n1[1] = u[0];
    return;
  }
  int least = fabs(u[0]) <= fabs(u[1]) ? 0 : 1;
  if (fabs(u[2]) < fabs(u[least])) least = 2;
  double e[3] = { 0 };
  e[least] = 1;
  perp_cross(u, e, n1);
  joints_normalized(3, n1, n1);
  perp_cross(u, n1, n2);
}

void perp_joint_axes(int dim, const double *axis, double axes[9])
{
  double size = 0;
  memset(axes, 0, 9 * sizeof *axes);
  axes[0] = axes[4] = axes[8] = 1;
  for (int i = 0; i < dim; i++) size = fmax(size, fabs(axis[i]));
  if (!(size > 0)) return;
  joints_normalized(dim, axis, axes);
  joints_perpendicular(dim, axes, axes + 3, axes + 6);
}

static perp_row *add_row(perp_joint *joint, perp_joint_row_kind kind)
{
  perp_row *row = &joint->scalars[joint->n_scalars++];
  *row = (perp_row){ .kind = kind };
  return row;
}

/* Rows of axis_b parallel to axis_a. */
static void joints_parallel(const perp_joint_def *def, perp_joint *joint)
{
  double axis[3], n1[3], n2[3];
  joints_normalized(3, def->axis_a, axis);
  joints_perpendicular(3, axis, n1, n2);
  for (int i = 0; i < 2; i++) {
    perp_row *row = add_row(joint, PERP_ROW_DOT);
    memcpy(row->ua, i == 0 ? n1 : n2, sizeof n1);
    joints_normalized(3, def->axis_b, row->ub);
  }
}

bool perp_joint_hinges_parallel(const double *a, const double *b)
{
  double u[3];
  perp_cross(a, b, u);
  return perp_dot(3, u, u) <= 1e-16 * perp_dot(3, a, a) * perp_dot(3, b, b);
}

/* Rows of `axis` of a body parallel to what it is in the other one at the start; turned: of b. */
static void joints_keep_axis(const double *axis, bool of_b, const perp_pose *A, const perp_pose *B,
                             perp_joint *joint)
{
  perp_joint_def def = { 0 };
  double world[3];
  perp_turn(3, of_b ? B->R : A->R, axis, world);
  perp_turn_back(3, A->R, world, def.axis_a);
  perp_turn_back(3, B->R, world, def.axis_b);
  joints_parallel(&def, joint);
}

/* A slide and a hinge, in either order. */
static void joints_pin_slot(const perp_joint_def *def, const perp_pose *A, const perp_pose *B,
                            perp_joint *joint)
{
  const bool first = def->hinge_first != 0;
  double axis[3], n[2][3];
  joints_keep_axis(first ? def->axis_a : def->axis_b, !first, A, B, joint);
  joints_normalized(3, first ? def->axis_b : def->axis_a, axis);
  joints_perpendicular(3, axis, n[0], n[1]);
  for (int i = 0; i < 2; i++) {
    perp_row *row = add_row(joint, first ? PERP_ROW_ALONG_B : PERP_ROW_ALONG);
    memcpy(first ? row->ub : row->ua, n[i], sizeof n[i]);
  }
}

/* What is fixed between the lines of two hinges is what it is at the start. */
static void joints_skew(const perp_joint_def *def, const perp_pose *A, const perp_pose *B,
                        perp_joint *joint)
{
  double ua[3], ub[3], na[3], nb[3], n[3], delta[3];
  joints_normalized(3, def->axis_a, ua);
  joints_normalized(3, def->axis_b, ub);
  perp_turn(3, A->R, ua, na);
  perp_turn(3, B->R, ub, nb);
  perp_cross(na, nb, n);
  perp_between(3, A, joint->sa, B, joint->sb, delta);
  const bool parallel = perp_joint_hinges_parallel(na, nb);
  const double value[] = { perp_dot(3, na, nb), perp_dot(3, na, delta), perp_dot(3, nb, delta),
                           perp_dot(3, n, delta) };
  static const perp_joint_row_kind kinds[] = { PERP_ROW_DOT, PERP_ROW_ALONG, PERP_ROW_ALONG_B,
                                               PERP_ROW_TRIPLE };
  if (parallel) joints_keep_axis(ua, false, A, B, joint);
  for (int i = parallel ? 1 : 0; i < (parallel ? 2 : 4); i++) {
    perp_row *row = add_row(joint, kinds[i]);
    memcpy(row->ua, ua, sizeof ua);
    memcpy(row->ub, ub, sizeof ub);
    row->offset = value[i];
  }
  joint->length = sqrt(perp_dot(3, delta, delta));
  if (parallel) add_row(joint, PERP_ROW_LENGTH);
}

void perp_joint_compile(const perp_joint_def *def, int dim, const double *qa, const double *qb,
                        perp_row *rows, perp_joint *joint)
{
  const joint_type *type = type_of(def->kind);
  *joint = (perp_joint){ .a = def->a, .b = def->b, .ja = -1, .jb = -1, .length = def->length };
  joint->scalars = rows;
  joint->points = type->point ? dim : 0;
  memcpy(joint->sa, def->anchor_a, (size_t)dim * sizeof(double));
  memcpy(joint->sb, def->anchor_b, (size_t)dim * sizeof(double));

  perp_pose A, B;
  perp_pose_or_world(dim, qa, &A);
  perp_pose_or_world(dim, qb, &B);
  if (type->orientation) {
    /* with e_i fixed in a and g_i = e_i initially but fixed in b: e_i . g_(i+1) = 0 keeps the
     * relative orientation, with one row for each axis of rotation */
    for (int i = 0; i < perp_rates(dim); i++) {
      perp_row *row = add_row(joint, PERP_ROW_DOT);
      double g[3];
      row->ua[i] = 1;
      memcpy(g, A.R + dim * ((i + 1) % dim), (size_t)dim * sizeof(double));
      perp_turn_back(dim, B.R, g, row->ub);
    }
  }
  double axis[3], n1[3], n2[3];
  switch (def->kind) {
  case PERP_JOINT_HINGE:
    if (dim == 3) joints_parallel(def, joint);
    break;
  case PERP_JOINT_PLANAR:
    joints_parallel(def, joint);
    joints_normalized(dim, def->axis_a, add_row(joint, PERP_ROW_ALONG)->ua);
    break;
  case PERP_JOINT_UNIVERSAL: {
    perp_row *row = add_row(joint, PERP_ROW_DOT);
    joints_normalized(dim, def->axis_a, row->ua);
    joints_normalized(dim, def->axis_b, row->ub);
    break;
  }
  case PERP_JOINT_SLIDER:
  case PERP_JOINT_LINE:
  case PERP_JOINT_WHEEL:
  case PERP_JOINT_CYLINDRICAL:
    joints_normalized(dim, def->axis_a, axis);
    joints_perpendicular(dim, axis, n1, n2);
    for (int i = 0; i < dim - 1; i++)
      memcpy(add_row(joint, PERP_ROW_ALONG)->ua, i == 0 ? n1 : n2, (size_t)dim * sizeof(double));
    if (def->kind == PERP_JOINT_CYLINDRICAL) joints_parallel(def, joint);
    if (def->kind == PERP_JOINT_WHEEL) {
      perp_row *row = add_row(joint, PERP_ROW_DOT);
      memcpy(row->ua, axis, sizeof axis);
      joints_normalized(dim, def->axis_b, row->ub);
    }
    break;
  case PERP_JOINT_DISTANCE:
    add_row(joint, PERP_ROW_LENGTH);
    break;
  case PERP_JOINT_CURVE:
    for (int i = 0; i < dim - 1; i++) add_row(joint, PERP_ROW_CURVE);
    break;
  case PERP_JOINT_RECTANGULAR:
    if (dim == 2) break;
    perp_turn(3, B.R, def->axis_b, axis);
    perp_turn_back(3, A.R, axis, n1);
    perp_cross(def->axis_a, n1, n2);
    joints_normalized(3, n2, add_row(joint, PERP_ROW_ALONG)->ua);
    break;
  case PERP_JOINT_SKEW_HINGES:
    joints_skew(def, &A, &B, joint);
    break;
  case PERP_JOINT_PIN_SLOT:
    joints_pin_slot(def, &A, &B, joint);
    break;
  case PERP_JOINT_BALL:
  case PERP_JOINT_FIXED:
  case PERP_JOINT_CARTESIAN:
  case PERP_JOINT_PLUGIN:
    break;
  }
}

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
  case PERP_ROW_CURVE: /* by curve_rows */
    break;
  }
}

PERP_INLINE double *joints_row(double *J, int row)
{
  return J == NULL ? NULL : J + row;
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
    int ld = joint->points + joint->n_scalars;
    if (joint->points > 0) point_rows(d, joint, A, B, ld, Ja, Jb, C);
    for (int k = 0; k < joint->n_scalars; k++) {
      int row = joint->points + k;
      scalar_row(d, joint, &joint->scalars[k], A, B, ld, joints_row(Ja, row), joints_row(Jb, row),
                 C + row);
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
  for (int k = 0; k < joint->points; k++) Ja[k + k * ld] = -1;
  if (joint->points > 0) point_rows(d, joint, A, B, ld, Ja, NULL, C);
  for (int k = 0; k < joint->n_scalars; k++)
    scalar_row(d, joint, &joint->scalars[k], A, B, ld, Ja + joint->points + k, NULL, C);
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
    if (joint->plugin != NULL) {
      perp_joint_plugin_bias(model, joint, eval, v, gamma + joint->row);
      continue;
    }
    if (joint->points > 0) between_bias(d, A, joint->sa, B, joint->sb, va, vb, gamma + joint->row);
    for (int k = 0; k < joint->n_scalars; k++)
      gamma[joint->row + joint->points + k] = scalar_bias(d, joint, &joint->scalars[k], A, B, va,
                                                          vb);
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
    for (int r = 0; r < rows; r++) y[r] += Ja[r + k * rows] * z[k];
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
    for (int i = 0; i < model->motions.n; i++)
      joints_driven(model, eval, i, eval->frame[i].a, gamma);
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
