/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Acceleration level: the index-1 DAE of constrained motion as an ordinary differential equation.
 *
 *      [ M  -J' ] [ a      ]   [  f ]       c = -Jdot v + feedback
 *      [-J  -S  ] [ lambda ] = [ -c ]
 *
 * is solved at each evaluation of the derivative (Vondrak 2005, eq. 6.3, 6.5 and 6.8; STAR
 * 2012, section 3.2.1), and any ODE solver integrates q' = N(q) v, v' = a.  Exact arithmetic
 * would keep C = 0 and J v = 0; rounding and truncation do not, which is what stabilization is
 * for: Baumgarte feedback enters c and the rows of contacts (events_forces.c), and the schemes that
 * correct the state do so at the end of each step, joints and contacts (multistep methods then lose
 * their history).
 *
 * state=velocity: the unknowns are (q, v), the velocity form of Vondrak 2005, eq. 5.19, 5.22.
 * state=momentum: the unknowns are (q, p) with p = (m xdot, R I w), the momentum form of Vondrak
 * 2005, eq. 5.17, 5.18: L is in the world frame, so that no gyroscopic term is integrated and a
 * free body keeps P and L exactly. The ODE solver sees a plain first-order system (nv = 0), hence
 * methods that need the split into positions and velocities refuse it.
 *
 * Models with shapes or drives: contacts at rest are complementarity rows at each evaluation, with
 * the joints eliminated; impacts come between two steps, where the ODE driver locates them: see
 * events.h.  Where they have no solution (critical contacts: Painleve, or bodies that are squeezed)
 * the simulation ends and says so, or stops the bodies: see critical.c.
 *
 * In heaps, where events accumulate or no accelerations are found, steps are of first order for a
 * while, with contact forces of their start as on the velocity level: see events_forces.c; the
 * metric events.piled counts them.
 *
 * Cost per evaluation: assembly, one factorization, one solve.  No allocation in the steady state.
 * Fails: singular or infeasible constraints (as the KKT formulation says), non-finite states.
 *
 * Euler's equation in momenta is Vondrak 2005, eq. 5.11, 5.15 and 5.16; the system is STAR 2012,
 * eq. 55-57 and Cline 2002, eq. 2.32. */
#include "models/formulations/acceleration/events.h"
#include "models/stepping/derivative_smooth.h"

#include <stdlib.h>
#include <string.h>

enum { STATE_VELOCITY, STATE_MOMENTUM };
static const double BEHIND = -1;  /* event function: how far is not known */
static const double ERROR = 0.01; /* of values, of a line through two of them */
static const char *const state_names[] = { "velocity", "momentum", NULL };

typedef struct options {
  perp_event_opts event; /* first */
  int state;
} options;
static const perp_opt option_table[] = { PERP_ENUM(
                                             options, state, STATE_VELOCITY, state_names,
                                             "Integrate velocities or momenta. With momenta the "
                                             "angular momentum of free bodies is conserved."),
                                         PERP_EVENT_OPTIONS, PERP_OPTIONS_END };

/* values of an event function behind an event of the step: the last two of n */
struct behind {
  int n;
  double t[2], value[2];
};

typedef struct workspace {
  perp_constrained k;
  perp_events *events; /* NULL: no shapes */
  bool momentum;
  perp_ode_sys sys;
  perp_ode *ode;
  double *q, *v;  /* [nq], [nv] state for others */
  double *start;  /* [nv] velocities after a stop */
  double *y;      /* [nq + nv] momentum form: (q, p) */
  double *torque; /* [nv] f without the gyroscopic term */
  double *lambda; /* [m] at the last regular state */
  bool lambda_regular;
  double h; /* the step of create */
  struct behind behind;
  bool located; /* the last step ended at an event */
} workspace;

/* ---- momentum form ---- */

/* v from p = (m xdot, R I w) at the poses of e */
static void velocity_of(const perp_model *model, const perp_eval *eval, const double *p, double *v)
{
  int d = model->dim;
  for (int b = 0; b < model->n_bodies; b++) {
    const perp_inertia *in = &model->inertia[b];
    const double *pb = p + b * model->nvb;
    double *vb = v + b * model->nvb, L[3];
    for (int i = 0; i < d; i++) vb[i] = pb[i] / in->mass;
    if (d == 3) {
      perp_turn_back(3, eval->pose[b].R, pb + 3, L);
      perp_sym_mul(in->Iinv, L, vb + 3);
    } else {
      vb[2] = pb[2] / in->I[8];
    }
  }
}

static void momentum_of(const perp_model *model, const perp_eval *eval, const double *v, double *p)
{
  int d = model->dim;
  for (int body = 0; body < model->n_bodies; body++) {
    const perp_inertia *in = &model->inertia[body];
    const double *vb = v + body * model->nvb;
    double *pb = p + body * model->nvb, L[3];
    for (int i = 0; i < d; i++) pb[i] = in->mass * vb[i];
    if (d == 3) {
      perp_sym_mul(in->I, vb + 3, L);
      perp_turn(3, eval->pose[body].R, L, pb + 3);
    } else {
      pb[2] = in->I[8] * vb[2];
    }
  }
}

/* The velocities of a state of the ODE solver: v itself, or those at (t, y), y = (q, p). */
static const double *velocity_at(workspace *work, double t, const double *y, const double *v)
{
  if (!work->momentum) return v;
  perp_constrained_at(&work->k, t, y);
  velocity_of(work->k.model, work->k.e, y + work->k.model->nq, work->v);
  return work->v;
}

/* ---- derivative ---- */

/* a and lambda at (t, q, v) */
static bool acceleration_accelerations(workspace *work, double t, double h, const double *q,
                                       const double *v, bool intermediate)
{
  perp_constrained *system = &work->k;
  const perp_model *model = system->model;
  if (!perp_constrained_signals(system, t)) return false;
  perp_constrained_at(system, t, q);
  double start = perp_constrained_clock(system);
  perp_eval_forces(system->e, model, t, v, true, system->f);
  if (work->events != NULL) perp_events_push(work->events, system, v, system->f);
  if (model->m > 0) {
    perp_joints_bias(model, system->e, v, system->c);
    for (int i = 0; i < model->m; i++) system->c[i] = -system->c[i];
    perp_constrained_feedback(system, PERP_LEVEL_ACCELERATION, h, v);
  }
  system->spent.assembly += perp_constrained_clock(system) - start;
  if (!perp_constrained_solve(system, PERP_LEVEL_ACCELERATION, h, v)) return false;
  if (work->events != NULL && !perp_events_forces(work->events, system, t, h, q, v, intermediate))
    return false;
  if (!intermediate) {
    memcpy(work->lambda, system->lambda, (size_t)model->m * sizeof *work->lambda);
    work->lambda_regular = true;
  }
  return true;
}

static perp_ode_answer acceleration_deriv(void *user, double t, double h, const double *q,
                                          const double *v, bool intermediate, double *qdot,
                                          double *a)
{
  workspace *work = user;
  perp_constrained *system = &work->k;
  const perp_model *model = system->model;
  v = velocity_at(work, t, q, v);
  if (!acceleration_accelerations(work, t, h, q, v, intermediate)) {
    /* there are none; a trial state without forces may be beyond one at which bodies are to be
     * stopped
     */
    if (!intermediate || work->events == NULL) return PERP_ODE_FAILED;
    const perp_event_verdict verdict = perp_events_verdict(work->events);
    if (verdict != PERP_FORCES_STOP && verdict != PERP_FORCES_SKIPPED) return PERP_ODE_FAILED;
    work->k.reason = PERP_EXACT;
    return PERP_ODE_INVALID;
  }
  if (qdot == NULL && perp_constrained_flows(system)) {
    system->status = PERP_FAIL(system->ctx, PERP_ERR_UNSUPPORTED,
                               "stab %s acts through the rates of positions, which this integrator "
                               "does not take: use --ode rk4 or --stab post:velocity=true",
                               system->stab->d.name);
    return PERP_ODE_FAILED;
  }
  if (qdot != NULL) {
    const double *moves = perp_constrained_flow(system, h, v);
    if (moves == NULL) return PERP_ODE_FAILED;
    perp_model_qdot(model, q, moves, qdot);
  }
  if (!work->momentum) {
    memcpy(a, system->a, (size_t)model->nv * sizeof *a);
    return PERP_ODE_OK;
  }
  /* pdot: all forces but the gyroscopic term, which belongs to the rotating frame, turned to the
   * world */
  double *pdot = qdot + model->nq;
  perp_eval_forces(system->e, model, t, v, false, work->torque);
  if (model->m > 0) perp_blocks_Jt(&system->e->blocks, 1, system->lambda, work->torque);
  if (work->events != NULL) perp_events_apply(work->events, system, work->torque);
  memcpy(pdot, work->torque, (size_t)model->nv * sizeof *pdot);
  for (int pose = 0; pose < model->n_bodies && model->dim == 3; pose++)
    perp_turn(3, system->e->pose[pose].R, work->torque + 6 * pose + 3, pdot + 6 * pose + 3);
  return PERP_ODE_OK;
}

static perp_ode_answer acceleration_accept(void *user, double t, double *q, double *v)
{
  workspace *work = user;
  perp_constrained *system = &work->k;
  if (work->momentum) {
    velocity_at(work, t, q, NULL);
    v = work->v;
  }
  /* joints first: impacts start from velocities that obey them */
  perp_ode_answer answer = perp_constrained_accept(system, t, q, v);
  if (work->events != NULL && (answer == PERP_ODE_OK || answer == PERP_ODE_CHANGED)) {
    const perp_ode_answer events = perp_events_accept(work->events, system, t, q, v);
    if (events != PERP_ODE_OK) answer = events;
  }
  if (!work->momentum || answer != PERP_ODE_CHANGED) return answer;
  perp_constrained_at(system, t, q);
  momentum_of(system->model, system->e, v, q + system->model->nq);
  return answer;
}

static perp_ode_answer onto_velocity(void *user, double t, double *q, double *v)
{
  return perp_constrained_onto(&((workspace *)user)->k, t, q, v);
}

/* a trial state */
struct trial {
  workspace *w;
  double t;
  const double *q, *v;
};

static bool trial_evaluate(void *user)
{
  const struct trial *trial = user;
  if (acceleration_accelerations(trial->w, trial->t, trial->w->h, trial->q, trial->v, true))
    return true;
  trial->w->k.reason = PERP_EXACT;
  return false;
}

/* A function of time that is known behind an event only, where it falls below zero: ahead of it, it
 * is continued along a line through the last two values. */
static double behind_ahead(const struct behind *behind, double t)
{
  if (behind->n == 0) return -BEHIND;
  if (behind->n == 1) return -behind->value[1];
  const double rate = (behind->value[1] - behind->value[0]) / (behind->t[1] - behind->t[0]);
  /* beyond the end of the line: by no less than its likely error */
  return fmax(fabs(behind->value[1] + rate * (t - behind->t[1])), -ERROR * behind->value[1]);
}

/* How far the forces at a state are from a change of mode: below zero behind it.  Where they are
 * not unique, complementarity knows. */
static double acceleration_margin(workspace *work, double t, const double *q, const double *v)
{
  bool unique;
  if (!acceleration_accelerations(work, t, work->h, q, v, true)) {
    work->k.reason = PERP_EXACT;
    return BEHIND;
  }
  const double left = perp_events_reserve_left(work->events, &unique);
  if (unique) return left;
  if (left >= 0) return behind_ahead(&work->behind, t);
  struct trial trial = { work, t, q, v };
  const double agree = perp_events_agree(work->events, &work->k, trial_evaluate, &trial);
  work->k.reason = PERP_EXACT;
  if (agree >= 0) return behind_ahead(&work->behind, t);
  struct behind *behind = &work->behind;
  behind->t[0] = behind->t[1], behind->value[0] = behind->value[1];
  behind->t[1] = t, behind->value[1] = agree;
  behind->n++;
  return agree;
}

static double acceleration_event(void *user, double t, const double *q, const double *v)
{
  workspace *work = user;
  v = velocity_at(work, t, q, v);
  const double value = perp_events_value(work->events, &work->k, t, q, v);
  if (!(value >= 0) || !perp_events_frozen(work->events)) return value;
  return fmin(value, acceleration_margin(work, t, q, v));
}

/* directions of slow sliding */
static bool acceleration_revise(void *user, double t, double h, const double *q, const double *v)
{
  workspace *work = user;
  v = velocity_at(work, t + h, q, v);
  struct trial trial = { work, t + h, q, v };
  return perp_events_revise(work->events, &work->k, t, h, v, trial_evaluate, &trial);
}

/* ---- life ---- */

static void acceleration_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->k.model;
  perp_constrained_layout(&work->k, model, arena);
  work->q = PERP_CARVE(arena, double, model->nq);
  PERP_DOUBLES(arena, model->nv, &work->v, &work->start);
  work->y = PERP_CARVE(arena, double, model->nq + model->nv);
  work->torque = PERP_CARVE(arena, double, model->nv);
  work->lambda = PERP_CARVE(arena, double, model->m);
}

