/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Penalty contacts of a state and their springs: each point of a manifold with its depth, or each
 * pair of shapes with the volume of its overlap (penalty_law.h). */
#ifndef PERP_PENALTY_FOUND_H
#define PERP_PENALTY_FOUND_H

#include "models/multibody/model_private.h"
#include "models/collision/collision.h"
#include "models/formulations/penalty/penalty_law.h"

typedef struct perp_penalty_found {
  const perp_model *model;
  const perp_penalty_law *law;
  perp_collision *collision;
  const perp_contact
      *contact; /* [n] by id.  By volume: both points are the centroid, the gap is -V / A */
  const perp_penalty_spring *spring; /* [n] */
  int n;
  bool inside; /* a shape is all inside of another one: its volume has no gradient, and the law says
                  nothing */
  /* of the last state, and memory */
  double *q; /* [nq] */
  double t;
  bool known;
  perp_contact *pair;
  perp_penalty_spring *room;
  int cap;
} perp_penalty_found;

/* found->model and found->law are set, found->q has room.  PERP_ERR_UNSUPPORTED: a pair that may
 * touch has no volume in closed form. */
perp_status perp_penalty_found_open(perp_ctx *ctx, perp_penalty_found *found);
void perp_penalty_found_close(perp_penalty_found *found);
void perp_penalty_found_forget(perp_penalty_found *found);
/* Contacts at (t, q), of which eval has the poses; nothing is done where it was asked last.
 * Allocates when there are more than ever. */
perp_status perp_penalty_found_at(perp_ctx *ctx, perp_penalty_found *found, const perp_eval *eval,
                                  double t, const double *q);
/* Contacts at these poses with a gap below margin; of volumes those that overlap. */
perp_status perp_penalty_found_near(perp_ctx *ctx, perp_penalty_found *found, const perp_eval *eval,
                                    double margin);

#endif
