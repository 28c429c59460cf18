/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp compare on made-up journals: 24 cells of a real run with times of machines that are quiet,
 * drift, switch between two speeds, or have noisy neighbours.  No clock is read here: the same
 * seeds give the same journals everywhere. */
#include "experiments/metrics/metrics.h"
#include "experiments/cli/compare.h"
#include "experiments/simulate/kind_simulate.h"
#include "models/models.h"
#include "tests/cli/program.h"

#include <math.h>

static const char study[] = "schema: perp-study/1\n"
                            "study: { name: made-up }\n"
                            "t_end: 20 ms\n"
                            "formulation: velocity\n"
                            "ode: symplectic-euler\n"
                            "grid:\n"
                            "  scene: [\"chain:links=2\", \"chain:links=3\"]\n"
                            "  h: [4 ms, 2 ms]\n"
                            "  kkt: [tree, schur-dense, kkt-dense]\n"
                            "  stab: [none, post]\n"
                            "measure: { repeats: 5 }\n"
                            "metrics: { primary: drift.pos.max, record: [drift.pos.max, steps] }\n";
enum { CELLS = 24, ROUNDS = 5 };
static char id[CELLS][17];
static bool slowed[CELLS]; /* kkt: tree */

/* What a machine does to a round of a process: factors on its time and on the pace beside it. */
typedef struct machine {
  const char *name;
  bool pace;            /* journals have it */
  double busy[2];       /* share of the processes that share their core: base, now */
  double cost, cost_sd; /* of a busy process: its time; scatter over the cells */
  double seen;          /* the same for the pace */
  double drift;         /* the machine at the end of each run; 1 at its beginning */
  double speed;         /* of the whole second run */
  double burst, tail;   /* share of the rounds struck by something, and how much it may add */
  double scatter;       /* standard deviation of what is left */
  int caught_at_least;  /* of 10 trials with a solver 20 % slower */
} machine;

static const machine machines[] = {
  { "a quiet machine", true, { 0, 0 }, 1, 0, 1, 1, 1, 0, 0, 0.01, 10 },
  { "an old journal, no pace", false, { 0, 0 }, 1, 0, 1, 1, 1, 0, 0, 0.01, 10 },
  { "heavy tails", true, { 0, 0 }, 1, 0, 1, 1, 1, 0.3, 1.5, 0.02, 10 },
  { "heavy tails, no pace", false, { 0, 0 }, 1, 0, 1, 1, 1, 0.3, 1.5, 0.02, 10 },
  { "a slow drift", true, { 0, 0 }, 1, 0, 1, 1.3, 1, 0, 0, 0.02, 10 },
  { "a second run at 3/4 of the speed", true, { 0, 0 }, 1, 0, 1, 1, 1.33, 0, 0, 0.02, 0 },
  { "processes at two speeds", true, { 0.5, 0.5 }, 1.5, 0.05, 1.4, 1, 1, 0, 0, 0.02, 10 },
  { "a neighbour in the second run", true, { 0.2, 0.9 }, 1.5, 0.05, 1.3, 1, 1, 0, 0, 0.02, 0 },
  { "bursts of neighbours", true, { 0.3, 0.4 }, 1.5, 0.05, 1.35, 1.1, 1, 0.2, 0.6, 0.02, 9 },
};

static double step_us[CELLS][ROUNDS], pace_s[CELLS][ROUNDS];

