/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of meshes before assimp reads them, which follows what a format requires without asking
 * whether it is there: what is wrong, NULL: nothing that is known to end the process.  Private to
 * robot_mesh.c. */
#ifndef PERP_ROBOT_MESH_CHECK_H
#define PERP_ROBOT_MESH_CHECK_H

#include "experiments/base/memory.h"

const char *perp_mesh_check_stl(const char *bytes, size_t size);
/* bytes end with a 0 behind them. */
const char *perp_mesh_check_dae(perp_pool *pool, const char *bytes, size_t size);
/* binary: a GLB. */
const char *perp_mesh_check_gltf(perp_pool *pool, const char *bytes, size_t size, bool binary);

#endif
