/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scene files: what they mean, against definitions worked out by hand; what is refused, with its
 * message; tables of one's own as truths and gauges. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "tests/tap.h"
#include "experiments/base/files.h"

#include <string.h>
#include <unistd.h>

static perp_ctx ctx;
static char folder[] = "/tmp/perp-scene-XXXXXX";

static void put(const char *name, const char *text)
{
  if (perp_write_file(&ctx, name, text, strlen(text)) != PERP_OK) bail("%s", ctx.msg);
}

/* The scene of a file that has not been read yet. */
static bool build(const char *spec_text, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, spec_text, &spec) != PERP_OK) return false;
  const bool good = perp_scene_create(&ctx, &spec, scene) == PERP_OK;
  perp_spec_free(&spec);
  return good;
}

#define HEAD "schema: perp-scene/1\n"
#define BALL "bodies:\n  - { name: ball, mass: 1, inertia: [1, 1, 1] }\n"

/* ---- what is refused ---- */

static const struct bad {
  const char *what, *text, *place, *message, *hint;
} bads[] = {
  { "no schema", "bodies: []\n", "f.yaml:1:1", "schema is missing", "perp-scene/1" },
  { "another schema", "schema: perp-scene/9\n", "f.yaml:1:9", "unknown schema", "perp-scene/1" },
  { "an unknown section", HEAD "bodys: []\n", "f.yaml:2:1", "unknown section 'bodys'", "'bodies'" },
  { "a section of another form", HEAD "bodies: { a: 1 }\n", "f.yaml:2:9", "bodies must be a list",
    "- " },
  { "no bodies", HEAD, "f.yaml:1:1", "the scene has no bodies", NULL },
  { "a body without mass", HEAD "bodies:\n  - { name: a, inertia: [1, 1, 1] }\n", "f.yaml:3:5",
    "needs the key 'mass'", "density" },
  { "a mass that is not positive", HEAD "bodies:\n  - { mass: -1, inertia: [1, 1, 1] }\n",
    "f.yaml:3:13", "mass must be positive: got -1", NULL },
  { "a step longer than the run",
    "schema: perp-scene/1\nscene: { t_end: 1 s, h: 2 s }\n"
    "bodies: [{ name: a, mass: 1 }]\n",
    "f.yaml:2:25", "the step h = 2 s is longer than the run, which ends at t_end = 1 s", NULL },
  { "no inertia", HEAD "bodies:\n  - { mass: 1 }\n", "f.yaml:3:5",
    "inertia of this body is not known", "solid" },
  { "an unknown key", HEAD "bodies:\n  - { mas: 1 }\n", "f.yaml:3:7",
    "unknown key of bodies: 'mas'", "'mass'" },
  { "a comma in a text without quotes",
    HEAD "scene: { summary: a box, a ball, a wall, t_end: 1 s }\n" BALL, "f.yaml:2:26",
    "unknown key of scene: 'a ball'",
    "a text with a comma needs quotes: summary: \"a box, a ball, a wall\"" },
  { "the same at the end of a map",
    HEAD "parameters: { n: { default: 1, help: Rows, or columns } }\n" BALL, "f.yaml:2:44",
    "unknown key of a parameter: 'or columns'",
    "a text with a comma needs quotes: help: \"Rows, or columns\"" },
  { "no comma, but a key without a value", HEAD "scene:\n  summary: a box\n  frictio:\n" BALL,
    "f.yaml:4:3", "unknown key of scene: 'frictio'", "did you mean 'friction'?" },
  { "NaN", HEAD "bodies:\n  - { mass: .nan, inertia: [1, 1, 1] }\n", "f.yaml:3:13", "NaN",
    "finite" },
  { "a target without a spring",
    HEAD BALL
    "joints: [{ name: j, kind: hinge, a: world, b: ball, at: [0, 0, 0], axis: [0, 0, 1] }]\n"
    "drives: [{ joint: j, target: 1 }]\n",
    "f.yaml:5:", "a target without stiffness moves nothing", "write stiffness" },
  { "a unit that does not fit", HEAD "bodies:\n  - { mass: 3 m, inertia: [1, 1, 1] }\n",
    "f.yaml:3:13", "this is in m; required here: kg", NULL },
  { "units that do not fit each other",
    HEAD
    "let: { l: 1 m, m: 2 kg }\nbodies:\n  - { mass: 1, inertia: [1, 1, 1], x: [l + m, 0, 0] }\n",
    "f.yaml:4:44", "this is in kg; unit of the other operand: m", NULL },
  { "an unknown name", HEAD "let: { long: 1 m }\nbodies:\n  - { mass: lon, inertia: [1, 1, 1] }\n",
    "f.yaml:4:13", "unknown name 'lon'", "'long'" },
  { "no value", HEAD "bodies:\n  - { mass: 1 / 0, inertia: [1, 1, 1] }\n", "f.yaml:3:13",
    "the value is not finite", NULL },
  { "a root of a negative number", HEAD "bodies:\n  - { mass: sqrt(-1), inertia: [1, 1, 1] }\n",
    "f.yaml:3:13", "the value is not finite", NULL },
  { "a joint to a body that is not there",
    HEAD BALL "joints:\n  - { kind: ball, a: world, b: bal }\n", "f.yaml:5:32",
    "there is no body 'bal'", "did you mean 'ball'?" },
  { "a body by a number beyond", HEAD BALL "joints:\n  - { kind: ball, a: world, b: 7 }\n",
    "f.yaml:5:32", "there is no body 7", NULL },
  { "two bodies with one name",
    HEAD "bodies:\n  - { repeat: { i: 0..1 }, name: a, mass: 1, inertia: [1, 1, 1] }\n",
    "f.yaml:3:5", "the name of the body 'a' is already used", "link{i}" },
  { "a repeat of 10^9",
    HEAD "bodies:\n  - { repeat: { i: 0..999999999 }, mass: 1, inertia: [1, 1, 1] }\n",
    "f.yaml:3:20", "1000000000 repetitions: a scene has at most", NULL },
  { "repeats within repeats",
    HEAD "bodies:\n  - { repeat: { i: 0..99999, k: 0..99999 }, when: 0 > 1, mass: 1, inertia: [1, "
         "1, 1] }\n",
    "f.yaml:3:33", "at most 1000000 entries", NULL },
  { "a repeat without a range",
    HEAD "bodies:\n  - { repeat: { i: 5 }, mass: 1, inertia: [1, 1, 1] }\n", "f.yaml:3:20",
    "a range is required here", "0..n-1" },
  { "a place twice",
    HEAD "bodies:\n  - { name: a, mass: 1, inertia: [1, 1, 1], x: [0, 0, 1] }\n"
         "initial:\n  - { body: a, x: [0, 0, 2] }\n",
    "f.yaml:5:19", "defined twice (first in line 3)", "remove one" },
  { "an initial state that contradicts a joint",
    HEAD "bodies:\n  - { name: a, mass: 1, inertia: [1, 1, 1], x: [0, 0, 1] }\n"
         "joints:\n  - { kind: ball, a: world, b: a }\n",
    "f.yaml:5:5", "the initial position contradicts it", NULL },
  { "an angle in space", HEAD "bodies:\n  - { mass: 1, inertia: [1, 1, 1], angle: 1 }\n",
    "f.yaml:3:43", "not allowed with dim: 3", "quat" },
  { "a joint without a kind", HEAD BALL "joints:\n  - { a: world, b: ball }\n", "f.yaml:5:5",
    "'kind' is missing", NULL },
  { "an unknown kind", HEAD BALL "joints:\n  - { kind: bal, a: world, b: ball }\n", "f.yaml:5:13",
    "unknown joint 'bal'", "'ball'" },
  { "a row on velocities of nothing",
    HEAD BALL "joints:\n  - { kind: nonholonomic, along: [1, 0, 0] }\n", "f.yaml:5:5",
    "needs 'bodies' or 'terms'", "bodies: [b]" },
  { "a row on velocities without a direction",
    HEAD BALL "joints:\n  - { kind: nonholonomic, bodies: [ball] }\n", "f.yaml:5:5",
    "needs a direction: along or about", NULL },
  { "an arm without a unit of length",
    HEAD BALL "joints:\n  - { kind: nonholonomic, bodies: [ball], about: [0, 0, 1 s] }\n",
    "f.yaml:5:57", "is in s", NULL },
  { "a term and terms",
    HEAD BALL "joints:\n  - { kind: nonholonomic, at: [0, 0, 1], terms: [{ body: ball, along: [1, "
              "0, 0] }] }\n",
    "f.yaml:5:31", "must be written in each of the terms", NULL },
  { "a term of the world",
    HEAD BALL "joints:\n  - { kind: nonholonomic, terms: [{ along: [1, 0, 0] }] }\n", "f.yaml:5:35",
    "a term needs a body", NULL },
  { "a chain without axes", HEAD BALL "joints:\n  - { kind: chain, a: world, b: ball }\n",
    "f.yaml:5:5", "a chain needs 'axes'", "slide: [1, 0, 0]" },
  { "axes of a hinge", HEAD BALL "joints:\n  - { kind: ball, a: world, b: ball, axes: [] }\n",
    "f.yaml:5:44", "only joints of kind chain have axes", NULL },
  { "an axis that is neither",
    HEAD BALL "joints:\n  - { kind: chain, a: world, b: ball, axes: [{}, {}, {}] }\n",
    "f.yaml:5:46", "either a slide or a hinge", "hinge: [0, 0, 1]" },
  { "a hinge without a place",
    HEAD BALL "joints:\n  - { kind: chain, a: world, b: ball, axes: [{ hinge: [1, 0, 0] }, {}, "
              "{}] }\n",
    "f.yaml:5:46", "a hinge of a chain needs a place", "at: [x, y, z]" },
  { "a place of a chain",
    HEAD BALL "joints:\n  - { kind: chain, a: world, b: ball, axis_a: [1, 0, 0], axes: [{}, {}, "
              "{}] }\n",
    "f.yaml:5:47", "remove axis_a", NULL },
  { "an unknown material",
    HEAD "materials: { wood: { mu: 1 } }\n" BALL
         "shapes:\n  - { body: world, kind: plane, material: woode }\n",
    "f.yaml:6:43", "unknown material 'woode'", "'wood'" },
  { "a parameter outside of its range", HEAD "parameters: { n: { default: 0, min: 1 } }\n" BALL,
    "f.yaml:2:29", "the default must be an integer in [1", NULL },
  { "a parameter without a default", HEAD "parameters: { n: { min: 1 } }\n" BALL, "f.yaml:2:15",
    "needs the key 'default'", NULL },
  { "an unknown metric",
    HEAD BALL "gauges:\n  - { kind: table, metric: path.er.max, file: f.yaml }\n", "f.yaml:5:28",
    "unknown metric 'path.er.max'", "'path.err.max'" },
  { "a metric that is no gauge's",
    HEAD BALL "gauges:\n  - { kind: table, metric: drift.pos.max, file: f.yaml }\n", "f.yaml:5:28",
    "computed by perp itself", NULL },
  { "a table that is not there", HEAD BALL "truth:\n  - { kind: states, file: none.csv }\n",
    "f.yaml:5:27", "cannot read none.csv", NULL },
  { "a motion that begins elsewhere",
    HEAD BALL
    "truth:\n  - { kind: motion, motion: [{ body: ball, x: [1 m + t * 1 m/s, 0, 0] }] }\n",
    "f.yaml:5:5",
    "contradicts the initial state: x of body 0 is 1 in the motion and 0 in the scene", NULL },
  { "a rolling motion without its rotation",
    HEAD BALL "shapes:\n  - { body: ball, kind: sphere, radius: 1, mu: 0.5 }\n"
              "truth:\n  - { kind: motion, motion: [{ body: ball, x: [t * 1 m/s, 0, 0] }] }\n",
    "f.yaml:7:30", "leaves out its rotation", "turn: none" },
  { "a turn of another word",
    HEAD BALL "truth:\n  - { kind: motion, motion: [{ body: ball, x: [0, 0, 0], turn: no }] }\n",
    "f.yaml:5:64", "a turn must be { axis, angle }, none or unknown", NULL },
  { "a file that includes itself", HEAD "include: f.yaml\n" BALL, "f.yaml:2:10",
    "the includes form a cycle", NULL },
  { "a file that is not there", HEAD "include: none.yaml\n" BALL, "f.yaml:2:10",
    "cannot read the scene file", NULL },
  { "an event without times",
    HEAD BALL "events:\n  - { name: e, of: ball.vz }\ngauges:\n  - { kind: events }\n",
    "f.yaml:7:5", "the events need either a file, or times of their own", NULL },
  { "times that fall", HEAD BALL "events:\n  - { name: e, of: ball.vz, times: [2, 1] }\n",
    "f.yaml:5:40", "times must increase", NULL },
  { "velocities said twice",
    HEAD BALL "gauges:\n  - { kind: velocity, metric: speed.rel.err, time: 1, scale: 1 }\n",
    "f.yaml:5:5", "exact (the same for all bodies) or bodies", NULL },
  { "a quat in a section",
    HEAD "scene: { dim: 2, section: true }\nbodies:\n  - { mass: 1, inertia: [1, 1, 1], quat: [1, "
         "0, 0, 0] }\n",
    "f.yaml:4:42", "quat is not allowed with dim: 2", "turn" },
  { "a section that turns out of it",
    HEAD "scene: { dim: 2, section: true }\nbodies:\n  - { mass: 1, inertia: [1, 1, 1], turn: { "
         "axis: [1, 0, 0], angle: 1 } }\n",
    "f.yaml:4:42", "rotates about y only", "[0, 1, 0]" },
  { "a place of a section with two numbers",
    HEAD
    "scene: { dim: 2, section: true }\nbodies:\n  - { mass: 1, inertia: [1, 1, 1], x: [1, 2] }\n",
    "f.yaml:4:39", "a list of 3 numbers", NULL },
  { "a reference with a folder",
    HEAD BALL
    "truth:\n  - { kind: reference, reference: ../a.csv, uncertainty: 0, columns: [a] }\n",
    "f.yaml:5:70", "a reference is a file of perp with 13 columns", NULL },
  { "a refusal without a reason", HEAD BALL "refuse:\n  - { when: 1 > 0 }\n", "f.yaml:5:5",
    "'why' is missing", NULL },
  { "a value over t that is none",
    HEAD BALL
    "truth:\n  - { kind: motion, motion: [{ body: ball, let_t: { s: tt }, x: [s, 0, 0] }] }\n",
    "f.yaml:5:56", "unknown name 'tt'", NULL },
  { "a brace that is not closed",
    HEAD "bodies:\n  - { name: \"a{1\", mass: 1, inertia: [1, 1, 1] }\n", "f.yaml:3:15",
    "not closed", NULL },
};

