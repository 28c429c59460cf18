/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contact and friction models: how a set of contacts becomes a complementarity problem.
 *
 * The velocity-level problem of one island (STAR 2012, sections 3.1.4 and 3.1.5; Cline 2002,
 * section 2.7.3): with the velocity v^ the island would reach in the step without contact forces,
 *
 *      v+ = v^ + H J_c' lambda,     u+ = J_c v+   (relative velocity at the contacts)
 *      0 <= lambda_n  perp  n . u+ + bias >= 0,    friction opposes the tangential u+
 *
 * where H = M^-1, or M^-1 - M^-1 J' (J M^-1 J' + S)^-1 J M^-1 when the joints of the island are
 * eliminated.  bias holds the gap (gap / h, Stewart and Trinkle), restitution and stabilization.  A
 * model says which rows stand for a contact, how they are bounded, and what an impulse is in the
 * end.
 *
 * Surfaces may resist spinning and rolling as well (shape.h): couples tau on b along the normal and
 * across it, of the relative angular velocity omega+ of b against a,
 *
 *      |tau_n| <= torsion lambda_n,   |tau_T| <= rolling lambda_n
 *
 * each opposed to its part of omega+ and dissipating most, as friction does (Trinkle, Tzitzouris
 * and Pang 2001, section 2; Goyal, Ruina and Papadopoulos 1991 on torsion).  Sliding and spinning
 * share no bound here: see elliptic.c for that.
 *
 * Gaps and forces as positions have them: STAR 2012, eq. 18-20; Vondrak 2005, eq. 6.31. Rows of J_c
 * along a direction: Vondrak 2005, eq. 6.36 and 6.41; Cline 2002, eq. 4.14, 4.15, 4.17 and 4.18.
 * Joints eliminated: STAR 2012, eq. 51 and 53; all conditions together: STAR 2012, eq. 50; v^: STAR
 * 2012, eq. 54. */
#ifndef PERP_CONTACT_H
#define PERP_CONTACT_H

#include "models/collision/collision.h"
#include "solvers/lcp/lcp.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PERP_CONTACT_FRICTION = 1 << 0, /* has tangential forces */
  PERP_CONTACT_BOX = 1 << 1,      /* friction rows bounded by mu times their normal multiplier */
  PERP_CONTACT_CONE = 1 << 2,     /* exact circular cone: lcp with PERP_LCP_CONE */
  PERP_CONTACT_DENSE = 1 << 3, /* extra rows beyond J M^-1 J' + S (polyhedral cone): dense only */
  /* u in the dual of the friction cone, not u + mu |u_t| n: what slides parts at mu |u_t|.  For
   * steps that see gaps; neither accelerations nor least impulses (island->lo). */
  PERP_CONTACT_RELAXED = 1 << 4,
  PERP_CONTACT_COUPLES = 1 << 5, /* serves couples against spinning and rolling, */
  PERP_CONTACT_SPIN = 1 << 6     /* against spinning alone */
};

/* Counts since a restart.  Every problem is one of reused, solved, swept, refuted and failures.
 * failed[-reason] counts the failures by the reason of the solver: answers that left more than one
 * of the two tolerances; the impulses used are then the best that were found.  A solver that was
 * asked for a number of sweeps does not fail by making them: such problems count in `swept`, and
 * show in the residuals. */
/* Largest violations of Coulomb's law since a restart, in units of mu N
 * (models/contact/step/islands_coulomb.c). */
typedef struct perp_contact_coulomb {
  bool measured;    /* there was friction, and it was looked at */
  double violation; /* distance of the impulse of friction from what the law allows */
  double beyond;    /* force beyond the cone; of sliding contacts: */
  double missing;   /* force that is missing of mu N, */
  double angle;     /* rad, between friction and the opposite of the slip */
} perp_contact_coulomb;

