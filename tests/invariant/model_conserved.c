/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What motion keeps: energy and angular momentum of a free body, momenta of a free chain, energy
 * of mechanisms with every kind of joint, constraints; planar motion in space and in the plane;
 * closed forms of sliding and spinning; both levels agreeing as h -> 0. */
#include "experiments/scenes/scene_file.h"
#include "tests/run_model.h"

static perp_ctx ctx;

static double norm3(const double a[3], const double b[3])
{
  return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
              (a[2] - b[2]) * (a[2] - b[2]));
}

typedef struct drift {
  double E, L, absL, P, C; /* the first three relative, C in metres */
} drift;

/* the largest change against the start over the run */
static drift run_drift(perp_model *model, run_parts parts, double h, double t_end)
{
  perp_sim *sim = run_start(&ctx, model, parts, h);
  drift d = { 0, 0, 0, 0, 0 };
  perp_step_info info;
  double t, T, V, E0, P0[3], L0[3], P[3], L[3], zero[3] = { 0 }, C[64];
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  perp_model_energy(model, t, q, v, &T, &V);
  perp_model_momentum(model, q, v, P0, L0);
  E0 = T + V;
  double scale = fabs(T) + fabs(V), length = norm3(L0, zero);
  while (t < t_end) {
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK || info.reason < 0)
      bail("%s %s: %s at %g s", parts.formulation, parts.ode, perp_reason_name(info.reason), t);
    perp_sim_state(sim, &t, &q, &v);
    perp_model_energy(model, t, q, v, &T, &V);
    perp_model_momentum(model, q, v, P, L);
    scale = fmax(scale, fabs(T) + fabs(V));
    d.E = fmax(d.E, fabs(T + V - E0));
    d.P = fmax(d.P, norm3(P, P0));
    d.L = fmax(d.L, norm3(L, L0));
    d.absL = fmax(d.absL, fabs(norm3(L, zero) - length));
    perp_model_error(model, t, q, C);
    for (int i = 0; i < perp_model_m(model); i++) d.C = fmax(d.C, fabs(C[i]));
  }
  perp_sim_destroy(sim);
  d.E /= scale;
  d.L /= length > 0 ? length : 1;
  d.absL /= length > 0 ? length : 1;
  return d;
}

static perp_model *spinning(void)
{
  perp_model *m = run_model(&ctx, 3);
  perp_model_gravity(m, 0);
  run_body(&ctx, m,
           (perp_body_def){ .mass = { 1, { 1, 0, 0, 0, 2, 0, 0, 0, 2.5 } },
                            .quat = { 1, 0.3, -0.2, 0.5 },
                            .v = { 1, -2, 0.5 },
                            .w = { 0.4, 3, 0.6 } });
  return run_finish(&ctx, m);
}

static void free_body(void)
{
  static const struct {
    const char *ode;
    double order;
  } methods[] = { { "midpoint", 2 }, { "rk4", 4 }, { "dopri5", 5 } };
  perp_model *m = spinning();
  for (int i = 0; i < 3; i++) {
    run_parts p = { "acceleration", methods[i].ode, "", "" };
    drift a = run_drift(m, p, 1.0 / 64, 4), b = run_drift(m, p, 1.0 / 128, 4);
    /* a conserved quantity may do better than the trajectory, never worse */
    ok(log2(a.E / b.E) > methods[i].order - 0.2,
       "free body, %s: energy drift of order %g or more: %.2f", p.ode, methods[i].order,
       log2(a.E / b.E));
    ok(log2(a.L / b.L) > methods[i].order - 0.2, "free body, %s: L drift of order %g or more: %.2f",
       p.ode, methods[i].order, log2(a.L / b.L));
    below(a.P, 1e-12, "free body, %s: P is constant", p.ode);
    p.formulation = "acceleration:state=momentum";
    a = run_drift(m, p, 1.0 / 64, 4), b = run_drift(m, p, 1.0 / 128, 4);
    below(a.L, 1e-15 * 4, "momentum form, %s: L is exact but for its conversion from v", p.ode);
    below(a.P, 1e-15 * 4, "momentum form, %s: P is exact", p.ode);
    ok(log2(a.E / b.E) > methods[i].order - 0.2,
       "momentum form, %s: energy drift of order %g or more: %.2f", p.ode, methods[i].order,
       log2(a.E / b.E));
  }
  /* quadratic invariants in the body frame: energy and |I w|; 400 steps of rounding */
  drift d = run_drift(m, (run_parts){ "acceleration", "implicit-midpoint", "", "" }, 0.01, 4);
  below(d.E, 1e-13, "free body, implicit-midpoint: energy to round-off");
  below(d.absL, 1e-13, "free body, implicit-midpoint: |L| to round-off");
  perp_model_destroy(m);
}

