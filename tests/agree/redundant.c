/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Redundant constraints neither brake a mechanism nor change its motion: closed loops of hinges
 * against the same loops closed by as many rows as they need, for all KKT formulations and
 * stabilizations at both levels.
 *
 * The closing hinge of each loop is replaced by rows that are independent: distances that fix a
 * point in the plane or on the sphere where the loop already holds it, or a universal joint. Errors
 * of both are measured against the loop of independent rows in much shorter steps; that with the
 * hinge has at most three times the error of the other one, and loses no more energy.  quick: one
 * step length, the default stabilizations; `all` as the argument: the whole grid. */
#include "models/geometry/kinematics.h"
#include "models/scenes/mechanism.h"
#include "tests/run_model.h"

#include <float.h>
#include <math.h>

enum { BODIES = 5, NQ = 7 * BODIES };
static const double TIMES = 3;      /* of the error of independent rows */
static const double FLOOR = 2e-9;   /* the error of the reference, and rounding */
static const double SHORT = 2.5e-4; /* s, steps of the reference */

static perp_ctx ctx;

static void must(perp_status status)
{
  if (status != PERP_OK) bail("%s", ctx.msg);
}

/* A rod from p to q with a square section of 0.1 of its length, at rest. */
static int rod(perp_model *model, const double p[3], const double q[3], double mass)
{
  perp_body_def def = { .mass.mass = mass };
  double u[3], L2 = 0;
  for (int i = 0; i < 3; i++) {
    def.x[i] = (p[i] + q[i]) / 2;
    u[i] = q[i] - p[i];
    L2 += u[i] * u[i];
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      def.mass.inertia[i + 3 * j] = mass / 12 * ((i == j ? 1.01 * L2 : 0) - 0.99 * u[i] * u[j]);
  return run_body(&ctx, model, def);
}

static void hinge(perp_model *model, int a, int b, const double p[3], const double *axis)
{
  must(perp_mechanism_join(&ctx, model, PERP_JOINT_HINGE, a, b, p, axis));
}

/* The point p of body b at rest in the world, across the direction of two distances. */
static void distances(perp_model *model, int b, const double p[3], const double e[2][3])
{
  for (int k = 0; k < 2; k++) {
    perp_joint_def def = { .kind = PERP_JOINT_DISTANCE, .a = PERP_WORLD, .b = b, .length = 0.5 };
    for (int i = 0; i < 3; i++) def.anchor_a[i] = p[i] + 0.5 * e[k][i];
    perp_mechanism_local(model, b, p, def.anchor_b);
    run_joint(&ctx, model, def);
  }
}

/* Points of hinges p[0 ... n], the first and the last on the ground; rods between them. */
static void plane_loop(perp_model *model, bool redundant, const double (*p)[3])
{
  static const double y[3] = { 0, 1, 0 }, along[2][3] = { { 1, 0, 0 }, { 0, 0, 1 } };
  for (int i = 0; i < 3; i++) rod(model, p[i], p[i + 1], 1);
  for (int i = 0; i < 3; i++) hinge(model, i > 0 ? i - 1 : PERP_WORLD, i, p[i], y);
  if (redundant)
    hinge(model, PERP_WORLD, 2, p[3], y);
  else
    distances(model, 2, p[3], along);
}

static void four_bar(perp_model *model, bool redundant)
{
  static const double p[4][3] = { { 0, 0, 0 }, { 0.3, 0, 0.4 }, { 1.5, 0, 0.9 }, { 1.3, 0, 0 } };
  plane_loop(model, redundant, p);
}

/* A parallelogram that falls through the position in which all its rods lie in one line. */
static void change_point(perp_model *model, bool redundant)
{
  const double s = sin(1.2), c = cos(1.2);
  const double p[4][3] = { { 0, 0, 0 }, { s, 0, c }, { 1 + s, 0, c }, { 1, 0, 0 } };
  plane_loop(model, redundant, p);
}

/* The same in that position, where it starts. */
static void dead_point(perp_model *model, bool redundant)
{
  static const double p[4][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 }, { 1, 0, 0 } };
  plane_loop(model, redundant, p);
}

