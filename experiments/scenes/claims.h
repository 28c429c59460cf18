/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a scene file says of the right answer: gauges, events, truths.  Private to
 * experiments/scenes. */
#ifndef PERP_SCENES_CLAIMS_H
#define PERP_SCENES_CLAIMS_H

#include "experiments/scenes/keys.h"

/* Into reader->scene, whose model is finished. */
void perp_scene_add_gauges(perp_scene_reader *reader);
void perp_scene_add_truths(perp_scene_reader *reader);
/* The path of a file that a node of the file names, relative to where the node stands; from the
 * pool.  NULL after an error. */
const char *perp_scene_path(perp_scene_reader *reader, const perp_node *node);

#endif