/* a free chain without gravity: internal forces only */
static void free_chain(void)
{
  for (int dim = 3; dim >= 2; dim--) {
    perp_model *m = run_model(&ctx, dim);
    perp_model_gravity(m, 0);
    for (int i = 0; i < 4; i++) {
      perp_body_def link = { .mass = perp_mass_box(1 + i, 0.1, 0.02, 0.03), .x[0] = 0.1 * i };
      /* rigid rotation about the origin about a skew axis plus a translation */
      double w[3] = { dim == 3 ? 2 : 0, dim == 3 ? 3 : 0, 5 };
      link.v[0] = 0.3;
      link.v[1] = w[2] * link.x[0];
      link.v[2] = dim == 3 ? -w[1] * link.x[0] : 0;
      for (int k = 0; k < 3; k++) link.w[k] = w[k];
      run_body(&ctx, m, link);
      if (i > 0)
        run_joint(&ctx, m,
                  (perp_joint_def){ .kind = PERP_JOINT_BALL,
                                    .a = i - 1,
                                    .b = i,
                                    .anchor_a[0] = 0.05,
                                    .anchor_b[0] = -0.05 });
    }
    run_finish(&ctx, m);
    drift d = run_drift(m, (run_parts){ "acceleration", "rk4", "schur-dense", "none" }, 1e-3, 0.3);
    below(d.P, 1e-12, "dim %d, free chain, rk4: P to rounding", dim);
    below(d.L, 1e-8, "dim %d, free chain, rk4: L to h^4", dim);
    below(d.E, 1e-8, "dim %d, free chain, rk4: energy to h^4", dim);
    d = run_drift(m, (run_parts){ "acceleration:state=momentum", "rk4", "tree", "none" }, 1e-3,
                  0.3);
    below(d.P, 1e-12, "dim %d, free chain, momentum form: P to rounding", dim);
    d = run_drift(m, (run_parts){ "velocity", "symplectic-euler", "tree", "none" }, 1e-3, 0.3);
    below(d.P, 1e-12, "dim %d, free chain, velocity level: P to rounding", dim);
    d = run_drift(m, (run_parts){ "acceleration", "rk4", "tree", "post:velocity=true" }, 1e-3, 0.3);
    below(d.P, 1e-12, "dim %d, free chain: post-stabilization keeps P", dim);
    below(d.L, 1e-8, "dim %d, free chain: ... and L", dim);
    below(d.C, 1e-12, "dim %d, free chain: ... and holds the joints", dim);
    perp_model_destroy(m);
  }
}

