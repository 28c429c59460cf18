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
 * kinks of the first part behind it against the step before and against the next part, of the last
 * two parts, and behind the end; and H times the acceleration there. */
enum { MOVE, SPEED, JUMP, START, FIRST, LAST, END, RATE, COLUMNS };
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
  perp_step_sum sum;
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

static void controlled_layout(void *ws, perp_arena *a)
{
  perp_controlled *c = ws;
  const perp_model *model = c->sys.model;
  PERP_DOUBLES(a, model->nq, &c->q, &c->q1);
  PERP_DOUBLES(a, model->nv, &c->v, &c->weight, &c->dq, &c->a, &c->lag, &c->lag_end, &c->v_start,
               &c->v_part, &c->change);
  perp_extrapolation_layout(&c->table, a);
  perp_step_sum_layout(&c->sum, a);
}

perp_status perp_controlled_create(perp_ctx *ctx, const perp_controlled_sys *sys, double accuracy,
                                   double h, perp_controlled **out)
{
  const perp_model *model = sys->model;
  perp_controlled like = { .sys = *sys, .nv = model->nv, .accuracy = accuracy, .h_first = h };
  like.table.n = COLUMNS * model->nv;
  like.sum.m = model->m;
  like.sum.drives = model->n_drives;
  void *ws;
  *out = NULL;
  PERP_TRY(perp_workspace_create(ctx, "error control", &like, sizeof like, controlled_layout, &ws));
  perp_controlled *c = ws;
  for (int i = 0; i < model->nv; i++) {
    const double reach = sys->reach != NULL ? sys->reach[i / model->nvb] : 0;
    const bool turns = i % model->nvb >= model->dim;
    c->weight[i] = (turns ? reach > 0 ? reach : model->size : 1) / model->size;
  }
  *out = c;
  return PERP_OK;
}

void perp_controlled_destroy(perp_controlled *c)
{
  if (c == NULL) return;
  perp_step_sum_free(&c->sum);
  free(c);
}

static double controlled_norm(const perp_controlled *c, const double *x)
{
  double most = 0;
  for (int i = 0; i < c->nv; i++) {
    const double at = c->weight[i] * fabs(x[i]);
    if (!(at <= most)) most = at;
  }
  return most;
}

/* The largest so far: a rate that fell would allow shortest steps to grow, and errors with them. */
static void controlled_rate(perp_controlled *c, const double *v)
{
  const perp_model *model = c->sys.model;
  c->rate = fmax(c->rate, sqrt(fabs(perp_model_gravity_at(model, c->t)) / model->size) +
                              controlled_norm(c, v));
}

void perp_controlled_restart(perp_controlled *c)
{
  const double *q, *v;
  c->sys.state(c->sys.user, &c->t, &q, &v);
  c->h = c->h_first;
  c->suspect = -HUGE_VAL;
  c->target = 2;
  c->passing = c->follows = false;
  c->rate = 0;
  controlled_rate(c, v);
  if (!(c->rate > 0))
    c->rate = 1 / c->h_first; /* at rest without gravity: nothing better is known */
  c->count.restarts++;
}

void perp_controlled_counters(const perp_controlled *c, perp_ode_counters *count)
{
  count->steps = c->count.steps;
  count->rejected = c->count.rejected;
  count->events = c->count.events;
  count->restarts = c->count.restarts;
  count->h_least = c->count.h_least;
  count->h_most = c->count.h_most;
}

/* ---- one row: the step in so many parts ---- */

/* Part i of n has ended with v; part n is the one behind the step.  What is looked at of the
 * changes of v, times n. */
static void controlled_kinks(perp_controlled *c, const trial *p, int i, int n, const double *v,
                             double *row)
{
  const int nv = c->nv;
  for (int k = 0; k < nv; k++) {
    const double change = v[k] - (i == 0 ? c->v[k] : c->v_part[k]);
    const double kink = i <= LEAD ? 0 : n * (change - c->change[k]);
    if (i + 1 == LEAD) row[JUMP * nv + k] = v[k] - c->v[k];
    if (i == LEAD) row[START * nv + k] = c->follows ? n * change - p->h * c->a[k] : 0;
    if (i == LEAD + 1) row[FIRST * nv + k] = kink;
    if (i + 1 == n) row[LAST * nv + k] = row[END * nv + k] = kink;
    if (i >= n) row[END * nv + k] = (i > n ? row[END * nv + k] : 0) + kink;
    row[RATE * nv + k] = n * change;
    c->change[k] = change;
    c->v_part[k] = v[k];
  }
}

