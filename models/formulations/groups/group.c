/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/groups/group.h"

#include <stdlib.h>

enum { HALVINGS_MOST = 20 };

/* ---- counters ---- */

void perp_group_add_ode(const perp_group *group, perp_ode_counters *sum)
{
  perp_ode_counters counters;
  perp_sim_counters(group->sim, &counters, NULL);
  if (counters.steps > 0)
    sum->h_least = sum->h_least == 0 ? counters.h_least : fmin(sum->h_least, counters.h_least);
  sum->h_most = fmax(sum->h_most, counters.h_most);
  sum->steps += counters.steps;
  sum->rejected += counters.rejected;
  sum->bisections += counters.bisections;
  sum->changed += counters.changed;
  sum->rhs += counters.rhs;
  sum->iterations += counters.iterations;
}

void perp_group_add_kkt(const perp_group *group, perp_stats *sum)
{
  perp_stats stats;
  perp_sim_counters(group->sim, NULL, &stats);
  sum->iterations += stats.iterations;
  sum->factorizations += stats.factorizations;
  sum->matvecs += stats.matvecs;
  sum->work += stats.work;
  sum->fallbacks += stats.fallbacks;
}

void perp_group_add_times(const perp_group *group, bool on, perp_times *sum)
{
  perp_times times;
  perp_sim_timing(group->sim, on, &times);
  sum->collision += times.collision;
  sum->assembly += times.assembly;
  sum->kkt += times.kkt;
  sum->lcp += times.lcp;
  sum->integrate += times.integrate;
}

void perp_group_add_contacts(const perp_group *group, perp_contact_count *sum)
{
  const perp_contact_count *contacts = perp_sim_contacts(group->sim);
  if (contacts != NULL) perp_contact_count_add(sum, contacts);
}

void perp_group_add_count(const perp_group *group, perp_group_count *sum)
{
  perp_ode_counters counters;
  perp_sim_counters(group->sim, &counters, NULL);
  sum->idle += group->idle;
  sum->steps += counters.steps - group->born.steps;
  sum->rhs_bodies += (counters.rhs - group->born.rhs) * group->part.n_bodies;
}

/* What the solver counts since its restart, before that is forgotten. */
static void group_bank(perp_group_terms *terms, const perp_group *group)
{
  perp_group_add_kkt(group, &terms->kkt);
  perp_group_add_times(group, terms->timing, &terms->times);
  perp_group_add_contacts(group, &terms->contact);
}

/* ---- life ---- */

void perp_group_bury(perp_group_terms *terms, perp_group *group)
{
  if (group == NULL) return;
  if (group->sim != NULL) {
    group->idle = false; /* no longer one of those */
    group_bank(terms, group);
    perp_group_add_ode(group, &terms->ode);
    perp_group_add_count(group, &terms->count);
    perp_sim_destroy(group->sim);
  }
  perp_subset_destroy(&group->part);
  perp_step_sum_free(&group->sum);
  perp_arena_free(&group->sum_room);
  free(group);
}

static void group_layout_sum(void *user, perp_arena *arena)
{
  perp_group *group = user;
  perp_step_sum_layout(&group->sum, arena);
}

perp_status perp_group_form(perp_ctx *ctx, perp_group_terms *terms, const int *bodies, int n,
                            double h, perp_group **out)
{
  *out = NULL;
  perp_group *group = calloc(1, sizeof *group);
  if (group == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "groups: no memory for a group");
  perp_status status = perp_subset_create(ctx, terms->model, bodies, n, &group->part);
  if (status == PERP_OK)
    status = perp_sim_create(ctx, group->part.model, &terms->parts, h, &group->sim);
  if (status == PERP_OK) {
    group->sum.m = group->part.model->m;
    group->sum.drives = group->part.n_drives;
    status = perp_arena_layout(ctx, &group->sum_room, group_layout_sum, group);
  }
  if (status != PERP_OK) {
    perp_group_bury(terms, group);
    return status;
  }
  group->stale = true;
  group->h = h;
  perp_sim_timing(group->sim, terms->timing, NULL);
  if (terms->observer != NULL) perp_sim_observe(group->sim, terms->observer, terms->observer_user);
  *out = group;
  return PERP_OK;
}

