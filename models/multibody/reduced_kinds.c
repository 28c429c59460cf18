/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds of joints with coordinates: one row of a table each, at the end, and the two functions
 * that it names.
 *
 *   coordinates  q and u of the joint from the relative motion of its bodies
 *   move         the orientation of the child, its angular velocity from the parent, the motion of
 *                its joint point, the columns of S and the accelerations that velocities cause */
#include "models/multibody/chain.h"
#include "models/multibody/reduced_private.h"

static const double e_z[3] = { 0, 0, 1 };

/* R = rotation by angle about the unit vector n */
static void kinds_rotated(const double n[3], double angle, double R[9])
{
  double s = sin(angle), h = sin(angle / 2), c = 2 * h * h; /* 1 - cos without cancellation */
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) R[i + 3 * j] = (i == j ? 1 - c : 0) + c * n[i] * n[j];
  R[1] += s * n[2], R[3] -= s * n[2];
  R[6] += s * n[1], R[2] -= s * n[1];
  R[5] += s * n[0], R[7] -= s * n[0];
}

/* angle of the rotation R about the unit vector n, in (-pi, pi] */
static double kinds_angle(const double R[9], const double n[3])
{
  double q[4];
  perp_matrix_quat(R, q);
  double s = dot(q + 1, n);
  return q[0] < 0 ? 2 * atan2(-s, -q[0]) : 2 * atan2(s, q[0]);
}

/* column c of S: rotation about the world direction n through the joint point at -rho from x */
static void kinds_rotation(node *child, int c, const double n[3], const double rho[3])
{
  double *S = child->S + 6 * c;
  memcpy(S, n, 3 * sizeof *S);
  memset(S + 3, 0, 3 * sizeof *S);
  add_cross(-1, n, rho, S + 3);
}

static void kinds_translation(node *child, int c, const double n[3])
{
  double *S = child->S + 6 * c;
  memset(S, 0, 3 * sizeof *S);
  memcpy(S + 3, n, 3 * sizeof *S);
}

/* ---- orientation of the child ---- */

/* R of the child is known: the joint point of the child. */
static void kinds_turned(const node *child, perp_reduced_moved *move)
{
  turn(child->R, child->anchor_c, move->rho_c);
}

/* that of the parent */
static void kinds_parallel(node *child, perp_reduced_moved *move)
{
  if (move->dim == 2)
    kinds_rotated(e_z, child->angle, child->R);
  else
    multiply(move->parent->R, child->rel, child->R);
  kinds_turned(child, move);
}

/* The last coordinates are a quaternion, the last rates those of the child in its frame. */
static void kinds_ball_turn(node *child, const double *q, const double *u, perp_reduced_moved *move)
{
  double rel[9];
  perp_quat_matrix(q + child->nq - 4, rel);
  multiply(move->parent->R, rel, child->R);
  turn(child->R, u + child->nu - 3, move->w);
  add_cross(1, move->parent->w, move->w, child->zeta); /* R_c w turns with the child */
  kinds_turned(child, move);
  for (int c = 0; c < 3; c++)
    kinds_rotation(child, child->nu - 3 + c, child->R + 3 * c, move->rho_c);
}

/* The last coordinate is an angle about the axis of the parent, n in the world. */
static void kinds_hinge_turn(node *child, const double axis[3], const double *q, const double *u,
                             perp_reduced_moved *move, double n[3])
{
  const double angle = q[child->nq - 1];
  double R1[9], rel[9];
  if (move->dim == 2) {
    child->angle += angle;
    kinds_rotated(e_z, child->angle, child->R);
  } else {
    kinds_rotated(axis, angle, R1);
    multiply(R1, child->rel, rel);
    multiply(move->parent->R, rel, child->R);
  }
  turn(move->parent->R, axis, n);
  for (int c = 0; c < 3; c++) move->w[c] = n[c] * u[child->nu - 1];
  add_cross(1, move->parent->w, move->w, child->zeta);
  kinds_turned(child, move);
}

