/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures of BVH files: places by a kinematics of its own, masses by the table, angles by the
 * channels, bad files by their message. */
#include "experiments/import/figure.h"
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "models/figures/inverse.h"
#include "models/scenes/truths.h"
#include "tests/run_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static perp_ctx ctx;

static void open_scene(const char *text, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, scene) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
}

static int body_of(const perp_model *m, const char *name)
{
  for (int b = 0; b < perp_model_bodies(m); b++)
    if (strcmp(perp_model_body(m, b)->name, name) == 0) return b;
  bail("no body %s", name);
}

static char *example(const char *name)
{
  const char *source = getenv("PERP_SOURCE");
  return perp_xprintf("%s/experiments/scenes/examples/%s", source != NULL ? source : ".", name);
}

static void load(const char *name, perp_bvh *bvh)
{
  perp_diag diag = { 0 };
  char *path = example(name);
  if (!perp_bvh_load(&diag, NULL, path, bvh)) bail("%s", diag.text.s);
  free(path);
}

/* ---- a kinematics of its own: matrices, y up ---- */

static void multiply(double A[3][3], double B[3][3], double C[3][3])
{
  double D[3][3];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      D[i][j] = 0;
      for (int k = 0; k < 3; k++) D[i][j] += A[i][k] * B[k][j];
    }
  memcpy(C, D, sizeof D);
}

/* Place of joint j in frame k, file axes. */
static void place(const perp_bvh *b, int j, int k, double p[3], double R[3][3])
{
  const perp_bvh_joint *joint = &b->joint[j];
  double up[3] = { 0 }, Q[3][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } }, off[3];
  memcpy(R, Q, sizeof Q);
  if (joint->parent >= 0) place(b, joint->parent, k, up, R);
  memcpy(off, joint->offset, sizeof off);
  for (int c = 0; c < joint->channels; c++) {
    const double value = b->value[(size_t)k * (size_t)b->channels + (size_t)(joint->first + c)];
    const int axis = (int)joint->channel[c] % 3, a = (axis + 1) % 3, d = (axis + 2) % 3;
    if (joint->channel[c] < PERP_BVH_RX) {
      off[axis] += value;
      continue;
    }
    double T[3][3] = { { 0 } };
    const double s = sin(value * 3.14159265358979323846 / 180),
                 co = cos(value * 3.14159265358979323846 / 180);
    T[axis][axis] = 1, T[a][a] = T[d][d] = co, T[a][d] = -s, T[d][a] = s;
    multiply(Q, T, Q);
  }
  for (int i = 0; i < 3; i++) {
    p[i] = up[i];
    for (int c = 0; c < 3; c++) p[i] += R[i][c] * off[c];
  }
  multiply(R, Q, R);
}

static void places(void)
{
  perp_bvh bvh;
  perp_scene s;
  char *path = example("walk.bvh"), *text = perp_xprintf("%s:height=1.6", path);
  load("walk.bvh", &bvh);
  open_scene(text, &s);
  perp_playback *play = perp_truth_playback_of(&s);
  const perp_model *m = s.model;
  const int nv = perp_model_nv(m);
  double q[7 * 18], v[6 * 18], worst = 0, at_start = 0;
  /* as drawn the figure is 173.4036 units high and has heels at -0.557 of 174.1 */
  double high = 0, low = 0;
  for (int j = 0; j < bvh.n; j++) {
    double y = 0;
    for (int k = j; k >= 0; k = bvh.joint[k].parent) y += bvh.joint[k].offset[1];
    high = fmax(high, y), low = fmin(low, y);
  }
  const double unit = 1.6 / (high - low);
  for (int k = 0; k < bvh.frames; k += 5) {
    perp_playback_state(play, k * bvh.frame_time, q, v, NULL);
    for (int i = 0; i < perp_model_joints(m); i++) {
      const perp_joint_def *def = perp_model_joint(m, i);
      double p[3], want[3], R[3][3];
      int j = 0;
      while (strcmp(bvh.joint[j].name, def->name) != 0) j++;
      perp_model_point(m, q, def->b, def->anchor_b, p);
      place(&bvh, j, k, want, R);
      for (int c = 0; c < 3; c++) worst = fmax(worst, fabs(p[(c + 1) % 3] - unit * want[c]));
    }
  }
  below(worst, 1e-12,
        "joints are where the channels of the file put them, scaled by the height (%.1e m)", worst);
  perp_playback_state(play, 0, q, v, NULL);
  for (int i = 0; i < nv; i++) at_start = fmax(at_start, fabs(v[i] - perp_model_v0(m)[i]));
  for (int i = 0; i < 18 * 7; i++)
    at_start = fmax(at_start, fabs(fabs(q[i]) - fabs(perp_model_q0(m)[i])));
  below(at_start, 1e-9, "the scene begins as its motion, with its velocities");
  ok(fabs(v[0]) > 0.5, "and it moves: %.2f m/s", v[0]);
  perp_scene_destroy(&s);
  perp_bvh_free(&bvh);
  free(path);
  free(text);
}

