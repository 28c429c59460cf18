/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Boxes against each other, the most frequent pair: its vertices, faces and edges by vectors.  The
 * operations on each number are those of any polytope (polytope_features.c). */
#include "models/collision/polytope.h"

/* n . middle and n . half axes of a box */
#define BOXES_DOTS(seen, n)                                                                        \
  ((n)[0] * (seen)->axis[0] + (n)[1] * (seen)->axis[1] + (n)[2] * (seen)->axis[2])

PERP_CLONES_OF_FOUR static void boxes_see(perp_seen *seen)
{
  const double *R = seen->R, *v = seen->h->v;
  const perp_v4 x = { R[0], R[1], R[2], 0 }, y = { R[3], R[4], R[5], 0 },
                z = { R[6], R[7], R[8], 0 }, at = { seen->x[0], seen->x[1], seen->x[2], 0 };
  perp_v4 p[8], half[3];
  for (int i = 0; i < 8; i++) {
    p[i] = v[3 * i] * x + v[3 * i + 1] * y + v[3 * i + 2] * z + at;
    *(perp_v4_any *)(seen->v + 3 * i) = p[i]; /* the next one overwrites a number too many */
  }
  seen->centre = 0.5 * (p[0] + p[7]);
  for (int k = 0; k < 3; k++) half[k] = 0.5 * (p[1 << k] - p[0]);
  for (int i = 0; i < 3; i++)
    seen->axis[i] = (perp_v4){ seen->centre[i], half[0][i], half[1][i], half[2][i] };
}

void perp_seen_box(perp_seen *seen)
{
  boxes_see(seen);
}

/* ---- faces ---- */

PERP_CLONES_OF_FOUR static double boxes_face(const perp_hull *hull, const perp_seen *other,
                                             double enough, double tie, int *face)
{
  double best = -HUGE_VAL;
  for (int f = 0; f < hull->n_faces; f++) {
    const perp_v4 dots = BOXES_DOTS(other, hull->n + 3 * f), size = PERP_SIZE4(dots);
    const double sep = dots[0] - size[1] - size[2] - size[3] - hull->d[f];
    if (sep > best + tie) best = sep, *face = f;
    if (best >= enough) break;
  }
  return best;
}

double perp_box_face(const perp_hull *hull, const perp_seen *other, double enough, double tie,
                     int *face)
{
  return boxes_face(hull, other, enough, tie, face);
}

/* ---- edges ---- */

/* the edge of a group of parallel ones (vertices v, 3 each) that lies farthest along n */
static inline __attribute__((always_inline)) int
boxes_outer_edge(const perp_hull *hull, int group, const double *v, const double n[3])
{
  int best = hull->edges[hull->axis[group]];
  double far = -HUGE_VAL;
  for (int l = hull->axis[group]; l < hull->axis[group + 1]; l++) {
    double x = perp_dot(3, n, v + 3 * hull->edge[4 * hull->edges[l]]);
    if (x > far) far = x, best = hull->edges[l];
  }
  return best;
}

/* The half axis that follows in the order 0, 1, 2, 0, and the one before; the middle stays. */
#define BOXES_AFTER(x)  __builtin_shufflevector(x, x, 0, 2, 3, 1)
#define BOXES_BEFORE(x) __builtin_shufflevector(x, x, 0, 3, 1, 2)

/* Which directions e_k x (half axis l of seen), e_k the axes of box a, separate two boxes by more
 * than `least`, or by so nearly that rounding may decide: bit 3 k + l.  half: of a; r: from its
 * centre to that of seen. */
