/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reduced coordinates: the joints of a tree as an ordinary differential equation, with the loops as
 * constraints.
 *
 * One coordinate for each degree of freedom (quaternions for ball joints and free bodies),
 * accelerations by the articulated-body algorithm in O(n), any ODE solver.  There is no constraint
 * that could drift: the state in the coordinates of the model satisfies C(q) = 0 and J v = 0 to
 * rounding at all times, which makes this the reference for trees.  See reduced_dynamics.c for the
 * mathematics; Vondrak 2005, introduction of chapter 4, for reduced against maximal coordinates.
 *
 * Joints that close loops, and those without coordinates of their own (line, wheel, curve), are
 * held by forces (reduced_loops.c): accelerations obey them, and after each step q and u are
 * projected on them in the metric of H (multistep methods: when they are off by more than a few
 * times the tolerance, as each projection costs their history).
 *
 * Default method: rk4.  H depends on q, so that symplectic-euler and verlet are implicit
 * (canonical.c), and their equations have no solution where a chain folds fast: symplectic-euler at
 * 1 ms ends at 0.1 s of chain:links=70, at 0.1 ms at 0.48 s.
 *
 * Models whose shapes touch, or with limits and motors, make steps of velocities and impulses in
 * the same coordinates, by symplectic-euler or euler: reduced_step.c, where the options belong.
 *
 * Limits: soft joints are refused.  Exact joints are not an accurate trajectory: that is up to
 * the ODE solver alone.  Multipliers are not computed.  Memory about 2 kB a body. */
#include "models/stepping/formulation.h"
#include "models/multibody/reduced_loops.h"
#include "models/multibody/model_private.h"
#include "models/formulations/reduced/reduced_derivative.h"
#include "models/formulations/reduced/reduced_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROJECTIONS = 20 };
static const double ROUNDING = 1e-15; /* of the size */
/* A row that is left out holds by itself to this part of the size, or is needed. */
static const double LEFT_OUT = 1e-7;

typedef struct opts {
  perp_contact_opts contact;
} opts;
static const perp_opt options[] = { PERP_CONTACT_OPTIONS, PERP_OPTIONS_END };

struct reduced {
  void *steps; /* contacts, limits and motors: reduced_step.c, and nothing below; else NULL */
  perp_reduced_tree *tree;
  perp_eval eval;           /* forces of the model are evaluated in memory of our own */
  perp_reduced_loops loops; /* m = 0: none */
  /* multistep methods and those that project: a violation that is left alone, of size and speed;
   * else 0 */
  double slack;
  double drift; /* |C|_inf at the end of the last step */
  perp_ode_sys sys;
  perp_ode *ode;
  double *q, *u;       /* [tree nq], [tree nu] */
  double *du, *off;    /* [tree nu], [loops.m] */
  double *qm, *vm;     /* state in the coordinates of the model */
  double *qf, *vf, *f; /* ... of the state being differentiated, and its forces */
  const double *push;  /* [model nv] further generalized forces; NULL: none */
  bool *stale;         /* qm, vm do not belong to the current state */
  bool timed;
  perp_times times;
  double total;
};

static void reduced_layout(void *ws, perp_arena *arena)
{
  struct reduced *work = ws;
  const perp_model *model = work->tree->model;
  const int nq = perp_model_nq(model), nv = perp_model_nv(model);
  perp_eval_layout(&work->eval, model, arena);
  work->q = PERP_CARVE(arena, double, work->tree->nq);
  PERP_DOUBLES(arena, work->tree->nu, &work->u, &work->du);
  work->off = PERP_CARVE(arena, double, work->loops.m);
  perp_reduced_loops_layout(&work->loops, arena);
  PERP_DOUBLES(arena, nq, &work->qm, &work->qf);
  PERP_DOUBLES(arena, nv, &work->vm, &work->vf, &work->f);
  work->stale = PERP_CARVE(arena, bool, 1);
}

static double reduced_clock(const struct reduced *work)
{
  return work->timed ? perp_clock_wall() : 0;
}

