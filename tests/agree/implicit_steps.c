/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formulations that solve an implicit step of constrained motion by Newton's method: through
 * stiffness and singular positions, of the order that they claim in positions, velocities and
 * multipliers.  The truths are closed forms, the reference files and an acceleration-level run of
 * dopri5. */
#include "experiments/scenes/scene_file.h"
#include "models/formulations/dae/esdirk_table.h"
#include "tests/run_model.h"

static perp_ctx ctx;

enum { MOST = 7 * 130 };

static double apart(int n, const double *x, const double *y)
{
  double worst = 0;
  for (int i = 0; i < n; i++) worst = fmax(worst, fabs(x[i] - y[i]));
  return worst;
}

/* quaternions of either sign */
static double apart_q(const perp_model *model, const double *x, const double *y)
{
  double worst = 0;
  const int nqb = perp_model_nq(model) / perp_model_bodies(model);
  for (int b = 0; b < perp_model_bodies(model); b++) {
    const double *p = x + nqb * b, *q = y + nqb * b;
    double flipped[7];
    for (int i = 0; i < nqb; i++) flipped[i] = nqb == 7 && i >= 3 ? -q[i] : q[i];
    worst = fmax(worst, fmin(apart(nqb, p, q), apart(nqb, p, flipped)));
    if (isnan(p[0])) return (double)NAN;
  }
  return worst;
}

/* ---- stiff, singular ---- */

static void through(const char *formulation, const char *scene, double h, double t_end,
                    double within)
{
  double q[MOST], v[MOST], q_ref[MOST], v_ref[MOST];
  perp_scene s = run_open(&ctx, scene);
  const perp_reason reason = run_fresh(&ctx, s.model, (run_parts){ .formulation = formulation }, h,
                                       t_end, q, v);
  ok(reason > 0, "%s, %s at %g s: ends at %g s", formulation, scene, h, t_end);
  if (s.truth[0].state(s.truth[0].user, &ctx, t_end, q_ref, v_ref) != PERP_OK) bail("%s", ctx.msg);
  const double error = apart_q(s.model, q, q_ref);
  below(error, within, "  its positions within %.2g of the truth", error);
  perp_scene_destroy(&s);
}

/* iterations = 1: no Newton iteration ends with the first correction of a fast motion. */
static void limited(const char *formulation)
{
  char text[64];
  perp_scene s = run_open(&ctx, "pendulum");
  snprintf(text, sizeof text, "%s:iterations=1", formulation);
  const perp_reason one = run_fresh(&ctx, s.model, (run_parts){ text }, 0.05, 0.5, NULL, NULL),
                    many = run_fresh(&ctx, s.model, (run_parts){ formulation }, 0.05, 0.5, NULL,
                                     NULL);
  ok(one == PERP_MAX_ITER && many > 0, "%s: %s; without the limit %s", text, perp_reason_name(one),
     perp_reason_name(many));
  perp_scene_destroy(&s);
}

/* Bayo and Ledesma 1996: positions are those of index 3 either way; what is not projected is the
 * velocity, whose error along the constraints falls with the step. */
static void mass_orthogonal(void)
{
  double rate[2][2];
  for (int off = 0; off < 2; off++)
    for (int half = 0; half < 2; half++) {
      static const double zero[16];
      double q[MOST], v[MOST], Cdot[16];
      perp_scene s = run_open(&ctx, "pendulum");
      run_fresh(&ctx, s.model,
                (run_parts){ off ? "augmented-lagrangian:project=false" : "augmented-lagrangian" },
                half ? 0.01 : 0.02, 0.5, q, v);
      if (perp_model_m(s.model) > 16) bail("many rows");
      perp_model_rate(s.model, 0.5, q, v, Cdot);
      rate[off][half] = apart(perp_model_m(s.model), Cdot, zero);
      perp_scene_destroy(&s);
    }
  below(fmax(rate[0][0], rate[0][1]), 1e-12, "augmented-lagrangian: |J v| projected");
  ok(rate[1][0] > 1e-6 && rate[1][1] < 0.5 * rate[1][0],
     "augmented-lagrangian:project=false: |J v| %.2g, %.2g", rate[1][0], rate[1][1]);
}

