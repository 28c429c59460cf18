/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ellipsoids, cylinders and cones at meshes and height fields, each signed distance proved in long
 * double.
 *
 * The truth is the least signed distance of all triangles, or of all prisms under one.  A claim
 * sigma is proved from both sides, with the bodies of tests/round_bodies.h:
 *
 *      every piece has a direction that parts it from the shape by more than sigma - 1e-9 of the
 * size; apart: the points are in the shape and in a piece, and sigma from each other; overlapping:
 * of one piece no direction of the sphere has less than -sigma - 1e-9 of the size
 * (tests/depth_proof.h).
 *
 * Arguments: number of poses of each pair (default 100; 100000 is what the acceptance asks for),
 * the kind of shape (default all), the seed. */
#include "models/collision/collision.h"
#include "models/multibody/model_private.h"
#include "models/geometry/shapes_private.h"
#include "tests/depth_proof.h"
#include "tests/random_surfaces.h"

enum { BUDGET = 200000 };
static const double PROVED = 1e-9; /* of the size */

static perp_ctx ctx;
static perp_rng *rng;
static const perp_pose world = { .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };

typedef struct bounded {
  surface of;
  round_body piece[SURFACE_TRIANGLES];
} bounded;

typedef struct worst {
  double shallow, deep, points, missed, gap, surface, order;
  int poses, overlapping, touching, contacts;
  int64_t open;
} worst;

static double uniform(double lo, double hi)
{
  return perp_rng_uniform(rng, lo, hi);
}

static void raise_to(double *w, double x)
{
  if (!(x <= *w)) *w = x;
}

static void random_bounded(perp_shape_kind kind, bounded *s)
{
  random_surface(rng, kind, &s->of);
  const double down = surface_down(&s->of);
  for (int t = 0; t < s->of.n; t++) {
    s->piece[t] = (round_body){ .n = 0 };
    for (int c = 0; c < (down > 0 ? 6 : 3); c++) {
      const double *v = s->of.vertices + 3 * s->of.triangles[3 * t + c % 3];
      round_add(&s->piece[t], &world, v[0], v[1], v[2] - (real)(c < 3 ? 0 : down));
    }
  }
}

/* sides from 1e-3 to 1 of the shape */
static perp_shape_def random_shape(perp_shape_kind kind)
{
  perp_shape_def def = { .kind = kind, .radius = uniform(0.05, 0.5), .length = uniform(0.1, 1) };
  const int look = perp_rng_int(rng, 6);
  for (int k = 0; k < 3; k++) def.half[k] = uniform(0.1, 0.6);
  if (look == 0) def.half[perp_rng_int(rng, 3)] = 1e-3, def.length *= 1e-3;
  if (look == 1) def.half[0] = def.half[1] = 1e-3, def.radius *= 1e-3;
  if (look == 2) def.half[1] = def.half[2];
  return def;
}

/* how far the point is from all pieces, up to the slope of a triangle; 0: in one of them */
static real off_surface(const bounded *s, const double p[3])
{
  const double down = surface_down(&s->of);
  real best = HUGE_VALL;
  for (int t = 0; t < s->of.n; t++) {
    const round_piece *v = s->piece[t].piece;
    real e[3], f[3], r[3], n[3], m[3];
    for (int i = 0; i < 3; i++) {
      e[i] = v[1].c[i] - v[0].c[i];
      f[i] = v[2].c[i] - v[0].c[i];
      r[i] = p[i] - v[0].c[i];
    }
    cross(e, f, n);
    const real up = dot(r, n) / (down > 0 ? fabsl(n[2]) : length(n)),
               above = n[2] > 0 || down <= 0 ? up : -up;
    real off = down > 0 ? fmaxl(0, fmaxl(above, -down - above)) : fabsl(up);
    if (down > 0) e[2] = f[2] = r[2] = 0;
    cross(e, f, n);
    cross(r, f, m);
    const real x = dot(m, n) / dot(n, n);
    cross(e, r, m);
    const real y = dot(m, n) / dot(n, n);
    off = fmaxl(off, fmaxl(-x, fmaxl(-y, x + y - 1)));
    best = fminl(best, off);
  }
  return best;
}

/* the claim sigma with the normal n and the points on the shape and on the surface */
static void judge(const bounded *s, const round_body *a, double sigma, const double n[3],
                  double size, worst *w)
{
  const real d[3] = { n[0], n[1], n[2] }, tolerance = PROVED * size;
  real lower;
  bool some = false;
  int used;
  for (int t = 0; t < s->of.n; t++) {
    const real len = length(d), u[3] = { d[0] / len, d[1] / len, d[2] / len };
    if (round_gap(a, &s->piece[t], u) < -sigma + tolerance) continue;
    const int answer = prove_depth(a, &s->piece[t], -sigma + tolerance, BUDGET, &lower, &used);
    if (answer == 1) raise_to(&w->deep, 1);
    w->open += answer < 0;
  }
  for (int t = 0; t < s->of.n && sigma <= 0 && !some; t++) {
    const int answer = prove_depth(a, &s->piece[t], -sigma - tolerance, BUDGET, &lower, &used);
    w->open += answer < 0;
    some = answer != 0;
  }
  if (sigma <= 0 && !some) raise_to(&w->shallow, 1);
}

