/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every metric of the registry owes: a number or NaN at any point of any run, twice the same,
 * and no change of what it reads. */
#include "experiments/scenes/scene_file.h"
#include "tests/contract/under_test.h"
#include "tests/count_malloc.h"
#include "tests/contract/watch.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

static bool same(double a, double b)
{
  return a == b || (isnan(a) && isnan(b));
}

/* After `steps` steps of a pendulum. */
static void after(const perp_desc *d, const char *scene_name, int steps)
{
  const perp_metric_desc *metric = (const perp_metric_desc *)(const void *)d;
  perp_spec spec;
  perp_scene scene;
  perp_measure *measure;
  perp_sim *sim;
  perp_parts parts = { 0 };
  if (perp_spec_parse(&ctx, PERP_KIND_scene, scene_name, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK ||
      perp_measure_create(&ctx, &scene, &measure) != PERP_OK ||
      perp_sim_create(&ctx, scene.model, &parts, 1e-3, &sim) != PERP_OK)
    bail("%s", ctx.msg);
  double t;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  perp_measure_state(measure, t, q, v, NULL);
  for (int k = 0; k < steps; k++) {
    perp_step_info info;
    perp_sim_step(&ctx, sim, 1, &info);
    perp_sim_state(sim, &t, &q, &v);
    perp_measure_state(measure, t, q, v, &info);
  }
  perp_sim_counters(sim, &measure->run.ode, &measure->run.kkt);
  perp_measure before = *measure;
  long alive = count_alive;
  watch_begin();
  double one = metric->value(measure), two = metric->value(measure);
  watch_end();
  if (COUNTS_MALLOC)
    ok(count_alive == alive, "%s: %s, %d steps: keeps no memory", d->name, scene_name, steps);
  ok(same(one, two), "%s: %s, %d steps: twice the same (%g)", d->name, scene_name, steps, one);
  ok(memcmp(&before, measure, sizeof before) == 0, "%s: %s, %d steps: only reads", d->name,
     scene_name, steps);
  ok(!isinf(one), "%s: %s, %d steps: a number, or NaN where it is not defined", d->name, scene_name,
     steps);
  perp_sim_destroy(sim);
  perp_measure_destroy(measure);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
}

static void check(const perp_desc *d)
{
  const perp_metric_desc *metric = (const perp_metric_desc *)(const void *)d;
  ok(d->summary[0] != '\0' && d->reference[0] != '\0', "%s: says what it means", d->name);
  ok(strcmp(metric->better, "less") == 0 || strcmp(metric->better, "more") == 0 ||
         metric->better[0] == '\0',
     "%s: less, more or neither is better: '%s'", d->name, metric->better);
  ok(d->opts_size == 0, "%s: has no options", d->name);
  after(d, "pendulum", 0);
  after(d, "pendulum", 20);
  after(d, "free-body", 5);
  after(d, "chain:links=3", 5);
  watch_silent(d->name);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK ||
      perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  register_under_test(&ctx);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_metric, i)) != NULL; i++)
    if (under_test(d)) check(d);
  return tap_done();
}
