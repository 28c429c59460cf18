/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two shapes: the public questions about one pair. */
#include "models/collision/pairs.h"

#include <string.h>

static bool pairs_surface(perp_shape_kind kind)
{
  return kind == PERP_SHAPE_MESH || kind == PERP_SHAPE_HEIGHT_FIELD;
}

/* The function of a pair of kinds; NULL when they never touch.  *flip: call it with a and b
 * exchanged. */
static perp_pair_fn *pair_of(perp_shape_kind a, perp_shape_kind b, bool *flip)
{
  if (!pairs_surface(a) && !pairs_surface(b)) return perp_pair_of_solids(a, b, flip);
  *flip = pairs_surface(a);
  const perp_shape_kind other = *flip ? b : a;
  return other == PERP_SHAPE_PLANE || pairs_surface(other) ? NULL : perp_convex_surface;
}

/* ---- public ---- */

int perp_collide(const perp_model *model, int shape_a, const perp_pose *pose_a, int shape_b,
                 const perp_pose *pose_b, double margin, perp_contact *contacts)
{
  if (shape_a > shape_b)
    return perp_collide(model, shape_b, pose_b, shape_a, pose_a, margin, contacts);
  const perp_shape *a = &model->shape[shape_a], *b = &model->shape[shape_b];
  const perp_surface *fa = &model->shape_def[shape_a].surface,
                     *fb = &model->shape_def[shape_b].surface;
  perp_pose lifted[2];
  perp_touch touch[PERP_MANIFOLD_MAX];
  bool flip;
  perp_pair_fn *fn = pair_of(a->kind, b->kind, &flip);
  if (fn == NULL) return 0;
  if (model->dim == 2) {
    perp_lift(2, pose_a, &lifted[0]);
    perp_lift(2, pose_b, &lifted[1]);
    pose_a = &lifted[0], pose_b = &lifted[1];
  }
  int n = flip ? fn(b, pose_b, a, pose_a, margin, touch) : fn(a, pose_a, b, pose_b, margin, touch);
  if (n == 0) return 0;
  if (flip) perp_touch_flip(n, touch);
  for (int i = 1; i < n; i++) /* of large hulls */
    if (touch[i].feature <= touch[i - 1].feature) touch[i].feature = touch[i - 1].feature + 1;
  const perp_surface surface = perp_surface_pair(model, fa, fb);
  for (int i = 0; i < n; i++)
    perp_contact_write(shape_a, a->body, shape_b, b->body, &surface, &touch[i], &contacts[i]);
  return n;
}

static void pairs_give(const double x[3], double *out)
{
  if (out != NULL) memcpy(out, x, 3 * sizeof *x);
}

double perp_shape_distance(const perp_model *model, int shape_a, const perp_pose *pose_a,
                           int shape_b, const perp_pose *pose_b, double p_a[3], double p_b[3],
                           double n[3])
{
  const perp_shape *a = &model->shape[shape_a], *b = &model->shape[shape_b];
  perp_pose pa, pb;
  perp_touch touch[PERP_MANIFOLD_MAX];
  touch[0] = (perp_touch){ .gap = HUGE_VAL };
  bool flip;
  int best = 0;
  perp_pair_fn *fn = pair_of(a->kind, b->kind, &flip);
  perp_lift(model->dim, pose_a, &pa);
  perp_lift(model->dim, pose_b, &pb);
  if (fn != NULL) {
    int count = flip ? fn(b, &pb, a, &pa, HUGE_VAL, touch) : fn(a, &pa, b, &pb, HUGE_VAL, touch);
    if (flip) perp_touch_flip(count, touch);
    for (int i = 1; i < count; i++)
      if (touch[i].gap < touch[best].gap) best = i;
  }
  pairs_give(touch[best].p[0], p_a);
  pairs_give(touch[best].p[1], p_b);
  pairs_give(touch[best].n, n);
  return touch[best].gap;
}
