/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of pairs that may touch: when it is made anew and when it is kept, and that it misses
 * nothing. */
#include "models/collision/broad.h"
#include "tests/run_model.h"

#include <stdlib.h>

static perp_ctx ctx;

enum { BALLS = 3, UNTOUCHED = -77 };

static perp_model *balls(void)
{
  perp_model *model = run_model(&ctx, 3);
  for (int i = 0; i < BALLS; i++) {
    perp_body_def def = { .mass = perp_mass_sphere(1, 0.5), .x = { 1.005 * i, 0, 0 } };
    perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .radius = 0.5 };
    ball.body = run_body(&ctx, model, def);
    run_shape(&ctx, model, ball);
  }
  return run_finish(&ctx, model);
}

/* Bodies that a joint connects do not collide: every one of a chain, the last one too. */
static void neighbours(void)
{
  perp_model *model = run_model(&ctx, 3);
  for (int i = 0; i < BALLS; i++) {
    perp_body_def def = { .mass = perp_mass_sphere(1, 0.5), .x = { 0.5 * i, 0, 0 } };
    perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .radius = 0.5 };
    ball.body = run_body(&ctx, model, def);
    run_shape(&ctx, model, ball);
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_BALL,
                                .a = i - 1,
                                .b = i,
                                .anchor_a = { i == 0 ? -0.25 : 0.25 },
                                .anchor_b = { -0.25 } });
  }
  model = run_finish(&ctx, model);
  perp_broad b;
  if (perp_broad_init(&ctx, &b, model, 0.01) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < BALLS; i++)
    for (int j = 0; j < BALLS; j++)
      ok(perp_broad_may_touch(&b, i, j) == (abs(i - j) > 1), "links %d and %d", i, j);
  perp_broad_free(&b);
  perp_model_destroy(model);
}

/* Is the list made anew with this margin and the poses as they are? */
static bool anew(perp_broad *b, const perp_pose *pose, double margin)
{
  const int n = b->n_pairs;
  b->margin = margin;
  b->n_pairs = UNTOUCHED;
  if (perp_broad_update(&ctx, b, pose) != PERP_OK) bail("%s", ctx.msg);
  if (b->n_pairs != UNTOUCHED) return true;
  b->n_pairs = n;
  return false;
}

/* A half-space of a body comes up to a ball that stays where it is. */
static void half_space(int dim)
{
  perp_model *model = run_model(&ctx, dim);
  const perp_body_def def = { .mass = perp_mass_sphere(1, 0.5) };
  run_shape(&ctx, model,
            (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = run_body(&ctx, model, def) });
  run_shape(&ctx, model,
            (perp_shape_def){
                .kind = PERP_SHAPE_SPHERE, .radius = 0.5, .body = run_body(&ctx, model, def) });
  model = run_finish(&ctx, model);
  perp_broad b;
  perp_pose pose[2] = { { { 0 }, { 0 } } };
  if (perp_broad_init(&ctx, &b, model, 0.01) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < dim; k++) pose[i].R[(dim + 1) * k] = 1;
  pose[0].x[dim - 1] = -5;
  ok(anew(&b, pose, 0.01) && b.n_pairs == 0, "dim %d: a half-space far below a ball", dim);
  ok(!anew(&b, pose, 0.01), "dim %d: at rest the list is kept", dim);
  pose[0].x[dim - 1] = -0.5;
  ok(anew(&b, pose, 0.01) && b.n_pairs == 1, "dim %d: it comes up to the ball", dim);
  perp_broad_free(&b);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  perp_model *model = balls();
  perp_broad b;
  const double margin = 0.01;
  if (perp_broad_init(&ctx, &b, model, margin) != PERP_OK) bail("%s", ctx.msg);
  perp_pose pose[BALLS] = { { { 0 }, { 0 } } };
  for (int i = 0; i < BALLS; i++) {
    pose[i].x[0] = 1.005 * i;
    for (int k = 0; k < 3; k++) pose[i].R[4 * k] = 1;
  }
  ok(anew(&b, pose, margin) && b.n_pairs == 2, "two pairs of three balls are near");
  ok(!anew(&b, pose, margin), "at rest the list is kept");
  ok(!anew(&b, pose, 1.4 * margin), "... with a margin that is somewhat larger");
  ok(!anew(&b, pose, 0.5 * margin), "... or smaller");
  ok(anew(&b, pose, 1.6 * margin), "... but not with one that is much larger");
  pose[2].x[0] += 0.001;
  ok(!anew(&b, pose, 1.6 * margin), "a motion within the slack keeps it");
  pose[2].x[0] += 5;
  ok(anew(&b, pose, 1.6 * margin) && b.n_pairs == 1, "one beyond does not, and the pair is gone");
  pose[2].x[0] -= 5;
  ok(anew(&b, pose, 1.6 * margin) && b.n_pairs == 2, "and comes back");
  perp_broad_free(&b);
  perp_model_destroy(model);
  neighbours();
  half_space(2);
  half_space(3);
  return tap_done();
}
