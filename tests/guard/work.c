/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A guard of work: how many pivots, sweeps, factorizations, products and derivatives a fixed set of problems and scenes
 * takes, against the counts of work.txt.  A change beyond 5 % (and beyond one) is an error until somebody accepts it:
 *
 *      ninja -C build accept-work        writes work.txt anew; its difference goes into the commit and its message
 *
 * Times depend on the machine, counts do not: sums over some problems, chosen so that rounding does not decide. */
#include "experiments/runner/util.h"
#include "models/models.h"
#include "solvers/lcp/problem.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

/* ---- what was counted: lines of "name: count number, ..." ------------------------------------------------------ */

enum { COUNTS = 6, LINES = 512 };
typedef struct line {
  char name[120];
  const char *what[COUNTS];
  double count[COUNTS];
} line;
static line lines[LINES];
static int n_lines;

static line *add(const char *kind, const char *method, const char *problem)
{
  if (n_lines == LINES) bail("more than %d lines", LINES);
  line *l = &lines[n_lines++];
  *l = (line){ 0 };
  snprintf(l->name, sizeof l->name, "%s %s on %s", kind, method, problem);
  return l;
}

static void count(line *l, const char *what, double number)
{
  for (int i = 0; i < COUNTS; i++) {
    if (l->what[i] != NULL && strcmp(l->what[i], what) != 0) continue;
    l->what[i] = what;
    l->count[i] += number;
    return;
  }
  bail("more than %d counts", COUNTS);
}

static void line_text(const line *l, perp_text *t)
{
  perp_text_add(t, "%s:", l->name);
  for (int i = 0; i < COUNTS && l->what[i] != NULL; i++)
    perp_text_add(t, "%s %s %.0f", i > 0 ? "," : "", l->what[i], l->count[i]);
  perp_text_add(t, "\n");
}

/* ---- LCP ------------------------------------------------------------------------------------------------------------- */

static void lcp_problem(line *l, const perp_spec *spec, const perp_lcp_recipe *recipe)
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
  } sets[] = { { "spd", 24, 4, false },         { "boxed", 24, 4, false },
               { "p-matrix", 12, 4, false },    { "stack-box", 36, 1, false },
               { "stack-box", 36, 1, true },    { "stack-cone", 36, 1, true },
               { "incline-box", 24, 1, false }, { "incline-slide", 24, 1, false },
               { "tridiag", 40, 1, false },     { "bimatrix", 16, 4, false } };
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL; i++) {
    if (d->caps & PERP_LCP_PEER) continue;
    perp_spec spec;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
      char problem[64];
      snprintf(problem, sizeof problem, "%s:n=%d%s", sets[k].family, sets[k].n,
               sets[k].factored ? ",factored" : "");
      line *l = add("lcp", d->name, problem);
      for (int j = 0; j < sets[k].instances; j++)
        lcp_problem(l, &spec,
                    &(perp_lcp_recipe){ .family = sets[k].family,
                                        .n = sets[k].n,
                                        .seed = (uint64_t)j + 1,
                                        .factored = sets[k].factored });
      if (l->count[0] == 0) n_lines--; /* not for this method */
    }
    perp_spec_free(&spec);
  }
}

/* ---- scenes ------------------------------------------------------------------------------------------------------------- */

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
  line *l = add("scene", method, scene_text);
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
  scene_work("pyramid", "", "", "", "", "", "", 20);
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
  static const char *const forms[] = { "acceleration", "velocity-implicit", "reduced",
                                       "penalty",      "impulse",           "ggl" };
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    scene_work("chain:links=4", forms[i], "", "", "", "", "", 50);
  static const char *const lcps[] = { "pgs", "apgd", "nncg", "lemke", "block-gs", "auto" };
  for (size_t i = 0; i < sizeof lcps / sizeof *lcps; i++)
    scene_work("stack:boxes=4", "velocity", "symplectic-euler", "", "", lcps[i],
               strcmp(lcps[i], "lemke") == 0 ? "frictionless" : "box", 20);
  static const char *const models[] = { "frictionless", "box", "cone", "polyhedral" };
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    scene_work("incline:theta=30deg,mu=0.3", "velocity", "symplectic-euler", "", "", "auto",
               models[i], 30);
}

