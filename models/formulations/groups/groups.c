/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulation groups: bodies that can influence each other share an ODE, a step and a time of their
 * own (Vondrak 2005, sections 7.1 and 7.3.3-7.3.4), under any other formulation.
 *
 * A group is a model of its bodies (subset.h) with a simulation of its own: `of`, and the ODE, KKT,
 * LCP, stabilization and contact parts that are given.  Bodies are in one group when a joint or a
 * force connects them, or when their geometry hulls meet (hulls.h); the world connects nothing.
 *
 * Common times.  All groups are brought from T to T + frame, each in its own steps: of h, shorter
 * for a group that moves fast (`travel`, Vondrak's bound on velocities), or as its error control
 * likes.  Then
 *
 *      meeting     Where hulls swept since T of bodies of two groups meet, nothing is committed:
 * these groups are rolled back to T, merged, and advanced again as one, until none meet.  Groups
 * that met no one keep what they have computed and wait, which nobody can see: the state of the
 * whole is written once, when all groups are at T + frame. failure     When one group cannot go on,
 * the whole stays at T, and every group goes back to it. parting     A group that has not been
 * connected for `apart` seconds falls into its components.  The delay is the hysteresis: bouncing
 * bodies do not merge and part at each bounce. idleness    A group in which no velocity has
 * exceeded `still` for `idle` seconds is skipped until another one meets it: forces that did not
 * move it in that time are in equilibrium.  Its state is not touched, and its mean acceleration was
 * below 2 still / idle.
 *
 * A group that is made, or rolled back, restarts its solver: multistep methods lose their history,
 * contacts their guesses, and what has slid in the step before with mu_dynamic.  With steps of one
 * length, groups that never meet therefore make the steps that they make in one system, bit for bit
 * unless a part stops at a tolerance of the whole; merged ones agree to the order of the method.
 * Metrics are taken at common times; lambda, drive
 * forces and contacts are those of the last step of each group.
 *
 * Cost: that of the steps, hulls O(bodies) a step; merging and parting build models, the only
 * allocation. */
#include "models/stepping/constrained.h"
#include "models/formulations/groups/group.h"
#include "models/stepping/time_grid.h"

#include <stdlib.h>
#include <string.h>

static const double frame_adaptive = 100; /* h */

typedef struct opts {
  char of[PERP_TEXT_MAX];
  double frame, travel, margin, apart, idle, still;
} opts;
static const perp_opt options[] = {
  PERP_TEXT(opts, of, "",
            "Formulation inside of a group, in parentheses. Empty: the default formulation."),
  PERP_REAL(opts, frame, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "s",
            "Time between two states that all groups reach together. 0: h, or 100 h under error "
            "control."),
  PERP_REAL(opts, travel, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "m",
            "Longest motion of a point in a step: a group halves h until its points move less. 0: "
            "no limit."),
  PERP_REAL(opts, margin, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "m",
            "Distance between the hulls of two groups below which they are merged."),
  PERP_REAL(opts, apart, 0.1, 0, HUGE_VAL, 0, "s",
            "Time without a connection after which a group is split. inf: never."),
  PERP_REAL(opts, idle, 0.5, 0, HUGE_VAL, PERP_OPEN_MIN, "s",
            "Time at rest after which a group is skipped. inf: never."),
  PERP_REAL(opts, still, 1e-4, 0, HUGE_VAL, PERP_OPEN_MAX, "m/s, rad/s",
            "Speed limit for rest: a body with all velocities below it is at rest."),
  PERP_OPTIONS_END
};

typedef struct workspace {
  perp_group_terms all;
  opts o;
  bool adaptive;
  perp_time_grid m; /* common times */
  int n;
  perp_group **g;    /* [bodies], n of them, in the order of their first bodies */
  int *group_of;     /* [bodies] -1: none */
  int *root, *label; /* [bodies] of components, of groups to be */
  int *set;          /* [bodies] groups that met */
  int *head, *next;  /* [bodies] lists of bodies with one label */
  int *list;         /* [bodies] */
  double *lambda, *drive;
  perp_contact *contacts; /* [cap] */
  double *impulse;        /* [3 cap] */
  int cap;
  perp_contact_count contact; /* of the groups of now and before */
  perp_group_count count;
} workspace;

/* ---- who is with whom ---- */

/* The counts of the whole. */
static void sum_up(workspace *work)
{
  work->contact = work->all.contact;
  work->count = work->all.count;
  work->count.groups = work->n;
  for (int i = 0; i < work->n; i++) {
    perp_group_add_contacts(work->g[i], &work->contact);
    perp_group_add_count(work->g[i], &work->count);
  }
}

/* Make the groups label [bodies] (the smallest body of each); those that are there already stay as
 * they are. On failure there are none. */
static perp_status groups_divide(perp_ctx *ctx, workspace *work, const int *label)
{
  const int nb = work->all.model->n_bodies, n_old = work->n;
  perp_group **old = work->g + nb; /* the second half of the array */
  perp_status status = PERP_OK;
  memcpy(old, work->g, (size_t)n_old * sizeof(perp_group *));
  work->n = 0;
  for (int b = 0; b < nb; b++) work->head[b] = -1;
  for (int b = nb - 1; b >= 0; b--) {
    work->next[b] = work->head[label[b]];
    work->head[label[b]] = b;
  }
  for (int b = 0; b < nb && status == PERP_OK; b++) {
    if (label[b] != b) continue;
    /* under error control a group starts with a step that each of its parts could make */
    double h = work->all.h;
    int n = 0;
    for (int i = b; i >= 0; i = work->next[i]) {
      const int from = work->group_of[i];
      if (work->adaptive && from >= 0 && old[from]->h > 0) h = fmin(h, old[from]->h);
      work->list[n++] = i;
    }
    perp_group *group = work->group_of[b] < 0 ? NULL : old[work->group_of[b]];
    if (group != NULL && group->part.n_bodies == n &&
        memcmp(group->part.body, work->list, (size_t)n * sizeof(int)) == 0)
      old[work->group_of[b]] = NULL;
    else
      status = perp_group_form(ctx, &work->all, work->list, n, h, &group);
    if (status == PERP_OK) work->g[work->n++] = group;
  }
  for (int i = 0; i < n_old; i++) perp_group_bury(&work->all, old[i]);
  for (int i = 0; i < work->n && status != PERP_OK; i++) perp_group_bury(&work->all, work->g[i]);
  if (status != PERP_OK) work->n = 0;
  for (int b = 0; b < nb; b++) work->group_of[b] = -1;
  for (int i = 0; i < work->n; i++)
    for (int k = 0; k < work->g[i]->part.n_bodies; k++)
      work->group_of[work->g[i]->part.body[k]] = i;
  if (work->n > work->all.count.most) work->all.count.most = work->n;
  return status;
}

/* Hulls begin at the state of the whole. */
static void begin_hulls(workspace *work, const perp_subset *part)
{
  for (int body = 0; body < part->n_bodies; body++)
    perp_swept_bounds_begin(work->all.hulls, part->body[body],
                            work->all.q + work->all.model->nqb * part->body[body]);
}

/* All groups that are not there yet; *failed: the first that cannot go on, or NULL. */
static perp_status advance_all(perp_ctx *ctx, workspace *work, double t_to,
                               const perp_group **failed)
{
  *failed = NULL;
  for (int i = 0; i < work->n; i++) {
    perp_group *group = work->g[i];
    if (group->ahead || group->idle) continue;
    PERP_TRY(perp_group_advance(ctx, &work->all, group, t_to));
    if (group->info.reason >= 0) continue;
    *failed = group;
    return PERP_OK;
  }
  return PERP_OK;
}

/* Groups whose hulls met are merged, at the state of the whole; *merged: there were any. */
static perp_status groups_merge(perp_ctx *ctx, workspace *work, bool *merged)
{
  const int nb = work->all.model->n_bodies;
  const double start = perp_group_clock(&work->all);
  perp_swept_bounds_components(work->all.hulls, work->root);
  for (int i = 0; i < work->n; i++) work->set[i] = i;
  for (int b = 0; b < nb; b++)
    perp_unite(work->set, work->group_of[b], work->group_of[work->root[b]]);
  *merged = false;
  for (int i = 0; i < work->n; i++) *merged |= perp_root(work->set, i) != i;
  if (!*merged) return PERP_OK;
  for (int b = 0; b < nb; b++)
    work->label[b] = work->g[perp_root(work->set, work->group_of[b])]->part.body[0];
  /* what is thrown away: the advances of all that take part */
  for (int i = 0; i < work->n; i++) work->list[i] = 0;
  for (int i = 0; i < work->n; i++) work->list[perp_root(work->set, i)]++;
  for (int i = 0; i < work->n; i++) {
    const perp_group *group = work->g[i];
    const int root = perp_root(work->set, i);
    if (work->list[root] == 1) continue;
    work->all.count.merges += root == i;
    work->all.count.undone += group->ahead;
    work->all.count.restart_s += group->ahead ? group->spent : 0;
  }
  work->all.count.aborted++;
  PERP_TRY(groups_divide(ctx, work, work->label));
  for (int i = 0; i < work->n; i++)
    if (!work->g[i]->ahead && !work->g[i]->idle) begin_hulls(work, &work->g[i]->part);
  work->all.count.restart_s += perp_group_clock(&work->all) - start;
  return PERP_OK;
}

/* ---- commit ---- */

/* A group that has not been connected for long enough falls into its components. */
static perp_status groups_part(perp_ctx *ctx, workspace *work, double dt)
{
  bool any = false;
  for (int i = 0; i < work->n; i++) {
    perp_group *group = work->g[i];
    const int *body = group->part.body;
    bool one = true;
    for (int k = 1; k < group->part.n_bodies; k++)
      one &= work->root[body[k]] == work->root[body[0]];
    group->parted = one ? 0 : group->parted + dt;
    /* an idle one costs nothing */
    const bool falls = !one && !group->idle && group->parted >= work->o.apart;
    for (int k = 0; k < group->part.n_bodies; k++)
      work->label[body[k]] = falls ? work->root[body[k]] : body[0];
    any |= falls;
    work->all.count.splits += falls;
  }
  if (!any) return PERP_OK;
  const double start = perp_group_clock(&work->all);
  perp_status status = groups_divide(ctx, work, work->label);
  work->all.count.restart_s += perp_group_clock(&work->all) - start;
  return status;
}

/* Memory for n contacts; grows with the largest number ever. */
static perp_status groups_reserve(perp_ctx *ctx, workspace *work, int n)
{
  if (n <= work->cap) return PERP_OK;
  const int cap = n + n / 2 + 16;
  perp_contact *contacts = realloc(work->contacts, (size_t)cap * sizeof *contacts);
  if (contacts != NULL) work->contacts = contacts;
  double *impulse = realloc(work->impulse, 3 * (size_t)cap * sizeof *impulse);
  if (impulse != NULL) work->impulse = impulse;
  if (contacts == NULL || impulse == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "groups: no memory for %d contacts", n);
  work->cap = cap;
  return PERP_OK;
}

static int groups_outside(int body, const int *number)
{
  return body < 0 ? body : number[body];
}

/* Contacts of the groups, in the numbers of the whole. */
static perp_status gather_contacts(perp_ctx *ctx, workspace *work, perp_step_info *info)
{
  int n = 0;
  for (int i = 0; i < work->n; i++) {
    n += work->g[i]->info.n_contacts;
    info->n_critical += work->g[i]->info.n_critical;
    info->tolerance = fmax(info->tolerance, work->g[i]->info.tolerance);
  }
  PERP_TRY(groups_reserve(ctx, work, n));
  for (int i = 0; i < work->n; i++) {
    const perp_subset *subset = &work->g[i]->part;
    const perp_step_info *one = &work->g[i]->info;
    for (int k = 0; k < one->n_contacts; k++, info->n_contacts++) {
      perp_contact *contact = &work->contacts[info->n_contacts];
      *contact = one->contacts[k];
      contact->shape[0] = subset->shape[contact->shape[0]];
      contact->shape[1] = subset->shape[contact->shape[1]];
      contact->body[0] = groups_outside(contact->body[0], subset->body);
      contact->body[1] = groups_outside(contact->body[1], subset->body);
      contact->id = (uint64_t)contact->shape[0] << 44 | (uint64_t)contact->shape[1] << 24 |
                    (contact->id & 0xffffff);
      memcpy(work->impulse + 3 * info->n_contacts, one->impulse + 3 * k, 3 * sizeof *work->impulse);
    }
  }
  info->contacts = n > 0 ? work->contacts : NULL;
  info->impulse = n > 0 ? work->impulse : NULL;
  return PERP_OK;
}

static void gather_rows(workspace *work, const perp_group *group, perp_step_info *info)
{
  const perp_subset *subset = &group->part;
  if (group->info.lambda == NULL && subset->model->m > 0) info->lambda = NULL;
  for (int i = 0; i < subset->n_joints && group->info.lambda != NULL; i++) {
    const int row = work->all.model->pattern.cptr[subset->joint[i]],
              rows = work->all.model->pattern.cptr[subset->joint[i] + 1] - row;
    memcpy(work->lambda + row, group->info.lambda + subset->model->pattern.cptr[i],
           (size_t)rows * sizeof(double));
  }
  if (group->info.drive == NULL && subset->n_drives > 0) info->drive = NULL;
  for (int i = 0; i < subset->n_drives && group->info.drive != NULL; i++)
    work->drive[subset->drive[i]] = group->info.drive[i];
}

/* All groups are at t: it becomes the state of the whole. */
static perp_status groups_commit(perp_ctx *ctx, workspace *work, double t, perp_step_info *info)
{
  const double dt = t - work->m.t;
  info->lambda = work->lambda;
  info->drive = work->all.model->n_drives > 0 ? work->drive : NULL;
  for (int i = 0; i < work->n; i++) {
    perp_group *group = work->g[i];
    gather_rows(work, group, info);
    work->all.count.skipped += group->idle;
    if (group->info.h_stable > 0)
      info->h_stable = info->h_stable > 0 ? fmin(info->h_stable, group->info.h_stable)
                                          : group->info.h_stable;
    if (group->idle) continue;
    const double *q, *v;
    perp_sim_state(group->sim, &group->t, &q, &v);
    perp_subset_scatter(&group->part, q, v, work->all.q, work->all.v);
    info->drift_pos_pre = fmax(info->drift_pos_pre, group->drift);
    if (group->info.reason != PERP_EXACT) info->reason = group->info.reason;
    group->ahead = false;
    group->rest = group->still ? group->rest + dt : 0;
    work->all.count.advanced++;
  }
  PERP_TRY(gather_contacts(ctx, work, info));
  perp_time_grid_accept(&work->m, t);
  work->all.t = t;
  for (int i = 0; i < work->n; i++) work->g[i]->idle |= work->g[i]->rest >= work->o.idle;
  return PERP_OK;
}

static perp_status groups_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *work = ws;
  const double t = perp_time_grid_next(&work->m, t_max), dt = t - work->m.t,
               start = perp_group_clock(&work->all);
  const perp_group *failed;
  bool merged = true;
  if (dt == 0) return PERP_OK;
  if (work->n == 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "groups: an earlier failure left no groups: restart the simulation");
  for (int i = 0; i < work->n; i++) begin_hulls(work, &work->g[i]->part);
  while (merged) {
    perp_status status = advance_all(ctx, work, t, &failed);
    if (status != PERP_OK || failed != NULL) {
      if (failed != NULL) info->reason = failed->info.reason;
      /* Every group that has moved goes back to the state of the whole. */
      for (int i = 0; i < work->n; i++) {
        perp_group *group = work->g[i];
        if (group->idle) continue;
        work->all.count.undone += group->ahead;
        group->ahead = false;
        group->stale = true;
      }
      sum_up(work);
      return status;
    }
    PERP_TRY(groups_merge(ctx, work, &merged));
  }
  PERP_TRY(groups_commit(ctx, work, t, info));
  PERP_TRY(groups_part(ctx, work, dt));
  work->all.count.advance_s += perp_group_clock(&work->all) - start;
  sum_up(work);
  return PERP_OK;
}

