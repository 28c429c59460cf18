/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact_step/contacts_private.h"

#include <stdlib.h>
#include <string.h>

const char *const perp_impact_names[] = { "newton", "poisson", NULL };
const char *const perp_align_names[] = { "none", "slip", NULL };
const char *const perp_gyro_names[] = { "implicit", "explicit", NULL };
const char *const perp_joints_names[] = { "auto", "eliminate", "rows", NULL };

/* a contact left out is taken in when it would be this deep at the end of the step, m */
static const double LATE = 1e-12;
enum { ROUNDS = 4 };

/* ---- life ------------------------------------------------------------------------------------ */

static void contacts_layout(void *ws, perp_arena *a)
{
  perp_contacts *c = ws;
  c->reach = PERP_CARVE(a, double, c->model->n_bodies);
  c->f = PERP_CARVE(a, double, c->model->nv);
  PERP_DOUBLES(a, 6 * (size_t)c->model->n_bodies, &c->before_step, &c->free);
  c->q_ahead = PERP_CARVE(a, double, c->model->nq);
  c->ball = PERP_CARVE(a, bool, c->model->n_shapes);
}

static void contacts_layout_grown(perp_contacts *c, perp_arena *a)
{
  c->impulse = PERP_CARVE(a, double, 3 * (size_t)c->cap);
  c->slip = PERP_CARVE(a, double, c->cap);
  c->kept = PERP_CARVE(a, unsigned char, c->cap);
  c->fresh = PERP_CARVE(a, unsigned char, c->cap);
  c->after = PERP_CARVE(a, perp_contact_memory, c->cap);
  c->before = PERP_CARVE(a, perp_contact_memory, c->cap);
}

/* room for n contacts; what is remembered stays */
static perp_status contacts_reserve(perp_ctx *ctx, perp_contacts *c, int n)
{
  if (n <= c->cap) return PERP_OK;
  perp_arena old = c->grown;
  perp_contact_memory *before = c->before;
  int cap = c->cap;
  c->grown = (perp_arena){ 0 };
  c->cap = n + n / 2 + 16;
  contacts_layout_grown(c, &c->grown);
  perp_status status = perp_arena_reserve(ctx, &c->grown);
  if (status != PERP_OK) {
    perp_arena_free(&c->grown);
    c->grown = old;
    c->cap = cap;
    return status;
  }
  contacts_layout_grown(c, &c->grown);
  if (c->n_before > 0) memcpy(c->before, before, (size_t)c->n_before * sizeof *before);
  perp_arena_free(&old);
  return PERP_OK;
}

void perp_contacts_destroy(perp_contacts *c)
{
  if (c == NULL) return;
  perp_collision_destroy(c->collision);
  perp_collision_destroy(c->ahead);
  perp_islands_destroy(c->velocity);
  perp_contact_post_destroy(c->post);
  perp_sleep_destroy(c->sleep);
  if (c->stab != NULL) c->stab->destroy(c->stab_ws);
  perp_arena_free(&c->arena);
  perp_arena_free(&c->grown);
  free(c);
}

/* Springs and dampers at the contact points, implicit in the step: with the depth -gap and the impulse
 * lambda = -h (k (gap + h u+) + c u+),
 *
 *      u+ + S lambda + alpha gap = 0,     S = 1 / (h (h k + c)),     alpha = k / (h k + c)
 *
 * so that softness and feedback (restitution of error: the part h alpha of the depth is given back in a step)
 * stand for a spring alpha / (h S) and a damper (1 - h alpha) / (h S).  Open contacts are free up to the
 * surface, w = u+ + S lambda + gap / h: spring and damper act on the way beyond it. */
static bool contacts_springs(const perp_contact_opts *o)
{
  return o->stiffness > 0 || o->damping > 0;
}

