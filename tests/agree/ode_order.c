/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order that each descriptor claims, observed on closed solutions: an oscillator, a plain field
 * that depends on time, a pendulum (elliptic functions) and a free rigid body with its attitude
 * (Jacobi elliptic functions).
 *
 * order = Theil-Sen slope of log(error) over log(h), half octaves of h, errors above round-off
 * only.
 *
 * And which form of Verlet a formulation gets by what its forces need. */
#include "tests/ode_order.h"
#include "tests/run_model.h"

static perp_ctx ctx;

/* Where theory says something else than the order of the method. */
static const struct exception {
  const char *method, *problem;
  double order;
  const char *why;
} exceptions[] = {
  { "gsl:rk8pd", "oscillator", 9,
    "on y' = A y its polynomial in h A has the term 1/9! of the exponential to 0.3 %" },
};

static const struct exception *exception_of(const char *method, const char *problem)
{
  for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
    if (strcmp(exceptions[i].method, method) == 0 && strcmp(exceptions[i].problem, problem) == 0)
      return &exceptions[i];
  return NULL;
}

/* ---- the forms of Verlet on models ---- */

typedef enum brings { SPRING, DRAG, DAMPER, GYROSCOPE, JOINT, MOTOR, CONTACT, BRINGS } brings;
static const char *const what[] = { "a spring", "drag",    "a damped spring", "a gyroscopic torque",
                                    "a joint",  "a motor", "a contact" };

/* one body, spherical but for its gyroscopic torque, with one force */
static perp_model *with_force(brings w)
{
  perp_model *m = run_model(&ctx, 3);
  perp_body_def body = { .mass = { .mass = 2, .inertia = { 0.1, 0, 0, 0, 0.1, 0, 0, 0, 0.1 } } };
  perp_force_def force = { .kind = PERP_FORCE_DRAG, .a = 0, .linear = 3 };
  if (w == GYROSCOPE) body.mass.inertia[8] = 0.17, body.w[0] = 1, body.w[2] = 3;
  if (w == DRAG || w == MOTOR) body.v[0] = 0.5;
  if (w == CONTACT) body.x[2] = 0.5;
  run_body(&ctx, m, body);
  if (w == SPRING || w == DAMPER)
    force = (perp_force_def){ .kind = PERP_FORCE_SPRING,
                              .a = PERP_WORLD,
                              .b = 0,
                              .anchor_a = { 1 },
                              .length = 0.8,
                              .stiffness = 100,
                              .damping = w == DAMPER ? 5 : 0 };
  if (w == JOINT) force = (perp_force_def){ .kind = PERP_FORCE_POINT, .a = 0, .value = { 20, 10 } };
  if (w <= DAMPER || w == JOINT) run_force(&ctx, m, force);
  if (w == JOINT || w == MOTOR)
    run_joint(&ctx, m,
              (perp_joint_def){ .kind = w == JOINT ? PERP_JOINT_BALL : PERP_JOINT_SLIDER,
                                .a = PERP_WORLD,
                                .axis_a = { 1 },
                                .axis_b = { 1 } });
  if (w == MOTOR)
    run_drive(
        &ctx, m,
        (perp_drive_def){ .lower = -HUGE_VAL, .upper = HUGE_VAL, .velocity = 2, .max_force = 50 });
  for (int i = 0; i < 2 && w == CONTACT; i++) {
    const perp_shape_def shape = { .kind = i == 0 ? PERP_SHAPE_PLANE : PERP_SHAPE_SPHERE,
                                   .body = i - 1,
                                   .radius = 0.1 };
    run_shape(&ctx, m, shape);
  }
  return run_finish(&ctx, m);
}

/* Its position form, of 2 derivatives a step, is for forces of positions alone; the velocity form,
 * of 3, has the trapezoidal rule by two passes: under linear drag a step of x = h c / m is
 *
 *      v+ = (1 - x + x^2 / 2 - x^3 / 4) v.
 */
