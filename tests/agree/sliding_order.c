/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sliding in space whose direction turns, from sticking to sticking, to the order of the method
 * (acceleration level).
 *
 * A homogeneous ball: a horizontal force F at its centre and friction f at its foot give the foot
 * the acceleration (F + 7/2 f) / m, the centre (F + f) / m.
 *
 *   pushed    the sliding u = s(t) d(phi) is given, s = a t^2 (1 - t / T), phi = phi_0 + w t, and
 * with it the force F = m (du/dt + K d), K = 7/2 mu g, that makes it; before and after, where it
 * rolls, F is continued.  Sliding begins with no velocity, stops and turns all the while.  Closed
 * forms of all velocities. incline   it spins across the slope.  With G = g sin alpha along e, K =
 * 7/2 mu g cos alpha:  du/dt = G e - K u / |u|, so that d(K |u| + G e.u)/dt = G^2 - K^2: sliding
 * ends at T = (K |u_0| + G e.u_0) / (K^2 - G^2), its direction as a power of T - t.  Then it rolls
 * with 5/7 G.
 *
 * Both on a floor, and with all axes exchanged in turn, on a wall. */
#include "tests/run_model.h"

#include <complex.h>

static perp_ctx ctx;
static const double g = 9.81, r = 1, mu = 0.2;
#define i_ ((double complex)_Complex_I) /* I is a number of single precision */
static const double rolls = 5.0 / 7;    /* of a force: what accelerates a ball that rolls */

enum { STEPS = 4 }; /* halvings + 1 */
static int turned;  /* by how many axes; 1: x to y to z to x */

static int axis(int i)
{
  return (i + turned) % 3;
}

static double order_of(const double *error)
{
  return log2(error[0] / error[STEPS - 1]) / (STEPS - 1);
}

/* of 1 kg, pulled by G along x; the signals, if any, are forces along x and y */
static perp_model *ball(double G, double down, double wx, double wy, const perp_signal_ref *push,
                        perp_model *m)
{
  const perp_surface surface = { mu, (double)NAN, 0 };
  perp_shape_def shape[] = {
    { .kind = PERP_SHAPE_SPHERE, .radius = r, .surface = surface },
    { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .quat = { 1 }, .surface = surface }
  };
  for (int i = 0; i < 4 && turned == 1; i++) shape[1].quat[i] = 0.5;
  perp_model_gravity(m, 0);
  perp_body_def body = { .mass = perp_mass_sphere(1, r) };
  body.x[axis(2)] = r;
  body.w[axis(0)] = wx, body.w[axis(1)] = wy;
  perp_force_def force = { .kind = PERP_FORCE_POINT, .a = run_body(&ctx, m, body) };
  force.value[axis(0)] = G;
  force.value[axis(2)] = -down;
  for (int i = 0; i < 2 && push != NULL; i++) force.value_signal[axis(i)] = push[i];
  if (perp_model_add_shape(&ctx, m, &shape[0], NULL) != PERP_OK ||
      perp_model_add_shape(&ctx, m, &shape[1], NULL) != PERP_OK ||
      perp_model_add_force(&ctx, m, &force) != PERP_OK)
    bail("%s", ctx.msg);
  return run_finish(&ctx, m);
}

/* the centre's velocity, x + i y, at t_end; and how often contacts began or ceased to slide */
static double complex roll(perp_model *m, const char *formulation, const char *ode, double h,
                           double t_end, int64_t *switches)
{
  perp_sim *sim = run_start(&ctx, m, (run_parts){ formulation, ode }, h);
  perp_step_info info = { .reason = PERP_EXACT };
  double t = 0;
  const double *q, *v;
  while (t < t_end) {
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    if (info.reason < 0)
      bail("%s: the ball ends at %g s: %s %s", ode, t, perp_reason_name(info.reason),
           info.cause != NULL ? info.cause : "");
  }
  const double complex end = v[axis(0)] + v[axis(1)] * i_;
  *switches = perp_sim_contacts(sim)->switches;
  perp_sim_destroy(sim);
  return end;
}

/* errors at h, h / 2, ... fall with this order; sliding begins or ends so often (-1: whatever) */
static void converges(perp_model *m, const char *formulation, const char *ode, double h,
                      double t_end, double complex truth, int changes, double least,
                      const char *what)
{
  double error[STEPS];
  int64_t switches = 0;
  for (int i = 0; i < STEPS; i++) {
    error[i] = cabs(roll(m, formulation, ode, h / (1 << i), t_end, &switches) - truth);
    if (changes >= 0 && switches != changes)
      ok(false, "%s, h = %g s: %d changes instead of %d", what, h / (1 << i), (int)switches,
         changes);
  }
  const double order = order_of(error);
  ok(order > least, "%s%s, %s, %s: order %.2f (%.2g m/s at %g ms, %.2g at %g ms)", what,
     turned ? " on a wall" : "", formulation, ode, order, error[0], 1e3 * h, error[STEPS - 1],
     1e3 * h / (1 << (STEPS - 1)));
}

