/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces that follow a reference: tau_ref + k e + c edot of one joint, with equal and opposite
 * parts on both of its bodies (Cline 2002, eq. 5.6 and 5.7, with rotation vectors in the place of
 * angles, and tau_ref in the frame of the outer body, as it is there). */
#include "models/figures/control_private.h"

#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

/* tau_i from error and its rate */
static double follow_force_law(const perp_follow *follow, const perp_goal_at *at, int i, double e,
                               double edot)
{
  const double ff = follow->feeds ? at->tau[i] : 0, scale = follow->muscle ? fabs(at->tau[i]) : 1;
  const double tau = ff + scale * (follow->k[i] * e + follow->c[i] * edot);
  return fmax(-follow->max_force, fmin(tau, follow->max_force));
}

/* e and edot of a turn in the frame of the outer body; R: outer to inner, as it is. */
static void follow_force_error(const perp_follow *follow, const perp_goal_at *at,
                               const perp_follow_ends *ends, double R[9], double e[3],
                               double edot[3])
{
  double aim[9], E[9], w[3], inner[3];
  for (int k = 0; k < 3; k++) perp_turn_back(3, ends->inner->R, ends->outer->R + 3 * k, R + 3 * k);
  perp_follow_turn(follow, at, aim, w);
  for (int k = 0; k < 3; k++) perp_turn_back(3, R, aim + 3 * k, E + 3 * k);
  perp_matrix_log(E, e);
  perp_turn(3, E, w, edot);
  perp_turn_back(3, R, ends->inner->w, inner);
  for (int k = 0; k < 3; k++) edot[k] -= ends->outer->w[k] - inner[k];
}

static void follow_force_slide(const perp_follow *follow, const perp_goal_at *at,
                               const perp_follow_ends *ends, double *inner, double *outer)
{
  double p[3], d[3], s[3], n[3], rate[3], spin[3], F[3];
  perp_body_point(ends->outer, follow->anchor_c, p);
  for (int k = 0; k < 3; k++) d[k] = p[k] - ends->inner->x[k];
  perp_turn_back(3, ends->inner->R, d, s); /* in the frame of the inner body */
  perp_body_direction(ends->inner, follow->axis_p, n);
  perp_body_spin(ends->outer, follow->anchor_c, rate);
  perp_body_spin(ends->inner, s, spin);
  double e = at->q[0], edot = at->u[0];
  for (int k = 0; k < 3; k++) {
    e -= follow->axis_p[k] * (s[k] - follow->anchor_p[k]);
    edot -= n[k] * (ends->outer->v[k] + rate[k] - ends->inner->v[k] - spin[k]);
  }
  const double tau = follow_force_law(follow, at, 0, e, edot);
  for (int k = 0; k < 3; k++) F[k] = tau * n[k];
  perp_body_push(ends->outer, follow->anchor_c, F, outer);
  for (int k = 0; k < 3; k++) F[k] = -F[k];
  perp_body_push(ends->inner, s, F, inner);
}

static void follow_force(const void *opts, int dim, int n, const perp_body_state *body, double t,
                         double *out)
{
  const perp_follow *follow = opts;
  const perp_follow_ends ends = perp_follow_bodies(follow, body);
  perp_goal_at at;
  double R[9], e[3], edot[3], T[3] = { 0 }, *inner = n == 2 ? out : NULL,
                              *outer = out + 6 * (n - 1);
  perp_goal_of(follow->goal, t, follow->iq, follow->nq, follow->iu, follow->nu,
               follow->feeds || follow->muscle, &at);
  if (follow->kind == PERP_REDUCED_SLIDER) {
    follow_force_slide(follow, &at, &ends, inner, outer);
    return;
  }
  follow_force_error(follow, &at, &ends, R, e, edot);
  const bool root = follow->kind == PERP_REDUCED_FREE || follow->kind == PERP_REDUCED_PLANAR;
  for (int k = 0; root && k < dim; k++)
    outer[k] += follow_force_law(follow, &at, k, at.q[k] - body[0].x[k], at.u[k] - body[0].v[k]);
  const int first = root ? dim : 0;
  if (follow->kind == PERP_REDUCED_BALL || follow->kind == PERP_REDUCED_FREE) {
    for (int k = 0; k < 3; k++) T[k] = follow_force_law(follow, &at, first + k, e[k], edot[k]);
  } else {
    const double tau = follow_force_law(follow, &at, first, perp_dot(3, follow->axis_c, e),
                                        perp_dot(3, follow->axis_c, edot));
    for (int k = 0; k < 3; k++) T[k] = tau * follow->axis_c[k];
  }
  /* The torque T in the frame of the outer body. */
  double back[3];
  perp_turn(3, R, T, back);
  for (int k = 0; k < 3; k++) {
    outer[3 + k] += T[k];
    if (inner != NULL) inner[3 + k] -= back[k];
  }
}

static unsigned follow_force_promises(const void *opts)
{
  const perp_follow *follow = opts;
  unsigned caps = PERP_FORCE_IN_SPACE | PERP_FORCE_IN_PLANE | PERP_FORCE_NEEDS_TIME;
  bool feedback = false;
  for (int i = 0; i < follow->nu; i++)
    feedback = feedback || follow->c[i] != 0 || follow->k[i] != 0;
  if (feedback) caps |= PERP_FORCE_NEEDS_VELOCITY;
  if (follow->kind != PERP_REDUCED_FREE && follow->kind != PERP_REDUCED_PLANAR)
    caps |= PERP_FORCE_INTERNAL;
  return caps;
}

const perp_force_desc perp_follow_force = {
  .d = { .name = "follow",
         .summary = "Force of a controller in one joint",
         .reference = "Cline 2002, eq. 5.6 and 5.7",
         .opts_size = sizeof(perp_follow),
         .caps = PERP_FORCE_IN_SPACE | PERP_FORCE_IN_PLANE | PERP_FORCE_NEEDS_TIME },
  .bodies_min = 1,
  .bodies_max = 2,
  .force = follow_force,
  .promises = follow_force_promises,
};