/* Each kind of joint carries a swinging body: ideal joints do no work. */
static void mechanisms(void)
{
  static const struct {
    perp_joint_kind kind;
    const char *name;
    bool plane;
  } kinds[] = { { PERP_JOINT_BALL, "ball", true },
                { PERP_JOINT_HINGE, "hinge", true },
                { PERP_JOINT_UNIVERSAL, "universal", false },
                { PERP_JOINT_SLIDER, "slider", true },
                { PERP_JOINT_FIXED, "fixed", true },
                { PERP_JOINT_DISTANCE, "distance", true } };
  for (int dim = 3; dim >= 2; dim--)
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      if (dim == 2 && !kinds[k].plane) continue;
      perp_model *m = run_model(&ctx, dim);
      perp_body_def arm = { .mass = perp_mass_box(1, 0.3, 0.2, 0.1), .x[0] = 0.15 };
      int a = run_body(&ctx, m, arm);
      arm.x[0] = 0.45;
      int b = run_body(&ctx, m, arm);
      run_joint(&ctx, m,
                (perp_joint_def){
                    .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = a, .anchor_b[0] = -0.15 });
      perp_joint_def j = { .kind = kinds[k].kind,
                           .a = a,
                           .b = b,
                           .anchor_a[0] = 0.15,
                           .anchor_b[0] = -0.15,
                           .axis_a = { 0.3, 1, 0.2 },
                           .axis_b = { 0.3, 1, 0.2 } };
      if (j.kind == PERP_JOINT_UNIVERSAL) j.axis_b[0] = 1, j.axis_b[1] = -0.3, j.axis_b[2] = 0;
      if (j.kind == PERP_JOINT_DISTANCE) {
        j.length = 0.3;
        j.anchor_a[0] = 0, j.anchor_b[0] = 0;
      }
      run_joint(&ctx, m, j);
      run_finish(&ctx, m);
      run_parts p = { "acceleration", "rk4", "schur-dense", "none" };
      drift x = run_drift(m, p, 1e-3, 0.5), y = run_drift(m, p, 5e-4, 0.5);
      below(x.E, 1e-8, "dim %d, %s: energy is kept", dim, kinds[k].name);
      below(x.C, 1e-8, "dim %d, %s: the joints hold", dim, kinds[k].name);
      /* both to order 4 unless rounding is all there is */
      ok(log2(x.C / y.C) > 3.5 || y.C < 1e-13, "dim %d, %s: their error is of order 4: %.2g, %.2g",
         dim, kinds[k].name, x.C, y.C);
      p.stab = "post:velocity=true";
      x = run_drift(m, p, 1e-3, 0.5);
      ok(x.C < 1e-11 && x.E < 1e-8, "dim %d, %s: post-stabilized: |C| %.2g, energy %.2g", dim,
         kinds[k].name, x.C, x.E);
      p = (run_parts){ "velocity", "symplectic-euler", "tree", "baumgarte" };
      x = run_drift(m, p, 1e-3, 0.5), y = run_drift(m, p, 5e-4, 0.5);
      ok(x.E < 0.05 && y.E < 0.55 * x.E,
         "dim %d, %s: velocity level, energy of order 1: %.2g, %.2g", dim, kinds[k].name, x.E, y.E);
      ok(x.C < 1e-3 && y.C < 0.3 * x.C + 1e-12,
         "dim %d, %s: full feedback, drift of order 2: %.2g, %.2g", dim, kinds[k].name, x.C, y.C);
      perp_model_destroy(m);
    }
}

/* The chain swings in a plane: ball joints and hinges in space, joints in the plane all give one
 * motion. */
static void one_motion(void)
{
  enum { N = 3 };
  double q[3][7 * N], worst = 0;
  perp_model *m[3] = { run_chain(&ctx, 2, N, PERP_JOINT_BALL, false),
                       run_chain(&ctx, 3, N, PERP_JOINT_BALL, false),
                       run_chain(&ctx, 3, N, PERP_JOINT_HINGE, false) };
  for (int i = 0; i < 3; i++)
    run_fresh(&ctx, m[i], (run_parts){ "acceleration", "dopri5", "tree", "none" }, 1e-3, 0.3, q[i],
              NULL);
  for (int b = 0; b < N; b++) {
    double x = q[0][3 * b], y = q[0][3 * b + 1];
    for (int i = 1; i < 3; i++) {
      const double *s = q[i] + 7 * b;
      worst = fmax(worst, fmax(fabs(s[0] - x), fmax(fabs(s[1]), fabs(s[2] - y))));
      /* turned by the angle about -y, which takes x to z */
      worst = fmax(worst, fabs(s[3] - cos(q[0][3 * b + 2] / 2)));
      worst = fmax(worst, fabs(s[5] + sin(q[0][3 * b + 2] / 2)));
    }
  }
  /* quaternions and angles are different numbers under the integrator: h^5 */
  below(worst, 1e-10, "planar motion: the plane, ball joints and hinges in space agree");
  for (int i = 0; i < 3; i++) perp_model_destroy(m[i]);
}

