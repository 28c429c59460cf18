/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rope of particles (Vondrak 2005, chapters 3 and 4): N mass points, N + 1 or N light links of
 * length l = L / links that are rods (distance joints) or springs.
 *
 *   start=sag    both ends held at the same height, at rest in the discrete catenary: link i
 *                carries the horizontal force H and the vertical force V_i = (i - N/2) m g, so that
 *                with T_i = |(H, V_i)| and the length l_i = l, or l + T_i / stiffness,
 *                        sum l_i H / T_i = span
 *                has one solution H, by bisection.  As N grows this is y = a cosh(x / a), a = H L /
 *                                                   (M g).
 *   start=drop   both ends held, from a V at rest; drag brings it to the catenary
 *   start=swing  hangs from one end, displaced by its lowest mode of small oscillation, of period
 *                        2 pi / sqrt(x_1 g / l),  x_1 the least zero of the Laguerre polynomial
 *                                                 L_N,
 *                which for N -> infinity is the 2 pi / (j_0,1 / 2 sqrt(g / L)) of the heavy chain,
 * j_0,1 the first zero of the Bessel function J_0 (D. Bernoulli, 1738).  Amplitude changes the
 *                                                                             period
 *                by 0.03 amplitude^2 or so.
 *
 * Motion in the plane (x, height). */
#include "models/scenes/scene_builder.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAG, DROP, SWING };
static const char *const starts[] = { "sag", "drop", "swing", NULL };
enum { ROD, SPRING };
static const char *const links[] = { "rod", "spring", NULL };

struct rope_opts {
  int particles, start, link, dim;
  double length, mass, span, amplitude, stiffness, damping, drag, gravity;
};
static const perp_opt options[] = {
  PERP_INT(struct rope_opts, particles, 15, 1, 100000, "Number of mass points."),
  PERP_ENUM(struct rope_opts, start, SAG, starts,
            "Initial state: sag is the catenary at rest, drop starts from a V, swing oscillates "
            "with a small amplitude."),
  PERP_ENUM(struct rope_opts, link, ROD, links,
            "Connection of neighbours: distance joints (rods) or springs."),
  PERP_OPT_POSITIVE(struct rope_opts, length, 1, "m", "Length of the rope."),
  PERP_OPT_POSITIVE(struct rope_opts, mass, 1, "kg", "Total mass of the rope."),
  PERP_REAL(struct rope_opts, span, 0.7, 0, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Distance of the two ends divided by the length (start=sag and start=drop)."),
  PERP_REAL(struct rope_opts, amplitude, 0.01, 1e-3, 1, PERP_OPEN_MAX, "rad",
            "Initial angle of the lowest link from the vertical (start=swing)."),
  PERP_OPT_POSITIVE(struct rope_opts, stiffness, 1e4, "N/m",
                    "Stiffness of a spring (link=spring)."),
  PERP_OPT_NONNEGATIVE(struct rope_opts, damping, 0, "Ns/m", "Damping of a spring (link=spring)."),
  PERP_OPT_NONNEGATIVE(
      struct rope_opts, drag, 0, "Ns/m",
      "Drag coefficient of the air, total over all particles. With start=drop, 0 means 8 Ns/m."),
  PERP_OPT_G(struct rope_opts),
  PERP_OPT_DIM(struct rope_opts, 3),
  PERP_OPTIONS_END
};

/* ---- statics ---- */

/* points 0 ... links of the discrete catenary with the horizontal force H; p NULL: the span only */
static double rope_catenary(const struct rope_opts *opts, double H, double (*p)[3])
{
  const int n = opts->particles + 1;
  const double l = opts->length / n, weight = opts->mass * opts->gravity / opts->particles;
  double x = 0, height = 0;
  for (int i = 0; i < n; i++) {
    const double V = (i - 0.5 * opts->particles) * weight, T = hypot(H, V);
    const double length = opts->link == SPRING ? l + T / opts->stiffness : l;
    if (p != NULL) p[i][0] = x, p[i][2] = height;
    x += length * H / T;
    height += length * V / T;
  }
  if (p != NULL) p[n][0] = x, p[n][2] = height;
  return x;
}

static double horizontal_force(const struct rope_opts *opts)
{
  const double span = opts->span * opts->length;
  double lo = 0, hi = opts->mass * opts->gravity;
  while (rope_catenary(opts, hi, NULL) < span) hi *= 2;
  for (int i = 0; i < 200; i++) {
    const double H = (lo + hi) / 2;
    *(rope_catenary(opts, H, NULL) < span ? &lo : &hi) = H;
  }
  return hi;
}

/* ---- lowest mode ---- */

/* Points 0 ... N in the lowest mode, and its period: the links of particles i-1 and i carry all
 * below, N - i weights, so that  omega^2 l/g x = (tridiagonal) x */
static perp_status rope_mode(perp_ctx *ctx, const struct rope_opts *opts, double (*p)[3],
                             double *period)
{
  const int n = opts->particles;
  const double l = opts->length / n;
  double *d = malloc((size_t)n * (4 + (size_t)n) * sizeof *d), *e = d + n, *work = e + n,
         *x = work + 2 * n;
  if (d == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "rope: no memory");
  for (int i = 0; i < n; i++) {
    d[i] = (n - i) + (n - i - 1);
    e[i] = -(n - i - 1);
  }
  const int info = LAPACKE_dstev_work(LAPACK_COL_MAJOR, 'V', n, d, e, x, n, work);
  *period = 2 * M_PI / sqrt(d[0] * opts->gravity * n / opts->length);
  const double end = x[n - 1] - (n > 1 ? x[n - 2] : 0);
  for (int i = 0; i < n; i++) {
    const double angle = opts->amplitude * (x[i] - (i > 0 ? x[i - 1] : 0)) / end;
    p[i + 1][0] = p[i][0] + l * sin(angle);
    p[i + 1][2] = p[i][2] - l * cos(angle);
  }
  free(d);
  if (info != 0)
    return PERP_FAIL(
        ctx, PERP_ERR_EXTERNAL,
        "rope: the eigenvalues of the oscillation were not found (LAPACK dstev returned %d)", info);
  return PERP_OK;
}

/* ---- the scene ---- */

/* initial points 0 ... N + 1 (N + 1: not used by swing), which are zero on entry */
static perp_status rope_shape(perp_ctx *ctx, const struct rope_opts *opts, double (*p)[3],
                              double *period)
{
  const int n = opts->particles, half = (n + 1) / 2;
  if (opts->start == SWING) return rope_mode(ctx, opts, p, period);
  if (opts->start == SAG) rope_catenary(opts, horizontal_force(opts), p);
  const double l = opts->length / (n + 1), c = opts->span, s = sqrt(1 - c * c);
  for (int i = 0; opts->start == DROP && i <= n + 1; i++) {
    p[i][0] = i * l * c;
    p[i][2] = -(i <= half ? i : n + 1 - i) * l * s;
  }
  return PERP_OK;
}

/* a link between two particles, or (a or b PERP_WORLD) a particle and the point `end` */
static void rope_join(perp_builder *builder, const struct rope_opts *opts, int a, int b,
                      const double end[3], double length)
{
  perp_joint_def rod = { .kind = PERP_JOINT_DISTANCE, .a = a, .b = b, .length = length };
  perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                            .a = a,
                            .b = b,
                            .length = length,
                            .stiffness = opts->stiffness,
                            .damping = opts->damping };
  if (a == PERP_WORLD) perp_scene_point(opts->dim, end, rod.anchor_a);
  if (b == PERP_WORLD) perp_scene_point(opts->dim, end, rod.anchor_b);
  memcpy(spring.anchor_a, rod.anchor_a, sizeof rod.anchor_a);
  memcpy(spring.anchor_b, rod.anchor_b, sizeof rod.anchor_b);
  if (opts->link == ROD)
    perp_build_joint(builder, &rod);
  else
    perp_build_force(builder, &spring);
}

