/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of collision detection: compiled shapes and the functions of one pair.
 *
 * Compiled shapes live in the frame of their body, so that a pose of a body is all that a query
 * needs.  The plane is the slice z = 0 of space: poses are lifted by perp_lift, and one code serves
 * both dimensions but for the faces of a polygon, which are segments. */
#ifndef PERP_SHAPES_PRIVATE_H
#define PERP_SHAPES_PRIVATE_H

#include "models/multibody/model_private.h"
#include "models/collision/collision.h"

enum {
  PERP_HULL_EDGES_MAX = 2047,    /* 11 bits in a contact id */
  PERP_HULL_VERTICES_MAX = 1366, /* what Euler's formula leaves for that many edges */
  PERP_HULL_FACES_MAX = 1366,    /* likewise */
  PERP_FACE_MAX = 128,           /* vertices of one face */
  PERP_SHAPES_MAX = 1 << 20      /* 20 bits in a contact id */
};

/* A convex polytope, or in the plane a convex polygon.  Loops run counter-clockwise seen from
 * outside; the loop of a side of a polygon has two vertices.  Half edge k runs from loop[k] to the
 * next vertex of the same loop. */
typedef struct perp_hull {
  int dim, n_vertices, n_faces, n_edges;
  double *v;       /* [3 n_vertices] */
  double *n, *d;   /* [3 n_faces], [n_faces]: n . x = d, n outward */
  double *side;    /* [3 half edges] unit, in the plane of the face, outward; plane: along the side
                     * of the polygon, outward at loop[k] */
  double *dir;     /* [3 n_edges] from first to second vertex */
  int *start;      /* [n_faces + 1] first half edge of a face */
  int *loop, *rim; /* [half edges] vertex and edge of a half edge */
  int *edge; /* [4 n_edges] vertices v0, v1, face in whose loop it runs v0 -> v1, the other face */
  int *star, *fan; /* faces at vertex i: fan[star[i] ... star[i+1]-1] */
  int n_axes;      /* directions of edges, in space: edges[axis[k] ... axis[k+1]-1] are parallel */
  int *axis, *edges;
  bool box;    /* faces in opposite pairs, vertex i + 2^k across from i along axis k */
  void *block; /* the memory of all of these */
} perp_hull;

struct perp_shape {
  perp_shape_kind kind;
  int dim, body;
  double c[3];     /* centre; of a plane a point on it */
  double axis[3];  /* capsule: half of its segment; plane: outward normal */
  double radius;   /* sphere, capsule */
  double R[9];     /* shape to body frame: box, ellipsoid */
  double half[3];  /* box, ellipsoid */
  double bound;    /* radius of a sphere around c that holds the shape; infinite for a plane */
  double reach;    /* radius of a sphere around the centre of mass that does; infinite likewise */
  perp_hull *hull; /* box and polytope */
};

/* One point of a manifold before it becomes a contact: as there, world frame. */
typedef struct perp_touch {
  double p_a[3], p_b[3], n[3], gap;
  uint32_t feature;
} perp_touch;

/* Features of a contact, 24 bits.  A vertex of one shape over a face of the other does not name
 * the face, so that the identity outlives a change of the reference face. */
enum { PERP_VERTEX_B = 0, PERP_VERTEX_A = 1, PERP_EDGES = 2, PERP_VERTICES = 3 };
PERP_INLINE uint32_t perp_feature(int type, int a, int b)
{
  return (uint32_t)type << 22 | (uint32_t)a << 11 | (uint32_t)b;
}
/* The same with a and b exchanged. */
uint32_t perp_feature_flip(uint32_t feature);

/* ---- hull.c ---------------------------------------------------------------------------------- */

/* Convex hull of n points ([3 n]; dim 2: z is ignored).  who: for messages. */
perp_status perp_hull_create(perp_ctx *ctx, int dim, const double *points, int n, const char *who,
                             perp_hull **out);
/* Box (rectangle) with the given half edges around the origin. */
perp_status perp_hull_box(perp_ctx *ctx, int dim, const double half[3], const char *who,
                          perp_hull **out);
/* x -> R x + c */
void perp_hull_move(perp_hull *hull, const double R[9], const double c[3]);
void perp_hull_destroy(perp_hull *hull);

/* ---- compile.c: perp_shapes_compile and perp_shapes_free are declared in model_private.h ----- */

/* Pose of dimension d as a pose of space. */
PERP_INLINE void perp_lift(int d, const perp_pose *in, perp_pose *out)
{
  if (d == 3) {
    *out = *in;
    return;
  }
  *out = (perp_pose){ .x = { in->x[0], in->x[1], 0 },
                      .R = { in->R[0], in->R[1], 0, in->R[2], in->R[3], 0, 0, 0, 1 } };
}

PERP_INLINE void perp_place(const perp_pose *pose, const double s[3], double p[3])
{
  perp_turn(3, pose->R, s, p);
  for (int i = 0; i < 3; i++) p[i] += pose->x[i];
}

