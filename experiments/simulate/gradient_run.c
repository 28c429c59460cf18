/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/gradient_run.h"

#include "experiments/simulate/parts.h"
#include "experiments/base/memory.h"
#include "models/formulations/equivalent.h"
#include "models/multibody/model_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In SI units, and of the largest column: smaller columns count as that large. */
static const double SMALL = 1e-3;

/* ---- names ---- */

static void gradient_names_add(perp_gradient_names *names, perp_gradient_kind kind, int index,
                               const char *label)
{
  if (names->n % 16 == 0) {
    const size_t room = (size_t)names->n + 16;
    names->wrt = perp_xrealloc(names->wrt, room, sizeof *names->wrt);
    names->label = perp_xrealloc(names->label, room, sizeof *names->label);
  }
  names->wrt[names->n] = (perp_gradient_wrt){ kind, index };
  snprintf(names->label[names->n++], PERP_GRADIENT_LABEL, "%s", label);
}

/* The place of a name, or the number that it is, among n; -1: neither. */
static int gradient_names_find(const perp_model *model, perp_gradient_kind kind, const char *name)
{
  char *end;
  const int n = kind == PERP_GRADIENT_FRICTION ? model->n_shapes
                : kind == PERP_GRADIENT_TARGET ? model->n_drives
                                               : model->n_bodies;
  for (int i = 0; i < n && kind != PERP_GRADIENT_FRICTION; i++) {
    const char *own = kind == PERP_GRADIENT_TARGET ? model->drive_def[i].name
                                                   : model->body_def[i].name;
    if (own != NULL && strcmp(own, name) == 0) return i;
  }
  const long number = strtol(name, &end, 10);
  return name[0] != '\0' && *end == '\0' && number >= 0 && number < n ? (int)number : -1;
}

static const char *const coordinates[2][6] = { { "x", "y", "rz" },
                                               { "x", "y", "z", "rx", "ry", "rz" } };

/* One word of a list; its first letters say the kind. */
static bool gradient_names_word(const perp_model *model, char *word, perp_gradient_names *names)
{
  static const char *const kinds[] = { "q", "v", "mass", "gravity", "friction", "force", "target" };
  char label[PERP_GRADIENT_LABEL], *of = strchr(word, ':'), *at = NULL;
  if (strcmp(word, "state") == 0) {
    for (int body = 0; body < model->n_bodies; body++)
      for (int k = 0; k < 2; k++) {
        snprintf(label, sizeof label, "%s:%d", kinds[k], body);
        if (!gradient_names_word(model, label, names)) return false;
      }
    return true;
  }
  if (of != NULL) *of++ = '\0';
  int kind = 0;
  while (kind <= PERP_GRADIENT_TARGET && strcmp(word, kinds[kind]) != 0) kind++;
  if (kind > PERP_GRADIENT_TARGET) return false;
  if (kind == PERP_GRADIENT_GRAVITY || (kind == PERP_GRADIENT_FRICTION && of == NULL)) {
    if (of == NULL) gradient_names_add(names, (perp_gradient_kind)kind, -1, word);
    return of == NULL;
  }
  if (of == NULL) return false;
  const bool coordinate = kind == PERP_GRADIENT_Q || kind == PERP_GRADIENT_V ||
                          kind == PERP_GRADIENT_FORCE;
  if (coordinate && (at = strrchr(of, '.')) != NULL) *at++ = '\0';
  const int index = gradient_names_find(model, (perp_gradient_kind)kind, of);
  if (index < 0) return false;
  if (!coordinate) {
    snprintf(label, sizeof label, "%s:%.40s", word, of);
    gradient_names_add(names, (perp_gradient_kind)kind, index, label);
    return true;
  }
  bool found = false;
  const char *name = model->body_def[index].name != NULL ? model->body_def[index].name : of;
  for (int i = 0; i < model->nvb; i++) {
    const char *axis = coordinates[model->dim - 2][i];
    if (at != NULL && strcmp(at, axis) != 0) continue;
    snprintf(label, sizeof label, "%s:%.40s.%s", word, name, axis);
    gradient_names_add(names, (perp_gradient_kind)kind, model->nvb * index + i, label);
    found = true;
  }
  return found;
}

