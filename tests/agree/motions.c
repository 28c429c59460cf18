/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What depends on time, against equations that are integrated here in extended precision: a
 * pendulum on a pivot that vibrates, by all formulations, with the energy that the pivot brings in;
 * its small motions against the Floquet exponents of their Mathieu equation; forces, gravity and
 * drives that are signals; a ball on a table that goes up and down, impact by impact. */
#include "experiments/scenes/scene_file.h"
#include "tests/run_model.h"

#include <complex.h>

static perp_ctx ctx;
static bool of_sundials; /* these formulations alone, where the others have been tried before */

static perp_signal_ref signal_of(perp_model *m, perp_signal_def def)
{
  perp_signal_ref s;
  if (perp_model_add_signal(&ctx, m, &def, &s) != PERP_OK) bail("%s", ctx.msg);
  return s;
}

/* ---- the pendulum ----
 * A rod of 1 m on a pivot at the height a cos(w t); phi from hanging down:  phi'' = -3/2 (g - a w^2
 * cos(w t)) sin(phi). */

static const long double g = 9.81L;

typedef struct pendulum {
  double a, w, phi, rate;
} pendulum;

static perp_model *swing(int dim, pendulum p)
{
  perp_model *m = run_model(&ctx, dim);
  const int up = dim - 1;
  perp_motion_def motion = { .body = 0 };
  perp_body_def pivot = { .mass = perp_mass_box(3, 1, 1, 1) };
  perp_body_def rod = { .mass = { 1, { 1.0 / 12, 0, 0, 0, 1.0 / 12, 0, 0, 0, 1.0 / 12 } } };
  motion.x_signal[up] = signal_of(
      m, (perp_signal_def){
             .kind = PERP_SIGNAL_SINE, .amplitude = p.a, .rate = p.w, .phase = M_PI / 2 });
  motion.sets_velocity = true;
  pivot.x[up] = p.a * sin(M_PI / 2);
  /* the rod along its x axis; it hangs at phi = 0 */
  const double lean = p.phi - M_PI / 2;
  rod.x[0] = 0.5 * cos(lean);
  rod.x[up] = pivot.x[up] + 0.5 * sin(lean);
  rod.v[0] = -0.5 * p.rate * sin(lean);
  rod.v[up] = 0.5 * p.rate * cos(lean) + p.a * p.w * cos(M_PI / 2);
  if (dim == 2) {
    rod.angle = lean;
    rod.w[2] = p.rate;
  } else {
    rod.quat[0] = cos(lean / 2), rod.quat[2] = -sin(lean / 2);
    rod.w[1] = -p.rate;
  }
  run_body(&ctx, m, pivot);
  run_body(&ctx, m, rod);
  run_joint(&ctx, m,
            (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                              .a = 0,
                              .b = 1,
                              .anchor_b = { -0.5 },
                              .axis_a = { 0, 1 },
                              .axis_b = { 0, 1 } });
  if (perp_model_add_motion(&ctx, m, &motion, NULL) != PERP_OK) bail("%s", ctx.msg);
  return run_finish(&ctx, m);
}

