/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One cell: defaults of its parts, when it is compared with the truth, how it ends, and its JSON.
 */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/tap.h"

#include <jansson.h>
#include <string.h>

static perp_ctx ctx;

static perp_result run(perp_request request)
{
  perp_result result;
  if (perp_simulate(&ctx, &request, &result) != PERP_OK) bail("%s: %s", request.scene, ctx.msg);
  return result;
}

static void defaults(void)
{
  static const struct {
    const char *scene, *formulation, *ode;
    double h;
    const char *parts; /* formulation, ode, kkt, stab of the result */
    double h_used;
  } cases[] = {
    { "chain", "", "", 0, "velocity symplectic-euler tree baumgarte", 1e-3 },
    { "chain", "", "rk4", 0, "acceleration rk4 tree post:velocity=true", 1e-3 },
    { "chain", "", "euler", 2e-3, "velocity euler tree baumgarte", 2e-3 },
    { "chain", "acceleration", "euler", 0, "acceleration euler tree post:velocity=true", 1e-3 },
    { "chain", "reduced", "dopri5", 0, "reduced dopri5:tol=1e-09  ", 1e-3 },
    { "chain", "reduced", "dopri5", 4e-3, "reduced dopri5  ", 4e-3 },
    { "chain", "reduced", "dopri5:tol=1e-6", 4e-3, "reduced dopri5:tol=1e-06  ", 4e-3 },
    { "chain", "reduced", "gsl:msadams", 0, "reduced gsl:msadams:tol=1e-09  ", 1e-3 },
    { "circle", "", "", 0, " rk4  ", 1e-2 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_result r = run((perp_request){ .scene = cases[i].scene,
                                        .formulation = cases[i].formulation,
                                        .ode = cases[i].ode,
                                        .h = cases[i].h,
                                        .t_end = 0.02 });
    char parts[4 * PERP_SPEC_MAX];
    snprintf(parts, sizeof parts, "%s %s %s %s", r.formulation, r.ode, r.kkt, r.stab);
    ok(strcmp(parts, cases[i].parts) == 0, "%s '%s' '%s' h = %g: %s", cases[i].scene,
       cases[i].formulation, cases[i].ode, cases[i].h, parts);
    near(r.h, cases[i].h_used, 0, 1e-15, "... with the step of the scene or of the request");
    ok(r.reason == PERP_EXACT && r.t == 0.02, "... and ends at t_end");
    perp_result_free(&r);
  }
}

static void refusals(void)
{
  static const struct {
    perp_request request;
    perp_status status;
    const char *says;
  } cases[] = {
    { { .scene = "" }, PERP_ERR_ARG, "no scene" },
    { { .scene = "chian" }, PERP_ERR_OPTION, "did you mean 'chain'" },
    { { .scene = "chain", .ode = "rk5" }, PERP_ERR_OPTION, "unknown ode 'rk5'" },
    { { .scene = "chain", .stab = "post:pases=2" }, PERP_ERR_OPTION, "did you mean 'passes'" },
    { { .scene = "chain", .h = -1e-3 }, PERP_ERR_ARG, "the step h must be positive: got -0.001 s" },
    { { .scene = "chain", .t_end = -1 }, PERP_ERR_ARG, "t_end must be positive: got -1 s" },
    { { .scene = "circle", .formulation = "velocity" },
      PERP_ERR_UNSUPPORTED,
      "formulation velocity has no effect in scene circle, a plain ODE problem" },
    { { .scene = "chain", .formulation = "reduced", .stab = "post" },
      PERP_ERR_UNSUPPORTED,
      "stab post has no effect with formulation reduced: remove it, or choose a formulation that "
      "uses one: acceleration, velocity" },
    { { .scene = "chain", .formulation = "impulse", .ode = "rk4" },
      PERP_ERR_UNSUPPORTED,
      "ode rk4 has no effect with formulation impulse" },
    { { .scene = "chain:truth=none", .h = 1e-3, .sample_every = 0.1, .sample_named = true },
      PERP_ERR_UNSUPPORTED,
      "the time between samples has no effect" },
    { { .scene = "chain", .formulation = "velocity", .ode = "rk4" }, PERP_ERR_UNSUPPORTED, "rk4" },
    { { .scene = "circle", .ode = "verlet" }, PERP_ERR_UNSUPPORTED, "verlet" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_result r;
    perp_status status = perp_simulate(&ctx, &cases[i].request, &r);
    ok(status == cases[i].status && r.status == status && strstr(ctx.msg, cases[i].says) != NULL,
       "refused: %s", ctx.msg);
    perp_result_free(&r);
  }
  perp_request nan_step = { .scene = "chain", .h = nan("") };
  perp_result r;
  ok(perp_simulate(&ctx, &nan_step, &r) == PERP_ERR_ARG, "refused: a step that is not a number");
  perp_result_free(&r);
}

/* times at which a series was compared with a truth */
static int compared(const perp_result *r, double every, double *off_grid)
{
  int n = 0, column = 6; /* err.q */
  *off_grid = 0;
  for (int i = 0; i < r->series.rows; i++) {
    const double *row = r->series.values + (size_t)i * (size_t)r->series.columns;
    if (isnan(row[column])) continue;
    n++;
    *off_grid = fmax(*off_grid, fabs(row[0] - nearbyint(row[0] / every) * every));
  }
  return n;
}

static void truth_times(void)
{
  double off = 0;
  /* adaptive: the grid of the file, 0.05 s, is hit exactly although no step would end there */
  perp_result r = run((perp_request){ .scene = "chain:links=2",
                                      .formulation = "acceleration",
                                      .ode = "dopri5:tol=1e-8",
                                      .t_end = 0.5,
                                      .sample_every = 0.05,
                                      .want_series = true });
  ok(strcmp(r.truth, "file C_chain100mm_N2.csv") == 0, "adaptive: judged by the %s", r.truth);
  ok(strcmp(r.series.header[6], "err.q") == 0 && r.series.columns == 9 + 14 + 12,
     "series: columns are named");
  ok(r.series.rows == 11 && compared(&r, 0.05, &off) == 11,
     "adaptive: compared at each row of the file");
  below(off, 1e-15, "adaptive: at exactly these times");
  below(perp_result_metric(&r, "err.q.max"), 1e-6, "adaptive: follows the truth");
  below(perp_result_metric(&r, "lambda.err.max"), 1e-5, "adaptive: so do the multipliers");
  ok(perp_result_metric(&r, "lambda.err.max") > 1e-10, "adaptive: not of the first state alone");
  perp_result_free(&r);

  /* fixed steps that no file row meets: the reference in joint coordinates, at whole steps */
  r = run((perp_request){ .scene = "chain:links=2",
                          .formulation = "acceleration",
                          .ode = "rk4",
                          .h = 1.0 / 512,
                          .t_end = 0.5,
                          .want_series = true });
  ok(strncmp(r.truth, "reduced", 7) == 0, "fixed steps: judged by %s", r.truth);
  ok(compared(&r, 1.0 / 512, &off) == r.series.rows && off < 1e-12,
     "fixed steps: compared at all %d samples, whole steps", r.series.rows);
  ok(r.ode_count.steps == 256, "fixed steps: no step was cut for a sample");
  below(perp_result_metric(&r, "err.q.max"), 1e-4, "fixed steps: follows the truth");
  perp_result_free(&r);

  /* only a file: rows that whole steps meet, 0.05 s = 10 x 5 ms */
  r = run((perp_request){ .scene = "chain:links=2,truth=file",
                          .formulation = "acceleration",
                          .ode = "rk4",
                          .h = 5e-3,
                          .t_end = 0.5,
                          .sample_every = 5e-3,
                          .want_series = true });
  ok(strncmp(r.truth, "file", 4) == 0 && compared(&r, 0.05, &off) == 11 && off < 1e-10,
     "fixed steps and a file: compared where they meet");
  perp_result_free(&r);

  /* no truth: errors are not defined, drift is */
  r = run((perp_request){ .scene = "chain:truth=none", .t_end = 0.1 });
  ok(r.truth[0] == '\0' && isnan(perp_result_metric(&r, "err.q.max")) &&
         perp_result_metric(&r, "drift.pos.max") > 0,
     "no truth: no error, but drift");
  ok(isnan(perp_result_metric(&r, "no.such.metric")), "an unknown metric is NaN");
  perp_result_free(&r);

  /* the last step is cut to end at t_end, also when h does not divide it */
  r = run((perp_request){ .scene = "pendulum", .h = 3e-3, .t_end = 0.1 });
  ok(r.t == 0.1 && r.ode_count.steps == 34, "the last step is cut");
  perp_result_free(&r);
}

static void json(const perp_result *r, json_t **out)
{
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  perp_result_json(r, stream);
  fclose(stream);
  json_error_t error;
  *out = json_loads(text, 0, &error);
  if (*out == NULL) bail("not JSON: %s at %d", error.text, error.position);
  free(text);
}

static double number(json_t *object, const char *group, const char *key)
{
  json_t *x = json_object_get(json_object_get(object, group), key);
  return json_is_number(x) ? json_number_value(x) : nan("");
}

static void output(void)
{
  perp_request request = { .scene = "chain:links=6",
                           .formulation = "velocity",
                           .ode = "symplectic-euler",
                           .kkt = "tree",
                           .stab = "post",
                           .h = 1e-3,
                           .t_end = 0.1,
                           .timing_rounds = 1 };
  perp_result r = run(request), again = run(request);
  json_t *j;
  json(&r, &j);
  ok(strcmp(json_string_value(json_object_get(j, "status")), "ok") == 0, "json: status ok");
  ok(strcmp(json_string_value(json_object_get(j, "reason")), "reached-end") == 0,
     "json: reason reached-end");
  json_t *parts = json_object_get(j, "parts");
  ok(strcmp(json_string_value(json_object_get(parts, "kkt")), "tree") == 0,
     "json: parts are named");
  ok(json_object_get(parts, "lcp") == NULL, "json: parts that are not used are left out");
  near(number(j, "metrics", "drift.pos.max"), perp_result_metric(&r, "drift.pos.max"), 0, 0,
       "json: metrics with all their digits");
  ok(json_object_get(json_object_get(j, "metrics"), "momentum.lin.max") == NULL &&
         isnan(perp_result_metric(&r, "momentum.lin.max")),
     "json: a figure that the run does not have is absent");
  static const char *const times[] = { "step_us", "collision_us", "assembly_us",
                                       "kkt_us",  "lcp_us",       "integrate_us" };
  const json_t *parts_of_step = json_object_get(json_object_get(j, "time"), "breakdown");
  double sum = 0;
  for (int i = 0; i < 6; i++) {
    const double us = json_number_value(json_object_get(parts_of_step, times[i]));
    ok(us >= 0, "json: time.breakdown.%s", times[i]);
    if (i > 0) sum += us;
  }
  ok(number(j, "time", "step_us") > 0, "json: a step takes time");
  near(number(j, "time", "step_us") * 100, 1e6 * number(j, "time", "cpu_s"), 0, 1e-12,
       "json: the mean step is the time of the run over its steps");
  near(sum, json_number_value(json_object_get(parts_of_step, "step_us")), 0, 1e-12,
       "json: the parts of a step sum to the one that was measured with them");
  near(json_number_value(json_object_get(parts_of_step, "steps")), 100, 0, 0,
       "json: the parts are those of all steps");
  near(number(j, "counters", "steps"), 100, 0, 0, "json: counters of the measured run only");
  json_t *final = json_object_get(j, "final");
  ok(json_array_size(json_object_get(final, "q")) == 42 &&
         json_array_size(json_object_get(final, "v")) == 36,
     "json: the final state");
  near(json_number_value(json_object_get(final, "t")), 0.1, 0, 0, "json: at t_end");
  near(json_real_value(json_array_get(json_object_get(final, "q"), 35)), r.q[35], 0, 0,
       "json: with all its digits");
  json_decref(j);

  int differ = 0;
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_metric, i)) != NULL; i++) {
    double a = r.metrics[i].value, b = again.metrics[i].value;
    if (!(d->caps & PERP_METRIC_TIMING) && a != b && !(isnan(a) && isnan(b))) differ++;
  }
  ok(differ == 0 && memcmp(r.q, again.q, 42 * sizeof *r.q) == 0,
     "a second run gives the same numbers");
  perp_result_free(&r);
  perp_result_free(&again);
}

