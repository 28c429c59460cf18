/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equivalent models against mechanics: energy, momenta, forces, constraint errors and contacts of a
 * random state are those of the given model, seen in the mirror; and runs of exact methods have the
 * errors of the given model, to rounding. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "models/formulations/equivalent.h"
#include "models/geometry/kinematics.h"
#include "tests/run_model.h"

#include <stdlib.h>

static perp_ctx ctx;

static double size_of(int n, const double *x)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}
static double apart(int n, const double *x, const double *y)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i] - y[i]));
  return most;
}
static bool is_mirrored(int kind)
{
  return kind == PERP_EQUIVALENT_MIRRORED || kind == PERP_EQUIVALENT_MIRRORED_SHUFFLED;
}

typedef struct found { /* contacts at a state: their number, gaps and moments of them */
  int n;
  double gaps, heights, across;
} found;

/* sum of gaps, of gap-weighted normals and places along y and z, and of |n_x| */
static found contacts_of(const perp_model *model, const double *q)
{
  found f = { 0 };
  perp_collision *c;
  const perp_contact *x;
  const int bodies = perp_model_bodies(model), dim = perp_model_dim(model);
  perp_pose *pose = calloc((size_t)bodies + 1, sizeof *pose);
  for (int k = 0; k < dim; k++) pose[0].R[k + dim * k] = 1;
  for (int b = 0; b < bodies; b++) perp_pose_of(dim, q + (dim == 3 ? 7 : 3) * b, &pose[b + 1]);
  if (perp_collision_create(&ctx, model, 0.01, &c) != PERP_OK ||
      perp_collision_find(&ctx, c, pose + 1, &x, &f.n) != PERP_OK)
    bail("%s", ctx.msg);
  for (int i = 0; i < f.n; i++) {
    double p[3];
    perp_contact_middle(&x[i], p);
    f.gaps += x[i].gap;
    f.heights += p[1] + 2 * p[2] + 3 * p[0] * p[0];
    f.across += fabs(x[i].n[0]) + x[i].n[1] * x[i].n[1];
  }
  perp_collision_destroy(c);
  free(pose);
  return f;
}

/* q, v of the given model; there, in the equivalent one */
static void mechanics(const char *name, const perp_model *model, const perp_equivalent *e, int kind,
                      const double *q, const double *v)
{
  perp_model *other = perp_equivalent_model(e);
  const int nq = perp_model_nq(model), nv = perp_model_nv(model), m = perp_model_m(model);
  double *room = calloc((size_t)(3 * nq + 6 * nv + 2 * m) + 1, sizeof *room), *q1 = room,
         *q2 = q1 + nq, *v1 = q2 + 2 * nq, *v2 = v1 + nv, *f1 = v2 + nv, *f2 = f1 + nv,
         *f3 = f2 + nv, *C1 = f3 + 2 * nv, *C2 = C1 + m;
  perp_equivalent_there(e, q, v, q1, v1);
  perp_equivalent_back(e, q1, v1, q2, v2);
  bool good = memcmp(q, q2, (size_t)nq * sizeof *q) == 0 &&
              memcmp(v, v2, (size_t)nv * sizeof *v) == 0;
  double T1, V1, T2, V2, P1[3], L1[3], P2[3], L2[3];
  perp_model_energy(model, 0.1, q, v, &T1, &V1);
  perp_model_energy(other, 0.1, q1, v1, &T2, &V2);
  good = good && fabs(T2 - T1) <= 1e-12 * T1 && fabs(V2 - V1) <= 1e-11 * (fabs(V1) + T1);
  perp_model_momentum(model, q, v, P1, L1);
  perp_model_momentum(other, q1, v1, P2, L2);
  if (is_mirrored(kind)) P2[0] = -P2[0], L2[1] = -L2[1], L2[2] = -L2[2];
  good = good && apart(3, P1, P2) <= 1e-11 * (size_of(3, P1) + T1) &&
         apart(3, L1, L2) <= 1e-11 * (size_of(3, L1) + T1);
  /* f is a vector and a torque, as v is */
  perp_model_forces(model, 0.1, q, v, f1);
  perp_model_forces(other, 0.1, q1, v1, f2);
  perp_equivalent_back(e, q1, f2, q2, f3);
  const double off = apart(nv, f1, f3), scale = size_of(nv, f1);
  good = good && off <= 1e-10 * scale;
  perp_model_error(model, 0.1, q, C1);
  perp_model_error(other, 0.1, q1, C2);
  double sum1 = 0, sum2 = 0;
  for (int i = 0; i < m; i++) sum1 += C1[i] * C1[i], sum2 += C2[i] * C2[i];
  good = good && fabs(sum2 - sum1) <= 1e-10 * sum1 + 1e-20;
  ok(good,
     "%s, %s: energy, momenta, forces (%.1e) and constraint errors (%.1e) are those of the scene",
     name, perp_equivalence_names[kind], scale > 0 ? off / scale : 0, fabs(sum2 - sum1));
  free(room);
}