perp_status perp_gradient_names_read(perp_ctx *ctx, const perp_model *model, const char *text,
                                     perp_gradient_names *names)
{
  *names = (perp_gradient_names){ 0 };
  while (*text != '\0') {
    char word[PERP_GRADIENT_LABEL], whole[PERP_GRADIENT_LABEL];
    const size_t n = strcspn(text, ",");
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    snprintf(whole, sizeof whole, "%s", word);
    if (!gradient_names_word(model, word, names))
      return PERP_FAIL(
          ctx, PERP_ERR_OPTION,
          "'%s' names nothing of the model: write state, q:BODY.x, v:BODY.rz, mass:BODY, "
          "gravity, friction, friction:SHAPE, force:BODY.x or target:DRIVE, with names or "
          "numbers",
          whole);
    text += n + (text[n] == ',');
  }
  if (names->n == 0) return PERP_FAIL(ctx, PERP_ERR_OPTION, "nothing is named");
  return PERP_OK;
}

void perp_gradient_names_free(perp_gradient_names *names)
{
  free(names->wrt);
  free(names->label);
  *names = (perp_gradient_names){ 0 };
}

/* ---- steps ---- */

static perp_status gradient_run_fails(perp_ctx *ctx, const perp_step_info *info, double t)
{
  const bool cause = info->cause != NULL && info->cause[0] != '\0';
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                   "the step at t = %g s fails (%s): no derivative; choose an earlier time%s%s", t,
                   perp_reason_name(info->reason), cause ? "; " : "", cause ? info->cause : "");
}

static perp_status gradient_run_steps(perp_ctx *ctx, perp_sim *sim, perp_gradient *gradient,
                                      int steps, double h)
{
  const double *q, *v;
  double t0, t;
  perp_sim_state(sim, &t0, &q, &v);
  const double end = t0 + steps * h;
  for (t = t0; t < end - 1e-9 * h; perp_sim_state(sim, &t, &q, &v)) {
    perp_step_info info;
    PERP_TRY(gradient != NULL ? perp_gradient_step(ctx, gradient, end, &info)
                              : perp_sim_step(ctx, sim, end, &info));
    if (info.reason < 0) return gradient_run_fails(ctx, &info, t);
  }
  return PERP_OK;
}

static perp_status gradient_run_open(perp_ctx *ctx, const perp_request *request,
                                     perp_gradient_run *run)
{
  perp_spec scene = { 0 };
  bool adaptive;
  double t_end;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_scene, request->scene, &scene));
  const char *name = scene.d->name;
  perp_status status = perp_scene_create(ctx, &scene, &run->scene);
  if (status == PERP_OK && run->scene.model == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "scene %s has no bodies: derivatives of steps are those of models", name);
  if (status == PERP_OK)
    status = perp_parts_read(ctx, request, &run->scene, name, &run->parts, &adaptive);
  perp_spec_free(&scene);
  PERP_TRY(status);
  return perp_run_times(ctx, request, &run->scene, adaptive, &run->h, &t_end);
}

/* The columns of steps from (run->t, q, v), and the time of these steps with and without. */
static perp_status gradient_run_columns(perp_ctx *ctx, perp_sim *sim, perp_gradient_run *run)
{
  const size_t nv = (size_t)run->nv, n = (size_t)run->names.n;
  perp_gradient *gradient = NULL;
  double start = 0;
  for (int i = 0; i < 2; i++) { /* the first time is a cold one */
    PERP_TRY(perp_sim_restart(ctx, sim, run->t, run->q, run->v));
    start = perp_clock_thread();
    PERP_TRY(gradient_run_steps(ctx, sim, NULL, run->steps, run->h));
    run->cpu_plain = perp_clock_thread() - start;
  }
  PERP_TRY(perp_sim_restart(ctx, sim, run->t, run->q, run->v));
  PERP_TRY(perp_gradient_create(ctx, sim, run->names.wrt, run->names.n, &gradient));
  start = perp_clock_thread();
  const perp_status status = gradient_run_steps(ctx, sim, gradient, run->steps, run->h);
  run->cpu = perp_clock_thread() - start;
  for (size_t j = 0; status == PERP_OK && j < n; j++) {
    memcpy(run->D + 2 * nv * j, perp_gradient_dq(gradient) + nv * j, nv * sizeof *run->D);
    memcpy(run->D + 2 * nv * j + nv, perp_gradient_dv(gradient) + nv * j, nv * sizeof *run->D);
  }
  memcpy(run->side, perp_gradient_sides(gradient), n * sizeof *run->side);
  run->report = *perp_gradient_report_of(gradient);
  run->row = perp_xalloc((size_t)run->report.n_rows + 1, sizeof *run->row);
  if (run->report.n_rows > 0)
    memcpy(run->row, run->report.row, (size_t)run->report.n_rows * sizeof *run->row);
  run->report.row = run->row;
  perp_gradient_destroy(gradient);
  return status;
}

