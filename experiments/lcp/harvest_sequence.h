/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp harvest --sequence: the problems of successive steps, as files of one sequence. */
#ifndef PERP_LCP_HARVEST_SEQUENCE_H
#define PERP_LCP_HARVEST_SEQUENCE_H

#include "experiments/lcp/lcp_cmd.h"
#include "models/models.h"

enum { PERP_SEQUENCE_MOST = 1000 };

typedef struct perp_harvest_wish {
  const char *scene, *name; /* of the scene, and of the sequence */
  const char *command;      /* for the provenance */
  const char *dir;
  int n;              /* problems at most, <= PERP_SEQUENCE_MOST */
  double from, t_end; /* s: the first step that begins at `from` or later and has a problem is the
                         first one */
  double tol;         /* rel up to which the answer of the run is kept as the solution */
} perp_harvest_wish;

/* Run sim, write the files NAME-000.lcp, ..., print a table of them.  PERP_ERR_UNSUPPORTED where
 * problems are not carried from step to step, or there are less than two. */
perp_status perp_harvest_sequence(perp_ctx *ctx, perp_sim *sim, const perp_harvest_wish *wish);

#endif
