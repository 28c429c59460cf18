/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of time steps: d(state)/d(state, parameters, controls), by the chain rule from step
 * to step (forward mode).
 *
 * A step solves equations F(x, lambda; q, v, p) = 0 for its velocity or acceleration x and its
 * multipliers lambda, on an active set: contacts that press, stick or slide, limits that are
 * reached, motors at their bounds.  With that set fixed the implicit function theorem gives
 *
 *      F_x dx + F_lambda dlambda = -(F_q dq + F_v dv + F_p dp),
 *
 * whose left side is solved exactly, with the factor of the KKT system and one dense LU of the
 * active rows.  The right side is taken from one evaluation of F along the direction (dq, dv, dp)
 * with x, lambda and the active set held: central differences of order 4, whose error is about
 * 1e-12 of F.  No step is repeated and no complementarity problem is solved again.
 *
 * Tangent coordinates: dq and dv have nv numbers each, 6 (or 3 in the plane) a body.  Of dq those
 * are a displacement in world axes, m, and a rotation vector in the frame of the body, rad: the
 * state moves to q [+] eps dq (perp_model_retract), and derivatives of q are those of q1 [-] q.  dv
 * are the velocities of model.h, m/s and rad/s in the frame of the body.
 *
 * The verdict says where such a derivative is none: see perp_gradient_verdict.
 *
 * Source: the sensitivity of complementarity problems on a fixed active set, Cottle, Pang and Stone
 * 2009, section 7.4; of Runge-Kutta steps, the derivative of the method itself (Hairer, Norsett and
 * Wanner 1993, section I.14; Bock 1981). */
#ifndef PERP_GRADIENT_H
#define PERP_GRADIENT_H

#include "models/stepping/formulation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a column is the derivative by.  All but Q and V act in every step from the reset on, unless
 * they are held (perp_gradient_hold). */
typedef enum perp_gradient_kind {
  PERP_GRADIENT_Q,        /* tangent coordinate `index` of the state at the reset, m or rad */
  PERP_GRADIENT_V,        /* velocity `index` of that state, m/s or rad/s */
  PERP_GRADIENT_MASS,     /* mass of body `index`, kg; its inertia is in proportion to it */
  PERP_GRADIENT_GRAVITY,  /* gravity, m/s^2 */
  PERP_GRADIENT_FRICTION, /* coefficient of friction of shape `index` (mu and mu_dynamic alike), of
                             which the rule of the model makes that of a contact; -1: of all
                             contacts */
  PERP_GRADIENT_FORCE,    /* a generalized force added to component `index` of f, N (world axes) or
                             N m (frame of the body) */
  PERP_GRADIENT_TARGET    /* what drive `index` aims at: the target of one with stiffness, m or rad,
                             else its velocity, m/s or rad/s */
} perp_gradient_kind;

typedef struct perp_gradient_wrt {
  perp_gradient_kind kind;
  int index;
} perp_gradient_wrt;

/* Is the derivative one?  From good to bad; that of several steps is the worst. */
typedef enum perp_gradient_verdict {
  PERP_GRADIENT_SMOOTH, /* differentiable: strict complementarity holds */
  /* Active rows depend on each other: multipliers are not unique, the motion is, and it is
   * differentiable in all columns. */
  PERP_GRADIENT_SINGULAR,
  /* A row is at the end of its complementarity (touching without force, sliding without speed, at a
   * bound without need), or its data have a corner, and a column moves it.  The derivative of such
   * a column is that of one side (perp_gradient_sides). */
  PERP_GRADIENT_KINK,
  /* Active rows depend on each other, and the motion on the choice among their multipliers (sliding
   * on redundant contacts): the derivative is that of the least change of multipliers. */
  PERP_GRADIENT_AMBIGUOUS,
  /* The step itself jumps: an impact with restitution is about to take place or not. */
  PERP_GRADIENT_JUMP,
  PERP_GRADIENT_NONE /* the linear system of the step cannot be solved */
} perp_gradient_verdict;
const char *perp_gradient_verdict_name(perp_gradient_verdict verdict);

/* Which side of a column the derivative belongs to: of eps > 0, of eps < 0, of both; of neither
 * where rows contradict each other. */
typedef enum perp_gradient_side {
  PERP_GRADIENT_LEFT = -1,
  PERP_GRADIENT_NEITHER = 0,
  PERP_GRADIENT_RIGHT = 1,
  PERP_GRADIENT_BOTH = 2
} perp_gradient_side;