/* ---- pushed ---- */

static const double first = 0.1, lasts = 0.3, a = 5, phi = 0.4, w = 4; /* s, s, m/s^2, rad, rad/s */

static double slide(double tau)
{
  return a * tau * tau * (1 - tau / lasts);
}

static double complex direction(double tau)
{
  return cexp(i_ * (phi + w * tau));
}

static double complex push(double t)
{
  const double K = 3.5 * mu * g, tau = t - first;
  if (tau < 0) return K * t / first * direction(tau);
  if (tau > lasts) return (K - a * lasts) * direction(lasts);
  const double faster = a * tau * (2 - 3 * tau / lasts);
  return (faster + K + w * i_ * slide(tau)) * direction(tau);
}

static void push_along(const void *second, double t, double y[3])
{
  y[0] = second == NULL ? creal(push(t)) : cimag(push(t));
  y[1] = y[2] = 0; /* rates of forces are not asked for */
}

static double complex pushed_truth(double t)
{
  const double K = 3.5 * mu * g, tau = fmin(t - first, lasts);
  const double complex turn = cexp(w * i_ * first);
  double complex v = rolls * K * direction(-first) / first *
                     (first * turn / (w * i_) + (turn - 1) / (w * w));
  v += slide(tau) * direction(tau) + rolls * K * (direction(tau) - direction(0)) / (w * i_);
  return v + rolls * (K - a * lasts) * direction(lasts) * (t - first - tau);
}

static void test_pushed(void)
{
  static char along_y = 'y';
  perp_model *m = run_model(&ctx, 3);
  perp_signal_ref force[2];
  for (int i = 0; i < 2; i++) {
    const perp_signal_def def = { .kind = PERP_SIGNAL_FUNCTION,
                                  .of = push_along,
                                  .user = i == 0 ? NULL : &along_y };
    if (perp_model_add_signal(&ctx, m, &def, &force[i]) != PERP_OK) bail("%s", ctx.msg);
  }
  ball(0, g, 0, 0, force, m);
  converges(m, "acceleration", "rk4", 0.008, 0.3, pushed_truth(0.3), 1, 3.5, "sliding begins");
  converges(m, "acceleration", "rk4", 0.016, 0.5, pushed_truth(0.5), 2, 3.5, "begins and ends");
  converges(m, "acceleration:state=momentum", "rk4", 0.016, 0.5, pushed_truth(0.5), 2, 3.5,
            "begins and ends");
  converges(m, "acceleration", "heun", 0.016, 0.5, pushed_truth(0.5), -1, 1.8, "begins and ends");
  /* 2 ms: rounding */
  converges(m, "acceleration", "dopri5", 0.032, 0.5, pushed_truth(0.5), 2, 3.5, "begins and ends");
  int64_t switches;
  below(cabs(roll(m, "acceleration", "dopri5:tol=1e-8", 0.016, 0.5, &switches) - pushed_truth(0.5)),
        1e-6, "... with dopri5:tol=1e-8");
  perp_model_destroy(m);
}

/* ---- on an incline ---- */

static void test_incline(void)
{
  const double G = 3, down = 8, K = 3.5 * mu * down;
  const double complex u = 0.1 + 0.3 * i_; /* -r w_y + i r w_x */
  const double T = (K * cabs(u) + G * creal(u)) / (K * K - G * G), t_end = T + 0.1;
  perp_model *m = ball(G, down, cimag(u) / r, -creal(u) / r, NULL, run_model(&ctx, 3));
  /* friction has taken away u and what G gave to it, 2/7 of which goes to the centre */
  const double complex truth = G * T - 2.0 / 7 * (G * T + u) + rolls * G * (t_end - T);
  converges(m, "acceleration", "rk4", 0.016, t_end, truth, 1, 2.5, "spinning on an incline");
  int64_t switches;
  below(cabs(roll(m, "acceleration", "dopri5:tol=1e-10", 0.016, t_end, &switches) - truth), 1e-8,
        "... with dopri5:tol=1e-10");
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (turned = 0; turned < 2; turned++) {
    test_pushed();
    test_incline();
  }
  return tap_done();
}
