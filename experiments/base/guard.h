/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One piece of work in a process of its own, for commands that run a single thing: whatever outside
 * code does to that process - crash, exit, never return - the command has something true to say. */
#ifndef PERP_GUARD_H
#define PERP_GUARD_H

#include "experiments/base/kept.h"

typedef struct perp_guard {
  perp_kept *kept; /* NULL: no room was asked for */
  bool child;      /* this is the process that does the work */
  /* in the parent, afterwards: */
  perp_cut cut;    /* NONE: the child has said all and ended with: */
  int code;        /* exit status */
  char cause[256]; /* one line, why there is no result */
  struct perp_guard_shared *shared;
} perp_guard;

/* Fork.  In the child: returns at once with guard->child; it does the work, prints, and ends with
 * return perp_guard_leave(g, code).  In the parent: returns when the child has ended, by itself or
 * because of the time limit (s; 0: none), SIGINT, SIGTERM or SIGHUP; these set perp_kept_cut first,
 * so that a run can end in order, and kill the child when it does not.  room: of what the child
 * keeps (kept.h); 0: nothing. */
perp_status perp_guard_begin(perp_ctx *ctx, double timeout, size_t room, perp_guard *guard);
/* In the child: all is said.  Returns the exit status: code, or PERP_EXIT_INTERNAL when stdout
 * cannot be written. */
int perp_guard_leave(perp_guard *guard, int code);
void perp_guard_free(perp_guard *guard);

#endif
