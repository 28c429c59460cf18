/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Servos, motors, dry friction and limits in formulations of second order, against closed forms and
 * against minimal coordinates: errors fall by four when the step is halved; springs without damping
 * keep the energy; forces that are reported are those of the law. */
#include "models/formulations/servo_damping.h"
#include "models/formulations/step_forces.h"
#include "tests/drive_models.h"

enum { HALVINGS = 4 };

static const char *const smooth[] = { "generalized-alpha", "generalized-alpha:rho=1",
                                      "generalized-alpha:form=index3", "ggl", "velocity-midpoint" };
enum { SMOOTH = sizeof smooth / sizeof *smooth };

/* Errors of a coordinate of the state at t_end by the step; order of the last halving. */
static void second(const char *what, const char *formulation, perp_model *m, int coordinate,
                   double t_end, double h, double truth)
{
  double error[HALVINGS], q[64];
  for (int i = 0; i < HALVINGS; i++, h /= 2) {
    if (run_fresh(&ctx, m, (run_parts){ .formulation = formulation }, h, t_end, q, NULL) < 0)
      bail("%s, %s: %s", what, formulation, ctx.msg);
    error[i] = fabs(q[coordinate] - truth);
  }
  const double fall = error[HALVINGS - 2] / error[HALVINGS - 1],
               mean = pow(error[0] / error[HALVINGS - 1], 1.0 / (HALVINGS - 1));
  ok((fall > 3.4 && mean > 3.4) || error[HALVINGS - 1] < 1e-11,
     "%s, %s: the error falls by %.2f a halving, by %.2f at last, to %.2g", what, formulation, mean,
     fall, error[HALVINGS - 1]);
}

/* ---- a block on a slider, which its servo holds: closed forms ---- */

static perp_model *held(double x, double v, double k, double d, double most)
{
  perp_model *m = block(false, v);
  perp_drive_def servo = unlimited(0);
  servo.target = -x, servo.stiffness = k, servo.damping = d, servo.max_force = most;
  run_drive(&ctx, m, servo);
  return run_finish(&ctx, m);
}

/* m x'' = -k (x + a) - d x' from 0 with v */
static double swung(double a, double v, double k, double d, double t)
{
  const double m = 2, c = d / (2 * m), w = sqrt(k / m - c * c);
  return -a + exp(-c * t) * (a * cos(w * t) + (v + c * a) / w * sin(w * t));
}

static void test_block(void)
{
  for (int i = 0; i < SMOOTH; i++) {
    perp_model *m = held(0.3, 0.2, 40, 0, HUGE_VAL);
    second("spring", smooth[i], m, 0, 1.3, 0.02, swung(0.3, 0.2, 40, 0, 1.3));
    perp_model_destroy(m);
    m = held(0.3, 0.2, 40, 3, HUGE_VAL);
    second("spring and damper", smooth[i], m, 0, 1.3, 0.02, swung(0.3, 0.2, 40, 3, 1.3));
    perp_model_destroy(m);
  }
}

/* Largest change of the energy over n steps, of its first value; *off: of the force that is
 * reported from -k (x + 0.3) at the start of the step, or with the mean of x, in parts of 0.3 k. */
static double kept(const char *formulation, const char *ode, perp_model *m, double h, int n,
                   double *off)
{
  perp_sim *sim = run_start(&ctx, m, (run_parts){ .formulation = formulation, .ode = ode }, h);
  const double k = perp_model_drive(m, 0)->stiffness;
  double worst = 0, first = 0, t = 0, before = 0, force = 0;
  *off = 0;
  for (int i = 0; i <= n; i++) {
    const double *q, *v;
    double kinetic, potential;
    perp_step_info info;
    perp_sim_state(sim, &t, &q, &v);
    perp_model_energy(m, t, q, v, &kinetic, &potential);
    if (i == 0) first = kinetic + potential;
    worst = fmax(worst, fabs(kinetic + potential - first) / first);
    const double x = perp_sim_forces_time(sim) == PERP_FORCES_AT_START ? before
                                                                       : (before + q[0]) / 2;
    if (i > 0) *off = fmax(*off, fabs(force + k * (x + 0.3)) / (0.3 * k));
    before = q[0];
    if (i < n && (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0))
      bail("%s: %s", formulation, ctx.msg);
    if (i < n) force = info.drive[0];
  }
  perp_sim_destroy(sim);
  return worst;
}

