/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A guard of work: how many pivots, sweeps, factorizations, products and derivatives a fixed set of
 * problems and scenes takes, against the counts of work.txt.  A change beyond 5 % (and beyond one)
 * is an error until somebody accepts it:
 *
 *      ninja -C build accept-work        writes work.txt anew; its difference goes into the commit
 * and its message
 *
 * Times depend on the machine, counts do not: sums over some problems, chosen so that rounding does
 * not decide. */
#include "experiments/scenes/scene_file.h"
#include "models/models.h"
#include "solvers/lcp/problem.h"
#include "tests/guard/golden.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

/* ---- what was counted ---- */

static golden_line *add(const char *kind, const char *method, const char *problem)
{
  return golden_add("%s %s on %s", kind, method, problem);
}

static void count(golden_line *l, const char *what, double number)
{
  int i = 0;
  while (i < l->n && strcmp(l->what[i], what) != 0) i++;
  if (i == l->n) golden_put(l, what, 0, 0);
  l->number[i] += number;
  l->room[i] = fmax(1, 0.05 * l->number[i]);
}

/* ---- LCP ---- */

/* from zero, and from a guess that is nearly right */
static void lcp_problem(golden_line *l, const perp_spec *spec, const perp_lcp_recipe *recipe)
{
  enum { ROWS = 128 };
  static double x[ROWS];
  perp_lcp_problem q;
  perp_lcp_solver *s;
  perp_stats stats;
  if (perp_lcp_generate(&ctx, recipe, &q) != PERP_OK) bail("%s: %s", recipe->family, ctx.msg);
  if (q.p.n > ROWS) bail("%s: %d rows", recipe->family, q.p.n);
  memset(x, 0, sizeof x);
  if (perp_lcp_create(&ctx, spec, q.p.n, q.p.F != NULL ? q.p.F->nv : 0, &s) != PERP_OK ||
      perp_lcp_solve(&ctx, s, &q.p, 1e-8, x, NULL, NULL, &stats) != PERP_OK)
    bail("%s: %s", spec->d->name, ctx.msg);
  count(l, "solved", stats.reason == PERP_CONVERGED);
  /* where a method gives up depends on more than its work */
  if (stats.reason == PERP_CONVERGED) {
    count(l, "iterations", stats.iterations);
    count(l, "factorizations", stats.factorizations);
    count(l, "products", (double)stats.matvecs);
    for (int i = 0; i < q.p.n; i++) x[i] *= 1 + 1e-3 * (i % 3 - 1);
    if (perp_lcp_solve(&ctx, s, &q.p, 1e-8, x, NULL, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
    count(l, "warm", stats.iterations);
    count(l, "warm products", (double)stats.matvecs);
  }
  perp_lcp_destroy(s);
  perp_lcp_problem_free(&q);
}

static void lcp_work(void)
{
  static const struct {
    const char *family;
    int n, instances;
    bool factored;
  } sets[] = { { "spd", 24, 4, false },
               { "boxed", 24, 4, false },
               { "p-matrix", 12, 4, false },
               { "tridiag", 40, 1, false },
               /* not definite */
               { "stack-box", 36, 1, false },
               { "stack-box", 36, 1, true },
               { "stack-cone", 36, 1, true },
               { "incline-box", 24, 1, false },
               { "incline-slide", 24, 1, false },
               { "bimatrix", 16, 4, false } };
  enum { DEFINITE = 4 };
  static const char *const ways[] = { "pgs:order=symmetric",        "pgs:order=random",
                                      "pgs:order=coloured",         "psor:omega=1.6",
                                      "jacobi:plain=true",          "murty:rule=worst",
                                      "block-gs:block=projection",  "block-gs:by=group",
                                      "block-gs:accelerate=0",      "block-gs:block=enumeration",
                                      "staggered:depth=0",          "fischer-newton:window=1",
                                      "fischer-newton:kink=bound",  "minmap-newton:warm=5",
                                      "interior-point:crossover=0", "lemke:cover=scaled" };
  const int n_ways = sizeof ways / sizeof *ways;
  const perp_desc *d = NULL;
  for (int i = 0; i < n_ways || (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i - n_ways)) != NULL;
       i++) {
    const char *name = i < n_ways ? ways[i] : d->name;
    if (i >= n_ways && d->caps & PERP_LCP_PEER) continue;
    perp_spec spec;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, name, &spec) != PERP_OK) bail("%s", ctx.msg);
    const size_t n_sets = golden_led(name) ? (size_t)DEFINITE : sizeof sets / sizeof *sets;
    for (size_t k = 0; k < n_sets; k++) {
      char problem[64];
      snprintf(problem, sizeof problem, "%s:n=%d%s", sets[k].family, sets[k].n,
               sets[k].factored ? ",factored" : "");
      golden_line *l = add("lcp", name, problem);
      for (int j = 0; j < sets[k].instances; j++)
        lcp_problem(l, &spec,
                    &(perp_lcp_recipe){ .family = sets[k].family,
                                        .n = sets[k].n,
                                        .seed = (uint64_t)j + 1,
                                        .factored = sets[k].factored });
      if (l->number[0] == 0) golden_lines--; /* not for this method */
    }
    perp_spec_free(&spec);
  }
}

