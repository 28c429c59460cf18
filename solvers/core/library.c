/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

static perp_status library_load(perp_ctx *ctx, const perp_library *library)
{
  char why[512] = "";
  /* all of its functions at once: the first call of one would be slower than the others */
  void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    const char *message = dlerror();
    snprintf(why, sizeof why, "%s", message != NULL ? message : "unknown error");
    handle = dlopen(library->place, RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == NULL)
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
                     "cannot load %s (%s): install the package that has it, or %s and build perp "
                     "again",
                     library->name, why, library->packages);
  for (int k = 0; k < library->count; k++) {
    /* where the library itself looks first: a program that is linked with it has the objects */
    void *pointer = dlsym(RTLD_DEFAULT, library->names[k]);
    if (pointer == NULL) pointer = dlsym(handle, library->names[k]);
    if (pointer == NULL)
      return PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
                       "%s of %s lacks %s: perp was built for another version; build it again",
                       library->file, library->name, library->names[k]);
    memcpy((char *)library->pointers + (size_t)k * sizeof pointer, &pointer, sizeof pointer);
  }
  return PERP_OK;
}

perp_status perp_library_open(perp_ctx *ctx, const perp_library *library)
{
  pthread_mutex_lock(&library_lock);
  const perp_status status = library_load(ctx, library);
  pthread_mutex_unlock(&library_lock);
  return status;
}
