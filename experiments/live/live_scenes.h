/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The WebAssembly module, and scene files as it reads them (module/tree_small.c): the same trees,
 * in JSON whose scalars are texts. */
#ifndef PERP_LIVE_SCENES_H
#define PERP_LIVE_SCENES_H

#include "experiments/base/json.h"
#include "experiments/base/tree.h"
#include "solvers/core/core.h"

/* A list of { name, summary, text } of all scenes that come with perp as files, and of those named
 * (files, without options).  PERP_ERR_UNSUPPORTED: a named file includes others, which a page
 * cannot read; PERP_ERR_IO, PERP_ERR_FORMAT. */
perp_status perp_live_scenes(perp_ctx *ctx, perp_json *json, const char *const *file, int n);
/* The same of those scenes alone that the texts [n] name ("chain:links=6", "./box.yaml"); a scene
 * in C is in the module.  Behind the first ones that are needed, a scene that includes others is
 * left out. */
perp_status perp_live_scenes_of(perp_ctx *ctx, perp_json *json, const char *const *text, int n,
                                int needed);
/* A tree whose scalars are texts. */
void perp_live_tree(perp_json *json, const char *key, const perp_node *node);

/* The module as a page carries it, gzip in base64; free it.  NULL: perp was built without it. */
char *perp_live_module(size_t *size);
bool perp_live_built(void);

#endif