/* ---- masses ---- */

static void masses(void)
{
  static const struct {
    const char *body;
    double fraction;
  } table[] = { /* de Leva 1996, table 4 */
                { "Hips", 0.1117 },     { "Spine", 0.1633 },       { "Chest", 0.1596 },
                { "Head", 0.0694 },     { "LeftForeArm", 0.0162 }, { "RightUpperArm", 0.0271 },
                { "LeftHand", 0.0061 }, { "RightThigh", 0.1416 },  { "LeftShank", 0.0433 }
  };
  perp_scene s;
  char *path = example("figure.yaml"), *text = perp_xprintf("%s:mass=60,height=1.7", path);
  open_scene(text, &s);
  double worst = 0, all = 0;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    worst = fmax(worst, fabs(perp_model_body(s.model, body_of(s.model, table[i].body))->mass.mass -
                             60 * table[i].fraction));
  for (int b = 0; b < perp_model_bodies(s.model); b++)
    all += perp_model_body(s.model, b)->mass.mass;
  below(worst, 1e-12, "segments have their share of the mass");
  near(all, 60, 1e-12, 0, "together they have the mass that is asked for");
  const perp_body_def *shank = perp_model_body(s.model, body_of(s.model, "LeftShank"));
  const int foot = body_of(s.model, "LeftFoot");
  double length = 0, along = 0;
  for (int j = 0; j < perp_model_joints(s.model); j++) {
    const perp_joint_def *def = perp_model_joint(s.model, j);
    if (def->b == foot) length -= def->anchor_a[2];
    if (strcmp(def->name, "LeftShank") == 0) length += along = def->anchor_b[2];
  }
  near(along / length, 0.4395, 1e-12, 0,
       "its centre of mass is at 0.4395 of the shank from the knee");
  near(shank->mass.inertia[8], 60 * 0.0433 * 0.102 * 0.102 * length * length, 1e-12, 0,
       "its inertia about its length is that of the table");
  near(shank->mass.inertia[0],
       60 * 0.0433 * 0.5 * (0.251 * 0.251 + 0.246 * 0.246) * length * length, 1e-12, 0,
       "and across it");
  perp_scene_destroy(&s);
  free(path);
  free(text);
  int side;
  static const struct {
    const char *name;
    int class, side;
  } names[] = {
    { "LeftUpLeg", PERP_FIGURE_THIGH, 1 },       { "RightLeg", PERP_FIGURE_SHANK, -1 },
    { "lShldr", PERP_FIGURE_UNKNOWN, 0 },        { "Left_Arm", PERP_FIGURE_UPPER_ARM, 1 },
    { "rFoot", PERP_FIGURE_FOOT, -1 },           { "Spine2", PERP_FIGURE_CHEST, 0 },
    { "foot.L", PERP_FIGURE_FOOT, 1 },           { "LeftForeArm", PERP_FIGURE_FOREARM, 1 },
    { "RightHandThumb1", PERP_FIGURE_HAND, -1 }, { "tail", PERP_FIGURE_UNKNOWN, 0 }
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const int class = perp_figure_class_of(names[i].name, &side);
    ok(class == names[i].class && (class < 0 || side == names[i].side), "%s: %s", names[i].name,
       class < 0 ? "not known" : perp_figure_classes[class].name);
  }
}

/* ---- angles ---- */

static double channel(const perp_bvh *b, const char *joint, int frame, perp_bvh_channel c)
{
  for (int j = 0; j < b->n; j++)
    for (int k = 0; strcmp(b->joint[j].name, joint) == 0 && k < b->joint[j].channels; k++)
      if (b->joint[j].channel[k] == c)
        return b->value[(size_t)frame * (size_t)b->channels + (size_t)(b->joint[j].first + k)];
  bail("no channel of %s", joint);
}

