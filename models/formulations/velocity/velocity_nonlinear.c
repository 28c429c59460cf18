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
  double tol, residual, budget;
  int iterations, choice;
} opts;
static const perp_opt options[] = {
  PERP_REAL(opts, tol, 1e-12, 0, HUGE_VAL, PERP_OPEN_MIN, "",
            "Tolerance of the iteration: last change of the positions at the end of the step, and "
            "largest |C| there, relative to the size of the model."),
  PERP_INT(opts, iterations, 50, 1, 1000, "Largest number of linearizations of a step."),
  PERP_REAL(opts, residual, 1e-8, 0, 1, PERP_OPEN_MIN, "",
            "Largest scaled residual of an accepted contact solution."),
  PERP_REAL(opts, budget, PERP_STEP_BUDGET, 0, 1e9, 0, "", PERP_BUDGET_MEANS),
  PERP_CHOICE_OPTION(opts, choice),
  PERP_OPTIONS_END
};

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

static void velocity_nonlinear_grown(void *ws, perp_arena *a)
{
  workspace *w = ws;
  w->impulse = PERP_CARVE(a, double, 3 * (size_t)w->cap);
  w->slip = PERP_CARVE(a, double, w->cap);
  w->memory = PERP_CARVE(a, memory, w->cap);
}

/* room for n contacts; what is remembered stays */
static perp_status velocity_nonlinear_reserve(workspace *w, int n)
{
  if (n <= w->cap) return PERP_OK;
  perp_arena old = w->grown;
  const memory *known = w->memory;
  w->grown = (perp_arena){ 0 };
  w->cap = n + n / 2 + 16;
  const perp_status status = perp_arena_layout(w->s.k.ctx, &w->grown, velocity_nonlinear_grown, w);
  if (status != PERP_OK) w->cap = w->n_memory = 0;
  if (w->n_memory > 0) memcpy(w->memory, known, (size_t)w->n_memory * sizeof *known);
  perp_arena_free(&old);
  return status;
}

/* Contacts at k->e within reach of the step, with the impulses of the pass before as guesses; both
 * are ordered by id. */
static bool velocity_nonlinear_find(workspace *w, double h)
{
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const double start = perp_constrained_clock(k);
  const double g = fabs(perp_model_gravity_at(model, k->e->t));
  w->margin = fmax(w->margin, 2 * h * h * g + 1e-6 * model->size +
                                  h * perp_closing_speed(model, k->a, w->reach));
  if (!isfinite(w->margin)) {
    k->reason = PERP_NOT_FINITE;
    return false;
  }
  for (int i = 0; i < w->n; i++) {
    memory *m = &w->memory[i];
    *m = (memory){ .id = w->contact[i].id, .slip = w->slip[i] };
    memcpy(m->impulse, w->impulse + 3 * (size_t)i, sizeof m->impulse);
  }
  w->n_memory = w->n;
  w->n = 0;
  perp_collision_margin(w->collision, w->margin);
  int n = 0;
  k->status = perp_collision_find(k->ctx, w->collision, k->e->pose, &w->contact, &n);
  if (k->status == PERP_OK) k->status = velocity_nonlinear_reserve(w, n);
  w->collision_s += perp_constrained_clock(k) - start;
  if (k->status != PERP_OK) return false;
  w->n = n;
  for (int i = 0, j = 0; i < n; i++) {
    memset(w->impulse + 3 * (size_t)i, 0, 3 * sizeof *w->impulse);
    w->slip[i] = 0;
    while (j < w->n_memory && w->memory[j].id < w->contact[i].id) j++;
    if (j == w->n_memory || w->memory[j].id != w->contact[i].id) continue;
    memcpy(w->impulse + 3 * (size_t)i, w->memory[j].impulse, sizeof w->memory[j].impulse);
    w->slip[i] = w->memory[j].slip;
  }
  return true;
}

