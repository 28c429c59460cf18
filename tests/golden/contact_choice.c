/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts that have several solutions: a grip holds by every solver that says solved, or the run
 * says that its motion is one of several; and where impulses alone are open, it says no more than
 * that. */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "solvers/lcp/lcp.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;
static const char *source = ".";
static char folder[1024];

/* ---- a solver that slides ---- */

/* Negative test: it solves every problem, and of several solutions it always has the one that
 * slides, whatever the guess. */
typedef struct slider {
  perp_lcp_solver *of;
} slider;

static perp_status slider_create(perp_ctx *c, int max_n, const void *opts, void **ws)
{
  perp_spec spec;
  slider *s = calloc(1, sizeof *s);
  (void)opts;
  if (s == NULL) return PERP_ERR_NOMEM;
  perp_status status = perp_spec_parse(c, PERP_KIND_lcp, "auto", &spec);
  if (status == PERP_OK) status = perp_lcp_create(c, &spec, max_n, 0, &s->of);
  perp_spec_free(&spec);
  *ws = s;
  return status;
}

static perp_status slider_solve(perp_ctx *c, void *ws, const perp_lcp *p, double *lambda,
                                double *certificate, perp_stats *stats)
{
  (void)certificate;
  memset(lambda, 0, (size_t)p->n * sizeof *lambda);
  return perp_lcp_solve(c, ((slider *)ws)->of, p, p->tol > 0 ? p->tol : 1e-8, lambda, NULL, NULL,
                        stats);
}

static void slider_destroy(void *ws)
{
  if (ws != NULL) perp_lcp_destroy(((slider *)ws)->of);
  free(ws);
}

static const perp_lcp_desc lcp_slides = {
  .d = { .name = "slides",
         .summary = "Solutions that slide",
         .reference = "None",
         .equation = "None",
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_SEMIDEFINITE },
  .create = slider_create,
  .solve = slider_solve,
  .destroy = slider_destroy,
  .serves = "Boxes.",
  .ties = "None.",
  .cost = "That of auto.",
  .counts = "Iterations.",
  .same = "*",
};
static const perp_plugin with_slides[] = { { PERP_KIND_lcp, &lcp_slides.d }, { 0 } };

/* ---- runs ---- */

static perp_result run(const char *scene, const char *formulation, const char *contact,
                       const char *lcp, double h, double t_end)
{
  char path[1200];
  const bool file = strstr(scene, ".yaml") != NULL && strchr(scene, '/') == NULL;
  snprintf(path, sizeof path, "%s%s", file ? folder : "", scene);
  const perp_request r = { .scene = path,
                           .formulation = formulation,
                           .contact = contact,
                           .lcp = lcp,
                           .h = h,
                           .t_end = t_end };
  perp_result result;
  if (perp_simulate(&ctx, &r, &result) != PERP_OK)
    bail("%s, %s: %s", scene, lcp != NULL ? lcp : "", ctx.msg);
  return result;
}

/* Ok means that the box is where it was; no run that says solved drops it. */
static void holds(const char *scene, const char *formulation, const char *contact, const char *lcp,
                  double h)
{
  perp_result r = run(scene, formulation, contact, lcp, h, 0.3);
  const double drift = perp_result_metric(&r, "pose.drift.max");
  const perp_cell_status status = perp_result_status(&r);
  ok((status == PERP_CELL_OK || status == PERP_CELL_SEVERAL) && drift <= 0.02,
     "%s %s %s %s h = %g: held, %s, drift %.2g m", scene, formulation, contact,
     lcp != NULL ? lcp : "", h, perp_result_status_name(&r), drift);
  perp_result_free(&r);
}

static void grips(void)
{
  static const struct {
    const char *formulation, *contact, *lcp;
  } parts[] = {
    { "velocity", "box", NULL },
    { "velocity", "box", "dantzig" },
    { "velocity", "box", "fixed-point" },
    { "velocity", "box", "bpp" },
    { "velocity", "box", "pgs" },
    { "velocity", "box", "psor" },
    { "velocity", "box", "block-gs" },
    { "velocity", "box", "slides" },
    { "velocity", "cone", NULL },
    { "velocity", "cone", "pgs" },
    { "velocity", "cone", "psor" },
    { "velocity", "cone", "block-gs" },
    { "velocity", "cone", "nncg" },
    { "velocity", "cone", "cone-newton" },
    { "velocity", "cone", "prox" },
    { "velocity", "cone", "staggered" },
    { "velocity", "polyhedral", "lemke" },
    { "velocity", "polyhedral", "keller" },
    { "velocity", "convex", "lemke" },
    { "velocity", "elliptic", "lemke" },
    { "velocity:choice=previous", "box", "dantzig" },
    { "velocity:choice=previous", "cone", "pgs" },
    { "velocity-midpoint", "box", NULL },
    { "velocity-midpoint", "cone", NULL },
    { "velocity-implicit", "box", NULL },
    { "acceleration", "box", NULL },
    { "acceleration", "cone", NULL },
    { "impulse", "box", NULL },
    { "impulse", "cone", NULL },
    { "reduced", "box", NULL },
    { "regularized", "box", NULL },
  };
  static const char *const squeezes[] = { "10", "12", "40" };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    for (int k = 0; k < 3; k++) {
      char scene[64];
      snprintf(scene, sizeof scene, "gripper.yaml:squeeze=%s", squeezes[k]);
      holds(scene, parts[i].formulation, parts[i].contact, parts[i].lcp, 2e-3);
    }
    holds("grip_offset.yaml", parts[i].formulation, parts[i].contact, parts[i].lcp, 2e-3);
  }
  for (int k = 0; k < 3; k++)
    holds("gripper.yaml", "velocity", k == 0 ? "box" : "cone", k == 0 ? "dantzig" : "pgs",
          k == 0   ? 5e-4
          : k == 1 ? 8e-3
                   : 4e-3);
}