/* A planar four-bar linkage whose crank turns around and whose rocker does not: ground 2 m, crank
 * 0.5 m, coupler 1.9 m, rocker 1.2 m, uniform rods of 1 kg/m; the crank starts along the ground at
 * `rate` rad/s. */
static perp_model *crank_rocker(double rate)
{
  const double ground = 2, length[3] = { 0.5, 1.9, 1.2 };
  const double A[2] = { length[0], 0 }; /* end of the crank */
  /* the tip of the rocker: |T - A| = coupler, |T - (ground, 0)| = rocker */
  const double d = ground - A[0],
               x = (length[1] * length[1] - length[2] * length[2] + d * d) / (2 * d),
               y = sqrt(length[1] * length[1] - x * x);
  const double from[3][2] = { { 0, 0 }, { A[0], 0 }, { ground, 0 } };
  const double to[3][2] = { { A[0], 0 }, { A[0] + x, y }, { A[0] + x, y } };
  /* velocities: A moves along y, T across the rocker, and the coupler keeps its length */
  const double across[2] = { -y, A[0] + x - ground }; /* of the rocker, at 1 rad/s */
  const double along[2] = { x, y };
  const double rocker = rate * length[0] * along[1] / (across[0] * along[0] + across[1] * along[1]);
  const double T[2] = { rocker * across[0], rocker * across[1] };
  const double coupler = (along[0] * (T[1] - rate * length[0]) - along[1] * T[0]) /
                         (length[1] * length[1]);
  const double w[3] = { rate, coupler, rocker };
  const double speed[3][2] = { { 0, rate * length[0] / 2 },
                               { T[0] / 2, (rate * length[0] + T[1]) / 2 },
                               { T[0] / 2, T[1] / 2 } };
  perp_model *model = run_model(&ctx, 2);
  for (int i = 0; i < 3; i++)
    run_body(&ctx, model,
             (perp_body_def){ .mass = perp_mass_box(length[i], length[i], 1e-3, 1e-3),
                              .x = { (from[i][0] + to[i][0]) / 2, (from[i][1] + to[i][1]) / 2 },
                              .angle = atan2(to[i][1] - from[i][1], to[i][0] - from[i][0]),
                              .v = { speed[i][0], speed[i][1] },
                              .w = { 0, 0, w[i] } });
  static const int ends[4][2] = { { PERP_WORLD, 0 }, { 0, 1 }, { 1, 2 }, { PERP_WORLD, 2 } };
  for (int k = 0; k < 4; k++) {
    perp_joint_def j = { .kind = PERP_JOINT_HINGE, .a = ends[k][0], .b = ends[k][1] };
    if (k == 3) j.anchor_a[0] = ground;
    if (k == 1) j.anchor_a[0] = length[0] / 2;
    if (k == 2) j.anchor_a[0] = length[1] / 2;
    j.anchor_b[0] = k == 2 ? length[2] / 2 : -length[k == 3 ? 2 : k] / 2;
    run_joint(&ctx, model, j);
  }
  return run_finish(&ctx, model);
}

static void crank(const char *formulation, double within)
{
  double q[9], v[9], q_ref[9], v_ref[9], kinetic, potential, start;
  perp_model *model = crank_rocker(12);
  const run_parts parts = { .formulation = formulation };
  perp_model_energy(model, 0, perp_model_q0(model), perp_model_v0(model), &kinetic, &potential);
  start = kinetic + potential;
  run_fresh(&ctx, model, (run_parts){ "acceleration", "dopri5:tol=1e-12", .stab = "post" }, 1e-3, 1,
            q_ref, v_ref);
  ok(run_fresh(&ctx, model, parts, 4e-3, 1, q, v) > 0, "%s: crank-rocker at 4 ms ends",
     formulation);
  const double coarse = apart(9, q, q_ref);
  below(coarse, within, "  error %.2g of positions", coarse);
  ok(run_fresh(&ctx, model, parts, 2e-3, 1, q, v) > 0, "  and at 2 ms");
  const double fine = apart(9, q, q_ref);
  near(log2(coarse / fine), 2, 0.3, 0, "  order %.2f", log2(coarse / fine));
  perp_model_energy(model, 0, q, v, &kinetic, &potential);
  below(fabs(kinetic + potential - start) / kinetic, 1e-3, "  keeps its energy");
  perp_model_destroy(model);
}

/* ---- orders in q, v and lambda, the largest errors of all steps ---- */