static void acceleration_destroy(void *ws)
{
  workspace *work = ws;
  if (work == NULL) return;
  if (work->ode != NULL) perp_ode_destroy(work->ode);
  perp_events_destroy(work->events);
  perp_constrained_destroy(&work->k);
  free(work);
}

static perp_status acceleration_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                       double h, void **ws)
{
  const options *opts = parts->formulation.opts;
  *ws = NULL;
  workspace like = { .k.model = model, .h = h, .momentum = opts->state == STATE_MOMENTUM };
  PERP_TRY(perp_workspace_create(ctx, "acceleration", &like, sizeof like, acceleration_layout, ws));
  workspace *work = *ws;
  perp_status status = perp_constrained_create(ctx, &work->k, model, parts, false);
  work->sys = perp_formulation_ode_sys(work);
  work->sys.deriv = acceleration_deriv;
  work->sys.accept = acceleration_accept;
  if (!work->momentum && perp_constrained_projects(&work->k)) work->sys.onto = onto_velocity;
  if (work->momentum) {
    work->sys.nq = model->nq + model->nv;
    work->sys.nv = 0;
    work->sys.retract = NULL;
    work->sys.difference = NULL;
    work->sys.dexpinv = NULL;
    work->sys.qdot = NULL;
    work->sys.caps = 0;
  } else if (!model->velocity_forces && model->m == 0) {
    work->sys.caps |= PERP_ODE_SYS_POSITION_FORCES;
  }
  if (status == PERP_OK && (model->n_shapes > 0 || model->n_drives > 0))
    status = perp_events_create(ctx, model, parts, &opts->event, h, &work->events);
  if (work->events != NULL) {
    work->sys.event = acceleration_event;
    if (model->n_shapes > 0) work->sys.revise = acceleration_revise;
    work->sys.caps &= ~(unsigned)PERP_ODE_SYS_POSITION_FORCES; /* friction, motors */
    work->sys.caps |= PERP_ODE_SYS_RENEWED_EVENT;
    perp_events_locate(work->events, &work->sys);
  }
  if (status == PERP_OK) status = perp_ode_create(ctx, &parts->ode, &work->sys, h, &work->ode);
  if (status != PERP_OK) {
    acceleration_destroy(work);
    *ws = NULL;
  }
  return status;
}