/* How many contact problems were solved, by whom, and how well in both figures. */
static void contact_counts(void)
{
  static const struct {
    const char *lcp;
    bool solves;
  } cases[] = { { "dantzig", true }, { "auto:chain=(murty)", true }, { "psor:max_iter=3", false } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *lcp = cases[i].lcp;
    perp_result r = run((perp_request){ .scene = "stack:boxes=3",
                                        .lcp = lcp,
                                        .contact = i == 1 ? "frictionless" : NULL,
                                        .t_end = 0.1 });
    json_t *j;
    json(&r, &j);
    const json_t *by = json_object_get(json_object_get(j, "lcp"), "by");
    const double solved = number(j, "lcp", "solved"), failures = number(j, "lcp", "failures");
    near(number(j, "lcp", "problems"),
         solved + number(j, "lcp", "reused") + number(j, "lcp", "swept") + failures, 0, 0,
         "json, %s: every problem is solved, reused, swept or failed", lcp);
    ok(cases[i].solves ? failures == 0 && solved > 0 : failures > 0 && solved == 0,
       "json, %s: %g solved, %g failures", lcp, solved, failures);
    ok(number(j, "lcp", "data.max") >= 0 &&
           (number(j, "lcp", "residual.max") <= 1e-8 && number(j, "lcp", "data.max") <= 1e-6) ==
               cases[i].solves,
       "json, %s: both figures tell", lcp);
    const char *who = i == 1 ? "murty" : lcp;
    ok(cases[i].solves ? json_number_value(json_object_get(by, who)) == solved
                       : json_object_size(by) == 0,
       "json, %s: by whom", lcp);
    json_decref(j);
    perp_result_free(&r);
  }
}