/* A rod of the frame R1 in the parent and the rates s there leads to the joint point of the child:
 * it has an angular velocity wr = wp + wrel of its own, whose bias is wp x wrel. */
static void kinds_rod(const node *child, const double R1[9], const double s[3],
                      perp_reduced_moved *move, double rod[9])
{
  const double *wp = move->parent->w;
  double wrel[3], wr[3], bias[3] = { 0 };
  multiply(move->parent->R, R1, rod);
  turn(rod, s, wrel);
  for (int c = 0; c < 3; c++) move->d[c] = child->length * rod[c], wr[c] = wp[c] + wrel[c];
  add_cross(1, wr, move->d, move->ddot);
  add_cross(1, wp, wrel, bias);
  add_cross(1, bias, move->d, move->bias);
  add_centripetal(wr, move->d, move->bias);
}

/* ---- free bodies ---- */

static void kinds_free_coordinates(const node *child, const perp_reduced_relative *at, double *q,
                                   double *u)
{
  memcpy(q, at->q, (size_t)child->nq * sizeof *q);
  memcpy(u, at->v, (size_t)child->nu * sizeof *u);
}

static void kinds_free_place(node *child, const double *q, const double *u)
{
  perp_quat_matrix(q + 3, child->R);
  turn(child->R, u + 3, child->w);
  for (int c = 0; c < 3; c++) {
    child->x[c] = q[c], child->xdot[c] = u[c];
    kinds_translation(child, c, world_node.R + 3 * c);
    kinds_rotation(child, 3 + c, child->R + 3 * c, world_node.x);
  }
}

static void kinds_planar_place(node *child, const double *q, const double *u)
{
  child->angle = q[2];
  kinds_rotated(e_z, q[2], child->R);
  child->w[0] = child->w[1] = 0, child->w[2] = u[2];
  for (int c = 0; c < 2; c++) {
    child->x[c] = q[c], child->xdot[c] = u[c];
    kinds_translation(child, c, world_node.R + 3 * c);
  }
  child->x[2] = child->xdot[2] = 0;
  kinds_rotation(child, 2, e_z, world_node.x);
}

/* ---- ball ---- */

static void kinds_ball_coordinates(const node *child, const perp_reduced_relative *at, double *q,
                                   double *u)
{
  perp_matrix_quat(at->R, q);
  turn_back(child->R, at->w, u);
}

static void kinds_ball_move(node *child, const double *q, const double *u, perp_reduced_moved *move)
{
  kinds_ball_turn(child, q, u, move);
}

/* ---- hinge ---- */

static void kinds_hinge_coordinates(const node *child, const perp_reduced_relative *at, double *q,
                                    double *u)
{
  double n[3], back[9], since[9];
  if (at->dim == 2) {
    q[0] = child->angle - at->parent->angle - child->rel_angle; /* full turns are kept */
  } else {
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) back[a + 3 * b] = child->rel[b + 3 * a];
    multiply(at->R, back, since);
    q[0] = kinds_angle(since, child->axis_p);
  }
  turn(at->parent->R, child->axis_p, n);
  u[0] = dot(n, at->w);
}

static void kinds_hinge_move(node *child, const double *q, const double *u,
                             perp_reduced_moved *move)
{
  double n[3];
  kinds_hinge_turn(child, child->axis_p, q, u, move, n);
  kinds_rotation(child, 0, n, move->rho_c);
}

/* ---- universal: the axis of the child turns about the axis of the parent ---- */

static void kinds_universal_coordinates(const node *child, const perp_reduced_relative *at,
                                        double *q, double *u)
{
  double n1[3], n2[3], s[3], R1[9], R2[9];
  turn(child->rel, child->axis_c, n1);
  turn(at->R, child->axis_c, n2);
  perp_cross(n1, n2, s);
  q[0] = atan2(dot(child->axis_p, s), dot(n1, n2));
  kinds_rotated(child->axis_p, q[0], R1);
  multiply(R1, child->rel, R2);
  multiply_transposed(R2, at->R, R1);
  q[1] = kinds_angle(R1, child->axis_c);
  turn(at->parent->R, child->axis_p, n1);
  turn(child->R, child->axis_c, n2);
  u[0] = dot(n1, at->w), u[1] = dot(n2, at->w);
}

