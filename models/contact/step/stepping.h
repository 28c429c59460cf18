/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time stepping with velocities and impulses: what the formulations of the velocity level share.
 * The functions below can stand in the descriptor of a formulation that begins with a perp_stepping
 * (velocity_step.h, which is one step). */
#ifndef PERP_STEPPING_H
#define PERP_STEPPING_H

#include "models/contact/step/velocity_step.h"

/* Arrays of the stepping that ws begins with, for the layout of the whole; k.model is there. */
void perp_stepping_layout(void *ws, perp_arena *a);
/* A workspace like *like, which is `size` bytes that begin with a perp_stepping: zeros and
 * `prepare`.  contact: NULL where the model has no shapes and the gyroscopic torque is explicit.
 * Allocates all but what grows with contacts.  PERP_ERR_UNSUPPORTED: an ode with more than one
 * evaluation a step.  *ws NULL on failure. */
perp_status perp_stepping_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                                 const perp_contact_opts *contact, double h, perp_stepping *like,
                                 size_t size, perp_layout_fn *layout, void **ws);
void perp_stepping_destroy(void *ws);

/* Be at this state as if a step had ended there, with the guesses that are at hand; counters go on.
 * It is brought onto constraints where the stabilization does that. */
perp_status perp_stepping_at(perp_ctx *ctx, perp_stepping *w, double t, const double *q,
                             const double *v);

/* of the descriptor, see formulation.h */
perp_status perp_stepping_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                  const double *v);
perp_status perp_stepping_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info);
void perp_stepping_state(const void *ws, double *t, const double **q, const double **v);
void perp_stepping_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt);
void perp_stepping_timing(void *ws, bool on, perp_times *times);
const perp_contact_count *perp_stepping_contacts(const void *ws);
void perp_stepping_observe(void *ws, perp_contact_observer *observer, void *user);

#endif
