/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenes of driven and limited joints, each with a closed form (Vondrak 2005, sections 6.6 and
 * 7.4):
 *
 *   stop     a rod on a hinge falls from the horizontal onto a limit of the hinge, without rebound,
 *            and stays there.  force.rel.err: the limit carries m g L / 2 cos(angle); event.err:
 *            the time of the fall, T = sqrt(I / (m g L)) int_0^angle dtheta / sqrt(sin theta)
 *   pusher   a cart on a rail, driven by a motor of limited force F, pushes a block over the
 *            ground: it sticks where F <= mu m g, else a = (F - mu m g) / (m_cart + m_block)
 *            (accel.rel.err), and the ground carries m g (force.rel.err)
 *   soft     a body on a soft row, m x'' = -k x - d x': as a servo spring of a slider, whose row
 *            stands in the LCP, or as a row of a joint.  On the velocity level both are exactly the
 *            discrete oscillator v+ = (m v - h k x) / (m + h d + h^2 k), x+ = x + h v+, and of
 *            first order to the continuous one; on the acceleration level the servo spring is a
 *            force, and the continuous one is met with the order of the integrator.  path.err.max:
 *            against that of the two which is nearer; err.q.max: the continuous one */
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <string.h>

static const double FREE = HUGE_VAL; /* no limit */

/* ---- stop ---- */

struct stop_opts {
  double mass, length, angle, gravity;
};
static const perp_opt stop_options[] = {
  PERP_OPT_POSITIVE(struct stop_opts, mass, 2, "kg", "Mass of the rod."),
  PERP_OPT_POSITIVE(struct stop_opts, length, 1, "m", "Length of the rod."),
  PERP_REAL(struct stop_opts, angle, 0.7, 0, 1.5, PERP_OPEN_MIN, "rad",
            "Angle of the joint limit below the horizontal."),
  PERP_OPT_G(struct stop_opts), PERP_OPTIONS_END
};

/* largest error of the moment of the limit over all steps that start at t0, when any rebound has
 * ended, or later */
struct moment {
  double exact, t0, t, worst;
  bool known;
};

static void moment_sample(void *user, double t, const double *q, const double *v,
                          const perp_step_info *info)
{
  struct moment *moment = user;
  (void)q, (void)v;
  if (info != NULL && moment->t >= moment->t0 && (info->untold || info->drive != NULL)) {
    const double err = info->untold ? (double)NAN : fabs(info->drive[0] / moment->exact - 1);
    if (!(err <= moment->worst) && !isnan(moment->worst)) moment->worst = err;
    moment->known = true;
  }
  moment->t = t;
}

static double moment_value(const void *user)
{
  const struct moment *moment = user;
  return moment->known ? moment->worst : nan("");
}

/* the rod has come down to the limit: up to what a limit of the velocity level leaves open in its
 * step */
static bool driven_reached(const void *user, int k, const double *q, const double *v,
                           const double *v_before)
{
  const double angle = *(const double *)user;
  (void)k, (void)v, (void)v_before;
  return 2 * atan2(q[5], q[3]) > angle - 1e-6;
}

/* int_0^a dtheta / sqrt(sin theta), theta = u^2, by Simpson's rule: 1e-12 for a < 1.5 */
static double driven_fall(double a)
{
  enum { N = 400 };
  const double end = sqrt(a), h = end / N;
  double sum = 0;
  for (int i = 0; i <= N; i++) {
    const double u = h * i, f = u > 0 ? 2 * u / sqrt(sin(u * u)) : 2;
    sum += f * (i == 0 || i == N ? 1 : i % 2 == 1 ? 4 : 2);
  }
  return sum * h / 3;
}

static perp_status build_stop(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct stop_opts *chosen = opts;
  const double L = chosen->length, thick = 0.1 * L;
  const perp_body_def rod = { .name = "rod",
                              .mass = perp_mass_box(chosen->mass, L, thick, thick),
                              .x = { L / 2 } };
  perp_joint_def hinge = perp_scene_joint(PERP_JOINT_HINGE, "hinge", PERP_WORLD, 0, 1);
  hinge.anchor_b[0] = -L / 2;
  const perp_drive_def stop = { .name = "stop", .lower = -FREE, .upper = chosen->angle };
  const double inertia = rod.mass.inertia[4] + chosen->mass * L * L / 4;
  const double time = sqrt(inertia / (chosen->mass * chosen->gravity * L)) *
                      driven_fall(chosen->angle);
  const perp_scene_parts parts = {
    .gravity = chosen->gravity, .body = &rod, .joint = &hinge, .drive = &stop
  };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, time + 1, 1e-3));
  scene->tip[0] = L / 2;
  scene->dissipative = true;
  const struct moment moment = {
    .exact = -chosen->mass * chosen->gravity * L / 2 * cos(chosen->angle), .t0 = time + 0.75
  };
  PERP_TRY(perp_gauge_add(ctx, scene, "force.rel.err", &moment, sizeof moment, moment_sample,
                          moment_value));
  return perp_gauge_events(ctx, scene, 1, &time, 0.5, driven_reached, &chosen->angle,
                           sizeof chosen->angle);
}