/* phi and its rate by the classical method in steps that are short enough for all of its digits */
static void exact(pendulum p, double t_end, long double y[2])
{
  enum { STEPS = 40000 };
  static struct {
    pendulum p;
    double t_end;
    long double y[2];
  } last; /* most methods are compared at the same time */
  if (memcmp(&last.p, &p, sizeof p) == 0 && last.t_end == t_end) {
    memcpy(y, last.y, sizeof last.y);
    return;
  }
  const long double h = (long double)t_end / STEPS;
  y[0] = p.phi, y[1] = p.rate;
  for (int n = 0; n < STEPS; n++) {
    long double k[4][2], z[2];
    for (int s = 0; s < 4; s++) {
      const long double c = s == 0 ? 0 : s == 3 ? 1 : 0.5L, t = (n + c) * h;
      for (int i = 0; i < 2; i++) z[i] = y[i] + (s == 0 ? 0 : c * h * k[s - 1][i]);
      k[s][0] = z[1];
      k[s][1] = -1.5L * (g - (long double)p.a * p.w * p.w * cosl(p.w * t)) * sinl(z[0]);
    }
    for (int i = 0; i < 2; i++) y[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
  }
  last.p = p;
  last.t_end = t_end;
  memcpy(last.y, y, sizeof last.y);
}

/* phi of a state, and its rate */
static void angle_of(const perp_model *m, const double *q, const double *v, double y[2])
{
  const int dim = perp_model_dim(m);
  double tip[3], R[9];
  perp_model_rotation(m, q, 1, R);
  tip[0] = R[0], tip[1] = R[dim - 1];
  y[0] = atan2(tip[0], -tip[1]);
  y[1] = dim == 2 ? v[3 + 2] : -v[6 + 4];
}

static double angle_error(const perp_model *m, run_parts parts, double h, pendulum p, double t_end)
{
  double q[14], v[12], y[2];
  long double truth[2];
  if (run_fresh(&ctx, (perp_model *)(uintptr_t)m, parts, h, t_end, q, v) < 0) return HUGE_VAL;
  angle_of(m, q, v, y);
  exact(p, t_end, truth);
  return fmax(fabs((double)remainderl(y[0] - truth[0], 2 * M_PIl)),
              fabs((double)(y[1] - truth[1])));
}

/* Is each formulation of the registry that claims the capability among the names? */
static void all_are_here(unsigned cap, const char *const *names, size_t n)
{
  const perp_desc *d;
  for (int f = 0; (d = perp_plugin_at(&ctx, PERP_KIND_formulation, f)) != NULL; f++) {
    if (!(d->caps & cap)) continue;
    const size_t length = strlen(d->name);
    bool here = false;
    for (size_t i = 0; i < n; i++)
      here |= strncmp(names[i], d->name, length) == 0 && strchr(":", names[i][length]) != NULL;
    ok(here, "%s, which follows what depends on time, is looked at", d->name);
  }
}

static const pendulum kicked = { 0.1, 20, 1.1, 0.4 };

static void formulations(void)
{
  static const struct {
    run_parts parts;
    double h, order, bound;
  } all[] = {
    { { "acceleration", "rk4" }, 1e-3, 4, 1e-6 },
    { { "acceleration", "rk4", "", "baumgarte" }, 1e-3, 0, 1e-6 },
    { { "acceleration:state=momentum", "dopri5:tol=1e-11" }, 1e-3, 0, 1e-8 },
    { { "acceleration", "radau5:tol=1e-11" }, 1e-3, 0, 1e-7 },
    { { "velocity" }, 1e-4, 1, 0.02 },
    { { "velocity", "", "", "post:velocity=true" }, 1e-4, 1, 0.02 },
    { { "velocity", "", "", "none" }, 1e-4, 1, 0.02 },
    { { "velocity", "", "", "split" }, 1e-4, 1, 0.02 },
    { { "regularized" }, 1e-4, 1, 0.02 },
    { { "velocity-nonlinear" }, 1e-4, 1, 0.02 },
    { { "velocity-midpoint" }, 1e-3, 2, 2e-3 },
    { { "velocity-midpoint", "", "", "post:velocity=true" }, 1e-3, 2, 2e-3 },
    { { "velocity-midpoint", "", "", "post" }, 1e-3, 2, 2e-3 },
    { { "velocity-midpoint", "", "", "none" }, 1e-3, 2, 2e-3 },
    { { "velocity-midpoint", "", "", "split" }, 1e-3, 2, 2e-3 },
    { { "impulse" }, 1e-3, 2, 1e-3 },
    { { "ggl" }, 1e-3, 2, 2e-3 },
    { { "generalized-alpha" }, 1e-3, 2, 2e-3 },
    { { "generalized-alpha:form=index3" }, 1e-3, 2, 2e-3 },
    { { "variational:stages=2" }, 1e-3, 2, 2e-3 },
    { { "variational" }, 2e-2, 4, 2e-3 },
    { { "esdirk" }, 2e-2, 4, 2e-3 },
    { { "radau5" }, 4e-3, 0, 1e-5 },
    { { "penalty:stiffness=1e7,damping=1e3", "rk4" }, 1e-4, 0, 0.02 },
    { { "sundials:ida:tol=1e-9" }, 1e-3, 0, 1e-4 },
    { { "hht" }, 1e-3, 2, 2e-3 },
    { { "augmented-lagrangian" }, 1e-3, 2, 2e-3 },
    { { "bdf" }, 1e-3, 0, 1e-5 },
    { { "phem56" }, 8e-3, 0, 1e-7 },
    { { "phem56:tol=1e-9" }, 1e-2, 0, 1e-6 },
    { { "coordinate-partitioning", "rk4" }, 2e-3, 4, 1e-5 },
    { { "tangent-coordinates", "rk4" }, 2e-3, 4, 1e-5 },
    { { "moreau-jean" }, 1e-3, 2, 2e-3 },
    { { "nonsmooth-alpha" }, 1e-3, 2, 2e-3 },
    { { "si-baumgarte" }, 1e-3, 0, 0.1 },
    { { "si-split" }, 1e-3, 0, 0.1 },
    { { "si-ngs" }, 1e-3, 0, 0.1 },
    { { "soft-step" }, 1e-3, 0, 0.1 },
    { { "small-steps" }, 1e-3, 0, 0.1 },
    { { "tgs" }, 1e-3, 0, 0.1 },
    { { "xpbd" }, 1e-3, 0, 0.1 },
    { { "soft-constraints:timeconst=2e-3,dmin=0.99,dmax=0.999" }, 1e-3, 0, 0.1 },
    { { "avbd" }, 1e-3, 0, 0.1 },
    { { "ipc" }, 1e-3, 0, 0.1 },
  };
  enum { N = sizeof all / sizeof *all };
  const char *names[N];
  for (size_t i = 0; i < N; i++) names[i] = all[i].parts.formulation;
  all_are_here(PERP_FORM_MOTIONS, names, N);
  for (int dim = 2; dim <= 3; dim++) {
    perp_model *m = swing(dim, kicked);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
      const char *name = all[i].parts.formulation, *stab = all[i].parts.stab;
      if (of_sundials && strncmp(name, "sundials", 8) != 0) continue;
      char plain[64];
      snprintf(plain, sizeof plain, "%s", name);
      char *options = strstr(plain, ":tol");
      if (options != NULL) *options = '\0';
      if (strncmp(name, "sundials", 8) == 0 &&
          perp_find(&ctx, PERP_KIND_formulation, plain) == NULL) {
        skip("no SUNDIALS", "%s", plain);
        continue;
      }
      const double e1 = angle_error(m, all[i].parts, all[i].h, kicked, 1);
      below(e1, all[i].bound, "%d-d: %s, stab %s: the pendulum is off by %.2g", dim, name,
            stab != NULL ? stab : "-", e1);
      if (all[i].order == 0) continue;
      const double e2 = angle_error(m, all[i].parts, all[i].h / 2, kicked, 1);
      near(log2(e1 / e2), all[i].order, 0.35, 0, "%d-d: %s, stab %s: of order %g", dim, name,
           stab != NULL ? stab : "-", all[i].order);
    }
    static const char *const without[] = { "reduced", "point-mass", "velocity-implicit", "groups" };
    for (int i = 0; i < 4; i++) run_refused(&ctx, m, (run_parts){ without[i] }, without[i]);
    perp_model_destroy(m);
  }
}

