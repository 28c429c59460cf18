/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What holds in every step with contacts, whatever the parts: joints and contacts are satisfied
 * together, impulses push and stay in their cone, momentum is exchanged and not made, energy does
 * not grow. Islands on two threads give the numbers of one; steps allocate nothing. */
#include "models/stepping/constrained.h"
#include "tests/run_model.h"

#include "tests/count_malloc.h" /* last: looks for the C library */

static perp_ctx ctx;
static const double h = 1.0 / 240;

static void shape(perp_model *model, int body, perp_shape_kind kind, const double half[3],
                  double radius, double e)
{
  perp_shape_def def = { .kind = kind,
                         .body = body,
                         .radius = radius,
                         .surface = { .mu = 0.5, .mu_dynamic = 0.4, .restitution = e } };
  if (half != NULL) memcpy(def.half, half, sizeof def.half);
  run_shape(&ctx, model, def);
}

/* a chain of bars falling on the ground, in space or in the plane */
static perp_model *chain(int dim, double e)
{
  static const double half[3] = { 0.2, 0.05, 0.04 };
  perp_model *model = run_model(&ctx, dim);
  shape(model, PERP_WORLD, PERP_SHAPE_PLANE, NULL, 0, e);
  for (int i = 0; i < 4; i++) {
    perp_body_def bar = { .mass = perp_mass_box(1 + i, 0.4, 0.1, 0.08),
                          .x = { 0.5 * i, dim == 2 ? 0.2 : 0, 0.2 },
                          .v = { 1, dim == 2 ? -1 : 0, dim == 3 ? -1 : 0 } };
    run_body(&ctx, model, bar);
    shape(model, i, PERP_SHAPE_BOX, half, 0, e);
    if (i == 0) continue;
    perp_joint_def joint = {
      .kind = PERP_JOINT_BALL, .a = i - 1, .b = i, .anchor_a[0] = 0.25, .anchor_b[0] = -0.25
    };
    run_joint(&ctx, model, joint);
  }
  return run_finish(&ctx, model);
}

typedef struct worst {
  double joint, open, pull, cone;
  int64_t unsolved; /* problems */
} worst;

/* one run: the largest violation of each condition over the steps */
static worst follow(perp_model *model, run_parts parts, int steps, double cone)
{
  int nq = perp_model_nq(model), m = perp_model_m(model), dim = perp_model_dim(model);
  worst w = { 0 };
  double t, *before = calloc((size_t)nq, sizeof *before), Jv[64];
  const double *q, *v;
  perp_step_info info;
  perp_sim *sim = run_start(&ctx, model, parts, h);
  if (before == NULL || m > 64) bail("too large");
  for (int k = 0; k < steps; k++) {
    perp_sim_state(sim, &t, &q, &v);
    memcpy(before, q, (size_t)nq * sizeof *before);
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s, %s: step %d: %s %s", parts.lcp, parts.contact, k, perp_reason_name(info.reason),
           ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    memset(Jv, 0, sizeof Jv);
    const perp_blocks *B = perp_model_assemble(model, t, before);
    perp_blocks_J(B, 1, v, Jv);
    for (int i = 0; i < m; i++) w.joint = fmax(w.joint, fabs(Jv[i]));
    for (int i = 0; i < info.n_contacts; i++) {
      const perp_contact *x = &info.contacts[i];
      const double *P = info.impulse + 3 * i;
      double n = 0, u = 0, tangent = 0, ua[3], ub[3], p[3], la[3] = { 0 }, lb[3] = { 0 };
      for (int l = 0; l < 3; l++) p[l] = 0.5 * (x->p[0][l] + x->p[1][l]);
      for (int side = 0; side < 2; side++) { /* the point in each body's frame */
        int body = side == 0 ? x->body[0] : x->body[1];
        double R[9], r[3], centre[3], *s = side == 0 ? la : lb;
        perp_model_rotation(model, before, body, R);
        perp_model_point(model, before, body, (const double[3]){ 0 }, centre);
        for (int l = 0; l < 3; l++) r[l] = body < 0 ? p[l] : p[l] - centre[l];
        for (int l = 0; l < 3; l++)
          s[l] = R[3 * l] * r[0] + R[3 * l + 1] * r[1] + R[3 * l + 2] * r[2];
      }
      perp_model_point_velocity(model, before, v, x->body[0], la, ua);
      perp_model_point_velocity(model, before, v, x->body[1], lb, ub);
      for (int l = 0; l < dim; l++) {
        n += P[l] * x->n[l];
        u += (ub[l] - ua[l]) * x->n[l];
      }
      for (int l = 0; l < dim; l++) tangent += pow(P[l] - n * x->n[l], 2);
      w.pull = fmax(w.pull, -n);
      w.open = fmax(w.open, -(fmax(x->gap, 0) + h * u)); /* closes further than its gap */
      w.cone = fmax(w.cone, sqrt(tangent) - cone * x->mu * n);
    }
  }
  w.unsolved = perp_sim_contacts(sim)->failures;
  perp_sim_destroy(sim);
  free(before);
  return w;
}

