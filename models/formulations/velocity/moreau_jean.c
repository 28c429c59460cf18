/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moreau's and Jean's theta-scheme (Moreau 1988; Jean 1999; Acary and Brogliato 2008,
 * section 10.1), the time stepping of Siconos and LMGC90.  With f_theta = theta f(t+, q+, v+) + (1
 * - theta) f(t, q, v),
 *
 *      M (v+ - v) = h f_theta + J(q_m)' lambda + J_c(q_m)' lambda_c
 *
 *      q+ = q [+] h (theta v+ + (1 - theta) v),   q_m = q [+] gamma h v
 *
 *      J(q+) v+ + C_t = 0,   0 <= lambda_n  perp  n . J_c(q_m) (v+ + e v) >= 0  where g(q_m) <= 0
 *
 * Contacts are an index set: those closed at the prediction q_m have Newton's law on the velocities
 * at the end, others nothing (nonsmooth.h).  Neither gaps nor joints are in the equations: what is
 * off stays off.  The forces at the end and the velocity constraint there are found by repeated
 * solves with one factor, that of q_m.  A plain pass gains h |v| / size, h theta |df/dv| / m and
 * h^2 theta^2 |df/dq| / m.  Where plain passes do not end, Anderson's method predicts from earlier
 * ones (nonsmooth.h), which finds a few stiff springs; many of them end the run with PERP_MAX_ITER.
 *
 * theta = 1/2: order 2 between events, and no energy is lost in springs; 1: backward Euler. Across
 * impacts and switches of friction: order 1.  A reaction acts along J(q_m), in the middle of the
 * step with gamma = 1/2, which order 2 needs.
 *
 * projection (Acary 2013): positions after the step onto joints and gaps, as often as they are off,
 *
 *      M dq = J' mu + J_c' nu,   J dq = -C,   0 <= nu  perp  g + J_c dq >= 0,   q+ <- q+ [+] dq,
 *
 * where contacts that press in the step are kept closed: its impulses, times h, act against nu.
 *
 * direct: once the velocities are known, which do not learn of it; a contact that closed within the
 * step has its impact one step late, at a position that was moved out.  combined: contacts that are
 * closed and approach at the projected end join the index set, the step is solved again, and so on
 * until none is new: gaps hold on positions and on velocities at the end of the same step.
 *
 * No allocation but for more contacts than ever.  Cost per step: a factorization, a detection (two
 * with projection), and for each pass an evaluation, a solve and a problem of contacts. */
#include "models/formulations/velocity/nonsmooth.h"

#include "models/contact/step/contacts_post.h"
#include "models/multibody/servos.h"

#include <stdlib.h>
#include <string.h>

enum { PROJECTION_NONE, PROJECTION_DIRECT, PROJECTION_COMBINED };
static const char *const projections[] = { "none", "direct", "combined", NULL };

typedef struct opts {
  perp_nonsmooth_opts contact; /* first */
  double theta, tol;
  int iterations, projection;
} opts;
static const perp_opt options[] = {
  PERP_REAL(opts, theta, 0.5, 0, 1, PERP_OPEN_MIN, "",
            "Weight of the end of the step in forces and positions. 0.5: order 2 between events. "
            "1: backward Euler."),
  PERP_ENUM(opts, projection, PROJECTION_NONE, projections,
            "Projection of positions onto joints and gaps. direct: after the step. combined: with "
            "the contacts that it closes, solved again (Acary 2013)."),
  PERP_REAL(opts, tol, 1e-12, 0, HUGE_VAL, PERP_OPEN_MIN, "",
            "Tolerance of the iteration: last change of the positions at the end of the step, "
            "relative to the size of the model."),
  PERP_INT(opts, iterations, 50, 1, 1000, "Largest number of passes of a step."),
  PERP_NONSMOOTH_OPTIONS,
  PERP_OPTIONS_END
};

/* Fraction of the step after which contacts are predicted and reactions act; order 2 needs it. */
static const double GAMMA = 0.5;
/* of the size of the model: projections end, and gaps are closed */
static const double PROJECTED = 1e-9;
enum { PROJECTIONS = 20, SETS = 20 };

