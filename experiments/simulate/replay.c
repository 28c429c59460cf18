/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/replay.h"

#include "experiments/metrics/joint_loads.h"
#include "experiments/base/memory.h"
#include "experiments/base/json.h"
#include "experiments/base/files.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { PER_CONTACT = 6, CURVE_POINTS = 97 };
/* a curve without ends is drawn this far to both sides of where its point starts */
static const double endless = 20;

/* What a recording may take; least: so many frames it has, whatever they take. */
typedef struct limits {
  int frames, least, floats, bodies, contacts;
} limits;
static const limits limits_of[] = { [PERP_REPLAY_SMALL] = { 160, 24, 60000, 256, 96 },
                                    [PERP_REPLAY_FILM] = { PERP_REPLAY_FRAMES, 16, 1200000, 10000,
                                                           6000 } };

typedef struct frame {
  double t, energy, drift, depth;
  int contacts;
  bool known;     /* has a reference */
  size_t floats;  /* of all that is behind state */
  float *state;   /* [per_frame] pose, error, loads of joints; owned */
  float *ref;     /* [pose] behind it, where known */
  float *contact; /* [contacts * PER_CONTACT] behind that */
} frame;

struct perp_replay {
  const perp_model *model;
  const limits *limit;
  int pose, error, loads, per_frame; /* floats of a frame */
  perp_load *load;                   /* [loads] */
  int n;
  size_t floats;        /* of all frames */
  int64_t left_out;     /* contacts of frames, beyond the limit */
  int64_t seen, stride; /* every stride-th state is kept, */
  bool odd;             /* and the last one, which is none of these */
  frame frame[PERP_REPLAY_FRAMES + 1];
};

