/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inverse dynamics: two ways to the same forces, closed forms, forward dynamics with them, and
 * their power. */
#include <float.h>
#include <lapacke.h>
#undef I /* of complex.h: an inertia here */
#include "models/figures/inverse.h"
#include "models/figures/playback.h"
#include "models/multibody/model_private.h"
#include "solvers/kkt/kkt.h"
#include "tests/random_trees.h"

enum { MOST = 40 * 7 };

static perp_ctx ctx;
static perp_rng *rng;

static double norm(int n, const double *x)
{
  double s = 0;
  for (int i = 0; i < n; i++) s += x[i] * x[i];
  return sqrt(s);
}
static double apart(int n, const double *x, const double *y)
{
  double s = 0;
  for (int i = 0; i < n; i++) s += (x[i] - y[i]) * (x[i] - y[i]);
  return sqrt(s);
}

static perp_inverse *open_inverse(const perp_model *m)
{
  perp_inverse *v;
  if (perp_inverse_create(&ctx, m, &v) != PERP_OK) bail("%s", ctx.msg);
  return v;
}

/* Largest over smallest eigenvalue of J M^-1 J' as assembled. */
static double condition(const perp_model *m)
{
  const int rows = perp_model_m(m);
  if (rows == 0) return 1;
  double *A = malloc(sizeof *A * (size_t)(rows * rows)),
         *value = malloc(sizeof *value * (size_t)rows), scratch[MOST];
  perp_blocks_delassus(perp_model_blocks(m), A, rows, scratch);
  if (LAPACKE_dsyev(LAPACK_COL_MAJOR, 'N', 'U', rows, A, rows, value) != 0) bail("eigenvalues");
  const double cond = value[rows - 1] / value[0];
  free(value);
  free(A);
  return cond;
}

/* ---- both ways ---- */

static void both_ways(void)
{
  static const perp_joint_kind space[] = {
    PERP_JOINT_BALL,        PERP_JOINT_HINGE,    PERP_JOINT_UNIVERSAL,   PERP_JOINT_SLIDER,
    PERP_JOINT_FIXED,       PERP_JOINT_DISTANCE, PERP_JOINT_RECTANGULAR, PERP_JOINT_CARTESIAN,
    PERP_JOINT_SKEW_HINGES, PERP_JOINT_PIN_SLOT, PERP_JOINT_CHAIN
  };
  static const perp_joint_kind plane[] = { PERP_JOINT_HINGE, PERP_JOINT_SLIDER,
                                           PERP_JOINT_FIXED, PERP_JOINT_DISTANCE,
                                           PERP_JOINT_BALL,  PERP_JOINT_RECTANGULAR };
  enum { DENSE = 2 };
  static const char *const kkts[] = { "tree", "kkt-sparse", [DENSE] = "schur-dense" };
  for (int dim = 2; dim <= 3; dim++) {
    double worst[3] = { 0 }, residual = 0, dependence = 0, loss = 0;
    for (int trial = 0; trial < 60; trial++) {
      const int n = 1 + perp_rng_int(rng, 24);
      perp_model *m = tree_random(&ctx, rng, dim, n, trial % 2 == 0, dim == 3 ? 11 : 6,
                                  dim == 3 ? space : plane);
      perp_inverse *v = open_inverse(m);
      const int nu = perp_inverse_nu(v);
      double q[MOST], u[MOST], ud[MOST], qm[MOST], vm[MOST], am[MOST], gamma[MOST], rate[MOST],
          f[MOST] = { 0 }, tau[MOST], other[MOST], lambda[MOST];
      tree_state(&ctx, rng, m, q, u, ud);
      perp_inverse_state(v, q, u, NULL, qm, vm, NULL);
      perp_inverse_joints(v, qm, vm, q, u); /* rods without a spin of their own */
      perp_inverse_state(v, q, u, ud, qm, vm, am);
      for (int k = 0; k < 3; k++) {
        double s[3], force[3];
        for (int i = 0; i < 3; i++)
          s[i] = perp_rng_uniform(rng, -0.2, 0.2), force[i] = perp_rng_uniform(rng, -20, 20);
        perp_inverse_add_force(m, qm, perp_rng_int(rng, n), s, force, f);
      }
      /* the accelerations are those of a motion that keeps the joints */
      perp_model_assemble(m, 0, qm);
      perp_model_jdotv(m, 0, qm, vm, gamma);
      memset(rate, 0, sizeof rate);
      perp_blocks_J(perp_model_blocks(m), 1, am, rate);
      for (int i = 0; i < perp_model_m(m); i++) residual = fmax(residual, fabs(rate[i] + gamma[i]));
      perp_inverse_recursive(v, 0, q, u, ud, f, tau);
      for (int k = 0; k < 3; k++) {
        if (perp_inverse_kkt(&ctx, v, kkts[k], 0, qm, vm, am, f, other, lambda) != PERP_OK)
          bail("%s: %s", kkts[k], ctx.msg);
        const double off = apart(nu, tau, other) / fmax(1, norm(nu, tau));
        worst[k] = fmax(worst[k], off);
        if (k == DENSE) loss = fmax(loss, off / (DBL_EPSILON * condition(m)));
      }
      /* it is no constant: external forces and accelerations change it */
      perp_inverse_recursive(v, 0, q, u, ud, NULL, other);
      if (nu > 0) dependence += apart(nu, tau, other);
      perp_inverse_destroy(v);
      perp_model_destroy(m);
    }
    below(residual, 1e-11, "dimension %d: accelerations keep the joints", dim);
    /* what the dense one forms costs it the digits of its condition */
    below(loss, 200,
          "dimension %d: recursion and %s agree on 60 random trees to %.0f roundings of "
          "its condition",
          dim, kkts[DENSE], loss);
    for (int k = 0; k < DENSE; k++)
      below(worst[k], 1e-10, "dimension %d: recursion and %s agree on 60 random trees (%.1e)", dim,
            kkts[k], worst[k]);
    ok(dependence > 1, "dimension %d: forces from outside count", dim);
  }
}

