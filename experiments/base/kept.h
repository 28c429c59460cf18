/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that a process shares with the one that watches over it: what it has so far outlives a
 * kill, and the watcher can ask it to end. */
#ifndef PERP_KEPT_H
#define PERP_KEPT_H

#include "solvers/core/core.h"

/* What cut a run short before it ended by itself. */
typedef enum perp_cut {
  PERP_CUT_NONE,
  PERP_CUT_TIME,   /* the time limit */
  PERP_CUT_SIGNAL, /* SIGINT, SIGTERM or SIGHUP */
  PERP_CUT_MEMORY, /* no memory */
  PERP_CUT_CRASH   /* the process ended without a result */
} perp_cut;

typedef struct perp_kept perp_kept;

/* For things of `room` bytes, plain memory.  PERP_ERR_IO: the system refuses. */
perp_status perp_kept_create(perp_ctx *ctx, size_t room, perp_kept **out);
void perp_kept_free(perp_kept *kept);
/* Nothing is kept and nothing asked for: before another process uses it. */
void perp_kept_reset(perp_kept *kept);

/* The writer fills the free one of two places and commits it: what the watcher sees is always
 * whole. */
void *perp_kept_place(perp_kept *kept);
void perp_kept_commit(perp_kept *kept);
const void *perp_kept_last(const perp_kept *kept); /* NULL: nothing was committed */

/* A perp_cut, set by the watcher. */
volatile int *perp_kept_cut(perp_kept *kept);

/* How a process that left no result ended: "signal 11 (Segmentation fault)", ... */
void perp_kept_cause(int wait_status, char *buf, size_t size);
/* Seconds beyond a time limit that a process has to end by itself. */
double perp_kept_grace(double limit);

#endif
