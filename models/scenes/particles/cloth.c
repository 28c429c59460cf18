/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cloth of N x N particles (Vondrak 2005, chapter 3): neighbours along the threads are joined by
 * springs or by rods, those across by springs of `shear`.  Column i, row j of the grid is particle
 * i + N j.
 *
 *   start=hang   hangs from its first row, at rest: a thread below row j carries the N - 1 - j
 *                particles below it, so that its springs are longer by (N - 1 - j) m g / stiffness
 *   start=flat   horizontal at rest, then falls: held at the two ends of the first row, or at all
 *                of it when the threads are rods.  The motion is a mirror image of itself; drag
 *                brings it to rest. */
#include "models/scenes/scene_builder.h"

#include <math.h>

enum { FLAT, HANG };
static const char *const starts[] = { "flat", "hang", NULL };
enum { SPRING, ROD };
static const char *const links[] = { "spring", "rod", NULL };

struct cloth_opts {
  int side, start, link;
  double size, mass, stiffness, damping, shear, drag, gravity;
};
static const perp_opt options[] = {
  PERP_INT(struct cloth_opts, side, 8, 2, 300, "Number of particles along each side."),
  PERP_ENUM(struct cloth_opts, start, FLAT, starts,
            "Initial state: flat is horizontal and falls, hang is at rest under its own weight."),
  PERP_ENUM(struct cloth_opts, link, SPRING, links,
            "Connection of neighbours along the threads: springs or distance joints (rods)."),
  PERP_OPT_POSITIVE(struct cloth_opts, size, 1, "m", "Length of a side."),
  PERP_OPT_POSITIVE(struct cloth_opts, mass, 0.2, "kg", "Total mass of the cloth."),
  PERP_OPT_POSITIVE(struct cloth_opts, stiffness, 200, "N/m",
                    "Stiffness of the springs along the threads (link=spring)."),
  PERP_OPT_NONNEGATIVE(struct cloth_opts, damping, 0, "Ns/m", "Damping of all springs."),
  PERP_OPT_NONNEGATIVE(struct cloth_opts, shear, 0, "N/m",
                       "Stiffness of the diagonal (shear) springs."),
  PERP_OPT_NONNEGATIVE(struct cloth_opts, drag, 0, "Ns/m",
                       "Drag coefficient of the air, total over all particles."),
  PERP_OPT_G(struct cloth_opts),
  PERP_OPTIONS_END
};

/* ---- mirror images ---- */

struct mirror {
  int side;
  double centre, worst;
};

static void mirror_sample(void *user, double t, const double *q, const double *v,
                          const perp_step_info *info)
{
  struct mirror *g = user;
  (void)t, (void)v, (void)info;
  for (int j = 0; j < g->side; j++)
    for (int i = 0; i < g->side; i++) {
      const double *a = q + 7 * (i + g->side * j), *b = q + 7 * (g->side - 1 - i + g->side * j);
      const double e = hypot(hypot(a[0] + b[0] - 2 * g->centre, a[1] - b[1]), a[2] - b[2]);
      if (!(e <= g->worst)) g->worst = e;
    }
}

static double mirror_value(const void *user)
{
  return ((const struct mirror *)user)->worst;
}

/* ---- the scene ---- */

static void cloth_join(perp_builder *builder, const struct cloth_opts *opts, int a, int b,
                       double length, bool across)
{
  if (across && opts->shear == 0) return;
  if (opts->link == ROD && !across) {
    perp_joint_def rod = { .kind = PERP_JOINT_DISTANCE, .a = a, .b = b, .length = length };
    perp_build_joint(builder, &rod);
    return;
  }
  perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                            .a = a,
                            .b = b,
                            .length = length,
                            .stiffness = across ? opts->shear : opts->stiffness,
                            .damping = opts->damping };
  perp_build_force(builder, &spring);
}

/* A row of rods cannot sag between two held ends. */
static bool holds_row(const struct cloth_opts *opts)
{
  return opts->start == HANG || opts->link == ROD;
}

static void cloth_weave(perp_builder *builder, const struct cloth_opts *opts, double l)
{
  const int n = opts->side;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      const int at = i + n * j;
      /* between held particles a thread would be redundant */
      if (i + 1 < n && !(j == 0 && holds_row(opts)))
        cloth_join(builder, opts, at, at + 1, l, false);
      if (j + 1 < n) cloth_join(builder, opts, at, at + n, l, false);
      if (i + 1 < n && j + 1 < n) {
        cloth_join(builder, opts, at, at + n + 1, l * sqrt(2), true);
        cloth_join(builder, opts, at + 1, at + n, l * sqrt(2), true);
      }
    }
}

static perp_status cloth_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct cloth_opts *o = opts;
  const bool row = holds_row(o);
  const int n = o->side;
  const double l = o->size / (n - 1), m = o->mass / n / n;
  perp_builder builder = perp_build_begin(ctx, scene, 3, o->gravity, 0, 0);
  double depth = 0;
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) {
      perp_body_def knot = { .mass = { .mass = m }, .particle = true };
      const double p[3] = { i * l, o->start == FLAT ? j * l : 0, -depth };
      perp_build_body(&builder, &knot, p, 0, 0);
      perp_force_def air = { .kind = PERP_FORCE_DRAG, .a = i + n * j, .linear = o->drag / n / n };
      if (o->drag > 0) perp_build_force(&builder, &air);
    }
    if (o->start == FLAT) continue;
    depth += l + (o->link == SPRING ? (n - 1 - j) * m * o->gravity / o->stiffness : 0);
  }
  for (int i = 0; i < n; i += row ? 1 : n - 1) {
    perp_joint_def pin = { .name = "pin", .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = i };
    pin.anchor_a[0] = i * l;
    perp_build_joint(&builder, &pin);
  }
  cloth_weave(&builder, o, l);
  PERP_TRY(perp_build_end(&builder, o->size, 1));
  scene->h = 1e-3;
  scene->tip_body = n * n - 1;
  scene->dissipative = o->drag > 0 || (o->damping > 0 && (o->link == SPRING || o->shear > 0));
  const struct mirror g = { .side = n, .centre = o->size / 2 };
  PERP_TRY(
      perp_gauge_add(ctx, scene, "symmetry.err.max", &g, sizeof g, mirror_sample, mirror_value));
  if (o->start != HANG || o->shear > 0) return PERP_OK;
  scene->dissipative = true; /* at rest, energy has no scale */
  return perp_truth_rest(ctx, scene, "statics: threads under their own weight");
}

const perp_scene_desc perp_scene_cloth = {
  .d = { .name = "cloth",
         .summary =
             "Square grid of particles on springs or rods that falls from two corners or hangs",
         .reference = "Vondrak 2005, chapter 3; statics in closed form (start=hang)",
         .equation = "stretch below row j = (N - 1 - j) m g / stiffness",
         PERP_OPTIONS(options, struct cloth_opts) },
  .build = cloth_build,
};
