/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points of a manifold: exchange of both shapes, and reduction. */
#include "models/collision/pairs.h"

#include <string.h>

/* The same with a and b exchanged. */
static uint32_t manifold_flipped(uint32_t feature)
{
  uint32_t type = feature >> 22, a = feature >> 11 & 0x7ff, b = feature & 0x7ff;
  if (type == PERP_VERTEX_A || type == PERP_VERTEX_B)
    return (feature & 0x3fffff) | (type == PERP_VERTEX_A ? PERP_VERTEX_B : PERP_VERTEX_A) << 22;
  return perp_feature((int)type, (int)b, (int)a);
}

static void manifold_order(int n, perp_touch *touch)
{
  for (int i = 1; i < n; i++) {
    if (!(touch[i - 1].feature > touch[i].feature)) continue;
    const perp_touch x = touch[i];
    int j = i;
    for (; j > 0 && touch[j - 1].feature > x.feature; j--) touch[j] = touch[j - 1];
    touch[j] = x;
  }
}

void perp_touch_flip(int n, perp_touch *touch)
{
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < 3; i++) {
      double x = touch[k].p[0][i];
      touch[k].p[0][i] = touch[k].p[1][i];
      touch[k].p[1][i] = x;
      touch[k].n[i] = -touch[k].n[i];
    }
    touch[k].feature = manifold_flipped(touch[k].feature);
  }
  manifold_order(n, touch);
}

/* In the order of identities, a later point must be better by more than the tie: rounding does not
 * exchange the points of a body at rest. */
static const double tie = 1e-6;

/* The points farthest beside the line from point a to point b, seen against the normal: found[0] on
 * its left and found[1] on its right, which stay where there is none with more than area, twice
 * that of the triangle. */
static void manifold_beside(int n, const perp_touch *touch, double size, int a, int b, int found[2],
                            double area[2])
{
  const double *o = touch[a].p[0];
  double u[3], r[3], c[3];
  perp_sub(touch[b].p[0], o, u);
  /* area below which points lie on the line */
  const double least = tie * size * sqrt(perp_dot(3, u, u));
  for (int i = 0; i < n; i++) {
    perp_sub(touch[i].p[0], o, r);
    perp_cross(u, r, c);
    const double left = perp_dot(3, c, touch[a].n);
    if (left > fmax(area[0] * (1 + tie), least)) area[0] = left, found[0] = i;
    if (-left > fmax(area[1] * (1 + tie), least)) area[1] = -left, found[1] = i;
  }
}

/* The points kept of n > PERP_MANIFOLD_CONVEX, which are in order, if the first of them is one: the
 * farthest from it, and the farthest on both sides of the line through these; where that line is an
 * edge of the polygon, all are on one side, and the fourth is the farthest beyond one of the other
 * edges of the triangle. */
static int manifold_keep(int n, perp_touch *touch, double size, int first)
{
  int keep[PERP_MANIFOLD_CONVEX] = { first, -1, -1, -1 };
  const double *o = touch[first].p[0];
  double far = 0, area[2] = { 0 }, r[3];
  for (int i = 0; i < n; i++) {
    perp_sub(touch[i].p[0], o, r);
    double d = perp_dot(3, r, r);
    if (d > far * (1 + tie)) far = d, keep[1] = i;
  }
  if (keep[1] < 0) { /* all in one place */
    touch[0] = touch[first];
    return 1;
  }
  manifold_beside(n, touch, size, first, keep[1], keep + 2, area);
  if ((keep[2] < 0) != (keep[3] < 0)) {
    const int empty = keep[2] < 0 ? 0 : 1, corner = keep[3 - empty];
    int beyond[2] = { -1, -1 };
    double more[2] = { 0 };
    manifold_beside(n, touch, size, keep[1], corner, beyond, more);
    manifold_beside(n, touch, size, corner, first, beyond, more);
    keep[2 + empty] = beyond[empty];
  }
  int count = 0;
  perp_touch out[PERP_MANIFOLD_CONVEX];
  for (int i = 0; i < n; i++) /* again in the order of identities */
    if (i == keep[0] || i == keep[1] || i == keep[2] || i == keep[3]) out[count++] = touch[i];
  memcpy(touch, out, (size_t)count * sizeof *touch);
  return count;
}

int perp_manifold_reduce(int n, perp_touch *touch, double size)
{
  int first = 0;
  manifold_order(n, touch);
  if (n <= PERP_MANIFOLD_CONVEX) return n;
  for (int i = 1; i < n; i++)
    if (touch[i].gap < touch[first].gap - tie * size) first = i;
  return manifold_keep(n, touch, size, first);
}

int perp_manifold_spread(int n, perp_touch *touch, double size)
{
  double low = HUGE_VAL, middle[3] = { 0 }, far = -1;
  int first = 0;
  manifold_order(n, touch);
  if (n <= PERP_MANIFOLD_CONVEX) return n;
  for (int i = 0; i < n; i++) {
    low = fmin(low, touch[i].gap);
    perp_along(middle, 1.0 / n, touch[i].p[0], middle);
  }
  for (int i = 0; i < n; i++) {
    double r[3];
    if (touch[i].gap > low + tie * size) continue;
    perp_sub(touch[i].p[0], middle, r);
    const double d = perp_dot(3, r, r);
    if (d > far * (1 + tie)) far = d, first = i;
  }
  return manifold_keep(n, touch, size, first);
}
