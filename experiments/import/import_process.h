/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A robot is read in a process of its own, with bounds on its time, memory and files.  Private to
 * experiments/import. */
#ifndef PERP_IMPORT_PROCESS_H
#define PERP_IMPORT_PROCESS_H

#include "experiments/import/robot.h"

/* The report of perp_robot_convert, its texts freed by the caller.  false: the process has ended
 * without one, *why says how. */
bool perp_import_ask(const char *path, const char *key, perp_robot_report *report, char *why,
                     size_t size);

#endif