/* ---- life ---- */

static perp_status groups_inner(perp_ctx *ctx, const void *formulation_opts, perp_spec *formulation)
{
  const opts *chosen = formulation_opts;
  *formulation = (perp_spec){ 0 };
  return chosen->of[0] == 0 ? PERP_OK
                            : perp_spec_parse(ctx, PERP_KIND_formulation, chosen->of, formulation);
}

static void groups_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->all.model;
  const int nb = model->n_bodies;
  work->g = PERP_CARVE(arena, perp_group *, 2 * nb);
  PERP_INTS(arena, nb, &work->group_of, &work->root, &work->label, &work->set, &work->head,
            &work->next, &work->list);
  PERP_DOUBLES(arena, model->nq, &work->all.q, &work->all.q_sub);
  PERP_DOUBLES(arena, model->nv, &work->all.v, &work->all.v_sub);
  work->lambda = PERP_CARVE(arena, double, model->m);
  work->drive = PERP_CARVE(arena, double, model->n_drives);
}

static void groups_destroy(void *ws)
{
  workspace *work = ws;
  if (work == NULL) return;
  for (int i = 0; i < work->n; i++) perp_group_bury(&work->all, work->g[i]);
  perp_swept_bounds_destroy(work->all.hulls);
  perp_parts_free(&work->all.parts);
  free(work->contacts);
  free(work->impulse);
  free(work);
}

