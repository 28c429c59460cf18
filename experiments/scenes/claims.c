/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/scenes/claims.h"

#include "experiments/metrics/metrics.h"
#include "experiments/import/motion_file.h"
#include "experiments/scenes/motion.h"
#include "experiments/scenes/parts.h"
#include "models/scenes/gauges.h"
#include "models/scenes/truths.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *perp_scene_path(perp_scene_reader *reader, const perp_node *node)
{
  const char *name = perp_values_text(&reader->values, node);
  if (name == NULL || name[0] == '/') return name;
  const char *slash = strrchr(node->src->name, '/');
  const bool absolute = node->src->name[0] == '/';
  return perp_pool_printf(
      reader->pool, "%s%s%.*s%s", absolute ? "" : reader->folder, absolute ? "" : "/",
      slash != NULL ? (int)(slash + 1 - node->src->name) : 0, node->src->name, name);
}

/* ---- gauges ---- */

enum gauge_kind {
  GAUGE_REST,
  GAUGE_STANDS,
  GAUGE_FORCE,
  GAUGE_ACCELERATION,
  GAUGE_VELOCITY,
  GAUGE_PERIOD,
  GAUGE_PLACES,
  GAUGE_TABLE,
  GAUGE_EVENTS,
  GAUGE_PATH,
  GAUGE_REACTION
};
static const char *const gauge_kinds[] = { "rest",     "stands", "force",    "acceleration",
                                           "velocity", "period", "places",   "table",
                                           "events",   "path",   "reaction", NULL };

struct gauge {
  enum gauge_kind kind;
  int body, joint, first, last;
  double from, to, radius, limit, scale, time, slack, period, exact[6], weight[6];
  bool stands;
  const char *coordinate, *metric;
};
static const perp_key gauge_keys[] = { PERP_KEY_ONE_OF(struct gauge, kind, "kind", gauge_kinds),
                                       PERP_KEY_OF(struct gauge, body, "body", PERP_KEY_BODY),
                                       PERP_KEY_OF(struct gauge, first, "first", PERP_KEY_BODY),
                                       PERP_KEY_OF(struct gauge, last, "last", PERP_KEY_BODY),
                                       PERP_KEY_REAL(struct gauge, from, "from", "s"),
                                       PERP_KEY_REAL(struct gauge, to, "to", "s"),
                                       PERP_KEY_REAL(struct gauge, radius, "radius", "m"),
                                       PERP_KEY_REAL(struct gauge, limit, "limit", "m"),
                                       PERP_KEY_REAL(struct gauge, scale, "scale", NULL),
                                       PERP_KEY_REAL(struct gauge, time, "time", "s"),
                                       PERP_KEY_REAL(struct gauge, slack, "slack", "s"),
                                       PERP_KEY_REAL(struct gauge, period, "period", "s"),
                                       PERP_KEY_OF(struct gauge, stands, "stands", PERP_KEY_BOOL),
                                       PERP_KEY_OF(struct gauge, coordinate, "of", PERP_KEY_TEXT),
                                       PERP_KEY_OF(struct gauge, metric, "metric", PERP_KEY_TEXT),
                                       PERP_KEY_OF(struct gauge, joint, "joint", PERP_KEY_JOINT),
                                       PERP_KEY_SPECIAL("exact"),
                                       PERP_KEY_SPECIAL("weight"),
                                       PERP_KEY_SPECIAL("forces"),
                                       PERP_KEY_SPECIAL("places"),
                                       PERP_KEY_SPECIAL("file"),
                                       PERP_KEY_SPECIAL("x"),
                                       PERP_KEY_SPECIAL("bodies"),
                                       PERP_KEY_SPECIAL("let_t"),
                                       PERP_KEYS_ENTRY,
                                       PERP_KEYS_END };

/* What each kind must have, and may have; keys are separated by a blank, `?` stands before those
 * that may be missing. */
static const char *const gauge_wants[] = {
  "?first ?last radius ?from",
  "?first ?last radius limit ?stands",
  "forces scale ?from",
  "body exact ?scale ?from to",
  "metric time ?exact ?bodies ?weight scale",
  "of period",
  "places",
  "metric file",
  "?file ?slack",
  "body x ?let_t",
  "joint exact scale ?from ?let_t",
};

