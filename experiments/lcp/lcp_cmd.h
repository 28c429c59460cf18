/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp: solve, check, generate, convert, describe and harvest complementarity problems. */
#ifndef PERP_LCP_CMD_H
#define PERP_LCP_CMD_H

#include "experiments/study/commands.h"
#include "solvers/lcp/problem.h"
#include "experiments/base/memory.h"

/* Its exit status, as messages.h has it: 0 solved, 10 honestly not solved, 5 the solver crashed, 2
 * usage, 3 invalid file. */
extern const perp_command perp_lcp_command;
extern const perp_command perp_lcp_solve_command, perp_lcp_check_command, perp_lcp_generate_command,
    perp_lcp_convert_command, perp_lcp_harvest_command, perp_lcp_sequence_command,
    perp_lcp_info_command;

/* ---- what they share ---- */

/* The error of ctx is printed; the exit status that belongs to a failed call on a problem file. */
int perp_lcp_refuse(perp_ctx *ctx, perp_status status);
/* What the judge and the proofs work in. */
double *perp_lcp_room(perp_pool *pool, const perp_lcp *lcp);
/* -1 to go on, else the exit status, the error printed: */
int perp_lcp_open(perp_ctx *ctx, const char *path, perp_lcp_problem *problem);
/* --memory of a command, into ctx; its flag. */
int perp_lcp_memory(perp_ctx *ctx, const perp_args *args);
#define PERP_LCP_MEMORY_FLAG                                                                       \
  {                                                                                                \
    "memory", 0, "SIZE", "Memory limit for a file and the matrices of a problem (default: 1GB)."   \
  }

#endif
