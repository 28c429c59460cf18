/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/constrained.h"

#include <stdlib.h>
#include <string.h>

/* Under error control: steps in 1/rate, what a method of middle order makes of a smooth motion. */
enum { STEPS = 10 };
/* Loops of coordinates are closed by Newton's method, to this part of the size of the model. */
enum { CLOSINGS = 20 };
static const double CLOSED = 1e-14;

bool perp_all_finite(int n, const double *x)
{
  double s[4] = { 0 }; /* four chains: the additions overlap */
  int i = 0;
  for (; i + 4 <= n; i += 4)
    for (int j = 0; j < 4; j++) s[j] += x[i + j] * 0;
  for (; i < n; i++) s[0] += x[i] * 0;
  return s[0] + s[1] + s[2] + s[3] == 0;
}

void perp_constrained_retract(perp_constrained *system, const double *q, const double *dq,
                              double *q_out)
{
  if (system->coordinates != NULL)
    system->coordinates->retract(system, q, dq, q_out);
  else
    perp_model_retract(system->model, q, dq, q_out);
}

/* ---- what the stabilization scheme may ask ---- */

static void stab_error(void *user, double t, const double *q, double *C)
{
  perp_constrained *system = user;
  perp_constrained_at(system, t, q);
  perp_constrained_error(system, C);
}

static void stab_retract(void *user, const double *q, const double *dq, double *q_out)
{
  perp_model_retract(((const perp_constrained *)user)->model, q, dq, q_out);
}

static void stab_rate(void *user, double t, const double *q, const double *v, double *Cdot)
{
  perp_constrained *system = user;
  perp_constrained_at(system, t, q);
  perp_constrained_rate(system, v, Cdot);
  perp_model_rigid_rows(system->model, Cdot);
}

static void constrained_count(perp_constrained *system, const perp_stats *stats)
{
  system->count.factorizations += stats->factorizations;
  system->count.fallbacks += stats->fallbacks;
  system->count.iterations += stats->iterations;
  system->count.matvecs += stats->matvecs;
  system->count.work += stats->work;
}

static perp_status constrained_factor(perp_constrained *system, perp_stats *stats)
{
  double start = perp_constrained_clock(system);
  *stats = (perp_stats){ 0 };
  if (system->factored == system->e) {
    stats->reason = system->factor_reason;
    return PERP_OK;
  }
  perp_status status = PERP_OK;
  if (system->coordinates != NULL)
    *stats = (perp_stats){ .reason = system->coordinates->factor(
                               system, system->q_at[system->e - system->eval]),
                           .factorizations = 1 };
  else
    status = perp_kkt_factor(system->ctx, system->kkt, &system->e->blocks, stats);
  constrained_count(system, stats);
  system->factor_reason = stats->reason;
  system->factored = status == PERP_OK && stats->reason > 0 ? system->e : NULL;
  system->spent.kkt += perp_constrained_clock(system) - start;
  return status;
}

/* with the factor, wherever it was made */
static perp_status constrained_solve(perp_constrained *system, const double *f, const double *c,
                                     double *a, double *lambda, perp_stats *stats)
{
  const perp_blocks *blocks = system->factored != NULL ? &system->factored->blocks
                                                       : &system->unweighted;
  double start = perp_constrained_clock(system);
  *stats = (perp_stats){ 0 };
  perp_status status = PERP_OK;
  if (system->coordinates != NULL)
    stats->reason = system->coordinates->solve(system, f, c, a);
  else
    status = perp_kkt_solve(system->ctx, system->kkt, blocks, f, c, a, lambda, stats);
  constrained_count(system, stats);
  system->spent.kkt += perp_constrained_clock(system) - start;
  return status;
}

/* A correction of the state is a least-squares one anyway.  It has nothing to do with the one
 * before: the first guess of iterative methods is zero. */
static perp_status solve_projection(perp_constrained *system, const double *c, double *x,
                                    double *lambda, perp_stats *stats)
{
  memset(lambda, 0, (size_t)system->model->m * sizeof *lambda);
  perp_status status = constrained_solve(system, system->zeros, c, x, lambda, stats);
  if (stats->reason == PERP_INFEASIBLE) {
    stats->reason = PERP_REGULARIZED;
    system->count.fallbacks++;
  }
  return status;
}

