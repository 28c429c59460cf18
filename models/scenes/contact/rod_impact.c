/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thin rod hits the floor with one end while that end slides backwards: where Newton's law makes
 * energy.
 *
 * A rod of half length l leans at theta to the floor; its lower end, r = l (cos, -sin) from the
 * centre, comes down with `approach` and moves against the way it points with `slide`, without
 * gravity.  At that point
 *
 *      u' = u + A p,   A = 1/m [ 1 + 3 c^2   3 c s ;  3 c s   1 + 3 s^2 ]
 *
 *      u = (-approach, -slide)
 *
 * for the impulse p = (p_n, p_t).  The normal impulse turns the sliding round where mu < 3 c s / (1
 * + 3 s^2).  Newton's law asks u_n' = -e u_n whatever friction does; with p_t = -mu p_n, opposed to
 * the sliding after the impact, the work
 *
 *      1/2 p (u + u') = 1/2 p_n ((1 - e) u_n - mu (u_t + u_t'))
 *
 * is positive for e = 1 while -u_t > u_t' > 0: friction has pushed along most of the sliding (Kane
 * and Levinson 1985; Wang and Mason 1992).  Poisson's law makes friction oppose the sliding in each
 * of its two parts, and the energy falls.  Stronge's law has the path of the impact: friction
 * opposes the sliding at each instant, u_n is linear in p_n until the sliding stops at p_n = p_s
 * and then again, as the end sticks (mu >= A_nt / A_tt) or slides back, and the normal work of
 * restitution is -e^2 that of compression.  Chatterjee and Ruina's combines the impulses of a
 * plastic impact without friction and with sticking (models/contact/laws/impact.h); e_t is 0 here.
 */
#include "models/scenes/scene_builder.h"

#include <math.h>

enum { NEWTON, POISSON, STRONGE, CHATTERJEE_RUINA };
static const char *const laws[] = { "newton", "poisson", "stronge", "chatterjee-ruina", NULL };

struct rod_opts {
  double theta, slide, approach, half, mass, mu, e;
  int law, dim;
};
static const perp_opt options[] = {
  PERP_REAL(struct rod_opts, theta, M_PI / 4, 0, M_PI / 2, PERP_OPEN_MIN | PERP_OPEN_MAX, "rad",
            "Angle of the rod to the floor."),
  PERP_OPT_FINITE(
      struct rod_opts, slide, 0.7, "m/s",
      "Initial velocity of the lower end along the floor, towards the side of the rod."),
  PERP_OPT_POSITIVE(struct rod_opts, approach, 1, "m/s",
                    "Initial velocity of the lower end towards the floor."),
  PERP_OPT_POSITIVE(struct rod_opts, half, 1, "m", "Half the length of the rod."),
  PERP_OPT_POSITIVE(struct rod_opts, mass, 1, "kg", "Mass of the rod."),
  PERP_OPT_MU(struct rod_opts, mu, 0.2),
  PERP_REAL(struct rod_opts, e, 1, 0, 1, 0, "", "Coefficient of restitution."),
  PERP_ENUM(struct rod_opts, law, NEWTON, laws,
            "Impact law of the exact solution to which impact.rel.err compares."),
  PERP_OPT_DIM(struct rod_opts, 2),
  PERP_OPTIONS_END
};

/* Impulse p that brings the point from u to u_n' = target, or (given) with p_n as it is, and
 * friction against u_t'. */
static void rod_impact_impulse(const double A[3], const double u[2], double target, bool given,
                               double mu, double p[2])
{
  const double need = target - u[0], det = A[0] * A[2] - A[1] * A[1];
  if (given) {
    p[1] = -(u[1] + A[1] * p[0]) / A[2];
  } else {
    p[0] = (A[2] * need + A[1] * u[1]) / det;
    p[1] = (-A[0] * u[1] - A[1] * need) / det;
  }
  if (p[0] >= 0 && fabs(p[1]) <= mu * p[0]) return; /* sticks */
  for (int sign = -1; sign <= 1; sign += 2) {
    if (!given) p[0] = need / (A[0] - sign * mu * A[1]);
    p[1] = -sign * mu * p[0];
    if (p[0] >= 0 && sign * (u[1] + A[1] * p[0] + A[2] * p[1]) >= 0) return;
  }
}