static inline __attribute__((always_inline)) unsigned
boxes_worth(double half[3][3], const perp_seen *seen, const double r[3], double least)
{
  static const int after[3] = { 1, 2, 0 };
  const perp_v4 square = seen->axis[0] * seen->axis[0] + seen->axis[1] * seen->axis[1] +
                         seen->axis[2] * seen->axis[2];
  perp_v4 lb, B[3]; /* lengths and directions of the half axes of b, in the axes of a */
  double la[3], x[3], sum = 0;
  unsigned which = 0;
  for (int l = 0; l < 4; l++) lb[l] = sqrt(square[l]);
  for (int k = 0; k < 3; k++) {
    la[k] = perp_norm(half[k]);
    const double part = 1 / la[k];
    x[k] = part * perp_dot(3, half[k], r);
    B[k] = part * BOXES_DOTS(seen, half[k]);
    sum += la[k] + lb[k + 1] + fabs(x[k]);
  }
  /* reach of half axis m of b along e_k x l: that of o along e_k, m x l = o */
  const perp_v4 part = BOXES_AFTER(lb) * BOXES_BEFORE(lb) / lb;
  const double slack = 1e-13 * sum * sum;
  /* gap / |n| against least, without the root */
  const double limit = least * fabs(least) * (least > 0 ? 1 - 1e-9 : 1 + 1e-9);
  for (int k = 0; k < 3; k++) {
    const int i = after[k], j = after[i];
    const perp_v4 reach = part * PERP_SIZE4(B[k]), across = B[i] * x[j] - B[j] * x[i];
    const perp_v4 gap = PERP_SIZE4(across) - la[i] * PERP_SIZE4(B[j]) - la[j] * PERP_SIZE4(B[i]) -
                        BOXES_AFTER(reach) - BOXES_BEFORE(reach) + slack;
    const perp_i4 apart = gap * PERP_SIZE4(gap) < limit * (B[i] * B[i] + B[j] * B[j]);
    for (int l = 0; l < 3; l++) which |= (unsigned)!apart[l + 1] << (3 * k + l);
  }
  return which;
}

/* half axis of a box that the edges of a group are parallel to */
static int boxes_axis_of(const perp_hull *hull, int group)
{
  const int *e = hull->edge + 4 * hull->edges[hull->axis[group]];
  return (e[0] ^ e[1]) >> 1; /* bit k of a vertex: its side along axis k */
}

/* Nine directions, supports from the half axes.  A direction that belongs to no crossing of arcs
 * separates by no more than one that does, so that it need not be told apart.  Most directions are
 * seen to separate by no more than `least` (the faces) by a shorter formula. */
PERP_CLONES_OF_FOUR static double boxes_edges(const perp_hull *hull, const perp_seen *seen,
                                              double least, double tie, perp_features *out)
{
  double best = -HUGE_VAL, half[3][3], r[3];
  int group_a = 0, group_b = 0;
  for (int i = 0; i < 3; i++) {
    r[i] = seen->centre[i] - 0.5 * (hull->v[i] + hull->v[21 + i]);
    for (int k = 0; k < 3; k++) half[k][i] = 0.5 * (hull->v[(3 << k) + i] - hull->v[i]);
  }
  const unsigned which = boxes_worth(half, seen, r, least);
  for (int l = 0; l < 3 && which != 0; l++)
    for (int k = 0; k < 3; k++) {
      if (!(which >> (3 * boxes_axis_of(hull, k) + boxes_axis_of(seen->h, l)) & 1)) continue;
      const double *u = hull->dir + 3 * hull->edges[hull->axis[k]];
      double n[3], w[3];
      perp_turn(3, seen->R, seen->h->dir + 3 * seen->h->edges[seen->h->axis[l]], w);
      perp_cross(u, w, n);
      double nn = perp_dot(3, n, n), along = perp_dot(3, n, r), reach = 0;
      if (nn <= 1e-18 * perp_dot(3, w, w) * perp_dot(3, u, u)) continue;
      const perp_v4 dots = BOXES_DOTS(seen, n), size = PERP_SIZE4(dots);
      for (int i = 0; i < 3; i++) reach += fabs(perp_dot(3, n, half[i])) + size[i + 1];
      double len = sqrt(nn), sep = (fabs(along) - reach) / len;
      if (sep <= best + tie) continue;
      best = sep;
      group_a = k;
      group_b = l;
      for (int i = 0; i < 3; i++) out->n[i] = along < 0 ? -n[i] / len : n[i] / len;
    }
  if (best == -HUGE_VAL) return best;
  const double back[3] = { -out->n[0], -out->n[1], -out->n[2] };
  out->ea = boxes_outer_edge(hull, group_a, hull->v, out->n);
  out->eb = boxes_outer_edge(seen->h, group_b, seen->v, back);
  return best;
}

double perp_box_edges(const perp_hull *hull, const perp_seen *seen, double least, double tie,
                      perp_features *out)
{
  return boxes_edges(hull, seen, least, tie, out);
}
