/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stiff flyball governor: a shaft turning freely about z, a slider on it, two rods with a mass at
 * their ends hinged to its top, and springs with strong dampers between slider and rods; IFToMM
 * library A05.
 *
 * The springs hold the slider at a rate of about 1e4 1/s while the governor swings in seconds:
 * implicit methods can make steps of 10 ms, explicit ones cannot.  phi: angle of the shaft; s:
 * height of the slider, the marked point; beta: of the rods below the horizontal. */
#include "models/scenes/mechanism.h"

#include <math.h>
#include <string.h>

struct flyball_opts {
  double stiffness, damping, omega;
};
static const struct flyball_opts benchmark = { 8e5, 4e4, 2 * M_PI };
static const perp_opt options[] = {
  PERP_OPT_NONNEGATIVE(struct flyball_opts, stiffness, 8e5, "N/m", "Stiffness of each spring."),
  PERP_OPT_NONNEGATIVE(struct flyball_opts, damping, 4e4, "N s/m", "Damping of each damper."),
  PERP_OPT_FINITE(struct flyball_opts, omega, 2 * M_PI, "rad/s",
                  "Initial angular velocity of the shaft."),
  PERP_OPTIONS_END
};

enum { SHAFT, SLIDER, ROD1, ROD2, BODIES };

static const double top = 1, arm = 0.05, half = 0.5; /* m: height of the hinges, their distance from
                                                        the axis, middle of the rods */

/* rod of 0.3 kg along x and 5 kg at its end; *centre: of mass, from the hinge */
static perp_mass rod_mass(double *centre)
{
  perp_mass rod = perp_mass_box(0.3, 1, 0.01, 0.01);
  const double ball = 5, mass = rod.mass + ball, c = (rod.mass * half + ball * 1) / mass;
  const double moved = rod.mass * (c - half) * (c - half) + ball * (1 - c) * (1 - c);
  rod.mass = mass;
  rod.inertia[4] += moved;
  rod.inertia[8] += moved;
  *centre = c;
  return rod;
}

/* row: phi, s, beta, dphi, ds, dbeta */
static void flyball_map(void *user, double t, const double *row, double *q, double *v)
{
  const double s = row[1], beta = row[2], dphi = row[3], ds = row[4], dbeta = row[5];
  double c;
  (void)user, (void)t;
  rod_mass(&c);
  const double centre[2] = { half, s }, rate[2] = { 0, ds };
  for (int i = 0; i < 2; i++) { /* shaft, slider */
    const double pose[7] = { 0, 0, centre[i], cos(row[0] / 2), 0, 0, sin(row[0] / 2) };
    const double speed[6] = { 0, 0, rate[i], 0, 0, dphi };
    memcpy(q + 7 * i, pose, sizeof pose);
    memcpy(v + 6 * i, speed, sizeof speed);
  }
  for (int i = 0; i < 2; i++) { /* rods: turned by beta about y, then by phi or phi + pi about z */
    const double phi = row[0] + i * M_PI, r = arm + c * cos(beta), dr = -c * sin(beta) * dbeta;
    const double cp = cos(phi / 2), sp = sin(phi / 2), cb = cos(beta / 2), sb = sin(beta / 2);
    const double pose[7] = { r * cos(phi), r * sin(phi), top - c * sin(beta), cp * cb, -sp * sb,
                             cp * sb,      sp * cb };
    const double speed[6] = { dr * cos(phi) - r * dphi * sin(phi),
                              dr * sin(phi) + r * dphi * cos(phi),
                              -c * cos(beta) * dbeta,
                              -dphi * sin(beta),
                              dbeta,
                              dphi * cos(beta) };
    memcpy(q + 7 * (ROD1 + i), pose, sizeof pose);
    memcpy(v + 6 * (ROD1 + i), speed, sizeof speed);
  }
}

static perp_status add_springs(perp_ctx *ctx, perp_model *model, const struct flyball_opts *opts,
                               double c)
{
  for (int i = 0; i < 2; i++) {
    const perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                                    .a = SLIDER,
                                    .b = ROD1 + i,
                                    .anchor_a = { i == 0 ? arm : -arm, 0, 0 },
                                    .anchor_b = { half - c, 0, 0 },
                                    .stiffness = opts->stiffness,
                                    .damping = opts->damping,
                                    .length = 0.5 };
    PERP_TRY(perp_model_add_force(ctx, model, &spring));
  }
  return PERP_OK;
}

static perp_status flyball_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  static const char *const columns[] = { "phi", "s", "beta", "dphi", "ds", "dbeta" };
  static const char *const names[BODIES] = { "shaft", "slider", "rod 1", "rod 2" };
  static const double z[3] = { 0, 0, 1 }, y[3] = { 0, 1, 0 }, origin[3] = { 0 };
  const struct flyball_opts *chosen = opts;
  const double start[6] = { 0, 0.5, M_PI / 6, chosen->omega, 0, 0 };
  double q[7 * BODIES], v[6 * BODIES], c;
  const perp_mass rod = rod_mass(&c);
  const perp_mass mass[BODIES] = { perp_mass_box(0.3, 0.01, 0.01, 1),
                                   perp_mass_box(3, 0.1, 0.1, 0.1), rod, rod };
  flyball_map(NULL, 0, start, q, v);
  PERP_TRY(perp_model_create(ctx, 3, &scene->model));
  for (int i = 0; i < BODIES; i++) {
    perp_body_def def = perp_body_at(3, mass[i], i, q, v);
    def.name = names[i];
    PERP_TRY(perp_model_add_body(ctx, scene->model, &def, NULL));
  }
  perp_model *model = scene->model;
  PERP_TRY(perp_mechanism_join(ctx, model, PERP_JOINT_HINGE, PERP_WORLD, SHAFT, origin, z));
  PERP_TRY(perp_mechanism_join(ctx, model, PERP_JOINT_SLIDER, SHAFT, SLIDER, q + 7 * SLIDER, z));
  for (int i = 0; i < 2; i++) {
    const double hinge[3] = { i == 0 ? arm : -arm, 0, top };
    PERP_TRY(perp_mechanism_join(ctx, model, PERP_JOINT_HINGE, SHAFT, ROD1 + i, hinge, y));
  }
  PERP_TRY(add_springs(ctx, model, chosen, c));
  /* 1e-4 s is what explicit methods need; implicit ones can take 1e-2 */
  PERP_TRY(perp_scene_finish(ctx, scene, 9.81, 10, 1e-4));
  scene->tip_body = SLIDER; /* err.tip is the error of s */
  scene->dissipative = chosen->damping > 0;
  if (memcmp(chosen, &benchmark, sizeof benchmark) != 0) return PERP_OK;
  return perp_truth_file(ctx, scene, "A05_flyball.csv", 1e-15, 6, columns, flyball_map, NULL, 0);
}

const perp_scene_desc perp_scene_flyball = {
  .d = { .name = "flyball",
         .summary = "Stiff flyball governor: implicit methods succeed at 10 ms, explicit ones fail",
         .reference = "library of computational benchmark problems of IFToMM, A05; reference "
                      "solution of perp",
         PERP_OPTIONS(options, struct flyball_opts) },
  .build = flyball_build,
};
