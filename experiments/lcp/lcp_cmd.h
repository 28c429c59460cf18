/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp: solve, check, generate, convert, describe and harvest complementarity problems. */
#ifndef PERP_LCP_CMD_H
#define PERP_LCP_CMD_H

#include "solvers/core/core.h"

/* argv[0] is "lcp"; returns the exit status of RUNNER conventions: 0 solved, 10 honestly not solved,
 * 2 usage, 3 invalid file. */
int perp_cmd_lcp(perp_ctx *ctx, int argc, char **argv);
/* argv[0] is "harvest". */
int perp_cmd_lcp_harvest(perp_ctx *ctx, int argc, char **argv);

#endif
