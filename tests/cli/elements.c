/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces and joints as a user meets them: lists, plug-ins in scene files and what is wrong there,
 * export, studies that are run again. */
#include "tests/cli/program.h"

static char *with; /* " --plugin FILE" */

static void wrong(const char *line, const char *message, const char *place)
{
  char *text = perp_xprintf(
      "schema: perp-scene/1\n"
      "scene: { t_end: 0.1 s, h: 1 ms, gravity: 0 }\n"
      "bodies:\n"
      "  - { name: a, mass: 1, solid: { kind: sphere, radius: 0.1 } }\n"
      "  - { name: b, mass: 1, solid: { kind: sphere, radius: 0.1 }, x: [1, 0, 0] }\n"
      "%s\n",
      line);
  write_file("wrong.yaml", text);
  free(text);
  char *words = perp_xprintf("check wrong.yaml%s", with);
  const int status = run(words);
  if (!ok(status == 3 && strstr(err, message) != NULL && strstr(err, place) != NULL, "%s: %s",
          place, message)) {
    tap_note("status %d\n", status);
    complain();
  }
  free(words);
}

static void test_lists(void)
{
  says("list", "joints        18");
  says("list joints", "ball");
  says("list joint", "cylindrical");
  says("list forces", "drag");
  says("info ball", "p_b - p_a = 0");
  says("info ball", "(joint)");
  says("info spring", "(scene)"); /* both, one after the other */
  says("info spring", "(force)");
  says("info force spring", "tension = stiffness");
  ok(run("info force spring") == 0 && strstr(out, "(scene)") == NULL,
     "info force spring: the force alone");
  says("info hinge", "axis_a         -        default [0, 0, 0]");
  refuses(2, "info joint spring", "nothing is called");
  refuses(2, "simulate cylindrical", "it is a joint, a part of scenes");
  json_t *j = json_of("list forces --json", 0);
  bool found = false;
  size_t i;
  const json_t *one;
  json_array_foreach(
      j, i, one) if (strcmp(json_string_value(json_object_get(one, "name")), "spring") == 0)
      found = json_integer_value(json_object_get(one, "bodies_min")) == 2 &&
              json_array_size(json_object_get(one, "options")) == 9;
  ok(found, "list forces --json has bodies and options");
  json_decref(j);
  char *words = perp_xprintf("info rod%s", with);
  says(words, "of the rod");
  free(words);
  words = perp_xprintf("list joints%s", with);
  says(words, "a rod between points");
  free(words);
}

static void test_wrong(void)
{
  wrong("joints: [ { kind: rodd, bodies: [a, b] } ]", "unknown joint 'rodd'", "wrong.yaml:6:");
  wrong("joints: [ { kind: rodd, bodies: [a, b] } ]", "did you mean 'rod'", "perp list joints");
  wrong("forces: [ { kind: pushing, bodies: [a] } ]", "unknown force 'pushing'",
        "perp list forces");
  wrong("joints: [ { kind: rod, bodies: [a, b], lenght: 1 m } ]",
        "unknown key of joint 'rod': 'lenght'", "did you mean 'length'");
  wrong("joints: [ { kind: rod, bodies: [a, b], zzz: 1 } ]", "unknown key of joint 'rod': 'zzz'",
        "known: kind, bodies, name");
  wrong("joints: [ { kind: rod, bodies: [a, b], length: 1 kg } ]", "kg", "wrong.yaml:6:");
  wrong("joints: [ { kind: rod, bodies: [a, b], length: 0 } ]", "length must be in (0, inf)",
        "wrong.yaml:6:");
  wrong("joints: [ { kind: rod, bodies: [a, b], length: 2000 } ]", "a rod of 2000 m is too long",
        "joint 0");
  wrong("joints: [ { kind: rod, bodies: [a] } ]", "needs 2 bodies: got 1", "wrong.yaml:6:");
  wrong("joints: [ { kind: rod, bodies: [a, c] } ]", "there is no body 'c'", "wrong.yaml:6:");
  wrong("joints: [ { kind: rod } ]", "joint 'rod' needs 'bodies'", "wrong.yaml:6:");
  wrong("joints: [ { kind: rod, a: a, b: b } ]", "unknown key of joint 'rod': 'a'",
        "wrong.yaml:6:");
  wrong("joints: [ { kind: rod, bodies: [a, a] } ]", "twice", "wrong.yaml:6:");
  wrong("joints: [ { kind: rod, bodies: [a, b], length: 2 } ]",
        "the initial position contradicts it", "wrong.yaml:6:");
  wrong("joints: [ { kind: rod, bodies: [a, b], at: [0, 0] } ]", "a list of 3 numbers",
        "wrong.yaml:6:");
  wrong("joints: [ { kind: ball, bodies: [a, b] } ]", "'a' is missing here", "wrong.yaml:6:");
  wrong("forces: [ { kind: pull, bodies: [a], times: 9 } ]", "[1, 5]", "wrong.yaml:6:");
  wrong("forces: [ { kind: pull, bodies: [a], shape: cubic } ]", "unknown value 'cubic'",
        "known: constant, linear");
  wrong("forces: [ { kind: pull, bodies: [a], back: 3 m } ]", "back", "wrong.yaml:6:");
  write_file("isolated.yaml",
             "schema: perp-scene/1\nscene: { t_end: 0.1 s, isolated: true }\nbodies:\n"
             "  - { name: a, mass: 1, solid: { kind: sphere, radius: 0.1 } }\n"
             "forces: [ { kind: pull, bodies: [a] } ]\n");
  char *words = perp_xprintf("check isolated.yaml%s", with);
  ok(run(words) == 3 && strstr(err, "is not declared as internal") != NULL,
     "what pulls from outside is not isolated");
  free(words);
  refuses(3, "check good.yaml", "unknown joint 'rod'"); /* without its file */
}

