/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/figures/goal.h"

#include "models/figures/inverse.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct perp_goal {
  perp_model *model;
  perp_inverse *inverse;
  perp_goal_fn *motion;
  void *user;
  void (*destroy)(void *user);
  pthread_mutex_t lock; /* of all below */
  double t;             /* of q, u, udot; NaN: of none */
  bool forces, bodies;  /* tau, and qm, vm and am, are of t, too */
  double *q, *u, *udot, *tau, *qm, *vm, *am;
};

static void goal_layout(void *ws, perp_arena *arena)
{
  perp_goal *goal = ws;
  const int nu = perp_inverse_nu(goal->inverse);
  goal->q = PERP_CARVE(arena, double, perp_inverse_nq(goal->inverse));
  PERP_DOUBLES(arena, nu, &goal->u, &goal->udot, &goal->tau);
  goal->qm = PERP_CARVE(arena, double, perp_model_nq(goal->model));
  PERP_DOUBLES(arena, perp_model_nv(goal->model), &goal->vm, &goal->am);
}

perp_status perp_goal_create(perp_ctx *ctx, perp_model *model, perp_goal_fn *motion, void *user,
                             void (*destroy)(void *user), perp_goal **out)
{
  perp_goal like = {
    .model = model, .motion = motion, .user = user, .destroy = destroy, .t = (double)NAN
  };
  void *ws = NULL;
  *out = NULL;
  PERP_TRY(perp_inverse_create(ctx, model, &like.inverse));
  const perp_status status = perp_workspace_create(ctx, "reference", &like, sizeof like,
                                                   goal_layout, &ws);
  if (status != PERP_OK) {
    perp_inverse_destroy(like.inverse);
    return status;
  }
  *out = ws;
  pthread_mutex_init(&(*out)->lock, NULL);
  return PERP_OK;
}

void perp_goal_destroy(perp_goal *goal)
{
  if (goal == NULL) return;
  if (goal->destroy != NULL) goal->destroy(goal->user);
  pthread_mutex_destroy(&goal->lock);
  perp_inverse_destroy(goal->inverse);
  perp_model_destroy(goal->model);
  free(goal);
}

const perp_model *perp_goal_model(const perp_goal *goal)
{
  return goal->model;
}

/* ---- holding a posture ---- */

struct posture {
  int nq, nu;
  double q[]; /* [nq] */
};

static void goal_posture(void *user, double t, double *q, double *u, double *udot)
{
  const struct posture *posture = user;
  (void)t;
  memcpy(q, posture->q, (size_t)posture->nq * sizeof *q);
  memset(u, 0, (size_t)posture->nu * sizeof *u);
  memset(udot, 0, (size_t)posture->nu * sizeof *udot);
}

perp_status perp_goal_hold(perp_ctx *ctx, perp_model *model, perp_goal **out)
{
  perp_inverse *inverse;
  *out = NULL;
  PERP_TRY(perp_inverse_create(ctx, model, &inverse));
  const int nq = perp_inverse_nq(inverse), nu = perp_inverse_nu(inverse);
  struct posture *posture = calloc(1, sizeof *posture + (size_t)(nq + nu) * sizeof *posture->q);
  perp_status status = posture != NULL ? PERP_OK
                                       : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a posture");
  if (status == PERP_OK) {
    posture->nq = nq, posture->nu = nu;
    perp_inverse_joints(inverse, perp_model_q0(model), perp_model_v0(model), posture->q,
                        posture->q + nq);
    status = perp_goal_create(ctx, model, goal_posture, posture, free, out);
  }
  if (status != PERP_OK) free(posture);
  perp_inverse_destroy(inverse);
  return status;
}

/* ---- answers ---- */

static void goal_update(perp_goal *goal, double t, bool forces)
{
  if (t != goal->t) {
    goal->motion(goal->user, t, goal->q, goal->u, goal->udot);
    goal->t = t;
    goal->forces = goal->bodies = false;
  }
  if (!forces || goal->forces) return;
  perp_inverse_recursive(goal->inverse, t, goal->q, goal->u, goal->udot, NULL, goal->tau);
  goal->forces = true;
}

void perp_goal_of(const perp_goal *goal, double t, int iq, int nq, int iu, int nu, bool forces,
                  perp_goal_at *out)
{
  perp_goal *aim = (perp_goal *)(uintptr_t)goal; /* what it keeps is under its lock */
  pthread_mutex_lock(&aim->lock);
  goal_update(aim, t, forces);
  memcpy(out->q, aim->q + iq, (size_t)nq * sizeof *out->q);
  memcpy(out->u, aim->u + iu, (size_t)nu * sizeof *out->u);
  memcpy(out->udot, aim->udot + iu, (size_t)nu * sizeof *out->udot);
  if (forces) memcpy(out->tau, aim->tau + iu, (size_t)nu * sizeof *out->tau);
  pthread_mutex_unlock(&aim->lock);
}

void perp_goal_state(const perp_goal *goal, double t, double *q, double *v)
{
  perp_goal *aim = (perp_goal *)(uintptr_t)goal;
  pthread_mutex_lock(&aim->lock);
  goal_update(aim, t, false);
  perp_inverse_state(aim->inverse, aim->q, aim->u, NULL, q, v, NULL);
  pthread_mutex_unlock(&aim->lock);
}

void perp_goal_body_of(const perp_goal *goal, double t, int body, perp_goal_body *out)
{
  perp_goal *aim = (perp_goal *)(uintptr_t)goal;
  const int d = perp_model_dim(aim->model), nqb = d == 3 ? 7 : 3, nvb = d == 3 ? 6 : 3;
  pthread_mutex_lock(&aim->lock);
  goal_update(aim, t, false);
  if (!aim->bodies)
    perp_inverse_state(aim->inverse, aim->q, aim->u, aim->udot, aim->qm, aim->vm, aim->am);
  aim->bodies = true;
  const double *q = aim->qm + nqb * body, *v = aim->vm + nvb * body, *a = aim->am + nvb * body;
  *out = (perp_goal_body){ .quat = { 1 } };
  for (int k = 0; k < d; k++) out->x[k] = q[k], out->v[k] = v[k], out->a[k] = a[k];
  if (d == 3)
    memcpy(out->quat, q + 3, sizeof out->quat);
  else
    out->quat[0] = cos(q[2] / 2), out->quat[3] = sin(q[2] / 2);
  for (int k = 0; k < nvb - d; k++)
    out->w[d == 3 ? k : 2] = v[d + k], out->wdot[d == 3 ? k : 2] = a[d + k];
  pthread_mutex_unlock(&aim->lock);
}
