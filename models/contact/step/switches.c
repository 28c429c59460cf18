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

static void switches_layout(void *ws, perp_arena *a)
{
  perp_switches *k = ws;
  const perp_model *m = &k->view;
  k->released = PERP_CARVE(a, bool, m->n_joints);
  k->softness = PERP_CARVE(a, double, m->m);
  k->release = PERP_CARVE(a, perp_release, m->n_joints + m->disabled.n + m->stops.n);
  k->q = PERP_CARVE(a, double, m->nq);
  k->v = PERP_CARVE(a, double, m->nv);
  k->phase = PERP_CARVE(a, enum switch_phase, m->disabled.n);
  k->held = PERP_CARVE(a, unsigned char, m->n_bodies);
  k->struck = PERP_CARVE(a, unsigned char, m->n_bodies);
  k->joint = PERP_CARVE(a, perp_joint, m->n_joints);
  k->rows = PERP_CARVE(a, perp_row, PERP_JOINT_ROWS * m->disabled.n);
  k->stopped = PERP_CARVE(a, bool, m->stops.n);
  k->force = PERP_CARVE(a, perp_force_def, m->stops.n > 0 ? m->n_forces : 0);
  k->drive = PERP_CARVE(a, perp_drive_def, m->stops.n > 0 ? m->n_drives : 0);
  k->drop_row = PERP_CARVE(a, int, m->m);
  k->drop_joint = PERP_CARVE(a, int, m->m);
  PERP_DOUBLES(a, m->nq, &k->q_dense);
  PERP_DOUBLES(a, m->nv, &k->f, &k->a, &k->v_dense);
  PERP_DOUBLES(a, m->m, &k->c, &k->lambda, &k->lambda_dense, &k->lambda_told);
  perp_eval_layout(&k->e, m, a);
}

static bool switches_curve_ends(const perp_model *m, int joint)
{
  double lower, upper;
  if (m->curve[joint] == NULL) return false;
  perp_curve_domain(m->curve[joint], &lower, &upper);
  return isfinite(lower) || isfinite(upper);
}

