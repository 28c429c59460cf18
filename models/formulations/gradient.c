/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of the steps of a simulation: columns, checks, verdicts (gradient.h).  What a step is
 * differentiated by is up to its formulation (derivative.h). */
#include "models/stepping/derivative.h"

#include <stdlib.h>
#include <string.h>

struct perp_gradient {
  perp_derivative d; /* first */
  perp_sim *sim;
  const struct perp_derivative_calls *calls;
  void *ws; /* of the formulation */
  perp_derivative_rows rows;
  perp_gradient_wrt *wrt;
  bool *held;
  perp_gradient_side *sides; /* [n] since the reset */
  perp_gradient_report report;
};

static const char *const verdicts[] = { "smooth", "singular", "kink", "ambiguous", "jump", "none" };
const char *perp_gradient_verdict_name(perp_gradient_verdict verdict)
{
  return verdicts[verdict];
}

static const char *const causes[] = { "touches", "at gap",    "sticks",  "strikes",
                                      "bound",   "redundant", "features" };
const char *perp_gradient_cause_name(perp_gradient_cause cause)
{
  return causes[cause];
}

/* ---- the motion at hand ---- */

static void gradient_state(perp_gradient *gradient)
{
  const perp_model *model = gradient->d.model;
  const double *q, *v;
  perp_sim_state(gradient->sim, &gradient->d.t, &q, &v);
  memcpy(gradient->d.q, q, (size_t)model->nq * sizeof *q);
  memcpy(gradient->d.v, v, (size_t)model->nv * sizeof *v);
  gradient->d.speed = sqrt(fabs(perp_model_gravity_at(model, gradient->d.t)) * gradient->d.length);
  for (int body = 0; body < model->n_bodies; body++)
    gradient->d.speed = fmax(
        gradient->d.speed, perp_point_speed(model->dim, v + model->nvb * body, gradient->d.length));
  if (!(gradient->d.speed > 0)) gradient->d.speed = 1;
}

/* twice the largest radius of gyration of the body that has the smallest one, m */
static double gradient_length(const perp_model *m)
{
  double length = m->size > 0 ? m->size : 1;
  for (int body = 0; body < m->n_bodies; body++) {
    const perp_inertia *in = &m->inertia[body];
    const double most = fmax(in->I[8], m->dim == 3 ? fmax(in->I[0], in->I[4]) : 0);
    if (!m->body_def[body].particle && most > 0) length = fmin(length, 2 * sqrt(most / in->mass));
  }
  return length;
}

/* ---- life ---- */

static void gradient_layout(void *user, perp_arena *arena)
{
  perp_gradient *gradient = user;
  perp_derivative *derivative = &gradient->d;
  const perp_model *model = derivative->model;
  const size_t n = (size_t)derivative->n, nv = (size_t)model->nv;
  gradient->wrt = PERP_CARVE(arena, perp_gradient_wrt, n);
  gradient->held = PERP_CARVE(arena, bool, n);
  gradient->sides = PERP_CARVE(arena, perp_gradient_side, n);
  derivative->side = PERP_CARVE(arena, perp_gradient_side, n);
  PERP_DOUBLES(arena, nv * n, &derivative->dq, &derivative->dv, &derivative->x);
  PERP_DOUBLES(arena, model->nq, &derivative->q, &derivative->q_at, &derivative->rate_at);
  PERP_DOUBLES(arena, nv, &derivative->v, &derivative->v_at, &derivative->x_at, &derivative->sum);
  PERP_DOUBLES(arena, model->m, &derivative->lambda, &derivative->zeros);
  derivative->peak = PERP_CARVE(arena, double, n);
  derivative->inertia = PERP_CARVE(arena, perp_inertia, model->n_bodies);
  derivative->drive = PERP_CARVE(arena, perp_drive_def, model->n_drives);
}

