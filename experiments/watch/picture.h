/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures of a page that shows a motion, taken by a Chromium without a window: $PERP_CHROMIUM
 * where it is set, else chromium, chromium-browser, google-chrome of the path. */
#ifndef PERP_WATCH_PICTURE_H
#define PERP_WATCH_PICTURE_H

#include "solvers/core/core.h"

typedef struct perp_picture {
  int width, height; /* pixels */
  double at;         /* s; < 0: the end */
} perp_picture;

/* Is there one?  false with a message in ctx. */
bool perp_picture_possible(perp_ctx *ctx);
/* The motion of `page` (motion_page.h) at a time, without what can be pressed, as the PNG file png.
 * PERP_ERR_EXTERNAL with the reason when the program makes none within two minutes. */
perp_status perp_picture_of(perp_ctx *ctx, const char *page, const char *png,
                            const perp_picture *picture);

#endif