/* Largest error of the multipliers of the steps, of the largest exact one: those of the exact state
 * where a step begins, which steps of the classical method have to rounding. */
static double multiplier_error(perp_model *m, run_parts parts, double h, int steps)
{
  enum { FINE = 16 };
  perp_sim *sim = run_start(&ctx, m, parts, h);
  perp_sim *fine = run_start(&ctx, m, (run_parts){ "acceleration", "rk4" }, h / FINE);
  const int rows = perp_model_m(m);
  double most = 0, size = 0;
  for (int n = 0; n < steps; n++) {
    perp_step_info info, exactly;
    for (int k = 0; k < FINE; k++) {
      if (perp_sim_step(&ctx, fine, HUGE_VAL, &exactly) != PERP_OK) bail("%s", ctx.msg);
      if (k > 0) continue;
      if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
      if (info.lambda == NULL || exactly.lambda == NULL) bail("no multipliers");
      for (int i = 0; i < rows; i++) {
        size = fmax(size, fabs(exactly.lambda[i]));
        most = fmax(most, fabs(info.lambda[i] - exactly.lambda[i]));
      }
    }
  }
  perp_sim_destroy(sim);
  perp_sim_destroy(fine);
  return most / size;
}

/* Their mean over a step is that of its middle: off by h / 2 of the rate. */
static void multipliers(void)
{
  static const char *const stabs[] = { "", "post", "post:velocity=true", "none", "split" };
  for (int dim = 2; dim <= 3; dim++) {
    perp_model *m = swing(dim, kicked);
    for (size_t i = 0; i < sizeof stabs / sizeof *stabs; i++) {
      const run_parts parts = { "velocity-midpoint", "", "", stabs[i] };
      const double e1 = multiplier_error(m, parts, 1e-3, 500),
                   e2 = multiplier_error(m, parts, 5e-4, 1000);
      below(e1, 0.02, "%d-d: velocity-midpoint, stab %s: multipliers are off by %.2g", dim,
            stabs[i], e1);
      near(log2(e1 / e2), 1, 0.2, 0, "%d-d: velocity-midpoint, stab %s: multipliers of order 1",
           dim, stabs[i]);
    }
    perp_model_destroy(m);
  }
}

