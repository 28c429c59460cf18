/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What acts along the free axes of joints: drives, and forces of plug-ins between the two bodies of
 * a joint, as controllers are.  For the eye. */
#ifndef PERP_JOINT_LOADS_H
#define PERP_JOINT_LOADS_H

#include "models/models.h"

typedef struct perp_load {
  int joint;
  int drive; /* -1: a force, */
  int element,
      end;     /* of which the torque on the body `end` of its list counts, of a slider the force */
  bool slides; /* N, else Nm */
  bool part;   /* one component of three, along axes at right angles */
} perp_load;

/* Those of a finished model: *out [n], which the caller frees.  PERP_ERR_NOMEM.  O(forces joints),
 * allocates. */
perp_status perp_loads_of(perp_ctx *ctx, const perp_model *model, perp_load **out, int *n);
/* NULL: it has none. */
const char *perp_load_name(const perp_model *model, const perp_load *load);
/* value [n], N or Nm: of drives the force of the step, with a sign, limits included; of forces the
 * size at this state. NaN: not known, as without a step (info NULL), without velocities (v NULL).
 * No allocation. */
void perp_loads_at(const perp_model *model, const perp_load *load, int n, double t, const double *q,
                   const double *v, const perp_step_info *info, float *value);

#endif
