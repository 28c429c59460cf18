/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results folders that a command line names; several of one study, computed in parts. */
#ifndef PERP_JOIN_H
#define PERP_JOIN_H

#include "experiments/base/arguments.h"
#include "experiments/results/results.h"

/* The results in a folder, or those of a study by name in results/NAME; -1, or an exit status after
 * a message. */
int perp_results_open(perp_ctx *ctx, const char *name, perp_results *results);

typedef struct perp_join {
  int n;
  perp_results *part;        /* [n] in the order of the command line */
  int duplicates, conflicts; /* cells that several have; those that came out differently */
} perp_join;

/* Load the folders that the arguments of a command name and look for cells that several have.  -1,
 * or an exit status after a message: a folder does not read, is named twice or belongs to another
 * run; cells that came out differently, unless keep_first.  Free in any case. */
int perp_join_load(perp_ctx *ctx, const perp_args *args, bool keep_first, perp_join *join);
void perp_join_free(perp_join *join);

/* Make part[0] the whole: each cell has the record of the first folder that knows it, environments
 * and times are those of all.  The other parts must stay alive while it is used. */
void perp_join_records(perp_join *join);

/* Say on stderr in what the programs, compilers, libraries and limits of results differ. */
void perp_results_warn_unlike(const perp_results *results);

#endif
