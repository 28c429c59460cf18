/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scene files on the command line. */
#ifndef PERP_CMD_SCENE_H
#define PERP_CMD_SCENE_H

#include "experiments/study/commands.h"

/* A scene that is named on the command line: where it is a file that cannot be a scene, an exit
 * status after the messages with their lines; else -1. */
int perp_command_scene(perp_ctx *ctx, const char *text);
/* perp check of a scene file. */
int perp_command_check_scene(perp_ctx *ctx, const perp_args *args);

extern const perp_command perp_export_scene_command, perp_import_command, perp_inverse_command,
    perp_motion_command;

#endif
