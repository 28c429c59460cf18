/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ASF skeletons and AMC motions: places against a kinematics of its own for random skeletons, the
 * same motion as a BVH file, a pendulum in closed form, damaged files by their message. */
#include "experiments/import/figure.h"
#include "experiments/import/asf.h"
#include "experiments/import/skeleton.h"
#include "models/geometry/kinematics.h"
#include "experiments/base/files.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BONES = 14, FRAMES = 5, ROUNDS = 20 };
static const double PI = 3.14159265358979323846;
static perp_rng *rng;
static perp_ctx ctx;

/* ---- random files, and where their bones are ---- */

typedef struct bone {
  int parent; /* -1: the root */
  double direction[3], length, axis[3];
  int order[3], dofs, dof[3];
  double value[FRAMES][3]; /* degrees */
} bone;

typedef struct body {
  bone bone[BONES];
  int root_order[3], root_dof[6]; /* 0 .. 2 TX .., 3 .. 5 RX .. */
  double root[FRAMES][6], position[3], orientation[3];
  bool rad, rad_motion;
} body;

static double draw(double lo, double hi)
{
  return perp_rng_uniform(rng, lo, hi);
}

static void shuffle(int n, int *x)
{
  for (int i = n - 1; i > 0; i--) {
    const int j = (int)(draw(0, 1) * (i + 1)), keep = x[i];
    x[i] = x[j], x[j] = keep;
  }
}

static void make(body *b, int round)
{
  *b = (body){ .rad = round % 2 == 1, .rad_motion = round % 3 == 1 };
  for (int i = 0; i < 6; i++) b->root_dof[i] = i;
  for (int i = 0; i < 3; i++) b->root_order[i] = i;
  if (round > 0) shuffle(6, b->root_dof), shuffle(3, b->root_order);
  for (int i = 0; i < 3; i++)
    b->position[i] = draw(-3, 3), b->orientation[i] = round > 4 ? draw(-90, 90) : 0;
  for (int k = 0; k < FRAMES; k++)
    for (int i = 0; i < 6; i++) b->root[k][i] = draw(-170, 170);
  for (int i = 0; i < BONES; i++) {
    bone *o = &b->bone[i];
    o->parent = (int)draw(-1, i);
    if (o->parent >= i) o->parent = i - 1;
    for (int c = 0; c < 3; c++)
      o->direction[c] = draw(-1, 1), o->axis[c] = draw(-180, 180), o->order[c] = c;
    o->length = draw(0.5, 4);
    if (round > 2) shuffle(3, o->order);
    int dof[3] = { 0, 1, 2 };
    if (round > 3) shuffle(3, dof);
    o->dofs = i % 4;
    for (int c = 0; c < o->dofs; c++) o->dof[c] = dof[c];
    if (round <= 3)
      for (int c = 0; c < o->dofs; c++) o->dof[c] = c;
    for (int k = 0; k < FRAMES; k++)
      for (int c = 0; c < o->dofs; c++) o->value[k][c] = draw(-170, 170);
  }
}

static void text_asf(const body *b, perp_text *t)
{
  const double a = b->rad ? PI / 180 : 1;
  perp_text_add(
      t,
      "# made\n:version 1.10\n:name VICON\n:units\n  mass 1.0\n  length 0.45\n  angle %s\n"
      ":documentation\n   begin of nothing: x\n:root\n   order",
      b->rad ? "rad" : "deg");
  static const char *const names[] = { "TX", "TY", "TZ", "RX", "RY", "RZ" };
  for (int i = 0; i < 6; i++) perp_text_add(t, " %s", names[b->root_dof[i]]);
  perp_text_add(t,
                "\n   axis %c%c%c\n   position %.17g %.17g %.17g\n   orientation %.17g %.17g "
                "%.17g\n:bonedata\n",
                'X' + b->root_order[0], 'X' + b->root_order[1], 'X' + b->root_order[2],
                b->position[0], b->position[1], b->position[2],
                a * b->orientation[b->root_order[0]], a * b->orientation[b->root_order[1]],
                a * b->orientation[b->root_order[2]]);
  for (int i = 0; i < BONES; i++) {
    const bone *o = &b->bone[i];
    perp_text_add(t,
                  "  begin\n     id %d\n     name bone%d\n     direction %.17g %.17g %.17g\n     "
                  "length %.17g\n"
                  "     axis %.17g %.17g %.17g  %c%c%c\n",
                  i + 1, i, o->direction[0], o->direction[1], o->direction[2], o->length,
                  a * o->axis[0], a * o->axis[1], a * o->axis[2], 'X' + o->order[0],
                  'X' + o->order[1], 'X' + o->order[2]);
    for (int c = 0; c < o->dofs; c++)
      perp_text_add(t, "%s r%c", c == 0 ? "    dof" : "", 'x' + o->dof[c]);
    for (int c = 0; c < o->dofs; c++)
      perp_text_add(t, "%s(-160.0 20.0)\n", c == 0 ? "\n    limits " : "           ");
    perp_text_add(t, "  end\n");
  }
  perp_text_add(t, ":hierarchy\n  begin\n");
  for (int p = -1; p < BONES; p++) {
    bool first = true;
    for (int i = 0; i < BONES; i++)
      if (b->bone[i].parent == p) {
        if (first && p < 0) perp_text_add(t, "    root");
        if (first && p >= 0) perp_text_add(t, "    bone%d", p);
        perp_text_add(t, " bone%d", i);
        first = false;
      }
    if (!first) perp_text_add(t, "\r\n");
  }
  perp_text_add(t, "  end\n");
}

