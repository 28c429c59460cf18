/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of the velocity level in time: on the grid of fixed steps, in parts, halved where they end
 * in penetration; or, where the ODE method has a tolerance, as its error control chooses them. */
#include "models/contact/step/stepping.h"

#include <stdlib.h>
#include <string.h>

extern const perp_stab_desc perp_stab_none;

static const double NARROW = 1e-12; /* of a step: so short is no half of it */

static const char *stepping_method(const perp_stepping *w)
{
  return w->symplectic ? "symplectic-euler" : "euler";
}

/* ---- life ---- */

void perp_stepping_layout(void *ws, perp_arena *a)
{
  perp_stepping *w = ws;
  const perp_model *model = w->k.model;
  const int n = model->nq + model->nv;
  perp_constrained_layout(&w->k, model, a);
  PERP_DOUBLES(a, n, &w->y, &w->y1);
  w->dq = PERP_CARVE(a, double, model->nq);
  w->lambda = PERP_CARVE(a, double, model->m);
  w->parts.lambda = PERP_CARVE(a, double, w->parts.n > 1 ? model->m : 0);
  w->parts.drive = PERP_CARVE(a, double, w->parts.n > 1 ? model->n_drives : 0);
}

void perp_stepping_destroy(void *ws)
{
  perp_stepping *w = ws;
  if (w == NULL) return;
  perp_ode_destroy(w->ode);
  perp_contacts_destroy(w->contacts);
  perp_drives_destroy(w->drives);
  perp_constrained_destroy(&w->k);
  free(w);
}

/* The step as the error control of the ODE method asks for it: v+ by its mean acceleration. */
static perp_ode_answer stepping_acceleration(void *user, double t, double h, const double *q,
                                             const double *v, bool intermediate, double *qdot,
                                             double *a)
{
  perp_stepping *w = user;
  (void)intermediate;
  if (!perp_velocity_step_acceleration(w, t, h, q, v, a)) return PERP_ODE_FAILED;
  if (qdot != NULL) perp_model_qdot(w->k.model, q, v, qdot);
  return PERP_ODE_OK;
}

static perp_ode_answer stepping_accept(void *user, double t, double *q, double *v)
{
  return perp_velocity_step_end(user, t, q, v);
}

static void stepping_retract(void *user, const double *q, const double *dq, double *q_out)
{
  perp_constrained_retract(&((perp_stepping *)user)->k, q, dq, q_out);
}

/* h: of a part */
static perp_status stepping_open_time(perp_ctx *ctx, perp_stepping *w, const perp_spec *ode,
                                      double h)
{
  perp_ode_sys sys = perp_formulation_ode_sys(w);
  sys.caps |= PERP_ODE_SYS_VELOCITY_LEVEL;
  sys.retract = stepping_retract;
  sys.deriv = stepping_acceleration;
  sys.accept = stepping_accept;
  w->symplectic = ode->d->caps & PERP_ODE_SYMPLECTIC;
  w->grid.h = h;
  return perp_ode_tol(ode) > 0 ? perp_ode_create(ctx, ode, &sys, h, &w->ode)
                               : perp_ode_check(ctx, ode, &sys, h);
}

static perp_status stepping_open(perp_ctx *ctx, perp_stepping *w, const perp_parts *parts,
                                 const perp_contact_opts *contact, double h)
{
  const perp_model *model = w->k.model;
  const perp_compliance rigid = { 0 };
  const bool exact = w->k.coordinates != NULL;
  perp_parts joints = *parts;
  if (exact) joints.stab = (perp_spec){ &perp_stab_none.d, NULL };
  w->gyro = contact != NULL ? contact->gyro : PERP_GYRO_EXPLICIT;
  PERP_TRY(perp_constrained_create(ctx, &w->k, model, &joints, !exact));
  if (model->n_shapes > 0) {
    PERP_TRY(perp_contacts_create(ctx, model, parts, contact, &w->contacts));
    w->halvings.most = contact->halvings;
  }
  if (model->n_drives > 0)
    PERP_TRY(perp_drives_create(ctx, model, parts, contact != NULL ? &contact->compliance : &rigid,
                                PERP_CONTACT_TOL_DATA,
                                contact != NULL ? contact->budget : PERP_STEP_BUDGET, &w->drives));
  if (w->drives != NULL && contact != NULL && contact->servo == PERP_SERVO_SYMPLECTIC)
    perp_drives_symplectic(w->drives);
  return stepping_open_time(ctx, w, &parts->ode, h / w->parts.n);
}

perp_status perp_stepping_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                                 const perp_contact_opts *contact, double h, perp_stepping *like,
                                 size_t size, perp_layout_fn *layout, void **ws)
{
  *ws = NULL;
  if (!(parts->ode.d->caps & PERP_ODE_ONE_EVALUATION))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "formulation %s needs an ODE method with one evaluation per step (euler, "
                     "symplectic-euler): '%s' uses more; use --formulation acceleration with it",
                     parts->formulation.d->name, parts->ode.d->name);
  like->k.model = model;
  like->parts.n = contact != NULL ? contact->substeps : 1;
  PERP_TRY(perp_workspace_create(ctx, parts->formulation.d->name, like, size, layout, ws));
  const perp_status status = stepping_open(ctx, *ws, parts, contact, h);
  if (status == PERP_OK) return PERP_OK;
  perp_stepping_destroy(*ws);
  *ws = NULL;
  return status;
}

