/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See points.h. */
#include "models/geometry/points.h"

#include <math.h>
#include <string.h>

enum { POINTS_LEAF = 8, POINTS_DEPTH = 64 };

void perp_points_layout(perp_points *points, int n, perp_arena *arena)
{
  for (points->mask = 15; points->mask < 2 * n; points->mask = 2 * points->mask + 1) continue;
  points->order = PERP_CARVE(arena, int, n);
  points->next = PERP_CARVE(arena, int, n);
  points->bucket = PERP_CARVE(arena, int, points->mask + 1);
  points->node = PERP_CARVE(arena, perp_points_node, 2 * (size_t)n + 1);
}

/* ---- equal points ---- */

static int *points_bucket(const perp_points *points, const int64_t cell[3])
{
  const uint64_t h = (uint64_t)cell[0] * 0x9e3779b97f4a7c15u ^
                     (uint64_t)cell[1] * 0xbf58476d1ce4e5b9u ^
                     (uint64_t)cell[2] * 0x94d049bb133111ebu;
  return &points->bucket[(h ^ h >> 29) & (uint64_t)points->mask];
}

static bool points_near(const double *p, const double *q, double near)
{
  const double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
  return sqrt(x * x + y * y + z * z) <= near;
}

int perp_points_distinct(perp_points *points, double *p, int n, double near)
{
  int kept = 0;
  const double o[3] = { p[0], p[1], p[2] }; /* far from the origin cells have large numbers */
  for (int i = 0; i <= points->mask; i++) points->bucket[i] = -1;
  for (int i = 0; i < n; i++) {
    const double q[3] = { p[3 * i], p[3 * i + 1], p[3 * i + 2] };
    int64_t cell[3], at[3];
    bool old = false;
    for (int k = 0; k < 3; k++)
      cell[k] = (int64_t)fmax(-4e18, fmin(4e18, floor((q[k] - o[k]) / near)));
    for (int c = 0; c < 27 && !old; c++) {
      at[0] = cell[0] + c % 3 - 1, at[1] = cell[1] + c / 3 % 3 - 1, at[2] = cell[2] + c / 9 - 1;
      for (int j = *points_bucket(points, at); j >= 0 && !old; j = points->next[j])
        old = points_near(q, p + 3 * j, near);
    }
    if (old) continue;
    int *bucket = points_bucket(points, cell);
    points->next[kept] = *bucket;
    *bucket = kept;
    memmove(p + 3 * kept++, q, sizeof q);
  }
  return kept;
}

/* ---- tree ---- */

/* the first `half` of n are those that come first along an axis (Hoare's selection) */
static void points_select(const double *p, int *order, int n, int half, int axis)
{
  int low = 0, high = n - 1;
  while (low < high) {
    const double pivot = p[3 * order[low + (high - low) / 2] + axis];
    int i = low, j = high;
    while (i <= j) {
      while (p[3 * order[i] + axis] < pivot) i++;
      while (p[3 * order[j] + axis] > pivot) j--;
      if (i > j) break;
      const int keep = order[i];
      order[i++] = order[j];
      order[j--] = keep;
    }
    if (half <= j)
      high = j;
    else if (half >= i)
      low = i;
    else
      return;
  }
}

/* halves: as deep as the logarithm of n */
static void points_split(perp_points *points, int first, int n)
{
  const int at = points->n_nodes++;
  perp_points_node *node = &points->node[at];
  int axis = 0;
  for (int k = 0; k < 3; k++) node->lo[k] = HUGE_VAL, node->hi[k] = -HUGE_VAL;
  for (int i = first; i < first + n; i++)
    for (int k = 0; k < 3; k++) {
      node->lo[k] = fmin(node->lo[k], points->p[3 * points->order[i] + k]);
      node->hi[k] = fmax(node->hi[k], points->p[3 * points->order[i] + k]);
    }
  node->first = first;
  node->n = n;
  if (n <= POINTS_LEAF) return;
  for (int k = 1; k < 3; k++)
    if (node->hi[k] - node->lo[k] > node->hi[axis] - node->lo[axis]) axis = k;
  points_select(points->p, points->order + first, n, n / 2, axis);
  points_split(points, first, n / 2);
  points->node[at].first = points->n_nodes;
  points->node[at].n = 0;
  points_split(points, first + n / 2, n - n / 2);
}

void perp_points_build(perp_points *points, const double *p, int n)
{
  points->n = n;
  points->p = p;
  points->n_nodes = 0;
  for (int i = 0; i < n; i++) points->order[i] = i;
  if (n > 0) points_split(points, 0, n);
}

/* bounds of d . p over a node */
static double points_high(const perp_points_node *node, const double d[3])
{
  double high = 0;
  for (int k = 0; k < 3; k++) high += d[k] * (d[k] > 0 ? node->hi[k] : node->lo[k]);
  return high;
}

static double points_low(const perp_points_node *node, const double d[3])
{
  double low = 0;
  for (int k = 0; k < 3; k++) low += d[k] * (d[k] > 0 ? node->lo[k] : node->hi[k]);
  return low;
}

static double points_dot(const double *p, const double d[3])
{
  return p[0] * d[0] + p[1] * d[1] + p[2] * d[2];
}

int perp_points_farthest(const perp_points *points, const double d[3])
{
  int stack[POINTS_DEPTH], depth = 0, best = 0;
  double high = -HUGE_VAL;
  stack[depth++] = 0;
  while (depth > 0) {
    const int at = stack[--depth];
    const perp_points_node *node = &points->node[at];
    if (points_high(node, d) <= high) continue;
    for (int i = node->first; i < node->first + node->n; i++) {
      const double x = points_dot(points->p + 3 * points->order[i], d);
      if (x > high) high = x, best = points->order[i];
    }
    if (node->n > 0) continue;
    const bool left = points_high(&points->node[at + 1], d) >=
                      points_high(&points->node[node->first], d);
    stack[depth++] = left ? node->first : at + 1; /* the more promising one on top */
    stack[depth++] = left ? at + 1 : node->first;
  }
  return best;
}

int perp_points_slab(const perp_points *points, const double d[3], double s, double width,
                     int *index)
{
  int stack[POINTS_DEPTH], depth = 0, n = 0;
  double size = 0; /* what rounding of the bounds is measured by */
  for (int k = 0; k < 3; k++)
    size += fmax(fabs(points->node[0].lo[k]), fabs(points->node[0].hi[k])) * fabs(d[k]);
  const double reach = width + 1e-14 * size;
  stack[depth++] = 0;
  while (depth > 0) {
    const int at = stack[--depth];
    const perp_points_node *node = &points->node[at];
    if (points_high(node, d) < s - reach || points_low(node, d) > s + reach) continue;
    for (int i = node->first; i < node->first + node->n; i++)
      if (fabs(points_dot(points->p + 3 * points->order[i], d) - s) <= width)
        index[n++] = points->order[i];
    if (node->n > 0) continue;
    stack[depth++] = node->first;
    stack[depth++] = at + 1;
  }
  return n;
}