/* Drives of ball joints have the angles of the file, whose x turns the bone backwards. */
static void angles(void)
{
  static const struct {
    const char *drive, *joint;
    double sign;
  } same[] = { { "LeftShank.a", "LeftShank", 1 },
               { "RightShank.a", "RightShank", 1 },
               { "LeftThigh.a", "LeftThigh", -1 },
               { "RightForeArm.a", "RightForeArm", -1 },
               { "LeftFoot.a", "LeftFoot", -1 } };
  perp_bvh bvh;
  perp_scene s;
  char *path = example("walk.bvh");
  load("walk.bvh", &bvh);
  open_scene(path, &s);
  double q[7 * 18], v[6 * 18];
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    double worst = 0, least = 1e9, most = -1e9;
    int d = 0;
    while (strcmp(perp_model_drive(s.model, d)->name, same[i].drive) != 0) d++;
    const perp_drive_def *def = perp_model_drive(s.model, d);
    for (int k = 0; k < bvh.frames; k += 4) {
      perp_playback_state(perp_truth_playback_of(&s), k * bvh.frame_time, q, v, NULL);
      const double x = perp_model_drive_coordinate(s.model, q, d);
      worst = fmax(worst, fabs(x - same[i].sign * channel(&bvh, same[i].joint, k, PERP_BVH_RX) *
                                       3.14159265358979323846 / 180));
      least = fmin(least, x), most = fmax(most, x);
    }
    below(worst, 1e-12, "%s is the flexion of the file", same[i].drive);
    ok(least >= def->lower && most <= def->upper && most - least > 0.15,
       "it stays inside its limits: %.2f to %.2f", least, most);
  }
  perp_scene_destroy(&s);
  perp_bvh_free(&bvh);
  free(path);
}

/* ---- statics ---- */

/* A figure that stands: the ground carries its weight, hanging arms need no torque, and with an arm
 * held out the shoulder has the moment of what hangs on it. */
static void statics(void)
{
  perp_scene s;
  char *path = example("wave.bvh");
  open_scene(path, &s);
  perp_inverse *inverse;
  if (perp_inverse_create(&ctx, s.model, &inverse) != PERP_OK) bail("%s", ctx.msg);
  const int nu = perp_inverse_nu(inverse);
  double q[7 * 18], u[6 * 18], a[6 * 18] = { 0 }, tau[6 * 18], qm[7 * 18], vm[6 * 18], weight = 0,
                                     moment[3] = { 0 }, joint[3];
  perp_playback_joints(perp_truth_playback_of(&s), 1.0, q, u, a);
  memset(u, 0, sizeof u);
  memset(a, 0, sizeof a);
  perp_inverse_state(inverse, q, u, NULL, qm, vm, NULL);
  perp_inverse_recursive(inverse, 0, q, u, a, NULL, tau);
  for (int i = 0; i < nu; i++) {
    const perp_inverse_coordinate w = perp_inverse_what(inverse, i);
    if (w.joint < 0 && strcmp(w.part, "z") == 0) weight = tau[i];
  }
  near(weight, 73 * 9.81, 1e-9, 0, "the root carries the weight");
  const int arm = body_of(s.model, "RightUpperArm");
  static const char *const parts[] = { "RightUpperArm", "RightForeArm", "RightHand" };
  double got[3] = { 0 }, R[9];
  for (int j = 0; j < perp_model_joints(s.model); j++)
    if (perp_model_joint(s.model, j)->b == arm)
      perp_model_point(s.model, qm, arm, perp_model_joint(s.model, j)->anchor_b, joint);
  for (int i = 0; i < 3; i++) {
    const int b = body_of(s.model, parts[i]);
    const double force = perp_model_body(s.model, b)->mass.mass * 9.81;
    moment[0] += (qm[7 * b + 1] - joint[1]) * force; /* - r x (0, 0, -force) */
    moment[1] -= (qm[7 * b] - joint[0]) * force;
  }
  perp_model_rotation(s.model, qm, arm, R);
  for (int i = 0; i < nu; i++) {
    const perp_inverse_coordinate w = perp_inverse_what(inverse, i);
    if (w.body != arm || w.joint < 0) continue;
    for (int c = 0; c < 3; c++) got[c] += R[c + 3 * (w.part[1] - 'x')] * tau[i];
  }
  double apart = 0;
  for (int c = 0; c < 3; c++) apart = fmax(apart, fabs(got[c] - moment[c]));
  below(apart, 1e-11, "the shoulder has the moment of the arm that is held out");
  ok(fabs(moment[0]) > 3, "which is %.1f Nm", moment[0]);
  perp_inverse_destroy(inverse);
  perp_scene_destroy(&s);
  free(path);
}

