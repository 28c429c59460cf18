/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signed distance of two convex bodies that are known by their support functions, and the manifold
 * of their contact.
 *
 * With h(d) = h_A(d) + h_B(-d), the support function of the Minkowski difference A - B, the signed
 * distance is
 *
 *      sigma = max over unit d of -h(d),
 *
 * attained by the normal from a to b: for disjoint bodies this is a concave problem, for bodies
 * that overlap -sigma is the least of many local minima of h on the sphere.  Every unit d bounds
 * sigma from below.
 *
 *      convex_point.c   a point and a cylinder or a cone, in closed form; a ball in a body, which
 *                       proves a depth without a search
 *      convex_gjk.c     a start for disjoint bodies (Gilbert, Johnson, Keerthi 1988)
 *      convex_expand.c  all basins of bodies that overlap, by inner polytopes of A - B (van den
 * Bergen 2001) convex_descend.c the lowest point of one basin, from any direction in it
 *      convex_near.c    segments, cylinders and cones by their features, without a search
 *      convex_polish.c  Newton's method on the smooth pieces that meet at the optimum
 *      convex_witness.c points of both on one line, where several pieces of each meet
 *      convex_patch.c   what of the two bodies lies against each other: a point, a segment or a
 * flat piece
 *
 * Everything is in one frame with the axes of the world and the origin at the centre of a.  Nothing
 * allocates. */
#ifndef PERP_CONVEX_H
#define PERP_CONVEX_H

#include "models/geometry/shapes_private.h"

typedef enum perp_convex_kind {
  PERP_CONVEX_POINT,
  PERP_CONVEX_SEGMENT,
  PERP_CONVEX_HULL,
  PERP_CONVEX_ELLIPSOID,
  PERP_CONVEX_CYLINDER,
  PERP_CONVEX_CONE
} perp_convex_kind;

/* A shape at a pose: a core and the radius of a ball that is added to it. */
typedef struct perp_convex {
  perp_convex_kind kind;
  double c[3];         /* centre */
  double u[3];         /* unit: segment, cylinder, cone (from its base to its apex) */
  double across[2][3]; /* unit, square to it and to each other, right-handed: they turn with a
                          cylinder or cone */
  double top, bottom;  /* the core reaches from c - bottom u to c + top u */
  double rim;          /* radius of a cylinder, of the base of a cone */
  double E[9];         /* ellipsoid: its half axes; h(d) = c . d + |E^T d| */
  double R[9], x[3];   /* pose of a hull */
  const perp_hull *hull;
  double radius; /* ball that is added */
  double size;   /* radius of a sphere around c that holds the core and the ball */
} perp_convex;

/* The core is the convex hull of pieces, each with a smooth support function: vertices, ellipsoids,
 * and circles, which are smooth off their axis. */
typedef struct perp_convex_piece {
  double value, grad[3]; /* h and the point where it is attained */
  double H[9];           /* second derivatives */
} perp_convex_piece;

/* A point of A - B and the pieces it is of. */
typedef struct perp_convex_vertex {
  double w[3], a[3], b[3]; /* w = a - b */
  int ia, ib;
} perp_convex_vertex;

/* A direction with what it proves. */
typedef struct perp_convex_best {
  double d[3];       /* unit */
  double h;          /* h(d) of the cores: -h bounds their signed distance from below */
  double a[3], b[3]; /* points of the cores */
  double off; /* |a - b - h d|: 0 where the direction is stationary and a, b are its witnesses;
                 infinite: no a, b */
  bool exact; /* off is rounding */
} perp_convex_best;

PERP_INLINE perp_convex_best perp_convex_candidate(const double d[3], double h)
{
  return (perp_convex_best){ .d = { d[0], d[1], d[2] }, .h = h, .off = HUGE_VAL };
}

/* ---- convex.c ---- */

/* From a shape that is no plane, at the lifted pose of its body; origin: of the common frame,
 * world. */
