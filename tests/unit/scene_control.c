/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `control` of scene files: what is refused, with its message; what it adds, and what
 * it leaves alone. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "tests/run_model.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static perp_ctx ctx;
static char folder[] = "/tmp/perp-control-XXXXXX";

static void put(const char *name, const char *text)
{
  if (perp_write_file(&ctx, name, text, strlen(text)) != PERP_OK) bail("%s", ctx.msg);
}

static void build(const char *spec_text, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, spec_text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, scene) != PERP_OK)
    bail("%s: %s", spec_text, ctx.msg);
  perp_spec_free(&spec);
}

#define HEAD "schema: perp-scene/1\n"
/* An arm on the world, of a hinge, a ball joint and a hinge again, and a body that nothing holds;
 * the section is line 12. */
#define ARM                                                                                        \
  HEAD "scene: { t_end: 1 s, h: 1 ms }\n"                                                          \
       "bodies:\n"                                                                                 \
       "  - { name: upper, mass: 2, inertia: [0.1, 0.2, 0.3], x: [0.5, 0, 0] }\n"                  \
       "  - { name: lower, mass: 1, inertia: [0.1, 0.1, 0.1], x: [1.5, 0, 0] }\n"                  \
       "  - { name: hand, mass: 0.5, inertia: [0.02, 0.03, 0.04], x: [2.25, 0, 0] }\n"             \
       "  - { name: thrown, mass: 1, inertia: [1, 1, 1], x: [0, 5, 0], v: [1, 2, 3], w: [0, 0, "   \
       "4] }\n"                                                                                    \
       "joints:\n"                                                                                 \
       "  - { kind: hinge, a: world, b: upper, at: [0, 0, 0], axis: [0, 1, 0] }\n"                 \
       "  - { kind: ball, a: upper, b: lower, at: [1, 0, 0] }\n"                                   \
       "  - { kind: hinge, a: lower, b: hand, at: [2, 0, 0], axis: [0, 1, 0] }\n"
/* Two bodies that float; line 7. */
#define FLOATS                                                                                     \
  HEAD "bodies:\n"                                                                                 \
       "  - { name: a, mass: 1, inertia: [1, 1, 1] }\n"                                            \
       "  - { name: b, mass: 1, inertia: [1, 1, 1], x: [1, 0, 0] }\n"                              \
       "joints:\n"                                                                                 \
       "  - { kind: ball, a: a, b: b, at: [0.5, 0, 0] }\n"
/* A pendulum in the plane, horizontal; line 6. */
#define PENDULUM                                                                                   \
  HEAD "scene: { dim: 2, gravity: 0, t_end: 1 s, h: 1 ms }\n"                                      \
       "bodies: [ { name: bob, mass: 1, inertia: 0.1, x: [1, 0] } ]\n"                             \
       "joints:\n"                                                                                 \
       "  - { kind: hinge, a: world, b: bob, at: [0, 0] }\n"
/* One that hangs on a universal joint; line 6. */
#define UNIVERSAL                                                                                  \
  HEAD "bodies:\n"                                                                                 \
       "  - { name: a, mass: 1, inertia: [1, 1, 1], x: [1, 0, 0] }\n"                              \
       "joints:\n"                                                                                 \
       "  - { kind: universal, name: cross, a: world, b: a, at: [0, 0, 0], axis_a: [0, 1, 0], "    \
       "axis_b: [0, 0, 1] }\n"
#define LOOP                                                                                       \
  FLOATS "  - { kind: distance, a: world, b: a, anchor_a: [0, 1, 0], length: 1 }\n"                \
         "  - { kind: distance, a: world, b: b, anchor_a: [1, 1, 0], length: 1 }\n"

static const char bvh[] =
    "HIERARCHY\nROOT bob\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation "
    "Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 1 0\n}\n}\nMOTION\nFrames: 2\nFrame Time: 0.1\n"
    "0 0 0 0 0 0\n0 0 0 0 0 0\n";

/* ---- what is refused ---- */