typedef enum perp_gradient_cause {
  PERP_GRADIENT_TOUCHES, /* a contact or limit is reached without force: it closes or opens */
  PERP_GRADIENT_AT_GAP,  /* a contact presses at a gap of 0: open and penetrating contacts have
                            different rows */
  PERP_GRADIENT_STICKS,  /* friction is at its bound, and the contact does not slide */
  PERP_GRADIENT_STRIKES, /* restitution begins: approach at the threshold, or the gap just closes */
  PERP_GRADIENT_BOUND,   /* a motor is at its bound, and at what it aims at */
  PERP_GRADIENT_REDUNDANT, /* redundant rows that a column moves apart */
  PERP_GRADIENT_FEATURES   /* the contact has other features beside this state */
} perp_gradient_cause;
const char *perp_gradient_cause_name(perp_gradient_cause cause);

/* A row at a kink. */
typedef struct perp_gradient_row {
  perp_gradient_cause cause;
  int body[2];   /* of a contact; PERP_WORLD, both: it is none */
  int drive;     /* of a limit or motor; -1: it is none */
  double margin; /* how far off the kink, in the unit of the row: m/s, m, N s */
  bool acts;     /* a column moves it */
} perp_gradient_row;

typedef struct perp_gradient_report {
  perp_gradient_verdict verdict;          /* of the last step */
  perp_gradient_verdict worst;            /* of all steps since the reset */
  int64_t steps;                          /* since the reset */
  int64_t counts[PERP_GRADIENT_NONE + 1]; /* and their verdicts */
  int n_rows;
  const perp_gradient_row *row; /* [n_rows] of the last step, until the next call */
  int active;                   /* rows of contacts and drives in the last step that was solved */
} perp_gradient_report;

typedef struct perp_gradient perp_gradient;

/* Derivatives of the simulation, whose steps perp_gradient_step makes, by wrt [n] (copied; n >= 1).
 * sim and its model are borrowed.  The columns are those of perp_gradient_reset.
 *
 * PERP_ERR_ARG: a body, shape, coordinate or drive that does not exist, no column;
 * PERP_ERR_UNSUPPORTED: the formulation has no derivative (the message names those that have), or
 * not with these methods, options or elements; PERP_ERR_NOMEM.  Allocates. */
perp_status perp_gradient_create(perp_ctx *ctx, perp_sim *sim, const perp_gradient_wrt *wrt, int n,
                                 perp_gradient **out);
void perp_gradient_destroy(perp_gradient *gradient); /* NULL is fine */

/* From the current state of the simulation on: columns Q and V are unit vectors, the others are
 * zero, counts are zero and nothing is held.  Also after perp_sim_restart.  Where the simulation
 * projects its states onto the constraints (--stab post on the acceleration level), unit vectors
 * are projected, too, as perp_sim_restart does with the state. O(n) projections. */
perp_status perp_gradient_reset(perp_ctx *ctx, perp_gradient *gradient);
/* Columns to begin with instead: dq, dv [nv n] column-major, of the current state.  Products of the
 * Jacobian of a step with given vectors are columns of kind Q with these. */
perp_status perp_gradient_seed(perp_ctx *ctx, perp_gradient *gradient, const double *dq,
                               const double *dv);
/* Does a column j that is no state act in the steps to come?  A control of one step is a column
 * that is held in all others. */
void perp_gradient_hold(perp_gradient *gradient, int j, bool held);

/* perp_sim_step, and the columns of its end.  Where the step fails (info->reason < 0) columns stay.
 * The steps of the simulation are those without derivatives, to the last bit.
 *
 * Cost: for each column with dq or dv four evaluations of the equations (with the narrow phase of
 * the contacts that press) and one solve with the factor of the joints; for each active row one
 * more, and O(rows^3); see docs/how-to/gradients.md.  Allocates when there are more rows than ever.
 */
perp_status perp_gradient_step(perp_ctx *ctx, perp_gradient *gradient, double t_max,
                               perp_step_info *info);

/* d(state)/d(column): [nv n] column-major, tangent coordinates, until the next call. */
const double *perp_gradient_dq(const perp_gradient *gradient);
const double *perp_gradient_dv(const perp_gradient *gradient);
int perp_gradient_columns(const perp_gradient *gradient);
/* Vector times Jacobian: out [n] = wq' dq + wv' dv, wq and wv [nv] the derivative of a cost by the
 * state; NULL: zero.  O(nv n). */
void perp_gradient_pull(const perp_gradient *gradient, const double *wq, const double *wv,
                        double *out);
const perp_gradient_report *perp_gradient_report_of(const perp_gradient *gradient);
/* [n] of all steps since the reset. */
const perp_gradient_side *perp_gradient_sides(const perp_gradient *gradient);

#ifdef __cplusplus
}
#endif

#endif