/* bias = g(x) / h - n . J_c(x) u */
static void velocity_nonlinear_law(void *user, const perp_contact *x, double h,
                                   const double *before, const double *free,
                                   perp_contact_terms *terms)
{
  const workspace *w = user;
  (void)free;
  terms->bias = x->gap / h - perp_contact_speed(w->s.k.model->dim, w->s.k.e, x, 0, w->along);
  terms->mu = hypot(before[1], before[2]) > SLIP ? x->mu_dynamic : x->mu;
}

/* k->a with contact impulses; k: solved without them at the end of the estimate. */
static bool velocity_nonlinear_contacts(workspace *w, double h)
{
  perp_constrained *k = &w->s.k;
  if (!velocity_nonlinear_find(w, h)) return false;
  if (w->n == 0) return true;
  perp_twists(k->model, k->e, k->a, w->free);
  perp_twists(k->model, k->e, w->u, w->along);
  perp_island_task task = { .contact = w->contact,
                            .n = w->n,
                            .impulse = w->impulse,
                            .slip = w->slip,
                            .h = h,
                            .before = w->before,
                            .free = w->free,
                            .belts = k->model->surfaces.belts,
                            .t_belts = k->e->t,
                            .align = true,
                            .law = velocity_nonlinear_law,
                            .user = w };
  return perp_islands_step(w->islands, k, &task, PERP_LEVEL_VELOCITY, h, w->s.v, &w->lcp_s);
}

/* ---- the step ---- */

/* v1 of the step linearised at x = q1, u; the first pass has the forces of v.  k: at x. */
static bool velocity_nonlinear_pass(workspace *w, double t_end, double h, bool first)
{
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  perp_eval_forces(k->e, model, t_end, first ? w->s.v : w->u, true, w->f);
  perp_blocks_M(&k->e->blocks, w->s.v, k->f);
  for (int i = 0; i < model->nv; i++) k->f[i] += h * w->f[i];
  perp_constrained_product(k, w->u, k->c);
  for (int i = 0; i < model->m; i++) k->c[i] -= k->e->C[i] / h;
  w->s.grid.count.rhs++;
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, w->s.v)) return false;
  if (w->islands != NULL && !velocity_nonlinear_contacts(w, h)) return false;
  memcpy(w->s.v1, k->a, (size_t)model->nv * sizeof *k->a);
  return true;
}

/* u = v1 and q1 = q [+] h v1: how far that moves a point of the model, m. */
static double velocity_nonlinear_advance(workspace *w, double h)
{
  const perp_model *model = w->s.k.model;
  const double size = model->size > 0 ? model->size : 1;
  double moved = 0;
  for (int i = 0; i < model->nv; i++) {
    w->dv[i] = w->s.v1[i] - w->u[i];
    w->u[i] = w->s.v1[i];
  }
  for (int b = 0; b < model->n_bodies; b++) {
    const double d = h * perp_point_speed(model->dim, w->dv + model->nvb * b, size);
    if (!(d <= moved)) moved = d; /* a NaN stays one */
  }
  for (int i = 0; i < model->nv; i++) w->dv[i] = h * w->u[i];
  perp_model_retract(model, w->s.q, w->dv, w->s.q1);
  return moved;
}

static perp_reason velocity_nonlinear_make_step(perp_stepper *s, double t, double h)
{
  workspace *w = (workspace *)s;
  perp_constrained *k = &s->k;
  const perp_model *model = k->model;
  const double size = model->size > 0 ? model->size : 1;
  double last = HUGE_VAL;
  if (!perp_constrained_signals(k, t + h)) return k->reason;
  memset(w->u, 0, (size_t)model->nv * sizeof *w->u);
  memcpy(s->q1, s->q, (size_t)model->nq * sizeof *s->q);
  w->margin = 0;
  perp_constrained_at(k, t + h, s->q1);
  perp_twists(model, k->e, s->v, w->before);
  for (int pass = 1;; pass++) {
    if (!velocity_nonlinear_pass(w, t + h, h, pass == 1)) return k->reason;
    const double moved = velocity_nonlinear_advance(w, h);
    perp_constrained_at(k, t + h, s->q1);
    k->drift = perp_worst(model->m, k->e->C);
    const double d = moved > k->drift ? moved : k->drift;
    if (!isfinite(moved) || !isfinite(k->drift)) return PERP_NOT_FINITE;
    if (d <= w->o.tol * size || (d < ROUNDING * size && d > last / 2)) break;
    if (pass >= w->o.iterations) return PERP_MAX_ITER;
    last = d;
    s->grid.count.iterations++;
  }
  for (int i = 0; i < model->m; i++) s->lambda[i] = k->lambda[i] / h;
  return PERP_EXACT;
}

