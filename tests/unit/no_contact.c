/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs of bodies that do not collide, and overlaps in the initial state, against depths that the
 * layout says: two boxes on one axis, of generated sizes, joined to the world or to each other. */
#include "models/collision/collision.h"
#include "models/collision/start.h"
#include "tests/run_model.h"

#include <stdlib.h>

static perp_ctx ctx;

static void box(perp_model *m, int body, double edge)
{
  const perp_shape_def def = { .kind = PERP_SHAPE_BOX,
                               .body = body,
                               .half = { edge / 2, edge / 2, edge / 2 } };
  run_shape(&ctx, m, def);
}

/* Boxes with the given edges, at 0 and at x; joined by a third, thin body between them. */
static perp_model *pair(double edge, double other, double x, bool joined)
{
  perp_model *m = run_model(&ctx, 3);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, edge, edge, edge) });
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(2, other, other, other), .x = { x } });
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x = { 0, 5 } });
  box(m, 0, edge);
  box(m, 1, other);
  box(m, 1, 0.999 * other); /* overlaps less */
  for (int i = 0; i < 2 && joined; i++)
    run_joint(&ctx, m,
              (perp_joint_def){ .kind = PERP_JOINT_BALL,
                                .a = i,
                                .b = 2,
                                .anchor_a = { i == 0 ? 0 : -x, 5 },
                                .collide = true });
  run_finish(&ctx, m);
  return m;
}

static int overlaps(const perp_model *m, double *depth)
{
  perp_start_overlap *list;
  int n;
  if (perp_start_overlaps(&ctx, m, &list, &n) != PERP_OK) bail("%s", ctx.msg);
  *depth = n > 0 ? list[0].depth : 0;
  free(list);
  return n;
}

static void variants(void)
{
  for (int i = 0; i < 20; i++) {
    const double edge = 0.1 + 0.05 * i, other = 0.4, deep = 0.002 * (i + 1),
                 x = (i % 2 == 0 ? 1 : -1) * ((edge + other) / 2 - deep);
    const bool joined = i % 3 != 0;
    perp_model *m = pair(edge, other, x, joined);
    double depth, said;
    int a, b;
    ok(overlaps(m, &depth) == 1, "boxes of %g and %g m overlap", edge, other);
    near(depth, deep, 1e-12, 0, "by %g m", deep);
    ok(perp_start_filter(&ctx, m) == PERP_OK, "what overlaps as drawn is filtered");
    ok(perp_model_no_contact(m, 1, 0) == joined && overlaps(m, &depth) == !joined,
       "where a chain of joints connects the bodies: %s", joined ? "yes" : "no");
    if (joined)
      ok(perp_model_no_contact_of(m, 0, &a, &b, &said) && a == 0 && b == 1 && said > 0.9 * deep,
         "and the model has the depth");
    perp_model_destroy(m);
  }
}

static void refused(void)
{
  perp_model *m = pair(1, 1, 3, false);
  double depth;
  ok(overlaps(m, &depth) == 0, "boxes that are apart do not overlap");
  ok(perp_model_add_no_contact(&ctx, m, 0, 0, 0) == PERP_ERR_ARG, "a body and itself");
  ok(perp_model_add_no_contact(&ctx, m, 0, 7, 0) == PERP_ERR_ARG, "a body that does not exist");
  ok(perp_model_collides(m), "two boxes may touch");
  ok(perp_model_add_no_contact(&ctx, m, 1, 0, 0) == PERP_OK && !perp_model_collides(m),
     "but not where they have no contact");
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  variants();
  refused();
  return tap_done();
}
