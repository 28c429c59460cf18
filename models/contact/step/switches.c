/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points that leave their curves (van Overveld & Barenbrug 1995, section 2.6: "the PTC constraint
 * is cancelled"), and bodies that are disabled and enabled (Vondrak 2005, section 7.1), and
 * controllers that let go (section 8.3).
 *
 * After each step the place s of each point on its curve, each coordinate that a body waits for,
 * and the conditions of parts that stop, are looked at.  Where one is beyond its end or value, the
 * step is made again from its start, shorter, until it is there to 1e-9 of the domain (Illinois
 * variant of the rule of false position).  Of several the first in time counts.  Steps end at the
 * times that bodies wait for.  Where a body waits for a contact and has been touched, the step is
 * made again with that body enabled.
 *
 * A joint that does not hold has rows J = 0, C = 0, S = 1, and the formulation restarts.  Those
 * are: curves whose points have left; joints that broke; the joints to the world of bodies that are
 * enabled; joints between disabled bodies and the world, which would be redundant.  A released
 * curve stays released.  Forces that stop become forces of 0, motors and servos get max_force = 0;
 * their joints have no rows.
 *
 * Joints that break are in switches_core.c.  Multistep methods lose their history, at the switch
 * and in the search; counters go on (perp_switches_contacts).  Any formulation can serve curves
 * that has its rows from the model. */
#include "models/contact/step/switches.h"

#include "models/contact/step/switches_core.h"

#include <stdlib.h>
#include <string.h>

static const double SWITCH_AT = 1e-9;   /* of the domain of a curve, of what a coordinate passes */
static const double SWITCH_NOW = 1e-12; /* of the time: nearer than this is there */

static void switches_layout(void *ws, perp_arena *arena)
{
  perp_switches *switches = ws;
  const perp_model *model = &switches->view;
  switches->released = PERP_CARVE(arena, bool, model->n_joints);
  switches->softness = PERP_CARVE(arena, double, model->m);
  switches->release = PERP_CARVE(arena, perp_release,
                                 model->n_joints + model->disabled.n + model->stops.n);
  switches->q = PERP_CARVE(arena, double, model->nq);
  switches->v = PERP_CARVE(arena, double, model->nv);
  switches->phase = PERP_CARVE(arena, enum switch_phase, model->disabled.n);
  switches->held = PERP_CARVE(arena, unsigned char, model->n_bodies);
  switches->struck = PERP_CARVE(arena, unsigned char, model->n_bodies);
  switches->joint = PERP_CARVE(arena, perp_joint, model->n_joints);
  switches->rows = PERP_CARVE(arena, perp_row, PERP_JOINT_ROWS * model->disabled.n);
  switches->stopped = PERP_CARVE(arena, bool, model->stops.n);
  switches->force = PERP_CARVE(arena, perp_force_def, model->stops.n > 0 ? model->n_forces : 0);
  switches->drive = PERP_CARVE(arena, perp_drive_def, model->stops.n > 0 ? model->n_drives : 0);
  switches->drop_row = PERP_CARVE(arena, int, model->m);
  switches->drop_joint = PERP_CARVE(arena, int, model->m);
  PERP_DOUBLES(arena, model->nq, &switches->q_dense);
  PERP_DOUBLES(arena, model->nv, &switches->f, &switches->a, &switches->v_dense);
  PERP_DOUBLES(arena, model->m, &switches->c, &switches->lambda, &switches->lambda_dense,
               &switches->lambda_told);
  perp_eval_layout(&switches->e, model, arena);
}

static bool switches_curve_ends(const perp_model *model, int joint)
{
  double lower, upper;
  if (model->curve[joint] == NULL) return false;
  perp_curve_domain(model->curve[joint], &lower, &upper);
  return isfinite(lower) || isfinite(upper);
}

/* Is a body disabled that may move then? */
static bool switches_stops(const perp_model *model)
{
  for (int i = 0; i < model->disabled.n; i++) {
    const perp_cue *from = &model->disabled.def[i].from;
    if (from->kind != PERP_CUE_TIME || from->time > 0) return true;
  }
  return false;
}

perp_status perp_switches_create(perp_ctx *ctx, perp_model *model,
                                 const perp_formulation_desc *form, const perp_spec *kkt,
                                 perp_model **view, perp_switches **out)
{
  *out = NULL;
  *view = model;
  int curves = 0, breaking = 0;
  for (int i = 0; i < model->n_joints; i++) {
    curves += switches_curve_ends(model, i);
    breaking += model->joint_def[i].strength > 0;
  }
  if (curves + breaking == 0 && model->disabled.n == 0 && model->stops.n == 0) return PERP_OK;
  if (form->d.caps & PERP_FORM_WRAPS)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "formulation %s does not support %s: use its inner formulation directly, or %s",
        form->d.name, curves > 0 ? "curves with ends" : "joints that break",
        curves > 0 ? "curves without ends" : "joints without `break`");
  if (switches_stops(model) && model->soft.springs)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "a body is disabled in motion, in a model with joints with stiffness or "
                     "damping: the impulse of its stop is not defined; use rigid joints and forces "
                     "of springs");
  perp_switches like = { .view = *model, .model = model, .form = form, .breaks = breaking > 0 };
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, "joints that are switched", &like, sizeof like,
                                 switches_layout, &ws));
  perp_switches *switches = ws;
  *out = switches;
  switches->view.soft.softness = switches->softness;
  for (int i = 0; i < model->m; i++) switches->softness[i] = model->soft.softness[i];
  switches->view.sim.released = switches->released;
  switches->dropped.row = switches->drop_row;
  switches->dropped.joint = switches->drop_joint;
  switches->view.sim.dropped = &switches->dropped;
  if (model->stops.n > 0) {
    switches->view.force_def = switches->force;
    switches->view.drive_def = switches->drive;
  }
  if (model->disabled.n > 0 || model->stops.n > 0) {
    for (int i = 0; i < model->n_joints; i++) switches->joint[i] = model->joint[i];
    switches->view.joint = switches->joint;
    switches->view.sim.held = switches->held;
    switches->view.sim.struck = switches->struck;
  }
  perp_eval_init(&switches->e, &switches->view);
  *view = &switches->view;
  if (switches_stops(model) && kkt->d != NULL)
    return perp_kkt_create(ctx, kkt, &switches->e.blocks, &switches->kkt);
  return PERP_OK;
}