/* Rounds of one run: side 0 is the base, 1 the second run. */
static void make_rounds(const machine *m, int side, double factor, uint64_t seed)
{
  perp_rng *rng = perp_rng_create(2 * seed + (uint64_t)side), *cells = perp_rng_create(77);
  double cost[CELLS];
  for (int c = 0; c < CELLS; c++) cost[c] = m->cost + m->cost_sd * perp_rng_normal(cells);
  for (int k = 0; k < ROUNDS; k++)
    for (int c = 0; c < CELLS; c++) {
      double at = (k + c / (double)CELLS) / ROUNDS;
      double time = 1 + 3 * c, pace = 5e-6, all = 1 + (m->drift - 1) * at;
      if (side == 1) all *= m->speed;
      if (perp_rng_uniform(rng, 0, 1) < m->busy[side]) time *= cost[c], pace *= m->seen;
      /* what strikes the time, and not the pace */
      if (perp_rng_uniform(rng, 0, 1) < m->burst)
        time *= 1 + m->tail * pow(perp_rng_uniform(rng, 0, 1), 3);
      time *= all * exp(m->scatter * perp_rng_normal(rng));
      pace *= all * exp(m->scatter * perp_rng_normal(rng));
      if (side == 1 && slowed[c]) time *= factor;
      step_us[c][k] = time;
      pace_s[c][k] = m->pace ? pace : 0;
    }
  perp_rng_destroy(rng);
  perp_rng_destroy(cells);
}

/* As a folder, through the journal. */
static void write_run(const char *dir)
{
  char *words = perp_xprintf("rm -rf %s && cp -r real %s", dir, dir);
  if (system(words) != 0) bail("%s", words);
  free(words);
  perp_text t = { 0 };
  for (int k = 0; k < ROUNDS; k++)
    for (int c = 0; c < CELLS; c++) {
      perp_text_add(&t,
                    "{\"event\": \"time\", \"cell\": \"%s\", \"attempt\": 1, \"status\": \"ok\", "
                    "\"cpu_s\": 0.02, \"wall_s\": 0.02, ",
                    id[c]);
      if (pace_s[c][k] > 0) perp_text_add(&t, "\"pace_s\": %.17g, ", pace_s[c][k]);
      perp_text_add(&t, "\"values\": {\"time.step_us\": %.17g}}\n", step_us[c][k]);
    }
  char *path = perp_xprintf("%s/journal/rounds.jsonl", dir);
  write_file(path, t.s);
  free(path);
  perp_text_free(&t);
}

/* In memory: what reading the journal makes of it. */
static void set_run(perp_results *r)
{
  int m = perp_results_metric(r, "time.step_us");
  for (int c = 0; c < CELLS; c++) {
    perp_record *rec = &r->record[perp_plan_find(&r->plan, id[c])];
    if (rec->round == NULL) {
      rec->round = perp_pool_alloc(&r->pool, (size_t)r->study->n_metrics, sizeof *rec->round);
      rec->round[m] = perp_pool_alloc(&r->pool, ROUNDS, sizeof **rec->round);
      rec->round_pace = perp_pool_alloc(&r->pool, ROUNDS, sizeof *rec->round_pace);
    }
    rec->rounds = ROUNDS;
    memcpy(rec->round[m], step_us[c], sizeof step_us[c]);
    memcpy(rec->round_pace, pace_s[c], sizeof pace_s[c]);
  }
}

static perp_compare both; /* the two runs */

/* Regressions in time; *found is the JSON of the findings, to free. */
static int compare_runs(const machine *m, double factor, uint64_t seed, char **found)
{
  size_t size;
  both.regressions[PERP_FINDING_TIME] = 0;
  both.j = (perp_json){ .out = open_memstream(found, &size) };
  make_rounds(m, 0, factor, seed);
  set_run(&both.base);
  make_rounds(m, 1, factor, seed);
  set_run(&both.now);
  perp_time_comparison said;
  perp_json_open(&both.j, NULL, '[');
  if (perp_compare_times(&both, &said) != PERP_OK) bail("%s", both.ctx->msg);
  perp_json_close(&both.j, ']');
  fclose(both.j.out);
  return both.regressions[PERP_FINDING_TIME];
}

