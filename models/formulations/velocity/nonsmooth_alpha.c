/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nonsmooth generalized-alpha method (Chen, Acary, Virlez and Bruels 2013): forces by
 * generalized-alpha, impulses of joints and contacts by the backward Euler rule.  The velocity is
 * split into a smooth part and the jump w,
 *
 *      M v'1 = f(t1, q1, v1),      (1 - alpha_m) a1 + alpha_m a0 = (1 - alpha_f) v'1 + alpha_f v'0,
 *      v1 = v0 + (1 - gamma) h a0 + gamma h a1 + w,      M w = J' lambda + J_c' lambda_c,
 *      q1 = q0 [+] (h v0 + (1/2 - beta) h^2 a0 + beta h^2 a1 + h/2 w),
 *      J(q1) v1 + C_t = 0,      0 <= lambda_n  perp  n . J_c (v1 + e v0) >= 0   where g(q_p) <= 0.
 *
 * Gaps are predicted at q_p, the free motion after the whole step, as in the paper.  The
 * directions J' and J_c' of reactions are those in the middle of the step; reactions = end has them
 * at its end, as the paper: the velocity of the start is then projected onto the tangent of the
 * end, which takes the part (h |v| / length)^2 of the energy from what turns about a joint in a
 * step, an error of order 1.
 *
 * rho is the spectral radius at infinity of Chung and Hulbert 1993: alpha_m = (2 rho - 1) / (rho +
 * 1), alpha_f = rho / (rho + 1), gamma = 1/2 + alpha_f - alpha_m, beta = (gamma + 1/2)^2 / 4.
 *
 * Neither gaps nor joints are in the equations on positions: what is off stays off (nonsmooth.h).
 * [+] is the exponential map with angular velocities in the body frame.  The forces at the end are
 * found by repeated solves with one factor and Anderson's method, as those of moreau-jean, and not
 * by Newton's method as in the paper.  Order 2 between events, 1 across them.
 *
 * No allocation but for more contacts than ever.  Cost per step: a factorization, a detection, and
 * for each pass an evaluation, a solve and a problem of contacts. */
#include "models/formulations/velocity/nonsmooth.h"

#include "models/multibody/servos.h"

#include <string.h>

enum { REACTIONS_MIDDLE, REACTIONS_END };
static const char *const reactions[] = { "middle", "end", NULL };

typedef struct opts {
  perp_nonsmooth_opts contact; /* first */
  double rho, tol;
  int iterations, reactions;
} opts;
static const perp_opt options[] = {
  PERP_REAL(opts, rho, 0.9, 0, 1, 0, "",
            "Spectral radius at infinite frequency; 1 is no numerical dissipation."),
  PERP_ENUM(opts, reactions, REACTIONS_MIDDLE, reactions,
            "Place of the directions of reactions. middle: of the step, order 2 with joints. end: "
            "order 1, as in the paper."),
  PERP_REAL(opts, tol, 1e-12, 0, HUGE_VAL, PERP_OPEN_MIN, "",
            "Tolerance of the iteration: last change of the positions at the end of the step, "
            "relative to the size of the model."),
  PERP_INT(opts, iterations, 50, 1, 1000, "Largest number of passes of a step."),
  PERP_NONSMOOTH_OPTIONS,
  PERP_OPTIONS_END
};

typedef struct workspace {
  perp_stepper s;    /* first */
  perp_nonsmooth ns; /* second */
  opts o;
  double alpha_m, alpha_f, beta, gamma;
  perp_eval end;      /* at q1 */
  double *q_p;        /* [nq] */
  double *rate, *a;   /* [nv] v' and a at the start */
  double *rate1, *a1; /* [nv] at the end */
  double *smooth, *f; /* [nv] v1 without the jump; forces */
  double *u, *dv;     /* [nv] estimate of v1, scratch */
  double *room;       /* [m] */
  bool begun;         /* rate and a are known */
} workspace;

/* ---- the step ---- */

