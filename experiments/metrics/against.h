/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run is compared with: the reference solutions of its scene. */
#ifndef PERP_AGAINST_H
#define PERP_AGAINST_H

#include "models/models.h"

typedef struct perp_against {
  const perp_truth *truth, *second; /* second: another one, to see how far both can be trusted */
  bool any_time, parted;            /* parted: they no longer know the trajectory */
  bool space;                       /* q has orientations: 7 numbers a body */
  int nq;
  double *q_ref, *v_ref, *q_second, *v_second, largest_q;
} perp_against;

/* Choose the reference solutions of a run to t_end, and take memory.  PERP_ERR_NOMEM. */
perp_status perp_against_create(perp_ctx *ctx, const perp_scene *scene, double t_end, bool adaptive,
                                int nq, int nv, perp_against *out);
void perp_against_free(perp_against *against);
/* Does it know the state at t?  NULL: no. */
bool perp_truth_answers(const perp_truth *truth, double t);
/* q_ref and v_ref at t; *known: there is a reference solution that knows the trajectory there. */
perp_status perp_against_at(perp_ctx *ctx, perp_against *against, double t, bool *known);

#endif