perp_status perp_gradient_run_make(perp_ctx *ctx, const perp_request *request, int skip, int steps,
                                   const char *wrt, perp_gradient_run *run)
{
  *run = (perp_gradient_run){ .steps = steps };
  PERP_TRY(gradient_run_open(ctx, request, run));
  perp_model *model = run->scene.model;
  const size_t nq = (size_t)model->nq, nv = (size_t)model->nv;
  run->nv = model->nv;
  PERP_TRY(perp_gradient_names_read(ctx, model, wrt, &run->names));
  run->q = perp_xalloc(nq, sizeof *run->q);
  run->v = perp_xalloc(nv, sizeof *run->v);
  run->D = perp_xalloc(2 * nv * (size_t)run->names.n, sizeof *run->D);
  run->side = perp_xalloc((size_t)run->names.n, sizeof *run->side);
  perp_sim *sim = NULL;
  PERP_TRY(perp_sim_create(ctx, model, &run->parts, run->h, &sim));
  perp_status status = gradient_run_steps(ctx, sim, NULL, skip, run->h);
  const double *q, *v;
  perp_sim_state(sim, &run->t, &q, &v);
  memcpy(run->q, q, nq * sizeof *q);
  memcpy(run->v, v, nv * sizeof *v);
  if (status == PERP_OK) status = gradient_run_columns(ctx, sim, run);
  perp_sim_destroy(sim);
  return status;
}

void perp_gradient_run_free(perp_gradient_run *run)
{
  perp_gradient_names_free(&run->names);
  perp_parts_free(&run->parts);
  perp_scene_destroy(&run->scene);
  free(run->q);
  free(run->v);
  free(run->D);
  free(run->side);
  free(run->row);
}

/* ---- differences ---- */

typedef struct gradient_move {
  const perp_model *model;
  perp_gradient_wrt wrt;
  double eps;
} gradient_move;

/* A copy of the model, before it is finished, with one number moved. */
static perp_status gradient_run_extend(perp_ctx *ctx, void *user, perp_model *model)
{
  const gradient_move *move = user;
  const int i = move->wrt.index;
  perp_mass *mass;
  perp_force_def push = { .kind = PERP_FORCE_POINT };
  switch (move->wrt.kind) {
  case PERP_GRADIENT_MASS:
    mass = &model->body_def[i].mass;
    for (int k = 0; k < 9; k++) mass->inertia[k] *= (mass->mass + move->eps) / mass->mass;
    mass->mass += move->eps;
    return PERP_OK;
  case PERP_GRADIENT_GRAVITY:
    perp_model_gravity(model, move->model->gravity + move->eps);
    return PERP_OK;
  case PERP_GRADIENT_FRICTION:
    for (int shape = 0; shape < model->n_shapes; shape++) {
      if (i >= 0 && i != shape) continue;
      model->shape_def[shape].surface.mu += move->eps;
      model->shape_def[shape].surface.mu_dynamic += move->eps;
    }
    return PERP_OK;
  case PERP_GRADIENT_FORCE:
    push.a = i / move->model->nvb;
    if (i % move->model->nvb >= move->model->dim)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "no difference quotient by a torque");
    push.value[i % move->model->nvb] = move->eps;
    return perp_model_add_force(ctx, model, &push);
  case PERP_GRADIENT_TARGET:
    *(model->drive_def[i].stiffness > 0 ? &model->drive_def[i].target
                                        : &model->drive_def[i].velocity) += move->eps;
    return PERP_OK;
  default:
    return PERP_OK;
  }
}

