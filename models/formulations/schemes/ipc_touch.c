/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distances of features and their derivatives. */
#include "models/formulations/schemes/ipc_touch.h"

#include "models/collision/pairs.h"
#include "models/geometry/shapes_private.h"

#include <string.h>

enum { VERTEX_OF_A, VERTEX_OF_B, EDGES, FEATURE_BITS = 11, KIND_BITS = 22 };

/* Squared sine of the angle of two edges below which their barrier fades: eps of the mollifier of
 * Li et al. 2020. */
static const double PARALLEL = 1e-3;
static const double FADED = 1e-9; /* mollifiers below are 0 */
static const double SLACK = 1e-9; /* of the size of a shape, in what is passed over early */

/* ---- cores ---- */

static double ipc_radius(const perp_shape *shape)
{
  return shape->kind == PERP_SHAPE_SPHERE || shape->kind == PERP_SHAPE_CAPSULE ? shape->radius : 0;
}

static int ipc_points(const perp_shape *shape)
{
  return shape->kind == PERP_SHAPE_PLANE     ? 0
         : shape->kind == PERP_SHAPE_SPHERE  ? 1
         : shape->kind == PERP_SHAPE_CAPSULE ? 2
                                             : shape->hull->n_vertices;
}

/* in the frame of the body */
static void ipc_point(const perp_shape *shape, int i, double s[3])
{
  if (shape->hull != NULL)
    memcpy(s, shape->hull->v + 3 * i, 3 * sizeof *s);
  else if (shape->kind == PERP_SHAPE_CAPSULE)
    perp_along(shape->c, i == 0 ? -1 : 1, shape->axis, s);
  else
    memcpy(s, shape->c, 3 * sizeof *s);
}

static int ipc_edges(const perp_shape *shape)
{
  if (shape->dim == 2) return 0;
  return shape->hull != NULL ? shape->hull->n_edges : shape->kind == PERP_SHAPE_CAPSULE;
}

static void ipc_edge(const perp_shape *shape, int i, double s0[3], double s1[3])
{
  ipc_point(shape, shape->hull != NULL ? shape->hull->edge[4 * i] : 0, s0);
  ipc_point(shape, shape->hull != NULL ? shape->hull->edge[4 * i + 1] : 1, s1);
}

/* What of a core is closest to a point, in the frame of its body. */
typedef struct closest {
  double y[3], n[3]; /* the point, and the unit direction from it to x */
  double distance;   /* <= 0: inside */
  int slides;
  double t[2][3];
} closest;

static void closest_segment(const double x[3], const double s0[3], const double s1[3], closest *out)
{
  double d[3], to[3], off[3];
  perp_sub(s1, s0, d);
  perp_sub(x, s0, to);
  const double part = perp_dot(3, to, d) / perp_dot(3, d, d), in = fmin(fmax(part, 0), 1);
  perp_along(s0, in, d, out->y);
  perp_sub(x, out->y, off);
  out->distance = perp_norm(off);
  for (int i = 0; i < 3; i++) out->n[i] = off[i] / out->distance;
  out->slides = in == part;
  memcpy(out->t[0], d, sizeof d);
}

/* Of a half-space or a face with normal n: two directions across it. */
static void closest_face(const double x[3], const double n[3], double distance, closest *out)
{
  const int k = fabs(n[0]) < 0.6 ? 0 : 1;
  const double axis[3] = { k == 0, k == 1, 0 };
  memcpy(out->n, n, sizeof out->n);
  out->distance = distance;
  perp_along(x, -distance, n, out->y);
  out->slides = 2;
  perp_cross(n, axis, out->t[0]);
  perp_cross(n, out->t[0], out->t[1]);
}

static bool closest_within(const perp_hull *hull, int face, const double y[3])
{
  for (int k = hull->start[face]; k < hull->start[face + 1]; k++) {
    double to[3];
    perp_sub(y, hull->v + 3 * hull->loop[k], to);
    if (perp_dot(3, hull->side + 3 * k, to) > 0) return false;
  }
  return true;
}

static void closest_hull(const double x[3], const perp_hull *hull, closest *out)
{
  double most = -HUGE_VAL;
  closest other;
  for (int face = 0; face < hull->n_faces; face++) {
    const double *n = hull->n + 3 * face, above = perp_dot(3, n, x) - hull->d[face];
    most = fmax(most, above);
    if (!(above > 0) || hull->dim == 2) continue;
    closest_face(x, n, above, out);
    if (closest_within(hull, face, out->y)) return;
  }
  *out = (closest){ .distance = most > 0 ? HUGE_VAL : most };
  if (!(most > 0)) return;
  const int n = hull->dim == 2 ? hull->n_faces : hull->n_edges;
  for (int i = 0; i < n; i++) {
    const int *ends = hull->dim == 2 ? hull->loop + hull->start[i] : hull->edge + 4 * i;
    closest_segment(x, hull->v + 3 * ends[0], hull->v + 3 * ends[1], &other);
    if (other.distance < out->distance) *out = other;
  }
}

