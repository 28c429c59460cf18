/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Warnings of a run: what its status does not say, such as an invariant that is lost under `ok`.
 *
 *   perp_warn(&result->warnings, "The energy changes by %.2g %%. Use --h %g.", loss, h);
 *
 * Each is one line: what is wrong, with its value and unit, and a remedy that a test has tried.
 * They are lines `warning` of `perp simulate`, the list "warnings" of its JSON and of the journal,
 * a section of the report and of the summary of a study. */
#ifndef PERP_WARNINGS_H
#define PERP_WARNINGS_H

#include "experiments/base/json.h"

enum { PERP_WARNINGS_MOST = 8, PERP_WARNING_LENGTH = 384 };

/* Plain memory, zero at first: a process writes it to a pipe as it is. */
typedef struct perp_warnings {
  int n;    /* lines, at most PERP_WARNINGS_MOST */
  int more; /* warnings that had no room */
  char line[PERP_WARNINGS_MOST][PERP_WARNING_LENGTH];
} perp_warnings;

/* Add a line unless it is there already.  A text longer than PERP_WARNING_LENGTH - 1 is cut.  O(n),
 * no allocation. */
void perp_warn(perp_warnings *warnings, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The member "warnings": a list of texts. */
void perp_warnings_json(const perp_warnings *warnings, perp_json *json);

#endif
