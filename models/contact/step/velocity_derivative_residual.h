/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A step whose derivatives are taken: its active rows, and their residuals beside its start
 * (velocity_derivative.c has the equations). */
#ifndef PERP_VELOCITY_DERIVATIVE_RESIDUAL_H
#define PERP_VELOCITY_DERIVATIVE_RESIDUAL_H

#include "models/contact/step/drives_private.h"
#include "models/contact/step/velocity_step.h"
#include "models/stepping/derivative.h"

/* What friction does at an active contact. */
typedef enum perp_velocity_friction {
  PERP_VELOCITY_FREE,   /* no friction */
  PERP_VELOCITY_STICKS, /* t . u+ = 0 */
  PERP_VELOCITY_SLIDES  /* P_t + mu P_n u_t+ / |u_t+| = 0 */
} perp_velocity_friction;
/* What stands beside n . u+ in the row of a contact, limit or motor. */
typedef enum perp_velocity_bias {
  PERP_VELOCITY_GAP,         /* gap / h */
  PERP_VELOCITY_ZERO,        /* 0 or a constant */
  PERP_VELOCITY_FEEDBACK,    /* of the stabilization, or part of an overrun */
  PERP_VELOCITY_RESTITUTION, /* e n . u */
  PERP_VELOCITY_SPRING       /* alpha gap */
} perp_velocity_bias;

typedef struct perp_velocity_contact {
  perp_contact at;
  double P[3]; /* N s, world, on b */
  perp_velocity_friction friction;
  perp_velocity_bias bias;
  bool dynamic; /* mu is mu_dynamic */
  double mu, soft, alpha;
  double t[2][3];
  double slide[3], speed; /* u_t+ of the step, and its size */
  int row;                /* its first one; -1: none, it is asked about */
} perp_velocity_contact;

typedef struct perp_velocity_drive {
  int drive, side; /* DRIVES_MOTOR, DRIVES_LOWER, DRIVES_UPPER */
  double sign, lambda, soft;
  perp_velocity_bias bias;
  int row; /* -1: lambda stays, or it is asked about */
} perp_velocity_drive;

/* How far a row is off the end of its complementarity. */
typedef struct perp_velocity_margin {
  perp_gradient_row row;
  int contact, drive; /* of the lists; -1 */
} perp_velocity_margin;

typedef struct perp_velocity_stage {
  perp_derivative *d;
  perp_stepping *w;
  perp_contact_passes passes;
  /* what is differentiated: the step, or a pass on positions (h = 1) */
  const perp_contact_pass *pass; /* NULL: the step */
  double t, h;
  const double *x, *lambda;     /* v+ or the correction; impulses of the joints [m] */
  double *q, *q_end;            /* [nq] on the way of corrections */
  perp_eval eval;               /* at a state beside the start */
  perp_drives drives;           /* a copy with the model moved */
  double *pushed;               /* [drives] of it */
  double *f, *c, *row;          /* [nv], [m], [nv] */
  double *impulse;              /* [m] lambda of the step */
  double *twist, *twist_before; /* [6 bodies] */
  bool *features;               /* [columns] contacts are others beside the start */
  int n_contacts, n_drives, n_margins, cap, margins_cap;
  perp_velocity_contact *contact;
  perp_contact *now;          /* [n_contacts] where they are at the state at hand */
  perp_velocity_drive *drive; /* [rows of the drives] */
  perp_velocity_margin *margin;
} perp_velocity_stage;

/* Contacts of the lists at the poses of eval, for column j. */
void perp_velocity_geometry(perp_velocity_stage *s, int j);
/* Residuals of the rows and the margins, and -J' P in r1, at eval and now, of column j moved by
 * eps; v: at the start. */
void perp_velocity_rows_residual(perp_velocity_stage *s, const perp_model *model, int j, double eps,
                                 const double *v, double *r1, double *r3, double *r4);

/* g [nv] += scale J_c' y at eval: what an impulse y on b at the contact does to both bodies. */
void perp_velocity_push(const perp_velocity_stage *s, const perp_contact *x, double scale,
                        const double y[3], double *g);
/* u [3] at a contact, of the velocities v [nv]; twist: scratch. */
void perp_velocity_slip(const perp_velocity_stage *s, const perp_contact *x, const double *v,
                        double *twist, double u[3]);
/* The bias of the normal row at the gap of x; un: n . u at the start. */
double perp_velocity_bias_at(const perp_velocity_stage *s, const perp_velocity_contact *c,
                             const perp_contact *x, double un);
/* J of the row of a drive at eval, and its bias. */
double perp_velocity_drive_at(perp_velocity_stage *s, const perp_velocity_drive *c,
                              const perp_model *model, const double *v, perp_island_row *row);

#endif
