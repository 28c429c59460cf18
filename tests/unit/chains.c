/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chains of two to five slides and hinges between two bodies: rows against finite differences,
 * and motion with springs and armatures on their axes against Lagrange's equations in the
 * coordinates of the axes, integrated here. */
#include "tests/random_trees.h"
#include "tests/run_model.h"

static perp_ctx ctx;
static const double gravity = 9.81;

enum { AXES = PERP_CHAIN_AXES };

/* An axis of the chain in the world, in the initial state. */
typedef struct axis {
  bool slides;
  double n[3], p[3];
  perp_drive_axis name;
} axis;
typedef struct chain {
  perp_joint_kind kind;
  bool hinge_first;
  int n;
  axis axis[AXES];
  double stiffness[AXES], armature[AXES];
  double mass, inertia[9], x[3], R[9]; /* of body b at the start */
} chain;

static void normalized(double n[3])
{
  const double s = sqrt(perp_dot(3, n, n));
  for (int i = 0; i < 3; i++) n[i] /= s;
}

/* What of each axis, as a motion of the centre of b in metres and radians, is across those before:
 * the least share of its length. */
static double independent(const chain *c)
{
  double v[AXES][6], least = 1;
  for (int i = 0; i < c->n; i++) {
    double d[3], before = 0, after = 0;
    for (int k = 0; k < 3; k++) d[k] = c->x[k] - c->axis[i].p[k], v[i][3 + k] = c->axis[i].n[k];
    perp_cross(c->axis[i].n, d, v[i]);
    for (int k = 0; k < 3 && c->axis[i].slides; k++) v[i][k] = v[i][3 + k], v[i][3 + k] = 0;
    for (int k = 0; k < 6; k++) before += v[i][k] * v[i][k];
    for (int j = 0; j < i; j++) {
      double part = 0;
      for (int k = 0; k < 6; k++) part += v[i][k] * v[j][k];
      for (int k = 0; k < 6; k++) v[i][k] -= part * v[j][k];
    }
    for (int k = 0; k < 6; k++) after += v[i][k] * v[i][k];
    least = fmin(least, sqrt(after / before));
    for (int k = 0; k < 6; k++) v[i][k] /= sqrt(after);
  }
  return least;
}

/* Three to five axes, of which the variants take turns to have slides alone, one and two hinges
 * behind or before slides, hinges in one point, parallel hinges, and any. */
static void any_axes(perp_rng *rng, const perp_body_def *body, int variant, chain *c)
{
  static const char *const orders[] = { "SSH", "SHS",   "HSS",   "SSS",   "SHSS",  "SSSHH", "HSSHS",
                                        "HHH", "HHHH",  "HHHHH", "SHHH",  "HHHS",  "HSHS",  "SHH",
                                        "HHS", "SSHHH", "HHSHH", "HSHSH", "SHSHH", "HHHSS" };
  const char *order = orders[variant % 20];
  const bool parallel = variant % 7 == 0,
             one_point = variant % 3 == 1 && !parallel && variant != 16;
  do {
    double point[3], first[3] = { 0 };
    c->n = 0;
    for (int k = 0; k < 3; k++) point[k] = body->x[k] + perp_rng_uniform(rng, -0.4, 0.4);
    for (const char *s = order; *s != '\0'; s++) {
      axis *x = &c->axis[c->n++];
      tree_direction(rng, x->n);
      x->slides = *s == 'S';
      for (int k = 0; k < 3; k++)
        x->p[k] = one_point ? point[k] : body->x[k] + perp_rng_uniform(rng, -0.4, 0.4);
      if (x->slides || !parallel) continue;
      if (perp_dot(3, first, first) > 0) /* two hinges are parallel */
        memcpy(x->n, first, sizeof first);
      memcpy(first, perp_dot(3, first, first) > 0 ? (double[3]){ 0 } : x->n, sizeof first);
    }
  } while (independent(c) < 0.5);
}

