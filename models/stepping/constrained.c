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

void perp_constrained_retract(perp_constrained *k, const double *q, const double *dq, double *q_out)
{
  if (k->coordinates != NULL)
    k->coordinates->retract(k, q, dq, q_out);
  else
    perp_model_retract(k->model, q, dq, q_out);
}

/* ---- what the stabilization scheme may ask ---- */

static void stab_error(void *user, double t, const double *q, double *C)
{
  perp_constrained *k = user;
  perp_constrained_at(k, t, q);
  perp_constrained_error(k, C);
}

static void stab_retract(void *user, const double *q, const double *dq, double *q_out)
{
  perp_model_retract(((const perp_constrained *)user)->model, q, dq, q_out);
}

static void stab_rate(void *user, double t, const double *q, const double *v, double *Cdot)
{
  perp_constrained *k = user;
  perp_constrained_at(k, t, q);
  perp_constrained_rate(k, v, Cdot);
  perp_model_rigid_rows(k->model, Cdot);
}

static void constrained_count(perp_constrained *k, const perp_stats *stats)
{
  k->count.factorizations += stats->factorizations;
  k->count.fallbacks += stats->fallbacks;
  k->count.iterations += stats->iterations;
  k->count.matvecs += stats->matvecs;
  k->count.work += stats->work;
}

static perp_status constrained_factor(perp_constrained *k, perp_stats *stats)
{
  double start = perp_constrained_clock(k);
  *stats = (perp_stats){ 0 };
  if (k->factored == k->e) {
    stats->reason = k->factor_reason;
    return PERP_OK;
  }
  perp_status status = PERP_OK;
  if (k->coordinates != NULL)
    *stats = (perp_stats){ .reason = k->coordinates->factor(k, k->q_at[k->e - k->eval]),
                           .factorizations = 1 };
  else
    status = perp_kkt_factor(k->ctx, k->kkt, &k->e->blocks, stats);
  constrained_count(k, stats);
  k->factor_reason = stats->reason;
  k->factored = status == PERP_OK && stats->reason > 0 ? k->e : NULL;
  k->spent.kkt += perp_constrained_clock(k) - start;
  return status;
}

/* with the factor, wherever it was made */
static perp_status constrained_solve(perp_constrained *k, const double *f, const double *c,
                                     double *a, double *lambda, perp_stats *stats)
{
  const perp_blocks *B = k->factored != NULL ? &k->factored->blocks : &k->unweighted;
  double start = perp_constrained_clock(k);
  *stats = (perp_stats){ 0 };
  perp_status status = PERP_OK;
  if (k->coordinates != NULL)
    stats->reason = k->coordinates->solve(k, f, c, a);
  else
    status = perp_kkt_solve(k->ctx, k->kkt, B, f, c, a, lambda, stats);
  constrained_count(k, stats);
  k->spent.kkt += perp_constrained_clock(k) - start;
  return status;
}

/* A correction of the state is a least-squares one anyway.  It has nothing to do with the one
 * before: the first guess of iterative methods is zero. */
static perp_status solve_projection(perp_constrained *k, const double *c, double *x, double *lambda,
                                    perp_stats *stats)
{
  memset(lambda, 0, (size_t)k->model->m * sizeof *lambda);
  perp_status status = constrained_solve(k, k->zeros, c, x, lambda, stats);
  if (stats->reason == PERP_INFEASIBLE) {
    stats->reason = PERP_REGULARIZED;
    k->count.fallbacks++;
  }
  return status;
}

static perp_status stab_linearize(void *user, double t, const double *q, perp_stats *stats)
{
  perp_constrained *k = user;
  perp_constrained_at(k, t, q);
  k->start_h = 0;
  if (k->unit == NULL) return constrained_factor(k, stats);
  const double start = perp_constrained_clock(k);
  k->factored = NULL; /* that of M is overwritten */
  k->unweighted = k->e->blocks;
  k->unweighted.M = k->unweighted.Minv = k->unit;
  k->unweighted.flat = NULL;
  *stats = (perp_stats){ 0 };
  const perp_status status = perp_kkt_factor(k->ctx, k->kkt, &k->unweighted, stats);
  constrained_count(k, stats);
  k->spent.kkt += perp_constrained_clock(k) - start;
  return status;
}

