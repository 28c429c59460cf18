/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line: one table of commands, one table of options per command. */
#ifndef PERP_CLI_H
#define PERP_CLI_H

#include "solvers/core/core.h"

/* Exit status of every command. */
enum {
  PERP_EXIT_OK = 0,
  PERP_EXIT_INTERNAL = 1,
  PERP_EXIT_USAGE = 2,     /* a bad name on the command line included */
  PERP_EXIT_INPUT = 3,     /* invalid study, scene or problem file */
  PERP_EXIT_NOTHING = 4,   /* nothing selected */
  PERP_EXIT_INFRA = 5,     /* finished, but cells crashed, ran out of memory, or figures failed */
  PERP_EXIT_REGRESSED = 6, /* compare */
  PERP_EXIT_RESUMABLE = 7,
  PERP_EXIT_REFERENCE = 8, /* references disagree */
  PERP_EXIT_UNSOLVED = 9,  /* simulate: the end was reached with problems that were not solved */
  PERP_EXIT_FAILED = 10    /* nothing succeeded */
};

typedef struct perp_flag {
  const char *name; /* "t-end" for --t-end; NULL ends the table */
  char letter;      /* 'j' for -j, 0 = none */
  const char *arg;  /* what the value is called in the help; NULL: a switch */
  const char *help;
} perp_flag;

typedef struct perp_cli {
  const char *name;    /* "run" */
  const char *usage;   /* "STUDY [options]" */
  const char *summary; /* one line */
  const char *more;    /* paragraphs after the options; NULL: none */
  const char *example; /* one line with its comment */
  const perp_flag *flags;
  int min_args, max_args;
} perp_cli;

enum { PERP_ARGS_MAX = 64 };
typedef struct perp_args {
  const perp_cli *cli;
  int n; /* positional arguments */
  const char *arg[PERP_ARGS_MAX];
  int n_flags;
  struct {
    const perp_flag *flag;
    const char *value;
  } flag[PERP_ARGS_MAX];
} perp_args;

/* Read argv[1 ...]; argv[0] is the command.  Returns -1 to go on; otherwise the exit status: 0 after
 * --help, PERP_EXIT_USAGE after an error, which has been printed. */
int perp_args_read(const perp_cli *cli, int argc, char **argv, perp_args *args);
/* Last value of an option; "" for a switch that was given; NULL when it was not. */
const char *perp_args_get(const perp_args *args, const char *name);

/* "perp: error: ..." on stderr and PERP_EXIT_USAGE. */
int perp_usage_error(const perp_args *args, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* "perp: error: <message of ctx>" on stderr; a message "x; did you mean y" is split into two lines. */
void perp_print_error(const perp_ctx *ctx);
/* One line on stderr: "perp: ...". */
void perp_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- the commands: argv[0] is the name of the command, the result is the exit status -------------------- */

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

typedef struct perp_command {
  const char *name, *summary;
  int (*run)(perp_ctx *ctx, int argc, char **argv);
} perp_command;
/* In the order of the help; the last one has no name. */
extern const perp_command perp_commands[];

/* The whole program: perp ARGV... */
int perp_main(int argc, char **argv);

#endif
