/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs to be looked at: recorded by the processes that make them, shown on one page. */
#ifndef PERP_WATCH_H
#define PERP_WATCH_H

#include "experiments/watch/picture.h"
#include "experiments/simulate/simulate.h"
#include "experiments/study/commands.h"

typedef struct perp_watching {
  char *folder; /* of the recordings; NULL: nobody watches */
  char *out;    /* the page */
  const char *png;
  perp_picture picture;
  bool open, tell; /* tell: the path goes to stdout, else to stderr */
  perp_pool pool;
} perp_watching;

/* clang-format off */
#define PERP_WATCH_FLAGS                                                                           \
  { "output", 'o', "FILE.html", "Page to write (default: results/view/SCENE.html)." },             \
  { "open", 0, NULL, "Open the page in the browser, even if no display is known." },               \
  { "no-open", 0, NULL,                                                                            \
    "Do not open the page (by default it opens if there is a display and no --png)." },            \
  { "png", 0, "FILE.png",                                                                          \
    "Write a picture, too; a Chromium without a window draws it ($PERP_CHROMIUM)." },              \
  { "at", 0, "TIME", "Time shown in the picture (default: the end)." },                            \
  { "size", 0, "WxH", "Size of the picture in pixels (default: 1200x800)." }
/* clang-format on */

/* Read these options, and see to what a page needs; scene: its text.  -1 to go on, or the exit
 * status after a message. */
int perp_watch_begin(perp_ctx *ctx, const perp_args *args, const char *scene, bool tell,
                     perp_watching *w);
/* None of them may be given: -1, or the exit status after a message. */
int perp_watch_unused(const perp_args *args);
/* Path of the replay in the request of run i. */
const char *perp_watch_replay(perp_watching *w, int i);
/* In the process of run i, at its end: what the page says of it, with the recording. */
perp_status perp_watch_result(perp_ctx *ctx, const perp_watching *w, int i,
                              const perp_result *result);
/* The page and the picture of n runs; frees w.  The exit status. */
int perp_watch_end(perp_ctx *ctx, perp_watching *w, int n);

/* perp view */
extern const perp_command perp_view_command;

#endif
