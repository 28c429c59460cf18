/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loading of outside plug-ins.  The program keeps one list of the files it has loaded; they stay
 * until it ends. */
#ifndef PERP_OUTSIDE_H
#define PERP_OUTSIDE_H

#include "experiments/plugins/perp.h"
#include "experiments/study/plan.h"

typedef struct perp_plugin_file {
  char *path;    /* absolute */
  uint64_t hash; /* of its bytes */
  bool named;    /* by --plugin or by a study, rather than found on PERP_PLUGIN_PATH */
  bool by_hand;  /* by --plugin */
  const perp_outside *content;
} perp_plugin_file;

/* Load a shared object or a Python file (FILE.py), check it and make its plug-ins known to ctx.  A
 * shared object is tried in a child first: one that crashes or hangs while it is loaded gives a
 * message.  PERP_ERR_IO: no such file; PERP_ERR_FORMAT: no plug-in, one of another version, a
 * descriptor that is not complete, a name that exists already. Loading the same file twice does
 * nothing. */
perp_status perp_plugin_load(perp_ctx *ctx, const char *path, bool named);
/* Load what a study names (perp_study_loader).  A file of the same name that --plugin has loaded
 * takes its place: the one that the study names may be on another machine.  received: only one that
 * this user is known to have run, with the same bytes; else it is known from now on. */
perp_status perp_plugin_load_named(perp_ctx *ctx, const char *path, bool received, char **kept);
/* Load what a list like PATH names: files, and all *.so of folders in the order of their names.  A
 * missing folder is passed over. */
perp_status perp_plugin_load_path(perp_ctx *ctx, const char *list);

/* How the name of a plug-in file ends: ".py" or ".so". */
const char *perp_plugin_suffix(const char *path);

/* The i-th loaded file, NULL past the end. */
const perp_plugin_file *perp_plugin_file_at(int i);
/* The file that a plug-in came from; NULL for those of perp. */
const perp_plugin_file *perp_plugin_file_of(const perp_desc *desc);
/* " --plugin FILE" for each file named on the command line or by a study. */
void perp_plugin_arguments(perp_text *out);
/* What outside code a cell runs: 16 hexadecimal digits over the files of its plug-ins and of its
 * scene, "" for none. A result is stale when they differ. */
void perp_plugin_code(const perp_ctx *ctx, const perp_study *study, const perp_cell *cell,
                      char code[17]);

#endif