static void text_amc(const body *b, perp_text *t)
{
  const double a = b->rad_motion ? PI / 180 : 1;
  perp_text_add(t, "#!OML:ASF\n:FULLY-SPECIFIED\n%s\n", b->rad_motion ? ":RADIANS" : ":DEGREES");
  for (int k = 0; k < FRAMES; k++) {
    perp_text_add(t, "%d\nroot", k + 7);
    for (int i = 0; i < 6; i++)
      perp_text_add(t, " %.17g", (b->root_dof[i] > 2 ? a : 1) * b->root[k][i]);
    perp_text_add(t, "\n");
    for (int i = BONES - 1; i >= 0; i--) {
      if (b->bone[i].dofs == 0) continue;
      perp_text_add(t, "bone%d", i);
      for (int c = 0; c < b->bone[i].dofs; c++)
        perp_text_add(t, " %.17g", a * b->bone[i].value[k][c]);
      perp_text_add(t, "\n");
    }
  }
}

static void multiply(double A[3][3], double B[3][3], double C[3][3])
{
  double D[3][3] = { { 0 } };
  for (int i = 0; i < 9; i++)
    for (int k = 0; k < 3; k++) D[i / 3][i % 3] += A[i / 3][k] * B[k][i % 3];
  memcpy(C, D, sizeof D);
}

/* R <- R_axis(angle) R: what comes later turns later. */
static void turn(int axis, double degrees, double R[3][3])
{
  const double c = cos(degrees * PI / 180), s = sin(degrees * PI / 180);
  const int i = (axis + 1) % 3, j = (axis + 2) % 3;
  double T[3][3] = { { 0 } };
  T[axis][axis] = 1, T[i][i] = T[j][j] = c, T[i][j] = -s, T[j][i] = s;
  multiply(T, R, R);
}

static void one(double R[3][3])
{
  for (int i = 0; i < 9; i++) R[i / 3][i % 3] = i / 3 == i % 3;
}

static void conjugate(double F[3][3], double M[3][3], double R[3][3])
{
  double T[3][3], H[3][3];
  for (int i = 0; i < 9; i++) T[i / 3][i % 3] = F[i % 3][i / 3];
  multiply(F, M, H);
  multiply(H, T, R);
}

/* Tips of all bones in a frame. */
static void tips(const body *b, int k, double p[BONES][3])
{
  double R[BONES][3][3], root[3][3], at[3], F[3][3], M[3][3];
  one(F), one(M);
  for (int i = 0; i < 3; i++) {
    turn(b->root_order[i], b->orientation[b->root_order[i]], F);
    at[i] = b->position[i];
  }
  for (int i = 0; i < 3; i++)
    for (int d = 0; d < 6; d++)
      if (b->root_dof[d] == 3 + b->root_order[i]) turn(b->root_order[i], b->root[k][d], M);
  for (int d = 0; d < 6; d++)
    if (b->root_dof[d] < 3) at[b->root_dof[d]] += b->root[k][d];
  conjugate(F, M, root);
  for (int i = 0; i < BONES; i++) {
    const bone *o = &b->bone[i];
    double L[3][3], size = 0;
    one(F), one(M);
    for (int c = 0; c < 3; c++)
      turn(o->order[c], o->axis[c], F), size += o->direction[c] * o->direction[c];
    for (int c = 0; c < o->dofs; c++) turn(o->dof[c], o->value[k][c], M);
    conjugate(F, M, L);
    multiply(o->parent < 0 ? root : R[o->parent], L, R[i]);
    for (int c = 0; c < 3; c++) {
      p[i][c] = o->parent < 0 ? at[c] : p[o->parent][c];
      for (int d = 0; d < 3; d++) p[i][c] += R[i][c][d] * o->direction[d] * o->length / sqrt(size);
    }
  }
}

