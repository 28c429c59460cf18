/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/session/session_private.h"

#include "experiments/plugins/plugin_files.h"
#include "experiments/scenes/scene_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As of perp simulate: a state this many times larger than the initial one, or than 1. */
#define DIVERGED 1e8

perp_status perp_session_register(perp_ctx *ctx)
{
  PERP_TRY(perp_register_models(ctx));
  PERP_TRY(perp_register_metrics(ctx)); /* gauges of scenes are named by them */
  PERP_TRY(perp_scene_files_register(ctx));
  const char *list = getenv("PERP_PLUGIN_PATH");
  return list != NULL ? perp_plugin_load_path(ctx, list) : PERP_OK;
}

perp_status perp_session_load(perp_ctx *ctx, const char *path)
{
  return perp_plugin_load(ctx, path, true);
}

/* ---- forces from outside ---- */

/* The options of the force of one body. */
typedef struct session_force {
  session *s;
  int body;
  bool called, particle;
} session_force;
static const perp_opt no_options[] = { PERP_OPTIONS_END };

static void session_force_of(const void *opts, int dim, int n, const perp_body_state *body,
                             double t, double *f)
{
  const session_force *force = opts;
  const perp_session_request *request = &force->s->request;
  (void)dim;
  (void)n;
  if (force->called) request->force(request->user, force->body, t, body, f);
  if (force->s->face.push != NULL)
    for (int i = 0; i < 6; i++) f[i] += force->s->face.push[6 * force->body + i];
  for (int i = 3; i < 6 && force->particle; i++) f[i] = 0;
}

static unsigned session_force_promises(const void *opts)
{
  const session_force *force = opts;
  return PERP_FORCE_IN_SPACE | PERP_FORCE_IN_PLANE | PERP_FORCE_NEEDS_TIME |
         (force->called ? PERP_FORCE_NEEDS_VELOCITY : 0) |
         (force->particle ? PERP_FORCE_AT_CENTRES : 0);
}

static void session_force_flat(const void *opts, int dim, int n, const perp_body_state *body,
                               double t, double *dq, double *dv)
{
  (void)opts, (void)dim, (void)n, (void)body, (void)t, (void)dq, (void)dv;
}

/* A push does not depend on the state; what is called has differences. */
static const perp_force_desc session_pushed = {
  .d = { .name = "session-push",
         .summary = "a force that a program sets between steps",
         PERP_OPTIONS(no_options, session_force) },
  .bodies_min = 1,
  .bodies_max = 1,
  .force = session_force_of,
  .gradient = session_force_flat,
  .promises = session_force_promises,
};
static const perp_force_desc session_called = {
  .d = { .name = "session-force",
         .summary = "a force that a program computes",
         PERP_OPTIONS(no_options, session_force) },
  .bodies_min = 1,
  .bodies_max = 1,
  .force = session_force_of,
  .promises = session_force_promises,
};

static perp_status session_extend(perp_ctx *ctx, void *user, perp_model *model)
{
  session *work = user;
  for (int body = 0; body < work->face.bodies; body++) {
    perp_force_def def;
    const session_force opts = { work, body,
                                 work->request.forced != NULL && work->request.forced[body],
                                 perp_model_body(work->scene.model, body)->particle };
    if (!opts.called && !work->request.pushed) continue;
    PERP_TRY(perp_force_define(ctx, opts.called ? &session_called : &session_pushed, &opts, 1,
                               &body, &def));
    PERP_TRY(perp_model_add_force(ctx, model, &def));
  }
  return PERP_OK;
}

