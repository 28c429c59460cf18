/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/controlled.h"
#include "models/stepping/extrapolation.h"
#include "models/stepping/step_sum.h"
#include "models/multibody/model_private.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = PERP_EXTRAPOLATION_ROWS, TRIALS = 200, DOUBTS = 3 };
enum { LEAD = 2 }; /* parts of a row that are not looked at: they depend on how the step begins */
/* What is extrapolated, [nv] each: q1 [-] q and v at the end; what v has changed by after the lead;
 * kinks of the first part behind it against the step before, of the last two parts, and behind the
 * end; and H times the acceleration there.  Rows see one elsewhere: their parts end at other times.
 */
enum { MOVE, SPEED, JUMP, START, LAST, END, RATE, COLUMNS };
static const double SMOOTH = 0.1; /* of the accuracy: what a smooth step may err in 1 / rate */
static const double SHORT = 1e-3; /* 1 / rate: a shorter step may err as one of this length */
static const double EVENT = 0.1;  /* of the accuracy: what the shortest step moves */
static const double KINK =
    0.1; /* of the accuracy times rate: a velocity that an event took or gave unseen */
static const double EARLY =
    0.01; /* a row before the expected one does with so much of what is allowed */
static const double GROWTH = 8; /* of a step after an accepted one, at most */
static const double LONGEST =
    0.5; /* 1 / rate: no step is longer, lest rows agree in what none has seen */
static const double PROBE = 1e-12; /* of the time: parts of a probe are not lost in it */
static const double TORN = 10;     /* times the accuracy: too much for a shortest step */

struct perp_controlled {
  perp_controlled_sys sys;
  int nv;
  double accuracy, h_first;
  double *weight; /* [nv] 1/m or 1/rad */
  double *q, *v;  /* [nq], [nv] start of the step in the making */
  double *q1;     /* [nq] */
  double *dq;     /* [nv] */
  double *a;      /* [nv] acceleration at the start, where the step before was smooth: */
  /* [nv] 1/s times velocities: what those of the time stepping are off at the end of that step,
   * over a part; and of the one in the making */
  double *lag, *lag_end;
  bool follows;            /* it was */
  double *v_start;         /* [nv] of a row */
  double *v_part, *change; /* [nv] velocity at the end of the part before, and its change in that */
  perp_extrapolation table; /* of COLUMNS vectors */
  perp_extrapolation force; /* multipliers and drives of the last part: at the end of the step */
  perp_step_sum sum, end;   /* of all parts; contacts of the last part of the last row */
  double t;
  double h;       /* proposed */
  double suspect; /* an event is thought to come before this time; -inf: none */
  double cap;     /* of steps towards it, while it is as likely that the step was too long */
  int doubts;     /* refused steps on the way to it */
  double rate;
  int target;   /* the row that is expected to do */
  bool passing; /* the last step passed an event */
  char cause[128];
  perp_ode_counters count;
};

/* One trial step. */
typedef struct trial {
  double h, t1;
  int row;      /* the last one made */
  double ratio; /* error over what is allowed; <= 1: kept */
  double best[ROWS],
      cost[ROWS];     /* [row] the step that it would have been right for, and its cost a second */
  bool ahead;         /* an event comes behind the end, and none before */
  bool probed;        /* an event has come before the end that no row has seen */
  perp_reason reason; /* < 0: why the method below made no step */
} trial;

/* ---- life ---- */

static void controlled_layout(void *ws, perp_arena *arena)
{
  perp_controlled *controlled = ws;
  const perp_model *model = controlled->sys.model;
  PERP_DOUBLES(arena, model->nq, &controlled->q, &controlled->q1);
  PERP_DOUBLES(arena, model->nv, &controlled->v, &controlled->weight, &controlled->dq,
               &controlled->a, &controlled->lag, &controlled->lag_end, &controlled->v_start,
               &controlled->v_part, &controlled->change);
  perp_extrapolation_layout(&controlled->table, arena);
  perp_extrapolation_layout(&controlled->force, arena);
  perp_step_sum_layout(&controlled->sum, arena);
  perp_step_sum_layout(&controlled->end, arena);
}

