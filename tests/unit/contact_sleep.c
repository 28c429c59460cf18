/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sleep: what has come to rest stays where it is and costs no problems; what touches it, or a force
 * that changes, wakes its island and no other. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double h = 1e-2;
enum { ROWS = 3, COLUMNS = 3, WALL = 6, BALL = 2 * WALL };

static void shape(perp_model *model, int body, perp_shape_kind kind)
{
  perp_shape_def def = { .kind = kind,
                         .body = body,
                         .radius = 0.15,
                         .half = { 0.2, 0.1, 0.1 },
                         .surface = { .mu = 0.5, .mu_dynamic = 0.5 } };
  run_shape(&ctx, model, def);
}

/* two walls of 6 bricks (3, 2, 1), and a ball thrown at the first, which it reaches after 1.5 s */
static perp_model *walls(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 9.81);
  shape(model, PERP_WORLD, PERP_SHAPE_PLANE);
  for (int w = 0; w < 2; w++)
    for (int row = 0; row < ROWS; row++)
      for (int i = 0; i < COLUMNS - row; i++)
        shape(
            model,
            run_body(&ctx, model,
                     (perp_body_def){ .mass = perp_mass_box(1, 0.4, 0.2, 0.2),
                                      .x = { 0.41 * i + 0.205 * row, 3.0 * w, 0.1 + 0.2 * row } }),
            PERP_SHAPE_BOX);
  perp_body_def ball = { .mass = perp_mass_sphere(1, 0.15),
                         .x = { 0.4, -3.2, 0.3 },
                         .v = { 0, 2.05, 0 } };
  ball.v[2] = 0.5 * 9.81 * 1.45; /* a throw that comes back after 1.45 s */
  shape(model, run_body(&ctx, model, ball), PERP_SHAPE_SPHERE);
  return run_finish(&ctx, model);
}

typedef struct story {
  int before, after;       /* bodies asleep before the hit, and just after */
  double moved, moved_far; /* of bricks asleep before the hit; of the other wall to the end */
  double struck;           /* speed of the ball after the step that ends at 1.46 s */
  int64_t problems;        /* while both walls slept */
  double q[7 * (2 * WALL + 1)], v[6 * (2 * WALL + 1)];
} story;

static void tell(perp_model *model, const char *formulation, const char *contact, story *s)
{
  perp_sim *sim = run_start(
      &ctx, model, (run_parts){ .formulation = formulation, .lcp = "dantzig", .contact = contact },
      h);
  perp_step_info info;
  double t, start[7 * 2 * WALL], first[7 * 2 * WALL];
  const double *q, *v;
  int asleep = 0;
  bool hit = false;
  *s = (story){ 0 };
  perp_sim_state(sim, &t, &q, &v);
  memcpy(first, q, sizeof first);
  memcpy(start, q, sizeof start);
  for (int k = 0; k < 250; k++) {
    int64_t solved = perp_sim_contacts(sim)->problems + perp_sim_contacts(sim)->reused;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s %s", perp_reason_name(info.reason), ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    if (!hit && info.asleep == 2 * WALL && asleep == 2 * WALL) {
      s->problems += perp_sim_contacts(sim)->problems + perp_sim_contacts(sim)->reused - solved;
      for (int i = 0; i < 7 * 2 * WALL; i++) s->moved = fmax(s->moved, fabs(q[i] - start[i]));
    }
    if (info.asleep == 2 * WALL && asleep < 2 * WALL) memcpy(start, q, sizeof start);
    if (!hit && asleep == 2 * WALL && info.asleep < asleep) {
      s->before = asleep;
      s->after = info.asleep;
      hit = true;
    }
    asleep = info.asleep;
    if (k == 145) s->struck = v[6 * BALL + 1];
  }
  for (int i = 7 * WALL; i < 7 * 2 * WALL; i++)
    s->moved_far = fmax(s->moved_far, fabs(q[i] - first[i]));
  memcpy(s->q, q, sizeof s->q);
  memcpy(s->v, v, sizeof s->v);
  perp_sim_destroy(sim);
}