/* f at (q, u), whose kinematics are left in the tree */
static void reduced_forces(struct reduced *w, double t, const double *q, const double *u,
                           bool gyroscopic)
{
  const perp_model *model = w->tree->model;
  perp_reduced_kinematics(w->tree, q, u);
  perp_reduced_to_model(w->tree, w->qf, w->vf);
  if (w->loops.m > 0)
    perp_eval_at(&w->eval, model, t, w->qf);
  else
    perp_eval_poses(&w->eval, model, t, w->qf);
  perp_eval_forces(&w->eval, model, t, w->vf, gyroscopic, w->f);
  for (int i = 0; w->push != NULL && i < model->nv; i++) w->f[i] += w->push[i];
}

static perp_ode_answer reduced_deriv(void *user, double t, double h, const double *q,
                                     const double *u, bool intermediate, double *qdot, double *udot)
{
  struct reduced *w = user;
  (void)h, (void)intermediate;
  const double start = reduced_clock(w);
  reduced_forces(w, t, q, u, true);
  const double middle = reduced_clock(w);
  const bool done = perp_reduced_accelerate(w->tree, w->f, udot) &&
                    (w->loops.m == 0 || perp_reduced_loops_accelerate(&w->loops, w->vf, udot));
  perp_reduced_qdot(w->tree, q, u, qdot);
  w->times.assembly += middle - start;
  w->times.kkt += reduced_clock(w) - middle;
  if (!done) return PERP_ODE_FAILED;
  return perp_all_finite(w->tree->nu, udot) ? PERP_ODE_OK : PERP_ODE_FAILED;
}

static bool reduced_momentum(void *user, double t, const double *q, const double *u, double *p,
                             double *g)
{
  struct reduced *work = user;
  const double start = reduced_clock(work);
  reduced_forces(work, t, q, u, false);
  perp_reduced_momentum(work->tree, u, work->f, p, g);
  work->times.assembly += reduced_clock(work) - start;
  return perp_all_finite(work->tree->nu, p) && perp_all_finite(work->tree->nu, g);
}

static bool reduced_velocity(void *user, const double *p, double *u)
{
  struct reduced *work = user;
  const double start = reduced_clock(work);
  const bool done = perp_reduced_velocity(work->tree, p, u);
  work->times.kkt += reduced_clock(work) - start;
  return done;
}

static void reduced_transport(void *user, const double *dq, const double *p, double *start,
                              double *end)
{
  perp_reduced_transport(((struct reduced *)user)->tree, dq, p, start, end);
}

static const perp_ode_canonical reduced_canonical = { reduced_momentum, reduced_velocity,
                                                      reduced_transport };

/* Take q and u back to the loops where they are off by more than slack: Newton's method on C(q) =
 * 0, to `enough` of the size, then J u = 0. */
static perp_ode_answer reduced_close(struct reduced *w, double t, double slack, double enough,
                                     double *q, double *u)
{
  const perp_reduced_tree *tree = w->tree;
  perp_reduced_loops *l = &w->loops;
  const double size = tree->model->size;
  double last = HUGE_VAL;
  for (int pass = 0; pass < PROJECTIONS; pass++) {
    reduced_forces(w, t, q, u, false);
    perp_reduced_loops_error(l, w->off);
    const double worst = perp_worst(l->m, w->off);
    if (pass == 0) {
      w->drift = worst;
      perp_reduced_loops_rate(l, w->vf, w->off);
      const double speed = perp_worst(tree->model->nv, w->vf);
      if (worst <= slack * size && perp_worst(l->m, w->off) <= slack * speed) return PERP_ODE_OK;
      perp_reduced_loops_error(l, w->off);
    }
    memset(w->du, 0, (size_t)tree->nu * sizeof *w->du);
    if (!perp_reduced_velocity(w->tree, w->du, w->du)) return PERP_ODE_FAILED;
    perp_reduced_loops_factor(l);
    if (!(worst > enough * size && worst < 0.9 * last)) break;
    perp_reduced_loops_correct(l, w->off, w->du);
    perp_reduced_retract(tree, q, w->du, q);
    last = worst;
  }
  perp_reduced_loops_rate(l, w->vf, w->off);
  perp_reduced_loops_correct(l, w->off, w->du);
  for (int i = 0; i < tree->nu; i++) u[i] += w->du[i];
  return PERP_ODE_CHANGED;
}