static void test_refused(void)
{
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
    const struct bad *b = &bads[i];
    perp_diag diag = { 0 };
    put("f.yaml", b->text);
    bool refused = !perp_scene_text_check(&ctx, "f.yaml", b->text, strlen(b->text), &diag);
    const char *said = diag.text.s != NULL ? diag.text.s : "";
    /* a file on the disk knows that it is in a cycle */
    if (strcmp(b->what, "a file that includes itself") == 0) {
      perp_diag_free(&diag);
      diag = (perp_diag){ 0 };
      refused = !perp_scene_file_check(&ctx, "f.yaml", &diag, NULL);
      said = diag.text.s != NULL ? diag.text.s : "";
    }
    if (!ok(refused && diag.errors == 1 && strncmp(said, b->place, strlen(b->place)) == 0 &&
                strstr(said, b->message) != NULL &&
                (b->hint == NULL || strstr(said, b->hint) != NULL),
            "%s: one error at %s, %s", b->what, b->place, b->message))
      tap_note("%d errors: %.700s\n", diag.errors, said);
    perp_diag_free(&diag);
  }
  put("a.yaml", HEAD "include: b.yaml\n" BALL);
  put("b.yaml", HEAD "include: a.yaml\n");
  perp_diag diag = { 0 };
  ok(!perp_scene_file_check(&ctx, "a.yaml", &diag, NULL) &&
         strncmp(diag.text.s, "b.yaml:2:10", 11) == 0 &&
         strstr(diag.text.s, "through other files") != NULL,
     "two files that include each other: the line that closes the circle");
  perp_diag_free(&diag);
  perp_spec spec;
  ok(perp_spec_parse(&ctx, PERP_KIND_scene, "a.yaml", &spec) == PERP_ERR_FORMAT &&
         strncmp(ctx.msg, "b.yaml:2:10", 11) == 0 && strchr(ctx.msg, '\n') == NULL,
     "where a name is parsed it is one line: %s", ctx.msg);
  ok(perp_spec_parse(&ctx, PERP_KIND_scene, "none.yaml", &spec) == PERP_ERR_FORMAT &&
         strstr(ctx.msg, "there is no scene file none.yaml") != NULL,
     "a file that is not there: %s", ctx.msg);
}

