/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formulations against references: observed order, drift, what compliance does; and soft rows as
 * springs and dampers, by the exact discrete formula and by the closed form. */
#include "experiments/scenes/scene_file.h"
#include "tests/run_model.h"

static perp_ctx ctx;

/* ---- order ---- */

typedef struct outcome {
  double tip, C, rate; /* errors at the end */
} outcome;

static outcome run_scene(perp_scene *s, run_parts parts, double h, double t_end)
{
  double q[7 * 8], v[6 * 8], q_ref[7 * 8], v_ref[6 * 8], C[64], rate[64] = { 0 }, p[3], ref[3];
  outcome o = { 0 };
  if (run_fresh(&ctx, s->model, parts, h, t_end, q, v) < 0) return (outcome){ .tip = HUGE_VAL };
  if (s->truth[0].state(s->truth[0].user, &ctx, t_end, q_ref, v_ref) != PERP_OK)
    bail("%s", ctx.msg);
  perp_model_point(s->model, q, s->tip_body, s->tip, p);
  perp_model_point(s->model, q_ref, s->tip_body, s->tip, ref);
  for (int i = 0; i < 3; i++) o.tip = fmax(o.tip, fabs(p[i] - ref[i]));
  perp_model_error(s->model, t_end, q, C);
  perp_blocks_J(perp_model_assemble(s->model, t_end, q), 1, v, rate);
  for (int i = 0; i < perp_model_m(s->model); i++) {
    o.C = fmax(o.C, fabs(C[i]));
    o.rate = fmax(o.rate, fabs(rate[i]));
  }
  return o;
}

static double energy_of(const perp_model *model, const double *q, const double *v)
{
  double kinetic, potential;
  perp_model_energy(model, 0, q, v, &kinetic, &potential);
  return kinetic + potential;
}

/* change of energy; infinity where the run ends early */
static double energy_change(perp_scene *s, run_parts parts, double h, double t_end)
{
  double q[7 * 8], v[6 * 8];
  if (run_fresh(&ctx, s->model, parts, h, t_end, q, v) < 0) return HUGE_VAL;
  return fabs(energy_of(s->model, q, v) -
              energy_of(s->model, perp_model_q0(s->model), perp_model_v0(s->model)));
}

/* median of the slopes over four halvings of h */
static double observed_order(perp_scene *s, run_parts parts, double h, double t_end)
{
  double error[5], slope[4];
  for (int i = 0; i < 5; i++) error[i] = run_scene(s, parts, ldexp(h, -i), t_end).tip;
  for (int i = 0; i < 4; i++) slope[i] = log2(error[i] / error[i + 1]);
  for (int i = 1; i < 4; i++) /* insertion sort */
    for (int j = i; j > 0 && slope[j] < slope[j - 1]; j--) {
      double swap = slope[j];
      slope[j] = slope[j - 1];
      slope[j - 1] = swap;
    }
  return (slope[1] + slope[2]) / 2;
}

