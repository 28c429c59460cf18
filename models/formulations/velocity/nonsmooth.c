/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/velocity/nonsmooth.h"

#include <stdlib.h>
#include <string.h>

void perp_nonsmooth_layout(perp_nonsmooth *ns, perp_arena *arena)
{
  PERP_DOUBLES(arena, ns->model->n_bodies, &ns->reach);
  PERP_DOUBLES(arena, 6 * (size_t)ns->model->n_bodies, &ns->before, &ns->free);
}

perp_status perp_nonsmooth_open(perp_ctx *ctx, perp_nonsmooth *ns, const perp_parts *parts)
{
  const perp_model *model = ns->model;
  ns->size = model->size > 0 ? model->size : 1;
  if (model->n_shapes == 0) return PERP_OK;
  const perp_contact_setup setup = { .tol = ns->o.residual,
                                     .tol_data = PERP_CONTACT_TOL_DATA,
                                     .budget = ns->o.budget,
                                     .choice = ns->o.choice };
  perp_contacts_reach(model, ns->reach);
  PERP_TRY(perp_collision_create(ctx, model, 0, &ns->collision));
  return perp_contacts_islands(ctx, model, parts, &setup, 1, false, &ns->islands);
}

void perp_nonsmooth_close(perp_nonsmooth *ns)
{
  perp_collision_destroy(ns->collision);
  perp_islands_destroy(ns->islands);
  perp_arena_free(&ns->grown);
}

void perp_nonsmooth_restart(perp_nonsmooth *ns)
{
  ns->n = ns->n_memory = ns->active = 0;
  ns->collision_s = ns->lcp_s = 0;
  if (ns->islands != NULL) perp_islands_restart(ns->islands);
}

static void nonsmooth_grown(void *ws, perp_arena *arena)
{
  perp_nonsmooth *ns = ws;
  ns->contact = PERP_CARVE(arena, perp_contact, ns->cap);
  ns->memory = PERP_CARVE(arena, perp_nonsmooth_memory, ns->cap);
  PERP_DOUBLES(arena, 3 * (size_t)ns->cap, &ns->impulse);
  PERP_DOUBLES(arena, ns->cap, &ns->slip);
  ns->kept = PERP_CARVE(arena, unsigned char, ns->cap);
}

/* room for n contacts; what is remembered stays */
static perp_status nonsmooth_reserve(perp_ctx *ctx, perp_nonsmooth *ns, int n)
{
  if (n <= ns->cap) return PERP_OK;
  perp_arena old = ns->grown;
  const perp_nonsmooth_memory *known = ns->memory;
  ns->grown = (perp_arena){ 0 };
  ns->cap = n + n / 2 + 16;
  const perp_status status = perp_arena_layout(ctx, &ns->grown, nonsmooth_grown, ns);
  if (status != PERP_OK) ns->cap = ns->n_memory = 0;
  if (ns->n_memory > 0) memcpy(ns->memory, known, (size_t)ns->n_memory * sizeof *known);
  perp_arena_free(&old);
  return status;
}

/* the impulses of the last step, of those that had any */
static void nonsmooth_remember(perp_nonsmooth *ns)
{
  ns->n_memory = 0;
  for (int i = 0; i < ns->n; i++) {
    if (!ns->kept[i]) continue;
    perp_nonsmooth_memory *m = &ns->memory[ns->n_memory++];
    *m = (perp_nonsmooth_memory){ .id = ns->contact[i].id, .slip = ns->slip[i] };
    memcpy(m->impulse, ns->impulse + 3 * (size_t)i, sizeof m->impulse);
  }
}

bool perp_nonsmooth_find(perp_nonsmooth *ns, perp_constrained *k, double h, const double *v,
                         const double *u, double ahead)
{
  const perp_model *model = ns->model;
  if (ns->collision == NULL) return true;
  const double start = perp_constrained_clock(k), closed = ns->o.activation * ns->size;
  const double g = fabs(perp_model_gravity_at(model, k->e->t));
  const double margin = closed + h * perp_closing_speed(model, v, ns->reach) + h * h * g;
  if (!isfinite(margin)) {
    k->reason = PERP_NOT_FINITE;
    return false;
  }
  const perp_contact *found;
  int n = 0;
  nonsmooth_remember(ns);
  ns->n = ns->active = 0;
  perp_collision_margin(ns->collision, margin);
  k->status = perp_collision_find(k->ctx, ns->collision, k->e->pose, &found, &n);
  if (k->status == PERP_OK) k->status = nonsmooth_reserve(k->ctx, ns, n);
  ns->collision_s += perp_constrained_clock(k) - start;
  if (k->status != PERP_OK) return false;
  ns->n = n;
  if (n > 0) memcpy(ns->contact, found, (size_t)n * sizeof *found);
  perp_twists(model, k->e, u, ns->free);
  for (int i = 0, j = 0; i < n; i++) {
    double *impulse = ns->impulse + 3 * (size_t)i;
    ns->kept[i] = found[i].gap +
                      ahead * perp_contact_speed(model->dim, k->e, &found[i], 0, ns->free) <=
                  closed;
    ns->active += ns->kept[i];
    memset(impulse, 0, 3 * sizeof *impulse);
    ns->slip[i] = 0;
    while (j < ns->n_memory && ns->memory[j].id < found[i].id) j++;
    if (j == ns->n_memory || ns->memory[j].id != found[i].id || !ns->kept[i]) continue;
    memcpy(impulse, ns->memory[j].impulse, sizeof ns->memory[j].impulse);
    ns->slip[i] = ns->memory[j].slip;
  }
  perp_twists(model, k->e, v, ns->before);
  return true;
}

