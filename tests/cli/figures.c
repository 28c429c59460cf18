/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures as a user meets them: a BVH as a scene, its scene file, the torques of its motion, bad
 * files. */
#include "tests/cli/program.h"

#include <math.h>
#include <stdlib.h>
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
  says("check walk.bvh", "bodies 18, joints 17 (51 rows), actuators 30");
  ok(strstr(err, "note: joints without limits") != NULL && strstr(err, "Spine") != NULL,
     "it says which joints have no limits");
  says("check walk.bvh", "reference motion of walk.bvh");
  says("info walk.bvh", "height");
  refuses(2, "simulate walk.bvh:mass=-3", "mass");
  /* box: one step has a solution that slides and one that sticks, both to rounding */
  ok(run("simulate walk.bvh:height=1.6,mass=50 --t-end 0.3s") == 0 &&
         (strstr(out, "status   ok") != NULL || strstr(out, "status   several solutions") != NULL),
     "a figure of another size and mass: solved");
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
  refuses(3, "import walk.bvh --key home", "a file of a skeleton has no keyframes");
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
  refuses(2, "inverse rod.yaml", "has no motion that is known");
  write_file("held.csv", "t [s], rod.x [m], rod.y [m]\n0, 0.5, 0\n");
  refuses(3, "inverse rod.yaml --motion held.csv", "column rod.angle is missing");
  refuses(3, "inverse rod.yaml --motion walk.bvh", "is a motion in space");
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

/* Torques at shoulder and elbow of the scene arm at t: the equations of two rods by Lagrange, in
 * the angles of the joints (the scene file has them in those of the rods). */
static void arm_torques(double t, double tau[2])
{
  const double m1 = 3, l1 = 1, m2 = 1, l2 = 0.8, g = 9.81, s = 0.6, w = 2 * 3.14159265358979323846;
  const double p = -3.14159265358979323846 / 2 + s * (1 - cos(w * t));
  const double e = 0.3 + s / 2 * (1 - cos(2 * w * t));
  const double dp = s * w * sin(w * t), de = s * w * sin(2 * w * t);
  const double ap = s * w * w * cos(w * t), ae = 2 * s * w * w * cos(2 * w * t);
  const double a = m1 * l1 * l1 / 3 + m2 * l1 * l1 + m2 * l2 * l2 / 3, b = m2 * l1 * l2 / 2,
               d = m2 * l2 * l2 / 3;
  tau[0] = (a + 2 * b * cos(e)) * ap + (d + b * cos(e)) * ae - b * sin(e) * (2 * dp + de) * de +
           (m1 / 2 + m2) * g * l1 * cos(p) + m2 / 2 * g * l2 * cos(p + e);
  tau[1] = (d + b * cos(e)) * ap + d * ae + b * sin(e) * dp * dp + m2 / 2 * g * l2 * cos(p + e);
}

/* Largest difference of the rows in out from these torques, of the rows between `from` and `to`;
 * *rows: how many. */
static double arm_apart(double from, double to, int *rows)
{
  double worst = 0;
  *rows = 0;
  for (const char *s = strchr(out, '\n'); s != NULL && s[1] != '\0'; s = strchr(s + 1, '\n')) {
    double t, got[2], want[2];
    if (sscanf(s + 1, "%lf, %lf, %lf", &t, &got[0], &got[1]) != 3) return (double)NAN;
    if (t < from || t > to) continue;
    arm_torques(t, want);
    for (int i = 0; i < 2; i++) worst = fmax(worst, fabs(got[i] - want[i]));
    ++*rows;
  }
  return worst;
}