static void orders(void)
{
  static const struct {
    const char *scene, *formulation, *ode;
    double h, t_end, order;
  } cases[] = {
    { "pendulum", "impulse", NULL, 0.02, 2, 2 },
    { "pendulum", "ggl", NULL, 0.02, 2, 2 },
    { "double-pendulum", "impulse", NULL, 0.01, 1, 2 },
    { "double-pendulum", "ggl", NULL, 0.01, 1, 2 },
    { "heavy-top", "impulse", NULL, 1e-3, 0.1, 2 },
    { "heavy-top", "ggl", NULL, 1e-3, 0.1, 2 },
    { "spherical-pendulum", "ggl", NULL, 0.02, 1, 2 },
    { "pendulum", "impulse:velocity=false", NULL, 0.01, 2, 2 },
    { "double-pendulum", "point-mass", NULL, 0.01, 1, 2 },
    { "spherical-pendulum", "point-mass", NULL, 0.02, 1, 2 },
    { "chain:links=2,joint=hinge", "point-mass", NULL, 5e-3, 0.5, 2 },
    { "chain:links=2,dim=2", "point-mass", NULL, 5e-3, 0.5, 2 },
    { "pendulum", "regularized:compliance=1e-12", "symplectic-euler", 0.01, 2, 1 },
    { "double-pendulum", "regularized:compliance=1e-12", "symplectic-euler", 2e-3, 1, 1 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_scene s = run_open(&ctx, cases[i].scene);
    const run_parts parts = { .formulation = cases[i].formulation, .ode = cases[i].ode };
    const double order = observed_order(&s, parts, cases[i].h, cases[i].t_end);
    near(order, cases[i].order, 0.15, 0, "%s, %s: order %.3f", cases[i].scene, cases[i].formulation,
         order);
    perp_scene_destroy(&s);
  }
}

static void drift(void)
{
  static const char *const scenes[] = { "chain", "double-pendulum", "four-bar",
                                        "spherical-pendulum", "chain:links=4,dim=2,joint=hinge" };
  static const char *const formulations[] = { "impulse", "ggl" };
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    for (int f = 0; f < 2; f++) {
      perp_scene s = run_open(&ctx, scenes[i]);
      outcome o = run_scene(&s, (run_parts){ .formulation = formulations[f] }, 1e-3, 0.6);
      /* tolerance of the iterations */
      below(o.C, 2e-12, "%s, %s: |C| = %.2g after 0.6 s", scenes[i], formulations[f], o.C);
      below(o.rate, 1e-9, "%s, %s: |J v| = %.2g", scenes[i], formulations[f], o.rate);
      perp_scene_destroy(&s);
    }
}

/* ---- point masses: the experiments of van Overveld and Barenbrug ---- */

/* cubes of side 2 hanging from each other by corners, the first corner fixed when `held` */
static perp_model *cubes(int n, bool held)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, held ? 1 : 0);
  for (int i = 0; i < n; i++) {
    run_body(&ctx, model,
             (perp_body_def){ .mass = perp_mass_box(8, 2, 2, 2),
                              .x = { 1 + 2 * i, 1 + 2 * i, 1 + 2 * i },
                              .w = { held ? 0 : 0.3, held ? 0 : 0.1, held ? 0 : 0.05 } });
    if (held)
      run_joint(&ctx, model,
                (perp_joint_def){ .kind = PERP_JOINT_BALL,
                                  .a = i - 1,
                                  .b = i,
                                  .anchor_a = { i > 0, i > 0, i > 0 },
                                  .anchor_b = { -1, -1, -1 } });
  }
  return run_finish(&ctx, model);
}

/* Largest |C| and largest change of energy over the frames.  The velocity that a difference of
 * positions gives is off by (w h)^2, from the first frames on: energies are compared after the
 * first 20 of them, as the source measures after the forces that set the cube in motion. */
static void frames(perp_model *model, const char *formulation, int count, double h, double *C,
                   double *energy)
{
  perp_step_info info = { 0 };
  double t;
  const double *q, *v;
  perp_sim *sim = run_start(&ctx, model, (run_parts){ .formulation = formulation }, h);
  perp_sim_state(sim, &t, &q, &v);
  double before = energy_of(model, q, v);
  *C = *energy = 0;
  for (int i = 0; i < count; i++) {
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    *C = fmax(*C, info.drift_pos_pre);
    if (i == 20) before = energy_of(model, q, v);
    if (i == 20) *energy = 0;
    *energy = fmax(*energy, fabs(energy_of(model, q, v) - before));
  }
  perp_sim_destroy(sim);
}

