/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the WebAssembly module has not: engines of others, files. */
#include "experiments/base/files.h"
#include "experiments/base/memory.h"
#include "experiments/import/motion_file.h"
#include "experiments/scenes/scene_file.h"
#include "models/engines/engine.h"
#include "models/scenes/truths.h"

#include <stdlib.h>

perp_status perp_engine_load(perp_ctx *ctx, const perp_engine_desc *engine,
                             const perp_engine_calls **calls)
{
  *calls = NULL;
  return PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
                   "engine %s is not part of this page: perp simulate has it", engine->d.name);
}

bool perp_engine_here(const perp_engine_desc *engine)
{
  return engine->package[0] == '\0';
}

char *perp_read_input(const char *path, size_t *size, const char **why)
{
  (void)path;
  *size = 0;
  *why = "a page reads no files";
  return NULL;
}

char *perp_scene_file_source(const perp_desc *desc)
{
  (void)desc;
  return NULL; /* comments of the source are not exported */
}

bool perp_motion_file_read(perp_ctx *ctx, perp_diag *diag, const perp_node *at,
                           const perp_model *model, const perp_motion_file *from,
                           perp_playback **out)
{
  (void)ctx, (void)model;
  *out = NULL;
  perp_diag_error(diag, at, 0, NULL, "cannot read %s: a page reads no files", from->path);
  return false;
}

char *perp_base_name(const char *path, const char *suffix)
{
  (void)suffix;
  return perp_xstrdup(path);
}

/* of includes, which a page has none of */
char *realpath(const char *path, char *resolved)
{
  (void)path, (void)resolved;
  return NULL;
}

/* A page shows no errors against a reference solution: those of files and of GSL's integrators are
 * left out, and the scenes have one less. */
perp_status perp_truth_file(perp_ctx *ctx, perp_scene *scene, const char *file, double uncertainty,
                            int n, const char *const *names, perp_truth_map *map, const void *user,
                            size_t size)
{
  (void)ctx, (void)scene, (void)file, (void)uncertainty;
  (void)n, (void)names, (void)map, (void)user, (void)size;
  return PERP_OK;
}

perp_status perp_truth_reduced(perp_ctx *ctx, perp_scene *scene, double t_end, double uncertainty)
{
  (void)ctx, (void)scene, (void)t_end, (void)uncertainty;
  return PERP_OK;
}
