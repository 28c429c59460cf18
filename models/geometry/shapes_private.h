/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiled shapes.
 *
 * Compiled shapes live in the frame of their body, so that a pose of a body is all that a query
 * needs.  The plane is the slice z = 0 of space: poses are lifted by perp_lift, and one code serves
 * both dimensions but for the faces of a polygon, which are segments. */
#ifndef PERP_SHAPES_PRIVATE_H
#define PERP_SHAPES_PRIVATE_H

#include "models/geometry/kinematics.h"
#include "models/geometry/mesh.h"
#include "models/geometry/shape.h"

enum {
  PERP_HULL_VERTICES_MAX = 16384,
  PERP_HULL_EDGES_MAX = 3 * PERP_HULL_VERTICES_MAX - 6, /* Euler's formula */
  PERP_HULL_SMALL = 1366,       /* vertices up to which all pairs of features are asked */
  PERP_HULL_SMALL_EDGES = 2047, /* 11 bits in a contact id, up to which it names edges one by one */
  PERP_FACE_MAX = 256,          /* vertices of one face */
  PERP_SHAPES_MAX = 1 << 20     /* 20 bits in a contact id */
};

/* A convex polytope, or in the plane a convex polygon.  Loops run counter-clockwise seen from
 * outside; the loop of a side of a polygon has two vertices.  Half edge k runs from loop[k] to the
 * next vertex of the same loop. */
typedef struct perp_hull {
  int dim, n_vertices, n_faces, n_edges, n_half;
  double *v;       /* [3 n_vertices] */
  double *n, *d;   /* [3 n_faces], [n_faces]: n . x = d, n outward */
  double *side;    /* [3 half edges] unit, in the plane of the face, outward; plane: along the side
                    * of the polygon, outward at loop[k] */
  double *dir;     /* [3 n_edges] from first to second vertex */
  int *start;      /* [n_faces + 1] first half edge of a face */
  int *loop, *rim; /* [half edges] vertex and edge of a half edge */
  int *edge; /* [4 n_edges] vertices v0, v1, face in whose loop it runs v0 -> v1, the other face */
  int *star, *fan;     /* faces at vertex i: fan[star[i] ... star[i+1]-1] */
  int *joint, *beside; /* other ends of the edges at vertex i: beside[joint[i] ... joint[i+1]-1] */
  int n_axes; /* directions of edges, in space: edges[axis[k] ... axis[k+1]-1] are parallel */
  int *axis, *edges;
  bool piece; /* of a surface of triangles: contacts take the normal of its face where that is near
                 theirs */
  bool box;   /* faces in opposite pairs, vertex i + 2^k across from i along axis k */
} perp_hull;

typedef struct perp_shape {
  perp_shape_kind kind;
  int dim, body;
  double c[3];    /* centre; of a plane a point on it */
  double axis[3]; /* capsule: half of its segment; plane: outward normal; cylinder, cone: unit */
  double radius;  /* sphere, capsule, cylinder, cone */
  double top, bottom; /* cylinder, cone: from c - bottom axis to c + top axis */
  double R[9];        /* shape to body frame: box, ellipsoid, cylinder, cone */
  double half[3];     /* box, ellipsoid */
  double bound;       /* radius of a sphere around c that holds the shape; infinite for a plane */
  double reach;    /* radius of a sphere around the centre of mass that does; infinite likewise */
  perp_hull *hull; /* box and polytope */
  perp_mesh *mesh; /* mesh and height field */
} perp_shape;

/* ---- hull.c ---- */

/* Convex hull of n points [stride n], of which the first dim numbers count.  who: for messages.
 * free() destroys a hull; *out is NULL on failure. */
perp_status perp_hull_create(perp_ctx *ctx, int dim, const double *points, int stride, int n,
                             const char *who, perp_hull **out);
/* Box (rectangle) with the given half edges around the origin. */
perp_status perp_hull_box(perp_ctx *ctx, int dim, const double half[3], const char *who,
                          perp_hull **out);
/* x -> R x + c */
void perp_hull_move(perp_hull *hull, const double R[9], const double c[3]);

/* The vertex farthest along d, of any length: steps to neighbours that are farther (local maxima of
 * a linear function on a convex polytope are global), from vertex `start`, -1: from the best of a
 * few.  O(sqrt(vertices)) where they are spread evenly. */
int perp_hull_support(const perp_hull *hull, const double d[3], int start);

/* ---- poses ---- */

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

/* ---- compile.c ---- */

/* From a definition that is valid; who: for messages.  PERP_ERR_ARG where there is no hull.  Its
 * hull and mesh, if any, are the caller's to free. */
perp_status perp_shape_compile(perp_ctx *ctx, int dim, const perp_shape_def *def, const char *who,
                               perp_shape *shape);
/* Can contacts of two kinds be found at all?  What a kind has with some of them only, it is
 * `partial`. */
PERP_INLINE bool perp_shape_partial(perp_shape_kind kind)
{
  return kind == PERP_SHAPE_PLANE;
}
PERP_INLINE bool perp_shapes_tested(perp_shape_kind a, perp_shape_kind b)
{
  return !(a == PERP_SHAPE_PLANE && b == PERP_SHAPE_PLANE);
}
/* Pose of b seen from a. */
void perp_relative(const perp_pose *a, const perp_pose *b, perp_pose *rel);
/* Axis-aligned box of a shape at a lifted pose of its body; of a plane everything. */
void perp_shape_bounds(const perp_shape *shape, const perp_pose *pose, double lo[3], double hi[3]);

/* ---- surface.c ---- */

/* A surface of a shape, its mu_dynamic filled in; a coefficient of restitution.  PERP_ERR_ARG. */
perp_status perp_surface_check(perp_ctx *ctx, int dim, perp_surface *surface, const char *who);
perp_status perp_restitution_check(perp_ctx *ctx, double e, const char *who);

#endif
