/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The results folder of a run, but for its journal (journal.h): its parts, its lock, and the files
 * that say what was run and on which machine. */
#ifndef PERP_FOLDER_H
#define PERP_FOLDER_H

#include "experiments/study/study.h"

/* Make `dir` and its parts where they do not exist.  PERP_ERR_IO. */
perp_status perp_folder_make(perp_ctx *ctx, const char *dir);
/* One plain run a folder; shards of one run share it.  *fd holds the lock until it is closed or the
 * process ends.  PERP_ERR_IO when another run works there; *fd is to be closed even then when it is
 * not negative. */
perp_status perp_folder_lock(perp_ctx *ctx, const char *dir, bool shared, int *fd);
/* Remove what earlier runs left. */
void perp_folder_forget(const char *dir);
/* study.yaml: the study with profile and --set merged. */
perp_status perp_folder_study(perp_ctx *ctx, const char *dir, const perp_study *study);
/* env/ID.json: machine, compiler and libraries, once for each environment that worked in the
 * folder. */
perp_status perp_folder_env(perp_ctx *ctx, const char *dir);
/* The end of what a child printed, in plain ASCII; NULL: nothing, and the file is removed.  The
 * caller frees it. */
char *perp_folder_log_tail(const char *path);

#endif