/* All axes meet in the origin. */
static void spherical(perp_model *model, bool redundant)
{
  static const double axis[4][3] = { { 0, 0, 1 },
                                     { 0.6, 0.4, 0.6928203230275509 },
                                     { 0.3, 0.8, -0.5196152422706632 },
                                     { 0.8, -0.1, -0.5916079783099616 } };
  static const double none[3];
  double e[2][3] = { { 0 } }, p[3];
  for (int i = 0; i < 3; i++) {
    double mid[3];
    for (int k = 0; k < 3; k++) mid[k] = 0.8 * (axis[i][k] + axis[i + 1][k]);
    rod(model, none, mid, 1 + i);
  }
  for (int i = 0; i < 3; i++) hinge(model, i > 0 ? i - 1 : PERP_WORLD, i, none, axis[i]);
  if (redundant) {
    hinge(model, PERP_WORLD, 2, none, axis[3]);
    return;
  }
  e[0][2] = 1;
  for (int k = 0; k < 3; k++) e[0][k] -= axis[3][2] * axis[3][k];
  const double size = sqrt(perp_dot(3, e[0], e[0]));
  for (int k = 0; k < 3; k++) e[0][k] /= size;
  perp_cross(axis[3], e[0], e[1]);
  memcpy(p, axis[3], sizeof p);
  distances(model, 2, p, (const double(*)[3])e);
}

static void bricard(perp_model *model, bool redundant)
{
  static const double p[6][3] = { { 0, 0, 0 },   { 1, 0, 0 },   { 1, 0, -1 },
                                  { 1, -1, -1 }, { 0, -1, -1 }, { 0, -1, 0 } };
  static const double x[3] = { 1, 0, 0 }, y[3] = { 0, 1, 0 }, z[3] = { 0, 0, 1 };
  const double *axis[6] = { z, y, x, z, y, x };
  for (int i = 0; i < 5; i++) rod(model, p[i], p[i + 1], 1);
  for (int i = 0; i < 5; i++) hinge(model, i > 0 ? i - 1 : PERP_WORLD, i, p[i], axis[i]);
  if (redundant) {
    hinge(model, PERP_WORLD, 4, p[5], x);
    return;
  }
  perp_joint_def def = { .kind = PERP_JOINT_UNIVERSAL, .a = PERP_WORLD, .b = 4 };
  memcpy(def.anchor_a, p[5], sizeof p[5]);
  perp_mechanism_local(model, 4, p[5], def.anchor_b);
  memcpy(def.axis_a, y, sizeof y);
  memcpy(def.axis_b, x, sizeof x);
  run_joint(&ctx, model, def);
}

/* Sarrus: a platform on two legs of two rods, whose hinges are parallel in each leg. */
static void sarrus(perp_model *model, bool redundant)
{
  static const double leg[2][3][3] = { { { 1, 0, 0 }, { 1.8, 0, 0.6 }, { 1, 0, 1.2 } },
                                       { { 0, 1, 0 }, { 0, 1.8, 0.6 }, { 0, 1, 1.2 } } };
  static const double y[3] = { 0, 1, 0 }, x[3] = { 1, 0, 0 }, z[3] = { 0, 0, 1 };
  for (int l = 0; l < 2; l++)
    for (int i = 0; i < 2; i++) rod(model, leg[l][i], leg[l][i + 1], 1);
  const int platform = rod(model, leg[0][2], leg[1][2], 2);
  for (int l = 0; l < 2; l++) {
    const double *axis = l == 0 ? y : x;
    hinge(model, PERP_WORLD, 2 * l, leg[l][0], axis);
    hinge(model, 2 * l, 2 * l + 1, leg[l][1], axis);
    if (l == 0 || redundant) {
      hinge(model, 2 * l + 1, platform, leg[l][2], axis);
      continue;
    }
    perp_joint_def def = { .kind = PERP_JOINT_UNIVERSAL, .a = 3, .b = platform };
    perp_mechanism_local(model, 3, leg[1][2], def.anchor_a);
    perp_mechanism_local(model, platform, leg[1][2], def.anchor_b);
    memcpy(def.axis_a, x, sizeof x);
    memcpy(def.axis_b, z, sizeof z);
    run_joint(&ctx, model, def);
  }
}