/* ---- what it means ---- */

static void test_parts(void)
{
  put("parts.yaml", HEAD
      "scene: { dim: 3, t_end: 2 s, h: 1/240, gravity: 1.5, tip: { body: b1, at: [1, 2, 3] } }\n"
      "parameters:\n"
      "  n: { default: 3, min: 1, max: 10 }\n"
      "  edge: { default: 100 mm, above: 0, unit: m }\n"
      "  way: { default: up, choices: [up, down] }\n"
      "  solid: true\n"
      "let: { rho: 1000 kg/m^3, sign: \"if(way == up, 1, -1)\" }\n"
      "materials: { default: { mu: 0.25, restitution: 0.5 } }\n"
      "bodies:\n"
      "  - repeat: { i: 0..n-1 }\n"
      "    name: \"b{i}\"\n"
      "    density: rho\n"
      "    x: [0, 0, sign * (i + 0.5) * edge]\n"
      "    shape: { kind: box, size: [edge, 2 * edge, edge] }\n"
      "  - { name: rod, when: solid, mass: 2, solid: { kind: cylinder, radius: 1 cm, length: 1 m "
      "},\n"
      "      turn: { axis: [0, 2, 0], angle: 90 deg }, v: [1 km/h, 0, 0], w: [0, 0, 60 rpm] }\n"
      "joints:\n"
      "  - { name: j, kind: hinge, a: b0, b: b1, at: [0, 0, sign * edge], axis: [0, 1, 0], rows: "
      "[{}, { damping: 2 }] }\n"
      "drives:\n"
      "  - { joint: j, lower: -10 deg, velocity: 2 rad/s, max_force: inf }\n"
      "forces:\n"
      "  - { kind: spring, when: solid, a: b0, b: rod, stiffness: 5 N/m, length: 1 m }\n"
      "shapes:\n"
      "  - { body: world, kind: plane, mu: 1 }\n");
  perp_scene s;
  if (!ok(build("parts.yaml:n=2,edge=0.2", &s), "parts.yaml:n=2,edge=0.2 is a scene")) {
    printf("# %s\n", ctx.msg);
    return;
  }
  const perp_model *m = s.model;
  const perp_body_def *box = perp_model_body(m, 1), *rod = perp_model_body(m, 2);
  ok(perp_model_bodies(m) == 3 && perp_model_joints(m) == 1 && perp_model_drives(m) == 1 &&
         perp_model_shapes(m) == 3 && perp_model_force_elements(m) == 1,
     "parts are repeated as often as a parameter says");
  near(box->mass.mass, 1000 * 0.2 * 0.4 * 0.2, 0, 1e-15, "mass of a density and a shape");
  near(box->mass.inertia[0], 16 * (0.16 + 0.04) / 12, 0, 1e-14, "inertia of a box about x");
  near(box->x[2], 0.3, 0, 1e-15, "a place by an expression");
  near(rod->mass.inertia[8], 0.5 * 2 * 1e-4, 0, 1e-14, "inertia of a solid about z");
  near(rod->quat[2], sqrt(0.5), 0, 1e-15, "a turn about an axis of any length");
  near(rod->v[0], 1 / 3.6, 0, 1e-15, "km/h");
  near(rod->w[2], 2 * M_PI, 0, 1e-15, "rpm");
  const perp_joint_def *j = perp_model_joint(m, 0);
  near(j->anchor_a[2], 0.1, 1e-16, 0, "a joint at a place of the world: in body a");
  near(j->anchor_b[2], -0.1, 1e-16, 0, "and in body b");
  ok(j->axis_b[1] == 1 && j->row[0].damping == 0 && j->row[1].damping == 2, "its axis, its rows");
  const perp_drive_def *d = perp_model_drive(m, 0);
  near(d->lower, -M_PI / 18, 0, 1e-15, "a limit in degrees");
  ok(isinf(d->max_force) && isinf(d->upper) && d->velocity == 2,
     "a kinematic motor without an upper limit");
  const perp_shape_def *plane = perp_model_shape(m, 0), *first = perp_model_shape(m, 1);
  ok(plane->kind == PERP_SHAPE_PLANE && plane->surface.mu == 1 && plane->surface.restitution == 0.5,
     "shapes of the section come first; a key of the shape wins over the material");
  ok(first->body == 0 && first->half[1] == 0.2 && first->surface.mu == 0.25,
     "full edges; the default material");
  ok(s.t_end == 2 && s.h == 1.0 / 240 && s.gravity == 1.5 && s.tip_body == 1 && s.tip[2] == 3,
     "the run");
  perp_scene_destroy(&s);
  ok(build("parts.yaml:way=down,solid=false", &s) && perp_model_bodies(s.model) == 3 &&
         perp_model_body(s.model, 0)->x[2] == -0.05,
     "a choice and a truth decide");
  perp_scene_destroy(&s);
  perp_spec spec;
  ok(perp_spec_parse(&ctx, PERP_KIND_scene, "parts.yaml:n=11", &spec) == PERP_ERR_OPTION &&
         strstr(ctx.msg, "[1, 10]") != NULL,
     "a parameter has its range: %s", ctx.msg);
  char text[200];
  if (perp_spec_parse(&ctx, PERP_KIND_scene, "parts.yaml:edge=10cm,n=3", &spec) == PERP_OK) {
    perp_spec_format(&spec, text, sizeof text);
    ok(strcmp(text, "parts.yaml") == 0, "defaults go out of the canonical text: %s", text);
    perp_spec_free(&spec);
  }
}

