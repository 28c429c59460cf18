/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scene files as a user meets them: the template, the examples of the manual, a study of them whose
 * file changes, and what is exported. */
#include "tests/cli/program.h"

/* Write each block of the manual that begins with "# NAME" to that file; their number. */
static int write_examples(void)
{
  const char *source = getenv("PERP_SOURCE");
  char *path = perp_xprintf("%s/docs/reference/scene-files.md", source != NULL ? source : ".");
  char *text = perp_read_file(path, NULL);
  if (text == NULL) bail("%s", path);
  int n = 0;
  for (char *s = text; (s = strstr(s, "\n```")) != NULL; s++) {
    const char *line = strchr(s + 1, '\n');
    if (line == NULL || strncmp(line + 1, "# ", 2) != 0) continue;
    char *end = strstr(line + 1, "\n```");
    char name[64];
    if (end == NULL || sscanf(line + 3, "%60s", name) != 1)
      bail("the manual has a block without an end");
    end[1] = '\0';
    write_file(name, line + 1);
    int lines = 0;
    for (const char *c = line + 1; *c != '\0'; c++) lines += *c == '\n';
    ok(lines <= 40, "%s of the manual has %d lines, 40 at most", name, lines);
    n++;
    s = end + 4;
  }
  free(text);
  free(path);
  return n;
}

static void test_examples(void)
{
  ok(write_examples() == 6, "five examples, and a table");
  json_t *j = json_of("simulate pendulum.yaml --h 0.1ms --json", 0);
  below(metric(j, "err.tip.max"), 1e-3, "pendulum: against joint coordinates");
  json_decref(j);
  j = json_of(
      "simulate pendulum.yaml:angle=20deg,length=0.5 --formulation acceleration --ode rk4 --json",
      0);
  below(metric(j, "err.tip.max"), 1e-6, "pendulum with other parameters, by rk4");
  json_decref(j);
  j = json_of("simulate chain.yaml:links=3 --formulation acceleration --ode rk4 --json", 0);
  below(metric(j, "err.q.max"), 1e-5, "chain: against joint coordinates");
  json_decref(j);
  j = json_of("simulate wall.yaml:rows=3,columns=2 --json", 0);
  below(metric(j, "force.rel.err"), 1e-6, "wall: the floor carries its weight");
  below(metric(j, "pose.drift.max"), 1e-6, "wall: it stands still");
  json_decref(j);
  j = json_of("simulate rocking.yaml --h 0.2ms --json", 0);
  below(metric(j, "event.err"), 1e-3, "rocking: the first impact, to a millisecond");
  json_decref(j);
  j = json_of("simulate rocking.yaml --formulation velocity-midpoint --h 0.2ms --json", 0);
  below(metric(j, "event.err"), 3e-7,
        "rocking: of order 2, as the parabola before the impact has it");
  json_decref(j);
  j = json_of("simulate six-bar.yaml --json", 0);
  below(metric(j, "drift.pos.max"), 1e-4, "six-bar: its loops stay closed");
  json_decref(j);
}

/* Shipped scenes with events, as they are, against the closed forms of their times.  The events of
 * rates are seen at the end of a step: by at most one step late. */
static void test_shipped_events(void)
{
  static const struct {
    const char *command;
    double below;
  } runs[] = {
    { "simulate pile --json", 1.1e-3 },
    { "simulate racket --formulation acceleration --ode rk4 --json", 2.1e-3 },
  };
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    json_t *j = json_of(runs[i].command, 0);
    below(metric(j, "event.err"), runs[i].below, "%s: events", runs[i].command);
    json_decref(j);
  }
}

