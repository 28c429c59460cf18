/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints, from definitions to the rows that joints.c evaluates. */
#include "models/multibody/chain.h"
#include "models/multibody/model_private.h"

#include <string.h>

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
  [PERP_JOINT_CHAIN] = { "chain", false, false, false, { 0, 0 } },   /* by its axes */
  [PERP_JOINT_PLUGIN] = { "plug-in", true, false, false, { 0, 0 } }, /* it says itself */
};

static const joint_type *joint_compile_type(perp_joint_kind kind)
{
  return (unsigned)kind < sizeof types / sizeof *types ? &types[kind] : NULL;
}

const char *perp_joint_kind_name(perp_joint_kind kind)
{
  const joint_type *type = joint_compile_type(kind);
  return type == NULL ? NULL : type->name;
}

int perp_joint_kind_rows(perp_joint_kind kind, int dim)
{
  const joint_type *type = joint_compile_type(kind);
  if (type == NULL || (dim == 2 && !type->plane)) return 0;
  return (type->point ? dim : 0) + (type->orientation ? perp_rates(dim) : 0) +
         type->scalars[dim - 2];
}

static void joint_compile_normalized(int d, const double *u, double *n)
{
  double scale = 0; /* components first: |u|^2 may overflow */
  for (int i = 0; i < d; i++) scale = fmax(scale, fabs(u[i]));
  for (int i = 0; i < d; i++) n[i] = u[i] / scale;
  double length = sqrt(perp_dot(d, n, n));
  for (int i = 0; i < d; i++) n[i] /= length;
}

/* d - 1 unit vectors perpendicular to the unit vector u and to each other */
static void joint_compile_perpendicular(int d, const double *u, double *n1, double *n2)
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
  joint_compile_normalized(3, n1, n1);
  perp_cross(u, n1, n2);
}

void perp_joint_axes(int dim, const double *axis, double axes[9])
{
  double size = 0;
  memset(axes, 0, 9 * sizeof *axes);
  axes[0] = axes[4] = axes[8] = 1;
  for (int i = 0; i < dim; i++) size = fmax(size, fabs(axis[i]));
  if (!(size > 0)) return;
  joint_compile_normalized(dim, axis, axes);
  joint_compile_perpendicular(dim, axes, axes + 3, axes + 6);
}

static perp_row *joint_compile_row(perp_joint *joint, perp_joint_row_kind kind)
{
  perp_row *row = &joint->scalars[joint->n_scalars++];
  *row = (perp_row){ .kind = kind };
  return row;
}

/* Rows of axis_b parallel to axis_a. */
static void joint_compile_parallel(const perp_joint_def *def, perp_joint *joint)
{
  double axis[3], n1[3], n2[3];
  joint_compile_normalized(3, def->axis_a, axis);
  joint_compile_perpendicular(3, axis, n1, n2);
  for (int i = 0; i < 2; i++) {
    perp_row *row = joint_compile_row(joint, PERP_ROW_DOT);
    memcpy(row->ua, i == 0 ? n1 : n2, sizeof n1);
    joint_compile_normalized(3, def->axis_b, row->ub);
  }
}

bool perp_joint_hinges_parallel(const double *a, const double *b)
{
  double u[3];
  perp_cross(a, b, u);
  return perp_dot(3, u, u) <= 1e-16 * perp_dot(3, a, a) * perp_dot(3, b, b);
}

/* Rows of `axis` of a body parallel to what it is in the other one at the start; turned: of b. */
static void joint_compile_keep_axis(const double *axis, bool of_b, const perp_pose *A,
                                    const perp_pose *B, perp_joint *joint)
{
  perp_joint_def def = { 0 };
  double world[3];
  perp_turn(3, of_b ? B->R : A->R, axis, world);
  perp_turn_back(3, A->R, world, def.axis_a);
  perp_turn_back(3, B->R, world, def.axis_b);
  joint_compile_parallel(&def, joint);
}

