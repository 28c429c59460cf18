/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bricard's mechanism: five rods of 1 m and 1 kg along the edges of a cube, six hinges about Y, Z,
 * X, Y, Z, X at P0 ... P5, the first and the last on the ground; gravity pulls along -y; IFToMM
 * library A04.
 *
 * Gruebler's count leaves 30 - 30 = 0 degrees of freedom, the mechanism has one: one row of J is
 * redundant everywhere.  The multipliers are not unique; positions are.  Gravity of a model pulls
 * along -z, so that the mechanism is built turned: its (x, y, z) is (x, z, -y) here.
 *
 * The rods have a square section of 0.1 m, as other programs have them: a thin rod has no axial
 * inertia, and M must be positive definite. */
#include "models/geometry/kinematics.h"
#include "models/scenes/mechanism.h"

#include <math.h>
#include <string.h>

enum { RODS = 5, POINTS = 6 };
/* as printed: P0 ... P5, and the axes of the hinges there */
static const double corner[POINTS][3] = { { 0, 0, 0 },  { 1, 0, 0 },  { 1, -1, 0 },
                                          { 1, -1, 1 }, { 0, -1, 1 }, { 0, 0, 1 } };
static const int hinge_axis[POINTS] = { 1, 2, 0, 1, 2, 0 };

/* (x, y, z) of the source to the axes of the model; a rotation by 90 degrees about x */
static void bricard_turned(const double p[3], double out[3])
{
  out[0] = p[0], out[1] = -p[2], out[2] = p[1];
}

/* row: joint angles [5], rates [5], P1 ... P4, V1 ... V4 */
static void bricard_map(void *user, double t, const double *row, double *q, double *v)
{
  const double *P = row + 10, *V = row + 22;
  double quat[4] = { 1, 0, 0, 0 }, w[3] = { 0 }; /* w in the frame of the rod */
  (void)user, (void)t;
  for (int i = 0; i < RODS; i++) {
    double axis[3] = { 0 }, direction[3], R[9], x[3], xdot[3];
    axis[hinge_axis[i]] = 1;
    bricard_turned(
        axis, direction); /* the same in the world and in all rods: frames are parallel at t = 0 */
    const double c = cos(row[i] / 2), s = sin(row[i] / 2);
    const double step[4] = { c, s * direction[0], s * direction[1], s * direction[2] };
    double next[4], wi[3];
    /* r = p q */
    next[0] = quat[0] * step[0] - quat[1] * step[1] - quat[2] * step[2] - quat[3] * step[3];
    next[1] = quat[0] * step[1] + quat[1] * step[0] + quat[2] * step[3] - quat[3] * step[2];
    next[2] = quat[0] * step[2] - quat[1] * step[3] + quat[2] * step[0] + quat[3] * step[1];
    next[3] = quat[0] * step[3] + quat[1] * step[2] - quat[2] * step[1] + quat[3] * step[0];
    memcpy(quat, next, sizeof quat);
    perp_quat_matrix(step, R);
    perp_turn_back(3, R, w, wi); /* rate of the rod before, seen from this one */
    for (int k = 0; k < 3; k++) w[k] = wi[k] + row[5 + i] * direction[k];
    for (int k = 0; k < 3; k++) {
      const double from = i == 0 ? 0 : P[3 * (i - 1) + k];
      const double to = i == RODS - 1 ? corner[RODS][k] : P[3 * i + k];
      x[k] = (from + to) / 2;
      xdot[k] = ((i == 0 ? 0 : V[3 * (i - 1) + k]) + (i == RODS - 1 ? 0 : V[3 * i + k])) / 2;
    }
    bricard_turned(x, q + 7 * i);
    bricard_turned(xdot, v + 6 * i);
    memcpy(q + 7 * i + 3, quat, sizeof quat);
    memcpy(v + 6 * i + 3, w, sizeof w);
  }
}

static perp_status bricard_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  static const char *const columns[] = { "q1",  "q2",  "q3",  "q4",  "q5",  "dq1", "dq2",
                                         "dq3", "dq4", "dq5", "P1x", "P1y", "P1z", "P2x",
                                         "P2y", "P2z", "P3x", "P3y", "P3z", "P4x", "P4y",
                                         "P4z", "V1x", "V1y", "V1z", "V2x", "V2y", "V2z",
                                         "V3x", "V3y", "V3z", "V4x", "V4y", "V4z" };
  (void)opts;
  PERP_TRY(perp_model_create(ctx, 3, &scene->model));
  for (int i = 0; i < RODS; i++) {
    double middle[3], ends[3], along[3];
    for (int k = 0; k < 3; k++) {
      middle[k] = (corner[i][k] + corner[i + 1][k]) / 2;
      ends[k] = corner[i + 1][k] - corner[i][k];
    }
    perp_body_def def = { 0 };
    bricard_turned(middle, def.x);
    bricard_turned(ends, along);
    def.mass = perp_mass_box(1, along[0] != 0 ? 1 : 0.1, along[1] != 0 ? 1 : 0.1,
                             along[2] != 0 ? 1 : 0.1);
    PERP_TRY(perp_model_add_body(ctx, scene->model, &def, NULL));
  }
  for (int i = 0; i < POINTS; i++) {
    double p[3], axis[3] = { 0 }, direction[3];
    axis[hinge_axis[i]] = 1;
    bricard_turned(corner[i], p);
    bricard_turned(axis, direction);
    PERP_TRY(perp_mechanism_join(ctx, scene->model, PERP_JOINT_HINGE, i > 0 ? i - 1 : PERP_WORLD,
                                 i < RODS ? i : PERP_WORLD, p, direction));
  }
  PERP_TRY(perp_scene_finish(ctx, scene, 9.81, 10, 1e-3));
  scene->tip_body = 2; /* P3, the farthest joint */
  bricard_turned((const double[3]){ 0, 0, 0.5 }, scene->tip);
  return perp_truth_file(ctx, scene, "A04_bricard_square01.csv", 1e-15, 34, columns, bricard_map,
                         NULL, 0);
}

const perp_scene_desc perp_scene_bricard = {
  .d = { .name = "bricard",
         .summary = "Bricard's mechanism: one closed loop of six hinges, a redundant constraint",
         .reference = "library of computational benchmark problems of IFToMM, A04; reference "
                      "solution of perp" },
  .build = bricard_build,
};
