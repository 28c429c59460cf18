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
static void sum_up(workspace *w)
{
  w->contact = w->all.contact;
  w->count = w->all.count;
  w->count.groups = w->n;
  for (int i = 0; i < w->n; i++) {
    perp_group_add_contacts(w->g[i], &w->contact);
    perp_group_add_count(w->g[i], &w->count);
  }
}

/* Make the groups label [bodies] (the smallest body of each); those that are there already stay as
 * they are. On failure there are none. */
static perp_status groups_divide(perp_ctx *ctx, workspace *w, const int *label)
{
  const int nb = w->all.model->n_bodies, n_old = w->n;
  perp_group **old = w->g + nb; /* the second half of the array */
  perp_status status = PERP_OK;
  memcpy(old, w->g, (size_t)n_old * sizeof(perp_group *));
  w->n = 0;
  for (int b = 0; b < nb; b++) w->head[b] = -1;
  for (int b = nb - 1; b >= 0; b--) {
    w->next[b] = w->head[label[b]];
    w->head[label[b]] = b;
  }
  for (int b = 0; b < nb && status == PERP_OK; b++) {
    if (label[b] != b) continue;
    /* under error control a group starts with a step that each of its parts could make */
    double h = w->all.h;
    int n = 0;
    for (int i = b; i >= 0; i = w->next[i]) {
      const int from = w->group_of[i];
      if (w->adaptive && from >= 0 && old[from]->h > 0) h = fmin(h, old[from]->h);
      w->list[n++] = i;
    }
    perp_group *g = w->group_of[b] < 0 ? NULL : old[w->group_of[b]];
    if (g != NULL && g->part.n_bodies == n &&
        memcmp(g->part.body, w->list, (size_t)n * sizeof(int)) == 0)
      old[w->group_of[b]] = NULL;
    else
      status = perp_group_form(ctx, &w->all, w->list, n, h, &g);
    if (status == PERP_OK) w->g[w->n++] = g;
  }
  for (int i = 0; i < n_old; i++) perp_group_bury(&w->all, old[i]);
  for (int i = 0; i < w->n && status != PERP_OK; i++) perp_group_bury(&w->all, w->g[i]);
  if (status != PERP_OK) w->n = 0;
  for (int b = 0; b < nb; b++) w->group_of[b] = -1;
  for (int i = 0; i < w->n; i++)
    for (int k = 0; k < w->g[i]->part.n_bodies; k++) w->group_of[w->g[i]->part.body[k]] = i;
  if (w->n > w->all.count.most) w->all.count.most = w->n;
  return status;
}

/* Hulls begin at the state of the whole. */
static void begin_hulls(workspace *w, const perp_subset *part)
{
  for (int i = 0; i < part->n_bodies; i++)
    perp_swept_bounds_begin(w->all.hulls, part->body[i],
                            w->all.q + w->all.model->nqb * part->body[i]);
}

/* All groups that are not there yet; *failed: the first that cannot go on, or NULL. */
static perp_status advance_all(perp_ctx *ctx, workspace *w, double t_to, const perp_group **failed)
{
  *failed = NULL;
  for (int i = 0; i < w->n; i++) {
    perp_group *g = w->g[i];
    if (g->ahead || g->idle) continue;
    PERP_TRY(perp_group_advance(ctx, &w->all, g, t_to));
    if (g->info.reason >= 0) continue;
    *failed = g;
    return PERP_OK;
  }
  return PERP_OK;
}

