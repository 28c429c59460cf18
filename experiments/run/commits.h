/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two commits of perp itself as the two sides of a comparison. */
#ifndef PERP_COMMITS_H
#define PERP_COMMITS_H

#include "experiments/base/arguments.h"

typedef struct perp_commits {
  char *folder;                 /* temporary: trees and builds */
  char *root;                   /* the repository */
  char *program[2], *result[2]; /* of BASE and NEW: what was built, and the folder of its run */
} perp_commits;

/* Check both commits out in git worktrees of a temporary folder, build them with meson, and run the
 * study with both, in turn, part by part.  study: a file; out: where results go, OUT/base and
 * OUT/new.  PERP_ERR_EXTERNAL or PERP_ERR_IO with a message; to be freed even then. */
perp_status perp_commits_run(perp_ctx *ctx, const perp_args *args, const char *study,
                             const char *out, perp_commits *commits);
/* Removes trees and builds; results stay. */
void perp_commits_free(perp_commits *commits);

#endif