/* ---- scenes ---- */

static perp_status part(perp_kind kind, const char *text, perp_spec *spec)
{
  return text[0] == '\0' ? PERP_OK : perp_spec_parse(&ctx, kind, text, spec);
}

static void scene_work(const char *scene_text, const char *formulation, const char *ode,
                       const char *kkt, const char *stab, const char *lcp, const char *contact,
                       int steps)
{
  char method[80];
  snprintf(method, sizeof method, "%s+%s+%s+%s+%s+%s", formulation, ode, kkt, stab, lcp, contact);
  golden_line *l = add("scene", method, scene_text);
  perp_spec spec;
  perp_scene scene;
  perp_parts parts = { 0 };
  perp_sim *sim = NULL;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, scene_text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK ||
      part(PERP_KIND_formulation, formulation, &parts.formulation) != PERP_OK ||
      part(PERP_KIND_ode, ode, &parts.ode) != PERP_OK ||
      part(PERP_KIND_kkt, kkt, &parts.kkt) != PERP_OK ||
      part(PERP_KIND_stab, stab, &parts.stab) != PERP_OK ||
      part(PERP_KIND_lcp, lcp, &parts.lcp) != PERP_OK ||
      part(PERP_KIND_contact, contact, &parts.contact) != PERP_OK ||
      perp_sim_create(&ctx, scene.model, &parts, scene.h, &sim) != PERP_OK)
    bail("%s: %s: %s", scene_text, method, ctx.msg);
  perp_step_info info = { 0 };
  int made = 0;
  while (made < steps && perp_sim_step(&ctx, sim, HUGE_VAL, &info) == PERP_OK && info.reason > 0)
    made++;
  perp_ode_counters counters;
  perp_stats stats;
  perp_sim_counters(sim, &counters, &stats);
  count(l, "steps", made);
  count(l, "derivatives", (double)counters.rhs);
  count(l, "factorizations", stats.factorizations);
  count(l, "iterations", stats.iterations);
  const perp_contact_count *contacts = perp_sim_contacts(sim);
  if (contacts != NULL && contacts->contacts > 0) {
    count(l, "problems", (double)contacts->problems);
    count(l, "contact iterations", (double)contacts->iterations);
  }
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  perp_spec_free(&parts.formulation);
  perp_spec_free(&parts.ode);
  perp_spec_free(&parts.kkt);
  perp_spec_free(&parts.stab);
  perp_spec_free(&parts.lcp);
  perp_spec_free(&parts.contact);
}

static void scenes_work(void)
{
  const perp_desc *d;
  /* what runs when nothing is asked for */
  scene_work("pendulum", "", "", "", "", "", "", 200);
  scene_work("chain:links=8", "", "", "", "", "", "", 100);
  scene_work("four-bar", "", "", "", "", "", "", 100);
  scene_work("stack:boxes=6", "", "", "", "", "", "", 50);
  scene_work("incline", "", "", "", "", "", "", 50);
  scene_work("rolling-sphere", "", "", "", "", "", "", 50);
  scene_work("bouncing-ball", "", "", "", "", "", "", 200);
  scene_work("wall", "", "", "", "", "block-gs", "", 10);
  scene_work("cylinders", "", "", "", "", "", "", 20);
  /* every method of perp in the same place */
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_ode, i)) != NULL; i++) {
    if (strchr(d->name, ':') != NULL) continue; /* GSL's belong to GSL */
    char text[64];
    snprintf(text, sizeof text, "%s:tol=1e-5", d->name);
    scene_work("chain:links=3", "acceleration", text, "tree", "post", "", "", 60);
  }
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_kkt, i)) != NULL; i++)
    scene_work("chain:links=6", "velocity", "symplectic-euler", d->name, "post", "", "", 50);
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_stab, i)) != NULL; i++)
    scene_work("chain:links=4", "velocity", "symplectic-euler", "tree", d->name, "", "", 50);
  static const char *const forms[] = { "acceleration",      "velocity-implicit",
                                       "reduced",           "penalty",
                                       "impulse",           "ggl",
                                       "generalized-alpha", "radau5" };
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    scene_work("chain:links=4", forms[i], "", "", "", "", "", 50);
  static const char *const lcps[] = { "pgs", "apgd", "nncg", "lemke", "block-gs", "auto" };
  for (size_t i = 0; i < sizeof lcps / sizeof *lcps; i++)
    scene_work("stack:boxes=4", "velocity", "symplectic-euler", "", "", lcps[i],
               strcmp(lcps[i], "lemke") == 0 ? "frictionless" : "box", 20);
  static const char *const models[] = { "frictionless", "box", "cone", "polyhedral", "convex" };
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    scene_work("incline:theta=30deg,mu=0.3", "velocity", "symplectic-euler", "", "", "auto",
               models[i], 30);
}

int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  lcp_work();
  scenes_work();
  golden_end("work.txt", argc > 1 && strcmp(argv[1], "--accept") == 0);
  return tap_done();
}
