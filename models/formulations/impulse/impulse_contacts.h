/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts, limits and motors of the formulation impulse, see impulse_contacts.c.  Private. */
#ifndef PERP_IMPULSE_CONTACTS_H
#define PERP_IMPULSE_CONTACTS_H

#include "models/contact/step/drives.h"

typedef struct perp_impulse_contacts perp_impulse_contacts;

/* As in contacts.h: restitution above threshold (m/s), budget of a problem of contacts. */
typedef struct perp_impulse_contact_opts {
  double threshold, budget;
  int choice; /* PERP_CHOICE_OPTION */
} perp_impulse_contact_opts;

/* parts: lcp, and contact and stab where there are shapes.  *out is NULL on failure, and for a
 * model without shapes and drives. Allocates; later only when there are more contacts or larger
 * islands than ever. */
perp_status perp_impulse_contacts_create(perp_ctx *ctx, const perp_model *model,
                                         const perp_parts *parts,
                                         const perp_impulse_contact_opts *opts,
                                         perp_impulse_contacts **out);
void perp_impulse_contacts_destroy(perp_impulse_contacts *c); /* NULL is fine */
void perp_impulse_contacts_restart(perp_impulse_contacts *c);

/* What is within reach of a step h from v.  k: at its start, k->a the velocities v~ without
 * impulses of contacts.  False, as of the functions below: k->reason or k->status says why. */
bool perp_impulse_contacts_find(perp_impulse_contacts *c, perp_constrained *k, double h,
                                const double *v);
/* Impulses at the start.  k: there, its factor holds; k->f and k->c its right-hand side, k->a = v~
 * without them, all with them on return.  Again in each pass, from the impulses of the one before.
 */
bool perp_impulse_contacts_preview(perp_impulse_contacts *c, perp_constrained *k, double h,
                                   const double *v);
/* What the stabilization corrects at the end, at time t in q; and which contacts there are then. */
bool perp_impulse_contacts_correct(perp_impulse_contacts *c, perp_constrained *k, double t,
                                   double *q);
/* Impulses at the end, likewise: k->a = v+. */
bool perp_impulse_contacts_finish(perp_impulse_contacts *c, perp_constrained *k, double h);
/* The step is made: what it leaves to the next one and to reports. */
bool perp_impulse_contacts_accept(perp_impulse_contacts *c, perp_constrained *k, double h);

/* The contact part of info, and drives. */
void perp_impulse_contacts_info(const perp_impulse_contacts *c, perp_step_info *info);
const perp_contact_count *perp_impulse_contacts_count(const perp_impulse_contacts *c);
void perp_impulse_contacts_observe(perp_impulse_contacts *c, perp_contact_observer *observer,
                                   void *user);
void perp_impulse_contacts_times(const perp_impulse_contacts *c, perp_times *times);

#endif