perp_status perp_replay_create(perp_ctx *ctx, const perp_model *model, perp_replay_size size,
                               perp_replay **out)
{
  *out = NULL;
  int bodies = perp_model_bodies(model);
  if (bodies > limits_of[size].bodies) return PERP_OK;
  perp_replay *r = calloc(1, sizeof *r);
  if (r == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the replay");
  r->model = model;
  r->limit = &limits_of[size];
  r->pose = bodies * (perp_model_dim(model) == 3 ? 7 : 3);
  r->error = 3 * perp_model_joints(model);
  r->stride = 1;
  const perp_status status = perp_loads_of(ctx, model, &r->load, &r->loads);
  if (status != PERP_OK) {
    free(r);
    return status;
  }
  r->per_frame = r->pose + r->error + r->loads;
  *out = r;
  return PERP_OK;
}

void perp_replay_destroy(perp_replay *r)
{
  if (r == NULL) return;
  for (int i = 0; i < r->n; i++) free(r->frame[i].state);
  free(r->load);
  free(r);
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
                      d->kind == PERP_JOINT_PLANAR || d->kind == PERP_JOINT_CYLINDRICAL ||
                      d->kind == PERP_JOINT_PLUGIN;  /* has no anchors that anybody knew */
  double part = slides                           ? 0 /* moves apart by right */
                : d->kind != PERP_JOINT_DISTANCE ? 1
                : length > 0                     ? 1 - d->length / length
                                                 : 0;
  for (int i = 0; i < 3; i++) error[i] = (float)(part * e[i]);
}

static void replay_contacts(frame *f, const perp_step_info *info, int dim)
{
  for (int i = 0; i < info->n_contacts; i++) f->depth = fmax(f->depth, -info->contacts[i].gap);
  for (int i = 0; i < f->contacts; i++) {
    const double *p = info->contacts[i].p[1], *impulse = info->impulse + 3 * (size_t)i;
    for (int k = 0; k < 3; k++) {
      f->contact[PER_CONTACT * i + k] = (float)(k < dim ? p[k] : 0);
      f->contact[PER_CONTACT * i + 3 + k] = (float)(k < dim ? impulse[k] : 0);
    }
  }
}

static bool replay_full(const perp_replay *r)
{
  return r->n == r->limit->frames ||
         (r->floats > (size_t)r->limit->floats && r->n > r->limit->least);
}

perp_status perp_replay_frame(perp_ctx *ctx, perp_replay *r, const perp_replay_state *s)
{
  if (r == NULL) return PERP_OK;
  const bool kept = r->seen++ % r->stride == 0;
  if (!kept && !s->end) return PERP_OK;
  if (kept && replay_full(r)) {
    /* Only the even ones stay. */
  r->floats = 0;
  for (int i = 0; i < r->n; i++) {
    if (i % 2 == 0) {
      r->frame[i / 2] = r->frame[i];
      r->floats += r->frame[i].floats;
    } else
      free(r->frame[i].state);
  }
  r->n = (r->n + 1) / 2;
  r->stride *= 2;
    if ((r->seen - 1) % r->stride != 0 && !s->end) return PERP_OK;
  }
  frame *f = &r->frame[r->n];
  const perp_step_info *info = s->info;
  const bool touching = info != NULL && info->contacts != NULL && info->impulse != NULL;
  const int most = r->limit->contacts;
  *f = (frame){ .t = s->t, .energy = s->energy, .drift = s->drift, .known = s->ref != NULL };
  f->contacts = !touching ? 0 : info->n_contacts < most ? info->n_contacts : most;
  f->floats = (size_t)(r->per_frame + (f->known ? r->pose : 0) + PER_CONTACT * f->contacts);
  f->state = malloc((f->floats + 1) * sizeof *f->state);
  if (f->state == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the replay");
  f->ref = f->state + r->per_frame;
  f->contact = f->ref + (f->known ? r->pose : 0);
  for (int i = 0; i < r->pose; i++) f->state[i] = (float)s->q[i];
  for (int i = 0; i < r->pose && f->known; i++) f->ref[i] = (float)s->ref[i];
  for (int k = 0; k < perp_model_joints(r->model); k++)
    joint_error(r->model, s->q, k, f->state + r->pose + 3 * k);
  perp_loads_at(r->model, r->load, r->loads, s->t, s->q, s->v, info, f->state + r->pose + r->error);
  if (touching) {
    replay_contacts(f, info, perp_model_dim(r->model));
    r->left_out += info->n_contacts - f->contacts;
  }
  r->floats += f->floats;
  r->n++;
  return PERP_OK;
}

/* ---- the file ---- */

static void replay_reals(perp_json *j, const char *key, const double *v, int n)
{
  perp_json_open(j, key, '[');
  for (int i = 0; i < n; i++) {
    char text[32];
    snprintf(text, sizeof text, "%.7g", v[i]);
    perp_json_raw(j, NULL, isfinite(v[i]) ? text : "null");
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
    perp_json_real(j, "mass", d->mass.mass);
    perp_json_bool(j, "particle", d->particle);
    replay_reals(j, "half", half, 3);
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
}

static void replay_shapes(perp_json *j, const perp_model *model)
{
  static const char *const kinds[] = { "sphere",    "capsule",  "box",  "polytope", "plane",
                                       "ellipsoid", "cylinder", "cone", "mesh",     "field" };
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
    if (d->triangles != NULL) perp_json_ints(j, "triangles", d->triangles, 3 * d->n_triangles);
    if (d->heights != NULL) {
      replay_reals(j, "heights", d->heights, d->grid[0] * d->grid[1]);
      perp_json_ints(j, "grid", d->grid, 2);
      replay_reals(j, "spacing", d->spacing, 2);
    }
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
}

/* A curve as points in the frame of body a, within its ends. */
static void replay_curve(perp_json *j, const perp_model *model, int joint)
{
  const perp_curve_def *c = &perp_model_joint(model, joint)->curve;
  double point[3 * CURVE_POINTS], tangent[3], lower = c->lower, upper = c->upper;
  if (lower == 0 && upper == 0) {
    const double start = perp_model_curve_place(model, perp_model_q0(model), joint);
    lower = c->kind == PERP_CURVE_CIRCLE    ? 0
            : c->kind == PERP_CURVE_CYCLOID ? -M_PI
            : c->kind == PERP_CURVE_SPLINE  ? 0
                                            : start - endless;
    upper = c->kind == PERP_CURVE_CIRCLE    ? 2 * M_PI
            : c->kind == PERP_CURVE_CYCLOID ? M_PI
            : c->kind == PERP_CURVE_SPLINE  ? (c->closed ? c->n : c->n - 1)
                                            : start + endless;
  }
  for (int i = 0; i < CURVE_POINTS; i++) {
    const double s = lower + (upper - lower) * i / (CURVE_POINTS - 1);
    perp_model_curve_point(model, joint, s, &point[3 * (ptrdiff_t)i], tangent);
    if (perp_model_dim(model) == 2) point[3 * i + 2] = 0;
  }
  replay_reals(j, "curve", point, 3 * CURVE_POINTS);
}

static void replay_joints(perp_json *j, const perp_model *model)
{
  perp_json_open(j, "joints", '[');
  for (int i = 0; i < perp_model_joints(model); i++) {
    const perp_joint_def *d = perp_model_joint(model, i);
    perp_json_open(j, NULL, '{');
    const bool turned = d->kind == PERP_JOINT_PLUGIN && d->a < 0; /* no anchor in the world */
    perp_json_members(j, "kind %s, a %d, b %d", perp_joint_name(d), turned ? d->b : d->a,
                      turned ? d->a : d->b);
    replay_reals(j, "at_a", d->anchor_a, 3);
    replay_reals(j, "at_b", d->anchor_b, 3);
    replay_reals(j, "axis", d->axis_a, 3);
    if (d->kind == PERP_JOINT_CURVE) replay_curve(j, model, i);
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
}

static void replay_springs(perp_json *j, const perp_model *model)
{
  perp_json_open(j, "springs", '[');
  for (int i = 0; i < perp_model_force_elements(model); i++) {
    const perp_force_def *d = perp_model_force_element(model, i);
    if (d->kind != PERP_FORCE_SPRING) continue;
    perp_json_open(j, NULL, '{');
    perp_json_members(j, "a %d, b %d", d->a, d->b);
    replay_reals(j, "at_a", d->anchor_a, 3);
    replay_reals(j, "at_b", d->anchor_b, 3);
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
}

/* One number of each frame. */
static void replay_numbers(perp_json *j, const perp_replay *r, const char *key, size_t offset,
                           float *v)
{
  for (int i = 0; i < r->n; i++)
    v[i] = (float)*(const double *)(const void *)((const char *)&r->frame[i] + offset);
  perp_json_floats(j, key, v, (size_t)r->n);
}

static void replay_frames(perp_json *j, const perp_replay *r)
{
  size_t n = (size_t)r->n, pose = (size_t)r->pose, error = (size_t)r->error;
  size_t loads = (size_t)r->loads, at = 0, most = n;
  for (size_t i = 0; i < n; i++) most += r->frame[i].floats;
  float *v = perp_xalloc(most + 1, sizeof *v);
  perp_json_members(j, "frames %d, contacts_left_out %lld", r->n, (long long)r->left_out);
  replay_numbers(j, r, "t", offsetof(frame, t), v);
  replay_numbers(j, r, "energy", offsetof(frame, energy), v);
  replay_numbers(j, r, "drift", offsetof(frame, drift), v);
  replay_numbers(j, r, "depth", offsetof(frame, depth), v);
  for (size_t i = 0; i < n; i++) memcpy(v + i * pose, r->frame[i].state, pose * sizeof *v);
  perp_json_floats(j, "pose", v, n * pose);
  for (size_t i = 0; i < n; i++)
    memcpy(v + i * error, r->frame[i].state + r->pose, error * sizeof *v);
  perp_json_floats(j, "error", v, n * error);
  for (size_t i = 0; i < n; i++)
    memcpy(v + i * loads, r->frame[i].state + r->pose + r->error, loads * sizeof *v);
  perp_json_floats(j, "drive", v, n * loads);
  for (size_t i = 0; i < n; i++) v[i] = (float)r->frame[i].contacts;
  perp_json_floats(j, "contacts", v, n);
  for (size_t i = 0; i < n; i++) {
    size_t count = (size_t)r->frame[i].contacts * PER_CONTACT;
    memcpy(v + at, r->frame[i].contact, count * sizeof *v);
    at += count;
  }
  perp_json_floats(j, "contact", v, at);
  for (size_t i = 0; i < n; i++) v[i] = r->frame[i].known;
  perp_json_floats(j, "known", v, n);
  at = 0;
  for (size_t i = 0; i < n; i++) {
    if (!r->frame[i].known) continue;
    memcpy(v + at, r->frame[i].ref, pose * sizeof *v);
    at += pose;
  }
  perp_json_floats(j, "reference", v, at);
  free(v);
}

perp_status perp_replay_write(perp_ctx *ctx, const perp_replay *r, const char *path)
{
  perp_out o;
  PERP_TRY(perp_out_open(ctx, path, &o));
  perp_json j = { .out = o.f };
  perp_json_open(&j, NULL, '{');
  perp_json_members(&j, "schema %s, dim %d, gravity %g", PERP_REPLAY_SCHEMA,
                    perp_model_dim(r->model), perp_model_gravity_of(r->model));
  replay_bodies(&j, r->model);
  replay_shapes(&j, r->model);
  replay_joints(&j, r->model);
  replay_springs(&j, r->model);
    perp_json_open(&j, "drives", '[');
  for (int i = 0; i < r->loads; i++) {
    const perp_load *l = &r->load[i];
    perp_json_members(&j, "{ name %s, joint %d, unit %s, part? %d }", perp_load_name(r->model, l),
                      l->joint, l->slides ? "N" : "Nm", l->part);
  }
  perp_json_close(&j, ']');
  replay_frames(&j, r);
  perp_json_close(&j, '}');
  return perp_out_close(ctx, &o, true);
}
