/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ODE solvers for mechanical systems: q' = N(q) v, v' = a(t, q, v).
 *
 * The interface follows Vondrak 2005, sections 2.3, 6.3.3 and 6.4.3: the *system* gives dimensions,
 * the derivative and answers whether a state is valid and whether it changed the state; the
 * *driver* owns advance, error control, roll-back and bisection; a *method* only makes one step.
 *
 * The state is y = (q, v) with nq >= nv in mechanics (a quaternion has 4 numbers for 3 rates), or
 * nv = 0 for a plain first-order system q' = f(t, q).  Runge-Kutta methods work on the numbers of y
 * and `project` brings q back to its manifold at the end of the step, which costs no order because
 * the exact solution stays there; methods that add increments to a configuration use `retract`.
 *
 * Particles in this form are Vondrak 2005, eq. 3.4 and 3.6. */
#ifndef PERP_ODE_H
#define PERP_ODE_H

#include "solvers/core/core.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a system says about a state. */
typedef enum perp_ode_answer {
  PERP_ODE_OK = 0,
  PERP_ODE_CHANGED, /* the state was changed (impact, projection): restart from the new one */
  PERP_ODE_INVALID, /* the state may not be reached: roll back, take a shorter step (bisection) */
  PERP_ODE_FAILED /* no derivative exists here (singular, not finite); details in ctx of the system
                   */
} perp_ode_answer;

enum {
  PERP_ODE_SYS_POSITION_FORCES = 1 << 0, /* a depends on (t, q) only */
  PERP_ODE_SYS_OPTIONAL_QDOT = 1 << 1,   /* deriv takes qdot == NULL when only a is wanted */
  PERP_ODE_SYS_RENEWED_EVENT =
      1 << 2, /* the event function is another one after each step, see event */
  /* v at the end of a step h obeys constraints of its start: two half steps end with another v, off
   * by O(h) in directions that no motion follows, and not by the O(h^2) of an error.  The positions
   * alone are held to tol. */
  PERP_ODE_SYS_VELOCITY_LEVEL = 1 << 3
};

/* Momenta of a system with a Lagrangian L(t, q, v) = v' H(q) v / 2 - V(t, q); symplectic methods
 * ask for them where H depends on q.  All vectors [nv]. */
typedef struct perp_ode_canonical {
  /* p = H(q) v and g = dL/dq by an increment of q as retract takes it, v held (forces that have no
   * V are added; they may depend on v).  false: none exists, or not finite. */
  bool (*momentum)(void *user, double t, const double *q, const double *v, double *p, double *g);
  /* v = H^-1 p at the q of the last call of momentum; v is not p.  false: singular. */
  bool (*velocity)(void *user, const double *p, double *v);
  /* The derivative of h L(q0, dq / h), q0 [+] dq = q1, by the end q1 and, negative, by the start q0
   * (H and V held), where its derivative by dq is p.  Where [+] is plain both are p. */
  void (*transport)(void *user, const double *dq, const double *p, double *start, double *end);
} perp_ode_canonical;

