/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A marker: a point of a body that follows that of the reference (Vondrak 2005, sections 8.3
 * and 9.2.6),
 *
 *      C = x + R s - x_ref - R_ref s,     C. = v + R (w x s) - v_ref - R_ref (w_ref x s)
 *
 * as soft rows, since the other markers want something else: their stiffness and damping are those
 * of the joint. */
#include "models/figures/control_private.h"

#include "models/geometry/kinematics.h"

static int follow_point_rows(const void *opts, int dim, int n, unsigned *angles)
{
  (void)opts, (void)n;
  *angles = 0;
  return dim;
}

/* y = R (w x (w x s)) */
static void follow_point_bend(const double R[9], const double w[3], const double s[3], double y[3])
{
  double a[3], b[3];
  perp_cross(w, s, a);
  perp_cross(w, a, b);
  perp_turn(3, R, b, y);
}

static void follow_point_at(const void *opts, int dim, int n, const perp_body_state *body, double t,
                            double *C, double *J, double *Ct, double *gamma)
{
  const perp_follow_mark *mark = opts;
  perp_goal_body goal;
  double R[9], p[3], p_ref[3], spin[3], turned[3], bend[3], bend_ref[3], along[3];
  (void)n;
  perp_goal_body_of(mark->goal, t, mark->body, &goal);
  perp_quat_matrix(goal.quat, R);
  perp_body_point(body, mark->point, p);
  perp_turn(3, R, mark->point, p_ref);
  perp_cross(goal.w, mark->point, along);
  perp_turn(3, R, along, spin);
  perp_cross(goal.wdot, mark->point, along);
  perp_turn(3, R, along, turned);
  follow_point_bend(body->R, body->w, mark->point, bend);
  follow_point_bend(R, goal.w, mark->point, bend_ref);
  for (int k = 0; k < dim; k++) {
    C[k] = p[k] - goal.x[k] - p_ref[k];
    if (Ct != NULL) Ct[k] = -goal.v[k] - spin[k];
    if (gamma != NULL) gamma[k] = bend[k] - goal.a[k] - turned[k] - bend_ref[k];
    const double axis[3] = { k == 0, k == 1, k == 2 };
    if (J != NULL) perp_body_row(body, mark->point, axis, 1, dim, J + k);
  }
}

const perp_joint_desc perp_follow_point = {
  .d = { .name = "marker",
         .summary = "Makes a point of a body follow the point of a motion",
         .reference = "Vondrak 2005, sections 8.3 and 9.2.6",
         .opts_size = sizeof(perp_follow_mark),
         .caps = PERP_JOINT_IN_SPACE | PERP_JOINT_IN_PLANE },
  .bodies_min = 1,
  .bodies_max = 1,
  .rows = follow_point_rows,
  .at_time = follow_point_at,
};
