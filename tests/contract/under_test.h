/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which plug-ins a contract test looks at: all of the registry, or, for `perp test --plugin`, those
 * of the file that PERP_CONTRACT_PLUGIN names. */
#ifndef PERP_UNDER_TEST_H
#define PERP_UNDER_TEST_H

#include "experiments/plugins/plugin_files.h"
#include "tests/tap.h"

#include <stdlib.h>

static bool only_outside;

/* After the plug-ins of perp have been registered. */
static inline void register_under_test(perp_ctx *ctx)
{
  const char *file = getenv("PERP_CONTRACT_PLUGIN");
  only_outside = file != NULL;
  if (file != NULL && perp_plugin_load(ctx, file, true) != PERP_OK) bail("%s", ctx->msg);
}

static inline bool under_test(const perp_desc *d)
{
  return !only_outside || perp_plugin_file_of(d) != NULL;
}

#endif
