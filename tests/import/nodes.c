/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes of skeletons that are no parts of the body, as generated variants of one walk: masses and
 * places of all bodies are those of the walk without them.  Jumps against the second difference. */
#include "experiments/import/figure.h"
#include "experiments/import/import.h"
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/base/files.h"
#include "models/figures/jumps.h"
#include "models/figures/playback.h"
#include "models/geometry/kinematics.h"
#include "models/scenes/truths.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES = 21, MOST = 80 };

static perp_ctx ctx;
static perp_bvh walk;
static char folder[] = "/tmp/perp-nodes-XXXXXX";

/* ---- a file that is built node by node ---- */

static perp_bvh_joint *add(perp_bvh *to, const char *name, int parent, bool end, const double o[3],
                           int places, int turns)
{
  static const perp_bvh_channel order[] = { PERP_BVH_RZ, PERP_BVH_RX, PERP_BVH_RY };
  to->joint = perp_pool_grown(&to->pool, to->joint, to->n, sizeof *to->joint);
  perp_bvh_joint *joint = &to->joint[to->n++];
  *joint = (perp_bvh_joint){ .name = name, .parent = parent, .end = end, .first = to->channels };
  memcpy(joint->offset, o, sizeof joint->offset);
  for (int c = 0; c < places; c++) joint->channel[joint->channels++] = (perp_bvh_channel)c;
  for (int c = 0; c < turns; c++) joint->channel[joint->channels++] = order[c];
  to->channels += joint->channels;
  return joint;
}

/* What a variant has beside the walk. */
typedef struct variant {
  const char *what;
  const char *above[2];   /* references before the hips */
  double offset[2][3];    /* of what hangs on them */
  bool still;             /* references never move; else they carry a rigid motion of their own */
  bool hips_fixed;        /* the hips have no position channels: masses only */
  const char *on, *thing; /* a joint `thing` on the joint `on`, NULL: none */
  double arm;             /* its offset */
  double tip;             /* of its end, from it */
  int moves;              /* 1: it turns, 2: by position channels, too */
  const char *split;      /* a joint of no length before this one has its rotation */
  int placed;             /* all joints have position channels: 1 their offsets, 2 zeros */
  double unit;            /* of lengths, 0: cm */
} variant;

