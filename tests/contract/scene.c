/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every scene of the registry owes: it builds, twice the same, says where it comes from, and
 * its truth begins where it begins. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "tests/contract/under_test.h"
#include "tests/count_malloc.h"
#include "tests/contract/watch.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

static bool open_scene(const char *text, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK) return false;
  perp_status status = perp_scene_create(&ctx, &spec, scene);
  perp_spec_free(&spec);
  return status == PERP_OK;
}

static void description(const perp_desc *d)
{
  ok(d->summary[0] != '\0' && d->reference[0] != '\0',
     "%s: says what it is and where it comes from", d->name);
  char text[1200], list[1024] = "";
  perp_spec spec, back;
  snprintf(text, sizeof text, "%s:no_such_option=1", d->name);
  ok(perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) == PERP_ERR_OPTION,
     "%s: an unknown option is refused", d->name);
  if (perp_spec_parse(&ctx, PERP_KIND_scene, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (spec.opts != NULL) perp_opts_format(d, spec.opts, false, list, sizeof list);
  snprintf(text, sizeof text, "%s%s%s", d->name, list[0] != '\0' ? ":" : "", list);
  bool same = perp_spec_parse(&ctx, PERP_KIND_scene, text, &back) == PERP_OK;
  ok(same && (d->opts_size == 0 || memcmp(spec.opts, back.opts, d->opts_size) == 0),
     "%s: all options written out read back identically", d->name);
  if (same) perp_spec_free(&back);
  perp_spec_free(&spec);
}

/* q0, v0 and their sizes, of bodies or of a plain problem */
static void start_of(const perp_scene *s, int *nq, int *nv, const double **q, const double **v)
{
  *nq = s->model != NULL ? perp_model_nq(s->model) : s->ode->nq;
  *nv = s->model != NULL ? perp_model_nv(s->model) : s->ode->nv;
  *q = s->model != NULL ? perp_model_q0(s->model) : s->ode_q0;
  *v = s->model != NULL ? perp_model_v0(s->model) : s->ode_v0;
}

static bool all_finite(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

static void truths(const char *name, const perp_scene *s)
{
  int nq, nv;
  const double *q0, *v0;
  start_of(s, &nq, &nv, &q0, &v0);
  double *q = calloc((size_t)(nq + nv) + 1, sizeof *q), *v = q + nq;
  for (int k = 0; k < s->n_truths; k++) {
    const perp_truth *t = &s->truth[k];
    ok(t->what[0] != '\0' && t->t_end > 0 && t->uncertainty > 0 && t->state != NULL &&
           t->next_time != NULL,
       "%s: truth %d says what it is, until when and how certain", name, k);
    if (!(t->next_time(t->user, 0) <= 0)) {
      skip("its first time is later", "%s: truth %d begins with the initial state", name, k);
      continue;
    }
    double worst = 0, size = 1; /* what the truth does not know is NaN */
    bool answered = t->state(t->user, &ctx, 0, q, v) == PERP_OK;
    if (s->model != NULL && perp_model_dim(s->model) == 3) /* q and -q are the same rotation */
      for (int b = 0; b < perp_model_bodies(s->model); b++) {
        double *quat = q + 7 * b + 3, dot = 0;
        for (int i = 0; i < 4; i++) dot += quat[i] * q0[7 * b + 3 + i];
        for (int i = 0; i < 4; i++) quat[i] *= dot < 0 ? -1 : 1;
      }
    for (int i = 0; i < nq; i++)
      worst = (fmax)(worst, fabs(q[i] - q0[i])), size = fmax(size, fabs(q0[i]));
    for (int i = 0; i < nv; i++)
      worst = (fmax)(worst, fabs(v[i] - v0[i])), size = fmax(size, fabs(v0[i]));
    /* a hundred units of rounding, or what the truth claims for itself */
    ok(answered && worst <= size * fmax(3e-14, 10 * t->uncertainty),
       "%s: truth %d begins with the initial state (off by %.2g)", name, k, worst / size);
  }
  free(q);
}

/* Ten steps with the default parts: they end well or with a reason, at a finite state. */
static void ten_steps(const char *name, perp_scene *s)
{
  perp_parts parts = { 0 };
  perp_sim *sim;
  if (s->model == NULL) {
    skip("a plain problem", "%s: ten steps with the default parts", name);
    return;
  }
  if (perp_sim_create(&ctx, s->model, &parts, s->h, &sim) != PERP_OK) {
    skip("the default parts do not serve it", "%s: ten steps with the default parts", name);
    return;
  }
  perp_step_info info = { 0 };
  bool well = true;
  for (int k = 0; k < 10 && well; k++)
    well = perp_sim_step(&ctx, sim, s->t_end, &info) == PERP_OK && info.reason >= 0;
  double t;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  ok(well && t > 0 && all_finite(perp_model_nq(s->model), q) &&
         all_finite(perp_model_nv(s->model), v),
     "%s: ten steps with the default parts (%s)", name, perp_reason_name(info.reason));
  perp_sim_destroy(sim);
}

static void life(void *user)
{
  perp_scene s;
  if (open_scene(user, &s)) perp_scene_destroy(&s);
}

static void check(const perp_desc *d)
{
  perp_scene s, again;
  description(d);
  watch_begin();
  life((void *)(uintptr_t)d->name);
  watch_end();
  watch_memory(d->name, life, (void *)(uintptr_t)d->name);
  watch_silent(d->name);
  if (!ok(open_scene(d->name, &s), "%s: builds with its defaults", d->name)) {
    printf("# %s\n", ctx.msg);
    return;
  }
  ok((s.model != NULL) != (s.ode != NULL), "%s: bodies or a plain problem, one of them", d->name);
  ok(s.t_end > 0 && isfinite(s.t_end) && s.h > 0 && s.h <= s.t_end,
     "%s: a default run of %g s, h = %g s", d->name, s.t_end, s.h);
  int nq, nv;
  const double *q, *v, *q2, *v2;
  start_of(&s, &nq, &nv, &q, &v);
  ok(all_finite(nq, q) && (nv == 0 || all_finite(nv, v)), "%s: the initial state is finite",
     d->name);
  if (s.model != NULL)
    ok(s.tip_body >= PERP_WORLD && s.tip_body < perp_model_bodies(s.model),
       "%s: the marked point is on a body", d->name);
  if (open_scene(d->name, &again)) {
    start_of(&again, &nq, &nv, &q2, &v2);
    ok(memcmp(q, q2, (size_t)nq * sizeof *q) == 0 &&
           (nv == 0 || memcmp(v, v2, (size_t)nv * sizeof *v) == 0),
       "%s: built twice, the same to the last bit", d->name);
    perp_scene_destroy(&again);
  } else
    ok(false, "%s: builds a second time", d->name);
  truths(d->name, &s);
  ten_steps(d->name, &s);
  perp_scene_destroy(&s);
  perp_scene_destroy(&s); /* is allowed */
  ok(s.model == NULL && s.ode == NULL && s.n_truths == 0 && s.n_gauges == 0,
     "%s: nothing is left of a scene that was destroyed", d->name);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  register_under_test(&ctx);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_scene, i)) != NULL; i++)
    if (under_test(d)) check(d);
  return tap_done();
}