static perp_status open_parts(perp_ctx *ctx, perp_contacts *c, const perp_parts *parts)
{
  const perp_model *model = c->model;
  if (contacts_springs(&c->o) && c->o.softness > 0)
    return PERP_FAIL(
        ctx, PERP_ERR_OPTION,
        "softness = %g 1/kg and stiffness = %g N/m, damping = %g N s/m: one or the other",
        c->o.softness, c->o.stiffness, c->o.damping);
  PERP_TRY(perp_contact_stab(ctx, parts, &c->stab, &c->stab_ws));
  PERP_TRY(perp_collision_create(ctx, model, 0, &c->collision));
  bool rows = c->o.joints == PERP_JOINTS_ROWS ||
              (c->o.joints == PERP_JOINTS_AUTO && parts->kkt.d != NULL &&
               (parts->kkt.d->caps & PERP_KKT_ITERATIVE));
  PERP_TRY(perp_contacts_islands(ctx, model, parts, c->o.tol, c->o.tol_data, c->o.threads, rows,
                                 &c->velocity));
  if (c->o.sleep) {
    PERP_TRY(
        perp_sleep_create(ctx, model, c->o.sleep_time, c->o.sleep_velocity, c->reach, &c->sleep));
    perp_collision_rest(c->collision, perp_sleep_asleep(c->sleep));
  }
  if (contacts_springs(&c->o)) return PERP_OK; /* what is deep is under load */
  double size = 0;
  for (int b = 0; b < model->n_bodies; b++) size = fmax(size, c->reach[b]);
  const perp_contact_post_setup setup = { .tol = c->o.tol,
                                          .tol_data = c->o.tol_data,
                                          .slop = c->slop,
                                          .size = size,
                                          .threshold = c->o.threshold,
                                          .threads = c->o.threads,
                                          .rows = rows,
                                          .sleep = c->sleep };
  PERP_TRY(perp_contact_post_create(ctx, model, parts, c->stab, c->stab_ws, &setup, &c->post));
  if (c->post == NULL) return PERP_OK;
  PERP_TRY(perp_collision_create(ctx, model, 0, &c->ahead));
  if (c->sleep != NULL) perp_collision_rest(c->ahead, perp_sleep_asleep(c->sleep));
  return PERP_OK;
}