static perp_status gradient_check(perp_ctx *ctx, const perp_model *model,
                                  const perp_gradient_wrt *wrt)
{
  static const char *const names[] = { "position", "velocity", "body", "gravity",
                                       "shape",    "force",    "drive" };
  const int count[] = { model->nv,       model->nv, model->n_bodies, 1,
                        model->n_shapes, model->nv, model->n_drives };
  if (wrt->kind > PERP_GRADIENT_TARGET)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "no derivative of kind %d", (int)wrt->kind);
  const int first = wrt->kind == PERP_GRADIENT_FRICTION ? -1 : 0;
  if (wrt->kind != PERP_GRADIENT_GRAVITY && (wrt->index < first || wrt->index >= count[wrt->kind]))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "derivative by %s %d: the model has %d", names[wrt->kind],
                     wrt->index, count[wrt->kind]);
  if (wrt->kind == PERP_GRADIENT_TARGET && !(model->drive_def[wrt->index].max_force > 0))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "derivative by the target of motor %d, which has no force (max_force = 0)",
                     wrt->index);
  return PERP_OK;
}

/* "acceleration, reduced, velocity" */
static perp_status gradient_unsupported(perp_ctx *ctx, const perp_formulation_desc *form)
{
  char list[256] = "";
  const perp_desc *desc;
  for (int i = 0; (desc = perp_plugin_at(ctx, PERP_KIND_formulation, i)) != NULL; i++) {
    const size_t used = strlen(list);
    if (((const perp_formulation_desc *)desc)->derivative != NULL)
      snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", desc->name);
  }
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                   "formulation %s has no derivatives of its steps; these have: %s",
                   form != NULL ? form->d.name : "of this engine", list);
}

perp_status perp_gradient_create(perp_ctx *ctx, perp_sim *sim, const perp_gradient_wrt *wrt, int n,
                                 perp_gradient **out)
{
  const perp_model *model;
  void *ws;
  bool switched;
  const perp_formulation_desc *form = perp_sim_formulation(sim, &ws, &model, &switched);
  *out = NULL;
  if (n < 1) return PERP_FAIL(ctx, PERP_ERR_ARG, "derivatives of a step by nothing: n = %d", n);
  for (int j = 0; j < n; j++) PERP_TRY(gradient_check(ctx, model, &wrt[j]));
  if (form == NULL || form->derivative == NULL) return gradient_unsupported(ctx, form);
  if (switched)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "joints that break, curves that end and bodies that are disabled have no "
                     "derivatives of their steps: leave them out");
  perp_gradient like = {
    .d = { .model = model, .n = n }, .sim = sim, .calls = form->derivative, .ws = ws
  };
  void *memory;
  PERP_TRY(perp_workspace_create(ctx, "derivatives", &like, sizeof like, gradient_layout, &memory));
  perp_gradient *gradient = memory;
  gradient->d.rows = &gradient->rows;
  gradient->d.wrt = gradient->wrt;
  gradient->d.held = gradient->held;
  gradient->d.length = gradient_length(model);
  memcpy(gradient->wrt, wrt, (size_t)n * sizeof *wrt);
  memcpy(gradient->d.inertia, model->inertia, (size_t)model->n_bodies * sizeof *model->inertia);
  if (model->n_drives > 0)
    memcpy(gradient->d.drive, model->drive_def, (size_t)model->n_drives * sizeof *model->drive_def);
  perp_status status = gradient->calls->create(ctx, ws, &gradient->d);
  if (status == PERP_OK) status = perp_gradient_reset(ctx, gradient);
  if (status == PERP_OK)
    *out = gradient;
  else
    perp_gradient_destroy(gradient);
  return status;
}

void perp_gradient_destroy(perp_gradient *gradient)
{
  if (gradient == NULL) return;
  if (gradient->d.own != NULL) gradient->d.own_destroy(gradient->d.own);
  perp_arena_free(&gradient->d.grown);
  free(gradient->d.row);
  free(gradient);
}

/* ---- columns ---- */

static void gradient_clear(perp_gradient *gradient)
{
  gradient->d.verdict = PERP_GRADIENT_SMOOTH;
  gradient->d.n_rows = gradient->d.active = 0;
  for (int j = 0; j < gradient->d.n; j++) gradient->d.side[j] = PERP_GRADIENT_BOTH;
}

/* A side that only one of two steps has is none of both. */
static void gradient_meet(perp_gradient *g)
{
  for (int j = 0; j < g->d.n; j++) {
    const perp_gradient_side now = g->d.side[j];
    if (now == PERP_GRADIENT_BOTH || now == g->sides[j]) continue;
    g->sides[j] = g->sides[j] == PERP_GRADIENT_BOTH ? now : PERP_GRADIENT_NEITHER;
  }
}