static void divergence(void)
{
  /* explicit feedback that overshoots twice a step: h alpha = 20 */
  perp_result r = run((perp_request){ .scene = "chain",
                                      .formulation = "acceleration",
                                      .ode = "euler",
                                      .stab = "baumgarte:alpha=2000",
                                      .h = 1e-2,
                                      .timing_rounds = 1 });
  ok(r.status == PERP_OK && r.reason < 0, "a run that explodes is a result: %s", r.message);
  ok(r.reason == PERP_DIVERGED || r.reason == PERP_NOT_FINITE, "... %s",
     perp_reason_name(r.reason));
  ok(r.t < r.t_end && perp_result_metric(&r, "drift.pos.max") > 0.1, "... with the metrics so far");
  json_t *j;
  json(&r, &j);
  ok(strcmp(json_string_value(json_object_get(j, "status")), "diverged") == 0,
     "... json: diverged");
  json_decref(j);
  perp_result_free(&r);
}

static void plain_problem(void)
{
  perp_result r = run((perp_request){ .scene = "oscillator", .ode = "rk4", .h = 0.1 });
  below(perp_result_metric(&r, "err.q.max"), 1e-4, "a plain problem is compared with its truth");
  near(perp_result_metric(&r, "rhs.calls"), 400, 0, 0, "four evaluations a step");
  ok(isnan(perp_result_metric(&r, "drift.pos.max")) && r.formulation[0] == '\0',
     "and has no constraints");
  perp_result_free(&r);
}