enum { PERP_REASONS = 16, PERP_SOLVED_BY = 8, PERP_SOLVED_BY_NAME = 24 };
typedef struct perp_contact_count {
  int64_t problems; /* that had to be solved: solved + swept + refuted + failures */
  int64_t
      reused; /* more of them: the guess, the answer of an earlier step, passed both tests again */
  int64_t solved; /* by the solver that was named, to both tolerances; by whom, where that is a
                     composite one: */
  struct {
    char name[PERP_SOLVED_BY_NAME]; /* "": no further one; the last place is for all that find none
                                     */
    int64_t n;
  } by[PERP_SOLVED_BY];
  int64_t iterations; /* of the solvers */
  double work;        /* multiplications with additions of the solvers (perp_stats) */
  int64_t again; /* solved problems that a method which chooses was asked once more, for a closer
                    answer */
  int64_t failures, failed[PERP_REASONS];
  char unsuited[128]; /* what the solver said of the first problem that it does not serve; "": there
                         was none */
  int64_t swept;      /* left above a tolerance by the number of sweeps that was asked for */
  int64_t
      thrown; /* failures with impulses refused because they throw bodies (solvers/lcp/gain.h) */
  double residual; /* perp_lcp_rel, the largest of all answers that were used, accepted or not, */
  double data;     /* and likewise what is left in units of the data (lcp.h) */
  perp_contact_coulomb coulomb;
  int rows;         /* of the largest problem */
  int contacts;     /* most contacts in one step */
  int islands;      /* most islands with contacts in one step */
  bool events;      /* of an event-driven formulation, which counts: */
  int64_t impacts;  /* states at which contacts met faster than they may and got an impulse */
  int64_t plastic;  /* of these, such without restitution: too slow for it, or e = 0 */
  int64_t switches; /* contacts at rest that were made or left, sliding that began or ended */
  int64_t piled;    /* steps in which events pile up, of first order
                       (models/formulations/acceleration/events_forces.c) */
  /* of an event-driven formulation (models/formulations/acceleration/critical.c): */
  int64_t critical; /* states in which contacts at rest were shown to have no accelerations and
                       forces */
  int64_t stopped;  /* of these, such in which their bodies were stopped, and the motion went on */
  /* Problems with friction that were examined for further solutions (lcp/unique.h), such whose
   * impulses are not unique, and of these such with another motion, as another solution sticks;
   * chosen: that one was taken in place of that of the solver; unexamined: too large to look for
   * another motion; undecided: a solve for it failed. */
  int64_t examined, open, several, chosen, unexamined, undecided;
  int64_t refuted; /* problems of evaluations given up for that, or where events pile up: answers
                      not used */
} perp_contact_count;
/* One problem that was solved, or not, as perp_lcp_solve says in stats; named: the solver that was
 * asked.  What a model counts itself: reused, again, thrown, rows. */
void perp_contact_count_solve(perp_contact_count *count, const char *named,
                              const perp_stats *stats);
/* into += one. */
void perp_contact_count_add(perp_contact_count *into, const perp_contact_count *one);
/* What was counted since `before` was for nothing: its problems become `refuted`. */
void perp_contact_count_refute(perp_contact_count *count, const perp_contact_count *before);
/* Problems that were shown to have no solution. */
int64_t perp_contact_count_none(const perp_contact_count *count);

/* Whose rows the problem of an island has: its contact c is contact[order[c]], with the tangents
 * frame[6 c]. */
typedef struct perp_contact_place {
  const perp_contact *contact; /* all of the step */
  const int *order;            /* [nc] */
  const double *frame;         /* [6 nc] t1, t2 */
  /* of all contacts: the id in the step before of the contact whose impulse is its guess, times the
   * ratio of the steps; PERP_NO_ORIGIN: there is none.  NULL: no impulses are carried from step to
   * step. */
  const uint64_t *origin;
  int nc, rows; /* contacts, and rows of each */
  double h;     /* s */
  /* Islands of one number `call` are those of a step, each with its number; a further call is the
   * same step again, with contacts that had been left out. */
  int64_t call;
  int island;
} perp_contact_place;
#define PERP_NO_ORIGIN UINT64_MAX

/* Sees every problem after it was solved: lambda [p->n] is the answer that is used.  stats NULL: it
 * was the guess, which was good enough.  (The polyhedral model, which has no A then, does not show
 * those.)  place NULL: no contacts. */
typedef void perp_contact_observer(void *user, const perp_contact_place *place, const perp_lcp *p,
                                   const double *lambda, const perp_stats *stats);

/* Which impulses a step takes where contacts with friction have several solutions
 * (models/contact/step/islands_choice.c). */
enum { PERP_CHOICE_LEAST_NORM, PERP_CHOICE_PREVIOUS, PERP_CHOICE_SOLVER, PERP_CHOICE_NONE };

/* How problems are solved; copied by create. */
typedef struct perp_contact_setup {
  int dim;
  const perp_spec *lcp;
  double tol;      /* perp_lcp_rel of a solution, */
  double tol_data; /* > 0: and what it may leave in units of the data (lcp.h), as velocities over
                      the largest |b| */
  double budget; /* what a problem may cost (perp_lcp_afford), all attempts together; 0: no limit */
  double part;   /* of both tolerances, that methods which come closer by steps go for; 0: 0.1 */
  int choice;    /* PERP_CHOICE_*; NONE: problems are not examined for further solutions */
} perp_contact_setup;

