/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/engines/engine_sim.h"

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
  engine_sim *sim = ws;
  if (sim->at != NULL) sim->calls->destroy(sim->at);
  perp_engine_world_destroy(sim->world);
  free(sim->opts);
  free(sim->q);
  free(sim->v);
  free(sim->state);
  free(sim->point);
  free(sim->contact);
  free(sim->impulse);
  free(sim);
}

static perp_status engine_arrays(perp_ctx *ctx, engine_sim *sim, const perp_spec *engine)
{
  const size_t bodies = (size_t)perp_model_bodies(sim->model), opts = engine->d->opts_size;
  sim->cap = sim->calls->contacts != NULL ? 8 * perp_model_shapes(sim->model) + 64 : 0;
  sim->opts = calloc(1, opts + 1);
  sim->q = calloc((size_t)perp_model_nq(sim->model) + 1, sizeof *sim->q);
  sim->v = calloc((size_t)perp_model_nv(sim->model) + 1, sizeof *sim->v);
  sim->state = calloc(bodies + 1, sizeof *sim->state);
  sim->point = calloc((size_t)sim->cap + 1, sizeof *sim->point);
  sim->contact = calloc((size_t)sim->cap + 1, sizeof *sim->contact);
  sim->impulse = calloc(3 * (size_t)sim->cap + 1, sizeof *sim->impulse);
  if (sim->opts == NULL || sim->q == NULL || sim->v == NULL || sim->state == NULL ||
      sim->point == NULL || sim->contact == NULL || sim->impulse == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a simulation with an engine");
  if (opts > 0) memcpy(sim->opts, engine->opts, opts);
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
  engine_sim *sim = calloc(1, sizeof *sim);
  if (sim == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a simulation with an engine");
  *sim = (engine_sim){ .engine = engine, .calls = calls, .model = model, .h = h };
  perp_status status = engine_arrays(ctx, sim, &parts->engine);
  if (status == PERP_OK) status = perp_engine_world_create(ctx, model, h, &sim->world);
  if (status == PERP_OK)
    *ws = sim;
  else
    engine_destroy(sim);
  return status;
}

/* A new world each time: engines keep more from step to step than a state. */
static perp_status engine_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                  const double *v)
{
  engine_sim *sim = ws;
  if (sim->at != NULL) sim->calls->destroy(sim->at);
  sim->at = NULL;
  PERP_TRY(sim->calls->create(ctx, sim->world, sim->opts, &sim->at));
  sim->t = t;
  sim->times = (perp_times){ 0 };
  /* nobody judges what an engine solves */
  sim->count = (perp_contact_count){ .work = (double)NAN,
                                     .residual = (double)NAN,
                                     .data = (double)NAN };
  memcpy(sim->q, q, (size_t)perp_model_nq(sim->model) * sizeof *q);
  memcpy(sim->v, v, (size_t)perp_model_nv(sim->model) * sizeof *v);
  perp_engine_state_of(sim->model, q, v, sim->state);
  sim->calls->set(sim->at, sim->state);
  return PERP_OK;
}

static void engine_contacts(engine_sim *sim, perp_step_info *info)
{
  info->untold = true;
  if (sim->calls->contacts == NULL) return;
  const int n = sim->calls->contacts(sim->at, sim->point, sim->cap);
  bool told = true;
  for (int i = 0; i < n; i++) {
    const perp_engine_contact *p = &sim->point[i];
    perp_contact *c = &sim->contact[i];
    const perp_surface pair = sim->world->pair(sim->world, p->shape_a, p->shape_b);
    *c = (perp_contact){ .shape = { p->shape_a, p->shape_b },
                         .body = { perp_model_shape(sim->model, p->shape_a)->body,
                                   perp_model_shape(sim->model, p->shape_b)->body },
                         .id = (uint64_t)p->shape_a << 44 | (uint64_t)p->shape_b << 24 |
                               (uint64_t)(unsigned)i,
                         .gap = p->gap,
                         .mu = pair.mu,
                         .mu_dynamic = pair.mu_dynamic,
                         .e = pair.restitution };
    for (int k = 0; k < 3; k++) {
      c->n[k] = p->n[k];
      c->p[0][k] = p->p[k] - 0.5 * p->gap * p->n[k];
      c->p[1][k] = p->p[k] + 0.5 * p->gap * p->n[k];
      sim->impulse[3 * i + k] = p->impulse[k];
    }
    told &= !isnan(p->impulse[0]);
  }
  sim->count.contacts = n > sim->count.contacts ? n : sim->count.contacts;
  info->n_contacts = n;
  info->contacts = n > 0 ? sim->contact : NULL;
  info->impulse = told ? sim->impulse : NULL;
}

/* What the engine says of its own solver. */
static void engine_counts(engine_sim *sim)
{
  int iterations = 0;
  const perp_reason reason = sim->calls->ended(sim->at, &iterations);
  if (reason == PERP_RUNNING) return;
  sim->count.problems++;
  sim->count.iterations += iterations;
  sim->count.solved += reason > 0;
  sim->count.swept += reason == PERP_SWEEPS_DONE;
  if (reason > 0 || reason == PERP_SWEEPS_DONE) return;
  sim->count.failures++;
  sim->count.failed[-reason]++;
}

/* The first body whose state is no number. */
static int engine_lost(const engine_sim *sim)
{
  for (int body = 0; body < perp_model_bodies(sim->model); body++) {
    const perp_engine_state *state = &sim->state[body];
    double sum = state->angle;
    for (int k = 0; k < 3; k++) sum += state->x[k] + state->v[k] + state->w[k];
    for (int k = 0; k < 4; k++) sum += state->quat[k];
    if (!isfinite(sum)) return body;
  }
  return -1;
}

static perp_status engine_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  engine_sim *sim = ws;
  const double left = t_max - sim->t, h = left < sim->h * (1 + 1e-9) ? left : sim->h;
  const double begun = sim->timing ? perp_clock_wall() : 0;
  const perp_status status = sim->calls->step(ctx, sim->at, h);
  if (sim->timing) sim->times.integrate += perp_clock_wall() - begun;
  if (status == PERP_ERR_EXTERNAL) {
    snprintf(sim->cause, sizeof sim->cause, "%s", ctx->msg);
    info->reason = PERP_STALLED;
    info->cause = sim->cause;
    return PERP_OK;
  }
  PERP_TRY(status);
  sim->calls->get(sim->at, sim->state);
  const int lost = engine_lost(sim);
  if (lost >= 0) {
    snprintf(sim->cause, sizeof sim->cause,
             "engine %s returned a state of body %d that is not finite", sim->engine->d.name, lost);
    info->reason = PERP_NOT_FINITE;
    info->cause = sim->cause;
    return PERP_OK;
  }
  perp_engine_state_to(sim->model, sim->state, sim->q, sim->v);
  sim->t = left == h ? t_max : sim->t + h;
  sim->steps++;
  engine_counts(sim);
  engine_contacts(sim, info);
  return PERP_OK;
}

static void engine_state(const void *ws, double *t, const double **q, const double **v)
{
  const engine_sim *sim = ws;
  *t = sim->t;
  *q = sim->q;
  *v = sim->v;
}

static void engine_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const engine_sim *sim = ws;
  if (ode != NULL) *ode = (perp_ode_counters){ .steps = sim->steps };
  if (kkt != NULL) *kkt = (perp_stats){ .residual = (double)NAN };
}

static const perp_contact_count *engine_contact_count(const void *ws)
{
  const engine_sim *sim = ws;
  return &sim->count;
}

static void engine_timing(void *ws, bool on, perp_times *times)
{
  engine_sim *sim = ws;
  sim->timing = on;
  if (times != NULL) *times = sim->times;
}

void perp_engine_resolved(const void *ws, char *text, size_t size)
{
  const engine_sim *sim = ws;
  const int n = snprintf(text, size, "%s %s, ", sim->engine->d.name, sim->calls->version());
  if (n > 0 && (size_t)n < size) sim->calls->resolved(sim->at, text + n, size - (size_t)n);
}

double perp_engine_energy(const void *ws)
{
  const engine_sim *sim = ws;
  return sim->calls->energy != NULL ? sim->calls->energy(sim->at) : (double)NAN;
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