static void test_template(void)
{
  ok(run("new scene --name thrown") == 0 && strstr(out, "thrown-events.csv") != NULL,
     "new scene writes two files");
  says("check thrown.yaml", "a valid scene in space");
  says("info thrown.yaml", "Upward velocity at the start.");
  json_t *j = json_of("info thrown.yaml --json", 0);
  ok(json_array_size(json_object_get(json_array_get(j, 0), "options")) == 2,
     "its parameters as JSON");
  json_decref(j);
  j = json_of("simulate thrown.yaml:speed=3m/s --formulation acceleration --ode rk4 --json", 0);
  below(metric(j, "err.q.max"), 1e-10, "against its closed form");
  below(metric(j, "event.err"), 1e-3, "against its table of events");
  json_decref(j);
  refuses(2, "new scene --name thrown", "exists already");
  refuses(2, "new scene -o thrown.txt", "ends in .yaml");
  ok(run("new scene --from vibrating-pendulum") == 0 &&
         strstr(out, "vibrating-pendulum.csv") != NULL,
     "a copy of an example with its table");
  says("check vibrating-pendulum.yaml", "a valid scene");
  ok(run("new scene --from motor -o mine.yaml") == 0 && strstr(out, "mine.yaml") != NULL,
     "a copy of a scene that comes with perp");
  says("check mine.yaml", "a valid scene");
  refuses(2, "new scene --from motor -o mine.yaml", "exists already");
  refuses(2, "new scene --from moter", "did you mean 'motor'?");
  refuses(2, "new scene --from chain", "perp export-scene chain");
  refuses(2, "new scene --from motor --name mine", "exclude each other");
  refuses(2, "new study --from motor", "perp new scene --from motor");
  write_file("study.yaml", "schema: perp-study/1\nstudy: { name: s }\nscene: chain\n");
  refuses(3, "simulate study.yaml", "this file is a study");
  refuses(2, "simulate thrown.yaml:sped=3", "did you mean 'speed'");
  refuses(2, "simulate thrown.yaml:speed=-1", "[0, inf)");
  refuses(3, "simulate none.yaml", "there is no scene file none.yaml");
  refuses(3, "check none.yaml:a=1", "there is no scene file none.yaml");
  refuses(3, "run thrown.yaml", "this file is a scene");
  write_file("wrong.yaml", "schema: perp-scene/1\nbodies:\n  - { name: a, mas: 1 }\n");
  refuses(3, "check wrong.yaml", "wrong.yaml:3:16: error: unknown key of bodies: 'mas'");
  refuses(3, "simulate wrong.yaml", "did you mean 'mass'?");
  refuses(3, "info wrong.yaml", "wrong.yaml:3:16");
  refuses(3, "export-scene wrong.yaml", "wrong.yaml:3:16");
}

#define STUDY                                                                                      \
  "schema: perp-study/1\n"                                                                         \
  "study: { name: thrown }\n"                                                                      \
  "scene: [\"../models/ball.yaml:speed=[2, 3]\"]\n"                                                \
  "t_end: 0.4 s\n"                                                                                 \
  "grid: { h: [4 ms, 2 ms] }\n"                                                                    \
  "measure: { repeats: 0 }\n"                                                                      \
  "metrics: { primary: err.q.max, record: [err.q.max, event.err] }\n"

static bool runs(const char *words, const char *part)
{
  const int status = run(words);
  const bool good = status == 0 && strstr(err, part) != NULL;
  if (!good) complain();
  return good;
}

static void test_study(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  if (perp_make_dirs(&ctx, "here/models") != PERP_OK ||
      perp_make_dirs(&ctx, "here/studies") != PERP_OK)
    bail("%s", ctx.msg);
  ok(run("new scene -o here/models/ball.yaml") == 0, "a scene in another folder");
  write_file("here/studies/s.yaml", STUDY);
  ok(runs("run here/studies/s.yaml -o results --no-report -j 2", "4 to run"),
     "a study of it runs, relative to its file");
  ok(runs("run here/studies/s.yaml -o results --no-report", "4 already finished, 0 to run"),
     "once");
  char *text = perp_read_file("here/models/ball.yaml", NULL);
  char *place = strstr(text, "radius: 5 cm");
  if (place == NULL) bail("the template has changed");
  place[8] = '6';
  write_file("here/models/ball.yaml", text);
  free(text);
  ok(runs("run here/studies/s.yaml -o results --no-report",
          "4 to repeat (their scene file has changed), 4 to run"),
     "a change of the file runs its cells again");
  ok(runs("run here/studies/s.yaml -o results --no-report", "0 to run"), "once");
  write_file("here/models/ball-events.csv", "t [s], event\n0.3, apex\n");
  ok(runs("run here/studies/s.yaml -o results --no-report", "4 to repeat"),
     "so does a change of its table");
  ok(same_file("here/models/ball.yaml", "results/scenes/models/ball.yaml") &&
         same_file("here/models/ball-events.csv", "results/scenes/models/ball-events.csv"),
     "the results have a copy of both");
  ok(run("run here/studies/s.yaml -o half --shard 1/2 --no-report") == 0 &&
         run("run here/studies/s.yaml -o rest --shard 2/2 --no-report") == 0,
     "two shards");
  if (rename("here", "elsewhere") != 0) bail("rename");
  says("merge half rest -o both --no-report", "4 runs from 2 folders");
  says("status both", "4  100.0 %");
  says("status results", "4  100.0 %");
  ok(run("report results") == 0, "they can be read without the files");
  if (rename("elsewhere", "here") != 0) bail("rename");
  write_file("here/models/ball.yaml",
             "schema: perp-scene/1\nparameters: { speed: 3.5 }\nbodies:\n  - { mass: 1 m }\n");
  refuses(3, "check here/studies/s.yaml",
          "here/studies/../models/ball.yaml:4:13: error: this is in m; required here: kg");
  write_file("here/studies/s.yaml",
             "schema: perp-study/1\nscene: none.yaml\ngrid: { h: [1 ms] }\n");
  refuses(3, "check here/studies/s.yaml", "s.yaml:2:8: error: there is no scene file none.yaml");
}

