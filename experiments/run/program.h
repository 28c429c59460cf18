/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that runs were made with: this one, and the one that a results folder was made by. */
#ifndef PERP_PROGRAM_H
#define PERP_PROGRAM_H

#include "experiments/results/results.h"

/* Of this program: free it. */
char *perp_program_path(void);

/* Were all runs of a folder made by this program, as far as its journal says? */
bool perp_program_made(const perp_results *results);

/* "program": {"path", "hash"}, "plugins": [...]: members of a journal line. */
void perp_program_write(perp_json *json);
/* Copy this program and its outside plug-ins to dir/program/HASH and HASH.so (or .py), so that they
 * are still there after a rebuild, for perp compare --again-with.  PERP_ERR_IO with a message. */
perp_status perp_program_keep(perp_ctx *ctx, const char *dir);

/* What the person named on the command line. */
typedef struct perp_named {
  const char *program;
  const char *const *plugin; /* beside those that are loaded (outside.h) */
  int n_plugins;
} perp_named;
/* The program that made a results folder, with its plug-ins. */
typedef struct perp_program {
  const char *dir; /* of the results */
  char *path, **plugin;
  int n_plugins;
} perp_program;
/* A folder is data: what it names or holds is never run.  The person names the files, and the
 * hashes in the journal only say whether these are the ones that made the folder.  PERP_ERR_IO with
 * a message when one is not, or when the folder does not say which program made it, or was made by
 * several. */
perp_status perp_program_take(perp_ctx *ctx, const perp_results *results, const perp_named *named,
                              perp_program *program);
/* " --again-with PATH ..." as words for a shell: what two folders say about themselves, for a
 * person to judge. PERP_ERR_IO with a message when one of them does not say it. */
perp_status perp_program_suggest(perp_ctx *ctx, const perp_results *base, const perp_results *now,
                                 perp_text *out);
void perp_program_free(perp_program *program);
/* One timing round of a cell by that program, in a process of its own.  metric: the time wanted;
 * *pace: see pace.h, 0 when not known.  PERP_ERR_IO with a message when it does not come to an end
 * with a time. */
perp_status perp_program_time(perp_ctx *ctx, const perp_program *program, const char *cell,
                              const char *metric, double *seconds, double *pace);

#endif
