/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The force of a step.  With J v+ = 0 at the start of each step the velocity is turned along with J
 * by the step after: the impulse has J (v+ - v) = -h Jdot v of the step before, and the first step
 * from a motion, whose J v is 0 already, has none of it.  With the feedback J v+ = -C / h it has
 * one half of it and of the one before, and the second step one and a half.  lambda is unknown in
 * these steps.  A projection of the velocity turns it in the step itself, and its impulse is part
 * of the force. */
#include "models/contact/step/stepping.h"

#include <stdlib.h>
#include <string.h>

extern const perp_stab_desc perp_stab_none;

static const double TOL_DATA = 1e-6; /* where no options say it */
static const double CUT = 1e-8;      /* of a step: rounding of its end */

/* A step that is halved is made again with what was remembered at its start. */
static bool stepping_remembers(perp_stepping *w)
{
  if (w->halvings == 0) return true;
  if (w->tries > 0) {
    if (w->drives != NULL) perp_drives_put_back(w->drives, PERP_AT_START);
    perp_contacts_put_back(w->contacts, PERP_AT_START);
    return true;
  }
  if (w->drives != NULL) perp_drives_keep(w->drives, PERP_AT_START);
  w->k.status = perp_contacts_keep(w->k.ctx, w->contacts, PERP_AT_START);
  return w->k.status == PERP_OK;
}

static perp_ode_answer stepping_deriv(void *user, double t, double h, const double *q,
                                      const double *v, bool intermediate, double *qdot, double *a)
{
  perp_stepping *w = user;
  perp_constrained *k = &w->k;
  const perp_model *model = k->model;
  (void)intermediate;
  if (!perp_constrained_signals(k, t) || !perp_constrained_signals(k, t + h) ||
      !stepping_remembers(w))
    return PERP_ODE_FAILED;
  perp_constrained_at(k, t, q);
  double start = perp_constrained_clock(k);
  perp_eval_impulse(k->e, model, t, h, v, k->f);
  if (w->gyro == PERP_GYRO_IMPLICIT) perp_gyro_implicit(model, h, v, k->f);
  if (w->gyro == PERP_GYRO_NONE) perp_gyro_none(model, h, v, k->f);
  if (w->drives != NULL) perp_drives_push(w->drives, k, h);
  memset(k->c, 0, (size_t)model->m * sizeof *k->c);
  if (w->prepare != NULL) w->prepare(w, h, v);
  perp_constrained_feedback(k, PERP_LEVEL_VELOCITY, h, v);
  perp_constrained_driven(k, t + h, 1, k->c);
  k->assembly_s += perp_constrained_clock(k) - start;
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, v)) return PERP_ODE_FAILED;
  if (w->contacts != NULL) {
    const perp_contact_part part = { .first = w->part == 0,
                                     .last = w->part + 1 == w->parts || t + h >= w->t_max - CUT * h,
                                     .whole = w->parts * h };
    if (!perp_contacts_step(w->contacts, k, w->drives, &part, h, v)) return PERP_ODE_FAILED;
  } else if (w->drives != NULL && !perp_drives_step(w->drives, k, h, v)) {
    return PERP_ODE_FAILED;
  }
  k->start_h = w->h = h;
  for (int i = 0; i < model->nv; i++) a[i] = (k->a[i] - v[i]) / h;
  for (int i = 0; i < model->m; i++) w->lambda[i] = k->lambda[i] / h;
  if (qdot != NULL) perp_model_qdot(model, q, v, qdot);
  return PERP_ODE_OK;
}

static perp_ode_answer stepping_accept(void *user, double t, double *q, double *v)
{
  perp_stepping *w = user;
  if (w->halvings > 0 && w->h > 0) {
    const perp_ode_answer apart = perp_contacts_apart(w->contacts, &w->k, t, q);
    w->tries += apart == PERP_ODE_INVALID;
    if (apart == PERP_ODE_OK && w->halved + w->tries > w->halvings) return PERP_ODE_INVALID;
    if (apart != PERP_ODE_OK) return apart;
  }
  const bool kept = w->contacts != NULL && perp_contacts_velocity(w->contacts, v);
  perp_ode_answer answer = perp_constrained_accept(&w->k, t, q, v);
  if (kept && answer == PERP_ODE_OK) answer = PERP_ODE_CHANGED;
  for (int i = 0; i < w->k.model->m && w->h > 0; i++) {
    w->lambda[i] += w->k.impulse[i] / w->h;
    if (w->k.impulse[i] != 0) w->unknown = 0;
  }
  if (w->contacts == NULL || (answer != PERP_ODE_OK && answer != PERP_ODE_CHANGED)) return answer;
  if (w->tries > 0) answer = PERP_ODE_CHANGED; /* the first half that is valid is the step */
  perp_ode_answer contacts = perp_contacts_project(w->contacts, &w->k, t, q, v);
  return contacts == PERP_ODE_OK ? answer : contacts;
}

