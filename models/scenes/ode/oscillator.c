/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Harmonic oscillator  x'' = -2 zeta omega x' - omega^2 x : a plain second-order problem for
 * observed orders.
 *
 * Solution with x(0) = x0, x'(0) = v0, omega_d = omega sqrt(1 - zeta^2), d = zeta omega:
 *      x = exp(-d t) (x0 cos(omega_d t) + (v0 + d x0)/omega_d sin(omega_d t)) */
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>

struct oscillator_opts {
  double omega, zeta, x0, v0;
};
static const perp_opt options[] = {
  PERP_OPT_POSITIVE(struct oscillator_opts, omega, 1, "rad/s",
                    "Angular frequency without damping."),
  PERP_REAL(struct oscillator_opts, zeta, 0, 0, 1, PERP_OPEN_MAX, "",
            "Damping ratio, below 1 (underdamped)."),
  PERP_OPT_FINITE(struct oscillator_opts, x0, 1, "m", "Initial displacement."),
  PERP_OPT_FINITE(struct oscillator_opts, v0, 0, "m/s", "Initial velocity."), PERP_OPTIONS_END
};

struct oscillator {
  perp_ode_sys sys; /* first: the scene frees it */
  struct oscillator_opts o;
};

static perp_ode_answer oscillator_deriv(void *user, double t, double h, const double *q,
                                        const double *v, bool intermediate, double *qdot, double *a)
{
  const struct oscillator_opts *opts = &((struct oscillator *)user)->o;
  (void)t, (void)h, (void)intermediate;
  qdot[0] = v[0];
  a[0] = -2 * opts->zeta * opts->omega * v[0] - opts->omega * opts->omega * q[0];
  return PERP_ODE_OK;
}

static void oscillator_exact(void *user, double t, double *q, double *v)
{
  const struct oscillator_opts *opts = user;
  double d = opts->zeta * opts->omega, w = opts->omega * sqrt(1 - opts->zeta * opts->zeta);
  double b = (opts->v0 + d * opts->x0) / w, c = cos(w * t), s = sin(w * t), e = exp(-d * t);
  q[0] = e * (opts->x0 * c + b * s);
  v[0] = e * ((b * w - d * opts->x0) * c - (opts->x0 * w + d * b) * s);
}

static double oscillator_energy(void *user, const double *q, const double *v)
{
  const struct oscillator_opts *opts = &((struct oscillator *)user)->o;
  return 0.5 * (v[0] * v[0] + opts->omega * opts->omega * q[0] * q[0]);
}

static perp_status oscillator_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  struct oscillator *s = calloc(1, sizeof *s);
  if (s == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "oscillator: no memory");
  s->o = *(const struct oscillator_opts *)opts;
  s->sys = (perp_ode_sys){ .nq = 1,
                           .nv = 1,
                           .caps = s->o.zeta > 0 ? 0 : PERP_ODE_SYS_POSITION_FORCES,
                           .user = s,
                           .deriv = oscillator_deriv };
  scene->ode = &s->sys;
  scene->ode_q0 = &s->o.x0;
  scene->ode_v0 = &s->o.v0;
  scene->ode_energy = s->o.zeta > 0 ? NULL : oscillator_energy;
  scene->dissipative = s->o.zeta > 0;
  scene->t_end = 10;
  scene->h = 0.01;
  return perp_truth_add(ctx, scene, "closed form", 1e-14, oscillator_exact, &s->o, sizeof s->o);
}

const perp_scene_desc perp_scene_oscillator = {
  .d = { .name = "oscillator",
         .summary = "Harmonic oscillator: ODE problem for observed orders of convergence",
         .reference = "closed form",
         .equation = "x'' = -2 zeta omega x' - omega^2 x",
         PERP_OPTIONS(options, struct oscillator_opts) },
  .build = oscillator_build,
};