static perp_ode_answer reduced_accept(void *user, double t, double *q, double *u)
{
  struct reduced *work = user;
  perp_reduced_loops *loops = &work->loops;
  perp_ode_answer answer = reduced_close(work, t, work->slack, ROUNDING, q, u);
  if (answer != PERP_ODE_FAILED &&
      perp_reduced_loops_left(loops) > fmax(LEFT_OUT, work->slack) * work->tree->model->size) {
    loops->m = loops->all; /* the start was a singular position: a row is needed */
    loops->chosen = false;
    answer = reduced_close(work, t, work->slack, ROUNDING, q, u);
  }
  if (answer == PERP_ODE_FAILED || (loops->chosen && loops->m == loops->all)) return answer;
  reduced_forces(work, t, q, u, false);
  memset(work->du, 0, (size_t)work->tree->nu * sizeof *work->du);
  if (!perp_reduced_velocity(work->tree, work->du, work->du)) return PERP_ODE_FAILED;
  perp_reduced_loops_choose(loops);
  return answer;
}

/* a thousandth of the tolerance: the errors that stay in the history are larger */
static perp_ode_answer reduced_onto(void *user, double t, double *q, double *u)
{
  struct reduced *work = user;
  const perp_ode_answer answer = reduced_close(work, t, 0, fmax(ROUNDING, 1e-4 * work->slack), q,
                                               u);
  return answer == PERP_ODE_CHANGED ? PERP_ODE_OK : answer;
}

static void reduced_retract(void *user, const double *q, const double *dq, double *q_out)
{
  perp_reduced_retract(((struct reduced *)user)->tree, q, dq, q_out);
}

static void reduced_difference(void *user, const double *q0, const double *q1, double *dq)
{
  perp_reduced_difference(((struct reduced *)user)->tree, q0, q1, dq);
}

static void reduced_dexpinv(void *user, const double *u, const double *v, double *du)
{
  perp_reduced_dexpinv(((struct reduced *)user)->tree, u, v, du);
}

static void reduced_project(void *user, double *q)
{
  perp_reduced_project(((struct reduced *)user)->tree, q);
}

static void reduced_destroy(void *ws)
{
  struct reduced *work = ws;
  if (work == NULL) return;
  perp_reduced_step_destroy(work->steps);
  if (work->ode != NULL) perp_ode_destroy(work->ode);
  free(work->tree);
  free(work);
}

