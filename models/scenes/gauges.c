/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gauges that several scenes share.  A gauge is one block of memory with all it needs; its first
 * `size` bytes are put back to what they were when a run starts. */
#include "models/geometry/kinematics.h"
#include "models/scenes/gauges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the frame ---- */

/* Around a gauge: its head as it was when it was added is at `first`, behind the data. */
struct frame {
  size_t size;
  char *first;
  max_align_t gauge[];
};

static struct frame *frame_of(void *user)
{
  return (struct frame *)((char *)user - offsetof(struct frame, gauge));
}

static void gauges_restart(void *user)
{
  const struct frame *frame = frame_of(user);
  memcpy(user, frame->first, frame->size);
}

static void gauges_destroy(void *user)
{
  free(frame_of(user));
}

/* A gauge with the head *like and room for data behind it; NULL and an error: there is no room. */
static void *gauges_create(perp_ctx *ctx, perp_scene *scene, const char *metric, const void *like,
                           size_t size, size_t data, perp_gauge_sample *sample,
                           perp_gauge_value *value)
{
  struct frame *frame = malloc(sizeof *frame + size + data + size);
  if (frame == NULL || scene->n_gauges == PERP_SCENE_GAUGES) {
    free(frame);
    PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the measured quantity %s", metric);
    return NULL;
  }
  frame->size = size;
  frame->first = (char *)frame->gauge + size + data;
  memcpy(frame->gauge, like, size);
  memcpy(frame->first, like, size);
  scene->gauge[scene->n_gauges++] = (perp_gauge){ .metric = metric,
                                                  .user = frame->gauge,
                                                  .restart = gauges_restart,
                                                  .sample = sample,
                                                  .value = value,
                                                  .destroy = gauges_destroy };
  return frame->gauge;
}

perp_status perp_gauge_add(perp_ctx *ctx, perp_scene *scene, const char *metric, const void *user,
                           size_t size, perp_gauge_sample *sample, perp_gauge_value *value)
{
  const void *gauge = gauges_create(ctx, scene, metric, user, size, 0, sample, value);
  return gauge != NULL ? PERP_OK : PERP_ERR_NOMEM;
}

perp_status perp_gauge_also(perp_ctx *ctx, perp_scene *scene, const char *metric,
                            perp_gauge_value *value)
{
  if (scene->n_gauges == PERP_SCENE_GAUGES)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the measured quantity %s", metric);
  void *user = scene->gauge[scene->n_gauges - 1].user;
  scene->gauge[scene->n_gauges++] = (perp_gauge){ .metric = metric, .user = user, .value = value };
  return PERP_OK;
}

/* ---- the largest error ---- */

/* What gauges begin with whose figure is the worst of a run. */
struct head {
  int dim;
  bool started;
  double worst;
};

static double gauges_worst(const void *user)
{
  const struct head *head = user;
  return head->started ? head->worst : nan("");
}

/* *most = max(*most, x); a NaN stays */
static void gauges_raise(double *most, double x)
{
  if (!(x <= *most) && !isnan(*most)) *most = x;
}

static double gauges_distance(int d, const double *a, const double *b)
{
  double square = 0;
  for (int i = 0; i < d; i++) square += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrt(square);
}

/* ---- acceleration ---- */

struct accel {
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
  const struct accel *accel = user;
  if (!accel->started || accel->end <= accel->start) return nan("");
  double err = 0, size = 0;
  for (int i = 0; i < accel->dim; i++) {
    const double a = (accel->v1[i] - accel->v0[i]) / (accel->end - accel->start);
    err += (a - accel->exact[i]) * (a - accel->exact[i]);
    size += accel->exact[i] * accel->exact[i];
  }
  return sqrt(err) / (size > 0 ? sqrt(size) : accel->scale);
}