static const variant variants[] = {
  { .what = "a root on the floor that never moves",
    .above = { "world_root" },
    .offset = { { -10, 95, 150 } },
    .still = true },
  { .what = "the same with another name",
    .above = { "Bip" },
    .offset = { { 0, 0, 0 } },
    .still = true },
  { .what = "a root with the name of a part that never moves",
    .above = { "HipsRoot" },
    .offset = { { 3, 95, 7 } },
    .still = true },
  { .what = "a root that moves, and hips that move on it",
    .above = { "Reference" },
    .offset = { { 0, 90, 0 } } },
  { .what = "the same, of no known name", .above = { "Locator7" }, .offset = { { 1, 2, 3 } } },
  { .what = "two references that move",
    .above = { "Scene", "Actor" },
    .offset = { { 0, 0, 0 }, { 0, 90, 0 } } },
  { .what = "two references that never move",
    .above = { "world", "origin" },
    .offset = { { 0, 0, 0 }, { 5, 90, 0 } },
    .still = true },
  { .what = "a root with the hips at the end of a long offset",
    .above = { "floor" },
    .offset = { { 0, 92, 0 } },
    .hips_fixed = true },
  { .what = "a root at the hips",
    .above = { "Root" },
    .offset = { { 0, 0, 0 } },
    .hips_fixed = true },
  { .what = "two roots at the hips",
    .above = { "Armature", "null" },
    .offset = { { 0, 0, 0 }, { 0, 0, 0 } },
    .hips_fixed = true },
  { .what = "a thing beside the figure",
    .above = { "world" },
    .offset = { { 0, 95, 0 } },
    .still = true,
    .on = "world",
    .thing = "Box",
    .arm = 40,
    .tip = 30,
    .moves = 2 },
  { .what = "a thing that is tracked on a hand",
    .on = "LeftHand",
    .thing = "Sword",
    .arm = 4,
    .tip = 100,
    .moves = 2 },
  { .what = "a thing that a hand holds",
    .on = "RightHand",
    .thing = "Racket",
    .arm = 4,
    .tip = 60,
    .moves = 0 },
  { .what = "a thing that a hand turns",
    .on = "RightHand",
    .thing = "Cup",
    .arm = 4,
    .tip = 60,
    .moves = 1 },
  { .what = "a marker that is fixed on the chest",
    .on = "Chest",
    .thing = "Marker3",
    .arm = 9,
    .tip = 2,
    .moves = 0 },
  { .what = "a marker that is tracked on the thigh",
    .on = "LeftThigh",
    .thing = "Clu4",
    .arm = 9,
    .tip = 2,
    .moves = 2 },
  { .what = "a camera on the head",
    .on = "Head",
    .thing = "Camera",
    .arm = 9,
    .tip = 5,
    .moves = 1 },
  { .what = "an end of no length",
    .on = "LeftToes",
    .thing = "Nub",
    .arm = 0,
    .tip = 0,
    .moves = 0 },
  { .what = "a helper of no length before the shank", .split = "LeftShank" },
  { .what = "a helper of no length before the chest", .split = "Chest" },
  { .what = "a helper of no length before the head", .split = "Head" },
  { .what = "position channels with the offsets", .placed = 1 },
  { .what = "position channels of zeros", .placed = 2 },
  { .what = "lengths in metres", .unit = 1 },
  { .what = "lengths in millimetres", .unit = 1e-3 },
  { .what = "lengths in inches", .unit = 0.0254 },
  { .what = "lengths in 1/0.45 inch", .unit = 0.0254 / 0.45 },
};

/* A smooth rigid motion of reference i. */
static void reference_pose(int i, int frame, bool still, double quat[4], double place[3])
{
  const double t = still ? 0 : 0.05 * frame, one[4] = { 1 },
               turn[3] = { 0.1 * t, 0.2 * sin(t), 0.8 * t * (i + 1) };
  perp_quat_retract(one, turn, quat);
  for (int c = 0; c < 3; c++) place[c] = still ? 0 : (c + 1) * 5 * sin(t + i);
}

