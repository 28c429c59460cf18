/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verdicts of the study complaints, judged once more: from states alone, by formulas that stand
 * here, without gauges and metrics.  An engine that is known to show a complaint, and one that does
 * not. */
#include "experiments/scenes/scene_file.h"
#include "models/models.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

static perp_ctx ctx;

static const double g = 9.81;

/* A run of a scene with its own step. */
typedef struct run {
  perp_scene scene;
  perp_sim *sim;
  double t;
  const double *q, *v;
} run;

static void open_part(perp_kind kind, const char *text, perp_spec *spec)
{
  if (text != NULL && perp_spec_parse(&ctx, kind, text, spec) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
}

static bool engine_here(const char *engine)
{
  char name[32];
  if (engine == NULL) return true;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(engine, ":"), engine);
  const perp_engine_desc *d = (const perp_engine_desc *)perp_find(&ctx, PERP_KIND_engine, name);
  const perp_engine_calls *calls;
  if (d == NULL) bail("no engine %s", name);
  return perp_engine_load(&ctx, d, &calls) == PERP_OK;
}

/* false: the engine is not here */
static bool open_run(const char *scene, const char *engine, const char *formulation, run *r)
{
  perp_spec spec;
  perp_parts parts = { 0 };
  memset(r, 0, sizeof *r);
  if (!engine_here(engine)) return false;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, scene, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &r->scene) != PERP_OK)
    bail("%s: %s", scene, ctx.msg);
  perp_spec_free(&spec);
  open_part(PERP_KIND_engine, engine, &parts.engine);
  open_part(PERP_KIND_formulation, formulation, &parts.formulation);
  if (perp_sim_create(&ctx, r->scene.model, &parts, r->scene.h, &r->sim) != PERP_OK)
    bail("%s: %s", scene, ctx.msg);
  perp_parts_free(&parts);
  return true;
}