typedef struct errors {
  double q, v, lambda;
} errors;

/* A motion to t_end in steps of about h against one of dopri5 with projections; the truth of lambda
 * is that of the acceleration level at the true state of the start of the step. */
static errors errors_of(perp_model *model, run_parts parts, double h, double t_end)
{
  const run_parts truth = { "acceleration", "dopri5:tol=1e-12", .stab = "post:velocity=true" };
  perp_sim *sim = run_start(&ctx, model, parts, h);
  perp_sim *ref = run_start(&ctx, model, truth, h), *at = run_start(&ctx, model, truth, 1e-9);
  const double *q, *v, *q_ref, *v_ref;
  double t, t_ref, lambda[64], scale = 0;
  errors e = { 0 };
  for (perp_sim_state(sim, &t, &q, &v); t < t_end;) {
    perp_step_info info = { 0 }, exact = { 0 };
    perp_sim_state(ref, &t_ref, &q_ref, &v_ref);
    if (perp_sim_restart(&ctx, at, t, q_ref, v_ref) != PERP_OK ||
        perp_sim_step(&ctx, at, HUGE_VAL, &exact) != PERP_OK || exact.reason < 0)
      bail("%s", ctx.msg);
    memcpy(lambda, exact.lambda, (size_t)perp_model_m(model) * sizeof *lambda);
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK || info.reason < 0)
      return (errors){ HUGE_VAL, HUGE_VAL, HUGE_VAL };
    perp_sim_state(sim, &t, &q, &v);
    run_to(&ctx, ref, t);
    perp_sim_state(ref, &t_ref, &q_ref, &v_ref);
    e.q = fmax(e.q, apart_q(model, q, q_ref));
    e.v = fmax(e.v, apart(perp_model_nv(model), v, v_ref));
    e.lambda = fmax(e.lambda, apart(perp_model_m(model), info.lambda, lambda));
    for (int i = 0; i < perp_model_m(model); i++) scale = fmax(scale, fabs(lambda[i]));
  }
  e.lambda /= scale;
  perp_sim_destroy(sim);
  perp_sim_destroy(ref);
  perp_sim_destroy(at);
  return e;
}

/* wanted: orders of q, v and lambda; 0: not looked at, -1: lambda is not unique */
static void orders_of(const char *scene, run_parts parts, double h, double t_end,
                      const double wanted[3], double within)
{
  perp_scene s = run_open(&ctx, scene);
  const char *name = parts.ode != NULL ? parts.ode : parts.formulation;
  const errors a = errors_of(s.model, parts, h, t_end);
  const errors b = errors_of(s.model, parts, h / 2, t_end);
  const double got[3] = { log2(a.q / b.q), log2(a.v / b.v), log2(a.lambda / b.lambda) };
  static const char *const what[] = { "q", "v", "lambda" };
  for (int i = 0; i < 3; i++)
    if (wanted[i] > 0)
      near(got[i], wanted[i], within, 0, "%s, %s: order %.2f in %s", scene, name, got[i], what[i]);
  if (wanted[2] >= 0) below(b.lambda, 0.2, "  multipliers within %.2g", b.lambda);
  perp_scene_destroy(&s);
}

static void orders(const char *scene, const char *formulation, double h, double t_end,
                   const double wanted[3], double within)
{
  orders_of(scene, (run_parts){ .formulation = formulation }, h, t_end, wanted, within);
}

static void alpha_orders(void)
{
  static const double second[] = { 2, 2, 2 }, first[] = { 2, 0, 1 };
  static const struct {
    const char *name;
    double h, t_end;
  } scenes[] = { { "pendulum", 4e-3, 0.6 },
                 { "heavy-top", 2.5e-4, 0.05 },
                 { "chain:links=4", 1e-3, 0.2 } };
  static const char *const methods[] = {
    "generalized-alpha",         "generalized-alpha:form=index3",
    "generalized-alpha:rho=1",   "generalized-alpha:form=index3,rho=0",
    "generalized-alpha:rho=0.3", "hht",
    "hht:alpha=-0.05",           "hht:alpha=-0.3333333333",
    "augmented-lagrangian",      "augmented-lagrangian:penalty=10",
  };
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
      orders(scenes[i].name, methods[k], scenes[i].h, scenes[i].t_end, second, 0.2);
  /* the benchmark of Arnold, Bruels and Cardona: without the start, lambda is of order 1 */
  orders("heavy-top", "generalized-alpha:form=index3,start=plain,rho=0.9", 2.5e-4, 0.05, first,
         0.35);
}

