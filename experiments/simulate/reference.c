/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/reference.h"
#include "experiments/simulate/parts.h"
#include "experiments/simulate/simulate_run.h"

#include "experiments/base/env.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 50, COARSE = 64 }; /* times of comparison; steps between two of them */

/* ---- extrapolation ---- */

struct table {
  int nq, nv;
  double t_end;
  double state[]; /* [(SAMPLES + 1) * (nq + nv)] */
};

static double table_next(void *user, double t)
{
  const struct table *table = user;
  double k = ceil(t / table->t_end * SAMPLES - 1e-9);
  return k <= SAMPLES ? table->t_end * k / SAMPLES : HUGE_VAL;
}

static perp_status table_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  const struct table *table = user;
  const double *s = table->state +
                    (size_t)lround(t / table->t_end * SAMPLES) * (size_t)(table->nq + table->nv);
  (void)ctx;
  memcpy(q, s, (size_t)table->nq * sizeof *q);
  memcpy(v, s + table->nq, (size_t)table->nv * sizeof *v);
  return PERP_OK;
}

static perp_status reference_record(perp_ctx *ctx, double *state, int k, int nq, int nv,
                                    const double *q, const double *v)
{
  double *row = state + (size_t)k * (size_t)(nq + nv);
  memcpy(row, q, (size_t)nq * sizeof *q);
  memcpy(row + nq, v, (size_t)nv * sizeof *v);
  for (int i = 0; i < nq + nv; i++)
    if (!isfinite(row[i])) return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "the run ended early");
  return PERP_OK;
}

/* The states at all times of comparison with `steps` steps in between. */
static perp_status reference_march(perp_ctx *ctx, const perp_scene *scene, double t_end, int steps,
                                   struct table *table)
{
  perp_cell_run run = { .scene = *scene, .h = t_end / SAMPLES / steps };
  const bool bodies = scene->model != NULL;
  perp_status status = perp_spec_parse(ctx, PERP_KIND_ode, "gsl:rk8pd", &run.parts.ode);
  if (status == PERP_OK && bodies)
    status = perp_spec_parse(ctx, PERP_KIND_formulation, "acceleration", &run.parts.formulation);
  if (status == PERP_OK && bodies) status = perp_parts_complete(ctx, scene->model, &run.parts);
  if (status == PERP_OK)
    status = bodies ? perp_sim_create(ctx, scene->model, &run.parts, run.h, &run.sim)
                    : perp_ode_create(ctx, &run.parts.ode, scene->ode, run.h, &run.ode);
  if (status == PERP_OK && !bodies) status = perp_cell_start(ctx, &run);
  for (int k = 0; k <= SAMPLES && status == PERP_OK; k++) {
    double t;
    const double *q, *v;
    for (int i = 0; k > 0 && i < steps && status == PERP_OK; i++) {
      perp_step_info info = { 0 };
      status = perp_cell_step(ctx, &run, t_end * (k - 1) / SAMPLES + run.h * (i + 1), &info);
      if (status == PERP_OK && info.reason < 0)
        status = PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "the run ended early");
    }
    perp_cell_state(&run, &t, &q, &v);
    if (status == PERP_OK)
      status = reference_record(ctx, table->state, k, table->nq, table->nv, q, v);
  }
  perp_sim_destroy(run.sim);
  perp_ode_destroy(run.ode);
  perp_parts_free(&run.parts);
  return status;
}

static perp_status reference_extrapolate(perp_ctx *ctx, const perp_scene *scene, double t_end,
                                         perp_truth *truth)
{
  const int nq = scene->model != NULL ? perp_model_nq(scene->model) : scene->ode->nq;
  const int nv = scene->model != NULL ? perp_model_nv(scene->model) : scene->ode->nv;
  const size_t n = (size_t)(SAMPLES + 1) * (size_t)(nq + nv);
  struct table *of[2]; /* coarse, fine */
  perp_status status = PERP_OK;
  for (int k = 0; k < 2; k++) {
    of[k] = perp_xalloc(1, sizeof **of + n * sizeof *of[k]->state);
    of[k]->nq = nq;
    of[k]->nv = nv;
    of[k]->t_end = t_end;
    if (status == PERP_OK) status = reference_march(ctx, scene, t_end, (k + 1) * COARSE, of[k]);
  }
  struct table *coarse = of[0], *fine = of[1];
  for (size_t i = 0; i < n; i++) fine->state[i] += (fine->state[i] - coarse->state[i]) / 255;
  free(coarse);
  *truth = (perp_truth){
    .t_end = t_end, .user = fine, .state = table_state, .next_time = table_next, .destroy = free
  };
  snprintf(truth->what, sizeof truth->what, "extrapolation of gsl:rk8pd in %d and %d steps",
           SAMPLES * COARSE, 2 * SAMPLES * COARSE);
  if (status != PERP_OK) free(fine);
  return status;
}

