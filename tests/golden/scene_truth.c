/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenes with a truth of their own, each option varied: where the bodies go against the closed
 * form.  The scene knows no solver and the solver no closed form, so that one is the judge of the
 * other. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "models/contact/laws/impact.h"
#include "tests/guard/golden.h"
#include "tests/run_model.h"

static perp_ctx ctx;

/* The scene's figure after a run with the defaults; NaN where the scene refuses the option. */
static double figure(const char *text, const char *formulation)
{
  perp_spec spec;
  perp_scene s;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  const perp_status status = perp_scene_create(&ctx, &spec, &s);
  perp_spec_free(&spec);
  if (status != PERP_OK) return (double)NAN;
  /* on the velocity level by exact pivots: the scene is judged here, not the tolerance of its
   * default */
  run_parts parts = { .formulation = formulation };
  if (strncmp(formulation, "velocity", 8) == 0 && perp_model_shapes(s.model) > 0)
    parts.lcp = "dantzig:start=bpp";
  perp_sim *sim = run_start(&ctx, s.model, parts, s.h);
  perp_measure *m;
  if (perp_measure_create(&ctx, &s, &m) != PERP_OK) bail("%s", ctx.msg);
  perp_step_info info = { .reason = PERP_EXACT };
  const int nq = perp_model_nq(s.model), nv = perp_model_nv(s.model);
  double t, *ref = calloc((size_t)(nq + nv) + 1, sizeof *ref);
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  perp_measure_state(m, t, q, v, NULL);
  while (t < s.t_end) {
    if (perp_sim_step(&ctx, sim, s.t_end, &info) != PERP_OK) bail("%s", ctx.msg);
    if (info.reason < 0) break;
    perp_sim_state(sim, &t, &q, &v);
    perp_measure_state(m, t, q, v, &info);
    if (s.n_truths > 0 && t <= s.truth[0].t_end && s.truth[0].next_time(s.truth[0].user, t) == t &&
        s.truth[0].state(s.truth[0].user, &ctx, t, ref, ref + nq) == PERP_OK)
      perp_measure_compare(&ctx, m, q, v, ref, ref + nq);
  }
  const perp_metric_desc *d = (const perp_metric_desc *)perp_find(&ctx, PERP_KIND_metric,
                                                                  "truth.err");
  double worst = info.reason < 0 ? HUGE_VAL : d->value(m);
  for (int i = 0; i < s.n_gauges; i++) { /* all that it has, but that of another law of impact */
    const double x = s.gauge[i].value(s.gauge[i].user);
    if (strstr(s.gauge[i].metric, "together") == NULL && x > worst) worst = x;
  }
  perp_measure_destroy(m);
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
  free(ref);
  return isnan(worst) ? HUGE_VAL : worst;
}

static const struct {
  const char *scene, *formulation;
  double most;
  int least; /* runs */
} known[] = {
  { "rod-impact", "acceleration", 1e-13, 14 },
  { "oblique-impact", "acceleration", 1e-13, 14 },
  { "flat-impacts", "acceleration", 1e-13, 8 },
  { "flat-impacts", "velocity", 1e-13, 8 },
  { "impact-chain", "acceleration", 1e-13, 14 },
  { "impact-chain", "velocity", 1e-12, 14 },
  { "motor", "acceleration", 1e-13, 8 },
  { "motor", "velocity", 1e-13, 8 },
  { "stop", "acceleration", 1e-3, 8 },
  { "stop", "velocity", 1e-3, 8 },
  { "pusher", "acceleration", 1e-12, 10 },
  { "pusher", "velocity", 1e-12, 10 },
  { "incline", "acceleration", 1e-12, 18 },
  { "incline", "velocity", 1e-12, 18 },
  { "desk", "velocity", 1e-11, 14 },
  { "desk", "acceleration", 1e-10, 14 },
  { "rolling-sphere", "velocity", 5e-3, 14 },
  { "rolling-slope", "velocity", 1e-11, 14 },
  { "wedge", "velocity", 1e-8, 14 },
  { "soft", "velocity", 1e-13, 10 },
  { "joint-cycles", "acceleration", 1e-2, 15 },
  { "mass-ratio", "acceleration", 1e-7, 14 },
  { "coulomb-oscillator", "acceleration", 1e-3, 12 },
  { "bouncing-ball", "velocity", 0.1, 12 },
  { "crush", "velocity", 2e-3, 10 },
  /* of complaints: docs/explanation/complaints.md */
  { "pinch", "velocity", 1e-6, 10 },
  { "launched-box", "velocity", 2e-2, 10 }, /* v h / 2, over the way */
  { "welded-blocks", "velocity", 1e-12, 10 },
  { "box-on-box", "acceleration", 1e-11, 10 },
  { "paddles", "acceleration", 1e-11, 5 },
  { "ring-on-rod", "acceleration", 1e-11, 9 },
  { "tower", "velocity", 1e-8, 8 },
  { "fast-ball", "acceleration", 1e-9, 8 },
  { "racket", "velocity", 2e-3, 5 },
  { "at-limit", "velocity", 1e-10, 5 },
};

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK ||
      perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const perp_desc *d = perp_find(&ctx, PERP_KIND_scene, known[i].scene);
    double worst = figure(known[i].scene, known[i].formulation);
    char where[160] = "", value[32], text[160];
    int runs = 1;
    for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++)
      for (int k = 0; golden_option(o, k, value, sizeof value); k++) {
        snprintf(text, sizeof text, "%s:%s=%s", d->name, o->key, value);
        const char *formulation = known[i].formulation;
        char law[128];
        for (int name = PERP_IMPACT_POISSON; perp_impact_names[name] != NULL; name++)
          if (strcmp(value, perp_impact_names[name]) == 0) {
            snprintf(law, sizeof law, "%.40s:impact=%.40s", formulation, value);
            formulation = law;
          }
        const double x = figure(text, formulation);
        if (isnan(x)) continue;
        runs++;
        if (x > worst) worst = x, snprintf(where, sizeof where, "%s", text);
      }
    ok(worst <= known[i].most && runs >= known[i].least,
       "%s, %s: %d values of options, truth within %.2g, %s", known[i].scene, known[i].formulation,
       runs, worst, where);
  }
  return tap_done();
}