perp_status perp_contacts_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                                 const perp_contact_opts *opts, perp_contacts **out)
{
  *out = NULL;
  perp_contacts *c = calloc(1, sizeof *c);
  if (c == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for contacts");
  c->model = model;
  c->o = *opts;
  perp_status status = perp_arena_layout(ctx, &c->arena, contacts_layout, c);
  if (status == PERP_OK) {
    perp_contacts_reach(model, c->reach);
    for (int i = 0; i < model->n_shapes; i++)
      c->ball[i] = model->shape_def[i].kind == PERP_SHAPE_SPHERE;
    for (int b = 0; b < model->n_bodies; b++) c->slop = fmax(c->slop, opts->tol * c->reach[b]);
    status = open_parts(ctx, c, parts);
  }
  if (status != PERP_OK) {
    perp_contacts_destroy(c);
    return status;
  }
  *out = c;
  return PERP_OK;
}

void perp_contacts_restart(perp_contacts *c)
{
  c->n = c->n_before = 0;
  c->h = 0;
  c->swept = false;
  c->margin = 0;
  c->collision_s = c->lcp_s = 0;
  if (c->sleep != NULL) perp_sleep_restart(c->sleep);
  *perp_islands_count(c->velocity) = (perp_contact_count){ 0 };
  if (c->post != NULL) perp_contact_post_restart(c->post);
  c->ahead_holds = false;
}

/* ---- which contacts -------------------------------------------------------------------------- */

/* what two bodies can come nearer in a step: both at their fastest point speeds */
static double contacts_fastest(const perp_contacts *c, const double *v)
{
  const perp_model *model = c->model;
  const int d = model->dim;
  double first = 0, second = 0;
  for (int b = 0; b < model->n_bodies; b++) {
    const double *vb = v + model->nvb * b, *w = vb + d;
    double turn = d == 3 ? sqrt(perp_dot(3, w, w)) : fabs(w[0]);
    double speed = sqrt(perp_dot(d, vb, vb)) + turn * c->reach[b];
    if (speed > first) {
      second = first;
      first = speed;
    } else if (speed > second) {
      second = speed;
    }
  }
  return first + second;
}

/* Keep what is closed, or comes near with v^ or with the velocities before the step, which at rest are nearer
 * to those after it: twice the base, as an open contact costs three rows, a late one another solve; Anitescu
 * and Potra: what is closed. */
typedef struct choice {
  perp_contacts *c;
  const perp_eval *e;
  double h, base;
  const double *v, *a; /* velocities before the step, and v^ (late: v+) */
  int found;
} choice;

static void choose_share(void *user, int member, int members)
{
  choice *all = user;
  perp_contacts *c = all->c;
  const perp_eval *e = all->e;
  const int dim = c->model->dim, bodies = c->model->n_bodies;
  int end = perp_share(bodies, member + 1, members), kept = 0;
  for (int b = perp_share(bodies, member, members); b < end; b++) {
    perp_twist(c->model, e, b, all->v, c->before_step);
    perp_twist(c->model, e, b, all->a, c->free);
  }
  perp_team_wait(members);
  end = perp_share(c->n, member + 1, members);
  for (int i = perp_share(c->n, member, members); i < end; i++) {
    const perp_contact *x = &c->contact[i];
    bool keep = x->gap <= all->base;
    if (!keep && c->o.gap && x->gap <= c->margin)
      keep = x->gap + all->h * fmin(perp_contact_speed(dim, e, x, c->free),
                                    perp_contact_speed(dim, e, x, c->before_step)) <=
             2 * all->base;
    c->kept[i] = keep;
    kept += keep;
  }
  __atomic_fetch_add(&all->found, kept, __ATOMIC_RELAXED);
}

static int team_of(const perp_contacts *c)
{
  return c->n >= PERP_TEAM_CONTACTS ? c->o.threads : 1;
}

static int contacts_choose(perp_contacts *c, const perp_eval *e, double h, double base,
                           const double *v, const double *a)
{
  choice all = { .c = c, .e = e, .h = h, .base = base, .v = v, .a = a };
  perp_team(team_of(c), choose_share, &all);
  return all.found;
}

static void late_share(void *user, int member, int members)
{
  choice *all = user;
  perp_contacts *c = all->c;
  const perp_eval *e = all->e;
  double *after = c->free; /* no longer needed */
  int end = perp_share(c->model->n_bodies, member + 1, members), found = 0;
  for (int b = perp_share(c->model->n_bodies, member, members); b < end; b++)
    perp_twist(c->model, e, b, all->a, after);
  perp_team_wait(members);
  end = perp_share(c->n, member + 1, members);
  for (int i = perp_share(c->n, member, members); i < end; i++) {
    const perp_contact *x = &c->contact[i];
    if (c->kept[i] || x->gap > c->margin ||
        x->gap + all->h * perp_contact_speed(c->model->dim, e, x, after) >= -LATE)
      continue;
    c->kept[i] = 1;
    found++;
  }
  __atomic_fetch_add(&all->found, found, __ATOMIC_RELAXED);
}

/* contacts left out that v+ closes; how many */
static int contacts_late(perp_contacts *c, const perp_eval *e, double h, const double *v)
{
  choice all = { .c = c, .e = e, .h = h, .a = v };
  if (c->o.gap) perp_team(team_of(c), late_share, &all);
  return all.found;
}

/* ---- a step ---------------------------------------------------------------------------------- */

static double softness_of(const perp_contact_opts *o, double h)
{
  return contacts_springs(o) ? 1 / (h * (h * o->stiffness + o->damping)) : o->softness;
}

/* an approach with restitution whose gap closes in this step */
static bool contacts_impact(const perp_contacts *c, const perp_contact *x, double h,
                            const double *before, const double *free)
{
  return !contacts_springs(&c->o) && x->e > 0 && before[0] < -c->o.threshold &&
         x->gap + h * free[0] <= 0;
}

/* Bias of the normal row, see contact.h.  Gaps within the slop, the tolerance of a solution in units of
 * the largest body, count as closed: solutions leave errors of that size, and bodies at rest would go
 * on correcting them, now on some of their contacts, now on others. */
static double contacts_bias_of(void *user, const perp_contact *x, double h, const double *before,
                               const double *free)
{
  const perp_contacts *c = user;
  double gap = fabs(x->gap) > c->slop ? x->gap : 0, bias = 0;
  if (gap > 0)
    bias = c->o.gap ? gap / h : 0;
  else if (contacts_springs(&c->o))
    return c->o.stiffness / (h * c->o.stiffness + c->o.damping) * x->gap;
  else if (gap < 0 && c->stab->contact != NULL)
    bias = -c->stab->contact(c->stab_ws, PERP_LEVEL_VELOCITY, h, gap, 0);
  if (contacts_impact(c, x, h, before, free)) {
    if (gap > 0) bias = 0;
    if (c->o.impact == PERP_IMPACT_NEWTON) bias = fmin(bias, x->e * before[0]);
  }
  return bias;
}

static double contacts_restitution_of(void *user, const perp_contact *x, double h,
                                      const double *before, const double *free)
{
  return contacts_impact(user, x, h, before, free) ? x->e : 0;
}

static double contacts_friction_of(void *user, const perp_contact *x, const double *before, int dim)
{
  const perp_contacts *c = user;
  double t = dim == 3 ? sqrt(before[1] * before[1] + before[2] * before[2]) : fabs(before[1]);
  return t > c->o.slip ? x->mu_dynamic : x->mu;
}

static perp_status contacts_find(perp_constrained *k, perp_collision *collision, int threads,
                                 const perp_contact **contact, int *n)
{
  const int before = k->ctx->threads;
  k->ctx->threads = threads;
  perp_status status = perp_collision_find(k->ctx, collision, k->e->pose, contact, n);
  k->ctx->threads = before;
  return status;
}

/* The contacts at the start of the step: where nothing was corrected they are those that the end of the step before
 * was looked at with, when that was as far. */
static perp_status find_start(perp_contacts *c, perp_constrained *k, double margin)
{
  const size_t size = (size_t)c->model->nq * sizeof *c->q_ahead;
  c->margin = margin;
  if (c->ahead_holds && margin <= c->margin_ahead &&
      memcmp(c->q_ahead, k->q_at[k->e - k->eval], size) == 0) {
    perp_collision *other = c->collision;
    c->collision = c->ahead;
    c->ahead = other;
    c->ahead_holds = false;
    c->contact = c->contact_ahead;
    c->n = c->n_ahead;
    return PERP_OK;
  }
  c->ahead_holds = false;
  perp_collision_margin(c->collision, margin);
  return contacts_find(k, c->collision, c->o.threads, &c->contact, &c->n);
}

/* v+ from k->f, those asleep stay where they are */
static bool contacts_solve_all(perp_contacts *c, perp_constrained *k, double h, const double *v)
{
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, v)) return false;
  if (c->sleep != NULL) perp_sleep_still(c->sleep, k->a);
  return true;
}