static void read_state(workspace *work)
{
  const perp_model *model = work->k.model;
  const double *y = perp_ode_q(work->ode);
  memcpy(work->q, y, (size_t)model->nq * sizeof *work->q);
  velocity_at(work, perp_ode_time(work->ode), y, NULL);
}

/* The ODE solver starts at (t, work->q, v); work->q may be changed. */
static perp_status acceleration_begin(perp_ctx *ctx, workspace *work, double t, const double *v)
{
  const perp_model *model = work->k.model;
  perp_status status;
  if (work->momentum) {
    memcpy(work->y, work->q, (size_t)model->nq * sizeof *work->q);
    perp_constrained_at(&work->k, t, work->q);
    momentum_of(model, work->k.e, v, work->y + model->nq);
    status = perp_ode_restart(ctx, work->ode, t, work->y, NULL);
  } else {
    status = perp_ode_restart(ctx, work->ode, t, work->q, v);
  }
  if (status == PERP_OK && work->momentum) read_state(work);
  if (status == PERP_OK && work->events != NULL)
    perp_events_adopt(work->events, &work->k, t, work->momentum ? work->q : perp_ode_q(work->ode));
  return status;
}

static perp_status acceleration_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                        const double *v)
{
  workspace *work = ws;
  const perp_model *model = work->k.model;
  perp_constrained_restart(&work->k);
  if (work->events != NULL) perp_events_restart(work->events);
  work->k.ctx = ctx;
  work->lambda_regular = false;
  memset(work->lambda, 0, (size_t)model->m * sizeof *work->lambda);
  memcpy(work->q, q, (size_t)model->nq * sizeof *q);
  PERP_TRY(perp_constrained_check_start(ctx, model, work->q, v));
  perp_constrained_begin(&work->k, v);
  return acceleration_begin(ctx, work, t, v);
}