/* A slide and a hinge, in either order. */
static void joint_compile_pin_slot(const perp_joint_def *def, const perp_pose *A,
                                   const perp_pose *B, perp_joint *joint)
{
  const bool first = def->hinge_first != 0;
  double axis[3], n[2][3];
  joint_compile_keep_axis(first ? def->axis_a : def->axis_b, !first, A, B, joint);
  joint_compile_normalized(3, first ? def->axis_b : def->axis_a, axis);
  joint_compile_perpendicular(3, axis, n[0], n[1]);
  for (int i = 0; i < 2; i++) {
    perp_row *row = joint_compile_row(joint, first ? PERP_ROW_ALONG_B : PERP_ROW_ALONG);
    memcpy(first ? row->ub : row->ua, n[i], sizeof n[i]);
  }
}

/* What is fixed between the lines of two hinges is what it is at the start. */
static void joint_compile_skew(const perp_joint_def *def, const perp_pose *A, const perp_pose *B,
                               perp_joint *joint)
{
  double ua[3], ub[3], na[3], nb[3], n[3], delta[3];
  joint_compile_normalized(3, def->axis_a, ua);
  joint_compile_normalized(3, def->axis_b, ub);
  perp_turn(3, A->R, ua, na);
  perp_turn(3, B->R, ub, nb);
  perp_cross(na, nb, n);
  perp_between(3, A, joint->sa, B, joint->sb, delta);
  const bool parallel = perp_joint_hinges_parallel(na, nb);
  const double value[] = { perp_dot(3, na, nb), perp_dot(3, na, delta), perp_dot(3, nb, delta),
                           perp_dot(3, n, delta) };
  static const perp_joint_row_kind kinds[] = { PERP_ROW_DOT, PERP_ROW_ALONG, PERP_ROW_ALONG_B,
                                               PERP_ROW_TRIPLE };
  if (parallel) joint_compile_keep_axis(ua, false, A, B, joint);
  for (int i = parallel ? 1 : 0; i < (parallel ? 2 : 4); i++) {
    perp_row *row = joint_compile_row(joint, kinds[i]);
    memcpy(row->ua, ua, sizeof ua);
    memcpy(row->ub, ub, sizeof ub);
    row->offset = value[i];
  }
  joint->length = sqrt(perp_dot(3, delta, delta));
  if (parallel) joint_compile_row(joint, PERP_ROW_LENGTH);
}

/* Two slides and a hinge: the hinge keeps its direction, and d = p_b - p_a lies in the plane of the
 * slides, both in a, both in b, or one in each. */
static void joint_compile_slides(const perp_joint_def *def, const perp_pose *A, const perp_pose *B,
                                 perp_joint *joint)
{
  double u[2][3], n[3], world[3];
  int hinge = 0, slides = 0;
  for (int axis = 0; axis < 3; axis++) {
    if (def->axes[axis].slides != 0)
      joint_compile_normalized(3, def->axes[axis].along, u[slides++]);
    else
      hinge = axis;
  }
  joint_compile_keep_axis(def->axes[hinge].along, false, A, B, joint);
  perp_row *row = joint_compile_row(joint, hinge == 0   ? PERP_ROW_ALONG_B
                                           : hinge == 1 ? PERP_ROW_TRIPLE
                                                        : PERP_ROW_ALONG);
  perp_cross(u[0], u[1], n);
  joint_compile_normalized(3, n, n);
  memcpy(row->ua, hinge == 1 ? u[0] : n, sizeof n);
  perp_turn(3, A->R, hinge == 1 ? u[1] : n, world);
  perp_turn_back(3, B->R, world, row->ub);
}

/* Rows of a chain in closed form where there is one: three slides leave the place free; else those
 * of the chain itself. */