perp_status perp_controlled_create(perp_ctx *ctx, const perp_controlled_sys *sys, double accuracy,
                                   double h, perp_controlled **out)
{
  const perp_model *model = sys->model;
  perp_controlled like = { .sys = *sys, .nv = model->nv, .accuracy = accuracy, .h_first = h };
  like.table.n = COLUMNS * model->nv;
  like.force.n = model->m + model->n_drives;
  like.sum.m = model->m;
  like.sum.drives = model->n_drives;
  void *ws;
  *out = NULL;
  PERP_TRY(perp_workspace_create(ctx, "error control", &like, sizeof like, controlled_layout, &ws));
  perp_controlled *controlled = ws;
  for (int i = 0; i < model->nv; i++) {
    const double reach = sys->reach != NULL ? sys->reach[i / model->nvb] : 0;
    const bool turns = i % model->nvb >= model->dim;
    controlled->weight[i] = (turns ? reach > 0 ? reach : model->size : 1) / model->size;
  }
  *out = controlled;
  return PERP_OK;
}

void perp_controlled_destroy(perp_controlled *controlled)
{
  if (controlled == NULL) return;
  perp_step_sum_free(&controlled->sum);
  perp_step_sum_free(&controlled->end);
  free(controlled);
}

static double controlled_norm(const perp_controlled *controlled, const double *x)
{
  double most = 0;
  for (int i = 0; i < controlled->nv; i++) {
    const double at = controlled->weight[i] * fabs(x[i]);
    if (!(at <= most)) most = at;
  }
  return most;
}

/* The largest so far: a rate that fell would allow shortest steps to grow, and errors with them. */
static void controlled_rate(perp_controlled *controlled, const double *v)
{
  const perp_model *model = controlled->sys.model;
  controlled->rate = fmax(controlled->rate,
                          sqrt(fabs(perp_model_gravity_at(model, controlled->t)) / model->size) +
                              controlled_norm(controlled, v));
}

void perp_controlled_restart(perp_controlled *controlled)
{
  const double *q, *v;
  controlled->sys.state(controlled->sys.user, &controlled->t, &q, &v);
  controlled->h = controlled->h_first;
  controlled->suspect = -HUGE_VAL;
  controlled->target = 2;
  controlled->passing = controlled->follows = false;
  controlled->rate = 0;
  controlled_rate(controlled, v);
  if (!(controlled->rate > 0))
    controlled->rate = 1 /
                       controlled->h_first; /* at rest without gravity: nothing better is known */
  controlled->count.restarts++;
}

void perp_controlled_counters(const perp_controlled *controlled, perp_ode_counters *count)
{
  count->steps = controlled->count.steps;
  count->rejected = controlled->count.rejected;
  count->events = controlled->count.events;
  count->restarts = controlled->count.restarts;
  count->h_least = controlled->count.h_least;
  count->h_most = controlled->count.h_most;
}

/* ---- one row: the step in so many parts ---- */

/* Part i of n has ended with v; part n is the one behind the step.  What is looked at of the
 * changes of v, times n. */
static void controlled_kinks(perp_controlled *controlled, const trial *p, int i, int n,
                             const double *v, double *row)
{
  const int nv = controlled->nv;
  for (int k = 0; k < nv; k++) {
    const double change = v[k] - (i == 0 ? controlled->v[k] : controlled->v_part[k]);
    const double kink = i <= LEAD ? 0 : n * (change - controlled->change[k]);
    if (i + 1 == LEAD) row[JUMP * nv + k] = v[k] - controlled->v[k];
    if (i == LEAD)
      row[START * nv + k] = controlled->follows ? n * change - p->h * controlled->a[k] : 0;
    if (i + 1 == n) row[LAST * nv + k] = row[END * nv + k] = kink;
    if (i >= n) row[END * nv + k] = (i > n ? row[END * nv + k] : 0) + kink;
    row[RATE * nv + k] = n * change;
    controlled->change[k] = change;
    controlled->v_part[k] = v[k];
  }
}