static void kinds_universal_move(node *child, const double *q, const double *u,
                                 perp_reduced_moved *move)
{
  const double *wp = move->parent->w;
  double R1[9], cross[9], rel[9], n1[3], n2[3], w1[3], w2[3];
  kinds_rotated(child->axis_p, q[0], R1);
  multiply(R1, child->rel, cross);
  kinds_rotated(child->axis_c, q[1], R1);
  multiply(cross, R1, rel); /* child -> parent */
  multiply(move->parent->R, rel, child->R);
  turn(move->parent->R, child->axis_p, n1);
  turn(child->R, child->axis_c, n2);
  for (int c = 0; c < 3; c++) move->w[c] = n1[c] * u[0];
  add_cross(1, wp, move->w, child->zeta);
  for (int c = 0; c < 3; c++) w1[c] = wp[c] + move->w[c], w2[c] = n2[c] * u[1];
  add_cross(1, w1, w2, child->zeta); /* n2 turns with the cross-piece */
  for (int c = 0; c < 3; c++) move->w[c] += w2[c];
  kinds_turned(child, move);
  kinds_rotation(child, 0, n1, move->rho_c);
  kinds_rotation(child, 1, n2, move->rho_c);
}

/* ---- slider ---- */

static void kinds_slider_coordinates(const node *child, const perp_reduced_relative *at, double *q,
                                     double *u)
{
  double n[3];
  turn(at->parent->R, child->axis_p, n);
  q[0] = dot(n, at->d);
  u[0] = dot(n, at->ddot);
}

/* d = n s,  ddot = n sdot + wp x n s,  bias = 2 wp x n sdot + wp x (wp x n s) */
static void kinds_slider_move(node *child, const double *q, const double *u,
                              perp_reduced_moved *move)
{
  const double *wp = move->parent->w;
  double n[3];
  kinds_parallel(child, move);
  turn(move->parent->R, child->axis_p, n);
  for (int c = 0; c < 3; c++) move->d[c] = n[c] * q[0], move->ddot[c] = n[c] * u[0];
  add_cross(2, wp, move->ddot, move->bias);
  add_centripetal(wp, move->d, move->bias);
  add_cross(1, wp, move->d, move->ddot);
  kinds_translation(child, 0, n);
}

/* ---- fixed ---- */

static void kinds_fixed_move(node *child, const double *q, const double *u,
                             perp_reduced_moved *move)
{
  (void)q, (void)u;
  kinds_parallel(child, move);
}

/* ---- distance: a massless rod, and a ball at its end ---- */

static void kinds_distance_coordinates(const node *child, const perp_reduced_relative *at,
                                       double *q, double *u)
{
  double ddot[3], s[3], e[3], rates[3], R1[9];
  turn_back(at->parent->R, at->d, s);
  unit(s, e);
  /* quaternion of the rotation that takes e_x to the unit vector e the shortest way */
  if (e[0] > -0.5) {
    double c = sqrt(0.5 * (1 + e[0])); /* cos of half the angle */
    q[0] = c, q[1] = 0, q[2] = -e[2] / (2 * c), q[3] = e[1] / (2 * c);
  } else {
    /* half a turn about z first, then the way from -e_x */
    double c = sqrt(0.5 * (1 - e[0]));
    q[0] = e[1] / (2 * c), q[1] = e[2] / (2 * c), q[2] = 0, q[3] = c;
  }
  perp_matrix_quat(at->R, q + 4);
  /* the rate of the rod seen from the parent, in the frame of the rod: L w x e_x */
  memcpy(ddot, at->ddot, sizeof ddot);
  add_cross(-1, at->parent->w, at->d, ddot);
  turn_back(at->parent->R, ddot, s);
  perp_quat_matrix(q, R1);
  turn_back(R1, s, rates);
  u[0] = -rates[2] / child->length, u[1] = rates[1] / child->length;
  turn_back(child->R, at->w, u + 2);
}