static void stepping_retract(void *user, const double *q, const double *dq, double *q_out)
{
  perp_constrained_retract(&((perp_stepping *)user)->k, q, dq, q_out);
}

void perp_stepping_layout(void *ws, perp_arena *a)
{
  perp_stepping *w = ws;
  const perp_model *model = w->k.model;
  perp_constrained_layout(&w->k, model, a);
  w->q = PERP_CARVE(a, double, model->nq);
  w->lambda = PERP_CARVE(a, double, model->m);
  w->lambda_sum = PERP_CARVE(a, double, w->parts > 1 ? model->m : 0);
  w->drive_sum = PERP_CARVE(a, double, w->parts > 1 ? model->n_drives : 0);
}

void perp_stepping_destroy(void *ws)
{
  perp_stepping *w = ws;
  if (w == NULL) return;
  if (w->ode != NULL) perp_ode_destroy(w->ode);
  perp_contacts_destroy(w->contacts);
  perp_drives_destroy(w->drives);
  perp_constrained_destroy(&w->k);
  free(w);
}

static perp_status stepping_open(perp_ctx *ctx, perp_stepping *w, const perp_parts *parts,
                                 const perp_contact_opts *contact, double h)
{
  const perp_model *model = w->k.model;
  w->gyro = contact != NULL ? contact->gyro : PERP_GYRO_EXPLICIT;
  const bool exact = w->k.coordinates != NULL;
  perp_parts joints = *parts;
  if (exact) joints.stab = (perp_spec){ &perp_stab_none.d, NULL };
  PERP_TRY(perp_constrained_create(ctx, &w->k, model, &joints, !exact));
  w->sys = perp_formulation_ode_sys(w);
  if (exact) w->sys.retract = stepping_retract;
  w->sys.caps |= PERP_ODE_SYS_VELOCITY_LEVEL;
  w->sys.deriv = stepping_deriv;
  w->sys.accept = stepping_accept;
  if (model->n_shapes > 0) {
    PERP_TRY(perp_contacts_create(ctx, model, parts, contact, &w->contacts));
    w->halvings = contact->halvings;
  }
  const perp_compliance rigid = { 0 };
  if (model->n_drives > 0)
    PERP_TRY(perp_drives_create(ctx, model, parts, contact != NULL ? &contact->compliance : &rigid,
                                contact != NULL ? contact->residual_data : TOL_DATA,
                                contact != NULL ? contact->budget : PERP_STEP_BUDGET, &w->drives));
  if (w->drives != NULL && contact != NULL && contact->servo == PERP_SERVO_SYMPLECTIC)
    perp_drives_symplectic(w->drives);
  return perp_ode_create(ctx, &parts->ode, &w->sys, h / w->parts, &w->ode);
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
  like->parts = contact != NULL ? contact->substeps : 1;
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
  w->k.ctx = ctx;
  w->h = 0;
  w->halved = w->tries = 0;
  memset(w->lambda, 0, (size_t)model->m * sizeof *w->lambda);
  memcpy(w->q, q, (size_t)model->nq * sizeof *q);
  PERP_TRY(perp_constrained_check_start(ctx, model, w->q, v));
  w->unknown = 0;
  for (int i = 0; i < model->nv && model->m > 0; i++)
    if (v[i] != 0) w->unknown = w->k.stab->d.caps & PERP_STAB_FEEDBACK ? 2 : 1;
  return perp_ode_restart(ctx, w->ode, t, w->q, v);
}

perp_status perp_stepping_at(perp_ctx *ctx, perp_stepping *w, double t, const double *q,
                             const double *v)
{
  w->k.ctx = ctx;
  w->k.start_h = 0; /* no factor of the start of a step */
  w->k.factored = NULL;
  return perp_ode_restart(ctx, w->ode, t, q, v);
}

