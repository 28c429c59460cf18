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
static void velocity_of(const perp_model *m, const perp_eval *e, const double *p, double *v)
{
  int d = m->dim;
  for (int b = 0; b < m->n_bodies; b++) {
    const perp_inertia *in = &m->inertia[b];
    const double *pb = p + b * m->nvb;
    double *vb = v + b * m->nvb, L[3];
    for (int i = 0; i < d; i++) vb[i] = pb[i] / in->mass;
    if (d == 3) {
      perp_turn_back(3, e->pose[b].R, pb + 3, L);
      perp_sym_mul(in->Iinv, L, vb + 3);
    } else {
      vb[2] = pb[2] / in->I[8];
    }
  }
}

static void momentum_of(const perp_model *m, const perp_eval *e, const double *v, double *p)
{
  int d = m->dim;
  for (int b = 0; b < m->n_bodies; b++) {
    const perp_inertia *in = &m->inertia[b];
    const double *vb = v + b * m->nvb;
    double *pb = p + b * m->nvb, L[3];
    for (int i = 0; i < d; i++) pb[i] = in->mass * vb[i];
    if (d == 3) {
      perp_sym_mul(in->I, vb + 3, L);
      perp_turn(3, e->pose[b].R, L, pb + 3);
    } else {
      pb[2] = in->I[8] * vb[2];
    }
  }
}

/* The velocities of a state of the ODE solver: v itself, or those at (t, y), y = (q, p). */
static const double *velocity_at(workspace *w, double t, const double *y, const double *v)
{
  if (!w->momentum) return v;
  perp_constrained_at(&w->k, t, y);
  velocity_of(w->k.model, w->k.e, y + w->k.model->nq, w->v);
  return w->v;
}

/* ---- derivative ---- */

/* there are none; a trial state without forces may be beyond one at which bodies are to be stopped
 */
static perp_ode_answer acceleration_without(workspace *w, bool intermediate)
{
  if (!intermediate || w->events == NULL) return PERP_ODE_FAILED;
  const perp_event_verdict verdict = perp_events_verdict(w->events);
  if (verdict != PERP_FORCES_STOP && verdict != PERP_FORCES_SKIPPED) return PERP_ODE_FAILED;
  w->k.reason = PERP_EXACT;
  return PERP_ODE_INVALID;
}

/* a and lambda at (t, q, v) */
static bool acceleration_accelerations(workspace *w, double t, double h, const double *q,
                                       const double *v, bool intermediate)
{
  perp_constrained *k = &w->k;
  const perp_model *model = k->model;
  if (!perp_constrained_signals(k, t)) return false;
  perp_constrained_at(k, t, q);
  double start = perp_constrained_clock(k);
  perp_eval_forces(k->e, model, t, v, true, k->f);
  if (w->events != NULL) perp_events_push(w->events, k, v, k->f);
  if (model->m > 0) {
    perp_joints_bias(model, k->e, v, k->c);
    for (int i = 0; i < model->m; i++) k->c[i] = -k->c[i];
    perp_constrained_feedback(k, PERP_LEVEL_ACCELERATION, h, v);
  }
  k->assembly_s += perp_constrained_clock(k) - start;
  if (!perp_constrained_solve(k, PERP_LEVEL_ACCELERATION, h, v)) return false;
  if (w->events != NULL && !perp_events_forces(w->events, k, t, h, q, v, intermediate))
    return false;
  if (!intermediate) {
    memcpy(w->lambda, k->lambda, (size_t)model->m * sizeof *w->lambda);
    w->lambda_regular = true;
  }
  return true;
}

static perp_ode_answer acceleration_deriv(void *user, double t, double h, const double *q,
                                          const double *v, bool intermediate, double *qdot,
                                          double *a)
{
  workspace *w = user;
  perp_constrained *k = &w->k;
  const perp_model *model = k->model;
  v = velocity_at(w, t, q, v);
  if (!acceleration_accelerations(w, t, h, q, v, intermediate))
    return acceleration_without(w, intermediate);
  if (qdot != NULL) perp_model_qdot(model, q, v, qdot);
  if (!w->momentum) {
    memcpy(a, k->a, (size_t)model->nv * sizeof *a);
    return PERP_ODE_OK;
  }
  /* pdot: all forces but the gyroscopic term, which belongs to the rotating frame, turned to the
   * world */
  double *pdot = qdot + model->nq;
  perp_eval_forces(k->e, model, t, v, false, w->torque);
  if (model->m > 0) perp_blocks_Jt(&k->e->blocks, 1, k->lambda, w->torque);
  if (w->events != NULL) perp_events_apply(w->events, k, w->torque);
  memcpy(pdot, w->torque, (size_t)model->nv * sizeof *pdot);
  for (int b = 0; b < model->n_bodies && model->dim == 3; b++)
    perp_turn(3, k->e->pose[b].R, w->torque + 6 * b + 3, pdot + 6 * b + 3);
  return PERP_ODE_OK;
}

