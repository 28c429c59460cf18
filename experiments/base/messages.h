/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What perp says to a person on stderr, and the status that it ends with. */
#ifndef PERP_MESSAGES_H
#define PERP_MESSAGES_H

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

/* "perp: error: ..." on stderr; a message "x; did you mean y" is split into two lines. */
void perp_say_error(const char *message);
/* Cuts such a hint off and returns it ("did you mean y"); NULL when there is none. */
char *perp_cut_hint(char *message);
/* The same with the message of ctx. */
void perp_print_error(const perp_ctx *ctx);
/* Has all that was printed reached stdout?  Otherwise false after an error. */
bool perp_output_whole(void);
/* A file that need not be there was not read (errno): a warning, where it is there. */
void perp_say_unread(const char *path);
/* One line on stderr: "perp: ...". */
void perp_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
