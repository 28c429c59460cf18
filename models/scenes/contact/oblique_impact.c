/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A spinning ball hits the floor obliquely, without gravity.
 *
 * Newton restitution e along the normal, Coulomb friction, no tangential restitution.  With the
 * slip u = v_x - R omega (omega > 0 rolls to the right) and the approach v_n > 0, the normal
 * impulse is m (1 + e) v_n. The contact sticks, u+ = 0, iff the impulse this needs, m |u| / (1 +
 * 1/k), is in the cone: |u| <= (1 + 1/k) mu (1 + e) v_n (3.5 for a sphere, k = 2/5); else the
 * friction impulse is mu m (1 + e) v_n against u. */
#include "models/scenes/scene_builder.h"

#include <math.h>

struct impact_opts {
  double vx, vn, spin, radius, mass, mu, e;
  int dim;
};
static const perp_opt options[] = {
  PERP_OPT_FINITE(struct impact_opts, vx, 3, "m/s", "velocity along the floor"),
  PERP_OPT_POSITIVE(struct impact_opts, vn, 4, "m/s", "velocity towards the floor"),
  PERP_OPT_FINITE(struct impact_opts, spin, 0, "rad/s", "positive when it would roll along vx"),
  PERP_OPT_POSITIVE(struct impact_opts, radius, 0.1, "m", "radius"),
  PERP_OPT_POSITIVE(struct impact_opts, mass, 1, "kg", "mass"),
  PERP_OPT_MU(struct impact_opts, mu, 0.2),
  PERP_REAL(struct impact_opts, e, 0.8, 0, 1, 0, "", "restitution"),
  PERP_OPT_DIM(struct impact_opts, 3),
  PERP_OPTIONS_END
};

struct impact {
  int dim;
  double R, t;               /* of the impact */
  double vx[2], vn[2], w[2]; /* before and after */
};

static void oblique_impact_solve(const struct impact_opts *o, struct impact *i)
{
  const double k = 0.4, u = o->vx - o->radius * o->spin;
  const double normal = (1 + o->e) * o->vn; /* impulse / m */
  double friction = -u / (1 + 1 / k);
  if (fabs(friction) > o->mu * normal) friction = copysign(o->mu * normal, -u);
  i->vx[0] = o->vx, i->vn[0] = -o->vn, i->w[0] = o->spin;
  i->vx[1] = o->vx + friction;
  i->vn[1] = o->e * o->vn;
  i->w[1] = o->spin - friction / (k * o->radius);
}

static void oblique_impact_exact(void *user, double t, double *q, double *v)
{
  const struct impact *i = user;
  const int after = t >= i->t;
  const double s = t - i->t;
  const perp_planar ball = {
    .x = i->vx[0] * i->t + s * i->vx[after],
    .height = i->R + s * i->vn[after],
    .angle = -i->w[0] * i->t - i->w[after] * s,
    .vx = i->vx[after],
    .vheight = i->vn[after],
    .rate = -i->w[after],
  };
  perp_planar_state(i->dim, 0, &ball, q, v);
}

static perp_status oblique_impact_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct impact_opts *o = opts;
  perp_builder y = perp_build_begin(ctx, scene, o->dim, 0, o->mu, o->e);
  perp_build_floor(&y);
  struct impact i = { .dim = o->dim, .R = o->radius, .t = 0.1 };
  const double p[3] = { 0, 0, o->radius + o->vn * i.t };
  y.v[0] = o->vx;
  y.v[2] = -o->vn;
  y.spin = -o->spin;
  perp_build_ball(&y, "ball", o->mass, o->radius, 0.4, p);
  PERP_TRY(perp_build_end(&y, o->radius, 0.2));
  scene->tip_body = 0;
  oblique_impact_solve(o, &i);
  double q[7], v[6], weight[6] = { 1, 1, 1, i.R, i.R, i.R };
  if (o->dim == 2) weight[2] = i.R;
  PERP_TRY(perp_truth_add(ctx, scene, "closed form", 1e-15, oblique_impact_exact, &i, sizeof i));
  oblique_impact_exact(&i, 0.19, q, v);
  return perp_gauge_velocity(ctx, scene, "impact.rel.err", 0.19, weight, v, o->vn);
}

const perp_scene_desc perp_scene_oblique_impact = {
  .d = { .name = "oblique-impact",
         .summary = "a spinning ball hits the floor obliquely: sticks or slips in the impact",
         .reference = "closed form",
         .equation = "sticks iff |vx - R w| <= 3.5 mu (1 + e) vn",
         PERP_OPTIONS(options, struct impact_opts) },
  .build = oblique_impact_build,
};
