/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/step/swept_bounds.h"
#include "models/collision/broad.h"

#include <stdlib.h>
#include <string.h>

struct perp_swept_bounds {
  const perp_model *model;
  int n;            /* bodies with shapes */
  int *order;       /* [n] by the lower end along x */
  perp_bounds *box; /* [bodies] grown by half of the margin */
  double *grow;     /* [bodies] m */
  int *first, *of;  /* [bodies + 1], [shapes of bodies]: shapes of body b are of[first[b] ...
                       first[b+1]-1] */
  int *clan;        /* [bodies] group of all of its shapes; 0: none, or several */
  int *tied;        /* [bodies] component by joints and forces */
};

/* Bodies that rest on each other meet, whatever the rounding of the gap between them: part of the
 * size. */
static const double rest_gap = 1e-6;

static void swept_bounds_layout(void *ws, perp_arena *arena)
{
  perp_swept_bounds *bounds = ws;
  const size_t nb = (size_t)bounds->model->n_bodies;
  bounds->order = PERP_CARVE(arena, int, nb);
  bounds->box = PERP_CARVE(arena, perp_bounds, nb);
  bounds->grow = PERP_CARVE(arena, double, nb);
  bounds->first = PERP_CARVE(arena, int, nb + 1);
  bounds->of = PERP_CARVE(arena, int, bounds->model->n_shapes);
  PERP_INTS(arena, nb, &bounds->clan, &bounds->tied);
}

/* ---- life ---- */

static void list_shapes(perp_swept_bounds *bounds)
{
  const perp_model *model = bounds->model;
  const int nb = model->n_bodies;
  /* counting sort: first[b + 1] is the end of the shapes of b, then moves back to their start */
  for (int b = 0; b <= nb; b++) bounds->first[b] = 0;
  for (int i = 0; i < model->n_shapes; i++)
    if (model->shape_def[i].body >= 0) bounds->first[model->shape_def[i].body + 1]++;
  for (int b = 0; b < nb; b++) bounds->first[b + 1] += bounds->first[b];
  for (int i = model->n_shapes - 1; i >= 0; i--) {
    int b = model->shape_def[i].body;
    if (b >= 0) bounds->of[--bounds->first[b + 1]] = i;
  }
  for (int b = 0; b < nb; b++) bounds->first[b] = bounds->first[b + 1];
  bounds->first[nb] = 0;
  for (int i = 0; i < model->n_shapes; i++) bounds->first[nb] += model->shape_def[i].body >= 0;
  bounds->n = 0;
  for (int b = 0; b < nb; b++) {
    bounds->clan[b] = 0;
    for (int i = bounds->first[b]; i < bounds->first[b + 1]; i++) {
      int group = model->shape_def[bounds->of[i]].group;
      bounds->clan[b] = i == bounds->first[b] || bounds->clan[b] == group ? group : 0;
    }
    if (bounds->first[b + 1] > bounds->first[b]) bounds->order[bounds->n++] = b;
  }
}

double perp_swept_bounds_reach(const perp_swept_bounds *bounds, int body)
{
  double most = 0;
  for (int i = bounds->first[body]; i < bounds->first[body + 1]; i++) {
    double reach = bounds->model->shape[bounds->of[i]].reach;
    if (isfinite(reach)) most = fmax(most, reach);
  }
  return most;
}

static void swept_bounds_tie(perp_swept_bounds *bounds, int a, int b)
{
  if (a >= 0 && b >= 0) perp_unite(bounds->tied, a, b); /* the world connects nothing */
}

static void swept_bounds_tie_all(perp_swept_bounds *bounds, int n, const int *body)
{
  for (int i = 1; i < n; i++)
    for (int k = 0; k < i; k++) swept_bounds_tie(bounds, body[i], body[k]);
}

