/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events to the order of the method (acceleration level): a block on a belt that sticks and slips,
 * against its closed form; a block that rocks from corner to corner, its times of impact against
 * quadratures of Housner's equations (30 digits); a celtic stone that rolls without slip, against
 * the reference of 26 digits, and one that slips, against itself.  Errors of rk4 fall with order 4.
 */
#include "models/collision/collision.h"
#include "models/multibody/model_private.h"
#include "tests/run_model.h"

static perp_ctx ctx;
static const double g = 9.81;

enum { STEPS = 3 }; /* halvings + 1 */

/* observed order of errors at h, h / 2, ...: of all of them together */
static double order_of(const double *error)
{
  return log2(error[0] / error[STEPS - 1]) / (STEPS - 1);
}

static void add_shape(perp_model *m, perp_shape_def def)
{
  run_shape(&ctx, m, def);
}

/* ---- a block on a belt, held by a spring ---- */

static const double belt_mu = 0.4, belt_mu_d = 0.25, belt_speed = 0.2, belt_k = 40;

static perp_model *belt(int dim)
{
  const int up = dim - 1;
  perp_model *m = run_model(&ctx, dim);
  perp_body_def block = { .mass = perp_mass_box(1, 0.2, 0.2, 0.2), .v = { belt_speed } };
  block.x[up] = 0.1;
  perp_shape_def plane = { .kind = PERP_SHAPE_PLANE,
                           .body = PERP_WORLD,
                           .surface = { belt_mu, belt_mu_d, 0 },
                           .belt = { belt_speed } };
  perp_force_def spring = {
    .kind = PERP_FORCE_SPRING, .a = PERP_WORLD, .stiffness = belt_k, .length = 50
  };
  spring.anchor_a[0] = -50, spring.anchor_a[up] = 0.1;
  spring.b = run_body(&ctx, m, block);
  add_shape(m, (perp_shape_def){ .kind = PERP_SHAPE_BOX,
                                 .half = { 0.1, 0.1, 0.1 },
                                 .surface = { belt_mu, belt_mu_d, 0 } });
  add_shape(m, plane);
  run_force(&ctx, m, spring);
  return run_finish(&ctx, m);
}

/* position at t > first: it slides about `middle`, then is carried back */
static double belt_truth(double t)
{
  const double w = sqrt(belt_k), middle = belt_mu_d * g / belt_k,
               far = (belt_mu - belt_mu_d) * g / belt_k;
  const double first = (middle + far) / belt_speed,
               slide = 2 * (M_PI - atan(far * w / belt_speed)) / w,
               s = fmod(t - first, slide + 2 * far / belt_speed);
  if (s < slide) return middle + far * cos(w * s) + belt_speed / w * sin(w * s);
  return middle - far + belt_speed * (s - slide);
}

static void test_belt(void)
{
  double q[7];
  for (int dim = 2; dim <= 3; dim++) {
    perp_model *m = belt(dim);
    double error[STEPS];
    for (int i = 0; i < STEPS; i++) {
      if (run_fresh(&ctx, m, (run_parts){ "acceleration", "rk4" }, 0.02 / (1 << i), 2.4, q, NULL) <
          0)
        bail("the belt ends early");
      error[i] = fabs(q[0] - belt_truth(2.4));
    }
    const double order = order_of(error);
    ok(order > 3.5, "belt, %d-d: order %.2f through six events (%.2g m at 20 ms, %.2g m at 5 ms)",
       dim, order, error[0], error[STEPS - 1]);
    static const char *const adaptive[] = { "dopri5:tol=1e-9", "dop853:tol=1e-10" };
    for (int i = 0; i < 2; i++) {
      if (run_fresh(&ctx, m, (run_parts){ "acceleration", adaptive[i] }, 0.02, 2.4, q, NULL) < 0)
        bail("the belt ends early");
      below(fabs(q[0] - belt_truth(2.4)), 1e-8, "... with %s", adaptive[i]);
    }
    perp_model_destroy(m);
  }
}

/* ---- a block that rocks ---- */

enum { IMPACTS = 4 };
static const double housner[IMPACTS] = { 0.211563678823696609, 0.600016919975425845,
                                         0.958213956323224262, 1.28965583687494362 };

static perp_model *rocking(void)
{
  const double w = 0.2, h = 1, tilt = 0.05, R = 0.5 * sqrt(w * w + h * h), alpha = atan2(w, h);
  perp_model *m = run_model(&ctx, 2);
  run_body(&ctx, m,
           (perp_body_def){ .mass = perp_mass_box(100, w, h, 1),
                            .x = { w / 2 - R * sin(alpha - tilt), R * cos(alpha - tilt) },
                            .angle = -tilt });
  const perp_surface stone = { 2, (double)NAN, 0 };
  add_shape(m, (perp_shape_def){
                   .kind = PERP_SHAPE_BOX, .half = { w / 2, h / 2, 0.5 }, .surface = stone });
  add_shape(m, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = stone });
  return run_finish(&ctx, m);
}

