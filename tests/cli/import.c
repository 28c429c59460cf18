/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Import of robots as a user meets it: scene files, robots as scenes, what is listed as lost, bad
 * files. */
#include "tests/cli/program.h"

/* The robots of tests/import/models, here. */
static void copy_models(void)
{
  static const char *const files[] = { "arm.xml",     "humanoid.xml",  "fourbar.xml", "free.xml",
                                       "gantry.urdf", "quadruped.xml", "planar.xml" };
  const char *source = getenv("PERP_SOURCE");
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char *path = perp_xprintf("%s/tests/import/models/%s", source != NULL ? source : ".", files[i]);
    char *text = perp_read_file(path, NULL);
    if (text == NULL) bail("%s", path);
    write_file(files[i], text);
    free(text);
    free(path);
  }
}

static int count(const char *text, const char *part)
{
  int n = 0;
  for (const char *s = text; (s = strstr(s, part)) != NULL; s++) n++;
  return n;
}

/* ---- what comes out ---- */

static void test_lost(void)
{
  int got = run("import humanoid.xml -o humanoid.yaml");
  ok(got == 0, "perp import humanoid.xml");
  static const char *const lines[] = {
    "note: body pelvis has no joint: it is a part of waist",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    char *comment = perp_xprintf("# %s", lines[i]);
    ok(strstr(err, lines[i]) != NULL && file_has("humanoid.yaml", comment),
       "it says, and the file has at its head: %s", lines[i]);
    free(comment);
  }
  ok(strstr(err, "armature") == NULL && file_has("humanoid.yaml", "armature: 0.01"),
     "armature is inertia of the joint");
  ok(strstr(err, "tendon") == NULL && file_has("humanoid.yaml", "kind: spring") &&
         file_has("humanoid.yaml", "name: \"cable, right_hip_y\""),
     "a spring between two sites is a force, a motor on a fixed tendon one on each joint");
  ok(strstr(err, "camera") == NULL && strstr(err, "light") == NULL,
     "cameras and lights are no physics");
  got = run("import gantry.urdf -o gantry.yaml");
  ok(got == 0 && file_has("gantry.yaml", "kind: coupling"),
     "a mimic joint of a URDF is a coupling");
  ok(strstr(err,
            "lost: largest velocities are bounds of actuators, which are not there: x 2 m/s") !=
         NULL,
     "so are velocities");
  ok(strstr(err, "note: link frame is connected to no joint") != NULL, "the root is the world");
  got = run("import planar.xml -o planar.yaml");
  ok(got == 0 && strstr(err, "lost: damping") == NULL && file_has("planar.yaml", "kind: chain") &&
         file_has("planar.yaml", "axis: c, zero: 0, damping: 0.4"),
     "slides behind a hinge keep their damping");
  got = run("import fourbar.xml -o fourbar.yaml");
  ok(got == 0 &&
         strstr(err, "joint 1 (second, crank): compliant in MuJoCo, a rigid coupling") != NULL,
     "joints that follow each other are coupled");
  got = run("import quadruped.xml -o quadruped.yaml");
  ok(got == 0 && count(err, "do not collide in MuJoCo") == 1 &&
         strstr(err, "fr_shank and trunk") != NULL,
     "of excluded bodies with feet that collide one is a group, the other one is lost");
}

static void test_scenes(void)
{
  json_t *direct = json_of("simulate arm.xml --t-end 0.2s --json", 0);
  ok(strstr(err, "lost:") == NULL, "a robot of cylinders loses nothing as a scene");
  run("import arm.xml -o arm.yaml");
  json_t *file = json_of("simulate arm.yaml --t-end 0.2s --json", 0);
  static const char *const figures[] = { "drift.pos.max", "drift.acc.max", "pen.max", "kkt.work" };
  for (int i = 0; i < 4; i++)
    ok(metric(direct, figures[i]) == metric(file, figures[i]),
       "a robot as a scene runs as the scene file that is made of it: %s", figures[i]);
  json_decref(direct);
  json_decref(file);
  says("check arm.xml", "a valid scene in space");
  says("info arm.xml", "Control of actuator push.");
  refuses(2, "simulate arm.xml:push=2", "arm.xml.push must be in [-1, 1]: got 2");
  says("simulate arm.xml:push=1,spin=-1 --t-end 0.05s", "status   ok");
  says("import arm.xml --key ready", "v: [");
  refuses(3, "import arm.xml --key go", "keyframes: ready");
  says("simulate humanoid.xml --lcp dantzig --t-end 2s", "status   ok");
  ok(strstr(err, "note: body pelvis has no joint") != NULL && strstr(err, "lost:") == NULL,
     "a humanoid falls for 2 s, and loses nothing");
  says("simulate free.xml --lcp dantzig --t-end 0.1s", "status   ok");
}