typedef struct perp_ode_sys {
  int nq, nv;
  unsigned caps;
  void *user;
  /* Derivative at (t, q, v): qdot [nq] = N(q) v, a [nv].  `intermediate` is true inside a step (a
   * trial state that will be forgotten: no impulses, no change) and false at a regular state.  A
   * step that is refused and made again asks at the same regular state again.
   *
   * h is the step being made, for systems whose forces depend on it (velocity-level constraints,
   * feedback); under error control, unless the method has PERP_ODE_ONE_EVALUATION, it is the h of
   * create, because an error estimate compares steps of one and the same differential equation.
   *
   * PERP_ODE_INVALID shortens the step; a regular state is refused by `accept`, before anyone asks
   * for its derivative. */
  perp_ode_answer (*deriv)(void *user, double t, double h, const double *q, const double *v,
                           bool intermediate, double *qdot, double *a);
  /* q_out = q [+] dq, dq [nv] an increment (rotations: rotation vector in the body frame).  q_out
   * may alias q.  NULL: q + dq, which needs nq == nv and, for methods that add increments, N = 1.
   */
  void (*retract)(void *user, const double *q, const double *dq, double *q_out);
  /* dq = q1 [-] q0, the inverse of retract.  NULL: q1 - q0. */
  void (*difference)(void *user, const double *q0, const double *q1, double *dq);
  /* du = dexp^-1_u(v): the rate of the increment u [nv] of q = q0 [+] u where q' = N(q) v.  For
   * rotations, with v in the body frame,
   *   du = v + u x v / 2 + (1 - (a / 2) cot(a / 2)) / a^2 u x (u x v),  a = |u|.
   * du may alias v.  NULL: not available, or du = v where retract is NULL. */
  void (*dexpinv)(void *user, const double *u, const double *v, double *du);
  /* Bring q back to its manifold (unit quaternions).  NULL: nothing to do. */
  void (*project)(void *user, double *q);
  /* Called once at each regular state, after a step (and after restart): may stabilize or apply
   * impulses (PERP_ODE_CHANGED), or refuse the state (PERP_ODE_INVALID); after a refusal also at
   * the states that the bisection tries, of which the last one asked is the one kept.  NULL: accept
   * all. */
  perp_ode_answer (*accept)(void *user, double t, double *q, double *v);
  /* Event function: the driver stops at the first sign change from >= 0 to < 0 that it sees between
   * two regular states (before `accept` gets the later one).  NULL: no events.  Where each step has
   * a function of its own (PERP_ODE_SYS_RENEWED_EVENT), it is asked at the start of the step too.
   */
  double (*event)(void *user, double t, const double *q, const double *v);
  /* After a trial step from t to (t + h, q, v): true when it is to be made again, as what `deriv`
   * holds through the step now agrees better with its end; asked again then.  Only with methods
   * that can (perp_ode_repeats), not while an event is located.  NULL: never. */
  bool (*revise)(void *user, double t, double h, const double *q, const double *v);
  /* qdot = N(q) v alone, without the forces; q + h N(q) v followed by project must agree with
   * retract to second order (it does for unit quaternions).  NULL: not available. implicit-midpoint
   * then moves rotations by retract and keeps the angular momentum in space to second order only.
   */
  void (*qdot)(void *user, const double *q, const double *v, double *qdot);
  /* An event, or the last valid state, is located this closely [s] with at most so many trial
   * steps; where they are used up the latest state before it is taken.  0: 1e-12 of the step; 60
   * for a state, 100 for an event. */
  double locate;
  int locations_most;
  /* a is known this closely only [m/s^2], as where a complementarity solver with a tolerance finds
   * forces: an implicit method does not ask for more.  0: to rounding. */
  double rough;
  const perp_ode_canonical *canonical; /* NULL: not available */
  /* Where atol = 0, tol is meant of positions at least this large, as angles that start at 0 need
   * it.  0: of the largest so far. */
  double size;
  /* Bring q and v onto the constraints, and nothing else: PERP_ODE_OK or PERP_ODE_FAILED.  For
   * methods that project within their steps and keep their history; what is then left `accept` had
   * better leave alone.  NULL: there is no such thing. */
  perp_ode_answer (*onto)(void *user, double t, double *q, double *v);
} perp_ode_sys;

enum {
  PERP_ODE_EMBEDDED = 1 << 0, /* the step gives an error estimate */
  PERP_ODE_IMPLICIT = 1 << 1,
  PERP_ODE_SYMPLECTIC = 1 << 2,
  PERP_ODE_SECOND_ORDER = 1 << 3, /* needs the split (q, v): not for nv = 0 */
  PERP_ODE_VARIABLE_ORDER = 1 << 4,
  PERP_ODE_MULTISTEP = 1 << 5, /* keeps history; restart throws it away */
  PERP_ODE_ONE_EVALUATION =
      1 << 6, /* one derivative a step, at the regular state: serves velocity level */
  /* the step follows the rule of multistep methods: it aims at 1/20 of the tolerance and is kept
   * unless it may grow by half, so that the history need not be rescaled all the time */
  PERP_ODE_OWN_STEP_CONTROL = 1 << 7,
  PERP_ODE_PEER = 1 << 8, /* somebody else's code: own_step */
  /* projects by `onto` in its own steps, at least to the tolerance: `accept` may leave alone what
     is left */
  PERP_ODE_PROJECTS = 1 << 9
};

