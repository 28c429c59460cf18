/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts as springs under an ODE solver (STAR 2012, section 7.1; the laws: penalty_law.h).
 *
 * Every evaluation finds the contacts of its state; the force of each is a function of state and
 * time, and of what its contact remembers from the last accepted state: the speed of approach at
 * which it was met, and one point on each body, between which the spring along the surface is.  At
 * an accepted state these points are put where the bodies touch now, as far apart as the slip limit
 * leaves them: a ball that rolls keeps its spring, and what sticks does not creep.  In a step of a
 * rolling contact the points turn with their bodies, an error of third order in the angle of the
 * step. */
#ifndef PERP_PENALTY_CONTACTS_H
#define PERP_PENALTY_CONTACTS_H

#include "models/formulations/penalty/penalty_found.h"
#include "models/stepping/formulation.h"
#include "models/multibody/model_private.h"

typedef struct perp_penalty_contacts perp_penalty_contacts;

/* Allocates; later only where there are more contacts than ever. */
perp_status perp_penalty_contacts_create(perp_ctx *ctx, const perp_model *model,
                                         const perp_penalty_law *law, perp_penalty_contacts **out);
void perp_penalty_contacts_destroy(perp_penalty_contacts *contacts); /* NULL is fine */
/* Nothing is remembered. */
void perp_penalty_contacts_restart(perp_penalty_contacts *contacts);
/* f [nv] += contact forces at (t, q, v), of which eval has the poses.  PERP_ERR_NOMEM. */
perp_status perp_penalty_contacts_force(perp_ctx *ctx, perp_penalty_contacts *contacts,
                                        const perp_eval *eval, double t, const double *q,
                                        const double *v, double *f);
/* Was a shape all inside of another one where contacts were asked last, where the law of volumes
 * has no force? */
bool perp_penalty_contacts_inside(const perp_penalty_contacts *contacts);
/* (t, q, v) is accepted: what is remembered.  *passive: no contact has given more energy than it
 * had (penalty_law.h). */
perp_status perp_penalty_contacts_accept(perp_ctx *ctx, perp_penalty_contacts *contacts,
                                         const perp_eval *eval, double t, const double *q,
                                         const double *v, bool *passive);
/* Contacts of the state before the last accepted one, and their forces then times the step. */
void perp_penalty_contacts_info(perp_penalty_contacts *contacts, perp_step_info *info);
/* Does a contact remember anything, at one of the ends of the last step? */
bool perp_penalty_contacts_remembers(const perp_penalty_contacts *contacts);
const perp_contact_count *perp_penalty_contacts_count(const perp_penalty_contacts *contacts);

/* For the longest step: stiffness [nv] += K x and damping [nv] += D x of all contacts nearer than a
 * thousandth of the model at the poses of eval, x [nv]; dashpots at their bound.  After
 * perp_penalty_contacts_near at these poses. */
perp_status perp_penalty_contacts_near(perp_ctx *ctx, perp_penalty_contacts *contacts,
                                       const perp_eval *eval);
void perp_penalty_contacts_stiffness(const perp_penalty_contacts *contacts, const perp_eval *eval,
                                     const double *x, double *stiffness, double *damping);

#endif
