/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/run_model.h"

static perp_ctx ctx;

enum { IMPACTS = 4 };
static const double housner[IMPACTS] = { 0.211563678823696609, 0.600016919975425845,
                                         0.958213956323224262, 1.28965583687494362 };

static perp_model *rocking(void)
{
  const double w = 0.2, h = 1, tilt = 0.05, R = 0.5 * sqrt(w * w + h * h), alpha = atan2(w, h);
  perp_model *m = run_model(&ctx, 2);
  perp_body_def block = { .mass = perp_mass_box(100, w, h, 1),
                          .x = { w / 2 - R * sin(alpha - tilt), R * cos(alpha - tilt) },
                          .angle = -tilt };
  const double I = 100 * (w * w + h * h) / 12;
  block.mass.inertia[8] = I;
  perp_shape_def box = { .kind = PERP_SHAPE_BOX, .half = { w / 2, h / 2, 0.5 }, .surface = { 2, (double)NAN, 0 } };
  perp_shape_def plane = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = { 2, (double)NAN, 0 } };
  run_body(&ctx, m, block);
  if (perp_model_add_shape(&ctx, m, &box, NULL) != PERP_OK || perp_model_add_shape(&ctx, m, &plane, NULL) != PERP_OK) bail("%s", ctx.msg);
  return run_finish(&ctx, m);
}

int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (double h = 0.04; h > 0.002; h /= 2) {
    perp_model *m = rocking();
    perp_sim *sim = run_start(&ctx, m, (run_parts){ "acceleration", "rk4", .stab = argc > 1 ? argv[1] : NULL, .contact = "box",.lcp="dantzig" }, h);
    double t;
    const double *q, *v;
    perp_step_info info = { .reason = PERP_EXACT };
    int64_t impacts = 0;
    perp_sim_state(sim, &t, &q, &v);
    while (t < 1.4 && info.reason >= 0) {
      if (perp_sim_step(&ctx, sim, 1.4, &info) != PERP_OK) bail("%s", ctx.msg);
      perp_sim_state(sim, &t, &q, &v);
      if (perp_sim_contacts(sim)->impacts > impacts) {
        if (impacts < IMPACTS) printf("h %g impact %d at %.15g err %.3g  q %.12g %.12g %.12g v %g %g %g\n", h, (int)impacts, t, t - housner[impacts],q[0],q[1],q[2],v[0],v[1],v[2]);
        impacts = perp_sim_contacts(sim)->impacts;
      }
    }
    perp_sim_destroy(sim);
    perp_model_destroy(m);
  }
  return tap_done();
}
