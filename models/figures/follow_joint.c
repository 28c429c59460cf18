/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows that hold a joint to a reference, C(q, t) = 0.
 *
 * Turning, with E = R_ref' R, R: outer to inner body, w = w_outer - R' w_inner - E' w_ref and
 * B = (tr(E) 1 - E') / 2:
 *
 *      C = vee(E - E') / 2,   Cdot = B w,   C.. = B wdot + (tr(Edot) 1 - Edot') / 2 w
 *
 *      Edot = E [w]x,   wdot = (w_outer - R' w_inner) x R' w_inner + w x E' w_ref - E' wdot_ref
 *
 * where nothing else accelerates.  Moving: C = x - x_ref of a root, n . (p_outer - p_inner) - q_ref
 * of a slider.
 *
 * C is smooth everywhere and 0 where E is 1; it is the sine of what is left to turn. */
#include "models/figures/control_private.h"

#include "models/geometry/kinematics.h"

#include <string.h>

/* Where the rows go; J, Ct, gamma may be NULL. */
typedef struct follow_rows {
  int rows, row; /* of all, the next one */
  double *C, *J_inner, *J_outer, *Ct, *gamma;
} follow_rows;

static int follow_joint_rows(const void *opts, int dim, int n, unsigned *angles)
{
  const perp_follow *follow = opts;
  (void)n;
  switch (follow->kind) {
  case PERP_REDUCED_FREE:
  case PERP_REDUCED_PLANAR:
    *angles = ~0u << dim;
    return follow->nu;
  case PERP_REDUCED_SLIDER:
    *angles = 0;
    return 1;
  default:
    *angles = ~0u;
    return follow->nu;
  }
}

/* ---- turning ---- */

/* y = (tr(E) x - E' x) / 2 */
static void follow_joint_blend(const double E[9], const double x[3], double y[3])
{
  double back[3];
  perp_turn_back(3, E, x, back);
  for (int k = 0; k < 3; k++) y[k] = (((E[0] + E[4] + E[8]) * x[k]) - back[k]) / 2;
}

typedef struct follow_turn {
  double R[9], E[9];   /* outer to inner; R_ref' R */
  double inner[3];     /* R' w_inner */
  double aim[3], w[3]; /* E' w_ref; w_outer - R' w_inner - E' w_ref */
} follow_turn;

static follow_turn follow_joint_turn(const perp_follow *follow, const perp_goal_at *at,
                                     const perp_follow_ends *ends)
{
  follow_turn turn;
  double aim[9], w[3];
  for (int k = 0; k < 3; k++)
    perp_turn_back(3, ends->inner->R, ends->outer->R + 3 * k, turn.R + 3 * k);
  perp_follow_turn(follow, at, aim, w);
  for (int k = 0; k < 3; k++) perp_turn_back(3, aim, turn.R + 3 * k, turn.E + 3 * k);
  perp_turn_back(3, turn.R, ends->inner->w, turn.inner);
  perp_turn_back(3, turn.E, w, turn.aim);
  for (int k = 0; k < 3; k++) turn.w[k] = ends->outer->w[k] - turn.inner[k] - turn.aim[k];
  return turn;
}

/* C.. = B wdot + Bdot w */
static void follow_joint_turn_bias(const follow_turn *turn, const perp_follow_ends *ends,
                                   const double alpha[3], double gamma[3])
{
  double back[3], relative[3], turning[3], left[3], wdot[3], Edot[9], a[3], b[3];
  perp_turn_back(3, turn->E, alpha, back);
  for (int k = 0; k < 3; k++) relative[k] = ends->outer->w[k] - turn->inner[k];
  perp_cross(relative, turn->inner, turning);
  perp_cross(turn->w, turn->aim, left);
  for (int k = 0; k < 3; k++) wdot[k] = turning[k] + left[k] - back[k];
  /* columns of [w]x are w x e_k */
  for (int k = 0; k < 3; k++) {
    const double e[3] = { k == 0, k == 1, k == 2 };
    double column[3];
    perp_cross(turn->w, e, column);
    perp_turn(3, turn->E, column, Edot + 3 * k);
  }
  follow_joint_blend(turn->E, wdot, a);
  follow_joint_blend(Edot, turn->w, b);
  for (int k = 0; k < 3; k++) gamma[k] = a[k] + b[k];
}

/* The part along a (frame of the outer body; NULL: all three) as rows. */
static void follow_joint_turns(const perp_follow *follow, const perp_goal_at *at,
                               const perp_follow_ends *ends, const double *a, follow_rows *to)
{
  const follow_turn turn = follow_joint_turn(follow, at, ends);
  const double C[3] = { (turn.E[5] - turn.E[7]) / 2, (turn.E[6] - turn.E[2]) / 2,
                        (turn.E[1] - turn.E[3]) / 2 };
  double alpha[3] = { 0 }, gamma[3], rate[3];
  for (int k = 0; k < 3; k++)
    alpha[k] = follow->kind == PERP_REDUCED_FREE     ? at->udot[3 + k]
               : follow->kind == PERP_REDUCED_BALL   ? at->udot[k]
               : follow->kind == PERP_REDUCED_PLANAR ? follow->axis_c[k] * at->udot[2]
                                                     : follow->axis_c[k] * at->udot[0];
  follow_joint_turn_bias(&turn, ends, alpha, gamma);
  follow_joint_blend(turn.E, turn.aim, rate);
  for (int i = 0; i < (a == NULL ? 3 : 1); i++, to->row++) {
    const double unit[3] = { i == 0, i == 1, i == 2 }, *n = a == NULL ? unit : a;
    const int row = to->row;
    double b[3], back[3];
    to->C[row] = perp_dot(3, n, C);
    if (to->Ct != NULL) to->Ct[row] = -perp_dot(3, n, rate);
    if (to->gamma != NULL) to->gamma[row] = perp_dot(3, n, gamma);
    if (to->J_outer == NULL) continue;
    /* n' B: B' n = (tr(E) n - E n) / 2 */
    perp_turn(3, turn.E, n, back);
    for (int k = 0; k < 3; k++) b[k] = (((turn.E[0] + turn.E[4] + turn.E[8]) * n[k]) - back[k]) / 2;
    perp_turn(3, turn.R, b, back);
    for (int k = 0; k < 3; k++) {
      to->J_outer[row + to->rows * (3 + k)] += b[k];
      if (to->J_inner != NULL) to->J_inner[row + to->rows * (3 + k)] -= back[k];
    }
  }
}

/* ---- moving ---- */

static void follow_joint_places(int dim, const perp_goal_at *at, const perp_body_state *body,
                                follow_rows *to)
{
  for (int k = 0; k < dim; k++, to->row++) {
    to->C[to->row] = body->x[k] - at->q[k];
    if (to->Ct != NULL) to->Ct[to->row] = -at->u[k];
    if (to->gamma != NULL) to->gamma[to->row] = -at->udot[k];
    if (to->J_outer != NULL) to->J_outer[to->row + to->rows * k] = 1;
  }
}

/* With z = R_inner' (p_outer - x_inner): C = n . (z - anchor) - q_ref, zdot = R_inner' (u_outer -
 * v_inner) - w_inner x z, which the slider keeps along n: n . (w_inner x zdot) = 0. */
static void follow_joint_slides(const perp_follow *follow, const perp_goal_at *at,
                                const perp_follow_ends *ends, follow_rows *to)
{
  const perp_body_state *A = ends->inner, *B = ends->outer;
  const double *n = follow->axis_p;
  double p[3], z[3], u[3], rel[3], turn[3], bend[3], in[3], a[3];
  perp_body_point(B, follow->anchor_c, p);
  for (int k = 0; k < 3; k++) p[k] -= A->x[k];
  perp_turn_back(3, A->R, p, z);
  perp_body_spin(B, follow->anchor_c, u);
  for (int k = 0; k < 3; k++) u[k] += B->v[k] - A->v[k];
  perp_turn_back(3, A->R, u, rel);
  to->C[0] = -at->q[0];
  for (int k = 0; k < 3; k++) to->C[0] += n[k] * (z[k] - follow->anchor_p[k]);
  if (to->Ct != NULL) to->Ct[0] = -at->u[0];
  if (to->gamma != NULL) {
    perp_cross(B->w, follow->anchor_c, turn);
    perp_cross(B->w, turn, bend);
    perp_turn(3, B->R, bend, p);
    perp_turn_back(3, A->R, p, in);
    perp_cross(A->w, rel, a);
    to->gamma[0] = -at->udot[0];
    for (int k = 0; k < 3; k++) to->gamma[0] += n[k] * (in[k] - a[k]);
  }
  if (to->J_outer == NULL) return;
  double world[3], moment[3];
  perp_body_direction(A, n, world);
  perp_body_row(B, follow->anchor_c, world, 1, to->rows, to->J_outer);
  perp_cross(z, n, moment);
  for (int k = 0; k < 3; k++) {
    to->J_inner[to->rows * k] -= world[k];
    to->J_inner[to->rows * (3 + k)] -= moment[k];
  }
}

static void follow_joint_at(const void *opts, int dim, int n, const perp_body_state *body, double t,
                            double *C, double *J, double *Ct, double *gamma)
{
  const perp_follow *follow = opts;
  const perp_follow_ends ends = perp_follow_bodies(follow, body);
  const bool root = follow->kind == PERP_REDUCED_FREE || follow->kind == PERP_REDUCED_PLANAR;
  perp_goal_at at;
  unsigned angles;
  follow_rows to = { .C = C, .Ct = Ct, .gamma = gamma };
  to.rows = follow_joint_rows(opts, dim, n, &angles);
  if (J != NULL) {
    to.J_outer = J + 6 * to.rows * (n - 1);
    to.J_inner = n == 2 ? J : NULL;
  }
  perp_goal_of(follow->goal, t, follow->iq, follow->nq, follow->iu, follow->nu, false, &at);
  if (follow->kind == PERP_REDUCED_SLIDER) {
    follow_joint_slides(follow, &at, &ends, &to);
    return;
  }
  if (root) follow_joint_places(dim, &at, ends.outer, &to);
  const bool whole = follow->kind == PERP_REDUCED_BALL || follow->kind == PERP_REDUCED_FREE;
  follow_joint_turns(follow, &at, &ends, whole ? NULL : follow->axis_c, &to);
}

const perp_joint_desc perp_follow_joint = {
  .d = { .name = "follow",
         .summary = "Makes a joint follow a motion",
         .reference = "Hairer and Wanner II, section VII.1: constraints C(q, t) = 0",
         .opts_size = sizeof(perp_follow),
         .caps = PERP_JOINT_IN_SPACE | PERP_JOINT_IN_PLANE },
  .bodies_min = 1,
  .bodies_max = 2,
  .rows = follow_joint_rows,
  .at_time = follow_joint_at,
};