/* Groups whose hulls met are merged, at the state of the whole; *merged: there were any. */
static perp_status groups_merge(perp_ctx *ctx, workspace *w, bool *merged)
{
  const int nb = w->all.model->n_bodies;
  const double start = perp_group_clock(&w->all);
  perp_swept_bounds_components(w->all.hulls, w->root);
  for (int i = 0; i < w->n; i++) w->set[i] = i;
  for (int b = 0; b < nb; b++) perp_unite(w->set, w->group_of[b], w->group_of[w->root[b]]);
  *merged = false;
  for (int i = 0; i < w->n; i++) *merged |= perp_root(w->set, i) != i;
  if (!*merged) return PERP_OK;
  for (int b = 0; b < nb; b++) w->label[b] = w->g[perp_root(w->set, w->group_of[b])]->part.body[0];
  /* what is thrown away: the advances of all that take part */
  for (int i = 0; i < w->n; i++) w->list[i] = 0;
  for (int i = 0; i < w->n; i++) w->list[perp_root(w->set, i)]++;
  for (int i = 0; i < w->n; i++) {
    const perp_group *g = w->g[i];
    const int root = perp_root(w->set, i);
    if (w->list[root] == 1) continue;
    w->all.count.merges += root == i;
    w->all.count.undone += g->ahead;
    w->all.count.restart_s += g->ahead ? g->spent : 0;
  }
  w->all.count.aborted++;
  PERP_TRY(groups_divide(ctx, w, w->label));
  for (int i = 0; i < w->n; i++)
    if (!w->g[i]->ahead && !w->g[i]->idle) begin_hulls(w, &w->g[i]->part);
  w->all.count.restart_s += perp_group_clock(&w->all) - start;
  return PERP_OK;
}

/* ---- commit ---- */

/* A group that has not been connected for long enough falls into its components. */
static perp_status groups_part(perp_ctx *ctx, workspace *w, double dt)
{
  bool any = false;
  for (int i = 0; i < w->n; i++) {
    perp_group *g = w->g[i];
    const int *body = g->part.body;
    bool one = true;
    for (int k = 1; k < g->part.n_bodies; k++) one &= w->root[body[k]] == w->root[body[0]];
    g->parted = one ? 0 : g->parted + dt;
    /* an idle one costs nothing */
    const bool falls = !one && !g->idle && g->parted >= w->o.apart;
    for (int k = 0; k < g->part.n_bodies; k++)
      w->label[body[k]] = falls ? w->root[body[k]] : body[0];
    any |= falls;
    w->all.count.splits += falls;
  }
  if (!any) return PERP_OK;
  const double start = perp_group_clock(&w->all);
  perp_status status = groups_divide(ctx, w, w->label);
  w->all.count.restart_s += perp_group_clock(&w->all) - start;
  return status;
}

/* Memory for n contacts; grows with the largest number ever. */
static perp_status groups_reserve(perp_ctx *ctx, workspace *w, int n)
{
  if (n <= w->cap) return PERP_OK;
  const int cap = n + n / 2 + 16;
  perp_contact *contacts = realloc(w->contacts, (size_t)cap * sizeof *contacts);
  if (contacts != NULL) w->contacts = contacts;
  double *impulse = realloc(w->impulse, 3 * (size_t)cap * sizeof *impulse);
  if (impulse != NULL) w->impulse = impulse;
  if (contacts == NULL || impulse == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "groups: no memory for %d contacts", n);
  w->cap = cap;
  return PERP_OK;
}

static int groups_outside(int body, const int *number)
{
  return body < 0 ? body : number[body];
}

/* Contacts of the groups, in the numbers of the whole. */
static perp_status gather_contacts(perp_ctx *ctx, workspace *w, perp_step_info *info)
{
  int n = 0;
  for (int i = 0; i < w->n; i++) {
    n += w->g[i]->info.n_contacts;
    info->n_critical += w->g[i]->info.n_critical;
    info->tolerance = fmax(info->tolerance, w->g[i]->info.tolerance);
  }
  PERP_TRY(groups_reserve(ctx, w, n));
  for (int i = 0; i < w->n; i++) {
    const perp_subset *p = &w->g[i]->part;
    const perp_step_info *one = &w->g[i]->info;
    for (int k = 0; k < one->n_contacts; k++, info->n_contacts++) {
      perp_contact *c = &w->contacts[info->n_contacts];
      *c = one->contacts[k];
      c->shape[0] = p->shape[c->shape[0]];
      c->shape[1] = p->shape[c->shape[1]];
      c->body[0] = groups_outside(c->body[0], p->body);
      c->body[1] = groups_outside(c->body[1], p->body);
      c->id = (uint64_t)c->shape[0] << 44 | (uint64_t)c->shape[1] << 24 | (c->id & 0xffffff);
      memcpy(w->impulse + 3 * info->n_contacts, one->impulse + 3 * k, 3 * sizeof *w->impulse);
    }
  }
  info->contacts = n > 0 ? w->contacts : NULL;
  info->impulse = n > 0 ? w->impulse : NULL;
  return PERP_OK;
}