/* A study takes robots, and keeps them with their meshes. */
/* Limits beyond half a turn are kept, and the arm stops at the other one, too. */
static void test_limits(void)
{
  write_file("one-sided.xml",
             "<mujoco><compiler angle=\"radian\" autolimits=\"true\"/>"
             "<option><flag contact=\"disable\"/></option><worldbody><body name=\"arm\">"
             "<joint name=\"knee\" type=\"hinge\" axis=\"0 1 0\" range=\"-4 0\"/>"
             "<geom type=\"capsule\" fromto=\"0 0 0 0.5 0 0\" size=\"0.02\" mass=\"1\"/>"
             "</body></worldbody></mujoco>");
  ok(run("import one-sided.xml -o one-sided.yaml") == 0 && strstr(err, "lost") == NULL &&
         file_has("one-sided.yaml", "lower: -4, upper: 0"),
     "both limits of a hinge are kept");
  json_t *j = json_of("simulate one-sided.yaml --t-end 2s --json", 0);
  const json_t *q = json_object_get(json_object_get(j, "final"), "q");
  near(json_number_value(json_array_get(q, 2)), 0, 1e-9, 0, "the arm stays at 0");
  json_decref(j);
}

static void test_study(void)
{
  write_file("stone.xml",
             "<mujoco>\n  <asset><mesh name=\"stone\" file=\"stone.obj\"/></asset>\n"
             "  <worldbody>\n    <geom type=\"plane\" size=\"1 1 .1\"/>\n"
             "    <body pos=\"0 0 1\"><freejoint/>\n"
             "      <geom type=\"mesh\" mesh=\"stone\"/></body>\n  </worldbody>\n</mujoco>\n");
  write_file("stone.obj", "v 0 0 0\nv 0.2 0 0\nv 0 0.2 0\nv 0 0 0.2\nf 1 3 2\nf 1 2 4\nf 1 4 3\n"
                          "f 2 3 4\n");
  write_file("stones.yaml", "schema: perp-study/1\nstudy: { name: stones }\nt_end: 0.02 s\n"
                            "grid: { scene: [stone.xml], h: [2 ms, 1 ms] }\n"
                            "measure: { repeats: 0 }\n"
                            "metrics: { primary: drift.pos.max, record: [drift.pos.max] }\n");
  int got = run("run stones.yaml -o stones");
  if (!ok(got == 0, "a study of a robot")) complain();
  ok(file_has("stones/scenes/stone.xml", "<mujoco>") && file_has("stones/scenes/stone.obj", "f 1"),
     "its folder has the robot and its mesh");
  got = run("run stones.yaml -o stones");
  ok(got == 0 && strstr(out, "to repeat") == NULL && strstr(err, "to repeat") == NULL,
     "again: nothing is run again");
  write_file("stone.obj", "v 0 0 0\nv 0.3 0 0\nv 0 0.3 0\nv 0 0 0.3\nf 1 3 2\nf 1 2 4\nf 1 4 3\n"
                          "f 2 3 4\n");
  got = run("run stones.yaml -o stones");
  if (!ok(got == 0 && (strstr(out, "2 to repeat") != NULL || strstr(err, "2 to repeat") != NULL),
          "with another mesh its cells run again"))
    complain();
}

/* Names that mean something else in a scene, and names that meet. */
static void test_names(void)
{
  write_file(
      "names.xml",
      "<mujoco>\n<worldbody>\n<body name=\"7\"><joint name=\"{pi}\"/><geom size=\".1\" name=\"a: "
      "{b\"/>"
      "<body name=\"{\" pos=\"0 0 1\"><joint name=\"equality0\" axis=\"1 0 0\"/><geom "
      "size=\".1\"/></body>"
      "<body name=\"}\" pos=\"0 0 -1\"><joint name=\"# &quot;\"/><geom "
      "size=\".1\"/></body></body>\n"
      "</worldbody>\n<equality><connect body1=\"{\" body2=\"}\" anchor=\"0 0 -1\"/></equality>\n"
      "<actuator><motor name=\"sqrt\" joint=\"{pi}\"/><motor name=\"if\" joint=\"{pi}\"/>"
      "<motor name=\"a-b\" joint=\"{pi}\"/><motor name=\"a b\" "
      "joint=\"{pi}\"/></actuator></mujoco>\n");
  says("check names.xml", "bodies 3, joints 4");
  says("simulate names.xml:u_sqrt=1,a_b=2 --t-end 10ms --h 1ms", "status   ok");
}