static void test_walls(void)
{
  static story off, late, on, two;
  perp_model *model = walls();
  tell(model, "velocity", "box", &off);
  tell(model, "velocity:sleep=true,sleep_time=100", "box", &late);
  tell(model, "velocity:sleep=true,sleep_time=0.3", "box", &on);
  tell(model, "velocity:sleep=true,sleep_time=0.3,threads=2", "box", &two);
  ok(memcmp(off.q, late.q, sizeof off.q) == 0 && memcmp(off.v, late.v, sizeof off.v) == 0,
     "nobody asleep: the bits of a run without sleep");
  ok(memcmp(on.q, two.q, sizeof on.q) == 0 && memcmp(on.v, two.v, sizeof on.v) == 0,
     "on two threads: the same bits");
  ok(on.before == 2 * WALL, "both walls sleep: %d of %d bricks", on.before, 2 * WALL);
  ok(on.moved == 0, "asleep they do not move: %g", on.moved);
  ok(on.problems == 0, "and cost no problems: %d", (int)on.problems);
  ok(on.after == WALL, "the ball wakes the wall it hits and not the other: %d asleep", on.after);
  /* solutions leave 1e-8 of the impulses of the weight in each step */
  below(on.moved_far, 1e-6, "the other wall stands where it stood");
  /* without friction the velocities after the hit are unique: solutions to 1e-8 */
  tell(model, "velocity", "frictionless", &off);
  tell(model, "velocity:sleep=true,sleep_time=0.3", "frictionless", &on);
  ok(on.before == 2 * WALL && on.after == WALL, "frictionless: %d, then %d asleep", on.before,
     on.after);
  near(on.struck, off.struck, 1e-4, 0, "the ball loses what it loses without sleep");
  below(on.struck, 1.9, "which is not nothing: it goes on with %g m/s", on.struck);
  perp_model_destroy(model);
}

/* A brick held by a spring to a swinging weight: the force on it changes, and it wakes. */
static void test_forces(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 9.81);
  shape(model, PERP_WORLD, PERP_SHAPE_PLANE);
  for (int i = 0; i < 2; i++)
    shape(model,
          run_body(&ctx, model,
                   (perp_body_def){ .mass = perp_mass_box(1, 0.4, 0.2, 0.2), .x = { i, 0, 0.1 } }),
          PERP_SHAPE_BOX);
  int bob = run_body(&ctx, model,
                     (perp_body_def){ .mass = perp_mass_sphere(0.1, 0.1), .x = { 0, 3, 4 } });
  perp_force_def spring = {
    .kind = PERP_FORCE_SPRING, .a = 0, .b = bob, .stiffness = 0.1, .length = 1
  };
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_BALL,
                              .a = PERP_WORLD,
                              .b = bob,
                              .anchor_a = { 0, 2, 4 },
                              .anchor_b = { 0, -1, 0 } });
  run_force(&ctx, model, spring);
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model,
                            (run_parts){ .formulation = "velocity:sleep=true,sleep_time=0.2",
                                         .lcp = "dantzig",
                                         .contact = "box" },
                            h);
  perp_step_info info;
  int most = 0;
  for (int k = 0; k < 100; k++) {
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s %s", perp_reason_name(info.reason), ctx.msg);
    if (k > 20 && k % 21 != 0 && info.asleep > most) most = info.asleep;
  }
  ok(info.asleep >= 1, "the free brick sleeps");
  ok(most <= 2, "the bob does not");
  /* asleep for one step at most: its clock runs, but the force has changed by the next one */
  int awake = 0;
  for (int k = 0; k < 50; k++) {
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
    awake += info.asleep == 1;
  }
  ok(awake >= 40, "the brick on the spring is woken again and again: awake in %d of 50 steps",
     awake);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* A brick that a motor drags along beside one that sleeps, more slowly than what falls asleep. */
static void test_motor(void)
{
  const double speed = 1e-4;
  perp_model *model = run_model(&ctx, 3);
  shape(model, PERP_WORLD, PERP_SHAPE_PLANE);
  for (int i = 0; i < 2; i++)
    shape(model,
          run_body(&ctx, model,
                   (perp_body_def){ .mass = perp_mass_box(1, 0.4, 0.2, 0.2), .x = { 0, i, 0.1 } }),
          PERP_SHAPE_BOX);
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_SLIDER,
                              .a = PERP_WORLD,
                              .b = 0,
                              .axis_a = { 1 },
                              .axis_b = { 1 },
                              .anchor_a = { 0, 0, 0.1 } });
  run_drive(&ctx, model,
            (perp_drive_def){
                .lower = -HUGE_VAL, .upper = HUGE_VAL, .velocity = speed, .max_force = 100 });
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model,
                            (run_parts){ .formulation = "velocity:sleep=true,sleep_time=0.2" }, h);
  perp_step_info info = { .asleep = 0 };
  double t;
  const double *q, *v;
  for (int k = 0; k < 100; k++)
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s", ctx.msg);
  perp_sim_state(sim, &t, &q, &v);
  ok(info.asleep == 1, "beside a motor one brick of two sleeps (%d)", info.asleep);
  near(q[0], speed * t, 0, 1e-6, "the slow motor drags the other one along");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_walls();
  test_forces();
  test_motor();
  return tap_done();
}
