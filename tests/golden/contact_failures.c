/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of the bodies when a solver fails: nothing falls through, nothing is thrown, and the failure is
 * counted.  Problems without a solution, too large ones, bad guesses, and sweeps that end where they were asked to. */
#include "experiments/runner/simulate.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

static perp_ctx ctx;

static perp_result run(const perp_request *request)
{
  perp_result result;
  if (perp_simulate(&ctx, request, &result) != PERP_OK) bail("%s: %s", request->scene, ctx.msg);
  if (!(fabs(result.t - result.t_end) < 1e-9))
    bail("%s: %s", request->scene, perp_reason_name(result.reason));
  return result;
}

/* A solver that serves no contact problem at all is refused before the first step. */
static void refused(void)
{
  static const struct {
    const char *scene, *lcp, *formulation, *contact, *why;
  } cases[] = {
    { "incline", "lemke-howson", NULL, NULL, "bimatrix" },
    { "stack", "lemke-howson", NULL, "frictionless", "bimatrix" },
    { "incline", "lemke-howson", "acceleration", NULL, "bimatrix" },
    { "motor", "lemke-howson", NULL, NULL, "bimatrix" },
    { "incline", "dantzig", "velocity:fallback=(lemke-howson)", NULL, "bimatrix" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const perp_request r = { .scene = cases[i].scene,
                             .lcp = cases[i].lcp,
                             .formulation = cases[i].formulation,
                             .contact = cases[i].contact };
    perp_result result;
    const perp_status status = perp_simulate(&ctx, &r, &result);
    ok(status == PERP_ERR_UNSUPPORTED && strstr(ctx.msg, cases[i].why) != NULL,
       "%s, %s is refused: %s", cases[i].scene, cases[i].lcp,
       status == PERP_OK ? "not at all" : ctx.msg);
    if (status == PERP_OK) perp_result_free(&result);
  }
}

/* The matrix of 900 contacts with 10 rows each is refused. */
static void too_large(void)
{
  perp_request r = { .scene = "pyramid:rows=15", .lcp = "lemke", .t_end = 0.1 };
  perp_result kept = run(&r);
  const perp_contact_count *c = &kept.contact_count;
  below(perp_result_metric(&kept, "pose.drift.max"), 2e-3,
        "lemke, a pyramid beyond its size: nothing falls");
  ok(c->problems > 0 && c->failures == c->problems &&
         (double)c->rescued > 0.8 * (double)c->problems && c->failed[-PERP_UNSUITED] == c->problems,
     "... and all %d problems count as failed, with their cause, %d as rescued", (int)c->problems,
     (int)c->rescued);
  char cause[256];
  ok(perp_result_status(&kept) == PERP_CELL_UNSOLVED &&
         strstr(perp_result_cause(&kept, cause, sizeof cause), "(100 %): unsuited") != NULL,
     "... the run is none of the solver, and says so: %s", cause);
  perp_result_free(&kept);
  r.formulation = "velocity:rescue=false";
  perp_result lost = run(&r);
  ok(perp_result_metric(&lost, "pose.drift.max") > 0.04, "... without rescue everything falls");
  perp_result_free(&lost);
}

/* A box between two plates that are too near: half of the overlap, 10 mm, at either side. */
static void no_solution(void)
{
  static const char *const lcps[] = {
    "dantzig", "keller", "murty", "pgs", "fischer-newton", "minmap-newton", "nncg", "interior-point"
  };
  for (size_t i = 0; i < sizeof lcps / sizeof *lcps; i++) {
    const perp_request r = { .scene = "crush:plate=fixed", .lcp = lcps[i], .t_end = 0.25 };
    perp_result result = run(&r);
    const perp_contact_count *c = &result.contact_count;
    near(perp_result_metric(&result, "pose.drift.max"), 5e-3, 1e-3, 0,
         "%s, contacts that contradict each other: the box meets them halfway", lcps[i]);
    ok(c->failures == c->problems && c->failed[0] == 0, "... %d failures, each with a cause",
       (int)c->failures);
    ok(perp_result_status(&result) == PERP_CELL_UNSOLVED, "... and the run is unsolved");
    perp_result_free(&result);
  }
}

/* The impulses of an impact are no guess for the step after it. */
static void bad_guesses(void)
{
  static const char *const scenes[] = { "cradle", "billiard" };
  for (int i = 0; i < 2; i++) {
    perp_result result = run(&(perp_request){ .scene = scenes[i], .lcp = "interior-point" });
    ok(perp_result_status(&result) == PERP_CELL_OK, "interior-point, %s: the run is ok", scenes[i]);
    near((double)result.contact_count.failures, 0, 0, 0, "interior-point, %s: every step is solved",
         scenes[i]);
    perp_result_free(&result);
  }
}

static void painleve(void)
{
  static const char *const lcps[] = { "fischer-newton", "minmap-newton", "interior-point" };
  for (int i = 0; i < 3; i++) {
    perp_result result = run(&(perp_request){ .scene = "painleve", .lcp = lcps[i] });
    near((double)result.contact_count.failures, 0, 0, 0, "%s, painleve: every step is solved",
         lcps[i]);
    below(perp_result_metric(&result, "truth.err"), 0.01, "... and the rod stops");
    perp_result_free(&result);
  }
}

static void as_asked(void)
{
  perp_result result = run(
      &(perp_request){ .scene = "stack:boxes=5", .lcp = "pgs:sweeps=10", .t_end = 1 });
  const perp_contact_count *c = &result.contact_count;
  ok(c->failures == 0 && c->swept > 0 && c->swept <= c->problems && c->rescued == 0,
     "pgs:sweeps=10: %d of %d problems above the tolerance, none failed", (int)c->swept,
     (int)c->problems);
  ok(perp_result_status(&result) == PERP_CELL_FIXED_WORK, "... and the run is fixed work");
  ok(c->residual > 1e-6, "... and the residual %.2g tells", c->residual);
  near((double)c->iterations, 10 * (double)c->problems, 0, 0, "... ten sweeps each");
  perp_result_free(&result);
}

/* A heap of spheres that roll and slide over each other: the limits of friction and the normal impulses, found in
 * turn, must come together, and soon. */
static void heap(void)
{
  const perp_request r = { .scene = "falling:objects=20,side=3,shape=spheres",
                           .lcp = "dantzig",
                           .t_end = 1.95 };
  perp_result result = run(&r);
  const perp_contact_count *c = &result.contact_count;
  below((double)c->failures / (double)c->problems, 0.01, "dantzig, heap of spheres: failures");
  below((double)c->iterations / (double)c->problems, 100, "... and pivots a problem");
  perp_result_free(&result);
}

/* A problem that Newton's steps bring near the tolerance only is given up, not tried to the limit of steps. */
static void plateau(void)
{
  perp_result result = run(
      &(perp_request){ .scene = "wall:rows=8,columns=4", .lcp = "cone-newton", .t_end = 0.5 });
  const perp_contact_count *c = &result.contact_count;
  below((double)c->iterations / (double)c->problems, 100, "cone-newton, wall: steps a problem");
  below(c->residual, 1e-7, "... what is left");
  near((double)c->rescued, 0, 0, 0, "... is of use");
  perp_result_free(&result);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  refused();
  too_large();
  no_solution();
  bad_guesses();
  painleve();
  as_asked();
  heap();
  plateau();
  return tap_done();
}