/* kinetic and potential energy change by what the pivot does, sum of power times h by Simpson */
static void power(int dim)
{
  enum { STEPS = 2000 };
  const double h = 5e-4;
  perp_model *m = swing(dim, kicked);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ "acceleration", "rk4" }, h);
  double t, T, V, start = 0, end = 0, work = 0, most = 0;
  const double *q, *v;
  double before[14];
  for (int n = 0; n <= STEPS; n++) {
    perp_step_info info;
    perp_sim_state(sim, &t, &q, &v);
    memcpy(before, q, (size_t)perp_model_nq(m) * sizeof *q);
    perp_model_energy(m, t, q, v, &T, &V);
    const double at = t;
    if (n == 0) start = T + V;
    end = T + V;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.lambda == NULL)
      bail("no multipliers");
    const double p = perp_model_motion_power(m, at, before, info.lambda);
    most = fmax(most, fabs(p));
    work += h / 3 * (n == 0 || n == STEPS ? 1 : n % 2 == 1 ? 4 : 2) * p;
  }
  ok(fabs(end - start) > 0.1 && most > 10, "%d-d: the pivot works: %.3g J, up to %.3g W", dim,
     end - start, most);
  near(end - start, work, 1e-6, 0, "%d-d: the change of energy is the work of the pivot", dim);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* ---- Floquet exponents ---- */

/* mu of the larger multiplier exp(mu T), T a period, of a 2 x 2 monodromy matrix of determinant 1
 */
static double complex exponent(double trace, double T)
{
  const double complex half = trace / 2;
  double complex multiplier = half + csqrt(half * half - 1);
  if (cabs(multiplier) < 1) multiplier = 1 / multiplier;
  return clog(multiplier) / T;
}

/* The linear equation, phi'' = -s 3/2 (g - a w^2 cos(w t)) phi, s = 1 hanging, -1 upright */
static double mathieu_trace(pendulum p, int s)
{
  enum { STEPS = 20000 };
  const long double T = 2 * M_PIl / p.w, h = T / STEPS;
  long double sum = 0;
  for (int column = 0; column < 2; column++) {
    long double y[2] = { column == 0, column == 1 };
    for (int n = 0; n < STEPS; n++) {
      long double k[4][2], z[2];
      for (int i = 0; i < 4; i++) {
        const long double c = i == 0 ? 0 : i == 3 ? 1 : 0.5L;
        for (int j = 0; j < 2; j++) z[j] = y[j] + (i == 0 ? 0 : c * h * k[i - 1][j]);
        k[i][0] = z[1];
        k[i][1] = -s * 1.5L * (g - (long double)p.a * p.w * p.w * cosl(p.w * (n + c) * h)) * z[0];
      }
      for (int j = 0; j < 2; j++) y[j] += h / 6 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
    }
    sum += y[column];
  }
  return (double)sum;
}