static void van_overveld(void)
{
  double C, energy, kinetic, potential, last = HUGE_VAL;
  /* 1: about 50 turns in 1000 frames, two rigidity corrections: rotational energy to four digits */
  perp_model *model = cubes(1, false);
  perp_model_energy(model, 0, perp_model_q0(model), perp_model_v0(model), &kinetic, &potential);
  frames(model, "point-mass:iterations=1,rigidity=2", 1000, 1, &C, &energy);
  below(energy / kinetic, 5e-5, "experiment 1: rotational energy is kept to %.2g",
        energy / kinetic);
  perp_model_destroy(model);
  /* 2: a corner is held: the joint to 4.1e-12 with two iterations */
  model = cubes(1, true);
  frames(model, "point-mass:iterations=2,rigidity=2,tol=0", 1000, 0.01, &C, &energy);
  below(C, 4.1e-12, "experiment 2: the joint holds to %.2g m with two iterations", C);
  perp_model_destroy(model);
  /* 3: two cubes: the error of the joints falls exponentially with the iterations */
  model = cubes(2, true);
  for (int iterations = 3; iterations <= 15; iterations += 4) {
    char name[64];
    snprintf(name, sizeof name, "point-mass:iterations=%d,tol=0", iterations);
    frames(model, name, 500, 0.02, &C, &energy);
    ok(C < last / 4 || C < 1e-13, "experiment 3: %d iterations, %.2g m", iterations, C);
    last = C;
  }
  below(C, 1e-6, "experiment 3: below 1e-6 at 15 iterations");
  perp_model_destroy(model);
}

/* All linearised equations at once: the state of the sweeps at their end, to rounding.  A chain of
 * hinges, which they need thousands for, has the positions of the joint coordinates to O(h^2) as
 * one of balls has. */
static void simultaneous(void)
{
  static const struct {
    const char *scene;
    double h, t_end, off;
  } cases[] = { { "double-pendulum", 0.01, 1, 1e-11 },
                { "spherical-pendulum", 0.02, 1, 1e-11 },
                { "chain:links=4,dim=3", 5e-3, 0.5, 1e-10 },
                { "chain:links=2,joint=hinge", 5e-3, 0.5, 1e-10 },
                { "chain:links=3,dim=2", 5e-3, 0.5, 1e-10 },
                { "bead", 5e-3, 0.5, 1e-11 },
                { "cubes:count=2,tilt=30deg", 0.02, 2, 1e-10 },
                { "rope:particles=8", 5e-3, 0.5, 1e-10 },
                { "bouncing-ball", 0.01, 1, 1e-11 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_scene s = run_open(&ctx, cases[i].scene);
    double q[2][7 * 9], v[2][6 * 9], off = 0;
    const char *const names[] = { "point-mass:tol=1e-15,iterations=20000",
                                  "point-mass:solve=simultaneous,tol=1e-15,iterations=20" };
    for (int k = 0; k < 2; k++) {
      const run_parts parts = { .formulation = names[k] };
      if (run_fresh(&ctx, s.model, parts, cases[i].h, cases[i].t_end, q[k], v[k]) < 0)
        bail("%s", ctx.msg);
    }
    for (int k = 0; k < perp_model_nq(s.model); k++) off = fmax(off, fabs(q[0][k] - q[1][k]));
    below(off, cases[i].off, "%s: sweeps and one solution by LU differ by %.2g", cases[i].scene,
          off);
    perp_scene_destroy(&s);
  }
  /* an iteration squares the error: of a step, and so of the joint */
  perp_model *model = cubes(2, true);
  double C[3], energy;
  for (int k = 0; k < 3; k++) {
    char name[64];
    snprintf(name, sizeof name, "point-mass:solve=simultaneous,iterations=%d,tol=0", k + 1);
    frames(model, name, 500, 0.02, &C[k], &energy);
  }
  ok(C[1] < C[0] * C[0] * 10 && C[2] < C[1] * C[1] * 10 + 1e-14,
     "1, 2 and 3 Newton steps leave %.2g, %.2g and %.2g m", C[0], C[1], C[2]);
  perp_model_destroy(model);
  /* what it is for: the sweeps of eight hinges diverge, the exact motion is that of reduced
   * coordinates */
  perp_scene s = run_open(&ctx, "chain:links=8,joint=hinge");
  const outcome swept = run_scene(&s, (run_parts){ "point-mass" }, 1e-3, 0.5),
                solved = run_scene(&s, (run_parts){ "point-mass:solve=simultaneous" }, 1e-3, 0.5);
  ok(solved.tip < 1e-4 && solved.C < 1e-12 && !(swept.tip < 1e-4),
     "8 hinges: the tip is off by %.2g m (sweeps: %.2g)", solved.tip, swept.tip);
  perp_scene_destroy(&s);
}

/* Two contacts on a circular rail move a body as a hinge in the middle of the circle does, whose
 * motion joint coordinates know; the distance from the rail is the drift. */
static void curved_rail(void)
{
  static const run_parts parts[] = {
    { "acceleration", "rk4" }, { "velocity" }, { "point-mass" }, { "point-mass:solve=simultaneous" }
  };
  static const double off[] = { 1e-8, 0.01, 1e-4, 1e-4 };
  perp_scene rail = run_open(&ctx, "curved-rail"),
             hinge = run_open(&ctx, "curved-rail:support=hinge");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    double q[14], v[12], q_ref[14], v_ref[12], C[16], far = 0, drift = 0;
    if (run_fresh(&ctx, rail.model, parts[i], 2e-3, 2, q, v) < 0) bail("%s", ctx.msg);
    if (hinge.truth[0].state(hinge.truth[0].user, &ctx, 2, q_ref, v_ref) != PERP_OK)
      bail("%s", ctx.msg);
    for (int b = 0; b < 2; b++)
      for (int k = 0; k < 3; k++) far = fmax(far, fabs(q[7 * b + k] - q_ref[7 * b + k]));
    perp_model_error(rail.model, 2, q, C);
    for (int k = 0; k < perp_model_m(rail.model); k++) drift = fmax(drift, fabs(C[k]));
    ok(far < off[i] && drift < 1e-4,
       "%s: two contacts on a rail are %.2g m off a hinge, %.2g m off the rail",
       parts[i].formulation, far, drift);
  }
  perp_scene_destroy(&rail);
  perp_scene_destroy(&hinge);
}

