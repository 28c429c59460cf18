/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts that have no say.  That they have none is judged by the simulation itself: with another
 * part in their place it makes the same states, bit for bit.  The command line, the result and the
 * cells of a study agree on which they are. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/kind_simulate.h"
#include "experiments/simulate/parts.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;
static const perp_cell_kind *const kinds[] = { &perp_kind_simulate, NULL };

static const char *const scenes[] = { "pendulum",      "chain:links=3", "stack:boxes=2",
                                      "bouncing-ball", "free-body",     "stop",
                                      "circle",        "pusher" };
enum { SCENES = sizeof scenes / sizeof *scenes, STEPS = 40 };

/* two of each part, as different as can be */
static const char *const choice[PERP_PARTS][2] = {
  [PERP_PART_ODE] = { "symplectic-euler", "euler" }, [PERP_PART_KKT] = { "tree", "schur-dense" },
  [PERP_PART_LCP] = { "dantzig", "block-gs" },       [PERP_PART_STAB] = { "none", "baumgarte" },
  [PERP_PART_CONTACT] = { "frictionless", "box" },
};

/* The state after some steps with one part given; NULL: refused.  *n: its length. */
static double *state_with(const perp_scene *scene, const char *formulation, int part,
                          const char *text, int *n)
{
  perp_ctx quiet = ctx;
  perp_parts parts = { 0 };
  perp_sim *sim = NULL;
  perp_step_info info;
  double t, *state = NULL;
  const double *q, *v;
  if (perp_spec_parse(&ctx, PERP_KIND_formulation, formulation, &parts.formulation) != PERP_OK ||
      perp_spec_parse(&ctx, perp_part_kind(part), text, perp_part(&parts, part)) != PERP_OK)
    bail("%s", ctx.msg);
  if (perp_sim_create(&quiet, scene->model, &parts, 2e-3, &sim) == PERP_OK) {
    for (int i = 0; i < STEPS; i++)
      if (perp_sim_step(&quiet, sim, 1e9, &info) != PERP_OK || info.reason < 0) break;
    perp_sim_state(sim, &t, &q, &v);
    const int nq = perp_model_nq(scene->model), nv = perp_model_nv(scene->model);
    *n = nq + nv;
    state = malloc((size_t)*n * sizeof *state);
    memcpy(state, q, (size_t)nq * sizeof *q);
    memcpy(state + nq, v, (size_t)nv * sizeof *v);
  }
  perp_sim_destroy(sim);
  perp_parts_free(&parts);
  return state;
}

