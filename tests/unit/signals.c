/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals against closed forms and the splines of GSL; C_t and the second derivative of prescribed
 * motions against differences; what is refused. */
#include "tests/run_model.h"

#include <gsl/gsl_spline.h>

static perp_ctx ctx;
static perp_rng *rng;

static perp_signal *make(const perp_signal_def *def)
{
  perp_signal *s;
  if (perp_signal_create(&ctx, def, "it", &s) != PERP_OK) bail("%s", ctx.msg);
  return s;
}

static void sine(void)
{
  const perp_signal_def def = {
    .kind = PERP_SIGNAL_SINE, .offset = 2, .amplitude = 3, .rate = 5, .phase = 0.7
  };
  perp_signal *s = make(&def);
  double y[3];
  perp_signal_at(s, 1.3, y);
  near(y[0], 2 + 3 * sin(7.2), 1e-14, 0, "sine: value");
  near(y[1], 15 * cos(7.2), 1e-13, 0, "sine: rate");
  near(y[2], -75 * sin(7.2), 1e-13, 0, "sine: second derivative");
  perp_signal_destroy(s);
}

static void points(void)
{
  enum { N = 9 };
  double t[N], x[N], y[3];
  for (int i = 0; i < N; i++) t[i] = i + 0.3 * sin(7 * i), x[i] = perp_rng_normal(rng);
  const perp_signal_def table = { .kind = PERP_SIGNAL_TABLE, .n = N, .t = t, .y = x };
  const perp_signal_def spline = { .kind = PERP_SIGNAL_SPLINE, .n = N, .t = t, .y = x };
  perp_signal *a = make(&table), *b = make(&spline);
  gsl_interp_accel *accel = gsl_interp_accel_alloc();
  gsl_spline *line = gsl_spline_alloc(gsl_interp_linear, N),
             *cubic = gsl_spline_alloc(gsl_interp_cspline, N);
  gsl_spline_init(line, t, x, N);
  gsl_spline_init(cubic, t, x, N);
  double worst[2][3] = { { 0 } };
  for (double s = t[0]; s < t[N - 1]; s += 0.0137) {
    perp_signal_at(a, s, y);
    worst[0][0] = fmax(worst[0][0], fabs(y[0] - gsl_spline_eval(line, s, accel)));
    worst[0][1] = fmax(worst[0][1], fabs(y[1] - gsl_spline_eval_deriv(line, s, accel)));
    worst[0][2] = fmax(worst[0][2], fabs(y[2]));
    perp_signal_at(b, s, y);
    worst[1][0] = fmax(worst[1][0], fabs(y[0] - gsl_spline_eval(cubic, s, accel)));
    worst[1][1] = fmax(worst[1][1], fabs(y[1] - gsl_spline_eval_deriv(cubic, s, accel)));
    worst[1][2] = fmax(worst[1][2], fabs(y[2] - gsl_spline_eval_deriv2(cubic, s, accel)));
  }
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < 3; i++)
      below(worst[k][i], 1e-12, "%s: derivative %d as by GSL", k == 0 ? "table" : "spline", i);
  double end[3];
  perp_signal_at(b, t[N - 1], end);
  perp_signal_at(b, t[N - 1] + 2, y);
  near(y[0], end[0] + 2 * end[1], 1e-12, 0, "spline: straight on behind its end");
  near(y[1], end[1], 0, 0, "spline: with the same rate");
  perp_signal_at(b, t[0] - 2, y);
  perp_signal_at(b, t[0], end);
  near(y[0], end[0] - 2 * end[1], 1e-12, 0, "spline: and before its start");
  perp_signal_at(a, t[N - 1] + 2, y);
  ok(y[0] == x[N - 1] && y[1] == 0, "table: as at its end, behind it");
  gsl_spline_free(line);
  gsl_spline_free(cubic);
  gsl_interp_accel_free(accel);
  perp_signal_destroy(a);
  perp_signal_destroy(b);
}