/* A motion that is known as a formula: the truth of a scene. */
static void test_truth(void)
{
  int rows;
  int got = run("inverse arm:torque=none --step 0.04s");
  ok(got == 0 &&
         strncmp(out, "t [s], upper.angle [Nm], forearm.angle [Nm], power [W]\n", 55) == 0 &&
         strstr(err, "the motion is its reference solution") != NULL,
     "perp inverse takes the truth of a scene for its motion, and says so");
  double worst = arm_apart(0.02, 0.98, &rows);
  ok(rows == 24 && worst < 1e-6, "torques of an arm are those of its equations: %.2g Nm", worst);
  worst = arm_apart(0, 1, &rows);
  ok(rows == 26 && worst < 1e-4, "at its ends, too, where curves see one side: %.2g Nm", worst);
  says("inverse arm:torque=none,bend=0 --step 1s", ", 24.63"); /* of the lesson inverse */
  got = run("inverse arm --step 0.1s");
  double largest = 0, t, tau[2];
  for (const char *s = strchr(out, '\n'); got == 0 && s != NULL && s[1] != '\0';
       s = strchr(s + 1, '\n'))
    if (sscanf(s + 1, "%lf, %lf, %lf", &t, &tau[0], &tau[1]) == 3 && t > 0 && t < 1)
      largest = fmax(largest, fmax(fabs(tau[0]), fabs(tau[1])));
  ok(got == 0 && largest < 1e-6, "with them as forces of the scene nothing is left: %.2g Nm",
     largest);
}

/* As run, with a terminal of 80 columns as standard output. */
static int run_at_terminal(const char *words)
{
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return -1;
  const char *name = ptsname(master);
  const int keep = dup(1), slave = name != NULL ? open(name, O_RDWR | O_NOCTTY) : -1;
  if (keep < 0 || slave < 0) return -1;
  char *copy = perp_xprintf("%s %s 2>stderr.txt", program, words), *text = perp_xalloc(1 << 20, 1);
  size_t n = 0;
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(slave, 1);
    close(slave);
    close(master);
    execl("/bin/sh", "sh", "-c", copy, (char *)NULL);
    _exit(127);
  }
  close(slave);
  close(keep);
  for (ssize_t got; (got = read(master, text + n, (1 << 20) - 1 - n)) > 0;) n += (size_t)got;
  close(master);
  int status = 0;
  waitpid(pid, &status, 0);
  free(copy);
  free(out);
  out = text;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
}

static int widest(const char *text)
{
  size_t most = 0;
  for (const char *s = text; *s != '\0'; s += strcspn(s, "\r\n"), s += *s != '\0')
    if (strcspn(s, "\r\n") > most) most = strcspn(s, "\r\n");
  return (int)most;
}

/* The row of a name in the summary: the largest value, its time, mean and RMS. */
static bool summary_row(const char *name, double v[4])
{
  const char *s = strstr(out, name);
  char unit[8];
  return s != NULL &&
         sscanf(s + strlen(name), "%lf %7s %lf %lf %lf", &v[0], unit, &v[1], &v[2], &v[3]) == 5;
}

