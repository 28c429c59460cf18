/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Armatures and couplings of joint axes against closed forms and minimal coordinates; random trees
 * with armatures, whose exact inertia matrices (reduced) and rows (acceleration) must agree; and
 * axes of any length, on bodies that are turned. */
#include "tests/random_trees.h"
/* defines ctx, which is a name of arguments there */
#include "tests/drive_models.h"

static void armature(perp_model *m, int joint, perp_drive_axis axis, double inertia)
{
  const perp_armature_def def = { .joint = joint, .axis = axis, .inertia = inertia };
  if (perp_model_add_armature(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
}

/* K(k) by the arithmetic-geometric mean */
static double elliptic(double k)
{
  double a = 1, b = sqrt(1 - k * k);
  for (int i = 0; i < 30; i++) {
    const double mean = 0.5 * (a + b);
    b = sqrt(a * b), a = mean;
  }
  return M_PI / (2 * a);
}

/* A physical pendulum from rest at a right angle is at the bottom after K(sin 45 degrees) sqrt(I /
 * m g l), with the rate sqrt(2 m g l / I): I with that of the rotor. */
static void pendulum(void)
{
  static const run_parts exact[] = { { "acceleration", "rk4", .stab = "post" },
                                     { "reduced", "rk4" } };
  const perp_mass mass = perp_mass_box(2, 1, 0.1, 0.1);
  for (int dim = 2; dim <= 3; dim++)
    for (int i = 0; i < 2; i++) {
      const double I = (dim == 3 ? mass.inertia[4] : mass.inertia[8]) + 2 * 0.25 + 0.7,
                   T = elliptic(sqrt(0.5)) * sqrt(I / (2 * gravity * 0.5)),
                   w = sqrt(2 * 2 * gravity * 0.5 / I);
      perp_model *m = rod(dim);
      double t, kinetic, potential;
      const double *q, *v;
      armature(m, 0, PERP_DRIVE_A, 0.7);
      run_finish(&ctx, m);
      perp_sim *sim = run_start(&ctx, m, exact[i], T / 1000);
      ok(run_to(&ctx, sim, T) >= 0, "%d-d, %s: a quarter of a swing", dim, exact[i].formulation);
      perp_sim_state(sim, &t, &q, &v);
      near(q[0], 0, 1e-10, 0, "%d-d, %s: at the bottom", dim, exact[i].formulation);
      near(v[0], -0.5 * w, 1e-10, 0, "%d-d, %s: as fast", dim, exact[i].formulation);
      perp_model_energy(m, t, q, v, &kinetic, &potential);
      near(kinetic + potential, 0, 1e-10, 0, "%d-d, %s: energy counts the rotor", dim,
           exact[i].formulation);
      perp_sim_destroy(sim);
      perp_model_destroy(m);
    }
}

/* The velocity level is of first order: the error halves with the step. */
/* Far limits let `reduced` make steps of velocities.  */
static void velocity_level(bool limited)
{
  static const run_parts forms[] = { { "velocity" },
                                     { "velocity", .stab = "split" },
                                     { "velocity", .stab = "post" },
                                     { "reduced", "symplectic-euler" },
                                     { "groups" } };
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
    double off[2];
    for (int k = 0; k < 2; k++) {
      const perp_mass mass = perp_mass_box(2, 1, 0.1, 0.1);
      const double I = mass.inertia[8] + 2 * 0.25 + 0.7,
                   T = elliptic(sqrt(0.5)) * sqrt(I / (2 * gravity * 0.5));
      perp_model *m = rod(2);
      double t;
      const double *q, *v;
      armature(m, 0, PERP_DRIVE_A, 0.7);
      if (limited) run_drive(&ctx, m, (perp_drive_def){ .lower = -9, .upper = 9 });
      run_finish(&ctx, m);
      perp_sim *sim = run_start(&ctx, m, forms[f], T / (1000 << k));
      ok(run_to(&ctx, sim, T) >= 0, "%s runs", forms[f].formulation);
      perp_sim_state(sim, &t, &q, &v);
      off[k] = q[0];
      perp_sim_destroy(sim);
      perp_model_destroy(m);
    }
    near(off[1] / off[0], 0.5, 0.03, 0, "%s, %s%s: error %.2g m halves with the step",
         forms[f].formulation, forms[f].stab == NULL ? "" : forms[f].stab,
         limited ? " with limits" : "", off[0]);
  }
}

static void trees(void)
{
  static const perp_joint_kind kinds[] = { PERP_JOINT_HINGE, PERP_JOINT_SLIDER, PERP_JOINT_BALL,
                                           PERP_JOINT_UNIVERSAL };
  static const run_parts forms[] = { { "reduced", "rk4" },
                                     { "acceleration", "rk4", .stab = "post" } };
  perp_rng *rng = perp_rng_create(41);
  for (int n = 0; n < 20; n++) {
    const int dim = n % 4 == 3 ? 2 : 3;
    perp_model *m = run_model(&ctx, dim);
    double end[2][64];
    for (int b = 0; b < 4; b++) tree_body(&ctx, rng, m, dim);
    for (int b = 0; b < 4; b++) {
      const perp_joint_kind kind = kinds[(n + b) % (dim == 2 ? 3 : 4)];
      tree_join(&ctx, rng, m, kind, b % 2 == 0 ? b - 1 : b, b % 2 == 0 ? b : b - 1);
    }
    for (int b = 0; b < 4; b++) {
      const perp_joint_kind kind = kinds[(n + b) % (dim == 2 ? 3 : 4)];
      if (kind != PERP_JOINT_BALL || dim == 2)
        armature(m, b, PERP_DRIVE_A, perp_rng_uniform(rng, 0.05, 1));
      if (kind == PERP_JOINT_UNIVERSAL)
        armature(m, b, PERP_DRIVE_B, perp_rng_uniform(rng, 0.05, 1));
    }
    run_finish(&ctx, m);
    for (int f = 0; f < 2; f++) {
      perp_sim *sim = run_start(&ctx, m, forms[f], 5e-4);
      double t, kinetic, potential, k0, p0;
      const double *q, *v;
      perp_model_energy(m, 0, perp_model_q0(m), perp_model_v0(m), &k0, &p0);
      ok(run_to(&ctx, sim, 0.2) >= 0, "tree %d runs", n);
      perp_sim_state(sim, &t, &q, &v);
      memcpy(end[f], q, (size_t)perp_model_nq(m) * sizeof *q);
      perp_model_energy(m, t, q, v, &kinetic, &potential);
      near(kinetic + potential - k0 - p0, 0, 1e-7, 0, "tree %d, %s: energy", n,
           forms[f].formulation);
      perp_sim_destroy(sim);
    }
    double off = 0, dq[64];
    perp_model_difference(m, end[0], end[1], dq);
    for (int i = 0; i < perp_model_nv(m); i++) off = fmax(off, fabs(dq[i]));
    near(off, 0, 1e-8, 0, "tree %d: the rows of armatures and the diagonal of H agree", n);
    perp_model_destroy(m);
  }
  perp_rng_destroy(rng);
}

static void refusals(void)
{
  static const char *const forms[] = { "penalty",          "impulse", "ggl",
                                       "si-baumgarte",     "xpbd",    "velocity-midpoint",
                                       "generalized-alpha" };
  perp_model *m = rod(2);
  perp_armature_def def = { .joint = 0, .axis = PERP_DRIVE_A, .inertia = -1 };
  ok(perp_model_add_armature(&ctx, m, &def, NULL) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  def.inertia = 1, def.axis = PERP_DRIVE_B;
  ok(perp_model_add_armature(&ctx, m, &def, NULL) == PERP_ERR_UNSUPPORTED, "refused: %s", ctx.msg);
  armature(m, 0, PERP_DRIVE_A, 1);
  run_finish(&ctx, m);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    run_refused(&ctx, m, (run_parts){ forms[i] }, "armature");
  perp_model_destroy(m);
}

static int coupling(perp_model *m, int n, const perp_axis_term *terms, double value)
{
  perp_coupling_def def = { .n_terms = n, .value = value };
  int index;
  memcpy(def.term, terms, (size_t)n * sizeof *terms);
  if (perp_model_add_coupling(&ctx, m, &def, &index) != PERP_OK) bail("%s", ctx.msg);
  return index;
}

/* Two wheels on the world, 1 m apart, about parallel axes; angular velocity of the first. */
static perp_model *wheels(int dim, const perp_mass *first, const perp_mass *second, double w,
                          double ratio)
{
  perp_model *m = run_model(&ctx, dim);
  for (int b = 0; b < 2; b++) {
    perp_body_def body = { .mass = b == 0 ? *first : *second, .x = { b } };
    body.w[2] = b == 0 ? w : ratio * w;
    run_body(&ctx, m, body);
    run_joint(&ctx, m,
              (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                                .a = PERP_WORLD,
                                .b = b,
                                .anchor_a = { b },
                                .axis_a = { 0, 0, 1 },
                                .axis_b = { 0, 0, 1 } });
  }
  coupling(m, 2,
           (perp_axis_term[]){ { .joint = 0, .factor = -ratio }, { .joint = 1, .factor = 1 } }, 0);
  return m;
}

static double angle_of(const perp_model *m, const double *q, int b)
{
  return perp_model_dim(m) == 2 ? q[3 * b + 2] : 2 * atan2(q[7 * b + 6], q[7 * b + 3]);
}

static const run_parts coupled[] = {
  { "acceleration", "rk4", .stab = "post" },
  { "acceleration", "rk4", .stab = "baumgarte" },
  { "reduced", "rk4" },
  { "velocity", .stab = "post" },
  { "velocity", .stab = "split" },
  { "velocity", .stab = "baumgarte" },
  { "velocity-midpoint" },
  { "velocity-implicit" },
  { "impulse" },
  { "ggl" },
  { "generalized-alpha" },
  { "radau5" },
  { "penalty", "rk4" },
  { "groups" },
};

/* A torque on the first wheel: phi'' = tau / (I_1 + ratio^2 I_2). */
static void gears(void)
{
  const perp_mass first = perp_mass_cylinder(2, 0.3, 0.1), second = perp_mass_cylinder(1, 0.2, 0.1);
  for (int dim = 2; dim <= 3; dim++)
    for (size_t f = 0; f < sizeof coupled / sizeof *coupled; f++) {
      const double ratio = -2.5, I = first.inertia[8] + ratio * ratio * second.inertia[8];
      perp_model *m = wheels(dim, &first, &second, 0, ratio);
      perp_force_def torque = { .kind = PERP_FORCE_TORQUE, .a = 0, .value = { 0, 0, 3 } };
      double t;
      const double *q, *v;
      if (perp_model_add_force(&ctx, m, &torque) != PERP_OK) bail("%s", ctx.msg);
      run_finish(&ctx, m);
      perp_sim *sim = run_start(&ctx, m, coupled[f],
                                strcmp(coupled[f].formulation, "penalty") == 0 ? 1e-5 : 1e-3);
      run_to(&ctx, sim, 0.2);
      perp_sim_state(sim, &t, &q, &v);
      const double phi = angle_of(m, q, 0), want = 0.5 * 3 / I * t * t;
      near(phi, want, 1e-2 * want, 0, "%d-d, %s, %s: the gear turns as its inertia lets it", dim,
           coupled[f].formulation, coupled[f].stab == NULL ? "" : coupled[f].stab);
      near(angle_of(m, q, 1), ratio * phi, 2e-3, 0, "%d-d, %s, %s: ratio", dim,
           coupled[f].formulation, coupled[f].stab == NULL ? "" : coupled[f].stab);
      perp_sim_destroy(sim);
      perp_model_destroy(m);
    }
}

/* 1000 turns of the first wheel: no tooth is lost.  The wheels start with an error of the ratio of
 * rates, which only the row on angles takes out. */
static void turns(void)
{
  static const run_parts forms[] = { { "acceleration", "rk4", .stab = "post" },
                                     { "velocity", .stab = "post" },
                                     { "reduced", "rk4" } };
  const perp_mass first = perp_mass_cylinder(2, 0.3, 0.1), second = perp_mass_cylinder(1, 0.2, 0.1);
  for (int dim = 2; dim <= 3; dim++)
    for (int f = 0; f < 3; f++) {
      const double ratio = -2.5, w = 100;
      perp_model *m = wheels(dim, &first, &second, w, ratio);
      double t;
      const double *q, *v;
      run_finish(&ctx, m);
      perp_sim *sim = run_start(&ctx, m, forms[f], 4e-3);
      run_to(&ctx, sim, 1000 * 2 * M_PI / w);
      perp_sim_state(sim, &t, &q, &v);
      const double off = angle_of(m, q, 1) - ratio * angle_of(m, q, 0),
                   turn = 2 * M_PI * (dim == 3 ? 0.5 : 1e9);
      near(off - turn * round(off / turn), 0, 1e-9, 0, "%d-d, %s: no slip in 1000 turns", dim,
           forms[f].formulation);
      near(v[dim == 3 ? 11 : 5], ratio * w, 1e-6, 0, "%d-d, %s: as fast", dim,
           forms[f].formulation);
      perp_sim_destroy(sim);
      perp_model_destroy(m);
    }
}

/* ---- axes as they are given ---- */

/* in the frame of body 0: p_b - p_a and the unit vector along `own` of body 1 */
static void seen(const perp_model *m, const double *q, const perp_joint_def *j, const double *own,
                 double d[3], double e[3])
{
  static const double zero[3] = { 0 };
  double R[9], p[2][3], tip[3], base[3];
  perp_quat_matrix(q + 3, R);
  perp_model_point(m, q, 0, j->anchor_a, p[0]);
  perp_model_point(m, q, 1, j->anchor_b, p[1]);
  perp_model_point(m, q, 1, own, tip);
  perp_model_point(m, q, 1, zero, base);
  const double size = sqrt(perp_dot(3, own, own));
  for (int k = 0; k < 3; k++) p[1][k] -= p[0][k], tip[k] = (tip[k] - base[k]) / size;
  perp_turn_back(3, R, p[1], d);
  perp_turn_back(3, R, tip, e);
}

/* Several slides: wherever b is, the way from its start is the sum of coordinates times their
 * directions, of a joint with two of them but for what is across both. */
static void several_slides(perp_rng *rng, perp_joint_kind kind, int n)
{
  static const perp_drive_axis names[] = { PERP_DRIVE_A, PERP_DRIVE_B, PERP_DRIVE_C };
  double worst = 0;
  for (int trial = 0; trial < 8; trial++) {
    perp_model *m = run_model(&ctx, 3);
    perp_joint_def j = { .kind = kind, .a = 0, .b = 1, .start = PERP_START_VIOLATES };
    double dq[12], q[14], e[3][3], start[3], left[3], across[3], spare[3];
    double *vectors[] = { j.anchor_a, j.anchor_b, j.axis_a, j.axis_b, j.axis_c };
    for (int i = 0; i < 2; i++) tree_body(&ctx, rng, m, 3);
    for (int i = 0; i < 15; i++) vectors[i / 3][i % 3] = perp_rng_normal(rng);
    for (int i = 0; i < 12; i++) dq[i] = perp_rng_normal(rng);
    run_joint(&ctx, m, j);
    for (int i = 0; i < n; i++) {
      perp_drive_def drive = unlimited(0);
      drive.axis = names[i];
      run_drive(&ctx, m, drive);
    }
    run_finish(&ctx, m);
    const double size = sqrt(perp_dot(3, j.axis_a, j.axis_a));
    for (int k = 0; k < 3; k++) e[0][k] = j.axis_a[k] / size;
    seen(m, perp_model_q0(m), &j, j.axis_b, start, e[1]);
    seen(m, perp_model_q0(m), &j, j.axis_c, start, e[2]);
    perp_model_retract(m, perp_model_q0(m), dq, q);
    seen(m, q, &j, j.axis_b, left, spare);
    for (int k = 0; k < 3; k++) left[k] -= start[k];
    for (int i = 0; i < n; i++)
      for (int k = 0; k < 3; k++) left[k] -= perp_model_drive_coordinate(m, q, i) * e[i][k];
    perp_cross(e[0], e[1], across);
    const double along = n == 2 ? perp_dot(3, left, across) / perp_dot(3, across, across) : 0;
    for (int k = 0; k < 3; k++) worst = fmax(worst, fabs(left[k] - along * across[k]));
    perp_model_destroy(m);
  }
  below(worst, 1e-11, "%s, axes of any length: the way is the sum of its slides",
        perp_joint_kind_name(kind));
}

/* A ball joint has angles where its axes are not parallel, however its bodies are turned. */
static void parallel_axes(void)
{
  static const int ends[][2] = {
    { 0, 1 }, { 1, 0 }, { PERP_WORLD, 1 }, { 0, PERP_WORLD }, { PERP_WORLD, 0 }
  };
  for (int i = 0; i < 10; i++) {
    const bool parallel = i % 2 != 0;
    const int a = ends[i / 2][0], b = ends[i / 2][1];
    double R[3][9] = { { 1, 0, 0, 0, 1, 0, 0, 0, 1 } }, world[3];
    perp_model *m = run_model(&ctx, 3);
    perp_joint_def j = {
      .kind = PERP_JOINT_BALL, .a = a, .b = b, .axis_a = { 1, 2, 3 }, .axis_b = { 1, 2, 3 }
    };
    perp_drive_def drive = unlimited(0);
    for (int k = 0; k < 2; k++) {
      const perp_body_def body = { .mass = perp_mass_box(1, 1, 2, 3),
                                   .quat = { 0.5, k == 0 ? 0.5 : -0.5, 0.5, 0.5 } };
      perp_quat_matrix(body.quat, R[k + 1]);
      run_body(&ctx, m, body);
    }
    perp_turn(3, R[a + 1], j.axis_a, world);
    if (parallel) perp_turn_back(3, R[b + 1], world, j.axis_b);
    run_joint(&ctx, m, j);
    const perp_status status = perp_model_add_drive(&ctx, m, &drive, NULL);
    ok(status == (parallel ? PERP_ERR_ARG : PERP_OK) &&
           (!parallel || strstr(ctx.msg, "parallel") != NULL),
       "a drive on a ball joint of %d and %d whose axes are%s parallel", a, b,
       parallel ? "" : " not");
    perp_model_destroy(m);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  pendulum();
  velocity_level(false);
  velocity_level(true);
  trees();
  gears();
  turns();
  refusals();
  perp_rng *rng = perp_rng_create(9);
  several_slides(rng, PERP_JOINT_RECTANGULAR, 2);
  several_slides(rng, PERP_JOINT_CARTESIAN, 3);
  perp_rng_destroy(rng);
  parallel_axes();
  return tap_done();
}