static perp_status group_restart(perp_ctx *ctx, perp_group_terms *terms, perp_group *group)
{
  perp_subset_gather(&group->part, terms->q, terms->v, terms->q_sub, terms->v_sub);
  group->stale = false;
  for (int i = 0; i < group->part.n_drives; i++)
    perp_sim_turned(group->sim, i, terms->model->sim.angle[group->part.drive[i]]);
  for (int i = 0; i < group->part.n_joints; i++) {
    const perp_joint *own = &group->part.model->joint[i];
    if (own->chain != NULL)
      perp_sim_chained(group->sim, terms->model,
                       terms->model->joint[group->part.joint[i]].chain_memory, own->chain_memory);
  }
  for (int i = 0; i < group->part.n_joints; i++) {
    const int whole = group->part.joint[i], from = terms->model->joint[whole].axes - 1,
              to = group->part.model->joint[i].axes - 1;
    for (int k = 0; k < perp_axes_count(terms->model, whole); k++)
      perp_sim_turned(group->sim, to + k, terms->model->sim.angle[from + k]);
  }
  return perp_sim_restart(ctx, group->sim, terms->t, terms->q_sub, terms->v_sub);
}

perp_status perp_group_start(perp_ctx *ctx, perp_group_terms *terms, perp_group *group)
{
  const double *q, *v;
  if (group->stale)
    group_bank(terms, group); /* its creation was a start, too: a failure there counts */
  PERP_TRY(group_restart(ctx, terms, group));
  perp_sim_counters(group->sim, &group->born, NULL);
  perp_sim_state(group->sim, &group->t, &q, &v);
  perp_subset_scatter(&group->part, q, v, terms->q, terms->v);
  group->ahead = group->idle = false;
  group->rest = group->parted = group->h = 0;
  group->info = (perp_step_info){ 0 };
  return PERP_OK;
}

/* ---- one group to the next common time ---- */

/* Steps of h / 2^k: the least k with which no point moves farther than `travel`. */
static double own_step(const perp_group_terms *terms, const perp_group *group, const double *v)
{
  const perp_model *model = terms->model;
  double fastest = 0, h = terms->h;
  if (terms->travel == 0) return HUGE_VAL;
  for (int i = 0; i < group->part.n_bodies; i++) {
    const double reach = perp_swept_bounds_reach(terms->hulls, group->part.body[i]);
    fastest = fmax(fastest, perp_point_speed(model->dim, v + model->nvb * i, reach));
  }
  for (int k = 0; k < HALVINGS_MOST && fastest * h > terms->travel; k++) h *= 0.5;
  return h;
}

static bool is_still(const perp_group_terms *terms, int nv, const double *v)
{
  for (int i = 0; i < nv; i++)
    if (!(fabs(v[i]) <= terms->still)) return false;
  return true;
}

perp_status perp_group_advance(perp_ctx *ctx, perp_group_terms *terms, perp_group *group,
                               double t_to)
{
  const int nqb = terms->model->nqb;
  const double start = perp_group_clock(terms);
  const double *q, *v;
  group->still = true;
  group->drift = (double)NAN;
  if (group->stale) {
    group_bank(terms, group);
    PERP_TRY(group_restart(ctx, terms, group));
    terms->count.restart_s += perp_group_clock(terms) - start;
  }
  perp_sim_state(group->sim, &group->t, &q, &v);
  const double t_from = group->t, h = own_step(terms, group, v);
  perp_step_sum_start(&group->sum);
  for (int k = 1; group->t < t_to; k++) {
    double t_max = t_from + k * h, before = group->t;
    if (!(t_max < t_to - 1e-9 * h)) t_max = t_to;
    while (group->t < t_max) {
      const double t = group->t;
      PERP_TRY(perp_sim_step(ctx, group->sim, t_max, &group->info));
      if (group->info.reason < 0) return PERP_OK;
      perp_sim_state(group->sim, &group->t, &q, &v);
      if (t > t_from || group->t < t_to)
        PERP_TRY(perp_step_sum_add(ctx, &group->sum, group->t - t, &group->info));
      group->drift = fmax(group->drift, group->info.drift_pos_pre);
      group->still &= is_still(terms, group->part.model->nv, v);
      for (int i = 0; i < group->part.n_bodies; i++)
        perp_swept_bounds_extend(terms->hulls, group->part.body[i], q + nqb * i);
      /* a step that a common time cuts says nothing about the next */
      if (group->t < t_max || group->h == 0) group->h = group->t - before;
      before = group->t;
    }
  }
  if (group->sum.length > 0) perp_step_sum_info(&group->sum, &group->info);
  group->ahead = true;
  group->spent = perp_group_clock(terms) - start;
  return PERP_OK;
}