/* ---- the references of a scene ---- */

/* Index of a truth of this kind; `other` (or -1) is taken already. */
static int find_truth(const perp_scene *scene, const char *kind, int other)
{
  const char *prefix = strcmp(kind, "closed-form") == 0 ? "closed form" : kind;
  for (int truth = 0; truth < scene->n_truths; truth++)
    if (truth != other && (strcmp(kind, "auto") == 0 ||
                           strncmp(scene->truth[truth].what, prefix, strlen(prefix)) == 0))
      return truth;
  return -1;
}

struct columns {
  int nq;
  bool quaternions;  /* seven numbers a body, the last four a quaternion */
  double *a, *b, *v; /* states */
  double *err, *size;
};

static void reference_compare(struct columns *columns)
{
  for (int i = 0; columns->quaternions && i + 7 <= columns->nq; i += 7) {
    double dot = 0;
    for (int k = 3; k < 7; k++) dot += columns->a[i + k] * columns->b[i + k];
    for (int k = 3; k < 7 && dot < 0; k++) columns->a[i + k] = -columns->a[i + k];
  }
  for (int i = 0; i < columns->nq; i++) {
    double e = fabs(columns->a[i] - columns->b[i]);
    if (!(e <= columns->err[i])) columns->err[i] = e; /* a NaN stays */
    columns->size[i] = fmax(columns->size[i], fabs(columns->b[i]));
  }
}

static double worst_of(const struct columns *columns)
{
  double largest = 0, worst = 0;
  for (int i = 0; i < columns->nq; i++) largest = fmax(largest, columns->size[i]);
  for (int i = 0; i < columns->nq; i++) {
    double e = columns->err[i] / fmax(columns->size[i], fmax(1e-9 * largest, 1e-300));
    if (columns->size[i] < 1e-9 * largest) e = columns->err[i] / largest;
    if (!(e <= worst)) worst = e;
  }
  return worst;
}

static perp_status compare_truths(perp_ctx *ctx, const perp_scene *scene, const perp_truth *a,
                                  const perp_truth *b, perp_agreement *result)
{
  const int nq = scene->model != NULL ? perp_model_nq(scene->model) : scene->ode->nq;
  const int nv = scene->model != NULL ? perp_model_nv(scene->model) : scene->ode->nv;
  double *block = perp_xalloc((size_t)(4 * nq + nv), sizeof *block);
  struct columns columns = { .nq = nq,
                             .quaternions = scene->model != NULL &&
                                            perp_model_dim(scene->model) == 3,
                             .a = block,
                             .b = block + nq,
                             .err = block + 2 * nq,
                             .size = block + 3 * nq,
                             .v = block + 4 * nq };
  perp_status status = PERP_OK;
  double before = -1;
  for (int k = 1; k <= SAMPLES && status == PERP_OK; k++) {
    /* a time that both answer: files have a grid, and two files the same one or none */
    double t = result->t_end * k / SAMPLES;
    t = a->next_time(a->user, t);
    if (b->next_time(b->user, t) > t) t = b->next_time(b->user, t);
    if (!(t <= result->t_end * (1 + 1e-12)) || t <= before || a->next_time(a->user, t) > t)
      continue;
    before = t;
    status = a->state(a->user, ctx, t, columns.a, columns.v);
    if (status == PERP_OK) status = b->state(b->user, ctx, t, columns.b, columns.v);
    if (status != PERP_OK) break;
    reference_compare(&columns);
    result->times++;
  }
  result->worst = result->times > 0 ? worst_of(&columns) : (double)NAN;
  free(block);
  return status;
}