/* Masses of all solids against integrals over many points. */
static void test_solids(void)
{
  static const struct {
    const char *solid;
    double volume, I[3];
  } space[] = {
    { "{ kind: sphere, radius: 2 }", 4 * M_PI / 3 * 8, { 1.6, 1.6, 1.6 } },
    { "{ kind: ellipsoid, half: [1, 2, 3] }", 8 * M_PI, { 2.6, 2, 1 } },
    { "{ kind: cylinder, radius: 1, length: 6 }", 6 * M_PI, { 3.25, 3.25, 0.5 } },
    { "{ kind: polytope, vertices: [[1, 1, 1], [3, 1, 1], [1, 3, 1], [3, 3, 1], [1, 1, 3], [3, 1, "
      "3], [1, 3, 3], [3, 3, 3]] }",
      8,
      { 2.0 / 3, 2.0 / 3, 2.0 / 3 } },
    { "{ kind: polytope, vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], triangles: [[0, "
      "2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]] }",
      1.0 / 6,
      { 3.0 / 40, 3.0 / 40, 3.0 / 40 } },
  };
  for (size_t i = 0; i < sizeof space / sizeof *space; i++) {
    char name[40],
        *text = perp_xprintf(HEAD "bodies:\n  - { density: 2, solid: %s }\n", space[i].solid);
    perp_scene s;
    snprintf(name, sizeof name, "solid%zu.yaml", i);
    put(name, text);
    free(text);
    if (!ok(build(name, &s), "%s", space[i].solid)) {
      printf("# %s\n", ctx.msg);
      continue;
    }
    const perp_mass *mass = &perp_model_body(s.model, 0)->mass;
    near(mass->mass, 2 * space[i].volume, 0, 1e-13, "its mass");
    for (int k = 0; k < 3; k++)
      near(mass->inertia[4 * k] / mass->mass, space[i].I[k], 0, 1e-13, "its moment %d", k);
    perp_scene_destroy(&s);
  }
  /* a stadium against the sum over a grid of points */
  double sum = 0, area = 0;
  for (int i = 0; i < 4000; i++)
    for (int k = 0; k < 2000; k++) {
      const double x = (i + 0.5) / 1000 - 2, y = (k + 0.5) / 1000 - 1, e = fmax(0, fabs(x) - 1);
      if (e * e + y * y > 1) continue;
      area += 1e-6;
      sum += 1e-6 * (x * x + y * y);
    }
  put("stadium.yaml", HEAD "scene: { dim: 2 }\nbodies:\n  - { density: 1, solid: { kind: capsule, "
                           "radius: 1, length: 2 } }\n");
  perp_scene s;
  if (ok(build("stadium.yaml", &s), "a stadium in the plane")) {
    near(perp_model_body(s.model, 0)->mass.mass, area, 0, 1e-4, "its mass");
    near(perp_model_body(s.model, 0)->mass.inertia[8], sum, 0, 1e-4, "its moment");
    perp_scene_destroy(&s);
  }
}