/* 30 periods of a spring without damping, h times the angular frequency 0.1 */
static void test_energy(void)
{
  static const struct {
    const char *formulation, *ode;
    double least, most; /* of the change */
  } runs[] = {
    { "velocity-midpoint", NULL, 0, 1e-11 },
    { "ggl", NULL, 0, 1e-11 },
    { "generalized-alpha:rho=1", NULL, 0, 1e-11 },
    { "generalized-alpha", NULL, 1e-5, 1e-3 }, /* what it dissipates */
    { "acceleration", "rk4", 1e-5, 1e-3 },     /* (h w)^5 / 72 a step: 2.6e-4 in 1885 steps */
    { "acceleration", "implicit-midpoint", 0, 1e-11 },
    { "velocity:servo=symplectic", NULL, 1e-3, 0.12 }, /* swings by h w, and stays */
    { "velocity", NULL, 0.99, 1 },
  };
  const double k = 50, w = sqrt(k / 2), h = 0.1 / w;
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    perp_model *m = held(0.3, 0, k, 0, HUGE_VAL);
    double off;
    const double change = kept(runs[i].formulation, runs[i].ode, m, h, 1885, &off);
    ok(change >= runs[i].least && change <= runs[i].most,
       "%s: the energy with its servo spring changes by %.2g in 30 periods", runs[i].formulation,
       change);
    below(off, strncmp(runs[i].formulation, "velocity", 8) == 0 && i > 0 ? 0.2 : 1e-9,
          "%s: the force of the servo is that of its spring to %.2g", runs[i].formulation, off);
    perp_model_destroy(m);
  }
}

/* ---- a rod on a hinge that its servo raises against gravity: minimal coordinates ---- */

typedef struct raised {
  double I, weight, k, d, goal, most;
} raised;

static double raised_force(const raised *r, double x, double rate)
{
  return fmin(fmax(-r->k * (x - r->goal) - r->d * rate, -r->most), r->most);
}

/* The angle about +y at t, from rest along +x; rk4 in 1e5 steps.  In space +y turns +x down. */
static double raised_at(const raised *r, int dim, double t_end)
{
  const int n = 100000;
  const double h = t_end / n, down = dim == 3 ? 1 : -1;
  double x[2] = { 0, 0 };
  for (int i = 0; i < n; i++) {
    double s[4][2], y[2] = { x[0], x[1] };
    for (int j = 0; j < 4; j++) {
      s[j][0] = y[1];
      s[j][1] = (down * r->weight * cos(y[0]) + raised_force(r, y[0], y[1])) / r->I;
      for (int l = 0; l < 2; l++) y[l] = x[l] + (j < 2 ? h / 2 : h) * s[j][l];
    }
    for (int l = 0; l < 2; l++) x[l] += h / 6 * (s[0][l] + 2 * s[1][l] + 2 * s[2][l] + s[3][l]);
  }
  return x[0];
}

static void test_rod(void)
{
  for (int dim = 2; dim <= 3; dim++)
    for (int bounded = 0; bounded < 2; bounded++) {
      perp_model *m = rod(dim);
      const perp_mass mass = perp_mass_box(2, 1, 0.1, 0.1);
      const raised r = { .I = (dim == 3 ? mass.inertia[4] : mass.inertia[8]) + 2 * 0.25,
                         .weight = 2 * gravity * 0.5,
                         .k = 60,
                         .d = 1.5,
                         .goal = dim == 3 ? -1.2 : 1.2,
                         .most = bounded ? 25 : HUGE_VAL };
      perp_drive_def servo = unlimited(0);
      servo.target = r.goal, servo.stiffness = r.k, servo.damping = r.d, servo.max_force = r.most;
      run_drive(&ctx, m, servo);
      run_finish(&ctx, m);
      const double t = 0.8, x = raised_at(&r, dim, t);
      /* the centre of mass is half a metre along the rod */
      for (int i = 0; i < SMOOTH; i++)
        second(bounded ? "rod, bounded" : "rod", smooth[i], m, dim - 1, t, 0.01,
               0.5 * (dim == 3 ? -sin(x) : sin(x)));
      perp_model_destroy(m);
    }
}