static void test_terminal(void)
{
  const int got = run_at_terminal("inverse walk.bvh --ground --near 60mm");
  if (got < 0) {
    skip("no pseudo-terminal", "perp inverse at a terminal");
  } else {
    ok(got == 0 && strncmp(out, "force  ", 7) == 0 && strstr(out, "LeftShank.ry") != NULL &&
           strstr(out, "--csv FILE writes all rows") != NULL && strstr(out, "t [s],") == NULL,
       "at a terminal perp inverse prints the largest of each force");
    ok(widest(out) <= 80, "in %d columns", widest(out));
    ok(run_at_terminal("inverse walk.bvh --csv -") == 0 && strncmp(out, "t [s], ", 7) == 0,
       "and all rows with --csv -");
  }
  /* the figures of the rows of an arm, from the formulas of its torques */
  double largest[2] = { 0 }, when[2] = { 0 }, mean[2] = { 0 }, square[2] = { 0 }, v[4];
  for (int k = 1; k < 20; k++) {
    double tau[2];
    arm_torques(0.05 * k, tau);
    for (int i = 0; i < 2; i++) {
      if (fabs(tau[i]) > fabs(largest[i])) largest[i] = tau[i], when[i] = 0.05 * k;
      mean[i] += tau[i], square[i] += tau[i] * tau[i];
    }
  }
  double tau[2];
  arm_torques(0, tau); /* at both ends alike */
  if (run("inverse arm:torque=none --step 0.05s --summary --csv all.csv") != 0) bail("%s", err);
  static const char *const names[] = { "upper.angle", "forearm.angle" };
  for (int i = 0; i < 2; i++) {
    if (fabs(tau[i]) > fabs(largest[i])) largest[i] = tau[i], when[i] = 0;
    mean[i] = (mean[i] + 2 * tau[i]) / 21;
    square[i] = sqrt((square[i] + 2 * tau[i] * tau[i]) / 21);
    const bool there = summary_row(names[i], v);
    ok(there && fabs(v[0] - largest[i]) < 1e-3 * fabs(largest[i]) &&
           (fabs(v[1] - when[i]) < 1e-9 || (when[i] == 0 && v[1] == 1)) &&
           fabs(v[2] - mean[i]) < 1e-3 * square[i] && fabs(v[3] - square[i]) < 1e-3 * square[i],
       "%s: %g Nm at %g s, mean %g, RMS %g", names[i], v[0], v[1], v[2], v[3]);
  }
  ok(file_has("all.csv", "t [s], upper.angle [Nm]"), "--summary beside --csv");
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
      "bad.bvh:15:", "frame 2 has only 2 numbers for 3" },
    { "a NaN", "Frames: 1\nFrame Time: 0.1\n1 nan 3\n",
      "bad.bvh:14:", "frame 1, channel 2 is not a number" },
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

/* Of the message that perp has written: one error, no line wider than a page, nothing that a
 * terminal takes for a command. */