typedef struct workspace {
  perp_stepper s;    /* first */
  perp_nonsmooth ns; /* second */
  opts o;
  perp_eval end;              /* at q1 */
  double *q_m;                /* [nq] */
  double *f0, *f1;            /* [nv] forces at the start and at the end */
  double *u, *dv;             /* [nv] estimate of v+, scratch */
  double *room;               /* [m] */
  perp_contact_post *post;    /* NULL: no shapes, or no projection */
  const perp_contact *closed; /* [n_closed] at the projected q1 */
  int n_closed;
  double *pressed; /* [room_pressed] of the impulses that press them, kg m */
  size_t room_pressed;
} workspace;

/* ---- the step ---- */

static void moreau_jean_forces(workspace *work, const perp_eval *eval, double t, const double *v,
                               double *force, double *f)
{
  perp_eval_forces(eval, work->s.k.model, t, v, true, f);
  perp_servos_apply(work->s.k.model, eval, t, v, force, f);
  work->s.grid.count.rhs++;
}

/* q1 from u */
static void moreau_jean_end(workspace *w, double h)
{
  const perp_model *model = w->s.k.model;
  const double theta = w->o.theta;
  for (int i = 0; i < model->nv; i++) w->dv[i] = h * (theta * w->u[i] + (1 - theta) * w->s.v[i]);
  perp_model_retract(model, w->s.q, w->dv, w->s.q1);
}

/* v+ of one pass in k->a; k is at q_m, w->end at the estimate. */
static bool moreau_jean_pass(workspace *w, double t_end, double h, bool first)
{
  perp_constrained *k = &w->s.k;
  const double theta = w->o.theta;
  moreau_jean_forces(w, &w->end, t_end, w->u, w->s.servo, w->f1);
  perp_blocks_M(&k->e->blocks, w->s.v, k->f);
  for (int i = 0; i < k->model->nv; i++) k->f[i] += h * (theta * w->f1[i] + (1 - theta) * w->f0[i]);
  perp_nonsmooth_joints(k, &w->end, t_end, first ? NULL : w->u, w->room);
  return perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, w->s.v) &&
         perp_nonsmooth_solve(&w->ns, k, h, w->s.v);
}

/* Passes to the end of the step with the index set as it is. */
static perp_reason moreau_jean_solve(workspace *w, double t, double h)
{
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  perp_constrained_at(k, t + GAMMA * h, w->q_m);
  memcpy(w->u, w->s.v, (size_t)model->nv * sizeof *w->u);
  moreau_jean_end(w, h);
  for (int pass = 1;; pass++) {
    perp_eval_at(&w->end, model, t + h, w->s.q1);
    if (!moreau_jean_pass(w, t + h, h, pass == 1)) return k->reason;
    for (int i = 0; i < model->nv; i++) {
      w->dv[i] = k->a[i] - w->u[i];
      w->u[i] = k->a[i];
    }
    const perp_reason reason = perp_nonsmooth_pass(&w->ns, pass, w->o.theta * h, w->s.v, w->dv,
                                                   w->u, w->o.tol, w->o.iterations);
    if (reason < 0) return reason;
    moreau_jean_end(w, h);
    if (reason == PERP_EXACT) break;
    w->s.grid.count.iterations++;
  }
  memcpy(w->s.v1, w->u, (size_t)model->nv * sizeof *w->u);
  for (int i = 0; i < model->m; i++) w->s.lambda[i] = k->lambda[i] / h;
  return PERP_EXACT;
}

/* ---- projection ---- */

static bool moreau_jean_detect(workspace *work, double h)
{
  perp_constrained *system = &work->s.k;
  work->n_closed = 0;
  if (work->ns.collision == NULL) return true;
  const double start = perp_constrained_clock(system);
  /* what the projection may close: it is as large as what is off, O(h) of the motion */
  perp_collision_margin(work->ns.collision,
                        PROJECTED * work->ns.size +
                            h * perp_closing_speed(system->model, work->s.v1, work->ns.reach));
  system->status = perp_collision_find(system->ctx, work->ns.collision, system->e->pose,
                                       &work->closed, &work->n_closed);
  work->ns.collision_s += perp_constrained_clock(system) - start;
  return system->status == PERP_OK;
}

