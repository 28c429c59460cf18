/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Poses of scene files, by the coordinates of drives and by hand; the scenes of figures that come
 * with perp against statics and momentum. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/tap.h"
#include "experiments/base/files.h"

#include <string.h>
#include <unistd.h>

static perp_ctx ctx;
static char folder[] = "/tmp/perp-pose-XXXXXX";

static bool build(const char *name, const char *text, perp_scene *scene)
{
  perp_spec spec;
  if (text != NULL && perp_write_file(&ctx, name, text, strlen(text)) != PERP_OK)
    bail("%s", ctx.msg);
  if (perp_spec_parse(&ctx, PERP_KIND_scene, name, &spec) != PERP_OK) return false;
  const bool good = perp_scene_create(&ctx, &spec, scene) == PERP_OK;
  perp_spec_free(&spec);
  return good;
}

/* ---- poses ---- */

#define HEAD "schema: perp-scene/1\n"
#define BODY ", mass: 1, inertia: [1, 2, 2.5], "
#define BODIES                                                                                     \
  "bodies:\n  - { name: a" BODY "x: [0, 0, 0] }\n"                                                 \
  "  - { name: b" BODY "x: [1, 0, 0], turn: { axis: [1, 2, 3], angle: 0.4 } }\n"                   \
  "  - { name: c" BODY "x: [1, 1, 0] }\n  - { name: d" BODY "x: [-1, 0, 0] }\n"
/* the axes of the ball are not at a right angle, a universal's are */
#define JOINTS                                                                                     \
  "joints:\n  - { name: hip, kind: ball, a: a, b: b, at: [0.4, 0, 0], axis_a: [0, 1, 0], axis_b: " \
  "[0.2, 0.3, 1] }\n"                                                                              \
  "  - { name: knee, kind: hinge, a: b, b: c, at: [1, 0.5, 0], axis: [1, 0.2, 0] }\n"              \
  "  - { name: arm, kind: universal, a: a, b: d, at: [-0.4, 0, 0], axis_a: [0, 1, 0], axis_b: "    \
  "[0, "                                                                                           \
  "0, 1] }\n"

static void test_angles(void)
{
  static const struct {
    const char *name;
    double angle;
  } want[] = { { "hip.a", 0.5 + 0.1 }, { "hip.node", -0.3 }, { "hip.b", 0.7 },  { "knee.a", 1.1 },
               { "arm.a", 2.0 },       { "arm.b", -0.6 },    { "knee.free", 0 } };
  perp_scene s;
  if (!build("pose.yaml",
             HEAD
             "parameters: { big: { default: 0.5, unit: rad } }\n" BODIES JOINTS
             "pose:\n  - { joint: knee, a: 1.1 }\n"
             "  - { joint: hip, a: big, node: -0.3, b: 0.7 }\n  - { joint: arm, a: 2, b: -0.6 }\n"
             "drives:\n"
             "  - { name: hip.a, joint: hip, axis: a, zero: 0.1, lower: -3 }\n"
             "  - { name: hip.node, joint: hip, axis: node, zero: 0, lower: -3 }\n"
             "  - { name: hip.b, joint: hip, axis: b, zero: 0, lower: -3 }\n"
             "  - { name: knee.a, joint: knee, axis: a, zero: 0, lower: -3 }\n"
             "  - { name: arm.a, joint: arm, axis: a, zero: 0, lower: -3 }\n"
             "  - { name: arm.b, joint: arm, axis: b, zero: 0, lower: -3 }\n"
             "  - { name: knee.free, joint: knee, axis: a, lower: -3 }\n",
             &s))
    bail("%s", ctx.msg);
  const double *q = perp_model_q0(s.model);
  for (int i = 0; i < 7; i++)
    near(perp_model_drive_coordinate(s.model, q, i), want[i].angle, 1e-12, 0,
         "%s is counted from %g", want[i].name, want[i].angle);
  /* the same model without a pose: the angles from there to here are those that were asked for */
  perp_scene plain;
  if (!build("plain.yaml",
             HEAD BODIES JOINTS "drives:\n"
                                "  - { joint: hip, axis: a, lower: -3 }\n"
                                "  - { joint: hip, axis: node, lower: -3 }\n"
                                "  - { joint: hip, axis: b, lower: -3 }\n"
                                "  - { joint: knee, axis: a, lower: -3 }\n"
                                "  - { joint: arm, axis: a, lower: -3 }\n"
                                "  - { joint: arm, axis: b, lower: -3 }\n",
             &plain))
    bail("%s", ctx.msg);
  double C[64], most = 0;
  for (int i = 0; i < 6; i++)
    near(perp_model_drive_coordinate(plain.model, q, i), want[i].angle - (i == 0 ? 0.1 : 0), 1e-12,
         0, "%s is turned by that", want[i].name);
  perp_model_error(plain.model, 0, q, C);
  for (int i = 0; i < perp_model_m(plain.model); i++) most = fmax(most, fabs(C[i]));
  below(most, 1e-14, "all joints hold");
  ok(memcmp(q, perp_model_q0(plain.model), 7 * sizeof *q) == 0, "body a stays where it is");
  perp_scene_destroy(&plain);
  perp_scene_destroy(&s);
}

