/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convex shapes at meshes and height fields against exhaustive enumeration in long double.
 *
 * The oracle asks every triangle, or every prism under one, and shares nothing with the code under
 * test but the definitions: of two convex bodies the largest separation over all their face normals
 * and all cross products of their edges, every support by looking at all vertices; where that is
 * positive the least distance over all pairs of vertices, edges and faces.  The least one of all
 * pieces is the truth.
 *
 * Argument: number of poses of each pair (default 300; 100000 is what the acceptance asks for). */
#include "models/collision/collision.h"
#include "models/multibody/model_private.h"
#include "tests/random_surfaces.h"
#include "tests/tap.h"

#include <string.h>

typedef long double real;

enum { V_MAX = 12, F_MAX = 64, E_MAX = 40 };

typedef struct solid {
  int nv, nf, ne, ns; /* ns: planes that bound a flat solid within its own */
  real v[V_MAX][3], n[F_MAX][3], d[F_MAX], s[3][3], sd[3], radius;
  int edge[E_MAX][2];
} solid;

static perp_ctx ctx;
static perp_rng *rng;

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
  const real len = sqrtl(dot(a, a));
  for (int i = 0; i < 3; i++) a[i] /= len;
  return len;
}
static double uniform(double lo, double hi)
{
  return perp_rng_uniform(rng, lo, hi);
}

/* ---- solids ---- */

static bool on_face(const solid *s, int f, int v)
{
  return fabsl(dot(s->n[f], s->v[v]) - s->d[f]) < 1e-12L;
}

static void add_face(solid *s, real *n, const real *o)
{
  const real d = dot(n, o);
  for (int i = 0; i < s->nv; i++)
    if (dot(n, s->v[i]) - d > 1e-13L) return;
  for (int f = 0; f < s->nf; f++)
    if (dot(n, s->n[f]) > 1 - 1e-12L && fabsl(d - s->d[f]) < 1e-12L) return;
  if (s->nf == F_MAX) bail("too many faces in the oracle");
  memcpy(s->n[s->nf], n, 3 * sizeof *n);
  s->d[s->nf++] = d;
}

/* faces: all planes through three vertices with nothing beyond; edges: vertices on two faces */
static void find_faces(solid *s)
{
  s->nf = s->ne = s->ns = 0;
  for (int i = 0; i < s->nv; i++)
    for (int j = 0; j < s->nv; j++)
      for (int k = 0; k < s->nv; k++) {
        real u[3], w[3], n[3];
        sub(s->v[j], s->v[i], u);
        sub(s->v[k], s->v[i], w);
        cross(u, w, n);
        if (unit(n) > 1e-9L) add_face(s, n, s->v[i]);
      }
  for (int i = 0; i < s->nv; i++)
    for (int j = 0; j < i; j++) {
      int shared = 0;
      for (int f = 0; f < s->nf; f++) shared += on_face(s, f, i) && on_face(s, f, j);
      if (shared < 2) continue;
      if (s->ne == E_MAX) bail("too many edges in the oracle");
      s->edge[s->ne][0] = i;
      s->edge[s->ne++][1] = j;
    }
}

/* p [3]: corners; what is down to `down` m below along z, 0: flat */
static void piece_of(const real p[3][3], real down, solid *s)
{
  memset(s, 0, sizeof *s);
  s->nv = down > 0 ? 6 : 3;
  for (int k = 0; k < s->nv; k++) {
    memcpy(s->v[k], p[k % 3], sizeof s->v[k]);
    if (k > 2) s->v[k][2] -= down;
  }
  find_faces(s);
  if (down > 0) return;
  for (int k = 0; k < 3; k++) {
    real u[3], m[3] = { 0 };
    sub(p[(k + 1) % 3], p[k], u);
    memcpy(m, s->n[0], sizeof m);
    cross(u, m, s->s[k]);
    unit(s->s[k]);
    if (dot(s->s[k], p[(k + 2) % 3]) > dot(s->s[k], p[k]))
      for (int i = 0; i < 3; i++) s->s[k][i] = -s->s[k][i];
    s->sd[k] = dot(s->s[k], p[k]);
  }
  s->ns = 3;
}