/* A step that cannot begin, for critical contacts: stop their bodies and try again. */
static perp_status stop_critical(perp_ctx *ctx, workspace *work, double t_max, perp_step_info *info)
{
  const size_t size = (size_t)work->k.model->nv * sizeof *work->v;
  while (info->reason < 0 && perp_events_verdict(work->events) >= PERP_FORCES_CRITICAL) {
    const double t = perp_ode_time(work->ode);
    read_state(work);
    if (!work->momentum) memcpy(work->v, perp_ode_v(work->ode), size);
    if (!perp_events_stop(work->events, &work->k, t, work->q, work->v)) {
      if (work->k.reason < 0) info->reason = work->k.reason;
      return work->k.status;
    }
    memcpy(work->start, work->v, size);
    work->k.reason = PERP_EXACT;
    const perp_status status = acceleration_begin(ctx, work, t, work->start);
    if (status != PERP_OK && status != PERP_ERR_ARG) return status;
    info->reason = status == PERP_OK ? work->k.reason : PERP_INVALID_STATE;
    if (info->reason < 0) return PERP_OK;
    PERP_TRY(perp_constrained_step(ctx, &work->k, work->ode, t_max, info));
  }
  return PERP_OK;
}

static perp_status acceleration_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *work = ws;
  const double t = perp_ode_time(work->ode);
  const int64_t located = perp_ode_count(work->ode)->bisections;
  work->behind.n = 0;
  if (work->events != NULL && work->k.tol > 0 && work->k.model->dim == 3 &&
      (work->located || perp_events_slow(work->events)))
    t_max = fmin(t_max, t + work->h);
  if (work->events != NULL) t_max = fmin(t_max, t + perp_events_longest(work->events));
  PERP_TRY(perp_constrained_step(ctx, &work->k, work->ode, t_max, info));
  work->located = perp_ode_count(work->ode)->bisections > located;
  if (work->events != NULL) PERP_TRY(stop_critical(ctx, work, t_max, info));
  info->lambda = work->lambda_regular ? work->lambda : work->k.lambda;
  if (work->momentum) read_state(work);
  if (work->events == NULL) return PERP_OK;
  const double t_new = perp_ode_time(work->ode);
  perp_events_info(work->events, t_new - t, info);
  if (info->reason >= 0 && !perp_events_adopt(work->events, &work->k, t_new,
                                              work->momentum ? work->q : perp_ode_q(work->ode)))
    info->reason = work->k.reason;
  if (info->reason < 0) info->cause = perp_events_cause(work->events);
  return PERP_OK;
}