/* Too weak a grip: no impulses hold it, many let it swing, and those of least norm let it fall as
 * Coulomb's law has it, a = g - 2 mu F / m; n steps of h move it by a h^2 n (n + 1) / 2. */
static void weak(void)
{
  static const char *const parts[][2] = { { "cone", NULL },          { "cone", "prox" },
                                          { "cone", "cone-newton" }, { "box", NULL },
                                          { "box", "dantzig" },      { "box", "bpp" },
                                          { "polyhedral", "lemke" } };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    perp_result r = run("gripper.yaml:squeeze=6", "velocity", parts[i][0], parts[i][1], 1e-3, 0.2);
    near(perp_result_metric(&r, "pose.drift.max"), 0.5 * (9.81 - 6) * 0.2 * 0.201, 1e-3, 0,
         "%s %s: 6 N of friction against 9.81 N, the box falls with the difference: %s",
         parts[i][0], parts[i][1] != NULL ? parts[i][1] : "", perp_result_status_name(&r));
    perp_result_free(&r);
  }
}

static void solver_that_slides(void)
{
  perp_result r = run("gripper.yaml", "velocity:choice=solver", "box", "slides", 2e-3, 0.5);
  char cause[512];
  ok(perp_result_status(&r) == PERP_CELL_SEVERAL && r.contact_count.failures == 0,
     "a solver that slides, choice=solver: %s, all solved", perp_result_status_name(&r));
  ok(perp_result_metric(&r, "pose.drift.max") > 0.01, "... and the box falls: %g m",
     perp_result_metric(&r, "pose.drift.max"));
  ok(perp_result_metric(&r, "contact.nonunique.motion") >= 1 &&
         perp_result_metric(&r, "contact.nonunique.chosen") == 0,
     "... which is counted: %g steps", perp_result_metric(&r, "contact.nonunique.motion"));
  ok(strstr(perp_result_cause(&r, cause, sizeof cause), "motion depends on the choice") != NULL,
     "... and said: %s", cause);
  perp_result_free(&r);
  r = run("gripper.yaml", "velocity", "box", "slides", 2e-3, 1);
  ok(perp_result_status(&r) == PERP_CELL_SEVERAL &&
         perp_result_metric(&r, "pose.drift.max") < 1e-9 &&
         perp_result_metric(&r, "contact.nonunique.chosen") >= 1,
     "... by default: held, %s", perp_result_status_name(&r));
  perp_result_free(&r);
}

/* A start that asks more than there is of friction: no impulses stop the box, and two solvers agree
 * all the same. */
static void jolt(void)
{
  static const char *const lcps[] = { "fixed-point:inner=dantzig", "bpp", "pgs", "slides",
                                      "staggered" };
  double z[5];
  for (int i = 0; i < 5; i++) {
    perp_result r = run("grip_lift.yaml", "velocity", "box", lcps[i], 2e-3, 0.5);
    z[i] = r.q[2];
    near(z[i], 0.0495, 2e-3, 0, "%s: a box is lifted with a jolt, %s", lcps[i],
         perp_result_status_name(&r));
    perp_result_free(&r);
  }
}

static void unique(void)
{
  static const struct {
    const char *scene;
    bool open; /* impulses are not unique */
  } scenes[] = { { "stack:boxes=3", true }, { "rolling-sphere", false }, { "incline", true } };
  for (int i = 0; i < 3; i++) {
    perp_result r = run(scenes[i].scene, "velocity", "box", NULL, 0, 0);
    const double open = perp_result_metric(&r, "contact.nonunique.impulses"),
                 steps = perp_result_metric(&r, "steps");
    ok(scenes[i].open ? open == steps : open == 0, "%s: impulses not unique in %g of %g steps",
       scenes[i].scene, open, steps);
    ok(perp_result_metric(&r, "contact.nonunique.motion") == 0 &&
           perp_result_status(&r) == PERP_CELL_OK,
       "... and the motion is");
    perp_result_free(&r);
  }
}

/* Stiff, and unique: two answers to a tolerance differ by more than the tolerance. */
static void stiff(void)
{
  char scene[1200];
  snprintf(scene, sizeof scene,
           "%s/experiments/scenes/examples/stance.yaml:height=1.2,mass=30,lean=-0.05,bag=0.1",
           source);
  perp_result r = run(scene, "velocity", "cone", NULL, 1e-3, 0.03);
  ok(perp_result_status(&r) == PERP_CELL_OK &&
         perp_result_metric(&r, "contact.nonunique.motion") == 0,
     "a figure that stands has one motion: %s, %g steps of several", perp_result_status_name(&r),
     perp_result_metric(&r, "contact.nonunique.motion"));
  below(perp_result_metric(&r, "pose.drift.max"), 1e-6, "... and it stands, m");
  perp_result_free(&r);
}

int main(void)
{
  if (getenv("PERP_SOURCE") != NULL) source = getenv("PERP_SOURCE");
  perp_ctx_init(&ctx);
  snprintf(folder, sizeof folder, "%s/tests/data/scenes/", source);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK || perp_register(&ctx, with_slides) != PERP_OK)
    bail("%s", ctx.msg);
  grips();
  weak();
  solver_that_slides();
  jolt();
  unique();
  stiff();
  return tap_done();
}