typedef struct mechanism {
  const char *name;
  void (*build)(perp_model *model, bool redundant);
  int rows;     /* that are redundant */
  double t_end; /* s */
} mechanism;

static const mechanism mechanisms[] = {
  { "spherical four-bar", spherical, 3, 1 },
  { "Bricard", bricard, 1, 1 },
  { "Sarrus", sarrus, 1, 0.35 },
  { "four-bar in space", four_bar, 3, 1 },
  { "change point", change_point, 3, 0.75 },
};

static perp_model *model_of(const mechanism *m, bool redundant)
{
  perp_model *model = run_model(&ctx, 3);
  m->build(model, redundant);
  return run_finish(&ctx, model);
}

/* What a run leaves: its end, the largest change of energy, and what is said of its rows. */
typedef struct ending {
  perp_reason reason;
  double q[NQ], loss;
  perp_redundant rows;
} ending;

static ending run(perp_model *model, run_parts parts, double h, double t_end)
{
  ending end = { .reason = PERP_EXACT };
  perp_step_info info;
  perp_sim *sim = run_start(&ctx, model, parts, h);
  double t, T, V, first = 0, kinetic = 0;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  perp_model_energy(model, t, q, v, &T, &V);
  first = T + V;
  while (t < t_end && end.reason >= 0) {
    must(perp_sim_step(&ctx, sim, t_end, &info));
    end.reason = info.reason;
    perp_sim_state(sim, &t, &q, &v);
    perp_model_energy(model, t, q, v, &T, &V);
    kinetic = fmax(kinetic, T);
    end.loss = fmax(end.loss, fabs(T + V - first));
  }
  end.loss /= kinetic;
  memcpy(end.q, q, (size_t)perp_model_nq(model) * sizeof *q);
  if (perp_sim_redundant(sim) != NULL) end.rows = *perp_sim_redundant(sim);
  perp_sim_destroy(sim);
  return end;
}

/* NaN stays NaN */
static double larger(double x, double y)
{
  return x >= y || isnan(x) ? x : y;
}

/* the largest distance of a body, or angle */
static double apart(const perp_model *model, const double *q, const double *ref)
{
  double most = 0;
  for (int b = 0; b < perp_model_bodies(model); b++) {
    double turn[3];
    for (int i = 0; i < 3; i++) most = larger(most, fabs(q[7 * b + i] - ref[7 * b + i]));
    perp_quat_difference(ref + 7 * b + 3, q + 7 * b + 3, turn);
    most = larger(most, sqrt(perp_dot(3, turn, turn)));
  }
  return most;
}

static bool warned(const ending *end)
{
  return end->rows.near > 0 || end->rows.changes > 0;
}

