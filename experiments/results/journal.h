/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal of a results folder: what happened, in lines of JSON that are only ever appended.
 *
 *   {"event": "run", "env": id, "load", "jobs", "cells", "command", "timeout", "memory",
 *    "program": {"path", "hash"}, "plugins": [{"path", "hash"}]}         a runner began: which
 * files of code it is
 *   {"event": "start", "cell": id, "attempt": k}                         a cell was given to a
 * process
 *   {"event": "cell", "cell": id, "attempt": k, "status": ..., "reason", "cause", "warnings":
 * [...], "cpu_s", "wall_s", "values": {...}, "stderr": tail, "code": outside code it ran}       it
 * ended
 *   {"event": "time", "cell": id, "attempt", "status", "cpu_s", "wall_s", "pace_s",
 *    "values"}      one timing round; pace_s: CPU seconds of a fixed piece of work beside it
 * (clock_reference.h)
 *   {"event": "end", "why": "done" | "interrupted" | "budget"}           the runner ended in order
 *
 * Each runner writes a file of its own, each line with one write(): a kill at any moment can cost
 * the last line, never one before it, and two writers cannot mix.  Data reach the disk about every
 * two seconds and at the end; a power cut can cost that much. */
#ifndef PERP_JOURNAL_H
#define PERP_JOURNAL_H

#include "solvers/core/core.h"

#include <jansson.h>

typedef struct perp_journal {
  int fd;
  char *path;
  double synced; /* when, wall clock */
} perp_journal;

/* Create a new file in dir, named host-pid-number.jsonl. */
perp_status perp_journal_open(perp_ctx *ctx, const char *dir, perp_journal *journal);
/* One line; `line` without the newline. */
perp_status perp_journal_write(perp_ctx *ctx, perp_journal *journal, const char *line, size_t n);
/* PERP_ERR_IO: the last lines may not be on the disk. */
perp_status perp_journal_close(perp_ctx *ctx, perp_journal *journal);

/* All lines of all files, files in the order of their names.  Lines that are no JSON object (the
 * torn last one of a killed runner) are counted and passed over.  A missing folder has no lines. */
typedef void perp_journal_fn(void *user, const json_t *line);
perp_status perp_journal_read(perp_ctx *ctx, const char *dir, perp_journal_fn *each, void *user,
                              int *torn);

#endif
