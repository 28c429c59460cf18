/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two shapes: the table of pairs, manifold reduction, and the public questions about one pair. */
#include "models/shapes/shapes_private.h"

#include <string.h>

enum { SPHERE, CAPSULE, HULL, PLANE, ELLIPSOID, CLASSES };

static int class_of(perp_shape_kind kind)
{
  switch (kind) {
  case PERP_SHAPE_SPHERE:
    return SPHERE;
  case PERP_SHAPE_CAPSULE:
    return CAPSULE;
  case PERP_SHAPE_PLANE:
    return PLANE;
  case PERP_SHAPE_ELLIPSOID:
    return ELLIPSOID;
  default:
    return HULL;
  }
}

/* upper triangle; what is missing never touches */
static perp_pair_fn *const table[CLASSES][CLASSES] = {
  [SPHERE] = { perp_sphere_sphere, perp_sphere_capsule, perp_sphere_hull, perp_sphere_plane,
               perp_sphere_ellipsoid },
  [CAPSULE] = { NULL, perp_capsule_capsule, perp_capsule_hull, perp_capsule_plane, NULL },
  [HULL] = { NULL, NULL, perp_hull_hull, perp_hull_plane, NULL },
  [PLANE] = { [ELLIPSOID] = perp_plane_ellipsoid },
};

perp_pair_fn *perp_pair(perp_shape_kind a, perp_shape_kind b, bool *flip)
{
  int ca = class_of(a), cb = class_of(b);
  *flip = ca > cb;
  return *flip ? table[cb][ca] : table[ca][cb];
}

uint32_t perp_feature_flip(uint32_t feature)
{
  uint32_t type = feature >> 22, a = feature >> 11 & 0x7ff, b = feature & 0x7ff;
  if (type == PERP_VERTEX_A || type == PERP_VERTEX_B)
    return (feature & 0x3fffff) | (type == PERP_VERTEX_A ? PERP_VERTEX_B : PERP_VERTEX_A) << 22;
  return perp_feature((int)type, (int)b, (int)a);
}

static void order(int n, perp_touch *t)
{
  for (int i = 1; i < n; i++) {
    perp_touch x = t[i];
    int j = i;
    for (; j > 0 && t[j - 1].feature > x.feature; j--) t[j] = t[j - 1];
    t[j] = x;
  }
}

void perp_touch_flip(int n, perp_touch *t)
{
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < 3; i++) {
      double x = t[k].p_a[i];
      t[k].p_a[i] = t[k].p_b[i];
      t[k].p_b[i] = x;
      t[k].n[i] = -t[k].n[i];
    }
    t[k].feature = perp_feature_flip(t[k].feature);
  }
  order(n, t);
}

int perp_manifold_reduce(int n, perp_touch *t, double size)
{
  const double tie = 1e-6;
  int keep[PERP_MANIFOLD_MAX] = { 0 };
  order(n, t);
  if (n <= PERP_MANIFOLD_MAX) return n;
  /* in the order of identities, a later point must be better by more than the tie: rounding does
   * not exchange the points of a body at rest */
  for (int i = 1; i < n; i++)
    if (t[i].gap < t[keep[0]].gap - tie * size) keep[0] = i;
  const double *o = t[keep[0]].p_a, *normal = t[keep[0]].n;
  double far = 0, left = 0, right = 0, u[3], r[3], c[3];
  keep[1] = keep[2] = keep[3] = -1;
  for (int i = 0; i < n; i++) {
    perp_sub(t[i].p_a, o, r);
    double d = perp_dot(3, r, r);
    if (d > far * (1 + tie)) far = d, keep[1] = i;
  }
  if (keep[1] < 0) { /* all in one place */
    t[0] = t[keep[0]];
    return 1;
  }
  perp_sub(t[keep[1]].p_a, o, u);
  double least = tie * size * sqrt(far); /* area below which points lie on the line */
  for (int i = 0; i < n; i++) {
    perp_sub(t[i].p_a, o, r);
    perp_cross(u, r, c);
    double area = perp_dot(3, c, normal);
    if (area > fmax(left * (1 + tie), least)) left = area, keep[2] = i;
    if (-area > fmax(right * (1 + tie), least)) right = -area, keep[3] = i;
  }
  int count = 0;
  perp_touch out[PERP_MANIFOLD_MAX];
  for (int i = 0; i < n; i++) /* again in the order of identities */
    if (i == keep[0] || i == keep[1] || i == keep[2] || i == keep[3]) out[count++] = t[i];
  memcpy(t, out, (size_t)count * sizeof *t);
  return count;
}

/* ---- public ---------------------------------------------------------------------------------- */

int perp_collide(const perp_model *model, int shape_a, const perp_pose *pose_a, int shape_b,
                 const perp_pose *pose_b, double margin, perp_contact *contacts)
{
  if (shape_a > shape_b)
    return perp_collide(model, shape_b, pose_b, shape_a, pose_a, margin, contacts);
  const perp_shape *a = &model->shape[shape_a], *b = &model->shape[shape_b];
  const perp_surface *fa = &model->shape_def[shape_a].surface,
                     *fb = &model->shape_def[shape_b].surface;
  perp_pose lifted[2];
  perp_touch t[PERP_MANIFOLD_MAX];
  bool flip;
  perp_pair_fn *fn = perp_pair(a->kind, b->kind, &flip);
  if (fn == NULL) return 0;
  if (model->dim == 2) {
    perp_lift(2, pose_a, &lifted[0]);
    perp_lift(2, pose_b, &lifted[1]);
    pose_a = &lifted[0], pose_b = &lifted[1];
  }
  int n = flip ? fn(b, pose_b, a, pose_a, margin, t) : fn(a, pose_a, b, pose_b, margin, t);
  if (n == 0) return 0;
  if (flip) perp_touch_flip(n, t);
  const perp_surface surface = perp_surface_pair(fa, fb);
  for (int i = 0; i < n; i++)
    perp_contact_write(shape_a, a->body, shape_b, b->body, &surface, &t[i], &contacts[i]);
  return n;
}

static void give(const double x[3], double *out)
{
  if (out != NULL) memcpy(out, x, 3 * sizeof *x);
}

double perp_shape_distance(const perp_model *model, int shape_a, const perp_pose *pose_a,
                           int shape_b, const perp_pose *pose_b, double p_a[3], double p_b[3],
                           double n[3])
{
  const perp_shape *a = &model->shape[shape_a], *b = &model->shape[shape_b];
  perp_pose pa, pb;
  perp_touch t[PERP_MANIFOLD_MAX] = { { .gap = HUGE_VAL } };
  bool flip;
  int best = 0;
  perp_pair_fn *fn = perp_pair(a->kind, b->kind, &flip);
  perp_lift(model->dim, pose_a, &pa);
  perp_lift(model->dim, pose_b, &pb);
  if (fn != NULL) {
    int count = flip ? fn(b, &pb, a, &pa, HUGE_VAL, t) : fn(a, &pa, b, &pb, HUGE_VAL, t);
    if (flip) perp_touch_flip(count, t);
    for (int i = 1; i < count; i++)
      if (t[i].gap < t[best].gap) best = i;
  }
  give(t[best].p_a, p_a);
  give(t[best].p_b, p_b);
  give(t[best].n, n);
  return t[best].gap;
}
