/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulation groups: who is with whom, merging in a transaction, rollback, parting, idleness, steps
 * of their own (Vondrak 2005, sections 7.1-7.3). */
#include "experiments/scenes/scene_file.h"
#include "models/contact/step/swept_bounds.h"
#include "models/multibody/model_private.h"
#include "models/multibody/subset.h"
#include "tests/run_model.h"

static perp_ctx ctx;

static const double RADIUS = 0.1, H = 1e-3;

/* ball i at x, moving along x; a sphere of restitution e */
static int ball(perp_model *model, double x, double z, double speed, double e)
{
  int body = run_body(&ctx, model,
                      (perp_body_def){ .mass = perp_mass_sphere(1, RADIUS),
                                       .x = { x, 0, z },
                                       .v = { speed, 0, 0 } });
  perp_shape_def shape = {
    .kind = PERP_SHAPE_SPHERE, .body = body, .radius = RADIUS, .surface = { .restitution = e }
  };
  run_shape(&ctx, model, shape);
  return body;
}

static void floor_at_zero(perp_model *model)
{
  perp_shape_def shape = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD };
  run_shape(&ctx, model, shape);
}

static void pendulum(perp_model *model, double x, double length)
{
  int body = run_body(&ctx, model,
                      (perp_body_def){ .mass = perp_mass_sphere(1, RADIUS), .x = { x, 0, 0 } });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_BALL,
                              .a = PERP_WORLD,
                              .b = body,
                              .anchor_a = { x - length, 0, 0 },
                              .anchor_b = { -length, 0, 0 } });
}

static double at(const perp_sim *sim)
{
  double t;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  return t;
}

/* ---- hulls that meet ---- */

/* Components of balls, all of which move, by all pairs.  16: no room behind a list. */
static void meeting(int n, double room)
{
  enum { MOST = 40 };
  perp_model *model = run_model(&ctx, 3);
  perp_swept_bounds *hulls;
  perp_rng *rng = perp_rng_create((uint64_t)n);
  double q[MOST][7];
  int root[MOST], known[MOST], wrong = 0, parts = 0;
  for (int i = 0; i < n; i++) ball(model, i, 0, 0, 0);
  run_finish(&ctx, model);
  if (perp_swept_bounds_create(&ctx, model, 0, &hulls) != PERP_OK) bail("%s", ctx.msg);
  for (int trial = 0; trial < 20; trial++) {
    for (int i = 0; i < n; i++) {
      for (int c = 0; c < 7; c++) q[i][c] = c < 3 ? perp_rng_uniform(rng, 0, room) : c == 3;
      perp_swept_bounds_begin(hulls, i, q[i]);
      known[i] = i;
    }
    perp_swept_bounds_components(hulls, root);
    for (bool more = true; more;) {
      more = false;
      for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
          double far = 0;
          for (int c = 0; c < 3; c++) far = fmax(far, fabs(q[i][c] - q[k][c]));
          if (far > 2 * RADIUS || known[k] <= known[i]) continue;
          known[k] = known[i];
          more = true;
        }
    }
    for (int i = 0; i < n; i++) wrong += root[i] != known[i], parts += root[i] == i;
  }
  ok(wrong == 0 && parts > 20 && parts < 20 * n, "%d balls: %d components", n, parts);
  perp_rng_destroy(rng);
  perp_swept_bounds_destroy(hulls);
  perp_model_destroy(model);
}

/* The distance of hulls below which they meet; a millionth of a ball more is rounding. */
static void margin(void)
{
  for (int near_enough = 0; near_enough < 2; near_enough++) {
    perp_model *model = run_model(&ctx, 3);
    perp_swept_bounds *hulls;
    int root[2];
    for (int i = 0; i < 2; i++) ball(model, i, 0, 0, 0);
    run_finish(&ctx, model);
    if (perp_swept_bounds_create(&ctx, model, near_enough ? 0.11 : 0.09, &hulls) != PERP_OK)
      bail("%s", ctx.msg);
    for (int i = 0; i < 2; i++)
      perp_swept_bounds_begin(hulls, i, (double[7]){ i * (2 * RADIUS + 0.1), 0, 0, 1 });
    perp_swept_bounds_components(hulls, root);
    ok((root[0] == root[1]) == (near_enough == 1), "hulls at 0.1 m %s with a margin of %g m",
       near_enough ? "meet" : "do not meet", near_enough ? 0.11 : 0.09);
    perp_swept_bounds_destroy(hulls);
    perp_model_destroy(model);
  }
}

