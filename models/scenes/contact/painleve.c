/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Painleve's rod: a thin uniform rod, half length l, slides with one end on the floor, its
 * centre above and behind the contact.  With theta from the horizontal, while it slides forwards,
 *
 *   u_n' = p lambda_n + b,  p = (1/m)(1 + 3 cos th (cos th - mu sin th)),  b = l theta'^2 sin th -
 * g
 *
 * For mu > 4/3 there are angles with p < 0. With b < 0 no force then gives an acceleration that
 * does not penetrate: the acceleration level is infeasible and a solver of it must say so; with
 * acceleration:critical=stop the bodies are stopped.  This is so at the start: from sliding with
 * p > 0 a rod comes to p = 0 only where b = 0 as well (Genot & Brogliato 1999).  The impulse form
 * has exactly one solution, an impact without approach that stops the slip.  In the limit h -> 0,
 *
 *   (lambda_n, lambda_t) from  [A_nn A_nt; A_nt A_tt] lambda = (0, -u_0),
 *   A_nn = (1 + 3 cos^2)/m, A_tt = (1 + 3 sin^2)/m, A_nt = 3 sin cos/m  (I = m l^2/3)
 *
 * with |lambda_t| / lambda_n = A_nn / A_nt <= mu, which is p <= 0.  Time stepping comes within g h
 * of these velocities.  Where p > 0 and b < 0, lambda_n = -b/p at t = 0. */
#include "models/scenes/scene_builder.h"

#include <math.h>

struct rod_opts {
  double theta, mu, speed, spin, half, mass, gravity;
  int dim;
};
static const perp_opt options[] = {
  PERP_REAL(struct rod_opts, theta, 1.1071487177940904, 0, M_PI_2, PERP_OPEN_MIN | PERP_OPEN_MAX,
            "rad", "Angle of the rod from the floor. The default 63.4349 deg has the tangent 2."),
  PERP_OPT_MU(struct rod_opts, mu, 2),
  PERP_OPT_POSITIVE(struct rod_opts, speed, 10, "m/s", "Initial slip velocity of the contact."),
  PERP_OPT_FINITE(struct rod_opts, spin, 0, "rad/s", "Initial angular velocity of the rod."),
  PERP_OPT_POSITIVE(struct rod_opts, half, 1, "m", "Half the length of the rod."),
  PERP_OPT_POSITIVE(struct rod_opts, mass, 1, "kg", "Mass of the rod."),
  PERP_OPT_G(struct rod_opts),
  PERP_OPT_DIM(struct rod_opts, 2),
  PERP_OPTIONS_END
};

static perp_status painleve_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct rod_opts *o = opts;
  const double c = cos(o->theta), s = sin(o->theta), l = o->half, m = o->mass;
  const double p = (1 + 3 * c * (c - o->mu * s)) / m, b = l * o->spin * o->spin * s - o->gravity;
  perp_builder builder = perp_build_begin(ctx, scene, o->dim, o->gravity, o->mu, 0);
  perp_build_floor(&builder);
  /* theta falls where the rod turns from x to the height: the contact end points along (c, -s).
   * Its velocity is (speed, 0) = v + spin of the body x arm, with the body's rate -theta' */
  const double rate = -o->spin, arm[2] = { l * c, -l * s };
  const double centre[3] = { -l * c, 0, l * s };
  builder.spin = rate;
  builder.v[0] = o->speed + rate * arm[1];
  builder.v[2] = -rate * arm[0];
  const double v0[2] = { builder.v[0], builder.v[2] };
  const int rod = perp_build_needle(&builder, "rod", m, l, centre, o->theta);
  PERP_TRY(perp_build_end(&builder, l, 0.1));
  if (p < 0 && b < 0) {
    const double nn = 1 + 3 * c * c, tt = 1 + 3 * s * s, nt = 3 * s * c, det = nn * tt - nt * nt;
    const double normal = o->speed * nt / det, friction = -o->speed * nn / det; /* per m */
    const double turn = 3 * (arm[0] * normal - arm[1] * friction) / (l * l);
    const perp_planar after = { .vx = v0[0] + friction,
                                .vheight = v0[1] + normal,
                                .rate = rate + turn };
    return perp_gauge_planar_velocity(ctx, scene, 1e-9, l, &after, o->speed);
  }
  if (p > 0 && b < 0) {
    /* the angle changes, so that this holds at the start: a = (-mu, 1) lambda / m - g over 2 ms */
    const double lambda = -b / p;
    const double a[3] = { -o->mu * lambda / m, 0, lambda / m - o->gravity };
    scene->h = 1e-3;
    return perp_gauge_accel(ctx, scene, rod, a, o->gravity, 0, 2e-3);
  }
  return PERP_OK;
}

const perp_scene_desc perp_scene_painleve = {
  .d = { .name = "painleve",
         .summary = "Painleve's rod: accelerations have no solution, an impulse stops the slip",
         .reference = "closed form; Painleve 1895, Stewart & Trinkle 1996",
         .equation = "u_n' = (1 + 3 cos(cos - mu sin)) lambda_n / m + l theta'^2 sin - g",
         PERP_OPTIONS(options, struct rod_opts) },
  .build = painleve_build,
};
