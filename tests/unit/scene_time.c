/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scene files in which something depends on time: exact derivatives of expressions, what is refused
 * and where, and a scene with all of it, written and read back, that makes the same steps to the
 * last bit. */
#include "experiments/expr/expr.h"
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "tests/tap.h"
#include "experiments/base/files.h"

#include <string.h>
#include <unistd.h>

static perp_ctx ctx;
static char folder[] = "/tmp/perp-time-XXXXXX";

/* ---- derivatives of expressions ---- */

static double now;
static void value_of(void *user, int row, int column, perp_value *v)
{
  (void)user, (void)row;
  *v = (perp_value){ PERP_VALUE_NUMBER, column == 0 ? now : 0.7, NULL };
}
static const perp_column columns[] = { { .name = "t", .type = PERP_COLUMN_NUMBER, .unit = "" },
                                       { .name = "a", .type = PERP_COLUMN_NUMBER, .unit = "" } };

static void derivatives(void)
{
  const double t = 0.6, a = 0.7, r2 = t * t + 0.49, e = exp(-a * t);
  const struct {
    const char *text;
    double of[3];
  } rows[] = {
    { "a * sin(3 * t) + 2", { a * sin(3 * t) + 2, 3 * a * cos(3 * t), -9 * a * sin(3 * t) } },
    { "-cos(t)^2", { -pow(cos(t), 2), sin(2 * t), 2 * cos(2 * t) } },
    { "t^3 - t / a", { t * t * t - t / a, 3 * t * t - 1 / a, 6 * t } },
    { "a / t", { a / t, -a / (t * t), 2 * a / (t * t * t) } },
    { "exp(-a * t)", { e, -a * e, a * a * e } },
    { "log(t) + sqrt(t)",
      { log(t) + sqrt(t), 1 / t + 0.5 / sqrt(t), -1 / (t * t) - 0.25 / (t * sqrt(t)) } },
    { "tan(t)", { tan(t), 1 + tan(t) * tan(t), 2 * tan(t) * (1 + tan(t) * tan(t)) } },
    { "atan2(t, a)", { atan2(t, a), a / r2, -2 * a * t / (r2 * r2) } },
    { "atan2(a, t)", { atan2(a, t), -a / r2, 2 * a * t / (r2 * r2) } },
    { "asin(t) + acos(t)", { M_PI / 2, 0, 0 } },
    { "asin(t)", { asin(t), 1 / sqrt(1 - t * t), t / pow(1 - t * t, 1.5) } },
    { "atan(t)", { atan(t), 1 / (1 + t * t), -2 * t / pow(1 + t * t, 2) } },
    { "2^t", { pow(2, t), log(2) * pow(2, t), log(2) * log(2) * pow(2, t) } },
    { "t^t", { pow(t, t), pow(t, t) * (log(t) + 1), pow(t, t) * (pow(log(t) + 1, 2) + 1 / t) } },
    { "abs(-t) * t", { t * t, 2 * t, 2 } },
    { "mod(5 * t, 2)", { 5 * t - 2, 5, 0 } },
    { "max(t^2, -t) + min(t, 9)", { t * t + t, 2 * t + 1, 2 } },
    { "floor(t) + ceil(t)", { 1, 0, 0 } },
    { "if(t < 0.5, 1, if(t < 1 and not (t == 3), t^2, t))", { t * t, 2 * t, 2 } },
    { "t^1 + t^0", { t + 1, 1, 0 } },
  };
  perp_pool pool = { 0 };
  const perp_scope scope = { .ctx = &ctx,
                             .columns = columns,
                             .n_columns = 2,
                             .arithmetic = true,
                             .rows = 1,
                             .value = value_of };
  const perp_scope bare = { .ctx = &ctx,
                            .columns = columns,
                            .n_columns = 1,
                            .arithmetic = true,
                            .rows = 1,
                            .value = value_of };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    perp_expr_error error;
    double y[3], z[3];
    now = t;
    const perp_expr *x = perp_expr_parse(&pool, &scope, rows[i].text, &error);
    if (x == NULL) bail("%s: %s", rows[i].text, error.message);
    perp_expr_derivatives(x, &scope, 0, 0, y);
    for (int k = 0; k < 3; k++)
      near(y[k], rows[i].of[k], 1e-14, 1e-14, "%s: derivative %d", rows[i].text, k);
    perp_text out = { 0 };
    perp_expr_write(x, &scope, 0, &out);
    const perp_expr *back = perp_expr_parse(&pool, &bare, out.s, &error);
    bool same = back != NULL;
    for (now = 0.01; same && now < 3; now += 0.17) {
      perp_expr_derivatives(x, &scope, 0, 0, y);
      perp_expr_derivatives(back, &bare, 0, 0, z);
      same = memcmp(y, z, sizeof y) == 0 || y[0] != y[0];
    }
    ok(same, "%s is the same as %s", rows[i].text, out.s);
    perp_text_free(&out);
  }
  now = 0;
  double y[3];
  perp_expr_error error;
  perp_expr_derivatives(perp_expr_parse(&pool, &scope, "t^2 + t^3", &error), &scope, 0, 0, y);
  ok(y[0] == 0 && y[1] == 0 && y[2] == 2, "powers at 0 have their derivatives");
  perp_pool_free(&pool);
}