perp_status perp_gauge_accel(perp_ctx *ctx, perp_scene *scene, int body, const double exact[3],
                             double scale, double t0, double t1)
{
  const int dim = perp_model_dim(scene->model);
  struct accel accel = {
    .dim = dim, .nvb = dim == 3 ? 6 : 3, .body = body, .scale = scale, .t0 = t0, .t1 = t1
  };
  perp_scene_point(dim, exact, accel.exact);
  return perp_gauge_add(ctx, scene, "accel.rel.err", &accel, sizeof accel, accel_sample,
                        accel_value);
}

/* ---- places of statics ---- */

struct places {
  struct head head; /* of the last state */
  int n;
  double at[]; /* [3 n] */
};

static void places_sample(void *user, double t, const double *q, const double *v,
                          const perp_step_info *info)
{
  struct places *g = user;
  const int d = g->head.dim, nqb = d == 3 ? 7 : 3;
  (void)t, (void)v, (void)info;
  g->head.started = true;
  g->head.worst = 0;
  for (int b = 0; b < g->n; b++)
    gauges_raise(&g->head.worst, gauges_distance(d, q + nqb * b, g->at + 3 * b));
}

perp_status perp_gauge_places(perp_ctx *ctx, perp_scene *scene, int n, const double *places)
{
  const size_t data = 3 * (size_t)n * sizeof *places;
  const struct places like = { .head.dim = perp_model_dim(scene->model), .n = n };
  struct places *g = gauges_create(ctx, scene, "statics.err.max", &like, sizeof like, data,
                                   places_sample, gauges_worst);
  if (g == NULL) return PERP_ERR_NOMEM;
  for (int i = 0; i < n; i++) perp_scene_point(g->head.dim, places + 3 * i, g->at + 3 * i);
  return PERP_OK;
}

/* ---- period ---- */

struct period {
  int i, passages;
  double exact, t, x, first, last;
};

static void period_sample(void *user, double t, const double *q, const double *v,
                          const perp_step_info *info)
{
  struct period *period = user;
  const double x = q[period->i];
  (void)v, (void)info;
  if (period->x > 0 && x <= 0) {
    period->last = period->t + (t - period->t) * period->x / (period->x - x);
    if (period->passages++ == 0) period->first = period->last;
  }
  period->t = t;
  period->x = x;
}

static double period_value(const void *user)
{
  const struct period *period = user;
  if (period->passages < 2) return nan("");
  return fabs((period->last - period->first) / (period->passages - 1) / period->exact - 1);
}

perp_status perp_gauge_period(perp_ctx *ctx, perp_scene *scene, int i, double period)
{
  const struct period g = { .i = i, .exact = period };
  return perp_gauge_add(ctx, scene, "period.rel.err", &g, sizeof g, period_sample, period_value);
}

/* ---- rest ---- */

struct rest {
  struct head drift;
  int first, n;
  double radius, t0, speed, limit;
  bool stands;
  double from[]; /* [nq of the bodies] */
};

/* largest displacement of the centre and of the points at `radius` along the axes */
static double gauges_displacement(const struct rest *rest, const double *qa, const double *qb)
{
  perp_pose a = { 0 }, b = { 0 };
  double most = 0;
  const int d = rest->drift.dim;
  perp_pose_of(d, qa, &a);
  perp_pose_of(d, qb, &b);
  for (int axis = -1; axis < d; axis++)
    for (int sign = -1; sign <= 1; sign += 2) {
      double square = 0;
      for (int i = 0; i < d; i++) {
        double e = b.x[i] - a.x[i];
        if (axis >= 0) e += sign * rest->radius * (b.R[d * axis + i] - a.R[d * axis + i]);
        square += e * e;
      }
      gauges_raise(&most, square);
    }
  return sqrt(most);
}

