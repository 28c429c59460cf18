/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles: mass points among bodies, what they refuse, spatial interaction against its
 * definition, and the statics of the scenes against closed forms. */
#include "models/multibody/model_private.h"
#include "models/scenes/scene.h"
#include "models/geometry/shapes_private.h"
#include "tests/run_model.h"

#include <gsl/gsl_sf_bessel.h>

static perp_ctx ctx;
static perp_rng *rng;

static void answers(perp_status got, perp_status want, const char *part, const char *what)
{
  const bool good = got == want && (want == PERP_OK || strstr(ctx.msg, part) != NULL);
  ok(good, "%s: %s", what, want == PERP_OK ? "accepted" : part);
  if (!good) printf("# %d %s\n", (int)got, ctx.msg);
}

/* ---- definitions ---- */

static void definitions(int dim)
{
  perp_model *m = run_model(&ctx, dim);
  const perp_body_def point = { .name = "dot", .particle = true, .mass.mass = 2, .v[0] = 1 };
  perp_body_def bad = point;
  answers(perp_model_add_body(&ctx, m, &point, NULL), PERP_OK, "", "a particle needs a mass only");
  bad.mass.mass = 0;
  answers(perp_model_add_body(&ctx, m, &bad, NULL), PERP_ERR_ARG, "mass must be positive",
          "no mass");
  bad = point, bad.w[2] = 1;
  answers(perp_model_add_body(&ctx, m, &bad, NULL), PERP_ERR_ARG, "does not rotate", "spin");
  bad = point, bad.quat[1] = 1;
  answers(perp_model_add_body(&ctx, m, &bad, NULL), PERP_ERR_ARG, "does not rotate", "orientation");
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_sphere(1, 1), .x[0] = 1 });

  static const struct {
    perp_joint_kind kind;
    bool takes[2]; /* as a, as b */
    bool space;
  } kinds[] = {
    { PERP_JOINT_BALL, { true, true }, false },
    { PERP_JOINT_DISTANCE, { true, true }, false },
    { PERP_JOINT_LINE, { false, true }, false },
    { PERP_JOINT_SLIDER, { false, false }, false },
    { PERP_JOINT_FIXED, { false, false }, false },
    { PERP_JOINT_UNIVERSAL, { false, false }, true },
    { PERP_JOINT_WHEEL, { false, false }, true },
    { PERP_JOINT_PLANAR, { false, false }, true },
    { PERP_JOINT_CYLINDRICAL, { false, false }, true },
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (int side = 0; side < 2; side++) {
      if (dim == 2 && kinds[i].space) continue;
      perp_joint_def j = { .kind = kinds[i].kind, .a = side, .b = 1 - side, .length = 1 };
      j.axis_a[0] = j.axis_b[1] = 1;
      char what[80];
      snprintf(what, sizeof what, "dim %d: %s joint with a particle as %c", dim,
               perp_joint_kind_name(j.kind), side == 0 ? 'a' : 'b');
      answers(perp_model_add_joint(&ctx, m, &j, NULL),
              kinds[i].takes[side] ? PERP_OK : PERP_ERR_UNSUPPORTED, "is a particle", what);
    }
  perp_joint_def off = { .kind = PERP_JOINT_BALL, .a = 1, .b = 0, .anchor_b[0] = 0.1 };
  answers(perp_model_add_joint(&ctx, m, &off, NULL), PERP_ERR_ARG, "must be its centre",
          "off centre");

  const perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .body = 0, .radius = 1 };
  answers(perp_model_add_shape(&ctx, m, &ball, NULL), PERP_ERR_UNSUPPORTED, "has no extent",
          "a shape");

  perp_force_def f = { .kind = PERP_FORCE_TORQUE, .a = 0, .value[2] = 1 };
  answers(perp_model_add_force(&ctx, m, &f), PERP_ERR_UNSUPPORTED, "no torque acts", "a torque");
  f = (perp_force_def){ .kind = PERP_FORCE_POINT, .a = 0, .anchor_a[0] = 1 };
  answers(perp_model_add_force(&ctx, m, &f), PERP_ERR_ARG, "must be its centre",
          "a force off centre");
  f = (perp_force_def){ .kind = PERP_FORCE_SPRING, .a = 1, .b = 0, .anchor_b[0] = 1 };
  answers(perp_model_add_force(&ctx, m, &f), PERP_ERR_ARG, "must be its centre",
          "a spring off centre");
  f.anchor_b[0] = 0, f.stiffness = -1;
  answers(perp_model_add_force(&ctx, m, &f), PERP_ERR_ARG, "stiffness must not be negative: got -1",
          "negative stiffness");
  f = (perp_force_def){ .kind = PERP_FORCE_PAIRS, .a = 0, .b = 2, .strength = 1, .length = 1 };
  answers(perp_model_add_force(&ctx, m, &f), PERP_ERR_ARG, "0 ... 2",
          "pairs of bodies that are not there");
  f.b = 0;
  answers(perp_model_add_force(&ctx, m, &f), PERP_ERR_ARG, "at least two", "pairs of one body");
  f.b = 1, f.law = PERP_LAW_LENNARD_JONES, f.length = 0;
  answers(perp_model_add_force(&ctx, m, &f), PERP_ERR_ARG, "length",
          "Lennard-Jones without a length");
  f.length = 1, f.cutoff = -1;
  answers(perp_model_add_force(&ctx, m, &f), PERP_ERR_ARG, "cutoff must be", "a negative cut-off");
  f.cutoff = 0, f.law = (perp_law)17;
  answers(perp_model_add_force(&ctx, m, &f), PERP_ERR_ARG, "unknown law", "an unknown law");
  perp_model_destroy(m);
}