/* Hairer and Wanner II, section VII.4: in index 2 y is of order 5 and z of order 3; in index 1 both
 * of order 5. */
static void radau_orders(void)
{
  static const double index2[] = { 5, 5, 3 }, index1[] = { 5, 5, 5 };
  orders("pendulum", "radau5", 0.04, 0.8, index2, 0.3);
  orders("heavy-top", "radau5", 1e-3, 0.04, index2, 0.3);
  orders("chain:links=4", "radau5", 4e-3, 0.2, index2, 0.5);
  orders("pendulum", "radau5:form=index1", 0.08, 0.8, index1, 0.4);
  orders("heavy-top", "radau5:form=index1", 2e-3, 0.04, index1, 0.4);
}

/* Murua 1997: q and v of order 5; lambda is that of the accelerations at the state. */
static void phem_orders(void)
{
  static const double fifth[] = { 5, 5, 5 };
  orders("pendulum", "phem56", 0.02, 0.8, fifth, 0.3);
  orders("heavy-top", "phem56", 1e-3, 0.2, fifth, 0.5);
  orders("chain:links=4", "phem56", 4e-3, 0.2, fifth, 0.5);
  orders("four-bar", "phem56:project=false", 0.02, 0.6, fifth, 0.5);
  orders("andrews", "phem56", 1e-4, 0.02, fifth, 0.5);
}

/* Marsden and West 2001, Jay 1996: order 2 s - 2 in q and v; lambda of a node s - 1. */
static void variational_orders(void)
{
  static const double second[] = { 2, 2, 1 }, fourth[] = { 4, 4, 2 }, sixth[] = { 6, 6, 3 };
  static const double redundant[] = { 4, 4, -1 };
  orders("pendulum", "variational:stages=2", 8e-3, 0.8, second, 0.2);
  orders("heavy-top", "variational:stages=2", 5e-4, 0.1, second, 0.2);
  orders("pendulum", "variational", 8e-3, 0.8, fourth, 0.2);
  orders("heavy-top", "variational", 1e-3, 0.1, fourth, 0.2);
  orders("andrews", "variational", 8e-5, 0.02, fourth, 0.5);
  orders("bricard", "variational", 0.04, 1.2, redundant, 0.3);
  orders("four-bar", "variational", 0.016, 0.6, fourth, 0.3);
  orders("chain:links=4,dim=3", "variational", 4e-3, 0.2, fourth, 0.3);
  orders("vibrating-pendulum.yaml", "variational", 4e-4, 0.1, fourth, 0.3);
  orders("pendulum", "variational:stages=4", 0.032, 0.8, sixth, 0.4);
  orders("heavy-top", "variational:stages=4", 5e-3, 0.1, sixth, 0.4);
}

/* Lotstedt and Petzold 1986: order k in all, started by a method of order 4 in parts of a step. */
static void bdf_orders(void)
{
  for (int k = 1; k <= 5; k++) {
    char name[32];
    const double wanted[] = { k, k, 0 }; /* lambda is of order k after the start alone */
    snprintf(name, sizeof name, "bdf:order=%d", k);
    orders("pendulum", name, 5e-3, 1, wanted, 0.25);
    if (k > 1) orders("heavy-top", name, 5e-4, 0.1, wanted, 0.25); /* 1: lambda has a layer */
  }
}

/* With rk4, the default; choices of coordinates are made on the way. */
static void partition_orders(void)
{
  static const double fourth[] = { 4, 4, 4 };
  static const char *const methods[] = { "coordinate-partitioning", "tangent-coordinates" };
  for (int i = 0; i < 2; i++) {
    orders("pendulum", methods[i], 4e-3, 0.8, fourth, 0.3);
    orders("heavy-top", methods[i], 2.5e-4, 0.04, fourth, 0.3);
    orders("chain:links=4", methods[i], 2e-3, 0.2, fourth, 0.3);
    orders("andrews", methods[i], 2e-5, 0.02, fourth, 0.5);
  }
}

/* The table of esdirk: the conditions of order 4, those of the embedded method of order 3, which
 * has no more, and of stage order 2. */