/* What acts in the last part of a row, h long.  Its means go to the forces at the end of the step
 * as h goes to 0, with an expansion in h as the state has. */
static perp_status controlled_forces(perp_ctx *ctx, perp_controlled *controlled, double h,
                                     const perp_step_info *info, double *row)
{
  const perp_model *model = controlled->sys.model;
  for (int i = 0; i < model->m && info->lambda != NULL; i++) row[i] = info->lambda[i];
  for (int i = 0; i < model->n_drives && info->drive != NULL; i++)
    row[model->m + i] = info->drive[i];
  perp_step_info contacts = *info;
  contacts.lambda = contacts.drive = NULL;
  perp_step_sum_start(&controlled->end);
  return perp_step_sum_add(ctx, &controlled->end, h, &contacts);
}

/* T_j1 into the table, alone: without the part behind; p->reason < 0: there is none. */
static perp_status controlled_row(perp_ctx *ctx, perp_controlled *controlled, trial *p, int j,
                                  bool alone)
{
  const perp_controlled_sys *sys = &controlled->sys;
  const int n = perp_extrapolation_parts(j), nv = controlled->nv;
  const double *q, *v;
  double t, *row = controlled->table.row[j];
  p->row = j;
  sys->put_back(sys->user, PERP_AT_START);
  for (int i = 0; i < nv; i++)
    controlled->v_start[i] = controlled->v[i] +
                             (controlled->follows ? p->h / n * controlled->lag[i] : 0);
  PERP_TRY(sys->start(ctx, sys->user, controlled->t, controlled->q, controlled->v_start));
  sys->within(sys->user, 1 / controlled->rate);
  perp_step_sum_start(&controlled->sum);
  for (int i = 0; i < n + (alone ? 0 : sys->behind); i++) {
    perp_step_info info = { .reason = PERP_EXACT, .drift_pos_pre = (double)NAN };
    const double from = i == 0 ? controlled->t : t,
                 to = i + 1 == n ? p->t1 : controlled->t + p->h * (i + 1) / n;
    PERP_TRY(sys->step(ctx, sys->user, to, &info));
    if (i >= n && info.reason < 0) break; /* who comes there will see */
    p->reason = info.reason;
    if (info.reason < 0) {
      controlled->sum.last = info;
      return PERP_OK;
    }
    if (i < n) PERP_TRY(perp_step_sum_add(ctx, &controlled->sum, to - from, &info));
    sys->state(sys->user, &t, &q, &v);
    controlled_kinks(controlled, p, i, n, v, row);
    if (i + 1 != n) continue;
    perp_model_difference(sys->model, controlled->q, q, row);
    memcpy(row + SPEED * nv, v, (size_t)nv * sizeof *v);
    PERP_TRY(controlled_forces(ctx, controlled, to - from, &info, controlled->force.row[j]));
    PERP_TRY(sys->keep(ctx, sys->user, PERP_AT_END));
  }
  return PERP_OK;
}

/* ---- trials ---- */

static double controlled_shortest(const perp_controlled *controlled)
{
  return EVENT * controlled->accuracy / controlled->rate;
}