static perp_ode_answer acceleration_accept(void *user, double t, double *q, double *v)
{
  workspace *w = user;
  perp_constrained *k = &w->k;
  if (w->momentum) {
    velocity_at(w, t, q, NULL);
    v = w->v;
  }
  /* joints first: impacts start from velocities that obey them */
  perp_ode_answer answer = perp_constrained_accept(k, t, q, v);
  if (w->events != NULL && (answer == PERP_ODE_OK || answer == PERP_ODE_CHANGED)) {
    const perp_ode_answer events = perp_events_accept(w->events, k, t, q, v);
    if (events != PERP_ODE_OK) answer = events;
  }
  if (!w->momentum || answer != PERP_ODE_CHANGED) return answer;
  perp_constrained_at(k, t, q);
  momentum_of(k->model, k->e, v, q + k->model->nq);
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
static double behind_ahead(const struct behind *b, double t)
{
  if (b->n == 0) return -BEHIND;
  if (b->n == 1) return -b->value[1];
  const double rate = (b->value[1] - b->value[0]) / (b->t[1] - b->t[0]);
  /* beyond the end of the line: by no less than its likely error */
  return fmax(fabs(b->value[1] + rate * (t - b->t[1])), -ERROR * b->value[1]);
}

/* How far the forces at a state are from a change of mode: below zero behind it.  Where they are
 * not unique, complementarity knows. */
static double acceleration_margin(workspace *w, double t, const double *q, const double *v)
{
  bool unique;
  if (!acceleration_accelerations(w, t, w->h, q, v, true)) {
    w->k.reason = PERP_EXACT;
    return BEHIND;
  }
  const double left = perp_events_reserve_left(w->events, &unique);
  if (unique) return left;
  if (left >= 0) return behind_ahead(&w->behind, t);
  struct trial trial = { w, t, q, v };
  const double agree = perp_events_agree(w->events, &w->k, trial_evaluate, &trial);
  w->k.reason = PERP_EXACT;
  if (agree >= 0) return behind_ahead(&w->behind, t);
  struct behind *behind = &w->behind;
  behind->t[0] = behind->t[1], behind->value[0] = behind->value[1];
  behind->t[1] = t, behind->value[1] = agree;
  behind->n++;
  return agree;
}

static double acceleration_event(void *user, double t, const double *q, const double *v)
{
  workspace *w = user;
  v = velocity_at(w, t, q, v);
  const double value = perp_events_value(w->events, &w->k, t, q, v);
  if (!(value >= 0) || !perp_events_frozen(w->events)) return value;
  return fmin(value, acceleration_margin(w, t, q, v));
}

/* directions of slow sliding */
static bool acceleration_revise(void *user, double t, double h, const double *q, const double *v)
{
  workspace *w = user;
  v = velocity_at(w, t + h, q, v);
  struct trial trial = { w, t + h, q, v };
  return perp_events_revise(w->events, &w->k, t, h, v, trial_evaluate, &trial);
}

/* ---- life ---- */

static void acceleration_layout(void *ws, perp_arena *a)
{
  workspace *w = ws;
  const perp_model *model = w->k.model;
  perp_constrained_layout(&w->k, model, a);
  w->q = PERP_CARVE(a, double, model->nq);
  PERP_DOUBLES(a, model->nv, &w->v, &w->start);
  w->y = PERP_CARVE(a, double, model->nq + model->nv);
  w->torque = PERP_CARVE(a, double, model->nv);
  w->lambda = PERP_CARVE(a, double, model->m);
}

static void acceleration_destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  if (w->ode != NULL) perp_ode_destroy(w->ode);
  perp_events_destroy(w->events);
  perp_constrained_destroy(&w->k);
  free(w);
}