/* Into the frame of a pose. */
PERP_INLINE void perp_place_back(const perp_pose *pose, const double p[3], double s[3])
{
  double d[3] = { p[0] - pose->x[0], p[1] - pose->x[1], p[2] - pose->x[2] };
  perp_turn_back(3, pose->R, d, s);
}

/* Pose of b seen from a. */
void perp_relative(const perp_pose *a, const perp_pose *b, perp_pose *rel);
/* Axis-aligned box of a shape at a lifted pose of its body; of a plane everything. */
void perp_shape_bounds(const perp_shape *s, const perp_pose *pose, double lo[3], double hi[3]);

/* ---- closest points -------------------------------------------------------------------------- */

/* Closest points of the segments p + s u, q + t w, s, t in [0, 1].  Returns the squared
 * distance. */
double perp_segments(const double p[3], const double u[3], const double q[3], const double w[3],
                     double *s, double *t);
/* Parameter of the point of p + s u, s in [0, 1], closest to x; 0 for a segment of no length. */
double perp_onto(const double p[3], const double u[3], const double x[3]);
/* Two balls of radius ra, rb around x, y; normal `spare` when the centres coincide.  Written
 * whatever the gap. */
void perp_balls(const double x[3], double ra, const double y[3], double rb, const double spare[3],
                uint32_t feature, perp_touch *t);
/* Cut a segment to its part between the side planes of a face (tol beyond them counts as inside);
 * id: features of its ends, renamed where they are cut: the hull is a, the segment edge 0 of b.
 * Points left: 2 or 0. */
int perp_cut_segment(const perp_hull *ref, int face, double p[2][3], uint32_t id[2], double tol);
/* Signed distance of point x to a hull, same frame: its closest point on the surface and outward
 * unit normal there. */
double perp_hull_point(const perp_hull *hull, const double x[3], double on[3], double n[3]);

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Contacts with a gap below margin, at most PERP_MANIFOLD_MAX; returns their number.  margin =
 * infinity asks for the exact signed distance: the least gap of what is returned, with its
 * witnesses. */
typedef int perp_pair_fn(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                         const perp_pose *pb, double margin, perp_touch *out);
perp_pair_fn perp_sphere_sphere, perp_sphere_capsule, perp_sphere_hull, perp_sphere_plane,
    perp_sphere_ellipsoid, perp_capsule_capsule, perp_capsule_hull, perp_capsule_plane,
    perp_hull_hull, perp_hull_plane, perp_plane_ellipsoid;
/* The function of a pair of kinds; NULL when they never touch.  *flip: call it with a and b
 * exchanged. */
perp_pair_fn *perp_pair(perp_shape_kind a, perp_shape_kind b, bool *flip);
void perp_touch_flip(int n, perp_touch *t);
/* The pair of balls itself: perp_sphere_sphere without poses. */
bool perp_ball_ball(const double x[3], double ra, const double y[3], double rb, double margin,
                    perp_touch *t);

/* A pair of surfaces, see shape.h. */
PERP_INLINE double perp_mean_friction(double a, double b)
{
  return a == b ? a : sqrt(a * b);
}
PERP_INLINE perp_surface perp_surface_pair(const perp_surface *a, const perp_surface *b)
{
  return (perp_surface){
    .mu = perp_mean_friction(a->mu, b->mu),
    .mu_dynamic = perp_mean_friction(a->mu_dynamic, b->mu_dynamic),
    .restitution = a->restitution > b->restitution ? a->restitution : b->restitution,
  };
}

PERP_INLINE void perp_contact_write(int shape_a, int body_a, int shape_b, int body_b,
                                    const perp_surface *surface, const perp_touch *t,
                                    perp_contact *c)
{
  c->shape_a = shape_a;
  c->shape_b = shape_b;
  c->body_a = body_a;
  c->body_b = body_b;
  c->id = (uint64_t)shape_a << 44 | (uint64_t)shape_b << 24 | t->feature;
  for (int i = 0; i < 3; i++) {
    c->p_a[i] = t->p_a[i];
    c->p_b[i] = t->p_b[i];
    c->n[i] = t->n[i];
  }
  c->gap = t->gap;
  c->mu = surface->mu;
  c->mu_dynamic = surface->mu_dynamic;
  c->e = surface->restitution;
}

/* Keep at most PERP_MANIFOLD_MAX of n points, in the order of their features: a deepest one, the
 * one farthest from it, then those that add most area.  size: length that rounding is measured
 * by. */
int perp_manifold_reduce(int n, perp_touch *t, double size);

PERP_INLINE double perp_norm(const double x[3])
{
  return sqrt(perp_dot(3, x, x));
}
PERP_INLINE void perp_sub(const double a[3], const double b[3], double c[3])
{
  for (int i = 0; i < 3; i++) c[i] = a[i] - b[i];
}
/* y = a + s u */
PERP_INLINE void perp_along(const double a[3], double s, const double u[3], double y[3])
{
  for (int i = 0; i < 3; i++) y[i] = a[i] + s * u[i];
}

#endif