/* Options that every method has: the first member of each options struct, and the rows of its
 * table. tol = 0 makes fixed steps of size h.  Otherwise a step is accepted when for each component
 * i of (q, v)   |e_i| <= E_i = tol |y_i| + atol,   |y_i| the larger of its values at both ends of
 * the step. atol = 0 stands for tol times the largest component so far (since the restart), taken
 * among the positions for a position and among the velocities for a velocity; velocities that
 * change no position in its last digit within the step count as rest and are not held to tol, nor
 * are those of PERP_ODE_SYS_VELOCITY_LEVEL.  e is the estimate of the embedded pair, or the
 * difference between one step and two half steps, of which the latter are kept (Vondrak 2.2.3), or,
 * of methods of order 1 with one derivative a step, their truncation error h^2/2 |y''|
 * (Vondrak 2.2) with y'' from the slopes of this step and of the one before (control=truncation),
 * which costs no derivative; only a first step is doubled. Below tol = 1e-4 these two, of a method
 * of order p that goes on without extrapolation, are held to (tol / 1e-4)^(1/p) E_i, so that the
 * error of the motion, O(h^p), is in proportion to tol. Methods of variable order
 * (PERP_ODE_VARIABLE_ORDER) choose it by the tolerance and have no fixed step: tol = 0 means tol =
 * 1e-8 and steps no longer than h.  Methods with own_step choose their first step themselves, and
 * their norm is their own (the mean of squares of e_i / E_i in SUNDIALS). */
typedef struct perp_ode_control {
  double tol;  /* error per step, relative to the size of each component; 0: fixed step */
  double atol; /* absolute part of the tolerance; 0: tol times the largest component so far */
  double h_min, h_max;
  int control; /* enum perp_ode_control_kind */
} perp_ode_control;
enum {
  PERP_ODE_CONTROL_AUTO,
  PERP_ODE_CONTROL_EMBEDDED,
  PERP_ODE_CONTROL_DOUBLING,
  PERP_ODE_CONTROL_TRUNCATION
};
extern const char *const perp_ode_control_names[];
/* The rows; `control` is the first member of S, so that an offset in it is one in S. */
#define PERP_ODE_CONTROL_OPTIONS(S)                                                                \
  PERP_REAL(perp_ode_control, tol, 0, 0, 1, PERP_OPEN_MAX, "",                                     \
            "Relative error tolerance per step. 0: fixed steps (variable-order methods: 1e-8)."),  \
      PERP_REAL(perp_ode_control, atol, 0, 0, HUGE_VAL, 0, "",                                     \
                "Absolute error tolerance per step. 0: tol times the largest component so far."),  \
      PERP_REAL(perp_ode_control, h_min, 1e-14, 0, HUGE_VAL, PERP_OPEN_MIN, "s",                   \
                "Shortest step. The integration stops if it needs a shorter one."),                \
      PERP_REAL(perp_ode_control, h_max, HUGE_VAL, 0, HUGE_VAL, PERP_OPEN_MIN, "s",                \
                "Longest step."),                                                                  \
      PERP_ENUM(                                                                                   \
          perp_ode_control, control, PERP_ODE_CONTROL_AUTO, perp_ode_control_names,                \
          "Error estimate: embedded pair, step doubling, or truncation error h^2/2 y'' "           \
          "(methods of order 1 with one evaluation). auto: the embedded pair if there is one, "    \
          "else doubling.")

/* A step of a method that chooses it itself: own_step. */
typedef struct perp_ode_own {
  double h_max;            /* in: longest step */
  double scale_q, scale_v; /* in: the largest position and velocity since the restart */
  double h;         /* in: a step such as this one, at a start that of create; out: the next one */
  double t_new;     /* out: its end, at most t_max */
  double ratio;     /* out: its error over the tolerance, in the norm of the method */
  int64_t rejected; /* out: trials that were refused, in steps that fail too */
} perp_ode_own;

