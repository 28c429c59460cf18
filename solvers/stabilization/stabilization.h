/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stabilization schemes: keep C(q) = 0 and J v = 0 although the solver only enforces their
 * derivatives.
 *
 * A scheme acts at up to two places: it adds feedback to the right-hand side that the KKT system
 * enforces (Baumgarte), or it corrects the state after a step (post-stabilization, projections). */
#ifndef PERP_STABILIZATION_H
#define PERP_STABILIZATION_H

#include "solvers/core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a scheme may ask of the constrained system. */
typedef struct perp_stab_sys {
  int nq, nv, m;
  void *user;
  /* C [m]: position error at (t, q). */
  void (*error)(void *user, double t, const double *q, double *C);
  /* Cdot [m]: velocity error J v + dC/dt at (t, q, v). */
  void (*rate)(void *user, double t, const double *q, const double *v, double *Cdot);
  /* Build J at (t, q) and factor the KKT system. */
  perp_status (*linearize)(void *user, double t, const double *q, perp_stats *stats);
  /* With the factor of the last linearize: M x = J' lambda, J x + S lambda = c  (right-hand side f
   * = 0): x is the mass-weighted least correction with J x = c. */
  perp_status (*solve)(void *user, const double *c, double *x, double *lambda, perp_stats *stats);
  /* q [+]= dq */
  void (*retract)(void *user, const double *q, const double *dq, double *q_out);
  /* Optional (NULL: unknown).  Like solve, with the factor of J at the *start* of the step that led
   * to the state; valid until the next linearize.  *h: the length of that step, s.  Velocity-level
   * time stepping has this factor at hand; a position correction along J' of the start of the step
   * is the one whose velocity dq / h costs no energy (SHAKE, RATTLE). */
  perp_status (*solve_start)(void *user, const double *c, double *x, double *lambda, double *h,
                             perp_stats *stats);
  /* Optional (NULL: nobody asks).  Told that v has been changed by scale M^-1 J' lambda [m] of the
   * last solve. */
  void (*impulse)(void *user, double scale, const double *lambda);
  /* Optional (NULL: not available).  Asked at create: from then on linearize and solve have the
   * identity for M. PERP_ERR_UNSUPPORTED: not with this system.  May allocate. */
  perp_status (*unweighted)(perp_ctx *ctx, void *user);
} perp_stab_sys;

enum {
  PERP_STAB_FEEDBACK = 1 << 0, /* has rhs */
  PERP_STAB_PROJECTS = 1 << 1  /* has post_step */
};

typedef enum perp_level { PERP_LEVEL_VELOCITY, PERP_LEVEL_ACCELERATION } perp_level;

/* Corrections of contacts at the end of a step (Cline 2002, section 3.4). */
typedef struct perp_stab_contacts {
  int passes;      /* on the positions at most; 0: they are left alone */
  double tol;      /* m: penetration that is left alone */
  double swept;    /* and after steps whose problems were left by a number of sweeps: of the largest
                      body */
  double softness; /* of the rows of positions, in parts of the mean 1/m; 0: none */
  double limit;    /* m or rad: largest component of a correction of positions; 0: none */
  bool unweighted; /* asks for corrections without masses, which contacts do not have */
  bool velocity;   /* closed contacts that approach are stopped, */
  double tol_v;    /* m/s: unless they are slower */
} perp_stab_contacts;

/* Projections of a state: passes M dq = J' mu, J dq = -C at most, until max |C| <= tol; then M dv =
 * J' nu, J dv = -Cdot. */
typedef struct perp_stab_passes {
  int position;
  double tol;
  bool velocity;
} perp_stab_passes;

typedef struct perp_stab_desc {
  perp_desc d;
  /* *sys is copied.  A system without rows, m = 0, may have no callbacks: it stands for contacts
   * alone. */
  perp_status (*create)(perp_ctx *ctx, const perp_stab_sys *sys, const void *opts, void **ws);
  /* Add the feedback to the right-hand side rhs [m]: k of J v = k, or c of J a = c.  NULL: none. */
  void (*rhs)(void *ws, perp_level level, double h, const double *C, const double *Cdot,
              double *rhs);
  /* Correct (q, v) at the end of a step.  On a failed linear solve the state is left as it was and
   * stats->reason < 0; PERP_CONVERGED otherwise.  stats->iterations and factorizations are added
   * to. NULL: nothing to do. */
  perp_status (*post_step)(void *ws, double t, double *q, double *v, perp_stats *stats);
  void (*destroy)(void *ws);
  /* Contacts, which come and go and are no rows of the system.
   *
   * contact: the feedback of one contact, one-sided, with the gap, m (< 0: penetration, 0: of a row
   * that is no position, as that of sticking), and its rate, m/s.  The row is then
   *
   *      PERP_LEVEL_VELOCITY       J v+ >= contact            m/s, of a step h that begins with the
   * gap (rate: unused) PERP_LEVEL_ACCELERATION   J a + Jdot v >= contact    m/s^2
   *
   * NULL: 0, nothing is fed back. */
  double (*contact)(const void *ws, perp_level level, double h, double gap, double rate);
  /* contacts: what is corrected after a step.  NULL: nothing. */
  void (*contacts)(const void *ws, perp_stab_contacts *how);
  /* What of the options opts has no effect on this level, and a remedy: a clause, "beta has ...".
   * NULL, or NULL returned: all act. */
  const char *(*idle)(const void *opts, perp_level level);
  /* What post_step is, where it is no more than these projections by the masses; false: it is more.
   * NULL: there are none. */
  bool (*projects)(const void *ws, perp_stab_passes *passes);
  /* Acceleration level, of a step h: the rate, 1/s, at which positions flow to C = 0 within q', by
   * the least velocity with J x = -rate C.  NULL: there is no such flow. */
  double (*flow)(const void *ws, double h);
} perp_stab_desc;

#ifdef __cplusplus
}
#endif

#endif