/* Ends of all bones of a file by its poses: where its joint's first child or end site is. */
static double apart(const body *b, const perp_bvh *bvh)
{
  double worst = 0, p[BONES][3];
  for (int k = 0; k < FRAMES; k++) {
    double q[PERP_BVH_JOINTS][4], x[PERP_BVH_JOINTS][3];
    tips(b, k, p);
    for (int j = 0; j < bvh->n; j++) {
      double quat[4], place[3], R[9], arm[3];
      perp_bvh_pose(bvh, j, k, quat, place);
      memcpy(q[j], quat, sizeof quat);
      memcpy(x[j], place, sizeof place);
      const int up = bvh->joint[j].parent;
      if (up >= 0) {
        perp_quat_matrix(q[up], R);
        perp_turn(3, R, place, arm);
        for (int c = 0; c < 3; c++) x[j][c] = x[up][c] + arm[c];
        perp_quat_product(q[up], quat, q[j]);
      }
      if (up < 0 || strcmp(bvh->joint[up].name, "root") == 0) continue;
      const double *tip = p[atoi(bvh->joint[up].name + 4)];
      for (int c = 0; c < 3; c++) worst = fmax(worst, fabs(x[j][c] - tip[(c + 2) % 3]));
    }
  }
  return worst;
}

static void random_bodies(void)
{
  double worst = 0, again = 0;
  for (int round = 0; round < ROUNDS; round++) {
    body *b = malloc(sizeof *b);
    perp_text asf = { 0 }, amc = { 0 }, bvh = { 0 };
    perp_diag diag = { 0 };
    perp_bvh is, reread;
    make(b, round);
    text_asf(b, &asf);
    text_amc(b, &amc);
    if (!perp_asf_read(&diag, "a.asf", asf.s, asf.n, &is) ||
        !perp_amc_read(&diag, "a.amc", amc.s, amc.n, 0.01, &is))
      bail("%s", diag.text.s);
    if (round == 0) {
      ok(is.frames == FRAMES && is.frame_time == 0.01, "all frames are there");
      near(is.unit, 0.0254 / 0.45, 1e-15, 0, "the unit of length is 1/0.45 inch");
    }
    const double off = apart(b, &is);
    worst = fmax(worst, off);
    perp_bvh_write(&is, &bvh);
    if (!perp_bvh_read(&diag, "a.bvh", bvh.s, bvh.n, &reread)) bail("%s", diag.text.s);
    again = fmax(again, apart(b, &reread));
    perp_bvh_free(&is);
    perp_bvh_free(&reread);
    perp_text_free(&asf);
    perp_text_free(&amc);
    perp_text_free(&bvh);
    free(b);
  }
  below(worst, 1e-11, "bones end where the product of all rotations puts them (%.1e)", worst);
  below(again, 1e-11, "and as a BVH file (%.1e)", again);
}

/* ---- closed form ---- */

static const char pendulum[] = ":version 1.10\n:units\n length 1\n angle deg\n:root\n order TX TY "
                               "TZ RX RY RZ\n axis XYZ\n position 0 0 0\n"
                               " orientation 0 0 0\n:bonedata\n begin\n  name hips\n  direction 0 "
                               "1 0\n  length 2\n  axis 0 0 0 XYZ\n end\n begin\n"
                               "  name leg\n  direction 0 -1 0\n  length 3\n  axis 0 0 90 XYZ\n  "
                               "dof ry\n  limits (-30 60)\n end\n"
                               ":hierarchy\n begin\n root hips\n hips leg\n end\n";

