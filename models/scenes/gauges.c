/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gauges that several scenes share.  A gauge is one block of memory with all it needs; its first `size`
 * bytes are put back to what they were when a run starts. */
#include "models/kinematics/kinematics.h"
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the frame ------------------------------------------------------------------------------------------ */

/* Before the block of a gauge: its copy as it was when it was added. */
struct frame {
  size_t size;
  max_align_t first[];
};

static struct frame *frame_of(void *user)
{
  return *(struct frame **)user;
}

static void gauges_restart(void *user)
{
  const struct frame *f = frame_of(user);
  memcpy(user, f->first, f->size);
}

static void gauges_destroy(void *user)
{
  free(frame_of(user));
  free(user);
}

perp_status perp_gauge_add(perp_ctx *ctx, perp_scene *scene, const char *metric, void *user,
                           size_t size, perp_gauge_sample *sample, perp_gauge_value *value)
{
  if (user == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the gauge %s", metric);
  struct frame *f = malloc(sizeof *f + size);
  if (f == NULL || scene->n_gauges == PERP_SCENE_GAUGES) {
    free(f);
    free(user);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no room for the gauge %s", metric);
  }
  *(struct frame **)user = f;
  f->size = size;
  memcpy(f->first, user, size);
  scene->gauge[scene->n_gauges++] = (perp_gauge){ metric, user,  gauges_restart,
                                                  sample, value, gauges_destroy };
  return PERP_OK;
}

perp_status perp_gauge_also(perp_ctx *ctx, perp_scene *scene, const char *metric,
                            perp_gauge_value *value)
{
  if (scene->n_gauges == PERP_SCENE_GAUGES)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no room for the gauge %s", metric);
  void *user = scene->gauge[scene->n_gauges - 1].user;
  scene->gauge[scene->n_gauges++] = (perp_gauge){ .metric = metric, .user = user, .value = value };
  return PERP_OK;
}

/* ---- acceleration --------------------------------------------------------------------------------------- */

struct accel {
  void *frame;
  int dim, nvb, body;
  double exact[3], scale, t0, t1;
  bool started;
  double start, end, v0[3], v1[3];
};

static void accel_sample(void *user, double t, const double *q, const double *v,
                         const perp_step_info *info)
{
  struct accel *g = user;
  (void)q, (void)info;
  const double *vb = v + g->nvb * g->body, slack = 1e-10;
  if (t < g->t0 - slack || t > g->t1 + slack) return;
  if (!g->started) memcpy(g->v0, vb, (size_t)g->dim * sizeof *vb), g->start = t;
  memcpy(g->v1, vb, (size_t)g->dim * sizeof *vb);
  g->end = t;
  g->started = true;
}

static double accel_value(const void *user)
{
  const struct accel *g = user;
  if (!g->started || g->end <= g->start) return nan("");
  double err = 0, size = 0;
  for (int i = 0; i < g->dim; i++) {
    const double a = (g->v1[i] - g->v0[i]) / (g->end - g->start);
    err += (a - g->exact[i]) * (a - g->exact[i]);
    size += g->exact[i] * g->exact[i];
  }
  return sqrt(err) / (size > 0 ? sqrt(size) : g->scale);
}

perp_status perp_gauge_accel(perp_ctx *ctx, perp_scene *scene, int body, const double exact[3],
                             double scale, double t0, double t1)
{
  struct accel *g = malloc(sizeof *g);
  if (g != NULL) {
    const int dim = perp_model_dim(scene->model);
    *g = (struct accel){
      .dim = dim, .nvb = dim == 3 ? 6 : 3, .body = body, .scale = scale, .t0 = t0, .t1 = t1
    };
    perp_scene_builder_point(dim, exact, g->exact);
  }
  return perp_gauge_add(ctx, scene, "accel.rel.err", g, sizeof *g, accel_sample, accel_value);
}

/* ---- places of statics ---------------------------------------------------------------------------------- */

struct places {
  void *frame;
  int dim, n;
  double worst;
  double *at; /* [3 n], behind the struct */
};

static void places_sample(void *user, double t, const double *q, const double *v,
                          const perp_step_info *info)
{
  struct places *g = user;
  const int nqb = g->dim == 3 ? 7 : 3;
  (void)t, (void)v, (void)info;
  g->worst = 0;
  for (int b = 0; b < g->n; b++) {
    double square = 0;
    for (int i = 0; i < g->dim; i++) {
      const double e = q[nqb * b + i] - g->at[3 * b + i];
      square += e * e;
    }
    if (!(sqrt(square) <= g->worst)) g->worst = sqrt(square);
  }
}

static double places_value(const void *user)
{
  return ((const struct places *)user)->worst;
}

perp_status perp_gauge_places(perp_ctx *ctx, perp_scene *scene, int n, const double *places)
{
  struct places *g = malloc(sizeof *g + 3 * (size_t)n * sizeof *places);
  if (g != NULL) {
    *g = (struct places){
      .dim = perp_model_dim(scene->model), .n = n, .worst = nan(""), .at = (double *)(g + 1)
    };
    memcpy(g->at, places, 3 * (size_t)n * sizeof *places);
  }
  return perp_gauge_add(ctx, scene, "statics.err.max", g, sizeof *g, places_sample, places_value);
}

/* ---- period --------------------------------------------------------------------------------------------- */

struct period {
  void *frame;
  int i, passages;
  double exact, t, x, first, last;
};

static void period_sample(void *user, double t, const double *q, const double *v,
                          const perp_step_info *info)
{
  struct period *g = user;
  const double x = q[g->i];
  (void)v, (void)info;
  if (g->x > 0 && x <= 0) {
    g->last = g->t + (t - g->t) * g->x / (g->x - x);
    if (g->passages++ == 0) g->first = g->last;
  }
  g->t = t;
  g->x = x;
}

static double period_value(const void *user)
{
  const struct period *g = user;
  if (g->passages < 2) return nan("");
  return fabs((g->last - g->first) / (g->passages - 1) / g->exact - 1);
}

perp_status perp_gauge_period(perp_ctx *ctx, perp_scene *scene, int i, double period)
{
  struct period *g = malloc(sizeof *g);
  if (g != NULL) *g = (struct period){ .i = i, .exact = period };
  return perp_gauge_add(ctx, scene, "period.rel.err", g, sizeof *g, period_sample, period_value);
}

/* ---- rest ------------------------------------------------------------------------------------------------- */

struct rest {
  void *frame;
  int dim, first, n;
  double radius, t0, drift, speed, limit;
  bool started, stands;
  double *from; /* [nq of the bodies], behind the struct */
};

/* largest displacement of the centre and of the points at `radius` along the axes */
static double gauges_displacement(const struct rest *g, const double *qa, const double *qb)
{
  perp_pose a = { 0 }, b = { 0 };
  double most = 0;
  const int d = g->dim;
  perp_pose_of(d, qa, &a);
  perp_pose_of(d, qb, &b);
  for (int axis = -1; axis < d; axis++)
    for (int sign = -1; sign <= 1; sign += 2) {
      double square = 0;
      for (int i = 0; i < d; i++) {
        double e = b.x[i] - a.x[i];
        if (axis >= 0) e += sign * g->radius * (b.R[d * axis + i] - a.R[d * axis + i]);
        square += e * e;
      }
      if (!(square <= most)) most = square;
    }
  return sqrt(most);
}

static void rest_sample(void *user, double t, const double *q, const double *v,
                        const perp_step_info *info)
{
  struct rest *g = user;
  (void)info;
  if (t < g->t0 - 1e-10) return;
  const int nqb = g->dim == 3 ? 7 : 3, nvb = g->dim == 3 ? 6 : 3;
  const double *now = q + (size_t)nqb * (size_t)g->first;
  if (!g->started) memcpy(g->from, now, (size_t)(nqb * g->n) * sizeof *now);
  g->started = true;
  double latest = 0;
  for (int b = 0; b < g->n; b++) {
    const double moved = gauges_displacement(g, g->from + nqb * b, now + nqb * b);
    if (!(moved <= latest)) latest = moved;
    const double *vb = v + nvb * (g->first + b);
    const double *w = vb + g->dim;
    const double spin = g->dim == 3 ? sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) : fabs(w[0]);
    const double along = sqrt(perp_dot(g->dim, vb, vb));
    const double speed = along + g->radius * spin;
    if (info != NULL && !(speed <= g->speed) && !isnan(g->speed)) g->speed = speed;
  }
  if (!(latest <= g->drift) && !isnan(g->drift)) g->drift = latest;
}