/* The name of a metric that gauges fill, as it is in the table of metrics; NULL after an error. */
static const char *claims_metric(perp_scene_reader *reader, const perp_node *at, const char *name)
{
  const perp_desc *desc = perp_find(reader->ctx, PERP_KIND_metric, name);
  if (desc != NULL && (desc->caps & PERP_METRIC_GAUGE)) return desc->name;
  const char *names[128];
  int n = 0;
  const perp_desc *other;
  for (int i = 0; (other = perp_plugin_at(reader->ctx, PERP_KIND_metric, i)) != NULL && n < 128;
       i++)
    if (other->caps & PERP_METRIC_GAUGE) names[n++] = other->name;
  if (desc != NULL)
    perp_diag_error(reader->diag, at, 0, "use another metric: perp list metrics",
                    "%s is computed by perp itself and cannot be in `gauges`", name);
  else
    perp_scene_unknown(reader->diag, at, "metric", name, names, n);
  return NULL;
}

struct force_list {
  int n;
  perp_force_truth *truth;
};

struct force_entry {
  perp_force_truth truth;
  int joint;
};
static const perp_key force_keys[] = { PERP_KEY_OF(struct force_entry, truth.a, "a", PERP_KEY_BODY),
                                       PERP_KEY_SPECIAL("b"),
                                       PERP_KEY_OF(struct force_entry, joint, "joint",
                                                   PERP_KEY_JOINT),
                                       PERP_KEY_REAL(struct force_entry, truth.exact, "exact", "N"),
                                       PERP_KEYS_ENTRY,
                                       PERP_KEYS_END };

static void claims_add_force(perp_scene_reader *reader, struct force_list *list,
                             perp_force_truth truth)
{
  list->truth = perp_pool_grown(reader->pool, list->truth, list->n, sizeof *list->truth);
  list->truth[list->n++] = truth;
}

static void claims_force(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  struct force_list *list = user;
  struct force_entry force_entry = { { PERP_WORLD, PERP_ANY_BODY, 0 }, 0 };
  const perp_node *a = perp_tree_get(entry, "a"), *b = perp_tree_get(entry, "b"),
                  *joint = perp_tree_get(entry, "joint");
  if (perp_tree_get(entry, "exact") == NULL || (b == NULL) == (joint == NULL) ||
      (a != NULL && joint != NULL)) {
    PERP_SCENE_WRONG(reader, entry,
                     "a force is { a, b, exact } (b: any for all bodies), or { joint, exact }");
    return;
  }
  if (!perp_keys_read(reader, entry, "`forces` in `gauges`", force_keys, &force_entry)) return;
  if (joint != NULL) {
    /* Of a joint: of those kinds alone whose rows begin with the force between two points. */
    const perp_joint_kind kind = perp_model_joint(reader->scene->model, force_entry.joint)->kind;
    if (kind != PERP_JOINT_BALL && kind != PERP_JOINT_HINGE && kind != PERP_JOINT_UNIVERSAL &&
        kind != PERP_JOINT_FIXED)
      PERP_SCENE_WRONG(reader, perp_tree_get(entry, "joint"),
                       "the force of this joint cannot be measured: use a ball, hinge, universal "
                       "or fixed joint");
    else
      claims_add_force(
          reader, list,
          (perp_force_truth){ PERP_OF_JOINT, force_entry.joint, force_entry.truth.exact });
    return;
  }
  for (int i = 0; b->type == PERP_NODE_LIST && i < b->n; i++) { /* their sum */
    const int body = perp_named_find(reader, &reader->bodies, "body", true, b->item[i]);
    if (body < PERP_WORLD) return;
    const double exact = i + 1 < b->n ? (double)NAN : force_entry.truth.exact;
    claims_add_force(reader, list, (perp_force_truth){ force_entry.truth.a, body, exact });
  }
  if (b->type == PERP_NODE_LIST) return;
  const bool any = b->type == PERP_NODE_SCALAR && strcmp(b->text, "any") == 0;
  if (!any) force_entry.truth.b = perp_named_find(reader, &reader->bodies, "body", true, b);
  if (!any && force_entry.truth.b < PERP_WORLD) return;
  claims_add_force(reader, list, force_entry.truth);
}

