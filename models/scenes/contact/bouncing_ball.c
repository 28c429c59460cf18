/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bouncing ball: dropped from a gap of h_0 at rest, Newton restitution e.
 *
 *   first impact t_1 = sqrt(2 h_0 / g), then t_{n+1} = t_n + 2 e^n t_1;  apex n: e^(2n) h_0
 *   Zeno time t_1 (1 + e) / (1 - e): infinitely many impacts before it, rest after it
 *
 * Time stepping cannot follow the last of them and need not: its bounces end where e^n v_1 is of
 * the size g h. The times of the first `impacts` and the heights of all bounces are judged. */
#include "models/scenes/scene_builder.h"

#include <math.h>

struct ball_opts {
  double height, e, radius, mass, gravity;
  int impacts, dim;
};
static const perp_opt options[] = {
  PERP_OPT_POSITIVE(struct ball_opts, height, 1, "m", "Initial gap between ball and floor."),
  PERP_REAL(struct ball_opts, e, 0.8, 0, 1, 0, "", "Coefficient of restitution."),
  PERP_OPT_POSITIVE(struct ball_opts, radius, 0.1, "m", "Radius of the ball."),
  PERP_OPT_POSITIVE(struct ball_opts, mass, 1, "kg", "Mass of the ball."),
  PERP_OPT_G(struct ball_opts),
  PERP_INT(struct ball_opts, impacts, 4, 1, 100,
           "Number of impacts whose times event.err compares with the exact ones."),
  PERP_OPT_DIM(struct ball_opts, 3),
  PERP_OPTIONS_END
};

static double first_impact(const struct ball_opts *opts)
{
  return sqrt(2 * opts->height / opts->gravity);
}

/* gap and velocity at time t */
static void bouncing_ball_bounce(const struct ball_opts *opts, double t, double *gap, double *v)
{
  const double t1 = first_impact(opts), v1 = opts->gravity * t1;
  *gap = *v = 0;
  if (t < t1) {
    *gap = opts->height - opts->gravity * t * t / 2;
    *v = -opts->gravity * t;
    return;
  }
  if (opts->e == 0 || (opts->e < 1 && t >= t1 * (1 + opts->e) / (1 - opts->e))) return;
  /* after impact n >= 1 at t_n = t_1 (1 + 2 e + ... + 2 e^(n-1)) the ball leaves with e^n v_1 */
  double n;
  if (opts->e == 1)
    n = 1 + floor((t - t1) / (2 * t1));
  else /* t_n <= t: e^n >= 1 - (t - t_1)(1 - e) / (2 t_1) ... solved for n */
    n = 1 + floor(log1p(-(t - t1) * (1 - opts->e) / (2 * t1 * opts->e)) / log(opts->e));
  const double en = pow(opts->e, n);
  const double tn = opts->e == 1 ? t1 * (2 * n - 1)
                                 : t1 * (1 + 2 * opts->e * (1 - en / opts->e) / (1 - opts->e));
  const double s = t - tn;
  *gap = fmax(0, en * v1 * s - opts->gravity * s * s / 2);
  *v = en * v1 - opts->gravity * s;
}

static void bouncing_ball_exact(void *user, double t, double *q, double *v)
{
  const struct ball_opts *opts = user;
  double gap, speed;
  bouncing_ball_bounce(opts, t, &gap, &speed);
  const perp_planar ball = { .height = opts->radius + gap, .vheight = speed };
  perp_planar_state(opts->dim, 0, &ball, q, v);
}

/* user: dim */
static bool bouncing_ball_hits(const void *user, int k, const double *q, const double *v,
                               const double *v_before)
{
  const int up = *(const int *)user - 1;
  (void)k, (void)q;
  return v_before != NULL && v_before[up] < 0 && v[up] >= 0;
}

/* Height of every bounce, the highest point between two impacts, against the exact one of the same
 * number.  All are relative to the exact height of the first bounce: the error of one bounce does
 * not vanish with its height, so that relative to its own height the last bounce that steps can
 * resolve would have the same error at any step size. */
struct apex {
  struct ball_opts o;
  int up, bounces; /* bounces whose highest point has been passed */
  double top, before,
      t; /* of the current flight, above the floor; speed and time of the last state */
  double above, below; /* largest excess and lack, relative to the first bounce */
  bool flies;          /* it has left the floor and has not turned yet */
};

/* Time at which the exact ball hits for the n-th time, n >= 1. */
static double bouncing_ball_impact(const struct ball_opts *opts, int n)
{
  const double t1 = first_impact(opts);
  if (opts->e == 1) return t1 * (2 * n - 1);
  return t1 * (1 + 2 * opts->e * (1 - pow(opts->e, n - 1)) / (1 - opts->e));
}