static chain any_chain(perp_rng *rng, perp_model *m, int variant, int a, int b)
{
  static const perp_drive_axis names[] = { PERP_DRIVE_A, PERP_DRIVE_B, PERP_DRIVE_C, PERP_DRIVE_D,
                                           PERP_DRIVE_E };
  const perp_body_def *body = perp_model_body(m, b);
  chain c = { .kind = PERP_JOINT_CHAIN, .mass = body->mass.mass };
  memcpy(c.inertia, body->mass.inertia, sizeof c.inertia);
  memcpy(c.x, body->x, sizeof c.x);
  perp_quat_matrix(body->quat, c.R);
  any_axes(rng, body, variant, &c);
  perp_joint_def def = { .kind = PERP_JOINT_CHAIN, .a = a, .b = b, .n_axes = c.n };
  for (int i = 0; i < c.n; i++) {
    c.axis[i].name = names[i];
    def.axes[i].slides = c.axis[i].slides;
    tree_local(m, a, false, c.axis[i].n, def.axes[i].along);
    tree_local(m, a, true, c.axis[i].p, def.axes[i].at);
  }
  if (perp_model_add_joint(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
  return c;
}

/* A chain between bodies a (PERP_WORLD: the world) and b of the model; variant: parallel axes,
 * axes that meet, any. */
static chain pair_of(perp_rng *rng, perp_model *m, perp_joint_kind kind, int variant, int a, int b)
{
  chain c = { .kind = kind, .hinge_first = variant % 2 == 1, .n = 2 };
  double n[3][3], pa[3], pb[3], s[2];
  const perp_body_def *body = perp_model_body(m, b);
  for (int i = 0; i < 3; i++) tree_direction(rng, n[i]);
  for (int i = 0; i < 3; i++) pa[i] = body->x[i] + perp_rng_uniform(rng, -0.4, 0.4), pb[i] = pa[i];
  for (int i = 0; i < 2; i++) s[i] = perp_rng_uniform(rng, 0.1, 0.5);
  if (variant % 3 == 0 && (kind == PERP_JOINT_SKEW_HINGES || kind == PERP_JOINT_PIN_SLOT))
    memcpy(n[1], n[0], sizeof n[0]);
  if (kind == PERP_JOINT_PLANAR) { /* n[2] the normal */
    perp_cross(n[2], n[0], n[1]);
    normalized(n[1]);
    perp_cross(n[1], n[2], n[0]);
  }
  for (int i = 0; i < 3; i++) {
    if (kind == PERP_JOINT_RECTANGULAR || kind == PERP_JOINT_PLANAR)
      pb[i] += s[0] * n[0][i] + s[1] * n[1][i];
    if (kind == PERP_JOINT_CARTESIAN || (kind == PERP_JOINT_SKEW_HINGES && variant % 3 != 1))
      pb[i] += perp_rng_uniform(rng, 0.1, 0.4);
    if (kind == PERP_JOINT_PIN_SLOT) pb[i] += s[0] * n[c.hinge_first ? 1 : 0][i];
  }
  perp_joint_def def = { .kind = kind, .a = a, .b = b, .hinge_first = c.hinge_first };
  tree_local(m, a, true, pa, def.anchor_a);
  tree_local(m, b, true, pb, def.anchor_b);
  tree_local(m, a, false, n[kind == PERP_JOINT_PLANAR ? 2 : 0], def.axis_a);
  tree_local(m, b, false, n[kind == PERP_JOINT_PLANAR ? 2 : 1], def.axis_b);
  if (kind == PERP_JOINT_CARTESIAN) tree_local(m, b, false, n[2], def.axis_c);
  if (kind == PERP_JOINT_PLANAR) tree_local(m, a, false, n[0], def.axis_c);
  if (perp_model_add_joint(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
  if (kind == PERP_JOINT_CARTESIAN || kind == PERP_JOINT_PLANAR) c.n = 3;
  for (int i = 0; i < c.n; i++) {
    axis *x = &c.axis[i];
    memcpy(x->n, n[i], sizeof x->n);
    x->name = i == 0 ? PERP_DRIVE_A : i == 1 ? PERP_DRIVE_B : PERP_DRIVE_C;
    x->slides = kind == PERP_JOINT_RECTANGULAR || kind == PERP_JOINT_CARTESIAN ||
                (kind == PERP_JOINT_PIN_SLOT && (i == 0) != c.hinge_first) ||
                (kind == PERP_JOINT_PLANAR && i < 2);
    memcpy(x->p, i == 0 ? pa : pb, sizeof x->p);
    if (kind == PERP_JOINT_PLANAR)
      x->name = i == 0 ? PERP_DRIVE_ALONG : i == 1 ? PERP_DRIVE_ACROSS : PERP_DRIVE_A;
  }
  c.mass = body->mass.mass;
  memcpy(c.inertia, body->mass.inertia, sizeof c.inertia);
  memcpy(c.x, body->x, sizeof c.x);
  perp_quat_matrix(body->quat, c.R);
  return c;
}

static chain chain_of(perp_rng *rng, perp_model *m, perp_joint_kind kind, int variant, int a, int b)
{
  return kind == PERP_JOINT_CHAIN ? any_chain(rng, m, variant, a, b)
                                  : pair_of(rng, m, kind, variant, a, b);
}

/* ---- rows against finite differences ---- */

static void differences(perp_joint_kind kind, const char *name)
{
  const double h = 1e-6;
  perp_rng *rng = perp_rng_create(7 + (unsigned)kind);
  double worst_J = 0, worst_gamma = 0;
  for (int variant = 0; variant < 20; variant++) {
    perp_model *m = run_model(&ctx, 3);
    tree_body(&ctx, rng, m, 3);
    tree_body(&ctx, rng, m, 3);
    chain_of(rng, m, kind, variant, variant % 4 == 0 ? PERP_WORLD : 0, 1);
    run_finish(&ctx, m);
    double q[14], dq[12], v[12], J[6], C[2][6], end[14], rate[2][6] = { { 0 } }, gamma[6];
    const double off = kind == PERP_JOINT_CHAIN ? 0.1 : 0.3; /* m, rad: a chain has a reach */
    for (int i = 0; i < 12; i++)
      dq[i] = perp_rng_uniform(rng, -off, off), v[i] = perp_rng_uniform(rng, -1, 1);
    perp_model_retract(m, perp_model_q0(m), dq, q); /* off the joint, too */
    for (int k = 0; k < 12; k++) {
      double e[12] = { 0 };
      for (int s = 0; s < 2; s++) {
        e[k] = s == 0 ? h : -h;
        perp_model_retract(m, q, e, end);
        perp_model_error(m, 0, end, C[s]);
      }
      memset(e, 0, sizeof e);
      e[k] = 1;
      memset(J, 0, sizeof J);
      perp_blocks_J(perp_model_assemble(m, 0, q), 1, e, J);
      for (int i = 0; i < perp_model_m(m); i++)
        worst_J = fmax(worst_J, fabs((C[0][i] - C[1][i]) / (2 * h) - J[i]));
    }
    for (int s = 0; s < 2; s++) {
      double step[12];
      for (int i = 0; i < 12; i++) step[i] = (s == 0 ? h : -h) * v[i];
      perp_model_retract(m, q, step, end);
      perp_blocks_J(perp_model_assemble(m, 0, end), 1, v, rate[s]);
    }
    perp_model_jdotv(m, 0, q, v, gamma);
    for (int i = 0; i < perp_model_m(m); i++)
      worst_gamma = fmax(worst_gamma, fabs((rate[0][i] - rate[1][i]) / (2 * h) - gamma[i]));
    perp_model_destroy(m);
  }
  near(worst_J, 0, 1e-8, 0, "%s: J is the derivative of C", name);
  near(worst_gamma, 0, 1e-8, 0, "%s: Jdot v is that of J v", name);
  perp_rng_destroy(rng);
}

/* ---- Lagrange ---- */

static void rotation(const double n[3], double angle, double R[9])
{
  const double q[4] = { cos(angle / 2), sin(angle / 2) * n[0], sin(angle / 2) * n[1],
                        sin(angle / 2) * n[2] };
  perp_quat_matrix(q, R);
}

/* x and R of the body, and the columns (w, xdot) of its axes, in the world */
static void pose(const chain *c, const double *q, double x[3], double R[9], double S[AXES][6])
{
  memcpy(x, c->x, sizeof c->x);
  memcpy(R, c->R, sizeof c->R);
  for (int i = c->n - 1; i >= 0; i--) { /* the last axis first: those before carry it along */
    const axis *a = &c->axis[i];
    double T[9];
    for (int k = 0; k < 3 && a->slides; k++) x[k] += q[i] * a->n[k];
    if (!a->slides) {
      double d[3], y[3], out[9];
      rotation(a->n, q[i], T);
      for (int k = 0; k < 3; k++) d[k] = x[k] - a->p[k];
      perp_turn(3, T, d, y);
      for (int k = 0; k < 3; k++) x[k] = a->p[k] + y[k];
      for (int k = 0; k < 3; k++) perp_turn(3, T, R + 3 * k, out + 3 * k);
      memcpy(R, out, sizeof out);
    }
  }
  for (int i = 0; i < c->n; i++) {
    double n[3], p[3];
    memcpy(n, c->axis[i].n, sizeof n);
    memcpy(p, c->axis[i].p, sizeof p);
    for (int k = i - 1; k >= 0; k--) {
      const axis *a = &c->axis[k];
      double T[9], d[3], y[3];
      for (int l = 0; l < 3 && a->slides; l++) p[l] += q[k] * a->n[l];
      if (a->slides) continue;
      rotation(a->n, q[k], T);
      perp_turn(3, T, n, y);
      memcpy(n, y, sizeof n);
      for (int l = 0; l < 3; l++) d[l] = p[l] - a->p[l];
      perp_turn(3, T, d, y);
      for (int l = 0; l < 3; l++) p[l] = a->p[l] + y[l];
    }
    memset(S[i], 0, sizeof S[i]);
    if (c->axis[i].slides) {
      memcpy(S[i] + 3, n, sizeof n);
    } else {
      double d[3];
      for (int k = 0; k < 3; k++) d[k] = x[k] - p[k];
      memcpy(S[i], n, sizeof n);
      perp_cross(n, d, S[i] + 3);
    }
  }
}

static void inertia(const chain *c, const double *q, double M[AXES][AXES])
{
  double x[3], R[9], S[AXES][6], w[AXES][3];
  pose(c, q, x, R, S);
  for (int i = 0; i < c->n; i++) perp_turn_back(3, R, S[i], w[i]);
  for (int i = 0; i < c->n; i++)
    for (int j = 0; j < c->n; j++) {
      double L[3];
      for (int k = 0; k < 3; k++) L[k] = perp_dot(3, c->inertia + 3 * k, w[j]);
      M[i][j] = c->mass * perp_dot(3, S[i] + 3, S[j] + 3) + perp_dot(3, w[i], L) +
                (i == j ? c->armature[i] : 0);
    }
}

/* M q'' = -dV/dq + (dT/dq - Mdot q') */
static void acceleration(const chain *c, const double *q, const double *u, double *a)
{
  static const double weight[] = { 8.0 / 12, -1.0 / 12 };
  const double h = 1e-3;
  double M[AXES][AXES], D[AXES][AXES][AXES] = { { { 0 } } }, x[3], R[9], S[AXES][6], b[AXES];
  for (int k = 0; k < c->n; k++)
    for (int s = -2; s <= 2; s++) {
      double at[AXES];
      memcpy(at, q, sizeof at);
      if (s == 0) continue;
      at[k] += s * h;
      inertia(c, at, M);
      for (int i = 0; i < c->n; i++)
        for (int j = 0; j < c->n; j++)
          D[k][i][j] += (s > 0 ? 1 : -1) * weight[abs(s) - 1] * M[i][j] / h;
    }
  inertia(c, q, M);
  pose(c, q, x, R, S);
  for (int i = 0; i < c->n; i++) {
    b[i] = -c->mass * gravity * S[i][5] - c->stiffness[i] * q[i];
    for (int j = 0; j < c->n; j++)
      for (int k = 0; k < c->n; k++) b[i] += (0.5 * D[i][j][k] - D[k][i][j]) * u[j] * u[k];
  }
  for (int i = 0; i < c->n; i++) { /* elimination: M is positive definite */
    for (int j = i + 1; j < c->n; j++) {
      const double f = M[j][i] / M[i][i];
      for (int k = i; k < c->n; k++) M[j][k] -= f * M[i][k];
      b[j] -= f * b[i];
    }
  }
  for (int i = c->n - 1; i >= 0; i--) {
    a[i] = b[i];
    for (int k = i + 1; k < c->n; k++) a[i] -= M[i][k] * a[k];
    a[i] /= M[i][i];
  }
}

static void march(const chain *c, double t_end, int steps, double q[AXES])
{
  const double h = t_end / steps;
  double u[AXES] = { 0 };
  memset(q, 0, AXES * sizeof *q);
  for (int n = 0; n < steps; n++) {
    double kq[4][AXES], ku[4][AXES];
    for (int s = 0; s < 4; s++) {
      const double part = s == 0 ? 0 : s == 3 ? h : h / 2;
      double at[AXES] = { 0 };
      for (int i = 0; i < AXES; i++) {
        kq[s][i] = u[i] + (s > 0 ? part * ku[s - 1][i] : 0);
        at[i] = q[i] + (s > 0 ? part * kq[s - 1][i] : 0);
      }
      memset(ku[s], 0, sizeof ku[s]);
      acceleration(c, at, kq[s], ku[s]);
    }
    for (int i = 0; i < AXES; i++) {
      q[i] += h / 6 * (kq[0][i] + 2 * kq[1][i] + 2 * kq[2][i] + kq[3][i]);
      u[i] += h / 6 * (ku[0][i] + 2 * ku[1][i] + 2 * ku[2][i] + ku[3][i]);
    }
  }
}

/* What acts along the axes beside gravity. */
enum { NONE, ROTORS, BOTH, ACTING };

/* The motions of one kind are asked for by several formulations: marched once, unless t differs. */
static void marched(perp_joint_kind kind, int driven, int variant, const chain *c, double t,
                    double want[AXES])
{
  static struct {
    perp_joint_kind kind;
    double t, q[AXES];
  } all[ACTING][20];
  if (all[driven][variant].kind != kind || all[driven][variant].t != t) {
    all[driven][variant].kind = kind;
    all[driven][variant].t = t;
    march(c, t, 600, all[driven][variant].q);
  }
  memcpy(want, all[driven][variant].q, sizeof all[driven][variant].q);
}

/* allowed = 0: the error is returned */
static double motion(perp_joint_kind kind, const char *name, run_parts parts, double h,
                     double allowed, int driven)
{
  perp_rng *rng = perp_rng_create(3 + (unsigned)kind);
  double worst = 0, lost = 0, angle = 0;
  for (int variant = 0; variant < 20; variant++) {
    perp_model *m = run_model(&ctx, 3);
    double t, x[3], R[9], S[AXES][6], want[AXES], k, p, k0, p0;
    const double *q, *v;
    tree_body(&ctx, rng, m, 3);
    chain c = chain_of(rng, m, kind, variant, PERP_WORLD, 0);
    for (int i = 0; i < c.n; i++) {
      const double stiffness = perp_rng_uniform(rng, 5, 30),
                   rotor = perp_rng_uniform(rng, 0.1, 0.5);
      if (!driven) continue;
      if (driven == BOTH)
        run_drive(&ctx, m,
                  (perp_drive_def){ .axis = c.axis[i].name,
                                    .lower = -HUGE_VAL,
                                    .upper = HUGE_VAL,
                                    .stiffness = stiffness,
                                    .max_force = HUGE_VAL });
      c.stiffness[i] = driven == BOTH ? stiffness : 0;
      const perp_armature_def armature = { .axis = c.axis[i].name, .inertia = rotor };
      if (perp_model_add_armature(&ctx, m, &armature, NULL) != PERP_OK) bail("%s", ctx.msg);
      c.armature[i] = rotor;
    }
    run_finish(&ctx, m);
    perp_model_energy(m, 0, perp_model_q0(m), perp_model_v0(m), &k0, &p0);
    perp_sim *sim = run_start(&ctx, m, parts, h);
    /* a chain without masses in between comes to singular positions after a while */
    if (run_to(&ctx, sim, kind == PERP_JOINT_CHAIN ? 0.2 : 0.3) < 0)
      bail("%s: run %d stopped", name, variant);
    perp_sim_state(sim, &t, &q, &v);
    marched(kind, driven, variant, &c, t, want);
    pose(&c, want, x, R, S);
    for (int i = 0; i < 3; i++) worst = fmax(worst, fabs(q[i] - x[i]));
    perp_model_energy(m, t, q, v, &k, &p);
    lost = fmax(lost, fabs(k + p - k0 - p0));
    for (int i = 0; i < c.n && driven == BOTH; i++)
      angle = fmax(angle, fabs(perp_model_drive_coordinate(m, q, i) - want[i]));
    perp_sim_destroy(sim);
    perp_model_destroy(m);
  }
  perp_rng_destroy(rng);
  if (allowed == 0) return fmax(worst, angle);
  near(worst, 0, allowed, 0, "%s, %s: moves as Lagrange says%s", name, parts.formulation,
       driven == BOTH     ? ", with springs and armatures"
       : driven == ROTORS ? ", with armatures"
                          : "");
  near(angle, 0, allowed, 0, "%s, %s: coordinates of its axes", name, parts.formulation);
  near(lost, 0, 1e-7, 0, "%s, %s: energy", name, parts.formulation);
  return worst;
}

static void refusals(void)
{
  const perp_joint_def wrong[] = {
    { .kind = PERP_JOINT_RECTANGULAR, .axis_a = { 1 }, .axis_b = { -2 } },
    { .kind = PERP_JOINT_CARTESIAN, .axis_a = { 1 }, .axis_b = { 0, 1 }, .axis_c = { 1, 1 } },
    { .kind = PERP_JOINT_CARTESIAN, .axis_a = { 1 }, .axis_b = { 0, 1 } },
    { .kind = PERP_JOINT_SKEW_HINGES, .axis_a = { 1 }, .axis_b = { 1 }, .anchor_a = { 0.3 } },
    { .kind = PERP_JOINT_PIN_SLOT, .axis_a = { 1 } },
    { .kind = PERP_JOINT_CHAIN },
    { .kind = PERP_JOINT_CHAIN, .n_axes = 6 },
    { .kind = PERP_JOINT_CHAIN, .n_axes = 3, .axes = { { 1, { 1 } }, { 1, { 0, 1 } } } },
    { .kind = PERP_JOINT_CHAIN,
      .n_axes = 3,
      .axes = { { 0, { 1 } }, { 0, { 0, 1 }, { 0, 0, (double)NAN } }, { 0, { 0, 0, 1 } } } },
    { .kind = PERP_JOINT_CHAIN, /* three slides in a plane */
      .n_axes = 4,
      .axes = { { 1, { 1 } }, { 1, { 0, 1 } }, { 1, { 1, 1 } }, { 0, { 0, 0, 1 } } } },
    { .kind = PERP_JOINT_CHAIN, /* a stretched arm */
      .n_axes = 3,
      .axes = { { 0, { 0, 0, 1 } }, { 0, { 0, 0, 1 }, { 1 } }, { 0, { 0, 0, 1 }, { 2 } } } },
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    perp_model *m = run_model(&ctx, 3);
    run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1) });
    perp_joint_def def = wrong[i];
    def.a = PERP_WORLD;
    ok(perp_model_add_joint(&ctx, m, &def, NULL) == PERP_ERR_ARG, "refused: %s", ctx.msg);
    perp_model_destroy(m);
  }
}

/* Kinematic motors on all axes: each coordinate grows by its velocity, limits stop the first one.
 */
static void motors(run_parts parts)
{
  perp_rng *rng = perp_rng_create(5);
  double worst = 0, beyond = -HUGE_VAL;
  int units = 0;
  for (int variant = 0; variant < 20; variant++) {
    perp_model *m = run_model(&ctx, 3);
    double t, velocity[AXES];
    const double *q, *v;
    tree_body(&ctx, rng, m, 3);
    chain c = chain_of(rng, m, PERP_JOINT_CHAIN, variant, PERP_WORLD, 0);
    for (int i = 0; i < c.n; i++) {
      velocity[i] = perp_rng_uniform(rng, -0.5, 0.5);
      run_drive(&ctx, m,
                (perp_drive_def){ .axis = c.axis[i].name,
                                  .lower = -HUGE_VAL,
                                  .upper = HUGE_VAL,
                                  .zero = 0.1 * i,
                                  .velocity = velocity[i],
                                  .max_force = i == 0 ? 0.1 : HUGE_VAL });
    }
    run_drive(&ctx, m, (perp_drive_def){ .axis = c.axis[0].name, .lower = -0.02, .upper = 0.03 });
    run_finish(&ctx, m);
    for (int i = 0; i < c.n; i++) units += perp_model_drive_slides(m, i) != c.axis[i].slides;
    perp_sim *sim = run_start(&ctx, m, parts, 1e-3);
    if (run_to(&ctx, sim, 0.3) < 0) bail("motors: run %d stopped", variant);
    perp_sim_state(sim, &t, &q, &v);
    for (int i = 1; i < c.n; i++)
      worst = fmax(worst, fabs(perp_model_drive_coordinate(m, q, i) - 0.1 * i - velocity[i] * t));
    const double x = perp_model_drive_coordinate(m, q, c.n);
    beyond = fmax(beyond, fmax(x - 0.03, -0.02 - x));
    perp_sim_destroy(sim);
    perp_model_destroy(m);
  }
  perp_rng_destroy(rng);
  ok(units == 0, "axes of chains are lengths or angles as they should be");
  below(worst, 2e-3, "%s: motors move all axes of chains, %.1e", parts.formulation, worst);
  below(beyond, 1e-5, "%s: limits stop the first axis, %.1e", parts.formulation, beyond);
}

/* From the start again: every number is the same, as what a chain remembers is put back, too. */
static void again(run_parts parts)
{
  perp_rng *rng = perp_rng_create(11);
  int differ = 0;
  for (int variant = 0; variant < 20; variant++) {
    perp_model *m = run_model(&ctx, 3);
    double t, first[14];
    const double *q, *v;
    tree_body(&ctx, rng, m, 3);
    chain_of(rng, m, PERP_JOINT_CHAIN, variant, PERP_WORLD, 0);
    run_finish(&ctx, m);
    perp_sim *sim = run_start(&ctx, m, parts, 2e-3);
    for (int k = 0; k < 2; k++) {
      if (run_to(&ctx, sim, 0.2) < 0) bail("again: run %d stopped", variant);
      perp_sim_state(sim, &t, &q, &v);
      if (k == 0) memcpy(first, q, 7 * sizeof *q), memcpy(first + 7, v, 6 * sizeof *v);
      differ += k == 1 &&
                (memcmp(first, q, 7 * sizeof *q) != 0 || memcmp(first + 7, v, 6 * sizeof *v) != 0);
      if (k == 0 && perp_sim_restart(&ctx, sim, 0, perp_model_q0(m), perp_model_v0(m)) != PERP_OK)
        bail("%s", ctx.msg);
    }
    perp_sim_destroy(sim);
    perp_model_destroy(m);
  }
  perp_rng_destroy(rng);
  ok(differ == 0, "%s: chains from the start again have the same bits", parts.formulation);
}

/* A hand on three parallel hinges moves straight until the arm is stretched: it is not told where
 * it would be then, but why there is no such motion. */
static void stretched(const char *formulation, const char *ode, const char *stab)
{
  perp_model *m = run_model(&ctx, 3);
  run_body(&ctx, m,
           (perp_body_def){ .mass = perp_mass_box(1, 0.1, 0.2, 0.3), .x = { 0.6 }, .v = { 0.2 } });
  perp_joint_def def = {
    .kind = PERP_JOINT_CHAIN,
    .name = "arm",
    .a = PERP_WORLD,
    .n_axes = 3,
    .axes = { { 0, { 0, 0, 1 } }, { 0, { 0, 0, 1 }, { 0.3, 0.4 } }, { 0, { 0, 0, 1 }, { 0.6 } } }
  };
  if (perp_model_add_joint(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
  const perp_drive_def beyond = { .axis = PERP_DRIVE_D, .lower = -1, .upper = 1 };
  ok(perp_model_add_drive(&ctx, m, &beyond, NULL) == PERP_ERR_UNSUPPORTED, "refused: %s", ctx.msg);
  run_finish(&ctx, m);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ formulation, ode, .stab = stab }, 1e-3);
  perp_step_info info = { .reason = PERP_EXACT };
  double t = 0;
  const double *q, *v;
  while (t < 3 && info.reason >= 0) {
    if (perp_sim_step(&ctx, sim, 3, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
  }
  ok(info.reason < 0 && fabs(t - 2) < 0.01, "%s: stopped where the arm is stretched, at %g s",
     formulation, t);
  ok(info.cause != NULL && strstr(info.cause, "'arm'") != NULL &&
         strstr(info.cause, "dependent") != NULL,
     "%s: %s", formulation, info.cause != NULL ? info.cause : "no cause is told");
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

int main(void)
{
  static const struct {
    perp_joint_kind kind;
    const char *name;
  } kinds[] = { { PERP_JOINT_RECTANGULAR, "rectangular" }, { PERP_JOINT_CARTESIAN, "cartesian" },
                { PERP_JOINT_SKEW_HINGES, "skew-hinges" }, { PERP_JOINT_PIN_SLOT, "pin-slot" },
                { PERP_JOINT_PLANAR, "planar" },           { PERP_JOINT_CHAIN, "chain" } };
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    differences(kinds[i].kind, kinds[i].name);
    motion(kinds[i].kind, kinds[i].name, (run_parts){ "acceleration", "rk4", .stab = "post" }, 5e-4,
           1e-9, BOTH);
    motion(kinds[i].kind, kinds[i].name, (run_parts){ "acceleration", "rk4", .stab = "post" }, 5e-4,
           1e-9, NONE);
    motion(kinds[i].kind, kinds[i].name, (run_parts){ "reduced", "rk4" }, 2.5e-4, 1e-9, NONE);
    if (kinds[i].kind != PERP_JOINT_PLANAR) /* no armature on its coordinates */
      motion(kinds[i].kind, kinds[i].name, (run_parts){ "reduced", "rk4" }, 2.5e-4, 1e-9, ROTORS);
    const run_parts first_order = { "velocity", .stab = "post" };
    const double coarse = motion(kinds[i].kind, kinds[i].name, first_order, 5e-4, 0, BOTH),
                 fine = motion(kinds[i].kind, kinds[i].name, first_order, 2.5e-4, 0, BOTH);
    near(fine / coarse, 0.5, 0.05, 0, "%s, velocity: the error %.1e halves with the step",
         kinds[i].name, coarse);
    if (kinds[i].kind == PERP_JOINT_PLANAR) continue;
    const run_parts steps = { "reduced", "symplectic-euler" };
    const double large = motion(kinds[i].kind, kinds[i].name, steps, 5e-4, 0, BOTH),
                 small = motion(kinds[i].kind, kinds[i].name, steps, 2.5e-4, 0, BOTH);
    near(small / large, 0.5, 0.05, 0, "%s, steps of reduced: the error %.1e halves with the step",
         kinds[i].name, large);
  }
  refusals();
  again((run_parts){ "acceleration", "rk4", .stab = "post" });
  again((run_parts){ "velocity", .stab = "post" });
  again((run_parts){ "reduced", "rk4" });
  motors((run_parts){ "velocity", .stab = "post" });
  motors((run_parts){ "reduced", "symplectic-euler" });
  stretched("acceleration", "rk4", "post");
  stretched("reduced", "rk4", NULL);
  stretched("velocity", NULL, "post");
  return tap_done();
}