perp_status perp_swept_bounds_create(perp_ctx *ctx, const perp_model *model, double margin,
                                     perp_swept_bounds **out)
{
  perp_swept_bounds like = { .model = model };
  void *ws;
  *out = NULL;
  PERP_TRY(
      perp_workspace_create(ctx, "hulls of bodies", &like, sizeof like, swept_bounds_layout, &ws));
  perp_swept_bounds *s = ws;
  list_shapes(s);
  for (int b = 0; b < model->n_bodies; b++) {
    s->tied[b] = b;
    s->grow[b] = 0.5 * margin + rest_gap * perp_swept_bounds_reach(s, b);
  }
  for (int i = 0; i < model->n_joints; i++) {
    int pair[2], n;
    const int *body = perp_joint_bodies(&model->joint_def[i], pair, &n);
    swept_bounds_tie_all(s, n, body);
  }
  for (int i = 0; i < model->n_forces; i++) {
    const perp_force_def *el = &model->force_def[i];
    if (el->kind == PERP_FORCE_PLUGIN) {
      swept_bounds_tie_all(s, el->n_bodies, el->body);
      continue;
    }
    swept_bounds_tie(s, el->a, el->b);
    for (int b = el->a + 1; el->kind == PERP_FORCE_PAIRS && b < el->b; b++)
      swept_bounds_tie(s, el->a, b);
  }
  *out = s;
  return PERP_OK;
}

void perp_swept_bounds_destroy(perp_swept_bounds *bounds)
{
  free(bounds);
}

/* ---- hulls ---- */

void perp_swept_bounds_begin(perp_swept_bounds *bounds, int body, const double *q_b)
{
  perp_bounds *box = &bounds->box[body];
  for (int k = 0; k < 3; k++) {
    box->lo[k] = HUGE_VAL;
    box->hi[k] = -HUGE_VAL;
  }
  perp_swept_bounds_extend(bounds, body, q_b);
}

void perp_swept_bounds_extend(perp_swept_bounds *bounds, int body, const double *q_b)
{
  perp_pose pose, lifted;
  perp_bounds *box = &bounds->box[body], one;
  if (bounds->first[body] == bounds->first[body + 1]) return;
  perp_pose_of(bounds->model->dim, q_b, &pose);
  perp_lift(bounds->model->dim, &pose, &lifted);
  for (int i = bounds->first[body]; i < bounds->first[body + 1]; i++) {
    perp_shape_bounds(&bounds->model->shape[bounds->of[i]], &lifted, one.lo, one.hi);
    for (int k = 0; k < 3; k++) {
      box->lo[k] = fmin(box->lo[k], one.lo[k] - bounds->grow[body]);
      box->hi[k] = fmax(box->hi[k], one.hi[k] + bounds->grow[body]);
    }
  }
}

void perp_swept_bounds_components(perp_swept_bounds *bounds, int *root)
{
  memcpy(root, bounds->tied, (size_t)bounds->model->n_bodies * sizeof *root);
  /* insertion: nearly sorted since the last time */
  for (int i = 1; i < bounds->n; i++) {
    int body = bounds->order[i], k = i;
    double lo = bounds->box[body].lo[0];
    for (; k > 0 && bounds->box[bounds->order[k - 1]].lo[0] > lo; k--)
      bounds->order[k] = bounds->order[k - 1];
    bounds->order[k] = body;
  }
  for (int i = 0; i < bounds->n; i++) {
    const int a = bounds->order[i];
    const perp_bounds *p = &bounds->box[a];
    for (int k = i + 1; k < bounds->n && bounds->box[bounds->order[k]].lo[0] <= p->hi[0]; k++) {
      const int b = bounds->order[k];
      /* shapes of one group never touch */
      if (bounds->clan[a] != 0 && bounds->clan[a] == bounds->clan[b]) continue;
      if (perp_bounds_overlap(p, &bounds->box[b])) perp_unite(root, a, b);
    }
  }
  for (int b = 0; b < bounds->model->n_bodies; b++) root[b] = perp_root(root, b);
}
