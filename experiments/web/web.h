/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pages of reports, runs and lessons: one HTML file each, with the JSON that it shows and the
 * script of this folder, which makes everything of it.  It opens from file:// without a network,
 * where neither fetch nor module imports work. */
#ifndef PERP_WEB_H
#define PERP_WEB_H

#include "solvers/core/core.h"

/* Is the script there?  It is looked for at $PERP_REPORT_JS (alone, when set; empty: none), in the
 * folder of the build and among the installed data. */
bool perp_web_built(void);
/* PERP_ERR_EXTERNAL, with what to do about a script that is not there. */
perp_status perp_web_missing(perp_ctx *ctx);

/* Write the page at `path`; folders on the way are made.  json [n]: one object, whose "schema" says
 * which page it is (main.ts).  The content security policy of the page lets no other script run,
 * nothing be loaded from anywhere and no form be sent.  Errors: perp_web_missing; PERP_ERR_IO. */
perp_status perp_web_page(perp_ctx *ctx, const char *path, const char *title, const char *json,
                          size_t n);
/* The same with another script, and what its policy allows beside the script, with a space before
 * it: " 'wasm-unsafe-eval'" for a module. */
perp_status perp_web_page_of(perp_ctx *ctx, const char *path, const char *title, const char *script,
                             const char *allowed, const char *json, size_t n);
/* The same with scripts [n_src] that are files beside the page. */
perp_status perp_web_page_beside(perp_ctx *ctx, const char *path, const char *title,
                                 const char *const *src, int n_src, const char *allowed,
                                 const char *json, size_t n);
/* A file that was built beside the script, allocated; NULL: it is not there. */
char *perp_web_file(const char *name, size_t *size);

#endif
