/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the solvers keep over 1e5 steps. */
#include "tests/ode_problems.h"
#include "tests/tap.h"

enum { STEPS = 100000 };

static perp_ctx ctx;

static perp_ode *start(const char *text, const perp_ode_sys *sys, double h, const double *q,
                       const double *v)
{
  perp_spec spec;
  perp_ode *ode;
  if (perp_spec_parse(&ctx, PERP_KIND_ode, text, &spec) != PERP_OK ||
      perp_ode_create(&ctx, &spec, sys, h, &ode) != PERP_OK ||
      perp_ode_restart(&ctx, ode, 0, q, v) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
  return ode;
}

/* ---- free body: I = (1, 2, 3), w = (0.01, 5, 0.01) close to the unstable axis, so that it tumbles
 * ---- */

struct kept {
  double energy, momentum, in_space, q;
}; /* largest relative deviations; |q| - 1 */

static struct kept tumble(const char *text, bool with_qdot, double *flips)
{
  ode_problem p = rigid();
  const double *I = ((const rigid_body *)p.sys.user)->I;
  if (!with_qdot) p.sys.qdot = NULL;
  const double q0[4] = { 1, 0, 0, 0 }, w0[3] = { 0.01, 5, 0.01 };
  perp_ode *ode = start(text, &p.sys, 0.01, q0, w0);
  double l0[3], energy0 = 0, size0 = 0;
  for (int i = 0; i < 3; i++) {
    l0[i] = I[i] * w0[i]; /* q0 = 1: in space as in the body */
    energy0 += 0.5 * I[i] * w0[i] * w0[i];
    size0 += l0[i] * l0[i];
  }
  size0 = sqrt(size0);
  struct kept worst = { 0 };
  double side = 1;
  *flips = 0;
  for (int k = 0; k < STEPS; k++) {
    if (perp_ode_step(&ctx, ode, HUGE_VAL, NULL) != PERP_ODE_REACHED) bail("%s stopped", text);
    const double *q = perp_ode_q(ode), *w = perp_ode_v(ode);
    double body[3], space[3], energy = 0, size = 0, norm = 0;
    for (int i = 0; i < 3; i++) {
      body[i] = I[i] * w[i];
      energy += 0.5 * I[i] * w[i] * w[i];
      size += body[i] * body[i];
    }
    for (int i = 0; i < 4; i++) norm += q[i] * q[i];
    rotate(q, body, space);
    worst.energy = fmax(worst.energy, fabs(energy / energy0 - 1));
    worst.momentum = fmax(worst.momentum, fabs(sqrt(size) / size0 - 1));
    for (int i = 0; i < 3; i++)
      worst.in_space = fmax(worst.in_space, fabs(space[i] - l0[i]) / size0);
    worst.q = fmax(worst.q, fabs(sqrt(norm) - 1));
    if (w[1] * side < 0) {
      side = -side;
      *flips += 1;
    }
  }
  perp_ode_destroy(ode);
  return worst;
}

static void free_body(void)
{
  double flips;
  struct kept k = tumble("implicit-midpoint", true, &flips);
  /* measured 2.3e-14, 9e-15, 1e-14: a random walk of 1e5 roundings of 1e-16 */
  below(k.energy, 1e-13, "implicit-midpoint: energy of a free body over 1e5 steps");
  below(k.momentum, 1e-13, "implicit-midpoint: |L| in the body");
  below(k.in_space, 1e-13, "implicit-midpoint: L in space, each component");
  below(k.q, 1e-14, "implicit-midpoint: unit quaternion");
  ok(flips > 100, "and the body did tumble (%g flips)", flips);

  k = tumble("implicit-midpoint", false, &flips);
  below(k.energy, 1e-13, "without N(q) v alone: energy");
  below(k.momentum, 1e-13, "without N(q) v alone: |L| in the body");
  ok(k.in_space > 1e-6 && k.in_space < 1e-3,
     "without N(q) v alone: L in space to O(h^2) only, as documented (%.1e)", k.in_space);

  k = tumble("rk4", true, &flips);
  ok(k.energy > 1e-10, "rk4 does not keep the energy (%.1e), so the above says something",
     k.energy);
}

/* ---- pendulum and spring: energy bounded, or not ---- */

/* Largest energy error of the first and the last tenth of 1e5 steps, relative to the range. */
static void swing(const char *text, bool velocity_form, bool spring, double h, double *first,
                  double *last)
{
  ode_problem p = spring ? oscillator() : pendulum();
  if (velocity_form) p.sys.caps = 0;
  double q0 = spring ? 1 : 2, v0 = 0;
  perp_ode *ode = start(text, &p.sys, h, &q0, &v0);
  double range = spring ? 0.5 : pendulum_energy(&q0, &v0) + pendulum_g, energy0 = 0;
  *first = *last = 0;
  for (int k = 0; k <= STEPS; k++) {
    const double *q = perp_ode_q(ode), *v = perp_ode_v(ode);
    double energy = spring ? 0.5 * (q[0] * q[0] + v[0] * v[0]) : pendulum_energy(q, v);
    if (k == 0) energy0 = energy;
    double error = fabs(energy - energy0) / range;
    if (k <= STEPS / 10) *first = fmax(*first, error);
    if (k >= 9 * (STEPS / 10)) *last = fmax(*last, error);
    perp_ode_step(&ctx, ode, HUGE_VAL, NULL);
  }
  perp_ode_destroy(ode);
}

static void bounded(const char *text, bool velocity_form, bool spring, double h, double most)
{
  double first, last;
  swing(text, velocity_form, spring, h, &first, &last);
  if (!ok(last <= 1.01 * first + 1e-12 && first <= most,
          "%s%s: energy of the %s stays bounded over 1e5 steps (%.1e)", text,
          velocity_form ? " (velocity form)" : "", spring ? "spring" : "pendulum", last))
    printf("# first tenth %.3e, last tenth %.3e, allowed %.1e\n", first, last, most);
}

int main(void)
{
  perp_ctx_init(&ctx);
  perp_register_solvers(&ctx);
  free_body();

  /* bounds: h w / 2 for order 1 and (h w)^2 / 4 for order 2 with w^2 = 9.81 or 1, times 2 for the
   * pendulum's far swing */
  for (int spring = 0; spring < 2; spring++) {
    double h = 0.01, hw = spring ? h : h * sqrt(pendulum_g);
    bounded("symplectic-euler", false, spring, h, hw);
    bounded("verlet", false, spring, h, 0.5 * hw * hw);
    bounded("verlet", true, spring, h, 0.5 * hw * hw);
    bounded("implicit-midpoint", false, spring, h, 0.5 * hw * hw);
  }
  double first, last;
  swing("euler", false, true, 0.01, &first, &last);
  ok(last > 100 * first, "euler: the energy of the spring grows (%.1e to %.1e)", first, last);
  swing("rk4", false, false, 0.05, &first, &last);
  ok(last > 5 * first, "rk4: the energy of the pendulum drifts (%.1e to %.1e)", first, last);
  return tap_done();
}
