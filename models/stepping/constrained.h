/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The common part of the formulations in maximal coordinates: one evaluation of the model per
 * state, the KKT solver, the stabilization scheme, counters and clocks. */
#ifndef PERP_CONSTRAINED_H
#define PERP_CONSTRAINED_H

#include "models/stepping/formulation.h"
#include "models/multibody/model_private.h"
#include "solvers/kkt/kkt.h"
#include "solvers/stabilization/stabilization.h"

struct perp_constrained;
/* Joints that are coordinates: what stands for the KKT solver and for the stabilization of joints
 * where a formulation has coordinates that obey them.  Multipliers are not known: lambda stays as
 * it is. */
typedef struct perp_joint_coordinates {
  /* All that solve needs at k->e, of the positions q.  Returns PERP_EXACT, or why there is no
   * factor. */
  perp_reason (*factor)(struct perp_constrained *k, const double *q);
  /* M a = f + J' lambda, J a = 0, and J a = c in the rows [m] that are no coordinates (loops):
   * PERP_EXACT, or PERP_INFEASIBLE and the least-squares answer where these contradict each other.
   */
  perp_reason (*solve)(struct perp_constrained *k, const double *f, const double *c, double *a);
  /* q_out = q [+] dq along the joints; q_out may be q */
  void (*retract)(struct perp_constrained *k, const double *q, const double *dq, double *q_out);
} perp_joint_coordinates;

typedef struct perp_constrained {
  const perp_model *model; /* first: see perp_formulation_ode_sys */
  perp_ctx *ctx;           /* of the call in progress: the callbacks of solvers bring none */
  const perp_joint_coordinates
      *coordinates;     /* NULL: joints are constraints.  Set before the creation */
  perp_kkt_solver *kkt; /* NULL when there are no constraints, and so are the next two */
  const perp_stab_desc *stab;
  void *stab_ws;
  perp_stab_sys stab_sys;
  double *unit; /* identity in the blocks of M, where corrections are unweighted; else NULL */
  perp_blocks unweighted; /* with it: what the KKT factor holds for where `factored` is NULL */
  /* two evaluations, so that the one of the KKT factor (the start of the step) outlives those at
   * the end of the step */
  perp_eval eval[2], *e;     /* e: the current one */
  double *q_at[2];           /* [nq] where each was made */
  bool known[2];             /* eval[i] holds for q_at[i], */
  int set;                   /* without the rows of this set of perp_dropped */
  int chain_set;             /* with the rows of chains in the bases of this number */
  const perp_eval *factored; /* the one the KKT factor holds for, NULL when there is no factor */
  perp_reason factor_reason;
  double start_h; /* velocity level: length of the step from the state of the factor, 0: unknown */
  double *q_before, *v_before; /* [nq], [nv] state before the post-step */
  double *f, *a;               /* [nv] */
  double *c, *lambda, *Cdot;   /* [m] */
  double *violation;           /* [m] */
  double *Ct;                  /* [m] of models with motions */
  double *impulse;             /* [m] of the velocity corrections of the last post-step */
  bool softens;  /* a formulation has rows of its own softness, in S.  Set before the creation */
  double *S;     /* [m] softness of the rows, of a model with springs or of these; else empty */
  double S_h;    /* step that S holds for, 0: none */
  double *zeros; /* [nv] */
  struct {       /* what perp_constrained_keep has kept */
    double *q[2], *lambda; /* [nq] each, [m] */
    double t[2];
    bool known[2];
    int current, factored; /* of eval; -1: none */
    perp_reason reason;
    perp_status status;
    perp_stats count;
  } kept;
  double drift; /* |C|_inf at the last regular state, before the post-step */
  double tol;   /* of the steps of the ODE, 0: their length is given */
  double slack; /* drift that is left alone, of size and speed: perp_ode_slack */
  double rest;  /* |J v|_inf that the last projection left */
  bool lags; /* its positions move with the velocities before: C / h of one step is late in another
                one */
  double rate;        /* 1/s, of the motion at the start */
  perp_reason reason; /* < 0: why the evaluation failed; else of the last KKT solve */
  perp_status status; /* of a call that could not work at all */
  perp_stats count;
  bool timing;
  struct { /* s */
    double assembly, kkt, step;
  } spent;
} perp_constrained;

/* Create the solvers of parts (stab must be set, and kkt but for coordinates) for the model.
 * keeps_start: the factor at the end of a step is the one of its start (velocity level). */
perp_status perp_constrained_create(perp_ctx *ctx, perp_constrained *k, const perp_model *model,
                                    const perp_parts *parts, bool keeps_start);
/* Arrays only; the caller's layout function calls it. */
void perp_constrained_layout(perp_constrained *k, const perp_model *model, perp_arena *a);
void perp_constrained_destroy(perp_constrained *k);
void perp_constrained_restart(perp_constrained *k);
/* The rate of the motion that starts with v, of gravity and the velocities: under error control it
 * stands for 1/h, of which nobody knows anything, in the feedback of the acceleration level and in
 * what a projection leaves alone. */