struct place_list {
  int n;
  double *x;
};

/* (x, y, height) of a vector of the scene. */
static void claims_height(const perp_scene_reader *reader, const double x[3], double p[3])
{
  p[0] = x[0];
  p[1] = reader->dim == 3 ? x[1] : 0;
  p[2] = reader->dim == 3 ? x[2] : x[1];
}

/* Three numbers (x, y, z), in the plane two. */
static bool claims_vector(perp_scene_reader *reader, const perp_node *node, const char *unit,
                          double x[3])
{
  return reader->section ? perp_keys_spatial(reader, node, unit, x)
                         : perp_keys_vector(reader, node, unit, reader->dim, 0, x);
}

/* Velocity and rate of a body, those of a section from all six. */
static bool claims_rates(perp_scene_reader *reader, const perp_node *node, double sign, double x[6])
{
  double v[6];
  if (!reader->section) return perp_keys_vector(reader, node, NULL, reader->dim == 3 ? 6 : 3, 0, x);
  if (!perp_keys_vector(reader, node, NULL, 6, 0, v)) return false;
  x[0] = v[0], x[1] = v[2], x[2] = sign * v[4];
  return true;
}

/* Into [nv], which is user. */
static void claims_velocity(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  static const perp_key keys[] = { PERP_KEY_SPECIAL("body"), PERP_KEY_SPECIAL("v"),
                                   PERP_KEY_SPECIAL("w"), PERP_KEYS_ENTRY, PERP_KEYS_END };
  if (!perp_keys_read(reader, entry, "`bodies` in `gauges`", keys, NULL)) return;
  const perp_node *who = perp_tree_get(entry, "body"), *v = perp_tree_get(entry, "v"),
                  *w = perp_tree_get(entry, "w");
  if (who == NULL) {
    PERP_SCENE_WRONG(reader, entry, "'body' is missing here");
    return;
  }
  const int body = perp_named_find(reader, &reader->bodies, "body", false, who);
  double speed[3] = { 0 }, rate[3] = { 0 };
  if (body < 0 || (v != NULL && !claims_vector(reader, v, "m/s", speed)) ||
      (w != NULL && !perp_scene_read_rate(reader, w, rate)))
    return;
  double *at = (double *)user + body * (reader->dim == 3 ? 6 : 3);
  memcpy(at, speed, (size_t)reader->dim * sizeof *at);
  if (reader->dim == 3)
    memcpy(at + 3, rate, sizeof rate);
  else
    at[2] = rate[2];
}

static void claims_place(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  static const perp_key keys[] = { PERP_KEY_SPECIAL("x"), PERP_KEYS_ENTRY, PERP_KEYS_END };
  struct place_list *list = user;
  if (!perp_keys_read(reader, entry, "places", keys, NULL)) return;
  const perp_node *node = perp_tree_get(entry, "x");
  double p[3] = { 0 };
  if (node == NULL)
    PERP_SCENE_WRONG(reader, entry, "'x' is missing here: the position of the next body");
  else if (claims_vector(reader, node, "m", p)) {
    list->x = perp_pool_grown(reader->pool, list->x, list->n, 3 * sizeof *list->x);
    claims_height(reader, p, list->x + 3 * list->n++);
  }
}

/* ---- a gauge ---- */

static bool claims_numbers(perp_scene_reader *reader, const perp_node *entry, struct gauge *gauge)
{
  const perp_node *exact = perp_tree_get(entry, "exact"), *weight = perp_tree_get(entry, "weight");
  for (int i = 0; i < 6; i++) gauge->weight[i] = 1;
  if (exact != NULL && gauge->kind != GAUGE_REACTION && /* which depends on t */
      (gauge->kind == GAUGE_ACCELERATION ? !claims_vector(reader, exact, "m/s^2", gauge->exact)
                                         : !claims_rates(reader, exact, -1, gauge->exact)))
    return false;
  return weight == NULL || claims_rates(reader, weight, 1, gauge->weight);
}

