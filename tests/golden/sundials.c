/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The codes of SUNDIALS on scenes with a truth that is not theirs, where SUNDIALS is installed. */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

static const struct {
  const char *scene, *formulation, *ode, *stab, *metric;
  double t_end, bound;
} cases[] = {
  /* closed forms; bounds are two to five times what was seen */
  { "pendulum", "acceleration", "sundials:cvode-adams:tol=1e-9", "post", "err.q.max", 5, 2e-6 },
  { "pendulum", "acceleration", "sundials:cvode-bdf:tol=1e-9", "post", "err.q.max", 5, 5e-6 },
  { "pendulum", "acceleration", "sundials:arkode:tol=1e-9", "post", "err.q.max", 5, 2e-6 },
  { "pendulum", "reduced", "sundials:cvode-bdf:tol=1e-9", NULL, "err.q.max", 5, 5e-6 },
  { "pendulum", "sundials:ida:tol=1e-9", NULL, NULL, "err.q.max", 5, 5e-6 },
  { "pendulum", "sundials:ida:index=1,tol=1e-9", NULL, NULL, "err.q.max", 5, 5e-6 },
  /* quaternions: nq > nv */
  { "heavy-top", "acceleration", "sundials:cvode-adams:tol=1e-9", NULL, "err.q.max", 2, 5e-6 },
  { "heavy-top", "reduced", "sundials:arkode:tol=1e-11", NULL, "err.q.max", 2, 5e-6 },
  { "heavy-top", "sundials:ida:tol=1e-9", NULL, NULL, "err.q.max", 2, 5e-6 },
  { "free-body", "acceleration:state=momentum", "sundials:cvode-bdf:tol=1e-9", NULL, "err.q.max", 1,
    5e-6 },
  { "circle", NULL, "sundials:cvode-adams:tol=1e-9", NULL, "err.q.max", 0, 5e-6 }, /* nv = 0 */
  /* the references to 20 digits */
  { "andrews", "reduced", "sundials:cvode-adams:tol=1e-10", NULL, "err.tip.max", 0.03, 1e-9 },
  { "andrews", "reduced", "sundials:cvode-bdf:tol=1e-9", NULL, "err.tip.max", 0.03, 2e-9 },
  { "andrews", "acceleration", "sundials:arkode:tol=1e-9", "post", "err.tip.max", 0.03, 1e-9 },
  { "andrews", "sundials:ida:tol=1e-9", NULL, NULL, "err.tip.max", 0.03, 5e-8 },
  { "andrews", "sundials:ida:index=1,tol=1e-9", NULL, NULL, "err.tip.max", 0.03, 1e-6 },
  /* ten singular positions */
  { "four-bar", "reduced", "sundials:cvode-bdf:tol=1e-8", NULL, "err.q.max", 10, 2e-3 },
  { "four-bar", "acceleration", "sundials:cvode-adams:tol=1e-9", NULL, "err.q.max", 10, 2e-3 },
  { "four-bar", "sundials:ida:tol=1e-7", NULL, NULL, "err.q.max", 10, 1e-2 },
  { "bricard", "sundials:ida:tol=1e-8", NULL, NULL, "err.q.max", 10, 5e-2 }, /* a dependent row */
  /* stiff; the height s of the governor in m */
  { "flyball", "reduced", "sundials:cvode-bdf:tol=1e-6", NULL, "err.tip.max", 10, 1e-3 },
  { "flyball", "reduced", "sundials:cvode-bdf:tol=1e-8", NULL, "err.tip.max", 10, 2e-5 },
  { "flyball", "reduced", "sundials:arkode:tol=1e-8", NULL, "err.tip.max", 10, 2e-7 },
  { "flyball", "sundials:ida:tol=1e-8", NULL, NULL, "err.tip.max", 10, 2e-5 },
};

static perp_result run(perp_request request)
{
  perp_result result;
  if (perp_simulate(&ctx, &request, &result) != PERP_OK) bail("%s: %s", request.scene, ctx.msg);
  return result;
}

static const char *empty(const char *text)
{
  return text == NULL ? "-" : text;
}

