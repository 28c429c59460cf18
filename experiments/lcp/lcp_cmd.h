/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp: solve, check, generate, convert, describe and harvest complementarity problems. */
#ifndef PERP_LCP_CMD_H
#define PERP_LCP_CMD_H

#include "experiments/study/commands.h"
#include "solvers/lcp/problem.h"
#include "solvers/lcp/pivoting/sensitivity.h"
#include "experiments/base/json.h"
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
void perp_lcp_json_judgement(perp_json *json, const char *key, const perp_lcp_judgement *judgement);
/* What is 0 in the sets of rows of --all and --sensitivity (solvers/lcp/pivoting/solution_set.h).
 */
#define PERP_LCP_ZERO 1e-9
/* lcp solve --all; contacts and directions as of --friction, or NULL.  The exit status. */
int perp_lcp_print_all(perp_ctx *ctx, const perp_lcp_problem *problem,
                       const perp_lcp_problem *contacts, int directions, double tol,
                       double tol_data, bool json);
/* lcp solve --sensitivity: of the solution lambda [n]; its arrays live in the pool. */
perp_status perp_lcp_sensitivity_of(perp_ctx *ctx, const perp_lcp_problem *problem,
                                    const double *lambda, perp_pool *pool,
                                    perp_lcp_sensitivity *out);
void perp_lcp_json_sensitivity(perp_json *json, const perp_lcp *lcp, const perp_lcp_sensitivity *s);
void perp_lcp_print_sensitivity(const perp_lcp *lcp, const perp_lcp_sensitivity *s);
/* --memory of a command, into ctx; its flag. */
int perp_lcp_memory(perp_ctx *ctx, const perp_args *args);
#define PERP_LCP_MEMORY_FLAG                                                                       \
  {                                                                                                \
    "memory", 0, "SIZE", "Memory limit for a file and the matrices of a problem (default: 1GB)."   \
  }

#endif
