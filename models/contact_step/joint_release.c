/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints that hold no more: points that leave their curves (van Overveld and Barenbrug 1995, section 2.6: "the PTC
 * constraint is cancelled"), and joints that break (section 4: "if we impose a threshold value on the applied PTP-forces, it
 * is straightforward to have objects break apart").
 *
 * A curve: after each step the place s of each point on its curve is looked at.  Where one is beyond the end, the step is
 * made again from its start, shorter, until the point is at the end to 1e-9 of the domain (Illinois variant of the rule of
 * false position).
 *
 * A joint that breaks: F = |J_b' lambda|, the force on its body b, passes its threshold N.
 *   - Where the formulation has dense output with multipliers (acceleration level without contacts), F(t) is that of the
 *     state at t.  If F > N at the end of the step, the time at which F = N is searched for in the dense output, and the
 *     step is made again up to there: the error of the time is of the order of the method.
 *   - Elsewhere F is what the step reports: on the velocity level its mean, contact impulses included.  The joint transmits
 *     it, and is released at the end of the step.  The time is off by a step at most, and a force that lasts less than a
 *     step (an impact) counts by its impulse / h.
 *
 * Then the rows of the joint become J = 0, C = 0, S = 1, and the formulation restarts there.  The order of the numbering
 * decides between joints that are released in one step; the other ones follow in the steps that come, or at once where
 * they break at the end of a step.  A released joint stays released.
 *
 * Multistep methods lose their history, at the event and in the search; counters that restart clears begin
 * anew.  Any formulation can serve curves that has its rows from the model; for breaking it has to report forces, too. */
#include "models/contact_step/joint_release.h"
#include "models/multibody/model_private.h"
#include "models/stepping/constrained.h"

#include <stdlib.h>
#include <string.h>

enum { SEARCH = 60 };

struct perp_joint_release {
  perp_model view;
  const perp_formulation_desc *form;
  bool breaks;                /* is there a joint with a threshold? */
  bool *released;             /* [joints] */
  int *drop_row, *drop_joint; /* [m] rows of released joints */
  perp_dropped dropped;       /* these */
  double *softness;           /* [m] of the view */
  perp_release *release;      /* [joints] */
  int n;
  double *q, *v; /* start of the step */
  double t;
  double *q_dense, *v_dense, *lambda_dense; /* at a time of the step */
  double *lambda;                           /* [m] as reported, of a step in which a joint broke */
};

static void joint_release_layout(void *ws, perp_arena *a)
{
  perp_joint_release *k = ws;
  const perp_model *m = &k->view;
  k->released = PERP_CARVE(a, bool, m->n_joints);
  PERP_INTS(a, m->m, &k->drop_row, &k->drop_joint);
  k->softness = PERP_CARVE(a, double, m->m);
  k->release = PERP_CARVE(a, perp_release, m->n_joints);
  PERP_DOUBLES(a, m->nq, &k->q, &k->q_dense);
  PERP_DOUBLES(a, m->nv, &k->v, &k->v_dense);
  PERP_DOUBLES(a, m->m, &k->lambda_dense, &k->lambda);
  perp_eval_layout(&k->view.eval, m, a);
}

static bool joint_release_ends(const perp_model *m, int joint)
{
  double lower, upper;
  if (m->curve[joint] == NULL) return false;
  perp_curve_domain(m->curve[joint], &lower, &upper);
  return isfinite(lower) || isfinite(upper);
}

perp_status perp_joint_release_create(perp_ctx *ctx, perp_model *model,
                                      const perp_formulation_desc *form, perp_model **view,
                                      perp_joint_release **out)
{
  *out = NULL;
  *view = model;
  int n = 0, breaking = 0;
  for (int i = 0; i < model->n_joints; i++) {
    n += joint_release_ends(model, i);
    breaking += model->joint_def[i].strength > 0;
  }
  if (n + breaking == 0) return PERP_OK;
  if (form->d.caps & PERP_FORM_WRAPS)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "formulation %s does not support %s: use its inner formulation directly, or %s",
        form->d.name, n > 0 ? "curves with ends" : "joints that break",
        n > 0 ? "curves without ends" : "joints without `break`");
  perp_joint_release like = { .view = *model, .form = form, .breaks = breaking > 0 };
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, "joints that are released", &like, sizeof like,
                                 joint_release_layout, &ws));
  perp_joint_release *k = ws;
  perp_eval_init(&k->view.eval, &k->view);
  k->dropped = (perp_dropped){ .row = k->drop_row, .joint = k->drop_joint };
  k->view.released = k->released;
  k->view.dropped = &k->dropped;
  k->view.softness = k->softness;
  perp_joint_release_restart(k);
  *view = &k->view;
  *out = k;
  return PERP_OK;
}

void perp_joint_release_destroy(perp_joint_release *k)
{
  free(k);
}

