/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ellipsoids, cylinders and cones, with each other and with all other shapes, by their support
 * functions (models/geometry).
 *
 * The deepest or nearest pair of points is one contact.  Where flat or straight features lie
 * against each other within NEAR, as where a cylinder stands on its end or lies on its side, the
 * corners of the part where they do are contacts too: with the normal of the flat one, at most
 * PERP_MANIFOLD_MAX.  The deepest pair stays among them where they do not reach as deep, as on the
 * rim of a disc between the points that stand for it. */
#include "models/collision/pairs.h"
#include "models/geometry/convex.h"

#include <string.h>

static const double NEAR = 0.03; /* rad: 1.8 degrees, as in polytope_pairs.c */
static const double SNAP = 1e-6; /* of the size of the smaller shape */

static uint32_t solids_feature(const perp_patch_point *point)
{
  if (point->ib >= 0) return perp_feature(PERP_VERTEX_B, 0, point->ib & 0x7ff);
  if (point->ia >= 0) return perp_feature(PERP_VERTEX_A, 0, point->ia & 0x7ff);
  return perp_feature(PERP_EDGES, (-2 - point->ia) & 0x7ff, (-2 - point->ib) & 0x7ff);
}

/* The deepest pair `first`, and those of n points that lie above the margin; the pair alone where
 * these are deeper than it by more than the turn between their normals explains. */
static int solids_manifold(const perp_touch *first, int n, perp_touch *touch, double size,
                           perp_touch *out)
{
  double low = HUGE_VAL;
  for (int k = 0; k < n; k++) low = fmin(low, touch[k].gap);
  if (n == 0 || low < first->gap - 0.05 * fabs(first->gap) - SNAP * size) {
    *out = *first;
    return 1;
  }
  /* more than what perp_manifold_reduce takes for the same depth */
  if (low > first->gap + 2 * SNAP * size) touch[n++] = *first;
  n = perp_manifold_reduce(n, touch, size);
  memcpy(out, touch, (size_t)n * sizeof *touch);
  return n;
}

int perp_solid_solid(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                     const perp_pose *pb, double margin, perp_touch *out)
{
  perp_convex ca, cb;
  perp_touch first = { .feature = perp_feature(PERP_VERTICES, 0, 0) };
  double origin[3], pair[2][3], back[3];
  const double size = fmin(a->bound, b->bound);
  perp_place(pa, a->c, origin);
  perp_convex_set(&ca, a, pa, origin);
  perp_convex_set(&cb, b, pb, origin);
  first.gap = perp_convex_distance(&ca, &cb, margin, first.n, pair[0], pair[1]);
  if (!(first.gap < margin)) return 0;
  for (int k = 0; k < 2; k++) perp_along(origin, 1, pair[k], first.p[k]);
  if (isinf(margin)) {
    *out = first;
    return 1;
  }
  perp_patch on_a, on_b;
  perp_patch_point point[2 * PERP_PATCH_CORNERS];
  perp_touch t[2 * PERP_PATCH_CORNERS + 1];
  for (int i = 0; i < 3; i++) back[i] = -first.n[i];
  perp_convex_patch(&ca, first.n, NEAR, &on_a);
  perp_convex_patch(&cb, back, NEAR, &on_b);
  int n = perp_patch_meet(&on_a, &on_b, first.n, SNAP * size, point), kept = 0;
  double m[3];
  perp_patch_normal(&on_a, &on_b, first.n, m);
  for (int k = 0; k < n; k++) {
    const double gap = point[k].gap - ca.radius - cb.radius;
    if (!(gap < margin)) continue;
    perp_touch *touch = &t[kept++];
    touch->gap = gap;
    memcpy(touch->n, m, sizeof m);
    touch->feature = solids_feature(&point[k]);
    for (int i = 0; i < 3; i++) {
      touch->p[0][i] = origin[i] + point[k].pa[i] + ca.radius * m[i];
      touch->p[1][i] = origin[i] + point[k].pb[i] - cb.radius * m[i];
    }
  }
  return solids_manifold(&first, kept, t, size, out);
}

int perp_plane_solid(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                     const perp_pose *pb, double margin, perp_touch *out)
{
  perp_convex convex;
  perp_patch patch;
  perp_touch first = { .feature = perp_feature(PERP_VERTICES, 0, 0) }, t[PERP_PATCH_CORNERS + 1];
  double o[3], origin[3], down[3], s[3], r[3];
  int n = 0;
  perp_turn(3, pa->R, a->axis, first.n);
  perp_place(pa, a->c, o);
  perp_place(pb, b->c, origin);
  perp_convex_set(&convex, b, pb, origin);
  for (int i = 0; i < 3; i++) down[i] = -first.n[i];
  perp_sub(origin, o, r);
  const double height = perp_dot(3, first.n, r);
  perp_convex_support(&convex, down, s);
  first.gap = height + perp_dot(3, first.n, s);
  if (!(first.gap < margin)) return 0;
  perp_along(origin, 1, s, first.p[1]);
  perp_along(first.p[1], -first.gap, first.n, first.p[0]);
  if (isinf(margin)) {
    *out = first;
    return 1;
  }
  perp_convex_patch(&convex, down, NEAR, &patch);
  for (int k = 0; k < patch.n && patch.n > 1; k++) {
    perp_touch *touch = &t[n];
    *touch = first;
    touch->gap = height + perp_dot(3, first.n, patch.p[k]);
    if (!(touch->gap < margin)) continue;
    touch->feature = perp_feature(PERP_VERTEX_B, 0, patch.id[k]);
    perp_along(origin, 1, patch.p[k], touch->p[1]);
    perp_along(touch->p[1], -touch->gap, first.n, touch->p[0]);
    n++;
  }
  return solids_manifold(&first, n, t, b->bound, out);
}
