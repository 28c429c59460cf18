/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/collision/start.h"

#include "models/collision/collision.h"
#include "models/geometry/shapes_private.h"
#include "models/multibody/model_private.h"

#include <math.h>
#include <stdlib.h>

static const double TOUCHING = 1e-6; /* of the size of the model: no overlap */

/* Least edge of the box around a shape, infinite for planes. */
static double start_width(const perp_model *model, int shape, const perp_pose *pose)
{
  double lo[3], hi[3], width = HUGE_VAL;
  if (model->shape_def[shape].kind == PERP_SHAPE_PLANE) return width;
  perp_shape_bounds(&model->shape[shape], pose, lo, hi);
  for (int k = 0; k < model->dim; k++) width = fmin(width, hi[k] - lo[k]);
  return width;
}

static int start_order(const void *p, const void *q)
{
  const perp_start_overlap *a = p, *b = q;
  if (a->a != b->a) return a->a < b->a ? -1 : 1;
  if (a->b != b->b) return a->b < b->b ? -1 : 1;
  return (a->depth < b->depth) - (a->depth > b->depth);
}

static perp_start_overlap start_of(const perp_model *model, const perp_pose *pose, int i, int j)
{
  if (model->shape_def[i].body > model->shape_def[j].body) {
    const int k = i;
    i = j, j = k;
  }
  perp_start_overlap overlap = {
    .a = model->shape_def[i].body, .b = model->shape_def[j].body, .shape_a = i, .shape_b = j
  };
  overlap.depth = -perp_shape_distance(model, i, &pose[overlap.a], j, &pose[overlap.b], NULL, NULL,
                                       NULL);
  const double width = fmin(start_width(model, i, &pose[overlap.a]),
                            start_width(model, j, &pose[overlap.b]));
  overlap.part = width > 0 && width < HUGE_VAL ? overlap.depth / width : 0;
  return overlap;
}

/* The overlaps among n contacts, one for each pair of bodies, at the beginning of the list. */
static int start_pairs(const perp_model *model, const perp_pose *pose, const perp_contact *contact,
                       int n, perp_start_overlap *list)
{
  int m = 0, kept = 0;
  for (int i = 0; i < n; i++) {
    const int a = contact[i].shape[0], b = contact[i].shape[1];
    if (i > 0 && contact[i - 1].shape[0] == a && contact[i - 1].shape[1] == b) continue;
    list[m] = start_of(model, pose, a, b);
    if (list[m].depth > TOUCHING * model->size) m++;
  }
  qsort(list, (size_t)m, sizeof *list, start_order);
  for (int i = 0; i < m; i++)
    if (kept == 0 || list[kept - 1].a != list[i].a || list[kept - 1].b != list[i].b)
      list[kept++] = list[i];
  return kept;
}

perp_status perp_start_overlaps(perp_ctx *ctx, const perp_model *model, perp_start_overlap **list,
                                int *n)
{
  *list = NULL;
  *n = 0;
  if (model->n_shapes < 2) return PERP_OK;
  perp_collision *collision;
  const perp_contact *contact;
  int found = 0;
  PERP_TRY(perp_collision_create(ctx, model, 0, &collision));
  perp_pose *whole = calloc((size_t)model->n_bodies + 1, sizeof *whole), *pose = whole + 1;
  perp_status status = whole != NULL ? PERP_OK
                                     : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for overlaps");
  if (status == PERP_OK) {
    perp_pose_or_world(model->dim, NULL, &whole[0]);
    for (int i = 0; i < model->n_bodies; i++)
      perp_pose_of(model->dim, model->q0 + i * model->nqb, &pose[i]);
    status = perp_collision_find(ctx, collision, pose, &contact, &found);
  }
  if (status == PERP_OK && found > 0) {
    *list = calloc((size_t)found + 1, sizeof **list);
    if (*list == NULL)
      status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for overlaps");
    else
      *n = start_pairs(model, pose, contact, found, *list);
  }
  free(whole);
  perp_collision_destroy(collision);
  return status;
}

/* ---- filter ---- */

static int start_root(int *of, int i)
{
  while (of[i] != i) i = of[i] = of[of[i]];
  return i;
}

/* of [bodies]: the mechanism of each body; on [bodies]: does that mechanism hang on the world? */
static void start_mechanisms(const perp_model *model, int *of, bool *on)
{
  int pair[2], n;
  for (int i = 0; i < model->n_bodies; i++) of[i] = i, on[i] = false;
  for (int i = 0; i < model->n_joints; i++) {
    const int *body = perp_joint_bodies(&model->joint_def[i], pair, &n);
    int first = PERP_WORLD;
    for (int k = 0; k < n; k++)
      if (body[k] >= 0 && first >= 0)
        of[start_root(of, body[k])] = start_root(of, first);
      else if (body[k] >= 0)
        first = body[k];
  }
  for (int i = 0; i < model->n_joints; i++) {
    const int *body = perp_joint_bodies(&model->joint_def[i], pair, &n);
    bool world = false;
    for (int k = 0; k < n; k++) world = world || body[k] == PERP_WORLD;
    for (int k = 0; k < n && world; k++)
      if (body[k] >= 0) on[start_root(of, body[k])] = true;
  }
}

/* Is it a floor?  What moves must not fall through it. */
static bool start_floor(const perp_model *model, int shape)
{
  const perp_shape_kind kind = model->shape_def[shape].kind;
  return kind == PERP_SHAPE_PLANE || perp_shape_partial(kind);
}

perp_status perp_start_filter(perp_ctx *ctx, perp_model *model)
{
  perp_start_overlap *list;
  int n;
  PERP_TRY(perp_start_overlaps(ctx, model, &list, &n));
  int *of = calloc((size_t)model->n_bodies + 1, sizeof *of);
  bool *on = calloc((size_t)model->n_bodies + 1, sizeof *on);
  perp_status status = of != NULL && on != NULL
                           ? PERP_OK
                           : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for overlaps");
  if (status == PERP_OK) start_mechanisms(model, of, on);
  for (int i = 0; i < n && status == PERP_OK; i++) {
    const perp_start_overlap *overlap = &list[i];
    const int b = start_root(of, overlap->b);
    if (overlap->a == PERP_WORLD ? on[b] && !start_floor(model, overlap->shape_a)
                                 : start_root(of, overlap->a) == b)
      status = perp_model_add_no_contact(ctx, model, overlap->a, overlap->b, overlap->depth);
  }
  free(of);
  free(on);
  free(list);
  return status;
}