static void test_includes(void)
{
  if (perp_make_dirs(&ctx, "parts") != PERP_OK) bail("%s", ctx.msg);
  put("parts/floor.yaml",
      HEAD "include: materials.yaml\nparameters: { slope: { default: 1, unit: rad } }\n"
           "shapes:\n  - { body: world, kind: plane, material: ice }\n");
  put("parts/materials.yaml", HEAD "materials: { ice: { mu: 0.1 }, wood: { mu: 0.5 } }\n");
  put("with.yaml", HEAD "include: [parts/floor.yaml]\nmaterials: { ice: { mu: 0.2 } }\n"
                        "bodies:\n  - { mass: 1, x: [0, 0, slope * 1 m], shape: { kind: sphere, "
                        "radius: 1, material: wood } }\n");
  perp_scene s;
  if (ok(build("with.yaml:slope=3", &s), "includes from a folder: %s", ctx.msg)) {
    ok(perp_model_shapes(s.model) == 2 && perp_model_shape(s.model, 0)->surface.mu == 0.2 &&
           perp_model_shape(s.model, 1)->surface.mu == 0.5 &&
           perp_model_body(s.model, 0)->x[2] == 3,
       "their lists come first, of maps this file wins");
    perp_scene_destroy(&s);
  }
}

/* ---- truths ---- */

#define THROWN                                                                                     \
  HEAD "scene: { t_end: 1 s, dim: 2 }\nlet: { g: 9.81 m/s^2 }\n"                                   \
       "bodies:\n  - { name: ball, mass: 1, inertia: 1, x: [0, 1], v: [2, 3] }\n"

static void test_motion(void)
{
  put("motion.yaml", THROWN "truth:\n  - kind: motion\n    motion:\n"
                            "      - { body: ball, x: [2 m/s * t, 1 m + 3 m/s * t - g * t^2 / 2], "
                            "v: [2, 3 m/s - g * t] }\n");
  perp_scene s;
  if (!ok(build("motion.yaml", &s) && s.n_truths == 1, "a motion in closed form: %s", ctx.msg))
    return;
  double q[3], v[3];
  ok(s.truth[0].state(s.truth[0].user, &ctx, 0.5, q, v) == PERP_OK, "it answers at any time");
  near(q[1], 1 + 1.5 - 9.81 / 8, 0, 1e-15, "its height");
  near(v[1], 3 - 9.81 / 2, 0, 1e-15, "its speed");
  ok(q[2] == 0 && v[2] == 0 && s.truth[0].next_time(s.truth[0].user, 0.25) == 0.25,
     "what it does not say stays as it begins");
  perp_scene_destroy(&s);
  put("places.yaml", THROWN "truth:\n  - kind: motion\n    motion:\n"
                            "      - { body: ball, x: [2 m/s * t, 1 m + 3 m/s * t - g * t^2 / 2], "
                            "turn: unknown }\n");
  if (!ok(build("places.yaml", &s), "a motion of places alone: %s", ctx.msg)) return;
  ok(s.truth[0].state(s.truth[0].user, &ctx, 0.5, q, v) == PERP_OK && isnan(v[0]) && isnan(v[1]) &&
         isnan(q[2]) && isnan(v[2]) && q[0] == 1,
     "has no velocities to compare with, and an unknown orientation is none");
  perp_scene_destroy(&s);
}