perp_status perp_session_push_joint(perp_session *face, int joint, double size)
{
  session *work = (session *)face;
  const perp_model *model = work->scene.model;
  if (face->push == NULL)
    return PERP_FAIL(work->ctx, PERP_ERR_ARG, "forces on joints have to be requested at the start");
  if (joint < 0 || joint >= perp_model_joints(model))
    return PERP_FAIL(work->ctx, PERP_ERR_ARG, "there is no joint %d: the scene has %d", joint,
                     perp_model_joints(model));
  const perp_joint_def *def = perp_model_joint(model, joint);
  const bool plane = face->dim == 2, slides = def->kind == PERP_JOINT_SLIDER;
  if (!slides && def->kind != PERP_JOINT_HINGE && !(plane && def->kind == PERP_JOINT_BALL))
    return PERP_FAIL(work->ctx, PERP_ERR_ARG,
                     "joint %d is a %s: only hinges and sliders have one axis; push its bodies",
                     joint, perp_joint_name(def));
  double axis[3] = { 0, 0, 1 }, R[9], length = 0, p[3] = { 0 };
  if (slides || !plane) {
    perp_model_rotation(model, face->q, def->a, R);
    for (int i = 0; i < 3; i++) {
      axis[i] = 0;
      for (int k = 0; k < 3; k++) axis[i] += R[i + 3 * k] * def->axis_a[k];
      length += axis[i] * axis[i];
    }
    for (int i = 0; i < 3; i++) axis[i] *= size / sqrt(length);
  } else
    axis[2] = size;
  perp_model_point(model, face->q, def->b, def->anchor_b, p);
  for (int side = 0; side < 2; side++) {
    const int body = side == 0 ? def->b : def->a;
    const double sign = side == 0 ? 1 : -1;
    if (body == PERP_WORLD) continue;
    double *f = face->push + 6 * body, torque[3] = { 0 }, x[3];
    const double centre[3] = { 0 };
    perp_model_point(model, face->q, body, centre, x);
    perp_model_rotation(model, face->q, body, R);
    if (slides) {
      const double r[3] = { p[0] - x[0], p[1] - x[1], p[2] - x[2] };
      for (int i = 0; i < 3; i++) {
        f[i] += sign * axis[i];
        torque[i] = r[(i + 1) % 3] * axis[(i + 2) % 3] - r[(i + 2) % 3] * axis[(i + 1) % 3];
      }
    } else
      memcpy(torque, axis, sizeof torque);
    for (int j = 0; j < 3; j++)
      for (int i = 0; i < 3; i++) f[3 + j] += sign * R[i + 3 * j] * torque[i];
  }
  return PERP_OK;
}

/* ---- life ---- */