static perp_status reduced_create_steps(perp_ctx *ctx, const perp_model *model,
                                        const perp_parts *parts, double h, void **ws)
{
  const opts *chosen = parts->formulation.opts;
  struct reduced *work = calloc(1, sizeof *work);
  if (work == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for formulation reduced");
  const perp_status status = perp_reduced_step_create(ctx, model, parts, &chosen->contact, h,
                                                      &work->steps);
  if (status == PERP_OK)
    *ws = work;
  else
    free(work);
  return status;
}

static perp_status reduced_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                  double h, void **ws)
{
  *ws = NULL;
  if (parts->ode.d == NULL)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "formulation reduced needs an ODE method: choose one of 'perp list ode'");
  /* without options it is the reference of a scene, for the motion before any contact
   * (truth_reduced.c) */
  if (parts->formulation.opts != NULL && (perp_model_collides(model) || model->n_drives > 0))
    return reduced_create_steps(ctx, model, parts, h, ws);
  struct reduced like = { 0 };
  PERP_TRY(perp_reduced_create(ctx, model, &like.tree));
  like.loops = (perp_reduced_loops){ .tree = like.tree,
                                     .m = like.tree->cut_rows,
                                     .all = like.tree->cut_rows };
  perp_status status = perp_workspace_create(ctx, "reduced", &like, sizeof like, reduced_layout,
                                             ws);
  if (status != PERP_OK) {
    free(like.tree);
    return status;
  }
  struct reduced *w = *ws;
  w->loops.e = &w->eval;
  perp_eval_init(&w->eval, model);
  perp_reduced_loops_start(&w->loops);
  *w->stale = true;
  w->slack = perp_ode_slack(&parts->ode);
  const bool loops = w->loops.m > 0;
  w->sys = (perp_ode_sys){
    .nq = w->tree->nq,
    .nv = w->tree->nu,
    .caps = perp_reduced_position_only(w->tree) ? PERP_ODE_SYS_POSITION_FORCES : 0,
    .user = w,
    .deriv = reduced_deriv,
    .retract = reduced_retract,
    .difference = reduced_difference,
    .dexpinv = perp_reduced_rods(w->tree) ? NULL : reduced_dexpinv,
    .project = reduced_project,
    .size = fmin(1, model->size),
    .accept = loops ? reduced_accept : NULL,
    .onto = loops ? reduced_onto : NULL,
    .canonical = loops ? NULL : &reduced_canonical,
  };
  status = perp_ode_create(ctx, &parts->ode, &w->sys, h, &w->ode);
  if (status == PERP_OK) return PERP_OK;
  reduced_destroy(w);
  *ws = NULL;
  return status;
}

static perp_status reduced_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                   const double *v)
{
  struct reduced *work = ws;
  if (work->steps != NULL) return perp_stepping_restart(ctx, work->steps, t, q, v);
  perp_reduced_from_model(work->tree, q, v, work->q, work->u);
  *work->stale = true;
  work->loops.m = work->loops.all;
  work->loops.chosen = false;
  work->times = (perp_times){ 0 };
  work->total = 0;
  return perp_ode_restart(ctx, work->ode, t, work->q, work->u);
}

static perp_status reduced_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  struct reduced *work = ws;
  if (work->steps != NULL) return perp_stepping_step(ctx, work->steps, t_max, info);
  perp_stats stats = { 0 };
  const double start = reduced_clock(work);
  perp_ode_stop stop = perp_ode_step(ctx, work->ode, t_max, &stats);
  work->total += reduced_clock(work) - start;
  *work->stale = true;
  *info = (perp_step_info){ .reason = stop == PERP_ODE_STOPPED ? stats.reason : PERP_EXACT,
                            .drift_pos_pre = work->loops.all > 0 ? work->drift : (double)NAN,
                            .lambda = NULL };
  return PERP_OK;
}

static void reduced_state(const void *ws, double *t, const double **q, const double **v)
{
  const struct reduced *work = ws;
  if (work->steps != NULL) {
    perp_stepping_state(work->steps, t, q, v);
    return;
  }
  if (*work->stale) {
    perp_reduced_kinematics(work->tree, perp_ode_q(work->ode), perp_ode_v(work->ode));
    perp_reduced_to_model(work->tree, work->qm, work->vm);
    *work->stale = false;
  }
  *t = perp_ode_time(work->ode);
  *q = work->qm;
  *v = work->vm;
}

static perp_status reduced_dense(perp_ctx *ctx, void *ws, double t, double *q, double *v,
                                 double *lambda)
{
  struct reduced *w = ws;
  if (w->steps != NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "formulation reduced: dense output is not available with contacts, limits or "
                     "motors, whose impulses act over the whole step");
  PERP_TRY(perp_ode_dense_at(ctx, w->ode, t, w->q, w->u));
  perp_reduced_kinematics(w->tree, w->q, w->u);
  perp_reduced_to_model(w->tree, q, v);
  *w->stale = true;
  for (int i = 0; lambda != NULL && i < w->tree->model->m; i++) lambda[i] = (double)NAN;
  return PERP_OK;
}