/* ---- scene files ---- */

static void put(const char *name, const char *text)
{
  if (perp_write_file(&ctx, name, text, strlen(text)) != PERP_OK) bail("%s", ctx.msg);
}

static bool build(const char *name, perp_scene *scene, perp_spec *spec)
{
  if (perp_spec_parse(&ctx, PERP_KIND_scene, name, spec) != PERP_OK) return false;
  if (perp_scene_create(&ctx, spec, scene) == PERP_OK) return true;
  perp_spec_free(spec);
  return false;
}

#define HEAD   "schema: perp-scene/1\n"
#define BALL   "bodies:\n  - { name: ball, mass: 1, inertia: [1, 1, 1] }\n"
#define MOTION HEAD BALL "motions:\n  - { body: ball, x: [0, 0, "

static void refused(void)
{
  static const struct {
    const char *text, *place, *message;
  } bads[] = {
    { MOTION "0.1 * sin(3 * t)] }\n", "5:39", "this is in s; required here: a pure number" },
    { MOTION "sin(3 rad/s * t) * 1 s] }\n", "5:29", "this is in s; required here: m" },
    { MOTION "{ amplitude: 1 }] }\n", "5:29", "'kind' is missing" },
    { MOTION "{ kind: sin }] }\n", "5:37", "unknown value 'sin'" },
    { MOTION "{ kind: sine, points: [] }] }\n", "5:43",
      "the key 'points' is not allowed with 'kind: sine'" },
    { MOTION "{ kind: sine, amplitude: 1, frequency: 1, rate: 2 }] }\n", "5:68",
      "define the same quantity" },
    { MOTION "{ kind: spline, points: [[0, 0]] }] }\n", "5:29", "at least two points: got 1" },
    { MOTION "{ kind: spline, points: [[0, 0], [1]] }] }\n", "5:62", "a time and a value" },
    { MOTION "{ kind: spline, points: [[0, 0], [0, 1]] }] }\n", "5:29", "must increase" },
    { MOTION "{ kind: table, points: [[0, 0], [1, 1]] }] }\n", "5:5", "use a spline" },
    { MOTION "{ kind: function }] }\n", "5:29", "'of' is missing" },
    { MOTION "1 / t * 1 m x] }\n", "5:41", "not allowed here" },
    { MOTION "log(t / 1 s)] }\n", "5:29", "the value at t = 0 is not finite" },
    { HEAD BALL "motions:\n  - { x: [0, 0, 0] }\n", "5:5", "'body' is missing" },
    { HEAD BALL "motions:\n  - { body: world }\n", "5:13", "the world cannot move" },
    { HEAD BALL "motions:\n  - { body: bal }\n", "5:13", "there is no body 'bal'" },
    { HEAD BALL "motions:\n  - { body: ball }\n  - { body: ball }\n", "6:5", "prescribed already" },
    { HEAD BALL "motions:\n  - { body: ball, angle: 2 rad/s * t }\n", "5:5",
      "needs a nonzero axis" },
    { HEAD "bodies:\n  - { name: b, mass: 1, inertia: [1, 1, 1], v: [0, 0, 1] }\nmotions:\n  - { "
           "body: b }\n",
      "5:5", "initial velocity contradicts" },
    { HEAD "bodies:\n  - { name: b, mass: 1, inertia: [1, 1, 1], x: [0, 0, 1] }\nmotions:\n  - { "
           "body: b, x: [0, 0, 2] }\n",
      "5:5", "initial position contradicts" },
    { HEAD "scene: { isolated: true, gravity: 2 m/s^2 * cos(1 rad/s * t) }\n" BALL,
      "2:", "isolated" },
  };
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
    char name[40], place[60];
    perp_scene scene;
    perp_spec spec;
    snprintf(name, sizeof name, "bad%zu.yaml", i);
    snprintf(place, sizeof place, "%s:%s", name, bads[i].place);
    put(name, bads[i].text);
    const bool good = build(name, &scene, &spec);
    unlink(name);
    if (!ok(!good && strstr(ctx.msg, place) != NULL && strstr(ctx.msg, bads[i].message) != NULL,
            "refused: %s", bads[i].message))
      printf("# %s\n", good ? "it is read" : ctx.msg);
    if (good) {
      perp_scene_destroy(&scene);
      perp_spec_free(&spec);
    }
  }
}

