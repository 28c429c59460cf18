/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `control` of a scene file.  Private to experiments/scenes. */
#ifndef PERP_SCENES_CONTROL_H
#define PERP_SCENES_CONTROL_H

#include "experiments/scenes/keys.h"

/* The section, and the controller that it names (NULL: `none`); NULL: there is no section, or an
 * error was said. */
const perp_node *perp_scene_control_of(perp_scene_reader *r, const perp_desc **d);
/* The motion into r->goal, and its velocities into r->body.  bare: the scene without its
 * controller, taken over.  false after an error. */
bool perp_scene_control_begin(perp_scene_reader *r, const perp_node *map, perp_model *bare);
/* Is the joint of that name one that the motion does not know (besides)? */
bool perp_scene_control_besides(perp_scene_reader *r, const char *name);
/* The controller, where there is r->goal. */
void perp_scene_add_control(perp_scene_reader *r, perp_model *model);

#endif