/* T_j1 into the table, alone: without the part behind; p->reason < 0: there is none. */
static perp_status controlled_row(perp_ctx *ctx, perp_controlled *c, trial *p, int j, bool alone)
{
  const perp_controlled_sys *sys = &c->sys;
  const int n = perp_extrapolation_parts(j), nv = c->nv;
  const double *q, *v;
  double t, *row = c->table.row[j];
  p->row = j;
  sys->put_back(sys->user, PERP_AT_START);
  for (int i = 0; i < nv; i++) c->v_start[i] = c->v[i] + (c->follows ? p->h / n * c->lag[i] : 0);
  PERP_TRY(sys->start(ctx, sys->user, c->t, c->q, c->v_start));
  sys->within(sys->user, 1 / c->rate);
  perp_step_sum_start(&c->sum);
  for (int i = 0; i < n + (alone ? 0 : sys->behind); i++) {
    perp_step_info info = { .reason = PERP_EXACT, .drift_pos_pre = (double)NAN };
    const double from = i == 0 ? c->t : t, to = i + 1 == n ? p->t1 : c->t + p->h * (i + 1) / n;
    PERP_TRY(sys->step(ctx, sys->user, to, &info));
    if (i >= n && info.reason < 0) break; /* who comes there will see */
    p->reason = info.reason;
    if (info.reason < 0) {
      c->sum.last = info;
      return PERP_OK;
    }
    if (i < n) PERP_TRY(perp_step_sum_add(ctx, &c->sum, to - from, &info));
    sys->state(sys->user, &t, &q, &v);
    controlled_kinks(c, p, i, n, v, row);
    if (i + 1 != n) continue;
    perp_model_difference(sys->model, c->q, q, row);
    memcpy(row + SPEED * nv, v, (size_t)nv * sizeof *v);
    PERP_TRY(sys->keep(ctx, sys->user, PERP_AT_END));
  }
  return PERP_OK;
}

/* ---- trials ---- */

static double controlled_shortest(const perp_controlled *c)
{
  return EVENT * c->accuracy / c->rate;
}

/* Rows until one does: p->ratio <= 1; or none will. */
static perp_status controlled_try(perp_ctx *ctx, perp_controlled *c, trial *p)
{
  double before = HUGE_VAL;
  int parts = 0;
  p->ratio = HUGE_VAL;
  for (int j = 0; j < ROWS && j <= c->target + 1; j++) {
    PERP_TRY(controlled_row(ctx, c, p, j, false));
    if (p->reason < 0) return PERP_OK;
    perp_extrapolation_add(&c->table, j);
    parts += perp_extrapolation_parts(j) + c->sys.behind;
    if (j == 0) continue;
    /* error of the last but one of the diagonal, over what is allowed */
    const double *best = c->table.row[0], *other = c->table.row[1];
    const int nv = c->nv;
    double err[2];
    for (int part = MOVE; part <= SPEED; part++) {
      for (int i = 0; i < nv; i++) c->dq[i] = best[part * nv + i] - other[part * nv + i];
      err[part] = controlled_norm(c, c->dq);
    }
    const double allowed = SMOOTH * c->accuracy * fmax(p->h * c->rate, SHORT);
    const double error = fmax(err[0], err[1] / c->rate) / allowed;
    double kink[END + 1] = { 0 };
    for (int part = START; part <= END; part++)
      kink[part] = controlled_norm(c, best + part * nv) /
                   (perp_extrapolation_parts(p->row) * KINK * c->accuracy * c->rate);
    kink[JUMP] = controlled_norm(c, best + JUMP * nv) / (KINK * c->accuracy * c->rate);
    const double inside = fmax(fmax(error, kink[JUMP]),
                               fmax(kink[START], fmax(kink[FIRST], kink[LAST])));
    p->ahead = !(kink[END] <= 1) && inside <= 1;
    const double ratio = fmax(inside, kink[END]);
    p->ratio = isnan(error + inside + ratio) ? HUGE_VAL : ratio;
    const double factor = fmin(GROWTH, 0.9 * pow(0.5 / fmax(p->ratio, 1e-12), 1.0 / j));
    p->best[j] = p->h * factor;
    p->cost[j] = parts / p->best[j];
    if (p->ratio <= (j < c->target ? EARLY : 1)) return PERP_OK;
    /* would the rows that are left bring it down, each by as much as this one? */
    const double fall = p->ratio / before;
    if (j >= 2 && !(p->ratio * pow(fmin(fall, 1), c->target + 1 - j) <= 10)) return PERP_OK;
    before = p->ratio;
  }
  return PERP_OK;
}

