/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What several commands share. */
#ifndef PERP_COMMAND_H
#define PERP_COMMAND_H

#include "experiments/cli/cli.h"
#include "experiments/results/join.h"

/* The study that args->arg[0] names, with the --set of args; -1 and *study, or an exit status after a message. */
int perp_command_study(perp_ctx *ctx, const perp_args *args, perp_study **study);
/* Index of the cell that an id or its beginning names; -1 after a message. */
int perp_command_cell(const perp_args *args, const perp_plan *plan, const char *id);
/* Run one cell in a child with the limits of its study; what it prints goes to stderr afterwards. */
perp_status perp_command_run_cell(perp_ctx *ctx, const perp_job *job, perp_outcome *outcome);
/* Seconds that all cells and timing rounds of a plan would take on one core, from up to five that are run now; NaN with
 * a message in ctx when one cannot be started. */
double perp_command_pilot(perp_ctx *ctx, const perp_study *study, const perp_plan *plan);
/* Write text to a file, or to stdout for NULL and "-"; an exit status, after a message when it fails. */
int perp_command_write(perp_ctx *ctx, const char *path, const char *text, size_t n);

#endif
