/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ball that slides on a level floor until it rolls.
 *
 * With I = k m R^2 (sphere 2/5, cylinder 1/2, hoop 1), x to the right and omega > 0 when it rolls
 * to the right, u = v - R omega the slip:
 *
 *      v' = -mu g sign(u), R omega' = mu g sign(u) / k, until t_r = |u_0| / (mu g (1 + 1/k));
 *      then both are constant, v = (v_0 + k R omega_0) / (1 + k)
 *
 * The contact shape is a ball (a disc in the plane) for every k: cylinder and hoop are mass
 * properties. */
#include "models/scenes/scene_builder.h"

#include <math.h>

static const char *const bodies[] = { "sphere", "cylinder", "hoop", NULL };
static const double factors[] = { 0.4, 0.5, 1 };

struct rolling_opts {
  double speed, spin, radius, mass, mu, gravity;
  int body, dim;
};
static const perp_opt options[] = {
  PERP_OPT_FINITE(struct rolling_opts, speed, 5, "m/s", "Initial velocity."),
  PERP_OPT_FINITE(struct rolling_opts, spin, 0, "rad/s",
                  "Initial angular velocity. Positive values agree with forward rolling, negative "
                  "ones are backspin."),
  PERP_OPT_POSITIVE(struct rolling_opts, radius, 0.1, "m", "Radius of the body."),
  PERP_OPT_POSITIVE(struct rolling_opts, mass, 1, "kg", "Mass of the body."),
  PERP_OPT_POSITIVE(struct rolling_opts, mu, 0.2, "", "Coefficient of friction."),
  PERP_OPT_G(struct rolling_opts),
  PERP_ENUM(struct rolling_opts, body, 0, bodies,
            "Type of the body. Its moment of inertia is 2/5 m R^2 (ball), 1/2 m R^2 (cylinder) or "
            "m R^2 (hoop)."),
  PERP_OPT_DIM(struct rolling_opts, 3),
  PERP_OPTIONS_END
};

struct roll {
  int dim;
  double R;
  /* until t_roll accelerations a, alpha; then constant */
  double v0, w0, a, alpha, t_roll;
};

static void rolling_sphere_motion(const struct roll *r, double t, double *x, double *v,
                                  double *turn, double *w)
{
  const double t1 = fmin(t, r->t_roll), t2 = t - t1;
  *v = r->v0 + r->a * t1;
  *w = r->w0 + r->alpha * t1;
  *x = r->v0 * t1 + r->a * t1 * t1 / 2 + *v * t2;
  *turn = r->w0 * t1 + r->alpha * t1 * t1 / 2 + *w * t2;
}

static void rolling_sphere_exact(void *user, double t, double *q, double *v)
{
  const struct roll *roll = user;
  double x, speed, turn, w;
  rolling_sphere_motion(roll, t, &x, &speed, &turn, &w);
  const perp_planar ball = {
    .x = x,
    .height = roll->R,
    .angle = -turn,
    .vx = speed,
    .rate = -w,
  };
  perp_planar_state(roll->dim, 0, &ball, q, v);
}

/* velocity and spin at time t, when they are constant, relative to the velocity */
static perp_status final_gauge(perp_ctx *ctx, perp_scene *scene, struct roll *roll, double t)
{
  double q[7], v[6], weight[6] = { 1, 1, 1, roll->R, roll->R, roll->R };
  if (roll->dim == 2) weight[2] = roll->R;
  rolling_sphere_exact(roll, t, q, v);
  double x, speed, turn, w;
  rolling_sphere_motion(roll, t, &x, &speed, &turn, &w);
  return perp_gauge_velocity(ctx, scene, "speed.rel.err", t, weight, v,
                             speed != 0 ? fabs(speed) : fabs(roll->v0));
}

struct slip {
  int dim;
  double R, mu_g;
};

/* the slip has gone, or turned over, at a regular state: relative to what friction takes away in 1
 * us */
static bool rolling_sphere_rolls(const void *user, int k, const double *q, const double *v,
                                 const double *v_before)
{
  const struct slip *slip = user;
  (void)k, (void)q;
  const double u = v[0] + slip->R * perp_build_rate(slip->dim, 0, v);
  if (v_before == NULL) return false;
  const double before = v_before[0] + slip->R * perp_build_rate(slip->dim, 0, v_before);
  return fabs(u) <= 1e-6 * slip->mu_g || u * before < 0;
}

static perp_status build_level(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct rolling_opts *o = opts;
  const double k = factors[o->body], slip = o->speed - o->radius * o->spin;
  const double grip = o->mu * o->gravity;
  struct roll r = { .dim = o->dim, .R = o->radius };
  r.v0 = o->speed;
  r.w0 = o->spin;
  r.a = slip > 0 ? -grip : slip < 0 ? grip : 0;
  r.alpha = -r.a / (k * o->radius);
  r.t_roll = fabs(slip) / (grip * (1 + 1 / k));
  perp_builder builder = perp_build_begin(ctx, scene, o->dim, o->gravity, o->mu, 0);
  perp_build_floor(&builder);
  const double p[3] = { 0, 0, o->radius };
  builder.v[0] = o->speed;
  builder.spin = -o->spin;
  perp_build_ball(&builder, "ball", o->mass, o->radius, k, p);
  PERP_TRY(perp_build_end(&builder, o->radius, 1));
  if (slip != 0) scene->t_end = 1.5 * r.t_roll;
  scene->tip_body = 0;
  PERP_TRY(perp_truth_add(ctx, scene, "closed form", 1e-15, rolling_sphere_exact, &r, sizeof r));
  /* the run ends on a step of its own: judge a little before */
  PERP_TRY(final_gauge(ctx, scene, &r, 0.95 * scene->t_end));
  const perp_force_truth normal = { PERP_WORLD, 0, o->mass * o->gravity };
  PERP_TRY(perp_gauge_force(ctx, scene, 1, &normal, normal.exact, 0));
  const struct slip s = { o->dim, o->radius, grip };
  if (slip != 0)
    PERP_TRY(perp_gauge_events(ctx, scene, 1, &r.t_roll, 0.1 * r.t_roll, rolling_sphere_rolls, &s,
                               sizeof s));
  return PERP_OK;
}

const perp_scene_desc perp_scene_rolling_sphere = {
  .d = { .name = "rolling-sphere",
         .summary =
             "Ball that slides on the floor until it rolls: v = 5/7 v0 at t = 2 v0 / (7 mu g)",
         .reference = "closed form; Drake's bowling ball",
         .equation = "t = |v0 - R w0| / (mu g (1 + 1/k)), v = (v0 + k R w0) / (1 + k)",
         PERP_OPTIONS(options, struct rolling_opts) },
  .build = build_level,
};