/* Does what begins at the end go on as the step ended?  Rows are off by O(h), and so are the times
 * of their events: one that comes shortly before the end may come behind all of them.  p->ratio >
 * 1: it does not. */
static perp_status controlled_probe(perp_ctx *ctx, perp_controlled *c, trial *p)
{
  const perp_controlled_sys *sys = &c->sys;
  const double *q, *v, h = fmax(controlled_shortest(c), PROBE * fabs(p->t1));
  const int nv = c->nv, n = LEAD + sys->behind;
  double t;
  /* What velocities of the last row are off at its end, over its part: those of the next step begin
   * with it. */
  const double *raw = c->table.row[p->row] + SPEED * c->nv, *best = c->table.row[0] + SPEED * c->nv;
  for (int i = 0; i < c->nv; i++)
    c->lag_end[i] = perp_extrapolation_parts(p->row) * (raw[i] - best[i]) / p->h;
  perp_model_retract(sys->model, c->q, c->table.row[0], c->q1);
  perp_model_project(sys->model, c->q1);
  for (int i = 0; i < nv; i++) c->v_start[i] = c->table.row[0][SPEED * nv + i] + h * c->lag_end[i];
  sys->put_back(sys->user, PERP_AT_END);
  PERP_TRY(sys->start(ctx, sys->user, p->t1, c->q1, c->v_start));
  for (int i = 0; i < n; i++) {
    perp_step_info info = { .reason = PERP_EXACT, .drift_pos_pre = (double)NAN };
    sys->state(sys->user, &t, &q, &v);
    memcpy(c->v_part, v, (size_t)nv * sizeof *v);
    PERP_TRY(sys->step(ctx, sys->user, p->t1 + (i + 1) * h, &info));
    if (info.reason < 0) return PERP_OK; /* who comes there will see */
  }
  const double from = t;
  sys->state(sys->user, &t, &q, &v);
  for (int i = 0; i < nv; i++)
    c->dq[i] = p->h * (v[i] - c->v_part[i]) / (t - from) - c->table.row[0][RATE * nv + i];
  const double kink = controlled_norm(c, c->dq) /
                      (perp_extrapolation_parts(p->row) * KINK * c->accuracy * c->rate);
  p->probed = !(kink <= 1);
  if (p->probed) p->ratio = kink;
  return PERP_OK;
}

/* The row and the step that cost the least; of rows from 1 to the last one made. */
static double controlled_cheapest(perp_controlled *c, const trial *p)
{
  int best = 1;
  for (int j = 2; j <= p->row; j++)
    if (p->cost[j] < p->cost[best]) best = j;
  c->target = best;
  if (best < p->row || p->row + 1 >= ROWS || p->ratio > 1) return p->best[best];
  if (best > 1 && !(p->cost[best] < 0.9 * p->cost[best - 1])) return p->best[best];
  const double parts = p->cost[best] * p->best[best];
  c->target = best + 1;
  return p->best[best] * (parts + perp_extrapolation_parts(best + 1)) / parts;
}

/* How far: as proposed, half way to where an event is thought to be, no further than t_max. */
static void controlled_plan(const perp_controlled *c, double t_max, trial *p)
{
  const double least = controlled_shortest(c), left = t_max - c->t;
  double h = fmin(c->h, LONGEST / c->rate);
  if (c->suspect > c->t) h = fmin(h, c->doubts <= DOUBTS ? c->cap : 0.5 * (c->suspect - c->t));
  h = fmax(h, least);
  if (h > 0.5 * left && h < left) h = fmax(0.5 * left, least);
  *p = (trial){ .h = h, .t1 = c->t + h };
  if (h < left - 0.1 * least) return;
  p->h = left;
  p->t1 = t_max;
}

/* ---- the step ---- */

/* The end of the trial, extrapolated or as the only row has it, is the state. */
static perp_status controlled_accept(perp_ctx *ctx, perp_controlled *c, const trial *p)
{
  const perp_controlled_sys *sys = &c->sys;
  const double *q, *v;
  perp_model_retract(sys->model, c->q, c->table.row[0], c->q1);
  perp_model_project(sys->model, c->q1);
  sys->put_back(sys->user, PERP_AT_END);
  if (p->row > 0)
    PERP_TRY(sys->start(ctx, sys->user, p->t1, c->q1, c->table.row[0] + SPEED * c->nv));
  sys->state(sys->user, &c->t, &q, &v);
  controlled_rate(c, v);
  c->count.h_least = c->count.steps == 0 ? p->h : fmin(c->count.h_least, p->h);
  c->count.h_most = fmax(c->count.h_most, p->h);
  c->count.steps++;
  return PERP_OK;
}

