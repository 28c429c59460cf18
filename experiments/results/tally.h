/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often something is said: causes of failures, reasons why cells are refused. */
#ifndef PERP_TALLY_H
#define PERP_TALLY_H

#include "experiments/base/memory.h"

struct perp_pool;

typedef struct perp_count {
  const char *name;
  int n, first; /* how often; the least number of what has it */
} perp_count;
typedef struct perp_tally {
  int n;
  perp_count *count; /* [n], free() it */
} perp_tally;

/* One more thing of that name, which must outlive the tally; numbers of things ascend. */
void perp_tally_add(perp_tally *tally, const char *name, int thing);
/* The text with one digit for each number: texts that differ in their numbers only are one.  From
 * pool. */
const char *perp_tally_alike(struct perp_pool *pool, const char *text);
/* The most frequent first, of equals the one that came first. */
void perp_tally_sort(perp_tally *tally);

#endif