void perp_switches_destroy(perp_switches *switches)
{
  if (switches != NULL) perp_kkt_destroy(switches->kkt);
  free(switches);
}

const perp_contact_count *perp_switches_contacts(perp_switches *switches, const void *ws)
{
  const perp_contact_count *count = switches->form->contacts != NULL ? switches->form->contacts(ws)
                                                                     : NULL;
  if (count == NULL) return NULL;
  switches->sum = switches->before;
  perp_contact_count_add(&switches->sum, count);
  return &switches->sum;
}

void perp_switches_counters(const perp_switches *switches, perp_stats *kkt)
{
  perp_switches_count_before(switches, kkt);
}

/* ---- what is switched ---- */

static void switches_note(perp_switches *switches, int joint, perp_release_kind kind, double s)
{
  perp_switches_note(switches,
                     (perp_release){ .kind = kind, .joint = joint, .t = switches->t, .s = s });
}

/* A disabled body is enabled, or a body disabled, at switches->t, switches->q, switches->v; the
 * rows are set by the caller. */
static void switches_turn(perp_switches *switches, int i, bool noted)
{
  const int j = perp_disabled_joint(&switches->view, i);
  switches->phase[i] = switches->phase[i] == SWITCH_WAITS ? SWITCH_HOLDS : SWITCH_DONE;
  if (switches->phase[i] == SWITCH_HOLDS) perp_switches_take_hold(switches, i, switches->q);
  switches->released[j] = true; /* it is not where the model has it, or does not hold */
  if (noted)
    switches_note(switches, j,
                  switches->phase[i] == SWITCH_HOLDS ? PERP_RELEASE_DISABLED : PERP_RELEASE_ENABLED,
                  (double)NAN);
}