perp_status perp_reference_compare(perp_ctx *ctx, const perp_reference_request *request,
                                   perp_agreement *result)
{
  *result = (perp_agreement){ .worst = (double)NAN };
  perp_spec spec;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_scene, request->scene, &spec));
  perp_scene scene;
  perp_status status = perp_scene_create(ctx, &spec, &scene);
  perp_spec_free(&spec);
  PERP_TRY(status);
  result->t_end = request->t_end > 0 ? request->t_end : scene.t_end;
  int a = find_truth(&scene, request->method, -1), b = find_truth(&scene, request->with, a);
  bool asked = strcmp(request->method, "extrapolation") == 0 ||
               strcmp(request->with, "extrapolation") == 0;
  bool alone = a >= 0 && b < 0 && strcmp(request->with, "auto") == 0;
  if ((asked || alone) && scene.n_truths < PERP_SCENE_TRUTHS && result->t_end > 0) {
    perp_truth *truth = &scene.truth[scene.n_truths];
    const double end = a >= 0 ? fmin(result->t_end, scene.truth[a].t_end) : result->t_end;
    status = reference_extrapolate(ctx, &scene, end, truth);
    if (status == PERP_OK && a < 0 && strcmp(request->method, "extrapolation") == 0)
      a = scene.n_truths;
    else if (status == PERP_OK)
      b = scene.n_truths;
    scene.n_truths += status == PERP_OK;
    /* a scene that cannot be run so has one reference less */
    if (status == PERP_ERR_UNSUPPORTED && !asked) status = PERP_OK;
  }
  if (a >= 0) snprintf(result->method, sizeof result->method, "%s", scene.truth[a].what);
  if (b >= 0) snprintf(result->with, sizeof result->with, "%s", scene.truth[b].what);
  if (status == PERP_OK && a >= 0 && b >= 0) {
    result->t_end = fmin(result->t_end, fmin(scene.truth[a].t_end, scene.truth[b].t_end));
    status = compare_truths(ctx, &scene, &scene.truth[a], &scene.truth[b], result);
  }
  perp_scene_destroy(&scene);
  return status;
}

/* ---- what a run has kept ---- */

void perp_reference_write(perp_json *json, const perp_reference_request *request,
                          const perp_agreement *agreement, double below)
{
  char program[17];
  perp_env_id(program);
  perp_json_open(json, NULL, '{');
  perp_json_members(json,
                    "scene %s, method %s, with %s, t_end %g, times %d, worst %g, below %g, "
                    "agree? %d",
                    request->scene, agreement->method, agreement->with, agreement->t_end,
                    agreement->times, agreement->worst, below, !(agreement->worst > below));
  perp_json_object(json, "asked", "method %s, with %s, t_end %g", request->method, request->with,
                   request->t_end);
  perp_json_text(json, "program", program);
  perp_json_close(json, '}');
}

static bool reference_says(const json_t *object, const char *key, const char *text)
{
  const char *value = json_string_value(json_object_get(object, key));
  return value != NULL && strcmp(value, text) == 0;
}

bool perp_reference_kept(const char *dir, const perp_reference_request *request,
                         perp_agreement *result)
{
  char program[17], *path = perp_xprintf("%s/reference.json", dir);
  json_t *all = perp_json_read_file(path), *one;
  bool found = false;
  size_t i;
  perp_env_id(program);
  json_array_foreach(all, i, one)
  {
    const json_t *asked = json_object_get(one, "asked");
    if (!reference_says(one, "scene", request->scene) || !reference_says(one, "program", program) ||
        !reference_says(asked, "method", request->method) ||
        !reference_says(asked, "with", request->with) ||
        perp_json_number(json_object_get(asked, "t_end")) != request->t_end)
      continue;
    const char *method = json_string_value(json_object_get(one, "method")),
               *with = json_string_value(json_object_get(one, "with"));
    if (method == NULL || with == NULL) continue;
    *result = (perp_agreement){ .t_end = perp_json_number(json_object_get(one, "t_end")),
                                .times = (int)json_integer_value(json_object_get(one, "times")),
                                .worst = perp_json_number(json_object_get(one, "worst")) };
    snprintf(result->method, sizeof result->method, "%s", method);
    snprintf(result->with, sizeof result->with, "%s", with);
    found = true;
  }
  json_decref(all);
  free(path);
  return found;
}
