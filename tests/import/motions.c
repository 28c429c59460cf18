/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Motions of skeletons from others: files that are written read back to the last bit, angles
 * against matrices, blending against the closed form, a retargeted motion keeps all rotations,
 * markers of a motion give it back to rounding, hidden ones too. */
#include "experiments/import/motion_edit.h"
#include "models/figures/blend.h"
#include "tests/tap.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;
static perp_rng *rng;

static void load(const char *name, perp_bvh *bvh)
{
  perp_diag diag = { 0 };
  const char *source = getenv("PERP_SOURCE");
  char *path = perp_xprintf("%s/experiments/scenes/examples/%s", source != NULL ? source : ".",
                            name);
  if (!perp_bvh_load(&diag, NULL, path, bvh)) bail("%s", diag.text.s);
  free(path);
}

static void read_back(const perp_text *text, perp_bvh *out)
{
  perp_diag diag = { 0 };
  if (!perp_bvh_read(&diag, "written", text->s, text->n, out)) bail("%s", diag.text.s);
}

/* ---- a kinematics of its own: matrices, axes of the file ---- */

/* R [3][3] of a joint in its parent. */
static void rotation(const perp_bvh *b, int j, int k, double R[3][3])
{
  const perp_bvh_joint *joint = &b->joint[j];
  for (int i = 0; i < 9; i++) R[i / 3][i % 3] = i / 3 == i % 3;
  for (int c = 0; c < joint->channels; c++) {
    if (joint->channel[c] < PERP_BVH_RX) continue;
    const double angle = b->value[(size_t)k * (size_t)b->channels + (size_t)(joint->first + c)] *
                         3.14159265358979323846 / 180;
    const int x = (int)joint->channel[c] % 3, y = (x + 1) % 3, z = (x + 2) % 3;
    for (int i = 0; i < 3; i++) { /* R <- R R_x(angle) */
      const double u = R[i][y], v = R[i][z];
      R[i][y] = u * cos(angle) + v * sin(angle);
      R[i][z] = v * cos(angle) - u * sin(angle);
    }
  }
}

static void root_place(const perp_bvh *b, int k, double p[3])
{
  memcpy(p, b->joint[0].offset, 3 * sizeof *p);
  for (int c = 0; c < b->joint[0].channels; c++)
    if (b->joint[0].channel[c] < PERP_BVH_RX)
      p[b->joint[0].channel[c]] += b->value[(size_t)k * (size_t)b->channels + (size_t)c];
}

/* The angle from R to Q, and between them a part of the way: R exp(b log(R' Q)) by Rodrigues'
 * formula. */
static double between(double R[3][3], double Q[3][3], double b, double out[3][3])
{
  double D[3][3], w[3], trace = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      D[i][j] = 0;
      for (int k = 0; k < 3; k++) D[i][j] += R[k][i] * Q[k][j];
    }
  for (int i = 0; i < 3; i++) trace += D[i][i];
  w[0] = (D[2][1] - D[1][2]) / 2, w[1] = (D[0][2] - D[2][0]) / 2, w[2] = (D[1][0] - D[0][1]) / 2;
  const double s = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), angle = atan2(s, (trace - 1) / 2);
  if (out == NULL) return angle;
  double K[3][3] = { { 0 } }, E[3][3];
  for (int i = 0; i < 3 && s > 0; i++) w[i] /= s;
  K[0][1] = -w[2], K[0][2] = w[1], K[1][0] = w[2], K[1][2] = -w[0], K[2][0] = -w[1], K[2][1] = w[0];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double KK = 0;
      for (int k = 0; k < 3; k++) KK += K[i][k] * K[k][j];
      E[i][j] = (i == j) + (s > 0 ? sin(b * angle) * K[i][j] + (1 - cos(b * angle)) * KK : 0);
    }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      out[i][j] = 0;
      for (int k = 0; k < 3; k++) out[i][j] += R[i][k] * E[k][j];
    }
  return angle;
}

