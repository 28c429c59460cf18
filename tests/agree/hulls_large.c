/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hulls of very many points with each other and with all other solids, each signed distance proved
 * in long double.
 *
 * The separation along the normal that is returned, over all vertices, bounds the signed distance
 * from below.  Apart, witnesses on both bodies that far from each other bound it from above; where
 * they overlap no direction of the sphere separates more (tests/depth_proof.h).  Their axis-aligned
 * boxes end at their support points.
 *
 * Argument: points of a hull (default 10000), then the number of poses of each pair (default 15),
 * the seed. */
#include "models/collision/collision.h"
#include "models/geometry/shapes_private.h"
#include "models/multibody/model_private.h"
#include "tests/depth_proof.h"

#include <string.h>
#include <time.h>

enum { MOST = 20000, BUDGET = 200000 };
static const double PROVED = 1e-9; /* m; the bodies are of this order */

static perp_ctx ctx;
static perp_rng *rng;
static double cloud[2][3 * MOST];

static double uniform(double lo, double hi)
{
  return perp_rng_uniform(rng, lo, hi);
}

static void random_unit(double u[3])
{
  double len = 0;
  for (int k = 0; k < 3; k++) u[k] = perp_rng_normal(rng), len += u[k] * u[k];
  for (int k = 0; k < 3; k++) u[k] /= sqrt(len);
}

/* on an ellipsoid, on the faces of a box, or on both */
static perp_shape_def random_hull(int which, int n)
{
  const int look = perp_rng_int(rng, 3);
  double half[3], *p = cloud[which];
  for (int k = 0; k < 3; k++) half[k] = uniform(0.3, 1);
  for (int i = 0; i < n; i++) {
    random_unit(p + 3 * i);
    if (look == 1 || (look == 2 && i % 2 == 0)) {
      for (int k = 0; k < 3; k++) p[3 * i + k] = uniform(-0.7, 0.7);
      p[3 * i + i % 3] = i % 4 < 2 ? 0.7 : -0.7;
    }
    for (int k = 0; k < 3; k++) p[3 * i + k] *= half[k];
  }
  return (perp_shape_def){ .kind = PERP_SHAPE_POLYTOPE, .vertices = p, .n_vertices = n };
}

/* No plane parts the point from the body by more than PROVED. */
static bool holds(const round_body *b, const double p[3])
{
  round_body point = { .n = 1, .piece = { { .c = { p[0], p[1], p[2] } } } };
  real lower;
  int used;
  return prove_depth(b, &point, -PROVED, BUDGET, &lower, &used) == 1;
}

static void raise_to(double *w, double x)
{
  if (!(x <= *w)) *w = x;
}

/* How far the sides of the axis-aligned box are from the support points. */
static double off_box(const perp_shape *shape, const perp_pose *pose, const round_body *b)
{
  double lo[3], hi[3], worst = 0;
  perp_shape_bounds(shape, pose, lo, hi);
  for (int i = 0; i < 3; i++) {
    real e[3] = { 0 }, top[3], low[3];
    e[i] = 1;
    round_support(b, 1, e, top);
    round_support(b, -1, e, low);
    raise_to(&worst, (double)fabsl(top[i] + b->radius - hi[i]));
    raise_to(&worst, (double)fabsl(low[i] - b->radius - lo[i]));
  }
  return worst;
}

