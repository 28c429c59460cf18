/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A block on a spring with Coulomb friction: m = 1, k = 100, mu = 0.1, x_0 = 0.2.
 *
 * Between turning points the friction is constant: half cosines of frequency w = sqrt(k/m) about
 * +-x_f, x_f = mu m g / k, so that |x| falls by 2 x_f from one turning point (at i pi / w) to the
 * next; the block stays at the first one with |x| <= x_f.
 *
 * The spring pulls along the line through the centre of mass, and the contact is at the centre of
 * mass too (a ball of the contact geometry that is centred above it): nothing turns the block. */
#include "models/scenes/scene_builder.h"

#include <math.h>

struct osc_opts {
  double mass, stiffness, mu, x0, gravity;
  int dim;
};
static const perp_opt options[] = {
  PERP_OPT_POSITIVE(struct osc_opts, mass, 1, "kg", "Mass of the block."),
  PERP_OPT_POSITIVE(struct osc_opts, stiffness, 100, "N/m", "Stiffness of the spring."),
  PERP_OPT_MU(struct osc_opts, mu, 0.1),
  PERP_OPT_POSITIVE(struct osc_opts, x0, 0.2, "m", "Initial extension of the spring."),
  PERP_OPT_G(struct osc_opts),
  PERP_OPT_DIM(struct osc_opts, 3),
  PERP_OPTIONS_END
};

static double friction_length(const struct osc_opts *opts)
{
  return opts->mu * opts->mass * opts->gravity / opts->stiffness;
}

/* half swings before the block stays: the least i with x_0 - 2 i x_f <= x_f */
static double coulomb_oscillator_swings(const struct osc_opts *opts)
{
  const double f = friction_length(opts);
  return f > 0 ? fmax(0, ceil((opts->x0 - f) / (2 * f) - 1e-12)) : HUGE_VAL;
}

static void coulomb_oscillator_exact(void *user, double t, double *q, double *v)
{
  const struct osc_opts *opts = user;
  const double w = sqrt(opts->stiffness / opts->mass), f = friction_length(opts),
               last = coulomb_oscillator_swings(opts);
  const double i = fmin(last, floor(t * w / M_PI));
  const double sign = fmod(i, 2) == 0 ? 1 : -1;
  const double turn = opts->x0 - 2 * i * f; /* |x| at turning point i */
  double x = sign * turn, rate = 0;
  if (i < last) {
    const double phase = w * t - i * M_PI;
    x = sign * ((turn - f) * cos(phase) + f);
    rate = -sign * (turn - f) * w * sin(phase);
  }
  const perp_planar block = { .x = x, .vx = rate };
  perp_planar_state(opts->dim, 0, &block, q, v);
}

/* time of the state from which on the block does not move any more */
struct stop {
  double still, exact, time; /* m/s, s, s */
  bool moves;
};

static void stop_sample(void *user, double t, const double *q, const double *v,
                        const perp_step_info *info)
{
  struct stop *g = user;
  (void)q;
  const bool moves = !(fabs(v[0]) <= g->still);
  if (g->moves && !moves) g->time = t;
  g->moves = moves || info == NULL; /* it starts at rest to move */
}

static double stop_value(const void *user)
{
  const struct stop *stop = user;
  return stop->moves ? HUGE_VAL : fabs(stop->time - stop->exact);
}

static perp_status coulomb_oscillator_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct osc_opts *chosen = opts;
  enum { REACH = 10 }; /* anchor this far away, in x0, so that the block never passes it */
  perp_builder builder = perp_build_begin(ctx, scene, chosen->dim, chosen->gravity, chosen->mu, 0);
  const double radius = 0.1;
  perp_build_floor(&builder);
  const double p[3] = { chosen->x0, 0, 0 };
  const int block = perp_build_foot(&builder, "block", chosen->mass, radius, p, 0, 0);
  const perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                                  .a = PERP_WORLD,
                                  .b = block,
                                  .anchor_a = { -REACH * chosen->x0, 0, 0 },
                                  .stiffness = chosen->stiffness,
                                  .length = REACH * chosen->x0 };
  perp_build_force(&builder, &spring);
  const double half = M_PI / sqrt(chosen->stiffness / chosen->mass),
               n = coulomb_oscillator_swings(chosen);
  PERP_TRY(perp_build_end(&builder, chosen->x0, half * fmin(n + 2, 20)));
  scene->tip_body = 0;
  PERP_TRY(perp_truth_add(ctx, scene, "closed form: half cosines", 1e-14, coulomb_oscillator_exact,
                          chosen, sizeof *chosen));
  if (!(n <= 18)) return PERP_OK;
  const struct stop stop = { .still = 1e-9 * chosen->x0, .exact = n * half, .moves = true };
  return perp_gauge_add(ctx, scene, "event.err", &stop, sizeof stop, stop_sample, stop_value);
}

const perp_scene_desc perp_scene_coulomb_oscillator = {
  .d = { .name = "coulomb-oscillator",
         .summary =
             "Block on a spring with dry friction: each swing loses 2 mu m g / k, then it sticks",
         .reference = "closed form: half cosines",
         .equation = "m x'' + k x = -mu m g sign(x')",
         PERP_OPTIONS(options, struct osc_opts) },
  .build = coulomb_oscillator_build,
};
