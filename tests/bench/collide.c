/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of collision detection: per pair of kinds, and per find for many bodies.
 *
 * bench_collide [repeats]: thread CPU time, minimum over the repeats. */
#include "models/multibody/model_private.h"
#include "models/collision/collision.h"

#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;

static void stop(void)
{
  fprintf(stderr, "%s\n", ctx.msg);
  exit(1);
}

static perp_model *begin(void)
{
  perp_model *m = NULL;
  if (perp_model_create(&ctx, 3, &m) != PERP_OK) stop();
  return m;
}

static void put(perp_model *m, perp_shape_def def, double x, double y, double z)
{
  perp_body_def body = { .mass = perp_mass_sphere(1, 1), .x = { x, y, z } };
  if (def.kind == PERP_SHAPE_PLANE) {
    def.body = PERP_WORLD;
    memcpy(def.x, body.x, sizeof def.x);
  } else if (perp_model_add_body(&ctx, m, &body, &def.body) != PERP_OK) {
    stop();
  }
  if (perp_model_add_shape(&ctx, m, &def, NULL) != PERP_OK) stop();
}

static void finish(perp_model *m)
{
  if (perp_model_finish(&ctx, m) != PERP_OK) stop();
  perp_eval_poses(&m->eval, m, 0, m->q0);
}

/* ---- one pair ---- */

static const char *const name[] = { "sphere", "capsule",   "box",      "polytope",
                                    "plane",  "ellipsoid", "cylinder", "cone" };

static perp_shape_def shape(perp_shape_kind kind)
{
  /* an icosahedron: 12 vertices, 20 faces, 30 edges */
  static double v[36];
  const double phi = 0.5 * (1 + sqrt(5)), r = 0.5 / sqrt(1 + phi * phi);
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 4; i++) {
      double *p = v + 3 * (4 * k + i);
      p[k] = 0;
      p[(k + 1) % 3] = (i & 1) != 0 ? r : -r;
      p[(k + 2) % 3] = (i & 2) != 0 ? r * phi : -r * phi;
    }
  return (perp_shape_def){ .kind = kind,
                           .radius = 0.5,
                           .length = 1,
                           .half = { 0.5, 0.5, 0.5 },
                           .vertices = v,
                           .n_vertices = 12 };
}

/* random poses of b around a, so that about half of them touch */
static void bench_pair(perp_shape_kind ka, perp_shape_kind kb, int repeats)
{
  enum { POSES = 500 };
  static perp_pose pose[POSES];
  perp_model *m = begin();
  perp_contact c[PERP_MANIFOLD_MAX];
  perp_rng *rng = perp_rng_create(1);
  put(m, shape(ka), 0, 0, 0);
  put(m, shape(kb), 0, 0, 0);
  finish(m);
  if (rng == NULL) stop();
  for (int i = 0; i < POSES; i++) {
    double q[7];
    for (int k = 0; k < 3; k++) q[k] = perp_rng_uniform(rng, -0.8, 0.8);
    for (int k = 3; k < 7; k++) q[k] = perp_rng_normal(rng);
    perp_pose_of(3, q, &pose[i]);
  }
  double best = HUGE_VAL;
  int contacts = 0;
  for (int r = 0; r < repeats; r++) {
    double start = perp_clock_thread();
    contacts = 0;
    for (int i = 0; i < POSES; i++)
      contacts += perp_collide(m, 0, &m->eval.pose[-1], 1, &pose[i], 0.01, c);
    best = fmin(best, perp_clock_thread() - start);
  }
  printf("%-10s %-10s %8.0f ns/pair, %.2f contacts\n", name[ka], name[kb], 1e9 * best / POSES,
         (double)contacts / POSES);
  perp_rng_destroy(rng);
  perp_model_destroy(m);
}

/* ---- many bodies ---- */

static void bench_find(perp_model *m, const char *what, double step, int repeats)
{
  perp_collision *c = NULL;
  const perp_contact *list;
  int n = 0;
  int64_t pairs, contacts;
  perp_rng *rng = perp_rng_create(2);
  finish(m);
  if (rng == NULL || perp_collision_create(&ctx, m, 0.01, &c) != PERP_OK) stop();
  double start = perp_clock_thread();
  if (perp_collision_find(&ctx, c, m->eval.pose, &list, &n) != PERP_OK) stop();
  double cold = perp_clock_thread() - start, best = HUGE_VAL, sum = 0;
  for (int r = 0; r < repeats; r++) {
    for (int i = 0; i < m->n_bodies; i++)
      for (int k = 0; k < 3; k++) m->eval.pose[i].x[k] += step * perp_rng_uniform(rng, -1, 1);
    start = perp_clock_thread();
    if (perp_collision_find(&ctx, c, m->eval.pose, &list, &n) != PERP_OK) stop();
    double time = perp_clock_thread() - start;
    best = fmin(best, time);
    sum += time;
  }
  perp_collision_counters(c, &pairs, &contacts);
  printf("%-34s first %7.2f ms, then min %7.3f mean %7.3f ms; %d pairs, %d contacts\n", what,
         1e3 * cold, 1e3 * best, 1e3 * sum / repeats, (int)pairs, (int)contacts);
  perp_rng_destroy(rng);
  perp_collision_destroy(c);
  perp_model_destroy(m);
}

static perp_model *spheres(int nx, int ny, int nz)
{
  perp_model *m = begin();
  put(m, shape(PERP_SHAPE_PLANE), 0, 0, 0);
  for (int k = 0; k < nz; k++)
    for (int j = 0; j < ny; j++)
      for (int i = 0; i < nx; i++) put(m, shape(PERP_SHAPE_SPHERE), i, j, 0.5 + k);
  return m;
}

/* running bond of boxes 1 x 0.5 x 0.5 */
static perp_model *wall(int columns, int rows)
{
  perp_model *m = begin();
  perp_shape_def brick = { .kind = PERP_SHAPE_BOX, .half = { 0.5, 0.25, 0.25 } };
  put(m, shape(PERP_SHAPE_PLANE), 0, 0, 0);
  for (int k = 0; k < rows; k++)
    for (int i = 0; i < columns; i++) put(m, brick, i + 0.5 * (k % 2), 0, 0.25 + 0.5 * k);
  return m;
}

int main(int argc, char **argv)
{
  int repeats = argc > 1 ? atoi(argv[1]) : 30;
  perp_ctx_init(&ctx);
  for (int a = PERP_SHAPE_SPHERE; a <= PERP_SHAPE_CONE; a++)
    for (int b = a; b <= PERP_SHAPE_CONE; b++) {
      if (a == PERP_SHAPE_PLANE && b == PERP_SHAPE_PLANE) continue;
      bench_pair((perp_shape_kind)a, (perp_shape_kind)b, repeats);
    }
  bench_find(spheres(22, 22, 21), "10 164 spheres in a cube, at rest", 0, repeats);
  bench_find(spheres(22, 22, 21), "the same, moving by 1e-4", 1e-4, repeats);
  bench_find(spheres(22, 22, 21), "the same, moving by 1e-2", 1e-2, repeats);
  bench_find(spheres(100, 100, 1), "10 000 spheres on a plane, at rest", 0, repeats);
  bench_find(wall(40, 20), "wall of 800 boxes, at rest", 0, repeats);
  bench_find(wall(40, 20), "the same, moving by 1e-4", 1e-4, repeats);
  return 0;
}
