/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Velocity level: time stepping with velocities and impulses.
 *
 * At a regular state the velocity at the end of the step follows from the impulse balance with
 * the forces of the beginning, and the constraints are imposed on that velocity (Vondrak 2005,
 * eq. 6.2 and section 6.3; STAR 2012, section 3.1.5; Cline 2002, section 2.7.3 without its
 * inequality rows):
 *
 *      M v+ = M v + h f + J'(q) lambda,      J(q) v+ + S lambda = k = feedback
 *
 * It is given to the ODE solver as the mean acceleration a = (v+ - v) / h, so that
 * `symplectic-euler` moves the positions with v+ and `euler` with v.  k = 0 lets positions drift
 * by O(h^2) per step; Baumgarte's k = -alpha C brings C back, for alpha = 1/h within the step
 * (to first order).  A multiplier is an impulse, which is reported divided by h: the force.
 *
 * Models with shapes: the same balance with contact impulses, as complementarity rows (Stewart and
 * Trinkle; Anitescu and Potra; STAR 2012, section 3.1.5; Cline 2002, section 2.7.3):
 *
 *      M v+ = M v + h f + J' lambda + J_c' lambda_c,   0 <= lambda_n  perp  n . J_c v+ + bias >= 0
 *
 * bias is  gap / h  for an open contact (gap = false: 0, and only closed contacts are seen), what the
 * stabilization asks of a penetrating one, and  e n . J_c v  for an impact: Newton's law, in the step in
 * which the gap closes; or Poisson's, a second problem in which each impact gives back e times its impulse of
 * compression.  Friction by the contact model, with mu, or mu_dynamic where the contact slides at
 * the start of the step.  See contacts.h for the procedure.  The fall of a body onto a surface ends in
 * the step that reaches it: impacts are late or early by up to h, an error of first order.  Energy does
 * not grow with e = 0; with e > 0 the rebound takes place before the surfaces meet, at a height off by
 * up to h |u|.  Newton's law makes energy where friction turns the sliding round in the impact (scene
 * rod-impact); Poisson's does not.  Contact points may be springs and dampers, implicit in the step (contacts.c), and
 * islands at rest may sleep (sleep.h).
 *
 * Models with drives (limits, motors): rows with bounds on the coordinates that the joints leave free, see
 * drives.h; in models with shapes they are further rows of the problems of the islands.
 *
 * Cost per step: assembly, one factorization, one solve.  No allocation in the steady state.
 * Order 1. Fails as the KKT formulation does.  Only methods with one evaluation a step can
 * serve: the new velocity is no derivative that could be mixed. */
#include "models/formulations/contacts.h"
#include "models/formulations/drives.h"

#include <stdlib.h>
#include <string.h>

typedef struct opts {
  perp_contact_opts contact;
} opts;
static const perp_opt options[] = { PERP_CONTACT_OPTIONS, PERP_OPTIONS_END };

typedef struct workspace {
  perp_constrained k;
  perp_contacts *contacts; /* NULL: no shapes */
  perp_drives *drives;     /* NULL: none */
  perp_ode_sys sys;
  perp_ode *ode;
  double *q;      /* [nq] start of a restart */
  double *lambda; /* [m] forces */
  perp_arena arena;
} workspace;

static perp_ode_answer deriv(void *user, double t, double h, const double *q, const double *v,
                             bool intermediate, double *qdot, double *a)
{
  workspace *w = user;
  perp_constrained *k = &w->k;
  const perp_model *model = k->model;
  (void)intermediate;
  perp_constrained_at(k, q);
  double start = perp_constrained_clock(k);
  perp_eval_impulse(k->e, model, t, h, v, k->f);
  if (model->m > 0) {
    memset(k->c, 0, (size_t)model->m * sizeof *k->c);
    /* Cdot is not defined before v+ is known: zeros */
    if (k->stab->rhs != NULL)
      k->stab->rhs(k->stab_ws, PERP_LEVEL_VELOCITY, h, k->e->C, k->Cdot, k->c);
  }
  k->assembly_s += perp_constrained_clock(k) - start;
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, v)) return PERP_ODE_FAILED;
  if (w->contacts != NULL) {
    if (!perp_contacts_step(w->contacts, k, w->drives, h, v)) return PERP_ODE_FAILED;
  } else if (w->drives != NULL && !perp_drives_step(w->drives, k, h, v)) {
    return PERP_ODE_FAILED;
  }
  k->start_h = h;
  for (int i = 0; i < model->nv; i++) a[i] = (k->a[i] - v[i]) / h;
  for (int i = 0; i < model->m; i++) w->lambda[i] = k->lambda[i] / h;
  if (qdot != NULL) perp_model_qdot(model, q, v, qdot);
  return PERP_ODE_OK;
}

static perp_ode_answer accept(void *user, double t, double *q, double *v)
{
  workspace *w = user;
  perp_ode_answer answer = perp_constrained_accept(&w->k, t, q, v);
  if (w->contacts == NULL || (answer != PERP_ODE_OK && answer != PERP_ODE_CHANGED)) return answer;
  perp_ode_answer contacts = perp_contacts_project(w->contacts, &w->k, q);
  return contacts == PERP_ODE_OK ? answer : contacts;
}
static void retract(void *user, const double *q, const double *dq, double *q_out)
{
  perp_model_retract(((workspace *)user)->k.model, q, dq, q_out);
}
static void difference(void *user, const double *q0, const double *q1, double *dq)
{
  perp_model_difference(((workspace *)user)->k.model, q0, q1, dq);
}
static void project(void *user, double *q)
{
  perp_model_project(((workspace *)user)->k.model, q);
}

