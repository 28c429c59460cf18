/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Circle field  q' = rate (-y, x) : a plain first-order problem.  Explicit Euler spirals outwards
 * by sqrt(1 + (rate h)^2) a step at every step size; implicit midpoint stays on the circle.
 * Solution: radius (cos, sin)(rate t). */
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>

struct circle_opts {
  double rate, radius;
};
static const perp_opt options[] = {
  PERP_OPT_FINITE(struct circle_opts, rate, 1, "rad/s", "Angular velocity on the circle."),
  PERP_OPT_POSITIVE(struct circle_opts, radius, 1, "m", "Radius of the circle."), PERP_OPTIONS_END
};

struct circle {
  perp_ode_sys sys; /* first: the scene frees it */
  struct circle_opts o;
  double q0[2];
};

static perp_ode_answer circle_deriv(void *user, double t, double h, const double *q,
                                    const double *v, bool intermediate, double *qdot, double *a)
{
  const double rate = ((struct circle *)user)->o.rate;
  (void)t, (void)h, (void)v, (void)intermediate, (void)a;
  const double x = q[0], y = q[1];
  qdot[0] = -rate * y;
  qdot[1] = rate * x;
  return PERP_ODE_OK;
}

static void circle_exact(void *user, double t, double *q, double *v)
{
  const struct circle_opts *opts = user;
  (void)v;
  q[0] = opts->radius * cos(opts->rate * t);
  q[1] = opts->radius * sin(opts->rate * t);
}

/* the squared radius plays the part of the energy */
static double circle_energy(void *user, const double *q, const double *v)
{
  (void)user, (void)v;
  return 0.5 * (q[0] * q[0] + q[1] * q[1]);
}

static perp_status circle_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  struct circle *circle = calloc(1, sizeof *circle);
  if (circle == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "circle: no memory");
  circle->o = *(const struct circle_opts *)opts;
  circle->q0[0] = circle->o.radius;
  circle->sys = (perp_ode_sys){ .nq = 2, .nv = 0, .user = circle, .deriv = circle_deriv };
  scene->ode = &circle->sys;
  scene->ode_q0 = circle->q0;
  scene->ode_v0 = circle->q0; /* nothing is read: nv = 0 */
  scene->ode_energy = circle_energy;
  scene->t_end = 10;
  scene->h = 0.01;
  return perp_truth_add(ctx, scene, "closed form", 1e-14, circle_exact, &circle->o,
                        sizeof circle->o);
}

const perp_scene_desc perp_scene_circle = {
  .d = { .name = "circle",
         .summary = "Circle field: first-order ODE problem for observed orders of convergence",
         .reference = "closed form",
         .equation = "q' = rate (-y, x)",
         PERP_OPTIONS(options, struct circle_opts) },
  .build = circle_build,
};