static void closest_core(const double x[3], const perp_shape *shape, closest *out)
{
  double to[3];
  perp_sub(x, shape->c, to);
  if (shape->hull != NULL) {
    closest_hull(x, shape->hull, out);
  } else if (shape->kind == PERP_SHAPE_PLANE) {
    closest_face(x, shape->axis, perp_dot(3, to, shape->axis), out);
  } else if (shape->kind == PERP_SHAPE_CAPSULE) {
    double s[2][3];
    ipc_edge(shape, 0, s[0], s[1]);
    closest_segment(x, s[0], s[1], out);
  } else {
    *out = (closest){ .distance = perp_norm(to) };
    memcpy(out->y, shape->c, sizeof out->y);
    for (int i = 0; i < 3; i++) out->n[i] = to[i] / out->distance;
  }
}

/* ---- pairs of features ---- */

typedef struct search {
  const perp_shape *shape[2];
  const perp_pose *pose[2];
  int number[2];
  double n[3], reach, radius;
  double limit[2]; /* of n . x (a: at least, b: at most) of features that are near */
  perp_ipc_visit *visit;
  void *user;
  bool apart;
} search;

static bool search_near(const search *work, int side, const double x[3])
{
  const double along = perp_dot(3, work->n, x);
  return side == 0 ? along >= work->limit[0] : along <= work->limit[1];
}

static void search_found(search *work, perp_ipc_touch *touch)
{
  touch->d = touch->core - work->radius;
  if (!(touch->d > 0)) work->apart = false;
  if (!(touch->d < work->reach)) return;
  for (int side = 0; side < 2; side++) {
    touch->shape[side] = work->number[side];
    touch->body[side] = work->shape[side]->body;
  }
  work->visit(work->user, touch);
}

/* Each vertex of the core of `side` with the core of the other. */
static void search_vertices(search *work, int side)
{
  const int other = 1 - side;
  for (int i = 0; i < ipc_points(work->shape[side]); i++) {
    double local[3], x[3], seen[3];
    perp_ipc_touch touch = { .w = 1 };
    closest near;
    ipc_point(work->shape[side], i, local);
    perp_place(work->pose[side], local, x);
    if (!search_near(work, side, x)) continue;
    perp_place_back(work->pose[other], x, seen);
    closest_core(seen, work->shape[other], &near);
    touch.feature = (unsigned)(side == 0 ? VERTEX_OF_A : VERTEX_OF_B) << KIND_BITS | (unsigned)i;
    touch.core = near.distance;
    memcpy(touch.p[side], x, sizeof x);
    perp_place(work->pose[other], near.y, touch.p[other]);
    perp_turn(3, work->pose[other]->R, near.n, touch.n);
    touch.slides = near.slides;
    for (int slide = 0; slide < near.slides; slide++) {
      touch.side[slide] = other;
      perp_turn(3, work->pose[other]->R, near.t[slide], touch.t[slide]);
    }
    for (int k = 0; k < 3; k++) { /* n is from a to b, and so is what t moves */
      if (side == 0) touch.n[k] = -touch.n[k];
      for (int l = 0; l < near.slides && side == 1; l++) touch.t[l][k] = -touch.t[l][k];
    }
    search_found(work, &touch);
  }
}

static void search_edge_pair(search *work, double (*a)[3], double (*b)[3], unsigned feature)
{
  double d[2][3], at[2], cross[3], off[3];
  perp_ipc_touch touch = { .feature = feature, .w = 1 };
  perp_sub(a[1], a[0], d[0]);
  perp_sub(b[1], b[0], d[1]);
  const double size = perp_norm(d[0]) * perp_norm(d[1]);
  perp_cross(d[0], d[1], cross);
  const double c = perp_dot(3, cross, cross) / (size * size);
  if (c < PARALLEL) {
    touch.w = c / PARALLEL * (2 - c / PARALLEL);
    for (int side = 0; side < 2; side++)
      for (int k = 0; k < 3; k++) touch.edge[side][k] = d[side][k] / perp_norm(d[side]);
    if (touch.w < FADED) return;
  }
  perp_segments(a[0], d[0], b[0], d[1], &at[0], &at[1]);
  perp_along(a[0], at[0], d[0], touch.p[0]);
  perp_along(b[0], at[1], d[1], touch.p[1]);
  perp_sub(touch.p[1], touch.p[0], off);
  touch.core = perp_norm(off);
  for (int k = 0; k < 3; k++) touch.n[k] = off[k] / touch.core;
  for (int side = 0; side < 2; side++) {
    if (!(at[side] > 0 && at[side] < 1)) continue;
    touch.side[touch.slides] = side;
    for (int k = 0; k < 3; k++) touch.t[touch.slides][k] = side == 0 ? -d[0][k] : d[1][k];
    touch.slides++;
  }
  search_found(work, &touch);
}