/* ---- against the file ---------------------------------------------------------------------------------------------------- */

/* The counts of a line of the file; false where it is not the line of that name. */
static bool counts_of(const char *text, const line *l, double *was)
{
  size_t n = strlen(l->name);
  if (strncmp(text, l->name, n) != 0 || text[n] != ':') return false;
  char *copy = perp_xprintf("%.*s", (int)strcspn(text, "\n"), text);
  for (int i = 0; i < COUNTS; i++) {
    was[i] = (double)NAN;
    if (l->what[i] == NULL) continue;
    char *word = perp_xprintf(" %s ", l->what[i]);
    const char *at = strstr(copy + n, word);
    /* "iterations" also ends "contact iterations" */
    while (at != NULL && at[-1] != ':' && at[-1] != ',') at = strstr(at + 1, word);
    if (at != NULL) was[i] = strtod(at + strlen(word), NULL);
    free(word);
  }
  free(copy);
  return true;
}

static const char *next_line(const char *s)
{
  s += strcspn(s, "\n");
  return *s == '\n' ? s + 1 : s;
}

static void compare(const char *path)
{
  char *file = perp_read_file(path, NULL);
  if (file == NULL) bail("cannot read %s", path);
  static bool found[LINES];
  int unknown = 0;
  for (const char *s = file; *s != '\0'; s = next_line(s)) {
    if (*s == '#' || *s == '\n') continue;
    bool known = false;
    for (int i = 0; i < n_lines; i++) {
      const line *l = &lines[i];
      double was[COUNTS];
      if (!counts_of(s, l, was)) continue;
      known = found[i] = true;
      bool same = true;
      for (int k = 0; k < COUNTS && l->what[k] != NULL; k++)
        same = same && fabs(l->count[k] - was[k]) <= fmax(1, 0.05 * was[k]);
      if (!ok(same, "%s", l->name))
        for (int k = 0; k < COUNTS && l->what[k] != NULL; k++)
          printf("# %s: %.0f, was %.0f\n", l->what[k], l->count[k], was[k]);
    }
    if (!known) {
      printf("# gone: %.*s\n", (int)strcspn(s, "\n"), s);
      unknown++;
    }
  }
  int added = 0;
  for (int i = 0; i < n_lines; i++)
    if (!found[i]) {
      printf("# not in the file: %s\n", lines[i].name);
      added++;
    }
  if (!ok(unknown == 0 && added == 0, "the same %d lines as in the file", n_lines) ||
      tap_failed > 0)
    printf("# if that is as it should be: ninja -C build accept-work\n");
  free(file);
}

static void accept_counts(const char *path)
{
  perp_text t = { 0 };
  perp_text_add(&t, "# Counts of work, written by `ninja -C build accept-work`; see work.c.\n");
  for (int i = 0; i < n_lines; i++) line_text(&lines[i], &t);
  if (perp_write_file(&ctx, path, t.s, strlen(t.s)) != PERP_OK) bail("%s", ctx.msg);
  printf("# %d lines written to %s\n", n_lines, path);
  perp_text_free(&t);
}

int main(int argc, char **argv)
{
  const char *root = getenv("PERP_SOURCE");
  if (root == NULL) bail("PERP_SOURCE names no folder");
  char *path = perp_xprintf("%s/tests/guard/work.txt", root);
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  lcp_work();
  scenes_work();
  if (argc > 1 && strcmp(argv[1], "--accept") == 0)
    accept_counts(path);
  else
    compare(path);
  free(path);
  return tap_done();
}