static void verlet_forms(void)
{
  static const char *const soft = "penalty:damping=0", *const damped = "penalty:damping=5";
  const struct {
    const char *form;
    brings first, last;
    int derivatives;
  } rows[] = { { "acceleration", SPRING, SPRING, 2 },
               { "acceleration", DRAG, GYROSCOPE, 3 },
               { "acceleration", MOTOR, CONTACT, 3 },
               { soft, SPRING, SPRING, 2 },
               { soft, JOINT, JOINT, 2 },
               { soft, DRAG, GYROSCOPE, 3 },
               { soft, MOTOR, CONTACT, 3 },
               { damped, JOINT, JOINT, 3 } };
  const double h = 1e-3, x = h * 3 / 2;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (brings w = rows[i].first; w <= rows[i].last; w++) {
      perp_model *m = with_force(w);
      perp_ode_counters count;
      const double *q, *v;
      double t;
      perp_sim *sim = run_start(&ctx, m, (run_parts){ rows[i].form, "verlet" }, h);
      run_to(&ctx, sim, 0.0205);
      perp_sim_counters(sim, &count, NULL);
      ok(count.rhs == rows[i].derivatives * count.steps,
         "%s, verlet with %s: %ld derivatives in %ld steps", rows[i].form, what[w], (long)count.rhs,
         (long)count.steps);
      perp_sim_destroy(sim);
      if (w == DRAG) {
        sim = run_start(&ctx, m, (run_parts){ rows[i].form, "verlet" }, h);
        run_to(&ctx, sim, 20 * h);
        perp_sim_state(sim, &t, &q, &v);
        near(v[0], 0.5 * pow(1 - x + x * x / 2 - x * x * x / 4, 20), 1e-14, 0,
             "  the velocity form");
        perp_sim_destroy(sim);
      }
      perp_model_destroy(m);
    }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  verlet_forms();
  const ode_problem problems[] = { oscillator(), circle(), pendulum(), rigid() };
  static const double pace[] = { 0.5, 1, 2, 1 }; /* how fast they change */
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_ode, i)) != NULL; i++) {
    const perp_ode_desc *desc = (const perp_ode_desc *)d;
    if (desc->order == 0) continue;
    perp_spec spec;
    perp_spec_parse(&ctx, PERP_KIND_ode, d->name, &spec);
    for (int k = 0; k < 4; k++) {
      ode_problem p = problems[k];
      if (p.sys.nv == 0 && (d->caps & PERP_ODE_SECOND_ORDER) != 0) continue;
      const bool high = desc->order >= 7;
      const struct exception *e = exception_of(d->name, p.name);
      double x[POINTS], y[POINTS], order = e != NULL ? e->order : desc->order;
      int points, first = (int)(p.t_end * pace[k] * coarsest(desc->order));
      double slope = observed(&ctx, &spec, &p, first, x, y, &points);
      if (!ok(fabs(slope - order) <= (high ? 0.25 : 0.1),
              "%s: order %g on the %s: %.3f (%d points)%s%s", d->name, order, p.name, slope, points,
              e != NULL ? "; " : "", e != NULL ? e->why : ""))
        for (int j = 0; j < points; j++)
          printf("# %4.0f steps: error %.3e\n", exp(-x[j]), exp(y[j]));
    }
    perp_spec_free(&spec);
  }

  /* bsimp has an order of its own for each system; at order 12 a factor of four in h goes from no
   * digit to all of them, so the slope is seen on a few coarse steps only and is known less well */
  perp_spec spec;
  perp_spec_parse(&ctx, PERP_KIND_ode, "gsl:bsimp", &spec);
  const perp_ode_desc *bsimp = (const perp_ode_desc *)spec.d;
  ode_problem p = rigid();
  p.t_end = 8;
  void *ws;
  bsimp->create(&ctx, &p.sys, spec.opts, &ws);
  int order = bsimp->current_order(ws), points;
  bsimp->destroy(ws);
  double x[POINTS], y[POINTS], slope = observed(&ctx, &spec, &p, 2, x, y, &points);
  ok(order == 12 && fabs(slope - order) <= 1.5, "gsl:bsimp: order %d on the %s: %.1f (%d points)",
     order, p.name, slope, points);
  perp_spec_free(&spec);
  return tap_done();
}