/* ---- spatial interaction ---- */

/* V of one pair, written down once more */
static double pair_potential(const perp_force_def *el, double mm, double r)
{
  const double s = el->length / r;
  return el->law == PERP_LAW_GRAVITY         ? -el->strength * mm / r
         : el->law == PERP_LAW_LENNARD_JONES ? 4 * el->strength * (pow(s, 12) - pow(s, 6))
                                             : el->strength * el->length * exp(-1 / s);
}

static double all_pairs(const perp_model *m, const double *q, const perp_force_def *el)
{
  const int nqb = m->nqb;
  double sum = 0;
  for (int i = el->a; i <= el->b; i++)
    for (int j = i + 1; j <= el->b; j++) {
      const double mm = perp_model_body(m, i)->mass.mass * perp_model_body(m, j)->mass.mass;
      double r = 0, c = el->cutoff, tiny = 1e-4 * c;
      for (int k = 0; k < m->dim; k++) r += pow(q[nqb * i + k] - q[nqb * j + k], 2);
      r = sqrt(r);
      if (c > 0 && r >= c) continue;
      sum += pair_potential(el, mm, r);
      if (c > 0) /* slope by differences of order 4 */
        sum -= pair_potential(el, mm, c) +
               (r - c) *
                   (8 * (pair_potential(el, mm, c + tiny) - pair_potential(el, mm, c - tiny)) -
                    (pair_potential(el, mm, c + 2 * tiny) - pair_potential(el, mm, c - 2 * tiny))) /
                   (12 * tiny);
    }
  return sum;
}

static perp_model *cloud(int dim, int n, double region, const perp_force_def *el)
{
  perp_model *m = run_model(&ctx, dim);
  perp_model_gravity(m, 0);
  for (int i = 0; i < n; i++) {
    perp_body_def body = { .particle = true, .mass.mass = 1 + 0.1 * (i % 7) };
    for (int k = 0; k < dim; k++) body.x[k] = perp_rng_uniform(rng, -region, region);
    run_body(&ctx, m, body);
  }
  if (perp_model_add_force(&ctx, m, el) != PERP_OK) bail("%s", ctx.msg);
  return run_finish(&ctx, m);
}

