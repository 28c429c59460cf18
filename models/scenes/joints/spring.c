/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A body on a spring: it slides along x, held by a slider joint, pulled by a spring-damper to its rest.
 *
 * In joint coordinates this is the harmonic oscillator m x'' = -d x' - k x; in maximal coordinates the
 * same motion needs a joint.  The spring starts far out on the axis, so that its length is never zero and
 * its force is linear.  Solution as in the scene oscillator, with omega = sqrt(k/m), zeta = d/(2 sqrt(k m)). */
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>

struct spring_opts {
  double mass, stiffness, damping, start;
  int dim;
};
static const perp_opt options[] = {
  PERP_REAL(struct spring_opts, mass, 1, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "kg", "mass"),
  PERP_REAL(struct spring_opts, stiffness, 100, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "N/m",
            "stiffness"),
  PERP_REAL(struct spring_opts, damping, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "Ns/m",
            "damping, below the critical 2 sqrt(stiffness mass)"),
  PERP_REAL(struct spring_opts, start, 0.1, -1, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "m",
            "initial displacement"),
  PERP_INT(struct spring_opts, dim, 2, 2, 3, "2 = plane, 3 = space"),
  PERP_OPTIONS_END
};

enum { REST = 10 }; /* m, the length of the spring at rest */

static perp_status spring_exact(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  const struct spring_opts *o = user;
  (void)ctx;
  double d = o->damping / (2 * o->mass), w = sqrt(o->stiffness / o->mass - d * d);
  double c = cos(w * t), s = sin(w * t), e = exp(-d * t), b = d * o->start / w;
  const int nq = o->dim == 3 ? 7 : 3, nv = o->dim == 3 ? 6 : 3;
  for (int i = 0; i < nq; i++) q[i] = 0;
  for (int i = 0; i < nv; i++) v[i] = 0;
  if (o->dim == 3) q[3] = 1;
  q[0] = e * (o->start * c + b * s);
  v[0] = -e * (o->start * w + d * b) * s;
  return PERP_OK;
}

static perp_status spring_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct spring_opts *o = opts;
  double critical = 2 * sqrt(o->stiffness * o->mass);
  if (o->damping >= critical)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "spring.damping must be below the critical %g Ns/m: got %g", critical,
                     o->damping);
  struct spring_opts *copy = malloc(sizeof *copy);
  if (copy == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "spring: no memory");
  *copy = *o;
  PERP_TRY(perp_truth_add(ctx, scene, "closed form", HUGE_VAL, 1e-14, spring_exact, copy));

  perp_body_def body = { .name = "slider",
                         .mass = perp_mass_sphere(o->mass, 0.1),
                         .x = { o->start } };
  perp_joint_def slider = {
    .kind = PERP_JOINT_SLIDER, .a = PERP_WORLD, .b = 0, .axis_a = { 1, 0, 0 }, .axis_b = { 1, 0, 0 }
  };
  perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                            .a = PERP_WORLD,
                            .b = 0,
                            .anchor_a = { -REST, 0, 0 },
                            .stiffness = o->stiffness,
                            .damping = o->damping,
                            .length = REST };
  PERP_TRY(perp_model_create(ctx, o->dim, &scene->model));
  perp_model_gravity(scene->model, 0);
  PERP_TRY(perp_model_add_body(ctx, scene->model, &body, NULL));
  PERP_TRY(perp_model_add_joint(ctx, scene->model, &slider, NULL));
  PERP_TRY(perp_model_add_force(ctx, scene->model, &spring));
  PERP_TRY(perp_model_finish(ctx, scene->model));
  scene->t_end = 10;
  scene->h = 1e-3;
  scene->tip_body = 0;
  scene->dissipative = o->damping > 0;
  return perp_truth_reduced(ctx, scene, 60, 1e-10);
}

const perp_scene_desc perp_scene_spring = {
  .d = { .name = "spring",
         .summary = "a body sliding on a spring and damper",
         .reference = "closed form",
         .equation = "m x'' = -damping x' - stiffness x",
         .opts = options,
         .opts_size = sizeof(struct spring_opts) },
  .build = spring_build,
};
