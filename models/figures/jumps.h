/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jumps of a motion that was captured: poses that do not continue each other. */
#ifndef PERP_JUMPS_H
#define PERP_JUMPS_H

#include "models/multibody/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of what a person does: 50 g of a place; of a rotation, that of a point 1 m from its axis,
 * where the rotation vectors of two steps also differ by 20 degrees or more: noise of angles,
 * divided by the square of a short time, is no jump. */
#define PERP_JUMP_ACCELERATION (50 * 9.81) /* m/s^2, rad/s^2 */
#define PERP_JUMP_TURN         0.35        /* rad */
/* The first and the last pose may stand alone (a calibration, a tracker that was lost): there a
 * fifth of these accelerations is enough where the step is 5 times as long as its neighbour and at
 * least 5 cm, or 5 degrees. */
#define PERP_JUMP_ALONE 5
#define PERP_JUMP_STEP  0.05              /* m */
#define PERP_JUMP_ANGLE (5 * 0.017453293) /* rad */

typedef struct perp_jump {
  int after;           /* between the poses `after` and after + 1, numbered from 0 */
  int body;            /* whose acceleration is the largest there */
  bool turns;          /* it is that of its rotation */
  double acceleration; /* m/s^2 or rad/s^2 */
} perp_jump;

/* The jumps of poses q [n][7 bodies] (x, y, z and a unit quaternion each) at times t [n], s,
 * rising. The acceleration of pose k is that of the parabola through three poses,
 *
 *      a_k = 2 (d_{k+1} / h_{k+1} - d_k / h_k) / (h_k + h_{k+1}),   d_k = x_k - x_{k-1},
 *
 * of rotations with d_k = log(R_{k-1}' R_k).  Beyond the limits the faster one of both steps is the
 * jump.  Fewer than three poses have none.  jump [most]: the first ones; returns their number,
 * which may be larger.  scale: m in a unit of length of q.  O(n bodies). */
int perp_jumps_find(int n, const double *t, int bodies, const double *q, double scale, bool begins,
                    bool ends, perp_jump *jump, int most);

#ifdef __cplusplus
}
#endif

#endif