static double rest_drift(const void *user)
{
  const struct rest *g = user;
  return g->started ? g->drift : nan("");
}

static double rest_speed(const void *user)
{
  const struct rest *g = user;
  return g->started ? g->speed : nan("");
}

static double rest_verdict(const void *user)
{
  const struct rest *g = user;
  if (!g->started || isnan(g->drift)) return nan("");
  return (g->drift <= g->limit) == g->stands ? 0 : 1;
}

static perp_status add_rest(perp_ctx *ctx, perp_scene *scene, const struct rest *def)
{
  const int dim = perp_model_dim(scene->model), nqb = dim == 3 ? 7 : 3;
  struct rest *g = malloc(sizeof *g + (size_t)(nqb * def->n) * sizeof *g->from);
  if (g != NULL) {
    *g = *def;
    g->dim = dim;
    g->from = (double *)(g + 1);
  }
  return perp_gauge_add(ctx, scene, "pose.drift.max", g, sizeof *g, rest_sample, rest_drift);
}

perp_status perp_gauge_rest(perp_ctx *ctx, perp_scene *scene, int first, int n, double radius,
                            double t0)
{
  PERP_TRY(
      add_rest(ctx, scene, &(struct rest){ .first = first, .n = n, .radius = radius, .t0 = t0 }));
  return perp_gauge_also(ctx, scene, "creep.vel.max", rest_speed);
}

