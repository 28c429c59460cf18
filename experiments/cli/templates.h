/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of experiments/templates: what perp writes for people and other programs to go on
 * with. */
#ifndef PERP_TEMPLATES_H
#define PERP_TEMPLATES_H

#include "experiments/base/memory.h"
#include "solvers/core/core.h"

typedef struct perp_mark {
  const char *mark, *value; /* "@NAME@" in the file, and what stands there in its place */
} perp_mark;
/* The template NAME.in with its marks [n] filled, added to out.  PERP_ERR_IO with a message: there
 * is none. */
perp_status perp_template_fill(perp_ctx *ctx, const char *name, const perp_mark *marks, int n,
                               perp_text *out);

#endif
