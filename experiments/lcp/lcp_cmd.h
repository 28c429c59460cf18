/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp: solve, check, generate, convert, describe and harvest complementarity problems. */
#ifndef PERP_LCP_CMD_H
#define PERP_LCP_CMD_H

#include "experiments/base/arguments.h"
#include "experiments/base/util.h"
#include "solvers/lcp/problem.h"

/* argv[0] is "lcp"; returns the exit status of messages.h: 0 solved, 10 honestly not solved, 5 the solver
 * crashed, 2 usage, 3 invalid file. */
int perp_cmd_lcp(perp_ctx *ctx, int argc, char **argv);

/* Its commands; argv[0] is the name of the command. */
int perp_cmd_lcp_solve(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_lcp_check(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_lcp_generate(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_lcp_convert(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_lcp_harvest(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_lcp_info(perp_ctx *ctx, int argc, char **argv);

/* ---- what they share ------------------------------------------------------------------------------------- */

/* The error of ctx is printed; the exit status that belongs to a failed call on a problem file. */
int perp_lcp_refuse(perp_ctx *ctx, perp_status status);
/* -1 to go on, else the exit status, the error printed: */
int perp_lcp_open(perp_ctx *ctx, const char *path, perp_lcp_problem *p);
int perp_lcp_positive(perp_ctx *ctx, const perp_args *args, const char *name, double *value);
int perp_lcp_whole(perp_ctx *ctx, const perp_args *args, const char *name, int64_t lo, int64_t hi,
                   int64_t *value);
/* "key": [x_1, ..., x_n] */
void perp_lcp_json_vector(perp_json *j, const char *key, const double *x, int n);

#endif
