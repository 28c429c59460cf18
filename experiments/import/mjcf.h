/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a file of a robot to the text of a scene, in this process.  Private to
 * experiments/import, and without libmujoco. */
#ifndef PERP_MJCF_H
#define PERP_MJCF_H

#include "experiments/base/memory.h"

typedef struct perp_mjcf {
  perp_text scene; /* empty after an error */
  perp_text said;  /* lines */
  int lost;
  perp_text error, hint;
  int line; /* of the error, from 1; 0: none */
} perp_mjcf;

/* out is zero before.  Reads untrusted files with a library that may end the process. */
void perp_mjcf_convert(const char *path, const char *key, perp_mjcf *out);

#endif