static perp_status stab_unweighted(perp_ctx *ctx, void *user)
{
  perp_constrained *k = user;
  const perp_model *model = k->model;
  const perp_blocks *B = &k->e->blocks;
  if (model->soft.springs || k->coordinates != NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "corrections that are not weighted by the masses serve rigid joints alone: "
                     "soft joints and joint coordinates need weight=mass");
  k->unit = calloc((size_t)B->mptr[B->nb] + 1, sizeof *k->unit);
  if (k->unit == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the identity");
  for (int b = 0; b < B->nb; b++) {
    const int n = B->bptr[b + 1] - B->bptr[b];
    for (int i = 0; i < n; i++) k->unit[B->mptr[b] + i * (n + 1)] = 1;
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
  perp_constrained *k = user;
  *h = k->start_h;
  if (*h == 0) { /* no step has been made yet: the state at hand is all there is */
    PERP_TRY(constrained_factor(k, stats));
    if (stats->reason < 0) return PERP_OK;
  }
  return solve_projection(k, c, x, lambda, stats);
}

/* ---- springs ---- */

static void set_softness(perp_constrained *k, double h)
{
  const perp_model *m = k->model;
  for (int i = 0; i < m->m; i++) {
    k->S[i] = m->soft.softness[i];
    if (perp_row_springs(m, i))
      k->S[i] += 1 / (h * (h * m->soft.stiffness[i] + m->soft.damping[i]));
  }
  k->S_h = h;
  k->factored = NULL;
}

void perp_constrained_error(const perp_constrained *k, double *C)
{
  memcpy(C, k->e->C, (size_t)k->model->m * sizeof *C);
  perp_model_rigid_rows(k->model, C);
}

static void stab_impulse(void *user, double scale, const double *lambda)
{
  perp_constrained *k = user;
  for (int i = 0; i < k->model->m; i++) k->impulse[i] += scale * lambda[i];
}

double perp_constrained_feedback_step(const perp_constrained *k, perp_level level, double h)
{
  if (k->tol > 0 && level == PERP_LEVEL_ACCELERATION) return 1 / (STEPS * k->rate);
  if (k->tol > 0 && k->lags) return fmax(h, 1 / (STEPS * k->rate));
  return h;
}

bool perp_constrained_flows(const perp_constrained *k)
{
  return k->model->m > 0 && k->stab->flow != NULL;
}

const double *perp_constrained_flow(perp_constrained *k, double h, const double *v)
{
  if (!perp_constrained_flows(k)) return v;
  const double rate = k->stab->flow(k->stab_ws,
                                    perp_constrained_feedback_step(k, PERP_LEVEL_ACCELERATION, h));
  perp_constrained_error(k, k->violation);
  for (int i = 0; i < k->model->m; i++) k->violation[i] *= -rate;
  if (!perp_constrained_response(k, k->zeros, k->violation, k->v_before, k->impulse)) return NULL;
  for (int i = 0; i < k->model->nv; i++) k->v_before[i] += v[i];
  return k->v_before;
}

/* y [m] += J v - h Jdot v in the rows of armatures: J v+ of them but for their impulse */
static void constrained_armatures(const perp_constrained *k, double h, const double *v, double *y)
{
  const perp_model *m = k->model;
  for (int i = 0; m->soft.armatures && i < m->n_joints; i++) {
    if (m->joint[i].inertial && h > 0)
      y[m->joint[i].row] -= h * perp_axes_bias(m, &m->joint[i], k->e, v);
    for (int s = m->pattern.jptr[i]; m->joint[i].inertial && s < m->pattern.jptr[i + 1]; s++)
      for (int c = 0; c < m->nvb; c++)
        y[m->joint[i].row] += k->e->J[m->pattern.joff[s] + c] * v[m->pattern.jblk[s] * m->nvb + c];
  }
}

void perp_constrained_feedback(perp_constrained *k, perp_level level, double h, const double *v)
{
  const perp_model *m = k->model;
  const double *C = k->e->C;
  if (m->m == 0 || (k->stab->rhs == NULL && !m->soft.springs && !m->soft.armatures)) return;
  /* on the velocity level the rate is not defined before v+ is known: zeros */
  if (level == PERP_LEVEL_ACCELERATION) perp_constrained_rate(k, v, k->Cdot);
  if (m->soft.springs || m->soft.armatures) memcpy(k->violation, k->c, (size_t)m->m * sizeof *k->c);
  const double step = perp_constrained_feedback_step(k, level, h);
  if (k->stab->rhs != NULL) k->stab->rhs(k->stab_ws, level, step, C, k->Cdot, k->c);
  if (m->soft.armatures) { /* no feedback acts on them */
    for (int i = 0; i < m->n_joints; i++)
      if (m->joint[i].inertial) k->c[m->joint[i].row] = k->violation[m->joint[i].row];
    if (level == PERP_LEVEL_VELOCITY) constrained_armatures(k, h, v, k->c);
  }
  if (!m->soft.springs) return;
  if (k->S_h != h) set_softness(k, h);
  for (int i = 0; i < m->m; i++) {
    if (!perp_row_springs(m, i)) continue;
    const double b = h * m->soft.stiffness[i] + m->soft.damping[i];
    k->c[i] = k->violation[i] - (level == PERP_LEVEL_VELOCITY
                                     ? m->soft.stiffness[i] * C[i] / b
                                     : (m->soft.stiffness[i] * C[i] / b + k->Cdot[i]) / h);
  }
}

/* ---- life ---- */

void perp_constrained_layout(perp_constrained *k, const perp_model *model, perp_arena *a)
{
  for (int i = 0; i < 2; i++) {
    perp_eval_layout(&k->eval[i], model, a);
    k->q_at[i] = PERP_CARVE(a, double, model->nq);
    k->kept.q[i] = PERP_CARVE(a, double, model->nq);
  }
  PERP_DOUBLES(a, model->nv, &k->f, &k->a, &k->zeros);
  k->q_before = PERP_CARVE(a, double, model->nq);
  k->v_before = PERP_CARVE(a, double, model->nv);
  PERP_DOUBLES(a, model->m, &k->c, &k->lambda, &k->kept.lambda, &k->Cdot, &k->violation,
               &k->impulse);
  k->S = PERP_CARVE(a, double, model->soft.springs || k->softens ? model->m : 0);
  k->Ct = PERP_CARVE(a, double, model->driven ? model->m : 0);
}

perp_status perp_constrained_create(perp_ctx *ctx, perp_constrained *k, const perp_model *model,
                                    const perp_parts *parts, bool keeps_start)
{
  k->ctx = ctx;
  k->model = model;
  for (int i = 0; i < 2; i++) perp_eval_init(&k->eval[i], model);
  k->e = &k->eval[0];
  memset(k->zeros, 0, (size_t)model->nv * sizeof *k->zeros);
  memset(k->Cdot, 0, (size_t)model->m * sizeof *k->Cdot);
  k->stab_sys = (perp_stab_sys){
    .nq = model->nq,
    .nv = model->nv,
    .m = model->m,
    .user = k,
    .error = stab_error,
    .rate = stab_rate,
    .linearize = stab_linearize,
    .solve = stab_solve,
    .retract = stab_retract,
    .solve_start = keeps_start ? stab_solve_start : NULL,
    .impulse = stab_impulse,
    .unweighted = stab_unweighted,
  };
  perp_constrained_restart(k);
  if (model->soft.springs) { /* with S of a step of 1 s until there is one */
    set_softness(k, 1);
    for (int i = 0; i < 2; i++) k->eval[i].blocks.s = k->S;
  }
  if (k->softens) {
    for (int i = 0; i < model->m; i++) k->S[i] = 1;
    for (int i = 0; i < 2; i++) k->eval[i].blocks.s = k->S;
  }
  const perp_ode_control *control = parts->ode.opts; /* of every ODE method the first member */
  if (control != NULL && parts->ode.d != NULL) {
    k->tol = perp_ode_tol(&parts->ode);
    k->slack = perp_ode_slack(&parts->ode);
    k->lags = !(parts->ode.d->caps & PERP_ODE_SYMPLECTIC);
  }
  k->rate = 1;
  if (model->m == 0) return PERP_OK;
  if (k->coordinates == NULL) PERP_TRY(perp_kkt_create(ctx, &parts->kkt, &k->e->blocks, &k->kkt));
  k->stab = (const perp_stab_desc *)parts->stab.d;
  return k->stab->create(ctx, &k->stab_sys, parts->stab.opts, &k->stab_ws);
}

void perp_constrained_destroy(perp_constrained *k)
{
  perp_kkt_destroy(k->kkt);
  if (k->stab != NULL) k->stab->destroy(k->stab_ws);
  free(k->unit);
}

void perp_constrained_restart(perp_constrained *k)
{
  k->known[0] = k->known[1] = false;
  k->factored = NULL;
  k->start_h = 0;
  k->drift = k->rest = 0;
  k->reason = PERP_EXACT;
  k->status = PERP_OK;
  k->count = (perp_stats){ .reason = PERP_EXACT, .residual = (double)NAN };
  k->spent.assembly = k->spent.kkt = k->spent.step = 0;
  memset(k->lambda, 0, (size_t)k->model->m * sizeof *k->lambda);
}

/* of the fastest point, 1/s */
static double constrained_fastest(const perp_model *model, const double *v)
{
  const double size = model->size > 0 ? model->size : 1;
  double rate = 0;
  for (int b = 0; b < model->n_bodies; b++)
    rate = fmax(rate, perp_point_speed(model->dim, v + model->nvb * b, size) / size);
  return rate;
}

void perp_constrained_begin(perp_constrained *k, const double *v)
{
  const double size = k->model->size > 0 ? k->model->size : 1;
  k->rate = fmax(sqrt(fabs(perp_model_gravity_at(k->model, 0)) / size),
                 constrained_fastest(k->model, v));
  if (!(k->rate > 0)) k->rate = 1;
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

void perp_constrained_at(perp_constrained *k, double t, const double *q)
{
  size_t size = (size_t)k->model->nq * sizeof *q;
  int i = (int)(k->e - k->eval);
  if (k->model->sim.dropped != NULL &&
      k->set != k->model->sim.dropped->set) { /* other rows than before */
    k->set = k->model->sim.dropped->set;
    k->known[0] = k->known[1] = false;
    k->factored = NULL;
    k->S_h = 0;
  }
  if (k->model->sim.chain_set != NULL && k->chain_set != *k->model->sim.chain_set) {
    k->chain_set = *k->model->sim.chain_set; /* other combinations of the same rows */
    k->known[0] = k->known[1] = false;
    k->factored = NULL;
  }
  for (int tries = 0; tries < 2; tries++, i = 1 - i)
    if (k->known[i] && (!k->model->driven || k->eval[i].t == t) &&
        memcmp(q, k->q_at[i], size) == 0) {
      k->e = &k->eval[i];
      k->e->t = t;
      return;
    }
  double start = perp_constrained_clock(k);
  if (k->factored == k->e) i = 1 - i;
  k->e = &k->eval[i];
  perp_eval_at(k->e, k->model, t, q);
  memcpy(k->q_at[i], q, size);
  k->known[i] = true;
  k->spent.assembly += perp_constrained_clock(k) - start;
}

/* Do redundant joints contradict each other?  Not when the violation r of J a = c is below 1e-3
 * of its sides, nor when what it moves in the step, r h^2 or r h, is explained by the errors
 * that stabilization feeds back, C + h Cdot, as long as these are below 1e-3 of the size of the
 * model. */
static bool constrained_contradicts(perp_constrained *k, perp_level level, double h,
                                    const double *v)
{
  const perp_blocks *B = &k->e->blocks;
  double *r = k->violation, scale = 0, size = k->model->size, drift = perp_worst(B->m, k->e->C);
  if (level == PERP_LEVEL_ACCELERATION) {
    perp_constrained_rate(k, v, r);
    drift += h * perp_worst(B->m, r);
  }
  memset(r, 0, (size_t)B->m * sizeof *r);
  perp_blocks_J(B, 1, k->a, r);
  for (int i = 0; i < B->m; i++) {
    scale = fmax(scale, fmax(fabs(r[i]), fabs(k->c[i])));
    r[i] += (B->s == NULL ? 0 : B->s[i] * k->lambda[i]) - k->c[i];
  }
  double worst = perp_worst(B->m, r), reach = level == PERP_LEVEL_ACCELERATION ? h * h : h;
  return worst > 1e-3 * scale &&
         worst * reach > fmin(2 * drift, 1e-3 * size) + 1e-12 * size; /* 1e-12: rounding in C / h */
}

bool perp_constrained_solve(perp_constrained *k, perp_level level, double h, const double *v)
{
  const perp_model *model = k->model;
  if (model->m == 0) {
    perp_blocks_Minv(&k->e->blocks, k->f, k->a);
  } else {
    perp_stats stats;
    k->status = constrained_factor(k, &stats);
    if (k->status == PERP_OK && stats.reason >= 0)
      k->status = constrained_solve(k, k->f, k->c, k->a, k->lambda, &stats);
    if (stats.reason == PERP_INFEASIBLE && !constrained_contradicts(k, level, h, v)) {
      stats.reason = PERP_REGULARIZED;
      k->count.fallbacks++;
    }
    k->reason = stats.reason;
    if (k->status != PERP_OK || stats.reason < 0) return false;
  }
  if (perp_all_finite(model->nv, k->a)) return true;
  k->reason = PERP_NOT_FINITE;
  return false;
}

bool perp_constrained_response(perp_constrained *k, const double *f, const double *c, double *a,
                               double *lambda)
{
  const perp_model *model = k->model;
  if (model->m == 0) {
    perp_blocks_Minv(&k->e->blocks, f, a);
    return true;
  }
  perp_stats stats;
  memset(lambda, 0, (size_t)model->m * sizeof *lambda);
  k->status = constrained_solve(k, f, c, a, lambda, &stats);
  if (k->status != PERP_OK) return false;
  if (stats.reason >= 0 || stats.reason == PERP_INFEASIBLE) return true;
  k->reason = stats.reason;
  return false;
}

void perp_constrained_product(const perp_constrained *k, const double *v, double *x)
{
  memset(x, 0, (size_t)k->model->m * sizeof *x);
  perp_blocks_J(&k->e->blocks, 1, v, x);
}

void perp_constrained_rate(const perp_constrained *k, const double *v, double *Cdot)
{
  perp_constrained_product(k, v, Cdot);
  for (int i = 0; k->model->driven && i < k->model->m; i++) Cdot[i] += k->e->Ct[i];
}

bool perp_constrained_signals(perp_constrained *k, double t)
{
  const int n = k->model->driven || k->model->surfaces.belts ? 3 : 1;
  double y[3];
  for (int i = 0; i < k->model->signals.n; i++) {
    perp_signal_at(k->model->signals.list[i], t, y);
    if (perp_all_finite(n, y)) continue;
    k->reason = PERP_NOT_FINITE;
    return false;
  }
  return true;
}

void perp_constrained_driven(perp_constrained *k, double t, double scale, double *c)
{
  if (!k->model->driven) return;
  perp_joints_driven(k->model, k->e, t, k->Ct);
  for (int i = 0; i < k->model->m; i++) c[i] -= scale * k->Ct[i];
}

/* Coordinates: loops are closed, and v is projected on the velocities that q allows, in the metric
 * of M, which takes energy and gives none. */
static perp_ode_answer constrained_coordinates(perp_constrained *k, double t, double *q, double *v)
{
  const int m = k->model->m;
  double last = HUGE_VAL;
  for (int pass = 0;; pass++) {
    perp_stats stats;
    perp_constrained_at(k, t, q);
    perp_constrained_error(k, k->violation);
    const double worst = perp_worst(m, k->violation);
    k->status = constrained_factor(k, &stats);
    if (k->status == PERP_OK && stats.reason < 0) k->reason = stats.reason;
    if (k->status != PERP_OK || stats.reason < 0) return PERP_ODE_FAILED;
    if (pass == CLOSINGS || !(worst > CLOSED * k->model->size && worst < 0.9 * last)) break;
    for (int i = 0; i < m; i++) k->violation[i] *= -1;
    k->coordinates->solve(k, k->zeros, k->violation, k->a);
    k->coordinates->retract(k, q, k->a, q);
    last = worst;
  }
  memset(k->violation, 0, (size_t)m * sizeof *k->violation);
  constrained_armatures(k, 0, v, k->violation);
  perp_blocks_M(&k->e->blocks, v, k->f);
  k->coordinates->solve(k, k->f, k->violation, v);
  return PERP_ODE_CHANGED;
}

/* At a state with positions and velocities of the model; leave: drift of the size of errors. */
static perp_ode_answer constrained_close(perp_constrained *k, double t, bool leave, double *q,
                                         double *v)
{
  const perp_model *model = k->model;
  if (!perp_all_finite(model->nq, q) || !perp_all_finite(model->nv, v)) {
    k->reason = PERP_NOT_FINITE;
    return PERP_ODE_FAILED;
  }
  if (model->m == 0) return PERP_ODE_OK;
  perp_constrained_at(k, t, q);
  perp_constrained_error(k, k->violation);
  k->drift = perp_worst(model->m, k->violation);
  memset(k->impulse, 0, (size_t)model->m * sizeof *k->impulse);
  if (k->coordinates != NULL) return constrained_coordinates(k, t, q, v);
  if (k->stab->post_step == NULL) return PERP_ODE_OK;
  /* A projection takes the history of a multistep method away, which then starts at order one:
   * drift of the size of its errors is left alone, and the part of it that the last projection did
   * not take (of positions alone, say). */
  const double slack = k->slack * model->size;
  if (leave && k->slack != 0 && k->drift <= slack) {
    perp_constrained_rate(k, v, k->Cdot);
    const double rate = fmax(k->rate, constrained_fastest(model, v));
    if (perp_worst(model->m, k->Cdot) <= fmax(slack * rate, 2 * k->rest)) return PERP_ODE_OK;
  }
  perp_stats stats = { .reason = PERP_EXACT };
  size_t size_q = (size_t)model->nq * sizeof *q, size_v = (size_t)model->nv * sizeof *v;
  memcpy(k->q_before, q, size_q);
  memcpy(k->v_before, v, size_v);
  k->status = k->stab->post_step(k->stab_ws, t, q, v, &stats);
  if (k->status == PERP_OK && stats.reason >= 0) {
    /* a state within the tolerance of the scheme goes on, and multistep methods with their
     * history */
    bool same = memcmp(q, k->q_before, size_q) == 0 && memcmp(v, k->v_before, size_v) == 0;
    if (leave && k->slack > 0) {
      perp_constrained_at(k, t, q);
      perp_constrained_rate(k, v, k->Cdot);
      k->rest = perp_worst(model->m, k->Cdot);
    }
    return same ? PERP_ODE_OK : PERP_ODE_CHANGED;
  }
  if (stats.reason < 0) k->reason = stats.reason;
  return PERP_ODE_FAILED;
}

perp_ode_answer perp_constrained_accept(perp_constrained *k, double t, double *q, double *v)
{
  return constrained_close(k, t, true, q, v);
}

perp_ode_answer perp_constrained_onto(perp_constrained *k, double t, double *q, double *v)
{
  const perp_ode_answer answer = constrained_close(k, t, false, q, v);
  return answer == PERP_ODE_CHANGED ? PERP_ODE_OK : answer;
}

bool perp_constrained_projects(const perp_constrained *k)
{
  return k->stab != NULL && k->stab->post_step != NULL;
}

/* ---- one step ---- */

perp_status perp_constrained_step(perp_ctx *ctx, perp_constrained *k, perp_ode *ode, double t_max,
                                  perp_step_info *info)
{
  double start = perp_constrained_clock(k);
  perp_stats stats = { 0 };
  k->ctx = ctx;
  k->reason = PERP_EXACT;
  k->status = PERP_OK;
  perp_ode_stop stop = perp_ode_step(ctx, ode, t_max, &stats);
  k->spent.step += perp_constrained_clock(k) - start;
  if (stop == PERP_ODE_STOPPED) {
    info->reason = k->reason < 0 ? k->reason : stats.reason;
    if (info->reason >= 0) info->reason = PERP_INVALID_STATE;
    if (k->status != PERP_OK) return k->status;
  } else {
    info->reason = k->reason;
  }
  k->count.reason = info->reason;
  info->drift_pos_pre = k->drift;
  return PERP_OK;
}

void perp_constrained_keep(perp_constrained *k)
{
  const size_t size = (size_t)k->model->nq * sizeof *k->q_at[0];
  for (int i = 0; i < 2; i++) {
    k->kept.known[i] = k->known[i];
    k->kept.t[i] = k->eval[i].t;
    if (k->known[i]) memcpy(k->kept.q[i], k->q_at[i], size);
  }
  k->kept.current = (int)(k->e - k->eval);
  k->kept.factored = k->factored != NULL ? (int)(k->factored - k->eval) : -1;
  memcpy(k->kept.lambda, k->lambda, (size_t)k->model->m * sizeof *k->lambda);
  k->kept.reason = k->reason;
  k->kept.status = k->status;
  k->kept.count = k->count;
}

void perp_constrained_put_back(perp_constrained *k)
{
  const size_t size = (size_t)k->model->nq * sizeof *k->q_at[0];
  bool moved = k->kept.factored < 0 || k->factored != &k->eval[k->kept.factored];
  for (int i = 0; i < 2; i++) {
    k->known[i] = k->kept.known[i];
    const bool same = !k->model->driven || k->eval[i].t == k->kept.t[i];
    if (same) k->eval[i].t = k->kept.t[i];
    if (!k->known[i] || (same && memcmp(k->q_at[i], k->kept.q[i], size) == 0)) continue;
    perp_eval_at(&k->eval[i], k->model, k->kept.t[i], k->kept.q[i]);
    memcpy(k->q_at[i], k->kept.q[i], size);
    moved = moved || i == k->kept.factored;
  }
  if (moved) k->factored = NULL;
  if (moved && k->kept.factored >= 0) {
    perp_stats stats;
    k->e = &k->eval[k->kept.factored];
    constrained_factor(k, &stats); /* as it was made before */
  }
  k->e = &k->eval[k->kept.current];
  memcpy(k->lambda, k->kept.lambda, (size_t)k->model->m * sizeof *k->lambda);
  k->reason = k->kept.reason;
  k->status = k->kept.status;
  k->count = k->kept.count;
}

void perp_constrained_timing(perp_constrained *k, bool on, perp_times *times)
{
  if (times != NULL)
    *times = (perp_times){ .assembly = k->spent.assembly,
                           .kkt = k->spent.kkt,
                           .integrate = k->spent.step - k->spent.assembly - k->spent.kkt };
  k->timing = on;
}
