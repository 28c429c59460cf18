/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `control` of a scene file.  Private to experiments/scenes. */
#ifndef PERP_SCENES_CONTROL_H
#define PERP_SCENES_CONTROL_H

#include "experiments/scenes/keys.h"

/* The section, and the controller that it names (NULL: `none`); NULL: there is no section, or an
 * error was said. */
const perp_node *perp_scene_control_of(perp_scene_reader *reader, const perp_desc **desc);
/* The motion into reader->goal, and its velocities into reader->body.  bare: the scene without its
 * controller, taken over.  false after an error. */
bool perp_scene_control_begin(perp_scene_reader *reader, const perp_node *map, perp_model *bare);
/* Is the joint of that name one that the motion does not know (besides)? */
bool perp_scene_control_besides(perp_scene_reader *reader, const char *name);
/* The controller, where there is reader->goal. */
void perp_scene_add_control(perp_scene_reader *reader, perp_model *model);

#endif
