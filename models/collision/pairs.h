/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of one pair of shapes: the functions of each pair of kinds, and what they share. */
#ifndef PERP_PAIRS_H
#define PERP_PAIRS_H

#include "models/collision/collision.h"
#include "models/multibody/model_private.h"
#include "models/geometry/shapes_private.h"

/* One point of a manifold before it becomes a contact: as there, world frame. */
typedef struct perp_touch {
  double p[2][3], n[3], gap;
  uint32_t feature;
} perp_touch;

/* Features of a contact, 24 bits.  A vertex of one shape over a face of the other does not name
 * the face, so that the identity outlives a change of the reference face. */
enum { PERP_VERTEX_B = 0, PERP_VERTEX_A = 1, PERP_EDGES = 2, PERP_VERTICES = 3 };
/* Numbers of edges and of pairs of vertices above 11 bits are folded into them; perp_collide tells
 * names apart that have become one. */
PERP_INLINE int perp_feature_fold(int x)
{
  return x < 0x800 ? x : (int)((uint32_t)x * 2654435761u >> 21);
}
PERP_INLINE uint32_t perp_feature(int type, int a, int b)
{
  if (type == PERP_EDGES || type == PERP_VERTICES)
    a = perp_feature_fold(a), b = perp_feature_fold(b);
  return (uint32_t)type << 22 | (uint32_t)a << 11 | (uint32_t)b;
}

/* ---- manifold.c ---- */

/* The points with a and b exchanged, in the order of their features. */
void perp_touch_flip(int n, perp_touch *touch);
/* Keep at most PERP_MANIFOLD_CONVEX of n points, in the order of their features: a deepest one, the
 * one farthest from it, then those that add most area.  size: length that rounding is measured
 * by. */
int perp_manifold_reduce(int n, perp_touch *touch, double size);
/* The same of points some of which lie between others: of those that are deepest the one farthest
 * from the middle is kept. */
int perp_manifold_spread(int n, perp_touch *touch, double size);

/* ---- round.c: segments ---- */

PERP_INLINE double perp_clamp01(double x)
{
  return x < 0 ? 0 : x > 1 ? 1 : x;
}
/* Closest points of the segments p + s u, q + t w, s, t in [0, 1].  Returns the squared
 * distance. */
double perp_segments(const double p[3], const double u[3], const double q[3], const double w[3],
                     double *s, double *t);
/* Parameter of the point of p + s u, s in [0, 1], closest to x; 0 for a segment of no length. */
double perp_onto(const double p[3], const double u[3], const double x[3]);

/* ---- closest points ---- */

/* Two balls of radius ra, rb around x, y; normal `spare` when the centres coincide.  Written
 * whatever the gap. */
void perp_balls(const double x[3], double ra, const double y[3], double rb, const double spare[3],
                uint32_t feature, perp_touch *touch);
/* Cut a segment to its part between the side planes of a face (tol beyond them counts as inside);
 * id: features of its ends, renamed where they are cut: the hull is a, the segment edge 0 of b.
 * Points left: 2 or 0. */
int perp_cut_segment(const perp_hull *ref, int face, double p[2][3], uint32_t id[2], double tol);
/* Signed distance of point x to a hull, same frame: its closest point on the surface and outward
 * unit normal there. */
double perp_hull_point(const perp_hull *hull, const double x[3], double on[3], double n[3]);

/* ---- pairs ---- */

/* Contacts with a gap below margin, at most PERP_MANIFOLD_CONVEX, at surfaces PERP_MANIFOLD_MAX;
 * returns their number.  margin = infinity asks for the exact signed distance: the least gap of
 * what is returned, with its witnesses. */
typedef int perp_pair_fn(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                         const perp_pose *pb, double margin, perp_touch *out);
perp_pair_fn perp_sphere_sphere, perp_sphere_capsule, perp_sphere_hull, perp_sphere_plane,
    perp_sphere_ellipsoid, perp_capsule_capsule, perp_capsule_hull, perp_capsule_plane,
    perp_hull_hull, perp_hull_plane, perp_plane_ellipsoid, perp_solid_solid, perp_plane_solid,
    perp_convex_surface;
/* pair_table.c: the function of two kinds that are no surfaces; NULL: they never touch.  *flip: b
 * comes first. */
perp_pair_fn *perp_pair_of_solids(perp_shape_kind a, perp_shape_kind b, bool *flip);
/* The same of a kind with a piece of a surface, a polytope; *flip: the piece comes first. */
perp_pair_fn *perp_pair_with_piece(perp_shape_kind kind, bool *flip);
/* The pair of balls itself: perp_sphere_sphere without poses. */
bool perp_ball_ball(const double x[3], double ra, const double y[3], double rb, double margin,
                    perp_touch *touch);

PERP_INLINE void perp_contact_write(int shape_a, int body_a, int shape_b, int body_b,
                                    const perp_surface *surface, const perp_touch *touch,
                                    perp_contact *contact)
{
  contact->shape[0] = shape_a;
  contact->shape[1] = shape_b;
  contact->body[0] = body_a;
  contact->body[1] = body_b;
  contact->id = (uint64_t)shape_a << 44 | (uint64_t)shape_b << 24 | touch->feature;
  for (int i = 0; i < 3; i++) {
    contact->p[0][i] = touch->p[0][i];
    contact->p[1][i] = touch->p[1][i];
    contact->n[i] = touch->n[i];
  }
  contact->gap = touch->gap;
  contact->mu = surface->mu;
  contact->mu_dynamic = surface->mu_dynamic;
  contact->e = surface->restitution;
}

#endif
