/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an implicit step adds to the damping of a servo spring. */
#ifndef PERP_SERVO_DAMPING_H
#define PERP_SERVO_DAMPING_H

#include "models/multibody/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A servo alone in the initial state, all other coordinates free: k is its stiffness, m = 1 / (J K
 * J') the inertia [kg, kg m^2] that its coordinate moves, with K the response of the jointed
 * bodies. */
typedef struct perp_servo_damping {
  double omega; /* rad/s, sqrt(k / m) */
  double ratio; /* of its damper, c / (2 sqrt(k m)) */
  double added; /* by a spring force of the end of the step: see perp_servo_added */
} perp_servo_damping;

/* Damping ratio of backward Euler, x+ = x + h v+, v+ = v - h omega^2 x+: s / sqrt(s^2 + a^2) with s
 * = log(1 + y^2) / 2 and a = atan(y), y = h omega; about y / 2. */
double perp_servo_added(double h, double omega);
/* *out [drives] of a finished model; zero of drives without a spring.  PERP_ERR_NOMEM;
 * PERP_ERR_ARG: the KKT system of the initial state cannot be solved.  Allocates, O(rows^3) once.
 */
perp_status perp_servo_damping_of(perp_ctx *ctx, perp_model *model, double h,
                                  perp_servo_damping *out);

#ifdef __cplusplus
}
#endif

#endif