/* One island.  The relative velocities u = A lambda + b at its nc contacts have r rows each, r =
 * desc->rows(dim): (n) or (n, t1, t2), (n, t1) in the plane; b = J_c v^ with the bias added to the
 * normal rows.  `joints` further rows at the end are joints that are not eliminated (unbounded) and
 * rows with bounds of their own (limits, motors). */
typedef struct perp_contact_island {
  int nc, joints;
  const double *row_lo, *row_hi; /* [joints] bounds of the further rows, NULL: none has any */
  /* Of further rows that are couples: |lambda| <= row_mu lambda_n of the contact row_of; row_pair:
   * this row and the next one together, a circle.  row_of -1: another row.  NULL: none is. */
  const int *row_of;           /* [joints] */
  const double *row_mu;        /* [joints] m */
  const signed char *row_pair; /* [joints] */
  const double *mu;            /* [nc] */
  const double *lo;     /* [nc] least normal impulse >= 0, NULL: 0 (decompression, Poisson's law) */
  const perp_blocks *F; /* A = J M^-1 J' + S, or NULL: */
  const double *A;      /* [lda * (r nc + joints)] column-major */
  int lda;
  const double *diag; /* [r nc + joints] A_ii */
  const double *b;    /* [r nc + joints] */
  double mass;        /* of its bodies, kg; 0: not known */
  /* The guess is taken as the answer when its residual is at most this (<= the tolerance; 0:
   * never), and what it leaves in units of the data within its tolerance, too, and at most ten
   * times this. */
  double reuse;
  const perp_contact_place *place; /* for observers; NULL: not said */
  double spare;                    /* 0 ... 1, the part of the budget that is not spent on it */
} perp_contact_island;

/* Bounds of the i-th further row. */
PERP_INLINE void perp_contact_row_bounds(const perp_contact_island *island, int i, double *lo,
                                         double *hi)
{
  *lo = island->row_lo != NULL ? island->row_lo[i] : -HUGE_VAL;
  *hi = island->row_hi != NULL ? island->row_hi[i] : HUGE_VAL;
}

/* How the friction of sliding contacts, whose direction is known, comes into the problem: see
 * sliding.c. */
enum { PERP_SLIDING_AUTO, PERP_SLIDING_COLUMN, PERP_SLIDING_ITERATE, PERP_SLIDING_LAGGED };

typedef struct perp_contact_desc {
  perp_desc d;
  /* Rows of one contact that the model wants assembled. */
  int (*rows)(int dim);
  /* Does the solver serve this model?  PERP_ERR_UNSUPPORTED with what to take instead. */
  perp_status (*fits)(perp_ctx *ctx, const void *opts, int dim, const perp_desc *lcp);
  /* One workspace a thread.  Memory grows with the largest island met. */
  perp_status (*create)(perp_ctx *ctx, const perp_contact_setup *setup, const void *opts,
                        void **ws);
  /* impulse [r nc + joints] in: guess, out: (n, t1, t2) of each contact.  slip [nc] in and out:
   * sliding speed (models with such a row; others leave it alone).  *count is added to.  Returns
   * PERP_OK also when the solver failed: the impulses are then the best of guess and iterates,
   * finite. */
  perp_status (*solve)(perp_ctx *ctx, void *ws, const perp_contact_island *island, double *impulse,
                       double *slip, perp_contact_count *count);
  void (*observe)(void *ws, perp_contact_observer *observer, void *user); /* NULL: stop */
  void (*destroy)(void *ws);                                              /* NULL is fine */
} perp_contact_desc;

/* What is known of contacts that slide, of an island that is dense and has r > 1 rows a contact. */
typedef struct perp_contact_sliding {
  int rule; /* PERP_SLIDING_COLUMN, ITERATE or LAGGED */
  int rows; /* r */
  const double
      *drag; /* [2 nc] mu times the direction of sliding in the tangents; 0: does not slide */
  double *A, *diag; /* [lda (r nc + joints)], [r nc + joints] those of the island; changed */
  double *scratch;  /* [(r + 1) nc + joints] */
} perp_contact_sliding;

/* desc->solve of an island in which contacts slide, with friction -drag lambda_n; island->mu is 0
 * where it does.  The rest as for solve. */
perp_status perp_contact_solve_sliding(perp_ctx *ctx, const perp_contact_desc *desc, void *ws,
                                       const perp_contact_island *island,
                                       const perp_contact_sliding *sliding, double *impulse,
                                       double *slip, perp_contact_count *count);

#ifdef __cplusplus
}
#endif

#endif
