/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scene files that come with perp: each is short, is read, and its runs agree with its own
 * truth on both levels. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "tests/tap.h"
#include "experiments/base/files.h"

#include <string.h>
#include <unistd.h>

static perp_ctx ctx;

static int lines_of(const char *name)
{
  char *text = perp_read_file(name, NULL);
  int n = 0;
  if (text == NULL) bail("%s is missing", name);
  for (const char *s = text; *s != '\0'; s++) n += *s == '\n';
  free(text);
  return n;
}

/* A run of a scene file to its end: how far its tip is from the truth then, and for scenes with
 * gauges the value of the first; *rate: the angular velocity of body 0 after its first impact. */
static double off(const char *name, const char *formulation, const char *ode, double h,
                  double *rate)
{
  perp_spec spec;
  perp_scene s;
  perp_parts parts = { 0 };
  perp_sim *sim;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, name, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &s) != PERP_OK ||
      perp_spec_parse(&ctx, PERP_KIND_formulation, formulation, &parts.formulation) != PERP_OK ||
      perp_spec_parse(&ctx, PERP_KIND_ode, ode, &parts.ode) != PERP_OK ||
      perp_sim_create(&ctx, s.model, &parts, h, &sim) != PERP_OK)
    bail("%s", ctx.msg);
  double t = 0, off = 0;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  if (s.n_gauges > 0) {
    s.gauge[0].restart(s.gauge[0].user);
    s.gauge[0].sample(s.gauge[0].user, t, q, v, NULL);
  }
  *rate = 0;
  while (t < s.t_end) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, s.t_end, &info) != PERP_OK || info.reason < 0)
      bail("%s: a step fails", name);
    perp_sim_state(sim, &t, &q, &v);
    const perp_contact_count *count = perp_sim_contacts(sim);
    if (*rate == 0 && count != NULL && count->impacts > 0) *rate = v[2];
    if (s.n_gauges > 0) s.gauge[0].sample(s.gauge[0].user, t, q, v, &info);
  }
  if (s.n_truths > 0) {
    double p[3] = { 0 }, exact[3] = { 0 };
    double *q_ref = perp_xalloc((size_t)perp_model_nq(s.model), sizeof *q_ref);
    double *v_ref = perp_xalloc((size_t)perp_model_nv(s.model), sizeof *v_ref);
    if (s.truth[0].state(s.truth[0].user, &ctx, s.t_end, q_ref, v_ref) != PERP_OK)
      bail("%s", ctx.msg);
    perp_model_point(s.model, q, s.tip_body, s.tip, p);
    perp_model_point(s.model, q_ref, s.tip_body, s.tip, exact);
    for (int i = 0; i < 3; i++) off = fmax(off, fabs(p[i] - exact[i]));
    free(q_ref);
    free(v_ref);
  } else
    off = s.gauge[0].value(s.gauge[0].user);
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
  perp_parts_free(&parts);
  perp_spec_free(&spec);
  return off;
}

int main(void)
{
  static const struct {
    const char *name, *unit;
    double accurate,
        steps; /* bounds: acceleration level with a small tolerance; velocity level in steps h */
    double h;
  } all[] = { { "vibrating-pendulum.yaml", "m", 1e-8, 2e-4, 1e-4 },
              { "belt.yaml", "m", 2e-4, 5e-3, 1e-3 },
              { "rocking.yaml", "s", 1e-6, 1e-2, 2e-4 },
              { "six-bar.yaml", "m", 1e-9, 2e-3, 1e-3 },
              { "sleigh.yaml", "m", 1e-8, 2e-3, 1e-3 },
              { "boxes.yaml", "m", 1e-9, 2e-3, 1e-3 },
              { "boxes-four-bar.yaml", "m", 1e-9, 3e-3, 1e-3 },
              { "walker.yaml", "m", 1e-9, 3e-4, 1e-3 },
              { "biped.yaml", "m", 1e-9, 3e-3, 1e-3 },
              { "loop-arch.yaml", "m", 1e-9, 5e-3, 1e-3 },
              { "slider-crank-clearance.yaml", "m", 1.5e-4, 3e-4, 1e-5 },
              { "woodpecker.yaml", "s", 1e-4, 2e-2, 1e-4 } };
  const char *source = getenv("PERP_SOURCE");
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  if (perp_scene_files_register(&ctx) != PERP_OK) bail("%s", ctx.msg);
  char *path = perp_xprintf("%s/experiments/scenes/examples", source != NULL ? source : ".");
  if (chdir(path) != 0) bail("%s", path);
  free(path);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const char *name = all[i].name;
    double rate;
    ok(lines_of(name) <= 40, "%s: %d lines", name, lines_of(name));
    const double fine = off(name, "acceleration:slip=1e-9", "dop853:tol=1e-10", 1e-3, &rate);
    below(fine, all[i].accurate, "%s, acceleration: off by %.2g %s", name, fine, all[i].unit);
    if (strcmp(name, "rocking.yaml") == 0) {
      /* 2/3 R w^2 = g (cos(alpha - tilt) - cos(alpha)), and of that w what Housner leaves */
      const double R = sqrt(1.04) / 2, alpha = atan2(0.2, 1);
      const double w = sqrt(1.5 * 9.81 / R * (cos(alpha - 0.05) - cos(alpha)));
      near(rate, w * (1 - 1.5 * pow(sin(alpha), 2)), 1e-6, 0, "%s: the rate that Housner leaves",
           name);
    }
    const double coarse = off(name, "velocity", "symplectic-euler", all[i].h, &rate);
    below(coarse, all[i].steps, "%s, velocity: off by %.2g %s", name, coarse, all[i].unit);
  }
  /* a projection that opens the contacts of the feet by what it moves lets them slide, 3 mm */
  double rate;
  const double feet = off("biped.yaml", "moreau-jean:projection=combined", "euler", 2e-3, &rate);
  below(feet, 5e-5, "biped.yaml, moreau-jean with projection: off by %.2g m", feet);
  return tap_done();
}
