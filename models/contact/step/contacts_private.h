/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside contacts.c, contacts_carry.c, contacts_choose.c, contacts_end.c and contacts_memory.c. */
#ifndef PERP_CONTACTS_PRIVATE_H
#define PERP_CONTACTS_PRIVATE_H

#include "models/contact/step/contacts.h"
#include "models/contact/step/islands.h"
#include "models/contact/step/contacts_post.h"
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

/* what perp_contacts_keep has kept */
typedef struct perp_contacts_aside {
  perp_contact_memory *memory; /* [n] of cap */
  int n, cap;
  double h;
  perp_arena arena;
} perp_contacts_aside;

struct perp_contacts {
  const perp_model *model;
  perp_contact_opts o;
  const perp_stab_desc *stab;
  void *stab_ws;
  perp_collision *collision;
  perp_islands *velocity;
  perp_contact_post *post; /* NULL: contacts are not corrected after the step */
  perp_collision *ahead;   /* with post: at the end of the step, q_ahead [nq] */
  const perp_contact *contact_ahead;
  double *q_ahead;
  int n_ahead;
  bool ahead_holds;
  double corrected;            /* m: the largest depth corrected at the end of the step before */
  bool swept;                  /* problems of the step were left by a number of sweeps */
  double t;                    /* s, at the start of the step */
  double margin, margin_ahead; /* m: of the contacts of the step, and of those ahead */
  perp_sleep *sleep;           /* NULL: nobody sleeps */
  double slop;                 /* m, see bias_of */
  double
      relaxed; /* largest mu, where the law lets contacts part by mu times their sliding; else 0 */
  double *reach; /* [bodies] from the centre of mass to the end of its shapes */
  bool *ball;    /* [shapes] a sphere: one contact at most, always of one name */
  bool *met;     /* [bodies] an approach with restitution closes a gap of it in this step */
  bool second;   /* further solves for the velocity that is kept, at least in some parts */
  perp_contact_part part;
  double *v_kept; /* [nv] with second: that velocity, when it is not the one that moves positions */
  bool keeps;     /* it is not */
  double within;  /* s, see perp_contacts_within */
  double *moving; /* [nv] with second: the one that does */
  double *f;      /* [nv] right-hand side without contacts */
  double *before_step, *free; /* [6 bodies] twists, see islands.h */
  /* contacts of the step */
  const perp_contact *contact;
  const perp_contact *found; /* the same where they were found */
  int n;
  double h; /* of the step of these impulses */
  /* as many as there ever were */
  int cap;
  double *impulse;         /* [3 n] world */
  double *couple;          /* [3 n] world; NULL: no surface resists spinning or rolling */
  double *slip;            /* [n] */
  double *mu;              /* [n] coefficient of friction of this step, of kept ones */
  unsigned char *kept;     /* [n] */
  unsigned char *fresh;    /* [n] */
  unsigned char *pressed;  /* [n] it had an impulse in the step before */
  unsigned char *friction; /* [n] PERP_FRICTION_ of the step before, then of this one */
  uint64_t *origin;        /* [n] see contact.h */
  /* with substeps: */
  perp_contact *carried;     /* [n] */
  perp_contact_carry *carry; /* [n] */
  double *total;             /* [3 n] impulses of all parts */
  /* with second: */
  double *approach,
      *reached;   /* [n] speed along n at the start of the step, gap at the end of the part */
  bool *rebounds; /* [n] */
  perp_contact_memory *before, *after; /* [n_before], [n] */
  int n_before;
  perp_arena grown;
  perp_contacts_aside aside[PERP_ENDS];
  double collision_s, lcp_s;
};

/* Gaps that count as closed, in units of the largest body. */
static inline double perp_contacts_closed(const perp_contact_opts *o)
{
  return o->closed > 0 ? o->closed : o->residual;
}

enum { PERP_TEAM_CONTACTS = 500 }; /* contacts that are worth a team */
static inline int perp_contacts_team(const perp_contacts *c)
{
  return c->n >= PERP_TEAM_CONTACTS ? c->o.threads : 1;
}

/* ---- contacts_choose.c ---- */

/* m: contacts with a gap up to this are kept whatever they do in a step h: what gravity closes,
 * with gap; else what is closed (Anitescu and Potra). */
double perp_contacts_base(const perp_contacts *c, double h);
/* m: how far contacts of a step h from the velocities v are looked for, which drives may add to. */
double perp_contacts_margin(const perp_contacts *c, double h, double drive_speed, const double *v);
/* Contacts at k->e on all threads. */
perp_status perp_contacts_find(perp_contacts *c, perp_constrained *k, perp_collision *collision,
                               const perp_contact **contact, int *n);
/* Those at the start of the step: where nothing was corrected they are those that the end of the
 * step before was looked at with, when that was as far. */
perp_status perp_contacts_find_start(perp_contacts *c, perp_constrained *k, double margin);
/* Sets kept, and returns how many are: of all contacts with the velocities v before the step and a
 * = v^.  v NULL: takes in those left out that a = v+ closes, and returns how many these are. */
int perp_contacts_choose(perp_contacts *c, const perp_eval *e, double h, const double *v,
                         const double *a);
/* Wakes whom a kept contact reaches; anybody? */
bool perp_contacts_wake(perp_contacts *c);

/* ---- contacts_end.c ---- */

/* Do halvings go with the other options?  PERP_ERR_UNSUPPORTED: contacts whose depth is their load,
 * steps that cannot be made again, or whose length the ODE method chooses. */
perp_status perp_contacts_halves(perp_ctx *ctx, const perp_contact_opts *o,
                                 const perp_parts *parts);

/* ---- contacts_carry.c ---- */

/* The contacts of the first part, at k->e, are those to be carried. */
void perp_contacts_carry_start(perp_contacts *c, const perp_eval *e);
/* The contacts where the bodies have taken them. */
void perp_contacts_carry_to(perp_contacts *c, const perp_eval *e);

/* ---- contacts_memory.c ---- */

/* Guesses of the contacts at hand from the impulses of the step before, scaled to the step h. */
void perp_contacts_recall(perp_contacts *c, const perp_eval *e, double h);
/* The same of a part of a step from the part before. */
void perp_contacts_recall_part(perp_contacts *c, double h);
/* What contacts do in a step h that ends with the velocities v, in friction; or (reversals) only:
 * those that have slid and would slide back are stopped on the way and stick, with mu.  How many
 * such there are. */
int perp_contacts_friction(perp_contacts *c, const perp_eval *e, double h, const double *v,
                           bool reversals);
/* Keeps the impulses of the step for the next one, and those of pairs asleep. */
void perp_contacts_remember(perp_contacts *c, const perp_eval *e, double h);

#endif