static void test_conditions(void)
{
  static const struct {
    run_parts parts;
    double cone; /* the friction set reaches this many times mu lambda_n */
  } cases[] = {
    { { .lcp = "dantzig", .contact = "box" }, 1.4142135623730951 },
    { { .lcp = "dantzig", .contact = "box", .kkt = "schur-dense" }, 1.4142135623730951 },
    { { .lcp = "dantzig", .contact = "frictionless" }, 0 },
    { { .lcp = "lemke", .contact = "polyhedral" }, 1 },
    { { .lcp = "block-gs", .contact = "cone" }, 1 },
    { { .lcp = "fischer-newton", .contact = "box", .formulation = "velocity:joints=rows" },
      1.4142135623730951 },
    { { .lcp = "dantzig", .contact = "box", .formulation = "velocity:joints=rows" },
      1.4142135623730951 },
    { { .lcp = "lemke", .contact = "polyhedral", .formulation = "velocity:joints=rows" }, 1 },
    { { .lcp = "dantzig", .contact = "convex" }, 1 },
    { { .lcp = "dantzig", .contact = "convex", .formulation = "velocity:joints=rows" }, 1 },
  };
  for (int dim = 2; dim <= 3; dim++) {
    perp_model *model = chain(dim, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      run_parts p = cases[i].parts;
      if (p.stab == NULL) p.stab = "none"; /* J v = 0, without feedback */
      worst w = follow(model, p, 240, cases[i].cone);
      char who[120];
      snprintf(who, sizeof who, "%s, %s%s%s, dim %d", p.lcp, p.contact,
               p.formulation != NULL ? ", " : "", p.formulation != NULL ? p.formulation : "", dim);
      /* rounding of the KKT solve; the tolerance 1e-8 of a solution, of impulses and speeds near 10
       */
      below(w.joint, 1e-11, "%s: joints hold", who);
      below(w.open, 1e-7 * h, "%s: no contact closes further than its gap", who);
      below(w.pull, 1e-9, "%s: contacts push", who);
      below(w.cone, 1e-6, "%s: friction is within its set", who);
      ok(w.unsolved == 0, "%s: %lld problems are not solved", who, (long long)w.unsolved);
    }
    perp_model_destroy(model);
  }
}