static void refused(void)
{
  const double t[] = { 0, 1, 1 }, y[] = { 0, 1, (double)NAN };
  perp_signal *s;
  const struct {
    perp_signal_def def;
    const char *word;
  } bads[] = {
    { { .kind = PERP_SIGNAL_TABLE, .n = 1, .t = t, .y = y }, "two points" },
    { { .kind = PERP_SIGNAL_SPLINE, .n = 3, .t = t, .y = t }, "must increase" },
    { { .kind = PERP_SIGNAL_TABLE, .n = 3, .t = t, .y = y }, "not finite" },
    { { .kind = PERP_SIGNAL_SINE, .rate = (double)INFINITY }, "not finite" },
    { { .kind = PERP_SIGNAL_FUNCTION }, "is missing" },
    { { .kind = (perp_signal_kind)77 }, "unknown kind" },
  };
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++)
    ok(perp_signal_create(&ctx, &bads[i].def, "it", &s) == PERP_ERR_ARG && s == NULL &&
           strstr(ctx.msg, bads[i].word) != NULL,
       "refused: %s", ctx.msg);
}

/* ---- motions ---- */

static int destroyed;
static void destroy(void *user)
{
  (void)user;
  destroyed++;
}

static void cubed(const void *user, double t, double y[3])
{
  const double c = *(const double *)user;
  y[0] = c * t * t * t, y[1] = 3 * c * t * t, y[2] = 6 * c * t;
}

static perp_model *moved(int dim, bool free_turn)
{
  static double c = 0.4;
  perp_model *m = run_model(&ctx, dim);
  perp_signal_ref s[3];
  const perp_signal_def defs[] = {
    { .kind = PERP_SIGNAL_SINE, .amplitude = 0.3, .rate = 2, .phase = 0.4 },
    { .kind = PERP_SIGNAL_FUNCTION, .of = cubed, .user = &c, .destroy = destroy },
    { .kind = PERP_SIGNAL_SINE, .amplitude = 0.8, .rate = 1.3, .offset = 5 }
  };
  for (int i = 0; i < 3; i++)
    if (perp_model_add_signal(&ctx, m, &defs[i], &s[i]) != PERP_OK) bail("%s", ctx.msg);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 2, 3) });
  run_body(&ctx, m,
           (perp_body_def){ .mass = perp_mass_box(1, 1, 2, 3),
                            .x = { 0.3 * sin(0.4), 1 },
                            .quat = { 0.8, 0.3, -0.2, 0.4 },
                            .angle = 0.3 });
  const perp_motion_def def = { .body = 1,
                                .x = { 0, 1 },
                                .x_signal = { s[0], s[1] },
                                .free_turn = free_turn,
                                .axis = { 0.3, 1, -2 },
                                .angle_signal = free_turn ? 0 : s[2],
                                .sets_velocity = true };
  if (perp_model_add_motion(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
  return run_finish(&ctx, m);
}

/* C along a motion of the bodies, by its differences */
static void differences(int dim, bool free_turn)
{
  perp_model *m = moved(dim, free_turn);
  const int nv = perp_model_nv(m), rows = perp_model_m(m);
  const double t = 0.7, d = 1e-4;
  double v[12], dq[12], q[14], at[14], C[3][6], rate[3][6], gamma[6];
  const char *how = free_turn ? "place" : "place and turning";
  for (int i = 0; i < nv; i++) v[i] = perp_rng_normal(rng), dq[i] = 0.2 * perp_rng_normal(rng);
  perp_model_retract(m, perp_model_q0(m), dq, q);
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < nv; i++) dq[i] = (k - 1) * d * v[i];
    perp_model_retract(m, q, dq, at);
    perp_model_error(m, t + (k - 1) * d, at, C[k]);
    perp_model_rate(m, t + (k - 1) * d, at, v, rate[k]);
  }
  perp_model_jdotv(m, t, q, v, gamma);
  double worst[2] = { 0 };
  for (int i = 0; i < rows; i++) {
    worst[0] = fmax(worst[0], fabs((C[2][i] - C[0][i]) / (2 * d) - rate[1][i]));
    worst[1] = fmax(worst[1], fabs((rate[2][i] - rate[0][i]) / (2 * d) - gamma[i]));
  }
  below(worst[0], 1e-6, "%d-d, %s: J v + C_t is the rate of C", dim, how);
  below(worst[1], 1e-6, "%d-d, %s: gamma is the rate of that", dim, how);
  perp_model_rate(m, 0, perp_model_q0(m), perp_model_v0(m), rate[0]);
  worst[0] = 0;
  for (int i = 0; i < rows; i++) worst[0] = fmax(worst[0], fabs(rate[0][i]));
  below(worst[0], 1e-14, "%d-d, %s: the initial velocity is that of the motion", dim, how);
  ok(perp_model_motions(m) == 1 && perp_model_joints(m) == 1 && perp_model_joint_motion(m, 0) == 0,
     "%d-d, %s: its joint is told", dim, how);
  destroyed = 0;
  perp_model_destroy(m);
  ok(destroyed == 1, "%d-d, %s: the function goes with the model", dim, how);
}

