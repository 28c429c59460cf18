/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_TESTS_IMPORT_MODELS_H
#define PERP_TESTS_IMPORT_MODELS_H

#include <stdio.h>
#include <stdlib.h>

/* A file of tests/import/models; the text is there until the next call. */
static const char *path_of(const char *file)
{
  static char path[1000];
  const char *source = getenv("PERP_SOURCE");
  snprintf(path, sizeof path, "%s/tests/import/models/%s", source != NULL ? source : ".", file);
  return path;
}

#endif
