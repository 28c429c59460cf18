/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scene files as the WebAssembly module reads them (module/tree_small.c): the same trees, in JSON
 * whose scalars are texts. */
#ifndef PERP_LIVE_SCENES_H
#define PERP_LIVE_SCENES_H

#include "experiments/base/json.h"
#include "solvers/core/core.h"

/* A list of { name, summary, text } of all scenes that come with perp as files, and of those named
 * (files, without options).  PERP_ERR_UNSUPPORTED: a named file includes others, which a page
 * cannot read; PERP_ERR_IO, PERP_ERR_FORMAT. */
perp_status perp_live_scenes(perp_ctx *ctx, perp_json *json, const char *const *file, int n);

#endif
