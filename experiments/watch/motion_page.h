/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A page that shows runs moving: their recordings (replay.h), and the script that draws them
 * (experiments/web). */
#ifndef PERP_WATCH_MOTION_PAGE_H
#define PERP_WATCH_MOTION_PAGE_H

#include "solvers/core/core.h"

/* Write the page of n runs, which share a clock, with all that it needs inside; folders on the way
 * are made.  run: JSON each,
 *
 *   { scene, h, t_end, reached, status, reason, cause, truth, events, parts: { KIND: NAME }, replay
 * }
 *
 * PERP_ERR_EXTERNAL: the script is not there (web.h). */
perp_status perp_motion_page(perp_ctx *ctx, const char *path, const char *const *run, int n);

#endif