static void kinds_distance_move(node *child, const double *q, const double *u,
                                perp_reduced_moved *move)
{
  const double rates[3] = { 0, u[0], u[1] };
  double R1[9], rod[9], n[3];
  kinds_ball_turn(child, q, u, move);
  perp_quat_matrix(q, R1);
  kinds_rod(child, R1, rates, move, rod);
  for (int c = 0; c < 3; c++) n[c] = -child->length * rod[6 + c];
  kinds_translation(child, 0, n);
  for (int c = 0; c < 3; c++) n[c] = child->length * rod[3 + c];
  kinds_translation(child, 1, n);
}

static void kinds_planar_distance_coordinates(const node *child, const perp_reduced_relative *at,
                                              double *q, double *u)
{
  const double *d = at->d;
  double ddot[3], s[3];
  turn_back(at->parent->R, d, s);
  q[0] = atan2(s[1], s[0]);
  q[1] = child->angle - at->parent->angle - child->rel_angle;
  memcpy(ddot, at->ddot, sizeof ddot);
  add_cross(-1, at->parent->w, d, ddot);
  u[0] = (d[0] * ddot[1] - d[1] * ddot[0]) / (d[0] * d[0] + d[1] * d[1]);
  u[1] = at->w[2];
}

static void kinds_planar_distance_move(node *child, const double *q, const double *u,
                                       perp_reduced_moved *move)
{
  const double rates[3] = { 0, 0, u[0] };
  double R1[9], rod[9], n[3];
  kinds_hinge_turn(child, e_z, q, u, move, n);
  kinds_rotated(e_z, q[0], R1);
  kinds_rod(child, R1, rates, move, rod);
  for (int c = 0; c < 3; c++) n[c] = child->length * rod[3 + c];
  kinds_translation(child, 0, n);
  kinds_rotation(child, 1, e_z, move->rho_c);
}

/* ---- chains of slides and hinges ---- */

static void kinds_chain_coordinates(const node *child, const perp_reduced_relative *at, double *q,
                                    double *u)
{
  const perp_joint *joint = &at->model->joint[child->joint];
  const perp_chain_memory *last = &at->model->sim.chain[joint->chain_memory];
  const node *parent = at->parent;
  const int n = child->chain->n;
  perp_pose P, C;
  perp_chain_memory memory;
  perp_chain_at place;
  double from[PERP_CHAIN_AXES], vp[6], vc[6], g[6];
  for (int i = 0; i < n; i++) from[i] = last->q[child->turned ? n - 1 - i : i];
  perp_chain_start(child->chain, from, &memory);
  memcpy(P.x, parent->x, sizeof P.x);
  memcpy(P.R, parent->R, sizeof P.R);
  memcpy(C.x, child->x, sizeof C.x);
  memcpy(C.R, child->R, sizeof C.R);
  memcpy(vp, parent->xdot, sizeof parent->xdot);
  memcpy(vc, child->xdot, sizeof child->xdot);
  turn_back(parent->R, parent->w, vp + 3);
  turn_back(child->R, child->w, vc + 3);
  perp_chain_solve(child->chain, &memory, &P, &C, &place);
  perp_chain_bias(child->chain, &place, &P, vp, vc, u, g);
  memcpy(q, place.q, (size_t)n * sizeof *q);
}