/* ---- the model of some bodies ---- */

static void subsets(void)
{
  perp_model *model = run_model(&ctx, 3);
  for (int i = 0; i < 4; i++) pendulum(model, i, 0.3);
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_DISTANCE, .a = 1, .b = 3, .length = 2 });
  perp_force_def spring = {
    .kind = PERP_FORCE_SPRING, .a = 0, .b = 2, .stiffness = 5, .length = 2
  };
  run_force(&ctx, model, spring);
  perp_shape_def shape = { .kind = PERP_SHAPE_SPHERE, .radius = 0.1 };
  for (int i = 3; i >= -1; i--) { /* the last one on the world */
    shape.body = i;
    run_shape(&ctx, model, shape);
  }
  perp_model_gravity(model, 3);
  run_finish(&ctx, model);

  perp_subset odd;
  const int bodies[] = { 1, 3 };
  if (perp_subset_create(&ctx, model, bodies, 2, &odd) != PERP_OK) bail("%s", ctx.msg);
  ok(odd.n_bodies == 2 && odd.n_joints == 3 && odd.joint[0] == 1 && odd.joint[1] == 3 &&
         odd.joint[2] == 4,
     "subset: two bodies and the three joints on them");
  ok(odd.n_shapes == 3 && odd.shape[0] == 0 && odd.shape[1] == 2 && odd.shape[2] == 4 &&
         odd.model->shape_def[0].body == 1 && odd.model->shape_def[1].body == 0 &&
         odd.model->shape_def[2].body == PERP_WORLD,
     "subset: their shapes and that of the world, in order");
  ok(odd.model->n_forces == 0 && odd.model->gravity == 3, "subset: no spring of others; gravity");
  double q[14], v[12], back_q[28] = { 0 }, back_v[24] = { 0 };
  perp_subset_gather(&odd, perp_model_q0(model), perp_model_v0(model), q, v);
  ok(memcmp(q, perp_model_q0(odd.model), sizeof q) == 0, "subset: the initial state of the whole");
  perp_subset_scatter(&odd, q, v, back_q, back_v);
  ok(back_q[7] == 1 && back_q[21] == 3 && back_q[0] == 0 && back_q[14] == 0,
     "subset: scatter writes its own bodies only");
  perp_subset_destroy(&odd);

  const int torn[] = { 0, 1 };
  ok(perp_subset_create(&ctx, model, torn, 2, &odd) == PERP_ERR_ARG && odd.model == NULL &&
         strstr(ctx.msg, "joint 4 connects bodies 1 and 3") != NULL,
     "subset: a joint to the outside is refused: %s", ctx.msg);
  const int pulled[] = { 0 };
  ok(perp_subset_create(&ctx, model, pulled, 1, &odd) == PERP_ERR_ARG &&
         strstr(ctx.msg, "force 0 connects bodies 0 and 2") != NULL,
     "subset: so is a spring: %s", ctx.msg);
  perp_model_destroy(model);
}

/* ---- merging ---- */

/* two balls fly at each other, a third one and a pendulum are far away */
static perp_model *encounter(double e)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  ball(model, -0.5, 0, 1, e);
  ball(model, 0.5, 0, -1, e);
  ball(model, 0, 5, 1, e);
  pendulum(model, 20, 0.3);
  return run_finish(&ctx, model);
}