static void build(const variant *v, perp_bvh *to)
{
  int map[MOST], helper = -1, above = 0, thing = -1;
  const double zero[3] = { 0 }, k = v->unit > 0 ? 0.01 / v->unit : 1;
  *to = (perp_bvh){ .frames = FRAMES, .frame_time = walk.frame_time };
  for (int i = 0; i < 2 && v->above[i] != NULL; i++, above++)
    add(to, v->above[i], i - 1, false, i > 0 ? v->offset[i - 1] : zero, 3, 3);
  if (v->thing != NULL && above > 0 && strcmp(v->on, v->above[0]) == 0) {
    const double arm[3] = { v->arm, 0, 0 }, tip[3] = { 0, v->tip, 0 };
    thing = to->n;
    add(to, v->thing, 0, false, arm, v->moves == 2 ? 3 : 0, 3);
    add(to, v->thing, thing, true, tip, 0, 0);
  }
  for (int j = 0; j < walk.n; j++) {
    const perp_bvh_joint *from = &walk.joint[j];
    int parent = from->parent >= 0 ? map[from->parent] : above - 1;
    double offset[3];
    for (int c = 0; c < 3; c++) offset[c] = k * from->offset[c];
    if (j == 0 && above > 0) memcpy(offset, v->offset[above - 1], sizeof offset);
    if (v->split != NULL && !from->end && strcmp(v->split, from->name) == 0) {
      helper = to->n;
      add(to, "Helper", parent, false, offset, 0, 3);
      parent = helper;
      memset(offset, 0, sizeof offset);
    }
    map[j] = to->n;
    const int places = from->end ? 0 : j == 0 ? (v->hips_fixed ? 0 : 3) : v->placed > 0 ? 3 : 0;
    add(to, from->name, parent, from->end, offset, places, from->end ? 0 : 3);
    if (v->thing != NULL && thing < 0 && !from->end && strcmp(v->on, from->name) == 0) {
      const double arm[3] = { v->arm, 0, 0 }, tip[3] = { 0, v->tip, 0 };
      thing = to->n;
      add(to, v->thing, map[j], false, arm, v->moves == 2 ? 3 : 0, 3);
      add(to, v->thing, thing, true, tip, 0, 0);
    }
  }
  to->value = perp_pool_alloc(&to->pool, (size_t)(FRAMES * to->channels) + 1, sizeof *to->value);
  for (int j = 0; j < to->n; j++) to->joint[j].placed = to->joint[j].parent >= 0;
  for (int frame = 0; frame < FRAMES; frame++) {
    double up[4] = { 1 }, at[3] = { 0 };
    for (int i = 0; i < above; i++) {
      double quat[4], place[3], whole[4], R[9], arm[3];
      reference_pose(i, frame, v->still, quat, place);
      perp_bvh_set_pose(to, i, frame, quat, place);
      perp_quat_matrix(up, R);
      perp_turn(3, R, place, arm);
      for (int c = 0; c < 3; c++) at[c] += arm[c];
      perp_quat_product(up, quat, whole);
      memcpy(up, whole, sizeof up);
    }
    for (int j = 0; j < walk.n; j++) {
      double quat[4], place[3], mine[4], R[9], there[3];
      if (walk.joint[j].end) continue;
      perp_bvh_pose(&walk, j, frame, quat, place);
      for (int c = 0; c < 3; c++) place[c] *= k;
      if (j == 0 && above > 0) { /* in the reference */
        const double back[4] = { up[0], -up[1], -up[2], -up[3] };
        for (int c = 0; c < 3; c++) there[c] = place[c] - at[c];
        perp_quat_matrix(up, R);
        perp_turn_back(3, R, there, place);
        perp_quat_product(back, quat, mine);
        memcpy(quat, mine, sizeof quat);
      }
      if (j > 0 && v->placed == 2) memset(place, 0, sizeof place);
      const bool split = helper >= 0 && map[j] == helper + 1;
      if (split) {
        const double one[4] = { 1 };
        perp_bvh_set_pose(to, helper, frame, quat, place);
        memcpy(quat, one, sizeof quat);
      }
      perp_bvh_set_pose(to, map[j], frame, quat, place);
    }
    if (thing >= 0 && v->moves > 0) {
      const double one[4] = { 1 }, turn[3] = { 0.4 * sin(0.3 * frame), 0, 0.2 };
      double quat[4], place[3] = { v->arm, 7 * sin(0.1 * frame), 0.5 * frame };
      perp_quat_retract(one, turn, quat);
      perp_bvh_set_pose(to, thing, frame, quat, place);
    }
  }
}

/* ---- scenes ---- */

static void open_scene(const char *path, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, path, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, scene) != PERP_OK)
    bail("%s: %s", path, ctx.msg);
  perp_spec_free(&spec);
}

static char *write_bvh(const perp_bvh *bvh, int number)
{
  perp_text text = { 0 };
  char *path = perp_xprintf("%s/v%d.bvh", folder, number);
  perp_bvh_write(bvh, &text);
  if (perp_write_file(&ctx, path, text.s, text.n) != PERP_OK) bail("%s", ctx.msg);
  perp_text_free(&text);
  return path;
}

static int body_of(const perp_model *model, const char *name)
{
  for (int b = 0; b < perp_model_bodies(model); b++)
    if (strcmp(perp_model_body(model, b)->name, name) == 0) return b;
  return -1;
}

