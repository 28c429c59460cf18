/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_EQUIVALENT_PRIVATE_H
#define PERP_EQUIVALENT_PRIVATE_H

#include "models/formulations/equivalent.h"
#include "models/multibody/model_private.h"

struct perp_equivalent {
  const perp_model *given;
  perp_model *model; /* owned */
  bool mirrored;
  /* numbers in the given model: [bodies], [joints] (motions, the last ones, keep their order),
   * [shapes] */
  int *body, *joint, *shape;
  int *body_there;        /* [bodies] the other way round */
  signed char *flips;     /* [drives] -1: the coordinate has the other sign */
  double *lambda, *drive; /* [2 m], [2 drives]: of the step, and of its end */
  bool *released;         /* [joints] */
  perp_release *release;  /* [joints] */
  perp_contact *contact;  /* [cap] */
  double *impulse;        /* [3 cap] */
  int cap;
  perp_arena arena;
};

#endif