static void merging(void)
{
  perp_model *model = encounter(0);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "groups", "", "", "" }, H);
  const perp_group_count *count = perp_sim_groups(sim);
  ok(count->groups == 4 && count->most == 4, "merge: four groups at the start");
  /* the hulls meet at t = 0.4 s */
  run_to(&ctx, sim, 0.399);
  count = perp_sim_groups(sim);
  ok(count->groups == 4 && count->aborted == 0 && count->undone == 0,
     "merge: not before they meet");
  perp_step_info info;
  double t = at(sim), q0[28], v0[24];
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  memcpy(q0, q, sizeof q0), memcpy(v0, v, sizeof v0);
  int64_t rhs_before = count->rhs_bodies;
  for (int i = 0; i < 3 && count->groups == 4; i++) {
    perp_sim_step(&ctx, sim, HUGE_VAL, &info);
    count = perp_sim_groups(sim);
  }
  ok(count->groups == 3 && count->most == 4 && count->merges == 1 && count->aborted == 1,
     "merge: the two that meet, in one transaction that was run again");
  ok(count->undone == 2, "merge: their two advances were rolled back, no others (%ld)",
     (long)count->undone);
  /* 2 steps of 2 balls kept or thrown away, then one of both together, and the others once a step
   */
  int64_t steps = (int64_t)llround((at(sim) - t) / H);
  ok(count->rhs_bodies - rhs_before == 4 * steps + 2,
     "merge: cost: %ld body evaluations in %ld steps", (long)(count->rhs_bodies - rhs_before),
     (long)steps);
  perp_group_info first;
  perp_sim_group(sim, 0, &first);
  ok(first.bodies == 2 && first.first == 0 && first.steps == 1,
     "merge: the new group has two bodies");

  /* they end as one plastic impact wants it, and as in one system */
  double q1[28], v1[24];
  run_to(&ctx, sim, 0.6);
  perp_sim_state(sim, &t, &q, &v);
  run_fresh(&ctx, model, (run_parts){ "velocity", "", "", "" }, H, 0.6, q1, v1);
  near(v[0], 0, 1e-12, 0, "merge: a plastic impact stops the balls");
  double worst = 0;
  for (int i = 0; i < 28; i++) worst = fmax(worst, fabs(q[i] - q1[i]));
  ok(worst < 1e-12 && t == 0.6, "merge: the state of one global step (%.3g)", worst);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

static void hidden(void)
{
  /* shapes of one collision group never touch: no reason to merge */
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  for (int i = 0; i < 2; i++) {
    run_body(&ctx, model,
             (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x[0] = i, .v[0] = 1 - 2 * i });
    perp_shape_def shape = { .kind = PERP_SHAPE_SPHERE, .body = i, .radius = 0.1, .group = 7 };
    run_shape(&ctx, model, shape);
  }
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "groups", "", "", "" }, H);
  run_to(&ctx, sim, 1);
  const perp_group_count *count = perp_sim_groups(sim);
  ok(count->groups == 2 && count->aborted == 0, "merge: not shapes that cannot touch");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* ---- parting ---- */

static void parting(void)
{
  perp_model *model = encounter(1);
  static const char *const forms[] = { "groups:apart=0.05", "groups:apart=inf" };
  for (int i = 0; i < 2; i++) {
    perp_sim *sim = run_start(&ctx, model, (run_parts){ forms[i], "", "", "" }, H);
    run_to(&ctx, sim, 0.42);
    int together = perp_sim_groups(sim)->groups;
    run_to(&ctx, sim, 0.7);
    const perp_group_count *count = perp_sim_groups(sim);
    double t;
    const double *q, *v;
    perp_sim_state(sim, &t, &q, &v);
    if (i == 0)
      ok(together == 3 && count->groups == 4 && count->splits == 1 && count->merges == 1,
         "part: balls that bounced fall apart again, once");
    else
      ok(together == 3 && count->groups == 3 && count->splits == 0, "part: never with apart=inf");
    ok(fabs(v[0] + 1) < 1e-12 && fabs(v[6] - 1) < 1e-12, "%s: elastic impact", forms[i]);
    perp_sim_destroy(sim);
  }
  perp_model_destroy(model);
}

/* Boxes around balls that pass each other meet from 0.3 s to 0.7 s: apart=0.05 counts from there.
 */
static void passing(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  ball(model, 0, 0, 0, 0);
  run_body(
      &ctx, model,
      (perp_body_def){ .mass = perp_mass_sphere(1, RADIUS), .x = { -0.5, 0.15, 0.15 }, .v[0] = 1 });
  run_shape(&ctx, model,
            (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = 1, .radius = RADIUS });
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "groups:apart=0.05", "", "", "" }, H);
  run_to(&ctx, sim, 0.74);
  const int together = perp_sim_groups(sim)->groups;
  run_to(&ctx, sim, 0.76);
  ok(together == 1 && perp_sim_groups(sim)->groups == 2, "part: 0.05 s after the boxes did");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* ---- what a step reports ---- */

/* Two balls on the floor, the second rolls into the first; two pendulums with servos, one of which
 * turns by more than half a turn until a ball falls on it. */