/* Impulses of the part that was made. */
static void stepping_add(perp_stepping *w)
{
  const perp_model *model = w->k.model;
  for (int i = 0; i < model->m; i++) w->lambda_sum[i] += w->h * w->lambda[i];
  for (int i = 0; i < model->n_drives; i++)
    w->drive_sum[i] += w->h * perp_drives_forces(w->drives)[i];
}

/* A step of so many parts, each a step of the ode; forces are their means. */
static perp_status stepping_parts(perp_ctx *ctx, perp_stepping *w, double t_max,
                                  perp_step_info *info)
{
  const perp_model *model = w->k.model;
  const double start = perp_ode_time(w->ode);
  memset(w->lambda_sum, 0, (size_t)model->m * sizeof *w->lambda_sum);
  memset(w->drive_sum, 0, (size_t)model->n_drives * sizeof *w->drive_sum);
  for (w->part = 0; w->part < w->parts; w->part++) {
    PERP_TRY(perp_constrained_step(ctx, &w->k, w->ode, t_max, info));
    if (info->reason < 0) break;
    stepping_add(w);
    if (perp_ode_time(w->ode) >= t_max) break;
  }
  const double h = perp_ode_time(w->ode) - start;
  if (!(h > 0)) return PERP_OK;
  for (int i = 0; i < model->m; i++) w->lambda_sum[i] /= h;
  for (int i = 0; i < model->n_drives; i++) w->drive_sum[i] /= h;
  w->steps.h_least = w->steps.steps == 0 ? h : fmin(w->steps.h_least, h);
  w->steps.h_most = fmax(w->steps.h_most, h);
  w->steps.steps++;
  return PERP_OK;
}

perp_status perp_stepping_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  perp_stepping *w = ws;
  const bool parted = w->parts > 1;
  w->t_max = t_max;
  w->halved = w->tries > 0 ? w->halved + w->tries : 0;
  w->tries = 0;
  PERP_TRY(parted ? stepping_parts(ctx, w, t_max, info)
                  : perp_constrained_step(ctx, &w->k, w->ode, t_max, info));
  info->lambda = w->unknown > 0 || w->k.coordinates != NULL ? NULL
                 : parted                                   ? w->lambda_sum
                                                            : w->lambda;
  w->unknown -= w->unknown > 0;
  if (w->contacts != NULL) perp_contacts_info(w->contacts, info);
  if (info->reason == PERP_INVALID_STATE && w->tries > 0)
    info->cause = "steps still end in penetration after the largest number of halvings; use --stab "
                  "post or a larger tolerance";
  if (w->drives != NULL) info->drive = parted ? w->drive_sum : perp_drives_forces(w->drives);
  return PERP_OK;
}

void perp_stepping_state(const void *ws, double *t, const double **q, const double **v)
{
  const perp_stepping *w = ws;
  *t = perp_ode_time(w->ode);
  *q = perp_ode_q(w->ode);
  *v = perp_ode_v(w->ode);
}

void perp_stepping_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const perp_stepping *w = ws;
  if (ode != NULL) {
    *ode = *perp_ode_count(w->ode);
    if (w->parts > 1) {
      ode->steps = w->steps.steps;
      ode->h_least = w->steps.h_least;
      ode->h_most = w->steps.h_most;
    }
    if (w->halvings > 0) { /* each trial after the first one follows a step that was refused */
      ode->rejected += ode->bisections;
      ode->bisections = 0;
    }
  }
  if (kkt != NULL) *kkt = w->k.count;
}

void perp_stepping_timing(void *ws, bool on, perp_times *times)
{
  perp_stepping *w = ws;
  perp_constrained_timing(&w->k, on, times);
  if (w->contacts == NULL || times == NULL) return;
  perp_contacts_times(w->contacts, &times->collision, &times->lcp);
  times->integrate -= times->collision + times->lcp;
}

const perp_contact_count *perp_stepping_contacts(const void *ws)
{
  const perp_stepping *w = ws;
  if (w->contacts != NULL) return perp_contacts_counters(w->contacts);
  return w->drives != NULL ? perp_drives_count(w->drives) : NULL;
}

void perp_stepping_observe(void *ws, perp_contact_observer *observer, void *user)
{
  perp_stepping *w = ws;
  if (w->contacts != NULL)
    perp_contacts_observe(w->contacts, observer, user);
  else if (w->drives != NULL)
    perp_drives_observe(w->drives, observer, user);
}
