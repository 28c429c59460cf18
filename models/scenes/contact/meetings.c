/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies that meet, each with a closed form (Vondrak 2005, section 9.1.1; the geometry is ours, his
 * is not given).
 *
 *   group-merging   pairs of balls fly at each other without gravity, one pair after the other
 *                   (TestGroupMerging): pair i meets at t_i = (i + 1) `every` and rebounds with e
 *   flat-impacts    aligned cubes strike flat, at four points at once, and must not begin to spin
 *                   (TestSimultaneousImpacts): one a table, two each other
 *   pile            cubes rest on each other, and a ball falls on them at t = sqrt(2 drop / g)
 *   stiff-and-slow  bodies on springs of their own, one of them stiff: what one step for all costs */
#include "models/scenes/scene_builder.h"

#include <math.h>

/* ---- group merging --------------------------------------------------------------------------- */

struct merging_opts {
  int pairs;
  double radius, speed, every, e;
};
static const perp_opt merging_options[] = {
  PERP_INT(struct merging_opts, pairs, 4, 1, 10000, "pairs of balls"),
  PERP_OPT_POSITIVE(struct merging_opts, radius, 0.1, "m", "of a ball"),
  PERP_OPT_POSITIVE(struct merging_opts, speed, 1, "m/s", "of each ball"),
  PERP_OPT_POSITIVE(struct merging_opts, every, 0.25, "s", "from one meeting to the next"),
  PERP_REAL(struct merging_opts, e, 0.5, 0, 1, 0, "", "restitution"),
  PERP_OPTIONS_END
};

static void merging_exact(void *user, double t, double *q, double *v)
{
  const struct merging_opts *o = user;
  for (int i = 0; i < 2 * o->pairs; i++) {
    const double meets = (i / 2 + 1) * o->every, side = i % 2 == 0 ? -1 : 1;
    const double way = t < meets ? o->speed * (meets - t) : o->e * o->speed * (t - meets);
    const perp_planar ball = { .x = side * (o->radius + way),
                               .vx = side * o->speed * (t < meets ? -1 : o->e) };
    perp_planar_state(3, i, &ball, q, v);
    q[7 * i + 1] = 4 * o->radius * (i / 2);
  }
}

static perp_status build_merging(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct merging_opts *o = opts;
  perp_builder y = perp_build_begin(ctx, scene, 3, 0, 0, o->e);
  for (int i = 0; i < 2 * o->pairs; i++) {
    const double side = i % 2 == 0 ? -1 : 1, meets = (i / 2 + 1) * o->every;
    const double p[3] = { side * (o->radius + o->speed * meets), 4 * o->radius * (i / 2), 0 };
    y.v[0] = -side * o->speed;
    perp_build_ball(&y, NULL, 1, o->radius, 0.4, p);
  }
  PERP_TRY(perp_build_end(&y, 2 * o->radius, (o->pairs + 1) * o->every));
  scene->h = 1e-3;
  return perp_truth_add(ctx, scene, "closed form: free flight and one impact", 1e-15, merging_exact,
                        o, sizeof *o);
}

const perp_scene_desc perp_scene_group_merging = {
  .d = { .name = "group-merging",
         .summary = "pairs of balls meet one after the other: simulation groups merge",
         .reference = "Vondrak 2005, section 9.1.1 (TestGroupMerging); closed form",
         .equation = "x = -+(r + u |t_i - t|), after t_i times e",
         PERP_OPTIONS(merging_options, struct merging_opts) },
  .build = build_merging,
};

/* ---- flat impacts ---------------------------------------------------------------------------- */

struct flat_opts {
  double edge, speed, e, mu;
};
static const perp_opt flat_options[] = {
  PERP_OPT_POSITIVE(struct flat_opts, edge, 1, "m", "of the cubes"),
  PERP_OPT_POSITIVE(struct flat_opts, speed, 2, "m/s", "of the cubes"),
  PERP_REAL(struct flat_opts, e, 0.5, 0, 1, 0, "", "restitution"),
  PERP_OPT_MU(struct flat_opts, mu, 0.5), PERP_OPTIONS_END
};

static perp_status build_flat(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct flat_opts *o = opts;
  const double a = o->edge, size[3] = { a, a, a }, table[3] = { 3 * a, 3 * a, a };
  const double meets = 0.1 * a / o->speed;
  perp_builder y = perp_build_begin(ctx, scene, 3, 0, o->mu, o->e);
  perp_build_box(&y, NULL, 0, table, (const double[3]){ 0, 0, -a / 2 }, 0, 0);
  y.v[2] = -o->speed;
  perp_build_box(&y, NULL, 1, size, (const double[3]){ 0, 0, a / 2 + o->speed * meets }, 0, 0);
  for (int side = -1; side <= 1; side += 2) {
    y.v[0] = -side * o->speed;
    perp_build_box(&y, NULL, 1, size,
                   (const double[3]){ 5 * a + side * (a / 2 + o->speed * meets), 0, 0 }, 0, 0);
  }
  PERP_TRY(perp_build_end(&y, a, 3 * meets));
  scene->h = meets / 16;
  /* velocities along the impacts, and spins times half of the edge: none; all over the speed */
  const double weight[6] = { 1, 1, 1, a / 2, a / 2, a / 2 };
  double exact[18] = { 0 };
  exact[2] = o->e * o->speed;
  exact[6] = -o->e * o->speed;
  exact[12] = o->e * o->speed;
  return perp_gauge_velocity(ctx, scene, "impact.rel.err", 2 * meets, weight, exact, o->speed);
}

