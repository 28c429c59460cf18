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
  bool named;    /* by --plugin rather than found on PERP_PLUGIN_PATH */
  const perp_outside *content;
} perp_plugin_file;

/* Load a shared object, check it and make its plug-ins known to ctx.  It is tried in a child first:
 * one that crashes or hangs while it is loaded gives a message.  PERP_ERR_IO: no such file;
 * PERP_ERR_FORMAT: no plug-in, one of another version, a descriptor that is not complete, a name
 * that exists already. Loading the same file twice does nothing. */
perp_status perp_plugin_load(perp_ctx *ctx, const char *path, bool named);
/* Load what a list like PATH names: files, and all *.so of folders in the order of their names.  A
 * missing folder is passed over. */
perp_status perp_plugin_load_path(perp_ctx *ctx, const char *list);

/* The i-th loaded file, NULL past the end. */
const perp_plugin_file *perp_plugin_file_at(int i);
/* The file that a plug-in came from; NULL for those of perp. */
const perp_plugin_file *perp_plugin_file_of(const perp_desc *d);
/* " --plugin FILE" for each file named on the command line. */
void perp_plugin_arguments(perp_text *out);
/* What outside code a cell runs: 16 hexadecimal digits over the files of its plug-ins, "" for none.
 *  A result is stale when they differ. */
void perp_plugin_code(const perp_ctx *ctx, const perp_study *study, const perp_cell *cell,
                      char code[17]);

#endif