static void truths(void)
{
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_result r = run((perp_request){ .scene = cases[i].scene,
                                        .formulation = cases[i].formulation,
                                        .ode = cases[i].ode,
                                        .stab = cases[i].stab,
                                        .t_end = cases[i].t_end });
    const double err = perp_result_metric(&r, cases[i].metric);
    ok(r.reason > 0, "%s, %s, %s: reaches its end (%s)", cases[i].scene,
       empty(cases[i].formulation), empty(cases[i].ode), perp_reason_name(r.reason));
    below(err, cases[i].bound, "... %s = %.2g in %d steps", cases[i].metric, err,
          (int)r.ode_count.steps);
    perp_result_free(&r);
  }
}

/* Rows of a series, and the clock, ask for the same march. */
static void sampling(const char *formulation, const char *ode)
{
  perp_request request = {
    .scene = "andrews", .formulation = formulation, .ode = ode, .t_end = 0.03
  };
  perp_result alone = run(request);
  request.sample_every = 1e-4;
  request.want_series = true;
  request.timing_rounds = 2; /* of which each is compared to the last bit */
  perp_result sampled = run(request);
  const perp_ode_counters *a = &alone.ode_count, *b = &sampled.ode_count;
  ok(a->steps == b->steps && a->rhs == b->rhs && a->rejected == b->rejected && a->steps > 50,
     "%s, %s: %d steps, sampled or not", formulation, empty(ode), (int)a->steps);
  perp_result_free(&alone);
  perp_result_free(&sampled);
}

/* Steps no longer than h_max, and a shortest step that is too long: no success. */
static void limits(void)
{
  static const char *const forms[] = { "reduced", "sundials:ida:h_max=1e-4", "reduced",
                                       "sundials:ida:tol=1e-9,h_min=1e-3,h_max=1e-2" };
  static const char *const odes[] = { "sundials:cvode-bdf:tol=1e-5,h_max=1e-4", NULL,
                                      "sundials:cvode-adams:tol=1e-9,h_min=1e-3,h_max=1e-2", NULL };
  for (int i = 0; i < 4; i++) {
    perp_result r = run((perp_request){
        .scene = "andrews", .formulation = forms[i], .ode = odes[i], .t_end = 0.03 });
    if (i < 2)
      ok(r.reason > 0 && r.ode_count.h_most <= 1e-4 * (1 + 1e-12), "%s, %s: longest step %.3g s",
         forms[i], empty(odes[i]), r.ode_count.h_most);
    else
      ok(r.reason == PERP_STEP_TOO_SMALL || r.reason == PERP_MAX_ITER, "%s, %s: fails (%s)",
         forms[i], empty(odes[i]), perp_reason_name(r.reason));
    perp_result_free(&r);
  }
}

/* A projection inside of BDF keeps its order; one that restarts the history may not. */
static void history(void)
{
  perp_result r = run((perp_request){ .scene = "andrews",
                                      .formulation = "reduced",
                                      .ode = "sundials:cvode-bdf:tol=1e-8",
                                      .t_end = 0.03 });
  ok(r.ode_count.changed == 0, "CVODE's own projection: no state changed behind it");
  below(perp_result_metric(&r, "drift.pos.max"), 1e-10, "... and the loops hold");
  perp_result_free(&r);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK || perp_register_models(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  if (perp_find(&ctx, PERP_KIND_ode, "sundials:cvode-bdf") == NULL) {
    perp_spec spec;
    ok(perp_spec_parse(&ctx, PERP_KIND_ode, "sundials:cvode-bdf:tol=1e-6", &spec) ==
               PERP_ERR_OPTION &&
           strstr(ctx.msg, "libsundials-dev") != NULL,
       "%s", ctx.msg);
    skip("built without SUNDIALS", "its codes");
    return tap_done();
  }
  truths();
  sampling("reduced", "sundials:cvode-adams:tol=1e-8");
  sampling("reduced", "sundials:cvode-bdf:tol=1e-8");
  sampling("acceleration", "sundials:arkode:tol=1e-7");
  sampling("sundials:ida:tol=1e-7", NULL);
  limits();
  history();
  return tap_done();
}