/* The chair on the stairs: energy does not rise, and hinges hold.  Where hinges break the
 * formulation restarts, whose velocity at an impact is off by O(h): ten times the rise. */
static void beach_chair(void)
{
  static const struct {
    const char *formulation;
    double gain, drift;
  } cases[] = { { "point-mass", 1e-4, 1e-6 },
                { "point-mass:solve=simultaneous", 1e-4, 1e-6 },
                { "velocity", 1e-9, 1e-3 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int breaks = 0; breaks < 2; breaks++) {
      perp_scene s = run_open(&ctx, breaks ? "beach-chair:strength=500" : "beach-chair");
      perp_sim *sim = run_start(&ctx, s.model, (run_parts){ cases[i].formulation }, 2e-3);
      perp_step_info info = { .reason = PERP_EXACT };
      double t, drift = 0, least, gain = 0, C[16];
      const double *q, *v;
      perp_sim_state(sim, &t, &q, &v);
      const double fall = 4 * 9.81 * 2; /* J, about the weight times the height of the stairs */
      least = energy_of(s.model, q, v);
      while (t < 1.5 && info.reason >= 0) {
        if (perp_sim_step(&ctx, sim, 1.5, &info) != PERP_OK) bail("%s", ctx.msg);
        perp_sim_state(sim, &t, &q, &v);
        const double energy = energy_of(s.model, q, v);
        gain = fmax(gain, energy - least);
        least = fmin(least, energy);
        perp_model_error(s.model, t, q, C);
        for (int j = 0; j < 3; j++)
          for (int k = 5 * j; k < 5 * j + 5 && (!breaks || !info.released[j]); k++)
            drift = fmax(drift, fabs(C[k]));
      }
      ok(info.reason >= 0 && gain < (breaks ? 10 : 1) * cases[i].gain * fall &&
             drift < cases[i].drift && (breaks ? info.n_releases > 0 : info.n_releases == 0) &&
             q[2] < -0.5,
         "%s, %d hinges break: energy rises by %.2g J, hinges are off by %.2g",
         cases[i].formulation, info.n_releases, gain, drift);
      perp_sim_destroy(sim);
      perp_scene_destroy(&s);
    }
}

/* Joints first: the last rigidity correction of the only sweep moves the hinge of a swinging cube
 * by lambda r, with r its distance from the centre, all of it across the axis. */
static void joints_first(void)
{
  perp_model *model = cubes(1, true);
  perp_sim *sim = run_start(&ctx, model,
                            (run_parts){ "point-mass:iterations=1,order=joints-first" }, 0.05);
  perp_step_info info = { 0 };
  double off = 0, most = 0;
  for (int i = 0; i < 400; i++) {
    double length = 0, t, C[3];
    const double *q, *v;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s", ctx.msg);
    for (int j = 0; j < 3; j++) length = fmax(length, fabs(info.rigidity[j]));
    perp_sim_state(sim, &t, &q, &v);
    perp_model_error(model, t, q, C);
    const double gap = sqrt(C[0] * C[0] + C[1] * C[1] + C[2] * C[2]);
    most = fmax(most, gap);
    off = fmax(off, fabs(gap - sqrt(3) * length));
  }
  ok(off < 0.01 * most && most > 1e-3, "joints first: one sweep leaves %.3g m, %.2g off lambda r",
     most, off);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

static void point_mass_refuses(void)
{
  const struct {
    const char *scene, *says;
  } cases[] = { { "heavy-top", "flat" }, { "flyball", "slider" } };
  for (int i = 0; i < 2; i++) {
    perp_scene s = run_open(&ctx, cases[i].scene);
    perp_parts parts;
    perp_sim *sim = NULL;
    const run_parts names = { .formulation = "point-mass" };
    if (run_parse(&ctx, &names, &parts) != PERP_OK) bail("%s", ctx.msg);
    ok(perp_sim_create(&ctx, s.model, &parts, 1e-3, &sim) == PERP_ERR_UNSUPPORTED &&
           strstr(ctx.msg, cases[i].says) != NULL,
       "point-mass refuses %s: %s", cases[i].scene, ctx.msg);
    run_free(&parts);
    perp_scene_destroy(&s);
  }
}

/* Dependent constraints have no LU factors; an option without effect is refused. */
static void point_mass_redundant(void)
{
  perp_scene s = run_open(&ctx, "joint-cycles:twice=true");
  const run_parts names = { .formulation = "point-mass:solve=simultaneous" };
  double q[7 * 32], v[6 * 32];
  ok(run_fresh(&ctx, s.model, names, 2e-3, 0.1, q, v) == PERP_SINGULAR,
     "solve=simultaneous ends as singular where joints are redundant");
  perp_scene_destroy(&s);
  s = run_open(&ctx, "pendulum");
  perp_parts parts;
  perp_sim *sim = NULL;
  const run_parts idle = { .formulation = "point-mass:solve=simultaneous,rigidity=3" };
  if (run_parse(&ctx, &idle, &parts) != PERP_OK) bail("%s", ctx.msg);
  ok(perp_sim_create(&ctx, s.model, &parts, 1e-3, &sim) == PERP_ERR_UNSUPPORTED &&
         strstr(ctx.msg, "no effect") != NULL,
     "solve=simultaneous refuses rigidity: %s", ctx.msg);
  run_free(&parts);
  perp_scene_destroy(&s);
}

/* ---- penalty ---- */

static void penalty(void)
{
  perp_scene s = run_open(&ctx, "pendulum");
  double tip[4], k = 1e4;
  char name[64];
  for (int i = 0; i < 4; i++, k *= 10) {
    snprintf(name, sizeof name, "penalty:stiffness=%g,damping=%g", k, 2 * sqrt(k));
    tip[i] =
        run_scene(&s, (run_parts){ .formulation = name, .ode = "dopri5:tol=1e-11" }, 1e-4, 1).tip;
  }
  for (int i = 1; i < 4; i++)
    near(tip[i - 1] / tip[i], 10, 1.2, 0, "penalty: a joint 10 x stiffer, an error %.2f x smaller",
         tip[i - 1] / tip[i]);
  perp_scene_destroy(&s);

  /* the reported step: just below it runs, just above it explodes */
  s = run_open(&ctx, "chain:links=4");
  for (int damped = 0; damped < 2; damped++) {
    const char *form = damped ? "penalty:stiffness=1e4,damping=5"
                              : "penalty:stiffness=1e4,damping=0";
    const run_parts parts = { .formulation = form, .ode = "symplectic-euler" };
    perp_step_info info = { 0 };
    perp_sim *sim = run_start(&ctx, s.model, parts, 1e-5);
    if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_destroy(sim);
    const double h = info.h_stable;
    /* the chain turns: eigenvalues move a little from those at the start */
    double good = energy_change(&s, parts, 0.8 * h, 400 * h);
    double bad = energy_change(&s, parts, 1.1 * h, 400 * h);
    ok(good < 10, "%s: 0.8 x the stable step %.3g s: energy changes by %.2g J", form, h, good);
    ok(!(bad < 100), "%s: 1.1 x: by %.2g J", form, bad);
  }
  perp_scene_destroy(&s);
}

/* ---- compliance and softness ---- */

static const double mass = 2, gravity = 9.81;

/* a mass hanging on a rod of 1 m that gives way */
static perp_model *hanging(double softness)
{
  perp_model *model = run_model(&ctx, 2);
  run_body(&ctx, model,
           (perp_body_def){ .mass = { .mass = mass, .inertia[8] = 1 }, .x = { 0, -1 } });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_DISTANCE,
                              .a = PERP_WORLD,
                              .b = 0,
                              .length = 1,
                              .softness = softness });
  return run_finish(&ctx, model);
}