/* One text, in space and as its section: what was put down as (x, y, z) is (x, z), turns about y
 * are turned round. */
static void test_section(void)
{
  put("section.yaml",
      HEAD "scene: { dim: dim, section: true, t_end: 1 s, gravity: 0, tip: { body: a, at: [1, 2, "
           "3] } }\n"
           "parameters: { dim: { default: 3, min: 2, max: 3 }, n: 1 }\n"
           "refuse:\n  - { when: n > 4, why: \"n = {n} is too much\" }\n"
           "bodies:\n"
           "  - name: a\n    mass: 2\n    inertia: [1, 2, 3]\n    x: [1, 0, 3]\n    v: [4, 0, 6]\n"
           "    turn: [{ axis: [0, 1, 0], angle: 0.5 }, { axis: [0, 2, 0], angle: 0.25 }]\n"
           "    w: [0, 8, 0]\n    shape: { kind: box, size: [2, 4, 6], turn: { axis: [0, -1, 0], "
           "angle: 0.1 } }\n"
           "joints:\n  - { kind: slider, a: world, b: a, anchor_a: [1, 0, 3], axis_a: [0, 0, 1], "
           "start: violates }\n"
           "forces:\n  - { kind: point, a: a, value: [7, 0, 9] }\n"
           "truth:\n  - kind: motion\n    motion:\n      - body: a\n        let_t: { s: 2 * t, r: "
           "s / 2 }\n"
           "        x: [1 + 4 m/s * r, 0, 3 + 3 m/s * s]\n        v: [4, 0, 6]\n"
           "        turn: { axis: [0, 1, 0], angle: 0.75 + 8 rad/s * t }\n        w: [0, 8, 0]\n");
  perp_scene space, plane;
  if (!ok(build("section.yaml", &space), "section.yaml in space: %s", ctx.msg)) return;
  if (!ok(build("section.yaml:dim=2", &plane), "and in the plane: %s", ctx.msg)) {
    perp_scene_destroy(&space);
    return;
  }
  const perp_body_def *s = perp_model_body(space.model, 0), *p = perp_model_body(plane.model, 0);
  ok(p->x[0] == 1 && p->x[1] == 3 && p->v[0] == 4 && p->v[1] == 6 && plane.tip[1] == 3,
     "places and velocities are (x, z)");
  near(p->angle, -0.75, 0, 1e-15, "turns about y, one after the other, are minus the angle");
  near(s->quat[2], sin(0.375), 0, 1e-15, "in space their product");
  ok(p->w[2] == -8 && s->w[1] == 8 && p->mass.inertia[8] == 2,
     "rate and moment of inertia about y");
  const perp_shape_def *box = perp_model_shape(plane.model, 0);
  ok(box->half[0] == 1 && box->half[1] == 3 && box->angle == 0.1, "edges, and the turn of a shape");
  ok(perp_model_joint(plane.model, 0)->axis_a[1] == 1 &&
         perp_model_joint(plane.model, 0)->anchor_a[1] == 3 &&
         perp_model_force_element(plane.model, 0)->value[1] == 9,
     "joints and forces");
  double q[7], v[6], angle;
  ok(plane.truth[0].state(plane.truth[0].user, &ctx, 0.5, q, v) == PERP_OK && q[0] == 3 &&
         q[1] == 6 && v[1] == 6 && v[2] == -8,
     "a truth with values over t");
  near(q[2], -4.75, 0, 1e-15, "and its turn");
  ok(space.truth[0].state(space.truth[0].user, &ctx, 0.5, q, v) == PERP_OK, "in space");
  angle = 2 * atan2(q[5], q[3]);
  near(angle, 4.75, 0, 1e-14, "the turn of the truth in space");
  perp_scene_destroy(&space);
  perp_scene_destroy(&plane);
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, "section.yaml:n=5", &spec) != PERP_OK)
    bail("%s", ctx.msg);
  ok(perp_scene_create(&ctx, &spec, &space) == PERP_ERR_OPTION &&
         strcmp(ctx.msg, "section.yaml: n = 5 is too much") == 0,
     "options that a scene refuses: %s", ctx.msg);
  perp_spec_free(&spec);
}

