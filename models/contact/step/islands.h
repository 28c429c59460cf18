/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Islands: bodies that joints and contacts connect, each set with a complementarity problem of its
 * own.
 *
 * Two bodies belong together when a joint or a contact acts on both (union-find with path halving,
 * the smaller index the root, so that the result does not depend on the order of contacts).  The
 * world connects nothing.  An island has a problem when it has a contact or a bounded row.  Islands
 * are numbered by their first body, contacts keep their order inside one, and each problem is
 * solved from its own data only: the result does not depend on the number of threads. */
#ifndef PERP_ISLANDS_H
#define PERP_ISLANDS_H

#include "models/contact/laws/contact.h"
#include "models/contact/laws/impact.h"
#include "models/stepping/constrained.h"

typedef struct perp_islands perp_islands;

/* Rows that give way (Servin 2011; Lacoursiere 2007): -compliance lambda / h = C + relaxation Cdot,
 * taken at the end of the step, C+ = C + h J v+.  For an impulse lambda that is
 *
 *      J v+ + S lambda + alpha C = 0,   S = compliance / (h (h + relaxation)),   alpha = 1 / (h +
 * relaxation). */
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

/* Of a contact, from the relative velocities (n, t1, t2) at the start of the step and without
 * contact impulses: the bias of its normal row, the part of the impulse of compression that it
 * gives back, or (before only) its friction. */
typedef double perp_island_bias(void *user, const perp_contact *contact, double h,
                                const double *before, const double *free);
typedef double perp_island_friction(void *user, const perp_contact *contact, const double *before,
                                    int dim);

typedef struct perp_island_task {
  const perp_contact *contact; /* [n] */
  int n;
  const unsigned char *kept; /* [n] which take part; NULL: all */
  double *impulse;           /* [3 n] world; in: guess */
  double *slip;              /* [n] in and out, see contact.h */
  /* [3 n] world, N m s: the couple on b of contacts whose surfaces resist spinning or rolling; in:
   * guess.  NULL: no contact has one. */
  double *couple;
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
  bool belts; /* these are velocities, to which surfaces that move add theirs at the time t_belts */
  double t_belts;
  /* What the rows of the step say of its end: added to the relative velocities of v+, world [3 n];
   * NULL: nothing. */
  const double *ahead;
  bool align;             /* first tangent along the sliding of k->a */
  double softness;        /* of normal rows, */
  perp_island_bias *soft; /* or of each (softness is then 0); NULL: of all the same */
  perp_island_bias
      *part;            /* and what they have beside, in parts of their A_ii without any; NULL: 0 */
  perp_island_row *row; /* [n_rows] at most two for each drive of the model */
  int n_rows;
  perp_island_bias *bias, *restitution; /* NULL: 0; restitution: as `impact` says */
  /* NULL: Newton's law, which is in the bias.  Poisson's: restitution is the part of the impulse of
   * compression that is given back.  Laws of one contact: it is e of a touching contact, and below
   * zero of others; the bias of what meets is 0. */
  const perp_impact_rule *impact;
  perp_island_friction *friction; /* NULL: 0 */
  void *user;
  /* Acceleration level, else NULL: what is added to the relative acceleration that `free` gives
   * (Jdot v and feedback), world [3 n]; and the direction in which a contact slides, unit and
   * tangential, or 0, world [3 n], with the rule for its friction (see contact.h, not
   * PERP_SLIDING_AUTO).  All problems are then dense. */
  const double *offset, *sliding;
  int rule;
  const uint64_t *origin; /* [n] for observers, see contact.h; NULL */
  /* Acceleration level: what each contact does is given, PERP_FROZEN_*, and nothing is
   * complementary: islands_frozen.c. Rows with finite bounds keep the force of their guess.  NULL:
   * complementarity decides. */
  const unsigned char *frozen; /* [n] */
  bool redundant;              /* out, of frozen contacts: their forces are not unique */
} perp_island_task;

/* The force is zero; normal and tangential accelerations are zero; the normal one is, and friction
 * is that of sliding. */
enum { PERP_FROZEN_OPEN, PERP_FROZEN_STICKS, PERP_FROZEN_SLIDES };

/* rows: joints of an island become free rows of its problem, instead of being eliminated. */
perp_status perp_islands_create(perp_ctx *ctx, const perp_model *model,
                                const perp_contact_desc *kind, const void *opts,
                                const perp_contact_setup *setup, int threads, bool rows,
                                perp_islands **out);
void perp_islands_destroy(perp_islands *s);
/* Memory for n contacts; allocates only when that is more than ever. */
perp_status perp_islands_room(perp_ctx *ctx, perp_islands *s, int n);
/* [4 n], impulses and slip, for a caller without arrays of its own, after perp_islands_room. */
double *perp_islands_scratch(perp_islands *s);
/* All islands with contacts or bounded rows.  k: the KKT factor holds for k->e, k->a is v^, k->f
 * its right-hand side, k->c that of the joints.  False: k->status or k->reason says why. */
bool perp_islands_solve(perp_islands *s, perp_constrained *k, perp_island_task *task);
/* f [nv] += J_c' lambda of the impulses in task, and J' lambda of its bounded rows. */
void perp_islands_apply(perp_islands *s, const perp_constrained *k, const perp_island_task *task,
                        double *f);
/* Both, then k->a from k->f with all impulses, in a step h from v.  seconds += CPU time but for
 * that of KKT solves. */
bool perp_islands_step(perp_islands *s, perp_constrained *k, perp_island_task *task,
                       perp_level level, double h, const double *v, double *seconds);
/* What is kept from solve to solve to save work (islands_factor.c): the next one is as if it were
 * the first. */
void perp_islands_forget(perp_islands *s);
/* [bodies] one body of the island of each, of the last solve, or (single) by joints alone. */
const int *perp_islands_roots(const perp_islands *s, bool single);
/* What was counted since the creation; the caller may add counts of its own, or begin anew. */
perp_contact_count *perp_islands_count(perp_islands *s);
/* Before a run: the counts are zero, and nothing is known of its islands. */
void perp_islands_restart(perp_islands *s);
void perp_islands_observe(perp_islands *s, perp_contact_observer *observer, void *user);

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