/* ---- chaos: two references that part ---- */

static perp_status wrong_state(void *user, perp_ctx *unused, double t, double *q, double *v)
{
  (void)user, (void)unused, (void)v;
  q[0] = cos(t) + 1e-9 * exp(3 * t);
  q[1] = sin(t);
  return PERP_OK;
}

static double any_time(void *user, double t)
{
  (void)user;
  return t;
}

/* the scene circle with a second reference that goes astray: 1e-4 away at t = log(1e5) / 3 = 3.838
 * s */
static perp_status build_parted(perp_ctx *c, const void *opts, perp_scene *scene)
{
  const perp_scene_desc *circle = (const perp_scene_desc *)perp_find(c, PERP_KIND_scene, "circle");
  PERP_TRY(circle->build(c, opts, scene));
  perp_truth *second = &scene->truth[scene->n_truths++];
  *second = (perp_truth){ .t_end = 100, .state = wrong_state, .next_time = any_time };
  return PERP_OK;
}

static void chaos(void)
{
  const perp_desc *circle = perp_find(&ctx, PERP_KIND_scene, "circle");
  static perp_scene_desc parted;
  static perp_plugin table[2] = { { PERP_KIND_scene, &parted.d } };
  parted = (perp_scene_desc){ .d = *circle, .build = build_parted };
  parted.d.name = "parted";
  perp_register(&ctx, table);
  perp_request request = { .scene = "circle", .ode = "euler", .h = 0.05, .t_end = 10 };
  perp_result whole = run(request);
  request.scene = "parted";
  perp_result guarded = run(request);
  near(perp_result_metric(&whole, "err.until"), 10, 0, 1e-12, "one reference: compared to the end");
  near(perp_result_metric(&guarded, "err.until"), 3.8, 1e-9, 0,
       "two that part: compared until they are 1e-4 apart");
  /* explicit Euler: the radius grows by sqrt(1 + h^2) a step */
  double radius = pow(1 + 0.05 * 0.05, 0.5 * 3.8 / 0.05) - 1;
  ok(perp_result_metric(&guarded, "err.q.max") >= radius / 2 &&
         perp_result_metric(&guarded, "err.q.max") < 0.5 * perp_result_metric(&whole, "err.q.max"),
     "the error is that until then");
  ok(perp_result_metric(&guarded, "energy.rel.max") == perp_result_metric(&whole, "energy.rel.max"),
     "the invariant is measured to the end");
  perp_result_free(&whole);
  perp_result_free(&guarded);
}