/* q1 onto the joints: without contacts, one correction of them. */
static bool moreau_jean_joints(workspace *work)
{
  perp_constrained *system = &work->s.k;
  memset(system->f, 0, (size_t)system->model->nv * sizeof *system->f);
  perp_constrained_error(system, system->c);
  for (int i = 0; i < system->model->m; i++) system->c[i] = -system->c[i];
  if (!perp_constrained_solve(system, PERP_LEVEL_VELOCITY, 1, system->zeros)) return false;
  perp_constrained_retract(system, work->s.q1, system->a, work->s.q1);
  return true;
}

/* Impulses of the step times h press the contacts together that have them; *off: their gaps, too.
 */
static bool moreau_jean_press(workspace *w, double h, double *off)
{
  perp_constrained *k = &w->s.k;
  const size_t n = 3 * (size_t)w->n_closed;
  if (n > w->room_pressed) {
    double *room = realloc(w->pressed, 2 * n * sizeof *room);
    if (room == NULL) {
      k->status = PERP_FAIL(k->ctx, PERP_ERR_NOMEM, "no memory for %d contacts", w->n_closed);
      return false;
    }
    w->pressed = room;
    w->room_pressed = 2 * n;
  }
  *off = fmax(*off, perp_nonsmooth_pressed(&w->ns, k, w->closed, w->n_closed, w->s.v1, w->pressed));
  for (size_t i = 0; i < n; i++) w->pressed[i] *= h;
  return true;
}

/* Projects q1; k is at it then, and w->closed are its contacts. */
static perp_reason moreau_jean_project(workspace *w, double t_end, double h)
{
  perp_constrained *k = &w->s.k;
  const double tol = PROJECTED * w->ns.size;
  double last = HUGE_VAL;
  for (int pass = 0;; pass++) {
    perp_constrained_at(k, t_end, w->s.q1);
    if (!moreau_jean_detect(w, h)) return k->reason;
    perp_constrained_error(k, w->room);
    double off = perp_worst(k->model->m, w->room);
    for (int i = 0; i < w->n_closed; i++) off = fmax(off, -w->closed[i].gap);
    if (!moreau_jean_press(w, h, &off)) return k->reason;
    if (pass == 0) k->drift = off;
    if (!(off > tol) || pass == PROJECTIONS || !(off < last)) return PERP_EXACT;
    last = off;
    if (w->n_closed == 0) {
      if (!moreau_jean_joints(w)) return k->reason;
      continue;
    }
    bool moved;
    perp_contact_post_press(w->post, w->pressed);
    if (!perp_contact_post_position(w->post, k, w->closed, NULL, w->n_closed, w->s.q1, &moved,
                                    perp_islands_count(w->ns.islands)))
      return k->reason;
    if (!moved) return PERP_EXACT;
  }
}

static perp_reason moreau_jean_make_step(perp_stepper *s, double t, double h)
{
  workspace *w = (workspace *)s;
  perp_constrained *k = &s->k;
  const perp_model *model = k->model;
  if (!perp_constrained_signals(k, t) || !perp_constrained_signals(k, t + h)) return k->reason;
  perp_eval_at(&w->end, model, t, s->q);
  moreau_jean_forces(w, &w->end, t, s->v, NULL, w->f0);
  for (int sets = 0;; sets++) {
    for (int i = 0; i < model->nv; i++) w->dv[i] = GAMMA * h * s->v[i];
    perp_model_retract(model, s->q, w->dv, w->q_m);
    perp_constrained_at(k, t + GAMMA * h, w->q_m);
    if (sets == 0 && !perp_nonsmooth_find(&w->ns, k, h, s->v, s->v, 0)) return k->reason;
    perp_reason reason = moreau_jean_solve(w, t, h);
    if (reason < 0) return reason;
    if (w->o.projection == PROJECTION_NONE) break;
    reason = moreau_jean_project(w, t + h, h);
    if (reason < 0) return reason;
    if (w->o.projection == PROJECTION_DIRECT || sets == SETS ||
        perp_nonsmooth_add(&w->ns, k, w->closed, w->n_closed, PROJECTED * w->ns.size, s->v1) == 0)
      return PERP_EXACT;
  }
  perp_constrained_at(k, t + h, s->q1);
  perp_constrained_error(k, w->room);
  k->drift = perp_worst(model->m, w->room);
  return PERP_EXACT;
}

