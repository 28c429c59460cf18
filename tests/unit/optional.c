/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Optional parts: the list against the plug-ins of this perp, and studies that name what a perp
 * does not have. */
#include "experiments/study/plan.h"
#include "models/models.h"
#include "solvers/core/optional.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

/* What is listed here with the library is what the list says without it. */
static void list_is_true(void)
{
  perp_ctx all;
  perp_ctx_init(&all);
  perp_register_models(&all);
  const perp_optional *o;
  int listed = 0, found = 0, registered = 0;
  bool same = true, packages = true, absent = true;
  for (int i = 0; (o = perp_optional_at(i)) != NULL; i++) {
    const perp_desc *d = perp_find(&all, o->kind, o->name);
    listed++;
    found += d != NULL;
    packages = packages && o->packages != NULL && perp_optional_packages(o->part) == o->packages;
    absent = absent && (perp_optional_absent(&all, o->kind, o->name) == NULL) == (d != NULL);
    if (d != NULL && strcmp(d->summary, o->summary) != 0) {
      same = false;
      printf("# %s: '%s' in optional.def, '%s' in its descriptor\n", o->name, o->summary,
             d->summary);
    }
  }
  for (int k = PERP_KIND_NONE + 1; k < PERP_KIND_COUNT; k++) {
    const perp_desc *d;
    for (int i = 0; (d = perp_plugin_at(&all, (perp_kind)k, i)) != NULL; i++)
      registered += strncmp(d->name, "sundials:", 9) == 0 || strncmp(d->name, "siconos:", 8) == 0;
  }
  ok(listed > 0 && packages, "each of %d optional plug-ins has a part with packages", listed);
  ok(same, "the summaries of the %d that are here are those of their descriptors", found);
  ok(found == registered, "all %d of SUNDIALS and Siconos that are here are in the list",
     registered);
  ok(absent, "absent are those that are not registered");
}

/* ---- a perp without Siconos ---- */

static const perp_desc optional_own = { "own", "s", "r", NULL, NULL, 0, 0 };
static const perp_plugin optional_plugins[] = { { PERP_KIND_lcp, &optional_own },
                                                { PERP_KIND_NONE, NULL } };
static const perp_param optional_params[] = {
  { "lcp", "solver", PERP_PARAM_PLUGIN, PERP_KIND_lcp, "", 0, 0, 0, NULL, false },
  { "h", "step", PERP_PARAM_REAL, PERP_KIND_NONE, "s", 0, HUGE_VAL, PERP_OPEN_MIN, NULL, false },
  { 0 }
};
static const perp_metric optional_metrics[] = { { "err", "", "error", -1, false },
                                                { NULL, NULL, NULL, 0, false } };
static const perp_metric *optional_metric_list(const perp_ctx *ctx, perp_pool *pool)
{
  (void)ctx;
  (void)pool;
  return optional_metrics;
}
static const perp_cell_kind optional_kind = { .name = "optional",
                                              .params = optional_params,
                                              .metrics = optional_metric_list };
static const perp_cell_kind *const optional_kinds[] = { &optional_kind, NULL };

#define HEAD "schema: perp-study/1\n"

static perp_status read_study(perp_ctx *ctx, const char *text, const char *set, perp_diag *diag,
                              perp_study **study)
{
  const perp_study_request q = { .file = "optional.yaml",
                                 .text = text,
                                 .kinds = optional_kinds,
                                 .set = &set,
                                 .n_set = set != NULL };
  *diag = (perp_diag){ 0 };
  return perp_study_read(ctx, &q, diag, study);
}

static void left_out(perp_ctx *ctx)
{
  static const char text[] = HEAD
      "grid:\n"
      "  lcp: [own, 'siconos:lemke:tol=[1e-3, 1e-6]', 'siconos:pgs']\n"
      "  h: [1 s, 2 s, 4 s]\n"
      "exclude:\n"
      "  - { where: 'lcp in (own, \"siconos:lemke\") and h > 3 s', reason: coarse }\n"
      "answer: { best: err, by: lcp, where: 'lcp != \"siconos:psor\"' }\n"
      "published:\n"
      "  - { where: 'lcp == \"siconos:lemke\"', metric: err, value: 1, source: a paper, "
      "conditions: 'h > 0' }\n"
      "claims:\n"
      "  - { text: theirs, expr: 'count(lcp == \"siconos:pgs\") == 0' }\n"
      "  - { text: ours, expr: 'count(lcp == own) == 2' }\n";
  perp_diag diag;
  perp_study *study = NULL;
  perp_plan plan;
  const perp_status status = read_study(ctx, text, NULL, &diag, &study);
  if (!ok(status == PERP_OK, "grid, exclude, answer, published, claims may name what is absent"))
    bail("%s", diag.text.s);
  perp_diag_free(&diag);
  const bool made = perp_plan_make(ctx, study, &plan) == PERP_OK;
  ok(made && plan.n == 2 && plan.n_absent == 1 && plan.absent[0].combinations == 7,
     "two runs are left, seven combinations are counted");
  perp_text said = { 0 };
  perp_plan_say_absent(&plan, &said);
  ok(strcmp(said.s,
            "7 combinations need libsiconos-numerics-dev: left out (./perp setup siconos)") == 0,
     "they are reported once: %s", said.s);
  perp_text_free(&said);
  perp_diag_free(&diag);
  perp_plan_check(ctx, study, &plan, &diag);
  ok(diag.errors == 0, "no value counts as unused");
  perp_diag_free(&diag);
  perp_plan_scope scope;
  perp_plan_scope_init(ctx, &scope, study, &plan, NULL);
  ok(perp_expr_absent(study->claims[0].expr) != NULL &&
         perp_expr_undecided(study->claims[0].expr, &scope.scope),
     "a claim about it is undecided, although it counts nothing");
  ok(perp_expr_absent(study->claims[1].expr) == NULL &&
         !perp_expr_undecided(study->claims[1].expr, &scope.scope),
     "a claim about others is decided");
  perp_plan_free(&plan);
  perp_study_free(study);
}

static void refused(perp_ctx *ctx)
{
  perp_diag diag;
  perp_study *study = NULL;
  perp_status status = read_study(ctx, HEAD "lcp: own\nh: 1 s\n", "lcp=siconos:lemke", &diag,
                                  &study);
  ok(status != PERP_OK && strstr(diag.text.s, "needs libsiconos-numerics-dev") != NULL &&
         strstr(diag.text.s, "./perp setup siconos") != NULL,
     "on the command line it is an error that names the package and the command");
  perp_diag_free(&diag);
  status = read_study(ctx, HEAD "lcp: 'siconos:lemkee'\nh: 1 s\n", NULL, &diag, &study);
  ok(status != PERP_OK, "a name that nobody has is an error");
  perp_diag_free(&diag);
  status = read_study(ctx, HEAD "lcp: '?siconos:lemke'\nh: 1 s\n", NULL, &diag, &study);
  ok(status != PERP_OK && strstr(diag.text.s, "leave the '?' out") != NULL,
     "the mark that studies once had is an error with its remedy");
  perp_diag_free(&diag);
  perp_spec spec;
  ok(perp_spec_parse(ctx, PERP_KIND_lcp, "siconos:lemke:tol=1e-3", &spec) == PERP_ERR_OPTION &&
         strstr(ctx->msg, "./perp setup siconos") != NULL,
     "so does a specification: %s", ctx->msg);
}

int main(void)
{
  list_is_true();
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  perp_register(&ctx, optional_plugins);
  left_out(&ctx);
  refused(&ctx);
  return tap_done();
}