/* ---- motor, friction, stop: velocity-midpoint ---- */

static perp_model *on_spring(double v, perp_drive_def drive)
{
  perp_model *m = block(false, v);
  perp_force_def spring = {
    .kind = PERP_FORCE_SPRING, .a = PERP_WORLD, .b = 0, .stiffness = 40, .length = 50
  };
  spring.anchor_a[0] = -50;
  if (perp_model_add_force(&ctx, m, &spring) != PERP_OK) bail("%s", ctx.msg);
  run_drive(&ctx, m, drive);
  return run_finish(&ctx, m);
}

static void test_bounds(void)
{
  const double w = sqrt(40.0 / 2);
  perp_drive_def drive = unlimited(0);
  drive.upper = 0.17, drive.restitution = 0.6;
  const double hit = asin(0.17 * w) / w, back = -0.6 * cos(w * hit), t = 0.9;
  perp_model *m = on_spring(1, drive);
  second("stop", "velocity-midpoint", m, 0, t, 0.02,
         0.17 * cos(w * (t - hit)) + back / w * sin(w * (t - hit)));
  perp_model_destroy(m);
  drive = unlimited(0);
  drive.velocity = 0.4, drive.max_force = 6;
  m = on_spring(0.4, drive);
  second("motor", "velocity-midpoint", m, 0, 1.1, 0.02,
         6.0 / 40 + 0.4 / w * sin(w * (1.1 - 6.0 / 40 / 0.4)));
  perp_model_destroy(m);
  drive = unlimited(0);
  drive.max_force = 1.2;
  m = on_spring(1.2, drive);
  const double d = 1.2 / 40, far = hypot(d, 1.2 / w) - d, first = atan2(1.2 / w, d) / w;
  second("friction", "velocity-midpoint", m, 0, first + 0.7 * M_PI / w, 0.02,
         d + (far - d) * cos(0.7 * M_PI));
  perp_model_destroy(m);
}

/* Two bodies in space, a universal joint and a ball joint whose coordinates have servos and (motor)
 * a motor that turns the first at a constant rate; by rk4 on the acceleration level in steps of 0.1
 * ms. */
static perp_model *wrist(bool motor)
{
  perp_model *m = run_model(&ctx, 3);
  for (int i = 0; i < 2; i++)
    run_body(
        &ctx, m,
        (perp_body_def){ .mass = perp_mass_box(2 - i, 0.6, 0.2, 0.1), .x = { 0.3 + 0.6 * i } });
  run_joint(&ctx, m,
            (perp_joint_def){ .kind = PERP_JOINT_UNIVERSAL,
                              .a = PERP_WORLD,
                              .b = 0,
                              .anchor_b = { -0.3 },
                              .axis_a = { 0, 1 },
                              .axis_b = { 0, 0, 1 } });
  run_joint(&ctx, m,
            (perp_joint_def){ .kind = PERP_JOINT_BALL,
                              .a = 0,
                              .b = 1,
                              .anchor_a = { 0.3 },
                              .anchor_b = { -0.3 },
                              .axis_a = { 1 },
                              .axis_b = { 0, 1 } });
  static const perp_drive_axis axis[] = { PERP_DRIVE_A, PERP_DRIVE_B, PERP_DRIVE_A, PERP_DRIVE_NODE,
                                          PERP_DRIVE_B };
  for (int i = 0; i < 5; i++) {
    perp_drive_def servo = unlimited(i / 2 > 0);
    servo.axis = axis[i];
    servo.target = 0.2 * (i + 1) - 0.7, servo.stiffness = 30 - 4 * i, servo.damping = 0.1 * i;
    servo.max_force = HUGE_VAL;
    if (motor && i == 0) servo.stiffness = servo.damping = 0;
    run_drive(&ctx, m, servo);
  }
  return run_finish(&ctx, m);
}