static perp_status copy_parts(perp_ctx *ctx, workspace *work, const perp_parts *parts)
{
  PERP_TRY(groups_inner(ctx, &work->o, &work->all.parts.formulation));
  if (work->all.parts.formulation.d != NULL &&
      (work->all.parts.formulation.d->caps & PERP_FORM_WRAPS))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "groups: nested groups are not supported: choose another inner formulation");
  /* shapes of one group may never touch each other, and meet those of another one */
  if (work->all.parts.formulation.d != NULL &&
      !(work->all.parts.formulation.d->caps & PERP_FORM_CONTACTS) &&
      perp_model_collides(work->all.model))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "groups: formulation %s does not support models with colliding shapes",
                     work->all.parts.formulation.d->name);
  PERP_TRY(perp_spec_copy(ctx, &parts->ode, &work->all.parts.ode));
  PERP_TRY(perp_spec_copy(ctx, &parts->kkt, &work->all.parts.kkt));
  PERP_TRY(perp_spec_copy(ctx, &parts->lcp, &work->all.parts.lcp));
  PERP_TRY(perp_spec_copy(ctx, &parts->stab, &work->all.parts.stab));
  return perp_spec_copy(ctx, &parts->contact, &work->all.parts.contact);
}

static perp_status groups_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                 double h, void **ws)
{
  const opts *chosen = parts->formulation.opts;
  workspace like = {
    .all = { .model = model, .h = h, .travel = chosen->travel, .still = chosen->still },
    .o = *chosen
  };
  if (parts->contact.d != NULL && (parts->contact.d->caps & PERP_CONTACT_RELAXED) &&
      !(chosen->margin > 0))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "groups: contact %s leaves a gap mu |v| h between sliding bodies, which would "
                     "separate them; use a margin (m) above it, or --contact polyhedral",
                     parts->contact.d->name);
  PERP_TRY(perp_workspace_create(ctx, "groups", &like, sizeof like, groups_layout, ws));
  workspace *work = *ws;
  for (int body = 0; body < model->n_bodies; body++) work->group_of[body] = -1;
  perp_status status = copy_parts(ctx, work, parts);
  if (status == PERP_OK)
    status = perp_swept_bounds_create(ctx, model, work->o.margin, &work->all.hulls);
  if (status != PERP_OK) {
    groups_destroy(work);
    *ws = NULL;
    return status;
  }
  /* the first member of the options of every ODE method */
  const perp_ode_control *control = work->all.parts.ode.opts;
  work->adaptive = control != NULL && control->tol > 0;
  work->m.h = work->o.frame > 0 ? work->o.frame : work->adaptive ? frame_adaptive * h : h;
  return PERP_OK;
}