static perp_status session_scene(perp_ctx *ctx, session *work, char name[PERP_SPEC_MAX])
{
  const perp_session_request *request = &work->request;
  if (request->scene == NULL || request->scene[0] == '\0')
    return PERP_FAIL(ctx, PERP_ERR_ARG, "no scene is specified");
  if (request->text == NULL) {
    perp_spec spec = { 0 };
    PERP_TRY(perp_spec_parse(ctx, PERP_KIND_scene, request->scene, &spec));
    const perp_status status = perp_scene_create(ctx, &spec, &work->scene);
    snprintf(name, PERP_SPEC_MAX, "%s", spec.d->name);
    perp_spec_free(&spec);
    return status;
  }
  perp_diag diag = { 0 };
  work->file = calloc(1, sizeof *work->file);
  if (work->file == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a scene");
  snprintf(name, PERP_SPEC_MAX, "%s", request->scene);
  if (!perp_scene_file_read(ctx, &diag, request->scene, request->text, strlen(request->text),
                            work->file))
    return perp_scene_file_refuse(ctx, &diag, PERP_ERR_FORMAT);
  perp_scene_file_describe(work->file, perp_pool_strdup(&work->file->pool, request->scene));
  void *opts = calloc(1, work->file->desc.d.opts_size + 1);
  if (opts == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a scene");
  perp_opts_default(&work->file->desc.d, opts);
  const perp_status status = perp_scene_file_build(ctx, &diag, work->file, opts, &work->scene);
  free(opts);
  if (status != PERP_OK) return perp_scene_file_refuse(ctx, &diag, status);
  perp_diag_free(&diag);
  return PERP_OK;
}

static perp_status session_arrays(perp_ctx *ctx, session *work)
{
  perp_session *f = &work->face;
  const perp_model *model = work->scene.model;
  f->nq = model != NULL ? perp_model_nq(model) : work->scene.ode->nq;
  f->nv = model != NULL ? perp_model_nv(model) : work->scene.ode->nv;
  f->dim = model != NULL ? perp_model_dim(model) : 0;
  f->bodies = model != NULL ? perp_model_bodies(model) : 0;
  f->joints = model != NULL ? perp_model_joints(model) : 0;
  f->drives = model != NULL ? perp_model_drives(model) : 0;
  work->room = calloc(2 * (size_t)(f->nq + f->nv) + 6 * (size_t)f->bodies + 1, sizeof *work->room);
  if (work->room == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a state");
  f->q = work->room;
  f->v = f->q + f->nq;
  f->q_start = f->v + f->nv;
  f->v_start = f->q_start + f->nq;
  f->push = work->request.pushed ? f->v_start + f->nv : NULL;
  return PERP_OK;
}

static perp_status session_methods(perp_ctx *ctx, session *work, const char *name)
{
  const perp_session_request *session_request = &work->request;
  const perp_request request = { .scene = session_request->scene,
                                 .formulation = session_request->formulation,
                                 .ode = session_request->ode,
                                 .kkt = session_request->kkt,
                                 .lcp = session_request->lcp,
                                 .stab = session_request->stab,
                                 .contact = session_request->contact,
                                 .engine = session_request->engine,
                                 .h = session_request->h,
                                 .t_end = session_request->t_end };
  perp_result named = { 0 };
  bool adaptive;
  if (!(session_request->h >= 0) || !isfinite(session_request->h))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the step h must be positive: got %g s",
                     session_request->h);
  if (!(session_request->t_end >= 0) || !isfinite(session_request->t_end))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the end t_end must be positive: got %g s",
                     session_request->t_end);
  PERP_TRY(perp_parts_read(ctx, &request, &work->scene, name, &work->parts, &adaptive));
  PERP_TRY(perp_run_times(ctx, &request, &work->scene, adaptive, &work->face.h, &work->face.t_end));
  perp_parts_write(&work->parts, &named);
  for (int part = 0; part < PERP_PARTS; part++)
    snprintf(work->part[part], PERP_SPEC_MAX, "%s", perp_part_used(&named, part));
  if (work->scene.model == NULL) {
    if (session_request->pushed || session_request->forced != NULL)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "scene %s has no bodies that a force could act on", session_request->scene);
    return perp_ode_create(ctx, &work->parts.ode, work->scene.ode, work->face.h, &work->ode);
  }
  work->model = work->scene.model;
  if (session_request->pushed || session_request->forced != NULL) {
    PERP_TRY(
        perp_equivalent_extended(ctx, work->scene.model, session_extend, work, &work->extended));
    work->model = perp_equivalent_model(work->extended);
  }
  return perp_sim_create(ctx, work->model, &work->parts, work->face.h, &work->sim);
}

static double session_largest(int n, const double *x)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* The state that the methods have reached, for the caller. */
static void session_read(session *work)
{
  perp_session *f = &work->face;
  const double *q, *v;
  if (work->sim != NULL)
    perp_sim_state(work->sim, &f->t, &q, &v);
  else {
    f->t = perp_ode_time(work->ode);
    q = perp_ode_q(work->ode);
    v = perp_ode_v(work->ode);
  }
  memcpy(f->q, q, (size_t)f->nq * sizeof *q);
  if (f->nv > 0) memcpy(f->v, v, (size_t)f->nv * sizeof *v);
  if (work->scene.model != NULL) perp_model_follow(work->scene.model, f->q);
}