perp_status perp_gradient_reset(perp_ctx *ctx, perp_gradient *gradient)
{
  perp_derivative *derivative = &gradient->d;
  const size_t nv = (size_t)derivative->model->nv, n = (size_t)derivative->n;
  gradient_state(gradient);
  gradient_clear(gradient);
  memset(derivative->dq, 0, nv * n * sizeof *derivative->dq);
  memset(derivative->dv, 0, nv * n * sizeof *derivative->dv);
  memset(gradient->held, 0, n * sizeof *gradient->held);
  for (size_t j = 0; j < n; j++) {
    gradient->sides[j] = PERP_GRADIENT_BOTH;
    derivative->peak[j] = 0;
    if (gradient->wrt[j].kind == PERP_GRADIENT_Q)
      derivative->dq[nv * j + (size_t)gradient->wrt[j].index] = 1;
    if (gradient->wrt[j].kind == PERP_GRADIENT_V)
      derivative->dv[nv * j + (size_t)gradient->wrt[j].index] = 1;
  }
  gradient->report = (perp_gradient_report){ 0 };
  return gradient->calls->reset != NULL ? gradient->calls->reset(ctx, gradient->ws, derivative)
                                        : PERP_OK;
}

perp_status perp_gradient_seed(perp_ctx *ctx, perp_gradient *gradient, const double *dq,
                               const double *dv)
{
  const size_t size = (size_t)gradient->d.model->nv * (size_t)gradient->d.n * sizeof *dq;
  memcpy(gradient->d.dq, dq, size);
  memcpy(gradient->d.dv, dv, size);
  return gradient->calls->seed != NULL ? gradient->calls->seed(ctx, gradient->ws, &gradient->d)
                                       : PERP_OK;
}

void perp_gradient_hold(perp_gradient *gradient, int j, bool held)
{
  gradient->held[j] = held;
}

perp_status perp_gradient_step(perp_ctx *ctx, perp_gradient *g, double t_max, perp_step_info *info)
{
  perp_derivative *d = &g->d;
  gradient_state(g);
  if (g->calls->before != NULL) g->calls->before(g->ws, d);
  PERP_TRY(perp_sim_step(ctx, g->sim, t_max, info));
  perp_sim_state(g->sim, &d->t_end, &d->q_end, &d->v_end);
  if (info->reason < 0 || !(d->t_end > d->t)) return PERP_OK;
  gradient_clear(g);
  PERP_TRY(g->calls->step(ctx, g->ws, d));
  if (d->verdict == PERP_GRADIENT_NONE)
    for (int j = 0; j < d->n; j++) d->side[j] = PERP_GRADIENT_NEITHER;
  gradient_meet(g);
  perp_gradient_report *r = &g->report;
  r->verdict = d->verdict;
  r->worst = d->verdict > r->worst ? d->verdict : r->worst;
  r->steps++;
  r->counts[d->verdict]++;
  r->n_rows = d->n_rows;
  r->row = d->row;
  r->active = d->active;
  return PERP_OK;
}

const double *perp_gradient_dq(const perp_gradient *gradient)
{
  return gradient->d.dq;
}

const double *perp_gradient_dv(const perp_gradient *gradient)
{
  return gradient->d.dv;
}

int perp_gradient_columns(const perp_gradient *gradient)
{
  return gradient->d.n;
}

void perp_gradient_pull(const perp_gradient *g, const double *wq, const double *wv, double *out)
{
  const int nv = g->d.model->nv;
  for (int j = 0; j < g->d.n; j++) {
    double sum = 0;
    for (int i = 0; i < nv; i++) {
      if (wq != NULL) sum += wq[i] * g->d.dq[nv * j + i];
      if (wv != NULL) sum += wv[i] * g->d.dv[nv * j + i];
    }
    out[j] = sum;
  }
}

const perp_gradient_report *perp_gradient_report_of(const perp_gradient *gradient)
{
  return &gradient->report;
}

const perp_gradient_side *perp_gradient_sides(const perp_gradient *gradient)
{
  return gradient->sides;
}
