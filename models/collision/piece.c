/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces of surfaces, see piece.h.  A triangle without thickness is a prism of height zero: its
 * side faces have no area, but normals (in the plane of the triangle, away from it), so that the
 * Gauss images of its edges are quarters of circles and every test of convex polytopes holds. */
#include "models/collision/piece.h"

#include <string.h>

/* clang-format off */
static int piece_start[] = { 0, 3, 6, 10, 14, 18 };
static int piece_loop[] = { 0, 1, 2,  3, 5, 4,  1, 0, 3, 4,  2, 1, 4, 5,  0, 2, 5, 3 };
static int piece_rim[] = { 0, 1, 2,  5, 4, 3,  0, 6, 3, 7,  1, 7, 4, 8,  2, 8, 5, 6 };
static int piece_edge[] = { 0, 1, 0, 2,  1, 2, 0, 3,  2, 0, 0, 4,
                            4, 3, 1, 2,  5, 4, 1, 3,  3, 5, 1, 4,
                            0, 3, 2, 4,  1, 4, 3, 2,  2, 5, 4, 3 };
static int piece_star[] = { 0, 3, 6, 9, 12, 15, 18 };
static int piece_fan[] = { 0, 2, 4,  0, 2, 3,  0, 3, 4,  1, 2, 4,  1, 2, 3,  1, 3, 4 };
static int piece_axis[] = { 0, 2, 4, 6, 9 };
static int piece_edges[] = { 0, 3, 1, 4, 2, 5, 6, 7, 8 };
/* clang-format on */

static void piece_unit(double u[3])
{
  const double len = perp_norm(u);
  for (int i = 0; i < 3; i++) u[i] /= len;
}

/* face 2 + k at the edge u from corner k; down: unit, towards the bottom */
static void piece_side(perp_piece *piece, int k, const double u[3], const double down[3])
{
  double *n = piece->n + 3 * (PERP_PIECE_SIDES + k), *side = piece->side + 3 * piece_start[2 + k];
  perp_cross(down, u, n); /* as u x m for down = -m */
  piece_unit(n);
  perp_cross(n, u, side); /* beyond the edge above, which runs backwards: -u x n */
  piece_unit(side);
  perp_cross(down, n, side + 3);
  for (int i = 0; i < 3; i++) {
    side[6 + i] = -side[i];
    side[9 + i] = -side[3 + i];
  }
  piece->d[2 + k] = perp_dot(3, n, piece->v + 3 * k);
}

void perp_piece_set(perp_piece *piece, const perp_mesh *mesh, int t)
{
  const double *m = mesh->n + 3 * t, depth = mesh->field ? mesh->depth : 0;
  double down[3], c[3] = { 0 }, bound = 0;
  for (int i = 0; i < 3; i++) down[i] = mesh->field ? -mesh->R[6 + i] : -m[i];
  for (int k = 0; k < 3; k++) {
    memcpy(piece->v + 3 * k, mesh->v + 3 * mesh->tri[3 * t + k], 3 * sizeof *piece->v);
    perp_along(piece->v + 3 * k, depth, down, piece->v + 9 + 3 * k);
    perp_along(c, 1.0 / 3, piece->v + 3 * k, c);
  }
  memcpy(piece->n, m, 3 * sizeof *m);
  for (int i = 0; i < 3; i++) piece->n[3 + i] = -m[i];
  for (int f = 0; f < 2; f++) /* the mean offset, as of all faces */
    piece->d[f] = (perp_dot(3, piece->n + 3 * f, piece->v + 9 * f) +
                   perp_dot(3, piece->n + 3 * f, piece->v + 9 * f + 3) +
                   perp_dot(3, piece->n + 3 * f, piece->v + 9 * f + 6)) /
                  3;
  for (int k = 0; k < 3; k++) {
    const int next = (k + 1) % 3;
    double u[3], r[3];
    perp_sub(piece->v + 3 * next, piece->v + 3 * k, u);
    memcpy(piece->dir + 3 * k, u, sizeof u);
    for (int i = 0; i < 3; i++) {
      piece->dir[9 + 3 * k + i] = -u[i];
      piece->dir[18 + 3 * k + i] = depth * down[i];
    }
    perp_cross(u, m, piece->side + 3 * k);
    piece_unit(piece->side + 3 * k);
    /* the loop below is that above, backwards: its first edge is the last one */
    memcpy(piece->side + 9 + 3 * (2 - k), piece->side + 3 * k, sizeof u);
    piece_side(piece, k, u, down);
    perp_sub(piece->v + 3 * k, c, r);
    bound = fmax(bound, perp_norm(r));
  }
  piece->hull = (perp_hull){ .dim = 3,
                             .n_vertices = 6,
                             .n_faces = 5,
                             .n_edges = 9,
                             .n_half = 18,
                             .n_axes = 4,
                             .v = piece->v,
                             .n = piece->n,
                             .d = piece->d,
                             .side = piece->side,
                             .dir = piece->dir,
                             .start = piece_start,
                             .loop = piece_loop,
                             .rim = piece_rim,
                             .edge = piece_edge,
                             .star = piece_star,
                             .fan = piece_fan,
                             .axis = piece_axis,
                             .edges = piece_edges,
                             .piece = true };
  piece->shape = (perp_shape){ .kind = PERP_SHAPE_POLYTOPE,
                               .dim = 3,
                               .body = -1,
                               .c = { c[0], c[1], c[2] },
                               .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 },
                               .bound = bound,
                               .reach = bound + perp_norm(c),
                               .hull = &piece->hull };
}
