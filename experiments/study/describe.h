/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is there: plug-ins and their options as text and as JSON. */
#ifndef PERP_DESCRIBE_H
#define PERP_DESCRIBE_H

#include "experiments/base/memory.h"
#include "experiments/base/json.h"
#include "solvers/core/core.h"

/* Name of one capability bit of a kind; NULL when the bit has no name. */
const char *perp_capability_name(perp_kind kind, unsigned bit);
/* "embedded, implicit"; "" when there are none.  Returns the length needed. */
int perp_capabilities(perp_kind kind, unsigned caps, char *buf, size_t size);
/* How many bodies a force or joint takes (INT_MAX: any number); 0 and 0: another kind. */
void perp_describe_bodies(perp_kind kind, const perp_desc *desc, int *least, int *most);
/* {"name", "summary", "reference", "capabilities", "options": [...]} and what the kind adds. */
void perp_describe_json(perp_json *json, perp_kind kind, const perp_desc *desc);

/* Names of the studies that come with perp, sorted, and where they are.  Free with
 * perp_pool_free. */
typedef struct perp_study_file {
  const char *name, *path;
} perp_study_file;
/* Folders of the studies that come with perp, the first that has something wins: the source tree
 * that the launcher names, the installed ones, the tree perp was built in.  Returns their
 * number. */
enum { PERP_STUDY_DIRS = 3 };
int perp_study_dirs(perp_pool *pool, const char *dirs[PERP_STUDY_DIRS]);
int perp_study_files(perp_pool *pool, perp_study_file **files);

#endif