static void interaction(int dim, perp_law law, double cutoff)
{
  enum { N = 60 };
  const perp_force_def el = { .kind = PERP_FORCE_PAIRS,
                              .a = 3, /* the first three do not take part */
                              .b = N - 1,
                              .law = law,
                              .strength = 0.7,
                              .length = 0.3,
                              .cutoff = cutoff };
  perp_model *m = cloud(dim, N, 1.5, &el);
  const double *q0 = perp_model_q0(m), *v0 = perp_model_v0(m);
  double q[7 * N], f[6 * N], kinetic, V[2], worst = 0, scale = 0, sum[3] = { 0 }, rest = 0;
  perp_model_energy(m, 0, q0, v0, &kinetic, &V[0]);
  near(V[0], all_pairs(m, q0, &el), 1e-9, 1e-12,
       "dim %d, law %d, cutoff %g: potential of all pairs", dim, (int)law, cutoff);
  perp_model_forces(m, 0, q0, v0, f);
  memcpy(q, q0, (size_t)perp_model_nq(m) * sizeof *q);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < dim; k++) {
      const double F = f[m->nvb * i + k], h = 1e-6;
      double *x = &q[m->nqb * i + k], at = *x, dV[2];
      for (int side = 0; side < 2; side++) {
        *x = at + (side == 0 ? h : -h);
        perp_model_energy(m, 0, q, v0, &kinetic, &dV[side]);
      }
      *x = at;
      sum[k] += F;
      scale = fmax(scale, fabs(F));
      worst = fmax(worst, fabs(F + (dV[0] - dV[1]) / (2 * h)));
      if (i < 3) rest = fmax(rest, fabs(F));
    }
  below(worst, 1e-5 * fmax(1, scale), "  force = -dV/dx");
  below(fabs(sum[0]) + fabs(sum[1]) + fabs(sum[2]), 1e-12 * fmax(1, scale), "  forces balance");
  ok(rest == 0, "  bodies outside of the range feel nothing");
  perp_model_destroy(m);
}

static void cells(void)
{
  /* neighbours by cells are those of all pairs: a cut-off per density, cells that share a list
   * included */
  static const double cutoffs[] = { 0.05, 0.2, 0.7, 3, 20 };
  for (int dim = 2; dim <= 3; dim++)
    for (int i = 0; i < 5; i++) interaction(dim, PERP_LAW_REPULSION, cutoffs[i]);
  for (int law = 0; law < 3; law++) interaction(3, (perp_law)law, 0);
  interaction(3, PERP_LAW_LENNARD_JONES, 0.9);
  interaction(2, PERP_LAW_GRAVITY, 0.9);
  const perp_force_def el = {
    .kind = PERP_FORCE_PAIRS, .a = 0, .b = 3, .law = PERP_LAW_GRAVITY, .strength = 1, .cutoff = 0.5
  };
  perp_model *m = cloud(3, 4, 1, &el);
  double q[28], f[24], worst = 0;
  memcpy(q, perp_model_q0(m), sizeof q);
  memcpy(q + 7, q, 3 * sizeof *q);                    /* two in one place */
  q[14] = 1e300, q[15] = -1e300, q[21] = (double)NAN; /* and states of a run that has diverged */
  perp_model_forces(m, 0, q, perp_model_v0(m), f);
  for (int i = 0; i < 18; i++) worst = fmax(worst, fabs(f[i]));
  ok(worst == 0, "coincident and far particles: no direction, no force");
  perp_model_destroy(m);
}

/* ---- among bodies ---- */

