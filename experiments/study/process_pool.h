/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pool of processes: each job runs in a child with a process group, a memory limit and a hard
 * time limit, and dies with its parent.  Whatever a child does - crash, hang, eat memory, print,
 * leave children behind - the pool reports one outcome and goes on.
 *
 * A child takes one order after the other, as a fork costs more than a short cell: for two seconds
 * of work, or until its memory has grown.  Each order has its own limits, its own log and its own
 * outcome, and the next one is given when the parent has taken the outcome.  A crash or a want of
 * memory in a child that had other orders before is no verdict: the order is done again in a new
 * child. */
#ifndef PERP_PROCESS_POOL_H
#define PERP_PROCESS_POOL_H

#include "experiments/study/kind.h"

typedef struct perp_process_pool perp_process_pool;

/* For up to `size` children at a time; ctx must outlive the pool.  Blocks SIGINT, SIGTERM, SIGHUP
 * and SIGCHLD until the workers is destroyed; perp_process_pool_wait reports them. */
perp_status perp_process_pool_create(perp_ctx *ctx, int size, perp_process_pool **out);
/* Kills what still runs. */
void perp_process_pool_destroy(perp_process_pool *workers);

typedef struct perp_order {
  perp_job job;
  double timeout, memory; /* s wall clock, bytes; 0: no limit */
  const char *log_path; /* gets what the child prints, when it ends; no file when that is nothing */
  bool alone;           /* in a child of its own: what is timed, and code that is not perp's */
  int64_t token;        /* for the caller */
} perp_order;
/* Needs a free place.  The texts and what job points to must have been there when the pool was
 * created, and must outlive it. */
perp_status perp_process_pool_start(perp_ctx *ctx, perp_process_pool *workers,
                                    const perp_order *order);
int perp_process_pool_running(const perp_process_pool *workers);
int perp_process_pool_free_places(const perp_process_pool *workers);

typedef enum perp_process_pool_event {
  PERP_CREW_NOTHING, /* the time is over, or nothing runs */
  PERP_CREW_DONE,    /* a child ended: *order and *outcome are filled */
  PERP_CREW_SIGNAL   /* SIGINT, SIGTERM or SIGHUP arrived: *signal */
} perp_process_pool_event;
/* Wait at most `seconds` for the next event. */
perp_process_pool_event perp_process_pool_wait(perp_process_pool *workers, double seconds,
                                               perp_order *order, perp_outcome *outcome,
                                               int *signal);

/* One job in a pool of its own, with the limits of its study.  PERP_ERR_IO: no process could be
 * made, or *signal (else 0) has arrived. */
perp_status perp_process_pool_once(perp_ctx *ctx, const perp_job *job, const char *log_path,
                                   perp_outcome *outcome, int *signal);

#endif