static void floquet(int dim, pendulum p, int s, const char *what)
{
  const double T = 2 * M_PI / p.w, small = 1e-5;
  double trace = 0;
  for (int column = 0; column < 2; column++) {
    double q[14], v[12], y[2];
    p.phi = (s > 0 ? 0 : M_PI) + (column == 0 ? small : 0);
    p.rate = column == 1 ? small : 0;
    perp_model *m = swing(dim, p);
    if (run_fresh(&ctx, m, (run_parts){ "acceleration", "dop853:tol=1e-13" }, 1e-3, T, q, v) < 0)
      bail("the run ends early");
    angle_of(m, q, v, y);
    y[0] = remainder(y[0] - (s > 0 ? 0 : M_PI), 2 * M_PI);
    trace += y[column] / small;
    perp_model_destroy(m);
  }
  const double complex got = exponent(trace, T), want = exponent(mathieu_trace(p, s), T);
  const double rate = fabs(creal(want)), turn = fabs(cimag(want));
  near(fabs(creal(got)), rate, 1e-6, 1e-6, "%d-d, %s: grows by %.6g / s", dim, what, rate);
  near(fabs(cimag(got)), turn, 1e-6, 1e-6, "%d-d, %s: turns by %.6g rad/s", dim, what, turn);
}

/* ---- numbers that are signals ---- */

/* a body of 2 kg: force 3 + 5 sin(4 t) along x, gravity 1 + 2 sin(3 t), torque along its axis: x =
 * ... */
static void forces(void)
{
  static const struct {
    run_parts parts;
    double tol;
  } all[] = {
    { { "acceleration", "dop853:tol=1e-12" }, 1e-09 },
    { { "radau5:tol=1e-11" }, 1e-09 },
    { { "reduced", "dop853:tol=1e-12" }, 1e-09 },
    { { "penalty", "dop853:tol=1e-12" }, 1e-09 },
    { { "impulse" }, 1e-4 },
    { { "ggl" }, 1e-4 },
    { { "generalized-alpha" }, 1e-4 },
    { { "variational" }, 1e-4 },
    { { "esdirk" }, 1e-6 },
    { { "bdf" }, 1e-4 },
    { { "hht" }, 1e-4 },
    { { "augmented-lagrangian" }, 1e-4 },
    { { "moreau-jean" }, 1e-4 },
    { { "nonsmooth-alpha" }, 1e-4 },
    { { "velocity-midpoint" }, 1e-4 },
    { { "sundials:ida:tol=1e-9" }, 1e-4 },
    { { "phem56" }, 1e-09 },
    { { "coordinate-partitioning", "rk4" }, 1e-09 },
    { { "tangent-coordinates", "rk4" }, 1e-09 },
    { { "velocity" }, 1e-2 },
    { { "regularized" }, 1e-2 },
    { { "velocity-nonlinear" }, 1e-2 },
    { { "si-baumgarte" }, 1e-2 },
    { { "si-split" }, 1e-2 },
    { { "si-ngs" }, 1e-2 },
    { { "soft-step" }, 1e-2 },
    { { "small-steps" }, 1e-2 },
    { { "tgs" }, 1e-2 },
    { { "xpbd" }, 1e-2 },
    { { "soft-constraints" }, 1e-2 },
    { { "avbd" }, 1e-2 },
    { { "ipc" }, 1e-2 },
  };
  enum { N = sizeof all / sizeof *all };
  const char *names[N];
  for (size_t i = 0; i < N; i++) names[i] = all[i].parts.formulation;
  all_are_here(PERP_FORM_SIGNALS, names, N);
  const double t = 1.5;
  perp_model *m = run_model(&ctx, 3);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(2, 1, 1, 1) });
  const perp_signal_ref five = signal_of(
      m, (perp_signal_def){ .kind = PERP_SIGNAL_SINE, .amplitude = 5, .rate = 4 });
  const perp_signal_ref two = signal_of(
      m, (perp_signal_def){ .kind = PERP_SIGNAL_SINE, .amplitude = 2, .rate = 3 });
  const perp_force_def point = { .kind = PERP_FORCE_POINT,
                                 .value = { 3 },
                                 .value_signal = { five } };
  const perp_force_def torque = { .kind = PERP_FORCE_TORQUE, .value_signal = { 0, 0, two } };
  perp_model_gravity(m, 1);
  if (perp_model_add_force(&ctx, m, &point) != PERP_OK ||
      perp_model_add_force(&ctx, m, &torque) != PERP_OK ||
      perp_model_gravity_signal(&ctx, m, two) != PERP_OK)
    bail("%s", ctx.msg);
  run_finish(&ctx, m);
  const double x = 3.0 / 4 * t * t + 2.5 * (t / 4 - sin(4 * t) / 16),
               z = -0.5 * t * t - 2 * (t / 3 - sin(3 * t) / 9),
               spin = 6 * 2.0 / 2 * (1 - cos(3 * t)) / 3; /* I = m a^2 / 6 */
  for (size_t i = 0; i < N; i++) {
    double q[7], v[6];
    const char *name = all[i].parts.formulation;
    const double tol = all[i].tol;
    if (of_sundials && strncmp(name, "sundials", 8) != 0) continue;
    if (strncmp(name, "sundials", 8) == 0 &&
        perp_find(&ctx, PERP_KIND_formulation, "sundials:ida") == NULL)
      continue;
    if (run_fresh(&ctx, m, all[i].parts, 1e-3, t, q, v) < 0) bail("%s: the run ends early", name);
    near(q[0], x, tol, 0, "%s: a force that is a signal", name);
    near(q[2], z, tol, 0, "%s: gravity that is a signal", name);
    near(v[5], spin, tol, 0, "%s: a torque that is a signal", name);
  }
  static const char *const without[] = { "point-mass", "velocity-implicit", "groups" };
  for (int i = 0; i < 3; i++) run_refused(&ctx, m, (run_parts){ without[i] }, "depend on time");
  perp_model_destroy(m);
}

