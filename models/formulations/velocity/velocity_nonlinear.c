/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nonlinear time step (STAR 2012, section 3.1.3, eq. 35-39): velocity level with everything at
 * the end of the step.
 *
 *      M (v+ - v) = h f(t+, q+, v+) + J(q+)' lambda + J_c(q+)' lambda_c,      q+ = q [+] h v+
 *
 *      C(q+, t+) = 0,   0 <= lambda_n  perp  g(q+) >= 0,   friction against the sliding J_c(q+) v+
 *
 * C and the gaps g hold at the end of the step itself, where the formulation velocity has their
 * linear part at its start (STAR 2012, eq. 43-44).  The step is solved by repeated linearisation.
 * From an estimate u of v+ and its end x = q [+] h u
 *
 *      M (v+ - v) = h f(t+, x, u) + J(x)' lambda + J_c(x)' lambda_c
 *
 *      J(x) v+ = J(x) u - C(x, t+) / h
 *
 *      0 <= lambda_n  perp  n . J_c(x) (v+ - u) + g(x) / h >= 0,   friction against J_c(x) v+
 *
 * gives the next one; contacts are found at x.  It begins with u = 0, x = q and f(t+, q, v): the
 * first pass is the linear step.  It ends when the end of the step moves by less than tol and C is
 * below it.  Each pass gains a factor of about h |v| / size, h^2 |f| / (m size) and h^2 |df/dq| /
 * m, so that large steps, stiff springs and fast rotations fail with PERP_MAX_ITER; so do contacts
 * that change from pass to pass.
 *
 * [+] turns a body by h |w|, in place of the quaternion that is normalized after STAR 2012, eq. 36.
 * The gyroscopic torque is a part of f.  No stabilization acts, and a depth at the start of a step
 * is gone at its end.  Order 1; backward Euler, which takes energy.  Eq. 39 leaves a gap of zero
 * after an impact: restitution is refused.  So are joints with stiffness, drives and constraints of
 * velocities.  A multiplier is an impulse, which is reported divided by h.
 *
 * Cost per step: an evaluation, a detection, a factorization and a problem of contacts for each
 * pass, of which there are three to six.  No allocation but for more contacts than ever. */
#include "models/contact/step/contacts.h"
#include "models/stepping/stepper.h"
#include "models/contact/step/islands.h"

#include <stdlib.h>
#include <string.h>

typedef struct opts {
  double budget;
  int iterations, choice;
} opts;
static const perp_opt options[] = {
  PERP_INT(opts, iterations, 50, 1, 1000, "Largest number of linearizations of a step."),
  PERP_REAL(opts, budget, PERP_STEP_BUDGET, 0, 1e9, 0, "", PERP_BUDGET_MEANS),
  PERP_CHOICE_OPTION(opts, choice), PERP_OPTIONS_END
};

static const double TOL = 1e-12;     /* of the size: the last change, and |C|, of a step */
static const double SLIP = 1e-5;     /* m/s: what slides faster has mu_dynamic */
static const double ROUNDING = 1e-9; /* of the size: passes that gain nothing below it are done */

typedef struct memory {
  uint64_t id;
  double impulse[3], slip;
} memory;

typedef struct workspace {
  perp_stepper s; /* first */
  opts o;
  double *u, *dv, *f;            /* [nv] velocity of the estimate; its change; forces at its end */
  double *before, *free, *along; /* [6 bodies] twists: of v, without contact impulses, of u */
  double *reach;                 /* [bodies] */
  perp_collision *collision;     /* NULL: no shapes, and so is the next one */
  perp_islands *islands;
  const perp_contact *contact; /* [n] at the last x */
  int n, cap, n_memory;
  double *impulse; /* [3 n] */
  double *slip;    /* [n] */
  memory *memory;  /* [n_memory] of the pass before, by id */
  perp_arena grown;
  double margin; /* m, of the step so far */
  double collision_s, lcp_s;
} workspace;

/* ---- contacts ---- */

static void velocity_nonlinear_grown(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  work->impulse = PERP_CARVE(arena, double, 3 * (size_t)work->cap);
  work->slip = PERP_CARVE(arena, double, work->cap);
  work->memory = PERP_CARVE(arena, memory, work->cap);
}