/* a box that carries a particle on a rod from its corner, and one tied to it, free in space */
static void among_bodies(void)
{
  static const run_parts runs[] = {
    { "velocity", "symplectic-euler" },
    { "acceleration", "rk4" },
    { "acceleration:state=momentum", "rk4" },
    { "reduced", "rk4" },
    { "impulse" },
    { "ggl" },
    { "generalized-alpha" },
    { "radau5" },
    { "point-mass" },
    { "regularized:compliance=1e-9" },
    { "penalty:stiffness=1e5", "rk4" },
  };
  perp_model *m = run_model(&ctx, 3);
  perp_model_gravity(m, 0);
  run_body(&ctx, m,
           (perp_body_def){ .mass = perp_mass_box(2, 0.5, 0.4, 0.3), .w = { 0.5, 1, -0.7 } });
  perp_body_def dot = { .particle = true, .mass.mass = 0.5 };
  const double corner[3] = { 0.25, 0.2, 0.15 }, w[3] = { 0.5, 1, -0.7 };
  for (int i = 0; i < 2; i++) { /* both move with the box at first */
    double s[3];
    for (int k = 0; k < 3; k++) s[k] = i == 0 ? 2 * corner[k] : -corner[k];
    memcpy(dot.x, s, sizeof s);
    perp_cross(w, s, dot.v);
    run_body(&ctx, m, dot);
    perp_joint_def j = { .kind = i == 0 ? PERP_JOINT_DISTANCE : PERP_JOINT_BALL,
                         .a = 0,
                         .b = 1 + i };
    memcpy(j.anchor_a, i == 0 ? corner : s, sizeof s);
    j.length = sqrt(perp_dot(3, corner, corner));
    run_joint(&ctx, m, j);
  }
  run_finish(&ctx, m);
  double q_ref[21], v_ref[18];
  run_fresh(&ctx, m, (run_parts){ "reduced", "gsl:rk8pd:tol=1e-12" }, 1e-3, 0.5, q_ref, v_ref);
  for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
    double q[21], v[18], P[2][3], L[2][3], err = 0, dP = 0, dL = 0, turned = 0;
    const perp_reason reason = run_fresh(&ctx, m, runs[r], 1e-3, 0.5, q, v);
    perp_model_momentum(m, perp_model_q0(m), perp_model_v0(m), P[0], L[0]);
    perp_model_momentum(m, q, v, P[1], L[1]);
    for (int k = 0; k < 3; k++) {
      dP = fmax(dP, fabs(P[1][k] - P[0][k]));
      dL = fmax(dL, fabs(L[1][k] - L[0][k]));
      for (int b = 0; b < 3; b++) err = fmax(err, fabs(q[7 * b + k] - q_ref[7 * b + k]));
    }
    for (int b = 1; b < 3; b++)
      for (int k = 3; k < 6; k++)
        turned = fmax(turned, fabs(v[6 * b + k]) + fabs(q[7 * b + k + 1]) + fabs(q[7 * b + 3] - 1));
    /* joint coordinates integrate the turn of a ball joint between the two */
    const double least = strcmp(runs[r].formulation, "reduced") == 0 ? 1e-9 : 0;
    ok(reason > 0 && turned <= least, "%s: particles of a free body do not turn (%.2g)",
       runs[r].formulation, turned);
    below(dP, 1e-11, "%s: momentum", runs[r].formulation);
    below(dL, 2e-3, "%s: angular momentum", runs[r].formulation);
    below(err, 2e-3, "%s: agrees with joint coordinates", runs[r].formulation);
  }
  perp_model_destroy(m);
}

/* ---- points as bodies ---- */

/* The multipliers of every joint are those of the exact accelerations, to the square of the step: a
 * ball joint of the world, a ball joint and a rod between bodies, a rod that hangs from the world.
 */
static void forces_of_links(int dim)
{
  perp_model *m = run_model(&ctx, dim);
  const perp_mass mass = dim == 3 ? perp_mass_box(2, 0.4, 0.3, 0.2) : perp_mass_sphere(2, 0.3);
  for (int i = 0; i < 4; i++) {
    perp_body_def def = { .mass = mass, .x = { 0.5 * i, 0.1 * i * i } };
    if (dim == 3) def.x[2] = 0.3 - 0.2 * i;
    run_body(&ctx, m, def);
  }
  const double away[3] = { 0.1, -0.2, 0.3 }, there[3] = { -0.3, 0.1, -0.2 };
  for (int i = 0; i < 4; i++) {
    const bool rod = i == 2 || i == 3;
    perp_joint_def j = { .kind = rod ? PERP_JOINT_DISTANCE : PERP_JOINT_BALL,
                         .a = i == 0 ? PERP_WORLD : i - 1,
                         .b = i };
    double gap = 0;
    for (int k = 0; k < dim; k++) {
      const double xa = i == 0 ? 0 : perp_model_body(m, i - 1)->x[k],
                   xb = perp_model_body(m, i)->x[k];
      j.anchor_a[k] = i == 0 ? xb + there[k] : away[k];
      j.anchor_b[k] = rod || i == 0 ? there[k] : xa + away[k] - xb;
      gap += pow(xb + j.anchor_b[k] - xa - j.anchor_a[k], 2);
    }
    j.length = sqrt(gap);
    run_joint(&ctx, m, j);
  }
  run_finish(&ctx, m);
  double off[2] = { 0 }, size = 0;
  const int rows = perp_model_m(m);
  for (int k = 0; k < 2; k++) {
    const double h = k == 0 ? 2e-3 : 1e-3;
    perp_step_info info[2];
    perp_sim *sim[2] = { run_start(&ctx, m, (run_parts){ "point-mass:tol=1e-13,iterations=1000" },
                                   h),
                         run_start(&ctx, m, (run_parts){ "acceleration", "rk4", "", "none" }, h) };
    /* forces of point-mass are those at the start of its step */
    for (int n = 0; n < (k == 0 ? 50 : 100) + 1; n++)
      for (int i = 0; i < 2; i++)
        if (perp_sim_step(&ctx, sim[i], HUGE_VAL, &info[i]) != PERP_OK || info[i].reason <= 0)
          bail("%s", ctx.msg);
    for (int r = 0; r < rows; r++) {
      off[k] = fmax(off[k], fabs(info[0].lambda[r] - info[1].lambda[r]));
      size = fmax(size, fabs(info[1].lambda[r]));
    }
    for (int i = 0; i < 2; i++) perp_sim_destroy(sim[i]);
  }
  ok(off[1] <= 2e-5 * size && off[1] <= 0.3 * off[0],
     "dim %d: the forces of point-mass are those of the joints, to its square: %.2g, %.2g N of "
     "%.2g",
     dim, off[0], off[1], size);
  perp_model_destroy(m);
}

