/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Poses as curves of joint coordinates. */
#include "models/figures/playback.h"

#include "models/figures/blend.h"
#include "models/multibody/chain.h"
#include "models/geometry/kinematics.h"
#include "models/multibody/reduced_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct perp_playback {
  const perp_model *model;
  perp_reduced_tree *tree;
  int n;
  double *t;    /* [n] */
  double *pose; /* [n][nq of the tree] */
  double *q, *u, *udot, *vm;
};

static void playback_layout(void *ws, perp_arena *arena)
{
  perp_playback *playback = ws;
  playback->t = PERP_CARVE(arena, double, playback->n);
  playback->pose = PERP_CARVE(arena, double, (size_t)playback->n *(size_t)playback->tree->nq);
  playback->q = PERP_CARVE(arena, double, playback->tree->nq);
  PERP_DOUBLES(arena, playback->tree->nu, &playback->u, &playback->udot);
  playback->vm = PERP_CARVE(arena, double, perp_model_nv(playback->model));
}

/* Coordinates of a joint: so many numbers, and then a quaternion or none. */
static int playback_numbers(const perp_reduced_node *node, bool *quaternion)
{
  *quaternion = node->kind == PERP_REDUCED_FREE || node->kind == PERP_REDUCED_BALL;
  return *quaternion ? node->nq - 4 : node->nq;
}

static const char *playback_body(const perp_model *model, int b)
{
  const char *name = perp_model_body(model, b)->name;
  return name != NULL ? name : "without a name";
}

static perp_status playback_refuse(perp_ctx *ctx, const perp_playback *playback)
{
  for (int joint = 0; joint < perp_model_joints(playback->model); joint++) {
    const perp_joint_def *def = perp_model_joint(playback->model, joint);
    if (playback->tree->cut[joint] || def->kind == PERP_JOINT_DISTANCE)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "playback: joint %d '%s' (%s) %s: joint coordinates cannot represent it",
                       joint, def->name != NULL ? def->name : "", perp_joint_kind_name(def->kind),
                       playback->tree->cut[joint] ? "closes a loop or has no coordinates"
                                                  : "is a rod without an orientation");
  }
  return PERP_OK;
}

static perp_status playback_check(perp_ctx *ctx, const perp_model *model, int n, const double *t,
                                  const double *q)
{
  const int nq = perp_model_nq(model);
  if (n < 1) return PERP_FAIL(ctx, PERP_ERR_ARG, "playback: the motion has no poses");
  for (int k = 0; k < n; k++) {
    if (!isfinite(t[k]) || (k > 0 && !(t[k] > t[k - 1])))
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "playback: the time of pose %d is not later than that of the previous pose",
                       k);
    for (int i = 0; i < nq; i++)
      if (!isfinite(q[(size_t)k * (size_t)nq + (size_t)i]))
        return PERP_FAIL(ctx, PERP_ERR_ARG, "playback: pose %d has a value that is not finite", k);
  }
  return PERP_OK;
}

/* Angles go on where they were, and neighbours are less than half a turn apart. */
static perp_status playback_continue(perp_ctx *ctx, const perp_playback *playback, int frame)
{
  const double turn = 2 * 3.14159265358979323846;
  double *now = playback->pose + (size_t)frame * (size_t)playback->tree->nq,
         *last = now - playback->tree->nq;
  for (int i = 0; i < playback->tree->n; i++) {
    const perp_reduced_node *node = &playback->tree->node[i];
    bool quaternion;
    const int numbers = playback_numbers(node, &quaternion);
    const bool angles = node->kind == PERP_REDUCED_HINGE || node->kind == PERP_REDUCED_UNIVERSAL ||
                        node->chain != NULL;
    for (int number = 0; angles && playback->tree->dim == 3 && number < numbers; number++) {
      if (node->chain != NULL && node->chain->slides[number]) continue;
      double *x = now + node->iq + number;
      *x -= turn * nearbyint((*x - last[node->iq + number]) / turn);
    }
    if (!quaternion) continue;
    double r[3];
    perp_quat_difference(last + node->iq + numbers, now + node->iq + numbers, r);
    if (sqrt(perp_dot(3, r, r)) > 0.499 * turn)
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "playback: body %d '%s' rotates by half a turn from pose %d to %d, in an "
                       "unknown direction; add poses in between",
                       node->body, playback_body(playback->model, node->body), frame - 1, frame);
  }
  return PERP_OK;
}