static double apart(double R[3][3], double Q[3][3])
{
  double off = 0;
  for (int i = 0; i < 9; i++) off = fmax(off, fabs(R[i / 3][i % 3] - Q[i / 3][i % 3]));
  return off;
}

/* ---- what is written ---- */

static void written(const char *name)
{
  perp_bvh a, b;
  perp_text text = { 0 };
  load(name, &a);
  perp_bvh_write(&a, &text);
  read_back(&text, &b);
  bool same = a.n == b.n && a.channels == b.channels && a.frames == b.frames &&
              a.frame_time == b.frame_time &&
              memcmp(a.value, b.value, (size_t)a.frames * (size_t)a.channels * sizeof *a.value) ==
                  0;
  for (int i = 0; i < a.n && same; i++)
    same = a.joint[i].parent == b.joint[i].parent && a.joint[i].end == b.joint[i].end &&
           strcmp(a.joint[i].name, b.joint[i].name) == 0 &&
           memcmp(a.joint[i].offset, b.joint[i].offset, sizeof a.joint[i].offset) == 0 &&
           memcmp(a.joint[i].channel, b.joint[i].channel, sizeof a.joint[i].channel) == 0;
  ok(same, "%s: what is written reads back to the last bit", name);
  perp_text_free(&text);
  perp_bvh_free(&a);
  perp_bvh_free(&b);
}

/* All orders of one to three angles: a pose that channels say is the pose that they were made
 * of. */
static void orders(void)
{
  for (int order = 0; order < 6 + 6 + 3; order++) {
    const int n = order < 6 ? 3 : order < 12 ? 2 : 1, p = order < 12 ? order % 6 : order - 12;
    const int x = n == 1 ? p : p / 2, y = (x + 1 + p % 2) % 3, axis[3] = { x, y, 3 - x - y };
    perp_bvh_joint joint = { .name = "a", .parent = -1, .channels = n };
    double value[2 * 3], off = 0;
    perp_bvh b = { .n = 1, .joint = &joint, .channels = n, .frames = 2, .value = value };
    for (int c = 0; c < n; c++) joint.channel[c] = (perp_bvh_channel)(PERP_BVH_RX + axis[c]);
    for (int i = 0; i < 200; i++) {
      double quat[4], offset[3], R[3][3], Q[3][3], was[3];
      for (int c = 0; c < n; c++) value[c] = value[n + c] = perp_rng_uniform(rng, -200, 200);
      if (i % 10 == 0 && n == 3) value[n + 1] = 90; /* two axes are one */
      memcpy(was, value + n, (size_t)n * sizeof *was);
      rotation(&b, 0, 1, R);
      perp_bvh_pose(&b, 0, 1, quat, offset);
      memset(value + n, 0, (size_t)n * sizeof *value);
      perp_bvh_set_pose(&b, 0, 1, quat, offset);
      rotation(&b, 0, 1, Q);
      off = fmax(off, apart(R, Q));
      for (int c = 0; c < n && (i % 10 != 0 || n < 3); c++)
        off = fmax(off, 1e-3 * fabs(value[n + c] - was[c])); /* as before: 1e-12 degrees */
    }
    ok(off < 1e-12, "angles about %c%c%c, %d of them: off by %.2g", "XYZ"[axis[0]], "XYZ"[axis[1]],
       "XYZ"[axis[2]], n, off);
  }
}

/* ---- blending ---- */

