/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints that break (van Overveld and Barenbrug 1995, section 4: "if we impose a threshold value on
 * the applied PTP-forces, it is straightforward to have objects break apart").
 *
 * F = |J_b' lambda|, the force of the joint on its body b, passes its threshold N.
 *   - Where the formulation has dense output with multipliers (acceleration level without
 * contacts), F(t) is that of the state at t.  If F > N at the end of the step, the time at which F
 * = N is searched for in the dense output, and the step is made again up to there: the error of the
 * time is of the order of the method.
 *   - Elsewhere F is what the step reports: on the velocity level its mean, contact impulses
 * included.  The joint transmits it, and is released at the end of the step.  The time is off by a
 * step at most, and a force that lasts less than a step (an impact) counts by its impulse / h.
 *
 * The order of the numbering decides between joints that break in one step; the other ones follow
 * in the steps that come, or at once where they break at the end of a step.  The formulation has to
 * report forces. */
#include "models/contact/step/switches_private.h"

#include <string.h>

/* The joint whose force is most beyond its threshold, relative to it, at the poses of k->e; its
 * force. */
static int strain_weakest(const perp_switches *k, const double *lambda, double *force)
{
  int joint = -1;
  double most = 1;
  for (int i = 0; i < k->view.n_joints; i++) {
    const double strength = k->view.joint_def[i].strength;
    if (!(strength > 0) || k->released[i]) continue;
    const double F = perp_model_joint_force(&k->view, &k->e.blocks, i, lambda);
    if (!(F > most * strength)) continue;
    most = F / strength;
    *force = F;
    joint = i;
  }
  return joint;
}

/* The same at t in the step that was made, by its dense output; false: it has none. */
static bool strain_dense(perp_ctx *ctx, perp_switches *k, void *ws, double t, int *joint,
                         double *force)
{
  if (k->form->dense == NULL ||
      k->form->dense(ctx, ws, t, k->q_dense, k->v_dense, k->lambda_dense) != PERP_OK)
    return false;
  for (int i = 0; i < k->view.m; i++)
    if (!isfinite(k->lambda_dense[i])) return false;
  perp_eval_at(&k->e, &k->view, t, k->q_dense);
  *joint = strain_weakest(k, k->lambda_dense, force);
  return true;
}

/* The first time in (0, hi] after the start at which a threshold is passed, to rounding, by
 * bisection: forces of several joints have a kink where the first one changes. */
static double strain_when(perp_ctx *ctx, perp_switches *k, void *ws, double hi, int *joint,
                          double *force)
{
  double lo = 0;
  for (int i = 0; i < PERP_SWITCH_SEARCH; i++) {
    const double at = (lo + hi) / 2;
    int first;
    double F;
    if (!(at > lo && at < hi)) break;
    if (!strain_dense(ctx, k, ws, k->t + at, &first, &F)) break;
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

static void strain_break(perp_switches *k, int joint, double t, double force)
{
  k->released[joint] = true;
  perp_switches_note(
      k,
      (perp_release){
          .kind = PERP_RELEASE_BROKE, .joint = joint, .t = t, .s = (double)NAN, .force = force });
}

perp_status perp_switches_strain(perp_ctx *ctx, perp_switches *k, void *ws, perp_step_info *info)
{
  double now, force = 0;
  const double *q, *v;
  int joint;
  k->form->state(ws, &now, &q, &v);
  if (!(now > k->t)) return PERP_OK;
  if (strain_dense(ctx, k, ws, now, &joint, &force)) {
    if (joint < 0) return PERP_OK;
    const double at = strain_when(ctx, k, ws, now - k->t, &joint, &force);
    PERP_TRY(perp_switches_again(ctx, k, ws, k->t + at, info, &now, &q, &v));
    if (info->reason < 0) return PERP_OK;
    strain_break(k, joint, now, force);
    return perp_switches_from_here(ctx, k, ws, info);
  }
  if (info->lambda == NULL) return PERP_OK;
  const int before = k->n;
  perp_eval_at(&k->e, &k->view, k->t, k->q);
  memcpy(k->lambda_told, info->lambda, (size_t)k->view.m * sizeof *k->lambda_told);
  while ((joint = strain_weakest(k, k->lambda_told, &force)) >= 0)
    strain_break(k, joint, now, force);
  if (k->n == before) return PERP_OK;
  const double drift = info->drift_pos_pre;
  PERP_TRY(perp_switches_from_here(ctx, k, ws, info));
  info->drift_pos_pre = drift;
  info->lambda = k->lambda_told;
  return PERP_OK;
}