static void run_pair(const char *what, perp_shape_kind kind, int points, int poses)
{
  double lower = 0, step = 0, deeper = 0, missed = 0, outside = 0, box = 0, seconds = 0;
  int overlap = 0, done = 0, open = 0, cells = 0;
  while (done < poses) {
    perp_model *m = NULL;
    perp_shape_def s[2] = { random_hull(0, points), { .kind = kind } };
    if (kind == PERP_SHAPE_POLYTOPE) s[1] = random_hull(1, points);
    s[1].radius = uniform(0.1, 0.5), s[1].length = uniform(0.2, 1);
    for (int k = 0; k < 3; k++) s[1].half[k] = uniform(0.1, 0.6);
    if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
    for (int i = 0; i < 2; i++) {
      const perp_body_def body = { .mass = perp_mass_sphere(1, 1) };
      if (perp_model_add_body(&ctx, m, &body, &s[i].body) != PERP_OK ||
          perp_model_add_shape(&ctx, m, &s[i], NULL) != PERP_OK)
        bail("%s", ctx.msg);
    }
    if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
    for (int k = 0; k < 5 && done < poses; k++, done++) {
      perp_pose pose[2];
      perp_contact c[PERP_MANIFOLD_MAX];
      for (int i = 0; i < 2; i++) {
        double q[7];
        for (int l = 0; l < 7; l++) q[l] = l < 3 ? uniform(-0.9, 0.9) : perp_rng_normal(rng);
        perp_pose_of(3, q, &pose[i]);
      }
      double pa[3], pb[3], n[3];
      const clock_t start = clock();
      const double d = perp_shape_distance(m, 0, &pose[0], 1, &pose[1], pa, pb, n);
      const int count = perp_collide(m, 0, &pose[0], 1, &pose[1], 0.01, c);
      seconds += (double)(clock() - start) / CLOCKS_PER_SEC;
      const real u[3] = { n[0], n[1], n[2] };
      round_body a, b;
      round_body_of(&s[0], &pose[0], &a);
      round_body_of(&s[1], &pose[1], &b);
      raise_to(&box, off_box(&m->shape[0], &pose[0], &a));
      raise_to(&box, off_box(&m->shape[1], &pose[1], &b));
      raise_to(&outside, !holds(&a, pa) || !holds(&b, pb));
      raise_to(&lower, (double)fabsl(round_gap(&a, &b, u) + d));
      for (int l = 0; l < 3; l++) raise_to(&step, fabs(pb[l] - pa[l] - d * n[l]));
      if (d < 0) {
        real shallower;
        int used;
        const int answer = prove_depth(&a, &b, -d - PROVED, BUDGET, &shallower, &used);
        cells += used;
        open += answer < 0;
        overlap++;
        if (answer == 0) raise_to(&deeper, (double)(-d - shallower));
      }
      raise_to(&missed, (count > 0) != (d < 0.01));
      for (int l = 1; l < count; l++) raise_to(&missed, !(c[l].id > c[l - 1].id));
    }
    perp_model_destroy(m);
  }
  ok(overlap > 0 && overlap < done, "%s: %d poses, %d overlap, %.3g ms each, %d cells of a proof",
     what, done, overlap, 1e3 * seconds / done, cells / (overlap + 1));
  below(lower, 1e-9, "%s: the separation along the normal is the distance", what);
  below(step, 1e-9, "%s: and so is that of the witnesses", what);
  below(outside, 0, "%s: which are in the bodies", what);
  below(box, 1e-9, "%s: their boxes end at support points", what);
  below(deeper, PROVED, "%s: no direction separates more", what);
  below(open, 0, "%s: which is proved", what);
  below(missed, 0, "%s: contacts exactly when nearer than the margin, ids in order", what);
}

/* Barrels with square ends, stacked so that the ends overlap: the points are in both ends. */
static void stacked(void)
{
  enum { MANY = 2000 };
  perp_model *m;
  double *p = cloud[0], most = 0, off = 0;
  for (int i = 0; i < MANY; i++) {
    do random_unit(p + 3 * i);
    while (fabs(p[3 * i + 2]) > 0.6);
    for (int k = 0; k < 3 && i < 8; k++)
      p[3 * i + k] = (i >> k & 1 ? 0.5 : -0.5) * (k == 2 ? 2 : 1);
  }
  if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < 2; i++) {
    const perp_body_def body = { .mass = perp_mass_sphere(1, 1) };
    perp_shape_def hull = { .kind = PERP_SHAPE_POLYTOPE, .vertices = p, .n_vertices = MANY };
    if (perp_model_add_body(&ctx, m, &body, &hull.body) != PERP_OK ||
        perp_model_add_shape(&ctx, m, &hull, NULL) != PERP_OK)
      bail("%s", ctx.msg);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < 40; i++) {
    perp_pose pose[2];
    double at[2][3], n[3];
    const double q[7] = { uniform(-0.6, 0.6), uniform(-0.6, 0.6), 1.98, 1 };
    perp_pose_of(3, (const double[7]){ 0, 0, 0, 1 }, &pose[0]);
    perp_pose_of(3, q, &pose[1]);
    off = fmax(off, fabs(perp_shape_distance(m, 0, &pose[0], 1, &pose[1], at[0], at[1], n) + 0.02));
    for (int k = 0; k < 4; k++)
      most = fmax(most, fabs(at[k / 2][k % 2] - (k < 2 ? 0 : q[k % 2])) - 0.5);
  }
  below(off, PROVED, "barrels on each other: the depth");
  below(most, PROVED, "barrels on each other: points in both ends");
  perp_model_destroy(m);
}

int main(int argc, char **argv)
{
  const int points = argc > 1 ? atoi(argv[1]) : 10000, poses = argc > 2 ? atoi(argv[2]) : 15;
  if (points < 4 || points > MOST) bail("4 to %d points", MOST);
  perp_ctx_init(&ctx);
  rng = perp_rng_create(argc > 3 ? (unsigned)atoi(argv[3]) : 20260403);
  run_pair("sphere", PERP_SHAPE_SPHERE, points, poses);
  run_pair("capsule", PERP_SHAPE_CAPSULE, points, poses);
  run_pair("box", PERP_SHAPE_BOX, points, poses);
  run_pair("ellipsoid", PERP_SHAPE_ELLIPSOID, points, poses);
  run_pair("cylinder", PERP_SHAPE_CYLINDER, points, poses);
  run_pair("cone", PERP_SHAPE_CONE, points, poses);
  run_pair("hull", PERP_SHAPE_POLYTOPE, points, poses);
  /* so few that all pairs of features are asked */
  run_pair("box, 1300 points", PERP_SHAPE_BOX, 1300, 2 * poses);
  run_pair("hull, 1300 points", PERP_SHAPE_POLYTOPE, 1300, 5);
  stacked();
  perp_rng_destroy(rng);
  return tap_done();
}
