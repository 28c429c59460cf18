/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/models.h"
#include "solvers/optional_here.h"

#define PERP_PLUGIN(kind, name) extern const perp_##kind##_desc perp_##kind##_##name;
#include "models/models.def"
#undef PERP_PLUGIN

perp_status perp_register_models(perp_ctx *ctx)
{
#define PERP_PLUGIN(kind, name) { PERP_KIND_##kind, &perp_##kind##_##name.d },
  static const perp_plugin table[] = {
#include "models/models.def"
    { PERP_KIND_NONE, NULL }
  };
#undef PERP_PLUGIN
  PERP_TRY(perp_register_solvers(ctx));
  return perp_register_own(ctx, table);
}