static const struct bad {
  const char *what, *text, *place, *message, *hint;
} bads[] = {
  { "a joint besides that is none", ARM "control: { by: pd, besides: [pull] }\n", "f.yaml:12:30",
    "there is no joint 'pull'", NULL },
  { "a joint besides among the others",
    ARM "  - { kind: ball, name: pull, a: world, b: hand, anchor_a: [3, 0, 0], start: violates, "
        "stiffness: 10 }\n  - { kind: ball, a: lower, b: thrown, at: [0, 5, 0], start: violates }\n"
        "control: { by: pd, besides: [pull], loose: [thrown] }\n",
    "f.yaml:14:30", "joints of besides come last", NULL },
  { "a negative release", ARM "control: { by: pd, release: -1 }\n", "f.yaml:12:29",
    "release must be an angle above 0", NULL },
  { "an unknown controller", ARM "control: { by: pdd }\n", "f.yaml:12:16", "unknown value 'pdd'",
    "did you mean 'pd'?" },
  { "no controller", ARM "control: { frequency: 3 Hz }\n", "f.yaml:12:10",
    "'control' needs the key 'by', the name of a controller", "perp list controllers" },
  { "a list", ARM "control: [ { by: pd } ]\n", "f.yaml:12:10", "control", NULL },
  { "an unknown key", ARM "control: { by: pd, frequenzy: 3 Hz }\n", "f.yaml:12:20",
    "unknown key of control: 'frequenzy'", "'frequency'" },
  { "a unit that does not fit", ARM "control: { by: pd, frequency: 3 kg }\n", "f.yaml:12:31",
    "is in kg", NULL },
  { "a frequency of 0", ARM "control: { by: pd, frequency: 0 }\n",
    "f.yaml:12:", "frequency must be in (0, inf)", NULL },
  { "a negative bound", ARM "control: { by: soft, max_force: -1 }\n",
    "f.yaml:12:", "max_force must be in (0, inf", NULL },
  { "a word for a number", ARM "control: { by: soft, rate: fast }\n", "f.yaml:12:28", "'fast'",
    NULL },
  { "an unknown way of the root", ARM "control: { by: pd, root: fixed }\n", "f.yaml:12:26",
    "unknown value 'fixed'", "free, prescribed, controlled" },
  { "a loose body that is not there", ARM "control: { by: pd, loose: [upper, hands] }\n",
    "f.yaml:12:35", "there is no body 'hands'", "did you mean 'hand'?" },
  { "loose without a list", ARM "control: { by: pd, loose: hand }\n", "f.yaml:12:27",
    "loose must be a list of bodies", NULL },
  { "a motion that is not there", ARM "control: { by: pd, file: none.bvh }\n", "f.yaml:12:26",
    "none.bvh", NULL },
  { "a motion of bodies that are not there", ARM "control: { by: pd, file: bob.bvh }\n",
    "f.yaml:12:26", "bob.bvh moves bob, but the scene has no body of that name", NULL },
  { "a motion of space for the plane", PENDULUM "control: { by: pd, file: bob.bvh }\n",
    "f.yaml:6:26", "bob.bvh is a motion in space, but the scene is in the plane", NULL },
  { "a motion of the plane for space", ARM "control: { by: pd, file: turn.csv }\n", "f.yaml:12:26",
    "'bob.x' is not a coordinate of a body", NULL },
  { "a motion that begins elsewhere", PENDULUM "control: { by: pd, file: off.csv }\n",
    "f.yaml:6:26", "the motion begins in another pose than the scene: body 0 'bob' is", NULL },
  { "servos for a root that floats", FLOATS "control: { by: implicit-pd, root: controlled }\n",
    "f.yaml:7:10", "controller implicit-pd acts on joints, and a floating root has none",
    "free or prescribed" },
  { "soft servos for a root that floats", FLOATS "control: { by: soft, root: controlled }\n",
    "f.yaml:7:10", "controller soft acts on joints, and a floating root has none", NULL },
  { "a universal joint", UNIVERSAL "control: { by: pd }\n", "f.yaml:6:10",
    "controllers support ball joints, hinges and sliders: the joint of body 0 'a' is of another",
    "declare it loose" },
  { "a scale below 0", ARM "control: { by: pd, file: bob.bvh, scale: -1 m }\n",
    "f.yaml:12:", "scale", NULL },
  { "a scale of no file", ARM "control: { by: pd, scale: 1 m }\n", "f.yaml:12:", "scale", NULL },
  { "an origin without a scale", ARM "control: { by: pd, file: bob.bvh, origin: [1, 0, 0] }\n",
    "f.yaml:12:", "origin", NULL },
  { "a unit that does not fit, of another controller",
    ARM "control: { by: muscle, frequency: 3 kg }\n", "f.yaml:12:", "is in kg", NULL },
  { "a loose body that is not there, of none", ARM "control: { by: none, loose: [nobody] }\n",
    "f.yaml:12:", "there is no body 'nobody'", NULL },
  { "no tree", LOOP "control: { by: pd }\n", "f.yaml:9:10", "closes a loop", NULL },
};