static bool search_edge(const search *work, int side, int i, double x[2][3])
{
  double local[2][3];
  ipc_edge(work->shape[side], i, local[0], local[1]);
  perp_place(work->pose[side], local[0], x[0]);
  perp_place(work->pose[side], local[1], x[1]);
  return search_near(work, side, x[0]) || search_near(work, side, x[1]);
}

static void search_edges(search *work)
{
  double a[2][3], b[2][3];
  for (int i = 0; i < ipc_edges(work->shape[0]); i++) {
    if (!search_edge(work, 0, i, a)) continue;
    for (int j = 0; j < ipc_edges(work->shape[1]); j++)
      if (search_edge(work, 1, j, b))
        search_edge_pair(work, a, b,
                         (unsigned)EDGES << KIND_BITS | (unsigned)i << FEATURE_BITS | (unsigned)j);
  }
}

/* The end of a core along n (side 0) or against it. */
static double search_end(const search *work, int side)
{
  double most = -HUGE_VAL;
  for (int i = 0; i < ipc_points(work->shape[side]); i++) {
    double local[3], x[3];
    ipc_point(work->shape[side], i, local);
    perp_place(work->pose[side], local, x);
    most = fmax(most, (side == 0 ? 1 : -1) * perp_dot(3, work->n, x));
  }
  if (work->shape[side]->kind == PERP_SHAPE_PLANE) { /* n is its normal, or against it */
    double x[3];
    perp_place(work->pose[side], work->shape[side]->c, x);
    most = (side == 0 ? 1 : -1) * perp_dot(3, work->n, x);
  }
  return most;
}

bool perp_ipc_touches(const perp_model *model, int shape_a, const perp_pose *pose_a, int shape_b,
                      const perp_pose *pose_b, const double n[3], double reach,
                      perp_ipc_visit *visit, void *user)
{
  const perp_shape *a = &model->shape[shape_a], *b = &model->shape[shape_b];
  search work = { .shape = { a, b },
                  .pose = { pose_a, pose_b },
                  .number = { shape_a, shape_b },
                  .n = { n[0], n[1], n[2] },
                  .reach = reach,
                  .radius = ipc_radius(a) + ipc_radius(b),
                  .visit = visit,
                  .user = user,
                  .apart = true };
  const double slack = SLACK * fmin(a->bound, b->bound), far = reach + work.radius + slack;
  work.limit[0] = -search_end(&work, 1) - far;
  work.limit[1] = search_end(&work, 0) + far;
  /* two points: one distance */
  if (b->kind != PERP_SHAPE_SPHERE || a->kind == PERP_SHAPE_SPHERE) search_vertices(&work, 0);
  if (a->kind != PERP_SHAPE_SPHERE) search_vertices(&work, 1);
  search_edges(&work);
  return work.apart;
}

void perp_ipc_surface(const perp_model *model, const perp_ipc_touch *touch, int side, double p[3])
{
  perp_along(touch->p[side], (side == 0 ? 1 : -1) * ipc_radius(&model->shape[touch->shape[side]]),
             touch->n, p);
}

/* ---- derivatives ---- */

/* U [3 x 12] */
static void ipc_levers(const perp_ipc_touch *touch, const perp_pose pose[2],
                       double U[3 * PERP_IPC_DOFS], double r[2][3])
{
  memset(U, 0, 3 * PERP_IPC_DOFS * sizeof *U);
  for (int side = 0; side < 2; side++) {
    const double sign = side == 0 ? -1 : 1;
    double *D = U + 3 * (6 * side + 3);
    perp_place_back(&pose[side], touch->p[side], r[side]);
    perp_direction_jacobian(3, pose[side].R, r[side], D);
    for (int i = 0; i < 9; i++) D[i] *= sign;
    for (int i = 0; i < 3; i++) U[3 * (6 * side + i) + i] = sign;
  }
}

void perp_ipc_gradient(const perp_ipc_touch *touch, const perp_pose pose[2],
                       double g[PERP_IPC_DOFS])
{
  double U[3 * PERP_IPC_DOFS], r[2][3];
  ipc_levers(touch, pose, U, r);
  for (int i = 0; i < PERP_IPC_DOFS; i++) g[i] = perp_dot(3, touch->n, U + 3 * i);
}

