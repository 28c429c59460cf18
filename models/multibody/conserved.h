/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the exact motion of a model conserves: decided from its parts, whoever computes the motion.
 */
#ifndef PERP_CONSERVED_H
#define PERP_CONSERVED_H

#include "models/multibody/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Noether's theorem, component by component: momentum along an axis of the world where nothing but
 * uniform gravity acts from outside along it, angular momentum about an axis of the world where
 * whatever acts from outside stays as it is when all bodies are turned about that axis.
 *
 *      outside                         conserves P_k            conserves L_k about the axis k
 * through ball, distance, spring          -                        its point in the world, all k
 *      hinge, universal                -                        its point, k its axis
 *      line, cylindrical               k its axis               its point, k its axis
 *      slider                          k its axis               -
 *      planar                          k across its axis        any point, k its axis
 *      constant force, torque          k across it (all)        - (k across it, any point)
 *      uniform gravity along z         P_k + M g t              centre of mass; any point, k = z
 *
 * All else that acts from the world conserves nothing: other joints, drives, shapes that bodies can
 * touch, drag, motions.  Internal contacts, drives and springs conserve both. */
typedef struct perp_conserved {
  bool energy; /* kinetic, potential and elastic: nothing does work or dissipates between impacts */
  bool elastic; /* contacts and stops have mu = 0 and e = 1, or there are none */
  bool P[3], L[3];
  bool fixed[3]; /* L_k: about the axis k through center[k]; else through the centre of mass */
  double center[3][3]; /* m */
} perp_conserved;

/* Of a finished model.  Conservative: what is not certain is not conserved.  No allocation;
 * O(joints + drives + forces + shapes of the world x shapes). */
void perp_model_conserved(const perp_model *model, perp_conserved *conserved);

#ifdef __cplusplus
}
#endif

#endif
