/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The arguments of a command, from one table of its options, and its --help from the same. */
#ifndef PERP_ARGUMENTS_H
#define PERP_ARGUMENTS_H

#include "experiments/base/messages.h"

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

/* Read argv[1 ...]; argv[0] is the command.  Returns -1 to go on; otherwise the exit status: 0
 * after
 * --help, PERP_EXIT_USAGE after an error, which has been printed. */
int perp_args_read(const perp_cli *cli, int argc, char **argv, perp_args *args);
/* Last value of an option; "" for a switch that was given; NULL when it was not. */
const char *perp_args_get(const perp_args *args, const char *name);

/* "perp: error: ..." on stderr and PERP_EXIT_USAGE. */
int perp_usage_error(const perp_args *args, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same of what ctx says; a want of memory is PERP_EXIT_INFRA with its own message. */
int perp_usage_of(const perp_ctx *ctx, const perp_args *args, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
