/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One triangle of a surface as a convex polytope of six vertices, five faces and nine edges. */
#ifndef PERP_PIECE_H
#define PERP_PIECE_H

#include "models/collision/pairs.h"

/* Vertices 0, 1, 2 are the corners of the triangle, 3, 4, 5 below them: on them for a mesh, which
 * has no thickness.  Faces: 0 the triangle, 1 its other side, 2 + k at the edge from corner k to
 * the next.  Edges: k from corner k to the next, 3 + k below it, 6 + k from corner k down.  The
 * shape points into the piece, which stays where it is. */
typedef struct perp_piece {
  perp_shape shape;
  perp_hull hull;
  double v[18], n[15], d[5], side[54], dir[27];
} perp_piece;

enum { PERP_PIECE_TOP, PERP_PIECE_BOTTOM, PERP_PIECE_SIDES };

/* Triangle t of a mesh, in the frame of the mesh.  No allocation. */
void perp_piece_set(perp_piece *piece, const perp_mesh *mesh, int t);

#endif
