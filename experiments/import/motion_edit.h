/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Motions of skeletons from others (Vondrak 2005, sections 9.2.5 and 9.2.6): retargeted, blended,
 * from markers. */
#ifndef PERP_MOTION_EDIT_H
#define PERP_MOTION_EDIT_H

#include "experiments/import/bvh.h"

/* The motion on a skeleton of other lengths: all joints have the rotations of the joint of their
 * name, unchanged.  The place of the root is that of the motion times the ratio of the heights of
 * both roots above the lowest joint as drawn, so that feet that are on the ground stay there.
 * Joints that the motion lacks stay as drawn.  *out is to be freed.  false after a message: no
 * joint has the name of another one, no frames, no height.  O(frames joints). */
bool perp_motion_retarget(perp_diag *diag, const perp_bvh *motion, const perp_bvh *skeleton,
                          perp_bvh *out);

/* The first motion until `at`, then within `over` seconds from it to the second, which begins at
 * `at`:
 *
 *      places      x = (1 - b) x_1(t) + b x_2(t - at)
 *
 *      rotations   R = R_1 exp(b log(R_1' R_2))
 *
 * with b = b((t - at) / over) of models/figures/blend.h:
 *
 * linear and spherical linear interpolation; joints by their names, skeleton and frame time of the
 * first.  follow: the second one is shifted along the ground to where the root of the first is at
 * `at`.  *out is to be freed.  false after a message: times that do not fit, a joint that one of
 * both lacks, other lengths (retarget it first).  O(frames joints). */
bool perp_motion_blend(perp_diag *diag, const perp_bvh *first, const perp_bvh *second, double at,
                       double over, bool follow, perp_bvh *out);

/* Trajectories of three markers of each joint as a table, t [s], JOINT.1.x, JOINT.1.y, ...: axes
 * and unit of the file.  They are on the axes of the joint, as far from it as its first bone is
 * long; lines "# place JOINT.1: x y z" say it. */
void perp_markers_write(const perp_bvh *motion, perp_text *out);
/* The motion of the skeleton that fits the markers of such a table best, of any number and places:
 * rotations by least squares, joint after joint from the root (Horn 1987), whose place is fitted,
 * too,
 *
 *      min sum |p + R s_i - q_i|^2,     R by the largest eigenvector of a symmetric 4 x 4 matrix
 *
 * with p the place of the joint, s_i of a marker in its frame, q_i its trajectory.  An empty field
 * is a hidden marker, which does not count.  *error: the root mean square of what is left, unit of
 * the file.  *out is to be freed.  false after a message with file and line: not such a table, a
 * marker without a joint or a place, a joint with fewer than two visible markers beside it (the
 * root three) or markers on one line.  O(frames markers). */
bool perp_markers_fit(perp_diag *diag, const char *path, const char *text, const perp_bvh *skeleton,
                      perp_bvh *out, double *error);

#endif
