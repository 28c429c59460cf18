/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of the velocity level in time: on the grid of fixed steps, in parts, halved where they end
 * in penetration; or, where the ODE method has a tolerance, as its error control chooses them. */
#include "models/contact/step/stepping.h"

#include <stdlib.h>
#include <string.h>

extern const perp_stab_desc perp_stab_none;

static const double NARROW = 1e-12; /* of a step: so short is no half of it */

static const char *stepping_method(const perp_stepping *stepping)
{
  return stepping->symplectic ? "symplectic-euler" : "euler";
}

/* ---- life ---- */

void perp_stepping_layout(void *ws, perp_arena *arena)
{
  perp_stepping *stepping = ws;
  const perp_model *model = stepping->k.model;
  const int n = model->nq + model->nv;
  perp_constrained_layout(&stepping->k, model, arena);
  PERP_DOUBLES(arena, n, &stepping->y, &stepping->y1);
  stepping->dq = PERP_CARVE(arena, double, model->nq);
  stepping->lambda = PERP_CARVE(arena, double, model->m);
  stepping->parts.lambda = PERP_CARVE(arena, double, stepping->parts.n > 1 ? model->m : 0);
  stepping->parts.drive = PERP_CARVE(arena, double, stepping->parts.n > 1 ? model->n_drives : 0);
}

void perp_stepping_destroy(void *ws)
{
  perp_stepping *stepping = ws;
  if (stepping == NULL) return;
  perp_ode_destroy(stepping->ode);
  perp_contacts_destroy(stepping->contacts);
  perp_drives_destroy(stepping->drives);
  perp_constrained_destroy(&stepping->k);
  free(stepping);
}

