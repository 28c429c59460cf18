/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts and distances of random pairs of shapes against exhaustive enumeration in long double.
 *
 * The oracle knows a shape as vertices plus a radius.  Its faces are found by brute force (all
 * triples of vertices with everything on one side), its edges are the pairs of vertices on two
 * faces.  Overlapping cores: the largest separation over all face normals and all cross products
 * of edges, every support by looking at all vertices.  Disjoint cores: the least distance over all
 * vertex-face, vertex-edge and edge-edge pairs.  Nothing is shared with the code under test but
 * the definitions.
 *
 * Argument: number of poses of each class of pairs (default 400). */
#include "models/collision/pairs.h"
#include "models/collision/collision.h"
#include "tests/tap.h"

#include <string.h>

typedef long double real;

enum { V_MAX = 16, F_MAX = 64, E_MAX = 64 };

typedef struct solid {
  int dim, nv, nf, ne;
  real v[V_MAX][3], n[F_MAX][3], d[F_MAX];
  int edge[E_MAX][2];
  real radius;
} solid;

static perp_ctx ctx;
static perp_rng *rng;

/* ---- vectors ---- */

static real dot(const real *a, const real *b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static void sub(const real *a, const real *b, real *c)
{
  for (int i = 0; i < 3; i++) c[i] = a[i] - b[i];
}
static void cross(const real *a, const real *b, real *c)
{
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}
static real unit(real *a)
{
  real len = sqrtl(dot(a, a));
  for (int i = 0; i < 3; i++) a[i] /= len;
  return len;
}
static double uniform(double lo, double hi)
{
  return perp_rng_uniform(rng, lo, hi);
}

/* ---- the oracle's shapes ---- */

static void add_plane(solid *s, real *n, const real *o)
{
  real size = 0, high = -HUGE_VALL, low = HUGE_VALL, d = dot(n, o);
  for (int i = 0; i < s->nv; i++) {
    real x = dot(n, s->v[i]) - d;
    high = fmaxl(high, x);
    low = fminl(low, x);
    size = fmaxl(size, fabsl(s->v[i][0]) + fabsl(s->v[i][1]) + fabsl(s->v[i][2]));
  }
  if (high > 1e-13L * size) return;
  (void)low;
  for (int f = 0; f < s->nf; f++)
    if (dot(n, s->n[f]) > 1 - 1e-12L && fabsl(d - s->d[f]) < 1e-12L * size) return;
  if (s->nf == F_MAX) bail("too many faces in the oracle");
  memcpy(s->n[s->nf], n, 3 * sizeof *n);
  s->d[s->nf++] = d;
}

static bool on_plane(const solid *s, int f, int v)
{
  return fabsl(dot(s->n[f], s->v[v]) - s->d[f]) < 1e-12L;
}

static void find_faces(solid *s)
{
  s->nf = s->ne = 0;
  for (int i = 0; i < s->nv; i++)
    for (int j = 0; j < s->nv; j++) {
      if (i == j) continue;
      real u[3], w[3], n[3];
      sub(s->v[j], s->v[i], u);
      if (s->dim == 2) {
        real m[3] = { u[1], -u[0], 0 };
        if (unit(m) > 1e-9L) add_plane(s, m, s->v[i]);
        continue;
      }
      for (int k = 0; k < s->nv; k++) {
        sub(s->v[k], s->v[i], w);
        cross(u, w, n);
        if (unit(n) > 1e-9L) add_plane(s, n, s->v[i]);
      }
    }
  for (int i = 0; i < s->nv; i++)
    for (int j = 0; j < i; j++) {
      int shared = 0;
      for (int f = 0; f < s->nf; f++) shared += on_plane(s, f, i) && on_plane(s, f, j);
      if (shared < s->dim - 1) continue;
      if (s->ne == E_MAX) bail("too many edges in the oracle");
      s->edge[s->ne][0] = i;
      s->edge[s->ne++][1] = j;
    }
}

/* shape frame is body frame here: pose in long double */
static void solid_of(int dim, const perp_shape_def *def, solid *s)
{
  memset(s, 0, sizeof *s);
  s->dim = dim;
  s->radius = def->kind == PERP_SHAPE_SPHERE || def->kind == PERP_SHAPE_CAPSULE ? def->radius : 0;
  if (def->kind == PERP_SHAPE_SPHERE) {
    s->nv = 1;
  } else if (def->kind == PERP_SHAPE_CAPSULE) {
    s->nv = 2, s->ne = 1;
    s->v[0][0] = -0.5L * def->length, s->v[1][0] = 0.5L * def->length;
    s->edge[0][1] = 1;
  } else if (def->kind == PERP_SHAPE_BOX) {
    for (s->nv = 0; s->nv < 1 << dim; s->nv++)
      for (int k = 0; k < dim; k++)
        s->v[s->nv][k] = (s->nv >> k & 1) != 0 ? def->half[k] : -def->half[k];
    find_faces(s);
  } else {
    for (s->nv = 0; s->nv < def->n_vertices; s->nv++)
      for (int k = 0; k < dim; k++) s->v[s->nv][k] = def->vertices[dim * s->nv + k];
    find_faces(s);
  }
}

/* the rotation is the double one of the pose: both sides see the same motion */
static void moved(const solid *s, const perp_pose *pose, solid *out)
{
  int d = s->dim;
  *out = *s;
  for (int i = 0; i < s->nv; i++)
    for (int k = 0; k < d; k++) {
      out->v[i][k] = pose->x[k];
      for (int j = 0; j < d; j++) out->v[i][k] += (real)pose->R[k + d * j] * s->v[i][j];
    }
  for (int f = 0; f < s->nf; f++) {
    real sum = 0;
    int on = 0;
    for (int k = 0; k < d; k++) {
      out->n[f][k] = 0;
      for (int j = 0; j < d; j++) out->n[f][k] += (real)pose->R[k + d * j] * s->n[f][j];
    }
    unit(out->n[f]);
    for (int i = 0; i < s->nv; i++)
      if (on_plane(s, f, i)) sum += dot(out->n[f], out->v[i]), on++;
    out->d[f] = sum / on;
  }
}

/* ---- distances ---- */

static real clampl(real x)
{
  return x < 0 ? 0 : x > 1 ? 1 : x;
}

static real point_segment(const real *x, const real *p, const real *q)
{
  real u[3], r[3];
  sub(q, p, u);
  sub(x, p, r);
  real t = clampl(dot(r, u) / dot(u, u));
  for (int i = 0; i < 3; i++) r[i] -= t * u[i];
  return sqrtl(dot(r, r));
}

static real segment_segment(const real *p, const real *p1, const real *q, const real *q1)
{
  real u[3], w[3], r[3], c[3], k[3];
  real best = fminl(fminl(point_segment(p, q, q1), point_segment(p1, q, q1)),
                    fminl(point_segment(q, p, p1), point_segment(q1, p, p1)));
  sub(p1, p, u);
  sub(q1, q, w);
  sub(q, p, r);
  cross(u, w, c);
  real cc = dot(c, c);
  if (cc <= 1e-34L * dot(u, u) * dot(w, w)) return best;
  cross(r, w, k);
  real s = dot(k, c) / cc;
  cross(r, u, k);
  real t = dot(k, c) / cc;
  if (s < 0 || s > 1 || t < 0 || t > 1) return best;
  return fminl(best, fabsl(dot(r, c)) / sqrtl(cc));
}

/* vertices of a over faces of b */
static real vertex_faces(const solid *a, const solid *b)
{
  real best = HUGE_VALL;
  for (int i = 0; i < a->nv; i++)
    for (int f = 0; f < b->nf; f++) {
      real s = dot(b->n[f], a->v[i]) - b->d[f], foot[3];
      if (s < 0 || s >= best) continue;
      for (int k = 0; k < 3; k++) foot[k] = a->v[i][k] - s * b->n[f][k];
      bool on = true;
      for (int g = 0; g < b->nf; g++) on = on && dot(b->n[g], foot) - b->d[g] <= 1e-16L;
      if (on) best = s;
    }
  return best;
}

static real disjoint(const solid *a, const solid *b)
{
  real best = fminl(vertex_faces(a, b), vertex_faces(b, a)), r[3];
  for (int i = 0; i < a->nv; i++)
    for (int j = 0; j < b->nv; j++) {
      sub(a->v[i], b->v[j], r);
      best = fminl(best, sqrtl(dot(r, r)));
    }
  for (int i = 0; i < a->nv; i++)
    for (int e = 0; e < b->ne; e++)
      best = fminl(best, point_segment(a->v[i], b->v[b->edge[e][0]], b->v[b->edge[e][1]]));
  for (int i = 0; i < b->nv; i++)
    for (int e = 0; e < a->ne; e++)
      best = fminl(best, point_segment(b->v[i], a->v[a->edge[e][0]], a->v[a->edge[e][1]]));
  for (int e = 0; e < a->ne; e++)
    for (int f = 0; f < b->ne; f++)
      best = fminl(best, segment_segment(a->v[a->edge[e][0]], a->v[a->edge[e][1]],
                                         b->v[b->edge[f][0]], b->v[b->edge[f][1]]));
  return best;
}

static void span(const solid *s, const real *n, real *lo, real *hi)
{
  *lo = HUGE_VALL, *hi = -HUGE_VALL;
  for (int i = 0; i < s->nv; i++) {
    real x = dot(n, s->v[i]);
    *lo = fminl(*lo, x);
    *hi = fmaxl(*hi, x);
  }
}

/* separation along n and along -n, the larger one */
static real along(const solid *a, const solid *b, const real *n)
{
  real alo, ahi, blo, bhi;
  span(a, n, &alo, &ahi);
  span(b, n, &blo, &bhi);
  return fmaxl(blo - ahi, alo - bhi);
}

/* of the cores */
static real planes(const solid *a, const solid *b)
{
  real best = -HUGE_VALL, u[3], w[3], n[3];
  for (int side = 0; side < 2; side++) {
    const solid *s = side == 0 ? a : b;
    for (int f = 0; f < s->nf; f++) best = fmaxl(best, along(a, b, s->n[f]));
    for (int e = 0; e < s->ne && s->dim == 2; e++) {
      sub(s->v[s->edge[e][1]], s->v[s->edge[e][0]], u);
      real m[3] = { u[1], -u[0], 0 };
      unit(m);
      unit(u);
      best = fmaxl(best, fmaxl(along(a, b, m), along(a, b, u)));
    }
  }
  for (int e = 0; e < a->ne && a->dim == 3; e++)
    for (int f = 0; f < b->ne; f++) {
      sub(a->v[a->edge[e][1]], a->v[a->edge[e][0]], u);
      sub(b->v[b->edge[f][1]], b->v[b->edge[f][0]], w);
      cross(u, w, n);
      if (dot(n, n) <= 1e-20L * dot(u, u) * dot(w, w)) continue;
      unit(n);
      best = fmaxl(best, along(a, b, n));
    }
  return best;
}

static real true_distance(const solid *a, const solid *b)
{
  real sep = planes(a, b), r = a->radius + b->radius;
  /* cores without a volume of their own overlap in one point at most */
  bool volume = a->nf + b->nf > 0 || a->dim == 2;
  if (volume && sep <= 0 && sep > -HUGE_VALL) return sep - r;
  return disjoint(a, b) - r;
}

/* distance of a point to the surface of a shape, from inside or outside */
static real off_surface(const solid *s, const double *x)
{
  solid p = { .dim = s->dim, .nv = 1 };
  for (int k = 0; k < s->dim; k++) p.v[0][k] = x[k];
  return fabsl(true_distance(&p, s));
}

/* ---- random shapes ---- */

static double vertex_store[V_MAX * 3];

static perp_shape_def random_shape(int dim, perp_shape_kind kind)
{
  perp_shape_def def = { .kind = kind };
  int look = perp_rng_int(rng, 4);
  def.radius = uniform(0.1, 1);
  def.length = uniform(0.1, 2);
  for (int k = 0; k < 3; k++) def.half[k] = uniform(0.2, 1);
  if (look == 0) def.half[perp_rng_int(rng, dim)] = 1e-3; /* thin plate */
  if (look == 1) def.half[0] = def.half[1] = def.half[2] = 0.5;
  if (kind == PERP_SHAPE_POLYTOPE) {
    def.n_vertices = dim + 1 + perp_rng_int(rng, 9);
    def.vertices = vertex_store;
    for (int i = 0; i < def.n_vertices; i++) {
      double x[3], len = 0;
      for (int k = 0; k < dim; k++) x[k] = perp_rng_normal(rng), len += x[k] * x[k];
      for (int k = 0; k < dim; k++)
        vertex_store[dim * i + k] = look == 2 ? def.half[k] * x[k] : def.half[k] * x[k] / sqrt(len);
    }
  }
  return def;
}

static void random_rotation(int dim, perp_pose *pose)
{
  double q[7] = { 0 };
  int look = perp_rng_int(rng, 6);
  if (dim == 2) {
    q[2] = look < 2 ? 0.5 * acos(-1.0) * perp_rng_int(rng, 4) : uniform(-4, 4);
    if (look == 2) q[2] = 1e-3 * uniform(-1, 1);
  } else {
    for (int k = 3; k < 7; k++) q[k] = perp_rng_normal(rng);
    /* unturned, turned about an axis by multiples of 45 degrees, almost unturned */
    if (look < 3) {
      int axis = 4 + perp_rng_int(rng, 3);
      double turn = look == 0   ? 0
                    : look == 1 ? acos(-1.0) / 8 * perp_rng_int(rng, 8)
                                : pow(10, uniform(-9, -1));
      for (int k = 3; k < 7; k++) q[k] = 0;
      q[3] = cos(turn), q[axis] = sin(turn);
    }
  }
  double x[3] = { pose->x[0], pose->x[1], pose->x[2] };
  perp_pose_of(dim, q, pose);
  memcpy(pose->x, x, sizeof x);
}

/* ---- the comparison ---- */

typedef struct worst {
  double distance, witness, surface, normal, apart, missed, gap, order, mirror;
  int64_t contacts, poses, touching;
} worst;

static void raise_to(double *w, double x)
{
  if (!(x <= *w)) *w = x;
}

/* place b anew so that bodies overlap, touch or are near each other */
static void random_poses(int dim, double reach, perp_pose *a, perp_pose *b)
{
  double dir[3] = { 0 }, len = 0;
  int look = perp_rng_int(rng, 8);
  for (int k = 0; k < dim; k++) {
    a->x[k] = uniform(-3, 3);
    dir[k] = perp_rng_normal(rng);
    len += dir[k] * dir[k];
  }
  if (look == 0) /* along an axis */
    for (int k = 0, axis = perp_rng_int(rng, dim); k < dim; k++)
      dir[k] = k == axis ? 1 : 0, len = 1;
  double way = look == 1 ? 0 : reach * uniform(0, 1.1) / sqrt(len);
  random_rotation(dim, a);
  random_rotation(dim, b);
  if (look == 2) memcpy(b->R, a->R, sizeof a->R);
  for (int k = 0; k < 3; k++) b->x[k] = k < dim ? a->x[k] + way * dir[k] : 0;
  if (dim == 2) a->x[2] = 0;
}

static void compare(const perp_model *m, int i, int j, const solid *si, const solid *sj,
                    const perp_pose *pi, const perp_pose *pj, worst *w)
{
  int dim = m->dim;
  solid a, b, away;
  double pa[3], pb[3], n[3];
  perp_contact c[PERP_MANIFOLD_MAX];
  moved(si, pi, &a);
  moved(sj, pj, &b);
  double truth = (double)true_distance(&a, &b);
  double d = perp_shape_distance(m, i, pi, j, pj, pa, pb, n);
  raise_to(&w->distance, fabs(d - truth));
  double step = 0, len = 0;
  for (int k = 0; k < dim; k++) step += n[k] * (pb[k] - pa[k]), len += n[k] * n[k];
  raise_to(&w->normal, fabs(len - 1));
  raise_to(&w->witness, fabs(step - d));
  raise_to(&w->surface, (double)fmaxl(off_surface(&a, pa), off_surface(&b, pb)));
  if (d < 0) { /* the translation -d along n must part them */
    away = b;
    for (int v = 0; v < b.nv; v++)
      for (int k = 0; k < dim; k++) away.v[v][k] -= (real)d * n[k];
    for (int f = 0; f < b.nf; f++)
      for (int k = 0; k < dim; k++) away.d[f] -= (real)d * n[k] * b.n[f][k];
    raise_to(&w->apart, (double)fabsl(true_distance(&a, &away)));
  }
  /* the manifold */
  double margin = perp_rng_int(rng, 2) == 0 ? 0 : pow(10, uniform(-4, 0));
  int count = perp_collide(m, i, pi, j, pj, margin, c);
  const solid *first = i < j ? &a : &b, *second = i < j ? &b : &a;
  w->poses++;
  w->contacts += count;
  w->touching += truth < 0;
  if (fabs(truth - margin) > 1e-9) raise_to(&w->missed, (count > 0) != (truth < margin));
  if (count == 0) return;
  double low = HUGE_VAL;
  for (int k = 0; k < count; k++) {
    double gap = 0;
    len = 0;
    for (int l = 0; l < dim; l++) {
      gap += c[k].n[l] * (c[k].p[1][l] - c[k].p[0][l]);
      len += c[k].n[l] * c[k].n[l];
    }
    raise_to(&w->normal, fabs(len - 1));
    raise_to(&w->witness, fabs(gap - c[k].gap));
    /* rim tolerance 1e-6 of the size; a capsule turned by up to 6 degrees touches with balls around
     * two points of its axis, which are inside it by 1 - cos(6 degrees) of the radius */
    double off_a = (double)off_surface(first, c[k].p[0]);
    double off_b = (double)off_surface(second, c[k].p[1]);
    if (first->nv == 2) off_a -= 0.0055 * (double)first->radius;
    if (second->nv == 2) off_b -= 0.0055 * (double)second->radius;
    raise_to(&w->surface, fmax(off_a, off_b) * 1e-3);
    low = fmin(low, c[k].gap);
    if (k > 0) raise_to(&w->order, !(c[k].id > c[k - 1].id));
    if (!(c[k].gap < margin)) raise_to(&w->missed, 2);
  }
  raise_to(&w->gap, fabs(low - truth) - 0.06 * fabs(truth));
}

static const char *const kind_name[] = { "sphere", "capsule", "box", "polytope" };

static void judge(int dim, int ka, int kb, const worst *w)
{
  char who[64];
  snprintf(who, sizeof who, "%s-%s, dim %d", kind_name[ka], kind_name[kb], dim);
  ok(w->poses > 0 && w->touching > w->poses / 10 && w->contacts > w->touching / 2,
     "%s: %d poses, %d overlap, %d contacts", who, (int)w->poses, (int)w->touching,
     (int)w->contacts);
  below(w->distance, 1e-9, "%s: distance", who);
  below(w->witness, 1e-12, "%s: gap = n . (p_b - p_a)", who);
  below(w->normal, 1e-12, "%s: unit normals", who);
  below(w->surface, 3e-9, "%s: points on both surfaces", who);
  below(w->apart, 1e-9, "%s: the depth is a translation that parts them", who);
  below(w->missed, 0, "%s: contacts exactly when nearer than the margin", who);
  below(w->gap, 1e-6, "%s: the least gap is the distance", who);
  below(w->order, 0, "%s: identities increase", who);
}

enum { SHAPES = 24 };

static void run_pair(int dim, perp_shape_kind ka, perp_shape_kind kb, int poses)
{
  static solid s[SHAPES];
  worst w = { 0 };
  while (w.poses < poses) {
    perp_model *m = NULL;
    if (perp_model_create(&ctx, dim, &m) != PERP_OK) bail("%s", ctx.msg);
    for (int i = 0; i < SHAPES; i++) {
      perp_body_def body = { .mass = perp_mass_sphere(1, 1) };
      perp_shape_def def = random_shape(dim, i % 2 == 0 ? ka : kb);
      if (perp_model_add_body(&ctx, m, &body, &def.body) != PERP_OK) bail("%s", ctx.msg);
      if (perp_model_add_shape(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
      solid_of(dim, &def, &s[i]);
    }
    if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
    for (int k = 0; k < 8 * SHAPES && w.poses < poses; k++) {
      int i = 2 * perp_rng_int(rng, SHAPES / 2), j = 2 * perp_rng_int(rng, SHAPES / 2) + 1;
      perp_pose pi = { 0 }, pj = { 0 };
      random_poses(dim, m->shape[i].bound + m->shape[j].bound, &pi, &pj);
      compare(m, i, j, &s[i], &s[j], &pi, &pj, &w);
    }
    perp_model_destroy(m);
  }
  judge(dim, (int)ka, (int)kb, &w);
}

/* ---- half-spaces and ellipsoids ---- */

/* normal and height of the half-space at a pose */
static void half_space(int dim, const perp_pose *pose, real n[3], real *height)
{
  *height = 0;
  for (int k = 0; k < 3; k++) {
    n[k] = k < dim ? pose->R[k + dim * (dim - 1)] : 0;
    if (k < dim) *height += n[k] * pose->x[k];
  }
  real len = sqrtl(dot(n, n));
  for (int k = 0; k < 3; k++) n[k] /= len;
  *height /= len;
}

/* all kinds at a half-space: the least height of a vertex, less the radius */
static void run_planes(int dim, int poses)
{
  worst w = { 0 };
  for (int k = 0; k < poses; k++) {
    perp_model *m = NULL;
    perp_pose pose[2] = { 0 };
    perp_contact c[PERP_MANIFOLD_MAX];
    solid s, a;
    real n[3], height, low, high, least = HUGE_VALL;
    perp_shape_def def = random_shape(dim, (perp_shape_kind)(k % 4));
    perp_shape_def plane = { .kind = PERP_SHAPE_PLANE };
    perp_body_def body = { .mass = perp_mass_sphere(1, 1) };
    if (perp_model_create(&ctx, dim, &m) != PERP_OK ||
        perp_model_add_body(&ctx, m, &body, &plane.body) != PERP_OK ||
        perp_model_add_body(&ctx, m, &body, &def.body) != PERP_OK ||
        perp_model_add_shape(&ctx, m, &plane, NULL) != PERP_OK ||
        perp_model_add_shape(&ctx, m, &def, NULL) != PERP_OK ||
        perp_model_finish(&ctx, m) != PERP_OK)
      bail("%s", ctx.msg);
    random_poses(dim, 2, &pose[0], &pose[1]);
    solid_of(dim, &def, &s);
    moved(&s, &pose[1], &a);
    half_space(dim, &pose[0], n, &height);
    span(&a, n, &low, &high);
    double truth = (double)(low - height - a.radius), margin = uniform(0, 0.2);
    double d = perp_shape_distance(m, 0, &pose[0], 1, &pose[1], NULL, NULL, NULL);
    raise_to(&w.distance, fabs(d - truth));
    int count = perp_collide(m, 0, &pose[0], 1, &pose[1], margin, c);
    w.poses++, w.contacts += count, w.touching += truth < 0;
    if (fabs(truth - margin) > 1e-9) raise_to(&w.missed, (count > 0) != (truth < margin));
    for (int i = 0; i < count; i++) {
      double gap = 0;
      real above = -height;
      for (int l = 0; l < dim; l++) {
        gap += c[i].n[l] * (c[i].p[1][l] - c[i].p[0][l]);
        above += n[l] * c[i].p[0][l];
      }
      raise_to(&w.witness, fabs(gap - c[i].gap));
      raise_to(&w.surface, (double)fabsl(above));
      least = fminl(least, c[i].gap);
    }
    if (count > 0) raise_to(&w.gap, (double)fabsl(least - truth));
    perp_model_destroy(m);
  }
  ok(w.touching > w.poses / 10, "half-space, dim %d: %d poses, %d overlap, %d contacts", dim,
     (int)w.poses, (int)w.touching, (int)w.contacts);
  below(w.distance, 1e-12, "half-space, dim %d: distance", dim);
  below(w.witness, 1e-12, "half-space, dim %d: gap = n . (p_b - p_a)", dim);
  below(w.surface, 1e-12, "half-space, dim %d: points on its surface", dim);
  below(w.missed, 0, "half-space, dim %d: contacts exactly when nearer than the margin", dim);
  below(w.gap, 1e-6, "half-space, dim %d: the least gap is the distance", dim);
}

/* A ball at an ellipsoid: the point found is on it, the line to the centre of the ball is its
 * normal there, and none of many other points of the surface is nearer.  A half-space: none is
 * lower. */
static void run_ellipsoids(int poses)
{
  double on = 0, square = 0, nearer = 0, lower = 0, gap = 0;
  for (int k = 0; k < poses; k++) {
    perp_model *m = NULL;
    perp_pose pose[3] = { 0 };
    double pa[3], pb[3], n[3], e[3], y[3], x[3];
    perp_shape_def def[3] = { { .kind = PERP_SHAPE_ELLIPSOID },
                              { .kind = PERP_SHAPE_SPHERE, .radius = uniform(0.1, 1) },
                              { .kind = PERP_SHAPE_PLANE } };
    for (int i = 0; i < 3; i++) e[i] = def[0].half[i] = uniform(0.05, 1);
    if (k % 3 == 0) e[1] = def[0].half[1] = e[0]; /* of revolution */
    if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
    for (int i = 0; i < 3; i++) {
      perp_body_def body = { .mass = perp_mass_sphere(1, 1) };
      if (perp_model_add_body(&ctx, m, &body, &def[i].body) != PERP_OK ||
          perp_model_add_shape(&ctx, m, &def[i], NULL) != PERP_OK)
        bail("%s", ctx.msg);
    }
    if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
    random_poses(3, 2, &pose[0], &pose[1]);
    random_poses(3, 2, &pose[0], &pose[2]);
    if (k % 5 == 0) /* centre of the ball in a plane of symmetry */
      for (int i = 0; i < 3; i++)
        pose[1].x[i] = pose[0].x[i] + 0.3 * pose[0].R[i + 3 * (k % 2)] * (k % 4);
    double d = perp_shape_distance(m, 0, &pose[0], 1, &pose[1], pa, pb, n);
    double low = perp_shape_distance(m, 2, &pose[2], 0, &pose[0], NULL, NULL, NULL);
    perp_place_back(&pose[0], pose[1].x, y);
    perp_place_back(&pose[0], pa, x);
    double level = -1, r = 0, g[3], gg = 0, inside = -1, step = 0;
    for (int i = 0; i < 3; i++) {
      level += x[i] / e[i] * (x[i] / e[i]);
      inside += y[i] / e[i] * (y[i] / e[i]);
      g[i] = x[i] / (e[i] * e[i]);
      gg += g[i] * g[i];
      r += (y[i] - x[i]) * (y[i] - x[i]);
      step += n[i] * (pb[i] - pa[i]);
    }
    r = inside < 0 ? -sqrt(r) : sqrt(r);
    for (int i = 0; i < 3; i++) raise_to(&square, fabs((y[i] - x[i]) - r * g[i] / sqrt(gg)));
    raise_to(&on, fabs(level));
    raise_to(&gap, fmax(fabs(step - d), fabs(r - def[1].radius - d)));
    for (int i = 0; i < 100; i++) {
      double u[3], len = 0, r2 = 0, h = 0, s[3];
      for (int l = 0; l < 3; l++) u[l] = perp_rng_normal(rng), len += u[l] * u[l];
      for (int l = 0; l < 3; l++) s[l] = e[l] * u[l] / sqrt(len);
      for (int l = 0; l < 3; l++) r2 += (s[l] - y[l]) * (s[l] - y[l]);
      raise_to(&nearer, fabs(r) - sqrt(r2));
      perp_place(&pose[0], s, u);
      for (int l = 0; l < 3; l++) h += pose[2].R[6 + l] * (u[l] - pose[2].x[l]);
      raise_to(&lower, low - h);
    }
    perp_model_destroy(m);
  }
  below(on, 1e-12, "ellipsoid: the point is on it");
  below(square, 1e-9, "ellipsoid: the line to the ball is its normal");
  below(gap, 1e-12, "ellipsoid: gap = n . (p_b - p_a) = distance - radius");
  below(nearer, 1e-12, "ellipsoid: no point is nearer");
  below(lower, 1e-12, "ellipsoid: no point is lower");
}

int main(int argc, char **argv)
{
  int poses = argc > 1 ? atoi(argv[1]) : 400;
  perp_ctx_init(&ctx);
  rng = perp_rng_create(20260401);
  for (int dim = 2; dim <= 3; dim++)
    for (int a = PERP_SHAPE_SPHERE; a <= PERP_SHAPE_POLYTOPE; a++)
      for (int b = a; b <= PERP_SHAPE_POLYTOPE; b++)
        run_pair(dim, (perp_shape_kind)a, (perp_shape_kind)b, poses);
  run_planes(2, poses);
  run_planes(3, poses);
  run_ellipsoids(poses);
  perp_rng_destroy(rng);
  return tap_done();
}