/* two boxes and a ball collide in free space */
static void test_momentum(void)
{
  static const double half[3] = { 0.2, 0.3, 0.25 };
  /* gyro = explicit: its torque can be told apart from the impulses below */
  const char *const velocity = "velocity:gyro=explicit";
  const run_parts parts[] = { { velocity, .lcp = "dantzig", .contact = "box" },
                              { velocity, .lcp = "lemke", .contact = "polyhedral:directions=4" },
                              { velocity, .lcp = "block-gs", .contact = "cone" },
                              { velocity, .lcp = "dantzig", .contact = "convex" } };
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  for (int i = 0; i < 3; i++) {
    double turn = 0.4 + i, c = cos(turn / 2), s = sin(turn / 2) / sqrt(3);
    perp_body_def body = { .mass = i < 2 ? perp_mass_box(1 + i, 0.4, 0.6, 0.5)
                                         : perp_mass_sphere(0.5, 0.2),
                           .x = { 0.8 * i, 0.1 * i, 0.05 * i },
                           .quat = { c, s, s, s },
                           .v = { 2.0 - 2 * i, 0.3, 0 },
                           .w = { 0.5, -1.0 * i, 0.3 } };
    run_body(&ctx, model, body);
    shape(model, i, i < 2 ? PERP_SHAPE_BOX : PERP_SHAPE_SPHERE, half, 0.2, 0.6);
  }
  run_finish(&ctx, model);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    double P0[3], L0[3], P[3], L[3], t, worst_P = 0, worst_L = 0, T0, T, V, gain = 0;
    double hit = 0;
    const double *q, *v;
    perp_step_info info;
    perp_sim *sim = run_start(&ctx, model, parts[i], h);
    perp_sim_state(sim, &t, &q, &v);
    perp_model_momentum(model, q, v, P0, L0);
    perp_model_energy(model, t, q, v, &T0, &V);
    for (int k = 0; k < 240; k++) {
      /* the free flight of spinning bodies keeps L to first order only: look at contacts alone */
      double before[21], L1[3];
      memcpy(before, q, sizeof before);
      double v0[18];
      memcpy(v0, v, sizeof v0);
      if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0) bail("step");
      perp_sim_state(sim, &t, &q, &v);
      perp_model_momentum(model, q, v, P, L);
      for (int l = 0; l < 3; l++) worst_P = fmax(worst_P, fabs(P[l] - P0[l]));
      for (int c = 0; c < 3 * info.n_contacts; c++) hit = fmax(hit, fabs(info.impulse[c]));
      /* at the poses of the start of the step, J_c' lambda has no resultant moment */
      perp_model_momentum(model, before, v, P, L);
      perp_model_momentum(model, before, v0, P, L1);
      double gyro[3] = { 0 };
      for (int b = 0; b < 3;
           b++) { /* h w x I w, which the explicit step leaves in the body frame */
        const double *w = v0 + 6 * b + 3, *in = perp_model_body(model, b)->mass.inertia;
        double Iw[3], g[3], R[9], out[3];
        for (int l = 0; l < 3; l++) Iw[l] = in[l] * w[0] + in[l + 3] * w[1] + in[l + 6] * w[2];
        perp_cross(Iw, w, g);
        perp_model_rotation(model, before, b, R);
        for (int l = 0; l < 3; l++) out[l] = R[l] * g[0] + R[l + 3] * g[1] + R[l + 6] * g[2];
        for (int l = 0; l < 3; l++) gyro[l] += h * out[l];
      }
      for (int l = 0; l < 3; l++) worst_L = fmax(worst_L, fabs(L[l] - L1[l] - gyro[l]));
      perp_model_energy(model, t, q, v, &T, &V);
      gain = fmax(gain, T - T0);
    }
    ok(hit > 0.1, "%s: they do collide, with %.3g N s", parts[i].contact, hit);
    below(worst_P, 1e-13, "%s: linear momentum is kept", parts[i].contact);
    below(worst_L, 1e-13, "%s: contact impulses have no moment", parts[i].contact);
    below(gain, 1e-3 * T0, "%s: no energy is made", parts[i].contact);
    perp_sim_destroy(sim);
  }
  perp_model_destroy(model);
}

/* a heap of boxes and balls; islands form, merge and part */
static perp_model *heap(double e)
{
  static const double half[3] = { 0.2, 0.25, 0.15 };
  perp_model *model = run_model(&ctx, 3);
  shape(model, PERP_WORLD, PERP_SHAPE_PLANE, NULL, 0, e);
  for (int i = 0; i < 18; i++) {
    bool ball = i % 3 == 2;
    perp_body_def body = {
      .mass = ball ? perp_mass_sphere(1, 0.2) : perp_mass_box(1.5, 0.4, 0.5, 0.3),
      .x = { 0.9 * (i % 3) + 0.02 * i, 0.8 * (i / 3 % 3), 0.4 + 0.7 * (i / 9) },
      .v = { 0.1 * (i % 4), 0, -0.5 }
    };
    int b = run_body(&ctx, model, body);
    shape(model, b, ball ? PERP_SHAPE_SPHERE : PERP_SHAPE_BOX, half, 0.2, e);
  }
  return run_finish(&ctx, model);
}

static void test_energy(void)
{
  static const run_parts parts[] = { { .lcp = "dantzig", .contact = "box" },
                                     { .lcp = "lemke", .contact = "polyhedral" },
                                     { .lcp = "cone-newton", .contact = "cone" } };
  for (size_t i = 0; i < 3; i++)
    for (int e = 0; e <= 1; e++) {
      perp_model *model = heap(0.5 * e);
      perp_sim *sim = run_start(&ctx, model, parts[i], h);
      perp_step_info info;
      double t, T, V, least, gain = 0, scale;
      const double *q, *v;
      perp_model_energy(model, 0, perp_model_q0(model), perp_model_v0(model), &T, &V);
      least = scale = T + V;
      for (int k = 0; k < 300; k++) {
        if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
          bail("step %d: %s %s", k, perp_reason_name(info.reason), ctx.msg);
        perp_sim_state(sim, &t, &q, &v);
        perp_model_energy(model, t, q, v, &T, &V);
        gain = fmax(gain, T + V - least);
        least = fmin(least, T + V);
      }
      /* a rebound is made before the surfaces meet, m g h |u| too high: 18 x 15 N x 2 m/s x h = 2 J
       * at most; pushing bodies apart costs less */
      below(gain, e == 0 ? 0.01 * scale : 2,
            "%s, e = %.1f: energy never grows by more than its error", parts[i].contact, 0.5 * e);
      perp_sim_destroy(sim);
      perp_model_destroy(model);
    }
}

