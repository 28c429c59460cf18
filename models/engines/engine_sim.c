/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/engines/engine_sim.h"

#include "models/multibody/model_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct engine_sim {
  const perp_engine_desc *engine;
  const perp_engine_calls *calls;
  const perp_model *model;
  void *opts;
  perp_engine_world *world;
  void *at; /* the engine's own */
  double t, h, *q, *v;
  perp_engine_state *state;
  perp_engine_contact *point;
  perp_contact *contact;
  double *impulse;
  int cap;
  int64_t steps;
  perp_times times;
  perp_contact_count count; /* a problem for each step, where the engine says how it ended */
  bool timing;
  char cause[512];
} engine_sim;

static void engine_destroy(void *ws)
{
  engine_sim *s = ws;
  if (s->at != NULL) s->calls->destroy(s->at);
  perp_engine_world_destroy(s->world);
  free(s->opts);
  free(s->q);
  free(s->v);
  free(s->state);
  free(s->point);
  free(s->contact);
  free(s->impulse);
  free(s);
}

static perp_status engine_arrays(perp_ctx *ctx, engine_sim *s, const perp_spec *engine)
{
  const size_t bodies = (size_t)s->model->n_bodies, opts = engine->d->opts_size;
  s->cap = s->calls->contacts != NULL ? 8 * s->model->n_shapes + 64 : 0;
  s->opts = calloc(1, opts + 1);
  s->q = calloc((size_t)s->model->nq + 1, sizeof *s->q);
  s->v = calloc((size_t)s->model->nv + 1, sizeof *s->v);
  s->state = calloc(bodies + 1, sizeof *s->state);
  s->point = calloc((size_t)s->cap + 1, sizeof *s->point);
  s->contact = calloc((size_t)s->cap + 1, sizeof *s->contact);
  s->impulse = calloc(3 * (size_t)s->cap + 1, sizeof *s->impulse);
  if (s->opts == NULL || s->q == NULL || s->v == NULL || s->state == NULL || s->point == NULL ||
      s->contact == NULL || s->impulse == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a simulation with an engine");
  if (opts > 0) memcpy(s->opts, engine->opts, opts);
  return PERP_OK;
}

static perp_status engine_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                 double h, void **ws)
{
  const perp_engine_desc *engine = (const perp_engine_desc *)parts->engine.d;
  const perp_engine_calls *calls;
  *ws = NULL;
  PERP_TRY(perp_engine_serves(ctx, engine, model));
  PERP_TRY(perp_engine_load(ctx, engine, &calls));
  engine_sim *s = calloc(1, sizeof *s);
  if (s == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a simulation with an engine");
  *s = (engine_sim){ .engine = engine, .calls = calls, .model = model, .h = h };
  perp_status status = engine_arrays(ctx, s, &parts->engine);
  if (status == PERP_OK) status = perp_engine_world_create(ctx, model, h, &s->world);
  if (status == PERP_OK)
    *ws = s;
  else
    engine_destroy(s);
  return status;
}

/* A new world each time: engines keep more from step to step than a state. */
static perp_status engine_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                  const double *v)
{
  engine_sim *s = ws;
  if (s->at != NULL) s->calls->destroy(s->at);
  s->at = NULL;
  PERP_TRY(s->calls->create(ctx, s->world, s->opts, &s->at));
  s->t = t;
  s->times = (perp_times){ 0 };
  /* nobody judges what an engine solves */
  s->count = (perp_contact_count){ .work = (double)NAN,
                                   .residual = (double)NAN,
                                   .data = (double)NAN };
  memcpy(s->q, q, (size_t)s->model->nq * sizeof *q);
  memcpy(s->v, v, (size_t)s->model->nv * sizeof *v);
  perp_engine_state_of(s->model, q, v, s->state);
  s->calls->set(s->at, s->state);
  return PERP_OK;
}

static void engine_contacts(engine_sim *s, perp_step_info *info)
{
  info->untold = true;
  if (s->calls->contacts == NULL) return;
  const int n = s->calls->contacts(s->at, s->point, s->cap);
  bool told = true;
  for (int i = 0; i < n; i++) {
    const perp_engine_contact *p = &s->point[i];
    perp_contact *c = &s->contact[i];
    const perp_surface pair = s->world->pair(s->world, p->shape_a, p->shape_b);
    *c = (perp_contact){
      .shape = { p->shape_a, p->shape_b },
      .body = { s->model->shape_def[p->shape_a].body, s->model->shape_def[p->shape_b].body },
      .id = (uint64_t)p->shape_a << 44 | (uint64_t)p->shape_b << 24 | (uint64_t)(unsigned)i,
      .gap = p->gap,
      .mu = pair.mu,
      .mu_dynamic = pair.mu_dynamic,
      .e = pair.restitution
    };
    for (int k = 0; k < 3; k++) {
      c->n[k] = p->n[k];
      c->p[0][k] = p->p[k] - 0.5 * p->gap * p->n[k];
      c->p[1][k] = p->p[k] + 0.5 * p->gap * p->n[k];
      s->impulse[3 * i + k] = p->impulse[k];
    }
    told &= !isnan(p->impulse[0]);
  }
  s->count.contacts = n > s->count.contacts ? n : s->count.contacts;
  info->n_contacts = n;
  info->contacts = n > 0 ? s->contact : NULL;
  info->impulse = told ? s->impulse : NULL;
}