/* The shortest step, as the method makes it. */
static perp_status controlled_pass(perp_ctx *ctx, perp_controlled *c, trial *p)
{
  PERP_TRY(controlled_row(ctx, c, p, 0, true));
  if (p->reason < 0) return PERP_OK;
  const double moved = controlled_norm(c, c->table.row[0]);
  if (!(moved <= TORN * c->accuracy)) {
    p->reason = PERP_STEP_TOO_SMALL;
    snprintf(
        c->cause, sizeof c->cause,
        "accuracy: the shortest step, %.3g s, moves a body by %.3g times the size of the model",
        p->h, moved);
    return PERP_OK;
  }
  c->count.events += !c->passing;
  c->passing = true;
  c->follows = false;
  c->h = GROWTH * p->h;
  c->target = 1;
  return controlled_accept(ctx, c, p);
}

static perp_status controlled_fail(perp_ctx *ctx, perp_controlled *c, perp_reason reason,
                                   perp_step_info *info)
{
  const perp_controlled_sys *sys = &c->sys;
  *info = (perp_step_info){ .reason = reason, .drift_pos_pre = (double)NAN };
  info->cause = reason == c->sum.last.reason ? c->sum.last.cause : c->cause;
  sys->put_back(sys->user, PERP_AT_START);
  return sys->start(ctx, sys->user, c->t, c->q, c->v);
}

static void controlled_refuse(perp_ctx *ctx, perp_controlled *c, const trial *p)
{
  double h = p->reason < 0 || p->row == 0 || p->probed ? 0 : controlled_cheapest(c, p);
  c->count.rejected++;
  PERP_TRACE(ctx, .method = "accuracy", .what = "reject", .iteration = p->row, .entering = -1,
             .leaving = -1, .step = p->h, .residual = p->ratio, .n = c->nv, .x = c->v);
  if (!(h > 0.25 * p->h)) { /* not what a smooth error would ask for */
    c->doubts = c->suspect > c->t ? c->doubts + 1 : 1;
    c->suspect = p->t1 + (p->ahead ? c->sys.behind * p->h / perp_extrapolation_parts(0) : 0);
    c->cap = h = 0.5 * p->h;
  }
  c->h = fmin(h, 0.7 * p->h);
}

perp_status perp_controlled_step(perp_ctx *ctx, perp_controlled *c, double t_max,
                                 perp_step_info *info)
{
  const perp_controlled_sys *sys = &c->sys;
  const double *q, *v;
  sys->state(sys->user, &c->t, &q, &v);
  if (!(t_max > c->t)) return PERP_OK;
  memcpy(c->q, q, (size_t)sys->model->nq * sizeof *q);
  memcpy(c->v, v, (size_t)c->nv * sizeof *v);
  PERP_TRY(sys->keep(ctx, sys->user, PERP_AT_START));
  c->cause[0] = '\0';
  for (int tries = 0; tries < TRIALS; tries++) {
    trial p;
    controlled_plan(c, t_max, &p);
    if (!(p.t1 > c->t)) return controlled_fail(ctx, c, PERP_STEP_TOO_SMALL, info);
    const bool shortest = p.h <= 1.5 * controlled_shortest(c);
    PERP_TRY(shortest ? controlled_pass(ctx, c, &p) : controlled_try(ctx, c, &p));
    if (shortest && p.reason < 0) return controlled_fail(ctx, c, p.reason, info);
    if (!shortest && p.reason >= 0 && p.ratio <= 1) PERP_TRY(controlled_probe(ctx, c, &p));
    if (!shortest && p.reason >= 0 && p.ratio <= 1) {
      PERP_TRY(controlled_accept(ctx, c, &p));
      memcpy(c->lag, c->lag_end, (size_t)c->nv * sizeof *c->lag);
      const double h = controlled_cheapest(c, &p);
      c->h = p.h < c->h ? fmax(h, c->h)
                        : h; /* a step that was cut says little about the next one */
      c->passing = false;
      c->follows = true;
      for (int i = 0; i < c->nv; i++) c->a[i] = c->table.row[0][RATE * c->nv + i] / p.h;
      if (h < 0.5 * (c->suspect - c->t)) c->suspect = -HUGE_VAL; /* refused for a smooth error */
    } else if (!shortest) {
      controlled_refuse(ctx, c, &p);
      continue;
    }
    perp_step_sum_info(&c->sum, info);
    return PERP_OK;
  }
  return controlled_fail(ctx, c, PERP_STALLED, info);
}
