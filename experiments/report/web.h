/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The script of the interactive figures: one file, bundled by npm from experiments/report/web and
 * inlined into the page, since from file:// neither fetch nor module imports work. */
#ifndef PERP_REPORT_WEB_H
#define PERP_REPORT_WEB_H

#include "solvers/core/core.h"

/* Text of the bundle, owned by the caller; NULL when it has not been built.  It is looked for at
 * $PERP_REPORT_JS (alone, when set; empty: none), in $PERP_HOME and the source tree, and among the
 * installed data. */
char *perp_web_bundle(void);
bool perp_web_built(void); /* is there one? */
/* Build it: npm and a network are needed once.  PERP_ERR_EXTERNAL with the reason when that fails.
 */
perp_status perp_web_build(perp_ctx *ctx);

#endif
