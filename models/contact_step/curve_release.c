/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points that leave their curves (van Overveld & Barenbrug 1995, section 2.6: "the PTC constraint is cancelled").
 *
 * After each step the place s of each point on its curve is looked at.  Where one is beyond the end, the step is
 * made again from its start, shorter, until the point is at the end to 1e-9 of the domain (Illinois variant of
 * the rule of false position); then the rows of the joint become J = 0, C = 0, S = 1, and the formulation
 * restarts there.  The order of the numbering decides between points that leave in one step; the other ones
 * leave in the steps that follow.  A released joint stays released.
 *
 * Multistep methods lose their history, at the event and in the search; counters that restart clears begin
 * anew.  Any formulation can serve that has its rows from the model. */
#include "models/contact_step/curve_release.h"
#include "models/multibody/model_private.h"

#include <stdlib.h>
#include <string.h>

enum { SEARCH = 60 };

struct perp_curve_release {
  perp_model view;
  const perp_formulation_desc *form;
  bool *released;        /* [joints] */
  double *softness;      /* [m] of the view */
  perp_release *release; /* [joints] */
  int n;
  double *q, *v; /* start of the step */
  double t;
};

static void curve_release_layout(void *ws, perp_arena *a)
{
  perp_curve_release *k = ws;
  const perp_model *m = &k->view;
  k->released = PERP_CARVE(a, bool, m->n_joints);
  k->softness = PERP_CARVE(a, double, m->m);
  k->release = PERP_CARVE(a, perp_release, m->n_joints);
  k->q = PERP_CARVE(a, double, m->nq);
  k->v = PERP_CARVE(a, double, m->nv);
}

static bool curve_release_ends(const perp_model *m, int joint)
{
  double lower, upper;
  if (m->curve[joint] == NULL) return false;
  perp_curve_domain(m->curve[joint], &lower, &upper);
  return isfinite(lower) || isfinite(upper);
}

perp_status perp_curve_release_create(perp_ctx *ctx, perp_model *model,
                                      const perp_formulation_desc *form, perp_model **view,
                                      perp_curve_release **out)
{
  *out = NULL;
  *view = model;
  int n = 0;
  for (int i = 0; i < model->n_joints; i++) n += curve_release_ends(model, i);
  if (n == 0) return PERP_OK;
  if (form->d.caps & PERP_FORM_WRAPS)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "formulation %s does not support curves with ends: use its inner formulation "
                     "directly, or curves without ends",
                     form->d.name);
  perp_curve_release like = { .view = *model, .form = form };
  void *ws;
  PERP_TRY(
      perp_workspace_create(ctx, "curves that end", &like, sizeof like, curve_release_layout, &ws));
  perp_curve_release *k = ws;
  k->view.released = k->released;
  k->view.softness = k->softness;
  k->view.soft = true;
  perp_curve_release_restart(k);
  *view = &k->view;
  *out = k;
  return PERP_OK;
}

void perp_curve_release_destroy(perp_curve_release *k)
{
  free(k);
}

void perp_curve_release_restart(perp_curve_release *k)
{
  const perp_model *m = &k->view;
  k->n = 0;
  for (int i = 0; i < m->n_joints; i++) {
    k->released[i] = false;
    for (int row = m->cptr[i]; row < m->cptr[i + 1]; row++)
      k->softness[row] = m->joint_def[i].softness;
  }
}

/* how far the point is beyond the end of its curve, < 0 inside */
static double curve_release_beyond(const perp_curve_release *k, const double *q, int joint,
                                   double *s)
{
  *s = perp_model_curve_place(&k->view, q, joint);
  return perp_curve_beyond(k->view.curve[joint], *s);
}

static int first_beyond(const perp_curve_release *k, const double *q)
{
  double s;
  for (int i = 0; i < k->view.n_joints; i++)
    if (!k->released[i] && curve_release_ends(&k->view, i) && curve_release_beyond(k, q, i, &s) > 0)
      return i;
  return -1;
}

/* from the start of the step to t */
static perp_status curve_release_again(perp_ctx *ctx, perp_curve_release *k, void *ws, double t,
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

static perp_status curve_release_leave(perp_ctx *ctx, perp_curve_release *k, void *ws, int joint,
                                       perp_step_info *info)
{
  double now, s, lower, upper;
  const double *q, *v;
  perp_curve_domain(k->view.curve[joint], &lower, &upper);
  k->form->state(ws, &now, &q, &v);
  const double size = isfinite(upper - lower) ? upper - lower
                                              : fmax(1, fabs(isfinite(lower) ? lower : upper));
  double lo = 0, hi = now - k->t, g_hi = curve_release_beyond(k, q, joint, &s),
         g_lo = curve_release_beyond(k, k->q, joint, &s);
  double g = g_hi, last = 0;
  for (int i = 0; i < SEARCH && !(g >= 0 && g <= 1e-9 * size); i++) {
    double at = g_hi > g_lo ? hi - g_hi * (hi - lo) / (g_hi - g_lo) : (lo + hi) / 2;
    if (!(at > lo && at < hi) || i % 8 == 7) at = (lo + hi) / 2;
    if (!(at > lo && at < hi)) break; /* neighbours in double precision */
    PERP_TRY(curve_release_again(ctx, k, ws, k->t + at, info, &now, &q, &v));
    if (info->reason < 0) return PERP_OK;
    g = curve_release_beyond(k, q, joint, &s);
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
    PERP_TRY(curve_release_again(ctx, k, ws, k->t + hi, info, &now, &q, &v));
    if (info->reason < 0) return PERP_OK;
  }
  curve_release_beyond(k, q, joint, &s);
  k->release[k->n++] = (perp_release){ joint, now, s };
  k->released[joint] = true;
  for (int row = k->view.cptr[joint]; row < k->view.cptr[joint + 1]; row++) k->softness[row] = 1;
  memcpy(k->q, q, (size_t)k->view.nq * sizeof *q);
  memcpy(k->v, v, (size_t)k->view.nv * sizeof *v);
  const perp_reason reason = info->reason;
  *info = (perp_step_info){ .reason = reason, .drift_pos_pre = (double)NAN };
  return k->form->restart(ctx, ws, now, k->q, k->v);
}

perp_status perp_curve_release_step(perp_ctx *ctx, perp_curve_release *k, void *ws, double t_max,
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
    if (joint >= 0) status = curve_release_leave(ctx, k, ws, joint, info);
  }
  info->n_releases = k->n;
  info->release = k->release;
  info->released = k->released;
  return status;
}