static void refused(void)
{
  put("bob.bvh", bvh);
  put("turn.csv", "t [s], bob.x [m], bob.y [m], bob.angle [rad]\n0, 1, 0, 0\n1, 1, 0, 0\n");
  put("off.csv", "t [s], bob.x [m], bob.y [m], bob.angle [rad]\n0, 0, 1, 1.5707963267948966\n"
                 "1, 0, 1, 1.5707963267948966\n");
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
    const struct bad *b = &bads[i];
    perp_diag diag = { 0 };
    const bool good = perp_scene_text_check(&ctx, "f.yaml", b->text, strlen(b->text), &diag);
    const char *said = diag.text.s != NULL ? diag.text.s : "";
    if (!ok(!good && diag.errors == 1 && strncmp(said, b->place, strlen(b->place)) == 0 &&
                strstr(said, b->message) != NULL &&
                (b->hint == NULL || strstr(said, b->hint) != NULL),
            "%s: one error at %s %s", b->what, b->place, b->message))
      tap_note("%d errors: %.700s\n", diag.errors, said);
    perp_diag_free(&diag);
  }
  static const char *const goods[] = {
    ARM "control: { by: none, loose: [hand] }\n", UNIVERSAL "control: { by: pd, loose: [a] }\n",
    FLOATS "control: { by: soft, root: free }\n", FLOATS "control: { by: pd, root: controlled }\n",
    ARM "control: { by: pd, frequency: 120 / (60 s), ratio: 0.5, rate: 3 Hz, max_force: 20 Nm }\n"
  };
  for (size_t i = 0; i < sizeof goods / sizeof *goods; i++) {
    perp_diag diag = { 0 };
    if (!ok(perp_scene_text_check(&ctx, "f.yaml", goods[i], strlen(goods[i]), &diag), "read: %s",
            strstr(goods[i], "control:") + 9))
      printf("# %.500s\n", diag.text.s);
    perp_diag_free(&diag);
  }
}

/* ---- what it does ---- */

enum { BODIES = 4, NQ = 7 * BODIES, NV = 6 * BODIES };
enum { UPPER, LOWER, HAND, THROWN };
#define END 0.5 /* s */

/* theta'' = m g l cos(theta) / I: of the hand from the horizontal down, by the classical
 * Runge-Kutta method */
static double falls(double inertia, double moment, double t_end)
{
  const int n = 20000;
  const double h = t_end / n, a = moment / inertia;
  double x = 0, v = 0;
  for (int i = 0; i < n; i++) {
    const double k1 = v, l1 = a * cos(x), k2 = v + h / 2 * l1, l2 = a * cos(x + h / 2 * k1),
                 k3 = v + h / 2 * l2, l3 = a * cos(x + h / 2 * k2), k4 = v + h * l3,
                 l4 = a * cos(x + h * k3);
    x += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), v += h / 6 * (l1 + 2 * l2 + 2 * l3 + l4);
  }
  return x;
}

/* The arm until END; *scene: its model, for the caller to destroy */
static void run_arm(const char *control, run_parts parts, perp_scene *scene, double *q, double *v)
{
  static int n;
  char name[40], *text = perp_xprintf(ARM "control: %s\n", control);
  snprintf(name, sizeof name, "arm%d.yaml", n++);
  put(name, text);
  free(text);
  build(name, scene);
  if (run_fresh(&ctx, scene->model, parts, 1e-3, END, q, v) < 0) bail("%s: no run", control);
}

