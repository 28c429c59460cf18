/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures as a user meets them: a BVH as a scene, its scene file, the torques of its motion, bad files. */
#include "tests/cli/program.h"

#include <sys/stat.h>

static void copy_motion(const char *name)
{
  const char *source = getenv("PERP_SOURCE");
  char *path = perp_xprintf("%s/experiments/scenes/examples/%s", source != NULL ? source : ".",
                            name);
  char *text = perp_read_file(path, NULL);
  if (text == NULL) bail("%s", path);
  write_file(name, text);
  free(text);
  free(path);
}

static void test_scene(void)
{
  says("check walk.bvh", "bodies 18, joints 17 (51 rows), drives 32");
  ok(strstr(err, "note: joints without limits") != NULL && strstr(err, "Spine") != NULL,
     "it says which joints have no limits");
  says("check walk.bvh", "truth motion of walk.bvh");
  says("info walk.bvh", "height");
  refuses(2, "simulate walk.bvh:mass=-3", "mass");
  says("simulate walk.bvh:height=1.6,mass=50 --t-end 0.3s", "status   ok");
  const int got = run("import walk.bvh -o walk.yaml");
  ok(got == 0 && file_has("walk.yaml", "# note: joints without limits") &&
         file_has("walk.yaml", "file: \"walk.bvh\""),
     "perp import: a scene file with its notes and its motion");
  json_t *direct = json_of("simulate walk.bvh --t-end 0.1s --json", 0);
  json_t *file = json_of("simulate walk.yaml --t-end 0.1s --json", 0);
  static const char *const figures[] = { "drift.pos.max", "pen.max", "err.q.max" };
  for (int i = 0; i < 3; i++)
    ok(metric(direct, figures[i]) == metric(file, figures[i]),
       "a BVH runs as the file made of it: %s", figures[i]);
  json_decref(direct);
  json_decref(file);
  if (mkdir("other", 0777) != 0) bail("no folder");
  ok(run("import walk.bvh -o other/walk.yaml") == 0 && run("check other/walk.yaml") == 0,
     "written into another folder it finds its motion");
  refuses(3, "import walk.bvh --key home", "a BVH file has no keyframes");
}

static void test_inverse(void)
{
  int got = run("inverse walk.bvh --step 0.5s");
  ok(got == 0 && strncmp(out, "t [s], Hips.root.x [N], ", 24) == 0 &&
         strstr(out, "LeftShank.ry [Nm]") != NULL && strstr(out, ", power [W]\n0, ") != NULL,
     "perp inverse: a table with units");
  int rows = 0;
  for (const char *s = out; *s != '\0'; s++) rows += *s == '\n';
  ok(rows == 6, "five rows of 2 s: %d lines", rows);
  got = run("inverse walk.bvh --step 0.5s --kkt tree");
  ok(got == 0 && strstr(err, "tree and the recursion differ by") != NULL,
     "the other way, and how far they differ");
  got = run("inverse wave.bvh --ground --step 1s --csv t.csv");
  ok(got == 0 && out[0] == '\0' && file_has("t.csv", "ground.z [N], contacts"),
     "with the ground, into a file");
  write_file("rod.yaml", "schema: perp-scene/1\nscene: { summary: a rod, dim: 2 }\n"
                         "bodies: [{ name: rod, mass: 2, inertia: 1, x: [0.5, 0] }]\n"
                         "joints: [{ kind: hinge, a: world, b: rod, at: [0, 0] }]\n");
  write_file("held.csv",
             "t [s], rod.x [m], rod.y [m], rod.angle [rad]\n0, 0.5, 0, 0\n1, 0.5, 0, 0\n");
  says("inverse rod.yaml --motion held.csv --step 1s",
       "t [s], rod.angle [Nm], power [W]\n0, 9.81, 0\n1, 9.81, 0\n");
  refuses(2, "inverse rod.yaml", "has no motion of its own");
  write_file("held.csv", "t [s], rod.x [m], rod.y [m]\n0, 0.5, 0\n");
  refuses(3, "inverse rod.yaml --motion held.csv", "column rod.angle is missing");
  refuses(3, "inverse rod.yaml --motion walk.bvh", "moves in space");
  refuses(3, "inverse walk.bvh --motion none.bvh", "cannot read none.bvh");
  refuses(2, "inverse walk.bvh --kkt nobody", "nobody");
  refuses(2, "inverse walk.bvh --step 0", "--step");
  says("inverse --help", "perp inverse walk.bvh --ground --csv torques.csv");
  write_file("loop.yaml", "schema: perp-scene/1\nscene: { summary: a loop, dim: 2 }\n"
                          "bodies: [{ name: rod, mass: 2, inertia: 1, x: [0.5, 0] }]\n"
                          "joints: [{ kind: hinge, a: world, b: rod, at: [0, 0] }, { name: second, "
                          "kind: hinge, a: world, b: rod, at: [1, 0] }]\n");
  write_file("held.csv",
             "t [s], rod.x [m], rod.y [m], rod.angle [rad]\n0, 0.5, 0, 0\n1, 0.5, 0, 0\n");
  got = run("inverse loop.yaml --motion held.csv");
  ok(got != 0 && got < 10 && strstr(err, "second") != NULL && strstr(err, "loop") != NULL,
     "a loop is refused: %.120s", err);
}

static void test_bad(void)
{
  static const char head[] =
      "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
      "End Site\n{\nOFFSET 0 1 0\n}\n}\nMOTION\n";
  static const struct {
    const char *what, *rest, *place, *message;
  } bads[] = {
    { "a missing frame", "Frames: 2\nFrame Time: 0.1\n1 2 3\n",
      "bad.bvh:15:", "frame 2 of 2 is missing" },
    { "a wrong count", "Frames: 2\nFrame Time: 0.1\n1 2 3\n1 2\n",
      "bad.bvh:15:", "frame 2 has 2 numbers of 3" },
    { "a NaN", "Frames: 1\nFrame Time: 0.1\n1 nan 3\n",
      "bad.bvh:14:", "frame 1, channel 2 is no number" },
    { "a negative time", "Frames: 1\nFrame Time: -0.1\n1 2 3\n", "bad.bvh:13:", "above 0" },
    { "too many frames", "Frames: 4000000000\nFrame Time: 0.1\n1 2 3\n", "bad.bvh:12:", "Frames" },
  };
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
    char *text = perp_xprintf("%s%s", head, bads[i].rest);
    write_file("bad.bvh", text);
    free(text);
    static const char *const commands[] = { "import bad.bvh", "check bad.bvh", "simulate bad.bvh" };
    for (int k = 0; k < 3; k++) {
      const int got = run(commands[k]);
      ok(got == 3 && strstr(err, bads[i].place) != NULL && strstr(err, bads[i].message) != NULL &&
             out[0] == '\0',
         "perp %s, %s: %.100s", commands[k], bads[i].what, err);
    }
  }
  write_file("bones.bvh",
             "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n}\nMOTION\nFrames: 0\nFrame Time: 1\n");
  refuses(3, "import bones.bvh", "no bones");
  refuses(3, "check none.bvh", "none.bvh");
}

int main(void)
{
  program_open();
  copy_motion("walk.bvh");
  copy_motion("wave.bvh");
  test_scene();
  test_inverse();
  test_bad();
  program_close();
  return tap_done();
}
