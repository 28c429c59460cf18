/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bouncing ball: dropped from a gap of h_0 at rest, Newton restitution e.
 *
 *   first impact t_1 = sqrt(2 h_0 / g), then t_{n+1} = t_n + 2 e^n t_1;  apex n: e^(2n) h_0
 *   Zeno time t_1 (1 + e) / (1 - e): infinitely many impacts before it, rest after it
 *
 * Time stepping cannot follow the last of them and need not: its bounces end where e^n v_1 is of
 * the size g h. The times of the first `impacts` and the first apex are judged. */
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

static double first_impact(const struct ball_opts *o)
{
  return sqrt(2 * o->height / o->gravity);
}

/* gap and velocity at time t */
static void bouncing_ball_bounce(const struct ball_opts *o, double t, double *gap, double *v)
{
  const double t1 = first_impact(o), v1 = o->gravity * t1;
  *gap = *v = 0;
  if (t < t1) {
    *gap = o->height - o->gravity * t * t / 2;
    *v = -o->gravity * t;
    return;
  }
  if (o->e == 0 || (o->e < 1 && t >= t1 * (1 + o->e) / (1 - o->e))) return;
  /* after impact n >= 1 at t_n = t_1 (1 + 2 e + ... + 2 e^(n-1)) the ball leaves with e^n v_1 */
  double n;
  if (o->e == 1)
    n = 1 + floor((t - t1) / (2 * t1));
  else /* t_n <= t: e^n >= 1 - (t - t_1)(1 - e) / (2 t_1) ... solved for n */
    n = 1 + floor(log1p(-(t - t1) * (1 - o->e) / (2 * t1 * o->e)) / log(o->e));
  const double en = pow(o->e, n);
  const double tn = o->e == 1 ? t1 * (2 * n - 1)
                              : t1 * (1 + 2 * o->e * (1 - en / o->e) / (1 - o->e));
  const double s = t - tn;
  *gap = fmax(0, en * v1 * s - o->gravity * s * s / 2);
  *v = en * v1 - o->gravity * s;
}

static void bouncing_ball_exact(void *user, double t, double *q, double *v)
{
  const struct ball_opts *o = user;
  double gap, speed;
  bouncing_ball_bounce(o, t, &gap, &speed);
  const perp_planar ball = { .height = o->radius + gap, .vheight = speed };
  perp_planar_state(o->dim, 0, &ball, q, v);
}

/* user: dim */
static bool bouncing_ball_hits(const void *user, int k, const double *q, const double *v,
                               const double *v_before)
{
  const int up = *(const int *)user - 1;
  (void)k, (void)q;
  return v_before != NULL && v_before[up] < 0 && v[up] >= 0;
}

/* highest point between the first impact and the second */
struct apex {
  int up;
  double radius, top, exact, before; /* heights of the lowest point */
  int impacts;
};

static void apex_sample(void *user, double t, const double *q, const double *v,
                        const perp_step_info *info)
{
  struct apex *g = user;
  (void)t, (void)info;
  if (g->before < 0 && v[g->up] >= 0) g->impacts++;
  g->before = v[g->up];
  if (g->impacts == 1) g->top = fmax(g->top, q[g->up] - g->radius);
}

static double apex_value(const void *user)
{
  const struct apex *g = user;
  /* known when the ball is on its way down again */
  if (g->impacts == 0 || (g->impacts == 1 && g->before > 0)) return nan("");
  return fabs(g->top - g->exact) / g->exact;
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
  perp_builder y = perp_build_begin(ctx, scene, o->dim, o->gravity, 0, o->e);
  perp_build_floor(&y);
  const double p[3] = { 0, 0, o->radius + o->height };
  perp_build_ball(&y, "ball", o->mass, o->radius, 0.4, p);
  const double t1 = first_impact(o);
  PERP_TRY(
      perp_build_end(&y, o->radius, o->e < 1 ? t1 * (1 + 1.1 * 2 * o->e / (1 - o->e)) : 20 * t1));
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
  const struct apex g = { .up = o->dim - 1, .radius = o->radius, .exact = o->e * o->e * o->height };
  PERP_TRY(perp_gauge_add(ctx, scene, "apex.rel.err", &g, sizeof g, apex_sample, apex_value));
  scene->gauge[scene->n_gauges - 1].turn = apex_turn;
  return PERP_OK;
}

const perp_scene_desc perp_scene_bouncing_ball = {
  .d = { .name = "bouncing-ball",
         .summary = "Ball that bounces with restitution e: infinitely many impacts in finite time",
         .reference = "closed form: parabolas between impacts",
         .equation = "t_n+1 = t_n + 2 e^n sqrt(2 h/g), Zeno time sqrt(2 h/g) (1 + e) / (1 - e)",
         PERP_OPTIONS(options, struct ball_opts) },
  .build = bouncing_ball_build,
};