static perp_model *plant(void)
{
  enum { BODIES = 5 };
  static const double x[BODIES][3] = {
    { 0.3, 0, 5 }, { 10, 0, 0.1 }, { 20.3, 0, 5 }, { 10.6, 0, 0.1 }, { 20.085, 0, 7.2 }
  };
  perp_model *model = run_model(&ctx, 3);
  floor_at_zero(model);
  for (int i = 0; i < BODIES; i++) {
    const int body = ball(model, x[i][0], x[i][2], i == 3 ? -1 : 0, 0);
    if (i != 0 && i != 2) continue;
    perp_joint_def hinge = { .kind = PERP_JOINT_HINGE,
                             .a = PERP_WORLD,
                             .b = body,
                             .anchor_a = { x[i][0] - 0.3, 0, 5 },
                             .anchor_b = { -0.3, 0, 0 },
                             .axis_a = { 0, 1, 0 },
                             .axis_b = { 0, 1, 0 } };
    run_joint(&ctx, model, hinge);
    run_drive(&ctx, model,
              (perp_drive_def){ .joint = i / 2,
                                .lower = -HUGE_VAL,
                                .upper = HUGE_VAL,
                                .target = i == 0 ? 0.2 : 5,
                                .stiffness = 10,
                                .damping = 2,
                                .max_force = HUGE_VAL });
  }
  return run_finish(&ctx, model);
}

/* forces of contacts on the bodies of the plant, whichever of them is the first one */
static void pushes(const perp_step_info *info, double h, double force[15])
{
  for (int i = 0; i < info->n_contacts; i++)
    for (int side = 0; side < 2; side++)
      for (int k = 0; info->contacts[i].body[side] >= 0 && k < 3; k++)
        force[3 * info->contacts[i].body[side] + k] += (side == 0 ? -1 : 1) *
                                                       info->impulse[3 * i + k] / h;
}

static double far(int n, const double *x, const double *y)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i] - y[i]));
  return most;
}

static void seen(void *user, const perp_contact_place *place, const perp_lcp *p,
                 const double *lambda, const perp_stats *stats)
{
  (void)place, (void)p, (void)lambda;
  *(int64_t *)user += stats != NULL;
}

/* Groups say the same as one step for all; `each`: of their steps there are so many in a common
 * one. */
static void reports(int each)
{
  enum { NQ = 35, NV = 30, M = 10 };
  perp_model *model = plant();
  char name[64];
  snprintf(name, sizeof name, "groups:idle=inf,apart=0.05,frame=%de-3,of=(velocity:reuse=false)",
           each);
  run_parts parts = { name, "", "", "", "block-gs:tol=1e-14", "cone" };
  perp_sim *sim = run_start(&ctx, model, parts, H);
  parts.formulation = "velocity:reuse=false";
  perp_sim *whole = run_start(&ctx, model, parts, H);
  int64_t problems = 0, calls = 0, known = 0;
  perp_sim_observe(sim, seen, &problems);
  double state = 0, forces = 0, drives = 0, rows = 0, drift = 0, most_drift = 0;
  for (; at(sim) < 0.9; calls++) {
    perp_step_info one, all = { .reason = PERP_EXACT };
    double force[2][15] = { { 0 } }, drive[2] = { 0 }, row[M] = { 0 }, t, worst = 0;
    const double *q[2], *v[2];
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &one) != PERP_OK) bail("%s", ctx.msg);
    for (int k = 0; k < each; k++) {
      if (perp_sim_step(&ctx, whole, HUGE_VAL, &all) != PERP_OK) bail("%s", ctx.msg);
      pushes(&all, each * H, force[1]);
      for (int i = 0; i < 2; i++) drive[i] += all.drive[i] / each;
      for (int i = 0; i < M && all.lambda != NULL; i++) row[i] += all.lambda[i] / each;
      worst = fmax(worst, all.drift_pos_pre);
    }
    pushes(&one, each * H, force[0]);
    perp_sim_state(sim, &t, &q[0], &v[0]);
    perp_sim_state(whole, &t, &q[1], &v[1]);
    state = fmax(state, fmax(far(NQ, q[0], q[1]), far(NV, v[0], v[1])));
    forces = fmax(forces, far(15, force[0], force[1]));
    drives = fmax(drives, far(2, one.drive, drive));
    drift = fmax(drift, fabs(one.drift_pos_pre - worst));
    most_drift = fmax(most_drift, worst);
    if (one.lambda == NULL || all.lambda == NULL) continue; /* first steps */
    rows = fmax(rows, far(M, one.lambda, row));
    known++;
  }
  const perp_group_count *count = perp_sim_groups(sim);
  ok(count->merges == 2 && count->splits >= 1, "reports: %ld mergers, %ld splits",
     (long)count->merges, (long)count->splits);
  ok(state < 1e-8 && forces < 1e-4 && drives < 1e-6 && rows < 1e-4 && known >= calls - 10,
     "reports, %d steps each: state (%.1e), forces of contacts (%.1e), drives (%.1e), joints "
     "(%.1e) "
     "are those of one system",
     each, state, forces, drives, rows);
  ok(drift < 1e-9 && most_drift > 1e-6, "reports, %d steps each: drift (%.1e of %.1e)", each, drift,
     most_drift);
  ok(perp_sim_contacts(sim)->problems == problems && problems > calls,
     "reports: problems of groups of the past count, and are shown (%ld, %ld)",
     (long)perp_sim_contacts(sim)->problems, (long)problems);
  perp_sim_destroy(sim);
  perp_sim_destroy(whole);
  perp_model_destroy(model);
}