static void compare(const variant *v, int number, perp_scene *base)
{
  perp_bvh bvh;
  perp_scene s;
  build(v, &bvh);
  char *path = write_bvh(&bvh, number);
  open_scene(path, &s);
  const perp_model *a = base->model, *b = s.model;
  const int n = perp_model_bodies(a);
  double mass = 0, place = 0, q[7 * MOST], r[7 * MOST], vel[6 * MOST];
  ok(perp_model_bodies(b) == n, "%s: %d bodies, as without", v->what, perp_model_bodies(b));
  for (int i = 0; i < n; i++) {
    const int at = body_of(b, perp_model_body(a, i)->name);
    mass = fmax(
        mass,
        at < 0 ? 1 : fabs(perp_model_body(a, i)->mass.mass - perp_model_body(b, at)->mass.mass));
  }
  below(mass, 1e-9, "%s: masses are those of the walk (%.1e kg)", v->what, mass);
  perp_playback *mine = perp_truth_playback_of(&s), *walks = perp_truth_playback_of(base);
  for (int k = 0; k < FRAMES; k += 4) {
    perp_playback_state(walks, k * walk.frame_time, q, vel, NULL);
    perp_playback_state(mine, k * walk.frame_time, r, vel, NULL);
    for (int i = 0; i < n; i++) {
      const int at = body_of(b, perp_model_body(a, i)->name);
      for (int c = 0; c < 3 && at >= 0; c++)
        place = fmax(place, fabs(q[7 * i + c] - r[7 * at + c]));
    }
  }
  if (!v->hips_fixed)
    below(place, 1e-9, "%s: places are those of the walk (%.1e m)", v->what, place);
  perp_scene_destroy(&s);
  perp_bvh_free(&bvh);
  unlink(path);
  free(path);
}

/* ---- fingers, parts of the hand ---- */

static void fingers(void)
{
  perp_bvh bvh = { .frames = 1, .frame_time = 0.1 };
  perp_diag diag = { 0 };
  perp_figure figure;
  const double one[3] = { 1, 0, 0 }, up[3] = { 0, 50, 0 }, down[3] = { 0, -80, 0 };
  add(&bvh, "Hips", -1, false, one, 3, 3);
  add(&bvh, "LeftThigh", 0, false, one, 0, 3);
  add(&bvh, "", 1, true, down, 0, 0);
  add(&bvh, "Chest", 0, false, up, 0, 3);
  add(&bvh, "LeftArm", 3, false, up, 0, 3);
  add(&bvh, "LeftForeArm", 4, false, one, 0, 3);
  add(&bvh, "LeftHand", 5, false, one, 0, 3);
  add(&bvh, "LeftIndex1", 6, false, one, 0, 3);
  add(&bvh, "", 7, true, one, 0, 0);
  add(&bvh, "LeftPinky1", 6, false, one, 0, 3);
  add(&bvh, "", 9, true, one, 0, 0);
  bvh.value = perp_pool_alloc(&bvh.pool, (size_t)bvh.channels, sizeof *bvh.value);
  if (!perp_figure_build(&diag, "f", &bvh, &figure)) bail("%s", diag.text.s);
  double hand = 0, all = 0;
  for (int i = 0; i < figure.n; i++) {
    all += figure.segment[i].mass;
    if (figure.segment[i].class == PERP_FIGURE_HAND) hand += figure.segment[i].mass;
  }
  ok(figure.n == 8, "fingers without words of the table are segments");
  near(all, 73, 1e-12, 0, "all masses are 73 kg");
  ok(hand < 1.2, "hand and fingers share the mass of a hand: %.2f kg", hand);
  perp_figure_free(&figure);
  perp_bvh_free(&bvh);
}

/* Of a robot's arm no name is known: nothing but nodes of no length is left out. */
static void robot(void)
{
  perp_bvh bvh = { .frames = 3, .frame_time = 0.1 };
  perp_diag diag = { 0 };
  perp_figure figure;
  const double zero[3] = { 0 }, up[3] = { 0, 50, 0 };
  add(&bvh, "base", -1, false, zero, 3, 3);
  add(&bvh, "link1", 0, false, up, 0, 1);
  add(&bvh, "link2", 1, false, up, 0, 1);
  add(&bvh, "", 2, true, up, 0, 0);
  bvh.value = perp_pool_alloc(&bvh.pool, 3 * (size_t)bvh.channels, sizeof *bvh.value);
  if (!perp_figure_build(&diag, "f", &bvh, &figure)) bail("%s", diag.text.s);
  ok(figure.n == 3, "an arm of unknown names keeps its %d links", figure.n);
  perp_figure_free(&figure);
  perp_bvh_free(&bvh);
}