/* ---- bad files ---- */

#define IN_WORLD(text) "<mujoco>\n<worldbody>\n" text "\n</worldbody>\n</mujoco>\n"
static const struct bad {
  const char *what, *name, *text, *place, *message, *hint;
} bads[] = {
  { "a missing mesh", "mesh.xml",
    "<mujoco>\n <asset>\n  <mesh name=\"m\" file=\"no.stl\"/>\n </asset>\n <worldbody><body>"
    "<freejoint/><geom type=\"mesh\" mesh=\"m\"/></body></worldbody>\n</mujoco>\n",
    "mesh.xml:3:3: error:", "mesh no.stl is not found", "put the file beside the robot's" },
  { "a mesh that is no mesh", "mesh2.xml",
    "<mujoco>\n <asset>\n  <mesh name=\"m\" file=\"mesh.xml.stl\"/>\n </asset>\n <worldbody><body>"
    "<freejoint/><geom type=\"mesh\" mesh=\"m\"/></body></worldbody>\n</mujoco>\n",
    "mesh2.xml:3:3: error:", "STL", NULL },
  { "a mesh that no asset has", "asset.xml",
    IN_WORLD("<body><freejoint/>\n<geom type=\"mesh\" mesh=\"m\"/></body>"),
    "asset.xml:4:1: error:", "there is no mesh 'm'", "use the name of an existing mesh" },
  { "no robot", "html.xml", "<html>\n</html>\n", "html.xml:1:1: error:", "<html>", "<mujoco>" },
  { "no XML", "text.xml", "schema: perp-scene/1\n", "text.xml:1:1: error:", "not valid XML",
    "<mujoco>" },
  { "an empty file", "empty.xml", "", "empty.xml:1:1: error:", "not valid XML", "<mujoco>" },
  { "an element that is not closed", "open.urdf", "<robot name=\"a\">\n<link name=\"b\">\n",
    "open.urdf:", "not valid XML", "close each element" },
  { "an unknown element", "word.xml", IN_WORLD("<bodi/>"), "word.xml:3:1: error:", "<bodi>",
    "its elements: inertial" },
  { "a body that moves without a mass", "light.xml", IN_WORLD("<body name=\"a\">\n<joint/></body>"),
    "light.xml:3:1: error:", "has no mass", "<inertial>" },
  { "nothing that moves", "still.xml", IN_WORLD("<geom size=\"1\"/>"),
    "still.xml:1:1: error:", "no body of the file can move", "<joint>" },
  { "an include that is not there", "inc.xml", "<mujoco>\n<include file=\"no.xml\"/>\n</mujoco>\n",
    "inc.xml:", "no.xml", NULL },
  { "joints that are no joint of perp", "planar.xml",
    IN_WORLD("<body name=\"a\"><joint name=\"p\" type=\"ball\"/>"
             "<joint name=\"q\" axis=\"0 1 0\"/><geom size=\".1\"/></body>"),
    "planar.xml:3:1: error:", "body 'a' is connected to p, q (ball, hinge)", "its own body" },
};

static void test_bad(void)
{
  write_file("mesh.xml.stl", "this is no mesh\n");
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
    const struct bad *b = &bads[i];
    write_file(b->name, b->text);
    for (int k = 0; k < 2; k++) {
      char *words = perp_xprintf("%s %s", k == 0 ? "import" : "check", b->name);
      const int got = run(words);
      const bool good = got == 3 && strncmp(err, b->place, strlen(b->place)) == 0 &&
                        count(err, "error: ") == 1 && strstr(err, b->message) != NULL &&
                        (b->hint == NULL || strstr(err, b->hint) != NULL) && out[0] == '\0';
      if (!ok(good, "perp %s, %s: one error with its place and what to do", words, b->what)) {
        printf("# status %d\n", got);
        complain();
      }
      free(words);
    }
  }
  refuses(3, "import none.xml", "cannot read the robot none.xml: No such file");
  refuses(2, "import robot.txt", "robots (NAME.xml");
  refuses(2, "import", "an argument is missing");
}

int main(void)
{
  program_open();
  copy_models();
  test_lost();
  test_scenes();
  test_limits();
  test_study();
  test_names();
  test_bad();
  program_close();
  return tap_done();
}