static void rest_sample(void *user, double t, const double *q, const double *v,
                        const perp_step_info *info)
{
  struct rest *g = user;
  if (t < g->t0 - 1e-10) return;
  const int d = g->drift.dim, nqb = d == 3 ? 7 : 3, nvb = d == 3 ? 6 : 3;
  const double *now = q + (size_t)nqb * (size_t)g->first;
  if (!g->drift.started) memcpy(g->from, now, (size_t)(nqb * g->n) * sizeof *now);
  g->drift.started = true;
  for (int b = 0; b < g->n; b++) {
    gauges_raise(&g->drift.worst, gauges_displacement(g, g->from + nqb * b, now + nqb * b));
    const double *vb = v + nvb * (g->first + b), *w = vb + d;
    const double spin = d == 3 ? sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) : fabs(w[0]);
    const double along = sqrt(perp_dot(d, vb, vb));
    if (info != NULL) gauges_raise(&g->speed, along + g->radius * spin);
  }
}

/* of what does not stand (limit > 0) how far it goes is no error */
static double rest_drift(const void *user)
{
  const struct rest *rest = user;
  return rest->limit > 0 && !rest->stands ? nan("") : gauges_worst(user);
}

static double rest_speed(const void *user)
{
  const struct rest *rest = user;
  return rest->drift.started ? rest->speed : nan("");
}

static double rest_verdict(const void *user)
{
  const struct rest *rest = user;
  if (!rest->drift.started || isnan(rest->drift.worst)) return nan("");
  return (rest->drift.worst <= rest->limit) == rest->stands ? 0 : 1;
}

static perp_status add_rest(perp_ctx *ctx, perp_scene *scene, struct rest *like)
{
  const int dim = perp_model_dim(scene->model), nqb = dim == 3 ? 7 : 3;
  like->drift.dim = dim;
  const void *gauge = gauges_create(ctx, scene, "pose.drift.max", like, sizeof *like,
                                    (size_t)(nqb * like->n) * sizeof *like->from, rest_sample,
                                    rest_drift);
  return gauge != NULL ? PERP_OK : PERP_ERR_NOMEM;
}

perp_status perp_gauge_rest(perp_ctx *ctx, perp_scene *scene, int first, int n, double radius,
                            double t0)
{
  struct rest like = { .first = first, .n = n, .radius = radius, .t0 = t0 };
  PERP_TRY(add_rest(ctx, scene, &like));
  return perp_gauge_also(ctx, scene, "creep.vel.max", rest_speed);
}

perp_status perp_gauge_stands(perp_ctx *ctx, perp_scene *scene, int first, int n, double radius,
                              double limit, bool stands)
{
  struct rest like = { .first = first, .n = n, .radius = radius, .limit = limit, .stands = stands };
  PERP_TRY(add_rest(ctx, scene, &like));
  return perp_gauge_also(ctx, scene, "verdict.err", rest_verdict);
}

/* ---- forces ---- */

struct force {
  struct head head;
  int n;
  double scale, t0, t_before;
  const perp_model *model;
  perp_force_truth truth[]; /* [n] */
};

/* what one contact adds to the force [N s] */
static double gauges_share(int d, const perp_force_truth *truth, const perp_contact *contact,
                           const double *impulse)
{
  if (truth->b == PERP_ANY_BODY) {
    if (contact->body[0] != PERP_WORLD && contact->body[1] != PERP_WORLD) return 0;
    return contact->body[0] == PERP_WORLD ? impulse[d - 1] : -impulse[d - 1];
  }
  const bool is = (contact->body[0] == truth->a && contact->body[1] == truth->b) ||
                  (contact->body[0] == truth->b && contact->body[1] == truth->a);
  return is ? perp_dot(d, contact->n, impulse) : 0;
}

