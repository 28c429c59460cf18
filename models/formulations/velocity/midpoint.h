/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time stepping of second order between events, which end parts of a step
 * (formulations/velocity_midpoint.c). */
#ifndef PERP_MIDPOINT_H
#define PERP_MIDPOINT_H

#include "models/contact/step/drives.h"
#include "models/stepping/stepper.h"

typedef struct perp_midpoint_opts {
  double threshold, slip, residual, budget;
  int parts, choice;
} perp_midpoint_opts;

/* What a contact was in the part before, by its identity. */
typedef struct perp_midpoint_memory {
  uint64_t id;
  double force[3]; /* world */
  double used,
      rate; /* of the friction of its pair of shapes: the part that is used, and how that grows */
  double h; /* s, the part of which they are the means; 0: they do not hold on */
  unsigned char slides, back; /* it slid; it would have slid back in this part, and was stopped */
} perp_midpoint_memory;

/* A contact that closes too fast to be one at rest: it has no rows in the part, whose end it is. */
typedef struct perp_midpoint_closing {
  perp_contact contact; /* at the start of the part */
  double speed;         /* m/s, along its normal */
} perp_midpoint_closing;

/* Which problem is in the making: the prediction of the end, the part itself, an impact, or what is
 * left of a step that has had its events, in first order. */
typedef enum perp_midpoint_problem {
  PERP_MIDPOINT_PREDICTS,
  PERP_MIDPOINT_CORRECTS,
  PERP_MIDPOINT_IMPACT,
  PERP_MIDPOINT_REST
} perp_midpoint_problem;

/* Contacts of the step with the impulses of all its parts. */
typedef struct perp_midpoint_said {
  perp_contact *contact;
  double *impulse; /* [3 n] */
  int n, cap, head;
} perp_midpoint_said;

typedef struct perp_midpoint {
  perp_stepper step; /* first; q1, v1: end of the part in the making */
  perp_midpoint_opts o;
  perp_islands *islands; /* NULL: no shapes, and so are the next two */
  perp_drives *drives;   /* NULL: none */
  double *drive;         /* [drives] impulses of the parts so far, then the forces of the step */
  perp_collision *at_start, *at_middle;
  double *middle, *mean; /* [nq], [nv] of the part */
  double *predicted;     /* [nv] velocity at its end */
  double *move, *f;      /* [nv] */
  double *gamma;         /* [m] Jdot v */
  double *before, *free; /* [6 bodies] twists */
  double *reach;         /* [bodies] */
  perp_pose *pose;       /* [bodies + 1] at the end; that of the world first */
  double slop;           /* m: gaps of this size are closed */
  double h, t_end;       /* s, of the part */
  double end;            /* s, of the step */
  perp_midpoint_problem problem;
  /* contacts of the problem */
  const perp_contact *contact;
  const perp_contact *start;
  int n, n_start;
  /* as many as there ever were */
  int cap, n_memory, n_closing;
  double *impulse;              /* [3 n] */
  bool means;                   /* friction may oppose the mean of both ends */
  double *curve, *ahead;        /* [3 n] (J(q1) - J) v; what rows have beside J v+ */
  double *slip;                 /* [n] */
  unsigned char *kept;          /* [n] */
  perp_midpoint_memory **known; /* [n] NULL: new */
  perp_midpoint_memory *memory, *next;
  perp_midpoint_closing *closing;
  perp_arena grown;
  perp_midpoint_said said;
  double collision_s, lcp_s;
} perp_midpoint;

/* Contacts at k->e within reach of a part h from the state; which of them close fast is found anew.
 */
bool perp_midpoint_find(perp_midpoint *s, perp_collision *collision, double h,
                        const perp_contact **contact, int *n);
/* Velocity of b relative to a, of a contact, at poses [bodies]. */
void perp_midpoint_velocity(const perp_model *model, const perp_pose *pose, const perp_contact *x,
                            const double *v, double u[3]);
/* What contacts of the problem did before. */
void perp_midpoint_recall(perp_midpoint *s);
/* Contacts first ... end - 1 are those of a pair of shapes: end, and what they use of their
 * friction, all together. */
int perp_midpoint_pair(const perp_midpoint *s, int first, double *used);
/* 1/s: how that has grown since the part before; 0 where that is not known. */
double perp_midpoint_rate(const perp_midpoint *s, const perp_midpoint_memory *m, double used);
/* The pair of shapes whose first contact this is has friction mu_dynamic from now on. */
void perp_midpoint_release(perp_midpoint *s, int first);
/* What they have done in the part that is accepted. */
void perp_midpoint_remember(perp_midpoint *s);
/* Adds k->f = M v + h f its impulses of contacts and drives and solves for k->a; k->a is the
 * velocity without them. */
bool perp_midpoint_bounded(perp_midpoint *s, double h, const double *v);
/* The impulses at hand are those of the step, too. */
bool perp_midpoint_say(perp_midpoint *s);
/* Do contacts touch, or drives meet their limits, and approach faster than the threshold?  Then
 * s->v gets their impact; k->e is at the state. */
bool perp_midpoint_strike(perp_midpoint *s, double t, bool *struck);
/* Along the surface, with belts, at the end of the part: speed, and what a solution may leave of
 * it. */
double perp_midpoint_sliding(const perp_midpoint *s, int i, double u[3], double *left);

#endif
