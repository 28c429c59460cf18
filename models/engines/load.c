/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where adapters are: a folder that PERP_ENGINE_PATH names, that of the build, that of the
 * installation. */
#include "models/engines/engine.h"
#include "models/engines/engine_paths.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file of an engine; false: there is none. */
static bool load_place(const char *name, char *path, size_t size)
{
  const char *const folder[] = { getenv("PERP_ENGINE_PATH"), PERP_ENGINES_BUILT,
                                 PERP_ENGINES_INSTALLED };
  for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) {
    if (folder[i] == NULL) continue;
    snprintf(path, size, "%s/perp-engine-%s.so", folder[i], name);
    if (access(path, R_OK) == 0) return true;
  }
  return false;
}

bool perp_engine_here(const perp_engine_desc *engine)
{
  char path[4096];
  return engine->package[0] == '\0' || engine->calls != NULL ||
         load_place(engine->d.name, path, sizeof path);
}

perp_status perp_engine_load(perp_ctx *ctx, const perp_engine_desc *engine,
                             const perp_engine_calls **calls)
{
  char path[4096];
  *calls = engine->calls;
  if (*calls != NULL) return PERP_OK;
  if (!load_place(engine->d.name, path, sizeof path))
    return PERP_FAIL(
        ctx, PERP_ERR_EXTERNAL,
        "engine %s needs %s, and this perp was built without it: ./perp setup %s (as a "
        "Debian package: apt-get install perp-engines)",
        engine->d.name, engine->package, engine->d.name);
  /* it stays open: the same handle again where it is known */
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    const char *why = dlerror();
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "cannot load engine %s: %s", engine->d.name,
                     why != NULL ? why : path);
  }
  const perp_engine_calls *const *adapter = dlsym(handle, PERP_ENGINE_SYMBOL);
  if (adapter == NULL || (*adapter)->abi != PERP_ABI || (*adapter)->layout != PERP_ENGINE_LAYOUT)
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "%s was built for another perp: build it again", path);
  *calls = *adapter;
  return PERP_OK;
}
