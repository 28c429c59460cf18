/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Planar pendulum of any amplitude, IFToMM library A01 by default: m = 1 kg, length 1 m, from (-1,
 * 0) at rest.
 *
 * Two realisations as rigid bodies move exactly like the mathematical pendulum:
 *   body=point  a body held at its centre of mass by a distance joint (a massless rod): nothing
 *               turns it, its inertia (a sphere of a tenth of the length) is never felt;
 *   body=rod    a thin rod of 3/2 the length on a hinge at its end: its reduced length
 *               (I + m c^2) / (m c) with c = 3/4 L, I = m (3/2 L)^2 / 12 is L.
 *
 * The marked point is at the distance L from the hinge: the mass, or the centre of oscillation.
 *
 * With phi from the vertical, amplitude alpha, k = sin(alpha/2), kc = cos(alpha/2), w = sqrt(g/L):
 *
 *      sin(phi/2) = k sn(K - w t),   phi' = -2 k w cn(K - w t)
 *
 * P = L (-sin phi, -cos phi).  The period is 4 K / w.
 *
 * strength: the joint breaks where its force passes it.  With x = cos phi and r = c / L (1 for a
 * point) the force has the parts, along the rod and across it,
 *
 *      m g ((1 + 2 r) x - 2 r cos alpha),   m g (1 - r) sin phi
 *
 * so that |F| = strength is a quadratic equation of x, whose time is (K -
 * F(asin(sin(phi/2) / k) | k)) / w.  From there the centre flies in a parabola, and a rod turns at
 * the rate that it has. */
#include "models/scenes/build.h"
#include "models/scenes/elliptic.h"
#include "models/scenes/gauges.h"

#include <math.h>

enum { POINT, ROD };
static const char *const bodies[] = { "point", "rod", NULL };

struct pendulum_opts {
  double length, mass, amplitude, gravity, strength;
  int body, dim;
};
static const perp_opt options[] = {
  PERP_OPT_POSITIVE(struct pendulum_opts, length, 1, "m",
                    "Length of the pendulum. For a rod it is the reduced length."),
  PERP_OPT_POSITIVE(struct pendulum_opts, mass, 1, "kg", "Mass of the pendulum."),
  PERP_REAL(struct pendulum_opts, amplitude, M_PI_2, 0, M_PI, PERP_OPEN_MIN | PERP_OPEN_MAX, "rad",
            "Initial angle from the vertical, at rest."),
  PERP_OPT_G(struct pendulum_opts),
  PERP_REAL(
      struct pendulum_opts, strength, 0, 0, HUGE_VAL, 0, "N",
      "Force above which the joint breaks, and the pendulum flies off. If 0, it does not break."),
  PERP_ENUM(struct pendulum_opts, body, POINT, bodies,
            "Model of the pendulum: point mass on a distance joint, or rod on a hinge. Both have "
            "the same motion."),
  PERP_OPT_DIM(struct pendulum_opts, 2),
  PERP_OPTIONS_END
};

struct pendulum {
  int dim;
  double omega, kc, K, k, gravity;
  double t_break; /* inf: it does not break */
  perp_link link;
};

/* the angle from +x of links is -pi/2 - phi */
static void from_vertical(struct pendulum *pendulum, double phi, double rate, double *q, double *v)
{
  const perp_links links = { .dim = pendulum->dim, .n = 1, .link = &pendulum->link };
  const double theta = -M_PI_2 - phi, omega = -rate;
  perp_links_state(&links, &theta, &omega, q, v);
}

static void pendulum_angle(const struct pendulum *pendulum, double t, double *phi, double *rate)
{
  double am = perp_elliptic_am(pendulum->K - pendulum->omega * t, pendulum->kc);
  /* cos(phi/2) = dn: the angle without the cancellation of asin near a quarter turn */
  *phi = 2 * atan2(pendulum->k * sin(am), perp_elliptic_dn(am, pendulum->kc));
  *rate = -2 * pendulum->k * pendulum->omega * cos(am);
}