static void compare(const mechanism *m, perp_model *model[2], const double *ref, run_parts parts,
                    double h)
{
  const perp_desc *kkt;
  parts.kkt = "schur-dense";
  const ending plain = run(model[0], parts, h, m->t_end);
  const double error = apart(model[0], plain.q, ref);
  for (int i = 0; (kkt = perp_plugin_at(&ctx, PERP_KIND_kkt, i)) != NULL; i++) {
    parts.kkt = kkt->name;
    const ending end = run(model[1], parts, h, m->t_end);
    const double off = apart(model[1], end.q, ref);
    const bool near = off <= TIMES * error + FLOOR && end.loss <= TIMES * plain.loss + FLOOR;
    if (plain.reason < 0) { /* the method, not the rows */
      ok(end.reason < 0 || off <= 1, "%s: %s, %s, %s, h = %g s: independent rows end %s", m->name,
         parts.formulation, parts.stab, kkt->name, h, perp_reason_name(plain.reason));
      continue;
    }
    ok(end.reason >= 0 ? near : warned(&end),
       "%s: %s, %s, %s, h = %g s: error %.2e, with independent rows %.2e; energy %.2e, %.2e (%s, "
       "%d rows, %d changes, %d near)",
       m->name, parts.formulation, parts.stab, kkt->name, h, off, error, end.loss, plain.loss,
       perp_reason_name(end.reason), end.rows.most, end.rows.changes, end.rows.near);
  }
}

static void mechanism_all(const mechanism *m, bool all)
{
  static const char *const stabs[] = {
    "post:velocity=true",  "baumgarte",    "post", "none", "split",
    "velocity-projection", "gradient-flow"
  };
  static const double steps[] = { 4e-3, 1e-3, 8e-3 };
  static const run_parts levels[] = { { "acceleration", "rk4" },
                                      { "velocity", "symplectic-euler" } };
  perp_model *model[2] = { model_of(m, false), model_of(m, true) };
  const run_parts exact = { "acceleration", "rk4", "schur-dense", "post:velocity=true" };
  const ending ref = run(model[0], exact, SHORT, m->t_end);
  const ending twice = run(model[0], exact, 2 * SHORT, m->t_end);
  const double error = apart(model[0], twice.q, ref.q);
  ok(ref.reason >= 0 && error < FLOOR, "%s: the reference is known to %.1e", m->name, error);
  ok(ref.rows.most == 0, "%s: without redundant rows (%d, sigma %.2e)", m->name, ref.rows.most,
     ref.rows.sigma);
  for (int s = 0; s < (all ? 7 : 2); s++)
    for (int h = 0; h < (all ? 3 : 1); h++)
      for (int l = 0; l < 2; l++) {
        run_parts parts = levels[l];
        parts.stab = stabs[s];
        compare(m, model, ref.q, parts, steps[h]);
      }
  const ending one = run(model[1], exact, 4e-3, m->t_end);
  ok(one.rows.most == m->rows, "%s: %d redundant rows, found %d", m->name, m->rows, one.rows.most);
  for (int i = 0; i < 2; i++) perp_model_destroy(model[i]);
}

/* Formulations by their defaults. */
static void formulations_all(const mechanism *m)
{
  static const char *const names[] = { "velocity-implicit", "velocity-midpoint",
                                       "impulse",           "radau5",
                                       "generalized-alpha", "ggl" };
  perp_model *model[2] = { model_of(m, false), model_of(m, true) };
  const run_parts exact = { "acceleration", "rk4", "schur-dense", "post:velocity=true" };
  const ending ref = run(model[0], exact, SHORT, m->t_end);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    ending end[2];
    double error[2];
    for (int k = 0; k < 2; k++) {
      end[k] = run(model[k], (run_parts){ names[i] }, 4e-3, m->t_end);
      error[k] = apart(model[k], end[k].q, ref.q);
    }
    ok(end[0].reason >= 0 && end[1].reason >= 0 && error[1] <= TIMES * error[0] + FLOOR &&
           end[1].loss <= TIMES * end[0].loss + FLOOR,
       "%s: %s: error %.2e, with independent rows %.2e; energy %.2e, %.2e (%s)", m->name, names[i],
       error[1], error[0], end[1].loss, end[0].loss, perp_reason_name(end[1].reason));
  }
  for (int k = 0; k < 2; k++) perp_model_destroy(model[k]);
}

/* Multipliers of a first step: those of least norm, A^+ (c - J M^-1 f) by the truncated
 * decomposition of all rows. */