static double moved(const perp_model *m, const double *q, int first, int last)
{
  double d[NV], most = 0;
  perp_model_difference(m, perp_model_q0(m), q, d);
  for (int i = 6 * first; i < 6 * (last + 1); i++) most = fmax(most, fabs(d[i]));
  return most;
}

static void arms(void)
{
  const run_parts rk4 = { "acceleration", "rk4", "", "post" },
                  velocity = { "velocity", "", "", "", "dantzig" };
  static const struct {
    const char *by;
    bool servo;
    double holds; /* rad, m: how far it is off its posture at most, and more than a tenth of that */
  } all[] = { { "feed-forward", false, 0 }, { "feed-forward+pd", false, 0 },
              { "muscle", false, 0 },       { "prescribed", false, 0 },
              { "pd", false, 0.2 },         { "implicit-pd", true, 0.2 },
              { "markers", true, 0.05 },    { "feed-forward+implicit-pd", true, 0 },
              { "soft", true, 0 } };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    perp_scene s;
    double q[NQ], v[NV];
    char control[200];
    snprintf(control, sizeof control, "{ by: %s }", all[i].by);
    run_arm(control, all[i].servo ? velocity : rk4, &s, q, v);
    const double most = moved(s.model, q, UPPER, HAND);
    if (all[i].holds > 0)
      ok(most < all[i].holds && most > all[i].holds / 10, "%s sags: %.2g off the posture",
         all[i].by, most);
    else
      below(most, 1e-5, "%s without a file holds the posture at the start: %.2g off", all[i].by,
            most);
    /* what has no joints flies: order 1 of the velocity level falls h g t / 2 lower */
    const double h = all[i].servo ? 1e-3 : 0;
    const double *x = q + 7 * THROWN, *u = v + 6 * THROWN;
    const double off = fabs(x[0] - END) + fabs(x[1] - 5 - 2 * END) +
                       fabs(x[2] - (3 * END - 0.5 * 9.81 * END * (END + h))) + fabs(u[0] - 1) +
                       fabs(u[1] - 2) + fabs(u[2] - (3 - 9.81 * END)) + fabs(u[5] - 4);
    below(off, 1e-9, "%s: a body without joints flies on", all[i].by);
    perp_scene_destroy(&s);
    snprintf(control, sizeof control, "{ by: %s, loose: [hand] }", all[i].by);
    if (all[i].holds > 0) continue;
    run_arm(control, all[i].servo ? velocity : rk4, &s, q, v);
    /* only what holds whatever hangs on it stays: there the hand is a pendulum on a pivot at rest
     */
    const double expected = falls(0.03 + 0.5 * 0.0625, 0.5 * 9.81 * 0.25, END);
    double R[9];
    perp_model_rotation(s.model, q, HAND, R);
    const double angle = atan2(-R[2], R[0]);
    const bool still = strcmp(all[i].by, "prescribed") == 0;
    if (still)
      below(fabs(remainder(angle - expected, 2 * M_PI)), 1e-6,
            "%s, loose: [hand]: it swings as a pendulum, %.3f rad", all[i].by, expected);
    if (still) below(moved(s.model, q, UPPER, LOWER), 1e-9, "and the rest holds");
    ok(fabs(remainder(angle, 2 * M_PI)) > 0.1, "%s: a loose hand falls", all[i].by);
    perp_scene_destroy(&s);
  }
}

static int parts_of(const char *text)
{
  perp_scene s;
  static int n;
  char name[40];
  snprintf(name, sizeof name, "parts%d.yaml", n++);
  put(name, text);
  build(name, &s);
  const int all = perp_model_force_elements(s.model) + perp_model_joints(s.model) +
                  perp_model_drives(s.model);
  perp_scene_destroy(&s);
  return all;
}