/* The i-th parts stop, at switches->t; the rows are set by the caller. */
static void switches_end(perp_switches *switches, int i)
{
  const perp_stop_def *def = &switches->view.stops.def[i];
  switches->stopped[i] = true;
  for (int f = def->forces.first; f < def->forces.first + def->forces.n; f++) {
    const int body = switches->force[f].n_bodies > 0
                         ? switches->force[f].body[switches->force[f].n_bodies - 1]
                         : switches->force[f].a;
    switches->force[f] = (perp_force_def){ .kind = PERP_FORCE_POINT, .a = body, .b = PERP_WORLD };
  }
  for (int d = def->drives.first; d < def->drives.first + def->drives.n; d++) {
    switches->drive[d].max_force = switches->drive[d].stiffness = switches->drive[d].damping = 0;
    switches->drive[d].gravity_compensation = false;
  }
  for (int j = def->joints.first; j < def->joints.first + def->joints.n; j++)
    switches->released[j] = true;
  switches_note(switches, i, PERP_RELEASE_STOPPED, (double)NAN);
}

/* What a body waits for; NULL: nothing. */
static const perp_cue *switches_cue(const perp_switches *switches, int i)
{
  const perp_disabled_def *def = &switches->view.disabled.def[i];
  return switches->phase[i] == SWITCH_WAITS   ? &def->from
         : switches->phase[i] == SWITCH_HOLDS ? &def->until
                                              : NULL;
}

static bool switches_due(const perp_switches *switches, int i, double t)
{
  const perp_cue *cue = switches_cue(switches, i);
  return cue != NULL && cue->kind == PERP_CUE_TIME &&
         cue->time - t <= SWITCH_NOW * fmax(1, fabs(t));
}

/* All that are due at switches->t; how many. */
static int switches_by_time(perp_switches *switches, bool noted)
{
  int n = 0;
  for (int i = 0; i < switches->view.disabled.n; i++)
    for (; switches_due(switches, i, switches->t); n++) switches_turn(switches, i, noted);
  return n;
}

perp_status perp_switches_restart(perp_ctx *ctx, perp_switches *switches, void *ws, double t,
                                  const double *q, const double *v)
{
  const perp_model *model = &switches->view;
  switches->n = 0;
  switches->t = t;
  memcpy(switches->q, q, (size_t)model->nq * sizeof *q);
  memcpy(switches->v, v, (size_t)model->nv * sizeof *v);
  for (int i = 0; i < model->n_joints; i++) switches->released[i] = false;
  for (int i = 0; i < model->disabled.n; i++) switches->phase[i] = SWITCH_WAITS;
  for (int i = 0; i < model->stops.n; i++) switches->stopped[i] = false;
  for (int i = 0; model->stops.n > 0 && i < model->n_forces; i++)
    switches->force[i] = switches->model->force_def[i];
  for (int i = 0; model->stops.n > 0 && i < model->n_drives; i++)
    switches->drive[i] = switches->model->drive_def[i];
  switches_by_time(switches, false);
  for (int i = 0; i < model->disabled.n; i++) { /* the model has its place at the start as well */
    const double *at = model->q0 + model->nqb * model->disabled.def[i].body;
    switches->released[perp_disabled_joint(model, i)] = switches->phase[i] != SWITCH_HOLDS ||
                                                        memcmp(at,
                                                               q + model->nqb *
                                                                       model->disabled.def[i].body,
                                                               (size_t)model->nqb * sizeof *q) != 0;
  }
  perp_switches_rows(switches);
  PERP_TRY(perp_switches_stop(ctx, switches));
  switches->before = switches->sum = (perp_contact_count){ 0 };
  switches->kkt_before = (perp_stats){ .reason = PERP_EXACT };
  return switches->form->restart(ctx, ws, t, switches->q, switches->v);
}

/* ---- what is passed within a step ---- */

