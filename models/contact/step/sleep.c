/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/step/sleep.h"

#include <stdlib.h>
#include <string.h>

/* forces that differ by less of themselves are the same */
static const double SAME = 1e-9;

struct perp_sleep {
  const perp_model *model;
  double time, velocity;
  const double *reach;
  unsigned char *asleep;   /* [bodies] */
  unsigned char *restless; /* [bodies] has a drive */
  unsigned char *known;    /* [bodies] force is there */
  int *island;             /* [bodies] of those asleep: one body of it */
  double *quiet;           /* [bodies] s */
  double *least;           /* [bodies] shortest quiet of an island */
  double *force;           /* [nv] when they fell asleep */
  int count;
};

static void sleep_layout(void *ws, perp_arena *arena)
{
  perp_sleep *sleep = ws;
  const size_t n = (size_t)sleep->model->n_bodies;
  sleep->asleep = PERP_CARVE(arena, unsigned char, n);
  sleep->restless = PERP_CARVE(arena, unsigned char, n);
  sleep->known = PERP_CARVE(arena, unsigned char, n);
  sleep->island = PERP_CARVE(arena, int, n);
  PERP_DOUBLES(arena, n, &sleep->quiet, &sleep->least);
  sleep->force = PERP_CARVE(arena, double, sleep->model->nv);
}

perp_status perp_sleep_create(perp_ctx *ctx, const perp_model *model, double time, double velocity,
                              const double *reach, perp_sleep **out)
{
  perp_sleep like = { .model = model, .time = time, .velocity = velocity, .reach = reach };
  void *ws;
  *out = NULL;
  PERP_TRY(perp_workspace_create(ctx, "sleep", &like, sizeof like, sleep_layout, &ws));
  perp_sleep *sleep = ws;
  memset(sleep->restless, 0, (size_t)model->n_bodies);
  for (int i = 0; i < model->n_drives; i++) {
    if (model->drive[i].a >= 0) sleep->restless[model->drive[i].a] = 1;
    if (model->drive[i].b >= 0) sleep->restless[model->drive[i].b] = 1;
  }
  for (int i = 0; i < model->motions.n; i++) sleep->restless[model->motions.def[i].body] = 1;
  for (int i = 0; model->driven && i < model->n_joints; i++)
    if (perp_joint_plugin_moves(&model->joint_def[i]))
      for (int k = model->pattern.jptr[i]; k < model->pattern.jptr[i + 1]; k++)
        sleep->restless[model->pattern.jblk[k]] = 1;
  perp_sleep_restart(sleep);
  *out = sleep;
  return PERP_OK;
}

void perp_sleep_destroy(perp_sleep *sleep)
{
  free(sleep);
}

void perp_sleep_restart(perp_sleep *sleep)
{
  sleep->count = 0;
  for (int b = 0; b < sleep->model->n_bodies; b++) {
    sleep->asleep[b] = sleep->known[b] = 0;
    sleep->quiet[b] = 0;
  }
}

const unsigned char *perp_sleep_asleep(const perp_sleep *sleep)
{
  return sleep->asleep;
}

int perp_sleep_count(const perp_sleep *sleep)
{
  return sleep->count;
}

bool perp_sleep_wake(perp_sleep *sleep, int body)
{
  if (!sleep->asleep[body]) return false;
  const int island = sleep->island[body];
  for (int b = 0; b < sleep->model->n_bodies; b++) {
    if (!sleep->asleep[b] || sleep->island[b] != island) continue;
    sleep->asleep[b] = sleep->known[b] = 0;
    sleep->quiet[b] = 0;
    sleep->count--;
  }
  return true;
}

void perp_sleep_forces(perp_sleep *sleep, const double *f, double h)
{
  const int nvb = sleep->model->nvb;
  for (int b = 0; b < sleep->model->n_bodies && sleep->count > 0; b++) {
    if (!sleep->asleep[b]) continue;
    const double *now = f + (size_t)nvb * (size_t)b;
    double *then = sleep->force + (size_t)nvb * (size_t)b, differ = 0, size = 0;
    for (int i = 0; i < nvb && sleep->known[b]; i++) {
      differ = fmax(differ, fabs(now[i] / h - then[i]));
      size = fmax(size, fabs(then[i]));
    }
    if (differ > SAME * size)
      perp_sleep_wake(sleep, b);
    else if (!sleep->known[b])
      for (int i = 0; i < nvb; i++) then[i] = now[i] / h;
    sleep->known[b] = sleep->asleep[b];
  }
}

void perp_sleep_still(const perp_sleep *sleep, double *v)
{
  const int nvb = sleep->model->nvb;
  for (int b = 0; b < sleep->model->n_bodies && sleep->count > 0; b++)
    if (sleep->asleep[b]) memset(v + (size_t)nvb * (size_t)b, 0, (size_t)nvb * sizeof *v);
}

void perp_sleep_update(perp_sleep *s, double h, const int *root, double *v)
{
  const perp_model *m = s->model;
  const int n = m->n_bodies;
  for (int b = 0; b < n; b++) s->least[b] = HUGE_VAL;
  for (int b = 0; b < n; b++) {
    if (s->asleep[b]) continue;
    const double *vb = v + (size_t)m->nvb * (size_t)b;
    const bool slow = perp_point_speed(m->dim, vb, s->reach[b]) < s->velocity;
    s->quiet[b] = slow && !s->restless[b] ? s->quiet[b] + h : 0;
    s->least[root[b]] = fmin(s->least[root[b]], s->quiet[b]);
  }
  for (int b = 0; b < n; b++) {
    /* the clock of an island at rest runs in sums of h: half a step of room for rounding */
    if (s->asleep[b] || !(s->least[root[b]] >= s->time - 0.5 * h) || s->quiet[b] == 0) continue;
    s->asleep[b] = 1;
    s->known[b] = 0;
    s->island[b] = root[b];
    s->count++;
  }
  perp_sleep_still(s, v);
}