/* Newton's law of impact on the velocities. */
static void nonsmooth_law(void *user, const perp_contact *x, double h, const double *before,
                          const double *free, perp_contact_terms *terms)
{
  const perp_nonsmooth *ns = user;
  (void)h, (void)free;
  terms->bias = x->e > 0 && before[0] < -ns->o.threshold ? x->e * before[0] : 0;
  terms->mu = hypot(before[1], before[2]) > ns->o.slip ? x->mu_dynamic : x->mu;
}

bool perp_nonsmooth_solve(perp_nonsmooth *ns, perp_constrained *k, double h, const double *v)
{
  if (ns->active == 0) return true;
  perp_twists(ns->model, k->e, k->a, ns->free);
  perp_island_task task = { .contact = ns->contact,
                            .n = ns->n,
                            .kept = ns->kept,
                            .impulse = ns->impulse,
                            .slip = ns->slip,
                            .h = h,
                            .before = ns->before,
                            .free = ns->free,
                            .belts = ns->model->surfaces.belts,
                            .t_belts = k->e->t,
                            .align = true,
                            .law = nonsmooth_law,
                            .user = ns };
  return perp_islands_step(ns->islands, k, &task, PERP_LEVEL_VELOCITY, h, v, &ns->lcp_s);
}

int perp_nonsmooth_add(perp_nonsmooth *ns, const perp_constrained *k, const perp_contact *contact,
                       int n, double closed, const double *v)
{
  int added = 0;
  perp_twists(ns->model, k->e, v, ns->free);
  for (int i = 0, j = 0; i < n; i++) {
    while (j < ns->n && ns->contact[j].id < contact[i].id) j++;
    if (j == ns->n || ns->contact[j].id != contact[i].id || ns->kept[j]) continue;
    const double speed = perp_contact_speed(ns->model->dim, k->e, &contact[i], 0, ns->free);
    if (!(contact[i].gap <= closed) || !(speed < 0)) continue;
    ns->kept[j] = 1;
    added++;
  }
  ns->active += added;
  return added;
}

double perp_nonsmooth_pressed(perp_nonsmooth *ns, const perp_constrained *k,
                              const perp_contact *contact, int n, const double *v, double *pressed)
{
  double open = 0;
  perp_twists(ns->model, k->e, v, ns->free);
  for (int i = 0, j = 0; i < n; i++) {
    double normal = 0;
    while (j < ns->n && ns->contact[j].id < contact[i].id) j++;
    if (j < ns->n && ns->contact[j].id == contact[i].id && ns->kept[j])
      normal = perp_dot(3, ns->contact[j].n, ns->impulse + 3 * (size_t)j);
    if (contact[i].e > 0 && perp_contact_speed(ns->model->dim, k->e, &contact[i], 0, ns->free) >
                                contact[i].e * ns->o.threshold / 2)
      normal = 0;
    if (normal > 0) open = fmax(open, contact[i].gap);
    for (int c = 0; c < 3; c++) pressed[3 * i + c] = -normal * contact[i].n[c];
  }
  return open;
}

void perp_nonsmooth_joints(perp_constrained *k, const perp_eval *end, double t, const double *u,
                           double *room)
{
  const int m = k->model->m;
  if (m == 0) return;
  memset(k->c, 0, (size_t)m * sizeof *k->c);
  if (u != NULL) {
    perp_blocks_J(&k->e->blocks, 1, u, k->c);
    perp_blocks_J(&end->blocks, -1, u, k->c);
  }
  if (!k->model->driven) return;
  perp_joints_driven(k->model, end, t, room);
  for (int i = 0; i < m; i++) k->c[i] -= room[i];
}

perp_reason perp_nonsmooth_judge(perp_nonsmooth *ns, int pass, double moved, double tol, int most)
{
  static const double ROUNDING = 1e-9, FAR = 1e3;
  const double last = ns->moved;
  ns->moved = moved;
  if (pass == 1 && !isfinite(moved)) return PERP_NOT_FINITE;
  if (moved <= tol * ns->size) return PERP_EXACT;
  if (pass == 1) return most > 1 ? PERP_RUNNING : PERP_MAX_ITER;
  if (moved < ROUNDING * ns->size && moved > last / 2) return PERP_EXACT;
  return pass >= most || !(moved < FAR * fmax(last, ns->size)) ? PERP_MAX_ITER : PERP_RUNNING;
}

void perp_nonsmooth_report(const perp_nonsmooth *ns, perp_step_info *info)
{
  info->n_contacts = ns->n;
  info->contacts = ns->n > 0 ? ns->contact : NULL;
  info->impulse = ns->n > 0 ? ns->impulse : NULL;
}

void perp_nonsmooth_times(const perp_nonsmooth *ns, perp_times *times)
{
  if (ns->islands == NULL || times == NULL) return;
  times->collision = ns->collision_s;
  times->lcp = ns->lcp_s;
  times->integrate -= times->collision + times->lcp;
}