/* Which of the coordinates q a text names; -1 after an error. */
static int claims_q(perp_scene_reader *reader, const perp_node *at, const char *text)
{
  int body, k;
  const int nqb = reader->dim == 3 ? 7 : 3;
  if (perp_coordinate_find(reader->ctx, reader->scene->model, text, &body, &k) != PERP_OK)
    perp_scene_refused(reader, at);
  else if (k >= nqb)
    PERP_SCENE_WRONG(reader, at, "a position or an angle is required here, not a velocity");
  else
    return nqb * body + k;
  return -1;
}

static perp_status claims_make(perp_scene_reader *reader, const perp_node *entry,
                               struct gauge *gauge)
{
  perp_ctx *ctx = reader->ctx;
  perp_scene *scene = reader->scene;
  struct force_list forces = { 0 };
  struct place_list places = { 0 };
  perp_scene_events events = { 0 };
  const perp_node *file = perp_tree_get(entry, "file"), *each = perp_tree_get(entry, "bodies");
  const char *path = file != NULL ? perp_scene_path(reader, file) : NULL;
  const int errors = reader->diag->errors, n = gauge->last - gauge->first + 1;
  double *velocity = perp_pool_alloc(reader->pool, (size_t)perp_model_nv(scene->model),
                                     sizeof *velocity);
  double p[3];
  if (gauge->metric != NULL)
    gauge->metric = claims_metric(reader, perp_tree_get(entry, "metric"), gauge->metric);
  perp_entries(reader, perp_tree_get(entry, "forces"), "forces", claims_force, &forces);
  perp_entries(reader, perp_tree_get(entry, "places"), "places", claims_place, &places);
  if (gauge->kind == GAUGE_EVENTS) perp_scene_read_events(reader, &events);
  const int q = gauge->kind == GAUGE_PERIOD
                    ? claims_q(reader, perp_tree_get(entry, "of"), gauge->coordinate)
                    : 0;
  if (gauge->kind == GAUGE_VELOCITY && (each != NULL) == (perp_tree_get(entry, "exact") != NULL))
    PERP_SCENE_WRONG(
        reader, entry,
        "velocities are either exact (the same for all bodies) or bodies: { body, v, w }");
  perp_entries(reader, each, "bodies", claims_velocity, velocity);
  if (gauge->kind == GAUGE_EVENTS && file == NULL && events.n_times == 0)
    PERP_SCENE_WRONG(reader, entry, "the events need either a file, or times of their own");
  if (file != NULL && events.n_times > 0)
    PERP_SCENE_WRONG(reader, file, "the events have times of their own: remove them or the file");
  if (places.n > reader->bodies.n)
    PERP_SCENE_WRONG(reader, perp_tree_get(entry, "places"),
                     "the number of places is %d for %d bodies: both must agree", places.n,
                     reader->bodies.n);
  if (n < 1 || gauge->first < 0)
    PERP_SCENE_WRONG(reader, entry, "first and last must be bodies in ascending order");
  if (reader->diag->errors > errors) return PERP_OK; /* said already */
  switch (gauge->kind) {
  case GAUGE_REST:
    return perp_gauge_rest(ctx, scene, gauge->first, n, gauge->radius, gauge->from);
  case GAUGE_STANDS:
    return perp_gauge_stands(ctx, scene, gauge->first, n, gauge->radius, gauge->limit,
                             gauge->stands);
  case GAUGE_FORCE:
    return perp_gauge_force(ctx, scene, forces.n, forces.truth, gauge->scale, gauge->from);
  case GAUGE_ACCELERATION:
    claims_height(reader, gauge->exact, p);
    return perp_gauge_accel(ctx, scene, gauge->body, p, gauge->scale, gauge->from, gauge->to);
  case GAUGE_VELOCITY:
    if (each != NULL)
      return perp_gauge_velocity(ctx, scene, gauge->metric, gauge->time, gauge->weight, velocity,
                                 gauge->scale);
    return perp_gauge_velocities(ctx, scene, gauge->metric, gauge->time, gauge->weight,
                                 gauge->exact, gauge->scale);
  case GAUGE_PERIOD:
    return perp_gauge_period(ctx, scene, q, gauge->period);
  case GAUGE_PLACES:
    return perp_gauge_places(ctx, scene, places.n, places.x);
  case GAUGE_TABLE:
    return perp_gauge_columns(ctx, scene, gauge->metric, path);
  case GAUGE_EVENTS:
    if (file == NULL)
      return perp_gauge_event_times(ctx, scene, events.n, events.event, events.n_times, events.time,
                                    events.of, gauge->slack);
    return perp_gauge_event_columns(ctx, scene, path, events.n, events.event, gauge->slack);
  case GAUGE_PATH:
    perp_scene_add_path(reader, entry);
    break;
  case GAUGE_REACTION:
    perp_scene_add_reaction(reader, entry, gauge->joint, gauge->scale, gauge->from);
    break;
  }
  return PERP_OK;
}