/* Rows until one does: p->ratio <= 1; or none will. */
static perp_status controlled_try(perp_ctx *ctx, perp_controlled *controlled, trial *p)
{
  double before = HUGE_VAL;
  int parts = 0;
  p->ratio = HUGE_VAL;
  for (int j = 0; j < ROWS && j <= controlled->target + 1; j++) {
    PERP_TRY(controlled_row(ctx, controlled, p, j, false));
    if (p->reason < 0) return PERP_OK;
    perp_extrapolation_add(&controlled->table, j);
    perp_extrapolation_add(&controlled->force, j);
    parts += perp_extrapolation_parts(j) + controlled->sys.behind;
    if (j == 0) continue;
    /* error of the last but one of the diagonal, over what is allowed */
    const double *best = controlled->table.row[0], *other = controlled->table.row[1];
    const int nv = controlled->nv;
    double err[2];
    for (int part = MOVE; part <= SPEED; part++) {
      for (int i = 0; i < nv; i++) controlled->dq[i] = best[part * nv + i] - other[part * nv + i];
      err[part] = controlled_norm(controlled, controlled->dq);
    }
    const double allowed = SMOOTH * controlled->accuracy * fmax(p->h * controlled->rate, SHORT);
    const double error = fmax(err[0], err[1] / controlled->rate) / allowed;
    double kink[END + 1] = { 0 };
    for (int part = START; part <= END; part++)
      kink[part] = controlled_norm(controlled, best + part * nv) /
                   (perp_extrapolation_parts(p->row) * KINK * controlled->accuracy *
                    controlled->rate);
    kink[JUMP] = controlled_norm(controlled, best + JUMP * nv) /
                 (KINK * controlled->accuracy * controlled->rate);
    const double inside = fmax(fmax(error, kink[JUMP]), fmax(kink[START], kink[LAST]));
    p->ahead = !(kink[END] <= 1) && inside <= 1;
    const double ratio = fmax(inside, kink[END]);
    p->ratio = isnan(error + inside + ratio) ? HUGE_VAL : ratio;
    const double factor = fmin(GROWTH, 0.9 * pow(0.5 / fmax(p->ratio, 1e-12), 1.0 / j));
    p->best[j] = p->h * factor;
    p->cost[j] = parts / p->best[j];
    if (p->ratio <= (j < controlled->target ? EARLY : 1)) return PERP_OK;
    /* would the rows that are left bring it down, each by as much as this one? */
    const double fall = p->ratio / before;
    if (j >= 2 && !(p->ratio * pow(fmin(fall, 1), controlled->target + 1 - j) <= 10))
      return PERP_OK;
    before = p->ratio;
  }
  return PERP_OK;
}

/* Does what begins at the end go on as the step ended?  Rows are off by O(h), and so are the times
 * of their events: one that comes shortly before the end may come behind all of them.  p->ratio >
 * 1: it does not. */
static perp_status controlled_probe(perp_ctx *ctx, perp_controlled *controlled, trial *p)
{
  const perp_controlled_sys *sys = &controlled->sys;
  const double *q, *v, h = fmax(controlled_shortest(controlled), PROBE * fabs(p->t1));
  const int nv = controlled->nv, n = LEAD + sys->behind;
  double t;
  /* What velocities of the last row are off at its end, over its part: those of the next step begin
   * with it. */
  const double *raw = controlled->table.row[p->row] + SPEED * controlled->nv,
               *best = controlled->table.row[0] + SPEED * controlled->nv;
  for (int i = 0; i < controlled->nv; i++)
    controlled->lag_end[i] = perp_extrapolation_parts(p->row) * (raw[i] - best[i]) / p->h;
  perp_model_retract(sys->model, controlled->q, controlled->table.row[0], controlled->q1);
  perp_model_project(sys->model, controlled->q1);
  for (int i = 0; i < nv; i++)
    controlled->v_start[i] = controlled->table.row[0][SPEED * nv + i] + h * controlled->lag_end[i];
  sys->put_back(sys->user, PERP_AT_END);
  PERP_TRY(sys->start(ctx, sys->user, p->t1, controlled->q1, controlled->v_start));
  for (int i = 0; i < n; i++) {
    perp_step_info info = { .reason = PERP_EXACT, .drift_pos_pre = (double)NAN };
    sys->state(sys->user, &t, &q, &v);
    memcpy(controlled->v_part, v, (size_t)nv * sizeof *v);
    PERP_TRY(sys->step(ctx, sys->user, p->t1 + (i + 1) * h, &info));
    if (info.reason < 0) return PERP_OK; /* who comes there will see */
  }
  const double from = t;
  sys->state(sys->user, &t, &q, &v);
  for (int i = 0; i < nv; i++)
    controlled->dq[i] = p->h * (v[i] - controlled->v_part[i]) / (t - from) -
                        controlled->table.row[0][RATE * nv + i];
  const double kink = controlled_norm(controlled, controlled->dq) /
                      (perp_extrapolation_parts(p->row) * KINK * controlled->accuracy *
                       controlled->rate);
  p->probed = !(kink <= 1);
  if (p->probed) p->ratio = kink;
  return PERP_OK;
}

