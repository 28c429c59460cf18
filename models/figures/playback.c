/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Poses as curves of joint coordinates. */
#include "models/figures/playback.h"

#include "models/figures/blend.h"
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

static void playback_layout(void *ws, perp_arena *a)
{
  perp_playback *p = ws;
  p->t = PERP_CARVE(a, double, p->n);
  p->pose = PERP_CARVE(a, double, (size_t)p->n *(size_t)p->tree->nq);
  p->q = PERP_CARVE(a, double, p->tree->nq);
  PERP_DOUBLES(a, p->tree->nu, &p->u, &p->udot);
  p->vm = PERP_CARVE(a, double, perp_model_nv(p->model));
}

/* Coordinates of a joint: so many numbers, and then a quaternion or none. */
static int playback_numbers(const perp_reduced_node *k, bool *quaternion)
{
  *quaternion = k->kind == PERP_REDUCED_FREE || k->kind == PERP_REDUCED_BALL;
  return *quaternion ? k->nq - 4 : k->nq;
}

static const char *playback_body(const perp_model *model, int b)
{
  const char *name = perp_model_body(model, b)->name;
  return name != NULL ? name : "without a name";
}

static perp_status playback_refuse(perp_ctx *ctx, const perp_playback *p)
{
  for (int j = 0; j < perp_model_joints(p->model); j++) {
    const perp_joint_def *def = perp_model_joint(p->model, j);
    if (p->tree->cut[j] || def->kind == PERP_JOINT_DISTANCE)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "playback: joint %d '%s' (%s) %s: joint coordinates cannot represent it", j,
                       def->name != NULL ? def->name : "", perp_joint_kind_name(def->kind),
                       p->tree->cut[j] ? "closes a loop or has no coordinates"
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
static perp_status playback_continue(perp_ctx *ctx, const perp_playback *p, int frame)
{
  const double turn = 2 * 3.14159265358979323846;
  double *now = p->pose + (size_t)frame * (size_t)p->tree->nq, *last = now - p->tree->nq;
  for (int i = 0; i < p->tree->n; i++) {
    const perp_reduced_node *k = &p->tree->node[i];
    bool quaternion;
    const int numbers = playback_numbers(k, &quaternion);
    const bool angles = k->kind == PERP_REDUCED_HINGE || k->kind == PERP_REDUCED_UNIVERSAL;
    for (int c = 0; angles && p->tree->dim == 3 && c < numbers; c++) {
      double *x = now + k->iq + c;
      *x -= turn * nearbyint((*x - last[k->iq + c]) / turn);
    }
    if (!quaternion) continue;
    double r[3];
    perp_quat_difference(last + k->iq + numbers, now + k->iq + numbers, r);
    if (sqrt(perp_dot(3, r, r)) > 0.499 * turn)
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "playback: body %d '%s' rotates by half a turn from pose %d to %d, in an "
                       "unknown direction; add poses in between",
                       k->body, playback_body(p->model, k->body), frame - 1, frame);
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
  perp_playback *p = ws;
  memcpy(p->t, t, (size_t)n * sizeof *t);
  memset(p->vm, 0, (size_t)perp_model_nv(model) * sizeof *p->vm);
  for (int k = 0; k < n && status == PERP_OK; k++) {
    double *pose = p->pose + (size_t)k * (size_t)p->tree->nq;
    perp_reduced_from_model(p->tree, q + (size_t)k * (size_t)perp_model_nq(model), p->vm, pose,
                            p->u);
    perp_reduced_project(p->tree, pose);
    if (k > 0) status = playback_continue(ctx, p, k);
  }
  if (status == PERP_OK)
    *out = p;
  else
    perp_playback_destroy(p);
  return status;
}

void perp_playback_destroy(perp_playback *p)
{
  if (p == NULL) return;
  free(p->tree);
  free(p);
}

void perp_playback_span(const perp_playback *p, double *begin, double *end)
{
  *begin = p->t[0];
  *end = p->t[p->n - 1];
}

void perp_playback_joints(const perp_playback *p, double t, double *q, double *u, double *udot)
{
  const int stride = p->tree->nq;
  for (int i = 0; i < p->tree->n; i++) {
    const perp_reduced_node *k = &p->tree->node[i];
    bool quaternion;
    const int numbers = playback_numbers(k, &quaternion);
    for (int c = 0; c < numbers; c++) {
      double y[3];
      perp_blend_number(p->n, p->t, p->pose + k->iq + c, stride, t, y);
      q[k->iq + c] = y[0], u[k->iu + c] = y[1], udot[k->iu + c] = y[2];
    }
    if (quaternion)
      perp_blend_rotation(p->n, p->t, p->pose + k->iq + numbers, stride, t, q + k->iq + numbers,
                          u + k->iu + numbers, udot + k->iu + numbers);
  }
}

void perp_playback_state(perp_playback *p, double t, double *q, double *v, double *a)
{
  perp_playback_joints(p, t, p->q, p->u, p->udot);
  perp_reduced_kinematics(p->tree, p->q, p->u);
  perp_reduced_to_model(p->tree, q, v);
  if (a == NULL) return;
  perp_reduced_move(p->tree, p->udot);
  perp_reduced_accelerations(p->tree, a);
}