/* The step as the error control of the ODE method asks for it: v+ by its mean acceleration. */
static perp_ode_answer stepping_acceleration(void *user, double t, double h, const double *q,
                                             const double *v, bool intermediate, double *qdot,
                                             double *a)
{
  perp_stepping *stepping = user;
  (void)intermediate;
  if (!perp_velocity_step_acceleration(stepping, t, h, q, v, a)) return PERP_ODE_FAILED;
  if (qdot != NULL) perp_model_qdot(stepping->k.model, q, v, qdot);
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
static perp_status stepping_open_time(perp_ctx *ctx, perp_stepping *stepping, const perp_spec *ode,
                                      double h)
{
  perp_ode_sys sys = perp_formulation_ode_sys(stepping);
  sys.caps |= PERP_ODE_SYS_VELOCITY_LEVEL;
  sys.retract = stepping_retract;
  sys.deriv = stepping_acceleration;
  sys.accept = stepping_accept;
  stepping->symplectic = ode->d->caps & PERP_ODE_SYMPLECTIC;
  stepping->grid.h = h;
  return perp_ode_tol(ode) > 0 ? perp_ode_create(ctx, ode, &sys, h, &stepping->ode)
                               : perp_ode_check(ctx, ode, &sys, h);
}

static perp_status stepping_open(perp_ctx *ctx, perp_stepping *stepping, const perp_parts *parts,
                                 const perp_contact_opts *contact, double h)
{
  const perp_model *model = stepping->k.model;
  const perp_compliance rigid = { 0 };
  const bool exact = stepping->k.coordinates != NULL;
  perp_parts joints = *parts;
  if (exact) joints.stab = (perp_spec){ &perp_stab_none.d, NULL };
  stepping->gyro = contact != NULL ? contact->gyro : PERP_GYRO_EXPLICIT;
  PERP_TRY(perp_constrained_create(ctx, &stepping->k, model, &joints, !exact));
  if (model->n_shapes > 0) {
    PERP_TRY(perp_contacts_create(ctx, model, parts, contact, &stepping->contacts));
    stepping->halvings.most = contact->halvings;
  }
  if (model->n_drives > 0)
    PERP_TRY(perp_drives_create(
        ctx, model, parts, contact != NULL ? &contact->compliance : &rigid, PERP_CONTACT_TOL_DATA,
        contact != NULL ? contact->budget : PERP_STEP_BUDGET, &stepping->drives));
  if (stepping->drives != NULL && contact != NULL && contact->servo == PERP_SERVO_SYMPLECTIC)
    perp_drives_symplectic(stepping->drives);
  return stepping_open_time(ctx, stepping, &parts->ode, h / stepping->parts.n);
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
  perp_stepping *stepping = ws;
  const perp_model *model = stepping->k.model;
  perp_constrained_restart(&stepping->k);
  if (stepping->contacts != NULL) perp_contacts_restart(stepping->contacts);
  if (stepping->drives != NULL) perp_drives_restart(stepping->drives);
  stepping->h = 0;
  stepping->halvings.before = stepping->halvings.now = 0;
  memset(stepping->lambda, 0, (size_t)model->m * sizeof *stepping->lambda);
  memcpy(stepping->y1, q, (size_t)model->nq * sizeof *q);
  PERP_TRY(perp_constrained_check_start(ctx, model, stepping->y1, v));
  stepping->unknown = 0;
  for (int i = 0; i < model->nv && model->m > 0; i++)
    if (v[i] != 0) stepping->unknown = stepping->k.stab->d.caps & PERP_STAB_FEEDBACK ? 2 : 1;
  return perp_stepping_at(ctx, stepping, t, stepping->y1, v);
}

perp_status perp_stepping_at(perp_ctx *ctx, perp_stepping *stepping, double t, const double *q,
                             const double *v)
{
  const int nq = stepping->k.model->nq, nv = stepping->k.model->nv;
  stepping->k.ctx = ctx;
  stepping->k.start_h = 0; /* no factor of the start of a step */
  stepping->k.factored = NULL;
  if (stepping->ode != NULL) return perp_ode_restart(ctx, stepping->ode, t, q, v);
  memcpy(stepping->y, q, (size_t)nq * sizeof *q);
  memcpy(stepping->y + nq, v, (size_t)nv * sizeof *v);
  if (!isfinite(t) || !perp_all_finite(nq + nv, stepping->y))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the initial state is not finite (t = %g s)",
                     stepping_method(stepping), t);
  const perp_ode_answer answer = perp_velocity_step_end(stepping, t, stepping->y, stepping->y + nq);
  if ((answer != PERP_ODE_OK && answer != PERP_ODE_CHANGED) ||
      !perp_all_finite(nq + nv, stepping->y))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the initial state is not valid (t = %g s)",
                     stepping_method(stepping), t);
  stepping->count.changed += answer == PERP_ODE_CHANGED;
  stepping->count.restarts++;
  stepping->t = t;
  stepping->grid = (perp_ode_grid){ .h = stepping->grid.h, .t_0 = t };
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
static perp_reason stepping_fixed(perp_stepping *stepping, double t_max)
{
  const int nq = stepping->k.model->nq, n = nq + stepping->k.model->nv;
  perp_ode_grid_step step = perp_ode_grid_next(&stepping->grid, stepping->t, t_max);
  const double enough = fmax(NARROW * step.h, 4 * DBL_EPSILON * fabs(stepping->t));
  perp_ode_answer answer;
  if (!(stepping->t + step.h > stepping->t)) return PERP_STEP_TOO_SMALL;
  for (bool halved = false;; halved = true) {
    memcpy(stepping->y1, stepping->y, (size_t)n * sizeof *stepping->y);
    answer = perp_velocity_step(stepping, stepping->t, step.h, step.t_new, stepping->y1,
                                stepping->y1 + nq);
    if (answer != PERP_ODE_INVALID && !(halved && answer == PERP_ODE_FAILED)) break;
    if (!(step.h > enough)) return PERP_INVALID_STATE;
    step = (perp_ode_grid_step){ .h = 0.5 * step.h, .t_new = stepping->t + 0.5 * step.h };
    stepping->count.rejected++;
  }
  if (answer == PERP_ODE_FAILED) return PERP_SINGULAR;
  double *y = stepping->y;
  stepping->y = stepping->y1;
  stepping->y1 = y;
  stepping->t = step.t_new;
  stepping->grid.k += step.whole;
  stepping->count.changed += answer == PERP_ODE_CHANGED;
  if (stepping->parts.n == 1) stepping_count(&stepping->count, step.h);
  PERP_TRACE(stepping->k.ctx, .method = stepping_method(stepping),
             .what = answer == PERP_ODE_CHANGED ? "changed" : "step",
             .iteration = (int)stepping->count.steps, .entering = -1, .leaving = -1, .step = step.h,
             .residual = (double)NAN, .n = n, .x = stepping->y);
  return PERP_EXACT;
}