void perp_joint_release_restart(perp_joint_release *k)
{
  const perp_model *m = &k->view;
  k->n = k->dropped.n = 0;
  k->dropped.set++;
  for (int i = 0; i < m->n_joints; i++) {
    k->released[i] = false;
    for (int row = m->cptr[i]; row < m->cptr[i + 1]; row++)
      k->softness[row] = m->joint_def[i].softness;
  }
}

/* The joint has no rows from now on; restart the formulation afterwards. */
static void joint_release_let_go(perp_joint_release *k, perp_release what)
{
  const perp_model *m = &k->view;
  k->release[k->n++] = what;
  k->released[what.joint] = true;
  for (int row = m->cptr[what.joint]; row < m->cptr[what.joint + 1]; row++) {
    k->softness[row] = 1;
    k->drop_row[k->dropped.n] = row;
    k->drop_joint[k->dropped.n++] = what.joint;
  }
  k->dropped.set++;
}

/* From the start of the step to t. */
static perp_status joint_release_again(perp_ctx *ctx, perp_joint_release *k, void *ws, double t,
                                       perp_step_info *info, double *now, const double **q,
                                       const double **v)
{
  PERP_TRY(k->form->restart(ctx, ws, k->t, k->q, k->v));
  k->form->state(ws, now, q, v);
  while (*now < t) {
    *info = (perp_step_info){ .reason = PERP_EXACT, .drift_pos_pre = (double)NAN };
    PERP_TRY(k->form->step(ctx, ws, t, info));
    k->form->state(ws, now, q, v);
    if (info->reason < 0) return PERP_OK;
  }
  return PERP_OK;
}