/* room for n contacts; what is remembered stays */
static perp_status velocity_nonlinear_reserve(workspace *work, int n)
{
  if (n <= work->cap) return PERP_OK;
  perp_arena old = work->grown;
  const memory *known = work->memory;
  work->grown = (perp_arena){ 0 };
  work->cap = n + n / 2 + 16;
  const perp_status status = perp_arena_layout(work->s.k.ctx, &work->grown,
                                               velocity_nonlinear_grown, work);
  if (status != PERP_OK) work->cap = work->n_memory = 0;
  if (work->n_memory > 0) memcpy(work->memory, known, (size_t)work->n_memory * sizeof *known);
  perp_arena_free(&old);
  return status;
}

/* Contacts at system->e within reach of the step, with the impulses of the pass before as guesses;
 * both are ordered by id. */
static bool velocity_nonlinear_find(workspace *work, double h)
{
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  const double start = perp_constrained_clock(system);
  const double g = fabs(perp_model_gravity_at(model, system->e->t));
  work->margin = fmax(work->margin, 2 * h * h * g + 1e-6 * model->size +
                                        h * perp_closing_speed(model, system->a, work->reach));
  if (!isfinite(work->margin)) {
    system->reason = PERP_NOT_FINITE;
    return false;
  }
  for (int contact = 0; contact < work->n; contact++) {
    memory *last = &work->memory[contact];
    *last = (memory){ .id = work->contact[contact].id, .slip = work->slip[contact] };
    memcpy(last->impulse, work->impulse + 3 * (size_t)contact, sizeof last->impulse);
  }
  work->n_memory = work->n;
  work->n = 0;
  perp_collision_margin(work->collision, work->margin);
  int n = 0;
  system->status = perp_collision_find(system->ctx, work->collision, system->e->pose,
                                       &work->contact, &n);
  if (system->status == PERP_OK) system->status = velocity_nonlinear_reserve(work, n);
  work->collision_s += perp_constrained_clock(system) - start;
  if (system->status != PERP_OK) return false;
  work->n = n;
  for (int contact = 0, j = 0; contact < n; contact++) {
    memset(work->impulse + 3 * (size_t)contact, 0, 3 * sizeof *work->impulse);
    work->slip[contact] = 0;
    while (j < work->n_memory && work->memory[j].id < work->contact[contact].id) j++;
    if (j == work->n_memory || work->memory[j].id != work->contact[contact].id) continue;
    memcpy(work->impulse + 3 * (size_t)contact, work->memory[j].impulse,
           sizeof work->memory[j].impulse);
    work->slip[contact] = work->memory[j].slip;
  }
  return true;
}

/* bias = g(x) / h - n . J_c(x) u */
static void velocity_nonlinear_law(void *user, const perp_contact *x, double h,
                                   const double *before, const double *free,
                                   perp_contact_terms *terms)
{
  const workspace *work = user;
  (void)free;
  terms->bias = x->gap / h -
                perp_contact_speed(work->s.k.model->dim, work->s.k.e, x, 0, work->along);
  terms->mu = hypot(before[1], before[2]) > SLIP ? x->mu_dynamic : x->mu;
}

/* k->a with contact impulses; k: solved without them at the end of the estimate. */
static bool velocity_nonlinear_contacts(workspace *work, double h)
{
  perp_constrained *k = &work->s.k;
  if (!velocity_nonlinear_find(work, h)) return false;
  if (work->n == 0) return true;
  perp_twists(k->model, k->e, k->a, work->free);
  perp_twists(k->model, k->e, work->u, work->along);
  perp_island_task task = { .contact = work->contact,
                            .n = work->n,
                            .impulse = work->impulse,
                            .slip = work->slip,
                            .h = h,
                            .before = work->before,
                            .free = work->free,
                            .belts = k->model->surfaces.belts,
                            .t_belts = k->e->t,
                            .align = true,
                            .law = velocity_nonlinear_law,
                            .user = work };
  return perp_islands_step(work->islands, k, &task, PERP_LEVEL_VELOCITY, h, work->s.v,
                           &work->lcp_s);
}

/* ---- the step ---- */

