/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The contacts of a time step: found within its reach, matched with those of the step before
 * (guesses, sticking or sliding), chosen, remembered for the next one.  velocity_step.c makes the
 * step. */
#ifndef PERP_STEP_CONTACTS_H
#define PERP_STEP_CONTACTS_H

#include "models/contact/step/contacts.h"
#include "models/contact/step/contacts_post.h"
#include "models/contact/step/islands.h"
#include "models/contact/step/sleep.h"

/* Which coefficient a contact has: sticking mu, sliding mu_dynamic.  What it did in the step
 * before, by the rows and velocities of that step: the speed at the start of this one has in it how
 * the rows have turned, which is O(h). */
enum { PERP_FRICTION_NEW, PERP_FRICTION_STICKS, PERP_FRICTION_SLIDES };

/* what identifies a contact from step to step, with its impulse */
typedef struct perp_contact_memory {
  uint64_t id;
  double impulse[3], couple[3], slip;
  double at[3]; /* in the frame of a moving body of the contact */
  unsigned char fresh, used, friction;
} perp_contact_memory;

/* a contact as its bodies have it; who turns with neither body has it in the axes of the world */
typedef struct perp_contact_carry {
  double arm[2][3], n[3];
  signed char turns; /* side whose body the normal turns with, -1: none */
  bool round[2];     /* the side rolls on its point: this keeps its place below the centre */
} perp_contact_carry;

/* Which part of a step is made: each is a step of the equations of its own, but contacts are found
 * in the first one, and impacts and penetration are seen to in the last one. */
typedef struct perp_contact_part {
  bool first, last;
  double whole; /* s: the step of all parts */
} perp_contact_part;

/* Collision detection at the start of the step, and ahead: at its end, q_ahead [nq]. */
typedef struct perp_contacts_detection {
  perp_collision *now, *ahead; /* ahead: with corrections after the step, or halvings */
  const perp_contact *contact_ahead;
  double *q_ahead;
  int n_ahead;
  bool ahead_holds;            /* the next step may use them */
  double margin, margin_ahead; /* m: of the contacts of the step, and of those ahead */
  double corrected;            /* m: the largest depth corrected at the end of the step before */
  double t;                    /* s, at the start of the step */
} perp_contacts_detection;

/* What is remembered of n contacts of a step of length h, by id. */
typedef struct perp_contacts_list {
  perp_contact_memory *x; /* [n] */
  int n;
  double h;
} perp_contacts_list;

/* Of contacts from step to step. */
typedef struct perp_contacts_memory {
  perp_contacts_list list[1 + PERP_ENDS]; /* of the step before; what perp_contacts_keep has kept */
  perp_contact_memory *after;             /* [task.n] */
  unsigned char *pressed;                 /* [task.n] it had an impulse in the step before */
  unsigned char *friction; /* [task.n] PERP_FRICTION_ of the step before, then of this one */
} perp_contacts_memory;

/* A further solve for the velocity that is kept, where it is not the one that moves positions. */
typedef struct perp_contacts_second {
  bool on;                    /* at least in some parts */
  bool keeps;                 /* in this one */
  double *v_kept, *v_moving;  /* [nv] */
  double *approach, *reached; /* [n] speed along n at the start of the step, gap at the end of the
                                 part */
  bool *rebounds;             /* [n] */
} perp_contacts_second;

/* Parts of a step (substeps). */
typedef struct perp_contacts_parts {
  perp_contact_part now;
  const perp_contact *found; /* the contacts where they were found */
  perp_contact *carried;     /* [n] and where their bodies have taken them */
  perp_contact_carry *carry; /* [n] */
  double *total;             /* [3 n] impulses of all parts */
} perp_contacts_parts;

