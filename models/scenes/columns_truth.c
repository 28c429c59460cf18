/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of states, of coordinates and of events as truths and gauges: see truths.h. */
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_status columns_error(perp_ctx *ctx, const perp_data *data, const char *what)
{
  char copy[320];
  snprintf(copy, sizeof copy, "%s", what);
  return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%.180s:%d: %s", data->path, data->header, copy);
}

/* ---- states ---- */

struct states {
  int rows, nq, nv;
  double row[]; /* [rows][1 + nq + nv] */
};

static double *states_row(struct states *states, int i)
{
  return states->row + (size_t)i * (size_t)(1 + states->nq + states->nv);
}

static int states_first(const struct states *states, double t)
{
  return perp_truth_first(states->row, states->rows, states->nq + states->nv, t);
}

static double states_next(void *user, double t)
{
  struct states *states = user;
  const int i = states_first(states, t);
  return i < states->rows ? states_row(states, i)[0] : HUGE_VAL;
}

static perp_status states_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  struct states *states = user;
  const int row = states_first(states, t);
  if (row == states->rows || !perp_truth_same(t, states_row(states, row)[0]))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the table has no row at t = %.17g s", t);
  memcpy(q, states_row(states, row) + 1, (size_t)states->nq * sizeof *q);
  memcpy(v, states_row(states, row) + 1 + states->nq, (size_t)states->nv * sizeof *v);
  return PERP_OK;
}

/* Where coordinate k of a body is in (q, v). */
static int states_place(int dim, int bodies, int body, int k)
{
  const int nqb = dim == 3 ? 7 : 3, nvb = dim == 3 ? 6 : 3;
  return k < nqb ? body * nqb + k : bodies * nqb + body * nvb + k - nqb;
}

/* Column c of the table is coordinate *place of (q, v), in SI; -1: it says something about the
 * table. */
static perp_status columns_coordinate(perp_ctx *ctx, const perp_scene *scene, perp_data *data,
                                      int column, int *body, int *k)
{
  *body = -1;
  if (strcmp(data->name[column], "uncertainty") == 0) return PERP_OK;
  if (perp_coordinate_find(ctx, scene->model, data->name[column], body, k) != PERP_OK)
    return columns_error(ctx, data, ctx->msg);
  return perp_data_si(ctx, data, column, perp_coordinate_unit(perp_model_dim(scene->model), *k));
}

static perp_status states_fill(perp_ctx *ctx, const perp_scene *scene, perp_data *data,
                               struct states *states)
{
  const perp_model *model = scene->model;
  const int dim = perp_model_dim(model), bodies = perp_model_bodies(model);
  for (int row = 0; row < data->rows; row++) {
    states_row(states, row)[0] = data->x[(size_t)row * (size_t)data->n];
    for (int j = 0; j < states->nq + states->nv; j++) states_row(states, row)[1 + j] = (double)NAN;
    if (row > 0 && !(states_row(states, row)[0] > states_row(states, row - 1)[0]))
      return columns_error(ctx, data, "two states have the same time");
  }
  for (int column = 1; column < data->n; column++) {
    int body, k;
    PERP_TRY(columns_coordinate(ctx, scene, data, column, &body, &k));
    if (body < 0) continue;
    for (int row = 0; row < data->rows; row++)
      states_row(states, row)[1 + states_place(dim, bodies, body, k)] =
          data->x[(size_t)row * (size_t)data->n + (size_t)column];
  }
  for (int b = 0; b < bodies; b++)
    for (int k = 0; k < perp_coordinates(dim); k++)
      if (isnan(states_row(states, 0)[1 + states_place(dim, bodies, b, k)])) {
        char what[320];
        const char *name = perp_model_body(model, b)->name;
        snprintf(
            what, sizeof what,
            "there is no column for %s of body %d%s%.60s: a table of states needs all coordinates "
            "and velocities of all bodies (a table with some of them belongs into `gauges`)",
            perp_coordinate_name(dim, k), b, name != NULL ? " " : "", name != NULL ? name : "");
        return columns_error(ctx, data, what);
      }
  return PERP_OK;
}