static const char *const good =
    "schema: perp-scene/1\n"
    "scene: { t_end: 0.2 s, h: 1 ms, gravity: 0 }\n"
    "parameters:\n"
    "  strength: { default: 2 N, min: 0, unit: N, help: of the pull }\n"
    "let: { far: 30 cm }\n"
    "bodies:\n"
    "  - { name: a, mass: 2, solid: { kind: sphere, radius: 0.1 }, w: [0.3, 0.2, 0.5] }\n"
    "  - { name: b, mass: 1, solid: { kind: sphere, radius: 0.1 }, x: [1, 0, 0], v: [0, 0.3, 0] }\n"
    "  - { name: c, mass: 3, solid: { kind: sphere, radius: 0.1 }, x: [0, 3, 0] }\n"
    "joints:\n"
    "  - { kind: rod, name: link, bodies: [a, b], at: [far, 0, 0], of_x: -far / 2, start: zero }\n"
    "  - { kind: rod, bodies: [world, b], length: 1, softness: 1e-9, start: holds, collide: true "
    "}\n"
    "forces:\n"
    "  - { kind: pull, bodies: [c], strength: strength / 2, along: [0, 0, 1], times: 2, back: "
    "true, note: \"a, b\" }\n"
    "  - { repeat: { i: 0..1 }, kind: pull, bodies: [\"{i}\", 2], strength: 0.1 * i, shape: linear "
    "}\n";

static void test_scene(void)
{
  write_file("good.yaml", good);
  char *words = perp_xprintf("check good.yaml%s", with);
  says(words, "bodies 3, joints 2 (2 rows), actuators 0, forces 3");
  free(words);
  /* c alone: z = -(2 * strength / 2) / 3 t^2 / 2, pulled along x too */
  words = perp_xprintf(
      "simulate good.yaml:strength=6%s --formulation acceleration --ode rk4 --json", with);
  json_t *j = json_of(words, 0);
  below(metric(j, "drift.pos.max"), 1e-5, "its joints hold");
  json_decref(j);
  free(words);

  /* exported, it is the same to the last bit */
  words = perp_xprintf("export-scene good.yaml -o out.yaml%s", with);
  ok(run(words) == 0 && file_has("out.yaml", "kind: rod, bodies: [0, 1], length: ") &&
         file_has("out.yaml", "along_z: 1") && file_has("out.yaml", "note: \"a, b\"") &&
         file_has("out.yaml", "shape: linear") && file_has("out.yaml", "collide: true"),
     "export-scene writes them with all their options");
  free(words);
  double x[2][3];
  for (int i = 0; i < 2; i++) {
    words = perp_xprintf("simulate %s%s --formulation velocity --json",
                         i == 0 ? "good.yaml" : "out.yaml", with);
    j = json_of(words, 0);
    x[i][0] = metric(j, "drift.pos.max");
    x[i][1] = metric(j, "drift.vel.max");
    x[i][2] = metric(j, "drift.pos.mean");
    json_decref(j);
    free(words);
  }
  ok(memcmp(x[0], x[1], sizeof x[0]) == 0 && x[0][0] > 0, "and reads back as the same: %.17g",
     x[0][0]);
  words = perp_xprintf("export-scene out.yaml -o again.yaml%s", with);
  ok(run(words) == 0, "again");
  free(words);
  char *a = perp_read_file("out.yaml", NULL), *b = perp_read_file("again.yaml", NULL);
  ok(a != NULL && b != NULL && strcmp(strstr(a, "scene:"), strstr(b, "scene:")) == 0,
     "written twice, the same text");
  free(a);
  free(b);
  words = perp_xprintf("simulate good.yaml%s --json", with);
  json_decref(json_of(words, 0));
  free(words);
}

/* A study whose scene file has a joint of a plug-in: its cells belong to that file, too. */
static void test_study(const char *folder)
{
  char *copy = perp_xprintf("cp %s/elements.so mine.so", folder);
  if (system(copy) != 0) bail("%s", copy);
  free(copy);
  write_file(
      "elements.yaml",
      "schema: perp-study/1\nplugins: [mine.so]\nstudy: { name: elements }\nscene: good.yaml\n"
      "t_end: 0.05 s\ngrid:\n  formulation: [velocity, acceleration]\nmeasure: { repeats: 0 }\n"
      "metrics: { primary: drift.pos.max, record: [drift.pos.max, steps] }\n");
  says("run elements.yaml -o results -q --no-report", "2 runs: 2 ok");
  ok(run("run elements.yaml -o results --no-report") == 0 && strstr(err, "0 to run") != NULL,
     "a study of them is complete");
  if (system("printf x >> mine.so") != 0) bail("mine.so"); /* loaders do not look behind the end */
  ok(run("run elements.yaml -o results --no-report") == 0 &&
         strstr(err, "2 to repeat (their plug-in has changed)") != NULL,
     "until its plug-in changes");
  if (strstr(err, "2 run again") == NULL) complain();
}

int main(void)
{
  program_open();
  const char *folder = getenv("PERP_BAD_PLUGINS");
  if (folder == NULL) bail("PERP_BAD_PLUGINS names no folder");
  with = perp_xprintf(" --plugin %s/elements.so", folder);
  write_file("good.yaml", good);
  test_lists();
  test_scene();
  test_wrong();
  test_study(folder);
  free(with);
  program_close();
  return tap_done();
}
