/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs of convex polytopes: what the files polytope*.c share. */
#ifndef PERP_POLYTOPE_H
#define PERP_POLYTOPE_H

#include "models/collision/pairs.h"
#include "solvers/core/clones.h"

/* Parts of the size of the smaller shape: vertices that near to a side plane count as inside, and
 * lengths that near are equal up to rounding. */
static const double PERP_HULL_SNAP = 1e-6, PERP_HULL_EXACT = 1e-12;

/* One hull as seen from the frame of the other. */
typedef struct perp_seen {
  const perp_hull *h;
  double R[9], x[3];
  perp_v4 centre, axis[3];       /* of a box: the middle, and x, y, z of it and its half axes */
  double v[3 * PERP_HULL_SMALL]; /* vertices, of a small one */
} perp_seen;

PERP_INLINE bool perp_hull_is_small(const perp_hull *hull)
{
  return hull->n_vertices <= PERP_HULL_SMALL;
}

PERP_INLINE void perp_seen_vertex(const perp_seen *seen, int i, double v[3])
{
  if (perp_hull_is_small(seen->h)) {
    for (int k = 0; k < 3; k++) v[k] = seen->v[3 * i + k];
    return;
  }
  perp_turn(3, seen->R, seen->h->v + 3 * i, v);
  for (int k = 0; k < 3; k++) v[k] += seen->x[k];
}

/* Closest or deepest features of two hulls in the frame of a; n from a to b. */
typedef struct perp_features {
  enum { PERP_BY_FACE_A, PERP_BY_FACE_B, PERP_BY_EDGES, PERP_BY_CLOSEST } kind;
  int face;                       /* of a or of b */
  int ea, eb;                     /* edges */
  uint32_t id;                    /* of BY_EDGES and BY_CLOSEST */
  double sep, n[3], pa[3], pb[3]; /* witnesses of BY_EDGES and BY_CLOSEST */
} perp_features;

/* Two hulls at their poses. */
typedef struct perp_hull_pair {
  const perp_hull *a, *b;
  perp_pose ab, ba; /* b seen from a, a seen from b */
  perp_seen as, bs; /* a from b, b from a */
  double size;
} perp_hull_pair;

/* ---- polytope_features.c ---- */

/* A vertex with the least n . v, of equal ones of a small hull the first; *low: that value. */
int perp_seen_lowest(const perp_seen *seen, const double n[3], double *low);
void perp_hull_pair_set(perp_hull_pair *pair, const perp_shape *a, const perp_pose *pa,
                        const perp_shape *b, const perp_pose *pb);
/* The supporting plane of largest separation: BY_FACE_A, BY_FACE_B or BY_EDGES, sep and n.  Ends
 * early with some plane that separates by `enough`. */
void perp_hull_separate(const perp_hull_pair *pair, double enough, perp_features *features);
/* BY_EDGES: pa, pb on the edges, clamped to them; returns their distance. */
double perp_hull_edge_witness(const perp_hull_pair *pair, perp_features *features);
/* BY_CLOSEST: pa, pb, n and sep of disjoint hulls, by all pairs of features; features->n on entry:
 * normal of a plane between them. */
void perp_hull_closest(const perp_hull_pair *pair, perp_features *features);

/* ---- polytope_boxes.c ---- */

/* The vertices, the middle and the half axes of a box whose h, R and x are there. */
void perp_seen_box(perp_seen *seen);
/* The largest separation of the box `other` along a face normal of hull, the first of faces that
 * are equal but for `tie`; ends early beyond `enough`. */
double perp_box_face(const perp_hull *hull, const perp_seen *other, double enough, double tie,
                     int *face);
/* The largest separation of two boxes along a cross product of edges; -infinity when none exceeds
 * `least`. */
double perp_box_edges(const perp_hull *hull, const perp_seen *seen, double least, double tie,
                      perp_features *out);

/* ---- polytope_clip.c ---- */

/* Points of inc over a face of ref with a gap below margin, in the frame of ref: p_a on ref, n its
 * normal.  tol: beyond side planes.  Returns their number, at most PERP_MANIFOLD_CONVEX. */
int perp_hull_face_points(const perp_hull *ref, int face, const perp_seen *inc, double margin,
                          double size, double tol, perp_touch *out);
/* BY_FACE_A, BY_FACE_B: pa, pb from the point of the other hull's edges that is deepest under (or
 * nearest over) the face. */
void perp_hull_face_witness(const perp_hull_pair *pair, perp_features *features);

#endif