/* w = e(c), c = 1 - y^2, y = a . b of the edges: dy = (turn_a - turn_b) . (a x b). */
void perp_ipc_mollifier(const perp_ipc_touch *touch, const perp_pose pose[2],
                        double m[PERP_IPC_DOFS], double W[PERP_IPC_DOFS * PERP_IPC_DOFS])
{
  enum { N = PERP_IPC_DOFS };
  double cross[3], in[2][2][3], g[N] = { 0 }; /* in[i][j]: edge j in the frame of body i */
  perp_cross(touch->edge[0], touch->edge[1], cross);
  const double c = perp_dot(3, cross, cross), y = perp_dot(3, touch->edge[0], touch->edge[1]);
  const double e1 = 2 / PARALLEL * (1 - c / PARALLEL), e2 = -2 / (PARALLEL * PARALLEL);
  for (int side = 0; side < 2; side++) {
    double turn[3];
    perp_turn_back(3, pose[side].R, cross, turn);
    for (int k = 0; k < 3; k++) g[6 * side + 3 + k] = (side == 0 ? 1 : -1) * turn[k];
    for (int j = 0; j < 2; j++) perp_turn_back(3, pose[side].R, touch->edge[j], in[side][j]);
  }
  for (int i = 0; i < N; i++) m[i] = -2 * y * e1 * g[i];
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++) W[i + N * j] = (4 * y * y * e2 - 2 * e1) * g[i] * g[j];
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) { /* d2y/dq2: of each body, and between them */
      double mixed = -in[0][1][i] * in[1][0][j];
      for (int k = 0; k < 3; k++) mixed += y * pose[0].R[k + 3 * i] * pose[1].R[k + 3 * j];
      W[3 + i + N * (9 + j)] -= 2 * y * e1 * mixed;
      W[9 + j + N * (3 + i)] -= 2 * y * e1 * mixed;
      for (int side = 0; side < 2; side++)
        W[6 * side + 3 + i + N * (6 * side + 3 + j)] -= 2 * y * e1 *
                                                        (0.5 * (in[side][0][i] * in[side][1][j] +
                                                                in[side][1][i] * in[side][0][j]) -
                                                         (i == j ? y : 0));
    }
}

void perp_ipc_hessian(const perp_ipc_touch *touch, const perp_pose pose[2],
                      double H[PERP_IPC_DOFS * PERP_IPC_DOFS])
{
  enum { N = PERP_IPC_DOFS };
  double U[3 * N], r[2][3], TU[2][N], m[2][N] = { { 0 } }, S[2][2] = { { 0 } };
  ipc_levers(touch, pose, U, r);
  const int slide = touch->slides;
  const double *n = touch->n, D = touch->core;
  const double tt = slide > 0 ? perp_dot(3, touch->t[0], touch->t[0]) : 0;
  if (slide == 1) S[0][0] = 1 / tt;
  if (slide == 2) {
    const double uu = perp_dot(3, touch->t[1], touch->t[1]),
                 tu = perp_dot(3, touch->t[0], touch->t[1]), det = tt * uu - tu * tu;
    S[0][0] = uu / det, S[1][1] = tt / det, S[0][1] = S[1][0] = -tu / det;
  }
  for (int l = 0; l < slide; l++) {
    double lever[3];
    for (int i = 0; i < N; i++) TU[l][i] = perp_dot(3, touch->t[l], U + 3 * i);
    perp_cross(touch->t[l], n, lever);
    perp_turn_back(3, pose[touch->side[l]].R, lever, m[l] + 6 * touch->side[l] + 3);
  }
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++) {
      const double *x = U + 3 * i, *y = U + 3 * j;
      double sum = (perp_dot(3, x, y) - perp_dot(3, n, x) * perp_dot(3, n, y)) / D;
      for (int l = 0; l < slide; l++)
        for (int c = 0; c < slide; c++)
          sum -= S[l][c] * (TU[l][i] * TU[c][j] / D + TU[l][i] * m[c][j] + m[l][i] * TU[c][j] +
                            D * m[l][i] * m[c][j]);
      H[i + N * j] = sum;
    }
  for (int side = 0; side < 2; side++) { /* the turn of the points: half of e x (e x r) */
    const int at = 6 * side + 3;
    double g[3];
    perp_turn_back(3, pose[side].R, n, g);
    for (int i = 0; i < 3; i++) g[i] *= side == 0 ? -1 : 1;
    for (int j = 0; j < 3; j++)
      for (int i = 0; i < 3; i++)
        H[at + i + N * (at + j)] += 0.5 * (g[i] * r[side][j] + g[j] * r[side][i]) -
                                    (i == j ? perp_dot(3, g, r[side]) : 0);
  }
}