static void blended(void)
{
  perp_bvh a, b, out;
  perp_diag diag = { 0 };
  load("walk.bvh", &a);
  load("wave.bvh", &b);
  const double at = 10 * a.frame_time, over = 12 * a.frame_time;
  if (!perp_motion_blend(&diag, &a, &b, at, over, false, &out)) bail("%s", diag.text.s);
  double off[3] = { 0 }, most = 0, moved = 0;
  for (int k = 0; k < out.frames; k++) {
    const double t = k * a.frame_time, w = perp_blend_weight((t - at) / over);
    const int part = w <= 0 ? 0 : w >= 1 ? 2 : 1, second = k < 10 ? 0 : k - 10;
    double p[3], q[3], r[3], R[3][3], Q[3][3], S[3][3], T[3][3];
    root_place(&out, k, r);
    root_place(&a, k < a.frames ? k : a.frames - 1, p);
    root_place(&b, second, q);
    for (int c = 0; c < 3; c++) off[part] = fmax(off[part], fabs(r[c] - p[c] - w * (q[c] - p[c])));
    for (int i = 0; i < out.n; i++) {
      if (out.joint[i].end) continue;
      rotation(&out, i, k, S);
      rotation(&a, i, k < a.frames ? k : a.frames - 1, R);
      rotation(&b, i, second, Q);
      const double angle = between(R, Q, w, T);
      if (part == 1) most = fmax(most, angle);
      off[part] = fmax(off[part], apart(S, part == 0 ? R : part == 2 ? Q : T));
      moved = fmax(moved, part == 1 ? apart(S, R) : 0);
    }
  }
  ok(off[0] < 1e-12 && off[2] < 1e-12, "blending: before and after it is the motions: %.2g, %.2g",
     off[0], off[2]);
  ok(off[1] < 1e-12 && most > 0.5 && moved > 0.3,
     "... between them both interpolations: off by %.2g, over %.2g rad", off[1], most);
  ok(fabs(perp_blend_weight(0.5) - 0.5) < 1e-13 && perp_blend_weight(0) == 0 &&
         perp_blend_weight(1) == 1 &&
         fabs(perp_blend_weight(0.3) + perp_blend_weight(0.7) - 1) < 1e-13,
     "weights: 0, 1/2, 1, and the same from both sides");
  ok(out.frames == 10 + b.frames, "... and it ends with the second motion");
  perp_bvh_free(&out);
  if (!perp_motion_blend(&diag, &a, &b, at, over, true, &out)) bail("%s", diag.text.s);
  double p[3], q[3], r[3], b0[3];
  root_place(&a, 10, p);
  root_place(&b, 0, b0);
  root_place(&b, b.frames - 1, q);
  root_place(&out, out.frames - 1, r);
  ok(fabs(r[0] - q[0] - p[0] + b0[0]) < 1e-12 && fabs(r[1] - q[1]) < 1e-12 &&
         fabs(r[2] - q[2] - p[2] + b0[2]) < 1e-12 && fabs(p[2] - b0[2]) > 1,
     "--follow: the second motion goes on where the first one has come to");
  perp_bvh_free(&out);
  ok(!perp_motion_blend(&diag, &a, &b, 0, 1e3, false, &out) && out.n == 0 &&
         strstr(diag.text.s, "both motions are needed") != NULL,
     "times that do not fit are refused");
  b.joint[3].offset[1] += 1;
  ok(!perp_motion_blend(&diag, &a, &b, at, over, false, &out) &&
         strstr(diag.text.s, "has another place") != NULL,
     "other lengths are refused");
  perp_diag_free(&diag);
  perp_bvh_free(&a);
  perp_bvh_free(&b);
}

/* ---- retargeting ---- */

