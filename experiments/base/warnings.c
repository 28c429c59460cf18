/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void perp_warn(perp_warnings *w, const char *fmt, ...)
{
  char line[PERP_WARNING_LENGTH];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  for (int i = 0; i < w->n; i++)
    if (strcmp(w->line[i], line) == 0) return;
  if (w->n == PERP_WARNINGS_MOST) {
    w->more++;
    return;
  }
  memcpy(w->line[w->n++], line, sizeof line);
}

void perp_warnings_json(const perp_warnings *w, perp_json *j)
{
  char more[64];
  const char *line[PERP_WARNINGS_MOST + 1];
  for (int i = 0; i < w->n; i++) line[i] = w->line[i];
  snprintf(more, sizeof more, "and %d more warnings", w->more);
  line[w->n] = more;
  perp_json_texts(j, "warnings", line, w->n + (w->more > 0));
}