static void test_body(void)
{
  perp_scene s;
  if (!build("move.yaml",
             HEAD BODIES JOINTS
             "pose:\n  - { joint: knee, a: 0.3 }\n"
             "  - { body: a, turn: { axis: [0, 0, 1], angle: 90 deg }, move: [0, 0, 2 m], v: [1 "
             "m/s, 0, 0], spin: [0, 0, 3 rad/s] }\n",
             &s))
    bail("%s", ctx.msg);
  const double *q = perp_model_q0(s.model), *v = perp_model_v0(s.model);
  double rate[64], most = 0;
  near(q[7 + 1], 1, 1e-14, 0, "a body and what hangs on it, turned");
  near(q[7 + 2], 2, 1e-14, 0, "... moved");
  near(v[6 + 0], 1 - 3, 1e-14, 0, "... and they move as one body: across");
  near(v[6 + 1], 0, 1e-14, 0, "... along");
  near(v[5], 3, 1e-14, 0, "... turning");
  perp_model_rate(s.model, 0, q, v, rate);
  for (int i = 0; i < perp_model_m(s.model); i++) most = fmax(most, fabs(rate[i]));
  below(most, 1e-13, "... so that no joint is torn");
  perp_scene_destroy(&s);
  if (!build("plane.yaml",
             HEAD "scene: { dim: 2 }\nbodies:\n  - { name: a, mass: 1, inertia: 1, x: [1, 0] }\n"
                  "  - { name: b, mass: 1, inertia: 1, x: [3, 0] }\n"
                  "joints:\n  - { name: p, kind: hinge, a: world, b: a, at: [0, 0] }\n"
                  "  - { name: r, kind: ball, a: a, b: b, at: [2, 0] }\n"
                  "pose:\n  - { joint: p, a: 90 deg }\n  - { joint: r, a: -90 deg }\n",
             &s))
    bail("%s", ctx.msg);
  q = perp_model_q0(s.model);
  near(q[1], 1, 1e-14, 0, "in the plane: the first one stands");
  near(q[3], 1, 1e-14, 0, "... the second one lies, x");
  near(q[4], 2, 1e-14, 0, "... y");
  near(q[5], 0, 1e-14, 0, "... angle");
  perp_scene_destroy(&s);
}

static void test_refused(void)
{
  static const struct {
    const char *what, *pose, *message;
  } bads[] = {
    { "a joint that is not there", "{ joint: hop, a: 1 }", "there is no joint 'hop'" },
    { "a node of a hinge", "{ joint: knee, node: 1 }", "has only the angle a" },
    { "a node of a universal", "{ joint: arm, node: 1 }", "has only the angles a and b" },
    { "an angle with a unit of length", "{ joint: knee, a: 1 m }", "is in m" },
    { "neither of both", "{ a: 1 }", "needs either the key 'joint' or 'body'" },
    { "both", "{ joint: knee, body: a, a: 1 }", "needs either the key 'joint' or 'body'" },
    { "a key of the other one", "{ joint: knee, move: [0, 0, 1] }",
      "move is not allowed with a joint" },
    { "an angle of a body", "{ body: a, a: 1 }", "a is not allowed with a body" },
    { "the world", "{ body: world, move: [0, 0, 1] }", "the world cannot have a pose" },
    { "an angle of the plane", "{ body: a, angle: 1 }", "turn: { axis, angle } in space" },
    { "an unknown key", "{ joint: knee, c: 1 }", "unknown key of pose" },
    { "a joint without angles", "{ joint: rail, a: 1 }", "no angle for a pose" },
    { "a loop", "{ joint: hip, a: 1 }", "part of a closed loop" },
    { "a joint that it tears", "{ joint: pin, a: 1 }", "the initial position contradicts it" },
  };
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
    perp_scene s;
    char *name = perp_xprintf("bad%d.yaml", (int)i);
    char *text = perp_xprintf(
        HEAD BODIES JOINTS
        "  - { name: rail, kind: slider, a: world, b: a, axis: [1, 0, 0], at: [0, 0, 0], when: %s "
        "}\n"
        "  - { name: tie, kind: distance, a: c, b: a, length: sqrt(2), when: %s }\n"
        "  - { name: pin, kind: hinge, a: world, b: a, at: [0, 0, 0], axis: [0, 1, 0], when: %s }\n"
        "  - { name: peg, kind: ball, a: world, b: d, at: [-1, 0, 0], when: %s }\n"
        "pose:\n  - %s\n",
        strstr(bads[i].pose, "rail") != NULL ? "1 > 0" : "0 > 1",
        strstr(bads[i].what, "loop") != NULL ? "1 > 0" : "0 > 1",
        strstr(bads[i].pose, "pin") != NULL ? "1 > 0" : "0 > 1",
        strstr(bads[i].pose, "pin") != NULL ? "1 > 0" : "0 > 1", bads[i].pose);
    const bool built = build(name, text, &s);
    ok(!built && strstr(ctx.msg, bads[i].message) != NULL, "refused: %s: %.160s", bads[i].what,
       built ? "" : ctx.msg);
    if (built) perp_scene_destroy(&s);
    free(text);
    free(name);
  }
}

