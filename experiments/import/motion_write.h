/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of models as motions of skeletons, to be written as BVH files. */
#ifndef PERP_MOTION_WRITE_H
#define PERP_MOTION_WRITE_H

#include "experiments/import/bvh.h"
#include "models/multibody/model.h"

/* States q [n][model nq] with the time `frame_time` [s] between them as a skeleton: a joint for
 * each body, with its orientation, at the anchor of the joint that leads to it; an end site is its
 * centre of mass.  Joints that close loops have none.  Several trees hang on a root that never
 * moves. Lengths are centimetres, axes those of a BVH file.  A body whose anchor moves in the body
 * before it by more than 1e-9 of the size (a slider, a compliant joint) has position channels, so
 * that places read back as they are, to rounding.  In the plane bodies move in (x, up).  *out is to
 * be freed. false after a message: no bodies, too many. O(n bodies + joints bodies). */
bool perp_motion_write(perp_diag *diag, const perp_model *model, int n, double frame_time,
                       const double *q, perp_bvh *out);

/* The columns t and q0 ... q(nq - 1) of the time series of a run (perp simulate --series), each
 * `every`-th row, which must be equally apart: n, frame_time and q [n][nq], to be freed.  false
 * after a message with file and line. */
bool perp_motion_series(perp_diag *diag, const char *path, const char *text, int nq, int every,
                        int *n, double *frame_time, double **q);

#endif
