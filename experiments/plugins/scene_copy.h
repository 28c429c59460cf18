/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scene files that come with perp, copied into the working folder to be changed. */
#ifndef PERP_SCENE_COPY_H
#define PERP_SCENE_COPY_H

#include "solvers/core/core.h"

/* Copy the scene file of that name, or the example with the tables that are called like it, and
 * print what was written; *file: the first of them, the caller frees it.  file_as NULL: as it is
 * called.  PERP_ERR_ARG: there is none, or a file is there already, and nothing is overwritten;
 * PERP_ERR_IO. */
perp_status perp_scene_copy(perp_ctx *ctx, const char *name, const char *file_as, char **file);

#endif