perp_status perp_stepping_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                  const double *v)
{
  perp_stepping *w = ws;
  const perp_model *model = w->k.model;
  perp_constrained_restart(&w->k);
  if (w->contacts != NULL) perp_contacts_restart(w->contacts);
  if (w->drives != NULL) perp_drives_restart(w->drives);
  w->h = 0;
  w->halvings.before = w->halvings.now = 0;
  memset(w->lambda, 0, (size_t)model->m * sizeof *w->lambda);
  memcpy(w->y1, q, (size_t)model->nq * sizeof *q);
  PERP_TRY(perp_constrained_check_start(ctx, model, w->y1, v));
  w->unknown = 0;
  for (int i = 0; i < model->nv && model->m > 0; i++)
    if (v[i] != 0) w->unknown = w->k.stab->d.caps & PERP_STAB_FEEDBACK ? 2 : 1;
  return perp_stepping_at(ctx, w, t, w->y1, v);
}

perp_status perp_stepping_at(perp_ctx *ctx, perp_stepping *w, double t, const double *q,
                             const double *v)
{
  const int nq = w->k.model->nq, nv = w->k.model->nv;
  w->k.ctx = ctx;
  w->k.start_h = 0; /* no factor of the start of a step */
  w->k.factored = NULL;
  if (w->ode != NULL) return perp_ode_restart(ctx, w->ode, t, q, v);
  memcpy(w->y, q, (size_t)nq * sizeof *q);
  memcpy(w->y + nq, v, (size_t)nv * sizeof *v);
  if (!isfinite(t) || !perp_all_finite(nq + nv, w->y))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the initial state is not finite (t = %g s)",
                     stepping_method(w), t);
  const perp_ode_answer answer = perp_velocity_step_end(w, t, w->y, w->y + nq);
  if ((answer != PERP_ODE_OK && answer != PERP_ODE_CHANGED) || !perp_all_finite(nq + nv, w->y))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the initial state is not valid (t = %g s)",
                     stepping_method(w), t);
  w->count.changed += answer == PERP_ODE_CHANGED;
  w->count.restarts++;
  w->t = t;
  w->grid = (perp_ode_grid){ .h = w->grid.h, .t_0 = t };
  return PERP_OK;
}

/* ---- steps ---- */

static void stepping_count(perp_ode_counters *count, double h)
{
  count->h_least = count->steps == 0 ? h : fmin(count->h_least, h);
  count->h_most = fmax(count->h_most, h);
  count->steps++;
}

/* A step of the grid towards t_max > t, halved while it ends in penetration (Cline 2002, section
 * 4.1).  Returns PERP_EXACT, or why there is none: the state stays. */
static perp_reason stepping_fixed(perp_stepping *w, double t_max)
{
  const int nq = w->k.model->nq, n = nq + w->k.model->nv;
  perp_ode_grid_step step = perp_ode_grid_next(&w->grid, w->t, t_max);
  const double enough = fmax(NARROW * step.h, 4 * DBL_EPSILON * fabs(w->t));
  perp_ode_answer answer;
  if (!(w->t + step.h > w->t)) return PERP_STEP_TOO_SMALL;
  for (bool halved = false;; halved = true) {
    memcpy(w->y1, w->y, (size_t)n * sizeof *w->y);
    answer = perp_velocity_step(w, w->t, step.h, step.t_new, w->y1, w->y1 + nq);
    if (answer != PERP_ODE_INVALID && !(halved && answer == PERP_ODE_FAILED)) break;
    if (!(step.h > enough)) return PERP_INVALID_STATE;
    step = (perp_ode_grid_step){ .h = 0.5 * step.h, .t_new = w->t + 0.5 * step.h };
    w->count.rejected++;
  }
  if (answer == PERP_ODE_FAILED) return PERP_SINGULAR;
  double *y = w->y;
  w->y = w->y1;
  w->y1 = y;
  w->t = step.t_new;
  w->grid.k += step.whole;
  w->count.changed += answer == PERP_ODE_CHANGED;
  if (w->parts.n == 1) stepping_count(&w->count, step.h);
  PERP_TRACE(w->k.ctx, .method = stepping_method(w),
             .what = answer == PERP_ODE_CHANGED ? "changed" : "step",
             .iteration = (int)w->count.steps, .entering = -1, .leaving = -1, .step = step.h,
             .residual = (double)NAN, .n = n, .x = w->y);
  return PERP_EXACT;
}

static double stepping_time(const perp_stepping *w)
{
  return w->ode != NULL ? perp_ode_time(w->ode) : w->t;
}

