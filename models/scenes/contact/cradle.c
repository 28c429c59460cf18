/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Newton's cradle and a chain of impacts on a line: which model does a method have, impacts
 * one after the other or all at once (STAR 2012, section 7.3)?
 *
 * One after the other, in the limit of small gaps: pairs that approach collide until none does, u+
 * = -e u for each.  Five equal balls with e = 1: (1, 0, 0, 0, 0) -> (0, 0, 0, 0, 1).  All at once
 * (Newton's law at all contacts, those that do not approach get u+ = 0): with k of n equal balls
 * moving, v = (k - (n - k) e)/n for those k and k (1 + e)/n for the others; three balls, one
 * moving, e = 1: (-1/3, 2/3, 2/3). Both conserve momentum, and with e = 1 energy.
 *
 * The balls of the cradle hang on massless strings (distance joints at their centres), so that
 * between impacts each is a pendulum: closed form in elliptic functions, sin(phi/2) = k sn(K - w t,
 * k). */
#include "models/scenes/elliptic.h"
#include "models/scenes/scene_builder.h"

#include <math.h>

enum { BALLS_MAX = 64 };

/* Velocities of balls on a line after all impacts, by one pair at a time: the next to meet, or
 * among pairs that touch the left-most. x: gaps are x_i+1 - x_i.  t_max: no impact after it.
 * Returns the number of impacts, x and v at the end. */
static int cradle_one_by_one(int n, const double *mass, double e, double t_max, double *x,
                             double *v)
{
  int impacts = 0;
  double t = 0;
  for (; impacts < 100000; impacts++) {
    int next = -1;
    double soonest = t_max - t;
    for (int i = 0; i + 1 < n; i++) {
      const double approach = v[i] - v[i + 1];
      if (!(approach > 1e-14 * (fabs(v[i]) + fabs(v[i + 1])))) continue;
      const double wait = fmax(0, (x[i + 1] - x[i]) / approach);
      if (wait < soonest) soonest = wait, next = i;
    }
    for (int i = 0; i < n; i++) x[i] += v[i] * soonest;
    if (next < 0) break;
    t += soonest;
    x[next + 1] = x[next];
    const double a = mass[next], b = mass[next + 1];
    const double impulse = (1 + e) * a * b / (a + b) * (v[next] - v[next + 1]);
    v[next] -= impulse / a;
    v[next + 1] += impulse / b;
  }
  return impacts;
}

/* ---- the cradle ---- */

struct cradle_opts {
  int balls, moving;
  double amplitude, length, radius, mass, e, gravity;
  int dim;
};
static const perp_opt cradle_options[] = {
  PERP_INT(struct cradle_opts, balls, 5, 2, BALLS_MAX, "Number of balls."),
  PERP_INT(struct cradle_opts, moving, 1, 1, BALLS_MAX - 1,
           "Number of balls that are raised initially."),
  PERP_REAL(struct cradle_opts, amplitude, M_PI / 6, 0, M_PI_2, PERP_OPEN_MIN | PERP_OPEN_MAX,
            "rad", "Initial angle of the strings of the raised balls."),
  PERP_OPT_POSITIVE(struct cradle_opts, length, 1, "m", "Length of the strings."),
  PERP_OPT_POSITIVE(struct cradle_opts, radius, 0.05, "m",
                    "Radius of the balls, which touch each other at rest."),
  PERP_OPT_POSITIVE(struct cradle_opts, mass, 1, "kg", "Mass of a ball."),
  PERP_REAL(struct cradle_opts, e, 1, 0, 1, 0, "", "Coefficient of restitution."),
  PERP_OPT_G(struct cradle_opts),
  PERP_OPT_DIM(struct cradle_opts, 3),
  PERP_OPTIONS_END
};

static double cradle_frequency(const struct cradle_opts *opts)
{
  return sqrt(opts->gravity / opts->length);
}

static void place_ball(const struct cradle_opts *opts, int i, double angle, double rate, double *q,
                       double *v)
{
  const double c = cos(angle), s = sin(angle), L = opts->length;
  const perp_planar ball = {
    .x = 2 * opts->radius * i + L * s, .height = -L * c, .vx = L * c * rate, .vheight = L * s * rate
  };
  perp_planar_state(opts->dim, i, &ball, q, v);
}

/* e = 1, equal balls: the k on one side swing out in turn */
static void cradle_exact(void *user, double t, double *q, double *v)
{
  const struct cradle_opts *opts = user;
  const double w = cradle_frequency(opts), k = sin(opts->amplitude / 2),
               kc = cos(opts->amplitude / 2);
  const double am = perp_elliptic_am(perp_elliptic_K(kc) - w * t, kc);
  const double phi = 2 * asin(k * sin(am)), rate = -2 * k * w * cos(am);
  for (int i = 0; i < opts->balls; i++) {
    const bool out = phi > 0 ? i < opts->moving : i >= opts->balls - opts->moving;
    place_ball(opts, i, out ? -phi : 0, out ? -rate : 0, q, v);
  }
}

static perp_status cradle_judge(perp_ctx *ctx, perp_scene *scene, const struct cradle_opts *opts,
                                const char *metric, const double *u, double quarter, double u0)
{
  const double after = quarter / 8, weight[6] = { 1 }; /* along the row */
  double q[7 * BALLS_MAX], v[6 * BALLS_MAX];
  /* velocities a time s after the balls left the bottom with u [balls] */
  const double w = cradle_frequency(opts);
  for (int ball = 0; ball < opts->balls; ball++) {
    const double k = fabs(u[ball]) / (2 * w * opts->length), kc = sqrt((1 - k) * (1 + k));
    const double am = perp_elliptic_am(w * after, kc), sign = copysign(1, u[ball]);
    place_ball(opts, ball, sign * 2 * asin(k * sin(am)), sign * 2 * k * w * cos(am), q, v);
  }
  return perp_gauge_velocity(ctx, scene, metric, quarter + after, weight, v, u0);
}

static perp_status build_cradle(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct cradle_opts *chosen = opts;
  const int n = chosen->balls, moving = chosen->moving;
  if (moving >= n)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "cradle: moving = %d must be below balls = %d", moving,
                     n);
  perp_builder builder = perp_build_begin(ctx, scene, chosen->dim, chosen->gravity, 0, chosen->e);
  for (int i = 0; i < n; i++) {
    const double angle = i < moving ? -chosen->amplitude : 0, x = 2 * chosen->radius * i;
    const double p[3] = { x + chosen->length * sin(angle), 0, -chosen->length * cos(angle) };
    const double hook[3] = { x, 0, 0 };
    perp_joint_def string = { .name = "string",
                              .kind = PERP_JOINT_DISTANCE,
                              .a = PERP_WORLD,
                              .b = perp_build_ball(&builder, "ball", chosen->mass, chosen->radius,
                                                   0.4, p),
                              .length = chosen->length };
    perp_scene_point(chosen->dim, hook, string.anchor_a);
    perp_build_joint(&builder, &string);
  }
  const double w = cradle_frequency(chosen);
  const double quarter = perp_elliptic_K(cos(chosen->amplitude / 2)) / w;
  const double u0 = 2 * w * chosen->length * sin(chosen->amplitude / 2);
  PERP_TRY(perp_build_end(&builder, chosen->radius, 2 * quarter));
  scene->tip_body = n - 1;
  if (chosen->e == 1)
    PERP_TRY(perp_truth_add(ctx, scene,
                            "closed form: impacts one after the other, elliptic functions", 1e-14,
                            cradle_exact, chosen, sizeof *chosen));
  double x[BALLS_MAX] = { 0 }, mass[BALLS_MAX] = { 0 }, u[BALLS_MAX];
  for (int i = 0; i < n; i++) mass[i] = 1, u[i] = i < moving ? u0 : 0;
  cradle_one_by_one(n, mass, chosen->e, 1, x, u);
  PERP_TRY(cradle_judge(ctx, scene, chosen, "impact.rel.err", u, quarter, u0));
  for (int i = 0; i < n; i++)
    u[i] = i < moving ? u0 * (moving - (n - moving) * chosen->e) / n
                      : u0 * moving * (1 + chosen->e) / n;
  return cradle_judge(ctx, scene, chosen, "impact.together.err", u, quarter, u0);
}

