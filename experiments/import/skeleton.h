/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Skeletons with motions in any format that perp reads: BVH, and ASF with AMC (Acclaim). */
#ifndef PERP_SKELETON_H
#define PERP_SKELETON_H

#include "experiments/import/bvh.h"

typedef struct perp_skeleton_options {
  int start;            /* the first frame that is used; frames are numbered from 0 */
  int end;              /* the last one; 0: that of the file */
  double frame_time;    /* s; 0: that of the file, of an AMC file, which has none, 1/120 s */
  const char *skeleton; /* the ASF file of an AMC file; NULL: that beside it */
} perp_skeleton_options;

/* Does a name of n characters end as such files do: .bvh, .asf, .amc? */
bool perp_skeleton_ends(const char *name, size_t n);
/* The file with these options (NULL: none).  An AMC file NAME.amc moves the skeleton NAME.asf
 * beside it, NAME without all behind a '_' (02.asf of 02_01.amc), or the only ASF file there; an
 * ASF file alone has no frames.  *other (may be NULL): the path of the ASF file, to be freed, or
 * NULL. at: where the file is named, NULL: on the command line.  false after a message: *out is
 * empty. */
bool perp_skeleton_load(perp_diag *diag, const perp_node *at, const char *path,
                        const perp_skeleton_options *options, perp_bvh *out, char **other);

#endif