/* v1 of the step linearised at x = q1, u; the first pass has the forces of v.  k: at x. */
static bool velocity_nonlinear_pass(workspace *work, double t_end, double h, bool first)
{
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  perp_eval_forces(k->e, model, t_end, first ? work->s.v : work->u, true, work->f);
  perp_blocks_M(&k->e->blocks, work->s.v, k->f);
  for (int i = 0; i < model->nv; i++) k->f[i] += h * work->f[i];
  perp_constrained_product(k, work->u, k->c);
  for (int i = 0; i < model->m; i++) k->c[i] -= k->e->C[i] / h;
  work->s.grid.count.rhs++;
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, work->s.v)) return false;
  if (work->islands != NULL && !velocity_nonlinear_contacts(work, h)) return false;
  memcpy(work->s.v1, k->a, (size_t)model->nv * sizeof *k->a);
  return true;
}

/* u = v1 and q1 = q [+] h v1: how far that moves a point of the model, m. */
static double velocity_nonlinear_advance(workspace *work, double h)
{
  const perp_model *model = work->s.k.model;
  const double size = model->size > 0 ? model->size : 1;
  double moved = 0;
  for (int i = 0; i < model->nv; i++) {
    work->dv[i] = work->s.v1[i] - work->u[i];
    work->u[i] = work->s.v1[i];
  }
  for (int body = 0; body < model->n_bodies; body++) {
    const double d = h * perp_point_speed(model->dim, work->dv + model->nvb * body, size);
    if (!(d <= moved)) moved = d; /* a NaN stays one */
  }
  for (int i = 0; i < model->nv; i++) work->dv[i] = h * work->u[i];
  perp_model_retract(model, work->s.q, work->dv, work->s.q1);
  return moved;
}

static perp_reason velocity_nonlinear_make_step(perp_stepper *stepper, double t, double h)
{
  workspace *work = (workspace *)stepper;
  perp_constrained *system = &stepper->k;
  const perp_model *model = system->model;
  const double size = model->size > 0 ? model->size : 1;
  double last = HUGE_VAL;
  if (!perp_constrained_signals(system, t + h)) return system->reason;
  memset(work->u, 0, (size_t)model->nv * sizeof *work->u);
  memcpy(stepper->q1, stepper->q, (size_t)model->nq * sizeof *stepper->q);
  work->margin = 0;
  perp_constrained_at(system, t + h, stepper->q1);
  perp_twists(model, system->e, stepper->v, work->before);
  for (int pass = 1;; pass++) {
    if (!velocity_nonlinear_pass(work, t + h, h, pass == 1)) return system->reason;
    const double moved = velocity_nonlinear_advance(work, h);
    perp_constrained_at(system, t + h, stepper->q1);
    system->drift = perp_worst(model->m, system->e->C);
    const double d = moved > system->drift ? moved : system->drift;
    if (!isfinite(moved) || !isfinite(system->drift)) return PERP_NOT_FINITE;
    if (d <= TOL * size || (d < ROUNDING * size && d > last / 2)) break;
    if (pass >= work->o.iterations) return PERP_MAX_ITER;
    last = d;
    stepper->grid.count.iterations++;
  }
  for (int i = 0; i < model->m; i++) stepper->lambda[i] = system->lambda[i] / h;
  return PERP_EXACT;
}

/* ---- descriptor ---- */

static void velocity_nonlinear_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  perp_stepper_layout(&work->s, arena);
  PERP_DOUBLES(arena, model->nv, &work->u, &work->dv, &work->f);
  PERP_DOUBLES(arena, 6 * (size_t)model->n_bodies, &work->before, &work->free, &work->along);
  work->reach = PERP_CARVE(arena, double, model->n_bodies);
}

static void velocity_nonlinear_destroy(void *ws)
{
  workspace *work = ws;
  if (work == NULL) return;
  perp_collision_destroy(work->collision);
  perp_islands_destroy(work->islands);
  perp_arena_free(&work->grown);
  perp_stepper_destroy(work);
}

static perp_status velocity_nonlinear_open(perp_ctx *ctx, workspace *work, const perp_parts *parts)
{
  const perp_model *model = work->s.k.model;
  if (model->n_shapes == 0) return PERP_OK;
  const perp_contact_setup setup = { .tol = PERP_CONTACT_TOL,
                                     .tol_data = PERP_CONTACT_TOL_DATA,
                                     .budget = work->o.budget,
                                     .choice = work->o.choice };
  perp_contacts_reach(model, work->reach);
  PERP_TRY(perp_collision_create(ctx, model, 0, &work->collision));
  return perp_contacts_islands(ctx, model, parts, &setup, 1, false, &work->islands);
}