static void layout(workspace *w, const perp_model *model, perp_arena *a)
{
  perp_constrained_layout(&w->k, model, a);
  w->q = PERP_CARVE(a, double, model->nq);
  w->lambda = PERP_CARVE(a, double, model->m);
}

static void destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  if (w->ode != NULL) perp_ode_destroy(w->ode);
  perp_contacts_destroy(w->contacts);
  perp_drives_destroy(w->drives);
  perp_constrained_destroy(&w->k);
  perp_arena_free(&w->arena);
  free(w);
}

static perp_status create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                          void **ws)
{
  *ws = NULL;
  if (!(parts->ode.d->caps & PERP_ODE_ONE_EVALUATION))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "formulation velocity needs an ode with one evaluation a step (euler, "
                     "symplectic-euler): '%s' takes more; use formulation acceleration with it",
                     parts->ode.d->name);
  workspace *w = calloc(1, sizeof *w);
  if (w == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "velocity: no memory");
  perp_arena a = { 0 };
  layout(w, model, &a);
  perp_status status = perp_arena_reserve(ctx, &a);
  if (status != PERP_OK) {
    free(w);
    return status;
  }
  w->arena = a;
  layout(w, model, &a);
  status = perp_constrained_create(ctx, &w->k, model, parts, true);
  w->sys = (perp_ode_sys){ .nq = model->nq,
                           .nv = model->nv,
                           .caps = PERP_ODE_SYS_OPTIONAL_QDOT,
                           .user = w,
                           .deriv = deriv,
                           .retract = retract,
                           .difference = difference,
                           .project = project,
                           .accept = accept };
  if (status == PERP_OK && model->n_shapes > 0)
    status = perp_contacts_create(ctx, model, parts,
                                  &((const opts *)parts->formulation.opts)->contact, &w->contacts);
  if (status == PERP_OK && model->n_drives > 0)
    status = perp_drives_create(ctx, model, parts, &w->drives);
  if (status == PERP_OK) status = perp_ode_create(ctx, &parts->ode, &w->sys, h, &w->ode);
  if (status != PERP_OK) {
    destroy(w);
    return status;
  }
  *ws = w;
  return PERP_OK;
}

static perp_status restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  workspace *w = ws;
  const perp_model *model = w->k.model;
  perp_constrained_restart(&w->k);
  if (w->contacts != NULL) perp_contacts_restart(w->contacts);
  if (w->drives != NULL) perp_drives_restart(w->drives);
  w->k.ctx = ctx;
  memset(w->lambda, 0, (size_t)model->m * sizeof *w->lambda);
  memcpy(w->q, q, (size_t)model->nq * sizeof *q);
  PERP_TRY(perp_constrained_check_start(ctx, model, w->q, v));
  return perp_ode_restart(ctx, w->ode, t, w->q, v);
}

static perp_status step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *w = ws;
  PERP_TRY(perp_constrained_step(ctx, &w->k, w->ode, t_max, info));
  info->lambda = w->lambda;
  if (w->contacts != NULL) perp_contacts_info(w->contacts, info);
  if (w->drives != NULL) info->drive = perp_drives_forces(w->drives);
  return PERP_OK;
}

static void state(const void *ws, double *t, const double **q, const double **v)
{
  const workspace *w = ws;
  *t = perp_ode_time(w->ode);
  *q = perp_ode_q(w->ode);
  *v = perp_ode_v(w->ode);
}

static void counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *w = ws;
  if (ode != NULL) *ode = *perp_ode_count(w->ode);
  if (kkt != NULL) *kkt = w->k.count;
}

static void timing(void *ws, bool on, perp_times *times)
{
  workspace *w = ws;
  perp_constrained_timing(&w->k, on, times);
  if (w->contacts == NULL || times == NULL) return;
  perp_contacts_times(w->contacts, &times->collision, &times->lcp);
  times->integrate -= times->collision + times->lcp;
}

static const perp_contact_count *contacts(const void *ws)
{
  const workspace *w = ws;
  return w->contacts != NULL ? perp_contacts_counters(w->contacts) : NULL;
}

static void observe(void *ws, perp_contact_observer *observer, void *user)
{
  workspace *w = ws;
  if (w->contacts != NULL) perp_contacts_observe(w->contacts, observer, user);
}

const perp_formulation_desc perp_formulation_velocity = {
  .d = { .name = "velocity",
         .summary = "time stepping: constraints on the velocity at the end of the step, impulses",
         .reference = "Vondrak 2005, sections 6.3 and 6.4.2; STAR 2012, section 3.1.5",
         .equation = "M v+ = M v + h f + J' lambda,  J v+ + S lambda = feedback",
         .opts = options,
         .opts_size = sizeof(opts),
         .caps = PERP_FORM_USES_ODE | PERP_FORM_USES_KKT | PERP_FORM_USES_STAB |
                 PERP_FORM_USES_LCP | PERP_FORM_CONTACTS | PERP_FORM_DRIVES },
  .create = create,
  .restart = restart,
  .step = step,
  .state = state,
  .counters = counters,
  .timing = timing,
  .destroy = destroy,
  .contacts = contacts,
  .observe = observe,
};