/* ---- forces of joints ---- */

static double metric(const perp_result *r, const char *name)
{
  for (int i = 0; i < r->n_metrics; i++)
    if (strcmp(r->metrics[i].name, name) == 0) return r->metrics[i].value;
  return nan("");
}

static double figure_of(const char *scene, const char *name, const char *formulation, double t_end,
                        const char **status)
{
  perp_request request = { .scene = scene, .formulation = formulation, .t_end = t_end };
  perp_result r;
  if (perp_simulate(&ctx, &request, &r) != PERP_OK) bail("%s: %s", scene, ctx.msg);
  const double value = metric(&r, name);
  /* several: all is solved, and in a pile that falls rounding chooses between solutions */
  *status = perp_result_status(&r) == PERP_CELL_OK        ? "ok"
            : perp_result_status(&r) == PERP_CELL_SEVERAL ? "several"
                                                          : "another";
  perp_result_free(&r);
  return value;
}

/* A weight on a hook: what the gauge says of a claim that is right, of one that is off by a newton,
 * of a sum. */
static void test_gauge(void)
{
  static const char text[] = HEAD
      "scene: { summary: a hook, t_end: 0.01 s, h: 1 ms }\nparameters: { off: { default: 0, unit: "
      "N }, also: { default: 0, unit: N } }\n"
      "bodies:\n  - { name: w, mass: 2, inertia: [1, 1, 1], x: [0, 0, -1] }\n"
      "  - { name: b, mass: 3, inertia: [1, 1, 1], x: [2, 0, 0.1], shape: { kind: sphere, radius: "
      "0.1 } }\n"
      "  - { name: c, mass: 4, inertia: [1, 1, 1], x: [3, 0, 0.1], shape: { kind: sphere, radius: "
      "0.1 } }\n"
      "shapes: [{ body: world, kind: plane }]\n"
      "joints:\n  - { name: hook, kind: ball, a: world, b: w, at: [0, 0, 0] }\n"
      "gauges:\n  - { kind: force, scale: 1, forces: [{ joint: hook, exact: 2 * 9.81 + off }, { a: "
      "world, b: [b, c], exact: 7 * 9.81 + 2 * off }] }\n"
      "  - { kind: force, scale: 1, forces: [{ joint: hook, exact: 2 * 9.81 + also }] }\n";
  const char *status;
  if (perp_write_file(&ctx, "hook.yaml", text, strlen(text)) != PERP_OK) bail("%s", ctx.msg);
  below(figure_of("hook.yaml", "force.rel.err", "velocity", 0, &status), 1e-9,
        "what a joint carries, and two bodies together");
  near(figure_of("hook.yaml:off=1", "force.rel.err", "velocity", 0, &status), 2, 1e-9, 0,
       "... and a claim that is wrong is seen");
  near(figure_of("hook.yaml:also=3", "force.rel.err", "velocity", 0, &status), 3, 1e-9, 0,
       "of two checks with one metric the second counts, too");
  near(figure_of("hook.yaml:off=2,also=3", "force.rel.err", "velocity", 0, &status), 4, 1e-9, 0,
       "... if it is the worse one");
}

/* ---- the scenes ---- */

static int lines_of(const char *name)
{
  char *text = perp_read_file(name, NULL);
  int n = 0;
  if (text == NULL) bail("%s is missing", name);
  for (const char *s = text; *s != '\0'; s++) n += *s == '\n';
  free(text);
  return n;
}