static void test_space(void)
{
  double q[14];
  for (int motor = 0; motor < 2; motor++) {
    perp_model *m = wrist(motor);
    if (run_fresh(&ctx, m, (run_parts){ "acceleration", "rk4" }, 1e-4, 0.5, q, NULL) < 0)
      bail("%s", ctx.msg);
    for (int i = 0; i < SMOOTH; i++)
      for (int c = 7; c < 10 && !(motor && strcmp(smooth[i], "ggl") == 0); c++)
        second(motor ? "wrist with a motor" : "wrist", smooth[i], m, c, 0.5, 0.005, q[c]);
    perp_model_destroy(m);
  }
}

/* A motor without a bound that is there at once, against a spring: x = velocity t, and its force is
 * that of the spring.  Its velocity oscillates with the signal in the second run. */
static void test_rigid(void)
{
  static const char *const formulations[] = { "generalized-alpha", "generalized-alpha:form=index3",
                                              "velocity-midpoint" };
  for (int i = 0; i < 6; i++) {
    const bool moves = i >= 3;
    perp_model *m = block(false, 0);
    perp_force_def spring = {
      .kind = PERP_FORCE_SPRING, .a = PERP_WORLD, .b = 0, .stiffness = 40, .length = 50
    };
    spring.anchor_a[0] = -50;
    perp_drive_def motor = unlimited(0);
    motor.velocity = moves ? 0 : 0.7, motor.max_force = HUGE_VAL;
    perp_signal_def swing = {
      .kind = PERP_SIGNAL_SINE, .offset = 0.7, .amplitude = 0.3, .rate = 5
    };
    if (moves && perp_model_add_signal(&ctx, m, &swing, &motor.velocity_signal) != PERP_OK)
      bail("%s", ctx.msg);
    if (perp_model_add_force(&ctx, m, &spring) != PERP_OK) bail("%s", ctx.msg);
    run_drive(&ctx, m, motor);
    run_finish(&ctx, m);
    perp_sim *sim = run_start(&ctx, m, (run_parts){ .formulation = formulations[i % 3] }, 2e-3);
    double t = 0, off = 0, wrong = 0, x0 = 0;
    while (t < 1) {
      const double *q, *v;
      perp_step_info info;
      const double before = t;
      if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
      perp_sim_state(sim, &t, &q, &v);
      const double x = 0.7 * t + (moves ? 0.3 / 5 * (1 - cos(5 * t)) : 0);
      const bool start = perp_sim_forces_time(sim) == PERP_FORCES_AT_START;
      const double at = start ? before : (before + t) / 2, acc = moves ? 0.3 * 5 * cos(5 * at) : 0,
                   place = start ? x0 : (x0 + q[0]) / 2;
      off = fmax(off, fabs(q[0] - x));
      /* the jump of the velocity is an impulse of the first step of velocity-midpoint */
      if (before > 0) wrong = fmax(wrong, fabs(info.drive[0] - 40 * place - 2 * acc));
      x0 = q[0];
    }
    below(off, moves ? 2e-6 : 1e-12, "%s%s: the motor has its velocity, %.2g m",
          formulations[i % 3], moves ? ", swinging" : "", off);
    below(wrong, moves ? 1e-3 : 1e-9, "  and the force that this takes, off by %.2g N", wrong);
    perp_sim_destroy(sim);
    perp_model_destroy(m);
  }
}

