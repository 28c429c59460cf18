/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/turns.h"

#include "models/multibody/chain.h"

#include <stdlib.h>
#include <string.h>

/* Part of an axis that the others have not. */
static const double NEARLY = 0.1;

struct perp_turns {
  perp_model view;
  perp_eval
      eval; /* poses of the bodies of drives alone: other simulations may use those of the model */
  perp_pose *pose;                       /* [bodies + 1] */
  double *angle;                         /* [drives and axes] */
  double *from;                          /* [drives and axes] at a restart */
  perp_chain_memory *chain, *chain_from; /* [chains] */
  int chain_set;
};

static void turns_layout(void *ws, perp_arena *arena)
{
  perp_turns *turns = ws;
  turns->pose = PERP_CARVE(arena, perp_pose, turns->view.n_bodies + 1);
  PERP_DOUBLES(arena, turns->view.n_drives + turns->view.n_axes, &turns->angle, &turns->from);
  turns->chain = PERP_CARVE(arena, perp_chain_memory, turns->view.chains.n);
  turns->chain_from = PERP_CARVE(arena, perp_chain_memory, turns->view.chains.n);
}

perp_status perp_turns_create(perp_ctx *ctx, perp_model *model, perp_model **view, perp_turns **out)
{
  perp_turns like = { .view = *model };
  void *ws;
  int n = 0;
  *out = NULL;
  *view = model;
  const int coordinates = model->n_drives + model->n_axes;
  for (int i = 0; i < coordinates; i++) n += perp_drive_turns(model, i);
  if (n == 0 && model->chains.n == 0) return PERP_OK;
  PERP_TRY(perp_workspace_create(ctx, "angles of joint actuators", &like, sizeof like, turns_layout,
                                 &ws));
  perp_turns *turns = ws;
  turns->view.sim.angle = turns->angle;
  turns->view.sim.chain = turns->chain;
  if (model->chains.n > 0) turns->view.sim.chain_set = &turns->chain_set;
  for (int i = 0; i < model->chains.n; i++)
    perp_chain_start(&model->chains.chain[i], NULL, &turns->chain_from[i]);
  perp_pose_or_world(model->dim, NULL, &turns->pose[0]);
  turns->eval.pose = turns->pose + 1;
  for (int i = 0; i < coordinates; i++) turns->from[i] = model->drive[i].zero;
  perp_turns_restart(turns);
  *view = &turns->view;
  *out = turns;
  return PERP_OK;
}

void perp_turns_destroy(perp_turns *turns)
{
  free(turns);
}

void perp_turns_restart(perp_turns *turns)
{
  const int coordinates = turns->view.n_drives + turns->view.n_axes;
  memcpy(turns->angle, turns->from, (size_t)coordinates * sizeof *turns->angle);
  memcpy(turns->chain, turns->chain_from, (size_t)turns->view.chains.n * sizeof *turns->chain);
  turns->chain_set++;
}

void perp_turns_from(perp_turns *turns, int drive, double x)
{
  turns->from[drive] = x;
}

void perp_turns_chains(perp_turns *turns, const perp_model *whole, int from, int to)
{
  turns->chain_from[to] = whole->sim.chain[from];
}

/* Poses of the bodies of one joint or drive. */
static void turns_poses(perp_turns *turns, int a, int b, const double *q)
{
  const perp_model *model = &turns->view;
  const int body[2] = { a, b };
  for (int k = 0; k < 2; k++)
    if (body[k] >= 0)
      perp_pose_of(model->dim, q + body[k] * model->nqb, &turns->eval.pose[body[k]]);
}

int perp_turns_near(const perp_turns *turns)
{
  const perp_model *model = &turns->view;
  for (int i = 0; i < model->n_joints && model->chains.n > 0; i++) {
    const perp_joint *joint = &model->joint[i];
    perp_chain_memory now;
    if (joint->chained &&
        perp_chain_start(joint->chain, turns->chain[joint->chain_memory].q, &now) < NEARLY)
      return i;
  }
  return -1;
}

int perp_turns_follow(perp_turns *turns, const double *q)
{
  perp_model *model = &turns->view;
  for (int joint = 0; joint < model->n_joints && model->chains.n > 0; joint++)
    if (model->joint[joint].chain != NULL)
      turns_poses(turns, model->joint[joint].a, model->joint[joint].b, q);
  for (int axis = 0; axis < model->n_drives + model->n_axes; axis++) {
    if (!perp_drive_turns(model, axis)) continue;
    turns_poses(turns, model->drive[axis].a, model->drive[axis].b, q);
    turns->angle[axis] = perp_drive_coordinate(model, &turns->eval, axis);
  }
  return perp_chains_follow(model, &turns->eval);
}