/* ---- one run, one truth ---- */

static const char *const marches[][2] = {
  /* formulation, ode */
  { "acceleration", "gsl:bsimp:tol=1e-6" },
  { "acceleration", "gsl:rk8pd:tol=1e-10" },
  { "acceleration:state=momentum", "dopri5:tol=1e-7" },
  { "acceleration", "gsl:msadams:tol=1e-4" },
  { "acceleration", "rk4:tol=1e-6" },
  { "reduced", "dopri5:tol=1e-8" },
  { "penalty", "dopri5:tol=1e-4" },
};

/* Samples, rows of a series and a file in between: the steps and the state in the end stay, to the
 * last bit. */
static void samples_and_steps(void)
{
  static const char *const scenes[] = { "pendulum", "chain:links=2,truth=file" };
  for (size_t s = 0; s < 2; s++)
    for (size_t i = 0; i < sizeof marches / sizeof *marches; i++) {
      perp_request request = { .scene = scenes[s],
                               .formulation = marches[i][0],
                               .ode = marches[i][1],
                               .stab = strncmp(marches[i][0], "acc", 3) == 0 ? "post:velocity=true"
                                                                             : NULL,
                               .h = 1e-3,
                               .t_end = 0.5,
                               .sample_every = 0.5 };
      perp_result coarse = run(request);
      request.sample_every = 0.01;
      perp_result fine = run(request);
      request.want_series = true;
      perp_result rows = run(request);
      const size_t size = (size_t)coarse.nq * sizeof *coarse.q;
      ok(coarse.ode_count.steps == fine.ode_count.steps &&
             coarse.ode_count.rhs == fine.ode_count.rhs && memcmp(coarse.q, fine.q, size) == 0 &&
             memcmp(coarse.q, rows.q, size) == 0,
         "%s, %s, %s: %d steps with samples at the end, %d with many", scenes[s], marches[i][0],
         marches[i][1], (int)coarse.ode_count.steps, (int)fine.ode_count.steps);
      ok(perp_result_metric(&fine, "err.q.max") == perp_result_metric(&rows, "err.q.max") &&
             perp_result_metric(&coarse, "err.q.max") <= perp_result_metric(&fine, "err.q.max"),
         "... and a series changes no error");
      ok(rows.series.rows == 51 && rows.series.values[rows.series.columns] == 0.01,
         "... the rows of the series are on the grid of samples: %d", rows.series.rows);
      perp_result_free(&coarse);
      perp_result_free(&fine);
      perp_result_free(&rows);
    }
}

/* The errors are those of the march that is timed: that of the end alone is the one of few samples.
 */