static bool readable(const char *text)
{
  int errors = 0;
  for (const char *s = strstr(text, "error: "); s != NULL; s = strstr(s + 1, "error: ")) errors++;
  for (const char *s = text; *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n')
    if (strcspn(s, "\n") > 160) return false;
  for (const unsigned char *s = (const unsigned char *)text; *s != '\0'; s++) {
    const bool more = (s[1] & 0xc0) == 0x80;
    if (*s >= 0xc2 && more && !(*s == 0xc2 && s[1] < 0xa0))
      while ((s[1] & 0xc0) == 0x80) s++; /* of UTF-8 */
    else if (*s != '\n' && (*s < ' ' || *s > '~'))
      return false;
  }
  return errors == 1;
}

static void refused(const char *what, const char *text, size_t size, const char *place,
                    const char *message)
{
  FILE *f = fopen("bad.bvh", "wb");
  if (f == NULL || fwrite(text, 1, size, f) != size || fclose(f) != 0) bail("bad.bvh");
  static const char *const commands[] = { "check bad.bvh", "inverse bad.bvh" };
  for (int k = 0; k < 2; k++) {
    const int got = run(commands[k]);
    ok(got == 3 && strncmp(err, place, strlen(place)) == 0 && strstr(err, message) != NULL &&
           readable(err) && out[0] == '\0',
       "perp %s, %s: %.90s", commands[k], what, readable(err) ? err : "unreadable");
  }
}

#define TREE                                                                                       \
  "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"                 \
  "End Site\n{\nOFFSET 0 1 0\n}\n}\nMOTION\n"
#define FRAMES(n) "Frames: " n "\nFrame Time: 0.1\n"

static void test_damaged(void)
{
  static const struct {
    const char *what, *text, *place, *message;
  } bads[] = {
    { "frames are missing", TREE FRAMES("9") "1 2 3\n4 5 6\n",
      "bad.bvh:16:", "frame 3 of 9 is missing" },
    { "a frame in the middle is", TREE FRAMES("3") "1 2 3\n\n4 5 6\n",
      "bad.bvh:17:", "frame 3 of 3 is missing" },
    { "more frames than it says", TREE FRAMES("1") "1 2 3\n4 5 6\n",
      "bad.bvh:15:", "continues behind frame 1" },
    { "too few numbers", TREE FRAMES("2") "1 2 3\n4 5\n", "bad.bvh:15:", "2 numbers for 3" },
    { "too many numbers", TREE FRAMES("2") "1 2 3 4\n4 5 6\n", "bad.bvh:14:", "more than 3" },
    { "too few, with CRLF",
      "HIERARCHY\r\nROOT a\r\n{\r\nOFFSET 0 0 0\r\n"
      "CHANNELS 1 Zrotation\r\nEnd Site\r\n{\r\nOFFSET 0 1 0\r\n}\r\n}\r\n"
      "MOTION\r\nFrames: 2\r\nFrame Time: 0.1\r\n1\r\n1 2\r\n",
      "bad.bvh:15:", "more than 1" },
    { "infinity", TREE FRAMES("1") "1 2 inf\n", "bad.bvh:14:5:", "channel 3 is not a number: inf" },
    { "minus infinity", TREE FRAMES("1") "-Infinity 2 3\n", "bad.bvh:14:1:", "not a number" },
    { "a number too large", TREE FRAMES("1") "1 1e999 3\n",
      "bad.bvh:14:3:", "not a number: 1e999" },
    { "NaN in the tree", "HIERARCHY\nROOT a\n{\nOFFSET 0 nan 0\n}\n", "bad.bvh:4:10:", "got nan" },
    { "a decimal comma", TREE FRAMES("1") "1,5 2 3\n", "bad.bvh:14:1:", "not a number: 1,5" },
    { "one channel too many",
      "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation\n}\n",
      "bad.bvh:6:", "channel 3 is not one" },
    { "one too few", "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1 Zrotation Xrotation\n}\n",
      "bad.bvh:5:", "Xrotation is not allowed" },
    { "a channel twice", "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 2 Zrotation Zrotation\n}\n",
      "bad.bvh:5:", "twice" },
    { "channels below zero", "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS -3\n}\n",
      "bad.bvh:5:", "CHANNELS: got -3" },
    { "a million channels", "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1000000\n}\n",
      "bad.bvh:5:", "CHANNELS: got 1000000" },
    { "a brace is missing", "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nMOTION\n" FRAMES("0"),
      "bad.bvh:5:", "MOTION is not allowed" },
    { "a brace too many", "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n}\n}\nMOTION\n" FRAMES("0"),
      "bad.bvh:6:", "MOTION is missing here: got }" },
    { "no brace at all", "HIERARCHY\nROOT a\nOFFSET 0 0 0\n", "bad.bvh:3:", "{ is missing" },
    { "frames below zero", TREE FRAMES("-1") "1 2 3\n", "bad.bvh:12:", "Frames: got -1" },
    { "half a frame", TREE FRAMES("1.5") "1 2 3\n", "bad.bvh:12:", "Frames: got 1.5" },
    { "a million frames that are not there", TREE FRAMES("1000000") "1 2 3\n",
      "bad.bvh:15:", "frame 2 of 1000000 is missing" },
    { "no file time", TREE "Frames: 1\n1 2 3\n", "bad.bvh:13:", "Frame is missing here: got 1" },
    { "an empty file", "", "bad.bvh:1:1:", "HIERARCHY is missing here: got the end of the file" },
    { "a file of blanks", "\n \n", "bad.bvh:3:", "HIERARCHY is missing" },
    { "control characters", TREE FRAMES("1") "1 \033[31m\a 3\n",
      "bad.bvh:14:3:", "not a number: ?[31m?" },
    { "bytes that are no text",
      TREE "\xff\xfe\x80 \x9b"
           "0m\n",
      "bad.bvh:12:1:", "Frames: is missing" },
    { "an end without a beginning", "HIERARCHY\nEnd Site\n{\nOFFSET 0 0 0\n}\n",
      "bad.bvh:2:", "ROOT is missing" },
    { "the end of a folder", "HIERARCHY\nROOT a", "bad.bvh:2:", "{ is missing here: got the end" },
  };
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++)
    refused(bads[i].what, bads[i].text, strlen(bads[i].text), bads[i].place, bads[i].message);
  static const char zeros[] = "HIERARCHY\nROOT a\0\n{";
  refused("a zero in it", zeros, sizeof zeros - 1, "bad.bvh:1:", "is not a text file");
  static char noise[1 << 16];
  unsigned seed = 1;
  for (size_t i = 0; i < sizeof noise; i++)
    noise[i] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
  refused("noise", noise, sizeof noise, "bad.bvh:1:", "is not a text file");
  for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)(noise[i] == 0 ? 1 : noise[i]);
  refused("noise without zeros", noise, sizeof noise, "bad.bvh:1:", "HIERARCHY is missing");
}

