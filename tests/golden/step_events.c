/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time stepping through events, by truths that know nothing of steps: a block that sticks and slips
 * on a belt (closed form), a block that rocks (quadrature between Housner's impacts, 12 digits), a
 * celtic stone that rolls (26 digits).  What is measured is the order of the errors in h: no floor.
 */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/tap.h"

#include <string.h>
#include <unistd.h>

static perp_ctx ctx;
static const char *const belt = "belt.yaml";
static const char *const rocking = "rocking.yaml";

/* ---- errors of whole runs ---- */

static double metric_of(const char *scene, const char *formulation, double h, double t_end,
                        const char *metric)
{
  perp_result result;
  const perp_request r = { .scene = scene, .formulation = formulation, .h = h, .t_end = t_end };
  if (perp_simulate(&ctx, &r, &result) != PERP_OK) bail("%s: %s", scene, ctx.msg);
  const double value = result.reason > 0 ? perp_result_metric(&result, metric) : nan("");
  perp_result_free(&result);
  return value;
}

/* Errors at h0, h0 / 2, ...: the slope of their logarithms over that of h (least squares), and the
 * last one. */
static double slope(double (*error)(const char *formulation, double h), const char *formulation,
                    double h0, int halvings, double *last)
{
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  const int n = halvings + 1;
  for (int i = 0; i < n; i++) {
    const double x = -i * M_LN2, h = ldexp(h0, -i);
    *last = error(formulation, h);
    printf("# h = %.4g s: %.3g\n", h, *last);
    const double y = log(*last);
    sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

/* 5 periods of sticking and sliding */
static double belt_error(const char *formulation, double h)
{
  return metric_of(belt, formulation, h, 6, "err.tip.max");
}

static double stone_error(const char *formulation, double h)
{
  return metric_of("rattleback", formulation, h, 2, "err.q.max");
}

/* ---- times of events ---- */

typedef struct run {
  perp_scene scene;
  perp_sim *sim;
} run;

static run run_of(const char *name, const char *formulation, const char *ode, double h)
{
  run r;
  perp_spec spec;
  perp_parts parts = { 0 };
  if (perp_spec_parse(&ctx, PERP_KIND_scene, name, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &r.scene) != PERP_OK ||
      perp_spec_parse(&ctx, PERP_KIND_formulation, formulation, &parts.formulation) != PERP_OK ||
      (ode != NULL && perp_spec_parse(&ctx, PERP_KIND_ode, ode, &parts.ode) != PERP_OK) ||
      perp_sim_create(&ctx, r.scene.model, &parts, h, &r.sim) != PERP_OK)
    bail("%s", ctx.msg);
  perp_spec_free(&parts.formulation);
  perp_spec_free(&parts.ode);
  perp_spec_free(&spec);
  return r;
}

static void run_end(run *r)
{
  perp_sim_destroy(r->sim);
  perp_scene_destroy(&r->scene);
}

/* Both of the block and of the stone: x is zero at a time between two steps, from the states at the
 * step's start, as a parabola with the values and the rate there.  (At the impact the rate jumps:
 * the end of the step says nothing of it.) */
static double crossing(double x, double rate, double acceleration)
{
  const double b = acceleration / 2, root = sqrt(fmax(0, rate * rate - 4 * b * x));
  return 2 * x / (-rate + (rate > 0 ? -root : root));
}

/* Largest error of the times of the first four impacts of the block. */
static double rocking_error(const char *formulation, double h)
{
  static const double exact[] = { 0.211563678824, 0.600016919975, 0.958213956322, 1.28965583687 };
  const double R = sqrt(0.04 + 1) / 2, alpha = atan2(0.2, 1);
  run r = run_of(rocking, formulation, NULL, h);
  double worst = 0, t = 0, angle = -0.05, rate = 0;
  int found = 0;
  while (t < 2 && found < 4) {
    perp_step_info info;
    const double *q, *v;
    double after;
    if (perp_sim_step(&ctx, r.sim, 2, &info) != PERP_OK || info.reason < 0) bail("a step fails");
    perp_sim_state(r.sim, &after, &q, &v);
    if (fabs(angle) > 1e-6 && (angle * q[2] <= 0 || fabs(q[2]) < 1e-6)) {
      const double side = angle < 0 ? -1 : 1;
      const double pull = -side * 0.75 * 9.81 / R * sin(alpha - fabs(angle));
      worst = fmax(worst, fabs(t + crossing(angle, rate, pull) - exact[found++]));
    }
    t = after;
    angle = q[2];
    rate = v[2];
  }
  run_end(&r);
  return found == 4 ? worst : nan("");
}

/* When the spin of the stone about the vertical is zero. */
static double reversal(const char *formulation, const char *ode, double h)
{
  run r = run_of("rattleback", formulation, ode, h);
  double t = 0, spin = 5;
  while (t < 3) {
    perp_step_info info;
    const double *q, *v, before = t, was = spin;
    if (perp_sim_step(&ctx, r.sim, 3, &info) != PERP_OK || info.reason < 0) bail("a step fails");
    perp_sim_state(r.sim, &t, &q, &v);
    const double *p = q + 3, *w = v + 3; /* third row of the matrix of p = (w, x, y, z) */
    spin = 2 * (p[1] * p[3] - p[0] * p[2]) * w[0] + 2 * (p[2] * p[3] + p[0] * p[1]) * w[1] +
           (1 - 2 * (p[1] * p[1] + p[2] * p[2])) * w[2];
    if (spin > 0) continue;
    run_end(&r);
    return before + (t - before) * was / (was - spin);
  }
  run_end(&r);
  return nan("");
}

/* ---- what the pages say ---- */

int main(void)
{
  static const struct {
    const char *what;
    double (*error)(const char *formulation, double h);
    const char *formulation;
    double h0;
    int halvings;
    double lo, last; /* least order, largest error at the last step */
  } rows[] = {
    { "belt", belt_error, "velocity", 4e-3, 5, 0.7, 4e-4 },
    { "belt", belt_error, "velocity-midpoint", 4e-3, 5, 1.8, 5e-8 },
    { "rocking block", rocking_error, "velocity", 4e-3, 5, 0.8, 1e-2 },
    { "rocking block", rocking_error, "velocity-midpoint", 5e-4, 2, 1.8, 1e-7 },
    { "celtic stone", stone_error, "velocity", 5e-4, 2, 0.85, 0.1 },
    { "celtic stone", stone_error, "velocity-midpoint", 2e-3, 3, 1.8, 1e-3 },
  };
  const char *source = getenv("PERP_SOURCE");
  char *path = perp_xprintf("%s/experiments/scenes/examples", source != NULL ? source : ".");
  perp_ctx_init(&ctx);
  if (chdir(path) != 0) bail("%s", path);
  free(path);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double last = nan("");
    const double order = slope(rows[i].error, rows[i].formulation, rows[i].h0, rows[i].halvings,
                               &last);
    ok(order > rows[i].lo && order < rows[i].lo + 0.9, "%s, %s: order %.2f", rows[i].what,
       rows[i].formulation, order);
    below(last, rows[i].last, "%s, %s: the error at the smallest step", rows[i].what,
          rows[i].formulation);
  }
  /* Rows of the reference are 0.05 s apart, and the spin wavers in between: the time is that of a
   * run which agrees with all of them. */
  const perp_request exact = { .scene = "rattleback",
                               .formulation = "acceleration",
                               .ode = "dop853:tol=1e-11",
                               .h = 1e-3,
                               .t_end = 2 };
  perp_result result;
  if (perp_simulate(&ctx, &exact, &result) != PERP_OK) bail("%s", ctx.msg);
  below(perp_result_metric(&result, "err.q.max"), 1e-6,
        "the run that says when the stone turns back");
  perp_result_free(&result);
  const double turns = reversal("acceleration", "dop853:tol=1e-11", 1e-3);
  near(reversal("velocity-midpoint", NULL, 2.5e-4), turns, 0, 1e-3, "it turns back at %.5f s",
       turns);
  near(reversal("velocity", NULL, 2.5e-4), turns, 0, 0.05, "under velocity, too");
  return tap_done();
}