/* a wheel on a hinge: a kinematic motor, and a servo without inertia to speak of, that follow
 * signals */
static void drives(void)
{
  static const run_parts levels[] = { { "acceleration", "dop853:tol=1e-10" }, { "velocity" } };
  for (int servo = 0; servo < 2; servo++) {
    perp_model *m = run_model(&ctx, 3);
    run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(6, 1, 1, 1) }); /* I = 1 */
    run_joint(&ctx, m,
              (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                                .a = PERP_WORLD,
                                .b = 0,
                                .axis_a = { 0, 0, 1 },
                                .axis_b = { 0, 0, 1 } });
    perp_drive_def drive = { .lower = -HUGE_VAL, .upper = HUGE_VAL, .max_force = HUGE_VAL };
    const perp_signal_ref s = signal_of(
        m, (perp_signal_def){ .kind = PERP_SIGNAL_SINE, .amplitude = 1, .rate = 3 });
    if (servo) {
      drive.stiffness = 25;
      drive.target_signal = s;
    } else
      drive.velocity_signal = s;
    run_drive(&ctx, m, drive);
    run_finish(&ctx, m);
    /* x'' = -25 (x - sin(3 t)): x = 25 / (25 - 9) (sin(3 t) - 3 / 5 sin(5 t)) */
    const double t = 1.2,
                 x = servo ? 25.0 / 16 * (sin(3 * t) - 0.6 * sin(5 * t)) : (1 - cos(3 * t)) / 3;
    for (int i = 0; i < 2; i++) {
      double q[7], v[6];
      if (run_fresh(&ctx, m, levels[i], 2e-4, t, q, v) < 0) bail("the run ends early");
      near(perp_model_drive_coordinate(m, q, 0), x, i == 0 ? 1e-7 : 5e-3, 0,
           "%s: a %s that follows a signal", levels[i].formulation, servo ? "servo" : "motor");
    }
    perp_model_destroy(m);
  }
}

static void root(const void *user, double t, double y[3])
{
  const double left = *(const double *)user - t, s = sqrt(left);
  y[0] = s, y[1] = -0.5 / s, y[2] = -0.25 / (left * s);
}

/* a signal that ends: so does the run, and says why */
static void ends(void)
{
  static double end = 0.5;
  perp_model *m = run_model(&ctx, 2);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1) });
  const perp_signal_def def = { .kind = PERP_SIGNAL_FUNCTION, .of = root, .user = &end };
  if (perp_model_gravity_signal(&ctx, m, signal_of(m, def)) != PERP_OK) bail("%s", ctx.msg);
  run_finish(&ctx, m);
  ok(run_fresh(&ctx, m, (run_parts){ "velocity" }, 1e-2, 1, NULL, NULL) == PERP_NOT_FINITE,
     "velocity: a signal without a value ends the run");
  ok(run_fresh(&ctx, m, (run_parts){ "acceleration", "rk4" }, 1e-2, 1, NULL, NULL) ==
         PERP_NOT_FINITE,
     "acceleration: a signal without a value ends the run");
  perp_model_destroy(m);
}