/* The y axis of the leg's frame, turned by 90 degrees about z, is -x of the world. */
static void closed(void)
{
  perp_bvh is;
  perp_diag diag = { 0 };
  const char motion[] =
      ":FULLY-SPECIFIED\n:DEGREES\n1\nroot 1 2 3 0 0 0\nleg 30\n2\nroot 0 0 0 0 90 0\nleg -90\n";
  if (!perp_asf_read(&diag, "p.asf", pendulum, sizeof pendulum - 1, &is) ||
      !perp_amc_read(&diag, "p.amc", motion, sizeof motion - 1, 1.0 / 120, &is))
    bail("%s", diag.text.s);
  double quat[4], place[3], R[9], arm[3];
  const double tip[3] = { 0, 0, -3 }; /* axes of poses: z, x, y of the file */
  perp_bvh_pose(&is, 0, 0, quat, place);
  near(place[0], 3, 1e-15, 0, "the root is at z = 3");
  near(place[1], 1, 1e-15, 0, "x = 1");
  near(place[2], 2, 1e-15, 0, "y = 2");
  perp_bvh_pose(&is, 2, 0, quat, place);
  near(place[2], 2, 1e-15, 0, "the leg begins where the hips end");
  perp_quat_matrix(quat, R);
  perp_turn(3, R, tip, arm);
  /* a turn by 30 degrees about -x: (0, -3, 0) becomes (0, -3 cos 30, +3 sin 30) */
  near(arm[0], 1.5, 1e-14, 0, "30 degrees about -x lead forwards: z");
  near(arm[1], 0, 1e-14, 0, "and not aside");
  near(arm[2], -3 * cos(PI / 6), 1e-14, 0, "and up: y");
  perp_bvh_free(&is);
}

static void limits_and_hinges(void)
{
  perp_bvh is;
  perp_diag diag = { 0 };
  perp_text scene = { 0 }, said = { 0 };
  int lost = 0;
  if (!perp_asf_read(&diag, "p.asf", pendulum, sizeof pendulum - 1, &is)) bail("%s", diag.text.s);
  const perp_figure_source source = { .path = "p.asf", .bvh = &is };
  if (!perp_figure_scene(&diag, &source, &scene, &said, &lost)) bail("%s", diag.text.s);
  ok(strstr(scene.s, "kind: hinge, name: \"leg\"") != NULL, "one angle is a hinge");
  ok(strstr(scene.s, "joint: \"leg\", zero: 0, lower: -30 deg, upper: 60 deg") != NULL,
     "with the limits of the file");
  perp_text_free(&scene);
  perp_text_free(&said);
  perp_bvh_free(&is);
}

/* The number behind a key of the drive of a joint. */
static double of_drive(const char *scene, const char *axis, const char *key)
{
  char *start = perp_xprintf("joint: \"leg\", axis: %s, ", axis), *want = perp_xprintf("%s: ", key);
  const char *at = strstr(scene, start), *end = at != NULL ? strchr(at, '}') : NULL,
             *value = at != NULL ? strstr(at, want) : NULL;
  const double x = value != NULL && value < end ? strtod(value + strlen(want), NULL) : (double)NAN;
  free(start);
  free(want);
  return x;
}

/* Bones of two and three angles in any order: the angles of the ball joint at the start are those
 * of the motion, and its limits those of the file. */