const perp_scene_desc perp_scene_flat_impacts = {
  .d = { .name = "flat-impacts",
         .summary = "aligned cubes strike a table and each other flat: they must not spin",
         .reference = "Vondrak 2005, section 9.1.1 (TestSimultaneousImpacts)",
         .equation = "u+ = -e u-,  w+ = 0",
         PERP_OPTIONS(flat_options, struct flat_opts) },
  .build = build_flat,
};

/* ---- pile ------------------------------------------------------------------------------------ */

struct pile_opts {
  int boxes;
  double edge, mass, drop, mu, gravity;
};
static const perp_opt pile_options[] = {
  PERP_INT(struct pile_opts, boxes, 5, 1, 1000, "cubes on each other"),
  PERP_OPT_POSITIVE(struct pile_opts, edge, 0.2, "m", "of a cube; diameter of the ball"),
  PERP_OPT_POSITIVE(struct pile_opts, mass, 1, "kg", "of a cube; the ball has a tenth"),
  PERP_OPT_POSITIVE(struct pile_opts, drop, 8, "m", "the ball falls before it hits"),
  PERP_OPT_MU(struct pile_opts, mu, 0.5),
  PERP_OPT_G(struct pile_opts),
  PERP_OPTIONS_END
};

/* the ball no longer falls freely: slower than half of what it had */
static bool meetings_landed(const void *user, int k, const double *q, const double *v,
                            const double *v_before)
{
  const int *ball = user;
  (void)k, (void)q;
  return v_before != NULL && v[6 * *ball + 2] > 0.5 * v_before[6 * *ball + 2];
}

static perp_status build_pile(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct pile_opts *o = opts;
  const double a = o->edge, size[3] = { a, a, a };
  perp_builder y = perp_build_begin(ctx, scene, 3, o->gravity, o->mu, 0);
  perp_build_floor(&y);
  for (int i = 0; i < o->boxes; i++)
    perp_build_box(&y, NULL, o->mass, size, (const double[3]){ 0, 0, (i + 0.5) * a }, 0, 0);
  const double p[3] = { 0, 0, (o->boxes + 0.5) * a + o->drop };
  const int ball = perp_build_ball(&y, NULL, o->mass / 10, a / 2, 0.4, p);
  const double lands = sqrt(2 * o->drop / o->gravity);
  PERP_TRY(perp_build_end(&y, a, 1.25 * lands));
  scene->h = 1e-3;
  return perp_gauge_events(ctx, scene, 1, &lands, 0.1 * lands, meetings_landed, &ball, sizeof ball);
}

const perp_scene_desc perp_scene_pile = {
  .d = { .name = "pile",
         .summary = "a ball falls on cubes that rest on each other",
         .reference = "Vondrak 2005, sections 7.1 and 9.1.1; free fall",
         .equation = "t = sqrt(2 drop / g)",
         PERP_OPTIONS(pile_options, struct pile_opts) },
  .build = build_pile,
};

/* ---- one stiff among many slow ones ---------------------------------------------------------- */

struct slow_opts {
  int slow;
  double period, stiff;
};
static const perp_opt slow_options[] = {
  PERP_INT(struct slow_opts, slow, 20, 0, 100000, "slow bodies"),
  PERP_OPT_POSITIVE(struct slow_opts, period, 2, "s", "of the slow ones, up to a tenth more"),
  PERP_OPT_POSITIVE(struct slow_opts, stiff, 100, "", "times faster is the one beside them"),
  PERP_OPTIONS_END
};

/* angular frequency of body i */
static double rate_of(const struct slow_opts *o, int i)
{
  const double w = 2 * M_PI / o->period;
  return i == 0 ? o->stiff * w : w / (1 + 0.1 * (i - 1) / o->slow);
}

static void slow_exact(void *user, double t, double *q, double *v)
{
  const struct slow_opts *o = user;
  for (int i = 0; i <= o->slow; i++) {
    const double w = rate_of(o, i);
    const perp_planar body = { .x = 1 + 0.5 * cos(w * t), .vx = -0.5 * w * sin(w * t) };
    perp_planar_state(3, i, &body, q, v);
    q[7 * i + 1] = i;
  }
}

static perp_status build_slow(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct slow_opts *o = opts;
  PERP_TRY(perp_model_create(ctx, 3, &scene->model));
  for (int i = 0; i <= o->slow; i++) {
    const double w = rate_of(o, i);
    const perp_body_def body = { .mass = perp_mass_sphere(1, 0.1), .x = { 1.5, i, 0 } };
    const perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                                    .a = PERP_WORLD,
                                    .b = i,
                                    .anchor_a = { 0, i, 0 },
                                    .stiffness = w * w,
                                    .length = 1 };
    PERP_TRY(perp_model_add_body(ctx, scene->model, &body, NULL));
    PERP_TRY(perp_model_add_force(ctx, scene->model, &spring));
  }
  PERP_TRY(perp_scene_finish(ctx, scene, 0, 2 * o->period, o->period / o->stiff / 20));
  scene->tip_body = o->slow > 0 ? 1 : 0;
  return perp_truth_add(ctx, scene, "closed form: harmonic oscillators", 1e-15, slow_exact, o,
                        sizeof *o);
}

const perp_scene_desc perp_scene_stiff_and_slow = {
  .d = { .name = "stiff-and-slow",
         .summary = "one stiff oscillator beside many slow ones: who pays for the short steps?",
         .reference = "Vondrak 2005, section 7.1; closed form",
         .equation = "x_i = 1 + cos(w_i t) / 2",
         PERP_OPTIONS(slow_options, struct slow_opts) },
  .build = build_slow,
};