static perp_status acceleration_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                       double h, void **ws)
{
  const options *o = parts->formulation.opts;
  *ws = NULL;
  workspace like = { .k.model = model, .h = h, .momentum = o->state == STATE_MOMENTUM };
  PERP_TRY(perp_workspace_create(ctx, "acceleration", &like, sizeof like, acceleration_layout, ws));
  workspace *w = *ws;
  perp_status status = perp_constrained_create(ctx, &w->k, model, parts, false);
  w->sys = perp_formulation_ode_sys(w);
  w->sys.deriv = acceleration_deriv;
  w->sys.accept = acceleration_accept;
  if (!w->momentum && perp_constrained_projects(&w->k)) w->sys.onto = onto_velocity;
  if (w->momentum) {
    w->sys.nq = model->nq + model->nv;
    w->sys.nv = 0;
    w->sys.retract = NULL;
    w->sys.difference = NULL;
    w->sys.qdot = NULL;
    w->sys.caps = 0;
  } else if (!model->velocity_forces && model->m == 0) {
    w->sys.caps |= PERP_ODE_SYS_POSITION_FORCES;
  }
  if (status == PERP_OK && (model->n_shapes > 0 || model->n_drives > 0))
    status = perp_events_create(ctx, model, parts, &o->event, h, &w->events);
  if (w->events != NULL) {
    w->sys.event = acceleration_event;
    if (model->n_shapes > 0) w->sys.revise = acceleration_revise;
    w->sys.caps &= ~(unsigned)PERP_ODE_SYS_POSITION_FORCES; /* friction, motors */
    w->sys.caps |= PERP_ODE_SYS_RENEWED_EVENT;
    perp_events_locate(w->events, &w->sys);
  }
  if (status == PERP_OK) status = perp_ode_create(ctx, &parts->ode, &w->sys, h, &w->ode);
  if (status != PERP_OK) {
    acceleration_destroy(w);
    *ws = NULL;
  }
  return status;
}

static void read_state(workspace *w)
{
  const perp_model *model = w->k.model;
  const double *y = perp_ode_q(w->ode);
  memcpy(w->q, y, (size_t)model->nq * sizeof *w->q);
  velocity_at(w, perp_ode_time(w->ode), y, NULL);
}

/* The ODE solver starts at (t, w->q, v); w->q may be changed. */
static perp_status acceleration_begin(perp_ctx *ctx, workspace *w, double t, const double *v)
{
  const perp_model *model = w->k.model;
  perp_status status;
  if (w->momentum) {
    memcpy(w->y, w->q, (size_t)model->nq * sizeof *w->q);
    perp_constrained_at(&w->k, t, w->q);
    momentum_of(model, w->k.e, v, w->y + model->nq);
    status = perp_ode_restart(ctx, w->ode, t, w->y, NULL);
  } else {
    status = perp_ode_restart(ctx, w->ode, t, w->q, v);
  }
  if (status == PERP_OK && w->momentum) read_state(w);
  if (status == PERP_OK && w->events != NULL)
    perp_events_adopt(w->events, &w->k, t, w->momentum ? w->q : perp_ode_q(w->ode));
  return status;
}

static perp_status acceleration_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                        const double *v)
{
  workspace *w = ws;
  const perp_model *model = w->k.model;
  perp_constrained_restart(&w->k);
  if (w->events != NULL) perp_events_restart(w->events);
  w->k.ctx = ctx;
  w->lambda_regular = false;
  memset(w->lambda, 0, (size_t)model->m * sizeof *w->lambda);
  memcpy(w->q, q, (size_t)model->nq * sizeof *q);
  PERP_TRY(perp_constrained_check_start(ctx, model, w->q, v));
  perp_constrained_begin(&w->k, v);
  return acceleration_begin(ctx, w, t, v);
}

/* A step that cannot begin, for critical contacts: stop their bodies and try again. */
static perp_status stop_critical(perp_ctx *ctx, workspace *w, double t_max, perp_step_info *info)
{
  const size_t size = (size_t)w->k.model->nv * sizeof *w->v;
  while (info->reason < 0 && perp_events_verdict(w->events) >= PERP_FORCES_CRITICAL) {
    const double t = perp_ode_time(w->ode);
    read_state(w);
    if (!w->momentum) memcpy(w->v, perp_ode_v(w->ode), size);
    if (!perp_events_stop(w->events, &w->k, t, w->q, w->v)) {
      if (w->k.reason < 0) info->reason = w->k.reason;
      return w->k.status;
    }
    memcpy(w->start, w->v, size);
    w->k.reason = PERP_EXACT;
    const perp_status status = acceleration_begin(ctx, w, t, w->start);
    if (status != PERP_OK && status != PERP_ERR_ARG) return status;
    info->reason = status == PERP_OK ? w->k.reason : PERP_INVALID_STATE;
    if (info->reason < 0) return PERP_OK;
    PERP_TRY(perp_constrained_step(ctx, &w->k, w->ode, t_max, info));
  }
  return PERP_OK;
}

