/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No stabilization: constraints hold on the level that the solver enforces, and the error on the
 * levels below grows with the error of the integration. */
#include "solvers/stabilization/stabilization.h"

#include <stdlib.h>

static perp_status none_create(perp_ctx *ctx, const perp_stab_sys *sys, const void *opts, void **ws)
{
  (void)ctx, (void)sys, (void)opts;
  *ws = NULL;
  return PERP_OK;
}

const perp_stab_desc perp_stab_none = {
  .d = { .name = "none",
         .summary = "No stabilization",
         .reference = "Cline 2002, section 3.1",
         .equation = "J v = 0 or J a = -Jdot v, without correction of the drift" },
  .create = none_create,
  .destroy = free,
};