/* ---- rollback ---- */

/* A pendulum, and a bead between two ropes that contradict each other: no acceleration exists. */
static void rollback(void)
{
  perp_model *model = run_model(&ctx, 3);
  pendulum(model, 5, 0.5);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x[0] = 1, .v[1] = 1 });
  for (int i = 0; i < 2; i++)
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_DISTANCE,
                                .a = PERP_WORLD,
                                .b = 1,
                                .anchor_a[0] = 3 * i,
                                .length = 1 + i });
  run_finish(&ctx, model);
  perp_sim *sim = run_start(
      &ctx, model, (run_parts){ "groups:of=(acceleration)", "rk4", "schur-dense", "none" }, H);
  for (int k = 0; k < 2; k++) {
    perp_step_info info;
    double t;
    const double *q, *v;
    perp_status status = perp_sim_step(&ctx, sim, 1, &info);
    perp_sim_state(sim, &t, &q, &v);
    const perp_group_count *count = perp_sim_groups(sim);
    ok(status == PERP_OK && info.reason == PERP_INFEASIBLE && t == 0 &&
           memcmp(q, perp_model_q0(model), 14 * sizeof *q) == 0 &&
           memcmp(v, perp_model_v0(model), 12 * sizeof *v) == 0,
       "rollback: one group cannot go on, all stay at the common time (%s)",
       perp_reason_name(info.reason));
    ok(count->undone == k + 1 && count->advanced == 0,
       "rollback: the pendulum had gone ahead, and went back (%ld)", (long)count->undone);
  }
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* ---- idle groups ---- */

static void idling(void)
{
  perp_model *model = run_model(&ctx, 3);
  floor_at_zero(model);
  ball(model, 0, RADIUS, 0, 0); /* at rest on the floor */
  ball(model, 0, 5, 0, 0);      /* falls on it at t = 0.98 s */
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "groups:idle=0.2", "", "", "" }, H);
  run_to(&ctx, sim, 0.19);
  ok(perp_sim_groups(sim)->idle == 0, "idle: not yet");
  run_to(&ctx, sim, 0.9);
  const perp_group_count *count = perp_sim_groups(sim);
  perp_group_info rest, falls;
  perp_sim_group(sim, 0, &rest);
  perp_sim_group(sim, 1, &falls);
  ok(count->idle == 1 && rest.idle && !falls.idle, "idle: the ball on the floor");
  ok(rest.steps <= 201 && falls.steps == 900 && count->skipped == 900 - rest.steps,
     "idle: it makes no steps: %ld of %ld", (long)rest.steps, (long)falls.steps);
  run_to(&ctx, sim, 1.1);
  count = perp_sim_groups(sim);
  ok(count->idle == 0 && count->groups == 1, "idle: woken by the ball that falls on it");
  perp_sim_destroy(sim);

  sim = run_start(&ctx, model, (run_parts){ "groups:idle=inf", "", "", "" }, H);
  run_to(&ctx, sim, 0.9);
  ok(perp_sim_groups(sim)->skipped == 0, "idle: never with idle=inf");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* ---- steps of their own ---- */

