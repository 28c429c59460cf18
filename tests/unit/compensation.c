/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gravity compensation of drives: arms with soft servos hold their targets with it and sag by the
 * closed form without; its force is the gradient of the potential energy of what the joint carries,
 * by differences in joint coordinates; what it does not serve is refused by name. */
#include "models/figures/control.h"
#include "models/figures/inverse.h"
#include "models/formulations/step_forces.h"
#include "models/multibody/model_private.h"
#include "tests/run_model.h"

static perp_ctx ctx;
static const double gravity = 9.81;

static perp_drive_def servo(int joint, perp_drive_axis axis, double k, bool compensates)
{
  return (perp_drive_def){ .joint = joint,
                           .axis = axis,
                           .lower = -HUGE_VAL,
                           .upper = HUGE_VAL,
                           .stiffness = k,
                           .damping = 0.3 * k,
                           .max_force = HUGE_VAL,
                           .gravity_compensation = compensates };
}

/* Two links along x, hinges at the origin and at x = 0.5; in space about y. */
static perp_model *arm(int dim, double k, bool compensates)
{
  perp_model *m = run_model(&ctx, dim);
  for (int i = 0; i < 2; i++) {
    run_body(&ctx, m,
             (perp_body_def){ .mass = perp_mass_box(2 - i, 0.5, 0.1, 0.1),
                              .x = { i == 0 ? 0.25 : 0.7 } });
    perp_joint_def hinge = { .kind = PERP_JOINT_HINGE, .a = i - 1, .b = i };
    hinge.anchor_a[0] = i == 0 ? 0 : 0.25;
    hinge.anchor_b[0] = i == 0 ? -0.25 : -0.2;
    hinge.axis_a[1] = hinge.axis_b[1] = 1;
    run_joint(&ctx, m, hinge);
  }
  for (int i = 0; i < 2; i++) run_drive(&ctx, m, servo(i, PERP_DRIVE_A, k, compensates));
  return run_finish(&ctx, m);
}

static void test_holds(void)
{
  static const run_parts parts[] = {
    { "velocity" },
    { "velocity-midpoint" },
    { "generalized-alpha" },
    { "ggl" },
    { "radau5" },
    { "acceleration", "rk4" },
    { "reduced" },
    { "impulse" },
    { "velocity:tol=1e-4" },
    { "velocity-implicit" },
    { "si-split" },
    { "groups" },
  };
  for (int dim = 2; dim <= 3; dim++)
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
      double q[14], off = 0;
      perp_model *m = arm(dim, 3, true);
      if (run_fresh(&ctx, m, parts[i], 2e-3, 2, q, NULL) < 0)
        bail("%s: %s", parts[i].formulation, ctx.msg);
      const double *q0 = perp_model_q0(m);
      for (int k = 0; k < perp_model_nq(m); k++) off = fmax(off, fabs(q[k] - q0[k]));
      below(off, 1e-9, "%d-d, %s: a soft servo holds the arm to %.2g", dim, parts[i].formulation,
            off);
      perp_model_destroy(m);
    }
  /* without it: k x_1 = g (m_1 s_1 cos x_1 + m_2 (l cos x_1 + s_2 cos(x_1 + x_2))), k x_2 = g m_2
   * s_2 cos(x_1 + x_2), x downwards, by fixed points */
  const double k = 60, s1 = 0.25, l = 0.5, s2 = 0.2;
  double x1 = 0, x2 = 0, q[14];
  for (int i = 0; i < 200; i++) {
    x2 = gravity * s2 * cos(x1 + x2) / k;
    x1 = gravity * (2 * s1 * cos(x1) + l * cos(x1) + s2 * cos(x1 + x2)) / k;
  }
  perp_model *m = arm(2, k, false);
  if (run_fresh(&ctx, m, (run_parts){ "velocity" }, 2e-3, 30, q, NULL) < 0) bail("%s", ctx.msg);
  near(q[2], -x1, 1e-9, 0, "without it the arm sags at the shoulder");
  near(q[5], -x1 - x2, 1e-9, 0, "and at the elbow");
  perp_model_destroy(m);
}

/* ---- against the gradient of the potential energy ---- */

/* A base that slides upright, on it a universal joint, a ball joint and a slider, all held; from
 * this posture on coordinates move alone. */
enum { BODIES = 4, COORDINATES = 7 };