static void compare(const perp_model *m, const bounded *s, const perp_shape_def *def,
                    const perp_pose *pose, worst *w)
{
  perp_contact c[PERP_MANIFOLD_MAX];
  round_body a;
  real R[9], x[3];
  double pa[3], pb[3], n[3], low = HUGE_VAL;
  const double size = m->shape[1].bound;
  for (int i = 0; i < 9; i++) R[i] = pose->R[i];
  for (int i = 0; i < 3; i++) x[i] = pose->x[i];
  round_body_of(def, pose, &a);
  const double sigma = perp_shape_distance(m, 1, pose, 0, &world, pa, pb, n);
  judge(s, &a, sigma, n, size, w);
  double off = fmax((double)round_outside(def, R, x, pa), (double)off_surface(s, pb));
  for (int i = 0; i < 3; i++) off = fmax(off, fabs(pb[i] - pa[i] - sigma * n[i]));
  raise_to(&w->points, off / size);
  const double margin = perp_rng_int(rng, 2) == 0 ? 0 : size * pow(10, uniform(-4, 0));
  const int count = perp_collide(m, 0, &world, 1, pose, margin, c);
  w->poses++;
  w->overlapping += sigma < 0;
  w->touching += fabs(sigma) < 1e-6 * size;
  w->contacts += count;
  if (fabs(sigma - margin) > PROVED * size) raise_to(&w->missed, (count > 0) != (sigma < margin));
  for (int k = 0; k < count; k++) {
    double gap = 0;
    for (int i = 0; i < 3; i++) gap += c[k].n[i] * (c[k].p[1][i] - c[k].p[0][i]);
    raise_to(&w->surface, fabs(gap - c[k].gap) / size);
    raise_to(&w->surface, (double)round_outside(def, R, x, c[k].p[1]) / size);
    if (k > 0) raise_to(&w->order, !(c[k].id > c[k - 1].id));
    low = fmin(low, c[k].gap);
  }
  /* apart: the nearest point is a contact; none is deeper than the deepest triangle */
  if (count > 0 && sigma > 0) raise_to(&w->gap, (fabs(low - sigma) - 0.06 * sigma) / size);
  if (count > 0 && sigma <= 0 && s->of.def.kind == PERP_SHAPE_MESH)
    raise_to(&w->gap, (sigma - low - 0.06 * -sigma) / size);
}

static void run_pair(perp_shape_kind shape, perp_shape_kind kind, int poses)
{
  const char *name = shape == PERP_SHAPE_ELLIPSOID  ? "ellipsoid"
                     : shape == PERP_SHAPE_CYLINDER ? "cylinder"
                                                    : "cone";
  const char *what = kind == PERP_SHAPE_MESH ? "mesh" : "height field";
  static bounded s;
  worst w = { 0 };
  while (w.poses < poses) {
    perp_shape_def def = random_shape(shape);
    random_bounded(kind, &s);
    perp_model *m = surface_model(&ctx, &s.of, def);
    for (int k = 0; k < 20 && w.poses < poses; k++) {
      perp_pose pose;
      random_pose(rng, &s.of, &pose);
      if (k % 4 ==
          0) { /* until they touch up to 1e-6 of the size, if nothing else is nearer then */
        double n[3];
        const double sigma = perp_shape_distance(m, 1, &pose, 0, &world, NULL, NULL, n);
        const double left = m->shape[1].bound * pow(10, uniform(-15, -6)) *
                            (perp_rng_int(rng, 2) == 0 ? 1 : -1);
        for (int i = 0; i < 3; i++) pose.x[i] += (sigma - left) * n[i];
      }
      compare(m, &s, &def, &pose, &w);
    }
    perp_model_destroy(m);
  }
  printf("# %s, %s: %d poses, %d overlap, %d touch; missed or spurious %g, deeper %g, shallower "
         "%g, points %.1e of "
         "the size; %d pieces open\n",
         name, what, w.poses, w.overlapping, w.touching, w.missed, w.deep, w.shallow, w.points,
         (int)w.open);
  ok(w.overlapping > w.poses / 10 && w.touching > w.poses / 10,
     "%s, %s: %d poses, %d overlap, %d touch, %d contacts", name, what, w.poses, w.overlapping,
     w.touching, w.contacts);
  below(w.missed, 0, "%s, %s: contacts exactly when nearer than the margin", name, what);
  below(w.deep, 0, "%s, %s: no triangle is nearer or deeper", name, what);
  below(w.shallow, 0, "%s, %s: one triangle is as deep", name, what);
  below((double)w.open, 0, "%s, %s: which is proved", name, what);
  below(w.points, PROVED, "%s, %s: the points are in both and that far from each other", name,
        what);
  below(w.surface, 3e-6, "%s, %s: contacts are in the shape", name, what);
  below(w.gap, 1e-5, "%s, %s: the nearest point is a contact, none is deeper", name, what);
  below(w.order, 0, "%s, %s: identities increase", name, what);
}

int main(int argc, char **argv)
{
  static const char *const names[] = { "ellipsoid", "cylinder", "cone" };
  const int poses = argc > 1 ? atoi(argv[1]) : 100;
  perp_ctx_init(&ctx);
  for (int k = 0; k < 3; k++) {
    if (argc > 2 && strcmp(argv[2], names[k]) != 0) continue;
    rng = perp_rng_create((argc > 3 ? (unsigned)atoi(argv[3]) : 20261127) + (unsigned)k);
    run_pair((perp_shape_kind)(PERP_SHAPE_ELLIPSOID + k), PERP_SHAPE_MESH, poses);
    run_pair((perp_shape_kind)(PERP_SHAPE_ELLIPSOID + k), PERP_SHAPE_HEIGHT_FIELD, poses);
    perp_rng_destroy(rng);
  }
  return tap_done();
}