/* ---- descriptor ---- */

static void velocity_nonlinear_layout(void *ws, perp_arena *a)
{
  workspace *w = ws;
  const perp_model *model = w->s.k.model;
  perp_stepper_layout(&w->s, a);
  PERP_DOUBLES(a, model->nv, &w->u, &w->dv, &w->f);
  PERP_DOUBLES(a, 6 * (size_t)model->n_bodies, &w->before, &w->free, &w->along);
  w->reach = PERP_CARVE(a, double, model->n_bodies);
}

static void velocity_nonlinear_destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  perp_collision_destroy(w->collision);
  perp_islands_destroy(w->islands);
  perp_arena_free(&w->grown);
  perp_stepper_destroy(w);
}

static perp_status velocity_nonlinear_open(perp_ctx *ctx, workspace *w, const perp_parts *parts)
{
  const perp_model *model = w->s.k.model;
  if (model->n_shapes == 0) return PERP_OK;
  const perp_contact_setup setup = { .tol = w->o.residual,
                                     .tol_data = PERP_CONTACT_TOL_DATA,
                                     .budget = w->o.budget,
                                     .choice = w->o.choice };
  perp_contacts_reach(model, w->reach);
  PERP_TRY(perp_collision_create(ctx, model, 0, &w->collision));
  return perp_contacts_islands(ctx, model, parts, &setup, 1, false, &w->islands);
}

static perp_status velocity_nonlinear_serves(perp_ctx *ctx, const perp_model *model,
                                             const perp_parts *parts)
{
  for (int i = 0; i < model->n_shapes; i++)
    if (model->shape_def[i].surface.restitution > 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "velocity-nonlinear closes the gap of an impact and has no restitution: "
                       "shape %d has %g; use --formulation velocity",
                       i, model->shape_def[i].surface.restitution);
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
  workspace *w = ws;
  w->n = w->n_memory = 0;
  w->collision_s = w->lcp_s = 0;
  if (w->islands != NULL) perp_islands_restart(w->islands);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status velocity_nonlinear_step(perp_ctx *ctx, void *ws, double t_max,
                                           perp_step_info *info)
{
  const workspace *w = ws;
  PERP_TRY(perp_stepper_step(ctx, ws, t_max, info));
  info->n_contacts = w->n;
  info->contacts = w->n > 0 ? w->contact : NULL;
  info->impulse = w->n > 0 ? w->impulse : NULL;
  return PERP_OK;
}

static void velocity_nonlinear_timing(void *ws, bool on, perp_times *times)
{
  const workspace *w = ws;
  perp_stepper_timing(ws, on, times);
  if (w->islands == NULL || times == NULL) return;
  times->collision = w->collision_s;
  times->lcp = w->lcp_s;
  times->integrate -= times->collision + times->lcp;
}

static const perp_contact_count *velocity_nonlinear_count(const void *ws)
{
  const workspace *w = ws;
  return w->islands != NULL ? perp_islands_count(w->islands) : NULL;
}

static void velocity_nonlinear_observe(void *ws, perp_contact_observer *observer, void *user)
{
  workspace *w = ws;
  if (w->islands != NULL) perp_islands_observe(w->islands, observer, user);
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