/* a body on an inclined rail: a = g sin(slope) with no turning */
static void incline(void)
{
  for (int dim = 3; dim >= 2; dim--) {
    double slope = 0.5, q[7], v[6];
    perp_model *m = run_model(&ctx, dim);
    perp_body_def box = { .mass = perp_mass_box(3, 0.3, 0.2, 0.1),
                          .angle = 1,
                          .quat = { 1, 2, 3, 4 } };
    int b = run_body(&ctx, m, box);
    perp_joint_def rail = { .kind = PERP_JOINT_SLIDER, .a = PERP_WORLD, .b = b };
    rail.axis_a[0] = cos(slope), rail.axis_a[dim - 1] = -sin(slope);
    run_joint(&ctx, m, rail);
    run_finish(&ctx, m);
    run_fresh(&ctx, m, (run_parts){ "acceleration", "rk4", "schur-dense", "none" }, 0.01, 1, q, v);
    near(q[0], 0.5 * 9.81 * sin(slope) * cos(slope), 1e-12, 0, "dim %d: slides down the incline",
         dim);
    near(v[dim - 1], -9.81 * sin(slope) * sin(slope), 1e-12, 0, "dim %d: at its speed", dim);
    double R[9], R0[9], worst = 0;
    perp_model_rotation(m, q, b, R);
    perp_model_rotation(m, perp_model_q0(m), b, R0);
    for (int i = 0; i < 9; i++) worst = fmax(worst, fabs(R[i] - R0[i]));
    below(worst, 1e-12, "dim %d: does not turn", dim);
    perp_model_destroy(m);
  }
}

/* the velocity level tends to the acceleration level: error halves with h */
static void levels(void)
{
  enum { N = 4 };
  double want[7 * N], got[7 * N], v[6 * N], e[2];
  perp_model *m = run_chain(&ctx, 3, N, PERP_JOINT_BALL, false);
  run_fresh(&ctx, m, (run_parts){ "acceleration", "dopri5", "tree", "none" }, 1.0 / 4096, 0.25,
            want, v);
  static const char *const odes[] = { "euler", "symplectic-euler" };
  static const char *const stabs[] = { "none", "baumgarte", "post", "post:velocity=true" };
  for (int o = 0; o < 2; o++)
    for (int s = 0; s < 4; s++) {
      for (int k = 0; k < 2; k++) {
        run_fresh(&ctx, m, (run_parts){ "velocity", odes[o], "tree", stabs[s] },
                  k == 0 ? 1.0 / 8192 : 1.0 / 16384, 0.25, got, v);
        e[k] = 0;
        for (int i = 0; i < 7 * N; i++) e[k] = fmax(e[k], fabs(got[i] - want[i]));
      }
      near(e[0] / e[1], 2, 0.2, 0, "%s, %s: tends to the acceleration level: %.2g, %.2g", odes[o],
           stabs[s], e[0], e[1]);
    }
  perp_model_destroy(m);
}

/* A parallelogram of three bars with a ground link swings as a pendulum.  In space its four
 * hinges carry three redundant rows; in the plane none.  Both move alike and keep their energy. */