static void reduced_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const struct reduced *work = ws;
  if (work->steps != NULL) {
    perp_stepping_counters(work->steps, ode, kkt);
    return;
  }
  if (ode != NULL) *ode = *perp_ode_count(work->ode);
  if (kkt != NULL) *kkt = (perp_stats){ .reason = PERP_EXACT };
}

static void reduced_timing(void *ws, bool on, perp_times *times)
{
  struct reduced *work = ws;
  if (work->steps != NULL) {
    perp_stepping_timing(work->steps, on, times);
    return;
  }
  work->timed = on;
  if (times == NULL) return;
  *times = work->times;
  times->integrate = work->total - work->times.assembly - work->times.kkt;
}

static const perp_contact_count *reduced_contacts(const void *ws)
{
  const struct reduced *work = ws;
  return work->steps != NULL ? perp_stepping_contacts(work->steps) : NULL;
}

static void reduced_observe(void *ws, perp_contact_observer *observer, void *user)
{
  const struct reduced *work = ws;
  if (work->steps != NULL) perp_stepping_observe(work->steps, observer, user);
}

/* ---- derivatives ---- */

static perp_status reduced_derivative_create(perp_ctx *ctx, void *ws, perp_derivative *derivative)
{
  struct reduced *work = ws;
  if (work->steps != NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "derivatives of steps of formulation reduced need a model without contacts, "
                     "limits and motors; use --formulation velocity with these");
  const perp_reduced_lent lent = { work->tree, &work->sys, work->ode, &work->push };
  return perp_reduced_derivative_create(ctx, &lent, derivative);
}

/* The tree is used at other states. */
static perp_status reduced_derivative_reset(perp_ctx *ctx, void *ws, perp_derivative *derivative)
{
  (void)ctx;
  *((struct reduced *)ws)->stale = true;
  perp_reduced_derivative_reset(derivative);
  return PERP_OK;
}

static void reduced_derivative_before(void *ws, perp_derivative *derivative)
{
  (void)ws;
  perp_reduced_derivative_before(derivative);
}

static perp_status reduced_derivative_step(perp_ctx *ctx, void *ws, perp_derivative *derivative)
{
  (void)ctx;
  *((struct reduced *)ws)->stale = true;
  perp_reduced_derivative_step(derivative);
  return PERP_OK;
}

static const struct perp_derivative_calls reduced_derivative = {
  .create = reduced_derivative_create,
  .reset = reduced_derivative_reset,
  .seed = reduced_derivative_reset,
  .before = reduced_derivative_before,
  .step = reduced_derivative_step,
};

const perp_formulation_desc perp_formulation_reduced = {
  .d = {
    .name = "reduced",
    .summary = "Joint coordinates of a tree, articulated-body algorithm, O(n); "
               "loops are constraints",
    .reference = "R. Featherstone, Rigid Body Dynamics Algorithms, 2008; Vondrak 2005, chapter 4; "
                 "contacts: Cline 2002, section 6.1",
    .equation = "H(q) udot = tau - c(q, u) + J' lambda, solved link by link; J u = 0, "
                "qdot = N(q) u; contacts: H u+ = S' (M v + h f + J' lambda)",
    PERP_OPTIONS(options, opts),
    .caps = PERP_FORM_USES_ODE | PERP_FORM_USES_STAB | PERP_FORM_USES_LCP | PERP_FORM_CONTACTS |
            PERP_FORM_DRIVES | PERP_FORM_EXACT_JOINTS | PERP_FORM_FEEDBACK | PERP_FORM_SIGNALS |
            PERP_FORM_CANONICAL | PERP_FORM_ARMATURES,
  },
  .create = reduced_create,
  .restart = reduced_restart,
  .step = reduced_step,
  .state = reduced_state,
  .dense = reduced_dense,
  .counters = reduced_counters,
  .timing = reduced_timing,
  .contacts = reduced_contacts,
  .observe = reduced_observe,
  .destroy = reduced_destroy,
  .derivative = &reduced_derivative,
};