/* What the engine says of its own solver. */
static void engine_counts(engine_sim *s)
{
  int iterations = 0;
  const perp_reason reason = s->calls->ended(s->at, &iterations);
  if (reason == PERP_RUNNING) return;
  s->count.problems++;
  s->count.iterations += iterations;
  s->count.solved += reason > 0;
  s->count.swept += reason == PERP_SWEEPS_DONE;
  if (reason > 0 || reason == PERP_SWEEPS_DONE) return;
  s->count.failures++;
  s->count.failed[-reason]++;
}

/* The first body whose state is no number. */
static int engine_lost(const engine_sim *s)
{
  for (int b = 0; b < s->model->n_bodies; b++) {
    const perp_engine_state *x = &s->state[b];
    double sum = x->angle;
    for (int k = 0; k < 3; k++) sum += x->x[k] + x->v[k] + x->w[k];
    for (int k = 0; k < 4; k++) sum += x->quat[k];
    if (!isfinite(sum)) return b;
  }
  return -1;
}

static perp_status engine_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  engine_sim *s = ws;
  const double left = t_max - s->t, h = left < s->h * (1 + 1e-9) ? left : s->h;
  const double begun = s->timing ? perp_clock_wall() : 0;
  const perp_status status = s->calls->step(ctx, s->at, h);
  if (s->timing) s->times.integrate += perp_clock_wall() - begun;
  if (status == PERP_ERR_EXTERNAL) {
    snprintf(s->cause, sizeof s->cause, "%s", ctx->msg);
    info->reason = PERP_STALLED;
    info->cause = s->cause;
    return PERP_OK;
  }
  PERP_TRY(status);
  s->calls->get(s->at, s->state);
  const int lost = engine_lost(s);
  if (lost >= 0) {
    snprintf(s->cause, sizeof s->cause, "engine %s returned a state of body %d that is not finite",
             s->engine->d.name, lost);
    info->reason = PERP_NOT_FINITE;
    info->cause = s->cause;
    return PERP_OK;
  }
  perp_engine_state_to(s->model, s->state, s->q, s->v);
  s->t = left == h ? t_max : s->t + h;
  s->steps++;
  engine_counts(s);
  engine_contacts(s, info);
  return PERP_OK;
}

static void engine_state(const void *ws, double *t, const double **q, const double **v)
{
  const engine_sim *s = ws;
  *t = s->t;
  *q = s->q;
  *v = s->v;
}

static void engine_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const engine_sim *s = ws;
  if (ode != NULL) *ode = (perp_ode_counters){ .steps = s->steps };
  if (kkt != NULL) *kkt = (perp_stats){ .residual = (double)NAN };
}

static const perp_contact_count *engine_contact_count(const void *ws)
{
  const engine_sim *s = ws;
  return &s->count;
}

static void engine_timing(void *ws, bool on, perp_times *times)
{
  engine_sim *s = ws;
  s->timing = on;
  if (times != NULL) *times = s->times;
}

void perp_engine_resolved(const void *ws, char *text, size_t size)
{
  const engine_sim *s = ws;
  const int n = snprintf(text, size, "%s %s, ", s->engine->d.name, s->calls->version());
  if (n > 0 && (size_t)n < size) s->calls->resolved(s->at, text + n, size - (size_t)n);
}

double perp_engine_energy(const void *ws)
{
  const engine_sim *s = ws;
  return s->calls->energy != NULL ? s->calls->energy(s->at) : (double)NAN;
}

const perp_engine_desc perp_engine_perp = {
  .d = { .name = "perp",
         .summary = "No engine: formulation, integrator and solvers of perp",
         .reference = "the other options" },
  .package = "",
};

bool perp_engine_named(const perp_spec *engine)
{
  return engine->d != NULL && engine->d != &perp_engine_perp.d;
}

const perp_formulation_desc perp_engine_formulation = {
  .d = { .name = "engine", .summary = "Steps of a complete engine", .reference = "engine.h" },
  .create = engine_create,
  .restart = engine_restart,
  .step = engine_step,
  .state = engine_state,
  .counters = engine_counters,
  .timing = engine_timing,
  .destroy = engine_destroy,
  .contacts = engine_contact_count,
};