static perp_status groups_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                  const double *v)
{
  workspace *work = ws;
  const perp_model *model = work->all.model;
  /* judged on a copy: each group normalizes its own quaternions, once */
  memcpy(work->all.q_sub, q, (size_t)model->nq * sizeof *q);
  PERP_TRY(perp_constrained_check_start(ctx, model, work->all.q_sub, v));
  memmove(work->all.q, q, (size_t)model->nq * sizeof *q);
  memmove(work->all.v, v, (size_t)model->nv * sizeof *v);
  for (int body = 0; body < model->n_bodies; body++)
    perp_swept_bounds_begin(work->all.hulls, body, work->all.q + model->nqb * body);
  perp_swept_bounds_components(work->all.hulls, work->root);
  work->all.count.most = 0;
  for (int i = 0; i < work->n; i++) work->g[i]->stale = false;
  PERP_TRY(groups_divide(ctx, work, work->root)); /* those that are new are stale */
  perp_time_grid_restart(&work->m, t);
  work->all.t = t;
  work->all.kkt = (perp_stats){ 0 };
  work->all.contact = (perp_contact_count){ 0 };
  work->all.times = (perp_times){ 0 };
  for (int i = 0; i < work->n; i++) PERP_TRY(perp_group_start(ctx, &work->all, work->g[i]));
  memset(work->lambda, 0, (size_t)model->m * sizeof *work->lambda);
  memset(work->drive, 0, (size_t)model->n_drives * sizeof *work->drive);
  work->all.count = (perp_group_count){ .most = work->n };
  sum_up(work);
  return PERP_OK;
}