static perp_model *crane(int reversed)
{
  static const perp_joint_kind kind[] = { PERP_JOINT_SLIDER, PERP_JOINT_UNIVERSAL, PERP_JOINT_BALL,
                                          PERP_JOINT_CYLINDRICAL };
  perp_model *m = run_model(&ctx, 3);
  for (int i = 0; i < BODIES; i++)
    run_body(&ctx, m,
             (perp_body_def){ .mass = perp_mass_box(1 + i, 0.5, 0.1, 0.1),
                              .x = { 0.1 + 0.4 * i, 0.1 * i, 0.05 * i } });
  for (int i = 0; i < BODIES; i++) {
    perp_joint_def joint = { .kind = kind[i], .a = i - 1, .b = i };
    const double a[3] = { i == 0 ? 0.1 : 0.2, i == 0 ? 0 : 0.05, i == 0 ? 0 : 0.025 },
                 b[3] = { i == 0 ? 0 : -0.2, i == 0 ? 0 : -0.05, i == 0 ? 0 : -0.025 };
    memcpy(joint.anchor_a, a, sizeof a);
    memcpy(joint.anchor_b, b, sizeof b);
    joint.axis_a[i == 0 ? 2 : i == 3 ? 0 : 1] = 1;
    joint.axis_a[1] += i == 3 ? 0.3 : 0;
    if (i == 1) joint.axis_b[2] = 1;
    if (i == 2) joint.axis_b[0] = 1, joint.axis_b[2] = 0.2;
    if (i == 0 || i == 3) memcpy(joint.axis_b, joint.axis_a, sizeof joint.axis_b);
    if (reversed) {
      perp_joint_def other = joint;
      other.a = joint.b, other.b = joint.a;
      memcpy(other.anchor_a, joint.anchor_b, sizeof a);
      memcpy(other.anchor_b, joint.anchor_a, sizeof a);
      memcpy(other.axis_a, joint.axis_b, sizeof a);
      memcpy(other.axis_b, joint.axis_a, sizeof a);
      joint = other;
    }
    run_joint(&ctx, m, joint);
  }
  static const struct {
    int joint;
    perp_drive_axis axis;
  } coordinate[COORDINATES] = {
    { 0, PERP_DRIVE_A },    { 1, PERP_DRIVE_A }, { 1, PERP_DRIVE_B }, { 2, PERP_DRIVE_A },
    { 2, PERP_DRIVE_NODE }, { 2, PERP_DRIVE_B }, { 3, PERP_DRIVE_A },
  };
  for (int i = 0; i < COORDINATES; i++) {
    perp_drive_def drive = servo(coordinate[i].joint, coordinate[i].axis, 0, true);
    drive.damping = drive.max_force = 0;
    run_drive(&ctx, m, drive);
  }
  perp_drive_def along = servo(3, PERP_DRIVE_ALONG, 0, true);
  along.damping = along.max_force = 0;
  run_drive(&ctx, m, along);
  return run_finish(&ctx, m);
}

static double height_energy(const perp_model *m, const double *q)
{
  double V = 0;
  for (int b = 0; b < BODIES; b++) V += perp_model_body(m, b)->mass.mass * gravity * q[7 * b + 2];
  return V;
}

/* Rates v with J v = 0 for which coordinate c alone grows with 1: the least squares of both, by
 * normal equations of Gauss.  Then the force of c is dV along v. */
static void test_gradient(int reversed)
{
  perp_model *m = crane(reversed);
  const int nv = perp_model_nv(m), rows = perp_model_m(m) + COORDINATES + 1;
  const double *q = perp_model_q0(m);
  double force[COORDINATES + 1] = { 0 };
  perp_model_compensation(m, 0, q, 1, force, NULL);
  for (int c = 0; c <= COORDINATES; c++) {
    double A[24][25] = { { 0 } }, row[64][24] = { { 0 } };
    const perp_blocks *blocks = perp_model_assemble(m, 0, q);
    for (int j = 0; j < nv; j++) {
      double e[24] = { 0 }, column[64] = { 0 };
      e[j] = 1;
      perp_blocks_J(blocks, 1, e, column);
      for (int r = 0; r < perp_model_m(m); r++) row[r][j] = column[r];
    }
    for (int d = 0; d <= COORDINATES; d++) {
      double Ja[6], Jb[6];
      const perp_drive *drive = &m->drive[d];
      perp_drive_row(m, &m->eval, d, Ja, Jb);
      for (int k = 0; k < 6; k++) {
        if (drive->a >= 0) row[perp_model_m(m) + d][6 * drive->a + k] += Ja[k];
        if (drive->b >= 0) row[perp_model_m(m) + d][6 * drive->b + k] += Jb[k];
      }
    }
    for (int i = 0; i < nv; i++) {
      for (int j = 0; j < nv; j++)
        for (int r = 0; r < rows; r++) A[i][j] += row[r][i] * row[r][j];
      A[i][nv] = row[perp_model_m(m) + c][i];
    }
    for (int i = 0; i < nv; i++) { /* symmetric and definite: no pivoting */
      for (int k = i + 1; k < nv; k++) {
        const double f = A[k][i] / A[i][i];
        for (int j = i; j <= nv; j++) A[k][j] -= f * A[i][j];
      }
    }
    double v[24], up[28], down[28], dq[24];
    for (int i = nv - 1; i >= 0; i--) {
      v[i] = A[i][nv];
      for (int j = i + 1; j < nv; j++) v[i] -= A[i][j] * v[j];
      v[i] /= A[i][i];
    }
    for (int i = 0; i < nv; i++) dq[i] = 1e-5 * v[i];
    perp_model_retract(m, q, dq, up);
    for (int i = 0; i < nv; i++) dq[i] = -dq[i];
    perp_model_retract(m, q, dq, down);
    near(force[c], (height_energy(m, up) - height_energy(m, down)) / 2e-5, 1e-6, 0,
         "force of coordinate %d%s is the gradient of the potential energy", c,
         reversed ? ", bodies in the other order" : "");
  }
  perp_model_destroy(m);
}