/* One step, or a part of one. */
static perp_status stepping_once(perp_ctx *ctx, perp_stepping *w, double t_max,
                                 perp_step_info *info)
{
  perp_constrained *k = &w->k;
  if (w->ode != NULL) return perp_constrained_step(ctx, k, w->ode, t_max, info);
  const double start = perp_constrained_clock(k);
  k->ctx = ctx;
  k->reason = PERP_EXACT;
  k->status = PERP_OK;
  const perp_reason reason = t_max > w->t ? stepping_fixed(w, t_max) : PERP_EXACT;
  k->spent.step += perp_constrained_clock(k) - start;
  info->reason = reason < 0 && k->reason >= 0 ? reason : k->reason;
  k->count.reason = info->reason;
  info->drift_pos_pre = k->drift;
  return reason < 0 ? k->status : PERP_OK;
}

/* All parts of a step; with several, forces are their means. */
static perp_status stepping_parts(perp_ctx *ctx, perp_stepping *w, double t_max,
                                  perp_step_info *info)
{
  const bool parted = w->parts.n > 1;
  const int m = parted ? w->k.model->m : 0, n_drives = parted ? w->k.model->n_drives : 0;
  const double start = stepping_time(w);
  memset(w->parts.lambda, 0, (size_t)m * sizeof *w->parts.lambda);
  memset(w->parts.drive, 0, (size_t)n_drives * sizeof *w->parts.drive);
  for (w->parts.now = 0; w->parts.now < w->parts.n; w->parts.now++) {
    PERP_TRY(stepping_once(ctx, w, t_max, info));
    if (info->reason < 0) break;
    for (int i = 0; i < m; i++) w->parts.lambda[i] += w->h * w->lambda[i];
    for (int i = 0; i < n_drives; i++) w->parts.drive[i] += w->h * perp_drives_forces(w->drives)[i];
    if (stepping_time(w) >= t_max) break;
  }
  const double h = stepping_time(w) - start;
  if (!parted || !(h > 0)) return PERP_OK;
  for (int i = 0; i < m; i++) w->parts.lambda[i] /= h;
  for (int i = 0; i < n_drives; i++) w->parts.drive[i] /= h;
  stepping_count(&w->count, h);
  return PERP_OK;
}

perp_status perp_stepping_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  perp_stepping *w = ws;
  const bool parted = w->parts.n > 1;
  w->parts.t_max = t_max;
  w->halvings.before = w->halvings.now > 0 ? w->halvings.before + w->halvings.now : 0;
  w->halvings.now = 0;
  PERP_TRY(stepping_parts(ctx, w, t_max, info));
  info->lambda = NULL;
  if (w->unknown == 0 && w->k.coordinates == NULL)
    info->lambda = parted ? w->parts.lambda : w->lambda;
  w->unknown -= w->unknown > 0;
  if (w->contacts != NULL) {
    const perp_contacts *c = w->contacts;
    info->n_contacts = c->task.n;
    info->contacts = c->task.n > 0 ? c->parts.found : NULL;
    info->impulse = c->task.n == 0 ? NULL : parted ? c->parts.total : c->task.impulse;
    info->asleep = c->sleep != NULL ? perp_sleep_count(c->sleep) : 0;
    info->tolerance = c->o.tolerance;
  }
  if (info->reason == PERP_INVALID_STATE && w->halvings.now > 0)
    info->cause = "steps still end in penetration after the largest number of halvings; use --stab "
                  "post or a larger tolerance";
  if (w->drives != NULL) info->drive = parted ? w->parts.drive : perp_drives_forces(w->drives);
  return PERP_OK;
}

/* ---- reports ---- */

void perp_stepping_state(const void *ws, double *t, const double **q, const double **v)
{
  const perp_stepping *w = ws;
  *t = stepping_time(w);
  *q = w->ode != NULL ? perp_ode_q(w->ode) : w->y;
  *v = w->ode != NULL ? perp_ode_v(w->ode) : w->y + w->k.model->nq;
}

void perp_stepping_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const perp_stepping *w = ws;
  if (kkt != NULL) *kkt = w->k.count;
  if (ode == NULL) return;
  *ode = w->ode != NULL ? *perp_ode_count(w->ode) : w->count;
  if (w->parts.n == 1) return;
  ode->steps = w->count.steps;
  ode->h_least = w->count.h_least;
  ode->h_most = w->count.h_most;
}

void perp_stepping_timing(void *ws, bool on, perp_times *times)
{
  perp_stepping *w = ws;
  perp_constrained_timing(&w->k, on, times);
  if (w->contacts == NULL || times == NULL) return;
  times->collision = w->contacts->collision_s;
  times->lcp = w->contacts->lcp_s;
  times->integrate -= times->collision + times->lcp;
}

const perp_contact_count *perp_stepping_contacts(const void *ws)
{
  const perp_stepping *w = ws;
  if (w->contacts != NULL) return perp_islands_count(w->contacts->islands);
  return w->drives != NULL ? perp_drives_count(w->drives) : NULL;
}

void perp_stepping_observe(void *ws, perp_contact_observer *observer, void *user)
{
  perp_stepping *w = ws;
  if (w->contacts != NULL)
    perp_islands_observe(w->contacts->islands, observer, user);
  else if (w->drives != NULL)
    perp_drives_observe(w->drives, observer, user);
}