static void own_steps(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  ball(model, 0, 0, 0.5, 0);
  ball(model, 0, 5, 3.9, 0); /* needs four steps for 1 mm each */
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, RADIUS), .x[2] = 6 });
  /* which is slow, and of its group */
  run_force(&ctx, model,
            (perp_force_def){
                .kind = PERP_FORCE_SPRING, .a = 1, .b = 2, .stiffness = 1e-9, .length = 1 });
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "groups:travel=1e-3,frame=5e-3", "", "", "" },
                            H);
  perp_step_info info;
  perp_sim_step(&ctx, sim, HUGE_VAL, &info);
  perp_group_info slow, fast;
  perp_sim_group(sim, 0, &slow);
  perp_sim_group(sim, 1, &fast);
  near(at(sim), 5e-3, 1e-15, 0, "own steps: one call brings all to the next common time");
  ok(slow.steps == 5 && fast.steps == 20, "own steps: %ld and %ld of them", (long)slow.steps,
     (long)fast.steps);
  near(fast.h, H / 4, 1e-15, 0, "own steps: of h / 4");
  perp_sim_destroy(sim);

  /* under error control each group finds its own */
  perp_model *springs = run_model(&ctx, 3);
  perp_model_gravity(springs, 0);
  for (int i = 0; i < 2; i++) {
    run_body(&ctx, springs, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x[0] = 1.5 });
    perp_force_def spring = {
      .kind = PERP_FORCE_SPRING, .a = PERP_WORLD, .b = i, .stiffness = i == 0 ? 1 : 1e4, .length = 1
    };
    run_force(&ctx, springs, spring);
  }
  run_finish(&ctx, springs);
  sim = run_start(&ctx, springs,
                  (run_parts){ "groups:frame=1,idle=inf", "dopri5:tol=1e-9", "", "" }, H);
  run_to(&ctx, sim, 2);
  perp_sim_group(sim, 0, &slow);
  perp_sim_group(sim, 1, &fast);
  double t;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  perp_ode_counters ode;
  perp_sim_counters(sim, &ode, NULL);
  ok(ode.h_most * (double)slow.steps >= 2 && ode.h_least * (double)fast.steps <= 2 &&
         ode.steps == 2,
     "own steps: from %.2g s to %.2g s, %ld that all make together", ode.h_least, ode.h_most,
     (long)ode.steps);
  ok(fast.steps > 20 * slow.steps, "own steps: the stiff spring makes %ld, the soft one %ld",
     (long)fast.steps, (long)slow.steps);
  near(q[0], 1 + 0.5 * cos(2), 1e-7, 0, "own steps: the soft spring against its closed form");
  near(q[7], 1 + 0.5 * cos(200), 1e-4, 0, "own steps: the stiff one");
  perp_sim_destroy(sim);

  /* below 0.05 m/s for 0.2 s where the soft one turns, and not for 0.25 s */
  sim = run_start(&ctx, springs, (run_parts){ "groups:still=0.05,idle=0.25", "rk4", "", "" }, H);
  run_to(&ctx, sim, 7);
  perp_sim_state(sim, &t, &q, &v);
  near(q[0], 1 + 0.5 * cos(7), 1e-9, 0, "idle: turning points are not added up");
  perp_sim_destroy(sim);
  perp_model_destroy(springs);
  perp_model_destroy(model);
}

static void refusals(void)
{
  static const struct {
    run_parts parts;
    const char *what;
  } cases[] = {
    { { "groups:of=(groups)", "", "", "" }, "nested groups are not supported" },
    { { "groups:of=(ggl)", "", "", "" }, "does not support models with colliding shapes" },
    { { "groups:of=(velocity)", "rk4", "", "" }, "one evaluation per step" },
  };
  perp_model *model = encounter(0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_parts parts;
    perp_sim *sim = NULL;
    if (run_parse(&ctx, &cases[i].parts, &parts) != PERP_OK) bail("%s", ctx.msg);
    ok(perp_sim_create(&ctx, model, &parts, H, &sim) == PERP_ERR_UNSUPPORTED && sim == NULL &&
           strstr(ctx.msg, cases[i].what) != NULL,
       "refused: %s", ctx.msg);
    run_free(&parts);
  }
  perp_model_destroy(model);
}

/* the first body stays out of the merger of others, and is not counted */
static void bystander(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  ball(model, 0, 5, 0.1, 0);
  ball(model, -0.5, 0, 1, 0);
  ball(model, 0.5, 0, -1, 0);
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "groups", "", "", "" }, H);
  run_to(&ctx, sim, 0.41);
  const perp_group_count *count = perp_sim_groups(sim);
  ok(count->groups == 2 && count->merges == 1 && count->aborted == 1 && count->undone == 2,
     "two of three merge: %d groups, %ld merger, %ld advances undone", count->groups,
     (long)count->merges, (long)count->undone);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  meeting(16, 0.8);
  meeting(40, 1.2);
  margin();
  subsets();
  merging();
  bystander();
  hidden();
  parting();
  passing();
  reports(1);
  reports(2);
  rollback();
  idling();
  own_steps();
  refusals();
  return tap_done();
}