perp_status perp_gauge_stands(perp_ctx *ctx, perp_scene *scene, int first, int n, double radius,
                              double limit, bool stands)
{
  PERP_TRY(
      add_rest(ctx, scene,
               &(struct rest){
                   .first = first, .n = n, .radius = radius, .limit = limit, .stands = stands }));
  return perp_gauge_also(ctx, scene, "verdict.err", rest_verdict);
}

/* ---- forces ----------------------------------------------------------------------------------------------- */

struct force {
  void *frame;
  int dim, n;
  double scale, t0, t_before, err;
  bool started;
  perp_force_truth *truth; /* [n], behind the struct */
};

/* what one contact adds to the force [N s] */
static double gauges_share(const struct force *g, const perp_force_truth *f, const perp_contact *k,
                           const double *impulse)
{
  if (f->b == PERP_ANY_BODY) {
    if (k->body_a != PERP_WORLD && k->body_b != PERP_WORLD) return 0;
    return k->body_a == PERP_WORLD ? impulse[g->dim - 1] : -impulse[g->dim - 1];
  }
  const bool is = (k->body_a == f->a && k->body_b == f->b) ||
                  (k->body_a == f->b && k->body_b == f->a);
  return is ? perp_dot(g->dim, k->n, impulse) : 0;
}

static void force_sample(void *user, double t, const double *q, const double *v,
                         const perp_step_info *info)
{
  struct force *g = user;
  (void)q, (void)v;
  const double h = t - g->t_before;
  if (info != NULL && h > 0 && g->t_before >= g->t0 - 1e-10) {
    g->started = true;
    for (int i = 0; i < g->n; i++) {
      double sum = 0;
      for (int c = 0; c < info->n_contacts && info->impulse != NULL; c++)
        sum += gauges_share(g, &g->truth[i], &info->contacts[c], info->impulse + 3 * c);
      const double err = fabs(sum / h - g->truth[i].exact);
      if (!(err <= g->err) && !isnan(g->err)) g->err = err;
    }
  }
  g->t_before = t;
}

static double force_value(const void *user)
{
  const struct force *g = user;
  return g->started ? g->err / g->scale : nan("");
}

perp_status perp_gauge_force(perp_ctx *ctx, perp_scene *scene, int n,
                             const perp_force_truth *truths, double scale, double t0)
{
  struct force *g = malloc(sizeof *g + (size_t)n * sizeof *truths);
  if (g != NULL) {
    *g = (struct force){ .dim = perp_model_dim(scene->model),
                         .n = n,
                         .scale = scale,
                         .t0 = t0,
                         .truth = (perp_force_truth *)(g + 1) };
    memcpy(g->truth, truths, (size_t)n * sizeof *truths);
  }
  return perp_gauge_add(ctx, scene, "force.rel.err", g, sizeof *g, force_sample, force_value);
}

/* ---- velocities at one time ----------------------------------------------------------------------------------- */

struct velocity {
  void *frame;
  int n;
  double t, scale, err;
  bool seen;
  double *weight, *exact; /* [n] each, behind the struct */
};

static void velocity_sample(void *user, double t, const double *q, const double *v,
                            const perp_step_info *info)
{
  struct velocity *g = user;
  (void)q, (void)info;
  if (g->seen || t < g->t - 1e-10) return;
  g->seen = true;
  for (int i = 0; i < g->n; i++) {
    if (!(g->weight[i] > 0)) continue;
    const double err = g->weight[i] * fabs(v[i] - g->exact[i]) / g->scale;
    if (!(err <= g->err) && !isnan(g->err)) g->err = err;
  }
}

static double velocity_value(const void *user)
{
  const struct velocity *g = user;
  return g->seen ? g->err : nan("");
}