static void apex_compare(struct apex *apex, int n, double height)
{
  const double first = apex->o.e * apex->o.e * apex->o.height;
  const double err = (height - pow(apex->o.e, 2 * n) * apex->o.height) / first;
  /* a height that is not a number is an error */
  if (!(err <= apex->above)) apex->above = isnan(apex->above) ? apex->above : err;
  if (!(-err <= apex->below)) apex->below = isnan(apex->below) ? apex->below : -err;
}

static void apex_sample(void *user, double t, const double *q, const double *v,
                        const perp_step_info *info)
{
  struct apex *g = user;
  const double gap = q[g->up] - g->o.radius, speed = v[g->up];
  (void)info;
  if (g->before < 0 && speed >= 0) g->flies = true, g->top = gap;
  if (g->flies) {
    g->top = fmax(g->top, gap);
    if (speed < 0) {
      g->flies = false;
      /* where it turns inside of the floor, the contact is still pushing it out */
      if (g->top > 0) apex_compare(g, ++g->bounces, g->top);
    }
  }
  g->before = speed;
  g->t = t;
}

/* The next bounce, if it is missing: the exact one has been over for half of its duration. */
static struct apex apex_end(const struct apex *apex)
{
  struct apex end = *apex;
  const int n = apex->bounces + 1;
  const double half = pow(apex->o.e, n) * first_impact(&apex->o);
  if (apex->t >= bouncing_ball_impact(&apex->o, n + 1) + half) {
    apex_compare(&end, n, 0);
    end.bounces++;
  }
  return end;
}

static double apex_value(const void *user)
{
  const struct apex end = apex_end(user);
  return end.bounces > 0 ? fmax(end.above, end.below) : nan("");
}

static double apex_gain(const void *user)
{
  const struct apex end = apex_end(user);
  return end.bounces > 0 ? end.above : nan("");
}

static double apex_loss(const void *user)
{
  const struct apex end = apex_end(user);
  return end.bounces > 0 ? end.below : nan("");
}

/* the apex is where the speed upwards ends */
static double apex_turn(const void *user, const double *q, const double *v)
{
  (void)q;
  return v[((const struct apex *)user)->up];
}

static perp_status bouncing_ball_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct ball_opts *o = opts;
  perp_builder builder = perp_build_begin(ctx, scene, o->dim, o->gravity, 0, o->e);
  perp_build_floor(&builder);
  const double p[3] = { 0, 0, o->radius + o->height };
  perp_build_ball(&builder, "ball", o->mass, o->radius, 0.4, p);
  const double t1 = first_impact(o);
  PERP_TRY(perp_build_end(&builder, o->radius,
                          o->e < 1 ? t1 * (1 + 1.1 * 2 * o->e / (1 - o->e)) : 20 * t1));
  if (o->e == 0) scene->t_end = 2 * t1;
  scene->t_end = fmin(scene->t_end, 40 * t1);
  scene->tip_body = 0;
  PERP_TRY(perp_truth_add(ctx, scene, "closed form: parabolas", 1e-15, bouncing_ball_exact, o,
                          sizeof *o));
  double times[100], t = t1;
  const int n = o->e > 0 ? o->impacts : 1;
  for (int i = 0; i < n; i++) {
    times[i] = t;
    t += 2 * pow(o->e, i + 1) * t1;
  }
  PERP_TRY(perp_gauge_events(ctx, scene, n, times, 0.05 * t1, bouncing_ball_hits, &o->dim,
                             sizeof o->dim));
  if (o->e == 0) return PERP_OK;
  const struct apex g = { .o = *o, .up = o->dim - 1 };
  PERP_TRY(perp_gauge_add(ctx, scene, "apex.rel.err", &g, sizeof g, apex_sample, apex_value));
  scene->gauge[scene->n_gauges - 1].turn = apex_turn;
  PERP_TRY(perp_gauge_also(ctx, scene, "apex.rel.gain", apex_gain));
  return perp_gauge_also(ctx, scene, "apex.rel.loss", apex_loss);
}

const perp_scene_desc perp_scene_bouncing_ball = {
  .d = { .name = "bouncing-ball",
         .summary = "Ball that bounces with restitution e: infinitely many impacts in finite time",
         .reference = "closed form: parabolas between impacts",
         .equation = "t_n+1 = t_n + 2 e^n sqrt(2 h/g), Zeno time sqrt(2 h/g) (1 + e) / (1 - e)",
         PERP_OPTIONS(options, struct ball_opts) },
  .build = bouncing_ball_build,
};