void perp_convex_set(perp_convex *convex, const perp_shape *shape, const perp_pose *pose,
                     const double origin[3]);
/* The point s of the core farthest along d (not 0, any length), and its piece. */
int perp_convex_support(const perp_convex *convex, const double d[3], double s[3]);
/* Support function of the core, d a unit vector. */
double perp_convex_value(const perp_convex *convex, const double d[3]);
/* e: the part of d that is square to the axis, to all digits where it is small; returns its length.
 */
double perp_convex_across(const perp_convex *convex, const double d[3], double e[3]);
/* The same with e a unit vector; convex->across[0] where d is along the axis up to rounding, whose
 * part is not even square to it. */
double perp_convex_outward(const perp_convex *convex, const double d[3], double e[3]);
/* One piece at the unit vector d. */
void perp_convex_piece_at(const perp_convex *convex, int piece, const double d[3],
                          perp_convex_piece *p);
/* h of the two cores, d a unit vector. */
double perp_convex_gap(const perp_convex *a, const perp_convex *b, const double d[3]);
/* Support point of A - B along d. */
void perp_convex_vertex_at(const perp_convex *a, const perp_convex *b, const double d[3],
                           perp_convex_vertex *vertex);

/* *best from the unit direction d, or from those of the flat ends of cylinders and cones (circles
 * are smooth everywhere else), where h is below best->h + slack there. */
void perp_convex_ask(const perp_convex *a, const perp_convex *b, const double d[3], double slack,
                     perp_convex_best *best);
void perp_convex_ends(const perp_convex *a, const perp_convex *b, double slack,
                      perp_convex_best *best);
/* Is best->d that of a flat end with the nearest point of the other body over it?  Then *best is
 * exact, with these points, and a strict local minimum of h. */
bool perp_convex_on_end(const perp_convex *a, const perp_convex *b, perp_convex_best *best);

/* ---- the search ---- */

enum { PERP_CONVEX_PIECES = 4 }; /* of one body that may meet at an optimum */
enum { PERP_CONVEX_BUNDLE = 6 }; /* pairs of pieces that a descent knows at a time */

/* Newton's method from best->d on the pieces of the vertices v [n], of each body the first four:
 * every choice of them, until one is stationary.  *best is replaced where h falls, or where its
 * direction is proved. */
void perp_convex_polish(const perp_convex *a, const perp_convex *b, int n,
                        const perp_convex_vertex *vertex, double size, perp_convex_best *best);
/* The same in a few steps, with all pieces of the vertices v [n] and no other choice: true where it
 * has proved its direction.  False says nothing. */
bool perp_convex_polish_quick(const perp_convex *a, const perp_convex *b, int n,
                              const perp_convex_vertex *vertex, double size,
                              perp_convex_best *best);
/* Points of the pieces ia [na] of a and ib [nb] of b (at most PERP_CONVEX_PIECES each) that are as
 * near to one line along best->d as can be, of those within `slack` of the largest: best->a, b and
 * off, if off gets smaller. */
void perp_convex_witness(const perp_convex *a, const perp_convex *b, int na, const int *ia, int nb,
                         const int *ib, double slack, perp_convex_best *best);
/* From best->d down to the lowest point of h in its basin, with the pieces of v [n] for a start:
 * best->d and h.  active [PERP_CONVEX_BUNDLE]: ia, ib of the pieces that meet there; returns their
 * number.  ends: a flat end nearby that is lower is taken at once, and what lies between passed
 * over. */
int perp_convex_descend(const perp_convex *a, const perp_convex *b, int n,
                        const perp_convex_vertex *vertex, bool ends, perp_convex_best *best,
                        perp_convex_vertex *active);
/* Pieces around a direction that a quick polish has not proved: those that a thorough one tries. */
typedef struct perp_convex_open {
  int n;
  perp_convex_vertex v[PERP_CONVEX_BUNDLE];
} perp_convex_open;