perp_status perp_gauge_velocity(perp_ctx *ctx, perp_scene *scene, const char *metric, double t,
                                const double *weight, const double *exact, double scale)
{
  const int n = perp_model_nv(scene->model);
  struct velocity *g = malloc(sizeof *g + 2 * (size_t)n * sizeof *exact);
  if (g != NULL) {
    *g = (struct velocity){ .n = n, .t = t, .scale = scale, .weight = (double *)(g + 1) };
    g->exact = g->weight + n;
    memcpy(g->weight, weight, (size_t)n * sizeof *weight);
    memcpy(g->exact, exact, (size_t)n * sizeof *exact);
  }
  return perp_gauge_add(ctx, scene, metric, g, sizeof *g, velocity_sample, velocity_value);
}

/* ---- paths ------------------------------------------------------------------------------------------------- */

struct path {
  void *frame;
  int dim, body;
  double err;
  bool started;
  perp_path_fn *path;
  const void *user; /* behind the struct */
};

static void path_sample(void *user, double t, const double *q, const double *v,
                        const perp_step_info *info)
{
  struct path *g = user;
  double p[3], x[3], square = 0;
  (void)v, (void)info;
  g->path(g->user, t, p);
  perp_scene_builder_point(g->dim, p, x);
  const double *at = q + (g->dim == 3 ? 7 : 3) * g->body;
  for (int i = 0; i < g->dim; i++) square += (at[i] - x[i]) * (at[i] - x[i]);
  g->started = true;
  if (!(sqrt(square) <= g->err) && !isnan(g->err)) g->err = sqrt(square);
}

static double path_value(const void *user)
{
  const struct path *g = user;
  return g->started ? g->err : nan("");
}

perp_status perp_gauge_path(perp_ctx *ctx, perp_scene *scene, int body, perp_path_fn *path,
                            const void *user, size_t size)
{
  struct path *g = malloc(sizeof *g + size);
  if (g != NULL) {
    *g = (struct path){
      .dim = perp_model_dim(scene->model), .body = body, .path = path, .user = g + 1
    };
    memcpy(g + 1, user, size);
  }
  return perp_gauge_add(ctx, scene, "path.err.max", g, sizeof *g, path_sample, path_value);
}

/* ---- events -------------------------------------------------------------------------------------------------- */

struct events {
  void *frame;
  int n, next, nq, nv;
  bool started;
  double slack, err, t;
  perp_event_fn *happened;
  const void *user; /* behind the struct, as are the arrays */
  double *times, *q_before, *v_before;
};

static void events_sample(void *user, double t, const double *q, const double *v,
                          const perp_step_info *info)
{
  struct events *g = user;
  (void)info;
  while (g->next < g->n &&
         g->happened(g->user, g->next, g->nq, q, v, g->started ? g->q_before : NULL,
                     g->started ? g->v_before : NULL)) {
    g->err = fmax(g->err, fabs(t - g->times[g->next]));
    g->next++;
    if (g->next < g->n && g->times[g->next] > g->times[g->next - 1]) break; /* one at a time */
  }
  memcpy(g->q_before, q, (size_t)g->nq * sizeof *q);
  memcpy(g->v_before, v, (size_t)g->nv * sizeof *v);
  g->started = true;
  g->t = t;
}

static double events_value(const void *user)
{
  const struct events *g = user;
  if (!g->started || g->n == 0) return nan("");
  if (g->next < g->n && g->times[g->next] <= g->t - g->slack) return HUGE_VAL;
  return g->next > 0 ? g->err : nan("");
}

perp_status perp_gauge_events(perp_ctx *ctx, perp_scene *scene, int n, const double *times,
                              double slack, perp_event_fn *happened, const void *user, size_t size)
{
  const int nq = perp_model_nq(scene->model), nv = perp_model_nv(scene->model);
  struct events *g = malloc(sizeof *g + (size_t)(n + nq + nv) * sizeof *times + size);
  if (g != NULL) {
    double *block = (double *)(g + 1);
    *g = (struct events){ .n = n,
                          .nq = nq,
                          .nv = nv,
                          .slack = slack,
                          .happened = happened,
                          .times = block,
                          .q_before = block + n,
                          .v_before = block + n + nq,
                          .user = block + n + nq + nv };
    memcpy(g->times, times, (size_t)n * sizeof *times);
    if (size > 0) memcpy(block + n + nq + nv, user, size);
  }
  return perp_gauge_add(ctx, scene, "event.err", g, sizeof *g, events_sample, events_value);
}