/* ---- controllers ---- */

/* Largest distance of the figure at the end of 1 s from the motion that it should make: of centres
 * of segments, m, or of all, m and rad. */
static double tracked(const char *text, run_parts parts, double h, bool centres)
{
  perp_scene s;
  double worst = 0;
  open_scene(text, &s);
  const int nq = perp_model_nq(s.model), nv = perp_model_nv(s.model);
  double *q = calloc((size_t)(2 * nq + 2 * nv), sizeof *q), *is = q + nq, *v = is + nq, *d = v + nv;
  if (run_fresh(&ctx, s.model, parts, h, 1, q, v) < 0) worst = HUGE_VAL;
  perp_playback *playback = perp_truth_playback_of(&s);
  perp_playback_state(playback, 1, is, v, NULL);
  perp_model_difference(s.model, is, q, d);
  for (int i = 0; i < nv; i++)
    if (!centres || i % 6 < 3) worst = fmax(worst, fabs(d[i]));
  free(q);
  perp_scene_destroy(&s);
  return worst;
}

static void controllers(void)
{
  static const char *const roots[] = { "prescribed", "controlled" }, *const files[] = {
    "walk.bvh", "wave.bvh"
  };
  const run_parts rk4 = { "acceleration", "rk4", "", "none" };
  for (int i = 0; i < 4; i++) {
    char *path = example(files[i / 2]);
    char *text = perp_xprintf("%s:controller=feed-forward,root=%s,floor=false,limits=false", path,
                              roots[i % 2]);
    const double a = tracked(text, rk4, 1e-3, false), b = tracked(text, rk4, 5e-4, false);
    ok(fabs(log2(a / b) - 4) < 0.2, "feed-forward forces give back %s, root %s: order %.2f, %.2g",
       files[i / 2], roots[i % 2], log2(a / b), b);
    /* of the walk the rounding grows to 2e-8 rad in 1 s: nobody feeds back */
    if (i / 2 == 1) below(tracked(text, rk4, 1.25e-4, true), 1e-9, "down to 1e-9 m");
    free(text);
    free(path);
  }
}

/* ---- scenes that include a figure ---- */

static void included(void)
{
  perp_diag diag = { 0 };
  char *path = example("figure.yaml");
  char *text = perp_xprintf(
      "schema: perp-scene/1\ninclude: %s\nscene: { summary: a ball and a figure }\n"
      "bodies:\n  - { name: ball, mass: 1 kg, x: [2, 0, 1], v: [-5, 0, 0], shape: { kind: sphere, "
      "radius: 0.1 } }\n",
      path);
  ok(perp_scene_text_check(&ctx, "s.yaml", text, strlen(text), &diag), "a figure is included: %s",
     diag.text.s != NULL ? diag.text.s : "19 bodies");
  perp_diag_free(&diag);
  free(text);
  free(path);
}

/* ---- damage ---- */

static const char good[] =
    "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 4 Yposition Zrotation Xrotation Yrotation\n"
    "JOINT Spine\n{\nOFFSET 0 20 0\nCHANNELS 1 Xrotation\nEnd Site\n{\nOFFSET 0 30 0\n}\n}\n}\n"
    "MOTION\nFrames: 2\nFrame Time: 0.1\n1 2 3 4 5\n1 2 3 4 6\n";

