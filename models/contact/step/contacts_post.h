/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts corrected at the end of a step, on the velocity and on the acceleration level (Cline
 * 2002, section 3.4):
 *
 *      M dq = J' mu + J_c' lambda,  J dq = -C,  0 <= lambda perp gap + J_c dq >= 0,  q <- q [+] dq
 *
 *      M dv = J' mu + J_c' lambda,  J dv = 0,   0 <= lambda perp J_c (v + dv) >= 0
 *
 * The first moves bodies that penetrate apart without a velocity; contacts that are open may close.
 * The second stops closed contacts that approach, and takes energy only.  Both are frictionless, by
 * islands, with the lcp of the simulation.  Which of them is made, and when: by what the
 * stabilization says (perp_stab_contacts).
 *
 * A failure counts, and is not asked again.  Impulses that leave more than 1 % of the data move
 * nothing.
 *
 * Where the scheme has a softness the first is, with S that part of the mean 1/m,
 *
 *      0 <= lambda_S  perp  gap + J_c dq + S lambda_S >= 0
 *
 * which always has a solution: contacts that contradict each other share the overlap.  Overlaps
 * after it are S lambda_S. As |lambda_S|_2 <= |lambda|_2 for every lambda that solves the rigid
 * problem (both minimize, and S > 0 adds S |lambda|^2 / 2), more than 1 % of the deepest overlap
 * left shows that none exists within that radius: where it is deeper than what is left alone, too,
 * the projection counts as a further problem, not solved (PERP_NONE_WITHIN), and positions are the
 * shared ones. */
#ifndef PERP_CONTACTS_POST_H
#define PERP_CONTACTS_POST_H

#include "models/contact/step/contacts.h"
#include "models/contact/step/islands.h"
#include "models/contact/step/sleep.h"

/* An instance of the scheme of parts without rows: contacts come and go, and are asked about one by
 * one. */
perp_status perp_contact_stab(perp_ctx *ctx, const perp_parts *parts, const perp_stab_desc **stab,
                              void **ws);

typedef struct perp_contact_post perp_contact_post;

typedef struct perp_contact_post_setup {
  double tol, tol_data, budget; /* of the problems, as perp_contact_setup has them */
  double slop;      /* m: penetration up to this is an error of solutions, and left alone */
  double size;      /* m: of the largest body */
  double slow;      /* m/s: approaches up to this likewise, */
  double threshold; /* m/s: and approaches with restitution that are faster, to bounce */
  int threads;
  bool rows; /* joints are rows, see islands.h */
  bool rubs; /* velocities of contacts with friction are left to the step to come, which has it */
  perp_sleep *sleep; /* those asleep stay where they are; NULL: nobody sleeps */
} perp_contact_post_setup;

/* *out is NULL where the scheme corrects no contacts.  Allocates; later only when there are more
 * contacts or larger islands than ever. */
perp_status perp_contact_post_create(perp_ctx *ctx, const perp_model *model,
                                     const perp_parts *parts, const perp_stab_desc *stab,
                                     const void *ws, const perp_contact_post_setup *setup,
                                     perp_contact_post **out);
void perp_contact_post_destroy(perp_contact_post *p); /* NULL is fine */
void perp_contact_post_restart(perp_contact_post *p);
/* What is known of its islands, see islands.h. */
void perp_contact_post_keep(perp_contact_post *p, perp_step_end which);
void perp_contact_post_put_back(perp_contact_post *p, perp_step_end which);

int perp_contact_post_passes(const perp_contact_post *p);
bool perp_contact_post_stops(const perp_contact_post *p); /* are velocities corrected? */
/* What a pass on positions has done, for derivatives of steps. */
typedef struct perp_contact_pass {
  double *q, *x;         /* [nq] its start, [nv] the correction: q [+] x */
  double *lambda;        /* [m] of the joints */
  int n;                 /* contacts at q */
  perp_contact *contact; /* [n] */
  double *impulse;       /* [3 n] world */
} perp_contact_pass;
enum { PERP_CONTACT_PASSES = 8 };
typedef struct perp_contact_passes {
  int n;     /* of the last step; more than PERP_CONTACT_PASSES: the first ones are there */
  bool lost; /* there was no memory for one */
  perp_contact_pass pass[PERP_CONTACT_PASSES];
} perp_contact_passes;
/* Have them written from now on; NULL: no longer. */
void perp_contact_post_watch(perp_contact_post *p, perp_contact_passes *passes);
void perp_contact_passes_clear(perp_contact_passes *passes);
double perp_contact_post_softness(const perp_contact_post *p); /* 1/kg */
/* Is a contact deeper than is left alone?  left [n]: those that are, however deep; NULL: none.
 * swept: the problems of the step were left by a number of sweeps. */
bool perp_contact_post_deep(const perp_contact_post *p, const perp_contact *contact,
                            const unsigned char *left, int n, bool swept);
/* The next pass acts against these impulses of its contacts, kg m, world [3 n] (they are those on
 * b): contacts that they press together close where the pass would leave them open.  NULL: none. */
void perp_contact_post_press(perp_contact_post *p, double *impulse);
/* One pass with the contacts [n] at q, where k is; those in left [n] (NULL: none) stay as deep as
 * they are.  moved: q is new (not where the lcp failed).  count is added to.  False: k says why. */
bool perp_contact_post_position(perp_contact_post *p, perp_constrained *k,
                                const perp_contact *contact, const unsigned char *left, int n,
                                double *q, bool *moved, perp_contact_count *count);
/* The velocities at the end of a step, at time t in the state where k is: of the contacts [n] those
 * with a gap up to `closed`.  CHANGED: v is new. */
perp_ode_answer perp_contact_post_velocity(perp_contact_post *p, perp_constrained *k, double t,
                                           const perp_contact *contact, int n, double closed,
                                           double *v, perp_contact_count *count);

#endif