/* F of a step h [N]; NaN: not known */
static double gauges_force(const struct force *g, const perp_force_truth *truth,
                           const perp_step_info *info, double h)
{
  double sum = 0;
  if (truth->a == PERP_OF_JOINT) {
    int rows;
    const int row = perp_model_joint_row(g->model, truth->b, &rows) + g->head.dim - 1;
    return info->lambda != NULL ? info->lambda[row] : nan("");
  }
  if (info->untold && info->impulse == NULL) return nan("");
  for (int c = 0; c < info->n_contacts && info->impulse != NULL; c++)
    sum += gauges_share(g->head.dim, truth, &info->contacts[c], info->impulse + 3 * c);
  return sum / h;
}

static void force_sample(void *user, double t, const double *q, const double *v,
                         const perp_step_info *info)
{
  struct force *g = user;
  (void)q, (void)v;
  const double h = t - g->t_before;
  if (info != NULL && h > 0 && g->t_before >= g->t0 - 1e-10) {
    g->head.started = true;
    double sum = 0;
    for (int i = 0; i < g->n; i++) {
      sum += gauges_force(g, &g->truth[i], info, h);
      if (isnan(g->truth[i].exact)) continue;
      gauges_raise(&g->head.worst, fabs(sum - g->truth[i].exact) / g->scale);
      sum = 0;
    }
  }
  g->t_before = t;
}

perp_status perp_gauge_force(perp_ctx *ctx, perp_scene *scene, int n,
                             const perp_force_truth *truths, double scale, double t0)
{
  const size_t data = (size_t)n * sizeof *truths;
  const struct force like = { .head.dim = perp_model_dim(scene->model),
                              .n = n,
                              .scale = scale,
                              .t0 = t0,
                              .model = scene->model };
  struct force *force = gauges_create(ctx, scene, "force.rel.err", &like, sizeof like, data,
                                      force_sample, gauges_worst);
  if (force == NULL) return PERP_ERR_NOMEM;
  memcpy(force->truth, truths, data);
  return PERP_OK;
}

/* ---- velocities at one time ---- */

struct velocity {
  struct head head;
  int n, n_weights, n_exact;
  double t, scale, weight[6];
  double exact[]; /* [n_exact] */
};

static void velocity_sample(void *user, double t, const double *q, const double *v,
                            const perp_step_info *info)
{
  struct velocity *velocity = user;
  (void)q, (void)info;
  if (velocity->head.started || t < velocity->t - 1e-10) return;
  velocity->head.started = true;
  for (int i = 0; i < velocity->n; i++) {
    const double weight = velocity->weight[i % velocity->n_weights];
    if (weight > 0)
      gauges_raise(&velocity->head.worst,
                   weight * fabs(v[i] - velocity->exact[i % velocity->n_exact]) / velocity->scale);
  }
}

static perp_status add_velocity(perp_ctx *ctx, perp_scene *scene, const char *metric, double t,
                                const double *weight, bool alike, const double *exact, double scale)
{
  const int n = perp_model_nv(scene->model), nvb = perp_model_dim(scene->model) == 3 ? 6 : 3;
  const size_t data = (size_t)(alike ? nvb : n) * sizeof *exact;
  struct velocity like = {
    .n = n, .n_weights = nvb, .n_exact = alike ? nvb : n, .t = t, .scale = scale
  };
  memcpy(like.weight, weight, (size_t)nvb * sizeof *weight);
  struct velocity *velocity = gauges_create(ctx, scene, metric, &like, sizeof like, data,
                                            velocity_sample, gauges_worst);
  if (velocity == NULL) return PERP_ERR_NOMEM;
  memcpy(velocity->exact, exact, data);
  return PERP_OK;
}

perp_status perp_gauge_velocity(perp_ctx *ctx, perp_scene *scene, const char *metric, double t,
                                const double *weight, const double *exact, double scale)
{
  return add_velocity(ctx, scene, metric, t, weight, false, exact, scale);
}

perp_status perp_gauge_velocities(perp_ctx *ctx, perp_scene *scene, const char *metric, double t,
                                  const double *weight, const double *exact, double scale)
{
  return add_velocity(ctx, scene, metric, t, weight, true, exact, scale);
}