static void test_export(void)
{
  ok(run("export-scene stack:boxes=3 -o s.yaml") == 0, "export-scene writes a file");
  json_t *a = json_of("simulate stack:boxes=3 --t-end 0.5s --json", 0),
         *b = json_of("simulate s.yaml --t-end 0.5s --json", 0);
  const json_t *qa = json_object_get(json_object_get(a, "final"), "q"),
               *qb = json_object_get(json_object_get(b, "final"), "q");
  ok(qa != NULL && json_equal(qa, qb), "the end of a run is the same to the last digit");
  json_decref(a);
  json_decref(b);
  says("check s.yaml", "bodies 3");
  says("export-scene s.yaml", "schema: perp-scene/1");
  refuses(2, "export-scene oscillator", "a system of differential equations without bodies");
  refuses(2, "export-scene stak", "did you mean 'stack'");
}

/* A mass on a spring with two truths: its closed form, with this rate, and joint coordinates. */
#define TWO_TRUTHS(rate)                                                                           \
  "schema: perp-scene/1\n"                                                                         \
  "scene: { dim: 2, gravity: 0, t_end: 1 s, h: 1 ms }\n"                                           \
  "bodies:\n  - { name: cart, mass: 1, inertia: 1, x: [1.1, 0] }\n"                                \
  "joints:\n  - { kind: slider, a: world, b: cart, axis: [1, 0] }\n"                               \
  "forces:\n  - { kind: spring, a: world, b: cart, stiffness: 25 N/m, length: 1 }\n"               \
  "truth:\n  - kind: motion\n    motion:\n"                                                        \
  "      - { body: cart, let_t: { p: " rate " rad/s * t }, x: [1 + 0.1 * cos(p), 0], "             \
  "v: [-0.1 m * " rate " rad/s * sin(p), 0] }\n"                                                   \
  "  - { kind: reduced }\n"

static void test_truths(void)
{
  static const char study[] =
      "schema: perp-study/1\nstudy: { name: two }\nscene: [two.yaml]\n"
      "grid: { h: [1 ms] }\nmetrics: { primary: err.q.max, record: [err.q.max] }\n";
  write_file("two.yaml", TWO_TRUTHS("5"));
  write_file("two-study.yaml", study);
  says("ref two-study.yaml", "two.yaml: agree: closed form against reduced");
  write_file("two.yaml", TWO_TRUTHS("5.01"));
  const int status = run("ref two-study.yaml");
  if (!ok(status == 8 && strstr(out, "two.yaml: DISAGREE: closed form against reduced") != NULL,
          "two truths of a file that contradict each other: exit status 8"))
    complain();
}

/* A scene of perp that is a file: the same as its copy. */
static void test_shipped(void)
{
  ok(run("info ladder --source") == 0, "info --source");
  write_file("copy.yaml", out);
  json_t *a = json_of("simulate ladder:mu=0.5 --t-end 0.2s --json", 0),
         *b = json_of("simulate copy.yaml:mu=0.5 --t-end 0.2s --json", 0);
  const json_t *qa = json_object_get(json_object_get(a, "final"), "q"),
               *qb = json_object_get(json_object_get(b, "final"), "q");
  ok(qa != NULL && json_equal(qa, qb) && metric(a, "verdict.err") == metric(b, "verdict.err"),
     "a scene of perp and a copy of its file are the same");
  json_decref(a);
  json_decref(b);
  says("info ladder", "shipped/ladder.yaml");
  says("export-scene ladder", "perp info ladder --source");
  refuses(2, "info stack --source", "perp export-scene stack");
  refuses(2, "info rk4 --source", "rk4 is of kind ode");
  refuses(2, "simulate spring:damping=20", "spring: damping must be below the critical 20 Ns/m");
  refuses(2, "simulate ladder:theta=2", "[0.01, 1.5]");
}

int main(void)
{
  program_open();
  test_examples();
  test_shipped_events();
  test_template();
  test_study();
  test_export();
  test_truths();
  test_shipped();
  program_close();
  return tap_done();
}
