/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bead, a mass point, slides on a wire without friction (van Overveld & Barenbrug 1995, section
 * 2.6).
 *
 * track=cycloid: x = r (s + sin s), z = r (1 - cos s).  With the arc length sigma = 4 r sin(s/2)
 * from the bottom, sigma'' = -g / (4 r) sigma whatever the amplitude (tautochrone; Huygens 1673):
 *
 *      sigma = sigma_0 cos(w t),   w^2 = g / (4 r)
 *
 * From the cusp it reaches the bottom after pi sqrt(r/g), the least time of all curves
 * (brachistochrone; Joh. Bernoulli 1696).
 *
 * track=ramp: the same, ending at the bottom: the bead leaves it at t = pi / (2 w) with the
 * horizontal velocity sigma_0 w, and falls freely.
 *
 * track=helix: s'' = -g c / (r^2 + c^2), c = pitch / 2 pi.
 *
 * track=hoop: the wire is a circle in a vertical plane of a body that turns about the vertical
 * diameter; at cos(theta) = g / (w^2 r) from the bottom the bead stays where it is on the hoop,
 * whatever the moment of inertia of the hoop (nothing turns relative to anything).
 *
 * track=coaster: a closed spline with hills: the energy is known. */
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <string.h>

enum { CYCLOID, RAMP, HELIX, HOOP, COASTER };
static const char *const tracks[] = { "cycloid", "ramp", "helix", "hoop", "coaster", NULL };