/* Candidates: the joints, whose points leave their curves, and behind them the disabled bodies and
 * the parts that stop.  How far it is beyond, < 0: not yet; -infinity: it waits for nothing of that
 * kind.  size: what `far` means. */
static double switches_beyond(const perp_switches *k, int candidate, double t, const double *q,
                              const double *v, double *s, double *size)
{
  const perp_model *m = &k->view;
  *s = (double)NAN;
  if (candidate < m->n_joints) {
    if (k->released[candidate] || !switches_curve_ends(m, candidate)) return -HUGE_VAL;
    double lower, upper;
    perp_curve_domain(m->curve[candidate], &lower, &upper);
    *size = isfinite(upper - lower) ? upper - lower
                                    : fmax(1, fabs(isfinite(lower) ? lower : upper));
    *s = perp_model_curve_place(m, q, candidate);
    return perp_curve_beyond(m->curve[candidate], *s);
  }
  if (candidate >= m->n_joints + m->disabled.n) {
    const int i = candidate - m->n_joints - m->disabled.n;
    *size = 1;
    return k->stopped[i] ? -HUGE_VAL : m->stops.def[i].beyond(m->stops.def[i].user, t, q);
  }
  const perp_cue *cue = switches_cue(k, candidate - m->n_joints);
  if (cue == NULL || cue->kind != PERP_CUE_COORDINATE) return -HUGE_VAL;
  const int i = cue->coordinate - m->nqb;
  const double now = i < 0 ? q[m->nqb * cue->body + cue->coordinate] : v[m->nvb * cue->body + i],
               start = i < 0 ? k->q[m->nqb * cue->body + cue->coordinate]
                             : k->v[m->nvb * cue->body + i];
  const double side = cue->direction != 0 ? cue->direction : start > cue->value ? -1 : 1;
  *size = fmax(fabs(cue->value), fabs(now - start));
  if (!(side * (start - cue->value) < 0)) return -HUGE_VAL; /* it has to pass in this step */
  return side * (now - cue->value);
}

/* The first candidate but one that is beyond at the end of the step, -1: none.  A point on the end
 * of its curve has not left. */
static int switches_passed(const perp_switches *switches, int but, double t, const double *q,
                           const double *v)
{
  const int bodies = switches->view.n_joints, stops = bodies + switches->view.disabled.n;
  double s, size;
  for (int i = 0; i < stops + switches->view.stops.n; i++) {
    const double beyond = i == but ? -1 : switches_beyond(switches, i, t, q, v, &s, &size);
    if (beyond > 0 || (i >= bodies && i < stops && beyond == 0)) return i;
  }
  return -1;
}