const perp_scene_desc perp_scene_cradle = {
  .d = { .name = "cradle",
         .summary = "Newton's cradle: impacts one after the other, or all at once",
         .reference = "closed form; STAR 2012, section 7.3, figure 16",
         .equation = "one after the other (0,0,0,0,1); at once (1-(n-1)e, 1+e, ..., 1+e)/n",
         PERP_OPTIONS(cradle_options, struct cradle_opts) },
  .build = build_cradle,
};

/* ---- the chain of impacts ---- */

struct chain_opts {
  int balls;
  double speed, gap, ratio, mass, radius, e;
  int dim;
};
static const perp_opt chain_options[] = {
  PERP_INT(struct chain_opts, balls, 3, 2, BALLS_MAX, "Number of balls."),
  PERP_OPT_POSITIVE(struct chain_opts, speed, 1, "m/s", "Initial velocity of the first ball."),
  PERP_OPT_NONNEGATIVE(struct chain_opts, gap, 0.05, "m", "Initial gap between neighbours."),
  PERP_OPT_POSITIVE(struct chain_opts, ratio, 1, "",
                    "Ratio of the mass of each ball to the mass of the ball before it."),
  PERP_OPT_POSITIVE(struct chain_opts, mass, 1, "kg", "Mass of the first ball."),
  PERP_OPT_POSITIVE(struct chain_opts, radius, 0.05, "m", "Radius of all balls."),
  PERP_REAL(struct chain_opts, e, 1, 0, 1, 0, "", "Coefficient of restitution."),
  PERP_OPT_DIM(struct chain_opts, 3),
  PERP_OPTIONS_END
};

