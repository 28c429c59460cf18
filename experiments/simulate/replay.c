/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/replay.h"

#include "experiments/base/util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  FRAMES = 160,
  LEAST_FRAMES = 24,
  FLOATS = 60000,
  BODIES = 256,
  CONTACTS = 96,
  PER_CONTACT = 6
};

typedef struct frame {
  double t;
  int contacts;
  float *state;   /* [per_frame] pose, then error; owned */
  float *contact; /* [contacts * PER_CONTACT] behind it */
} frame;

struct perp_replay {
  const perp_model *model;
  int pose, error, per_frame; /* floats of a frame */
  int most;                   /* frames */
  int n;
  int64_t seen, stride; /* every stride-th state is kept */
  frame frame[FRAMES];
};

perp_status perp_replay_create(perp_ctx *ctx, const perp_model *model, perp_replay **out)
{
  *out = NULL;
  int bodies = perp_model_bodies(model);
  if (bodies > BODIES) return PERP_OK;
  perp_replay *r = calloc(1, sizeof *r);
  if (r == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the replay");
  r->model = model;
  r->pose = bodies * (perp_model_dim(model) == 3 ? 7 : 3);
  r->error = 3 * perp_model_joints(model);
  r->per_frame = r->pose + r->error;
  r->most = FLOATS / (r->per_frame + 1);
  r->most = r->most > FRAMES ? FRAMES : r->most < LEAST_FRAMES ? LEAST_FRAMES : r->most;
  r->most -= r->most % 2;
  r->stride = 1;
  *out = r;
  return PERP_OK;
}

void perp_replay_destroy(perp_replay *r)
{
  if (r == NULL) return;
  for (int i = 0; i < r->n; i++) free(r->frame[i].state);
  free(r);
}

/* Only the even ones stay. */
static void replay_halve(perp_replay *r)
{
  for (int i = 0; i < r->n; i++) {
    if (i % 2 == 0)
      r->frame[i / 2] = r->frame[i];
    else
      free(r->frame[i].state);
  }
  r->n = (r->n + 1) / 2;
  r->stride *= 2;
}

/* How far the anchors of a joint are from where they should be. */
static void joint_error(const perp_model *model, const double *q, int joint, float *error)
{
  const perp_joint_def *d = perp_model_joint(model, joint);
  double a[3] = { 0 }, b[3] = { 0 }, e[3], length = 0;
  perp_model_point(model, q, d->a, d->anchor_a, a);
  perp_model_point(model, q, d->b, d->anchor_b, b);
  const int dim = perp_model_dim(model);
  for (int i = 0; i < 3; i++) {
    e[i] = i < dim ? b[i] - a[i] : 0;
    length += e[i] * e[i];
  }
  length = sqrt(length);
  const bool slides = d->kind == PERP_JOINT_SLIDER || d->kind == PERP_JOINT_LINE ||
                      d->kind == PERP_JOINT_WHEEL || d->kind == PERP_JOINT_CURVE ||
                      d->kind == PERP_JOINT_PLANAR || d->kind == PERP_JOINT_CYLINDRICAL;
  double part = slides                           ? 0 /* moves apart by right */
                : d->kind != PERP_JOINT_DISTANCE ? 1
                : length > 0                     ? 1 - d->length / length
                                                 : 0;
  for (int i = 0; i < 3; i++) error[i] = (float)(part * e[i]);
}

static void contacts_of(frame *f, const perp_step_info *info, int dim)
{
  for (int i = 0; i < f->contacts; i++) {
    const double *p = info->contacts[i].p[1], *impulse = info->impulse + 3 * (size_t)i;
    for (int k = 0; k < 3; k++) {
      f->contact[PER_CONTACT * i + k] = (float)(k < dim ? p[k] : 0);
      f->contact[PER_CONTACT * i + 3 + k] = (float)(k < dim ? impulse[k] : 0);
    }
  }
}

perp_status perp_replay_frame(perp_ctx *ctx, perp_replay *r, double t, const double *q,
                              const perp_step_info *info)
{
  if (r == NULL || r->seen++ % r->stride != 0) return PERP_OK;
  if (r->n == r->most) {
    replay_halve(r);
    if ((r->seen - 1) % r->stride != 0) return PERP_OK;
  }
  frame *f = &r->frame[r->n];
  bool touching = info != NULL && info->contacts != NULL && info->impulse != NULL;
  f->t = t;
  f->contacts = !touching ? 0 : info->n_contacts < CONTACTS ? info->n_contacts : CONTACTS;
  f->state = malloc((size_t)(r->per_frame + PER_CONTACT * f->contacts + 1) * sizeof *f->state);
  if (f->state == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the replay");
  f->contact = f->state + r->per_frame;
  for (int i = 0; i < r->pose; i++) f->state[i] = (float)q[i];
  for (int k = 0; k < perp_model_joints(r->model); k++)
    joint_error(r->model, q, k, f->state + r->pose + 3 * k);
  if (touching) contacts_of(f, info, perp_model_dim(r->model));
  r->n++;
  return PERP_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void replay_reals(perp_json *j, const char *key, const double *v, int n)
{
  perp_json_open(j, key, '[');
  for (int i = 0; i < n; i++) {
    char text[32];
    snprintf(text, sizeof text, "%.7g", v[i]);
    perp_json_raw(j, NULL, text);
  }
  perp_json_close(j, ']');
}

static void replay_bodies(perp_json *j, const perp_model *model)
{
  perp_json_open(j, "bodies", '[');
  for (int i = 0; i < perp_model_bodies(model); i++) {
    const perp_body_def *d = perp_model_body(model, i);
    /* I_x = m (b^2 + c^2) / 12 and so on, for the edges a, b, c */
    const double *I = d->mass.inertia, sum = I[0] + I[4] + I[8];
    double half[3];
    for (int k = 0; k < 3; k++) half[k] = sqrt(fmax(0, 1.5 * (sum - 2 * I[4 * k]) / d->mass.mass));
    if (perp_model_dim(model) == 2) half[0] = half[1] = sqrt(1.5 * I[8] / d->mass.mass);
    perp_json_open(j, NULL, '{');
    perp_json_text(j, "name", d->name);
    replay_reals(j, "half", half, 3);
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
}

static void replay_shapes(perp_json *j, const perp_model *model)
{
  static const char *const kinds[] = {
    "sphere", "capsule", "box", "polytope", "plane", "ellipsoid"
  };
  const int dim = perp_model_dim(model);
  perp_json_open(j, "shapes", '[');
  for (int i = 0; i < perp_model_shapes(model); i++) {
    const perp_shape_def *d = perp_model_shape(model, i);
    perp_json_open(j, NULL, '{');
    perp_json_members(j, "body %d, kind %s", d->body, kinds[d->kind]);
    replay_reals(j, "x", d->x, 3);
    if (dim == 3)
      replay_reals(j, "turn", d->quat, 4);
    else
      replay_reals(j, "turn", &d->angle, 1);
    replay_reals(j, "radius", &d->radius, 1);
    replay_reals(j, "length", &d->length, 1);
    replay_reals(j, "half", d->half, 3);
    if (d->vertices != NULL) replay_reals(j, "vertices", d->vertices, dim * d->n_vertices);
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
}

static void replay_joints(perp_json *j, const perp_model *model)
{
  perp_json_open(j, "joints", '[');
  for (int i = 0; i < perp_model_joints(model); i++) {
    const perp_joint_def *d = perp_model_joint(model, i);
    perp_json_open(j, NULL, '{');
    perp_json_members(j, "kind %s, a %d, b %d", perp_joint_kind_name(d->kind), d->a, d->b);
    replay_reals(j, "at_a", d->anchor_a, 3);
    replay_reals(j, "at_b", d->anchor_b, 3);
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
}

static void replay_frames(perp_json *j, const perp_replay *r)
{
  size_t contacts = 0, n = (size_t)r->n;
  for (int i = 0; i < r->n; i++) contacts += (size_t)r->frame[i].contacts;
  size_t most = (size_t)(r->per_frame + 1) * n + contacts * PER_CONTACT;
  float *v = perp_xalloc(most, sizeof *v);
  perp_json_int(j, "frames", r->n);
  for (size_t i = 0; i < n; i++) v[i] = (float)r->frame[i].t;
  perp_json_floats(j, "t", v, n);
  for (size_t i = 0; i < n; i++)
    memcpy(v + i * (size_t)r->pose, r->frame[i].state, (size_t)r->pose * sizeof *v);
  perp_json_floats(j, "pose", v, n * (size_t)r->pose);
  for (size_t i = 0; i < n; i++)
    memcpy(v + i * (size_t)r->error, r->frame[i].state + r->pose, (size_t)r->error * sizeof *v);
  perp_json_floats(j, "error", v, n * (size_t)r->error);
  for (size_t i = 0; i < n; i++) v[i] = (float)r->frame[i].contacts;
  perp_json_floats(j, "contacts", v, n);
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    size_t count = (size_t)r->frame[i].contacts * PER_CONTACT;
    memcpy(v + at, r->frame[i].contact, count * sizeof *v);
    at += count;
  }
  perp_json_floats(j, "contact", v, at);
  free(v);
}

perp_status perp_replay_write(perp_ctx *ctx, const perp_replay *r, const char *path)
{
  perp_out o;
  PERP_TRY(perp_out_open(ctx, path, &o));
  perp_json j = { .out = o.f };
  perp_json_open(&j, NULL, '{');
  perp_json_members(&j, "schema %s, dim %d", "perp-replay/1", perp_model_dim(r->model));
  replay_bodies(&j, r->model);
  replay_shapes(&j, r->model);
  replay_joints(&j, r->model);
  replay_frames(&j, r);
  perp_json_close(&j, '}');
  return perp_out_close(ctx, &o, true);
}
