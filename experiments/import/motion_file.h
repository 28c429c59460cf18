/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Motions of a model in files: motion capture in BVH, tables of coordinates. */
#ifndef PERP_MOTION_FILE_H
#define PERP_MOTION_FILE_H

#include "experiments/base/tree.h"
#include "models/figures/playback.h"

typedef struct perp_motion_file {
  const char *path;
  /* Of a BVH: m, its unit of length, and where its root joint is in the frame of the body of that
   * name, m.  scale 0: both as the joints of the model have them, next to the root. */
  double scale, origin[3];
  int start, end;    /* first and last frame of a skeleton's motion; end 0: that of the file */
  double frame_time; /* s; 0: that of the file */
} perp_motion_file;

/* A BVH or AMC (name.bvh, name.amc): bodies of the model have the names of its joints; what else is
 * in the model stays where it is.  Any other file is a table (docs/reference/scene-files.md): all
 * coordinates of all bodies, rates are not read.  at: where the file is named; NULL: on the command
 * line.  false after a message: *out is NULL.  Allocates; O(file). */
bool perp_motion_file_read(perp_ctx *ctx, perp_diag *diag, const perp_node *at,
                           const perp_model *model, const perp_motion_file *from,
                           perp_playback **out);

#endif