static void session_forget(session *work)
{
  perp_session *f = &work->face;
  work->info = (perp_step_info){ .reason = PERP_EXACT, .drift_pos_pre = (double)NAN };
  f->contact = NULL;
  f->impulse = NULL;
  f->n_contacts = 0;
  f->reason = PERP_EXACT;
  f->steps = 0;
  session_read(work);
  f->t_start = f->t;
  memcpy(f->q_start, f->q, (size_t)(f->nq + f->nv) * sizeof *f->q);
}

perp_status perp_session_open(perp_ctx *ctx, const perp_session_request *request,
                              perp_session **out)
{
  char name[PERP_SPEC_MAX];
  session *work = calloc(1, sizeof *work);
  *out = NULL;
  if (work == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a simulation");
  work->ctx = ctx;
  work->request = *request;
  perp_status status = session_scene(ctx, work, name);
  if (status == PERP_OK) status = session_arrays(ctx, work);
  if (status == PERP_OK) status = session_methods(ctx, work, name);
  if (status == PERP_OK) {
    const bool bodies = work->sim != NULL;
    const double *q = bodies ? perp_model_q0(work->scene.model) : work->scene.ode_q0,
                 *v = bodies ? perp_model_v0(work->scene.model) : work->scene.ode_v0;
    snprintf(work->name, sizeof work->name, "%s", request->scene);
    work->bound = DIVERGED * fmax(1, fmax(session_largest(work->face.nq, q),
                                          session_largest(work->face.nv, v)));
    status = perp_session_restart(&work->face, 0, q, v);
  }
  if (status != PERP_OK) {
    perp_session_close(&work->face);
    return status;
  }
  *out = &work->face;
  return PERP_OK;
}

void perp_session_close(perp_session *face)
{
  session *work = (session *)face;
  if (work == NULL) return;
  perp_replay_destroy(work->replay);
  perp_measure_destroy(work->measure);
  perp_step_forces_destroy(work->forces);
  perp_gradient_destroy(work->gradient);
  perp_sim_destroy(work->sim);
  perp_ode_destroy(work->ode);
  perp_equivalent_destroy(work->extended);
  perp_parts_free(&work->parts);
  perp_scene_destroy(&work->scene);
  if (work->file != NULL) perp_pool_free(&work->file->pool);
  free(work->file);
  free(work->room);
  free(work);
}

perp_status perp_session_frame(session *work, perp_replay *replay)
{
  const perp_session *f = &work->face;
  double kinetic, potential;
  perp_session_energy(f, &kinetic, &potential);
  const perp_replay_state state = { .t = f->t,
                                    .q = f->q,
                                    .v = f->v,
                                    .info = f->steps > 0 ? &work->info : NULL,
                                    .energy = kinetic + potential,
                                    .drift = work->info.drift_pos_pre };
  return perp_replay_frame(work->ctx, replay, &state);
}

/* ---- steps ---- */

perp_status perp_session_restart(perp_session *face, double t, const double *q, const double *v)
{
  session *work = (session *)face;
  if (work->scene.model != NULL) perp_model_follow(work->scene.model, NULL);
  PERP_TRY(work->sim != NULL ? perp_sim_restart(work->ctx, work->sim, t, q, v)
                             : perp_ode_restart(work->ctx, work->ode, t, q, v));
  session_forget(work);
  if (work->gradient != NULL) PERP_TRY(perp_gradient_reset(work->ctx, work->gradient));
  if (work->measure != NULL) PERP_TRY(perp_session_measure(face, true));
  return work->replay != NULL ? perp_session_frame(work, work->replay) : PERP_OK;
}

static perp_status session_once(session *work, double t_max)
{
  perp_session *f = &work->face;
  perp_stats stats = { 0 };
  work->ctx->status = PERP_OK;
  if (work->gradient != NULL)
    PERP_TRY(perp_gradient_step(work->ctx, work->gradient, t_max, &work->info));
  else if (work->sim != NULL)
    PERP_TRY(perp_sim_step(work->ctx, work->sim, t_max, &work->info));
  else {
    const perp_ode_stop stop = perp_ode_step(work->ctx, work->ode, t_max, &stats);
    work->info.reason = stop == PERP_ODE_STOPPED ? stats.reason : PERP_EXACT;
  }
  f->t_start = f->t;
  memcpy(f->q_start, f->q, (size_t)(f->nq + f->nv) * sizeof *f->q);
  session_read(work);
  f->reason = work->info.reason;
  const bool known = work->info.contacts != NULL;
  f->n_contacts = known ? work->info.n_contacts : 0;
  f->contact = known ? work->info.contacts : NULL;
  f->impulse = known ? work->info.impulse : NULL;
  PERP_TRY(perp_cell_raised(work->ctx, &work->info));
  if (f->reason < 0) {
    const bool more = work->info.cause != NULL && work->info.cause[0] != '\0';
    return PERP_FAIL(work->ctx, PERP_ERR_EXTERNAL, "stopped at t = %.9g s: %s%s%s", f->t,
                     perp_reason_name(work->info.reason), more ? ": " : "",
                     more ? work->info.cause : "");
  }
  f->steps++;
  if (work->measure != NULL) perp_measure_state(work->measure, f->t, f->q, f->v, &work->info);
  if (work->replay != NULL) PERP_TRY(perp_session_frame(work, work->replay));
  for (int i = 0; i < f->nq + f->nv; i++)
    if (!(fabs(f->q[i]) <= work->bound)) {
      f->reason = PERP_DIVERGED;
      return PERP_FAIL(work->ctx, PERP_ERR_EXTERNAL, "diverged at t = %.9g s: |state| > %g", f->t,
                       work->bound);
    }
  return PERP_OK;
}

perp_status perp_session_step(perp_session *face, int64_t n, double t_max)
{
  session *work = (session *)face;
  for (int64_t i = 0; i < n; i++) {
    if (face->t >= t_max || (isfinite(t_max) && perp_cell_same_time(face->t, t_max))) break;
    PERP_TRY(session_once(work, t_max));
  }
  return PERP_OK;
}

/* ---- questions ---- */

void perp_session_energy(const perp_session *face, double *kinetic, double *potential)
{
  const session *work = (const session *)face;
  *kinetic = *potential = (double)NAN;
  if (work->scene.model != NULL)
    perp_model_energy(work->scene.model, face->t, face->q, face->v, kinetic, potential);
  else if (work->scene.ode_energy != NULL) {
    *kinetic = work->scene.ode_energy(work->scene.ode->user, face->q, face->v);
    *potential = 0;
  }
}

const perp_step_forces *perp_session_forces(perp_session *face)
{
  session *work = (session *)face;
  const perp_redundant *redundant = work->sim != NULL ? perp_sim_redundant(work->sim) : NULL;
  if (work->sim == NULL || face->steps == 0) {
    PERP_FAIL(work->ctx, PERP_ERR_UNSUPPORTED,
              work->sim == NULL ? "the scene has no bodies, and no forces"
                                : "there are no forces before the first step");
    return NULL;
  }
  if (work->forces == NULL &&
      perp_step_forces_create(work->ctx, work->model, work->sim, &work->forces) != PERP_OK)
    return NULL;
  const perp_step_span span = { face->t_start, face->t, face->q_start, face->v_start,
                                face->q,       face->v, &work->info };
  return perp_step_forces_at(work->ctx, work->forces, &span,
                             redundant != NULL ? redundant->rows : -1) == PERP_OK
             ? work->forces
             : NULL;
}

perp_status perp_session_gradient(perp_session *face, const perp_gradient_wrt *wrt, int n,
                                  perp_gradient **out)
{
  session *work = (session *)face;
  perp_gradient_destroy(work->gradient);
  work->gradient = NULL;
  if (out != NULL) *out = NULL;
  if (n == 0) return PERP_OK;
  if (work->sim == NULL)
    return PERP_FAIL(work->ctx, PERP_ERR_UNSUPPORTED,
                     "scene %s has no bodies: there are no derivatives of plain ODE problems",
                     work->name);
  PERP_TRY(perp_gradient_create(work->ctx, work->sim, wrt, n, &work->gradient));
  const perp_status status = perp_gradient_reset(work->ctx, work->gradient);
  if (status != PERP_OK) {
    perp_gradient_destroy(work->gradient);
    work->gradient = NULL;
  }
  if (out != NULL) *out = work->gradient;
  return status;
}

perp_status perp_session_measure(perp_session *face, bool on)
{
  session *work = (session *)face;
  perp_measure_destroy(work->measure);
  work->measure = NULL;
  if (!on) return PERP_OK;
  PERP_TRY(perp_measure_create(work->ctx, &work->scene, &work->measure));
  perp_measure_state(work->measure, face->t, face->q, face->v, NULL);
  return PERP_OK;
}

perp_status perp_session_metric(perp_session *face, int i, const char **name, double *value)
{
  session *work = (session *)face;
  perp_measure *measure = work->measure;
  const perp_desc *desc = perp_plugin_at(work->ctx, PERP_KIND_metric, i);
  *name = desc != NULL ? desc->name : NULL;
  if (measure == NULL)
    return PERP_FAIL(work->ctx, PERP_ERR_ARG, "metrics have to be requested first");
  if (desc == NULL) return PERP_OK;
  const perp_contact_count *contacts = work->sim != NULL ? perp_sim_contacts(work->sim) : NULL;
  if (work->sim != NULL)
    perp_sim_counters(work->sim, &measure->run.ode, &measure->run.kkt);
  else
    measure->run.ode = *perp_ode_count(work->ode);
  measure->run.has_contacts = contacts != NULL;
  if (contacts != NULL) measure->run.contacts = *contacts;
  work->ctx->status = PERP_OK;
  *value = ((const perp_metric_desc *)(const void *)desc)->value(measure);
  return work->ctx->status;
}

int64_t perp_session_motion(const perp_measure *measure, int *nq, int *nv, const double **row)
{
  *nq = measure->nq;
  *nv = measure->nv;
  return perp_measure_motion(measure, row);
}

bool perp_session_figure(const perp_measure *measure, int i, const char **name, double *value)
{
  return perp_measure_figure(measure, i, name, value);
}

const char *perp_session_part(const perp_session *face, const char *kind)
{
  const session *work = (const session *)face;
  for (int part = 0; part < PERP_PARTS; part++)
    if (strcmp(perp_part_name(part), kind) == 0) return work->part[part];
  if (strcmp(kind, "truth") == 0) return work->scene.n_truths > 0 ? work->scene.truth[0].what : "";
  return strcmp(kind, "scene") == 0 ? work->name : "";
}

const char *perp_session_name(const perp_session *face, const char *kind, int i)
{
  const perp_model *model = ((const session *)face)->scene.model;
  if (model == NULL || i < 0) return NULL;
  if (strcmp(kind, "body") == 0 && i < face->bodies) return perp_model_body(model, i)->name;
  if (strcmp(kind, "joint") == 0 && i < face->joints) return perp_model_joint(model, i)->name;
  if (strcmp(kind, "drive") == 0 && i < face->drives) return perp_model_drive(model, i)->name;
  return NULL;
}

const perp_model *perp_session_model(const perp_session *face)
{
  return ((const session *)face)->scene.model;
}

perp_status perp_session_truth(perp_session *face, double t, double *q, double *v)
{
  session *work = (session *)face;
  const perp_truth *truth = &work->scene.truth[0];
  if (work->scene.n_truths == 0)
    return PERP_FAIL(work->ctx, PERP_ERR_UNSUPPORTED, "scene %s has no exact or reference solution",
                     work->name);
  if (!(t >= 0) || t > truth->t_end)
    return PERP_FAIL(work->ctx, PERP_ERR_UNSUPPORTED,
                     "the reference solution is known from 0 to %g s: not at %g s", truth->t_end,
                     t);
  return truth->state(truth->user, work->ctx, t, q, v);
}