/* Forces, joints and drives that it adds. */
static void counted(void)
{
  static const struct {
    const char *text;
    int forces, of;
  } all[] = { { ARM "control: { by: none }\n", 0, 3 },
              { ARM "control: { by: pd }\n", 3, 3 },
              { ARM "control: { by: pd, loose: [hand, lower] }\n", 1, 3 },
              { ARM "control: { by: pd, loose: [upper, hand, lower] }\n", 0, 3 },
              { ARM "control: { by: implicit-pd }\n", 5, 3 },
              { ARM "control: { by: feed-forward+implicit-pd, loose: [lower] }\n", 4, 3 },
              { ARM "control: { by: prescribed, loose: [upper] }\n", 2, 3 },
              { FLOATS "control: { by: pd }\n", 2, 1 },
              { FLOATS "control: { by: pd, root: free }\n", 1, 1 },
              { FLOATS "control: { by: pd, root: controlled, loose: [a] }\n", 1, 1 } };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const int got = parts_of(all[i].text) - all[i].of;
    ok(got == all[i].forces, "%.60s: adds %d parts, got %d", strstr(all[i].text, "by:"),
       all[i].forces, got);
  }
}

/* ---- motions ---- */

/* A pendulum that turns with theta = 0.3 t + 0.5 t^2 from its start. */
static void follows(void)
{
  perp_text t = { 0 };
  perp_text_add(&t, "t [s], bob.x [m], bob.y [m], bob.angle [rad]\n");
  for (int i = 0; i <= 100; i++) {
    const double s = 0.01 * i, x = 0.3 * s + 0.5 * s * s;
    perp_text_add(&t, "%.17g, %.17g, %.17g, %.17g\n", s, cos(x), sin(x), x);
  }
  put("swing.csv", t.s);
  perp_text_free(&t);
  static const char *const by[] = { "feed-forward", "prescribed", "implicit-pd" };
  for (int i = 0; i < 3; i++) {
    perp_scene s;
    double q[3], v[3];
    char name[40], *text = perp_xprintf(PENDULUM "control: { by: %s, file: swing.csv }\n", by[i]);
    snprintf(name, sizeof name, "swing%d.yaml", i);
    put(name, text);
    free(text);
    build(name, &s);
    const double *v0 = perp_model_v0(s.model);
    below(fabs(v0[0]) + fabs(v0[1] - 0.3) + fabs(v0[2] - 0.3), 1e-9,
          "%s: the scene begins with the velocities of the motion", by[i]);
    const run_parts rows = { "velocity", "", "", "", "dantzig" },
                    stages = { "acceleration", "rk4", "", "post" };
    if (run_fresh(&ctx, s.model, i == 2 ? rows : stages, 1e-3, 0.9, q, v) < 0) bail("no run");
    const double x = 0.3 * 0.9 + 0.5 * 0.81;
    below(fabs(q[2] - x), i == 2 ? 0.01 : 1e-7, "%s: and follows it: %.2g rad off", by[i],
          fabs(q[2] - x));
    perp_scene_destroy(&s);
  }
}

/* Texts with the word of a choice. */
static void choices(void)
{
  put("choice.yaml", "parameters:\n  how: { default: none, choices: [none, pd, prescribed], help: "
                     "what drives it }\n  last: { default: hand, choices: [hand, lower], help: is "
                     "loose }\n" ARM "control: { by: \"{how}\", loose: [\"{last}\"] }\n");
  static const struct {
    const char *text;
    int forces, joints;
  } all[] = { { "choice.yaml", 0, 3 },
              { "choice.yaml:how=pd", 2, 3 },
              { "choice.yaml:how=prescribed,last=lower", 0, 5 } };
  for (int i = 0; i < 3; i++) {
    perp_scene s;
    build(all[i].text, &s);
    ok(perp_model_force_elements(s.model) == all[i].forces &&
           perp_model_joints(s.model) == all[i].joints,
       "%s: the word of a choice stands in texts", all[i].text);
    perp_scene_destroy(&s);
  }
}