static bool equivalent_of(const char *name, const perp_model *model, int kind, unsigned *left)
{
  perp_equivalent *e;
  const int nq = perp_model_nq(model), nv = perp_model_nv(model);
  const perp_status status = perp_equivalent_create(&ctx, model, (perp_equivalence)kind, &e);
  if (status == PERP_ERR_UNSUPPORTED) {
    ok(e == NULL && ctx.msg[0] != '\0', "%s, %s: %s", name, perp_equivalence_names[kind], ctx.msg);
    ++*left;
    return false;
  }
  if (status != PERP_OK) bail("%s: %s", name, ctx.msg);
  double *q = calloc((size_t)(nq + 2 * nv) + 1, sizeof *q), *v = q + nq, *dq = v + nv;
  const double speed = size_of(nv, perp_model_v0(model));
  for (int i = 0; i < nv; i++) dq[i] = 1e-3 * sin(7 * i + 1);
  for (int i = 0; i < nv; i++) v[i] = perp_model_v0(model)[i] + (0.1 + speed) * cos(5 * i + 2);
  perp_model_retract(model, perp_model_q0(model), dq, q);
  for (int b = 0; b < perp_model_bodies(model); b++) /* particles never turn */
    for (int k = 0; perp_model_body(model, b)->particle && k < 3; k++) {
      if (perp_model_dim(model) == 3) v[6 * b + 3 + k] = 0;
      if (perp_model_dim(model) == 2) v[3 * b + 2] = 0;
    }
  mechanics(name, model, e, kind, q, v);
  if (perp_model_shapes(model) > 0) {
    double *q1 = calloc((size_t)(nq + nv) + 1, sizeof *q1);
    perp_equivalent_there(e, perp_model_q0(model), v, q1, q1 + nq);
    const found one = contacts_of(model, perp_model_q0(model)),
                two = contacts_of(perp_equivalent_model(e), q1);
    ok(one.n == two.n && fabs(one.gaps - two.gaps) <= 1e-9 * (1 + one.n) &&
           fabs(one.heights - two.heights) <= 1e-8 * (1 + fabs(one.heights)) &&
           fabs(one.across - two.across) <= 1e-8 * (1 + one.n),
       "%s, %s: its %d contacts are those of the scene (%d; %.3g and %.3g)", name,
       perp_equivalence_names[kind], two.n, one.n, two.heights, one.heights);
    free(q1);
  }
  free(q);
  perp_equivalent_destroy(e);
  return true;
}

