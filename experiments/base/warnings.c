/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/warnings.h"

#include "solvers/core/shown.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void perp_warn(perp_warnings *warnings, const char *fmt, ...)
{
  char line[PERP_WARNING_LENGTH];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  perp_shown_clean(line);
  for (int i = 0; i < warnings->n; i++)
    if (strcmp(warnings->line[i], line) == 0) return;
  if (warnings->n == PERP_WARNINGS_MOST) {
    warnings->more++;
    return;
  }
  memcpy(warnings->line[warnings->n++], line, sizeof line);
}

void perp_warnings_json(const perp_warnings *warnings, perp_json *json)
{
  char more[64];
  const char *line[PERP_WARNINGS_MOST + 1];
  for (int i = 0; i < warnings->n; i++) line[i] = warnings->line[i];
  snprintf(more, sizeof more, "and %d more warnings", warnings->more);
  line[warnings->n] = more;
  perp_json_texts(json, "warnings", line, warnings->n + (warnings->more > 0));
}