static void rock(perp_model *m, double h, double error[IMPACTS])
{
  perp_sim *sim = run_start(&ctx, m, (run_parts){ "acceleration", "rk4" }, h);
  perp_step_info info = { .reason = PERP_EXACT };
  int64_t impacts = 0;
  double t;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  while (t < 1.4 && info.reason >= 0) {
    if (perp_sim_step(&ctx, sim, 1.4, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    const int64_t now = perp_sim_contacts(sim)->impacts;
    if (now > impacts && impacts < IMPACTS) error[impacts] = fabs(t - housner[impacts]);
    impacts = now;
  }
  if (impacts != IMPACTS) bail("%d impacts", (int)impacts);
  perp_sim_destroy(sim);
}

static void test_rocking(void)
{
  perp_model *m = rocking();
  double error[STEPS][IMPACTS];
  for (int i = 0; i < STEPS; i++) rock(m, 0.02 / (1 << i), error[i]);
  for (int k = 0; k < IMPACTS; k++) {
    const double of[STEPS] = { error[0][k], error[1][k], error[2][k] }, order = order_of(of);
    ok(order > 3.5, "rocking, impact %d: order %.2f (%.2g s at 20 ms, %.2g s at 5 ms)", k + 1,
       order, of[0], of[STEPS - 1]);
  }
  perp_model_destroy(m);
}

/* ---- a celtic stone ---- */

/* rock, spin: rad/s about the short horizontal axis and the vertical, at the start */
static perp_model *stone(double mu, double rock, double spin)
{
  const double I1 = 5.864306286700948e-7, I2 = 7.623598172711232e-6, turned = -M_PI / 36;
  const double c = cos(turned), s = sin(turned), xy = (I1 - I2) * s * c;
  perp_model *m = run_model(&ctx, 3);
  run_body(&ctx, m,
           (perp_body_def){ .mass = { .mass = 0.014660765716752368,
                                      .inertia = { I1 * c * c + I2 * s * s, xy, 0, xy,
                                                   I1 * s * s + I2 * c * c, 0, 0, 0, I2 } },
                            .x = { 0, 0, 0.01 },
                            .v = { 0.01 * rock },
                            .w = { 0, rock, spin } });
  const perp_surface surface = { mu, (double)NAN, 0 };
  add_shape(m, (perp_shape_def){ .kind = PERP_SHAPE_ELLIPSOID,
                                 .half = { 0.05, 0.01, 0.01 },
                                 .surface = surface });
  add_shape(m,
            (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = surface });
  return run_finish(&ctx, m);
}

static void test_stone(void)
{
  /* C_rattleback_modia_noslip.csv at 1.5 s: its spin falls */
  const double wz = 2.066750225521312504137;
  perp_model *m = stone(0.8, 0.1, 5);
  double error[STEPS], v[6];
  for (int i = 0; i < STEPS; i++) {
    if (run_fresh(&ctx, m, (run_parts){ "acceleration", "rk4" }, 2e-3 / (1 << i), 1.5, NULL, v) < 0)
      bail("the stone ends early");
    error[i] = fabs(v[5] - wz);
  }
  ok(order_of(error) > 3.5, "celtic stone: order %.2f of its spin (%.2g, %.2g)", order_of(error),
     error[0], error[STEPS - 1]);
  perp_model_destroy(m);
}

/* With little friction, or much rocking, the stone slips and sticks by turns.  Errors are
 * differences of one step and the half of it; that there are as many phases at each step, that an
 * error-controlled method finds the same motion and that friction takes energy only are no matter
 * of them. */
static const struct {
  double mu, rock, spin, t_end, h;
  int changes;
} slipping[] = { { 0.2, 0.1, 5, 2, 2e-3, 26 },
                 { 0.1, 0.1, 5, 1.5, 2e-3, 15 },
                 { 0.2, 5, 5, 1, 2e-3, 36 },
                 { 0.3, 8, 5, 1, 1e-3, 31 } };

typedef struct stone_end {
  double q[7], gain; /* gain: the most energy that a step makes, of all */
  int64_t changes, piled;
} stone_end;

static void slip_to(perp_model *m, const char *ode, double h, double t_end, stone_end *end)
{
  perp_sim *sim = run_start(&ctx, m, (run_parts){ "acceleration", ode }, h);
  perp_step_info info = { .reason = PERP_EXACT };
  double t = 0, before = HUGE_VAL, moving, high;
  const double *q, *v;
  end->gain = 0;
  while (t < t_end) {
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    perp_model_energy(m, t, q, v, &moving, &high);
    end->gain = fmax(end->gain, (moving + high - before) / (moving + high));
    before = moving + high;
  }
  memcpy(end->q, q, sizeof end->q);
  end->changes = perp_sim_contacts(sim)->switches;
  end->piled = perp_sim_contacts(sim)->piled;
  perp_sim_destroy(sim);
}

static double stones_apart(const stone_end *a, const stone_end *b)
{
  double most = 0;
  for (int j = 0; j < 7; j++) most = fmax(most, fabs(a->q[j] - b->q[j]));
  return most;
}

static void test_slipping_stone(int k)
{
  enum { RUNS = STEPS + 1 };
  const double t_end = slipping[k].t_end;
  const int changes = slipping[k].changes;
  perp_model *m = stone(slipping[k].mu, slipping[k].rock, slipping[k].spin);
  double error[STEPS];
  stone_end end[RUNS], controlled;
  int64_t piled = 0;
  for (int i = 0; i < RUNS; i++) {
    slip_to(m, "rk4", slipping[k].h / (1 << i), t_end, &end[i]);
    piled += end[i].piled;
  }
  slip_to(m, "dopri5:tol=1e-11", slipping[k].h, t_end, &controlled);
  const stone_end *last = &end[RUNS - 1];
  for (int i = 0; i < STEPS; i++) error[i] = stones_apart(&end[i], &end[i + 1]);
  ok(order_of(error) > 3.5,
     "a stone that slips, mu = %g, rocking %g: order %.2f of its pose (%.2g, %.2g)", slipping[k].mu,
     slipping[k].rock, order_of(error), error[0], error[STEPS - 1]);
  ok(end[0].changes == changes && last->changes == changes && piled == 0,
     "... sliding begins or ends %d times, and %d times", (int)end[0].changes, (int)last->changes);
  below(last->gain, 1e-9, "... no step makes energy");
  below(stones_apart(&controlled, last), 2e-7, "... and dopri5:tol=1e-11 agrees: %.1g",
        stones_apart(&controlled, last));
  perp_model_destroy(m);
}

/* ---- dense output ---- */

/* Inside of steps: the stone rolls on, its gap, its distance to the plane, is zero to the order; so
 * is the velocity of the point that touches.  At the ends of steps the gap is projected. */
static void test_dense_rolling(void)
{
  perp_model *m = stone(0.8, 0.1, 5);
  double error[STEPS] = { 0 };
  for (int i = 0; i < STEPS; i++) {
    const double h = 8e-3 / (1 << i);
    perp_sim *sim = run_start(&ctx, m, (run_parts){ "acceleration", "rk4" }, h);
    perp_step_info info = { .reason = PERP_EXACT };
    double t = 0, q[7], v[6];
    const double *now, *rate;
    while (t < 0.8 && info.reason >= 0) {
      if (perp_sim_step(&ctx, sim, 0.8, &info) != PERP_OK) bail("%s", ctx.msg);
      perp_sim_state(sim, &t, &now, &rate);
      if (perp_sim_dense_at(&ctx, sim, t - 0.4 * h, q, v, NULL) != PERP_OK) bail("%s", ctx.msg);
      const perp_pose world = { .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
      perp_pose pose;
      perp_pose_of(3, q, &pose);
      error[i] = fmax(error[i],
                      fabs(perp_shape_distance(m, 0, &pose, 1, &world, NULL, NULL, NULL)));
    }
    perp_sim_destroy(sim);
  }
  ok(order_of(error) > 3.5, "celtic stone inside of steps: order %.2f of its gap (%.2g, %.2g m)",
     order_of(error), error[0], error[STEPS - 1]);
  perp_model_destroy(m);
}

/* the block on the belt, which sticks and slides on it: its way inside of steps, its height and
 * their rates */
static void test_dense_sliding(void)
{
  perp_model *m = belt(3);
  double error[STEPS] = { 0 }, off = 0;
  int inside = 0;
  for (int i = 0; i < STEPS; i++) {
    const double h = 0.02 / (1 << i);
    perp_sim *sim = run_start(&ctx, m, (run_parts){ "acceleration", "rk4" }, h);
    perp_step_info info = { .reason = PERP_EXACT };
    double t = 0, before, q[7], v[6];
    const double *now, *rate;
    while (t < 2.4 && info.reason >= 0) {
      before = t;
      if (perp_sim_step(&ctx, sim, 2.4, &info) != PERP_OK) bail("%s", ctx.msg);
      perp_sim_state(sim, &t, &now, &rate);
      const double at = 0.5 * (before + t);
      if (at < 1 || perp_sim_dense_at(&ctx, sim, at, q, v, NULL) != PERP_OK) continue;
      inside++;
      error[i] = fmax(error[i], fabs(q[0] - belt_truth(at)));
      off = fmax(off, fmax(fabs(q[2] - 0.1), fabs(v[2])));
    }
    perp_sim_destroy(sim);
  }
  ok(order_of(error) > 3.5 && inside > 300,
     "belt inside of %d steps: order %.2f (%.2g m at 20 ms, %.2g m at 5 ms)", inside,
     order_of(error), error[0], error[STEPS - 1]);
  below(off, 1e-12, "... neither higher nor lower than it is, at rest");
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_belt();
  test_rocking();
  test_stone();
  for (int k = 0; k < (int)(sizeof slipping / sizeof *slipping); k++) test_slipping_stone(k);
  test_dense_rolling();
  test_dense_sliding();
  return tap_done();
}
