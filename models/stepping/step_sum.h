/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a step reports that was made in parts: of each contact, known by its id, the impulses of all
 * parts; of joints and drives the mean force. */
#ifndef PERP_STEP_SUM_H
#define PERP_STEP_SUM_H

#include "models/stepping/formulation.h"

typedef struct perp_step_sum {
  int m, drives;
  double length;                   /* s, of the parts so far */
  bool known;                      /* the multipliers of all parts are */
  double *lambda, *drive;          /* [m], [drives] impulses */
  perp_step_info last;             /* of the last part */
  int n, cap;                      /* contacts, and the most there ever were */
  perp_contact *contact, *spare;   /* [n] in the order of their id */
  double *impulse, *spare_impulse; /* [3 n] N s */
  perp_arena grown;
} perp_step_sum;

/* Arrays of sum->m and sum->drives numbers. */
void perp_step_sum_layout(perp_step_sum *sum, perp_arena *arena);
void perp_step_sum_free(perp_step_sum *sum);
void perp_step_sum_start(perp_step_sum *sum);
/* A part h with what it reported, whose contacts are in the order of their id.  Allocates when
 * there are more contacts than ever; PERP_ERR_NOMEM. */
perp_status perp_step_sum_add(perp_ctx *ctx, perp_step_sum *sum, double h,
                              const perp_step_info *info);
/* Of the whole step; the arrays live until the next call. */
void perp_step_sum_info(perp_step_sum *sum, perp_step_info *info);

#endif