/* Wake whom a contact that closes reaches; anybody? */
static bool contacts_touched(perp_contacts *c)
{
  bool woken = false;
  for (int i = 0; i < c->n; i++) {
    const perp_contact *x = &c->contact[i];
    if (!c->kept[i]) continue;
    if (x->body[0] >= 0) woken |= perp_sleep_wake(c->sleep, x->body[0]);
    if (x->body[1] >= 0) woken |= perp_sleep_wake(c->sleep, x->body[1]);
  }
  return woken;
}

/* FREE: no island has had a problem; WOKEN: bodies have been woken, the step is to be made again. */
typedef enum outcome { FAILED, FREE, SOLVED, WOKEN } outcome;

static outcome solve_step(perp_contacts *c, perp_constrained *k, perp_drives *drives, double h,
                          const double *v)
{
  const perp_model *model = c->model;
  const perp_eval *e = k->e;
  double start = perp_constrained_clock(k);
  double base = c->o.gap ? 2 * h * h * fabs(model->gravity) + 1e-6 * model->size
                         : 1e-6 * model->size;
  double margin = c->o.margin > 0 ? c->o.margin
                  : c->o.gap      ? base + h * contacts_fastest(c, k->a)
                                  : base;
  perp_island_row *row = NULL;
  int rows = 0;
  if (drives != NULL) {
    rows = perp_drives_rows(drives, k, h, v, &row);
    if (c->o.margin == 0 && c->o.gap) margin += h * perp_drives_speed(drives);
  }
  if (!isfinite(margin)) {
    k->reason = PERP_NOT_FINITE;
    return FAILED;
  }
  k->status = find_start(c, k, margin);
  if (k->status == PERP_OK)
    k->status = contacts_reserve(k->ctx, c, c->n + (c->sleep != NULL ? c->n_before : 0));
  if (k->status != PERP_OK) return FAILED;
  perp_contacts_recall(c, e, h);
  const int kept = contacts_choose(c, e, h, base, v, k->a);
  c->collision_s += perp_constrained_clock(k) - start;
  if (c->sleep != NULL && contacts_touched(c)) return WOKEN;
  if (kept == 0 && rows == 0) {
    if (c->n > 0) memset(c->impulse, 0, (size_t)3 * (size_t)c->n * sizeof *c->impulse);
    return FREE;
  }
  perp_island_task task = { .contact = c->contact,
                            .n = c->n,
                            .kept = c->kept,
                            .impulse = c->impulse,
                            .slip = c->slip,
                            .reuse = c->o.reuse ? c->o.tol : 0,
                            .fresh = c->fresh,
                            .h = h,
                            .before = c->before_step,
                            .free = c->free,
                            .align = c->o.align == PERP_ALIGN_SLIP,
                            .softness = softness_of(&c->o, h),
                            .row = row,
                            .n_rows = rows,
                            .bias = contacts_bias_of,
                            .friction = contacts_friction_of,
                            .restitution = c->o.impact == PERP_IMPACT_POISSON
                                               ? contacts_restitution_of
                                               : NULL,
                            .user = c };
  for (int round = 0;; round++) {
    /* on the first round k->a is v^; later ones go back to it */
    if (round > 0) {
      memcpy(k->f, c->f, (size_t)model->nv * sizeof *c->f);
      if (!contacts_solve_all(c, k, h, v)) return FAILED;
      perp_twists(model, e, k->a, c->free);
    }
    start = perp_constrained_clock(k);
    double kkt = k->kkt_s;
    bool good = perp_islands_solve(c->velocity, k, &task);
    if (good) perp_islands_apply(c->velocity, k, &task, k->f);
    c->lcp_s += perp_constrained_clock(k) - start - (k->kkt_s - kkt);
    if (!good || !contacts_solve_all(c, k, h, v)) return FAILED;
    if (round + 1 == ROUNDS || contacts_late(c, e, h, k->a) == 0) break;
    if (c->sleep != NULL && contacts_touched(c)) return WOKEN;
  }
  if (drives != NULL) perp_drives_accept(drives, h);
  return SOLVED;
}