static void all_scenes(void)
{
  enum { LARGE = 100 };
  const perp_desc *d;
  unsigned made = 0, left = 0;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_scene, i)) != NULL; i++) {
    perp_spec spec;
    perp_scene scene;
    if (perp_spec_parse(&ctx, PERP_KIND_scene, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
    const perp_status status = perp_scene_create(&ctx, &spec, &scene);
    perp_spec_free(&spec);
    if (status != PERP_OK) bail("%s: %s", d->name, ctx.msg);
    for (int kind = 1;
         scene.model != NULL && perp_model_bodies(scene.model) <= LARGE && kind < PERP_EQUIVALENCES;
         kind++)
      made += equivalent_of(d->name, scene.model, kind, &left);
    perp_scene_destroy(&scene);
  }
  ok(made > 200 && left < 60, "%u equivalents of scenes were made, %u do not exist", made, left);
}

/* ---- runs ---- */

static double metric_of(const perp_request *request, const char *metric)
{
  perp_result r;
  if (perp_simulate(&ctx, request, &r) != PERP_OK) bail("%s: %s", request->scene, ctx.msg);
  const double value = perp_result_metric(&r, metric);
  perp_result_free(&r);
  return value;
}

static void runs(void)
{
  static const struct {
    const char *scene, *metric;
    double t_end; /* 0: 0.3 s */
  } cases[] = {
    { "stack:boxes=5", "pose.drift.max", 0 },
    { "stack:boxes=5,dim=2", "force.rel.err", 0 },
    { "incline:azimuth=45deg", "accel.rel.err", 0 },
    { "incline:azimuth=45deg", "force.rel.err", 0 },
    { "incline:theta=20deg,mu=0.5,dim=2", "pose.drift.max", 0 },
    { "at-limit", "pose.drift.max", 0 },
    { "welded-blocks", "pose.drift.max", 0 },
    { "pinch", "pose.drift.max", 0.6 },
    { "launched-box:speed=1.56,heading=-0.695", "err.place.max", 0 },
    { "tower:dim=2", "pose.drift.max", 0 },
    { "chain:links=20,dim=2", "err.tip.max", 0 },
    { "tumbling-box", "err.tip.max", 0 },
    { "paddles", "err.place.max", 0 },
    { "bouncing-ball:e=1", "apex.rel.err", 2 },
    { "motor", "truth.err", 0 },
    { "universal", "truth.err", 0 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_request q = { .scene = cases[i].scene,
                       .formulation = "acceleration",
                       .ode = "rk4",
                       .t_end = cases[i].t_end > 0 ? cases[i].t_end : 0.3 };
    const double given = metric_of(&q, cases[i].metric);
    for (int kind = 1; kind < PERP_EQUIVALENCES; kind++) {
      q.equivalent = perp_equivalence_names[kind];
      near(metric_of(&q, cases[i].metric), given, 2e-11, 1e-4, "%s, %s: %s stays %.3g",
           cases[i].scene, q.equivalent, cases[i].metric, given);
    }
  }
  /* multipliers are those of the given rows, in another order; in a mirror nobody knows them */
  perp_request q = { .scene = "welded-blocks", .formulation = "acceleration", .ode = "rk4" };
  q.t_end = 0.1;
  q.equivalent = "reversed";
  below(metric_of(&q, "lambda.err.max"), 1e-13, "reversed: multipliers are found again");
  q.equivalent = "mirrored";
  ok(isnan(metric_of(&q, "lambda.err.max")), "mirrored: multipliers are not known");
}

/* ---- reports ---- */

typedef struct report { /* at the end of a run, in terms of the given model */
  double q[28], v[24], drive[2][2], force[2][12], lambda[2][12];
} report;

/* forces of contacts on the bodies, whichever of them is the first one */
static void pushes(int n, const perp_contact *x, const double *impulse, double h, double *force)
{
  memset(force, 0, 12 * sizeof *force);
  for (int i = 0; i < n; i++)
    for (int side = 0; side < 2; side++)
      for (int k = 0; x[i].body[side] >= 0 && k < 3; k++)
        force[3 * x[i].body[side] + k] += (side == 0 ? -1 : 1) * impulse[3 * i + k] / h;
}

static report reported(perp_model *model, int kind, const char *formulation)
{
  report r = { .q = { 0 } };
  perp_equivalent *e;
  perp_step_info info = { .reason = PERP_EXACT };
  double t = 0, h = 0;
  const double *q, *v;
  if (perp_equivalent_create(&ctx, model, (perp_equivalence)kind, &e) != PERP_OK)
    bail("%s", ctx.msg);
  perp_sim *sim = run_start(&ctx, perp_equivalent_model(e),
                            (run_parts){ formulation, "", "", "", "block-gs:tol=1e-14", "cone" },
                            1e-3);
  while (t < 0.1 && info.reason >= 0) {
    h = t;
    if (perp_sim_step(&ctx, sim, 0.1, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
  }
  perp_equivalent_back(e, q, v, r.q, r.v);
  if (info.reason < 0 || perp_equivalent_info(&ctx, e, &info) != PERP_OK) bail("%s", ctx.msg);
  for (int end = 0; end < (info.lambda_end != NULL ? 2 : 1); end++) {
    const double *lambda = end ? info.lambda_end : info.lambda;
    memcpy(r.drive[end], end ? info.drive_end : info.drive, sizeof r.drive[end]);
    if (lambda != NULL) memcpy(r.lambda[end], lambda, 10 * sizeof *lambda);
    if (end)
      pushes(info.n_contacts_end, info.contacts_end, info.impulse_end, info.h_end, r.force[end]);
    else
      pushes(info.n_contacts, info.contacts, info.impulse, t - h, r.force[end]);
  }
  perp_sim_destroy(sim);
  perp_equivalent_destroy(e);
  return r;
}

/* A belt carries two balls one on the other; of two pendulums one has a motor and one a servo. */
static void reports(void)
{
  perp_model *model = run_model(&ctx, 3);
  const perp_surface surface = { .mu = 0.3, .mu_dynamic = 0.3 };
  for (int i = 0; i < 4; i++) {
    perp_body_def ball = { .mass = perp_mass_sphere(1 + i, 0.1), .x = { 3 * i, 0, 0.1 } };
    if (i == 1) ball.x[0] = 0.01, ball.x[1] = 0.02, ball.x[2] = 0.295;
    run_body(&ctx, model, ball);
    run_shape(&ctx, model,
              (perp_shape_def){
                  .kind = PERP_SHAPE_SPHERE, .body = i, .radius = 0.1, .surface = surface });
    if (i < 2) continue;
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                                .a = PERP_WORLD,
                                .b = i,
                                .anchor_a = { 3 * i + 0.3, 0, 1 },
                                .anchor_b = { 0.3, 0, 0.9 },
                                .axis_a = { 0.3, 1, 0 },
                                .axis_b = { 0.3, 1, 0 } });
    perp_drive_def drive = { .joint = i - 2, .lower = -HUGE_VAL, .upper = HUGE_VAL };
    drive.max_force = 100;
    if (i == 2) drive.velocity = 0.7;
    if (i == 3) drive.target = 0.2, drive.zero = 0.1, drive.stiffness = 50, drive.damping = 1;
    run_drive(&ctx, model, drive);
  }
  run_shape(&ctx, model,
            (perp_shape_def){ .kind = PERP_SHAPE_PLANE,
                              .body = PERP_WORLD,
                              .surface = surface,
                              .belt = { 0.5, 0.2, 0 } });
  run_finish(&ctx, model);
  for (int way = 0; way < 2; way++) {
    const char *formulation = way == 0 ? "velocity" : "velocity:tol=1e-5";
    const report given = reported(model, PERP_EQUIVALENT_GIVEN, formulation);
    for (int kind = 1; kind < PERP_EQUIVALENCES; kind++) {
      const report x = reported(model, kind, formulation);
      double off = fmax(apart(28, x.q, given.q), apart(24, x.v, given.v)), forces = 0;
      for (int end = 0; end <= way; end++) {
        forces = fmax(forces, apart(2, x.drive[end], given.drive[end]));
        forces = fmax(forces, apart(12, x.force[end], given.force[end]));
        if (!is_mirrored(kind)) forces = fmax(forces, apart(10, x.lambda[end], given.lambda[end]));
      }
      /* with a tolerance the lengths of steps follow rounding, and forces of the last one more */
      ok(off < 1e-8 && forces < (way == 0 ? 1e-6 : 0.3) && given.v[0] > 0.2 &&
             fabs(given.drive[0][0]) > 1 && fabs(given.drive[0][1]) > 1,
         "%s, %s: the state (%.1e) and the forces (%.1e) are those of the scene", formulation,
         perp_equivalence_names[kind], off, forces);
    }
  }
  perp_model_destroy(model);
}

/* It has an effect: sweeps depend on the order of bodies. */
static void sweeps(void)
{
  perp_request q = { .scene = "stack:boxes=5", .lcp = "pgs:sweeps=5", .t_end = 0.2 };
  const double given = metric_of(&q, "pose.drift.max");
  q.equivalent = "given";
  ok(metric_of(&q, "pose.drift.max") == given, "given: the same run to the last bit");
  q.equivalent = "reversed";
  const double other = metric_of(&q, "pose.drift.max");
  ok(fabs(other - given) > 0.01 * given, "sweeps in the other order: drift %.3g, and not %.3g",
     other, given);
}

static void refusals(void)
{
  perp_result r;
  const perp_request unknown = { .scene = "stack", .equivalent = "mirorred" },
                     plain = { .scene = "circle", .equivalent = "mirrored" };
  ok(perp_simulate(&ctx, &unknown, &r) == PERP_ERR_ARG && strstr(ctx.msg, "mirorred") != NULL,
     "refused: %s", ctx.msg);
  ok(perp_simulate(&ctx, &plain, &r) == PERP_ERR_UNSUPPORTED && strstr(ctx.msg, "circle") != NULL,
     "refused: %s", ctx.msg);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  all_scenes();
  runs();
  reports();
  sweeps();
  refusals();
  return tap_done();
}