typedef struct perp_ode_desc {
  perp_desc d;
  int order;  /* nominal order of a fixed step; 0 when variable */
  int stages; /* derivatives a step; 0 when variable */
  /* All memory for systems of the size of sys. */
  perp_status (*create)(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts, void **ws);
  /* One step from (t, q, v) to t + h, in place; on any answer but PERP_ODE_OK q and v are
   * untouched. err [nq + nv]: estimated local error, only written by PERP_ODE_EMBEDDED methods;
   * NULL when not wanted.  The driver asks no other method for it; one that is asked all the same
   * leaves err alone, and either makes the step or refuses: PERP_ODE_FAILED with the reason
   * PERP_UNSUITED.  stats (not NULL): iterations += those of implicit methods, matvecs +=
   * derivatives; reason: set (< 0) with PERP_ODE_FAILED when the method itself failed rather than
   * deriv. A second call from the same t makes the step again: it was refused. */
  perp_ode_answer (*step)(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                          double *v, double *err, perp_stats *stats);
  void (*reset)(void *ws); /* forget history; NULL when there is none */
  void (*destroy)(void *ws);
  /* PERP_ODE_EMBEDDED: the estimate err is O(h^(error_order + 1)); 0 when variable */
  int error_order;
  int (*current_order)(const void *ws); /* PERP_ODE_VARIABLE_ORDER: that of the last step */
  /* Methods with a step control of their own, of other libraries say: one step from (t, q, v), in
   * place, that ends by t_max.  The driver asks this and not `step`, and judges nothing.  t, q and
   * v are those of the end of the step before unless `reset` was called in between.  Other answers
   * than OK: as of step.  NULL: there is no such thing. */
  perp_ode_answer (*own_step)(void *ws, const perp_ode_sys *sys, double t, double t_max, double *q,
                              double *v, perp_ode_own *own, perp_stats *stats);
  /* Together with own_step: the state at a time within its last step, before or after `reset`, the
   * ends included. It is dense output, and where events and the latest valid state are looked for.
   */
  perp_ode_answer (*between)(void *ws, const perp_ode_sys *sys, double t, double *q, double *v,
                             perp_stats *stats);
} perp_ode_desc;

/* tol of a method (kind ode) as the driver takes it: that of its options, or what stands for 0. */
double perp_ode_tol(const perp_spec *method);
/* Can a trial step be made again, for perp_ode_sys.revise?  Not where the method has a history, or
 * makes its steps itself. */
bool perp_ode_repeats(const perp_spec *method);
/* How far, of size and speed, a state may be off its constraints before `accept` projects it, and a
 * history is lost: 10 tol, as local errors add up to more than that anyway.  0: no history, to be
 * projected after each step. */
double perp_ode_slack(const perp_spec *method);

/* ---- driver ---- */

typedef struct perp_ode perp_ode;

/* Since create.  rejected: trial steps refused by the error control (also those that met no
 * derivative); bisections: steps made again in search of an event or of the latest valid state;
 * changed: states that `accept` changed; rhs: derivatives; iterations: of implicit methods. */
typedef struct perp_ode_counters {
  int64_t steps, rejected, bisections, changed, restarts, rhs, iterations;
  int64_t dense;          /* derivatives for dense output: of no step, and not in rhs */
  double h_least, h_most; /* accepted steps; both 0 before the first one */
  int64_t events;         /* passed with a shortest step, of time stepping under error control
                             (models/stepping/controlled.h) */
} perp_ode_counters;

typedef enum perp_ode_stop {
  PERP_ODE_REACHED, /* advance: t_to; step: an accepted step was made (or t_max <= t: none) */
  PERP_ODE_EVENT, /* the event function fell below zero; the state is just before or at the event */
  PERP_ODE_STOPPED /* failed: stats->reason says why, the state is the last valid one */
} perp_ode_stop;

/* A solver for sys with method spec (kind ode).  h > 0 [s]: the fixed step, or the first step when
 * tol > 0.  sys is copied, its user pointer is borrowed; the options of spec are read here only.
 * PERP_ERR_ARG: h not positive and finite, sizes or callbacks missing; PERP_ERR_OPTION: h or h_min
 * above h_max; PERP_ERR_UNSUPPORTED: a second-order method without velocities (nv = 0), `control`
 * that the method does not have.  Allocates everything that steps will ever need, 5 (nq + nv)
 * numbers (7 with control=truncation) and the memory of the method; dense output takes as much
 * again at its first call. */
perp_status perp_ode_create(perp_ctx *ctx, const perp_spec *method, const perp_ode_sys *sys,
                            double h, perp_ode **out);
