/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Motions in closed form of a scene file, as a truth and as a gauge.  Private to
 * experiments/scenes. */
#ifndef PERP_SCENES_MOTION_H
#define PERP_SCENES_MOTION_H

#include "experiments/scenes/keys.h"

/* Motions in closed form as a truth: the entries of `motion`. */
bool perp_scene_add_motion(perp_scene_reader *reader, const perp_node *truth, const char *what,
                           double uncertainty);
/* The gauge path: where a body should be, as expressions over t. */
void perp_scene_add_path(perp_scene_reader *reader, const perp_node *entry);
/* A gauge of kind reaction: the force of a joint as expressions of t. */
void perp_scene_add_reaction(perp_scene_reader *reader, const perp_node *entry, int joint,
                             double scale, double from);

#endif