static double stepping_time(const perp_stepping *stepping)
{
  return stepping->ode != NULL ? perp_ode_time(stepping->ode) : stepping->t;
}

/* One step, or a part of one. */
static perp_status stepping_once(perp_ctx *ctx, perp_stepping *stepping, double t_max,
                                 perp_step_info *info)
{
  perp_constrained *system = &stepping->k;
  if (stepping->ode != NULL) return perp_constrained_step(ctx, system, stepping->ode, t_max, info);
  const double start = perp_constrained_clock(system);
  system->ctx = ctx;
  system->reason = PERP_EXACT;
  system->status = PERP_OK;
  const perp_reason reason = t_max > stepping->t ? stepping_fixed(stepping, t_max) : PERP_EXACT;
  system->spent.step += perp_constrained_clock(system) - start;
  info->reason = reason < 0 && system->reason >= 0 ? reason : system->reason;
  system->count.reason = info->reason;
  info->drift_pos_pre = system->drift;
  return reason < 0 ? system->status : PERP_OK;
}

/* All parts of a step; with several, forces are their means. */
static perp_status stepping_parts(perp_ctx *ctx, perp_stepping *stepping, double t_max,
                                  perp_step_info *info)
{
  const bool parted = stepping->parts.n > 1;
  const int m = parted ? stepping->k.model->m : 0,
            n_drives = parted ? stepping->k.model->n_drives : 0;
  const double start = stepping_time(stepping);
  memset(stepping->parts.lambda, 0, (size_t)m * sizeof *stepping->parts.lambda);
  memset(stepping->parts.drive, 0, (size_t)n_drives * sizeof *stepping->parts.drive);
  for (stepping->parts.now = 0; stepping->parts.now < stepping->parts.n; stepping->parts.now++) {
    PERP_TRY(stepping_once(ctx, stepping, t_max, info));
    if (info->reason < 0) break;
    for (int i = 0; i < m; i++) stepping->parts.lambda[i] += stepping->h * stepping->lambda[i];
    for (int i = 0; i < n_drives; i++)
      stepping->parts.drive[i] += stepping->h * perp_drives_forces(stepping->drives)[i];
    if (stepping_time(stepping) >= t_max) break;
  }
  const double h = stepping_time(stepping) - start;
  if (!parted || !(h > 0)) return PERP_OK;
  for (int i = 0; i < m; i++) stepping->parts.lambda[i] /= h;
  for (int i = 0; i < n_drives; i++) stepping->parts.drive[i] /= h;
  stepping_count(&stepping->count, h);
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
  const perp_stepping *stepping = ws;
  *t = stepping_time(stepping);
  *q = stepping->ode != NULL ? perp_ode_q(stepping->ode) : stepping->y;
  *v = stepping->ode != NULL ? perp_ode_v(stepping->ode) : stepping->y + stepping->k.model->nq;
}

void perp_stepping_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const perp_stepping *stepping = ws;
  if (kkt != NULL) *kkt = stepping->k.count;
  if (ode == NULL) return;
  *ode = stepping->ode != NULL ? *perp_ode_count(stepping->ode) : stepping->count;
  if (stepping->parts.n == 1) return;
  ode->steps = stepping->count.steps;
  ode->h_least = stepping->count.h_least;
  ode->h_most = stepping->count.h_most;
}

void perp_stepping_timing(void *ws, bool on, perp_times *times)
{
  perp_stepping *stepping = ws;
  perp_constrained_timing(&stepping->k, on, times);
  if (stepping->contacts == NULL || times == NULL) return;
  times->collision = stepping->contacts->collision_s;
  times->lcp = stepping->contacts->lcp_s;
  times->integrate -= times->collision + times->lcp;
}

const perp_contact_count *perp_stepping_contacts(const void *ws)
{
  const perp_stepping *stepping = ws;
  if (stepping->contacts != NULL) return perp_islands_count(stepping->contacts->islands);
  return stepping->drives != NULL ? perp_drives_count(stepping->drives) : NULL;
}

void perp_stepping_observe(void *ws, perp_contact_observer *observer, void *user)
{
  perp_stepping *stepping = ws;
  if (stepping->contacts != NULL)
    perp_islands_observe(stepping->contacts->islands, observer, user);
  else if (stepping->drives != NULL)
    perp_drives_observe(stepping->drives, observer, user);
}