static void test_states(void)
{
  put("states.csv", "# uncertainty: 1e-6\n# source: by hand\n"
                    "t [ms], ball.x [mm], ball.y [m], ball.angle [deg], ball.vx [m/s], ball.vy "
                    "[m/s], ball.omega [rpm]\n"
                    "0, 0, 1, 0, 2, 3, 0\n500, 1000, 1.27375, 180, 2, -1.905, 60\n");
  put("states.yaml", THROWN "truth:\n  - { kind: states, file: states.csv }\n");
  perp_scene s;
  if (!ok(build("states.yaml", &s) && s.n_truths == 1, "a table of states: %s", ctx.msg)) return;
  double q[3], v[3];
  const perp_truth *t = &s.truth[0];
  ok(t->next_time(t->user, 0.1) == 0.5 && t->t_end == 0.5 && isinf(t->next_time(t->user, 0.6)) &&
         t->uncertainty == 1e-6,
     "it answers at its rows, in seconds");
  ok(t->state(t->user, &ctx, 0.5, q, v) == PERP_OK && q[0] == 1 && q[1] == 1.27375, "in metres");
  near(q[2], M_PI, 0, 1e-15, "in radians");
  near(v[2], 2 * M_PI, 0, 1e-15, "in radians per second");
  perp_scene_destroy(&s);

  static const struct {
    const char *what, *csv, *message;
  } wrong[] = {
    { "a missing column", "t [s], ball.x [m]\n0, 0\n",
      "w.csv:1: there is no column for y of body 0 ball" },
    { "a column of nobody", "t [s], bal.x [m]\n0, 0\n", "w.csv:1: 'bal.x' is not a coordinate" },
    { "a column of nothing", "t [s], ball.z [m]\n0, 0\n",
      "w.csv:1: 'ball.z' is not a coordinate of a body: the coordinates are x, y, angle" },
    { "a column in another unit", "t [s], ball.x [kg]\n0, 0\n",
      "w.csv:1: column 'ball.x' has the unit kg: m is required" },
    { "a column without a unit", "t [s], ball.x\n0, 0\n",
      "w.csv:1: column 'ball.x' has no unit: write ball.x [m]" },
    { "no time", "ball.x [m], t [s]\n0, 0\n", "w.csv:1: the first column must be the time" },
    { "a word for a number", "t [s], ball.x [m]\n0, 0\n1, one\n",
      "w.csv:3: column 2, 'ball.x', needs a finite number: got 'one'" },
    { "NaN", "t [s], ball.x [m]\n0, nan\n", "w.csv:2: column 2, 'ball.x', needs a finite number" },
    { "a row that is too short", "t [s], ball.x [m]\n0\n", "w.csv:2: the row must have 2 columns" },
    { "time that falls", "t [s], ball.x [m]\n1, 0\n0, 0\n", "w.csv:3: the time must not decrease" },
    { "no rows", "t [s], ball.x [m]\n", "w.csv:1: the table has a header and no rows" },
    { "an empty file", "", "w.csv:1: the header is missing" },
    { "two columns of a name", "t [s], ball.x [m], ball.x [m]\n0, 0, 0\n",
      "w.csv:1: two columns have the same name 'ball.x'" },
    { "a bad uncertainty", "# uncertainty: much\nt [s], ball.x [m]\n0, 0\n",
      "w.csv:1: the uncertainty must be a number" },
  };
  const char *yaml = THROWN "truth:\n  - { kind: states, file: w.csv }\n";
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    perp_diag diag = { 0 };
    put("w.csv", wrong[i].csv);
    const bool refused = !perp_scene_text_check(&ctx, "f.yaml", yaml, strlen(yaml), &diag);
    if (!ok(refused && diag.errors == 1 && diag.text.s != NULL &&
                strstr(diag.text.s, wrong[i].message) != NULL,
            "%s: %s", wrong[i].what, wrong[i].message))
      tap_note("%.600s\n", diag.text.s != NULL ? diag.text.s : "nothing");
    perp_diag_free(&diag);
  }
}

/* A gauge of the scene is given states of a known motion. */
static double gauge_of(perp_scene *s, const char *metric, double h, int n)
{
  for (int k = 0; k < s->n_gauges; k++) {
    perp_gauge *g = &s->gauge[k];
    if (strcmp(g->metric, metric) != 0) continue;
    g->restart(g->user);
    for (int i = 0; i <= n; i++) {
      const double t = i * h, q[3] = { 2 * t, 1 + 3 * t - 9.81 / 2 * t * t, 0 },
                   v[3] = { 2, 3 - 9.81 * t, 0 };
      g->sample(g->user, t, q, v, NULL);
    }
    return g->value(g->user);
  }
  return (double)NAN;
}