static void limits_of_balls(void)
{
  double worst = 0, limits = 0;
  for (int round = 0; round < ROUNDS; round++) {
    int dof[3] = { 0, 1, 2 };
    const int n = 2 + round % 2;
    double lower[3], upper[3], value[3];
    perp_text asf = { 0 }, amc = { 0 }, scene = { 0 }, said = { 0 };
    perp_bvh is;
    perp_diag diag = { 0 };
    int lost = 0;
    shuffle(3, dof);
    const char *cut = strstr(pendulum, "axis 0 0 90 XYZ"), *rest = strstr(pendulum, ":hierarchy");
    perp_text_add(&asf, "%.*saxis %.17g %.17g %.17g XYZ\n  dof", (int)(cut - pendulum), pendulum,
                  draw(-180, 180), draw(-180, 180), draw(-180, 180));
    for (int i = 0; i < n; i++) perp_text_add(&asf, " r%c", 'x' + dof[i]);
    perp_text_add(&asf, "\n  limits");
    perp_text_add(&amc, ":FULLY-SPECIFIED\n:DEGREES\n1\nroot 0 0 0 %g %g %g\nleg", draw(-90, 90),
                  draw(-90, 90), draw(-90, 90));
    for (int i = 0; i < n; i++) {
      lower[i] = -10 - (int)draw(0, 70);
      upper[i] = 10 + (int)draw(0, 70);
      value[i] = draw(lower[i], upper[i]);
      perp_text_add(&asf, " (%g %g)\n", lower[i], upper[i]);
      perp_text_add(&amc, " %.17g", value[i]);
    }
    perp_text_add(&asf, " end\n%s", rest);
    perp_text_add(&amc, "\n");
    if (!perp_asf_read(&diag, "p.asf", asf.s, asf.n, &is) ||
        !perp_amc_read(&diag, "p.amc", amc.s, amc.n, 1.0 / 120, &is))
      bail("%s", diag.text.s);
    const perp_figure_source source = { .path = "p.asf", .bvh = &is };
    if (!perp_figure_scene(&diag, &source, &scene, &said, &lost)) bail("%s", diag.text.s);
    /* the last angle is the outermost one */
    const bool even = (dof[2] + 1) % 3 == dof[1]; /* of the outermost to the next */
    static const char *const axes[3] = { "b", "node", "a" };
    for (int i = 0; i < n; i++) {
      const char *axis = n == 2 && i == 1 ? "a" : axes[i];
      const double sign = n == 3 && i == 1 && even ? -1 : 1;
      worst = fmax(worst, fabs(of_drive(scene.s, axis, "zero") - sign * value[i] * PI / 180));
      limits = fmax(limits,
                    fabs(of_drive(scene.s, axis, "lower") - (sign > 0 ? lower[i] : -upper[i])));
      limits = fmax(limits,
                    fabs(of_drive(scene.s, axis, "upper") - (sign > 0 ? upper[i] : -lower[i])));
      if (isnan(of_drive(scene.s, axis, "zero"))) worst = HUGE_VAL;
    }
    if (strstr(said.s, "lost: limits") != NULL) limits = HUGE_VAL;
    perp_bvh_free(&is);
    perp_text_free(&asf), perp_text_free(&amc), perp_text_free(&scene), perp_text_free(&said);
  }
  below(worst, 1e-12, "angles of %d balls are those of the motion, %.1e", ROUNDS, worst);
  below(limits, 1e-12, "their limits are those of the file");
}

/* ---- damaged files ---- */

static void bad_asf(const char *find, const char *put, const char *message)
{
  perp_bvh is;
  perp_diag diag = { 0 };
  const char *at = strstr(pendulum, find);
  if (at == NULL) bail("no %s", find);
  char *text = perp_xprintf("%.*s%s%s", (int)(at - pendulum), pendulum, put, at + strlen(find));
  const bool good = perp_asf_read(&diag, "p.asf", text, strlen(text), &is);
  if (!ok(!good && diag.errors == 1 && strstr(diag.text.s, message) != NULL, "refused: %s",
          message))
    printf("# %s\n", diag.text.s != NULL ? diag.text.s : "read");
  if (good) perp_bvh_free(&is);
  perp_diag_free(&diag);
  free(text);
}

static void bad_amc(const char *text, const char *message)
{
  perp_bvh is;
  perp_diag diag = { 0 };
  if (!perp_asf_read(&diag, "p.asf", pendulum, sizeof pendulum - 1, &is)) bail("%s", diag.text.s);
  const bool good = perp_amc_read(&diag, "p.amc", text, strlen(text), 0.01, &is);
  if (!ok(!good && diag.errors == 1 && strstr(diag.text.s, message) != NULL, "refused: %s",
          message))
    printf("# %s\n", diag.text.s != NULL ? diag.text.s : "read");
  perp_bvh_free(&is);
  perp_diag_free(&diag);
}