static void acceleration_state(const void *ws, double *t, const double **q, const double **v)
{
  const workspace *work = ws;
  *t = perp_ode_time(work->ode);
  *q = work->momentum ? work->q : perp_ode_q(work->ode);
  *v = work->momentum ? work->v : perp_ode_v(work->ode);
}

/* Derivatives at intermediate states write into system: what the next step begins with, or reports,
 * is put back.  Contacts at rest and drives are in the modes of the step, where these are known: a
 * step that complementarity decides at each evaluation has no dense output. */
static perp_status acceleration_dense(perp_ctx *ctx, void *ws, double t, double *q, double *v,
                                      double *lambda)
{
  workspace *work = ws;
  perp_constrained *system = &work->k;
  if (work->events != NULL && !perp_events_between(work->events, true))
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "acceleration: dense output is not available in a step whose resting contacts, limits or "
        "motors change their mode; use output at the ends of steps");
  perp_constrained_keep(system);
  perp_status status;
  if (work->momentum) {
    status = perp_ode_dense_at(ctx, work->ode, t, work->y, NULL);
    memcpy(q, work->y, (size_t)system->model->nq * sizeof *q);
    perp_constrained_at(system, t, q);
    velocity_of(system->model, system->e, work->y + system->model->nq, v);
    read_state(work); /* deriv_momentum writes work->v */
  } else {
    status = perp_ode_dense_at(ctx, work->ode, t, q, v);
  }
  if (status == PERP_OK && lambda != NULL) {
    const bool known = acceleration_accelerations(work, t, work->h, q, v, true);
    for (int i = 0; i < system->model->m; i++) lambda[i] = known ? system->lambda[i] : (double)NAN;
  }
  if (work->events != NULL) perp_events_between(work->events, false);
  perp_constrained_put_back(system);
  return status;
}

