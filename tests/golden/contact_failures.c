/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of the bodies when a solver fails: nothing stands in for it, nothing is thrown, and
 * the failure is counted.  Problems without a solution, too large ones, bad guesses, and sweeps
 * that end where they were asked to. */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
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

/* The matrix of 900 contacts with 10 rows each is refused: nothing stands in for the solver that
 * was named. */
static void too_large(void)
{
  perp_request r = { .scene = "pyramid:rows=15", .lcp = "lemke", .stab = "none", .t_end = 0.1 };
  perp_result lost = run(&r);
  const perp_contact_count *c = &lost.contact_count;
  ok(perp_result_metric(&lost, "pose.drift.max") > 0.04,
     "lemke, a pyramid beyond its size: everything falls");
  ok(c->problems > 0 && c->failures == c->problems && c->solved == 0 && c->reused == 0 &&
         c->failed[-PERP_UNSUITED] == c->problems,
     "... and all %d problems count as failed, with their cause", (int)c->problems);
  char cause[256];
  ok(perp_result_status(&lost) == PERP_CELL_UNSOLVED &&
         strstr(perp_result_cause(&lost, cause, sizeof cause), "(100 %): unsuited") != NULL,
     "... the run is none of the solver, and says so: %s", cause);
  perp_result_free(&lost);
  /* whoever wants sweeps where a solver fails names them */
  r.lcp = "rescue:of=lemke";
  r.contact = "box";
  perp_result kept = run(&r);
  below(perp_result_metric(&kept, "pose.drift.max"), 2e-3,
        "rescue:of=lemke, the same: nothing falls");
  const perp_contact_count *k = &kept.contact_count;
  int64_t by_lemke = 0, by_sweeps = 0;
  for (int i = 0; i < PERP_SOLVED_BY; i++) {
    if (strcmp(k->by[i].name, "lemke") == 0) by_lemke = k->by[i].n;
    if (strcmp(k->by[i].name, "sweeps") == 0) by_sweeps = k->by[i].n;
  }
  ok(by_lemke == 0 && by_sweeps == k->solved && k->problems == k->solved + k->failures,
     "... %d of %d solved, by its sweeps alone", (int)k->solved, (int)k->problems);
  perp_result_free(&kept);
}

/* A solver that is stopped early has failed, whatever its sweeps are good for, and the figures say
 * how far it is off. */
static void stopped(void)
{
  const perp_request r = { .scene = "wall", .lcp = "psor:max_iter=3", .t_end = 0.2 };
  perp_result result = run(&r);
  const perp_contact_count *c = &result.contact_count;
  ok(c->problems >= 40 && c->failures == c->problems && c->solved == 0 &&
         c->failed[-PERP_MAX_ITER] == c->failures,
     "psor:max_iter=3, a wall: %d of %d problems failed", (int)c->failures, (int)c->problems);
  ok(c->residual > 1e-8 && c->data > 1e-6, "... and both figures tell: %.2g, %.2g", c->residual,
     c->data);
  perp_result_free(&result);
}

/* What was `ok` once: boxes that gain two thirds of their energy; a cube that fell through another
 * is solved by now. */
static void counted(void)
{
  perp_result result = run(
      &(perp_request){ .scene = "jam:side=3,e=1", .contact = "frictionless", .lcp = "dantzig" });
  const perp_contact_count *c = &result.contact_count;
  ok(c->failures > 0 && c->problems == c->solved + c->swept + c->failures,
     "jam, dantzig: %d of %d problems were not solved, and count", (int)c->failures,
     (int)c->problems);
  perp_result_free(&result);
  result = run(&(perp_request){ .scene = "mass-ratio:ratio=1e-12", .lcp = "apgd", .t_end = 0.5 });
  ok(c->failures == 0 && c->data <= 1e-6,
     "mass-ratio 1e-12, apgd: both rules hold, %.2g in units of the data", c->data);
  below(perp_result_metric(&result, "pose.drift.max"), 1e-5, "... and no cube falls");
  perp_result_free(&result);
}

/* A box between two plates that are too near: half of the overlap, 10 mm, at either side, with a
 * solver that goes on where there is no solution.  (Feedback asks for velocities that contradict
 * each other; without it the box stops.) */
