/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do two independent references of a scene agree? */
#ifndef PERP_REFERENCE_H
#define PERP_REFERENCE_H

#include "experiments/runner/study.h"
#include "models/models.h"

typedef struct perp_agreement {
  char method[128],
      with[128]; /* what was compared, as the scene describes it; "" = the scene has none */
  double t_end;  /* compared on [0, t_end] */
  int times;     /* at so many times */
  double worst; /* max over times and columns of |q - q'| / max_t |q'|, columns that are nearly zero
                 * relative to the largest one; NaN when nothing could be compared */
} perp_agreement;

/* Build the scene and compare its truth of kind `method` with that of kind `with` ("closed-form", "file",
 * "reduced"; "auto" = the first, or another one).  t_end 0: the end of the scene.  Allocates; the cost is
 * that of the references. */
perp_status perp_reference_compare(perp_ctx *ctx, const char *scene, const char *method,
                                   const char *with, double t_end, perp_agreement *result);

#endif
