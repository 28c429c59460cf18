/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Controllers as a user meets them: lists, refusals; examples that are found by their name alone,
 * and what results keep of them. */
#include "tests/cli/program.h"

static void lists(void)
{
  static const char *const names[] = { "feed-forward", "pd",          "feed-forward+pd",
                                       "muscle",       "implicit-pd", "feed-forward+implicit-pd",
                                       "soft",         "prescribed" };
  says("list", "controllers  ");
  says("list controllers", "implicit-pd");
  says("list controller", "prescribed");
  says("info pd", "pd (controller)");
  says("info pd", "  cost          O(1) per joint");
  says("info pd", "  gives up      Lags behind the motion by tau / k");
  says("info pd", "frequency      1/s      default 5          (0, inf)");
  says("info controller soft", "|tau_i| <= max_force");
  says("info prescribed", "options       none");
  refuses(2, "list controlers", "did you mean 'controllers'?");
  refuses(2, "simulate pd", "it is a controller, a part of scenes");
  json_t *j = json_of("list controllers --json", 0);
  const json_t *one;
  size_t i, n = 0, told = 0;
  json_array_foreach(j, i, one)
  {
    const char *name = json_string_value(json_object_get(one, "name"));
    n += n < sizeof names / sizeof *names && name != NULL && strcmp(name, names[n]) == 0;
    told += json_string_length(json_object_get(one, "cost")) > 0 &&
            json_string_length(json_object_get(one, "gives_up")) > 0 &&
            json_string_length(json_object_get(one, "equation")) > 0 &&
            json_string_length(json_object_get(one, "reference")) > 0;
  }
  ok(n == sizeof names / sizeof *names && told == json_array_size(j),
     "all, in their order, with law, source, cost and what they give up");
  json_decref(j);
}

static const char scene[] =
    "schema: perp-scene/1\n"
    "scene: { t_end: 0.02 s, h: 1 ms }\n"
    "parameters:\n"
    "  by: { default: pd, choices: [none, pd], help: what drives it }\n"
    "bodies: [ { name: a, mass: 1, inertia: [1, 1, 1], x: [1, 0, 0] } ]\n"
    "joints: [ { kind: hinge, a: world, b: a, at: [0, 0, 0], axis: [0, 1, 0] } ]\n"
    "control: { by: \"{by}\" }\n";

static void export(void)
{
  write_file("driven.yaml", scene);
  refuses(2, "export-scene driven.yaml",
          "has a controller that follows a motion: export it without the controller");
  refuses(2, "export-scene walk.bvh:controller=soft", "export it without the controller");
  says("export-scene driven.yaml:by=none", "perp-scene/1");
  says("check driven.yaml", "driven.yaml");
}

static void runs(const char *words, const char *part, const char *what)
{
  const int status = run(words);
  if (!ok(status == 0 && strstr(err, part) != NULL, "%s", what)) complain();
}

/* A home with one example of its own; the study of it, its results, and these without the home. */
static void examples(void)
{
  says("info wave.bvh", "controller");
  refuses(3, "info ./wave.bvh",
          "there is no scene file ./wave.bvh"); /* with a folder it is a place */
  refuses(3, "info wav.bvh", "there is no scene file wav.bvh");
  char *old = perp_xstrdup(getenv("PERP_HOME")), *home = perp_xprintf("%s/home", program_dir);
  if (system("mkdir -p home/experiments/scenes/examples") != 0) bail("mkdir");
  write_file("home/experiments/scenes/examples/elsewhere.yaml", scene);
  write_file("s.yaml", "schema: perp-study/1\nstudy: { name: s }\nt_end: 0.02 s\n"
                       "formulation: acceleration\node: rk4\nh: 1 ms\n"
                       "grid: { scene: [\"elsewhere.yaml:by=[none, pd]\"] }\n"
                       "measure: { repeats: 0 }\n"
                       "metrics: { primary: drift.pos.max, record: [drift.pos.max] }\n");
  setenv("PERP_HOME", home, 1);
  runs("run s.yaml -o results --no-report", "2 to run", "an example is found by its name");
  ok(same_file("home/experiments/scenes/examples/elsewhere.yaml", "results/scenes/elsewhere.yaml"),
     "the results have a copy, beside the study");
  runs("run s.yaml -o results --no-report", "2 already finished", "once");
  setenv("PERP_HOME", old, 1);
  refuses(3, "check s.yaml", "there is no scene file elsewhere.yaml"); /* another home has none */
  runs("run results/study.yaml -o again --no-report", "2 to run",
       "the study that was kept is run again without it");
  ok(same_file("results/scenes/elsewhere.yaml", "again/scenes/elsewhere.yaml"), "and kept again");
  says("report results", "report.html");
  /* one in the working folder goes before */
  write_file("wave.bvh", "HIERARCHY\n");
  refuses(3, "check wave.bvh", "wave.bvh:");
  free(home);
  free(old);
}

int main(void)
{
  program_open();
  lists();
  export();
  examples();
  program_close();
  return tap_done();
}
