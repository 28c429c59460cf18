/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of the generalized-alpha family with any coefficients (generalized_alpha.c has the
 * equations), for the formulations that are members of it. */
#ifndef PERP_GENERALIZED_ALPHA_H
#define PERP_GENERALIZED_ALPHA_H

#include "models/stepping/stepper.h"

enum { PERP_GENERALIZED_ALPHA_INDEX3, PERP_GENERALIZED_ALPHA_INDEX2 };

typedef struct perp_generalized_alpha_opts {
  double rho, alpha; /* of generalized-alpha, of hht */
  int form, start, iterations;
} perp_generalized_alpha_opts;
extern const char *const perp_generalized_alpha_starts[];

/* Rows of an options table of these. */
#define PERP_GENERALIZED_ALPHA_OPTIONS                                                             \
  PERP_ENUM(perp_generalized_alpha_opts, start, 0, perp_generalized_alpha_starts,                  \
            "Initial algorithmic accelerations. second-order: corrected, so that the first steps " \
            "have order 2. plain: the accelerations at the start."),                               \
      PERP_INT(perp_generalized_alpha_opts, iterations, 50, 1, 1000,                               \
               "Largest number of Newton corrections in a step.")

/* gamma = 1/2 + alpha_f - alpha_m and beta = (gamma + 1/2)^2 / 4 follow.  PERP_ERR_UNSUPPORTED:
 * joints with softness. */
perp_status perp_generalized_alpha_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                          double h, double alpha_m, double alpha_f,
                                          const perp_generalized_alpha_opts *o, void **ws);
perp_status perp_generalized_alpha_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                           const double *v);
void perp_generalized_alpha_destroy(void *ws);

/* What the descriptor of a member has beside its name and create. */
#define PERP_GENERALIZED_ALPHA_CAPS                                                                \
  (PERP_FORM_FORCES_AT_START | PERP_FORM_BREAKS | PERP_FORM_USES_KKT | PERP_CAP_ALLOCATES |        \
   PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_DISABLED | PERP_FORM_SERVOS |                 \
   PERP_FORM_MOTORS)
#define PERP_GENERALIZED_ALPHA_CALLS                                                               \
  .restart = perp_generalized_alpha_restart, .step = perp_stepper_step,                            \
  .destroy = perp_generalized_alpha_destroy, PERP_STEPPER_CALLS

#endif
