/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/step/switches_core.h"

#include <string.h>

/* ---- counters ---- */

perp_status perp_switches_restart_from(perp_ctx *ctx, perp_switches *switches, void *ws, double t,
                                       const double *q, const double *v)
{
  perp_stats kkt = { .reason = PERP_EXACT };
  const perp_contact_count *count = switches->form->contacts != NULL ? switches->form->contacts(ws)
                                                                     : NULL;
  if (count != NULL) perp_contact_count_add(&switches->before, count);
  switches->form->counters(ws, NULL, &kkt);
  perp_switches_count_before(switches, &kkt);
  switches->kkt_before = kkt;
  return switches->form->restart(ctx, ws, t, q, v);
}

void perp_switches_count_before(const perp_switches *switches, perp_stats *kkt)
{
  const perp_stats *stats = &switches->kkt_before;
  kkt->iterations += stats->iterations;
  kkt->factorizations += stats->factorizations;
  kkt->matvecs += stats->matvecs;
  kkt->fallbacks += stats->fallbacks;
  kkt->work += stats->work;
}

/* ---- which joints hold ---- */

/* Are its bodies all disabled, or the world? */
static bool switches_core_idle(const perp_switches *switches, int joint)
{
  int pair[2], n, held = 0;
  const int *body = perp_joint_bodies(&switches->view.joint_def[joint], pair, &n);
  for (int i = 0; i < n; i++) {
    if (body[i] >= 0 && !switches->held[body[i]]) return false;
    held += body[i] >= 0;
  }
  return held > 0;
}

/* Is it a joint of what has stopped? */
static bool switches_core_stopped(const perp_switches *switches, int joint)
{
  for (int i = 0; i < switches->view.stops.n; i++) {
    const perp_stop_range *of = &switches->view.stops.def[i].joints;
    if (switches->stopped[i] && joint >= of->first && joint < of->first + of->n) return true;
  }
  return false;
}

/* Rows of the joints that hold, and no others. */
void perp_switches_rows(perp_switches *switches)
{
  const perp_model *model = &switches->view;
  memset(switches->held, 0, (size_t)model->n_bodies * sizeof *switches->held);
  for (int i = 0; i < model->disabled.n; i++)
    if (switches->phase[i] == SWITCH_HOLDS) switches->held[model->disabled.def[i].body] = 1;
  switches->dropped.n = 0;
  switches->dropped.set++;
  for (int j = 0; j < model->n_joints; j++) {
    const int i = perp_model_joint_disabled(model, j);
    const bool ends = model->curve[j] != NULL || model->joint_def[j].strength > 0;
    const bool drop = switches_core_stopped(switches, j) || (ends && switches->released[j]) ||
                      (model->disabled.n > 0 && (i >= 0 ? switches->phase[i] != SWITCH_HOLDS
                                                        : switches_core_idle(switches, j)));
    for (int row = model->pattern.cptr[j]; row < model->pattern.cptr[j + 1]; row++) {
      const perp_row_soft *soft = &model->joint_def[j].row[row - model->pattern.cptr[j]];
      switches->softness[row] = drop ? 1 : model->joint_def[j].softness + soft->softness;
      if (!drop) continue;
      switches->drop_joint[switches->dropped.n] = j;
      switches->drop_row[switches->dropped.n++] = row;
    }
  }
}

/* The joint of a disabled body holds it where it is at q. */
void perp_switches_take_hold(perp_switches *switches, int i, const double *q)
{
  perp_model *model = &switches->view;
  const int j = perp_disabled_joint(model, i), body = model->disabled.def[i].body;
  const perp_joint *was = &switches->joint[j];
  perp_joint_def def = model->joint_def[j];
  perp_joint now;
  memcpy(def.anchor_a, q + model->nqb * body, (size_t)model->dim * sizeof *q);
  memset(switches->rows + (ptrdiff_t)PERP_JOINT_ROWS * i, 0,
         PERP_JOINT_ROWS * sizeof *switches->rows);
  perp_joint_compile(&def, model->dim, NULL, q + model->nqb * body,
                     switches->rows + (ptrdiff_t)PERP_JOINT_ROWS * i, &now);
  now.row = was->row;
  now.ja = was->ja;
  now.jb = was->jb;
  now.sub = was->sub;
  switches->joint[j] = now;
}