static void error_of_the_march(void)
{
  perp_request request = { .scene = "pendulum",
                           .formulation = "acceleration",
                           .ode = "gsl:bsimp:tol=1e-6",
                           .stab = "post:velocity=true",
                           .h = 1e-3,
                           .t_end = 10,
                           .sample_every = 0.01,
                           .timing_rounds = 1 };
  perp_result fine = run(request);
  request.sample_every = 10;
  perp_result coarse = run(request);
  ok(fine.ode_count.steps == coarse.ode_count.steps,
     "bsimp: %d steps, sampled each 0.01 s or 10 s: %d", (int)fine.ode_count.steps,
     (int)coarse.ode_count.steps);
  near(perp_result_metric(&fine, "err.tip.end"), perp_result_metric(&coarse, "err.tip.end"), 0, 0,
       "... the error in the end is one and the same");
  ok(perp_result_metric(&fine, "err.q.max") >= perp_result_metric(&coarse, "err.q.max") &&
         perp_result_metric(&fine, "err.q.max") > 1e-6,
     "... and not that of finer steps: %.3g", perp_result_metric(&fine, "err.q.max"));
  perp_result_free(&fine);
  perp_result_free(&coarse);
}

/* Symplectic integrators where the combination is not: a note, and a drift that those it names do
 * not have. */
static void not_symplectic(void)
{
  static const struct {
    const char *scene, *formulation, *ode, *stab;
    bool noted;
  } rows[] = { { "pendulum", "acceleration", "verlet", "post", true },
               { "pendulum", "acceleration", "symplectic-euler", "post", true },
               { "pendulum", "velocity", "symplectic-euler", "post", true },
               { "pendulum", "acceleration", "rk4", "post", false },
               { "pendulum", "reduced", "verlet", NULL, false },
               { "pendulum", "reduced", "symplectic-euler", NULL, false },
               { "pendulum", "impulse", NULL, NULL, false },
               { "four-bar", "reduced", "verlet", NULL, true },
               { "free-body", "acceleration", "verlet", NULL, true },
               { "free-body", "reduced", "verlet", NULL, false },
               { "oscillator", NULL, "verlet", NULL, false },
               { "stack", NULL, NULL, NULL, false } };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const perp_request request = { .scene = rows[i].scene,
                                   .formulation = rows[i].formulation,
                                   .ode = rows[i].ode,
                                   .stab = rows[i].stab,
                                   .h = 2e-3,
                                   .t_end = i < 7 && i != 3 ? 10 : 0.01 };
    perp_request longer = request;
    longer.t_end *= 4;
    perp_result r = run(request), l = run(longer);
    ok((r.note[0] != '\0') == rows[i].noted, "%s, %s, %s: %s", r.scene, r.formulation, r.ode,
       rows[i].noted ? "a note" : "no note");
    if (i < 7 && i != 3) {
      const double growth = perp_result_metric(&l, "energy.rel.max") /
                            perp_result_metric(&r, "energy.rel.max");
      ok(rows[i].noted ? growth > 2 : growth < 1.1,
         "... error of the energy after 4 times as long: "
         "%.3g times as large",
         growth);
    }
    perp_result_free(&r);
    perp_result_free(&l);
  }
}

/* A pile at rest: which steps solved nothing, and a mean that is not the median of those. */
static void reused(void)
{
  perp_request request = { .scene = "stack", .t_end = 0.5, .timing_rounds = 1 };
  perp_result r = run(request);
  const double steps = (double)r.ode_count.steps, mean = perp_result_metric(&r, "time.step_us");
  ok(r.contact_count.islands == 1 && r.contact_count.problems > 0, "one island, some problems");
  near((double)r.time.steps_reused, (double)r.contact_count.reused, 0, 0,
       "with one island, the steps that reuse are the problems that were");
  near(perp_result_metric(&r, "steps.reused"), (double)r.time.steps_reused / steps, 0, 1e-15,
       "steps.reused is their share");
  int metrics = 0;
  while (perp_plugin_at(&ctx, PERP_KIND_metric, metrics) != NULL) metrics++;
  ok(r.n_metrics == metrics && metrics < PERP_METRICS_MAX, "a result has all %d metrics", metrics);
  near(mean * steps, 1e6 * perp_result_metric(&r, "time.cpu"), 0, 1e-12,
       "the mean step times the steps is the time of the run");
  ok(perp_result_metric(&r, "time.step_us.median") < perp_result_metric(&r, "time.step_us.max"),
     "the median step is not the largest");
  near(r.time.collision_us + r.time.assembly_us + r.time.kkt_us + r.time.lcp_us +
           r.time.integrate_us,
       r.time.breakdown_us, 0, 1e-12, "the parts sum to their step");
  /* a breakdown ends after 1 s of steps, which a busy machine may need for fewer */
  ok(r.time.integrate_us >= 0 && (r.time.breakdown_steps == r.ode_count.steps ||
                                  r.time.breakdown_us * (double)r.time.breakdown_steps >= 1e6),
     "of all steps, and no part < 0");
  perp_result_free(&r);
}