static void claims_gauge(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  struct gauge gauge = { .last = reader->bodies.n - 1, .scale = 1, .stands = true };
  (void)user;
  if (!perp_keys_read(reader, entry, "gauges", gauge_keys, &gauge) ||
      !perp_scene_fit(reader, entry, gauge_keys, gauge_kinds[gauge.kind],
                      gauge_wants[gauge.kind]) ||
      !claims_numbers(reader, entry, &gauge))
    return;
  if (claims_make(reader, entry, &gauge) != PERP_OK) perp_scene_refused(reader, entry);
}

void perp_scene_add_gauges(perp_scene_reader *reader)
{
  perp_scene_events events = { 0 };
  perp_entries(reader, perp_tree_get(reader->root, "gauges"), "gauges", claims_gauge, NULL);
  /* they are looked at where no gauge has done so, too */
  if (reader->diag->errors == 0) perp_scene_read_events(reader, &events);
}

/* ---- truths ---- */

enum truth_kind {
  TRUTH_REST,
  TRUTH_REDUCED,
  TRUTH_STATES,
  TRUTH_MOTION,
  TRUTH_REFERENCE,
  TRUTH_PLAYBACK,
  TRUTH_EVENTS
};
static const char *const truth_kinds[] = { "rest",      "reduced",  "states", "motion",
                                           "reference", "playback", "events", NULL };
static const char *const truth_wants[] = {
  "?what",
  "?t_end ?uncertainty",
  "file ?uncertainty",
  "motion ?what ?uncertainty",
  "reference columns uncertainty",
  "file ?what ?scale ?origin ?start ?end ?frame_time ?uncertainty",
  "?t_end ?uncertainty"
};
struct truth {
  enum truth_kind kind;
  const char *what;
  double t_end, uncertainty, scale, origin[3];
  int start, end;
  double frame_time;
};
static const perp_key truth_keys[] = { PERP_KEY_ONE_OF(struct truth, kind, "kind", truth_kinds),
                                       PERP_KEY_OF(struct truth, what, "what", PERP_KEY_TEXT),
                                       PERP_KEY_REAL(struct truth, t_end, "t_end", "s"),
                                       PERP_KEY_REAL(struct truth, uncertainty, "uncertainty", ""),
                                       PERP_KEY_REAL(struct truth, scale, "scale", "m"),
                                       PERP_KEY_REALS(struct truth, origin, "origin", "m", 3),
                                       PERP_KEY_OF(struct truth, start, "start", PERP_KEY_WHOLE),
                                       PERP_KEY_OF(struct truth, end, "end", PERP_KEY_WHOLE),
                                       PERP_KEY_REAL(struct truth, frame_time, "frame_time", "s"),
                                       PERP_KEY_SPECIAL("file"),
                                       PERP_KEY_SPECIAL("motion"),
                                       PERP_KEY_SPECIAL("reference"),
                                       PERP_KEY_SPECIAL("columns"),
                                       PERP_KEYS_ENTRY,
                                       PERP_KEYS_END };