static perp_model *four_bar(int dim)
{
  perp_model *m = run_model(&ctx, dim);
  static const double x[3][2] = { { 0, -0.2 }, { 0.3, -0.4 }, { 0.6, -0.2 } };
  static const double corner[4][2] = { { 0, 0 }, { 0, -0.4 }, { 0.6, -0.4 }, { 0.6, 0 } };
  int up = dim - 1;
  for (int i = 0; i < 3; i++) {
    perp_body_def bar = { .mass = perp_mass_box(1, i == 1 ? 0.6 : 0.05, 0.05,
                                                i == 1 ? 0.05 : 0.4) };
    if (dim == 2) bar.mass.inertia[8] = bar.mass.inertia[4];
    bar.x[0] = x[i][0], bar.x[up] = x[i][1];
    /* cranks turn about their upper ends, the coupler moves along a circle */
    bar.v[0] = i == 1 ? 2 * 0.4 : 2 * 0.2;
    if (i != 1) bar.w[dim == 3 ? 1 : 2] = dim == 3 ? -2 : 2;
    run_body(&ctx, m, bar);
  }
  for (int i = 0; i < 4; i++) {
    perp_joint_def j = { .kind = PERP_JOINT_HINGE,
                         .a = i == 0 ? PERP_WORLD : i - 1,
                         .b = i == 3 ? PERP_WORLD : i,
                         .axis_a[1] = 1,
                         .axis_b[1] = 1 };
    for (int k = 0; k < 2; k++) {
      int axis = k == 0 ? 0 : up;
      j.anchor_a[axis] = corner[i][k] - (j.a < 0 ? 0 : x[j.a][k]);
      j.anchor_b[axis] = corner[i][k] - (j.b < 0 ? 0 : x[j.b][k]);
    }
    run_joint(&ctx, m, j);
  }
  return run_finish(&ctx, m);
}

static void loops(void)
{
  static const char *const kkts[] = { "schur-dense", "tree" };
  for (int i = 0; i < 2; i++) {
    double q[2][21], worst = 0;
    for (int dim = 2; dim <= 3; dim++) {
      perp_model *m = four_bar(dim);
      run_parts p = { "acceleration", "rk4", kkts[i], "post:velocity=true" };
      drift d = run_drift(m, p, 1e-3, 1);
      ok(d.E < 1e-8 && d.C < 1e-11, "dim %d, four-bar, %s: energy %.2g, |C| %.2g", dim, kkts[i],
         d.E, d.C);
      run_fresh(&ctx, m, p, 1e-3, 1, q[dim - 2], NULL);
      perp_model_destroy(m);
    }
    for (int b = 0; b < 3; b++)
      worst = fmax(worst,
                   fmax(fabs(q[0][3 * b] - q[1][7 * b]), fabs(q[0][3 * b + 1] - q[1][7 * b + 2])));
    below(worst, 1e-8, "four-bar, %s: redundant hinges in space move as in the plane", kkts[i]);
  }
}

/* A body held at its centre by a soft ball joint: m a = -m g + lambda, a + S lambda = 0, hence
 * lambda = m g / (1 + m S) and a = -g m S / (1 + m S). */
static void softness(void)
{
  double mass = 3, S = 0.5;
  static const char *const kkts[] = { "schur-dense", "tree" };
  for (int i = 0; i < 2; i++) {
    perp_model *m = run_model(&ctx, 3);
    run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_sphere(mass, 0.1) });
    run_joint(&ctx, m,
              (perp_joint_def){ .kind = PERP_JOINT_BALL, .a = 0, .b = PERP_WORLD, .softness = S });
    run_finish(&ctx, m);
    perp_sim *sim = run_start(&ctx, m, (run_parts){ "acceleration", "euler", kkts[i], "none" },
                              0.01);
    perp_step_info info;
    double t;
    const double *q, *v;
    perp_sim_step(&ctx, sim, 1, &info);
    perp_sim_state(sim, &t, &q, &v);
    /* C = p_b - p_a with the body on side a: lambda is the force on the world */
    near(info.lambda[2], -mass * 9.81 / (1 + mass * S), 0, 1e-13, "soft joint, %s: force", kkts[i]);
    near(v[2] / t, -9.81 * mass * S / (1 + mass * S), 0, 1e-13, "soft joint, %s: it gives way",
         kkts[i]);
    perp_sim_destroy(sim);
    perp_model_destroy(m);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  free_body();
  free_chain();
  mechanisms();
  one_motion();
  incline();
  levels();
  loops();
  softness();
  return tap_done();
}