static void gather_rows(workspace *w, const perp_group *g, perp_step_info *info)
{
  const perp_subset *p = &g->part;
  if (g->info.lambda == NULL && p->model->m > 0) info->lambda = NULL;
  for (int i = 0; i < p->n_joints && g->info.lambda != NULL; i++) {
    const int row = w->all.model->cptr[p->joint[i]],
              rows = w->all.model->cptr[p->joint[i] + 1] - row;
    memcpy(w->lambda + row, g->info.lambda + p->model->cptr[i], (size_t)rows * sizeof(double));
  }
  if (g->info.drive == NULL && p->n_drives > 0) info->drive = NULL;
  for (int i = 0; i < p->n_drives && g->info.drive != NULL; i++)
    w->drive[p->drive[i]] = g->info.drive[i];
}

/* All groups are at t: it becomes the state of the whole. */
static perp_status groups_commit(perp_ctx *ctx, workspace *w, double t, perp_step_info *info)
{
  const double dt = t - w->m.t;
  info->lambda = w->lambda;
  info->drive = w->all.model->n_drives > 0 ? w->drive : NULL;
  for (int i = 0; i < w->n; i++) {
    perp_group *g = w->g[i];
    gather_rows(w, g, info);
    w->all.count.skipped += g->idle;
    if (g->info.h_stable > 0)
      info->h_stable = info->h_stable > 0 ? fmin(info->h_stable, g->info.h_stable)
                                          : g->info.h_stable;
    if (g->idle) continue;
    const double *q, *v;
    perp_sim_state(g->sim, &g->t, &q, &v);
    perp_subset_scatter(&g->part, q, v, w->all.q, w->all.v);
    info->drift_pos_pre = fmax(info->drift_pos_pre, g->drift);
    if (g->info.reason != PERP_EXACT) info->reason = g->info.reason;
    g->ahead = false;
    g->rest = g->still ? g->rest + dt : 0;
    w->all.count.advanced++;
  }
  PERP_TRY(gather_contacts(ctx, w, info));
  perp_time_grid_accept(&w->m, t);
  w->all.t = t;
  for (int i = 0; i < w->n; i++) w->g[i]->idle |= w->g[i]->rest >= w->o.idle;
  return PERP_OK;
}

static perp_status groups_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *w = ws;
  const double t = perp_time_grid_next(&w->m, t_max), dt = t - w->m.t,
               start = perp_group_clock(&w->all);
  const perp_group *failed;
  bool merged = true;
  if (dt == 0) return PERP_OK;
  if (w->n == 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "groups: an earlier failure left no groups: restart the simulation");
  for (int i = 0; i < w->n; i++) begin_hulls(w, &w->g[i]->part);
  while (merged) {
    perp_status status = advance_all(ctx, w, t, &failed);
    if (status != PERP_OK || failed != NULL) {
      if (failed != NULL) info->reason = failed->info.reason;
      /* Every group that has moved goes back to the state of the whole. */
      for (int i = 0; i < w->n; i++) {
        perp_group *g = w->g[i];
        if (g->idle) continue;
        w->all.count.undone += g->ahead;
        g->ahead = false;
        g->stale = true;
      }
      sum_up(w);
      return status;
    }
    PERP_TRY(groups_merge(ctx, w, &merged));
  }
  PERP_TRY(groups_commit(ctx, w, t, info));
  PERP_TRY(groups_part(ctx, w, dt));
  w->all.count.advance_s += perp_group_clock(&w->all) - start;
  sum_up(w);
  return PERP_OK;
}

/* ---- life ---- */