static void damaged(void)
{
  bad_asf("length 1", "length 0", "the unit of length must be above 0");
  bad_asf("angle deg", "angle gon", "unknown unit of angles: gon");
  bad_asf("axis XYZ\n position", "axis XXZ\n position", "got XXZ for the order");
  bad_asf("order TX", "order TQ", "root cannot have the degree of freedom TQ");
  bad_asf("name leg", "name hips", "there are two bones 'hips'");
  bad_asf("name leg", "name root", "there are two bones 'root'");
  bad_asf("direction 0 -1 0", "direction 0 0 0", "the bone leg has no direction");
  bad_asf("direction 0 -1 0", "direction 0 nan 0", "a number is required, got nan");
  bad_asf("length 3", "length -3", "must not be negative");
  bad_asf("dof ry", "dof ry ry", "has the degree of freedom ry twice");
  bad_asf("dof ry", "dof l", "leg cannot have the degree of freedom l");
  bad_asf("limits (-30 60)", "limits (-30", "limits: a number is required");
  bad_asf(" hips leg\n", " hips legs\n", "there is no bone legs");
  bad_asf(" hips leg\n", " hips leg leg\n", "the bone leg has two parents");
  bad_asf(" hips leg\n", " leg leg\n", "some bones do not hang on the root");
  bad_asf(" hips leg\n", "", "the bone leg has no parent");
  bad_asf(":hierarchy", ":nothing", "the section :hierarchy is missing");
  bad_asf(" end\n:hierarchy", ":hierarchy", "end is missing here");
  bad_amc("1\nroot 0 0 0 0 0 0\n", "frame 1 has no line for leg");
  bad_amc("root 0 0 0 0 0 0\n", "root stands before the first frame");
  bad_amc("1\nroot 0 0 0 0 0 0\nleg 1 2\n", "leg has only 1 degrees of freedom");
  bad_amc("1\nroot 0 0 0 0 0\nleg 1\n", "root: a number is required, got the end of the line");
  bad_amc("1\nroot 0 0 0 0 0 0\nleg nan\n", "leg: a number is required, got nan");
  bad_amc("1\nroot 0 0 0 0 0 0\nleg 1\n3\nroot 0 0 0 0 0 0\nleg 1\n", "frame 3 follows frame 1");
  bad_amc("1\nroot 0 0 0 0 0 0\nleg 1\nleg 1\n", "frame 1 has two lines for leg");
  bad_amc("1\nfoot 1\n", "the skeleton has no bone foot");
}

/* ---- files beside each other ---- */

static void put(const char *folder, const char *name, const char *text)
{
  char *path = perp_xprintf("%s/%s", folder, name);
  if (perp_write_file(&ctx, path, text, strlen(text)) != PERP_OK) bail("%s", ctx.msg);
  free(path);
}

static bool found(const char *folder, const char *name, const perp_skeleton_options *options)
{
  perp_bvh is;
  perp_diag diag = { 0 };
  char *path = perp_xprintf("%s/%s", folder, name);
  const bool good = perp_skeleton_load(&diag, NULL, path, options, &is, NULL);
  if (good) perp_bvh_free(&is);
  perp_diag_free(&diag);
  free(path);
  return good;
}

static void beside(void)
{
  char folder[] = "/tmp/perp-acclaim-XXXXXX";
  if (mkdtemp(folder) == NULL) bail("no folder");
  const char motion[] = "1\nroot 0 0 0 0 0 0\nleg 1\n2\nroot 0 0 0 0 0 0\nleg 2\n";
  put(folder, "02_01.amc", motion);
  ok(!found(folder, "02_01.amc", NULL), "an AMC file without a skeleton is refused");
  put(folder, "other.asf", pendulum);
  ok(found(folder, "02_01.amc", NULL), "the only ASF file of the folder is its skeleton");
  put(folder, "third.asf", "nothing");
  ok(!found(folder, "02_01.amc", NULL), "of two no one is chosen");
  put(folder, "02.asf", pendulum);
  ok(found(folder, "02_01.amc", NULL), "02.asf is that of 02_01.amc");
  char *path = perp_xprintf("%s/other.asf", folder);
  const perp_skeleton_options named = { .skeleton = path }, part = { .start = 1 },
                              none = { .start = 2 };
  ok(found(folder, "02_01.amc", &named), "another one is named");
  ok(found(folder, "02_01.amc", &part) && !found(folder, "02_01.amc", &none),
     "frames from 1 on are there, from 2 on there are none");
  static const char *const files[] = { "02_01.amc", "other.asf", "third.asf", "02.asf" };
  for (int i = 0; i < 4; i++) {
    char *file = perp_xprintf("%s/%s", folder, files[i]);
    unlink(file);
    free(file);
  }
  rmdir(folder);
  free(path);
}

int main(void)
{
  perp_ctx_init(&ctx);
  rng = perp_rng_create(41);
  random_bodies();
  closed();
  limits_and_hinges();
  limits_of_balls();
  damaged();
  beside();
  perp_rng_destroy(rng);
  return tap_done();
}