/* The formulation goes on from its state, without what was released. */
static perp_status joint_release_go_on(perp_ctx *ctx, perp_joint_release *k, void *ws)
{
  double now;
  const double *q, *v;
  k->form->state(ws, &now, &q, &v);
  memcpy(k->q, q, (size_t)k->view.nq * sizeof *q);
  memcpy(k->v, v, (size_t)k->view.nv * sizeof *v);
  return k->form->restart(ctx, ws, now, k->q, k->v);
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* how far the point is beyond the end of its curve, < 0 inside */
static double joint_release_beyond(const perp_joint_release *k, const double *q, int joint,
                                   double *s)
{
  *s = perp_model_curve_place(&k->view, q, joint);
  return perp_curve_beyond(k->view.curve[joint], *s);
}

static int first_beyond(const perp_joint_release *k, const double *q)
{
  double s;
  for (int i = 0; i < k->view.n_joints; i++)
    if (!k->released[i] && joint_release_ends(&k->view, i) && joint_release_beyond(k, q, i, &s) > 0)
      return i;
  return -1;
}

static perp_status joint_release_leave(perp_ctx *ctx, perp_joint_release *k, void *ws, int joint,
                                       perp_step_info *info)
{
  double now, s, lower, upper;
  const double *q, *v;
  perp_curve_domain(k->view.curve[joint], &lower, &upper);
  k->form->state(ws, &now, &q, &v);
  const double size = isfinite(upper - lower) ? upper - lower
                                              : fmax(1, fabs(isfinite(lower) ? lower : upper));
  double lo = 0, hi = now - k->t, g_hi = joint_release_beyond(k, q, joint, &s),
         g_lo = joint_release_beyond(k, k->q, joint, &s);
  double g = g_hi, last = 0;
  for (int i = 0; i < SEARCH && !(g >= 0 && g <= 1e-9 * size); i++) {
    double at = g_hi > g_lo ? hi - g_hi * (hi - lo) / (g_hi - g_lo) : (lo + hi) / 2;
    if (!(at > lo && at < hi) || i % 8 == 7) at = (lo + hi) / 2;
    if (!(at > lo && at < hi)) break; /* neighbours in double precision */
    PERP_TRY(joint_release_again(ctx, k, ws, k->t + at, info, &now, &q, &v));
    if (info->reason < 0) return PERP_OK;
    g = joint_release_beyond(k, q, joint, &s);
    if (g >= 0) {
      hi = at, g_hi = g;
      if (last > 0) g_lo /= 2;
      last = 1;
    } else {
      lo = at, g_lo = g;
      if (last < 0) g_hi /= 2;
      last = -1;
    }
  }
  if (g < 0) {
    PERP_TRY(joint_release_again(ctx, k, ws, k->t + hi, info, &now, &q, &v));
    if (info->reason < 0) return PERP_OK;
  }
  joint_release_beyond(k, q, joint, &s);
  joint_release_let_go(k, (perp_release){ .joint = joint, .t = now, .s = s });
  const perp_reason reason = info->reason;
  *info = (perp_step_info){ .reason = reason, .drift_pos_pre = (double)NAN };
  return joint_release_go_on(ctx, k, ws);
}

/* ---- thresholds ------------------------------------------------------------------------------ */

/* The joint whose force is most beyond its threshold, relative to it, at the poses of the view; its force. */
static int joint_release_weakest(const perp_joint_release *k, const double *lambda, double *force)
{
  int joint = -1;
  double most = 1;
  for (int i = 0; i < k->view.n_joints; i++) {
    const double strength = k->view.joint_def[i].strength;
    if (!(strength > 0) || k->released[i]) continue;
    const double F = perp_model_joint_force(&k->view, &k->view.eval.blocks, i, lambda);
    if (!(F > most * strength)) continue;
    most = F / strength;
    *force = F;
    joint = i;
  }
  return joint;
}

/* The same at t in the step that was made, by its dense output; false: it has none. */
static bool joint_release_dense(perp_ctx *ctx, perp_joint_release *k, void *ws, double t,
                                int *joint, double *force)
{
  if (k->form->dense == NULL ||
      k->form->dense(ctx, ws, t, k->q_dense, k->v_dense, k->lambda_dense) != PERP_OK)
    return false;
  if (!perp_all_finite(k->view.m, k->lambda_dense)) return false;
  perp_eval_at(&k->view.eval, &k->view, t, k->q_dense);
  *joint = joint_release_weakest(k, k->lambda_dense, force);
  return true;
}

/* The first time in (0, hi] after the start at which a threshold is passed, to rounding, by bisection: forces of several
 * joints have a kink where the first one changes. */
static double joint_release_when(perp_ctx *ctx, perp_joint_release *k, void *ws, double hi,
                                 int *joint, double *force)
{
  double lo = 0;
  for (int i = 0; i < SEARCH; i++) {
    const double at = (lo + hi) / 2;
    int first;
    double F;
    if (!(at > lo && at < hi)) break;
    if (!joint_release_dense(ctx, k, ws, k->t + at, &first, &F)) break;
    if (first >= 0) {
      hi = at;
      *joint = first;
      *force = F;
    } else {
      lo = at;
    }
  }
  return hi;
}

/* A joint breaks within the step, at a state that dense output has. */
static perp_status joint_release_break(perp_ctx *ctx, perp_joint_release *k, void *ws, double end,
                                       int joint, double force, perp_step_info *info)
{
  double now;
  const double *q, *v;
  const double at = joint_release_when(ctx, k, ws, end - k->t, &joint, &force);
  PERP_TRY(joint_release_again(ctx, k, ws, k->t + at, info, &now, &q, &v));
  if (info->reason < 0) return PERP_OK;
  const perp_reason reason = info->reason;
  *info = (perp_step_info){ .reason = reason, .drift_pos_pre = (double)NAN };
  joint_release_let_go(k, (perp_release){ joint, now, (double)NAN, force });
  return joint_release_go_on(ctx, k, ws);
}

/* After a step from k->q to now: joints whose threshold is passed. */
static perp_status joint_release_strain(perp_ctx *ctx, perp_joint_release *k, void *ws,
                                        perp_step_info *info)
{
  double now, force = 0;
  const double *q, *v;
  int joint;
  k->form->state(ws, &now, &q, &v);
  if (joint_release_dense(ctx, k, ws, now, &joint, &force))
    return joint < 0 ? PERP_OK : joint_release_break(ctx, k, ws, now, joint, force, info);
  if (info->lambda == NULL) return PERP_OK;
  const int before = k->n;
  perp_eval_at(&k->view.eval, &k->view, k->t, k->q);
  memcpy(k->lambda, info->lambda, (size_t)k->view.m * sizeof *k->lambda);
  while ((joint = joint_release_weakest(k, k->lambda, &force)) >= 0)
    joint_release_let_go(k, (perp_release){ joint, now, (double)NAN, force });
  if (k->n == before) return PERP_OK;
  const perp_reason reason = info->reason;
  const double drift = info->drift_pos_pre;
  *info = (perp_step_info){ .reason = reason, .drift_pos_pre = drift, .lambda = k->lambda };
  return joint_release_go_on(ctx, k, ws);
}

/* ---- step ------------------------------------------------------------------------------------ */

perp_status perp_joint_release_step(perp_ctx *ctx, perp_joint_release *k, void *ws, double t_max,
                                    perp_step_info *info)
{
  double now;
  const double *q, *v;
  k->form->state(ws, &k->t, &q, &v);
  memcpy(k->q, q, (size_t)k->view.nq * sizeof *q);
  memcpy(k->v, v, (size_t)k->view.nv * sizeof *v);
  perp_status status = k->form->step(ctx, ws, t_max, info);
  if (status == PERP_OK && info->reason >= 0) {
    k->form->state(ws, &now, &q, &v);
    const int joint = first_beyond(k, q);
    if (joint >= 0)
      status = joint_release_leave(ctx, k, ws, joint, info);
    else if (k->breaks && now > k->t)
      status = joint_release_strain(ctx, k, ws, info);
  }
  info->n_releases = k->n;
  info->release = k->release;
  info->released = k->released;
  return status;
}
