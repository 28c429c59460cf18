/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joint coordinates of trees: the articulated-body algorithm against the dense saddle-point system
 * in maximal coordinates, for random trees of all joint kinds in space and in the plane. */
#include "models/multibody/reduced_tree.h"
#include "models/multibody/model_private.h"
#include "tests/tap.h"

#include <lapacke.h>
#include <string.h>

enum { BODIES = 9, NQ = 7 * BODIES, NV = 6 * BODIES, ROWS = 6 * BODIES };

static perp_ctx ctx;
static perp_rng *rng;

static double uniform(void)
{
  return perp_rng_uniform(rng, -1, 1);
}

static void random_vector(int n, double *x)
{
  for (int i = 0; i < n; i++) x[i] = uniform();
}

static void random_body(int dim, perp_body_def *def)
{
  *def = (perp_body_def){ 0 };
  def->mass = perp_mass_box(perp_rng_uniform(rng, 0.5, 2), perp_rng_uniform(rng, 0.2, 1),
                            perp_rng_uniform(rng, 0.2, 1), perp_rng_uniform(rng, 0.2, 1));
  random_vector(dim, def->x);
  if (dim == 3)
    random_vector(4, def->quat);
  else
    def->angle = 3 * uniform();
}

/* the point of body b, given in the world, in its own frame */
static void local(const perp_model *m, const perp_body_def *bodies, int b, const double p[3],
                  double s[3], bool direction)
{
  const int dim = perp_model_dim(m);
  memset(s, 0, 3 * sizeof *s);
  if (b < 0) {
    memcpy(s, p, (size_t)dim * sizeof *s);
    return;
  }
  perp_pose pose;
  double q[7], d[3] = { 0 };
  memcpy(q, bodies[b].x, 3 * sizeof *q);
  if (dim == 3)
    memcpy(q + 3, bodies[b].quat, 4 * sizeof *q);
  else
    q[2] = bodies[b].angle;
  perp_pose_of(dim, q, &pose);
  for (int i = 0; i < dim; i++) d[i] = direction ? p[i] : p[i] - pose.x[i];
  perp_turn_back(dim, pose.R, d, s);
}

/* The axes of rectangular, cartesian, skew-hinges, pin-slot, chain joints; p: from the point of a
 * to that of b, axis: that of a. */
static void random_chain(const perp_model *m, const perp_body_def *bodies, int dim,
                         perp_joint_def *def, const double axis[3], double p[3])
{
  double n[3] = { 0 }, apart[3] = { 0 }, s = uniform();
  random_vector(dim, n);
  random_vector(dim, apart);
  const bool free = def->kind == PERP_JOINT_CARTESIAN || def->kind == PERP_JOINT_SKEW_HINGES;
  def->hinge_first = def->kind == PERP_JOINT_PIN_SLOT && uniform() > 0;
  for (int i = 0; i < dim; i++) {
    if (def->kind == PERP_JOINT_RECTANGULAR) p[i] += s * axis[i] + apart[0] * n[i];
    if (def->kind == PERP_JOINT_PIN_SLOT) p[i] += s * (def->hinge_first != 0 ? n : axis)[i];
    if (free) p[i] += apart[i];
  }
  if (free || def->kind == PERP_JOINT_RECTANGULAR || def->kind == PERP_JOINT_PIN_SLOT)
    local(m, bodies, def->b, n, def->axis_b, true);
  random_vector(dim, n);
  if (def->kind == PERP_JOINT_CARTESIAN) local(m, bodies, def->b, n, def->axis_c, true);
  if (def->kind != PERP_JOINT_CHAIN) return;
  def->n_axes = 3 + perp_rng_int(rng, 3);
  for (int i = 0, slides = perp_rng_int(rng, 3); i < def->n_axes; i++) {
    random_vector(3, n);
    random_vector(3, apart);
    def->axes[i].slides = slides-- > 0;
    local(m, bodies, def->a, n, def->axes[i].along, true);
    local(m, bodies, def->a, apart, def->axes[i].at, false);
  }
}

/* A tree of BODIES bodies whose joints are of `kind` (cyclically from there), each held at a random
 * point, to a random earlier body or the world; `roots` bodies start a part of their own. */