static void test_gauges(void)
{
  put("track.csv", "t [s], ball.y [m]\n0, 1\n0.123, 1.29479476\n0.25, 1.4434375\n");
  put("events.csv", "t [s], event\n0.1, mark\n0.3058103975535168, apex\n0.9, mark\n");
  put("gauges.yaml", THROWN "events:\n  - { name: apex, of: ball.vy, value: 0, direction: falls }\n"
                            "  - { name: mark, of: 0.x, value: 20 cm }\n"
                            "gauges:\n  - { kind: table, metric: path.err.max, file: track.csv }\n"
                            "  - { kind: events, file: events.csv }\n");
  perp_scene s;
  if (!ok(build("gauges.yaml", &s) && s.n_gauges == 2, "gauges of tables: %s", ctx.msg)) return;
  /* 1 + 3 t - 4.905 t^2 at 0.123 is 1.29479... : the cubic between states of a parabola is exact */
  near(gauge_of(&s, "path.err.max", 0.1, 5), fabs(1 + 0.369 - 4.905 * 0.123 * 0.123 - 1.29479476),
       1e-15, 0, "a table against a parabola between its states");
  near(gauge_of(&s, "event.err", 0.01, 60), 0.31 - 0.3058103975535168, 1e-15, 0,
       "events: a rate at the end of its step, a place exactly; the third is not due yet");
  ok(isinf(gauge_of(&s, "event.err", 0.01, 95)), "an event that is due and was not seen: infinity");
  ok(isnan(gauge_of(&s, "path.err.max", 0.1, -1)), "no state, no figure");
  perp_scene_destroy(&s);
  put("track.csv", "t [s], ball.y [m], uncertainty\n0, 1, 0.01\n0.123, 1.2947, 0.02\n");
  put("events.csv", "# uncertainty: 0.03\nt [s], event\n0.1, mark\n");
  put("unsure.yaml", THROWN "events:\n  - { name: mark, of: 0.x, value: 20 cm }\n"
                            "gauges:\n  - { kind: table, metric: path.err.max, file: track.csv }\n"
                            "  - { kind: events, file: events.csv }\n");
  if (ok(build("unsure.yaml", &s), "tables with an uncertainty: %s", ctx.msg)) {
    near(gauge_of(&s, "path.err.max", 0.1, 5), 0.02, 0, 0,
         "no figure below what a table of coordinates can tell");
    near(gauge_of(&s, "event.err", 0.01, 60), 0.03, 0, 0, "nor below that of a table of events");
    perp_scene_destroy(&s);
  }
  put("times.yaml",
      THROWN "events:\n  - { name: apex, of: ball.vy, direction: falls, times: [0.3] }\n"
             "  - { name: mark, of: 0.x, value: 20 cm, times: [0.1, 0.9] }\n"
             "gauges:\n  - { kind: events }\n"
             "  - { kind: path, body: ball, x: [2.5 m/s * t, 1] }\n");
  if (ok(build("times.yaml", &s) && s.n_gauges == 2, "times of events, a path: %s", ctx.msg)) {
    near(gauge_of(&s, "event.err", 0.01, 60), 0.01, 1e-12, 0, "events with times of their own");
    near(gauge_of(&s, "path.err.max", 0.1, 1), hypot(0.05, 0.3 - 9.81 / 2 * 0.01), 1e-15, 0,
         "the distance from a path");
    perp_scene_destroy(&s);
  }
  /* 1.2 m is passed at 0.0762 s on the way up, at 0.5354 s on the way down */
  static const struct {
    const char *direction;
    double seen;
  } ways[] = { { "", 0.0761470 },
               { ", direction: rises", 0.0761470 },
               { ", direction: falls", 0.5354738 } };
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    char *text = perp_xprintf(THROWN "events:\n  - { name: e, of: ball.y, value: 1.2 m%s, times: "
                                     "[0.3] }\ngauges:\n  - { kind: events }\n",
                              ways[i].direction);
    const char *name = (const char *const[]){ "w.yaml", "w-rises.yaml", "w-falls.yaml" }[i];
    put(name, text);
    free(text);
    if (!ok(build(name, &s), "an event%s: %s", ways[i].direction, ctx.msg)) continue;
    near(gauge_of(&s, "event.err", 0.01, 60), fabs(ways[i].seen - 0.3), 1e-4, 0,
         "an event%s of a height",
         i == 0 ? " without a direction, which rises," : ways[i].direction);
    perp_scene_destroy(&s);
  }
  put("never.yaml", THROWN "events:\n  - { name: e, of: ball.vy, value: 0, times: [0.3] }\n"
                           "gauges:\n  - { kind: events }\n");
  if (ok(build("never.yaml", &s), "an event that never rises: %s", ctx.msg)) {
    ok(isinf(gauge_of(&s, "event.err", 0.01, 60)),
       "an event without a direction does not fire on falling");
    perp_scene_destroy(&s);
  }
  perp_diag diag = { 0 };
  put("g.csv", "t [s], event\n0.1, hit\n");
  const char *yaml = THROWN
      "events:\n  - { name: apex, of: ball.vy }\ngauges:\n  - { kind: events, file: g.csv }\n";
  ok(!perp_scene_text_check(&ctx, "f.yaml", yaml, strlen(yaml), &diag) &&
         strstr(diag.text.s,
                "g.csv:1: the table has the event 'hit', which the scene does not define") != NULL,
     "an event that nobody defines");
  perp_diag_free(&diag);
}

/* A drive that says how it moves acts without a bound, unless the bound is written. */
static void test_max_force(void)
{
  static const struct {
    const char *keys;
    double want;
  } drives[] = {
    { "stiffness: 3", HUGE_VAL },
    { "damping: 2", HUGE_VAL },
    { "velocity: 1", HUGE_VAL },
    { "velocity: 0", HUGE_VAL },
    { "stiffness: 3, max_force: 0", 0 },
    { "velocity: 1, max_force: 4", 4 },
    { "lower: 0", 0 },
    { "damping: 0", 0 },
    { "stiffness: 0, damping: 0, velocity: 1", 0 },
    { "max_force: 2", 2 },
  };
  for (size_t i = 0; i < sizeof drives / sizeof *drives; i++) {
    char text[512], name[32];
    perp_scene s;
    snprintf(name, sizeof name, "drive-%zu.yaml", i); /* a file is read once */
    snprintf(text, sizeof text,
             HEAD BALL "joints: [{ name: j, kind: hinge, a: world, b: ball, at: [0, 0, 0], axis: "
                       "[0, 0, 1] }]\ndrives: [{ joint: j, %s }]\n",
             drives[i].keys);
    put(name, text);
    if (!ok(build(name, &s), "a drive with %s", drives[i].keys)) {
      printf("# %s\n", ctx.msg);
      continue;
    }
    ok(perp_model_drive(s.model, 0)->max_force == drives[i].want, "%s: max_force is %g",
       drives[i].keys, drives[i].want);
    perp_scene_destroy(&s);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  if (perp_scene_files_register(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (mkdtemp(folder) == NULL || chdir(folder) != 0) bail("no folder");
  test_refused();
  test_parts();
  test_solids();
  test_includes();
  test_motion();
  test_section();
  test_states();
  test_gauges();
  test_max_force();
  char *whole = perp_xprintf("rm -r %s", folder);
  if (system(whole) != 0) printf("# %s stays\n", folder);
  free(whole);
  return tap_done();
}