typedef struct perp_contacts {
  const perp_model *model;
  perp_contact_opts o;
  const perp_stab_desc *stab;
  void *stab_ws;
  perp_islands *islands;
  perp_contact_post *post; /* NULL: contacts are not corrected after the step */
  perp_sleep *sleep;       /* NULL: nobody sleeps */
  perp_island_task task;   /* the problem of the step */
  perp_impact_rule impact;
  perp_contacts_detection detect;
  perp_contacts_memory memory;
  perp_contacts_second second;
  perp_contacts_parts parts;
  double slop; /* m: gaps that count as closed, see velocity_step.c */
  double
      relaxed; /* largest mu, where the law lets contacts part by mu times their sliding; else 0 */
  /* s: A contact that pressed in the step before and has come off by what its body has turned is
   * closed within this time, and not in a step: the force of steps of one length is then the same
   * from the second one on.  With gap / h the second one gives back one and a half times what the
   * turn takes, and has less friction than sticking may need.  Nor are velocities at the end of a
   * step projected on contacts.  0: in the step itself, and they are. */
  double within;
  bool swept;    /* problems of the step were left by a number of sweeps */
  bool again;    /* steps may be made again */
  double *reach; /* [bodies] from the centre of mass to the end of its shapes */
  bool *ball;    /* [shapes] a sphere: one contact at most, always of one name */
  bool *met;     /* [bodies] an approach with restitution closes a gap of it in this step */
  double *f;     /* [nv] right-hand side without contacts */
  double *twist_before, *twist_free; /* [6 bodies] see islands_task.h */
  double *mu;                        /* [n] coefficient of friction of this step, of kept ones */
  unsigned char *kept;               /* [n] */
  uint64_t *origin;                  /* [n] see contact.h */
  int cap;                           /* as many as there ever were */
  perp_arena grown;
  double collision_s, lcp_s;
} perp_contacts;

/* parts: lcp, contact and stab must be set.  PERP_ERR_UNSUPPORTED: an lcp that does not serve the
 * contact model.  Allocates; later only when there are more contacts or larger islands than ever.
 */
perp_status perp_contacts_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                                 const perp_contact_opts *opts, perp_contacts **out);
void perp_contacts_destroy(perp_contacts *c); /* NULL is fine */
void perp_contacts_restart(perp_contacts *c);

/* ---- detect ---- */

/* Contacts at k->e, the start of the step, within the reach of k->a = v^ and of drives, with the
 * guesses of the first part h.  False: k says why. */
bool perp_contacts_detect(perp_contacts *c, perp_constrained *k, double drive_speed, double h);
/* The contacts ahead are those at q, at time t.  False: k->status says why there are none. */
bool perp_contacts_look_ahead(perp_contacts *c, perp_constrained *k, double t, const double *q);
/* Sets kept, and returns how many are: of all contacts with the velocities v before the step and a
 * = v^.  v NULL: takes in those left out that a = v+ closes, and returns how many these are. */
int perp_contacts_choose(perp_contacts *c, const perp_eval *e, double h, const double *v,
                         const double *a);
/* Wakes whom a kept contact reaches; anybody? */
bool perp_contacts_wake(perp_contacts *c);
/* With substeps (contacts_carry.c): the contacts of the first part, at k->e, are those to be
 * carried; the contacts where the bodies have taken them, with guesses of the part before. */
void perp_contacts_carry_start(perp_contacts *c, const perp_eval *e);
void perp_contacts_carry_to(perp_contacts *c, const perp_eval *e);
void perp_contacts_recall_part(perp_contacts *c, double h);

/* ---- remember ---- */

/* Keeps the impulses of the step for the next one, and those of pairs asleep. */
void perp_contacts_remember(perp_contacts *c, const perp_eval *e, double h);
/* What is remembered for the next step (guesses, who slides, what is known of islands) is kept, and
 * put back before it is made from the same state again (halvings, or options with `closed`).
 * Nothing else is remembered without sleep. */
void perp_contacts_keep(perp_contacts *c, perp_step_end which);
void perp_contacts_put_back(perp_contacts *c, perp_step_end which);

#endif