static void solid_of(const perp_shape_def *def, solid *s)
{
  memset(s, 0, sizeof *s);
  s->radius = def->kind == PERP_SHAPE_SPHERE || def->kind == PERP_SHAPE_CAPSULE ? def->radius : 0;
  if (def->kind == PERP_SHAPE_SPHERE) {
    s->nv = 1;
  } else if (def->kind == PERP_SHAPE_CAPSULE) {
    s->nv = 2, s->ne = 1, s->edge[0][1] = 1;
    s->v[0][0] = -0.5L * def->length, s->v[1][0] = 0.5L * def->length;
  } else if (def->kind == PERP_SHAPE_BOX) {
    for (s->nv = 0; s->nv < 8; s->nv++)
      for (int k = 0; k < 3; k++)
        s->v[s->nv][k] = (s->nv >> k & 1) != 0 ? def->half[k] : -def->half[k];
    find_faces(s);
  } else {
    for (s->nv = 0; s->nv < def->n_vertices; s->nv++)
      for (int k = 0; k < 3; k++) s->v[s->nv][k] = def->vertices[3 * s->nv + k];
    find_faces(s);
  }
}

static void moved(const solid *s, const perp_pose *pose, solid *out)
{
  *out = *s;
  for (int i = 0; i < s->nv; i++)
    for (int k = 0; k < 3; k++) {
      out->v[i][k] = pose->x[k];
      for (int j = 0; j < 3; j++) out->v[i][k] += (real)pose->R[k + 3 * j] * s->v[i][j];
    }
  for (int f = 0; f < s->nf; f++) {
    real sum = 0;
    int on = 0;
    for (int k = 0; k < 3; k++) {
      out->n[f][k] = 0;
      for (int j = 0; j < 3; j++) out->n[f][k] += (real)pose->R[k + 3 * j] * s->n[f][j];
    }
    unit(out->n[f]);
    for (int i = 0; i < s->nv; i++)
      if (on_face(s, f, i)) sum += dot(out->n[f], out->v[i]), on++;
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
  const real t = clampl(dot(r, u) / dot(u, u));
  for (int i = 0; i < 3; i++) r[i] -= t * u[i];
  return sqrtl(dot(r, r));
}

static real segment_segment(const real *p, const real *p1, const real *q, const real *q1)
{
  real u[3], w[3], r[3], c[3], k[3];
  const real best = fminl(fminl(point_segment(p, q, q1), point_segment(p1, q, q1)),
                          fminl(point_segment(q, p, p1), point_segment(q1, p, p1)));
  sub(p1, p, u);
  sub(q1, q, w);
  sub(q, p, r);
  cross(u, w, c);
  const real cc = dot(c, c);
  if (cc <= 1e-34L * dot(u, u) * dot(w, w)) return best;
  cross(r, w, k);
  const real s = dot(k, c) / cc;
  cross(r, u, k);
  const real t = dot(k, c) / cc;
  if (s < 0 || s > 1 || t < 0 || t > 1) return best;
  return fminl(best, fabsl(dot(r, c)) / sqrtl(cc));
}

static real vertex_faces(const solid *a, const solid *b)
{
  real best = HUGE_VALL;
  for (int i = 0; i < a->nv; i++)
    for (int f = 0; f < b->nf; f++) {
      const real s = dot(b->n[f], a->v[i]) - b->d[f];
      real foot[3];
      if (s < 0 || s >= best) continue;
      for (int k = 0; k < 3; k++) foot[k] = a->v[i][k] - s * b->n[f][k];
      bool on = true;
      for (int g = 0; g < b->nf; g++) on = on && dot(b->n[g], foot) - b->d[g] <= 1e-16L;
      for (int g = 0; g < b->ns; g++) on = on && dot(b->s[g], foot) - b->sd[g] <= 1e-16L;
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
    const real x = dot(n, s->v[i]);
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

static real true_distance(const solid *a, const solid *b)
{
  real sep = -HUGE_VALL, u[3], w[3], n[3];
  for (int side = 0; side < 2; side++) {
    const solid *s = side == 0 ? a : b;
    for (int f = 0; f < s->nf; f++) sep = fmaxl(sep, along(a, b, s->n[f]));
    for (int f = 0; f < s->ns; f++) sep = fmaxl(sep, along(a, b, s->s[f]));
  }
  for (int e = 0; e < a->ne; e++)
    for (int f = 0; f < b->ne; f++) {
      sub(a->v[a->edge[e][1]], a->v[a->edge[e][0]], u);
      sub(b->v[b->edge[f][1]], b->v[b->edge[f][0]], w);
      cross(u, w, n);
      if (dot(n, n) <= 1e-20L * dot(u, u) * dot(w, w)) continue;
      unit(n);
      sep = fmaxl(sep, along(a, b, n));
    }
  if (sep <= 0 && sep > -HUGE_VALL) return sep - a->radius - b->radius;
  return disjoint(a, b) - a->radius - b->radius;
}

/* ---- surfaces ---- */

/* A surface and its pieces in long double. */
typedef struct bounded {
  surface of;
  solid piece[SURFACE_TRIANGLES];
} bounded;

static void random_bounded(perp_shape_kind kind, bounded *s)
{
  random_surface(rng, kind, &s->of);
  for (int t = 0; t < s->of.n; t++) {
    real p[3][3];
    for (int c = 0; c < 3; c++)
      for (int i = 0; i < 3; i++) p[c][i] = s->of.vertices[3 * s->of.triangles[3 * t + c] + i];
    piece_of((const real(*)[3])p, surface_down(&s->of), &s->piece[t]);
  }
}

static real to_surface(const bounded *s, const solid *a)
{
  real best = HUGE_VALL;
  for (int t = 0; t < s->of.n; t++) best = fminl(best, true_distance(a, &s->piece[t]));
  return best;
}

/* ---- the comparison ---- */

static double points[3 * V_MAX];

static perp_shape_def random_shape(perp_shape_kind kind)
{
  perp_shape_def def = { .kind = kind, .radius = uniform(0.05, 0.5), .length = uniform(0.1, 1) };
  const int look = perp_rng_int(rng, 4);
  for (int k = 0; k < 3; k++) def.half[k] = uniform(0.1, 0.6);
  if (look == 0) def.half[perp_rng_int(rng, 3)] = 1e-3;
  if (kind != PERP_SHAPE_POLYTOPE) return def;
  def.n_vertices = 4 + perp_rng_int(rng, V_MAX - 3);
  def.vertices = points;
  for (int i = 0; i < def.n_vertices; i++) {
    double x[3], len = 0;
    for (int k = 0; k < 3; k++) x[k] = perp_rng_normal(rng), len += x[k] * x[k];
    for (int k = 0; k < 3; k++) points[3 * i + k] = def.half[k] * x[k] / sqrt(len);
  }
  return def;
}

typedef struct worst {
  double distance, witness, surface, normal, missed, gap, deep, order;
  int poses, touching, contacts;
} worst;

static void raise_to(double *w, double x)
{
  if (!(x <= *w)) *w = x;
}

static real off_solid(const solid *s, const double *x)
{
  solid p = { .nv = 1 };
  for (int k = 0; k < 3; k++) p.v[0][k] = x[k];
  return true_distance(&p, s);
}

static void compare(const perp_model *m, const bounded *s, const solid *own, const perp_pose *pose,
                    worst *w)
{
  const perp_pose world = { .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
  perp_contact c[PERP_MANIFOLD_MAX];
  solid a;
  double pa[3], pb[3], n[3], step = 0;
  moved(own, pose, &a);
  const double truth = (double)to_surface(s, &a);
  const double d = perp_shape_distance(m, 1, pose, 0, &world, pa, pb, n);
  raise_to(&w->distance, fabs(d - truth));
  for (int k = 0; k < 3; k++) step += n[k] * (pb[k] - pa[k]);
  raise_to(&w->witness, fabs(step - d));
  raise_to(&w->surface, (double)fabsl(off_solid(&a, pa)));
  const double margin = perp_rng_int(rng, 2) == 0 ? 0 : pow(10, uniform(-4, 0));
  const int count = perp_collide(m, 0, &world, 1, pose, margin, c);
  w->poses++;
  w->contacts += count;
  w->touching += truth < 0;
  if (fabs(truth - margin) > 1e-9) raise_to(&w->missed, (count > 0) != (truth < margin));
  double low = HUGE_VAL;
  for (int k = 0; k < count; k++) {
    double gap = 0, len = 0;
    for (int l = 0; l < 3; l++) {
      gap += c[k].n[l] * (c[k].p[1][l] - c[k].p[0][l]);
      len += c[k].n[l] * c[k].n[l];
    }
    raise_to(&w->normal, fabs(len - 1));
    raise_to(&w->witness, fabs(gap - c[k].gap));
    low = fmin(low, c[k].gap);
    if (!(c[k].gap < margin)) raise_to(&w->missed, 2);
    if (k > 0) raise_to(&w->order, !(c[k].id > c[k - 1].id));
  }
  if (count == 0) return;
  /* apart: the nearest point is a contact; none is deeper than the deepest piece, but in a field
   * where the half-space of a triangle stands for inner walls */
  if (truth > 0) raise_to(&w->gap, fabs(low - truth) - 0.06 * truth);
  if (truth <= 0 && s->of.def.kind == PERP_SHAPE_MESH)
    raise_to(&w->deep, truth - low - 0.06 * -truth);
}

static void run_pair(perp_shape_kind shape, perp_shape_kind kind, int poses)
{
  static const char *const names[] = { "sphere", "capsule", "box", "polytope" };
  const char *what = kind == PERP_SHAPE_MESH ? "mesh" : "height field";
  worst w = { 0 };
  static bounded s;
  for (int done = 0; done < poses;) {
    solid own;
    perp_shape_def def = random_shape(shape);
    random_bounded(kind, &s);
    perp_model *m = surface_model(&ctx, &s.of, def);
    solid_of(&def, &own);
    for (int k = 0; k < 20 && done < poses; k++, done++) {
      perp_pose pose;
      random_pose(rng, &s.of, &pose);
      compare(m, &s, &own, &pose, &w);
    }
    perp_model_destroy(m);
  }
  ok(w.touching > w.poses / 10, "%s, %s: %d poses, %d overlap, %d contacts", names[shape], what,
     w.poses, w.touching, w.contacts);
  below(w.distance, 1e-9, "%s, %s: distance and depth", names[shape], what);
  below(w.witness, 1e-12, "%s, %s: gap = n . (p_b - p_a)", names[shape], what);
  below(w.surface, 1e-9, "%s, %s: the point is on the shape", names[shape], what);
  below(w.normal, 1e-12, "%s, %s: unit normals", names[shape], what);
  below(w.missed, 0, "%s, %s: none missed, none spurious", names[shape], what);
  below(w.gap, 2e-6, "%s, %s: the nearest point is a contact", names[shape], what);
  below(w.deep, 2e-6, "%s, %s: no contact deeper than the deepest triangle", names[shape], what);
  below(w.order, 0, "%s, %s: ids in order, none twice", names[shape], what);
}

/* A ball that is shot through a mesh or into a field: the time of impact, by bisection on the
 * distance. */
static void run_impacts(int shots)
{
  double late = 0, early = 0, lost = 0;
  int hits = 0;
  static bounded s;
  for (int k = 0; k < shots; k++) {
    const perp_pose world = { .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
    perp_shape_def def = { .kind = PERP_SHAPE_SPHERE, .radius = 0.01 };
    random_bounded(k % 2 == 0 ? PERP_SHAPE_MESH : PERP_SHAPE_HEIGHT_FIELD, &s);
    perp_model *m = surface_model(&ctx, &s.of, def);
    double q0[7] = { 0, 0, 2, 1 }, q1[7] = { 0, 0, -2, 1 };
    for (int i = 0; i < 2; i++) {
      q0[i] = uniform(0, 4 * s.of.def.spacing[i]);
      q1[i] = uniform(0, 4 * s.of.def.spacing[i]);
    }
    bool hit;
    const double t = perp_time_of_impact(m, 0, NULL, NULL, 1, q0, q1, 0, &hit);
    double before = HUGE_VAL;
    perp_pose pose;
    for (int i = 0; i <= 400; i++) {
      double q[7], x = hit ? t * i / 400.0 : i / 400.0;
      for (int l = 0; l < 7; l++) q[l] = q0[l] + x * (q1[l] - q0[l]);
      perp_pose_of(3, q, &pose);
      const double d = perp_shape_distance(m, 0, &world, 1, &pose, NULL, NULL, NULL);
      if (i < 400 || !hit) before = fmin(before, d);
      if (i == 400 && hit) raise_to(&late, fabs(d));
    }
    if (hit)
      raise_to(&early, fmax(0, -before));
    else
      raise_to(&lost, before < 0);
    hits += hit;
    perp_model_destroy(m);
  }
  ok(hits > shots / 2 && hits < shots, "impacts: %d of %d hit", hits, shots);
  below(late, 1e-11, "impacts: the distance is 0 then");
  below(early, 1e-11, "impacts: and above before");
  below(lost, 0, "impacts: none is lost");
}

int main(int argc, char **argv)
{
  const int poses = argc > 1 ? atoi(argv[1]) : 300;
  perp_ctx_init(&ctx);
  rng = perp_rng_create(20260402);
  for (int a = PERP_SHAPE_SPHERE; a <= PERP_SHAPE_POLYTOPE; a++) {
    run_pair((perp_shape_kind)a, PERP_SHAPE_MESH, poses);
    run_pair((perp_shape_kind)a, PERP_SHAPE_HEIGHT_FIELD, poses);
  }
  run_impacts(poses < 1000 ? poses : 1000);
  perp_rng_destroy(rng);
  return tap_done();
}