/* ---- controllers that hold a posture ---- */

/* A ball joint to the world, a hinge, a slider, along x; not finished. */
static perp_model *stretched(int dim, bool turned)
{
  static const perp_joint_kind kind[] = { PERP_JOINT_BALL, PERP_JOINT_HINGE, PERP_JOINT_SLIDER };
  perp_model *m = run_model(&ctx, dim);
  for (int i = 0; i < 3; i++)
    run_body(
        &ctx, m,
        (perp_body_def){ .mass = perp_mass_box(3 - i, 0.4, 0.1, 0.1), .x = { 0.2 + 0.4 * i } });
  for (int i = 0; i < 3; i++) {
    perp_joint_def joint = { .kind = dim == 2 && i == 0 ? PERP_JOINT_HINGE : kind[i],
                             .a = turned ? i : i - 1,
                             .b = turned ? i - 1 : i };
    double *outer = turned ? joint.anchor_a : joint.anchor_b,
           *inner = turned ? joint.anchor_b : joint.anchor_a;
    outer[0] = -0.2;
    inner[0] = i == 0 ? 0 : 0.2;
    joint.axis_a[i == 1 ? 1 : dim - 1] = joint.axis_b[i == 1 ? 1 : dim - 1] = 1;
    run_joint(&ctx, m, joint);
  }
  return m;
}

static void test_controllers(void)
{
  static const char *const controllers[] = { "pd:frequency=1", "implicit-pd:frequency=1" };
  for (int i = 0; i < 8; i++)
    for (int on = 0; on < 2; on++) {
      const int dim = 2 + i % 2;
      const bool turned = i / 2 % 2, implicit = i / 4;
      char text[80];
      perp_spec spec;
      perp_goal *goal;
      double q[21], off = 0;
      snprintf(text, sizeof text, "%s,gravity_compensation=%s", controllers[implicit],
               on ? "true" : "false");
      perp_model *m = stretched(dim, turned);
      if (perp_goal_hold(&ctx, run_finish(&ctx, stretched(dim, turned)), &goal) != PERP_OK ||
          perp_spec_parse(&ctx, PERP_KIND_controller, text, &spec) != PERP_OK)
        bail("%s", ctx.msg);
      const perp_control_def def = { .controller = (const perp_controller_desc *)spec.d,
                                     .opts = spec.opts };
      if (perp_control_add(&ctx, m, goal, &def) != PERP_OK) bail("%s", ctx.msg);
      run_finish(&ctx, m);
      if (run_fresh(&ctx, m, (run_parts){ "velocity" }, 1e-3, 1, q, NULL) < 0) bail("%s", ctx.msg);
      const double *q0 = perp_model_q0(m);
      for (int k = 0; k < perp_model_nq(m); k++) off = fmax(off, fabs(q[k] - q0[k]));
      ok(on ? off < 1e-9 : off > 0.05, "%d-d%s, %s: the posture is off by %.2g", dim,
         turned ? ", joints turned round" : "", text, off);
      perp_spec_free(&spec);
      perp_model_destroy(m);
      perp_goal_destroy(goal);
    }
}

/* ---- bounds, what is reported, what is refused ---- */

