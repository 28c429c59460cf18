/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A body on a spring: it slides along x, held by a slider joint, pulled by a spring-damper to its
 * rest.
 *
 * In joint coordinates this is the harmonic oscillator m x'' = -d x' - k x; in maximal coordinates
 * the same motion needs a joint.  The spring starts far out on the axis, so that its length is
 * never zero and its force is linear.  Solution as in the scene oscillator, with omega = sqrt(k/m),
 * zeta = d/(2 sqrt(k m)). */
#include "models/scenes/build.h"

#include <math.h>

struct spring_opts {
  double mass, stiffness, damping, start;
  int dim;
};
static const perp_opt options[] = {
  PERP_OPT_POSITIVE(struct spring_opts, mass, 1, "kg", "mass"),
  PERP_OPT_POSITIVE(struct spring_opts, stiffness, 100, "N/m", "stiffness"),
  PERP_OPT_NONNEGATIVE(struct spring_opts, damping, 0, "Ns/m",
                       "damping, below the critical 2 sqrt(stiffness mass)"),
  PERP_REAL(struct spring_opts, start, 0.1, -1, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "m",
            "initial displacement"),
  PERP_OPT_DIM(struct spring_opts, 2),
  PERP_OPTIONS_END
};

enum { REST = 10 }; /* m, the length of the spring at rest */

static void spring_exact(void *user, double t, double *q, double *v)
{
  const struct spring_opts *o = user;
  double d = o->damping / (2 * o->mass), w = sqrt(o->stiffness / o->mass - d * d);
  double c = cos(w * t), s = sin(w * t), e = exp(-d * t), b = d * o->start / w;
  const perp_planar at = { .x = e * (o->start * c + b * s), .vx = -e * (o->start * w + d * b) * s };
  perp_planar_state(o->dim, 0, &at, q, v);
}

static perp_status spring_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct spring_opts *o = opts;
  double critical = 2 * sqrt(o->stiffness * o->mass);
  if (o->damping >= critical)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "spring.damping must be below the critical %g Ns/m: got %g", critical,
                     o->damping);
  PERP_TRY(perp_truth_add(ctx, scene, "closed form", 1e-14, spring_exact, o, sizeof *o));
  perp_body_def body = { .name = "slider",
                         .mass = perp_mass_sphere(o->mass, 0.1),
                         .x = { o->start } };
  const perp_joint_def slider = perp_scene_joint(PERP_JOINT_SLIDER, NULL, PERP_WORLD, 0, 0);
  perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                            .a = PERP_WORLD,
                            .b = 0,
                            .anchor_a = { -REST, 0, 0 },
                            .stiffness = o->stiffness,
                            .damping = o->damping,
                            .length = REST };
  const perp_scene_parts parts = {
    .dim = o->dim, .body = &body, .joint = &slider, .force = &spring
  };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, 10, 1e-3));
  scene->dissipative = o->damping > 0;
  return perp_truth_reduced(ctx, scene, 60, 1e-10);
}

const perp_scene_desc perp_scene_spring = {
  .d = { .name = "spring",
         .summary = "a body sliding on a spring and damper",
         .reference = "closed form",
         .equation = "m x'' = -damping x' - stiffness x",
         PERP_OPTIONS(options, struct spring_opts) },
  .build = spring_build,
};
