/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Robots in MJCF, URDF and SDF (docs/how-to/import.md) and skeletons with motions in BVH
 * (docs/how-to/figures.md) as scene files: what comes out is the text of a scene, perp-scene/1, and
 * a list of all physics that it does not have. */
#ifndef PERP_IMPORT_H
#define PERP_IMPORT_H

#include "experiments/import/skeleton.h"

typedef struct perp_import {
  char *scene; /* perp-scene/1 */
  size_t size;
  char *said; /* lines: "lost: WHAT: what it would do", "note: ..." */
  int lost;   /* lines of those that are lost */
  int n_files;
  char **file; /* [n_files] absolute: the file itself, then those that it names and that exist */
} perp_import;

/* Does a name of n characters end as robots' files do: .xml, .mjcf, .urdf, .sdf, .world, or those
 * of skeletons?
 */
bool perp_import_ends(const char *name, size_t n);

/* Is it a skeleton (.bvh, .asf, .amc)? */
bool perp_import_is_figure(const char *path);

/* Read a robot.  key: the keyframe that is its initial state (its name or number), NULL: as it is
 * drawn.  at: where the file is named, NULL: on the command line.  It is read in a process of
 * its own: whatever it does with a bad file, there is one message with file, line and mend.
 * false after an error: *out is empty. */
bool perp_import_read(perp_diag *diag, const perp_node *at, const char *path, const char *key,
                      perp_import *out);
/* Read a skeleton with its motion, with these options.  parameters: the scene has them as
 * parameters, too. */
bool perp_import_skeleton(perp_diag *diag, const perp_node *at, const char *path,
                          const perp_skeleton_options *options, bool parameters, perp_import *out);
void perp_import_free(perp_import *import);

/* Links of a URDF that no joint carries are free from now on; at first they are parts of the world.
 */
void perp_import_floating(bool floating);
/* Default of the parameter `filter` of robots from now on, true at first: shapes that overlap as
 * drawn do not collide. */
void perp_import_filter(bool filter);
/* Folders in which files of robots are looked for, DIR[:DIR], in this process and those that it
 * starts.  false: one of them is no folder; *bad is its name (malloc). */
bool perp_import_package_path(const char *list, char **bad);

#endif