struct bead_opts {
  int track;
  double radius, amplitude, pitch, spin, mass, hoop, gravity;
};
static const perp_opt options[] = {
  PERP_ENUM(struct bead_opts, track, CYCLOID, tracks, "Shape of the wire."),
  PERP_OPT_POSITIVE(struct bead_opts, radius, 0.5, "m",
                    "Radius of the wire. For cycloid and ramp: radius of the generating circle."),
  PERP_REAL(struct bead_opts, amplitude, 0.8, 0, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Initial arc length from the bottom of the cycloid, divided by that of its cusp."),
  PERP_OPT_POSITIVE(struct bead_opts, pitch, 0.8, "m", "Pitch of the helix per turn."),
  PERP_OPT_POSITIVE(struct bead_opts, spin, 8, "rad/s",
                    "Angular velocity of the hoop, which must exceed sqrt(gravity / radius)."),
  PERP_OPT_POSITIVE(struct bead_opts, mass, 0.1, "kg", "Mass of the bead."),
  PERP_OPT_POSITIVE(struct bead_opts, hoop, 2, "kg", "Mass of the hoop."),
  PERP_OPT_G(struct bead_opts),
  PERP_OPTIONS_END
};

static const double coaster[][3] = { { 2, 0, 1 },      { 1.4, 1.4, 0.3 }, { 0, 2, 0.7 },
                                     { -1.4, 1.4, 0 }, { -2, 0, 0.6 },    { -1.4, -1.4, 0.1 },
                                     { 0, -2, 0.5 },   { 1.4, -1.4, 0.2 } };

/* ---- truths ---- */

static double cycloid_rate(const struct bead_opts *opts)
{
  return sqrt(opts->gravity / (4 * opts->radius));
}

/* place and velocity of the bead; the hoop: also of body 0 */
static void bead_state(void *user, double t, double *q, double *v)
{
  const struct bead_opts *opts = user;
  const double r = opts->radius, w = cycloid_rate(opts), g = opts->gravity;
  const int bead = opts->track == HOOP ? 1 : 0;
  double *x = q + 7 * bead, *u = v + 6 * bead;
  memset(q, 0, 7 * (size_t)(bead + 1) * sizeof *q);
  memset(v, 0, 6 * (size_t)(bead + 1) * sizeof *v);
  for (int b = 0; b <= bead; b++) q[7 * b + 3] = 1;
  if (opts->track == HELIX) {
    const double c = opts->pitch / (2 * M_PI), a = -g * c / (r * r + c * c), s = a * t * t / 2;
    x[0] = r * cos(s), x[1] = r * sin(s), x[2] = c * s;
    u[0] = -r * sin(s) * a * t, u[1] = r * cos(s) * a * t, u[2] = c * a * t;
  } else if (opts->track == HOOP) {
    const double theta = acos(g / (opts->spin * opts->spin * r)), a = opts->spin * t,
                 d = r * sin(theta);
    q[3] = cos(a / 2), q[6] = sin(a / 2), v[5] = opts->spin;
    x[0] = d * cos(a), x[1] = d * sin(a), x[2] = -r * cos(theta);
    u[0] = -d * opts->spin * sin(a), u[1] = d * opts->spin * cos(a);
  } else {
    const double start = -4 * r * opts->amplitude, end = M_PI / (2 * w);
    const double on = opts->track == RAMP ? fmin(t, end) : t, fall = t - on;
    const double sigma = start * cos(w * on), s = 2 * asin(sigma / (4 * r));
    const double rate = -start * w * sin(w * on);
    x[0] = r * (s + sin(s)) + rate * fall, x[2] = r * (1 - cos(s)) - g * fall * fall / 2;
    u[0] = rate * cos(s / 2), u[2] = rate * sin(s / 2) - g * fall;
  }
}

/* ---- the scene ---- */

static perp_joint_def bead_wire(const struct bead_opts *opts)
{
  perp_joint_def def = { .name = "wire", .kind = PERP_JOINT_CURVE, .a = PERP_WORLD, .b = 0 };
  def.axis_a[0] = def.axis_b[2] = 1;
  switch (opts->track) {
  case CYCLOID:
    def.curve = (perp_curve_def){ PERP_CURVE_CYCLOID, .radius = opts->radius };
    break;
  case RAMP:
    def.curve = (perp_curve_def){ PERP_CURVE_CYCLOID, .radius = opts->radius,
                                  .lower = -0.999 * M_PI };
    break;
  case HELIX:
    def.axis_b[2] = 0, def.axis_b[1] = 1;
    def.curve = (perp_curve_def){ PERP_CURVE_HELIX, .radius = opts->radius, .pitch = opts->pitch };
    break;
  case HOOP:
    def.axis_a[0] = def.axis_b[2] = 0;
    def.axis_a[2] = -1, def.axis_b[0] = 1; /* s counts from the bottom */
    def.a = 0, def.b = 1;
    def.curve = (perp_curve_def){ PERP_CURVE_CIRCLE, .radius = opts->radius };
    break;
  default:
    def.axis_b[2] = 0, def.axis_b[1] = 1;
    def.curve = (perp_curve_def){ PERP_CURVE_SPLINE, .n = sizeof coaster / sizeof *coaster,
                                  .data = coaster[0], .closed = true };
    break;
  }
  return def;
}

static perp_status bead_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct bead_opts *o = opts;
  if (o->track == HOOP && !(o->spin * o->spin * o->radius > o->gravity))
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "bead: spin must exceed sqrt(gravity / radius) = %g rad/s: got %g",
                     sqrt(o->gravity / o->radius), o->spin);
  double q[14], v[12];
  const int n = o->track == HOOP ? 1 : 0;
  struct bead_opts start = *o;
  bead_state(&start, 0, q, v);
  if (o->track == COASTER) memcpy(q, coaster[0], sizeof coaster[0]), memset(v, 0, sizeof v);
  /* the hoop, if there is one, before the bead */
  perp_body_def body[2] = {
    { .name = "hoop", .mass = perp_mass_sphere(o->hoop, o->radius), .w = { 0, 0, o->spin } }
  };
  const perp_joint_def joint[2] = { perp_scene_joint(PERP_JOINT_HINGE, "shaft", PERP_WORLD, 0, 2),
                                    bead_wire(o) };
  body[1] = perp_body_at(3, (perp_mass){ .mass = o->mass }, n, q, v);
  body[1].name = "bead";
  body[1].particle = true;
  const double rate = cycloid_rate(o);
  const perp_scene_parts parts = { .gravity = o->gravity,
                                   .body = body + 1 - n,
                                   .n_bodies = 1 + n,
                                   .joint = joint + 1 - n,
                                   .n_joints = 1 + n };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts,
                               o->track == HELIX  ? 1
                               : o->track == RAMP ? 1.5 * M_PI_2 / rate
                                                  : 3,
                               1e-3));
  if (o->track == COASTER) return PERP_OK;
  PERP_TRY(perp_truth_add(ctx, scene, "closed form", 1e-14, bead_state, o, sizeof *o));
  if (o->track != RAMP) return PERP_OK;
  return perp_gauge_release(ctx, scene, M_PI / (2 * rate));
}

const perp_scene_desc perp_scene_bead = {
  .d = { .name = "bead",
         .summary = "Bead on a wire: cycloid, ramp with an end, helix, rotating hoop, spline",
         .reference = "van Overveld and Barenbrug 1995, section 2.6; closed forms (tautochrone, "
                      "brachistochrone)",
         .equation = "sigma = sigma_0 cos(sqrt(g / 4 r) t);  cos(theta) = g / (w^2 r)",
         PERP_OPTIONS(options, struct bead_opts) },
  .build = bead_build,
};
