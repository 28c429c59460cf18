/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What forces and joints of plug-ins (force.h, joint.h) have in common: the bodies that they act
 * on.
 *
 * One code serves space and the plane: a body of the plane is one of space that stays in z = 0 and
 * turns about z.  What is answered for the directions that it does not have is not read.
 * Conventions: model.h. */
#ifndef PERP_ELEMENT_H
#define PERP_ELEMENT_H

#include "solvers/core/core.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PERP_ELEMENT_BODIES = 16 }; /* of one force or joint at most */

/* A body in motion.  The world is one at the origin, at rest, of infinite mass. */
typedef struct perp_body_state {
  double mass; /* kg */
  double x[3]; /* m, centre of mass, world */
  double R[9]; /* 3 x 3 column-major, from vectors of the body to those of the world */
  double v[3]; /* m/s, of the centre of mass, world */
  double w[3]; /* rad/s, in the body frame */
} perp_body_state;

/* Three rows of a table of options: the vector `f`, double [3], with the components KEY_x, KEY_y,
 * KEY_z.  Scene files have it as KEY: [x, y, z] too; in the plane z may be left out there. */
#define PERP_VECTOR_ROW_(S, f, i, key, d, u, h)                                                    \
  {                                                                                                \
    key, u, h, PERP_OPT_REAL, offsetof(S, f) + (i) * sizeof(double) + PERP_IS_(S, f[i], double),   \
        d, -HUGE_VAL, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, NULL, NULL                          \
  }
#define PERP_VECTOR(S, f, key, d0, d1, d2, u, h)                                                   \
  PERP_VECTOR_ROW_(S, f, 0, key "_x", d0, u, h), PERP_VECTOR_ROW_(S, f, 1, key "_y", d1, u, h),    \
      PERP_VECTOR_ROW_(S, f, 2, key "_z", d2, u, h)

/* ---- for the functions of plug-ins ---- */

/* n = R u, a direction fixed in the body, in the world */
static inline void perp_body_direction(const perp_body_state *state, const double u[3], double n[3])
{
  for (int i = 0; i < 3; i++)
    n[i] = state->R[i] * u[0] + state->R[i + 3] * u[1] + state->R[i + 6] * u[2];
}

/* p = x + R s, a point fixed in the body, in the world */
static inline void perp_body_point(const perp_body_state *state, const double s[3], double p[3])
{
  perp_body_direction(state, s, p);
  for (int i = 0; i < 3; i++) p[i] += state->x[i];
}

/* y = R (w x s), the velocity of the point beside that of the centre of mass */
static inline void perp_body_spin(const perp_body_state *state, const double s[3], double y[3])
{
  const double *w = state->w, u[3] = { w[1] * s[2] - w[2] * s[1], w[2] * s[0] - w[0] * s[2],
                                       w[0] * s[1] - w[1] * s[0] };
  perp_body_direction(state, u, y);
}

/* f [6] += the force F (world) at the point s: F, and its torque s x R'F in the body frame */
static inline void perp_body_push(const perp_body_state *state, const double s[3],
                                  const double F[3], double f[6])
{
  double g[3];
  for (int j = 0; j < 3; j++)
    g[j] = state->R[3 * j] * F[0] + state->R[3 * j + 1] * F[1] + state->R[3 * j + 2] * F[2];
  for (int i = 0; i < 3; i++) f[i] += F[i];
  f[3] += s[1] * g[2] - s[2] * g[1];
  f[4] += s[2] * g[0] - s[0] * g[2];
  f[5] += s[0] * g[1] - s[1] * g[0];
}

/* One row of J of one body, every rows-th number from J on: += sign n' dp/dt for the point s, with
 * n in the world. */
static inline void perp_body_row(const perp_body_state *state, const double s[3], const double n[3],
                                 double sign, int rows, double *J)
{
  double f[6] = { 0 };
  perp_body_push(state, s, n, f);
  for (int k = 0; k < 6; k++) J[k * rows] += sign * f[k];
}

/* The same for the direction u: += sign n' d(R u)/dt. */
static inline void perp_body_row_turn(const perp_body_state *state, const double u[3],
                                      const double n[3], double sign, int rows, double *J)
{
  double f[6] = { 0 };
  perp_body_push(state, u, n, f);
  for (int k = 3; k < 6; k++) J[k * rows] += sign * f[k];
}

#ifdef __cplusplus
}
#endif

#endif