static void esdirk_conditions(void)
{
  enum { S = PERP_ESDIRK_STAGES };
  const double(*A)[S] = PERP_ESDIRK_A;
  const double *c = PERP_ESDIRK_C;
  double u[S][5]; /* powers of c up to c^3; A c^2 */
  for (int i = 0; i < S; i++) {
    double sum = 0, first = 0;
    for (int j = 0; j < 4; j++) u[i][j] = pow(c[i], j);
    u[i][4] = 0;
    for (int j = 0; j < S; j++) {
      sum += A[i][j];
      first += A[i][j] * c[j];
      u[i][4] += A[i][j] * c[j] * c[j];
    }
    near(sum, c[i], 1e-15, 0, "esdirk: row %d", i);
    near(first, c[i] * c[i] / 2, 1e-15, 0, "  of stage order 2");
  }
  static const double wanted[] = { 1, 1. / 2, 1. / 3, 1. / 4, 1. / 12 };
  for (int k = 0; k < 5; k++) { /* the others of order 4 follow from the stage order */
    double b = 0, embedded = 0;
    for (int i = 0; i < S; i++) {
      b += A[S - 1][i] * u[i][k];
      embedded += PERP_ESDIRK_EMBEDDED[i] * u[i][k];
    }
    near(b, wanted[k], 1e-15, 0, "  b, condition %d", k);
    if (k < 3) near(embedded, wanted[k], 1e-15, 0, "  embedded, condition %d", k);
    if (k >= 3) ok(fabs(embedded - wanted[k]) > 1e-4, "  embedded: not condition %d", k);
  }
}

/* Order of a stiff motion at its end: 1e4 1/s against steps of milliseconds. */
static void stiff_order(run_parts parts, double h, double least)
{
  perp_scene s = run_open(&ctx, "flyball");
  double q[MOST], v[MOST], q_ref[MOST], v_ref[MOST], error[2];
  if (s.truth[0].state(s.truth[0].user, &ctx, 1, q_ref, v_ref) != PERP_OK) bail("%s", ctx.msg);
  for (int k = 0; k < 2; k++) {
    run_fresh(&ctx, s.model, parts, ldexp(h, -k), 1, q, v);
    error[k] = apart_q(s.model, q, q_ref);
  }
  ok(error[0] / error[1] > pow(2, least), "flyball, %s %s: order %.2f, error %.2g",
     parts.formulation, parts.ode != NULL ? parts.ode : "", log2(error[0] / error[1]), error[1]);
  perp_scene_destroy(&s);
}

/* esdirk, and the projected Rosenbrock method: rodas4 on the accelerations with projections. */
static void stiff_orders(void)
{
  static const double fourth[] = { 4, 4, 4 };
  const run_parts rosenbrock = { "acceleration", "rodas4", .stab = "post:velocity=true" };
  orders("pendulum", "esdirk", 8e-3, 0.8, fourth, 0.2);
  orders("heavy-top", "esdirk", 5e-4, 0.1, fourth, 0.4);
  orders("chain:links=4", "esdirk", 2e-3, 0.2, fourth, 0.3);
  orders("andrews", "esdirk", 4e-5, 0.02, fourth, 0.5);
  orders("four-bar", "esdirk", 0.016, 0.6, fourth, 0.3);
  orders("vibrating-pendulum.yaml", "esdirk", 4e-4, 0.1, fourth, 0.3);
  stiff_order((run_parts){ .formulation = "esdirk" }, 2.5e-3, 2.5);
  orders_of("pendulum", rosenbrock, 0.016, 0.8, fourth, 0.4);
  orders_of("heavy-top", rosenbrock, 1e-3, 0.1, fourth, 0.4);
  orders_of("four-bar", rosenbrock, 0.016, 0.6, fourth, 0.5);
  stiff_order(rosenbrock, 2.5e-3, 2.5);
}

/* Errors follow the tolerance, from a first step that is much too long for it; steps grow in number
 * as those of a method whose error estimate has this order. */
