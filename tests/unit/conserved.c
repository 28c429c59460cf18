/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a motion conserves: decided from the model; measured against motions whose invariants are
 * known; lost ones are warnings, and the remedies that they name are tried. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "models/multibody/conserved.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static perp_ctx ctx;
static char folder[] = "/tmp/perp-conserved-XXXXXX";

static const char *file(const char *name, const char *text)
{
  static char path[200];
  snprintf(path, sizeof path, "%s/%s.yaml", folder, name);
  FILE *f = fopen(path, "w");
  if (f == NULL || fputs(text, f) == EOF || fclose(f) != 0) bail("cannot write %s", path);
  return path;
}

static const char *conserved_of(const char *text, perp_conserved *c)
{
  perp_spec spec;
  perp_scene scene;
  static int number; /* a file is read once */
  char name[20];
  snprintf(name, sizeof name, "part%d", number++);
  const char *path = file(name, text);
  if (perp_spec_parse(&ctx, PERP_KIND_scene, path, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  perp_spec_free(&spec);
  perp_model_conserved(scene.model, c);
  perp_scene_destroy(&scene);
  return path;
}

static perp_result run(const char *scene, const char *formulation, const char *ode, double h)
{
  perp_result r;
  const perp_request q = { .scene = scene, .formulation = formulation, .ode = ode, .h = h };
  if (perp_simulate(&ctx, &q, &r) != PERP_OK) bail("%s: %s", scene, ctx.msg);
  return r;
}

/* "xy.z": components of P, components of L; E in front: energy */
static const char *words(const perp_conserved *c)
{
  static char text[16];
  char *to = text;
  if (c->energy && c->elastic) *to++ = 'E';
  for (int k = 0; k < 3; k++)
    if (c->P[k]) *to++ = "xyz"[k];
  *to++ = '.';
  for (int k = 0; k < 3; k++)
    if (c->L[k]) *to++ = "xyz"[k];
  *to = '\0';
  return text;
}

#define BODIES(more, moves)                                                                        \
  "schema: perp-scene/1\nscene: { summary: a part, t_end: 1 s, h: 1 ms" more " }\n"                \
  "bodies:\n  - { name: a, mass: 1, inertia: [1, 2, 2.5], x: [1, 0, 0] }\n"                        \
  "  - { name: b, mass: 2, inertia: [1, 1.5, 2], x: [2, 0, 0]" moves " }\n"
#define HEAD(more)   BODIES(more, ", v: [1, 2, 3], w: [1, 2, 3]")
#define STILL(more)  BODIES(more, "") /* joints hold b */
#define WORLD(joint) "joints:\n  - { name: j, a: world, b: a, " joint " }\n"

static void decisions(void)
{
  static const struct {
    const char *what, *text, *want;
  } cases[] = {
    { "free bodies that fall", HEAD(""), "Exyz.xyz" },
    { "a ball joint to the world", HEAD("") WORLD("kind: ball, at: [0, 0, 0]"), "E.z" },
    { "the same without gravity", HEAD(", gravity: 0") WORLD("kind: ball, at: [0, 0, 0]"),
      "E.xyz" },
    { "a hinge whose axis is vertical", HEAD("") WORLD("kind: hinge, at: [0,0,0], axis: [0,0,1]"),
      "E.z" },
    { "a hinge whose axis is level", HEAD("") WORLD("kind: hinge, at: [0,0,0], axis: [0,1,0]"),
      "E." },
    { "the same without gravity",
      HEAD(", gravity: 0") WORLD("kind: hinge, at: [0,0,0], axis: [0,1,0]"), "E.y" },
    { "a slider along x", HEAD("") WORLD("kind: slider, at: [0,0,0], axis: [1,0,0]"), "Ex." },
    { "a slider that leans", HEAD("") WORLD("kind: slider, at: [0,0,0], axis: [1,0,1]"), "E." },
    { "a cylindrical joint along z",
      HEAD("") WORLD("kind: cylindrical, at: [0,0,0], axis: [0,0,1]"), "Ez.z" },
    { "motion in a level plane", HEAD("") WORLD("kind: planar, at: [0,0,0], axis: [0,0,1]"),
      "Exy.z" },
    { "a body that is held", HEAD("") WORLD("kind: fixed, at: [0, 0, 0]"), "E." },
    { "a joint between bodies",
      STILL("") "joints:\n  - { name: j, kind: ball, a: a, b: b, at: [1.5, 0, 0] }\n", "Exyz.xyz" },
    { "two points of the world on one vertical",
      STILL("") "joints:\n  - { name: j, kind: ball, a: world, b: a, at: [1, 0, 1] }\n"
                "  - { name: k, kind: distance, a: world, b: b, anchor_a: [1, 0, 3], anchor_b: [0, "
                "0, 0], length: 3.1622776601683795 "
                "}\n",
      "E.z" },
    { "two points of the world apart",
      STILL("") "joints:\n  - { name: j, kind: ball, a: world, b: a, at: [1, 0, 1] }\n"
                "  - { name: k, kind: ball, a: world, b: b, at: [2, 0, 3] }\n",
      "E." },
    { "a spring of a hinge between bodies",
      STILL("") "joints:\n  - { name: j, kind: ball, a: a, b: b, at: [1.5, 0, 0], axis_a: [0,1,0], "
                "axis_b: [0,0,1] }\n"
                "drives:\n  - { joint: j, axis: a, stiffness: 3, max_force: inf }\n",
      "Exyz.xyz" },
    { "the same with damping",
      STILL("") "joints:\n  - { name: j, kind: ball, a: a, b: b, at: [1.5, 0, 0], axis_a: [0,1,0], "
                "axis_b: [0,0,1] }\n"
                "drives:\n  - { joint: j, axis: a, stiffness: 3, damping: 1, max_force: inf }\n",
      "xyz.xyz" },
    { "a motor against the world",
      HEAD("") WORLD("kind: hinge, at: [0,0,0], axis: [0,0,1]") "drives:\n  - { joint: j, axis: "
                                                                "a, velocity: 1, max_force: 2 }\n",
      "." },
    { "a stop that takes speed",
      STILL("") "joints:\n  - { name: j, kind: hinge, a: a, b: b, at: [1.5,0,0], axis: [0,0,1] }\n"
                "drives:\n  - { joint: j, axis: a, lower: -1, upper: 1 }\n",
      "xyz.xyz" },
    { "a stop that does not",
      STILL("") "joints:\n  - { name: j, kind: hinge, a: a, b: b, at: [1.5,0,0], axis: [0,0,1] }\n"
                "drives:\n  - { joint: j, axis: a, lower: -1, upper: 1, restitution: 1 }\n",
      "Exyz.xyz" },
    { "a spring between bodies",
      HEAD("") "forces:\n  - { kind: spring, a: a, b: b, stiffness: 3, length: 1 }\n", "Exyz.xyz" },
    { "a spring to the world",
      HEAD("") "forces:\n  - { kind: spring, a: world, b: b, anchor_a: [0,0,3], stiffness: 3, "
               "length: 1 }\n",
      "E.z" },
    { "a damped spring",
      HEAD("") "forces:\n  - { kind: spring, a: a, b: b, stiffness: 3, damping: 1, length: 1 }\n",
      "xyz.xyz" },
    { "drag", HEAD("") "forces:\n  - { kind: drag, a: b, linear: 1 }\n", "." },
    { "a constant force along x", HEAD("") "forces:\n  - { kind: point, a: b, value: [1, 0, 0] }\n",
      "yz." },
    { "a constant torque about x",
      HEAD("") "forces:\n  - { kind: torque, a: b, value: [1, 0, 0] }\n", "xyz.yz" },
    { "gravity that depends on time",
      HEAD(", gravity: { kind: sine, offset: 9, amplitude: 1, rate: 1 }"), "xy.xyz" },
    { "a ground",
      HEAD("") "shapes:\n  - { body: world, kind: plane, x: [0, 0, -9] }\n"
               "  - { body: a, kind: sphere, radius: 0.1 }\n",
      "." },
    { "spheres that may touch each other",
      HEAD("") "shapes:\n  - { body: b, kind: sphere, radius: 0.1 }\n"
               "  - { body: a, kind: sphere, radius: 0.1 }\n",
      "xyz.xyz" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_conserved c;
    const char *path = conserved_of(cases[i].text, &c);
    ok(strcmp(words(&c), cases[i].want) == 0, "%s: %s conserved, want %s", cases[i].what, words(&c),
       cases[i].want);
    /* an accurate motion has what is called conserved */
    perp_result r = run(path, "acceleration", "dopri5:tol=1e-12", 0);
    static const char *const metrics[] = { "energy.rel.max", "momentum.lin.max",
                                           "momentum.ang.max" };
    double most = 0;
    for (int k = 0; k < 3; k++) most = (fmax)(most, perp_result_metric(&r, metrics[k]));
    ok(r.reason == PERP_EXACT && most < 1e-8, "... to %.2g: %s", most, r.invariants);
    perp_result_free(&r);
  }
  static const char touching[] = HEAD(
      "") "shapes:\n"
          "  - { body: a, kind: sphere, radius: 0.1, mu: %g, restitution: %g }\n"
          "  - { body: b, kind: sphere, radius: 0.1, mu: %g, restitution: %g }\n";
  for (int mu = 0; mu < 2; mu++)
    for (int e = 0; e < 2; e++) {
      char text[1000];
      snprintf(text, sizeof text, touching, 0.5 * mu, 1.0 * e, 0.5 * mu, 1.0 * e);
      perp_conserved c;
      conserved_of(text, &c);
      ok(c.elastic == (mu == 0 && e == 1), "contacts with mu %g, e %d: %s", 0.5 * mu, e,
         mu == 0 && e == 1 ? "elastic" : "dissipative");
    }
}

/* ---- runs ---- */

static const char plate[] =
    "schema: perp-scene/1\n"
    "scene: { summary: a thin plate spins fast and free, gravity: 0, t_end: 10 s, h: 1/60 }\n"
    "bodies:\n  - { name: plate, mass: 2, solid: { kind: box, size: [1, 0.4, 0.05] }, "
    "w: [60, 6, 20] }\n";

static const char springs[] =
    "schema: perp-scene/1\n"
    "scene: { summary: a ball on torsion springs, gravity: 0, t_end: 20 s, h: 1 ms }\n"
    "bodies:\n  - { name: ball, mass: 1, inertia: [0.1, 0.1, 0.1], w: [1.5, 0, 0] }\n"
    "joints:\n  - { name: j, kind: ball, a: world, b: ball, at: [0, 0, 0], axis_a: [1, 0, 0], "
    "axis_b: [0, 0, 1] }\n"
    "drives:\n"
    "  - { joint: j, axis: a, target: 0, stiffness: 1, max_force: inf }\n"
    "  - { joint: j, axis: node, target: 0, stiffness: 1, max_force: inf }\n"
    "  - { joint: j, axis: b, target: 0, stiffness: 1, max_force: inf }\n"
    "truth:\n  - { kind: motion, motion: [ { body: ball, x: [0,0,0], turn: { axis: [1,0,0], angle: "
    "\"1.5 / sqrt(10) * sin(sqrt(10) * t / (1 s))\" } } ] }\n";

/* A conical pendulum with a second one on it: energy and L about the vertical through the joint. */
static const char spin[] =
    "schema: perp-scene/1\n"
    "scene: { summary: a heavy double pendulum in space, t_end: 2 s, h: 20 ms }\n"
    "bodies:\n"
    "  - { name: a, mass: 1, inertia: [0.01, 0.1, 0.1], x: [3.5, 2, 1], v: [0, 2, 0], w: [0, 0, 4] "
    "}\n"
    "  - { name: b, mass: 1, inertia: [0.1, 0.01, 0.1], x: [4, 2.5, 1], v: [-2, 4, 0], w: [0, 0, "
    "4] "
    "}\n"
    "joints:\n  - { name: j, kind: ball, a: world, b: a, at: [3, 2, 1] }\n"
    "  - { name: k, kind: ball, a: a, b: b, at: [4, 2, 1] }\n";

static void measured(void)
{
  perp_result r = run(file("springs", springs), "acceleration", "rk4", 0);
  below(perp_result_metric(&r, "energy.rel.max"), 1e-9, "rk4: the springs of a joint keep energy");
  ok(r.warnings.n == 0 && strncmp(r.invariants, "energy to ", 10) == 0, "it says: %s",
     r.invariants);
  perp_result_free(&r);

  r = run(file("spin", spin), "acceleration", "dopri5:tol=1e-12", 0);
  below(perp_result_metric(&r, "energy.rel.max"), 1e-8, "a double pendulum keeps its energy");
  below(perp_result_metric(&r, "momentum.ang.max"), 1e-8,
        "... and L about the vertical through its joint, which is not at the origin");
  ok(isnan(perp_result_metric(&r, "momentum.lin.max")), "... but no momentum");
  ok(strstr(r.invariants, "angular momentum z to ") != NULL, "it says: %s", r.invariants);
  perp_result_free(&r);
}

/* The loss of a run in its warning; each remedy that it names is tried and leaves none. */
static void remedies(const char *name, const char *text, const char *says)
{
  const char *path = file(name, text);
  perp_result r = run(path, "", "", 0);
  const char *line = r.warnings.n > 0 ? r.warnings.line[0] : "";
  ok(perp_result_status(&r) == PERP_CELL_OK && r.warnings.n == 1 && strstr(line, says) != NULL,
     "%s is ok, and warns: %s", name, line);
  ok(strstr(line, "--formulation acceleration --ode implicit-midpoint") != NULL,
     "it names an integrator");
  perp_result mended = run(path, "acceleration", "implicit-midpoint", 0);
  ok(perp_result_status(&mended) == PERP_CELL_OK && mended.warnings.n == 0, "which leaves: %s",
     mended.invariants);
  perp_result_free(&mended);
  const bool servo = strcmp(name, "springs") == 0;
  ok((strstr(line, "--formulation velocity:servo=symplectic,") != NULL) == servo,
     "it names the springs of drives where there are any");
  if (servo) {
    mended = run(path, "velocity:servo=symplectic", "", 0);
    ok(perp_result_status(&mended) == PERP_CELL_OK && mended.warnings.n == 0 &&
           perp_result_metric(&mended, "err.turn.max") < 1e-4,
       "which leaves: %s, an error of %.2g rad", mended.invariants,
       perp_result_metric(&mended, "err.turn.max"));
    perp_result_free(&mended);
  }
  const char *h = strstr(line, "--h ");
  mended = run(path, "", "", h != NULL ? strtod(h + 4, NULL) : 0);
  ok(h != NULL && perp_result_status(&mended) == PERP_CELL_OK && mended.warnings.n == 0,
     "the step of %g s leaves: %s", mended.h, mended.invariants);
  perp_result_free(&mended);
  perp_result_free(&r);
}

static void warnings(void)
{
  remedies("plate", plate, "angular momentum by 76 %");
  remedies("springs", springs, "energy by 9.1 %");
  remedies("spin", spin, "energy by");

  /* nothing to lose: the scene is driven */
  perp_result r = run("arm", "", "", 0);
  ok(r.warnings.n == 0 && r.invariants[0] == '\0' &&
         isnan(perp_result_metric(&r, "energy.rel.max")),
     "a motor works: no energy is called conserved");
  perp_result_free(&r);
  /* a start that violates its joints: no remedy is named that would be none */
  r = run("chain:links=6,dim=2,error=0.2", "", "", 0);
  ok(perp_result_metric(&r, "energy.rel.max") > 0.05 && r.warnings.n == 0,
     "a start that violates its joints has no warning");
  perp_result_free(&r);
}

static void list(void)
{
  perp_warnings w = { 0 };
  for (int i = 0; i < 2 * PERP_WARNINGS_MOST; i++) perp_warn(&w, "warning %d", i / 2);
  ok(w.n == PERP_WARNINGS_MOST && w.more == 0, "a warning is there once");
  perp_warn(&w, "%1000s", "one that is too long");
  ok(w.n == PERP_WARNINGS_MOST && w.more == 1, "those without room are counted");
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK ||
      mkdtemp(folder) == NULL)
    bail("%s", ctx.msg);
  list();
  decisions();
  measured();
  warnings();
  return tap_done();
}