static void test_threads(void)
{
  static const run_parts parts[] = {
    { .lcp = "dantzig", .contact = "box" },
    { .lcp = "dantzig", .contact = "box", .formulation = "velocity:threads=2" },
    { .lcp = "dantzig", .contact = "box", .formulation = "velocity:threads=3" }
  };
  double q[3][18 * 7], v[3][18 * 6];
  perp_model *model = heap(0.3);
  for (int i = 0; i < 3; i++) run_fresh(&ctx, model, parts[i], h, 0.5, q[i], v[i]);
  for (int i = 1; i < 3; i++)
    ok(memcmp(q[0], q[i], sizeof q[0]) == 0 && memcmp(v[0], v[i], sizeof v[0]) == 0,
       "%d threads: the same bits", i + 1);
  perp_model_destroy(model);
}

/* 1400 balls that lie close: one island, whose rows, sweeps and pairs a team shares */
static void test_team(void)
{
  static const char *const formulations[] = { "velocity", "velocity:threads=2",
                                              "velocity:threads=3" };
  enum { BALLS = 1400, ACROSS = 12 };
  perp_model *model = run_model(&ctx, 3);
  shape(model, PERP_WORLD, PERP_SHAPE_PLANE, NULL, 0, 0);
  for (int i = 0; i < BALLS; i++) {
    const int layer = i / (ACROSS * ACROSS), x = i % ACROSS, y = i / ACROSS % ACROSS;
    perp_body_def ball = { .mass = perp_mass_sphere(1, 0.5),
                           .x = { 0.999 * x + 0.001 * (i % 7), 0.999 * y, 0.499 + 0.999 * layer } };
    shape(model, run_body(&ctx, model, ball), PERP_SHAPE_SPHERE, NULL, 0.5, 0);
  }
  run_finish(&ctx, model);
  const size_t nq = (size_t)perp_model_nq(model), nv = (size_t)perp_model_nv(model);
  double *q[3], *v[3];
  for (int i = 0; i < 3; i++) {
    run_parts parts = { .formulation = formulations[i], .lcp = "pgs:sweeps=10", .contact = "box" };
    perp_step_info info = { 0 };
    perp_sim *sim = run_start(&ctx, model, parts, h);
    double t;
    const double *q_end, *v_end;
    q[i] = calloc(nq, sizeof *q[i]);
    v[i] = calloc(nv, sizeof *v[i]);
    if (q[i] == NULL || v[i] == NULL) bail("no memory");
    for (int k = 0; k < 6; k++)
      if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q_end, &v_end);
    memcpy(q[i], q_end, nq * sizeof *q_end);
    memcpy(v[i], v_end, nv * sizeof *v_end);
    if (i == 0)
      ok(perp_sim_contacts(sim)->rows >= 9000, "an island of %d rows",
         perp_sim_contacts(sim)->rows);
    else
      ok(memcmp(q[0], q[i], nq * sizeof *q_end) == 0 && memcmp(v[0], v[i], nv * sizeof *v_end) == 0,
         "one large island, %d threads: the same bits", i + 1);
    perp_sim_destroy(sim);
  }
  for (int i = 0; i < 3; i++) free(q[i]), free(v[i]);
  perp_model_destroy(model);
}

static void test_memory(void)
{
  static const run_parts parts[] = { { .lcp = "dantzig", .contact = "box" },
                                     { .lcp = "lemke", .contact = "polyhedral" },
                                     { .lcp = "pgs", .contact = "box" },
                                     { .lcp = "block-gs", .contact = "cone", .stab = "post" } };
  perp_model *model = heap(0);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    double t;
    const double *q, *v;
    perp_step_info info;
    perp_sim *sim = run_start(&ctx, model, parts[i], h);
    run_to(&ctx, sim, 1.5);
    perp_sim_state(sim, &t, &q, &v);
    long before = count_malloc;
    for (int k = 0; k < 50; k++) perp_sim_step(&ctx, sim, HUGE_VAL, &info);
    ok(!COUNTS_MALLOC || count_malloc == before, "%s, %s: settled, %ld allocations in 50 steps",
       parts[i].lcp, parts[i].contact, count_malloc - before);
    /* the same run again fits into the memory of the first */
    if (perp_sim_restart(&ctx, sim, 0, perp_model_q0(model), perp_model_v0(model)) != PERP_OK)
      bail("%s", ctx.msg);
    before = count_malloc;
    run_to(&ctx, sim, 1.5);
    ok(!COUNTS_MALLOC || count_malloc == before, "%s, %s: run again, %ld allocations", parts[i].lcp,
       parts[i].contact, count_malloc - before);
    perp_sim_destroy(sim);
  }
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_conditions();
  test_momentum();
  test_energy();
  test_threads();
  test_team();
  test_memory();
  return tap_done();
}