static void groups_state(const void *ws, double *t, const double **q, const double **v)
{
  const workspace *work = ws;
  *t = work->m.t;
  *q = work->all.q;
  *v = work->all.v;
}

static void groups_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *work = ws;
  perp_ode_counters all = work->all.ode;
  perp_stats sum = work->all.kkt;
  for (int i = 0; i < work->n; i++) {
    perp_group_add_ode(work->g[i], &all);
    perp_group_add_kkt(work->g[i], &sum);
  }
  all.steps = work->m.count.steps; /* those that all make together */
  all.restarts = work->m.count.restarts;
  sum.reason = PERP_EXACT;
  sum.residual = (double)NAN;
  if (ode != NULL) *ode = all;
  if (kkt != NULL) *kkt = sum;
}

static void groups_timing(void *ws, bool on, perp_times *times)
{
  workspace *work = ws;
  perp_times sum = work->all.times;
  for (int i = 0; i < work->n; i++) perp_group_add_times(work->g[i], on, &sum);
  /* the rest: hulls, merging and parting too */
  sum.integrate = work->all.count.advance_s - sum.collision - sum.assembly - sum.kkt - sum.lcp;
  if (times != NULL) *times = sum;
  work->all.timing = on;
}

static const perp_contact_count *groups_contacts(const void *ws)
{
  const workspace *work = ws;
  return work->all.model->n_shapes > 0 || work->all.model->n_drives > 0 ? &work->contact : NULL;
}