/* ---- jumps ---- */

/* A body along x = a t^2 / 2, turned about z by b t^2 / 2, that jumps by `by` after frame k. */
static int jumps(double a, double b, double by, int k, double h, perp_jump *jump)
{
  enum { N = 30 };
  const int n = b > 0 ? 3 : N; /* before it turns by half a turn in a step */
  double q[7 * N] = { 0 }, t[N];
  for (int i = 0; i < N; i++) {
    t[i] = i * h;
    const double angle = b * t[i] * t[i] / 2;
    q[7 * i] = a * t[i] * t[i] / 2 + (i > k ? by : 0);
    q[7 * i + 3] = cos(angle / 2), q[7 * i + 6] = sin(angle / 2);
  }
  return perp_jumps_find(n, t, 1, q, 1, true, true, jump, 4);
}

static void test_jumps(void)
{
  perp_jump jump[4] = { { .after = -1 } };
  const double h = 1.0 / 30, g = 9.81;
  ok(jumps(49.9 * g, 0, 0, 0, h, jump) == 0, "49.9 g is no jump");
  ok(jumps(50.1 * g, 0, 0, 0, h, jump) > 0 && fabs(jump[0].acceleration - 50.1 * g) < 1e-6 * g,
     "50.1 g is: %.9g m/s^2", jump[0].acceleration);
  for (int k = 0; k < 28; k += 3) {
    const int n = jumps(0, 0, 0.6, k, h, jump);
    ok(n == 1 && jump[0].after == k && !jump[0].turns && jump[0].body == 0,
       "a jump after frame %d is one, there", k);
    near(jump[0].acceleration, 0.6 / (h * h), 1e-9, 1e-12, "with its second difference");
  }
  ok(jumps(0, 480, 0, 0, h, jump) == 0, "480 rad/s^2 is no jump");
  ok(jumps(0, 500, 0, 0, h, jump) > 0 && jump[0].turns, "500 rad/s^2 is, with 32 degrees a step");
  /* a first pose that stands alone: 12 cm at 120 Hz would be 50 g, 6 cm at 30 Hz are 5.5 g */
  ok(jumps(0, 0, 0.06, 0, h, jump) == 0, "6 cm before the second pose are no jump at 30 Hz");
  ok(jumps(0, 0, 0.12, 0, h, jump) == 1 && jump[0].after == 0, "12 cm are, by 11 g");
  ok(jumps(0, 0, 0.12, 28, h, jump) == 1 && jump[0].after == 28, "before the last pose, too");
  ok(jumps(0, 0, 0.12, 12, h, jump) == 0, "in between 11 g are no jump");
  ok(jumps(0, 600, 0, 0, h / 4, jump) == 0, "600 rad/s^2 of 2 degrees a step is noise");
}

int main(void)
{
  perp_diag diag = { 0 };
  const char *source = getenv("PERP_SOURCE");
  char *path = perp_xprintf("%s/experiments/scenes/examples/walk.bvh",
                            source != NULL ? source : ".");
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  perp_scene_files_register(&ctx);
  if (mkdtemp(folder) == NULL) bail("no folder");
  if (!perp_bvh_load(&diag, NULL, path, &walk)) bail("%s", diag.text.s);
  free(path);
  perp_scene base;
  walk.frames = FRAMES;
  path = write_bvh(&walk, 99);
  open_scene(path, &base);
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
    compare(&variants[i], (int)i, &base);
  fingers();
  robot();
  test_jumps();
  perp_scene_destroy(&base);
  perp_bvh_free(&walk);
  unlink(path);
  rmdir(folder);
  free(path);
  return tap_done();
}