static void test_told(void)
{
  static const char *const formulations[] = { "velocity",          "velocity-midpoint",
                                              "generalized-alpha", "acceleration",
                                              "reduced",           "velocity:tol=1e-4" };
  for (size_t i = 0; i < sizeof formulations / sizeof *formulations; i++) {
    perp_model *m = arm(2, 3, true);
    perp_sim *sim = run_start(&ctx, m, (run_parts){ formulations[i], i == 3 ? "rk4" : NULL }, 2e-3);
    perp_step_info info;
    for (int k = 0; k < 3; k++)
      if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
        bail("%s", ctx.msg);
    near(info.drive[0], gravity * (2 * 0.25 + 0.7), 1e-7, 0,
         "%s: the shoulder reports what it carries", formulations[i]);
    near(info.drive[1], gravity * 0.2, 1e-7, 0, "%s: so does the elbow", formulations[i]);
    perp_sim_destroy(sim);
    perp_model_destroy(m);
  }
  perp_model *m = run_model(&ctx, 2);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1) });
  run_joint(
      &ctx, m,
      (perp_joint_def){ .kind = PERP_JOINT_SLIDER, .a = PERP_WORLD, .b = 0, .axis_a = { 0, 1 } });
  perp_drive_def weak = servo(0, PERP_DRIVE_A, 0, true);
  weak.max_force = 4, weak.damping = 1e-9;
  run_drive(&ctx, m, weak);
  run_finish(&ctx, m);
  double q[3], force = 0;
  perp_model_compensation(m, 0, perp_model_q0(m), 1, &force, NULL);
  near(force, 4, 0, 0, "no more than max_force");
  if (run_fresh(&ctx, m, (run_parts){ "velocity-midpoint" }, 1e-3, 1, q, NULL) < 0)
    bail("%s", ctx.msg);
  near(q[1], -(gravity - 4) / 2, 1e-6, 0, "and the rest of the weight falls");
  perp_model_destroy(m);
}

/* Torques of inverse dynamics are what the drives have to give, all of it, by both ways. */
static void test_inverse(void)
{
  for (int on = 0; on < 2; on++) {
    perp_model *m = arm(3, 3, on);
    perp_inverse *inverse;
    double q[8] = { 0 }, u[8] = { 0 }, udot[8] = { 0 }, tau[8] = { 0 }, by_rows[8] = { 0 },
           lambda[10];
    if (perp_inverse_create(&ctx, m, &inverse) != PERP_OK) bail("%s", ctx.msg);
    perp_inverse_joints(inverse, perp_model_q0(m), perp_model_v0(m), q, u);
    perp_inverse_recursive(inverse, 0, q, u, udot, NULL, tau);
    const double zero[12] = { 0 };
    if (perp_inverse_kkt(&ctx, inverse, NULL, 0, perp_model_q0(m), zero, zero, NULL, by_rows,
                         lambda) != PERP_OK)
      bail("%s", ctx.msg);
    const double want[2] = { gravity * (2 * 0.25 + 0.7), gravity * 0.2 };
    for (int i = 0; i < 2; i++) {
      near(fabs(tau[i]), want[i], 1e-12, 0, "inverse dynamics, compensation %d: joint %d", on, i);
      near(by_rows[i], tau[i], 1e-9, 0, "and by the KKT system");
    }
    perp_inverse_destroy(inverse);
    perp_model_destroy(m);
  }
}

static void test_refused(void)
{
  perp_model *m = run_model(&ctx, 2);
  for (int i = 0; i < 2; i++)
    run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1), .x = { i } });
  for (int i = 0; i < 3; i++) {
    perp_joint_def hinge = { .kind = PERP_JOINT_HINGE, .a = i - 1, .b = i < 2 ? i : PERP_WORLD };
    hinge.anchor_b[0] = i == 2 ? 1.5 : -0.5;
    hinge.anchor_a[0] = i == 0 ? -0.5 : 0.5;
    run_joint(&ctx, m, hinge);
  }
  run_drive(&ctx, m, servo(1, PERP_DRIVE_A, 1, true));
  ok(perp_model_finish(&ctx, m) == PERP_ERR_UNSUPPORTED && strstr(ctx.msg, "closes a loop") != NULL,
     "refused: %s", ctx.msg);
  perp_model_destroy(m);
  m = run_model(&ctx, 3);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1) });
  run_joint(&ctx, m,
            (perp_joint_def){ .kind = PERP_JOINT_PLANAR,
                              .a = PERP_WORLD,
                              .b = 0,
                              .axis_a = { 0, 0, 1 },
                              .axis_b = { 0, 0, 1 } });
  run_drive(&ctx, m, servo(0, PERP_DRIVE_A, 1, true));
  ok(perp_model_finish(&ctx, m) == PERP_ERR_UNSUPPORTED && strstr(ctx.msg, "planar") != NULL,
     "refused: %s", ctx.msg);
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_holds();
  test_gradient(0);
  test_gradient(1);
  test_controllers();
  test_told();
  test_inverse();
  test_refused();
  return tap_done();
}