bool perp_contacts_step(perp_contacts *c, perp_constrained *k, perp_drives *drives, double h,
                        const double *v)
{
  outcome end;
  const int64_t swept = perp_islands_count(c->velocity)->swept;
  memcpy(c->f, k->f, (size_t)c->model->nv * sizeof *c->f);
  if (c->sleep != NULL) {
    perp_sleep_forces(c->sleep, k->f, h);
    perp_sleep_still(c->sleep, k->a);
  }
  while ((end = solve_step(c, k, drives, h, v)) == WOKEN) {
    memcpy(k->f, c->f, (size_t)c->model->nv * sizeof *c->f);
    if (!contacts_solve_all(c, k, h, v)) return false;
  }
  if (end == FAILED) return false;
  c->swept = perp_islands_count(c->velocity)->swept > swept;
  perp_contacts_remember(c, k->e, h);
  if (c->sleep != NULL)
    perp_sleep_update(c->sleep, h, perp_islands_roots(c->velocity, end == FREE), k->a);
  return true;
}

/* ---- post-stabilization ---------------------------------------------------------------------- */

static perp_ode_answer contacts_project(perp_contacts *c, perp_constrained *k, double t, double *q,
                                        double *v, perp_contact_count *count)
{
  const int passes = perp_contact_post_passes(c->post);
  const bool stops = perp_contact_post_stops(c->post);
  bool changed = false;
  for (int pass = 0; pass < passes || stops; pass++) {
    const double start = perp_constrained_clock(k);
    perp_constrained_at(k, q);
    /* enough for the next step of bodies that fall */
    c->margin_ahead = c->o.gap && c->margin > 0
                          ? 1.25 * c->margin + 2 * c->h * c->h * fabs(c->model->gravity)
                          : 1e-3 * c->model->size;
    perp_collision_margin(c->ahead, c->margin_ahead);
    k->status = contacts_find(k, c->ahead, c->o.threads, &c->contact_ahead, &c->n_ahead);
    c->collision_s += perp_constrained_clock(k) - start;
    if (k->status != PERP_OK) return PERP_ODE_FAILED;
    if (pass == passes ||
        !perp_contact_post_deep(c->post, c->contact_ahead, NULL, c->n_ahead, c->swept)) {
      memcpy(c->q_ahead, q, (size_t)c->model->nq * sizeof *q);
      c->ahead_holds = c->sleep == NULL; /* else bodies wake up in between */
      break;
    }
    bool moved;
    if (!perp_contact_post_position(c->post, k, c->contact_ahead, NULL, c->n_ahead, q, &moved,
                                    count))
      return PERP_ODE_FAILED;
    if (!moved) break;
    changed = true;
  }
  if (!stops) return changed ? PERP_ODE_CHANGED : PERP_ODE_OK;
  const perp_ode_answer answer = perp_contact_post_velocity(
      c->post, k, t, c->contact_ahead, c->n_ahead, fmax(c->slop, 1e-9), v, count);
  return answer == PERP_ODE_OK && changed ? PERP_ODE_CHANGED : answer;
}