static perp_status groups_inner(perp_ctx *ctx, const void *formulation_opts, perp_spec *formulation)
{
  const opts *o = formulation_opts;
  *formulation = (perp_spec){ 0 };
  return o->of[0] == 0 ? PERP_OK : perp_spec_parse(ctx, PERP_KIND_formulation, o->of, formulation);
}

static void groups_layout(void *ws, perp_arena *a)
{
  workspace *w = ws;
  const perp_model *model = w->all.model;
  const int nb = model->n_bodies;
  w->g = PERP_CARVE(a, perp_group *, 2 * nb);
  PERP_INTS(a, nb, &w->group_of, &w->root, &w->label, &w->set, &w->head, &w->next, &w->list);
  PERP_DOUBLES(a, model->nq, &w->all.q, &w->all.q_sub);
  PERP_DOUBLES(a, model->nv, &w->all.v, &w->all.v_sub);
  w->lambda = PERP_CARVE(a, double, model->m);
  w->drive = PERP_CARVE(a, double, model->n_drives);
}

static void groups_destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  for (int i = 0; i < w->n; i++) perp_group_bury(&w->all, w->g[i]);
  perp_swept_bounds_destroy(w->all.hulls);
  perp_parts_free(&w->all.parts);
  free(w->contacts);
  free(w->impulse);
  free(w);
}

static perp_status copy_parts(perp_ctx *ctx, workspace *w, const perp_parts *p)
{
  PERP_TRY(groups_inner(ctx, &w->o, &w->all.parts.formulation));
  if (w->all.parts.formulation.d != NULL && (w->all.parts.formulation.d->caps & PERP_FORM_WRAPS))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "groups: nested groups are not supported: choose another inner formulation");
  /* shapes of one group may never touch each other, and meet those of another one */
  if (w->all.parts.formulation.d != NULL &&
      !(w->all.parts.formulation.d->caps & PERP_FORM_CONTACTS) && perp_model_collides(w->all.model))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "groups: formulation %s does not support models with colliding shapes",
                     w->all.parts.formulation.d->name);
  PERP_TRY(perp_spec_copy(ctx, &p->ode, &w->all.parts.ode));
  PERP_TRY(perp_spec_copy(ctx, &p->kkt, &w->all.parts.kkt));
  PERP_TRY(perp_spec_copy(ctx, &p->lcp, &w->all.parts.lcp));
  PERP_TRY(perp_spec_copy(ctx, &p->stab, &w->all.parts.stab));
  return perp_spec_copy(ctx, &p->contact, &w->all.parts.contact);
}

static perp_status groups_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                 double h, void **ws)
{
  const opts *o = parts->formulation.opts;
  workspace like = { .all = { .model = model, .h = h, .travel = o->travel, .still = o->still },
                     .o = *o };
  if (parts->contact.d != NULL && (parts->contact.d->caps & PERP_CONTACT_RELAXED) &&
      !(o->margin > 0))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "groups: contact %s leaves a gap mu |v| h between sliding bodies, which would "
                     "separate them; use a margin (m) above it, or --contact polyhedral",
                     parts->contact.d->name);
  PERP_TRY(perp_workspace_create(ctx, "groups", &like, sizeof like, groups_layout, ws));
  workspace *w = *ws;
  for (int b = 0; b < model->n_bodies; b++) w->group_of[b] = -1;
  perp_status status = copy_parts(ctx, w, parts);
  if (status == PERP_OK) status = perp_swept_bounds_create(ctx, model, w->o.margin, &w->all.hulls);
  if (status != PERP_OK) {
    groups_destroy(w);
    *ws = NULL;
    return status;
  }
  /* the first member of the options of every ODE method */
  const perp_ode_control *control = w->all.parts.ode.opts;
  w->adaptive = control != NULL && control->tol > 0;
  w->m.h = w->o.frame > 0 ? w->o.frame : w->adaptive ? frame_adaptive * h : h;
  return PERP_OK;
}