/* The row and the step that cost the least; of rows from 1 to the last one made. */
static double controlled_cheapest(perp_controlled *controlled, const trial *p)
{
  int best = 1;
  for (int j = 2; j <= p->row; j++)
    if (p->cost[j] < p->cost[best]) best = j;
  controlled->target = best;
  if (best < p->row || p->row + 1 >= ROWS || p->ratio > 1) return p->best[best];
  if (best > 1 && !(p->cost[best] < 0.9 * p->cost[best - 1])) return p->best[best];
  const double parts = p->cost[best] * p->best[best];
  controlled->target = best + 1;
  return p->best[best] * (parts + perp_extrapolation_parts(best + 1)) / parts;
}

/* How far: as proposed, half way to where an event is thought to be, no further than t_max. */
static void controlled_plan(const perp_controlled *controlled, double t_max, trial *p)
{
  const double least = controlled_shortest(controlled), left = t_max - controlled->t;
  double h = fmin(controlled->h, LONGEST / controlled->rate);
  if (controlled->suspect > controlled->t)
    h = fmin(h, controlled->doubts <= DOUBTS ? controlled->cap
                                             : 0.5 * (controlled->suspect - controlled->t));
  h = fmax(h, least);
  if (h > 0.5 * left && h < left) h = fmax(0.5 * left, least);
  *p = (trial){ .h = h, .t1 = controlled->t + h };
  if (h < left - 0.1 * least) return;
  p->h = left;
  p->t1 = t_max;
}

/* ---- the step ---- */

/* The end of the trial, extrapolated or as the only row has it, is the state. */
static perp_status controlled_accept(perp_ctx *ctx, perp_controlled *controlled, const trial *p)
{
  const perp_controlled_sys *sys = &controlled->sys;
  const double *q, *v;
  perp_model_retract(sys->model, controlled->q, controlled->table.row[0], controlled->q1);
  perp_model_project(sys->model, controlled->q1);
  sys->put_back(sys->user, PERP_AT_END);
  if (p->row > 0)
    PERP_TRY(sys->start(ctx, sys->user, p->t1, controlled->q1,
                        controlled->table.row[0] + SPEED * controlled->nv));
  sys->state(sys->user, &controlled->t, &q, &v);
  controlled_rate(controlled, v);
  controlled->count.h_least = controlled->count.steps == 0 ? p->h
                                                           : fmin(controlled->count.h_least, p->h);
  controlled->count.h_most = fmax(controlled->count.h_most, p->h);
  controlled->count.steps++;
  return PERP_OK;
}

/* The shortest step, as the method makes it. */
static perp_status controlled_pass(perp_ctx *ctx, perp_controlled *controlled, trial *p)
{
  PERP_TRY(controlled_row(ctx, controlled, p, 0, true));
  if (p->reason < 0) return PERP_OK;
  const double moved = controlled_norm(controlled, controlled->table.row[0]);
  if (!(moved <= TORN * controlled->accuracy)) {
    p->reason = PERP_STEP_TOO_SMALL;
    snprintf(
        controlled->cause, sizeof controlled->cause,
        "accuracy: the shortest step, %.3g s, moves a body by %.3g times the size of the model",
        p->h, moved);
    return PERP_OK;
  }
  controlled->count.events += !controlled->passing;
  controlled->passing = true;
  controlled->follows = false;
  controlled->h = GROWTH * p->h;
  controlled->target = 1;
  return controlled_accept(ctx, controlled, p);
}

static perp_status controlled_fail(perp_ctx *ctx, perp_controlled *controlled, perp_reason reason,
                                   perp_step_info *info)
{
  const perp_controlled_sys *sys = &controlled->sys;
  *info = (perp_step_info){ .reason = reason, .drift_pos_pre = (double)NAN };
  info->cause = reason == controlled->sum.last.reason ? controlled->sum.last.cause
                                                      : controlled->cause;
  sys->put_back(sys->user, PERP_AT_START);
  return sys->start(ctx, sys->user, controlled->t, controlled->q, controlled->v);
}