static void pendulum_exact(void *user, double t, double *q, double *v)
{
  struct pendulum *p = user;
  const int up = p->dim - 1;
  const double late = t - p->t_break;
  double phi, turning;
  pendulum_angle(p, fmin(t, p->t_break), &phi, &turning);
  from_vertical(p, phi, turning, q, v);
  if (!(late > 0)) return;
  const double x[2] = { q[0], q[up] }, rate[2] = { v[0], v[up] };
  from_vertical(p, phi + turning * late, turning, q, v); /* a rod turns on about its centre */
  q[0] = x[0] + rate[0] * late;
  q[up] = x[1] + (rate[1] - p->gravity * late / 2) * late;
  v[0] = rate[0];
  v[up] = rate[1] - p->gravity * late;
}

/* When the force passes the strength on the way down. */
static perp_status pendulum_breaks(perp_ctx *ctx, const struct pendulum_opts *opts, double r,
                                   struct pendulum *pendulum)
{
  const double weight = opts->mass * opts->gravity, f = opts->strength / weight,
               start = cos(opts->amplitude);
  const double most = 1 + 2 * r * (1 - start), least = hypot(start, (1 - r) * sin(opts->amplitude));
  pendulum->t_break = HUGE_VAL;
  if (opts->strength == 0) return PERP_OK;
  if (opts->amplitude > M_PI_2 || !(f > least && f < most))
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "pendulum: strength must be between the force at the start and the largest "
                     "one, %g N and %g N, "
                     "with an amplitude up to pi/2: got %g N and %g rad",
                     least * weight, most * weight, opts->strength, opts->amplitude);
  /* (a x - b)^2 + c^2 (1 - x^2) = f^2 */
  const double a = 1 + 2 * r, b = 2 * r * start, c = 1 - r, A = a * a - c * c;
  const double x = (a * b + sqrt(a * a * b * b - A * (b * b + c * c - f * f))) / A;
  const double psi = asin(fmin(1, sqrt((1 - x) / 2) / pendulum->k));
  pendulum->t_break = (pendulum->K - perp_elliptic_F(psi, pendulum->kc)) / pendulum->omega;
  return PERP_OK;
}

static void pendulum_map_file(void *user, double t, const double *row, double *q, double *v)
{
  (void)t;
  from_vertical(user, row[0], row[1], q, v);
}

static perp_status pendulum_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  static const char *const columns[] = { "theta_from_down", "omega" };
  const struct pendulum_opts *o = opts;
  const double L = o->length, theta = -M_PI_2 - o->amplitude, kc = cos(o->amplitude / 2);
  const double r = o->body == ROD ? 0.75 : 1;
  struct pendulum p = { .dim = o->dim,
                        .gravity = o->gravity,
                        .omega = sqrt(o->gravity / L),
                        .k = sin(o->amplitude / 2),
                        .kc = kc,
                        .K = perp_elliptic_K(kc) };
  if (o->body == POINT)
    p.link = (perp_link){ PERP_LINK_POINT, L, 0, perp_mass_sphere(o->mass, L / 10) };
  else
    p.link = (perp_link){ PERP_LINK_BODY, 1.5 * L, 0.75 * L, perp_mass_thin_rod(o->mass, 1.5 * L) };
  PERP_TRY(pendulum_breaks(ctx, o, r, &p));
  const perp_links links = { .dim = o->dim, .n = 1, .link = &p.link, .strength = o->strength };
  PERP_TRY(perp_truth_add(ctx, scene, "closed form: Jacobi elliptic functions", 1e-14,
                          pendulum_exact, &p, sizeof p));
  PERP_TRY(perp_links_model(ctx, scene, &links, PERP_JOINT_HINGE, o->gravity, 10, &theta, NULL));
  scene->tip[0] = o->body == ROD ? o->length / 4 : 0;
  if (o->strength > 0) return perp_gauge_release(ctx, scene, p.t_break);
  if (o->length == 1 && o->gravity == 9.81 && o->amplitude == M_PI_2)
    PERP_TRY(perp_truth_file(ctx, scene, "A01_simple_pendulum.csv", 1e-15, 2, columns,
                             pendulum_map_file, &p, sizeof p));
  return perp_truth_reduced(ctx, scene, 60, 1e-10);
}

const perp_scene_desc perp_scene_pendulum = {
  .d = { .name = "pendulum",
         .summary =
             "Planar pendulum of any amplitude (default: benchmark A01 of the IFToMM library)",
         .reference =
             "IFToMM library of computational benchmark problems, A01; closed form with Jacobi "
             "elliptic functions",
         .equation = "phi'' = -(g/L) sin phi",
         PERP_OPTIONS(options, struct pendulum_opts) },
  .build = pendulum_build,
};