/* ---- descriptor ---- */

static void moreau_jean_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  perp_stepper_layout(&work->s, arena);
  perp_nonsmooth_layout(&work->ns, arena);
  perp_eval_layout(&work->end, model, arena);
  PERP_DOUBLES(arena, model->nq, &work->q_m);
  PERP_DOUBLES(arena, model->nv, &work->f0, &work->f1, &work->u, &work->dv);
  PERP_DOUBLES(arena, model->m, &work->room);
}

static void moreau_jean_destroy(void *ws)
{
  workspace *work = ws;
  if (work == NULL) return;
  perp_contact_post_destroy(work->post);
  free(work->pressed);
  perp_nonsmooth_close(&work->ns);
  perp_stepper_destroy(work);
}

/* The projection is that of post-stabilization, without its velocities. */
static perp_status moreau_jean_post(perp_ctx *ctx, workspace *work, const perp_parts *parts)
{
  const perp_model *model = work->s.k.model;
  if (model->n_shapes == 0 || work->o.projection == PROJECTION_NONE) return PERP_OK;
  const perp_contact_post_setup setup = { .tol = PERP_CONTACT_TOL,
                                          .tol_data = PERP_CONTACT_TOL_DATA,
                                          .budget = work->o.contact.budget,
                                          .size = work->ns.size,
                                          .threads = 1 };
  perp_parts with = *parts;
  with.stab = (perp_spec){ 0 };
  const perp_stab_desc *stab;
  void *stab_ws = NULL;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_stab, "post", &with.stab));
  perp_status status = perp_contact_stab(ctx, &with, &stab, &stab_ws);
  if (status == PERP_OK)
    status = perp_contact_post_create(ctx, model, &with, stab, stab_ws, &setup, &work->post);
  if (stab_ws != NULL) stab->destroy(stab_ws);
  perp_spec_free(&with.stab);
  return status;
}

static perp_status moreau_jean_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                      double h, void **ws)
{
  workspace like = { .s.make_step = moreau_jean_make_step,
                     .o = *(const opts *)parts->formulation.opts };
  *ws = NULL;
  like.ns.model = model;
  like.ns.o = like.o.contact;
  PERP_TRY(perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, moreau_jean_layout, ws));
  workspace *work = *ws;
  perp_eval_init(&work->end, model);
  perp_status status = perp_nonsmooth_open(ctx, &work->ns, parts);
  if (status == PERP_OK) status = moreau_jean_post(ctx, work, parts);
  if (status == PERP_OK) return PERP_OK;
  moreau_jean_destroy(work);
  *ws = NULL;
  return status;
}

static perp_status moreau_jean_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                       const double *v)
{
  workspace *work = ws;
  perp_nonsmooth_restart(&work->ns);
  if (work->post != NULL) perp_contact_post_restart(work->post);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

const perp_formulation_desc perp_formulation_moreau_jean = {
  .d = { .name = "moreau-jean",
         .summary = "Moreau's and Jean's theta-scheme: predicted contacts, Newton's law on "
                    "velocities; order 2 between events, 1 across them",
         .reference = "Moreau 1988; Jean 1999; Acary & Brogliato 2008, section 10.1; projection: "
                      "Acary 2013",
         .equation =
             "M (v+ - v) = h f_theta + J' lambda,  q+ = q [+] h (theta v+ + (1 - theta) v), "
             " 0 <= lambda_n perp n.(v+ + e v) >= 0 where g(q [+] gamma h v) <= 0",
         PERP_OPTIONS(options, opts),
         .caps = PERP_FORM_BREAKS | PERP_FORM_USES_KKT | PERP_FORM_USES_LCP | PERP_FORM_CONTACTS |
                 PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_SERVOS |
                 PERP_FORM_FORCES_MIDDLE },
  .create = moreau_jean_create,
  .restart = moreau_jean_restart,
  .destroy = moreau_jean_destroy,
  PERP_NONSMOOTH_CALLS,
};