/* 10^6 of a thing, each as the text `one`. */
static void refuse_many(const char *what, const char *head, const char *one, const char *place,
                        const char *message)
{
  enum { MANY = 1000000 };
  const size_t first = strlen(head), each = strlen(one);
  char *text = malloc(first + MANY * each + 1);
  if (text == NULL) bail("no memory");
  memcpy(text, head, first);
  for (size_t i = 0; i < MANY; i++) memcpy(text + first + i * each, one, each);
  refused(what, text, first + MANY * each, place, message);
  free(text);
}

static void test_large(void)
{
  static const char root[] = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n";
  refuse_many("a million joints", root, "JOINT j\n{\nOFFSET 0 1 0\n}\n",
              "bad.bvh:4001:", "more than 1000 joints");
  refuse_many("a million joints in each other", root, "JOINT j\n{\nOFFSET 0 1 0\n",
              "bad.bvh:302:", "nested deeper than 100");
  refuse_many("a million braces", "HIERARCHY\nROOT a\n", "{",
              "bad.bvh:3:2:", "OFFSET is missing here: got {");
  refuse_many("a million numbers in a line", TREE FRAMES("1"), "1 ",
              "bad.bvh:14:7:", "more than 3 numbers");
  refuse_many("a name without an end", "HIERARCHY\nROOT ", "a", "bad.bvh:2:", "{ is missing");
}

/* Line ends of other systems, and the mark that some editors put first. */
static void test_foreign(void)
{
  write_file("unix.bvh", TREE FRAMES("2") "1 2 3\n4 5 6\n");
  if (run("inverse unix.bvh --step 0.1s") != 0) bail("%s", err);
  char *want = perp_xprintf("%s", out);
  write_file("dos.bvh",
             "HIERARCHY\r\nROOT a\r\n{\r\nOFFSET 0 0 0\r\nCHANNELS 3 Zrotation Xrotation "
             "Yrotation\r\nEnd Site\r\n{\r\nOFFSET 0 1 0\r\n}\r\n}\r\nMOTION\r\n"
             "Frames: 2\r\nFrame Time: 0.1\r\n1 2 3\r\n4 5 6\r\n");
  ok(run("inverse dos.bvh --step 0.1s") == 0 && strcmp(out, want) == 0, "CRLF is read as LF is");
  write_file("mark.bvh", "\xef\xbb\xbf" TREE FRAMES("2") "1 2 3\n4 5 6\n");
  ok(run("inverse mark.bvh --step 0.1s") == 0 && strcmp(out, want) == 0,
     "a byte order mark before it is no part of it: %.90s", err);
  free(want);
}

/* The commands of docs/how-to/figures.md, which are indented by four blanks; studies and runs in
 * part: their words are tried here. */