/* k->v after the stop of bodies that have just been disabled: M (v+ - v) = J' p, J v+ = 0. */
perp_status perp_switches_stop(perp_ctx *ctx, perp_switches *k)
{
  const perp_model *m = &k->view;
  bool moves = false;
  for (int b = 0; b < m->n_bodies; b++)
    for (int i = 0; i < m->nvb && k->held[b]; i++) moves |= k->v[m->nvb * b + i] != 0;
  if (!moves) return PERP_OK;
  perp_stats stats = { .reason = PERP_EXACT };
  perp_eval_at(&k->e, m, k->t, k->q);
  perp_blocks_M(&k->e.blocks, k->v, k->f);
  for (int i = 0; i < m->m; i++) k->c[i] = m->driven ? -k->e.Ct[i] : 0;
  memset(k->lambda, 0, (size_t)m->m * sizeof *k->lambda);
  if (k->kkt == NULL)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "a body that is disabled has a velocity, and the formulation has no KKT solver "
        "for its stop");
  PERP_TRY(perp_kkt_factor(ctx, k->kkt, &k->e.blocks, &stats));
  if (stats.reason >= 0)
    PERP_TRY(perp_kkt_solve(ctx, k->kkt, &k->e.blocks, k->f, k->c, k->a, k->lambda, &stats));
  if (stats.reason < 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "the stop of a disabled body at t = %g s is not solved: its joints contradict "
                     "each other; use another kkt (schur-svd)",
                     k->t);
  memcpy(k->v, k->a, (size_t)m->nv * sizeof *k->v);
  for (int b = 0; b < m->n_bodies; b++) /* exactly: rounding would move it */
    if (k->held[b]) memset(k->v + m->nvb * b, 0, (size_t)m->nvb * sizeof *k->v);
  return PERP_OK;
}

void perp_switches_note(perp_switches *switches, perp_release what)
{
  switches->release[switches->n++] = what;
}

/* ---- steps ---- */

perp_status perp_switches_again(perp_ctx *ctx, perp_switches *switches, void *ws, double t,
                                perp_step_info *info, double *now, const double **q,
                                const double **v)
{
  PERP_TRY(perp_switches_restart_from(ctx, switches, ws, switches->t, switches->q, switches->v));
  switches->form->state(ws, now, q, v);
  while (*now < t) {
    *info = (perp_step_info){ .reason = PERP_EXACT, .drift_pos_pre = (double)NAN };
    PERP_TRY(switches->form->step(ctx, ws, t, info));
    switches->form->state(ws, now, q, v);
    if (info->reason < 0) return PERP_OK;
  }
  return PERP_OK;
}

/* The state of the formulation is the start of what follows. */
void perp_switches_begin(perp_switches *switches, const void *ws)
{
  const double *q, *v;
  switches->form->state(ws, &switches->t, &q, &v);
  memcpy(switches->q, q, (size_t)switches->view.nq * sizeof *q);
  memcpy(switches->v, v, (size_t)switches->view.nv * sizeof *v);
}

/* Rows and velocities after something was switched. */
perp_status perp_switches_go_on(perp_ctx *ctx, perp_switches *switches, void *ws,
                                perp_step_info *info)
{
  const perp_reason reason = info->reason;
  *info = (perp_step_info){ .reason = reason, .drift_pos_pre = (double)NAN };
  perp_switches_rows(switches);
  PERP_TRY(perp_switches_stop(ctx, switches));
  return perp_switches_restart_from(ctx, switches, ws, switches->t, switches->q, switches->v);
}