/* Nearest points of the cores: true with *best where they are disjoint (best->exact: proved to
 * rounding); false where they overlap or touch, *best then a direction in which they overlap
 * little.  Ends with any bound above `enough`.  *open: where *best is not exact. */
bool perp_convex_gjk(const perp_convex *a, const perp_convex *b, double size, double enough,
                     perp_convex_best *best, perp_convex_open *open);
/* The least h of cores that overlap; *best is a start and the result.  *open: where it is not
 * exact.
 */
void perp_convex_expand(const perp_convex *a, const perp_convex *b, double size,
                        perp_convex_best *best, perp_convex_open *open);

/* ---- convex_point.c ---- */

/* Signed distance of the point x from a cylinder or a cone; n: outward normal at y, the nearest
 * point of its surface. */
double perp_convex_point(const perp_convex *convex, const double x[3], double n[3], double y[3]);

/* Radius of the largest ball in a cylinder or a cone; 0 for all others. */
double perp_convex_inner(const perp_convex *convex);
/* Does a ball of radius best->h around a point of one core that is farthest along best->d lie in
 * the other core, or do balls in both around a point between add up to it?  Then h >= best->h
 * everywhere: best->h is the depth, with the points best->a and b, and no other basin is lower.
 * False says nothing. */
bool perp_convex_inscribed(const perp_convex *a, const perp_convex *b, perp_convex_best *best);

/* ---- convex_near.c ---- */

/* The signed distance of segments, cylinders and cones: true with *best proved, or any bound above
 * `enough`; false: the search above is needed, and *best is a start no worse than before. */
bool perp_convex_near(const perp_convex *a, const perp_convex *b, double size, double enough,
                      perp_convex_best *best);

/* ---- distance.c ---- */

/* Signed distance of the bodies, n [3] unit from a to b and witnesses pa, pb [3] with pb - pa =
 * sigma n up to rounding. enough: ends with any lower bound of sigma above it (infinity: never). */
double perp_convex_distance(const perp_convex *a, const perp_convex *b, double enough, double n[3],
                            double pa[3], double pb[3]);

/* ---- convex_patch.c ---- */

enum { PERP_PATCH_CORNERS = 128, PERP_PATCH_RIM = 16 };

/* What of a body lies farthest along a direction: corners within a small angle of it. */
typedef struct perp_patch {
  int n; /* 1: a point, 2: a segment, more: a flat convex polygon, counter-clockwise about its
            normal */
  double p[PERP_PATCH_CORNERS][3];
  int id[PERP_PATCH_CORNERS]; /* of the corners, below 2048, the same as long as the body is */
  double n_flat[3];           /* of a polygon: outward */
} perp_patch;

/* The patch of the core along d (unit): features within the angle `small` (rad) of lying square to
 * it. */
void perp_convex_patch(const perp_convex *convex, const double d[3], double small,
                       perp_patch *patch);

typedef struct perp_patch_point {
  double pa[3], pb[3], gap;
  int ia, ib; /* id of a corner of a or b over the other one, or both -2 - id of the sides that
               * cross, by the corners they start at; -1: none */
} perp_patch_point;

/* Points where the patches lie over each other, looked at along n (unit, from a to b): corners of
 * one over the other, and crossings of sides; none where one of them is a point.  gap: along the
 * normal of a flat patch, that of a if both are as near to n, or along n.  Corners within
 * `tolerance` (m) beyond a side count as inside.  Returns their number, at most 2
 * PERP_PATCH_CORNERS. */
/* m [3]: unit, from a to b, along which the gaps are. */
void perp_patch_normal(const perp_patch *a, const perp_patch *b, const double n[3], double m[3]);
int perp_patch_meet(const perp_patch *a, const perp_patch *b, const double n[3], double tolerance,
                    perp_patch_point *out);

#endif