perp_status perp_gauge_planar_velocity(perp_ctx *ctx, perp_scene *scene, double t, double radius,
                                       const perp_planar *exact, double scale)
{
  const int dim = perp_model_dim(scene->model);
  const double plane[3] = { 1, 1, radius }, space[6] = { 1, 0, 1, 0, radius, 0 };
  double q[7], v[6];
  perp_planar_state(dim, 0, exact, q, v);
  return perp_gauge_velocity(ctx, scene, "impact.rel.err", t, dim == 2 ? plane : space, v, scale);
}

/* ---- paths ---- */

struct path {
  struct head head;
  int body;
  perp_path_fn *path;
  max_align_t user[];
};

static void path_sample(void *user, double t, const double *q, const double *v,
                        const perp_step_info *info)
{
  struct path *path = user;
  const int d = path->head.dim;
  double p[3], x[3];
  (void)v, (void)info;
  path->path(path->user, t, p);
  perp_scene_point(d, p, x);
  path->head.started = true;
  gauges_raise(&path->head.worst, gauges_distance(d, q + (d == 3 ? 7 : 3) * path->body, x));
}

perp_status perp_gauge_path(perp_ctx *ctx, perp_scene *scene, int body, perp_path_fn *path,
                            const void *user, size_t size)
{
  const struct path like = { .head.dim = perp_model_dim(scene->model), .body = body, .path = path };
  struct path *g = gauges_create(ctx, scene, "path.err.max", &like, sizeof like, size, path_sample,
                                 gauges_worst);
  if (g == NULL) return PERP_ERR_NOMEM;
  memcpy(g->user, user, size);
  return PERP_OK;
}

/* ---- events ---- */

struct events {
  int n, next, nv;
  bool started;
  double slack, err, t;
  perp_event_fn *happened;
  double times[]; /* [n]; then the velocities before [nv]; then what `happened` gets */
};

static void events_sample(void *user, double t, const double *q, const double *v,
                          const perp_step_info *info)
{
  struct events *events = user;
  double *before = events->times + events->n;
  (void)info;
  while (events->next < events->n && events->happened(before + events->nv, events->next, q, v,
                                                      events->started ? before : NULL)) {
    events->err = fmax(events->err, fabs(t - events->times[events->next]));
    events->next++;
    if (events->next < events->n && events->times[events->next] > events->times[events->next - 1])
      break; /* one at a time */
  }
  memcpy(before, v, (size_t)events->nv * sizeof *v);
  events->started = true;
  events->t = t;
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
  const int nv = perp_model_nv(scene->model);
  const struct events like = { .n = n, .nv = nv, .slack = slack, .happened = happened };
  struct events *events = gauges_create(ctx, scene, "event.err", &like, sizeof like,
                                        (size_t)(n + nv) * sizeof *times + size, events_sample,
                                        events_value);
  if (events == NULL) return PERP_ERR_NOMEM;
  memcpy(events->times, times, (size_t)n * sizeof *times);
  memcpy(events->times + n + nv, user, size);
  return PERP_OK;
}

/* ---- release ---- */

struct release {
  double exact, t, end;
};

static void release_sample(void *user, double t, const double *q, const double *v,
                           const perp_step_info *info)
{
  struct release *release = user;
  (void)q, (void)v;
  release->end = t;
  if (info != NULL && info->n_releases > 0) release->t = info->release[0].t;
}

static double release_value(const void *user)
{
  const struct release *g = user;
  if (isnan(g->t)) return g->end < g->exact ? nan("") : HUGE_VAL;
  return fabs(g->t - g->exact);
}

perp_status perp_gauge_release(perp_ctx *ctx, perp_scene *scene, double exact)
{
  const struct release release = { .exact = exact, .t = nan("") };
  return perp_gauge_add(ctx, scene, "event.err", &release, sizeof release, release_sample,
                        release_value);
}