perp_ode_answer perp_contacts_project(perp_contacts *c, perp_constrained *k, double t, double *q,
                                      double *v)
{
  c->ahead_holds = false;
  if (c->post == NULL) return PERP_ODE_OK;
  const double start = perp_constrained_clock(k), kkt = k->kkt_s, found = c->collision_s;
  perp_contact_count count = { 0 };
  const perp_ode_answer answer = contacts_project(c, k, t, q, v, &count);
  perp_contact_count_add(perp_islands_count(c->velocity), &count);
  c->lcp_s += perp_constrained_clock(k) - start - (k->kkt_s - kkt) - (c->collision_s - found);
  return answer;
}

/* ---- reports --------------------------------------------------------------------------------- */

void perp_contacts_info(const perp_contacts *c, perp_step_info *info)
{
  info->n_contacts = c->n;
  info->contacts = c->n > 0 ? c->contact : NULL;
  info->impulse = c->n > 0 ? c->impulse : NULL;
  info->asleep = c->sleep != NULL ? perp_sleep_count(c->sleep) : 0;
}

const perp_contact_count *perp_contacts_counters(const perp_contacts *c)
{
  return perp_islands_count(c->velocity);
}

void perp_contacts_observe(perp_contacts *c, perp_contact_observer *observer, void *user)
{
  perp_islands_observe(c->velocity, observer, user);
}

void perp_contacts_times(const perp_contacts *c, double *collision, double *lcp)
{
  *collision = c->collision_s;
  *lcp = c->lcp_s;
}