static void retargeted(void)
{
  perp_bvh a, fat, out;
  perp_diag diag = { 0 };
  load("walk.bvh", &a);
  load("wave.bvh", &fat);
  for (int i = 0; i < fat.n; i++)
    for (int c = 0; c < 3; c++)
      fat.joint[i].offset[c] *= strstr(fat.joint[i].name, "Arm") != NULL ? 0.5 : 0.75;
  if (!perp_motion_retarget(&diag, &a, &fat, &out)) bail("%s", diag.text.s);
  double off = 0, place = 0;
  for (int k = 0; k < out.frames; k++) {
    double p[3], q[3], R[3][3], Q[3][3];
    root_place(&a, k, p);
    root_place(&out, k, q);
    for (int c = 0; c < 3; c++) place = fmax(place, fabs(q[c] - 0.75 * p[c]));
    for (int i = 0; i < out.n; i++) {
      if (out.joint[i].end) continue;
      rotation(&a, i, k, R);
      rotation(&out, i, k, Q);
      off = fmax(off, apart(R, Q));
    }
  }
  ok(off < 1e-14 && out.frames == a.frames, "retargeting keeps all rotations: off by %.2g", off);
  ok(place < 1e-12 && out.joint[1].offset[1] == fat.joint[1].offset[1],
     "... the lengths are those of the skeleton, and the root goes three quarters as far: %.2g",
     place);
  perp_bvh_free(&out);
  fat.joint[0].name = "Pelvis";
  ok(!perp_motion_retarget(&diag, &a, &fat, &out) && strstr(diag.text.s, "roots") != NULL,
     "another name of the root is refused");
  perp_diag_free(&diag);
  perp_bvh_free(&a);
  perp_bvh_free(&fat);
}

/* ---- markers ---- */

static double fitted(const char *text, const perp_bvh *motion, double *error)
{
  perp_bvh out;
  perp_diag diag = { 0 };
  double off = 0;
  if (!perp_markers_fit(&diag, "markers.csv", text, motion, &out, error)) bail("%s", diag.text.s);
  for (int k = 0; k < out.frames; k++) {
    double p[3], q[3], R[3][3], Q[3][3];
    root_place(motion, k, p);
    root_place(&out, k, q);
    for (int c = 0; c < 3; c++) off = fmax(off, 1e-2 * fabs(q[c] - p[c])); /* in bones */
    for (int i = 0; i < out.n; i++) {
      if (out.joint[i].end) continue;
      rotation(motion, i, k, R);
      rotation(&out, i, k, Q);
      off = fmax(off, apart(R, Q));
    }
  }
  ok(out.frames == motion->frames &&
         fabs(out.frame_time - motion->frame_time) < 1e-12 * motion->frame_time,
     "markers: frames as they were");
  perp_bvh_free(&out);
  return off;
}

static void refused(const char *text, const perp_bvh *skeleton, const char *word)
{
  perp_bvh out;
  perp_diag diag = { 0 };
  double error;
  ok(!perp_markers_fit(&diag, "markers.csv", text, skeleton, &out, &error) && out.n == 0 &&
         diag.errors == 1 && strstr(diag.text.s, word) != NULL,
     "refused: %s", diag.text.s != NULL ? diag.text.s : "nothing");
  perp_diag_free(&diag);
}

static void marked(const char *name)
{
  perp_bvh a;
  perp_text text = { 0 };
  double error;
  load(name, &a);
  perp_markers_write(&a, &text);
  const double off = fitted(text.s, &a, &error);
  ok(off < 2e-14 && error < 1e-12, "%s: its markers give it back: off by %.2g, %.2g left", name,
     off, error);
  /* the second marker of the chest is hidden in all frames: two are enough */
  perp_text less = { 0 };
  int cells[3] = { -1, -1, -1 }, cell = 0;
  const char *head = strstr(text.s, "t [s]");
  for (const char *s = head; *s != '\n'; s++) {
    cell += *s == ',';
    if (strncmp(s, "Chest.2.", 8) == 0) cells[s[8] - 'x'] = cell;
  }
  cell = 0;
  for (const char *s = text.s; *s != '\0'; s++) {
    if (*s == ',') cell++;
    if (*s == '\n') cell = 0;
    const bool hidden = s > strchr(head, '\n') && *s != ',' && *s != '\n' &&
                        (cell == cells[0] || cell == cells[1] || cell == cells[2]);
    if (!hidden) perp_text_put(&less, s, 1);
  }
  ok(cells[0] > 0 && less.n < text.n && fitted(less.s, &a, &error) < 2e-14 && error < 1e-12,
     "%s: a hidden marker does not count", name);
  perp_text_free(&less);
  perp_text_free(&text);
  perp_bvh_free(&a);
}