static void test_machine(const machine *m)
{
  enum { QUIET = 20, SLOW = 10 };
  int quiet = 0, caught = 0, right = 0;
  char *found;
  for (int k = 0; k < QUIET; k++) {
    int n = compare_runs(m, 1, (uint64_t)(100 + k), &found);
    quiet += n == 0;
    if (n > 0) printf("# trial %d: %s\n", k, found);
    free(found);
  }
  ok(quiet == QUIET, "%s: one build against itself, quiet %d of %d times", m->name, quiet, QUIET);
  for (int k = 0; m->caught_at_least > 0 && k < SLOW; k++) {
    caught += compare_runs(m, 1.2, (uint64_t)(500 + k), &found) > 0 &&
              strstr(found, "\"kkt = tree\"") != NULL;
    right += strstr(found, "\"kkt = schur-dense\"") == NULL &&
             strstr(found, "\"kkt = kkt-dense\"") == NULL;
    free(found);
  }
  if (m->caught_at_least > 0)
    ok(caught >= m->caught_at_least && right == SLOW,
       "%s: a solver 20 %% slower is found %d of %d times, and no other (%d)", m->name, caught,
       SLOW, right);
}

/* The same through folders, journals and the program. */
static void test_program(void)
{
  static const machine *const some[] = { &machines[0], &machines[1], &machines[6] };
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    for (int side = 0; side < 2; side++) {
      make_rounds(some[i], side, 1.2, 500);
      write_run(side == 0 ? "base" : "now");
    }
    int status = run("compare base now --as-recorded --json");
    json_t *j = json_loads(out, 0, NULL);
    ok(status == 6 && strstr(out, "\"kkt = tree\"") != NULL &&
           json_is_true(json_object_get(j, "paced")) == some[i]->pace,
       "%s: the program says so too", some[i]->name);
    json_decref(j);
    ok(run("compare base base --as-recorded") == 0, "... and nothing of a run against itself");
  }
}

/* ---- timed again: which program made a folder, and is it still there? ---- */

static const char few[] = "schema: perp-study/1\n"
                          "study: { name: few }\n"
                          "scene: pendulum\n"
                          "t_end: 4 ms\n"
                          "h: 1 ms\n"
                          "grid: { formulation: [velocity, impulse] }\n"
                          "measure: { repeats: 1 }\n"
                          "metrics: { primary: drift.pos.max, record: [drift.pos.max, steps] }\n";

static void not_again(const char *base, const char *with, const char *why)
{
  char *words = perp_xprintf("compare %s now --again 1 --again-with %s --again-with %s", base, with,
                             program);
  int status = run(words);
  if (!ok(status == 3 && strstr(err, why) != NULL && out[0] != '{', "--again-with %s: %s", with,
          why))
    complain();
  free(words);
}