static void acceleration_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *work = ws;
  if (ode != NULL) *ode = *perp_ode_count(work->ode);
  if (kkt != NULL) *kkt = work->k.count;
}

static void acceleration_timing(void *ws, bool on, perp_times *times)
{
  workspace *work = ws;
  perp_constrained_timing(&work->k, on, times);
  if (work->events == NULL || times == NULL) return;
  perp_events_times(work->events, &times->collision, &times->lcp);
  times->integrate -= times->collision + times->lcp;
}

static const perp_contact_count *acceleration_contacts(const void *ws)
{
  const workspace *work = ws;
  return work->events != NULL ? perp_events_counters(work->events) : NULL;
}

static void acceleration_observe(void *ws, perp_contact_observer *observer, void *user)
{
  workspace *work = ws;
  if (work->events != NULL) perp_events_observe(work->events, observer, user);
}

static perp_status acceleration_derivative_create(perp_ctx *ctx, void *ws,
                                                  perp_derivative *derivative)
{
  workspace *work = ws;
  if (work->events != NULL || work->momentum)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED, "derivatives of steps of formulation acceleration need %s",
        work->momentum ? "velocities as its state: leave out state=momentum"
                       : "a model without shapes, limits and motors; use --formulation "
                         "velocity with these");
  return perp_derivative_smooth_create(ctx, derivative, &work->k, perp_ode_method(work->ode),
                                       &work->sys);
}

static perp_status acceleration_derivative_reset(perp_ctx *ctx, void *ws,
                                                 perp_derivative *derivative)
{
  (void)ws;
  return perp_derivative_smooth_reset(ctx, derivative);
}

static perp_status acceleration_derivative_step(perp_ctx *ctx, void *ws,
                                                perp_derivative *derivative)
{
  (void)ws;
  return perp_derivative_smooth_step(ctx, derivative);
}

static const struct perp_derivative_calls acceleration_derivative = {
  .create = acceleration_derivative_create,
  .reset = acceleration_derivative_reset,
  .step = acceleration_derivative_step,
};

const perp_formulation_desc perp_formulation_acceleration = {
  .d = { .name = "acceleration",
         .summary = "Index-1 DAE: constraints on accelerations; contacts, limits and motors by "
                    "events; any ODE method",
         .reference = "Vondrak 2005, sections 5.2, 6.1.2, 6.2.1 and 6.4.3 to 6.5.4; STAR 2012, "
                      "section 3.2.1; Loetstedt 1981 (sliding)",
         .equation = "M a = f + J' lambda,  J a + S lambda = -Jdot v + feedback;  "
                     "0 <= lambda_n _|_ J_n a + Jdot_n v >= 0",
         PERP_OPTIONS(option_table, options),
         .caps = PERP_FORM_FORCES_AT_START | PERP_FORM_BREAKS | PERP_FORM_USES_ODE |
                 PERP_FORM_USES_KKT | PERP_FORM_USES_STAB | PERP_FORM_USES_LCP |
                 PERP_FORM_CONTACTS | PERP_FORM_DRIVES | PERP_FORM_EVENTS | PERP_FORM_SPRINGS |
                 PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_DISABLED |
                 PERP_FORM_NONHOLONOMIC | PERP_FORM_ARMATURES },
  .create = acceleration_create,
  .restart = acceleration_restart,
  .step = acceleration_step,
  .state = acceleration_state,
  .dense = acceleration_dense,
  .counters = acceleration_counters,
  .timing = acceleration_timing,
  .destroy = acceleration_destroy,
  .contacts = acceleration_contacts,
  .observe = acceleration_observe,
  .derivative = &acceleration_derivative,
};
