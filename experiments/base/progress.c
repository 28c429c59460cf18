/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/progress.h"

#include "experiments/base/table.h"
#include "experiments/base/json.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

const char *const perp_progress_styles[] = { "auto", "plain", "json", "none", NULL };

void perp_progress_begin(perp_progress *p, perp_progress_style style, const char *phase, int total,
                         double work, int jobs)
{
  *p = (perp_progress){ .out = style == PERP_PROGRESS_NONE ? NULL : stderr,
                        .phase = phase,
                        .terminal = style == PERP_PROGRESS_AUTO && isatty(STDERR_FILENO) != 0,
                        .json = style == PERP_PROGRESS_JSON,
                        .begun = perp_clock_wall(),
                        .shown = perp_clock_wall(),
                        .total = total,
                        .work = work,
                        .jobs = jobs > 0 ? jobs : 1 };
}

/* Least squares of a + b work; of the two only one where the other would be negative, or where all
 * work is alike. */
static void progress_fit(const perp_progress *p, double *a, double *b)
{
  const double n = p->done, det = n * p->work_work - p->work_done * p->work_done;
  *a = 0;
  *b = p->work_done > 0 ? p->busy / p->work_done : 0;
  if (!(det > 1e-9 * n * p->work_work)) return;
  *b = (n * p->work_busy - p->work_done * p->busy) / det;
  *a = (p->busy - *b * p->work_done) / n;
  if (*b < 0) {
    *b = 0;
    *a = p->busy / n;
  } else if (*a < 0) {
    *a = 0;
    *b = p->work_busy / p->work_work;
  }
}

double perp_progress_left(const perp_progress *p)
{
  enum { MANY = 5 }; /* so many a job, and those that are under way no longer count */
  double a, b;
  if (p->done == 0 || p->busy <= 0) return (double)NAN;
  progress_fit(p, &a, &b);
  const double elapsed = perp_clock_wall() - p->begun;
  const double beside = p->done < MANY * p->jobs ? 1 : fmax(1, elapsed * p->jobs / p->busy);
  return beside * (a * (p->total - p->done) + b * (p->work - p->work_done)) / p->jobs;
}

void perp_progress_clear(perp_progress *p)
{
  if (p->out == NULL || p->line == 0) return;
  fprintf(p->out, "\r%*s\r", p->line, "");
  fflush(p->out);
  p->line = 0;
}

static void progress_show(perp_progress *p, const char *what)
{
  char left[32], spent[32];
  double now = perp_clock_wall();
  perp_brief_time(perp_progress_left(p), left);
  perp_brief_time(now - p->begun, spent);
  p->shown = now;
  if (p->json) {
    perp_json j = { .out = p->out };
    perp_json_members(&j, "{ phase %s, done %d, total %d, failed %d, elapsed_s %g, left_s %g }",
                      p->phase, p->done, p->total, p->failed, now - p->begun,
                      perp_progress_left(p));
    fflush(p->out);
    return;
  }
  if (!p->terminal) {
    const char *phase = strcmp(p->phase, "cells") == 0 ? "runs" : p->phase; /* JSON has the token */
    fprintf(p->out, "%d/%d %s, %d failed, %s, about %s left\n", p->done, p->total, phase, p->failed,
            spent, left);
    fflush(p->out);
    return;
  }
  enum { WIDTH = 20 };
  char bar[WIDTH + 1], line[PERP_TABLE_WIDTH];
  double share = p->work > 0 ? p->work_done / p->work : 1;
  for (int i = 0; i < WIDTH; i++) bar[i] = i < (int)(share * WIDTH + 0.5) ? '#' : '.';
  bar[WIDTH] = '\0';
  int n = snprintf(line, sizeof line, "[%s] %d/%d  %s left  %s", bar, p->done, p->total, left,
                   what != NULL ? what : "");
  if (n >= (int)sizeof line) n = (int)sizeof line - 1;
  fprintf(p->out, "\r%s%*s", line, p->line > n ? p->line - n : 0, "");
  fflush(p->out);
  p->line = n;
}

void perp_progress_step(perp_progress *p, double work, double seconds, bool failed,
                        const char *what)
{
  p->done++;
  p->failed += failed;
  p->work_done += work;
  p->busy += seconds;
  p->work_work += work * work;
  p->work_busy += work * seconds;
  if (p->out == NULL) return;
  double now = perp_clock_wall();
  if (now - p->shown > (p->terminal ? 0.1 : p->json ? 1 : 10) || (p->json && p->done == p->total))
    progress_show(p, what);
}

void perp_progress_tick(perp_progress *p)
{
  if (p->out != NULL && perp_clock_wall() - p->shown > (p->terminal ? 0.5 : p->json ? 1 : 10))
    progress_show(p, NULL);
}