/* rate = M^-1 f at (t, v), e at its positions */
static void nonsmooth_alpha_rate(workspace *work, const perp_eval *e, double t, const double *v,
                                 double *force, double *rate)
{
  perp_eval_forces(e, work->s.k.model, t, v, true, work->f);
  perp_servos_apply(work->s.k.model, e, t, v, force, work->f);
  perp_blocks_Minv(&e->blocks, work->f, rate);
  work->s.grid.count.rhs++;
}

/* q1 from the estimate u of v1, with a1 and w->smooth. */
static void nonsmooth_alpha_end(workspace *w, double h)
{
  const perp_model *model = w->s.k.model;
  for (int i = 0; i < model->nv; i++)
    w->dv[i] = h * w->s.v[i] + h * h * ((0.5 - w->beta) * w->a[i] + w->beta * w->a1[i]) +
               h / 2 * (w->u[i] - w->smooth[i]);
  perp_model_retract(model, w->s.q, w->dv, w->s.q1);
}

/* a1, the smooth v1 and then v1 in k->a; k is at q_p, w->end at the estimate. */
static bool nonsmooth_alpha_pass(workspace *w, double t_end, double h, bool first)
{
  perp_constrained *k = &w->s.k;
  nonsmooth_alpha_rate(w, &w->end, t_end, w->u, w->s.servo, w->rate1);
  for (int i = 0; i < k->model->nv; i++) {
    w->a1[i] = ((1 - w->alpha_f) * w->rate1[i] + w->alpha_f * w->rate[i] - w->alpha_m * w->a[i]) /
               (1 - w->alpha_m);
    w->smooth[i] = w->s.v[i] + h * ((1 - w->gamma) * w->a[i] + w->gamma * w->a1[i]);
  }
  perp_blocks_M(&k->e->blocks, w->smooth, k->f);
  perp_nonsmooth_joints(k, &w->end, t_end, first ? NULL : w->u, w->room);
  return perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, w->s.v) &&
         perp_nonsmooth_solve(&w->ns, k, h, w->s.v);
}

static void nonsmooth_alpha_begin(workspace *work, double t)
{
  const size_t size = (size_t)work->s.k.model->nv * sizeof *work->a;
  perp_eval_at(&work->end, work->s.k.model, t, work->s.q);
  nonsmooth_alpha_rate(work, &work->end, t, work->s.v, NULL, work->rate);
  memcpy(work->a, work->rate, size);
  work->begun = true;
}

static perp_reason nonsmooth_alpha_make_step(perp_stepper *s, double t, double h)
{
  workspace *w = (workspace *)s;
  perp_constrained *k = &s->k;
  const perp_model *model = k->model;
  const double part = w->o.reactions == REACTIONS_END ? h : h / 2;
  const size_t size = (size_t)model->nv * sizeof *w->u;
  if (!perp_constrained_signals(k, t) || !perp_constrained_signals(k, t + h)) return k->reason;
  if (!w->begun) nonsmooth_alpha_begin(w, t);
  for (int i = 0; i < model->nv; i++) w->dv[i] = part * (s->v[i] + part / 2 * w->a[i]);
  perp_model_retract(model, s->q, w->dv, w->q_p);
  perp_constrained_at(k, t + part, w->q_p);
  for (int i = 0; i < model->nv; i++) w->u[i] = s->v[i] + h / 2 * w->a[i];
  if (!perp_nonsmooth_find(&w->ns, k, h, s->v, w->u, h - part)) return k->reason;
  memcpy(w->u, s->v, size);
  memcpy(w->smooth, s->v, size);
  memcpy(w->a1, w->a, size);
  nonsmooth_alpha_end(w, h);
  for (int pass = 1;; pass++) {
    perp_eval_at(&w->end, model, t + h, s->q1);
    if (!nonsmooth_alpha_pass(w, t + h, h, pass == 1)) return k->reason;
    for (int i = 0; i < model->nv; i++) {
      w->dv[i] = k->a[i] - w->u[i];
      w->u[i] = k->a[i];
    }
    const perp_reason reason = perp_nonsmooth_pass(&w->ns, pass, h, w->s.v, w->dv, w->u, w->o.tol,
                                                   w->o.iterations);
    if (reason < 0) return reason;
    nonsmooth_alpha_end(w, h);
    if (reason == PERP_EXACT) break;
    s->grid.count.iterations++;
  }
  memcpy(s->v1, w->u, size);
  memcpy(w->a, w->a1, size);
  memcpy(w->rate, w->rate1, size);
  for (int i = 0; i < model->m; i++) s->lambda[i] = k->lambda[i] / h;
  perp_constrained_at(k, t + h, s->q1);
  perp_constrained_error(k, w->room);
  k->drift = perp_worst(model->m, w->room);
  return PERP_EXACT;
}