static void tolerance(const char *method, double within, int order)
{
  static const char *const scenes[] = { "double-pendulum", "flyball", "chain:links=4" };
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    perp_scene s = run_open(&ctx, scenes[i]);
    double error[3], steps[3];
    for (int k = 0; k < 3; k++) {
      char name[64];
      double t, q_ref[MOST], v_ref[MOST];
      const double *q, *v;
      perp_ode_counters made;
      perp_stats kkt;
      snprintf(name, sizeof name, "%s:tol=%g", method, pow(10, -4 - 2 * k));
      perp_sim *sim = run_start(&ctx, s.model, (run_parts){ .formulation = name }, 0.05);
      ok(run_to(&ctx, sim, 0.5) > 0, "%s, %s ends", scenes[i], name);
      if (s.truth[0].state(s.truth[0].user, &ctx, 0.5, q_ref, v_ref) != PERP_OK)
        bail("%s", ctx.msg);
      perp_sim_state(sim, &t, &q, &v);
      perp_sim_counters(sim, &made, &kkt);
      error[k] = apart_q(s.model, q, q_ref);
      steps[k] = (double)made.steps;
      below(error[k], within * pow(10, -4 - 2 * k), "  error %.2g", error[k]);
      perp_sim_destroy(sim);
    }
    ok(error[2] < error[0] / 100, "  and falls with the tolerance");
    below(steps[2] / steps[1], 1.5 * pow(100, 1.0 / (order + 1)), "  %g, %g, %g steps", steps[0],
          steps[1], steps[2]);
    perp_scene_destroy(&s);
  }
}

/* Multipliers are those of one motion at every step, from the first ones on: second differences are
 * h^2 times a rate, not h.  *off: of joints and their rates, afterwards. */
static double bend_of(const char *method, double h, double *size, double *off)
{
  enum { HOW_MANY = 12 };
  perp_scene s = run_open(&ctx, "four-bar");
  const perp_model *m = s.model;
  const int rows = perp_model_m(m);
  perp_sim *sim = run_start(&ctx, s.model, (run_parts){ .formulation = method }, h);
  double lambda[3][64], bend = 0, C[64], rate[64];
  *size = *off = 0;
  for (int k = 0; k < HOW_MANY; k++) {
    perp_step_info info;
    double t;
    const double *q, *v, *now = lambda[k % 3], *last = lambda[(k + 2) % 3],
                         *before = lambda[(k + 1) % 3];
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s: %s", method, ctx.msg);
    memcpy(lambda[k % 3], info.lambda, (size_t)rows * sizeof *info.lambda);
    for (int i = 0; i < rows && k >= 2; i++) {
      bend = fmax(bend, fabs(now[i] - 2 * last[i] + before[i]));
      *size = fmax(*size, fabs(now[i]));
    }
    perp_sim_state(sim, &t, &q, &v);
    perp_model_error(m, t, q, C);
    perp_model_rate(m, t, q, v, rate);
    for (int i = 0; i < rows; i++) *off = fmax(*off, fmax(fabs(C[i]), fabs(rate[i])));
  }
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
  return bend;
}

/* holds: joints and their rates are at rounding, in long steps, too */
static void steady(const char *method, bool holds)
{
  double size, off;
  const double bend = bend_of(method, 2e-3, &size, &off);
  below(bend, 5e-5 * size, "%s: multipliers of the first steps bend by %.2g of %.2g N", method,
        bend, size);
  if (!holds) return;
  bend_of(method, 2e-2, &size, &off);
  below(off, 1e-13, "%s: joints and their rates are off by %.2g", method, off);
}