static void kinds_chain_move(node *child, const double *q, const double *u,
                             perp_reduced_moved *move)
{
  const double *wp = move->parent->w;
  perp_chain_motion motion = { 0 };
  memcpy(motion.R, move->parent->R, sizeof motion.R);
  memcpy(motion.w, wp, sizeof motion.w);
  perp_chain_move(child->chain, q, u, &motion);
  memcpy(child->R, motion.R, sizeof motion.R);
  memcpy(child->zeta, motion.alpha, sizeof motion.alpha);
  memcpy(move->d, motion.x, sizeof motion.x);
  memcpy(move->ddot, motion.v, sizeof motion.v);
  memcpy(move->bias, motion.a, sizeof motion.a);
  for (int c = 0; c < 3; c++) move->w[c] = motion.w[c] - wp[c];
  for (int i = 0; i < child->chain->n; i++) {
    double rho[3];
    for (int c = 0; c < 3; c++) rho[c] = motion.at[i][c] - motion.x[c];
    if (child->chain->slides[i])
      kinds_translation(child, i, motion.along[i]);
    else
      kinds_rotation(child, i, motion.along[i], rho);
  }
}

#define KINDS_CHAIN(n, ...)                                                                        \
  {                                                                                                \
    .nq = n, .nu = n, .plain = n, .group = { __VA_ARGS__ },                                        \
    .coordinates = kinds_chain_coordinates, .move = kinds_chain_move                               \
  }

const perp_reduced_joint perp_reduced_joints[] = {
  [PERP_REDUCED_FREE] = { .nq = 7,
                          .nu = 6,
                          .plain = 3,
                          .n_rotors = 1,
                          .rotor = { { 3, 3, false } },
                          .group = { 3, 3 },
                          .coordinates = kinds_free_coordinates,
                          .place = kinds_free_place },
  [PERP_REDUCED_BALL] = { .nq = 4,
                          .nu = 3,
                          .n_rotors = 1,
                          .group = { 3 },
                          .coordinates = kinds_ball_coordinates,
                          .move = kinds_ball_move },
  [PERP_REDUCED_HINGE] = { .nq = 1,
                           .nu = 1,
                           .plain = 1,
                           .group = { 1 },
                           .still = true,
                           .coordinates = kinds_hinge_coordinates,
                           .move = kinds_hinge_move },
  [PERP_REDUCED_UNIVERSAL] = { .nq = 2,
                               .nu = 2,
                               .plain = 2,
                               .group = { 1, 1 },
                               .coordinates = kinds_universal_coordinates,
                               .move = kinds_universal_move },
  [PERP_REDUCED_SLIDER] = { .nq = 1,
                            .nu = 1,
                            .plain = 1,
                            .group = { 1 },
                            .still = true,
                            .coordinates = kinds_slider_coordinates,
                            .move = kinds_slider_move },
  [PERP_REDUCED_FIXED] = { .still = true, .move = kinds_fixed_move },
  [PERP_REDUCED_DISTANCE] = { .nq = 8,
                              .nu = 5,
                              .n_rotors = 2,
                              .rotor = { { 0, 0, true }, { 4, 2, false } },
                              .group = { 2, 3 },
                              .coordinates = kinds_distance_coordinates,
                              .move = kinds_distance_move },
  [PERP_REDUCED_PLANAR] = { .nq = 3,
                            .nu = 3,
                            .plain = 3,
                            .group = { 2, 1 },
                            .still = true,
                            .coordinates = kinds_free_coordinates,
                            .place = kinds_planar_place },
  [PERP_REDUCED_PLANAR_DISTANCE] = { .nq = 2,
                                     .nu = 2,
                                     .plain = 2,
                                     .group = { 1, 1 },
                                     .coordinates = kinds_planar_distance_coordinates,
                                     .move = kinds_planar_distance_move },
  [PERP_REDUCED_CHAIN_2] = KINDS_CHAIN(2, 1, 1),
  [PERP_REDUCED_CHAIN_3] = KINDS_CHAIN(3, 1, 1, 1),
  [PERP_REDUCED_CHAIN_4] = KINDS_CHAIN(4, 1, 1, 1, 1),
  [PERP_REDUCED_CHAIN_5] = KINDS_CHAIN(5, 1, 1, 1, 1, 1),
};