static void bad_markers(void)
{
  static const char hierarchy[] =
      "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition "
      "Zposition Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 1 "
      "0\n}\n}\nMOTION\nFrames: 0\nFrame Time: 1\n";
  static const char places[] = "# place a.1: 1 0 0\n# place a.2: 0 1 0\n# place a.3: 0 0 1\n";
  static const char head[] = "t [s],a.1.x,a.1.y,a.1.z,a.2.x,a.2.y,a.2.z,a.3.x,a.3.y,a.3.z\n";
  perp_bvh skeleton;
  const perp_text text = { (char *)(uintptr_t)hierarchy, sizeof hierarchy - 1, 0 };
  read_back(&text, &skeleton);
  char *s = perp_xprintf("%s%s0,1,0,0,0,1,0,0,0,1\n1,1,0,0,0,1,0,0,0,x\n", places, head);
  refused(s, &skeleton, "field 10 is not a number: 'x'");
  free(s);
  s = perp_xprintf("%s%s0,1,0,0,0,1,0,0,0,1\n1,1,0,0,0,1,0,,,\n", places, head);
  refused(s, &skeleton, "do not determine its rotation (2 visible)");
  free(s);
  s = perp_xprintf(
      "# place a.1: 1 0 0\n# place a.2: 2 0 0\n# place a.3: 3 0 0\n%s0,1,0,0,2,0,0,3,0,0\n"
      "1,1,0,0,2,0,0,3,0,0\n",
      head);
  refused(s, &skeleton, "do not determine its rotation (3 visible)");
  free(s);
  s = perp_xprintf("%s%s0,1,0,0,0,1,0,0,0,1\n1,1,0,0,0,1,0,0,0,1\n3,1,0,0,0,1,0,0,0,1\n", places,
                   head);
  refused(s, &skeleton, "equally apart");
  free(s);
  refused("# place b.1: 1 0 0\n", &skeleton, "no joint for the marker 'b.1'");
  refused("# place a.1: 1 0\n", &skeleton, "three numbers");
  refused("t [s],a.1.x\n0,1\n", &skeleton, "'a.1.x' is no coordinate of a marker");
  refused("# place a.1: 1 0 0\nt [s],a.1.x\n0,1\n", &skeleton, "three of each");
  refused("", &skeleton, "two rows");
  perp_bvh_free(&skeleton);
}

/* The examples are what the commands make. */
static void shipped(const char *name, const char *first, const char *second, bool retargets)
{
  perp_bvh a, b, out;
  perp_diag diag = { 0 };
  perp_text text = { 0 };
  const char *source = getenv("PERP_SOURCE");
  char *path = perp_xprintf("%s/experiments/scenes/examples/%s", source != NULL ? source : ".",
                            name);
  char *is = perp_read_file(path, NULL);
  load(first, &a);
  load(second, &b);
  const bool good = retargets ? perp_motion_retarget(&diag, &a, &b, &out)
                              : perp_motion_blend(&diag, &a, &b, 1, 0.5, true, &out);
  if (good) perp_bvh_write(&out, &text);
  ok(good && is != NULL && strcmp(is, text.s) == 0, "%s is made of %s and %s", name, first, second);
  perp_text_free(&text);
  perp_bvh_free(&a);
  perp_bvh_free(&b);
  perp_bvh_free(&out);
  free(path);
  free(is);
}

int main(void)
{
  perp_ctx_init(&ctx);
  rng = perp_rng_create(925);
  written("walk.bvh");
  written("cartwheel.bvh");
  orders();
  blended();
  retargeted();
  marked("walk.bvh");
  marked("cartwheel.bvh");
  bad_markers();
  shipped("fat-walk.bvh", "walk.bvh", "fat.bvh", true);
  shipped("walk-wave.bvh", "walk.bvh", "wave.bvh", false);
  perp_rng_destroy(rng);
  return tap_done();
}