static perp_status groups_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                  const double *v)
{
  workspace *w = ws;
  const perp_model *model = w->all.model;
  /* judged on a copy: each group normalizes its own quaternions, once */
  memcpy(w->all.q_sub, q, (size_t)model->nq * sizeof *q);
  PERP_TRY(perp_constrained_check_start(ctx, model, w->all.q_sub, v));
  memmove(w->all.q, q, (size_t)model->nq * sizeof *q);
  memmove(w->all.v, v, (size_t)model->nv * sizeof *v);
  for (int b = 0; b < model->n_bodies; b++)
    perp_swept_bounds_begin(w->all.hulls, b, w->all.q + model->nqb * b);
  perp_swept_bounds_components(w->all.hulls, w->root);
  w->all.count.most = 0;
  for (int i = 0; i < w->n; i++) w->g[i]->stale = false;
  PERP_TRY(groups_divide(ctx, w, w->root)); /* those that are new are stale */
  perp_time_grid_restart(&w->m, t);
  w->all.t = t;
  w->all.kkt = (perp_stats){ 0 };
  w->all.contact = (perp_contact_count){ 0 };
  w->all.times = (perp_times){ 0 };
  for (int i = 0; i < w->n; i++) PERP_TRY(perp_group_start(ctx, &w->all, w->g[i]));
  memset(w->lambda, 0, (size_t)model->m * sizeof *w->lambda);
  memset(w->drive, 0, (size_t)model->n_drives * sizeof *w->drive);
  w->all.count = (perp_group_count){ .most = w->n };
  sum_up(w);
  return PERP_OK;
}

static void groups_state(const void *ws, double *t, const double **q, const double **v)
{
  const workspace *w = ws;
  *t = w->m.t;
  *q = w->all.q;
  *v = w->all.v;
}

static void groups_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *w = ws;
  perp_ode_counters all = w->all.ode;
  perp_stats sum = w->all.kkt;
  for (int i = 0; i < w->n; i++) {
    perp_group_add_ode(w->g[i], &all);
    perp_group_add_kkt(w->g[i], &sum);
  }
  all.steps = w->m.count.steps; /* those that all make together */
  all.restarts = w->m.count.restarts;
  sum.reason = PERP_EXACT;
  sum.residual = (double)NAN;
  if (ode != NULL) *ode = all;
  if (kkt != NULL) *kkt = sum;
}

static void groups_timing(void *ws, bool on, perp_times *times)
{
  workspace *w = ws;
  perp_times sum = w->all.times;
  for (int i = 0; i < w->n; i++) perp_group_add_times(w->g[i], on, &sum);
  /* the rest: hulls, merging and parting too */
  sum.integrate = w->all.count.advance_s - sum.collision - sum.assembly - sum.kkt - sum.lcp;
  if (times != NULL) *times = sum;
  w->all.timing = on;
}

static const perp_contact_count *groups_contacts(const void *ws)
{
  const workspace *w = ws;
  return w->all.model->n_shapes > 0 || w->all.model->n_drives > 0 ? &w->contact : NULL;
}

static void groups_observe(void *ws, perp_contact_observer *observer, void *user)
{
  workspace *w = ws;
  w->all.observer = observer;
  w->all.observer_user = user;
  for (int i = 0; i < w->n; i++) perp_sim_observe(w->g[i]->sim, observer, user);
}

static const perp_group_count *groups(const void *ws)
{
  return &((const workspace *)ws)->count;
}

static void group_at(const void *ws, int i, perp_group_info *info)
{
  const perp_group *g = ((const workspace *)ws)->g[i];
  perp_ode_counters c;
  perp_sim_counters(g->sim, &c, NULL);
  *info = (perp_group_info){ .bodies = g->part.n_bodies,
                             .first = g->part.body[0],
                             .idle = g->idle,
                             .steps = c.steps - g->born.steps,
                             .rhs = c.rhs - g->born.rhs,
                             .h = g->h };
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
                 PERP_FORM_WRAPS | PERP_FORM_COUPLES | PERP_FORM_ANISOTROPIC | PERP_CAP_ALLOCATES },
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
