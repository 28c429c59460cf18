/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/turns.h"

#include "models/multibody/model_private.h"

#include <stdlib.h>
#include <string.h>

struct perp_turns {
  perp_model view;
  perp_eval
      eval; /* poses of the bodies of drives alone: other simulations may use those of the model */
  perp_pose *pose; /* [bodies + 1] */
  double *angle;   /* [drives] */
  double *from;    /* [drives] at a restart */
};

static void turns_layout(void *ws, perp_arena *a)
{
  perp_turns *s = ws;
  s->pose = PERP_CARVE(a, perp_pose, s->view.n_bodies + 1);
  PERP_DOUBLES(a, s->view.n_drives, &s->angle, &s->from);
}

perp_status perp_turns_create(perp_ctx *ctx, perp_model *model, perp_model **view, perp_turns **out)
{
  perp_turns like = { .view = *model };
  void *ws;
  int n = 0;
  *out = NULL;
  *view = model;
  for (int i = 0; i < model->n_drives; i++) n += perp_drive_turns(model, i);
  if (n == 0) return PERP_OK;
  PERP_TRY(perp_workspace_create(ctx, "angles of joint actuators", &like, sizeof like, turns_layout,
                                 &ws));
  perp_turns *s = ws;
  s->view.angle = s->angle;
  perp_pose_or_world(model->dim, NULL, &s->pose[0]);
  s->eval.pose = s->pose + 1;
  for (int i = 0; i < model->n_drives; i++) s->from[i] = model->drive_def[i].zero;
  perp_turns_restart(s);
  *view = &s->view;
  *out = s;
  return PERP_OK;
}

void perp_turns_destroy(perp_turns *s)
{
  free(s);
}

void perp_turns_restart(perp_turns *s)
{
  memcpy(s->angle, s->from, (size_t)s->view.n_drives * sizeof *s->angle);
}

void perp_turns_from(perp_turns *s, int drive, double x)
{
  s->from[drive] = x;
}

void perp_turns_follow(perp_turns *s, const double *q)
{
  const perp_model *m = &s->view;
  for (int i = 0; i < m->n_drives; i++) {
    if (!perp_drive_turns(m, i)) continue;
    const int body[2] = { m->drive[i].a, m->drive[i].b };
    for (int k = 0; k < 2; k++)
      if (body[k] >= 0) perp_pose_of(m->dim, q + body[k] * m->nqb, &s->eval.pose[body[k]]);
    s->angle[i] = perp_drive_coordinate(m, &s->eval, i);
  }
}
