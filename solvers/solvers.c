/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/solvers.h"
#include "solvers/optional_here.h"

#define PERP_PLUGIN(kind, name) extern const perp_##kind##_desc perp_##kind##_##name;
#include "solvers/plugins.def"
#undef PERP_PLUGIN

perp_status perp_register_solvers(perp_ctx *ctx)
{
#define PERP_PLUGIN(kind, name) { PERP_KIND_##kind, &perp_##kind##_##name.d },
  static const perp_plugin table[] = {
#include "solvers/plugins.def"
    { PERP_KIND_NONE, NULL }
  };
#undef PERP_PLUGIN
  return perp_register_own(ctx, table);
}
