/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points of two bodies on one line along a direction, where several pieces of each are farthest
 * along it.
 *
 * With the points a_i of A and b_j of B there, a - b = h d for some a and b of their convex hulls
 * when h is stationary at d. Seen along d the differences a_i - b_j are points of a plane, and the
 * nearest point to the origin of their hull is one of a point, a side or a triangle: all of them
 * are asked, which no degeneracy disturbs (parallel features have many). */
#include "models/geometry/convex.h"

#include <string.h>

enum { POINTS = PERP_CONVEX_PIECES * PERP_CONVEX_PIECES };

typedef struct witness_mean {
  int n, at[3];
  double m[3], d2;
} witness_mean;

/* the point of a side that is nearest to the origin */
static void witness_side(double w[POINTS][2], int i, int j, witness_mean *best)
{
  const double u[2] = { w[j][0] - w[i][0], w[j][1] - w[i][1] }, uu = u[0] * u[0] + u[1] * u[1];
  const double s = uu > 0 ? -(w[i][0] * u[0] + w[i][1] * u[1]) / uu : 0, t = s < 0   ? 0
                                                                             : s > 1 ? 1
                                                                                     : s;
  const double x[2] = { w[i][0] + t * u[0], w[i][1] + t * u[1] }, d2 = x[0] * x[0] + x[1] * x[1];
  if (d2 < best->d2) *best = (witness_mean){ 2, { i, j }, { 1 - t, t }, d2 };
}

/* the origin, if a triangle holds it */
static void witness_triangle(double w[POINTS][2], int i, int j, int k, witness_mean *best)
{
  const int at[3] = { i, j, k };
  double m[3], sum = 0;
  for (int c = 0; c < 3; c++) {
    const double *p = w[at[(c + 1) % 3]], *q = w[at[(c + 2) % 3]];
    m[c] = p[0] * q[1] - p[1] * q[0];
    sum += m[c];
  }
  for (int c = 0; c < 3; c++) m[c] /= sum;
  if (!(m[0] >= 0 && m[1] >= 0 && m[2] >= 0)) return;
  double x[2] = { 0 };
  for (int c = 0; c < 3; c++)
    for (int l = 0; l < 2; l++) x[l] += m[c] * w[at[c]][l];
  const double d2 = x[0] * x[0] + x[1] * x[1];
  if (d2 < best->d2) *best = (witness_mean){ 3, { i, j, k }, { m[0], m[1], m[2] }, d2 };
}

void perp_convex_witness(const perp_convex *a, const perp_convex *b, int na, const int *ia, int nb,
                         const int *ib, double slack, perp_convex_best *best)
{
  const double *d = best->d, back[3] = { -d[0], -d[1], -d[2] };
  perp_convex_piece pa[PERP_CONVEX_PIECES], pb[PERP_CONVEX_PIECES];
  double least[3] = { 0 }, u[2][3], w[POINTS][2], r[3];
  int n = 0, at[POINTS][2];
  least[fabs(d[0]) < 0.6 ? 0 : 1] = 1;
  perp_cross(d, least, u[0]);
  perp_cross(d, u[0], u[1]);
  const double len = perp_norm(u[0]);
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < 3; i++) u[k][i] /= len;
  for (int i = 0; i < na; i++) perp_convex_piece_at(a, ia[i], d, &pa[i]);
  for (int j = 0; j < nb; j++) perp_convex_piece_at(b, ib[j], back, &pb[j]);
  for (int i = 0; i < na; i++)
    for (int j = 0; j < nb; j++) {
      if (pa[i].value + pb[j].value < best->h - slack) continue;
      perp_sub(pa[i].grad, pb[j].grad, r);
      for (int k = 0; k < 2; k++) w[n][k] = perp_dot(3, u[k], r);
      at[n][0] = i, at[n++][1] = j;
    }
  witness_mean mean = { .d2 = HUGE_VAL };
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      witness_side(w, i, j, &mean);
      for (int k = 0; k < j; k++) witness_triangle(w, i, j, k, &mean);
    }
  if (mean.n == 0) return;
  perp_convex_best convex_best = perp_convex_candidate(d, best->h);
  for (int k = 0; k < mean.n; k++) {
    perp_along(convex_best.a, mean.m[k], pa[at[mean.at[k]][0]].grad, convex_best.a);
    perp_along(convex_best.b, mean.m[k], pb[at[mean.at[k]][1]].grad, convex_best.b);
  }
  perp_sub(convex_best.a, convex_best.b, r);
  perp_along(r, -convex_best.h, d, r);
  convex_best.off = perp_norm(r);
  if (convex_best.off < best->off) *best = convex_best;
}