static void rod_impact_stronge(const double A[3], const double u[2], double e, double mu,
                               double p[2])
{
  const double sign = u[1] > 0 ? 1 : u[1] < 0 ? -1 : 0, brake = A[1] - sign * mu * A[2];
  const bool holds = fabs(A[1]) <= mu * A[2];
  const double stop = sign == 0 ? 0 : sign * brake < 0 ? -u[1] / brake : HUGE_VAL;
  const double after = holds ? -A[1] / A[2] : A[1] > 0 ? -mu : mu; /* dp_t / dp_n */
  const double k1 = A[0] - sign * mu * A[1], k2 = A[0] + after * A[1];
  const double v = isfinite(stop) ? u[0] + k1 * stop : HUGE_VAL; /* u_n at the stop */
  double compression, first = 0, end;
  if (v >= 0)
    compression = u[0] * u[0] / (2 * k1);
  else
    compression = -0.5 * (u[0] + v) * stop + v * v / (2 * k2);
  const double back = e * e * compression;
  if (v >= 0) first = isfinite(v) ? v * v / (2 * k1) : HUGE_VAL;
  if (v >= 0 && back <= first) {
    p[0] = (sqrt(2 * k1 * back) - u[0]) / k1;
    p[1] = -sign * mu * p[0];
    return;
  }
  end = sqrt(v >= 0 ? v * v + 2 * k2 * (back - first) : 2 * k2 * back);
  p[0] = stop + (end - v) / k2;
  p[1] = -sign * mu * stop + after * (p[0] - stop);
}

static void rod_impact_chatterjee_ruina(const double A[3], const double u[2], double e, double mu,
                                        double p[2])
{
  const double det = A[0] * A[2] - A[1] * A[1], smooth = -u[0] / A[0];
  const double stick[2] = { (A[1] * u[1] - A[2] * u[0]) / det, (A[1] * u[0] - A[0] * u[1]) / det };
  double kappa = 1;
  p[0] = e * smooth + stick[0];
  if (fabs(stick[1]) > mu * p[0])
    kappa = mu * (1 + e) * smooth / (fabs(stick[1]) - mu * (stick[0] - smooth));
  p[0] = (1 + e) * smooth + kappa * (stick[0] - smooth);
  p[1] = kappa * stick[1];
}

static perp_status rod_impact_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct rod_opts *chosen = opts;
  const double c = cos(chosen->theta), s = sin(chosen->theta), l = chosen->half, m = chosen->mass,
               t = 0.05;
  perp_builder builder = perp_build_begin(ctx, scene, chosen->dim, 0, chosen->mu, chosen->e);
  perp_build_floor(&builder);
  const double centre[3] = { -l * c, 0, l * s + chosen->approach * t }, arm[2] = { l * c, -l * s };
  builder.v[0] = -chosen->slide;
  builder.v[2] = -chosen->approach;
  perp_build_needle(&builder, "rod", m, l, centre, chosen->theta);
  PERP_TRY(perp_build_end(&builder, l, 2 * t));
  const double A[3] = { (1 + 3 * c * c) / m, 3 * c * s / m, (1 + 3 * s * s) / m };
  const double u[2] = { -chosen->approach, -chosen->slide };
  double p[2];
  if (chosen->law == NEWTON) {
    rod_impact_impulse(A, u, chosen->e * chosen->approach, false, chosen->mu, p);
  } else if (chosen->law == STRONGE) {
    rod_impact_stronge(A, u, chosen->e, chosen->mu, p);
  } else if (chosen->law == CHATTERJEE_RUINA) {
    rod_impact_chatterjee_ruina(A, u, chosen->e, chosen->mu, p);
  } else {
    rod_impact_impulse(A, u, 0, false, chosen->mu, p);
    const double mid[2] = { u[0] + A[0] * p[0] + A[1] * p[1], u[1] + A[1] * p[0] + A[2] * p[1] };
    double q[2] = { chosen->e * p[0], 0 };
    rod_impact_impulse(A, mid, 0, true, chosen->mu, q);
    p[0] += q[0], p[1] += q[1];
  }
  const double turn = 3 * (arm[0] * p[0] - arm[1] * p[1]) / (m * l * l);
  const perp_planar after = { .vx = u[1] + p[1] / m, .vheight = u[0] + p[0] / m, .rate = turn };
  return perp_gauge_planar_velocity(ctx, scene, 1.5 * t, l, &after, chosen->approach);
}

const perp_scene_desc perp_scene_rod_impact = {
  .d = { .name = "rod-impact",
         .summary = "Sliding rod that hits the floor: Newton's law with friction gains energy",
         .reference = "closed form; Kane and Levinson 1985, Wang and Mason 1992, Stronge 1990, "
                      "Chatterjee and Ruina 1998",
         .equation = "2 work = p_n ((1 - e) u_n - mu (u_t + u_t'))",
         PERP_OPTIONS(options, struct rod_opts) },
  .build = rod_impact_build,
};