/* The step ends where candidate i passes.  info->reason < 0: it did not get there. */
static perp_status switches_locate(perp_ctx *ctx, perp_switches *switches, void *ws, int i,
                                   perp_step_info *info)
{
  double now, s, size = 1, start_size;
  const double *q, *v;
  switches->form->state(ws, &now, &q, &v);
  double lo = 0, hi = now - switches->t, g_hi = switches_beyond(switches, i, now, q, v, &s, &size),
         g_lo = switches_beyond(switches, i, switches->t, switches->q, switches->v, &s,
                                &start_size);
  double g = g_hi, last = 0;
  for (int n = 0; n < PERP_SWITCH_SEARCH && !(g >= 0 && g <= SWITCH_AT * size); n++) {
    double at = g_hi > g_lo ? hi - g_hi * (hi - lo) / (g_hi - g_lo) : (lo + hi) / 2;
    if (!(at > lo && at < hi) || n % 8 == 7) at = (lo + hi) / 2;
    if (!(at > lo && at < hi)) break; /* neighbours in double precision */
    PERP_TRY(perp_switches_again(ctx, switches, ws, switches->t + at, info, &now, &q, &v));
    if (info->reason < 0) return PERP_OK;
    g = switches_beyond(switches, i, now, q, v, &s, &start_size);
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
  return g < 0 ? perp_switches_again(ctx, switches, ws, switches->t + hi, info, &now, &q, &v)
               : PERP_OK;
}

/* What the step has passed is switched, the first in time. */
static perp_status switches_pass(perp_ctx *ctx, perp_switches *switches, void *ws,
                                 perp_step_info *info)
{
  double now, s, size;
  const double *q, *v;
  int which = -1;
  switches->form->state(ws, &now, &q, &v);
  for (int next = switches_passed(switches, -1, now, q, v); next >= 0;
       next = switches_passed(switches, which, now, q, v)) {
    which = next;
    PERP_TRY(switches_locate(ctx, switches, ws, which, info));
    if (info->reason < 0) return PERP_OK;
    switches->form->state(ws, &now, &q, &v);
  }
  if (which >= 0) {
    switches_beyond(switches, which, now, q, v, &s, &size);
    perp_switches_begin(switches, ws);
    if (which < switches->view.n_joints) {
      switches_note(switches, which, PERP_RELEASE_CURVE, s);
      switches->released[which] = true;
    } else if (which < switches->view.n_joints + switches->view.disabled.n) {
      switches_turn(switches, which - switches->view.n_joints, true);
    } else {
      switches_end(switches, which - switches->view.n_joints - switches->view.disabled.n);
    }
    switches_by_time(switches, true);
    return perp_switches_go_on(ctx, switches, ws, info);
  }
  bool due = false;
  for (int i = 0; i < switches->view.disabled.n; i++) due |= switches_due(switches, i, now);
  if (!due) return PERP_OK;
  perp_switches_begin(switches, ws);
  switches_by_time(switches, true);
  return perp_switches_go_on(ctx, switches, ws, info);
}

/* A disabled body that waits for a contact and was touched by an enabled one; -1: none. */
static int switches_touched(const perp_switches *switches, const perp_step_info *info)
{
  for (int i = 0; i < switches->view.disabled.n; i++)
    if (switches->struck[switches->view.disabled.def[i].body] &&
        switches_cue(switches, i) != NULL && switches_cue(switches, i)->kind == PERP_CUE_CONTACT)
      return i;
  for (int c = 0; c < info->n_contacts && info->impulse != NULL; c++) {
    const double *p = info->impulse + 3 * c;
    if (!(p[0] != 0 || p[1] != 0 || p[2] != 0)) continue;
    for (int side = 0; side < 2; side++) {
      const int body = info->contacts[c].body[side], other = info->contacts[c].body[1 - side];
      if (body < 0 || !switches->held[body] || other < 0 || switches->held[other]) continue;
      for (int i = 0; i < switches->view.disabled.n; i++)
        if (switches->view.disabled.def[i].body == body &&
            switches_cue(switches, i)->kind == PERP_CUE_CONTACT)
          return i;
    }
  }
  return -1;
}

perp_status perp_switches_step(perp_ctx *ctx, perp_switches *switches, void *ws, double t_max,
                               perp_step_info *info)
{
  perp_switches_begin(switches, ws);
  double limit = t_max;
  for (int i = 0; i < switches->view.disabled.n; i++) {
    const perp_cue *cue = switches_cue(switches, i);
    if (cue != NULL && cue->kind == PERP_CUE_TIME && cue->time < limit) limit = cue->time;
  }
  memset(switches->struck, 0, (size_t)switches->view.n_bodies * sizeof *switches->struck);
  perp_status status = switches->form->step(ctx, ws, limit, info);
  for (int i;
       status == PERP_OK && info->reason >= 0 && (i = switches_touched(switches, info)) >= 0;) {
    switches_turn(switches, i, true);
    status = perp_switches_go_on(ctx, switches, ws, info);
    if (status == PERP_OK) status = switches->form->step(ctx, ws, limit, info);
  }
  const int before = switches->n;
  if (status == PERP_OK && info->reason >= 0) status = switches_pass(ctx, switches, ws, info);
  if (switches->breaks && status == PERP_OK && info->reason >= 0 && switches->n == before)
    status = perp_switches_strain(ctx, switches, ws, info);
  info->n_releases = switches->n;
  info->release = switches->release;
  info->released = switches->released;
  return status;
}
