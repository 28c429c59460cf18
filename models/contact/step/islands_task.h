/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What islands are asked for: contacts with what is known of them, bounded rows, and the law of
 * each contact as numbers. */
#ifndef PERP_ISLANDS_TASK_H
#define PERP_ISLANDS_TASK_H

#include "models/contact/laws/contact.h"
#include "models/contact/laws/impact.h"
#include "models/stepping/constrained.h"

/* Rows that give way (Servin 2011; Lacoursiere 2007): -compliance lambda / h = C + relaxation Cdot,
 * taken at the end of the step, C+ = C + h J v+.  For an impulse lambda that is
 *
 *      J v+ + S lambda + alpha C = 0
 *
 *      S = compliance / (h (h + relaxation)),   alpha = 1 / (h + relaxation) */
typedef struct perp_compliance {
  bool on;                       /* else rigid */
  double compliance, relaxation; /* m/N or rad/(N m), s */
} perp_compliance;

PERP_INLINE double perp_compliance_alpha(const perp_compliance *c, double h)
{
  return 1 / (h + c->relaxation);
}
PERP_INLINE double perp_compliance_softness(const perp_compliance *c, double h)
{
  return c->compliance * perp_compliance_alpha(c, h) / h;
}

/* A row with bounds of its own between at most two bodies (limits and motors, drives.h):
 *      w = J v+ + soft lambda + bias,   lo <= lambda <= hi,   w complementary */
typedef struct perp_island_row {
  int body[2];    /* PERP_WORLD: none; not both */
  double J[2][6]; /* [nvb] of each */
  double bias, soft, lo, hi;
  double lambda; /* in: guess; out: impulse */
} perp_island_row;

/* The law of a contact as numbers. */
typedef struct perp_contact_terms {
  double bias;        /* of the normal row, see contact.h; -0.0 leaves it as it is */
  double softness;    /* S of the normal row, 1/kg */
  double part;        /* and further, in parts of its A_ii without any */
  double mu;          /* coefficient of friction */
  double restitution; /* as `impact` of the task says */
} perp_contact_terms;

/* Terms of a contact of the task, from its relative velocities (n, t1, t2) at the start of the step
 * and without contact impulses.  They come as no bias and zeros. */
typedef void perp_contact_law(void *user, const perp_contact *x, double h, const double *before,
                              const double *free, perp_contact_terms *terms);

typedef struct perp_island_task {
  const perp_contact *contact; /* [n] */
  int n;
  const unsigned char *kept; /* [n] which take part; NULL: all */
  const uint64_t *origin;    /* [n] for observers, see contact.h; NULL */
  /* Unknowns, in: guess. */
  double *impulse;      /* [3 n] world */
  double *slip;         /* [n] see contact.h */
  double *couple;       /* [3 n] world, N m s: the couple on b of contacts whose surfaces resist
                           spinning or rolling; NULL: no contact has one */
  perp_island_row *row; /* [n_rows] at most two for each drive of the model */
  int n_rows;
  /* A guess is the answer when its residual is at most `reuse`, or a tenth of that in islands with
   * a contact whose guess comes from a solve: a solution that has just taken out a velocity would
   * put in the opposite one when it is used again.  fresh [n] in and out: comes from a solve; NULL:
   * none does. */
  double reuse;
  unsigned char *fresh;
  unsigned char *none; /* [n] out: shown to be in a problem without a solution; NULL: not asked */
  double h;
  /* twists [6 bodies] at the start of the step, and without contact impulses (of k->a) */
  const double *before, *free;
  bool still; /* both are zero, and so are the guesses: corrections of positions */
  bool belts; /* these are velocities, to which surfaces that move add theirs at the time t_belts */
  double t_belts;
  /* What the rows of the step say of its end: added to the relative velocities of v+, world [3 n];
   * NULL: nothing. */
  const double *ahead;
  bool align;            /* first tangent along the sliding of k->a */
  bool soft;             /* has a contact a softness, or a part of A_ii? */
  perp_contact_law *law; /* NULL: no bias, no friction */
  void *user;            /* of it */
  /* NULL: Newton's law, which is in the bias.  Poisson's: restitution is the part of the impulse of
   * compression that is given back.  Laws of one contact: it is e of a touching contact, and below
   * zero of others; the bias of what meets is 0. */
  const perp_impact_rule *impact;
  /* Acceleration level, else NULL: what is added to the relative acceleration that `free` gives
   * (Jdot v and feedback), world [3 n]; and the direction in which a contact slides, unit and
   * tangential, or 0, world [3 n], with the rule for its friction (see contact.h, not
   * PERP_SLIDING_AUTO).  All problems are then dense. */
  const double *offset, *sliding;
  int rule;
  /* Acceleration level: what each contact does is given, PERP_FROZEN_*, and nothing is
   * complementary: islands_frozen.c. Rows with finite bounds keep the force of their guess.  NULL:
   * complementarity decides. */
  const unsigned char *frozen; /* [n] */
  bool redundant;              /* out, of frozen contacts: their forces are not unique */
} perp_island_task;

/* The force is zero; normal and tangential accelerations are zero; the normal one is, and friction
 * is that of sliding. */
enum { PERP_FROZEN_OPEN, PERP_FROZEN_STICKS, PERP_FROZEN_SLIDES };

/* ---- velocities at contacts ---- */

/* Where a contact is: halfway between the surfaces, and from the centres of its bodies. */
typedef struct perp_contact_arms {
  double m[3], r[2][3];
} perp_contact_arms;

PERP_INLINE void perp_contact_arms_of(int dim, const perp_eval *e, const perp_contact *x,
                                      perp_contact_arms *at)
{
  perp_contact_middle(x, at->m);
  for (int side = 0; side < 2; side++) {
    const int body = x->body[side];
    for (int i = 0; i < 3; i++)
      at->r[side][i] = body >= 0 && i < dim ? at->m[i] - e->pose[body].x[i] : 0;
  }
}

/* Velocity u [3] of b relative to a. */
PERP_INLINE void perp_contact_relative(const perp_contact *x, const perp_contact_arms *at,
                                       const double *twist, double u[3])
{
  u[0] = u[1] = u[2] = 0;
  for (int side = 0; side < 2; side++) {
    const int body = x->body[side];
    if (body < 0) continue;
    const double *t = twist + (size_t)6 * (size_t)body;
    double c[3], sign = side == 0 ? -1 : 1;
    perp_cross(t + 3, at->r[side], c);
    for (int i = 0; i < 3; i++) u[i] += sign * (t[i] + c[i]);
  }
}

/* J v, and f [nv] += J' lambda, of a bounded row. */
double perp_island_row_product(const perp_model *model, const perp_island_row *row,
                               const double *v);
void perp_island_row_apply(const perp_model *model, const perp_island_row *row, double lambda,
                           double *f);

/* Velocity of the centre and angular velocity of each body in the world, twist [6 bodies], from v
 * [nv]. */
void perp_twists(const perp_model *model, const perp_eval *e, const double *v, double *twist);
/* The same of one body. */
void perp_twist(const perp_model *model, const perp_eval *e, int body, const double *v,
                double *twist);
/* Velocity u [3] of b relative to a at a contact. */
void perp_contact_velocity(int dim, const perp_eval *e, const perp_contact *x, const double *twist,
                           double u[3]);
/* The same along its normal, less mu times that along the surface. */
double perp_contact_speed(int dim, const perp_eval *e, const perp_contact *x, double mu,
                          const double *twist);

#endif