/* Between the ends of a step: order 4 of the step, both ends exactly, and nothing outside. */
static void radau_dense(void)
{
  static const double part[] = { 0.1, 0.37, 0.5, 0.93 };
  double worst[2];
  perp_scene s = run_open(&ctx, "heavy-top");
  for (int k = 0; k < 2; k++) {
    const double h = ldexp(2e-3, -k);
    const run_parts truth = { "acceleration", "dopri5:tol=1e-12", .stab = "post:velocity=true" };
    perp_sim *sim = run_start(&ctx, s.model, (run_parts){ .formulation = "radau5" }, h);
    perp_sim *ref = run_start(&ctx, s.model, truth, h);
    perp_step_info info = { 0 };
    const double *q, *v, *q_ref, *v_ref;
    double t, t_ref, at[MOST], rate[MOST], lambda[64], before[MOST];
    worst[k] = 0;
    for (int i = 0; i < 4; i++) {
      perp_sim_state(sim, &t, &q, &v);
      memcpy(before, q, sizeof *q * (size_t)perp_model_nq(s.model));
      if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
      for (int p = 0; p < 4; p++) {
        run_to(&ctx, ref, t + part[p] * h);
        perp_sim_state(ref, &t_ref, &q_ref, &v_ref);
        if (perp_sim_dense_at(&ctx, sim, t_ref, at, rate, lambda) != PERP_OK) bail("%s", ctx.msg);
        worst[k] = fmax(worst[k], apart_q(s.model, at, q_ref));
      }
      perp_sim_dense_at(&ctx, sim, t, at, rate, lambda);
      below(apart_q(s.model, at, before), 1e-15, "dense output: the start of step %d", i);
      ok(perp_sim_dense_at(&ctx, sim, t - h, at, rate, lambda) == PERP_ERR_ARG,
         "  and nothing before it");
      perp_sim_state(sim, &t, &q, &v);
      perp_sim_dense_at(&ctx, sim, t, at, rate, lambda);
      ok(memcmp(at, q, sizeof *q * (size_t)perp_model_nq(s.model)) == 0, "  its end, exactly");
    }
    perp_sim_destroy(sim);
    perp_sim_destroy(ref);
  }
  near(log2(worst[0] / worst[1]), 4, 0.4, 0, "dense output: order %.2f within a step, %.2g",
       log2(worst[0] / worst[1]), worst[1]);
  perp_scene_destroy(&s);
}

/* HHT as Hilber, Hughes and Taylor have it, on x.. = -w^2 x + f(t) / 2, f = 40 cos(3 t): a body on
 * a spring without joints.  Not plain, the method's own acceleration begins as it is at alpha h. */
