/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands and the program that chooses one of them. */
#ifndef PERP_CLI_H
#define PERP_CLI_H

#include "experiments/base/arguments.h"

/* The commands: argv[0] is the name of the command, the result is the exit status. */
int perp_cmd_run(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_simulate(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_report(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_list(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_info(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_check(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_plan(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_status(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_show(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_doctor(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_explain(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_rerun(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_ref(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_merge(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_compare(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_export(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_cluster(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_lesson(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_new(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_completion(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_version(perp_ctx *ctx, int argc, char **argv);
int perp_cmd_test(perp_ctx *ctx, int argc, char **argv);

/* In the order of the help; the last one has no name. */
extern const perp_command perp_commands[];

/* The whole program: perp ARGV... */
int perp_main(int argc, char **argv);

#endif
