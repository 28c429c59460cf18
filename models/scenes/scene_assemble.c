/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const perp_truth_names[] = { "auto", "file", "reduced", "none", NULL };

perp_status perp_scene_create(perp_ctx *ctx, const perp_spec *spec, perp_scene *scene)
{
  *scene = (perp_scene){ .tip_body = PERP_WORLD };
  const perp_scene_desc *desc = (const perp_scene_desc *)spec->d;
  perp_status status = desc->build_from != NULL
                           ? desc->build_from(ctx, desc->data, spec->opts, scene)
                           : desc->build(ctx, spec->opts, scene);
  if (status != PERP_OK) perp_scene_destroy(scene);
  return status;
}

void perp_scene_destroy(perp_scene *scene)
{
  for (int truth = 0; truth < scene->n_truths; truth++)
    if (scene->truth[truth].destroy != NULL) scene->truth[truth].destroy(scene->truth[truth].user);
  for (int gauge = 0; gauge < scene->n_gauges; gauge++)
    if (scene->gauge[gauge].destroy != NULL) scene->gauge[gauge].destroy(scene->gauge[gauge].user);
  perp_model_destroy(scene->model);
  free(scene->ode);
  if (scene->destroy != NULL) scene->destroy(scene->user);
  *scene = (perp_scene){ .tip_body = PERP_WORLD };
}

/* ---- truths ---- */

perp_truth *perp_truth_slot(perp_ctx *ctx, perp_scene *scene, const char *what)
{
  if (scene->n_truths == PERP_SCENE_TRUTHS) {
    PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the reference solution '%s'", what);
    return NULL;
  }
  perp_truth *truth = &scene->truth[scene->n_truths++];
  *truth = (perp_truth){ 0 };
  snprintf(truth->what, sizeof truth->what, "%s", what);
  return truth;
}

struct any_time {
  perp_truth_state *state;
  max_align_t user[];
};

static perp_status any_time_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  struct any_time *any_time = user;
  (void)ctx;
  any_time->state(any_time->user, t, q, v);
  return PERP_OK;
}

static double any_time_next(void *user, double t)
{
  (void)user;
  return t;
}

perp_status perp_truth_add(perp_ctx *ctx, perp_scene *scene, const char *what, double uncertainty,
                           perp_truth_state *state, const void *user, size_t size)
{
  struct any_time *any_time = malloc(sizeof *any_time + size);
  perp_truth *truth = perp_truth_slot(ctx, scene, what);
  if (any_time == NULL || truth == NULL) {
    free(any_time);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the reference solution '%s'", what);
  }
  any_time->state = state;
  memcpy(any_time->user, user, size);
  truth->t_end = HUGE_VAL;
  truth->uncertainty = uncertainty;
  truth->user = any_time;
  truth->state = any_time_state;
  truth->next_time = any_time_next;
  truth->destroy = free;
  return PERP_OK;
}

/* user: the model of the scene, which outlives its truths */
static void scene_rests(void *user, double t, double *q, double *v)
{
  const perp_model *model = *(perp_model **)user;
  (void)t;
  memcpy(q, perp_model_q0(model), (size_t)perp_model_nq(model) * sizeof *q);
  memset(v, 0, (size_t)perp_model_nv(model) * sizeof *v);
}

perp_status perp_truth_rest(perp_ctx *ctx, perp_scene *scene, const char *what)
{
  return perp_truth_add(ctx, scene, what, 1e-14, scene_rests, &scene->model, sizeof scene->model);
}

perp_status perp_truth_printed(perp_ctx *ctx, perp_scene *scene, const char *what, double t,
                               int n_q, int n, const double *printed, perp_printed_fn *order)
{
  enum { MOST = 32 };
  const perp_truth *truth = &scene->truth[0];
  double q[MOST], v[MOST], ref[MOST];
  PERP_TRY(truth->state(truth->user, ctx, t, q, v));
  for (int i = 0; i < n; i++) ref[i] = i < n_q ? q[i] : v[i - n_q];
  if (order != NULL) order(q, v, ref);
  perp_printed *p = &scene->published;
  *p = (perp_printed){ .t = t, .err_v = n > n_q ? 0 : (double)NAN };
  snprintf(p->what, sizeof p->what, "%s", what);
  for (int i = 0; i < n; i++) {
    double *err = i < n_q ? &p->err_q : &p->err_v;
    *err = fmax(*err, fabs(printed[i] - ref[i]) / fabs(ref[i]));
  }
  return PERP_OK;
}

/* ---- whole models ---- */

perp_status perp_scene_assemble(perp_ctx *ctx, perp_scene *scene, const perp_scene_parts *parts,
                                double t_end, double h)
{
  const perp_scene_parts *scene_parts = parts;
  PERP_TRY(perp_model_create(ctx, scene_parts->dim == 2 ? 2 : 3, &scene->model));
  perp_model *model = scene->model;
  for (int body = 0;
       scene_parts->body != NULL && body < (scene_parts->n_bodies > 0 ? scene_parts->n_bodies : 1);
       body++)
    PERP_TRY(perp_model_add_body(ctx, model, &scene_parts->body[body], NULL));
  for (int joint = 0; scene_parts->joint != NULL &&
                      joint < (scene_parts->n_joints > 0 ? scene_parts->n_joints : 1);
       joint++)
    PERP_TRY(perp_model_add_joint(ctx, model, &scene_parts->joint[joint], NULL));
  for (int drive = 0; scene_parts->drive != NULL &&
                      drive < (scene_parts->n_drives > 0 ? scene_parts->n_drives : 1);
       drive++)
    PERP_TRY(perp_model_add_drive(ctx, model, &scene_parts->drive[drive], NULL));
  for (int force = 0; scene_parts->force != NULL &&
                      force < (scene_parts->n_forces > 0 ? scene_parts->n_forces : 1);
       force++)
    PERP_TRY(perp_model_add_force(ctx, model, &scene_parts->force[force]));
  return perp_scene_finish(ctx, scene, scene_parts->gravity, t_end, h);
}

perp_status perp_scene_finish(perp_ctx *ctx, perp_scene *scene, double gravity, double t_end,
                              double h)
{
  scene->gravity = gravity;
  scene->t_end = t_end;
  scene->h = h;
  scene->tip_body = perp_model_bodies(scene->model) - 1;
  perp_model_gravity(scene->model, gravity);
  return perp_model_finish(ctx, scene->model);
}

perp_joint_def perp_scene_joint(perp_joint_kind kind, const char *name, int a, int b, int axis)
{
  perp_joint_def def = { .name = name, .kind = kind, .a = a, .b = b };
  def.axis_a[axis] = def.axis_b[axis] = 1;
  return def;
}