/* The end q [nq], v [nv] of the steps with column j moved. */
static perp_status gradient_run_end(perp_ctx *ctx, const perp_gradient_run *run, int j, double eps,
                                    double *q, double *v)
{
  perp_model *model = run->scene.model;
  gradient_move move = { model, run->names.wrt[j], eps };
  perp_equivalent *other = NULL;
  perp_sim *sim = NULL;
  const bool state = move.wrt.kind == PERP_GRADIENT_Q || move.wrt.kind == PERP_GRADIENT_V;
  double *dq = perp_xalloc((size_t)model->nv + 1, sizeof *dq);
  memset(dq, 0, (size_t)model->nv * sizeof *dq);
  memcpy(v, run->v, (size_t)model->nv * sizeof *v);
  if (move.wrt.kind == PERP_GRADIENT_Q) dq[move.wrt.index] = eps;
  if (move.wrt.kind == PERP_GRADIENT_V) v[move.wrt.index] += eps;
  perp_model_retract(model, run->q, dq, q);
  free(dq);
  perp_status status = state ? PERP_OK
                             : perp_equivalent_extended(ctx, model, gradient_run_extend, &move,
                                                        &other);
  if (status == PERP_OK)
    status = perp_sim_create(ctx, state ? model : perp_equivalent_model(other), &run->parts, run->h,
                             &sim);
  if (status == PERP_OK) status = perp_sim_restart(ctx, sim, run->t, q, v);
  if (status == PERP_OK) status = gradient_run_steps(ctx, sim, NULL, run->steps, run->h);
  if (status == PERP_OK) {
    const double *q_end, *v_end;
    double t;
    perp_sim_state(sim, &t, &q_end, &v_end);
    memcpy(q, q_end, (size_t)model->nq * sizeof *q);
    memcpy(v, v_end, (size_t)model->nv * sizeof *v);
  }
  perp_sim_destroy(sim);
  perp_equivalent_destroy(other);
  return status;
}

perp_status perp_gradient_run_quotient(perp_ctx *ctx, const perp_gradient_run *run, int j,
                                       double eps, int side, double *out)
{
  const perp_model *model = run->scene.model;
  const size_t nq = (size_t)model->nq, nv = (size_t)model->nv;
  double *memory = perp_xalloc(2 * (nq + nv), sizeof *memory), *q = memory, *v = memory + 2 * nq;
  perp_status status = gradient_run_end(ctx, run, j, side == -1 ? 0 : eps, q, v);
  if (status == PERP_OK)
    status = gradient_run_end(ctx, run, j, side == 1 ? 0 : -eps, q + nq, v + nv);
  if (status == PERP_OK) {
    const double over = side == 0 ? 2 * eps : eps;
    perp_model_difference(model, q + nq, q, out);
    for (size_t i = 0; i < nv; i++) {
      out[i] /= over;
      out[nv + i] = (v[i] - v[nv + i]) / over;
    }
  }
  free(memory);
  return status;
}

perp_status perp_gradient_run_richardson(perp_ctx *ctx, const perp_gradient_run *run, int j,
                                         double eps, int side, double *out)
{
  const size_t n = 2 * (size_t)run->nv;
  double *level = perp_xalloc(3 * n, sizeof *level);
  perp_status status = PERP_OK;
  for (int k = 0; k < 3 && status == PERP_OK; k++)
    status = perp_gradient_run_quotient(ctx, run, j, eps / (1 << k), side, level + n * (size_t)k);
  for (int order = 1; order < 3; order++) {
    const double f = pow(side == 0 ? 4 : 2, order);
    for (size_t k = 0; k + (size_t)order < 3; k++)
      for (size_t i = 0; i < n; i++)
        level[n * k + i] = (f * level[n * (k + 1) + i] - level[n * k + i]) / (f - 1);
  }
  memcpy(out, level, n * sizeof *out);
  free(level);
  return status;
}

double perp_gradient_run_eps(perp_gradient_kind kind)
{
  return kind == PERP_GRADIENT_Q ? 1e-5 : kind == PERP_GRADIENT_V ? 1e-4 : 1e-3;
}

double perp_gradient_run_off(const perp_gradient_run *run, const double *got, const double *want)
{
  const size_t rows = 2 * (size_t)run->nv;
  double off = 0, size = SMALL;
  for (size_t i = 0; i < rows * (size_t)run->names.n; i++)
    size = fmax(size, SMALL * fabs(run->D[i]));
  for (size_t i = 0; i < rows; i++) {
    off = fmax(off, fabs(got[i] - want[i]));
    size = fmax(size, fabs(want[i]));
  }
  return off / size;
}