static void controlled_refuse(perp_ctx *ctx, perp_controlled *controlled, const trial *p)
{
  double h = p->reason < 0 || p->row == 0 || p->probed ? 0 : controlled_cheapest(controlled, p);
  controlled->count.rejected++;
  PERP_TRACE(ctx, .method = "accuracy", .what = "reject", .iteration = p->row, .entering = -1,
             .leaving = -1, .step = p->h, .residual = p->ratio, .n = controlled->nv,
             .x = controlled->v);
  if (!(h > 0.25 * p->h)) { /* not what a smooth error would ask for */
    controlled->doubts = controlled->suspect > controlled->t ? controlled->doubts + 1 : 1;
    controlled->suspect = p->t1 + (p->ahead
                                       ? controlled->sys.behind * p->h / perp_extrapolation_parts(0)
                                       : 0);
    controlled->cap = h = 0.5 * p->h;
  }
  controlled->h = fmin(h, 0.7 * p->h);
}

perp_status perp_controlled_step(perp_ctx *ctx, perp_controlled *controlled, double t_max,
                                 perp_step_info *info)
{
  const perp_controlled_sys *sys = &controlled->sys;
  const double *q, *v;
  sys->state(sys->user, &controlled->t, &q, &v);
  if (!(t_max > controlled->t)) return PERP_OK;
  memcpy(controlled->q, q, (size_t)sys->model->nq * sizeof *q);
  memcpy(controlled->v, v, (size_t)controlled->nv * sizeof *v);
  PERP_TRY(sys->keep(ctx, sys->user, PERP_AT_START));
  controlled->cause[0] = '\0';
  for (int tries = 0; tries < TRIALS; tries++) {
    trial p;
    controlled_plan(controlled, t_max, &p);
    if (!(p.t1 > controlled->t)) return controlled_fail(ctx, controlled, PERP_STEP_TOO_SMALL, info);
    const bool shortest = p.h <= 1.5 * controlled_shortest(controlled);
    PERP_TRY(shortest ? controlled_pass(ctx, controlled, &p) : controlled_try(ctx, controlled, &p));
    if (shortest && p.reason < 0) return controlled_fail(ctx, controlled, p.reason, info);
    if (!shortest && p.reason >= 0 && p.ratio <= 1) PERP_TRY(controlled_probe(ctx, controlled, &p));
    if (!shortest && p.reason >= 0 && p.ratio <= 1) {
      PERP_TRY(controlled_accept(ctx, controlled, &p));
      memcpy(controlled->lag, controlled->lag_end,
             (size_t)controlled->nv * sizeof *controlled->lag);
      const double h = controlled_cheapest(controlled, &p);
      controlled->h = p.h < controlled->h
                          ? fmax(h, controlled->h)
                          : h; /* a step that was cut says little about the next one */
      controlled->passing = false;
      controlled->follows = true;
      for (int i = 0; i < controlled->nv; i++)
        controlled->a[i] = controlled->table.row[0][RATE * controlled->nv + i] / p.h;
      if (h < 0.5 * (controlled->suspect - controlled->t))
        controlled->suspect = -HUGE_VAL; /* refused for a smooth error */
    } else if (!shortest) {
      controlled_refuse(ctx, controlled, &p);
      continue;
    }
    perp_step_sum_info(&controlled->sum, info);
    if (!shortest && info->lambda != NULL) { /* an event is in the means of its step alone */
      info->lambda_end = controlled->force.row[0];
      info->drive_end = info->drive != NULL ? controlled->force.row[0] + sys->model->m : NULL;
      info->h_end = controlled->end.length;
      info->n_contacts_end = controlled->end.n;
      info->contacts_end = controlled->end.contact;
      info->impulse_end = controlled->end.impulse;
    }
    return PERP_OK;
  }
  return controlled_fail(ctx, controlled, PERP_STALLED, info);
}
