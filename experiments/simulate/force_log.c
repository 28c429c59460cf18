/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/force_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_MOST = 60, PERP_ANY_PARTNER = -3 };

/* ---- names ---- */

static void log_joint_name(const perp_model *model, int i, char *text, size_t size)
{
  const perp_joint_def *def = perp_model_joint(model, i);
  const int motion = perp_model_joint_motion(model, i);
  if (def->name != NULL)
    snprintf(text, size, "%.60s", def->name);
  else if (motion >= 0)
    snprintf(text, size, "motion%d", motion);
  else
    snprintf(text, size, "joint%d", i);
}

static void log_body_name(const perp_model *model, int i, char *text, size_t size)
{
  const perp_body_def *def = perp_model_body(model, i);
  if (i < 0)
    snprintf(text, size, i == PERP_WORLD ? "world" : "any");
  else if (def->name != NULL)
    snprintf(text, size, "%.30s", def->name);
  else
    snprintf(text, size, "body%d", i);
}

static void log_drive_name(const perp_model *model, int i, char *text, size_t size)
{
  char joint[64];
  const perp_drive_def *drive = perp_model_drive(model, i);
  log_joint_name(model, drive->joint, joint, sizeof joint);
  if (drive->name != NULL)
    snprintf(text, size, "%.60s", drive->name);
  else
    snprintf(text, size, "%.50s.drive%d", joint, i);
}

/* A joint that has columns: not the one that holds a disabled body. */
static bool log_shows(const perp_model *model, int i)
{
  return perp_model_joint_disabled(model, i) < 0;
}

/* ---- columns ---- */

static void log_add(perp_force_log *log, const char *name, const char *what)
{
  if (log->header != NULL)
    snprintf(log->header[log->columns], PERP_HEADER_MAX, "%.96s%s", name, what);
  log->columns++;
}

static void log_total(perp_force_log *log, const char *kind, const char *name, const char *unit)
{
  if (log->total != NULL) {
    perp_force_total *total = &log->total[log->n_total];
    *total = (perp_force_total){ .max = (double)NAN, .rms = (double)NAN, .final = (double)NAN };
    snprintf(total->name, sizeof total->name, "%s.%.80s", kind, name);
    snprintf(total->unit, sizeof total->unit, "%s", unit);
  }
  log->n_total++;
}

/* The vectors of one force, world axes first. */
static const char *const vector_space[] = { ".fx[N]",  ".fy[N]",  ".fz[N]", ".tx[Nm]",
                                            ".ty[Nm]", ".tz[Nm]", NULL };
static const char *const vector_plane[] = { ".fx[N]", ".fy[N]", ".tz[Nm]", NULL };
static const char *const frame_space[] = { ".f1[N]",  ".f2[N]",  ".f3[N]", ".t1[Nm]",
                                           ".t2[Nm]", ".t3[Nm]", NULL };
static const char *const frame_plane[] = { ".f1[N]", ".f2[N]", NULL };
static const char *const point_space[] = { ".px[m]", ".py[m]", ".pz[m]", NULL };
static const char *const point_plane[] = { ".px[m]", ".py[m]", NULL };

static void log_add_all(perp_force_log *log, const char *name, const char *const *what)
{
  for (; *what != NULL; what++) log_add(log, name, *what);
}

/* Counts the columns, and with memory for them writes their names. */
static void log_columns(perp_force_log *log, const perp_model *model)
{
  const bool space = perp_model_dim(model) == 3;
  char name[160], a[32], b[32];
  log->columns = log->n_total = 0;
  for (int joint = 0; joint < perp_model_joints(model); joint++) {
    if (!log_shows(model, joint)) continue;
    log_joint_name(model, joint, name, sizeof name);
    log_add_all(log, name, space ? vector_space : vector_plane);
    log_add_all(log, name, space ? frame_space : frame_plane);
    log_add(log, name, ".unique");
    log_total(log, "force.joint", name, "N");
    log_total(log, "torque.joint", name, "Nm");
  }
  for (int drive = 0; drive < perp_model_drives(model); drive++) {
    const bool slides = perp_model_drive_slides(model, drive);
    log_drive_name(model, drive, name, sizeof name);
    log_add(log, name, slides ? ".force[N]" : ".torque[Nm]");
    log_total(log, slides ? "force.drive" : "torque.drive", name, slides ? "N" : "Nm");
  }
  for (int pair = 0; pair < log->n_pairs; pair++) {
    log_body_name(model, log->pair_a[pair], a, sizeof a);
    log_body_name(model, log->pair_b[pair], b, sizeof b);
    snprintf(name, sizeof name, "contact.%s.%s", a, b);
    log_add_all(log, name, space ? vector_space : vector_plane);
    log_add_all(log, name, space ? point_space : point_plane);
    log_total(log, "force", name, "N");
  }
}

/* ---- pairs ---- */

static bool log_pair_known(const perp_force_log *log, int a, int b)
{
  for (int pair = 0; pair < log->n_pairs; pair++)
    if (log->pair_a[pair] == a && log->pair_b[pair] == b) return true;
  return false;
}