static void test_scenes(void)
{
  static const char *const files[] = { "hanging.yaml", "stance.yaml", "rag-doll.yaml",
                                       "staircase.yaml", "ball-hit.yaml" };
  static const struct {
    const char *scene, *formulation, *metric;
    double bound, t_end;
  } all[] = {
    { "hanging.yaml", "velocity", "force.rel.err", 1e-9, 0.3 },
    { "hanging.yaml", "acceleration", "force.rel.err", 1e-11, 0.3 },
    { "hanging.yaml:height=1.2,mass=30", "velocity", "pose.drift.max", 1e-9, 0.3 },
    { "stance.yaml", "acceleration", "force.rel.err", 1e-8, 0.05 },
    { "stance.yaml:bag=40,lean=0.1", "acceleration", "force.rel.err", 1e-8, 0.05 },
    { "stance.yaml:height=1.2,mass=30,lean=-0.05,bag=0.1", "velocity", "force.rel.err", 2e-2, 0.2 },
    { "ball-hit.yaml", "velocity", "impact.rel.err", 1e-10, 0 },
    { "ball-hit.yaml:e=1,ball=30,mass=50", "velocity", "impact.rel.err", 1e-10, 0 },
    { "ball-hit.yaml:e=1,ball=30,mass=50", "velocity", "energy.rel.max", 1e-11, 0 },
    { "ball-hit.yaml", "acceleration", "impact.rel.err", 1e-10, 0 },
    { "ball-hit.yaml:held=0", "velocity", "momentum.lin.max", 1e-12, 0 },
    { "ball-wave.yaml", "velocity", "err.tip.end", 3e-3, 0 }, /* back after the hit, 0.06 m aside */
    { "staircase.yaml:steps=3", "velocity", "energy.gain.rel", 1e-5, 0.6 },
    { "staircase.yaml:steps=3", "velocity", "pen.max", 1e-5, 0.6 },
    { "rag-doll.yaml:seed=4", "velocity", "energy.gain.rel", 1e-5, 0.7 },
    { "rag-doll.yaml:seed=5,stiffness=50,damping=5,torque=40", "velocity", "pen.max", 1e-5, 0.7 },
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    ok(lines_of(files[i]) <= 40, "%s: %d lines", files[i], lines_of(files[i]));
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const char *status;
    const double value = figure_of(all[i].scene, all[i].metric, all[i].formulation, all[i].t_end,
                                   &status);
    below(value, all[i].bound, "%s, %s: %s %.2g", all[i].scene, all[i].formulation, all[i].metric,
          value);
    ok(strcmp(status, "ok") == 0, "... and all is solved");
  }
}

/* Motions that constraints edit (Vondrak 2005, section 9.2.4), and obstacles: each with what must
 * hold, and the same without what makes it hold. */
static void test_edited(void)
{
  static const struct {
    const char *scene, *metric;
    double below, t_end;
    bool fails;
  } want[] = { { "pointing-arm.yaml", "statics.err.max", 2e-3, 2, false },
               { "pointing-arm.yaml:stiffness=1000", "statics.err.max", 2e-3, 2, true },
               { "basket.yaml", "force.rel.err", 1e-6, 6, false },
               { "basket.yaml:friction=0", "force.rel.err", 1e-6, 6, true },
               { "umbrella.yaml", "drift.pos.max", 5e-3, 2, false },
               { "obstacles.yaml", "pen.max", 1e-6, 1.8, false } };
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    const char *status;
    const double is = figure_of(want[i].scene, want[i].metric, "velocity", want[i].t_end, &status);
    const bool solved = strcmp(status, "another") != 0;
    ok(solved && (is < want[i].below) == !want[i].fails, "%s: %s is %.3g (%s %g)", want[i].scene,
       want[i].metric, is, want[i].fails ? "not below" : "below", want[i].below);
  }
}

int main(void)
{
  const char *source = getenv("PERP_SOURCE");
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  char here[4096];
  if (getcwd(here, sizeof here) == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0)
    bail("no folder");
  test_angles();
  test_body();
  test_refused();
  test_gauge();
  char *remove = perp_xprintf("rm -r %s", folder);
  char *path = perp_xprintf("%s/experiments/scenes/examples", source != NULL ? source : ".");
  if (chdir(here) != 0 || chdir(path) != 0 || system(remove) != 0) bail("%s", path);
  test_scenes();
  test_edited();
  free(remove);
  free(path);
  return tap_done();
}