static void joint_compile_chain(const perp_joint_def *def, const perp_pose *A, const perp_pose *B,
                                perp_joint *joint)
{
  int slides = 0, hinge[PERP_CHAIN_AXES], hinges = 0;
  for (int axis = 0; axis < def->n_axes; axis++) {
    if (def->axes[axis].slides != 0)
      slides++;
    else
      hinge[hinges++] = axis;
  }
  if (slides == 2 && hinges == 1)
    joint_compile_slides(def, A, B, joint);
  else if (slides == 3 && hinges == 1)
    joint_compile_keep_axis(def->axes[hinge[0]].along, false, A, B, joint);
  else if (slides == 3 && hinges == 2) { /* the first is fixed in a, the second in b */
    double world[3];
    perp_row *row = joint_compile_row(joint, PERP_ROW_DOT);
    joint_compile_normalized(3, def->axes[hinge[0]].along, row->ua);
    joint_compile_normalized(3, def->axes[hinge[1]].along, row->ub);
    row->offset = perp_dot(3, row->ua, row->ub);
    perp_turn(3, A->R, row->ub, world);
    perp_turn_back(3, B->R, world, row->ub);
  } else {
    joint->across = true;
    for (int i = def->n_axes; i < 6; i++) joint_compile_row(joint, PERP_ROW_CHAIN);
  }
}

void perp_joint_compile(const perp_joint_def *def, int dim, const double *qa, const double *qb,
                        perp_row *rows, perp_joint *joint)
{
  const joint_type *type = joint_compile_type(def->kind);
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
      perp_row *row = joint_compile_row(joint, PERP_ROW_DOT);
      double g[3];
      row->ua[i] = 1;
      memcpy(g, A.R + dim * ((i + 1) % dim), (size_t)dim * sizeof(double));
      perp_turn_back(dim, B.R, g, row->ub);
    }
  }
  double axis[3], n1[3], n2[3];
  switch (def->kind) {
  case PERP_JOINT_HINGE:
    if (dim == 3) joint_compile_parallel(def, joint);
    break;
  case PERP_JOINT_PLANAR:
    joint_compile_parallel(def, joint);
    joint_compile_normalized(dim, def->axis_a, joint_compile_row(joint, PERP_ROW_ALONG)->ua);
    break;
  case PERP_JOINT_UNIVERSAL: {
    perp_row *row = joint_compile_row(joint, PERP_ROW_DOT);
    joint_compile_normalized(dim, def->axis_a, row->ua);
    joint_compile_normalized(dim, def->axis_b, row->ub);
    break;
  }
  case PERP_JOINT_SLIDER:
  case PERP_JOINT_LINE:
  case PERP_JOINT_WHEEL:
  case PERP_JOINT_CYLINDRICAL:
    joint_compile_normalized(dim, def->axis_a, axis);
    joint_compile_perpendicular(dim, axis, n1, n2);
    for (int i = 0; i < dim - 1; i++)
      memcpy(joint_compile_row(joint, PERP_ROW_ALONG)->ua, i == 0 ? n1 : n2,
             (size_t)dim * sizeof(double));
    if (def->kind == PERP_JOINT_CYLINDRICAL) joint_compile_parallel(def, joint);
    if (def->kind == PERP_JOINT_WHEEL) {
      perp_row *row = joint_compile_row(joint, PERP_ROW_DOT);
      memcpy(row->ua, axis, sizeof axis);
      joint_compile_normalized(dim, def->axis_b, row->ub);
    }
    break;
  case PERP_JOINT_DISTANCE:
    joint_compile_row(joint, PERP_ROW_LENGTH);
    break;
  case PERP_JOINT_CURVE:
    for (int i = 0; i < dim - 1; i++) joint_compile_row(joint, PERP_ROW_CURVE);
    break;
  case PERP_JOINT_RECTANGULAR:
    if (dim == 2) break;
    perp_turn(3, B.R, def->axis_b, axis);
    perp_turn_back(3, A.R, axis, n1);
    perp_cross(def->axis_a, n1, n2);
    joint_compile_normalized(3, n2, joint_compile_row(joint, PERP_ROW_ALONG)->ua);
    break;
  case PERP_JOINT_SKEW_HINGES:
    joint_compile_skew(def, &A, &B, joint);
    break;
  case PERP_JOINT_PIN_SLOT:
    joint_compile_pin_slot(def, &A, &B, joint);
    break;
  case PERP_JOINT_CHAIN:
    joint_compile_chain(def, &A, &B, joint);
    break;
  case PERP_JOINT_BALL:
  case PERP_JOINT_FIXED:
  case PERP_JOINT_CARTESIAN:
  case PERP_JOINT_PLUGIN:
    break;
  }
}