static void no_effect(void)
{
  const perp_desc *d;
  int unused = 0, wrong = 0, differ[PERP_PARTS] = { 0 };
  for (int s = 0; s < SCENES; s++) {
    perp_spec spec;
    perp_scene scene;
    perp_scene_facts facts;
    if (perp_spec_parse(&ctx, PERP_KIND_scene, scenes[s], &spec) != PERP_OK ||
        perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
      bail("%s", ctx.msg);
    perp_scene_look(&scene, &facts);
    for (int f = 0;
         scene.model != NULL && (d = perp_plugin_at(&ctx, PERP_KIND_formulation, f)) != NULL; f++) {
      perp_parts named = { 0 };
      perp_spec decides;
      if (perp_spec_parse(&ctx, PERP_KIND_formulation, d->name, &named.formulation) != PERP_OK ||
          perp_parts_formulation(&ctx, &named, &decides) != PERP_OK)
        bail("%s", ctx.msg);
      for (int p = PERP_PART_ODE; p < PERP_PART_ENGINE; p++) {
        char why[PERP_WHY_MAX];
        int n = 0;
        double *a = state_with(&scene, d->name, p, choice[p][0], &n),
               *b = state_with(&scene, d->name, p, choice[p][1], &n);
        const bool same = a != NULL && b != NULL && memcmp(a, b, (size_t)n * sizeof *a) == 0;
        if (a != NULL && b != NULL) {
          const bool idle = perp_part_unused(&facts, spec.d->name, decides.d, p, why) != NULL;
          unused += idle;
          wrong += idle && !same;
          differ[p] += !idle && !same;
          if (idle && !same)
            printf("# %s, %s: %s %s\n", scenes[s], d->name, perp_part_name(p), why);
        }
        free(a);
        free(b);
      }
      perp_spec_free(&decides);
      perp_parts_free(&named);
    }
    perp_spec_free(&spec);
    perp_scene_destroy(&scene);
  }
  ok(unused > 60 && wrong == 0, "%d times a part has no say, and changes nothing: %d wrong", unused,
     wrong);
  for (int p = PERP_PART_ODE; p < PERP_PART_ENGINE; p++)
    ok(differ[p] > 0, "%s changes %d others", perp_part_name(p), differ[p]);
}

/* ---- the command line and the studies ---- */

static perp_status set_up(const char *const *text, const char *scene, perp_result *r)
{
  const perp_request q = { .scene = scene,
                           .formulation = text[PERP_PART_FORMULATION],
                           .ode = text[PERP_PART_ODE],
                           .kkt = text[PERP_PART_KKT],
                           .lcp = text[PERP_PART_LCP],
                           .stab = text[PERP_PART_STAB],
                           .contact = text[PERP_PART_CONTACT],
                           .setup_only = true };
  return perp_simulate(&ctx, &q, r);
}

/* All parts are named: the cell names those that are used, a simulation of the cell names the same
 * ones, and one that names all of them is refused exactly where the cell has fewer. */
static void agreement(void)
{
  static const char *const forms[] = {
    "",        "velocity", "acceleration", "reduced",
    "impulse", "penalty",  "groups",       "groups:of=acceleration"
  };
  int cells = 0, fits = 0, wrong = 0;
  for (int s = 0; s < SCENES; s++)
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
      char text[512], form[64] = "";
      if (forms[f][0] != '\0') snprintf(form, sizeof form, "formulation: \"%s\"\n", forms[f]);
      snprintf(text, sizeof text,
               "schema: perp-study/1\nscene: \"%s\"\n%sode: symplectic-euler\nkkt: tree\n"
               "lcp: dantzig\nstab: baumgarte\ncontact: box\n",
               scenes[s], form);
      perp_diag diag = { 0 };
      perp_study *study;
      perp_plan plan;
      perp_study_request q = { .file = "parts.yaml", .text = text, .kinds = kinds };
      if (perp_study_read(&ctx, &q, &diag, &study) != PERP_OK) bail("%s", diag.text.s);
      if (perp_plan_make(&ctx, study, &plan) != PERP_OK) bail("%s", ctx.msg);
      perp_request request = perp_kind_simulate_request(&plan.cells[0]);
      const char *const all[PERP_PARTS] = { forms[f],  "symplectic-euler", "tree",
                                            "dantzig", "baumgarte",        "box",
                                            "" };
      const char *used[PERP_PARTS];
      int dropped = 0;
      for (int p = 0; p < PERP_PARTS; p++) {
        used[p] = *perp_part_text(&request, p);
        dropped += used[p][0] == '\0' && all[p][0] != '\0';
      }
      perp_result r;
      const bool refused = set_up(all, scenes[s], &r) == PERP_ERR_UNSUPPORTED &&
                           strstr(ctx.msg, "has no effect") != NULL;
      perp_result_free(&r);
      bool good = refused == (dropped > 0);
      if (set_up(used, scenes[s], &r) == PERP_OK) {
        fits++;
        const char *const names[PERP_PARTS] = { r.formulation, r.ode,     r.kkt,   r.lcp,
                                                r.stab,        r.contact, r.engine };
        for (int p = 0; p < PERP_PARTS; p++)
          good = good && (strcmp(names[p], used[p]) == 0 || (p == 0 && forms[f][0] == '\0'));
        good = good && r.q == NULL;
      } else
        good = good && strstr(ctx.msg, "has no effect") == NULL;
      perp_result_free(&r);
      cells++;
      wrong += !good;
      if (!good) printf("# %s, '%s': %s\n", scenes[s], forms[f], ctx.msg);
      perp_plan_free(&plan);
      perp_diag_free(&diag);
      perp_study_free(study);
    }
  ok(wrong == 0 && fits > cells / 2, "%d of %d: the command line, the result and the cell agree",
     cells - wrong, cells);
}

/* Combinations that differ in what has no effect are one cell. */
static void equal_cells(void)
{
  static const struct {
    const char *what, *text;
    int combinations, cells;
  } cases[] = {
    { "stab with formulation reduced",
      "scene: pendulum\ngrid: { formulation: [velocity, reduced], stab: [none, post] }\n", 4, 3 },
    { "ode with formulation impulse",
      "scene: chain\ngrid: { formulation: [acceleration, impulse], ode: [rk4, midpoint] }\n", 4,
      3 },
    { "lcp and contact without contacts",
      "grid: { scene: [pendulum, stack], lcp: [dantzig, block-gs], contact: [box, frictionless] "
      "}\n",
      8, 5 },
    { "contact without shapes, lcp with drives",
      "grid: { scene: [stop, stack], lcp: [dantzig, block-gs], contact: [box, frictionless] }\n", 8,
      6 },
    { "stab and kkt without joints",
      "formulation: acceleration\n"
      "grid: { scene: [free-body, pendulum], stab: [none, post], kkt: [tree, schur-dense] }\n",
      8, 5 },
    { "all but the ode without bodies",
      "grid: { scene: [circle, pendulum], stab: [none, post], formulation: [velocity, impulse] }\n",
      8, 4 },
    { "stab of the formulation that groups run inside",
      "scene: chain\ngrid: { formulation: [\"groups:of=reduced\", groups], stab: [none, post] }\n",
      4, 3 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    perp_diag diag = { 0 };
    perp_study *study;
    perp_plan plan;
    snprintf(text, sizeof text, "schema: perp-study/1\n%s", cases[i].text);
    perp_study_request q = { .file = "equal.yaml", .text = text, .kinds = kinds };
    if (perp_study_read(&ctx, &q, &diag, &study) != PERP_OK) bail("%s", diag.text.s);
    if (perp_plan_make(&ctx, study, &plan) != PERP_OK) bail("%s", ctx.msg);
    perp_plan_check(&ctx, study, &plan, &diag);
    ok(plan.combinations == cases[i].combinations && plan.n == cases[i].cells && diag.errors == 0,
       "%s: %d combinations are %d cells", cases[i].what, (int)plan.combinations, plan.n);
    perp_plan_free(&plan);
    perp_diag_free(&diag);
    perp_study_free(study);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK ||
      perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  no_effect();
  agreement();
  equal_cells();
  return tap_done();
}
