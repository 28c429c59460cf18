/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/progress.h"

#include "experiments/base/table.h"
#include "experiments/base/json.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

const char *const perp_progress_styles[] = { "auto", "plain", "json", "none", NULL };

void perp_progress_begin(perp_progress *progress, perp_progress_style style, const char *phase,
                         int total, double work, int jobs)
{
  *progress = (perp_progress){ .out = style == PERP_PROGRESS_NONE ? NULL : stderr,
                               .phase = phase,
                               .terminal = style == PERP_PROGRESS_AUTO &&
                                           isatty(STDERR_FILENO) != 0,
                               .json = style == PERP_PROGRESS_JSON,
                               .begun = perp_clock_wall(),
                               .shown = perp_clock_wall(),
                               .total = total,
                               .work = work,
                               .jobs = jobs > 0 ? jobs : 1 };
}

/* Least squares of a + b work; of the two only one where the other would be negative, or where all
 * work is alike. */
static void progress_fit(const perp_progress *progress, double *a, double *b)
{
  const double n = progress->done,
               det = n * progress->work_work - progress->work_done * progress->work_done;
  *a = 0;
  *b = progress->work_done > 0 ? progress->busy / progress->work_done : 0;
  if (!(det > 1e-9 * n * progress->work_work)) return;
  *b = (n * progress->work_busy - progress->work_done * progress->busy) / det;
  *a = (progress->busy - *b * progress->work_done) / n;
  if (*b < 0) {
    *b = 0;
    *a = progress->busy / n;
  } else if (*a < 0) {
    *a = 0;
    *b = progress->work_busy / progress->work_work;
  }
}

double perp_progress_left(const perp_progress *progress)
{
  enum { MANY = 5 }; /* so many a job, and those that are under way no longer count */
  double a, b;
  if (progress->done == 0 || progress->busy <= 0) return (double)NAN;
  progress_fit(progress, &a, &b);
  const double elapsed = perp_clock_wall() - progress->begun;
  const double beside = progress->done < MANY * progress->jobs
                            ? 1
                            : fmax(1, elapsed * progress->jobs / progress->busy);
  return beside *
         (a * (progress->total - progress->done) + b * (progress->work - progress->work_done)) /
         progress->jobs;
}

void perp_progress_clear(perp_progress *progress)
{
  if (progress->out == NULL || progress->line == 0) return;
  fprintf(progress->out, "\r%*s\r", progress->line, "");
  fflush(progress->out);
  progress->line = 0;
}

static void progress_show(perp_progress *progress, const char *what)
{
  char left[32], spent[32];
  double now = perp_clock_wall();
  perp_brief_time(perp_progress_left(progress), left);
  perp_brief_time(now - progress->begun, spent);
  progress->shown = now;
  if (progress->json) {
    perp_json json = { .out = progress->out };
    perp_json_members(&json, "{ phase %s, done %d, total %d, failed %d, elapsed_s %g, left_s %g }",
                      progress->phase, progress->done, progress->total, progress->failed,
                      now - progress->begun, perp_progress_left(progress));
    fflush(progress->out);
    return;
  }
  if (!progress->terminal) {
    const char *phase = strcmp(progress->phase, "cells") == 0
                            ? "runs"
                            : progress->phase; /* JSON has the token */
    fprintf(progress->out, "%d/%d %s, %d failed, %s, about %s left\n", progress->done,
            progress->total, phase, progress->failed, spent, left);
    fflush(progress->out);
    return;
  }
  enum { WIDTH = 20 };
  char bar[WIDTH + 1], line[PERP_TABLE_WIDTH];
  double share = progress->work > 0 ? progress->work_done / progress->work : 1;
  for (int i = 0; i < WIDTH; i++) bar[i] = i < (int)(share * WIDTH + 0.5) ? '#' : '.';
  bar[WIDTH] = '\0';
  int n = snprintf(line, sizeof line, "[%s] %d/%d  %s left  %s", bar, progress->done,
                   progress->total, left, what != NULL ? what : "");
  if (n >= (int)sizeof line) n = (int)sizeof line - 1;
  fprintf(progress->out, "\r%s%*s", line, progress->line > n ? progress->line - n : 0, "");
  fflush(progress->out);
  progress->line = n;
}

void perp_progress_step(perp_progress *progress, double work, double seconds, bool failed,
                        const char *what)
{
  progress->done++;
  progress->failed += failed;
  progress->work_done += work;
  progress->busy += seconds;
  progress->work_work += work * work;
  progress->work_busy += work * seconds;
  if (progress->out == NULL) return;
  double now = perp_clock_wall();
  if (now - progress->shown > (progress->terminal ? 0.1
                               : progress->json   ? 1
                                                  : 10) ||
      (progress->json && progress->done == progress->total))
    progress_show(progress, what);
}

void perp_progress_tick(perp_progress *progress)
{
  if (progress->out != NULL && perp_clock_wall() - progress->shown > (progress->terminal ? 0.5
                                                                      : progress->json   ? 1
                                                                                         : 10))
    progress_show(progress, NULL);
}