static void hht_recursion(bool plain)
{
  static const double w2 = 90, h = 0.05, alpha = -0.2, beta = 1.2 * 1.2 / 4, gamma = 0.7;
  const perp_body_def body = { .mass = { 2, { [8] = 1 } }, .x = { 1.3 }, .v = { 0.4 } };
  const perp_signal_def cosine = {
    .kind = PERP_SIGNAL_SINE, .amplitude = 40, .rate = 3, .phase = M_PI / 2
  };
  perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                            .a = PERP_WORLD,
                            .b = 0,
                            .anchor_a = { -9 },
                            .stiffness = 2 * w2,
                            .length = 9 },
                 push = { .kind = PERP_FORCE_POINT };
  perp_model *m;
  if (perp_model_create(&ctx, 2, &m) != PERP_OK) bail("%s", ctx.msg);
  perp_model_gravity(m, 0);
  if (perp_model_add_body(&ctx, m, &body, NULL) != PERP_OK ||
      perp_model_add_signal(&ctx, m, &cosine, push.value_signal) != PERP_OK ||
      perp_model_add_force(&ctx, m, &spring) != PERP_OK ||
      perp_model_add_force(&ctx, m, &push) != PERP_OK || perp_model_finish(&ctx, m) != PERP_OK)
    bail("%s", ctx.msg);
  const run_parts parts = { .formulation = plain ? "hht:alpha=-0.2,start=plain"
                                                 : "hht:alpha=-0.2" };
  perp_sim *sim = run_start(&ctx, m, parts, h);
  double x = 1.3, v = 0.4, a = -w2 * x + 20, worst = 0;
  if (!plain) a += alpha * h * -w2 * v; /* f' is 0 */
  for (int i = 0; i < 40; i++) {
    /* a1 = (1 + alpha) (f1 / 2 - w^2 x1) - alpha (f / 2 - w^2 x),  x1 = d + beta h^2 a1 */
    const double f = 20 * cos(3 * h * i), f1 = 20 * cos(3 * h * (i + 1));
    const double d = x + h * v + h * h * (0.5 - beta) * a;
    const double a1 = ((1 + alpha) * (f1 - w2 * d) - alpha * (f - w2 * x)) /
                      (1 + w2 * (1 + alpha) * beta * h * h);
    x = d + beta * h * h * a1;
    v += h * ((1 - gamma) * a + gamma * a1);
    a = a1;
    perp_step_info info;
    const double *q, *u;
    double t;
    if (perp_sim_step(&ctx, sim, 10, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &u);
    worst = fmax(worst, fmax(fabs(q[0] - x), fabs(u[0] - v) / sqrt(w2)));
  }
  below(worst, 1e-11, "hht, %s start: 40 steps of an oscillator are those of the recursion",
        plain ? "plain" : "second-order");
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  limited("impulse");
  limited("augmented-lagrangian");
  limited("esdirk");
  mass_orthogonal();
  through("ggl", "flyball", 1e-4, 0.3, 2e-6);
  through("ggl", "flyball", 1e-2, 1, 2e-2);
  through("ggl", "four-bar", 1e-3, 5, 1e-5);
  through("ggl", "four-bar:dim=3", 1e-3, 2, 1e-5);
  through("ggl", "bricard", 1e-3, 10, 1e-5);
  through("ggl", "tree", 1e-3, 0.05, 1e-3);
  through("radau5", "tree", 2e-3, 0.05, 1e-6);
  crank("ggl", 0.01);
  through("generalized-alpha", "flyball", 1e-2, 1, 5e-3);
  through("generalized-alpha:form=index3", "flyball", 1e-3, 1, 1e-4);
  through("generalized-alpha", "four-bar:dim=3", 1e-3, 2, 1e-4);
  through("generalized-alpha:form=index3", "bricard", 1e-3, 2, 1e-4);
  through("hht", "flyball", 1e-3, 1, 2e-4);
  through("hht", "four-bar:dim=3", 1e-3, 2, 2e-4);
  through("hht", "bricard", 1e-3, 2, 2e-4);
  through("bdf", "flyball", 2e-3, 1, 1e-3);
  through("bdf", "four-bar:dim=3", 1e-3, 2, 1e-4);
  through("bdf", "bricard", 1e-3, 2, 1e-6);
  through("variational", "four-bar:dim=3", 4e-3, 2, 1e-6);
  through("variational", "bricard", 1e-2, 10, 1e-8);
  through("variational", "sarrus", 4e-3, 1, 1e-5); /* passes a singular position */
  through("variational", "flyball", 5e-3, 1, 1e-5);
  through("augmented-lagrangian", "flyball", 1e-2, 1, 2e-2);
  through("augmented-lagrangian", "four-bar:dim=3", 1e-3, 2, 1e-4);
  through("augmented-lagrangian", "bricard", 1e-3, 10, 2e-5);
  crank("augmented-lagrangian", 0.02);
  partition_orders();
  through("coordinate-partitioning", "four-bar", 4e-3, 5, 1e-6);
  through("tangent-coordinates", "four-bar", 4e-3, 5, 1e-6);
  through("coordinate-partitioning", "bricard", 1e-2, 10, 1e-7);
  through("tangent-coordinates", "bricard", 1e-2, 10, 1e-7);
  through("phem56", "four-bar", 4e-3, 5, 1e-7);
  through("phem56", "bricard", 1e-2, 10, 1e-9);
  crank("generalized-alpha", 0.02);
  alpha_orders();
  hht_recursion(true);
  hht_recursion(false);
  through("esdirk", "flyball", 1e-2, 1, 1e-4);
  through("esdirk", "four-bar", 4e-3, 5, 1e-7);
  through("esdirk", "four-bar:dim=3", 4e-3, 2, 1e-6);
  through("esdirk", "bricard", 1e-2, 10, 1e-8);
  through("radau5", "flyball", 1e-2, 1, 1e-6);
  through("radau5", "bricard", 1e-2, 10, 1e-6);
  through("radau5:tol=1e-8", "four-bar:dim=3", 1e-3, 2, 1e-5);
  through("radau5:form=index1", "flyball", 1e-2, 1, 1e-4);
  radau_orders();
  tolerance("radau5", 300, 3);
  bdf_orders();
  variational_orders();
  phem_orders();
  tolerance("phem56", 15, 4);
  esdirk_conditions();
  stiff_orders();
  tolerance("esdirk", 10, 3);
  radau_dense();
  static const struct {
    const char *method;
    bool holds;
  } all[] = { { "phem56", true },
              { "esdirk", true },
              { "variational", true },
              { "radau5", false },
              { "bdf:order=3", false },
              { "bdf:order=5", false },
              { "hht", false },
              { "generalized-alpha", false },
              { "augmented-lagrangian", true },
              { "coordinate-partitioning", true },
              { "tangent-coordinates", true } };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) steady(all[i].method, all[i].holds);
  return tap_done();
}