/* A reference file of perp: its columns are the coordinates of the bodies, then their rates. */
static perp_status claims_reference(perp_scene_reader *reader, const perp_node *entry,
                                    double uncertainty)
{
  const perp_node *columns = perp_tree_get(entry, "columns");
  const char *file = perp_values_text(&reader->values, perp_tree_get(entry, "reference"));
  const int n = perp_model_nq(reader->scene->model) + perp_model_nv(reader->scene->model);
  if (file == NULL) return PERP_OK;
  if (strchr(file, '/') != NULL || columns->type != PERP_NODE_LIST || columns->n != n) {
    PERP_SCENE_WRONG(reader, columns, "a reference is a file of perp with %d columns: got %d", n,
                     columns->type == PERP_NODE_LIST ? columns->n : 0);
    return PERP_OK;
  }
  const char **names = perp_pool_alloc(reader->pool, (size_t)n, sizeof *names);
  for (int i = 0; i < n; i++)
    if ((names[i] = perp_values_text(&reader->values, columns->item[i])) == NULL) return PERP_OK;
  return perp_truth_file(reader->ctx, reader->scene, file, uncertainty, n, names, NULL, NULL, 0);
}

/* A motion from a file; false: said already. */
static bool claims_playback(perp_scene_reader *reader, const perp_node *file, const char *path,
                            const struct truth *truth, perp_status *status)
{
  const perp_motion_file from = {
    path,         truth->scale, { truth->origin[0], truth->origin[1], truth->origin[2] },
    truth->start, truth->end,   truth->frame_time
  };
  const perp_model *model = reader->goal != NULL ? perp_goal_model(reader->goal)
                                                 : reader->scene->model;
  perp_playback *playback;
  if (!perp_motion_file_read(reader->ctx, reader->diag, file, model, &from, &playback))
    return false;
  char *base = perp_base_name(path, ""), *what = perp_xprintf("motion of %s", base);
  *status = perp_truth_playback(reader->ctx, reader->scene,
                                truth->what != NULL ? truth->what : what, playback,
                                isnan(truth->uncertainty) ? 0 : truth->uncertainty);
  free(base);
  free(what);
  return true;
}

static void claims_truth(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  struct truth truth = { .t_end = reader->scene->t_end, .uncertainty = (double)NAN };
  const perp_node *file = perp_tree_get(entry, "file");
  (void)user;
  if (!perp_keys_read(reader, entry, "truth", truth_keys, &truth) ||
      !perp_scene_fit(reader, entry, truth_keys, truth_kinds[truth.kind], truth_wants[truth.kind]))
    return;
  if (truth.uncertainty < 0) {
    PERP_SCENE_WRONG(reader, perp_tree_get(entry, "uncertainty"),
                     "the uncertainty must not be negative");
    return;
  }
  perp_status status = PERP_OK;
  const char *path = file != NULL ? perp_scene_path(reader, file) : NULL;
  if (file != NULL && path == NULL) return;
  switch (truth.kind) {
  case TRUTH_REST:
    status = perp_truth_rest(reader->ctx, reader->scene, truth.what != NULL ? truth.what : "rest");
    break;
  case TRUTH_REDUCED:
    status = perp_truth_reduced(reader->ctx, reader->scene, truth.t_end,
                                isnan(truth.uncertainty) ? 1e-8 : truth.uncertainty);
    break;
  case TRUTH_EVENTS:
    status = perp_truth_events(reader->ctx, reader->scene, truth.t_end,
                               isnan(truth.uncertainty) ? 1e-8 : truth.uncertainty);
    break;
  case TRUTH_STATES:
    status = perp_truth_columns(reader->ctx, reader->scene, path, truth.uncertainty);
    break;
  case TRUTH_MOTION:
    perp_scene_add_motion(reader, entry, truth.what != NULL ? truth.what : "closed form",
                          isnan(truth.uncertainty) ? 0 : truth.uncertainty);
    break;
  case TRUTH_REFERENCE:
    status = claims_reference(reader, entry, truth.uncertainty);
    break;
  case TRUTH_PLAYBACK:
    if (truth.scale < 0 ||
        (perp_tree_get(entry, "scale") != NULL) != (perp_tree_get(entry, "origin") != NULL)) {
      PERP_SCENE_WRONG(reader, entry,
                       "'scale' (above 0) and 'origin' must be set together; without them both are "
                       "computed from the joints");
      return;
    }
    if (!claims_playback(reader, file, path, &truth, &status)) return;
    break;
  }
  if (status != PERP_OK) perp_scene_refused(reader, file != NULL ? file : entry);
}

void perp_scene_add_truths(perp_scene_reader *reader)
{
  perp_entries(reader, perp_tree_get(reader->root, "truth"), "truth", claims_truth, NULL);
}
