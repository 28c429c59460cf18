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

enum { PER_CONTACT = 6 };

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
  float *state;   /* [per_frame] pose, error, loads of joints, reactions; owned */
  float *ref;     /* [pose] behind it, where known */
  float *contact; /* [contacts * PER_CONTACT] behind that */
} frame;

struct perp_replay {
  const perp_model *model;
  const limits *limit;
  int pose, error, loads, reactions, per_frame; /* floats of a frame */
  perp_load *load;                              /* [loads] */
  int n;
  size_t floats;        /* of all frames */
  int64_t left_out;     /* contacts of frames, beyond the limit */
  int64_t seen, stride; /* every stride-th state is kept, */
  bool odd;             /* and the last one, which is none of these */
  frame frame[PERP_REPLAY_FRAMES + 1];
};

perp_status perp_replay_create(perp_ctx *ctx, const perp_model *model, perp_replay_size size,
                               bool reactions, perp_replay **out)
{
  *out = NULL;
  int bodies = perp_model_bodies(model);
  if (bodies > limits_of[size].bodies) return PERP_OK;
  perp_replay *replay = calloc(1, sizeof *replay);
  if (replay == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the replay");
  replay->model = model;
  replay->limit = &limits_of[size];
  replay->pose = bodies * (perp_model_dim(model) == 3 ? 7 : 3);
  replay->error = 3 * perp_model_joints(model);
  replay->stride = 1;
  const perp_status status = perp_loads_of(ctx, model, &replay->load, &replay->loads);
  if (status != PERP_OK) {
    free(replay);
    return status;
  }
  replay->reactions = reactions ? PER_CONTACT * perp_model_joints(model) : 0;
  replay->per_frame = replay->pose + replay->error + replay->loads + replay->reactions;
  *out = replay;
  return PERP_OK;
}

void perp_replay_destroy(perp_replay *replay)
{
  if (replay == NULL) return;
  for (int i = 0; i < replay->n; i++) free(replay->frame[i].state);
  free(replay->load);
  free(replay);
}

/* How far the anchors of a joint are from where they should be. */
static void joint_error(const perp_model *model, const double *q, int joint, float *error)
{
  const perp_joint_def *def = perp_model_joint(model, joint);
  double a[3] = { 0 }, b[3] = { 0 }, e[3], length = 0;
  perp_model_point(model, q, def->a, def->anchor_a, a);
  perp_model_point(model, q, def->b, def->anchor_b, b);
  const int dim = perp_model_dim(model);
  for (int i = 0; i < 3; i++) {
    e[i] = i < dim ? b[i] - a[i] : 0;
    length += e[i] * e[i];
  }
  length = sqrt(length);
  /* others move apart by right, or have no anchors that anybody knew */
  const bool joined = def->kind == PERP_JOINT_BALL || def->kind == PERP_JOINT_HINGE ||
                      def->kind == PERP_JOINT_UNIVERSAL || def->kind == PERP_JOINT_FIXED;
  double part = joined                                              ? 1
                : def->kind != PERP_JOINT_DISTANCE || !(length > 0) ? 0
                                                                    : 1 - def->length / length;
  for (int i = 0; i < 3; i++) error[i] = (float)(part * e[i]);
}

static void replay_contacts(frame *f, const perp_step_info *info, int dim)
{
  for (int contact = 0; contact < info->n_contacts; contact++)
    f->depth = fmax(f->depth, -info->contacts[contact].gap);
  for (int contact = 0; contact < f->contacts; contact++) {
    const double *p = info->contacts[contact].p[1], *impulse = info->impulse + 3 * (size_t)contact;
    for (int k = 0; k < 3; k++) {
      f->contact[PER_CONTACT * contact + k] = (float)(k < dim ? p[k] : 0);
      f->contact[PER_CONTACT * contact + 3 + k] = (float)(k < dim ? impulse[k] : 0);
    }
  }
}

static bool replay_full(const perp_replay *replay)
{
  return replay->n == replay->limit->frames ||
         (replay->floats > (size_t)replay->limit->floats && replay->n > replay->limit->least);
}

perp_status perp_replay_frame(perp_ctx *ctx, perp_replay *replay, const perp_replay_state *state)
{
  if (replay == NULL) return PERP_OK;
  const bool kept = replay->seen++ % replay->stride == 0;
  if (!kept && !state->end) return PERP_OK;
  if (kept && replay_full(replay)) {
    /* Only the even ones stay. */
    replay->floats = 0;
    for (int i = 0; i < replay->n; i++) {
      if (i % 2 == 0) {
        replay->frame[i / 2] = replay->frame[i];
        replay->floats += replay->frame[i].floats;
      } else
        free(replay->frame[i].state);
    }
    replay->n = (replay->n + 1) / 2;
    replay->stride *= 2;
    if ((replay->seen - 1) % replay->stride != 0 && !state->end) return PERP_OK;
  }
  frame *f = &replay->frame[replay->n];
  const perp_step_info *info = state->info;
  const bool touching = info != NULL && info->contacts != NULL && info->impulse != NULL;
  const int most = replay->limit->contacts;
  *f = (frame){
    .t = state->t, .energy = state->energy, .drift = state->drift, .known = state->ref != NULL
  };
  f->contacts = !touching ? 0 : info->n_contacts < most ? info->n_contacts : most;
  f->floats = (size_t)(replay->per_frame + (f->known ? replay->pose : 0) +
                       PER_CONTACT * f->contacts);
  f->state = malloc((f->floats + 1) * sizeof *f->state);
  if (f->state == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the replay");
  f->ref = f->state + replay->per_frame;
  f->contact = f->ref + (f->known ? replay->pose : 0);
  for (int i = 0; i < replay->pose; i++) f->state[i] = (float)state->q[i];
  for (int i = 0; i < replay->pose && f->known; i++) f->ref[i] = (float)state->ref[i];
  for (int joint = 0; joint < perp_model_joints(replay->model); joint++)
    joint_error(replay->model, state->q, joint, f->state + replay->pose + 3 * joint);
  perp_loads_at(replay->model, replay->load, replay->loads, state->t, state->q, state->v, info,
                f->state + replay->pose + replay->error);
  for (int i = 0; i < replay->reactions; i++) {
    const perp_reaction *reaction = state->reaction != NULL ? &state->reaction[i / PER_CONTACT]
                                                            : NULL;
    const int k = i % PER_CONTACT;
    const double x = reaction == NULL ? 0 : k < 3 ? reaction->point[k] : reaction->force[k - 3];
    f->state[replay->per_frame - replay->reactions + i] = isnan(x) ? 0 : (float)x;
  }
  if (touching) {
    replay_contacts(f, info, perp_model_dim(replay->model));
    replay->left_out += info->n_contacts - f->contacts;
  }
  replay->floats += f->floats;
  replay->n++;
  return PERP_OK;
}

/* ---- the file ---- */

/* One number of each frame. */
static void replay_numbers(perp_json *json, const perp_replay *replay, const char *key,
                           size_t offset, float *v)
{
  for (int i = 0; i < replay->n; i++)
    v[i] = (float)*(const double *)(const void *)((const char *)&replay->frame[i] + offset);
  perp_json_floats(json, key, v, (size_t)replay->n);
}

static void replay_frames(perp_json *json, const perp_replay *replay)
{
  size_t n = (size_t)replay->n, pose = (size_t)replay->pose, error = (size_t)replay->error;
  size_t loads = (size_t)replay->loads, at = 0, most = n;
  for (size_t i = 0; i < n; i++) most += replay->frame[i].floats;
  float *v = perp_xalloc(most + 1, sizeof *v);
  perp_json_members(json, "frames %d, contacts_left_out %lld", replay->n,
                    (long long)replay->left_out);
  replay_numbers(json, replay, "t", offsetof(frame, t), v);
  replay_numbers(json, replay, "energy", offsetof(frame, energy), v);
  replay_numbers(json, replay, "drift", offsetof(frame, drift), v);
  replay_numbers(json, replay, "depth", offsetof(frame, depth), v);
  for (size_t i = 0; i < n; i++) memcpy(v + i * pose, replay->frame[i].state, pose * sizeof *v);
  perp_json_floats(json, "pose", v, n * pose);
  for (size_t i = 0; i < n; i++)
    memcpy(v + i * error, replay->frame[i].state + replay->pose, error * sizeof *v);
  perp_json_floats(json, "error", v, n * error);
  for (size_t i = 0; i < n; i++)
    memcpy(v + i * loads, replay->frame[i].state + replay->pose + replay->error, loads * sizeof *v);
  perp_json_floats(json, "drive", v, n * loads);
  const size_t reactions = (size_t)replay->reactions;
  for (size_t i = 0; i < n; i++)
    memcpy(v + i * reactions, replay->frame[i].state + replay->per_frame - reactions,
           reactions * sizeof *v);
  if (reactions > 0) perp_json_floats(json, "reaction", v, n * reactions);
  for (size_t i = 0; i < n; i++) v[i] = (float)replay->frame[i].contacts;
  perp_json_floats(json, "contacts", v, n);
  for (size_t i = 0; i < n; i++) {
    size_t count = (size_t)replay->frame[i].contacts * PER_CONTACT;
    memcpy(v + at, replay->frame[i].contact, count * sizeof *v);
    at += count;
  }
  perp_json_floats(json, "contact", v, at);
  for (size_t i = 0; i < n; i++) v[i] = replay->frame[i].known;
  perp_json_floats(json, "known", v, n);
  at = 0;
  for (size_t i = 0; i < n; i++) {
    if (!replay->frame[i].known) continue;
    memcpy(v + at, replay->frame[i].ref, pose * sizeof *v);
    at += pose;
  }
  perp_json_floats(json, "reference", v, at);
  free(v);
}

perp_status perp_replay_write(perp_ctx *ctx, const perp_replay *replay, const char *path)
{
  perp_out out;
  PERP_TRY(perp_out_open(ctx, path, &out));
  perp_json json = { .out = out.f };
  perp_json_open(&json, NULL, '{');
  perp_replay_model(&json, replay->model);
  perp_json_open(&json, "drives", '[');
  for (int i = 0; i < replay->loads; i++) {
    const perp_load *load = &replay->load[i];
    perp_json_members(&json, "{ name %s, joint %d, unit %s, part? %d }",
                      perp_load_name(replay->model, load), load->joint, load->slides ? "N" : "Nm",
                      load->part);
  }
  perp_json_close(&json, ']');
  replay_frames(&json, replay);
  perp_json_close(&json, '}');
  return perp_out_close(ctx, &out, true);
}