/* A run of ten steps of Euler takes microseconds, and as much a step as a long one. */
static void no_floor(void)
{
  perp_request request = {
    .scene = "circle", .ode = "euler", .h = 1e-3, .t_end = 0.01, .timing_rounds = 3
  };
  perp_result brief = run(request);
  request.t_end = 10;
  perp_result lengthy = run(request);
  ok(brief.ode_count.steps == 10 && lengthy.ode_count.steps == 10000, "runs of 10 and 10000 steps");
  below(brief.time.cpu_s, 50e-6, "no floor: ten steps of Euler take microseconds");
  below(brief.time.cpu_s / 10, 20 * lengthy.time.cpu_s / 10000,
        "... with the start, no more than 20 times a step");
  perp_result_free(&brief);
  perp_result_free(&lengthy);
}

/* the scene circle, whose field turns a little with every evaluation that there ever was */
static perp_ode_answer moody_deriv(void *user, double t, double h, const double *q, const double *v,
                                   bool intermediate, double *qdot, double *a)
{
  static int calls;
  (void)user, (void)t, (void)h, (void)v, (void)intermediate, (void)a;
  calls++;
  qdot[0] = -(1 + 1e-14 * calls) * q[1];
  qdot[1] = (1 + 1e-14 * calls) * q[0];
  return PERP_ODE_OK;
}

static perp_status build_moody(perp_ctx *c, const void *opts, perp_scene *scene)
{
  const perp_scene_desc *circle = (const perp_scene_desc *)perp_find(c, PERP_KIND_scene, "circle");
  PERP_TRY(circle->build(c, opts, scene));
  scene->ode->deriv = moody_deriv;
  return PERP_OK;
}

/* The clock runs the march that was measured, or says so loudly. */
static void clock_of_another_march(void)
{
  static perp_scene_desc moody;
  static perp_plugin table[2] = { { PERP_KIND_scene, &moody.d } };
  moody = (perp_scene_desc){ .d = *perp_find(&ctx, PERP_KIND_scene, "circle"),
                             .build = build_moody };
  moody.d.name = "moody";
  perp_register(&ctx, table);
  perp_request request = { .scene = "moody", .ode = "rk4", .h = 0.05, .t_end = 10 };
  perp_result r = run(request);
  ok(r.reason == PERP_EXACT, "a system that is never twice the same runs once");
  perp_result_free(&r);
  request.timing_rounds = 1;
  ok(perp_simulate(&ctx, &request, &r) == PERP_ERR_INTERNAL &&
         strstr(ctx.msg, "differs from the measured run") != NULL &&
         strstr(ctx.msg, "another state") != NULL,
     "... but is not clocked: %s", ctx.msg);
  perp_result_free(&r);
}

static void apex_between_steps(void)
{
  static const char *const odes[] = { "gsl:rk8pd:tol=1e-12", "dopri5:tol=1e-10", "rk4" };
  for (int i = 0; i < 3; i++) {
    perp_result r = run((perp_request){
        .scene = "bouncing-ball", .formulation = "acceleration", .ode = odes[i], .t_end = 2 });
    below(perp_result_metric(&r, "apex.rel.err"), 1e-9, "%s: the apex lies between two steps",
          odes[i]);
    below(perp_result_metric(&r, "event.err"), 1e-9, "... and impacts are where they were");
    perp_result_free(&r);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  defaults();
  refusals();
  truth_times();
  output();
  contact_counts();
  divergence();
  plain_problem();
  chaos();
  samples_and_steps();
  error_of_the_march();
  not_symplectic();
  reused();
  no_floor();
  clock_of_another_march();
  apex_between_steps();
  return tap_done();
}