static perp_status velocity_nonlinear_serves(perp_ctx *ctx, const perp_model *model,
                                             const perp_parts *parts)
{
  for (int shape = 0; shape < model->n_shapes; shape++)
    if (model->shape_def[shape].surface.restitution > 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "velocity-nonlinear closes the gap of an impact and has no restitution: "
                       "shape %d has %g; use --formulation velocity",
                       shape, model->shape_def[shape].surface.restitution);
  if (model->n_shapes > 0 && (parts->contact.d->caps & PERP_CONTACT_RELAXED))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact %s opens sliding contacts, and velocity-nonlinear keeps their gap "
                     "zero; use --contact box or cone",
                     parts->contact.d->name);
  return PERP_OK;
}

static perp_status velocity_nonlinear_create(perp_ctx *ctx, perp_model *model,
                                             const perp_parts *parts, double h, void **ws)
{
  workspace like = { .s.make_step = velocity_nonlinear_make_step,
                     .o = *(const opts *)parts->formulation.opts };
  *ws = NULL;
  PERP_TRY(velocity_nonlinear_serves(ctx, model, parts));
  PERP_TRY(perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like,
                               velocity_nonlinear_layout, ws));
  const perp_status status = velocity_nonlinear_open(ctx, *ws, parts);
  if (status == PERP_OK) return PERP_OK;
  velocity_nonlinear_destroy(*ws);
  *ws = NULL;
  return status;
}

static perp_status velocity_nonlinear_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                              const double *v)
{
  workspace *work = ws;
  work->n = work->n_memory = 0;
  work->collision_s = work->lcp_s = 0;
  if (work->islands != NULL) perp_islands_restart(work->islands);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status velocity_nonlinear_step(perp_ctx *ctx, void *ws, double t_max,
                                           perp_step_info *info)
{
  const workspace *work = ws;
  PERP_TRY(perp_stepper_step(ctx, ws, t_max, info));
  info->n_contacts = work->n;
  info->contacts = work->n > 0 ? work->contact : NULL;
  info->impulse = work->n > 0 ? work->impulse : NULL;
  return PERP_OK;
}

static void velocity_nonlinear_timing(void *ws, bool on, perp_times *times)
{
  const workspace *work = ws;
  perp_stepper_timing(ws, on, times);
  if (work->islands == NULL || times == NULL) return;
  times->collision = work->collision_s;
  times->lcp = work->lcp_s;
  times->integrate -= times->collision + times->lcp;
}

static const perp_contact_count *velocity_nonlinear_count(const void *ws)
{
  const workspace *work = ws;
  return work->islands != NULL ? perp_islands_count(work->islands) : NULL;
}

static void velocity_nonlinear_observe(void *ws, perp_contact_observer *observer, void *user)
{
  workspace *work = ws;
  if (work->islands != NULL) perp_islands_observe(work->islands, observer, user);
}

const perp_formulation_desc perp_formulation_velocity_nonlinear = {
  .d = { .name = "velocity-nonlinear",
         .summary = "Time stepping; joints and gaps hold at the end of the step, iterated",
         .reference = "STAR 2012, section 3.1.3, eq. 35-39",
         .equation = "M v+ = M v + h f+ + J(q+)' lambda,  C(q+) = 0,  0 <= lambda_n perp g(q+) >= "
                     "0,  q+ = q [+] h v+",
         PERP_OPTIONS(options, opts),
         .caps = PERP_FORM_BREAKS | PERP_FORM_USES_KKT | PERP_FORM_USES_LCP | PERP_FORM_CONTACTS |
                 PERP_FORM_EXACT_JOINTS | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS },
  .create = velocity_nonlinear_create,
  .restart = velocity_nonlinear_restart,
  .step = velocity_nonlinear_step,
  .state = perp_stepper_state,
  .counters = perp_stepper_counters,
  .timing = velocity_nonlinear_timing,
  .destroy = velocity_nonlinear_destroy,
  .contacts = velocity_nonlinear_count,
  .observe = velocity_nonlinear_observe,
};