static perp_status stab_linearize(void *user, double t, const double *q, perp_stats *stats)
{
  perp_constrained *system = user;
  perp_constrained_at(system, t, q);
  system->start_h = 0;
  if (system->unit == NULL) return constrained_factor(system, stats);
  const double start = perp_constrained_clock(system);
  system->factored = NULL; /* that of M is overwritten */
  system->unweighted = system->e->blocks;
  system->unweighted.M = system->unweighted.Minv = system->unit;
  system->unweighted.flat = NULL;
  *stats = (perp_stats){ 0 };
  const perp_status status = perp_kkt_factor(system->ctx, system->kkt, &system->unweighted, stats);
  constrained_count(system, stats);
  system->spent.kkt += perp_constrained_clock(system) - start;
  return status;
}

static perp_status stab_unweighted(perp_ctx *ctx, void *user)
{
  perp_constrained *system = user;
  const perp_model *model = system->model;
  const perp_blocks *blocks = &system->e->blocks;
  if (model->soft.springs || system->coordinates != NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "corrections that are not weighted by the masses serve rigid joints alone: "
                     "soft joints and joint coordinates need weight=mass");
  system->unit = calloc((size_t)blocks->mptr[blocks->nb] + 1, sizeof *system->unit);
  if (system->unit == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the identity");
  for (int body = 0; body < blocks->nb; body++) {
    const int n = blocks->bptr[body + 1] - blocks->bptr[body];
    for (int i = 0; i < n; i++) system->unit[blocks->mptr[body] + i * (n + 1)] = 1;
  }
  return PERP_OK;
}

static perp_status stab_solve(void *user, const double *c, double *x, double *lambda,
                              perp_stats *stats)
{
  return solve_projection(user, c, x, lambda, stats);
}

static perp_status stab_solve_start(void *user, const double *c, double *x, double *lambda,
                                    double *h, perp_stats *stats)
{
  perp_constrained *system = user;
  *h = system->start_h;
  if (*h == 0) { /* no step has been made yet: the state at hand is all there is */
    PERP_TRY(constrained_factor(system, stats));
    if (stats->reason < 0) return PERP_OK;
  }
  return solve_projection(system, c, x, lambda, stats);
}

/* ---- springs ---- */

static void set_softness(perp_constrained *system, double h)
{
  const perp_model *model = system->model;
  for (int row = 0; row < model->m; row++) {
    system->S[row] = model->soft.softness[row];
    if (perp_row_springs(model, row))
      system->S[row] += 1 / (h * (h * model->soft.stiffness[row] + model->soft.damping[row]));
  }
  system->S_h = h;
  system->factored = NULL;
}

void perp_constrained_error(const perp_constrained *system, double *C)
{
  memcpy(C, system->e->C, (size_t)system->model->m * sizeof *C);
  perp_model_rigid_rows(system->model, C);
}

static void stab_impulse(void *user, double scale, const double *lambda)
{
  perp_constrained *system = user;
  for (int i = 0; i < system->model->m; i++) system->impulse[i] += scale * lambda[i];
}

double perp_constrained_feedback_step(const perp_constrained *system, perp_level level, double h)
{
  if (system->tol > 0 && level == PERP_LEVEL_ACCELERATION) return 1 / (STEPS * system->rate);
  if (system->tol > 0 && system->lags) return fmax(h, 1 / (STEPS * system->rate));
  return h;
}

bool perp_constrained_flows(const perp_constrained *system)
{
  return system->model->m > 0 && system->stab->flow != NULL;
}

const double *perp_constrained_flow(perp_constrained *system, double h, const double *v)
{
  if (!perp_constrained_flows(system)) return v;
  const double rate = system->stab->flow(
      system->stab_ws, perp_constrained_feedback_step(system, PERP_LEVEL_ACCELERATION, h));
  perp_constrained_error(system, system->violation);
  for (int i = 0; i < system->model->m; i++) system->violation[i] *= -rate;
  if (!perp_constrained_response(system, system->zeros, system->violation, system->v_before,
                                 system->impulse))
    return NULL;
  for (int i = 0; i < system->model->nv; i++) system->v_before[i] += v[i];
  return system->v_before;
}

/* y [m] += J v - h Jdot v in the rows of armatures: J v+ of them but for their impulse */
static void constrained_armatures(const perp_constrained *system, double h, const double *v,
                                  double *y)
{
  const perp_model *m = system->model;
  for (int joint = 0; m->soft.armatures && joint < m->n_joints; joint++) {
    if (m->joint[joint].inertial && h > 0)
      y[m->joint[joint].row] -= h * perp_axes_bias(m, &m->joint[joint], system->e, v);
    for (int s = m->pattern.jptr[joint]; m->joint[joint].inertial && s < m->pattern.jptr[joint + 1];
         s++)
      for (int c = 0; c < m->nvb; c++)
        y[m->joint[joint].row] += system->e->J[m->pattern.joff[s] + c] *
                                  v[m->pattern.jblk[s] * m->nvb + c];
  }
}

void perp_constrained_feedback(perp_constrained *system, perp_level level, double h,
                               const double *v)
{
  const perp_model *model = system->model;
  const double *C = system->e->C;
  if (model->m == 0 ||
      (system->stab->rhs == NULL && !model->soft.springs && !model->soft.armatures))
    return;
  /* on the velocity level the rate is not defined before v+ is known: zeros */
  if (level == PERP_LEVEL_ACCELERATION) perp_constrained_rate(system, v, system->Cdot);
  if (model->soft.springs || model->soft.armatures)
    memcpy(system->violation, system->c, (size_t)model->m * sizeof *system->c);
  const double step = perp_constrained_feedback_step(system, level, h);
  if (system->stab->rhs != NULL)
    system->stab->rhs(system->stab_ws, level, step, C, system->Cdot, system->c);
  if (model->soft.armatures) { /* no feedback acts on them */
    for (int joint = 0; joint < model->n_joints; joint++)
      if (model->joint[joint].inertial)
        system->c[model->joint[joint].row] = system->violation[model->joint[joint].row];
    if (level == PERP_LEVEL_VELOCITY) constrained_armatures(system, h, v, system->c);
  }
  if (!model->soft.springs) return;
  if (system->S_h != h) set_softness(system, h);
  for (int row = 0; row < model->m; row++) {
    if (!perp_row_springs(model, row)) continue;
    const double b = h * model->soft.stiffness[row] + model->soft.damping[row];
    system->c[row] = system->violation[row] -
                     (level == PERP_LEVEL_VELOCITY
                          ? model->soft.stiffness[row] * C[row] / b
                          : (model->soft.stiffness[row] * C[row] / b + system->Cdot[row]) / h);
  }
}

/* ---- life ---- */

void perp_constrained_layout(perp_constrained *system, const perp_model *model, perp_arena *arena)
{
  for (int eval = 0; eval < 2; eval++) {
    perp_eval_layout(&system->eval[eval], model, arena);
    system->q_at[eval] = PERP_CARVE(arena, double, model->nq);
    system->kept.q[eval] = PERP_CARVE(arena, double, model->nq);
  }
  PERP_DOUBLES(arena, model->nv, &system->f, &system->a, &system->zeros);
  system->q_before = PERP_CARVE(arena, double, model->nq);
  system->v_before = PERP_CARVE(arena, double, model->nv);
  PERP_DOUBLES(arena, model->m, &system->c, &system->lambda, &system->kept.lambda, &system->Cdot,
               &system->violation, &system->impulse);
  system->S = PERP_CARVE(arena, double, model->soft.springs || system->softens ? model->m : 0);
  system->Ct = PERP_CARVE(arena, double, model->driven ? model->m : 0);
}

perp_status perp_constrained_create(perp_ctx *ctx, perp_constrained *system,
                                    const perp_model *model, const perp_parts *parts,
                                    bool keeps_start)
{
  system->ctx = ctx;
  system->model = model;
  for (int eval = 0; eval < 2; eval++) perp_eval_init(&system->eval[eval], model);
  system->e = &system->eval[0];
  memset(system->zeros, 0, (size_t)model->nv * sizeof *system->zeros);
  memset(system->Cdot, 0, (size_t)model->m * sizeof *system->Cdot);
  system->stab_sys = (perp_stab_sys){
    .nq = model->nq,
    .nv = model->nv,
    .m = model->m,
    .user = system,
    .error = stab_error,
    .rate = stab_rate,
    .linearize = stab_linearize,
    .solve = stab_solve,
    .retract = stab_retract,
    .solve_start = keeps_start ? stab_solve_start : NULL,
    .impulse = stab_impulse,
    .unweighted = stab_unweighted,
  };
  perp_constrained_restart(system);
  if (model->soft.springs) { /* with S of a step of 1 s until there is one */
    set_softness(system, 1);
    for (int eval = 0; eval < 2; eval++) system->eval[eval].blocks.s = system->S;
  }
  if (system->softens) {
    for (int i = 0; i < model->m; i++) system->S[i] = 1;
    for (int eval = 0; eval < 2; eval++) system->eval[eval].blocks.s = system->S;
  }
  const perp_ode_control *control = parts->ode.opts; /* of every ODE method the first member */
  if (control != NULL && parts->ode.d != NULL) {
    system->tol = perp_ode_tol(&parts->ode);
    system->slack = perp_ode_slack(&parts->ode);
    system->lags = !(parts->ode.d->caps & PERP_ODE_SYMPLECTIC);
  }
  system->rate = 1;
  if (model->m == 0) return PERP_OK;
  if (system->coordinates == NULL)
    PERP_TRY(perp_kkt_create(ctx, &parts->kkt, &system->e->blocks, &system->kkt));
  system->stab = (const perp_stab_desc *)parts->stab.d;
  return system->stab->create(ctx, &system->stab_sys, parts->stab.opts, &system->stab_ws);
}

void perp_constrained_destroy(perp_constrained *system)
{
  perp_kkt_destroy(system->kkt);
  if (system->stab != NULL) system->stab->destroy(system->stab_ws);
  free(system->unit);
}

void perp_constrained_restart(perp_constrained *system)
{
  system->known[0] = system->known[1] = false;
  system->factored = NULL;
  system->start_h = 0;
  system->drift = system->rest = 0;
  system->reason = PERP_EXACT;
  system->status = PERP_OK;
  system->count = (perp_stats){ .reason = PERP_EXACT, .residual = (double)NAN };
  system->spent.assembly = system->spent.kkt = system->spent.step = 0;
  memset(system->lambda, 0, (size_t)system->model->m * sizeof *system->lambda);
}

/* of the fastest point, 1/s */
static double constrained_fastest(const perp_model *model, const double *v)
{
  const double size = model->size > 0 ? model->size : 1;
  double rate = 0;
  for (int body = 0; body < model->n_bodies; body++)
    rate = fmax(rate, perp_point_speed(model->dim, v + model->nvb * body, size) / size);
  return rate;
}

void perp_constrained_begin(perp_constrained *system, const double *v)
{
  const double size = system->model->size > 0 ? system->model->size : 1;
  system->rate = fmax(sqrt(fabs(perp_model_gravity_at(system->model, 0)) / size),
                      constrained_fastest(system->model, v));
  if (!(system->rate > 0)) system->rate = 1;
}

perp_status perp_constrained_check_start(perp_ctx *ctx, const perp_model *model, double *q,
                                         const double *v)
{
  if (perp_all_finite(model->nq, q) && perp_all_finite(model->nv, v)) {
    perp_model_project(model, q);
    if (perp_all_finite(model->nq, q)) return PERP_OK;
  }
  return PERP_FAIL(ctx, PERP_ERR_ARG, "the initial state is not finite, or a quaternion is 0");
}

/* ---- one state ---- */

void perp_constrained_at(perp_constrained *system, double t, const double *q)
{
  size_t size = (size_t)system->model->nq * sizeof *q;
  int eval = (int)(system->e - system->eval);
  if (system->model->sim.dropped != NULL &&
      system->set != system->model->sim.dropped->set) { /* other rows than before */
    system->set = system->model->sim.dropped->set;
    system->known[0] = system->known[1] = false;
    system->factored = NULL;
    system->S_h = 0;
  }
  if (system->model->sim.chain_set != NULL && system->chain_set != *system->model->sim.chain_set) {
    system->chain_set = *system->model->sim.chain_set; /* other combinations of the same rows */
    system->known[0] = system->known[1] = false;
    system->factored = NULL;
  }
  for (int tries = 0; tries < 2; tries++, eval = 1 - eval)
    if (system->known[eval] && (!system->model->driven || system->eval[eval].t == t) &&
        memcmp(q, system->q_at[eval], size) == 0) {
      system->e = &system->eval[eval];
      system->e->t = t;
      return;
    }
  double start = perp_constrained_clock(system);
  if (system->factored == system->e) eval = 1 - eval;
  system->e = &system->eval[eval];
  perp_eval_at(system->e, system->model, t, q);
  memcpy(system->q_at[eval], q, size);
  system->known[eval] = true;
  system->spent.assembly += perp_constrained_clock(system) - start;
}

/* Do redundant joints contradict each other?  Not when the violation r of J a = c is below 1e-3
 * of its sides, nor when what it moves in the step, r h^2 or r h, is explained by the errors
 * that stabilization feeds back, C + h Cdot, as long as these are below 1e-3 of the size of the
 * model. */
static bool constrained_contradicts(perp_constrained *system, perp_level level, double h,
                                    const double *v)
{
  const perp_blocks *blocks = &system->e->blocks;
  double *r = system->violation, scale = 0, size = system->model->size,
         drift = perp_worst(blocks->m, system->e->C);
  if (level == PERP_LEVEL_ACCELERATION) {
    perp_constrained_rate(system, v, r);
    drift += h * perp_worst(blocks->m, r);
  }
  memset(r, 0, (size_t)blocks->m * sizeof *r);
  perp_blocks_J(blocks, 1, system->a, r);
  for (int i = 0; i < blocks->m; i++) {
    scale = fmax(scale, fmax(fabs(r[i]), fabs(system->c[i])));
    r[i] += (blocks->s == NULL ? 0 : blocks->s[i] * system->lambda[i]) - system->c[i];
  }
  double worst = perp_worst(blocks->m, r), reach = level == PERP_LEVEL_ACCELERATION ? h * h : h;
  return worst > 1e-3 * scale &&
         worst * reach > fmin(2 * drift, 1e-3 * size) + 1e-12 * size; /* 1e-12: rounding in C / h */
}

bool perp_constrained_solve(perp_constrained *system, perp_level level, double h, const double *v)
{
  const perp_model *model = system->model;
  if (model->m == 0) {
    perp_blocks_Minv(&system->e->blocks, system->f, system->a);
  } else {
    perp_stats stats;
    system->status = constrained_factor(system, &stats);
    if (system->status == PERP_OK && stats.reason >= 0)
      system->status = constrained_solve(system, system->f, system->c, system->a, system->lambda,
                                         &stats);
    if (stats.reason == PERP_INFEASIBLE && !constrained_contradicts(system, level, h, v)) {
      stats.reason = PERP_REGULARIZED;
      system->count.fallbacks++;
    }
    system->reason = stats.reason;
    if (system->status != PERP_OK || stats.reason < 0) return false;
  }
  if (perp_all_finite(model->nv, system->a)) return true;
  system->reason = PERP_NOT_FINITE;
  return false;
}

bool perp_constrained_response(perp_constrained *system, const double *f, const double *c,
                               double *a, double *lambda)
{
  const perp_model *model = system->model;
  if (model->m == 0) {
    perp_blocks_Minv(&system->e->blocks, f, a);
    return true;
  }
  perp_stats stats;
  memset(lambda, 0, (size_t)model->m * sizeof *lambda);
  system->status = constrained_solve(system, f, c, a, lambda, &stats);
  if (system->status != PERP_OK) return false;
  if (stats.reason >= 0 || stats.reason == PERP_INFEASIBLE) return true;
  system->reason = stats.reason;
  return false;
}

void perp_constrained_product(const perp_constrained *system, const double *v, double *x)
{
  memset(x, 0, (size_t)system->model->m * sizeof *x);
  perp_blocks_J(&system->e->blocks, 1, v, x);
}

void perp_constrained_rate(const perp_constrained *system, const double *v, double *Cdot)
{
  perp_constrained_product(system, v, Cdot);
  for (int i = 0; system->model->driven && i < system->model->m; i++) Cdot[i] += system->e->Ct[i];
}

bool perp_constrained_signals(perp_constrained *system, double t)
{
  const int n = system->model->driven || system->model->surfaces.belts ? 3 : 1;
  double y[3];
  for (int i = 0; i < system->model->signals.n; i++) {
    perp_signal_at(system->model->signals.list[i], t, y);
    if (perp_all_finite(n, y)) continue;
    system->reason = PERP_NOT_FINITE;
    return false;
  }
  return true;
}

void perp_constrained_driven(perp_constrained *system, double t, double scale, double *c)
{
  if (!system->model->driven) return;
  perp_joints_driven(system->model, system->e, t, system->Ct);
  for (int i = 0; i < system->model->m; i++) c[i] -= scale * system->Ct[i];
}

/* Coordinates: loops are closed, and v is projected on the velocities that q allows, in the metric
 * of M, which takes energy and gives none. */
static perp_ode_answer constrained_coordinates(perp_constrained *system, double t, double *q,
                                               double *v)
{
  const int m = system->model->m;
  double last = HUGE_VAL;
  for (int pass = 0;; pass++) {
    perp_stats stats;
    perp_constrained_at(system, t, q);
    perp_constrained_error(system, system->violation);
    const double worst = perp_worst(m, system->violation);
    system->status = constrained_factor(system, &stats);
    if (system->status == PERP_OK && stats.reason < 0) system->reason = stats.reason;
    if (system->status != PERP_OK || stats.reason < 0) return PERP_ODE_FAILED;
    if (pass == CLOSINGS || !(worst > CLOSED * system->model->size && worst < 0.9 * last)) break;
    for (int i = 0; i < m; i++) system->violation[i] *= -1;
    system->coordinates->solve(system, system->zeros, system->violation, system->a);
    system->coordinates->retract(system, q, system->a, q);
    last = worst;
  }
  memset(system->violation, 0, (size_t)m * sizeof *system->violation);
  constrained_armatures(system, 0, v, system->violation);
  perp_blocks_M(&system->e->blocks, v, system->f);
  system->coordinates->solve(system, system->f, system->violation, v);
  return PERP_ODE_CHANGED;
}

/* At a state with positions and velocities of the model; leave: drift of the size of errors. */
static perp_ode_answer constrained_close(perp_constrained *system, double t, bool leave, double *q,
                                         double *v)
{
  const perp_model *model = system->model;
  if (!perp_all_finite(model->nq, q) || !perp_all_finite(model->nv, v)) {
    system->reason = PERP_NOT_FINITE;
    return PERP_ODE_FAILED;
  }
  if (model->m == 0) return PERP_ODE_OK;
  perp_constrained_at(system, t, q);
  perp_constrained_error(system, system->violation);
  system->drift = perp_worst(model->m, system->violation);
  memset(system->impulse, 0, (size_t)model->m * sizeof *system->impulse);
  if (system->coordinates != NULL) return constrained_coordinates(system, t, q, v);
  if (system->stab->post_step == NULL) return PERP_ODE_OK;
  /* A projection takes the history of a multistep method away, which then starts at order one:
   * drift of the size of its errors is left alone, and the part of it that the last projection did
   * not take (of positions alone, say). */
  const double slack = system->slack * model->size;
  if (leave && system->slack != 0 && system->drift <= slack) {
    perp_constrained_rate(system, v, system->Cdot);
    const double rate = fmax(system->rate, constrained_fastest(model, v));
    if (perp_worst(model->m, system->Cdot) <= fmax(slack * rate, 2 * system->rest))
      return PERP_ODE_OK;
  }
  perp_stats stats = { .reason = PERP_EXACT };
  size_t size_q = (size_t)model->nq * sizeof *q, size_v = (size_t)model->nv * sizeof *v;
  memcpy(system->q_before, q, size_q);
  memcpy(system->v_before, v, size_v);
  system->status = system->stab->post_step(system->stab_ws, t, q, v, &stats);
  if (system->status == PERP_OK && stats.reason >= 0) {
    /* a state within the tolerance of the scheme goes on, and multistep methods with their
     * history */
    bool same = memcmp(q, system->q_before, size_q) == 0 &&
                memcmp(v, system->v_before, size_v) == 0;
    if (leave && system->slack > 0) {
      perp_constrained_at(system, t, q);
      perp_constrained_rate(system, v, system->Cdot);
      system->rest = perp_worst(model->m, system->Cdot);
    }
    return same ? PERP_ODE_OK : PERP_ODE_CHANGED;
  }
  if (stats.reason < 0) system->reason = stats.reason;
  return PERP_ODE_FAILED;
}

perp_ode_answer perp_constrained_accept(perp_constrained *system, double t, double *q, double *v)
{
  return constrained_close(system, t, true, q, v);
}

perp_ode_answer perp_constrained_onto(perp_constrained *system, double t, double *q, double *v)
{
  const perp_ode_answer answer = constrained_close(system, t, false, q, v);
  return answer == PERP_ODE_CHANGED ? PERP_ODE_OK : answer;
}

bool perp_constrained_projects(const perp_constrained *system)
{
  return system->stab != NULL && system->stab->post_step != NULL;
}

/* ---- one step ---- */

perp_status perp_constrained_step(perp_ctx *ctx, perp_constrained *system, perp_ode *ode,
                                  double t_max, perp_step_info *info)
{
  double start = perp_constrained_clock(system);
  perp_stats stats = { 0 };
  system->ctx = ctx;
  system->reason = PERP_EXACT;
  system->status = PERP_OK;
  perp_ode_stop stop = perp_ode_step(ctx, ode, t_max, &stats);
  system->spent.step += perp_constrained_clock(system) - start;
  if (stop == PERP_ODE_STOPPED) {
    info->reason = system->reason < 0 ? system->reason : stats.reason;
    if (info->reason >= 0) info->reason = PERP_INVALID_STATE;
    if (system->status != PERP_OK) return system->status;
  } else {
    info->reason = system->reason;
  }
  system->count.reason = info->reason;
  info->drift_pos_pre = system->drift;
  return PERP_OK;
}

void perp_constrained_keep(perp_constrained *system)
{
  const size_t size = (size_t)system->model->nq * sizeof *system->q_at[0];
  for (int eval = 0; eval < 2; eval++) {
    system->kept.known[eval] = system->known[eval];
    system->kept.t[eval] = system->eval[eval].t;
    if (system->known[eval]) memcpy(system->kept.q[eval], system->q_at[eval], size);
  }
  system->kept.current = (int)(system->e - system->eval);
  system->kept.factored = system->factored != NULL ? (int)(system->factored - system->eval) : -1;
  memcpy(system->kept.lambda, system->lambda, (size_t)system->model->m * sizeof *system->lambda);
  system->kept.reason = system->reason;
  system->kept.status = system->status;
  system->kept.count = system->count;
}

void perp_constrained_put_back(perp_constrained *system)
{
  const size_t size = (size_t)system->model->nq * sizeof *system->q_at[0];
  bool moved = system->kept.factored < 0 ||
               system->factored != &system->eval[system->kept.factored];
  for (int eval = 0; eval < 2; eval++) {
    system->known[eval] = system->kept.known[eval];
    const bool same = !system->model->driven || system->eval[eval].t == system->kept.t[eval];
    if (same) system->eval[eval].t = system->kept.t[eval];
    if (!system->known[eval] ||
        (same && memcmp(system->q_at[eval], system->kept.q[eval], size) == 0))
      continue;
    perp_eval_at(&system->eval[eval], system->model, system->kept.t[eval], system->kept.q[eval]);
    memcpy(system->q_at[eval], system->kept.q[eval], size);
    moved = moved || eval == system->kept.factored;
  }
  if (moved) system->factored = NULL;
  if (moved && system->kept.factored >= 0) {
    perp_stats stats;
    system->e = &system->eval[system->kept.factored];
    constrained_factor(system, &stats); /* as it was made before */
  }
  system->e = &system->eval[system->kept.current];
  memcpy(system->lambda, system->kept.lambda, (size_t)system->model->m * sizeof *system->lambda);
  system->reason = system->kept.reason;
  system->status = system->kept.status;
  system->count = system->kept.count;
}

void perp_constrained_timing(perp_constrained *system, bool on, perp_times *times)
{
  if (times != NULL)
    *times = (perp_times){ .assembly = system->spent.assembly,
                           .kkt = system->spent.kkt,
                           .integrate = system->spent.step - system->spent.assembly -
                                        system->spent.kkt };
  system->timing = on;
}
