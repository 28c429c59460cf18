/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cells of a study: product, excludes, merging, ids that stay the same for ever. */
#include "tests/unit/toy_kind.h"

#include "tests/tap.h"
#include "experiments/base/files.h"

static perp_ctx ctx;

static perp_study *study_of(const char *text)
{
  perp_diag diag = { 0 };
  perp_study *study = NULL;
  if (toy_study(&ctx, text, &diag, &study) != PERP_OK) bail("%s", diag.text.s);
  return study;
}

#define HEAD "schema: perp-study/1\n"

/* Values that no cell uses are errors with their place, unless the command line has narrowed the
 * study. */
static void unused_values(void)
{
  static const struct {
    const char *text, *set;
    int errors, command_line;
    const char *says;
  } cases[] = {
    { "h: 1 s\nstab: none\ngrid: { n: [1, 2] }\n", NULL, 2, 0,
      "toy.yaml:4:16: error: n 2 is not used by any run: it has no effect with stab none\n"
      "    4 | grid: { n: [1, 2] }\n"
      "      |                ^ remove it" },
    { "h: 1 s\nstab: none\nn: 3\n", NULL, 1, 0, "toy.yaml:4:4: error: n 3 is not used by any run" },
    { "h: 1 s\nstab: [none, post]\nn: 3\n", NULL, 0, 0, NULL },
    { "h: [1 s, 2 s]\nstab: [none, post]\nexclude: [{ where: h > 1 s }]\n", NULL, 1, 0,
      "toy.yaml:2:10: error: h 2 is not used by any run: all its combinations are excluded" },
    { "h: 1 s\nstab: [none, post]\nn: 3\n", "stab=none", 0, 0, NULL },
    { "h: 1 s\nstab: none\n", "n=3", 1, 1, "--set n:1:1: error: n 3 is not used by any run" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    perp_study *study = NULL;
    perp_diag diag = { 0 };
    perp_plan plan;
    snprintf(text, sizeof text, HEAD "%s", cases[i].text);
    perp_study_request q = { .file = "toy.yaml",
                             .text = text,
                             .kinds = toy_kinds,
                             .set = &cases[i].set,
                             .n_set = cases[i].set != NULL };
    if (perp_study_read(&ctx, &q, &diag, &study) != PERP_OK) bail("%s", diag.text.s);
    if (perp_plan_make(&ctx, study, &plan) != PERP_OK) bail("%s", ctx.msg);
    perp_plan_check(&ctx, study, &plan, &diag);
    if (!ok(diag.errors == cases[i].errors && diag.command_line == cases[i].command_line &&
                (cases[i].says == NULL || strstr(diag.text.s, cases[i].says) != NULL),
            "case %zu: %d values are used by no cell", i, diag.errors))
      tap_note("%s\n", diag.text.s != NULL ? diag.text.s : "nothing");
    perp_plan_free(&plan);
    perp_diag_free(&diag);
    perp_study_free(study);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  perp_register(&ctx, toy_plugins);
  unused_values();
  perp_study *s = study_of(
      HEAD "grid: { h: [1 s, 2 s, 4 s], stab: [none, 'post:alpha=[1, 2]'], n: [1, 2] }\n"
           "exclude:\n"
           "  - { where: 'h > 3 s and stab == post', reason: too coarse }\n"
           "  - { where: 'h > 1 s and stab.alpha == 2', reason: too stiff }\n");
  perp_plan plan;
  ok(perp_plan_make(&ctx, s, &plan) == PERP_OK, "a plan is made");
  /* 3 x 3 x 2 = 18 combinations; rule 1 takes 2 x 2 at h = 4, rule 2 takes 2 at h = 2 (h = 4 is
   * gone already); n does not matter for none: 3 of its 6 combinations are the same cell */
  ok(plan.combinations == 18 && plan.excluded[0] == 4 && plan.excluded[1] == 2 &&
         plan.duplicates == 3 && plan.n == 9,
     "18 combinations, 4 + 2 excluded, 3 the same: 9 cells");
  perp_text label = { 0 };
  perp_cell_label(s, &plan.cells[1], &label);
  ok(strcmp(label.s, "h=1 stab=post:alpha=1 n=1") == 0, "the last axis is the fastest: %s",
     label.s);
  perp_text_free(&label);

  /* why three are another one again is said, and with what */
  ok(plan.n_drops == 1 && plan.drops[0].combinations == 6 &&
         strcmp(plan.drops[0].why, "with stab none") == 0,
     "what has no effect is counted with its reason");
  perp_text equal = { 0 };
  perp_plan_say(s, &plan, &equal);
  ok(strcmp(equal.s, "12 combinations give 9 runs: n has no effect with stab none") == 0,
     "... and said: %s", equal.s);
  perp_text_free(&equal);
  perp_diag fine = { 0 };
  perp_plan_check(&ctx, s, &plan, &fine);
  ok(fine.errors == 0, "every value is used by a cell");
  perp_diag_free(&fine);

  /* a changed id would orphan all results: these were written down once */
  ok(strcmp(plan.cells[0].id, "f593d769a73ea02a") == 0 &&
         strcmp(plan.cells[1].id, "542c5c40ac6fc365") == 0,
     "ids are what they were: %s %s", plan.cells[0].id, plan.cells[1].id);
  bool different = true;
  for (int i = 0; i < plan.n; i++)
    for (int k = 0; k < i; k++)
      different = different && strcmp(plan.cells[i].id, plan.cells[k].id) != 0;
  ok(different, "all ids are different");
  char prefix[17];
  snprintf(prefix, sizeof prefix, "%.6s", plan.cells[4].id);
  ok(perp_plan_find(&plan, prefix) == 4 && perp_plan_find(&plan, "zz") == -1 &&
         perp_plan_find(&plan, "") == -1,
     "a cell is found by the beginning of its id");

  /* the same cell in another study, with other units and order, has the same id */
  perp_study *other = study_of(HEAD "study: { name: other }\nstab: none\nh: 1000 ms\nn: 2\n");
  perp_plan one;
  ok(perp_plan_make(&ctx, other, &one) == PERP_OK && one.n == 1 &&
         strcmp(one.cells[0].id, plan.cells[0].id) == 0,
     "the id depends on the parameters alone");
  perp_plan_free(&one);
  perp_study_free(other);
  other = study_of(HEAD "study: { seed: 2 }\nstab: none\nh: 1 s\n");
  ok(perp_plan_make(&ctx, other, &one) == PERP_OK && strcmp(one.cells[0].id, plan.cells[0].id) != 0,
     "the seed is a parameter");
  perp_plan_free(&one);
  perp_study_free(other);

  /* plan.jsonl */
  char dir[] = "/tmp/perp-plan-XXXXXX";
  if (mkdtemp(dir) == NULL) bail("no temporary folder");
  char *path = perp_xprintf("%s/plan.jsonl", dir);
  perp_selection selection = { .only = "h < 3 s" }, back;
  perp_plan again;
  ok(perp_plan_write(&ctx, path, s, &plan, &selection) == PERP_OK &&
         perp_plan_load(&ctx, path, s, &again, &back) == PERP_OK && again.n == plan.n &&
         strcmp(back.only, "h < 3 s") == 0 && back.skip == NULL,
     "a plan is written and read");
  bool same = true;
  for (int i = 0; i < plan.n; i++)
    for (int p = 0; p < s->n_params; p++)
      same = same && plan.cells[i].value[p].type == again.cells[i].value[p].type &&
             plan.cells[i].value[p].number == again.cells[i].value[p].number &&
             strcmp(plan.cells[i].value[p].text, again.cells[i].value[p].text) == 0;
  ok(same, "... with all its values, of the same types");
  perp_plan_free(&again);
  char *text = perp_read_file(path, NULL);
  ok(text != NULL && strstr(text, "\"h\": 1,") != NULL && strstr(text, "\"h\": \"") == NULL,
     "a number is a number in JSON");
  free(text);
  /* what earlier versions wrote */
  const char old[] = "{\"plan\": \"perp-plan/1\", \"schema\": 2}\n"
                     "{\"cell\": \"0123456789abcdef\", \"h\": \"0.001\", \"stab\": \"none\"}\n";
  perp_write_file(&ctx, path, old, sizeof old - 1);
  const int h = perp_kind_param(s->kind, "h");
  if (ok(perp_plan_load(&ctx, path, s, &again, &back) == PERP_OK && again.n == 1,
         "a plan with numbers as texts is read")) {
    ok(again.cells[0].value[h].type == PERP_VALUE_NUMBER && again.cells[0].value[h].number == 1e-3,
       "... and they are numbers");
    perp_plan_free(&again);
  }
  const char *const broken[] = { "",
                                 "{\"plan\": \"perp-plan/3\"}\n",
                                 "[1]\n",
                                 "{\"plan\": \"perp-pl",
                                 "{\"plan\": \"perp-plan/1\"}\n{\"cell\": \"short\"}\n",
                                 "{\"plan\": \"perp-plan/1\"}\n\n{}\n",
                                 ("{\"plan\": \"perp-plan/2\"}\n{\"cell\": "
                                  "\"0123456789abcdef\", \"h\": \"one\"}\n") };
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    perp_write_file(&ctx, path, broken[i], strlen(broken[i]));
    ok(perp_plan_load(&ctx, path, s, &again, &back) == PERP_ERR_FORMAT,
       "broken plan %zu is refused", i);
  }
  unlink(path);
  rmdir(dir);
  free(path);
  perp_plan_free(&plan);
  perp_study_free(s);

  s = study_of(
      HEAD "h: 1 s\ngrid: { n: { linear: [1, 1000, 1000] }, seed: { linear: [1, 4001, 4001] } }\n");
  ok(perp_plan_make(&ctx, s, &plan) == PERP_ERR_FORMAT && strstr(ctx.msg, "4000000") != NULL,
     "a grid beyond four million is refused");
  perp_study_free(s);
  s = study_of(HEAD "h: 1 s\nexclude: [{ where: 'h > 0' }]\n");
  ok(perp_plan_make(&ctx, s, &plan) == PERP_OK && plan.n == 0, "everything may be excluded");
  perp_plan_free(&plan);
  perp_study_free(s);
  return tap_done();
}