static perp_model *random_tree(int dim, int first_kind, bool mixed, int floating)
{
  static const perp_joint_kind kinds[2][11] = {
    { PERP_JOINT_BALL, PERP_JOINT_HINGE, PERP_JOINT_SLIDER, PERP_JOINT_FIXED, PERP_JOINT_DISTANCE,
      PERP_JOINT_RECTANGULAR },
    { PERP_JOINT_BALL, PERP_JOINT_HINGE, PERP_JOINT_UNIVERSAL, PERP_JOINT_SLIDER, PERP_JOINT_FIXED,
      PERP_JOINT_DISTANCE, PERP_JOINT_RECTANGULAR, PERP_JOINT_CARTESIAN, PERP_JOINT_SKEW_HINGES,
      PERP_JOINT_PIN_SLOT, PERP_JOINT_CHAIN }
  };
  const int n_kinds = dim == 2 ? 6 : 11;
  perp_model *m;
  perp_body_def bodies[BODIES];
  if (perp_model_create(&ctx, dim, &m) != PERP_OK) bail("%s", ctx.msg);
  for (int b = 0; b < BODIES; b++) {
    random_body(dim, &bodies[b]);
    if (perp_model_add_body(&ctx, m, &bodies[b], NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  for (int b = floating; b < BODIES; b++) {
    int other = perp_rng_int(rng, b + 1) - 1; /* -1 = world */
    if (floating > 0 && other < 0) other = 0;
    perp_joint_def def = {
      .kind = kinds[dim - 2][mixed ? (first_kind + b) % n_kinds : first_kind]
    };
    bool turned = uniform() < 0;
    def.a = turned ? b : other;
    def.b = turned ? other : b;
    double p[3] = { 0 }, axis[3] = { 0 }, axis_b[3] = { 0 };
    random_vector(dim, p);
    random_vector(dim, axis);
    memcpy(axis_b, axis, sizeof axis);
    if (def.kind == PERP_JOINT_UNIVERSAL) { /* any direction perpendicular to the first */
      double other_axis[3];
      random_vector(3, other_axis);
      perp_cross(axis, other_axis, axis_b);
    }
    local(m, bodies, def.a, p, def.anchor_a, false);
    local(m, bodies, def.a, axis, def.axis_a, true);
    local(m, bodies, def.b, axis_b, def.axis_b, true);
    double along = def.kind == PERP_JOINT_SLIDER ? uniform() : 0;
    if (def.kind == PERP_JOINT_DISTANCE) {
      double apart[3];
      random_vector(dim, apart);
      for (int i = 0; i < dim; i++) p[i] += apart[i];
      def.length = sqrt(perp_dot(dim, apart, apart));
    }
    for (int i = 0; i < dim; i++) p[i] += along * axis[i];
    random_chain(m, bodies, dim, &def, axis, p);
    local(m, bodies, def.b, p, def.anchor_b, false);
    if (perp_model_add_joint(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                            .a = 0,
                            .b = BODIES - 1,
                            .stiffness = 30,
                            .damping = 2,
                            .length = 0.1,
                            .anchor_a = { 0.1, 0.2, 0.3 } };
  perp_force_def drag = { .kind = PERP_FORCE_DRAG, .a = 1, .linear = 0.3, .angular = 0.1 };
  if (perp_model_add_force(&ctx, m, &spring) != PERP_OK) bail("%s", ctx.msg);
  if (perp_model_add_force(&ctx, m, &drag) != PERP_OK) bail("%s", ctx.msg);
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

static double norm(int n, const double *x)
{
  double most = 0;
  for (int i = 0; i < n; i++) {
    if (isnan(x[i])) return nan("");
    most = fmax(most, fabs(x[i]));
  }
  return most;
}

/* largest difference of two states, quaternions up to sign */
static double distance(const perp_model *m, const double *qa, const double *qb)
{
  double worst = 0;
  for (int b = 0; b < perp_model_bodies(m); b++) {
    if (perp_model_dim(m) == 2) {
      for (int i = 0; i < 3; i++) worst = fmax(worst, fabs(qa[3 * b + i] - qb[3 * b + i]));
      continue;
    }
    const double *x = qa + 7 * b, *y = qb + 7 * b;
    double sign = x[3] * y[3] + x[4] * y[4] + x[5] * y[5] + x[6] * y[6] < 0 ? -1 : 1;
    for (int i = 0; i < 7; i++) worst = fmax(worst, fabs(x[i] - (i < 3 ? 1 : sign) * y[i]));
  }
  return worst;
}

/* exact accelerations and multipliers from the dense saddle-point system */
static void dense(perp_model *m, const double *q, const double *v, double *a)
{
  static double K[(NV + ROWS) * (NV + ROWS)], rhs[NV + ROWS], gamma[ROWS], unit[NV],
      column[NV + ROWS];
  static lapack_int pivot[NV + ROWS];
  const int nv = perp_model_nv(m), rows = perp_model_m(m), n = nv + rows;
  const perp_blocks *B = perp_model_assemble(m, 0, q);
  memset(K, 0, sizeof K);
  for (int j = 0; j < nv; j++) {
    memset(unit, 0, sizeof unit);
    unit[j] = 1;
    perp_blocks_M(B, unit, column);
    memset(column + nv, 0, (size_t)rows * sizeof *column);
    perp_blocks_J(B, -1, unit, column + nv);
    for (int i = 0; i < n; i++) {
      K[i + n * j] = column[i];
      if (i >= nv) K[j + n * i] = column[i];
    }
  }
  perp_model_forces(m, 0, q, v, rhs);
  perp_model_jdotv(m, 0, q, v, gamma);
  for (int i = 0; i < rows; i++) rhs[nv + i] = gamma[i];
  if (LAPACKE_dgesv(LAPACK_COL_MAJOR, n, 1, K, n, pivot, rhs, n) != 0)
    bail("dense system is singular");
  memcpy(a, rhs, (size_t)nv * sizeof *a);
}

/* ---- momenta ---- */

/* L = T - V at joint coordinates */
static double lagrangian(perp_reduced_tree *tree, const double *q, const double *u, double *T)
{
  double qm[NQ], vm[NV], V;
  perp_reduced_kinematics(tree, q, u);
  perp_reduced_to_model(tree, qm, vm);
  perp_model_energy(tree->model, 0, qm, vm, T, &V);
  return *T - V;
}

/* dq with q0 [+] dq = q1; of rods, whose spin perp_reduced_difference need not know, the shortest
 * way */
static void step_between(const perp_reduced_tree *tree, const double *q0, const double *q1,
                         double *dq)
{
  perp_reduced_difference(tree, q0, q1, dq);
  for (int i = 0; i < tree->n; i++) {
    const perp_reduced_node *k = &tree->node[i];
    if (k->kind != PERP_REDUCED_DISTANCE) continue;
    double R0[9], R1[9], n[3];
    perp_quat_matrix(q0 + k->iq, R0);
    perp_quat_matrix(q1 + k->iq, R1);
    perp_turn_back(3, R0, R1, n);
    const double across = hypot(n[1], n[2]), angle = atan2(across, n[0]);
    dq[k->iu] = -angle * n[2] / across;
    dq[k->iu + 1] = angle * n[1] / across;
  }
}

/* slope of a . step_between with one end moved along e */
static double step_slope(const perp_reduced_tree *tree, const double *a, const double *q0,
                         const double *q1, const double *e, bool end)
{
  const double h = 1e-5;
  double side[2] = { 0 };
  for (int s = 0; s < 2; s++) {
    double moved[8 * BODIES], step[NV], dq[NV];
    for (int i = 0; i < tree->nu; i++) step[i] = (s ? h : -h) * e[i];
    perp_reduced_retract(tree, end ? q1 : q0, step, moved);
    step_between(tree, end ? q0 : moved, end ? moved : q1, dq);
    for (int i = 0; i < tree->nu; i++) side[s] += a[i] * dq[i];
  }
  return (side[1] - side[0]) / (2 * h);
}

static double inner(int n, const double *a, const double *b)
{
  double s = 0;
  for (int i = 0; i < n; i++) s += a[i] * b[i];
  return s;
}

/* p is what T has as twice itself by u, and its inverse; dL/dq and the transport are slopes. */
static void check_momenta(perp_reduced_tree *tree, const double *q, const double *u,
                          const char *what)
{
  const perp_model *m = tree->model;
  const int nu = tree->nu;
  const double h = 1e-5;
  double qm[NQ], vm[NV], f[NV], p[NV], g[NV], back[NV], e[NV], step[NV], T, side[2];
  double q1[8 * BODIES], start[NV], end[NV];
  lagrangian(tree, q, u, &T);
  perp_reduced_to_model(tree, qm, vm);
  memset(vm, 0, sizeof vm); /* no gyroscopic torque; the forces do not depend on velocity */
  perp_model_forces(m, 0, qm, vm, f);
  perp_reduced_momentum(tree, u, f, p, g);
  near(inner(nu, p, u), 2 * T, 1e-13 * T, 0, "%s: p . u = 2 T", what);
  ok(perp_reduced_velocity(tree, p, back), "%s: momenta have velocities", what);
  for (int i = 0; i < nu; i++) back[i] -= u[i];
  below(norm(nu, back), 1e-10, "%s: u comes back from its momenta", what);

  random_vector(nu, e);
  for (int s = 0; s < 2; s++) {
    for (int i = 0; i < nu; i++) step[i] = (s ? h : -h) * e[i];
    perp_reduced_retract(tree, q, step, q1);
    side[s] = lagrangian(tree, q1, u, &T);
  }
  near(inner(nu, g, e), (side[1] - side[0]) / (2 * h), 1e-7 * (1 + norm(nu, g)) * nu, 0,
       "%s: dL/dq is a slope", what);

  random_vector(nu, step);
  perp_reduced_retract(tree, q, step, q1);
  step_between(tree, q, q1, step);
  perp_reduced_transport(tree, step, p, start, end);
  near(inner(nu, start, e), -step_slope(tree, p, q, q1, e, false), 1e-7 * norm(nu, p) * nu, 0,
       "%s: the momentum of a step at its start", what);
  near(inner(nu, end, e), step_slope(tree, p, q, q1, e, true), 1e-7 * norm(nu, p) * nu, 0,
       "%s: the momentum of a step at its end", what);
}

static void check_tree(perp_model *m, const char *what)
{
  perp_reduced_tree *tree;
  if (!ok(perp_reduced_create(&ctx, m, &tree) == PERP_OK, "%s: sorted into a tree", what)) {
    printf("# %s\n", ctx.msg);
    return;
  }
  const int nv = perp_model_nv(m), dim = perp_model_dim(m);
  double q[8 * BODIES], u[NV], du[NV], qm[NQ], vm[NV], q2[8 * BODIES], u2[NV], qm2[NQ], vm2[NV];
  ok(tree->nu == nv - perp_model_m(m), "%s: %d coordinates are left by %d rows", what, tree->nu,
     perp_model_m(m));

  /* the initial state comes back: 1e-12 covers 9 bodies and rotations in series */
  perp_reduced_from_model(tree, perp_model_q0(m), perp_model_v0(m), q, u);
  perp_reduced_kinematics(tree, q, u);
  perp_reduced_to_model(tree, qm, vm);
  below(distance(m, qm, perp_model_q0(m)), 1e-12, "%s: the initial state comes back", what);

  for (int trial = 0; trial < 3; trial++) {
    random_vector(tree->nu, du);
    random_vector(tree->nu, u);
    perp_reduced_retract(tree, q, du, q);
    perp_reduced_kinematics(tree, q, u);
    perp_reduced_to_model(tree, qm, vm);

    double C[ROWS], rate[ROWS] = { 0 };
    perp_model_error(m, 0, qm, C);
    perp_blocks_J(perp_model_assemble(m, 0, qm), 1, vm, rate);
    below(norm(perp_model_m(m), C), 1e-12, "%s: C = 0 at any coordinates", what);
    below(norm(perp_model_m(m), rate), 1e-11, "%s: J v = 0 at any rates", what);

    /* coordinates of that state give the same state: angles are free by full turns */
    perp_reduced_from_model(tree, qm, vm, q2, u2);
    for (int i = 0; i < tree->nu; i++) u2[i] -= u[i];
    if (dim == 2) below(norm(tree->nu, u2), 1e-11, "%s: rates come back", what);
    for (int i = 0; i < tree->nu; i++) u2[i] += u[i];
    perp_reduced_kinematics(tree, q2, u2);
    perp_reduced_to_model(tree, qm2, vm2);
    below(distance(m, qm, qm2), 1e-12, "%s: the state comes back", what);
    for (int i = 0; i < nv; i++) vm2[i] -= vm[i];
    below(norm(nv, vm2), 1e-11, "%s: the velocity comes back", what);

    /* accelerations: those of the joint coordinates give those of the dense system */
    double f[NV], udot[NV], a[NV], mine[NV];
    perp_reduced_kinematics(tree, q, u);
    perp_reduced_to_model(tree, qm, vm);
    perp_model_forces(m, 0, qm, vm, f);
    ok(perp_reduced_accelerate(tree, f, udot), "%s: solved", what);
    for (int i = 0; i < tree->n; i++) {
      const perp_reduced_node *k = &tree->node[i];
      double *ab = mine + k->body * (dim == 3 ? 6 : 3);
      for (int c = 0; c < dim; c++) ab[c] = k->a[3 + c];
      if (dim == 3)
        perp_turn_back(3, k->R, k->a, ab + 3);
      else
        ab[2] = k->a[2];
    }
    dense(m, qm, vm, a);
    double scale = fmax(1, norm(nv, a));
    for (int i = 0; i < nv; i++) mine[i] -= a[i];
    below(norm(nv, mine) / scale, 1e-10, "%s: accelerations agree with the dense system", what);

    /* zeta, S and udot are consistent with each other: differences of the velocity along the motion
     */
    const double h = 1e-4;
    double vp[NV], vn[NV], up[NV], step[NV];
    for (int side = -1; side <= 1; side += 2) {
      for (int i = 0; i < tree->nu; i++) {
        step[i] = side * h * u[i] + 0.5 * h * h * udot[i];
        up[i] = u[i] + side * h * udot[i];
      }
      perp_reduced_retract(tree, q, step, q2);
      perp_reduced_kinematics(tree, q2, up);
      perp_reduced_to_model(tree, qm2, side < 0 ? vn : vp);
    }
    for (int i = 0; i < nv; i++) mine[i] = (vp[i] - vn[i]) / (2 * h) - a[i];
    /* h^2 times third derivatives: a is of the order of 100, its derivatives grow by rates of a few
     * 1/s */
    below(norm(nv, mine) / scale, 2e-5, "%s: accelerations are the slope of the velocity", what);

    /* manifold: difference undoes retract, qdot is its slope */
    double q3[8 * BODIES], dq[NV], qdot[8 * BODIES];
    random_vector(tree->nu, du);
    perp_reduced_retract(tree, q, du, q2);
    perp_reduced_difference(tree, q, q2, dq);
    for (int i = 0; i < tree->nu; i++) dq[i] -= du[i];
    below(norm(tree->nu, dq), 1e-12, "%s: difference undoes retract", what);
    perp_reduced_qdot(tree, q, u, qdot);
    for (int i = 0; i < tree->nu; i++) du[i] = h * u[i];
    perp_reduced_retract(tree, q, du, q2);
    for (int i = 0; i < tree->nu; i++) du[i] = -h * u[i];
    perp_reduced_retract(tree, q, du, q3);
    for (int i = 0; i < tree->nq; i++) qdot[i] -= (q2[i] - q3[i]) / (2 * h);
    below(norm(tree->nq, qdot), 1e-7, "%s: qdot is the slope of retract", what);
    check_momenta(tree, q, u, what);
  }
  free(tree);
}

/* A double pendulum with rotors on its hinges: their inertia is in its momenta. */
static void rotors(void)
{
  perp_model *m;
  perp_reduced_tree *tree;
  if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
  for (int b = 0; b < 2; b++) {
    const perp_body_def body = { .mass = perp_mass_box(1, 0.2, 0.3, 0.8), .x = { 0, 0, -0.5 - b } };
    const perp_joint_def hinge = { .kind = PERP_JOINT_HINGE,
                                   .a = b - 1,
                                   .b = b,
                                   .anchor_a = { 0, 0, b == 0 ? 0 : -0.5 },
                                   .anchor_b = { 0, 0, 0.5 },
                                   .axis_a = { b, 1 },
                                   .axis_b = { b, 1 } };
    perp_armature_def rotor = { .axis = PERP_DRIVE_A, .inertia = 0.5 + b };
    if (perp_model_add_body(&ctx, m, &body, NULL) != PERP_OK ||
        perp_model_add_joint(&ctx, m, &hinge, &rotor.joint) != PERP_OK ||
        perp_model_add_armature(&ctx, m, &rotor, NULL) != PERP_OK)
      bail("%s", ctx.msg);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK || perp_reduced_create(&ctx, m, &tree) != PERP_OK)
    bail("%s", ctx.msg);
  double q[8 * BODIES], u[NV];
  random_vector(tree->nq, q);
  random_vector(tree->nu, u);
  ok(tree->nu == 2, "rotors: two coordinates");
  check_momenta(tree, q, u, "rotors");
  free(tree);
  perp_model_destroy(m);
}

static void refusals(void)
{
  perp_model *m;
  perp_reduced_tree *tree;
  /* a triangle of three links */
  perp_model_create(&ctx, 2, &m);
  for (int b = 0; b < 3; b++)
    perp_model_add_body(
        &ctx, m, &(perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x = { b, 0, 0 } }, NULL);
  for (int j = 0; j < 3; j++) {
    perp_joint_def def = { .name = j == 2 ? "last" : NULL,
                           .kind = PERP_JOINT_DISTANCE,
                           .a = j,
                           .b = (j + 1) % 3,
                           .length = j == 2 ? 2 : 1 };
    if (perp_model_add_joint(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  ok(perp_reduced_create(&ctx, m, &tree) == PERP_OK, "a loop is cut");
  ok(!tree->cut[0] && tree->cut[1] && !tree->cut[2] && tree->cut_rows == 1 && tree->nu == 7,
     "... where it is farthest from the root");
  free(tree);
  perp_model_destroy(m);

  perp_model_create(&ctx, 2, &m);
  perp_model_add_body(&ctx, m, &(perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .name = "bob" },
                      NULL);
  perp_joint_def soft = { .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0, .softness = 1e-3 };
  perp_model_add_joint(&ctx, m, &soft, NULL);
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  ok(perp_reduced_create(&ctx, m, &tree) == PERP_ERR_UNSUPPORTED, "a soft joint is refused: %s",
     ctx.msg);
  perp_model_destroy(m);

  /* the same joint twice is a loop, not a tree */
  perp_model_create(&ctx, 3, &m);
  perp_model_add_body(&ctx, m, &(perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .name = "bob" },
                      NULL);
  for (int i = 0; i < 2; i++)
    perp_model_add_joint(
        &ctx, m, &(perp_joint_def){ .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0 }, NULL);
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  ok(perp_reduced_create(&ctx, m, &tree) == PERP_OK, "the second one is cut");
  ok(!tree->cut[0] && tree->cut[1] && tree->cut_rows == 3, "... with its rows");
  free(tree);
  perp_model_destroy(m);
}

int main(void)
{
  static const char *const names[2][11] = {
    { "ball", "hinge", "slider", "fixed", "distance", "rectangular" },
    { "ball", "hinge", "universal", "slider", "fixed", "distance", "rectangular", "cartesian",
      "skew-hinges", "pin-slot", "chain" }
  };
  perp_ctx_init(&ctx);
  rng = perp_rng_create(2005);
  for (int dim = 2; dim <= 3; dim++) {
    for (int kind = 0; kind < (dim == 2 ? 6 : 11); kind++) {
      char what[80];
      snprintf(what, sizeof what, "%s tree, dim %d", names[dim - 2][kind], dim);
      perp_model *m = random_tree(dim, kind, false, kind % 2);
      check_tree(m, what);
      perp_model_destroy(m);
    }
    for (int k = 0; k < (dim == 2 ? 4 : 9); k++) {
      char what[80];
      snprintf(what, sizeof what, "mixed tree %d, dim %d", k, dim);
      perp_model *m = random_tree(dim, k, true, k % 3);
      check_tree(m, what);
      perp_model_destroy(m);
    }
  }
  rotors();
  refusals();
  perp_rng_destroy(rng);
  return tap_done();
}