/* ---- a ball on a table that goes up and down ---- */

enum { IMPACTS = 8 };

/* gap of a ball that was at z with v at the time s, over a table at a sin(w t) */
static long double gap(long double t, long double s, long double z, long double v, double a,
                       double w)
{
  const long double d = t - s;
  return z + v * d - 0.5L * g * d * d - (long double)a * sinl(w * t);
}

static int table_truth(double height, double a, double w, double e, double *times)
{
  long double s = 0, z = height, v = 0;
  for (int n = 0; n < IMPACTS; n++) {
    const long double step = 1e-4L;
    long double lo = s + 1e-6L, hi = lo + step;
    while (gap(hi, s, z, v, a, w) > 0) lo = hi, hi += step;
    for (int i = 0; i < 80; i++) {
      const long double mid = (lo + hi) / 2;
      if (gap(mid, s, z, v, a, w) > 0)
        lo = mid;
      else
        hi = mid;
    }
    const long double table = (long double)a * w * cosl(w * lo), u = v - g * (lo - s);
    z = (long double)a * sinl(w * lo);
    v = table - e * (u - table);
    s = lo;
    times[n] = (double)lo;
  }
  return IMPACTS;
}

static void table(int dim)
{
  const double a = 0.05, w = 12, e = 0.8, height = 0.4;
  const int up = dim - 1;
  double truth[IMPACTS];
  perp_model *m = run_model(&ctx, dim);
  perp_body_def ball = { .mass = perp_mass_sphere(1, 0.1) },
                plate = { .mass = perp_mass_box(1, 1, 1, 1) };
  perp_motion_def motion = { .body = 1, .sets_velocity = true };
  perp_shape_def sphere = { .kind = PERP_SHAPE_SPHERE, .body = 0, .radius = 0.1 },
                 box = { .kind = PERP_SHAPE_BOX, .body = 1, .half = { 1, 1, 1 } };
  box.half[up] = 0.2;
  sphere.surface.restitution = e;
  ball.x[up] = height + 0.1 + 0.2;
  motion.x_signal[up] = signal_of(
      m, (perp_signal_def){ .kind = PERP_SIGNAL_SINE, .amplitude = a, .rate = w });
  run_body(&ctx, m, ball);
  run_body(&ctx, m, plate);
  if (perp_model_add_motion(&ctx, m, &motion, NULL) != PERP_OK ||
      perp_model_add_shape(&ctx, m, &sphere, NULL) != PERP_OK ||
      perp_model_add_shape(&ctx, m, &box, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  run_finish(&ctx, m);
  table_truth(height, a, w, e, truth);
  perp_sim *sim = run_start(
      &ctx, m, (run_parts){ "acceleration:gap=1e-12,locate=1e-13", "dop853:tol=1e-12" }, 1e-3);
  int64_t seen = 0;
  double t = 0;
  const double *q, *v;
  while (seen < IMPACTS && t < 10) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, 10, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    if (perp_sim_contacts(sim)->impacts == seen) continue;
    near(t, truth[seen], 1e-9, 0, "%d-d: impact %d at %.6f s", dim, (int)seen + 1, truth[seen]);
    seen++;
  }
  ok(seen == IMPACTS, "%d-d: all impacts were seen", dim);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* sundials: what SUNDIALS adds */
int main(int argc, char **argv)
{
  of_sundials = argc > 1 && strcmp(argv[1], "sundials") == 0;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  formulations();
  if (of_sundials) {
    forces();
    return tap_done();
  }
  multipliers();
  for (int dim = 2; dim <= 3; dim++) {
    power(dim);
    floquet(dim, (pendulum){ .a = 0.1, .w = 20 }, 1, "hanging");
    floquet(dim, (pendulum){ .a = 0.1, .w = 7.7 }, 1, "hanging, at twice its own rate");
    floquet(dim, (pendulum){ .a = 0.1, .w = 60 }, -1, "upright, fast");
    floquet(dim, (pendulum){ .a = 0.1, .w = 30 }, -1, "upright, too slow");
    table(dim);
  }
  forces();
  drives();
  ends();
  return tap_done();
}
