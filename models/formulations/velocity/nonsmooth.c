/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/velocity/nonsmooth.h"

#include <stdlib.h>
#include <string.h>

/* of the size of the model: the predicted gap of an active contact, above what rounding leaves of
 * one that is closed */
static const double ACTIVE = 1e-9;

void perp_nonsmooth_layout(perp_nonsmooth *ns, perp_arena *arena)
{
  PERP_DOUBLES(arena, ns->model->n_bodies, &ns->reach);
  PERP_DOUBLES(arena, 6 * (size_t)ns->model->n_bodies, &ns->before, &ns->free);
  PERP_DOUBLES(arena, ns->model->nv, &ns->pass.f, &ns->pass.u, &ns->pass.r);
  PERP_DOUBLES(arena, PERP_NONSMOOTH_DEPTH * (size_t)ns->model->nv, &ns->pass.df, &ns->pass.du,
               &ns->pass.Q);
}

perp_status perp_nonsmooth_open(perp_ctx *ctx, perp_nonsmooth *ns, const perp_parts *parts)
{
  const perp_model *model = ns->model;
  ns->size = model->size > 0 ? model->size : 1;
  if (model->n_shapes == 0) return PERP_OK;
  const perp_contact_setup setup = { .tol = PERP_CONTACT_TOL,
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
  for (int contact = 0; contact < ns->n; contact++) {
    if (!ns->kept[contact]) continue;
    perp_nonsmooth_memory *memory = &ns->memory[ns->n_memory++];
    *memory = (perp_nonsmooth_memory){ .id = ns->contact[contact].id, .slip = ns->slip[contact] };
    memcpy(memory->impulse, ns->impulse + 3 * (size_t)contact, sizeof memory->impulse);
  }
}

bool perp_nonsmooth_find(perp_nonsmooth *ns, perp_constrained *k, double h, const double *v,
                         const double *u, double ahead)
{
  const perp_model *model = ns->model;
  if (ns->collision == NULL) return true;
  const double start = perp_constrained_clock(k), closed = ACTIVE * ns->size;
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

bool perp_nonsmooth_solve(perp_nonsmooth *ns, perp_constrained *system, double h, const double *v)
{
  if (ns->active == 0) return true;
  perp_twists(ns->model, system->e, system->a, ns->free);
  perp_island_task task = { .contact = ns->contact,
                            .n = ns->n,
                            .kept = ns->kept,
                            .impulse = ns->impulse,
                            .slip = ns->slip,
                            .h = h,
                            .before = ns->before,
                            .free = ns->free,
                            .belts = ns->model->surfaces.belts,
                            .t_belts = system->e->t,
                            .align = true,
                            .law = nonsmooth_law,
                            .user = ns };
  return perp_islands_step(ns->islands, system, &task, PERP_LEVEL_VELOCITY, h, v, &ns->lcp_s);
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

/* ---- passes ---- */

static perp_reason nonsmooth_judge(perp_nonsmooth *ns, int pass, double moved, double tol, int most)
{
  static const double ROUNDING = 1e-9, FAR = 1e6;
  const double last = ns->pass.moved;
  if (pass == 1 && !isfinite(moved)) return PERP_NOT_FINITE;
  if (moved <= tol * ns->size) return PERP_EXACT;
  if (pass == 1) return most > 1 ? PERP_RUNNING : PERP_MAX_ITER;
  if (moved < ROUNDING * ns->size && moved > last / 2) return PERP_EXACT;
  return pass >= most || !(moved < FAR * fmax(last, ns->size)) ? PERP_MAX_ITER : PERP_RUNNING;
}

/* x in metres: of rotations times the size */
static void nonsmooth_weigh(const perp_nonsmooth *ns, const double *x, double *y)
{
  const perp_model *model = ns->model;
  for (int i = 0; i < model->nv; i++) y[i] = x[i] * (i % model->nvb < model->dim ? 1 : ns->size);
}

/* u -= sum gamma_j du_j, the newest column first, as many as are independent; f is overwritten.
 * False: that is farther than ten times f, no prediction. */
static bool nonsmooth_extrapolate(perp_nonsmooth *ns, double *f, double *u)
{
  static const double DEPENDENT = 1e-8, ROUNDING = 1e-13, FARTHEST = 10;
  enum { MOST = PERP_NONSMOOTH_DEPTH };
  const int nv = ns->model->nv;
  double R[MOST][MOST], gamma[MOST];
  int of[MOST], n = 0;
  nonsmooth_weigh(ns, u, ns->pass.Q);
  const double least = ROUNDING * sqrt(perp_dot(nv, ns->pass.Q, ns->pass.Q));
  for (int c = 0; c < ns->pass.columns; c++) {
    const int j = (ns->pass.slot - c + MOST) % MOST;
    double *q = ns->pass.Q + (size_t)n * (size_t)nv;
    nonsmooth_weigh(ns, ns->pass.df + (size_t)j * (size_t)nv, q);
    const double whole = sqrt(perp_dot(nv, q, q));
    for (int i = 0; i < n; i++) {
      const double *p = ns->pass.Q + (size_t)i * (size_t)nv;
      R[i][n] = perp_dot(nv, p, q);
      for (int k = 0; k < nv; k++) q[k] -= R[i][n] * p[k];
    }
    R[n][n] = sqrt(perp_dot(nv, q, q));
    if (!(R[n][n] > fmax(DEPENDENT * whole, least))) continue;
    for (int k = 0; k < nv; k++) q[k] /= R[n][n];
    of[n++] = j;
  }
  const double size = sqrt(perp_dot(nv, f, f));
  for (int i = 0; i < n; i++) {
    const double *q = ns->pass.Q + (size_t)i * (size_t)nv;
    gamma[i] = perp_dot(nv, q, f);
    for (int k = 0; k < nv; k++) f[k] -= gamma[i] * q[k];
  }
  memset(f, 0, (size_t)nv * sizeof *f);
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) gamma[i] -= R[i][k] * gamma[k];
    gamma[i] /= R[i][i];
    const double *du = ns->pass.du + (size_t)of[i] * (size_t)nv;
    for (int k = 0; k < nv; k++) f[k] += gamma[i] * du[k];
  }
  nonsmooth_weigh(ns, f, ns->pass.Q);
  if (!(sqrt(perp_dot(nv, ns->pass.Q, ns->pass.Q)) <= FARTHEST * size)) return false;
  for (int k = 0; k < nv; k++) u[k] -= f[k];
  return true;
}

/* The passes begin anew at v, predicted from now on. */
static perp_reason nonsmooth_anew(perp_nonsmooth *ns, int pass, const double *v, double *u)
{
  ns->pass.predicts = true;
  ns->pass.from = pass;
  memcpy(u, v, (size_t)ns->model->nv * sizeof *u);
  return PERP_RUNNING;
}

perp_reason perp_nonsmooth_pass(perp_nonsmooth *ns, int pass, double step, const double *v,
                                const double *f, double *u, double tol, int most)
{
  const perp_model *model = ns->model;
  const size_t nv = (size_t)model->nv;
  double moved = 0;
  if (pass == 1) {
    ns->pass.predicts = false;
    ns->pass.from = 0;
  }
  const int now = pass - ns->pass.from;
  for (int b = 0; b < model->n_bodies; b++) {
    const double d = step * perp_point_speed(model->dim, f + model->nvb * b, ns->size);
    if (!(d <= moved)) moved = d; /* a NaN stays one */
  }
  const perp_reason reason = nonsmooth_judge(ns, now, moved, tol, most);
  ns->pass.moved = moved;
  if (reason == PERP_MAX_ITER && !ns->pass.predicts) return nonsmooth_anew(ns, pass, v, u);
  if (reason != PERP_RUNNING || !ns->pass.predicts) return reason;
  if (now == 1) {
    ns->pass.columns = 0;
  } else {
    ns->pass.slot = (ns->pass.slot + 1) % PERP_NONSMOOTH_DEPTH;
    ns->pass.columns += ns->pass.columns < PERP_NONSMOOTH_DEPTH;
    double *df = ns->pass.df + (size_t)ns->pass.slot * nv,
           *du = ns->pass.du + (size_t)ns->pass.slot * nv;
    for (size_t i = 0; i < nv; i++) {
      df[i] = f[i] - ns->pass.f[i];
      du[i] = u[i] - ns->pass.u[i];
    }
  }
  memcpy(ns->pass.f, f, nv * sizeof *f);
  memcpy(ns->pass.u, u, nv * sizeof *u);
  nonsmooth_weigh(ns, f, ns->pass.r);
  if (!nonsmooth_extrapolate(ns, ns->pass.r, u)) ns->pass.columns = 0;
  return PERP_RUNNING;
}

/* ---- the calls of a descriptor ---- */

perp_status perp_nonsmooth_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  const perp_nonsmooth *ns = &((const perp_nonsmooth_stepper *)ws)->ns;
  PERP_TRY(perp_stepper_step(ctx, ws, t_max, info));
  info->n_contacts = ns->n;
  info->contacts = ns->n > 0 ? ns->contact : NULL;
  info->impulse = ns->n > 0 ? ns->impulse : NULL;
  return PERP_OK;
}

/* seconds of collision and contact problems are not of `integrate` */
void perp_nonsmooth_timing(void *ws, bool on, perp_times *times)
{
  const perp_nonsmooth *ns = &((const perp_nonsmooth_stepper *)ws)->ns;
  perp_stepper_timing(ws, on, times);
  if (ns->islands == NULL || times == NULL) return;
  times->collision = ns->collision_s;
  times->lcp = ns->lcp_s;
  times->integrate -= times->collision + times->lcp;
}

const perp_contact_count *perp_nonsmooth_count(const void *ws)
{
  const perp_nonsmooth *ns = &((const perp_nonsmooth_stepper *)ws)->ns;
  return ns->islands != NULL ? perp_islands_count(ns->islands) : NULL;
}

void perp_nonsmooth_observe(void *ws, perp_contact_observer *observer, void *user)
{
  const perp_nonsmooth *ns = &((const perp_nonsmooth_stepper *)ws)->ns;
  if (ns->islands != NULL) perp_islands_observe(ns->islands, observer, user);
}