static void march(run *r, double t)
{
  while (r->t < t - 1e-9) {
    perp_step_info info = { 0 };
    if (perp_sim_step(&ctx, r->sim, t, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(r->sim, &r->t, &r->q, &r->v);
  }
}

static void close_run(run *r)
{
  perp_sim_destroy(r->sim);
  perp_scene_destroy(&r->scene);
}

/* The cosine of the tilt of a body: the vertical of its own against that of the world. */
static double upright(const double *quat)
{
  return 1 - 2 * (quat[1] * quat[1] + quat[2] * quat[2]);
}

/* A pinched capsule: how far it goes down in the half seconds from 0.5 s and from 1 s. */
static bool creep(const char *engine, const char *formulation, double down[2])
{
  run r;
  if (!open_run("pinch", engine, formulation, &r)) return false;
  double z[3];
  for (int i = 0; i < 3; i++) {
    march(&r, 0.5 * (i + 1));
    z[i] = r.q[2];
  }
  down[0] = z[0] - z[1];
  down[1] = z[1] - z[2];
  close_run(&r);
  return true;
}

static void pinch(void)
{
  double d[2], e[2];
  creep(NULL, "velocity", d);
  ok(fabs(d[0]) < 1e-9 && fabs(d[1]) < 1e-9, "pinch: the velocity level holds it (%.2g m)", d[0]);
  creep(NULL, "soft-constraints:impratio=1", d);
  creep(NULL, "soft-constraints:impratio=10", e);
  ok(d[0] > 5e-4 && fabs(d[1] / d[0] - 1) < 0.1 && fabs(d[0] / e[0] / 10 - 1) < 0.2,
     "pinch: soft constraints let it creep steadily, ten times less with impratio = 10 (%.3g, %.3g "
     "m)",
     d[0], e[0]);
  if (!creep("mujoco:cone=elliptic,impratio=10,timeconst=0.004", NULL, d)) {
    skip("not here", "pinch: MuJoCo");
    return;
  }
  creep("mujoco:cone=elliptic,impratio=1,timeconst=0.004", NULL, e);
  ok(d[0] > 1e-5 && d[0] < 1e-4 && fabs(d[1] / d[0] - 1) < 0.1 && e[0] > 5 * d[0],
     "pinch: so does MuJoCo, by %.3g m in half a second, and %.3g with impratio = 1", d[0], e[0]);
}

/* A box launched along the floor: its tilt at most [rad], where it stops, and the direction of its
 * way. */
static bool launch(const char *scene, const char *engine, const char *formulation, double *tilt,
                   double *way, double *heading)
{
  run r;
  if (!open_run(scene, engine, formulation, &r)) return false;
  *tilt = 0;
  for (int i = 1; i <= 80; i++) {
    march(&r, 0.02 * i);
    *tilt = fmax(*tilt, acos(fmax(-1, fmin(1, upright(r.q + 3)))));
  }
  *way = hypot(r.q[0], r.q[1]);
  *heading = atan2(r.q[1], r.q[0]);
  close_run(&r);
  return true;
}

static void launched(void)
{
  static const char *const straight = "launched-box:speed=1.56,heading=-0.695";
  const double stop = 36 / (2 * 0.5 * g);
  double tilt, way, heading;
  launch("launched-box", NULL, "velocity", &tilt, &way, &heading);
  ok(tilt < 1e-6 && fabs(way / stop - 1) < 0.01, "launched box: flat, to rest after %.4g m (%.4g)",
     way, stop);
  launch("launched-box", NULL, "soft-constraints", &tilt, &way, &heading);
  ok(tilt > 0.4, "launched box: soft constraints throw it over (%.3g rad)", tilt);
  if (launch("launched-box", "mujoco:cone=elliptic", NULL, &tilt, &way, &heading))
    ok(tilt > 0.4, "launched box: so does MuJoCo (%.3g rad)", tilt);
  else
    skip("not here", "launched box: MuJoCo");
  launch(straight, NULL, "velocity", &tilt, &way, &heading);
  ok(fabs(heading + 0.695) < 1e-3, "launched box: goes straight on (%.4g rad)", heading);
  if (launch(straight, "ode", NULL, &tilt, &way, &heading))
    ok(fabs(heading + 0.695) > 0.05, "launched box: under ODE it does not (%.4g rad)", heading);
  else
    skip("not here", "launched box: ODE");
}

/* The height lost by the upper of two boxes, of which it is a hundred times as heavy, in 2 s. */
static bool sinking(const char *engine, const char *formulation, double *down)
{
  run r;
  if (!open_run("mass-ratio:ratio=100", engine, formulation, &r)) return false;
  march(&r, 2);
  *down = 1.5 - r.q[7 + 2];
  close_run(&r);
  return true;
}

static void heavy(void)
{
  double down;
  sinking(NULL, "velocity", &down);
  ok(fabs(down) < 1e-8, "heavy on light: a solved step holds it (%.2g m)", down);
  sinking(NULL, "soft-step", &down);
  ok(down > 0.01, "heavy on light: soft rows let it sink by %.2g m", down);
  if (sinking("dart", NULL, &down))
    ok(fabs(down) < 0.01, "heavy on light: DART's boxed LCP holds it (%.2g m)", down);
  else
    skip("not here", "heavy on light: DART");
}

/* A fall by x' = v of the end of the step lags by g h t / 2; rk4 does not. */
static void fall(void)
{
  run r;
  open_run("projectile:linear=0,angle=0", NULL, "velocity", &r);
  march(&r, 2);
  const double lag = -r.q[2] - g * 4 / 2, expected = g * r.scene.h * 2 / 2;
  close_run(&r);
  ok(fabs(lag / expected - 1) < 1e-9, "fall: off by g h t / 2 = %.4g m (%.4g)", expected, lag);
}

/* Momentum of a tumbling pair along x, y and z less that of gravity: its largest change over the
 * whole. */
static bool flight(const char *engine, const char *formulation, double *change)
{
  run r;
  if (!open_run("tumbling-box", engine, formulation, &r)) return false;
  *change = 0;
  for (int i = 1; i <= 100; i++) {
    march(&r, 0.02 * i);
    for (int k = 0; k < 3; k++) {
      const double v = (r.v[k] + r.v[6 + k]) / 2 + (k == 2 ? g * r.t : 0);
      *change = fmax(*change, fabs(v - 3) / (3 * sqrt(3)));
    }
  }
  close_run(&r);
  return true;
}

static void tumbling(void)
{
  double change;
  flight(NULL, "velocity", &change);
  ok(change < 1e-12, "flight: the velocity level keeps the momentum (%.2g)", change);
  if (flight("bullet", NULL, &change))
    ok(change < 1e-12, "flight: Bullet's rigid bodies do (%.2g)", change);
  else
    skip("not here", "flight: Bullet");
  if (flight("bullet:bodies=featherstone", NULL, &change))
    ok(change > 1e-4, "flight: its multibodies do not (%.2g)", change);
  else
    skip("not here", "flight: Bullet's multibodies");
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  pinch();
  launched();
  heavy();
  fall();
  tumbling();
  return tap_done();
}