static void least_norm(const mechanism *m)
{
  perp_model *model = model_of(m, true);
  const int rows = perp_model_m(model), nv = perp_model_nv(model);
  const double *q = perp_model_q0(model), *v = perp_model_v0(model);
  double f[6 * BODIES], c[64], a[6 * BODIES], exact[64] = { 0 };
  const perp_kkt_desc *svd = (const perp_kkt_desc *)perp_find(&ctx, PERP_KIND_kkt, "schur-svd");
  perp_spec spec;
  perp_stats stats = { 0 };
  void *ws;
  if (rows > 64 || nv > 6 * BODIES) bail("%d rows", rows);
  const perp_blocks *B = perp_model_assemble(model, 0, q);
  must(perp_spec_parse(&ctx, PERP_KIND_kkt, "schur-svd", &spec));
  must(svd->create(&ctx, B, spec.opts, &ws));
  perp_spec_free(&spec);
  perp_model_forces(model, 0, q, v, f);
  perp_model_jdotv(model, 0, q, v, c);
  for (int i = 0; i < rows; i++) c[i] = -c[i];
  must(svd->factor(&ctx, ws, B, &stats));
  must(svd->solve(&ctx, ws, B, f, c, a, exact, &stats));
  svd->destroy(ws);
  double size = 0;
  for (int i = 0; i < rows; i++) size = fmax(size, fabs(exact[i]));
  const perp_desc *kkt;
  for (int k = 0; (kkt = perp_plugin_at(&ctx, PERP_KIND_kkt, k)) != NULL; k++) {
    const run_parts parts = { "acceleration", "rk4", kkt->name, "none" };
    perp_sim *sim = run_start(&ctx, model, parts, 1e-3);
    perp_step_info info;
    double worst = 0;
    must(perp_sim_step(&ctx, sim, 1, &info));
    for (int i = 0; i < rows; i++) worst = larger(worst, fabs(info.lambda[i] - exact[i]));
    ok(worst <= 1e-9 * size, "%s: %s: multipliers of least norm within %.1e of the largest",
       m->name, kkt->name, worst / size);
    perp_sim_destroy(sim);
  }
  perp_model_destroy(model);
}

/* From rest in a singular position nothing decides between the branches: the run says that it was
 * there. */
static void dead_point_all(void)
{
  static const run_parts levels[] = { { "acceleration", "rk4", "", "post:velocity=true" },
                                      { "velocity", "symplectic-euler", "", "baumgarte" } };
  const mechanism m = { "dead point", dead_point, 3, 0.5 };
  for (int rows = 0; rows < 2; rows++) {
    perp_model *model = model_of(&m, rows == 1);
    const perp_desc *kkt;
    for (int i = 0; (kkt = perp_plugin_at(&ctx, PERP_KIND_kkt, i)) != NULL; i++)
      for (int l = 0; l < 2; l++) {
        run_parts parts = levels[l];
        parts.kkt = kkt->name;
        const ending end = run(model, parts, 4e-3, m.t_end);
        ok(warned(&end), "%s: %s, %s, %d rows left out: %s, %d changes, %d near, energy %.1e",
           m.name, parts.formulation, kkt->name, end.rows.most, perp_reason_name(end.reason),
           end.rows.changes, end.rows.near, end.loss);
      }
    perp_model_destroy(model);
  }
}

int main(int argc, char **argv)
{
  const bool all = argc > 1 && strcmp(argv[1], "all") == 0;
  perp_ctx_init(&ctx);
  must(perp_register_models(&ctx));
  for (size_t i = 0; i < sizeof mechanisms / sizeof *mechanisms; i++)
    mechanism_all(&mechanisms[i], all);
  dead_point_all();
  for (int i = 0; i < 4; i++) least_norm(&mechanisms[i]);
  formulations_all(&mechanisms[0]);
  formulations_all(&mechanisms[2]);
  return tap_done();
}