static void refuse(const char *from, const char *to, int line, const char *says)
{
  perp_text t = { 0 };
  perp_diag diag = { 0 };
  perp_bvh bvh;
  const char *at = strstr(good, from);
  if (at == NULL) bail("%s", from);
  perp_text_add(&t, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
  char *place = perp_xprintf("f.bvh:%d:", line);
  const bool read = perp_bvh_read(&diag, "f.bvh", t.s, t.n, &bvh);
  ok(!read && diag.errors == 1 && strncmp(diag.text.s, place, strlen(place)) == 0 &&
         strstr(diag.text.s, says) != NULL && bvh.n == 0,
     "line %d, %s: %s", line, says, diag.text.s != NULL ? diag.text.s : "read");
  if (read) perp_bvh_free(&bvh);
  free(place);
  perp_diag_free(&diag);
  perp_text_free(&t);
}

static void damaged(void)
{
  perp_diag diag = { 0 };
  perp_bvh bvh;
  ok(perp_bvh_read(&diag, "f.bvh", good, strlen(good), &bvh) && bvh.frames == 2 &&
         bvh.channels == 5,
     "whole it is read");
  perp_bvh_free(&bvh);
  refuse("HIERARCHY", "HIERARCHIES", 1, "HIERARCHY is missing");
  refuse("ROOT Hips", "JOINT Hips", 2, "ROOT is missing");
  refuse("CHANNELS 4", "CHANNELS 5", 6, "has 5 channels, but channel 5 is not one: JOINT");
  refuse("CHANNELS 4", "CHANNELS 7", 5, "CHANNELS: got 7");
  refuse("CHANNELS 4", "CHANNELS nan", 5, "a number is required");
  refuse("OFFSET 0 20 0", "OFFSET 0 inf 0", 8, "a number is required, got inf");
  refuse("OFFSET 0 20 0", "OFFSET 0 20", 9, "a number is required, got CHANNELS");
  refuse("OFFSET 0 30 0", "OFFSET 0 0x10 0", 12, "a number is required");
  refuse("}\n}\n}\n", "}\n}\n", 15, "MOTION is not allowed here");
  refuse("}\n}\n}\n", "}\n}\n}\n}\n", 16, "MOTION is missing");
  refuse("Frames: 2", "Frames: 3", 21, "frame 3 of 3 is missing");
  refuse("Frames: 2", "Frames: 1", 20, "the file continues behind frame 1");
  refuse("Frames: 2", "Frames: -2", 17, "Frames: got -2");
  refuse("Frames: 2", "Frames: 1000000000", 17, "Frames: got 1000000000");
  refuse("Frames: 2", "Frames: 999999", 21, "frame 3 of 999999 is missing");
  refuse("0.1", "-0.1", 18, "the time of a frame must be above 0");
  refuse("0.1", "0", 18, "the time of a frame must be above 0");
  refuse("1 2 3 4 5\n", "1 2 3 4\n", 19, "frame 1 has only 4 numbers for 5");
  refuse("1 2 3 4 5\n", "1 2 3 4 5 6\n", 19, "frame 1 has more than 5 numbers");
  refuse("1 2 3 4 6", "1 2 nan 4 6", 20, "frame 2, channel 3 is not a number: nan");
  refuse("1 2 3 4 6", "1 2 1e400 4 6", 20, "frame 2, channel 3 is not a number");
  refuse("End Site\n{\nOFFSET 0 30 0\n}", "End Site\n{\nOFFSET 0 30 0\nCHANNELS 1 Xrotation\n}", 13,
         "an end site cannot have channels");
  refuse("JOINT Spine", "JOINT", 6, "a joint needs a name");
  perp_text many = { 0 }, deep = { 0 };
  perp_text_add(&many, "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n");
  perp_text_add(&deep, "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n");
  for (int i = 0; i < 1000000; i++) {
    perp_text_put(&many, "JOINT b\n{\nOFFSET 0 1 0\n}\n", 25);
    perp_text_put(&deep, "JOINT b\n{\nOFFSET 0 1 0\n", 23);
  }
  ok(!perp_bvh_read(&diag, "m.bvh", many.s, many.n, &bvh) &&
         strstr(diag.text.s, "more than 1000 joints") != NULL,
     "a million joints");
  perp_diag_free(&diag);
  diag = (perp_diag){ 0 };
  ok(!perp_bvh_read(&diag, "d.bvh", deep.s, deep.n, &bvh) &&
         strstr(diag.text.s, "nested deeper than 100") != NULL,
     "a million inside each other");
  perp_diag_free(&diag);
  perp_text_free(&many);
  perp_text_free(&deep);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  perp_scene_files_register(&ctx);
  places();
  masses();
  angles();
  statics();
  controllers();
  included();
  damaged();
  return tap_done();
}
