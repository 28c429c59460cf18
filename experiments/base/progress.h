/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far a run is, with the time left estimated from the work done, not from counts.
 *
 * The time of one thing is taken for a + b work, with a, b >= 0 fitted to those that are done
 * (least squares): short things cost their start, long ones their work.  What goes beside them, of
 * the process that counts, is in the ratio of the time that has passed to the time that they took.
 */
#ifndef PERP_PROGRESS_H
#define PERP_PROGRESS_H

#include <stdio.h>
#include <stdbool.h>

typedef enum perp_progress_style {
  PERP_PROGRESS_AUTO, /* a bar on a terminal, a line every ten seconds elsewhere */
  PERP_PROGRESS_PLAIN,
  PERP_PROGRESS_JSON, /* an object a line, for programs: at most one a second and the last one */
  PERP_PROGRESS_NONE
} perp_progress_style;
extern const char *const perp_progress_styles[]; /* NULL-terminated, in the order of the enum */

typedef struct perp_progress {
  FILE *out;         /* NULL: quiet */
  const char *phase; /* "cells", "timing rounds" */
  bool terminal, json;
  double begun, shown;
  int total, done, failed, jobs;
  double work, work_done;      /* any unit */
  double busy;                 /* s that work_done took */
  double work_work, work_busy; /* sums of squares of work, and of products of work and s */
  int line;                    /* width of the bar on the screen */
} perp_progress;

void perp_progress_begin(perp_progress *progress, perp_progress_style style, const char *phase,
                         int total, double work, int jobs);
/* One more is done; `what` describes it. */
void perp_progress_step(perp_progress *progress, double work, double seconds, bool failed,
                        const char *what);
/* Redraw if it is time. */
void perp_progress_tick(perp_progress *progress);
/* Seconds left, NaN before there is anything to judge by. */
double perp_progress_left(const perp_progress *progress);
/* Remove the bar, so that other lines can be printed. */
void perp_progress_clear(perp_progress *progress);

#endif