/* Two bodies on two hinges, free of gravity, turned as a whole: the motion turns with them, and is
 * found in as many iterations (to rounding), whatever the axes are.  swap: the hinges name their
 * bodies the other way round. */
static void hinges_turned(void)
{
  static const double turn[4][4] = {
    { 1, 0, 0, 0 }, { 0.5, 0.5, 0.5, 0.5 }, { 0.5, -0.5, -0.5, -0.5 }, { 0.8, 0.1, -0.5, 0.3 }
  };
  /* where the bodies and hinges are, the axes, and the rates about them */
  static const double x[2][3] = { { 0.3, 0.1, -0.2 }, { 0.7, -0.2, 0.1 } },
                      at[2][3] = { { 0, 0, 0 }, { 0.5, 0.1, 0 } },
                      axis[2][3] = { { 0, 0.6, 0.8 }, { 1, 2, -2 } }, rate[2] = { 2, -1 };
  double first[6] = { 0 };
  long spent[2] = { 0 };
  for (int swap = 0; swap < 2; swap++)
    for (int r = 0; r < 4; r++) {
      double quat[4], R[9], w[2][3], v[2][3], d[3];
      memcpy(quat, turn[r], sizeof quat);
      perp_quat_unit(quat);
      perp_quat_matrix(quat, R);
      for (int b = 0; b < 2; b++) {
        for (int k = 0; k < 3; k++)
          w[b][k] = (b == 1 ? w[0][k] : 0) +
                    rate[b] * axis[b][k] / sqrt(perp_dot(3, axis[b], axis[b]));
        perp_sub(x[0], at[0], d);
        perp_cross(w[0], b == 0 ? d : at[1], v[b]);
        perp_sub(x[1], at[1], d);
        double more[3];
        perp_cross(w[1], d, more);
        for (int k = 0; k < 3 && b == 1; k++) v[b][k] += more[k];
      }
      perp_model *m = run_model(&ctx, 3);
      perp_model_gravity(m, 0);
      for (int b = 0; b < 2; b++) {
        perp_body_def def = { .mass = perp_mass_box(1 + b, 0.5, 0.3, 0.2) };
        memcpy(def.quat, quat, sizeof quat);
        perp_turn(3, R, x[b], def.x);
        perp_turn(3, R, v[b], def.v);
        memcpy(def.w, w[b], sizeof def.w); /* in the frame of the body */
        run_body(&ctx, m, def);
      }
      for (int b = 0; b < 2; b++) {
        perp_joint_def j = { .kind = PERP_JOINT_HINGE, .a = b == 0 ? PERP_WORLD : 0, .b = b };
        double anchor[2][3], along[2][3];
        perp_turn(3, R, at[b], anchor[0]);
        perp_turn(3, R, axis[b], along[0]);
        if (b == 1) {
          perp_sub(at[b], x[0], anchor[0]);
          memcpy(along[0], axis[b], sizeof along[0]);
        }
        perp_sub(at[b], x[b], anchor[1]);
        memcpy(along[1], axis[b], sizeof along[1]);
        if (swap) j.a = b, j.b = b == 0 ? PERP_WORLD : 0;
        memcpy(j.anchor_a, anchor[swap], sizeof j.anchor_a);
        memcpy(j.anchor_b, anchor[1 - swap], sizeof j.anchor_b);
        memcpy(j.axis_a, along[swap], sizeof j.axis_a);
        memcpy(j.axis_b, along[1 - swap], sizeof j.axis_b);
        run_joint(&ctx, m, j);
      }
      run_finish(&ctx, m);
      perp_sim *sim = run_start(&ctx, m, (run_parts){ "point-mass:tol=1e-11,iterations=200" },
                                5e-3);
      if (run_to(&ctx, sim, 1) <= 0) bail("%s", ctx.msg);
      perp_ode_counters count;
      double t, off = 0, back[3];
      const double *q, *qd;
      perp_sim_counters(sim, &count, NULL);
      perp_sim_state(sim, &t, &q, &qd);
      for (int b = 0; b < 2; b++) {
        perp_turn_back(3, R, q + 7 * b, back);
        if (r == 0 && swap == 0) memcpy(first + 3 * b, back, sizeof back);
        for (int k = 0; k < 3; k++) off = fmax(off, fabs(back[k] - first[3 * b + k]));
      }
      if (r == 0) spent[swap] = (long)count.iterations;
      ok(off <= 1e-8 && labs((long)count.iterations - spent[swap]) <= 1 + spent[swap] / 50,
         "hinges of point-mass, turned %d, swapped %d: off by %.2g m, %ld and %ld iterations", r,
         swap, off, (long)count.iterations, spent[swap]);
      perp_sim_destroy(sim);
      perp_model_destroy(m);
    }
}

