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

static void gradient_state(perp_gradient *g)
{
  const perp_model *m = g->d.model;
  const double *q, *v;
  perp_sim_state(g->sim, &g->d.t, &q, &v);
  memcpy(g->d.q, q, (size_t)m->nq * sizeof *q);
  memcpy(g->d.v, v, (size_t)m->nv * sizeof *v);
  g->d.speed = sqrt(fabs(perp_model_gravity_at(m, g->d.t)) * g->d.length);
  for (int b = 0; b < m->n_bodies; b++)
    g->d.speed = fmax(g->d.speed, perp_point_speed(m->dim, v + m->nvb * b, g->d.length));
  if (!(g->d.speed > 0)) g->d.speed = 1;
}

/* twice the largest radius of gyration of the body that has the smallest one, m */
static double gradient_length(const perp_model *m)
{
  double length = m->size > 0 ? m->size : 1;
  for (int b = 0; b < m->n_bodies; b++) {
    const perp_inertia *in = &m->inertia[b];
    const double most = fmax(in->I[8], m->dim == 3 ? fmax(in->I[0], in->I[4]) : 0);
    if (!m->body_def[b].particle && most > 0) length = fmin(length, 2 * sqrt(most / in->mass));
  }
  return length;
}

/* ---- life ---- */

static void gradient_layout(void *user, perp_arena *a)
{
  perp_gradient *g = user;
  perp_derivative *d = &g->d;
  const perp_model *m = d->model;
  const size_t n = (size_t)d->n, nv = (size_t)m->nv;
  g->wrt = PERP_CARVE(a, perp_gradient_wrt, n);
  g->held = PERP_CARVE(a, bool, n);
  g->sides = PERP_CARVE(a, perp_gradient_side, n);
  d->side = PERP_CARVE(a, perp_gradient_side, n);
  PERP_DOUBLES(a, nv * n, &d->dq, &d->dv, &d->x);
  PERP_DOUBLES(a, m->nq, &d->q, &d->q_at, &d->rate_at);
  PERP_DOUBLES(a, nv, &d->v, &d->v_at, &d->x_at, &d->sum);
  PERP_DOUBLES(a, m->m, &d->lambda, &d->zeros);
  d->peak = PERP_CARVE(a, double, n);
  d->inertia = PERP_CARVE(a, perp_inertia, m->n_bodies);
  d->drive = PERP_CARVE(a, perp_drive_def, m->n_drives);
}

static perp_status gradient_check(perp_ctx *ctx, const perp_model *m, const perp_gradient_wrt *w)
{
  static const char *const names[] = { "position", "velocity", "body", "gravity",
                                       "shape",    "force",    "drive" };
  const int count[] = { m->nv, m->nv, m->n_bodies, 1, m->n_shapes, m->nv, m->n_drives };
  if (w->kind > PERP_GRADIENT_TARGET)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "no derivative of kind %d", (int)w->kind);
  const int first = w->kind == PERP_GRADIENT_FRICTION ? -1 : 0;
  if (w->kind != PERP_GRADIENT_GRAVITY && (w->index < first || w->index >= count[w->kind]))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "derivative by %s %d: the model has %d", names[w->kind],
                     w->index, count[w->kind]);
  if (w->kind == PERP_GRADIENT_TARGET && !(m->drive_def[w->index].max_force > 0))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "derivative by the target of motor %d, which has no force (max_force = 0)",
                     w->index);
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
  perp_gradient *g = memory;
  g->d.rows = &g->rows;
  g->d.wrt = g->wrt;
  g->d.held = g->held;
  g->d.length = gradient_length(model);
  memcpy(g->wrt, wrt, (size_t)n * sizeof *wrt);
  memcpy(g->d.inertia, model->inertia, (size_t)model->n_bodies * sizeof *model->inertia);
  if (model->n_drives > 0)
    memcpy(g->d.drive, model->drive_def, (size_t)model->n_drives * sizeof *model->drive_def);
  perp_status status = g->calls->create(ctx, ws, &g->d);
  if (status == PERP_OK) status = perp_gradient_reset(ctx, g);
  if (status == PERP_OK)
    *out = g;
  else
    perp_gradient_destroy(g);
  return status;
}

void perp_gradient_destroy(perp_gradient *g)
{
  if (g == NULL) return;
  if (g->d.own != NULL) g->d.own_destroy(g->d.own);
  perp_arena_free(&g->d.grown);
  free(g->d.row);
  free(g);
}

/* ---- columns ---- */

static void gradient_clear(perp_gradient *g)
{
  g->d.verdict = PERP_GRADIENT_SMOOTH;
  g->d.n_rows = g->d.active = 0;
  for (int j = 0; j < g->d.n; j++) g->d.side[j] = PERP_GRADIENT_BOTH;
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

perp_status perp_gradient_reset(perp_ctx *ctx, perp_gradient *g)
{
  perp_derivative *d = &g->d;
  const size_t nv = (size_t)d->model->nv, n = (size_t)d->n;
  gradient_state(g);
  gradient_clear(g);
  memset(d->dq, 0, nv * n * sizeof *d->dq);
  memset(d->dv, 0, nv * n * sizeof *d->dv);
  memset(g->held, 0, n * sizeof *g->held);
  for (size_t j = 0; j < n; j++) {
    g->sides[j] = PERP_GRADIENT_BOTH;
    d->peak[j] = 0;
    if (g->wrt[j].kind == PERP_GRADIENT_Q) d->dq[nv * j + (size_t)g->wrt[j].index] = 1;
    if (g->wrt[j].kind == PERP_GRADIENT_V) d->dv[nv * j + (size_t)g->wrt[j].index] = 1;
  }
  g->report = (perp_gradient_report){ 0 };
  return g->calls->reset != NULL ? g->calls->reset(ctx, g->ws, d) : PERP_OK;
}

perp_status perp_gradient_seed(perp_ctx *ctx, perp_gradient *g, const double *dq, const double *dv)
{
  const size_t size = (size_t)g->d.model->nv * (size_t)g->d.n * sizeof *dq;
  memcpy(g->d.dq, dq, size);
  memcpy(g->d.dv, dv, size);
  return g->calls->seed != NULL ? g->calls->seed(ctx, g->ws, &g->d) : PERP_OK;
}

void perp_gradient_hold(perp_gradient *g, int j, bool held)
{
  g->held[j] = held;
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

const double *perp_gradient_dq(const perp_gradient *g)
{
  return g->d.dq;
}

const double *perp_gradient_dv(const perp_gradient *g)
{
  return g->d.dv;
}

int perp_gradient_columns(const perp_gradient *g)
{
  return g->d.n;
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

const perp_gradient_report *perp_gradient_report_of(const perp_gradient *g)
{
  return &g->report;
}

const perp_gradient_side *perp_gradient_sides(const perp_gradient *g)
{
  return g->sides;
}