const perp_scene_desc perp_scene_stop = {
  .d = { .name = "stop",
         .summary = "Rod on a hinge that falls onto a joint limit and stays there",
         .reference = "Vondrak 2005, section 7.4.2; closed form",
         .equation = "tau = -m g L / 2 cos(angle)",
         PERP_OPTIONS(stop_options, struct stop_opts) },
  .build = build_stop,
};

/* ---- pusher ---- */

struct pusher_opts {
  double cart, block, force, mu, gravity;
};
static const perp_opt pusher_options[] = {
  PERP_OPT_POSITIVE(struct pusher_opts, cart, 2, "kg", "Mass of the cart."),
  PERP_OPT_POSITIVE(struct pusher_opts, block, 3, "kg", "Mass of the block."),
  PERP_OPT_POSITIVE(struct pusher_opts, force, 20, "N", "Largest force of the motor."),
  PERP_OPT_MU(struct pusher_opts, mu, 0.4),
  PERP_OPT_G(struct pusher_opts),
  PERP_OPTIONS_END
};

static perp_status build_pusher(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct pusher_opts *o = opts;
  const double friction = o->mu * o->block * o->gravity, radius = 0.2;
  const double a[3] = { fmax(0, o->force - friction) / (o->cart + o->block) };
  perp_builder builder = perp_build_begin(ctx, scene, 3, o->gravity, o->mu, 0);
  perp_build_floor(&builder);
  const double size[3] = { 1, 1, 1 }, at[3] = { 0, 0, 0.5 }, before[3] = { -1, 0, 0.6 };
  const int block = perp_build_box(&builder, "block", o->block, size, at, 0, 0);
  perp_body_def body = { .name = "cart", .mass = perp_mass_box(o->cart, 1, 1, 1) };
  const int cart = perp_build_body(&builder, &body, before, 0, 0);
  /* two knobs at the height of the centre of the block, since a block that is pushed at one point
   * turns away */
  builder.surface.mu = builder.surface.mu_dynamic = 0;
  for (int side = -1; side <= 1; side += 2) {
    perp_shape_def knob = { .name = "cart",
                            .kind = PERP_SHAPE_SPHERE,
                            .body = cart,
                            .x = { 0.5 - radius, 0.3 * side, -0.1 },
                            .radius = radius };
    perp_build_shape(&builder, &knob);
  }
  perp_joint_def rail = perp_scene_joint(PERP_JOINT_SLIDER, "rail", PERP_WORLD, cart, 0);
  memcpy(rail.anchor_a, before, sizeof before);
  perp_build_joint(&builder, &rail);
  const perp_drive_def motor = {
    .name = "motor", .lower = -FREE, .upper = FREE, .velocity = 1 + 2 * a[0], .max_force = o->force
  };
  if (builder.status == PERP_OK)
    builder.status = perp_model_add_drive(ctx, scene->model, &motor, NULL);
  PERP_TRY(perp_build_end(&builder, 1, 0.5));
  scene->driven = true;
  scene->tip_body = block;
  const double weight = o->block * o->gravity;
  const perp_force_truth ground = { PERP_WORLD, block, weight };
  PERP_TRY(perp_gauge_accel(ctx, scene, block, a, o->force / o->block, 0, HUGE_VAL));
  return perp_gauge_force(ctx, scene, 1, &ground, weight, 0);
}

const perp_scene_desc perp_scene_pusher = {
  .d = { .name = "pusher",
         .summary = "Motor of limited force that pushes a block against Coulomb friction",
         .reference = "Vondrak 2005, section 7.4; closed form",
         .equation = "a = (F - mu m g) / (m_cart + m)",
         PERP_OPTIONS(pusher_options, struct pusher_opts) },
  .build = build_pusher,
};

/* ---- soft ---- */

enum { ROW_DRIVE, ROW_JOINT };
static const char *const row_names[] = { "drive", "joint", NULL };

