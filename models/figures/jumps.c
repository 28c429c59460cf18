/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jumps of poses: see jumps.h. */
#include "models/figures/jumps.h"

#include "models/geometry/kinematics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Does the step d2 stand alone beside d1, so that the pose that it leads to does? */
static bool jumps_alone(const double d1[3], double h1, const double d2[3], double h2, bool turns)
{
  const double near = sqrt(perp_dot(3, d1, d1)), far = sqrt(perp_dot(3, d2, d2));
  return far > (turns ? PERP_JUMP_ANGLE : PERP_JUMP_STEP) && far / h2 > PERP_JUMP_ALONE * near / h1;
}

/* The largest acceleration of pose k over its limit, 1 or less: no jump.  Which step it is: the
 * faster one. */
static double jumps_at(int k, bool first_step, bool last_step, const double *t, int bodies,
                       const double *q, double scale, perp_jump *jump)
{
  const size_t stride = 7 * (size_t)bodies;
  const double *now = q + (size_t)k * stride, *before = now - stride, *next = now + stride,
               h1 = t[k] - t[k - 1], h2 = t[k + 1] - t[k];
  double worst = 0;
  for (int body = 0; body < bodies; body++)
    for (int turns = 0; turns <= 1; turns++) {
      const size_t at = 7 * (size_t)body;
      double d1[3], d2[3], apart[3], a[3];
      if (turns) {
        perp_quat_difference(before + at + 3, now + at + 3, d1);
        perp_quat_difference(now + at + 3, next + at + 3, d2);
      } else {
        for (int c = 0; c < 3; c++) {
          d1[c] = scale * (now[at + (size_t)c] - before[at + (size_t)c]);
          d2[c] = scale * (next[at + (size_t)c] - now[at + (size_t)c]);
        }
      }
      for (int c = 0; c < 3; c++) {
        a[c] = 2 * (d2[c] / h2 - d1[c] / h1) / (h1 + h2);
        apart[c] = d2[c] - d1[c];
      }
      const double size = sqrt(perp_dot(3, a, a));
      const bool alone = (first_step && jumps_alone(d2, h2, d1, h1, turns == 1)) ||
                         (last_step && jumps_alone(d1, h1, d2, h2, turns == 1));
      double over = size / PERP_JUMP_ACCELERATION;
      if (turns && sqrt(perp_dot(3, apart, apart)) < PERP_JUMP_TURN) over = 0;
      if (alone) over = PERP_JUMP_ALONE * size / PERP_JUMP_ACCELERATION;
      if (!(over > worst)) continue;
      worst = over;
      const bool first = perp_dot(3, d1, d1) / (h1 * h1) > perp_dot(3, d2, d2) / (h2 * h2);
      *jump = (perp_jump){ first ? k - 1 : k, body, turns == 1, size };
    }
  return worst;
}

int perp_jumps_find(int n, const double *t, int bodies, const double *q, double scale, bool begins,
                    bool ends, perp_jump *jump, int most)
{
  int found = 0;
  perp_jump last = { .after = -1 };
  for (int k = 1; k + 1 < n; k++) {
    perp_jump now;
    if (jumps_at(k, begins && k == 1, ends && k == n - 2, t, bodies, q, scale, &now) <= 1) continue;
    if (now.after == last.after) { /* both ends of one jump */
      if (now.acceleration > last.acceleration && found > 0 && found <= most)
        jump[found - 1] = last = now;
      continue;
    }
    if (found < most) jump[found] = now;
    last = now;
    found++;
  }
  return found;
}