/* ---- closed forms ---- */

static perp_model *rods(int n, const double *length, const double *mass)
{
  perp_model *m;
  if (perp_model_create(&ctx, 2, &m) != PERP_OK) bail("%s", ctx.msg);
  double x = 0;
  for (int i = 0; i < n; i++) {
    perp_body_def b = { .mass = { .mass = mass[i] }, .x = { x + length[i] / 2, 0 } };
    b.mass.inertia[8] = mass[i] * length[i] * length[i] / 12;
    perp_joint_def j = {
      .kind = PERP_JOINT_HINGE, .a = i - 1, .b = i, .anchor_b = { -length[i] / 2 }
    };
    if (i > 0) j.anchor_a[0] = length[i - 1] / 2;
    if (perp_model_add_body(&ctx, m, &b, NULL) != PERP_OK ||
        perp_model_add_joint(&ctx, m, &j, NULL) != PERP_OK)
      bail("%s", ctx.msg);
    x += length[i];
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

static void closed_forms(void)
{
  const double l[2] = { 0.7, 0.45 }, mass[2] = { 1.3, 0.8 };
  perp_model *one = rods(1, l, mass), *two = rods(2, l, mass);
  perp_inverse *v1 = open_inverse(one), *v2 = open_inverse(two);
  double worst1 = 0, worst2 = 0;
  for (int k = 0; k < 200; k++) {
    double q[2], u[2], a[2], tau[2];
    for (int i = 0; i < 2; i++) {
      q[i] = perp_rng_uniform(rng, -3, 3);
      u[i] = perp_rng_uniform(rng, -5, 5);
      a[i] = perp_rng_uniform(rng, -9, 9);
    }
    perp_inverse_recursive(v1, 0, q, u, a, NULL, tau);
    const long double g = 9.81L, l1 = l[0], m1 = mass[0];
    const long double want = m1 * l1 * l1 / 3 * (long double)a[0] + m1 * g * l1 / 2 * cosl(q[0]);
    worst1 = fmax(worst1, (double)fabsl((long double)tau[0] - want));
    /* Lagrange's equations in angles from the horizontal */
    const long double l2 = l[1], m2 = mass[1], t1 = q[0],
                      t2 = (long double)q[0] + (long double)q[1], w1 = u[0],
                      w2 = (long double)u[0] + (long double)u[1], a1 = a[0],
                      a2 = (long double)a[0] + (long double)a[1], B = m2 * l1 * l2 / 2;
    const long double Q1 = (m1 * l1 * l1 / 3 + m2 * l1 * l1) * a1 + B * cosl(t1 - t2) * a2 +
                           B * sinl(t1 - t2) * w2 * w2 + (m1 / 2 + m2) * l1 * g * cosl(t1);
    const long double Q2 = m2 * l2 * l2 / 3 * a2 + B * cosl(t1 - t2) * a1 -
                           B * sinl(t1 - t2) * w1 * w1 + m2 * g * l2 / 2 * cosl(t2);
    perp_inverse_recursive(v2, 0, q, u, a, NULL, tau);
    worst2 = fmax(worst2, (double)fmaxl(fabsl((long double)tau[0] - (Q1 + Q2)),
                                        fabsl((long double)tau[1] - Q2)));
  }
  below(worst1, 1e-13, "pendulum: m l^2 / 3 a + m g l / 2 cos(angle)");
  below(worst2, 5e-13, "double pendulum: Lagrange's equations in extended precision");
  perp_inverse_destroy(v1);
  perp_inverse_destroy(v2);
  perp_model_destroy(one);
  perp_model_destroy(two);
}

/* ---- forward dynamics with these forces ---- */

/* H' tau of a ball or hinge joint, and of a root, written out as torques on both bodies. */
static void torques(const perp_model *m, const perp_inverse *v, const double *qm, const double *tau,
                    double *f)
{
  for (int i = 0; i < perp_inverse_nu(v); i++) {
    const perp_inverse_coordinate w = perp_inverse_what(v, i);
    double R[9], world[3] = { 0 }, local[3];
    if (w.joint < 0) {
      const int part = (strlen(w.part) == 1 ? 0 : 3) + w.part[strlen(w.part) - 1] - 'x';
      f[6 * w.body + part] += tau[i];
      continue;
    }
    const perp_joint_def *def = perp_model_joint(m, w.joint);
    const int parent = def->a == w.body ? def->b : def->a;
    double child[9];
    perp_model_rotation(m, qm, w.body, child);
    if (def->kind == PERP_JOINT_BALL) {
      double e[3] = { 0 };
      e[w.part[1] - 'x'] = tau[i];
      perp_turn(3, child, e, world);
    } else {
      /* a hinge turns about the axis of its parent, which is that of the child */
      double n[3], size = norm(3, def->a == w.body ? def->axis_a : def->axis_b);
      for (int c = 0; c < 3; c++)
        n[c] = tau[i] / size * (def->a == w.body ? def->axis_a : def->axis_b)[c];
      perp_turn(3, child, n, world);
    }
    perp_turn_back(3, child, world, local);
    for (int c = 0; c < 3; c++) f[6 * w.body + 3 + c] += local[c];
    if (parent < 0) continue;
    perp_model_rotation(m, qm, parent, R);
    perp_turn_back(3, R, world, local);
    for (int c = 0; c < 3; c++) f[6 * parent + 3 + c] -= local[c];
  }
}

static void forward(void)
{
  static const perp_joint_kind kinds[] = { PERP_JOINT_BALL, PERP_JOINT_HINGE };
  double worst = 0;
  for (int trial = 0; trial < 20; trial++) {
    perp_model *m = tree_random(&ctx, rng, 3, 1 + perp_rng_int(rng, 12), trial % 2 == 0, 2, kinds);
    perp_inverse *v = open_inverse(m);
    double q[MOST], u[MOST], ud[MOST], qm[MOST], vm[MOST], am[MOST], tau[MOST], f[MOST], c[MOST],
        a[MOST], lambda[MOST];
    tree_state(&ctx, rng, m, q, u, ud);
    perp_inverse_state(v, q, u, ud, qm, vm, am);
    perp_inverse_recursive(v, 0, q, u, ud, NULL, tau);
    perp_model_forces(m, 0, qm, vm, f);
    torques(m, v, qm, tau, f);
    const perp_blocks *B = perp_model_assemble(m, 0, qm);
    perp_model_jdotv(m, 0, qm, vm, c);
    for (int i = 0; i < B->m; i++) c[i] = -c[i];
    perp_spec spec;
    perp_kkt_solver *s;
    perp_stats stats = { 0 };
    if (perp_spec_parse(&ctx, PERP_KIND_kkt, "kkt-dense", &spec) != PERP_OK ||
        perp_kkt_create(&ctx, &spec, B, &s) != PERP_OK ||
        perp_kkt_factor(&ctx, s, B, &stats) != PERP_OK ||
        perp_kkt_solve(&ctx, s, B, f, c, a, lambda, &stats) != PERP_OK)
      bail("%s", ctx.msg);
    worst = fmax(worst, apart(perp_model_nv(m), a, am) / norm(perp_model_nv(m), am));
    perp_kkt_destroy(s);
    perp_spec_free(&spec);
    perp_inverse_destroy(v);
    perp_model_destroy(m);
  }
  below(worst, 1e-11, "forward dynamics of these torques has the accelerations back (%.1e)", worst);
}

/* ---- power ---- */

static void power(void)
{
  static const perp_joint_kind kinds[] = { PERP_JOINT_BALL, PERP_JOINT_HINGE, PERP_JOINT_UNIVERSAL,
                                           PERP_JOINT_SLIDER };
  enum { FRAMES = 12 };
  double worst = 0, joints = 0, most = 0;
  for (int trial = 0; trial < 6; trial++) {
    perp_model *m = tree_random(&ctx, rng, 3, 9, trial % 2 == 0, 4, kinds);
    perp_inverse *v = open_inverse(m);
    const int nq = perp_model_nq(m), nu = perp_inverse_nu(v);
    double t[FRAMES], *pose = calloc((size_t)(FRAMES * nq), sizeof *pose), q[MOST], u[MOST],
                      ud[MOST], qm[MOST], vm[MOST], tau[MOST], C[MOST];
    for (int k = 0; k < FRAMES; k++) {
      t[k] = 0.1 * k;
      tree_state(&ctx, rng, m, q, u, ud);
      perp_inverse_state(v, q, u, NULL, pose + k * nq, vm, NULL);
    }
    perp_playback *play;
    if (perp_playback_create(&ctx, m, FRAMES, t, pose, &play) != PERP_OK) bail("%s", ctx.msg);
    for (int k = 0; k < 40; k++) {
      const double at = 0.05 + 0.0251 * k, h = 1e-4;
      double E[4], rate, work = 0;
      static const double off[] = { -2, -1, 1, 2 };
      for (int i = 0; i < 4; i++) {
        double kinetic, potential;
        perp_playback_state(play, at + off[i] * h, qm, vm, NULL);
        perp_model_energy(m, 0, qm, vm, &kinetic, &potential);
        E[i] = kinetic + potential;
      }
      rate = (8 * (E[2] - E[1]) - (E[3] - E[0])) / (12 * h);
      perp_playback_joints(play, at, q, u, ud);
      perp_inverse_recursive(v, 0, q, u, ud, NULL, tau);
      for (int i = 0; i < nu; i++) work += tau[i] * u[i];
      worst = fmax(worst, fabs(work - rate) / (1 + fabs(rate)));
      most = fmax(most, fabs(rate));
      perp_playback_state(play, at, qm, vm, NULL);
      perp_model_error(m, 0, qm, C);
      for (int i = 0; i < perp_model_m(m); i++) joints = fmax(joints, fabs(C[i]));
    }
    perp_playback_destroy(play);
    perp_inverse_destroy(v);
    perp_model_destroy(m);
    free(pose);
  }
  below(worst, 1e-6, "tau . u is the rate of the energy, along motions through random poses (%.1e)",
        worst);
  below(joints, 1e-13, "playback holds all joints (%.1e)", joints);
  ok(most > 100, "there was power: %.3g W", most);
}

/* ---- forces of drives ---- */

/* tau as forces of drives has the same power, with rates of their coordinates by differences. */
static void drives(void)
{
  static const perp_joint_kind kinds[] = { PERP_JOINT_BALL, PERP_JOINT_HINGE, PERP_JOINT_UNIVERSAL,
                                           PERP_JOINT_SLIDER };
  static const struct {
    int n;
    perp_drive_axis axis[3];
  } of[] = { { 3, { PERP_DRIVE_A, PERP_DRIVE_NODE, PERP_DRIVE_B } },
             { 1, { PERP_DRIVE_A } },
             { 2, { PERP_DRIVE_A, PERP_DRIVE_B } },
             { 1, { PERP_DRIVE_ALONG } } };
  double worst = 0;
  int asked = 0;
  for (int trial = 0; trial < 40; trial++) {
    const int kind = trial % 4;
    perp_model *m;
    if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
    for (int i = 0; i < 3; i++) tree_body(&ctx, rng, m, 3);
    tree_join(&ctx, rng, m, PERP_JOINT_BALL, PERP_WORLD, 0);
    for (int i = 1; i < 3; i++)
      if (trial % 8 < 4)
        tree_join(&ctx, rng, m, kinds[kind], i - 1, i);
      else
        tree_join(&ctx, rng, m, kinds[kind], i, i - 1);
    for (int j = 1; j < 3; j++)
      for (int k = 0; k < of[kind].n; k++) {
        const perp_drive_def d = {
          .joint = j, .axis = of[kind].axis[k], .lower = -HUGE_VAL, .upper = HUGE_VAL
        };
        if (perp_model_add_drive(&ctx, m, &d, NULL) != PERP_OK) bail("%s", ctx.msg);
      }
    if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
    perp_inverse *v = open_inverse(m);
    double q[MOST], u[MOST], ud[MOST], tau[MOST], force[6], q2[MOST], qm[2][MOST], vm[MOST],
        power = 0, same = 0;
    tree_state(&ctx, rng, m, q, u, ud);
    perp_inverse_recursive(v, 0, q, u, ud, NULL, tau);
    perp_inverse_drives(v, q, u, tau, force);
    perp_reduced_tree *t;
    if (perp_reduced_create(&ctx, m, &t) != PERP_OK) bail("%s", ctx.msg);
    const double h = 1e-6;
    for (int side = 0; side < 2; side++) {
      double d[MOST];
      for (int i = 0; i < t->nu; i++) d[i] = (side ? h : -h) * u[i];
      perp_reduced_retract(t, q, d, q2);
      perp_inverse_state(v, q2, u, NULL, qm[side], vm, NULL);
    }
    for (int k = 0; k < perp_model_drives(m); k++) {
      double dx = perp_model_drive_coordinate(m, qm[1], k) -
                  perp_model_drive_coordinate(m, qm[0], k);
      if (of[kind].axis[0] != PERP_DRIVE_ALONG) dx = remainder(dx, 2 * 3.14159265358979323846);
      power += force[k] * dx / (2 * h);
    }
    for (int i = 0; i < t->nu; i++)
      if (perp_inverse_what(v, i).joint > 0) same += tau[i] * u[i];
    /* near where two axes of a ball joint are parallel differences are worth nothing */
    const bool tame = fabs(power - same) < 1e-3 * (1 + fabs(same)) || kind != 0;
    if (tame) worst = fmax(worst, fabs(power - same) / (1 + fabs(same))), asked++;
    free(t);
    perp_inverse_destroy(v);
    perp_model_destroy(m);
  }
  below(worst, 1e-5, "forces of drives have the power of tau (%.1e)", worst);
  ok(asked >= 38, "%d of 40 models", asked);
}

/* ---- the ground ---- */

static void ground(void)
{
  perp_model *m;
  perp_body_def box = { .mass = perp_mass_box(10, 0.4, 0.2, 0.2), .x = { 0, 0, 0.1 } };
  if (perp_model_create(&ctx, 3, &m) != PERP_OK ||
      perp_model_add_body(&ctx, m, &box, NULL) != PERP_OK || perp_model_finish(&ctx, m) != PERP_OK)
    bail("%s", ctx.msg);
  perp_inverse *v = open_inverse(m);
  perp_inverse_contact c[4];
  for (int i = 0; i < 4; i++)
    c[i] = (perp_inverse_contact){ .point = { i % 2 ? 0.2 : -0.2, i / 2 ? 0.1 : -0.1, -0.1 },
                                   .normal = { 0, 0, 1 },
                                   .mu = 0.5 };
  const double *q = perp_model_q0(m), u[6] = { 0 };
  double ud[6] = { 0 }, tau[6], left;
  perp_inverse_recursive(v, 0, q, u, ud, NULL, tau);
  near(tau[2], 98.1, 1e-12, 0, "a box that stands: its root carries its weight");
  if (perp_inverse_ground(&ctx, v, 0, q, u, ud, 0.2, 4, c, tau, &left) != PERP_OK)
    bail("%s", ctx.msg);
  below(left, 1e-9, "the ground takes it over");
  double apart_ = 0;
  for (int i = 0; i < 4; i++)
    apart_ = fmax(apart_,
                  fabs(c[i].force[2] - 98.1 / 4) + fabs(c[i].force[0]) + fabs(c[i].force[1]));
  below(apart_, 1e-2, "a quarter at each corner, the smallest forces");
  /* accelerated by 0.3 g: friction pushes 29.43 N and the corners behind carry more: m a h / (2 d)
   * each */
  ud[0] = 0.3 * 9.81;
  perp_inverse_recursive(v, 0, q, u, ud, NULL, tau);
  if (perp_inverse_ground(&ctx, v, 0, q, u, ud, 0.2, 4, c, tau, &left) != PERP_OK)
    bail("%s", ctx.msg);
  below(left, 1e-8, "pushed by 0.3 of its weight: friction of 0.5 does it");
  double behind = c[0].force[2] + c[2].force[2], push = 0, cone = 0;
  for (int i = 0; i < 4; i++) {
    push += c[i].force[0];
    cone = fmax(cone, hypot(c[i].force[0], c[i].force[1]) - 0.5 * c[i].force[2]);
  }
  near(push, 29.43, 1e-7, 0, "its force is that of friction");
  near(behind, 98.1 / 2 + 29.43 * 0.1 / 0.4, 1e-6, 0, "weight shifts backwards as statics say");
  below(cone, 1e-9, "inside the cones");
  ud[0] = 0.8 * 9.81;
  perp_inverse_recursive(v, 0, q, u, ud, NULL, tau);
  if (perp_inverse_ground(&ctx, v, 0, q, u, ud, 0.2, 4, c, tau, &left) != PERP_OK)
    bail("%s", ctx.msg);
  ok(left > 10, "0.8 of its weight is beyond that: %.3g is left", left);
  ud[0] = 0, ud[2] = -2 * 9.81;
  perp_inverse_recursive(v, 0, q, u, ud, NULL, tau);
  if (perp_inverse_ground(&ctx, v, 0, q, u, ud, 0.2, 4, c, tau, &left) != PERP_OK)
    bail("%s", ctx.msg);
  near(left, 98.1, 1e-9, 0, "the ground does not pull");
  c[1].normal[2] = 2;
  ok(perp_inverse_ground(&ctx, v, 0, q, u, ud, 0.2, 4, c, tau, &left) == PERP_ERR_ARG &&
         strstr(ctx.msg, "contact 1") != NULL,
     "a normal of length 2 is refused: %s", ctx.msg);
  perp_inverse_destroy(v);
  perp_model_destroy(m);
}

static void refused(void)
{
  static const perp_joint_kind ball[] = { PERP_JOINT_BALL };
  perp_model *m = tree_random(&ctx, rng, 3, 1, false, 1, ball);
  perp_inverse *v;
  perp_model_destroy(m);
  if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
  tree_body(&ctx, rng, m, 3);
  tree_join(&ctx, rng, m, PERP_JOINT_BALL, PERP_WORLD, 0);
  tree_join(&ctx, rng, m, PERP_JOINT_BALL, PERP_WORLD, 0);
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  ok(perp_inverse_create(&ctx, m, &v) == PERP_ERR_UNSUPPORTED && v == NULL &&
         strstr(ctx.msg, "joint 1") != NULL,
     "a loop is refused: %s", ctx.msg);
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  rng = perp_rng_create(20);
  both_ways();
  closed_forms();
  forward();
  power();
  drives();
  ground();
  refused();
  perp_rng_destroy(rng);
  return tap_done();
}