/* A shape that touches nothing: the rows stand in the problem of an island. */
static void test_islands(void)
{
  double q[2][16], v[2][16];
  for (int shapes = 0; shapes < 2; shapes++) {
    perp_model *m = rod(3);
    if (shapes)
      for (int i = 0; i < 2; i++) {
        const perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE,
                                      .body = i == 0 ? 0 : PERP_WORLD,
                                      .radius = 0.01,
                                      .x = { i == 0 ? 0 : 5 } };
        if (perp_model_add_shape(&ctx, m, &ball, NULL) != PERP_OK) bail("%s", ctx.msg);
      }
    perp_drive_def servo = unlimited(0);
    servo.target = -1.2, servo.stiffness = 60, servo.max_force = 30;
    servo.lower = -0.7, servo.restitution = 0.5;
    run_drive(&ctx, m, servo);
    run_finish(&ctx, m);
    if (run_fresh(&ctx, m, (run_parts){ .formulation = "velocity-midpoint" }, 0.005, 1, q[shapes],
                  v[shapes]) < 0)
      bail("%s", ctx.msg);
    perp_model_destroy(m);
  }
  for (int i = 0; i < 7; i++)
    near(q[0][i], q[1][i], 1e-8, 0, /* a limit is reached to 1e-8 of the size */
         "with shapes and without them: coordinate %d", i);
}

/* ---- what is refused, and by what words ---- */

static void test_refused(void)
{
  static const char *const forms[] = { "generalized-alpha", "ggl", "radau5" };
  for (int i = 0; i < 3; i++) {
    perp_drive_def drive = unlimited(0);
    drive.upper = 1;
    perp_model *m = block(false, 0);
    run_drive(&ctx, m, drive);
    run_finish(&ctx, m);
    run_refused(&ctx, m, (run_parts){ .formulation = forms[i] },
                "joint 0 has limits: use formulation velocity-midpoint");
    perp_model_destroy(m);
    drive = unlimited(0);
    drive.velocity = 1, drive.max_force = 3;
    m = block(false, 0);
    run_drive(&ctx, m, drive);
    run_finish(&ctx, m);
    run_refused(&ctx, m, (run_parts){ .formulation = forms[i] },
                i == 0 ? "motor of bounded force without damping" : "give the motor a damping");
    perp_model_destroy(m);
  }
}
/* The rod: damping ratio of its servo; the weight on a hinge that a motor holds, from the first
 * step; a servo at rest beyond a turn, whose rod turns once more, twice from the start. */
static void test_once(void)
{
  const double inertia = 2 * 1.01 / 12 + 2 * 0.25;
  for (int i = 0; i < 3; i++) {
    perp_model *m = rod(2);
    perp_drive_def d = unlimited(0);
    perp_servo_damping damping;
    d.max_force = HUGE_VAL;
    perp_model_gravity(m, i == 1 ? gravity : 0);
    if (i == 0) d.stiffness = 30, d.damping = 4;
    if (i == 2) d.stiffness = 1e-3, d.zero = d.target = 7;
    run_drive(&ctx, m, d);
    run_finish(&ctx, m);
    if (i == 0) {
      if (perp_servo_damping_of(&ctx, m, 1e-3, &damping) != PERP_OK) bail("%s", ctx.msg);
      near(damping.ratio, 4 / (2 * sqrt(30 * inertia)), 0, 1e-12, "damping ratio of a servo");
      perp_model_destroy(m);
      continue;
    }
    const double v0[3] = { 0, i == 2 ? 10 : 0, i == 2 ? 20 : 0 };
    perp_sim *sim = run_start(
        &ctx, m, (run_parts){ .formulation = i == 1 ? "generalized-alpha" : "velocity" }, 1e-3);
    for (int n = 0; n < 2; n++) {
      perp_step_info info;
      if (perp_sim_restart(&ctx, sim, 0, perp_model_q0(m), v0) != PERP_OK ||
          perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK)
        bail("%s", ctx.msg);
      if (i == 1)
        near(fabs(info.lambda[1]), 2 * gravity, 0, 1e-3, "a motor holds a rod: force of its hinge");
      else
        near(info.drive[0], -1e-3 * 20 * 1e-3, 1e-7, 0, "start %d of a servo beyond a turn", n);
      run_to(&ctx, sim, 0.5);
    }
    perp_sim_destroy(sim);
    perp_model_destroy(m);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_block();
  test_energy();
  test_rod();
  test_bounds();
  test_space();
  test_rigid();
  test_islands();
  test_once();
  test_refused();
  return tap_done();
}