struct soft_opts {
  double mass, stiffness, damping, start;
  int row;
};
static const perp_opt soft_options[] = {
  PERP_OPT_POSITIVE(struct soft_opts, mass, 2, "kg", "Mass of the body."),
  PERP_OPT_POSITIVE(struct soft_opts, stiffness, 80, "N/m",
                    "Stiffness of the compliant constraint."),
  PERP_OPT_NONNEGATIVE(
      struct soft_opts, damping, 3, "Ns/m",
      "Damping of the compliant constraint, below the critical value 2 sqrt(stiffness mass)."),
  PERP_OPT_FINITE(struct soft_opts, start, 0.1, "m", "Initial displacement."),
  PERP_ENUM(
      struct soft_opts, row, ROW_DRIVE, row_names,
      "Implementation of the spring: drive is a servo of a slider, joint is a compliant joint."),
  PERP_OPTIONS_END
};

struct oscillator {
  struct soft_opts o;
  double t, x, v, discrete, continuous; /* largest distances */
};

static double continuous_place(const struct soft_opts *opts, double t, double *v)
{
  const double d = opts->damping / (2 * opts->mass), w = sqrt(opts->stiffness / opts->mass - d * d);
  const double c = cos(w * t), s = sin(w * t), e = exp(-d * t);
  *v = -opts->start * e * (w + d * d / w) * s;
  return opts->start * e * (c + d / w * s);
}

static void driven_continuous(void *user, double t, double *q, double *v)
{
  memset(q, 0, 7 * sizeof *q);
  memset(v, 0, 6 * sizeof *v);
  q[3] = 1;
  q[0] = continuous_place(user, t, &v[0]);
}

static void oscillator_sample(void *user, double t, const double *q, const double *v,
                              const perp_step_info *info)
{
  struct oscillator *g = user;
  const double h = t - g->t, m = g->o.mass, k = g->o.stiffness, d = g->o.damping;
  double speed;
  (void)v;
  if (info != NULL) {
    g->v = (m * g->v - h * k * g->x) / (m + h * d + h * h * k);
    g->x += h * g->v;
  }
  g->t = t;
  g->discrete = fmax(g->discrete, fabs(q[0] - g->x));
  g->continuous = fmax(g->continuous, fabs(q[0] - continuous_place(&g->o, t, &speed)));
}

static double oscillator_value(const void *user)
{
  const struct oscillator *oscillator = user;
  return fmin(oscillator->discrete, oscillator->continuous);
}

static perp_status build_soft(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct soft_opts *chosen = opts;
  if (chosen->damping >= 2 * sqrt(chosen->stiffness * chosen->mass))
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "soft: damping must be below the critical %g Ns/m: got %g",
                     2 * sqrt(chosen->stiffness * chosen->mass), chosen->damping);
  const perp_body_def body = { .name = "body",
                               .mass = perp_mass_sphere(chosen->mass, 0.1),
                               .x = { chosen->start } };
  const perp_joint_kind kind = chosen->row == ROW_JOINT ? PERP_JOINT_FIXED : PERP_JOINT_SLIDER;
  perp_joint_def joint = perp_scene_joint(kind, "joint", PERP_WORLD, 0, 0);
  const perp_drive_def servo = { .name = "servo",
                                 .zero = chosen->start,
                                 .lower = -FREE,
                                 .upper = FREE,
                                 .max_force = HUGE_VAL,
                                 .stiffness = chosen->stiffness,
                                 .damping = chosen->damping };
  perp_scene_parts parts = { .gravity = 9.81, .body = &body, .joint = &joint };
  if (chosen->row == ROW_DRIVE)
    parts.drive = &servo;
  else
    joint.row[0] = (perp_row_soft){ .stiffness = chosen->stiffness, .damping = chosen->damping };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, 1, 1e-2));
  scene->dissipative = true;
  PERP_TRY(
      perp_truth_add(ctx, scene, "closed form", 1e-14, driven_continuous, chosen, sizeof *chosen));
  const struct oscillator oscillator = { .o = *chosen, .x = chosen->start };
  return perp_gauge_add(ctx, scene, "path.err.max", &oscillator, sizeof oscillator,
                        oscillator_sample, oscillator_value);
}

const perp_scene_desc perp_scene_soft = {
  .d = { .name = "soft",
         .summary =
             "Body on a compliant constraint: the damped oscillator, discrete and continuous",
         .reference = "Vondrak 2005, section 6.6; Servin 2011; closed form",
         .equation = "S = 1 / (h (h k + d)), alpha = k / (h k + d)",
         PERP_OPTIONS(soft_options, struct soft_opts) },
  .build = build_soft,
};