static void test_again(void)
{
  const char *whole = program;
  write_file("few.yaml", few);
  if (system("rm -rf now && cp \"$PERP_BIN\" ./mine") != 0) bail("cp");
  ok(run("run few.yaml -o now -q --no-report -j 1") == 0, "two cells");
  program = "./mine";
  ok(run("run few.yaml -o old -q --no-report -j 1") == 0 &&
         run("run few.yaml -o kept -q --no-report -j 1 --keep-program") == 0,
     "by another copy of the program");
  program = whole;
  char *both_with = perp_xprintf("compare old now --again 2 --fail-on status --json --again-with "
                                 "./mine --again-with %s",
                                 program);
  json_t *j = json_of(both_with, 0);
  free(both_with);
  ok(json_integer_value(json_object_get(j, "timed_again")) == 2 &&
         json_integer_value(json_object_get(j, "blocks")) == 2 &&
         json_number_value(json_object_get(j, "time_ratio")) > 0,
     "both cells are timed again, in 2 blocks");
  json_decref(j);
  ok(same_file("old/derived/cells.csv", "now/derived/cells.csv"), "cells.csv is the same");
  /* nothing is run that the person did not name; what to name is said */
  char *mine = perp_xprintf("%s/mine", program_dir);
  ok(run("compare old now --again 1") == 2 && strstr(err, "needs the programs") != NULL &&
         strstr(err, "--again-with") != NULL && strstr(err, mine) != NULL,
     "--again alone: needs the programs");
  ok(run("compare old now --fail-on time,status --time-tol 1000") == 0 &&
         strstr(out, "nothing was timed again: no program was named") != NULL &&
         strstr(out, "--again-with") != NULL && strstr(out, mine) != NULL,
     "without it: as recorded, and the command that would time again");
  j = json_of("compare old now --fail-on time,status --time-tol 1000 --json", 0);
  const char *command = json_string_value(json_object_get(j, "time_again"));
  ok(command != NULL && strncmp(command, "perp compare old now --again-with /", 35) == 0 &&
         run(command + 5) == 0,
     "that command runs: %s", command != NULL ? command : "");
  json_decref(j);
  free(mine);
  ok(run("compare now now --again 1 --fail-on status --again-with ./mine") == 0 &&
         strstr(out, "1 block(s) of four") != NULL,
     "one program made both: it is named once");
  if (system("printf x >> mine") != 0) bail("printf");
  not_again("old", "./mine", "./mine is not the program that made old: its hash is ");
  if (unlink("mine") != 0) bail("unlink");
  not_again("old", "./mine", "cannot run ./mine");
  char *kept = perp_xprintf("compare kept now --again 1 --fail-on status --again-with %s", program);
  ok(run(kept) == 0 && strstr(out, "1 block(s) of four") != NULL, "the same program, elsewhere");
  free(kept);
  if (system("cat old/journal/*.jsonl | sed 's/\"program\": {[^}]*}, //' > old/journal/x && rm "
             "old/journal/*.jsonl && mv old/journal/x old/journal/x.jsonl") != 0)
    bail("sed");
  not_again("old", program, "old does not record which program made it");
  ok(run("compare old now --fail-on time,status --time-tol 1000") == 0 &&
         strstr(out, "nothing was timed again: old does not record which program made it") != NULL,
     "... nor can one be proposed");
  refuses(2, "compare old now --again 0", "--again: ");
  refuses(2, "compare old now --again 1 --as-recorded", "contradict each other");
  refuses(2, "compare old now --as-recorded --again-with x", "contradict each other");
  refuses(2, "compare old now --again-with x --again-with y --again-with z", "at most twice");
}

static void find_cells(void)
{
  char *plan = perp_read_file("real/plan.jsonl", NULL);
  int n = 0;
  for (char *s = plan; s != NULL && *s != '\0'; s += strcspn(s, "\n") + 1) {
    json_t *line = json_loadb(s, strcspn(s, "\n"), 0, NULL);
    const char *cell = json_string_value(json_object_get(line, "cell"));
    if (cell == NULL) cell = json_string_value(json_object_get(line, "id"));
    char *text = perp_xprintf("%.*s", (int)strcspn(s, "\n"), s);
    if (cell != NULL && strlen(cell) == 16 && n < CELLS) {
      slowed[n] = strstr(text, "\"tree\"") != NULL;
      memcpy(id[n++], cell, 17);
    }
    free(text);
    json_decref(line);
  }
  free(plan);
  if (n != CELLS) bail("%d cells in the plan", n);
}

int main(void)
{
  program_open();
  write_file("made-up.yaml", study);
  if (run("run made-up.yaml -o real -q --no-report --set measure.repeats=0") != 0) {
    complain();
    bail("no run");
  }
  /* the study as it was meant: with rounds */
  if (system("sed -i 's/repeats: *0/repeats: 5/' real/study.yaml") != 0) bail("sed");
  find_cells();
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  int cells[CELLS];
  for (int c = 0; c < CELLS; c++) cells[c] = c;
  both = (perp_compare){ .ctx = &ctx,
                         .n = CELLS,
                         .a = cells,
                         .b = cells,
                         .time_tol = 0.1,
                         .as_recorded = true,
                         .json = true };
  const perp_cell_kind *const kinds[] = { &perp_kind_simulate, NULL };
  if (perp_results_load(&ctx, "real", kinds, &both.base) != PERP_OK ||
      perp_results_load(&ctx, "real", kinds, &both.now) != PERP_OK)
    bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) test_machine(&machines[i]);
  perp_results_free(&both.base);
  perp_results_free(&both.now);
  test_program();
  test_again();
  program_close();
  return tap_done();
}
