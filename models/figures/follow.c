/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orientations of a reference. */
#include "models/figures/control_private.h"

#include "models/geometry/kinematics.h"

#include <string.h>

static const perp_body_state world = { .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };

perp_follow_ends perp_follow_bodies(const perp_follow *follow, const perp_body_state *body)
{
  const bool root = follow->kind == PERP_REDUCED_FREE || follow->kind == PERP_REDUCED_PLANAR;
  return (perp_follow_ends){ root ? &world : &body[0], root ? &body[0] : &body[1] };
}

/* R = (turn about axis by angle) rel */
static void follow_about(const double axis[3], double angle, const double rel[9], double R[9])
{
  static const double straight[4] = { 1 };
  double turn[3], q[4], A[9];
  for (int k = 0; k < 3; k++) turn[k] = angle * axis[k];
  perp_quat_retract(straight, turn, q);
  perp_quat_matrix(q, A);
  for (int k = 0; k < 3; k++) perp_turn(3, A, rel + 3 * k, R + 3 * k);
}

void perp_follow_turn(const perp_follow *follow, const perp_goal_at *at, double R[9], double w[3])
{
  switch (follow->kind) {
  case PERP_REDUCED_FREE:
    perp_quat_matrix(at->q + 3, R);
    memcpy(w, at->u + 3, 3 * sizeof *w);
    return;
  case PERP_REDUCED_BALL:
    perp_quat_matrix(at->q, R);
    memcpy(w, at->u, 3 * sizeof *w);
    return;
  case PERP_REDUCED_PLANAR:
    follow_about(follow->axis_p, at->q[2], follow->rel, R);
    for (int k = 0; k < 3; k++) w[k] = follow->axis_c[k] * at->u[2];
    return;
  default:
    follow_about(follow->axis_p, at->q[0], follow->rel, R);
    for (int k = 0; k < 3; k++) w[k] = follow->axis_c[k] * at->u[0];
    return;
  }
}

void perp_follow_turning(const perp_follow *follow, double t, bool reversed, double q[4],
                         double w[3])
{
  double R[9], out[3];
  perp_goal_at at;
  perp_goal_of(follow->goal, t, follow->iq, follow->nq, follow->iu, follow->nu, false, &at);
  perp_follow_turn(follow, &at, R, w);
  perp_matrix_quat(R, q);
  if (!reversed) return;
  for (int k = 1; k < 4; k++) q[k] = -q[k];
  perp_turn(3, R, w, out);
  for (int k = 0; k < 3; k++) w[k] = -out[k];
}