perp_status perp_switches_from_here(perp_ctx *ctx, perp_switches *switches, void *ws,
                                    perp_step_info *info)
{
  perp_switches_begin(switches, ws);
  return perp_switches_go_on(ctx, switches, ws, info);
}

/* ---- joints that break ---- */

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

/* The joint whose force is most beyond its threshold, relative to it, at the poses of switches->e;
 * its force. */
static int switches_core_weakest(const perp_switches *switches, const double *lambda, double *force)
{
  int joint = -1;
  double most = 1;
  for (int i = 0; i < switches->view.n_joints; i++) {
    const double strength = switches->view.joint_def[i].strength;
    if (!(strength > 0) || switches->released[i]) continue;
    const double F = perp_model_joint_force(&switches->view, &switches->e.blocks, i, lambda);
    if (!(F > most * strength)) continue;
    most = F / strength;
    *force = F;
    joint = i;
  }
  return joint;
}

/* The same at t in the step that was made, by its dense output; false: it has none. */
static bool switches_core_dense(perp_ctx *ctx, perp_switches *switches, void *ws, double t,
                                int *joint, double *force)
{
  if (switches->form->dense == NULL ||
      switches->form->dense(ctx, ws, t, switches->q_dense, switches->v_dense,
                            switches->lambda_dense) != PERP_OK)
    return false;
  for (int i = 0; i < switches->view.m; i++)
    if (!isfinite(switches->lambda_dense[i])) return false;
  perp_eval_at(&switches->e, &switches->view, t, switches->q_dense);
  *joint = switches_core_weakest(switches, switches->lambda_dense, force);
  return true;
}

/* The first time in (0, hi] after the start at which a threshold is passed, to rounding, by
 * bisection: forces of several joints have a kink where the first one changes. */
static double switches_core_when(perp_ctx *ctx, perp_switches *switches, void *ws, double hi,
                                 int *joint, double *force)
{
  double lo = 0;
  for (int i = 0; i < PERP_SWITCH_SEARCH; i++) {
    const double at = (lo + hi) / 2;
    int first;
    double F;
    if (!(at > lo && at < hi)) break;
    if (!switches_core_dense(ctx, switches, ws, switches->t + at, &first, &F)) break;
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

static void switches_core_break(perp_switches *switches, int joint, double t, double force)
{
  switches->released[joint] = true;
  perp_switches_note(
      switches,
      (perp_release){
          .kind = PERP_RELEASE_BROKE, .joint = joint, .t = t, .s = (double)NAN, .force = force });
}

perp_status perp_switches_strain(perp_ctx *ctx, perp_switches *switches, void *ws,
                                 perp_step_info *info)
{
  double now, force = 0;
  const double *q, *v;
  int joint;
  switches->form->state(ws, &now, &q, &v);
  if (!(now > switches->t)) return PERP_OK;
  if (switches_core_dense(ctx, switches, ws, now, &joint, &force)) {
    if (joint < 0) return PERP_OK;
    const double at = switches_core_when(ctx, switches, ws, now - switches->t, &joint, &force);
    PERP_TRY(perp_switches_again(ctx, switches, ws, switches->t + at, info, &now, &q, &v));
    if (info->reason < 0) return PERP_OK;
    switches_core_break(switches, joint, now, force);
    return perp_switches_from_here(ctx, switches, ws, info);
  }
  if (info->lambda == NULL) return PERP_OK;
  const int before = switches->n;
  perp_eval_at(&switches->e, &switches->view, switches->t, switches->q);
  memcpy(switches->lambda_told, info->lambda,
         (size_t)switches->view.m * sizeof *switches->lambda_told);
  while ((joint = switches_core_weakest(switches, switches->lambda_told, &force)) >= 0)
    switches_core_break(switches, joint, now, force);
  if (switches->n == before) return PERP_OK;
  const double drift = info->drift_pos_pre;
  PERP_TRY(perp_switches_from_here(ctx, switches, ws, info));
  info->drift_pos_pre = drift;
  info->lambda = switches->lambda_told;
  return PERP_OK;
}