static uint64_t hash_of(const char *name, const char *motion)
{
  perp_spec spec;
  perp_scene s;
  put("motion.csv", motion);
  put(name, PENDULUM "control: { by: pd, file: motion.csv }\n");
  if (perp_spec_parse(&ctx, PERP_KIND_scene, name, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &s) != PERP_OK)
    bail("%s", ctx.msg);
  const uint64_t hash = perp_scene_file_hash(spec.d);
  perp_scene_destroy(&s);
  perp_spec_free(&spec);
  return hash;
}

/* The motion belongs to the content of the scene: a run with another one is another run, and
 * results have a copy. */
static void content(void)
{
  static const char
      one[] = "t [s], bob.x [m], bob.y [m], bob.angle [rad]\n0, 1, 0, 0\n1, 1, 0, 0\n",
      other[] = "t [s], bob.x [m], bob.y [m], bob.angle [rad]\n0, 1, 0, 0\n2, 1, 0, 0\n";
  const uint64_t a = hash_of("one.yaml", one), b = hash_of("two.yaml", other),
                 c = hash_of("three.yaml", one);
  ok(a == c && a != b, "the motion of a controller belongs to the content of the scene");
}

/* A constant torque turns the bob, I a'' = T, once the controller has let go; it lets go where its
 * error is 0.1 rad. */
static void lets_go(const char *control, run_parts parts)
{
  const double T = 2, I = 1.1;
  char *text = perp_xprintf(PENDULUM "forces: [ { kind: torque, a: bob, value: 2 } ]\n"
                                     "control: { by: %s, release: 0.1 }\n",
                            control);
  perp_scene s;
  perp_step_info info = { .reason = PERP_EXACT };
  put("lets-go.yaml", text);
  build("lets-go.yaml", &s);
  perp_sim *sim = run_start(&ctx, s.model, parts, 1e-3);
  double t, angle = 0, before = 0, t_before = 0, at = -1;
  const double *q, *v;
  for (t = 0; t < 0.9 && info.reason >= 0;) {
    if (perp_sim_step(&ctx, sim, 0.9, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    if (info.n_releases == 1 && at < 0)
      at = info.release[0].t, angle = q[2], before = v[2], t_before = t;
  }
  ok(info.reason >= 0 && info.n_releases == 1 && info.release[0].kind == PERP_RELEASE_STOPPED &&
         fabs(angle - 0.1) < 1e-8,
     "%s, %s: it lets go at %.4g s, an error of %.9g rad", parts.formulation, control, at, angle);
  ok(at > 0 && fabs(v[2] - before - T / I * (t - t_before)) < 1e-6,
     "... and then nothing holds the bob: w = %.9g (%.9g)", v[2], before + T / I * (t - t_before));
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
  free(text);
}

static void let_go(void)
{
  const run_parts velocity = { "velocity" }, acceleration = { "acceleration", "rk4" };
  lets_go("pd, frequency: 0.5 Hz", velocity);
  lets_go("pd, frequency: 0.5 Hz", acceleration);
  lets_go("feed-forward+pd, frequency: 0.5 Hz", (run_parts){ "impulse" });
  lets_go("implicit-pd, frequency: 0.5 Hz", velocity);
  lets_go("implicit-pd, frequency: 0.5 Hz", acceleration);
  lets_go("soft, max_force: 1.5", velocity);
  lets_go("markers, frequency: 0.3 Hz", velocity);
  lets_go("markers, frequency: 0.3 Hz", acceleration);
  perp_scene s;
  double q[3];
  put("held.yaml", PENDULUM "forces: [ { kind: torque, a: bob, value: 2 } ]\n"
                            "control: { by: prescribed, release: 0.1 }\n");
  build("held.yaml", &s);
  ok(run_fresh(&ctx, s.model, velocity, 1e-3, 0.9, q, NULL) >= 0 && fabs(q[2]) < 1e-9,
     "without an error it does not let go");
  perp_scene_destroy(&s);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  if (mkdtemp(folder) == NULL || chdir(folder) != 0) bail("no folder");
  refused();
  counted();
  arms();
  follows();
  choices();
  let_go();
  content();
  char *whole = perp_xprintf("rm -r %s", folder);
  if (system(whole) != 0) printf("# %s stays\n", folder);
  free(whole);
  return tap_done();
}