static const char all[] = HEAD
    "scene: { gravity: 9 m/s^2 + g1 * cos(2 rad/s * t), t_end: 1 s, h: 2 ms }\n"
    "parameters:\n"
    "  g1: { default: 0.7, unit: m/s^2, help: amplitude }\n"
    "  quick: { default: true, help: is it }\n"
    "let: { w: 5 rad/s }\n"
    "bodies:\n"
    "  - { name: plate, mass: 1, inertia: [1, 2, 2] }\n"
    "  - { name: rod, mass: 1, inertia: [0.1, 1, 1], x: [0.5, 0, 0.1] }\n"
    "  - { name: wheel, mass: 1, inertia: [1, 1, 1], x: [0, 4, 0], shape: { kind: sphere, radius: "
    "13, mu: 0.3, "
    "belt: [0, 0, 0.5 m/s * t / 1 s] } }\n"
    "motions:\n"
    "  - { body: plate, name: shaker, x: [0, 0, \"if(t < 9 s, 0.1 m * cos(w * t), 0 m)\"], axis: "
    "[0, 1, 1], angle: "
    "{ kind: sine, amplitude: 0.3, frequency: 2 1/s } }\n"
    "joints:\n"
    "  - { kind: ball, a: plate, b: rod, at: [0, 0, 0.1], start: violates }\n"
    "  - { name: axle, kind: hinge, a: world, b: wheel, at: [0, 4, 0], axis: [0, 0, 1] }\n"
    "drives:\n"
    "  - { joint: axle, velocity: 1 rad/s + 1 rad/s * sin(w * t), max_force: 3 Nm }\n"
    "shapes:\n"
    "  - { body: world, kind: plane, x: [0, 0, -9], belt: [1, { kind: sine, amplitude: 2, rate: 3, "
    "plus: 0.1 }, 0] }\n"
    "forces:\n"
    "  - { kind: point, a: rod, value: [0, { kind: spline, plus: 0.25, points: [[0, 0], [0.1, 1], "
    "[0.2, "
    "-1], [1, 0]] }, 2 * exp(-t / 1 s)] }\n"
    "  - { kind: torque, a: wheel, value: [0, 0, { kind: table, points: [[0, 0], [1, 1]] }] }\n";

static void round_trip(void)
{
  perp_scene a, b;
  perp_spec spec, back;
  put("all.yaml", all);
  if (!build("all.yaml", &a, &spec)) bail("%s", ctx.msg);
  ok(a.driven, "a scene in which something depends on time is driven");
  FILE *f = fopen("again.yaml", "w");
  if (f == NULL) bail("again.yaml");
  const perp_status status = perp_scene_export(&ctx, spec.d, &a, "all", f);
  fclose(f);
  if (status != PERP_OK || !build("again.yaml", &b, &back)) bail("%s", ctx.msg);
  const char *const odes[] = { "symplectic-euler", "dopri5" };
  for (int i = 0; i < 2; i++) {
    perp_sim *sim[2];
    perp_parts parts = { 0 };
    if (perp_spec_parse(&ctx, PERP_KIND_ode, odes[i], &parts.ode) != PERP_OK ||
        perp_sim_create(&ctx, a.model, &parts, 2e-3, &sim[0]) != PERP_OK ||
        perp_sim_create(&ctx, b.model, &parts, 2e-3, &sim[1]) != PERP_OK)
      bail("%s", ctx.msg);
    bool same = true;
    double t[2] = { 0 };
    for (int n = 0; n < 100 && same; n++) {
      const double *q[2], *v[2];
      for (int k = 0; k < 2; k++) {
        perp_step_info info;
        if (perp_sim_step(&ctx, sim[k], 1, &info) != PERP_OK || info.reason < 0) bail("a step");
        perp_sim_state(sim[k], &t[k], &q[k], &v[k]);
      }
      same = t[0] == t[1] && memcmp(q[0], q[1], 21 * sizeof(double)) == 0 &&
             memcmp(v[0], v[1], 18 * sizeof(double)) == 0;
    }
    ok(same && t[0] > 0.1, "written and read back it makes the same steps with %s, to %g s",
       odes[i], t[0]);
    for (int k = 0; k < 2; k++) perp_sim_destroy(sim[k]);
    perp_spec_free(&parts.ode);
  }
  perp_scene_destroy(&a);
  perp_scene_destroy(&b);
  perp_spec_free(&spec);
  perp_spec_free(&back);
}

/* A value of the file that is called t is no time. */
static void hidden(void)
{
  perp_scene a;
  perp_spec spec;
  put("hidden.yaml", HEAD "scene: { gravity: t }\nlet: { t: 3 m/s^2 }\n" BALL);
  if (!build("hidden.yaml", &a, &spec)) bail("%s", ctx.msg);
  ok(!perp_model_depends_on_time(a.model) && perp_model_gravity_of(a.model) == 3,
     "a value of one's own that is called t hides the time");
  perp_scene_destroy(&a);
  perp_spec_free(&spec);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  if (perp_scene_files_register(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (mkdtemp(folder) == NULL || chdir(folder) != 0) bail("%s", folder);
  derivatives();
  refused();
  round_trip();
  hidden();
  unlink("all.yaml");
  unlink("again.yaml");
  unlink("hidden.yaml");
  rmdir(folder);
  return tap_done();
}