static void log_pairs(perp_force_log *log, const perp_model *model, const perp_collision *collision,
                      bool single)
{
  const int n = perp_model_shapes(model);
  log->n_pairs = 0;
  for (int i = 0; i < n; i++)
    for (int k = i + 1; k < n; k++) {
      if (!perp_collision_may_touch(collision, i, k)) continue;
      const int body = perp_model_shape(model, i)->body, y = perp_model_shape(model, k)->body;
      const int a = body < y ? body : y, b = body < y ? y : body;
      for (int side = 0; side < (single ? 2 : 1); side++) {
        const int first = single ? PERP_ANY_PARTNER : a, second = side == 0 ? b : a;
        if (second < 0 || log_pair_known(log, first, second)) continue;
        if (!single && log->n_pairs > PAIRS_MOST) return;
        log->pair_a[log->n_pairs] = first;
        log->pair_b[log->n_pairs++] = second;
      }
    }
}

/* ---- life ---- */

perp_status perp_force_log_create(perp_ctx *ctx, perp_model *model, const perp_sim *sim,
                                  const perp_collision *may_touch, perp_force_log **out)
{
  *out = NULL;
  perp_force_log *log = calloc(1, sizeof *log);
  if (log == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the forces of a run");
  perp_status status = perp_step_forces_create(ctx, model, sim, &log->step);
  const size_t most = (size_t)perp_model_bodies(model) + PAIRS_MOST + 1;
  log->pair_a = malloc(2 * most * sizeof *log->pair_a);
  bool good = log->pair_a != NULL;
  if (status == PERP_OK && good) {
    log->pair_b = log->pair_a + most;
    if (may_touch != NULL) log_pairs(log, model, may_touch, false);
    if (log->n_pairs > PAIRS_MOST) log_pairs(log, model, may_touch, true);
    log_columns(log, model);
    const size_t columns = (size_t)log->columns + 1, totals = (size_t)log->n_total + 1;
    log->header = calloc(columns, sizeof *log->header);
    log->row = calloc(columns, sizeof *log->row);
    log->total = calloc(totals, sizeof *log->total);
    log->now = calloc(3 * totals, sizeof *log->now);
    good = log->header != NULL && log->row != NULL && log->total != NULL && log->now != NULL;
    if (good) {
      log->before = log->now + totals;
      log->square = log->before + totals;
      log_columns(log, model);
    }
  }
  if (status == PERP_OK && !good)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the forces of a run");
  if (status == PERP_OK)
    *out = log;
  else
    perp_force_log_destroy(log);
  return status;
}

void perp_force_log_destroy(perp_force_log *log)
{
  if (log == NULL) return;
  perp_step_forces_destroy(log->step);
  free(log->pair_a);
  free(log->header);
  free(log->row);
  free(log->total);
  free(log->now);
  free(log);
}

bool perp_force_log_at_steps(const perp_force_log *log)
{
  return log->step->drives > 0 || log->n_pairs > 0;
}

/* ---- a row ---- */

static double *log_vector(double *row, int dim, const double force[3], const double torque[3])
{
  for (int k = 0; k < dim; k++) *row++ = force[k];
  for (int k = dim == 3 ? 0 : 2; k < 3; k++) *row++ = torque[k];
  return row;
}

/* The contacts of one pair, or of one body with all others: torque about the point of these. */
static void log_pair(const perp_force_log *log, int i, perp_pair_force *sum)
{
  const perp_step_forces *step = log->step;
  const int a = log->pair_a[i], b = log->pair_b[i];
  const double unknown = step->contacts_known ? 0 : (double)NAN;
  *sum = (perp_pair_force){ .a = a, .b = b };
  for (int pass = 0; pass < 2; pass++) {
    for (int p = 0; p < step->n_pairs; p++) {
      const perp_pair_force *pair = &step->pair[p];
      const bool on_b = pair->b == b, on_a = pair->a == b;
      if (a == PERP_ANY_PARTNER ? !(on_a || on_b) : pair->a != a || !on_b) continue;
      const double sign = on_b ? 1 : -1;
      if (pass == 0) {
        for (int k = 0; k < 3; k++) {
          sum->force[k] += sign * pair->force[k];
          sum->point[k] += pair->weight * pair->point[k];
        }
        sum->weight += pair->weight;
        continue;
      }
      double arm[3], moment[3];
      for (int k = 0; k < 3; k++) arm[k] = pair->point[k] - sum->point[k];
      perp_cross(arm, pair->force, moment);
      for (int k = 0; k < 3; k++) sum->torque[k] += sign * (pair->torque[k] + moment[k]);
    }
    for (int k = 0; k < 3 && pass == 0; k++)
      sum->point[k] = sum->weight > 0 ? sum->point[k] / sum->weight : (double)NAN;
  }
  for (int k = 0; k < 3; k++) {
    sum->force[k] += unknown;
    sum->torque[k] = sum->weight > 0 ? sum->torque[k] + unknown : unknown;
  }
}

static void log_fill(perp_force_log *log)
{
  const perp_step_forces *step = log->step;
  const perp_model *model = step->model;
  const int dim = perp_model_dim(model);
  double *row = log->row, *now = log->now;
  for (int i = 0; i < step->joints; i++) {
    const perp_reaction *joint = &step->joint[i];
    if (!log_shows(model, i)) continue;
    row = log_vector(row, dim, joint->force, joint->torque);
    for (int k = 0; k < dim; k++) *row++ = joint->local_force[k];
    for (int k = 0; k < dim && dim == 3; k++) *row++ = joint->local_torque[k];
    *row++ = step->joints_known ? step->unique[i] : (double)NAN;
    *now++ = sqrt(perp_dot(3, joint->force, joint->force));
    *now++ = sqrt(perp_dot(3, joint->torque, joint->torque));
    log->ever_shared |= step->joints_known && !step->unique[i];
  }
  for (int drive = 0; drive < step->drives; drive++) *row++ = *now++ = step->drive[drive];
  for (int pair = 0; pair < log->n_pairs; pair++) {
    perp_pair_force sum;
    log_pair(log, pair, &sum);
    row = log_vector(row, dim, sum.force, sum.torque);
    for (int k = 0; k < dim; k++) *row++ = sum.point[k];
    *now++ = sqrt(perp_dot(3, sum.force, sum.force));
  }
}

perp_status perp_force_log_step(perp_ctx *ctx, perp_force_log *log, const perp_step_span *span,
                                int redundant)
{
  const bool mean = log->step->time <= PERP_FORCES_MEAN_MIDDLE;
  const double t = log->step->time == PERP_FORCES_AT_START ? span->t0 : span->t1;
  PERP_TRY(perp_step_forces_at(ctx, log->step, span, redundant));
  log_fill(log);
  log->unknown += !log->step->joints_known;
  log->ever_known |= log->step->joints_known;
  if (log->samples++ == 0) log->t_first = mean ? span->t0 : t;
  const double h = mean ? span->t1 - span->t0 : t - log->t_before;
  for (int i = 0; i < log->n_total; i++) {
    const double x = log->now[i];
    perp_force_total *total = &log->total[i];
    if (!isnan(x)) total->max = fmax(total->max, fabs(x));
    total->final = x;
    if (mean && !isnan(x))
      log->square[i] += h * x * x;
    else if (!mean && log->samples > 1 && !isnan(x) && !isnan(log->before[i]))
      log->square[i] += h / 2 * (x * x + log->before[i] * log->before[i]);
    log->before[i] = x;
  }
  log->t_before = t;
  return PERP_OK;
}

perp_status perp_force_log_between(perp_ctx *ctx, perp_force_log *log, double t, const double *q,
                                   const double *v, const double *lambda, int redundant)
{
  PERP_TRY(perp_step_forces_state(ctx, log->step, t, q, v, lambda, redundant));
  log_fill(log);
  return PERP_OK;
}

void perp_force_log_end(perp_force_log *log)
{
  const double length = log->t_before - log->t_first;
  for (int i = 0; i < log->n_total && length > 0; i++)
    if (!isnan(log->total[i].max)) log->total[i].rms = sqrt(log->square[i] / length);
}

/* ---- metrics ---- */

static const char *const log_ends[] = { ".max", ".rms", ".final" };

bool perp_force_metric_is(const char *name, size_t *total)
{
  static const char *const starts[] = { "force.joint.", "torque.joint.", "force.drive.",
                                        "torque.drive.", "force.contact." };
  const size_t n = strlen(name);
  for (int i = 0; i < 5; i++)
    for (int e = 0; e < 3; e++) {
      const size_t start = strlen(starts[i]), end = strlen(log_ends[e]);
      if (n <= start + end || strncmp(name, starts[i], start) != 0 ||
          strcmp(name + n - end, log_ends[e]) != 0)
        continue;
      if (total != NULL) *total = n - end;
      return true;
    }
  return false;
}

double perp_force_metric(const perp_force_total *total, int n, const char *name, bool *found)
{
  size_t length;
  *found = false;
  if (!perp_force_metric_is(name, &length)) return (double)NAN;
  for (int i = 0; i < n && !*found; i++) {
    if (strlen(total[i].name) != length || strncmp(total[i].name, name, length) != 0) continue;
    *found = true;
    const char *end = name + length;
    return strcmp(end, ".max") == 0   ? total[i].max
           : strcmp(end, ".rms") == 0 ? total[i].rms
                                      : total[i].final;
  }
  return (double)NAN;
}

perp_status perp_force_log_check(perp_ctx *ctx, const perp_force_log *log, const char *const *names,
                                 int n)
{
  for (int i = 0; i < n; i++) {
    bool found;
    perp_force_metric(log->total, log->n_total, names[i], &found);
    if (found) continue;
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "there is no force for the metric %s in this scene; the first one is %s. perp "
                     "simulate SCENE --forces lists all",
                     names[i], log->n_total > 0 ? log->total[0].name : "none");
  }
  return PERP_OK;
}
