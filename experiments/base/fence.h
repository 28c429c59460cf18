/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes that run code of others, and whatever these start.  They stay below the process that
 * started them, also when they leave its group and session: it adopts their orphans
 * (PR_SET_CHILD_SUBREAPER), and what one of them leaves behind comes to perp, which kills it. */
#ifndef PERP_FENCE_H
#define PERP_FENCE_H

#include "solvers/core/core.h"

#include <sys/types.h>

/* ---- in such a process ---- */

/* First of all: it adopts orphans, and writes no core file. */
void perp_fence_enter(void);
/* Bytes of address space beyond what is mapped now (RLIMIT_AS, which its children inherit).  soft:
 * may be taken back by perp_fence_memory_end.  Nothing happens under an address sanitizer, whose
 * shadow memory does not fit under a limit. */
void perp_fence_memory(double bytes, bool soft);
void perp_fence_memory_end(void);
/* Has the process come near to its limit?  From a signal handler, too. */
bool perp_fence_full(void);

/* ---- in the one that started them ---- */

typedef struct perp_fence {
  pid_t *before; /* [n] children that were there before, which are not touched */
  int n;
  bool buried; /* by the caller: one of its processes has ended, what it left is to be killed */
  double next; /* when perp_fence_watch has something to do again, wall clock */
  /* private: */
  int adopts; /* before it was opened */
  double swept, looked;
  bool families; /* some have processes below them */
  char last[16]; /* the last process of the machine when memory was looked at */
} perp_fence;

/* From now on orphans come to this process, until perp_fence_close. */
void perp_fence_open(perp_fence *fence);
void perp_fence_close(perp_fence *fence);
/* Kill, with all below them, the children of this process that are neither among own [n] nor were
 * there before: what dead ones have left.  A look at all processes of the machine, unless this one
 * has no child. */
void perp_fence_sweep(const perp_fence *fence, const pid_t *own, int n);
/* To be called often: sweeps where one has ended, and says which of own [n] (0: none) has more than
 * most [k] bytes in memory together with all below it: over [k] is then how many are below it, else
 * 0.  Cheap as long as no process is started on the machine. */
void perp_fence_watch(perp_fence *fence, const pid_t *own, int n, const double *most, int *over);

#endif
