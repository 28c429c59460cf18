/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Axes of the joints of figures: of the table of limits, or of the rotations of the file with its
 * own limits. */
#include "experiments/import/figure.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

/* Axes of flexion (in the parent) and of twist (in the child), unit and orthogonal as drawn:
 * flexion moves the bone where the table of limits says.  false: the bone does not point where the
 * table needs it. */
bool perp_figure_axes(const perp_figure_segment *segment, double a[3], double b[3])
{
  const double forward[3] = { segment->class == PERP_FIGURE_SHANK ? -1 : 1, 0, 0 };
  double up[3] = { 0, 0, 1 };
  for (int k = 0; k < 3; k++) b[k] = segment->tip[k] / segment->length;
  perp_cross(b, segment->class == PERP_FIGURE_FOOT ? up : forward, a);
  const double size = sqrt(perp_dot(3, a, a));
  const bool legs = segment->class == PERP_FIGURE_THIGH || segment->class == PERP_FIGURE_SHANK;
  const bool fits = size > 0.5 && (!legs || b[2] < -0.7) &&
                    (segment->class != PERP_FIGURE_FOOT || b[0] > 0.3);
  if (!(size > 1e-3)) { /* along x: some axis across it */
    a[0] = 0, a[1] = 1, a[2] = 0;
    perp_cross(b, a, up);
    perp_cross(up, b, a);
  }
  const double n = sqrt(perp_dot(3, a, a));
  for (int k = 0; k < 3; k++) a[k] /= n;
  return fits;
}

/* Angles of the joint at which a segment begins, with those of links before it; axis: of the last
 * one. */
int perp_figure_turns(const perp_figure *figure, const perp_figure_segment *segment, int *axis)
{
  const perp_bvh *bvh = figure->bvh;
  const int stop = segment->parent >= 0 ? figure->segment[segment->parent].joint : -1;
  int n = 0;
  for (int joint = segment->joint; joint != stop && joint >= 0; joint = bvh->joint[joint].parent)
    for (int channel = 0; channel < bvh->joint[joint].channels; channel++)
      if (bvh->joint[joint].channel[channel] >= PERP_BVH_RX) {
        n += joint == segment->joint ? 1 : 2; /* of another joint: any rotation */
        *axis = ((int)bvh->joint[joint].channel[channel] - PERP_BVH_RX + 1) % 3;
      }
  return n;
}

/* An axis of the rotations of a joint, in the joint. */
void perp_figure_axis(const perp_bvh_joint *joint, int axis, double unit[3])
{
  double R[9];
  for (int i = 0; i < 3; i++) unit[i] = axis == i;
  if (!(perp_dot(4, joint->frame, joint->frame) > 0)) return;
  perp_quat_matrix(joint->frame, R);
  memcpy(unit, R + (ptrdiff_t)3 * axis, 3 * sizeof *unit);
}

/* Rotations E1 E2 E3 about three different axes are the angles a, node, b of a ball joint, with the
 * first axis as a and the last one as b; two have no node. */
bool perp_figure_ranges_of(const perp_figure *figure, const perp_figure_segment *segment,
                           perp_figure_ranges *out)
{
  const perp_bvh_joint *joint = &figure->bvh->joint[segment->joint];
  int axis[3], channel[3], n = 0, last = 0;
  if (!joint->limited) return false;
  for (int c = 0; c < joint->channels; c++)
    if (joint->channel[c] >= PERP_BVH_RX && n < 3) {
      axis[n] = ((int)joint->channel[c] - PERP_BVH_RX + 1) % 3;
      channel[n++] = c;
    }
  if (n < 2 || perp_figure_turns(figure, segment, &last) != n || axis[0] == axis[n - 1] ||
      (n == 3 && (axis[1] == axis[0] || axis[1] == axis[2])))
    return false;
  double node[3], middle[3];
  *out = (perp_figure_ranges){ .lower = { 0 } };
  perp_figure_axis(joint, axis[0], out->a);
  perp_figure_axis(joint, axis[n - 1], out->b);
  const int place[3] = { 0, n == 3 ? 1 : 2, 2 };
  for (int i = 0; i < n; i++) {
    out->lower[place[i]] = joint->lower[channel[i]];
    out->upper[place[i]] = joint->upper[channel[i]];
  }
  if (n == 2) return true; /* the node does not turn: lower = upper = 0 */
  perp_cross(out->a, out->b, node);
  perp_figure_axis(joint, axis[1], middle);
  if (perp_dot(3, node, middle) < 0) {
    const double lower = out->lower[1];
    out->lower[1] = -out->upper[1];
    out->upper[1] = -lower;
  }
  /* beyond a quarter turn the other two angles are not known */
  return out->lower[1] > -90 && out->upper[1] < 90 && out->lower[1] < out->upper[1];
}