static void groups_observe(void *ws, perp_contact_observer *observer, void *user)
{
  workspace *work = ws;
  work->all.observer = observer;
  work->all.observer_user = user;
  for (int i = 0; i < work->n; i++) perp_sim_observe(work->g[i]->sim, observer, user);
}

static const perp_group_count *groups(const void *ws)
{
  return &((const workspace *)ws)->count;
}

static void group_at(const void *ws, int i, perp_group_info *info)
{
  const perp_group *group = ((const workspace *)ws)->g[i];
  perp_ode_counters counters;
  perp_sim_counters(group->sim, &counters, NULL);
  *info = (perp_group_info){ .bodies = group->part.n_bodies,
                             .first = group->part.body[0],
                             .idle = group->idle,
                             .steps = counters.steps - group->born.steps,
                             .rhs = counters.rhs - group->born.rhs,
                             .h = group->h };
}

const perp_formulation_desc perp_formulation_groups = {
  .d = { .name = "groups",
         .summary =
             "Simulation groups: bodies that may meet share a step, other groups have their own",
         .reference = "Vondrak 2005, sections 7.1 and 7.3.3-7.3.4",
         .equation = "group = component of joints, forces and hulls that meet; t_i -> T + frame",
         PERP_OPTIONS(options, opts),
         .caps = PERP_FORM_USES_ODE | PERP_FORM_USES_KKT | PERP_FORM_USES_STAB |
                 PERP_FORM_USES_LCP | PERP_FORM_CONTACTS | PERP_FORM_DRIVES | PERP_FORM_SPRINGS |
                 PERP_FORM_WRAPS | PERP_FORM_ARMATURES | PERP_FORM_COUPLES | PERP_FORM_ANISOTROPIC |
                 PERP_CAP_ALLOCATES },
  .create = groups_create,
  .restart = groups_restart,
  .step = groups_step,
  .state = groups_state,
  .counters = groups_counters,
  .timing = groups_timing,
  .destroy = groups_destroy,
  .contacts = groups_contacts,
  .observe = groups_observe,
  .inner = groups_inner,
  .groups = groups,
  .group = group_at,
};
