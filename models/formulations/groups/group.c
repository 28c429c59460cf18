/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/groups/group.h"

#include <stdlib.h>

enum { HALVINGS_MOST = 20 };

/* ---- counters ---- */

void perp_group_add_ode(const perp_group *g, perp_ode_counters *sum)
{
  perp_ode_counters c;
  perp_sim_counters(g->sim, &c, NULL);
  if (c.steps > 0) sum->h_least = sum->h_least == 0 ? c.h_least : fmin(sum->h_least, c.h_least);
  sum->h_most = fmax(sum->h_most, c.h_most);
  sum->steps += c.steps;
  sum->rejected += c.rejected;
  sum->bisections += c.bisections;
  sum->changed += c.changed;
  sum->rhs += c.rhs;
  sum->iterations += c.iterations;
}

void perp_group_add_kkt(const perp_group *g, perp_stats *sum)
{
  perp_stats s;
  perp_sim_counters(g->sim, NULL, &s);
  sum->iterations += s.iterations;
  sum->factorizations += s.factorizations;
  sum->matvecs += s.matvecs;
  sum->work += s.work;
  sum->fallbacks += s.fallbacks;
}

void perp_group_add_times(const perp_group *g, bool on, perp_times *sum)
{
  perp_times t;
  perp_sim_timing(g->sim, on, &t);
  sum->collision += t.collision;
  sum->assembly += t.assembly;
  sum->kkt += t.kkt;
  sum->lcp += t.lcp;
  sum->integrate += t.integrate;
}

void perp_group_add_contacts(const perp_group *g, perp_contact_count *sum)
{
  const perp_contact_count *contacts = perp_sim_contacts(g->sim);
  if (contacts != NULL) perp_contact_count_add(sum, contacts);
}

void perp_group_add_count(const perp_group *g, perp_group_count *sum)
{
  perp_ode_counters c;
  perp_sim_counters(g->sim, &c, NULL);
  sum->idle += g->idle;
  sum->steps += c.steps - g->born.steps;
  sum->rhs_bodies += (c.rhs - g->born.rhs) * g->part.n_bodies;
}

/* What the solver counts since its restart, before that is forgotten. */
static void group_bank(perp_group_terms *w, const perp_group *g)
{
  perp_group_add_kkt(g, &w->kkt);
  perp_group_add_times(g, w->timing, &w->times);
  perp_group_add_contacts(g, &w->contact);
}

/* ---- life ---- */

void perp_group_bury(perp_group_terms *w, perp_group *g)
{
  if (g == NULL) return;
  if (g->sim != NULL) {
    g->idle = false; /* no longer one of those */
    group_bank(w, g);
    perp_group_add_ode(g, &w->ode);
    perp_group_add_count(g, &w->count);
    perp_sim_destroy(g->sim);
  }
  perp_subset_destroy(&g->part);
  free(g);
}

perp_status perp_group_form(perp_ctx *ctx, perp_group_terms *w, const int *bodies, int n, double h,
                            perp_group **out)
{
  *out = NULL;
  perp_group *g = calloc(1, sizeof *g);
  if (g == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "groups: no memory for a group");
  perp_status status = perp_subset_create(ctx, w->model, bodies, n, &g->part);
  if (status == PERP_OK) status = perp_sim_create(ctx, g->part.model, &w->parts, h, &g->sim);
  if (status != PERP_OK) {
    perp_group_bury(w, g);
    return status;
  }
  g->stale = true;
  g->h = h;
  perp_sim_timing(g->sim, w->timing, NULL);
  if (w->observer != NULL) perp_sim_observe(g->sim, w->observer, w->observer_user);
  *out = g;
  return PERP_OK;
}

static perp_status group_restart(perp_ctx *ctx, perp_group_terms *w, perp_group *g)
{
  perp_subset_gather(&g->part, w->q, w->v, w->q_sub, w->v_sub);
  g->stale = false;
  for (int i = 0; i < g->part.n_drives; i++)
    perp_sim_turned(g->sim, i, w->model->angle[g->part.drive[i]]);
  return perp_sim_restart(ctx, g->sim, w->t, w->q_sub, w->v_sub);
}

perp_status perp_group_start(perp_ctx *ctx, perp_group_terms *w, perp_group *g)
{
  const double *q, *v;
  if (g->stale) group_bank(w, g); /* its creation was a start, too: a failure there counts */
  PERP_TRY(group_restart(ctx, w, g));
  perp_sim_counters(g->sim, &g->born, NULL);
  perp_sim_state(g->sim, &g->t, &q, &v);
  perp_subset_scatter(&g->part, q, v, w->q, w->v);
  g->ahead = g->idle = false;
  g->rest = g->parted = g->h = 0;
  g->info = (perp_step_info){ 0 };
  return PERP_OK;
}

/* ---- one group to the next common time ---- */

/* Steps of h / 2^k: the least k with which no point moves farther than `travel`. */
static double own_step(const perp_group_terms *w, const perp_group *g, const double *v)
{
  const perp_model *model = w->model;
  double fastest = 0, h = w->h;
  if (w->travel == 0) return HUGE_VAL;
  for (int i = 0; i < g->part.n_bodies; i++) {
    const double reach = perp_swept_bounds_reach(w->hulls, g->part.body[i]);
    fastest = fmax(fastest, perp_point_speed(model->dim, v + model->nvb * i, reach));
  }
  for (int k = 0; k < HALVINGS_MOST && fastest * h > w->travel; k++) h *= 0.5;
  return h;
}

static bool is_still(const perp_group_terms *w, int nv, const double *v)
{
  for (int i = 0; i < nv; i++)
    if (!(fabs(v[i]) <= w->still)) return false;
  return true;
}

perp_status perp_group_advance(perp_ctx *ctx, perp_group_terms *w, perp_group *g, double t_to)
{
  const int nqb = w->model->nqb;
  const double start = perp_group_clock(w);
  const double *q, *v;
  g->still = true;
  g->drift = (double)NAN;
  if (g->stale) {
    group_bank(w, g);
    PERP_TRY(group_restart(ctx, w, g));
    w->count.restart_s += perp_group_clock(w) - start;
  }
  perp_sim_state(g->sim, &g->t, &q, &v);
  const double t_from = g->t, h = own_step(w, g, v);
  for (int k = 1; g->t < t_to; k++) {
    double t_max = t_from + k * h, before = g->t;
    if (!(t_max < t_to - 1e-9 * h)) t_max = t_to;
    while (g->t < t_max) {
      PERP_TRY(perp_sim_step(ctx, g->sim, t_max, &g->info));
      if (g->info.reason < 0) return PERP_OK;
      perp_sim_state(g->sim, &g->t, &q, &v);
      g->drift = fmax(g->drift, g->info.drift_pos_pre);
      g->still &= is_still(w, g->part.model->nv, v);
      for (int i = 0; i < g->part.n_bodies; i++)
        perp_swept_bounds_extend(w->hulls, g->part.body[i], q + nqb * i);
      /* a step that a common time cuts says nothing about the next */
      if (g->t < t_max || g->h == 0) g->h = g->t - before;
      before = g->t;
    }
  }
  g->ahead = true;
  g->spent = perp_group_clock(w) - start;
  return PERP_OK;
}
