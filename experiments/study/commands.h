/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands of the program: what they are called, their arguments, and the values of their
 * options. */
#ifndef PERP_STUDY_COMMANDS_H
#define PERP_STUDY_COMMANDS_H

#include "experiments/base/arguments.h"

typedef struct perp_command {
  perp_cli cli;        /* the word that is typed is the last one of its name */
  const char *summary; /* in the list of commands */
  int (*run)(perp_ctx *ctx, const perp_args *args); /* returns the exit status */
  /* instead of run, where the words as they were typed matter; argv[0] is the command */
  int (*run_words)(perp_ctx *ctx, int argc, char **argv);
} perp_command;

/* The commands of a list that ends with NULL, a line each. */
void perp_commands_print(const perp_command *const *commands, int width, FILE *out);
/* Run the one that argv[0] names; its exit status.  Unknown: a message "unknown command 'BEFORE
 * word'", with `otherwise` where no name is near. */
int perp_commands_run(perp_ctx *ctx, const perp_command *const *commands, int argc, char **argv,
                      const char *before, const char *otherwise);

/* The message of ctx is printed; returns exit_status. */
int perp_refuse(const perp_ctx *ctx, int exit_status);
/* The exit status of a call that failed: usage for what was asked (arguments, options, parts that
 * do not fit), input for files, infra for a want of memory, internal for the
 * rest. */
int perp_exit_of(perp_status status);

/* ---- values of options ---- */

/* Each returns -1 to go on, or the exit status after a message that names the option.  *value stays
 * as it is where the option is not given. */
int perp_option_int(perp_ctx *ctx, const perp_args *args, const char *name, int64_t lo, int64_t hi,
                    int64_t *value);
/* parse: perp_parse_duration, perp_parse_size. */
int perp_option_parsed(perp_ctx *ctx, const perp_args *args, const char *name,
                       perp_status (*parse)(perp_ctx *ctx, const char *text, double *value),
                       double *value);
/* A number in (0, inf) of a unit, or in [0, inf). */
int perp_option_real(perp_ctx *ctx, const perp_args *args, const char *name, const char *unit,
                     bool zero, double *value);
bool perp_option_given(const perp_args *args, const char *name);

/* Index of a word in names [n]; -1 after a usage error "WHAT 'word'; did you mean 'x'?", with
 * `otherwise` where nothing is near; `otherwise` "" is the list of the names where they are few. */
int perp_choose(const perp_args *args, const char *what, const char *word, const char *const *names,
                int n, const char *otherwise);
/* The same for each word of an option "word,word": chosen [n] of it becomes true. */
int perp_option_words(const perp_args *args, const char *name, const char *what,
                      const char *const *names, int n, const char *otherwise, bool *chosen);

#endif