static void no_solution(void)
{
  static const char *const lcps[] = {
    "dantzig:start=bpp", "bpp",           "keller", "murty",         "pgs",
    "fischer-newton",    "minmap-newton", "nncg",   "interior-point"
  };
  for (size_t i = 0; i < sizeof lcps / sizeof *lcps; i++) {
    char rescue[80];
    snprintf(rescue, sizeof rescue, "rescue:of=%s", lcps[i]);
    perp_request r = { .scene = "crush", .lcp = rescue, .stab = "baumgarte:push=1", .t_end = 0.25 };
    perp_result result = run(&r);
    const perp_contact_count *c = &result.contact_count;
    near(perp_result_metric(&result, "pose.drift.max"), 5e-3, 1e-3, 0,
         "%s, contacts that contradict each other: the box meets them halfway", rescue);
    ok(c->problems > 0 && c->failures == c->problems && c->failed[0] == 0,
       "... %d failures, each with a cause", (int)c->failures);
    ok(perp_result_status(&result) == PERP_CELL_UNSOLVED, "... and the run is unsolved");
    perp_result_free(&result);
    r.lcp = lcps[i];
    result = run(&r);
    ok((double)c->failures > 0.9 * (double)c->problems && c->failed[0] == 0 &&
           c->problems == c->solved + c->failures,
       "%s alone: %d of %d failed, each with a cause", lcps[i], (int)c->failures, (int)c->problems);
    perp_result_free(&result);
  }
}

/* How critical contacts show: status, metrics, text and JSON, with the remedy and without. */
static void critical(void)
{
  for (int stop = 0; stop < 2; stop++) {
    perp_result r;
    const perp_request request = {
      .scene = "crush",
      .formulation = stop ? "acceleration:critical=stop" : "acceleration",
      .ode = "rk4",
      .stab = "baumgarte", /* no projection, which has no solution either */
      .t_end = 0.1
    };
    if (perp_simulate(&ctx, &request, &r) != PERP_OK) bail("%s", ctx.msg);
    char text[4096] = "", json[4096] = "";
    for (int i = 0; i < 2; i++) {
      FILE *f = fmemopen(i == 0 ? text : json, sizeof text, "w");
      if (f == NULL) bail("no memory");
      if (i == 0)
        perp_contacts_text(&r.contact_count, f);
      else
        perp_contacts_json(&r.contact_count, &(perp_json){ .out = f });
      fclose(f);
    }
    for (char *c = text; *c != '\0'; c++) /* one line, one blank a gap */
      if (*c == '\n' || (*c == ' ' && c[1] == ' ')) memmove(c, c + 1, strlen(c)), c--;
    const perp_cell_status status = perp_result_status(&r);
    near(perp_result_metric(&r, "events.critical"), 1, 0, 0, "crush, critical=%s: counted",
         stop ? "stop" : "fail");
    near(perp_result_metric(&r, "events.stopped"), stop, 0, 0, "... as stopped");
    ok(stop ? status == PERP_CELL_OK : status == PERP_CELL_DIVERGED, "... status %s",
       perp_result_status_name(&r));
    ok(strstr(text, stop ? "bodies were stopped" : "the run ends there") != NULL, "... %s", text);
    ok(strstr(json, stop ? "\"refuted\": 1" : "\"refuted\": 0") != NULL &&
           strstr(json, stop ? "\"failures\": 0" : "\"failures\": 1") != NULL,
       "... %s", json);
    ok(stop || strstr(r.message, "critical=stop") != NULL, "... %s", r.message);
    perp_result_free(&r);
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
  ok(c->failures == 0 && c->swept > 0 && c->swept <= c->problems,
     "pgs:sweeps=10: %d of %d problems above the tolerance, none failed", (int)c->swept,
     (int)c->problems);
  ok(perp_result_status(&result) == PERP_CELL_FIXED_WORK, "... and the run is fixed work");
  ok(c->residual > 1e-6, "... and the residual %.2g tells", c->residual);
  near((double)c->iterations, 10 * (double)c->problems, 0, 0, "... ten sweeps each");
  perp_result_free(&result);
}

/* A heap of spheres that roll and slide over each other: the limits of friction and the normal
 * impulses, found in turn, must come together, and soon. */
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

/* A problem that Newton's steps bring near the tolerance only is given up, not tried to the limit
 * of steps. */
static void plateau(void)
{
  perp_result result = run(
      &(perp_request){ .scene = "wall:rows=8,columns=4", .lcp = "cone-newton", .t_end = 0.5 });
  const perp_contact_count *c = &result.contact_count;
  below((double)c->iterations / (double)c->problems, 100, "cone-newton, wall: steps a problem");
  below(c->residual, 1e-7, "... what is left");
  perp_result_free(&result);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  refused();
  too_large();
  stopped();
  counted();
  no_solution();
  critical();
  bad_guesses();
  painleve();
  as_asked();
  heap();
  plateau();
  return tap_done();
}