/* the model at the points p */
static perp_status rope_model(perp_ctx *ctx, perp_scene *scene, const struct rope_opts *opts,
                              double (*p)[3])
{
  const int n = opts->particles, n_links = opts->start == SWING ? n : n + 1;
  const double drag = (opts->start == DROP && opts->drag == 0 ? 8 : opts->drag) / n;
  perp_builder builder = perp_build_begin(ctx, scene, opts->dim, opts->gravity, 0, 0);
  for (int i = 0; i < n; i++) {
    perp_body_def bead = { .mass = { .mass = opts->mass / n }, .particle = true };
    perp_build_body(&builder, &bead, p[i + 1], 0, 0);
    perp_force_def air = { .kind = PERP_FORCE_DRAG, .a = i, .linear = drag };
    if (drag > 0) perp_build_force(&builder, &air);
  }
  for (int i = 0; i < n_links; i++)
    rope_join(&builder, opts, i - 1, i < n ? i : PERP_WORLD, i == 0 ? p[0] : p[n + 1],
              opts->length / n_links);
  perp_build_end(&builder, opts->length, 2);
  scene->h = 1e-3;
  scene->dissipative = drag > 0 || (opts->link == SPRING && opts->damping > 0);
  return builder.status;
}

/* what judges it */
static perp_status rope_truths(perp_ctx *ctx, perp_scene *scene, const struct rope_opts *opts,
                               double (*p)[3], double period)
{
  const int n = opts->particles;
  if (opts->start == SWING) {
    scene->tip_body = n - 1;
    scene->t_end = 2.1 * period;
    PERP_TRY(perp_gauge_period(ctx, scene, (n - 1) * (opts->dim == 3 ? 7 : 3), period));
    return perp_truth_reduced(ctx, scene, 20 * period, 1e-10);
  }
  scene->tip_body = n / 2;
  if (opts->start == DROP) {
    rope_catenary(opts, horizontal_force(opts), p);
    scene->t_end = 5;
  }
  PERP_TRY(perp_gauge_places(ctx, scene, n, p[1]));
  if (opts->start != SAG) return PERP_OK;
  scene->dissipative = true; /* at rest, energy has no scale */
  return perp_truth_rest(ctx, scene, "statics: discrete catenary");
}

static perp_status rope_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct rope_opts *chosen = opts;
  const int n = chosen->particles;
  if (chosen->start == SWING && chosen->link == SPRING)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "rope: start=swing needs link=rod (link is spring)");
  if (chosen->start == DROP && n % 2 == 0)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "rope: start=drop needs an odd number of particles: got %d", n);
  double period = 0, (*p)[3] = calloc((size_t)(n + 2), sizeof *p);
  if (p == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "rope: no memory");
  perp_status status = rope_shape(ctx, chosen, p, &period);
  if (status == PERP_OK) status = rope_model(ctx, scene, chosen, p);
  if (status == PERP_OK) status = rope_truths(ctx, scene, chosen, p, period);
  free(p);
  return status;
}

const perp_scene_desc perp_scene_rope = {
  .d = { .name = "rope",
         .summary = "Rope of particles on rods or springs: catenary, or small oscillations of a "
                    "hanging chain",
         .reference =
             "statics; small oscillations of a hanging chain, D. Bernoulli 1738; Vondrak 2005, "
             "chapters 3 and 4",
         .equation = "sum l H / |(H, V_i)| = span, V_i = (i - N/2) m g;  L_N(omega^2 l / g) = 0",
         PERP_OPTIONS(options, struct rope_opts) },
  .build = rope_build,
};