static void motions_refused(void)
{
  const double t[] = { 0, 1 };
  perp_signal_ref table, sine_of;
  const perp_signal_def defs[] = { { .kind = PERP_SIGNAL_TABLE, .n = 2, .t = t, .y = t },
                                   { .kind = PERP_SIGNAL_SINE, .amplitude = 1, .rate = 1 } };
  perp_model *m = run_model(&ctx, 3);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1) });
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_sphere(1, 1), .particle = true });
  if (perp_model_add_signal(&ctx, m, &defs[0], &table) != PERP_OK ||
      perp_model_add_signal(&ctx, m, &defs[1], &sine_of) != PERP_OK)
    bail("%s", ctx.msg);
  const struct {
    perp_motion_def def;
    const char *word;
  } bads[] = {
    { { .body = 7 }, "body 7" },
    { { .body = PERP_WORLD }, "body -1" },
    { { .body = 0, .x_signal = { table } }, "spline" },
    { { .body = 0, .x_signal = { 9 } }, "signal 9 does not exist" },
    { { .body = 0, .angle_signal = sine_of }, "axis" },
    { { .body = 0, .axis = { 1 }, .angle_signal = sine_of, .free_turn = true }, "leave out one" },
    { { .body = 1 }, "particle" },
    { { .body = 0, .x = { (double)NAN } }, "not finite" },
  };
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++)
    ok(perp_model_add_motion(&ctx, m, &bads[i].def, NULL) != PERP_OK &&
           strstr(ctx.msg, bads[i].word) != NULL,
       "refused: %s", ctx.msg);
  const perp_motion_def good = { .body = 0, .x_signal = { sine_of } };
  ok(perp_model_add_motion(&ctx, m, &good, NULL) == PERP_OK, "a motion is added");
  ok(perp_model_add_motion(&ctx, m, &good, NULL) == PERP_ERR_ARG, "twice: %s", ctx.msg);
  ok(perp_model_finish(&ctx, m) == PERP_ERR_ARG && strstr(ctx.msg, "velocity contradicts") != NULL,
     "a body that does not start as it is to move: %s", ctx.msg);
  const perp_drive_def drive = { .velocity_signal = 5 };
  ok(perp_model_add_drive(&ctx, m, &drive, NULL) == PERP_ERR_ARG,
     "the joint of a motion that was refused is gone: %s", ctx.msg);
  const perp_force_def drag = { .kind = PERP_FORCE_DRAG, .value_signal = { sine_of } };
  ok(perp_model_add_force(&ctx, m, &drag) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  ok(perp_model_gravity_signal(&ctx, m, 3) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  rng = perp_rng_create(7);
  if (rng == NULL) bail("no random numbers");
  sine();
  points();
  refused();
  for (int dim = 2; dim <= 3; dim++) {
    differences(dim, true);
    differences(dim, false);
  }
  motions_refused();
  perp_rng_destroy(rng);
  return tap_done();
}