perp_status perp_truth_columns(perp_ctx *ctx, perp_scene *scene, const char *path,
                               double uncertainty)
{
  perp_data data;
  PERP_TRY(perp_data_read(ctx, path, &data));
  const int nq = perp_model_nq(scene->model), nv = perp_model_nv(scene->model);
  struct states *states = malloc(sizeof *states +
                                 (size_t)data.rows * (size_t)(1 + nq + nv) * sizeof *states->row);
  perp_status status = PERP_OK;
  if (states == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %s", path);
  else {
    *states = (struct states){ .rows = data.rows, .nq = nq, .nv = nv };
    status = states_fill(ctx, scene, &data, states);
  }
  char what[128];
  const char *slash = strrchr(path, '/');
  snprintf(what, sizeof what, "file %.90s", slash != NULL ? slash + 1 : path);
  perp_truth *truth = status == PERP_OK ? perp_truth_slot(ctx, scene, what) : NULL;
  if (truth == NULL)
    free(states);
  else {
    const double known = isnan(uncertainty) ? data.uncertainty : uncertainty;
    truth->t_end = states_row(states, states->rows - 1)[0];
    truth->uncertainty = isnan(known) ? 0 : known;
    truth->user = states;
    truth->state = states_state;
    truth->next_time = states_next;
    truth->destroy = free;
  }
  perp_data_free(&data);
  return status == PERP_OK && truth == NULL ? PERP_ERR_NOMEM : status;
}

/* ---- coordinates over time ---- */

struct track {
  int dim, bodies, rows, n, next; /* next: row to be compared */
  bool started, compared;
  double t, worst, floor; /* floor: what the table cannot tell from an error of 0 */
  /* where the coordinate of a column is [n]; t and the columns [rows][1 + n]; those of the state
   * before [n], their rates [n] */
  double data[];
};

static double *track_place(struct track *track)
{
  return track->data;
}
static double *track_row(struct track *track, int i)
{
  return track->data + track->n + (size_t)i * (size_t)(1 + track->n);
}
static double *track_before(struct track *track)
{
  return track_row(track, track->rows);
}

/* Coordinate j of (q, v), and its rate where the rate is one of v: NaN else. */
static double track_value(int dim, int bodies, int j, const double *q, const double *v,
                          double *rate)
{
  const int nqb = dim == 3 ? 7 : 3, nvb = dim == 3 ? 6 : 3, nq = bodies * nqb;
  *rate = (double)NAN;
  if (j >= nq) return v[j - nq];
  const int body = j / nqb, k = j % nqb;
  if (k < 3) *rate = v[body * nvb + k]; /* in the plane the third is the angle */
  return q[j];
}

static double track_between(double t, double t0, double x0, double r0, double t1, double x1,
                            double r1)
{
  const double h = t1 - t0, s = h > 0 ? (t - t0) / h : 1;
  if (isnan(r0) || isnan(r1)) return x0 + s * (x1 - x0);
  const double a = h * r0 - (x1 - x0), b = -h * r1 + (x1 - x0);
  return (1 - s) * x0 + s * x1 + s * (1 - s) * (a * (1 - s) + b * s);
}

static void track_sample(void *user, double t, const double *q, const double *v,
                         const perp_step_info *info)
{
  struct track *track = user;
  double *before = track_before(track), *rate = before + track->n;
  (void)info;
  for (; track->next < track->rows &&
         track_row(track, track->next)[0] <= t + 1e-10 * fmax(1, fabs(t));
       track->next++) {
    const double *row = track_row(track, track->next);
    if (!track->started && !perp_truth_same(t, row[0])) continue; /* before the run */
    for (int c = 0; c < track->n; c++) {
      double r, x = track_value(track->dim, track->bodies, (int)track_place(track)[c], q, v, &r);
      if (track->started && !perp_truth_same(t, row[0]))
        x = track_between(row[0], track->t, before[c], rate[c], t, x, r);
      const double error = fabs(x - row[1 + c]);
      if (!(error <= track->worst)) track->worst = error; /* a NaN stays */
    }
    track->compared = true;
  }
  for (int c = 0; c < track->n; c++)
    before[c] = track_value(track->dim, track->bodies, (int)track_place(track)[c], q, v, &rate[c]);
  track->t = t;
  track->started = true;
}

static double track_worst(const void *user)
{
  const struct track *g = user;
  return !g->compared ? (double)NAN : g->worst < g->floor ? g->floor : g->worst;
}

static perp_status track_fill(perp_ctx *ctx, const perp_scene *scene, perp_data *data,
                              struct track *track)
{
  for (int column = 1; column < data->n; column++) {
    int body, k;
    PERP_TRY(columns_coordinate(ctx, scene, data, column, &body, &k));
    if (body >= 0) track_place(track)[track->n++] = column;
  }
  if (track->n == 0) return columns_error(ctx, data, "the table has no column besides the time");
  for (int row = 0; row < data->rows; row++) {
    const double *from = data->x + (size_t)row * (size_t)data->n;
    track_row(track, row)[0] = from[0];
    for (int j = 0; j < track->n; j++)
      track_row(track, row)[1 + j] = from[(int)track_place(track)[j]];
  }
  for (int j = 0; j < track->n; j++) {
    int body = 0, k = 0;
    PERP_TRY(columns_coordinate(ctx, scene, data, (int)track_place(track)[j], &body, &k));
    track_place(track)[j] = states_place(track->dim, track->bodies, body, k);
  }
  return PERP_OK;
}

perp_status perp_gauge_columns(perp_ctx *ctx, perp_scene *scene, const char *metric,
                               const char *path)
{
  perp_data data;
  PERP_TRY(perp_data_read(ctx, path, &data));
  const size_t most = (size_t)data.n,
               size = sizeof(struct track) +
                      (most * (size_t)(data.rows + 1) + 3 * most) * sizeof(double);
  struct track *track = calloc(1, size);
  perp_status status = PERP_OK;
  if (track == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %s", path);
  else {
    *track = (struct track){ .dim = perp_model_dim(scene->model),
                             .bodies = perp_model_bodies(scene->model),
                             .rows = data.rows,
                             .floor = isnan(data.uncertainty) ? 0 : data.uncertainty };
    status = track_fill(ctx, scene, &data, track);
  }
  if (status == PERP_OK)
    status = perp_gauge_add(ctx, scene, metric, track, size, track_sample, track_worst);
  free(track);
  perp_data_free(&data);
  return status;
}

/* ---- events ---- */

enum { EVENTS_MAX = 32 };
struct happenings {
  int dim, bodies, n, rows;
  bool started;
  double slack, t, err, floor;
  struct {
    int place, direction, next; /* next: row from where its next time is looked for */
    bool rate;
    double value, before, r,
        a; /* of the state before: x, its rate, and the acceleration up to there */
  } event[EVENTS_MAX];
  double row[]; /* [rows][2]: time, event */
};

/* The row of the next time that event e is due; happenings->rows: none. */
static int happenings_due(const struct happenings *happenings, int e)
{
  int i = happenings->event[e].next;
  while (i < happenings->rows && (int)happenings->row[2 * i + 1] != e) i++;
  return i;
}

/* When x passes `value` in a step of length h, from its start: on the cubic through both ends where
 * the motion is smooth. At an impact, where the rate jumps by what no acceleration explains, on the
 * parabola of the part before it, or on the tangent of the part behind it, whichever has the
 * crossing. */
static double happenings_when(double h, double value, double x0, double r0, double a0, double x1,
                              double r1)
{
  const double linear = h * (value - x0) / (x1 - x0), turn = a0 * h, jump = r1 - r0 - turn;
  if (isnan(r0) || isnan(r1) || isnan(a0)) return linear;
  if (fabs(jump) <= 0.05 * fmax(fabs(r0), fabs(r1)) + fabs(turn)) {
    double lo = 0, hi = h;
    const bool rises = x1 > x0;
    for (int i = 0; i < 60; i++) {
      const double s = 0.5 * (lo + hi);
      if ((track_between(s, 0, x0, r0, h, x1, r1) < value) == rises)
        lo = s;
      else
        hi = s;
    }
    return 0.5 * (lo + hi);
  }
  const double way = value - x0, root = r0 * r0 + 2 * a0 * way;
  const double left = root >= 0 ? 2 * way / (r0 + copysign(sqrt(root), way)) : (double)NAN;
  const double right = h - (x1 - value) / r1;
  const bool before = left >= 0 && left <= h, behind = right >= 0 && right <= h;
  if (before && behind) return (jump < 0) == (way > 0) ? fmax(left, right) : fmin(left, right);
  return before ? left : behind ? right : linear;
}

static void happenings_sample(void *user, double t, const double *q, const double *v,
                              const perp_step_info *info)
{
  struct happenings *happenings = user;
  const int nq = happenings->bodies * (happenings->dim == 3 ? 7 : 3);
  (void)info;
  for (int event = 0; event < happenings->n; event++) {
    const int place = happenings->event[event].place;
    const double x = place < nq ? q[place] : v[place - nq], x0 = happenings->event[event].before,
                 value = happenings->event[event].value;
    const bool rises = x0 < value && x >= value, falls = x0 > value && x <= value;
    const double r0 = happenings->event[event].r, a0 = happenings->event[event].a,
                 h = t - happenings->t;
    double r;
    track_value(happenings->dim, happenings->bodies, place, q, v, &r);
    happenings->event[event].before = x;
    happenings->event[event].r = r;
    happenings->event[event].a = happenings->started && h > 0 ? (r - r0) / h : (double)NAN;
    if (!happenings->started || !((rises && happenings->event[event].direction >= 0) ||
                                  (falls && happenings->event[event].direction <= 0)))
      continue;
    const int row = happenings_due(happenings, event);
    if (row == happenings->rows) continue; /* the table ends before */
    const double when = happenings->event[event].rate
                            ? t
                            : happenings->t + happenings_when(h, value, x0, r0, a0, x, r);
    happenings->err = fmax(happenings->err, fabs(when - happenings->row[2 * row]));
    happenings->event[event].next = row + 1;
  }
  happenings->started = true;
  happenings->t = t;
}

static double happenings_value(const void *user)
{
  const struct happenings *g = user;
  bool seen = false;
  for (int e = 0; e < g->n; e++) {
    const int i = happenings_due(g, e);
    if (g->started && i < g->rows && g->row[2 * i] <= g->t - g->slack) return HUGE_VAL;
    seen = seen || g->event[e].next > 0;
  }
  return seen ? fmax(g->err, g->floor) : (double)NAN;
}

/* Room for `rows` times of these events, none of which is set; NULL after an error. */
static struct happenings *happenings_create(perp_ctx *ctx, const perp_scene *scene, int rows, int n,
                                            const perp_event *events, double slack, size_t *size)
{
  const int dim = perp_model_dim(scene->model), nqb = dim == 3 ? 7 : 3;
  if (n > EVENTS_MAX) {
    PERP_FAIL(ctx, PERP_ERR_ARG, "the scene defines %d events: the limit is %d", n, EVENTS_MAX);
    return NULL;
  }
  *size = sizeof(struct happenings) + 2 * (size_t)rows * sizeof(double);
  struct happenings *happenings = calloc(1, *size);
  if (happenings == NULL) {
    PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d times of events", rows);
    return NULL;
  }
  *happenings = (struct happenings){
    .dim = dim, .bodies = perp_model_bodies(scene->model), .n = n, .rows = rows, .slack = slack
  };
  for (int event = 0; event < n; event++) {
    happenings->event[event].place = states_place(dim, happenings->bodies, events[event].body,
                                                  events[event].k);
    happenings->event[event].rate = events[event].k >= nqb;
    happenings->event[event].direction = events[event].direction;
    happenings->event[event].value = events[event].value;
  }
  return happenings;
}

static perp_status happenings_add(perp_ctx *ctx, perp_scene *scene, struct happenings *happenings,
                                  size_t size)
{
  return perp_gauge_add(ctx, scene, "event.err", happenings, size, happenings_sample,
                        happenings_value);
}

perp_status perp_gauge_event_columns(perp_ctx *ctx, perp_scene *scene, const char *path, int n,
                                     const perp_event *events, double slack)
{
  perp_data data;
  size_t size;
  PERP_TRY(perp_data_read(ctx, path, &data));
  const int column = perp_data_find(&data, "event");
  struct happenings *happenings = happenings_create(ctx, scene, data.rows, n, events, slack, &size);
  perp_status status = happenings != NULL ? PERP_OK : PERP_ERR_NOMEM;
  if (happenings != NULL &&
      (column < 0 || data.n > 2 + (perp_data_find(&data, "uncertainty") >= 0)))
    status = columns_error(
        ctx, &data,
        "a table of events has the columns t [s] and event, and optionally uncertainty");
  if (happenings != NULL && !isnan(data.uncertainty)) happenings->floor = data.uncertainty;
  for (int i = 0; i < data.rows && status == PERP_OK; i++) {
    const char *word = data.word[(int)data.x[(size_t)i * (size_t)data.n + (size_t)column]];
    int event = 0;
    while (event < n && strcmp(events[event].name, word) != 0) event++;
    happenings->row[2 * i] = data.x[(size_t)i * (size_t)data.n];
    happenings->row[2 * i + 1] = event;
    char what[160];
    snprintf(what, sizeof what, "the table has the event '%.80s', which the scene does not define",
             word);
    if (event == n) status = columns_error(ctx, &data, what);
  }
  if (status == PERP_OK) status = happenings_add(ctx, scene, happenings, size);
  free(happenings);
  perp_data_free(&data);
  return status;
}

perp_status perp_gauge_event_times(perp_ctx *ctx, perp_scene *scene, int n,
                                   const perp_event *events, int n_times, const double *times,
                                   const int *event, double slack)
{
  size_t size;
  struct happenings *happenings = happenings_create(ctx, scene, n_times, n, events, slack, &size);
  if (happenings == NULL) return PERP_ERR_NOMEM;
  for (int i = 0; i < n_times; i++) {
    happenings->row[2 * i] = times[i];
    happenings->row[2 * i + 1] = event[i];
  }
  const perp_status status = happenings_add(ctx, scene, happenings, size);
  free(happenings);
  return status;
}
