/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ball with its centre of mass off its middle turns over by sliding friction.  Jellett's constant
 * L . r (r from the centre of mass to the contact) is kept by any contact force. */
#include "models/geometry/kinematics.h"
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <string.h>

struct tippe_opts {
  double spin, tilt, radius, offset, mass, mu, gravity;
};
static const perp_opt tippe_options[] = {
  PERP_OPT_FINITE(struct tippe_opts, spin, 155, "rad/s",
                  "Initial angular velocity about the axis of the top."),
  PERP_REAL(struct tippe_opts, tilt, 0.1, 0, M_PI, 0, "rad",
            "Initial angle of the axis from the vertical."),
  PERP_OPT_POSITIVE(struct tippe_opts, radius, 0.02, "m", "Radius of the top."),
  PERP_REAL(struct tippe_opts, offset, 0.3, 0, 1, PERP_OPEN_MAX, "",
            "Distance of the centre of mass below the centre of the sphere, in radii."),
  PERP_OPT_POSITIVE(struct tippe_opts, mass, 0.02, "kg", "Mass of the top."),
  PERP_OPT_MU(struct tippe_opts, mu, 0.3),
  PERP_OPT_POSITIVE(struct tippe_opts, gravity, 9.82, "m/s^2", "Gravitational acceleration."),
  PERP_OPTIONS_END
};

struct jellett {
  double R, offset, I1, I3, first, worst;
  bool started;
};

static void jellett_sample(void *user, double t, const double *q, const double *v,
                           const perp_step_info *info)
{
  struct jellett *g = user;
  double rot[9], L[3], r[3];
  (void)t, (void)info;
  perp_quat_matrix(q + 3, rot);
  const double body[3] = { g->I1 * v[3], g->I1 * v[4], g->I3 * v[5] };
  perp_turn(3, rot, body, L);
  for (int i = 0; i < 3; i++) r[i] = g->offset * rot[6 + i] - (i == 2 ? g->R : 0);
  const double now = perp_dot(3, L, r);
  if (!g->started) g->first = now;
  g->started = true;
  const double err = fabs(now - g->first);
  if (!(err <= g->worst) && !isnan(g->worst)) g->worst = err;
}

static double jellett_value(const void *user)
{
  const struct jellett *jellett = user;
  return jellett->started && jellett->first != 0 ? jellett->worst / fabs(jellett->first) : nan("");
}

static perp_status build_tippe(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct tippe_opts *chosen = opts;
  const double R = chosen->radius, a = chosen->offset * R, c = cos(chosen->tilt);
  const double I3 = 0.4 * chosen->mass * R * R, I1 = 131.0 / 350 * chosen->mass * R * R;
  perp_builder builder = perp_build_begin(ctx, scene, 3, chosen->gravity, chosen->mu, 0);
  perp_build_floor(&builder);
  perp_body_def def = { .name = "top",
                        .mass = { chosen->mass, { I1, 0, 0, 0, I1, 0, 0, 0, I3 } },
                        .x = { 0, 0, R - a * c },
                        .quat = { cos(chosen->tilt / 2), sin(chosen->tilt / 2), 0, 0 },
                        .w = { 0, 0, chosen->spin } };
  if (builder.status == PERP_OK)
    builder.status = perp_model_add_body(ctx, scene->model, &def, NULL);
  perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .x = { 0, 0, a }, .radius = R };
  perp_build_shape(&builder, &ball);
  PERP_TRY(perp_build_end(&builder, R, 8));
  scene->h = 5e-4;
  const struct jellett jellett = { .R = R, .offset = a, .I1 = I1, .I3 = I3 };
  return perp_gauge_add(ctx, scene, "invariant.rel.max", &jellett, sizeof jellett, jellett_sample,
                        jellett_value);
}

const perp_scene_desc perp_scene_tippe_top = {
  .d = { .name = "tippe-top",
         .summary = "Top that turns over by sliding friction; Jellett's constant is conserved",
         .reference = "Jellett 1872, with Coulomb friction",
         .equation = "L . r = const",
         PERP_OPTIONS(tippe_options, struct tippe_opts) },
  .build = build_tippe,
};