static void test_page(void)
{
  const char *source = getenv("PERP_SOURCE");
  char *path = perp_xprintf("%s/docs/how-to/figures.md", source != NULL ? source : ".");
  char *page = perp_read_file(path, NULL);
  if (page == NULL) bail("%s", path);
  free(path);
  int n = 0;
  for (char *line = strtok(page, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    if (strncmp(line, "    perp ", 9) != 0) continue;
    char *words = line + 9;
    words[strcspn(words, "#")] = '\0';
    const bool study = strncmp(words, "run ", 4) == 0;
    const bool runs = strncmp(words, "simulate ", 9) == 0 || strncmp(words, "view ", 5) == 0;
    char *part = perp_xprintf("%s%s", words,
                              study ? " --set profile=short --set t_end=0.1s --only 'h == 8 ms'"
                              : runs && strstr(words, "--t-end") == NULL ? " --t-end 0.2s"
                                                                         : "");
    const int got = run(part);
    free(part);
    n++;
    if (got != 0 && strstr(err, "esbuild") != NULL)
      skip("the script of pages is not built", "perp %s", words);
    else if (!ok(got == 0, "docs/how-to/figures.md: perp %s", words))
      complain();
  }
  ok(n >= 6, "%d commands", n);
  free(page);
}

static void test_motion(void)
{
  ok(run("motion blend walk.bvh wave.bvh --at 1s --over 0.5s --follow -o both.bvh") == 0 &&
         run("check both.bvh") == 0,
     "perp motion blend: a file that is a scene");
  ok(run("motion retarget walk.bvh fat.bvh -o thick.bvh") == 0 && run("check thick.bvh") == 0,
     "perp motion retarget, onto an example");
  ok(run("motion markers walk.bvh -o markers.csv") == 0 &&
         file_has("markers.csv", "t [s], Hips.1.x"),
     "perp motion markers: a table");
  ok(run("motion skeleton markers.csv walk.bvh -o again.bvh") == 0 &&
         strstr(err, "markers are off by") != NULL && run("check again.bvh") == 0,
     "perp motion skeleton: a file that is a scene, and how far off the markers are");
  ok(run("motion blend walk.bvh wave.bvh") == 0 && strstr(out, "Frames: 106") != NULL,
     "blending ends with the first motion by default");
  refuses(2, "motion mix walk.bvh wave.bvh", "unknown form 'mix'");
  refuses(2, "motion blend walk.bvh", "write perp motion blend FIRST.bvh SECOND.bvh");
  refuses(2, "motion retarget walk.bvh fat.bvh --at 1s", "--at has no effect");
  refuses(2, "motion blend walk.bvh wave.bvh --over 0", "--over");
  refuses(3, "motion blend walk.bvh wave.bvh --at 3s", "both motions are needed");
  refuses(3, "motion blend walk.bvh fat.bvh", "both motions are needed");
  refuses(3, "motion blend walk.bvh thick.bvh --at 1s", "has another place");
  refuses(3, "motion skeleton walk.bvh walk.bvh", "walk.bvh:1");
  refuses(3, "motion retarget none.bvh fat.bvh", "cannot read none.bvh");
}

/* Parts of a motion, jumps, runs as files, ASF and AMC. */
static void motions_in_files(void)
{
  static const char asf[] =
      ":units\n length 1\n angle deg\n:root\n order TX TY TZ RX RY RZ\n axis XYZ\n position 0 0 0\n"
      " orientation 0 0 0\n:bonedata\n begin\n name hips\n direction 0 1 0\n length 0.9\n axis 0 0 "
      "0 XYZ\n"
      " end\n begin\n name lfemur\n direction 0 -1 0\n length 0.9\n axis 0 0 0 XYZ\n dof rx\n"
      " limits (-60 60)\n end\n:hierarchy\n begin\n root hips lfemur\n end\n";
  perp_text amc = { 0 }, jump = { 0 };
  perp_text_add(&amc, ":DEGREES\n");
  for (int k = 0; k < 13; k++)
    perp_text_add(&amc, "%d\nroot 0 1 %g 0 0 0\nlfemur %d\n", k + 1, 0.01 * k, 2 * k);
  write_file("kick.asf", asf);
  write_file("kick.amc", amc.s);
  says("check kick.amc", "t_end 0.1 s");
  says("check kick.amc:frame_time=0.01", "t_end 0.12 s");
  says("check kick.amc:start=2,end=8", "t_end 0.05 s");
  ok(run("motion bvh kick.amc --frame-time 10ms -o kick.bvh") == 0 &&
         file_has("kick.bvh", "Frames: 13"),
     "an AMC motion becomes a BVH file");
  says("check kick.bvh", "t_end 0.12 s");
  write_file("other.amc", amc.s);
  says("check other.amc", "t_end 0.1 s"); /* kick.asf is the only skeleton here */
  refuses(3, "check kick.amc:start=20", "kick.amc has 13 frames: start=20");
  refuses(3, "motion bvh kick.amc --skeleton none.asf", "cannot read none.asf");
  refuses(2, "motion bvh kick.amc --every 2", "--every needs --series FILE");
  refuses(2, "motion markers kick.amc --every 2", "--every has no effect");

  /* a calibration pose in frame 0, a hole at the end */
  perp_text_add(
      &jump,
      "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition "
      "Zrotation Xrotation Yrotation\nJOINT LeftThigh\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation "
      "Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 -90 0\n}\n}\nJOINT Chest\n{\nOFFSET 0 20 0\n"
      "CHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 60 0\n}\n}\n}\nMOTION\n"
      "Frames: 24\nFrame Time: 0.02\n0 90 0 0 0 0 0 0 0 0 0 0\n");
  for (int k = 1; k < 24; k++)
    perp_text_add(&jump, "%g 90 %d 0 0 0 0 %d 0 0 0 0\n", k > 21 ? 80.0 : 0.1 * k, k, 50 + k);
  write_file("capture.bvh", jump.s);
  ok(run("check capture.bvh") == 0 && strstr(err, "between the frames 0 and 1") != NULL &&
         strstr(err, "frame 0 is a calibration pose") != NULL &&
         strstr(err, "between the frames 21 and 22") != NULL &&
         strstr(err, "capture.bvh:start=1,end=21") != NULL,
     "jumps are told with their frames and the options that cut them off");
  refuses(3, "inverse capture.bvh", "the motion jumps between the poses 0 and 1");
  refuses(3, "inverse capture.bvh:start=1", "the motion jumps between the poses 20 and 21");
  ok(run("inverse capture.bvh:start=1,end=21 --summary") == 0 &&
         strstr(err, "body weights") != NULL,
     "the rest has forces, and the largest one of the root in body weights");
  ok(run("inverse capture.bvh --allow-jumps --summary") == 0 &&
         strstr(err, "no person bears it") != NULL,
     "with jumps only when it is asked for");
  ok(run("import capture.bvh --start 1 --end 21 -o part.yaml") == 0 &&
         file_has("part.yaml", "start: 1, end: 21") && run("check part.yaml") == 0,
     "a part of it as a scene file");

  /* a run as a file */
  ok(run("simulate walk.bvh:controller=soft --t-end 0.1s --series run.csv") == 0 &&
         run("motion bvh walk.bvh --series run.csv --every 10 -o run.bvh") == 0 &&
         file_has("run.bvh", "Frames: 11") && file_has("run.bvh", "ROOT Hips"),
     "the series of a run becomes a BVH file");
  refuses(3, "motion bvh wave.bvh:floor=false --series none.csv", "cannot read none.csv");
  refuses(3, "motion bvh free-body --series run.csv", "the scene has only 7");
  perp_text_free(&amc);
  perp_text_free(&jump);
}

int main(void)
{
  program_open();
  copy_motion("walk.bvh");
  copy_motion("wave.bvh");
  copy_motion("cartwheel.bvh");
  copy_motion("figure.yaml");
  copy_motion("fat.bvh");
  test_scene();
  test_inverse();
  test_motion();
  motions_in_files();
  test_truth();
  test_terminal();
  test_bad();
  test_damaged();
  test_large();
  test_foreign();
  test_page();
  program_close();
  return tap_done();
}