static double stretch(perp_model *model, run_parts parts, double h, double t_end)
{
  double q[3];
  if (run_fresh(&ctx, model, parts, h, t_end, q, NULL) < 0) return (double)NAN;
  return hypot(q[0], q[1]) - 1;
}

/* x+ = x + h v+, v+ = v - h (k x + d v) is stable as long as k h^2 + 2 d h < 4; here k and d over
 * the mass */
static void longest_step(void)
{
  for (int i = 0; i < 6; i++) {
    const double k = i < 3 ? 1e4 : 30, d = i % 3 * 20;
    char form[64];
    snprintf(form, sizeof form, "penalty:stiffness=%g,damping=%g", k, d);
    perp_model *model = hanging(0);
    perp_sim *sim = run_start(&ctx, model,
                              (run_parts){ .formulation = form, .ode = "symplectic-euler" }, 1e-5);
    perp_step_info info = { 0 };
    if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK) bail("%s", ctx.msg);
    const double h = info.h_stable;
    near(k / mass * h * h + 2 * d / mass * h, 4, 0, 1e-12, "%s: the longest stable step", form);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* implicit Euler of m x'' = m g - k x - d x' from rest at x = 0 */
static double implicit_euler(double k, double d, double h, int steps)
{
  double x = 0, v = 0;
  for (int i = 0; i < steps; i++) {
    v = (mass * v + h * (mass * gravity - k * x)) / (mass + h * d + h * h * k);
    x += h * v;
  }
  return x;
}

/* S and alpha of the velocity level from stiffness and damping; every KKT formulation */
static void discrete_spring(void)
{
  static const double springs[][2] = { { 1e3, 5 }, { 1e6, 0 }, { 50, 40 } };
  const double h = 1e-2;
  const perp_desc *kkt;
  for (int i = 0; i < 3; i++) {
    const double k = springs[i][0], d = springs[i][1];
    const double exact = implicit_euler(k, d, h, 100);
    char stab[64], form[96];
    snprintf(stab, sizeof stab, "baumgarte:alpha=%.17g", k / (h * k + d));
    snprintf(form, sizeof form, "regularized:compliance=%.17g,relaxation=%.17g", 1 / k, d / k);
    perp_model *soft = hanging(1 / (h * (h * k + d))), *hard = hanging(0);
    for (int n = 0; (kkt = perp_plugin_at(&ctx, PERP_KIND_kkt, n)) != NULL; n++) {
      run_parts parts = { "velocity", "symplectic-euler", kkt->name, stab };
      near(stretch(soft, parts, h, 1), exact, 1e-11, 0, "spring %g N/m, %g N s/m, velocity, %s", k,
           d, kkt->name);
      parts = (run_parts){ form, "symplectic-euler", kkt->name };
      near(stretch(hard, parts, h, 1), exact, 1e-11, 0, "spring %g N/m, %g N s/m, regularized, %s",
           k, d, kkt->name);
    }
    perp_model_destroy(soft);
    perp_model_destroy(hard);
  }
}

/* Acceleration level: J a + S lambda = -2 alpha Cdot - beta^2 C is a spring beta^2 / (A + S) and a
 * damper 2 alpha / (A + S) that carry the part A / (A + S) of the other forces at once; A = 1 /
 * mass here. */
static void continuous_spring(void)
{
  const double S = 0.3, alpha = 1.5, beta = 12, A = 1 / mass, part = A / (A + S);
  const double rate2 = part * beta * beta, decay = part * alpha, w = sqrt(rate2 - decay * decay);
  const double rest = gravity * (1 - part) / rate2;
  const perp_desc *kkt;
  perp_model *model = hanging(S);
  for (int n = 0; (kkt = perp_plugin_at(&ctx, PERP_KIND_kkt, n)) != NULL; n++)
    for (double t = 0.4; t < 3; t += 0.8) {
      const double exact = rest * (1 - exp(-decay * t) * (cos(w * t) + decay / w * sin(w * t)));
      const run_parts parts = { "acceleration", "dopri5:tol=1e-11", kkt->name,
                                "baumgarte:alpha=1.5,beta=12" };
      near(stretch(model, parts, 1e-3, t), exact, 1e-8, 0, "damped oscillator at %.1f s, %s", t,
           kkt->name);
    }
  perp_model_destroy(model);
}

/* the rod gives way by compliance x load */
static void compliance(void)
{
  perp_model *model = hanging(0);
  near(stretch(model, (run_parts){ "regularized:compliance=1e-4,relaxation=1" }, 1e-2, 200),
       1e-4 * mass * gravity, 1e-12, 0, "regularized: a rod of 1e-4 m/N under 2 kg");
  near(stretch(model, (run_parts){ "penalty:stiffness=1e4,damping=200", "rk4" }, 1e-3, 20),
       1e-4 * mass * gravity, 1e-12, 0, "penalty: a rod of 1e4 N/m under 2 kg");
  perp_model_destroy(model);
}

/* most that the energy of a run is off, of what it is at the start */
static double energy_off(perp_scene *s, run_parts parts, double h, double t_end)
{
  perp_sim *sim = run_start(&ctx, s->model, parts, h);
  double t = 0, kinetic, potential, most = 0, least = HUGE_VAL, largest = -HUGE_VAL;
  const double *q, *v;
  while (t < t_end) {
    perp_sim_state(sim, &t, &q, &v);
    perp_model_energy(s->model, t, q, v, &kinetic, &potential);
    least = fmin(least, kinetic + potential);
    largest = fmax(largest, kinetic + potential);
    most = fmax(most, kinetic);
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
  }
  perp_sim_destroy(sim);
  return (largest - least) / most;
}

/* Verlet and RATTLE make the same positions; so are the velocities that point-mass tells, and not
 * an extrapolation. */
static void verlet_velocities(void)
{
  static const char *const scenes[] = { "double-pendulum", "chain:links=6",
                                        "chain:links=2,joint=hinge" };
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    perp_scene s = run_open(&ctx, scenes[i]);
    const double rattle = energy_off(&s, (run_parts){ "impulse" }, 8e-3, 1),
                 verlet = energy_off(&s, (run_parts){ "point-mass" }, 8e-3, 1);
    below(verlet, 1.5 * rattle, "%s: energy of point-mass is off by %.2g, of impulse by %.2g",
          scenes[i], verlet, rattle);
    perp_scene_destroy(&s);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  orders();
  drift();
  van_overveld();
  verlet_velocities();
  simultaneous();
  joints_first();
  curved_rail();
  beach_chair();
  point_mass_refuses();
  point_mass_redundant();
  penalty();
  longest_step();
  discrete_spring();
  continuous_spring();
  compliance();
  return tap_done();
}
