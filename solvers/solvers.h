/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All solver interfaces, and the table of the solvers that come with perp. */
#ifndef PERP_SOLVERS_H
#define PERP_SOLVERS_H

#include "solvers/core/core.h"
#include "solvers/kkt/kkt.h"
#include "solvers/lcp/lcp.h"
#include "solvers/ode/ode.h"
#include "solvers/stabilization/stabilization.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Make the built-in solvers known to ctx.  Returns PERP_OK, or PERP_ERR_NOMEM when the registry of
 * ctx is full.  No allocation. */
perp_status perp_register_solvers(perp_ctx *ctx);

#ifdef __cplusplus
}
#endif

#endif