/* ---- descriptor ---- */

static void nonsmooth_alpha_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  perp_stepper_layout(&work->s, arena);
  perp_nonsmooth_layout(&work->ns, arena);
  perp_eval_layout(&work->end, model, arena);
  PERP_DOUBLES(arena, model->nq, &work->q_p);
  PERP_DOUBLES(arena, model->nv, &work->rate, &work->a, &work->rate1, &work->a1, &work->smooth,
               &work->f, &work->u, &work->dv);
  PERP_DOUBLES(arena, model->m, &work->room);
}

static void nonsmooth_alpha_destroy(void *ws)
{
  workspace *work = ws;
  if (work == NULL) return;
  perp_nonsmooth_close(&work->ns);
  perp_stepper_destroy(work);
}

static perp_status nonsmooth_alpha_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                          double h, void **ws)
{
  workspace like = { .s.make_step = nonsmooth_alpha_make_step,
                     .o = *(const opts *)parts->formulation.opts };
  const double rho = like.o.rho;
  *ws = NULL;
  like.alpha_m = (2 * rho - 1) / (rho + 1);
  like.alpha_f = rho / (rho + 1);
  like.gamma = 0.5 + like.alpha_f - like.alpha_m;
  like.beta = (like.gamma + 0.5) * (like.gamma + 0.5) / 4;
  like.ns.model = model;
  like.ns.o = like.o.contact;
  PERP_TRY(
      perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, nonsmooth_alpha_layout, ws));
  workspace *w = *ws;
  perp_eval_init(&w->end, model);
  const perp_status status = perp_nonsmooth_open(ctx, &w->ns, parts);
  if (status == PERP_OK) return PERP_OK;
  nonsmooth_alpha_destroy(w);
  *ws = NULL;
  return status;
}

static perp_status nonsmooth_alpha_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                           const double *v)
{
  workspace *w = ws;
  w->begun = false;
  perp_nonsmooth_restart(&w->ns);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

const perp_formulation_desc perp_formulation_nonsmooth_alpha = {
  .d = { .name = "nonsmooth-alpha",
         .summary = "Nonsmooth generalized-alpha: impulses by backward Euler, Newton's law on "
                    "velocities; order 2 between events, 1 across them",
         .reference = "Chen, Acary, Virlez & Bruels 2013",
         .equation = "v+ = v + h ((1 - gamma) a + gamma a+) + w,  M w = J' lambda,  q+ = q [+] (h "
                     "v + (1/2 - beta) h^2 a + beta h^2 a+ + h/2 w)",
         PERP_OPTIONS(options, opts),
         .caps = PERP_FORM_BREAKS | PERP_FORM_USES_KKT | PERP_FORM_USES_LCP | PERP_FORM_CONTACTS |
                 PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_SERVOS |
                 PERP_FORM_FORCES_MIDDLE },
  .create = nonsmooth_alpha_create,
  .restart = nonsmooth_alpha_restart,
  .destroy = nonsmooth_alpha_destroy,
  PERP_NONSMOOTH_CALLS,
};