void perp_constrained_begin(perp_constrained *k, const double *v);

/* Model at (t, q): poses, J, C and C_t in *k->e.  Nothing is done where it was evaluated last. */
void perp_constrained_at(perp_constrained *k, double t, const double *q);
/* Have all signals of the model finite values at t, and where accelerations follow them their
 * derivatives?  Else k->reason says it. */
bool perp_constrained_signals(perp_constrained *k, double t);
/* The position error C [m] at k->e, 0 for springs. */
void perp_constrained_error(const perp_constrained *k, double *C);
/* What stands for h in the gains of the feedback, of joints and of contacts: h itself with fixed
 * steps. */
double perp_constrained_feedback_step(const perp_constrained *k, perp_level level, double h);
/* Complete the right-hand side of the joints in a step h from v: to k->c, which holds 0 on the
 * velocity level and -Jdot v on the acceleration level, the feedback of the stabilization is added
 * on rigid rows and the pull of the springs on others (model.h), whose softness is set. */
void perp_constrained_feedback(perp_constrained *k, perp_level level, double h, const double *v);
/* The velocities that positions at k->e move with, of the acceleration level: v, or where the
 * stabilization lets them flow to the constraints v + M^-1 J' (J M^-1 J')^-1 (-rate C), with the
 * factor of k->e; they live until the post-step.  NULL: k->reason says why not. */
const double *perp_constrained_flow(perp_constrained *k, double h, const double *v);
/* Positions move with other velocities than v. */
bool perp_constrained_flows(const perp_constrained *k);
/* k->a, k->lambda from k->f and k->c with the J of k->e, in a step h from velocity v.  False:
 * k->reason says why.  Redundant joints that disagree by no more than rounding and drift explain
 * get the least-squares answer of the KKT formulation (counted in fallbacks, reason
 * PERP_REGULARIZED), others PERP_INFEASIBLE. */
bool perp_constrained_solve(perp_constrained *k, perp_level level, double h, const double *v);
/* M a = f + J' lambda, J a + S lambda = c with the current factor; M a = f where there are no
 * joints. False: k->reason or k->status says why. */
bool perp_constrained_response(perp_constrained *k, const double *f, const double *c, double *a,
                               double *lambda);
/* x = J v */
void perp_constrained_product(const perp_constrained *k, const double *v, double *x);
/* Cdot = J v + C_t */
void perp_constrained_rate(const perp_constrained *k, const double *v, double *Cdot);
/* c -= scale C_t with the velocities of motions at the time t, J where it is. */
void perp_constrained_driven(perp_constrained *k, double t, double scale, double *c);
/* The ODE of a model in q and v, but for its derivatives and what is done at accepted states. user:
 * of the callbacks; it begins with a pointer to the (const) model. */
perp_ode_sys perp_formulation_ode_sys(void *user);
/* At a regular state: is it finite, how large is C; then the post-step. */
perp_ode_answer perp_constrained_accept(perp_constrained *k, double t, double *q, double *v);
/* The post-step alone, whatever the drift: onto of perp_ode_sys, where there is one (projects). */
perp_ode_answer perp_constrained_onto(perp_constrained *k, double t, double *q, double *v);
bool perp_constrained_projects(const perp_constrained *k);
/* q_out = q [+] dq, along the joints where these are coordinates; q_out may be q. */
void perp_constrained_retract(perp_constrained *k, const double *q, const double *dq,
                              double *q_out);
/* A state a simulation can start from?  q is brought to unit quaternions. */
perp_status perp_constrained_check_start(perp_ctx *ctx, const perp_model *model, double *q,
                                         const double *v);

/* Sum of finite numbers is finite times zero: false when there is a NaN or an infinity in x [n]. */
bool perp_all_finite(int n, const double *x);
/* max |x_i|; a NaN stays one */
PERP_INLINE double perp_worst(int n, const double *x)
{
  double worst = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= worst)) worst = fabs(x[i]);
  return worst;
}

/* What both formulations do around one step of the ODE driver. */
perp_status perp_constrained_step(perp_ctx *ctx, perp_constrained *k, perp_ode *ode, double t_max,
                                  perp_step_info *info);
void perp_constrained_timing(perp_constrained *k, bool on, perp_times *times);

/* Around evaluations between steps (dense output): evaluations and factor, first guesses and counts
 * are put back, so that the steps to come make as many factorizations as without, of the same
 * numbers. */
void perp_constrained_keep(perp_constrained *k);
void perp_constrained_put_back(perp_constrained *k);

/* Wall clock, s, 0 while the breakdown is off. */
PERP_INLINE double perp_constrained_clock(const perp_constrained *k)
{
  return k->timing ? perp_clock_wall() : 0;
}

/* The same without that of the KKT solver. */
PERP_INLINE double perp_constrained_own_clock(const perp_constrained *k)
{
  return perp_constrained_clock(k) - k->spent.kkt;
}

#endif