static perp_status acceleration_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *w = ws;
  const double t = perp_ode_time(w->ode);
  const int64_t located = perp_ode_count(w->ode)->bisections;
  w->behind.n = 0;
  if (w->events != NULL && w->k.tol > 0 && w->k.model->dim == 3 &&
      (w->located || perp_events_slow(w->events)))
    t_max = fmin(t_max, t + w->h);
  if (w->events != NULL) t_max = fmin(t_max, t + perp_events_longest(w->events));
  PERP_TRY(perp_constrained_step(ctx, &w->k, w->ode, t_max, info));
  w->located = perp_ode_count(w->ode)->bisections > located;
  if (w->events != NULL) PERP_TRY(stop_critical(ctx, w, t_max, info));
  info->lambda = w->lambda_regular ? w->lambda : w->k.lambda;
  if (w->momentum) read_state(w);
  if (w->events == NULL) return PERP_OK;
  const double t_new = perp_ode_time(w->ode);
  perp_events_info(w->events, t_new - t, info);
  if (info->reason >= 0 &&
      !perp_events_adopt(w->events, &w->k, t_new, w->momentum ? w->q : perp_ode_q(w->ode)))
    info->reason = w->k.reason;
  if (info->reason < 0) info->cause = perp_events_cause(w->events);
  return PERP_OK;
}

static void acceleration_state(const void *ws, double *t, const double **q, const double **v)
{
  const workspace *w = ws;
  *t = perp_ode_time(w->ode);
  *q = w->momentum ? w->q : perp_ode_q(w->ode);
  *v = w->momentum ? w->v : perp_ode_v(w->ode);
}

/* Derivatives at intermediate states write into k: what the next step begins with, or reports, is
 * put back.  Contacts at rest and drives are in the modes of the step, where these are known: a
 * step that complementarity decides at each evaluation has no dense output. */
static perp_status acceleration_dense(perp_ctx *ctx, void *ws, double t, double *q, double *v,
                                      double *lambda)
{
  workspace *w = ws;
  perp_constrained *k = &w->k;
  if (w->events != NULL && !perp_events_between(w->events, true))
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "acceleration: dense output is not available in a step whose resting contacts, limits or "
        "motors change their mode; use output at the ends of steps");
  perp_constrained_keep(k);
  perp_status status;
  if (w->momentum) {
    status = perp_ode_dense_at(ctx, w->ode, t, w->y, NULL);
    memcpy(q, w->y, (size_t)k->model->nq * sizeof *q);
    perp_constrained_at(k, t, q);
    velocity_of(k->model, k->e, w->y + k->model->nq, v);
    read_state(w); /* deriv_momentum writes w->v */
  } else {
    status = perp_ode_dense_at(ctx, w->ode, t, q, v);
  }
  if (status == PERP_OK && lambda != NULL) {
    const bool known = acceleration_accelerations(w, t, w->h, q, v, true);
    for (int i = 0; i < k->model->m; i++) lambda[i] = known ? k->lambda[i] : (double)NAN;
  }
  if (w->events != NULL) perp_events_between(w->events, false);
  perp_constrained_put_back(k);
  return status;
}

static void acceleration_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *w = ws;
  if (ode != NULL) *ode = *perp_ode_count(w->ode);
  if (kkt != NULL) *kkt = w->k.count;
}

static void acceleration_timing(void *ws, bool on, perp_times *times)
{
  workspace *w = ws;
  perp_constrained_timing(&w->k, on, times);
  if (w->events == NULL || times == NULL) return;
  perp_events_times(w->events, &times->collision, &times->lcp);
  times->integrate -= times->collision + times->lcp;
}

static const perp_contact_count *acceleration_contacts(const void *ws)
{
  const workspace *w = ws;
  return w->events != NULL ? perp_events_counters(w->events) : NULL;
}

static void acceleration_observe(void *ws, perp_contact_observer *observer, void *user)
{
  workspace *w = ws;
  if (w->events != NULL) perp_events_observe(w->events, observer, user);
}

const perp_formulation_desc perp_formulation_acceleration = {
  .d = { .name = "acceleration",
         .summary = "Index-1 DAE: constraints on accelerations; contacts, limits and motors by "
                    "events; any ODE method",
         .reference = "Vondrak 2005, sections 5.2, 6.1.2, 6.2.1 and 6.4.3 to 6.5.4; STAR 2012, "
                      "section 3.2.1; Loetstedt 1981 (sliding)",
         .equation = "M a = f + J' lambda,  J a + S lambda = -Jdot v + feedback;  "
                     "0 <= lambda_n _|_ J_n a + Jdot_n v >= 0",
         PERP_OPTIONS(option_table, options),
         .caps = PERP_FORM_BREAKS | PERP_FORM_USES_ODE | PERP_FORM_USES_KKT | PERP_FORM_USES_STAB |
                 PERP_FORM_USES_LCP | PERP_FORM_CONTACTS | PERP_FORM_DRIVES | PERP_FORM_EVENTS |
                 PERP_FORM_SPRINGS | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_DISABLED |
                 PERP_FORM_NONHOLONOMIC },
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
};