/* ---- scenes ---- */

static perp_scene scene_of(const char *text)
{
  perp_spec spec;
  perp_scene scene;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
  return scene;
}

static void ropes(void)
{
  /* y = a cosh((x - span/2) / a) with arc length L = 2 a sinh(span / 2a); the polygon of N links is
   * within O(1/N^2), and half of its middle weight is where the curve has none */
  const double L = 2, span = 0.6 * L;
  double lo = 1e-3, hi = 1e3;
  for (int i = 0; i < 200; i++) {
    const double a = sqrt(lo * hi);
    *(2 * a * sinh(span / (2 * a)) > L ? &lo : &hi) = a;
  }
  double error[2];
  for (int k = 0; k < 2; k++) {
    char text[80];
    const int n = k == 0 ? 99 : 399;
    snprintf(text, sizeof text, "rope:particles=%d,length=2,span=0.6,dim=2", n);
    perp_scene scene = scene_of(text);
    const double *q = perp_model_q0(scene.model);
    error[k] = 0;
    for (int i = 0; i < n; i++) {
      const double y = lo * (cosh((q[3 * i] - span / 2) / lo) - cosh(span / (2 * lo)));
      error[k] = fmax(error[k], fabs(q[3 * i + 1] - y));
    }
    perp_scene_destroy(&scene);
  }
  below(error[0], 2e-4, "rope of 99 particles: the catenary a cosh(x/a)");
  ok(error[1] < error[0] / 3, "rope of 399: closer (%.2g, %.2g)", error[0], error[1]);

  /* zeros of L_1 = 1 - x, L_2 = (x^2 - 4 x + 2)/2, L_3 = (-x^3 + 9 x^2 - 18 x + 6)/6 */
  const double least[3] = { 1, 2 - sqrt(2), 0.41577455678347908331 };
  for (int n = 1; n <= 3; n++) {
    char text[80];
    snprintf(text, sizeof text, "rope:particles=%d,start=swing", n);
    perp_scene scene = scene_of(text);
    const double period = 2 * M_PI / sqrt(least[n - 1] * 9.81 * n);
    near(scene.t_end / 2.1, period, 1e-12, 0, "swing of %d: the zero of the Laguerre polynomial",
         n);
    perp_scene_destroy(&scene);
  }
  perp_scene scene = scene_of("rope:particles=400,start=swing");
  const double heavy = 2 * M_PI / (gsl_sf_bessel_zero_J0(1) / 2 * sqrt(9.81));
  near(scene.t_end / 2.1, heavy, 2e-3, 0, "swing of 400: the heavy chain, zero of J_0");
  perp_scene_destroy(&scene);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  rng = perp_rng_create(33);
  for (int dim = 2; dim <= 3; dim++) definitions(dim);
  cells();
  among_bodies();
  for (int dim = 2; dim <= 3; dim++) forces_of_links(dim);
  hinges_turned();
  ropes();
  perp_rng_destroy(rng);
  return tap_done();
}
