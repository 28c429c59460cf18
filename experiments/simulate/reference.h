/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do two independent references of a scene agree? */
#ifndef PERP_REFERENCE_H
#define PERP_REFERENCE_H

#include "experiments/study/study.h"
#include "models/models.h"

typedef struct perp_agreement {
  char method[128],
      with[128]; /* what was compared, as the scene describes it; "" = the scene has none */
  double t_end;  /* compared on [0, t_end] */
  int times;     /* at so many times */
  double worst; /* max over times and columns of |q - q'| / max_t |q'|, columns that are nearly zero
                 * relative to the largest one; NaN when nothing could be compared */
} perp_agreement;

/* Which references, as a study or the command line asks for them. */
typedef struct perp_reference_request {
  const char *scene, *method, *with;
  double t_end; /* s; 0: the end of the scene */
} perp_reference_request;

/* Build the scene and compare its truth of kind `method` with that of kind `with` ("closed-form",
 * "file", "reduced", "extrapolation"; "auto" = the first, or another one, or else an
 * extrapolation).  Allocates; the cost is that of the references.
 *
 * Extrapolation (Richardson): the scene in maximal coordinates, acceleration level, gsl:rk8pd,
 * projected, in 3200 and in 6400 steps; q_2 + (q_2 - q_1) / 255 is of order 9.  It needs no closed
 * form and no tree, and it is independent of both. Scenes with contacts have none. */
perp_status perp_reference_compare(perp_ctx *ctx, const perp_reference_request *request,
                                   perp_agreement *result);

/* What a run of this very program has kept in DIR/reference.json; false: nothing that answers the
 * request. */
bool perp_reference_kept(const char *dir, const perp_reference_request *request,
                         perp_agreement *result);
/* One member of that file. */
void perp_reference_write(perp_json *json, const perp_reference_request *request,
                          const perp_agreement *agreement, double below);

#endif