static perp_status build_chain(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct chain_opts *o = opts;
  perp_builder builder = perp_build_begin(ctx, scene, o->dim, 0, 0, o->e);
  double x[BALLS_MAX], v[BALLS_MAX] = { 0 }, mass[BALLS_MAX], after[6 * BALLS_MAX] = { 0 };
  const double weight[6] = { 1 };
  mass[0] = o->mass;
  for (int i = 0; i < o->balls; i++) {
    if (i > 0) mass[i] = mass[i - 1] * o->ratio;
    x[i] = i * o->gap; /* without the balls' own size */
    const double p[3] = { (2 * o->radius + o->gap) * i, 0, 0 };
    builder.v[0] = v[i] = i == 0 ? o->speed : 0;
    perp_build_ball(&builder, "ball", mass[i], o->radius, 0.4, p);
  }
  const double t_end = 1.5 * (o->balls - 1) * (o->gap + 0.1 * o->radius) / o->speed + 0.1;
  PERP_TRY(perp_build_end(&builder, o->radius, t_end));
  scene->dissipative = o->e < 1;
  scene->isolated = true;
  scene->tip_body = o->balls - 1;
  const int nvb = o->dim == 3 ? 6 : 3;
  cradle_one_by_one(o->balls, mass, o->e, 0.99 * t_end, x, v);
  for (int i = 0; i < o->balls; i++) after[nvb * i] = v[i];
  return perp_gauge_velocity(ctx, scene, "impact.rel.err", 0.99 * t_end, weight, after, o->speed);
}

const perp_scene_desc perp_scene_impact_chain = {
  .d = { .name = "impact-chain",
         .summary =
             "Balls on a line that collide one after the other, with any masses and restitution",
         .reference = "impacts in order of time, each in closed form",
         .equation = "masses 1, 2, 4, e = 1: (-1/3, -2/9, 4/9)",
         PERP_OPTIONS(chain_options, struct chain_opts) },
  .build = build_chain,
};
