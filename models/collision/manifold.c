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

static void manifold_order(int n, perp_touch *t)
{
  for (int i = 1; i < n; i++) {
    if (!(t[i - 1].feature > t[i].feature)) continue;
    const perp_touch x = t[i];
    int j = i;
    for (; j > 0 && t[j - 1].feature > x.feature; j--) t[j] = t[j - 1];
    t[j] = x;
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

/* The points kept of n > PERP_MANIFOLD_CONVEX, which are in order, if the first of them is one. */
static int manifold_keep(int n, perp_touch *touch, double size, int first)
{
  int keep[PERP_MANIFOLD_CONVEX] = { first };
  const double *o = touch[keep[0]].p[0], *normal = touch[keep[0]].n;
  double far = 0, left = 0, right = 0, u[3], r[3], c[3];
  keep[1] = keep[2] = keep[3] = -1;
  for (int i = 0; i < n; i++) {
    perp_sub(touch[i].p[0], o, r);
    double d = perp_dot(3, r, r);
    if (d > far * (1 + tie)) far = d, keep[1] = i;
  }
  if (keep[1] < 0) { /* all in one place */
    touch[0] = touch[keep[0]];
    return 1;
  }
  perp_sub(touch[keep[1]].p[0], o, u);
  double least = tie * size * sqrt(far); /* area below which points lie on the line */
  for (int i = 0; i < n; i++) {
    perp_sub(touch[i].p[0], o, r);
    perp_cross(u, r, c);
    double area = perp_dot(3, c, normal);
    if (area > fmax(left * (1 + tie), least)) left = area, keep[2] = i;
    if (-area > fmax(right * (1 + tie), least)) right = -area, keep[3] = i;
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