perp_status perp_playback_create(perp_ctx *ctx, const perp_model *model, int n, const double *t,
                                 const double *q, perp_playback **out)
{
  *out = NULL;
  perp_playback like = { .model = model, .n = n };
  void *ws = NULL;
  PERP_TRY(playback_check(ctx, model, n, t, q));
  PERP_TRY(perp_reduced_create(ctx, model, &like.tree));
  perp_status status = playback_refuse(ctx, &like);
  if (status == PERP_OK)
    status = perp_workspace_create(ctx, "playback", &like, sizeof like, playback_layout, &ws);
  if (status != PERP_OK) {
    free(like.tree);
    return status;
  }
  perp_playback *playback = ws;
  memcpy(playback->t, t, (size_t)n * sizeof *t);
  memset(playback->vm, 0, (size_t)perp_model_nv(model) * sizeof *playback->vm);
  for (int frame = 0; frame < n && status == PERP_OK; frame++) {
    double *pose = playback->pose + (size_t)frame * (size_t)playback->tree->nq;
    perp_reduced_from_model(playback->tree, q + (size_t)frame * (size_t)perp_model_nq(model),
                            playback->vm, pose, playback->u);
    perp_reduced_project(playback->tree, pose);
    if (frame > 0) status = playback_continue(ctx, playback, frame);
  }
  if (status == PERP_OK)
    *out = playback;
  else
    perp_playback_destroy(playback);
  return status;
}

void perp_playback_destroy(perp_playback *playback)
{
  if (playback == NULL) return;
  free(playback->tree);
  free(playback);
}

void perp_playback_span(const perp_playback *playback, double *begin, double *end)
{
  *begin = playback->t[0];
  *end = playback->t[playback->n - 1];
}

void perp_playback_joints(const perp_playback *playback, double t, double *q, double *u,
                          double *udot)
{
  const int stride = playback->tree->nq;
  for (int i = 0; i < playback->tree->n; i++) {
    const perp_reduced_node *node = &playback->tree->node[i];
    bool quaternion;
    const int numbers = playback_numbers(node, &quaternion);
    for (int number = 0; number < numbers; number++) {
      double y[3];
      perp_blend_number(playback->n, playback->t, playback->pose + node->iq + number, stride, t, y);
      q[node->iq + number] = y[0], u[node->iu + number] = y[1], udot[node->iu + number] = y[2];
    }
    if (quaternion)
      perp_blend_rotation(playback->n, playback->t, playback->pose + node->iq + numbers, stride, t,
                          q + node->iq + numbers, u + node->iu + numbers,
                          udot + node->iu + numbers);
  }
}

void perp_playback_state(perp_playback *playback, double t, double *q, double *v, double *a)
{
  perp_playback_joints(playback, t, playback->q, playback->u, playback->udot);
  perp_reduced_kinematics(playback->tree, playback->q, playback->u);
  perp_reduced_to_model(playback->tree, q, v);
  if (a == NULL) return;
  perp_reduced_move(playback->tree, playback->udot);
  perp_reduced_accelerations(playback->tree, a);
}

int perp_playback_jumps(perp_playback *playback, perp_jump *jump, int most)
{
  const size_t nq = (size_t)perp_model_nq(playback->model), n = (size_t)playback->n;
  if (playback->tree->dim != 3) return 0;
  double *q = malloc((n * nq + 1) * sizeof *q);
  if (q == NULL) return 0;
  memset(playback->u, 0, (size_t)playback->tree->nu * sizeof *playback->u);
  for (size_t k = 0; k < n; k++) {
    perp_reduced_kinematics(playback->tree, playback->pose + k * (size_t)playback->tree->nq,
                            playback->u);
    perp_reduced_to_model(playback->tree, q + k * nq, playback->vm);
  }
  const int found = perp_jumps_find(playback->n, playback->t, (int)(nq / 7), q, 1, true, true, jump,
                                    most);
  free(q);
  return found;
}