void perp_ode_destroy(perp_ode *ode); /* NULL is fine */
/* Start from (t, q, v); history is discarded; `accept` is called once.  q [nq], v [nv] (NULL when
 * nv = 0). PERP_ERR_ARG: t, q or v not finite, or a state that `accept` refuses; the solver then
 * has no state. The step goes back to the h of create.  No allocation. */
perp_status perp_ode_restart(perp_ctx *ctx, perp_ode *ode, double t, const double *q,
                             const double *v);
/* Advance to t_to (> current t); the last step is cut to end there exactly, at most.  Fixed steps
 * are counted from the restart, t_k = t_0 + k h, so that no rounding piles up; after a cut the next
 * step ends at the next t_k.
 *
 * stats (may be NULL) out: reason PERP_EXACT, or < 0 with PERP_ODE_STOPPED; iterations; matvecs =
 * derivatives; residual = largest |e_i| / E_i of the accepted steps (NaN for fixed steps).  Reasons
 * to stop, always at the last valid state (finite): PERP_STEP_TOO_SMALL  the error control asks for
 * less than h_min, or t + h == t PERP_NOT_FINITE      a fixed step gave NaN or infinity, or an
 * adaptive one did down to h_min PERP_INVALID_STATE   no valid state after this one, however short
 * the step (Vondrak 6.4.3) PERP_STALLED         100 refused trials in one step, or 1000 steps
 * without progress in time PERP_SINGULAR        the system has no derivative here (its own ctx says
 * more) PERP_MAX_ITER        an implicit method did not converge PERP_UNSUITED        no state yet
 * (restart), or t_to is not a number (ctx has the message) Later calls go on from that state. After
 * an event the next call goes past it: the event function must be seen >= 0 again before it can
 * stop the driver again.  No allocation unless the method has PERP_CAP_ALLOCATES. */
perp_ode_stop perp_ode_advance(perp_ctx *ctx, perp_ode *ode, double t_to, perp_stats *stats);
/* Make exactly one accepted step, not beyond t_max.  The rest as for perp_ode_advance. */
perp_ode_stop perp_ode_step(perp_ctx *ctx, perp_ode *ode, double t_max, perp_stats *stats);
/* Dense output: the state at a time t of the last step, from its start to perp_ode_time, both
 * included, into q [nq] and v [nv] (NULL when nv = 0).  The march does not notice: its steps,
 * states and counts are, to the last bit, those of a march that nobody asked, as long as deriv
 * keeps nothing of intermediate states.  Never a part of a timed march.
 *
 * It is a step of the method itself from the start of the last step to t (of multistep methods:
 * steps of another start there, with the tolerance of the march), so that between steps the error
 * is of the order of the method, and no larger than at their ends (multistep methods: than at their
 * ends and the tolerance).  Cubic Hermite costs less, and so does the extension of order 4 of
 * dopri5 (Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.6); but their
 * own errors, h^4 / 384 |y''''| of the former, are far above those of methods of order 5 or 8 in
 * the steps that these make, and would be taken for errors of the march.
 *
 * Of methods that make their own steps (own_step) it is their interpolant.
 *
 * Where `accept` has corrected the end of the step (projection) the correction is spread over the
 * step by s^2 (3 - 2 s), s from 0 to 1: dense output joins both states, once differentiable within
 * the step.  Not after an event or a roll-back, where accept makes jumps: the end of the step is
 * then the state before the jump, and perp_ode_q the one after it.
 *
 * PERP_ERR_ARG: no step since the restart (or the last one failed), or t outside it;
 * PERP_ERR_UNSUPPORTED: the method makes no step to t; PERP_ERR_NOMEM.  Allocates at the first
 * call: two states, and without own_step a second workspace of the method. */
perp_status perp_ode_dense_at(perp_ctx *ctx, perp_ode *ode, double t, double *q, double *v);
double perp_ode_time(const perp_ode *ode);
const perp_spec *perp_ode_method(const perp_ode *ode); /* as created; lives as long */
double perp_ode_h(const perp_ode *ode);                /* the step that will be tried next */
const double *perp_ode_q(const perp_ode *ode);         /* [nq]; valid until the next step */
const double *perp_ode_v(const perp_ode *ode);         /* [nv] */
const perp_ode_counters *perp_ode_count(const perp_ode *ode);

#ifdef __cplusplus
}
#endif

#endif
