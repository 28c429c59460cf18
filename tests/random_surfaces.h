/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random triangle meshes and height fields, and poses of a body at them. */
#ifndef PERP_RANDOM_SURFACES_H
#define PERP_RANDOM_SURFACES_H

#include "models/geometry/kinematics.h"
#include "models/multibody/model.h"
#include "models/geometry/shape.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

enum { SURFACE_SIDE = 5, SURFACE_TRIANGLES = 2 * (SURFACE_SIDE - 1) * (SURFACE_SIDE - 1) };

typedef struct surface {
  perp_shape_def def;
  int n;
  double heights[SURFACE_SIDE * SURFACE_SIDE], vertices[3 * SURFACE_SIDE * SURFACE_SIDE];
  int triangles[3 * SURFACE_TRIANGLES];
} surface;

/* Flat, smooth and rough grids, steps, walls; some vertices moved sideways, some triangles left out
 * or turned over. */
static inline void random_surface(perp_rng *rng, perp_shape_kind kind, surface *s)
{
  const int look = perp_rng_int(rng, 6);
  const double rough = look == 0 ? 0 : look < 3 ? 0.05 : look < 5 ? 0.4 : 1.5;
  memset(s, 0, sizeof *s);
  s->def = (perp_shape_def){ .kind = kind, .body = PERP_WORLD };
  for (int k = 0; k < 2; k++)
    s->def.grid[k] = SURFACE_SIDE, s->def.spacing[k] = perp_rng_uniform(rng, 0.2, 0.8);
  s->def.depth = perp_rng_uniform(rng, 1, 3);
  for (int i = 0; i < SURFACE_SIDE * SURFACE_SIDE; i++) {
    s->heights[i] = rough * perp_rng_uniform(rng, -1, 1);
    if (look == 4) s->heights[i] = i % SURFACE_SIDE < SURFACE_SIDE / 2 ? 0 : 0.3;
    s->vertices[3 * i] = (i % SURFACE_SIDE) * s->def.spacing[0];
    if (look == 2 && kind == PERP_SHAPE_MESH)
      s->vertices[3 * i] += perp_rng_uniform(rng, -0.05, 0.05);
    s->vertices[3 * i + 1] = (i / SURFACE_SIDE) * s->def.spacing[1];
    s->vertices[3 * i + 2] = s->heights[i];
  }
  int n = 0;
  for (int j = 0; j + 1 < SURFACE_SIDE; j++)
    for (int i = 0; i + 1 < SURFACE_SIDE; i++)
      for (int k = 0; k < 2; k++) {
        const int o = i + SURFACE_SIDE * j, across = o + SURFACE_SIDE + 1;
        const int upper[3] = { o, o + 1, across }, lower[3] = { o, across, o + SURFACE_SIDE };
        const bool mesh = kind == PERP_SHAPE_MESH;
        if (mesh && perp_rng_int(rng, 10) == 0) continue;
        memcpy(s->triangles + 3 * n, k == 0 ? upper : lower, sizeof upper);
        if (mesh && perp_rng_int(rng, 10) == 0) {
          s->triangles[3 * n] = (k == 0 ? upper : lower)[1];
          s->triangles[3 * n + 1] = (k == 0 ? upper : lower)[0];
        }
        n++;
      }
  s->n = n;
  s->def.heights = s->heights;
  s->def.vertices = s->vertices;
  s->def.n_vertices = SURFACE_SIDE * SURFACE_SIDE;
  s->def.triangles = s->triangles;
  s->def.n_triangles = n;
}

/* how far the prism under each triangle reaches down; 0: a triangle is flat */
static inline double surface_down(const surface *s)
{
  return s->def.kind == PERP_SHAPE_MESH ? 0 : s->def.depth;
}

/* beside it, above it or in it, and right over a vertex */
static inline void random_pose(perp_rng *rng, const surface *s, perp_pose *pose)
{
  double q[7];
  const int look = perp_rng_int(rng, 5), at = perp_rng_int(rng, SURFACE_SIDE * SURFACE_SIDE);
  for (int k = 0; k < 2; k++)
    q[k] = perp_rng_uniform(rng, -0.3, 1.2) * (SURFACE_SIDE - 1) * s->def.spacing[k];
  q[2] = perp_rng_uniform(rng, -0.6, 1.5);
  if (look == 0) /* over a vertex */
    for (int k = 0; k < 2; k++) q[k] = s->vertices[3 * at + k];
  for (int k = 3; k < 7; k++) q[k] = look < 2 ? k == 3 : perp_rng_normal(rng);
  perp_pose_of(3, q, pose);
}

/* The surface, shape 0, and a body with a shape, number 1: or the end of the test. */
static inline perp_model *surface_model(perp_ctx *ctx, const surface *s, perp_shape_def def)
{
  perp_model *m = NULL;
  const perp_body_def body = { .mass = perp_mass_sphere(1, 1) };
  if (perp_model_create(ctx, 3, &m) != PERP_OK ||
      perp_model_add_body(ctx, m, &body, &def.body) != PERP_OK ||
      perp_model_add_shape(ctx, m, &s->def, NULL) != PERP_OK ||
      perp_model_add_shape(ctx, m, &def, NULL) != PERP_OK || perp_model_finish(ctx, m) != PERP_OK)
    bail("%s", ctx->msg);
  return m;
}

#endif