/* Is a body disabled that may move then? */
static bool switches_stops(const perp_model *m)
{
  for (int i = 0; i < m->disabled.n; i++) {
    const perp_cue *from = &m->disabled.def[i].from;
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
  perp_switches *k = ws;
  *out = k;
  k->view.soft.softness = k->softness;
  for (int i = 0; i < model->m; i++) k->softness[i] = model->soft.softness[i];
  k->view.sim.released = k->released;
  k->dropped.row = k->drop_row;
  k->dropped.joint = k->drop_joint;
  k->view.sim.dropped = &k->dropped;
  if (model->stops.n > 0) {
    k->view.force_def = k->force;
    k->view.drive_def = k->drive;
  }
  if (model->disabled.n > 0 || model->stops.n > 0) {
    for (int i = 0; i < model->n_joints; i++) k->joint[i] = model->joint[i];
    k->view.joint = k->joint;
    k->view.sim.held = k->held;
    k->view.sim.struck = k->struck;
  }
  perp_eval_init(&k->e, &k->view);
  *view = &k->view;
  if (switches_stops(model) && kkt->d != NULL)
    return perp_kkt_create(ctx, kkt, &k->e.blocks, &k->kkt);
  return PERP_OK;
}

void perp_switches_destroy(perp_switches *k)
{
  if (k != NULL) perp_kkt_destroy(k->kkt);
  free(k);
}

const perp_contact_count *perp_switches_contacts(perp_switches *k, const void *ws)
{
  const perp_contact_count *count = k->form->contacts != NULL ? k->form->contacts(ws) : NULL;
  if (count == NULL) return NULL;
  k->sum = k->before;
  perp_contact_count_add(&k->sum, count);
  return &k->sum;
}

void perp_switches_counters(const perp_switches *k, perp_stats *kkt)
{
  perp_switches_count_before(k, kkt);
}

/* ---- what is switched ---- */

static void switches_note(perp_switches *k, int joint, perp_release_kind kind, double s)
{
  perp_switches_note(k, (perp_release){ .kind = kind, .joint = joint, .t = k->t, .s = s });
}

/* A disabled body is enabled, or a body disabled, at k->t, k->q, k->v; the rows are set by the
 * caller. */
static void switches_turn(perp_switches *k, int i, bool noted)
{
  const int j = perp_disabled_joint(&k->view, i);
  k->phase[i] = k->phase[i] == SWITCH_WAITS ? SWITCH_HOLDS : SWITCH_DONE;
  if (k->phase[i] == SWITCH_HOLDS) perp_switches_take_hold(k, i, k->q);
  k->released[j] = true; /* it is not where the model has it, or does not hold */
  if (noted)
    switches_note(k, j, k->phase[i] == SWITCH_HOLDS ? PERP_RELEASE_DISABLED : PERP_RELEASE_ENABLED,
                  (double)NAN);
}

/* The i-th parts stop, at k->t; the rows are set by the caller. */
static void switches_end(perp_switches *k, int i)
{
  const perp_stop_def *def = &k->view.stops.def[i];
  k->stopped[i] = true;
  for (int f = def->forces.first; f < def->forces.first + def->forces.n; f++) {
    const int body = k->force[f].n_bodies > 0 ? k->force[f].body[k->force[f].n_bodies - 1]
                                              : k->force[f].a;
    k->force[f] = (perp_force_def){ .kind = PERP_FORCE_POINT, .a = body, .b = PERP_WORLD };
  }
  for (int d = def->drives.first; d < def->drives.first + def->drives.n; d++) {
    k->drive[d].max_force = k->drive[d].stiffness = k->drive[d].damping = 0;
    k->drive[d].gravity_compensation = false;
  }
  for (int j = def->joints.first; j < def->joints.first + def->joints.n; j++) k->released[j] = true;
  switches_note(k, i, PERP_RELEASE_STOPPED, (double)NAN);
}

/* What a body waits for; NULL: nothing. */
static const perp_cue *switches_cue(const perp_switches *k, int i)
{
  const perp_disabled_def *def = &k->view.disabled.def[i];
  return k->phase[i] == SWITCH_WAITS   ? &def->from
         : k->phase[i] == SWITCH_HOLDS ? &def->until
                                       : NULL;
}

static bool switches_due(const perp_switches *k, int i, double t)
{
  const perp_cue *cue = switches_cue(k, i);
  return cue != NULL && cue->kind == PERP_CUE_TIME &&
         cue->time - t <= SWITCH_NOW * fmax(1, fabs(t));
}

/* All that are due at k->t; how many. */
static int switches_by_time(perp_switches *k, bool noted)
{
  int n = 0;
  for (int i = 0; i < k->view.disabled.n; i++)
    for (; switches_due(k, i, k->t); n++) switches_turn(k, i, noted);
  return n;
}

perp_status perp_switches_restart(perp_ctx *ctx, perp_switches *k, void *ws, double t,
                                  const double *q, const double *v)
{
  const perp_model *m = &k->view;
  k->n = 0;
  k->t = t;
  memcpy(k->q, q, (size_t)m->nq * sizeof *q);
  memcpy(k->v, v, (size_t)m->nv * sizeof *v);
  for (int i = 0; i < m->n_joints; i++) k->released[i] = false;
  for (int i = 0; i < m->disabled.n; i++) k->phase[i] = SWITCH_WAITS;
  for (int i = 0; i < m->stops.n; i++) k->stopped[i] = false;
  for (int i = 0; m->stops.n > 0 && i < m->n_forces; i++) k->force[i] = k->model->force_def[i];
  for (int i = 0; m->stops.n > 0 && i < m->n_drives; i++) k->drive[i] = k->model->drive_def[i];
  switches_by_time(k, false);
  for (int i = 0; i < m->disabled.n; i++) { /* the model has its place at the start as well */
    const double *at = m->q0 + m->nqb * m->disabled.def[i].body;
    k->released[perp_disabled_joint(m, i)] = k->phase[i] != SWITCH_HOLDS ||
                                             memcmp(at, q + m->nqb * m->disabled.def[i].body,
                                                    (size_t)m->nqb * sizeof *q) != 0;
  }
  perp_switches_rows(k);
  PERP_TRY(perp_switches_stop(ctx, k));
  k->before = k->sum = (perp_contact_count){ 0 };
  k->kkt_before = (perp_stats){ .reason = PERP_EXACT };
  return k->form->restart(ctx, ws, t, k->q, k->v);
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
static int switches_passed(const perp_switches *k, int but, double t, const double *q,
                           const double *v)
{
  const int bodies = k->view.n_joints, stops = bodies + k->view.disabled.n;
  double s, size;
  for (int i = 0; i < stops + k->view.stops.n; i++) {
    const double beyond = i == but ? -1 : switches_beyond(k, i, t, q, v, &s, &size);
    if (beyond > 0 || (i >= bodies && i < stops && beyond == 0)) return i;
  }
  return -1;
}

/* The step ends where candidate i passes.  info->reason < 0: it did not get there. */
static perp_status switches_locate(perp_ctx *ctx, perp_switches *k, void *ws, int i,
                                   perp_step_info *info)
{
  double now, s, size = 1, start_size;
  const double *q, *v;
  k->form->state(ws, &now, &q, &v);
  double lo = 0, hi = now - k->t, g_hi = switches_beyond(k, i, now, q, v, &s, &size),
         g_lo = switches_beyond(k, i, k->t, k->q, k->v, &s, &start_size);
  double g = g_hi, last = 0;
  for (int n = 0; n < PERP_SWITCH_SEARCH && !(g >= 0 && g <= SWITCH_AT * size); n++) {
    double at = g_hi > g_lo ? hi - g_hi * (hi - lo) / (g_hi - g_lo) : (lo + hi) / 2;
    if (!(at > lo && at < hi) || n % 8 == 7) at = (lo + hi) / 2;
    if (!(at > lo && at < hi)) break; /* neighbours in double precision */
    PERP_TRY(perp_switches_again(ctx, k, ws, k->t + at, info, &now, &q, &v));
    if (info->reason < 0) return PERP_OK;
    g = switches_beyond(k, i, now, q, v, &s, &start_size);
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
  return g < 0 ? perp_switches_again(ctx, k, ws, k->t + hi, info, &now, &q, &v) : PERP_OK;
}

/* What the step has passed is switched, the first in time. */
static perp_status switches_pass(perp_ctx *ctx, perp_switches *k, void *ws, perp_step_info *info)
{
  double now, s, size;
  const double *q, *v;
  int which = -1;
  k->form->state(ws, &now, &q, &v);
  for (int next = switches_passed(k, -1, now, q, v); next >= 0;
       next = switches_passed(k, which, now, q, v)) {
    which = next;
    PERP_TRY(switches_locate(ctx, k, ws, which, info));
    if (info->reason < 0) return PERP_OK;
    k->form->state(ws, &now, &q, &v);
  }
  if (which >= 0) {
    switches_beyond(k, which, now, q, v, &s, &size);
    perp_switches_begin(k, ws);
    if (which < k->view.n_joints) {
      switches_note(k, which, PERP_RELEASE_CURVE, s);
      k->released[which] = true;
    } else if (which < k->view.n_joints + k->view.disabled.n) {
      switches_turn(k, which - k->view.n_joints, true);
    } else {
      switches_end(k, which - k->view.n_joints - k->view.disabled.n);
    }
    switches_by_time(k, true);
    return perp_switches_go_on(ctx, k, ws, info);
  }
  bool due = false;
  for (int i = 0; i < k->view.disabled.n; i++) due |= switches_due(k, i, now);
  if (!due) return PERP_OK;
  perp_switches_begin(k, ws);
  switches_by_time(k, true);
  return perp_switches_go_on(ctx, k, ws, info);
}

/* A disabled body that waits for a contact and was touched by an enabled one; -1: none. */
static int switches_touched(const perp_switches *k, const perp_step_info *info)
{
  for (int i = 0; i < k->view.disabled.n; i++)
    if (k->struck[k->view.disabled.def[i].body] && switches_cue(k, i) != NULL &&
        switches_cue(k, i)->kind == PERP_CUE_CONTACT)
      return i;
  for (int c = 0; c < info->n_contacts && info->impulse != NULL; c++) {
    const double *p = info->impulse + 3 * c;
    if (!(p[0] != 0 || p[1] != 0 || p[2] != 0)) continue;
    for (int side = 0; side < 2; side++) {
      const int body = info->contacts[c].body[side], other = info->contacts[c].body[1 - side];
      if (body < 0 || !k->held[body] || other < 0 || k->held[other]) continue;
      for (int i = 0; i < k->view.disabled.n; i++)
        if (k->view.disabled.def[i].body == body && switches_cue(k, i)->kind == PERP_CUE_CONTACT)
          return i;
    }
  }
  return -1;
}

perp_status perp_switches_step(perp_ctx *ctx, perp_switches *k, void *ws, double t_max,
                               perp_step_info *info)
{
  perp_switches_begin(k, ws);
  double limit = t_max;
  for (int i = 0; i < k->view.disabled.n; i++) {
    const perp_cue *cue = switches_cue(k, i);
    if (cue != NULL && cue->kind == PERP_CUE_TIME && cue->time < limit) limit = cue->time;
  }
  memset(k->struck, 0, (size_t)k->view.n_bodies * sizeof *k->struck);
  perp_status status = k->form->step(ctx, ws, limit, info);
  for (int i; status == PERP_OK && info->reason >= 0 && (i = switches_touched(k, info)) >= 0;) {
    switches_turn(k, i, true);
    status = perp_switches_go_on(ctx, k, ws, info);
    if (status == PERP_OK) status = k->form->step(ctx, ws, limit, info);
  }
  const int before = k->n;
  if (status == PERP_OK && info->reason >= 0) status = switches_pass(ctx, k, ws, info);
  if (k->breaks && status == PERP_OK && info->reason >= 0 && k->n == before)
    status = perp_switches_strain(ctx, k, ws, info);
  info->n_releases = k->n;
  info->release = k->release;
  info->released = k->released;
  return status;
}
