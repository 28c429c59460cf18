/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What bench_engines asks of an engine: a world of boxes, balls, cylinders, cones and planes,
 * stepped.  One file for each. */
#ifndef TESTS_BENCH_ENGINES_H
#define TESTS_BENCH_ENGINES_H

#ifdef __cplusplus
extern "C" {
#endif

/* cylinders and cones: along x, a cone from its base to its apex */
enum bench_kind { BENCH_BOX, BENCH_BALL, BENCH_PLANE, BENCH_CYLINDER, BENCH_CONE };

/* A body with one shape in its centre, or a fixed shape.  SI; in the plane x, y and the angle about
 * z. */
typedef struct bench_body {
  enum bench_kind kind;
  int fixed;
  double mass, inertia[3];        /* about its axes */
  double half[3], radius, length; /* the centre of mass of a cone is length / 4 above its base */
  double x[3], quat[4], angle;    /* quat (w, x, y, z) */
  double v[3], w[3];              /* w in the world */
  double normal[3];               /* of a plane through x */
} bench_body;

typedef struct bench_world {
  int dim, bodies;
  const bench_body *body;
  double mu, gravity; /* along -z, in the plane -y */
} bench_world;

typedef struct bench_engine {
  const char *name;
  int dim, cones; /* has cones */
  /* sweeps: iterations of its solver; the rest as the engine has it, without sleep */
  void *(*create)(const bench_world *world, int sweeps);
  void (*step)(void *at, double h);
  /* q: (x, y, z, w, x, y, z) of each body that moves, or (x, y, angle) */
  void (*state)(void *at, double *q);
  void (*destroy)(void *at);
} bench_engine;

extern const bench_engine bench_ode, bench_bullet, bench_box2d;

#ifdef __cplusplus
}
#endif

#endif
